/* Operators of com.microsoft, and those that onnxruntime adds to ai.onnx. Expected values are onnxruntime's where they are not plain to
 * see. */
#include <math.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

static struct one_op *ms(const char *name)
{
    return one_op_new("com.microsoft", name, 1);
}

/* ---- Fused and renamed -------------------------------------------------------------------------------------------- */

START_TEST(gelus_differ_a_little)
{
    static const char *const names[] = {"Gelu", "FastGelu", "QuickGelu"};
    static const double expected[] = {0.841344746, 0.841191991, 0.845795813};
    struct one_op *op = ms(names[_i]);
    ONE_OP_IN(op, OX_FLOAT32, "2", 0, 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 1e-6, 0, expected[_i]);
    one_op_free(op);
}
END_TEST

START_TEST(a_bias_is_added_along_the_last_axis)
{
    struct one_op *op = ms("BiasAdd");
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2", 10, 20);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", 100, 200, 300, 400);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x2", 0, 111, 222, 313, 424);
    one_op_free(op);
}
END_TEST

START_TEST(a_bias_of_another_length_is_refused)
{
    struct one_op *op = ms("BiasGelu");
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 2, 3);
    RUN_FAILS(op, 1, "the bias has 3 elements");
}
END_TEST

START_TEST(products_end_in_their_activation)
{
    struct one_op *op = ms("FusedGemm");
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, -1, 1, -1);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 1);
    one_op_string(op, "activation", "LeakyRelu");
    one_op_float(op, "activation_alpha", 0.5f);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 0, 4, -1);
    one_op_free(op);
}
END_TEST

START_TEST(products_of_transposed_batches)
{
    struct one_op *op = ms("FusedMatMul");
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 1, 2, 3, 4); /* row, batch, column */
    ONE_OP_IN(op, OX_FLOAT32, "2x1x1", 10, 100);
    one_op_int(op, "transBatchA", 1);
    one_op_float(op, "alpha", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2x1", 0, 20, 60, 400, 800);
    one_op_free(op);
}
END_TEST

START_TEST(an_activation_that_is_unknown_is_named)
{
    struct one_op *op = ms("FusedGemm");
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
    one_op_string(op, "activation", "Frobnicate");
    ck_assert_int_eq(one_op_run(op, 1), OX_UNSUPPORTED);
    ck_assert(strstr(one_op_error(op), "Frobnicate"));
    one_op_free(op);
}
END_TEST

/* ---- Quantized ---------------------------------------------------------------------------------------------------- */

static void q8(struct one_op *op, const char *shape, const double *codes, size_t n, double scale,
               double zero)
{
    one_op_in(op, OX_UINT8, shape, codes, n);
    ONE_OP_IN(op, OX_FLOAT32, "", scale);
    ONE_OP_IN(op, OX_UINT8, "", zero);
}

START_TEST(quantized_sums_saturate)
{
    struct one_op *op = ms("QLinearAdd");
    q8(op, "3", (const double[]){128, 130, 255}, 3, 0.5, 128);
    q8(op, "1", (const double[]){12}, 1, 0.25, 8);
    ONE_OP_IN(op, OX_FLOAT32, "", 0.5);
    ONE_OP_IN(op, OX_UINT8, "", 128);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_UINT8, "3", 0, 130, 132, 255);
    one_op_free(op);
}
END_TEST

START_TEST(quantized_products_round_half_to_even)
{
    struct one_op *op = ms("QLinearMul");
    q8(op, "2", (const double[]){1, 3}, 2, 0.5, 0);
    q8(op, "2", (const double[]){1, 1}, 2, 1, 0);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    one_op_in_none(op);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_UINT8, "2", 0, 0, 2);
    one_op_free(op);
}
END_TEST

