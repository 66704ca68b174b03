/* Reductions, ArgMax, Softmax, CumSum. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/env.h"
#include "ops/real.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

static const double inf = (double)INFINITY, nan_ = (double)NAN;

/* 1 to 6 as 2x3, reduced along axis 1. */
static void check_rows(const char *name, enum ox_dtype dtype, double first, double second)
{
    struct one_op *op = one_op_new("", name, 18);
    ONE_OP_IN(op, dtype, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_INT64, "1", -1);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    ONE_OP_OUT(op, 0, dtype, "2x1",
               dtype == OX_FLOAT64   ? 1e-14
               : dtype == OX_FLOAT32 ? 1e-6
                                     : 1e-2,
               first, second);
    one_op_free(op);
}

START_TEST(reductions_follow_their_formulas)
{
    static const enum ox_dtype types[] = {OX_FLOAT64, OX_FLOAT32, OX_FLOAT16, OX_BFLOAT16};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        check_rows("ReduceSum", types[i], 6, 15);
        check_rows("ReduceMean", types[i], 2, 5);
        check_rows("ReduceMax", types[i], 3, 6);
        check_rows("ReduceMin", types[i], 1, 4);
        check_rows("ReduceProd", types[i], 6, 120);
        check_rows("ReduceL1", types[i], 6, 15);
        check_rows("ReduceL2", types[i], sqrt(14), sqrt(77));
        check_rows("ReduceSumSquare", types[i], 14, 77);
        check_rows("ReduceLogSum", types[i], log(6), log(15));
        check_rows("ReduceLogSumExp", types[i], 3.40760596444438, 6.40760596444438);
    }
}
END_TEST

START_TEST(reductions_of_integers)
{
    static const enum ox_dtype types[] = {OX_INT32, OX_INT64, OX_UINT32, OX_UINT64};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        check_rows("ReduceSum", types[i], 6, 15);
        check_rows("ReduceMean", types[i], 2, 5);
        check_rows("ReduceMax", types[i], 3, 6);
        check_rows("ReduceProd", types[i], 6, 120);
        check_rows("ReduceL2", types[i], 3, 8);
        check_rows("ReduceLogSumExp", types[i], 3, 6);
    }
    check_rows("ReduceMax", OX_INT8, 3, 6);
    check_rows("ReduceMin", OX_UINT8, 1, 4);
}
END_TEST

/* Every set of axes of a tensor of rank 5, with and without keepdims, against sums by index. */
START_TEST(every_set_of_axes)
{
    enum { RANK = 5, N = 2 * 3 * 1 * 4 * 5 };
    static const int64_t dims[RANK] = {2, 3, 1, 4, 5};
    double x[N];
    for (int i = 0; i < N; i++)
        x[i] = i * i;
    for (unsigned set = 1; set < 64; set++) {
        double expected[N] = {0};
        char shape[32] = "";
        int64_t axes[RANK];
        size_t n_axes = 0, n_out = 1;
        bool keep = set & 32;
        for (unsigned k = 0; k < RANK; k++) {
            bool reduced = set >> k & 1;
            if (reduced)
                axes[n_axes++] = k % 2 ? (int64_t)k - RANK : (int64_t)k;
            n_out *= reduced ? 1 : (size_t)dims[k];
            if (!reduced || keep)
                sprintf(shape + strlen(shape), "%s%d", *shape ? "x" : "",
                        reduced ? 1 : (int)dims[k]);
        }
        if (!n_axes)
            continue;
        for (int i = 0; i < N; i++) {
            int rest = i, at = 0, scale = 1;
            for (unsigned k = RANK; k-- > 0; rest /= (int)dims[k]) {
                if (set >> k & 1)
                    continue;
                at += rest % (int)dims[k] * scale;
                scale *= (int)dims[k];
            }
            expected[at] += x[i];
        }
        struct one_op *op = one_op_new("", "ReduceSum", 11);
        one_op_in(op, OX_FLOAT32, "2x3x1x4x5", x, N);
        one_op_ints(op, "axes", axes, n_axes);
        one_op_int(op, "keepdims", keep);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_FLOAT32, shape, 0, expected, n_out);
        one_op_free(op);
    }
}
END_TEST

START_TEST(no_axes_mean_all_unless_noop)
{
    for (int noop = 0; noop <= 1; noop++) {
        struct one_op *op = one_op_new("", "ReduceSumSquare", 18);
        ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 2, 3, 4);
        ONE_OP_IN_EMPTY(op, OX_INT64, "0");
        one_op_int(op, "noop_with_empty_axes", noop);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        if (noop)
            ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 1, 4, 9, 16);
        else
            ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 0, 30);
        one_op_free(op);
    }
}
END_TEST

