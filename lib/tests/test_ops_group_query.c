/* GroupQueryAttention of com.microsoft: caches, windows, chunks and norms, by hand. */
#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

static struct one_op *ms(const char *name)
{
    return one_op_new("com.microsoft", name, 1);
}

START_TEST(heads_share_keys_and_windows_slide)
{
    struct one_op *op = ms("GroupQueryAttention");
    one_op_int(op, "num_heads", 2);
    one_op_int(op, "kv_num_heads", 1);
    one_op_int(op, "local_window_size", 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x3x2", 0, 0, 0, 0, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x3x1", 1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x3x1", 2, 4, 8);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "1", 2);
    ONE_OP_IN(op, OX_INT32, "", 3);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x3x2", 1e-6, 2, 2, 3, 3, 6, 6);
    one_op_free(op);
}
END_TEST

START_TEST(a_new_cache_has_the_querys_type)
{
    struct one_op *op = ms("GroupQueryAttention");
    one_op_int(op, "num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    ONE_OP_IN(op, OX_FLOAT16, "1x1x1", 0);
    ONE_OP_IN(op, OX_FLOAT16, "1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT16, "1x1x1", 2);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "1", 0);
    ONE_OP_IN(op, OX_INT32, "", 1);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "1x1x1", 0, 2);
    ONE_OP_OUT(op, 2, OX_FLOAT16, "1x1x1x1", 0, 2);
    one_op_free(op);
}
END_TEST

START_TEST(more_keys_than_there_are_is_refused)
{
    struct one_op *op = ms("GroupQueryAttention");
    one_op_int(op, "num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 2);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "1", 4);
    ONE_OP_IN(op, OX_INT32, "", 5);
    RUN_FAILS(op, 3, "asks for 4 keys of a past of 0");
}
END_TEST

/* One new token of value 16 behind a cache of 3 rows of which 2 are held, or 32 behind a full one. */
static struct one_op *sliding(int64_t window, float value, int last)
{
    struct one_op *op = ms("GroupQueryAttention");
    one_op_int(op, "num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    one_op_int(op, "local_window_size", window);
    one_op_int(op, "sliding_window_cache", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", value);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x3x1", 1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x3x1", 4, 8, 16);
    ONE_OP_IN(op, OX_INT32, "1", last);
    ONE_OP_IN(op, OX_INT32, "", last + 1);
    return op;
}

START_TEST(a_sliding_cache_keeps_its_window)
{
    struct one_op *op = sliding(2, 24, 4);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 1e-6, 16);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "1x1x3x1", 0, 4, 8, 24);
    one_op_free(op);
}
END_TEST

START_TEST(a_full_sliding_cache_drops_several_rows_at_once)
{
    struct one_op *op = sliding(2, 32, 5);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 1e-6, 24);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "1x1x3x1", 0, 16, 32, 0);
    one_op_free(op);
}
END_TEST

START_TEST(a_sliding_cache_smaller_than_its_window_is_refused)
{
    RUN_FAILS(sliding(4, 1, 5), 3, "a sliding cache of 3 rows for a local_window_size of 4");
}
END_TEST

START_TEST(a_cache_of_four_bits_is_read_and_written)
{
    struct one_op *op = ms("GroupQueryAttention");
    one_op_int(op, "num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    one_op_int(op, "kv_cache_bit_width", 4);
    one_op_string(op, "k_quant_type", "PER_TENSOR");
    one_op_string(op, "v_quant_type", "PER_CHANNEL");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 2.3, -9);
    ONE_OP_IN(op, OX_UINT8, "1x1x1x1", 0x88);
    ONE_OP_IN(op, OX_UINT8, "1x1x1x1", 0x5A); /* 2 and -3 */
    ONE_OP_IN(op, OX_INT32, "1", 1);
    ONE_OP_IN(op, OX_INT32, "", 2);
    for (int i = 7; i < 12; i++)
        one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1", 0.5);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x2", 0.5, 0.25);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 1e-6, 1.75, -1.375);
    ONE_OP_OUT(op, 1, OX_UINT8, "1x1x2x1", 0, 0x88, 0xA8);
    ONE_OP_OUT(op, 2, OX_UINT8, "1x1x2x1", 0, 0x5A, 0x0D);
    one_op_free(op);
}
END_TEST

