/* Windows of com.microsoft: UnfoldTensor ConvTransposeWithDynamicPads MaxpoolWithMask. */
#include <float.h>
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

/* ---- MaxpoolWithMask ---------------------------------------------------------------------------------------------- */

/* The greatest of a row's elements [from, to), which end at the first that the mask leaves out, and of what was found before. Element 0 of a
 * plane counts always where there are rows. */
static double most_of_row(const void *x, bool floats, const int32_t *mask, size_t row, size_t from,
                          size_t to, bool rows, double most)
{
    for (size_t k = row + from; k < row + to; k++) {
        if (!mask[k] && (k || !rows))
            break;
        const double value = floats ? (double)((const float *)x)[k] : ((const double *)x)[k];
        most = value > most ? value : most;
    }
    return most;
}

/* A plane's maxima; a window of nothing has the lowest float. */
static void pool_plane(const struct ox_window *w, const void *x, bool floats, const int32_t *mask,
                       double *y)
{
    const unsigned last = w->n - 1;
    int64_t at[OX_WINDOW_AXES], from[OX_WINDOW_AXES], to[OX_WINDOW_AXES];
    for (size_t o = 0; o < w->n_out; o++) {
        size_t rest = o;
        bool any = true;
        for (unsigned d = w->n; d-- > 0; rest /= (size_t)w->out[d]) {
            int64_t start = (int64_t)(rest % (size_t)w->out[d]) * w->stride[d] - w->before[d];
            from[d] = at[d] = start > 0 ? start : 0;
            to[d] = start + w->kernel[d] < w->in[d] ? start + w->kernel[d] : w->in[d];
            any &= from[d] < to[d];
        }
        y[o] = (double)-FLT_MAX;
        for (bool more = any; more;) {
            size_t row = 0;
            for (unsigned d = 0; d < last; d++)
                row = (row + (size_t)at[d]) * (size_t)w->in[d + 1];
            y[o] = most_of_row(x, floats, mask, row, (size_t)from[last], (size_t)to[last], w->n > 1,
                               y[o]);
            more = false;
            for (unsigned d = last; d-- > 0 && !more; at[d] = more ? at[d] : from[d])
                more = ++at[d] < to[d];
        }
    }
}

/* The same of two axes, floats. */
static void pool_floats(const struct ox_window *w, const float *x, const int32_t *mask, double *y)
{
    const int64_t high = w->in[0], wide = w->in[1];
    for (int64_t i = 0; i < w->out[0]; i++) {
        const int64_t top = i * w->stride[0] - w->before[0], low = top + w->kernel[0];
        const int64_t r0 = top > 0 ? top : 0, r1 = low < high ? low : high;
        for (int64_t j = 0; j < w->out[1]; j++) {
            const int64_t left = j * w->stride[1] - w->before[1], right = left + w->kernel[1];
            const int64_t c0 = left > 0 ? left : 0, c1 = right < wide ? right : wide;
            double most = (double)-FLT_MAX;
            for (int64_t row = r0; row < r1 && c0 < c1; row++)
                most = most_of_row(x, true, mask, (size_t)(row * wide), (size_t)c0, (size_t)c1,
                                   true, most);
            *y++ = most;
        }
    }
}

struct masked_pool {
    const struct ox_window *w;
    const void *x;
    bool floats;
    const struct ox_tensor *mask;
    struct ox_tensor *y;
    double *rows; /* of each slot */
};

static void pool_task(void *arg, size_t p, size_t slot)
{
    const struct masked_pool *j = arg;
    const struct ox_window *w = j->w;
    const size_t plane = p % (j->mask->n / w->n_in);
    const int32_t *mask = (const int32_t *)j->mask->data + plane * w->n_in;
    double *row = j->rows + slot * w->n_out;
    if (j->floats && w->n == 2)
        pool_floats(w, (const float *)j->x + p * w->n_in, mask, row);
    else if (j->floats)
        pool_plane(w, (const float *)j->x + p * w->n_in, true, mask, row);
    else
        pool_plane(w, (const double *)j->x + p * w->n_in, false, mask, row);
    ox_real_store(j->y, p * w->n_out, w->n_out, row);
}

static enum ox_status run_masked_pool(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *mask = ox_run_in(r, 1);
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    bool fits = x->rank >= 3 && mask->rank == x->rank;
    for (unsigned d = 2; fits && d < x->rank; d++)
        fits = mask->dims[d] == x->dims[d];
    if (!fits || (x->n && !mask->n))
        return ox_run_fail(r, err, OX_INPUT, "the mask does not have the planes of X");
    OX_TRY(ox_window_init(r, x, NULL, false, w, err));
    int64_t dims[OX_WINDOW_AXES + 2] = {x->dims[0], x->dims[1]};
    memcpy(dims + 2, w->out, w->n * sizeof *dims);
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    struct masked_pool j = {.w = w, .x = x->data, .floats = x->dtype == OX_FLOAT32};
    j.mask = mask;
    j.y = y;
    if (!x->n || !y->n)
        return OX_OK;
    if (!j.floats && !(j.x = ox_real_all(r, x, err)))
        return OX_NO_MEMORY;
    j.rows = ox_real_scratch(r, ox_slots(r->env) * w->n_out, err);
    if (!j.rows)
        return OX_NO_MEMORY;
    double taps = 1;
    for (unsigned d = 0; d < w->n; d++)
        taps *= (double)w->kernel[d];
    ox_spread(r->env, x->n / w->n_in, 300 * taps * (double)y->n, pool_task, &j);
    return ox_env_poll(r->env, err);
}

static void infer_masked_pool(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_standard(c, "MaxPool", 1);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_windows[] = {
    {MS, "ConvTransposeWithDynamicPads", 1, .infer = infer_dynamic_pads, .run = run_dynamic_pads,
     .fast = fast_dynamic_pads},
    {MS, "MaxpoolWithMask", 1, .infer = infer_masked_pool, .run = run_masked_pool},
    {MS, "UnfoldTensor", 1, OX_OP_HALF, .infer = infer_unfold, .run = run_unfold},
    {0}};
