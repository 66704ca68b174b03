/* Gates, hyper-connections, n-gram tables, three-fold positions and sparse attention of com.microsoft: formulas by hand and onnxruntime's values. */
#include <math.h>

#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

static struct one_op *ms(const char *name)
{
    return one_op_new("com.microsoft", name, 1);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

START_TEST(silu_is_scaled_and_rounded_at_each_step)
{
    struct one_op *op = ms("ScaledSiLU");
    ONE_OP_IN(op, OX_FLOAT32, "5", INFINITY, -INFINITY, NAN, -200, 2);
    one_op_float(op, "alpha", 0.5F);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "5", 1e-6, INFINITY, NAN, NAN, 0, sigmoid(1));
    one_op_free(op);
    op = ms("ScaledSiLU");
    ONE_OP_IN(op, OX_FLOAT16, "2", 1, 0.1);
    ONE_OP_IN(op, OX_FLOAT32, "", 3.0001);
    one_op_float(op, "alpha", 7);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "2", 0, 2.857421875, 0.1722412109375);
    one_op_free(op);
    op = ms("ScaledSiLU");
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    RUN_FAILS(op, 1, "scale has rank 1");
}
END_TEST

static struct one_op *gated_add(enum ox_dtype dtype, const char *y, const char *gate)
{
    struct one_op *op = ms("GatedAdd");
    ONE_OP_IN(op, dtype, "2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, dtype, y, 10, 20, 30, NAN);
    ONE_OP_IN(op, dtype, gate, 2, -1);
    return op;
}

START_TEST(a_row_is_added_by_its_gate)
{
    struct one_op *op = gated_add(OX_FLOAT32, "2x2", "2x1");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 21, 42, -27, NAN);
    one_op_free(op);
    op = ms("GatedAdd");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x3");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x3");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x1");
    RUN_OK(op, 1);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "0x3");
    one_op_free(op);
    /* 1.0009765625 squared rounds to 1.001953125 in float16, and with the 2^-20 below it the sum would be another. */
    op = ms("GatedAdd");
    ONE_OP_IN(op, OX_FLOAT16, "1", -1.001953125);
    ONE_OP_IN(op, OX_FLOAT16, "1", 1.0009765625);
    ONE_OP_IN(op, OX_FLOAT16, "1", 1.0009765625);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT16, "1", 0, 0);
    one_op_free(op);
    RUN_FAILS(gated_add(OX_FLOAT32, "4", "2x1"), 1, "Y another shape");
    RUN_FAILS(gated_add(OX_FLOAT32, "2x2", "2"), 1, "a last axis of 1");
    RUN_FAILS(gated_add(OX_FLOAT32, "2x2", "1x2"), 1, "a last axis of 1");
}
END_TEST

/* Products of 0.5 + 1 = 1.5 and of -1 + 0: each step rounds to 8 bits. */
START_TEST(gates_of_rows_are_projected)
{
    struct one_op *op = ms("GatedAdd");
    ONE_OP_IN(op, OX_BFLOAT16, "2x1", 1, 2);
    ONE_OP_IN(op, OX_BFLOAT16, "2x1", 3, 0.5);
    ONE_OP_IN(op, OX_BFLOAT16, "2x2", 1, 2, -2, 0);
    ONE_OP_IN(op, OX_BFLOAT16, "2x1", 0.5, 0.5);
    RUN_OK(op, 1);
    /* sigmoid(1.5) = 0.8176 is 0.81640625, sigmoid(-1) = 0.26894 is 0.26953125. */
    ONE_OP_OUT(op, 0, OX_BFLOAT16, "2x1", 0, 3.453125, 2.140625);
    one_op_free(op);
    op = gated_add(OX_FLOAT32, "2x2", "2x1");
    ONE_OP_IN(op, OX_FLOAT32, "1x1", 1);
    RUN_FAILS_AS(op, 1, OX_UNSUPPORTED, "gate_weight is for bfloat16, not float32");
    op = gated_add(OX_BFLOAT16, "2x2", "2x1");
    ONE_OP_IN(op, OX_BFLOAT16, "2x1", 1, 2);
    RUN_FAILS(op, 1, "gate and gate_weight are not");
}
END_TEST

