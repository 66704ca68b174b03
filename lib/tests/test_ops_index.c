/* Operators that index by values: each value is checked. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

static const double nan_ = (double)NAN, far = 9223372036854774784.0, near = -9223372036854775808.0;

static struct one_op *gather(const char *name, const char *shape, double index)
{
    struct one_op *op = one_op_new("", name, 13);

    ONE_OP_IN(op, OX_INT32, "4", 10, 11, 12, 13);
    ONE_OP_IN(op, OX_INT64, shape, index);
    return op;
}

START_TEST(many_indices_of_32_bits_are_widened)
{
    enum { N = 603 };
    double x[N], places[N], turned[N];
    for (int i = 0; i < N; i++) {
        x[i] = i;
        places[i] = i % 2 ? -1 - i : N - 1 - i;
        turned[i] = N - 1 - i;
    }
    struct one_op *op = one_op_new("", "GatherElements", 13);
    one_op_in(op, OX_INT16, "603", x, N);
    one_op_in(op, OX_INT32, "603", places, N);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect(op, 0, OX_INT16, "603", 0, turned, N);
    one_op_free(op);
}
END_TEST

START_TEST(gathers_check_each_index)
{
    static const char *const names[] = {"Gather", "GatherElements", "GatherND"};

    for (size_t i = 0; i < OX_COUNT(names); i++) {
        struct one_op *op = gather(names[i], "1", -4);

        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ck_assert_int_eq(ox_tensor_get_int(one_op_out(op, 0), 0), 10);
        one_op_free(op);
        RUN_FAILS_AS(gather(names[i], "1", 4), 1, OX_INPUT, "indices[0] is 4, outside [-4, 3]");
        RUN_FAILS_AS(gather(names[i], "1", -5), 1, OX_INPUT, "indices[0] is -5");
        RUN_FAILS_AS(gather(names[i], "1", far), 1, OX_INPUT, "indices[0]");
        RUN_FAILS_AS(gather(names[i], "1", near), 1, OX_INPUT, "indices[0]");
    }
}
END_TEST

START_TEST(gather_of_a_scalar_index_drops_the_axis)
{
    struct one_op *op = gather("Gather", "", 2);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "", 0, 12);
    one_op_free(op);
    op = one_op_new("", "Gather", 13);
    ONE_OP_IN(op, OX_INT32, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_INT32, "2x1", 2, 0);
    one_op_int(op, "axis", -1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x2x1", 0, 3, 1, 6, 4);
    one_op_free(op);
}
END_TEST

START_TEST(gather_of_nothing)
{
    struct one_op *op = one_op_new("", "Gather", 13);

    ONE_OP_IN_EMPTY(op, OX_INT32, "0x3");
    ONE_OP_IN_EMPTY(op, OX_INT64, "0");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_INT32, "0x3");
    one_op_free(op);
    op = one_op_new("", "Gather", 13);
    ONE_OP_IN_EMPTY(op, OX_INT32, "0x3");
    ONE_OP_IN(op, OX_INT64, "1", 0);
    RUN_FAILS_AS(op, 1, OX_INPUT, "indices[0] is 0");
}
END_TEST

START_TEST(gather_nd_takes_batches)
{
    struct one_op *op = one_op_new("", "GatherND", 12);

    ONE_OP_IN(op, OX_INT32, "2x2x2", 0, 1, 2, 3, 4, 5, 6, 7);
    ONE_OP_IN(op, OX_INT64, "2x1", 1, 0);
    one_op_int(op, "batch_dims", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x2", 0, 2, 3, 4, 5);
    one_op_free(op);
    op = one_op_new("", "GatherND", 12);
    ONE_OP_IN(op, OX_INT32, "2x2", 0, 1, 2, 3);
    ONE_OP_IN(op, OX_INT64, "1x3", 0, 0, 0);
    RUN_FAILS_AS(op, 1, OX_INPUT, "indices of 3 elements");
}
END_TEST

static struct one_op *scatter(const char *name, const char *shape, double index,
                              const char *updates)
{
    struct one_op *op = one_op_new("", name, 18);

    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 2, 3);
    ONE_OP_IN(op, OX_INT64, shape, index);
    ONE_OP_IN(op, OX_FLOAT32, updates, 9);
    return op;
}

START_TEST(scatters_check_each_index)
{
    for (int nd = 0; nd < 2; nd++) {
        const char *name = nd ? "ScatterND" : "ScatterElements", *shape = nd ? "1x1" : "1";
        struct one_op *op = scatter(name, shape, -1, "1");

        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, OX_FLOAT32, "3", 0, 1, 2, 9);
        one_op_free(op);
        RUN_FAILS_AS(scatter(name, shape, 3, "1"), 1, OX_INPUT, "indices[0] is 3, outside [-3, 2]");
        RUN_FAILS_AS(scatter(name, shape, near, "1"), 1, OX_INPUT, "indices[0]");
        RUN_FAILS_AS(scatter(name, shape, far, "1"), 1, OX_INPUT, "indices[0]");
        RUN_FAILS_AS(scatter(name, shape, 0, "1x1"), 1, OX_INPUT, "rank");
    }
}
END_TEST

/* Blocks of 1 and of 40 elements: a NaN stays, whoever brings it. */
START_TEST(scatters_of_the_greatest_and_least_keep_nan)
{
    static const size_t blocks[] = {1, 40};
    for (size_t k = 0; k < 2 * OX_COUNT(blocks); k++) {
        const size_t n = blocks[k / 2];
        double x[40], new[40], want[40];
        char shape[32];
        for (size_t i = 0; i < n; i++) {
            x[i] = i % 5 == 3 ? nan_ : (double)(i % 3);
            new[i] = i % 7 == 0 ? nan_ : 1;
            want[i] = k % 2 ? (x[i] < new[i] ? x[i] : new[i]) : x[i] > new[i] ? x[i] : new[i];
            want[i] = isnan(x[i]) ? x[i] : want[i];
        }
        struct one_op *op = one_op_new("", "ScatterND", 18);
        snprintf(shape, sizeof shape, "1x%zu", n);
        one_op_in(op, OX_FLOAT32, shape, x, n);
        ONE_OP_IN(op, OX_INT64, "1x1", 0);
        one_op_in(op, OX_FLOAT32, shape, new, n);
        one_op_string(op, "reduction", k % 2 ? "min" : "max");
        ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
        one_op_expect(op, 0, OX_FLOAT32, shape, 0, want, n);
        one_op_free(op);
    }
}
END_TEST

