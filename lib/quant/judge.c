#include "quant/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kept samples fall into two halves by their order, which is that of their hashes. */
static bool held_out(size_t i)
{
    return i % 2 == 0;
}

/* One kept sample through a session; outputs are the caller's. */
static enum ox_status run_sample(const struct ox_calibration *c, struct ox_session *session,
                                 const struct ox_kept *kept, struct ox_datum **outputs,
                                 struct ox_error *err)
{
    size_t n = ox_session_n_inputs(session);
    struct ox_datum **inputs = calloc(n + 1, sizeof *inputs);
    enum ox_status status = inputs ? OX_OK : ox_no_memory(err);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        for (size_t k = 0; k < c->n_inputs; k++) {
            if (kept->inputs[k] && strcmp(c->inputs[k], ox_session_input_name(session, i)) == 0)
                status = ox_datum_of_tensor(&inputs[i], kept->inputs[k], err);
        }
    }
    if (status == OX_OK)
        status = ox_session_run(session, inputs, outputs, err);
    for (size_t i = 0; inputs && i < n; i++)
        ox_datum_release(inputs[i]);
    free(inputs);
    return status;
}

static void release_all(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}

/* ---- Outputs ------------------------------------------------------------------------------------------------------ */

static enum ox_status as_float(struct ox_env *env, const struct ox_datum *datum,
                               struct ox_tensor **out, struct ox_error *err)
{
    const struct ox_tensor *tensor = datum ? ox_datum_get_tensor(datum) : NULL;
    *out = NULL;
    if (!tensor || !ox_quant_is_float(tensor->dtype))
        return OX_OK;
    return ox_tensor_convert(out, ox_env_budget(env), tensor, OX_FLOAT32, false, err);
}

/* Runs the held-out samples and hands each one's outputs on. */
static enum ox_status each_held(const struct ox_calibration *c, struct ox_model *model,
                                bool saturating,
                                enum ox_status (*take)(void *arg, size_t sample, size_t output,
                                                       const struct ox_tensor *value),
                                void *arg, struct ox_error *err)
{
    struct ox_session *session = NULL;
    struct ox_datum **outputs = NULL;
    struct ox_run_options run = {.level = 2, .saturating = saturating};
    enum ox_status status;
    size_t n = 0, sample = 0;
    OX_TRY(ox_session_new(&session, model, &run, err));
    n = ox_session_n_outputs(session);
    outputs = calloc(n + 1, sizeof *outputs);
    status = outputs ? OX_OK : ox_no_memory(err);
    for (size_t i = 0; i < c->n_kept && status == OX_OK; i++) {
        if (!held_out(i))
            continue;
        status = run_sample(c, session, &c->kept[i], outputs, err);
        for (size_t k = 0; k < n && status == OX_OK; k++) {
            struct ox_tensor *value;
            status = as_float(c->env, outputs[k], &value, err);
            if (status == OX_OK && value)
                status = take(arg, sample, k, value);
            ox_tensor_release(value);
        }
        release_all(outputs, n);
        sample++;
    }
    free(outputs);
    ox_session_release(session);
    return status;
}

static enum ox_status take_expected(void *arg, size_t sample, size_t output,
                                    const struct ox_tensor *value)
{
    struct ox_judge *judge = arg;
    judge->expected[sample * judge->n_outputs + output] = ox_tensor_ref(value);
    return OX_OK;
}

enum ox_status ox_judge_begin(struct ox_judge *judge, struct ox_model *model,
                              const struct ox_calibration *calibration, struct ox_error *err)
{
    *judge = (struct ox_judge){.env = calibration->env, .calibration = calibration};
    judge->n_samples = (calibration->n_kept + 1) / 2;
    judge->n_outputs = model->graph->n_outputs;
    judge->expected = calloc(judge->n_samples * judge->n_outputs + 1, sizeof *judge->expected);
    if (!judge->expected)
        return ox_no_memory(err);
    return each_held(calibration, model, false, take_expected, judge, err);
}

void ox_judge_end(struct ox_judge *judge)
{
    for (size_t i = 0; judge->expected && i < judge->n_samples * judge->n_outputs; i++)
        ox_tensor_release(judge->expected[i]);
    free(judge->expected);
    *judge = (struct ox_judge){0};
}

struct noise {
    const struct ox_judge *judge;
    struct ox_judged *judged;
    double signal, noise, product, power; /* power: of the model's own outputs */
    size_t n_rows;
    long
        lost; /* answers that changed; with labels those that became wrong, less those that became right */
};

