/* What a recurrent operator's attributes say, and its activation functions. */
#ifndef OX_OPS_RNN_H
#define OX_OPS_RNN_H

#include "ops/op.h"

enum ox_activation_kind {
    OX_ACT_RELU,
    OX_ACT_TANH,
    OX_ACT_SIGMOID,
    OX_ACT_AFFINE,
    OX_ACT_LEAKY_RELU,
    OX_ACT_THRESHOLDED_RELU,
    OX_ACT_SCALED_TANH,
    OX_ACT_HARD_SIGMOID,
    OX_ACT_ELU,
    OX_ACT_SOFTSIGN,
    OX_ACT_SOFTPLUS
};

struct ox_activation {
    enum ox_activation_kind kind;
    double alpha, beta;
};

enum ox_rnn_kind { OX_RNN_PLAIN, OX_RNN_GRU, OX_RNN_LSTM };

static inline size_t ox_rnn_gates(enum ox_rnn_kind kind)
{
    return kind == OX_RNN_LSTM ? 4 : kind == OX_RNN_GRU ? 3 : 1;
}

struct ox_rnn {
    enum ox_rnn_kind kind;
    size_t directions, steps, batch, input, hidden;
    bool reverse, layout, linear_before_reset, input_forget;
    bool turned;      /* W and R are [directions, depth, gates * hidden], of 8 bits */
    bool round_state; /* the state, of all the batch, is quantized to 8 bits before its product */
    double clip;      /* 0: none */
    size_t gate_at
        [4]; /* where the standard's gates are in W, R and B: elsewhere in our own nodes (ops/rnn/ordered_rnn.c) */
    struct ox_activation functions[2][3];
};

/* The attribute that says where; of GRU the last gate is the last. */
#define OX_RNN_GATES "gates"

/* Inputs beyond those of LSTM that run_lstm() takes of DynamicQuantizeLSTM where products saturate (ox_run.saturating): codes of
 * X and their scale, W and R as that operator has them, [directions, depth, gates * hidden], with their scales. */
enum { OX_RNN_CODES = 8, OX_RNN_CODES_SCALE, OX_RNN_W, OX_RNN_W_SCALE, OX_RNN_R, OX_RNN_R_SCALE };

/* Numbers as DynamicQuantizeLinear and its inverse leave them; their scale. codes: n of them, or NULL. */
double ox_round_dynamic(double *v, size_t n, uint8_t *codes);

/* The operator's sizes and functions, checked against its inputs. */
enum ox_status ox_rnn_read(struct ox_run *r, enum ox_rnn_kind kind, struct ox_rnn *rnn,
                           struct ox_error *err);

#endif
