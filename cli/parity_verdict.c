#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

static const double RTOL = 1e-3, ATOL = 1e-5;

/* ---- --require, --tol ---------------------------------------------------------------------------------------------- */

/* "cosine>=0.999" of n characters. */
static bool parse_bound(const char *text, size_t n, struct parity_bound *bound)
{
    const struct ox_metrics none = {.agree = false};
    char copy[128], *end;
    double ignored;
    if (n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    size_t name = strcspn(copy, "<>");
    if (!copy[name] || copy[name + 1] != '=' || name >= sizeof bound->name)
        return false;
    bound->at_least = copy[name] == '>';
    bound->value = strtod(copy + name + 2, &end);
    if (end == copy + name + 2 || *end || isnan(bound->value))
        return false;
    memcpy(bound->name, copy, name);
    bound->name[name] = '\0';
    return ox_metrics_find(&none, bound->name, &ignored);
}

static enum ox_status bad_bound(struct parity *p, const char *text, size_t n)
{
    struct ox_strbuf names = {0};
    for (size_t i = 0; ox_metric_name(i); i++)
        ox_strbuf_printf(&names, "%s%s", i ? ", " : "", ox_metric_name(i));
    enum ox_status status = cli_fail(
        p->cli, OX_USAGE, "parity: --require takes METRIC>=X or METRIC<=X, not '%.*s'; metrics: %s",
        (int)n, text, names.data ? names.data : "");
    ox_strbuf_release(&names);
    return status;
}

/* "NAME=RTOL,ATOL"; the name may hold '=' itself. */
static bool parse_tolerance(const char *text, size_t *name, struct ox_tolerance *tolerance)
{
    const char *equals = strrchr(text, '=');
    char *end;
    if (!equals)
        return false;
    *name = (size_t)(equals - text);
    tolerance->rtol = strtod(equals + 1, &end);
    if (end == equals + 1 || *end != ',')
        return false;
    const char *second = end + 1;
    tolerance->atol = strtod(second, &end);
    return end != second && !*end && tolerance->rtol >= 0 && tolerance->atol >= 0;
}

enum ox_status parity_read_bounds(struct parity *p)
{
    const struct parity_args *args = p->args;
    size_t n = 0, name;
    struct ox_tolerance tolerance;
    for (size_t i = 0; i < args->tolerances.n; i++)
        if (!parse_tolerance(args->tolerances.items[i], &name, &tolerance))
            return cli_fail(p->cli, OX_USAGE, "parity: --tol takes NAME=RTOL,ATOL, not '%s'",
                            args->tolerances.items[i]);
    for (size_t i = 0; i < args->require.n; i++)
        n += strlen(args->require.items[i]) / 2 + 1;
    p->bounds = calloc(n + 1, sizeof *p->bounds);
    if (!p->bounds)
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < args->require.n; i++)
        for (const char *at = args->require.items[i]; *at;) {
            size_t len = strcspn(at, ",");
            if (!parse_bound(at, len, &p->bounds[p->n_bounds]))
                return bad_bound(p, at, len);
            p->n_bounds++;
            at += len + (at[len] == ',');
        }
    p->tolerance_counts =
        !p->n_bounds || !isnan(args->rtol) || !isnan(args->atol) || args->tolerances.n;
    return OX_OK;
}

void parity_options_for(const struct parity *p, const char *output,
                        struct ox_metrics_options *options)
{
    const struct parity_args *args = p->args;
    *options =
        (struct ox_metrics_options){.tolerance = {.rtol = isnan(args->rtol) ? RTOL : args->rtol,
                                                  .atol = isnan(args->atol) ? ATOL : args->atol,
                                                  .nan_agrees = args->nan_agrees},
                                    .agreement = (enum ox_agreement)args->agreement};
    for (size_t i = 0; i < args->tolerances.n && output; i++) {
        size_t name = 0;
        struct ox_tolerance tolerance = options->tolerance;
        if (parse_tolerance(args->tolerances.items[i], &name, &tolerance) &&
            strlen(output) == name && memcmp(output, args->tolerances.items[i], name) == 0)
            options->tolerance = tolerance;
    }
}

