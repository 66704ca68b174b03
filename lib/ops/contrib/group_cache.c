#include "ops/contrib/group_cache.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/real.h"

enum { PAST_KEY = 3, K_SCALE = 12 };

/* How a cache is stored: its elements times `scales` are the values. */
struct codes {
    enum ox_dtype dtype;
    unsigned bits;        /* 4: two in a byte, the first low, each 8 more than its value */
    const double *scales; /* NULL: stored as values */
    size_t head_step, step;
};

/* What an element of the query's type is stored in. */
static enum ox_status read_codes(struct ox_run *r, const struct ox_group_cache *c, size_t part,
                                 struct codes *codes, struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, PAST_KEY + part),
                           *scale = ox_run_in(r, K_SCALE + part);
    const char *type = ox_run_string(r, part ? "v_quant_type" : "k_quant_type");
    *codes = (struct codes){.dtype = past ? past->dtype : ox_run_in(r, 0)->dtype};
    if (!type || strcmp(type, "NONE") == 0)
        return OX_OK;
    bool channel = strcmp(type, "PER_CHANNEL") == 0;
    int64_t bits = ox_run_int(r, "kv_cache_bit_width", 0);
    if (!channel && strcmp(type, "PER_TENSOR") != 0)
        return ox_run_fail(r, err, OX_INPUT, "%.32s is no way to quantize a cache", type);
    if (!past || !scale || scale->n != (channel ? c->heads * c->size : 1))
        return ox_run_fail(r, err, OX_INPUT, "a quantized cache needs its past and %s",
                           channel ? "a scale a channel" : "one scale");
    codes->bits = past->dtype == OX_UINT8 ? 4 : 8;
    if (bits && bits != (int64_t)codes->bits)
        return ox_run_fail(r, err, OX_INPUT, "kv_cache_bit_width is %" PRId64 " for a cache of %s",
                           bits, ox_dtype_name(past->dtype));
    codes->head_step = channel ? c->size : 0;
    codes->step = channel;
    return ox_real_in(r, K_SCALE + part, &codes->scales, err);
}

static size_t stored_size(const struct codes *codes, size_t size)
{
    return codes->bits == 4 ? (size + 1) / 2 : size;
}

enum ox_status ox_group_cache_open(struct ox_run *r, struct ox_group_cache *c, struct ox_error *err)
{
    const struct ox_tensor *first = ox_run_in(r, PAST_KEY);
    int64_t window = ox_run_int(r, "local_window_size", -1);
    for (size_t part = 0; part < 2; part++) {
        const struct ox_tensor *t = ox_run_in(r, PAST_KEY + part);
        struct codes codes;
        OX_TRY(read_codes(r, c, part, &codes, err));
        if (!first && !t)
            continue;
        size_t size = stored_size(&codes, c->size);
        if (!first || !t || t->rank != 4 || (size_t)t->dims[0] != c->batch ||
            (size_t)t->dims[1] != c->heads || (size_t)t->dims[3] != size ||
            t->dims[2] != first->dims[2])
            return ox_run_fail(r, err, OX_INPUT, "%s is not %zu x %zu x past x %zu",
                               part ? "past_value" : "past_key", c->batch, c->heads, size);
    }
    c->rows = first ? (size_t)first->dims[2] : 0;
    if (!ox_run_int(r, "sliding_window_cache", 0))
        return OX_OK;
    if (window < 1 || (uint64_t)window > c->rows)
        return ox_run_fail(r, err, OX_INPUT,
                           "a sliding cache of %zu rows for a local_window_size of %" PRId64,
                           c->rows, window);
    c->window = (size_t)window;
    return OX_OK;
}

size_t ox_group_cache_resident(const struct ox_group_cache *c, size_t total)
{
    if (!c->window || total <= c->rows)
        return total;
    size_t step = c->rows - c->window + 1, beyond = total - c->rows;
    return total - (beyond / step + (beyond % step != 0)) * step;
}

/* ---- Codes --------------------------------------------------------------------------------------------------------- */

/* A row of what came in, as codes. */
static void load_row(const struct ox_tensor *past, const struct codes *codes, size_t row,
                     size_t size, double *to)
{
    if (codes->bits != 4) {
        ox_real_load(past, row * size, size, to);
        return;
    }
    const uint8_t *pairs = (const uint8_t *)past->data + row * stored_size(codes, size);
    for (size_t i = 0; i < size; i++)
        to[i] = (double)(pairs[i / 2] >> (i % 2 ? 4 : 0) & 15) - 8;
}

