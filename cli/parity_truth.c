/* Which side is nearer to the truth: both computed in double precision, and A with products that saturate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* ---- Running ------------------------------------------------------------------------------------------------------- */

/* A side's model computed otherwise, on its inputs; session and outputs are made when they are first needed. */
static enum ox_status run_otherwise(struct parity *p, const struct run *run,
                                    const struct ox_run_options *options,
                                    struct ox_session **session, struct ox_datum ***outputs)
{
    struct ox_error err = {0};
    if (!*outputs) {
        *outputs = calloc(run->n_outputs + 1, sizeof **outputs);
        if (!*outputs)
            return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
        if (ox_session_new(session, run->model, options, &err) != OX_OK)
            return cli_error(p->cli, &err);
    }
    run_release_data(*outputs, run->n_outputs);
    if (ox_session_run(*session, run->inputs, *outputs, &err) != OX_OK)
        return cli_error(p->cli, &err);
    return OX_OK;
}

/* In double precision; an engine's model too, for it is the same. */
static enum ox_status run_double(struct parity *p, struct parity_side *side)
{
    struct ox_error err = {0};
    if (!side->near_ties && ox_ties_new(&side->near_ties, side->run.model, &err) != OX_OK)
        return cli_error(p->cli, &err);
    const struct ox_run_options options = {.oracle = true,
                                           .lean = true,
                                           .seed = parity_seed(side),
                                           .on_value = ox_ties_value,
                                           .value_arg = side->near_ties};
    return run_otherwise(p, &side->run, &options, &side->double_session, &side->double_outputs);
}

/* The same with every code that lies on a tie tipped to the other side, if there are any. */
static enum ox_status run_tipped(struct parity *p, struct parity_side *side)
{
    struct ox_tie tie;
    const struct ox_run_options options = {.oracle = true,
                                           .lean = true,
                                           .seed = parity_seed(side),
                                           .on_replace = ox_ties_tip,
                                           .replace_arg = side->near_ties};
    return ox_ties_first(side->near_ties, &tie)
               ? run_otherwise(p, &side->run, &options, &side->tipped_session,
                               &side->tipped_outputs)
               : OX_OK;
}

/* A with products that saturate, for an engine whose products may. */
static enum ox_status run_saturating(struct parity *p)
{
    struct parity_side *a = &p->sides[0];
    const struct ox_run_options options = {.level = 2, .saturating = true, .seed = parity_seed(a)};
    return run_otherwise(p, &a->run, &options, &a->saturating_session, &a->saturated_outputs);
}

/* ---- Measuring ----------------------------------------------------------------------------------------------------- */

static size_t find_output(const struct run *run, const char *name)
{
    size_t i = 0;
    while (i < run->n_outputs && strcmp(ox_session_output_name(run->session, i), name) != 0)
        i++;
    return i;
}

static enum ox_status measure(struct parity *p, struct ox_meter **meter, const struct ox_datum *a,
                              const struct ox_datum *b)
{
    struct ox_error err = {0};
    struct ox_metrics_options options;
    parity_options_for(p, NULL, &options);
    enum ox_status status = *meter ? OX_OK : ox_meter_new(meter, p->cli->env, &options, &err);
    if (status == OX_OK)
        status = ox_meter_add(*meter, a, b, &err);
    return status == OX_OK ? OX_OK : cli_error(p->cli, &err);
}

/* A itself; i: its output. */
static enum ox_status measure_a(struct parity *p, struct parity_output *output, size_t i)
{
    const struct parity_side *a = &p->sides[0];
    enum ox_status status = measure(p, &output->a_truth, a->run.outputs[i], a->double_outputs[i]);
    if (status == OX_OK && a->tipped_outputs)
        status = measure(p, &output->tipped, a->tipped_outputs[i], a->double_outputs[i]);
    return status;
}

static enum ox_status measure_truth(struct parity *p, struct parity_output *output)
{
    const struct parity_side *a = &p->sides[0], *b = &p->sides[output->side];
    size_t i = find_output(&a->run, output->name);
    size_t j = find_output(&b->run, parity_other_name(p, output->name));
    enum ox_status status = measure_a(p, output, i);
    if (status == OX_OK)
        status = measure(p, &output->b_truth, b->run.outputs[j], b->double_outputs[j]);
    if (status == OX_OK)
        status = measure(p, &output->truths, a->double_outputs[i], b->double_outputs[j]);
    if (status == OX_OK && b->tipped_outputs)
        status = measure(p, &output->tipped, b->tipped_outputs[j], b->double_outputs[j]);
    return status;
}

/* What is expected has no model of its own: A's stands for it. */
enum ox_status parity_measure_expected(struct parity *p, struct parity_output *output,
                                       const struct ox_datum *expected)
{
    const struct parity_side *a = &p->sides[0];
    size_t i = find_output(&a->run, output->name);
    enum ox_status status = measure_a(p, output, i);
    return status == OX_OK ? measure(p, &output->b_truth, expected, a->double_outputs[i]) : status;
}

