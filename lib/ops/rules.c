#include "ops/rules.h"

#include <math.h>
#include <string.h>

enum { MAP_INPUTS = 3, MAP_RANK = 8 };

void ox_rule_same(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
}

void ox_rule_same_shape(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
}

void ox_rule_broadcast(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *dims;
    if (ox_infer_broadcast(c, 0, ox_infer_n_in(c), &rank, &dims))
        ox_infer_set_shape(c, 0, rank, dims);
}

bool ox_rule_rank(struct ox_infer *c, size_t i, unsigned rank)
{
    unsigned own;
    bool fits = !ox_infer_has(c, i) || !ox_infer_shape(c, i, &own, NULL) || own == rank;
    if (!fits)
        ox_infer_conflict(c, "input %zu has rank %u, not %u", i, own, rank);
    return fits;
}

bool ox_rule_rank_least(struct ox_infer *c, size_t i, unsigned least)
{
    unsigned own;
    bool fits = !ox_infer_shape(c, i, &own, NULL) || own >= least;
    if (!fits)
        ox_infer_conflict(c, "input %zu has rank %u, not at least %u", i, own, least);
    return fits;
}

void ox_rule_lists(struct ox_infer *c, size_t first, size_t n)
{
    unsigned rank;
    for (size_t i = first; i < first + n; i++)
        if (ox_infer_has(c, i) && ox_infer_shape(c, i, &rank, NULL) && rank > 1)
            ox_infer_refused(c);
}

void ox_rule_other_axis(struct ox_infer *c, size_t output, unsigned rank,
                        const struct ox_expr *const *in, unsigned axis, const struct ox_expr *dim)
{
    const struct ox_expr **out = ox_infer_dims(c, rank);
    if (!out)
        return;
    memcpy(out, in, rank * sizeof(out[0]));
    out[axis] = dim;
    ox_infer_set_shape(c, output, rank, out);
}

void ox_rule_shape_range(int64_t start, int64_t end, unsigned rank, unsigned *from, unsigned *to)
{
    const int64_t r = rank;
    start = start < 0 ? start + r : start;
    end = end < 0 ? end + r : end;
    *from = (unsigned)(start < 0 ? 0 : start > r ? r : start);
    *to = (unsigned)(end < 0 ? 0 : end > r ? r : end);
    if (*to < *from)
        *to = *from;
}

enum ox_dtype ox_rule_dtype_attr(struct ox_infer *c, const char *name)
{
    const struct ox_attr *attr = ox_infer_attr(c, name);
    int64_t number = ox_infer_int_attr(c, name, OX_UNDEFINED);
    if (number > OX_UNDEFINED && number < OX_N_DTYPES)
        return (enum ox_dtype)number;
    if (attr && attr->type == OX_ATTR_INT)
        ox_infer_conflict(c, "%s is %lld, which is no element type", name, (long long)number);
    return OX_UNDEFINED;
}

/* A float that is whole, or with `ratios` a fraction so short that products of it and sizes are exact; NULL. */
static const struct ox_expr *float_value(struct ox_infer *c, double x, bool ratios)
{
    if (fabs(x) <= 9007199254740992.0 && x == floor(x))
        return ox_infer_num(c, (int64_t)x);
    for (int64_t by = 2; ratios && by <= 1024; by *= 2) {
        double over = x * (double)by;
        if (over == floor(over))
            return fabs(over) < 256 ? ox_infer_ratio(c, ox_infer_num(c, (int64_t)over), by) : NULL;
    }
    return NULL;
}

static bool rule_values(struct ox_infer *c, size_t i, bool ratios, size_t *n,
                        const struct ox_expr *const **values)
{
    if (ox_infer_values(c, i, n, values))
        return true;
    const struct ox_tensor *t = ox_infer_const(c, i);
    if (!t || t->n > OX_RULE_VALUES || !ox_dtype_is_float(t->dtype))
        return false;
    const struct ox_expr **list = ox_infer_dims(c, (unsigned)t->n);
    for (size_t k = 0; list && k < t->n; k++) {
        list[k] = float_value(c, ox_tensor_get_double(t, k), ratios);
        if (!list[k])
            return false;
    }
    *n = t->n;
    *values = list;
    return list != NULL;
}

static const struct ox_expr *whole(const struct ox_expr *e)
{
    int64_t under;
    return ox_expr_ratio_parts(e, &e, &under) && under == 1 ? e : NULL;
}

void ox_rule_pass_values(struct ox_infer *c)
{
    const struct ox_expr *const *values;
    size_t n;

    if (ox_infer_values(c, 0, &n, &values))
        ox_infer_set_values(c, 0, n, values);
}

bool ox_rule_values(struct ox_infer *c, size_t i, size_t *n, const struct ox_expr *const **values)
{
    if (!rule_values(c, i, false, n, values))
        return false;
    size_t k = 0;
    while (k < *n && (!(*values)[k] || whole((*values)[k])))
        k++;
    if (k == *n)
        return true;
    const struct ox_expr **list = ox_infer_dims(c, (unsigned)*n);
    for (k = 0; list && k < *n; k++)
        list[k] = whole((*values)[k]);
    *values = list;
    return list != NULL;
}

