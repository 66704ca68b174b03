/* Rows of bytes by panels of MIXED, for AVX-512: a four of k of a panel is one vector. */
#include <string.h>

#include "kernels/inline.h"
#include "kernels/x86/integer_end_avx512.h"

enum { ROWS = 8, FEW = 4, LANES = 16, PARTS = 1, VECTOR = 64 };

#define IV __m512i
#define FV __m512
#define W(op) _mm512_##op
#define XOR _mm512_xor_si512
#define iv_load(p) _mm512_loadu_si512(p)
#define iv_store(p, v) _mm512_storeu_si512((p), (v))
#define pairs_at(x, weights) _mm512_maddubs_epi16((x), iv_load(weights))

INLINE IV turn_of(IV weights)
{
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(weights), _mm512_set1_epi8(INT8_MIN),
                                  _mm512_set1_epi8(INT8_MAX));
}

/* Four at a time. */
INLINE void leave_rows(const struct ends *e, const FV *scale, const FV *fraction,
                       const unsigned rows, IV (*sum)[PARTS], const bool whole, size_t n,
                       uint8_t *out, size_t out_row)
{
    static const int32_t places[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const IV order = _mm512_loadu_si512(places);
    const __mmask16 mask = (__mmask16)(whole ? 0xffff : (1U << n) - 1);
#pragma GCC unroll 2
    for (unsigned i = 0; i < rows; i += 4) {
        IV four[4];
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++)
            four[r] =
                i + r < rows ? whole_of(e, floats_of(sum[i + r][0], fraction), scale[0]) : four[0];
        const IV bytes = _mm512_permutexvar_epi32(order, bytes_of(e, four));
        const __m128i row[4] = {
            _mm512_extracti32x4_epi32(bytes, 0), _mm512_extracti32x4_epi32(bytes, 1),
            _mm512_extracti32x4_epi32(bytes, 2), _mm512_extracti32x4_epi32(bytes, 3)};
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++, out += out_row)
            if (i + r < rows)
                _mm_mask_storeu_epi8(out, mask, row[r]);
    }
}

#include "kernels/x86/integer_mixed_tmpl.h"

void ox_integer_mixed_avx512(struct ox_integer *t)
{
    t->layout = OX_INTEGER_MIXED;
    t->nr = OX_INTEGER_MIXED_COLS;
    t->mixed_rows = ROWS;
    t->mixed_near = 1 << 17;
    t->mixed = mixed;
}
