/* Scaled dot-product attention in double, as the attention operators of com.microsoft share it. */
#ifndef OX_OPS_ATTEND_H
#define OX_OPS_ATTEND_H

#include "ops/op.h"

/* Elements from one batch, head and row to the next; a row is contiguous. */
struct ox_attend_steps {
    size_t batch, head, row;
};

struct ox_attend {
    size_t batch, heads, kv_heads; /* heads / kv_heads queries share a key */
    size_t rows, cols;             /* of queries, of keys */
    size_t size, v_size;           /* of a head */
    double scale, softcap;         /* softcap: 0 for none */
    const double *q, *k, *v;
    struct ox_attend_steps q_at, k_at, v_at;
    /* Added to the scores; each with a step of 0 where it is repeated. NULL: none. */
    const double *mask, *bias;
    struct ox_attend_steps mask_at, bias_at;
    const size_t *lengths; /* keys that each batch has; NULL: all */
    bool causal;           /* row i sees keys up to place first[batch] + i (first NULL: 0) */
    const size_t *first;
    int64_t window;     /* and of these the last `window`; < 0: all */
    const double *sink; /* a head: the score of a key without value; NULL: none */
    double *y;
    struct ox_attend_steps y_at;
    double *qk; /* [batch, heads, rows, cols]: scores before the softmax, or weights; NULL */
    bool qk_weights;
};

enum ox_status ox_attend(struct ox_run *r, const struct ox_attend *a, struct ox_error *err);

/* Rows of heads copied to [batch, heads, total, size] from row `at` on; bias: [heads, size] or NULL. */
void ox_attend_gather(double *to, size_t total, size_t at, const double *from,
                      struct ox_attend_steps steps, size_t batch, size_t heads, size_t rows,
                      size_t size, const double *bias);

/* Rotates the first 2 * half elements of a head by the angles whose cosines and sines are given: pairs of neighbours, or of
 * the two halves. */
void ox_attend_rotate(double *head, size_t half, bool interleaved, const double *cosines,
                      const double *sines);

#endif
