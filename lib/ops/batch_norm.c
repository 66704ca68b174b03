/* BatchNormalization, whose meaning changed with nearly every version:
 *
 *     1, 6   is_test (0: training), spatial (0: statistics for each position of each channel), five outputs
 *     7      training when the outputs after the first are asked for; spatial
 *     9      the same without spatial
 *     14, 15 training_mode; three outputs
 *
 * The variance is the population's throughout (division by the count). Until 9 running_mean = mean * momentum + saved_mean *
 * (1 - momentum), as since 14. */
#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/affine.h"
#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

/* Since 14 the attribute, no longer the number of outputs, says whether statistics are wanted. */
static bool has_its_outputs(struct ox_infer *c)
{
    const bool training = ox_infer_int_attr(c, "training_mode", 0) != 0;
    const size_t n = ox_infer_n_out(c), want = training ? 3 : 1;
    if (ox_infer_opset(c) < 14 || n == want)
        return true;
    ox_infer_conflict(c, "it has %zu outputs; %zu belong to training_mode %d", n, want, training);
    return false;
}

static void infer_batch_norm(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
    if (!has_its_outputs(c))
        return;
    unsigned rank;
    const struct ox_expr *const *x;
    if (!ox_infer_shape(c, 0, &rank, &x))
        return;
    if (rank < 1) {
        ox_infer_conflict(c, "the input is a scalar");
        return;
    }
    bool spatial = ox_infer_int_attr(c, "spatial", 1) != 0;
    const struct ox_expr *channels = rank > 1 ? x[1] : ox_infer_num(c, 1);
    for (size_t i = 1; spatial && i < 5; i++) {
        ox_rule_rank(c, i, 1);
        const struct ox_expr *own = ox_infer_dim(c, i, 0);
        if (own)
            channels = ox_infer_equal(c, channels, own, "the number of channels");
    }
    for (size_t i = 1; i < ox_infer_n_out(c); i++) {
        if (spatial)
            ox_infer_set_shape(c, i, 1, &channels);
        else
            ox_infer_same_shape(c, i, 3);
    }
}

struct batch_norm {
    size_t images, groups, inner; /* x is [images, groups, inner]; a set of statistics a group */
    const struct ox_tensor *x;
    struct ox_tensor *y;
    const double *scale, *shift, *mean, *variance;
    double *saved_mean, *saved_variance;
    double *factor, *addend; /* of each group, when normalizing */
    double epsilon;
};

static void statistics_task(void *arg, size_t g)
{
    struct batch_norm *bn = arg;
    enum { STRETCH = 512 };
    double part[STRETCH], n = (double)bn->images * (double)bn->inner, mean = 0, variance = 0;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        for (size_t i = 0; i < bn->images; i++) {
            size_t base = (i * bn->groups + g) * bn->inner;
            for (size_t at = 0; at < bn->inner; at += STRETCH) {
                size_t m = bn->inner - at < STRETCH ? bn->inner - at : STRETCH;
                ox_real_load(bn->x, base + at, m, part);
                for (size_t k = 0; pass && k < m; k++)
                    part[k] = (part[k] - mean) * (part[k] - mean);
                for (size_t k = 0; k < m; k++)
                    sum += part[k];
            }
        }
        if (pass) /* infinite where its own type has no room for it */
            variance = bn->x->dtype == OX_FLOAT32 ? (double)(float)(sum / n) : sum / n;
        else
            mean = sum / n;
    }
    bn->saved_mean[g] = mean;
    bn->saved_variance[g] = variance;
}

/* As onnxruntime does it, one factor and one addend: where the variance is 0 that is NaN, at every level. */
static void normalize_task(void *arg, size_t from, size_t to)
{
    const struct batch_norm *bn = arg;
    const bool wide = bn->y->dtype == OX_FLOAT64;
    for (size_t plane = from, run; plane < to; plane += run) {
        const size_t g = plane % bn->groups, base = plane * bn->inner;
        const double factor = bn->factor[g], addend = bn->addend[g];
        run = wide && bn->inner == 1 ? bn->groups - g : 1;
        run = run < to - plane ? run : to - plane;
        if (wide && bn->inner == 1) {
            const double *x = (const double *)bn->x->data + base;
            double *y = (double *)bn->y->data + base;
            for (size_t k = 0; k < run; k++)
                y[k] = x[k] * bn->factor[g + k] + bn->addend[g + k];
        } else if (wide) {
            const double *x = (const double *)bn->x->data + base;
            double *y = (double *)bn->y->data + base;
            for (size_t k = 0; k < bn->inner; k++)
                y[k] = x[k] * factor + addend;
        } else {
            const float *x = (const float *)bn->x->data + base;
            float *y = (float *)bn->y->data + base;
            for (size_t k = 0; k < bn->inner; k++)
                y[k] = (float)((double)x[k] * factor + addend);
        }
    }
}

