/* Softmax and normalizations in float32 by the row kernels. */
#include <math.h>
#include <string.h>

#include "kernels/compute.h"
#include "ops/fast/fast.h"

static bool is_named(const struct ox_run *r, const char *name)
{
    return strcmp(r->node->op_type, name) == 0;
}

/* Elements before, on and after an axis. */
static void split_dims(const struct ox_tensor *x, unsigned axis, size_t *outer, size_t *count,
                       size_t *inner)
{
    *outer = *count = *inner = 1;
    for (unsigned d = 0; d < x->rank; d++)
        *(d < axis ? outer : d == axis ? count : inner) *= (size_t)x->dims[d];
}

/* ---- Softmax ---------------------------------------------------------------------------------------------------- */

struct softmax_job {
    const struct ox_rows *rows;
    const float *x;
    float *y;
    size_t count, inner;
    bool log;
};

static void softmax_task(void *arg, size_t from, size_t to)
{
    const struct softmax_job *job = arg;
    const size_t n = job->count;
    if (job->log)
        job->rows->log_softmax(to - from, n, job->x + from * n, job->y + from * n);
    for (size_t i = from; i < to && !job->log; i++)
        job->rows->softmax(n, job->x + i * n, NULL, 1, job->y + i * n);
}

/* Of each of the rows as many floats as those that it has, at least: those too many are the next rows'. */
static inline __attribute__((always_inline)) void repeat(size_t rows, size_t n, const float *by,
                                                         const size_t least, float *to)
{
    for (size_t row = 0; row < rows; row++, to += n)
        for (size_t i = 0; i < least; i++)
            to[i] = by[row];
}

void ox_fast_divide_rows(size_t rows, size_t n, const float *x, const float *by, float *y)
{
    enum { SHORT = 32, FLOATS = 1024 };
    const struct ox_rows *t = ox_fast_rows();
    float all[FLOATS + SHORT];
    if (n >= SHORT || rows == 1) {
        for (size_t row = 0; row < rows; row++, x += n, y += n)
            t->binary[OX_BINARY_DIV][OX_ROW_RIGHT_ONE](n, x, by + row, y);
        return;
    }
    for (size_t row = 0, together; row < rows && n; row += together, x += together * n) {
        together = rows - row < FLOATS / n ? rows - row : FLOATS / n;
        if (n == 1)
            memcpy(all, by + row, together * sizeof *all);
        else if (n <= 8)
            repeat(together, n, by + row, 8, all);
        else if (n <= 16)
            repeat(together, n, by + row, 16, all);
        else
            repeat(together, n, by + row, 32, all);
        t->binary[OX_BINARY_DIV][OX_ROW_BOTH](together * n, x, all, y);
        y += together * n;
    }
}

/* The largest stretch of lanes that are worked on side by side; rows that are so short are turned first. */
enum { LANES = 256, SHORT = 32, TURNED = 64 };

static void lane_maxima(const struct ox_rows *t, size_t count, size_t n, const float *x,
                        size_t step, float *most)
{
    memcpy(most, x, n * sizeof *most);
    for (size_t i = 1; i < count; i++)
        t->binary[OX_BINARY_MAX][OX_ROW_BOTH](n, most, x + i * step, most);
}

static void log_softmax_lanes(const struct ox_rows *t, size_t count, size_t n, const float *x,
                              float *y, size_t step)
{
    float most[LANES], power[LANES], sum[LANES] = {0};
    lane_maxima(t, count, n, x, step, most);
    for (size_t i = 0; i < count; i++) {
        t->binary[OX_BINARY_SUB][OX_ROW_BOTH](n, x + i * step, most, y + i * step);
        t->unary[OX_UNARY_EXP](n, y + i * step, power, 0, 0);
        t->binary[OX_BINARY_ADD][OX_ROW_BOTH](n, sum, power, sum);
    }
    t->unary[OX_UNARY_LOG](n, sum, sum, 0, 0);
    for (size_t i = 0; i < count; i++)
        t->binary[OX_BINARY_SUB][OX_ROW_BOTH](n, y + i * step, sum, y + i * step);
}

/* n <= LANES softmaxes over `count` elements each, `step` apart; y may be x. */
static void softmax_lanes(const struct ox_rows *t, size_t count, size_t n, const float *x, float *y,
                          size_t step)
{
    float most[LANES], sum[LANES] = {0};
    lane_maxima(t, count, n, x, step, most);
    for (size_t i = 0; i < count; i++) {
        float *row = y + i * step;
        t->binary[OX_BINARY_SUB][OX_ROW_BOTH](n, x + i * step, most, row);
        t->unary[OX_UNARY_EXP](n, row, row, 0, 0);
        t->binary[OX_BINARY_ADD][OX_ROW_BOTH](n, sum, row, sum);
    }
    for (size_t i = 0; i < count; i++)
        t->binary[OX_BINARY_DIV][OX_ROW_BOTH](n, y + i * step, sum, y + i * step);
}

