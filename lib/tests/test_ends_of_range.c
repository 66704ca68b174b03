/* Infinities, NaN and what overflows, at each level and with each instruction set: where a result is not a number at -O0, and which
 * infinity it is, is no matter of speed. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/env.h"
#include "kernels/cpu.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 23]> "

enum { N = 10, MOST = 256 };

static const float ends[N] = {NAN,   INFINITY, -INFINITY, FLT_MAX, -FLT_MAX,
                              1e30F, -1e30F,   0.0F,      -0.0F,   1.5F};

/* Elements of output 0 as doubles. */
static size_t run_at(enum ox_cpu cpu, int level, const char *text, double *out)
{
    struct text_run f;
    const struct ox_run_options options = {.level = level};
    ox_cpu_limit(cpu);
    text_must_plan(&f, text, &options);
    text_give_floats(&f, N, ends);
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    const size_t n = y->n;
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++)
        out[i] = ox_tensor_get_double(y, i);
    text_close(&f);
    ox_cpu_limit(ox_cpu_probe());
    return n;
}

static bool are_alike(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-5 * fabs(a);
}

static void is_alike_everywhere(const char *text)
{
    double slow[MOST], fast[MOST];
    const size_t n = run_at(OX_CPU_C, 0, text, slow);
    for (int cpu = OX_CPU_C; cpu <= (int)ox_cpu_probe(); cpu++) {
        for (int level = 1; level <= 2; level++) {
            ck_assert_uint_eq(run_at((enum ox_cpu)cpu, level, text, fast), n);
            for (size_t i = 0; i < n; i++)
                ck_assert_msg(are_alike(slow[i], fast[i]), "%zu: %g, not %g, at -O%d, level %d: %s",
                              i, fast[i], slow[i], level, cpu, text);
        }
    }
}

/* A bound that is missing is the greatest finite number of the type: what is infinite comes to it. */
START_TEST(missing_bounds_clip_what_is_infinite)
{
    static const char *const clips[] = {"Clip (h)", "Clip (h, a)", "Clip (h, , b)",
                                        "Clip (h, a, b)"};
    static const char *const types[] = {"float", "float16", "bfloat16", "double"};
    static const int numbers[] = {OX_FLOAT32, OX_FLOAT16, OX_BFLOAT16, OX_FLOAT64};
    char text[512];
    snprintf(text, sizeof text,
             HEAD "g (float[10] x) => (%s[10] y) { h = Cast <to = %d> (x) "
                  "c = Constant <value_float = -2.0> () d = Constant <value_float = 3.0> () "
                  "a = Cast <to = %d> (c) b = Cast <to = %d> (d) z = %s y = Neg (z) }",
             types[_i / 4], numbers[_i / 4], numbers[_i / 4], numbers[_i / 4], clips[_i % 4]);
    is_alike_everywhere(text);
}
END_TEST

START_TEST(missing_bounds_behind_a_product)
{
    is_alike_everywhere(HEAD "g (float[10] x) => (float[1,2] y) <int64[2] s = {1, 10}> "
                             "{ d = Constant <value_ints = [10,2]> () "
                             "w = ConstantOfShape <value = float[1] {1}> (d) a = Abs (x) "
                             "c = Max (a, a) r = Reshape (c, s) p = MatMul (r, w) y = Clip (p) }");
    is_alike_everywhere(HEAD "g (float[10] x) => (float[10] y) { a = Abs (x) m = Mul (a, x) "
                             "c = Clip (m) y = Sub (c, x) }");
}
END_TEST

/* By a variance of 0: NaN or infinite, one by one, as the factor and the addend of a channel have it. */
START_TEST(batch_norm_may_divide_by_zero)
{
    is_alike_everywhere(HEAD "g (float[10] x) => (float[1,2,5] y) <int64[3] s = {1, 2, 5}, "
                             "float[2] g = {1, 0.5}, float[2] b = {0, 1}, float[2] m = {0, 1}, "
                             "float[2] v = {0, 1}> { r = Reshape (x, s) "
                             "y = BatchNormalization <epsilon = 0.0> (r, g, b, m, v) }");
    is_alike_everywhere(HEAD "g (float[10] x) => (float[5,2] y) <int64[2] s = {5, 2}, "
                             "float[2] g = {1, 0.5}, float[2] b = {0, 1}, float[2] m = {0, 1}, "
                             "float[2] v = {1, 1}> { r = Reshape (x, s) "
                             "y = BatchNormalization <epsilon = -1.0> (r, g, b, m, v) }");
    is_alike_everywhere(HEAD "g (float[10] x) => (float[1,1,10] y) <int64[3] s = {1, 1, 10}, "
                             "float[1,1,1] w = {2}, float[1] g = {1}, float[1] b = {0}, "
                             "float[1] v = {0}> { r = Reshape (x, s) c = Conv (r, w) "
                             "y = BatchNormalization <epsilon = 0.0> (c, g, b, b, v) }");
}
END_TEST

START_TEST(variances_overflow_in_plain_c_too)
{
    is_alike_everywhere(HEAD "g (float[10] x) => (float[10,2] y) <int64[2] s = {10, 1}, "
                             "float[2] w = {1, -2}, float[2] b = {3, 4}> { r = Reshape (x, s) "
                             "n = Neg (r) j = Concat <axis = 1> (r, n) "
                             "y = LayerNormalization (j, w, b) }");
    is_alike_everywhere(HEAD "g (float[10] x) => (float[10,2] y) <int64[2] s = {10, 1}, "
                             "float[2] w = {1, -2}> { r = Reshape (x, s) "
                             "n = Neg (r) j = Concat <axis = 1> (r, n) "
                             "y = RMSNormalization (j, w) }");
}
END_TEST

/* The standard multiplies queries and keys by its root each. */
START_TEST(attention_of_a_negative_scale_is_no_number)
{
    double y[MOST];
    for (int level = 0; level <= 2; level++) {
        const size_t n = run_at(ox_cpu_probe(), level,
                                HEAD "g (float[10] x) => (float[1,1,5,2] y) "
                                     "<int64[4] s = {1, 1, 5, 2}> "
                                     "{ c = Constant <value_float = 0.0> () m = Mul (x, c) "
                                     "e = Exp (m) t = Reshape (e, s) "
                                     "y = Attention <scale = -1.0> (t, t, t) }",
                                y);
        ck_assert_uint_eq(n, N);
        ck_assert(isnan(y[9]));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ends of range");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, missing_bounds_clip_what_is_infinite, 0, 16);
    tcase_add_test(all, missing_bounds_behind_a_product);
    tcase_add_test(all, batch_norm_may_divide_by_zero);
    tcase_add_test(all, variances_overflow_in_plain_c_too);
    tcase_add_test(all, attention_of_a_negative_scale_is_no_number);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