START_TEST(quantized_parts_take_the_results_scale)
{
    struct one_op *op = ms("QLinearConcat");
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    ONE_OP_IN(op, OX_UINT8, "", 10);
    q8(op, "1x2", (const double[]){1, 2}, 2, 2, 0);
    q8(op, "1x1", (const double[]){7}, 1, 1, 5);
    one_op_int(op, "axis", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_UINT8, "1x3", 0, 12, 14, 12);
    one_op_free(op);
}
END_TEST

START_TEST(pools_may_have_channels_last)
{
    struct one_op *op = ms("QLinearGlobalAveragePool");
    q8(op, "1x2x1x2", (const double[]){10, 20, 30, 60}, 4, 1, 0);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    ONE_OP_IN(op, OX_UINT8, "", 1);
    one_op_int(op, "channels_last", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_UINT8, "1x1x1x2", 0, 21, 41);
    one_op_free(op);
}
END_TEST

/* Two filters of one row, two columns and two channels. */
START_TEST(filters_of_a_convolution_with_channels_last_have_theirs_last)
{
    struct one_op *op = ms("NhwcConv");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x2x2", 1, 10, 100, 1000, 0, 1, 0, 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1x2", 0, 4321, 6);
    one_op_free(op);
}
END_TEST

START_TEST(quantized_gemm_without_scale_gives_floats)
{
    struct one_op *op = ms("QGemm");
    q8(op, "1x2", (const double[]){3, 4}, 2, 0.5, 1);
    ONE_OP_IN(op, OX_INT8, "2x1", -2, 5);
    ONE_OP_IN(op, OX_FLOAT32, "", 2);
    ONE_OP_IN(op, OX_INT8, "", 1);
    ONE_OP_IN(op, OX_INT32, "1", 100);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 0, 106);
    one_op_free(op);
}
END_TEST

START_TEST(sums_of_16_bits_wrap_in_32)
{
    struct one_op *op = ms("MatMulInteger16");
    ONE_OP_IN(op, OX_INT16, "1x3", -32768, -32768, 1);
    ONE_OP_IN(op, OX_INT16, "3x1", -32768, -32768, 7);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "1x1", 0, -2147483641);
    one_op_free(op);
}
END_TEST

START_TEST(codes_of_4_bits_have_a_scale_a_block)
{
    struct one_op *op = ms("MatMulNBits");
    double a[17], codes[16];
    for (size_t i = 0; i < 17; i++)
        a[i] = i == 0 || i == 16;
    for (size_t i = 0; i < 16; i++)
        codes[i] = i == 0 ? 0x8a : i == 8 ? 0x0f : 0;
    one_op_in(op, OX_FLOAT32, "1x17", a, 17);
    one_op_in(op, OX_UINT8, "1x2x8", codes, 16);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 10);
    one_op_int(op, "K", 17);
    one_op_int(op, "N", 1);
    one_op_int(op, "bits", 4);
    one_op_int(op, "block_size", 16);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1", 1e-6, 2 + 70);
    one_op_free(op);
}
END_TEST

START_TEST(a_row_that_is_not_there_is_named)
{
    struct one_op *op = ms("GatherBlockQuantized");
    double codes[16] = {0};
    one_op_in(op, OX_UINT8, "1x16", codes, 16);
    ONE_OP_IN(op, OX_INT64, "1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
    one_op_int(op, "bits", 8);
    one_op_int(op, "block_size", 16);
    RUN_FAILS(op, 1, "indices[0] is 1");
}
END_TEST

/* ---- Normalization ------------------------------------------------------------------------------------------------ */

START_TEST(the_sum_is_normalized_and_given)
{
    struct one_op *op = ms("SkipSimplifiedLayerNormalization");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 3);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 2, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 10);
    one_op_float(op, "epsilon", 0);
    RUN_OK(op, 4);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 1e-6, 3 / sqrt(12.5), 40 / sqrt(12.5));
    ONE_OP_OUT(op, 3, OX_FLOAT32, "1x1x2", 0, 3, 4);
    one_op_free(op);
}
END_TEST

