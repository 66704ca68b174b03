/* Margins of a constant. */
#ifndef OX_OPS_PAD_H
#define OX_OPS_PAD_H

#include "ops/op.h"

/* Of an axis; negative ones remove. */
struct ox_margin {
    int64_t before, after;
};

/* out, which has the dims that the margins give, is the input with that element around, on the environment's threads where that
 * pays. Ranks up to OX_MOVE_RANK. */
void ox_pad_constant(struct ox_env *env, const struct ox_tensor *in,
                     const struct ox_margin *margins, const void *value, struct ox_tensor *out);

#endif
