/* Constant: data that stand in an attribute, whole, as a list or sparse. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"

/* What may hold the value: one of these. */
static const char *const places[] = {"value_float",  "value_floats",  "value_int",    "value_ints",
                                     "value_string", "value_strings", "sparse_value", "value"};

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

static void check_place(struct ox_infer *c)
{
    const char *given = NULL;

    for (size_t i = 0; i < OX_COUNT(places); i++) {
        if (!ox_infer_attr(c, places[i]))
            continue;
        if (given)
            ox_infer_conflict(c, "both %s and %s are given", given, places[i]);
        given = places[i];
    }
}

static void infer_constant(struct ox_infer *c)
{
    const struct ox_attr *attr;
    int64_t length;
    size_t n;

    check_place(c);
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
    const struct ox_attr *given = NULL;
    const char *name = "";
    for (size_t i = 0; i < OX_COUNT(places); i++) {
        const struct ox_attr *attr = ox_run_attr(r, places[i]);
        if (attr && given)
            return ox_run_fail(r, err, OX_INPUT, "both %s and %s are given", name, places[i]);
        given = attr ? attr : given;
        name = attr ? places[i] : name;
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

const struct ox_op ox_ops_constant[] = {
    {"", "Constant", 1, OX_OP_HALF, .infer = infer_constant, .run = run_constant}, {0}};
