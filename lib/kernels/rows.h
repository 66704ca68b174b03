/* Work on rows of adjacent floats: elementary functions, softmax, normalizations, reductions, attention. Leaf functions:
 * pointers and counts. A level's table holds plain C first, overridden instruction set by instruction set. */
#ifndef OX_KERNELS_ROWS_H
#define OX_KERNELS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu.h"

/* y = f(x), with the parameters a and b where they are named. */
enum ox_unary {
    OX_UNARY_ABS,
    OX_UNARY_ACOS,
    OX_UNARY_AFFINE, /* a x + b */
    OX_UNARY_ASIN,
    OX_UNARY_ATAN,
    OX_UNARY_CEIL,
    OX_UNARY_CELU, /* max(0, x) + min(0, a (e^(x / a) - 1)) */
    OX_UNARY_CLIP, /* min(max(x, a), b): also Relu */
    OX_UNARY_COS,
    OX_UNARY_ELU, /* x < 0 ? a (e^x - 1) : x */
    OX_UNARY_ERF,
    OX_UNARY_EXP,
    OX_UNARY_FLOOR,
    OX_UNARY_GELU, /* exact */
    OX_UNARY_GELU_TANH,
    OX_UNARY_HARD_SIGMOID, /* clip(a x + b, 0, 1) */
    OX_UNARY_HARD_SWISH,   /* x clip(x / 6 + 1 / 2, 0, 1) */
    OX_UNARY_LEAKY,        /* x < 0 ? a x : x */
    OX_UNARY_LOG,
    OX_UNARY_MISH,
    OX_UNARY_NEG,
    OX_UNARY_RECIPROCAL,
    OX_UNARY_ROUND, /* halves to even */
    OX_UNARY_RSQRT, /* 1 / sqrt(x) */
    OX_UNARY_SELU,  /* x <= 0 ? b (a e^x - a) : b x */
    OX_UNARY_SIGMOID,
    OX_UNARY_SIN,
    OX_UNARY_SOFTPLUS,
    OX_UNARY_SOFTSIGN,
    OX_UNARY_SQRT,
    OX_UNARY_SQUARE,
    OX_UNARY_SWISH, /* x sigmoid(a x) */
    OX_UNARY_TANH,
    OX_UNARY_THRESHOLD, /* x > a ? x : 0 */
    OX_UNARIES
};

enum ox_binary {
    OX_BINARY_ADD,
    OX_BINARY_SUB,
    OX_BINARY_MUL,
    OX_BINARY_DIV,
    OX_BINARY_MAX, /* NaN wins */
    OX_BINARY_MIN,
    OX_BINARY_PRELU, /* a < 0 ? a b : a */
    OX_BINARIES
};

/* Which operand of a binary function is one float for the whole row. */
enum ox_row_form { OX_ROW_BOTH, OX_ROW_LEFT_ONE, OX_ROW_RIGHT_ONE, OX_ROW_FORMS };

/* y = (v - mean) / sqrt(variance + epsilon) * scale + shift of v = x + skip + bias; not centred: v / sqrt(mean of squares +
 * epsilon) * scale + shift. All may be NULL but x and y; y may be x. */
struct ox_norm_row {
    const float *x, *skip, *bias;
    const float *scale, *shift;
    float epsilon;
    bool centred;
    float *sum; /* gets v */
    float *y;
    float mean, inverse; /* left behind: the mean (0: not centred) and 1 / sqrt(...) */
};

enum { OX_ATTEND_KEYS = 128 }; /* of a block */

/* Attention of one head: y[i] = sum over j of softmax over j (cap(scale q[i] k[j]) + mask[i][j]) v[j]. Steps are in floats. */
struct ox_attend_head {
    size_t queries, keys, depth, v_depth;
    const float *q, *k, *v;
    size_t q_step, k_step, v_step; /* from row to row; elements of a row are adjacent */
    float scale;
    float cap;                       /* cap tanh(x / cap); 0: none */
    const float *mask;               /* NULL: none; added */
    size_t mask_step, mask_key_step; /* from query to query and key to key; 0 repeats */
    bool causal;                     /* query i sees keys j <= i + first */
    ptrdiff_t first;
    size_t window; /* of causal queries: the last so many of those keys alone; 0: all */
    bool has_sink; /* a score besides, which no value goes with */
    float sink;
    bool none_is_0; /* a query whose keys are all at -infinity gets 0 instead of NaN */
    float *y;
    size_t y_step;
};

struct ox_rows {
    enum ox_cpu level;
    size_t attend_lanes;  /* queries that are worked on side by side */
    size_t attend_singly; /* up to so many are faster one by one */

    void (*unary[OX_UNARIES])(size_t n, const float *x, float *y, float a, float b);
    void (*binary[OX_BINARIES][OX_ROW_FORMS])(size_t n, const float *a, const float *b, float *y);

    /* y = softmax(scale x + mask): of a row of -infinity NaN. mask may be NULL; y may be x. */
    void (*softmax)(size_t n, const float *x, const float *mask, float scale, float *y);
    /* Of rows one after another, each of n; y may be x. */
    void (*log_softmax)(size_t rows, size_t n, const float *x, float *y);
    void (*norm)(size_t n, struct ox_norm_row *row);

    /* In many partial sums, in an order that n alone decides; 0 of nothing. */
    float (*sum)(size_t n, const float *x);
    float (*sum_of_squares)(size_t n, const float *x, float centre); /* of (x - centre)^2 */
    float (*sum_of_abs)(size_t n, const float *x);
    float (*max)(size_t n, const float *x); /* NaN wins; n > 0 */
    float (*min)(size_t n, const float *x);
    float (*dot)(size_t n, const float *a, const float *b);
    /* y = y + s x */
    void (*accumulate)(size_t n, float s, const float *x, float *y);
    /* y[i * n_y + j]: the square of the distance of row i of x, k wide, from column j of n, which lie n_y elements apart. */
    void (*distances)(size_t rows, size_t n, size_t k, const float *x, const float *columns,
                      size_t n_y, float *y);

    /* Queries [from, from + n) of a head, n <= attend_lanes; work: ox_attend_work() floats. */
    void (*attend)(const struct ox_attend_head *h, size_t from, size_t n, float *work);
    /* One query: streams keys and values once. */
    void (*attend_one)(const struct ox_attend_head *h, size_t query, float *work);
};

/* Floats of work for attend and attend_one; SIZE_MAX when that overflows. */
size_t ox_attend_work(const struct ox_rows *t, const struct ox_attend_head *h);

/* The table of that level (of the highest below it that is built in); constant. */
const struct ox_rows *ox_rows(enum ox_cpu level);

/* Fill in what an instruction set does better; for rows.c. */
void ox_rows_neon(struct ox_rows *t);
void ox_rows_avx2(struct ox_rows *t);
void ox_rows_avx512(struct ox_rows *t);

#endif