/* Over all planes, of one group after the other. */
static enum ox_status normalize(struct ox_run *r, struct batch_norm *bn, struct ox_error *err)
{
    bn->factor = ox_real_scratch(r, bn->groups, err);
    bn->addend = ox_real_scratch(r, bn->groups, err);
    if (!bn->factor || !bn->addend)
        return OX_NO_MEMORY;
    for (size_t g = 0; g < bn->groups; g++) {
        bn->factor[g] = bn->scale[g] / sqrt(bn->variance[g] + bn->epsilon);
        bn->addend[g] = bn->shift[g] - bn->mean[g] * bn->factor[g];
    }
    ox_ranges_run(r->env, bn->images * bn->groups, OX_GRAIN / bn->inner + 1, normalize_task, bn);
    return OX_OK;
}

static bool is_training(const struct ox_run *r)
{
    if (r->opset >= 14)
        return ox_run_int(r, "training_mode", 0) != 0;
    if (r->opset < 7)
        return ox_run_int(r, "is_test", 0) == 0;
    for (size_t i = 1; i < r->n_out; i++)
        if (ox_run_wants(r, i))
            return true;
    return false;
}

static enum ox_status check_parameters(struct ox_run *r, size_t groups, struct ox_error *err)
{
    static const char *const names[] = {"X", "scale", "B", "mean", "var"};
    for (size_t i = 1; i < 5; i++)
        if (ox_run_in(r, i)->n != groups)
            return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not %zu", names[i],
                               ox_run_in(r, i)->n, groups);
    return OX_OK;
}

/* Running statistics moved towards those of this batch, and until version 9 the batch's own beside them. */
static enum ox_status give_statistics(struct ox_run *r, const struct batch_norm *bn,
                                      const double *mean, const double *variance,
                                      struct ox_error *err)
{
    double momentum = (double)ox_run_float(r, "momentum", 0.9f);
    const struct ox_tensor *like = ox_run_in(r, 3);
    double *running = ox_real_scratch(r, bn->groups, err);
    if (!running)
        return OX_NO_MEMORY;
    for (size_t i = 1; i < r->n_out && i < 5; i++) {
        if (!ox_run_wants(r, i))
            continue;
        const double *old = i % 2 ? mean : variance;
        const double *saved = i % 2 ? bn->saved_mean : bn->saved_variance;
        for (size_t g = 0; g < bn->groups; g++)
            running[g] = i < 3 ? old[g] * momentum + saved[g] * (1 - momentum) : saved[g];
        OX_TRY(ox_real_out(r, i, like->dtype, like->rank, like->dims, running, err));
    }
    return OX_OK;
}

/* The dimensions and the parameters. */
static enum ox_status begin(struct ox_run *r, struct batch_norm *bn, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if (x->rank < 1)
        return ox_run_fail(r, err, OX_INPUT, "the input is a scalar");
    bool spatial = ox_run_int(r, "spatial", 1) != 0;
    *bn = (struct batch_norm){.x = x, .images = (size_t)x->dims[0], .groups = 1, .inner = 1};
    for (unsigned d = 1; d < x->rank; d++) {
        if (spatial && d > 1)
            bn->inner *= (size_t)x->dims[d];
        else
            bn->groups *= (size_t)x->dims[d];
    }
    OX_TRY(check_parameters(r, bn->groups, err));
    OX_TRY(ox_real_in(r, 1, &bn->scale, err));
    OX_TRY(ox_real_in(r, 2, &bn->shift, err));
    OX_TRY(ox_real_in(r, 3, &bn->mean, err));
    OX_TRY(ox_real_in(r, 4, &bn->variance, err));
    bn->epsilon = (double)ox_run_float(r, "epsilon", 1e-5f);
    return OX_OK;
}

