/* ConvInteger and QLinearConv: products and sums of the integers, exact in double. */
#include "ops/conv.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/quantized.h"
#include "ops/real.h"

struct quantized_conv {
    struct ox_plain_conv cv;
    int64_t dims[OX_WINDOW_AXES + 2];
    double *sums; /* n of them */
    size_t n;
};

/* Convolves (x - x_zero) by (w - w_zero), zero points a tensor or an output channel. */
static enum ox_status convolve(struct ox_run *r, size_t ix, size_t ix_zero, size_t iw,
                               size_t iw_zero, size_t ib, struct quantized_conv *q,
                               struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, ix), *w = ox_run_in(r, iw), *b = ox_run_in(r, ib);
    struct ox_quant_param x_zero, w_zero;
    if (ox_run_in(r, ix_zero) && ox_run_in(r, ix_zero)->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "x_zero_point has %zu elements, not one",
                           ox_run_in(r, ix_zero)->n);
    OX_TRY(ox_plain_conv_plan(r, x, w, b, &q->cv, q->dims, err));
    OX_TRY(ox_quant_param_init(r, "x_zero_point", ox_run_in(r, ix_zero), x, 0, &x_zero, err));
    OX_TRY(ox_quant_param_init(r, "w_zero_point", ox_run_in(r, iw_zero), w, 0, &w_zero, err));
    if (!ox_dims_count(x->rank, q->dims, &q->n))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large");
    q->cv.dtype = OX_FLOAT64;
    q->cv.x = ox_quant_load(r, x, &x_zero, err);
    q->cv.weights = ox_quant_load(r, w, &w_zero, err);
    q->cv.y = q->sums = ox_real_scratch(r, q->n, err);
    if (!q->cv.x || !q->cv.weights || !q->sums)
        return OX_NO_MEMORY;
    const double *bias;
    OX_TRY(ox_real_in(r, ib, &bias, err));
    q->cv.bias = bias;
    return ox_plain_conv_run(r, &q->cv, err);
}

static void infer_conv_integer(struct ox_infer *c)
{
    ox_infer_set_dtype(c, 0, OX_INT32);
    ox_infer_conv(c, 0, 1);
}

static enum ox_status run_conv_integer(struct ox_run *r, struct ox_error *err)
{
    struct quantized_conv *q = ox_run_scratch(r, 1, sizeof *q, err);
    if (!q)
        return OX_NO_MEMORY;
    OX_TRY(convolve(r, 0, 2, 1, 3, 4, q, err));
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_INT32, ox_run_in(r, 0)->rank, q->dims, &y, err));
    for (size_t i = 0; i < q->n; i++) /* wraps in 32 bits, as the standard allows */
        ((uint32_t *)y->data)[i] = (uint32_t)(uint64_t)(int64_t)q->sums[i];
    return OX_OK;
}

static void infer_qlinear_conv(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 7);
    ox_infer_conv(c, 0, 3);
}

static enum ox_status run_qlinear_conv(struct ox_run *r, struct ox_error *err)
{
    struct quantized_conv *q = ox_run_scratch(r, 1, sizeof *q, err);
    if (!q)
        return OX_NO_MEMORY;
    OX_TRY(convolve(r, 0, 2, 3, 5, 8, q, err));
    const struct ox_tensor *w = ox_run_in(r, 3), *w_scale = ox_run_in(r, 4);
    struct ox_quant_param scale;
    OX_TRY(ox_quant_param_init(r, "w_scale", w_scale, w, 0, &scale, err));
    scale.inner = 1;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, ox_run_in(r, 7)->dtype, ox_run_in(r, 0)->rank, q->dims, &y, err));
    double x_scale = ox_real_scalar(r, 1, 1), y_scale = ox_real_scalar(r, 6, 1);
    double zero = ox_real_scalar(r, 7, 0);
    size_t channels = (size_t)q->dims[1], n_out = q->cv.w.n_out;
    for (size_t plane = 0; n_out && plane < q->n / n_out; plane++) {
        double factor = ox_quant_param_get(&scale, plane % channels, 1);
        factor = ox_quant_factor(w_scale->dtype, x_scale, factor, y_scale);
        for (size_t i = plane * n_out; i < (plane + 1) * n_out; i++)
            ox_quant_store(y, i, q->sums[i] * factor, zero);
    }
    return OX_OK;
}

const struct ox_op ox_ops_conv_quantized[] = {
    {"", "ConvInteger", 10, .infer = infer_conv_integer, .run = run_conv_integer,
     .fast = ox_int8_conv_integer, .prepare = ox_int8_prepare_conv_integer},
    {"", "QLinearConv", 10, .infer = infer_qlinear_conv, .run = run_qlinear_conv,
     .fast = ox_int8_qlinear_conv, .prepare = ox_int8_prepare_qlinear_conv},
    {0}};
