/* Operators whose result depends on the order or truth of values: NonZero, TopK, Unique. */
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

#define STAMP "ops/select_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/select_tmpl.h"
#include "common/stamp_integers.h"

/* ---- NonZero --------------------------------------------------------------------------------------------------------- */

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

static enum ox_status run_nonzero(struct ox_run *r, struct ox_error *err)
{
    static void (*const kernels[OX_N_DTYPES])(const void *, size_t, uint8_t *) = {
        OX_KERNELS_NUMBER(not_zero), [OX_BOOL] = not_zero_u8, [OX_COMPLEX64] = not_zero_c64,
        [OX_COMPLEX128] = not_zero_c128, [OX_STRING] = not_zero_string};
    const struct ox_tensor *in = ox_run_in(r, 0);
    uint8_t *flags = ox_run_scratch(r, in->n + 1, 1, err);
    int64_t at[OX_MOVE_RANK] = {0}, dims[2] = {in->rank, 0};
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
    int64_t *places = out->data;
    size_t count = (size_t)dims[1], found = 0;

    for (size_t i = 0; i < in->n && found < count; i++) {
        if (flags[i]) {
            for (unsigned k = 0; k < in->rank; k++)
                places[k * count + found] = at[k];
            found++;
        }
        for (unsigned k = in->rank; k-- > 0;) {
            if (++at[k] < in->dims[k])
                break;
            at[k] = 0;
        }
    }
    return OX_OK;
}

/* ---- TopK ------------------------------------------------------------------------------------------------------------ */

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

/* ---- Unique ---------------------------------------------------------------------------------------------------------- */

/* Complex numbers by their real, then their imaginary parts. */
static int compare_c64(const void *data, size_t a, size_t b, size_t n)
{
    return compare_f32(data, 2 * a, 2 * b, 2 * n);
}

static int compare_c128(const void *data, size_t a, size_t b, size_t n)
{
    return compare_f64(data, 2 * a, 2 * b, 2 * n);
}

static int compare_string(const void *data, size_t a, size_t b, size_t n)
{
    const struct ox_str *strings = data;
    int order = 0;

    for (size_t i = 0; i < n && order == 0; i++) {
        const struct ox_str *x = &strings[a + i], *y = &strings[b + i];
        const size_t both = x->n < y->n ? x->n : y->n;

        order = both > 0 ? memcmp(x->p, y->p, both) : 0;
        order = order ? order : x->n < y->n ? -1 : x->n > y->n;
    }
    return order;
}

/* Items of `block` elements each, compared element by element. */
struct items {
    const void *data;
    size_t n, block;
    int (*compare)(const void *data, size_t a, size_t b, size_t n);
};

static int compare_items(const struct items *items, int64_t a, int64_t b)
{
    const size_t block = items->block;

    return items->compare(items->data, (size_t)a * block, (size_t)b * block, block);
}

/* Stable: bottom-up merging between two lists. Returns the one that holds the result. */
static int64_t *sort_items(const struct items *items, int64_t *list, int64_t *other)
{
    for (size_t i = 0; i < items->n; i++)
        list[i] = (int64_t)i;
    for (size_t width = 1; width < items->n; width *= 2) {
        for (size_t start = 0; start < items->n; start += 2 * width) {
            size_t middle = start + width < items->n ? start + width : items->n;
            size_t end = middle + width < items->n ? middle + width : items->n;
            size_t a = start, b = middle;

            for (size_t i = start; i < end; i++) {
                bool left = a < middle && (b >= end || compare_items(items, list[a], list[b]) <= 0);

                other[i] = left ? list[a++] : list[b++];
            }
        }
        int64_t *swap = list;

        list = other;
        other = swap;
    }
    return list;
}

/* What Unique finds: of group g the item that comes first and how many; of each item its group. */
struct groups {
    size_t n;
    int64_t *first, *count, *of;
};

