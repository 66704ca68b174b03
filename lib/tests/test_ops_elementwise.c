/* Functions of one element, activations, comparisons, logic, Clip, Where, Max and their kin. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/compiler.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

static const double inf = (double)INFINITY, nan_ = (double)NAN;

#define LIST(...)                                                                                  \
    (const double[4])                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void check_unary(const char *name, int64_t opset, enum ox_dtype dtype, enum ox_dtype out,
                        const double x[4], const double expected[4])
{
    struct one_op *op = one_op_new("", name, opset);
    one_op_in(op, dtype, "4", x, 4);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    one_op_expect(op, 0, out, "4",
                  dtype == OX_FLOAT32   ? 1e-6
                  : dtype == OX_FLOAT16 ? 1e-3
                                        : 1e-14,
                  expected, 4);
    one_op_free(op);
}

static void check_floats(const char *name, int64_t opset, const double x[4],
                         const double expected[4])
{
    check_unary(name, opset, OX_FLOAT32, OX_FLOAT32, x, expected);
    check_unary(name, opset, OX_FLOAT64, OX_FLOAT64, x, expected);
}

START_TEST(functions_are_those_of_the_c_library)
{
    static const struct {
        const char *name;
        double (*of)(double);
        double x[4];
    } cases[] = {{"Acos", acos, {-1, 0.5, 0, 1}},     {"Acosh", acosh, {1, 2, 10, 0.5}},
                 {"Asin", asin, {-1, 0.5, 0, 1}},     {"Asinh", asinh, {-3, 0, 0.5, 100}},
                 {"Atan", atan, {-3, 0, 0.5, 100}},   {"Atanh", atanh, {-0.5, 0, 0.25, 1}},
                 {"Cos", cos, {-3, 0, 0.5, 7}},       {"Cosh", cosh, {-3, 0, 0.5, 7}},
                 {"Sin", sin, {-3, 0, 0.5, 7}},       {"Sinh", sinh, {-3, 0, 0.5, 7}},
                 {"Tan", tan, {-3, 0, 0.5, 7}},       {"Tanh", tanh, {-3, 0, 0.5, 70}},
                 {"Exp", exp, {-3, 0, 0.5, -1000}},   {"Log", log, {1, 0, 0.5, -1}},
                 {"Sqrt", sqrt, {4, 0, 0.25, -1}},    {"Erf", erf, {-3, 0, 0.5, 7}},
                 {"Ceil", ceil, {-1.5, 0, 0.5, 7}},   {"Floor", floor, {-1.5, 0, 0.5, 7}},
                 {"Round", rint, {-1.5, 2.5, 0.5, 7}}};
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        double expected[4];
        for (size_t k = 0; k < 4; k++)
            expected[k] = cases[i].of(cases[i].x[k]);
        check_floats(cases[i].name, 22, cases[i].x, expected);
        check_unary(cases[i].name, 22, OX_FLOAT16, OX_FLOAT16, cases[i].x, expected);
    }
}
END_TEST

START_TEST(abs_neg_and_sign_take_integers)
{
    check_unary("Abs", 13, OX_INT8, OX_INT8, LIST(-128, -1, 0, 5), LIST(-128, 1, 0, 5));
    check_unary("Abs", 13, OX_UINT16, OX_UINT16, LIST(65535, 1, 0, 5), LIST(65535, 1, 0, 5));
    check_unary("Neg", 13, OX_INT32, OX_INT32, LIST(-2147483648.0, -1, 0, 5),
                LIST(-2147483648.0, 1, 0, -5));
    check_unary("Sign", 13, OX_INT64, OX_INT64, LIST(-9, -1, 0, 5), LIST(-1, -1, 0, 1));
    check_unary("Sign", 13, OX_UINT8, OX_UINT8, LIST(255, 1, 0, 5), LIST(1, 1, 0, 1));
    check_floats("Sign", 13, LIST(-inf, nan_, 0, 5), LIST(-1, nan_, 0, 1));
    check_unary("Erf", 9, OX_INT32, OX_INT32, LIST(-9, 1, 0, 9), LIST(-1, 0, 0, 1));
}
END_TEST

START_TEST(activations_follow_their_formulas)
{
    const double e = exp(-2);
    check_floats("Celu", 28, LIST(-2, 0, 3, nan_), LIST(e - 1, 0, 3, nan_));
    check_floats("Elu", 6, LIST(-2, 0, 3, nan_), LIST(e - 1, 0, 3, nan_));
    check_floats("Gelu", 20, LIST(-2, 0, 3, -40),
                 LIST(-2 * 0.022750131948179, 0, 2.99595030590511, 0));
    check_floats("HardSigmoid", 6, LIST(-9, 0, 1, 9), LIST(0, 0.5, (double)0.2f + 0.5, 1));
    check_floats("HardSwish", 14, LIST(-9, 0, 1, 9), LIST(0, 0, 2.0 / 3, 9));
    check_floats("Mish", 18, LIST(-1, 0, 1, 90),
                 LIST(-0.303401461374109, 0, 0.865098388267310, 90));
    check_floats("Relu", 14, LIST(-1, 0, 1, nan_), LIST(0, 0, 1, nan_));
    check_floats("Sigmoid", 13, LIST(-2, 0, 2, -800), LIST(e / (1 + e), 0.5, 1 / (1 + e), 0));
    check_floats("Softplus", 1, LIST(-800, 0, 2, 800), LIST(0, log(2), log1p(exp(2)), 800));
    check_floats("Softsign", 1, LIST(-1, 0, 3, 1), LIST(-0.5, 0, 0.75, 0.5));
    check_floats("Swish", 24, LIST(-2, 0, 2, -800), LIST(-2 * e / (1 + e), 0, 2 / (1 + e), 0));
    check_floats("ThresholdedRelu", 10, LIST(-1, 1, 1.5, nan_), LIST(0, 0, 1.5, 0));
    check_floats("LeakyRelu", 6, LIST(-1, 1, 1.5, 0), LIST(-(double)0.01f, 1, 1.5, 0));
    check_floats("Shrink", 9, LIST(-1, 0.5, 1.5, 0), LIST(-1, 0, 1.5, 0));
    check_unary("Relu", 14, OX_INT8, OX_INT8, LIST(-128, -1, 0, 5), LIST(0, 0, 0, 5));
}
END_TEST

START_TEST(selu_has_other_defaults_in_version_1)
{
    check_floats("Selu", 1, LIST(1, 0, 2, 1),
                 LIST((double)1.0507f, 0, 2 * (double)1.0507f, (double)1.0507f));
    check_floats("Selu", 6, LIST(1, 0, 2, 1),
                 LIST((double)1.05070102214813f, 0, 2 * (double)1.05070102214813f,
                      (double)1.05070102214813f));
}
END_TEST

START_TEST(shrink_takes_integers)
{
    struct one_op *op = one_op_new("", "Shrink", 9);
    ONE_OP_IN(op, OX_INT8, "4", -3, -2, 2, 3);
    one_op_float(op, "lambd", 2);
    one_op_float(op, "bias", 1.5);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT8, "4", 0, -1, 0, 0, 1);
    one_op_free(op);
}
END_TEST

START_TEST(gelu_refuses_an_unknown_approximation)
{
    struct one_op *op = one_op_new("", "Gelu", 20);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    one_op_string(op, "approximate", "cubic");
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "cubic"));
    one_op_free(op);
}
END_TEST

START_TEST(empty_tensors_and_scalars_pass)
{
    struct one_op *op = one_op_new("", "Exp", 13);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "2x0x3");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "2x0x3");
    one_op_free(op);
    op = one_op_new("", "Exp", 13);
    ONE_OP_IN(op, OX_FLOAT32, "", 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "", 0, 1);
    one_op_free(op);
}
END_TEST

START_TEST(the_oracle_computes_in_double)
{
    struct one_op *op = one_op_new("", "Exp", 13);
    one_op_set_oracle(op);
    ONE_OP_IN(op, OX_FLOAT16, "2", 1, 0.5);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2", 1e-15, exp(1), exp(0.5));
    one_op_free(op);
}
END_TEST

/* ---- Comparing and logic ----------------------------------------------------------------------------------------- */

