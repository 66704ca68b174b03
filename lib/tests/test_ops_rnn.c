/* RNN, GRU, LSTM: lengths, activations, clipping, peepholes, coupled gates, layouts. */
#include <math.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Two steps of two sequences of one number, one hidden unit: h = f(x + 0.5 h). */
static struct one_op *plain(int64_t opset, const char *activation, const char *direction)
{
    struct one_op *op = one_op_new("", "RNN", opset);
    ONE_OP_IN(op, OX_FLOAT64, "2x2x1", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 0.5);
    const char *names[] = {activation};
    one_op_strings(op, "activations", names, 1);
    one_op_int(op, "hidden_size", 1);
    one_op_string(op, "direction", direction);
    return op;
}

START_TEST(rnn_stops_at_each_length)
{
    struct one_op *op = plain(7, "Relu", "forward");
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "2", 1, 2);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2x1x2x1", 0, 1, 2, 0, 5);
    ONE_OP_OUT(op, 1, OX_FLOAT64, "1x2x1", 0, 1, 5);
    one_op_free(op);
}
END_TEST

START_TEST(rnn_reversed_starts_at_each_end)
{
    struct one_op *op = plain(14, "Relu", "reverse");
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "2", 1, 2);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "2x1x2x1", 0, 1, 4, 0, 4);
    ONE_OP_OUT(op, 1, OX_FLOAT64, "1x2x1", 0, 1, 4);
    one_op_free(op);
}
END_TEST

START_TEST(rnn_checks_lengths)
{
    struct one_op *op = plain(7, "Relu", "forward");
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT32, "2", 1, 3);
    RUN_FAILS(op, 1, "sequence_lens[1] is 3");
    RUN_FAILS(plain(7, "Sine", "forward"), 1, "activation 'Sine'");
    RUN_FAILS(plain(7, "Relu", "sideways"), 1, "direction 'sideways'");
}
END_TEST

START_TEST(rnn_activations_have_their_parameters)
{
    static const struct {
        const char *name;
        double y;
    } want[] = {
        {"Affine", 2 * 3 + 0.25}, {"LeakyRelu", 3}, {"ThresholdedRelu", 3}, {"ScaledTanh", 0},
        {"HardSigmoid", 1},       {"Elu", 3},       {"Softsign", 0.75},     {"Softplus", 0},
        {"Sigmoid", 0},           {"tanh", 0}};
    for (size_t i = 0; i < OX_COUNT(want); i++) {
        struct one_op *op = one_op_new("", "RNN", 14);
        ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 3);
        ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 1);
        ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 1);
        one_op_strings(op, "activations", &want[i].name, 1);
        ONE_OP_FLOATS(op, "activation_alpha", 2);
        ONE_OP_FLOATS(op, "activation_beta", 0.25f);
        RUN_OK(op, 1);
        double y = i == 3   ? 2 * tanh(0.75)
                   : i == 7 ? log1p(exp(3))
                   : i == 8 ? sigmoid(3)
                   : i == 9 ? tanh(3)
                            : want[i].y;
        ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x1x1", 1e-15, y);
        one_op_free(op);
    }
}
END_TEST

START_TEST(rnn_of_both_directions_in_the_batch_layout)
{
    struct one_op *op = one_op_new("", "RNN", 14);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 1, 2);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x1", 1, 10);
    ONE_OP_IN(op, OX_FLOAT32, "2x1x1", 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "2x2", 0, 0.5, 0, 0);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1x2x1", 100, 1000);
    const char *names[] = {"Relu", "Relu"};
    one_op_strings(op, "activations", names, 2);
    one_op_string(op, "direction", "bidirectional");
    one_op_int(op, "layout", 1);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x2x2x1", 0, 101.5, 1030, 104, 1020);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x2x1", 0, 104, 1030);
    one_op_free(op);
}
END_TEST

