#include "ops/stacking.h"

#include <stdlib.h>
#include <string.h>

/* Blocks of `inner` elements: from every `from_stride`-th to every `to_stride`-th element, `outer` times. */
static enum ox_status copy_blocks(const struct ox_tensor *from, size_t from_at, size_t from_stride,
                                  struct ox_tensor *to, size_t to_at, size_t to_stride,
                                  size_t outer, size_t inner, struct ox_error *err)
{
    size_t size = ox_dtype_size(to->dtype);
    for (size_t o = 0; o < outer; o++, from_at += from_stride, to_at += to_stride) {
        if (to->dtype != OX_STRING) {
            if (inner)
                memcpy((char *)to->data + to_at * size, (const char *)from->data + from_at * size,
                       inner * size);
            continue;
        }
        const struct ox_str *strings = from->data;
        for (size_t i = 0; i < inner; i++)
            OX_TRY(ox_tensor_set_string(to, to_at + i, strings[from_at + i].p,
                                        strings[from_at + i].n, err));
    }
    return OX_OK;
}

static void release_whole(struct ox_buffer *buffer)
{
    ox_tensor_release(buffer->owner);
}

/* All but that axis; how many. */
static unsigned sliced_dims(const struct ox_tensor *of, unsigned axis, int64_t *dims)
{
    unsigned rank = 0;
    for (unsigned d = 0; d < of->rank; d++)
        if (d != axis)
            dims[rank++] = of->dims[d];
    return rank;
}

enum ox_status ox_slice_at(struct ox_run *r, const struct ox_tensor *of, unsigned axis,
                           int64_t index, struct ox_tensor **out, struct ox_error *err)
{
    size_t outer = 1, inner = 1;
    for (unsigned d = 0; d < axis; d++)
        outer *= (size_t)of->dims[d];
    for (unsigned d = axis + 1; d < of->rank; d++)
        inner *= (size_t)of->dims[d];
    int64_t dims[OX_MOST_RANK];
    const unsigned rank = sliced_dims(of, axis, dims);
    size_t at = (size_t)index * inner;
    if (outer == 1) {
        struct ox_tensor *whole = ox_tensor_ref(of);
        enum ox_status status = ox_tensor_borrow(
            out, of->dtype, rank, dims, (const char *)of->data + at * ox_dtype_size(of->dtype),
            release_whole, whole, err);
        if (status != OX_OK)
            ox_tensor_release(whole);
        return status;
    }
    struct ox_tensor *slice;
    OX_TRY(ox_run_tensor(r, of->dtype, rank, dims, &slice, err));
    enum ox_status status =
        copy_blocks(of, at, inner * (size_t)of->dims[axis], slice, 0, inner, outer, inner, err);
    if (status != OX_OK)
        ox_tensor_release(slice);
    else
        *out = slice;
    return status;
}

enum ox_status ox_stack_push(struct ox_run *r, struct ox_stack *stack, const struct ox_datum *item,
                             struct ox_error *err)
{
    if (stack->n == stack->cap) {
        size_t cap = stack->cap ? stack->cap * 2 : 16;
        struct ox_datum **items = realloc(stack->items, cap * sizeof(struct ox_datum *));
        if (!items)
            return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
        stack->items = items;
        stack->cap = cap;
    }
    stack->items[stack->n++] = ox_datum_ref(item);
    return OX_OK;
}

void ox_stack_release(struct ox_stack *stack)
{
    for (size_t i = 0; i < stack->n; i++)
        ox_datum_release(stack->items[i]);
    free(stack->items);
    *stack = (struct ox_stack){0};
}

static enum ox_status check_alike(struct ox_run *r, const struct ox_stack *stack, const char *what,
                                  struct ox_error *err)
{
    const struct ox_tensor *first = stack->items[0]->tensor;
    for (size_t i = 0; i < stack->n; i++) {
        const struct ox_tensor *item = stack->items[i]->tensor;
        if (stack->items[i]->kind != OX_DATUM_TENSOR)
            return ox_run_fail(r, err, OX_INPUT, "'%.128s' is no tensor: it cannot be stacked",
                               what);
        if (item->dtype != first->dtype || item->rank != first->rank)
            return ox_run_fail(r, err, OX_INPUT,
                               "'%.128s' is %s of rank %u in trip %zu, %s of rank %u in the first",
                               what, ox_dtype_name(item->dtype), item->rank, i,
                               ox_dtype_name(first->dtype), first->rank);
        for (unsigned d = 0; d < first->rank; d++)
            if (item->dims[d] != first->dims[d])
                return ox_run_fail(
                    r, err, OX_INPUT,
                    "dimension %u of '%.128s' is %lld in trip %zu, %lld in the first", d, what,
                    (long long)item->dims[d], i, (long long)first->dims[d]);
    }
    return OX_OK;
}

