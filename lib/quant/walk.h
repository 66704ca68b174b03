/* A graph rewritten node by node, where each value is known as float, as integers, or as both. */
#ifndef OX_QUANT_WALK_H
#define OX_QUANT_WALK_H

#include "quant/before.h"
#include "quant/cancel.h"
#include "quant/saturation.h"

/* What a value is as integers; NULL: it is not. */
struct ox_walked {
    struct ox_value *q, *scale, *zero;
    struct ox_qparams params;  /* of constants and static activations; n 0: not known */
    struct ox_value *floating; /* of a constant: its dequantized form, once one was needed */
    struct ox_value *turned;   /* of a constant matrix: transposed, once that was needed */
    unsigned largest; /* of the weight of products: activation that one of them is likely to meet */
    bool generated;   /* the float value is there */
};

struct ox_walk {
    struct ox_quant *q;
    struct ox_graph *graph;
    struct ox_walked *values; /* by value id */
    size_t n_values;
    bool *gone; /* by index: nodes to be taken out */
    size_t n_gone;
    struct ox_cancel_plan *plans; /* by index: of the node before anything changed */
    size_t n_nodes;               /* of the graph when the walk began */
    struct ox_quant_before before;
};

/* q->arena holds it all. */
enum ox_status ox_walk_begin(struct ox_walk *walk, struct ox_quant *q, struct ox_graph *graph,
                             struct ox_error *err);
/* Dequantizes outputs of the graph, takes out what was replaced. */
enum ox_status ox_walk_end(struct ox_walk *walk, struct ox_error *err);

/* Room for values made since; NULL: out of memory. */
struct ox_walked *ox_walk_value(struct ox_walk *walk, const struct ox_value *value);
/* A new value, or NULL when out of memory. */
struct ox_value *ox_walk_new(struct ox_walk *walk, const char *prefix, const char *suffix);
/* Adds a node whose outputs are then generated; NULL: out of memory. */
struct ox_node *ox_walk_add(struct ox_walk *walk, const char *op_type, const char *domain,
                            const char *name, struct ox_value *const *inputs, size_t n_inputs,
                            struct ox_value *const *outputs, size_t n_outputs);
/* The node stays as it is; those of its inputs that are integers only are dequantized for it. */
enum ox_status ox_walk_keep(struct ox_walk *walk, struct ox_node *node, struct ox_error *err);
/* The node was replaced. */
void ox_walk_drop(struct ox_walk *walk, const struct ox_node *node);

/* How a constant becomes integers. */
struct ox_weight_wish {
    enum ox_dtype type;
    bool symmetric, reduce;
    bool as_unsigned; /* int8 is stored as uint8 around 128 */
    int axis;         /* of the scales; -1: one */
    int outputs;      /* axis of outputs whose errors are to cancel; -1: rounded as ever */
    const bool *live; /* ... and which weights of each count; NULL: all */
    const struct ox_saturation *sums; /* of uint8 by them; NULL: they are exact everywhere */
    double
        turn_above; /* int8 is stored as uint8 around 128 where sums would need scales of so much larger a mean square; 0: never */
};

/* A constant as integers, once for all that ask. *reason is set where it cannot be (NaN), and *out is NULL then. */
enum ox_status ox_walk_weight(struct ox_walk *walk, struct ox_value *value,
                              const struct ox_weight_wish *wish, struct ox_walked **out,
                              const char **reason, struct ox_error *err);

#endif
