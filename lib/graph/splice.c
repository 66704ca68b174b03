#include "graph/splice.h"

#include <stdlib.h>
#include <string.h>

#include "model/graph_impl.h"
#include "model/lift.h"

enum { MOST_DEPTH = 128 };

/* A graph being copied, within the copies of those that enclose it. */
struct level {
    const struct ox_graph *from;
    struct ox_graph *to;
    struct ox_value **map; /* by value id of `from`; NULL: nothing yet */
    const struct level *up;
    unsigned depth;
};

struct splicer {
    const struct ox_splice *splice;
    struct ox_model *model;
    bool foreign; /* the body is another model's: nothing of it may stay in use */
    struct ox_error *err;
};

static enum ox_status no_room(const struct splicer *s)
{
    return ox_fail(s->err, OX_NO_MEMORY, "%s: out of memory", s->model->path);
}

static enum ox_status copy_graph(struct splicer *s, struct ox_node *parent, const char *parent_attr,
                                 const struct ox_graph *from, const struct level *up,
                                 struct ox_graph **out);

/* ---- Values ------------------------------------------------------------------------------------------------------- */

/* Another model's dimensions mean nothing here. */
static const struct ox_type *copy_type(const struct splicer *s, const struct ox_type *type)
{
    const struct ox_type *outermost = NULL;
    const struct ox_type **slot = &outermost;
    if (!s->foreign)
        return type;
    for (; type; type = type->inner) {
        struct ox_type *copy = ox_arena_alloc(&s->model->arena, sizeof *copy);
        if (!copy)
            return NULL;
        *copy = (struct ox_type){.kind = type->kind, .elem = type->elem};
        *slot = copy;
        slot = &copy->inner;
    }
    return outermost;
}

static struct ox_value *new_value(const struct splicer *s, struct ox_graph *to, const char *name)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, s->splice->name);
    if (*s->splice->name && *name)
        ox_strbuf_putc(&text, '_');
    ox_strbuf_puts(&text, name);
    struct ox_value *value =
        text.failed ? NULL : ox_graph_add_value(to, ox_strbuf_text(&text, NULL));
    ox_strbuf_release(&text);
    return value;
}

/* The copy's value for one of the body's. NULL: out of memory, or an input that the call omits. */
static struct ox_value *map_value(const struct splicer *s, const struct level *level,
                                  const struct ox_value *value)
{
    struct ox_value **slot = &level->map[value->id];
    if (*slot)
        return *slot;
    if (!value->outer || !level->up) {
        *slot = new_value(s, level->to, value->name);
        return *slot;
    }
    const struct ox_value *mapped = map_value(s, level->up, value->outer);
    bool is_new;
    struct ox_value *captured = mapped ? ox_graph_define(level->to, mapped->name, &is_new) : NULL;
    if (captured && is_new)
        captured->outer = (struct ox_value *)(uintptr_t)mapped;
    *slot = captured;
    return captured;
}

static bool is_omitted(const struct splicer *s, const struct level *level,
                       const struct ox_value *value)
{
    while (value->outer && level->up) {
        value = value->outer;
        level = level->up;
    }
    if (level->up || !value->is_input)
        return false;
    for (size_t i = 0; i < level->from->n_inputs; i++) {
        if (level->from->inputs[i] == value)
            return i >= s->splice->n_inputs || !s->splice->inputs[i];
    }
    return false;
}

static enum ox_status map_list(const struct splicer *s, const struct level *level,
                               struct ox_value *const *from, size_t n, struct ox_value ***out)
{
    struct ox_value **list = ox_arena_array(&s->model->arena, n ? n : 1, sizeof(*list));
    if (!list)
        return no_room(s);
    for (size_t i = 0; i < n; i++) {
        if (!from[i] || is_omitted(s, level, from[i]))
            continue;
        list[i] = map_value(s, level, from[i]);
        if (!list[i])
            return no_room(s);
    }
    *out = list;
    return OX_OK;
}

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

