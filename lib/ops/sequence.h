/* What the operators on sequences and optionals have in common. */
#ifndef OX_OPS_SEQUENCE_H
#define OX_OPS_SEQUENCE_H

#include "ops/infer.h"
#include "ops/op.h"

/* The sequence that input i is, or holds where it is an optional: borrowed. OX_INPUT: it is none. */
enum ox_status ox_sequence_in(const struct ox_run *r, size_t i, const struct ox_datum **out,
                              struct ox_error *err);
/* Output 0 becomes a sequence of those n items, which it shares. */
enum ox_status ox_sequence_out(struct ox_run *r, enum ox_dtype elem, struct ox_datum *const *items,
                               size_t n, struct ox_error *err);
/* Output 0 is that datum, whose reference is given up. */
enum ox_status ox_sequence_hand_out(struct ox_run *r, struct ox_datum *datum, struct ox_error *err);

/* The type of the items of the sequence that input i is; NULL: not known. */
const struct ox_type *ox_sequence_item(const struct ox_infer *c, size_t i);
/* Output 0 is a sequence of such items; nothing where `item` is NULL. */
void ox_sequence_infer(struct ox_infer *c, const struct ox_type *item);

#endif
