/* Types of values that come out of subgraphs. */
#ifndef OX_OPS_CONTROL_TYPES_H
#define OX_OPS_CONTROL_TYPES_H

#include "ops/infer.h"

/* What is true of a value that is of the one type or of the other: dims that differ become unknown. NULL where nothing is. */
const struct ox_type *ox_control_merge(struct ox_infer *c, const struct ox_type *a,
                                       const struct ox_type *b);

/* Types of the attribute "body"'s outputs when n of its inputs, from `in_first`, are fed from its outputs, from `out_first`: on
 * return these inputs have types that all trips keep to. false: nothing can be told. */
bool ox_control_fixpoint(struct ox_infer *c, const struct ox_type **in, size_t in_first, size_t n,
                         size_t n_in, const struct ox_type **out, size_t out_first, size_t n_out);

/* Sets output i to the stacked type: `length` of them along a new axis (negative: from behind). */
void ox_control_set_stacked(struct ox_infer *c, size_t i, const struct ox_type *item,
                            const struct ox_expr *length, int64_t axis);

#endif
