/* Attention in its forms, RotaryEmbedding: masks, windows, lengths, and what must be refused. */
#include <math.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"

/* One head of size 1: queries 0 (scores all equal), keys 1, values 1, 10, 100. */
static struct one_op *uniform(int64_t opset)
{
    struct one_op *op = one_op_new("", "Attention", opset);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x2x1", 0, 0);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x3x1", 1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x3x1", 1, 10, 100);
    return op;
}

START_TEST(attention_masks_by_type_and_pads_short_masks)
{
    struct one_op *op = uniform(23);
    ONE_OP_IN(op, OX_BOOL, "2x2", 1, 1, 0, 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x2x1", 1e-15, 5.5, 0);
    one_op_free(op);
    op = uniform(23);
    ONE_OP_IN(op, OX_FLOAT64, "1x3", 0, -(double)INFINITY, log(3));
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x2x1", 1e-15, 75.25, 75.25);
    one_op_free(op);
}
END_TEST

START_TEST(attention_is_causal_after_the_valid_keys)
{
    struct one_op *op = uniform(24);
    for (int i = 0; i < 3; i++)
        one_op_in_none(op);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    one_op_int(op, "is_causal", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x2x1", 1e-15, 1, 5.5);
    one_op_free(op);
}
END_TEST

START_TEST(attention_joins_the_past)
{
    struct one_op *op = uniform(23);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1x1", 5);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1x1", 1000);
    one_op_int(op, "is_causal", 1);
    RUN_OK(op, 4);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x2x1", 1e-15, 500.5, 337);
    ONE_OP_OUT(op, 1, OX_FLOAT64, "1x1x4x1", 0, 5, 1, 1, 1);
    ONE_OP_OUT(op, 2, OX_FLOAT64, "1x1x4x1", 0, 1000, 1, 10, 100);
    one_op_free(op);
}
END_TEST

START_TEST(attention_windows_on_both_sides)
{
    struct one_op *op = uniform(25);
    one_op_int(op, "left_window_size", 0);
    one_op_int(op, "right_window_size", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x2x1", 1e-15, 5.5, 55);
    one_op_free(op);
    op = uniform(25);
    one_op_int(op, "left_window_size", INT64_MAX);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x2x1", 1e-15, 37, 37);
    one_op_free(op);
}
END_TEST

START_TEST(attention_gives_each_stage_of_its_scores)
{
    static const double want[] = {6, 2 * 0.99505475368673045, 2 * 0.99505475368673045 + 1, 1};
    for (int64_t mode = 0; mode < 4; mode++) {
        struct one_op *op = one_op_new("", "Attention", 23);
        ONE_OP_IN(op, OX_FLOAT64, "1x1x1x1", 2);
        ONE_OP_IN(op, OX_FLOAT64, "1x1x1x1", 3);
        ONE_OP_IN(op, OX_FLOAT64, "1x1x1x1", 7);
        ONE_OP_IN(op, OX_FLOAT64, "1x1", 1);
        one_op_float(op, "softcap", 2);
        one_op_int(op, "qk_matmul_output_mode", mode);
        RUN_OK(op, 4);
        ONE_OP_OUT(op, 3, OX_FLOAT64, "1x1x1x1", 1e-15, want[mode]);
        one_op_free(op);
    }
}
END_TEST

START_TEST(attention_names_what_is_wrong)
{
    struct one_op *op = uniform(24);
    for (int i = 0; i < 3; i++)
        one_op_in_none(op);
    ONE_OP_IN(op, OX_INT64, "1", 4);
    RUN_FAILS(op, 1, "nonpad_kv_seqlen[0] is 4");
    op = uniform(23);
    ONE_OP_IN(op, OX_FLOAT64, "4", 1, 1, 1, 1);
    RUN_FAILS(op, 1, "does not broadcast");
    op = uniform(23);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1x1", 5);
    RUN_FAILS(op, 1, "go together");
    op = one_op_new("", "Attention", 23);
    for (int i = 0; i < 3; i++)
        ONE_OP_IN(op, OX_FLOAT32, "1x1x3", 1, 2, 3);
    one_op_int(op, "q_num_heads", 2);
    one_op_int(op, "kv_num_heads", 1);
    RUN_FAILS(op, 1, "q_num_heads 2");
    op = one_op_new("", "Attention", 23);
    ONE_OP_IN(op, OX_FLOAT32, "1x3x1x1", 1, 2, 3);
    for (int i = 0; i < 2; i++)
        ONE_OP_IN(op, OX_FLOAT32, "1x2x1x1", 1, 2);
    RUN_FAILS(op, 1, "no multiple");
}
END_TEST

START_TEST(attention_without_keys_is_zero)
{
    struct one_op *op = one_op_new("", "Attention", 23);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x2", 1, 2);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "1x1x0x2");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "1x1x0x2");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1x2", 0, 0, 0);
    one_op_free(op);
}
END_TEST

START_TEST(linear_attention_demands_the_gates_of_its_rule)
{
    struct one_op *op = one_op_new("", "LinearAttention", 27);
    for (int i = 0; i < 3; i++)
        ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 1, 2);
    one_op_int(op, "q_num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    one_op_string(op, "update_rule", "gated");
    RUN_FAILS(op, 2, "needs decay");
    op = one_op_new("", "LinearAttention", 27);
    for (int i = 0; i < 3; i++)
        ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 1, 2);
    one_op_int(op, "q_num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    one_op_string(op, "update_rule", "linear");
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x1", 0, 1, 10);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x1x1", 0, 5);
    one_op_free(op);
}
END_TEST

