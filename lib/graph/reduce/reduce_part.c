/* A part of a model in the making: a copy with less in it. */
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "graph/reduce/reducer.h"
#include "graph/splice.h"
#include "model/graph_impl.h"
#include "model/value.h"
#include "shape/shapes.h"
#include "tensor/tensor.h"

static enum ox_status no_room(const struct ox_remnant *part, struct ox_error *err)
{
    return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", part->model->path);
}

enum ox_status ox_remnant_begin(struct ox_remnant *part, struct ox_reduction *r,
                                const struct ox_model *base, struct ox_error *err)
{
    *part = (struct ox_remnant){.r = r, .fits = true};
    OX_TRY(ox_model_copy(&part->model, base, err));
    const struct ox_graph *graph = part->model->graph;
    part->outputs = calloc(graph->n_values + 1, sizeof(*part->outputs));
    if (!part->outputs)
        return no_room(part, err);
    for (size_t i = 0; i < graph->n_outputs; i++)
        part->outputs[part->n_outputs++] = graph->outputs[i];
    return ox_shapes_infer(&part->shapes, part->model, NULL, NULL, err);
}

static bool is_output(const struct ox_remnant *part, const struct ox_value *value)
{
    for (size_t i = 0; i < part->n_outputs; i++)
        if (part->outputs[i] == value)
            return true;
    return false;
}

/* ---- Cutting ------------------------------------------------------------------------------------------------------- */

static enum ox_status make_input(struct ox_remnant *part, struct ox_value *value,
                                 struct ox_error *err)
{
    struct ox_graph *graph = part->model->graph;
    struct ox_value **list =
        ox_arena_array(&part->model->arena, graph->n_inputs + 1, sizeof(*list));
    if (!list)
        return no_room(part, err);
    if (graph->n_inputs)
        memcpy((void *)list, (const void *)graph->inputs, graph->n_inputs * sizeof(*list));
    list[graph->n_inputs++] = value;
    graph->inputs = list;
    value->is_input = true;
    part->fits &= value->type != NULL;
    return OX_OK;
}

static enum ox_status cut(struct ox_remnant *part, struct ox_value *value, enum ox_cut_to cut_to,
                          struct ox_error *err)
{
    const bool size = ox_says_size(ox_shapes_type(part->shapes, value));
    const struct ox_tensor *tensor = NULL;
    if (cut_to == OX_CUT_TO_CONSTANTS || size)
        OX_TRY(
            ox_reduction_value(part->r, value->name, cut_to == OX_CUT_TO_CONSTANTS, &tensor, err));
    value->producer = NULL;
    if (tensor)
        return ox_graph_add_init(part->model->graph, value, tensor) ? OX_OK : no_room(part, err);
    part->fits &= cut_to == OX_CUT_TO_INPUTS;
    if (!part->fits)
        return OX_OK;
    OX_TRY(ox_shapes_declare(part->shapes, part->model, value, err));
    return make_input(part, value, err);
}

/* Marks what a node takes of the main graph, by value id. */
static void mark_taken(const struct ox_node *node, bool *taken)
{
    struct ox_captures captures = {.node = node};
    for (size_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k])
            taken[node->inputs[k]->id] = true;
    for (const struct ox_value *outer; (outer = ox_captures_next(&captures));)
        taken[outer->id] = true;
}

/* Outputs that go are made up for by what went into them. */
static void take_outputs(struct ox_remnant *part, const bool *remove, const bool *of_kept,
                         const bool *of_removed)
{
    const struct ox_graph *graph = part->model->graph;
    const size_t before = part->n_outputs;
    size_t n = 0;
    for (size_t i = 0; i < before; i++) {
        const struct ox_node *node = part->outputs[i]->producer;
        if (node && !remove[node->index])
            part->outputs[n++] = part->outputs[i];
    }
    part->n_outputs = n;
    for (size_t i = 0; i < graph->n_values && n < before; i++) {
        struct ox_value *value = graph->values[i];
        const struct ox_node *node = value->producer;
        if (node && !remove[node->index] && of_removed[i] && !of_kept[i] &&
            strcmp(node->op_type, "Constant") != 0 && !is_output(part, value))
            part->outputs[part->n_outputs++] = value;
    }
    part->fits = part->n_outputs > 0;
}

