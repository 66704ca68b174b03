#include "quant/blocked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/threads.h"
#include "quant/cancel.h"
#include "quant/qparams.h"

void ox_blocked_release(struct ox_blocked *blocked)
{
    ox_tensor_release(blocked->integers);
    ox_tensor_release(blocked->scales);
    ox_tensor_release(blocked->zeros);
    *blocked = (struct ox_blocked){0};
}

/* Columns are divided, each is a task's own. */
enum { COLUMNS = 16 };

struct columns {
    const struct ox_blocking *b;
    int8_t *codes, *zeros; /* zeros NULL: symmetric */
    void *scales;
    _Atomic bool failed; /* out of memory */
};

static void store_scale(void *scales, enum ox_dtype real, size_t at, float scale)
{
    ox_elements_convert(real, (char *)scales + at * ox_dtype_size(real), OX_FLOAT32, &scale, 1,
                        false);
}

/* Errors of a column cancel, over all of its blocks: for what is added up with inputs that are mostly of one sign. */
static void cancel_column(const struct columns *c, struct ox_cancelling *o, double *scales,
                          size_t j)
{
    const struct ox_blocking *b = c->b;
    o->q = c->codes + j;
    for (size_t i = 0; i < b->k; i++) {
        size_t at = i / b->block * b->n + j;
        float scale;
        ox_elements_convert(OX_FLOAT32, &scale, b->real,
                            (const char *)c->scales + at * ox_dtype_size(b->real), 1, false);
        const int zero = c->zeros ? (uint8_t)c->zeros[at] : 0;
        const int code = o->is_unsigned ? (uint8_t)o->q[i * b->n] : (int)o->q[i * b->n];
        o->errors[i] =
            scale == 0 ? 0 : code - zero - (double)b->values[i * b->n + j] / (double)scale;
        const double met = b->importance ? sqrt((double)b->importance[i]) : 1;
        scales[i] = !b->live || b->live[i] ? (double)scale * met : 0;
    }
    ox_cancel(o, 0, b->k);
}

static bool cancel_columns(const struct columns *c, size_t first, size_t end)
{
    const struct ox_blocking *b = c->b;
    struct ox_cancelling o = {.step = b->n, .n = b->k, .is_unsigned = !ox_dtype_is_signed(b->type)};
    double *scales = calloc(b->k, sizeof *scales);
    ox_qtype_limits(b->type, &o.least, &o.most);
    o.errors = calloc(b->k, sizeof *o.errors);
    o.candidates = calloc(b->k, sizeof *o.candidates);
    o.scales = scales;
    const bool good = scales && o.errors && o.candidates;
    for (size_t j = first; j < end && good; j++)
        cancel_column(c, &o, scales, j);
    free(o.candidates);
    free(o.errors);
    free(scales);
    return good;
}

static void round_columns(void *arg, size_t task)
{
    struct columns *c = arg;
    const struct ox_blocking *b = c->b;
    float values[OX_MOST_BLOCK];
    int least, most;
    ox_qtype_limits(b->type, &least, &most);
    size_t end = (task + 1) * COLUMNS < b->n ? (task + 1) * COLUMNS : b->n;
    for (size_t row = 0; row < b->k; row += b->block) {
        size_t m = b->k - row < b->block ? b->k - row : b->block;
        for (size_t j = task * COLUMNS; j < end; j++) {
            for (size_t i = 0; i < m; i++)
                values[i] = b->values[(row + i) * b->n + j];
            struct ox_block_fit fit =
                ox_block_fit(b, values, b->importance ? b->importance + row : NULL, m);
            size_t at = row / b->block * b->n + j;
            store_scale(c->scales, b->real, at, fit.scale);
            if (c->zeros)
                c->zeros[at] = (int8_t)fit.zero;
            for (size_t i = 0; i < m; i++)
                c->codes[(row + i) * b->n + j] =
                    (int8_t)ox_block_round(values[i], fit, least, most);
        }
    }
    if (b->cancelling && !cancel_columns(c, task * COLUMNS, end))
        c->failed = true;
}

