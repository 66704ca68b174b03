/* An attribute by itself: one value, in the field that its type says; then what is inside. */
#include <string.h>

#include "check/structure.h"
#include "proto/onnx.pb-c.h"

/* The types of the value fields that are set. */
static unsigned set_fields(const struct Onnx__AttributeProto *p, enum ox_attr_type *found)
{
    const struct {
        bool set;
        enum ox_attr_type type;
    } fields[] = {{p->has_f, OX_ATTR_FLOAT},
                  {p->has_i, OX_ATTR_INT},
                  {p->has_s, OX_ATTR_STRING},
                  {p->t != NULL, OX_ATTR_TENSOR},
                  {p->g != NULL, OX_ATTR_GRAPH},
                  {p->tp != NULL, OX_ATTR_TYPE_PROTO},
                  {p->sparse_tensor != NULL, OX_ATTR_SPARSE_TENSOR},
                  {p->n_floats > 0, OX_ATTR_FLOATS},
                  {p->n_ints > 0, OX_ATTR_INTS},
                  {p->n_strings > 0, OX_ATTR_STRINGS},
                  {p->n_tensors > 0, OX_ATTR_TENSORS},
                  {p->n_graphs > 0, OX_ATTR_GRAPHS},
                  {p->n_sparse_tensors > 0, OX_ATTR_SPARSE_TENSORS},
                  {p->n_type_protos > 0, OX_ATTR_TYPE_PROTOS}};
    unsigned n = 0;
    for (size_t i = 0; i < OX_COUNT(fields); i++)
        if (fields[i].set) {
            n++;
            *found = fields[i].type;
        }
    return n;
}

static bool declares(const struct ox_function *function, const char *name)
{
    for (size_t i = 0; i < function->n_attr_names; i++)
        if (strcmp(function->attr_names[i], name) == 0)
            return true;
    for (size_t i = 0; i < function->n_attr_defaults; i++)
        if (strcmp(function->attr_defaults[i].name, name) == 0)
            return true;
    return false;
}

static void check_reference(struct ox_checker *c, const struct ox_node *node,
                            const struct ox_attr *attr, unsigned n_set)
{
    const struct ox_place place = {.node = node, .attribute = attr->name};
    const struct ox_function *function = node->graph->function;
    if (!function)
        ox_findings_add(c->findings, OX_F_ATTR_REF_OUTSIDE, &place, NULL,
                        "attribute '%s' refers to '%s', but the node is in no function", attr->name,
                        attr->ref);
    else if (!declares(function, attr->ref))
        ox_findings_add(c->findings, OX_F_ATTR_REF_UNDECLARED, &place, NULL,
                        "attribute '%s' refers to '%s', which function %s does not declare",
                        attr->name, attr->ref, function->name);
    if (n_set)
        ox_findings_add(c->findings, OX_F_ATTR_REF_VALUE, &place, NULL,
                        "attribute '%s' refers to '%s' and has a value too", attr->name, attr->ref);
}

static void check_form(struct ox_checker *c, const struct ox_node *node, const struct ox_attr *attr)
{
    const struct Onnx__AttributeProto *proto = attr->proto;
    const struct ox_place place = {.node = node, .attribute = attr->name};
    if (!*attr->name)
        ox_findings_add(c->findings, OX_F_ATTR_NAME_MISSING, &place, NULL,
                        "an attribute has no name");
    if (!proto)
        return;
    enum ox_attr_type found = OX_ATTR_UNDEFINED;
    unsigned n_set = set_fields(proto, &found);
    enum ox_attr_type said = (enum ox_attr_type)(int)proto->type;
    if (attr->ref)
        check_reference(c, node, attr, n_set);
    else if (n_set > 1)
        ox_findings_add(c->findings, OX_F_ATTR_TWO_VALUES, &place, NULL,
                        "attribute '%s' has %u value fields set", attr->name, n_set);
    if (c->model->ir_version >= 2 && (!proto->has_type || said == OX_ATTR_UNDEFINED))
        ox_findings_add(c->findings, OX_F_ATTR_TYPE_MISSING, &place, NULL,
                        "attribute '%s' does not say its type", attr->name);
    else if (proto->has_type && n_set == 1 && said != found)
        ox_findings_add(c->findings, OX_F_ATTR_TYPE_MISMATCH, &place, NULL,
                        "attribute '%s' says it is %s, but its value is %s", attr->name,
                        ox_attr_type_name(said), ox_attr_type_name(found));
}