static void check_compare(const char *name, enum ox_dtype dtype, const double a[4],
                          const double b[4], const double expected[4])
{
    struct one_op *op = one_op_new("", name, 16);
    one_op_in(op, dtype, "4", a, 4);
    one_op_in(op, dtype, "4", b, 4);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect(op, 0, OX_BOOL, "4", 0, expected, 4);
    one_op_free(op);
}

START_TEST(comparisons_give_bools)
{
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_BFLOAT16, OX_INT8, OX_UINT64};
    const double a[4] = {1, 2, 3, 3}, b[4] = {2, 2, 1, 3};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        check_compare("Equal", types[i], a, b, LIST(0, 1, 0, 1));
        check_compare("Less", types[i], a, b, LIST(1, 0, 0, 0));
        check_compare("LessOrEqual", types[i], a, b, LIST(1, 1, 0, 1));
        check_compare("Greater", types[i], a, b, LIST(0, 0, 1, 0));
        check_compare("GreaterOrEqual", types[i], a, b, LIST(0, 1, 1, 1));
    }
    check_compare("GreaterOrEqual", OX_FLOAT32, LIST(nan_, 1, nan_, inf), LIST(nan_, nan_, 1, inf),
                  LIST(0, 0, 0, 1));
    check_compare("Equal", OX_BOOL, LIST(0, 1, 0, 1), LIST(0, 0, 1, 1), LIST(1, 0, 0, 1));
}
END_TEST