START_TEST(nothing_reduces_to_the_neutral_element)
{
    static const struct {
        const char *name;
        enum ox_dtype dtype;
        double neutral;
    } cases[] = {{"ReduceSum", OX_FLOAT32, 0},
                 {"ReduceProd", OX_INT32, 1},
                 {"ReduceMax", OX_FLOAT32, -(double)INFINITY},
                 {"ReduceMin", OX_FLOAT16, (double)INFINITY},
                 {"ReduceMax", OX_INT8, -128},
                 {"ReduceMin", OX_UINT8, 255},
                 {"ReduceMax", OX_BOOL, 0},
                 {"ReduceMin", OX_BOOL, 1},
                 {"ReduceL1", OX_FLOAT64, 0},
                 {"ReduceL2", OX_FLOAT64, 0},
                 {"ReduceSumSquare", OX_UINT64, 0},
                 {"ReduceLogSum", OX_FLOAT32, -(double)INFINITY},
                 {"ReduceMean", OX_FLOAT32, (double)NAN},
                 {"ReduceLogSumExp", OX_FLOAT64, -(double)INFINITY}};
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        struct one_op *op = one_op_new("", cases[i].name, 20);
        ONE_OP_IN_EMPTY(op, cases[i].dtype, "2x0");
        ONE_OP_IN(op, OX_INT64, "1", 1);
        one_op_int(op, "keepdims", 0);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, cases[i].dtype, "2", 0, cases[i].neutral, cases[i].neutral);
        one_op_free(op);
    }
}
END_TEST

START_TEST(log_sum_exp_neither_overflows_nor_loses_infinities)
{
    struct one_op *op = one_op_new("", "ReduceLogSumExp", 13);
    ONE_OP_IN(op, OX_FLOAT32, "4x2", 1000, 1000, -inf, -inf, inf, -inf, nan_, inf);
    ONE_OP_INTS(op, "axes", 1);
    one_op_int(op, "keepdims", 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "4", 1e-6, 1000 + log(2), -inf, inf, nan_);
    one_op_free(op);
}
END_TEST

START_TEST(float_sums_keep_what_single_precision_loses)
{
    enum { N = 100000 };
    static double x[N];
    for (size_t i = 0; i < N; i++)
        x[i] = (double)0.1f;
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct one_op *op = one_op_new("", "ReduceSum", 11);
        ox_env_set_threads(one_op_env(op), threads);
        one_op_in(op, OX_FLOAT32, "100000", x, N);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, OX_FLOAT32, "1", 1e-7, (double)0.1f * N);
        one_op_free(op);
    }
}
END_TEST

/* Rows of 1 to 140 elements, which are worked out four side by side while they are short, as they are alone. */
START_TEST(short_rows_reduce_as_each_alone)
{
    static const char *const names[] = {"ReduceProd",   "ReduceL1",        "ReduceL2",
                                        "ReduceLogSum", "ReduceSumSquare", "ReduceLogSumExp",
                                        "ReduceMean",   "ReduceMax"};
    enum { ROWS = 7, MOST = 140 };
    double x[ROWS * MOST];
    const size_t n = (size_t)_i + 1;
    for (size_t i = 0; i < ROWS * n; i++)
        x[i] = 0.5 + (double)(i * 7 % 11) / 10;
    for (size_t k = 0; k < OX_COUNT(names); k++) {
        char shape[32];
        snprintf(shape, sizeof shape, "%dx%zu", ROWS, n);
        struct one_op *all = one_op_new("", names[k], 18);
        one_op_in(all, OX_FLOAT32, shape, x, ROWS * n);
        ONE_OP_IN(all, OX_INT64, "1", 1);
        ck_assert_msg(one_op_run(all, 1) == OX_OK, "%s", one_op_error(all));
        snprintf(shape, sizeof shape, "1x%zu", n);
        for (size_t row = 0; row < ROWS; row++) {
            struct one_op *op = one_op_new("", names[k], 18);
            one_op_in(op, OX_FLOAT32, shape, x + row * n, n);
            ONE_OP_IN(op, OX_INT64, "1", 1);
            ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
            const double alone = ox_tensor_get_double(one_op_out(op, 0), 0);
            ck_assert_double_eq(ox_tensor_get_double(one_op_out(all, 0), row), alone);
            one_op_free(op);
        }
        one_op_free(all);
    }
}
END_TEST

