/* Sequences of several requests one behind the other, as the token-major operators of com.microsoft take them. */
#ifndef OX_OPS_PACKED_SEQUENCES_H
#define OX_OPS_PACKED_SEQUENCES_H

#include "ops/op.h"

struct ox_sequences {
    size_t batch;
    size_t *starts; /* batch + 1: sequence b is tokens starts[b] to starts[b + 1] */
    /* The attribute state_update_capacity, 0 to 8, and how many first tokens of each sequence are kept: at most that, at most
     * all. */
    size_t capacity, *captured;
};

/* Input i (int32, [batch + 1]) rises from 0 to `tokens`; sequences may be empty. */
enum ox_status ox_sequences_read(struct ox_run *r, size_t i, size_t tokens, struct ox_sequences *s,
                                 struct ox_error *err);
/* The same of sequences that are all as long. */
enum ox_status ox_sequences_even(struct ox_run *r, size_t batch, size_t tokens,
                                 struct ox_sequences *s, struct ox_error *err);
/* Input i (int32, [batch]) is there exactly where the capacity is not 0. */
enum ox_status ox_sequences_captures(struct ox_run *r, size_t i, struct ox_sequences *s,
                                     struct ox_error *err);

#endif
