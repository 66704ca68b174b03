/* Memory of values between nodes, by their lifetimes in the file's order. */
#include <string.h>

#include "graph/cost/cost.h"
#include "model/value.h"

/* What becomes of the values of one graph, by value id. */
struct lives {
    const struct ox_costs *costs;
    const struct ox_graph *graph;
    bool *constant; /* follows from constants alone */
    uint32_t
        *last; /* place of the last node that needs it, plus 1; n_nodes + 1: an output; 0: none */
    uint32_t *by_last; /* value ids in the order of `last` */
    size_t *bucket;    /* where those of each `last` begin, plus 1: n_nodes + 4 */
    bool known;
};

static bool is_random(const struct ox_node *node)
{
    return strncmp(node->op_type, "Random", 6) == 0 || strcmp(node->op_type, "Bernoulli") == 0 ||
           strcmp(node->op_type, "Multinomial") == 0;
}

/* A use in this graph; false: of a value that is not constant. */
static bool use(struct lives *l, const struct ox_value *value, uint32_t at)
{
    if (value->graph != l->graph)
        return true;
    if (l->last[value->id] < at)
        l->last[value->id] = at;
    return value->outer ? ox_cost_init(value) != NULL : l->constant[value->id];
}

/* What graphs within the node take from this one is needed as long as it runs. */
static bool use_captured(struct lives *l, const struct ox_node *node, uint32_t time)
{
    bool constant = true;
    struct ox_captures at = {.node = node};
    for (const struct ox_value *outer; (outer = ox_captures_next(&at));)
        constant &= use(l, outer, time);
    return constant;
}

static void find_lives(struct lives *l)
{
    const struct ox_graph *graph = l->graph;
    for (size_t i = 0; i < graph->n_values; i++)
        l->constant[i] = graph->values[i]->init || graph->values[i]->sparse_init;
    for (uint32_t k = 0; k < graph->n_nodes; k++) {
        const struct ox_node *node = graph->nodes[k];
        bool constant = !is_random(node);
        for (size_t i = 0; i < node->n_inputs; i++)
            if (node->inputs[i])
                constant &= use(l, node->inputs[i], k + 1);
        constant &= use_captured(l, node, k + 1);
        for (size_t i = 0; i < node->n_outputs; i++) {
            const struct ox_value *value = node->outputs[i];
            if (!value || value->graph != graph)
                continue;
            l->constant[value->id] |= constant;
            use(l, value, k + 1);
        }
    }
    for (size_t i = 0; i < graph->n_outputs; i++)
        use(l, graph->outputs[i], (uint32_t)graph->n_nodes + 1);
}

static void sort_by_last(struct lives *l)
{
    size_t n = l->graph->n_values, n_buckets = l->graph->n_nodes + 2;
    for (size_t i = 0; i < n; i++)
        l->bucket[l->last[i] + 1]++;
    for (size_t i = 0; i < n_buckets; i++)
        l->bucket[i + 1] += l->bucket[i];
    for (size_t i = n; i-- > 0;)
        l->by_last[--l->bucket[l->last[i] + 1]] = (uint32_t)i;
}

/* 0 for what is free, and for what is not known. */
static uint64_t size_of(struct lives *l, const struct ox_value *value)
{
    uint64_t bytes = 0;
    if (value->graph != l->graph || value->outer || l->constant[value->id])
        return 0;
    if (!ox_cost_bytes(ox_shapes_type(l->costs->shapes, value), &bytes))
        l->known = false;
    return bytes;
}

static void add(struct lives *l, uint64_t *sum, uint64_t bytes)
{
    if (OX_ADD_OVERFLOWS(*sum, bytes, sum)) {
        *sum = UINT64_MAX;
        l->known = false;
    }
}

static bool produces(const struct ox_node *node, const struct ox_value *value, size_t output)
{
    return value && value->producer == node && value->output_index == output;
}

static void simulate(struct lives *l, const uint64_t *inner, struct ox_graph_cost *cost)
{
    const struct ox_graph *graph = l->graph;
    uint64_t live = 0, peak = 0;
    /* Inputs of nested graphs are values of the node outside, or slices of them. */
    for (size_t i = 0; i < graph->n_inputs && !graph->parent && !graph->function; i++)
        add(l, &live, size_of(l, graph->inputs[i]));
    peak = live;
    for (size_t k = 0; k < graph->n_nodes; k++) {
        const struct ox_node *node = graph->nodes[k];
        for (size_t i = 0; i < node->n_outputs; i++)
            if (produces(node, node->outputs[i], i))
                add(l, &live, size_of(l, node->outputs[i]));
        uint64_t here = live;
        add(l, &here, inner[k]);
        if (here > peak || !cost->peak_node) {
            peak = here > peak ? here : peak;
            cost->peak_node = node;
        }
        for (size_t i = l->bucket[k + 2]; i < l->bucket[k + 3]; i++) {
            const struct ox_value *value = graph->values[l->by_last[i]];
            if (value->producer || (value->is_input && !graph->parent && !graph->function))
                live -= size_of(l, value);
        }
    }
    cost->total.activation_bytes = peak;
    cost->total.activation_known &= l->known;
}

bool ox_cost_activation(struct ox_costs *costs, const struct ox_graph *graph, const uint64_t *inner,
                        struct ox_graph_cost *cost)
{
    struct lives l = {.costs = costs, .graph = graph, .known = true};
    struct ox_arena_mark mark = ox_arena_mark(&costs->scratch);
    l.constant = ox_arena_array(&costs->scratch, graph->n_values + 1, sizeof *l.constant);
    l.last = ox_arena_array(&costs->scratch, graph->n_values + 1, sizeof *l.last);
    l.by_last = ox_arena_array(&costs->scratch, graph->n_values + 1, sizeof *l.by_last);
    l.bucket = ox_arena_array(&costs->scratch, graph->n_nodes + 4, sizeof *l.bucket);
    bool good = l.constant && l.last && l.by_last && l.bucket;
    if (good) {
        find_lives(&l);
        sort_by_last(&l);
        simulate(&l, inner, cost);
    }
    ox_arena_rewind(&costs->scratch, mark);
    return good;
}
