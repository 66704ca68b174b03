#include <math.h>

#include "kernels/bfloat.h"
#include "kernels/compute.h"
#include "kernels/dense_impl.h"
#include "kernels/x86/turn_avx.h"
#include "kernels/x86/vec_avx2.h"

#include "kernels/transpose_tmpl.h"

#define MR 6
#define PANELS 1
#define SLIM_ROWS 12
#define POINTERS 6
#define AHEAD 192
#define ROWS_AHEAD 1
#include "kernels/compute_tmpl.h"

#include "kernels/winograd_strided_tmpl.h"

static void widen_f16(size_t n, const uint16_t *x, float *y)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(x + i))));
    for (; i < n; i++)
        y[i] = _cvtsh_ss(x[i]);
}

static void widen_bf16(size_t n, const uint16_t *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = ox_bfloat_widen(x[i]);
}

void ox_compute_avx2(struct ox_compute *t)
{
    fill_table(t);
    t->depth_most = 384; /* longer chains of sums would lose digits that the peer keeps */
    t->block_floats = 1 << 16;
    t->packed_rows = 3;
    t->stream_ahead = ox_cpu_is_amd() ? 32 : 128; /* it needs no prefetches */
    t->taps_together = true;
    t->winograd_in[OX_WINOGRAD_STRIDED] = winograd_in_strided;
    t->winograd_out[OX_WINOGRAD_STRIDED] = winograd_out_strided;
    t->strided_transforms = 36;
    t->turns_most = 4; /* eight fill a vector by themselves */
    t->widen_f16 = widen_f16;
    t->widen_bf16 = widen_bf16;
    t->transpose = transpose_floats;
    ox_pool_lines_avx2(t);
}