/* Along an axis whose elements lie `inner` apart. Units are stretches of lanes. */
static void softmax_lanes_task(void *arg, size_t from, size_t to)
{
    const struct softmax_job *job = arg;
    const size_t stretches = (job->inner - 1) / LANES + 1;
    for (size_t unit = from; unit < to; unit++) {
        size_t lane = unit % stretches * LANES;
        size_t n = job->inner - lane < LANES ? job->inner - lane : LANES;
        size_t at = unit / stretches * job->count * job->inner + lane;
        (job->log ? log_softmax_lanes : softmax_lanes)(job->rows, job->count, n, job->x + at,
                                                       job->y + at, job->inner);
    }
}

/* Rows shorter than a few vectors: TURNED of them at a time become lanes. */
static void softmax_short_task(void *arg, size_t from, size_t to)
{
    const struct softmax_job *job = arg;
    const struct ox_compute *t = ox_compute(ox_cpu());
    float turned[SHORT * TURNED];
    for (size_t row = from; row < to; row += TURNED) {
        size_t n = to - row < TURNED ? to - row : TURNED, at = row * job->count;
        t->transpose(n, job->count, job->x + at, job->count, turned, TURNED);
        (job->log ? log_softmax_lanes : softmax_lanes)(job->rows, job->count, n, turned, turned,
                                                       TURNED);
        t->transpose(job->count, n, turned, TURNED, job->y + at, job->count);
    }
}

static void spread_softmax(struct ox_run *r, size_t outer, struct softmax_job *job)
{
    const size_t count = job->count, inner = job->inner;
    job->rows = ox_fast_rows();
    if (inner == 1 && count <= SHORT)
        ox_fast_spread(r->env, outer, 1024, 1.5 * (double)count, softmax_short_task, job);
    else if (inner == 1)
        ox_fast_spread(r->env, outer, count >= 8192 ? 1 : 8192 / count, 0.7 * (double)count,
                       softmax_task, job);
    else
        ox_fast_spread(r->env, outer * ((inner - 1) / LANES + 1), 1, 1.5 * LANES * (double)count,
                       softmax_lanes_task, job);
}

void ox_fast_log_softmax(struct ox_run *r, const struct ox_tensor *x, unsigned axis, float *y)
{
    struct softmax_job job = {.x = x->data, .y = y, .log = true};
    size_t outer;
    split_dims(x, axis, &outer, &job.count, &job.inner);
    spread_softmax(r, outer, &job);
}

enum ox_status ox_fast_softmax(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const bool coerced = r->opset < 13, log = is_named(r, "LogSoftmax");
    unsigned axis;
    int64_t given = ox_run_int(r, "axis", coerced ? 1 : -1);
    if ((x->dtype != OX_FLOAT32 && x->dtype != OX_FLOAT64) || x->n == 0 || x->rank == 0 ||
        given >= (int64_t)x->rank || given < -(int64_t)x->rank)
        return OX_UNSUPPORTED;
    OX_TRY(ox_run_axis(r, given, x->rank, &axis, err));
    size_t outer, count, inner;
    split_dims(x, axis, &outer, &count, &inner);
    if (coerced) {
        count *= inner;
        inner = 1;
    }
    if (x->dtype == OX_FLOAT64)
        return ox_fast_softmax_doubles(r, outer, count, inner, log, err);
    struct ox_tensor *y;
    OX_TRY(inner == 1 ? ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err)
                      : ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    struct softmax_job job = {NULL, x->data, y->data, count, inner, log};
    spread_softmax(r, outer, &job);
    return OX_OK;
}

/* ---- Layer and RMS normalization --------------------------------------------------------------------------------- */

struct norm_job {
    const struct ox_rows *rows;
    size_t n;
    struct ox_norm_row
        row; /* of the first row; its pointers move with the rows, but for bias, scale, shift */
    float *mean, *inverse; /* NULL: not wanted */
    size_t skip_rows;      /* after which the skip begins anew */
};

static void norm_task(void *arg, size_t from, size_t to)
{
    const struct norm_job *job = arg;
    for (size_t i = from; i < to; i++) {
        struct ox_norm_row row = job->row;
        row.x += i * job->n;
        row.y += i * job->n;
        row.skip = row.skip ? row.skip + i % job->skip_rows * job->n : NULL;
        row.sum = row.sum ? row.sum + i * job->n : NULL;
        job->rows->norm(job->n, &row);
        if (job->mean)
            job->mean[i] = row.mean;
        if (job->inverse)
            job->inverse[i] = row.inverse;
    }
}