/* The label of a held-out sample; NULL. */
static const int64_t *label_of(const struct ox_judge *judge, size_t sample)
{
    const struct ox_kept *kept = &judge->calibration->kept[2 * sample];
    return kept->has_label ? &kept->label : NULL;
}

static size_t largest(const float *row, size_t n)
{
    size_t at = 0;
    for (size_t i = 1; i < n; i++)
        at = row[i] > row[at] ? i : at;
    return at;
}

static enum ox_status take_noise(void *arg, size_t sample, size_t output,
                                 const struct ox_tensor *value)
{
    struct noise *sum = arg;
    const struct ox_tensor *expected =
        sum->judge->expected[sample * sum->judge->n_outputs + output];
    if (!expected || expected->n != value->n)
        return OX_OK;
    const float *want = expected->data, *have = value->data;
    double noise = 0;
    for (size_t i = 0; i < value->n; i++) {
        double r = (double)want[i], v = (double)have[i], d = r - v;
        if (!isfinite(r))
            continue; /* a mask's infinity, or what no rounding is to blame for */
        sum->signal += r * r;
        sum->product += r * v;
        sum->power += v * v;
        noise += d == d ? d * d : INFINITY;
    }
    sum->noise += noise;
    sum->judged->noise[sample] += noise;
    size_t n = value->rank ? (size_t)value->dims[value->rank - 1] : 0;
    for (size_t i = 0; output == 0 && n && i < value->n; i += n) {
        size_t float_says = largest(want + i, n), says = largest(have + i, n);
        const int64_t *label = label_of(sum->judge, sample);
        if (label)
            sum->lost += (long)((int64_t)float_says == *label) - (long)((int64_t)says == *label);
        else
            sum->lost += float_says != says;
        sum->n_rows++;
    }
    return OX_OK;
}

enum ox_status ox_judge_model(const struct ox_judge *judge, struct ox_model *model,
                              struct ox_judged *judged, struct ox_error *err)
{
    struct noise sum = {.judge = judge, .judged = judged};
    *judged = (struct ox_judged){.n_samples = judge->n_samples};
    OX_TRY(each_held(judge->calibration, model, judge->saturating, take_noise, &sum, err));
    double length = sqrt(sum.signal) * sqrt(sum.power);
    judged->cosine = sum.noise > 0 && length > 0 ? sum.product / length : sum.noise == 0;
    judged->top1_changed = sum.n_rows ? (double)sum.lost / (double)sum.n_rows : 0;
    if (!isfinite(sum.noise))
        judged->sqnr_db = -200;
    else if (sum.noise <= 1e-20 * sum.signal)
        judged->sqnr_db = 200;
    else
        judged->sqnr_db = fmax(-200, 10 * log10(fmax(sum.signal, 1e-300) / sum.noise));
    return OX_OK;
}

/* The mean in its standard errors. */
static double surely_over_zero(const double *values, size_t n)
{
    const double count = (double)n;
    double mean = 0, spread = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i] / count;
    for (size_t i = 0; i < n; i++)
        spread += (values[i] - mean) * (values[i] - mean);
    if (!isfinite(mean) || !isfinite(spread) || n < 2)
        return INFINITY;
    return spread > 0 ? mean / sqrt(spread / (count - 1) / count) : mean > 0 ? INFINITY : 0;
}

double ox_judged_gain(const struct ox_judged *a, const struct ox_judged *b)
{
    const double stricter = 1; /* ratios do not see what a few samples lose */
    const size_t n = b->n_samples;
    double differences[OX_KEPT_SAMPLES], ratios[OX_KEPT_SAMPLES], least = 0;
    for (size_t i = 0; i < n; i++)
        least += 1e-6 * (a->noise[i] + b->noise[i]) / (double)n;
    for (size_t i = 0; i < n; i++) {
        differences[i] = a->noise[i] - b->noise[i];
        ratios[i] = least > 0 ? log(fmax(a->noise[i], least)) - log(fmax(b->noise[i], least)) : 0;
    }
    double sure = surely_over_zero(differences, n);
    return isinf(sure) ? sure : fmax(sure, surely_over_zero(ratios, n) - stricter);
}

/* ---- Means -------------------------------------------------------------------------------------------------------- */

