/* Faster QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of one scale between float32 and 8 or 16 bits, QLinearAdd and
 * QLinearMul, and Lookup of our own domain: y[i] = table[x[i]], a code's bits being the place in a table of 256 elements. */
#include <math.h>
#include <string.h>

#include "kernels/words.h"
#include "ops/broadcast.h"
#include "ops/contrib/qlinear.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"

static bool one_float(const struct ox_run *r, size_t i, float *value)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    if (!t || t->n != 1 || t->dtype != OX_FLOAT32)
        return false;
    *value = ((const float *)t->data)[0];
    return true;
}

struct rows {
    const struct ox_bytes *table;
    const void *x;
    void *y;
    struct ox_bytes_code code;
    uint16_t flip;
    bool words; /* 16 bits */
};

static void quantize_rows(void *arg, size_t from, size_t to)
{
    const struct rows *w = arg;
    const float *x = (const float *)w->x + from;
    if (w->words)
        ox_words_quantize(w->table->level, to - from, x, &w->code, (uint16_t *)w->y + from);
    else
        w->table->quantize(to - from, x, &w->code, (uint8_t *)w->y + from);
}

static void dequantize_rows(void *arg, size_t from, size_t to)
{
    const struct rows *w = arg;
    float *y = (float *)w->y + from;
    if (w->words)
        ox_words_dequantize(w->table->level, to - from, (const uint16_t *)w->x + from, w->flip,
                            w->code.zero, w->code.scale, y);
    else
        w->table->dequantize(to - from, (const uint8_t *)w->x + from, (uint8_t)w->flip,
                             w->code.zero, w->code.scale, y);
}

/* A block of one element each is not one scale. */
static bool has_blocks(const struct ox_run *r)
{
    return ox_run_int(r, "block_size", 0) != 0;
}

static bool is_signed(enum ox_dtype dtype)
{
    return dtype == OX_INT8 || dtype == OX_INT16;
}

static bool is_wide(enum ox_dtype dtype)
{
    return dtype == OX_UINT16 || dtype == OX_INT16;
}

static int32_t zero_of(const struct ox_tensor *zero)
{
    return zero && is_wide(zero->dtype) ? (int32_t)ox_tensor_get_int(zero, 0) : ox_int8_zero(zero);
}

enum ox_status ox_int8_quantize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *zero = ox_run_in(r, 2);
    const int64_t wanted = ox_run_int(r, "output_dtype", 0),
                  precision = ox_run_int(r, "precision", 0);
    const enum ox_dtype dtype = zero ? zero->dtype : wanted ? (enum ox_dtype)wanted : OX_UINT8;
    struct rows w = {.table = ox_bytes(ox_cpu()), .x = x->data};
    struct ox_tensor *y;
    if (x->dtype != OX_FLOAT32 || (dtype != OX_UINT8 && dtype != OX_INT8 && !is_wide(dtype)) ||
        (zero && (zero->n != 1 || (wanted && wanted != (int64_t)dtype))) || has_blocks(r) ||
        (precision && precision != OX_FLOAT32) || !one_float(r, 1, &w.code.scale))
        return OX_UNSUPPORTED;
    const int32_t most = is_wide(dtype) ? UINT16_MAX : UINT8_MAX;
    w.words = is_wide(dtype);
    w.code.zero = zero_of(zero);
    w.code.lo = is_signed(dtype) ? -(most / 2) - 1 : 0;
    w.code.hi = w.code.lo + most;
    OX_TRY(ox_run_out(r, 0, dtype, x->rank, x->dims, &y, err));
    w.y = y->data;
    ox_ranges_run(r->env, x->n, OX_GRAIN, quantize_rows, &w);
    return OX_OK;
}