START_TEST(strings_are_equal_by_their_bytes)
{
    static const char *const a[] = {"one", "", "three"}, *const b[] = {"one", "two", "threE"};
    struct one_op *op = one_op_new("", "Equal", 19);
    one_op_in_strings(op, "3", a, 3);
    one_op_in_strings(op, "3", b, 3);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_BOOL, "3", 0, 1, 0, 0);
    one_op_free(op);
}
END_TEST

START_TEST(logic_and_bits)
{
    static const struct {
        const char *name;
        double bits[4], bools[4];
    } cases[] = {{"And", {12 & 10, 0, 0xF0, 1}, {1, 0, 0, 0}},
                 {"Or", {12 | 10, 7, 0xFF, 3}, {1, 1, 1, 0}},
                 {"Xor", {12 ^ 10, 7, 0x0F, 2}, {0, 1, 1, 0}}};
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        char name[16];
        snprintf(name, sizeof name, "Bitwise%s", cases[i].name);
        struct one_op *op = one_op_new("", name, 18);
        ONE_OP_IN(op, OX_UINT8, "4", 12, 7, 0xF0, 1);
        ONE_OP_IN(op, OX_UINT8, "4", 10, 0, 0xFF, 3);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_UINT8, "4", 0, cases[i].bits, 4);
        one_op_free(op);
        op = one_op_new("", cases[i].name, 7);
        ONE_OP_IN(op, OX_BOOL, "4", 1, 1, 0, 0);
        ONE_OP_IN(op, OX_BOOL, "4", 1, 0, 1, 0);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, OX_BOOL, "4", 0, cases[i].bools, 4);
        one_op_free(op);
    }
    check_unary("Not", 1, OX_BOOL, OX_BOOL, LIST(1, 0, 1, 0), LIST(0, 1, 0, 1));
    check_unary("BitwiseNot", 18, OX_INT16, OX_INT16, LIST(0, -1, 5, 256), LIST(-1, 0, -6, -257));
}
END_TEST

