#include "ops/int8/int8.h"

#include <math.h>
#include <string.h>

#include "ops/quantized.h"

const struct ox_int8_ports ox_int8_ports_qlinear = {0, 1, 2, 3, 4, 5, 6, 7, 8};
const struct ox_int8_ports ox_int8_ports_plain = {
    0, OX_INT8_NONE, 2, 1, OX_INT8_NONE, 3, OX_INT8_NONE, OX_INT8_NONE, OX_INT8_NONE};
const struct ox_int8_ports ox_int8_ports_qgemm = {0, 1, 2, 3, 4, 5, 7, 8, 6};

const struct ox_tensor *ox_int8_even_empty(const struct ox_run *r, size_t i)
{
    const struct ox_tensor *x = ox_run_in(r, i);
    return x && (x->dtype == OX_UINT8 || x->dtype == OX_INT8) ? x : NULL;
}

const struct ox_tensor *ox_int8_in(const struct ox_run *r, size_t i)
{
    const struct ox_tensor *x = ox_int8_even_empty(r, i);
    return x && x->n ? x : NULL;
}

/* onnxruntime's ways without VNNI: ConvInteger has its weights on the left, which is exact, as int8 by int8 is; models with Q/DQ,
 * of which rows of our own domain come, have their int8 activations made uint8 first. Rows that come of what is exact say so. */
static bool saturates(const struct ox_run *r, bool weights_signed)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    const bool own = strcmp(r->node->domain, OX_OWN_DOMAIN) == 0;
    return weights_signed && strcmp(r->node->op_type, "ConvInteger") != 0 &&
           (own ? !ox_run_int(r, "exact", 0) : !x || x->dtype == OX_UINT8);
}

const struct ox_integer *ox_int8_kernels(const struct ox_run *r, bool weights_signed)
{
    if (!r->saturating)
        return ox_integer(ox_cpu_exact());
    /* Both have weights packed alike. */
    return saturates(r, weights_signed) ? ox_integer_saturating() : ox_integer(OX_CPU_C);
}

static bool is_size(const struct ox_tensor *t, size_t n)
{
    return !t || t->n == 1 || (t->rank <= 1 && t->n == n);
}

static bool is_float_one(const struct ox_tensor *t)
{
    return !t || (t->n == 1 && t->dtype == OX_FLOAT32);
}

bool ox_int8_fits(const struct ox_run *r, const struct ox_int8_ports *p, size_t n_columns)
{
    const struct ox_tensor *x_zero = ox_run_in(r, p->x_zero), *w_zero = ox_run_in(r, p->w_zero);
    const struct ox_tensor *y_zero = ox_run_in(r, p->y_zero), *bias = ox_run_in(r, p->bias);
    const struct ox_tensor *w_scale = ox_run_in(r, p->w_scale);
    if (y_zero && (y_zero->n != 1 || (y_zero->dtype != OX_UINT8 && y_zero->dtype != OX_INT8)))
        return false;
    if (bias &&
        (bias->n != n_columns || !bias->rank || bias->dims[bias->rank - 1] != (int64_t)n_columns ||
         (bias->dtype != OX_INT32 && bias->dtype != OX_FLOAT32)))
        return false;
    return (!x_zero || x_zero->n == 1) && is_float_one(ox_run_in(r, p->x_scale)) &&
           is_float_one(ox_run_in(r, p->y_scale)) && is_size(w_zero, n_columns) &&
           is_size(w_scale, n_columns) && (!w_scale || w_scale->dtype == OX_FLOAT32);
}

bool ox_int8_weight_zeros(const struct ox_run *r, const struct ox_int8_ports *p, size_t n,
                          int32_t *zero)
{
    const struct ox_tensor *w_zero = ox_run_in(r, p->w_zero);
    const bool is_signed = ox_run_in(r, p->w)->dtype == OX_INT8;
    bool any = false;
    for (size_t j = 0; j < n; j++) {
        const size_t at = w_zero && w_zero->n > 1 ? j : 0;
        const int32_t z = !w_zero     ? 0
                          : is_signed ? ((const int8_t *)w_zero->data)[at]
                                      : ((const uint8_t *)w_zero->data)[at];
        zero[j] = z - (is_signed ? 0 : 128);
        any |= zero[j] != 0;
    }
    return any;
}

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Sums, zero point, offset, scale and fraction. */
enum { BYTES_OF_A_COLUMN = 3 * sizeof(int32_t) + 2 * sizeof(float) };

