/* Arithmetic of two operands and the walk through broadcast shapes. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/env.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

static struct one_op *two(const char *name, int64_t opset, enum ox_dtype dtype, const char *shape_a,
                          const double *a, size_t n_a, const char *shape_b, const double *b,
                          size_t n_b)
{
    struct one_op *op = one_op_new("", name, opset);
    one_op_in(op, dtype, shape_a, a, n_a);
    one_op_in(op, dtype, shape_b, b, n_b);
    return op;
}

/* A list of four with a list of four. */
static void check_lists(const char *name, int64_t opset, enum ox_dtype dtype, const double a[4],
                        const double b[4], const double expected[4])
{
    struct one_op *op = two(name, opset, dtype, "4", a, 4, "4", b, 4);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    one_op_expect(op, 0, dtype, "4", 1e-6, expected, 4);
    one_op_free(op);
}

#define LIST(...)                                                                                  \
    (const double[4])                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

START_TEST(arithmetic_covers_every_type)
{
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_FLOAT16, OX_BFLOAT16,
                                          OX_INT8,    OX_INT16,   OX_INT32,   OX_INT64,
                                          OX_UINT8,   OX_UINT16,  OX_UINT32,  OX_UINT64};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        check_lists("Add", 14, types[i], LIST(1, 2, 3, 4), LIST(5, 6, 7, 8), LIST(6, 8, 10, 12));
        check_lists("Sub", 14, types[i], LIST(9, 8, 7, 6), LIST(1, 2, 3, 4), LIST(8, 6, 4, 2));
        check_lists("Mul", 14, types[i], LIST(1, 2, 3, 4), LIST(5, 6, 7, 8), LIST(5, 12, 21, 32));
        check_lists("Div", 14, types[i], LIST(8, 6, 4, 2), LIST(2, 3, 4, 1), LIST(4, 2, 1, 2));
        check_lists("Mod", 13, types[i], LIST(7, 8, 9, 10), LIST(4, 4, 4, 4), LIST(3, 0, 1, 2));
    }
}
END_TEST

START_TEST(integers_wrap)
{
    check_lists("Add", 14, OX_INT8, LIST(127, -128, 100, 0), LIST(1, -1, 100, 0),
                LIST(-128, 127, -56, 0));
    check_lists("Sub", 14, OX_UINT8, LIST(0, 1, 2, 3), LIST(1, 2, 3, 4), LIST(255, 255, 255, 255));
    check_lists("Mul", 14, OX_UINT16, LIST(65535, 256, 2, 3), LIST(65535, 256, 2, 3),
                LIST(1, 0, 4, 9));
    check_lists("Mul", 14, OX_INT32, LIST(65536, 2147483647, -1, 5), LIST(65536, 2, -1, 5),
                LIST(0, -2, 1, 25));
}
END_TEST

START_TEST(integer_division_truncates_and_never_traps)
{
    check_lists("Div", 14, OX_INT32, LIST(-7, 7, -2147483648.0, 5), LIST(2, -2, -1, 0),
                LIST(-3, -3, -2147483648.0, 0));
    check_lists("Div", 14, OX_INT8, LIST(-128, -7, 9, 1), LIST(-1, 3, -2, 0),
                LIST(-128, -2, -4, 0));
    check_lists("Div", 14, OX_UINT64, LIST(9, 1, 0, 7), LIST(2, 0, 3, 7), LIST(4, 0, 0, 1));
}
END_TEST

START_TEST(int64_minimum_by_minus_one_wraps)
{
    static const int64_t a[2] = {INT64_MIN, INT64_MIN}, b[2] = {-1, 0};
    static const char *const names[] = {"Div", "Mod"};
    static const int64_t first[] = {INT64_MIN, 0};
    for (size_t k = 0; k < 2; k++) {
        struct one_op *op = one_op_new("", names[k], 14);
        one_op_in_data(op, OX_INT64, "2", a, sizeof a);
        one_op_in_data(op, OX_INT64, "2", b, sizeof b);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        const int64_t *out = one_op_out(op, 0)->data;
        ck_assert(out[0] == first[k] && out[1] == 0);
        one_op_free(op);
    }
}
END_TEST

