/* What adapters do to nodes. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "graph/convert/convert_adapters.h"
#include "graph/splice.h"

bool ox_adapt_block(struct ox_adapt *c, const char *format, ...)
{
    char text[OX_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ox_strbuf_clear(c->blocked);
    ox_strbuf_name(c->blocked, text, 0);
    return false;
}

bool ox_adapt_no_memory(struct ox_adapt *c)
{
    if (c->status == OX_OK)
        c->status = ox_fail(c->err, OX_NO_MEMORY, "%s: out of memory", c->model->path);
    return false;
}

/* A value that loses a use: it may be of no use any more. */
static bool let_go(struct ox_adapt *c, struct ox_value *value)
{
    if (!value)
        return true;
    void *key = ox_arena_copy(&c->model->arena, &value, sizeof(value));
    uint32_t one = 1;
    return (key && ox_strmap_add(c->freed, key, sizeof(value), &one, NULL)) ||
           ox_adapt_no_memory(c);
}

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

static bool find_attr(struct ox_adapt *c, const char *name, enum ox_attr_type type,
                      const struct ox_attr **attr)
{
    *attr = ox_node_attr(c->node, name);
    if (!*attr)
        return true;
    if ((*attr)->ref)
        return ox_adapt_block(c, "attribute '%s' is a parameter of the function", name);
    if ((*attr)->type != type)
        return ox_adapt_block(c, "attribute '%s' is of type %s", name,
                              ox_attr_type_name((*attr)->type));
    if (!(*attr)->n && (type == OX_ATTR_INT || type == OX_ATTR_FLOAT))
        *attr = NULL;
    return true;
}

bool ox_adapt_int(struct ox_adapt *c, const char *name, int64_t fallback, int64_t *value)
{
    const struct ox_attr *attr;
    if (!find_attr(c, name, OX_ATTR_INT, &attr))
        return false;
    *value = attr ? attr->i : fallback;
    return true;
}

bool ox_adapt_float(struct ox_adapt *c, const char *name, float fallback, float *value)
{
    const struct ox_attr *attr;
    if (!find_attr(c, name, OX_ATTR_FLOAT, &attr))
        return false;
    *value = attr ? attr->f : fallback;
    return true;
}

bool ox_adapt_int_list(struct ox_adapt *c, const char *name, int64_t *values, size_t *n,
                       bool *found)
{
    const struct ox_attr *attr;
    if (!find_attr(c, name, OX_ATTR_INTS, &attr))
        return false;
    *found = attr != NULL;
    *n = attr ? attr->n : 0;
    if (*n > OX_ADAPT_RANK)
        return ox_adapt_block(c, "attribute '%s' has %zu elements", name, *n);
    if (*n)
        memcpy(values, attr->ints, *n * sizeof *values);
    return true;
}

bool ox_adapt_is(const struct ox_adapt *c, const char *name, const char *value)
{
    const struct ox_attr *attr = ox_node_attr(c->node, name);
    return attr && !attr->ref && attr->type == OX_ATTR_STRING && attr->n &&
           attr->s.n == strlen(value) && memcmp(attr->s.p, value, attr->s.n) == 0;
}

bool ox_adapt_has(const struct ox_adapt *c, const char *name)
{
    return ox_node_attr(c->node, name) != NULL;
}

void ox_adapt_drop(struct ox_adapt *c, const char *name)
{
    ox_node_drop_attr(c->node, name);
}

bool ox_adapt_set_int(struct ox_adapt *c, const char *name, int64_t value)
{
    return ox_node_set_int(c->node, name, value) || ox_adapt_no_memory(c);
}

bool ox_adapt_set_ints(struct ox_adapt *c, const char *name, const int64_t *values, size_t n)
{
    return ox_node_set_ints(c->node, name, values, n) || ox_adapt_no_memory(c);
}

bool ox_adapt_set_string(struct ox_adapt *c, const char *name, const char *value)
{
    return ox_node_set_string(c->node, name, value) || ox_adapt_no_memory(c);
}

bool ox_adapt_set_op(struct ox_adapt *c, const char *op_type)
{
    c->node->op_type = ox_arena_strdup(&c->model->arena, op_type);
    return c->node->op_type || ox_adapt_no_memory(c);
}

/* ---- What is known ------------------------------------------------------------------------------------------------ */

