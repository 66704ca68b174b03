/* Operators that change a shape, cut, join, repeat and rearrange. */
#include <stdint.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"

static struct one_op *reshape(int64_t opset, const char *shape, const double *values, size_t n,
                              const double *target, size_t n_target)
{
    struct one_op *op = one_op_new("", "Reshape", opset);
    char length[8];

    snprintf(length, sizeof length, "%zu", n_target);
    one_op_in(op, OX_FLOAT32, shape, values, n);
    one_op_in(op, OX_INT64, length, target, n_target);
    return op;
}

static const double six[] = {1, 2, 3, 4, 5, 6};

START_TEST(reshape_copies_and_completes)
{
    struct one_op *op = reshape(13, "2x3", six, 6, (const double[]){0, -1, 1}, 3);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x3x1", 0, 1, 2, 3, 4, 5, 6);
    one_op_free(op);
    op = reshape(13, "1", six, 1, NULL, 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "", 0, 1);
    one_op_free(op);
}
END_TEST

START_TEST(reshape_1_takes_an_attribute)
{
    struct one_op *op = one_op_new("", "Reshape", 1);

    ONE_OP_IN(op, OX_FLOAT32, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_INTS(op, "shape", 3, -1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3x2", 0, 1, 2, 3, 4, 5, 6);
    one_op_free(op);
}
END_TEST

START_TEST(reshape_with_allowzero_takes_0_as_it_is)
{
    struct one_op *op = reshape(14, "0x3", NULL, 0, (const double[]){3, 0}, 2);

    one_op_int(op, "allowzero", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "3x0");
    one_op_free(op);
    op = reshape(14, "0x3", NULL, 0, (const double[]){0, -1}, 2);
    one_op_int(op, "allowzero", 1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "both 0 and -1");
}
END_TEST

START_TEST(reshape_refuses_what_does_not_fit)
{
    RUN_FAILS_AS(reshape(13, "2x3", six, 6, (const double[]){-1, 4}, 2), 1, OX_INPUT, "6 elements");
    RUN_FAILS_AS(reshape(13, "2x3", six, 6, (const double[]){-1, -1}, 2), 1, OX_INPUT,
                 "-1 at 0 and at 1");
    RUN_FAILS_AS(reshape(13, "2x3", six, 6, (const double[]){-2, 3}, 2), 1, OX_INPUT,
                 "shape[0] is -2");
    RUN_FAILS_AS(reshape(13, "2x3", six, 6, (const double[]){2, 3, 0}, 3), 1, OX_INPUT, "rank 2");
    RUN_FAILS_AS(reshape(13, "2x3", six, 6, (const double[]){7}, 1), 1, OX_INPUT, "shape of 7");
    RUN_FAILS_AS(reshape(13, "2x3", six, 6, (const double[]){4611686018427387904.0, 4}, 2), 1,
                 OX_INPUT, "too many");
}
END_TEST

START_TEST(shape_takes_a_range_of_axes)
{
    struct one_op *op = one_op_new("", "Shape", 15);

    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "2x0x4");
    one_op_int(op, "start", -2);
    one_op_int(op, "end", 9);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT64, "2", 0, 0, 4);
    one_op_free(op);
}
END_TEST

