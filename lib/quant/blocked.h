/* Matrices as integers of few bits, with a scale (and zero point) for each block of rows of a column. */
#ifndef OX_QUANT_BLOCKED_H
#define OX_QUANT_BLOCKED_H

#include "tensor/tensor.h"

enum { OX_MOST_BLOCK = 1024 };

struct ox_blocking {
    const float *values; /* [k, n]: rows are what a product sums over */
    size_t k, n;
    size_t block;       /* rows that share a scale */
    enum ox_dtype type; /* int8, int4: symmetric; uint8, uint4: with zero points */
    enum ox_dtype real; /* of the scales: float32 or float16 */
    enum ox_weight_method method;
    bool cancelling;  /* but for gptq: errors of a column add up to nothing ... */
    const bool *live; /* ... in rows that count, [k]; NULL: all */
    /* Of gptq alone: the sum of x^T x over inputs [rows, k] of the product, [k, k], of which the part above and on the diagonal
     * is read. Overwritten. NULL: rtn. */
    double *hessian;
    const float *importance; /* of each row's squared errors, [k]; NULL: 1 each. Not of gptq */
};

/* n_blocks = k / block, rounded up. All three are the caller's. */
struct ox_blocked {
    struct ox_tensor *integers; /* [k, n] */
    struct ox_tensor *scales;   /* [n_blocks, n] */
    struct ox_tensor *zeros;    /* [n_blocks, n]; NULL: symmetric */
};
void ox_blocked_release(struct ox_blocked *blocked);

/* Whether scales of float16 are smaller with all that they need, and normal numbers whatever they are fitted to. */
bool ox_blocked_gains_by_half(const struct ox_blocking *blocking);
/* Values are finite. The same bits on any machine, with any number of threads. OX_NO_MEMORY, OX_CANCELLED. */
enum ox_status ox_blocked_quantize(struct ox_blocked *out, struct ox_env *env,
                                   const struct ox_blocking *blocking, struct ox_error *err);
/* [k, n] as float32 again. */
enum ox_status ox_blocked_dequantize(struct ox_tensor **out, struct ox_env *env,
                                     const struct ox_blocked *blocked, size_t block,
                                     struct ox_error *err);

/* The scale and zero point of m values that serve them best. */
struct ox_block_fit {
    float scale; /* may be negative */
    int zero;
};
/* importance: of each value's squared error; NULL: 1 each, by k_quant those that are larger count more. */
struct ox_block_fit ox_block_fit(const struct ox_blocking *blocking, const float *values,
                                 const float *importance, size_t m);
/* As it is stored. */
float ox_block_scale(float scale, enum ox_dtype real);
int ox_block_round(float value, struct ox_block_fit fit, int least, int most);

/* GPTQ (Frantar et al., arXiv 2210.17323): rounds row by row and moves each row's error to the rows that follow, as far as the
 * inputs of the product correlate. */
enum ox_status ox_gptq(struct ox_blocked *out, struct ox_env *env,
                       const struct ox_blocking *blocking, struct ox_error *err);

#endif
