/* Which sums by a constant can saturate on processors without VNNI: by what onnxruntime makes of its users between Q and DQ. */
#include <string.h>

#include "quant/place.h"

static bool is_op(const struct ox_node *node, const char *op_type)
{
    return strcmp(node->op_type, op_type) == 0;
}

static bool marked(struct ox_place *place, const struct ox_value *value)
{
    return value && ox_place_mark(place, value)->kind != OX_MARK_NONE;
}

/* Whether the node adds up uint8 by int8: on x86 onnxruntime makes uint8 of int8 activations between Q and DQ, but takes those that
 * are written as an operator on integers for what they are, and int8 by int8 is exact. */
static bool adds_uint8(struct ox_place *place, const struct ox_node *node)
{
    const struct ox_quant_options *options = place->q->options;
    const bool fed = marked(place, node->inputs[0]);
    const bool makes = node->n_outputs && marked(place, node->outputs[0]);
    if (!fed || (is_op(node, "Conv") && !makes))
        return false; /* it stays in float */
    if (options->activation_type == OX_INT8)
        return options->format == OX_QUANT_QDQ || is_op(node, "Gemm") || !makes;
    return options->activation_type == OX_UINT8;
}

enum ox_status ox_place_sums(struct ox_place *place, const struct ox_value *value,
                             const struct ox_tensor *shape, struct ox_error *err)
{
    struct ox_mark *mark = ox_place_mark(place, value);
    const struct ox_quant_uses *uses = &place->uses;
    const size_t most = ox_quant_n_uses(uses, value);
    struct ox_saturation *sums = ox_arena_array(&place->q->arena, most + 1, sizeof *sums);
    if (!sums)
        return ox_no_memory(err);
    mark->sums = sums;
    for (size_t i = 0; i < most; i++) {
        const struct ox_quant_use use = uses->uses[uses->first[value->id] + i];
        if (use.index == 1 && adds_uint8(place, use.node) &&
            ox_saturation_of(&sums[mark->n_sums], use.node, shape->rank, shape->dims))
            mark->n_sums++;
    }
    return OX_OK;
}
