/* TopK: lists of few, heaps of more, keys of what sorts as integers. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "kernels/folds.h"
#include "kernels/sizes.h"
#include "ops/broadcast.h"
#include "ops/carry.h"
#include "ops/fast/fast.h"
#include "ops/kernel_tables.h"
#include "ops/keys.h"

enum {
    FEW = 24,                /* so many that they are quicker inserted than sorted */
    ABREAST = 16,            /* rows that do not lie in one piece are copied together */
    ABREAST_BYTES = 1 << 17, /* at most */
};

#define STAMP "ops/topk_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/topk_tmpl.h"
#include "common/stamp_integers.h"

/* Keys that topk_keys() works on. */
static size_t topk_room(size_t n, size_t k)
{
    return k < n - k ? 2 * k : n;
}

/* What the order of two elements goes by. */
struct topk_row {
    const void *data;
    bool largest;
};

#define STAMP "ops/topk_keys_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/topk_keys_tmpl.h"
#include "common/stamp_integers.h"

static void infer_topk_values(struct ox_infer *c, int64_t k)
{
    const struct ox_expr *values[OX_CARRY_VALUES], *places[OX_CARRY_VALUES];
    int64_t heap[OX_CARRY_VALUES];
    const int64_t *numbers;
    struct ox_carry_value value;
    size_t n;

    const bool largest = ox_infer_int_attr(c, "largest", 1) != 0;

    if (!ox_carry_value(c, 0, &value) || value.rank != 1 || !ox_infer_ints(c, 0, &n, &numbers) ||
        k < 0 || k > (int64_t)n)
        return;
    if (k > 0)
        topk_row_i64(numbers, n, (size_t)k, largest, ox_folds(ox_cpu())->beyond[OX_INT64], heap);
    for (int64_t i = 0; i < k; i++) {
        values[i] = value.values[heap[i]];
        places[i] = ox_infer_num(c, heap[i]);
    }
    ox_infer_set_values(c, 0, (size_t)k, values);
    ox_infer_set_values(c, 1, (size_t)k, places);
}

static void infer_topk(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *given, **out, *k = NULL;
    const struct ox_tensor *constant = ox_infer_const(c, 1);
    unsigned rank, axis;
    int64_t number, dim;
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    ox_infer_set_dtype(c, 1, OX_INT64);
    if (!ox_infer_shape(c, 0, &rank, &in) ||
        !ox_infer_axis(c, ox_infer_int_attr(c, "axis", -1), rank, &axis))
        return;
    out = ox_infer_dims(c, rank);
    if (!out)
        return;
    if (ox_infer_opset(c) < 10)
        k = ox_infer_num(c, ox_infer_int_attr(c, "k", 0));
    else if (constant && (constant->rank != 1 || constant->n != 1))
        ox_infer_conflict(c, "K has rank %u and %zu elements, not one element in a list",
                          constant->rank, constant->n);
    else if (ox_infer_values(c, 1, &n, &given) && n == 1)
        k = given[0];
    if (ox_infer_is_num(k, &number) &&
        (number < 0 || (ox_infer_is_num(in[axis], &dim) && number > dim))) {
        ox_infer_conflict(c, "k is %" PRId64 ", more than the axis has", number);
        return;
    }
    memcpy(out, in, rank * sizeof(out[0]));
    out[axis] = k ? k : ox_infer_data_dim(c, "k");
    ox_infer_set_shape(c, 0, rank, out);
    ox_infer_set_shape(c, 1, rank, out);
    if (ox_infer_is_num(k, &number))
        infer_topk_values(c, number);
}

struct topk {
    size_t outer, n, inner, k;
    size_t together; /* rows of a task: of one outer index, where they do not lie in one piece */
    bool largest;
    const struct ox_tensor *in;
    struct ox_tensor *values, *places;
    const struct ox_beyond *next;
    void (*row)(const void *row, size_t n, size_t k, bool largest, const struct ox_beyond *next,
                int64_t *order);
    const uint64_t *(*keys)(const void *row, size_t n, size_t k, bool largest,
                            const struct ox_beyond *next, const struct ox_fold *best,
                            uint64_t *keys);
    const struct ox_fold *best;
    char *work; /* of each slot: rows that do not lie in one piece, then a heap or keys */
    size_t copy, slot;
};

