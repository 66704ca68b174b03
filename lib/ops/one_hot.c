/* OneHot: a class as a row with one value on. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"

/* Before version 11 nothing is counted from the end. */
static void check_indices(struct ox_infer *c)
{
    const int64_t *index;
    size_t n;

    if (ox_infer_opset(c) >= 11 || !ox_infer_ints(c, 0, &n, &index))
        return;
    for (size_t i = 0; i < n; i++)
        if (index[i] < 0)
            ox_infer_conflict(c, "indices[%zu] is %" PRId64 ", negative, which version 11 brought",
                              i, index[i]);
}

static void infer_one_hot(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *depth, **out;
    const struct ox_tensor *constant = ox_infer_const(c, 1);
    unsigned rank, axis, at = 0;
    size_t n;

    int64_t least;

    ox_infer_same_dtype(c, 0, 2);
    check_indices(c);
    if (ox_infer_shape(c, 1, &rank, &in) &&
        (rank > 1 || (rank == 1 && ox_infer_is_num(in[0], &least) && least > 1)))
        ox_infer_conflict(c, "depth has more than one element");
    if (ox_rule_rank(c, 2, 1))
        ox_infer_equal(c, ox_infer_dim(c, 2, 0), ox_infer_num(c, 2), "values, off and on");
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    ox_rule_rank_least(c, 0, 1);
    out = ox_infer_dims(c, rank + 1);
    if (!out || !ox_infer_axis(c, ox_infer_int_attr(c, "axis", -1), rank + 1, &axis))
        return;
    for (unsigned i = 0; i <= rank; i++)
        out[i] = i == axis ? NULL : in[at++];
    if (ox_infer_values(c, 1, &n, &depth) && n == 1)
        out[axis] = depth[0];
    else if (constant && constant->n == 1 && constant->dtype != OX_STRING)
        out[axis] = ox_infer_num(c, ox_tensor_get_int(constant, 0));
    else
        out[axis] = ox_infer_data_dim(c, "depth");
    ox_infer_set_shape(c, 0, rank + 1, out);
}

/* The class of index i in [0, depth), or -1: none. Negative ones count from the end since opset 11. */
static int64_t one_hot_class(const struct ox_tensor *indices, size_t i, int64_t depth, bool wraps)
{
    int64_t index;

    if (ox_dtype_is_float(indices->dtype)) {
        double value = ox_tensor_get_double(indices, i);

        if (!(value > -9e18 && value < 9e18))
            return -1;
        index = (int64_t)value;
    } else {
        index = ox_tensor_get_int(indices, i);
    }
    if (index < 0 && wraps && indices->dtype != OX_UINT64 && index >= -depth)
        index += depth;
    return index < 0 || index >= depth ? -1 : index;
}

static enum ox_status one_hot_depth(struct ox_run *r, int64_t *depth, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 1);

    if (in->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "depth has %zu elements, not 1", in->n);
    double value = ox_tensor_get_double(in, 0);

    if (!(value >= 0 && value < 9e15))
        return ox_run_fail(r, err, OX_INPUT, "depth is %g", value);
    *depth = (int64_t)value;
    return OX_OK;
}

static enum ox_status run_one_hot(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *indices = ox_run_in(r, 0), *values = ox_run_in(r, 2);
    int64_t dims[OX_MOVE_RANK], depth = 0, inner = 1;
    struct ox_tensor *out;
    unsigned axis, at = 0;

    OX_TRY(ox_move_rank(r, (uint64_t)indices->rank + 1, err));
    OX_TRY(one_hot_depth(r, &depth, err));
    if (values->n != 2)
        return ox_run_fail(r, err, OX_INPUT, "values has %zu elements, not 2", values->n);
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", -1), indices->rank + 1, &axis, err));
    for (unsigned i = 0; i <= indices->rank; i++)
        dims[i] = i == axis ? depth : indices->dims[at++];
    OX_TRY(ox_run_out(r, 0, values->dtype, indices->rank + 1, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    for (unsigned i = axis; i < indices->rank; i++)
        inner *= indices->dims[i];
    size_t size = ox_dtype_size(out->dtype), block = (size_t)inner;
    const char *on = (const char *)values->data + size;

    ox_move_fill(out->data, out->n, size, values->data);
    for (size_t i = 0; i < indices->n; i++) {
        int64_t class = one_hot_class(indices, i, depth, r->opset >= 11);

        if (class >= 0)
            memcpy((char *)out->data +
                       ((i / block * (size_t)depth + (size_t) class) * block + i % block) * size,
                   on, size);
    }
    return ox_move_own(out, err);
}

const struct ox_op ox_ops_one_hot[] = {
    {"", "OneHot", 9, OX_OP_HALF, .infer = infer_one_hot, .run = run_one_hot}, {0}};
