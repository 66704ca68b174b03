/* Softmax LogSoftmax Hardmax: over all axes from `axis` on (1, 11), or along one axis (13). */
#include <math.h>
#include <string.h>

#include "kernels/casts.h"
#include "kernels/folds.h"
#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/rules.h"

enum { LANES = 64, PARTS = 32 };

#define STAMP "ops/softmax_tmpl.h"
#include "common/stamp_floats.h"

enum { CHUNK = 256 };

/* Elements of a half type that are `inner` apart, n <= CHUNK, as float32. */
static void widen(enum ox_dtype dtype, size_t n, const uint16_t *x, size_t inner, float *y)
{
    uint16_t near[CHUNK];
    for (size_t i = 0; inner > 1 && i < n; i++)
        near[i] = x[i * inner];
    if (inner > 1)
        x = near;
    if (!ox_cast_run(ox_cpu(), dtype, OX_FLOAT32, n, x, y))
        ox_elements_convert(OX_FLOAT32, y, dtype, x, n, false);
}

/* Rounds them, puts them there, and gives back what they were rounded to. */
static void narrow(enum ox_dtype dtype, size_t n, float *x, uint16_t *y, size_t inner)
{
    uint16_t near[CHUNK];
    if (!ox_cast_run(ox_cpu(), OX_FLOAT32, dtype, n, x, near))
        ox_elements_convert(dtype, near, OX_FLOAT32, x, n, false);
    for (size_t i = 0; i < n; i++)
        y[i * inner] = near[i];
    widen(dtype, n, near, 1, x);
}

/* Softmax 13 is a function of the standard: in half types each of its steps (Sub, Exp, ReduceSum, Div) rounds. Older versions do
 * the same, so that converted models compute what they did. */
static void half_exponentials(enum ox_dtype dtype, size_t n, float *wide, uint16_t *y, size_t inner)
{
    narrow(dtype, n, wide, y, inner);
    for (size_t i = 0; i < n; i++)
        wide[i] = expf(wide[i]);
    narrow(dtype, n, wide, y, inner);
}

