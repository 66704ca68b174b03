/* Tensors with their axes in another order. */
#include <string.h>

#include "parity/expected.h"

enum ox_status ox_expected_permute(struct ox_tensor **out, struct ox_env *env,
                                   const struct ox_tensor *in, unsigned rank, const int64_t *dims,
                                   const unsigned *perm, unsigned out_rank, const int64_t *out_dims,
                                   struct ox_error *err)
{
    const size_t size = ox_dtype_size(in->dtype);
    size_t stride[OX_AXIS_RANK], index[OX_AXIS_RANK] = {0}, step = size, from = 0;
    struct ox_tensor *t;
    OX_TRY(ox_tensor_new(&t, ox_env_budget(env), in->dtype, out_rank, out_dims, err));
    for (unsigned k = rank; k-- > 0;) {
        stride[k] = step;
        step *= (size_t)dims[k];
    }
    for (size_t i = 0; i < in->n; i++) {
        memcpy((char *)t->data + i * size, (const char *)in->data + from, size);
        for (unsigned k = rank; k-- > 0;) {
            from += stride[perm[k]];
            if (++index[k] < (size_t)dims[perm[k]])
                break;
            from -= stride[perm[k]] * index[k];
            index[k] = 0;
        }
    }
    *out = t;
    return OX_OK;
}
