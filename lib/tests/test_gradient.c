/* Derivatives by the operator Gradient against differences of the function, in double precision. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { A = 6, B = 6 };
static const double step = 1e-6;

/* Nodes that make y (any shape) of a and b. */
struct function {
    const char *shape_a, *shape_b;
    const char *nodes;
};

static const struct function functions[] = {
    {"2,3", "2,3", "y = Add(a, b)"},
    {"2,3", "1,6", "s = Constant<value_ints = [6, 1]>() t = Reshape(a, s) y = Mul(t, b)"},
    {"2,3", "2,3", "y = Sub(a, b)"},
    {"2,3", "2,3", "t = Div(a, b) y = Mul(t, t)"},
    {"2,3", "2,3", "y = Pow(a, b)"},
    {"2,3", "2,3", "c = Constant<value_int = 3>() t = Pow(a, c) y = Mul(t, b)"},
    {"2,3", "2,3", "t = Sum(a, b, a) u = Mean(t, b) y = Mul(u, u)"},
    {"2,3", "2,3", "t = Neg(a) u = Abs(t) v = Identity(u) y = Mul(v, b)"},
    {"2,3", "2,3", "t = Exp(a) u = Log(b) y = Mul(t, u)"},
    {"2,3", "2,3", "t = Sqrt(a) u = Reciprocal(b) y = Mul(t, u)"},
    {"2,3", "2,3", "t = Sin(a) u = Cos(b) y = Mul(t, u)"},
    {"2,3", "2,3", "t = Tan(a) u = Tanh(b) y = Mul(t, u)"},
    {"2,3", "2,3", "t = Sigmoid(a) u = Softplus(b) y = Mul(t, u)"},
    {"2,3", "2,3",
     "c = Constant<value_float = 1.0>() v = Sub(a, c) t = Relu(v) u = Erf(b) y = Mul(t, u)"},
    {"2,3", "3,2", "y = MatMul(a, b)"},
    {"1,2,3", "3,2", "t = MatMul(a, b) y = Mul(t, t)"},
    {"6", "6", "t = MatMul(a, b) y = Mul(t, t)"},
    {"6", "6,1", "t = MatMul(a, b) y = Mul(t, t)"},
    {"6,1", "1", "t = MatMul(a, b) y = Mul(t, t)"},
    {"2,3", "3,2", "t = Gemm<alpha = 0.5>(a, b) y = Mul(t, t)"},
    {"3,2", "2,3", "t = Gemm<transA = 1, transB = 1>(a, b) y = Mul(t, t)"},
    {"3,2", "3,2", "t = Gemm<transA = 1>(a, b) y = Mul(t, t)"},
    {"2,3", "2,3",
     "e = Transpose(b) s = Constant<value_ints = [1]>() r = ReduceSum(b, s) t = Gemm<beta = "
     "2.0>(a, e, r) y = Mul(t, t)"},
    {"2,3", "3,2", "t = Transpose(a) y = Mul(t, b)"},
    {"1,2,3", "3,1,2", "t = Transpose<perm = [2, 0, 1]>(a) y = Mul(t, b)"},
    {"2,3", "2",
     "x = Constant<value_ints = [1]>() t = ReduceSum<keepdims = 0>(a, x) y = Mul(t, b)"},
    {"2,3", "1", "t = ReduceMean(a) u = Mul(t, t) y = Mul(u, b)"},
    {"2,3", "2,3", "t = Softmax(a) y = Mul(t, b)"},
    {"2,3", "6",
     "t = Flatten<axis = 0>(a) x = Constant<value_ints = [0]>() u = Squeeze(t, x)"
     "v = Unsqueeze(b, x) w = Mul(t, v) y = Mul(w, u)"},
};

static unsigned parse(const char *shape, int64_t *dims, size_t *n)
{
    unsigned rank = 0;
    *n = 1;
    for (const char *p = shape; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        dims[rank] = strtoll(p, NULL, 10);
        *n *= (size_t)dims[rank++];
    }
    return rank;
}

static void give(struct text_run *f, const char *shape, const double *values)
{
    int64_t dims[8];
    size_t n;
    unsigned rank = parse(shape, dims, &n);
    text_give(f, OX_FLOAT64, rank, dims, values);
}

static double sum_of(const struct text_run *f, size_t i)
{
    const struct ox_tensor *y = ox_datum_get_tensor(f->out[i]);
    double sum = 0;
    for (size_t k = 0; k < y->n; k++)
        sum += ox_tensor_get_double(y, k);
    return sum;
}

