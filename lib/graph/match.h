/* Recognising patterns of nodes. */
#ifndef OX_GRAPH_MATCH_H
#define OX_GRAPH_MATCH_H

#include "graph/pass.h"

/* A node of ai.onnx of that operator. */
bool ox_is_op(const struct ox_node *node, const char *op_type);
/* ... in `domain`. */
bool ox_is_domain_op(const struct ox_node *node, const char *domain, const char *op_type);
/* ... of one of these operators; the list ends in NULL. */
bool ox_is_any_op(const struct ox_node *node, const char *const *op_types);
/* The node of ai.onnx of that operator that makes the value in the same graph; NULL. With `only` the value has no other use. */
struct ox_node *ox_made_by(const struct ox_rewrite *rw, const struct ox_value *value,
                           const char *op_type, bool only);
/* The node that is the value's only user and is that operator of ai.onnx; NULL. */
struct ox_node *ox_used_by(const struct ox_rewrite *rw, const struct ox_value *value,
                           const char *op_type);
/* Input i; NULL when it is omitted. */
struct ox_value *ox_input(const struct ox_node *node, size_t i);
/* Of two inputs, the one that is not `value`; NULL when neither is. */
struct ox_value *ox_other_input(const struct ox_node *node, const struct ox_value *value);

/* Attributes: the node's, else the default of the schema at the graph's opset, else the fallback. Of the wrong type: the
 * fallback. */
int64_t ox_attr_int(const struct ox_node *node, const char *name, int64_t fallback);
float ox_attr_float(const struct ox_node *node, const char *name, float fallback);
const char *ox_attr_string(const struct ox_node *node, const char *name, const char *fallback);
/* NULL and 0 where the node has none. */
const int64_t *ox_attr_ints(const struct ox_node *node, const char *name, size_t *n);
int64_t ox_node_opset(const struct ox_node *node);

/* A constant of one element (whatever its rank). */
bool ox_const_scalar(struct ox_rewrite *rw, const struct ox_value *value, double *scalar);
/* ... that equals `want`, to float's precision. */
bool ox_const_is(struct ox_rewrite *rw, const struct ox_value *value, double want);
/* Integers known of a value: constants, or computed from sizes. NULL: not known. Valid until rewriting ends. */
const int64_t *ox_const_ints(struct ox_rewrite *rw, const struct ox_value *value, size_t *n);
/* The constant in float32, loaded; NULL. */
const struct ox_tensor *ox_const_floats(struct ox_rewrite *rw, const struct ox_value *value);

/* Whether a node is an activation of one float32 input that fused nodes know (ops/fused/fused.h): its name there and parameters. */
bool ox_activation_of(struct ox_rewrite *rw, const struct ox_node *node, const char **name,
                      float *a, float *b);

/* Whether a Transpose has an order for the axes of a matrix, and whether it exchanges them. */
bool ox_orders_matrix(const struct ox_node *transpose, bool *turned);
/* The constant matrix that `value` is, or of which a Transpose makes it (*turned); NULL. What is tied to an embedding is too large to be
 * folded. */
struct ox_value *ox_matrix_behind(struct ox_rewrite *rw, struct ox_value *value, bool *turned);

/* Whether every value of the one type is a value of the other. */
bool ox_cast_is_exact(enum ox_dtype from, enum ox_dtype to);
/* A Pad of zeros before a convolution with that many spatial axes, used by it alone, becomes its attribute. */
bool ox_take_padding(struct ox_rewrite *rw, struct ox_node *node, unsigned spatial);
/* A Slice that alone reads a convolution's result, and cuts off no more than the pads made, becomes the convolution; NULL: there is
 * none. */
struct ox_node *ox_take_cut(struct ox_rewrite *rw, struct ox_node *conv);

/* Of types that are tensors of known rank; -1. */
int ox_rank_of(struct ox_rewrite *rw, const struct ox_value *value);
enum ox_dtype ox_dtype_of_value(struct ox_rewrite *rw, const struct ox_value *value);
/* A dimension that is a number; -1: it is not, or not known. Negative axes count from the end. */
int64_t ox_dim_of(struct ox_rewrite *rw, const struct ox_value *value, int axis);
/* The dimension as an expression; NULL: not known. */
const struct ox_expr *ox_dim_expr(struct ox_rewrite *rw, const struct ox_value *value, int axis);
/* Both have a known rank and the same dimensions, be they numbers or expressions. */
bool ox_same_shape(struct ox_rewrite *rw, const struct ox_value *a, const struct ox_value *b);

#endif
