/* Operators of com.microsoft that mean what one of the standard's means. */
#include "ops/contrib/contrib.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/rules.h"

static enum ox_status run_dequantize_linear(struct ox_run *r, struct ox_error *err)
{
    return ox_run_standard(r, "DequantizeLinear", 21, err);
}

static enum ox_status run_gather_nd(struct ox_run *r, struct ox_error *err)
{
    return ox_run_standard(r, "GatherND", 11, err);
}

static enum ox_status run_grid_sample(struct ox_run *r, struct ox_error *err)
{
    return ox_run_standard(r, "GridSample", 16, err);
}

static enum ox_status run_pad(struct ox_run *r, struct ox_error *err)
{
    return ox_run_standard(r, "Pad", 13, err);
}

static enum ox_status run_quantize_linear(struct ox_run *r, struct ox_error *err)
{
    return ox_run_standard(r, "QuantizeLinear", 21, err);
}

static enum ox_status run_sample(struct ox_run *r, struct ox_error *err)
{
    return ox_run_standard(r, "Identity", 1, err);
}

static enum ox_status run_trilu(struct ox_run *r, struct ox_error *err)
{
    return ox_run_standard(r, "Trilu", 14, err);
}

static void infer_dequantize_linear(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
    ox_infer_same_dtype(c, 0, 1);
}

static void infer_gather_nd(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_standard(c, "GatherND", 11);
}

static void infer_grid_sample(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_standard(c, "GridSample", 16);
}

static void infer_quantize_linear(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
    if (ox_infer_has(c, 2))
        ox_infer_same_dtype(c, 0, 2);
    else
        ox_infer_set_dtype(c, 0, OX_UINT8);
}

static void infer_pad(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    const int64_t *pads;
    size_t n;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || !ox_infer_ints(c, 1, &n, &pads) || n != 2 * rank)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    for (unsigned d = 0; dims && d < rank; d++)
        dims[d] = ox_infer_add(c, ox_infer_add(c, x[d], ox_infer_num(c, pads[d])),
                               ox_infer_num(c, pads[rank + d]));
    if (dims)
        ox_infer_set_shape(c, 0, rank, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_alias[] = {
    {MS, "DequantizeLinear", 1, .infer = infer_dequantize_linear, .run = run_dequantize_linear,
     .fast = ox_fast_dequantize},
    {MS, "GatherND", 1, OX_OP_HALF, .infer = infer_gather_nd, .run = run_gather_nd},
    {MS, "GridSample", 1, OX_OP_DOUBLE, .infer = infer_grid_sample, .run = run_grid_sample,
     .fast = ox_fast_grid_sample},
    {MS, "Pad", 1, OX_OP_HALF, .infer = infer_pad, .run = run_pad},
    {MS, "QuantizeLinear", 1, .infer = infer_quantize_linear, .run = run_quantize_linear,
     .fast = ox_fast_quantize},
    {MS, "SampleOp", 1, OX_OP_HALF, .infer = ox_rule_same, .run = run_sample},
    {MS, "Trilu", 1, OX_OP_HALF, .infer = ox_rule_same, .run = run_trilu},
    {0}};
