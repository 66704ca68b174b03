/* TopK: lists of few, heaps of more, keys of what sorts as integers. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "kernels/folds.h"
#include "kernels/sizes.h"
#include "ops/broadcast.h"
#include "ops/carry.h"
#include "ops/fast.h"
#include "ops/kernel_tables.h"
#include "ops/keys.h"

enum { FEW = 24 }; /* so many that they are quicker inserted than sorted */

#define STAMP "ops/topk_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/topk_tmpl.h"
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
        topk_row_i64(numbers, n, (size_t)k, largest, heap);
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
    size_t together; /* rows of a task */
    bool largest;
    const struct ox_tensor *in;
    struct ox_tensor *values, *places;
    void (*row)(const void *row, size_t n, size_t k, bool largest, int64_t *order);
    char *work; /* of each slot: a row that does not lie in one piece, then a heap or keys */
    size_t copy, slot;
};

/* Keys whose order is that of topk_before(). */
static uint64_t topk_key(float value, size_t i, bool largest)
{
    const uint32_t order = value != value ? UINT32_MAX : ox_key_order(value);
    return (uint64_t)(largest ? ~order : order) << 32 | i;
}

/* Keys of the first k of a row, in order, where k is not small. Those that may be among them gather behind the best k of all before;
 * when there is no room for more, the best k of both are kept. `keys` has room for topk_room() twice. */
static size_t topk_room(const struct topk *t)
{
    return t->k < t->n - t->k ? 2 * t->k : t->n;
}

static const uint64_t *topk_keys(const float *row, const struct topk *t, uint64_t *keys)
{
    const size_t room = topk_room(t);
    uint64_t *work = keys + room;
    size_t n = 0;
    for (; n < room; n++)
        keys[n] = topk_key(row[n], n, t->largest);
    for (size_t i = n, looked = 0;;) {
        uint64_t *sorted = ox_keys_sort(keys, n, work);
        work = sorted == keys ? work : keys;
        keys = sorted;
        n = t->k;
        const uint64_t last = keys[n - 1];
        const float value = row[(uint32_t)last];
        for (; n < room; i++) {
            i = topk_next_f32(row, i, t->n, value, t->largest, &looked);
            if (i == t->n)
                break;
            keys[n] = topk_key(row[i], i, t->largest);
            n += keys[n] < last;
        }
        if (n == t->k)
            return keys;
    }
}

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
            t->row(rows, t->n, 1, false, order + i);
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
    return t->in->dtype == OX_FLOAT32 && t->k > FEW && t->n <= UINT32_MAX;
}

static void topk_one(const struct topk *t, size_t which, size_t slot)
{
    const size_t size = ox_dtype_size(t->in->dtype), o = which / t->inner, i = which % t->inner;
    const char *from = (const char *)t->in->data + (o * t->n * t->inner + i) * size, *row = from;
    char *copy = t->work + slot * t->slot, *to = t->values->data;
    int64_t *places = (int64_t *)t->places->data + o * t->k * t->inner + i;
    int64_t *order = (int64_t *)(void *)(copy + t->copy);
    to += (o * t->k * t->inner + i) * size;
    if (t->inner > 1) {
        struct ox_move m = {.rank = 0};
        ox_move_axis(&m, (int64_t)t->n, 1, (int64_t)t->inner);
        ox_move_run(&m, size, copy, from);
        row = copy;
    }
    if (topk_by_keys(t)) {
        const uint64_t *keys = topk_keys((const float *)(const void *)row, t, (uint64_t *)order);
        for (size_t j = 0; j < t->k; j++)
            order[j] = (uint32_t)keys[j];
    } else if (t->k == 1) {
        topk_first(t, row, 1, order);
    } else {
        t->row(row, t->n, t->k, t->largest, order);
    }
    for (size_t j = 0; j < t->k; j++) {
        places[j * t->inner] = order[j];
        memcpy(to + j * t->inner * size, row + (size_t)order[j] * size, size);
    }
}

static void topk_task(void *arg, size_t i, size_t slot)
{
    const struct topk *t = arg;
    const size_t rows = t->outer * t->inner, from = i * t->together;
    for (size_t row = from; row < rows && row < from + t->together; row++)
        topk_one(t, row, slot);
}

static enum ox_status topk_rows(struct ox_run *r, struct topk *t, struct ox_error *err)
{
    static void (*const kernels[OX_N_DTYPES])(const void *, size_t, size_t, bool,
                                              int64_t *) = {OX_KERNELS_NUMBER(topk_row)};
    enum { A_ROW = 10 };                 /* elements that a row costs besides its own */
    const double flops_an_element = 100; /* in which ox_spread() counts */
    t->row = kernels[t->in->dtype];
    if (!t->row)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "element type %s", ox_dtype_name(t->in->dtype));
    if (t->k == 1 && t->inner == 1) {
        ox_ranges_run(r->env, t->outer, t->n >= OX_GRAIN ? 1 : OX_GRAIN / t->n, topk_first_task, t);
        return ox_env_poll(r->env, err);
    }
    const size_t line = 64, list = topk_by_keys(t) ? 2 * topk_room(t) : t->k;
    t->copy = t->inner > 1 ? (t->n * ox_dtype_size(t->in->dtype) + line - 1) / line * line : 0;
    t->slot = ox_round_up(t->copy + list * sizeof(int64_t), OX_SLOT_APART);
    t->work = ox_run_work(r, ox_slots(r->env), t->slot, err);
    if (!t->work)
        return OX_NO_MEMORY;
    const size_t rows = t->outer * t->inner;
    t->together = OX_GRAIN / 4 / t->n + 1;
    ox_spread(r->env, (rows - 1) / t->together + 1,
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
