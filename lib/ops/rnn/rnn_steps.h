/* The steps of LSTM, GRU and RNN in float32, once the products with the input are there. */
#ifndef OX_OPS_RNN_STEPS_H
#define OX_OPS_RNN_STEPS_H

#include "kernels/dense.h"
#include "kernels/fixed24.h"
#include "kernels/rows.h"
#include "ops/rnn/rnn_bytes.h"
#include "ops/rnn/rnn_order.h"

enum {
    OX_RNN_WAITS = 4
}; /* a product with few rows waits for memory this much longer than for arithmetic */

/* An activation as a row function. */
struct ox_rnn_function {
    void (*unary)(size_t n, const float *x, float *y, float a, float b);
    float a, b;
};

struct ox_rnn_direction {
    const struct ox_rnn *rnn;
    const struct ox_rnn_order *order;
    size_t part, first; /* of the batch; where it begins */
    const struct ox_rows *rows;
    const struct ox_compute *compute;
    struct ox_env *env; /* NULL: each has a thread to itself */
    struct ox_rnn_function f[3];
    const float *recurrence, *bias, *peephole; /* bias, peephole: NULL for none */
    const float *packed[2];                    /* the recurrence, a part of the gates each; NULL */
    const struct ox_fixed24 *fixed;            /* the same in 24 bits; NULL */
    const struct ox_rnn_bytes *bytes;          /* the recurrence of DynamicQuantizeLSTM; NULL */
    void *bytes_work;
    const float *from_input;                          /* rows of gates * hidden, biases in them */
    float *h, *c, *gates, *reset, *candidate, *spare; /* of the part */
    float *y;                                         /* NULL: not wanted */
    bool backward;
    size_t which;
};

/* Gates whose products are done together: of GRU the hidden gate may wait for the others. */
size_t ox_rnn_part_rows(const struct ox_rnn *rnn, size_t which);
/* Activations of one direction or both; false: one of them is not known here. */
bool ox_rnn_find_functions(const struct ox_rnn *rnn, struct ox_rnn_direction d[2]);
/* All of a direction as one of the parts of its batch. */
struct ox_rnn_direction ox_rnn_part_of(const struct ox_rnn_direction *d, size_t part);
/* All steps of directions[which], a part of one or all of it: a task of threads. */
void ox_rnn_run_direction(void *directions, size_t which, size_t slot);

#endif
