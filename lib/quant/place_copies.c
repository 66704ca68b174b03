/* Of int8 activations onnxruntime on x86 makes uint8 where one node reads them, and has convolutions and products for no others: what feeds
 * several, as before swish and beside residual sums, keeps its convolution in float. So one node reads it, a sum of nothing else, and what
 * runs on integers behind that has Q and DQ of its own: copies cost less than dequantized weights. */
#include "graph/match.h"
#include "model/stored.h"
#include "quant/place.h"
#include "quant/unfused.h"

static const struct ox_node *only_reader(const struct ox_quant_uses *uses,
                                         const struct ox_value *value)
{
    return ox_quant_n_uses(uses, value) == 1 && !value->is_output && !uses->captured[value->id]
               ? uses->uses[uses->first[value->id]].node
               : NULL;
}

/* Through a Transpose too: onnxruntime moves it on. */
static bool several_read(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    const struct ox_node *reader = only_reader(uses, value);
    if (reader && ox_is_op(reader, "Transpose"))
        return several_read(uses, reader->outputs[0]);
    return ox_quant_n_uses(uses, value) > 1;
}

/* Behind a QuantizeLinear that nothing else reads, of int8 and float32, for several nodes. */
static bool feeds_several(const struct ox_quant_uses *uses, const struct ox_node *node)
{
    if (!ox_is_op(node, "DequantizeLinear") || node->n_inputs < 3 || !node->inputs[0] ||
        !node->inputs[0]->producer || !ox_is_op(node->inputs[0]->producer, "QuantizeLinear"))
        return false;
    const struct ox_stored *zero = ox_value_stored(node->inputs[2]);
    const struct ox_stored *scale = ox_value_stored(node->inputs[1]);
    const struct ox_value *out = node->outputs[0];
    return zero && zero->dtype == OX_INT8 && scale && scale->dtype == OX_FLOAT32 &&
           only_reader(uses, node->inputs[0]) == node && !out->is_output &&
           !uses->captured[out->id] && several_read(uses, out);
}

static bool is_integer(const struct ox_value *value)
{
    return value && value->producer && ox_is_op(value->producer, "DequantizeLinear");
}

static bool runs_on_integers(const struct ox_quant_uses *uses, const struct ox_node *node)
{
    static const char *const products[] = {"Conv", "Gemm", "MatMul", NULL};
    bool all = ox_quant_has_integers(node) && node->n_outputs == 1 && node->outputs[0];
    for (size_t i = 0; i < node->n_inputs && all; i++)
        all = !node->inputs[i] || ox_value_stored(node->inputs[i]) || is_integer(node->inputs[i]);
    const struct ox_node *reader = all ? only_reader(uses, node->outputs[0]) : NULL;
    return ox_is_any_op(node, products) || (reader && ox_is_op(reader, "QuantizeLinear"));
}

/* Names are short, for there are many. */
static struct ox_value *constant_again(struct ox_place *place, const struct ox_value *copy,
                                       const char *suffix, const struct ox_value *value,
                                       struct ox_error *err)
{
    struct ox_tensor *tensor;
    if (ox_stored_load(place->q->model, ox_value_stored(value), &tensor, err) != OX_OK)
        return NULL;
    return ox_quant_add_init(place->graph, ox_quant_name(place->q, copy->name, suffix), tensor);
}

/* copy -> Q -> DQ -> the node; by constants of its own, or runtimes would merge the pairs. */
static enum ox_status pair_for(struct ox_place *place, struct ox_value *copy,
                               const struct ox_node *like, struct ox_quant_use use,
                               struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_graph *graph = place->graph;
    struct ox_value *in[3] = {copy, constant_again(place, copy, "_s", like->inputs[1], err),
                              constant_again(place, copy, "_z", like->inputs[2], err)};
    struct ox_value *integers = ox_graph_add_value(graph, ox_quant_name(q, copy->name, "_q"));
    struct ox_value *out = ox_graph_add_value(graph, ox_quant_name(q, copy->name, "_dq"));
    if (!in[1] || !in[2] || !integers || !out ||
        !ox_graph_add_node(graph, "QuantizeLinear", "", "", in, 3, &integers, 1))
        return ox_no_memory(err);
    in[0] = integers;
    if (!ox_graph_add_node(graph, "DequantizeLinear", "", "", in, 3, &out, 1))
        return ox_no_memory(err);
    use.node->inputs[use.index] = out;
    return OX_OK;
}

static enum ox_status copy_for(struct ox_place *place, const struct ox_quant_uses *uses,
                               const struct ox_node *node, struct ox_error *err)
{
    struct ox_value *value = node->outputs[0];
    struct ox_value *copy = ox_graph_add_value(place->graph, "copy");
    if (!copy || !ox_graph_add_node(place->graph, "Sum", "", "", &value, 1, &copy, 1))
        return ox_no_memory(err);
    for (uint32_t i = uses->first[value->id]; i < uses->first[value->id + 1]; i++) {
        const struct ox_quant_use use = uses->uses[i];
        if (runs_on_integers(uses, use.node))
            OX_TRY(pair_for(place, copy, node, use, err));
        else
            use.node->inputs[use.index] = copy;
    }
    return OX_OK;
}

enum ox_status ox_place_copies(struct ox_place *place, struct ox_error *err)
{
    const struct ox_quant_options *options = place->q->options;
    struct ox_quant_uses uses;
    if (options->activation_type != OX_INT8 || options->compat_ort ||
        options->symmetric_activation || options->format != OX_QUANT_QDQ)
        return OX_OK;
    OX_TRY(ox_quant_find_uses(place->q, place->graph, &uses, err));
    for (size_t i = 0, n = place->graph->n_nodes; i < n; i++) {
        if (feeds_several(&uses, place->graph->nodes[i]))
            OX_TRY(copy_for(place, &uses, place->graph->nodes[i], err));
    }
    return OX_OK;
}