/* ---- Names --------------------------------------------------------------------------------------------------------- */

const char *parity_other_name(const struct parity *p, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < p->args->pairs.n; i++) {
        const char *pair = p->args->pairs.items[i];
        if (strncmp(pair, name, n) == 0 && pair[n] == '=')
            return pair + n + 1;
    }
    return name;
}

size_t parity_output_called(const struct parity *p, const char *other)
{
    const struct run *a = &p->sides[0].run;
    size_t i = 0;
    while (i < a->n_outputs &&
           strcmp(parity_other_name(p, ox_session_output_name(a->session, i)), other) != 0)
        i++;
    return i;
}

/* ---- Outputs ------------------------------------------------------------------------------------------------------- */

struct parity_output *parity_output_of(struct parity *p, const char *name, size_t side)
{
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].side == side && strcmp(p->outputs[i].name, name) == 0)
            return &p->outputs[i];
    struct parity_output *more = realloc(p->outputs, (p->n_outputs + 1) * sizeof *more);
    if (!more)
        return NULL;
    p->outputs = more;
    struct ox_metrics_options options;
    parity_options_for(p, name, &options);
    struct parity_output *output = &more[p->n_outputs];
    *output = (struct parity_output){.name = strdup(name), .side = side};
    options.detail = true;
    p->n_outputs++; /* released whatever becomes of it */
    if (!output->name || ox_meter_new(&output->meter, p->cli->env, &options, NULL) != OX_OK)
        return NULL;
    return output;
}

/* What is missing, in words; both sides of a bound must be numbers. */
static void require(struct parity *p, struct parity_output *output)
{
    for (size_t i = 0; i < p->n_bounds && !output->failed[0]; i++) {
        const struct parity_bound *bound = &p->bounds[i];
        double value = NAN;
        ox_metrics_find(&output->metrics, bound->name, &value);
        if (bound->at_least ? value >= bound->value : value <= bound->value)
            continue;
        /* Strings and empty tensors have no figures to hold against a bound. */
        if (isnan(value) && output->metrics.agree && !output->metrics.worst.found)
            continue;
        snprintf(output->failed, sizeof output->failed, "%s is %.6g, required is %s %.6g",
                 bound->name, value, bound->at_least ? ">=" : "<=", bound->value);
    }
}

/* ---- Double precision ---------------------------------------------------------------------------------------------- */

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