START_TEST(mod_follows_the_divisor)
{
    check_lists("Mod", 13, OX_INT32, LIST(-4, 7, 5, -7), LIST(2, -3, 8, 3), LIST(0, -2, 5, 2));
    check_lists("Mod", 28, OX_FLOAT32, LIST(-4.3f, 7.25, 5, -1),
                LIST(2.1f, -3, 8, (double)INFINITY), LIST(2.0, -1.75, 5, (double)INFINITY));
    check_lists("Mod", 28, OX_FLOAT64, LIST((double)INFINITY, 1, (double)NAN, 3),
                LIST(1, 0, 1, -(double)INFINITY),
                LIST((double)NAN, (double)NAN, (double)NAN, -(double)INFINITY));
}
END_TEST

START_TEST(mod_of_a_zero_has_the_divisors_sign)
{
    struct one_op *op = one_op_new("", "Mod", 28);
    ONE_OP_IN(op, OX_FLOAT32, "2", 0.0, -0.0);
    ONE_OP_IN(op, OX_FLOAT32, "2", -3, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    const float *out = one_op_out(op, 0)->data;
    ck_assert(out[0] == 0 && signbit(out[0]));
    ck_assert(out[1] == 0 && !signbit(out[1]));
    one_op_free(op);
}
END_TEST

START_TEST(fmod_follows_the_dividend)
{
    const double a[4] = {-4.3, 7.25, 5, -8}, b[4] = {2.1, -3, 8, 3};
    struct one_op *op = two("Mod", 10, OX_FLOAT64, "4", a, 4, "4", b, 4);
    one_op_int(op, "fmod", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "4", 1e-12, -0.1, 1.25, 5, -2);
    one_op_free(op);
    op = two("Mod", 10, OX_INT16, "4", a, 4, "4", b, 4);
    one_op_int(op, "fmod", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT16, "4", 0, 0, 1, 5, -2);
    one_op_free(op);
}
END_TEST

/* ---- Broadcasting ------------------------------------------------------------------------------------------------ */

struct shape {
    unsigned rank;
    int64_t dims[5];
    size_t n;
};

static uint32_t state = 1;

static unsigned draw(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
}

/* Shapes that broadcast with each other: a dimension of `full` is there, 1, or (in front) missing. */
static struct shape draw_shape(unsigned rank, const int64_t *full)
{
    struct shape s = {.n = 1};
    unsigned missing = draw(rank + 1);
    for (unsigned i = missing; i < rank; i++) {
        s.dims[s.rank] = draw(3) ? full[i] : 1;
        s.n *= (size_t)s.dims[s.rank++];
    }
    return s;
}

static void print_shape(const struct shape *s, char *out)
{
    *out = '\0';
    for (unsigned i = 0; i < s->rank; i++)
        out += sprintf(out, "%s%d", i ? "x" : "", (int)s->dims[i]);
}

static size_t place(const struct shape *s, unsigned rank, const int64_t *at)
{
    size_t index = 0;
    for (unsigned i = 0; i < s->rank; i++)
        index = index * (size_t)s->dims[i] + (size_t)(s->dims[i] == 1 ? 0 : at[rank - s->rank + i]);
    return index;
}

static struct shape result_shape(const struct shape *a, const struct shape *b)
{
    struct shape r = {.rank = a->rank > b->rank ? a->rank : b->rank, .n = 1};
    for (unsigned i = 0; i < r.rank; i++) {
        int64_t x = i + a->rank < r.rank ? 1 : a->dims[i + a->rank - r.rank];
        int64_t y = i + b->rank < r.rank ? 1 : b->dims[i + b->rank - r.rank];
        r.dims[i] = x == 1 ? y : x;
        r.n *= (size_t)r.dims[i];
    }
    return r;
}

START_TEST(random_shapes_broadcast_as_by_index)
{
    static const enum ox_dtype types[] = {OX_FLOAT64, OX_FLOAT32, OX_INT32, OX_INT64};
    static double a[4096], b[4096], expected[4096];
    for (unsigned trial = 0; trial < 1200; trial++) {
        const bool wide = trial % 3 == 0;
        const enum ox_dtype type = types[trial % OX_COUNT(types)];
        unsigned rank = draw(wide ? 4 : 6);
        int64_t full[5];
        for (unsigned i = 0; i < rank; i++)
            full[i] = draw(12) ? 1 + draw(wide ? 16 : 4) : 0;
        struct shape sa = draw_shape(rank, full), sb = draw_shape(rank, full);
        struct shape r = result_shape(&sa, &sb);
        for (size_t i = 0; i < 4096; i++) {
            a[i] = (double)i;
            b[i] = (double)(i * 1000);
        }
        int64_t at[5] = {0};
        for (size_t i = 0; i < r.n; i++) {
            expected[i] = a[place(&sa, r.rank, at)] - b[place(&sb, r.rank, at)];
            for (unsigned k = r.rank; k-- > 0 && ++at[k] == r.dims[k];)
                at[k] = 0;
        }
        char ta[64], tb[64], tr[64];
        print_shape(&sa, ta);
        print_shape(&sb, tb);
        print_shape(&r, tr);
        struct one_op *op = two("Sub", 13, type, ta, a, sa.n, tb, b, sb.n);
        ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s - %s: %s", ta, tb, one_op_error(op));
        one_op_expect(op, 0, type, tr, 0, expected, r.n);
        one_op_free(op);
    }
}
END_TEST

START_TEST(big_results_are_the_same_for_any_number_of_threads)
{
    enum { ROWS = 300, COLUMNS = 301 };
    static double a[ROWS], b[COLUMNS], expected[ROWS * COLUMNS];
    for (size_t i = 0; i < ROWS; i++)
        a[i] = (double)i;
    for (size_t i = 0; i < COLUMNS; i++)
        b[i] = (double)i * 0.5;
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
        expected[i] = a[i / COLUMNS] * b[i % COLUMNS];
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct one_op *op = two("Mul", 13, OX_FLOAT32, "300x1", a, ROWS, "301", b, COLUMNS);
        ox_env_set_threads(one_op_env(op), threads);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_FLOAT32, "300x301", 0, expected, (size_t)ROWS * COLUMNS);
        one_op_free(op);
    }
}
END_TEST

