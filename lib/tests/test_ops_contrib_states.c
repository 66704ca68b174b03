/* States of packed sequences, routing by groups and rows of packed tables of com.microsoft, by hand. */
#include <math.h>

#include "check/findings.h"
#include "shape/shapes.h"
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

static void none(struct one_op *op, size_t n)
{
    for (size_t i = 0; i < n; i++)
        one_op_in_none(op);
}

/* ---- VarlenCausalConvWithState ------------------------------------------------------------------------------------ */

/* Tokens of two channels, the first sequence of one token and the second of two; taps two tokens apart. */
static struct one_op *convolution(int second, int end, int64_t capacity)
{
    struct one_op *op = ms("VarlenCausalConvWithState");
    one_op_int(op, "dilation", 2);
    one_op_int(op, "state_update_capacity", capacity);
    ONE_OP_IN(op, OX_FLOAT32, "3x2", 1, 10, 2, 20, 3, 30);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x2", 1, 2, -1, 1);
    ONE_OP_IN(op, OX_INT32, "3", 0, second, end);
    ONE_OP_IN(op, OX_FLOAT32, "2", 100, 0);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x2", 5, 6, 50, 60, 7, 8, 70, 80);
    return op;
}

START_TEST(a_sequence_begins_with_its_state)
{
    struct one_op *op = convolution(1, 3, 0);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3x2", 0, 107, -40, 111, -50, 114, -50);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "2x2x2", 0, 6, 1, 60, 10, 2, 3, 20, 30);
    one_op_free(op);
    op = convolution(1, 3, 2);
    ONE_OP_IN(op, OX_INT32, "2", 2, 1);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "2x2x2", 0, 1, 10, 0, 0, 2, 20, 0, 0);
    one_op_free(op);
    op = convolution(0, 3, 1); /* an empty one keeps its state */
    ONE_OP_IN(op, OX_INT32, "2", 1, -4);
    one_op_string(op, "activation", "swish");
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "2x2x2", 0, 5, 6, 50, 60, 2, 3, 20, 30);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "2x1x2", 0, 0, 0, 0, 0);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3x2", 1e-6, 109, -60 * sigmoid(-60), 112, -60 * sigmoid(-60),
               107, -40 * 0.0 + 20 * 1.0);
    one_op_free(op);
}
END_TEST

START_TEST(convolutions_that_do_not_fit_are_refused)
{
    RUN_FAILS(convolution(1, 2, 0), 2, "the sequences end at 2 of 3 tokens");
    RUN_FAILS(convolution(4, 3, 0), 2, "do not rise from 0 to 3: 4 behind 0");
    RUN_FAILS(convolution(2, 1, 0), 2, "do not rise from 0 to 3: 1 behind 2");
    RUN_FAILS(convolution(1, 3, 1), 2, "capture_count is there where it is not 0");
    RUN_FAILS(convolution(1, 3, 9), 2, "state_update_capacity is 9");
    struct one_op *op = convolution(1, 3, 0);
    one_op_string(op, "activation", "relu");
    RUN_FAILS(op, 2, "activation 'relu' is unknown");
    op = convolution(1, 3, 0);
    none(op, 1);
    ONE_OP_IN(op, OX_FLOAT32, "3x2x2", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "3x1", 0, 0, 0);
    RUN_FAILS_AS(op, 2, OX_UNSUPPORTED, "kernel_delta and previous_mask are a GPU's");
    op = convolution(1, 3, 0);
    one_op_int(op, "group_size", 2);
    RUN_FAILS_AS(op, 2, OX_UNSUPPORTED, "kernel_delta and previous_mask are a GPU's");
}
END_TEST

/* Three tokens of two channels that lie as [1, 3, 2, 1] or [1, 2, 3]; taps two tokens apart, and a window of states or none. */
static struct one_op *causal(bool last, int64_t window)
{
    struct one_op *op = ms("CausalConvWithState");
    one_op_int(op, "dilation", 2);
    one_op_int(op, "channels_last", last);
    one_op_int(op, "state_window", window);
    if (last)
        ONE_OP_IN(op, OX_FLOAT32, "1x3x2x1", 1, 10, 2, 20, 3, 30);
    else
        ONE_OP_IN(op, OX_FLOAT32, "1x2x3", 1, 2, 3, 10, 20, 30);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x2", 1, 2, -1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2", 100, 0);
    return op;
}

