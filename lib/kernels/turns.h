/* Pairs of floats turned by angles, of which cosines and sines are given: the leaf functions of rotary embeddings. Products are exact in
 * double, and a sum is rounded once: the same bits on every processor. */
#ifndef OX_KERNELS_TURNS_H
#define OX_KERNELS_TURNS_H

#include <stddef.h>

struct ox_turns {
    /* (a, b) becomes (re, im): the halves of a row. */
    void (*halves)(size_t n, const float *c, const float *s, const float *a, const float *b,
                   float *re, float *im);
    /* The same of neighbours in x, into y. */
    void (*neighbours)(size_t n, const float *c, const float *s, const float *x, float *y);
};

/* Those for this processor. */
const struct ox_turns *ox_turns(void);

/* The same compiled for an instruction set; for turns.c. */
extern const struct ox_turns ox_turns_avx2, ox_turns_avx512;

#endif
