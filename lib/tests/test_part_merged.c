/* Models that onnxruntime has optimized and saved: what it merged gives the same once it is taken apart and merged anew. */
#include <check.h>

#include "graph/pass.h"
#include "tests/check_fused.h"
#include "tests/run_suite.h"

#define MS "com.microsoft."

START_TEST(convolutions_with_what_follows)
{
    check_fused("g (float[2,4,7,6] x) => (float[A,B,C,D] y) { "
                "a = " MS "FusedConv <pads = [1,1,1,1], activation = \"Relu\"> (x, w0, w1) "
                "b = " MS "FusedConv <activation = \"LeakyRelu\", activation_params = [0.3]> "
                "(a, w2, , a) "
                "c = " MS "FusedConv <activation = \"Clip\", activation_params = [-0.1, 0.4]> "
                "(b, w2, w1) "
                "d = " MS
                "FusedConv <activation = \"HardSigmoid\", activation_params = [0.3, 0.4]> "
                "(c, w2) "
                "e = " MS "FusedConv <activation = \"Tanh\", group = 8, dilations = [2,2]> (d, w3) "
                "y = " MS "FusedConv (e, w2, w1, e) }",
                LIST("8,4,3,3", "8", "8,8,1,1", "8,1,2,2"), DIMS(2, 4, 7, 6),
                WANT({"Activation", 0}, {"Transpose", 1}));
}
END_TEST

START_TEST(transposed_convolutions_with_pads_that_are_known)
{
    check_fused("g (float[2,4,7,6] x) => (float[A,B,C,D] y) { "
                "p = Constant <value_ints = [1, 0, 0, 1]> () "
                "a = " MS
                "ConvTransposeWithDynamicPads <strides = [2,1], group = 2> (x, w0, p, w1) "
                "y = " MS "ConvTransposeWithDynamicPads (a, w2, p) }",
                LIST("4,3,3,2", "6", "6,2,2,2"), DIMS(2, 4, 7, 6),
                WANT({"ConvTransposeWithDynamicPads", 0}));
}
END_TEST

/* What is no activation, and what is added in another shape, are left to the kernel, which says so. */
START_TEST(convolutions_that_are_not_understood_stay)
{
    struct text_run f;
    text_open(&f, HEAD "g (float[1,1,2,2] x) => (float[A,B,C,D] y) "
                       "<float[1,1,1,1] w = {2}, float[1] z = {1}> { a = Neg(x) "
                       "b = com.microsoft.FusedConv <activation = \"Relu\"> (a, w, , z) "
                       "y = com.microsoft.FusedConv <activation = \"Rely\"> (b, w) }");
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true};
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    ck_assert_uint_eq(count_own(f.model, "FusedConv"), 2);
    ck_assert_uint_eq(count_own(f.model, "Activation"), 0);
    text_close(&f);
}
END_TEST

START_TEST(products_with_what_follows)
{
    check_fused("g (float[2,5,6] x) => (float[A,B,C] y) { "
                "a = " MS "FusedMatMul <alpha = 0.5, transB = 1> (x, w0) "
                "b = " MS "FusedMatMul <transA = 1> (x, a) "
                "c = " MS "FusedMatMulActivation <activation = \"LeakyRelu\", alpha = 2.0> (b, w1) "
                "d = " MS "TransposeMatMul <transA = 1, transB = 1> (c, w2) "
                "y = " MS "FusedMatMul (d, w3) }",
                LIST("7,6", "7,4", "3,6", "3,2"), DIMS(2, 5, 6),
                WANT({"TransposeMatMul", 0}, {"FusedMatMulActivation", 0}, {"Mul", 0}));
    check_fused("g (float[5,6] x) => (float[A,B] y) { "
                "a = " MS "FusedGemm <transB = 1, activation = \"Relu\", beta = 0.5> (x, w0, w1) "
                "y = " MS "FusedGemm <activation = \"LeakyRelu\"> (a, w2) }",
                LIST("7,6", "7", "7,4"), DIMS(5, 6), WANT({"FusedGemm", 0}, {"LeakyRelu", 0}));
    check_fused("g (float[2,5,6] x) => (float[A,B,C] y) { "
                "a = " MS "FusedMatMul <transBatchA = 1> (x, w0) "
                "b = " MS "FusedMatMul <transBatchA = 1, transA = 1, transBatchB = 1> (x, w1) "
                "c = Concat <axis = 1> (a, b) "
                "y = " MS "FusedMatMul <transBatchB = 1, transB = 1> (c, w2) }",
                LIST("5,6,3", "2,5,3", "7,5,3"), DIMS(2, 5, 6), WANT({"FusedMatMul", 0}));
}
END_TEST