static enum ox_status find_groups(struct ox_run *r, const struct items *items, bool sorted,
                                  struct groups *g, struct ox_error *err)
{
    int64_t *lists = ox_run_scratch(r, items->n + 1, 6 * sizeof(*lists), err);
    size_t n = items->n;

    if (!lists)
        return OX_NO_MEMORY;
    g->n = 0;
    g->first = lists + 2 * n;
    g->count = lists + 3 * n;
    g->of = lists + 4 * n;
    const int64_t *order = sort_items(items, lists, lists + n);

    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_items(items, order[i - 1], order[i]) != 0) {
            g->first[g->n] = order[i];
            g->count[g->n++] = 0;
        }
        g->count[g->n - 1]++;
        g->of[order[i]] = (int64_t)g->n - 1;
    }
    if (sorted)
        return OX_OK;
    /* In the order of first occurrence: the group of each item gets its number when it is first met. */
    int64_t *renamed = lists + 5 * n, *counts = lists, *firsts = lists + n, next = 0;

    for (size_t i = 0; i < g->n; i++)
        renamed[i] = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t old = g->of[i];

        if (renamed[old] < 0) {
            renamed[old] = next;
            counts[next] = g->count[old];
            firsts[next++] = (int64_t)i;
        }
        g->of[i] = renamed[old];
    }
    g->count = counts;
    g->first = firsts;
    return OX_OK;
}

static void infer_unique(struct ox_infer *c)
{
    const struct ox_expr *const *in, **out, *count, *inverse = NULL;
    const struct ox_attr *attr = ox_infer_attr(c, "axis");
    const int64_t *numbers;
    unsigned rank, axis = 0;
    size_t n, n_out = ox_infer_n_out(c), found = 0;
    bool known = !attr && ox_infer_ints(c, 0, &n, &numbers) && n <= OX_CARRY_VALUES;

    for (size_t i = 0; known && i < n; i++) {
        bool first = true;

        for (size_t k = 0; k < i && first; k++)
            first = numbers[k] != numbers[i];
        found += first;
    }
    ox_infer_same_dtype(c, 0, 0);
    for (size_t i = 1; i < n_out; i++)
        ox_infer_set_dtype(c, i, OX_INT64);
    bool shaped = ox_infer_shape(c, 0, &rank, &in);
    bool whole = shaped && (!attr || ox_infer_axis(c, attr->i, rank, &axis));
    int64_t items;

    if (whole)
        inverse = attr ? in[axis] : ox_carry_product(c, rank, in);
    if (ox_infer_is_num(inverse, &items) && items == 1) { /* one thing is unlike all others */
        known = true;
        found = 1;
    }
    count = known ? ox_infer_num(c, (int64_t)found) : ox_infer_data_dim(c, "count");
    if (!attr) {
        ox_infer_set_shape(c, 0, 1, &count);
    } else if (whole) {
        out = ox_infer_dims(c, rank);
        if (!out)
            return;
        memcpy(out, in, rank * sizeof(out[0]));
        out[axis] = count;
        ox_infer_set_shape(c, 0, rank, out);
    }
    for (size_t i = 1; i < n_out; i++)
        ox_infer_set_shape(c, i, 1, i == 2 ? &inverse : &count);
}

static enum ox_status unique_list(struct ox_run *r, size_t output, const int64_t *list, size_t n,
                                  struct ox_error *err)
{
    struct ox_tensor *out;

    if (!ox_run_wants(r, output))
        return OX_OK;
    OX_TRY(ox_run_out(r, output, OX_INT64, 1, (int64_t[]){(int64_t)n}, &out, err));
    if (n > 0)
        memcpy(out->data, list, n * sizeof(*list));
    return OX_OK;
}

/* Items along `axis` brought to the front, each in one piece; *items is the data itself when they are already. */
static enum ox_status unique_items(struct ox_run *r, const struct ox_tensor *in, unsigned axis,
                                   const struct ox_move *back, struct items *items,
                                   struct ox_error *err)
{
    size_t size = ox_dtype_size(in->dtype);
    struct ox_move m = *back;

