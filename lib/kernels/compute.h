/* The table of microkernels behind products, convolutions and feature maps in fp32: pointers, counts and strides, nothing
 * else. A level's table is filled with plain C first and then overridden instruction set by instruction set. Those who
 * run operators want dense.h, convolve.h and maps.h instead. */
#ifndef OX_KERNELS_COMPUTE_H
#define OX_KERNELS_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

enum ox_act {
    OX_ACT_NONE,
    OX_ACT_CLIP,  /* min(max(x, lo), hi): also Relu (0, infinity) and Relu6; NaN stays */
    OX_ACT_LEAKY, /* x < 0 ? alpha x : x */
    OX_ACT_ROW    /* a row function over each finished piece of a row */
};

/* What happens to a sum before it leaves: y = act(scale * sum + col_bias[j] + row_bias[i] + residual[i][j]), or with
 * residual_last act(...) + residual. All pointers may be NULL. */
struct ox_epilogue {
    float scale; /* 0 stands for 1 */
    const float *col_bias;
    const float *row_bias;
    const float *residual;
    size_t residual_ld; /* floats from row to row (convolutions: from pixel to pixel) */
    bool residual_last;
    enum ox_act act;
    float lo, hi, alpha;
    void (*row)(const void *arg, size_t n,
                float *x); /* in place; may be called for parts of a row */
    const void *row_arg;
};

enum { OX_TILE_ROWS_MAX = 14, OX_TILE_COLS_MAX = 32 };

/* Tiles in registers, a row of them: c[i][j] = (add ? c : 0) + sum over segments s, p < depth of
 * a[s * mr + i][p] * b[j / nr * panel + (s * depth + p) * nr + j % nr], for i < rows <= mr, j < cols; then `end`, its pointers
 * moved to the first row and column (NULL: the bare sum). OX_ACT_ROW and residual_last are left to the caller. The terms of an
 * element are added in ascending order whatever rows and cols are. a holds mr pointers a segment, of which the first `rows`
 * are read. */
struct ox_tile {
    const float *const *a;
    size_t segments, depth;
    const float *b;
    size_t panel; /* floats from panel to panel */
    float *c;
    size_t ldc, cols;
    unsigned rows;
    bool add;
    bool
        follow; /* as many rows follow the last segment in `a`: those of the next tile, worth fetching */
    const struct ox_epilogue *end;
    size_t ahead,
        ahead_step; /* bytes: panel + ahead + p * ahead_step is read later, and brought nearer at each p */
};

/* The same sums where the left side lies at equal steps, `count` outputs of a line: c[x][j] = (add ? c : 0) + sum over r < rows, p < run of
 * row[r][x * step + p] * b[j / nr * panel + (r * run + p) * nr + j % nr]. */
struct ox_line {
    const float *const *row;
    unsigned rows;
    size_t run, step, count;
    const float *b;
    size_t panel;
    float *c;
    size_t ldc, cols;
    bool add;        /* to c */
    bool near;       /* c is in a core's own cache */
    bool fetch;      /* the left side is not, and has one row: the first columns bring it there */
    bool far;        /* weights come from memory, and few outputs wait for them alone */
    bool one_stream; /* and they are better followed from beginning to end than in parts at once */
    /* Floats from b to what is read next of as many panels; 0: what follows in these, else the next panels. */
    ptrdiff_t behind;
    const struct ox_epilogue *end;
};

/* Few rows: c[i][j] += sum over p < depth <= 8 of a[i * lda + p * a_step] * b[p * ldb + j], i < rows <= 4, j < n. */
struct ox_stream {
    size_t n;
    unsigned depth, rows;
    const float *a;
    size_t lda, a_step;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
    size_t ahead; /* floats: so far ahead a row of b is fetched */
};

/* Depthwise: `count` adjacent output pixels of one output row; y[x][c] = act(bias[c] + sum over taps of in * weight).
 * Tap (r, q) of output x reads row[r] + (x * step + q * dilation) * pixel floats; weights are [rows * cols][channels]. */
struct ox_depthwise {
    size_t channels, count;
    unsigned rows, cols;
    const float *const *row; /* one pointer a kernel row, at the first tap of output 0 */
    size_t pixel;            /* floats from pixel to pixel of the input */
    size_t step, dilation;   /* in pixels */
    const float *weights;
    size_t weights_ld; /* floats from tap to tap */
    const float *bias; /* NULL: none */
    float *out;
    size_t out_pixel;
    float lo, hi; /* -infinity, infinity: none */
    bool ahead; /* the lines below, as far apart as the last two, are needed next: worth fetching */
    unsigned turns; /* of `turned`: channels of a group, a power of 2; in whole groups */
};

/* F(2x2,3x3), F(4x4,3x3), the same at stride 2; F(4,3) of a line, either way. */
enum { OX_WINOGRAD_2, OX_WINOGRAD_4, OX_WINOGRAD_STRIDED, OX_WINOGRAD_LINE, OX_WINOGRAD_FORMS };

