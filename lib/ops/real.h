/* Floating tensors as doubles, a stretch at a time: for kernels that compute in double whatever the element type. */
#ifndef OX_OPS_REAL_H
#define OX_OPS_REAL_H

#include "ops/op.h"

/* n elements of a numeric type as those of another, what is too large saturated: ox_elements_convert(), by kernels where there are some. */
void ox_real_convert(enum ox_dtype to_dtype, void *to, enum ox_dtype from_dtype, const void *from,
                     size_t n);
/* Elements [at, at + n) of a tensor of any numeric type. */
void ox_real_load(const struct ox_tensor *tensor, size_t at, size_t n, double *out);
/* Rounded once; tensor is float64, float32, float16 or bfloat16. */
void ox_real_store(struct ox_tensor *tensor, size_t at, size_t n, const double *values);
/* In place, to what the type holds: for steps that the standard has in the operator's own type. float64 stays as it is. */
void ox_real_round(enum ox_dtype dtype, double *values, size_t n);
/* All of it: the tensor's own memory when it is float64, else scratch. NULL with *err set when out of memory. */
const double *ox_real_all(struct ox_run *r, const struct ox_tensor *tensor, struct ox_error *err);
/* The same for an input, which may be omitted: *out is NULL then. */
enum ox_status ox_real_in(struct ox_run *r, size_t i, const double **out, struct ox_error *err);
/* Makes output i and stores all of `values`. */
enum ox_status ox_real_out(struct ox_run *r, size_t i, enum ox_dtype dtype, unsigned rank,
                           const int64_t *dims, const double *values, struct ox_error *err);
/* The first element of input i as a number; fallback when it is omitted or empty. */
double ox_real_scalar(const struct ox_run *r, size_t i, double fallback);
/* Scratch for count doubles. */
double *ox_real_scratch(struct ox_run *r, size_t count, struct ox_error *err);

#endif
