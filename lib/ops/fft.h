/* Discrete Fourier transforms of any length in O(n log n): mixed radices while the prime factors are small, else Bluestein's
 * convolution. In double. */
#ifndef OX_OPS_FFT_H
#define OX_OPS_FFT_H

#include "ops/op.h"

struct ox_complex {
    double re, im;
};

struct ox_fft {
    size_t n;
    size_t m;                          /* length of the convolution; 0: n is smooth */
    const struct ox_complex *roots;    /* exp(-2 pi i k / N), k < N, N = m or n */
    const struct ox_complex *chirp;    /* exp(-pi i k^2 / n), k < n */
    const struct ox_complex *spectrum; /* of the conjugate chirp, over m */
};

/* Tables in the run's scratch. n >= 1. OX_LIMIT when n is beyond 2^40. */
enum ox_status ox_fft_init(struct ox_run *r, size_t n, struct ox_fft *fft, struct ox_error *err);
/* Numbers of work that a transform needs. */
size_t ox_fft_work(const struct ox_fft *fft);
/* out[k] = sum over j of in[j] exp(-2 pi i jk / n), not scaled; inverse: with +, also not scaled. out is not in. Threads may
 * share the fft, each with work of its own. */
void ox_fft_run(const struct ox_fft *fft, bool inverse, const struct ox_complex *in,
                struct ox_complex *out, struct ox_complex *work);

#endif