/* A new row's values, as codes. */
static void code_row(const struct codes *codes, const double *scales, const double *from,
                     size_t size, double *to)
{
    double least = codes->bits == 4 ? -8 : -128;
    for (size_t i = 0; i < size; i++) {
        double scale = scales ? scales[i * codes->step] : 1;
        if (!codes->scales) {
            to[i] = from[i];
        } else if (codes->dtype == OX_FLOAT8E4M3FN) {
            double code = scale != 0 ? from[i] / scale : 0;
            uint8_t bits;
            ox_elements_convert(OX_FLOAT8E4M3FN, &bits, OX_FLOAT64, &code, 1, true);
            ox_elements_convert(OX_FLOAT64, &to[i], OX_FLOAT8E4M3FN, &bits, 1, true);
        } else {
            double code = scale != 0 ? rint(from[i] / scale) : 0;
            to[i] = fmin(fmax(code, least), -least - 1);
        }
    }
}

/* ---- Joining ------------------------------------------------------------------------------------------------------- */

/* The rows that stay of each batch, first; behind them 0. */
static enum ox_status stay(struct ox_run *r, const struct ox_group_cache *c, const double *all,
                           const double **out, struct ox_error *err)
{
    size_t plane = c->out_rows * c->size;
    double *to = ox_real_scratch(r, c->batch * c->heads * plane, err);
    if (!to)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < c->batch * c->heads; i++) {
        size_t b = i / c->heads, gone = c->held[b] + c->fresh[b] - c->left[b];
        memcpy(to + i * plane, all + (i * c->cols + gone) * c->size,
               c->left[b] * c->size * sizeof *to);
    }
    *out = to;
    return OX_OK;
}

static enum ox_status give_present(struct ox_run *r, const struct ox_group_cache *c, size_t part,
                                   const struct codes *codes, const double *all,
                                   struct ox_error *err)
{
    size_t packed = stored_size(codes, c->size);
    const int64_t dims[4] = {(int64_t)c->batch, (int64_t)c->heads, (int64_t)c->out_rows,
                             (int64_t)packed};
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 1 + part, codes->dtype, 4, dims, &out, err));
    if (c->window)
        OX_TRY(stay(r, c, all, &all, err));
    if (codes->bits != 4) {
        ox_elements_convert(out->dtype, out->data, OX_FLOAT64, all, out->n, true);
        return OX_OK;
    }
    for (size_t i = 0; i < out->n; i++) {
        const double *pair = all + i / packed * c->size + i % packed * 2;
        int high = i % packed * 2 + 1 < c->size ? (int)pair[1] : 0;
        ((uint8_t *)out->data)[i] = (uint8_t)((int)pair[0] + 8 + 16 * (high + 8));
    }
    return OX_OK;
}

enum ox_status ox_group_cache_join(struct ox_run *r, const struct ox_group_cache *c, size_t part,
                                   const double *rows, struct ox_attend_steps at,
                                   const double **out, struct ox_error *err)
{
    const struct ox_tensor *past = ox_run_in(r, PAST_KEY + part);
    struct codes codes;
    OX_TRY(read_codes(r, c, part, &codes, err));
    double *all = ox_real_scratch(r, c->batch * c->heads * c->cols * c->size, err);
    if (!all)
        return OX_NO_MEMORY;
    *out = all;
    for (size_t plane = 0; plane < c->batch * c->heads; plane++) {
        size_t b = plane / c->heads, h = plane % c->heads;
        const double *scales = codes.scales ? codes.scales + h * codes.head_step : NULL;
        double *to = all + plane * c->cols * c->size;
        for (size_t row = 0; row < c->held[b]; row++)
            load_row(past, &codes, plane * c->rows + row, c->size, to + row * c->size);
        const size_t added = c->pads ? c->fresh[b] : c->added;
        for (size_t row = 0; row < added && c->held[b] + row < c->cols; row++)
            code_row(&codes, scales, rows + b * at.batch + h * at.head + row * at.row, c->size,
                     to + (c->held[b] + row) * c->size);
        for (size_t i = (c->held[b] + added) * c->size; i < c->cols * c->size; i++)
            to[i] = codes.bits == 4 ? -8 : 0; /* bytes of 0 */
    }
    if (ox_run_wants(r, 1 + part))
        OX_TRY(give_present(r, c, part, &codes, all, err));
    for (size_t i = 0; codes.scales && i < c->batch * c->heads * c->cols * c->size; i++) {
        size_t h = i / (c->cols * c->size) % c->heads;
        all[i] *= codes.scales[h * codes.head_step + i % c->size * codes.step];
    }
    return OX_OK;
}
