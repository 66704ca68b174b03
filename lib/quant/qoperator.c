/* From Q and DQ to operators on integers, standard ones: QLinearConv, QLinearMatMul, and what moves elements. The rest keeps its Q and
 * DQ, which runtimes fuse by themselves. */
#include <string.h>

#include "quant/place.h"

/* The DequantizeLinear of so many inputs that makes a value; NULL. */
static struct ox_node *dequantizer_of(const struct ox_value *value, size_t n_inputs)
{
    struct ox_node *node = value ? value->producer : NULL;
    bool is = node && strcmp(node->op_type, "DequantizeLinear") == 0 && node->n_inputs == n_inputs;
    return is ? node : NULL;
}

static struct ox_node *dequantizer(const struct ox_value *value)
{
    return dequantizer_of(value, 3);
}

/* The only user of a value, if it is QuantizeLinear; NULL. */
static struct ox_node *quantizer(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    if (!value || value->is_output || ox_quant_n_uses(uses, value) != 1 ||
        uses->captured[value->id])
        return NULL;
    struct ox_node *node = uses->uses[uses->first[value->id]].node;
    return strcmp(node->op_type, "QuantizeLinear") == 0 ? node : NULL;
}

struct rewriting {
    struct ox_quant *q;
    struct ox_graph *graph;
    struct ox_quant_uses uses;
    bool *gone;
};

/* The node and the QuantizeLinear after it give way to one node on integers. */
static enum ox_status replace(struct rewriting *r, struct ox_node *node, struct ox_node *after,
                              const char *op_type, struct ox_value *const *inputs, size_t n,
                              struct ox_error *err)
{
    struct ox_node *made =
        ox_graph_add_node(r->graph, op_type, "", node->name, inputs, n, after->outputs, 1);
    if (!made || !ox_quant_copy_attrs(made, node, NULL))
        return ox_no_memory(err);
    r->gone[node->index] = r->gone[after->index] = true;
    return OX_OK;
}

/* QLinearConv has scales of float32 alone, QLinearMatMul since opset 21 of float16 too. */
static bool takes_scales(const struct rewriting *r, bool conv, const struct ox_node *x)
{
    return ox_quant_dtype(r->q, x->inputs[1]) == OX_FLOAT32 ||
           (!conv && ox_graph_opset(r->graph, "") >= 21);
}

static enum ox_status product(struct rewriting *r, struct ox_node *node, struct ox_error *err)
{
    bool conv = strcmp(node->op_type, "Conv") == 0;
    struct ox_node *x = dequantizer(node->inputs[0]), *w = dequantizer(node->inputs[1]);
    struct ox_node *y = quantizer(&r->uses, node->outputs[0]);
    bool has_bias = node->n_inputs > 2 && node->inputs[2];
    struct ox_node *b =
        has_bias ? dequantizer_of(node->inputs[2], 2) : NULL; /* without zero point */
    if (!x || !w || !y || (has_bias && (!conv || !b)) || !takes_scales(r, conv, x))
        return OX_OK;
    struct ox_value *inputs[9] = {x->inputs[0], x->inputs[1], x->inputs[2],
                                  w->inputs[0], w->inputs[1], w->inputs[2],
                                  y->inputs[1], y->inputs[2], b ? b->inputs[0] : NULL};
    return replace(r, node, y, conv ? "QLinearConv" : "QLinearMatMul", inputs, b ? 9 : 8, err);
}

/* What moves elements does so with integers, if both ends have one scale. */
static enum ox_status mover(struct rewriting *r, struct ox_node *node, struct ox_error *err)
{
    struct ox_node *x = dequantizer(node->inputs[0]);
    struct ox_node *y = quantizer(&r->uses, node->outputs[0]);
    if (!x || !y || x->inputs[1] != y->inputs[1] || x->inputs[2] != y->inputs[2] ||
        node->n_outputs != 1)
        return OX_OK;
    struct ox_value **inputs =
        ox_arena_copy(&r->q->arena, node->inputs, node->n_inputs * sizeof *inputs);
    if (!inputs)
        return ox_no_memory(err);
    inputs[0] = x->inputs[0];
    return replace(r, node, y, node->op_type, inputs, node->n_inputs, err);
}

static bool moves(const struct rewriting *r, const struct ox_node *node)
{
    static const char *const names[] = {"Reshape",   "Flatten", "Squeeze", "Unsqueeze",
                                        "Transpose", "Slice",   "Gather"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        if (strcmp(names[i], node->op_type) == 0)
            return true;
    }
    return strcmp(node->op_type, "MaxPool") == 0 && ox_graph_opset(r->graph, "") >= 12;
}

enum ox_status ox_qoperator_standard(struct ox_quant *q, struct ox_graph *graph,
                                     struct ox_error *err)
{
    struct rewriting r = {.q = q, .graph = graph};
    size_t n = graph->n_nodes;
    OX_TRY(ox_quant_find_uses(q, graph, &r.uses, err));
    r.gone = ox_arena_array(&q->arena, 2 * n + 1, sizeof *r.gone);
    if (!r.gone)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        struct ox_node *node = graph->nodes[i];
        if (*node->domain || !node->n_inputs || !node->n_outputs)
            continue;
        if (strcmp(node->op_type, "Conv") == 0 || strcmp(node->op_type, "MatMul") == 0)
            OX_TRY(product(&r, node, err));
        else if (moves(&r, node))
            OX_TRY(mover(&r, node, err));
    }
    ox_graph_remove_nodes(graph, r.gone);
    return ox_quant_drop_unread(q, graph, "DequantizeLinear", NULL, err);
}