const struct ox_type *ox_adapt_type(const struct ox_adapt *c, const struct ox_value *value)
{
    while (value && value->outer)
        value = value->outer;
    if (!value)
        return NULL;
    uint32_t graph = value->graph->id;
    if (c->shapes && graph < c->n_graphs_known && value->id < c->n_known[graph]) {
        const struct ox_type *type = ox_shapes_type(c->shapes, value);
        if (type)
            return type;
    }
    return value->type;
}

enum ox_dtype ox_adapt_dtype(const struct ox_adapt *c, const struct ox_value *value)
{
    const struct ox_type *type = ox_adapt_type(c, value);
    return type && type->kind == OX_TYPE_TENSOR ? type->elem : OX_UNDEFINED;
}

int ox_adapt_rank(const struct ox_adapt *c, const struct ox_value *value)
{
    const struct ox_type *type = ox_adapt_type(c, value);
    return type && type->kind == OX_TYPE_TENSOR && type->has_rank && type->rank <= OX_ADAPT_RANK
               ? (int)type->rank
               : -1;
}

int64_t ox_adapt_dim(const struct ox_adapt *c, const struct ox_value *value, int axis)
{
    const struct ox_type *type = ox_adapt_type(c, value);
    int64_t dim;
    return axis < ox_adapt_rank(c, value) && ox_expr_is_int(type->dims[axis], &dim) ? dim : -1;
}

bool ox_adapt_dims(const struct ox_adapt *c, const struct ox_value *value, int64_t *dims)
{
    int rank = ox_adapt_rank(c, value);
    for (int i = 0; i < rank; i++) {
        dims[i] = ox_adapt_dim(c, value, i);
        if (dims[i] < 0)
            return false;
    }
    return rank >= 0;
}

bool ox_adapt_need_rank(struct ox_adapt *c, size_t input, int *rank)
{
    *rank = ox_adapt_rank(c, ox_adapt_input(c, input));
    return *rank >= 0 || ox_adapt_block(c, "the rank of input %zu is not known", input);
}

bool ox_adapt_need_dtype(struct ox_adapt *c, size_t input, enum ox_dtype *dtype)
{
    *dtype = ox_adapt_dtype(c, ox_adapt_input(c, input));
    return *dtype != OX_UNDEFINED || ox_adapt_block(c, "the type of input %zu is not known", input);
}

struct ox_value *ox_adapt_input(const struct ox_adapt *c, size_t i)
{
    return i < c->node->n_inputs ? c->node->inputs[i] : NULL;
}

struct ox_value *ox_adapt_output(const struct ox_adapt *c, size_t i)
{
    return i < c->node->n_outputs ? c->node->outputs[i] : NULL;
}

/* Captures are values of the graphs within, which say what they stand for. */
static bool is_captured(const struct ox_model *model, const struct ox_value *value)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; graph->scope == value->graph && i < graph->n_values; i++) {
            if (graph->values[i]->outer == value)
                return true;
        }
    }
    return false;
}

bool ox_adapt_used(const struct ox_adapt *c, const struct ox_value *value)
{
    if (!value)
        return false;
    if (value->is_output || is_captured(c->model, value))
        return true;
    for (size_t i = 0; i < value->graph->n_nodes; i++) {
        const struct ox_node *node = value->graph->nodes[i];
        for (size_t j = 0; j < node->n_inputs; j++) {
            if (node->inputs[j] == value)
                return true;
        }
    }
    return false;
}

const struct ox_tensor *ox_adapt_known(struct ox_adapt *c, const struct ox_value *value)
{
    while (value && value->outer)
        value = value->outer;
    if (!value || !c->shapes || value->graph->id >= c->n_graphs_known ||
        value->id >= c->n_known[value->graph->id])
        return NULL;
    /* What a function's values were in its last call says nothing of the others. */
    const struct ox_node *maker = value->producer;
    if (value->graph->function && !(maker && strcmp(maker->op_type, "Constant") == 0))
        return NULL;
    return ox_shapes_known(c->shapes, value);
}

bool ox_adapt_known_ints(struct ox_adapt *c, size_t i, int64_t *values, size_t *n)
{
    const struct ox_tensor *tensor = ox_adapt_known(c, ox_adapt_input(c, i));
    const char *name = i < c->from->n_inputs ? c->from->inputs[i].name : "?";
    if (!tensor || !ox_dtype_is_integer(tensor->dtype))
        return ox_adapt_block(c, "input '%s' is no constant, and opset %lld has it as an attribute",
                              name, (long long)c->next);
    if (tensor->n > OX_ADAPT_RANK)
        return ox_adapt_block(c, "input '%s' has %zu elements", name, tensor->n);
    *n = tensor->n;
    for (size_t k = 0; k < tensor->n; k++)
        values[k] = ox_tensor_get_int(tensor, k);
    return true;
}

