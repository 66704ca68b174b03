/* Lists and shapes of com.microsoft: ExpandDims Range Unique. */
#include <math.h>
#include <stdlib.h>

#include "ops/infer.h"
#include "ops/real.h"

/* ---- Range ------------------------------------------------------------------------------------------------------- */

enum { STRETCH = 256 };

static enum ox_status run_contrib_range(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *start = ox_run_in(r, 0), *limit = ox_run_in(r, 1);
    const struct ox_tensor *delta = ox_run_in(r, 2);
    if (start->n != 1 || limit->n != 1 || (delta && delta->n != 1))
        return ox_run_fail(r, err, OX_INPUT, "start, limit and delta must have one element each");
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
    size_t at, first; /* place in x; place among the distinct ones */
};

static int compare_entries(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static enum ox_status run_contrib_unique(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *y, *idx, *counts;
    if (x->rank != 1)
        return ox_run_fail(r, err, OX_INPUT, "x has rank %u, not 1", x->rank);
    struct entry *entries = ox_run_scratch(r, x->n, sizeof *entries, err);
    size_t *first = ox_run_scratch(r, x->n, sizeof *first, err);
    int64_t *number = ox_run_scratch(r, x->n, sizeof *number, err);
    if (!entries || !first || !number)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < x->n; i++)
        entries[i] = (struct entry){ox_tensor_get_double(x, i), i, 0};
    qsort(entries, x->n, sizeof *entries, compare_entries);
    for (size_t i = 0, head = 0; i < x->n; i++) {
        if (i == 0 || entries[i].value != entries[i - 1].value)
            head = entries[i].at;
        first[entries[i].at] = head;
    }
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
        double value = ox_tensor_get_double(x, i);
        ((int64_t *)idx->data)[i] = number[i];
        if (count[number[i]]++ == 0)
            ox_real_store(y, (size_t)number[i], 1, &value);
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
