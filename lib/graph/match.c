#include "graph/match.h"

#include <math.h>
#include <string.h>

bool ox_is_domain_op(const struct ox_node *node, const char *domain, const char *op_type)
{
    return node && strcmp(node->op_type, op_type) == 0 && strcmp(node->domain, domain) == 0 &&
           !node->overload[0];
}

bool ox_is_op(const struct ox_node *node, const char *op_type)
{
    return ox_is_domain_op(node, "", op_type);
}

bool ox_is_any_op(const struct ox_node *node, const char *const *op_types)
{
    for (; *op_types; op_types++) {
        if (ox_is_op(node, *op_types))
            return true;
    }
    return false;
}

struct ox_node *ox_made_by(const struct ox_rewrite *rw, const struct ox_value *value,
                           const char *op_type, bool only)
{
    struct ox_node *node = value ? value->producer : NULL;
    if (!node || node->graph != rw->graph || value->output_index != 0 || ox_rw_gone(rw, node) ||
        !ox_is_op(node, op_type))
        return NULL;
    return !only || ox_rw_only_user(rw, value) ? node : NULL;
}

struct ox_node *ox_used_by(const struct ox_rewrite *rw, const struct ox_value *value,
                           const char *op_type)
{
    struct ox_node *node = ox_rw_only_user(rw, value);
    return node && ox_is_op(node, op_type) ? node : NULL;
}

struct ox_value *ox_input(const struct ox_node *node, size_t i)
{
    return i < node->n_inputs ? node->inputs[i] : NULL;
}

struct ox_value *ox_other_input(const struct ox_node *node, const struct ox_value *value)
{
    if (node->n_inputs != 2)
        return NULL;
    if (node->inputs[0] == value)
        return node->inputs[1];
    return node->inputs[1] == value ? node->inputs[0] : NULL;
}

/* ---- Attributes ------------------------------------------------------------------------------------------------- */

int64_t ox_node_opset(const struct ox_node *node)
{
    return ox_graph_opset(node->graph, node->domain);
}

static const struct ox_attr *own_attr(const struct ox_node *node, const char *name,
                                      enum ox_attr_type type)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    return attr && attr->type == type && !attr->ref ? attr : NULL;
}

static const struct ox_schema_attr *default_attr(const struct ox_node *node, const char *name)
{
    const struct ox_schema *schema =
        ox_schema_find(node->domain, node->op_type, ox_node_opset(node));
    return schema ? ox_schema_attr(schema, name) : NULL;
}

int64_t ox_attr_int(const struct ox_node *node, const char *name, int64_t fallback)
{
    const struct ox_attr *attr = own_attr(node, name, OX_ATTR_INT);
    if (attr)
        return attr->i;
    const struct ox_schema_attr *standard = default_attr(node, name);
    return standard && standard->default_kind == OX_DEFAULT_INT ? standard->i : fallback;
}

float ox_attr_float(const struct ox_node *node, const char *name, float fallback)
{
    const struct ox_attr *attr = own_attr(node, name, OX_ATTR_FLOAT);
    if (attr)
        return attr->f;
    const struct ox_schema_attr *standard = default_attr(node, name);
    return standard && standard->default_kind == OX_DEFAULT_FLOAT ? standard->f : fallback;
}

const char *ox_attr_string(const struct ox_node *node, const char *name, const char *fallback)
{
    const struct ox_attr *attr = own_attr(node, name, OX_ATTR_STRING);
    if (attr)
        return attr->s.p ? attr->s.p : "";
    const struct ox_schema_attr *standard = default_attr(node, name);
    return standard && standard->default_kind == OX_DEFAULT_STRING ? standard->s : fallback;
}

const int64_t *ox_attr_ints(const struct ox_node *node, const char *name, size_t *n)
{
    const struct ox_attr *attr = own_attr(node, name, OX_ATTR_INTS);
    *n = attr ? attr->n : 0;
    return attr ? attr->ints : NULL;
}

/* ---- Constants -------------------------------------------------------------------------------------------------- */

static bool is_one(const struct ox_stored *stored)
{
    size_t n;
    return ox_dims_count(stored->rank, stored->dims, &n) && n == 1 && stored->dtype != OX_STRING;
}