static struct one_op *gated_norm(const char *scale, const char *activation)
{
    struct one_op *op = ms("GatedRMSNorm");
    ONE_OP_IN(op, OX_FLOAT32, "1x4", 3, 4, 0, 5);
    ONE_OP_IN(op, OX_FLOAT32, scale, 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x4", 0, 1, -1, 100);
    one_op_float(op, "epsilon", 0);
    if (activation)
        one_op_string(op, "activation", activation);
    return op;
}

START_TEST(norms_are_of_groups_of_the_last_axis)
{
    const double a = sqrt(12.5);
    struct one_op *op = gated_norm("2", NULL);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 1e-6, 0, 8 / a * sigmoid(1), 0, 1000 / a);
    one_op_free(op);
    op = gated_norm("1x2", "sigmoid");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 1e-6, 1.5 / a, 8 / a * sigmoid(1), 0, 10 / a);
    one_op_free(op);
    RUN_FAILS(gated_norm("2", "tanh"), 1, "activation 'tanh' is none of");
    op = ms("GatedRMSNorm");
    ONE_OP_IN(op, OX_FLOAT32, "1x4", 3, 4, 0, 5);
    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 2, 3);
    ONE_OP_IN(op, OX_FLOAT32, "1x4", 0, 1, -1, 100);
    RUN_FAILS(op, 1, "3 scales do not divide a last axis of 4");
}
END_TEST

START_TEST(decay_and_beta_of_a_head)
{
    struct one_op *op = ms("LinearAttentionGate");
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", 1, -1000, NAN, 1000);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 0);
    ONE_OP_IN(op, OX_FLOAT32, "2", -2, 3);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", 0, 1, INFINITY, -INFINITY);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x2", 1e-6, -2 * log1p(exp(2)), 0, NAN, 3000);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x2x2", 1e-6, 0.5, sigmoid(1), 1, 0);
    one_op_free(op);
    op = ms("LinearAttentionGate");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 0);
    ONE_OP_IN(op, OX_FLOAT32, "2", -2, 3);
    RUN_FAILS(op, 2, "there is no b");
    op = ms("LinearAttentionGate");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "2", -2, 3);
    RUN_FAILS(op, 1, "dt_bias has 1 elements");
}
END_TEST

static struct one_op *streams(const char *name, const char *shape, int64_t branches)
{
    struct one_op *op = ms(name);
    ONE_OP_IN(op, OX_FLOAT32, shape, 1, 1, 2, 4);
    one_op_int(op, "num_branches", branches);
    return op;
}

START_TEST(streams_are_grouped_or_flat)
{
    const double two = sqrt(10);
    struct one_op *op = streams("BranchwiseRMSNorm", "1x4", 2);
    ONE_OP_IN(op, OX_FLOAT32, "4", 1, 2, 3, 4);
    one_op_float(op, "epsilon", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 1e-6, 1, 2, 6 / two, 16 / two);
    one_op_free(op);
    op = streams("BranchwiseRMSNorm", "2x2", 0);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    one_op_float(op, "epsilon", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 1e-6, 1, 2, 2 / two, 8 / two);
    one_op_free(op);
    op = streams("HyperConnectionPreMix", "1x2x2", 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 10, -1);
    one_op_float(op, "reduction_scale", 0.5F);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2", 0, 4, 3);
    one_op_free(op);
    op = streams("HyperConnectionPreMix", "4", 2);
    ONE_OP_IN(op, OX_FLOAT32, "4", 1, 10, 100, NAN);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 0, 201, NAN);
    one_op_free(op);
    op = streams("HyperConnectionPostMix", "1x4", 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", 1, 10, 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", 1, 2, 3, 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 0, 1 + 6 + 1, 1 + 12 + 20, 2 + 0, 2 + 2);
    one_op_free(op);
    op = streams("HyperConnectionPostMix", "2x2", 0);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2", 10, -1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x2", 0, 11, 21, 1, 2);
    one_op_free(op);
}
END_TEST

