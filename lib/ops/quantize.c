/* QuantizeLinear DequantizeLinear DynamicQuantizeLinear. */
#include <inttypes.h>
#include <math.h>

#include "kernels/casts.h"
#include "kernels/code_rows.h"
#include "ops/broadcast.h"
#include "ops/fast/fast.h"
#include "ops/int8/int8.h"
#include "ops/real.h"
#include "ops/rules.h"
#include "ops/scale_spread.h"
#include "tensor/half.h"

/* Everything in double: exact for what the formats hold, so that the one rounding there has to be is explicit. */
struct quantize_job {
    struct ox_scale_spread spread;
    const struct ox_tensor *x;
    const double *scale, *zero; /* zero may be NULL */
    enum ox_dtype precision;    /* that the quotient is rounded to; OX_FLOAT64: not at all */
    bool rounds_x;              /* x holds more than `precision`, which its division is in */
    bool saturate;
    bool halves;         /* the scales are 16-bit floats */
    double low, high;    /* of an integer target; low > high: a float target */
    const double *codes; /* the values of x's codes, where they are floats of a byte; NULL */
    struct ox_tensor *y;
    struct ox_codes to_codes; /* of y's type */
};

enum { CHUNK = 256 };

static void load_elements(const struct ox_tensor *t, size_t at, size_t n, double *out)
{
    ox_elements_convert(OX_FLOAT64, out, t->dtype,
                        (const char *)t->data + at * ox_dtype_size(t->dtype), n, true);
}

/* Rounded to even by way of a number so great that its last bit is 1: no call of rint(), and vectors of it. */
static void store_whole(const struct quantize_job *job, size_t at, double *q, size_t n,
                        const double *zero, size_t step)
{
    const double far = 1e9, shift = 6755399441055744.0; /* 3 * 2^51 */
    int32_t whole[CHUNK];
    for (size_t i = 0; i < n;
         i++) { /* NaN goes to the least value, as it does where peers convert it */
        q[i] = q[i] > -far ? q[i] : -far;
        q[i] = q[i] < far ? q[i] : far;
        q[i] = q[i] + shift - shift;
    }
    for (size_t i = 0; zero && i < n; i++)
        q[i] += zero[i * step];
    for (size_t i = 0; i < n; i++) {
        double v = q[i] > job->low ? q[i] : job->low;
        whole[i] = (int32_t)(v < job->high ? v : job->high);
    }
    char *out = (char *)job->y->data + at * ox_dtype_size(job->y->dtype);
    ox_elements_convert(job->y->dtype, out, OX_INT32, whole, n, true);
}

static void store_real(const struct quantize_job *job, size_t at, double *q, size_t n,
                       const double *zero, size_t step)
{
    for (size_t i = 0; zero && i < n; i++)
        q[i] += zero[i * step];
    char *out = (char *)job->y->data + at * ox_dtype_size(job->y->dtype);
    ox_elements_convert(job->y->dtype, out, OX_FLOAT64, q, n, job->saturate);
}

static void cast(enum ox_dtype from, enum ox_dtype to, size_t n, const void *x, void *y)
{
    if (!ox_cast_run(ox_cpu(), from, to, n, x, y))
        ox_elements_convert(to, y, from, x, n, true);
}

/* Halves divided in float32, which has more than twice the digits, and then rounded are what their own division gives. */
static void quantize_halves(const struct quantize_job *job, struct ox_stretch s)
{
    const enum ox_dtype half = job->precision;
    uint16_t rounded[CHUNK];
    float q[CHUNK], ones[CHUNK];
    int32_t zeros[CHUNK] = {0};
    for (size_t i = 0; i < CHUNK; i++)
        ones[i] = 1;
    for (size_t done = 0; done < s.n; done += CHUNK) {
        const size_t n = s.n - done < CHUNK ? s.n - done : CHUNK, at = s.at + done;
        const double *scale = job->scale + s.scale + done * s.step;
        const double *zero = job->zero ? job->zero + s.scale + done * s.step : NULL;
        const float by = (float)*scale;
        cast(half, OX_FLOAT32, n, (const uint16_t *)job->x->data + at, q);
        for (size_t i = 0; s.step && i < n; i++)
            q[i] /= (float)scale[i];
        for (size_t i = 0; !s.step && i < n; i++)
            q[i] /= by;
        cast(OX_FLOAT32, half, n, q, rounded);
        cast(half, OX_FLOAT32, n, rounded, q);
        for (size_t i = 0; zero && i < n; i++)
            zeros[i] = (int32_t)zero[i * s.step];
        job->to_codes.quantize(n, q, s.step, ones, zeros,
                               (char *)job->y->data + at * ox_dtype_size(job->y->dtype));
    }
}