START_TEST(rotary_checks_positions)
{
    struct one_op *op = one_op_new("", "RotaryEmbedding", 23);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 0);
    ONE_OP_IN(op, OX_INT64, "1x1", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1x2", 0, -2, 1);
    one_op_free(op);
    for (double bad = -1; bad < 4; bad += 3) {
        op = one_op_new("", "RotaryEmbedding", 23);
        ONE_OP_IN(op, OX_FLOAT32, "1x1x1x2", 1, 2);
        ONE_OP_IN(op, OX_FLOAT32, "2x1", 0, 1);
        ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 0);
        ONE_OP_IN(op, OX_INT64, "1x1", bad);
        RUN_FAILS(op, 1, bad < 0 ? "position_ids[0] is -1" : "position_ids[0] is 2");
    }
}
END_TEST

/* 40 tokens of three heads, of whose 42 numbers 38 turn. */
static struct one_op *rotary_of(enum ox_dtype dtype, bool by_head, bool interleaved)
{
    enum { TOKENS = 40, HEADS = 3, SIZE = 42, HALF = 19, N = TOKENS * HEADS * SIZE };
    static const char *const shapes[] = {"1x40x126", "1x3x40x42"};
    static const unsigned steps[] = {37, 11, 23};
    struct one_op *op = one_op_new("", "RotaryEmbedding", 23);
    for (size_t i = 0; i < 3; i++) {
        const size_t n = i ? TOKENS * HALF : N;
        float *floats = calloc(n, sizeof *floats);
        double *doubles = calloc(n, sizeof *doubles);
        ck_assert(floats && doubles);
        for (size_t k = 0; k < n; k++)
            doubles[k] = floats[k] = (float)(k * steps[i] % 101) / 51 - 1;
        one_op_in_data(op, dtype, i ? "1x40x19" : shapes[by_head],
                       dtype == OX_FLOAT32 ? (const void *)floats : doubles,
                       n * ox_dtype_size(dtype));
        free(floats);
        free(doubles);
    }
    one_op_int(op, "rotary_embedding_dim", 2 * HALF);
    one_op_int(op, "interleaved", interleaved);
    if (!by_head)
        one_op_int(op, "num_heads", HEADS);
    RUN_OK(op, 1);
    return op;
}

START_TEST(rotary_of_floats_is_that_of_doubles_rounded)
{
    struct one_op *narrow = rotary_of(OX_FLOAT32, _i & 1, _i & 2);
    struct one_op *wide = rotary_of(OX_FLOAT64, _i & 1, _i & 2);
    const struct ox_tensor *y = one_op_out(narrow, 0), *z = one_op_out(wide, 0);
    ck_assert_uint_eq(y->n, z->n);
    for (size_t i = 0; i < y->n; i++)
        ck_assert(((const float *)y->data)[i] == (float)((const double *)z->data)[i]);
    one_op_free(narrow);
    one_op_free(wide);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("attention");
    TCase *tc = tcase_create("attention");
    tcase_add_test(tc, attention_masks_by_type_and_pads_short_masks);
    tcase_add_test(tc, attention_is_causal_after_the_valid_keys);
    tcase_add_test(tc, attention_joins_the_past);
    tcase_add_test(tc, attention_windows_on_both_sides);
    tcase_add_test(tc, attention_gives_each_stage_of_its_scores);
    tcase_add_test(tc, attention_names_what_is_wrong);
    tcase_add_test(tc, attention_without_keys_is_zero);
    tcase_add_test(tc, linear_attention_demands_the_gates_of_its_rule);
    tcase_add_test(tc, rotary_checks_positions);
    tcase_add_loop_test(tc, rotary_of_floats_is_that_of_doubles_rounded, 0, 4);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