static struct one_op *reduce(enum ox_dtype dtype, const char *reduction, double a, double b,
                             double c)
{
    struct one_op *op = one_op_new("", "ScatterElements", 18);

    ONE_OP_IN(op, dtype, "1", a);
    ONE_OP_IN(op, OX_INT64, "2", 0, 0);
    ONE_OP_IN(op, dtype, "2", b, c);
    one_op_string(op, "reduction", reduction);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    return op;
}

START_TEST(scatter_reduces_by_type)
{
    struct one_op *op = reduce(OX_INT8, "add", 100, 20, 30);

    ONE_OP_OUT(op, 0, OX_INT8, "1", 0, -106); /* wraps */
    one_op_free(op);
    op = reduce(OX_FLOAT32, "max", 1, nan_, 5);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1", 0, nan_);
    one_op_free(op);
    op = reduce(OX_UINT64, "min", 7, 3, 5);
    ONE_OP_OUT(op, 0, OX_UINT64, "1", 0, 3);
    one_op_free(op);
    op = reduce(OX_BOOL, "mul", 1, 1, 0);
    ONE_OP_OUT(op, 0, OX_BOOL, "1", 0, 0);
    one_op_free(op);
    op = one_op_new("", "ScatterElements", 18);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    ONE_OP_IN(op, OX_INT64, "1", 0);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    one_op_string(op, "reduction", "mean");
    RUN_FAILS_AS(op, 1, OX_INPUT, "'mean'");
}
END_TEST

static struct one_op *add_along_rows(double last)
{
    struct one_op *op = one_op_new("", "ScatterElements", 18);

