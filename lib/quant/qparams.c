#include "quant/qparams.h"

#include <math.h>
#include <string.h>

#include "tensor/half.h"

/* ---- Integer types ------------------------------------------------------------------------------------------------ */

struct qtype {
    enum ox_dtype type;
    int32_t least, most;
    int32_t symmetric; /* least of the symmetric range */
    int32_t reduced_least, reduced_most;
};

static const struct qtype qtypes[] = {
    {OX_INT8, -128, 127, -127, -64, 64},
    {OX_UINT8, 0, 255, 0, 0, 127},
    {OX_INT16, -32768, 32767, -32767, -16384, 16384},
    {OX_UINT16, 0, 65535, 0, 0, 32767},
    {OX_INT4, -8, 7, -8, -4, 3},
    {OX_UINT4, 0, 15, 0, 0, 7},
};

static const struct qtype *find_qtype(enum ox_dtype type)
{
    for (size_t i = 0; i < OX_COUNT(qtypes); i++) {
        if (qtypes[i].type == type)
            return &qtypes[i];
    }
    return NULL;
}

bool ox_qtype_known(enum ox_dtype type)
{
    return find_qtype(type) != NULL;
}

void ox_qtype_range(enum ox_dtype type, bool symmetric, bool reduce, int32_t *qmin, int32_t *qmax)
{
    const struct qtype *t = find_qtype(type);
    *qmin = reduce ? t->reduced_least : symmetric ? t->symmetric : t->least;
    *qmax = reduce ? t->reduced_most : t->most;
}

void ox_qtype_limits(enum ox_dtype type, int32_t *least, int32_t *most)
{
    const struct qtype *t = find_qtype(type);
    *least = t->least;
    *most = t->most;
}

/* ---- Scale and zero point ----------------------------------------------------------------------------------------- */

float ox_qparam_scale(double value, enum ox_dtype real)
{
    float out;
    if (real == OX_FLOAT16) {
        uint16_t half;
        ox_elements_convert(OX_FLOAT16, &half, OX_FLOAT64, &value, 1, false);
        ox_elements_convert(OX_FLOAT32, &out, OX_FLOAT16, &half, 1, false);
        return out;
    }
    return (float)value;
}

/* A scale that is no normal number: of float16 it is rounded up, or what is largest would be clipped. */
static double tiny_scale(double scale, enum ox_dtype real)
{
    if (real != OX_FLOAT16)
        return 0x1p-126;
    return fmax(ceil(scale * 0x1p24), 16) * 0x1p-24; /* one in 16 of them is wasted at most */
}

struct ox_qparam ox_qparam_of_range(float rmin, float rmax, enum ox_dtype type, enum ox_dtype real,
                                    bool symmetric, bool reduce, bool like_ort)
{
    const double normal = real == OX_FLOAT16 ? 0x1p-14 : 0x1p-126; /* the smallest */
    int32_t qmin, qmax;
    ox_qtype_range(type, symmetric, reduce, &qmin, &qmax);
    rmin = rmin < 0 ? rmin : 0;
    rmax = rmax > 0 ? rmax : 0;
    if (symmetric) {
        rmax = -rmin > rmax ? -rmin : rmax;
        rmin = -rmax;
    }
    double scale = ((double)rmax - (double)rmin) / ((double)qmax - (double)qmin);
    if (!(scale >= normal)) {
        if (like_ort || !(scale > 0))
            return (struct ox_qparam){1, 0};
        scale = tiny_scale(scale, real);
    }
    double zero = symmetric ? rint((qmin + qmax) / 2.0) : rint(qmin - (double)rmin / scale);
    return (struct ox_qparam){ox_qparam_scale(scale, real), (int32_t)zero};
}

/* ---- Tensors ------------------------------------------------------------------------------------------------------ */

struct ox_qview ox_qview_of(const struct ox_tensor *tensor, int axis)
{
    struct ox_qview view = {1, 1, 1};
    if (axis < 0) {
        view.inner = tensor->n;
        return view;
    }
    for (int i = 0; i < (int)tensor->rank; i++) {
        size_t dim = (size_t)tensor->dims[i];
        if (i < axis)
            view.outer *= dim;
        else if (i == axis)
            view.n = dim;
        else
            view.inner *= dim;
    }
    return view;
}

static bool extremes(const float *values, size_t n, float *least, float *most)
{
    float low = *least, high = *most;
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
        good &= values[i] == values[i];
    }
    *least = low;
    *most = high;
    return good;
}

