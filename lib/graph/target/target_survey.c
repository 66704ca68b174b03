/* Gathers a model's nodes into classes that every runtime treats alike. */
#include "graph/target/target_survey.h"

#include <stdlib.h>
#include <string.h>

#include "schema/param.h"
#include "schema/schema.h"

enum { MOST_BINDINGS = 256 };

static uint64_t type_bit(const struct ox_type *type)
{
    if (!type || type->kind == OX_TYPE_UNKNOWN)
        return 0;
    if (type->kind == OX_TYPE_OPTIONAL)
        return OX_TARGET_OPTIONAL;
    bool sequence = type->kind == OX_TYPE_SEQUENCE && type->inner;
    const struct ox_type *tensor = sequence ? type->inner : type;
    if (tensor->kind == OX_TYPE_UNKNOWN)
        return 0;
    if (tensor->kind != OX_TYPE_TENSOR)
        return OX_TARGET_OTHER;
    if (tensor->elem == OX_UNDEFINED || (unsigned)tensor->elem >= OX_TARGET_SEQUENCE_BIT)
        return 0;
    return (uint64_t)1 << ((sequence ? (unsigned)OX_TARGET_SEQUENCE_BIT : 0) +
                           (unsigned)tensor->elem);
}

static uint64_t value_bit(const struct ox_target_survey *survey, const struct ox_value *value)
{
    if (!value)
        return 0;
    const struct ox_type *type = ox_shapes_type(survey->shapes, value);
    return type_bit(type ? type : value->type);
}

size_t ox_target_bindings(struct ox_target_binding *out, size_t most,
                          const struct ox_target_survey *survey, const struct ox_node *node,
                          const struct ox_schema *schema)
{
    size_t n = 0;
    for (int side = 0; side < 2; side++) {
        struct ox_value *const *values = side ? node->outputs : node->inputs;
        size_t n_values = side ? node->n_outputs : node->n_inputs;
        for (size_t i = 0; i < n_values && n < most; i++) {
            const struct ox_schema_param *param =
                schema ? ox_param_at(side ? schema->outputs : schema->inputs,
                                     side ? schema->n_outputs : schema->n_inputs, i)
                       : NULL;
            if (values[i])
                out[n++] = (struct ox_target_binding){
                    .param = param ? param->name : "",
                    .constraint = param ? param->type : "",
                    .bit = value_bit(survey, values[i]),
                    .has_allowed = param != NULL,
                    .allowed = param ? param->allowed : 0,
                };
        }
    }
    return n;
}

/* What runtimes see of a node, as bytes: two nodes with the same key are one class. */
static bool write_key(struct ox_strbuf *key, const struct ox_target_survey *survey,
                      const struct ox_node *node, int64_t opset)
{
    ox_strbuf_clear(key);
    ox_strbuf_add(key, node->domain, strlen(node->domain) + 1);
    ox_strbuf_add(key, node->op_type, strlen(node->op_type) + 1);
    ox_strbuf_add(key, node->overload ? node->overload : "",
                  strlen(node->overload ? node->overload : "") + 1);
    ox_strbuf_add(key, &opset, sizeof opset);
    for (size_t i = 0; i < node->n_inputs; i++) {
        uint64_t bit = value_bit(survey, node->inputs[i]) | (node->inputs[i] ? 0 : UINT64_MAX);
        ox_strbuf_add(key, &bit, sizeof bit);
    }
    ox_strbuf_putc(key, '|');
    for (size_t i = 0; i < node->n_outputs; i++) {
        uint64_t bit = value_bit(survey, node->outputs[i]) | (node->outputs[i] ? 0 : UINT64_MAX);
        ox_strbuf_add(key, &bit, sizeof bit);
    }
    return !key->failed;
}

static bool add_class(struct ox_target_survey *survey, const struct ox_node *node, int64_t opset)
{
    if (survey->n_classes == survey->cap_classes) {
        size_t cap = survey->cap_classes ? 2 * survey->cap_classes : 64;
        struct ox_target_class *more = realloc(survey->classes, cap * sizeof *more);
        if (!more)
            return false;
        survey->classes = more;
        survey->cap_classes = cap;
    }
    const struct ox_schema *schema = ox_schema_find(node->domain, node->op_type, opset);
    if (!schema)
        schema = ox_schema_find_foreign(node->domain, node->op_type, opset);
    struct ox_target_binding bindings[MOST_BINDINGS];
    size_t n = ox_target_bindings(bindings, MOST_BINDINGS, survey, node, schema);
    const void *kept = ox_arena_copy(&survey->arena, bindings, n * sizeof *bindings);
    if (!kept)
        return false;
    survey->classes[survey->n_classes++] = (struct ox_target_class){
        .domain = node->domain,
        .op_type = node->op_type,
        .opset = opset,
        .schema = schema,
        .function = ox_model_function(survey->model, node->domain, node->op_type, node->overload),
        .node = node,
        .is_constant = strcmp(node->op_type, "Constant") == 0 && !*node->domain,
        .bindings = kept,
        .n_bindings = n,
    };
    return true;
}