START_TEST(streams_that_do_not_fit_are_refused)
{
    struct one_op *op = streams("BranchwiseRMSNorm", "4", 3);
    RUN_FAILS(op, 1, "4 columns are no 3 branches");
    RUN_FAILS(streams("BranchwiseRMSNorm", "4", 0), 1, "the streams have rank 1");
    RUN_FAILS(streams("BranchwiseRMSNorm", "4", -1), 1, "no -1 branches");
    op = streams("BranchwiseRMSNorm", "2x2", 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    RUN_FAILS(op, 1, "scale is no [2]");
    op = streams("HyperConnectionPreMix", "1x2x2", 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x4", 1, 2, 3, 4);
    RUN_FAILS(op, 1, "pre_mix is no");
    op = streams("HyperConnectionPostMix", "1x2x2", 0);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 1, 2);
    RUN_FAILS(op, 1, "block_output is no");
}
END_TEST

static struct one_op *engram(double a, double b, size_t n_scales)
{
    struct one_op *op = ms("EngramGate");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x2", a, a, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2x2", b, b, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 2, 4);
    for (size_t i = 0; i < n_scales; i++)
        ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 1, 1, 3);
    one_op_float(op, "epsilon", 1e-12F);
    return op;
}

START_TEST(values_pass_an_engram_gate)
{
    /* Keys and queries of norm 1 an element: a product of -sqrt(2), whose root is -2^(1/4); none gives a half. */
    const double gate = sigmoid(-pow(2, 0.25)), rms = sqrt(10);
    struct one_op *op = engram(5, -1, 3);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2x2", 1e-6, 2 * gate, 4 * gate, 1, 2);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x2x2", 1e-6, 2 / rms, 4 / rms, 2 / rms, 12 / rms);
    one_op_free(op);
    op = engram(NAN, 1, 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2x2", 0, NAN, NAN, 1, 2);
    one_op_free(op);
    RUN_FAILS(engram(1, 1, 2), 2, "input 5 is no [2, 2]");
}
END_TEST

static struct one_op *ngrams(enum ox_dtype dtype, const char *shape, const double *ids, size_t n,
                             bool varlen)
{
    struct one_op *op = ms(varlen ? "VarlenNGramHashMapping" : "NGramHashMapping");
    one_op_in(op, dtype, shape, ids, n);
    ONE_OP_IN(op, dtype, "3", 3, 5, 11);
    ONE_OP_IN(op, dtype, "2", 10007, 10009);
    one_op_int(op, "max_ngram_size", 3);
    one_op_int(op, "n_head_per_ngram", 1);
    one_op_int(op, "pad_id", 7);
    return op;
}

START_TEST(ngrams_are_hashed)
{
    static const double ids[] = {1, 2, 3, 4};
    struct one_op *op = ngrams(OX_INT64, "1x4", ids, 4, false);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_INT64, "1x4x2", 0, 3 ^ 35, 3 ^ 35 ^ 77, 6 ^ 5, 6 ^ 5 ^ 77, 9 ^ 10,
               9 ^ 10 ^ 11, 12 ^ 15, 12 ^ 15 ^ 22);
    ONE_OP_OUT(op, 1, OX_INT64, "1x2", 0, 3, 4);
    one_op_free(op);
    op = ngrams(OX_INT32, "1x1", ids, 1, false);
    ONE_OP_IN(op, OX_INT32, "1x2", 8, 9);
    ONE_OP_IN(op, OX_INT32, "2", 100, 200);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_INT32, "1x1x2", 0, (3 ^ 45) + 100, (3 ^ 45 ^ 88) + 200);
    ONE_OP_OUT(op, 1, OX_INT32, "1x2", 0, 9, 1);
    one_op_free(op);
    op = ngrams(OX_INT64, "2x0", NULL, 0, false);
    RUN_OK(op, 2);
    ONE_OP_OUT_EMPTY(op, 0, OX_INT64, "2x0x2");
    ONE_OP_OUT(op, 1, OX_INT64, "2x2", 0, 7, 7, 7, 7);
    one_op_free(op);
    op = ngrams(OX_INT64, "1x1", ids, 1, false);
    ONE_OP_IN(op, OX_INT64, "1x1", 8);
    RUN_FAILS(op, 1, "does not fit the ids");
}
END_TEST

