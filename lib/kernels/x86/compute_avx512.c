#include <math.h>

#include "kernels/compute.h"
#include "kernels/cpu.h"
#include "kernels/dense_impl.h"
#include "kernels/x86/turn_avx.h"
#include "kernels/x86/vec_avx512.h"

#include "kernels/transpose_tmpl.h"

#define MR 12
#define PANELS 2
#define POINTERS 6
#define AHEAD 384
#define ROWS_AHEAD 0
#include "kernels/compute_tmpl.h"

#include "kernels/winograd_strided_tmpl.h"

/* The last eight channels or fewer, of which half a vector is enough: AVX2 has its quick forms for eight. */
static void depthwise_with_half(const struct ox_depthwise *d)
{
    enum { HALF = VW / 2, RUNS_MOST = 8 };
    const size_t rest = d->channels % VW, whole = d->channels - rest;
    if (rest == 0 || rest > HALF || d->rows > RUNS_MOST || d->cols < 5) {
        depthwise(d);
        return;
    }
    struct ox_depthwise part = *d;
    const float *row[RUNS_MOST];
    part.channels = whole;
    if (whole)
        depthwise(&part);
    for (unsigned r = 0; r < d->rows; r++)
        row[r] = d->row[r] + whole;
    part.channels = rest;
    part.row = row;
    part.weights += whole;
    part.bias = d->bias ? d->bias + whole : NULL;
    part.out += whole;
    ox_compute(OX_CPU_AVX2)->depthwise(&part);
}

void ox_compute_avx512(struct ox_compute *t)
{
    fill_table(t);
    t->depth_most = 512;
    t->block_floats = 1 << 17;
    t->heavy_weights = 1 << 19;
    t->packed_rows = 5;
    t->turns_most = 8;
    t->taps_together = true;
    t->late_line = 0;
    if (ox_cpu_is_amd()) {
        /* Intel's cores have one unit for half vectors beside wide ones, and need it for the pairing of halves. */
        t->line = ox_cpu_is_wide() ? line_in_pairs : line_in_halves;
        t->strided_transforms = 20;
        t->one_stream = 3;
        t->late_depth = 64; /* L2 of 1 MB; Intel's has 2 */
    } else {                /* products are quicker, the rest is not */
        t->late_weights[0] = 270;
        t->late_weights[1] = 400;
        t->strided_transforms = 55;
    }
    t->winograd_in[OX_WINOGRAD_STRIDED] = winograd_in_strided;
    t->winograd_out[OX_WINOGRAD_STRIDED] = winograd_out_strided;
    t->transpose = transpose_floats;
    t->depthwise = depthwise_with_half;
    ox_pool_planes_avx512(t);
    t->square = ox_square_avx512;
}