/* The sum of y with those inputs; derivatives too when asked. */
static double evaluate(const struct function *of, const double *a, const double *b, double *by_a,
                       double *by_b)
{
    struct text_run f;
    char text[1024];
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.preview.training\" : 1]>"
             "g (float[%s] a, float[%s] b) => (float[K] y, float[L] da, float[M] db) { %s "
             "da, db = ai.onnx.preview.training.Gradient<xs = [\"a\", \"b\"], y = \"y\">(a, b) }",
             of->shape_a, of->shape_b, of->nodes);
    text_must_plan(&f, text, &(struct ox_run_options){.oracle = true});
    give(&f, of->shape_a, a);
    give(&f, of->shape_b, b);
    text_must_run(&f);
    double sum = sum_of(&f, 0);
    for (size_t side = 0; by_a && side < 2; side++) {
        const struct ox_tensor *grad = ox_datum_get_tensor(f.out[1 + side]);
        for (size_t k = 0; k < grad->n; k++)
            (side ? by_b : by_a)[k] = ox_tensor_get_double(grad, k);
    }
    text_close(&f);
    return sum;
}

START_TEST(derivative_is_the_limit_of_differences)
{
    const struct function *of = &functions[_i];
    double values[2][A] = {{0.7, 1.3, 0.4, 1.9, 1.1, 0.6}, {1.2, 0.5, 1.7, 0.9, 0.3, 1.4}};
    double exact[2][A], dummy;
    evaluate(of, values[0], values[1], exact[0], exact[1]);
    for (size_t side = 0; side < 2; side++) {
        int64_t dims[8];
        size_t n;
        parse(side ? of->shape_b : of->shape_a, dims, &n);
        for (size_t k = 0; k < n; k++) {
            double *x = &values[side][k], kept = *x;
            *x = kept + step;
            double above = evaluate(of, values[0], values[1], NULL, &dummy);
            *x = kept - step;
            double below = evaluate(of, values[0], values[1], NULL, &dummy);
            *x = kept;
            double slope = (above - below) / (2 * step);
            ck_assert_msg(fabs(slope - exact[side][k]) <= 1e-6 * fmax(1, fabs(slope)),
                          "%s: by %c[%zu] %.9g, differences say %.9g", of->nodes, side ? 'b' : 'a',
                          k, exact[side][k], slope);
        }
    }
}
END_TEST

START_TEST(operator_without_a_rule_is_named)
{
    struct text_run f;
    text_must_plan(&f,
                   "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.preview.training\" : 1]>"
                   "g (float[N] a) => (float[K] da) { y = Floor(a)"
                   "da = ai.onnx.preview.training.Gradient<xs = [\"a\"], y = \"y\">(a) }",
                   NULL);
    text_give_floats(&f, 1, (const float[]){2});
    ck_assert_int_eq(text_run_once(&f), OX_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(f.err.message, "no derivative of 'Floor'"));
    text_close(&f);
}
END_TEST

START_TEST(value_that_is_not_independent_is_named)
{
    struct text_run f;
    text_must_plan(&f,
                   "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.preview.training\" : 1]>"
                   "g (float[N] a, float[N] b) => (float[K] da) { y = Mul(a, b)"
                   "da = ai.onnx.preview.training.Gradient<xs = [\"a\"], y = \"y\">(a) }",
                   NULL);
    text_give_floats(&f, 1, (const float[]){2});
    text_give_floats(&f, 1, (const float[]){3});
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(f.err.message, "'b' is needed for y"));
    text_close(&f);
}
END_TEST

START_TEST(zs_are_held_fixed_and_half_keeps_its_type)
{
    struct text_run f;
    text_must_plan(
        &f,
        "<ir_version: 10, opset_import: [\"\" : 20, \"ai.onnx.preview.training\" : 1]>"
        "g (float16[1] a, float16[1] b) => (float16[1] da) { y = Mul(a, b)"
        "da = ai.onnx.preview.training.Gradient<xs = [\"a\"], zs = [\"b\"], y = \"y\">(a, b) }",
        NULL);
    text_give(&f, OX_FLOAT16, 1, (const int64_t[]){1}, (const uint16_t[]){0x4000});
    text_give(&f, OX_FLOAT16, 1, (const int64_t[]){1}, (const uint16_t[]){0x4200});
    text_must_run(&f);
    const struct ox_tensor *da = ox_datum_get_tensor(f.out[0]);
    ck_assert_int_eq(da->dtype, OX_FLOAT16);
    ck_assert_double_eq(ox_tensor_get_double(da, 0), 3);
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradient");
    TCase *tcase = tcase_create("gradient");
    tcase_add_loop_test(tcase, derivative_is_the_limit_of_differences, 0, (int)OX_COUNT(functions));
    tcase_add_test(tcase, operator_without_a_rule_is_named);
    tcase_add_test(tcase, value_that_is_not_independent_is_named);
    tcase_add_test(tcase, zs_are_held_fixed_and_half_keeps_its_type);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