START_TEST(squeeze_drops_ones_or_what_is_named)
{
    struct one_op *op = one_op_new("", "Squeeze", 13);

    ONE_OP_IN(op, OX_FLOAT32, "1x3x1", 1, 2, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3", 0, 1, 2, 3);
    one_op_free(op);
    op = one_op_new("", "Squeeze", 11);
    ONE_OP_IN(op, OX_FLOAT32, "1x3x1", 1, 2, 3);
    ONE_OP_INTS(op, "axes", -1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x3", 0, 1, 2, 3);
    one_op_free(op);
    op = one_op_new("", "Squeeze", 13);
    ONE_OP_IN(op, OX_FLOAT32, "1x3x1", 1, 2, 3);
    ONE_OP_IN(op, OX_INT64, "1", 1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "has 3 elements");
}
END_TEST

START_TEST(unsqueeze_counts_by_the_output)
{
    struct one_op *op = one_op_new("", "Unsqueeze", 13);

    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_INT64, "2", -1, 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x1", 0, 1, 2);
    one_op_free(op);
    op = one_op_new("", "Unsqueeze", 13);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_INT64, "2", 1, -2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "given twice");
}
END_TEST

START_TEST(flatten_makes_a_matrix)
{
    struct one_op *op = one_op_new("", "Flatten", 11);

    ONE_OP_IN(op, OX_FLOAT32, "1x2x3", 1, 2, 3, 4, 5, 6);
    one_op_int(op, "axis", -1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x3", 0, 1, 2, 3, 4, 5, 6);
    one_op_free(op);
    op = one_op_new("", "Flatten", 9);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    one_op_int(op, "axis", -1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "axis -1");
}
END_TEST

/* Every element size, and strings: 6 elements 0 to 5 as [2, 3], transposed. */
START_TEST(transpose_moves_every_type)
{
    static const enum ox_dtype types[] = {OX_BOOL,       OX_UINT8,     OX_INT4,     OX_FLOAT4E2M1,
                                          OX_FLOAT8E5M2, OX_FLOAT16,   OX_BFLOAT16, OX_INT32,
                                          OX_FLOAT32,    OX_UINT64,    OX_FLOAT64,  OX_FLOAT8E4M3FN,
                                          OX_COMPLEX64,  OX_COMPLEX128};

    for (size_t i = 0; i < OX_COUNT(types); i++) {
        struct one_op *op = one_op_new("", "Transpose", 25);

        one_op_in(op, types[i], "2x3", (const double[]){0, 1, 1, 0, 1, 0}, 6);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, types[i], "3x2", 0, (const double[]){0, 0, 1, 1, 1, 0}, 6);
        one_op_free(op);
    }
    struct one_op *op = one_op_new("", "Transpose", 13);

    one_op_in_strings(op, "2x2", (const char *const[]){"a", "", "ccc", "dd"}, 4);
    ONE_OP_INTS(op, "perm", 1, 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect_strings(op, 0, "2x2", (const char *const[]){"a", "ccc", "", "dd"}, 4);
    one_op_free(op);
}
END_TEST

/* Blocks of the transposition are smaller than this. */
START_TEST(transpose_of_many_elements)
{
    enum { A = 3, B = 70, C = 45 };
    static double in[A * B * C], out[A * B * C];

    for (int a = 0; a < A; a++) {
        for (int b = 0; b < B; b++) {
            for (int c = 0; c < C; c++) {
                in[(a * B + b) * C + c] = (a * B + b) * C + c;
                out[(c * A + a) * B + b] = (a * B + b) * C + c;
            }
        }
    }
    struct one_op *op = one_op_new("", "Transpose", 13);

    one_op_in(op, OX_FLOAT32, "3x70x45", in, A * B * C);
    ONE_OP_INTS(op, "perm", 2, 0, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect(op, 0, OX_FLOAT32, "45x3x70", 0, out, A * B * C);
    one_op_free(op);
}
END_TEST

START_TEST(transpose_refuses_what_is_no_permutation)
{
    struct one_op *op = one_op_new("", "Transpose", 13);

    ONE_OP_IN(op, OX_FLOAT32, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_INTS(op, "perm", 1, 1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "perm[1] is 1");
    op = one_op_new("", "Transpose", 13);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_INTS(op, "perm", INT64_MIN);
    RUN_FAILS_AS(op, 1, OX_INPUT, "no permutation");
}
END_TEST

START_TEST(concat_joins_and_checks)
{
    struct one_op *op = one_op_new("", "Concat", 1); /* axis 1 by default */

    ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 2);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "2x0");
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 3, 4, 5, 6);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x3", 0, 1, 3, 4, 2, 5, 6);
    one_op_free(op);
    op = one_op_new("", "Concat", 13);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 3);
    one_op_int(op, "axis", 1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "dimension 0 of input 1 is 1");
}
END_TEST

START_TEST(split_by_lengths_and_by_number)
{
    struct one_op *op = one_op_new("", "Split", 13);

    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    ONE_OP_IN(op, OX_INT64, "3", 1, 0, 4);
    ck_assert_int_eq(one_op_run(op, 3), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "1", 0, 1);
    ONE_OP_OUT_EMPTY(op, 1, OX_INT32, "0");
    ONE_OP_OUT(op, 2, OX_INT32, "4", 0, 2, 3, 4, 5);
    one_op_free(op);
    op = one_op_new("", "Split", 18);
    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    one_op_int(op, "num_outputs", 2);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3", 0, 1, 2, 3);
    ONE_OP_OUT(op, 1, OX_INT32, "2", 0, 4, 5);
    one_op_free(op);
    op = one_op_new("", "Split", 2);
    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    ONE_OP_INTS(op, "split", 2, 3);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    ONE_OP_OUT(op, 1, OX_INT32, "3", 0, 3, 4, 5);
    one_op_free(op);
}
END_TEST