static enum ox_status take_mean(void *arg, const char *name, const struct ox_datum *value,
                                struct ox_error *err)
{
    struct ox_means *means = arg;
    uint32_t at = ox_strmap_find(&means->index, name, strlen(name));
    const struct ox_tensor *tensor = ox_datum_get_tensor(value);
    if (at == OX_STRMAP_NONE || !tensor || tensor->dtype != OX_FLOAT32 || tensor->rank < 2 ||
        !tensor->n)
        return OX_OK;
    struct ox_mean_row *row = &means->rows[at];
    unsigned axis = row->second ? 1 : tensor->rank - 1;
    size_t n = (size_t)tensor->dims[axis], inner = 1;
    for (unsigned i = axis + 1; i < tensor->rank; i++)
        inner *= (size_t)tensor->dims[i];
    if (!row->sums) {
        row->sums = ox_arena_array(means->arena, n, sizeof *row->sums);
        if (!row->sums)
            return ox_no_memory(err);
        row->n = n;
    }
    if (row->n != n)
        return OX_OK;
    const float *values = tensor->data;
    for (size_t k = 0; k < tensor->n / inner; k++) {
        double sum = 0;
        for (size_t i = 0; i < inner; i++)
            sum += (double)values[k * inner + i];
        row->sums[k % n] += sum;
    }
    row->count += (double)(tensor->n / n);
    return OX_OK;
}

static bool wants_mean(const struct ox_node *node, bool *spatial)
{
    *spatial = strcmp(node->op_type, "Conv") == 0;
    return !*node->domain && node->n_inputs >= 2 && node->inputs[0] && node->inputs[1] &&
           (*spatial || strcmp(node->op_type, "Gemm") == 0);
}

static enum ox_status add_row(struct ox_means *means, const char *name, bool spatial,
                              struct ox_error *err)
{
    uint32_t at = (uint32_t)means->n_rows;
    bool is_new;
    if (!ox_strmap_add(&means->index, name, strlen(name), &at, &is_new))
        return ox_no_memory(err);
    if (!is_new)
        return OX_OK;
    means->rows[means->n_rows++] = (struct ox_mean_row){.name = name, .second = spatial};
    return OX_OK;
}

enum ox_status ox_means_find(struct ox_means *means, struct ox_arena *arena, struct ox_model *model,
                             const struct ox_calibration *c, struct ox_error *err)
{
    const struct ox_graph *graph = model->graph;
    struct ox_session *session = NULL;
    struct ox_datum **outputs = NULL;
    struct ox_run_options run = {.level = 2, .on_value = take_mean, .value_arg = means};
    const char **watched = NULL;
    size_t n = 0;
    enum ox_status status;
    *means = (struct ox_means){.arena = arena};
    ox_strmap_init(&means->index);
    means->rows = ox_arena_array(arena, graph->n_nodes + 1, sizeof *means->rows);
    if (!means->rows)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        bool spatial;
        if (wants_mean(graph->nodes[i], &spatial))
            OX_TRY(add_row(means, graph->nodes[i]->inputs[0]->name, spatial, err));
    }
    watched = ox_arena_array(arena, means->n_rows + 1, sizeof *watched);
    if (!watched)
        return ox_no_memory(err);
    for (size_t i = 0; i < means->n_rows; i++)
        watched[i] = means->rows[i].name;
    run.watched = watched;
    run.n_watched = means->n_rows;
    OX_TRY_CLEANUP(ox_session_new(&session, model, &run, err));
    n = ox_session_n_outputs(session);
    outputs = calloc(n + 1, sizeof *outputs);
    OX_TRY_CLEANUP(outputs ? OX_OK : ox_no_memory(err));
    for (size_t i = 0; i < c->n_kept; i++) {
        if (held_out(i) && c->n_kept > 1)
            continue;
        for (size_t k = 0; k < c->n_inputs; k++) {
            struct ox_datum *input = NULL;
            if (c->kept[i].inputs[k])
                OX_TRY_CLEANUP(ox_datum_of_tensor(&input, c->kept[i].inputs[k], err));
            if (input)
                status = take_mean(means, c->inputs[k], input, err);
            ox_datum_release(input);
            OX_TRY_CLEANUP(status);
        }
        OX_TRY_CLEANUP(run_sample(c, session, &c->kept[i], outputs, err));
        release_all(outputs, n);
    }
cleanup:
    free(outputs);
    ox_session_release(session);
    return status;
}

void ox_means_release(struct ox_means *means)
{
    ox_strmap_release(&means->index);
}

const struct ox_mean_row *ox_means_of(const struct ox_means *means, const char *name)
{
    uint32_t at = ox_strmap_find(&means->index, name, strlen(name));
    return at == OX_STRMAP_NONE || !means->rows[at].sums ? NULL : &means->rows[at];
}
