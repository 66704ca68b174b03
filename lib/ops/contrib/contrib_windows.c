/* Windows of com.microsoft: UnfoldTensor ConvTransposeWithDynamicPads. */
#include <inttypes.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/contrib/contrib.h"
#include "ops/infer.h"
#include "ops/move.h"
#include "ops/real.h"
#include "ops/window.h"

/* ---- UnfoldTensor ------------------------------------------------------------------------------------------------- */

static enum ox_status run_unfold(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    int64_t size = ox_run_int(r, "size", 0), step = ox_run_int(r, "step", 1);
    int64_t dims[OX_MOVE_RANK + 1], from[OX_MOVE_RANK], to[OX_MOVE_RANK + 1];
    struct ox_move move = {0};
    struct ox_tensor *y;
    unsigned axis;
    OX_TRY(ox_move_rank(r, (uint64_t)x->rank + 1, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "dim", -1), x->rank, &axis, err));
    if (size < 1 || step < 1 || size > x->dims[axis])
        return ox_run_fail(r, err, OX_INPUT,
                           "no slices of %" PRId64 " every %" PRId64 " of %" PRId64 " elements",
                           size, step, x->dims[axis]);
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[axis] = (x->dims[axis] - size) / step + 1;
    dims[x->rank] = size;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank + 1, dims, &y, err));
    ox_move_strides(x->rank, x->dims, from);
    ox_move_strides(x->rank + 1, dims, to);
    for (unsigned d = 0; d < x->rank; d++)
        ox_move_axis(&move, dims[d], to[d], d == axis && dims[d] > 1 ? from[d] * step : from[d]);
    ox_move_axis(&move, size, to[x->rank], from[axis]);
    if (y->n)
        ox_move_spread(r->env, &move, ox_dtype_size(x->dtype), y->data, x->data);
    return ox_move_own_of(y, x, err);
}

static void infer_unfold(struct ox_infer *c)
{
    unsigned rank, axis;
    const struct ox_expr *const *x;
    int64_t size = ox_infer_int_attr(c, "size", 0), step = ox_infer_int_attr(c, "step", 1);
    ox_infer_same_dtype(c, 0, 0);
    if (size < 1 || step < 1) {
        ox_infer_conflict(c, "slices of %" PRId64 " every %" PRId64, size, step);
        return;
    }
    if (!ox_infer_shape(c, 0, &rank, &x) ||
        !ox_infer_axis(c, ox_infer_int_attr(c, "dim", -1), rank, &axis))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank + 1);
    if (!dims)
        return;
    for (unsigned d = 0; d < rank; d++)
        dims[d] = x[d];
    dims[axis] = ox_infer_add(c,
                              ox_infer_floordiv(c, ox_infer_sub(c, x[axis], ox_infer_num(c, size)),
                                                ox_infer_num(c, step)),
                              ox_infer_num(c, 1));
    dims[rank] = ox_infer_num(c, size);
    ox_infer_set_shape(c, 0, rank + 1, dims);
}

/* ---- ConvTransposeWithDynamicPads --------------------------------------------------------------------------------- */

/* The node with the pads as its attribute. */
static enum ox_status with_pads(struct ox_run *r, const struct ox_tensor *pads,
                                struct ox_node *node, struct ox_error *err)
{
    struct ox_attr *attrs = ox_run_scratch(r, node->n_attrs + 1, sizeof *attrs, err);
    int64_t *values = ox_run_scratch(r, pads->n, sizeof *values, err);
    if (!attrs || !values)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < pads->n; i++)
        values[i] = ox_tensor_get_int(pads, i);
    attrs[0] = (struct ox_attr){.name = "pads", .type = OX_ATTR_INTS, .n = pads->n, .ints = values};
    if (node->n_attrs)
        memcpy(attrs + 1, node->attrs, node->n_attrs * sizeof *attrs);
    node->attrs = attrs;
    node->n_attrs++;
    return OX_OK;
}

static enum ox_status dynamic_pads(struct ox_run *r, bool quick, struct ox_error *err)
{
    const struct ox_tensor *in[] = {ox_run_in(r, 0), ox_run_in(r, 1), ox_run_in(r, 3)};
    const struct ox_tensor *pads = ox_run_in(r, 2);
    struct ox_node node = *r->node;
    struct ox_run inner = *r;
    if (!pads || in[0]->rank < 3 || pads->n != 2 * ((size_t)in[0]->rank - 2))
        return ox_run_fail(r, err, OX_INPUT, "Pads has not two values for each spatial axis");
    OX_TRY(with_pads(r, pads, &node, err));
    node.op_type = "ConvTranspose";
    inner.node = &node;
    return quick ? ox_fast_standard_on(&inner, node.op_type, 11, in, 3, err)
                 : ox_run_standard_on(&inner, node.op_type, 11, in, 3, err);
}

static enum ox_status run_dynamic_pads(struct ox_run *r, struct ox_error *err)
{
    return dynamic_pads(r, false, err);
}

static enum ox_status fast_dynamic_pads(struct ox_run *r, struct ox_error *err)
{
    return dynamic_pads(r, true, err);
}

static void infer_dynamic_pads(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank < 3)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    dims[0] = x[0];
    dims[1] =
        ox_infer_mul(c, ox_infer_dim(c, 1, 1), ox_infer_num(c, ox_infer_int_attr(c, "group", 1)));
    ox_infer_set_shape(c, 0, rank, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_windows[] = {
    {MS, "ConvTransposeWithDynamicPads", 1, .infer = infer_dynamic_pads, .run = run_dynamic_pads,
     .fast = fast_dynamic_pads},
    {MS, "UnfoldTensor", 1, OX_OP_HALF, .infer = infer_unfold, .run = run_unfold},
    {0}};