enum ox_status ox_int8_dequantize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *zero = ox_run_in(r, 2);
    const int64_t wanted = ox_run_int(r, "output_dtype", 0);
    struct rows w = {.table = ox_bytes(ox_cpu()), .words = is_wide(x->dtype)};
    struct ox_tensor *y;
    if ((!w.words && !ox_int8_in(r, 0)) || (zero && (zero->n != 1 || zero->dtype != x->dtype)) ||
        has_blocks(r) || (wanted && wanted != OX_FLOAT32) || !one_float(r, 1, &w.code.scale))
        return OX_UNSUPPORTED;
    w.flip = !is_signed(x->dtype) ? 0 : w.words ? 0x8000 : 0x80;
    w.code.zero = zero_of(zero) + w.flip;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, x->rank, x->dims, &y, err));
    w.x = x->data;
    w.y = y->data;
    ox_ranges_run(r->env, x->n, OX_GRAIN, dequantize_rows, &w);
    return OX_OK;
}

enum {
    RANGES = 32,
    RANGE = 8192
}; /* elements at least, of which each range's extremes are found apart */

struct extremes {
    const float *x;
    size_t n, range;
    float low[RANGES], high[RANGES];
};

static void find_extremes(void *arg, size_t from, size_t to)
{
    struct extremes *e = arg;
    const struct ox_bytes *table = ox_bytes(ox_cpu());
    for (size_t i = from; i < to; i++) {
        const size_t at = i * e->range, left = e->n - at;
        table->range(left < e->range ? left : e->range, e->x + at, &e->low[i], &e->high[i]);
    }
}

/* Step by step in float32, as the reference does it. */
bool ox_int8_code_of(struct ox_env *env, size_t n, const float *x, struct ox_bytes_code *code)
{
    const size_t part = n / RANGES + 1;
    struct extremes e = {.x = x, .n = n, .range = part < RANGE ? RANGE : part};
    const size_t ranges = n ? (n - 1) / e.range + 1 : 0;
    float low = 0, high = 0;
    ox_fast_spread(env, ranges, 1, 0.1 * (double)e.range, find_extremes, &e);
    for (size_t i = 0; i < ranges; i++) {
        low = e.low[i] < low ? e.low[i] : low;
        high = e.high[i] > high ? e.high[i] : high;
    }
    *code = (struct ox_bytes_code){.scale = high == low ? 1 : (high - low) / 255, .hi = 255};
    float at = -low / code->scale;
    at = rintf(at < 0 ? 0 : at > 255 ? 255 : at);
    if (!(at >= 0)) /* infinities */
        return false;
    code->zero = (int32_t)at;
    return true;
}

enum ox_status ox_int8_dynamic_quantize(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct rows w = {.table = ox_bytes(ox_cpu()), .x = x->data};
    struct ox_tensor *y, *scale, *zero;
    if (x->dtype != OX_FLOAT32 || !ox_int8_code_of(r->env, x->n, x->data, &w.code))
        return OX_UNSUPPORTED;
    OX_TRY(ox_run_out(r, 0, OX_UINT8, x->rank, x->dims, &y, err));
    OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 0, NULL, &scale, err));
    OX_TRY(ox_run_out(r, 2, OX_UINT8, 0, NULL, &zero, err));
    memcpy(scale->data, &w.code.scale, sizeof w.code.scale);
    *(uint8_t *)zero->data = (uint8_t)w.code.zero;
    w.y = y->data;
    ox_fast_spread(r->env, x->n, RANGE, 0.15, quantize_rows, &w);
    return OX_OK;
}

/* ---- Two operands ------------------------------------------------------------------------------------------------- */

struct pair_job {
    struct ox_bytes_pair pair;
    void (*combine)(size_t n, const uint8_t *a, const uint8_t *b, const struct ox_bytes_pair *pair,
                    uint8_t *y);
};

enum { CHUNK = 1024 }; /* codes at a time */