bool ox_qparams_extremes(const struct ox_tensor *tensor, int axis, float *rmin, float *rmax)
{
    struct ox_qview view = ox_qview_of(tensor, axis);
    const float *values = tensor->data;
    bool good = true;
    for (size_t c = 0; c < view.n; c++)
        rmin[c] = rmax[c] = tensor->n ? values[c * view.inner] : 0;
    for (size_t o = 0; o < view.outer; o++) {
        for (size_t c = 0; c < view.n; c++)
            good &=
                extremes(values + (o * view.n + c) * view.inner, view.inner, &rmin[c], &rmax[c]);
    }
    return good;
}

enum ox_status ox_qparams_of_tensor(struct ox_qparams *out, struct ox_arena *arena,
                                    const struct ox_tensor *tensor, int axis, enum ox_dtype type,
                                    enum ox_dtype real, bool symmetric, bool reduce, bool like_ort,
                                    struct ox_error *err)
{
    struct ox_qview view = ox_qview_of(tensor, axis);
    float *rmin = ox_arena_array(arena, view.n, sizeof *rmin);
    float *rmax = ox_arena_array(arena, view.n, sizeof *rmax);
    struct ox_qparams params = {type, real, axis, view.n, NULL};
    params.pairs = ox_arena_array(arena, view.n, sizeof *params.pairs);
    if (!rmin || !rmax || !params.pairs)
        return ox_no_memory(err);
    if (!ox_qparams_extremes(tensor, axis, rmin, rmax))
        return ox_fail(err, OX_INPUT, "holds a NaN");
    for (size_t c = 0; c < view.n; c++) {
        if (isinf(rmin[c]) || isinf(rmax[c]))
            return ox_fail(err, OX_INPUT, "holds an infinity");
        params.pairs[c] =
            ox_qparam_of_range(rmin[c], rmax[c], type, real, symmetric, reduce, like_ort);
    }
    *out = params;
    return OX_OK;
}

#define QUANT_TYPE int8_t
#define QUANT_NAME(x) x##_s8
#include "quant/quantize_tmpl.h"
#define QUANT_TYPE uint8_t
#define QUANT_NAME(x) x##_u8
#include "quant/quantize_tmpl.h"
#define QUANT_TYPE int16_t
#define QUANT_NAME(x) x##_s16
#include "quant/quantize_tmpl.h"
#define QUANT_TYPE uint16_t
#define QUANT_NAME(x) x##_u16
#include "quant/quantize_tmpl.h"

void ox_quantize_elements(const float *in, size_t n, struct ox_qparam pair, enum ox_dtype type,
                          void *out)
{
    int32_t least, most;
    ox_qtype_limits(type, &least, &most);
    switch (type) {
    case OX_INT8:
    case OX_INT4:
        quantize_s8(in, n, pair, least, most, out);
        return;
    case OX_INT16:
        quantize_s16(in, n, pair, least, most, out);
        return;
    case OX_UINT16:
        quantize_u16(in, n, pair, least, most, out);
        return;
    default:
        quantize_u8(in, n, pair, least, most, out);
    }
}

void ox_dequantize_elements(const void *in, enum ox_dtype type, size_t n, struct ox_qparam pair,
                            float *out)
{
    switch (type) {
    case OX_INT8:
    case OX_INT4:
        dequantize_s8(in, n, pair, out);
        return;
    case OX_INT16:
        dequantize_s16(in, n, pair, out);
        return;
    case OX_UINT16:
        dequantize_u16(in, n, pair, out);
        return;
    default:
        dequantize_u8(in, n, pair, out);
    }
}

enum ox_status ox_quantize_tensor(struct ox_tensor **out, struct ox_budget *budget,
                                  const struct ox_tensor *tensor, const struct ox_qparams *params,
                                  struct ox_error *err)
{
    struct ox_qview view = ox_qview_of(tensor, params->axis);
    size_t size = ox_dtype_size(params->type);
    const float *in = tensor->data;
    struct ox_tensor *made;
    OX_TRY(ox_tensor_new(&made, budget, params->type, tensor->rank, tensor->dims, err));
    for (size_t o = 0; o < view.outer; o++) {
        for (size_t c = 0; c < view.n; c++) {
            size_t at = (o * view.n + c) * view.inner;
            ox_quantize_elements(in + at, view.inner, params->pairs[c], params->type,
                                 (char *)made->data + at * size);
        }
    }
    *out = made;
    return OX_OK;
}