/* Winograd transforms of one tile over channels; see convolve_winograd.c. Pixels of the patch outside the image are given as
 * pointers to zeros, so `in` has alpha^2 pointers, row after row. alpha = tile + 2, at stride 2 it is 2 tile + 1. Of a line
 * there are six pixels and six points. */
struct ox_winograd_in {
    size_t channels;
    const float *const *in; /* alpha^2 pixels of the patch */
    float *out;             /* alpha^2 matrices, `plane` floats apart */
    size_t plane;
};
/* Its weights: nr of each of `depth` channels, `step` floats apart, at each of nine taps: those of a row are `tap` floats apart, rows
 * `row`. Those of stride 2 have alpha = tile + 2 as well. Of a line there are three taps and six pieces. */
struct ox_winograd_weights {
    size_t depth;
    const float *in;
    size_t step, tap, row;
    float *out; /* alpha^2 pieces of depth * nr, `plane` floats apart */
    size_t plane;
};
struct ox_winograd_out {
    size_t channels;
    const float *in; /* alpha^2 matrices, `plane` floats apart */
    size_t plane;
    float *out; /* tile x tile pixels */
    size_t row, pixel;
    unsigned rows, cols; /* of them inside the image */
    const float *bias;   /* NULL: none */
    const float *residual;
    size_t residual_row, residual_pixel;
    float lo, hi; /* -infinity, infinity: none */
};

/* Pooling of an output pixel over the pixels of its window, and of those behind it. out may be in[0] where the others lie behind it. */
struct ox_pool {
    size_t channels, n;
    const float *const *in; /* n >= 1 pixels */
    float divisor;          /* of the sum */
    float *out;
    size_t more, step, out_step; /* windows behind it; floats from one to the next, of out too */
};

/* Pooling of lines of windows of planes as they lie, along which neighbours are one or two floats apart. */
enum {
    OX_POOL_LINE = 8,
    OX_POOL_LINE_TAPS = 3
}; /* outputs at a time; taps along the line, at most, two at least */
struct ox_pool_line {
    size_t out;              /* outputs of the line */
    size_t dilation, before; /* padding before the line */
    /* All bits where a tap of the first and of the last OX_POOL_LINE outputs is none of the padding's. */
    int32_t edges[2][OX_POOL_LINE_TAPS][OX_POOL_LINE];
    int32_t some[OX_POOL_LINE]; /* all bits: it is an output */
    const float *taps;          /* of each output along the line; NULL: the largest */
};

/* Pooling of a plane, whose windows begin less than its width apart in all. */
enum { OX_POOL_PLANE = 16 }; /* columns at a time */
struct ox_pool_plane {
    size_t in[2], out[2], kernel[2]; /* height first */
    size_t stride, dilation;         /* of rows */
    size_t before; /* rows of padding above; every window has a row of the plane */
    size_t band;   /* rows of outputs that are made together, as columns of the plane's width */
    size_t step, ahead; /* floats from tap to tap along a row; columns of padding before it */
    /* Of each OX_POOL_PLANE columns of a band's rows, which follow one another: for every tap the columns at which it is none of the
     * padding's; those at which a window is made, its first tap `ahead` before. */
    const uint16_t *taps, *kept;
    const float *counts; /* taps of each output's window; NULL: the largest */
};
/* Floats of work of a plane. */
static inline size_t ox_pool_plane_work(const struct ox_pool_plane *p)
{
    return p->ahead + p->band * p->in[1] + p->kernel[1] * p->step + 2 * OX_POOL_PLANE;
}

/* What lines of a plane are multiplied by, which begin at line[l]: at[t] is the place of tap t, from the output's own on. */
struct ox_filter {
    size_t lines;
    const size_t *line;
    size_t taps;
    const float *weights;
    const size_t *at;
    float bias;
};

enum { OX_SQUARE_MOST = 4, OX_TURNS_MOST = 8 };

struct ox_triples;

struct ox_compute {
    enum ox_cpu level;
    unsigned mr, nr;     /* of a tile */
    unsigned wide;       /* columns summed at once: nr, or two panels' */
    unsigned width;      /* floats of a vector */
    size_t depth_most;   /* of a block of k: left tile in L1 */
    size_t block_floats; /* of a packed block of the right side: in L2 */
    size_t stream_ahead; /* of struct ox_stream */
    size_t packed_rows;  /* of so many weights that lie row by row are better packed, though few */
    unsigned one_stream; /* of far weights, for so many rows or more, though few; 0: none */
    bool
        taps_together; /* Winograd's late weights are packed tap by tap within a channel: one stream instead of nine */
    size_t
        turns_most; /* channels of a group, at most, with which OX_CONV_TURNED is the faster way; 0: none */