static void quantize_stretch(const struct quantize_job *job, struct ox_stretch s)
{
    if (ox_dtype_is_half(job->precision) && job->x->dtype == job->precision &&
        job->to_codes.quantize) {
        quantize_halves(job, s);
        return;
    }
    double q[CHUNK];
    bool whole = job->low <= job->high;
    for (size_t done = 0; done < s.n; done += CHUNK) {
        size_t n = s.n - done < CHUNK ? s.n - done : CHUNK;
        const double *scale = job->scale + s.scale + done * s.step;
        const double *zero = job->zero ? job->zero + s.scale + done * s.step : NULL;
        load_elements(job->x, s.at + done, n, q);
        if (job->rounds_x)
            ox_real_round(job->precision, q, n);
        for (size_t i = 0; i < n; i++)
            q[i] /= scale[i * s.step];
        ox_real_round(job->precision, q, n);
        if (whole)
            store_whole(job, s.at + done, q, n, zero, s.step);
        else
            store_real(job, s.at + done, q, n, zero, s.step);
    }
}

#define FN dequantize_unsigned
#define T uint8_t
#include "ops/dequantize_tmpl.h"
#define FN dequantize_signed
#define T int8_t
#include "ops/dequantize_tmpl.h"

/* The difference of bytes by a half has no more digits than float32, so that it is rounded once. */
static void dequantize_to_halves(const struct quantize_job *job, struct ox_stretch s,
                                 void (*of)(const struct quantize_job *job, struct ox_stretch s,
                                            float *out))
{
    float y[CHUNK];
    for (size_t done = 0; done < s.n; done += CHUNK) {
        struct ox_stretch part = {s.at + done, s.n - done, s.scale + done * s.step, s.step};
        part.n = part.n < CHUNK ? part.n : CHUNK;
        of(job, part, y);
        cast(OX_FLOAT32, job->y->dtype, part.n, y, (uint16_t *)job->y->data + part.at);
    }
}

static void dequantize_stretch(const struct quantize_job *job, struct ox_stretch s)
{
    bool narrow = ox_dtype_is_integer(job->x->dtype) && ox_dtype_size(job->x->dtype) == 1;
    const bool is_signed = ox_dtype_is_signed(job->x->dtype);
    if (narrow && job->y->dtype == OX_FLOAT32) {
        (is_signed ? dequantize_signed : dequantize_unsigned)(job, s, (float *)job->y->data + s.at);
        return;
    }
    if (narrow && ox_dtype_is_half(job->y->dtype) && job->halves) {
        dequantize_to_halves(job, s, is_signed ? dequantize_signed : dequantize_unsigned);
        return;
    }
    double v[CHUNK];
    for (size_t done = 0; done < s.n; done += CHUNK) {
        size_t n = s.n - done < CHUNK ? s.n - done : CHUNK;
        const double *scale = job->scale + s.scale + done * s.step;
        const double *zero = job->zero ? job->zero + s.scale + done * s.step : NULL;
        if (job->codes)
            for (size_t i = 0; i < n; i++)
                v[i] = job->codes[((const uint8_t *)job->x->data)[s.at + done + i]];
        else
            load_elements(job->x, s.at + done, n, v);
        for (size_t i = 0; zero && i < n; i++)
            v[i] -= zero[i * s.step];
        for (size_t i = 0; i < n; i++)
            v[i] *= scale[i * s.step];
        char *out = (char *)job->y->data + (s.at + done) * ox_dtype_size(job->y->dtype);
        ox_elements_convert(job->y->dtype, out, OX_FLOAT64, v, n, true);
    }
}

