/* Every entry of the row tables against double precision and against plain C: error in units in the last place, tails,
 * misalignment, guard bytes, special values. A test runs once a table that this processor can run, AVX-512
 * emulated where it is missing. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/rows.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

/* Check writes down each assertion that it passes: too slow for millions. */
#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

static uint32_t state = 1;

static float next_number(void)
{
    state = state * 1664525 + 1013904223;
    return (float)(state >> 8) / (1 << 23) - 1;
}

/* ---- Elementary functions --------------------------------------------------------------------------------------- */

static double t_celu(double x, double a)
{
    return fmax(0, x) + fmin(0, a * expm1(x / a));
}

static double t_clip(double x, double a, double b)
{
    return x < a ? a : x > b ? b : x;
}

static double t_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

#define TRUTH(name, value)                                                                         \
    static double truth_##name(double x, double a, double b)                                       \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        return value;                                                                              \
    }
TRUTH(abs, fabs(x))
TRUTH(acos, acos(x))
TRUTH(affine, a *x + b)
TRUTH(asin, asin(x))
TRUTH(atan, atan(x))
TRUTH(ceil, ceil(x))
TRUTH(celu, isnan(x) ? x : t_celu(x, a))
TRUTH(clip, t_clip(x, a, b))
TRUTH(cos, cos(x))
TRUTH(elu, x < 0 ? a * expm1(x) : x)
TRUTH(erf, erf(x))
TRUTH(exp, exp(x))
TRUTH(floor, floor(x))
TRUTH(gelu, 0.5 * x * erfc(-x * 0.70710678118654752440))
TRUTH(gelu_tanh, x / (1 + exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x))))
TRUTH(hard_sigmoid, t_clip(a *x + b, 0, 1))
TRUTH(hard_swish, x *t_clip(x / 6 + 0.5, 0, 1))
TRUTH(leaky, x < 0 ? a * x : x)
TRUTH(log, log(x))
TRUTH(mish, x *tanh(log1p(exp(x < 600 ? x : 600))))
TRUTH(neg, -x)
TRUTH(reciprocal, 1 / x)
TRUTH(round, rint(x))
TRUTH(rsqrt, 1 / sqrt(x))
TRUTH(selu, b *(x <= 0 ? a * expm1(x) : x))
TRUTH(sigmoid, t_sigmoid(x))
TRUTH(sin, sin(x))
TRUTH(softplus, log1p(exp(-fabs(x))) + (x > 0 ? x : 0))
TRUTH(softsign, x / (1 + fabs(x)))
TRUTH(sqrt, sqrt(x))
TRUTH(square, x *x)
TRUTH(swish, x *t_sigmoid(a *x))
TRUTH(tanh, tanh(x))
TRUTH(threshold, x > a ? x : 0)

