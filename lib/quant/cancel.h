/* Rounding that lets the errors of one output's weights cancel. */
#ifndef OX_QUANT_CANCEL_H
#define OX_QUANT_CANCEL_H

#include "model/model.h"
#include "quant/qparams.h"

struct ox_quant;

/* The axis of a constant weight (input 1 of the node) along which outputs lie; -1: none that cancelling serves, as of depthwise
 * convolutions. */
int ox_cancel_axis(const struct ox_node *node, unsigned rank);
/* What is known of a product or convolution without samples. */
struct ox_cancel_plan {
    bool
        pays; /* cancelling is likely to serve: what it takes is of one sign, or another node of a convolution made it */
    /* Which of the features that it adds up are likely to be other than 0, in q->arena; NULL: all may be. A Relu of a product of what is of
     * one sign gives nothing but 0 where the product's weights, with its bias, add up to less. */
    const bool *live;
};
enum ox_status ox_cancel_plan(struct ox_quant *q, const struct ox_node *node,
                              struct ox_cancel_plan *plan, struct ox_error *err);

/* As ox_quantize_tensor(), but of the weights of each output, and of each kernel of a convolution, some that were nearly halfway
 * are rounded the other way, so that the errors add up to half a step at most. What is rounded is still next to its value.
 * outputs: the axis, 0 or 1 of a matrix. live: NULL, or which weights of an output count. Types of 16 bits, and scales along
 * another axis, are rounded as ever. */
enum ox_status ox_quantize_cancelling(struct ox_tensor **out, struct ox_budget *budget,
                                      const struct ox_tensor *tensor,
                                      const struct ox_qparams *params, int outputs,
                                      const bool *live, struct ox_error *err);

/* The weights that add up to one output, rounded: which is `step` elements after the one before. */
struct ox_cancelling {
    int8_t *q;
    size_t step, n;
    bool is_unsigned;
    int32_t least, most;  /* of q */
    double *errors;       /* n: how far each is above its real value, in steps */
    const double *scales; /* n: what one more of q is worth, may be negative; NULL: all the same */
    struct ox_cancel_candidate {
        double cost;
        size_t i;
    } * candidates; /* room for n */
};

/* Moves some of [first, first + n) by one, so that the sum of their errors is no more than half a step, if that can be. */
void ox_cancel(struct ox_cancelling *o, size_t first, size_t n);

#endif
