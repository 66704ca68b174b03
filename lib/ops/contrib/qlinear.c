#include "ops/contrib/qlinear.h"

#include <math.h>

#include "ops/real.h"

enum ox_status ox_qparam_in(struct ox_run *r, size_t i_scale, size_t i_zero,
                            struct ox_qparam *param, struct ox_error *err)
{
    const struct ox_tensor *scale = ox_run_in(r, i_scale), *zero = ox_run_in(r, i_zero);
    if (!scale || scale->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "input %zu, a scale, has %zu elements, not one",
                           i_scale, scale ? scale->n : 0);
    if (zero && zero->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "input %zu, a zero point, has %zu elements, not one",
                           i_zero, zero->n);
    param->scale = ox_tensor_get_double(scale, 0);
    param->zero = zero ? ox_tensor_get_double(zero, 0) : 0;
    return OX_OK;
}

enum ox_status ox_q8_only(const struct ox_run *r, const struct ox_tensor *x, struct ox_error *err)
{
    if (x->dtype == OX_UINT8 || x->dtype == OX_INT8)
        return OX_OK;
    return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(x->dtype));
}

void ox_qtable(enum ox_dtype dtype, const struct ox_qparam *param, double table[256])
{
    for (int c = 0; c < 256; c++) {
        int x = dtype == OX_INT8 && c > 127 ? c - 256 : c;
        table[c] = (x - param->zero) * param->scale;
    }
}

uint8_t ox_qcode(enum ox_dtype dtype, const struct ox_qparam *param, double value)
{
    double low = dtype == OX_INT8 ? -128 : 0, high = dtype == OX_INT8 ? 127 : 255;
    double q = rint(value / param->scale) + param->zero;
    return (uint8_t)(int)(q > low ? q < high ? q : high : low);
}

void ox_qrecode(const double table[256], enum ox_dtype dtype, const struct ox_qparam *param,
                uint8_t codes[256])
{
    for (int c = 0; c < 256; c++)
        codes[c] = ox_qcode(dtype, param, table[c]);
}

enum ox_status ox_dequantized(struct ox_run *r, const struct ox_tensor *x,
                              const struct ox_qparam *param, struct ox_tensor **out,
                              struct ox_error *err)
{
    double table[256];
    OX_TRY(ox_q8_only(r, x, err));
    OX_TRY(ox_tensor_new(out, ox_env_budget(r->env), OX_FLOAT64, x->rank, x->dims, err));
    ox_qtable(x->dtype, param, table);
    const uint8_t *from = x->data;
    double *to = (*out)->data;
    for (size_t i = 0; i < x->n; i++)
        to[i] = table[from[i]];
    return OX_OK;
}

enum ox_status ox_quantized_out(struct ox_run *r, const struct ox_tensor *values,
                                enum ox_dtype dtype, const struct ox_qparam *param,
                                struct ox_error *err)
{
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, dtype, values->rank, values->dims, &y, err));
    const double *from = values->data;
    uint8_t *to = y->data;
    for (size_t i = 0; i < y->n; i++)
        to[i] = ox_qcode(dtype, param, from[i]);
    return OX_OK;
}
