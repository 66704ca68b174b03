#include "ops/carry.h"

#include <inttypes.h>

const struct ox_expr *ox_carry_product(struct ox_infer *c, size_t n,
                                       const struct ox_expr *const *dims)
{
    const struct ox_expr *product = ox_infer_num(c, 1);

    for (size_t i = 0; i < n; i++) {
        int64_t value;

        /* An empty axis makes the whole empty whatever the others are. */
        if (ox_infer_is_num(dims[i], &value) && value == 0)
            return dims[i];
        product = ox_infer_mul(c, product, dims[i]);
    }
    return product;
}

const struct ox_expr *ox_carry_quotient(struct ox_infer *c, size_t n_over,
                                        const struct ox_expr *const *over, size_t n_under,
                                        const struct ox_expr *const *under)
{
    const struct ox_expr *top = ox_infer_num(c, 1), *bottom = top;
    int64_t value;
    bool used[OX_MOVE_RANK] = {false};

    if (n_under > OX_MOVE_RANK)
        return NULL;
    for (size_t i = 0; i < n_over; i++) {
        bool cancelled = false;

        for (size_t k = 0; k < n_under && !cancelled && over[i]; k++) {
            if (!used[k] && under[k] == over[i]) {
                used[k] = true;
                cancelled = true;
            }
        }
        if (!cancelled)
            top = ox_infer_mul(c, top, over[i]);
    }
    for (size_t k = 0; k < n_under; k++) {
        if (!used[k])
            bottom = ox_infer_mul(c, bottom, under[k]);
    }
    if (!top || !bottom || (ox_infer_is_num(bottom, &value) && value == 0))
        return NULL;
    return ox_infer_floordiv(c, top, bottom);
}

bool ox_carry_static(unsigned rank, const struct ox_expr *const *dims, int64_t *out)
{
    for (unsigned i = 0; i < rank; i++) {
        if (!ox_infer_is_num(dims[i], &out[i]) || out[i] < 0)
            return false;
    }
    return true;
}

bool ox_carry_value(struct ox_infer *c, size_t i, struct ox_carry_value *value)
{
    const struct ox_expr *const *dims;
    size_t n;

    if (!ox_infer_shape(c, i, &value->rank, &dims) || value->rank > OX_CARRY_RANK ||
        !ox_carry_static(value->rank, dims, value->dims) ||
        !ox_infer_values(c, i, &value->n, &value->values))
        return false;
    return value->n <= OX_CARRY_VALUES && ox_dims_count(value->rank, value->dims, &n) &&
           n == value->n;
}

void ox_carry_set_value(struct ox_infer *c, size_t i, unsigned rank, const int64_t *dims, size_t n,
                        const struct ox_expr *const *values)
{
    const struct ox_expr **shape = ox_infer_dims(c, rank);

    if (!shape && rank > 0)
        return;
    for (unsigned k = 0; k < rank; k++)
        shape[k] = ox_infer_num(c, dims[k]);
    ox_infer_set_shape(c, i, rank, shape);
    ox_infer_set_values(c, i, n, values);
}

bool ox_carry_int(struct ox_infer *c, size_t i, int64_t *value)
{
    const int64_t *values;
    size_t n;

    if (!ox_infer_ints(c, i, &n, &values) || n != 1)
        return false;
    *value = values[0];
    return true;
}

void ox_carry_rank_only(struct ox_infer *c, size_t out, unsigned rank)
{
    const struct ox_expr **dims = ox_infer_dims(c, rank);

    if (dims || rank == 0)
        ox_infer_set_shape(c, out, rank, dims);
}

bool ox_carry_not_negative(const struct ox_expr *e)
{
    int64_t least;

    return e && ox_expr_least(e, &least) && least >= 0;
}

bool ox_carry_has_attr(const struct ox_infer *c, const char *name)
{
    return ox_infer_attr(c, name) != NULL;
}

void ox_carry_check_parts(struct ox_infer *c, size_t n, const int64_t *lengths,
                          const struct ox_expr *axis)
{
    int64_t sum = 0, dim;
    for (size_t i = 0; i < n; i++) {
        if (OX_ADD_OVERFLOWS(sum, lengths[i], &sum)) {
            ox_infer_conflict(c, "the lengths of the parts sum to more than 64 bits hold");
            return;
        }
    }
    if (ox_infer_is_num(axis, &dim) && sum != dim)
        ox_infer_conflict(c, "the parts have %" PRId64 " elements, the axis %" PRId64, sum, dim);
}

bool ox_carry_index_list(struct ox_infer *c, size_t input, int64_t size, int64_t *out, size_t *n)
{
    const int64_t *index;

    if (!ox_infer_ints(c, input, n, &index) || *n > OX_CARRY_VALUES)
        return false;
    for (size_t i = 0; i < *n; i++) {
        out[i] = index[i] < 0 ? index[i] + size : index[i];
        if (out[i] < 0 || out[i] >= size)
            return false;
    }
    return true;
}
