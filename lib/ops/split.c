/* Split: a tensor into parts along an axis. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/parts.h"
#include "ops/rules.h"

/* Lengths as given: attribute (2, 11), input (13, 18), either (1); NULL: equal parts. */
static enum ox_status split_given(struct ox_run *r, const int64_t **lengths, size_t *n,
                                  struct ox_error *err)
{
    *lengths = NULL;
    *n = 0;
    if (ox_run_has(r, 1))
        return ox_move_list(r, 1, lengths, n, err);
    if (r->opset < 13 && ox_run_attr(r, "split"))
        *lengths = ox_run_ints(r, "split", n);
    return OX_OK;
}

static enum ox_status split_lengths(struct ox_run *r, int64_t dim, int64_t *lengths,
                                    struct ox_error *err)
{
    const int64_t *given;
    size_t n;
    int64_t sum = 0, parts = (int64_t)r->n_out;

    OX_TRY(split_given(r, &given, &n, err));
    if (given) {
        if (n != r->n_out)
            return ox_run_fail(r, err, OX_INPUT, "%zu lengths for %zu outputs", n, r->n_out);
        for (size_t i = 0; i < n; i++) {
            if (given[i] < 0 || OX_ADD_OVERFLOWS(sum, given[i], &sum))
                return ox_run_fail(r, err, OX_INPUT, "split[%zu] is %" PRId64, i, given[i]);
            lengths[i] = given[i];
        }
        if (sum != dim)
            return ox_run_fail(r, err, OX_INPUT,
                               "the lengths sum to %" PRId64 ", the axis has %" PRId64 " elements",
                               sum, dim);
        return OX_OK;
    }
    if (r->opset >= 18) {
        int64_t declared = ox_run_int(r, "num_outputs", parts);

        if (declared != parts)
            return ox_run_fail(r, err, OX_INPUT,
                               "num_outputs is %" PRId64 ", the node has %" PRId64, declared,
                               parts);
    } else if (dim % parts != 0) {
        return ox_run_fail(r, err, OX_INPUT,
                           "%" PRId64 " elements cannot be split into %" PRId64 " equal parts", dim,
                           parts);
    }
    /* All are equal but the last, which may be smaller. */
    int64_t part = dim / parts + (dim % parts != 0), last = dim - part * (parts - 1);

    if (last < 0)
        return ox_run_fail(r, err, OX_INPUT,
                           "%" PRId64 " elements cannot be split into %" PRId64 " parts of %" PRId64
                           " and a smaller one",
                           dim, parts - 1, part);
    for (int64_t i = 0; i < parts; i++)
        lengths[i] = i + 1 < parts ? part : last;
    return OX_OK;
}

/* Length of part i as the rule knows it. */
static const struct ox_expr *infer_split_length(struct ox_infer *c, const struct ox_expr *dim,
                                                size_t i)
{
    size_t n, parts = ox_infer_n_out(c);
    const int64_t *attr;
    const struct ox_expr *const *values;
    int64_t number;

    if (ox_infer_has(c, 1)) {
        bool known = ox_infer_values(c, 1, &n, &values) && i < n;

        if (ox_infer_is_num(dim, &number) && number == 0 &&
            !(known && ox_infer_is_num(values[i], NULL)))
            return dim; /* parts of nothing are empty */
        return known ? values[i] : NULL;
    }
    if (ox_infer_opset(c) < 13 && (attr = ox_infer_ints_attr(c, "split", &n)) && n > 0)
        return i < n ? ox_infer_num(c, attr[i]) : NULL;
    const struct ox_expr *count = ox_infer_num(c, (int64_t)parts);

    if (ox_infer_opset(c) < 18) {
        if (i == 0 && ox_infer_is_num(dim, &number) && number % (int64_t)parts != 0)
            ox_infer_conflict(c, "%" PRId64 " elements cannot be split into %zu equal parts",
                              number, parts);
        return ox_infer_floordiv(c, dim, count);
    }
    const struct ox_expr *part = ox_infer_ceildiv(c, dim, count);

    if (i + 1 < parts)
        return part;
    const struct ox_expr *last =
        ox_infer_sub(c, dim, ox_infer_mul(c, part, ox_infer_num(c, (int64_t)parts - 1)));

    return ox_infer_is_num(last, &number) && number < 0 ? NULL : last;
}

