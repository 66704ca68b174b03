/* The sequences of a batch by length, the longest first: those that go on are the first ones at every step. */
#ifndef OX_OPS_RNN_ORDER_H
#define OX_OPS_RNN_ORDER_H

#include "ops/rnn.h"

struct ox_rnn_order {
    size_t *place;  /* in the batch, a rank each */
    size_t *length; /* a rank each */
    size_t *before; /* sequences that go on, of all times before one; [steps + 1] */
    bool
        gathered; /* the products with the input have a row for each of those alone, by time and rank */
};

/* lens: NULL when all sequences have all steps. */
enum ox_status ox_rnn_order_make(struct ox_run *r, const struct ox_rnn *rnn,
                                 const struct ox_tensor *lens, struct ox_rnn_order *out,
                                 struct ox_error *err);

static inline size_t ox_rnn_going(const struct ox_rnn_order *order, size_t step)
{
    return order->before[step + 1] - order->before[step];
}

/* What has `width` floats of each sequence: from the order of the batch to that of ranks, and back. */
void ox_rnn_by_rank(const struct ox_rnn *rnn, const struct ox_rnn_order *order, size_t width,
                    const float *from, float *to);
void ox_rnn_by_place(const struct ox_rnn *rnn, const struct ox_rnn_order *order, size_t width,
                     const float *from, float *to);
/* The rows of the input, [steps, batch, input], of those that go on. */
void ox_rnn_gather(const struct ox_rnn *rnn, const struct ox_rnn_order *order, const float *from,
                   float *to);

#endif
