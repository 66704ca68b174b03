/* Elementary functions of doubles against the C library's in more bits, pairs against plain C. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/distances.h"
#include "kernels/doubles.h"
#include "kernels/pair_rows.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

static double sigmoid(double x)
{
    const double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static long double long_sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

/* Of two parameters A and B, where there are any. */
static const double A = 2, B = 3;

static long double long_swish(long double x)
{
    return x * long_sigmoid((long double)A * x);
}

static double swish(double x)
{
    return x * sigmoid(A * x);
}

static long double long_elu(long double x)
{
    return x < 0 ? (long double)A * expm1l(x) : x;
}

static double elu(double x)
{
    return x < 0 ? A * expm1(x) : x;
}

static long double long_selu(long double x)
{
    return (long double)B * long_elu(x);
}

static double selu(double x)
{
    return B * elu(x);
}

static long double long_softplus(long double x)
{
    return log1pl(expl(-fabsl(x))) + (x < 0 ? 0 : x);
}

static double softplus(double x)
{
    return log1p(exp(-fabs(x))) + (x < 0 ? 0 : x);
}

static long double long_mish(long double x)
{
    return x * tanhl(long_softplus(x));
}

static double mish(double x)
{
    return x * tanh(softplus(x));
}

static long double long_gelu_tanh(long double x)
{
    const long double root = 0.797884560802865355879892119868763737L; /* sqrt(2 / pi) */
    return x * long_sigmoid(2 * root * (x + 0.044715L * x * x * x));
}

static double gelu_tanh(double x)
{
    return x * sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x));
}

static long double long_clip(long double x)
{
    return x < (long double)A ? (long double)A : x > (long double)B ? (long double)B : x;
}

static double clip(double x)
{
    return x < A ? A : x > B ? B : x;
}

static const struct {
    enum ox_unary function;
    double (*of)(double);
    long double (*exact)(long double);
    double from, to, ulps;
} cases[] = {
    {OX_UNARY_EXP, exp, expl, -750, 712, 2},
    {OX_UNARY_EXP, exp, expl, -1, 1, 2},
    {OX_UNARY_LOG, log, logl, 0, 4, 2},
    {OX_UNARY_LOG, log, logl, 0.7, 1.42, 2},
    {OX_UNARY_LOG, log, logl, 0, 1e-307, 2},
    {OX_UNARY_LOG, log, logl, 0, DBL_MAX, 2},
    {OX_UNARY_TANH, tanh, tanhl, -22, 22, 3},
    {OX_UNARY_TANH, tanh, tanhl, -1e-3, 1e-3, 3},
    {OX_UNARY_SIGMOID, sigmoid, long_sigmoid, -750, 40, 3},
    {OX_UNARY_SIGMOID, sigmoid, long_sigmoid, -4, 4, 3},
    {OX_UNARY_SWISH, swish, long_swish, -350, 40, 4},
    {OX_UNARY_SWISH, swish, long_swish, -4, 4, 4},
    {OX_UNARY_ELU, elu, long_elu, -45, 5, 3},
    {OX_UNARY_ELU, elu, long_elu, -1, 0, 3},
    {OX_UNARY_ELU, elu, long_elu, -1e-300, 1e-300, 3},
    {OX_UNARY_SELU, selu, long_selu, -45, 5, 3},
    {OX_UNARY_SOFTPLUS, softplus, long_softplus, -750, 5, 3},
    {OX_UNARY_SOFTPLUS, softplus, long_softplus, -2, 2, 3},
    {OX_UNARY_SOFTPLUS, softplus, long_softplus, -1e300, 1e300, 3},
    {OX_UNARY_MISH, mish, long_mish, -700, 50, 4},
    {OX_UNARY_MISH, mish, long_mish, -3, 3, 4},
    {OX_UNARY_GELU_TANH, gelu_tanh, long_gelu_tanh, -30, 30, 4},
    {OX_UNARY_GELU_TANH, gelu_tanh, long_gelu_tanh, -3, 3, 4},
    {OX_UNARY_CLIP, clip, long_clip, 1.5, 3.5, 0},
    {OX_UNARY_SIN, sin, sinl, -10, 10, 2},
    {OX_UNARY_SIN, sin, sinl, -1.2e6, 1.2e6, 2},
    {OX_UNARY_COS, cos, cosl, -10, 10, 2},
    {OX_UNARY_COS, cos, cosl, -1.2e6, 1.2e6, 2},
    {OX_UNARY_FLOOR, floor, floorl, -100, 100, 0},
    {OX_UNARY_CEIL, ceil, ceill, -100, 100, 0},
    {OX_UNARY_ROUND, rint, rintl, -100, 100, 0},
};

