/* Operators that cut and join: Concat, Split, Slice, and DynamicSlice, which is what Slice became in opset 10, without steps. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/parts.h"

/* ---- Concat -------------------------------------------------------------------------------------------------------- */

/* Values of all inputs along axis 0 of vectors (or scalars of one element do not join). */
static void infer_concat_values(struct ox_infer *c)
{
    const struct ox_expr *values[OX_CARRY_VALUES];
    size_t n = 0, n_in = ox_infer_n_in(c);
    bool any = false;

    for (size_t i = 0; i < n_in; i++) {
        const struct ox_expr *const *part, *const *dims;
        unsigned rank;
        int64_t length;
        size_t n_part;

        if (!ox_infer_shape(c, i, &rank, &dims) || rank != 1 ||
            !ox_infer_is_num(dims[0], &length) || length < 0 || length > OX_CARRY_VALUES ||
            n + (size_t)length > OX_CARRY_VALUES)
            return;
        bool known = ox_infer_values(c, i, &n_part, &part) && n_part == (size_t)length;

        for (int64_t k = 0; k < length; k++)
            values[n++] = known ? part[k] : NULL;
        any = any || known;
    }
    if (any)
        ox_infer_set_values(c, 0, n, values);
}

static void infer_concat(struct ox_infer *c)
{
    const struct ox_expr *const *in, **out = NULL, *sum = ox_infer_num(c, 0);
    size_t n_in = ox_infer_n_in(c);
    unsigned rank = 0, other, axis = 0;
    bool complete = true;

    ox_infer_same_dtype(c, 0, 0);
    for (size_t i = 0; i < n_in; i++) {
        if (!ox_infer_shape(c, i, &other, &in)) {
            complete = false;
            ox_infer_unknown(c, 0, "the shape of input %zu is not known", i);
            continue;
        }
        if (!out) {
            rank = other;
            out = ox_infer_dims(c, rank);
            if (!out || !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 1), rank, &axis))
                return;
        } else if (other != rank) {
            ox_infer_conflict(c, "input %zu has rank %u, another has %u", i, other, rank);
            return;
        }
        for (unsigned k = 0; k < rank; k++) {
            if (k != axis)
                out[k] = out[k] ? ox_infer_equal(c, out[k], in[k], "dimensions of inputs to join")
                                : in[k];
        }
        sum = ox_infer_add(c, sum, in[axis]);
    }
    if (!out)
        return;
    out[axis] = complete ? sum : NULL;
    ox_infer_set_shape(c, 0, rank, out);
    if (rank == 1 && complete)
        infer_concat_values(c);
}