/* Values of the parts of a vector. */
static void infer_split_values(struct ox_infer *c)
{
    struct ox_carry_value value;
    size_t at = 0, n_out = ox_infer_n_out(c);
    int64_t length;

    if (!ox_carry_value(c, 0, &value) || value.rank != 1)
        return;
    const struct ox_expr *dim = ox_infer_num(c, value.dims[0]);

    for (size_t i = 0; i < n_out; i++) {
        if (!ox_infer_is_num(infer_split_length(c, dim, i), &length) || length < 0 ||
            (size_t)length > value.n - at)
            return;
        ox_infer_set_values(c, i, (size_t)length, value.values + at);
        at += (size_t)length;
    }
}

/* How long the parts of an axis of known length are: the attribute or the input, and from version 18 on one of input and number. */
static void check_parts(struct ox_infer *c, const struct ox_expr *axis)
{
    const bool by_lengths = ox_infer_has(c, 1), by_number = ox_infer_attr(c, "num_outputs") != NULL;
    const int64_t *lengths = NULL;
    size_t n = 0;

    if (!by_lengths && ox_infer_opset(c) < 13)
        lengths = ox_infer_ints_attr(c, "split", &n);
    else if (by_lengths && !ox_infer_ints(c, 1, &n, &lengths))
        n = 0;
    if (n > 0)
        ox_carry_check_parts(c, n, lengths, axis);
    if (ox_infer_opset(c) >= 18 && by_lengths == by_number && ox_infer_is_num(axis, NULL))
        ox_infer_conflict(c, by_number ? "both split and num_outputs are given"
                                       : "neither split nor num_outputs is given");
}

static void infer_split(struct ox_infer *c)
{
    const struct ox_expr *const *in;
    size_t n_out = ox_infer_n_out(c);
    unsigned rank, axis;

    for (size_t i = 0; i < n_out; i++)
        ox_infer_same_dtype(c, i, 0);
    if (!ox_infer_shape(c, 0, &rank, &in) ||
        !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 0), rank, &axis))
        return;
    if (ox_infer_opset(c) >= 18 && !ox_infer_has(c, 1) &&
        ox_infer_int_attr(c, "num_outputs", (int64_t)n_out) != (int64_t)n_out)
        ox_infer_conflict(c, "num_outputs is %" PRId64 ", the node has %zu",
                          ox_infer_int_attr(c, "num_outputs", (int64_t)n_out), n_out);
    size_t n_lengths;
    check_parts(c, in[axis]);
    ox_infer_equal(c, ox_infer_dim(c, 1, 0), ox_infer_num(c, (int64_t)n_out), "parts and outputs");
    if (ox_infer_opset(c) < 13 && ox_infer_ints_attr(c, "split", &n_lengths) && n_lengths != n_out)
        ox_infer_conflict(c, "split has %zu lengths, the node %zu outputs", n_lengths, n_out);
    for (size_t i = 0; i < n_out; i++) {
        const struct ox_expr *length = infer_split_length(c, in[axis], i);
        if (!length)
            ox_infer_unknown(c, i, "the lengths of the parts are not known");
        ox_rule_other_axis(c, i, rank, in, axis, length);
    }
    infer_split_values(c);
}

static enum ox_status run_split(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dims[OX_MOVE_RANK], *lengths = ox_run_scratch(r, r->n_out, sizeof(*lengths), err);
    size_t outer = 1, size = ox_dtype_size(in->dtype);
    struct ox_part *parts = ox_run_scratch(r, r->n_out, sizeof(*parts), err);
    struct ox_tensor **outs = ox_run_scratch(r, r->n_out, sizeof(*outs), err);
    unsigned axis;

    if (!lengths || !parts || !outs)
        return OX_NO_MEMORY;
    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", 0), in->rank, &axis, err));
    OX_TRY(split_lengths(r, in->dims[axis], lengths, err));
    memcpy(dims, in->dims, in->rank * sizeof(dims[0]));
    for (unsigned k = 0; k < axis; k++)
        outer *= (size_t)dims[k];
    for (size_t i = 0; i < r->n_out; i++) {
        dims[axis] = lengths[i];
        OX_TRY(ox_run_out(r, i, in->dtype, in->rank, dims, &outs[i], err));
        parts[i] = (struct ox_part){outs[i]->data, outer > 0 ? outs[i]->n / outer * size : 0};
    }
    ox_parts_split(r->env, outer, r->n_out, parts, in->data);
    for (size_t i = 0; i < r->n_out; i++)
        OX_TRY(ox_move_own(outs[i], err));
    return OX_OK;
}

const struct ox_op ox_ops_split[] = {
    {"", "Split", 1, OX_OP_HALF, .infer = infer_split, .run = run_split}, {0}};
