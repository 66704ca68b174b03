/* Masks and biases of the attention operators of com.microsoft. */
#ifndef OX_OPS_CONTRIB_MASK_H
#define OX_OPS_CONTRIB_MASK_H

#include "ops/attend.h"

/* Sets a->mask from input i of integers: [batch] (ends), [2 batch] (ends, then starts), [3 batch + 2] (lengths first), [batch, cols]
 * or [batch, rows, cols] (0 hides). What is hidden gets the attribute mask_filter_value. Nothing when the input is omitted; one of rank
 * 4 is left to `causal`. */
enum ox_status ox_attend_mask(struct ox_run *r, size_t i, struct ox_attend *a,
                              struct ox_error *err);
/* Sets a->bias from input i: [1 or batch, 1 or heads, rows, cols]. */
enum ox_status ox_attend_bias(struct ox_run *r, size_t i, struct ox_attend *a,
                              struct ox_error *err);
/* The attribute scale, or 1 / sqrt(head size) where it is not given or 0. */
double ox_attend_scale(const struct ox_run *r, size_t size);
/* The attribute num_heads, which must divide `width`; *size is what a head has. */
enum ox_status ox_attend_heads(struct ox_run *r, const char *name, size_t width, size_t *heads,
                               size_t *size, struct ox_error *err);

#endif
