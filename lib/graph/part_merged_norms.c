/* Normalizations with the sum before them: SkipLayerNormalization, its form without a mean, EmbedLayerNormalization. */
#include "graph/part_merged.h"

/* The node's first output is `v` normalized, output i_sum `v` itself. */
static void end_in_norm(const struct ox_parts *p, bool centred, struct ox_value *v,
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

/* Whether nothing asks for outputs [from, to). */
static bool are_unused(const struct ox_parts *p, size_t from, size_t to)
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
    if (!are_unused(p, MEAN, SUM) || !scale || !ox_part_is_row(rw, scale, y) ||
        (shift && !ox_part_is_row(rw, shift, y)) || (bias && !ox_part_is_row(rw, bias, y)) ||
        !ox_same_shape(rw, x, y))
        return;
    struct ox_value *v = ox_part_pair(p, "Add", x, ox_input(node, SKIP));
    end_in_norm(p, centred, bias ? ox_part_pair(p, "Add", v, bias) : v, scale, shift, SUM);
}

void ox_part_skip_norm(const struct ox_parts *p)
{
    on_skip(p, true, ox_input(p->node, 3), ox_input(p->node, 4));
}

void ox_part_skip_rms(const struct ox_parts *p)
{
    on_skip(p, false, NULL, ox_input(p->node, 3));
}

/* The first rows of a table, as many as a sentence of the batch has tokens. */
static struct ox_value *first_rows(const struct ox_parts *p, struct ox_value *table,
                                   struct ox_value *ids)
{
    static const int64_t zero = 0, one = 1;
    struct ox_value *sizes[] = {ox_part_value(p, "Shape", &ids, 1, NULL),
                                ox_rw_ints(p->rw, "axis", 1, &one)};
    struct ox_value *cut[] = {table, ox_rw_ints(p->rw, "start", 1, &zero),
                              sizes[0] && sizes[1] ? ox_part_value(p, "Gather", sizes, 2, NULL)
                                                   : NULL,
                              ox_rw_ints(p->rw, "axes", 1, &zero)};
    return cut[1] && cut[2] && cut[3] ? ox_part_value(p, "Slice", cut, 4, NULL) : NULL;
}

void ox_part_embedding(const struct ox_parts *p)
{
    enum { IDS, SEGMENTS, WORDS, PLACES, SEGMENT_TABLE, SCALE, SHIFT, MASK, PLACE_IDS };
    enum { MASK_INDEX = 1, SUM };
    struct ox_rewrite *rw = p->rw;
    const struct ox_node *node = p->node;
    struct ox_value *ids = node->inputs[IDS], *y = node->outputs[0], *words = ox_input(node, WORDS),
                    *places = ox_input(node, PLACES), *place_ids = ox_input(node, PLACE_IDS),
                    *segments = ox_input(node, SEGMENTS), *table = ox_input(node, SEGMENT_TABLE),
                    *scale = ox_input(node, SCALE), *shift = ox_input(node, SHIFT);
    if (!are_unused(p, MASK_INDEX, SUM) || ox_rank_of(rw, ids) != 2 || !words || !places ||
        (segments && !table) || !scale || !ox_part_is_row(rw, scale, y) ||
        (shift && !ox_part_is_row(rw, shift, y)))
        return;
    struct ox_value *v = ox_part_pair(p, "Add", ox_part_pair(p, "Gather", words, ids),
                                      place_ids ? ox_part_pair(p, "Gather", places, place_ids)
                                                : first_rows(p, places, ids));
    if (segments)
        v = ox_part_pair(p, "Add", v, ox_part_pair(p, "Gather", table, segments));
    end_in_norm(p, true, v, scale, shift, SUM);
}
