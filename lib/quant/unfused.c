/* Which nodes between DequantizeLinear and QuantizeLinear onnxruntime leaves in float: by what it was seen to do, not by rules. */
#include "quant/unfused.h"

#include <string.h>

/* From which input on, and up to which, values must be integers; `both`: the output too; of which types, a bit each. */
struct rule {
    const char *op_type;
    size_t first, end;
    bool both;
    unsigned types;
};

enum { ALL = 1 << 30 };

#define BIT(type) (1u << OX_##type)

static const struct rule rules[] = {
#include "quant/ort_integers.inc"
};

static bool is_op(const struct ox_node *node, const char *op_type)
{
    return node && !*node->domain && strcmp(node->op_type, op_type) == 0;
}

static const struct rule *rule_of(const struct ox_node *node)
{
    for (size_t i = 0; i < OX_COUNT(rules); i++) {
        if (is_op(node, rules[i].op_type))
            return &rules[i];
    }
    return NULL;
}

bool ox_quant_has_integers(const struct ox_node *node)
{
    return rule_of(node) != NULL;
}

static bool becomes_integers(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    if (!value || value->is_output || uses->captured[value->id] ||
        ox_quant_n_uses(uses, value) != 1)
        return false;
    return is_op(uses->uses[uses->first[value->id]].node, "QuantizeLinear");
}

static bool many_read(const struct ox_quant_uses *uses, const struct ox_value *integers)
{
    if (ox_quant_n_uses(uses, integers) != 1)
        return true;
    const struct ox_node *user = uses->uses[uses->first[integers->id]].node;
    return is_op(user, "DequantizeLinear") && ox_quant_n_uses(uses, user->outputs[0]) > 1;
}

/* On x86 onnxruntime turns int8 into uint8 between a QuantizeLinear and the one node that reads it; with several it stays int8,
 * for which there are neither convolutions nor products there, nor anything that takes both types. NULL: each is read once. */
static const struct ox_value *feeds_several(const struct ox_quant_uses *uses,
                                            const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_node *from = node->inputs[i] ? node->inputs[i]->producer : NULL;
        const struct ox_value *integers = is_op(from, "DequantizeLinear") ? from->inputs[0] : NULL;
        if (integers && is_op(integers->producer, "QuantizeLinear") && many_read(uses, integers))
            return integers->producer->inputs[0];
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct ox_value *out = node->outputs[i];
        if (out && becomes_integers(uses, out) &&
            many_read(uses, uses->uses[uses->first[out->id]].node->outputs[0]))
            return out;
    }
    return NULL;
}

/* *reason NULL: the node runs on integers. type: of the integers that it is given. false: out of memory. */
static bool why_float(struct ox_quant *q, const struct ox_quant_uses *uses,
                      const struct ox_node *node, enum ox_dtype type, const char **reason)
{
    const struct rule *rule = rule_of(node);
    *reason = NULL;
    if (is_op(node, "QuantizeLinear"))
        return true;
    if (!rule) {
        *reason = ox_arena_printf(&q->arena, "there is no integer kernel for %s", node->op_type);
        return *reason != NULL;
    }
    if (!(rule->types & 1u << type)) {
        *reason = ox_arena_printf(&q->arena, "there is no kernel for %s of %s", node->op_type,
                                  ox_dtype_name(type));
        return *reason != NULL;
    }
    const struct ox_value *several = type == OX_INT8 ? feeds_several(uses, node) : NULL;
    if (several) {
        *reason = ox_arena_printf(&q->arena, "'%s' feeds several, of int8 on x86", several->name);
        return *reason != NULL;
    }
    for (size_t i = rule->first; i < rule->end && i < node->n_inputs; i++) {
        const struct ox_value *in = node->inputs[i];
        if (in && !is_op(in->producer, "DequantizeLinear")) {
            *reason = ox_arena_printf(&q->arena, "its input '%s' is float", in->name);
            return *reason != NULL;
        }
    }
    for (size_t i = 0; rule->both && i < node->n_outputs; i++) {
        if (node->outputs[i] && !becomes_integers(uses, node->outputs[i])) {
            *reason = ox_arena_printf(&q->arena, "its output '%s' is used as float",
                                      node->outputs[i]->name);
            return *reason != NULL;
        }
    }
    return true;
}

static enum ox_status look_at(struct ox_quant *q, const struct ox_quant_uses *uses,
                              const struct ox_node *dequantize, struct ox_error *err)
{
    if (!is_op(dequantize, "DequantizeLinear") || !dequantize->n_inputs || !dequantize->n_outputs)
        return OX_OK;
    const struct ox_value *in = dequantize->inputs[0], *out = dequantize->outputs[0];
    if (!in || !out || !is_op(in->producer, "QuantizeLinear"))
        return OX_OK;
    const char *name = in->producer->inputs[0]->name;
    const struct ox_stored *zero =
        dequantize->n_inputs > 2 ? ox_value_stored(dequantize->inputs[2]) : NULL;
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++) {
        const struct ox_node *user = uses->uses[i].node;
        const char *reason;
        if (is_op(user, "Sum") && user->n_inputs == 1) /* of place_copies.c */
            continue;
        if (!why_float(q, uses, user, zero ? zero->dtype : OX_UINT8, &reason))
            return ox_no_memory(err);
        if (reason)
            ox_quant_report_add_unfused(q->report, name, user, reason);
    }
    return OX_OK;
}

static enum ox_status look_through(struct ox_quant *q, struct ox_graph *graph, struct ox_error *err)
{
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    for (size_t i = 0; i < graph->n_nodes; i++)
        OX_TRY(look_at(q, &uses, graph->nodes[i], err));
    return OX_OK;
}

enum ox_status ox_quant_find_unfused(struct ox_quant *q, struct ox_error *err)
{
    OX_TRY(look_through(q, q->model->graph, err));
    for (size_t g = 0; g < q->model->n_graphs; g++) {
        if (ox_quant_is_body(q->model->graphs[g]))
            OX_TRY(look_through(q, q->model->graphs[g], err));
    }
    return OX_OK;
}