    ONE_OP_IN(op, OX_INT32, "2x3x2", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    ONE_OP_IN(op, OX_INT64, "2x2x2", 2, 2, 2, 2, -3, -3, 1, last);
    ONE_OP_IN(op, OX_INT32, "2x2x2", 10, 20, 30, 40, 50, 60, 70, 80);
    one_op_int(op, "axis", 1);
    one_op_string(op, "reduction", "add");
    return op;
}

START_TEST(scatter_adds_rows_of_one_index)
{
    struct one_op *op = add_along_rows(1);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x3x2", 0, 0, 1, 2, 3, 44, 65, 56, 67, 78, 89, 10, 11);
    one_op_free(op);
    op = add_along_rows(2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x3x2", 0, 0, 1, 2, 3, 44, 65, 56, 67, 78, 9, 10, 91);
    one_op_free(op);
    RUN_FAILS_AS(add_along_rows(3), 1, OX_INPUT, "indices[7] is 3");
    op = one_op_new("", "ScatterElements", 18);
    ONE_OP_IN(op, OX_INT32, "2x3", 0, 1, 2, 3, 4, 5);
    ONE_OP_IN(op, OX_INT64, "2x2", 1, 1, 0, 0); /* narrower than the data */
    ONE_OP_IN(op, OX_INT32, "2x2", 10, 20, 30, 40);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x3", 0, 30, 40, 2, 10, 20, 5);
    one_op_free(op);
    op = one_op_new("", "ScatterElements", 18);
    ONE_OP_IN(op, OX_INT32, "2x2", 0, 1, 2, 3);
    ONE_OP_IN(op, OX_INT64, "2x2", 1, 1, -3, -3);
    ONE_OP_IN(op, OX_INT32, "2x2", 10, 20, 30, 40);
    RUN_FAILS_AS(op, 1, OX_INPUT, "indices[2] is -3");
}
END_TEST

/* More elements than places are found for at a time, along each axis; rows of the indices shorter than those of the data. */
START_TEST(scatter_of_many_elements_along_each_axis)
{
    enum { A = 9, B = 11, C = 13, LESS = 12, N = A * B * C, M = A * B * LESS };
    static double data[N], index[M], updates[M], want[N];

    for (int64_t axis = 0; axis < 3; axis++) {
        for (int adds = 0; adds < 2; adds++) {
            struct one_op *op = one_op_new("", "ScatterElements", 18);
            const int64_t extent = axis == 0 ? A : axis == 1 ? B : C;

            for (int64_t i = 0; i < N; i++)
                want[i] = data[i] = (double)(i % 50);
            for (int64_t i = 0; i < M; i++) {
                int64_t at[3] = {i / LESS / B, i / LESS % B, i % LESS};

                at[axis] = (at[axis] * 2 + 1 + i % 3) % extent;
                index[i] = (double)(i % 2 ? at[axis] : at[axis] - extent);
                updates[i] = (double)(i + 100);
                double *to = &want[(at[0] * B + at[1]) * C + at[2]];
                *to = updates[i] + (adds ? *to : 0);
            }
            one_op_in(op, OX_FLOAT32, "9x11x13", data, N);
            one_op_in(op, OX_INT64, "9x11x12", index, M);
            one_op_in(op, OX_FLOAT32, "9x11x12", updates, M);
            one_op_int(op, "axis", axis);
            one_op_string(op, "reduction", adds ? "add" : "none");
            ck_assert_int_eq(one_op_run(op, 1), OX_OK);
            one_op_expect(op, 0, OX_FLOAT32, "9x11x13", 0, want, N);
            one_op_free(op);
            index[M - 1] = 99;
            op = one_op_new("", "ScatterElements", 18);
            one_op_in(op, OX_FLOAT32, "9x11x13", data, N);
            one_op_in(op, OX_INT64, "9x11x12", index, M);
            one_op_in(op, OX_FLOAT32, "9x11x12", updates, M);
            one_op_int(op, "axis", axis);
            RUN_FAILS_AS(op, 1, OX_INPUT, "indices[1187] is 99");
        }
    }
}
END_TEST

/* More than are looked at together, along each axis; one that is outside is named wherever it is. */
START_TEST(gather_elements_of_many_along_each_axis)
{
    enum { A = 9, B = 11, C = 29, N = A * B * C };
    static double data[N], index[N], want[N];

    for (int64_t axis = 0; axis < 3; axis++) {
        const int64_t extent = axis == 0 ? A : axis == 1 ? B : C;

        for (int64_t i = 0; i < N; i++)
            data[i] = (double)(i % 199);
        for (int64_t i = 0; i < N; i++) {
            int64_t at[3] = {i / C / B, i / C % B, i % C};

            at[axis] = (at[axis] * 2 + i % 5) % extent;
            index[i] = (double)(i % 3 ? at[axis] : at[axis] - extent);
            want[i] = data[(at[0] * B + at[1]) * C + at[2]];
        }
        for (size_t k = 0; k < 3; k++) {
            const enum ox_dtype dtype = (enum ox_dtype[]){OX_UINT8, OX_FLOAT32, OX_FLOAT64}[k];
            struct one_op *op = one_op_new("", "GatherElements", 13);

            one_op_in(op, dtype, "9x11x29", data, N);
            one_op_in(op, OX_INT64, "9x11x29", index, N);
            one_op_int(op, "axis", axis);
            ck_assert_int_eq(one_op_run(op, 1), OX_OK);
            one_op_expect(op, 0, dtype, "9x11x29", 0, want, N);
            one_op_free(op);
        }
        for (int64_t i = 0; i < C; i += 4) {
            const double before = index[C + i];
            char message[64];
            struct one_op *op = one_op_new("", "GatherElements", 13);

            snprintf(message, sizeof message, "indices[%d] is %d", (int)(C + i), (int)extent);
            index[C + i] = (double)extent;
            one_op_in(op, OX_FLOAT32, "9x11x29", data, N);
            one_op_in(op, OX_INT64, "9x11x29", index, N);
            one_op_int(op, "axis", axis);
            RUN_FAILS_AS(op, 1, OX_INPUT, message);
            index[C + i] = before;
        }
    }
}
END_TEST

/* Rows that are written again and again, of less than is copied at a time and of more. */
START_TEST(expand_repeats_rows)
{
    enum { TIMES = 37, ROWS = 3, MOST = 1100 };
    static const int64_t lengths[] = {2, 5, 100, 513, MOST};
    static double data[ROWS * MOST], want[ROWS * TIMES * MOST];

    for (size_t k = 0; k < OX_COUNT(lengths); k++) {
        const int64_t n = lengths[k];
        struct one_op *op = one_op_new("", "Expand", 13);
        char from[32], to[32];

        for (int64_t i = 0; i < ROWS * n; i++)
            data[i] = (double)(i % 251);
        for (int64_t i = 0; i < ROWS * TIMES * n; i++)
            want[i] = data[i / n / TIMES * n + i % n];
        snprintf(from, sizeof from, "3x1x%d", (int)n);
        snprintf(to, sizeof to, "3x37x%d", (int)n);
        one_op_in(op, OX_INT64, from, data, (size_t)(ROWS * n));
        ONE_OP_IN(op, OX_INT64, "3", ROWS, TIMES, (double)n);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_INT64, to, 0, want, (size_t)(ROWS * TIMES * n));
        one_op_free(op);
    }
}
END_TEST

START_TEST(tensor_scatter_writes_a_cache)
{
    struct one_op *op = one_op_new("", "TensorScatter", 24);

    ONE_OP_IN(op, OX_INT32, "1x3x1", 1, 2, 3);
    ONE_OP_IN(op, OX_INT32, "1x2x1", 8, 9);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    one_op_string(op, "mode", "circular");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "1x3x1", 0, 9, 2, 8);
    one_op_free(op);
    op = one_op_new("", "TensorScatter", 24);
    ONE_OP_IN(op, OX_INT32, "1x3x1", 1, 2, 3);
    ONE_OP_IN(op, OX_INT32, "1x2x1", 8, 9);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "write_indices[0] is 2");
}
END_TEST