START_TEST(ngrams_end_at_eos_and_segments)
{
    static const double ids[] = {1, 2, 3, 4, 2, 5};
    struct one_op *op = ngrams(OX_INT64, "1x6", ids, 6, false);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT64, "", 2);
    one_op_int(op, "reset_on_eos", 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT64, "1x6x2", 0, 3 ^ 10, 3 ^ 10 ^ 22, 6 ^ 5, 6 ^ 5 ^ 22, 9 ^ 10,
               9 ^ 10 ^ 22, 12 ^ 15, 12 ^ 15 ^ 22, 6 ^ 20, 6 ^ 20 ^ 33, 15 ^ 10, 15 ^ 10 ^ 22);
    one_op_free(op);
    op = ngrams(OX_INT64, "1x4", ids, 4, false);
    one_op_in_none(op);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "1x4", 0, 0, 1, 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT64, "1x4x2", 0, 3 ^ 35, 3 ^ 35 ^ 77, 6 ^ 5, 6 ^ 5 ^ 77, 9 ^ 35,
               9 ^ 35 ^ 77, 12 ^ 15, 12 ^ 15 ^ 77);
    one_op_free(op);
}
END_TEST

/* Two sequences, of 2 and of 3 tokens. */
static struct one_op *packed(double end, int64_t capacity)
{
    static const double ids[] = {1, 2, 3, 4, 5};
    struct one_op *op = ngrams(OX_INT64, "5", ids, 5, true);
    ONE_OP_IN(op, OX_INT32, "3", 0, 2, end);
    ONE_OP_IN(op, OX_INT64, "2x2", 8, 9, 10, 11);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "5", 0, 0, 1, 1, 2);
    ONE_OP_IN(op, OX_INT32, "2x2", 0, 0, 3, 1);
    one_op_int(op, "state_update_capacity", capacity);
    return op;
}

START_TEST(packed_sequences_have_ngrams_of_their_own)
{
    struct one_op *op = packed(5, 2);
    ONE_OP_IN(op, OX_INT32, "2", 1, 9);
    RUN_OK(op, 4);
    ONE_OP_OUT(op, 0, OX_INT64, "5x2", 0, 46, 118, 3, 96, 62, 115, 3, 122, 44, 97);
    ONE_OP_OUT(op, 1, OX_INT64, "2x2", 0, 1, 2, 4, 5);
    ONE_OP_OUT(op, 2, OX_INT32, "2x2", 0, 0, 0, 1, 2);
    ONE_OP_OUT(op, 3, OX_INT64, "2x2x2", 0, 9, 1, 7, 7, 11, 3, 3, 4);
    one_op_free(op);
    RUN_FAILS(packed(4, 0), 2, "does not rise from 0 to the 5 tokens");
    RUN_FAILS(packed(5, 9), 2, "state_update_capacity is 9");
    RUN_FAILS(packed(5, 1), 2, "state_update_capacity is 1");
}
END_TEST

