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

/* A Loop that surely ends after few trips, passed trip by trip. */
struct ox_control_trips {
    struct ox_infer_value
        *in; /* trip's number, condition, n_carried states: afterwards after the last trip */
    size_t n_carried;
    struct ox_infer_value *stacked; /* n_scans, set */
    size_t n_scans;
    int64_t n_trips; /* at most; set to how many they were */
};

/* false: they are not known, or something in them is not known well enough. */
bool ox_control_each_trip(struct ox_infer *c, struct ox_control_trips *trips);

/* What holds of both, element by element. */
struct ox_infer_value ox_control_merge_values(struct ox_infer *c, const struct ox_infer_value *a,
                                              const struct ox_infer_value *b);
/* The one bool or integer that the value is; false: it is not known. */
bool ox_control_number(const struct ox_infer_value *value, int64_t *number);

/* Sets output i to the stacked type: `length` of them along a new axis (negative: from behind). */
void ox_control_set_stacked(struct ox_infer *c, size_t i, const struct ox_type *item,
                            const struct ox_expr *length, int64_t axis);

#endif