/* A channel's factor and addend in float32. */
static void affine_of(const struct batch_norm *bn, size_t g, float *scale, float *shift)
{
    const double factor = bn->scale[g] / sqrt(bn->variance[g] + bn->epsilon);
    *scale = (float)factor;
    *shift = (float)(bn->shift[g] - bn->mean[g] * factor);
}

/* Of planes. */
static void plane_task(void *arg, size_t from, size_t to)
{
    const struct batch_norm *bn = arg;
    for (size_t plane = from; plane < to; plane++) {
        const size_t g = plane % bn->groups, base = plane * bn->inner;
        float scale, shift;
        affine_of(bn, g, &scale, &shift);
        ox_fast_rows()->unary[OX_UNARY_AFFINE](bn->inner, (const float *)bn->x->data + base,
                                               (float *)bn->y->data + base, scale, shift);
    }
}

/* Of rows of channels. */
static void row_task(void *arg, size_t from, size_t to)
{
    const struct ox_affine *all = arg;
    struct ox_affine a = *all;
    a.rows = to - from;
    a.x += from * a.x_step;
    a.y += from * a.y_step;
    ox_affine(ox_cpu(), &a);
}

static enum ox_status normalize_rows(struct ox_run *r, const struct batch_norm *bn,
                                     struct ox_error *err)
{
    float *scale = ox_run_scratch(r, 2 * bn->groups, sizeof *scale, err);
    if (!scale)
        return OX_NO_MEMORY;
    float *shift = scale + bn->groups;
    for (size_t g = 0; g < bn->groups; g++)
        affine_of(bn, g, scale + g, shift + g);
    struct ox_affine a = {.n = bn->groups,
                          .x = bn->x->data,
                          .scale = scale,
                          .shift = shift,
                          .lo = -INFINITY,
                          .hi = INFINITY,
                          .y = bn->y->data,
                          .x_step = bn->groups,
                          .y_step = bn->groups};
    ox_fast_spread(r->env, bn->images, a.n >= 8192 ? 1 : 8192 / a.n, 0.2 * (double)a.n, row_task,
                   &a);
    return OX_OK;
}

/* Inference. */
static enum ox_status fast_batch_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    struct batch_norm bn;
    if (!x || !x->n || r->n_out > 1 || is_training(r))
        return OX_UNSUPPORTED;
    OX_TRY(begin(r, &bn, err));
    if (bn.inner == 1) {
        OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &bn.y, err));
        return normalize_rows(r, &bn, err);
    }
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &bn.y, err));
    ox_fast_spread(r->env, bn.images * bn.groups, bn.inner >= 8192 ? 1 : 8192 / bn.inner,
                   0.2 * (double)bn.inner, plane_task, &bn);
    return OX_OK;
}

static enum ox_status run_batch_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct batch_norm bn;
    OX_TRY(begin(r, &bn, err));
    const double *mean = bn.mean, *variance = bn.variance;
    if (is_training(r)) {
        bn.mean = bn.saved_mean = ox_real_scratch(r, bn.groups, err);
        bn.variance = bn.saved_variance = ox_real_scratch(r, bn.groups, err);
        if (!bn.mean || !bn.variance)
            return OX_NO_MEMORY;
        ox_parallel(r->env, bn.groups, statistics_task, &bn);
        OX_TRY(give_statistics(r, &bn, mean, variance, err));
    } else {
        for (size_t i = 1; i < r->n_out && i < 5; i++)
            if (ox_run_wants(r, i))
                OX_TRY(ox_run_out_tensor(r, i, ox_run_in(r, i % 2 ? 3 : 4), err));
    }
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, x->dims, &bn.y, err));
    if (x->n)
        OX_TRY(normalize(r, &bn, err));
    return ox_env_poll(r->env, err);
}

#define BATCH_NORM(since)                                                                          \
    {                                                                                              \
        "", "BatchNormalization", since, .infer = infer_batch_norm, .run = run_batch_norm,         \
                                         .fast = fast_batch_norm                                   \
    }

const struct ox_op ox_ops_batch_norm[] = {BATCH_NORM(1),
                                          BATCH_NORM(6),
                                          BATCH_NORM(7),
                                          BATCH_NORM(9),
                                          BATCH_NORM(14),
                                          BATCH_NORM(15),
                                          {0}};