enum ox_status parity_measure_truth(struct parity *p)
{
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < p->n_sides && status == OX_OK; i++)
        status = run_double(p, &p->sides[i]);
    for (size_t i = 0; i < p->n_sides && status == OX_OK; i++)
        status = run_tipped(p, &p->sides[i]);
    for (size_t k = 0; k < p->n_outputs && status == OX_OK; k++) {
        struct parity_output *output = &p->outputs[k];
        if (output->side < p->n_sides && output->in_a && output->in_b)
            status = measure_truth(p, output);
    }
    return status;
}

static bool departs(const struct parity_output *output)
{
    struct ox_metrics metrics;
    ox_meter_read(output->meter, &metrics);
    return output->in_a && output->in_b && !metrics.agree;
}

/* Whether A's products come out otherwise when they saturate. */
static bool tells(const struct parity_output *output)
{
    struct ox_metrics exact, saturated;
    ox_meter_read(output->exact, &exact);
    ox_meter_read(output->saturated, &saturated);
    return exact.sqnr_db != saturated.sqnr_db;
}

/* Both ways are measured over the same samples: from the first on that departs, unless it makes no difference there. */
enum ox_status parity_measure_products(struct parity *p)
{
    const struct parity_side *a = &p->sides[0];
    bool any = false, told = false;
    if (p->n_sides < 2 || !parity_is_ours(a) || p->args->run.simulate || p->exact_alone)
        return OX_OK;
    for (size_t k = 0; k < p->n_outputs; k++)
        any = any || (p->sides[p->outputs[k].side].engine && departs(&p->outputs[k]));
    enum ox_status status = any ? run_saturating(p) : OX_OK;
    for (size_t k = 0; k < p->n_outputs && status == OX_OK && any; k++) {
        struct parity_output *output = &p->outputs[k];
        const struct parity_side *b = &p->sides[output->side];
        if (!b->engine || !output->in_a || !output->in_b)
            continue;
        size_t i = find_output(&a->run, output->name);
        size_t j = find_output(&b->run, parity_other_name(p, output->name));
        status = measure(p, &output->saturated, a->saturated_outputs[i], b->run.outputs[j]);
        if (status == OX_OK)
            status = measure(p, &output->exact, a->run.outputs[i], b->run.outputs[j]);
        told = told || (status == OX_OK && tells(output));
    }
    p->exact_alone = any && !told;
    return status;
}

/* ---- Judging ------------------------------------------------------------------------------------------------------- */

/* Sums in another order differ by some such multiple of what one order is off the truth. */
static const double ROUNDING_SPREAD = 8;

/* What a type leaves of a signal at least, unless something amplifies its rounding. */
static double type_db(enum ox_dtype type)
{
    return type == OX_FLOAT16 ? 25 : type == OX_BFLOAT16 ? 20 : 60;
}

enum { TIES_SIZE = 256 };

/* The decibels of the side that is farther from double precision; infinite where they mean nothing. */
static double least_db(const struct parity_output *output)
{
    const double a = output->a_error.sqnr_db, b = output->b_error.sqnr_db;
    return isnan(a) || isnan(b) ? INFINITY : fmin(a, b);
}

/* Both sides are far from double precision, and as far: a step of a quantizer went the other way here and there. */
static bool amplifies_rounding(const struct parity_output *output, enum ox_dtype type)
{
    static const double ALIKE_DB = 6;
    const double a = output->a_error.sqnr_db, b = output->b_error.sqnr_db;
    return a < type_db(type) && b < type_db(type) && fabs(a - b) <= ALIKE_DB;
}

/* The engine's products of uint8 by int8 saturate: computed so, A comes near. Empty: they do not, or it was not asked. */
static void judge_products(struct parity_output *output)
{
    struct ox_metrics exact;
    char there[96];
    if (!output->saturated || output->metrics.agree)
        return;
    ox_meter_read(output->saturated, &output->saturated_difference);
    ox_meter_read(output->exact, &exact);
    const double nearness = output->saturated_difference.sqnr_db;
    if (!ox_parity_saturates(exact.sqnr_db, nearness))
        return;
    if (isinf(nearness))
        snprintf(there, sizeof there, "equals B");
    else
        snprintf(there, sizeof there, "%s: %.2f dB from B, not %.2f",
                 output->saturated_difference.agree ? "agrees" : "is nearer", nearness,
                 exact.sqnr_db);
    snprintf(output->products, sizeof output->products,
             "B's products of uint8 by int8 saturate, as on processors without VNNI: with such "
             "(--simulate avx2-saturating) A %s",
             there);
}

/* A step of a quantizer that one side alone takes, where a value lies on a half. Empty: none does, or all of them on their other side
 * move the output by less than the sides differ. */
