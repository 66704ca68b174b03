/* Weights of 16-bit floats. Quantizers work in float32; what they leave alone is stored as it came, behind a Cast that runtimes fold when
 * they load. */
#include "graph/match.h"
#include "quant/quant.h"

static bool is_half(const struct ox_stored *stored)
{
    return stored && ox_dtype_is_half(stored->dtype);
}

/* The halves that a cast makes float32 of; NULL. */
static const struct ox_stored *cast_halves(const struct ox_node *node)
{
    if (!ox_is_op(node, "Cast") || node->n_inputs != 1 || node->n_outputs != 1 ||
        !node->inputs[0] || !node->outputs[0] || node->outputs[0]->is_output ||
        ox_quant_int_attr(node, "to", 0) != OX_FLOAT32)
        return NULL;
    const struct ox_stored *stored = ox_value_stored(node->inputs[0]);
    return is_half(stored) ? stored : NULL;
}

/* A value of the graph that is these halves in float32 already; NULL. */
static struct ox_value *find_wide(struct ox_graph *graph, const struct ox_stored *halves)
{
    for (size_t i = 0; i < graph->n_inits; i++) {
        if (graph->inits[i]->place == OX_STORED_WIDE && graph->inits[i]->narrow == halves)
            return ox_graph_value(graph, graph->inits[i]->name);
    }
    return NULL;
}

/* What branches cast of one weight around them is there once, around them. *done: the cast is not needed any more. */
static enum ox_status widen_weight(struct ox_quant *q, const struct ox_node *cast,
                                   const struct ox_stored *halves, const bool *captured, bool *done,
                                   struct ox_error *err)
{
    struct ox_value *value = cast->outputs[0], *outer = cast->inputs[0]->outer;
    struct ox_graph *home = outer && !outer->outer ? outer->graph : cast->graph;
    struct ox_value *wide = find_wide(home, halves);
    if (home == cast->graph && !wide) {
        *done = ox_graph_add_wide_init(home, value, halves) != NULL;
        return *done ? OX_OK : ox_no_memory(err);
    }
    if (!wide) {
        const char *name = ox_quant_name(q, halves->name, "_float");
        wide = name ? ox_graph_add_value(home, name) : NULL;
        if (!wide || !ox_graph_add_wide_init(home, wide, halves))
            return ox_no_memory(err);
    }
    if (home != cast->graph && !ox_graph_value(cast->graph, wide->name)) {
        *done = ox_value_capture(value, wide);
        return OX_OK;
    }
    wide = ox_graph_value(cast->graph, wide->name);
    *done = !captured[value->id];
    if (*done)
        ox_quant_read_instead(cast->graph, value, wide);
    return OX_OK;
}

enum ox_status ox_quant_widen_weights(struct ox_quant *q, struct ox_graph *graph,
                                      struct ox_error *err)
{
    struct ox_quant_uses uses;
    bool *gone = ox_arena_array(&q->arena, graph->n_nodes + 1, sizeof *gone);
    if (!gone)
        return ox_no_memory(err);
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_stored *halves = cast_halves(graph->nodes[i]);
        if (halves)
            OX_TRY(widen_weight(q, graph->nodes[i], halves, uses.captured, &gone[i], err));
        if (gone[i])
            graph->nodes[i]->outputs[0]->producer = NULL;
    }
    ox_graph_remove_nodes(graph, gone);
    return OX_OK;
}

/* A Cast takes more bytes than it saves of few numbers. */
static bool is_few(const struct ox_stored *stored)
{
    enum { FEW = 64 };
    size_t n;
    return ox_dims_count(stored->rank, stored->dims, &n) && n < FEW;
}

static enum ox_status narrow(struct ox_quant *q, struct ox_graph *graph,
                             const struct ox_stored *wide, struct ox_error *err)
{
    struct ox_value *value = ox_graph_value(graph, wide->name);
    struct ox_tensor *values;
    if (!value || value->init != wide)
        return OX_OK;
    if (is_few(wide)) {
        OX_TRY(ox_stored_load(q->model, wide, &values, err));
        bool added = ox_graph_add_init(graph, value, values) != NULL;
        ox_tensor_release(values);
        return added ? OX_OK : ox_no_memory(err);
    }
    OX_TRY(ox_stored_load(q->model, wide->narrow, &values, err));
    const char *name = ox_quant_name(q, wide->name, "_half");
    struct ox_value *from = name ? ox_quant_add_init(graph, name, values) : NULL;
    if (!from)
        return ox_no_memory(err);
    ox_graph_drop_init(graph, value);
    value->removed = false;
    struct ox_node *cast = ox_graph_add_node(graph, "Cast", "", "", &from, 1, &value, 1);
    return cast && ox_node_set_int(cast, "to", OX_FLOAT32) ? OX_OK : ox_no_memory(err);
}

enum ox_status ox_quant_narrow_weights(struct ox_quant *q, struct ox_graph *graph,
                                       struct ox_error *err)
{
    for (size_t i = graph->n_inits; i-- > 0;) {
        if (graph->inits[i]->place == OX_STORED_WIDE)
            OX_TRY(narrow(q, graph, graph->inits[i], err));
    }
    return OX_OK;
}