START_TEST(split_1_takes_lengths_of_the_datas_type)
{
    struct one_op *op = one_op_new("", "Split", 1);

    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 2, 3);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "2", 0, 2, 3);
    one_op_free(op);
}
END_TEST

START_TEST(split_refuses_wrong_sums)
{
    struct one_op *op = one_op_new("", "Split", 13);

    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    ONE_OP_IN(op, OX_INT64, "2", 6, -1);
    RUN_FAILS_AS(op, 2, OX_INPUT, "split[1] is -1");
    op = one_op_new("", "Split", 13);
    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    ONE_OP_IN(op, OX_INT64, "2", 9223372036854774784.0, 9223372036854774784.0);
    RUN_FAILS_AS(op, 2, OX_INPUT, "split[1]");
    op = one_op_new("", "Split", 13);
    ONE_OP_IN(op, OX_INT32, "5", 1, 2, 3, 4, 5);
    RUN_FAILS_AS(op, 2, OX_INPUT, "equal parts");
}
END_TEST

static struct one_op *slice(double start, double end, double step)
{
    struct one_op *op = one_op_new("", "Slice", 13);

    ONE_OP_IN(op, OX_INT32, "5", 0, 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "1", start);
    ONE_OP_IN(op, OX_INT64, "1", end);
    ONE_OP_IN(op, OX_INT64, "1", 0);
    ONE_OP_IN(op, OX_INT64, "1", step);
    return op;
}

START_TEST(slice_clamps_and_steps)
{
    const double far = 9223372036854774784.0; /* the largest that both types hold */
    struct one_op *op = slice(-3, far, 1);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3", 0, 2, 3, 4);
    one_op_free(op);
    op = slice(far, -far, -2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3", 0, 4, 2, 0);
    one_op_free(op);
    op = slice(4, -9223372036854775808.0, -9223372036854775808.0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "1", 0, 4);
    one_op_free(op);
    op = slice(3, 1, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_INT32, "0");
    one_op_free(op);
    RUN_FAILS_AS(slice(0, 5, 0), 1, OX_INPUT, "steps[0] is 0");
}
END_TEST

START_TEST(slice_1_takes_attributes)
{
    struct one_op *op = one_op_new("", "Slice", 1);

    ONE_OP_IN(op, OX_INT32, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_INTS(op, "starts", 1, -2);
    ONE_OP_INTS(op, "ends", 1000, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "1x2", 0, 5, 6);
    one_op_free(op);
}
END_TEST

START_TEST(expand_broadcasts_both_ways)
{
    struct one_op *op = one_op_new("", "Expand", 13);

    ONE_OP_IN(op, OX_INT32, "3x1", 1, 2, 3);
    ONE_OP_IN(op, OX_INT64, "3", 2, 1, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x3x2", 0, 1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3);
    one_op_free(op);
    op = one_op_new("", "Expand", 13);
    ONE_OP_IN(op, OX_INT32, "3", 1, 2, 3);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "shape[0] is 2");
    op = one_op_new("", "Expand", 13);
    ONE_OP_IN(op, OX_INT32, "1", 1);
    ONE_OP_IN(op, OX_INT64, "3", 1048576, 1048576, 1048576);
    RUN_FAILS_AS(op, 1, OX_LIMIT, "memory");
}
END_TEST

START_TEST(tile_repeats)
{
    struct one_op *op = one_op_new("", "Tile", 6);

    ONE_OP_IN(op, OX_INT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_INT64, "2", 2, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x4", 0, 1, 2, 1, 2, 1, 2, 1, 2);
    one_op_free(op);
    op = one_op_new("", "Tile", 6); /* of several axes, three times the last */
    ONE_OP_IN(op, OX_INT32, "1x2x1x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "4", 2, 1, 2, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x2x2x6", 0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4,
               3, 4, 3, 4, 3, 4, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 3, 4, 3, 4,
               3, 4);
    one_op_free(op);
    op = one_op_new("", "Tile", 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "", 2);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 1, 1, 2, 2);
    one_op_free(op);
    op = one_op_new("", "Tile", 6);
    ONE_OP_IN(op, OX_INT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_INT64, "2", 2, -1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "repeats[1] is -1");
}
END_TEST

START_TEST(depth_and_space_trade_places)
{
    struct one_op *op = one_op_new("", "DepthToSpace", 13);

    ONE_OP_IN(op, OX_INT32, "1x4x1x1", 1, 2, 3, 4);
    one_op_int(op, "blocksize", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "1x1x2x2", 0, 1, 2, 3, 4);
    one_op_free(op);
    op = one_op_new("", "SpaceToDepth", 13);
    ONE_OP_IN(op, OX_INT32, "1x1x2x3", 1, 2, 3, 4, 5, 6);
    one_op_int(op, "blocksize", 2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "width 3");
    op = one_op_new("", "DepthToSpace", 13);
    ONE_OP_IN(op, OX_INT32, "1x4x1x1", 1, 2, 3, 4);
    one_op_int(op, "blocksize", INT64_MAX);
    RUN_FAILS_AS(op, 1, OX_INPUT, "blocksize is");
}
END_TEST

static struct one_op *pad(const char *mode, double before, double after)
{
    struct one_op *op = one_op_new("", "Pad", 19);

    ONE_OP_IN(op, OX_INT32, "3", 1, 2, 3);
    ONE_OP_IN(op, OX_INT64, "2", before, after);
    one_op_string(op, "mode", mode);
    return op;
}

START_TEST(pad_in_all_modes)
{
    struct one_op *op = pad("constant", 1, -1);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "3", 0, 0, 1, 2);
    one_op_free(op);
    op = pad("reflect", 5, 1); /* wider than the input: it keeps bouncing */
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "9", 0, 2, 1, 2, 3, 2, 1, 2, 3, 2);
    one_op_free(op);
    op = pad("edge", -1, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "4", 0, 2, 3, 3, 3);
    one_op_free(op);
    op = pad("wrap", 4, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "9", 0, 3, 1, 2, 3, 1, 2, 3, 1, 2);
    one_op_free(op);
}
END_TEST

