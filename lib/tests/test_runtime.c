/* What a session takes, gives and remembers: values and ports, element types, seeds, memory. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "tensor/tensor.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"local\" : 1]> "

START_TEST(chain_runs)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[N] x) => (float[N] y) { a = Add(x, x) y = Mul(a, x) }", NULL);
    text_give_floats(&f, 2, (const float[]){3, 5});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, 18, 50);
    text_close(&f);
}
END_TEST

START_TEST(inputs_and_initializers_can_be_outputs_and_outputs_repeat)
{
    struct text_run f;
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (float[N] x, float[2] w, float[N] y, float[N] y)"
                        "<float[2] w = {7, 8}> { y = Neg(x) }",
                   NULL);
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, 3);
    TEXT_EXPECT(&f, 1, OX_FLOAT32, 7, 8);
    TEXT_EXPECT(&f, 2, OX_FLOAT32, -3);
    TEXT_EXPECT(&f, 3, OX_FLOAT32, -3);
    text_close(&f);
}
END_TEST

START_TEST(input_with_initializer_is_a_default_and_comes_last)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[1] w = {10}, float[1] x) => (float[1] y) { y = Sub(x, w) }",
                   NULL);
    ck_assert_uint_eq(ox_session_n_inputs(f.session), 2);
    ck_assert_str_eq(ox_session_input_name(f.session, 0), "x");
    ck_assert(ox_session_input_required(f.session, 0));
    ck_assert(!ox_session_input_required(f.session, 1));
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, -7);
    text_give_floats(&f, 1, (const float[]){1});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, 2);
    text_close(&f);
}
END_TEST

START_TEST(missing_input_is_named)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[2] x) => (float[2] y) { y = Neg(x) }", NULL);
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    text_expect_message(&f, "input 'x' (float32[2]) is not given");
    text_close(&f);
}
END_TEST

START_TEST(wrong_element_type_is_refused)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[2] x) => (float[2] y) { y = Neg(x) }", NULL);
    text_give(&f, OX_INT32, 1, (const int64_t[]){2}, (const int32_t[]){1, 2});
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    text_expect_message(&f, "input 'x' is int32[2], the model wants float32[2]");
    text_close(&f);
}
END_TEST

START_TEST(wrong_dimension_is_refused)
{
    struct text_run f;
    text_must_plan(&f, HEAD "g (float[2] x) => (float[2] y) { y = Neg(x) }", NULL);
    text_give_floats(&f, 3, (const float[]){1, 2, 3});
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    text_expect_message(&f, "float32[3]");
    text_close(&f);
}
END_TEST

/* Exporters' names lie: what they say is no reason not to run. */
static void runs_though(const char *text, int level, int64_t n, const char *warning)
{
    const float sums[2][3] = {{-11, -12, -13}, {-11, -22, -33}};
    const struct ox_run_options options = {.level = level};
    struct text_run f;
    text_must_plan(&f, text, &options);
    text_give_floats(&f, 3, (const float[]){1, 2, 3});
    text_give_floats(&f, n, (const float[]){10, 20, 30});
    for (int again = 0; again < 2; again++) {
        text_must_run(&f);
        TEXT_EXPECT(&f, 0, OX_FLOAT32, sums[n == 3][0], sums[n == 3][1], sums[n == 3][2]);
        const char *said = ox_session_warning(f.session);
        ck_assert_msg(warning ? said && strstr(said, warning) : !said, "%s", said ? said : "-");
    }
    text_close(&f);
}

START_TEST(a_name_with_two_sizes_is_a_warning)
{
    static const char name[] = HEAD "g (float[N] x, float[N] z) => (float[N] y) "
                                    "{ a = Add(x, z) y = Neg(a) }";
    static const char formula[] = HEAD "g (float[N] x, float[\"N-2\"] z) => (float[N] y) "
                                       "{ a = Add(x, z) y = Neg(a) }";
    for (int level = 0; level < 3; level++) {
        runs_though(name, level, 3, NULL);
        runs_though(name, level, 1, "'N' is 1 here and 3 in 'x'");
        runs_though(formula, level, 1, NULL);
        runs_though(formula, level, 3, "dimension 0 is 3, not 1");
    }
}
END_TEST

START_TEST(chosen_outputs_run_only_what_they_need)
{
    struct text_run f;
    const char *names[] = {"a"};
    struct ox_run_options options = {.outputs = names, .n_outputs = 1};
    text_must_plan(&f, HEAD "g (float[N] x) => (float[N] y) { a = Neg(x) y = NoSuchOperator(a) }",
                   &options);
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    ck_assert_str_eq(ox_session_output_name(f.session, 0), "a");
    TEXT_EXPECT(&f, 0, OX_FLOAT32, -3);
    text_close(&f);
}
END_TEST

START_TEST(unknown_chosen_output_is_named)
{
    struct text_run f;
    const char *names[] = {"nothing"};
    struct ox_run_options options = {.outputs = names, .n_outputs = 1};
    text_open(&f, HEAD "g (float[N] x) => (float[N] y) { y = Neg(x) }");
    ck_assert_int_eq(text_plan(&f, &options), OX_USAGE);
    text_expect_message(&f, "'nothing'");
    text_close(&f);
}
END_TEST

