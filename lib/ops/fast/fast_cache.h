/* Keys and values in float32 with those of a past before them. */
#ifndef OX_OPS_FAST_CACHE_H
#define OX_OPS_FAST_CACHE_H

#include "ops/fast/attend_fast.h"

struct ox_fast_cache {
    size_t key, value;   /* inputs: [batch, kv_heads, rows, size]; may be left out, both */
    size_t held;         /* of their rows, in a batch at most; SIZE_MAX: all */
    const size_t *helds; /* in each batch; NULL: as many in all */
    size_t rows;         /* of what goes out, the last ones 0; 0: no more than there are */
    bool whole;          /* the last ones are the past's, of no fewer rows */
};

/* Puts the rows of the past before h's keys and values. The whole is [batch, kv_heads, rows, size]: outputs 1 and 2, or work memory
 * where nobody wants them. OX_UNSUPPORTED: the past does not fit them. */
enum ox_status ox_fast_cache_join(struct ox_run *r, const struct ox_fast_cache *c,
                                  struct ox_heads *h, struct ox_error *err);

/* The same where one input and one output, the second, hold both: [2, batch, kv_heads, rows, size], of the rows that
 * ox_fast_cache_pair_rows() has found; false there: the past does not fit. It may be left out. */
bool ox_fast_cache_pair_rows(const struct ox_run *r, size_t i_past, const struct ox_heads *h,
                             size_t *rows);
enum ox_status ox_fast_cache_join_pair(struct ox_run *r, size_t i_past, struct ox_heads *h,
                                       struct ox_error *err);

/* OX_UNSUPPORTED, and the outputs made so far given back. */
enum ox_status ox_fast_cache_decline(struct ox_run *r);

/* ox_heads_out(), which declines so. */
enum ox_status ox_fast_cache_attend(struct ox_run *r, struct ox_heads *h, unsigned rank,
                                    const int64_t *dims, struct ox_error *err);

#endif
