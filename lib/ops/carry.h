/* What the shape rules of data-moving operators share. Values that are carried symbolically are arrays of pointers to
 * expressions: the same code that moves elements moves them. */
#ifndef OX_OPS_CARRY_H
#define OX_OPS_CARRY_H

#include "ops/infer.h"
#include "ops/move.h"

/* Values of more elements or a higher rank than this are not carried. */
enum { OX_CARRY_VALUES = 1024, OX_CARRY_RANK = 8 };

/* A carried value with its shape. */
struct ox_carry_value {
    unsigned rank;
    int64_t dims[OX_CARRY_RANK];
    size_t n;
    const struct ox_expr *const *values;
};

/* The product of n dims (1 for none); NULL when one is unknown. */
const struct ox_expr *ox_carry_product(struct ox_infer *c, size_t n,
                                       const struct ox_expr *const *dims);
/* numerator / denominator, both products of dims, with common factors cancelled; NULL when unknown. */
const struct ox_expr *ox_carry_quotient(struct ox_infer *c, size_t n_over,
                                        const struct ox_expr *const *over, size_t n_under,
                                        const struct ox_expr *const *under);
/* All dims as plain integers; false when one is not. */
bool ox_carry_static(unsigned rank, const struct ox_expr *const *dims, int64_t *out);
/* The carried value of input i with a shape that fits it; false when there is none. */
bool ox_carry_value(struct ox_infer *c, size_t i, struct ox_carry_value *value);
/* Output i has the dims of `to` (plain integers), and these values. */
void ox_carry_set_value(struct ox_infer *c, size_t i, unsigned rank, const int64_t *dims, size_t n,
                        const struct ox_expr *const *values);
/* A plain integer input (a tensor or scalar of one element); false when not known. */
bool ox_carry_int(struct ox_infer *c, size_t i, int64_t *value);
/* Rank stays as of input `from`, all dims unknown. */
void ox_carry_rank_only(struct ox_infer *c, size_t out, unsigned rank);
/* Reports n lengths of parts, one at least, that have not all the elements of the axis in all, where those are known. */
void ox_carry_check_parts(struct ox_infer *c, size_t n, const int64_t *lengths,
                          const struct ox_expr *axis);
/* Least value of e >= 0: a symbolic index or size that is surely not negative. */
bool ox_carry_not_negative(const struct ox_expr *e);
/* An attribute that is there, as an integer. */
bool ox_carry_has_attr(const struct ox_infer *c, const char *name);

/* That input as indices into an axis of that size, made non-negative; false where they are not known, are more than OX_CARRY_VALUES or
 * are outside of it. */
bool ox_carry_index_list(struct ox_infer *c, size_t input, int64_t size, int64_t *out, size_t *n);

#endif