/* The error allowed: `ulp` units in the last place of the exact result and |x| `far` more below 0, or `part` of |x|, or `least`. */
static const struct curve {
    const char *name;
    enum ox_unary unary;
    double (*truth)(double x, double a, double b);
    double ulp, far, part, least;
    float a, b;
} curves[] = {
    {"abs", OX_UNARY_ABS, truth_abs, 0, 0, 0, 0, 0, 0},
    {"acos", OX_UNARY_ACOS, truth_acos, 3, 0, 0, 0, 0, 0},
    {"affine", OX_UNARY_AFFINE, truth_affine, 0.5001, 0, 0, 0, 1.5f, -0.25f},
    {"asin", OX_UNARY_ASIN, truth_asin, 3, 0, 0, 0, 0, 0},
    {"atan", OX_UNARY_ATAN, truth_atan, 2, 0, 0, 0, 0, 0},
    {"ceil", OX_UNARY_CEIL, truth_ceil, 0, 0, 0, 0, 0, 0},
    {"celu", OX_UNARY_CELU, truth_celu, 3, 0, 0, 0, 1.25f, 0},
    {"clip", OX_UNARY_CLIP, truth_clip, 0, 0, 0, 0, -1, 6},
    {"cos", OX_UNARY_COS, truth_cos, 2, 0, 0, 0, 0, 0},
    {"elu", OX_UNARY_ELU, truth_elu, 3, 0, 0, FLT_MIN, 1.25f, 0},
    {"erf", OX_UNARY_ERF, truth_erf, 5, 0, 0, 0, 0, 0},
    {"exp", OX_UNARY_EXP, truth_exp, 1, 0, 0, 0, 0, 0},
    {"floor", OX_UNARY_FLOOR, truth_floor, 0, 0, 0, 0, 0, 0},
    {"gelu", OX_UNARY_GELU, truth_gelu, 8, 0, 0x1p-27, 2e-37, 0, 0},
    {"gelu_tanh", OX_UNARY_GELU_TANH, truth_gelu_tanh, 4, 0, 0x1p-22, 0, 0, 0},
    {"hard_sigmoid", OX_UNARY_HARD_SIGMOID, truth_hard_sigmoid, 1, 0, 0, 0x1p-24, 0.2f, 0.5f},
    {"hard_swish", OX_UNARY_HARD_SWISH, truth_hard_swish, 2, 0, 0x1p-24, 0, 0, 0},
    {"leaky", OX_UNARY_LEAKY, truth_leaky, 0.5001, 0, 0, 0, 0.01f, 0},
    {"log", OX_UNARY_LOG, truth_log, 2, 0, 0, 0, 0, 0},
    {"mish", OX_UNARY_MISH, truth_mish, 5, 0, 0, FLT_MIN, 0, 0},
    {"neg", OX_UNARY_NEG, truth_neg, 0, 0, 0, 0, 0, 0},
    {"reciprocal", OX_UNARY_RECIPROCAL, truth_reciprocal, 0.5001, 0, 0, 0, 0, 0},
    {"round", OX_UNARY_ROUND, truth_round, 0, 0, 0, 0, 0, 0},
    {"rsqrt", OX_UNARY_RSQRT, truth_rsqrt, 1.5, 0, 0, 0, 0, 0},
    {"selu", OX_UNARY_SELU, truth_selu, 4, 0, 0, FLT_MIN, 1.6732632f, 1.0507010f},
    {"sigmoid", OX_UNARY_SIGMOID, truth_sigmoid, 4, 1.0 / 32, 0, 0x1p-125, 0, 0},
    {"sin", OX_UNARY_SIN, truth_sin, 2, 0, 0, 0, 0, 0},
    {"softplus", OX_UNARY_SOFTPLUS, truth_softplus, 3, 0, 0, FLT_MIN, 0, 0},
    {"softsign", OX_UNARY_SOFTSIGN, truth_softsign, 2, 0, 0, 0, 0, 0},
    {"sqrt", OX_UNARY_SQRT, truth_sqrt, 0.5001, 0, 0, 0, 0, 0},
    {"square", OX_UNARY_SQUARE, truth_square, 0.5001, 0, 0, 0, 0, 0},
    {"swish", OX_UNARY_SWISH, truth_swish, 4, 1.0 / 32, 0, 0x1p-119, 1, 0},
    {"tanh", OX_UNARY_TANH, truth_tanh, 3, 0, 0, 0, 0, 0},
    {"threshold", OX_UNARY_THRESHOLD, truth_threshold, 0, 0, 0, 0, 1, 0}};

/* Distance to the next float32 from |x| on. */
static double last_place(double x)
{
    float y = fabsf((float)x);
    if (!(y < FLT_MAX))
        y = 0x1.fffffcp127f;
    return (double)nextafterf(y, INFINITY) - y;
}

static void check_point(const struct curve *c, float x, float y)
{
    double want = c->truth(x, c->a, c->b);
    if (isnan(want) || isinf((float)want)) {
        bool same = isnan(want) ? isnan(y) : (double)y == want || fabs((double)y) > 0x1.fffffap127;
        REQUIRE(same, "%s(%a) = %a, not %a", c->name, (double)x, (double)y, want);
        return;
    }
    double ulp = c->ulp + c->far * fmin(100, fmax(0, (double)-x));
    double bound = fmax(c->least, fmax(c->part * fabs((double)x), ulp * last_place(want)));
    double error = fabs(y - want);
    REQUIRE(error <= bound, "%s(%a) = %a, not %a: %.2f ulp", c->name, (double)x, (double)y, want,
            error / last_place(want));
}

