/* Costs of all graphs of a model: each is looked at once, however often it is called. */
#include <stdlib.h>
#include <string.h>

#include "graph/cost/cost.h"

enum { MOST_DEPTH = 256 /* graphs within each other and calls */, SCRATCH_BYTES = 16 * 1024 };

/* ---- Types and constants ------------------------------------------------------------------------------------------ */

static uint64_t parameters_of(const struct ox_stored *stored)
{
    size_t n;
    return ox_cost_is_parameter(stored->dtype) && ox_dims_count(stored->rank, stored->dims, &n) ? n
                                                                                                : 0;
}

static uint64_t packed_bytes_of(const struct ox_stored *stored)
{
    size_t n;
    uint64_t bytes;
    return ox_dims_count(stored->rank, stored->dims, &n) &&
                   ox_dtype_packed_bytes(stored->dtype, n, &bytes)
               ? bytes
               : 0;
}

/* ---- Sums --------------------------------------------------------------------------------------------------------- */

/* Sums that do not fit stay at the largest number, as what is known at least. */
static void add(uint64_t *sum, uint64_t value, bool *known)
{
    if (OX_ADD_OVERFLOWS(*sum, value, sum)) {
        *sum = UINT64_MAX;
        *known = false;
    }
}

static void multiply(uint64_t *product, uint64_t by, bool *known)
{
    if (OX_MUL_OVERFLOWS(*product, by, product)) {
        *product = UINT64_MAX;
        *known = false;
    }
}

/* ---- Nested graphs ------------------------------------------------------------------------------------------------ */

static const struct ox_graph_cost *graph_cost(struct ox_costs *c, const struct ox_graph *graph);

/* How often the body of a Loop or Scan runs. */
static bool trip_count(struct ox_costs *c, const struct ox_node *node, uint64_t *trips)
{
    *trips = 1;
    if (strcmp(node->op_type, "Loop") == 0)
        return node->n_inputs && node->inputs[0] &&
               ox_shapes_number(c->shapes, node->inputs[0], trips);
    const struct ox_attr *n_scan = ox_node_attr(node, "num_scan_inputs");
    const struct ox_attr *axes = ox_node_attr(node, "scan_input_axes");
    if (strcmp(node->op_type, "Scan") != 0 || !n_scan || n_scan->ref || n_scan->i < 1 ||
        (uint64_t)n_scan->i > node->n_inputs)
        return false;
    const struct ox_value *first = node->inputs[node->n_inputs - (size_t)n_scan->i];
    const struct ox_type *type = first ? ox_shapes_type(c->shapes, first) : NULL;
    int64_t axis = axes && axes->type == OX_ATTR_INTS && axes->n ? axes->ints[0] : 0, size;
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank)
        return false;
    axis += axis < 0 ? (int64_t)type->rank : 0;
    if (axis < 0 || axis >= (int64_t)type->rank || !ox_expr_is_int(type->dims[axis], &size))
        return false;
    *trips = (uint64_t)size;
    return true;
}

/* What the graphs in a node's attributes take. */
static void add_subgraphs(struct ox_costs *c, const struct ox_node *node, struct ox_cost *cost,
                          struct ox_cost_total *total, uint64_t *inner)
{
    bool is_if = strcmp(node->op_type, "If") == 0 && !*node->domain, known = true;
    uint64_t macs = 0, trips = 1, guessed = 0;
    size_t n = 0;
    for (size_t a = 0; a < node->n_attrs; a++) {
        const struct ox_attr *attr = &node->attrs[a];
        if (!ox_attr_has_graphs(attr))
            continue;
        for (size_t g = 0; g < attr->n; g++, n++) {
            const struct ox_cost_total *in = &graph_cost(c, attr->graphs[g])->total;
            if (!is_if)
                add(&macs, in->macs, &known);
            else if (in->macs > macs)
                macs = in->macs;
            known &= in->macs_known;
            guessed += in->n_guessed;
            cost->parameters += in->parameters;
            *inner = in->activation_bytes > *inner ? in->activation_bytes : *inner;
            total->activation_known &= in->activation_known;
        }
    }
    if (n && !is_if && !trip_count(c, node, &trips))
        guessed++;
    multiply(&macs, trips, &known);
    add(&cost->macs, macs, &known);
    cost->macs_known &= known;
    total->n_guessed += guessed;
}

