/* Operators that make data from attributes and sizes: Constant, ConstantOfShape, Range, EyeLike, OneHot, Trilu. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"

/* ---- Constant ------------------------------------------------------------------------------------------------------ */

static void infer_numbers(struct ox_infer *c, bool scalar, const int64_t *numbers, size_t n)
{
    const struct ox_expr *values[OX_CARRY_VALUES];
    int64_t length = (int64_t)n;

    ox_infer_set_dtype(c, 0, OX_INT64);
    for (size_t i = 0; i < n && n <= OX_CARRY_VALUES; i++)
        values[i] = ox_infer_num(c, numbers[i]);
    if (n <= OX_CARRY_VALUES) {
        ox_carry_set_value(c, 0, scalar ? 0 : 1, &length, n, values);
        return;
    }
    const struct ox_expr *dim = ox_infer_num(c, length);

    ox_infer_set_shape(c, 0, 1, &dim);
}

static void infer_stored_values(struct ox_infer *c, const struct ox_stored *stored, size_t n)
{
    const struct ox_expr *values[OX_CARRY_VALUES];
    struct ox_tensor *tensor;
    const struct ox_graph *graph = ox_infer_node(c)->graph;

    if (!graph || n > OX_CARRY_VALUES ||
        (stored->dtype != OX_BOOL && !ox_dtype_is_integer(stored->dtype)) ||
        ox_stored_load(graph->model, stored, &tensor, NULL) != OX_OK)
        return;
    for (size_t i = 0; i < n && i < tensor->n; i++)
        values[i] = ox_infer_num(c, ox_tensor_get_int(tensor, i));
    if (tensor->n == n)
        ox_infer_set_values(c, 0, n, values);
    ox_tensor_release(tensor);
}

static void infer_dims_of(struct ox_infer *c, unsigned rank, const int64_t *dims)
{
    const struct ox_expr **out = ox_infer_dims(c, rank);

    if (!out && rank > 0)
        return;
    for (unsigned i = 0; i < rank; i++)
        out[i] = ox_infer_num(c, dims[i]);
    ox_infer_set_shape(c, 0, rank, out);
}

static void infer_constant(struct ox_infer *c)
{
    const struct ox_attr *attr;
    int64_t length;
    size_t n;

    if ((attr = ox_infer_attr(c, "value")) && attr->type == OX_ATTR_TENSOR && attr->n) {
        ox_infer_set_dtype(c, 0, attr->tensor->dtype);
        infer_dims_of(c, attr->tensor->rank, attr->tensor->dims);
        if (ox_dims_count(attr->tensor->rank, attr->tensor->dims, &n))
            infer_stored_values(c, attr->tensor, n);
    } else if ((attr = ox_infer_attr(c, "sparse_value")) && attr->type == OX_ATTR_SPARSE_TENSOR &&
               attr->n && attr->sparse->values) {
        ox_infer_set_dtype(c, 0, attr->sparse->values->dtype);
        infer_dims_of(c, attr->sparse->rank, attr->sparse->dims);
    } else if ((attr = ox_infer_attr(c, "value_int"))) {
        infer_numbers(c, true, &attr->i, 1);
    } else if ((attr = ox_infer_attr(c, "value_ints"))) {
        infer_numbers(c, false, attr->ints, attr->n);
    } else if (ox_infer_attr(c, "value_float") || ox_infer_attr(c, "value_string")) {
        ox_infer_set_dtype(c, 0, ox_infer_attr(c, "value_float") ? OX_FLOAT32 : OX_STRING);
        ox_infer_set_shape(c, 0, 0, NULL);
    } else if ((attr = ox_infer_attr(c, "value_floats")) ||
               (attr = ox_infer_attr(c, "value_strings"))) {
        ox_infer_set_dtype(c, 0, attr->type == OX_ATTR_FLOATS ? OX_FLOAT32 : OX_STRING);
        length = (int64_t)attr->n;
        infer_dims_of(c, 1, &length);
    } else {
        ox_infer_conflict(c, "no attribute holds a value");
    }
}