static double place_of(double x)
{
    int exponent;
    frexp(x, &exponent);
    return ldexp(1, exponent - 53 < -1074 ? -1074 : exponent - 53);
}

START_TEST(functions_are_within_their_bounds)
{
    enum { N = 5003 };
    static double x[N], y[N];
    struct dice d = {(uint64_t)_i + 1};
    void (*function)(size_t n, const double *x, double *y, double a, double b) =
        ox_doubles(ox_cpu_probe())->unary[cases[_i].function];
    ck_assert(!ox_doubles(OX_CPU_C)->unary[cases[_i].function]);
    if (!function)
        return;
    for (size_t i = 0; i < N; i++)
        y[i] = x[i] = cases[_i].from +
                      (cases[_i].to - cases[_i].from) * ((double)(dice_next(&d) >> 11) * 0x1p-53);
    function(N, y, y, A, B); /* in place */
    for (size_t i = 0; i < N; i++) {
        const long double exact = cases[_i].exact((long double)x[i]);
        const double want = (double)exact;
        const double more = cases[_i].function == OX_UNARY_GELU_TANH ? fabs(x[i]) * 0x1p-53 : 0;
        if (isinf(want))
            ck_assert_msg(y[i] == want, "%a: %a, not %a", x[i], y[i], want);
        else
            ck_assert_msg(fabsl((long double)y[i] - exact) <=
                              (long double)(cases[_i].ulps * place_of(want) + more),
                          "%a: %a, not %a", x[i], y[i], want);
    }
}
END_TEST

START_TEST(special_values_are_the_libraries)
{
    static const double x[] = {0,       -0.0,    INFINITY, -INFINITY,  NAN,         5e-324,
                               -5e-324, DBL_MIN, -DBL_MIN, 1,          -1,          709.78,
                               709.79,  -745.13, -745.2,   DBL_MAX,    -DBL_MAX,    0.5,
                               -0.5,    1.5,     1e22,     1048576.25, -1048576.25, 2.5};
    double y[sizeof x / sizeof *x];
    void (*function)(size_t n, const double *x, double *y, double a, double b) =
        ox_doubles(ox_cpu_probe())->unary[cases[_i].function];
    if (!function)
        return;
    for (size_t n = 1; n <= sizeof x / sizeof *x; n++) { /* vectors, and what is left of them */
        function(n, x, y, A, B);
        for (size_t i = 0; i < n; i++) {
            const double want = cases[_i].of(x[i]);
            if (isnan(want))
                ck_assert(isnan(y[i]));
            else if (isinf(want) || want == 0)
                ck_assert_msg(y[i] == want && !signbit(y[i]) == !signbit(want), "%a: %a, not %a",
                              x[i], y[i], want);
            else
                ck_assert_msg(fabs(y[i] - want) <= 4 * place_of(want), "%a: %a, not %a", x[i], y[i],
                              want);
        }
    }
}
END_TEST

START_TEST(signs_of_doubles)
{
    static const double x[] = {0,       -0.0,    INFINITY, -INFINITY, NAN, 5e-324,
                               -5e-324, DBL_MAX, -DBL_MAX, 1,         -3};
    static const double want[] = {0, 0, 1, -1, NAN, 1, -1, 1, -1, 1, -1};
    double y[(sizeof x / sizeof *x)];
    if (!ox_doubles(ox_cpu_probe())->sign)
        return;
    for (size_t n = 1; n <= (sizeof x / sizeof *x); n++) {
        ox_doubles(ox_cpu_probe())->sign(n, x, y);
        for (size_t i = 0; i < n; i++)
            ck_assert(isnan(want[i]) ? isnan(y[i]) : y[i] == want[i]);
    }
}
END_TEST

static int64_t drawn(struct dice *d)
{
    static const int64_t extremes[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1, 0, 1};
    return dice_between(d, 0, 1) ? extremes[dice_between(d, 0, 6)]
                                 : (int64_t)dice_between(d, 0, 4) - 2;
}

