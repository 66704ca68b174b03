/* Operators whose attributes stay and mean something else. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/convert/convert_adapters.h"

/* ---- Axes counted from the back: since version 11 ----------------------------------------------------------------- */

static bool from_the_front(struct ox_adapt *c, const char *name, int more)
{
    int64_t axis;
    int rank;
    if (!ox_adapt_int(c, name, 0, &axis) || axis >= 0)
        return axis >= 0;
    return ox_adapt_need_rank(c, 0, &rank) && ox_adapt_set_int(c, name, axis + rank + more);
}

bool ox_down_axis(struct ox_adapt *c)
{
    bool one_hot = strcmp(c->node->op_type, "OneHot") == 0;
    int64_t axis = 0;
    if (one_hot && (!ox_adapt_int(c, "axis", -1, &axis) || axis == -1))
        return axis == -1;
    return from_the_front(c, "axis", one_hot);
}

static bool list_from_the_front(struct ox_adapt *c, bool new_axes)
{
    int64_t axes[OX_ADAPT_RANK];
    size_t n;
    bool found, negative = false;
    int rank;
    if (!ox_adapt_int_list(c, "axes", axes, &n, &found))
        return false;
    for (size_t i = 0; i < n; i++)
        negative |= axes[i] < 0;
    if (!negative)
        return true;
    if (!ox_adapt_need_rank(c, 0, &rank))
        return false;
    for (size_t i = 0; i < n; i++)
        axes[i] += axes[i] < 0 ? rank + (new_axes ? (int64_t)n : 0) : 0;
    return ox_adapt_set_ints(c, "axes", axes, n);
}

bool ox_down_list_axes(struct ox_adapt *c)
{
    return list_from_the_front(c, false);
}

bool ox_down_new_axes(struct ox_adapt *c)
{
    return list_from_the_front(c, true);
}

/* ---- Softmax, LogSoftmax, Hardmax: until version 11 over all axes from one on -------------------------------------- */

bool ox_up_softmax(struct ox_adapt *c)
{
    int64_t axis;
    int rank = ox_adapt_rank(c, ox_adapt_input(c, 0));
    if (!ox_adapt_int(c, "axis", 1, &axis))
        return false;
    if (axis == -1 || (rank >= 0 && axis == rank - 1))
        return ox_adapt_set_int(c, "axis", -1);
    return ox_adapt_replace(c,
                            "(x) => (y) { s = Shape(x) f = Flatten<axis = %lld>(x) "
                            "z = %s<axis = -1>(f) y = Reshape(z, s) }",
                            (long long)axis, c->node->op_type);
}