static void run_norm(struct ox_run *r, struct norm_job *job, size_t rows)
{
    enum { TASK = 8192, MORE = 30 }; /* elements; as many a row costs beside its own */
    const size_t cost = job->n + MORE;
    job->rows = ox_fast_rows();
    ox_fast_spread(r->env, rows, cost >= TASK ? 1 : TASK / cost, 0.4 * (double)cost, norm_task,
                   job);
}

/* Whether input i has one element for each of a row, which x's dimensions from `axis` on are; *data NULL when it is omitted. */
static bool row_input(const struct ox_run *r, size_t i, const struct ox_tensor *x, unsigned axis,
                      const float **data)
{
    *data = NULL;
    if (!ox_run_has(r, i))
        return true;
    const struct ox_tensor *in = ox_fast_in(r, i);
    if (!in || in->rank > x->rank)
        return false;
    for (unsigned d = 0, lead = x->rank - in->rank; d < x->rank; d++) {
        const int64_t is = d < lead ? 1 : in->dims[d - lead];
        if (is != (d < axis ? 1 : x->dims[d]))
            return false;
    }
    *data = in->data;
    return true;
}

/* Statistics as output i, of shape [.., 1]. */
static enum ox_status make_statistics(struct ox_run *r, size_t i, const struct ox_tensor *x,
                                      unsigned axis, float **data, struct ox_error *err)
{
    int64_t dims[OX_MOST_RANK];
    struct ox_tensor *out;
    if (!ox_run_wants(r, i))
        return OX_OK;
    for (unsigned d = 0; d < x->rank; d++)
        dims[d] = d < axis ? x->dims[d] : 1;
    OX_TRY(ox_run_out(r, i, OX_FLOAT32, x->rank, dims, &out, err));
    *data = out->data;
    return OX_OK;
}

enum ox_status ox_fast_layer_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0);
    const bool centred = is_named(r, "LayerNormalization");
    struct norm_job job = {.n = 1};
    unsigned axis;
    const int64_t given = ox_run_int(r, "axis", -1), stash = ox_run_int(r, "stash_type", 1);
    if (!x || x->n == 0 || given >= (int64_t)x->rank || given < -(int64_t)x->rank ||
        (!centred && r->n_out > 1) || stash != OX_FLOAT32)
        return OX_UNSUPPORTED;
    OX_TRY(ox_run_axis(r, given, x->rank, &axis, err));
    for (unsigned d = axis; d < x->rank; d++)
        job.n *= (size_t)x->dims[d];
    if (!row_input(r, 1, x, axis, &job.row.scale) ||
        (centred && !row_input(r, 2, x, axis, &job.row.shift)))
        return OX_UNSUPPORTED;
    struct ox_tensor *y;
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    if (centred) {
        OX_TRY(make_statistics(r, 1, x, axis, &job.mean, err));
        OX_TRY(make_statistics(r, 2, x, axis, &job.inverse, err));
    }
    job.row.x = x->data;
    job.row.y = y->data;
    job.row.centred = centred;
    job.row.epsilon = ox_run_float(r, "epsilon", 1e-5f);
    run_norm(r, &job, x->n / job.n);
    return OX_OK;
}

bool ox_skip_fits(const struct ox_tensor *x, const struct ox_tensor *skip)
{
    if (skip->rank > x->rank || skip->rank + 1 < x->rank)
        return false;
    unsigned lead = x->rank - skip->rank;
    for (unsigned d = lead; d < x->rank; d++)
        if (skip->dims[d - lead] != x->dims[d] && !(d == 0 && skip->dims[0] == 1))
            return false;
    return true;
}

/* Inputs: x, skip, scale, then of LayerNormalization shift, then bias. Outputs: y, and as the last the sum. */
enum ox_status ox_fast_skip_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0), *skip = ox_fast_in(r, 1);
    const bool centred = is_named(r, "SkipLayerNormalization");
    if (!x || !skip || x->n == 0 || x->rank < 2 || !ox_skip_fits(x, skip) || ox_run_wants(r, 1) ||
        ox_run_wants(r, 2))
        return OX_UNSUPPORTED;
    struct norm_job job = {.n = (size_t)x->dims[x->rank - 1]};
    const unsigned last = x->rank - 1;
    if (!row_input(r, 2, x, last, &job.row.scale) ||
        (centred && !row_input(r, 3, x, last, &job.row.shift)) ||
        !row_input(r, centred ? 4 : 3, x, last, &job.row.bias))
        return OX_UNSUPPORTED;
    struct ox_tensor *y, *sum = NULL;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    if (ox_run_wants(r, 3))
        OX_TRY(ox_run_out(r, 3, OX_FLOAT32, x->rank, x->dims, &sum, err));
    job.row.x = x->data;
    job.row.skip = skip->data;
    job.row.sum = sum ? sum->data : NULL;
    job.row.y = y->data;
    job.row.centred = centred;
    job.row.epsilon = ox_run_float(r, "epsilon", 1e-12f);
    job.skip_rows = skip->n / job.n;
    run_norm(r, &job, x->n / job.n);
    return OX_OK;
}

