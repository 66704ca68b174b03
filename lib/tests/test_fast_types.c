/* Fast forms of operators on doubles and integers beside plain C: rows of many lengths, special values, the same bits by two threads as by one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/half.h"
#include "tensor/tensor.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { ELEMENTS = 1 << 17 };

static const struct {
    const char *call; /* y = call, of a */
    bool special;     /* NaN, infinities and zeros of both signs are among the values */
    int64_t rows, length;
    enum ox_dtype type;
} cases[] = {
    {"Softmax(a)", false, 1, 1, OX_FLOAT64},
    {"Softmax(a)", true, 300, 1, OX_FLOAT64},
    {"Softmax(a)", true, 20000, 5, OX_FLOAT64},
    {"Softmax(a)", true, 77, 128, OX_FLOAT64},
    {"Softmax(a)", true, 50, 129, OX_FLOAT64},
    {"Softmax(a)", true, 50, 257, OX_FLOAT64},
    {"Softmax(a)", true, 3, 1000, OX_FLOAT64},
    {"Softmax <axis = 0>(a)", true, 5, 300, OX_FLOAT64},
    {"LogSoftmax(a)", false, 300, 1, OX_FLOAT64},
    {"LogSoftmax(a)", true, 20000, 5, OX_FLOAT64},
    {"LogSoftmax(a)", true, 77, 128, OX_FLOAT64},
    {"LogSoftmax(a)", true, 50, 257, OX_FLOAT64},
    {"LogSoftmax(a)", true, 3, 1000, OX_FLOAT64},
    {"LogSoftmax <axis = 0>(a)", true, 5, 300, OX_FLOAT64},
    {"Elu <alpha = 0.5>(a)", true, 300, 77, OX_FLOAT64},
    {"Gelu <approximate = \"tanh\">(a)", true, 300, 77, OX_FLOAT64},
    {"Gelu(a)", true, 300, 77, OX_FLOAT64},
    {"Mish(a)", true, 300, 77, OX_FLOAT64},
    {"Relu(a)", true, 300, 77, OX_FLOAT64},
    {"Selu(a)", true, 300, 77, OX_FLOAT64},
    {"Softplus(a)", true, 300, 77, OX_FLOAT64},
    {"com.microsoft.QuickGelu <alpha = 2.0>(a)", true, 300, 77, OX_FLOAT64},
    {"com.microsoft.CDist <metric = \"euclidean\">(a, a)", false, 37, 37, OX_FLOAT64},
    {"com.microsoft.FusedMatMul <alpha = 0.5>(a, a)", true, 131, 131, OX_FLOAT64},
    {"com.microsoft.CDist(a, a)", true, 130, 130, OX_FLOAT64},
    {"ReduceLogSumExp <axes = [1]>(a)", false, 300, 77, OX_INT32},
    {"ReduceLogSumExp <axes = [1]>(a)", true, 3000, 3, OX_FLOAT64},
    {"ReduceLogSumExp <axes = [1]>(a)", true, 777, 16, OX_FLOAT64},
    {"ReduceLogSumExp <axes = [1]>(a)", true, 77, 17, OX_FLOAT64},
    {"ReduceLogSumExp <axes = [1]>(a)", false, 3000, 4, OX_INT64},
    {"ReduceLogSumExp <axes = [1]>(a)", false, 300, 9, OX_INT32},
    {"ReduceLogSumExp <axes = [1]>(a)", false, 77, 300, OX_INT64},
    {"ReduceLogSumExp <axes = [1]>(a)", false, 77, 3, OX_UINT32},
    {"ReduceLogSumExp <axes = [0]>(a)", false, 30, 777, OX_INT32},
    {"ReduceLogSumExp <axes = [0]>(a)", false, 77, 5, OX_UINT64},
    {"ReduceLogSumExp <axes = [0]>(a)", false, 7, 5, OX_INT64},
    {"ReduceLogSumExp(a)", false, 30, 5, OX_INT64},
};

static void open_case(struct text_run *f, size_t which, int level, unsigned threads)
{
    static int64_t values[ELEMENTS];
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0, -0.0};
    const int64_t dims[] = {cases[which].rows, cases[which].length};
    const size_t n = (size_t)(dims[0] * dims[1]);
    const enum ox_dtype type = cases[which].type;
    const char *name = type == OX_FLOAT64 ? "double" : ox_dtype_name(type);
    char model[256];
    snprintf(model, sizeof model,
             "<ir_version: 9, opset_import: [\"\" : %d, \"com.microsoft\" : 1]> "
             "g (%s[N, M] a) => (%s[N, M] y) { y = %s }",
             strncmp(cases[which].call, "Reduce", 6) == 0 ? 13 : 20, name, name, cases[which].call);
    text_must_plan(f, model, &(struct ox_run_options){.level = level});
    ox_env_set_threads(f->env, threads);
    for (size_t i = 0; i < n; i++) {
        const double x = cases[which].special && i % 97 == 96 ? specials[i / 97 % 5]
                         : type == OX_FLOAT64                 ? (double)(i * 7919 % 4001) / 100 - 20
                                              : (double)(i * 7919 % 211) * (i % 5 == 3 ? 1e7 : 1);
        ox_elements_convert(type, (char *)values + i * ox_dtype_size(type), OX_FLOAT64, &x, 1,
                            true);
    }
    text_give(f, type, 2, dims, values);
    text_must_run(f);
}