START_TEST(shapes_that_do_not_broadcast_are_named)
{
    struct one_op *op = one_op_new("", "Add", 13);
    ONE_OP_IN(op, OX_FLOAT32, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "Add"));
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "input 1 has 2 where others have 3"));
    one_op_free(op);
}
END_TEST

/* ---- broadcast and axis of opset 1 to 6 -------------------------------------------------------------------------- */

START_TEST(old_broadcast_aligns_at_the_axis)
{
    struct one_op *op = one_op_new("", "Add", 6);
    ONE_OP_IN(op, OX_FLOAT32, "2x3x2", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 2, 3);
    one_op_int(op, "broadcast", 1);
    one_op_int(op, "axis", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x3x2", 0, 1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3);
    one_op_free(op);
}
END_TEST

START_TEST(old_broadcast_without_axis_aligns_the_ends)
{
    struct one_op *op = one_op_new("", "Sub", 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 5, 6, 7, 8);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    one_op_int(op, "broadcast", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 4, 4, 6, 6);
    one_op_free(op);
}
END_TEST

START_TEST(old_broadcast_takes_one_element_of_any_rank)
{
    struct one_op *op = one_op_new("", "Mul", 6);
    ONE_OP_IN(op, OX_INT32, "3", 1, 2, 3);
    ONE_OP_IN(op, OX_INT32, "1x1", 7);
    one_op_int(op, "broadcast", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3", 0, 7, 14, 21);
    one_op_free(op);
}
END_TEST

START_TEST(old_operators_keep_the_shape_of_the_first)
{
    struct one_op *op = one_op_new("", "Add", 6);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 5, 6, 7, 8);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    one_op_free(op);
}
END_TEST

START_TEST(old_axis_out_of_range_is_refused)
{
    struct one_op *op = one_op_new("", "Div", 6);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 5, 6, 7, 8);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    one_op_int(op, "broadcast", 1);
    one_op_int(op, "axis", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "axis 2"));
    one_op_free(op);
}
END_TEST

/* ---- Pow, BitShift, PRelu, SwiGLU -------------------------------------------------------------------------------- */

static void check_pow(enum ox_dtype base, enum ox_dtype exponent, const double x[4],
                      const double y[4], const double expected[4])
{
    struct one_op *op = one_op_new("", "Pow", 15);
    one_op_in(op, base, "4", x, 4);
    one_op_in(op, exponent, "4", y, 4);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect(op, 0, base, "4", 1e-6, expected, 4);
    one_op_free(op);
}