START_TEST(taps_stand_apart_in_either_layout)
{
    struct one_op *op = causal(false, 0);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x3", 0, 102, 104, 107, 10, 20, 20);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x2x2", 0, 2, 3, 20, 30);
    one_op_free(op);
    op = causal(true, 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2x1", 5, 50, 6, 60);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x3x2x1", 0, 107, -40, 110, -40, 107, 20);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x2x2x1", 0, 2, 20, 3, 30);
    one_op_free(op);
    op = causal(true, 0);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x2", 5, 50, 6, 60);
    RUN_FAILS(op, 2, "past_state is not shaped as the input with 2 tokens");
}
END_TEST

START_TEST(a_window_has_states_behind_the_last_tokens)
{
    struct one_op *op = causal(false, 4);
    ONE_OP_IN(op, OX_FLOAT32, "4x1x2x2", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 50, 60);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x3", 0, 107, 110, 107, -40, -40, 20);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "4x1x2x2", 0, 0, 0, 0, 0, 6, 1, 60, 10, 1, 2, 10, 20, 2, 3, 20,
               30);
    one_op_free(op);
    RUN_FAILS(causal(false, 9), 2, "state_window is 9");
}
END_TEST

/* What a GPU alone has. */
START_TEST(slices_of_causal_convolutions_are_refused_by_name)
{
    static const struct {
        const char *name;
        int64_t value;
    } cases[] = {{"ndim", 2},           {"input_channel_offset", 1},
                 {"input_channels", 1}, {"state_channels_last", 0},
                 {"state_length", 3},   {"state_update_capacity", 1}};
    for (size_t i = 0; i <= OX_COUNT(cases); i++) {
        const bool named = i < OX_COUNT(cases);
        struct one_op *op = ms("CausalConvWithState");
        ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
        ONE_OP_IN(op, OX_FLOAT32, "1x1x2", 1, 2);
        if (named)
            one_op_int(op, cases[i].name, cases[i].value);
        RUN_FAILS_AS(op, named ? 2 : 3, OX_UNSUPPORTED,
                     named ? cases[i].name : "the output state_update");
    }
}
END_TEST

/* ---- GatedDeltaNet ------------------------------------------------------------------------------------------------ */

enum form { APART, PACKED, IN_BATCH };

