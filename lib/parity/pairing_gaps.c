/* Between values that are paired already both models may have the same nodes, one of which differs: in its weights, its attributes,
 * or as another operator in the same place. Then what lies between is paired by place, so that this node can be named. */
#include <string.h>

#include "parity/pairing.h"

/* Neither depends on what the model is fed. */
static bool is_constant(const struct ox_prints *prints, const struct ox_value *value)
{
    return value->init || value->sparse_init || prints->constant[value->id];
}

/* The k-th input that is no constant; NULL: there are fewer. */
static const struct ox_value *varying_input(const struct ox_prints *prints,
                                            const struct ox_node *node, size_t k)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] && !is_constant(prints, node->inputs[i]) && !k--)
            return node->inputs[i];
    return NULL;
}

static bool has_body(const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].type == OX_ATTR_GRAPH || node->attrs[i].type == OX_ATTR_GRAPHS)
            return true;
    return false;
}

struct gap {
    const struct ox_gap_side *a, *b;
    struct ox_gap_pair *pairs;
    size_t n, n_other_ops;
};

/* Notes that the values stand in one place; false: they can't. */
static bool meet(struct gap *gap, const struct ox_value *a, const struct ox_value *b)
{
    const uint64_t known_a = gap->a->matched[a->id], known_b = gap->b->matched[b->id];
    if (known_a || known_b)
        return known_a == known_b;
    if (!a->producer || !b->producer)
        return !a->producer && !b->producer;
    for (size_t i = 0; i < gap->n; i++)
        if (gap->pairs[i].a == a || gap->pairs[i].b == b)
            return gap->pairs[i].a == a && gap->pairs[i].b == b;
    if (gap->n == OX_MOST_GAP || a->output_index != b->output_index)
        return false;
    gap->pairs[gap->n++] = (struct ox_gap_pair){a, b};
    return true;
}

/* What makes two values that stand in one place. */
static bool align(struct gap *gap, const struct ox_value *value_a, const struct ox_value *value_b)
{
    const struct ox_node *a = value_a->producer, *b = value_b->producer;
    if (strcmp(a->op_type, b->op_type) != 0 || strcmp(a->domain, b->domain) != 0) {
        if (has_body(a) || has_body(b) || a->n_outputs != 1 || b->n_outputs != 1)
            return false;
        gap->n_other_ops++;
    }
    for (size_t k = 0;; k++) {
        const struct ox_value *x = varying_input(gap->a->prints, a, k);
        const struct ox_value *y = varying_input(gap->b->prints, b, k);
        if (!x && !y)
            return gap->n_other_ops <= 1 && k > 0;
        if (!x || !y || !meet(gap, x, y))
            return false;
    }
}

size_t ox_match_gap(const struct ox_gap_side *side_a, const struct ox_gap_side *side_b,
                    const struct ox_value *a, const struct ox_value *b,
                    struct ox_gap_pair pairs[OX_MOST_GAP])
{
    struct gap gap = {.a = side_a, .b = side_b, .pairs = pairs};
    if (is_constant(side_a->prints, a) || is_constant(side_b->prints, b) || !align(&gap, a, b))
        return 0;
    for (size_t i = 0; i < gap.n; i++)
        if (!align(&gap, pairs[i].a, pairs[i].b))
            return 0;
    return gap.n;
}
