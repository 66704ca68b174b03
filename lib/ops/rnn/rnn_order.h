/* The sequences of a batch by length, the longest first: those that go on are the first ones at every step. Parts of the batch may be
 * run apart, of sequences dealt out in turn: those of a part lie together. */
#ifndef OX_OPS_RNN_ORDER_H
#define OX_OPS_RNN_ORDER_H

#include "kernels/sizes.h"
#include "ops/rnn/rnn.h"

struct ox_rnn_order {
    size_t batch, parts;
    size_t *place;  /* in the batch, of the sequences as they lie */
    size_t *length; /* of the same */
    size_t *before; /* sequences that go on, of all times before one; [steps + 1] */
    bool gathered;  /* the products with the input have rows of those alone, by time and rank */
};

/* lens: NULL when all sequences have all steps. */
enum ox_status ox_rnn_order_make(struct ox_run *r, const struct ox_rnn *rnn,
                                 const struct ox_tensor *lens, size_t parts,
                                 struct ox_rnn_order *out, struct ox_error *err);

/* Where a part begins. */
static inline size_t ox_rnn_part_first(const struct ox_rnn_order *order, size_t part)
{
    return order->batch / order->parts * part + ox_least(part, order->batch % order->parts);
}

/* Those of a part that go on. */
static inline size_t ox_rnn_going(const struct ox_rnn_order *order, size_t part, size_t step)
{
    const size_t all = order->before[step + 1] - order->before[step];
    return (all + order->parts - 1 - part) / order->parts;
}

/* What has `width` floats of each sequence: from the order of the batch to that in which they lie, and back. */
void ox_rnn_to_parts(const struct ox_rnn_order *order, size_t width, const float *from, float *to);
void ox_rnn_from_parts(const struct ox_rnn_order *order, size_t width, const float *from,
                       float *to);
/* The rows of the input, [steps, batch, input], of those that go on. */
void ox_rnn_gather(const struct ox_rnn *rnn, const struct ox_rnn_order *order, const float *from,
                   float *to);

#endif