START_TEST(pairs_are_those_of_plain_c)
{
    enum { N = 77 };
    struct dice d = {(uint64_t)_i * 31 + 7};
    const struct ox_pairs *plain = ox_pairs(OX_CPU_C), *best = ox_pairs(ox_cpu_probe());
    const size_t n = dice_between(&d, 1, N), a_step = _i & 1, b_step = _i >> 1 & 1;
    int64_t a[N], b[N];
    double x[N], y[N];
    int32_t p[N], q[N], quotients[2][N];
    uint8_t flags[2][N];
    for (size_t i = 0; i < n; i++) {
        a[i] = drawn(&d);
        b[i] = drawn(&d);
        p[i] = (int32_t)a[i];
        q[i] = (int32_t)b[i];
        x[i] = a[i] == INT64_MIN   ? NAN
               : a[i] == INT64_MAX ? INFINITY
                                   : (double)a[i] * -0.0 + (double)a[i];
        y[i] = b[i] == INT64_MIN ? NAN : b[i] == INT64_MAX ? INFINITY : (double)b[i];
    }
    for (unsigned order = 0; order < OX_PAIR_ORDERS; order++) {
        plain->compare_i64[order](n, a, a_step, b, b_step, flags[0]);
        best->compare_i64[order](n, a, a_step, b, b_step, flags[1]);
        ck_assert_mem_eq(flags[0], flags[1], n);
        plain->compare_f64[order](n, x, a_step, y, b_step, flags[0]);
        best->compare_f64[order](n, x, a_step, y, b_step, flags[1]);
        ck_assert_mem_eq(flags[0], flags[1], n);
        for (size_t i = 0; i < n; i++) {
            const double left = x[i * a_step], right = y[i * b_step];
            ck_assert_uint_eq(flags[1][i], order == OX_PAIR_EQUAL     ? left == right
                                           : order == OX_PAIR_GREATER ? left > right
                                                                      : left >= right);
        }
    }
    plain->value[OX_PAIR_DIV][OX_INT32](n, p, a_step, q, b_step, quotients[0]);
    best->value[OX_PAIR_DIV][OX_INT32](n, p, a_step, q, b_step, quotients[1]);
    ck_assert_mem_eq(quotients[0], quotients[1], n * sizeof **quotients);
    for (size_t i = 0; i < n; i++) {
        const int64_t left = p[i * a_step], right = q[i * b_step];
        const int64_t want = right == 0 ? 0 : left / right;
        ck_assert_int_eq(quotients[1][i], want > INT32_MAX ? INT32_MIN : want);
    }
}
END_TEST

/* Floats of all magnitudes, some near each other, so that quotients are small, huge and whole. */
static double drawn_real(struct dice *d)
{
    static const double extremes[] = {0,   -0.0,     INFINITY, NAN,      DBL_MAX, 5e-324,
                                      0.1, 0x1p-149, FLT_MAX,  -DBL_MIN, 1,       -INFINITY};
    const uint64_t bits = dice_next(d);
    double any;
    switch (dice_between(d, 0, 7)) {
    case 0:
        return extremes[dice_between(d, 0, sizeof extremes / sizeof *extremes - 1)];
    case 1:
        memcpy(&any, &bits, sizeof any);
        return any;
    case 2:
        return 0.1 * (double)dice_between(d, 0, 1000);
    default:
        return ldexp((double)(bits >> 11) * 0x1p-53 - 0.5, (int)dice_between(d, 0, 60));
    }
}

static double expected_real(enum ox_pair_value value, double x, double y)
{
    if (value == OX_PAIR_REST)
        return fmod(x, y);
    if (value == OX_PAIR_MAX)
        return x > y || isnan(x) ? x : y;
    return x < y || isnan(x) ? x : y;
}

static int64_t expected_whole(enum ox_pair_value value, int64_t x, int64_t y)
{
    if (value == OX_PAIR_MUL)
        return (int64_t)((uint64_t)x * (uint64_t)y);
    return (value == OX_PAIR_MAX) == (x > y) ? x : y;
}

/* A NaN's sign is nobody's. */
#define CK_SAME_REAL(T, got, want)                                                                 \
    ck_assert(isnan(want) ? isnan(got) : (T)(want) == (got) && !signbit(want) == !signbit(got))