static bool is_nan(enum ox_dtype type, const void *value)
{
    if (type == OX_FLOAT32)
        return isnan(*(const float *)value);
    return type == OX_FLOAT64 && isnan(*(const double *)value);
}

/* The first alone, of n rows one after another. */
static void topk_first(const struct topk *t, const char *rows, size_t n, int64_t *order)
{
    const enum ox_dtype type = t->in->dtype;
    const size_t size = ox_dtype_size(type), row_bytes = t->n * size;
    ox_folds_find(ox_cpu(), t->largest ? OX_FOLD_GREATEST : OX_FOLD_LEAST, type, rows, n, t->n,
                  false, order);
    for (size_t i = 0; i < n && !t->largest; i++, rows += row_bytes)
        if (is_nan(type, rows + (size_t)order[i] * size)) /* there the last in order */
            t->row(rows, t->n, 1, false, t->next, order + i);
}

static void topk_first_task(void *arg, size_t from, size_t to)
{
    const struct topk *t = arg;
    const size_t size = ox_dtype_size(t->in->dtype);
    const char *rows = (const char *)t->in->data + from * t->n * size;
    int64_t *order = (int64_t *)t->places->data + from;
    topk_first(t, rows, to - from, order);
    for (size_t i = 0; i < to - from; i++)
        memcpy((char *)t->values->data + (from + i) * size,
               rows + (i * t->n + (size_t)order[i]) * size, size);
}

static bool topk_by_keys(const struct topk *t)
{
    return t->k > FEW && t->n <= UINT32_MAX;
}

/* Of one row; `order` has room for what topk_by_keys() says. */
static void topk_order(const struct topk *t, const char *row, int64_t *order)
{
    const uint64_t *keys = NULL;
    if (topk_by_keys(t))
        keys = t->keys(row, t->n, t->k, t->largest, t->next, t->best, (uint64_t *)order);
    if (keys)
        for (size_t j = 0; j < t->k; j++)
            order[j] = (uint32_t)keys[j];
    else if (t->k == 1)
        topk_first(t, row, 1, order);
    else
        t->row(row, t->n, t->k, t->largest, t->next, order);
}

/* Units are tasks of one outer index each where inner > 1, else of whole rows. */
static void topk_task(void *arg, size_t unit, size_t slot)
{
    const struct topk *t = arg;
    const size_t size = ox_dtype_size(t->in->dtype), rows = t->inner > 1 ? t->inner : t->outer;
    const size_t tasks = (rows - 1) / t->together + 1, first = unit % tasks * t->together;
    const size_t some = rows - first < t->together ? rows - first : t->together;
    const size_t outer = unit / tasks, step = t->inner > 1 ? 1 : t->k;
    const char *from = (const char *)t->in->data;
    char *copy = t->work + slot * t->slot, *values = t->values->data;
    int64_t *places = t->places->data, *order = (int64_t *)(void *)(copy + t->copy);
    if (t->inner > 1) {
        ox_move_turn_part(size, t->n, some, from + (outer * t->n * t->inner + first) * size,
                          t->inner, copy);
        from = copy;
    } else {
        from += first * t->n * size;
    }
    for (size_t row = 0; row < some; row++, from += t->n * size) {
        const size_t to = outer * t->k * t->inner + (first + row) * step;
        topk_order(t, from, order);
        for (size_t j = 0; j < t->k; j++) {
            places[to + j * t->inner] = order[j];
            memcpy(values + (to + j * t->inner) * size, from + (size_t)order[j] * size, size);
        }
    }
}

/* How many rows of `size` bytes an element a task has, and what it needs for copies of them. */
static void topk_divide(struct topk *t, size_t size)
{
    const size_t line = 64, row = t->n * size;
    t->together = OX_GRAIN / (topk_by_keys(t) ? 16 : 4) / t->n + 1;
    t->copy = 0;
    if (t->inner > 1) {
        t->together = row * ABREAST <= ABREAST_BYTES ? ABREAST : ABREAST_BYTES / row + 1;
        t->together = t->together < t->inner ? t->together : t->inner;
        t->copy = ox_round_up(t->together * row, line);
    }
}