/* One head of size 1: a state of 2 that halves, then takes 1/2 of 4 - 1 = 3 along a key of 1; the query is 3. */
static struct one_op *delta(enum form form, const char *rule, const char *gate)
{
    static const char *const shapes[] = {"1x1x1", "1x3", "1x1x1x1"};
    const char *rates = form == IN_BATCH ? "1x1x1" : "1x1";
    struct one_op *op = ms("GatedDeltaNet");
    one_op_string(op, "update_rule", rule);
    one_op_float(op, "scale", 10);
    if (gate)
        one_op_string(op, "gate_activation", gate);
    if (form == PACKED)
        ONE_OP_IN(op, OX_FLOAT32, shapes[form], 3, 1, 4);
    else
        ONE_OP_IN(op, OX_FLOAT32, shapes[form], 3);
    if (form == PACKED) {
        none(op, 2);
    } else {
        ONE_OP_IN(op, OX_FLOAT32, shapes[form], 1);
        ONE_OP_IN(op, OX_FLOAT32, shapes[form], 4);
    }
    none(op, 1);
    if (strstr(rule, "gated"))
        ONE_OP_IN(op, OX_FLOAT32, rates, gate ? 1 : log(0.5));
    else
        none(op, 1);
    if (strstr(rule, "delta"))
        ONE_OP_IN(op, OX_FLOAT32, rates, 0.5);
    else
        none(op, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x1", 2);
    return op;
}

START_TEST(a_state_decays_and_is_corrected)
{
    static const struct {
        const char *rule;
        double state;
    } cases[] = {{"linear", 6}, {"gated", 5}, {"delta", 3}, {"gated_delta", 2.5}};
    for (size_t i = 0; i < OX_COUNT(cases); i++)
        for (int form = APART; form <= IN_BATCH; form++) {
            struct one_op *op = delta((enum form)form, cases[i].rule, NULL);
            RUN_OK(op, 2);
            ONE_OP_OUT(op, 0, OX_FLOAT32, form == IN_BATCH ? "1x1x1x1" : "1x1x1", 1e-6,
                       30 * cases[i].state);
            ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x1x1", 1e-6, cases[i].state);
            one_op_free(op);
        }
}
END_TEST

START_TEST(gates_are_made_of_what_stands_for_decay)
{
    static const char *const names[] = {"softplus", "qwen", "sigmoid", "kda"};
    for (int i = 0; i < 4; i++) {
        struct one_op *op = delta(APART, "gated", names[i]);
        ONE_OP_IN(op, OX_FLOAT32, "1", log(2.0));
        ONE_OP_IN(op, OX_FLOAT32, "1", -0.5);
        one_op_float(op, "gate_lower_bound", -3);
        RUN_OK(op, 2);
        const double g = i < 2 ? -2 * log1p(exp(0.5)) : -3 * sigmoid(1);
        ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x1x1", 1e-6, 2 * exp(g) + 4);
        one_op_free(op);
    }
    struct one_op *op = delta(APART, "gated_delta", NULL);
    one_op_string(op, "beta_activation", "sigmoid");
    one_op_int(op, "qk_l2_norm", 1);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x1x1", 1e-6, 1 + 3 * sigmoid(0.5));
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 1e-6, 10 * (1 + 3 * sigmoid(0.5)));
    one_op_free(op);
}
END_TEST

/* Two tokens of two heads that share a key of size 2; of the tokens the first `count` are kept. */
static struct one_op *kept(int64_t capacity, int count)
{
    struct one_op *op = ms("GatedDeltaNet");
    one_op_string(op, "update_rule", "gated_delta");
    one_op_int(op, "state_update_capacity", capacity);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x2", 1, 0, 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x2", 1, 0, 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 4, 6, 8, 9);
    ONE_OP_IN(op, OX_INT32, "2", 0, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", log(0.5), 0, log(0.25), 0);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 1, 0.5, 1, 1);
    none(op, 3);
    ONE_OP_IN(op, OX_INT32, "1", count);
    return op;
}

START_TEST(first_updates_are_kept)
{
    struct one_op *op = kept(2, 5);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x2x1x2", 1e-6, 1, 8, 3, 9);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "1x12", 1e-6, 0.5, 1, 0.25, 1, 1, 0, 0, 1, 4, 3, 8, 9);
    one_op_free(op);
    op = kept(2, 1);
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "1x12", 1e-6, 0.5, 1, 0, 0, 1, 0, 0, 0, 4, 3, 0, 0);
    one_op_free(op);
    op = kept(2, 2);
    ONE_OP_IN(op, OX_INT32, "1", 0); /* not active */
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "1x12", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    one_op_free(op);
    RUN_FAILS(kept(0, 1), 3, "capture_count is there where it is not 0");
}
END_TEST

START_TEST(delta_nets_that_do_not_fit_are_refused)
{
    RUN_FAILS(delta(APART, "gradient", NULL), 2, "update_rule 'gradient' is unknown");
    RUN_FAILS(delta(APART, "gated", "tanh"), 2, "gate_activation 'tanh' is unknown");
    RUN_FAILS(delta(APART, "gated", "kda"), 2, "a_log and dt_bias are for gate_activation");
    struct one_op *op = ms("GatedDeltaNet");
    one_op_string(op, "update_rule", "delta");
    for (int i = 0; i < 3; i++)
        ONE_OP_IN(op, OX_FLOAT32, "1x1x1x1", 1);
    none(op, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 1);
    RUN_FAILS(op, 2, "update_rule 'delta' forbids decay and needs beta");
    op = delta(APART, "gated", NULL);
    one_op_float(op, "gate_lower_bound", 1);
    RUN_FAILS(op, 2, "gate_lower_bound is 1");
    op = ms("GatedDeltaNet");
    one_op_string(op, "update_rule", "linear");
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2x2x1", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "2x3x1", 1, 2, 3, 4, 5, 6);
    ONE_OP_IN(op, OX_INT32, "2", 0, 2);
    RUN_FAILS(op, 2, "3 heads of values for 2 of keys");
    op = ms("GatedDeltaNet");
    one_op_string(op, "update_rule", "linear");
    for (int i = 0; i < 3; i++)
        ONE_OP_IN(op, OX_FLOAT32, "2x1x1", 1, 2);
    RUN_FAILS(op, 2, "neither cu_seqlens nor a state");
}
END_TEST

