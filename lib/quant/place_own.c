/* Where Q and DQ pay: at the inputs of products and convolutions, at the outputs of convolutions, and through what lies between
 * where that costs no accuracy. */
#include "quant/place_own.h"

#include "graph/match.h"

/* Whether what is moved comes from where integers are made cheaply; not from an operator that stays in float anyway. */
static bool from_integers(const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    while (node && ox_is_any_op(node, ox_place_movers) && node->inputs[0])
        node = node->inputs[0]->producer;
    return node && (ox_is_any_op(node, ox_place_heavy) || ox_is_any_op(node, ox_place_mixers) ||
                    ox_is_any_op(node, ox_place_clippers));
}

/* All outputs are integers, each with a scale of its own. */
static bool makes_integers(struct ox_place *place, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct ox_value *out = node->outputs[i];
        if (!ox_place_is_marked(place, out) || ox_place_mark(place, out)->share)
            return false;
    }
    return true;
}

/* The input of a mover whose outputs are integers may be integers before it moves: the same values, a quarter of the bytes. */
static void push_up(struct ox_place *place, struct ox_node *node)
{
    struct ox_value *in = node->inputs[0];
    if (!ox_is_any_op(node, ox_place_movers) || !in || !makes_integers(place, node) ||
        ox_place_is_marked(place, in) || ox_place_constant(place, in) || !ox_place_can(place, in) ||
        !ox_place_has_range(place, in) || !ox_place_only_feeds(place, in) || !from_integers(in))
        return;
    ox_place_activation(place, in);
    for (size_t i = 0; i < node->n_outputs; i++)
        ox_place_same(place, node->outputs[i], in);
}

/* A part may have a much smaller range than the whole: then its own scale is worth more. */
static bool is_narrow_part(struct ox_place *place, const struct ox_node *mover)
{
    const struct ox_mark *a = ox_place_mark(place, mover->inputs[0]);
    const struct ox_mark *b = ox_place_mark(place, mover->outputs[0]);
    float whole = a->range.most - a->range.least, part = b->range.most - b->range.least;
    return (ox_is_op(mover, "Slice") || ox_is_op(mover, "Gather") || ox_is_op(mover, "Split")) &&
           part < whole * 0.75f;
}

/* What integers are without rounding: one of several parts of them, or their positive ones. */
static bool part_of_marked(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    if (!node || !node->inputs[0] || !ox_place_is_marked(place, node->inputs[0]))
        return false;
    return ox_is_op(node, "Split") ||
           (ox_is_any_op(node, ox_place_clippers) && ox_place_only_feeds(place, node->inputs[0]));
}

/* The same, or the gate that such a part makes. */
static bool from_marked(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    return part_of_marked(place, value) || (node && ox_is_op(node, "Sigmoid") && node->inputs[0] &&
                                            part_of_marked(place, node->inputs[0]));
}

/* One value, and what pools and other movers make of it, as in spatial pyramids: one scale serves all. */
static bool joins_one_value(const struct ox_node *node)
{
    const struct ox_value *one = NULL;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *from = node->inputs[i];
        while (from && from->producer && ox_is_op(from->producer, "MaxPool"))
            from = from->producer->inputs[0];
        if (!from || !from->producer || !ox_is_any_op(from->producer, ox_place_mixers) ||
            (one && from != one))
            return false;
        one = from;
    }
    return ox_is_op(node, "Concat");
}

/* A sum, product or pool between integers runs on integers, if all of its inputs become such. */
static void join_mixer(struct ox_place *place, struct ox_node *node)
{
    size_t n_marked = 0;
    if (!ox_is_any_op(node, ox_place_mixers) || !ox_place_is_marked(place, node->outputs[0]))
        return;
    size_t n = ox_is_op(node, "Resize") ? 1 : node->n_inputs;
    for (size_t i = 0; i < n; i++) {
        const struct ox_value *in = node->inputs[i];
        if (!in || !ox_place_can(place, in) || ox_place_constant(place, in) ||
            !ox_place_has_range(place, in))
            return;
        n_marked += ox_place_is_marked(place, in) || from_marked(place, in);
    }
    for (size_t i = 0; (n_marked || joins_one_value(node)) && i < n; i++)
        ox_place_activation(place, node->inputs[i]);
}

