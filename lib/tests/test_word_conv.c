/* WordConvEmbedding of com.microsoft: plain C by numbers, and its fast form beside it. */
#include <math.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

static struct one_op *words(int32_t first, const char *table)
{
    struct one_op *op = one_op_new("com.microsoft", "WordConvEmbedding", 1);
    ONE_OP_IN(op, OX_INT32, "3x4", first, 1, 2, 0, 3, 0, 3, 3, 0, 1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x1", 1, 10);
    ONE_OP_IN(op, OX_FLOAT32, "1", 0.5);
    ONE_OP_IN(op, OX_FLOAT32, table, 0.02, 0.01, 0.03, 0.05);
    return op;
}

/* What is behind a word's end is not seen, but for a window that is longer than the word; an empty word gives 0. */
START_TEST(the_greatest_window_of_a_word_counts)
{
    struct one_op *op = words(1, "4x1");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3x1", 1e-7, tanh(0.01 + 0.3 + 0.5), tanh(0.05 + 0.2 + 0.5), 0);
    one_op_free(op);
    RUN_FAILS(words(4, "4x1"), 1, "character 4 at place 0 is none of 4");
    RUN_FAILS(words(-1, "4x1"), 1, "character -1 at place 0 is none of 4");
    RUN_FAILS(words(1, "2x2"), 1, "do not fit each other");
}
END_TEST

/* Words enough for several products, weights that are constant or not; a character of NaN. */
START_TEST(the_fast_form_is_that_of_plain_c)
{
    enum { WORDS = 300, LENGTH = 9, FILTERS = 19, WINDOW = 3, WIDTH = 5, LETTERS = 12 };
    static const char *const texts[] = {
        "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (int32[3,N,9] x, "
        "float[12,5] t, float[19,1,3,5] w, float[19] b) => (float[3,N,19] y) { y = "
        "com.microsoft.WordConvEmbedding (x, w, b, t) }",
        "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (int32[3,N,9] x, "
        "float[12,5] t) => (float[3,N,19] y) { n = Constant <value_ints = [19, 1, 3, 5]> () "
        "o = Constant <value_int = 285> () z = Constant <value_int = 0> () s = Constant "
        "<value_int = 1> () r = Range (z, o, s) f = Cast <to = 1> (r) i = Sin (f) w = Reshape (i, "
        "n) u = Constant <value_ints = [19]> () c = ConstantOfShape (u) y = "
        "com.microsoft.WordConvEmbedding (x, w, c, t) }"};
    int32_t x[WORDS * LENGTH];
    float table[LETTERS * WIDTH], w[FILTERS * WINDOW * WIDTH], b[FILTERS];
    struct text_run runs[3];
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = (int32_t)(i * 7919 % (i % 5 ? 97 : LETTERS)) % LETTERS;
    for (size_t i = 0; i < OX_COUNT(table); i++)
        table[i] = (float)(i * 7919 % 201) / 200 - 0.5f;
    table[7 * WIDTH] = NAN;
    for (size_t i = 0; i < OX_COUNT(w); i++)
        w[i] = (float)(i * 104729 % 301) / 300 - 0.5f;
    for (size_t i = 0; i < FILTERS; i++)
        b[i] = (float)i / 20 - 0.5f;
    for (int i = 0; i < 3; i++) {
        text_open(&runs[i], texts[_i]);
        ox_env_set_threads(runs[i].env, i == 2 ? 2 : 1);
        ck_assert(text_plan(&runs[i], &(struct ox_run_options){.level = i ? 2 : 0}) == OX_OK);
        text_give(&runs[i], OX_INT32, 3, (const int64_t[]){3, WORDS / 3, LENGTH}, x);
        text_give(&runs[i], OX_FLOAT32, 2, (const int64_t[]){LETTERS, WIDTH}, table);
        if (_i == 0) {
            text_give(&runs[i], OX_FLOAT32, 4, (const int64_t[]){FILTERS, 1, WINDOW, WIDTH}, w);
            text_give(&runs[i], OX_FLOAT32, 1, (const int64_t[]){FILTERS}, b);
        }
        text_must_run(&runs[i]);
        text_must_run(&runs[i]);
    }
    const struct ox_tensor *plain = ox_datum_get_tensor(runs[0].out[0]),
                           *fast = ox_datum_get_tensor(runs[1].out[0]),
                           *two = ox_datum_get_tensor(runs[2].out[0]);
    size_t n_nan = 0;
    ck_assert_uint_eq(plain->n, WORDS * FILTERS);
    for (size_t i = 0; i < plain->n; i++) {
        const double want = ox_tensor_get_double(plain, i), got = ox_tensor_get_double(fast, i);
        n_nan += isnan(want);
        ck_assert_msg(fabs(got - want) < 2e-6 || (isnan(got) && isnan(want)),
                      "[%zu] is %.9g, not %.9g", i, got, want);
    }
    ck_assert_uint_gt(n_nan, 0);
    ck_assert_mem_eq(fast->data, two->data, fast->n * sizeof(float));
    for (int i = 0; i < 3; i++)
        text_close(&runs[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("word_conv");
    TCase *tcase = tcase_create("word_conv");
    tcase_add_test(tcase, the_greatest_window_of_a_word_counts);
    tcase_add_loop_test(tcase, the_fast_form_is_that_of_plain_c, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
