/* Model-local functions: identity, interface, imports, and that their calls end. */
#include <stdlib.h>
#include <string.h>

#include "check/structure.h"
#include "proto/onnx.pb-c.h"
#include "schema/schema.h"

static void check_attr_names(struct ox_checker *c, const struct ox_function *function)
{
    const struct ox_place place = {.graph = function->body};
    size_t n = function->n_attr_names + function->n_attr_defaults;
    struct ox_strmap seen;
    ox_strmap_init(&seen);
    for (size_t i = 0; i < n; i++) {
        const char *name = i < function->n_attr_names
                               ? function->attr_names[i]
                               : function->attr_defaults[i - function->n_attr_names].name;
        uint32_t at = (uint32_t)i;
        bool is_new = true;
        if (!ox_strmap_add(&seen, name, strlen(name), &at, &is_new))
            break;
        if (!is_new)
            ox_findings_add(c->findings, OX_F_FUNCTION_ATTR_TWICE, &place, NULL,
                            "attribute '%s' is declared again", name);
    }
    ox_strmap_release(&seen);
}

/* The model's version of a domain; where it imports none, the first function's that does. */
static int64_t model_version(const struct ox_model *model, const char *domain)
{
    for (size_t i = 0; i < model->n_opsets; i++)
        if (strcmp(model->opsets[i].domain, domain) == 0)
            return model->opsets[i].version;
    for (size_t k = 0; k < model->n_functions; k++)
        for (size_t i = 0; i < model->functions[k].n_opsets; i++)
            if (strcmp(model->functions[k].opsets[i].domain, domain) == 0)
                return model->functions[k].opsets[i].version;
    return 0;
}

static void check_compatible(struct ox_checker *c, const struct ox_node *node)
{
    const struct ox_place place = {.node = node};
    int64_t here = ox_graph_opset(node->graph, node->domain);
    int64_t there = model_version(c->model, node->domain);
    if (!here || !there || here == there)
        return;
    const struct ox_schema *ours = ox_schema_find(node->domain, node->op_type, here);
    const struct ox_schema *theirs = ox_schema_find(node->domain, node->op_type, there);
    if (ours != theirs)
        ox_findings_add(
            c->findings, OX_F_FUNCTION_OPSET_CONFLICT, &place, "import the same version in both",
            "the function imports version %lld of %s, the model %lld, and %s differs between them",
            (long long)here, *node->domain ? node->domain : "ai.onnx", (long long)there,
            node->op_type);
}

static void check_function(struct ox_checker *c, size_t at)
{
    const struct ox_function *function = &c->model->functions[at];
    const struct ox_place place = {.graph = function->body};
    if (!*function->name)
        ox_findings_add(c->findings, OX_F_FUNCTION_NAME_MISSING, &place, NULL,
                        "function %zu has no name", at);
    if (function->proto && !function->proto->domain)
        ox_findings_add(c->findings, OX_F_FUNCTION_DOMAIN_MISSING, &place, NULL,
                        "function '%s' has no domain", function->name);
    check_attr_names(c, function);
    for (size_t i = 0; i < function->n_attr_defaults; i++) {
        const struct ox_attr *attr = &function->attr_defaults[i];
        for (size_t k = 0; attr->type == OX_ATTR_TENSOR && attr->tensor && k < attr->n; k++)
            ox_check_tensor(c, &attr->tensor[k], &place);
    }
    for (size_t i = 0; i < function->body->n_nodes; i++)
        check_compatible(c, function->body->nodes[i]);
    ox_check_graph(c, function->body);
}

/* ---- Calls: a depth-first walk with a stack of its own ------------------------------------------------------------ */

struct edges {
    uint32_t *to;
    size_t n, cap;
};

struct frame {
    size_t function, at;
};

static size_t function_index(const struct ox_model *model, const struct ox_function *function)
{
    return (size_t)(function - model->functions);
}

