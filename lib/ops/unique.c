/* Unique: elements, or parts along an axis, in order or as they first occur. */
#include <string.h>

#include "ops/carry.h"
#include "ops/kernel_tables.h"
#include "ops/keys.h"
#include "ops/rules.h"

/* Values that are rather looked up than sorted; places of their table. */
enum { FEW = 256, FEW_BITS = 11, FEW_PLACES = 1 << FEW_BITS };

#define STAMP "ops/unique_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/unique_tmpl.h"
#include "common/stamp_integers.h"

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

/* Items of `block` elements each, compared element by element; those of one element by keys, if they have any. */
struct items {
    const void *data;
    size_t n, block;
    int (*compare)(const void *data, size_t a, size_t b, size_t n);
    bool (*keys)(const void *data, size_t n, uint64_t *keys);
    bool by_halves; /* keys may be the same for elements that are not */
    size_t (*few)(const void *data, size_t n, void *values, int64_t *first, int64_t *count,
                  int64_t *of);
};

static int compare_items(const struct items *items, int64_t a, int64_t b)
{
    const size_t block = items->block;

    return items->compare(items->data, (size_t)a * block, (size_t)b * block, block);
}

static bool is_before(const void *items, uint32_t a, uint32_t b)
{
    return compare_items(items, a, b) < 0;
}

/* sort_items() by keys; NULL: there are none. */
static int64_t *sort_by_keys(const struct items *items, int64_t *list, int64_t *other)
{
    if (items->block != 1 || !items->keys || items->n == 0 || items->n > UINT32_MAX ||
        !items->keys(items->data, items->n, (uint64_t *)list))
        return NULL;
    uint64_t *sorted = ox_keys_sort((uint64_t *)list, items->n, (uint64_t *)other);
    if (items->by_halves && !ox_keys_settle(sorted, items->n, is_before, items))
        return NULL;
    for (size_t i = 0; i < items->n; i++)
        sorted[i] = (uint32_t)sorted[i];
    return (int64_t *)sorted;
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

/* find_groups() of few values. `lists` has room for all items twice, `values` once. False: they are not few. */
static bool find_few(const struct items *items, bool sorted, struct groups *g, int64_t *lists,
                     void *values)
{
    const size_t n = items->n;
    g->n = items->block == 1 && items->few && n
               ? items->few(items->data, n, values, g->first, g->count, g->of)
               : 0;
    if (g->n == 0 || !sorted)
        return g->n > 0;
    struct items known = *items;
    int64_t first[FEW], count[FEW], number[FEW];
    known.data = values;
    known.n = g->n;
    const int64_t *order = sort_by_keys(&known, lists, lists + n);
    if (!order)
        order = sort_items(&known, lists, lists + n);
    for (size_t i = 0; i < g->n; i++) {
        first[i] = g->first[order[i]];
        count[i] = g->count[order[i]];
        number[order[i]] = (int64_t)i;
    }
    memcpy(g->first, first, g->n * sizeof *first);
    memcpy(g->count, count, g->n * sizeof *count);
    for (size_t i = 0; i < n; i++)
        g->of[i] = number[g->of[i]];
    return true;
}

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
    if (find_few(items, sorted, g, lists, lists + 5 * n))
        return OX_OK;
    const int64_t *order = sort_by_keys(items, lists, lists + n);
    if (!order)
        order = sort_items(items, lists, lists + n);

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
    const struct ox_expr *const *in, *count, *inverse = NULL;
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
        ox_rule_other_axis(c, 0, rank, in, axis, count);
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
    static bool (*const keys[OX_N_DTYPES])(const void *, size_t, uint64_t *) = {
        OX_KERNELS_NUMBER(keys), [OX_BOOL] = keys_u8};
    static size_t (*const few[OX_N_DTYPES])(const void *, size_t, void *, int64_t *, int64_t *,
                                            int64_t *) = {OX_KERNELS_NUMBER(few), [OX_BOOL] =
                                                                                      few_u8};
    const struct ox_tensor *in = ox_run_in(r, 0);
    const struct ox_attr *attr = ox_run_attr(r, "axis");
    struct items items = {.n = in->n,
                          .block = 1,
                          .compare = compare[in->dtype],
                          .keys = keys[in->dtype],
                          .by_halves = in->dtype == OX_FLOAT64,
                          .few = few[in->dtype]};
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

const struct ox_op ox_ops_unique[] = {
    {"", "Unique", 11, 0, .infer = infer_unique, .run = run_unique}, {0}};