/* Rows of 1 to 200 elements that lie a block apart: each output takes in one of each block. */
START_TEST(first_and_last_axes_reduce_together)
{
    static const char *const names[] = {"ReduceSum", "ReduceMax", "ReduceMin"};
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_INT64, OX_UINT8};
    enum { BLOCKS = 3, ROWS = 7, MOST = 200 };
    static double x[BLOCKS * ROWS * MOST];
    const size_t n = (size_t)_i * 11 % MOST + 1;
    for (size_t i = 0; i < BLOCKS * ROWS * n; i++)
        x[i] = (double)(i * 7 % 101);
    for (size_t k = 0; k < OX_COUNT(names) * OX_COUNT(types); k++) {
        char shape[32];
        const size_t name = k % OX_COUNT(names);
        const enum ox_dtype type = types[k / OX_COUNT(names)];
        if (type == OX_UINT8 && name == 0)
            continue;
        snprintf(shape, sizeof shape, "%dx%dx%zu", BLOCKS, ROWS, n);
        struct one_op *op = one_op_new("", names[name], 20);
        one_op_in(op, type, shape, x, BLOCKS * ROWS * n);
        ONE_OP_IN(op, OX_INT64, "2", 0, 2);
        ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
        for (size_t row = 0; row < ROWS; row++) {
            double expected = name == 0 ? 0 : x[row * n];
            for (size_t i = 0; i < BLOCKS * n; i++) {
                const double v = x[(i / n * ROWS + row) * n + i % n];
                if (name == 0)
                    expected += v;
                else if (name == 1 ? v > expected : v < expected)
                    expected = v;
            }
            ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), row), expected);
        }
        one_op_free(op);
    }
}
END_TEST

/* A NaN at each place of a row of 56, which is a step of all parts and some left over: it is both greatest and least. */
START_TEST(nan_is_found_at_each_place_of_a_row)
{
    static const char *const names[] = {"ReduceMax", "ReduceMin", "ReduceSum"};
    enum { N = 56 };
    double x[N * N];
    for (size_t i = 0; i < N * N; i++)
        x[i] = i % (N + 1) == 0 ? (double)NAN : (double)(i % 7);
    for (size_t k = 0; k < OX_COUNT(names); k++) {
        struct one_op *op = one_op_new("", names[k], 18);
        one_op_in(op, OX_FLOAT32, "56x56", x, N * N);
        ONE_OP_IN(op, OX_INT64, "1", 1);
        ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
        for (size_t row = 0; row < N; row++)
            ck_assert_double_nan(ox_tensor_get_double(one_op_out(op, 0), row));
        one_op_free(op);
    }
}
END_TEST

START_TEST(an_axis_out_of_range_is_named)
{
    struct one_op *op = one_op_new("", "ReduceMean", 18);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "axis 2 is outside [-2, 1]"));
    one_op_free(op);
}
END_TEST

START_TEST(scalars_reduce_to_themselves)
{
    struct one_op *op = one_op_new("", "ReduceL1", 18);
    ONE_OP_IN(op, OX_FLOAT32, "", -3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "", 0, 3);
    one_op_free(op);
}
END_TEST

/* ---- ArgMax ------------------------------------------------------------------------------------------------------ */

static void check_arg(const char *name, int64_t axis, bool last, bool keep, const char *shape,
                      const double *expected, size_t n)
{
    struct one_op *op = one_op_new("", name, 13);
    ONE_OP_IN(op, OX_INT32, "2x3", 2, 9, 9, 2, 1, 7);
    one_op_int(op, "axis", axis);
    one_op_int(op, "select_last_index", last);
    one_op_int(op, "keepdims", keep);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect(op, 0, OX_INT64, shape, 0, expected, n);
    one_op_free(op);
}

START_TEST(arg_max_and_min_take_the_first_or_the_last)
{
    check_arg("ArgMax", 1, false, true, "2x1", (const double[]){1, 2}, 2);
    check_arg("ArgMax", -1, true, false, "2", (const double[]){2, 2}, 2);
    check_arg("ArgMin", 0, false, false, "3", (const double[]){0, 1, 1}, 3);
    check_arg("ArgMax", 0, true, true, "1x3", (const double[]){1, 0, 0}, 3);
}
END_TEST