/* Inputs: x, scale, shift, skip, bias; outputs: y, x + skip + bias. */
enum ox_status ox_run_own_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0), *skip = ox_fast_in(r, 3);
    if (!x || x->rank == 0 || (skip && skip->n != x->n))
        return ox_run_fail(r, err, OX_INPUT, "the inputs do not fit each other");
    struct norm_job job = {.n = (size_t)x->dims[x->rank - 1]};
    const unsigned last = x->rank - 1;
    if (!row_input(r, 1, x, last, &job.row.scale) || !row_input(r, 2, x, last, &job.row.shift) ||
        !row_input(r, 4, x, last, &job.row.bias))
        return ox_run_fail(r, err, OX_INPUT, "scale, shift or bias has not %zu elements", job.n);
    struct ox_tensor *y, *sum = NULL;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    if (ox_run_wants(r, 1))
        OX_TRY(ox_run_out(r, 1, OX_FLOAT32, x->rank, x->dims, &sum, err));
    if (x->n == 0)
        return OX_OK;
    job.row.x = x->data;
    job.row.skip = skip ? skip->data : NULL;
    job.row.sum = sum ? sum->data : NULL;
    job.row.y = y->data;
    job.row.centred = ox_run_int(r, "centred", 1) != 0;
    job.row.epsilon = ox_run_float(r, "epsilon", 0);
    job.skip_rows = x->n / job.n;
    run_norm(r, &job, x->n / job.n);
    return OX_OK;
}

/* ---- Group and instance normalization ---------------------------------------------------------------------------- */

enum { TOGETHER = 8192 }; /* elements of a task */

struct group_job {
    const struct ox_rows *rows;
    const float *x, *scale, *shift;
    float *y;
    size_t groups, channels, inner; /* of an image; a group has channels / groups of them */
    float epsilon;
};

static void group_task(void *arg, size_t from, size_t to)
{
    const struct group_job *job = arg;
    const struct ox_rows *t = job->rows;
    const size_t members = job->channels / job->groups, n = members * job->inner;
    for (size_t i = from; i < to; i++) {
        const float *x = job->x + i * n;
        float *y = job->y + i * n;
        float mean = t->sum(n, x) / (float)n;
        float inverse = 1 / sqrtf(t->sum_of_squares(n, x, mean) / (float)n + job->epsilon);
        for (size_t m = 0; m < members; m++) {
            size_t channel = i % job->groups * members + m;
            float a = inverse * job->scale[channel];
            t->unary[OX_UNARY_AFFINE](job->inner, x + m * job->inner, y + m * job->inner, a,
                                      job->shift[channel] - mean * a);
        }
    }
}

enum ox_status ox_fast_group_norm(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_fast_in(r, 0), *scale = ox_fast_in(r, 1),
                           *shift = ox_fast_in(r, 2);
    if (!x || !scale || !shift || x->rank < 2 || x->n == 0)
        return OX_UNSUPPORTED;
    const bool by_group = is_named(r, "GroupNormalization");
    int64_t channels = x->dims[1];
    int64_t groups = by_group ? ox_run_int(r, "num_groups", 0) : channels;
    if (groups < 1 || channels % groups != 0 || (by_group && r->opset < 21) ||
        scale->n != (size_t)channels || shift->n != (size_t)channels)
        return OX_UNSUPPORTED;
    /* An infinite scale must meet x - mean, not mean alone. */
    if (!ox_fast_finite(scale->n, scale->data))
        return OX_UNSUPPORTED;
    struct ox_tensor *y;
    OX_TRY(ox_run_out_reuse(r, 0, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    struct group_job job = {ox_fast_rows(),   x->data, scale->data,
                            shift->data,      y->data, (size_t)groups,
                            (size_t)channels, 1,       0};
    for (unsigned d = 2; d < x->rank; d++)
        job.inner *= (size_t)x->dims[d];
    job.epsilon = ox_run_float(r, "epsilon", 1e-5f);
    const size_t rows = (size_t)x->dims[0] * (size_t)groups, n = x->n / rows;
    ox_fast_spread(r->env, rows, (TOGETHER - 1) / n + 1, 20 + 0.4 * (double)n, group_task, &job);
    return OX_OK;
}