START_TEST(values_of_pairs_are_exact)
{
    enum { N = 700 };
    struct dice d = {(uint64_t)_i * 17 + 3};
    const enum ox_cpu level = (enum ox_cpu)(_i % (int)(ox_cpu_probe() + 1));
    const size_t n = dice_between(&d, 1, N), a_step = _i >> 1 & 1, b_step = _i >> 2 & 1;
    static double x[2][N], reals[N];
    static float f[2][N], floats[N];
    static int64_t w[2][N], wholes[N];
    static int32_t v[2][N], shorts[N];
    for (size_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < 2; k++) {
            x[k][i] = drawn_real(&d);
            f[k][i] = (float)drawn_real(&d);
            w[k][i] = dice_between(&d, 0, 1) ? drawn(&d) : (int64_t)dice_next(&d);
            v[k][i] = (int32_t)w[k][i];
        }
    }
    for (unsigned value = 0; value < OX_PAIR_VALUES; value++) {
        void (*const *of)(size_t n, const void *a, size_t a_step, const void *b, size_t b_step,
                          void *y) = ox_pairs(level)->value[value];
        ck_assert(level == OX_CPU_C || ox_cpu_probe() > OX_CPU_AMX || value == OX_PAIR_DIV ||
                  of[OX_FLOAT64] || of[OX_INT64]);
        if (of[OX_FLOAT64])
            of[OX_FLOAT64](n, x[0], a_step, x[1], b_step, reals);
        if (of[OX_FLOAT32])
            of[OX_FLOAT32](n, f[0], a_step, f[1], b_step, floats);
        if (of[OX_INT64])
            of[OX_INT64](n, w[0], a_step, w[1], b_step, wholes);
        if (of[OX_INT32])
            of[OX_INT32](n, v[0], a_step, v[1], b_step, shorts);
        for (size_t i = 0; i < n; i++) {
            const size_t p = i * a_step, q = i * b_step;
            if (of[OX_FLOAT64]) {
                const double want = expected_real(value, x[0][p], x[1][q]);
                CK_SAME_REAL(double, reals[i], want);
            }
            if (of[OX_FLOAT32]) {
                const double want = expected_real(value, (double)f[0][p], (double)f[1][q]);
                CK_SAME_REAL(float, floats[i], want);
            }
            if (of[OX_INT64])
                ck_assert_int_eq(wholes[i], expected_whole(value, w[0][p], w[1][q]));
            if (of[OX_INT32] && value != OX_PAIR_DIV)
                ck_assert_int_eq(shorts[i], (int32_t)expected_whole(value, v[0][p], v[1][q]));
        }
    }
}
END_TEST

/* Rows change places: the diagonal is small. The product with the inverse is the unit matrix, and the bits are those of plain C. */
START_TEST(inverses_of_matrices)
{
    enum { MOST = 40 };
    const size_t n = (size_t)_i;
    double x[MOST * MOST] = {0}, y[MOST * MOST], plain[MOST * MOST];
    size_t pivots[MOST];
    for (size_t i = 0; i < n * n; i++)
        x[i] = i / n == i % n ? 1e-3 : (double)((uint32_t)(i + 1) * 2654435761u >> 8) / (1 << 24);
    memcpy(y, x, sizeof y);
    memcpy(plain, x, sizeof plain);
    ox_doubles(ox_cpu_probe())->invert(n, y, pivots);
    ox_doubles(OX_CPU_C)->invert(n, plain, pivots);
    ck_assert(memcmp(y, plain, n * n * sizeof *y) == 0);
    for (size_t k = 0; k < n * n; k++) {
        double sum = 0;
        for (size_t p = 0; p < n; p++)
            sum += x[k / n * n + p] * y[p * n + k % n];
        ck_assert_double_eq_tol(sum, k / n == k % n, 1e-9);
    }
}
END_TEST

/* At each level, of rows and columns that fill no block: the same but for what is rounded once, and nothing behind a row. */
START_TEST(distances_are_near_those_of_plain_c)
{
    enum { ROWS = 7, MOST = 40, DEEP = 33, COLUMNS = 48 };
    const size_t rows = 1 + (size_t)_i % ROWS, n = 1 + (size_t)_i % MOST, k = (size_t)_i % DEEP;
    static double x[ROWS * DEEP], columns[COLUMNS * DEEP], y[ROWS * MOST + 1];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (double)((uint32_t)(i + 1) * 2654435761u >> 8) / (1 << 24);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        columns[i] = (double)((uint32_t)(i + 9) * 2246822519u >> 8) / (1 << 24);
    for (int level = OX_CPU_C; level <= (int)ox_cpu_probe(); level++) {
        y[rows * n] = 7;
        ox_distances((enum ox_cpu)level)->squares(rows, n, k, x, columns, COLUMNS, y);
        ck_assert_double_eq(y[rows * n], 7);
        for (size_t i = 0; i < rows * n; i++) {
            double sum = 0;
            for (size_t p = 0; p < k; p++)
                sum += (x[i / n * k + p] - columns[p * COLUMNS + i % n]) *
                       (x[i / n * k + p] - columns[p * COLUMNS + i % n]);
            ck_assert(level == OX_CPU_C ? y[i] == sum : fabs(y[i] - sum) <= 1e-14 * sum);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("doubles");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, functions_are_within_their_bounds, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(all, special_values_are_the_libraries, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(all, signs_of_doubles);
    tcase_add_loop_test(all, inverses_of_matrices, 1, 40);
    tcase_add_loop_test(all, distances_are_near_those_of_plain_c, 0, 200);
    tcase_add_loop_test(all, pairs_are_those_of_plain_c, 0, 200);
    tcase_add_loop_test(all, values_of_pairs_are_exact, 0, 400);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