static void each_stretch(const struct quantize_job *job, size_t from, size_t to,
                         void (*of)(const struct quantize_job *job, struct ox_stretch s))
{
    while (from < to)
        of(job, ox_spread_next(&job->spread, &from, to));
}

static void quantize_task(void *arg, size_t from, size_t to)
{
    each_stretch(arg, from, to, quantize_stretch);
}

static void dequantize_task(void *arg, size_t from, size_t to)
{
    each_stretch(arg, from, to, dequantize_stretch);
}

static void run_job(struct ox_run *r, struct quantize_job *job,
                    void (*task)(void *arg, size_t from, size_t to))
{
    if (job->x->n == 0)
        return;
    ox_spread_cut(&job->spread);
    const struct ox_scale_spread *s = &job->spread;
    ox_ranges_run(r->env, s->outer * s->axis, s->inner >= OX_GRAIN ? 1 : OX_GRAIN / s->inner, task,
                  job);
}

/* ---- Operators ---------------------------------------------------------------------------------------------------- */

static enum ox_status zero_points(struct ox_run *r, const struct ox_tensor *scale,
                                  const double **zero, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, 2);
    *zero = NULL;
    if (!t)
        return OX_OK;
    if (!ox_tensor_same_dims(t, scale) && !(t->n == 1 && scale->n == 1))
        return ox_run_fail(r, err, OX_INPUT, "zero point and scale have different shapes");
    return ox_real_in(r, 2, zero, err);
}

static void integer_range(enum ox_dtype dtype, double *low, double *high)
{
    unsigned bits = ox_dtype_bits(dtype);
    *low = 1;
    *high = 0;
    if (!ox_dtype_is_integer(dtype))
        return;
    *low = ox_dtype_is_signed(dtype) ? -ldexp(1, (int)bits - 1) : 0;
    *high = ldexp(1, ox_dtype_is_signed(dtype) ? (int)bits - 1 : (int)bits) - 1;
}

static enum ox_status quantized_type(struct ox_run *r, enum ox_dtype *dtype, struct ox_error *err)
{
    const struct ox_tensor *zero = ox_run_in(r, 2);
    int64_t wanted = ox_run_int(r, "output_dtype", 0);
    if (wanted < 0 || wanted >= OX_N_DTYPES)
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute output_dtype is %" PRId64 ", which is no element type",
                           wanted);
    if (zero && wanted && zero->dtype != (enum ox_dtype)wanted)
        return ox_run_fail(r, err, OX_INPUT, "attribute output_dtype is %s, but the zero point %s",
                           ox_dtype_name((enum ox_dtype)wanted), ox_dtype_name(zero->dtype));
    *dtype = zero ? zero->dtype : wanted ? (enum ox_dtype)wanted : OX_UINT8;
    if (!ox_dtype_is_integer(*dtype) && !(ox_dtype_is_float(*dtype) && ox_dtype_bits(*dtype) <= 8))
        return ox_run_fail(r, err, OX_INPUT, "%s is no type to quantize to", ox_dtype_name(*dtype));
    return OX_OK;
}

/* The division is in the type of the scale, unless `precision` names another (23). Scales that are no floats of their own
 * (int32, float8e8m0) leave it to float32. */
static enum ox_dtype division_type(struct ox_run *r, const struct ox_tensor *scale)
{
    int64_t precision = ox_run_int(r, "precision", 0);
    enum ox_dtype dtype =
        precision > 0 && precision < OX_N_DTYPES ? (enum ox_dtype)precision : scale->dtype;
    if (r->oracle || dtype == OX_FLOAT64)
        return OX_FLOAT64;
    return ox_dtype_is_half(dtype) ? dtype : OX_FLOAT32;
}

/* A division in a type has both operands in it. */
static bool is_wider(enum ox_dtype dtype, enum ox_dtype precision)
{
    return precision != OX_FLOAT64 && dtype != precision &&
           (dtype == OX_INT32 || precision != OX_FLOAT32);
}

static enum ox_status load_scales(struct ox_run *r, enum ox_dtype precision, const double **scales,
                                  struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, 1);
    if (!is_wider(t->dtype, precision))
        return ox_real_in(r, 1, scales, err);
    double *rounded = ox_real_scratch(r, t->n, err);
    if (!rounded)
        return OX_NO_MEMORY;
    ox_real_load(t, 0, t->n, rounded);
    ox_real_round(precision, rounded, t->n);
    *scales = rounded;
    return OX_OK;
}