START_TEST(an_id_that_is_not_there_is_named)
{
    struct one_op *op = ms("EmbedLayerNormalization");
    ONE_OP_IN(op, OX_INT32, "1x1", 2);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "2x1", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1", 0);
    RUN_FAILS(op, 2, "id 2 at place 0");
}
END_TEST

/* A word of two codes, with steps of a half from 1; the place adds 2 and 0. */
static struct one_op *embedded_codes(double id, const char *scale)
{
    struct one_op *op = ms("QEmbedLayerNormalization");
    ONE_OP_IN(op, OX_INT32, "1x1", id);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_UINT8, "1x2", 3, 11);
    ONE_OP_IN(op, OX_UINT8, "1x2", 2, 0);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_UINT8, "2", 3, 5);
    ONE_OP_IN(op, OX_UINT8, "2", 0, 4);
    ONE_OP_IN(op, OX_INT32, "1x1", 1);
    one_op_in(op, OX_FLOAT32, scale, (const double[]){0.5, 0.5}, *scale ? 2 : 1);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    ONE_OP_IN(op, OX_FLOAT32, "", 0.25);
    ONE_OP_IN(op, OX_UINT8, "", 1);
    ONE_OP_IN(op, OX_UINT8, "", 0);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_UINT8, "", 2);
    ONE_OP_IN(op, OX_UINT8, "", 0);
    return op;
}

START_TEST(embeddings_of_codes)
{
    struct one_op *op = embedded_codes(0, "");
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2", 1e-6, -1, 4);
    ONE_OP_OUT(op, 1, OX_INT32, "1", 0, 1);
    one_op_free(op);
    RUN_FAILS(embedded_codes(-1, ""), 2, "id -1 at place 0");
    RUN_FAILS(embedded_codes(0, "2"), 2, "word_embedding_quant has no scale");
}
END_TEST

/* ---- Attention ---------------------------------------------------------------------------------------------------- */

START_TEST(queries_see_the_past_and_themselves)
{
    struct one_op *op = ms("MultiHeadAttention");
    one_op_int(op, "num_heads", 1);
    one_op_int(op, "unidirectional", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 4, 8);
    for (size_t i = 0; i < 3; i++)
        one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x1", 0);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x1", 1e-6, 2, 4);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "1x1x3x1", 0, 0, 4, 8);
    one_op_free(op);
}
END_TEST

/* Two beams of a query, a key and a value of one number; what past_sequence_length leaves of a past of three rows. */
static struct one_op *shared_past(double length)
{
    struct one_op *op = ms("MultiHeadAttention");
    one_op_int(op, "num_heads", 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x1", 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x1", 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x1", 4, 8);
    for (size_t i = 0; i < 3; i++)
        one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x3x1", 1, 1, 1, 1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x3x1", 2, 50, 50, 6, 60, 60);
    ONE_OP_IN(op, OX_INT32, "1", length);
    return op;
}

START_TEST(a_past_with_a_length_is_a_buffer)
{
    struct one_op *op = shared_past(1);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x1x1", 1e-6, 3, 7);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "2x1x3x1", 0, 2, 4, 50, 6, 8, 60);
    one_op_free(op);
    op = shared_past(1);
    ONE_OP_IN(op, OX_INT32, "1x2x3", 1, 0, 0, 0, 0, 0); /* each beam goes on from the other */
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x1x1", 1e-6, 5, 5);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "2x1x3x1", 0, 2, 4, 50, 6, 8, 60);
    one_op_free(op);
    RUN_FAILS(shared_past(3), 3, "past_sequence_length is 3 in a buffer of 3 rows");
    RUN_FAILS(shared_past(-1), 3, "past_sequence_length is -1");
}
END_TEST