static const struct ox_function *called(const struct ox_costs *c, const struct ox_node *node)
{
    return c->model->n_functions
               ? ox_model_function(c->model, node->domain, node->op_type, node->overload)
               : NULL;
}

static void add_call(struct ox_costs *c, const struct ox_function *function, struct ox_cost *cost,
                     struct ox_cost_total *total, uint64_t *inner)
{
    const struct ox_cost_total *in = &graph_cost(c, function->body)->total;
    bool known = in->macs_known;
    add(&cost->macs, in->macs, &known);
    cost->macs_known &= known;
    cost->parameters += in->parameters;
    total->n_guessed += in->n_guessed;
    total->activation_known &= in->activation_known;
    *inner = in->activation_bytes > *inner ? in->activation_bytes : *inner;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

static void cost_node(struct ox_costs *c, const struct ox_node *node, struct ox_cost *cost,
                      struct ox_cost_total *total, uint64_t *inner)
{
    *cost = (struct ox_cost){.macs_known = true, .output_known = true};
    for (size_t i = 0; i < node->n_outputs; i++) {
        uint64_t bytes = 0;
        if (!node->outputs[i])
            continue;
        cost->output_known &= ox_cost_bytes(ox_shapes_type(c->shapes, node->outputs[i]), &bytes);
        add(&cost->output_bytes, bytes, &cost->output_known);
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_stored *init = node->inputs[i] ? ox_cost_init(node->inputs[i]) : NULL;
        cost->parameters += init ? parameters_of(init) : 0;
    }
    const struct ox_stored *held = ox_cost_constant(node);
    cost->parameters += held ? parameters_of(held) : 0;
    const struct ox_function *function = called(c, node);
    if (function) {
        add_call(c, function, cost, total, inner);
    } else {
        const struct ox_cost_query query = {c->shapes, node,
                                            ox_graph_opset(node->graph, node->domain)};
        if (!ox_cost_macs(&query, &cost->macs)) {
            cost->macs = 0;
            cost->macs_known = false;
        }
    }
    add_subgraphs(c, node, cost, total, inner);
}

/* What no node may be asked for yet: a cycle of calls, or too deep. */
static const struct ox_graph_cost *unknown_cost(void)
{
    static const struct ox_graph_cost none; /* nothing is known of it */
    return &none;
}

static const struct ox_graph_cost *graph_cost(struct ox_costs *c, const struct ox_graph *graph)
{
    struct ox_graph_cost *cost = &c->graphs[graph->id];
    if (cost->state == 2)
        return cost;
    if (cost->state == 1 || c->depth >= MOST_DEPTH || c->failed)
        return unknown_cost();
    cost->state = 1;
    c->depth++;
    cost->total = (struct ox_cost_total){.macs_known = true, .activation_known = true};
    struct ox_cost *nodes = ox_arena_array(&c->arena, graph->n_nodes + 1, sizeof *nodes);
    uint64_t *inner = ox_arena_array(&c->arena, graph->n_nodes + 1, sizeof *inner);
    c->nodes[graph->id] = nodes;
    c->failed |= !nodes || !inner;
    for (size_t i = 0; i < graph->n_nodes && !c->failed; i++) {
        cost_node(c, graph->nodes[i], &nodes[i], &cost->total, &inner[i]);
        add(&cost->total.macs, nodes[i].macs, &cost->total.macs_known);
        cost->total.macs_known &= nodes[i].macs_known;
        cost->total.parameters += nodes[i].parameters;
    }
    if (!c->failed)
        c->failed = !ox_cost_activation(c, graph, inner, cost);
    c->depth--;
    cost->state = 2;
    return cost;
}

/* ---- The model ---------------------------------------------------------------------------------------------------- */

static void count_stored(struct ox_cost_total *total, const struct ox_stored *stored)
{
    total->parameters += parameters_of(stored);
    total->weight_bytes += packed_bytes_of(stored);
}

/* All constants, each once, wherever they are used. */
static void count_constants(struct ox_costs *c)
{
    c->total.parameters = 0;
    for (size_t g = 0; g < c->model->n_graphs; g++) {
        const struct ox_graph *graph = c->model->graphs[g];
        for (size_t i = 0; i < graph->n_inits; i++)
            count_stored(&c->total, graph->inits[i]);
        for (size_t i = 0; i < graph->n_sparse_inits; i++)
            if (graph->sparse_inits[i]->values)
                count_stored(&c->total, graph->sparse_inits[i]->values);
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_stored *held = ox_cost_constant(graph->nodes[i]);
            if (held)
                count_stored(&c->total, held);
        }
    }
}