START_TEST(activations_with_a_bias)
{
    check_fused("g (float[2,5,6] x) => (float[A,B,C] y) { "
                "a = MatMul(x, w0) b = " MS "BiasGelu(a, w1) c = MatMul(b, w2) "
                "d = " MS "FastGelu(c, w3) e = " MS "FastGelu(d) f = MatMul(e, w0) "
                "h = " MS "QuickGelu <alpha = 1.5> (f) i = MatMul(h, w2) y = " MS "Gelu(i) }",
                LIST("6,8", "8", "8,6", "6"), DIMS(2, 5, 6),
                WANT({"BiasGelu", 0}, {"FastGelu", 0}, {"QuickGelu", 0}, {"Add", 0}));
}
END_TEST

START_TEST(sums_that_are_normalized)
{
    check_fused(
        "g (float[2,5,6] x) => (float[A,B,C] y) { "
        "a = MatMul(x, w0) "
        "b, m, i, s = " MS "SkipLayerNormalization <epsilon = 0.01> (a, x, w1, w2, w3) "
        "c = MatMul(b, w0) "
        "d, n, j, t = " MS "SkipSimplifiedLayerNormalization <epsilon = 0.02> "
        "(c, s, w1, w2) "
        "e = " MS "SkipLayerNormalization(d, t, w1) y = Add(e, t) }",
        LIST("6,6", "6", "6", "6"), DIMS(2, 5, 6),
        WANT({"SkipLayerNormalization", 0}, {"SkipSimplifiedLayerNormalization", 0}, {"Norm", 3}));
    /* Of these the mean is asked for. */
    check_fused("g (float[2,5,6] x) => (float[A,B,C] y) { "
                "b, m = " MS "SkipLayerNormalization(x, x, w0) y = Add(b, m) }",
                LIST("6"), DIMS(2, 5, 6), WANT({"SkipLayerNormalization", 1}));
}
END_TEST

#define IDS "f = Abs(x) h = Constant <value_float = 4.9> () i = Mul(f, h) ids = Cast <to = 6> (i) "

#define ADD_LENGTHS                                                                                \
    "k = Cast <to = 1> (m) r = Constant <value_ints = [2, 1, 1]> () n = Reshape(k, r) "            \
    "y = Add(a, n) }"

START_TEST(embeddings)
{
    check_fused("g (float[2,4] x) => (float[A,B,C] y) { " IDS "a, m, s = " MS
                "EmbedLayerNormalization <epsilon = 0.01> "
                "(ids, ids, w0, w1, w2, w3, w4) y = Add(a, s) }",
                LIST("5,6", "7,6", "5,6", "6", "6"), DIMS(2, 4),
                WANT({"EmbedLayerNormalization", 0}, {"Norm", 1}));
    check_fused("g (float[N,S] x) => (float[A,B,C] y) { " IDS "y, m = " MS
                "EmbedLayerNormalization (ids, , w0, w1, , w2, w3, , ids) }",
                LIST("5,6", "7,6", "6", "6"), DIMS(3, 2),
                WANT({"EmbedLayerNormalization", 0}, {"Norm", 1}, {"Slice", 0}));
    /* Of these the lengths are asked for, which without a mask are the kernel's to tell. */
    check_fused("g (float[2,4] x) => (float[A,B,C] y) { " IDS "a, m = " MS
                "EmbedLayerNormalization (ids, , w0, w1, , w2, w3, ids) " ADD_LENGTHS,
                LIST("5,6", "7,6", "6", "6"), DIMS(2, 4),
                WANT({"EmbedLayerNormalization", 0}, {"Norm", 1}));
    check_fused("g (float[2,4] x) => (float[A,B,C] y) { " IDS "a, m = " MS
                "EmbedLayerNormalization (ids, , w0, w1, , w2, w3) " ADD_LENGTHS,
                LIST("5,6", "7,6", "6", "6"), DIMS(2, 4), WANT({"EmbedLayerNormalization", 1}));
}
END_TEST