/* ---- MoEGroupRouter ----------------------------------------------------------------------------------------------- */

static struct one_op *router(int64_t groups, int64_t kept_groups, int64_t top)
{
    struct one_op *op = ms("MoEGroupRouter");
    one_op_int(op, "n_group", groups);
    one_op_int(op, "topk_group", kept_groups);
    one_op_int(op, "top_k", top);
    one_op_float(op, "router_sentinel", -9);
    return op;
}

START_TEST(experts_come_from_the_best_groups)
{
    /* Groups by the sum of both: 1.6, 1.5, 1.6 with the biases; of equal ones the first. */
    struct one_op *op = router(3, 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x6", 0, 0, 3, -3, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "6", 0.5, 0.25, 0, 0, 0.5, 0.25);
    RUN_OK(op, 1);
    const double half = log(0.5);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x6", 1e-6, half, half, -9, -9, -9, -9);
    one_op_free(op);
    op = router(3, 2, 3);
    one_op_int(op, "group_topk", 1);
    ONE_OP_IN(op, OX_FLOAT32, "6", 0, 0, 3, -3, 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "6", 0.5, 0.25, 0, 0, 0.5, 0.25);
    RUN_FAILS(op, 1, "logits have rank 1");
    op = router(3, 2, 3);
    one_op_int(op, "group_topk", 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x6", 0, 0, 3, -3, 0, 0, -INFINITY, -1, -2, -3, -4, NAN);
    ONE_OP_IN(op, OX_FLOAT32, "6", 0, 0, 0, 0, 0.5, 0.25);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x6", 1e-6, -9, -9, log(sigmoid(3)), -9, half, half, log(1e-20),
               log(sigmoid(-1)), -9, -9, log(sigmoid(-4)), -9);
    one_op_free(op);
}
END_TEST

START_TEST(routers_that_do_not_fit_are_refused)
{
    static const int64_t counts[][3] = {{4, 1, 1}, {3, 4, 1}, {3, 1, 7}, {0, 1, 1}, {3, 1, 0}};
    static const char *const texts[] = {"1 of 6 experts, of 1 of 4 groups", "of 4 of 3 groups",
                                        "7 of 6 experts", "n_group is 0", "top_k is 0"};
    for (size_t i = 0; i < OX_COUNT(texts); i++) {
        struct one_op *op = router(counts[i][0], counts[i][1], counts[i][2]);
        ONE_OP_IN(op, OX_FLOAT32, "1x6", 0, 0, 3, -3, 0, 0);
        ONE_OP_IN(op, OX_FLOAT32, "6", 0, 0, 0, 0, 0, 0);
        RUN_FAILS(op, 1, texts[i]);
    }
    struct one_op *op = router(1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "3", 0, 0, 0);
    RUN_FAILS(op, 1, "expert_bias has 3 elements for 2 experts");
    op = router(1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", 0, 0);
    ONE_OP_IN(op, OX_FLOAT32, "2", 0, 0);
    RUN_FAILS(op, 3, "come together and without router_probs");
}
END_TEST

/* ---- GatherPacked ------------------------------------------------------------------------------------------------- */

/* Rows of one block each, all bytes of it 0 but for those given as (place, byte), and a scale of 2 at place `half`. */
static struct one_op *table(int64_t type, int64_t width, size_t bytes, size_t half,
                            const int (*set)[2], size_t n)
{
    double data[512] = {0};
    char shape[32];
    struct one_op *op = ms("GatherPacked");
    snprintf(shape, sizeof shape, "1x%zu", bytes);
    data[half + 1] = 0x40;
    for (size_t i = 0; i < n; i++)
        data[set[i][0]] = set[i][1];
    one_op_in(op, OX_UINT8, shape, data, bytes);
    ONE_OP_IN(op, OX_INT64, "", 0);
    one_op_int(op, "packed_type", type);
    one_op_int(op, "K", width);
    one_op_int(op, "output_dtype", 1);
    return op;
}

START_TEST(blocks_of_each_format)
{
    static const struct {
        int64_t type, width;
        size_t bytes, half;
        int set[4][2];
        size_t at;
        double value, first; /* of element `at`, and of element 0 */
    } cases[] = {
        {2, 32, 18, 0, {{17, 0xf0}}, 31, 14, -16},
        {6, 32, 22, 0, {{21, 0xf0}, {5, 0x80}}, 31, 30, -32},
        {8, 32, 34, 0, {{33, 0x80}, {2, 3}}, 31, -256, 6},
        /* The last group: low bits of step and least value in byte 15, high bits of both with the first four's. */
        {13, 256, 176, 0, {{15, 0x11}, {11, 0xc0}, {47, 0x80}, {175, 0xf0}}, 255, 2 * 1 * 31, 0},
        {14, 256, 210, 208, {{127, 0xf0}, {191, 0xc0}, {207, 0xff}, {192, 1}}, 255, -2 * 31, -64},
        {20, 32, 18, 0, {{17, 0x80}}, 31, 2, -254},
        {23, 256, 136, 0, {{3, 0x80}, {7, 0x10}, {135, 0x80}, {4, 0}}, 255, 2, 254 * 32},
        {42, 64, 18, 0, {{17, 0xc0}}, 63, 4, -2}};
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        struct one_op *op =
            table(cases[i].type, cases[i].width, cases[i].bytes, cases[i].half, cases[i].set, 4);
        if (one_op_run(op, 1) != OX_OK)
            ck_abort_msg("%s", one_op_error(op));
        const float *y = one_op_out(op, 0)->data;
        ck_assert_double_eq((double)y[cases[i].at], cases[i].value);
        ck_assert_double_eq((double)y[0], cases[i].first);
        one_op_free(op);
    }
}
END_TEST

START_TEST(rows_outside_of_the_table_are_the_first)
{
    struct one_op *op = ms("GatherPacked");
    ONE_OP_IN(op, OX_UINT8, "2x4", 0, 0x3c, 0, 0x40, 0, 0xbc, 0, 0x7c);
    ONE_OP_IN(op, OX_INT32, "2x2", 1, 2, -1, 0);
    one_op_int(op, "packed_type", 1);
    one_op_int(op, "K", 2);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_BFLOAT16, "2x2x2", 0, -1, INFINITY, 1, 2, 1, 2, 1, 2);
    one_op_free(op);
}
END_TEST

