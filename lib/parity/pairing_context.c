/* What is made of a value, as far as a few nodes behind it: there layers that take the same and are alike differ, as queries and keys
 * do. */
#include "parity/pairing.h"

/* FNV-1a. */
static uint64_t add_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001B3u;
    return h;
}

static uint64_t add_number(uint64_t h, uint64_t number)
{
    h = (h ^ number) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

struct looking {
    const struct ox_prints *prints;
    unsigned left; /* values that may still be looked at: some are taken by very many nodes */
};

static uint64_t look(struct looking *l, const struct ox_value *value, unsigned steps);

/* One node that takes the value as its k-th input. */
static uint64_t print_user(struct looking *l, const struct ox_node *node, size_t k, unsigned steps)
{
    uint64_t h = add_number(add_text(0xCBF29CE484222325u, node->op_type), k);
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] && l->prints->constant[node->inputs[i]->id])
            h = add_number(h, l->prints->content[node->inputs[i]->id]);
    for (size_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i])
            h = add_number(h, look(l, node->outputs[i], steps));
    return h;
}

static uint64_t look(struct looking *l, const struct ox_value *value, unsigned steps)
{
    const struct ox_graph *graph = value->graph;
    uint64_t sum = 1; /* users in any order */
    if (!steps || !l->left || !value->producer)
        return sum;
    l->left--;
    for (size_t i = value->producer->index + 1; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] == value)
                sum += print_user(l, node, k, steps - 1);
    }
    return sum;
}

uint64_t ox_match_context(const struct ox_prints *prints, const struct ox_value *value,
                          unsigned steps)
{
    struct looking l = {.prints = prints, .left = 64};
    return look(&l, value, steps);
}