START_TEST(heads_are_normalized_and_scores_given)
{
    struct one_op *op = ms("GroupQueryAttention");
    one_op_int(op, "num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    one_op_int(op, "qk_output", 1);
    one_op_float(op, "scale", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 3, 3);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 5, 5);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "1", 0);
    ONE_OP_IN(op, OX_INT32, "", 1);
    for (int i = 7; i < 14; i++)
        one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 1);
    RUN_OK(op, 4);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 1e-6, 1, 2);
    ONE_OP_OUT(op, 3, OX_FLOAT32, "1x1x1x1", 1e-5, 3);
    one_op_free(op);
}
END_TEST

/* Keys 1 and a query of 0: means of values. A chunk of two rows behind pasts of 1 and 2; of the second batch none counts. */
static struct one_op *chunk(int first, int second, int64_t total, int64_t causal)
{
    struct one_op *op = ms("GroupQueryAttention");
    one_op_int(op, "num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    one_op_int(op, "causal", causal);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 0, 0, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 10, 20, 30, 40);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x3x1", 5, 6, 7, 8, 9, 11);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x3x1", 2, 99, 99, 4, 6, 99);
    ONE_OP_IN(op, OX_INT32, "2", first, 1);
    ONE_OP_IN(op, OX_INT32, "", (double)total);
    for (int i = 7; i < 16; i++)
        one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "2", 1, second);
    return op;
}

START_TEST(rows_behind_a_chunk_stay_out_of_the_cache)
{
    struct one_op *op = chunk(1, 0, 4, 1);
    RUN_OK(op, 3);
    /* Of the second rows of both, and the first of the second, nothing is said. */
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2x1", 1e-6, 6, 6, 5, 5);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "2x1x4x1", 0, 5, 1, 0, 0, 8, 9, 0, 0);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "2x1x4x1", 0, 2, 10, 0, 0, 4, 6, 0, 0);
    one_op_free(op);
    RUN_FAILS(chunk(1, 3, 4, 1), 3, "query_seqlens[1] is 3, not 0 to 2");
    RUN_FAILS(chunk(3, 0, 4, 1), 3, "query_seqlens[0]: the chunk ends at 5 of 4 rows");
    RUN_FAILS(chunk(4, 0, 4, 1), 3, "seqlens_k[0] is 4, total_sequence_length 4");
    RUN_FAILS(chunk(1, 0, 4, 0), 3, "query_seqlens without causal");
}
END_TEST

START_TEST(norms_of_queries_and_keys_have_epsilons_of_their_own)
{
    static const double scores[] = {3, 3 / 2.0, 3 / 5.0};
    for (int i = 0; i < 3; i++) {
        struct one_op *op = ms("GroupQueryAttention");
        one_op_int(op, "num_heads", 1);
        one_op_int(op, "kv_num_heads", 1);
        one_op_int(op, "qk_output", 1);
        one_op_float(op, "scale", 1);
        one_op_float(op, "qk_norm_epsilon", 0);
        if (i == 1)
            one_op_float(op, "q_norm_epsilon", 27); /* of squares of 9 */
        if (i == 2)
            one_op_float(op, "k_norm_epsilon", 24);
        ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 3, 3);
        ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 1);
        ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
        one_op_in_none(op);
        one_op_in_none(op);
        ONE_OP_IN(op, OX_INT32, "1", 0);
        ONE_OP_IN(op, OX_INT32, "", 1);
        for (int k = 7; k < 14; k++)
            one_op_in_none(op);
        ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
        ONE_OP_IN(op, OX_FLOAT32, "2", 1, 1);
        RUN_OK(op, 4);
        ONE_OP_OUT(op, 3, OX_FLOAT32, "1x1x1x1", 1e-6, scores[i]);
        one_op_free(op);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_group_query");
    TCase *tcase = tcase_create("group_query");
    tcase_add_test(tcase, heads_share_keys_and_windows_slide);
    tcase_add_test(tcase, a_new_cache_has_the_querys_type);
    tcase_add_test(tcase, more_keys_than_there_are_is_refused);
    tcase_add_test(tcase, a_sliding_cache_keeps_its_window);
    tcase_add_test(tcase, a_full_sliding_cache_drops_several_rows_at_once);
    tcase_add_test(tcase, a_sliding_cache_smaller_than_its_window_is_refused);
    tcase_add_test(tcase, a_cache_of_four_bits_is_read_and_written);
    tcase_add_test(tcase, heads_are_normalized_and_scores_given);
    tcase_add_test(tcase, rows_behind_a_chunk_stay_out_of_the_cache);
    tcase_add_test(tcase, norms_of_queries_and_keys_have_epsilons_of_their_own);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
