/* QLinearAveragePool QLinearGlobalAveragePool QLinearReduceMean QLinearSoftmax, NhwcMaxPool, NhwcConv, QLinearConv (com.microsoft): the
 * standard's operators between quantized values or with channels last. */
#include <string.h>

#include "ops/contrib/contrib.h"
#include "ops/contrib/qlinear.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/rules.h"
#include "ops/window.h"

/* The standard's operator on input 0, whose channels are last when `last` says so. */
static enum ox_status call_channels(struct ox_run *r, const char *name, int64_t opset, bool last,
                                    const struct ox_tensor *const *in, size_t n_in,
                                    struct ox_tensor **out, struct ox_error *err)
{
    unsigned perm[OX_MOST_RANK];
    const struct ox_tensor *inputs[9] = {NULL};
    struct ox_tensor *first, *result = NULL;
    if (!last)
        return ox_call_standard(r, name, opset, in, n_in, out, err);
    if (in[0]->rank < 3 || in[0]->rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "X has rank %u", in[0]->rank);
    for (size_t i = 0; i < n_in; i++)
        inputs[i] = in[i];
    ox_channels_perm(in[0]->rank, true, perm);
    OX_TRY(ox_permuted(r, in[0], perm, &first, err));
    inputs[0] = first;
    enum ox_status status = ox_call_standard(r, name, opset, inputs, n_in, &result, err);
    ox_tensor_release(first);
    OX_TRY(status);
    ox_channels_perm(result->rank, false, perm);
    status = ox_permuted(r, result, perm, out, err);
    ox_tensor_release(result);
    return status;
}

/* The standard's operator between input 0 (scale 1, zero point 2) and output 0 (scale 3, zero point 4). */
static enum ox_status run_between(struct ox_run *r, const char *name, int64_t opset, bool last,
                                  struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_qparam from, to;
    struct ox_tensor *values, *result;
    OX_TRY(ox_qparam_in(r, 1, 2, &from, err));
    OX_TRY(ox_qparam_in(r, 3, 4, &to, err));
    OX_TRY(ox_dequantized(r, x, &from, &values, err));
    const struct ox_tensor *in[1] = {values};
    enum ox_status status = call_channels(r, name, opset, last, in, 1, &result, err);
    ox_tensor_release(values);
    OX_TRY(status);
    status = ox_quantized_out(r, result, x->dtype, &to, err);
    ox_tensor_release(result);
    return status;
}

static enum ox_status run_qlinear_average_pool(struct ox_run *r, struct ox_error *err)
{
    return run_between(r, "AveragePool", 11, ox_run_int(r, "channels_last", 0) != 0, err);
}

static enum ox_status run_qlinear_global_average_pool(struct ox_run *r, struct ox_error *err)
{
    return run_between(r, "GlobalAveragePool", 1, ox_run_int(r, "channels_last", 0) != 0, err);
}

static enum ox_status run_qlinear_reduce_mean(struct ox_run *r, struct ox_error *err)
{
    return run_between(r, "ReduceMean", 11, false, err);
}

/* Before opset 13 over all axes from `axis` on; the default is the last one in either. */
static enum ox_status run_qlinear_softmax(struct ox_run *r, struct ox_error *err)
{
    bool single = ox_run_int(r, "opset", 13) >= 13 || !ox_run_attr(r, "axis");
    return run_between(r, "Softmax", single ? 13 : 11, false, err);
}

static enum ox_status give(struct ox_run *r, struct ox_tensor *y, struct ox_error *err)
{
    enum ox_status status = ox_run_out_tensor(r, 0, y, err);
    ox_tensor_release(y);
    return status;
}

static enum ox_status run_nhwc_max_pool(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in[1] = {ox_run_in(r, 0)};
    struct ox_tensor *y;
    OX_TRY(call_channels(r, "MaxPool", 12, true, in, 1, &y, err));
    return give(r, y, err);
}

static enum ox_status fast_nhwc_max_pool(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_int8_in(r, 0);
    return x && x->rank == 4 ? ox_fused_max_pool(r, err) : OX_UNSUPPORTED;
}

/* The weights are (M, k1, ..., kn, C / group), as onnxruntime's optimizer for transformers writes them; the schema's words are those
 * of Conv. */
