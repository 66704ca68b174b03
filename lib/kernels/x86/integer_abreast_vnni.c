/* Small groups of 8-bit convolutions by VNNI and VBMI, which nearly every processor with VNNI has. */
#include <immintrin.h>

#include "kernels/integer.h"

#define VBMI __attribute__((target("avx512vbmi")))
#define VBMI_INLINE VBMI static inline __attribute__((always_inline))

VBMI_INLINE void add_pixels(const struct ox_integer_abreast *a, const unsigned pixels,
                            const unsigned zeros)
{
    const __mmask64 mask = ~(__mmask64)0 >> (OX_INTEGER_ABREAST_BYTES - a->n);
    __m512i sum[OX_INTEGER_ABREAST_PIXELS];
    const size_t part = a->fours * OX_INTEGER_ABREAST_BYTES;
    const char *w = a->weights;
#pragma GCC unroll 8
    for (unsigned i = 0; i < pixels; i++)
        sum[i] = _mm512_setzero_si512();
    for (size_t tap = 0; tap < a->n_taps; tap++) {
        const uint8_t *in = a->in + a->taps[tap];
        for (size_t q = 0; q < a->fours; q++, w += OX_INTEGER_ABREAST_BYTES) {
            const size_t at = q * OX_INTEGER_ABREAST_BYTES;
            const __m512i bytes = _mm512_loadu_si512(a->bytes + at);
            const __m512i weights = _mm512_loadu_si512(w);
#pragma GCC unroll 8
            for (unsigned i = 0; i < pixels; i++) {
                const __m512i x = _mm512_permutexvar_epi8(
                    bytes, _mm512_maskz_loadu_epi8(mask, in + i * a->pixel));
                sum[i] = _mm512_dpbusd_epi32(sum[i], x, weights);
                if (zeros > 0)
                    sum[i] = _mm512_dpbusd_epi32(sum[i], x, _mm512_loadu_si512(a->zeros + at));
                if (zeros > 1)
                    sum[i] =
                        _mm512_dpbusd_epi32(sum[i], x, _mm512_loadu_si512(a->zeros + part + at));
            }
        }
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < pixels; i++)
        _mm512_storeu_si512(a->sums + i * a->ld, sum[i]);
}

VBMI_INLINE void add_some(const struct ox_integer_abreast *a, const unsigned pixels)
{
    if (a->n_zeros == 0)
        add_pixels(a, pixels, 0);
    else if (a->n_zeros == 1)
        add_pixels(a, pixels, 1);
    else
        add_pixels(a, pixels, 2);
}

VBMI static void abreast(const struct ox_integer_abreast *a)
{
    struct ox_integer_abreast left = *a;
    if (a->pixels == OX_INTEGER_ABREAST_PIXELS) {
        add_some(a, OX_INTEGER_ABREAST_PIXELS);
        return;
    }
    for (unsigned n; left.pixels > 0;
         left.pixels -= n, left.in += n * a->pixel, left.sums += n * a->ld) {
        n = left.pixels < 3 ? 1 : 3;
        if (n == 3)
            add_some(&left, 3);
        else
            add_some(&left, 1);
    }
}

void ox_integer_abreast_vnni(struct ox_integer *t)
{
    t->abreast = abreast;
}