static enum ox_status copy_tensor(struct splicer *s, const struct ox_graph *from,
                                  const struct ox_stored *stored, const struct ox_stored **out)
{
    struct ox_tensor *loaded, *copy = NULL;
    OX_TRY(ox_stored_load(from->model, stored, &loaded, s->err));
    enum ox_status status = ox_tensor_new(&copy, ox_env_budget(s->model->env), loaded->dtype,
                                          loaded->rank, loaded->dims, s->err);
    for (size_t i = 0; status == OX_OK && loaded->dtype == OX_STRING && i < loaded->n; i++) {
        const struct ox_str *text = (const struct ox_str *)loaded->data + i;
        status = ox_tensor_set_string(copy, i, text->p, text->n, s->err);
    }
    if (status == OX_OK && loaded->dtype != OX_STRING && loaded->n)
        memcpy(copy->data, loaded->data, loaded->n * ox_dtype_size(loaded->dtype));
    if (status == OX_OK) {
        *out = ox_model_store(s->model, stored->name, copy);
        status = *out ? OX_OK : no_room(s);
    }
    ox_tensor_release(copy);
    ox_tensor_release(loaded);
    return status;
}

/* What an attribute of another model holds, without graphs. */
static enum ox_status copy_content(struct splicer *s, const struct ox_graph *from,
                                   struct ox_attr *attr)
{
    struct ox_arena *arena = &s->model->arena;
    const void *kept = arena;
    attr->proto = NULL;
    attr->name = ox_arena_strdup(arena, attr->name);
    switch (attr->type) {
    case OX_ATTR_STRING:
        kept = attr->s.p = ox_arena_strndup(arena, attr->s.p ? attr->s.p : "", attr->s.n);
        break;
    case OX_ATTR_INTS:
        kept = attr->ints = ox_arena_copy(arena, attr->ints, attr->n * sizeof *attr->ints);
        break;
    case OX_ATTR_FLOATS:
        kept = attr->floats = ox_arena_copy(arena, attr->floats, attr->n * sizeof *attr->floats);
        break;
    case OX_ATTR_STRINGS: {
        struct ox_str *strings = ox_arena_array(arena, attr->n ? attr->n : 1, sizeof *strings);
        for (size_t i = 0; strings && i < attr->n; i++) {
            strings[i].n = attr->strings[i].n;
            strings[i].p = ox_arena_strndup(arena, attr->strings[i].p, attr->strings[i].n);
            kept = strings[i].p ? kept : NULL;
        }
        attr->strings = strings;
        kept = strings ? kept : NULL;
        break;
    }
    case OX_ATTR_TENSOR:
        if (attr->n)
            return copy_tensor(s, from, attr->tensor, &attr->tensor);
        break;
    case OX_ATTR_FLOAT:
    case OX_ATTR_INT:
        break;
    default:
        return ox_fail(s->err, OX_UNSUPPORTED, "attribute '%s' of a function's body is of type %s",
                       attr->name, ox_attr_type_name(attr->type));
    }
    return kept && attr->name ? OX_OK : no_room(s);
}

static const struct ox_attr *find_attr(const struct ox_attr *attrs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(attrs[i].name, name) == 0)
            return &attrs[i];
    }
    return NULL;
}

static enum ox_status copy_graphs(struct splicer *s, const struct level *level,
                                  struct ox_node *node, struct ox_attr *attr)
{
    struct ox_graph **graphs =
        ox_arena_array(&s->model->arena, attr->n ? attr->n : 1, sizeof(*graphs));
    if (!graphs)
        return no_room(s);
    for (size_t i = 0; i < attr->n; i++) {
        const char *path = attr->type == OX_ATTR_GRAPH
                               ? ox_arena_strdup(&s->model->arena, attr->name)
                               : ox_arena_printf(&s->model->arena, "%s[%zu]", attr->name, i);
        if (!path)
            return no_room(s);
        OX_TRY(copy_graph(s, node, path, attr->graphs[i], level, &graphs[i]));
    }
    attr->graphs = graphs;
    attr->proto = NULL;
    return OX_OK;
}

/* One attribute; *kept is false when it stands for one that the call does not have. */
static enum ox_status copy_attr(struct splicer *s, const struct level *level, struct ox_node *node,
                                const struct ox_attr *from, struct ox_attr *to, bool *kept)
{
    const struct ox_splice *splice = s->splice;
    *to = *from;
    *kept = true;
    if (from->ref) {
        const struct ox_attr *given = find_attr(splice->attrs, splice->n_attrs, from->ref);
        if (!given)
            given = find_attr(splice->defaults, splice->n_defaults, from->ref);
        *kept = given != NULL;
        if (!given)
            return OX_OK;
        *to = *given; /* of the call, which is of this model */
        to->name = ox_arena_strdup(&s->model->arena, from->name);
        to->proto = NULL;
        return to->name ? OX_OK : no_room(s);
    }
    if (ox_attr_has_graphs(from)) {
        to->name = ox_arena_strdup(&s->model->arena, from->name);
        return to->name ? copy_graphs(s, level, node, to) : no_room(s);
    }
    return s->foreign ? copy_content(s, level->from, to) : OX_OK;
}