/* Constants of 8 bits, from those of float. */
#define WEIGHTS(name, of)                                                                          \
    name "_f = Constant <value_float = 90.0> () " name "_w = Mul(" of ", " name "_f) " name        \
         " = Cast <to = 3> (" name "_w) "

#define P WEIGHTS("p", "w0")
#define S "k = Constant <value_float = 0.02> () z = Constant <value = int8 {3}> () "
#define X WEIGHTS("p", "x")
#define Q WEIGHTS("q", "w2")
#define R WEIGHTS("r", "w6")

START_TEST(embeddings_of_codes)
{
    check_fused("g (float[2,4] x) => (float[A,B,C] y) { " IDS S P Q R "a, m = " MS
                "QEmbedLayerNormalization <epsilon = 0.01> "
                "(ids, ids, p, q, p, r, r, , k, k, k, k, k, z, z, z, z, z) y = Relu(a) }",
                LIST("5,6", "+1", "7,6", "+1", "+1", "+1", "6"), DIMS(2, 4),
                WANT({"QEmbedLayerNormalization", 0}, {"Norm", 1}, {"DequantizeLinear", 3}));
    /* A scale of one element is no scalar. */
    check_fused("g (float[N,S] x) => (float[A,B,C] y) { " IDS S P Q R
                "j = Constant <value_floats = [0.02]> () y, m = " MS "QEmbedLayerNormalization "
                "(ids, , p, q, , r, r, , j, k, , k, k, z, z, , z, z) }",
                LIST("5,6", "+1", "7,6", "+1", "+1", "+1", "6"), DIMS(3, 2),
                WANT({"QEmbedLayerNormalization", 1}));
}
END_TEST

#define VARYING                                                                                    \
    "k = Constant <value_float = 0.02> () z = Constant <value = uint8 {120}> () "                  \
    "s = Constant <value_floats = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]> () p = QuantizeLinear(x, k, z) "

START_TEST(integer_products)
{
    check_fused(
        "g (float[2,5,6] x) => (float[A,B,C] y) { " P "k = Constant <value_float = 0.02> () " Q R
        "a = " MS
        "DynamicQuantizeMatMul(x, p, w1, , w4) b = Relu(a) c, s, z = DynamicQuantizeLinear(b) "
        "d = " MS "MatMulIntegerToFloat(c, r, s, k, z) "
        "e = " MS "MatMulIntegerToFloat(c, q, s, w3, z, , w5) y = Sub(e, d) }",
        LIST("6,8", "+8", "8,4", "+4", "8", "4", "8,4"), DIMS(2, 5, 6),
        WANT({"DynamicQuantizeMatMul", 0}, {"MatMulIntegerToFloat", 0}, {"IntegerMatMul", 3}));
    /* A scale and a zero point in lists of one. */
    check_fused("g (float[5,8] x) => (float[A,B] y) { " P
                "k = Constant <value_float = 0.02> () " Q R
                "l = Constant <value_floats = [0.03]> () z = Constant <value = uint8[1] {120}> () "
                "c = QuantizeLinear(x, l, z) "
                "d = " MS "MatMulIntegerToFloat(c, r, l, k, z) y = Relu(d) }",
                LIST("6,8", "+8", "8,4", "+4", "8", "4", "8,4"), DIMS(5, 8),
                WANT({"MatMulIntegerToFloat", 0}));
    /* Weights that vary. */
    check_fused("g (float[6,6] x) => (float[A,B] y) { " X "k = Constant <value_float = 0.02> () "
                "y = " MS "DynamicQuantizeMatMul(x, p, k) }",
                NULL, 0, DIMS(6, 6),
                WANT({"DynamicQuantizeMatMul", 0}, {"DynamicQuantizeLinear", 1}));
    check_fused("g (float[2,6,6] x) => (float[A,B,C] y) { " VARYING "a = " MS
                "MatMulIntegerToFloat(p, p, k, k, z, z) "
                "b = " MS "MatMulIntegerToFloat(p, p, k, s, z, z, s) y = Add(a, b) }",
                NULL, 0, DIMS(2, 6, 6), WANT({"MatMulIntegerToFloat", 0}));
    /* Scales of each matrix's columns are the kernel's. */
    check_fused("g (float[2,6,6] x) => (float[A,B,C] y) { " VARYING
                "t = Concat <axis = 0> (s, s) n = Constant <value_ints = [2, 1, 6]> () "
                "u = Reshape(t, n) y = " MS "MatMulIntegerToFloat(p, p, k, u, z, z) }",
                NULL, 0, DIMS(2, 6, 6), WANT({"MatMulIntegerToFloat", 1}));
}
END_TEST