enum { POINTS = 1024 };

START_TEST(elementary_functions_stay_within_their_error)
{
    const struct ox_rows *t = rows_table_at((unsigned)_i / OX_COUNT(curves));
    const struct curve *c = &curves[(unsigned)_i % OX_COUNT(curves)];
    static const float special[] = {0,          -0.0f,     1,          -1,        INFINITY,
                                    -INFINITY,  NAN,       FLT_MAX,    -FLT_MAX,  FLT_MIN,
                                    -FLT_MIN,   0x1p-149f, -0x1p-149f, 88.72283f, 88.72284f,
                                    -87.33655f, -103.97f,  -104.5f};
    float x[POINTS], y[POINTS];
    t->unary[c->unary](OX_COUNT(special), special, y, c->a, c->b);
    for (size_t i = 0; i < OX_COUNT(special); i++) {
        /* Limits of x e^x and the like at -infinity are not asked for. */
        if (!isinf(special[i]) || !isnan(y[i]))
            check_point(c, special[i], y[i]);
    }
    uint32_t bits = 0;
    for (size_t round = 0; round < 100; round++) {
        for (size_t i = 0; i < POINTS; i++, bits += 20983) {
            memcpy(&x[i], &bits, sizeof bits);
            if (isnan(x[i]) || isinf(x[i]))
                x[i] = 0.5f;
            /* Half of the points where the curves bend. */
            x[i] = i % 2 ? x[i] : 12 * next_number();
        }
        t->unary[c->unary](POINTS, x, y, c->a, c->b);
        for (size_t i = 0; i < POINTS; i++)
            check_point(c, x[i], y[i]);
    }
}
END_TEST

/* Lengths and places: results that do not depend on either, and nothing written beyond. */
START_TEST(rows_of_any_length_and_place_are_alike)
{
    const struct ox_rows *t = rows_table_at((unsigned)_i);
    float x[96], z[96], y[96], all[96];
    for (size_t i = 0; i < 96; i++) {
        x[i] = 3 * next_number();
        z[i] = next_number();
    }
    for (unsigned f = 0; f < OX_UNARIES; f++) {
        t->unary[f](96, x, all, 0.5f, 1);
        for (size_t n = 0; n < 40; n++) {
            for (size_t i = 0; i < 96; i++)
                y[i] = 77;
            t->unary[f](n, x + 3, y + 5, 0.5f, 1);
            for (size_t i = 0; i < 96; i++) {
                float want = i < 5 || i >= 5 + n ? 77 : all[i - 2];
                REQUIRE(y[i] == want || isnan(want), "function %u, %zu of %zu", f, i, n);
            }
        }
    }
    for (unsigned f = 0; f < OX_BINARIES * OX_ROW_FORMS; f++) {
        unsigned form = f % OX_ROW_FORMS;
        for (size_t n = 0; n < 40; n++) {
            float want[40];
            for (size_t i = 0; i < 96; i++)
                y[i] = 77;
            ox_rows(OX_CPU_C)->binary[f / OX_ROW_FORMS][form](n, x + 1, z + 2, want);
            t->binary[f / OX_ROW_FORMS][form](n, x + 1, z + 2, y + 3);
            for (size_t i = 0; i < 96; i++) {
                float expected = i < 3 || i >= 3 + n ? 77 : want[i - 3];
                REQUIRE(y[i] == expected, "function %u, %zu of %zu", f, i, n);
            }
        }
    }
}
END_TEST

START_TEST(nan_wins_in_larger_and_smaller)
{
    const struct ox_rows *t = rows_table_at((unsigned)_i);
    float a[20], b[20], y[20];
    for (size_t i = 0; i < 20; i++) {
        a[i] = i % 3 ? 1 : NAN;
        b[i] = i % 2 ? 2 : NAN;
    }
    for (unsigned f = OX_BINARY_MAX; f <= OX_BINARY_MIN; f++) {
        t->binary[f][OX_ROW_BOTH](20, a, b, y);
        for (size_t i = 0; i < 20; i++)
            ck_assert(i % 3 && i % 2 ? y[i] == (f == OX_BINARY_MAX ? 2 : 1) : isnan(y[i]));
    }
    for (size_t n = 1; n < 20; n++) {
        ck_assert(isnan(t->max(n, a)) && isnan(t->min(n, a)));
        ck_assert(t->max(n < 2 ? 1 : 2, a + 1) == 1);
    }
}
END_TEST