/* A mixer that makes integers, or a mover that does of all or much of its input. */
static bool takes_integers(struct ox_place *place, const struct ox_node *user,
                           const struct ox_value *value)
{
    if (ox_is_any_op(user, ox_place_movers))
        return user->n_outputs == 1 && user->inputs[0] == value && makes_integers(place, user) &&
               !is_narrow_part(place, user);
    return ox_is_any_op(user, ox_place_mixers) && ox_place_is_marked(place, user->outputs[0]) &&
           !ox_quant_unwanted(place->q, user);
}

/* What a mixer makes for several that all make integers, as in squeeze and excitation, or slices in place of a Split: with it on
 * integers they run on integers too. */
static void bridge_mixers(struct ox_place *place, const struct ox_node *node)
{
    struct ox_value *out = node->outputs[0];
    const struct ox_quant_uses *uses = &place->uses;
    bool from_marked = false;
    if (!ox_is_any_op(node, ox_place_mixers) || ox_place_is_marked(place, out) || out->is_output ||
        place->uses.captured[out->id] || !ox_place_can(place, out) ||
        !ox_place_has_range(place, out) || ox_quant_n_uses(uses, out) < 2)
        return;
    for (size_t i = 0; i < node->n_inputs; i++)
        from_marked |= ox_place_is_marked(place, node->inputs[i]);
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++) {
        if (!takes_integers(place, uses->uses[i].node, out))
            return;
    }
    if (!from_marked)
        return;
    ox_place_activation(place, out);
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++)
        join_mixer(place, uses->uses[i].node);
}

/* Whether what is moved, or clipped before, becomes integers anyway. */
static bool moves_marked(struct ox_place *place, const struct ox_node *mover)
{
    const struct ox_value *value = mover->inputs[0];
    while (value && value->producer && ox_is_any_op(value->producer, ox_place_movers) &&
           !ox_place_is_marked(place, value))
        value = value->producer->inputs[0];
    const struct ox_node *clip = value ? value->producer : NULL;
    return value && (ox_place_is_marked(place, value) ||
                     (clip && ox_is_any_op(clip, ox_place_clippers) && clip->inputs[0] &&
                      ox_place_is_marked(place, clip->inputs[0])));
}

/* What is moved for several that move it on as integers, as slices of a sequence for the steps of an unrolled layer: it has been rounded
 * before, so that scales of their own would only round it again. */
static void bridge_movers(struct ox_place *place, const struct ox_node *node)
{
    struct ox_value *out = node->outputs[0];
    const struct ox_quant_uses *uses = &place->uses;
    if (!ox_is_any_op(node, ox_place_movers) || node->n_outputs != 1 ||
        ox_place_is_marked(place, out) || out->is_output || uses->captured[out->id] ||
        !ox_place_can(place, out) || !ox_place_has_range(place, out) ||
        ox_quant_n_uses(uses, out) < 2 || !moves_marked(place, node))
        return;
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++) {
        const struct ox_node *user = uses->uses[i].node;
        if (!ox_is_any_op(user, ox_place_movers) || user->n_outputs != 1 ||
            user->inputs[0] != out || !makes_integers(place, user))
            return;
    }
    ox_place_activation(place, out);
    for (uint32_t i = uses->first[out->id]; i < uses->first[out->id + 1]; i++)
        ox_place_same(place, uses->uses[i].node->outputs[0], out);
}

/* A sum of what convolutions make for it alone: in float it would need all of them as floats, and in onnxruntime in another order. */
static void join_sum(struct ox_place *place, const struct ox_node *node)
{
    struct ox_value *out = node->outputs[0];
    if (!ox_is_op(node, "Add") || node->n_inputs != 2 || ox_place_is_marked(place, out) ||
        out->is_output || !ox_place_can(place, out) || !ox_place_has_range(place, out))
        return;
    for (size_t i = 0; i < 2; i++) {
        const struct ox_value *in = node->inputs[i];
        if (!ox_place_is_marked(place, in) || ox_place_constant(place, in) ||
            !ox_place_only_feeds(place, in) || !in->producer ||
            !(ox_is_op(in->producer, "Conv") || ox_is_op(in->producer, "Add")))
            return;
    }
    ox_place_activation(place, out);
}

/* Both ends of a mover are integers: they take the same scale, and it runs on integers. */
static bool join_ends(struct ox_place *place, struct ox_node *node)
{
    struct ox_value *in = node->inputs[0], *out = node->outputs[0];
    if (!ox_is_any_op(node, ox_place_movers) || node->n_outputs != 1 ||
        !ox_place_is_marked(place, in) || !ox_place_is_marked(place, out) ||
        ox_place_mark(place, out)->share || ox_place_mark(place, in)->share == out)
        return false;
    if (is_narrow_part(place, node))
        return false;
    ox_place_same(place, out, in);
    return true;
}