enum ox_status ox_dequantize_tensor(struct ox_tensor **out, struct ox_budget *budget,
                                    const struct ox_tensor *tensor, const struct ox_qparams *params,
                                    struct ox_error *err)
{
    struct ox_qview view = ox_qview_of(tensor, params->axis);
    size_t size = ox_dtype_size(params->type);
    struct ox_tensor *made;
    OX_TRY(ox_tensor_new(&made, budget, OX_FLOAT32, tensor->rank, tensor->dims, err));
    for (size_t o = 0; o < view.outer; o++) {
        for (size_t c = 0; c < view.n; c++) {
            size_t at = (o * view.n + c) * view.inner;
            ox_dequantize_elements((const char *)tensor->data + at * size, params->type, view.inner,
                                   params->pairs[c], (float *)made->data + at);
        }
    }
    *out = made;
    return OX_OK;
}

/* ---- Bias --------------------------------------------------------------------------------------------------------- */

enum ox_status ox_quantize_bias(struct ox_tensor **out, struct ox_budget *budget,
                                const struct ox_tensor *bias, const struct ox_qparams *params,
                                bool *clipped, struct ox_error *err)
{
    const float *in = bias->data;
    struct ox_tensor *made;
    OX_TRY(ox_tensor_new(&made, budget, OX_INT32, bias->rank, bias->dims, err));
    int32_t *to = made->data;
    *clipped = false;
    /* Of a bias [1, n] the channels are the last axis. */
    for (size_t i = 0; i < bias->n; i++) {
        double q =
            rint((double)in[i] / (double)params->pairs[params->n > 1 ? i % params->n : 0].scale);
        *clipped |= q < INT32_MIN || q > INT32_MAX;
        q = q < INT32_MIN ? INT32_MIN : q > INT32_MAX ? INT32_MAX : q;
        to[i] = q == q ? (int32_t)q : 0;
    }
    *out = made;
    return OX_OK;
}

bool ox_qparams_repair(struct ox_qparams *weights, float input_scale, const struct ox_tensor *bias)
{
    const double range = (double)INT32_MAX - (double)(INT32_MIN + 1);
    const float *values = bias->data;
    bool changed = false;
    for (size_t c = 0; c < weights->n; c++) {
        double least = 0;
        if (weights->axis < 0) {
            for (size_t i = 0; i < bias->n; i++)
                least = fabs((double)values[i]) > least ? fabs((double)values[i]) : least;
            least = 1.0001 * (2.0 * least) / range;
        } else if (c < bias->n) {
            least = (double)(1.0001f * (2.0f * fabsf(values[c]))) / range; /* numpy's promotion */
        }
        double scale = (double)weights->pairs[c].scale, product = (double)input_scale * scale;
        if (product < least && product > 0) {
            weights->pairs[c].scale = ox_qparam_scale(scale * (least / product), weights->real);
            changed = true;
        }
    }
    return changed;
}

/* ---- As tensors --------------------------------------------------------------------------------------------------- */

static void store_zero(void *to, enum ox_dtype type, size_t i, int32_t zero)
{
    switch (ox_dtype_size(type)) {
    case 1:
        ((uint8_t *)to)[i] = (uint8_t)zero;
        return;
    case 2:
        ((uint16_t *)to)[i] = (uint16_t)zero;
        return;
    default:
        ((int32_t *)to)[i] = zero;
    }
}

enum ox_status ox_qparams_tensors(const struct ox_qparams *params, struct ox_budget *budget,
                                  struct ox_tensor **scale, struct ox_tensor **zero,
                                  struct ox_error *err)
{
    int64_t dims[1] = {(int64_t)params->n};
    unsigned rank = params->axis >= 0;
    struct ox_tensor *s, *z;
    OX_TRY(ox_tensor_new(&s, budget, params->real, rank, dims, err));
    enum ox_status status = ox_tensor_new(&z, budget, params->type, rank, dims, err);
    if (status != OX_OK) {
        ox_tensor_release(s);
        return status;
    }
    size_t size = ox_dtype_size(params->real);
    for (size_t i = 0; i < params->n; i++) {
        ox_elements_convert(params->real, (char *)s->data + i * size, OX_FLOAT32,
                            &params->pairs[i].scale, 1, false);
        store_zero(z->data, params->type, i, params->pairs[i].zero);
    }
    *scale = s;
    *zero = z;
    return OX_OK;
}
