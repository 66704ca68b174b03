#include "kernels/arm/turn_neon.h"
#include "kernels/arm/vec_neon.h"
#include "kernels/compute.h"

#include "kernels/transpose_tmpl.h"

#define MR 12
#define AHEAD 96
#include "kernels/tile_tmpl.h"

#include "kernels/maps_tmpl.h"

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
    t->mr = MR;
    t->nr = NR;
    t->width = VW;
    t->depth_most = 512;
    t->block_floats = 1 << 16;
    t->tile = tile;
    t->line = line;
    t->stream = stream;
    t->dots = dots;
    t->finish = finish;
    t->pack = pack;
    t->depthwise = depthwise;
    t->winograd_in[0] = winograd_in2;
    t->winograd_in[1] = winograd_in4;
    t->winograd_out[0] = winograd_out2;
    t->winograd_out[1] = winograd_out4;
    t->pool_max = pool_max;
    t->pool_sum = pool_sum;
    t->blend = blend;
    t->probe = probe;
    t->widen_f16 = widen_f16;
    t->transpose = transpose_floats;
}
