/* Runs models written in the ONNX textual syntax: for the tests of the runtime. */
#ifndef OX_TESTS_RUN_TEXT_H
#define OX_TESTS_RUN_TEXT_H

#include "tensor/tensor.h"

enum { TEXT_MOST = 16 };

/* A model from its text, its session, and what goes in and comes out. */
struct text_run {
    struct ox_env *env;
    uint8_t *bytes;
    struct ox_model *model;
    struct ox_session *session;
    struct ox_datum *in[TEXT_MOST], *out[TEXT_MOST];
    size_t n_in;
    struct ox_error err;
};

/* Reads the model; fails the test when it cannot be read. */
void text_open(struct text_run *f, const char *text);
enum ox_status text_plan(struct text_run *f, const struct ox_run_options *options);
/* Both, or the test fails. */
void text_must_plan(struct text_run *f, const char *text, const struct ox_run_options *options);
/* Releases everything and fails the test when memory is still taken. */
void text_close(struct text_run *f);

/* Adds the next input of the session. */
void text_give(struct text_run *f, enum ox_dtype dtype, unsigned rank, const int64_t *dims,
               const void *data);
void text_give_floats(struct text_run *f, int64_t n, const float *values);

/* Outputs of the run before are released. */
enum ox_status text_run_once(struct text_run *f);
void text_must_run(struct text_run *f);

/* Output i has n elements of that type and these values, or the test fails. */
void text_expect(const struct text_run *f, size_t i, enum ox_dtype dtype, size_t n,
                 const double *values);
#define TEXT_EXPECT(f, i, dtype, ...)                                                              \
    text_expect(f, i, dtype, sizeof(double[]){__VA_ARGS__} / sizeof(double),                       \
                (const double[]){__VA_ARGS__})
/* The message has `part` in it, or the test fails. */
void text_expect_message(const struct text_run *f, const char *part);

#endif