static enum ox_status remove_marked(struct ox_remnant *part, const bool *remove, bool *of_kept,
                                    bool *of_removed, enum ox_cut_to cut_to, struct ox_error *err)
{
    struct ox_graph *graph = part->model->graph;
    const size_t n_values = graph->n_values;
    for (size_t i = 0; i < graph->n_nodes; i++)
        mark_taken(graph->nodes[i], remove[i] ? of_removed : of_kept);
    take_outputs(part, remove, of_kept, of_removed);
    for (size_t i = 0; i < n_values && part->fits; i++) {
        const struct ox_node *node = graph->values[i]->producer;
        if (node && remove[node->index] && of_kept[i])
            OX_TRY(cut(part, graph->values[i], cut_to, err));
    }
    return OX_OK;
}

enum ox_status ox_remnant_remove(struct ox_remnant *part, const bool *remove, enum ox_cut_to cut_to,
                                 struct ox_error *err)
{
    const size_t n = part->model->graph->n_values;
    bool *of_kept = calloc(n + 1, sizeof *of_kept), *of_removed = calloc(n + 1, sizeof *of_removed);
    enum ox_status status = of_kept && of_removed
                                ? remove_marked(part, remove, of_kept, of_removed, cut_to, err)
                                : no_room(part, err);
    free(of_kept);
    free(of_removed);
    return status;
}

/* ---- A node passed by ---------------------------------------------------------------------------------------------- */

static bool same_type(const struct ox_type *a, const struct ox_type *b)
{
    bool same = a && b && a->kind == OX_TYPE_TENSOR && b->kind == a->kind && a->elem == b->elem &&
                a->elem != OX_UNDEFINED && a->has_rank && b->has_rank && a->rank == b->rank;
    for (unsigned i = 0; same && i < a->rank; i++)
        same = a->dims[i] && a->dims[i] == b->dims[i];
    return same;
}

static bool is_taken(const struct ox_remnant *part, const struct ox_value *value)
{
    const struct ox_graph *graph = value->graph;
    bool taken =
        ox_value_is_captured(value) || (graph == part->model->graph && is_output(part, value));
    for (size_t i = 0; i < graph->n_outputs && graph != part->model->graph; i++)
        taken |= graph->outputs[i] == value;
    for (size_t i = 0; i < graph->n_nodes; i++)
        for (size_t k = 0; k < graph->nodes[i]->n_inputs; k++)
            taken |= graph->nodes[i]->inputs[k] == value;
    return taken;
}

static void replace(struct ox_remnant *part, const struct ox_value *from, struct ox_value *to)
{
    struct ox_graph *graph = to->graph;
    const bool is_main = graph == part->model->graph;
    struct ox_value **outputs = is_main ? part->outputs : graph->outputs;
    const size_t n_outputs = is_main ? part->n_outputs : graph->n_outputs;
    for (size_t i = 0; i < n_outputs; i++) {
        if (outputs[i] != from)
            continue;
        part->fits &= to->producer != NULL && !to->is_output && !is_output(part, to);
        outputs[i] = to;
        to->is_output = true;
        to->type = to->type ? to->type : from->type;
        to->removed = !is_main; /* what value_info says of it, its entry among the outputs does */
    }
    for (size_t i = 0; i < graph->n_nodes; i++)
        for (size_t k = 0; k < graph->nodes[i]->n_inputs; k++)
            if (graph->nodes[i]->inputs[k] == from)
                graph->nodes[i]->inputs[k] = to;
}

/* What no node of a body takes any more is not captured either. */
static void release_captures(struct ox_graph *graph)
{
    for (size_t i = 0; i < graph->n_values; i++) {
        struct ox_value *value = graph->values[i];
        bool taken = !value->outer || ox_value_is_captured(value);
        for (size_t k = 0; k < graph->n_outputs; k++)
            taken |= graph->outputs[k] == value;
        for (size_t n = 0; n < graph->n_nodes && !taken; n++)
            for (size_t k = 0; k < graph->nodes[n]->n_inputs; k++)
                taken |= graph->nodes[n]->inputs[k] == value;
        if (!taken)
            value->outer = NULL;
    }
}

static enum ox_status take_out(const struct ox_remnant *part, struct ox_graph *graph, size_t node,
                               struct ox_error *err)
{
    bool *remove = calloc(graph->n_nodes + 1, sizeof *remove);
    if (!remove)
        return no_room(part, err);
    remove[node] = true;
    ox_graph_remove_nodes(graph, remove);
    free(remove);
    for (struct ox_graph *at = graph; at; at = at->scope)
        release_captures(at);
    return OX_OK;
}