static enum ox_status run_nhwc_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in[3] = {ox_run_in(r, 0), ox_run_in(r, 1), ox_run_in(r, 2)};
    struct ox_tensor *weights, *y;
    unsigned perm[OX_MOST_RANK];
    if (in[1]->rank < 3 || in[1]->rank > OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "W has rank %u", in[1]->rank);
    ox_channels_perm(in[1]->rank, true, perm);
    OX_TRY(ox_permuted(r, in[1], perm, &weights, err));
    in[1] = weights;
    enum ox_status status = call_channels(r, "Conv", 11, true, in, 3, &y, err);
    ox_tensor_release(weights);
    OX_TRY(status);
    return give(r, y, err);
}

/* The standard's, with weights as there, whether channels are last or not: what onnxruntime makes of it when it saves a model that it
 * has optimized. */
static enum ox_status run_qlinear_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in[9];
    struct ox_tensor *y;
    for (size_t i = 0; i < OX_COUNT(in); i++)
        in[i] = ox_run_in(r, i);
    OX_TRY(call_channels(r, "QLinearConv", 10, ox_run_int(r, "channels_last", 0) != 0, in,
                         OX_COUNT(in), &y, err));
    return give(r, y, err);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

/* Windows over the axes between the first and the last. kernel NULL: by kernel_shape. */
static void infer_last(struct ox_infer *c, const struct ox_expr *const *kernel,
                       const struct ox_expr *channels)
{
    unsigned rank;
    const struct ox_expr *const *x;
    if (!ox_infer_shape(c, 0, &rank, &x) || rank < 3 || rank - 2 > OX_WINDOW_AXES)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    bool ceil = ox_infer_int_attr(c, "ceil_mode", 0) != 0;
    if (!dims || !ox_infer_window(c, rank - 2, x + 1, kernel, ceil, dims + 1))
        return;
    dims[0] = x[0];
    dims[rank - 1] = channels ? channels : x[rank - 1];
    ox_infer_set_shape(c, 0, rank, dims);
}

static void infer_nhwc_max_pool(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    infer_last(c, NULL, NULL);
}

static void infer_nhwc_conv(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *w;
    ox_infer_same_dtype(c, 0, 0);
    if (ox_infer_shape(c, 1, &rank, &w) && rank >= 3)
        infer_last(c, w + 1, w[0]);
}

static void infer_qlinear_conv(struct ox_infer *c)
{
    enum { X, W = 3, Y_ZERO = 7 };
    unsigned rank;
    const struct ox_expr *const *w;
    ox_infer_same_dtype(c, 0, Y_ZERO);
    if (!ox_infer_int_attr(c, "channels_last", 0))
        ox_infer_conv(c, X, W);
    else if (ox_infer_shape(c, W, &rank, &w) && rank >= 3)
        infer_last(c, w + 2, w[0]);
}

static void infer_average_pool(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    if (ox_infer_int_attr(c, "channels_last", 0))
        infer_last(c, NULL, NULL);
    else
        ox_infer_pool(c);
}

static void infer_global_average_pool(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank < 3)
        return;
    bool last = ox_infer_int_attr(c, "channels_last", 0) != 0;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    for (unsigned d = 0; dims && d < rank; d++)
        dims[d] = d == 0 || d == (last ? rank - 1 : 1) ? x[d] : ox_infer_num(c, 1);
    if (dims)
        ox_infer_set_shape(c, 0, rank, dims);
}

static void infer_reduce_mean(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_standard(c, "ReduceMean", 11);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_qlinear_pool[] = {
    {MS, "NhwcConv", 1, .infer = infer_nhwc_conv, .run = run_nhwc_conv},
    {MS, "NhwcMaxPool", 1, .infer = infer_nhwc_max_pool, .run = run_nhwc_max_pool,
     .fast = fast_nhwc_max_pool},
    {MS, "QLinearAveragePool", 1, .infer = infer_average_pool, .run = run_qlinear_average_pool,
     .fast = ox_int8_average_pool},
    {MS, "QLinearConv", 1, .infer = infer_qlinear_conv, .run = run_qlinear_conv,
     .fast = ox_int8_qlinear_conv, .prepare = ox_int8_prepare_qlinear_conv},
    {MS, "QLinearGlobalAveragePool", 1, .infer = infer_global_average_pool,
     .run = run_qlinear_global_average_pool, .fast = ox_int8_global_average},
    {MS, "QLinearReduceMean", 1, .infer = infer_reduce_mean, .run = run_qlinear_reduce_mean},
    {MS, "QLinearSoftmax", 1, .infer = ox_rule_same, .run = run_qlinear_softmax,
     .fast = ox_int8_softmax},
    {0}};
