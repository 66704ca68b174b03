/* From a value that is not known, or known by a name alone, back to the cause: a step a node. */
#include <string.h>

#include "ops/custom.h"
#include "shape/infer_impl.h"

enum { MOST_STEPS = 200, MOST_ORIGINS = 64, MOST_CALLS = 16 };

/* What of a value is looked for: its type, or the numbers in it. */
enum aspect { ASPECT_TYPE, ASPECT_VALUES };

struct walk {
    struct ox_shapes *s;
    const struct ox_value *value;
    enum aspect aspect;
    const char *symbol; /* the made-up one that is followed; NULL: what is unknown is */
    const struct ox_value *seen[MOST_STEPS];
    size_t n_seen;
    const struct ox_node *calls[MOST_CALLS]; /* of functions that the walk stepped into */
    size_t n_calls;
    struct ox_strmap told; /* symbols whose origin was told */
    struct ox_strbuf type, producer, graph, rule;
    struct ox_strbuf dims; /* origins of names that the user gave, one after the other */
    size_t dims_at[MOST_ORIGINS];
    struct ox_shape_origin origins[MOST_ORIGINS];
    size_t n_origins;
};

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

static bool is_symbol(void *symbol, const char *name)
{
    return strcmp(symbol, name) == 0;
}

static bool mentions(const struct ox_type *type, const char *symbol)
{
    for (; type; type = type->inner) {
        for (unsigned i = 0; type->has_rank && i < type->rank; i++) {
            if (ox_expr_any_symbol(type->dims[i], is_symbol, (void *)(uintptr_t)symbol))
                return true;
        }
    }
    return false;
}

static bool values_mention(struct ox_shapes *s, const struct ox_value *value, const char *symbol)
{
    const struct ox_expr *const *values;
    size_t n;
    if (!ox_shapes_values(s, value, &n, &values))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (ox_expr_any_symbol(values[i], is_symbol, (void *)(uintptr_t)symbol))
            return true;
    }
    return false;
}

/* Where a name that the model's author gave stands first; false: in no input. */
static bool tell_named(struct walk *walk, const char *symbol)
{
    const struct ox_graph *graph = walk->s->model->graph;
    for (size_t i = 0; graph && i < graph->n_inputs; i++) {
        const struct ox_type *type = ox_shapes_type(walk->s, graph->inputs[i]);
        for (unsigned k = 0; type && type->has_rank && k < type->rank; k++) {
            if (!ox_expr_any_symbol(type->dims[k], is_symbol, (void *)(uintptr_t)symbol))
                continue;
            ox_strbuf_printf(&walk->dims, "dimension %u of input '", k);
            ox_strbuf_puts(&walk->dims, graph->inputs[i]->name);
            ox_strbuf_putc(&walk->dims, '\'');
            return true;
        }
    }
    return false;
}

/* Notes what is said of a symbol, once; never ends the walk over an expression. */
static bool note_origin(void *arg, const char *name)
{
    struct walk *walk = arg;
    uint32_t value = 0;
    bool is_new = false;
    if (walk->n_origins == MOST_ORIGINS)
        return false;
    if (!ox_strmap_add(&walk->told, name, strlen(name), &value, &is_new))
        walk->dims.failed = true;
    if (!is_new)
        return false;
    const struct ox_origin *origin = ox_shapes_origin(walk->s, name);
    if (origin && !walk->symbol)
        walk->symbol = name;
    walk->dims_at[walk->n_origins] = walk->dims.len;
    if (!origin && !tell_named(walk, name))
        return false;
    if (!origin)
        ox_strbuf_putc(&walk->dims, '\0');
    walk->origins[walk->n_origins++] =
        (struct ox_shape_origin){.symbol = name, .text = origin ? origin->text : NULL};
    return false;
}

static void note_type(struct walk *walk, const struct ox_type *type)
{
    for (; type; type = type->inner) {
        for (unsigned i = 0; type->has_rank && i < type->rank; i++)
            ox_expr_any_symbol(type->dims[i], note_origin, walk);
    }
}

/* ---- The way back ------------------------------------------------------------------------------------------------ */

