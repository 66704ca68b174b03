/* Products and convolutions of 8-bit integers with exact 32-bit sums, and the
 * way back to 8 bits or to floats.
 *
 * The left side is u8, or s8 whose top bit is turned first (x + 128);
 * weights are s8, or u8 that are packed with the top bit turned (w - 128). With
 * z the zero points of what is read then, a result is sum (a - za)(w - zw) =
 * sum a w - za sum w - zw sum a + k za zw, of which the kernels form sum a w
 * (and sum a, where zw is not 0); the rest is a constant per column,
 * ox_integer_offsets(). */
#ifndef OX_KERNELS_INTEGER_H
#define OX_KERNELS_INTEGER_H

#include "kernels/bytes.h"
#include "kernels/convolve.h"
#include "kernels/integer_pack.h"

struct ox_integer_end;

/* One register tile: c[i][j] = sum over segments s, p < depth of (a[s * mr +
 * i][p] * w; packed panels have depth rounded up to 4 a segment. Columns may be those of as many panels as the table says, each
 * `panel` bytes behind the one before. PAIRS:
 * one segment of words, their number even, depth in bytes. With an end, which tables that have `ends` take, of bytes and without
 * weight_zero: not to c, but to bytes at out + i * out_row, by the end's columns from `col` on. */
struct ox_integer_tile {
    const uint8_t *const *a;
    size_t segments, depth;
    const void *b;
    size_t panel;
    int32_t *c;
    size_t ldc;
    unsigned rows, cols;
    const struct ox_integer_end *end;
    size_t col;
    uint8_t *out;
    size_t out_row;
    const char *
        later; /* NULL; or weights that are wanted later: of more columns than a panel's, each four of a segment and six rows
                          fetch the line that so many bytes further is */
    size_t later_step;
};
enum { OX_INTEGER_LINE = 64 };

/* What becomes of a convolution's results, which are bytes, while they are near: they are added to a tensor of codes that lies as they do,
 * or each is looked up in a table. */
struct ox_integer_after {
    const uint8_t *residual;          /* NULL: none */
    const struct ox_bytes_pair *pair; /* the results first */
    const uint8_t *table;             /* of 256, by a code's bits; where there is no residual */
    const struct ox_bytes *kernels;
};

enum ox_integer_out { OX_INTEGER_U8, OX_INTEGER_S8, OX_INTEGER_F32, OX_INTEGER_I32 };

/* A row of sums on its way out: t = sums[j] + offset[j] - row_term *
 * weight_zero[j]; 8 bits: the nearest integer (half to even) of the exact t *
 * scale[j] (in double) plus zero, within [lo, hi]; floats: t * scale[j] + bias[j], within [lo_f,
 * hi_f]; I32: t. Where there are fractions, t + fraction[j], rounded to a float, is in the place of a t of no more than a float's bits,
 * for 8 bits. */
struct ox_integer_end {
    enum ox_integer_out type;
    const int32_t *offset;      /* NULL: 0 */
    const int32_t *weight_zero; /* NULL: 0; of the weights as packed */
    const float *scale;         /* a column each */
    const float *bias;          /* floats only; NULL: 0 */
    const float *fraction;      /* of a unit of t, at most a half; NULL: 0 */
    int32_t zero, lo, hi;       /* of the result's type; lo = zero for a Relu */
    float lo_f, hi_f;
    const struct ox_integer_after *after; /* of ox_integer_conv_run() alone; NULL */
};
/* The end of the columns from `col` on. */
struct ox_integer_end ox_integer_end_at(const struct ox_integer_end *end, size_t col);

/* Rows of n sums, row i at sums + i * ld, which leave to out + i * out_row (elements of end.type). terms: a row_term each, where the
 * end has weight_zero. */
struct ox_integer_sums {
    size_t rows, n;
    const int32_t *sums;
    size_t ld;
    const int32_t *terms;
    void *out;
    size_t out_row;
};