void ox_check_attr(struct ox_checker *c, const struct ox_node *node, const struct ox_attr *attr)
{
    const struct ox_place place = {.node = node, .attribute = attr->name};
    check_form(c, node, attr);
    switch (attr->type) {
    case OX_ATTR_TENSOR:
    case OX_ATTR_TENSORS:
        for (size_t i = 0; attr->tensor && i < attr->n; i++)
            ox_check_tensor(c, &attr->tensor[i], &place);
        break;
    case OX_ATTR_SPARSE_TENSOR:
    case OX_ATTR_SPARSE_TENSORS:
        for (size_t i = 0; attr->sparse && i < attr->n; i++)
            ox_check_sparse(c, &attr->sparse[i], &place);
        break;
    case OX_ATTR_GRAPH:
    case OX_ATTR_GRAPHS:
        for (size_t i = 0; attr->graphs && i < attr->n; i++)
            if (attr->graphs[i])
                ox_check_graph(c, attr->graphs[i]);
        break;
    default:
        break;
    }
}

static void arity(struct ox_checker *c, const struct ox_node *node, const char *name,
                  size_t n_inputs, size_t n_outputs)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    if (!attr || attr->type != OX_ATTR_GRAPH || !attr->graphs || !attr->graphs[0])
        return;
    const struct ox_graph *graph = attr->graphs[0];
    const struct ox_place place = {.node = node, .attribute = attr->name};
    if (graph->n_inputs != n_inputs)
        ox_findings_add(c->findings, OX_F_NODE_SUBGRAPH_ARITY, &place, NULL,
                        "%s has %zu inputs; it needs %zu here", name, graph->n_inputs, n_inputs);
    if (graph->n_outputs != n_outputs)
        ox_findings_add(c->findings, OX_F_NODE_SUBGRAPH_ARITY, &place, NULL,
                        "%s has %zu outputs; it needs %zu here", name, graph->n_outputs, n_outputs);
}

/* A body that makes all outputs of its node, whose trailing ones may be left out. */
static void arity_of_each(struct ox_checker *c, const struct ox_node *node, size_t n_inputs)
{
    const struct ox_attr *attr = ox_node_attr(node, "body");
    if (!attr || attr->type != OX_ATTR_GRAPH || !attr->graphs || !attr->graphs[0])
        return;
    const size_t n_outputs = attr->graphs[0]->n_outputs;
    arity(c, node, "body", n_inputs, n_outputs < node->n_outputs ? node->n_outputs : n_outputs);
}

void ox_check_subgraph_arity(struct ox_checker *c, const struct ox_node *node)
{
    if (*node->domain)
        return;
    if (strcmp(node->op_type, "If") == 0) {
        arity(c, node, "then_branch", 0, node->n_outputs);
        arity(c, node, "else_branch", 0, node->n_outputs);
    } else if (strcmp(node->op_type, "Loop") == 0 && node->n_inputs >= 2) {
        /* Outputs: carried values, then scan outputs; trailing ones may be left out of the node. */
        const struct ox_attr *attr = ox_node_attr(node, "body");
        if (!attr || attr->type != OX_ATTR_GRAPH || !attr->graphs || !attr->graphs[0])
            return;
        size_t n_outputs = attr->graphs[0]->n_outputs;
        size_t least =
            node->n_outputs + 1 > node->n_inputs - 1 ? node->n_outputs + 1 : node->n_inputs - 1;
        arity(c, node, "body", node->n_inputs, n_outputs < least ? least : n_outputs);
    } else if (strcmp(node->op_type, "Scan") == 0 && node->n_inputs >= 1) {
        /* Before 9 the sequences' lengths came first. */
        arity_of_each(c, node, node->n_inputs - (ox_check_opset(node) < 9));
    } else if (strcmp(node->op_type, "SequenceMap") == 0) {
        arity_of_each(c, node, node->n_inputs);
    }
}