    /* What weights of F(2x2,3x3) and F(4x4,3x3) for a pair of channels cost that are transformed as they are used: in the
     * multiplications that are done meanwhile. */
    double late_weights[2];
    size_t
        late_depth; /* input channels of late weights at a time, for a panel: beside the input in L2 */
    double
        late_line; /* of F(4,3) along a line; 0: neither lines nor pieces of larger kernels go so */
    /* The transforms of F(4x4,3x3) at stride 2, in channels whose products take as long; 0: it does not pay. */
    double strided_transforms;
    double
        heavy_weights; /* transformed ones, in floats: more are worth larger groups of tiles, which they stream past */

    const struct ox_triples *triples; /* NULL: none pay (triples.h) */

    void (*tile)(const struct ox_tile *t);
    void (*line)(const struct ox_line *l);
    void (*stream)(const struct ox_stream *s);
    /* c[i * ldc + j] = sum over p < k of a[i * lda + p] * b[j * ldb + p], i < rows <= 4, j < n. */
    void (*dots)(size_t n, size_t k, unsigned rows, const float *a, size_t lda, const float *b,
                 size_t ldb, float *c, size_t ldc);
    /* What ends a row of n: x = end(x), without OX_ACT_ROW; pointers of `end` already moved to x. */
    void (*finish)(size_t n, const struct ox_epilogue *end, float *x);
    /* out[p * nr + j] = b[p * row + j * col] for p < k, j < cols <= nr, zeros from cols to nr. */
    void (*pack)(size_t k, unsigned cols, const float *b, size_t row, size_t col, float *out);
    void (*widen_f16)(size_t n, const uint16_t *x, float *y);
    void (*widen_bf16)(size_t n, const uint16_t *x, float *y);

    void (*depthwise)(const struct ox_depthwise *d);
    /* Of groups of d->turns channels, as many in as out: the same, where an output is the sum over s < turns of what the channel s behind
     * its own gives, around in its group. weights are [rows][turns][cols][channels]; groups have up to OX_TURNS_MOST channels. */
    void (*turned)(const struct ox_depthwise *d);
    void (*winograd_in[OX_WINOGRAD_FORMS])(const struct ox_winograd_in *w);
    void (*winograd_out[OX_WINOGRAD_FORMS])(const struct ox_winograd_out *w);
    void (*winograd_weights[OX_WINOGRAD_FORMS])(const struct ox_winograd_weights *w);

    void (*pool_max)(const struct ox_pool *p);
    void (*pool_sum)(const struct ox_pool *p);
    /* By whether the largest or the average is wanted, taps along the line less two, and stride less one; NULL: none. The n >= 1 rows are
     * those that the windows of the first line have taps in; those of the next one lie `step` floats behind. They are read from `before`
     * floats before them to as many behind as outputs in whole OX_POOL_LINE would need, and one. Averages are
     * over `taps` rows. False: of some window no number is larger than -infinity; it is not said what `out` then holds. */
    bool (*pool_lines[2][2][2])(const struct ox_pool_line *p, const float *const *rows, size_t n,
                                size_t lines, size_t step, float taps, float *out);
    /* y[j * ldy + i] = x[i * ldx + j] for i < rows, j < cols. */
    void (*transpose)(size_t rows, size_t cols, const float *x, size_t ldx, float *y, size_t ldy);
    /* y = w[0] a + w[1] b + w[2] c + w[3] d over n. */
    void (*blend)(size_t n, const float w[4], const float *const in[4], float *y);
    /* Multiplies and adds in registers alone, to tell what the core reaches just now; gives the operations done. */
    double (*probe)(size_t loops);
    /* By whether the largest or the average is wanted; NULL: none. False, of the largest: of some window no number is larger than
     * -infinity; it is not said what `out` then holds. */
    bool (*pool_plane[2])(const struct ox_pool_plane *p, const float *in, float *out, float *work);
    /* y[l * n + i] = bias + sum over t of weights[t] * x[line[l] + at[t] + i], in the order of the taps, i < n. */
    void (*filter)(const struct ox_filter *f, size_t n, const float *x, float *y);
    /* y[i * k + j] = sum over p < k of x[i * k + p] * w[p * k + j], in order; 2 <= k <= OX_SQUARE_MOST. NULL: none. */
    void (*square)(size_t rows, size_t k, const float *w, const float *x, float *y);
};

/* The table of that level (of the highest below it that is built in); constant. */
const struct ox_compute *ox_compute(enum ox_cpu level);

/* Fill in what an instruction set does better; for compute.c. */
void ox_compute_neon(struct ox_compute *t);
void ox_compute_avx2(struct ox_compute *t);
void ox_pool_lines_avx2(struct ox_compute *t);
void ox_compute_avx512(struct ox_compute *t);
void ox_pool_planes_avx512(struct ox_compute *t);
void ox_square_avx512(size_t rows, size_t k, const float *w, const float *x, float *y);

#endif
