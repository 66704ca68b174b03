/* Types of values that come out of subgraphs. */
#ifndef OX_OPS_CONTROL_TYPES_H
#define OX_OPS_CONTROL_TYPES_H

#include "ops/infer.h"

/* What is true of a value that is of the one type or of the other: dims that differ become unknown. NULL where nothing is. */
const struct ox_type *ox_control_merge(struct ox_infer *c, const struct ox_type *a,
                                       const struct ox_type *b);

/* The attribute "body", n of whose inputs, from `in_first`, are fed from its outputs, from `out_first`, trip by trip. */
struct ox_control_states {
    const struct ox_type *
        *in; /* n_in: of the first trip; afterwards the states' are those after the last trip */
    size_t in_first, n, n_in;
    const struct ox_type **out; /* n_out, set: what holds for each trip */
    size_t out_first, n_out;
    bool fixed_shapes;           /* the operator asks that states keep their shape */
    const struct ox_expr *trips; /* how many; NULL: unknown */
};

/* false: nothing can be told. */
bool ox_control_fixpoint(struct ox_infer *c, const struct ox_control_states *states);

/* Sets output i to the stacked type: `length` of them along a new axis (negative: from behind). */
void ox_control_set_stacked(struct ox_infer *c, size_t i, const struct ox_type *item,
                            const struct ox_expr *length, int64_t axis);

#endif
