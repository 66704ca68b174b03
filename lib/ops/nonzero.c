/* NonZero. */
#include <string.h>

#include "ops/carry.h"
#include "ops/kernel_tables.h"

#define STAMP "ops/nonzero_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/nonzero_tmpl.h"
#include "common/stamp_integers.h"

static void not_zero_c64(const void *data, size_t n, uint8_t *flags)
{
    const float *values = data;

    for (size_t i = 0; i < n; i++)
        flags[i] = values[2 * i] != 0 || values[2 * i + 1] != 0;
}

static void not_zero_c128(const void *data, size_t n, uint8_t *flags)
{
    const double *values = data;

    for (size_t i = 0; i < n; i++)
        flags[i] = values[2 * i] != 0 || values[2 * i + 1] != 0;
}

static void not_zero_string(const void *data, size_t n, uint8_t *flags)
{
    const struct ox_str *values = data;

    for (size_t i = 0; i < n; i++)
        flags[i] = values[i].n != 0;
}

static void infer_nonzero(struct ox_infer *c)
{
    const struct ox_expr *dims[2] = {NULL, NULL}, *values[OX_CARRY_VALUES];
    struct ox_carry_value value;
    const int64_t *numbers;
    unsigned rank;
    size_t n, count = 0;

    ox_infer_set_dtype(c, 0, OX_INT64);
    if (ox_infer_shape(c, 0, &rank, NULL))
        dims[0] = ox_infer_num(c, rank);
    if (ox_carry_value(c, 0, &value) && value.rank == 1 && ox_infer_ints(c, 0, &n, &numbers)) {
        for (size_t i = 0; i < n; i++) {
            if (numbers[i])
                values[count++] = ox_infer_num(c, (int64_t)i);
        }
        dims[1] = ox_infer_num(c, (int64_t)count);
        ox_infer_set_shape(c, 0, 2, dims);
        ox_infer_set_values(c, 0, count, values);
        return;
    }
    dims[1] = ox_infer_data_dim(c, "count");
    ox_infer_set_shape(c, 0, 2, dims);
}

/* Where the flags of a line are set, at most `room` places; most words of eight flags are often none. */
static size_t list_flags(const uint8_t *flags, size_t n, size_t room, int64_t *places)
{
    size_t found = 0;
    for (size_t i = 0, part; i < n; i += part) {
        uint64_t word = 0;
        part = n - i < sizeof word ? n - i : sizeof word;
        memcpy(&word, flags + i, part);
        for (size_t k = i; word && k < i + part && found < room; k++) {
            places[found] = (int64_t)k;
            found += flags[k];
        }
    }
    return found;
}

/* Places along each of the axes, `count` of them, line by line of the last. */
static void list_places(const struct ox_tensor *in, const uint8_t *flags, size_t count,
                        int64_t *places)
{
    const unsigned last = in->rank - 1;
    const size_t n = (size_t)in->dims[last];
    int64_t at[OX_MOVE_RANK] = {0};
    for (size_t found = 0, more; found < count; found += more, flags += n) {
        more = list_flags(flags, n, count - found, places + last * count + found);
        for (unsigned k = 0; k < last; k++)
            for (size_t i = 0; i < more; i++)
                places[k * count + found + i] = at[k];
        for (unsigned k = last; k-- > 0;) {
            if (++at[k] < in->dims[k])
                break;
            at[k] = 0;
        }
    }
}

static enum ox_status run_nonzero(struct ox_run *r, struct ox_error *err)
{
    static void (*const kernels[OX_N_DTYPES])(const void *, size_t, uint8_t *) = {
        OX_KERNELS_NUMBER(not_zero), [OX_BOOL] = not_zero_u8, [OX_COMPLEX64] = not_zero_c64,
        [OX_COMPLEX128] = not_zero_c128, [OX_STRING] = not_zero_string};
    const struct ox_tensor *in = ox_run_in(r, 0);
    uint8_t *flags = ox_run_scratch(r, in->n + 1, 1, err);
    int64_t dims[2] = {in->rank, 0};
    struct ox_tensor *out;

    if (!flags)
        return OX_NO_MEMORY;
    OX_TRY(ox_move_rank(r, in->rank, err));
    if (!kernels[in->dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "element type %s", ox_dtype_name(in->dtype));
    kernels[in->dtype](in->data, in->n, flags);
    for (size_t i = 0; i < in->n; i++)
        dims[1] += flags[i];
    OX_TRY(ox_run_out(r, 0, OX_INT64, 2, dims, &out, err));
    if (out->n)
        list_places(in, flags, (size_t)dims[1], out->data);
    return OX_OK;
}

const struct ox_op ox_ops_nonzero[] = {
    {"", "NonZero", 9, 0, .infer = infer_nonzero, .run = run_nonzero}, {0}};
