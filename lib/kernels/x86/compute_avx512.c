#include "kernels/compute.h"
#include "kernels/x86/turn_avx.h"
#include "kernels/x86/vec_avx512.h"

#include "kernels/transpose_tmpl.h"

#define MR 12
#define AHEAD 384
#include "kernels/tile_tmpl.h"

#include "kernels/maps_tmpl.h"

void ox_compute_avx512(struct ox_compute *t)
{
    t->mr = MR;
    t->nr = NR;
    t->width = VW;
    t->depth_most = 512;
    t->block_floats = 1 << 17;
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
}