    items->data = in->data;
    if (axis == 0 || in->n == 0)
        return OX_OK;
    char *moved = ox_run_scratch(r, in->n, size, err);

    if (!moved)
        return OX_NO_MEMORY;
    ox_move_run(&m, size, moved, in->data);
    items->data = moved;
    return OX_OK;
}

static enum ox_status unique_out(struct ox_run *r, const struct ox_tensor *in,
                                 const struct items *items, const struct groups *g, bool flat,
                                 unsigned axis, size_t outer, struct ox_error *err)
{
    int64_t dims[OX_MOVE_RANK];
    size_t size = ox_dtype_size(in->dtype);
    struct ox_tensor *out;

    memcpy(dims, in->dims, in->rank * sizeof(dims[0]));
    dims[axis] = (int64_t)g->n;
    OX_TRY(ox_run_out(r, 0, in->dtype, flat ? 1 : in->rank, dims, &out, err));
    if (out->n > 0) {
        size_t inner = items->block / outer;

        for (size_t o = 0; o < outer; o++) {
            for (size_t i = 0; i < g->n; i++)
                memcpy((char *)out->data + (o * g->n + i) * inner * size,
                       (const char *)items->data +
                           ((size_t)g->first[i] * items->block + o * inner) * size,
                       inner * size);
        }
    }
    OX_TRY(ox_move_own(out, err));
    OX_TRY(unique_list(r, 1, g->first, g->n, err));
    OX_TRY(unique_list(r, 2, g->of, items->n, err));
    return unique_list(r, 3, g->count, g->n, err);
}

static enum ox_status run_unique(struct ox_run *r, struct ox_error *err)
{
    static int (*const compare[OX_N_DTYPES])(const void *, size_t, size_t, size_t) = {
        OX_KERNELS_NUMBER(compare), [OX_BOOL] = compare_u8, [OX_COMPLEX64] = compare_c64,
        [OX_COMPLEX128] = compare_c128, [OX_STRING] = compare_string};
    const struct ox_tensor *in = ox_run_in(r, 0);
    const struct ox_attr *attr = ox_run_attr(r, "axis");
    struct items items = {.n = in->n, .block = 1, .compare = compare[in->dtype]};
    struct ox_move m = {.rank = 0};
    struct groups groups = {0};
    unsigned axis = 0;
    size_t outer = 1, inner = 1;

    OX_TRY(ox_move_rank(r, in->rank, err));
    if (!items.compare)
        return ox_run_fail(r, err, OX_UNSUPPORTED, "element type %s", ox_dtype_name(in->dtype));
    if (attr) {
        OX_TRY(ox_run_axis(r, attr->i, in->rank, &axis, err));
        for (unsigned i = 0; i < in->rank; i++) {
            outer *= i < axis ? (size_t)in->dims[i] : 1;
            inner *= i > axis ? (size_t)in->dims[i] : 1;
        }
        items.n = (size_t)in->dims[axis];
        if (in->n == 0 && items.n > 0) {
            /* Items without elements: all the same, and none of their dims is to be trusted as a product. */
            outer = 1;
            inner = 0;
        }
        items.block = outer * inner;
        ox_move_axis(&m, (int64_t)items.n, (int64_t)items.block, (int64_t)inner);
        ox_move_axis(&m, (int64_t)outer, (int64_t)inner, (int64_t)(items.n * inner));
        ox_move_axis(&m, (int64_t)inner, 1, 1);
    }
    OX_TRY(unique_items(r, in, axis, &m, &items, err));
    OX_TRY(find_groups(r, &items, ox_run_int(r, "sorted", 1) != 0, &groups, err));
    return unique_out(r, in, &items, &groups, !attr, axis, outer, err);
}

const struct ox_op ox_ops_select[] = {
    {"", "NonZero", 9, 0, .infer = infer_nonzero, .run = run_nonzero},
    {"", "TopK", 1, 0, .infer = infer_topk, .run = run_topk},
    {"", "Unique", 11, 0, .infer = infer_unique, .run = run_unique},
    {0}};
