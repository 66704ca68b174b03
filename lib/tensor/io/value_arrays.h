/* Values of any kind as arrays by name. */
#ifndef OX_TENSOR_IO_VALUE_ARRAYS_H
#define OX_TENSOR_IO_VALUE_ARRAYS_H

#include "tensor/tensor.h"

/* All zero is empty. */
struct ox_value_arrays {
    bool with_sparse; /* sparse tensors as NAME.values and NAME.indices; else they are refused */
    char **names;     /* n of each; own */
    struct ox_tensor **tensors;
    size_t n, capacity;
};

/* Adds the arrays of a value, named as at ox_values_write(). OX_UNSUPPORTED: a sparse tensor; OX_LIMIT: kinds nest too deep. */
enum ox_status ox_value_arrays_add(struct ox_value_arrays *arrays, const char *name,
                                   const struct ox_datum *value, struct ox_error *err);
void ox_value_arrays_release(struct ox_value_arrays *arrays);

#endif