/* Whether every number in the value is known, be it as an expression over sizes. */
static bool values_known(struct ox_shapes *s, const struct ox_value *value)
{
    const struct ox_expr *const *values;
    size_t n, i = 0;
    if (!ox_shapes_values(s, value, &n, &values))
        return value->init != NULL && !ox_slot_of(s, value)->is_given;
    while (i < n && values[i] && !ox_expr_has_signed(values[i]))
        i++;
    return i == n;
}

static const struct ox_value *input_where(const struct ox_node *node, const struct walk *walk,
                                          bool (*test)(const struct walk *walk,
                                                       const struct ox_value *value))
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] && test(walk, node->inputs[i]))
            return node->inputs[i];
    }
    return NULL;
}

static bool type_unknown(const struct walk *walk, const struct ox_value *value)
{
    return !ox_shapes_is_known(ox_shapes_type(walk->s, value));
}

static bool type_has_symbol(const struct walk *walk, const struct ox_value *value)
{
    return mentions(ox_shapes_type(walk->s, value), walk->symbol);
}

static bool values_have_symbol(const struct walk *walk, const struct ox_value *value)
{
    return values_mention(walk->s, value, walk->symbol);
}

/* A small tensor of integers or bools, as shapes, axes, counts and conditions are, whose numbers are not known. */
static bool hidden_numbers(const struct walk *walk, const struct ox_value *value)
{
    const struct ox_type *type = ox_shapes_type(walk->s, value);
    return type && type->kind == OX_TYPE_TENSOR &&
           (ox_dtype_is_integer(type->elem) || type->elem == OX_BOOL) &&
           (!type->has_rank || type->rank <= 1) && !values_known(walk->s, value);
}

static bool hidden_values(const struct walk *walk, const struct ox_value *value)
{
    return !values_known(walk->s, value);
}

/* The same of any numbers, be they floats: scales, limits, scores to be over. */
static bool hidden_small(const struct walk *walk, const struct ox_value *value)
{
    const struct ox_type *type = ox_shapes_type(walk->s, value);
    if (value->producer && strcmp(value->producer->op_type, "Constant") == 0)
        return false;
    return type && type->kind == OX_TYPE_TENSOR && type->has_rank && type->rank <= 1 &&
           !values_known(walk->s, value) && !ox_shapes_known(walk->s, value);
}

/* An input whose numbers decide sizes. */
static const struct ox_value *deciding_input(const struct ox_node *node, const struct walk *walk)
{
    const struct ox_value *next = input_where(node, walk, hidden_numbers);
    return next ? next : input_where(node, walk, hidden_small);
}

/* Operators that count by scalars among their inputs, and not by what is in a tensor. */
static bool counts_by_scalars(const struct ox_node *node)
{
    static const char *const names[] = {"Loop", "OneHot", "Range", "TopK"};
    for (size_t i = 0; i < OX_COUNT(names); i++)
        if (strcmp(node->op_type, names[i]) == 0)
            return true;
    return false;
}

/* What the value is within the node that makes it: an output of its subgraph or of the function that it calls, if the
 * cause lies there; NULL. */
static const struct ox_value *within(struct walk *walk, const struct ox_node *node)
{
    size_t i = walk->value->output_index;
    const struct ox_graph *body = NULL;
    const struct ox_function *function =
        ox_model_function(walk->s->model, node->domain, node->op_type, node->overload);
    bool enters = function && walk->n_calls < MOST_CALLS;
    if (enters) {
        body = function->body;
    } else if (strcmp(node->op_type, "Loop") == 0 || strcmp(node->op_type, "Scan") == 0) {
        const struct ox_attr *attr = ox_node_attr(node, "body");
        body = attr && attr->type == OX_ATTR_GRAPH && attr->n ? attr->graphs[0] : NULL;
        i += node->op_type[0] == 'L'; /* the condition comes first */
    }
    if (!body || i >= body->n_outputs || !ox_slot_of(walk->s, body->outputs[i]))
        return NULL;
    const struct ox_type *type = ox_shapes_type(walk->s, body->outputs[i]);
    bool made_up = !ox_shapes_is_known(type);
    for (unsigned d = 0; !made_up && type->has_rank && d < type->rank; d++)
        made_up = ox_shapes_made_up(walk->s, type->dims[d]);
    if (made_up && enters)
        walk->calls[walk->n_calls++] = node;
    return made_up ? body->outputs[i] : NULL;
}

