/* MatMul, Gemm, their quantized relatives, Einsum: what ONNX's suite does not show. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

START_TEST(matmul_of_integers_wraps)
{
    struct one_op *op = one_op_new("", "MatMul", 13);
    ONE_OP_IN(op, OX_INT32, "1x2", 2147483647, 2);
    ONE_OP_IN(op, OX_INT32, "2x1", 2, 3);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "1x1", 0, 4);
    one_op_free(op);
}
END_TEST

START_TEST(matmul_broadcasts_batches_and_takes_vectors)
{
    struct one_op *op = one_op_new("", "MatMul", 13);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x1x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 1, 1, 10, 100);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2x1x1", 0, 3, 210, 7, 430);
    one_op_free(op);
    op = one_op_new("", "MatMul", 13);
    ONE_OP_IN(op, OX_INT64, "2", 1, 2);
    ONE_OP_IN(op, OX_INT64, "2", 3, 4);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT64, "", 0, 11);
    one_op_free(op);
}
END_TEST

START_TEST(matmul_of_nothing_is_zero)
{
    struct one_op *op = one_op_new("", "MatMul", 13);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "2x0");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x3");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x3", 0, 0, 0, 0, 0, 0, 0);
    one_op_free(op);
}
END_TEST

START_TEST(matmul_names_sizes_that_do_not_fit)
{
    struct one_op *op = one_op_new("", "MatMul", 13);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "3x1", 1, 2, 3);
    RUN_FAILS(op, 1, "2 columns");
}
END_TEST

START_TEST(matmul_in_double_when_asked)
{
    struct one_op *op = one_op_new("", "MatMul", 13);
    one_op_set_oracle(op);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 16777216, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1", 0, 16777217);
    one_op_free(op);
}
END_TEST

static struct one_op *old_gemm(int64_t opset, bool broadcast)
{
    struct one_op *op = one_op_new("", "Gemm", opset);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2", 100, 200);
    if (broadcast)
        one_op_int(op, "broadcast", 1);
    return op;
}

START_TEST(gemm_before_7_broadcasts_only_when_told)
{
    struct one_op *op = old_gemm(_i, true);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 0, 107, 210);
    one_op_free(op);
    op = old_gemm(_i, false);
    RUN_FAILS(op, 1, "does not equal");
}
END_TEST

START_TEST(gemm_scales_and_transposes)
{
    struct one_op *op = one_op_new("", "Gemm", 13);
    ONE_OP_IN(op, OX_FLOAT64, "2x1", 1, 2);
    ONE_OP_IN(op, OX_FLOAT64, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT64, "", 10);
    one_op_int(op, "transA", 1);
    one_op_int(op, "transB", 1);
    one_op_float(op, "alpha", 0.5f);
    one_op_float(op, "beta", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x2", 0, 22.5, 25.5);
    one_op_free(op);
}
END_TEST

START_TEST(gemm_of_integers_is_exact)
{
    struct one_op *op = one_op_new("", "Gemm", 11);
    ONE_OP_IN(op, OX_INT64, "1x1", 3037000499);
    ONE_OP_IN(op, OX_INT64, "1x1", 3037000499);
    ONE_OP_IN(op, OX_INT64, "1", 1);
    RUN_OK(op, 1);
    ck_assert_int_eq(*(const int64_t *)one_op_out(op, 0)->data, 3037000499 * 3037000499 + 1);
    one_op_free(op);
}
END_TEST

START_TEST(matmul_integer_takes_zero_points_by_row_and_column)
{
    struct one_op *op = one_op_new("", "MatMulInteger", 10);
    ONE_OP_IN(op, OX_UINT8, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT8, "2x2", 1, 2, -3, 4);
    ONE_OP_IN(op, OX_UINT8, "2", 1, 3);
    ONE_OP_IN(op, OX_INT8, "2", 1, 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "2x2", 0, -4, 2, -4, 2);
    one_op_free(op);
}
END_TEST

START_TEST(qlinear_matmul_rounds_halves_to_even_and_saturates)
{
    struct one_op *op = one_op_new("", "QLinearMatMul", 10);
    ONE_OP_IN(op, OX_UINT8, "4x1", 1, 3, 5, 255);
    ONE_OP_IN(op, OX_FLOAT32, "", 0.5);
    ONE_OP_IN(op, OX_UINT8, "", 0);
    ONE_OP_IN(op, OX_UINT8, "1x1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    ONE_OP_IN(op, OX_UINT8, "", 0);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    ONE_OP_IN(op, OX_INT8, "", 10);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT8, "4x1", 0, 10, 12, 12, 127);
    one_op_free(op);
}
END_TEST

static struct one_op *einsum(const char *equation, enum ox_dtype dtype, const char *shape)
{
    struct one_op *op = one_op_new("", "Einsum", 12);
    one_op_string(op, "equation", equation);
    double values[24];
    size_t n = 1;
    for (const char *at = shape; *at; at++)
        n *= *at == 'x' ? 1 : (size_t)(*at - '0');
    for (size_t i = 0; i < n; i++)
        values[i] = (double)i;
    one_op_in(op, dtype, shape, values, n);
    return op;
}

START_TEST(einsum_diagonal_trace_and_order)
{
    struct one_op *op = einsum("ii->i", OX_INT8, "3x3");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT8, "3", 0, 0, 4, 8);
    one_op_free(op);
    op = einsum("ii", OX_FLOAT32, "3x3");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "", 0, 12);
    one_op_free(op);
    op = einsum("ijk->ki", OX_FLOAT32, "2x3x4"); /* turned sums */
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "4x2", 0, 12, 48, 15, 51, 18, 54, 21, 57);
    one_op_free(op);
    op = einsum("ijk->kj", OX_INT32, "2x3x4");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "4x3", 0, 12, 20, 28, 14, 22, 30, 16, 24, 32, 18, 26, 34);
    one_op_free(op);
    op = einsum("bii->b", OX_FLOAT64, "5x2x2");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "5", 0, 3, 11, 19, 27, 35);
    one_op_free(op);
    op = einsum("iji->j", OX_FLOAT32, "3x2x3");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 0, 0 + 7 + 14, 3 + 10 + 17);
    one_op_free(op);
    op = einsum("ba", OX_UINT16, "2x3");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_UINT16, "3x2", 0, 0, 3, 1, 4, 2, 5);
    one_op_free(op);
}
END_TEST