START_TEST(tables_that_do_not_fit_are_refused)
{
    RUN_FAILS(table(12, 256, 144, 0, NULL, 0), 1, "packed_type 12 is no format of rows");
    RUN_FAILS_AS(table(16, 256, 66, 0, NULL, 0), 1, OX_UNSUPPORTED,
                 "packed_type 16 (IQ2_XXS) is not served");
    RUN_FAILS(table(2, 48, 18, 0, NULL, 0), 1, "blocks of Q4_0 have 32 elements");
    RUN_FAILS(table(2, 64, 18, 0, NULL, 0), 1, "data is not [rows, 36]");
}
END_TEST

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void check_shapes(const char *inputs, const char *node, const char *wanted)
{
    char text[1024];
    struct ox_error err;
    struct ox_env *env = ox_env_new();
    struct ox_model *model;
    struct ox_shapes *shapes;
    snprintf(
        text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> g (%s) => (y) { %s }",
        inputs, node);
    ck_assert_msg(!ox_model_open_memory(&model, env, text, strlen(text), NULL, &err) &&
                      !ox_shapes_infer(&shapes, model, NULL, NULL, &err),
                  "%s", err.message);
    struct ox_strbuf printed = {0};
    for (const char *name = "yst"; *name; name++) {
        const char value[2] = {*name, 0};
        const struct ox_value *v = ox_graph_value(model->graph, value);
        const struct ox_type *type = v ? ox_shapes_type(shapes, v) : NULL;
        if (!v)
            continue;
        if (type)
            ox_type_print(&printed, type, true);
        ox_strbuf_puts(&printed, " ");
    }
    ck_assert_uint_eq(ox_findings_count(ox_shapes_findings(shapes)), 0);
    ck_assert_str_eq(printed.data, wanted);
    ox_strbuf_release(&printed);
    ox_shapes_release(shapes);
    ox_model_release(model);
    ox_env_release(env);
}