START_TEST(all_values_come_after_the_outputs)
{
    struct text_run f;
    struct ox_run_options options = {.all_values = true};
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (float[N] y) { a = Neg(x) b = Abs(a) y = Add(a, b) }",
                   &options);
    ck_assert_uint_eq(ox_session_n_outputs(f.session), 3);
    ck_assert_str_eq(ox_session_output_name(f.session, 0), "y");
    ck_assert_str_eq(ox_session_output_name(f.session, 2), "b");
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, 0);
    TEXT_EXPECT(&f, 1, OX_FLOAT32, -3);
    TEXT_EXPECT(&f, 2, OX_FLOAT32, 3);
    text_close(&f);
}
END_TEST

START_TEST(half_nodes_round_once)
{
    struct text_run f;
    text_must_plan(&f,
                   HEAD "g (float16[N] x) => (float16[1] y) {"
                        "y = ReduceSum <keepdims: int = 1> (x) }",
                   NULL);
    /* 2048 + 1 + 1 + 1 is 2051, a tie that goes to 2052; rounded at each step it would stay 2048. */
    text_give(&f, OX_FLOAT16, 1, (const int64_t[]){4},
              (const uint16_t[]){0x6800, 0x3C00, 0x3C00, 0x3C00});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT16, 2052);
    text_close(&f);
}
END_TEST

START_TEST(oracle_computes_in_double)
{
    struct text_run f;
    struct ox_run_options options = {.oracle = true};
    text_must_plan(
        &f,
        HEAD "g (float[N] x) => (float[N] y) <float[1] w = {1}> { a = Add(x, w) y = Sub(a, w) }",
        &options);
    text_give_floats(&f, 1, (const float[]){0x1p-40f});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT64, 0x1p-40);
    text_close(&f);
}
END_TEST

START_TEST(oracle_narrows_on_demand)
{
    struct text_run f;
    struct ox_run_options options = {.oracle = true, .narrow = true};
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (float[N] y, int64[1] s) { y = Neg(x) s = Shape(x) }",
                   &options);
    text_give_floats(&f, 1, (const float[]){3});
    text_must_run(&f);
    TEXT_EXPECT(&f, 0, OX_FLOAT32, -3);
    TEXT_EXPECT(&f, 1, OX_INT64, 1);
    text_close(&f);
}
END_TEST

static double draw(uint64_t seed, size_t output)
{
    struct text_run f;
    struct ox_run_options options = {.seed = seed};
    text_must_plan(&f,
                   HEAD
                   "g () => (float[1] a, float[1] b) { a = RandomUniform <shape: ints = [1]> () b "
                   "= RandomUniform "
                   "<shape: ints = [1]> () }",
                   &options);
    text_must_run(&f);
    double value = ox_tensor_get_double(ox_datum_get_tensor(f.out[output]), 0);
    text_close(&f);
    return value;
}

START_TEST(seed_decides_random_values_and_nodes_differ)
{
    ck_assert_double_eq(draw(1, 0), draw(1, 0));
    ck_assert_double_ne(draw(1, 0), draw(2, 0));
    ck_assert_double_ne(draw(1, 0), draw(1, 1));
}
END_TEST

START_TEST(long_chain_needs_memory_for_two_values)
{
    struct text_run f;
    enum { N = 1 << 16, STEPS = 50 };
    char text[8192];
    int at = sprintf(text, HEAD "g (float[N] x) => (float[N] y) { a0 = Neg(x) ");
    for (int i = 1; i < STEPS; i++)
        at += sprintf(text + at, "a%d = Neg(a%d) ", i, i - 1);
    sprintf(text + at, "y = Neg(a%d) }", STEPS - 1);
    text_must_plan(&f, text, NULL);
    float *values = calloc(N, sizeof *values);
    ck_assert_ptr_nonnull(values);
    text_give_floats(&f, N, values);
    text_must_run(&f);
    text_must_run(&f);
    struct ox_session_stats stats;
    ox_session_stats(f.session, &stats);
    ck_assert_uint_ge(stats.arena_bytes, 2 * N * sizeof(float));
    ck_assert_uint_le(stats.arena_bytes, 3 * N * sizeof(float) + 4096);
    ck_assert_uint_eq(stats.n_nodes, STEPS + 1);
    free(values);
    text_close(&f);
}
END_TEST

START_TEST(output_outlives_the_session)
{
    struct text_run f;
    enum { N = 1 << 16 };
    text_must_plan(&f, HEAD "g (float[N] x) => (float[N] y) { a = Neg(x) y = Neg(a) }", NULL);
    float *values = calloc(N, sizeof *values);
    ck_assert_ptr_nonnull(values);
    values[N - 1] = 7;
    text_give_floats(&f, N, values);
    text_must_run(&f);
    ox_session_release(f.session);
    f.session = NULL;
    ck_assert_double_eq(ox_tensor_get_double(ox_datum_get_tensor(f.out[0]), N - 1), 7);
    free(values);
    text_close(&f);
}
END_TEST