static void judge_ties(const struct parity *p, const struct parity_output *output,
                       char text[static TIES_SIZE])
{
    static const double APART = 2; /* some may tip this way and others that way */
    struct ox_metrics moved = {.max_abs = 0};
    struct ox_tie tie;
    text[0] = '\0';
    if (output->tipped)
        ox_meter_read(output->tipped, &moved);
    if (!(output->metrics.max_abs <= APART * moved.max_abs))
        return;
    if (ox_ties_first(p->sides[0].near_ties, &tie) ||
        (output->truths && ox_ties_first(p->sides[output->side].near_ties, &tie)))
        snprintf(text, TIES_SIZE,
                 "a tie of INT8: %llu of %llu codes lie nearer to a half than float32 rounds, the "
                 "first in '%.80s'; tipped, they move the output by up to %.3g",
                 (unsigned long long)tie.n_near, (unsigned long long)tie.n, tie.node,
                 moved.max_abs);
}

static void judge_truth(const struct parity *p, struct parity_output *output)
{
    const struct ox_metrics *m = &output->metrics;
    ox_meter_read(output->a_truth, &output->a_error);
    ox_meter_read(output->b_truth, &output->b_error);
    if (output->truths)
        ox_meter_read(output->truths, &output->truth_difference);
    /* Strings and outputs without elements have no precision. */
    if (isnan(m->max_abs) && !m->worst.found)
        return;
    double a = output->a_error.max_abs, b = output->b_error.max_abs;
    double models = output->truth_difference.max_abs;
    double size = fmax(fabs(m->b_min), fabs(m->b_max));
    double least = fmin(a, b) + size * 0x1p-24;
    output->nearer = isnan(a) || isnan(b) ? NULL : a < b ? "a" : b < a ? "b" : "equal";
    const enum ox_dtype half = ox_parity_half(p->sides[0].run.model);
    const enum ox_dtype type = half != OX_UNDEFINED ? half : OX_FLOAT32;
    const char *who = !output->nearer          ? "neither can be told to be nearer"
                      : *output->nearer == 'a' ? "A is nearer"
                      : *output->nearer == 'e' ? "both are as near"
                      : output->truths         ? "B is nearer"
                                               : "what is expected is nearer";
    char ties[TIES_SIZE];
    judge_ties(p, output, ties);
    if (isnan(m->max_abs) && isnan(a) && isnan(b))
        snprintf(output->verdict, sizeof output->verdict, "there is no number to judge by");
    else if (m->max_abs == 0)
        snprintf(output->verdict, sizeof output->verdict, "both sides are equal");
    else if (output->chance) {
        output->nearer = NULL;
        snprintf(output->verdict, sizeof output->verdict,
                 "double precision draws random numbers of its own: it judges neither");
    } else if (!(models <= 0.5 * m->max_abs) && models > 0)
        snprintf(output->verdict, sizeof output->verdict,
                 "the models differ in double precision too (by %.3g): they are not the same "
                 "function",
                 models);
    else if (output->products[0])
        snprintf(output->verdict, sizeof output->verdict, "%s", who);
    else if (amplifies_rounding(output, type))
        snprintf(output->verdict, sizeof output->verdict,
                 "%s; the model amplifies rounding, as quantizers do at ties: either side is "
                 "about as far from double precision as from the other",
                 who);
    else if (m->max_abs <= ROUNDING_SPREAD * least && least_db(output) >= type_db(type))
        snprintf(output->verdict, sizeof output->verdict,
                 "%s; the difference is within what %s allows", who, ox_dtype_name(type));
    else if (ties[0])
        snprintf(output->verdict, sizeof output->verdict, "%s; %s", who, ties);
    else
        snprintf(output->verdict, sizeof output->verdict,
                 "%s; the difference is more than %s allows%s", who, ox_dtype_name(type),
                 output->truths || a >= b
                     ? ""
                     : ": what is expected is of another function or other inputs, or was "
                       "computed with less precision");
}

/* What departs may be drawn: then the numbers tell nothing of either side. */
static enum ox_status find_chance(struct parity *p, struct parity_output *output)
{
    struct ox_error err = {0};
    if (output->metrics.agree || !output->in_a || !output->in_b)
        return OX_OK;
    if (ox_parity_chance(p->sides[0].run.model, output->name, &output->chance, &err) != OX_OK)
        return cli_error(p->cli, &err);
    return OX_OK;
}

enum ox_status parity_judge_truth(struct parity *p)
{
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < p->n_outputs && status == OX_OK; i++) {
        status = find_chance(p, &p->outputs[i]);
        if (!p->outputs[i].chance)
            judge_products(&p->outputs[i]);
        if (p->outputs[i].a_truth)
            judge_truth(p, &p->outputs[i]);
    }
    return status;
}
