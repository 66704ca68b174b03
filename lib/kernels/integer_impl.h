/* What the files of the 8-bit convolution share. */
#ifndef OX_KERNELS_INTEGER_IMPL_H
#define OX_KERNELS_INTEGER_IMPL_H

#include "kernels/integer.h"

/* The end of the columns from `col` on. */
struct ox_integer_end ox_integer_end_at(const struct ox_integer_end *end, size_t col);
/* Bytes of a result's element. */
size_t ox_integer_out_size(enum ox_integer_out type);

/* 3x3 kernels, stride 1, by Winograd's minimal filtering, exactly. Whether the table has it and the kernel is one; pays(): whether
 * for this image it is less work, with weights of four times the size. */
bool ox_integer_winograd_can(const struct ox_integer *t, const struct ox_conv *c);
bool ox_integer_winograd_pays(const struct ox_integer *t, const struct ox_conv *c);
/* Bytes; SIZE_MAX when they overflow. */
size_t ox_integer_winograd_packed(const struct ox_integer *t, const struct ox_conv *c);
size_t ox_integer_winograd_work(const struct ox_integer *t, const struct ox_env *env,
                                const struct ox_conv *c);
/* False, and nothing is packed, when sums of these weights could become too large to be found again. */
bool ox_integer_winograd_pack(const struct ox_integer *t, struct ox_env *env,
                              const struct ox_conv *c, const void *weights, bool is_signed,
                              void *out);
/* end->weight_zero is NULL. */
void ox_integer_winograd_run(const struct ox_integer *t, struct ox_env *env,
                             const struct ox_conv *c, const void *packed, const void *in,
                             bool in_signed, int32_t in_zero, void *out,
                             const struct ox_integer_end *end, void *work);

#endif