size_t ox_int8_weights_bytes(size_t n, size_t packed)
{
    size_t columns, all;
    if (OX_MUL_OVERFLOWS(n + 16, BYTES_OF_A_COLUMN, &columns) || packed > SIZE_MAX / 2 ||
        columns > SIZE_MAX / 4)
        return SIZE_MAX;
    all = padded(sizeof(struct ox_int8_weights)) + padded(columns);
    return OX_ADD_OVERFLOWS(all, packed, &all) ? SIZE_MAX : all;
}

struct ox_int8_weights *ox_int8_weights_at(void *block, size_t n, size_t count,
                                           const struct ox_tensor *w)
{
    struct ox_int8_weights *out = block;
    char *at = (char *)block + padded(sizeof *out);
    *out = (struct ox_int8_weights){.n = n,
                                    .count = count,
                                    .rank = w->rank,
                                    .is_signed = w->dtype == OX_INT8,
                                    .sums = (int32_t *)(void *)at,
                                    .packed = at + padded((n + 16) * BYTES_OF_A_COLUMN)};
    out->zero = out->sums + n;
    out->offset = out->zero + n;
    out->scale = (float *)(void *)(out->offset + n);
    out->fraction = out->scale + n;
    for (unsigned d = 0; d < w->rank && d < OX_COUNT(out->dims); d++)
        out->dims[d] = w->dims[d];
    return out;
}

static float scale_of(const struct ox_tensor *t, size_t j)
{
    return t ? ((const float *)t->data)[t->n > 1 ? j : 0] : 1;
}

static void set_scales(const struct ox_run *r, const struct ox_int8_ports *p,
                       const struct ox_int8_weights *w, float *scale)
{
    const struct ox_tensor *x = ox_run_in(r, p->x_scale), *ws = ox_run_in(r, p->w_scale);
    const struct ox_tensor *y = ox_run_in(r, p->y_scale);
    for (size_t j = 0; j < w->n; j++)
        scale[j] = (float)ox_quant_factor(OX_FLOAT32, (double)scale_of(x, 0),
                                          (double)scale_of(ws, j), (double)scale_of(y, 0));
}

/* A bias in units of a column's sums: their whole number and the rest of it. */
static int32_t units(double bias, float *rest)
{
    const double most = 2147483647, whole = rint(bias), left = bias - whole;
    *rest = fabs(left) <= 0.5 ? (float)left : 0; /* NaN has none */
    return (int32_t)(whole > -most ? whole < most ? whole : most : -most);
}

/* Floats that a quantizer made of whole numbers are taken for these: none is further from one than its last bits. */
static void add_floats(const struct ox_run *r, const struct ox_int8_ports *p,
                       const struct ox_int8_weights *w, struct ox_integer_end *end, int32_t *offset,
                       float *fraction)
{
    const double last_bits = 2e-7, x_scale = (double)scale_of(ox_run_in(r, p->x_scale), 0);
    const float *bias = ox_run_in(r, p->bias)->data;
    for (size_t j = 0; j < w->n; j++) {
        const double unit = x_scale * (double)scale_of(ox_run_in(r, p->w_scale), j);
        const double exact = (double)bias[j] / unit;
        const uint32_t whole = (uint32_t)units(exact, &fraction[j]);
        offset[j] = (int32_t)((uint32_t)offset[j] + whole);
        if (fabs((double)fraction[j]) > last_bits * fabs(exact))
            end->fraction = fraction;
    }
}

static void add_bias(const struct ox_run *r, const struct ox_int8_ports *p,
                     const struct ox_int8_weights *w, struct ox_integer_end *end, int32_t *offset,
                     float *fraction)
{
    const struct ox_tensor *bias = ox_run_in(r, p->bias);
    if (bias && bias->dtype == OX_FLOAT32) {
        if (end->type == OX_INTEGER_F32)
            end->bias = bias->data;
        else
            add_floats(r, p, w, end, offset, fraction);
        return;
    }
    for (size_t j = 0; bias && j < w->n; j++)
        offset[j] = (int32_t)((uint32_t)offset[j] + (uint32_t)((const int32_t *)bias->data)[j]);
}