/* What adds terms that cancel each other may be apart by what these are rounded to. */
static double apart(const char *call)
{
    return strstr(call, "MatMul")                              ? 1e-11
           : strstr(call, "LogSumExp") || strstr(call, "tanh") ? 1e-14
                                                               : 0;
}

static bool near(double a, double b, const char *call)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 4e-15 * fabs(b) + apart(call);
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
        ck_assert_msg(near(x, want, cases[_i].call), "[%zu] is %.17g, not %.17g", i, x, want);
    }
    ck_assert_mem_eq(b->data, c->data, b->n * ox_dtype_size(b->dtype));
    text_close(&slow);
    text_close(&one);
    text_close(&two);
}
END_TEST

/* All halves by one scale, and back: quotients are rounded to halves first, then to integers. */
START_TEST(codes_of_halves)
{
    enum { ALL = 65536 };
    static uint16_t values[ALL];
    const bool wide = _i & 1, by_row = _i & 2;
    const float scale = by_row ? 0.375f : 0.0200042724609375f; /* both are halves */
    const int least = wide ? -32768 : 0, most = wide ? 32767 : 255, zero = wide ? -3 : 100;
    const int64_t dims[] = {2, ALL / 2};
    struct text_run f;
    char model[512];
    snprintf(
        model, sizeof model,
        "<ir_version: 9, opset_import: [\"\" : 21]> g (float16[2, N] a, float16[%s] s, %s[%s] z) "
        "=> (c, y) { c = QuantizeLinear <axis = 0> (a, s, z) "
        "y = DequantizeLinear <axis = 0> (c, s, z) }",
        by_row ? "2" : "", wide ? "int16" : "uint8", by_row ? "2" : "");
    text_must_plan(&f, model, &(struct ox_run_options){.level = 2});
    for (size_t i = 0; i < ALL; i++)
        values[i] = (uint16_t)i;
    const uint16_t half = ox_float_to_half(scale), halves[] = {half, half};
    const int16_t words[] = {(int16_t)zero, (int16_t)zero};
    const uint8_t bytes[] = {(uint8_t)zero, (uint8_t)zero};
    text_give(&f, OX_FLOAT16, 2, dims, values);
    text_give(&f, OX_FLOAT16, by_row, dims, halves);
    text_give(&f, wide ? OX_INT16 : OX_UINT8, by_row, dims,
              wide ? (const void *)words : (const void *)bytes);
    text_must_run(&f);
    const struct ox_tensor *c = ox_datum_get_tensor(f.out[0]), *y = ox_datum_get_tensor(f.out[1]);
    for (size_t i = 0; i < ALL; i++) {
        const double q = (double)ox_half_to_float(
            ox_double_to_half((double)ox_half_to_float(values[i]) / (double)scale));
        double want = isnan(q) ? least : rint(q) + zero;
        want = want < least ? least : want > most ? most : want;
        ck_assert_msg(ox_tensor_get_double(c, i) == want, "[%zu]: %g, not %g", i,
                      ox_tensor_get_double(c, i), want);
        want = (double)ox_half_to_float(ox_double_to_half((want - zero) * (double)scale));
        ck_assert_msg(ox_tensor_get_double(y, i) == want, "[%zu] back: %g, not %g", i,
                      ox_tensor_get_double(y, i), want);
    }
    text_close(&f);
}
END_TEST

START_TEST(codes_that_are_floats)
{
    enum { N = 5000 };
    static const char *const models[] = {
        "QuantizeLinear <output_dtype = 17> (a, s)",
        "QuantizeLinear <output_dtype = 19, axis = 0> (a, t)",
        "QuantizeLinear <output_dtype = 18, saturate = 0> (a, s)",
    };
    static float values[N];
    const float scales[] = {0.25f, 3};
    struct text_run f[2];
    char model[256];
    snprintf(model, sizeof model,
             "<ir_version: 11, opset_import: [\"\" : 23]> g (float[2, N] a, float s, float[2] t) "
             "=> (y) { y = %s }",
             models[_i]);
    for (size_t i = 0; i < N; i++)
        values[i] = i == 77   ? NAN
                    : i == 78 ? INFINITY
                              : ldexpf((float)(i * 7919 % 4001) - 2000, (int)(i % 24) - 16);
    for (int k = 0; k < 2; k++) {
        text_must_plan(&f[k], model, &(struct ox_run_options){.level = 2 * k});
        text_give(&f[k], OX_FLOAT32, 2, (const int64_t[]){2, N / 2}, values);
        text_give(&f[k], OX_FLOAT32, 0, NULL, scales);
        text_give(&f[k], OX_FLOAT32, 1, (const int64_t[]){2}, scales);
        text_must_run(&f[k]);
    }
    ck_assert_mem_eq(ox_datum_get_tensor(f[0].out[0])->data, ox_datum_get_tensor(f[1].out[0])->data,
                     N);
    text_close(&f[0]);
    text_close(&f[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_types");
    TCase *tcase = tcase_create("fast_types");
    tcase_add_loop_test(tcase, as_plain_c, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(tcase, codes_of_halves, 0, 4);
    tcase_add_loop_test(tcase, codes_that_are_floats, 0, 3);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