/* ---- Nodes and graphs --------------------------------------------------------------------------------------------- */

static enum ox_status copy_node(struct splicer *s, const struct level *level,
                                const struct ox_node *from)
{
    struct ox_value **inputs, **outputs;
    struct ox_strbuf name;
    OX_TRY(map_list(s, level, from->inputs, from->n_inputs, &inputs));
    OX_TRY(map_list(s, level, from->outputs, from->n_outputs, &outputs));
    size_t n_inputs = from->n_inputs;
    while (n_inputs && !inputs[n_inputs - 1])
        n_inputs--;
    ox_strbuf_init(&name);
    ox_strbuf_puts(&name, s->splice->name);
    if (*s->splice->name && *from->name)
        ox_strbuf_printf(&name, "_%s", from->name);
    else if (*s->splice->name) /* the place, for a body may have several of one operator */
        ox_strbuf_printf(&name, "_%s_%u", from->op_type, (unsigned)from->index);
    struct ox_node *node = name.failed ? NULL
                                       : ox_graph_add_node(level->to, from->op_type, from->domain,
                                                           ox_strbuf_text(&name, NULL), inputs,
                                                           n_inputs, outputs, from->n_outputs);
    ox_strbuf_release(&name);
    if (!node)
        return no_room(s);
    node->overload = ox_arena_strdup(&s->model->arena, from->overload);
    node->proto = s->foreign ? NULL : from->proto;
    node->attrs = ox_arena_array(&s->model->arena, from->n_attrs + 1, sizeof *node->attrs);
    if (!node->attrs || !node->overload)
        return no_room(s);
    for (size_t i = 0; i < from->n_attrs; i++) {
        bool kept;
        OX_TRY(copy_attr(s, level, node, &from->attrs[i], &node->attrs[node->n_attrs], &kept));
        node->n_attrs += kept;
    }
    return OX_OK;
}

static enum ox_status copy_nodes(struct splicer *s, const struct level *level)
{
    for (size_t i = 0; i < level->from->n_nodes; i++)
        OX_TRY(copy_node(s, level, level->from->nodes[i]));
    return OX_OK;
}

static enum ox_status copy_ports(struct splicer *s, const struct level *level)
{
    struct ox_graph *to = level->to;
    const struct ox_graph *from = level->from;
    OX_TRY(map_list(s, level, from->inputs, from->n_inputs, &to->inputs));
    to->n_inputs = from->n_inputs;
    for (size_t i = 0; i < to->n_inputs; i++) {
        to->inputs[i]->is_input = true;
        to->inputs[i]->type = copy_type(s, from->inputs[i]->type);
    }
    OX_TRY(copy_nodes(s, level));
    OX_TRY(map_list(s, level, from->outputs, from->n_outputs, &to->outputs));
    to->n_outputs = from->n_outputs;
    for (size_t i = 0; i < to->n_outputs; i++) {
        if (!to->outputs[i])
            return ox_fail(s->err, OX_UNSUPPORTED,
                           "a subgraph of a function gives back an input that the call omits");
        to->outputs[i]->is_output = true;
        if (!to->outputs[i]->type)
            to->outputs[i]->type = copy_type(s, from->outputs[i]->type);
    }
    return OX_OK;
}

/* Initializers of a subgraph become nodes, which are good in every graph. */
static enum ox_status copy_inits(struct splicer *s, const struct level *level)
{
    for (size_t i = 0; i < level->from->n_inits; i++) {
        const struct ox_stored *stored = level->from->inits[i];
        const struct ox_value *value = ox_graph_value(level->from, stored->name);
        if (!value || value->is_input)
            return ox_fail(s->err, OX_UNSUPPORTED,
                           "a subgraph of a function has an initializer that is an input");
        struct ox_value *output = map_value(s, level, value);
        struct ox_node *node =
            output ? ox_graph_add_node(level->to, "Constant", "", "", NULL, 0, &output, 1) : NULL;
        struct ox_attr *attr = node ? ox_node_add_attr(node, "value", OX_ATTR_TENSOR) : NULL;
        if (!attr)
            return no_room(s);
        attr->n = 1;
        OX_TRY(copy_tensor(s, level->from, stored, &attr->tensor));
    }
    return OX_OK;
}