/* Depthwise, one output pixel: sums[c] = sum over taps of (in[tap][c] ^ flip) *
 * weights[ox_integer_tap()]. */
struct ox_integer_taps {
    size_t channels, n;
    const uint8_t *const *in;
    uint8_t flip;
    const int16_t *weights;
    int32_t *sums;
};

/* Winograd's transforms (integer_winograd.c). Of the 6x6 pixels at in[], line by line, each of `channels` codes: B' (x ^ flip) B,
 * point p of channel c at out[p * plane + c], where there is room for whole thirty-twos. */
struct ox_integer_points {
    size_t channels;
    const uint8_t *const *in;
    uint8_t flip;
    int16_t *out;
    size_t plane;
};

enum { OX_INTEGER_NINTH = 954437177 }; /* 9 times it is 1 modulo 2^32 */

/* Back: of sums in[p * plane + j] for 36 points and j < n the 4x4 outputs out[i * ld + j]. Both have room for whole sixteens of j. */
struct ox_integer_outputs {
    size_t n;
    const int32_t *in;
    size_t plane;
    int32_t *out;
    size_t ld;
};

/* c[i][j] = sum over segments s, p < depth of a[s][i * a_row + p] * w: up to OX_INTEGER_STRIP rows, panels of QUADS side by side,
 * each `panel` bytes. depth is a multiple of 4; c has room for whole panels. */
struct ox_integer_strip {
    const uint8_t *const *a;
    size_t a_row, segments, depth;
    const void *b;
    size_t panel;
    int32_t *c;
    size_t ldc, panels;
    unsigned rows;
    /* Weights that are read afterwards come nearer meanwhile, NULL: none. Of 8 streams (or 16), so far apart, a line each for every
     * step of 64 bytes of depth in a panel: memory gives several streams more than one. */
    const char *later;
    size_t later_apart;
    unsigned later_streams;
};
enum { OX_INTEGER_STRIP = 32 };

/* n bytes of each row, row i at x + i * x_row, turned by flip, to y + i * y_row. There is room for whole sixteens of them, and what is
 * behind n in the last may be anything; it is not read unless there is slack. */
struct ox_integer_lay {
    size_t rows, n;
    const uint8_t *x;
    size_t x_row;
    uint8_t flip;
    bool slack;
    uint8_t *y;
    size_t y_row;
};

/* Rows of `depth` bytes (a multiple of 4), row i at a + i * a_row, by panels of MIXED side by side, each `panel` bytes. With an end, of
 * bytes, without weight_zero, and of sums that have no more bits than a float, to n bytes each at out + i * out_row; else to sums at
 * sums + i * ld, where there is room for whole panels. */
struct ox_integer_mixed {
    const uint8_t *a;
    size_t a_row, rows, depth, n;
    const void *b;
    size_t panel;
    const struct ox_integer_end *end;
    void *out;
    size_t out_row;
    int32_t *sums;
    size_t ld;
};

/* Rows of `depth` bytes (a multiple of 4, at most OX_INTEGER_SHALLOW), row i at a + i * a_row, by panels of QUADS side by side,
 * each `panel` bytes, to n bytes each at out + i * out_row. */
struct ox_integer_shallow {
    const uint8_t *a;
    size_t a_row, rows, depth, n;
    const void *b;
    size_t panel;
    void *out;
    size_t out_row;
    const struct ox_integer_end *end; /* of bytes, without weight_zero */
};
enum { OX_INTEGER_SHALLOW = 64 };

/* Depthwise, lines of outputs from an image without a frame. Kernels of up to OX_INTEGER_LINES_ROWS by _COLUMNS taps. */
struct ox_integer_lines {
    const struct ox_conv *c;
    const uint8_t *in, *zeros; /* zeros: 64 bytes of what padding reads */
    uint8_t flip;
    const void *packed; /* by lines_pack() */
    bool weight_zeros;  /* which had zero points */
    void *out;
    const struct ox_integer_end *end; /* without weight_zero */
    void (*finish)(size_t n, const int32_t *sums, int32_t row_term,
                   const struct ox_integer_end *end, void *out);
};
enum { OX_INTEGER_LINES_ROWS = 8, OX_INTEGER_LINES_COLUMNS = 8 };

