#include <math.h>
#include <string.h>

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

void ox_compute_avx512(struct ox_compute *t)
{
    fill_table(t);
    t->depth_most = 512;
    t->block_floats = 1 << 17;
    t->packed_rows = 5;
    t->taps_together = true;
    t->late_line = 0;
    if (ox_cpu_is_amd()) {
        t->line =
            line_in_halves; /* Intel's cores have one unit for half vectors beside wide ones */
    } else {                /* products are quicker, the rest is not */
        t->late_weights[0] = 270;
        t->late_weights[1] = 400;
        t->strided_transforms = 55;
    }
    t->winograd_in[OX_WINOGRAD_STRIDED] = winograd_in_strided;
    t->winograd_out[OX_WINOGRAD_STRIDED] = winograd_out_strided;
    t->transpose = transpose_floats;
}