enum ox_status ox_remnant_bypass(struct ox_remnant *part, size_t graph, size_t node, size_t k,
                                 struct ox_error *err)
{
    struct ox_graph *in = part->model->graphs[graph];
    const struct ox_node *gone = in->nodes[node];
    struct ox_value *by = k < gone->n_inputs ? gone->inputs[k] : NULL, *from = NULL;
    for (size_t i = 0; i < gone->n_outputs; i++) {
        struct ox_value *value = gone->outputs[i];
        if (!value || !is_taken(part, value))
            continue;
        part->fits &= !from && by && !ox_value_is_captured(value);
        from = value;
    }
    part->fits &= (from != NULL) == (k < gone->n_inputs);
    if (part->fits && from)
        part->fits =
            same_type(ox_shapes_type(part->shapes, from), ox_shapes_type(part->shapes, by));
    if (part->fits && from)
        replace(part, from, by);
    return part->fits ? take_out(part, in, node, err) : OX_OK;
}

/* ---- A subgraph put where its node is ------------------------------------------------------------------------------- */

/* What a body is given that its node does not take as it is: the number of the trip, the condition, slices. */
static struct ox_value *given_input(struct ox_remnant *part, const struct ox_value *input,
                                    struct ox_error *err)
{
    struct ox_value *value = ox_graph_add_value(part->model->graph, input->name);
    const struct ox_type *type = ox_shapes_type(part->shapes, input);
    struct ox_type *own = value ? ox_arena_alloc(&part->model->arena, sizeof *own) : NULL;
    if (!own) {
        no_room(part, err);
        return NULL;
    }
    part->fits &= type != NULL;
    *own = type ? *type : (struct ox_type){.kind = OX_TYPE_UNKNOWN};
    own->proto = NULL;
    value->type = own;
    return make_input(part, value, err) == OX_OK ? value : NULL;
}

/* Which input of the node goes into input i of the body as it is; SIZE_MAX: none. */
static size_t input_for(const struct ox_node *node, const struct ox_graph *body, size_t i)
{
    if (strcmp(node->op_type, "Loop") == 0)
        return i >= 2 && i < node->n_inputs ? i : SIZE_MAX;
    if (strcmp(node->op_type, "Scan") == 0) {
        const struct ox_attr *scanned = ox_node_attr(node, "num_scan_inputs");
        const size_t n = scanned && scanned->i > 0 ? (size_t)scanned->i : 0;
        return i + n < body->n_inputs && i < node->n_inputs ? i : SIZE_MAX;
    }
    return SIZE_MAX;
}

static enum ox_status splice_body(struct ox_remnant *part, struct ox_node *node,
                                  const struct ox_graph *body, struct ox_value **inputs,
                                  struct ox_value **outputs, struct ox_error *err)
{
    const size_t skipped = strcmp(node->op_type, "Loop") == 0; /* the condition */
    for (size_t i = 0; i < body->n_inputs; i++) {
        const size_t k = input_for(node, body, i);
        inputs[i] = k == SIZE_MAX ? given_input(part, body->inputs[i], err) : node->inputs[k];
        if (!inputs[i])
            return k == SIZE_MAX ? OX_NO_MEMORY : OX_OK;
    }
    for (size_t i = 0; i < node->n_outputs && i + skipped < body->n_outputs; i++) {
        outputs[i + skipped] = node->outputs[i];
        if (node->outputs[i])
            node->outputs[i]->type = NULL;
    }
    const struct ox_splice splice = {.body = body,
                                     .inputs = inputs,
                                     .n_inputs = body->n_inputs,
                                     .outputs = outputs,
                                     .n_outputs = body->n_outputs,
                                     .name = node->name};
    enum ox_status status = ox_graph_splice(node->graph, &splice, err);
    if (status == OX_UNSUPPORTED) {
        part->fits = false;
        return OX_OK;
    }
    OX_TRY(status);
    OX_TRY(take_out(part, node->graph, node->index, err));
    OX_TRY(ox_graph_sort(part->model->graph, err));
    if (!ox_model_part_names(part->model))
        return no_room(part, err);
    ox_shapes_release(part->shapes);
    part->shapes = NULL;
    return ox_shapes_infer(&part->shapes, part->model, NULL, NULL, err);
}

enum ox_status ox_remnant_open(struct ox_remnant *part, size_t node, const char *attr, size_t k,
                               struct ox_error *err)
{
    struct ox_node *opened = part->model->graph->nodes[node];
    const struct ox_graph *body = ox_node_attr(opened, attr)->graphs[k];
    struct ox_value **inputs = calloc(body->n_inputs + 1, sizeof(*inputs));
    struct ox_value **outputs = calloc(body->n_outputs + 1, sizeof(*outputs));
    part->fits &= body->n_sparse_inits == 0;
    enum ox_status status = inputs && outputs ? OX_OK : no_room(part, err);
    if (status == OX_OK && part->fits)
        status = splice_body(part, opened, body, inputs, outputs, err);
    free((void *)inputs);
    free((void *)outputs);
    return status;
}