START_TEST(special_values_are_seen_in_every_type)
{
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_FLOAT16, OX_BFLOAT16};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        check_unary("IsNaN", 20, types[i], OX_BOOL, LIST(nan_, inf, 0, 1), LIST(1, 0, 0, 0));
        check_unary("IsInf", 20, types[i], OX_BOOL, LIST(nan_, inf, -inf, 1), LIST(0, 1, 1, 0));
    }
    for (int signs = 0; signs < 4; signs++) {
        struct one_op *one = one_op_new("", "IsInf", 20);
        ONE_OP_IN(one, OX_FLOAT32, "4", nan_, inf, -inf, 1);
        one_op_int(one, "detect_negative", signs & 1);
        one_op_int(one, "detect_positive", signs >> 1);
        ck_assert_int_eq(one_op_run(one, 1), OX_OK);
        ONE_OP_OUT(one, 0, OX_BOOL, "4", 0, 0, signs >> 1, signs & 1, 0);
        one_op_free(one);
    }
    static const uint8_t e5m2[4] = {0x7C, 0xFC, 0x7F, 0x3C}, fnuz[4] = {0x80, 0x7F, 0, 1};
    struct one_op *op = one_op_new("", "IsInf", 20);
    one_op_in_data(op, OX_FLOAT8E5M2, "4", e5m2, 4);
    one_op_int(op, "detect_negative", 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_BOOL, "4", 0, 1, 0, 0, 0);
    one_op_free(op);
    op = one_op_new("", "IsNaN", 20);
    one_op_in_data(op, OX_FLOAT8E4M3FNUZ, "4", fnuz, 4);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_BOOL, "4", 0, 1, 0, 0, 0);
    one_op_free(op);
}
END_TEST

/* ---- Clip, Where, Max and their kin ------------------------------------------------------------------------------ */

START_TEST(clip_by_attributes)
{
    struct one_op *op = one_op_new("", "Clip", 1);
    ONE_OP_IN(op, OX_FLOAT16, "4", -5, 0.5, 5, inf);
    one_op_float(op, "max", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "4", 0, -5, 0.5, 1, 1);
    one_op_free(op);
    op = one_op_new("", "Clip", 6);
    ONE_OP_IN(op, OX_FLOAT32, "4", -5, 0.5, 5, nan_);
    one_op_float(op, "min", -1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "4", 0, -1, 0.5, 5, nan_);
    one_op_free(op);
}
END_TEST

START_TEST(clip_by_inputs_prefers_the_greatest_bound)
{
    struct one_op *op = one_op_new("", "Clip", 13);
    ONE_OP_IN(op, OX_INT8, "3", -100, 0, 100);
    ONE_OP_IN(op, OX_INT8, "", 5);
    ONE_OP_IN(op, OX_INT8, "", -5);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT8, "3", 0, -5, -5, -5);
    one_op_free(op);
    op = one_op_new("", "Clip", 12);
    ONE_OP_IN(op, OX_UINT64, "3", 1, 7, 100);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_UINT64, "", 9);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_UINT64, "3", 0, 1, 7, 9);
    one_op_free(op);
}
END_TEST

START_TEST(clip_without_a_bound_stays_finite)
{
    static const struct {
        enum ox_dtype dtype;
        double most;
    } cases[] = {{OX_FLOAT16, 65504},
                 {OX_BFLOAT16, 0x1.FEp127},
                 {OX_FLOAT32, (double)FLT_MAX},
                 {OX_FLOAT64, DBL_MAX}};
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        struct one_op *op = one_op_new("", "Clip", 13);
        ONE_OP_IN(op, cases[i].dtype, "4", inf, -inf, nan_, -2);
        ONE_OP_IN(op, cases[i].dtype, "", -1);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, cases[i].dtype, "4", 0, cases[i].most, -1, nan_, -1);
        one_op_free(op);
    }
}
END_TEST

START_TEST(clip_bounds_are_scalars)
{
    struct one_op *op = one_op_new("", "Clip", 13);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "min must be a scalar"));
    one_op_free(op);
}
END_TEST

