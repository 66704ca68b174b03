/* Shape rules that many operators share, and the propagation of small integer values through elementwise operators. */
#ifndef OX_OPS_RULES_H
#define OX_OPS_RULES_H

#include "ops/infer.h"

/* Output 0 has element type and shape of input 0. */
void ox_rule_same(struct ox_infer *c);
/* Output 0 has the shape of input 0; its element type comes from the schema. */
void ox_rule_same_shape(struct ox_infer *c);
/* Output 0 has the broadcast shape of all inputs; its element type comes from the schema. */
void ox_rule_broadcast(struct ox_infer *c);

/* The element type that an integer attribute names, or its default does. OX_UNDEFINED: there is neither, or it names none, which is
 * reported. */
enum ox_dtype ox_rule_dtype_attr(struct ox_infer *c, const char *name);

/* False, and a finding, where input i has a rank, which is known and another. */
bool ox_rule_rank(struct ox_infer *c, size_t i, unsigned rank);
/* The same where it is known and less. */
bool ox_rule_rank_least(struct ox_infer *c, size_t i, unsigned least);

/* Notes the node as refused (ox_infer_refused()) where one of the inputs [first, first + n) is known to be no list and no scalar. */
void ox_rule_lists(struct ox_infer *c, size_t first, size_t n);

/* An output has the shape `in` of that rank, but for one axis, which has this dimension (NULL: not known). */
void ox_rule_other_axis(struct ox_infer *c, size_t output, unsigned rank,
                        const struct ox_expr *const *in, unsigned axis, const struct ox_expr *dim);

/* Shape's `start` and `end`, which count from the end where they are negative, as a range of axes. */
void ox_rule_shape_range(int64_t start, int64_t end, unsigned rank, unsigned *from, unsigned *to);

/* The values of an input, also of a float constant whose elements are all integers; NULL for ratios. As ox_infer_values(). */
bool ox_rule_values(struct ox_infer *c, size_t i, size_t *n, const struct ox_expr *const **values);

/* Hands the carried value of input 0 on to output 0, of as many elements, whose shape was set before. */
void ox_rule_pass_values(struct ox_infer *c);

/* Values of output 0, whose shape was set like that of input 0 (unary), or as the broadcast of the first n_in <= 3 inputs.
 * `of` gives one element of the result, NULL when it cannot be told; operands may be NULL. Nothing happens when
 * shapes or values are not known. */
void ox_rule_map(struct ox_infer *c, unsigned n_in,
                 const struct ox_expr *(*of)(struct ox_infer *c,
                                             const struct ox_expr *const *operands));

/* Likewise where operands, and results, of floats may be ratios (ox_expr_ratio()): elsewhere such operands are NULL. */
void ox_rule_map_ratios(struct ox_infer *c, unsigned n_in,
                        const struct ox_expr *(*of)(struct ox_infer *c,
                                                    const struct ox_expr *const *operands));

/* Elements that output i of the broadcast rule may carry. */
enum { OX_RULE_VALUES = 1024 };

#endif