/* ---- Asking -------------------------------------------------------------------------------------------------------- */

static enum ox_status finish(struct ox_remnant *part, struct ox_error *err)
{
    const char **names = calloc(part->n_outputs + 1, sizeof *names);
    struct ox_error why;
    if (!names)
        return no_room(part, err);
    for (size_t i = 0; i < part->n_outputs; i++)
        names[i] = part->outputs[i]->name;
    enum ox_status status =
        ox_extract(part->model, part->shapes, NULL, 0, names, part->n_outputs, &why);
    free((void *)names);
    part->fits = status == OX_OK;
    if (status == OX_OK || status == OX_USAGE)
        return OX_OK;
    *err = why;
    return status;
}

static enum ox_status count_errors(struct ox_model *model, size_t *n, struct ox_error *err)
{
    struct ox_findings *findings;
    OX_TRY(ox_check(&findings, model, &(struct ox_check_options){.full = true}, err));
    *n = ox_findings_errors(findings);
    ox_findings_release(findings);
    return OX_OK;
}

static void put_names(struct ox_strbuf *text, struct ox_value *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_puts(text, values[i] ? values[i]->name : "");
        ox_strbuf_putc(text, values[i] && values[i]->init ? '=' : ',');
    }
    ox_strbuf_putc(text, '\n');
}

/* What tells a part from others of the same model. */
static void put_print(struct ox_strbuf *text, const struct ox_model *model)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        put_names(text, graph->inputs, graph->n_inputs);
        put_names(text, graph->outputs, graph->n_outputs);
        for (size_t i = 0; i < graph->n_nodes; i++) {
            ox_strbuf_puts(text, graph->nodes[i]->op_type);
            put_names(text, graph->nodes[i]->inputs, graph->nodes[i]->n_inputs);
            put_names(text, graph->nodes[i]->outputs, graph->nodes[i]->n_outputs);
        }
    }
}

static enum ox_status is_new(const struct ox_remnant *part, bool *new, struct ox_error *err)
{
    struct ox_strbuf text = {0};
    put_print(&text, part->model);
    const uint64_t print[2] = {ox_strmap_hash(text.data ? text.data : "", text.len, 1),
                               ox_strmap_hash(text.data ? text.data : "", text.len, 2)};
    const char *key = text.failed ? NULL : ox_arena_copy(&part->r->arena, print, sizeof print);
    uint32_t one = 1;
    ox_strbuf_release(&text);
    return key && ox_strmap_add(&part->r->asked, key, sizeof print, &one, new) ? OX_OK
                                                                               : no_room(part, err);
}

static enum ox_status keep(struct ox_remnant *part, struct ox_error *err)
{
    struct ox_reduction *r = part->r;
    void *items = (void *)r->kept;
    if (!ox_grow(&items, &r->cap_kept, r->n_kept, sizeof(*r->kept)))
        return no_room(part, err);
    r->kept = items;
    r->kept[r->n_kept++] = part->model;
    part->model = NULL;
    return OX_OK;
}

static enum ox_status ask(struct ox_remnant *part, bool *fails, struct ox_error *err)
{
    struct ox_reduction *r = part->r;
    enum ox_reduce_verdict verdict = OX_PASSES;
    size_t n_errors = 0;
    bool fresh = false;
    OX_TRY(finish(part, err));
    if (part->fits)
        OX_TRY(is_new(part, &fresh, err));
    if (fresh)
        OX_TRY(count_errors(part->model, &n_errors, err));
    if (!fresh || n_errors > r->most_errors) {
        r->told->n_spared++;
        return OX_OK;
    }
    OX_TRY(r->options->check(r->options->arg, part->model, &verdict, err));
    r->stopped = verdict == OX_STOP;
    if (r->stopped)
        return OX_CANCELLED;
    r->told->n_checks++;
    *fails = verdict == OX_FAILS;
    return *fails ? keep(part, err) : OX_OK;
}

enum ox_status ox_remnant_end(struct ox_remnant *part, enum ox_status status, bool *fails,
                              struct ox_error *err)
{
    *fails = false;
    if (status == OX_OK && part->fits)
        status = ask(part, fails, err);
    ox_shapes_release(part->shapes);
    ox_model_release(part->model);
    free((void *)part->outputs);
    return status;
}