static enum ox_status run_quantize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *scale = ox_run_in(r, 1);
    struct quantize_job job = {.x = ox_run_in(r, 0)};
    enum ox_dtype dtype = OX_UINT8;
    OX_TRY(ox_spread_scale(r, job.x, scale, &job.spread, err));
    OX_TRY(quantized_type(r, &dtype, err));
    job.precision = division_type(r, scale);
    job.rounds_x = is_wider(job.x->dtype, job.precision);
    OX_TRY(load_scales(r, job.precision, &job.scale, err));
    OX_TRY(zero_points(r, scale, &job.zero, err));
    job.saturate = ox_run_int(r, "saturate", 1) != 0;
    integer_range(dtype, &job.low, &job.high);
    OX_TRY(ox_run_out(r, 0, dtype, job.x->rank, job.x->dims, &job.y, err));
    job.to_codes = ox_codes(ox_cpu(), dtype);
    run_job(r, &job, quantize_task);
    return OX_OK;
}

/* All codes of a float of a byte: made once, where each part that is loaded would make them again. */
static enum ox_status list_codes(struct ox_run *r, struct quantize_job *job, struct ox_error *err)
{
    const enum ox_dtype dtype = job->x->dtype;
    uint8_t all[256];
    if (!ox_dtype_is_float(dtype) || ox_dtype_size(dtype) != 1)
        return OX_OK;
    double *codes = ox_real_scratch(r, OX_COUNT(all), err);
    if (!codes)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < OX_COUNT(all); i++)
        all[i] = (uint8_t)i;
    ox_elements_convert(OX_FLOAT64, codes, dtype, all, OX_COUNT(all), true);
    job->codes = codes;
    return OX_OK;
}

static enum ox_status run_dequantize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *scale = ox_run_in(r, 1);
    struct quantize_job job = {.x = ox_run_in(r, 0)};
    int64_t wanted = ox_run_int(r, "output_dtype", 0);
    enum ox_dtype dtype = wanted > 0 && wanted < OX_N_DTYPES ? (enum ox_dtype)wanted : scale->dtype;
    if (dtype == OX_FLOAT8E8M0)
        dtype = OX_FLOAT32; /* not an output type: what is left unsaid is float */
    OX_TRY(ox_spread_scale(r, job.x, scale, &job.spread, err));
    OX_TRY(ox_real_in(r, 1, &job.scale, err));
    OX_TRY(zero_points(r, scale, &job.zero, err));
    OX_TRY(list_codes(r, &job, err));
    job.halves = ox_dtype_is_half(scale->dtype);
    OX_TRY(ox_run_out(r, 0, dtype, job.x->rank, job.x->dims, &job.y, err));
    run_job(r, &job, dequantize_task);
    return OX_OK;
}

/* In float32, step by step as the standard writes it and with --oracle too: the rounding at each step decides ties, so it
 * is part of the result. */
static enum ox_status run_dynamic_quantize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct quantize_job job = {.x = x, .high = 255, .precision = OX_FLOAT32};
    struct ox_tensor *scale_out, *zero_out;
    double range[2] = {0, 0}, v[CHUNK];
    for (size_t at = 0; at < x->n; at += CHUNK) {
        size_t n = x->n - at < CHUNK ? x->n - at : CHUNK;
        load_elements(x, at, n, v);
        for (size_t i = 0; i < n; i++) {
            range[0] = v[i] < range[0] ? v[i] : range[0];
            range[1] = v[i] > range[1] ? v[i] : range[1];
        }
    }
    ox_real_round(job.precision, range, 2);
    double low = range[0], high = range[1], span = high - low;
    ox_real_round(job.precision, &span, 1);
    double scale =
        high == low ? 1 : span / 255; /* of zeros alone: the formula's 0 could not be divided by */
    ox_real_round(job.precision, &scale, 1);
    double zero = -low / scale;
    ox_real_round(job.precision, &zero, 1);
    zero = rint(zero < 0 ? 0 : zero > 255 ? 255 : zero);
    OX_TRY(ox_run_out(r, 0, OX_UINT8, x->rank, x->dims, &job.y, err));
    OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 0, NULL, &scale_out, err));
    OX_TRY(ox_run_out(r, 2, OX_UINT8, 0, NULL, &zero_out, err));
    ox_elements_convert(scale_out->dtype, scale_out->data, OX_FLOAT64, &scale, 1, true);
    *(uint8_t *)zero_out->data = (uint8_t)zero;
    job.spread = (struct ox_scale_spread){.outer = 1, .axis = 1, .inner = x->n, .block = 1};
    job.scale = &scale;
    job.zero = &zero;
    run_job(r, &job, quantize_task);
    return OX_OK;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

