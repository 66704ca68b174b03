/* Models of 16-bit floats at -O2: what is rounded, and what is not. Numbers are chosen so that a rounding between would show: 2049 is no
 * half, and 1 + 2^-11 rounds to 1. */
#include <check.h>

#include "graph/pass.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]> "

/* The first element of output 0 of a run at `level`, given x. */
static double first(const char *text, int level, float x)
{
    struct text_run f;
    const struct ox_run_options options = {.level = level};
    text_must_plan(&f, text, &options);
    text_give_floats(&f, 1, &x);
    text_must_run(&f);
    const double y = ox_tensor_get_double(ox_datum_get_tensor(f.out[0]), 0);
    text_close(&f);
    return y;
}

/* What each node rounds, and what one rounding in the end leaves. */
static void gives(const char *text, float x, double rounded, double once)
{
    ck_assert_double_eq(first(text, 0, x), rounded);
    ck_assert_double_eq(first(text, 2, x), once);
}

START_TEST(nothing_is_rounded_between_inputs_and_outputs)
{
    /* 2048 + 1 - 2048 */
    gives(HEAD "g (float[1] x) => (float[1] y) <float16[1] b = {15360}, float16[1] c = {26624}> "
               "{ h = Cast<to = 10>(x) s = Add(h, b) d = Sub(s, c) y = Cast<to = 1>(d) }",
          2048, 0, 1);
    /* the same of the other type: 256 + 1 - 256 */
    gives(HEAD "g (float[1] x) => (float[1] y) <bfloat16[1] b = {16256}, bfloat16[1] c = {17280}> "
               "{ h = Cast<to = 16>(x) s = Add(h, b) d = Sub(s, c) y = Cast<to = 1>(d) }",
          256, 0, 1);
    /* constants that nodes hold, and operators that move halves as they are */
    gives(HEAD "g (float[1] x) => (float[1] y) { b = Constant<value = float16[1] {15360}>() "
               "c = Constant<value = float16[1] {26624}>() h = Cast<to = 10>(x) s = Add(h, b) "
               "n = Identity(s) a = Abs(n) q = Concat<axis = 0>(a, b) "
               "i = Constant<value = int64[1] {0}>() g = Gather(q, i) d = Sub(g, c) "
               "y = Cast<to = 1>(d) }",
          2048, 0, 1);
}
END_TEST

START_TEST(an_operator_with_a_quick_form_rounds_once_where_it_stands_alone)
{
    static const double first_of_two[] = {[0] = 0.468505859375, [2] = 0.46875};
    for (int level = 0; level <= 2; level += 2) {
        struct text_run f;
        const struct ox_run_options options = {.level = level};
        text_must_plan(&f, HEAD "g (float16[2] x) => (float16[2] y) { y = Softmax(x) }", &options);
        text_give(&f, OX_FLOAT16, 1, (const int64_t[]){2}, (const uint16_t[]){0xb000, 0});
        text_must_run(&f);
        const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
        ck_assert_double_eq(ox_tensor_get_double(y, 0), first_of_two[level]);
        text_close(&f);
    }
}
END_TEST

START_TEST(casts_and_outputs_round)
{
    /* to a half and back, as the model says */
    gives(HEAD "g (float[1] x) => (float[1] y) { h = Cast<to = 10>(x) y = Cast<to = 1>(h) }", 2049,
          2048, 2048);
    /* an output of 16 bits that also goes on */
    gives(HEAD "g (float[1] x) => (float16[1] s, float[1] y) <float16[1] b = {15360}> "
               "{ h = Cast<to = 10>(x) s = Add(h, b) y = Cast<to = 1>(s) }",
          2048, 2048, 2048);
    /* operators that look at the type itself: 2^16 is infinite as a half */
    gives(HEAD "g (float[1] x) => (bool[1] y) <float16[1] b = {31744}> "
               "{ h = Cast<to = 10>(x) s = Add(h, h) y = IsInf(s) }",
          65504, 1, 1);
}
END_TEST

START_TEST(values_that_others_need_are_halves)
{
    /* by a branch, where 2048 + 1 is rounded */
    gives(HEAD
          "g (float[1] x) => (float[1] y) <float16[1] b = {15360}, float16[1] c = {26624}> "
          "{ h = Cast<to = 10>(x) s = Add(h, b) m = ReduceMax<keepdims = 0>(x) "
          "z = Sub(m, m) k = Less(z, m) "
          "y = If(k) <then_branch = t () => (float[1] p) { d = Sub(s, c) p = Cast<to = 1>(d) }, "
          "else_branch = e () => (float[1] q) { q = Neg(x) }> }",
          2048, 0, 0);
    /* by name */
    struct text_run f;
    const char *names[] = {"s"};
    const struct ox_run_options options = {.level = 2, .outputs = names, .n_outputs = 1};
    text_must_plan(&f,
                   HEAD "g (float[1] x) => (float[1] y) <float16[1] b = {15360}> "
                        "{ h = Cast<to = 10>(x) s = Add(h, b) y = Cast<to = 1>(s) }",
                   &options);
    text_give_floats(&f, 1, &(float){2048});
    text_must_run(&f);
    ck_assert_int_eq(ox_tensor_dtype(ox_datum_get_tensor(f.out[0])), OX_FLOAT16);
    text_close(&f);
}
END_TEST

