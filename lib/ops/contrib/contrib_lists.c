/* Lists and shapes of com.microsoft: ExpandDims Range Unique. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/contrib/contrib.h"
#include "ops/infer.h"
#include "ops/keys.h"

/* ---- Range ------------------------------------------------------------------------------------------------------- */

enum { STRETCH = 256 };

static enum ox_status run_contrib_range(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *start = ox_run_in(r, 0), *limit = ox_run_in(r, 1);
    const struct ox_tensor *delta = ox_run_in(r, 2);
    if (start->n != 1 || limit->n != 1 || (delta && delta->n != 1))
        return ox_run_fail(r, err, OX_INPUT, "start, limit and delta must have one element each");
    if (delta && ox_dtype_is_integer(start->dtype))
        return ox_run_standard(r, "Range", 11, err);
    double from = ox_tensor_get_double(start, 0), to = ox_tensor_get_double(limit, 0);
    double step = delta ? ox_tensor_get_double(delta, 0) : 1, count = ceil((to - from) / step);
    if (step == 0 || !(fabs(count) < 9e15))
        return ox_run_fail(r, err, OX_INPUT, "no range from %g to %g by %g", from, to, step);
    int64_t n = count > 0 ? (int64_t)count : 0;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, start->dtype, 1, &n, &y, err));
    size_t size = ox_dtype_size(y->dtype);
    double values[STRETCH];
    for (size_t at = 0; at < y->n; at += STRETCH) {
        const size_t some = y->n - at < STRETCH ? y->n - at : STRETCH;
        for (size_t i = 0; i < some; i++)
            values[i] = from + (double)(at + i) * step;
        ox_elements_convert(y->dtype, (char *)y->data + at * size, OX_FLOAT64, values, some, true);
    }
    return OX_OK;
}

static void infer_contrib_range(struct ox_infer *c)
{
    const struct ox_expr *n = ox_infer_data_dim(c, "count");
    ox_infer_same_dtype(c, 0, 0);
    ox_infer_set_shape(c, 0, 1, &n);
}

/* ---- Unique: of a list, in the order of first appearance --------------------------------------------------------- */

struct entry {
    double value;
    size_t at; /* in x */
};

static int compare_entries(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Of each element the place of the first that is the same. */
static enum ox_status find_first(struct ox_run *r, const struct ox_tensor *x, size_t *first,
                                 struct ox_error *err)
{
    struct entry *entries = ox_run_scratch(r, x->n, sizeof *entries, err);
    if (!entries)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < x->n; i++)
        entries[i] = (struct entry){ox_tensor_get_double(x, i), i};
    qsort(entries, x->n, sizeof *entries, compare_entries);
    for (size_t i = 0, head = 0; i < x->n; i++) {
        if (i == 0 || entries[i].value != entries[i - 1].value)
            head = entries[i].at;
        first[entries[i].at] = head;
    }
    return OX_OK;
}

/* The same of floats by keys. */
static enum ox_status find_first_float(struct ox_run *r, const struct ox_tensor *x, size_t *first,
                                       struct ox_error *err)
{
    const float *values = x->data;
    uint64_t *keys = ox_run_scratch(r, x->n, 2 * sizeof *keys, err);
    if (!keys)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < x->n; i++) {
        if (isnan(values[i])) /* is not even what it is itself */
            return find_first(r, x, first, err);
        keys[i] = (uint64_t)ox_key_order(values[i]) << 32 | i;
    }
    keys = ox_keys_sort(keys, x->n, keys + x->n);
    for (size_t i = 0, head = 0; i < x->n; i++) {
        const size_t at = (uint32_t)keys[i];
        if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
            head = at;
        first[at] = head;
    }
    return OX_OK;
}

static enum ox_status run_contrib_unique(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *y, *idx, *counts;
    if (x->rank != 1)
        return ox_run_fail(r, err, OX_INPUT, "x has rank %u, not 1", x->rank);
    size_t *first = ox_run_scratch(r, x->n, sizeof *first, err);
    int64_t *number = ox_run_scratch(r, x->n, sizeof *number, err);
    if (!first || !number)
        return OX_NO_MEMORY;
    const bool by_keys = x->dtype == OX_FLOAT32 && x->n <= UINT32_MAX && x->n;
    OX_TRY((by_keys ? find_first_float : find_first)(r, x, first, err));
    const size_t size = ox_dtype_size(x->dtype);
    int64_t distinct = 0, all = (int64_t)x->n;
    for (size_t i = 0; i < x->n; i++)
        number[i] = first[i] == i ? distinct++ : number[first[i]];
    OX_TRY(ox_run_out(r, 0, x->dtype, 1, &distinct, &y, err));
    OX_TRY(ox_run_out(r, 1, OX_INT64, 1, &all, &idx, err));
    OX_TRY(ox_run_out(r, 2, OX_INT64, 1, &distinct, &counts, err));
    int64_t *count = counts->data;
    for (int64_t k = 0; k < distinct; k++)
        count[k] = 0;
    for (size_t i = 0; i < x->n; i++) {
        ((int64_t *)idx->data)[i] = number[i];
        if (count[number[i]]++ == 0)
            memcpy((char *)y->data + (size_t)number[i] * size, (const char *)x->data + i * size,
                   size);
    }
    return OX_OK;
}

static void infer_contrib_unique(struct ox_infer *c)
{
    const struct ox_expr *n = ox_infer_data_dim(c, "count"), *all = ox_infer_dim(c, 0, 0);
    ox_infer_same_dtype(c, 0, 0);
    for (size_t i = 0; i < ox_infer_n_out(c); i++) {
        if (i)
            ox_infer_set_dtype(c, i, OX_INT64);
        ox_infer_set_shape(c, i, 1, i == 1 ? &all : &n);
    }
}

/* ---- ExpandDims -------------------------------------------------------------------------------------------------- */

static enum ox_status run_expand_dims(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *axis_in = ox_run_in(r, 1);
    int64_t dims[OX_MOST_RANK + 1];
    unsigned axis;
    if (axis_in->n != 1 || x->rank >= OX_MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "axis has %zu elements", axis_in->n);
    OX_TRY(ox_run_axis(r, ox_tensor_get_int(axis_in, 0), x->rank + 1, &axis, err));
    for (unsigned d = 0; d <= x->rank; d++)
        dims[d] = d == axis ? 1 : x->dims[d - (d > axis)];
    return ox_run_out_view(r, 0, x, x->rank + 1, dims, err);
}

static void infer_expand_dims(struct ox_infer *c)
{
    unsigned rank, axis;
    const struct ox_expr *const *x;
    const int64_t *given;
    size_t n;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || !ox_infer_ints(c, 1, &n, &given) || n != 1 ||
        !ox_infer_axis(c, given[0], rank + 1, &axis))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank + 1);
    for (unsigned d = 0; dims && d <= rank; d++)
        dims[d] = d == axis ? ox_infer_num(c, 1) : x[d - (d > axis)];
    if (dims)
        ox_infer_set_shape(c, 0, rank + 1, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_lists[] = {
    {MS, "ExpandDims", 1, OX_OP_HALF, .infer = infer_expand_dims, .run = run_expand_dims},
    {MS, "Range", 1, .infer = infer_contrib_range, .run = run_contrib_range},
    {MS, "Unique", 1, .infer = infer_contrib_unique, .run = run_contrib_unique},
    {0}};
