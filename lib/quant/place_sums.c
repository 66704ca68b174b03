/* Which sums by a constant can saturate on processors without VNNI: by what onnxruntime makes of its users between Q and DQ. */
#include <math.h>

#include "graph/match.h"
#include "quant/channel_stats.h"
#include "quant/place.h"

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
    if (!fed || (ox_is_op(node, "Conv") && !makes))
        return false; /* it stays in float */
    if (options->activation_type == OX_INT8)
        return options->format == OX_QUANT_QDQ || ox_is_op(node, "Gemm") || !makes;
    return options->activation_type == OX_UINT8;
}

/* What samples show of an activation is exceeded by so much at times. */
static const double margin = 0.125;

/* The largest uint8 that a value of a channel becomes. */
static uint8_t largest_code(double most, struct ox_qparam pair, bool is_signed)
{
    const double zero = is_signed ? pair.zero + 128 : pair.zero;
    const double above = most > 0 ? ceil((1 + margin) * most / (double)pair.scale) : 0;
    return (uint8_t)fmin(UINT8_MAX, zero + above);
}

/* ... and that two values of one place add up to, each of which is rounded. */
static uint16_t largest_sum(double most, struct ox_qparam pair, bool is_signed)
{
    const double zero = is_signed ? pair.zero + 128 : pair.zero;
    const double above = most > 0 ? ceil((1 + margin) * most / (double)pair.scale) : 0;
    return (uint16_t)fmin(2 * UINT8_MAX, 2 * zero + above + 1);
}

/* Of each channel of the activation that the node reads, as far as samples showed; NULL: any may be 255. */
static enum ox_status largest_codes(struct ox_place *place, const struct ox_node *node,
                                    struct ox_saturation *sums, struct ox_error *err)
{
    const struct ox_quant_options *options = place->q->options;
    const struct ox_value *input = node->inputs[0];
    const struct ox_mark *mark = ox_place_sharing(place, input);
    if (options->processor != OX_QUANT_ANY || !place->channels || !mark->has_range ||
        ox_quant_int_attr(node, "transA", 0))
        return OX_OK;
    const struct ox_channel_row *row = ox_channels_of(place->channels, input->name);
    const bool conv = ox_is_op(node, "Conv");
    const size_t groups = conv ? (size_t)ox_quant_int_attr(node, "group", 1) : 1;
    if (!row || row->second != conv || row->n != sums->channels * groups ||
        sums->n_outputs < groups)
        return OX_OK;
    const struct ox_equalized *evened = ox_equalized_of(place->equalized, input->name);
    if (evened && evened->n != row->n)
        return OX_OK;
    const struct ox_qparam pair = ox_place_pair(place, input, mark->range);
    const bool is_signed = options->activation_type == OX_INT8;
    uint8_t *most = ox_arena_alloc(&place->q->arena, row->n);
    uint16_t *both = ox_arena_array(&place->q->arena, row->n, sizeof *both);
    if (!most || !both)
        return ox_no_memory(err);
    for (size_t c = 0; c < row->n; c++)
        most[c] = largest_code((double)row->most[c] / (evened ? (double)evened->factors[c] : 1),
                               pair, is_signed);
    for (size_t c = 0; !evened && c + 1 < row->n; c++)
        both[c] = largest_sum((double)row->both[c], pair, is_signed);
    sums->most = most;
    sums->both = evened ? NULL : both;
    sums->n_most = row->n;
    return OX_OK;
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
        if (use.index != 1 || !adds_uint8(place, use.node) ||
            !ox_saturation_of(&sums[mark->n_sums], use.node, shape->rank, shape->dims))
            continue;
        OX_TRY(largest_codes(place, use.node, &sums[mark->n_sums], err));
        mark->n_sums++;
    }
    return OX_OK;
}