/* ---- Reductions, softmax, normalizations ------------------------------------------------------------------------- */

static void check_near(const char *what, size_t n, double got, double want, double bound)
{
    REQUIRE(isnan(want) ? isnan(got) : fabs(got - want) <= bound, "%s of %zu: %a, not %a", what, n,
            got, want);
}

START_TEST(reductions_agree_with_plain_c)
{
    const struct ox_rows *t = rows_table_at((unsigned)_i), *c = ox_rows(OX_CPU_C);
    float x[1000], y[1000], z[1000];
    for (size_t i = 0; i < 1000; i++) {
        x[i] = next_number();
        y[i] = next_number();
    }
    for (size_t n = 0; n < 1000; n += n < 80 ? 1 : 307) {
        double bound = 1e-7 * (double)(n + 1);
        check_near("sum", n, (double)t->sum(n, x + 1), (double)c->sum(n, x + 1), bound);
        check_near("squares", n, (double)t->sum_of_squares(n, x, 0.5f),
                   (double)c->sum_of_squares(n, x, 0.5f), 2 * bound);
        check_near("abs", n, (double)t->sum_of_abs(n, x), (double)c->sum_of_abs(n, x), bound);
        check_near("dot", n, (double)t->dot(n, x, y), (double)c->dot(n, x, y), bound);
        ck_assert(n == 0 || (t->max(n, x) == c->max(n, x) && t->min(n, x) == c->min(n, x)));
        float distances[1000] = {0};
        memset(z, 0, sizeof z);
        t->distances(5, n / 5, 3, x, y, n / 5, z);
        c->distances(5, n / 5, 3, x, y, n / 5, distances);
        for (size_t i = 0; i < 1000; i++)
            check_near("distances", n, (double)z[i], (double)distances[i], 1e-6);
        memcpy(z, y, sizeof z);
        t->accumulate(n, 0.75f, x, z);
        for (size_t i = 0; i < 1000; i++)
            check_near("accumulate", n, (double)z[i],
                       i < n ? (double)y[i] + 0.75 * (double)x[i] : (double)y[i], 2e-7);
    }
}
END_TEST

START_TEST(softmax_agrees_with_plain_c)
{
    const struct ox_rows *t = rows_table_at((unsigned)_i), *c = ox_rows(OX_CPU_C);
    float x[300], mask[300], y[302], want[300];
    for (size_t i = 0; i < 300; i++) {
        x[i] = 20 * next_number();
        mask[i] = i % 5 == 2 ? -INFINITY : i % 7 == 3 ? -FLT_MAX : 0;
    }
    for (size_t n = 0; n < 300; n += n < 70 ? 1 : 57) {
        for (int masked = 0; masked < 2; masked++) {
            y[n] = y[n + 1] = 77;
            t->softmax(n, x, masked ? mask : NULL, 0.3f, y);
            c->softmax(n, x, masked ? mask : NULL, 0.3f, want);
            for (size_t i = 0; i < n; i++)
                check_near("softmax", n, (double)y[i], (double)want[i], 1e-6 * (double)want[i]);
            ck_assert(y[n] == 77);
        }
        t->log_softmax(1, n, x, y);
        c->log_softmax(1, n, x, want);
        for (size_t i = 0; i < n; i++)
            check_near("log softmax", n, (double)y[i], (double)want[i], 1e-5);
        ck_assert(y[n] == 77);
        for (int log = 0; log < 2; log++) { /* in place */
            float own[302];
            memcpy(own, x, sizeof x);
            own[n] = own[n + 1] = 77;
            if (log) {
                t->log_softmax(1, n, own, own);
                t->log_softmax(1, n, x, y);
            } else {
                t->softmax(n, own, NULL, 1, own);
                t->softmax(n, x, NULL, 1, y);
            }
            ck_assert_mem_eq(own, y, n * sizeof *y);
            ck_assert(own[n] == 77 && own[n + 1] == 77);
        }
    }
    x[3] = NAN;
    t->softmax(20, x, NULL, 1, y);
    ck_assert(isnan(y[0]) && isnan(y[19]));
    for (size_t i = 0; i < 20; i++)
        x[i] = -INFINITY;
    t->softmax(20, x, NULL, 1, y);
    ck_assert(isnan(y[0]) && isnan(y[19]));
}
END_TEST