static bool add_edge(struct edges *edges, uint32_t to)
{
    for (size_t i = 0; i < edges->n; i++)
        if (edges->to[i] == to)
            return true;
    if (edges->n == edges->cap) {
        size_t cap = edges->cap ? edges->cap * 2 : 4;
        uint32_t *grown = realloc(edges->to, cap * sizeof *grown);
        if (!grown)
            return false;
        edges->to = grown;
        edges->cap = cap;
    }
    edges->to[edges->n++] = to;
    return true;
}

static bool collect_edges(const struct ox_model *model, struct edges *edges)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        if (!graph->function)
            continue;
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            const struct ox_function *callee =
                ox_model_function(model, node->domain, node->op_type, node->overload);
            if (callee && !add_edge(&edges[function_index(model, graph->function)],
                                    (uint32_t)function_index(model, callee)))
                return false;
        }
    }
    return true;
}

enum { UNSEEN, ON_PATH, DONE };

static void walk_calls(struct ox_checker *c, const struct edges *edges, unsigned char *state,
                       struct frame *stack, size_t root)
{
    const struct ox_model *model = c->model;
    uint64_t most = model->env->limits.call_depth;
    size_t depth = 0;
    stack[depth++] = (struct frame){root, 0};
    state[root] = ON_PATH;
    while (depth) {
        struct frame *top = &stack[depth - 1];
        if (top->at == edges[top->function].n) {
            state[top->function] = DONE;
            depth--;
            continue;
        }
        size_t callee = edges[top->function].to[top->at++];
        const struct ox_place place = {.graph = model->functions[top->function].body};
        if (state[callee] == ON_PATH) {
            ox_findings_add(c->findings, OX_F_FUNCTION_RECURSIVE, &place, NULL,
                            "function '%s' calls '%s', which calls it in turn",
                            model->functions[top->function].name, model->functions[callee].name);
        } else if (state[callee] == UNSEEN) {
            if (most && depth >= most) {
                ox_findings_add(c->findings, OX_F_FUNCTION_TOO_DEEP, &place, NULL,
                                "calls are nested more than %llu deep", (unsigned long long)most);
                state[callee] = DONE;
                continue;
            }
            state[callee] = ON_PATH;
            stack[depth++] = (struct frame){callee, 0};
        }
    }
}

static void check_calls(struct ox_checker *c)
{
    size_t n = c->model->n_functions;
    struct edges *edges = calloc(n, sizeof *edges);
    unsigned char *state = calloc(n, 1);
    struct frame *stack = calloc(n + 1, sizeof *stack);
    if (edges && state && stack && collect_edges(c->model, edges))
        for (size_t i = 0; i < n; i++)
            if (state[i] == UNSEEN)
                walk_calls(c, edges, state, stack, i);
    for (size_t i = 0; edges && i < n; i++)
        free(edges[i].to);
    free(edges);
    free(state);
    free(stack);
}

void ox_check_functions(struct ox_checker *c)
{
    const struct ox_model *model = c->model;
    uint64_t most = model->env->limits.functions;
    if (!model->n_functions)
        return;
    if (model->ir_version < 8)
        ox_findings_add(c->findings, OX_F_FUNCTION_EARLY, NULL, "set ir_version to 8",
                        "%zu functions in a model of IR version %lld", model->n_functions,
                        (long long)model->ir_version);
    if (most && model->n_functions > most) {
        ox_findings_add(c->findings, OX_F_FUNCTION_TOO_DEEP, NULL, NULL,
                        "%zu functions; the limit is %llu", model->n_functions,
                        (unsigned long long)most);
        return;
    }
    for (size_t i = 0; i < model->n_functions; i++) {
        const struct ox_function *function = &model->functions[i];
        const struct ox_place place = {.graph = function->body};
        if (ox_model_function(model, function->domain, function->name, function->overload) !=
            function)
            ox_findings_add(c->findings, OX_F_FUNCTION_TWICE, &place, NULL,
                            "function '%s' of domain '%s' appears again", function->name,
                            function->domain);
        check_function(c, i);
    }
    check_calls(c);
}