/* Dims of items with one more axis of that length. */
static enum ox_status joined_dims(struct ox_run *r, unsigned rank, const int64_t *dims,
                                  int64_t axis, size_t length, int64_t *joined, unsigned *at,
                                  struct ox_error *err)
{
    OX_TRY(ox_run_axis(r, axis, rank + 1, at, err));
    if (rank >= OX_MOST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "an output of rank %u; the limit is %d", rank + 1,
                           OX_MOST_RANK);
    for (unsigned d = 0; d <= rank; d++)
        joined[d] = d == *at ? (int64_t)length : dims[d < *at ? d : d - 1];
    return OX_OK;
}

static void clear(struct ox_tensor *tensor)
{
    if (tensor->n && tensor->dtype != OX_STRING)
        memset(tensor->data, 0, tensor->n * ox_dtype_size(tensor->dtype));
}

enum ox_status ox_stack_join(struct ox_run *r, struct ox_stack *stack, int64_t axis, bool reverse,
                             size_t length, const char *what, struct ox_tensor **out,
                             struct ox_error *err)
{
    OX_TRY(check_alike(r, stack, what, err));
    const struct ox_tensor *first = stack->items[0]->tensor;
    if (length < stack->n)
        length = stack->n;
    int64_t dims[OX_MOST_RANK];
    unsigned at;
    OX_TRY(joined_dims(r, first->rank, first->dims, axis, length, dims, &at, err));
    struct ox_tensor *joined;
    OX_TRY(ox_run_tensor(r, first->dtype, first->rank + 1, dims, &joined, err));
    if (length > stack->n)
        clear(joined);
    size_t outer = 1, inner = 1;
    for (unsigned d = 0; d < at; d++)
        outer *= (size_t)dims[d];
    for (unsigned d = at + 1; d <= first->rank; d++)
        inner *= (size_t)dims[d];
    enum ox_status status = OX_OK;
    for (size_t i = 0; status == OX_OK && i < stack->n; i++) {
        size_t place = reverse ? stack->n - 1 - i : i;
        status = copy_blocks(stack->items[i]->tensor, 0, inner, joined, place * inner,
                             inner * length, outer, inner, err);
        ox_datum_release(stack->items[i]);
        stack->items[i] = NULL;
    }
    ox_stack_release(stack);
    if (status != OX_OK)
        ox_tensor_release(joined);
    else
        *out = joined;
    return status;
}

enum ox_status ox_slice_zeros(struct ox_run *r, const struct ox_tensor *of, unsigned axis,
                              struct ox_tensor **out, struct ox_error *err)
{
    int64_t dims[OX_MOST_RANK];
    const unsigned rank = sliced_dims(of, axis, dims);
    OX_TRY(ox_run_tensor(r, of->dtype, rank, dims, out, err));
    clear(*out);
    return OX_OK;
}

static enum ox_status empty_of(struct ox_run *r, enum ox_dtype dtype, unsigned rank,
                               const int64_t *known, int64_t axis, size_t length,
                               struct ox_tensor **out, struct ox_error *err)
{
    int64_t dims[OX_MOST_RANK];
    unsigned at;
    if (rank >= OX_MOST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "an output of rank %u; the limit is %d", rank + 1,
                           OX_MOST_RANK);
    OX_TRY(joined_dims(r, rank, known, axis, length, dims, &at, err));
    OX_TRY(ox_run_tensor(r, dtype, rank + 1, dims, out, err));
    clear(*out);
    return OX_OK;
}

/* As the graph declares it, or where it does not say all, as it is inferred. */
static const struct ox_type *type_of(struct ox_run *r, const struct ox_value *value)
{
    const struct ox_type *type = value ? value->type : NULL, *inferred = NULL;
    if (value && r->inferred && (!type || type->elem == OX_UNDEFINED || !type->has_rank))
        inferred = r->inferred(r, value);
    return inferred ? inferred : type;
}

enum ox_status ox_stack_empty(struct ox_run *r, const struct ox_value *value,
                              const struct ox_tensor *like, int64_t axis, size_t length,
                              struct ox_tensor **out, struct ox_error *err)
{
    if (like)
        return empty_of(r, like->dtype, like->rank, like->dims, axis, length, out, err);
    const struct ox_type *type = type_of(r, value);
    if (!type || type->kind != OX_TYPE_TENSOR || type->elem == OX_UNDEFINED)
        return ox_run_fail(r, err, OX_INPUT,
                           "no trip was made and nothing tells the type of '%.128s'",
                           value ? value->name : "");
    const enum ox_dtype dtype = ox_run_dtype(r, type->elem);
    unsigned rank = type->has_rank ? type->rank : 0;
    int64_t known[OX_MOST_RANK];
    for (unsigned d = 0; d < rank && d < OX_MOST_RANK; d++)
        if (!ox_expr_is_int(type->dims[d], &known[d]))
            known[d] = 0;
    return empty_of(r, dtype, rank, known, axis, length, out, err);
}