static float greatest_of(size_t n, const float *x, float most)
{
    for (size_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most; /* at fmaxf() gcc 12 for ARM dies */
    return most;
}

static void softmax_half(enum ox_dtype dtype, const uint16_t *x, size_t count, size_t inner,
                         uint16_t *y)
{
    float wide[CHUNK], most = -INFINITY, sum = 0;
    size_t n;
    for (size_t from = 0; from < count; from += n) {
        n = count - from < CHUNK ? count - from : CHUNK;
        widen(dtype, n, x + from * inner, inner, wide);
        most = greatest_of(n, wide, most);
    }
    for (size_t from = 0; from < count; from += n) {
        n = count - from < CHUNK ? count - from : CHUNK;
        widen(dtype, n, x + from * inner, inner, wide);
        for (size_t i = 0; i < n; i++)
            wide[i] -= most;
        half_exponentials(dtype, n, wide, y + from * inner, inner);
        for (size_t i = 0; i < n; i++)
            sum += wide[i];
    }
    uint16_t rounded;
    narrow(dtype, 1, &sum, &rounded, 1);
    for (size_t from = 0; from < count; from += n) {
        n = count - from < CHUNK ? count - from : CHUNK;
        widen(dtype, n, y + from * inner, inner, wide);
        for (size_t i = 0; i < n; i++)
            wide[i] /= sum;
        narrow(dtype, n, wide, y + from * inner, inner);
    }
}

/* The same of rows that are in `wide` together. */
static void softmax_short(enum ox_dtype dtype, const uint16_t *x, size_t count, size_t rows,
                          uint16_t *y)
{
    float wide[CHUNK], sum[CHUNK];
    uint16_t rounded[CHUNK];
    const size_t n = rows * count;
    widen(dtype, n, x, 1, wide);
    for (size_t from = 0; from < n; from += count) {
        const float most = greatest_of(count, wide + from, -INFINITY);
        for (size_t i = 0; i < count; i++)
            wide[from + i] -= most;
    }
    half_exponentials(dtype, n, wide, y, 1);
    for (size_t row = 0; row < rows; row++) {
        sum[row] = 0;
        for (size_t i = 0; i < count; i++)
            sum[row] += wide[row * count + i];
    }
    narrow(dtype, rows, sum, rounded, 1);
    for (size_t i = 0; i < n; i++)
        wide[i] /= sum[i / count];
    narrow(dtype, n, wide, y, 1);
}

static void softmax_rows(enum ox_dtype dtype, const uint16_t *x, size_t count, size_t rows,
                         uint16_t *y)
{
    const size_t most = count < CHUNK ? CHUNK / count : 1;
    for (size_t from = 0, n; from < rows; from += n) {
        n = rows - from < most ? rows - from : most;
        if (count <= CHUNK)
            softmax_short(dtype, x + from * count, count, n, y + from * count);
        else
            softmax_half(dtype, x + from * count, count, 1, y + from * count);
    }
}

static void softmax_rows_f16(const void *from, size_t count, size_t rows, void *to)
{
    softmax_rows(OX_FLOAT16, from, count, rows, to);
}

static void softmax_rows_bf16(const void *from, size_t count, size_t rows, void *to)
{
    softmax_rows(OX_BFLOAT16, from, count, rows, to);
}

static void softmax_lanes_f16(const void *from, size_t count, size_t inner, size_t lanes, void *to)
{
    for (size_t lane = 0; lane < lanes; lane++)
        softmax_half(OX_FLOAT16, (const uint16_t *)from + lane, count, inner,
                     (uint16_t *)to + lane);
}

static void softmax_lanes_bf16(const void *from, size_t count, size_t inner, size_t lanes, void *to)
{
    for (size_t lane = 0; lane < lanes; lane++)
        softmax_half(OX_BFLOAT16, (const uint16_t *)from + lane, count, inner,
                     (uint16_t *)to + lane);
}

struct softmax_kernels {
    void (*of[OX_N_DTYPES])(const void *from, size_t count, size_t inner, size_t lanes, void *to);
    /* Rows of adjacent elements one after another; NULL: as lanes, row by row. */
    void (*rows[OX_N_DTYPES])(const void *from, size_t count, size_t rows, void *to);
};

static const struct softmax_kernels softmax_kernels = {
    {OX_KERNELS_FLOAT(softmax_lanes), [OX_FLOAT16] = softmax_lanes_f16,
     [OX_BFLOAT16] = softmax_lanes_bf16},
    {[OX_FLOAT16] = softmax_rows_f16, [OX_BFLOAT16] = softmax_rows_bf16}};
static const struct softmax_kernels log_softmax_kernels = {{OX_KERNELS_FLOAT(log_softmax_lanes)},
                                                           {NULL}};

static const struct softmax_kernels hardmax_kernels = {{OX_KERNELS_FLOAT(hardmax_lanes)},
                                                       {OX_KERNELS_FLOAT(hardmax_rows)}};

struct softmax_job {
    void (*lanes)(const void *from, size_t count, size_t inner, size_t lanes, void *to);
    void (*rows)(const void *from, size_t count, size_t rows, void *to); /* NULL */
    const char *in;
    char *out;
    size_t bytes, count, inner;
};

static void softmax_task(void *arg, size_t from, size_t to)
{
    const struct softmax_job *job = arg;
    if (job->rows && job->inner == 1) {
        const size_t at = from * job->count * job->bytes;
        job->rows(job->in + at, job->count, to - from, job->out + at);
        return;
    }
    for (size_t outer = from; outer < to; outer++)
        for (size_t lane = 0; lane < job->inner; lane += LANES) {
            size_t lanes = job->inner - lane < LANES ? job->inner - lane : LANES;
            size_t at = (outer * job->count * job->inner + lane) * job->bytes;
            job->lanes(job->in + at, job->count, job->inner, lanes, job->out + at);
        }
}

/* Rows of all that follows the axis (coerced to two dimensions), or a single axis. */
static enum ox_status run_rows(struct ox_run *r, const struct softmax_kernels *kernels,
                               bool coerced, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    if (!kernels->of[in->dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(in->dtype));
    unsigned axis = 0;
    int64_t given = ox_run_int(r, "axis", coerced ? 1 : -1);
    if (coerced && given == (int64_t)in->rank)
        axis = in->rank; /* rows of one element, as Flatten would make them */
    else if (in->rank || (given != 0 && given != -1))
        OX_TRY(ox_run_axis(r, given, in->rank, &axis, err));
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, in->dims, &out, err));
    if (in->n == 0)
        return OX_OK;
    struct softmax_job job = {.lanes = kernels->of[in->dtype],
                              .rows = kernels->rows[in->dtype],
                              .in = in->data,
                              .out = out->data,
                              .count = 1};
    job.bytes = ox_dtype_size(in->dtype);
    job.inner = 1;
    size_t outer = 1;
    for (unsigned i = 0; i < in->rank; i++)
        *(i < axis               ? &outer
          : i == axis || coerced ? &job.count
                                 : &job.inner) *= (size_t)in->dims[i];
    size_t work = job.count * job.inner;
    ox_ranges_run(r->env, outer, work >= OX_GRAIN ? 1 : OX_GRAIN / work, softmax_task, &job);
    return OX_OK;
}