START_TEST(where_moves_elements_of_every_size)
{
    static const enum ox_dtype types[] = {OX_UINT8, OX_BOOL,      OX_FLOAT16,   OX_FLOAT32,
                                          OX_INT64, OX_COMPLEX64, OX_COMPLEX128};
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        struct one_op *op = one_op_new("", "Where", 16);
        ONE_OP_IN(op, OX_BOOL, "2x1", 1, 0);
        ONE_OP_IN(op, types[i], "3", 0, 1, 0);
        ONE_OP_IN(op, types[i], "2x3", 1, 1, 1, 1, 0, 1);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, types[i], "2x3", 0, 0, 1, 0, 1, 0, 1);
        one_op_free(op);
    }
}
END_TEST

START_TEST(where_copies_strings)
{
    static const char *const x[] = {"a", "b"}, *const y[] = {"fallback"},
                             *const expected[] = {"a", "fallback"};
    struct one_op *op = one_op_new("", "Where", 9);
    ONE_OP_IN(op, OX_BOOL, "2", 1, 0);
    one_op_in_strings(op, "2", x, 2);
    one_op_in_strings(op, "", y, 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect_strings(op, 0, "2", expected, 2);
    one_op_free(op);
}
END_TEST

static void check_three(const char *name, int64_t opset, enum ox_dtype dtype,
                        const double expected[4])
{
    struct one_op *op = one_op_new("", name, opset);
    ONE_OP_IN(op, dtype, "2x2", 1, 8, 3, 4);
    ONE_OP_IN(op, dtype, "2", 2, 7);
    ONE_OP_IN(op, dtype, "2x1", 3, 1);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    one_op_expect(op, 0, dtype, "2x2", 1e-2, expected, 4);
    one_op_free(op);
}

START_TEST(many_inputs_broadcast_together)
{
    check_three("Max", 13, OX_FLOAT32, LIST(3, 8, 3, 7));
    check_three("Min", 13, OX_INT16, LIST(1, 3, 1, 1));
    check_three("Sum", 13, OX_FLOAT64, LIST(6, 18, 6, 12));
    check_three("Mean", 13, OX_BFLOAT16, LIST(2, 6, 2, 4));
}
END_TEST

/* Rows so short that several go through a kernel at once, over more elements than one task takes. */
START_TEST(short_rows_are_the_same_for_many_rows)
{
    enum { OUTER = 3, ROWS = 997, INNER = 7, N = OUTER * ROWS * INNER };
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_INT8, OX_INT16};
    static double x[N], y[OUTER * INNER], sum[N];
    for (size_t i = 0; i < OUTER * INNER; i++)
        y[i] = (double)(i * 5 % 23);
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)(i * 37 % 101);
        sum[i] = x[i] + y[i / (ROWS * INNER) * INNER + i % INNER];
    }
    for (size_t i = 0; i < OX_COUNT(types); i++) {
        for (int first = 0; first < 2; first++) {
            struct one_op *op = one_op_new("", "Add", 14);
            if (first)
                one_op_in(op, types[i], "3x1x7", y, OUTER * INNER);
            one_op_in(op, types[i], "3x997x7", x, N);
            if (!first)
                one_op_in(op, types[i], "3x1x7", y, OUTER * INNER);
            ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
            one_op_expect(op, 0, types[i], "3x997x7", 0, sum, N);
            one_op_free(op);
        }
    }
    struct one_op *op = one_op_new("", "Sum", 13);
    one_op_in(op, OX_FLOAT32, "3x997x7", x, N);
    ONE_OP_IN(op, OX_FLOAT32, "", 0);
    one_op_in(op, OX_FLOAT32, "3x1x7", y, OUTER * INNER);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    one_op_expect(op, 0, OX_FLOAT32, "3x997x7", 0, sum, N);
    one_op_free(op);
}
END_TEST

START_TEST(nan_wins_in_max_and_min)
{
    static const char *const names[] = {"Max", "Min"};
    for (size_t i = 0; i < 2; i++) {
        struct one_op *op = one_op_new("", names[i], 13);
        ONE_OP_IN(op, OX_FLOAT32, "2", nan_, 1);
        ONE_OP_IN(op, OX_FLOAT32, "2", 1, nan_);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 0, nan_, nan_);
        one_op_free(op);
    }
}
END_TEST