static bool make_total(struct ox_costs *c)
{
    for (size_t g = 0; g < c->model->n_graphs; g++)
        graph_cost(c, c->model->graphs[g]);
    c->total = (struct ox_cost_total){.macs_known = true, .activation_known = true};
    if (!c->failed && c->model->graph) {
        const struct ox_graph_cost *main = graph_cost(c, c->model->graph);
        c->total = main->total;
        if (main->peak_node) {
            struct ox_strbuf label = {0};
            ox_node_label(&label, main->peak_node);
            c->total.activation_at = ox_arena_text(&c->arena, &label);
            c->failed |= !c->total.activation_at;
            ox_strbuf_release(&label);
        }
    }
    count_constants(c);
    return !c->failed;
}

enum ox_status ox_costs_new(struct ox_costs **out, struct ox_model *model,
                            const struct ox_shapes *shapes, struct ox_error *err)
{
    struct ox_costs *c = calloc(1, sizeof *c);
    bool reserved = false;
    if (c) {
        c->model = model;
        c->shapes = shapes;
        ox_arena_init(&c->arena, ox_env_budget(model->env));
        ox_arena_init(&c->scratch, ox_env_budget(model->env));
        /* A big first block, that an entry's memory is given back without freeing and asking anew. */
        reserved = ox_arena_reserve(&c->scratch, SCRATCH_BYTES);
        c->scratch_start = ox_arena_mark(&c->scratch);
        c->graphs = ox_arena_array(&c->arena, model->n_graphs + 1, sizeof *c->graphs);
        c->nodes = ox_arena_array(&c->arena, model->n_graphs + 1, sizeof(*c->nodes));
        c->first = ox_arena_array(&c->arena, model->n_graphs + 1, sizeof *c->first);
    }
    if (!c || !reserved || !c->graphs || !c->nodes || !c->first || !make_total(c)) {
        ox_costs_release(c);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
    }
    for (size_t g = 0; g < model->n_graphs; g++)
        c->first[g + 1] = c->first[g] + model->graphs[g]->n_nodes;
    *out = c;
    return OX_OK;
}

void ox_costs_release(struct ox_costs *costs)
{
    if (!costs)
        return;
    ox_arena_release(&costs->scratch);
    ox_arena_release(&costs->arena);
    free(costs);
}

const struct ox_cost_total *ox_costs_total(const struct ox_costs *costs)
{
    return &costs->total;
}

const struct ox_cost *ox_costs_of(const struct ox_costs *costs, const struct ox_node *node)
{
    return &costs->nodes[node->graph->id][node->index];
}

size_t ox_costs_count(const struct ox_costs *costs)
{
    return costs->first[costs->model->n_graphs];
}
