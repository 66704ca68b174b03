/* ConstantOfShape: one element, as often as a shape says. */
#include <inttypes.h>

#include "ops/carry.h"
#include "ops/rules.h"

static void infer_constant_of_shape(struct ox_infer *c)
{
    const struct ox_attr *attr = ox_infer_attr(c, "value");
    const struct ox_graph *graph = ox_infer_node(c)->graph;
    const struct ox_expr *const *shape;
    int64_t dims[OX_CARRY_RANK], length, number = 0;
    struct ox_tensor *value;
    size_t n, count;
    enum ox_dtype dtype =
        attr && attr->type == OX_ATTR_TENSOR && attr->n ? attr->tensor->dtype : OX_FLOAT32;

    if (!ox_rule_rank(c, 0, 1))
        return;
    ox_infer_set_dtype(c, 0, dtype);
    if (!ox_infer_values(c, 0, &n, &shape)) {
        ox_infer_unknown(c, 0, "the shape is not known");
        if (ox_infer_is_num(ox_infer_dim(c, 0, 0), &length) && length >= 0 &&
            length <= OX_MOVE_RANK)
            ox_carry_rank_only(c, 0, (unsigned)length);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (ox_infer_is_num(shape[i], &length) && length < 0) {
            ox_infer_conflict(c, "dimension %zu of the shape is %" PRId64, i, length);
            return;
        }
    }
    ox_infer_set_shape(c, 0, (unsigned)n, shape);
    if (!attr || !graph || (dtype != OX_BOOL && !ox_dtype_is_integer(dtype)) || n > OX_CARRY_RANK ||
        !ox_carry_static((unsigned)n, shape, dims) || !ox_dims_count((unsigned)n, dims, &count) ||
        count > OX_CARRY_VALUES ||
        ox_stored_load(graph->model, attr->tensor, &value, NULL) != OX_OK)
        return;
    bool single = value->n == 1;

    if (single)
        number = ox_tensor_get_int(value, 0);
    ox_tensor_release(value);
    if (single) {
        const struct ox_expr *values[OX_CARRY_VALUES], *one = ox_infer_num(c, number);

        ox_move_fill(values, count, sizeof(one), &one);
        ox_infer_set_values(c, 0, count, values);
    }
}

static enum ox_status fill_constant(struct ox_run *r, const struct ox_tensor *value, size_t rank,
                                    const int64_t *dims, struct ox_error *err)
{
    struct ox_tensor *out, *fits;

    if (value->n != 1)
        return ox_run_fail(r, err, OX_INPUT, "value has %zu elements, not 1", value->n);
    OX_TRY(ox_run_out(r, 0, value->dtype, (unsigned)rank, dims, &out, err));
    if (value->dtype == out->dtype) {
        ox_move_fill(out->data, out->n, ox_dtype_size(out->dtype), value->data);
        return ox_move_own(out, err);
    }
    OX_TRY(ox_tensor_convert(&fits, ox_env_budget(r->env), value, out->dtype, true, err));
    ox_move_fill(out->data, out->n, ox_dtype_size(out->dtype), fits->data);
    ox_tensor_release(fits);
    return OX_OK;
}

static enum ox_status run_constant_of_shape(struct ox_run *r, struct ox_error *err)
{
    const int64_t *dims;
    struct ox_tensor *value;
    size_t rank;

    if (ox_run_in(r, 0)->rank != 1)
        return ox_run_fail(r, err, OX_INPUT, "input has %u dimensions, not one",
                           ox_run_in(r, 0)->rank);
    OX_TRY(ox_move_list(r, 0, &dims, &rank, err));
    OX_TRY(ox_move_rank(r, rank, err));
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return ox_run_fail(r, err, OX_INPUT, "input[%zu] is %" PRId64, i, dims[i]);
    }
    OX_TRY(ox_run_tensor_attr(r, "value", &value, err));
    if (!value)
        OX_TRY(ox_move_scalar(r, OX_FLOAT32, 0, &value, err));
    enum ox_status status = fill_constant(r, value, rank, dims, err);

    ox_tensor_release(value);
    return status;
}

const struct ox_op ox_ops_constant_of_shape[] = {{"", "ConstantOfShape", 9, OX_OP_HALF,
                                                  .infer = infer_constant_of_shape,
                                                  .run = run_constant_of_shape},
                                                 {0}};