bool ox_const_scalar(struct ox_rewrite *rw, const struct ox_value *value, double *scalar)
{
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    const struct ox_tensor *tensor = stored && is_one(stored) ? ox_rw_const(rw, value) : NULL;
    if (!tensor)
        return false;
    *scalar = ox_tensor_get_double(tensor, 0);
    return true;
}

bool ox_const_is(struct ox_rewrite *rw, const struct ox_value *value, double want)
{
    double scalar;
    return ox_const_scalar(rw, value, &scalar) && fabs(scalar - want) <= fabs(want) * 1e-6;
}

const int64_t *ox_const_ints(struct ox_rewrite *rw, const struct ox_value *value, size_t *n)
{
    enum { MOST = 4096 };
    const struct ox_tensor *tensor = value ? ox_rw_known(rw, value) : NULL;
    if (!tensor || tensor->n > MOST || !ox_dtype_is_integer(tensor->dtype))
        return NULL;
    *n = tensor->n;
    if (tensor->dtype == OX_INT64 && tensor->n)
        return tensor->data;
    int64_t *ints = ox_arena_array(&rw->arena, tensor->n + 1, sizeof *ints);
    for (size_t i = 0; ints && i < tensor->n; i++)
        ints[i] = ox_tensor_get_int(tensor, i);
    rw->failed |= !ints;
    return ints;
}

const struct ox_tensor *ox_const_floats(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    return stored && stored->dtype == OX_FLOAT32 ? ox_rw_const(rw, value) : NULL;
}

/* ---- Types ------------------------------------------------------------------------------------------------------ */

static const struct ox_type *tensor_type(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_type *type = value ? ox_rw_type(rw, value) : NULL;
    return type && type->kind == OX_TYPE_TENSOR ? type : NULL;
}

int ox_rank_of(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_type *type = tensor_type(rw, value);
    return type && type->has_rank ? (int)type->rank : -1;
}

enum ox_dtype ox_dtype_of_value(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_type *type = tensor_type(rw, value);
    return type ? type->elem : OX_UNDEFINED;
}

const struct ox_expr *ox_dim_expr(struct ox_rewrite *rw, const struct ox_value *value, int axis)
{
    const struct ox_type *type = tensor_type(rw, value);
    if (!type || !type->has_rank)
        return NULL;
    axis += axis < 0 ? (int)type->rank : 0;
    return axis >= 0 && axis < (int)type->rank ? type->dims[axis] : NULL;
}

bool ox_orders_matrix(const struct ox_node *transpose, bool *turned)
{
    size_t n;
    const int64_t *perm = ox_attr_ints(transpose, "perm", &n);
    *turned = n == 0 || perm[0] == 1;
    return n == 0 || (n == 2 && perm[0] == *turned && perm[1] == !*turned);
}

struct ox_value *ox_matrix_behind(struct ox_rewrite *rw, struct ox_value *value, bool *turned)
{
    struct ox_node *transpose = value ? ox_made_by(rw, value, "Transpose", false) : NULL;
    struct ox_value *matrix = transpose ? ox_input(transpose, 0) : value;
    const struct ox_stored *stored = matrix ? ox_rw_stored(rw, matrix) : NULL;
    *turned = false;
    if (transpose && !ox_orders_matrix(transpose, turned))
        return NULL;
    return stored && stored->rank == 2 ? matrix : NULL;
}

int64_t ox_dim_of(struct ox_rewrite *rw, const struct ox_value *value, int axis)
{
    int64_t dim;
    return ox_expr_is_int(ox_dim_expr(rw, value, axis), &dim) ? dim : -1;
}

bool ox_same_shape(struct ox_rewrite *rw, const struct ox_value *a, const struct ox_value *b)
{
    const struct ox_type *of_a = tensor_type(rw, a), *of_b = tensor_type(rw, b);
    if (!of_a || !of_b || !of_a->has_rank || !of_b->has_rank || of_a->rank != of_b->rank)
        return false;
    for (unsigned i = 0; i < of_a->rank; i++)
        if (!of_a->dims[i] || of_a->dims[i] != of_b->dims[i])
            return false;
    return true;
}