int32_t ox_int8_zero(const struct ox_tensor *t)
{
    return !t                    ? 0
           : t->dtype == OX_INT8 ? ((const int8_t *)t->data)[0]
                                 : ((const uint8_t *)t->data)[0];
}

enum ox_dtype ox_int8_out_dtype(const struct ox_run *r, const struct ox_int8_ports *p)
{
    const struct ox_tensor *y_zero = ox_run_in(r, p->y_zero);
    if (!ox_run_has(r, p->y_scale))
        return ox_run_has(r, p->x_scale) ? OX_FLOAT32 : OX_INT32;
    return y_zero ? y_zero->dtype : OX_UINT8;
}

/* offset, scale, fraction: w->n of each, for the end to point at. */
static void make_end(const struct ox_run *r, const struct ox_int8_ports *p,
                     const struct ox_int8_weights *w, int32_t *offset, float *scale,
                     float *fraction, struct ox_integer_end *end, int32_t *in_zero)
{
    const enum ox_dtype dtype = ox_int8_out_dtype(r, p);
    *in_zero = ox_int8_zero(ox_run_in(r, p->x_zero));
    const int32_t za = *in_zero + (ox_run_in(r, p->x)->dtype == OX_INT8 ? 128 : 0);
    *end = (struct ox_integer_end){.offset = offset,
                                   .weight_zero = w->zero,
                                   .scale = scale,
                                   .zero = ox_int8_zero(ox_run_in(r, p->y_zero)),
                                   .lo_f = ox_run_float(r, "least", -INFINITY),
                                   .hi_f = ox_run_float(r, "most", INFINITY)};
    end->type = dtype == OX_FLOAT32 ? OX_INTEGER_F32
                : dtype == OX_INT32 ? OX_INTEGER_I32
                : dtype == OX_INT8  ? OX_INTEGER_S8
                                    : OX_INTEGER_U8;
    end->lo = (int32_t)ox_run_int(r, "lo", dtype == OX_INT8 ? -128 : 0);
    end->hi = (int32_t)ox_run_int(r, "hi", dtype == OX_INT8 ? 127 : 255);
    ox_integer_offsets(w->n, w->count, w->sums, za, w->zero, NULL, offset);
    set_scales(r, p, w, scale);
    add_bias(r, p, w, end, offset, fraction);
}

void ox_int8_keep_end(const struct ox_run *r, const struct ox_int8_ports *p,
                      struct ox_int8_weights *w)
{
    const uint8_t read[] = {p->x_scale, p->x_zero, p->w_scale, p->w_zero,
                            p->y_scale, p->y_zero, p->bias};
    for (size_t i = 0; i < OX_COUNT(read); i++) {
        if (ox_run_has(r, read[i]) && !r->fixed[read[i]])
            return;
    }
    make_end(r, p, w, w->offset, w->scale, w->fraction, &w->end, &w->in_zero);
    w->x_signed = ox_run_in(r, p->x)->dtype == OX_INT8;
    w->has_end = true;
}

enum ox_status ox_int8_end(struct ox_run *r, const struct ox_int8_ports *p,
                           const struct ox_int8_weights *w, struct ox_integer_end *end,
                           int32_t *in_zero, struct ox_error *err)
{
    if (w->has_end && w->x_signed == (ox_run_in(r, p->x)->dtype == OX_INT8)) {
        *end = w->end;
        *in_zero = w->in_zero;
        if (end->bias) /* where it lies in this run */
            end->bias = ox_run_in(r, p->bias)->data;
        return OX_OK;
    }
    int32_t *offset = ox_run_scratch(r, w->n, sizeof *offset, err);
    float *scale = ox_run_scratch(r, w->n, sizeof *scale, err);
    float *fraction = ox_run_scratch(r, w->n, sizeof *fraction, err);
    if (!offset || !scale || !fraction)
        return OX_NO_MEMORY;
    make_end(r, p, w, offset, scale, fraction, end, in_zero);
    return OX_OK;
}
