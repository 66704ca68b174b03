#include <math.h>

#include "kernels/arm/turn_neon.h"
#include "kernels/arm/vec_neon.h"
#include "kernels/compute.h"
#include "kernels/dense_impl.h"

#include "kernels/transpose_tmpl.h"

#define MR 12
#define PANELS 1
#define POINTERS 12
#define AHEAD 96
#define ROWS_AHEAD 0
#include "kernels/compute_tmpl.h"

static void widen_f16(size_t n, const uint16_t *x, float *y)
{
    size_t i = 0;
    for (; i + VW <= n; i += VW)
        v_store(y + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
    for (; i < n; i++)
        y[i] = vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(x[i]))), 0);
}

void ox_compute_neon(struct ox_compute *t)
{
    fill_table(t);
    t->depth_most = 512;
    t->block_floats = 1 << 16;
    t->stream_ahead = 128;
    t->widen_f16 = widen_f16;
    t->transpose = transpose_floats;
}