bool ox_down_softmax(struct ox_adapt *c)
{
    int64_t axis, order[OX_ADAPT_RANK];
    int rank;
    if (!ox_adapt_int(c, "axis", -1, &axis))
        return false;
    if (axis == -1)
        return ox_adapt_set_int(c, "axis", -1);
    if (!ox_adapt_need_rank(c, 0, &rank))
        return false;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return ox_adapt_block(c, "axis %lld is outside", (long long)axis);
    if (!ox_adapt_set_int(c, "axis", rank - 1) || axis == rank - 1)
        return axis == rank - 1;
    for (int i = 0; i < rank; i++)
        order[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    struct ox_node *before = ox_adapt_before(c, 0, "Transpose");
    struct ox_node *after = before ? ox_adapt_after(c, 0, "Transpose") : NULL;
    return (after && ox_node_set_ints(before, "perm", order, (size_t)rank) &&
            ox_node_set_ints(after, "perm", order, (size_t)rank)) ||
           ox_adapt_no_memory(c);
}

/* ---- Training ----------------------------------------------------------------------------------------------------- */

bool ox_up_is_test(struct ox_adapt *c)
{
    int64_t is_test;
    if (!ox_adapt_int(c, "is_test", 0, &is_test))
        return false;
    if (!is_test)
        return ox_adapt_block(c, "it is in training mode (is_test 0)");
    ox_adapt_drop(c, "is_test");
    return true;
}

bool ox_down_is_test(struct ox_adapt *c)
{
    return ox_adapt_set_int(c, "is_test", 1);
}

/* Statistics of each position, which version 9 has no more, broadcast over the batch as they stand. */
static bool normalize_positions(struct ox_adapt *c)
{
    enum ox_dtype dtype;
    float epsilon;
    int rank, own;
    if (!ox_adapt_need_dtype(c, 0, &dtype) || !ox_adapt_float(c, "epsilon", 1e-5f, &epsilon) ||
        !ox_adapt_need_rank(c, 0, &rank))
        return false;
    for (size_t i = 1; i < 5; i++) {
        if (!ox_adapt_need_rank(c, i, &own))
            return false;
        if (own + 1 != rank)
            return ox_adapt_block(c, "input %zu has not a number for each position (spatial 0)", i);
    }
    for (size_t i = 1; i < c->node->n_outputs; i++)
        if (ox_adapt_used(c, c->node->outputs[i]))
            return ox_adapt_block(c, "it trains on statistics of each position (spatial 0)");
    return ox_adapt_replace(c,
                            "(x, s, b, m, v) => (y) { ef = Constant<value = float {%.9g}>() "
                            "e = Cast<to = %d>(ef) ve = Add(v, e) d = Sqrt(ve) f = Div(s, d) "
                            "c = Sub(x, m) p = Mul(c, f) y = Add(p, b) }",
                            (double)epsilon, dtype);
}

bool ox_up_spatial(struct ox_adapt *c)
{
    int64_t spatial;
    if (!ox_adapt_int(c, "spatial", 1, &spatial))
        return false;
    if (!spatial)
        return normalize_positions(c);
    ox_adapt_drop(c, "spatial");
    return true;
}

static bool cut_outputs(struct ox_adapt *c, size_t n)
{
    for (size_t i = n; i < c->node->n_outputs; i++) {
        if (ox_adapt_used(c, c->node->outputs[i]))
            return ox_adapt_block(c, "output %zu, of training, is used", i);
    }
    while (c->node->n_outputs > n) {
        struct ox_value *last = c->node->outputs[--c->node->n_outputs];
        if (last) {
            last->producer = NULL;
            last->removed = true;
        }
    }
    return true;
}

static bool one_output(struct ox_adapt *c)
{
    return cut_outputs(c, 1);
}

/* It trained when its further outputs were named; from version 14 on an attribute says so, and two of them are left. */
bool ox_up_training(struct ox_adapt *c)
{
    size_t n_named = 0;
    for (size_t i = 1; i < c->node->n_outputs; i++)
        n_named += c->node->outputs[i] != NULL;
    if (!n_named)
        return one_output(c);
    if (!ox_adapt_output(c, 1) || !ox_adapt_output(c, 2))
        return ox_adapt_block(c, "it trains, and its mean and variance have no names");
    return cut_outputs(c, 3) && ox_adapt_set_int(c, "training_mode", 1);
}

bool ox_down_training(struct ox_adapt *c)
{
    int64_t training;
    if (!ox_adapt_int(c, "training_mode", 0, &training))
        return false;
    if (training)
        return ox_adapt_block(c, "it is in training mode, which opset %lld has not",
                              (long long)c->next);
    ox_adapt_drop(c, "training_mode");
    return one_output(c);
}

/* Dropout's mask: of the data's type before version 10, then of bool. */
static bool cast_mask(struct ox_adapt *c, enum ox_dtype to)
{
    struct ox_value *mask = ox_adapt_output(c, 1);
    if (!mask)
        return true;
    if (!ox_adapt_used(c, mask))
        return one_output(c);
    struct ox_node *cast = ox_adapt_after(c, 1, "Cast");
    return (cast && ox_node_set_int(cast, "to", to)) || ox_adapt_no_memory(c);
}

bool ox_up_mask(struct ox_adapt *c)
{
    enum ox_dtype dtype = OX_FLOAT32;
    if (ox_adapt_output(c, 1) && !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    return cast_mask(c, dtype);
}

bool ox_down_mask(struct ox_adapt *c)
{
    return cast_mask(c, OX_BOOL);
}

/* ---- Gemm, Concat, pooling, Cast ---------------------------------------------------------------------------------- */

bool ox_up_gemm(struct ox_adapt *c)
{
    ox_adapt_drop(c, "broadcast");
    return true;
}

bool ox_down_gemm(struct ox_adapt *c)
{
    return ox_adapt_set_int(c, "broadcast", 1);
}

bool ox_down_gemm_bias(struct ox_adapt *c)
{
    enum ox_dtype dtype;
    if (ox_adapt_input(c, 2))
        return true;
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    struct ox_value *zero = ox_adapt_const_number(c, dtype, 0, 0);
    return zero && ox_adapt_set_input(c, 2, zero);
}

bool ox_up_concat(struct ox_adapt *c)
{
    return ox_adapt_has(c, "axis") || ox_adapt_set_int(c, "axis", 1);
}

/* The exponent of LpPool and GlobalLpPool was a float. */
bool ox_up_power(struct ox_adapt *c)
{
    float p;
    if (!ox_adapt_float(c, "p", 2, &p))
        return false;
    if (p != truncf(p))
        return ox_adapt_block(c, "the exponent %g is no integer", (double)p);
    return ox_adapt_set_int(c, "p", (int64_t)p);
}

bool ox_down_power(struct ox_adapt *c)
{
    int64_t p;
    if (!ox_adapt_has(c, "p"))
        return true;
    if (!ox_adapt_int(c, "p", 2, &p))
        return false;
    ox_adapt_drop(c, "p");
    return ox_node_set_float(c->node, "p", (float)p) || ox_adapt_no_memory(c);
}

bool ox_up_cast(struct ox_adapt *c)
{
    const struct ox_attr *to = ox_node_attr(c->node, "to");
    char name[32];
    enum ox_dtype dtype;
    if (!to || to->ref || to->type != OX_ATTR_STRING || to->s.n >= sizeof name)
        return ox_adapt_block(c, "attribute 'to' is not understood");
    memcpy(name, to->s.p, to->s.n);
    name[to->s.n] = '\0';
    if (!ox_dtype_parse(name, &dtype))
        return ox_adapt_block(c, "attribute 'to' is no type");
    return ox_adapt_set_int(c, "to", dtype);
}

bool ox_down_cast(struct ox_adapt *c)
{
    static const char *const names[OX_N_DTYPES] = {
#define NAME(name, value, bits, text, onnx_name) [name] = onnx_name,
        OX_DTYPE_LIST(NAME)
#undef NAME
    };
    int64_t to;
    if (!ox_adapt_int(c, "to", 0, &to))
        return false;
    if (to <= 0 || to >= OX_N_DTYPES)
        return ox_adapt_block(c, "attribute 'to' is no type");
    return ox_adapt_set_string(c, "to", names[to]);
}

/* Erf, ReduceLogSum, ReduceLogSumExp lost integers: they go through float32, or double. */
bool ox_up_through_float(struct ox_adapt *c)
{
    enum ox_dtype dtype = ox_adapt_dtype(c, ox_adapt_input(c, 0));
    if (!ox_dtype_is_integer(dtype))
        return true;
    struct ox_node *before = ox_adapt_before(c, 0, "Cast");
    struct ox_node *after = before ? ox_adapt_after(c, 0, "Cast") : NULL;
    return (after && ox_node_set_int(before, "to", OX_FLOAT64) &&
            ox_node_set_int(after, "to", dtype)) ||
           ox_adapt_no_memory(c);
}

/* ---- Recurrent networks ------------------------------------------------------------------------------------------- */

static bool transpose(struct ox_adapt *c, struct ox_node *node, const int64_t *order, size_t n)
{
    return (node && ox_node_set_ints(node, "perm", order, n)) || ox_adapt_no_memory(c);
}

/* Batch first becomes time first, and the outputs go back. */
bool ox_down_layout(struct ox_adapt *c)
{
    static const int64_t swap[3] = {1, 0, 2}, all[4] = {2, 0, 1, 3};
    int64_t layout;
    if (!ox_adapt_int(c, "layout", 0, &layout))
        return false;
    ox_adapt_drop(c, "layout");
    if (!layout)
        return true;
    static const size_t states[3] = {0, 5, 6};
    for (size_t i = 0; i < 3; i++) {
        if (ox_adapt_input(c, states[i]) &&
            !transpose(c, ox_adapt_before(c, states[i], "Transpose"), swap, 3))
            return false;
    }
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        if (!c->node->outputs[i])
            continue;
        struct ox_node *node = ox_adapt_after(c, i, "Transpose");
        if (!(i ? transpose(c, node, swap, 3) : transpose(c, node, all, 4)))
            return false;
    }
    return true;
}

bool ox_up_output_sequence(struct ox_adapt *c)
{
    ox_adapt_drop(c, "output_sequence");
    return true;
}

bool ox_down_output_sequence(struct ox_adapt *c)
{
    return !ox_adapt_output(c, 0) || ox_adapt_set_int(c, "output_sequence", 1);
}

/* ---- Smaller things ----------------------------------------------------------------------------------------------- */

/* TopK of the smallest: the largest of the negated. */
bool ox_down_smallest(struct ox_adapt *c)
{
    int64_t largest;
    if (!ox_adapt_int(c, "largest", 1, &largest))
        return false;
    ox_adapt_drop(c, "largest");
    ox_adapt_drop(c, "sorted");
    enum ox_dtype dtype;
    if (largest)
        return true;
    if (!ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    if (!ox_dtype_is_float(dtype))
        return ox_adapt_block(c, "opset %lld has no smallest, and of integers it cannot be had",
                              (long long)c->next);
    return ox_adapt_before(c, 0, "Neg") && (!ox_adapt_output(c, 0) || ox_adapt_after(c, 0, "Neg"));
}

bool ox_up_grid_sample(struct ox_adapt *c)
{
    if (ox_adapt_is(c, "mode", "bicubic"))
        return ox_adapt_set_string(c, "mode", "cubic");
    if (!ox_adapt_has(c, "mode") || ox_adapt_is(c, "mode", "bilinear"))
        return ox_adapt_set_string(c, "mode", "linear");
    return true;
}

bool ox_down_grid_sample(struct ox_adapt *c)
{
    int rank;
    if (!ox_adapt_need_rank(c, 0, &rank))
        return false;
    if (rank != 4)
        return ox_adapt_block(c, "opset %lld takes images of 2 dimensions only",
                              (long long)c->next);
    if (ox_adapt_is(c, "mode", "cubic"))
        return ox_adapt_set_string(c, "mode", "bicubic");
    if (!ox_adapt_has(c, "mode") || ox_adapt_is(c, "mode", "linear"))
        return ox_adapt_set_string(c, "mode", "bilinear");
    return true;
}

bool ox_up_roi_align(struct ox_adapt *c)
{
    return ox_adapt_set_string(c, "coordinate_transformation_mode", "output_half_pixel");
}

bool ox_down_roi_align(struct ox_adapt *c)
{
    if (!ox_adapt_is(c, "coordinate_transformation_mode", "output_half_pixel"))
        return ox_adapt_block(c, "opset %lld has no half_pixel", (long long)c->next);
    ox_adapt_drop(c, "coordinate_transformation_mode");
    return true;
}

bool ox_down_reduction(struct ox_adapt *c)
{
    if (ox_adapt_is(c, "reduction", "max") || ox_adapt_is(c, "reduction", "min"))
        return ox_adapt_block(c, "opset %lld has no reduction by max or min", (long long)c->next);
    return true;
}

bool ox_down_wrap(struct ox_adapt *c)
{
    return !ox_adapt_is(c, "mode", "wrap") ||
           ox_adapt_block(c, "opset %lld has no mode 'wrap'", (long long)c->next);
}

bool ox_down_allow_zero(struct ox_adapt *c)
{
    int64_t allow, shape[OX_ADAPT_RANK];
    size_t n;
    if (!ox_adapt_int(c, "allowzero", 0, &allow))
        return false;
    ox_adapt_drop(c, "allowzero");
    if (!allow)
        return true;
    if (!ox_adapt_known_ints(c, 1, shape, &n))
        return ox_adapt_block(c, "opset %lld has no allowzero, and the shape is not known",
                              (long long)c->next);
    for (size_t i = 0; i < n; i++) {
        if (shape[i] == 0)
            return ox_adapt_block(c, "opset %lld has no allowzero", (long long)c->next);
    }
    return true;
}

/* Max and Min took no 64-bit integers before version 12, and no smaller type holds them. */
bool ox_down_long_max(struct ox_adapt *c)
{
    bool max = strcmp(c->node->op_type, "Max") == 0;
    if (ox_adapt_dtype(c, ox_adapt_input(c, 0)) != OX_INT64 || c->node->n_inputs != 2)
        return true;
    return ox_adapt_replace(c, "(a, b) => (y) { g = %s(a, b) y = Where(g, a, b) }",
                            max ? "Greater" : "Less");
}

/* Equal took no floats before version 11: equal is what is neither less nor greater nor no number. */
bool ox_down_float_equal(struct ox_adapt *c)
{
    enum ox_dtype dtype = ox_adapt_dtype(c, ox_adapt_input(c, 0));
    if (!ox_dtype_is_float(dtype) || c->next < 9)
        return true;
    return ox_adapt_replace(c, "(a, b) => (y) { l = Less(a, b) g = Greater(a, b) m = IsNaN(a) "
                               "n = IsNaN(b) s = Or(l, g) t = Or(m, n) u = Or(s, t) y = Not(u) }");
}

bool ox_down_sparse_value(struct ox_adapt *c)
{
    return !ox_adapt_has(c, "sparse_value") ||
           ox_adapt_block(c, "opset %lld has no sparse constants", (long long)c->next);
}

static bool make_constant(struct ox_adapt *c, const struct ox_attr *attr, struct ox_tensor *tensor)
{
    switch (attr->type) {
    case OX_ATTR_INT:
        *(int64_t *)tensor->data = attr->i;
        break;
    case OX_ATTR_FLOAT:
        *(float *)tensor->data = attr->f;
        break;
    case OX_ATTR_INTS:
        if (attr->n)
            memcpy(tensor->data, attr->ints, attr->n * sizeof(int64_t));
        break;
    case OX_ATTR_FLOATS:
        if (attr->n)
            memcpy(tensor->data, attr->floats, attr->n * sizeof(float));
        break;
    default: {
        const struct ox_str *strings = attr->type == OX_ATTR_STRING ? &attr->s : attr->strings;
        for (size_t i = 0; i < attr->n && c->status == OX_OK; i++)
            c->status = ox_tensor_set_string(tensor, i, strings[i].p, strings[i].n, c->err);
        break;
    }
    }
    return c->status == OX_OK;
}

/* value_int, value_floats and the like become tensors. */
bool ox_down_constant_value(struct ox_adapt *c)
{
    static const struct {
        const char *name;
        enum ox_dtype dtype;
        unsigned rank;
    } rows[] = {{"value_int", OX_INT64, 0},     {"value_ints", OX_INT64, 1},
                {"value_float", OX_FLOAT32, 0}, {"value_floats", OX_FLOAT32, 1},
                {"value_string", OX_STRING, 0}, {"value_strings", OX_STRING, 1}};
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        const struct ox_attr *attr = ox_node_attr(c->node, rows[i].name);
        if (!attr)
            continue;
        if (attr->ref)
            return ox_adapt_block(c, "attribute '%s' is a parameter of the function", rows[i].name);
        int64_t n = (int64_t)attr->n;
        struct ox_tensor *tensor;
        c->status = ox_tensor_new(&tensor, ox_env_budget(c->model->env), rows[i].dtype,
                                  rows[i].rank, &n, c->err);
        if (c->status != OX_OK)
            return false;
        bool good = make_constant(c, attr, tensor);
        ox_adapt_drop(c, rows[i].name);
        good = good && (ox_node_set_tensor(c->node, "value", tensor) || ox_adapt_no_memory(c));
        ox_tensor_release(tensor);
        return good;
    }
    return true;
}

/* A value that is no optional has an element; an omitted one has none. */
bool ox_down_has_element(struct ox_adapt *c)
{
    const struct ox_type *type = ox_adapt_type(c, ox_adapt_input(c, 0));
    bool omitted = !ox_adapt_input(c, 0);
    if (!omitted && !type)
        return ox_adapt_block(c, "the type of its input is not known");
    if (!omitted && type->kind == OX_TYPE_OPTIONAL)
        return true;
    if (strcmp(c->node->op_type, "OptionalGetElement") == 0)
        return ox_adapt_replace(c, "(x) => (y) { y = Identity(x) }");
    return ox_adapt_replace(c, "(x) => (y) { y = Constant<value = bool {%d}>() }", !omitted);
}
