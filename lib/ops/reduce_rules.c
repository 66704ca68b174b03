#include "ops/reduce_rules.h"

#include <inttypes.h>

#include "ops/broadcast.h"
#include "ops/rules.h"

/* How many axes the second input lists, where they themselves are not known; -1: not known. */
static int64_t count_axes(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *dims;
    int64_t n;
    return ox_infer_shape(c, 1, &rank, &dims) && rank == 1 && ox_infer_is_num(dims[0], &n) ? n : -1;
}

/* Axes as far as they are known; false when they are not. */
static bool infer_axes(struct ox_infer *c, bool by_input, unsigned rank, bool *reduces)
{
    size_t n = 0;
    const int64_t *axes = NULL;
    if (by_input)
        ox_rule_lists(c, 1, 1);
    if (!by_input)
        axes = ox_infer_ints_attr(c, "axes", &n);
    else if (ox_infer_has(c, 1) && !ox_infer_ints(c, 1, &n, &axes)) {
        int64_t count = count_axes(c);
        if (count != 0 && (count < 0 || (uint64_t)count != rank))
            return false;
        for (unsigned i = 0; count && i < rank; i++)
            reduces[i] = true; /* as many as there are, if they are axes of the input */
        if (count)
            return true;
    }
    bool all = n == 0 && !(by_input && ox_infer_int_attr(c, "noop_with_empty_axes", 0));
    for (unsigned i = 0; i < rank; i++)
        reduces[i] = all;
    for (size_t i = 0; i < n; i++) {
        unsigned axis;
        if (rank == 0 && (axes[i] == 0 || axes[i] == -1))
            continue;
        if (!ox_infer_axis(c, axes[i], rank, &axis))
            return false;
        reduces[axis] = true;
    }
    return true;
}

/* With keepdims the rank stays, even when the axes are not known; without, it follows from their number. */
static void infer_unknown_axes(struct ox_infer *c, unsigned rank)
{
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    int64_t n = count_axes(c);
    ox_infer_unknown(c, 0, "the axes to reduce are known only at run time");
    if (dims && ox_infer_int_attr(c, "keepdims", 1) == 1)
        ox_infer_set_shape(c, 0, rank, dims);
    else if (dims && n >= 0 && n <= (int64_t)rank)
        ox_infer_set_shape(c, 0, rank - (unsigned)n, dims);
}

static bool infer_shape(struct ox_infer *c, bool by_input, bool *reduces, unsigned *rank)
{
    const struct ox_expr *const *in;
    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, rank, &in) || *rank > OX_BROADCAST_RANK)
        return false;
    if (!infer_axes(c, by_input, *rank, reduces)) {
        infer_unknown_axes(c, *rank);
        return false;
    }
    const struct ox_expr **dims = ox_infer_dims(c, *rank);
    bool keep = ox_infer_int_attr(c, "keepdims", 1) == 1;
    unsigned out_rank = 0;
    for (unsigned i = 0; dims && i < *rank; i++) {
        if (!reduces[i])
            dims[out_rank++] = in[i];
        else if (keep)
            dims[out_rank++] = ox_infer_num(c, 1);
    }
    if (dims)
        ox_infer_set_shape(c, 0, out_rank, dims);
    return dims != NULL;
}

/* A list reduced whole has a value where its elements have; a scalar, and what is not reduced, keeps it. */
static void infer_values(struct ox_infer *c, bool by_input,
                         const struct ox_expr *(*join)(struct ox_infer *c, const struct ox_expr *a,
                                                       const struct ox_expr *b),
                         int64_t start)
{
    bool reduces[OX_BROADCAST_RANK];
    unsigned rank;
    size_t n;
    const struct ox_expr *const *values;
    if (!infer_shape(c, by_input, reduces, &rank) || !join || rank > 1)
        return;
    const int64_t *axes;
    if (by_input && ox_infer_has(c, 1) && !ox_infer_ints(c, 1, &n, &axes))
        return;
    if (!ox_rule_values(c, 0, &n, &values))
        return;
    if (rank == 0 || !reduces[0]) {
        ox_infer_set_values(c, 0, n, values);
        return;
    }
    const struct ox_expr *value = n ? values[0] : ox_infer_num(c, start);
    for (size_t i = 1; i < n; i++)
        value = join(c, value, values[i]);
    if (n || start != INT64_MIN)
        ox_infer_set_values(c, 0, 1, &value);
}

void ox_infer_reduce_attribute(struct ox_infer *c)
{
    infer_values(c, false, NULL, 0);
}

void ox_infer_reduce_input(struct ox_infer *c)
{
    infer_values(c, true, NULL, 0);
}

void ox_infer_reduce_sum_attribute(struct ox_infer *c)
{
    infer_values(c, false, ox_infer_add, 0);
}

void ox_infer_reduce_sum(struct ox_infer *c)
{
    infer_values(c, true, ox_infer_add, 0);
}

void ox_infer_reduce_prod_attribute(struct ox_infer *c)
{
    infer_values(c, false, ox_infer_mul, 1);
}

void ox_infer_reduce_prod(struct ox_infer *c)
{
    infer_values(c, true, ox_infer_mul, 1);
}

void ox_infer_reduce_max_attribute(struct ox_infer *c)
{
    infer_values(c, false, ox_infer_max, INT64_MIN);
}

void ox_infer_reduce_max(struct ox_infer *c)
{
    infer_values(c, true, ox_infer_max, INT64_MIN);
}

void ox_infer_reduce_min_attribute(struct ox_infer *c)
{
    infer_values(c, false, ox_infer_min, INT64_MIN);
}

void ox_infer_reduce_min(struct ox_infer *c)
{
    infer_values(c, true, ox_infer_min, INT64_MIN);
}
