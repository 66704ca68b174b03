/* A node against its operator's schema, or against the function that it calls. */
#include <limits.h>
#include <string.h>

#include "check/structure.h"
#include "proto/onnx.pb-c.h"
#include "schema/operators.h"

int64_t ox_check_opset(const struct ox_node *node)
{
    int64_t version = ox_graph_opset(node->graph, node->domain);
    /* Before IR version 3 nothing is imported and the first default set is meant. */
    if (!version && !*node->domain && node->graph->model->ir_version < 3 &&
        node->graph->model->n_opsets == 0)
        return 1;
    return version;
}

static const char *domain_name(const char *domain)
{
    return *domain ? domain : "ai.onnx";
}

static void check_count(struct ox_checker *c, const struct ox_node *node, enum ox_finding_id id,
                        const char *what, size_t n, unsigned least, unsigned most, const char *of)
{
    const struct ox_place place = {.node = node};
    if (n >= least && n <= most)
        return;
    if (most == UINT_MAX)
        ox_findings_add(c->findings, id, &place, NULL, "%zu %s%s; %s needs at least %u", n, what,
                        n == 1 ? "" : "s", of, least);
    else if (least == most)
        ox_findings_add(c->findings, id, &place, NULL, "%zu %s%s; %s takes %u", n, what,
                        n == 1 ? "" : "s", of, least);
    else
        ox_findings_add(c->findings, id, &place, NULL, "%zu %s%s; %s takes %u to %u", n, what,
                        n == 1 ? "" : "s", of, least, most);
}

/* A name that is empty where the schema asks for one. */
static void check_omitted(struct ox_checker *c, const struct ox_node *node,
                          const struct ox_schema *schema)
{
    const struct ox_place place = {.node = node};
    for (size_t i = 0; i < node->n_inputs && i < schema->n_inputs; i++)
        if (!node->inputs[i] && schema->inputs[i].option == OX_PARAM_SINGLE)
            ox_findings_add(c->findings, OX_F_NODE_INPUT_MISSING, &place, NULL,
                            "input %zu, %s, is required but omitted", i, schema->inputs[i].name);
    for (size_t i = 0; i < node->n_outputs && i < schema->n_outputs; i++)
        if (!node->outputs[i] && schema->outputs[i].option == OX_PARAM_SINGLE)
            ox_findings_add(c->findings, OX_F_NODE_OUTPUT_MISSING, &place, NULL,
                            "output %zu, %s, is required but omitted", i, schema->outputs[i].name);
}

/* Names that begin with two underscores are an implementation's own (onnx's checker passes them too). */
static bool is_internal(const char *name)
{
    return name[0] == '_' && name[1] == '_';
}

static void check_schema_attr(struct ox_checker *c, const struct ox_node *node,
                              const struct ox_schema *schema, const struct ox_attr *attr)
{
    const struct ox_place place = {.node = node, .attribute = attr->name};
    const struct ox_schema_attr *known = ox_schema_attr(schema, attr->name);
    if (!known) {
        if (is_internal(attr->name) || !*attr->name)
            return;
        const struct ox_schema *newest =
            ox_schema_lookup(c->model->env, node->domain, node->op_type, INT_MAX);
        bool later = newest && newest != schema && ox_schema_attr(newest, attr->name);
        ox_findings_add(
            c->findings, OX_F_ATTR_UNKNOWN, &place,
            later ? "a newer version of the operator has it: import a newer opset" : NULL,
            "%s version %d has no attribute '%s'", node->op_type, schema->since, attr->name);
        return;
    }
    if (attr->type != (enum ox_attr_type)known->type) {
        ox_findings_add(c->findings, OX_F_ATTR_TYPE_MISMATCH, &place, NULL,
                        "attribute '%s' is %s; %s version %d takes %s", attr->name,
                        ox_attr_type_name(attr->type), node->op_type, schema->since,
                        ox_attr_type_name((enum ox_attr_type)known->type));
        return;
    }
    const struct Onnx__AttributeProto *proto = attr->proto;
    if (attr->ref || !proto)
        return;
    bool absent = (attr->type == OX_ATTR_TENSOR && !proto->t) ||
                  (attr->type == OX_ATTR_GRAPH && !proto->g) ||
                  (attr->type == OX_ATTR_SPARSE_TENSOR && !proto->sparse_tensor) ||
                  (attr->type == OX_ATTR_TYPE_PROTO && !proto->tp);
    if (absent)
        ox_findings_add(c->findings, OX_F_ATTR_VALUE_MISSING, &place, NULL,
                        "attribute '%s' of type %s holds no value", attr->name,
                        ox_attr_type_name(attr->type));
}