START_TEST(a_position_beyond_the_table_is_refused)
{
    struct one_op *op = ms("RotaryEmbedding");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
    ONE_OP_IN(op, OX_INT64, "1x1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 0);
    RUN_FAILS(op, 1, "position 1 is outside of the 1");
}
END_TEST

START_TEST(one_input_is_projected_and_attends_to_itself)
{
    struct one_op *op = ms("Attention");
    one_op_int(op, "num_heads", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x3", 0, 0, 3);
    ONE_OP_IN(op, OX_FLOAT32, "3", 0, 0, 1);
    ONE_OP_IN(op, OX_INT32, "1x2", 1, 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x1", 1e-6, 4, 4);
    one_op_free(op);
}
END_TEST

/* ---- The rest ----------------------------------------------------------------------------------------------------- */

START_TEST(tokens_are_cut_marked_and_filled_up)
{
    struct one_op *op = ms("Tokenizer");
    one_op_strings(op, "separators", (const char *const[]){" +", ","}, 2);
    one_op_string(op, "pad_value", "#");
    one_op_int(op, "mark", 1);
    one_op_int(op, "mincharnum", 1);
    one_op_in_strings(op, "2", (const char *const[]){"a,b  c", "d"}, 2);
    RUN_OK(op, 1);
    one_op_expect_strings(
        op, 0, "2x5",
        (const char *const[]){"\x02", "a", "b", "c", "\x03", "\x02", "d", "\x03", "#", "#"}, 10);
    one_op_free(op);
}
END_TEST

START_TEST(the_longest_match_is_the_token)
{
    struct one_op *op = ms("Tokenizer");
    one_op_string(op, "tokenexp", "a|ab|[a-z]*");
    one_op_string(op, "pad_value", "#");
    one_op_int(op, "mark", 0);
    one_op_int(op, "mincharnum", 1);
    one_op_in_strings(op, "1", (const char *const[]){"abc1d"}, 1);
    RUN_OK(op, 1);
    one_op_expect_strings(op, 0, "1x2", (const char *const[]){"abc", "d"}, 2);
    one_op_free(op);
}
END_TEST

START_TEST(distinct_elements_keep_their_order)
{
    struct one_op *op = ms("Unique");
    ONE_OP_IN(op, OX_FLOAT32, "5", 3, 1, 3, 2, 1);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3", 0, 3, 1, 2);
    ONE_OP_OUT(op, 1, OX_INT64, "5", 0, 0, 1, 0, 2, 1);
    ONE_OP_OUT(op, 2, OX_INT64, "3", 0, 2, 2, 1);
    one_op_free(op);
}
END_TEST

START_TEST(half_a_spectrum_over_two_axes_and_back)
{
    struct one_op *op = ms("Rfft");
    ONE_OP_IN(op, OX_FLOAT32, "1x2x4", 1, 2, 3, 4, 5, 6, 7, 9);
    one_op_int(op, "signal_ndim", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x3x2", 1e-6, 37, 0, -4, 5, -5, 0, -17, 0, 0, -1, 1, 0);
    one_op_free(op);
    op = ms("Irfft");
    ONE_OP_IN(op, OX_FLOAT32, "1x2x3x2", 37, 0, -4, 5, -5, 0, -17, 0, 0, -1, 1, 0);
    one_op_int(op, "signal_ndim", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x4", 1e-6, 1, 2, 3, 4, 5, 6, 7, 9);
    one_op_free(op);
}
END_TEST

START_TEST(a_signal_of_more_axes_than_there_are_is_refused)
{
    struct one_op *op = ms("Rfft");
    ONE_OP_IN(op, OX_FLOAT32, "1x4", 1, 2, 3, 4);
    one_op_int(op, "signal_ndim", 3);
    RUN_FAILS(op, 1, "signal_ndim is 3 for 2 axes");
}
END_TEST

/* numpy.random.RandomState(5).uniform(size=4) is 0.22, 0.87, 0.21, 0.92. */
START_TEST(training_drops_what_dropout_drops)
{
    struct one_op *op = ms("BiasDropout");
    one_op_int(op, "seed", 5);
    ONE_OP_IN(op, OX_FLOAT32, "4", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "4", 1, 1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "4", 10, 20, 30, 40);
    ONE_OP_IN(op, OX_FLOAT32, "", 0.5);
    ONE_OP_IN(op, OX_BOOL, "", 1);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "4", 0, 10, 26, 30, 50);
    ONE_OP_OUT(op, 1, OX_BOOL, "4", 0, 0, 1, 0, 1);
    one_op_free(op);
}
END_TEST

START_TEST(half_a_spectrum_and_back)
{
    struct one_op *op = ms("Rfft");
    ONE_OP_IN(op, OX_FLOAT32, "1x4", 1, 2, 3, 4);
    one_op_int(op, "normalized", 0);
    one_op_int(op, "onesided", 1);
    one_op_int(op, "signal_ndim", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x3x2", 1e-6, 10, 0, -2, 2, -2, 0);
    one_op_free(op);
    op = ms("Irfft");
    ONE_OP_IN(op, OX_FLOAT32, "1x3x2", 10, 0, -2, 2, -2, 0);
    one_op_int(op, "signal_ndim", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 1e-6, 1, 2, 3, 4);
    one_op_free(op);
}
END_TEST

START_TEST(complex_pairs_multiply)
{
    static const char *const names[] = {"ComplexMul", "ComplexMulConj"};
    struct one_op *op = ms(names[_i]);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 3, 4, 0, 1);
    RUN_OK(op, 1);
    if (_i)
        ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 11, 2, 2, -1);
    else
        ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, -5, 10, -2, 1);
    one_op_free(op);
}
END_TEST

START_TEST(near_positions_have_a_bucket_each)
{
    struct one_op *op = ms("RelativePositionBias");
    ONE_OP_IN(op, OX_FLOAT32, "4x1", 10, 11, 12, 13);
    ONE_OP_IN(op, OX_INT64, "1", 3);
    ONE_OP_IN(op, OX_INT64, "1", 3);
    one_op_int(op, "max_distance", 16);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x3x3", 0, 10, 10, 10, 11, 10, 10, 12, 11, 10);
    one_op_free(op);
}
END_TEST

START_TEST(a_token_beyond_the_bifurcation_is_taken)
{
    struct one_op *op = ms("BifurcationDetector");
    ONE_OP_IN(op, OX_INT64, "4", 1, 5, 3, 4);
    ONE_OP_IN(op, OX_INT64, "1", 9);
    ONE_OP_IN(op, OX_INT64, "", 0);
    ONE_OP_IN(op, OX_INT64, "5", 1, 5, 3, 2, 7);
    one_op_int(op, "min_ngram_size", 1);
    one_op_int(op, "max_ngram_size", 3);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_INT64, "5", 0, 9, 1, 5, 3, 2);
    ONE_OP_OUT(op, 1, OX_INT64, "", 0, -1);
    one_op_free(op);
}
END_TEST

static struct one_op *linear_attention(int64_t window)
{
    struct one_op *op = ms("LinearAttention");
    for (int i = 2; i < 5; i++)
        ONE_OP_IN(op, OX_FLOAT32, "1x1x1", i);
    one_op_int(op, "q_num_heads", 1);
    one_op_int(op, "kv_num_heads", 1);
    one_op_int(op, "state_window", window);
    one_op_string(op, "update_rule", "linear");
    return op;
}

static struct one_op *causal_conv(int64_t dilation)
{
    struct one_op *op = ms("CausalConvWithState");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x3", 1, 2, 3);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 10, 1);
    one_op_int(op, "dilation", dilation);
    return op;
}

START_TEST(states_are_handed_on)
{
    struct one_op *op = linear_attention(0);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 0, 24);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x1x1", 0, 12);
    one_op_free(op);
    RUN_FAILS_AS(linear_attention(1), 2, OX_UNSUPPORTED, "state_window");
    op = causal_conv(1);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x3", 0, 1, 12, 23);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x1", 0, 3);
    one_op_free(op);
    op = causal_conv(2);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x3", 0, 1, 2, 13);
    one_op_free(op);
}
END_TEST

