#include "quant/blocked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/threads.h"
#include "quant/cancel.h"
#include "quant/qparams.h"

/* ---- One block ---------------------------------------------------------------------------------------------------- */

/* Half to even, for |x| < 2^22: without a call, so that loops vectorize. */
static inline float round_even(float x)
{
    return (x + 12582912.0f) - 12582912.0f;
}

static inline float code_of(float value, float inverse, float zero, float least, float most)
{
    float x = value * inverse + zero;
    x = x < least ? least : x > most ? most : x;
    return round_even(x);
}

int ox_block_round(float value, struct ox_block_fit fit, int least, int most)
{
    if (fit.scale == 0)
        return fit.zero;
    return (int)code_of(value, 1 / fit.scale, (float)fit.zero, (float)least, (float)most);
}

/* One block while its scale is sought. */
struct fitting {
    const float *values, *importance;
    size_t m;
    enum ox_dtype real;
    bool symmetric;
    int least, most;
    struct ox_block_fit best;
    double cost; /* of the best */
};

float ox_block_scale(float scale, enum ox_dtype real)
{
    uint16_t half;
    if (real != OX_FLOAT16)
        return scale;
    ox_elements_convert(OX_FLOAT16, &half, OX_FLOAT32, &scale, 1, false);
    ox_elements_convert(OX_FLOAT32, &scale, OX_FLOAT16, &half, 1, false);
    return scale;
}

/* Four sums, so that they run side by side: the order is fixed by the code and not by the machine. */
static double cost_of(const struct fitting *f, struct ox_block_fit fit)
{
    enum { LANES = 4 };
    float sums[LANES] = {0};
    const float inverse = 1 / fit.scale, zero = (float)fit.zero;
    const float least = (float)f->least, most = (float)f->most;
    for (size_t i = 0; i < f->m; i++) {
        float d =
            f->values[i] - (code_of(f->values[i], inverse, zero, least, most) - zero) * fit.scale;
        sums[i % LANES] += f->importance ? f->importance[i] * d * d : d * d;
    }
    return ((double)sums[0] + (double)sums[1]) + ((double)sums[2] + (double)sums[3]);
}

/* false: it gains nothing. */
static bool offer(struct fitting *f, float scale, int zero)
{
    struct ox_block_fit fit = {ox_block_scale(scale, f->real), zero};
    if (fit.scale == 0 || !isfinite(1 / fit.scale))
        return false;
    double cost = cost_of(f, fit);
    if (!(cost < f->cost))
        return false;
    f->cost = cost;
    f->best = fit;
    return true;
}

/* The scale of least squared error for the integers that the best one gives. */
static float least_squares(const struct fitting *f)
{
    double cross = 0, power = 0;
    for (size_t i = 0; i < f->m; i++) {
        double w = f->importance ? (double)f->importance[i] : 1;
        double c = ox_block_round(f->values[i], f->best, f->least, f->most) - f->best.zero;
        cross += w * (double)f->values[i] * c;
        power += w * c * c;
    }
    return power > 0 ? (float)(cross / power) : 0;
}

static void refine(struct fitting *f)
{
    enum { ROUNDS = 3 };
    for (int i = 0; i < ROUNDS; i++) {
        if (!offer(f, least_squares(f), f->best.zero))
            return;
    }
}

/* Widths from the whole range down to half of it: what is clipped costs less than what all others gain. */
enum { STEPS = 48, STEPS_WIDE = 6 };

static float width_of(int step, int steps)
{
    return 1.05f - 0.55f * (float)step / (float)(steps - 1);
}

static void fit_symmetric(struct fitting *f, float largest, int steps)
{
    for (int i = 0; i < steps; i++) {
        float scale = largest * width_of(i, steps) / (float)-f->least;
        offer(f, scale, 0);
        offer(f, -scale, 0); /* the side that has one integer more */
    }
}

static void fit_range(struct fitting *f, float low, float high, int steps)
{
    for (int i = 0; i < steps; i++) {
        float scale = (high - low) * width_of(i, steps) / (float)(f->most - f->least);
        float zero = scale > 0 ? round_even(-low * width_of(i, steps) / scale) : 0;
        for (int z = (int)zero - 1; z <= (int)zero + 1 && scale > 0; z++) {
            if (z >= f->least && z <= f->most)
                offer(f, scale, z);
        }
    }
}