static enum ox_status run_concat(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *first = ox_run_in(r, 0);
    int64_t dims[OX_MOVE_RANK];
    struct ox_tensor *out;
    unsigned axis;

    OX_TRY(ox_move_rank(r, first->rank, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", 1), first->rank, &axis, err));
    memcpy(dims, first->dims, first->rank * sizeof(dims[0]));
    for (size_t i = 1; i < r->n_in; i++) {
        const struct ox_tensor *in = ox_run_in(r, i);

        if (in->rank != first->rank)
            return ox_run_fail(r, err, OX_INPUT, "input %zu has rank %u, input 0 has %u", i,
                               in->rank, first->rank);
        for (unsigned k = 0; k < in->rank; k++) {
            if (k != axis && in->dims[k] != dims[k])
                return ox_run_fail(r, err, OX_INPUT,
                                   "dimension %u of input %zu is %" PRId64 ", of input 0 %" PRId64,
                                   k, i, in->dims[k], dims[k]);
        }
        if (OX_ADD_OVERFLOWS(dims[axis], in->dims[axis], &dims[axis]))
            return ox_run_fail(r, err, OX_INPUT, "too many elements along axis %u", axis);
    }
    OX_TRY(ox_run_out(r, 0, first->dtype, first->rank, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    size_t outer = 1, size = ox_dtype_size(out->dtype);

    for (unsigned k = 0; k < axis; k++)
        outer *= (size_t)dims[k];
    struct ox_part *parts = ox_run_scratch(r, r->n_in, sizeof(*parts), err);
    if (!parts)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < r->n_in; i++) {
        const struct ox_tensor *in = ox_run_in(r, i);

        parts[i] = (struct ox_part){in->data, in->n / outer * size};
    }
    ox_parts_join(r->env, outer, r->n_in, parts, out->data);
    return ox_move_own(out, err);
}

/* ---- Split --------------------------------------------------------------------------------------------------------- */

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
    const struct ox_expr *const *in, **out;
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
        out = ox_infer_dims(c, rank);
        if (!out)
            return;
        memcpy(out, in, rank * sizeof(out[0]));
        out[axis] = infer_split_length(c, in[axis], i);
        if (!out[axis])
            ox_infer_unknown(c, i, "the lengths of the parts are not known");
        ox_infer_set_shape(c, i, rank, out);
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

/* ---- Slice --------------------------------------------------------------------------------------------------------- */

/* The part of an axis: where it starts, by which step, how many. */
struct cut {
    int64_t start, step, count;
};

static struct cut cut_axis(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    struct cut cut = {0, step, 0};
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;

    start = start < 0 ? start + dim : start;
    end = end < 0 ? end + dim : end;
    start =
        start < 0 ? 0 : start; /* numpy would let a negative step start before the first element */
    start = start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    cut.start = start;
    if (step > 0 && end > start)
        cut.count = (end - start - 1) / step + 1;
    if (step < 0 && start > end)
        cut.count = (int64_t)((uint64_t)(start - end - 1) / (0 - (uint64_t)step) + 1);
    return cut;
}

static void slice_plan(struct ox_move *m, unsigned rank, const int64_t *dims,
                       const struct cut *cuts, int64_t *out_dims, int64_t *offset)
{
    int64_t from[OX_MOVE_RANK], to[OX_MOVE_RANK];
    bool empty = false;

    for (unsigned i = 0; i < rank; i++)
        out_dims[i] = cuts[i].count;
    ox_move_strides(rank, dims, from);
    ox_move_strides(rank, out_dims, to);
    m->rank = 0;
    *offset = 0;
    for (unsigned i = 0; i < rank; i++) {
        /* A single element has no step: it may be any 64-bit number. */
        int64_t step = cuts[i].count > 1 ? cuts[i].step : 1;

        empty = empty || cuts[i].count == 0;
        ox_move_axis(m, cuts[i].count, to[i], step * from[i]);
    }
    for (unsigned i = 0; i < rank && !empty; i++)
        *offset += cuts[i].start * from[i];
}

/* A bound of an axis cut to [0, dim], where it counts from the end if it is negative: min(0,max(-1,bound)) is -1 then, else 0. */
static const struct ox_expr *clamp_bound(struct ox_infer *c, const struct ox_expr *dim,
                                         const struct ox_expr *bound)
{
    const struct ox_expr *zero = ox_infer_num(c, 0);
    const struct ox_expr *turns =
        ox_infer_min(c, zero, ox_infer_max(c, ox_infer_num(c, -1), bound));

    bound = ox_infer_sub(c, bound, ox_infer_mul(c, dim, turns));
    return ox_infer_max(c, zero, ox_infer_min(c, dim, bound));
}

/* Length of the part by expressions; NULL when the signs are not known. */
static const struct ox_expr *infer_cut(struct ox_infer *c, const struct ox_expr *dim,
                                       const struct ox_expr *start, const struct ox_expr *end,
                                       const struct ox_expr *step)
{
    enum { FAR = INT32_MAX };
    const struct ox_expr *zero = ox_infer_num(c, 0), *bound[2] = {start, end};
    int64_t number[2], by, size;
    bool is_number[2];

    if (!ox_infer_is_num(step, &by) || by == 0)
        return NULL;
    for (int i = 0; i < 2; i++)
        is_number[i] = ox_infer_is_num(bound[i], &number[i]);
    if (is_number[0] && is_number[1] && ox_infer_is_num(dim, &size) && size >= 0)
        return ox_infer_num(c, cut_axis(size, number[0], number[1], by).count);
    if (by < 0) {
        if (is_number[0] && is_number[1] && (number[0] == -1 || number[0] >= FAR) &&
            number[1] <= -FAR && by != INT64_MIN)
            return ox_infer_ceildiv(c, dim, ox_infer_num(c, -by));
        return NULL;
    }
    /* To the end, from a start that counts from the front or from the back: the forms people know. */
    const struct ox_expr *length = NULL;

    if (bound[1] == dim || (is_number[1] && number[1] >= FAR)) {
        int64_t most;

        if (bound[0] && ox_expr_greatest(bound[0], &most) && most < 0 &&
            !(is_number[0] && number[0] <= -FAR))
            length = ox_infer_min(c, ox_infer_sub(c, zero, bound[0]), dim);
        else if (bound[0] != dim && !(is_number[0] && number[0] >= FAR) &&
                 ox_carry_not_negative(bound[0]))
            length = ox_infer_max(c, ox_infer_sub(c, dim, bound[0]), zero);
    }
    for (int i = 0; i < 2 && !length; i++) {
        int64_t most;

        if (is_number[i] && number[i] >= FAR)
            bound[i] = dim;
        else if (is_number[i] && number[i] <= -FAR)
            bound[i] = zero;
        else if (ox_carry_not_negative(bound[i]))
            bound[i] =
                bound[i] == dim || bound[i] == zero ? bound[i] : ox_infer_min(c, bound[i], dim);
        else if (bound[i] && ox_expr_greatest(bound[i], &most) && most < 0)
            bound[i] = ox_infer_max(c, ox_infer_add(c, dim, bound[i]), zero);
        else
            bound[i] = clamp_bound(c, dim, bound[i]);
    }
    if (!length)
        length = ox_infer_sub(c, bound[1], bound[0]);
    if (!ox_carry_not_negative(length))
        length = ox_infer_max(c, length, zero);
    return by == 1 ? length : ox_infer_ceildiv(c, length, step);
}

/* Bounds of a node: expressions a given axis, from attributes (before opset 10) or inputs. */
struct bounds {
    size_t n;
    const struct ox_expr *start[OX_MOVE_RANK], *end[OX_MOVE_RANK], *step[OX_MOVE_RANK];
    bool has_axes;
    int64_t axes[OX_MOVE_RANK];
};

static bool infer_bounds_attr(struct ox_infer *c, struct bounds *b)
{
    size_t n_ends, n_axes;
    const int64_t *starts = ox_infer_ints_attr(c, "starts", &b->n);
    const int64_t *ends = ox_infer_ints_attr(c, "ends", &n_ends),
                  *axes = ox_infer_ints_attr(c, "axes", &n_axes);

    if (b->n != n_ends || (axes && n_axes != b->n) || b->n > OX_MOVE_RANK) {
        ox_infer_conflict(c, "%zu starts, %zu ends and %zu axes", b->n, n_ends, n_axes);
        return false;
    }
    b->has_axes = axes != NULL;
    for (size_t i = 0; i < b->n; i++) {
        b->start[i] = ox_infer_num(c, starts[i]);
        b->end[i] = ox_infer_num(c, ends[i]);
        b->step[i] = ox_infer_num(c, 1);
        if (axes)
            b->axes[i] = axes[i];
    }
    return true;
}

/* One of the inputs; what is not known is NULL. False: its length does not fit. */
static bool infer_bound_input(struct ox_infer *c, size_t input, size_t n,
                              const struct ox_expr **out)
{
    const struct ox_expr *const *values;
    size_t have;

    if (!ox_infer_values(c, input, &have, &values)) {
        memset(out, 0, n * sizeof(out[0]));
        return true;
    }
    if (have != n) {
        ox_infer_conflict(c, "input %zu has %zu elements, not %zu", input, have, n);
        return false;
    }
    memcpy(out, values, n * sizeof(out[0]));
    return true;
}

static bool infer_bounds_input(struct ox_infer *c, unsigned rank, struct bounds *b)
{
    const struct ox_expr *const *values;
    const int64_t *axes;
    int64_t length;
    size_t n;

    if (ox_infer_values(c, 1, &n, &values) || ox_infer_values(c, 2, &n, &values))
        b->n = n;
    else if ((ox_infer_is_num(ox_infer_dim(c, 1, 0), &length) ||
              ox_infer_is_num(ox_infer_dim(c, 2, 0), &length)) &&
             length >= 0)
        b->n = (size_t)length;
    else
        return false;
    if (b->n > rank || b->n > OX_MOVE_RANK || !infer_bound_input(c, 1, b->n, b->start) ||
        !infer_bound_input(c, 2, b->n, b->end))
        return false;
    b->has_axes = ox_infer_has(c, 3);
    if (b->has_axes) {
        if (!ox_infer_ints(c, 3, &n, &axes) || n != b->n)
            return false;
        memcpy(b->axes, axes, n * sizeof(axes[0]));
    }
    if (ox_infer_has(c, 4))
        return infer_bound_input(c, 4, b->n, b->step);
    for (size_t i = 0; i < b->n; i++)
        b->step[i] = ox_infer_num(c, 1);
    return true;
}

static void infer_slice_values(struct ox_infer *c, const struct bounds *b)
{
    struct ox_carry_value value;
    struct cut cuts[OX_CARRY_RANK];
    struct ox_move m;
    int64_t dims[OX_MOVE_RANK], offset, start, end, step;
    unsigned axis;
    size_t n;

    if (!ox_carry_value(c, 0, &value))
        return;
    for (unsigned i = 0; i < value.rank; i++)
        cuts[i] = (struct cut){0, 1, value.dims[i]};
    for (size_t i = 0; i < b->n; i++) {
        if (!ox_infer_axis(c, b->has_axes ? b->axes[i] : (int64_t)i, value.rank, &axis) ||
            !ox_infer_is_num(b->start[i], &start) || !ox_infer_is_num(b->end[i], &end) ||
            !ox_infer_is_num(b->step[i], &step) || step == 0)
            return;
        cuts[axis] = cut_axis(value.dims[axis], start, end, step);
    }
    const struct ox_expr *values[OX_CARRY_VALUES];

    slice_plan(&m, value.rank, value.dims, cuts, dims, &offset);
    if (!ox_dims_count(value.rank, dims, &n) || n > OX_CARRY_VALUES)
        return;
    if (n > 0)
        ox_move_run(&m, sizeof(values[0]), values, value.values + offset);
    ox_infer_set_values(c, 0, n, values);
}

static void infer_slice_by(struct ox_infer *c, bool by_inputs)
{
    const struct ox_expr *const *in, **out;
    struct bounds b = {.n = 0};
    unsigned rank, axis;
    int64_t step;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    out = ox_infer_dims(c, rank);
    if (!out)
        return;
    if (!(by_inputs ? infer_bounds_input(c, rank, &b) : infer_bounds_attr(c, &b))) {
        ox_infer_unknown(c, 0, "starts, ends or axes are not known");
        ox_infer_set_shape(c, 0, rank, out);
        return;
    }
    memcpy(out, in, rank * sizeof(out[0]));
    for (size_t i = 0; i < b.n; i++) {
        if (!ox_infer_axis(c, b.has_axes ? b.axes[i] : (int64_t)i, rank, &axis))
            return;
        if (ox_infer_is_num(b.step[i], &step) && step == 0)
            ox_infer_conflict(c, "the step of axis %u is 0", axis);
        out[axis] = infer_cut(c, in[axis], b.start[i], b.end[i], b.step[i]);
        if (!out[axis])
            ox_infer_unknown(c, 0, "the bounds of axis %u are not known", axis);
    }
    ox_infer_set_shape(c, 0, rank, out);
    infer_slice_values(c, &b);
}

static void infer_slice_attr(struct ox_infer *c)
{
    infer_slice_by(c, false);
}

static void infer_slice(struct ox_infer *c)
{
    infer_slice_by(c, true);
}

static enum ox_status run_slice_by(struct ox_run *r, const int64_t *starts, const int64_t *ends,
                                   const int64_t *axes, const int64_t *steps, size_t n,
                                   struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    struct cut cuts[OX_MOVE_RANK];
    unsigned which[OX_MOVE_RANK];
    int64_t dims[OX_MOVE_RANK], numbers[OX_MOVE_RANK], offset;
    struct ox_tensor *out;
    struct ox_move m;

    OX_TRY(ox_move_rank(r, in->rank, err));
    for (unsigned i = 0; i < in->rank; i++) {
        cuts[i] = (struct cut){0, 1, in->dims[i]};
        numbers[i] = i;
    }
    OX_TRY(ox_move_axes(r, axes ? axes : numbers, n, in->rank, which, err));
    for (size_t i = 0; i < n; i++) {
        int64_t step = steps ? steps[i] : 1;

        if (step == 0)
            return ox_run_fail(r, err, OX_INPUT, "steps[%zu] is 0", i);
        cuts[which[i]] = cut_axis(in->dims[which[i]], starts[i], ends[i], step);
    }
    slice_plan(&m, in->rank, in->dims, cuts, dims, &offset);
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, dims, &out, err));
    size_t size = ox_dtype_size(in->dtype);

    if (out->n > 0)
        ox_move_spread(r->env, &m, size, out->data, (const char *)in->data + (size_t)offset * size);
    return ox_move_own(out, err);
}

static enum ox_status run_slice_attr(struct ox_run *r, struct ox_error *err)
{
    size_t n, n_ends, n_axes;
    const int64_t *starts = ox_run_ints(r, "starts", &n), *ends = ox_run_ints(r, "ends", &n_ends);
    const int64_t *axes = ox_run_ints(r, "axes", &n_axes);

    if (n != n_ends || (axes && n_axes != n))
        return ox_run_fail(r, err, OX_INPUT, "%zu starts, %zu ends and %zu axes", n, n_ends,
                           n_axes);
    return run_slice_by(r, starts, ends, axes, NULL, n, err);
}

static enum ox_status run_slice(struct ox_run *r, struct ox_error *err)
{
    const int64_t *starts, *ends, *axes, *steps;
    size_t n, n_ends, n_axes, n_steps;

    OX_TRY(ox_move_list(r, 1, &starts, &n, err));
    OX_TRY(ox_move_list(r, 2, &ends, &n_ends, err));
    OX_TRY(ox_move_list(r, 3, &axes, &n_axes, err));
    OX_TRY(ox_move_list(r, 4, &steps, &n_steps, err));
    if (n != n_ends || (axes && n_axes != n) || (steps && n_steps != n))
        return ox_run_fail(r, err, OX_INPUT, "%zu starts, %zu ends, %zu axes and %zu steps", n,
                           n_ends, n_axes, n_steps);
    return run_slice_by(r, starts, ends, axes, steps, n, err);
}

const struct ox_op ox_ops_slice[] = {
    {"", "Concat", 1, OX_OP_HALF, .infer = infer_concat, .run = run_concat},
    {"", "Split", 1, OX_OP_HALF, .infer = infer_split, .run = run_split},
    {"", "DynamicSlice", 1, OX_OP_HALF, .infer = infer_slice, .run = run_slice},
    {"", "Slice", 1, OX_OP_HALF, .infer = infer_slice_attr, .run = run_slice_attr},
    {"", "Slice", 10, OX_OP_HALF, .infer = infer_slice, .run = run_slice},
    {0}};