START_TEST(pow_mixes_types)
{
    check_pow(OX_FLOAT32, OX_FLOAT32, LIST(2, 9, 4, 1), LIST(3, 0.5, -1, 7), LIST(8, 3, 0.25, 1));
    check_pow(OX_FLOAT32, OX_INT64, LIST(2, -3, 4, 0), LIST(10, 3, -1, 0),
              LIST(1024, -27, 0.25, 1));
    check_pow(OX_FLOAT16, OX_INT32, LIST(2, -3, 4, 0), LIST(10, 3, -1, 0),
              LIST(1024, -27, 0.25, 1));
    check_pow(OX_INT32, OX_FLOAT32, LIST(2, 9, 16, 3), LIST(3, 0.5, 0.25, 2), LIST(8, 3, 2, 9));
    check_pow(OX_INT64, OX_UINT8, LIST(2, -3, 10, 7), LIST(40, 3, 18, 0),
              LIST(1099511627776.0, -27, 1e18, 1));
}
END_TEST

START_TEST(one_exponent_serves_all_integers)
{
    static const enum ox_dtype types[] = {OX_INT32, OX_INT64, OX_UINT8, OX_INT16, OX_UINT64};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        struct one_op *op = one_op_new("", "Pow", 15);
        ONE_OP_IN(op, types[i], "4", 0, 1, 2, 3);
        ONE_OP_IN(op, OX_INT64, "", _i);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, types[i], "4", 0, _i ? 0 : 1, 1, pow(2, _i), pow(3, _i));
        one_op_free(op);
    }
}
END_TEST

START_TEST(squares_are_powers)
{
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_INT32};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        struct one_op *op = one_op_new("", "Pow", 15);
        ONE_OP_IN(op, OX_FLOAT32, "5", -3, 0.1, -(double)INFINITY, (double)NAN, 1e30);
        ONE_OP_IN(op, types[i], "", 2);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, OX_FLOAT32, "5", 0, 9, (double)(0.1f * 0.1f), (double)INFINITY,
                   (double)NAN, (double)INFINITY);
        one_op_free(op);
    }
}
END_TEST

START_TEST(integer_powers_wrap_and_truncate)
{
    check_pow(OX_INT32, OX_INT32, LIST(2, 3, -1, 2), LIST(31, 21, -3, -1),
              LIST(-2147483648.0, 1870418611, -1, 0));
    check_pow(OX_INT32, OX_INT64, LIST(0, 0, 1, 65536), LIST(-1, 0, -9, 2),
              LIST(2147483647, 1, 1, 0));
}
END_TEST

/* More than are worked on side by side, each with an exponent of its own or all with one. */
START_TEST(rows_of_integer_powers_are_repeated_products)
{
    enum { N = 150 };
    double x[N], y[N], expected[N];
    for (int one = 0; one < 2; one++) {
        struct one_op *op = one_op_new("", "Pow", 15);
        for (size_t i = 0; i < N; i++) {
            x[i] = (double)(i % 7) - 3;
            y[i] = one ? _i : (double)((i + (size_t)_i) % 16) - 2;
            double power = y[i] < 0 ? 0 : 1;
            for (int k = 0; k < y[i]; k++)
                power *= x[i];
            if (y[i] < 0 && fabs(x[i]) == 1)
                power = (int)y[i] % 2 ? x[i] : 1;
            expected[i] = y[i] < 0 && x[i] == 0 ? INT32_MAX : power;
        }
        one_op_in(op, OX_INT32, "150", x, N);
        one_op_in(op, OX_INT64, one ? "" : "150", y, one ? 1 : N);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_INT32, "150", 0, expected, N);
        one_op_free(op);
    }
}
END_TEST

START_TEST(shifts_by_the_width_or_more_leave_the_fill)
{
    static const struct {
        const char *direction;
        enum ox_dtype dtype;
        double x[4], y[4], expected[4];
    } cases[] = {
        {"LEFT", OX_UINT8, {1, 255, 3, 1}, {7, 4, 8, 200}, {128, 240, 0, 0}},
        {"RIGHT", OX_UINT8, {128, 255, 3, 1}, {7, 4, 8, 200}, {1, 15, 0, 0}},
        {"RIGHT", OX_UINT64, {128, 255, 3, 1}, {7, 4, 64, 1}, {1, 15, 0, 0}},
        {"LEFT", OX_INT8, {1, -1, 64, -128}, {7, 4, 1, 1}, {-128, -16, -128, 0}},
        {"RIGHT", OX_INT8, {-128, -1, 64, -5}, {7, 4, 1, 9}, {-1, -1, 32, -1}},
        {"RIGHT", OX_INT32, {-8, 8, -8, 8}, {1, 1, -1, -1}, {-4, 4, -1, 0}},
        {"LEFT", OX_INT64, {-8, 8, -8, 8}, {1, 62, -1, 64}, {-16, 0, 0, 0}},
    };
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        struct one_op *op =
            two("BitShift", 28, cases[i].dtype, "4", cases[i].x, 4, "4", cases[i].y, 4);
        one_op_string(op, "direction", cases[i].direction);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, cases[i].dtype, "4", 0, cases[i].expected, 4);
        one_op_free(op);
    }
}
END_TEST

