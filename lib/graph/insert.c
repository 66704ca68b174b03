/* Operators put in behind a value. */
#include <stdlib.h>
#include <string.h>

#include "graph/splice.h"
#include "model/graph_impl.h"
#include "model/value.h"
#include "shape/shapes.h"

struct insertion {
    struct ox_model *model;
    struct ox_value *value;
    const char *text;
    struct ox_error *err;
};

static enum ox_status no_room(const struct insertion *in)
{
    return ox_fail(in->err, OX_NO_MEMORY, "%s: out of memory", in->model->path);
}

/* ---- What is put in ----------------------------------------------------------------------------------------------- */

/* "Cast<to = 10>" or "(x) => (y) { ... }", as a model of the versions that this one imports. */
static enum ox_status read_body(const struct insertion *in, struct ox_model **body)
{
    const struct ox_model *model = in->model;
    struct ox_strbuf text = {0};
    struct ox_error why;
    ox_strbuf_printf(&text, "<ir_version: 10, opset_import: [");
    for (size_t i = 0; i < model->n_opsets; i++) {
        ox_strbuf_puts(&text, i ? ", \"" : "\"");
        ox_strbuf_puts(&text, model->opsets[i].domain);
        ox_strbuf_printf(&text, "\" : %lld", (long long)model->opsets[i].version);
    }
    ox_strbuf_puts(&text, "]> inserted ");
    if (strstr(in->text, "=>"))
        ox_strbuf_puts(&text, in->text);
    else
        ox_strbuf_printf(&text, "(x) => (y) { y = %s(x) }", in->text);
    enum ox_status status =
        text.failed ? no_room(in)
                    : ox_model_open_memory(body, model->env, text.data, text.len, NULL, &why);
    if (status == OX_INPUT)
        status = ox_fail(in->err, OX_USAGE,
                         "%s: what is to be put in is neither an operator, \"Cast<to = 10>\", nor "
                         "a graph, \"(x) => (y) { y = Neg(x) }\": %s",
                         model->path, why.message);
    else if (status != OX_OK && !text.failed)
        *in->err = why;
    ox_strbuf_release(&text);
    if (status != OX_OK)
        return status;
    const struct ox_graph *graph = (*body)->graph;
    if (!graph || graph->n_inputs != 1 || graph->n_outputs != 1 || graph->n_inits) {
        ox_model_release(*body);
        return ox_fail(in->err, OX_USAGE,
                       "%s: what is to be put in takes one value and makes one, with constants as "
                       "nodes",
                       model->path);
    }
    return OX_OK;
}

/* ---- Where -------------------------------------------------------------------------------------------------------- */

/* A value that a node makes goes on under its name, and what the node makes gets another; so nobody who takes it needs a change. */
static enum ox_status behind_node(struct insertion *in, struct ox_value **from)
{
    struct ox_value *value = in->value;
    struct ox_node *node = value->producer;
    struct ox_strbuf name = {0};
    ox_strbuf_printf(&name, "%s_before", value->name);
    *from = name.failed ? NULL : ox_graph_add_value(value->graph, name.data);
    ox_strbuf_release(&name);
    if (!*from)
        return no_room(in);
    (*from)->producer = node;
    (*from)->output_index = value->output_index;
    if (value->type) { /* what it was declared as */
        struct ox_type *type = ox_arena_copy(&in->model->arena, value->type, sizeof *type);
        if (!type)
            return no_room(in);
        type->proto = NULL;
        (*from)->type = type;
    }
    node->outputs[value->output_index] = *from;
    value->producer = NULL;
    return OX_OK;
}

/* An input or a constant keeps its name: who takes it takes the new value instead. */
static enum ox_status behind_input(struct insertion *in, struct ox_value **to)
{
    struct ox_value *value = in->value;
    struct ox_graph *graph = value->graph;
    struct ox_strbuf name = {0};
    char shown[OX_SHOWN_BYTES];
    if (ox_value_is_captured(value))
        return ox_fail(in->err, OX_UNSUPPORTED, "%s: '%s' is taken by a subgraph too",
                       in->model->path, ox_shown(shown, value->name, strlen(value->name)));
    ox_strbuf_printf(&name, "%s_after", value->name);
    *to = name.failed ? NULL : ox_graph_add_value(graph, name.data);
    ox_strbuf_release(&name);
    if (!*to)
        return no_room(in);
    for (size_t i = 0; i < graph->n_nodes; i++)
        for (size_t k = 0; k < graph->nodes[i]->n_inputs; k++)
            if (graph->nodes[i]->inputs[k] == value)
                graph->nodes[i]->inputs[k] = *to;
    return OX_OK;
}

