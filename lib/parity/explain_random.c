/* Evidence of chance: operators that draw random numbers, alone, in the graphs of others or in the functions they call. */
#include <stdlib.h>
#include <string.h>

#include "model/value.h"
#include "ops/op.h"
#include "parity/causes.h"

enum { MOST_FUNCTIONS = 64 };

/* Which input of a node is its training_mode, without which it draws nothing; its number of inputs: none. */
static size_t training_mode(const struct ox_node *node)
{
    const struct ox_schema *schema = ox_explain_schema(node);
    for (size_t i = 0; schema && i < schema->n_inputs && i < node->n_inputs; i++)
        if (strcmp(schema->inputs[i].name, "training_mode") == 0)
            return i;
    return node->n_inputs;
}

/* Dropout of onnx and of onnxruntime: what it does depends on how it is asked for. */
static bool is_dropout(const struct ox_node *node)
{
    return strcmp(node->op_type, "Dropout") == 0 || strcmp(node->op_type, "BiasDropout") == 0;
}

/* By the operator, whatever its inputs are. (The standard calls operators that hold graphs non-deterministic too.) */
static bool is_random(const struct ox_node *node)
{
    const struct ox_op *op =
        ox_op_find(node->domain, node->op_type, ox_graph_opset(node->graph, node->domain));
    return op && op->flags & OX_OP_RANDOM && !is_dropout(node);
}

static bool stands_in(const struct ox_graph *graph, const struct ox_node *node)
{
    for (; graph && graph->parent; graph = graph->parent->graph)
        if (graph->parent == node)
            return true;
    return false;
}

/* The functions that a node reaches. */
struct calls {
    const struct ox_function *list[MOST_FUNCTIONS];
    size_t n;
};

static void add_call(struct calls *calls, const struct ox_node *node)
{
    const struct ox_function *function =
        ox_model_function(node->graph->model, node->domain, node->op_type, node->overload);
    for (size_t i = 0; i < calls->n; i++)
        if (calls->list[i] == function)
            return;
    if (function && calls->n < MOST_FUNCTIONS)
        calls->list[calls->n++] = function;
}

/* In a graph: the first node that draws; NULL. */
static const struct ox_node *find_in_graph(const struct ox_graph *graph, struct calls *calls)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (is_random(graph->nodes[i]))
            return graph->nodes[i];
        add_call(calls, graph->nodes[i]);
    }
    return NULL;
}

/* The node that draws: this one, or one inside; NULL. */
static const struct ox_node *find_drawing(const struct ox_node *node)
{
    const struct ox_model *model = node->graph->model;
    const struct ox_node *found = is_random(node) ? node : NULL;
    struct calls calls = {.n = 0};
    add_call(&calls, node);
    for (size_t i = 0; i < model->n_graphs && !found && ox_node_has_graphs(node); i++)
        if (stands_in(model->graphs[i], node))
            found = find_in_graph(model->graphs[i], &calls);
    for (size_t k = 0; k < calls.n && !found; k++)
        for (size_t i = 0; i < model->n_graphs && !found; i++)
            if (model->graphs[i]->function == calls.list[k])
                found = find_in_graph(model->graphs[i], &calls);
    return found;
}

void ox_explain_random(struct ox_explaining *e, const struct ox_region *region, const char *side)
{
    char label[OX_LABEL_SIZE];
    for (size_t i = 0; i < region->n_nodes; i++) {
        const struct ox_node *node = region->nodes[i], *drawing = find_drawing(node);
        if (drawing == node)
            ox_cause_add(e->causes, 93, "random", "%s in %s draws random numbers", node->op_type,
                         side);
        else if (drawing)
            ox_cause_add(e->causes, 93, "random",
                         "%s in %s draws random numbers: %s (node '%s') inside does", node->op_type,
                         side, drawing->op_type, ox_explain_label(drawing, label));
    }
}

/* ---- Of an output -------------------------------------------------------------------------------------------------- */

bool ox_explain_is_old_training(const struct ox_node *node)
{
    const struct ox_attr *quiet = ox_node_attr(node, "is_test");
    return strcmp(node->op_type, "Dropout") == 0 && !node->domain[0] &&
           ox_graph_opset(node->graph, "") < 7 && (!quiet || quiet->i == 0);
}

/* Dropout whose training_mode is a constant that says so, or that is in training unless told otherwise. */
static enum ox_status drops(const struct ox_node *node, bool *answer, struct ox_error *err)
{
    const size_t mode = training_mode(node);
    const struct ox_stored *stored =
        mode < node->n_inputs ? ox_value_stored(node->inputs[mode]) : NULL;
    struct ox_tensor *tensor;
    *answer = ox_explain_is_old_training(node);
    if (!stored)
        return OX_OK;
    OX_TRY(ox_stored_load(node->graph->model, stored, &tensor, err));
    *answer = tensor->n == 1 && tensor->dtype == OX_BOOL && ox_tensor_get_double(tensor, 0) != 0;
    ox_tensor_release(tensor);
    return OX_OK;
}

static void need(const struct ox_value *value, bool *needed)
{
    if (value && value->producer)
        needed[value->producer->index] = true;
}

/* What the graphs of a node capture of the main one. */
static void need_captured(const struct ox_node *node, bool *needed)
{
    const struct ox_model *model = node->graph->model;
    for (size_t i = 0; i < model->n_graphs; i++) {
        const struct ox_graph *graph = model->graphs[i];
        for (size_t k = 0; k < graph->n_values && stands_in(graph, node); k++)
            if (graph->values[k]->outer && graph->values[k]->outer->graph == node->graph)
                need(graph->values[k]->outer, needed);
    }
}

/* One way back over the main graph, whose nodes are in order. */
static enum ox_status find_needed(const struct ox_graph *graph, const struct ox_node *last,
                                  bool *needed, const char **op_type, struct ox_error *err)
{
    needed[last->index] = true;
    for (size_t i = last->index + 1; i-- > 0 && !*op_type;) {
        const struct ox_node *node = graph->nodes[i];
        if (!needed[i])
            continue;
        const struct ox_node *drawing = find_drawing(node);
        bool dropping = false;
        if (!drawing)
            OX_TRY(drops(node, &dropping, err));
        if (drawing || dropping)
            *op_type = drawing ? drawing->op_type : node->op_type;
        for (size_t k = 0; k < node->n_inputs; k++)
            need(node->inputs[k], needed);
        if (ox_node_has_graphs(node))
            need_captured(node, needed);
    }
    return OX_OK;
}

enum ox_status ox_parity_chance(struct ox_model *model, const char *output, const char **op_type,
                                struct ox_error *err)
{
    const struct ox_value *value = model->graph ? ox_graph_value(model->graph, output) : NULL;
    *op_type = NULL;
    if (!value || !value->producer)
        return OX_OK;
    bool *needed = calloc(model->graph->n_nodes + 1, sizeof *needed);
    if (!needed)
        return ox_no_memory(err);
    enum ox_status status = find_needed(model->graph, value->producer, needed, op_type, err);
    free(needed);
    return status;
}
