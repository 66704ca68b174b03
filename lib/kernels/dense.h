/* Matrix products of any shape in fp32, with what follows them done while the sums are at hand. */
#ifndef OX_KERNELS_DENSE_H
#define OX_KERNELS_DENSE_H

#include "kernels/compute.h"

struct ox_env;

/* Calls task(arg, i, slot) for i in [0, n), each once, on the environment's threads; no two calls at a time have the same
 * slot < ox_slots(env). Less than some 4e6 `work` (flops, or what costs
 * as much) is done by the caller alone. */
size_t ox_slots(const struct ox_env *env);
void ox_spread(struct ox_env *env, size_t n, double work,
               void (*task)(void *arg, size_t i, size_t slot), void *arg);
/* The same where the caller has done the first `done` tasks, which count for its share. */
void ox_spread_rest(struct ox_env *env, size_t n, size_t done, double work,
                    void (*task)(void *arg, size_t i, size_t slot), void *arg);
/* The same from the last task to the first of each thread: what read a map from its beginning, or wrote it, left the end of it near. */
void ox_spread_back(struct ox_env *env, size_t n, double work,
                    void (*task)(void *arg, size_t i, size_t slot), void *arg);
/* As ox_spread(), of tasks that sum products by constant weights: operands and results below FLT_MIN count as zeros meanwhile, where the
 * processor can. */
void ox_spread_sums(struct ox_env *env, size_t n, double work,
                    void (*task)(void *arg, size_t i, size_t slot), void *arg);
void ox_spread_sums_back(struct ox_env *env, size_t n, double work,
                         void (*task)(void *arg, size_t i, size_t slot), void *arg);

enum ox_weight_type { OX_WEIGHT_F32, OX_WEIGHT_F16, OX_WEIGHT_BF16 };

/* Packed right side: panels of nr columns, k deep, the last one filled up with zeros. Made once for constant weights. Sizes
 * are in floats; SIZE_MAX when they overflow. A packed side belongs to the level that packed it. */
size_t ox_dense_packed(const struct ox_compute *t, size_t k, size_t n);
/* Element (p, j) of the right side is at b + p * b_row + j * b_col elements. Threads by columns. */
void ox_dense_pack(const struct ox_compute *t, struct ox_env *env, size_t k, size_t n,
                   const void *b, enum ox_weight_type type, size_t b_row, size_t b_col, float *out);
/* The packed side of k x n whose row p is that of `packed` times factor[p]. */
void ox_dense_scale_packed(const struct ox_compute *t, size_t k, size_t n, const float *packed,
                           const float *factor, float *out);

/* A left side that is made as it is read. */
struct ox_made {
    /* Rows [first, first + n), each of adjacent floats, one behind the other at `to`; on any thread. */
    void (*rows)(const void *arg, size_t first, size_t n, float *to);
    const void *arg;
};

/* c[g][m x n] = end(a[g][m x k] b[g][k x n]) for all g = (g0, g1) < (batch[0], batch[1]). */
struct ox_dense {
    size_t m, n, k;
    size_t whole[2]; /* m and n of the product of which this is a part: the bits are its; or 0 */
    const float *a;  /* element (i, p) at i * a_row + p * a_col; a_col of 1 is the fast way */
    size_t a_row, a_col;
    const struct ox_made *
        made; /* instead of a, where ox_dense_makes_rows(): by packed, batch 1; NULL: it is there */
    const float *packed; /* right side by ox_dense_pack(), one for all g; or NULL, and then: */
    const void *b; /* (p, j) at p * b_row + j * b_col; read in place when there are few rows */
    enum ox_weight_type b_type;
    bool
        weights; /* b serves many calls: of few rows the bits are those that packed weights give, unless it is better left */
    size_t b_row, b_col;
    float *c; /* (i, j) at i * c_row + j; must not overlap a or b */
    size_t c_row;
    size_t batch[2];                           /* 0 stands for 1 */
    size_t a_batch[2], b_batch[2], c_batch[2]; /* elements from one to the next; 0 repeats */
    struct ox_epilogue end; /* residual and row_bias are not moved by g: batch 1 only */
};

/* Whether rows are so few that an unpacked right side is the better one, even when weights are constant. */
bool ox_dense_wants_unpacked(const struct ox_compute *t, size_t m, size_t n, size_t k, size_t b_row,
                             size_t b_col);
/* Whether weights that serve many calls are better left as they lie for so few rows. */
bool ox_dense_leaves_weights(const struct ox_compute *t, size_t m, size_t n, size_t k, size_t b_row,
                             size_t b_col);
/* Whether each of m rows of k would be made once, in parts that stay near; few are better made before, as what all columns read. */
bool ox_dense_makes_rows(const struct ox_compute *t, size_t m, size_t k);
/* Floats of work that ox_dense_run() needs; SIZE_MAX when that overflows. */
size_t ox_dense_work(const struct ox_compute *t, const struct ox_env *env,
                     const struct ox_dense *d);
/* The same bits for any number of threads. k may be 0. work is 64-byte aligned. */
void ox_dense_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d,
                  float *work);

#endif