static struct one_op *turned(enum ox_dtype dtype, int64_t layout, double last)
{
    struct one_op *op = ms("MRotaryEmbedding");
    ONE_OP_IN(op, dtype, "1x1x10", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    ONE_OP_IN(op, OX_INT64, "3x1x1", 0, 1, last);
    ONE_OP_IN(op, dtype, "3x4", 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    ONE_OP_IN(op, dtype, "3x4", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
    ONE_OP_INTS(op, "mrope_section", 1, 2, 1);
    one_op_int(op, "mrope_layout", layout);
    one_op_int(op, "num_heads", 1);
    one_op_int(op, "rotary_embedding_dim", 8);
    return op;
}

START_TEST(parts_of_a_head_turn_by_positions_of_their_own)
{
    static const enum ox_dtype dtypes[] = {OX_FLOAT32, OX_FLOAT16};
    for (size_t i = 0; i < 2; i++) {
        struct one_op *op = turned(dtypes[i], 0, 2);
        RUN_OK(op, 1);
        ONE_OP_OUT(op, 0, dtypes[i], "1x1x10", 0, 1, 2, 2, 2, 1, 2, 2, 4, 1, 1);
        one_op_free(op);
        op = turned(dtypes[i], 1, 2);
        one_op_float(op, "scale", 2);
        RUN_OK(op, 1);
        ONE_OP_OUT(op, 0, dtypes[i], "1x1x10", 0, 2, 4, 6, 2, 2, 4, 6, 2, 1, 1);
        one_op_free(op);
    }
    RUN_FAILS(turned(OX_FLOAT32, 2, 2), 1, "mrope_layout 2");
    RUN_FAILS(turned(OX_FLOAT32, 0, 3), 1, "position 3 is outside of the 3");
}
END_TEST

/* Queries of 0 take the mean of the values that a head's layout lets them see: heads 0 and 2 all, 1 and 3 only each token's own block and
 * the first one. */
static struct one_op *sparse(double total, double length, double column)
{
    struct one_op *op = ms("SparseAttention");
    ONE_OP_IN(op, OX_FLOAT32, "1x1x8", 0, 0, 0, 0, 0, 0, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 30, 40);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x4x2", 1, 1, 1, 1, 1, 1, 9, 9);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x4x2", 0, 1, 3, 5, 7, 7, NAN, 9);
    ONE_OP_IN(op, OX_INT32, "2x5", 0, 1, 3, 6, 10, 0, 1, 2, 4, 5);
    ONE_OP_IN(op, OX_INT32, "2x10", 0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1, 0, column, 3, -1, -1, -1,
              -1, -1);
    ONE_OP_IN(op, OX_INT32, "1", total);
    ONE_OP_IN(op, OX_INT32, "1", length);
    one_op_int(op, "num_heads", 4);
    one_op_int(op, "kv_num_heads", 1);
    one_op_int(op, "sparse_block_size", 1);
    return op;
}

START_TEST(heads_see_the_blocks_of_their_layouts)
{
    struct one_op *op = sparse(3, 3, 2);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x8", 1e-6, 11, 46. / 3, 15, 20.5, 11, 46. / 3, 15, 20.5);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x4x2", 0, 1, 1, 1, 1, 1, 2, 9, 9);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "1x1x4x2", 0, 0, 1, 3, 5, 30, 40, NAN, 9);
    one_op_free(op);
    op = sparse(1, 1, 2);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x8", 0, 30, 40, 30, 40, 30, 40, 30, 40);
    one_op_free(op);
    RUN_FAILS(sparse(5, 3, 2), 3, "total_sequence_length is 5");
    RUN_FAILS(sparse(3, 4, 2), 3, "key_total_sequence_lengths[0] is 4 of 3");
    RUN_FAILS(sparse(3, 0, 2), 3, "key_total_sequence_lengths[0] is 0");
    RUN_FAILS(sparse(3, 3, 4), 3, "layout 1 lists no blocks of 4 x 4");
}
END_TEST

START_TEST(sample_is_its_input)
{
    struct one_op *op = ms("SampleOp");
    ONE_OP_IN(op, OX_INT32, "2", 1, 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "2", 0, 1, 2);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_contrib_language");
    TCase *tcase = tcase_create("language");
    tcase_add_test(tcase, silu_is_scaled_and_rounded_at_each_step);
    tcase_add_test(tcase, a_row_is_added_by_its_gate);
    tcase_add_test(tcase, gates_of_rows_are_projected);
    tcase_add_test(tcase, norms_are_of_groups_of_the_last_axis);
    tcase_add_test(tcase, decay_and_beta_of_a_head);
    tcase_add_test(tcase, streams_are_grouped_or_flat);
    tcase_add_test(tcase, streams_that_do_not_fit_are_refused);
    tcase_add_test(tcase, values_pass_an_engram_gate);
    tcase_add_test(tcase, ngrams_are_hashed);
    tcase_add_test(tcase, ngrams_end_at_eos_and_segments);
    tcase_add_test(tcase, packed_sequences_have_ngrams_of_their_own);
    tcase_add_test(tcase, parts_of_a_head_turn_by_positions_of_their_own);
    tcase_add_test(tcase, heads_see_the_blocks_of_their_layouts);
    tcase_add_test(tcase, sample_is_its_input);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