bool ox_adapt_known_double(struct ox_adapt *c, size_t i, double *value)
{
    const struct ox_tensor *tensor = ox_adapt_known(c, ox_adapt_input(c, i));
    const char *name = i < c->from->n_inputs ? c->from->inputs[i].name : "?";
    if (!tensor || tensor->n != 1 || tensor->dtype == OX_STRING)
        return ox_adapt_block(c, "input '%s' is no constant, and opset %lld has it as an attribute",
                              name, (long long)c->next);
    *value = ox_tensor_get_double(tensor, 0);
    return true;
}

/* ---- Making ------------------------------------------------------------------------------------------------------- */

struct ox_node *ox_adapt_add(struct ox_adapt *c, const char *op_type,
                             struct ox_value *const *inputs, size_t n_inputs)
{
    struct ox_strbuf name;
    ox_strbuf_init(&name);
    const char *node_name = c->node->name;
    const struct ox_value *of = ox_adapt_output(c, 0);
    ox_strbuf_printf(&name, "%s_%s", *node_name ? node_name : of ? of->name : "", op_type);
    struct ox_value *output = name.failed ? NULL : ox_graph_add_value(c->graph, name.data);
    struct ox_node *node =
        output ? ox_graph_add_node(c->graph, op_type, "", *node_name ? name.data : "", inputs,
                                   n_inputs, &output, 1)
               : NULL;
    ox_strbuf_release(&name);
    if (!node)
        ox_adapt_no_memory(c);
    return node;
}

/* Constant took floats alone before version 9. */
static bool needs_init(const struct ox_adapt *c, enum ox_dtype dtype)
{
    return c->next < 9 && !*c->domain && dtype != OX_FLOAT32 && dtype != OX_FLOAT16 &&
           dtype != OX_FLOAT64 && !c->graph->function;
}

struct ox_value *ox_adapt_const(struct ox_adapt *c, const struct ox_tensor *tensor)
{
    if (needs_init(c, tensor->dtype)) {
        struct ox_value *value = ox_graph_add_value(c->graph, "constant");
        if (value && ox_graph_add_init(c->graph, value, tensor))
            return value;
        ox_adapt_no_memory(c);
        return NULL;
    }
    struct ox_node *node = ox_adapt_add(c, "Constant", NULL, 0);
    if (node && ox_node_set_tensor(node, "value", tensor))
        return node->outputs[0];
    ox_adapt_no_memory(c);
    return NULL;
}

struct ox_value *ox_adapt_const_ints(struct ox_adapt *c, const int64_t *values, size_t n)
{
    struct ox_tensor *tensor;
    int64_t dim = (int64_t)n;
    c->status = ox_tensor_new(&tensor, ox_env_budget(c->model->env), OX_INT64, 1, &dim, c->err);
    if (c->status != OX_OK)
        return NULL;
    if (n)
        memcpy(tensor->data, values, n * sizeof *values);
    struct ox_value *value = ox_adapt_const(c, tensor);
    ox_tensor_release(tensor);
    return value;
}

struct ox_value *ox_adapt_const_number(struct ox_adapt *c, enum ox_dtype dtype, unsigned rank,
                                       double number)
{
    static const int64_t one = 1;
    struct ox_tensor *wide, *tensor;
    struct ox_value *value = NULL;
    c->status = ox_tensor_new(&wide, ox_env_budget(c->model->env), OX_FLOAT64, rank, &one, c->err);
    if (c->status != OX_OK)
        return NULL;
    *(double *)wide->data = number;
    c->status = ox_tensor_convert(&tensor, ox_env_budget(c->model->env), wide, dtype, true, c->err);
    if (c->status == OX_OK) {
        value = ox_adapt_const(c, tensor);
        ox_tensor_release(tensor);
    }
    ox_tensor_release(wide);
    return value;
}

