#include "ops/real.h"

#include <string.h>

#include "kernels/casts.h"
#include "tensor/half.h"

void ox_real_convert(enum ox_dtype to_dtype, void *to, enum ox_dtype from_dtype, const void *from,
                     size_t n)
{
    if (!ox_cast_run(ox_cpu(), from_dtype, to_dtype, n, from, to))
        ox_elements_convert(to_dtype, to, from_dtype, from, n, true);
}

void ox_real_load(const struct ox_tensor *tensor, size_t at, size_t n, double *out)
{
    if (tensor->dtype == OX_FLOAT64) {
        if (n)
            memcpy(out, (const double *)tensor->data + at, n * sizeof *out);
    } else if (tensor->dtype == OX_FLOAT32) {
        const float *from = (const float *)tensor->data + at;
        for (size_t i = 0; i < n; i++)
            out[i] = from[i];
    } else if (ox_dtype_is_half(tensor->dtype)) {
        const uint16_t *from = (const uint16_t *)tensor->data + at;
        bool half = tensor->dtype == OX_FLOAT16;
        for (size_t i = 0; i < n; i++)
            out[i] = (double)(half ? ox_half_to_float(from[i]) : ox_bfloat_to_float(from[i]));
    } else {
        const char *from = (const char *)tensor->data + at * ox_dtype_size(tensor->dtype);
        ox_real_convert(OX_FLOAT64, out, tensor->dtype, from, n);
    }
}

void ox_real_round(enum ox_dtype dtype, double *values, size_t n)
{
    switch (dtype) {
    case OX_FLOAT32:
        for (size_t i = 0; i < n; i++)
            values[i] = (double)(float)values[i];
        break;
    case OX_FLOAT16:
        for (size_t i = 0; i < n; i++)
            values[i] = (double)ox_half_to_float(ox_double_to_half(values[i]));
        break;
    case OX_BFLOAT16:
        for (size_t i = 0; i < n; i++)
            values[i] = (double)ox_bfloat_to_float(ox_double_to_bfloat(values[i]));
        break;
    default:
        break;
    }
}

void ox_real_store(struct ox_tensor *tensor, size_t at, size_t n, const double *values)
{
    if (tensor->dtype == OX_FLOAT64) {
        if (n)
            memcpy((double *)tensor->data + at, values, n * sizeof *values);
    } else if (tensor->dtype == OX_FLOAT32) {
        float *to = (float *)tensor->data + at;
        for (size_t i = 0; i < n; i++)
            to[i] = (float)values[i];
    } else {
        uint16_t *to = (uint16_t *)tensor->data + at;
        bool half = tensor->dtype == OX_FLOAT16;
        for (size_t i = 0; i < n; i++)
            to[i] = half ? ox_double_to_half(values[i]) : ox_double_to_bfloat(values[i]);
    }
}

const double *ox_real_all(struct ox_run *r, const struct ox_tensor *tensor, struct ox_error *err)
{
    if (tensor->dtype == OX_FLOAT64)
        return tensor->data;
    double *all = ox_real_scratch(r, tensor->n, err);
    if (all)
        ox_real_load(tensor, 0, tensor->n, all);
    return all;
}

enum ox_status ox_real_in(struct ox_run *r, size_t i, const double **out, struct ox_error *err)
{
    const struct ox_tensor *tensor = ox_run_in(r, i);
    *out = NULL;
    if (!tensor)
        return OX_OK;
    *out = ox_real_all(r, tensor, err);
    return *out || !tensor->n ? OX_OK : OX_NO_MEMORY;
}

enum ox_status ox_real_out(struct ox_run *r, size_t i, enum ox_dtype dtype, unsigned rank,
                           const int64_t *dims, const double *values, struct ox_error *err)
{
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, i, dtype, rank, dims, &out, err));
    ox_real_store(out, 0, out->n, values);
    return OX_OK;
}

double ox_real_scalar(const struct ox_run *r, size_t i, double fallback)
{
    const struct ox_tensor *tensor = ox_run_in(r, i);
    return tensor && tensor->n ? ox_tensor_get_double(tensor, 0) : fallback;
}

double *ox_real_scratch(struct ox_run *r, size_t count, struct ox_error *err)
{
    return ox_run_scratch(r, count, sizeof(double), err);
}
