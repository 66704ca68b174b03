/* Normalizations with the sum before them: SkipLayerNormalization and its form without a mean. */
#include "graph/passes/part_merged.h"

void ox_part_end_in_norm(const struct ox_parts *p, bool centred, struct ox_value *v,
                         struct ox_value *scale, struct ox_value *shift, size_t i_sum)
{
    struct ox_rewrite *rw = p->rw;
    const struct ox_node *node = p->node;
    struct ox_value *in[] = {v, scale, shift};
    struct ox_value *kept = node->n_outputs > i_sum ? node->outputs[i_sum] : NULL;
    struct ox_node *norm = v ? ox_part(p, "Norm", OX_OWN_DOMAIN, in, shift ? 3 : 2, p->type) : NULL;
    if (!norm)
        return;
    rw->failed |= !ox_node_set_int(norm, "centred", centred) ||
                  !ox_node_set_float(norm, "epsilon", ox_attr_float(node, "epsilon", 1e-12f));
    ox_part_end(p, norm->outputs[0]);
    if (!kept)
        return;
    ox_rw_set_output(rw, v->producer, 0, kept);
    ox_rw_set_input(rw, norm, 0, kept);
}

bool ox_part_are_unused(const struct ox_parts *p, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < p->node->n_outputs; i++) {
        const struct ox_value *value = p->node->outputs[i];
        if (value && (ox_rw_n_uses(p->rw, value) || ox_rw_is_pinned(p->rw, value)))
            return false;
    }
    return true;
}

static void on_skip(const struct ox_parts *p, bool centred, struct ox_value *shift,
                    struct ox_value *bias)
{
    enum { X, SKIP, SCALE, MEAN = 1, SUM = 3 };
    struct ox_rewrite *rw = p->rw;
    const struct ox_node *node = p->node;
    struct ox_value *x = node->inputs[X], *y = node->outputs[0], *scale = ox_input(node, SCALE);
    if (!ox_part_are_unused(p, MEAN, SUM) || !scale || !ox_part_is_row(rw, scale, y) ||
        (shift && !ox_part_is_row(rw, shift, y)) || (bias && !ox_part_is_row(rw, bias, y)) ||
        !ox_same_shape(rw, x, y))
        return;
    struct ox_value *v = ox_part_pair(p, "Add", x, ox_input(node, SKIP));
    ox_part_end_in_norm(p, centred, bias ? ox_part_pair(p, "Add", v, bias) : v, scale, shift, SUM);
}

void ox_part_skip_norm(const struct ox_parts *p)
{
    on_skip(p, true, ox_input(p->node, 3), ox_input(p->node, 4));
}

void ox_part_skip_rms(const struct ox_parts *p)
{
    on_skip(p, false, NULL, ox_input(p->node, 3));
}