/* Sums of sixteen columns of several groups, of as many pixels, which lie `pixel` bytes apart: sums[i * ld + j] = sum over taps and
 * fours of the group's channels of (bytes of the pixel, chosen by `bytes`) * (weights + zeros[0] + ...). There is room for sixteen
 * sums. */
struct ox_integer_abreast {
    const uint8_t
        *in; /* of a tap the n bytes that all these groups read, 1 to OX_INTEGER_ABREAST_BYTES */
    size_t n, pixel;
    unsigned pixels;    /* 1 to OX_INTEGER_ABREAST_PIXELS */
    const size_t *taps; /* bytes from `in` */
    size_t n_taps, fours;
    const char *bytes, *weights; /* a vector a four; of weights a tap and four */
    const char *zeros;           /* n_zeros, 0 to 2, times a vector a four */
    unsigned n_zeros;
    int32_t *sums;
    size_t ld;
};
enum {
    OX_INTEGER_ABREAST_COLS = 16,
    OX_INTEGER_ABREAST_PIXELS = 8,
    OX_INTEGER_ABREAST_BYTES = 64 /* of a vector */
};

/* c[i * c_row + j] = sum over p < k of a[i * a_row + p] * (b[p * b_row + j] - b_zero), modulo 2^32, for i < rows, j < n. b are s8 or u8 as
 * they lie; a, of 9 bits, less their zero point, and 0 behind an odd k. */
struct ox_integer_lying {
    size_t rows, n, k;
    const int16_t *a;
    size_t a_row;
    const uint8_t *b;
    size_t b_row;
    bool b_signed;
    int16_t b_zero;
    int32_t *c;
    size_t c_row;
};