START_TEST(prelu_slopes_by_channel_before_version_7)
{
    struct one_op *op = one_op_new("", "PRelu", 6);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", -1, 2, -3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2", 0.5, 0.25);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x2", 0, -0.5, 2, -0.75, 4);
    one_op_free(op);
    op = one_op_new("", "PRelu", 16);
    ONE_OP_IN(op, OX_INT32, "1x2x2", -1, 2, -3, 4);
    ONE_OP_IN(op, OX_INT32, "2", 2, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "1x2x2", 0, -2, 2, -6, 4);
    one_op_free(op);
}
END_TEST

START_TEST(prelu_slope_must_fit_into_x)
{
    struct one_op *op = one_op_new("", "PRelu", 9);
    ONE_OP_IN(op, OX_FLOAT32, "2", -1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    one_op_free(op);
}
END_TEST

START_TEST(swiglu_gates)
{
    struct one_op *op = one_op_new("", "SwiGLU", 28);
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, -200);
    ONE_OP_IN(op, OX_FLOAT64, "2", 3, 4);
    one_op_float(op, "alpha", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2", 1e-12, 3 / (1 + exp(-2)), 0);
    one_op_free(op);
}
END_TEST

/* Short rows are taken together, what they repeat laid down. */
START_TEST(columns_of_every_size_are_spread)
{
    enum { ROWS = 9, COLS = 5 };
    static const enum ox_dtype types[] = {OX_INT8, OX_INT16, OX_FLOAT32, OX_INT64, OX_FLOAT64};
    double x[ROWS * COLS], column[ROWS], want[ROWS * COLS];
    for (size_t i = 0; i < OX_COUNT(x); i++) {
        x[i] = (double)(i * 37 % 41);
        column[i / COLS] = (double)(i / COLS * 5) - 20;
        want[i] = x[i] + column[i / COLS];
    }
    struct one_op *op = one_op_new("", "Add", 14);
    one_op_in(op, types[_i], "9x5", x, OX_COUNT(x));
    one_op_in(op, types[_i], "9x1", column, ROWS);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    for (size_t i = 0; i < OX_COUNT(x); i++)
        ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), i), want[i]);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_arithmetic");
    TCase *tcase = tcase_create("arithmetic");
    tcase_add_loop_test(tcase, columns_of_every_size_are_spread, 0, 5);
    tcase_add_test(tcase, arithmetic_covers_every_type);
    tcase_add_test(tcase, integers_wrap);
    tcase_add_test(tcase, integer_division_truncates_and_never_traps);
    tcase_add_test(tcase, int64_minimum_by_minus_one_wraps);
    tcase_add_test(tcase, mod_follows_the_divisor);
    tcase_add_test(tcase, mod_of_a_zero_has_the_divisors_sign);
    tcase_add_test(tcase, fmod_follows_the_dividend);
    tcase_add_test(tcase, random_shapes_broadcast_as_by_index);
    tcase_add_test(tcase, big_results_are_the_same_for_any_number_of_threads);
    tcase_add_test(tcase, shapes_that_do_not_broadcast_are_named);
    tcase_add_test(tcase, old_broadcast_aligns_at_the_axis);
    tcase_add_test(tcase, old_broadcast_without_axis_aligns_the_ends);
    tcase_add_test(tcase, old_broadcast_takes_one_element_of_any_rank);
    tcase_add_test(tcase, old_operators_keep_the_shape_of_the_first);
    tcase_add_test(tcase, old_axis_out_of_range_is_refused);
    tcase_add_test(tcase, pow_mixes_types);
    tcase_add_loop_test(tcase, one_exponent_serves_all_integers, 0, 6);
    tcase_add_test(tcase, squares_are_powers);
    tcase_add_test(tcase, integer_powers_wrap_and_truncate);
    tcase_add_test(tcase, shifts_by_the_width_or_more_leave_the_fill);
    tcase_add_test(tcase, prelu_slopes_by_channel_before_version_7);
    tcase_add_loop_test(tcase, rows_of_integer_powers_are_repeated_products, -3, 14);
    tcase_add_test(tcase, prelu_slope_must_fit_into_x);
    tcase_add_test(tcase, swiglu_gates);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