/* Place of the element that row `at` of the indices names: linear, or by axis. */
static enum ox_status sparse_place(const struct ox_run *r, const struct ox_stored_sparse *sparse,
                                   const struct ox_tensor *indices, size_t at, size_t n,
                                   size_t *place, struct ox_error *err)
{
    unsigned width = indices->rank == 2 ? sparse->rank : 1;
    uint64_t sum = 0;

    for (unsigned i = 0; i < width; i++) {
        int64_t index = ox_tensor_get_int(indices, at * width + i);
        int64_t limit = indices->rank == 2 ? sparse->dims[i] : (int64_t)n;

        if (index < 0 || index >= limit)
            return ox_run_fail(r, err, OX_INPUT,
                               "sparse_value: index %" PRId64 " is outside [0, %" PRId64 "]", index,
                               limit - 1);
        sum = sum * (uint64_t)limit + (uint64_t)index;
    }
    *place = (size_t)sum;
    return OX_OK;
}

static enum ox_status sparse_fill(struct ox_run *r, const struct ox_stored_sparse *sparse,
                                  const struct ox_tensor *values, const struct ox_tensor *indices,
                                  struct ox_error *err)
{
    struct ox_tensor *dense;
    size_t size = ox_dtype_size(values->dtype), place = 0;
    enum ox_status status;

    if (values->rank != 1 || !((indices->rank == 1 && indices->n == values->n) ||
                               (indices->rank == 2 && indices->dims[0] == (int64_t)values->n &&
                                indices->dims[1] == (int64_t)sparse->rank)))
        return ox_run_fail(r, err, OX_INPUT, "sparse_value: the indices do not fit %zu values",
                           values->n);
    OX_TRY(ox_tensor_new(&dense, ox_env_budget(r->env), values->dtype, sparse->rank, sparse->dims,
                         err));
    status = OX_OK;
    if (values->dtype != OX_STRING && dense->n > 0)
        memset(dense->data, 0, dense->n * size);
    for (size_t i = 0; i < values->n && status == OX_OK; i++) {
        status = sparse_place(r, sparse, indices, i, dense->n, &place, err);
        if (status == OX_OK)
            memcpy((char *)dense->data + place * size, (const char *)values->data + i * size, size);
    }
    if (status == OX_OK)
        status = ox_move_own(dense, err);
    if (status == OX_OK)
        status = ox_move_out_widened(r, 0, dense, err);
    ox_tensor_release(dense);
    return status;
}

static enum ox_status run_constant_sparse(struct ox_run *r, const struct ox_stored_sparse *sparse,
                                          struct ox_error *err)
{
    struct ox_tensor *values = NULL, *indices = NULL;
    struct ox_model *model = r->node->graph ? r->node->graph->model : NULL;
    enum ox_status status;

    if (!model)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "sparse_value without a model");
    if (!sparse || !sparse->values || !sparse->indices)
        return ox_run_fail(r, err, OX_INPUT, "sparse_value has no values or no indices");
    OX_TRY_CLEANUP(ox_stored_load(model, sparse->values, &values, err));
    OX_TRY_CLEANUP(ox_stored_load(model, sparse->indices, &indices, err));
    status = sparse_fill(r, sparse, values, indices, err);
cleanup:
    ox_tensor_release(values);
    ox_tensor_release(indices);
    return status;
}

/* One of the value_* attributes of opset 12. */
static enum ox_status run_constant_list(struct ox_run *r, const struct ox_attr *attr,
                                        struct ox_error *err)
{
    bool list =
        attr->type == OX_ATTR_FLOATS || attr->type == OX_ATTR_INTS || attr->type == OX_ATTR_STRINGS;
    int64_t n = list ? (int64_t)attr->n : 1;
    struct ox_tensor *out;

    switch (attr->type) {
    case OX_ATTR_INT:
    case OX_ATTR_INTS:
        OX_TRY(ox_run_out(r, 0, OX_INT64, list ? 1 : 0, &n, &out, err));
        if (n > 0)
            memcpy(out->data, list ? attr->ints : &attr->i, (size_t)n * sizeof(int64_t));
        return OX_OK;
    case OX_ATTR_FLOAT:
    case OX_ATTR_FLOATS:
        OX_TRY(ox_run_out(r, 0, OX_FLOAT32, list ? 1 : 0, &n, &out, err));
        for (int64_t i = 0; i < n; i++) {
            float value = list ? attr->floats[i] : attr->f;

            if (out->dtype == OX_FLOAT64)
                ((double *)out->data)[i] = value;
            else
                ((float *)out->data)[i] = value;
        }
        return OX_OK;
    default:
        OX_TRY(ox_run_out(r, 0, OX_STRING, list ? 1 : 0, &n, &out, err));
        for (int64_t i = 0; i < n; i++) {
            struct ox_str s = list ? attr->strings[i] : attr->s;

            OX_TRY(ox_tensor_set_string(out, (size_t)i, s.p, s.n, err));
        }
        return OX_OK;
    }
}