#define PARAMETERS                                                                                 \
    "k = Constant <value_float = 0.02> () l = Constant <value_float = 0.03> () "                   \
    "z = Constant <value = uint8 {120}> () n = Constant <value = uint8 {7}> () "

/* The codes are those of the kernels, which compute in double. */
START_TEST(operators_between_codes)
{
    check_fused("g (float[2,4,6,6] x) => (float[A,B,C,D] y) { " PARAMETERS
                "a = QuantizeLinear(x, k, z) s = " MS "QLinearSigmoid(a, k, z, l, n) "
                "m = " MS "QLinearMul(a, k, z, s, l, n, k, z) "
                "r = " MS "QLinearLeakyRelu <alpha = 0.3> (m, k, z, l, z) "
                "t = Transpose <perm = [0,1,3,2]> (x) b = QuantizeLinear(t, k, z) "
                "e = " MS "QLinearAdd(r, l, z, b, k, z, l, z) "
                "c = " MS "QLinearConcat <axis = 1> (l, z, e, l, z, m, k, z) "
                "v = " MS "QLinearAveragePool <kernel_shape = [2,2], channels_last = 0> "
                "(c, l, z, k, z) "
                "y = DequantizeLinear(v, k, z) }",
                NULL, 0, DIMS(2, 4, 6, 6),
                WANT({"QLinearSigmoid", 0}, {"QLinearMul", 0}, {"QLinearLeakyRelu", 0},
                     {"QLinearAdd", 0}, {"QLinearConcat", 0}, {"QLinearAveragePool", 0},
                     {"Lookup", 3}, {"IntegerAdd", 1}, {"DequantizeLinear", 1}));
}
END_TEST

/* A scale that varies, and channels that are last, are left to the kernels. */
START_TEST(operators_between_codes_that_stay)
{
    check_fused("g (float[2,4,6,6] x) => (float[A,B,C,D] y) { " PARAMETERS
                "a = QuantizeLinear(x, k, z) v = ReduceMax <keepdims = 0> (x) w = Abs(v) "
                "s = " MS "QLinearSigmoid(a, k, z, w, n) "
                "v1 = " MS "QLinearAveragePool <kernel_shape = [2,2], channels_last = 1> "
                "(s, l, n, k, n) "
                "y = DequantizeLinear(v1, k, n) }",
                NULL, 0, DIMS(2, 4, 6, 6), WANT({"QLinearSigmoid", 1}, {"QLinearAveragePool", 1}));
}
END_TEST

START_TEST(attention_with_integer_projections)
{
    check_fused(
        "g (float[2,4,6] x) => (float[A,B,C] y) { " WEIGHTS(
            "p",
            "w0") "c, s, z = DynamicQuantizeLinear(x) k = Constant <value_float = 0.02> () "
                  "m = Constant <value = int32[2,4] {1,1,1,0, 1,1,0,0}> () o = Cast <to = 3> (m) "
                  "h = Constant <value = int8 {0}> () "
                  "a = " MS "QAttention <num_heads = 2, unidirectional = 1> "
                  "(c, p, w1, s, k, , z, h) "
                  "b = " MS "QAttention <num_heads = 3> (c, p, w1, s, w2, m, z) y = Add(a, b) }",
        LIST("6,18", "18", "+18"), DIMS(2, 4, 6), WANT({"QAttention", 0}, {"IntegerMatMul", 2}));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {convolutions_with_what_follows,
                                  transposed_convolutions_with_pads_that_are_known,
                                  convolutions_that_are_not_understood_stay,
                                  products_with_what_follows,
                                  activations_with_a_bias,
                                  sums_that_are_normalized,
                                  embeddings,
                                  embeddings_of_codes,
                                  integer_products,
                                  operators_between_codes,
                                  operators_between_codes_that_stay,
                                  attention_with_integer_projections};
    Suite *suite = suite_create("part_merged");
    TCase *tcase = tcase_create("part_merged");
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
