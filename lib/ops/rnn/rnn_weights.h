/* Weights of LSTM, GRU and RNN in float32 and 8 bits as the fast form keeps them from run to run. */
#ifndef OX_OPS_RNN_WEIGHTS_H
#define OX_OPS_RNN_WEIGHTS_H

#include "ops/rnn/rnn_steps.h"

/* Inputs; the last two of DynamicQuantizeLSTM. */
enum {
    OX_RNN_IN_W = 1,
    OX_RNN_IN_R = 2,
    OX_RNN_IN_LENS = 4,
    OX_RNN_IN_P = 7,
    OX_RNN_IN_W_SCALE = 8,
    OX_RNN_IN_R_SCALE = 10
};

/* What prepare() leaves: W and R packed, a direction after another; NULL: not. */
struct ox_rnn_kept {
    const float *w, *r;
    struct ox_rnn_bytes bytes[2][2]; /* of a direction W and R */
    bool has_fixed;
    struct ox_fixed24 fixed[2][2]; /* of a direction R, a part of the gates each */
};

bool ox_rnn_has_bytes(const struct ox_run *r);
/* Whether the inputs are such as the fast form takes. */
bool ox_rnn_are_floats(const struct ox_run *r);
enum ox_rnn_kind ox_rnn_kind_of(const struct ox_run *r);
/* What ox_prepare_rnn() has left; never NULL. */
const struct ox_rnn_kept *ox_rnn_kept_of(const struct ox_run *r);

/* Whether recurrent weights are packed for this run alone; the floats of a direction's. */
bool ox_rnn_wants_packed(const struct ox_rnn *rnn);
size_t ox_rnn_recurrence_floats(const struct ox_compute *t, const struct ox_rnn *rnn);
void ox_rnn_pack_recurrence(const struct ox_compute *t, struct ox_env *env,
                            const struct ox_rnn *rnn, const float *from, float *to);

/* Bytes of all that is packed of 8-bit weights; SIZE_MAX: too many. */
size_t ox_rnn_block_bytes(const struct ox_run *r, size_t directions);
/* block: ox_rnn_block_bytes() of them. */
struct ox_rnn_kept *ox_rnn_pack_bytes(const struct ox_run *r, size_t directions, char *block);

#endif
