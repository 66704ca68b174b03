#include "quant/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/kept.h"

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

/* Runs the held-out samples and hands each one's outputs on, until one is enough. NULL: all are wanted. */
static enum ox_status each_held(
    const struct ox_calibration *c, struct ox_model *model, bool saturating,
    enum ox_status (*take)(void *arg, size_t sample, size_t output, const struct ox_tensor *value),
    bool (*enough)(void *arg, size_t n_samples), void *arg, struct ox_error *err)
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
        if (!ox_kept_held_out(i))
            continue;
        status = ox_kept_run(c, session, &c->kept[i], outputs, err);
        for (size_t k = 0; k < n && status == OX_OK; k++) {
            struct ox_tensor *value;
            status = as_float(c->env, outputs[k], &value, err);
            if (status == OX_OK && value)
                status = take(arg, sample, k, value);
            ox_tensor_release(value);
        }
        ox_kept_drop(outputs, n);
        sample++;
        if (status == OX_OK && enough && enough(arg, sample))
            break;
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
    return each_held(calibration, model, false, take_expected, NULL, judge, err);
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
    const struct ox_judged *best; /* NULL: it is judged for its own sake */
    struct ox_judged *judged;
    bool is_hopeless;
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

/* By the first n samples. */
static double gain_of(const struct ox_judged *a, const struct ox_judged *b, size_t n)
{
    const double stricter = 1; /* ratios do not see what a few samples lose */
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

/* What is clearly noisier in a few samples, or a little in half of them, does not come to gain what it takes in the rest, but by
 * chance. */
static bool is_hopeless(void *arg, size_t n)
{
    enum { LEAST = 4 };
    struct noise *sum = arg;
    const double hope = 2 * n < sum->judge->n_samples ? -2 : -0.5; /* in standard errors */
    sum->is_hopeless = sum->best && n >= LEAST && gain_of(sum->best, sum->judged, n) < hope;
    return sum->is_hopeless;
}

enum ox_status ox_judge_model(const struct ox_judge *judge, struct ox_model *model,
                              const struct ox_judged *best, struct ox_judged *judged,
                              struct ox_error *err)
{
    struct noise sum = {.judge = judge, .best = best, .judged = judged};
    *judged = (struct ox_judged){.n_samples = judge->n_samples};
    OX_TRY(each_held(judge->calibration, model, judge->saturating, take_noise, is_hopeless, &sum,
                     err));
    double length = sqrt(sum.signal) * sqrt(sum.power);
    judged->cosine = sum.noise > 0 && length > 0 ? sum.product / length : sum.noise == 0;
    judged->top1_changed = sum.n_rows ? (double)sum.lost / (double)sum.n_rows : 0;
    if (sum.is_hopeless || !isfinite(sum.noise))
        judged->sqnr_db = -200;
    else if (sum.noise <= 1e-20 * sum.signal)
        judged->sqnr_db = 200;
    else
        judged->sqnr_db = fmax(-200, 10 * log10(fmax(sum.signal, 1e-300) / sum.noise));
    return OX_OK;
}

double ox_judged_error(const struct ox_judged *judged)
{
    const double errors = surely_over_zero(judged->noise, judged->n_samples);
    return isfinite(errors) && errors > 0 ? 1 / errors : 0;
}

double ox_judged_gain(const struct ox_judged *a, const struct ox_judged *b)
{
    return gain_of(a, b, b->n_samples);
}
