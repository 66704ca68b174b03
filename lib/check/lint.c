/* Advice that a node or a value by itself gives. */
#include "check/linter.h"

#include <inttypes.h>
#include <string.h>

#include "check/structure.h"
#include "model/name.h"

/* ---- Inputs ------------------------------------------------------------------------------------------------------- */

static void lint_input(struct ox_linter *lint, const struct ox_value *input)
{
    const struct ox_type *type = input->type;
    const struct ox_place place = {.graph = input->graph, .tensor = input->name};
    struct ox_name shown;
    int64_t batch;
    if (input->init || input->sparse_init) {
        if (lint->model->ir_version >= 4)
            ox_findings_add(lint->findings, OX_F_LINT_INIT_INPUT, &place,
                            "leave it out of the graph's inputs",
                            "initializer '%s' is an input too, so that it is no constant",
                            ox_name(&shown, input->name));
        return;
    }
    if (type && type->kind == OX_TYPE_TENSOR && type->has_rank && type->rank >= 2 &&
        ox_expr_is_int(type->dims[0], &batch))
        ox_findings_add(lint->findings, OX_F_LINT_FIXED_BATCH, &place,
                        "onnxtool shape-infer --free INPUT=batch opens it",
                        "the first dimension of input '%s' is always %" PRId64,
                        ox_name(&shown, input->name), batch);
}

/* ---- Double precision --------------------------------------------------------------------------------------------- */

static void lint_port(struct ox_linter *lint, const struct ox_value *value, const char *what)
{
    const struct ox_place place = {.graph = value->graph, .tensor = value->name};
    struct ox_name shown;
    if (value->type && value->type->kind == OX_TYPE_TENSOR && value->type->elem == OX_FLOAT64)
        ox_findings_add(lint->findings, OX_F_LINT_FLOAT64, &place, "float32 is enough mostly",
                        "%s '%s' is float64", what, ox_name(&shown, value->name));
}

static void lint_doubles(struct ox_linter *lint, const struct ox_graph *graph)
{
    const struct ox_stored *first = NULL;
    size_t n = 0;
    struct ox_name shown;
    for (size_t i = 0; i < graph->n_inits; i++) {
        if (graph->inits[i]->dtype != OX_FLOAT64)
            continue;
        first = first ? first : graph->inits[i];
        n++;
    }
    if (n)
        ox_findings_add(lint->findings, OX_F_LINT_FLOAT64,
                        &(struct ox_place){.graph = graph, .tensor = first->name},
                        "float32 is enough mostly", "%zu initializer%s float64, the first is '%s'",
                        n, n == 1 ? " is" : "s are", ox_name(&shown, first->name));
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

static bool stays_float(const struct ox_node *node)
{
    static const char *const names[] = {
        "Attention", "CausalConvWithState", "DeformConv", "Einsum", "GRU",
        "LSTM",      "LinearAttention",     "RNN"};
    for (size_t i = 0; !*node->domain && i < OX_COUNT(names); i++)
        if (strcmp(names[i], node->op_type) == 0)
            return true;
    return false;
}

static void lint_node(struct ox_linter *lint, const struct ox_node *node)
{
    const struct ox_place place = {.node = node};
    size_t n_graphs = 0;
    struct ox_name shown;
    for (size_t i = 0; i < node->n_attrs; i++)
        if (ox_attr_has_graphs(&node->attrs[i]))
            n_graphs += node->attrs[i].n;
    if (n_graphs)
        ox_findings_add(lint->findings, OX_F_LINT_SUBGRAPH, &place, NULL, "%s holds %zu graph%s",
                        ox_name(&shown, node->op_type), n_graphs, n_graphs == 1 ? "" : "s");
    if (stays_float(node))
        ox_findings_add(lint->findings, OX_F_LINT_STAYS_FLOAT, &place, NULL,
                        "%s has no 8-bit form that quantizers write", node->op_type);
    const struct ox_attr *to = ox_node_attr(node, "to");
    if (strcmp(node->op_type, "Cast") == 0 && !*node->domain && to && to->type == OX_ATTR_INT &&
        !to->ref && to->i == OX_FLOAT64)
        ox_findings_add(lint->findings, OX_F_LINT_FLOAT64, &place, "float32 is enough mostly",
                        "Cast makes float64");
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

enum ox_status ox_check_lint(struct ox_findings *findings, struct ox_model *model,
                             struct ox_error *err)
{
    struct ox_linter lint = {.model = model, .findings = findings, .err = err};
    const struct ox_graph *main = model->graph;
    for (size_t i = 0; main && i < main->n_inputs; i++) {
        lint_input(&lint, main->inputs[i]);
        lint_port(&lint, main->inputs[i], "input");
    }
    for (size_t i = 0; main && i < main->n_outputs; i++)
        lint_port(&lint, main->outputs[i], "output");
    for (size_t g = 0; g < model->n_graphs; g++) {
        lint_doubles(&lint, model->graphs[g]);
        for (size_t i = 0; i < model->graphs[g]->n_nodes; i++)
            lint_node(&lint, model->graphs[g]->nodes[i]);
    }
    OX_TRY(ox_env_poll(model->env, err));
    OX_TRY(ox_lint_unused(&lint));
    OX_TRY(ox_lint_external(&lint));
    OX_TRY(ox_lint_qdq(&lint));
    return ox_lint_duplicates(&lint);
}