static struct one_op *one_hot(int64_t opset, enum ox_dtype dtype, double depth)
{
    struct one_op *op = one_op_new("", "OneHot", opset);

    ONE_OP_IN(op, dtype, "3", 1, -1, 5);
    ONE_OP_IN(op, OX_FLOAT32, "", depth);
    ONE_OP_IN(op, OX_INT32, "2", 0, 7);
    return op;
}

START_TEST(one_hot_wraps_since_opset_11)
{
    struct one_op *op = one_hot(9, OX_INT64, 3);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3x3", 0, 0, 7, 0, 0, 0, 0, 0, 0, 0);
    one_op_free(op);
    op = one_hot(11, OX_FLOAT32, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3x3", 0, 0, 7, 0, 0, 0, 7, 0, 0, 0);
    one_op_free(op);
    RUN_FAILS_AS(one_hot(11, OX_INT64, -1), 1, OX_INPUT, "depth is -1");
    RUN_FAILS_AS(one_hot(11, OX_INT64, nan_), 1, OX_INPUT, "depth is");
    RUN_FAILS_AS(one_hot(11, OX_INT64, 1e15), 1, OX_LIMIT, "memory");
}
END_TEST

START_TEST(compress_and_its_condition)
{
    struct one_op *op = one_op_new("", "Compress", 11);

    ONE_OP_IN(op, OX_INT32, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_BOOL, "3", 0, 1, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2", 0, 2, 3);
    one_op_free(op);
    op = one_op_new("", "Compress", 11);
    ONE_OP_IN(op, OX_INT32, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_BOOL, "3", 0, 1, 1);
    one_op_int(op, "axis", 1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "condition");
}
END_TEST

START_TEST(reverse_sequence_checks_lengths)
{
    struct one_op *op = one_op_new("", "ReverseSequence", 10);

    ONE_OP_IN(op, OX_INT32, "3x2", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_INT64, "2", 3, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3x2", 0, 5, 4, 3, 2, 1, 6);
    one_op_free(op);
    op = one_op_new("", "ReverseSequence", 10);
    ONE_OP_IN(op, OX_INT32, "3x2", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_INT64, "2", 3, 4);
    RUN_FAILS_AS(op, 1, OX_INPUT, "sequence_lens[1] is 4");
}
END_TEST

static struct one_op *topk(double k)
{
    struct one_op *op = one_op_new("", "TopK", 11);

    ONE_OP_IN(op, OX_FLOAT32, "2x4", 3, 1, 3, nan_, 2, 9, 4, 4);
    ONE_OP_IN(op, OX_INT64, "1", k);
    return op;
}

START_TEST(topk_orders_ties_and_nan)
{
    struct one_op *op = topk(3);

    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x3", 0, nan_, 3, 3, 9, 4, 4);
    ONE_OP_OUT(op, 1, OX_INT64, "2x3", 0, 3, 0, 2, 1, 2, 3);
    one_op_free(op);
    op = topk(0);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "2x0");
    one_op_free(op);
    RUN_FAILS_AS(topk(5), 2, OX_INPUT, "k is 5, outside [0, 4]");
    RUN_FAILS_AS(topk(-1), 2, OX_INPUT, "k is -1");
    op = one_op_new("", "TopK", 1);
    ONE_OP_IN(op, OX_FLOAT32, "3x1", 1, 3, 2);
    one_op_int(op, "k", 2);
    one_op_int(op, "axis", 0);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    ONE_OP_OUT(op, 1, OX_INT64, "2x1", 0, 1, 2);
    one_op_free(op);
}
END_TEST

/* Each is what the plain rule selects: by value, NaN greatest, of equals (0 and -0 are) the lower index. */
static void check_order(const double *x, size_t n, size_t k, bool largest,
                        const struct ox_tensor *places, size_t first, size_t step)
{
    for (size_t j = 0; j < k; j++) {
        const size_t at = (size_t)ox_tensor_get_double(places, first + j * step);
        size_t before = 0;
        ck_assert_uint_lt(at, n);
        for (size_t i = 0; i < n; i++) {
            const bool less = x[i] < x[at] || (isnan(x[at]) && !isnan(x[i]));
            const bool more = x[i] > x[at] || (isnan(x[i]) && !isnan(x[at]));
            before += largest ? more : less;
            before += !less && !more && i < at;
        }
        ck_assert_uint_eq(before, j);
    }
}

/* Numbers that keys do not tell apart by their upper halves alone: of one binade, next to each other, far from each other. */
START_TEST(topk_of_close_and_far_numbers)
{
    enum { N = 600, COLUMNS = 19 };
    static const enum ox_dtype types[] = {OX_FLOAT64, OX_FLOAT32, OX_INT64,  OX_INT32,
                                          OX_UINT32,  OX_INT8,    OX_UINT64, OX_INT16};
    static const double steps[] = {1, 0x1p-40, 0x1p30, 0x1p-52};
    static double x[N * COLUMNS], column[N];
    const enum ox_dtype type = types[_i % 8];
    const double step = steps[_i / 8 % 4];
    const bool floats = type == OX_FLOAT32 || type == OX_FLOAT64, largest = _i / 32;
    const size_t k = _i % 3 ? 60 : 9;
    if (!floats && (step < 1 || (step > 1 && ox_dtype_size(type) < 8)))
        return;
    for (size_t i = 0; i < N * COLUMNS; i++) {
        const double places = (double)(i * 7919 % 120);
        x[i] = (type == OX_FLOAT32 ? 0 : 1) + places * step;
        if (type == OX_INT64 && i / COLUMNS == N - 5 && i % 2) /* far from those looked at first */
            x[i] += largest ? 0x1p40 : -0x1p40;
    }
    struct one_op *op = one_op_new("", "TopK", 11);
    one_op_in(op, type, "600x19", x, N * COLUMNS);
    ONE_OP_IN(op, OX_INT64, "1", (double)k);
    one_op_int(op, "axis", 0);
    one_op_int(op, "largest", largest);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    for (size_t c = 0; c < COLUMNS; c++) {
        for (size_t i = 0; i < N; i++)
            column[i] = x[i * COLUMNS + c];
        check_order(column, N, k, largest, one_op_out(op, 1), c, COLUMNS);
        for (size_t j = c; j < k * COLUMNS; j += COLUMNS)
            ck_assert(ox_tensor_get_double(one_op_out(op, 0), j) ==
                      column[(size_t)ox_tensor_get_double(one_op_out(op, 1), j)]);
    }
    one_op_free(op);
}
END_TEST

START_TEST(topk_of_any_size)
{
    static const size_t sizes[] = {1, 15, 40, 130, 700}, counts[] = {1, 2, 5, 24, 25, 39, 300, 700};
    static const double special[] = {NAN, INFINITY, -INFINITY, 0, -0.0, (double)1e-45f};
    static double x[700];
    const enum ox_dtype dtype = _i % 2 ? OX_FLOAT32 : OX_FLOAT64;
    const bool largest = _i / 2 % 2;
    const int rising = _i / 4; /* each goes before those before it */
    for (size_t s = 0; s < OX_COUNT(sizes); s++) {
        const size_t n = sizes[s];
        for (size_t i = 0; i < n; i++)
            x[i] = rising       ? (largest ? (double)i : -(double)i)
                   : i % 7 == 6 ? special[i / 7 % OX_COUNT(special)]
                                : (double)(i * 37 % 101) - 50;
        for (size_t c = 0; c < OX_COUNT(counts) && counts[c] <= n; c++) {
            char shape[32];
            struct one_op *op = one_op_new("", "TopK", 11);
            snprintf(shape, sizeof shape, "%zu", n);
            one_op_in(op, dtype, shape, x, n);
            ONE_OP_IN(op, OX_INT64, "1", (double)counts[c]);
            one_op_int(op, "largest", largest);
            ck_assert_int_eq(one_op_run(op, 2), OX_OK);
            check_order(x, n, counts[c], largest, one_op_out(op, 1), 0, 1);
            one_op_free(op);
        }
    }
}
END_TEST

/* Groups in order, each with its first element, all of its elements and how many they are; NaN is one, as are zeros. */
START_TEST(unique_of_many)
{
    enum { N = 1500 };
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_INT64,   OX_INT64,   OX_UINT8,
                                          OX_INT16,   OX_FLOAT64, OX_FLOAT64, OX_INT32};
    static const double special[] = {NAN, INFINITY, -INFINITY, 0, -0.0};
    static double x[N];
    const enum ox_dtype type = types[_i];
    for (size_t i = 0; i < N; i++) {
        const double any = (double)(i * 7919 % 97);
        const double many = (double)(i * 7919 % 1200);
        x[i] = _i == 5              ? (i % 9 ? any : -0.0)
               : _i == 6            ? 1 + many * 0x1p-40 /* the same upper halves */
               : _i == 7            ? many - 600
               : type == OX_FLOAT32 ? (i % 7 == 6 ? special[i / 7 % 5] : any / 4 - 9)
               : type == OX_UINT8   ? any
                                    : (any - 50) * (_i == 2 ? 0x1p40 : 1);
    }
    struct one_op *op = one_op_new("", "Unique", 11);
    one_op_in(op, type, "1500", x, N);
    ck_assert_int_eq(one_op_run(op, 4), OX_OK);
    const struct ox_tensor *y = one_op_out(op, 0), *first = one_op_out(op, 1);
    const struct ox_tensor *of = one_op_out(op, 2), *count = one_op_out(op, 3);
    size_t counts[N] = {0};
    for (size_t g = 1; g < y->n; g++) {
        const double before = ox_tensor_get_double(y, g - 1), value = ox_tensor_get_double(y, g);
        ck_assert(before < value || (isnan(value) && !isnan(before)));
    }
    for (size_t i = 0; i < N; i++) {
        const size_t g = (size_t)ox_tensor_get_double(of, i);
        ck_assert_uint_lt(g, y->n);
        const double value = ox_tensor_get_double(y, g);
        ck_assert(value == x[i] || (isnan(value) && isnan(x[i])));
        if (counts[g]++ == 0)
            ck_assert(ox_tensor_get_double(first, g) == (double)i);
    }
    for (size_t g = 0; g < y->n; g++)
        ck_assert(ox_tensor_get_double(count, g) == (double)counts[g]);
    one_op_free(op);
}
END_TEST

START_TEST(unique_by_element_and_by_slice)
{
    struct one_op *op = one_op_new("", "Unique", 11);

    ONE_OP_IN(op, OX_FLOAT32, "6", 2, 1, 1, 3, 4, 3);
    one_op_int(op, "sorted", 0);
    ck_assert_int_eq(one_op_run(op, 4), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "4", 0, 2, 1, 3, 4);
    ONE_OP_OUT(op, 1, OX_INT64, "4", 0, 0, 1, 3, 4);
    ONE_OP_OUT(op, 2, OX_INT64, "6", 0, 0, 1, 1, 2, 3, 2);
    ONE_OP_OUT(op, 3, OX_INT64, "4", 0, 1, 2, 2, 1);
    one_op_free(op);
    op = one_op_new("", "Unique", 11);
    ONE_OP_IN(op, OX_INT64, "2x3", 5, 1, 5, 6, 0, 6);
    one_op_int(op, "axis", -1);
    ck_assert_int_eq(one_op_run(op, 4), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT64, "2x2", 0, 1, 5, 0, 6);
    ONE_OP_OUT(op, 2, OX_INT64, "3", 0, 1, 0, 1);
    one_op_free(op);
    op = one_op_new("", "Unique", 11);
    one_op_in_strings(op, "3", (const char *const[]){"b", "a", "b"}, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect_strings(op, 0, "2", (const char *const[]){"a", "b"}, 2);
    one_op_free(op);
    op = one_op_new("", "Unique", 11);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "2x0");
    one_op_int(op, "axis", 0);
    ck_assert_int_eq(one_op_run(op, 4), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "1x0");
    one_op_free(op);
}
END_TEST

START_TEST(nonzero_of_any_rank)
{
    struct one_op *op = one_op_new("", "NonZero", 13);

    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 0, nan_, -0.0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT64, "2x2", 0, 0, 1, 0, 0);
    one_op_free(op);
    op = one_op_new("", "NonZero", 13);
    ONE_OP_IN(op, OX_INT32, "", 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_INT64, "0x1");
    one_op_free(op);
}
END_TEST