static enum ox_status topk_rows(struct ox_run *r, struct topk *t, struct ox_error *err)
{
    static void (*const kernels[OX_N_DTYPES])(const void *, size_t, size_t, bool,
                                              const struct ox_beyond *,
                                              int64_t *) = {OX_KERNELS_NUMBER(topk_row)};
    static const uint64_t *(*const by_keys[OX_N_DTYPES])(
        const void *, size_t, size_t, bool, const struct ox_beyond *, const struct ox_fold *,
        uint64_t *) = {OX_KERNELS_NUMBER(topk_keys)};
    enum { A_ROW = 10 }; /* elements that a row costs besides its own */
    const double flops_an_element = topk_by_keys(t) ? 300 : 100; /* in which ox_spread() counts */
    t->row = kernels[t->in->dtype];
    t->keys = by_keys[t->in->dtype];
    t->next = ox_folds(ox_cpu())->beyond[t->in->dtype];
    t->best = ox_folds(ox_cpu())->of[t->largest ? OX_FOLD_GREATEST : OX_FOLD_LEAST][t->in->dtype];
    if (!t->row)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "element type %s", ox_dtype_name(t->in->dtype));
    if (t->n == 1) {
        memcpy(t->values->data, t->in->data, t->in->n * ox_dtype_size(t->in->dtype));
        memset(t->places->data, 0, t->in->n * sizeof(int64_t));
        return OX_OK;
    }
    if (t->k == 1 && t->inner == 1) {
        ox_ranges_run(r->env, t->outer, t->n >= OX_GRAIN ? 1 : OX_GRAIN / t->n, topk_first_task, t);
        return ox_env_poll(r->env, err);
    }
    const size_t list = topk_by_keys(t) ? 3 * topk_room(t->n, t->k) : t->k;
    topk_divide(t, ox_dtype_size(t->in->dtype));
    t->slot = ox_round_up(t->copy + list * sizeof(int64_t), OX_SLOT_APART);
    t->work = ox_run_work(r, ox_slots(r->env), t->slot, err);
    if (!t->work)
        return OX_NO_MEMORY;
    const size_t rows = t->outer * t->inner, abreast = t->inner > 1 ? t->inner : t->outer;
    ox_spread(r->env, rows / abreast * ((abreast - 1) / t->together + 1),
              (double)rows * (double)(t->n + A_ROW) * flops_an_element, topk_task, t);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_topk(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dims[OX_MOVE_RANK], k = ox_run_int(r, "k", 0);
    struct topk t = {.outer = 1, .inner = 1, .largest = ox_run_int(r, "largest", 1) != 0, .in = in};
    unsigned axis;

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", -1), in->rank, &axis, err));
    if (r->opset >= 10)
        OX_TRY(ox_move_int(r, 1, "K", &k, err));
    if (k < 0 || k > in->dims[axis])
        return ox_run_fail(r, err, OX_INPUT, "k is %" PRId64 ", outside [0, %" PRId64 "]", k,
                           in->dims[axis]);
    memcpy(dims, in->dims, in->rank * sizeof(dims[0]));
    dims[axis] = k;
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, dims, &t.values, err));
    OX_TRY(ox_run_out(r, 1, OX_INT64, in->rank, dims, &t.places, err));
    if (t.values->n == 0)
        return OX_OK;
    for (unsigned i = 0; i < in->rank; i++) {
        t.outer *= i < axis ? (size_t)in->dims[i] : 1;
        t.inner *= i > axis ? (size_t)in->dims[i] : 1;
    }
    t.n = (size_t)in->dims[axis];
    t.k = (size_t)k;
    return topk_rows(r, &t, err);
}

const struct ox_op ox_ops_topk[] = {{"", "TopK", 1, 0, .infer = infer_topk, .run = run_topk}, {0}};