enum ox_status parity_measure_truth(struct parity *p, size_t side)
{
    const struct parity_side *a = &p->sides[0], *b = &p->sides[side];
    for (size_t k = 0; k < p->n_outputs; k++) {
        struct parity_output *output = &p->outputs[k];
        if (output->side != side || !output->in_a || !output->in_b)
            continue;
        size_t i = find_output(&a->run, output->name);
        size_t j = find_output(&b->run, parity_other_name(p, output->name));
        enum ox_status status =
            measure(p, &output->a_truth, a->run.outputs[i], a->double_outputs[i]);
        if (status == OX_OK)
            status = measure(p, &output->b_truth, b->run.outputs[j], b->double_outputs[j]);
        if (status == OX_OK)
            status = measure(p, &output->truths, a->double_outputs[i], b->double_outputs[j]);
        if (status == OX_OK && a->saturated_outputs && b->engine)
            status = measure(p, &output->saturated, a->saturated_outputs[i], b->run.outputs[j]);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

/* Sums in another order differ by some such multiple of what one order is off the truth. */
static const double ROUNDING_SPREAD = 8;

/* What float32 leaves of a signal at least, unless something amplifies its rounding. */
static const double FLOAT32_DB = 60;

/* The decibels of the side that is farther from double precision; infinite where they mean nothing. */
static double least_db(const struct parity_output *output)
{
    const double a = output->a_error.sqnr_db, b = output->b_error.sqnr_db;
    return isnan(a) || isnan(b) ? INFINITY : fmin(a, b);
}

/* Both sides are far from double precision, and as far: a step of a quantizer went the other way here and there. */
static bool amplifies_rounding(const struct parity_output *output)
{
    static const double ALIKE_DB = 6;
    const double a = output->a_error.sqnr_db, b = output->b_error.sqnr_db;
    return a < FLOAT32_DB && b < FLOAT32_DB && fabs(a - b) <= ALIKE_DB;
}

/* The engine's products of uint8 by int8 saturate: computed so, A comes near. */
static void judge_products(struct parity_output *output, const char *who)
{
    const double nearness = output->saturated_difference.sqnr_db;
    char there[64];
    if (isinf(nearness))
        snprintf(there, sizeof there, "equals B");
    else
        snprintf(there, sizeof there, "is %.2f dB from B, not %.2f", nearness,
                 output->metrics.sqnr_db);
    snprintf(output->verdict, sizeof output->verdict,
             "%s; B's products of uint8 by int8 saturate: with such (--simulate avx2-saturating) "
             "A %s",
             who, there);
}

static void judge_truth(struct parity_output *output)
{
    const struct ox_metrics *m = &output->metrics;
    ox_meter_read(output->a_truth, &output->a_error);
    ox_meter_read(output->b_truth, &output->b_error);
    ox_meter_read(output->truths, &output->truth_difference);
    if (output->saturated)
        ox_meter_read(output->saturated, &output->saturated_difference);
    /* Strings and outputs without elements have no precision. */
    if (isnan(m->max_abs) && !m->worst.found)
        return;
    double a = output->a_error.max_abs, b = output->b_error.max_abs;
    double models = output->truth_difference.max_abs;
    double size = fmax(fabs(m->b_min), fabs(m->b_max));
    double least = fmin(a, b) + size * 0x1p-24;
    output->nearer = isnan(a) || isnan(b) ? NULL : a < b ? "a" : b < a ? "b" : "equal";
    const char *who = !output->nearer          ? "neither can be told to be nearer"
                      : *output->nearer == 'a' ? "A is nearer"
                      : *output->nearer == 'b' ? "B is nearer"
                                               : "both are as near";
    if (m->max_abs == 0)
        snprintf(output->verdict, sizeof output->verdict, "both sides are equal");
    else if (!(models <= 0.5 * m->max_abs) && models > 0)
        snprintf(output->verdict, sizeof output->verdict,
                 "the models differ in double precision too (by %.3g): they are not the same "
                 "function",
                 models);
    else if (output->saturated && !m->agree &&
             ox_parity_saturates(m->sqnr_db, output->saturated_difference.sqnr_db))
        judge_products(output, who);
    else if (amplifies_rounding(output))
        snprintf(output->verdict, sizeof output->verdict,
                 "%s; the model amplifies rounding, as quantizers do at ties: either side is "
                 "about as far from double precision as from the other",
                 who);
    else if (m->max_abs <= ROUNDING_SPREAD * least && least_db(output) >= FLOAT32_DB)
        snprintf(output->verdict, sizeof output->verdict,
                 "%s; the difference is within what float32 allows", who);
    else
        snprintf(output->verdict, sizeof output->verdict,
                 "%s; the difference is more than float32 allows", who);
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

void parity_judge(struct parity *p)
{
    bool any = false, all = true;
    for (size_t i = 0; i < p->n_outputs; i++) {
        struct parity_output *output = &p->outputs[i];
        struct ox_metrics *m = &output->metrics;
        ox_meter_read(output->meter, m);
        require(p, output);
        if (output->a_truth)
            judge_truth(output);
        if (!p->tolerance_counts && output->in_a && output->in_b)
            m->agree = !m->reason[0] || m->worst.found;
        m->agree = m->agree && !output->failed[0];
        any = any || (output->in_a && output->in_b);
        all = all && m->agree;
    }
    p->agree = all && any;
}

const char *parity_reference(const struct parity *p, size_t side)
{
    return side < p->n_sides ? p->sides[side].label : p->expected ? p->expected : "expected";
}
