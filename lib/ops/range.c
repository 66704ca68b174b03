/* Range: numbers from a start to a limit by steps. */
#include <inttypes.h>
#include <math.h>

#include "ops/carry.h"
#include "ops/rules.h"

static void infer_range_values(struct ox_infer *c, const struct ox_expr *start,
                               const struct ox_expr *delta, int64_t n)
{
    const struct ox_expr *values[OX_CARRY_VALUES];

    for (int64_t i = 0; i < n; i++)
        values[i] = ox_infer_add(c, start, ox_infer_mul(c, ox_infer_num(c, i), delta));
    ox_infer_set_values(c, 0, (size_t)n, values);
}

/* Three floating constants. */
static const struct ox_expr *infer_range_floats(struct ox_infer *c)
{
    double value[3], n;

    for (size_t i = 0; i < 3; i++) {
        const struct ox_tensor *tensor = ox_infer_const(c, i);

        if (!tensor || tensor->n != 1 || tensor->dtype == OX_STRING)
            return NULL;
        value[i] = ox_tensor_get_double(tensor, 0);
    }
    n = ceil((value[1] - value[0]) / value[2]);
    return n < 1 ? ox_infer_num(c, 0) : n < 9e15 ? ox_infer_num(c, (int64_t)n) : NULL;
}

static void infer_range(struct ox_infer *c)
{
    const struct ox_expr *const *value[3];
    const struct ox_expr *count = NULL, *zero = ox_infer_num(c, 0);
    int64_t delta, number;
    size_t n;
    bool known = true;

    for (size_t i = 0; i < 3; i++) {
        if (!ox_rule_values(c, i, &n, &value[i]) || n != 1)
            known = false;
    }
    if (known && ox_infer_is_num(value[2][0], &delta) && delta == 0) {
        ox_infer_conflict(c, "delta is 0");
    } else if (known) {
        count = ox_infer_ceildiv(c, ox_infer_sub(c, value[1][0], value[0][0]), value[2][0]);
        if (!ox_carry_not_negative(count))
            count = ox_infer_max(c, count, zero);
    } else {
        count = infer_range_floats(c);
    }
    if (!count)
        count = ox_infer_data_dim(c, "count");
    ox_infer_set_shape(c, 0, 1, &count);
    if (known && ox_infer_is_num(count, &number) && number >= 0 && number <= OX_CARRY_VALUES &&
        ox_dtype_is_integer(ox_infer_dtype(c, 0)))
        infer_range_values(c, value[0][0], value[2][0], number);
}

/* Elements that [start, limit) has by steps of delta. */
static uint64_t range_count(int64_t start, int64_t limit, int64_t delta)
{
    if (delta > 0)
        return limit <= start ? 0 : ((uint64_t)limit - (uint64_t)start - 1) / (uint64_t)delta + 1;
    return limit >= start ? 0 : ((uint64_t)start - (uint64_t)limit - 1) / (0 - (uint64_t)delta) + 1;
}

static enum ox_status run_range_ints(struct ox_run *r, enum ox_dtype dtype, struct ox_error *err)
{
    int64_t start = ox_tensor_get_int(ox_run_in(r, 0), 0),
            limit = ox_tensor_get_int(ox_run_in(r, 1), 0);
    int64_t delta = ox_tensor_get_int(ox_run_in(r, 2), 0);
    struct ox_tensor *out;

    if (delta == 0)
        return ox_run_fail(r, err, OX_INPUT, "delta is 0");
    uint64_t count = range_count(start, limit, delta);

    if (count > INT64_MAX)
        return ox_run_fail(r, err, OX_INPUT,
                           "from %" PRId64 " to %" PRId64 " are %" PRIu64 " elements", start, limit,
                           count);
    OX_TRY(ox_run_out(r, 0, dtype, 1, (int64_t[]){(int64_t)count}, &out, err));
    /* start + i * delta stays between start and limit. */
    if (dtype == OX_INT64) {
        int64_t *to = out->data;
        uint64_t next = (uint64_t)start; /* sums: there are no vectors of 64-bit products */
        for (uint64_t i = 0; i < count; i++, next += (uint64_t)delta)
            to[i] = (int64_t)next;
    } else if (dtype == OX_INT32) {
        for (uint64_t i = 0; i < count; i++)
            ((int32_t *)out->data)[i] = (int32_t)(start + (int64_t)i * delta);
    } else {
        for (uint64_t i = 0; i < count; i++)
            ((int16_t *)out->data)[i] = (int16_t)(start + (int64_t)i * delta);
    }
    return OX_OK;
}

static enum ox_status run_range(struct ox_run *r, struct ox_error *err)
{
    static const char *const names[] = {"start", "limit", "delta"};
    struct ox_tensor *out;
    double value[3], count;

    for (size_t i = 0; i < 3; i++) {
        const struct ox_tensor *in = ox_run_in(r, i);

        if (in->n != 1)
            return ox_run_fail(r, err, OX_INPUT, "%s has %zu elements, not 1", names[i], in->n);
        value[i] = ox_tensor_get_double(in, 0);
    }
    enum ox_dtype dtype = ox_run_in(r, 0)->dtype;

    if (dtype != OX_FLOAT32 && dtype != OX_FLOAT64)
        return run_range_ints(r, dtype, err);
    if (value[2] == 0)
        return ox_run_fail(r, err, OX_INPUT, "delta is 0");
    count = ceil((value[1] - value[0]) / value[2]);
    if (!(count < 9e15)) /* NaN and infinity too */
        return ox_run_fail(r, err, OX_INPUT, "from %g to %g by %g are %g elements", value[0],
                           value[1], value[2], count);
    OX_TRY(ox_run_out(r, 0, dtype, 1, (int64_t[]){count > 0 ? (int64_t)count : 0}, &out, err));
    if (out->dtype == OX_FLOAT64) {
        for (size_t i = 0; i < out->n; i++)
            ((double *)out->data)[i] = value[0] + (double)i * value[2];
    } else {
        for (size_t i = 0; i < out->n; i++)
            ((float *)out->data)[i] = (float)(value[0] + (double)i * value[2]);
    }
    return OX_OK;
}

const struct ox_op ox_ops_range[] = {
    /* In half types computed in float32 and rounded at the end: stash_type 1, the default. */
    {"", "Range", 11, 0, .infer = infer_range, .run = run_range},
    {0}};