/* The bits of each alone, however many there are; also in place. */
START_TEST(log_softmax_of_rows)
{
    enum { ROWS = 37, LONGEST = 900 };
    const struct ox_rows *t = rows_table_at((unsigned)_i);
    static float x[ROWS * LONGEST + 1], y[ROWS * LONGEST + 1], want[ROWS * LONGEST];
    for (size_t n = 0; n <= LONGEST; n += n < 40 ? 1 : 172) {
        for (size_t i = 0; i < ROWS * n; i++)
            x[i] = i % 331 == 7 ? -INFINITY : i == 3 * n + 1 ? NAN : 9 * next_number();
        for (size_t row = 0; row < ROWS; row++)
            t->log_softmax(1, n, x + row * n, want + row * n);
        y[ROWS * n] = x[ROWS * n] = 77;
        t->log_softmax(ROWS, n, x, y);
        ck_assert_mem_eq(y, want, ROWS * n * sizeof *y);
        t->log_softmax(ROWS, n, x, x);
        ck_assert_mem_eq(x, want, ROWS * n * sizeof *x);
        ck_assert(y[ROWS * n] == 77 && x[ROWS * n] == 77);
    }
}
END_TEST

static void check_norm(const struct ox_rows *t, int form, float data[5][400])
{
    float y[401], sum[401], want[400], want_sum[400];
    for (size_t n = 1; n < 400; n += n < 70 ? 1 : 83) {
        struct ox_norm_row row = {.x = data[0],
                                  .skip = form & 1 ? data[1] : NULL,
                                  .bias = form & 2 ? data[2] : NULL,
                                  .scale = form & 4 ? data[3] : NULL,
                                  .shift = form & 4 ? data[4] : NULL,
                                  .sum = form & 8 ? want_sum : NULL,
                                  .centred = form & 16,
                                  .epsilon = 1e-3f,
                                  .y = want};
        ox_rows(OX_CPU_C)->norm(n, &row);
        float mean = row.mean, inverse = row.inverse;
        row.sum = form & 8 ? sum : NULL;
        row.y = y;
        y[n] = sum[n] = 77;
        t->norm(n, &row);
        check_near("mean", n, (double)row.mean, (double)mean, 2e-6);
        check_near("inverse", n, (double)row.inverse, (double)inverse, 2e-5 * (double)inverse);
        for (size_t i = 0; i < n; i++) {
            check_near("norm", n, (double)y[i], (double)want[i], 3e-5);
            REQUIRE(!row.sum || sum[i] == want_sum[i], "sum of %zu at %zu", n, i);
        }
        ck_assert(y[n] == 77 && sum[n] == 77);
    }
}

START_TEST(normalizations_agree_with_plain_c)
{
    const struct ox_rows *t = rows_table_at((unsigned)_i);
    float data[5][400];
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 400; j++)
            data[i][j] = next_number() + (i == 0 ? 3 : 0);
    }
    for (int form = 0; form < 32; form++)
        check_norm(t, form, data);
}
END_TEST

/* ---- Attention --------------------------------------------------------------------------------------------------- */

static const struct {
    size_t queries, keys, depth, v_depth;
} heads[] = {{1, 1, 1, 1},      {3, 5, 4, 3},     {17, 33, 9, 10},  {40, 300, 64, 64},
             {33, 129, 37, 71}, {2, 260, 80, 16}, {16, 129, 20, 9}, {12, 301, 72, 40},
             {6, 131, 33, 37},  {8, 130, 16, 100}};

enum { MASK_NONE, MASK_KEYS, MASK_FULL, MASK_TURNED, MASKS };