/* An operand that stays where it is becomes a stretch of copies. */
static void pair_row(const struct ox_row *row, const void *arg)
{
    const struct pair_job *job = arg;
    const uint8_t *in[2] = {row->in[0], row->in[1]};
    uint8_t copies[2][CHUNK], *out = row->out;
    if (row->step[0] && row->step[1]) {
        job->combine(row->n, in[0], in[1], &job->pair, out);
        return;
    }
    for (size_t k = 0; k < 2; k++)
        if (!row->step[k])
            memset(copies[k], *in[k], row->n < CHUNK ? row->n : CHUNK);
    for (size_t i = 0; i < row->n; i += CHUNK) {
        const size_t n = row->n - i < CHUNK ? row->n - i : CHUNK;
        job->combine(n, row->step[0] ? in[0] + i : copies[0], row->step[1] ? in[1] + i : copies[1],
                     &job->pair, out + i);
    }
}

/* An operand that each row of the result reads, as a bias is, written over and over. */

struct tiled_job {
    const struct pair_job *job;
    const uint8_t *whole, *tile;
    size_t n, stretch; /* elements of the result and of the tile */
    bool first;        /* the whole one is the first operand */
    uint8_t *y;
};

static void run_tiles(void *arg, size_t from, size_t to)
{
    const struct tiled_job *t = arg;
    for (size_t i = from; i < to; i++) {
        const size_t at = i * t->stretch, n = t->n - at < t->stretch ? t->n - at : t->stretch;
        t->job->combine(n, t->first ? t->whole + at : t->tile, t->first ? t->tile : t->whole + at,
                        &t->job->pair, t->y + at);
    }
}

/* Whether `in` is the last axes of the result, and short. */
static bool repeats(const struct ox_tensor *in, const struct ox_broadcast *plan)
{
    size_t left = in->n;
    if (in->n < 2 || in->n >= CHUNK / 2)
        return false;
    for (unsigned k = 0; k < plan->rank && left > 1; k++) {
        const size_t size = (size_t)plan->dims[plan->rank - 1 - k];
        if (k >= in->rank || (size_t)in->dims[in->rank - 1 - k] != size)
            return false;
        left /= size;
    }
    return true;
}

static void run_repeated(struct ox_env *env, const struct pair_job *job,
                         const struct ox_tensor *const in[2], bool first, struct ox_tensor *y)
{
    uint8_t tile[2 * CHUNK];
    const struct ox_tensor *small = in[first];
    struct tiled_job t = {.job = job,
                          .whole = in[!first]->data,
                          .tile = tile,
                          .n = y->n,
                          .first = first,
                          .y = y->data};
    for (; t.stretch < CHUNK && t.stretch < y->n; t.stretch += small->n)
        memcpy(tile + t.stretch, small->data, small->n);
    ox_ranges_run(env, (y->n - 1) / t.stretch + 1, OX_GRAIN / CHUNK, run_tiles, &t);
}

/* Inputs that are scales, each followed by its zero point, and attributes that clamp the result. */
struct pair_ports {
    size_t a, b, y;
    const char *lo, *hi;
};
static const struct pair_ports own_ports = {1, 4, 6, "lo", "hi"};

/* All but the plan of sums. */
static enum ox_status fill_pair(struct ox_run *r, const struct pair_ports *p, enum ox_dtype dtype,
                                bool product, struct ox_bytes_pair *pair, struct ox_error *err)
{
    struct ox_qparam a, b, c;
    OX_TRY(ox_qparam_in(r, p->a, p->a + 1, &a, err));
    OX_TRY(ox_qparam_in(r, p->b, p->b + 1, &b, err));
    OX_TRY(ox_qparam_in(r, p->y, p->y + 1, &c, err));
    *pair =
        (struct ox_bytes_pair){.flip = dtype == OX_INT8 ? 0x80 : 0,
                               .zero = (int32_t)c.zero,
                               .lo = (int32_t)ox_run_int(r, p->lo, dtype == OX_INT8 ? -128 : 0),
                               .hi = (int32_t)ox_run_int(r, p->hi, dtype == OX_INT8 ? 127 : 255)};
    pair->zero_a = (int32_t)a.zero + pair->flip;
    pair->zero_b = (int32_t)b.zero + pair->flip;
    ox_qtable(dtype, &a, pair->a);
    ox_qtable(dtype, &b, pair->b);
    for (int i = 0; i < 256; i++) {
        pair->a[i] /= c.scale;
        pair->b[i] /= product ? 1 : c.scale;
    }
    pair->scale_a = (float)(a.scale / c.scale * (product ? b.scale : 1));
    pair->scale_b = product ? 0 : (float)(b.scale / c.scale);
    return OX_OK;
}

