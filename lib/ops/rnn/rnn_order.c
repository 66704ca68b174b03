#include "ops/rnn/rnn_order.h"

#include <string.h>

static size_t lies_at(const struct ox_rnn_order *order, size_t rank)
{
    return ox_rnn_part_first(order, rank % order->parts) + rank / order->parts;
}

enum ox_status ox_rnn_order_make(struct ox_run *r, const struct ox_rnn *rnn,
                                 const struct ox_tensor *lens, size_t parts,
                                 struct ox_rnn_order *out, struct ox_error *err)
{
    const size_t batch = rnn->batch, steps = rnn->steps;
    size_t *all = ox_run_scratch(r, 2 * batch + steps + 1, sizeof *all, err);
    if (!all)
        return OX_NO_MEMORY;
    *out = (struct ox_rnn_order){.batch = batch,
                                 .parts = parts,
                                 .place = all,
                                 .length = all + batch,
                                 .before = all + 2 * batch};
    size_t *next = out->before; /* rank of the next sequence of a length */
    memset(next, 0, (steps + 1) * sizeof *next);
    for (size_t b = 0; b < batch; b++)
        next[lens ? (size_t)ox_tensor_get_int(lens, b) : steps]++;
    for (size_t length = steps + 1, longer = 0; length-- > 0;) {
        const size_t n = next[length];
        next[length] = longer;
        longer += n;
    }
    for (size_t b = 0; b < batch; b++) {
        const size_t length = lens ? (size_t)ox_tensor_get_int(lens, b) : steps;
        const size_t at = lies_at(out, next[length]++);
        out->length[at] = length;
        out->place[at] = b;
    }
    /* next[t + 1] has become the number of those longer than t. */
    out->before[0] = 0;
    for (size_t t = 0; t < steps; t++)
        out->before[t + 1] += out->before[t];
    return OX_OK;
}

void ox_rnn_to_parts(const struct ox_rnn_order *order, size_t width, const float *from, float *to)
{
    for (size_t b = 0; b < order->batch; b++)
        memcpy(to + b * width, from + order->place[b] * width, width * sizeof *to);
}

void ox_rnn_from_parts(const struct ox_rnn_order *order, size_t width, const float *from, float *to)
{
    for (size_t b = 0; b < order->batch; b++)
        memcpy(to + order->place[b] * width, from + b * width, width * sizeof *to);
}

void ox_rnn_gather(const struct ox_rnn *rnn, const struct ox_rnn_order *order, const float *from,
                   float *to)
{
    for (size_t t = 0; t < rnn->steps; t++)
        for (size_t row = order->before[t]; row < order->before[t + 1]; row++, to += rnn->input)
            memcpy(to,
                   from +
                       (t * order->batch + order->place[lies_at(order, row - order->before[t])]) *
                           rnn->input,
                   rnn->input * sizeof *to);
}