static struct one_op *gru(int64_t linear)
{
    struct one_op *op = one_op_new("", "GRU", 7);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x3x1", 0.1, 0.2, 0.3);
    ONE_OP_IN(op, OX_FLOAT64, "1x3x1", 0.4, 0.5, 0.6);
    ONE_OP_IN(op, OX_FLOAT64, "1x6", 0.01, 0.02, 0.03, 0.04, 0.05, 0.06);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 2);
    one_op_int(op, "linear_before_reset", linear);
    return op;
}

START_TEST(gru_resets_before_or_after_the_product)
{
    double z = sigmoid(0.1 + 0.8 + 0.05), r = sigmoid(0.2 + 1 + 0.07);
    double before = tanh(0.3 + r * 2 * 0.6 + 0.03 + 0.06);
    double after = tanh(0.3 + r * (2 * 0.6 + 0.06) + 0.03);
    struct one_op *op = gru(0);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 1, OX_FLOAT64, "1x1x1", 1e-15, (1 - z) * before + z * 2);
    one_op_free(op);
    op = gru(1);
    RUN_OK(op, 2);
    ONE_OP_OUT(op, 1, OX_FLOAT64, "1x1x1", 1e-15, (1 - z) * after + z * 2);
    one_op_free(op);
}
END_TEST

static struct one_op *lstm(void)
{
    struct one_op *op = one_op_new("", "LSTM", 7);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x4x1", 0.1, 0.2, 0.3, 5);
    ONE_OP_IN(op, OX_FLOAT64, "1x4x1", 0.5, 0.6, 0.7, 0.8);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 1);
    ONE_OP_IN(op, OX_FLOAT64, "1x1x1", 2);
    ONE_OP_IN(op, OX_FLOAT64, "1x3", 0.01, 0.02, 0.03);
    return op;
}

static void check_lstm(struct one_op *op, bool coupled, double clip)
{
    double i = sigmoid(fmin(0.1 + 0.5 + 0.02, clip));
    double f = coupled ? 1 - i : sigmoid(fmin(0.3 + 0.7 + 0.06, clip));
    double c = f * 2 + i * tanh(fmin(5.8, clip));
    double o = sigmoid(fmin(0.2 + 0.6 + 0.02 * c, clip));
    RUN_OK(op, 3);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "1x1x1x1", 1e-15, o * tanh(fmin(c, clip)));
    ONE_OP_OUT(op, 2, OX_FLOAT64, "1x1x1", 1e-15, c);
    one_op_free(op);
}

START_TEST(lstm_peepholes_coupling_and_clip)
{
    check_lstm(lstm(), false, 1e9);
    struct one_op *op = lstm();
    one_op_int(op, "input_forget", 1);
    check_lstm(op, true, 1e9);
    op = lstm();
    one_op_float(op, "clip", 0.5f);
    check_lstm(op, false, 0.5);
}
END_TEST

START_TEST(lstm_of_no_steps_keeps_its_state)
{
    struct one_op *op = one_op_new("", "LSTM", 7);
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x1x1");
    ONE_OP_IN(op, OX_FLOAT32, "1x4x1", 1, 1, 1, 1);
    ONE_OP_IN(op, OX_FLOAT32, "1x4x1", 1, 1, 1, 1);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", 7);
    RUN_OK(op, 3);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "0x1x1x1");
    ONE_OP_OUT(op, 1, OX_FLOAT32, "1x1x1", 0, 7);
    ONE_OP_OUT(op, 2, OX_FLOAT32, "1x1x1", 0, 0);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rnn");
    TCase *tc = tcase_create("rnn");
    tcase_add_test(tc, rnn_stops_at_each_length);
    tcase_add_test(tc, rnn_reversed_starts_at_each_end);
    tcase_add_test(tc, rnn_checks_lengths);
    tcase_add_test(tc, rnn_activations_have_their_parameters);
    tcase_add_test(tc, rnn_of_both_directions_in_the_batch_layout);
    tcase_add_test(tc, gru_resets_before_or_after_the_product);
    tcase_add_test(tc, lstm_peepholes_coupling_and_clip);
    tcase_add_test(tc, lstm_of_no_steps_keeps_its_state);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
