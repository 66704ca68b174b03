/* Codes of few bits, and what MatMulNBits of com.microsoft is given. */
#ifndef OX_OPS_NBITS_H
#define OX_OPS_NBITS_H

#include "kernels/few_bits.h"
#include "ops/infer.h"
#include "ops/op.h"

/* Code i of a row of 2, 4 or 8 bits each, low bits first. */
static inline unsigned ox_code_at(const uint8_t *bytes, size_t i, size_t bits)
{
    size_t per_byte = 8 / bits;
    return bytes[i / per_byte] >> (i % per_byte * bits) & ((1u << bits) - 1);
}

struct ox_nbits {
    size_t m, n, k, block, blocks; /* rows of A; blocks of a column */
    unsigned bits;
    size_t code_bytes;                /* of a block */
    const uint8_t *codes;             /* [n, blocks, code_bytes] */
    const struct ox_tensor *scales;   /* [n, blocks] */
    const uint8_t *zeros;             /* [n, zero_bytes], packed, or NULL */
    size_t zero_bytes;                /* of a column */
    const struct ox_tensor *as_reals; /* zeros as floats, [n, blocks], or NULL */
    const struct ox_tensor *group;    /* the block of each row of B, unchecked; NULL: in order */
    const struct ox_tensor *bias;     /* [n] or NULL */
};

/* Sizes and types are checked. */
enum ox_status ox_nbits_read(struct ox_run *r, struct ox_nbits *w, struct ox_error *err);
/* The output's, as many as A has. */
void ox_nbits_dims(const struct ox_run *r, const struct ox_nbits *w, int64_t *dims);
/* The shape rule of a product of A by weights whose sizes are attributes of these names. */
void ox_nbits_infer(struct ox_infer *c, const char *inner, const char *outer);
/* In float32, codes widened in registers (kernels/few_bits.h). */
enum ox_status ox_fast_nbits(struct ox_run *r, struct ox_error *err);
enum ox_status ox_prepare_nbits(struct ox_run *r, struct ox_error *err);
/* Of weights of 2 bits those of 4 that stand for the same, as ox_prepare_nbits() has left them or in work memory. */
enum ox_status ox_nbits_double(struct ox_run *r, struct ox_nbits *w, struct ox_error *err);

/* y [m, n] = a [m, k] by the n columns of w, plus a bias a column. */
struct ox_bits_product {
    struct ox_few_bits w;
    size_t m, n;
    const float *a, *bias; /* bias: [n] or NULL */
    float *y;
    bool as_bytes; /* rows may become int8 a block */
};
enum ox_status ox_bits_multiply(struct ox_run *r, const struct ox_bits_product *p,
                                struct ox_error *err);

#endif
