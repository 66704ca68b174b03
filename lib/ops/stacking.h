/* Taking tensors apart along an axis and putting them together, as Loop and Scan do. */
#ifndef OX_OPS_STACKING_H
#define OX_OPS_STACKING_H

#include "ops/op.h"

/* The tensor at `index` of `axis`, which goes away; shares the data where they are in a row. The caller releases it. */
enum ox_status ox_slice_at(struct ox_run *r, const struct ox_tensor *of, unsigned axis,
                           int64_t index, struct ox_tensor **out, struct ox_error *err);

/* A growing list of values of one type and shape; a reference on each. */
struct ox_stack {
    struct ox_datum **items;
    size_t n, cap;
};

enum ox_status ox_stack_push(struct ox_run *r, struct ox_stack *stack, const struct ox_datum *item,
                             struct ox_error *err);
void ox_stack_release(struct ox_stack *stack);
/* The items side by side along a new axis (negative: from behind), the last first if `reverse`, with zeros behind up to `length`
 * (0: none). Items are released on the way. There must be one at least; `what` names the output in messages. */
enum ox_status ox_stack_join(struct ox_run *r, struct ox_stack *stack, int64_t axis, bool reverse,
                             size_t length, const char *what, struct ox_tensor **out,
                             struct ox_error *err);
/* What a join of no items is: the element type and dims of `like` (NULL: those that the graph declares for the value or that
 * are inferred, open dims 0). */
enum ox_status ox_stack_empty(struct ox_run *r, const struct ox_value *value,
                              const struct ox_tensor *like, int64_t axis, size_t length,
                              struct ox_tensor **out, struct ox_error *err);
/* A tensor of zeros as ox_slice_at() would give it, also where there is no index. */
enum ox_status ox_slice_zeros(struct ox_run *r, const struct ox_tensor *of, unsigned axis,
                              struct ox_tensor **out, struct ox_error *err);

#endif
