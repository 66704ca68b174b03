/* QuantizeLinear and DequantizeLinear between float32 and integers by an axis or by blocks, and of int32 by one scale: what the
 * reference kernels make. */
#include <string.h>

#include "kernels/casts.h"
#include "kernels/code_rows.h"
#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/int8/int8.h"
#include "ops/scale_spread.h"

struct code_job {
    struct ox_codes codes;
    struct ox_scale_spread spread;
    const void *x;
    void *y;
    size_t x_size, y_size;
    const float *scale;
    const int32_t *zero;
};

static void quantize_task(void *arg, size_t from, size_t to)
{
    const struct code_job *job = arg;
    while (from < to) {
        const struct ox_stretch s = ox_spread_next(&job->spread, &from, to);
        job->codes.quantize(s.n, (const float *)job->x + s.at, s.step, job->scale + s.scale,
                            job->zero + s.scale, (char *)job->y + s.at * job->y_size);
    }
}

/* To floats of 8 bits, without zero points. */
static void quantize_floats_task(void *arg, size_t from, size_t to)
{
    enum { CHUNK = 512 };
    const struct code_job *job = arg;
    const struct ox_rows *t = ox_fast_rows();
    float q[CHUNK];
    while (from < to) {
        const struct ox_stretch s = ox_spread_next(&job->spread, &from, to);
        for (size_t done = 0; done < s.n; done += CHUNK) {
            const size_t n = s.n - done < CHUNK ? s.n - done : CHUNK, at = s.at + done;
            t->binary[OX_BINARY_DIV][s.step ? OX_ROW_BOTH : OX_ROW_RIGHT_ONE](
                n, (const float *)job->x + at, job->scale + s.scale + done * s.step, q);
            ox_cast_run(ox_cpu(), OX_FLOAT32, job->codes.dtype, n, q, (char *)job->y + at);
        }
    }
}

static void dequantize_task(void *arg, size_t from, size_t to)
{
    const struct code_job *job = arg;
    while (from < to) {
        const struct ox_stretch s = ox_spread_next(&job->spread, &from, to);
        job->codes.dequantize(s.n, (const char *)job->x + s.at * job->x_size, s.step,
                              job->scale + s.scale, job->zero + s.scale, (float *)job->y + s.at);
    }
}

/* False: not float scales with zero points of that type beside them, or not of the data's shape. */
static bool scales_fit(struct ox_run *r, enum ox_dtype dtype, struct ox_scale_spread *spread)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *scale = ox_run_in(r, 1), *zero = ox_run_in(r, 2);
    struct ox_error ignored = {0};
    return x->n && scale->dtype == OX_FLOAT32 &&
           (!zero || (zero->dtype == dtype && ox_tensor_same_dims(zero, scale))) &&
           ox_spread_scale(r, x, scale, spread, &ignored) == OX_OK;
}

static const int32_t *zeros_of(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *scale = ox_run_in(r, 1), *zero = ox_run_in(r, 2);
    int32_t *list = ox_run_scratch(r, scale->n, sizeof *list, err);
    if (list && zero)
        ox_elements_convert(OX_INT32, list, zero->dtype, zero->data, zero->n, true);
    else if (list)
        memset(list, 0, scale->n * sizeof *list);
    return list;
}

static enum ox_status run_codes(struct ox_run *r, struct code_job *job, enum ox_dtype dtype,
                                void (*task)(void *arg, size_t from, size_t to),
                                struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_scale_spread *s = &job->spread;
    struct ox_tensor *y;
    job->zero = zeros_of(r, err);
    if (!job->zero)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, dtype, x->rank, x->dims, &y, err));
    job->scale = ox_run_in(r, 1)->data;
    job->x = x->data;
    job->y = y->data;
    job->x_size = ox_dtype_size(x->dtype);
    job->y_size = ox_dtype_size(dtype);
    ox_spread_cut(s);
    ox_ranges_run(r->env, s->outer * s->axis, s->inner >= OX_GRAIN ? 1 : OX_GRAIN / s->inner, task,
                  job);
    return OX_OK;
}

static bool is_small_float(enum ox_dtype dtype)
{
    return dtype == OX_FLOAT8E4M3FN || dtype == OX_FLOAT8E4M3FNUZ || dtype == OX_FLOAT8E5M2 ||
           dtype == OX_FLOAT8E5M2FNUZ;
}

enum ox_status ox_fast_quantize(struct ox_run *r, struct ox_error *err)
{
    const enum ox_status status = ox_int8_quantize(r, err);
    if (status != OX_UNSUPPORTED)
        return status;
    const struct ox_tensor *x = ox_run_in(r, 0), *zero = ox_run_in(r, 2);
    const int64_t wanted = ox_run_int(r, "output_dtype", 0),
                  precision = ox_run_int(r, "precision", 0);
    const enum ox_dtype dtype = zero ? zero->dtype : wanted ? (enum ox_dtype)wanted : OX_UINT8;
    struct code_job job = {.codes = ox_codes(ox_cpu(), dtype)};
    const bool floats = is_small_float(dtype) && !zero && ox_run_int(r, "saturate", 1);
    if (x->dtype != OX_FLOAT32 || !(job.codes.quantize || floats) ||
        (wanted && wanted != (int64_t)dtype) || (precision && precision != OX_FLOAT32) ||
        !scales_fit(r, dtype, &job.spread))
        return OX_UNSUPPORTED;
    return run_codes(r, &job, dtype, floats ? quantize_floats_task : quantize_task, err);
}

enum ox_status ox_fast_dequantize(struct ox_run *r, struct ox_error *err)
{
    const enum ox_status status = ox_int8_dequantize(r, err);
    if (status != OX_UNSUPPORTED)
        return status;
    const struct ox_tensor *x = ox_run_in(r, 0);
    const int64_t wanted = ox_run_int(r, "output_dtype", 0);
    struct code_job job = {.codes = ox_codes(ox_cpu(), x->dtype)};
    if (!job.codes.dequantize || (wanted && wanted != OX_FLOAT32) ||
        !scales_fit(r, x->dtype, &job.spread))
        return OX_UNSUPPORTED;
    return run_codes(r, &job, OX_FLOAT32, dequantize_task, err);
}
