/* Between values that are paired already both models may have the same nodes, but for one that differs in its weights, its
 * attributes or its operator, or that one side lacks. Then what lies between is paired by place, so that this node can be named. */
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

/* What may differ, once. */
enum change { OTHER_OPERATOR, EXTRA_IN_A, EXTRA_IN_B, N_CHANGES };

struct gap {
    const struct ox_gap_side *a, *b;
    struct ox_gap_pair *pairs;
    size_t n;
    enum change change;
    bool changed;
};

static bool same_operator(const struct ox_node *a, const struct ox_node *b)
{
    return strcmp(a->op_type, b->op_type) == 0 && strcmp(a->domain, b->domain) == 0;
}

static bool may_be_other(const struct ox_node *a, const struct ox_node *b)
{
    return !ox_node_has_graphs(a) && !ox_node_has_graphs(b) && a->n_outputs == 1 &&
           b->n_outputs == 1;
}

/* Takes the values for one; false: they can't be. */
static bool note_pair(struct gap *gap, const struct ox_value *a, const struct ox_value *b)
{
    if (!a->producer || !b->producer)
        return !a->producer && !b->producer;
    for (size_t i = 0; i < gap->n; i++)
        if (gap->pairs[i].a == a || gap->pairs[i].b == b)
            return gap->pairs[i].a == a && gap->pairs[i].b == b;
    if (gap->n == OX_MOST_GAP || a->output_index != b->output_index)
        return false;
    if (!same_operator(a->producer, b->producer)) {
        if (gap->change != OTHER_OPERATOR || gap->changed ||
            !may_be_other(a->producer, b->producer))
            return false;
        gap->changed = true;
    }
    gap->pairs[gap->n++] = (struct ox_gap_pair){a, b};
    return true;
}

/* What the only step before a value takes; NULL: it takes more, or nothing. */
static const struct ox_value *before(const struct ox_prints *prints, const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    return node && !varying_input(prints, node, 1) ? varying_input(prints, node, 0) : NULL;
}

/* Whether the values may stand in one place. */
static bool meet(struct gap *gap, const struct ox_value *a, const struct ox_value *b)
{
    const uint64_t known_a = gap->a->matched[a->id], known_b = gap->b->matched[b->id];
    if (known_a && known_a == known_b)
        return true;
    if (!known_a && !known_b && note_pair(gap, a, b))
        return true;
    if (gap->changed || gap->change == OTHER_OPERATOR)
        return false;
    gap->changed = true;
    if (gap->change == EXTRA_IN_A)
        a = before(gap->a->prints, a);
    else
        b = before(gap->b->prints, b);
    return a && b && meet(gap, a, b);
}

/* Pairs what enters the nodes that make two values of one place. */
static bool align(struct gap *gap, const struct ox_value *value_a, const struct ox_value *value_b)
{
    for (size_t k = 0;; k++) {
        const struct ox_value *x = varying_input(gap->a->prints, value_a->producer, k);
        const struct ox_value *y = varying_input(gap->b->prints, value_b->producer, k);
        if (!x && !y)
            return k > 0;
        if (!x || !y || !meet(gap, x, y))
            return false;
    }
}

static bool align_all(struct gap *gap, const struct ox_value *a, const struct ox_value *b)
{
    if (!same_operator(a->producer, b->producer)) {
        if (gap->change != OTHER_OPERATOR || !may_be_other(a->producer, b->producer))
            return false;
        gap->changed = true;
    }
    if (!align(gap, a, b))
        return false;
    for (size_t i = 0; i < gap->n; i++)
        if (!align(gap, gap->pairs[i].a, gap->pairs[i].b))
            return false;
    return true;
}

size_t ox_match_gap(const struct ox_gap_side *side_a, const struct ox_gap_side *side_b,
                    const struct ox_value *a, const struct ox_value *b,
                    struct ox_gap_pair pairs[OX_MOST_GAP])
{
    if (is_constant(side_a->prints, a) || is_constant(side_b->prints, b))
        return 0;
    for (enum change change = OTHER_OPERATOR; change < N_CHANGES; change++) {
        struct gap gap = {.a = side_a, .b = side_b, .pairs = pairs, .change = change};
        if (align_all(&gap, a, b))
            return gap.n;
    }
    return 0;
}
