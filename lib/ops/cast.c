/* Cast CastLike BitCast. */
#include <inttypes.h>
#include <string.h>

#include "kernels/casts.h"
#include "ops/broadcast.h"
#include "ops/cast_text.h"
#include "ops/rules.h"
#include "tensor/half.h"

struct cast_job {
    const struct ox_tensor *in;
    struct ox_tensor *out;
    bool saturate;
    enum ox_e8m0_round round;
};

static void convert_task(void *arg, size_t from, size_t to)
{
    const struct cast_job *job = arg;
    const char *in = (const char *)job->in->data + from * ox_dtype_size(job->in->dtype);
    char *out = (char *)job->out->data + from * ox_dtype_size(job->out->dtype);
    /* Only floats of a few bits may overflow. */
    const bool may = job->saturate || ox_dtype_bits(job->out->dtype) != 8 ||
                     ox_dtype_is_integer(job->out->dtype) || job->out->dtype == OX_BOOL;
    if (!may || !ox_cast_run(ox_cpu(), job->in->dtype, job->out->dtype, to - from, in, out))
        ox_elements_convert(job->out->dtype, out, job->in->dtype, in, to - from, job->saturate);
}

static void e8m0_task(void *arg, size_t from, size_t to)
{
    const struct cast_job *job = arg;
    uint8_t *out = job->out->data;
    for (size_t i = from; i < to; i++)
        out[i] = ox_double_to_e8m0(ox_tensor_get_double(job->in, i), job->round, job->saturate);
}

static enum ox_status round_mode(struct ox_run *r, enum ox_e8m0_round *mode, struct ox_error *err)
{
    const char *name = ox_run_string(r, "round_mode");
    *mode = OX_E8M0_UP;
    if (!name || !strcmp(name, "up"))
        return OX_OK;
    if (!strcmp(name, "down"))
        *mode = OX_E8M0_DOWN;
    else if (!strcmp(name, "nearest"))
        *mode = OX_E8M0_NEAREST;
    else
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute round_mode is '%.32s', not up, down or nearest", name);
    return OX_OK;
}

static enum ox_status cast_to(struct ox_run *r, enum ox_dtype to, struct ox_error *err)
{
    struct cast_job job = {.in = ox_run_in(r, 0)};
    if (job.in->dtype == to)
        return ox_run_out_tensor(r, 0, job.in, err);
    if (to == OX_FLOAT8E8M0)
        OX_TRY(round_mode(r, &job.round, err));
    job.saturate = ox_run_int(r, "saturate", 1) != 0;
    OX_TRY(ox_run_out(r, 0, to, job.in->rank, job.in->dims, &job.out, err));
    if (job.in->dtype == OX_STRING)
        return ox_cast_from_text(r, job.in, job.out, job.saturate, err);
    if (to == OX_STRING)
        return ox_cast_to_text(job.in, job.out, err);
    ox_ranges_run(r->env, job.in->n, OX_GRAIN, to == OX_FLOAT8E8M0 ? e8m0_task : convert_task,
                  &job);
    return OX_OK;
}

static enum ox_dtype dtype_of_number(int64_t number)
{
    return number > OX_UNDEFINED && number < OX_N_DTYPES ? (enum ox_dtype)number : OX_UNDEFINED;
}

static enum ox_status run_cast(struct ox_run *r, struct ox_error *err)
{
    int64_t number = ox_run_int(r, "to", 0);
    enum ox_dtype to = dtype_of_number(number);
    if (!to)
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute to is %" PRId64 ", which is no element type", number);
    return cast_to(r, to, err);
}

/* Version 1 names the type. */
static enum ox_status run_cast_by_name(struct ox_run *r, struct ox_error *err)
{
    const char *name = ox_run_string(r, "to");
    enum ox_dtype to;
    if (!name || !ox_dtype_parse(name, &to) || !to)
        return ox_run_fail(r, err, OX_INPUT, "attribute to is '%.32s', which is no element type",
                           name ? name : "");
    return cast_to(r, to, err);
}

static enum ox_status run_cast_like(struct ox_run *r, struct ox_error *err)
{
    return cast_to(r, ox_run_in(r, 1)->dtype, err);
}

/* ---- BitCast ------------------------------------------------------------------------------------------------------ */

/* With --oracle floats come widened: their bits are those of the type they were widened from. */
static enum ox_status narrow_again(struct ox_run *r, const struct ox_tensor **in,
                                   enum ox_dtype dtype, struct ox_tensor **owned,
                                   struct ox_error *err)
{
    OX_TRY(ox_tensor_convert(owned, ox_env_budget(r->env), *in, dtype, true, err));
    *in = *owned;
    return OX_OK;
}