static enum ox_status copy_graph(struct splicer *s, struct ox_node *parent, const char *parent_attr,
                                 const struct ox_graph *from, const struct level *up,
                                 struct ox_graph **out)
{
    struct ox_graph *graph;
    if (up->depth >= MOST_DEPTH)
        return ox_fail(s->err, OX_LIMIT, "subgraphs of a function are nested too deeply");
    OX_TRY(ox_lift_new_graph(&graph, s->model, NULL, s->err));
    graph->name = ox_arena_strdup(&s->model->arena, from->name);
    graph->parent = parent;
    graph->parent_attr = parent_attr;
    graph->scope = up->to;
    graph->function = up->to->function;
    struct level level = {.from = from, .to = graph, .up = up, .depth = up->depth + 1};
    level.map = calloc(from->n_values + 1, sizeof(*level.map));
    enum ox_status status = graph->name && level.map ? OX_OK : no_room(s);
    if (status == OX_OK)
        status = copy_inits(s, &level);
    if (status == OX_OK)
        status = copy_ports(s, &level);
    free(level.map);
    *out = graph;
    return status;
}

/* ---- The body ----------------------------------------------------------------------------------------------------- */

/* An output that is an input, or one that is there twice, is passed on by a node. */
static enum ox_status pass_on(struct splicer *s, const struct level *level, size_t i,
                              struct ox_value *output)
{
    const struct ox_value *from = level->from->outputs[i];
    struct ox_value *value = is_omitted(s, level, from) ? NULL : map_value(s, level, from);
    if (!value)
        return ox_fail(s->err, OX_UNSUPPORTED, "output %zu is an input that the call omits", i);
    return ox_graph_add_node(level->to, "Identity", "", "", &value, 1, &output, 1) ? OX_OK
                                                                                   : no_room(s);
}

struct ox_splice ox_splice_for(const struct ox_node *node, const struct ox_graph *body)
{
    return (struct ox_splice){.body = body,
                              .inputs = node->inputs,
                              .n_inputs = node->n_inputs,
                              .outputs = node->outputs,
                              .n_outputs = node->n_outputs,
                              .attrs = node->attrs,
                              .n_attrs = node->n_attrs,
                              .name = node->name};
}

/* What a graph's own subgraph captures, and its initializers, which keep their data. */
static enum ox_status bring_scope(struct splicer *s, const struct level *level)
{
    const struct ox_graph *body = level->from;
    for (size_t i = 0; i < body->n_values; i++)
        if (body->values[i]->outer)
            level->map[i] = body->values[i]->outer;
    for (size_t i = 0; i < body->n_inits; i++) {
        const struct ox_value *value = ox_graph_value(body, body->inits[i]->name);
        struct ox_tensor *tensor;
        if (!value || value->init != body->inits[i])
            continue;
        OX_TRY(ox_stored_load(s->model, value->init, &tensor, s->err));
        struct ox_value *copy = new_value(s, level->to, value->name);
        bool good = copy && ox_graph_add_init(level->to, copy, tensor);
        ox_tensor_release(tensor);
        if (!good)
            return no_room(s);
        level->map[value->id] = copy;
    }
    return OX_OK;
}

enum ox_status ox_graph_splice(struct ox_graph *into, const struct ox_splice *splice,
                               struct ox_error *err)
{
    struct splicer s = {.splice = splice,
                        .model = into->model,
                        .foreign = splice->body->model != into->model,
                        .err = err};
    const struct ox_graph *body = splice->body;
    struct level level = {.from = body, .to = into};
    level.map = calloc(body->n_values + 1, sizeof(*level.map));
    if (!level.map)
        return no_room(&s);
    for (size_t i = 0; i < body->n_inputs && i < splice->n_inputs; i++)
        level.map[body->inputs[i]->id] = splice->inputs[i];
    enum ox_status status = body->scope == into ? bring_scope(&s, &level) : OX_OK;
    for (size_t i = 0; i < body->n_outputs && i < splice->n_outputs; i++) {
        struct ox_value **slot = &level.map[body->outputs[i]->id];
        if (!*slot && !is_omitted(&s, &level, body->outputs[i]))
            *slot = splice->outputs[i];
    }
    if (status == OX_OK)
        status = copy_nodes(&s, &level);
    for (size_t i = 0; i < body->n_outputs && i < splice->n_outputs && status == OX_OK; i++) {
        struct ox_value *output = splice->outputs[i];
        if (output && level.map[body->outputs[i]->id] != output)
            status = pass_on(&s, &level, i, output);
    }
    free(level.map);
    return status;
}
