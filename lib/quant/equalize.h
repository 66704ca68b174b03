/* Channels evened out between layers. */
#ifndef OX_QUANT_EQUALIZE_H
#define OX_QUANT_EQUALIZE_H

#include "quant/calibrate.h"
#include "quant/quant.h"

/* A channel of values that were made larger or smaller: what was seen of a value holds divided by factors[c]. */
struct ox_equalized {
    const char *name;
    size_t n;
    const float *factors;
    struct ox_equalized *next;
};

/* How a value's channels were changed; NULL: they are as they were. */
const struct ox_equalized *ox_equalized_of(const struct ox_equalized *rows, const char *name);

/* Scales output channels of convolutions and Gemm down and the next one's input channels up, where nothing but Relu, LeakyRelu and
 * pooling lies between: the model computes the same. least_ratio: pairs whose largest over smallest factor is less are left
 * alone. Channels that a convolution makes for a normalization of each (InstanceNormalization, GroupNormalization) alone become
 * nearly equal, if there is a calibration to tell. *changed lists the values that changed; it is of the job's arena. */
enum ox_status ox_quant_equalize(struct ox_quant *q, const struct ox_calibration *calibration,
                                 float least_ratio, struct ox_equalized **changed,
                                 struct ox_error *err);

/* Moves what is large in channels of normalizations' outputs into the weights of the products that follow. Rows are added to
 * *changed. */
enum ox_status ox_quant_smooth(struct ox_quant *q, const struct ox_calibration *calibration,
                               struct ox_equalized **changed, struct ox_error *err);

/* What n_readers products read of the value, a float32 of n channels in its last dimension, divided by factors -> *out: the value itself
 * where a normalization or a product by constants makes it for them alone, which then takes the division in; else what a new Mul
 * gives. uses: as before any such change, of the value's graph. */
enum ox_status ox_quant_divide(struct ox_quant *q, const struct ox_quant_uses *uses,
                               struct ox_value *value, const float *factors, size_t n,
                               size_t n_readers, struct ox_value **out, struct ox_error *err);

#endif