/* Lines of _i + 1 elements, most of which are zeros where _i is odd. */
START_TEST(nonzero_of_lines_of_any_length)
{
    enum { LINES = 6, MOST = 40 };
    const int64_t n = _i + 1, dims[] = {2, LINES / 2, n};
    int32_t x[LINES * MOST];
    int64_t want[3][LINES * MOST];
    size_t count = 0;
    struct text_run run;
    struct dice d = {(uint64_t)_i};
    for (int64_t i = 0; i < LINES * n; i++) {
        x[i] = dice_between(&d, 0, _i % 2 ? 20 : 1) == 1;
        want[0][count] = i / n / dims[1];
        want[1][count] = i / n % dims[1];
        want[2][count] = i % n;
        count += x[i] != 0;
    }
    text_must_plan(
        &run,
        "<ir_version: 9, opset_import: [\"\" : 18]> g (int32[A,B,C] x) => (int64[3,N] y) "
        "{ y = NonZero (x) }",
        &(struct ox_run_options){.level = 2});
    text_give(&run, OX_INT32, 3, dims, x);
    text_must_run(&run);
    const struct ox_tensor *y = ox_datum_get_tensor(run.out[0]);
    ck_assert_uint_eq(y->n, 3 * count);
    for (unsigned axis = 0; axis < 3 && count; axis++)
        ck_assert_mem_eq((const int64_t *)y->data + axis * count, want[axis],
                         count * sizeof(int64_t));
    text_close(&run);
}
END_TEST