START_TEST(einsum_of_three_with_ellipsis)
{
    struct one_op *op = einsum("...i, ij, j -> ...", OX_FLOAT64, "2x2x2");
    ONE_OP_IN(op, OX_FLOAT64, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT64, "2", 1, 10);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2x2", 0, 43, 171, 299, 427);
    one_op_free(op);
}
END_TEST

START_TEST(einsum_integers_wrap_in_their_size)
{
    struct one_op *op = einsum("i,i->", OX_UINT8, "4");
    ONE_OP_IN(op, OX_UINT8, "4", 200, 200, 200, 200);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_UINT8, "", 0, 176);
    one_op_free(op);
}
END_TEST

START_TEST(einsum_names_what_is_wrong)
{
    RUN_FAILS(einsum("i->j", OX_FLOAT32, "2"), 1, "no input has");
    RUN_FAILS(einsum("ij->i", OX_FLOAT32, "2"), 1, "rank");
    RUN_FAILS(einsum("i,i->", OX_FLOAT32, "2"), 1, "terms");
    RUN_FAILS(einsum("i->ii", OX_FLOAT32, "2"), 1, "twice");
    RUN_FAILS(einsum("i1->i", OX_FLOAT32, "2"), 1, "letter");
    RUN_FAILS(einsum("i..->i", OX_FLOAT32, "2"), 1, "dots");
    RUN_FAILS(einsum("i-i", OX_FLOAT32, "2"), 1, "'>'");
    struct one_op *op = einsum("i,i->", OX_FLOAT32, "2");
    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 2, 3);
    RUN_FAILS(op, 1, "is 3");
}
END_TEST

START_TEST(einsum_of_nothing)
{
    struct one_op *op = one_op_new("", "Einsum", 12);
    one_op_string(op, "equation", "ij,jk->ik");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "1x0");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x2");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 0, 0, 0);
    one_op_free(op);
}
END_TEST

/* A few rows or columns are left over where a product is parted, elsewhere for each number of threads. Bits of _i: doubles; how the right
 * side lies; columns left over. */