static void check_against_schema(struct ox_checker *c, const struct ox_node *node,
                                 const struct ox_schema *schema)
{
    check_count(c, node, OX_F_NODE_INPUT_COUNT, "input", node->n_inputs, schema->min_inputs,
                schema->max_inputs, node->op_type);
    check_count(c, node, OX_F_NODE_OUTPUT_COUNT, "output", node->n_outputs, schema->min_outputs,
                schema->max_outputs, node->op_type);
    check_omitted(c, node, schema);
    for (size_t i = 0; i < node->n_attrs; i++)
        check_schema_attr(c, node, schema, &node->attrs[i]);
    for (size_t i = 0; i < schema->n_attrs; i++) {
        const struct ox_place place = {.node = node, .attribute = schema->attrs[i].name};
        if (schema->attrs[i].required && !ox_node_attr(node, schema->attrs[i].name))
            ox_findings_add(c->findings, OX_F_ATTR_REQUIRED, &place, NULL,
                            "%s needs the attribute '%s' (%s)", node->op_type,
                            schema->attrs[i].name,
                            ox_attr_type_name((enum ox_attr_type)schema->attrs[i].type));
    }
    ox_check_subgraph_arity(c, node);
}

/* Those that onnx's checker lets pass, and what says the same today. */
static const struct {
    const char *name, *instead;
} experimental[] = {
    {"ATen", "it stands for an operator of PyTorch: export the model with a newer version of that"},
    {"Affine", "Mul and Add say the same"},
    {"ConstantFill", "ConstantOfShape, or Constant and Expand, say the same"},
    {"Crop", "Slice says the same"},
    {"DynamicSlice", "Slice says the same from opset 10 on"},
    {"GRUUnit", "GRU says the same"},
    {"GivenTensorFill", "Constant says the same"},
    {"ImageScaler", "Mul, and Add of [C, 1, 1], say the same"},
    {"ParametricSoftplus", "Mul, Softplus and Mul say the same"},
    {"Scale", "Mul says the same"},
    {"ScaledTanh", "Mul, Tanh and Mul say the same"},
};

static bool check_experimental(struct ox_checker *c, const struct ox_node *node)
{
    const struct ox_place place = {.node = node};
    for (size_t i = 0; !*node->domain && i < OX_COUNT(experimental); i++) {
        if (strcmp(node->op_type, experimental[i].name) != 0)
            continue;
        ox_findings_add(c->findings, OX_F_NODE_EXPERIMENTAL, &place, experimental[i].instead,
                        "%s was experimental and left the standard", node->op_type);
        return true;
    }
    return false;
}

static void check_unknown(struct ox_checker *c, const struct ox_node *node, int64_t version)
{
    const struct ox_place place = {.node = node};
    char hint[256];
    if (check_experimental(c, node))
        return;
    const struct ox_schema *later = ox_schema_find(node->domain, node->op_type, INT_MAX);
    const char *similar = ox_schema_similar(node->domain, node->op_type);
    const char *advice = NULL;
    const struct ox_schema *foreign = ox_schema_find_foreign(node->domain, node->op_type, version);
    if (foreign && !foreign->deprecated) {
        advice = "onnxruntime's optimizer writes it when it saves a model, and onnxruntime alone "
                 "has it there: ship the model as it was before";
    } else if (later && !later->deprecated) {
        const struct ox_schema *first = later;
        size_t n;
        const struct ox_schema *rows = ox_schema_rows(&n);
        while (first > rows && strcmp(first[-1].name, first->name) == 0 &&
               strcmp(first[-1].domain, first->domain) == 0)
            first--;
        snprintf(hint, sizeof hint, "%s came with version %d: import that or a newer one",
                 node->op_type, first->since);
        advice = hint;
    } else if (similar) {
        snprintf(hint, sizeof hint, "did you mean %s?", similar);
        advice = hint;
    }
    ox_findings_add(c->findings, OX_F_NODE_UNKNOWN_OP, &place, advice,
                    "%s version %lld has no operator '%s'", domain_name(node->domain),
                    (long long)version, node->op_type);
}