/* Short rows, and long ones. */
START_TEST(trilu_of_rows_of_any_length)
{
    static const size_t widths[] = {3, 200};
    enum { ROWS = 10, MATRIX = 5 };
    static double x[ROWS * 200], want[ROWS * 200];
    for (size_t n = 0; n < 4 * OX_COUNT(widths); n++) {
        const size_t width = widths[n / 4];
        const int upper = n & 1, k = n & 2 ? 1 : -2;
        char shape[32];
        for (size_t i = 0; i < ROWS * width; i++) {
            const int row = (int)(i / width % MATRIX), column = (int)(i % width);
            x[i] = (double)(i % 100 + 1);
            want[i] = (upper ? column >= row + k : column <= row + k) ? x[i] : 0;
        }
        snprintf(shape, sizeof shape, "2x5x%zu", width);
        struct one_op *op = one_op_new("", "Trilu", 14);
        one_op_in(op, OX_INT16, shape, x, ROWS * width);
        ONE_OP_IN(op, OX_INT64, "", k);
        one_op_int(op, "upper", upper);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_INT16, shape, 0, want, ROWS * width);
        one_op_free(op);
    }
}
END_TEST

START_TEST(pad_of_two_axes_crops_one_and_widens_the_other)
{
    struct one_op *op = one_op_new("", "Pad", 19);
    ONE_OP_IN(op, OX_UINT8, "2x4", 1, 2, 3, 4, 5, 6, 7, 8);
    ONE_OP_IN(op, OX_INT64, "4", 1, -1, 1, 2);
    one_op_string(op, "mode", "reflect");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_UINT8, "4x5", 0, 6, 7, 8, 7, 6, 2, 3, 4, 3, 2, 6, 7, 8, 7, 6, 2, 3, 4, 3,
               2);
    one_op_free(op);
    op = one_op_new("", "Pad", 19);
    ONE_OP_IN(op, OX_FLOAT16, "2x3", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_INT64, "4", 0, 2, 1, -2);
    one_op_string(op, "mode", "wrap");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "3x3", 0, 1, 1, 1, 4, 4, 4, 1, 1, 1);
    one_op_free(op);
}
END_TEST

START_TEST(pad_refuses_what_leaves_nothing)
{
    struct one_op *op = one_op_new("", "Pad", 13);

    RUN_FAILS_AS(pad("constant", -2, -2), 1, OX_INPUT, "axis 0 of 3");
    RUN_FAILS_AS(pad("reflect", -3, 3), 1, OX_INPUT, "no elements to pad with");
    RUN_FAILS_AS(pad("constant", 9223372036854774784.0, 9223372036854774784.0), 1, OX_INPUT,
                 "pads");
    RUN_FAILS_AS(pad("constant", -9223372036854775808.0, 9223372036854774784.0), 1, OX_INPUT,
                 "pads");
    ONE_OP_IN_EMPTY(op, OX_INT32, "0");
    ONE_OP_IN(op, OX_INT64, "2", 1, 0);
    one_op_string(op, "mode", "edge");
    RUN_FAILS_AS(op, 1, OX_INPUT, "no elements to pad with");
}
END_TEST