static enum ox_status run_bit_cast(struct ox_run *r, struct ox_error *err)
{
    int64_t number = ox_run_int(r, "to", 0);
    enum ox_dtype to = dtype_of_number(number);
    const struct ox_tensor *in = ox_run_in(r, 0);
    struct ox_tensor *owned = NULL, *out, *bits;
    if (!to || to == OX_STRING)
        return ox_run_fail(r, err, OX_INPUT,
                           "attribute to is %" PRId64 ", which is no type of bits", number);
    enum ox_status status = OX_OK;
    if (r->oracle && in->dtype == OX_FLOAT64 && ox_dtype_bits(to) == 32)
        OX_TRY_CLEANUP(narrow_again(r, &in, OX_FLOAT32, &owned, err));
    if (ox_dtype_bits(in->dtype) != ox_dtype_bits(to)) {
        status = ox_run_fail(r, err, OX_INPUT, "%s has %u bits and %s %u, but they must be equal",
                             ox_dtype_name(in->dtype), ox_dtype_bits(in->dtype), ox_dtype_name(to),
                             ox_dtype_bits(to));
        goto cleanup;
    }
    OX_TRY_CLEANUP(ox_run_out(r, 0, to, in->rank, in->dims, &out, err));
    if (out->dtype == to) {
        if (in->n)
            memcpy(out->data, in->data, in->n * ox_dtype_size(to));
        ox_tensor_normalize(to, out->data, out->n);
        goto cleanup;
    }
    OX_TRY_CLEANUP(ox_tensor_borrow(&bits, to, in->rank, in->dims, in->data, NULL, NULL, err));
    ox_elements_convert(out->dtype, out->data, to, bits->data, out->n, true);
    ox_tensor_release(bits);
cleanup:
    ox_tensor_release(owned);
    return status;
}

/* ---- Shapes and values -------------------------------------------------------------------------------------------- */

static const struct ox_expr *to_bool(struct ox_infer *c, const struct ox_expr *value)
{
    int64_t x;
    if (ox_infer_is_num(value, &x))
        return ox_infer_num(c, x != 0);
    if (value && ((ox_expr_least(value, &x) && x > 0) || (ox_expr_greatest(value, &x) && x < 0)))
        return ox_infer_num(c, 1);
    return NULL;
}

/* Sizes fit into 32 bits and into the 24 of a float; what is narrower is known only of plain numbers. */
static const struct ox_expr *value_as(struct ox_infer *c, enum ox_dtype to,
                                      const struct ox_expr *value)
{
    const struct ox_expr *over;
    int64_t x, under, wrapped = 0;
    if (!ox_expr_ratio_parts(value, &over, &under))
        return NULL;
    if (under != 1 && (to == OX_FLOAT32 || to == OX_FLOAT64))
        return value;
    if (under != 1 && (to == OX_BOOL || !ox_expr_least(over, &x) || x < 0))
        return NULL;
    value = ox_infer_floordiv(c, over, ox_infer_num(c, under)); /* it truncates */
    if (to == OX_BOOL)
        return to_bool(c, value);
    if ((to == OX_UINT64 || to == OX_UINT32) && !(ox_expr_least(value, &x) && x >= 0))
        return NULL;
    if (to == OX_INT64 || to == OX_INT32 || to == OX_UINT64 || to == OX_UINT32 ||
        to == OX_FLOAT32 || to == OX_FLOAT64)
        return value;
    if (!ox_infer_is_num(value, &x))
        return NULL;
    if (ox_dtype_is_float(to))
        return x >= -256 && x <= 256 && ox_dtype_is_half(to) ? value : NULL;
    unsigned bits = ox_dtype_bits(to);
    if (!ox_dtype_is_integer(to) || bits >= 64)
        return NULL;
    wrapped = (int64_t)((uint64_t)x & ((UINT64_C(1) << bits) - 1));
    if (ox_dtype_is_signed(to) && wrapped >> (bits - 1))
        wrapped -= INT64_C(1) << bits;
    return ox_infer_num(c, wrapped);
}

static void infer_cast_to(struct ox_infer *c, enum ox_dtype to)
{
    size_t n;
    const struct ox_expr *const *values;
    if (to)
        ox_infer_set_dtype(c, 0, to);
    ox_infer_same_shape(c, 0, 0);
    if (!to || !(ox_infer_values(c, 0, &n, &values) || ox_rule_values(c, 0, &n, &values)) ||
        n > OX_RULE_VALUES)
        return;
    const struct ox_expr **cast = ox_infer_dims(c, (unsigned)n);
    for (size_t i = 0; cast && i < n; i++)
        cast[i] = value_as(c, to, values[i]);
    if (cast)
        ox_infer_set_values(c, 0, n, cast);
}

static void infer_cast(struct ox_infer *c)
{
    infer_cast_to(c, ox_rule_dtype_attr(c, "to"));
}

static void infer_cast_by_name(struct ox_infer *c)
{
    const char *name = ox_infer_string_attr(c, "to");
    enum ox_dtype to;
    infer_cast_to(c, name && ox_dtype_parse(name, &to) ? to : OX_UNDEFINED);
}

static void infer_cast_like(struct ox_infer *c)
{
    infer_cast_to(c, ox_infer_dtype(c, 1));
}

static void infer_bit_cast(struct ox_infer *c)
{
    enum ox_dtype from = ox_infer_dtype(c, 0), to = ox_rule_dtype_attr(c, "to");
    if (to)
        ox_infer_set_dtype(c, 0, to);
    ox_infer_same_shape(c, 0, 0);
    if (from && to && ox_dtype_bits(from) != ox_dtype_bits(to))
        ox_infer_conflict(c, "%s has %u bits and %s %u, but they must be equal",
                          ox_dtype_name(from), ox_dtype_bits(from), ox_dtype_name(to),
                          ox_dtype_bits(to));
}

const struct ox_op ox_ops_cast[] = {
    {"", "BitCast", 26, .flags = OX_OP_HALF | OX_OP_ROUNDED, .infer = infer_bit_cast,
     .run = run_bit_cast},
    {"", "Cast", 1, .flags = OX_OP_HALF, .infer = infer_cast_by_name, .run = run_cast_by_name},
    {"", "Cast", 6, .flags = OX_OP_HALF, .infer = infer_cast, .run = run_cast},
    {"", "CastLike", 15, .flags = OX_OP_HALF, .infer = infer_cast_like, .run = run_cast_like},
    {0}};
