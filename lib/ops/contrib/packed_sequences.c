#include "ops/contrib/packed_sequences.h"

#include <inttypes.h>

enum { MOST_STATES = 8 };

static enum ox_status make_starts(struct ox_run *r, size_t batch, struct ox_sequences *s,
                                  struct ox_error *err)
{
    s->batch = batch;
    s->starts = ox_run_scratch(r, batch + 1, sizeof *s->starts, err);
    return s->starts ? OX_OK : OX_NO_MEMORY;
}

enum ox_status ox_sequences_read(struct ox_run *r, size_t i, size_t tokens, struct ox_sequences *s,
                                 struct ox_error *err)
{
    const struct ox_tensor *ends = ox_run_in(r, i);
    if (ends->rank != 1 || ends->n < 1)
        return ox_run_fail(r, err, OX_INPUT, "the ends of sequences are no list of batch + 1");
    OX_TRY(make_starts(r, ends->n - 1, s, err));
    int64_t before = 0;
    for (size_t b = 0; b < ends->n; b++) {
        const int64_t at = ox_tensor_get_int(ends, b);
        if (at < before || (b == 0 && at != 0) || (uint64_t)at > tokens)
            return ox_run_fail(r, err, OX_INPUT,
                               "the ends of sequences do not rise from 0 to %zu: %" PRId64
                               " behind %" PRId64,
                               tokens, at, before);
        s->starts[b] = (size_t)at;
        before = at;
    }
    if (s->starts[s->batch] != tokens)
        return ox_run_fail(r, err, OX_INPUT, "the sequences end at %zu of %zu tokens",
                           s->starts[s->batch], tokens);
    return OX_OK;
}

enum ox_status ox_sequences_even(struct ox_run *r, size_t batch, size_t tokens,
                                 struct ox_sequences *s, struct ox_error *err)
{
    if (batch ? tokens % batch : tokens)
        return ox_run_fail(r, err, OX_INPUT, "%zu tokens are no %zu equal sequences", tokens,
                           batch);
    OX_TRY(make_starts(r, batch, s, err));
    for (size_t b = 0; b <= batch; b++)
        s->starts[b] = batch ? tokens / batch * b : 0;
    return OX_OK;
}

enum ox_status ox_sequences_captures(struct ox_run *r, size_t i, struct ox_sequences *s,
                                     struct ox_error *err)
{
    const struct ox_tensor *counts = ox_run_in(r, i);
    const int64_t capacity = ox_run_int(r, "state_update_capacity", 0);
    if (capacity < 0 || capacity > MOST_STATES || (capacity > 0) != (counts != NULL))
        return ox_run_fail(r, err, OX_INPUT,
                           "state_update_capacity is %" PRId64
                           ": 0 to %d, and capture_count is there where it is not 0",
                           capacity, MOST_STATES);
    if (counts && (counts->rank != 1 || counts->n != s->batch))
        return ox_run_fail(r, err, OX_INPUT, "capture_count has %zu elements for %zu sequences",
                           counts->n, s->batch);
    s->capacity = (size_t)capacity;
    s->captured = ox_run_scratch(r, s->batch + 1, sizeof *s->captured, err);
    if (!s->captured)
        return OX_NO_MEMORY;
    for (size_t b = 0; b < s->batch; b++) {
        const int64_t asked = counts ? ox_tensor_get_int(counts, b) : 0;
        const size_t length = s->starts[b + 1] - s->starts[b];
        const size_t most = s->capacity < length ? s->capacity : length;
        s->captured[b] = asked < 0 ? 0 : (uint64_t)asked < most ? (size_t)asked : most;
    }
    return OX_OK;
}