static void run_head(const struct ox_rows *t, struct ox_attend_head *h, float *y, bool singly)
{
    size_t floats = ox_attend_work(t, h);
    float *work = calloc(floats + 1, sizeof *work);
    ck_assert(work);
    work[floats] = 77;
    h->y = y;
    for (size_t at = 0; at < h->queries; at += singly ? 1 : t->attend_lanes) {
        size_t n = h->queries - at < t->attend_lanes ? h->queries - at : t->attend_lanes;
        if (singly)
            t->attend_one(h, at, work);
        else
            t->attend(h, at, n, work);
    }
    ck_assert(work[floats] == 77);
    free(work);
}

static float *numbers(size_t n, float scale)
{
    float *x = malloc((n + 1) * sizeof *x);
    ck_assert(x);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * next_number();
    return x;
}

static void check_head(const struct ox_rows *t, size_t s, int kind, bool causal, bool singly,
                       bool more)
{
    size_t n = heads[s].queries, m = heads[s].keys, d = heads[s].depth, e = heads[s].v_depth;
    struct ox_attend_head h = {.queries = n, .keys = m, .depth = d, .v_depth = e, .scale = 0.5f};
    h.q_step = d + 3;
    h.k_step = d + 1;
    h.v_step = e + 2;
    h.y_step = e + 5;
    h.causal = causal;
    h.first = (ptrdiff_t)m - (ptrdiff_t)n;
    h.cap = s == 2 ? 2 : 0;
    h.none_is_0 = s % 2;
    h.window = more && causal ? 1 + m / 3 : 0;
    h.has_sink = more;
    h.sink = s == 3 ? -INFINITY : 0.25f;
    float *q = numbers(n * h.q_step, 2), *k = numbers(m * h.k_step, 2);
    float *v = numbers(m * h.v_step, 1), *mask = numbers(n * m, 3);
    float *y = numbers(n * h.y_step, 1), *want = numbers(n * h.y_step, 1);
    for (size_t i = 0; i < n * m; i += 3)
        mask[i] = i % 2 ? -INFINITY : -FLT_MAX;
    for (size_t i = 0; i < m && kind == MASK_FULL; i++)
        mask[i] = -INFINITY;
    memcpy(want, y, n * h.y_step * sizeof *y);
    h.q = q;
    h.k = k;
    h.v = v;
    h.mask = kind == MASK_NONE ? NULL : mask;
    h.mask_step = kind == MASK_FULL ? m : kind == MASK_TURNED;
    h.mask_key_step = kind == MASK_TURNED ? n : 1;
    run_head(ox_rows(OX_CPU_C), &h, want, true);
    run_head(t, &h, y, singly);
    for (size_t i = 0; i < n * h.y_step; i++)
        check_near("attention", s, (double)y[i], (double)want[i], 1e-5);
    free(q);
    free(k);
    free(v);
    free(mask);
    free(y);
    free(want);
}

START_TEST(attention_agrees_with_plain_c)
{
    const struct ox_rows *t = rows_table_at((unsigned)_i / MASKS);
    for (size_t s = 0; s < OX_COUNT(heads) * 8; s++)
        check_head(t, s / 8, _i % MASKS, s & 1, s & 2, s & 4);
}
END_TEST

int main(void)
{
    const int levels = (int)n_tables();
    TCase *tc = tcase_create("rows");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, elementary_functions_stay_within_their_error, 0,
                        levels * (int)OX_COUNT(curves));
    tcase_add_loop_test(tc, rows_of_any_length_and_place_are_alike, 0, levels);
    tcase_add_loop_test(tc, nan_wins_in_larger_and_smaller, 0, levels);
    tcase_add_loop_test(tc, reductions_agree_with_plain_c, 0, levels);
    tcase_add_loop_test(tc, softmax_agrees_with_plain_c, 0, levels);
    tcase_add_loop_test(tc, log_softmax_of_rows, 0, levels);
    tcase_add_loop_test(tc, normalizations_agree_with_plain_c, 0, levels);
    tcase_add_loop_test(tc, attention_agrees_with_plain_c, 0, levels * MASKS);
    Suite *suite = suite_create("kernels_rows");
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