static enum ox_status run_constant(struct ox_run *r, struct ox_error *err)
{
    static const char *const names[] = {"value_float",  "value_floats", "value_int",
                                        "value_ints",   "value_string", "value_strings",
                                        "sparse_value", "value"};
    const struct ox_attr *given = NULL;
    const char *name = "";
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        const struct ox_attr *attr = ox_run_attr(r, names[i]);
        if (attr && given)
            return ox_run_fail(r, err, OX_INPUT, "both %s and %s are given", name, names[i]);
        given = attr ? attr : given;
        name = attr ? names[i] : name;
    }
    if (!given)
        return ox_run_fail(r, err, OX_INPUT, "no value is given");
    if (given->type == OX_ATTR_SPARSE_TENSOR)
        return run_constant_sparse(r, given->sparse, err);
    if (strcmp(name, "value") != 0)
        return run_constant_list(r, given, err);
    struct ox_tensor *value;
    OX_TRY(ox_run_tensor_attr(r, "value", &value, err));
    if (!value)
        return ox_run_fail(r, err, OX_INPUT, "no value is given");
    enum ox_status status = ox_move_out_widened(r, 0, value, err);
    ox_tensor_release(value);
    return status;
}

/* ---- ConstantOfShape ----------------------------------------------------------------------------------------------- */

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

/* ---- Range --------------------------------------------------------------------------------------------------------- */

static void infer_range_values(struct ox_infer *c, const struct ox_expr *start,
                               const struct ox_expr *delta, int64_t n)
{
    const struct ox_expr *values[OX_CARRY_VALUES];

    for (int64_t i = 0; i < n; i++)
        values[i] = ox_infer_add(c, start, ox_infer_mul(c, ox_infer_num(c, i), delta));
    ox_infer_set_values(c, 0, (size_t)n, values);
}

/* Three floating constants. */
static const struct ox_expr *infer_range_floats(struct ox_infer *c)
{
    double value[3], n;

    for (size_t i = 0; i < 3; i++) {
        const struct ox_tensor *tensor = ox_infer_const(c, i);

        if (!tensor || tensor->n != 1 || tensor->dtype == OX_STRING)
            return NULL;
        value[i] = ox_tensor_get_double(tensor, 0);
    }
    n = ceil((value[1] - value[0]) / value[2]);
    return n < 1 ? ox_infer_num(c, 0) : n < 9e15 ? ox_infer_num(c, (int64_t)n) : NULL;
}

static void infer_range(struct ox_infer *c)
{
    const struct ox_expr *const *value[3];
    const struct ox_expr *count = NULL, *zero = ox_infer_num(c, 0);
    int64_t delta, number;
    size_t n;
    bool known = true;

    for (size_t i = 0; i < 3; i++) {
        if (!ox_rule_values(c, i, &n, &value[i]) || n != 1)
            known = false;
    }
    if (known && ox_infer_is_num(value[2][0], &delta) && delta == 0) {
        ox_infer_conflict(c, "delta is 0");
    } else if (known) {
        count = ox_infer_ceildiv(c, ox_infer_sub(c, value[1][0], value[0][0]), value[2][0]);
        if (!ox_carry_not_negative(count))
            count = ox_infer_max(c, count, zero);
    } else {
        count = infer_range_floats(c);
    }
    if (!count)
        count = ox_infer_data_dim(c, "count");
    ox_infer_set_shape(c, 0, 1, &count);
    if (known && ox_infer_is_num(count, &number) && number >= 0 && number <= OX_CARRY_VALUES &&
        ox_dtype_is_integer(ox_infer_dtype(c, 0)))
        infer_range_values(c, value[0][0], value[2][0], number);
}

/* Elements that [start, limit) has by steps of delta. */
static uint64_t range_count(int64_t start, int64_t limit, int64_t delta)
{
    if (delta > 0)
        return limit <= start ? 0 : ((uint64_t)limit - (uint64_t)start - 1) / (uint64_t)delta + 1;
    return limit >= start ? 0 : ((uint64_t)start - (uint64_t)limit - 1) / (0 - (uint64_t)delta) + 1;
}

