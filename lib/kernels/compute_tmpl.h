/* struct ox_compute for a vector width: the includer has included vec_<isa>.h and transpose_tmpl.h and defines MR, PANELS (that are summed at once where
 * there are more than one), POINTERS (rows whose addresses all fit into registers), AHEAD (floats of weights fetched ahead), ROWS_AHEAD and,
 * where a line's tiles of one vector may be higher, SLIM_ROWS; NR is two vectors. */
#include "kernels/inline.h"

enum { NR = 2 * VW, LINE = 16, FAR = 128, PACK_AHEAD = 12, UNROLL = 4 };
/* Two panels at once take half as many rows, and fewer loads for as many products: where a core does two products a cycle but loads
 * one vector, it is the loads that count. */
enum { VECS = 2 * PANELS, WIDE_ROWS = MR / PANELS };
#ifdef SLIM_ROWS
enum { ROWS_MOST = SLIM_ROWS };
#else
enum { ROWS_MOST = MR };
#endif

#include "kernels/ends_tmpl.h"

#include "kernels/tile_tmpl.h"

#include "kernels/lines_tmpl.h"

#include "kernels/few_rows_tmpl.h"

#include "kernels/depthwise_tmpl.h"

#ifdef v_pick
#include "kernels/turned_tmpl.h"
#endif

#include "kernels/pool_tmpl.h"

#include "kernels/filter_tmpl.h"

#include "kernels/winograd_tmpl.h"

#include "kernels/winograd_line_tmpl.h"

#undef LOW
#undef HIGH
#undef LOWS
#undef HIGHS

/* Columns that lie each in one piece, as a file has weights, eight at a time: what is read a few lines later comes nearer, for so many
 * columns side by side are more than a core foresees. */
static void pack_columns(size_t k, const float *b, size_t col, float *out)
{
    enum { ROWS = 8, SOON = 4 * LINE };
    for (unsigned j = 0; j < NR; j += ROWS, b += ROWS * col, out += ROWS) {
        for (size_t p = 0; p < k; p += LINE) {
            const float *soon = b + (p + SOON < k ? p + SOON : ROWS * col + p + SOON - k);
            for (size_t i = 0; i < ROWS; i++)
                __builtin_prefetch(soon + i * col, 0, 3);
            transpose_floats(ROWS, k - p < LINE ? k - p : LINE, b + p, col, out + p * NR, NR);
        }
    }
}

static void pack(size_t k, unsigned cols, const float *b, size_t row, size_t col, float *out)
{
    if (row == 1 && cols == NR && k >= 8) {
        pack_columns(k, b, col, out);
        return;
    }
    for (size_t p = 0; p < k; p++, out += NR) {
        const float *from = b + p * row;
        __builtin_prefetch(from + PACK_AHEAD * row, 0, 3);
        if (VW > 8)
            __builtin_prefetch(from + PACK_AHEAD * row + LINE, 0, 3);
        if (col == 1) {
            v_store(out, cols < VW ? v_load_n(from, cols) : v_load(from));
            if (cols < NR)
                v_store(out + VW, cols > VW ? v_load_n(from + VW, cols - VW) : v_zero());
            else
                v_store(out + VW, v_load(from + VW));
            continue;
        }
        for (unsigned j = 0; j < cols; j++)
            out[j] = from[j * col];
        for (unsigned j = cols; j < NR; j++)
            out[j] = 0;
    }
}

static void blend(size_t n, const float w[4], const float *const in[4], float *y)
{
    const VF w0 = v_set1(w[0]), w1 = v_set1(w[1]), w2 = v_set1(w[2]), w3 = v_set1(w[3]);
    for (size_t i = 0; i < n; i += VW) {
        const bool some = n - i < VW;
        const size_t m = some ? n - i : VW;
        const VF top = v_add(v_mul(w0, load_part(in[0] + i, some, m)),
                             v_mul(w1, load_part(in[1] + i, some, m)));
        const VF low = v_add(v_mul(w2, load_part(in[2] + i, some, m)),
                             v_mul(w3, load_part(in[3] + i, some, m)));
        store_part(y + i, some, m, v_add(top, low));
    }
}

static double probe(size_t loops)
{
    const VF half = v_set1(0.5f), one = v_set1(1);
    VF x[12];
#pragma GCC unroll 12
    for (unsigned i = 0; i < 12; i++)
        x[i] = v_set1((float)i);
    for (size_t n = 0; n < loops; n++) {
#pragma GCC unroll 12
        for (unsigned i = 0; i < 12; i++)
            x[i] = v_fma(x[i], half, one);
    }
    VF sum = x[0];
#pragma GCC unroll 12
    for (unsigned i = 1; i < 12; i++)
        sum = v_add(sum, x[i]);
    volatile float keep = v_sum(sum);
    (void)keep;
    return 2.0 * 12 * VW * (double)loops;
}

/* What this vector width fills in of the table. */
static void fill_table(struct ox_compute *t)
{
    t->mr = MR;
    t->nr = NR;
    t->wide = PANELS * NR;
    t->width = VW;
    t->tile = tile;
    t->line = line;
    t->stream = stream;
    t->dots = dots;
    t->finish = finish;
    t->pack = pack;
    t->depthwise = depthwise;
#ifdef v_pick
    t->turned = turned;
#endif
    t->winograd_in[OX_WINOGRAD_2] = winograd_in2;
    t->winograd_in[OX_WINOGRAD_4] = winograd_in4;
    t->winograd_in[OX_WINOGRAD_LINE] = winograd_in_line;
    t->winograd_out[OX_WINOGRAD_2] = winograd_out2;
    t->winograd_out[OX_WINOGRAD_4] = winograd_out4;
    t->winograd_out[OX_WINOGRAD_LINE] = winograd_out_line;
    t->winograd_weights[OX_WINOGRAD_2] = winograd_weights2;
    t->winograd_weights[OX_WINOGRAD_4] = winograd_weights4;
    t->winograd_weights[OX_WINOGRAD_STRIDED] = winograd_weights_strided;
    t->winograd_weights[OX_WINOGRAD_LINE] = winograd_weights_line;
    t->pool_max = pool_max;
    t->pool_sum = pool_sum;
    t->filter = filter;
    t->blend = blend;
    t->probe = probe;
}
