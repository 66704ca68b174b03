/* Products by weights of 24 bits for one width of vectors. The includer defines FIXED24_KERNELS, what is made here, LOAD_WORDS(p) and
 * FOURTH(x, y, z), the numbers that the low bytes of three vectors make, with zeros below. */
#include "kernels/fixed24.h"
#include "kernels/inline.h"

/* Sums that there are registers for; rows at once. */
enum { SUMS = VW > 8 ? 4 : 2, PANEL = 4 * VW };

INLINE void take(const unsigned rows, const float *a, size_t lda, const int32_t *words,
                 VF (*sum)[4])
{
    const VI x = LOAD_WORDS(words), y = LOAD_WORDS(words + VW), z = LOAD_WORDS(words + 2 * VW);
    const VF b[4] = {v_from_int(x), v_from_int(y), v_from_int(z), v_from_int(FOURTH(x, y, z))};
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
        const VF s = v_set1(a[i * lda]);
#pragma GCC unroll 4
        for (unsigned v = 0; v < 4; v++)
            v_accumulate(&sum[i][v], s, b[v]);
    }
}

/* The chains from `apart` on are added to those before them. */
INLINE void join(const unsigned rows, const unsigned apart, VF (*sum)[4])
{
#pragma GCC unroll 4
    for (unsigned i = 0; i < apart * rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < 4; v++)
            sum[i][v] = v_add(sum[i][v], sum[i + apart * rows][v]);
    }
}

/* `chains` sums of each number, which do not wait for each other and round less. */
INLINE void panel(const unsigned rows, const unsigned chains, size_t k, const float *a, size_t lda,
                  const int32_t *words, const float *scales, size_t n, float *c, size_t ldc)
{
    VF sum[SUMS][4];
#pragma GCC unroll 4
    for (unsigned i = 0; i < SUMS; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < 4; v++)
            sum[i][v] = v_zero();
    }
    size_t p = 0;
    for (; p + chains <= k; p += chains) {
#pragma GCC unroll 4
        for (unsigned u = 0; u < chains; u++, words += 3 * VW)
            take(rows, a + p + u, lda, words, sum + u * rows);
    }
    for (; p < k; p++, words += 3 * VW)
        take(rows, a + p, lda, words, sum);
    if (chains > 2)
        join(rows, 2, sum);
    if (chains > 1)
        join(rows, 1, sum);
#pragma GCC unroll 4
    for (unsigned v = 0; v < 4; v++) {
        if (n <= v * VW)
            break;
        const VF scale = v_load(scales + v * VW);
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++) {
            const VF y = v_mul(sum[i][v], scale);
            if (n - v * VW < VW)
                v_store_n(c + i * ldc + v * VW, y, n - v * VW);
            else
                v_store(c + i * ldc + v * VW, y);
        }
    }
}

INLINE void panels(const struct ox_fixed24 *w, size_t first, size_t n, const unsigned rows,
                   const unsigned chains, const float *a, size_t lda, float *c, size_t ldc)
{
    for (size_t j = 0; j < n; j += PANEL)
        panel(rows, chains, w->k, a, lda, w->words + (first + j) / 4 * 3 * w->k,
              w->scales + first + j, n - j < PANEL ? n - j : PANEL, c + j, ldc);
}

static void multiply(const struct ox_fixed24 *w, size_t first, size_t n, unsigned rows,
                     const float *a, size_t lda, float *c, size_t ldc)
{
    for (; rows >= SUMS; rows -= SUMS, a += SUMS * lda, c += SUMS * ldc)
        panels(w, first, n, SUMS, 1, a, lda, c, ldc);
    if (SUMS > 3 && rows == 3)
        panels(w, first, n, 3, 1, a, lda, c, ldc);
    else if (SUMS > 2 && rows == 2)
        panels(w, first, n, 2, SUMS / 2, a, lda, c, ldc);
    else if (rows == 1)
        panels(w, first, n, 1, SUMS, a, lda, c, ldc);
}

const struct ox_fixed24_kernels FIXED24_KERNELS = {.panel = PANEL, .multiply = multiply};