struct ox_integer {
    enum ox_cpu level;
    unsigned mr, nr;
    unsigned panels; /* that tile() and words() take at a time */
    enum ox_integer_layout layout;
    bool ends;       /* tile() takes an end */
    bool fast_bytes; /* it forms twice as many products in a time as words() does */
    double
        transforms; /* what Winograd's filtering then takes beside products, as a multiple of that where a cycle has a vector of them */
    size_t
        points_near; /* bytes that Winograd's filtering has at points at a time: they stay in L2, with their weights and sums */
    void (*tile)(
        const struct ox_integer_tile *t); /* not of MIXED, which has lay() and mixed() alone */
    void (*strip)(const struct ox_integer_strip *s); /* QUADS alone; NULL: tiles do it */
    /* Around calls of strip() by one thread that have as many rows, or all of them OX_INTEGER_STRIP / 2 or more, and whose depths
     * leave the same remainder by 64; NULL: nothing is to be done. */
    void (*strips_start)(unsigned rows, size_t depth);
    void (*strips_end)(void);
    void (*shallow)(const struct ox_integer_shallow *s); /* QUADS of 32 columns alone; NULL */
    /* The bytes of four rows, turned by flip, each four of one column adjacent. */
    void (*fours)(size_t n, const uint8_t *const *rows, uint8_t flip, void *out);
    void (*widen)(size_t n, const uint8_t *x, uint8_t flip, uint16_t *y); /* PAIRS alone */
    void (*lying)(const struct ox_integer_lying *l);                      /* NULL */
    size_t lying_most; /* rows by which lying() takes less time than packing and tiles */
    void (*abreast)(const struct ox_integer_abreast *a); /* QUADS alone; NULL */
    void (*lay)(const struct ox_integer_lay *l);
    void (*mixed)(const struct ox_integer_mixed *m);
    /* Both or none, beside mixed(): rows of MIXED's, laid so that of each four of k those of OX_INTEGER_UPRIGHT_ROWS rows stand side by
     * side, and these by panels of UPRIGHT (a_row is nothing then). What rows there are not, up to whole eights, is like the last. */
    void (*upright_lay)(const struct ox_integer_mixed *m, void *out);
    void (*upright)(const struct ox_integer_mixed *m);
    unsigned mixed_rows; /* that it multiplies at a time */
    size_t mixed_near;   /* bytes of rows that go by a panel before the next one does */
    void (*taps)(const struct ox_integer_taps *t);
    /* All three or none: lines y0 to y1 - 1 of an image, weights of `groups` times the taps as lines() wants them (flip makes them
     * signed; less zero[channel], whose negative is a byte too; NULL: 0), and the bytes of these. */
    void (*lines)(const struct ox_integer_lines *l, size_t y0, size_t y1);
    void (*lines_pack)(const struct ox_conv *c, const uint8_t *weights, uint8_t flip,
                       const int32_t *zero, void *out);
    size_t (*lines_packed)(const struct ox_conv *c);
    /* All three or none: a tile of words by PAIRS whatever the layout is, and the transforms. */
    void (*words)(const struct ox_integer_tile *t);
    void (*points)(const struct ox_integer_points *p);
    void (*outputs)(const struct ox_integer_outputs *o);
    int32_t (*sum)(size_t n, const uint8_t *x, uint8_t flip); /* of x ^ flip */
    void (*finish)(size_t n, const int32_t *sums, int32_t row_term,
                   const struct ox_integer_end *end, void *out);
    /* finish() of all rows; NULL: row by row. */
    void (*leave)(const struct ox_integer_sums *s, const struct ox_integer_end *end);
};
const struct ox_integer *ox_integer(enum ox_cpu level);
/* Products of u8 by s8 as AVX2 without VNNI has them at its fastest: each pair of neighbours saturates at 16 bits. Depthwise is
 * exact there too. To show what other programs give, not to compute by. */
const struct ox_integer *ox_integer_saturating(void);
void ox_integer_dotprod(struct ox_integer *t);
void ox_integer_avx2(struct ox_integer *t);
void ox_integer_end_avx2(struct ox_integer *t);      /* finish() and leave() alone */
void ox_integer_mixed_avx2(struct ox_integer *t);    /* mixed() alone */
void ox_integer_upright_avx2(struct ox_integer *t);  /* upright() and its lay() alone */
void ox_integer_lying_avx2(struct ox_integer *t);    /* lying() alone */
void ox_integer_lines_avx2(struct ox_integer *t);    /* lines() and its packing alone */
void ox_integer_winograd_avx2(struct ox_integer *t); /* the transforms alone */
void ox_integer_avxvnni(struct ox_integer *t);       /* where the compiler can */
void ox_integer_words_avxvnni(struct ox_integer *t); /* words() alone, where the compiler can */
void ox_integer_lines_avxvnni(
    struct ox_integer *t); /* lines() and its packing alone, where the compiler can */
void ox_integer_avx512(struct ox_integer *t);
void ox_integer_mixed_avx512(struct ox_integer *t);    /* mixed() alone, and the layout */
void ox_integer_end_avx512(struct ox_integer *t);      /* finish() and leave() alone */
void ox_integer_winograd_avx512(struct ox_integer *t); /* the transforms alone */
void ox_integer_vnni(struct ox_integer *t);
void ox_integer_words_vnni(struct ox_integer *t);   /* words() alone */
void ox_integer_lines_vnni(struct ox_integer *t);   /* lines() and its packing alone */
void ox_integer_shallow_vnni(struct ox_integer *t); /* shallow() alone */
void ox_integer_abreast_vnni(struct ox_integer *t); /* abreast() alone, where there is VBMI too */
void ox_integer_amx(struct ox_integer *t); /* strips alone, and those only where the compiler can */