START_TEST(arg_max_finds_nan)
{
    struct one_op *op = one_op_new("", "ArgMax", 13);
    ONE_OP_IN(op, OX_FLOAT32, "4", 1, nan_, inf, nan_);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT64, "1", 0, 1);
    one_op_free(op);
    op = one_op_new("", "ArgMin", 13);
    ONE_OP_IN(op, OX_FLOAT32, "3x2", nan_, 2, 1, 1, nan_, 1);
    one_op_int(op, "select_last_index", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT64, "1x2", 0, 2, 2);
    one_op_free(op);
}
END_TEST

/* More lanes than a task takes, the last of them few. */
START_TEST(arg_max_of_many_lanes)
{
    enum { N = 2500 };
    static double x[3 * N], places[N];
    for (size_t i = 0; i < 3 * N; i++)
        x[i] = (double)(i * 7919 % 101);
    for (size_t i = 0; i < N; i++) {
        places[i] = x[N + i] > x[i];
        if (x[2 * N + i] > (places[i] > 0 ? x[N + i] : x[i]))
            places[i] = 2;
    }
    struct one_op *op = one_op_new("", "ArgMax", 13);
    one_op_in(op, OX_FLOAT32, "3x2500", x, 3 * N);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    for (size_t i = 0; i < N; i++)
        ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), i), places[i]);
    one_op_free(op);
}
END_TEST

START_TEST(arg_max_of_nothing_is_an_error)
{
    struct one_op *op = one_op_new("", "ArgMax", 13);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x2");
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "axis 0"));
    one_op_free(op);
    op = one_op_new("", "ArgMax", 13);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x2");
    one_op_int(op, "axis", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_INT64, "0x1");
    one_op_free(op);
}
END_TEST

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

static void check_softmax(const char *name, int64_t opset, const double expected[8])
{
    struct one_op *op = one_op_new("", name, opset);
    ONE_OP_IN(op, OX_FLOAT64, "2x2x2", log(1), log(2), log(3), log(4), 0, 1000, 0, -1000);
    one_op_int(op, "axis", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect(op, 0, OX_FLOAT64, "2x2x2", 1e-13, expected, 8);
    one_op_free(op);
}

START_TEST(softmax_took_all_following_axes_before_13)
{
    check_softmax("Softmax", 11, (const double[]){.1, .2, .3, .4, 0, 1, 0, 0});
    check_softmax("Softmax", 13, (const double[]){.25, 2.0 / 6, .75, 4.0 / 6, .5, 1, .5, 0});
    check_softmax("Hardmax", 1, (const double[]){0, 0, 0, 1, 0, 1, 0, 0});
    check_softmax("Hardmax", 13, (const double[]){0, 0, 1, 1, 1, 1, 0, 0});
    check_softmax("LogSoftmax", 11,
                  (const double[]){log(.1), log(.2), log(.3), log(.4), -1000, 0, -1000, -2000});
    check_softmax("LogSoftmax", 13,
                  (const double[]){log(.25), log(2.0 / 6), log(.75), log(4.0 / 6), log(.5), 0,
                                   log(.5), -2000});
}
END_TEST

/* Against the steps of the standard, each rounded; rows of some stretches and columns. */
START_TEST(softmax_of_halves_rounds_each_step)
{
    const enum ox_dtype dtype = _i % 2 ? OX_FLOAT16 : OX_BFLOAT16;
    const bool rows = _i / 2 % 2;
    const size_t n = (const size_t[]){1, 5, 128, 300}[_i / 4];
    double x[300], e[300], most = -inf, sum = 0;
    char shape[32];
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)(i * 37 % 64) / 8 - 3;
        most = fmax(most, x[i]);
    }
    for (size_t i = 0; i < n; i++) {
        e[i] = x[i] - most;
        ox_real_round(dtype, &e[i], 1);
        e[i] = (double)expf((float)e[i]);
        ox_real_round(dtype, &e[i], 1);
        sum = (double)((float)sum + (float)e[i]);
    }
    ox_real_round(dtype, &sum, 1);
    snprintf(shape, sizeof shape, rows ? "2x%zu" : "1x%zux2", n);
    double in[600];
    for (size_t i = 0; i < n; i++)
        in[rows ? i : 2 * i] = in[rows ? n + i : 2 * i + 1] = x[i];
    struct one_op *op = one_op_new("", "Softmax", 13);
    one_op_in(op, dtype, shape, in, 2 * n);
    one_op_int(op, "axis", 1);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    for (size_t i = 0; i < 2 * n; i++) {
        double expected = (double)((float)e[rows ? i % n : i / 2] / (float)sum);
        ox_real_round(dtype, &expected, 1);
        ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), i), expected);
    }
    one_op_free(op);
}
END_TEST