static bool add_node(struct ox_target_survey *survey, struct ox_strbuf *key,
                     const struct ox_node *node)
{
    int64_t opset = ox_graph_opset(node->graph, node->domain);
    if (!write_key(key, survey, node, opset))
        return false;
    uint32_t class = ox_strmap_find(&survey->keys, key->data, key->len);
    if (class == OX_STRMAP_NONE) {
        class = (uint32_t)survey->n_classes;
        const char *kept = ox_arena_copy(&survey->arena, key->data, key->len);
        if (!kept || !ox_strmap_add(&survey->keys, kept, key->len, &class, NULL) ||
            !add_class(survey, node, opset))
            return false;
    }
    if (survey->n_nodes == survey->cap_nodes) {
        size_t cap = survey->cap_nodes ? 2 * survey->cap_nodes : 256;
        struct ox_target_node *more = realloc(survey->nodes, cap * sizeof *more);
        if (!more)
            return false;
        survey->nodes = more;
        survey->cap_nodes = cap;
    }
    const struct ox_cost *cost = survey->costs ? ox_costs_of(survey->costs, node) : NULL;
    survey->nodes[survey->n_nodes++] = (struct ox_target_node){node, class, cost ? cost->macs : 0};
    survey->classes[class].n_nodes++;
    const struct ox_function *function = survey->classes[class].function;
    if (function)
        survey->called[function - survey->model->functions] = true;
    return true;
}

/* Training graphs are for training: inference never sees them. */
static bool is_inference(const struct ox_graph *graph)
{
    return ox_graph_root(graph) == graph->model->graph;
}

static bool gather(struct ox_target_survey *survey, struct ox_strbuf *key)
{
    const struct ox_model *model = survey->model;
    bool *done = ox_arena_array(&survey->arena, model->n_functions + 1, sizeof *done);
    if (!done)
        return false;
    for (size_t i = 0; i < model->n_graphs; i++) {
        const struct ox_graph *graph = model->graphs[i];
        if (graph->dropped || graph->function || !is_inference(graph))
            continue;
        for (size_t k = 0; k < graph->n_nodes; k++)
            if (!add_node(survey, key, graph->nodes[k]))
                return false;
    }
    /* Functions that are called, and what these call in turn. */
    for (bool more = true; more;) {
        more = false;
        for (size_t f = 0; f < model->n_functions; f++) {
            if (!survey->called[f] || done[f])
                continue;
            done[f] = true;
            more = true;
            for (size_t i = 0; i < model->n_graphs; i++) {
                const struct ox_graph *graph = model->graphs[i];
                for (size_t k = 0; graph->function == &model->functions[f] && k < graph->n_nodes;
                     k++)
                    if (!add_node(survey, key, graph->nodes[k]))
                        return false;
            }
        }
    }
    return true;
}

enum ox_status ox_target_survey_new(struct ox_target_survey **out, struct ox_model *model,
                                    const struct ox_shapes *shapes, const struct ox_costs *costs,
                                    struct ox_error *err)
{
    struct ox_target_survey *survey = calloc(1, sizeof *survey);
    if (!survey)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
    survey->model = model;
    survey->shapes = shapes;
    survey->costs = costs;
    ox_arena_init(&survey->arena, ox_env_budget(model->env));
    ox_strmap_init(&survey->keys);
    struct ox_strbuf key;
    ox_strbuf_init(&key);
    survey->called = ox_arena_array(&survey->arena, model->n_functions + 1, sizeof *survey->called);
    bool good = survey->called && gather(survey, &key);
    ox_strbuf_release(&key);
    if (!good) {
        ox_target_survey_release(survey);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
    }
    *out = survey;
    return OX_OK;
}

void ox_target_survey_release(struct ox_target_survey *survey)
{
    if (!survey)
        return;
    ox_strmap_release(&survey->keys);
    ox_arena_release(&survey->arena);
    free(survey->classes);
    free(survey->nodes);
    free(survey);
}
