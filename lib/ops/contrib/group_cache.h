/* The caches of GroupQueryAttention (com.microsoft): whole or sliding, as floats or quantized. */
#ifndef OX_OPS_GROUP_CACHE_H
#define OX_OPS_GROUP_CACHE_H

#include "ops/attend.h"

struct ox_group_cache {
    size_t batch, heads, size; /* of the keys */
    size_t rows;               /* of the buffers that come in; 0: none does */
    size_t added;              /* new rows of each batch */
    size_t cols;               /* rows to attend to */
    size_t out_rows;           /* of the buffers that go out */
    size_t window;             /* sliding: the positions that must stay; 0: all stay */
    /* Of each batch: rows of the past that come in, new rows that count (others are padding), rows that go out. */
    size_t *held, *fresh, *left;
    bool pads; /* padding of a chunk does not enter the cache */
};

/* Reads past_key and past_value (inputs 3 and 4) of `c->batch` x `c->heads` x rows x `c->size`: sets c->rows and c->window. */
enum ox_status ox_group_cache_open(struct ox_run *r, struct ox_group_cache *c,
                                   struct ox_error *err);

/* Rows that are resident once `total` tokens went by. */
size_t ox_group_cache_resident(const struct ox_group_cache *c, size_t total);

/* Keys (part 0) or values (part 1): what each batch held, and the new rows behind: *out is [batch, heads, cols, size]. Makes the
 * output 1 + part where it is wanted. */
enum ox_status ox_group_cache_join(struct ox_run *r, const struct ox_group_cache *c, size_t part,
                                   const double *rows, struct ox_attend_steps at,
                                   const double **out, struct ox_error *err);

#endif
