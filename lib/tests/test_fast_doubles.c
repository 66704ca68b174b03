/* Fast forms of operators on doubles beside plain C: rows of many lengths, special values, the same bits by two threads as by one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { ELEMENTS = 1 << 17 };

static const struct {
    const char *call; /* y = call, of a */
    bool special;     /* NaN, infinities and zeros of both signs are among the values */
    int64_t rows, length;
} cases[] = {
    {"Softmax(a)", false, 1, 1},
    {"Softmax(a)", true, 300, 1},
    {"Softmax(a)", true, 20000, 5},
    {"Softmax(a)", true, 77, 128},
    {"Softmax(a)", true, 50, 129},
    {"Softmax(a)", true, 50, 257},
    {"Softmax(a)", true, 3, 1000},
    {"Softmax <axis = 0>(a)", true, 5, 300},
    {"LogSoftmax(a)", false, 300, 1},
    {"LogSoftmax(a)", true, 20000, 5},
    {"LogSoftmax(a)", true, 77, 128},
    {"LogSoftmax(a)", true, 50, 257},
    {"LogSoftmax(a)", true, 3, 1000},
    {"LogSoftmax <axis = 0>(a)", true, 5, 300},
    {"Elu <alpha = 0.5>(a)", true, 300, 77},
    {"Mish(a)", true, 300, 77},
    {"Relu(a)", true, 300, 77},
    {"Selu(a)", true, 300, 77},
    {"Softplus(a)", true, 300, 77},
    {"com.microsoft.QuickGelu <alpha = 2.0>(a)", true, 300, 77},
};

static void open_case(struct text_run *f, size_t which, int level, unsigned threads)
{
    static double values[ELEMENTS];
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0, -0.0};
    const int64_t dims[] = {cases[which].rows, cases[which].length};
    char model[256];
    snprintf(model, sizeof model,
             "<ir_version: 9, opset_import: [\"\" : 18, \"com.microsoft\" : 1]> "
             "g (double[N, M] a) => (double[N, M] y) { y = %s }",
             cases[which].call);
    text_must_plan(f, model, &(struct ox_run_options){.level = level});
    ox_env_set_threads(f->env, threads);
    for (int64_t i = 0; i < dims[0] * dims[1]; i++)
        values[i] = cases[which].special && i % 97 == 96 ? specials[i / 97 % 5]
                                                         : (double)(i * 7919 % 4001) / 100 - 20;
    text_give(f, OX_FLOAT64, 2, dims, values);
    text_must_run(f);
}

static bool near(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 4e-15 * fabs(b);
}

START_TEST(as_plain_c)
{
    struct text_run slow, one, two;
    open_case(&slow, (size_t)_i, 0, 1);
    open_case(&one, (size_t)_i, 2, 1);
    open_case(&two, (size_t)_i, 2, 2);
    const struct ox_tensor *a = ox_datum_get_tensor(slow.out[0]);
    const struct ox_tensor *b = ox_datum_get_tensor(one.out[0]);
    const struct ox_tensor *c = ox_datum_get_tensor(two.out[0]);
    ck_assert_uint_eq(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const double x = ox_tensor_get_double(b, i), want = ox_tensor_get_double(a, i);
        ck_assert_msg(near(x, want), "[%zu] is %.17g, not %.17g", i, x, want);
    }
    ck_assert_mem_eq(b->data, c->data, b->n * sizeof(double));
    text_close(&slow);
    text_close(&one);
    text_close(&two);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_doubles");
    TCase *tcase = tcase_create("fast_doubles");
    tcase_add_loop_test(tcase, as_plain_c, 0, (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