/* OX_UNDEFINED: left to the inputs, which output_dtype = 0 says too. */
static enum ox_dtype wanted_dtype(struct ox_infer *c)
{
    return ox_infer_int_attr(c, "output_dtype", 0) ? ox_rule_dtype_attr(c, "output_dtype")
                                                   : OX_UNDEFINED;
}

/* A scale for each block has the shape of x, but along the axis, where those sizes are known. */
static void infer_blocks(struct ox_infer *c)
{
    const int64_t block = ox_infer_int_attr(c, "block_size", 0);
    int64_t axis = ox_infer_int_attr(c, "axis", 1), size, own;
    unsigned rank, rank_s;
    const struct ox_expr *const *x, *const *scale;
    if (block <= 0 || ox_infer_by_rules_alone(c) || !ox_infer_shape(c, 0, &rank, &x) ||
        !ox_infer_shape(c, 1, &rank_s, &scale))
        return;
    bool fits = rank == rank_s;
    axis = rank == 1 ? 0 : axis < 0 ? axis + rank : axis;
    for (unsigned i = 0; fits && i < rank; i++)
        if (ox_infer_is_num(x[i], &size) && ox_infer_is_num(scale[i], &own))
            fits = own == ((int64_t)i == axis ? size / block + (size % block != 0) : size);
    if (!fits)
        ox_infer_conflict(c,
                          "the scale does not have the shape of x in blocks of %" PRId64
                          " along axis %" PRId64,
                          block, axis);
}

static void infer_quantize(struct ox_infer *c)
{
    enum ox_dtype wanted = wanted_dtype(c), zero = ox_infer_dtype(c, 2);
    infer_blocks(c);
    ox_infer_same_shape(c, 0, 0);
    if (!ox_infer_has(c, 2))
        ox_infer_set_dtype(c, 0, wanted ? wanted : OX_UINT8);
    else
        ox_infer_same_dtype(c, 0, 2);
    if (wanted && zero && wanted != zero)
        ox_infer_conflict(c, "output_dtype is %s, y_zero_point %s", ox_dtype_name(wanted),
                          ox_dtype_name(zero));
}

static void infer_dequantize(struct ox_infer *c)
{
    enum ox_dtype wanted = wanted_dtype(c), scale = ox_infer_dtype(c, 1);
    infer_blocks(c);
    ox_infer_same_shape(c, 0, 0);
    if (wanted)
        ox_infer_set_dtype(c, 0, wanted);
    else if (scale)
        ox_infer_set_dtype(c, 0, scale == OX_FLOAT8E8M0 ? OX_FLOAT32 : scale);
}

static void infer_dynamic_quantize(struct ox_infer *c)
{
    static const struct ox_expr *const none[1];
    ox_infer_same_shape(c, 0, 0);
    ox_infer_set_shape(c, 1, 0, none);
    ox_infer_set_shape(c, 2, 0, none);
}

const struct ox_op ox_ops_quantize[] = {
    {"", "DequantizeLinear", 10, .flags = OX_OP_HALF | OX_OP_ROUNDED, .infer = infer_dequantize,
     .run = run_dequantize, .fast = ox_fast_dequantize},
    {"", "DynamicQuantizeLinear", 11, .infer = infer_dynamic_quantize, .run = run_dynamic_quantize,
     .fast = ox_int8_dynamic_quantize},
    {"", "QuantizeLinear", 10, .flags = OX_OP_HALF | OX_OP_ROUNDED, .infer = infer_quantize,
     .run = run_quantize, .fast = ox_fast_quantize},
    {0}};