START_TEST(weights_packed_for_one_run_are_packed_again_for_the_next)
{
    struct text_run f;
    struct ox_run_options options = {.level = 2, .once = true};
    text_must_plan(&f,
                   HEAD "g (float[1,1,1,N] x) => (float[1,1,1,N] y) <float[1,1,1,3] w = {1, 2, 4}, "
                        "float[1,1,1,3] v = {0, 1, 1}> { a = Conv <pads: ints = [0,1,0,1]> (x, w) "
                        "y = Conv <pads: ints = [0,1,0,1]> (a, v) }",
                   &options);
    text_give(&f, OX_FLOAT32, 4, (const int64_t[]){1, 1, 1, 3}, (const float[]){1, 10, 100});
    for (unsigned run = 0; run < 2; run++) {
        text_must_run(&f);
        TEXT_EXPECT(&f, 0, OX_FLOAT32, 42 + 421, 421 + 210, 210);
    }
    text_close(&f);
}
END_TEST

/* What two runs of a model hold of weights. The model is two convolutions, over maps of two sizes, and two products in a row; `other` is
 * behind the names of the weights and biases of the second ones. */
static uint64_t weights_held(const char *other, float y[2])
{
    static const char format[] = HEAD
        "g (float[1,2,5,5] x) => (float[A,B] y) <float[2,2,3,3] w = %s, float[2,2,3,3] w2 = %s, "
        "float[2] b = {1, -2}, float[2] b2 = {1, -2}, float[2,2] m = {1, 2, 3, -4}, "
        "float[2,2] m2 = {1, 2, 3, -4}> { u = Identity (m%s) p = Conv (x, w, b) "
        "q = Conv (p, w%s, b%s) r = Flatten (q) k = MatMul (r, m) l = Add (k, b) "
        "n = MatMul (l, u) y = Add (n, b%s) }";
    const struct ox_run_options options = {.level = 2};
    struct ox_session_stats stats;
    struct text_run f;
    char list[256] = "{0", text[2048];
    float x[50];
    for (int i = 1; i < 36; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ", %d", i * 5 % 7 - 3);
    strcat(list, "}");
    snprintf(text, sizeof text, format, list, list, other, other, other, other);
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = (float)(i % 7) - 3;
    text_must_plan(&f, text, &options);
    text_give(&f, OX_FLOAT32, 4, (const int64_t[]){1, 2, 5, 5}, x);
    text_must_run(&f);
    text_must_run(&f);
    memcpy(y, ox_datum_get_tensor(f.out[0])->data, 2 * sizeof *y);
    ox_session_stats(f.session, &stats);
    text_close(&f);
    return stats.weights_bytes;
}

START_TEST(nodes_of_the_same_weights_hold_them_once)
{
    float shared[2], apart[2];
    const uint64_t once = weights_held("", shared), twice = weights_held("2", apart);
    ck_assert_mem_eq(shared, apart, sizeof shared);
    ck_assert_msg(4 * once <= 3 * twice, "%llu of %llu", (unsigned long long)once,
                  (unsigned long long)twice);
}
END_TEST

START_TEST(memory_limit_ends_a_run)
{
    struct text_run f;
    text_open(&f, HEAD "g (int64[1] n) => (float[Ky] y) { y = ConstantOfShape(n) }");
    ox_env_limits(f.env)->memory_bytes = 1 << 20;
    ck_assert_int_eq(text_plan(&f, NULL), OX_OK);
    text_give(&f, OX_INT64, 1, (const int64_t[]){1}, (const int64_t[]){1 << 28});
    enum ox_status status = text_run_once(&f);
    ck_assert_int_eq(ox_status_exit_code(status), 5);
    text_expect_message(&f, "ConstantOfShape '#0'");
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime");
    TCase *all = tcase_create("all");
    tcase_add_test(all, chain_runs);
    tcase_add_test(all, inputs_and_initializers_can_be_outputs_and_outputs_repeat);
    tcase_add_test(all, input_with_initializer_is_a_default_and_comes_last);
    tcase_add_test(all, missing_input_is_named);
    tcase_add_test(all, wrong_element_type_is_refused);
    tcase_add_test(all, wrong_dimension_is_refused);
    tcase_add_test(all, a_name_with_two_sizes_is_a_warning);
    tcase_add_test(all, chosen_outputs_run_only_what_they_need);
    tcase_add_test(all, unknown_chosen_output_is_named);
    tcase_add_test(all, all_values_come_after_the_outputs);
    tcase_add_test(all, half_nodes_round_once);
    tcase_add_test(all, oracle_computes_in_double);
    tcase_add_test(all, oracle_narrows_on_demand);
    tcase_add_test(all, seed_decides_random_values_and_nodes_differ);
    tcase_add_test(all, long_chain_needs_memory_for_two_values);
    tcase_add_test(all, output_outlives_the_session);
    tcase_add_test(all, weights_packed_for_one_run_are_packed_again_for_the_next);
    tcase_add_test(all, nodes_of_the_same_weights_hold_them_once);
    tcase_add_test(all, memory_limit_ends_a_run);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