static struct one_op *range(enum ox_dtype dtype, double start, double limit, double delta)
{
    struct one_op *op = one_op_new("", "Range", 11);

    ONE_OP_IN(op, dtype, "", start);
    ONE_OP_IN(op, dtype, "", limit);
    ONE_OP_IN(op, dtype, "", delta);
    return op;
}

START_TEST(range_counts_without_overflow)
{
    struct one_op *op = range(OX_INT64, near, far, 9223372036854774784.0);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ck_assert_uint_eq(one_op_out(op, 0)->n, 3);
    one_op_free(op);
    op = range(OX_INT32, 10, 4, -4);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2", 0, 10, 6);
    one_op_free(op);
    op = range(OX_FLOAT32, 0, -1, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "0");
    one_op_free(op);
    RUN_FAILS_AS(range(OX_INT64, 0, 1, 0), 1, OX_INPUT, "delta is 0");
    RUN_FAILS_AS(range(OX_FLOAT64, 0, 1, 0), 1, OX_INPUT, "delta is 0");
    RUN_FAILS_AS(range(OX_FLOAT32, 0, (double)INFINITY, 1), 1, OX_INPUT, "elements");
    RUN_FAILS_AS(range(OX_FLOAT32, 0, nan_, 1), 1, OX_INPUT, "elements");
    RUN_FAILS_AS(range(OX_INT64, near, far, 1), 1, OX_INPUT, "elements");
    RUN_FAILS_AS(range(OX_INT64, 0, far, 1), 1, OX_LIMIT, "larger");
}
END_TEST