START_TEST(an_image_that_is_not_there_is_named)
{
    struct one_op *op = ms("CropAndResize");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x4", 0, 0, 1, 1);
    ONE_OP_IN(op, OX_INT32, "1", 1);
    ONE_OP_IN(op, OX_INT32, "2", 1, 1);
    RUN_FAILS(op, 1, "batch_indices[0] is 1");
}
END_TEST

START_TEST(a_range_goes_on_beyond_one_stretch)
{
    enum { COUNT = 700 };
    const enum ox_dtype dtype = _i ? OX_INT64 : OX_FLOAT32;
    struct one_op *op = ms("Range");
    ONE_OP_IN(op, dtype, "", 5);
    ONE_OP_IN(op, dtype, "", 5 - 3 * COUNT);
    ONE_OP_IN(op, dtype, "", -3);
    RUN_OK(op, 1);
    const struct ox_tensor *y = one_op_out(op, 0);
    ck_assert_uint_eq(y->n, COUNT);
    for (int i = 0; i < COUNT; i++)
        ck_assert(ox_tensor_get_double(y, (size_t)i) == 5 - 3 * i);
    one_op_free(op);
}
END_TEST

static Suite *contrib_suite(void)
{
    Suite *suite = suite_create("ops_contrib");
    TCase *tcase = tcase_create("contrib");
    tcase_add_loop_test(tcase, gelus_differ_a_little, 0, 3);
    tcase_add_loop_test(tcase, a_range_goes_on_beyond_one_stretch, 0, 2);
    tcase_add_test(tcase, a_bias_is_added_along_the_last_axis);
    tcase_add_test(tcase, a_bias_of_another_length_is_refused);
    tcase_add_test(tcase, products_end_in_their_activation);
    tcase_add_test(tcase, products_of_transposed_batches);
    tcase_add_test(tcase, an_activation_that_is_unknown_is_named);
    tcase_add_test(tcase, quantized_sums_saturate);
    tcase_add_test(tcase, quantized_products_round_half_to_even);
    tcase_add_test(tcase, quantized_parts_take_the_results_scale);
    tcase_add_test(tcase, pools_may_have_channels_last);
    tcase_add_test(tcase, filters_of_a_convolution_with_channels_last_have_theirs_last);
    tcase_add_test(tcase, quantized_gemm_without_scale_gives_floats);
    tcase_add_test(tcase, sums_of_16_bits_wrap_in_32);
    tcase_add_test(tcase, codes_of_4_bits_have_a_scale_a_block);
    tcase_add_test(tcase, a_row_that_is_not_there_is_named);
    tcase_add_test(tcase, the_sum_is_normalized_and_given);
    tcase_add_test(tcase, an_id_that_is_not_there_is_named);
    tcase_add_test(tcase, embeddings_of_codes);
    tcase_add_test(tcase, queries_see_the_past_and_themselves);
    tcase_add_test(tcase, a_past_with_a_length_is_a_buffer);
    tcase_add_test(tcase, a_position_beyond_the_table_is_refused);
    tcase_add_test(tcase, one_input_is_projected_and_attends_to_itself);
    tcase_add_test(tcase, tokens_are_cut_marked_and_filled_up);
    tcase_add_test(tcase, the_longest_match_is_the_token);
    tcase_add_test(tcase, distinct_elements_keep_their_order);
    tcase_add_test(tcase, half_a_spectrum_and_back);
    tcase_add_test(tcase, half_a_spectrum_over_two_axes_and_back);
    tcase_add_test(tcase, a_signal_of_more_axes_than_there_are_is_refused);
    tcase_add_test(tcase, training_drops_what_dropout_drops);
    tcase_add_loop_test(tcase, complex_pairs_multiply, 0, 2);
    tcase_add_test(tcase, near_positions_have_a_bucket_each);
    tcase_add_test(tcase, a_token_beyond_the_bifurcation_is_taken);
    tcase_add_test(tcase, states_are_handed_on);
    tcase_add_test(tcase, an_image_that_is_not_there_is_named);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(contrib_suite());
}