struct ox_value *ox_adapt_const_empty(struct ox_adapt *c, enum ox_dtype dtype)
{
    static const int64_t none = 0;
    struct ox_tensor *tensor;
    c->status = ox_tensor_new(&tensor, ox_env_budget(c->model->env), dtype, 1, &none, c->err);
    if (c->status != OX_OK)
        return NULL;
    struct ox_value *value = ox_adapt_const(c, tensor);
    ox_tensor_release(tensor);
    return value;
}

/* A constant node becomes an initializer of its graph. */
bool ox_down_constant_init(struct ox_adapt *c)
{
    const struct ox_attr *attr = ox_node_attr(c->node, "value");
    struct ox_value *value = ox_adapt_output(c, 0);
    if (!attr || attr->ref || attr->type != OX_ATTR_TENSOR || !attr->n || !value ||
        !needs_init(c, attr->tensor->dtype))
        return true;
    struct ox_tensor *tensor;
    c->status = ox_stored_load(c->model, attr->tensor, &tensor, c->err);
    if (c->status != OX_OK)
        return false;
    value->producer = NULL;
    bool good = ox_graph_add_init(c->graph, value, tensor) || ox_adapt_no_memory(c);
    ox_tensor_release(tensor);
    c->replaced = good;
    return good;
}

/* ---- Connecting --------------------------------------------------------------------------------------------------- */

bool ox_adapt_set_input(struct ox_adapt *c, size_t i, struct ox_value *value)
{
    struct ox_node *node = c->node;
    if (c->status != OX_OK)
        return false;
    if (i >= node->n_inputs) {
        struct ox_value **inputs = ox_arena_array(&c->model->arena, i + 1, sizeof(*inputs));
        if (!inputs)
            return ox_adapt_no_memory(c);
        if (node->n_inputs)
            memcpy(inputs, node->inputs, node->n_inputs * sizeof(*inputs));
        node->inputs = inputs;
        node->n_inputs = i + 1;
    }
    if (!let_go(c, node->inputs[i]))
        return false;
    node->inputs[i] = value;
    return true;
}

void ox_adapt_cut_inputs(struct ox_adapt *c, size_t n)
{
    struct ox_node *node = c->node;
    while (node->n_inputs > n)
        let_go(c, node->inputs[--node->n_inputs]);
    while (node->n_inputs && !node->inputs[node->n_inputs - 1])
        node->n_inputs--;
}

struct ox_node *ox_adapt_before(struct ox_adapt *c, size_t i, const char *op_type)
{
    struct ox_node *node = ox_adapt_add(c, op_type, &c->node->inputs[i], 1);
    if (node)
        c->node->inputs[i] = node->outputs[0];
    return node;
}

struct ox_node *ox_adapt_after(struct ox_adapt *c, size_t i, const char *op_type)
{
    struct ox_value *output = c->node->outputs[i];
    struct ox_node *node = ox_adapt_add(c, op_type, &output, 1);
    if (!node)
        return NULL;
    struct ox_value *between = node->outputs[0];
    node->inputs[0] = between;
    node->outputs[0] = output;
    c->node->outputs[i] = between;
    output->producer = node;
    output->output_index = 0;
    between->producer = c->node;
    between->output_index = (unsigned)i;
    return node;
}

bool ox_adapt_replace(struct ox_adapt *c, const char *format, ...)
{
    struct ox_strbuf text;
    char body[8192];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(body, sizeof body, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof body)
        return ox_adapt_block(c, "its replacement is too long");
    ox_strbuf_init(&text);
    ox_strbuf_printf(&text, "<ir_version: 8, opset_import: [\"%s\" : %lld]> g %s", c->domain,
                     (long long)c->next, body);
    struct ox_model *model = NULL;
    c->status = text.failed ? ox_fail(c->err, OX_NO_MEMORY, "%s: out of memory", c->model->path)
                            : ox_model_open_memory(&model, c->model->env, text.data, text.len, NULL,
                                                   c->err);
    if (c->status == OX_OK) {
        struct ox_splice splice = {.body = model->graph,
                                   .inputs = c->node->inputs,
                                   .n_inputs = c->node->n_inputs,
                                   .outputs = c->node->outputs,
                                   .n_outputs = c->node->n_outputs,
                                   .name = c->node->name};
        c->status = ox_graph_splice(c->graph, &splice, c->err);
    }
    ox_model_release(model);
    ox_strbuf_release(&text);
    c->replaced = c->status == OX_OK;
    for (size_t i = 0; i < c->node->n_inputs; i++)
        let_go(c, c->node->inputs[i]);
    return c->status == OX_OK;
}