static bool measures(const struct ox_node *node)
{
    return strcmp(node->op_type, "Shape") == 0 || strcmp(node->op_type, "Size") == 0;
}

static void go(struct walk *walk, const struct ox_value *to, enum aspect aspect)
{
    walk->value = to;
    walk->aspect = aspect;
}

/* From the type of what a node makes. */
static void leave_type(struct walk *walk, const struct ox_node *node)
{
    const struct ox_value *next;
    if (type_unknown(walk, walk->value)) {
        if ((next = input_where(node, walk, type_unknown)) || (next = within(walk, node)))
            go(walk, next, ASPECT_TYPE);
        else
            go(walk, deciding_input(node, walk), ASPECT_VALUES);
        return;
    }
    const struct ox_origin *origin = walk->symbol ? ox_shapes_origin(walk->s, walk->symbol) : NULL;
    if (!origin || (origin->node == node && origin->by_data && !counts_by_scalars(node))) {
        walk->value = NULL;
    } else if (origin->node == node) {
        walk->symbol = NULL;
        next = origin->by_data ? NULL : within(walk, node);
        go(walk, next ? next : deciding_input(node, walk), next ? ASPECT_TYPE : ASPECT_VALUES);
    } else if ((next = input_where(node, walk, type_has_symbol))) {
        go(walk, next, ASPECT_TYPE);
    } else if ((next = input_where(node, walk, values_have_symbol))) {
        go(walk, next, ASPECT_VALUES);
    } else {
        go(walk, within(walk, node), ASPECT_TYPE);
    }
}

/* From the numbers in what a node makes. */
static void leave_values(struct walk *walk, const struct ox_node *node)
{
    const struct ox_value *next = NULL;
    if (measures(node) && node->n_inputs) {
        go(walk, node->inputs[0], ASPECT_TYPE);
        return;
    }
    if (walk->symbol) {
        next = input_where(node, walk, values_have_symbol);
        if (!next && (next = input_where(node, walk, type_has_symbol))) {
            go(walk, next, ASPECT_TYPE);
            return;
        }
    }
    if (!next)
        next = input_where(node, walk, hidden_numbers);
    if (!next)
        next = input_where(node, walk, hidden_values);
    go(walk, next, ASPECT_VALUES);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static const char *reason_of(const struct walk *walk)
{
    const struct ox_value *value = walk->value;
    const struct ox_type *type = ox_shapes_type(walk->s, value);
    if (!ox_shapes_is_known(type))
        return ox_shapes_reason(walk->s, value);
    if (walk->aspect == ASPECT_TYPE || values_known(walk->s, value))
        return NULL;
    if (!value->producer)
        return value->init ? "its default may be replaced when the model runs"
                           : "its values are given when the model runs";
    return measures(value->producer) ? "it is the size of what comes next"
                                     : "its values are not known before the model runs";
}

static const char *text_of(const struct ox_strbuf *text)
{
    return text->len ? text->data : NULL;
}

static void fill_step(struct walk *walk, struct ox_shape_step *step)
{
    const struct ox_value *value = walk->value;
    const struct ox_node *node = value->producer;
    const struct ox_type *type = ox_shapes_type(walk->s, value);
    *step = (struct ox_shape_step){
        .name = value->name, .is_input = value->is_input, .reason = reason_of(walk)};
    struct ox_strbuf *all[] = {&walk->type, &walk->producer, &walk->graph, &walk->rule};
    for (size_t i = 0; i < OX_COUNT(all); i++)
        ox_strbuf_clear(all[i]);
    ox_graph_path(&walk->graph, value->graph);
    if (type)
        ox_type_print(&walk->type, type, true);
    if (node) {
        int64_t opset = ox_graph_opset(node->graph, node->domain);
        const struct ox_op *op =
            ox_op_lookup(walk->s->model->env, node->domain, node->op_type, opset);
        const struct ox_operator *custom =
            ox_operators_find(walk->s->model->env, node->domain, node->op_type, opset);
        ox_node_label(&walk->producer, node);
        if (op && op->infer)
            ox_strbuf_printf(&walk->rule, "%s-%d", node->op_type,
                             custom ? custom->schema.since : op->since);
        step->op_type = node->op_type;
    }
    step->graph = walk->graph.len ? walk->graph.data : "";
    step->type = text_of(&walk->type);
    step->producer = text_of(&walk->producer);
    step->rule = text_of(&walk->rule);
    walk->n_origins = 0;
    ox_strbuf_clear(&walk->dims);
    note_type(walk, type);
    for (size_t i = 0; i < walk->n_origins; i++) {
        if (!walk->origins[i].text)
            walk->origins[i].text = walk->dims.data ? walk->dims.data + walk->dims_at[i] : "";
    }
    step->origins = walk->origins;
    step->n_origins = walk->n_origins;
}

static bool was_seen(struct walk *walk)
{
    for (size_t i = 0; i < walk->n_seen; i++) {
        if (walk->seen[i] == walk->value)
            return true;
    }
    walk->seen[walk->n_seen++] = walk->value;
    return false;
}

/* The first node that calls the function. */
static const struct ox_node *some_call(const struct ox_model *model,
                                       const struct ox_function *function)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            if (ox_model_function(model, node->domain, node->op_type, node->overload) == function)
                return node;
        }
    }
    return NULL;
}