static enum ox_status make_tensors(struct ox_blocked *made, struct ox_env *env,
                                   const struct ox_blocking *b, struct ox_error *err)
{
    struct ox_budget *budget = ox_env_budget(env);
    const int64_t all[] = {(int64_t)b->k, (int64_t)b->n};
    const int64_t blocks[] = {(int64_t)((b->k + b->block - 1) / b->block), (int64_t)b->n};
    *made = (struct ox_blocked){0};
    enum ox_status status = ox_tensor_new(&made->integers, budget, b->type, 2, all, err);
    if (status == OX_OK)
        status = ox_tensor_new(&made->scales, budget, b->real, 2, blocks, err);
    if (status == OX_OK && !ox_dtype_is_signed(b->type))
        status = ox_tensor_new(&made->zeros, budget, b->type, 2, blocks, err);
    if (status != OX_OK)
        ox_blocked_release(made);
    return status;
}

bool ox_blocked_gains_by_half(const struct ox_blocking *b)
{
    enum { FEW_SCALES = 64 }; /* a Cast and its names take as much */
    const float least_normal = 6.103515625e-05f, most_half = 65504;
    int least, most;
    ox_qtype_limits(b->type, &least, &most);
    /* Scales are sought down to half of the largest value over all integers, and up to it over those of one side. */
    const float narrow = 2 * (float)(most - least), wide = (float)(most - least) / 4;
    if ((b->k + b->block - 1) / b->block * b->n < FEW_SCALES)
        return false;
    for (size_t row = 0; row < b->k; row += b->block) {
        size_t end = b->k - row < b->block ? b->k : row + b->block;
        for (size_t j = 0; j < b->n; j++) {
            float largest = 0;
            for (size_t i = row; i < end; i++)
                largest = fmaxf(largest, fabsf(b->values[i * b->n + j]));
            if (largest > 0 && (largest / narrow < least_normal || largest / wide > most_half))
                return false;
        }
    }
    return true;
}

enum ox_status ox_blocked_quantize(struct ox_blocked *out, struct ox_env *env,
                                   const struct ox_blocking *b, struct ox_error *err)
{
    struct ox_blocked made;
    OX_TRY(ox_env_poll(env, err));
    if (b->block > OX_MOST_BLOCK)
        return ox_fail(err, OX_USAGE, "blocks are of at most %d values", OX_MOST_BLOCK);
    OX_TRY(make_tensors(&made, env, b, err));
    if (b->method == OX_WEIGHT_GPTQ && b->hessian) {
        enum ox_status status = ox_gptq(&made, env, b, err);
        if (status != OX_OK)
            ox_blocked_release(&made);
        else
            *out = made;
        return status;
    }
    struct columns columns = {b, made.integers->data, made.zeros ? made.zeros->data : NULL,
                              made.scales->data, false};
    ox_parallel(env, (b->n + COLUMNS - 1) / COLUMNS, round_columns, &columns);
    if (columns.failed) {
        ox_blocked_release(&made);
        return ox_no_memory(err);
    }
    *out = made;
    return OX_OK;
}

enum ox_status ox_blocked_dequantize(struct ox_tensor **out, struct ox_env *env,
                                     const struct ox_blocked *blocked, size_t block,
                                     struct ox_error *err)
{
    const struct ox_tensor *q = blocked->integers;
    struct ox_tensor *made, *scales;
    OX_TRY(ox_tensor_convert(&scales, ox_env_budget(env), blocked->scales, OX_FLOAT32, false, err));
    enum ox_status status =
        ox_tensor_new(&made, ox_env_budget(env), OX_FLOAT32, q->rank, q->dims, err);
    size_t n = (size_t)q->dims[1];
    bool is_signed = ox_dtype_is_signed(q->dtype);
    for (size_t i = 0; status == OX_OK && i < q->n; i++) {
        size_t at = i / n / block * n + i % n;
        int zero = blocked->zeros ? ((const uint8_t *)blocked->zeros->data)[at] : 0;
        int code = is_signed ? ((const int8_t *)q->data)[i] : ((const uint8_t *)q->data)[i];
        ((float *)made->data)[i] = (float)(code - zero) * ((const float *)scales->data)[at];
    }
    ox_tensor_release(scales);
    if (status == OX_OK)
        *out = made;
    return status;
}
