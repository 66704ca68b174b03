#include "tests/run_text.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "model/text_read.h"

void text_open(struct text_run *f, const char *text)
{
    size_t n;
    memset(f, 0, sizeof *f);
    f->env = ox_env_new();
    ck_assert_ptr_nonnull(f->env);
    enum ox_status status =
        ox_text_read(&f->bytes, &n, text, strlen(text), f->env, "test", &f->err);
    ck_assert_msg(status == OX_OK, "%s", f->err.message);
    status = ox_model_open_memory(&f->model, f->env, f->bytes, n, NULL, &f->err);
    ck_assert_msg(status == OX_OK, "%s", f->err.message);
}

enum ox_status text_plan(struct text_run *f, const struct ox_run_options *options)
{
    return ox_session_new(&f->session, f->model, options, &f->err);
}

void text_must_plan(struct text_run *f, const char *text, const struct ox_run_options *options)
{
    text_open(f, text);
    ck_assert_msg(text_plan(f, options) == OX_OK, "%s", f->err.message);
}

void text_close(struct text_run *f)
{
    for (size_t i = 0; i < TEXT_MOST; i++) {
        ox_datum_release(f->in[i]);
        ox_datum_release(f->out[i]);
    }
    ox_session_release(f->session);
    ox_model_release(f->model);
    free(f->bytes);
    ck_assert_uint_eq(ox_env_budget(f->env)->used, 0); /* everything was given back */
    ox_env_release(f->env);
}

void text_give(struct text_run *f, enum ox_dtype dtype, unsigned rank, const int64_t *dims,
               const void *data)
{
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_tensor_from_data(&tensor, f->env, dtype, rank, dims, data, &f->err), OX_OK);
    ck_assert_int_eq(ox_datum_of_tensor(&f->in[f->n_in++], tensor, &f->err), OX_OK);
    ox_tensor_release(tensor);
}

void text_give_floats(struct text_run *f, int64_t n, const float *values)
{
    text_give(f, OX_FLOAT32, 1, &n, values);
}

enum ox_status text_run_once(struct text_run *f)
{
    for (size_t i = 0; i < TEXT_MOST; i++)
        ox_datum_release(f->out[i]);
    memset(f->out, 0, sizeof f->out);
    return ox_session_run(f->session, f->in, f->out, &f->err);
}

void text_must_run(struct text_run *f)
{
    ck_assert_msg(text_run_once(f) == OX_OK, "%s", f->err.message);
}

void text_expect(const struct text_run *f, size_t i, enum ox_dtype dtype, size_t n,
                 const double *values)
{
    ck_assert_ptr_nonnull(f->out[i]);
    const struct ox_tensor *tensor = ox_datum_get_tensor(f->out[i]);
    ck_assert_ptr_nonnull(tensor);
    ck_assert_str_eq(ox_dtype_name(tensor->dtype), ox_dtype_name(dtype));
    ck_assert_uint_eq(tensor->n, n);
    for (size_t k = 0; k < n; k++)
        ck_assert_double_eq(ox_tensor_get_double(tensor, k), values[k]);
}

void text_expect_message(const struct text_run *f, const char *part)
{
    ck_assert_msg(strstr(f->err.message, part) != NULL, "'%s' is not in: %s", part, f->err.message);
}