enum ox_status ox_int8_residual_pair(struct ox_run *r, enum ox_dtype dtype,
                                     struct ox_bytes_pair *pair, struct ox_error *err)
{
    static const struct pair_ports ports = {6, OX_RESIDUAL_SCALE, OX_RESIDUAL_Y_SCALE, "sum_lo",
                                            "sum_hi"};
    OX_TRY(fill_pair(r, &ports, dtype, false, pair, err));
    ox_bytes_pair_plan(pair);
    return OX_OK;
}

/* The type of two operands that fit each other and the result; OX_UNDEFINED: they do not. */
static enum ox_dtype pair_dtype(const struct ox_run *r)
{
    const struct ox_tensor *a = ox_int8_even_empty(r, 0), *b = ox_int8_even_empty(r, 3);
    const struct ox_tensor *zero = ox_run_in(r, 7);
    return a && b && a->dtype == b->dtype && (!zero || zero->dtype == a->dtype) ? a->dtype
                                                                                : OX_UNDEFINED;
}

/* Whether input i, with that zero point, is zeros at every run, as biases that training left alone are. */
static bool is_nothing(const struct ox_run *r, size_t i, int32_t zero)
{
    const struct ox_tensor *x = ox_run_in(r, i);
    const uint8_t flip = x->dtype == OX_INT8 ? 0x80 : 0;
    for (size_t k = 0; r->fixed[i] && k < x->n; k++)
        if ((((const uint8_t *)x->data)[k] ^ flip) != zero)
            return false;
    return r->fixed[i];
}

static enum ox_status prepare_pair(struct ox_run *r, bool product, struct ox_error *err)
{
    static const size_t params[] = {1, 2, 4, 5, 6, 7};
    const enum ox_dtype dtype = pair_dtype(r);
    if (dtype == OX_UNDEFINED)
        return OX_OK;
    for (size_t i = 0; i < OX_COUNT(params); i++)
        if (ox_run_has(r, params[i]) && !r->fixed[params[i]])
            return OX_OK;
    struct pair_job *job = ox_run_keep(r, sizeof *job, err);
    if (!job)
        return OX_NO_MEMORY;
    OX_TRY(fill_pair(r, &own_ports, dtype, product, &job->pair, err));
    /* The scale of zeros may be anything, and one far from the other's would leave no sum for certain. */
    if (!product && is_nothing(r, 0, job->pair.zero_a))
        job->pair.scale_a = 0;
    if (!product && is_nothing(r, 3, job->pair.zero_b))
        job->pair.scale_b = 0;
    if (!product)
        ox_bytes_pair_plan(&job->pair);
    return OX_OK;
}

static enum ox_status run_pair(struct ox_run *r, bool product, struct ox_error *err)
{
    const struct ox_tensor *in[2] = {ox_run_in(r, 0), ox_run_in(r, 3)};
    const enum ox_dtype dtype = pair_dtype(r);
    struct ox_broadcast plan;
    struct ox_tensor *y;
    if (dtype == OX_UNDEFINED)
        return OX_UNSUPPORTED;
    OX_TRY(ox_broadcast_init(&plan, r, 2, in, err));
    struct pair_job *job = ox_run_state(r);
    if (!job) {
        job = ox_run_scratch(r, 1, sizeof *job, err);
        if (!job)
            return OX_NO_MEMORY;
        OX_TRY(fill_pair(r, &own_ports, dtype, product, &job->pair, err));
        if (!product)
            ox_bytes_pair_plan(&job->pair);
    }
    job->combine = product ? ox_bytes(ox_cpu())->multiply : ox_bytes(ox_cpu())->add;
    OX_TRY(ox_run_out(r, 0, dtype, plan.rank, plan.dims, &y, err));
    if (!y->n)
        return OX_OK;
    for (size_t k = 0; k < 2; k++)
        if (in[k]->n == y->n && repeats(in[!k], &plan)) {
            run_repeated(r->env, job, in, k == 0, y);
            return OX_OK;
        }
    const void *data[2] = {in[0]->data, in[1]->data};
    const size_t sizes[2] = {1, 1};
    ox_broadcast_run(&plan, r->env, data, sizes, y->data, 1, pair_row, job);
    return OX_OK;
}

