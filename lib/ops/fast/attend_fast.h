/* Attention over all heads of a batch in float32, whatever the layout of queries, keys and values, in blocks of queries and
 * without the matrix of scores. */
#ifndef OX_OPS_ATTEND_FAST_H
#define OX_OPS_ATTEND_FAST_H

#include "kernels/rows.h"
#include "ops/op.h"

/* Floats from one batch, head and row to the next; the elements of a row are adjacent. */
struct ox_heads_step {
    size_t batch, head, row;
};

struct ox_heads {
    size_t batch, heads, kv_heads; /* heads / kv_heads queries share a key */
    size_t queries, keys, depth, v_depth;
    const float *q, *k, *v;
    struct ox_heads_step q_at, k_at, v_at, y_at;
    float scale, cap;
    const float *mask; /* NULL: none */
    struct ox_heads_step mask_at;
    size_t mask_key_step;
    bool causal, none_is_0;
    ptrdiff_t first; /* query i sees keys up to first + i */
    size_t window;   /* causal: of those the last so many alone; 0: all */
    /* Of each batch, where they differ (NULL: not): keys, and what `first` is. */
    const size_t *ends, *firsts;
    const float *sinks; /* of each head a score that no value goes with; NULL */
    float *y;
};

/* Rows of head i of all batches, one behind the other. */
void ox_heads_copy(const float *from, const struct ox_heads_step *at, size_t heads, size_t i,
                   size_t rows, size_t size, float *to);

/* Scratch of the node serves as work space. */
enum ox_status ox_heads_run(struct ox_run *r, const struct ox_heads *h, struct ox_error *err);

/* The same into output 0, made here. OX_UNSUPPORTED, and no output, where something in it is not finite. */
enum ox_status ox_heads_out(struct ox_run *r, struct ox_heads *h, unsigned rank,
                            const int64_t *dims, struct ox_error *err);

/* The mask's steps, broadcast to [batch, heads, queries, keys]; false: it does not fit. */
bool ox_heads_mask(struct ox_heads *h, const struct ox_tensor *mask);

#endif
