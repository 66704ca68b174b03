/* Mixtures of experts of com.microsoft. Expected values are onnxruntime's where they are not plain to see. */
#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

/* Two experts of weights that are all 1, one token of 1 and 2, scores of 0 and 1. */
static struct one_op *mixture(int64_t k, const char *activation, const char *router)
{
    struct one_op *op = one_op_new("com.microsoft", "MoE", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, router, 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x2", 0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x2", 1, 1, 1, 1, 1, 1, 1, 1);
    one_op_int(op, "k", k);
    one_op_string(op, "activation_type", activation);
    return op;
}

START_TEST(a_token_goes_to_the_best_expert)
{
    static const struct {
        const char *activation;
        double expected;
    } cases[] = {{"relu", 0.6579528}, {"gelu", 0.45383108}, {"silu", 0.40919295}};
    struct one_op *op = mixture(1, cases[_i].activation, "1x2");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 1e-6, cases[_i].expected, cases[_i].expected);
    one_op_free(op);
}
END_TEST

START_TEST(shares_of_all_experts_are_one)
{
    struct one_op *op = mixture(2, "identity", "1x2");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 1e-6, 0.9, 0.9);
    one_op_free(op);
}
END_TEST

START_TEST(gates_stand_between_what_they_let_through)
{
    struct one_op *op = one_op_new("com.microsoft", "MoE", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 3);
    ONE_OP_IN(op, OX_FLOAT32, "1x4x2", 0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", 1, 1, 1, 1);
    one_op_string(op, "activation_type", "swiglu");
    one_op_int(op, "swiglu_fusion", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 1e-6, 0.87122532, 0.87122532);
    one_op_free(op);
}
END_TEST

/* By onnxruntime's documentation of MoE: min(gate * sigmoid(alpha * gate), limit) * (clamp(up) + beta). */
START_TEST(activated_gates_are_limited_where_asked)
{
    for (int late = 0; late < 2; late++) {
        struct one_op *op = one_op_new("com.microsoft", "MoE", 1);
        ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
        ONE_OP_IN(op, OX_FLOAT32, "1x1", 3);
        ONE_OP_IN(op, OX_FLOAT32, "1x4x1", 3, -5, 0.5, 1);
        one_op_in_none(op);
        ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 10);
        one_op_string(op, "activation_type", "swiglu");
        one_op_int(op, "swiglu_fusion", 1);
        one_op_float(op, "swiglu_limit", 2);
        one_op_float(op, "activation_beta", 0.5F);
        one_op_int(op, "swiglu_limit_after_activation", late);
        RUN_OK(op, 1);
        /* 3 and 0.5 through the gate: 2.8577 and 0.3112; 2: 1.7616. */
        const double first = late ? 2 : 1.7615942, second = 0.31122967;
        ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 1e-6, first * -1.5 + 10 * second * 1.5);
        one_op_free(op);
    }
    struct one_op *op = mixture(1, "silu", "1x2");
    one_op_int(op, "swiglu_limit_after_activation", 1);
    RUN_FAILS(op, 1, "swiglu_limit_after_activation of 'silu'");
}
END_TEST

START_TEST(mixtures_that_do_not_fit_are_refused)
{
    RUN_FAILS(mixture(3, "relu", "1x2"), 1, "k is 3 of 2 experts");
    RUN_FAILS(mixture(0, "relu", "1x2"), 1, "k is 0");
    RUN_FAILS(mixture(1, "relu", "2x1"), 1, "router_probs is not [1, 2]");
    RUN_FAILS(mixture(1, "rely", "1x2"), 1, "'rely' is unknown");
    RUN_FAILS_AS(mixture(1, "swiglu", "1x2"), 1, OX_UNSUPPORTED, "swiglu of two weights");
}
END_TEST

/* One expert: rows of half of (0, 1) and (1, 2), then of twice (0, 0) and (2, 1). */
static struct one_op *codes(int64_t bits, const char *scales, bool zeros)
{
    struct one_op *op = one_op_new("com.microsoft", "QMoE", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 5);
    ONE_OP_IN(op, OX_UINT8, "1x2x1", 0x98, 0xa9);
    one_op_in(op, OX_FLOAT32, scales, (const double[]){0.5, 0.5, 0.5}, scales[2] == '2' ? 2 : 3);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_UINT8, "1x2x1", 0x88, 0x9a);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 2, 2);
    for (size_t i = 0; i < 4; i++)
        one_op_in_none(op);
    if (zeros)
        ONE_OP_IN(op, OX_UINT8, "1x1", 0x78);
    one_op_int(op, "expert_weight_bits", bits);
    return op;
}

START_TEST(experts_of_codes)
{
    struct one_op *op = codes(4, "1x2", false);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 0, 0, 9);
    one_op_free(op);
    op = codes(4, "1x2", true); /* the second row begins at 7 */
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 0, 0, 12);
    one_op_free(op);
}
END_TEST

START_TEST(codes_of_other_layouts_are_refused)
{
    struct one_op *op = codes(4, "1x2", false);
    for (size_t i = 11; i < 15; i++)
        one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    RUN_FAILS_AS(op, 1, OX_UNSUPPORTED, "input 15 is set");
    for (int of_weights = 0; of_weights < 2; of_weights++) {
        op = one_op_new("com.microsoft", "QMoE", 1);
        ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
        ONE_OP_IN(op, OX_FLOAT32, "1x1", 5);
        ONE_OP_IN(op, of_weights ? OX_FLOAT8E4M3FN : OX_UINT8, "1x2x1", 1, 2);
        ONE_OP_IN(op, OX_FLOAT8E4M3FN, "1x2", 0.5, 0.5);
        one_op_in_none(op);
        ONE_OP_IN(op, of_weights ? OX_FLOAT8E4M3FN : OX_UINT8, "1x2x1", 8, 9);
        ONE_OP_IN(op, OX_FLOAT8E4M3FN, "1x2", 2, 2);
        RUN_FAILS_AS(op, 1, OX_UNSUPPORTED,
                     of_weights ? "fc1 weights are float8e4m3fn"
                                : "fc1 has scales of float8e4m3fn");
    }
}
END_TEST

START_TEST(codes_that_do_not_fit_are_refused)
{
    RUN_FAILS(codes(3, "1x2", false), 1, "weights of 3 bits");
    RUN_FAILS(codes(8, "1x2", false), 1, "fc1 weights are not [1, 1, 2]");
    RUN_FAILS(codes(4, "1x3", false), 1, "fc1 scales have 3 elements, not 2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_moe");
    TCase *tcase = tcase_create("moe");
    tcase_add_loop_test(tcase, a_token_goes_to_the_best_expert, 0, 3);
    tcase_add_test(tcase, shares_of_all_experts_are_one);
    tcase_add_test(tcase, gates_stand_between_what_they_let_through);
    tcase_add_test(tcase, activated_gates_are_limited_where_asked);
    tcase_add_test(tcase, mixtures_that_do_not_fit_are_refused);
    tcase_add_test(tcase, experts_of_codes);
    tcase_add_test(tcase, codes_of_other_layouts_are_refused);
    tcase_add_test(tcase, codes_that_do_not_fit_are_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
