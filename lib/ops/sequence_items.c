/* Sequences whose elements shape inference knows one by one. Lists that scripted models append to are of this kind: what is
 * stacked or joined of them has a length then, and integers in them are values of shapes. */
#include "ops/sequence_items.h"

#include <string.h>

#include "ops/carry.h"

const struct ox_type *ox_items_common(struct ox_infer *c, const struct ox_type *a,
                                      const struct ox_type *b)
{
    if (!a || !b || a->kind != OX_TYPE_TENSOR || b->kind != OX_TYPE_TENSOR)
        return a ? a : b;
    if (!a->has_rank || !b->has_rank || a->rank != b->rank)
        return ox_infer_make_tensor(c, a->elem, false, 0, NULL);
    const struct ox_expr **dims = ox_infer_dims(c, a->rank);
    if (!dims && a->rank > 0)
        return NULL;
    for (unsigned i = 0; i < a->rank; i++)
        dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : NULL;
    return ox_infer_make_tensor(c, a->elem, true, a->rank, dims);
}

static const struct ox_type *shared_type(struct ox_infer *c, size_t n,
                                         const struct ox_infer_value *items)
{
    const struct ox_type *type = n ? items[0].type : NULL;
    for (size_t i = 1; i < n && type; i++)
        type = items[i].type ? ox_items_common(c, type, items[i].type) : NULL;
    return type;
}

void ox_items_construct(struct ox_infer *c)
{
    size_t n = ox_infer_n_in(c);
    struct ox_infer_value *items = ox_infer_scratch(c, n + 1, sizeof *items);
    for (size_t i = 0; items && i < n; i++)
        items[i] = ox_infer_value(c, i);
    if (items)
        ox_infer_set_items(c, 0, n, items);
}

void ox_items_same(struct ox_infer *c)
{
    const struct ox_infer_items *items = ox_infer_items(c, 0);
    if (items)
        ox_infer_set_items(c, 0, items->n, items->of);
}

/* Input i as a position among n, `none` where the node omits it; false: not known, or there is no such position. */
static bool position(struct ox_infer *c, size_t i, size_t n, bool past, size_t none, size_t *at)
{
    int64_t given, length = (int64_t)n;
    *at = none;
    if (!ox_infer_has(c, i))
        return past || n > 0;
    if (!ox_carry_int(c, i, &given)) {
        *at = 0;
        return n + past == 1; /* there is but one */
    }
    if (given < -length || given > length - !past)
        return false;
    *at = (size_t)(given < 0 ? given + length : given);
    return true;
}

const struct ox_type *ox_items_insert(struct ox_infer *c)
{
    const struct ox_infer_items *have = ox_infer_items(c, 0);
    size_t at;
    if (!have || !position(c, 2, have->n, true, have->n, &at))
        return NULL;
    struct ox_infer_value *items = ox_infer_scratch(c, have->n + 1, sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i <= have->n; i++)
        items[i] = i == at ? ox_infer_value(c, 1) : have->of[i - (i > at)];
    ox_infer_set_items(c, 0, have->n + 1, items);
    return shared_type(c, have->n + 1, items);
}

const struct ox_type *ox_items_erase(struct ox_infer *c)
{
    const struct ox_infer_items *have = ox_infer_items(c, 0);
    size_t at;
    if (!have || !position(c, 1, have->n, false, have->n - 1, &at))
        return NULL;
    struct ox_infer_value *items = ox_infer_scratch(c, have->n, sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i + 1 < have->n; i++)
        items[i] = have->of[i + (i >= at)];
    ox_infer_set_items(c, 0, have->n - 1, items);
    return shared_type(c, have->n - 1, items);
}

const struct ox_infer_value *ox_items_at(struct ox_infer *c)
{
    const struct ox_infer_items *have = ox_infer_items(c, 0);
    size_t at;
    return have && ox_infer_has(c, 1) && position(c, 1, have->n, false, 0, &at) ? &have->of[at]
                                                                                : NULL;
}

void ox_items_split(struct ox_infer *c, unsigned axis, bool drop, size_t n, const int64_t *lengths)
{
    unsigned rank;
    const struct ox_expr *const *in, *const *values;
    size_t n_values, start = 0, sum = 0;
    struct ox_infer_value *items = ox_infer_scratch(c, n + 1, sizeof *items);
    if (!items || !ox_infer_shape(c, 0, &rank, &in))
        return;
    for (size_t i = 0; i < n; i++)
        sum += (size_t)lengths[i];
    bool has_values = rank == 1 && ox_infer_values(c, 0, &n_values, &values) && n_values == sum;
    for (size_t i = 0; i < n; i++) {
        const struct ox_expr **dims = ox_infer_dims(c, rank);
        unsigned k = 0;
        if (!dims)
            return;
        for (unsigned d = 0; d < rank; d++) {
            if (d != axis || !drop)
                dims[k++] = d == axis ? ox_infer_num(c, lengths[i]) : in[d];
        }
        items[i].type = ox_infer_make_tensor(c, ox_infer_dtype(c, 0), true, k, dims);
        if (has_values) {
            items[i].values = values + start;
            items[i].n_values = (size_t)lengths[i];
        }
        start += (size_t)lengths[i];
    }
    ox_infer_set_items(c, 0, n, items);
}

/* Elements laid one behind the other are what they make along the first axis. */
static void join_values(struct ox_infer *c, const struct ox_infer_items *items)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < items->n; i++) {
        if (!items->of[i].values)
            return;
        n += items->of[i].n_values;
    }
    const struct ox_expr **values = ox_infer_scratch(c, n + 1, sizeof(*values));
    for (size_t i = 0; values && i < items->n; i++) {
        memcpy(values + at, items->of[i].values, items->of[i].n_values * sizeof(*values));
        at += items->of[i].n_values;
    }
    if (values)
        ox_infer_set_values(c, 0, n, values);
}

const struct ox_expr *ox_items_join(struct ox_infer *c, bool stack, unsigned axis)
{
    const struct ox_infer_items *items = ox_infer_items(c, 0);
    if (!items || items->n == 0)
        return NULL;
    if (axis == 0)
        join_values(c, items);
    if (stack)
        return ox_infer_num(c, (int64_t)items->n);
    const struct ox_expr *length = ox_infer_num(c, 0);
    for (size_t i = 0; i < items->n; i++) {
        const struct ox_type *type = items->of[i].type;
        bool is_ranked = type && type->kind == OX_TYPE_TENSOR && type->has_rank;
        length = ox_infer_add(c, length, is_ranked && axis < type->rank ? type->dims[axis] : NULL);
    }
    return length;
}