START_TEST(constant_of_shape_checks_sizes)
{
    struct one_op *op = one_op_new("", "ConstantOfShape", 9);

    ONE_OP_IN_EMPTY(op, OX_INT64, "0");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "", 0, 0);
    one_op_free(op);
    op = one_op_new("", "ConstantOfShape", 9);
    ONE_OP_IN(op, OX_INT64, "2", 2, -3);
    RUN_FAILS_AS(op, 1, OX_INPUT, "input[1] is -3");
    op = one_op_new("", "ConstantOfShape", 9);
    ONE_OP_IN(op, OX_INT64, "2", far, far);
    RUN_FAILS_AS(op, 1, OX_LIMIT, "");
}
END_TEST

START_TEST(eye_and_triangles)
{
    struct one_op *op = one_op_new("", "EyeLike", 9);

    ONE_OP_IN(op, OX_INT32, "2x3", 0, 0, 0, 0, 0, 0);
    one_op_int(op, "k", 1);
    one_op_int(op, "dtype", OX_FLOAT16);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "2x3", 0, 0, 1, 0, 0, 0, 1);
    one_op_free(op);
    op = one_op_new("", "EyeLike", 9);
    ONE_OP_IN(op, OX_INT32, "1x1", 0);
    one_op_int(op, "k", INT64_MIN);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "1x1", 0, 0);
    one_op_free(op);
    op = one_op_new("", "Trilu", 14);
    ONE_OP_IN(op, OX_INT32, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "", near);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x2", 0, 1, 2, 3, 4);
    one_op_free(op);
    op = one_op_new("", "Trilu", 14);
    ONE_OP_IN(op, OX_INT32, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "", far);
    one_op_int(op, "upper", 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x2", 0, 1, 2, 3, 4);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_index");
    TCase *tests = tcase_create("index");

    tcase_add_test(tests, scatters_of_the_greatest_and_least_keep_nan);
    tcase_add_test(tests, many_indices_of_32_bits_are_widened);
    tcase_add_test(tests, gathers_check_each_index);
    tcase_add_test(tests, gather_of_a_scalar_index_drops_the_axis);
    tcase_add_test(tests, gather_of_nothing);
    tcase_add_test(tests, gather_nd_takes_batches);
    tcase_add_test(tests, scatters_check_each_index);
    tcase_add_test(tests, scatter_reduces_by_type);
    tcase_add_test(tests, scatter_adds_rows_of_one_index);
    tcase_add_test(tests, scatter_of_many_elements_along_each_axis);
    tcase_add_test(tests, gather_elements_of_many_along_each_axis);
    tcase_add_test(tests, expand_repeats_rows);
    tcase_add_test(tests, tensor_scatter_writes_a_cache);
    tcase_add_test(tests, one_hot_wraps_since_opset_11);
    tcase_add_test(tests, compress_and_its_condition);
    tcase_add_test(tests, reverse_sequence_checks_lengths);
    tcase_add_test(tests, topk_orders_ties_and_nan);
    tcase_add_loop_test(tests, topk_of_any_size, 0, 8);
    tcase_add_loop_test(tests, topk_of_close_and_far_numbers, 0, 64);
    tcase_add_test(tests, unique_by_element_and_by_slice);
    tcase_add_loop_test(tests, unique_of_many, 0, 8);
    tcase_add_test(tests, nonzero_of_any_rank);
    tcase_add_loop_test(tests, nonzero_of_lines_of_any_length, 0, 40);
    tcase_add_test(tests, range_counts_without_overflow);
    tcase_add_test(tests, constant_of_shape_checks_sizes);
    tcase_add_test(tests, eye_and_triangles);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