struct map_input {
    const struct ox_expr *const *values;
    size_t n;
    size_t strides[MAP_RANK];
};

/* Strides of an input in the result's axes; false when a dimension is not a number or does not fit. Sizes that contradict the
 * result's have been told already, and must not be walked by. */
static bool map_strides(const struct ox_infer *c, size_t i, struct map_input *input, unsigned rank,
                        const size_t *sizes)
{
    unsigned own;
    const struct ox_expr *const *dims;
    if (!ox_infer_shape(c, i, &own, &dims) || own > rank)
        return false;
    size_t stride = 1;
    for (unsigned axis = rank; axis-- > 0;) {
        int64_t d = 1;
        if (axis + own >= rank && !ox_infer_is_num(dims[axis + own - rank], &d))
            return false;
        if (d < 0 || d > OX_RULE_VALUES || (d != 1 && (size_t)d != sizes[axis]))
            return false;
        input->strides[axis] = d == 1 ? 0 : stride;
        stride *= (size_t)d;
    }
    return stride == input->n;
}

static bool map_inputs(struct ox_infer *c, unsigned n_in, bool ratios, struct map_input *inputs,
                       unsigned rank, const size_t *sizes)
{
    for (unsigned k = 0; k < n_in; k++) {
        if (!rule_values(c, k, ratios, &inputs[k].n, &inputs[k].values) ||
            inputs[k].n > OX_RULE_VALUES)
            return false;
        if (!map_strides(c, k, &inputs[k], rank, sizes))
            return false;
    }
    return true;
}

/* Expressions do not wrap: what is computed in narrow integers is not carried, nor what 32 bits do not hold. */
static bool carries(enum ox_dtype dtype)
{
    return dtype == OX_UNDEFINED || dtype == OX_BOOL || ox_dtype_bits(dtype) >= 32;
}

static const struct ox_expr *within(enum ox_dtype dtype, const struct ox_expr *value)
{
    int64_t x;
    if (!ox_dtype_is_integer(dtype))
        return value;
    if (!ox_dtype_is_signed(dtype) && !(ox_expr_least(value, &x) && x >= 0))
        return NULL;
    if (ox_dtype_bits(dtype) != 32 || !ox_infer_is_num(value, &x))
        return value;
    return ox_dtype_is_signed(dtype) ? (x >= INT32_MIN && x <= INT32_MAX ? value : NULL)
                                     : (x >= 0 && x <= UINT32_MAX ? value : NULL);
}

static void map(struct ox_infer *c, unsigned n_in, bool ratios,
                const struct ox_expr *(*of)(struct ox_infer *c,
                                            const struct ox_expr *const *operands))
{
    unsigned rank;
    const struct ox_expr *const *dims;
    struct map_input inputs[MAP_INPUTS];
    enum ox_dtype dtype = ox_infer_dtype(c, n_in - 1);
    if (n_in > MAP_INPUTS || !carries(dtype) || !ox_infer_broadcast(c, 0, n_in, &rank, &dims) ||
        rank > MAP_RANK)
        return;
    size_t n = 1, sizes[MAP_RANK];
    for (unsigned axis = 0; axis < rank; axis++) {
        int64_t d;
        if (!ox_infer_is_num(dims[axis], &d) || d < 0 || d > OX_RULE_VALUES ||
            n * (size_t)d > OX_RULE_VALUES)
            return;
        sizes[axis] = (size_t)d;
        n *= (size_t)d;
    }
    if (!map_inputs(c, n_in, ratios, inputs, rank, sizes))
        return;
    const struct ox_expr **values = ox_infer_dims(c, (unsigned)n);
    for (size_t i = 0; values && i < n; i++) {
        const struct ox_expr *operands[MAP_INPUTS] = {NULL};
        size_t rest = i, at[MAP_INPUTS] = {0};
        for (unsigned axis = rank; axis-- > 0; rest /= sizes[axis])
            for (unsigned k = 0; k < n_in; k++)
                at[k] += rest % sizes[axis] * inputs[k].strides[axis];
        for (unsigned k = 0; k < n_in; k++)
            operands[k] = ratios ? inputs[k].values[at[k]] : whole(inputs[k].values[at[k]]);
        values[i] = within(dtype, of(c, operands));
    }
    if (values)
        ox_infer_set_values(c, 0, n, values);
}

void ox_rule_map(struct ox_infer *c, unsigned n_in,
                 const struct ox_expr *(*of)(struct ox_infer *c,
                                             const struct ox_expr *const *operands))
{
    map(c, n_in, false, of);
}

void ox_rule_map_ratios(struct ox_infer *c, unsigned n_in,
                        const struct ox_expr *(*of)(struct ox_infer *c,
                                                    const struct ox_expr *const *operands))
{
    enum ox_dtype dtype = ox_infer_dtype(c, 0);
    map(c, n_in, dtype == OX_FLOAT32 || dtype == OX_FLOAT64, of);
}
