/* Copies of graphs put into others: bodies of functions where they are called, what stands for an operator, and subgraphs of a
 * graph's own nodes. */
#ifndef OX_GRAPH_SPLICE_H
#define OX_GRAPH_SPLICE_H

#include "model/model.h"

struct ox_splice {
    /* Of this model or of another; without initializers, unless it is a subgraph of a node of the graph that it goes to: those
     * come along then, and what it captures stays what it is. */
    const struct ox_graph *body;
    /* For the body's inputs, in order: NULL elements, and what is missing, are omitted. */
    struct ox_value *const *inputs;
    size_t n_inputs;
    /* What the body's outputs become: NULL elements are of no use to anybody. */
    struct ox_value *const *outputs;
    size_t n_outputs;
    /* What attributes that stand for the call's (`ref`) become; in attrs first, then in defaults, else they are left out. */
    const struct ox_attr *attrs;
    size_t n_attrs;
    const struct ox_attr *defaults;
    size_t n_defaults;
    const char *name; /* what new nodes and values are named after; "" is fine */
};

/* The body in the place of a node: its inputs, outputs, attributes and name; no defaults. */
struct ox_splice ox_splice_for(const struct ox_node *node, const struct ox_graph *body);

/* Appends copies of the body's nodes to the graph (order: ox_graph_sort()); the outputs get new producers. OX_NO_MEMORY, or the
 * failure to load a tensor of another model. */
enum ox_status ox_graph_splice(struct ox_graph *into, const struct ox_splice *splice,
                               struct ox_error *err);

#endif