/* Parts that become integers keep the scale of the whole: another one would round once more. Runtimes split integers only if all of
 * the parts are such, which rounds none of the others. */
static void join_parts(struct ox_place *place, struct ox_node *split)
{
    bool any = false;
    for (size_t i = 0; i < split->n_outputs; i++)
        any |= ox_place_is_marked(place, split->outputs[i]);
    for (size_t i = 0; any && i < split->n_outputs && ox_place_is_marked(place, split->inputs[0]);
         i++) {
        struct ox_value *part = split->outputs[i];
        if (part && !part->is_output && !ox_place_mark(place, part)->share)
            ox_place_same(place, part, split->inputs[0]);
    }
}

/* A convolution, then Relu or Clip: integers clip by themselves. */
static void absorb_clip(struct ox_place *place, struct ox_node *node)
{
    struct ox_value *in = node->inputs[0], *out = node->outputs[0];
    bool heavy_before = in && in->producer && ox_is_any_op(in->producer, ox_place_heavy);
    if (!in || !out || !in->producer ||
        !(ox_place_is_marked(place, in) || (heavy_before && ox_place_is_marked(place, out))) ||
        place->q->options->symmetric_activation || ox_quant_unwanted(place->q, node))
        return;
    const struct ox_mark *made = ox_place_mark(place, out);
    bool from_zero = ox_is_op(node, "Clip") || (made->has_range && made->range.least >= 0);
    if (!from_zero || !(ox_is_any_op(in->producer, ox_place_heavy) ||
                        ox_is_any_op(in->producer, ox_place_mixers)))
        return;
    if (ox_place_absorb(place, node))
        ox_place_activation(place, out);
}

static enum ox_status place_recurrent(struct ox_place *place, struct ox_node *node,
                                      struct ox_error *err)
{
    const char *reason = ox_quant_unwanted(place->q, node);
    if (!reason)
        OX_TRY(ox_quant_shrink_recurrent(place->q, node, place->wide_recurrent, &reason, err));
    ox_quant_report_add_node(place->q->report, node, NULL, reason);
    return OX_OK;
}

enum ox_status ox_place_own(struct ox_place *place, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    const bool coarse = ox_dtype_bits(place->q->options->activation_type) == 8;
    OX_TRY(ox_quant_find_before(place->q, graph, place->uses.captured,
                                OX_BEFORE_CUBIC | (coarse ? OX_BEFORE_LOG | OX_BEFORE_MODULUS : 0),
                                &place->before, err));
    for (size_t i = 0; i < place->n_nodes; i++) {
        if (ox_is_any_op(graph->nodes[i], ox_place_heavy))
            OX_TRY(ox_place_product(place, graph->nodes[i], err));
        else if (ox_is_op(graph->nodes[i], "Gather"))
            OX_TRY(ox_place_table(place, graph->nodes[i], err));
        else if (ox_quant_is_recurrent(graph->nodes[i]))
            OX_TRY(place_recurrent(place, graph->nodes[i], err));
    }
    for (size_t i = place->n_nodes; i-- > 0;) {
        struct ox_node *node = graph->nodes[i];
        if (!node->n_inputs || !node->n_outputs || !node->inputs[0] || !node->outputs[0] ||
            place->gone[i])
            continue;
        bridge_movers(place, node);
        push_up(place, node);
        if (!ox_quant_unwanted(place->q, node)) {
            bridge_mixers(place, node);
            join_mixer(place, node);
        }
    }
    for (size_t i = 0; i < place->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        if (!node->n_inputs || !node->n_outputs || !node->inputs[0] || !node->outputs[0] ||
            place->gone[i])
            continue;
        if (!ox_quant_unwanted(place->q, node))
            join_sum(place, node);
        if (ox_is_any_op(node, ox_place_clippers))
            absorb_clip(place, node);
        else if (ox_is_op(node, "Split") && node->n_outputs > 1)
            join_parts(place, node);
        else
            join_ends(place, node);
    }
    OX_TRY(ox_place_pads(place, err));
    ox_place_int8_ends(place);
    ox_place_softmaxes(place);
    for (size_t i = 0; i < place->n_nodes; i++)
        OX_TRY(ox_place_part_product(place, graph->nodes[i], err));
    return OX_OK;
}