/* From an input of a function to what its caller gave, or one of them where the walk began within; false: it is none. */
static bool leave_function(struct walk *walk)
{
    const struct ox_value *value = walk->value;
    const struct ox_function *function = value->graph->function;
    if (!function)
        return false;
    const struct ox_node *call =
        walk->n_calls ? walk->calls[walk->n_calls - 1] : some_call(walk->s->model, function);
    for (size_t i = 0; call && i < function->body->n_inputs && i < call->n_inputs; i++) {
        if (function->body->inputs[i] != value || !call->inputs[i])
            continue;
        if (walk->n_calls)
            walk->n_calls--;
        else
            walk->symbol = NULL; /* it may stand for what calls differ in */
        walk->value = call->inputs[i];
        return true;
    }
    return false;
}

static enum ox_status
walk_back(struct walk *walk, enum ox_status (*on_step)(void *arg, const struct ox_shape_step *step),
          void *arg)
{
    struct ox_shape_step step;
    while (walk->value && walk->n_seen < MOST_STEPS) {
        while (walk->value->outer)
            walk->value = walk->value->outer;
        if (was_seen(walk))
            break;
        fill_step(walk, &step);
        OX_TRY(on_step(arg, &step));
        if (!walk->value->producer) {
            if (!leave_function(walk))
                break;
            continue;
        }
        if (walk->aspect == ASPECT_TYPE)
            leave_type(walk, walk->value->producer);
        else
            leave_values(walk, walk->value->producer);
    }
    return OX_OK;
}

enum ox_status ox_shapes_explain(struct ox_shapes *shapes, const char *name,
                                 enum ox_status (*on_step)(void *arg,
                                                           const struct ox_shape_step *step),
                                 void *arg, struct ox_error *err)
{
    const char *path = shapes->model->path ? shapes->model->path : "model";
    struct walk walk = {.s = shapes};
    enum ox_status status = OX_OK;
    bool found = false;
    ox_strmap_init(&walk.told);
    for (size_t i = 0; i < shapes->n_list && status == OX_OK; i++) { /* graphs may share names */
        if (strcmp(shapes->list[i]->name, name) != 0)
            continue;
        found = true;
        walk.symbol = NULL;
        walk.n_calls = 0;
        go(&walk, shapes->list[i], ASPECT_TYPE);
        status = walk_back(&walk, on_step, arg);
    }
    struct ox_strbuf *all[] = {&walk.type, &walk.producer, &walk.graph, &walk.rule, &walk.dims};
    for (size_t i = 0; i < OX_COUNT(all); i++) {
        if (all[i]->failed && status == OX_OK)
            status = OX_NO_MEMORY;
        ox_strbuf_release(all[i]);
    }
    ox_strmap_release(&walk.told);
    if (!found)
        return ox_fail(err, OX_USAGE, "%s: there is no value '%s'", path, name);
    return status == OX_OK ? OX_OK : ox_fail(err, status, "%s: %s", path, ox_status_text(status));
}
