/* An array of a tensor file, some rows (of its first dimension) at a time and in order. */
#ifndef OX_TENSOR_IO_TENSOR_ROWS_H
#define OX_TENSOR_IO_TENSOR_ROWS_H

#include "tensor/tensor.h"

struct ox_tensor_rows;

/* Member i of the file, which must outlive this; its rank is at least 1. Arrays of an .npz, also deflated ones, and those that lie
 * in the file as in memory take the memory of one call's rows; others (Fortran's order, text forms) are held whole. */
enum ox_status ox_tensor_rows_open(struct ox_tensor_rows **out, struct ox_tensor_file *file,
                                   size_t i, struct ox_error *err);
void ox_tensor_rows_release(struct ox_tensor_rows *rows);
/* The next n rows, no more than are left, valid until the next call. With the last one the checksum is looked at. */
enum ox_status ox_tensor_rows_next(struct ox_tensor_rows *rows, int64_t n, struct ox_tensor **out,
                                   struct ox_error *err);
/* Passes what is left, for its checksum. */
enum ox_status ox_tensor_rows_finish(struct ox_tensor_rows *rows, struct ox_error *err);

#endif