/* c[m x n] = end(a[m x k] w[k x n]); one convolution or product. */
struct ox_integer_dense {
    size_t m, n, k;
    const uint8_t *a; /* row i at i * a_row, columns adjacent */
    size_t a_row;
    bool a_signed;
    const void *packed; /* ox_integer_dense_pack() */
    void *c;            /* of end.type; row i at i * c_row elements */
    size_t c_row;
    struct ox_integer_end end;
};
/* Bytes; SIZE_MAX when they overflow. Element (p, j) of the weights is at p *
 * row + j * col. `once`: for one run, packed quickly. */
size_t ox_integer_dense_packed(const struct ox_integer *t, size_t k, size_t n);
void ox_integer_dense_pack(const struct ox_integer *t, struct ox_env *env, size_t k, size_t n,
                           const void *weights, bool is_signed, size_t row, size_t col, bool once,
                           void *out);
size_t ox_integer_dense_work(const struct ox_integer *t, const struct ox_env *env,
                             const struct ox_integer_dense *d);
void ox_integer_dense_run(const struct ox_integer *t, struct ox_env *env,
                          const struct ox_integer_dense *d, void *work);

/* sums[j] of column j's weights as they are packed: what ox_integer_sums() gives; for tables and depths that are summed so. */
bool ox_integer_dense_summed(const struct ox_integer *t, size_t k);
void ox_integer_dense_sums(const struct ox_integer *t, size_t k, size_t n, const void *packed,
                           int32_t *sums);
/* sums[j]: of the `count` weights of column j as packed (signed); they stand at j * col, `step` apart (OIHW: step 1, count =
 * col = all of I, H, W). */
void ox_integer_sums(size_t n, size_t count, const void *weights, bool is_signed, size_t step,
                     size_t col, int32_t *sums);
/* offset[j] = bias[j] - za * sums[j] + count * za * zw[j], za as read (unsigned): the zero point of u8, or that of s8 plus 128;
 * zw that of s8, or of u8 minus 128. bias and weight_zero (one a column) may be NULL. */
void ox_integer_offsets(size_t n, size_t count, const int32_t *sums, int32_t za,
                        const int32_t *weight_zero, const int32_t *bias, int32_t *offset);

/* Convolution over NHWC bytes, any kernel, stride, dilation, padding and groups
 * (also depthwise); c->planar and c->transposed are not done. in_pixel and
 * out_pixel count elements. Padding reads in_zero (as stored). */
/* Whether this shape is done: kernels of at most 256 taps, or rows of them where their pixels lie side by side. Depthwise weights lose
 * their zero points when they are packed (`zero`, a channel each, of the weights as
 * packed; NULL: 0), so end.weight_zero is NULL there. */
bool ox_integer_conv_can(const struct ox_conv *c);
/* `form` says how the weights may be packed; both calls want the same. */
enum ox_integer_form {
    OX_INTEGER_ANY, /* for many runs whose end.weight_zero is NULL: also as they take more room */
    OX_INTEGER_COMPACT, /* with zero points */
    OX_INTEGER_ONCE     /* for one run: compact, and packed quickly */
};
size_t ox_integer_conv_packed(const struct ox_integer *t, const struct ox_conv *c,
                              enum ox_integer_form form);
void ox_integer_conv_pack(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                          enum ox_integer_form form, const void *weights, bool is_signed,
                          const int32_t *zero, void *out);
/* Whether packing takes zero points into account, so that the end has no weight_zero; else they are no business of it. */
bool ox_integer_conv_takes_zeros(const struct ox_integer *t, const struct ox_conv *c);
size_t ox_integer_conv_work(const struct ox_integer *t, const struct ox_env *env,
                            const struct ox_conv *c, bool in_signed, bool weight_zeros);
void ox_integer_conv_run(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                         const void *packed, const void *in, bool in_signed, int32_t in_zero,
                         void *out, const struct ox_integer_end *end, void *work);

#endif
