#include "ops/quantized.h"

#include <math.h>

#include "ops/real.h"
#include "tensor/half.h"

enum ox_status ox_quant_param_init(struct ox_run *r, const char *what,
                                   const struct ox_tensor *param, const struct ox_tensor *data,
                                   unsigned axis, struct ox_quant_param *out, struct ox_error *err)
{
    *out = (struct ox_quant_param){.tensor = param, .period = 1, .inner = 1};
    if (!param || param->n == 1)
        return OX_OK;
    for (unsigned d = axis + 1; d < data->rank; d++)
        out->inner *= (size_t)data->dims[d];
    if (data->rank > axis && param->n == (size_t)data->dims[axis]) {
        out->period = param->n;
        return OX_OK;
    }
    return ox_run_fail(r, err, OX_INPUT,
                       "%s has %zu elements: neither one nor one for each of %lld", what, param->n,
                       data->rank > axis ? (long long)data->dims[axis] : 0LL);
}

double ox_quant_param_get(const struct ox_quant_param *param, size_t i, double fallback)
{
    if (!param->tensor)
        return fallback;
    return ox_tensor_get_double(param->tensor, i / param->inner % param->period);
}

double *ox_quant_load(struct ox_run *r, const struct ox_tensor *tensor,
                      const struct ox_quant_param *zero, struct ox_error *err)
{
    double *out = ox_real_scratch(r, tensor->n, err);
    if (!out)
        return NULL;
    if (tensor->dtype == OX_UINT8) {
        const uint8_t *from = tensor->data;
        for (size_t i = 0; i < tensor->n; i++)
            out[i] = from[i];
    } else if (tensor->dtype == OX_INT8) {
        const int8_t *from = tensor->data;
        for (size_t i = 0; i < tensor->n; i++)
            out[i] = from[i];
    } else {
        ox_real_load(tensor, 0, tensor->n, out);
    }
    if (!zero->tensor)
        return out;
    /* One division a run of equal zero points. */
    for (size_t i = 0; i < tensor->n;) {
        double z = ox_quant_param_get(zero, i, 0);
        size_t end = zero->period == 1 ? tensor->n : (i / zero->inner + 1) * zero->inner;
        for (; i < end; i++)
            out[i] -= z;
    }
    return out;
}

void ox_quant_store(struct ox_tensor *tensor, size_t i, double value, double zero)
{
    if (tensor->dtype == OX_UINT8 || tensor->dtype == OX_INT8) {
        double lowest = tensor->dtype == OX_INT8 ? -128 : 0, q = nearbyint(value) + zero;
        q = !(q > lowest) ? lowest : q > lowest + 255 ? lowest + 255 : q;
        if (tensor->dtype == OX_INT8)
            ((int8_t *)tensor->data)[i] = (int8_t)q;
        else
            ((uint8_t *)tensor->data)[i] = (uint8_t)q;
        return;
    }
    ((uint8_t *)tensor->data)[i] = ox_float_to_small(tensor->dtype, (float)(value + zero), true);
}

double ox_quant_factor(enum ox_dtype scales, double a, double b, double y)
{
    if (scales == OX_FLOAT64)
        return a * b / y;
    return (double)((float)a * (float)b / (float)y);
}