START_TEST(products_of_any_number_of_threads_have_the_same_bits)
{
    const int64_t m = _i & 4 ? 17 : 131, n = _i & 4 ? 483 : 200, k = 300;
    const bool doubles = _i & 1, lines = _i & 2;
    const enum ox_dtype dtype = doubles ? OX_FLOAT64 : OX_FLOAT32;
    const int64_t right[] = {lines ? n : k, lines ? k : n};
    static double x[483 * 300];
    static float y[483 * 300];
    struct text_run runs[3];
    char text[256];
    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 18]> g (%s[M,K] a, %s[P,Q] b) => (%s[M,N] y) "
             "{ y = Gemm <transB = %d> (a, b) }",
             doubles ? "double" : "float", doubles ? "double" : "float",
             doubles ? "double" : "float", lines);
    for (size_t i = 0; i < OX_COUNT(x); i++) {
        x[i] = (double)(i * 7919 % 2011) / 2010 - 0.4;
        y[i] = (float)x[i];
    }
    for (unsigned i = 0; i < OX_COUNT(runs); i++) {
        text_open(&runs[i], text);
        ox_env_set_threads(runs[i].env, i + 1);
        ck_assert(text_plan(&runs[i], &(struct ox_run_options){.level = doubles ? 2 : 0}) == OX_OK);
        text_give(&runs[i], dtype, 2, (const int64_t[]){m, k}, doubles ? (void *)x : (void *)y);
        text_give(&runs[i], dtype, 2, right, doubles ? (void *)x : (void *)y);
        text_must_run(&runs[i]);
        const struct ox_tensor *one = ox_datum_get_tensor(runs[0].out[0]),
                               *out = ox_datum_get_tensor(runs[i].out[0]);
        ck_assert_uint_eq(out->n, (size_t)(m * n));
        ck_assert_mem_eq(out->data, one->data, out->n * ox_dtype_size(dtype));
    }
    for (unsigned i = 0; i < OX_COUNT(runs); i++)
        text_close(&runs[i]);
}
END_TEST

/* Products that are a column, or of vectors that are one: by what is added, _i % 4, and transA, _i / 4. */
START_TEST(gemm_of_columns_is_the_plain_one)
{
    static const char *const sizes[] = {"1", "M,1", "1,1", "M,N"};
    static float x[300 * 20], c[300 * 9], out[2][300 * 9];
    const int64_t m = 300, k = _i < 4 ? 20 : 1, n = _i < 4 ? 1 : 9;
    const int64_t added[][2] = {{1, 0}, {m, 1}, {1, 1}, {m, n}};
    char text[256];
    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 18]> g (float[P,Q] a, float[K,N] b, float[%s] "
             "c) => (float[M,N] y) { y = Gemm <transA = %d, alpha = 0.5, beta = 2.0> (a, b, c) }",
             sizes[_i % 4], _i / 4);
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = (float)(i * 7919 % 2011) / 2010 - 0.4f;
    for (size_t i = 0; i < OX_COUNT(c); i++)
        c[i] = (float)i;
    for (int level = 0; level <= 2; level += 2) {
        struct text_run run;
        text_must_plan(&run, text, &(struct ox_run_options){.level = level});
        text_give(&run, OX_FLOAT32, 2, _i < 4 ? (const int64_t[]){m, k} : (const int64_t[]){k, m},
                  x);
        text_give(&run, OX_FLOAT32, 2, (const int64_t[]){k, n}, x);
        text_give(&run, OX_FLOAT32, _i % 4 ? 2 : 1, added[_i % 4], c);
        text_must_run(&run);
        const struct ox_tensor *y = ox_datum_get_tensor(run.out[0]);
        ck_assert_uint_eq(y->n, (size_t)(m * n));
        memcpy(out[level / 2], y->data, y->n * sizeof(float));
        text_close(&run);
    }
    for (size_t i = 0; i < (size_t)(m * n); i++)
        ck_assert_msg(fabsf(out[0][i] - out[1][i]) <= 1e-6f * (1 + fabsf(out[0][i])),
                      "%zu: %g, not %g", i, out[1][i], out[0][i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("matmul");
    TCase *tc = tcase_create("matmul");
    tcase_add_test(tc, matmul_of_integers_wraps);
    tcase_add_test(tc, matmul_broadcasts_batches_and_takes_vectors);
    tcase_add_test(tc, matmul_of_nothing_is_zero);
    tcase_add_test(tc, matmul_names_sizes_that_do_not_fit);
    tcase_add_test(tc, matmul_in_double_when_asked);
    tcase_add_loop_test(tc, gemm_before_7_broadcasts_only_when_told, 1, 7);
    tcase_add_test(tc, gemm_scales_and_transposes);
    tcase_add_test(tc, gemm_of_integers_is_exact);
    tcase_add_test(tc, matmul_integer_takes_zero_points_by_row_and_column);
    tcase_add_test(tc, qlinear_matmul_rounds_halves_to_even_and_saturates);
    tcase_add_loop_test(tc, products_of_any_number_of_threads_have_the_same_bits, 0, 8);
    tcase_add_loop_test(tc, gemm_of_columns_is_the_plain_one, 0, 8);
    tcase_add_test(tc, einsum_diagonal_trace_and_order);
    tcase_add_test(tc, einsum_of_three_with_ellipsis);
    tcase_add_test(tc, einsum_integers_wrap_in_their_size);
    tcase_add_test(tc, einsum_names_what_is_wrong);
    tcase_add_test(tc, einsum_of_nothing);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