static enum ox_status run_range_ints(struct ox_run *r, enum ox_dtype dtype, struct ox_error *err)
{
    int64_t start = ox_tensor_get_int(ox_run_in(r, 0), 0),
            limit = ox_tensor_get_int(ox_run_in(r, 1), 0);
    int64_t delta = ox_tensor_get_int(ox_run_in(r, 2), 0);
    struct ox_tensor *out;

    if (delta == 0)
        return ox_run_fail(r, err, OX_INPUT, "delta is 0");
    uint64_t count = range_count(start, limit, delta);

    if (count > INT64_MAX)
        return ox_run_fail(r, err, OX_INPUT,
                           "from %" PRId64 " to %" PRId64 " are %" PRIu64 " elements", start, limit,
                           count);
    OX_TRY(ox_run_out(r, 0, dtype, 1, (int64_t[]){(int64_t)count}, &out, err));
    /* start + i * delta stays between start and limit. */
    if (dtype == OX_INT64) {
        int64_t *to = out->data;
        uint64_t next = (uint64_t)start; /* sums: there are no vectors of 64-bit products */
        for (uint64_t i = 0; i < count; i++, next += (uint64_t)delta)
            to[i] = (int64_t)next;
    } else if (dtype == OX_INT32) {
        for (uint64_t i = 0; i < count; i++)
            ((int32_t *)out->data)[i] = (int32_t)(start + (int64_t)i * delta);
    } else {
        for (uint64_t i = 0; i < count; i++)
            ((int16_t *)out->data)[i] = (int16_t)(start + (int64_t)i * delta);
    }
    return OX_OK;
}

static enum ox_status run_range(struct ox_run *r, struct ox_error *err)
{
    static const char *const names[] = {"start", "limit", "delta"};
    struct ox_tensor *out;
    double value[3], count;

    for (size_t i = 0; i < 3; i++) {
        const struct ox_tensor *in = ox_run_in(r, i);

        if (in->n != 1)
            return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not 1", names[i], in->n);
        value[i] = ox_tensor_get_double(in, 0);
    }
    enum ox_dtype dtype = ox_run_in(r, 0)->dtype;

    if (dtype != OX_FLOAT32 && dtype != OX_FLOAT64)
        return run_range_ints(r, dtype, err);
    if (value[2] == 0)
        return ox_run_fail(r, err, OX_INPUT, "delta is 0");
    count = ceil((value[1] - value[0]) / value[2]);
    if (!(count < 9e15)) /* NaN and infinity too */
        return ox_run_fail(r, err, OX_INPUT, "from %g to %g by %g are %g elements", value[0],
                           value[1], value[2], count);
    OX_TRY(ox_run_out(r, 0, dtype, 1, (int64_t[]){count > 0 ? (int64_t)count : 0}, &out, err));
    if (out->dtype == OX_FLOAT64) {
        for (size_t i = 0; i < out->n; i++)
            ((double *)out->data)[i] = value[0] + (double)i * value[2];
    } else {
        for (size_t i = 0; i < out->n; i++)
            ((float *)out->data)[i] = (float)(value[0] + (double)i * value[2]);
    }
    return OX_OK;
}

/* ---- EyeLike ------------------------------------------------------------------------------------------------------- */

static void infer_eye_like(struct ox_infer *c)
{
    enum ox_dtype dtype = ox_rule_dtype_attr(c, "dtype");
    unsigned rank;

    if (dtype)
        ox_infer_set_dtype(c, 0, dtype);
    else
        ox_infer_same_dtype(c, 0, 0);
    if (ox_infer_shape(c, 0, &rank, NULL) && rank != 2)
        ox_infer_conflict(c, "the input has rank %u, not 2", rank);
    ox_infer_same_shape(c, 0, 0);
}