static enum ox_status put_in(struct insertion *in, const struct ox_graph *body)
{
    struct ox_value *from = in->value, *to = in->value;
    if (in->value->producer)
        OX_TRY(behind_node(in, &from));
    else
        OX_TRY(behind_input(in, &to));
    const struct ox_splice splice = {.body = body,
                                     .inputs = &from,
                                     .n_inputs = 1,
                                     .outputs = &to,
                                     .n_outputs = 1,
                                     .name = in->value->name};
    OX_TRY(ox_graph_splice(in->value->graph, &splice, in->err));
    return ox_graph_sort(in->value->graph, in->err);
}

/* ---- Types of what follows ---------------------------------------------------------------------------------------- */

/* What is computed from the value, by id; the nodes stand in order. */
static void find_cone(const struct ox_graph *graph, const struct ox_value *from, bool *in_cone)
{
    in_cone[from->id] = true;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        struct ox_captures captures = {.node = node};
        bool takes = false;
        for (size_t k = 0; k < node->n_inputs; k++)
            takes |= node->inputs[k] && in_cone[node->inputs[k]->id];
        for (const struct ox_value *outer; !takes && (outer = ox_captures_next(&captures));)
            takes = outer->graph == graph && in_cone[outer->id];
        for (size_t k = 0; takes && k < node->n_outputs; k++)
            if (node->outputs[k])
                in_cone[node->outputs[k]->id] = true;
    }
}

static bool follows(const struct insertion *in, const struct ox_value *value, const bool *in_cone)
{
    const struct ox_graph *graph = value->graph;
    if (!value->producer)
        return false;
    if (graph == in->value->graph)
        return in_cone[value->id];
    const struct ox_node *node = graph->parent;
    while (node && node->graph != in->value->graph)
        node = node->graph->parent;
    return node && node->n_outputs && node->outputs[0] && in_cone[node->outputs[0]->id];
}

static enum ox_status declare(struct insertion *in, const struct ox_shapes *shapes,
                              struct ox_value *value)
{
    char shown[OX_SHOWN_BYTES];
    OX_TRY(ox_shapes_declare(shapes, in->model, value, in->err));
    if (value->type)
        return OX_OK;
    if (value->is_output && value->graph == in->model->graph)
        return ox_fail(in->err, OX_NEGATIVE, "%s: the type of output '%s' is not known then",
                       in->model->path, ox_shown(shown, value->name, strlen(value->name)));
    value->type = ox_arena_alloc(&in->model->arena, sizeof *value->type);
    return value->type ? OX_OK : no_room(in);
}

/* Types that are stored of what is computed from the value are those of before: they are inferred anew. */
static enum ox_status retype(struct insertion *in, const bool *in_cone)
{
    struct ox_model *model = in->model;
    struct ox_shapes *shapes = NULL;
    size_t n_stale = 0, room = 0;
    for (size_t g = 0; g < model->n_graphs; g++)
        room += model->graphs[g]->n_values;
    struct ox_value **stale = calloc(room + 1, sizeof(*stale));
    if (!stale)
        return no_room(in);
    for (size_t g = 0; g < model->n_graphs; g++) {
        for (size_t i = 0; i < model->graphs[g]->n_values; i++) {
            struct ox_value *value = model->graphs[g]->values[i];
            if (!follows(in, value, in_cone) || !(value->type || value->is_output))
                continue;
            value->type = NULL;
            stale[n_stale++] = value;
        }
    }
    enum ox_status status = ox_shapes_infer(&shapes, model, NULL, NULL, in->err);
    for (size_t i = 0; i < n_stale && status == OX_OK; i++)
        status = declare(in, shapes, stale[i]);
    ox_shapes_release(shapes);
    free((void *)stale);
    return status;
}

static enum ox_status finish(struct insertion *in)
{
    struct ox_graph *graph = in->value->graph;
    bool *in_cone = calloc(graph->n_values + 1, sizeof *in_cone);
    if (!in_cone)
        return no_room(in);
    find_cone(graph, in->value, in_cone);
    enum ox_status status = retype(in, in_cone);
    free(in_cone);
    return status;
}

enum ox_status ox_insert(struct ox_model *model, const char *value, const char *text,
                         struct ox_error *err)
{
    struct insertion in = {.model = model, .text = text, .err = err};
    struct ox_model *body = NULL;
    char shown[OX_SHOWN_BYTES];
    in.value = model->graph ? ox_graph_value(model->graph, value) : NULL;
    if (!in.value || !ox_value_defined(in.value) || in.value->sparse_init)
        return ox_fail(err, OX_USAGE, "%s: there is no value '%s' in the main graph", model->path,
                       ox_shown(shown, value, strlen(value)));
    if (!in.value->producer && in.value->is_output)
        return ox_fail(err, OX_UNSUPPORTED, "%s: '%s' is an output that no node makes", model->path,
                       ox_shown(shown, value, strlen(value)));
    OX_TRY(read_body(&in, &body));
    enum ox_status status = put_in(&in, body->graph);
    ox_model_release(body);
    return status == OX_OK ? finish(&in) : status;
}
