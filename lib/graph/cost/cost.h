/* What nodes cost, as the files of graph/ share it. Types are those of an inference; what they leave open is unknown. */
#ifndef OX_GRAPH_COST_H
#define OX_GRAPH_COST_H

#include "shape/shapes.h"

/* A node whose multiply-adds are asked for. */
struct ox_cost_query {
    const struct ox_shapes *shapes;
    const struct ox_node *node;
    int64_t opset;
};

/* Multiply-adds of one run of a node that has no subgraph and calls no function of the model; 0 for what only moves,
 * compares or maps elements. false: a size is unknown, or the operator is, or the number does not fit. */
bool ox_cost_macs(const struct ox_cost_query *query, uint64_t *macs);

/* Elements of a tensor of that type, if all its dimensions are numbers. */
bool ox_cost_elements(const struct ox_type *type, uint64_t *n);
/* Bytes in memory of a value of that type; of sequences, maps and strings' characters nothing is known. */
bool ox_cost_bytes(const struct ox_type *type, uint64_t *bytes);
/* Whether elements of that type are weights, not shapes or indices. */
bool ox_cost_is_parameter(enum ox_dtype dtype);

/* The initializer that a value stands for, captured ones too; NULL: none. */
const struct ox_stored *ox_cost_init(const struct ox_value *value);
/* The tensor that a Constant node holds; NULL: it is none, or holds numbers or strings. */
const struct ox_stored *ox_cost_constant(const struct ox_node *node);

/* ---- weight_list.c ---- */

const struct ox_stored *ox_weight_list_stored(const struct ox_weight_list *list, size_t i);

/* ---- costs.c ---- */

struct ox_graph_cost {
    struct ox_cost_total total;
    const struct ox_node *peak_node;
    unsigned char state; /* 0: not looked at, 1: under way, 2: known */
};

struct ox_costs {
    struct ox_model *model;
    const struct ox_shapes *shapes;
    struct ox_arena arena;
    struct ox_arena scratch; /* of the entry shown last */
    struct ox_arena_mark scratch_start;
    struct ox_graph_cost *graphs; /* by graph id */
    struct ox_cost **nodes;       /* by graph id and place in the graph */
    size_t *first;                /* number of the first node of each graph; n_graphs + 1 */
    struct ox_cost_total total;
    unsigned depth;
    bool failed; /* out of memory */
};

const struct ox_cost *ox_costs_of(const struct ox_costs *costs, const struct ox_node *node);

/* ---- cost_memory.c ---- */

/* Most that the values of a graph take at a time, what nested graphs need at their node included (`inner`: by place of the
 * node). false: out of memory. */
bool ox_cost_activation(struct ox_costs *costs, const struct ox_graph *graph, const uint64_t *inner,
                        struct ox_graph_cost *cost);

#endif