/* Half-quadratic quantization (Badri, Shaji): errors are split into what is noise and what are outliers, by shrinking them with the
 * p-norm of p = 0.75, and scale and zero point are fitted to the values without outliers, in turns. Zero points being integers
 * here, what it finds is taken where it costs less. */
static void fit_without_outliers(struct fitting *f)
{
    enum { ROUNDS = 20 };
    float beta = 10;
    for (int round = 0; round < ROUNDS; round++, beta *= 1.01f) {
        double cross = 0, power = 0, shift = 0;
        const struct ox_block_fit now = f->best;
        for (size_t i = 0; i < f->m; i++) {
            int code = ox_block_round(f->values[i], now, f->least, f->most);
            float d = f->values[i] - (float)(code - now.zero) * now.scale, a = fabsf(d);
            float kept = a > 0 ? a - 1 / (beta * sqrtf(sqrtf(a))) : 0;
            float smooth = f->values[i] - (kept > 0 ? (d < 0 ? -kept : kept) : 0);
            double c = code - now.zero;
            cross += (double)smooth * c;
            power += c * c;
            shift += code - (double)smooth / (double)now.scale;
        }
        int zero = f->symmetric ? 0 : (int)lrint(shift / (double)f->m);
        zero = zero < f->least ? f->least : zero > f->most ? f->most : zero;
        bool gained = power > 0 && offer(f, (float)(cross / power), now.zero);
        gained |= zero != now.zero && offer(f, f->best.scale, zero);
        if (!gained)
            return;
    }
}

struct ox_block_fit ox_block_fit(const struct ox_blocking *b, const float *values,
                                 const float *importance, size_t m)
{
    struct fitting f = {.values = values, .importance = importance, .m = m, .real = b->real};
    float low = 0, high = 0;
    f.symmetric = ox_dtype_is_signed(b->type);
    ox_qtype_limits(b->type, &f.least, &f.most);
    for (size_t i = 0; i < m; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    f.cost = INFINITY;
    f.best = (struct ox_block_fit){1, f.symmetric ? 0 : (f.most + 1) / 2};
    int steps = ox_dtype_bits(b->type) == 8 ? STEPS_WIDE : STEPS;
    if (f.symmetric)
        fit_symmetric(&f, -low > high ? -low : high, steps);
    else
        fit_range(&f, low, high, steps);
    if (f.cost == INFINITY)
        return f.best;
    refine(&f);
    if (b->method == OX_WEIGHT_HQQ) { /* from there on, so that no block is worse for it */
        fit_without_outliers(&f);
        refine(&f);
    }
    return f.best;
}

/* ---- A matrix ----------------------------------------------------------------------------------------------------- */

void ox_blocked_release(struct ox_blocked *blocked)
{
    ox_tensor_release(blocked->integers);
    ox_tensor_release(blocked->scales);
    ox_tensor_release(blocked->zeros);
    *blocked = (struct ox_blocked){0};
}

/* Columns are divided, each is a task's own. */
enum { COLUMNS = 16, MOST_BLOCK = 1024 };

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
        scales[i] = !b->live || b->live[i] ? (double)scale : 0;
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
    float values[MOST_BLOCK];
    int least, most;
    ox_qtype_limits(b->type, &least, &most);
    size_t end = (task + 1) * COLUMNS < b->n ? (task + 1) * COLUMNS : b->n;
    for (size_t row = 0; row < b->k; row += b->block) {
        size_t m = b->k - row < b->block ? b->k - row : b->block;
        for (size_t j = task * COLUMNS; j < end; j++) {
            for (size_t i = 0; i < m; i++)
                values[i] = b->values[(row + i) * b->n + j];
            struct ox_block_fit fit = ox_block_fit(b, values, NULL, m);
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

bool ox_blocked_fits_half(const struct ox_blocking *b)
{
    const float least_normal = 6.103515625e-05f, most_half = 65504;
    int least, most;
    ox_qtype_limits(b->type, &least, &most);
    /* Scales are sought down to half of the largest value over all integers, and up to it over those of one side. */
    const float narrow = 2 * (float)(most - least), wide = (float)(most - least) / 4;
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
    if (b->block > MOST_BLOCK)
        return ox_fail(err, OX_USAGE, "blocks are of at most %d values", MOST_BLOCK);
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
