/* Sequences whose elements shape inference knows one by one: what operators make of them. */
#ifndef OX_OPS_SEQUENCE_ITEMS_H
#define OX_OPS_SEQUENCE_ITEMS_H

#include "ops/infer.h"

/* The longest that is known one by one. */
enum { OX_ITEMS_MOST = 256 };

/* SequenceConstruct: the elements are the inputs. */
void ox_items_construct(struct ox_infer *c);
/* SequenceInsert and SequenceErase; the type that the elements then share, NULL where they are not known or share none. */
const struct ox_type *ox_items_insert(struct ox_infer *c);
const struct ox_type *ox_items_erase(struct ox_infer *c);
/* Hands on the elements of input 0. */
void ox_items_same(struct ox_infer *c);
/* SequenceAt: the element; NULL where it is not known which, or none is there. */
const struct ox_infer_value *ox_items_at(struct ox_infer *c);
/* SplitToSequence: parts of those lengths along the axis (its number), which they lose where `drop` is set. */
void ox_items_split(struct ox_infer *c, unsigned axis, bool drop, size_t n, const int64_t *lengths);
/* ConcatFromSequence: the length of the elements joined, or stacked, along that axis; NULL. Sets output 0's values where they
 * are known. */
const struct ox_expr *ox_items_join(struct ox_infer *c, bool stack, unsigned axis);
/* What two elements of a sequence have in common. */
const struct ox_type *ox_items_common(struct ox_infer *c, const struct ox_type *a,
                                      const struct ox_type *b);

#endif