static enum ox_status run_softmax(struct ox_run *r, struct ox_error *err)
{
    return run_rows(r, &softmax_kernels, false, err);
}

static enum ox_status run_softmax_coerced(struct ox_run *r, struct ox_error *err)
{
    return run_rows(r, &softmax_kernels, true, err);
}

static enum ox_status run_log_softmax(struct ox_run *r, struct ox_error *err)
{
    return run_rows(r, &log_softmax_kernels, false, err);
}

static enum ox_status run_log_softmax_coerced(struct ox_run *r, struct ox_error *err)
{
    return run_rows(r, &log_softmax_kernels, true, err);
}

static enum ox_status run_hardmax(struct ox_run *r, struct ox_error *err)
{
    return run_rows(r, &hardmax_kernels, false, err);
}

static enum ox_status run_hardmax_coerced(struct ox_run *r, struct ox_error *err)
{
    return run_rows(r, &hardmax_kernels, true, err);
}

static void infer_softmax(struct ox_infer *c)
{
    unsigned rank, axis;
    ox_rule_same(c);
    int64_t given = ox_infer_int_attr(c, "axis", ox_infer_opset(c) < 13 ? 1 : -1);
    if (ox_infer_shape(c, 0, &rank, NULL) && ox_infer_opset(c) >= 11 && ox_rule_rank_least(c, 0, 1))
        (void)ox_infer_axis(c, given, rank, &axis);
}

const struct ox_op ox_ops_softmax[] = {
    {"", "Hardmax", 1, .infer = infer_softmax, .run = run_hardmax_coerced},
    {"", "Hardmax", 13, .infer = infer_softmax, .run = run_hardmax},
    {"", "LogSoftmax", 1, OX_OP_DOUBLE, .infer = infer_softmax, .run = run_log_softmax_coerced,
     .fast = ox_fast_softmax},
    {"", "LogSoftmax", 13, OX_OP_DOUBLE, .infer = infer_softmax, .run = run_log_softmax,
     .fast = ox_fast_softmax},
    {"", "Softmax", 1, OX_OP_HALF | OX_OP_DOUBLE, .infer = infer_softmax,
     .run = run_softmax_coerced, .fast = ox_fast_softmax},
    {"", "Softmax", 13, OX_OP_HALF | OX_OP_DOUBLE, .infer = infer_softmax, .run = run_softmax,
     .fast = ox_fast_softmax},
    {0}};
