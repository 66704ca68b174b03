/* The forms that ox_tensors_write() chooses from; each writes to an open file that the caller commits. */
#ifndef OX_TENSOR_IO_WRITERS_H
#define OX_TENSOR_IO_WRITERS_H

#include "common/file.h"
#include "tensor/tensor.h"

enum ox_status ox_json_tensors_write(struct ox_outfile *file, const char *path, size_t n,
                                     const char *const *names,
                                     const struct ox_tensor *const *tensors, struct ox_error *err);
enum ox_status ox_safetensors_write(struct ox_outfile *file, const char *path, size_t n,
                                    const char *const *names,
                                    const struct ox_tensor *const *tensors, struct ox_error *err);

#endif