/* ---- CumSum ------------------------------------------------------------------------------------------------------ */

START_TEST(cum_sum_in_all_four_ways)
{
    static const double expected[4][4] = {{1, 2, 4, 6}, {0, 0, 1, 2}, {4, 6, 3, 4}, {3, 4, 0, 0}};
    for (int way = 0; way < 4; way++) {
        struct one_op *op = one_op_new("", "CumSum", 14);
        ONE_OP_IN(op, OX_INT32, "2x2", 1, 2, 3, 4);
        ONE_OP_IN(op, OX_INT32, "", -2);
        one_op_int(op, "exclusive", way & 1);
        one_op_int(op, "reverse", way >> 1);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_INT32, "2x2", 0, expected[way], 4);
        one_op_free(op);
    }
}
END_TEST

/* More neighbours than a task takes, forwards and backwards. */
START_TEST(cum_sum_of_many_lanes)
{
    enum { OUTER = 2, STEPS = 19, LANES = 1103 };
    static double x[OUTER * STEPS * LANES], y[OUTER * STEPS * LANES];
    const bool reverse = _i & 1, exclusive = _i & 2;
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = (double)(i * 37 % 101) - 50;
    for (size_t i = 0; i < OX_COUNT(x); i++) {
        const size_t first = i / (STEPS * LANES) * STEPS * LANES + i % LANES;
        const size_t step = i / LANES % STEPS;
        y[i] = 0;
        for (size_t k = 0; k < STEPS; k++)
            if ((reverse ? k > step : k < step) || (k == step && !exclusive))
                y[i] += x[first + k * LANES];
    }
    struct one_op *op = one_op_new("", "CumSum", 14);
    one_op_in(op, OX_FLOAT32, "2x19x1103", x, OX_COUNT(x));
    ONE_OP_IN(op, OX_INT64, "", 1);
    one_op_int(op, "reverse", reverse);
    one_op_int(op, "exclusive", exclusive);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    for (size_t i = 0; i < OX_COUNT(x); i++)
        ck_assert_double_eq(ox_tensor_get_double(one_op_out(op, 0), i), y[i]);
    one_op_free(op);
}
END_TEST

START_TEST(cum_prod_multiplies)
{
    struct one_op *op = one_op_new("", "CumProd", 26);
    ONE_OP_IN(op, OX_FLOAT32, "3", 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "", 0);
    one_op_int(op, "reverse", 1);
    one_op_int(op, "exclusive", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3", 0, 12, 4, 1);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_reduce");
    TCase *tcase = tcase_create("reduce");
    tcase_add_test(tcase, reductions_follow_their_formulas);
    tcase_add_test(tcase, reductions_of_integers);
    tcase_add_test(tcase, every_set_of_axes);
    tcase_add_test(tcase, no_axes_mean_all_unless_noop);
    tcase_add_test(tcase, nothing_reduces_to_the_neutral_element);
    tcase_add_test(tcase, log_sum_exp_neither_overflows_nor_loses_infinities);
    tcase_add_test(tcase, float_sums_keep_what_single_precision_loses);
    tcase_add_loop_test(tcase, short_rows_reduce_as_each_alone, 0, 140);
    tcase_add_loop_test(tcase, first_and_last_axes_reduce_together, 0, 40);
    tcase_add_test(tcase, nan_is_found_at_each_place_of_a_row);
    tcase_add_test(tcase, an_axis_out_of_range_is_named);
    tcase_add_test(tcase, scalars_reduce_to_themselves);
    tcase_add_test(tcase, arg_max_and_min_take_the_first_or_the_last);
    tcase_add_test(tcase, arg_max_finds_nan);
    tcase_add_test(tcase, arg_max_of_many_lanes);
    tcase_add_test(tcase, arg_max_of_nothing_is_an_error);
    tcase_add_test(tcase, softmax_took_all_following_axes_before_13);
    tcase_add_loop_test(tcase, softmax_of_halves_rounds_each_step, 0, 16);
    tcase_add_test(tcase, cum_sum_in_all_four_ways);
    tcase_add_loop_test(tcase, cum_sum_of_many_lanes, 0, 4);
    tcase_add_test(tcase, cum_prod_multiplies);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
