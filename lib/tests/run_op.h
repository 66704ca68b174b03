/* Runs a single node without a file: for the unit tests of operators.
 *
 *     struct one_op *op = one_op_new("", "ReduceSum", 13);
 *     ONE_OP_IN(op, OX_FLOAT32, "2x3", 1, 2, 3, 4, 5, 6);
 *     ONE_OP_IN(op, OX_INT64, "1", 1);
 *     one_op_int(op, "keepdims", 0);
 *     ck_assert_int_eq(one_op_run(op, 1), OX_OK);
 *     ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 0, 6, 15);
 *     one_op_free(op);
 *
 * Shapes are written "2x3"; "" is a scalar, "0x4" empty. What cannot be built fails the test at once. */
#ifndef OX_TESTS_RUN_OP_H
#define OX_TESTS_RUN_OP_H

#include "ops/op.h"

struct one_op;

struct one_op *one_op_new(const char *domain, const char *op_type, int64_t opset);
void one_op_free(struct one_op *op);

/* Before the run. Floats in double, ... */
void one_op_set_oracle(struct one_op *op);
void one_op_set_seed(struct one_op *op, uint64_t seed);
/* ... and limits, if other than the default ones. */
struct ox_env *one_op_env(struct one_op *op);

/* Inputs, in order. Values are converted from double to the type by the rules of Cast. */
void one_op_in(struct one_op *op, enum ox_dtype dtype, const char *shape, const double *values,
               size_t n);
void one_op_in_data(struct one_op *op, enum ox_dtype dtype, const char *shape, const void *data,
                    size_t bytes);
void one_op_in_strings(struct one_op *op, const char *shape, const char *const *strings, size_t n);
void one_op_in_datum(struct one_op *op, const struct ox_datum *datum); /* takes a reference */
void one_op_in_none(struct one_op *op);                                /* omitted */

#define ONE_OP_IN(op, dtype, shape, ...)                                                           \
    one_op_in(op, dtype, shape, (const double[]){__VA_ARGS__},                                     \
              sizeof(double[]){__VA_ARGS__} / sizeof(double))
#define ONE_OP_IN_EMPTY(op, dtype, shape) one_op_in(op, dtype, shape, NULL, 0)

/* Attributes. */
void one_op_int(struct one_op *op, const char *name, int64_t value);
void one_op_float(struct one_op *op, const char *name, float value);
void one_op_string(struct one_op *op, const char *name, const char *value);
void one_op_ints(struct one_op *op, const char *name, const int64_t *values, size_t n);
void one_op_floats(struct one_op *op, const char *name, const float *values, size_t n);
void one_op_strings(struct one_op *op, const char *name, const char *const *values, size_t n);
void one_op_tensor(struct one_op *op, const char *name,
                   const struct ox_tensor *tensor); /* takes a reference */

#define ONE_OP_INTS(op, name, ...)                                                                 \
    one_op_ints(op, name, (const int64_t[]){__VA_ARGS__},                                          \
                sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t))
#define ONE_OP_FLOATS(op, name, ...)                                                               \
    one_op_floats(op, name, (const float[]){__VA_ARGS__},                                          \
                  sizeof(float[]){__VA_ARGS__} / sizeof(float))

/* A tensor for attributes, items of sequences and the like; the caller releases it. */
struct ox_tensor *one_op_make(struct one_op *op, enum ox_dtype dtype, const char *shape,
                              const double *values, size_t n);

/* Runs it; once for each one_op_new(). The message of a failure is one_op_error(). */
enum ox_status one_op_run(struct one_op *op, size_t n_outputs);
const char *one_op_error(const struct one_op *op);

/* Outputs after a run that succeeded, borrowed; NULL: the kernel made none. */
const struct ox_datum *one_op_datum(const struct one_op *op, size_t i);
const struct ox_tensor *one_op_out(const struct one_op *op,
                                   size_t i); /* fails the test when it is no tensor */

/* Fails the test unless output i has that type and shape and |value - expected| <= tolerance * max(1, |expected|), NaN equal to
 * NaN. */
void one_op_expect(const struct one_op *op, size_t i, enum ox_dtype dtype, const char *shape,
                   double tolerance, const double *values, size_t n);
void one_op_expect_strings(const struct one_op *op, size_t i, const char *shape,
                           const char *const *strings, size_t n);

#define ONE_OP_OUT(op, i, dtype, shape, tolerance, ...)                                            \
    one_op_expect(op, i, dtype, shape, tolerance, (const double[]){__VA_ARGS__},                   \
                  sizeof(double[]){__VA_ARGS__} / sizeof(double))
#define ONE_OP_OUT_EMPTY(op, i, dtype, shape) one_op_expect(op, i, dtype, shape, 0, NULL, 0)

#endif
