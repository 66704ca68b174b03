/* Products with what stands around them, of weights of 8 bits too: the same graph at -O0 and -O2. */
#include <check.h>
#include <string.h>

#include "graph/pass.h"
#include "tests/check_fused.h"
#include "tests/run_suite.h"

START_TEST(gemm_with_factors_and_products_of_any_rank)
{
    check_fused("g (float[3,5] x) => (float[A,B] y) { "
                "a = Gemm <alpha = 0.5, beta = 2.0, transB = 1> (x, w0, w1) b = Tanh(a) "
                "c = MatMul(b, w2) d = Add(c, w3) y = Mul(d, w4) }",
                LIST("7,5", "7", "7,6", "6", "6"), DIMS(3, 5),
                WANT({"FusedMatMul", 2}, {"Mul", 0}));
    check_fused("g (float[2,3,5] x) => (float[A,B,C] y) { "
                "a = MatMul(x, w0) b = Add(w1, a) c = Gelu(b) d = MatMul(c, w2) y = Add(d, x) }",
                LIST("5,8", "8", "8,5"), DIMS(2, 3, 5), WANT({"FusedMatMul", 2}, {"Add", 0}));
}
END_TEST

/* One a row, one a column, and one an element. */
START_TEST(gemm_scales_a_third_operand_that_varies)
{
    check_fused("g (float[3,5] x) => (float[A,B] y) { k = Constant <value_ints = [1]> () "
                "c = ReduceMax (x, k) a = Gemm <alpha = 0.5, beta = 2.0, transB = 1> (x, x, c) "
                "r = Transpose (c) b = Gemm <beta = -0.25, transA = 1> (a, a, r) "
                "y = Gemm <alpha = 3.0, beta = 0.125> (b, b, a) }",
                LIST("1"), DIMS(3, 5), WANT({"Gemm", 3}));
}
END_TEST

/* As weights that are tied to an embedding are too large to be. */
START_TEST(products_by_a_transpose_that_is_not_folded)
{
    static const char model[] =
        HEAD "g (float[2,1,3] x) => (float[A,B,C] y) <float[4,3] w = {1,2,3, 4,5,6, 7,8,9, 0,1,0}> "
             "{ t = Transpose <perm = [1,0]> (w) y = MatMul(x, t) }";
    static const float x[] = {1, 0, 2, -1, 1, 0}, want[] = {7, 16, 25, 0, 1, 1, 1, 1};
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true, .fold_bytes = 1};
    const struct ox_run_options options = {.level = 0};
    struct text_run f;
    text_open(&f, model);
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    ck_assert_uint_eq(f.model->graph->n_nodes, 1);
    ck_assert_uint_eq(count_own(f.model, "FusedMatMul"), 1);
    ck_assert_int_eq(text_plan(&f, &options), OX_OK);
    text_give(&f, OX_FLOAT32, 3, (const int64_t[]){2, 1, 3}, x);
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    ck_assert_uint_eq(y->n, 8);
    ck_assert_mem_eq(y->data, want, sizeof want);
    text_close(&f);
}
END_TEST

static size_t nodes_with_float8(bool repeats)
{
    static const char model[] =
        "<ir_version: 9, opset_import: [\"\" : 19]> g (float[2,2] x) => (float[2,2] y) "
        "<float[2,2] f = {1, 2, 3, 4}, float s = {0.5}> "
        "{ w = Cast <to = 17> (f) d = DequantizeLinear(w, s) y = MatMul(x, d) }";
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true, .repeats = repeats};
    struct text_run f;
    text_open(&f, model);
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    size_t n = f.model->graph->n_nodes;
    text_close(&f);
    return n;
}

START_TEST(float8_weights_are_widened_once_where_runs_repeat)
{
    ck_assert_uint_eq(nodes_with_float8(false), 2);
    ck_assert_uint_eq(nodes_with_float8(true), 1);
}
END_TEST

static size_t nodes_with_cast_weights(bool repeats)
{
    struct ox_strbuf text;
    const struct ox_rewrite_plan plan = {
        .level = 2, .to_run = true, .repeats = repeats, .fold_bytes = 20000};
    struct text_run f;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD "g (float[2,128] x) => (float[A,B] y) <float[256] s = {1");
    for (int i = 1; i < 256; i++)
        ox_strbuf_printf(&text, ",%d", i % 9);
    ox_strbuf_puts(&text, "}, int8[128,256] w = {1");
    for (int i = 1; i < 128 * 256; i++)
        ox_strbuf_printf(&text, ",%d", i % 99 - 50);
    ox_strbuf_puts(&text, "}> { c = Cast <to = 1> (w) d = Mul(c, s) y = MatMul(x, d) }");
    ck_assert(!text.failed);
    text_open(&f, ox_strbuf_text(&text, NULL));
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    size_t n = f.model->graph->n_nodes;
    text_close(&f);
    ox_strbuf_release(&text);
    return n;
}

START_TEST(weights_that_are_cast_from_8_bits_are_so_once_where_runs_repeat)
{
    ck_assert_uint_eq(nodes_with_cast_weights(false), 3);
    ck_assert_uint_eq(nodes_with_cast_weights(true), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused: products");
    TCase *all = tcase_create("all");
    tcase_add_test(all, gemm_with_factors_and_products_of_any_rank);
    tcase_add_test(all, gemm_scales_a_third_operand_that_varies);
    tcase_add_test(all, products_by_a_transpose_that_is_not_folded);
    tcase_add_test(all, float8_weights_are_widened_once_where_runs_repeat);
    tcase_add_test(all, weights_that_are_cast_from_8_bits_are_so_once_where_runs_repeat);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