/* In a domain that was given as a file: all that it has is known. */
static void check_unknown_custom(struct ox_checker *c, const struct ox_node *node, int64_t version)
{
    const struct ox_place place = {.node = node};
    const struct ox_schema *first = ox_operators_first(c->model->env, node->domain, node->op_type);
    char hint[256] = "add it to the schema file";
    if (first)
        snprintf(hint, sizeof hint, "%.200s came with version %d: import that or a newer one",
                 node->op_type, first->since);
    ox_findings_add(c->findings, OX_F_NODE_UNKNOWN_OP, &place, hint,
                    "%s version %lld has no operator '%s'", node->domain, (long long)version,
                    node->op_type);
}

static void check_operator(struct ox_checker *c, const struct ox_node *node)
{
    const struct ox_place place = {.node = node};
    int64_t version = ox_check_opset(node);
    if (!version)
        ox_findings_add(c->findings, OX_F_NODE_DOMAIN, &place,
                        strcmp(node->domain, "com.microsoft") == 0
                            ? "add the domain to opset_import; onnxruntime assumes version 1, as "
                              "commands that run the model do"
                            : "add the domain to opset_import",
                        "domain '%s' is not imported", domain_name(node->domain));
    const struct ox_function *function = ox_model_function(c->model, node->domain, node->op_type,
                                                           node->overload ? node->overload : "");
    if (function) {
        check_count(c, node, OX_F_NODE_INPUT_COUNT, "input", node->n_inputs, 0,
                    (unsigned)function->body->n_inputs, "the function");
        check_count(c, node, OX_F_NODE_OUTPUT_COUNT, "output", node->n_outputs, 0,
                    (unsigned)function->body->n_outputs, "the function");
        return;
    }
    if (!version)
        return;
    const struct ox_schema *schema =
        ox_schema_lookup(c->model->env, node->domain, node->op_type, version);
    bool is_standard = ox_schema_domain_known(node->domain);
    if (!schema && !is_standard && ox_operators_has_domain(c->model->env, node->domain)) {
        check_unknown_custom(c, node, version);
        return;
    }
    if (!schema && !is_standard) {
        ox_findings_add(c->findings, OX_F_NODE_UNKNOWN_CALL, &place, NULL,
                        "%s::%s is neither a known operator nor a function of this model",
                        node->domain, node->op_type);
        return;
    }
    if (!schema && strcmp(node->domain, "com.microsoft") == 0)
        ox_findings_add(c->findings, OX_F_NODE_UNKNOWN_CALL, &place, NULL,
                        "%s::%s is not known here", node->domain, node->op_type);
    else if (!schema)
        check_unknown(c, node, version);
    else if (schema->deprecated)
        ox_findings_add(c->findings, OX_F_NODE_DEPRECATED, &place, NULL,
                        "%s is deprecated since version %d of %s", node->op_type, schema->since,
                        domain_name(node->domain));
    else
        check_against_schema(c, node, schema);
}

void ox_check_node(struct ox_checker *c, const struct ox_node *node)
{
    const struct ox_place place = {.node = node};
    if (node->n_inputs == 0 && node->n_outputs == 0)
        ox_findings_add(c->findings, OX_F_NODE_EMPTY, &place, "remove it",
                        "the node has neither inputs nor outputs");
    for (size_t i = 0; i < node->n_attrs; i++) {
        const struct ox_attr *attr = &node->attrs[i];
        for (size_t k = 0; k < i && i < 1000; k++)
            if (strcmp(node->attrs[k].name, attr->name) == 0) {
                const struct ox_place twice = {.node = node, .attribute = attr->name};
                ox_findings_add(c->findings, OX_F_ATTR_TWICE, &twice, "keep one of them",
                                "attribute '%s' appears again", attr->name);
                break;
            }
        ox_check_attr(c, node, attr);
    }
    if (!node->op_type || !*node->op_type)
        ox_findings_add(c->findings, OX_F_NODE_OP_TYPE_MISSING, &place, NULL, "op_type is empty");
    else
        check_operator(c, node);
}
