/* int8 activations since opset 21. onnxruntime 1.31 puts Q and DQ behind what moves the values of a DQ, with an output_dtype that it does not
 * change when it makes uint8 of int8 on x86: then it refuses its own node. Where the pair is there already it adds none. */
#include "graph/match.h"
#include "quant/place.h"

static bool refuses(const struct ox_place *place)
{
    return place->q->options->activation_type == OX_INT8 && ox_graph_opset(place->graph, "") >= 21;
}

/* Of a stack it makes a matrix by a Reshape, for Gemm. */
bool ox_place_int8_parts(const struct ox_place *place, const struct ox_node *product)
{
    return refuses(place) && ox_quant_rank(place->q, product->inputs[0]) > 2;
}

void ox_place_int8_ends(struct ox_place *place)
{
    if (!refuses(place))
        return;
    for (size_t i = 0; i < place->n_nodes; i++) {
        const struct ox_node *node = place->graph->nodes[i];
        if (place->gone[i] || !ox_place_ort_moves(node) || !node->inputs[0] || !node->outputs[0])
            continue;
        if (ox_place_mark(place, node->inputs[0])->kind == OX_MARK_ACTIVATION &&
            ox_place_mark(place, node->outputs[0])->kind == OX_MARK_NONE)
            ox_place_same(place, node->outputs[0], node->inputs[0]);
    }
}