START_TEST(a_table_stays_as_small_as_it_is)
{
    /* looked up in as halves, then 2048 + 1 - 2048 */
    gives(HEAD "g (float[1] x) => (float[1] y) <float16[2] w = {15360, 26624}> "
               "{ i = Cast<to = 7>(x) t = Gather(w, i) o = Sub(i, i) b = Gather(w, o) "
               "s = Add(t, b) d = Sub(s, t) y = Cast<to = 1>(d) }",
          1, 0, 1);
}
END_TEST

START_TEST(before_casts_took_numbers_nodes_round)
{
    gives("<ir_version: 3, opset_import: [\"\" : 5]> g (float[1] x) => (float[1] y) "
          "<float16[1] b = {15360}, float16[1] c = {26624}> "
          "{ h = Cast<to = \"FLOAT16\">(x) s = Sum(h, b) y = Cast<to = \"FLOAT\">(s) }",
          2048, 2048, 2048);
}
END_TEST

START_TEST(a_cast_of_nothing_is_refused)
{
    struct text_run f;
    const struct ox_run_options options = {.level = 2};
    text_open(&f, HEAD "g (float[1] x) => (float16[1] y) <float16[1] b = {15360}> "
                       "{ h = Cast<to = 10>() y = Add(h, b) }");
    ck_assert_int_eq(text_plan(&f, &options), OX_INPUT);
    text_close(&f);
}
END_TEST

/* The state's type is that of nothing that is given here: the kernel makes it that of the query. */
START_TEST(an_output_whose_type_nobody_knows_is_of_the_kernels_type)
{
    for (int level = 0; level <= 2; level += 2) {
        const uint16_t ones[] = {0x3c00, 0x3c00};
        struct text_run f;
        text_must_plan(&f,
                       "<ir_version: 10, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> "
                       "g (float16[1,1,2] x) => (float16[1,1,2] y, float16[1,1,2,2] s) { y, s = "
                       "com.microsoft.LinearAttention <q_num_heads = 1, kv_num_heads = 1, "
                       "update_rule = \"linear\"> (x, x, x) }",
                       &(struct ox_run_options){.level = level});
        text_give(&f, OX_FLOAT16, 3, (const int64_t[]){1, 1, 2}, ones);
        text_must_run(&f);
        for (size_t i = 0; i < 2; i++)
            ck_assert_int_eq(ox_datum_get_tensor(f.out[i])->dtype, OX_FLOAT16);
        text_close(&f);
    }
}
END_TEST

/* 2048 + 1 - 2048, attention to equal values between. */
START_TEST(a_cache_that_begins_is_of_halves_and_computed_in_float32)
{
    enum { WIDTH = 16 };
    for (int level = 0; level <= 2; level += 2) {
        uint16_t x[2 * WIDTH];
        struct text_run f;
        for (size_t i = 0; i < 2 * WIDTH; i++)
            x[i] = 0x6800;
        text_must_plan(&f,
                       "<ir_version: 10, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> "
                       "g (float16[1,2,16] x) => (float16[1,2,16] y, float16[1,1,2,16] k) "
                       "<float16[1] b = {15360}, float16[1] c = {26624}, int32[1] n = {1}, "
                       "int32 t = {2}> { v = Add(x, b) a, k, more = "
                       "com.microsoft.GroupQueryAttention <num_heads = 1, kv_num_heads = 1> "
                       "(v, v, v, , , n, t) y = Sub(a, c) }",
                       &(struct ox_run_options){.level = level});
        text_give(&f, OX_FLOAT16, 3, (const int64_t[]){1, 2, WIDTH}, x);
        text_must_run(&f);
        ck_assert_double_eq(ox_tensor_get_double(ox_datum_get_tensor(f.out[0]), 0), level / 2);
        ck_assert_int_eq(ox_datum_get_tensor(f.out[1])->dtype, OX_FLOAT16);
        text_close(&f);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        nothing_is_rounded_between_inputs_and_outputs,
        an_operator_with_a_quick_form_rounds_once_where_it_stands_alone,
        casts_and_outputs_round,
        values_that_others_need_are_halves,
        a_table_stays_as_small_as_it_is,
        before_casts_took_numbers_nodes_round,
        a_cast_of_nothing_is_refused,
        an_output_whose_type_nobody_knows_is_of_the_kernels_type,
        a_cache_that_begins_is_of_halves_and_computed_in_float32,
    };
    Suite *suite = suite_create("widen halves");
    TCase *tcase = tcase_create("widen halves");
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