START_TEST(shapes_of_what_comes_out)
{
    check_shapes("float[T,4] x, float[4,1,3] w, int32[N] e, float[B,4,4] p, int32[B] c",
                 "y, s, t = com.microsoft.VarlenCausalConvWithState <dilation = 2, "
                 "state_update_capacity = 3> (x, w, e, , p, c)",
                 "float32[T,4] float32[N-1,4,4] float32[N-1,3,4] ");
    check_shapes("float[B,S,4,2] x, float[8,1,3] w",
                 "y, s = com.microsoft.CausalConvWithState <dilation = 2, channels_last = 1, "
                 "state_window = 3> (x, w)",
                 "float32[B,S,4,2] float32[3,B,4,4,2] ");
    check_shapes("float16[T,2,8] q, float16[T,4,6] v, int32[3] e, float[T,4,8] g, float[T,4] b, "
                 "int32[2] c",
                 "y, s, t = com.microsoft.GatedDeltaNet <state_update_capacity = 3> "
                 "(q, q, v, e, g, b, , , , c)",
                 "float16[T,4,6] float32[2,4,6,8] float32[2,216] ");
    check_shapes("float[B,S,56] q, float[B,S,4] g, float[B,S,4] b, float[B,4,6,8] p",
                 "y, s = com.microsoft.GatedDeltaNet (q, , , , g, b, p)",
                 "float32[B,S,4,6] float32[B,4,6,8] ");
    check_shapes("float[B,2,8] x, float[8] b",
                 "y = com.microsoft.MoEGroupRouter <top_k = 2> (x, b)", "float32[2*B,8] ");
    check_shapes("float[T,256] x, float[8] b, float[8,256] w",
                 ", s, t = com.microsoft.MoEGroupRouter <top_k = 2> (x, b, w) y = Identity(s)",
                 "float32[T,8] float32[T,8] float32[T,8] ");
    check_shapes("uint8[V,R] x, int64[B,S] i",
                 "y = com.microsoft.GatherPacked <packed_type = 14, K = 256> (x, i)",
                 "bfloat16[B,S,256] ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_contrib_states");
    TCase *tcase = tcase_create("states");
    tcase_add_test(tcase, a_sequence_begins_with_its_state);
    tcase_add_test(tcase, convolutions_that_do_not_fit_are_refused);
    tcase_add_test(tcase, taps_stand_apart_in_either_layout);
    tcase_add_test(tcase, a_window_has_states_behind_the_last_tokens);
    tcase_add_test(tcase, slices_of_causal_convolutions_are_refused_by_name);
    tcase_add_test(tcase, a_state_decays_and_is_corrected);
    tcase_add_test(tcase, gates_are_made_of_what_stands_for_decay);
    tcase_add_test(tcase, first_updates_are_kept);
    tcase_add_test(tcase, delta_nets_that_do_not_fit_are_refused);
    tcase_add_test(tcase, experts_come_from_the_best_groups);
    tcase_add_test(tcase, routers_that_do_not_fit_are_refused);
    tcase_add_test(tcase, blocks_of_each_format);
    tcase_add_test(tcase, rows_outside_of_the_table_are_the_first);
    tcase_add_test(tcase, tables_that_do_not_fit_are_refused);
    tcase_add_test(tcase, shapes_of_what_comes_out);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