START_TEST(pad_1_has_its_own_attributes)
{
    struct one_op *op = one_op_new("", "Pad", 1);

    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_INTS(op, "paddings", 0, 1, 1, 0);
    one_op_float(op, "value", 9);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x3", 0, 9, 1, 2, 9, 9, 9);
    one_op_free(op);
}
END_TEST

START_TEST(center_crop_pad_does_both)
{
    struct one_op *op = one_op_new("", "CenterCropPad", 18);

    ONE_OP_IN(op, OX_INT32, "1x4", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "2", 2, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "2x1", 0, 2, 0);
    one_op_free(op);
    op = one_op_new("", "CenterCropPad", 18);
    ONE_OP_IN(op, OX_INT32, "1x4", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "2", 2, -1);
    RUN_FAILS_AS(op, 1, OX_INPUT, "shape[1] is -1");
}
END_TEST

/* Many planes of few elements, of every size of elements. */
START_TEST(transposes_of_few_elements_go_side_by_side)
{
    enum { PLANES = 20, ROWS = 3, COLS = 5, ELEMENT_MOST = 16 };
    static const enum ox_dtype types[] = {OX_UINT8, OX_INT16, OX_INT32, OX_INT64, OX_COMPLEX128};
    static uint8_t data[PLANES * ROWS * COLS * ELEMENT_MOST];
    const size_t size = ox_dtype_size(types[_i]), plane = (size_t)ROWS * COLS * size;
    struct one_op *op = one_op_new("", "Transpose", 13);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7919 % 251);
    one_op_in_data(op, types[_i], "20x3x5", data, PLANES * plane);
    one_op_ints(op, "perm", (const int64_t[]){0, 2, 1}, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    const uint8_t *y = one_op_out(op, 0)->data;
    for (size_t i = 0; i < PLANES * ROWS * COLS; i++) {
        const size_t row = i / COLS % ROWS, col = i % COLS;
        ck_assert_mem_eq(y + i / (ROWS * COLS) * plane + (col * ROWS + row) * size, data + i * size,
                         size);
    }
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_shape");
    TCase *tests = tcase_create("shape");

    tcase_add_test(tests, reshape_copies_and_completes);
    tcase_add_test(tests, reshape_1_takes_an_attribute);
    tcase_add_test(tests, reshape_with_allowzero_takes_0_as_it_is);
    tcase_add_test(tests, reshape_refuses_what_does_not_fit);
    tcase_add_test(tests, shape_takes_a_range_of_axes);
    tcase_add_test(tests, squeeze_drops_ones_or_what_is_named);
    tcase_add_test(tests, unsqueeze_counts_by_the_output);
    tcase_add_test(tests, flatten_makes_a_matrix);
    tcase_add_test(tests, transpose_moves_every_type);
    tcase_add_test(tests, transpose_of_many_elements);
    tcase_add_test(tests, transpose_refuses_what_is_no_permutation);
    tcase_add_test(tests, concat_joins_and_checks);
    tcase_add_test(tests, split_by_lengths_and_by_number);
    tcase_add_test(tests, split_1_takes_lengths_of_the_datas_type);
    tcase_add_test(tests, split_refuses_wrong_sums);
    tcase_add_test(tests, slice_clamps_and_steps);
    tcase_add_test(tests, slice_1_takes_attributes);
    tcase_add_test(tests, expand_broadcasts_both_ways);
    tcase_add_test(tests, tile_repeats);
    tcase_add_test(tests, depth_and_space_trade_places);
    tcase_add_test(tests, pad_in_all_modes);
    tcase_add_test(tests, trilu_of_rows_of_any_length);
    tcase_add_test(tests, pad_of_two_axes_crops_one_and_widens_the_other);
    tcase_add_test(tests, pad_refuses_what_leaves_nothing);
    tcase_add_test(tests, pad_1_has_its_own_attributes);
    tcase_add_test(tests, center_crop_pad_does_both);
    tcase_add_loop_test(tests, transposes_of_few_elements_go_side_by_side, 0, 5);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
