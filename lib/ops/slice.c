/* Slice, and DynamicSlice, which is what Slice became in opset 10, without steps. */
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"

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

    ox_rule_lists(c, 1, 4);
    if (ox_infer_values(c, 1, &n, &values) || ox_infer_values(c, 2, &n, &values))
        b->n = n;
    else if ((ox_infer_is_num(ox_infer_dim(c, 1, 0), &length) ||
              ox_infer_is_num(ox_infer_dim(c, 2, 0), &length)) &&
             length >= 0)
        b->n = (size_t)length;
    else
        return false;
    if (b->n > rank)
        ox_infer_refused(c);
    if (b->n > rank || b->n > OX_MOVE_RANK || !infer_bound_input(c, 1, b->n, b->start) ||
        !infer_bound_input(c, 2, b->n, b->end))
        return false;
    b->has_axes = ox_infer_has(c, 3);
    if (b->has_axes) {
        if (!ox_infer_ints(c, 3, &n, &axes))
            return false;
        if (n != b->n) {
            ox_infer_refused(c);
            return false;
        }
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
    bool *cut = ox_infer_scratch(c, rank, sizeof(*cut));
    if (!out || !cut)
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
        if (cut[axis])
            ox_infer_refused(c);
        cut[axis] = true;
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
    {"", "DynamicSlice", 1, OX_OP_HALF, .infer = infer_slice, .run = run_slice},
    {"", "Slice", 1, OX_OP_HALF, .infer = infer_slice_attr, .run = run_slice_attr},
    {"", "Slice", 10, OX_OP_HALF, .infer = infer_slice, .run = run_slice},
    {0}};
