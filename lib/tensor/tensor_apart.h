/* Tensors that do not lie among what malloc gives out. */
#ifndef OX_TENSOR_TENSOR_APART_H
#define OX_TENSOR_TENSOR_APART_H

#include "tensor/tensor.h"

/* A tensor of a copy of the elements, which lie as in a tensor's memory and are no strings; from 64 KB on in pages of its own. For
 * what comes and goes all the time beside small things that stay: each block of malloc's would leave a gap that something small settles
 * in, so that memory grew with their number. Errors as ox_tensor_new(). */
enum ox_status ox_tensor_copy_apart(struct ox_tensor **out, struct ox_budget *budget,
                                    enum ox_dtype dtype, unsigned rank, const int64_t *dims,
                                    const void *data, struct ox_error *err);

#endif