/* At -O2: by products, near what the power function of C gives, which -O0 calls. */
START_TEST(small_powers_at_every_level)
{
    static const float x[] = {0,     -0.0f, 1,     -1,       0.3f,      -7.25f,
                              1e-9f, 3e12f, 1e20f, INFINITY, -INFINITY, NAN};
    static const char *const types[] = {"float", "int64",
                                        "double"}; /* of the exponent, or of all */
    for (int turn = 0; turn < 9; turn++) {
        const int power = 2 + turn / 3;
        char text[300];
        struct text_run f[2];
        snprintf(text, sizeof text,
                 "<ir_version: 10, opset_import: [\"\" : 20]> g (float[N] x) => (float[N] y) "
                 "<%s p = {%d}> { %s }",
                 types[turn % 3], power,
                 turn % 3 == 2 ? "w = Cast<to = 11>(x) z = Pow(w, p) y = Cast<to = 1>(z)"
                               : "y = Pow(x, p)");
        for (int k = 0; k < 2; k++) {
            const struct ox_run_options options = {.level = 2 * k};
            text_must_plan(&f[k], text, &options);
            text_give_floats(&f[k], OX_COUNT(x), x);
            text_must_run(&f[k]);
        }
        for (size_t i = 0; i < OX_COUNT(x); i++) {
            const double a = ox_tensor_get_double(ox_datum_get_tensor(f[0].out[0]), i);
            const double b = ox_tensor_get_double(ox_datum_get_tensor(f[1].out[0]), i);
            ck_assert_msg(isnan(a) ? isnan(b) : a == b || fabs(a - b) <= 2.4e-7 * fabs(a),
                          "%g^%d: %.9g, not %.9g", (double)x[i], power, b, a);
        }
        text_close(&f[0]);
        text_close(&f[1]);
    }
}
END_TEST

START_TEST(many_inputs_had_one_shape_before_version_8)
{
    struct one_op *op = one_op_new("", "Sum", 6);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    one_op_free(op);
    op = one_op_new("", "Mean", 6);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 0, 1, 2);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_elementwise");
    TCase *tcase = tcase_create("elementwise");
    tcase_add_test(tcase, functions_are_those_of_the_c_library);
    tcase_add_test(tcase, abs_neg_and_sign_take_integers);
    tcase_add_test(tcase, activations_follow_their_formulas);
    tcase_add_test(tcase, selu_has_other_defaults_in_version_1);
    tcase_add_test(tcase, shrink_takes_integers);
    tcase_add_test(tcase, gelu_refuses_an_unknown_approximation);
    tcase_add_test(tcase, empty_tensors_and_scalars_pass);
    tcase_add_test(tcase, the_oracle_computes_in_double);
    tcase_add_test(tcase, comparisons_give_bools);
    tcase_add_test(tcase, strings_are_equal_by_their_bytes);
    tcase_add_test(tcase, logic_and_bits);
    tcase_add_test(tcase, special_values_are_seen_in_every_type);
    tcase_add_test(tcase, clip_by_attributes);
    tcase_add_test(tcase, clip_by_inputs_prefers_the_greatest_bound);
    tcase_add_test(tcase, clip_without_a_bound_stays_finite);
    tcase_add_test(tcase, clip_bounds_are_scalars);
    tcase_add_test(tcase, where_moves_elements_of_every_size);
    tcase_add_test(tcase, where_copies_strings);
    tcase_add_test(tcase, many_inputs_broadcast_together);
    tcase_add_test(tcase, short_rows_are_the_same_for_many_rows);
    tcase_add_test(tcase, nan_wins_in_max_and_min);
    tcase_add_test(tcase, small_powers_at_every_level);
    tcase_add_test(tcase, many_inputs_had_one_shape_before_version_8);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
