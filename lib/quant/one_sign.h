/* What is known of a value's sign without samples. */
#ifndef OX_QUANT_ONE_SIGN_H
#define OX_QUANT_ONE_SIGN_H

#include "quant/quant.h"

/* Whether the elements of a value are of one sign, but for some that are small beside the others: what Relu, Clip from 0, LeakyRelu of
 * a slight slope or Softmax make, and averages of what gates like Swish let through. */
enum ox_status ox_quant_one_sign(struct ox_quant *q, const struct ox_value *value, bool *one_sign,
                                 struct ox_error *err);

#endif
