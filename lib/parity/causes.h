/* What an explanation looks at: the nodes of both models between the values that agree and the one that departs. */
#ifndef OX_PARITY_CAUSES_H
#define OX_PARITY_CAUSES_H

#include "parity/pairs.h"

enum { OX_MOST_REGION = 48, OX_LABEL_SIZE = 104, OX_WHAT_SIZE = 192 };

/* One side. */
struct ox_region {
    const struct ox_node *nodes[OX_MOST_REGION]; /* in the file's order; the last makes the value */
    size_t n_nodes;
    const struct ox_value
        *entries[OX_MOST_REGION]; /* what comes in: paired values and graph inputs */
    size_t n_entries;
};

struct ox_explaining {
    struct ox_parity *parity;
    const struct ox_pair *pair;
    struct ox_parity_causes *causes;
    struct ox_region a, b;
    struct ox_datum *const *a_inputs, *const *b_inputs;
    struct ox_datum *a_out, *b_out; /* the value on both sides */
};

/* From the value backwards until values that both sides have. */
void ox_region_cut(struct ox_region *region, const struct ox_parity *p, bool of_a,
                   const struct ox_value *value);
/* The last node of that operator; NULL. */
const struct ox_node *ox_region_find(const struct ox_region *region, const char *op_type);
size_t ox_region_count(const struct ox_region *region, const char *op_type);
/* Of the node's operator, as its model's opset has it; NULL. */
const struct ox_schema *ox_explain_schema(const struct ox_node *node);

/* A node in evidence: its name, "#12" where it has none. */
const char *ox_explain_label(const struct ox_node *node, char text[OX_LABEL_SIZE]);

/* Its operator, with the node where there are others beside it. */
const char *ox_explain_what(const struct ox_explaining *e, const struct ox_node *node,
                            char text[OX_WHAT_SIZE]);

/* Operators, attributes, opsets, wiring. */
enum ox_status ox_explain_nodes(struct ox_explaining *e, struct ox_error *err);
/* The graphs that two nodes of one operator hold. */
enum ox_status ox_explain_bodies(struct ox_explaining *e, const struct ox_node *a,
                                 const struct ox_node *b, struct ox_error *err);
/* Operators of one side that draw random numbers; Dropout is told by ox_explain_dropout(). */
void ox_explain_random(struct ox_explaining *e, const struct ox_region *region, const char *side);
/* Batch norm by the batch's own mean. */
bool ox_explain_is_training(const struct ox_region *region);
/* Dropout before opset 7, which is in training unless its is_test says otherwise. */
bool ox_explain_is_old_training(const struct ox_node *node);
/* Dropout that drops, on either side. */
enum ox_status ox_explain_dropout(struct ox_explaining *e, struct ox_error *err);
/* Epsilons, training left on, statistics never gathered. */
enum ox_status ox_explain_conventions(struct ox_explaining *e, struct ox_error *err);
/* Two attributes or defaults of nodes of one operator. */
enum ox_status ox_explain_attrs(struct ox_explaining *e, const struct ox_node *a,
                                const struct ox_node *b, struct ox_error *err);
/* Constant inputs of two nodes of one operator. */
enum ox_status ox_explain_constants(struct ox_explaining *e, const struct ox_node *a,
                                    const struct ox_node *b, struct ox_error *err);
/* Two constants: what relates them, `what` they are. Nothing where they are equal. */
enum ox_status ox_explain_tensors(struct ox_explaining *e, const char *what,
                                  const struct ox_tensor *a, const struct ox_tensor *b,
                                  struct ox_error *err);
/* The values themselves. */
enum ox_status ox_explain_values(struct ox_explaining *e, struct ox_error *err);
/* The node that makes a side's first NaN or infinity, where the other side has none. */
enum ox_status ox_explain_nonfinite(struct ox_explaining *e, struct ox_error *err);
/* How far B's value moves when what comes in moves by one unit in the last place. */
enum ox_status ox_explain_condition(struct ox_explaining *e, struct ox_error *err);

/* Whether a side adds integer products as processors without VNNI do: our own value of it is computed both ways. */
enum ox_status ox_explain_products(struct ox_explaining *e, struct ox_error *err);

/* Every difference between two values counts. */
enum ox_status ox_explain_distance(const struct ox_explaining *e, const struct ox_datum *a,
                                   const struct ox_datum *b, struct ox_metrics *out,
                                   struct ox_error *err);
/* Whether the model itself has a value of that name: at higher levels the walkers make others too. */
bool ox_explain_is_of_model(const struct ox_explaining *e, bool of_a, const char *name);
/* Computes values of a model by name, each a reference; inputs as of the whole model. All are NULL if it does not have one. */
enum ox_status ox_explain_fetch(struct ox_explaining *e, bool of_a, const char *const *names,
                                size_t n, struct ox_datum **out, struct ox_error *err);
/* Whether a value depends on no input: a walk back, bounded. */
bool ox_explain_is_constant(const struct ox_value *value);
/* A value that depends on no input, as a tensor: initializer, Constant, or computed. *out NULL: it is none. */
enum ox_status ox_explain_constant(struct ox_explaining *e, bool of_a, const struct ox_value *value,
                                   struct ox_tensor **out, struct ox_error *err);
/* The value of A that is paired with this one of B, or the graph input in its place; NULL. */
const struct ox_value *ox_explain_partner(const struct ox_explaining *e, const struct ox_value *b);

#endif
