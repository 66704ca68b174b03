/* Norm of our own domain, in float32: y = v normalized over its last axis, times scale plus shift, of v = x + skip + bias.
 * Inputs are x, scale, shift, skip, bias, of which all but x may be omitted; outputs y and v. With `centred` 0 it is RMS
 * normalization. */
#include "ops/fast/fast.h"
#include "ops/infer.h"

static void infer_norm(struct ox_infer *c)
{
    for (size_t i = 0; i < ox_infer_n_out(c); i++) {
        ox_infer_same_dtype(c, i, 0);
        ox_infer_same_shape(c, i, 0);
    }
}

const struct ox_op ox_ops_fused_norm[] = {
    {OX_OWN_DOMAIN, "Norm", 1, .infer = infer_norm, .run = ox_run_own_norm}, {0}};
