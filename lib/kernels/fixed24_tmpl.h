/* Products by weights of 24 bits for one width of vectors. The includer defines FIXED24_KERNELS, what is made here, LOAD_WORDS(p) and
 * FOURTH(x, y, z), the numbers that the low bytes of three vectors make, with zeros below, and LOWER_HALVES(x) and UPPER_HALVES(x), the
 * upper halves of floats that stand there. */
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

/* total += scales of the block times sum. */
INLINE void end_block(const unsigned rows, const int32_t *scales, VF (*sum)[4], VF (*total)[4])
{
    const VI a = LOAD_WORDS(scales), b = LOAD_WORDS(scales + VW);
    const VF scale[4] = {LOWER_HALVES(a), UPPER_HALVES(a), LOWER_HALVES(b), UPPER_HALVES(b)};
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < 4; v++) {
            v_accumulate(&total[i][v], sum[i][v], scale[v]);
            sum[i][v] = v_zero();
        }
    }
}

enum { DEPTH = OX_FIXED24_DEPTH, SCALES = 2 * VW, BLOCK = SCALES + 3 * VW * DEPTH /* words */ };

/* `chains` sums of each number, which do not wait for each other: each of a part of the blocks, as memory is read faster at several
 * places at a time. */
INLINE void panel(const unsigned rows, const unsigned chains, size_t k, const float *a, size_t lda,
                  const int32_t *words, size_t n, float *c, size_t ldc)
{
    const size_t part = k / (DEPTH * chains);
    VF sum[SUMS][4], total[SUMS][4];
#pragma GCC unroll 4
    for (unsigned i = 0; i < SUMS; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < 4; v++)
            sum[i][v] = total[i][v] = v_zero();
    }
    for (size_t b = 0; b < part; b++, a += DEPTH, words += BLOCK) {
        for (size_t p = 0; p < DEPTH; p++) {
#pragma GCC unroll 4
            for (unsigned u = 0; u < chains; u++)
                take(rows, a + u * part * DEPTH + p, lda,
                     words + u * part * BLOCK + SCALES + p * 3 * VW, sum + u * rows);
        }
#pragma GCC unroll 4
        for (unsigned u = 0; u < chains; u++)
            end_block(rows, words + u * part * BLOCK, sum + u * rows, total);
    }
    a += (chains - 1) * part * DEPTH;
    words += (chains - 1) * part * BLOCK;
    for (size_t left = k - chains * part * DEPTH; left > 0;) {
        const size_t depth = left < DEPTH ? left : DEPTH;
        for (size_t p = 0; p < depth; p++)
            take(rows, a + p, lda, words + SCALES + p * 3 * VW, sum);
        end_block(rows, words, sum, total);
        a += depth;
        words += BLOCK;
        left -= depth;
    }
#pragma GCC unroll 4
    for (unsigned v = 0; v < 4; v++) {
        if (n <= v * VW)
            break;
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++) {
            if (n - v * VW < VW)
                v_store_n(c + i * ldc + v * VW, total[i][v], n - v * VW);
            else
                v_store(c + i * ldc + v * VW, total[i][v]);
        }
    }
}

INLINE void panels(const struct ox_fixed24 *w, size_t first, size_t n, const unsigned rows,
                   const unsigned chains, const float *a, size_t lda, float *c, size_t ldc)
{
    for (size_t j = 0; j < n; j += PANEL)
        panel(rows, chains, w->k, a, lda, w->words + ox_fixed24_words(first + j, w->k),
              n - j < PANEL ? n - j : PANEL, c + j, ldc);
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