enum ox_status ox_int8_add(struct ox_run *r, struct ox_error *err)
{
    return run_pair(r, false, err);
}

enum ox_status ox_int8_multiply(struct ox_run *r, struct ox_error *err)
{
    return run_pair(r, true, err);
}

enum ox_status ox_int8_prepare_add(struct ox_run *r, struct ox_error *err)
{
    return prepare_pair(r, false, err);
}

enum ox_status ox_int8_prepare_multiply(struct ox_run *r, struct ox_error *err)
{
    return prepare_pair(r, true, err);
}

/* ---- Lookup ------------------------------------------------------------------------------------------------------- */

struct lookup {
    const uint8_t *x;
    const void *table;
    void *y;
    const struct ox_bytes *kernels;
};

static void look_up_bytes(void *arg, size_t from, size_t to)
{
    const struct lookup *l = arg;
    l->kernels->look_up(to - from, l->x + from, l->table, (uint8_t *)l->y + from);
}

static void look_up_floats(void *arg, size_t from, size_t to)
{
    const struct lookup *l = arg;
    l->kernels->look_up_floats(to - from, l->x + from, l->table, (float *)l->y + from);
}

static enum ox_status run_lookup(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *table = ox_run_in(r, 1);
    struct ox_tensor *y;
    OX_TRY(ox_q8_only(r, x, err));
    if (!table || table->n != 256 ||
        (table->dtype != OX_UINT8 && table->dtype != OX_INT8 && table->dtype != OX_FLOAT32))
        return ox_run_fail(r, err, OX_INPUT, "the table has not 256 codes or floats");
    OX_TRY(ox_run_out(r, 0, table->dtype, x->rank, x->dims, &y, err));
    struct lookup l = {x->data, table->data, y->data, ox_bytes(ox_cpu())};
    ox_ranges_run(r->env, x->n, OX_GRAIN,
                  table->dtype == OX_FLOAT32 ? look_up_floats : look_up_bytes, &l);
    return OX_OK;
}

static void infer_lookup(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
    ox_infer_same_dtype(c, 0, 1);
}

/* Own forms of com.microsoft's, for models that do not import that domain. */
static enum ox_status run_own_pair(struct ox_run *r, bool product, struct ox_error *err)
{
    const enum ox_status status = run_pair(r, product, err);
    return status == OX_UNSUPPORTED ? ox_run_fail(r, err, OX_INPUT, "operands that do not fit")
                                    : status;
}

static enum ox_status run_own_add(struct ox_run *r, struct ox_error *err)
{
    return run_own_pair(r, false, err);
}

static enum ox_status run_own_multiply(struct ox_run *r, struct ox_error *err)
{
    return run_own_pair(r, true, err);
}

const struct ox_op ox_ops_int8_codes[] = {
    {OX_OWN_DOMAIN, "IntegerAdd", 1, .infer = ox_infer_qlinear_pair, .run = run_own_add,
     .prepare = ox_int8_prepare_add},
    {OX_OWN_DOMAIN, "IntegerMul", 1, .infer = ox_infer_qlinear_pair, .run = run_own_multiply,
     .prepare = ox_int8_prepare_multiply},
    {OX_OWN_DOMAIN, "Lookup", 1, .infer = infer_lookup, .run = run_lookup},
    {0}};