static enum ox_status run_eye_like(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dtype = ox_run_int(r, "dtype", in->dtype), k = ox_run_int(r, "k", 0);
    struct ox_tensor *out, *one;

    if (in->rank != 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 2", in->rank);
    if (dtype <= 0 || dtype >= OX_N_DTYPES || dtype == OX_STRING)
        return ox_run_fail(r, err, OX_INPUT, "dtype is %" PRId64, dtype);
    OX_TRY(ox_run_out(r, 0, (enum ox_dtype)dtype, 2, in->dims, &out, err));
    OX_TRY(ox_move_scalar(r, out->dtype, 1, &one, err));
    int64_t rows = in->dims[0], columns = in->dims[1];
    size_t size = ox_dtype_size(out->dtype);

    if (out->n > 0)
        memset(out->data, 0, out->n * size);
    if (k > -rows && k < columns) {
        for (int64_t i = k < 0 ? -k : 0; i < rows && i + k < columns; i++)
            memcpy((char *)out->data + (size_t)(i * columns + i + k) * size, one->data, size);
    }
    ox_tensor_release(one);
    return OX_OK;
}

/* ---- OneHot -------------------------------------------------------------------------------------------------------- */

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

/* ---- Trilu --------------------------------------------------------------------------------------------------------- */

/* First and last + 1 column that row i keeps. */
static void trilu_row(int64_t i, int64_t columns, int64_t k, bool upper, int64_t *from, int64_t *to)
{
    int64_t edge = upper ? i + k : i + k + 1;

    edge = edge < 0 ? 0 : edge > columns ? columns : edge;
    *from = upper ? edge : 0;
    *to = upper ? columns : edge;
}

static int64_t trilu_diagonal(int64_t k, int64_t rows, int64_t columns)
{
    return k < -rows - 1 ? -rows - 1 : k > columns ? columns : k;
}

static void infer_trilu(struct ox_infer *c)
{
    const struct ox_expr *values[OX_CARRY_VALUES], *zero = ox_infer_num(c, 0);
    struct ox_carry_value value;
    int64_t k = 0, from, to;
    bool upper = ox_infer_int_attr(c, "upper", 1) != 0;

    ox_infer_same(c, 0, 0);
    ox_rule_rank_least(c, 0, 2);
    if ((ox_infer_has(c, 1) && !ox_carry_int(c, 1, &k)) || !ox_carry_value(c, 0, &value) ||
        value.rank < 2 || value.n == 0)
        return;
    int64_t rows = value.dims[value.rank - 2], columns = value.dims[value.rank - 1];

    k = trilu_diagonal(k, rows, columns);
    for (size_t i = 0; i < value.n; i++) {
        int64_t column = (int64_t)i % columns;

        trilu_row((int64_t)i / columns % rows, columns, k, upper, &from, &to);
        values[i] = column >= from && column < to ? value.values[i] : zero;
    }
    ox_infer_set_values(c, 0, value.n, values);
}

static enum ox_status run_trilu(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t k = 0, from, to;
    bool upper = ox_run_int(r, "upper", 1) != 0;
    struct ox_tensor *out;

    if (in->rank < 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, less than 2", in->rank);
    OX_TRY(ox_move_int(r, 1, "k", &k, err));
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, in->dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    int64_t rows = in->dims[in->rank - 2], columns = in->dims[in->rank - 1];
    size_t size = ox_dtype_size(in->dtype);

    k = trilu_diagonal(k, rows, columns);
    memset(out->data, 0, out->n * size);
    for (size_t row = 0; row < out->n / (size_t)columns; row++) {
        trilu_row((int64_t)(row % (size_t)rows), columns, k, upper, &from, &to);
        size_t at = (row * (size_t)columns + (size_t)from) * size;

        if (to > from)
            memcpy((char *)out->data + at, (const char *)in->data + at, (size_t)(to - from) * size);
    }
    return ox_move_own(out, err);
}

const struct ox_op ox_ops_constant[] = {
    {"", "Constant", 1, OX_OP_HALF, .infer = infer_constant, .run = run_constant},
    {"", "ConstantOfShape", 9, OX_OP_HALF, .infer = infer_constant_of_shape,
     .run = run_constant_of_shape},
    /* In half types computed in float32 and rounded at the end: stash_type 1, the default. */
    {"", "Range", 11, 0, .infer = infer_range, .run = run_range},
    {"", "EyeLike", 9, OX_OP_HALF | OX_OP_ROUNDED, .infer = infer_eye_like, .run = run_eye_like},
    {"", "OneHot", 9, OX_OP_HALF, .infer = infer_one_hot, .run = run_one_hot},
    {"", "Trilu", 14, OX_OP_HALF, .infer = infer_trilu, .run = run_trilu},
    {0}};
