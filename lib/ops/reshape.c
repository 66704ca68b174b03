/* Operators that change a shape and leave the data: Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze, Identity. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"
#include "ops/sequence_items.h"

/* ---- Shape and Size ---------------------------------------------------------------------------------------------- */

/* Shape's `start` and `end` (opset 15) as a range of axes. */
static void shape_range(int64_t start, int64_t end, unsigned rank, unsigned *from, unsigned *to)
{
    int64_t r = rank;

    start = start < 0 ? start + r : start;
    end = end < 0 ? end + r : end;
    *from = (unsigned)(start < 0 ? 0 : start > r ? r : start);
    *to = (unsigned)(end < 0 ? 0 : end > r ? r : end);
    if (*to < *from)
        *to = *from;
}

static void infer_shape(struct ox_infer *c)
{
    unsigned rank, from, to;
    const struct ox_expr *const *dims;
    const struct ox_expr **out = ox_infer_dims(c, 1);

    ox_infer_set_dtype(c, 0, OX_INT64);
    if (!out)
        return;
    if (!ox_infer_shape(c, 0, &rank, &dims)) {
        ox_infer_set_shape(c, 0, 1, out);
        ox_infer_unknown(c, 0, "the rank of the input is not known");
        return;
    }
    shape_range(ox_infer_int_attr(c, "start", 0), ox_infer_int_attr(c, "end", rank), rank, &from,
                &to);
    out[0] = ox_infer_num(c, to - from);
    ox_infer_set_shape(c, 0, 1, out);
    ox_infer_set_values(c, 0, to - from, dims + from);
}

static enum ox_status run_shape(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    struct ox_tensor *out;
    unsigned from, to;

    shape_range(ox_run_int(r, "start", 0), ox_run_int(r, "end", in->rank), in->rank, &from, &to);
    int64_t n = to - from;

    OX_TRY(ox_run_out(r, 0, OX_INT64, 1, &n, &out, err));
    if (n > 0)
        memcpy(out->data, in->dims + from, (size_t)n * sizeof(int64_t));
    return OX_OK;
}

static void infer_size(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *dims;

    ox_infer_set_dtype(c, 0, OX_INT64);
    ox_infer_set_shape(c, 0, 0, NULL);
    if (!ox_infer_shape(c, 0, &rank, &dims))
        return;
    const struct ox_expr *size = ox_carry_product(c, rank, dims);

    ox_infer_set_values(c, 0, 1, &size);
}

static enum ox_status run_size(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *out;

    OX_TRY(ox_run_out(r, 0, OX_INT64, 0, NULL, &out, err));
    *(int64_t *)out->data = (int64_t)ox_run_in(r, 0)->n;
    return OX_OK;
}

/* ---- Reshape ------------------------------------------------------------------------------------------------------ */

/* Hands the carried value of input 0 on in another shape, which was set before. */
static void pass_values(struct ox_infer *c)
{
    const struct ox_expr *const *values;
    size_t n;

    if (ox_infer_values(c, 0, &n, &values))
        ox_infer_set_values(c, 0, n, values);
}

/* The one dimension that is left open: what remains of the elements. */
static void infer_open_dim(struct ox_infer *c, unsigned in_rank, const struct ox_expr *const *in,
                           unsigned rank, const struct ox_expr **out, unsigned open)
{
    const struct ox_expr **others = ox_infer_dims(c, rank);
    int64_t have, rest;
    unsigned n = 0;

    if (!others)
        return;
    for (unsigned i = 0; i < rank; i++) {
        if (i != open)
            others[n++] = out[i];
    }
    const struct ox_expr *total = ox_carry_product(c, in_rank, in);
    const struct ox_expr *known = ox_carry_product(c, n, others);

    if (ox_infer_is_num(total, &have) && ox_infer_is_num(known, &rest) &&
        (rest == 0 || have % rest)) {
        ox_infer_conflict(
            c, "%" PRId64 " elements cannot be divided among dimensions whose product is %" PRId64,
            have, rest);
        return;
    }
    out[open] = ox_carry_quotient(c, in_rank, in, n, others);
}

/* What the data tell may be 0 or -1 too, which are no sizes. */
static bool may_be_mark(const struct ox_expr *target)
{
    int64_t least;

    return ox_expr_has_signed(target) && !(ox_expr_least(target, &least) && least > 0);
}

/* Dimensions from a target; the places of those that are open (-1 or not known). */
static bool infer_target(struct ox_infer *c, bool has_in, unsigned in_rank,
                         const struct ox_expr *const *in, unsigned rank,
                         const struct ox_expr *const *target, const struct ox_expr **out)
{
    bool allow_zero = ox_infer_int_attr(c, "allowzero", 0) != 0;
    unsigned n_open = 0, n_minus = 0, open = 0;
    int64_t value;

    for (unsigned i = 0; i < rank; i++) {
        out[i] = target[i];
        if (ox_infer_is_num(target[i], &value) && value < 0) {
            n_minus++;
            out[i] = NULL;
            if (value != -1)
                ox_infer_conflict(c, "the target shape holds %" PRId64, value);
        } else if (ox_infer_is_num(target[i], &value) && value == 0 && !allow_zero) {
            out[i] = has_in && i < in_rank ? in[i] : NULL;
            if (has_in && i >= in_rank)
                ox_infer_conflict(
                    c, "the target shape has 0 at %u, where the input of rank %u has no dimension",
                    i, in_rank);
            continue; /* a copied dimension that is not known is not open */
        }
        if (may_be_mark(target[i])) {
            out[i] = NULL;
            ox_infer_unknown(c, 0, "the target shape is not known: it may hold 0 or -1");
        }
        if (!out[i]) {
            n_open++;
            open = i;
        }
    }
    if (n_minus > 1)
        ox_infer_conflict(c, "the target shape holds -1 more than once");
    if (n_open == 1 && has_in)
        infer_open_dim(c, in_rank, in, rank, out, open);
    return n_open == 0;
}

static void infer_reshape_to(struct ox_infer *c, unsigned rank, const struct ox_expr *const *target)
{
    const struct ox_expr **out = ox_infer_dims(c, rank);
    const struct ox_expr *const *in = NULL;
    unsigned in_rank = 0;
    bool has_in = ox_infer_shape(c, 0, &in_rank, &in);
    int64_t before, after;

    if (!out && rank > 0)
        return;
    if (infer_target(c, has_in, in_rank, in, rank, target, out) && has_in &&
        ox_infer_is_num(ox_carry_product(c, in_rank, in), &before) &&
        ox_infer_is_num(ox_carry_product(c, rank, out), &after) && before != after)
        ox_infer_conflict(c, "%" PRId64 " elements do not fit a shape of %" PRId64, before, after);
    ox_infer_set_shape(c, 0, rank, out);
    pass_values(c);
}

static void infer_reshape_attr(struct ox_infer *c)
{
    const struct ox_expr *target[OX_MOVE_RANK];
    const int64_t *shape;
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    shape = ox_infer_ints_attr(c, "shape", &n);
    if (n > OX_MOVE_RANK || (!shape && !ox_carry_has_attr(c, "shape")))
        return;
    for (size_t i = 0; i < n; i++)
        target[i] = ox_infer_num(c, shape[i]);
    infer_reshape_to(c, (unsigned)n, target);
}

static void infer_reshape(struct ox_infer *c)
{
    const struct ox_expr *const *target, *const *dims;
    unsigned rank;
    int64_t length;
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_rule_rank(c, 1, 1))
        return;
    if (ox_infer_values(c, 1, &n, &target)) {
        infer_reshape_to(c, (unsigned)n, target);
        return;
    }
    ox_infer_unknown(c, 0, "the target shape is not known");
    if (ox_infer_shape(c, 1, &rank, &dims) && rank == 1 && ox_infer_is_num(dims[0], &length) &&
        length >= 0 && length <= OX_MOVE_RANK) {
        unsigned in_rank;
        const struct ox_expr *const *in;
        const struct ox_expr *all = length == 1 && ox_infer_shape(c, 0, &in_rank, &in)
                                        ? ox_carry_product(c, in_rank, in)
                                        : NULL;
        if (all) /* whatever the target says */
            ox_infer_set_shape(c, 0, 1, &all);
        else
            ox_carry_rank_only(c, 0, (unsigned)length);
    }
}

/* Makes out[] of a target: 0 copies unless allow_zero, -1 takes what is left. */
static enum ox_status reshape_dims(const struct ox_run *r, const struct ox_tensor *in,
                                   bool allow_zero, const int64_t *target, size_t n, int64_t *out,
                                   struct ox_error *err)
{
    bool has_zero = false;
    size_t open = n, count = 1;

    for (size_t i = 0; i < n; i++) {
        out[i] = target[i];
        if (target[i] == -1) {
            if (open < n)
                return ox_run_fail(r, err, OX_INPUT, "the target shape holds -1 at %zu and at %zu",
                                   open, i);
            open = i;
            continue;
        }
        if (target[i] < 0)
            return ox_run_fail(r, err, OX_INPUT, "shape[%zu] is %" PRId64, i, target[i]);
        if (target[i] == 0 && !allow_zero) {
            if (i >= in->rank)
                return ox_run_fail(r, err, OX_INPUT, "shape[%zu] is 0, but the input has rank %u",
                                   i, in->rank);
            out[i] = in->dims[i];
        }
        has_zero = has_zero || target[i] == 0;
        if (OX_MUL_OVERFLOWS(count, (size_t)out[i], &count))
            return ox_run_fail(r, err, OX_INPUT, "the target shape has too many elements");
    }
    if (open < n && allow_zero && has_zero)
        return ox_run_fail(r, err, OX_INPUT, "with allowzero the target shape holds both 0 and -1");
    if (open < n) {
        if (count == 0 || in->n % count != 0)
            return ox_run_fail(
                r, err, OX_INPUT,
                "%zu elements cannot be divided among dimensions whose product is %zu", in->n,
                count);
        out[open] = (int64_t)(in->n / count);
    } else if (count != in->n) {
        return ox_run_fail(r, err, OX_INPUT, "%zu elements do not fit a shape of %zu", in->n,
                           count);
    }
    return OX_OK;
}

static enum ox_status run_reshape_to(struct ox_run *r, const int64_t *target, size_t n,
                                     struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dims[OX_MOVE_RANK];

    OX_TRY(ox_move_rank(r, n, err));
    OX_TRY(reshape_dims(r, in, ox_run_int(r, "allowzero", 0) != 0, target, n, dims, err));
    return ox_run_out_view(r, 0, in, (unsigned)n, dims, err);
}

static enum ox_status run_reshape_attr(struct ox_run *r, struct ox_error *err)
{
    size_t n;
    const int64_t *shape = ox_run_ints(r, "shape", &n);

    if (!shape && !ox_run_attr(r, "shape"))
        return ox_run_fail(r, err, OX_INPUT, "attribute 'shape' is missing");
    return run_reshape_to(r, shape, n, err);
}

static enum ox_status run_reshape(struct ox_run *r, struct ox_error *err)
{
    const int64_t *target;
    size_t n;

    if (ox_run_in(r, 1)->rank != 1)
        return ox_run_fail(r, err, OX_INPUT, "the target shape has rank %u, not 1",
                           ox_run_in(r, 1)->rank);
    OX_TRY(ox_move_list(r, 1, &target, &n, err));
    return run_reshape_to(r, target, n, err);
}

/* ---- Flatten ------------------------------------------------------------------------------------------------------ */

static void infer_flatten(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *in;
    const struct ox_expr **out = ox_infer_dims(c, 2);
    int64_t axis = ox_infer_int_attr(c, "axis", 1);

    ox_infer_same_dtype(c, 0, 0);
    if (!out)
        return;
    if (ox_infer_shape(c, 0, &rank, &in)) {
        int64_t at = axis < 0 ? axis + rank : axis;

        if (at < 0 || at > rank) {
            ox_infer_conflict(c, "axis %" PRId64 " is outside [-%u, %u]", axis, rank, rank);
            return;
        }
        out[0] = ox_carry_product(c, (size_t)at, in);
        out[1] = ox_carry_product(c, rank - (size_t)at, in + at);
    }
    ox_infer_set_shape(c, 0, 2, out);
    pass_values(c);
}

static enum ox_status run_flatten(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t axis = ox_run_int(r, "axis", 1), dims[2] = {1, 1};
    int64_t at = axis < 0 && r->opset >= 11 ? axis + in->rank : axis;

    if (at < 0 || at > in->rank)
        return ox_run_fail(r, err, OX_INPUT, "axis %" PRId64 " is outside [%d, %u]", axis,
                           r->opset >= 11 ? -(int)in->rank : 0, in->rank);
    for (unsigned i = 0; i < in->rank; i++) {
        int64_t *part = &dims[i < at ? 0 : 1];

        if (OX_MUL_OVERFLOWS(*part, in->dims[i], part))
            return ox_run_fail(r, err, OX_INPUT, "too many elements on one side of axis %" PRId64,
                               axis);
    }
    return ox_run_out_view(r, 0, in, 2, dims, err);
}

/* ---- Squeeze and Unsqueeze ---------------------------------------------------------------------------------------- */

/* The axes of a node, from the attribute (before opset 13) or the input. */
static enum ox_status run_axes(struct ox_run *r, const int64_t **axes, size_t *n, bool *has,
                               struct ox_error *err)
{
    if (r->opset < 13) {
        *axes = ox_run_ints(r, "axes", n);
        *has = ox_run_attr(r, "axes") != NULL;
        return OX_OK;
    }
    *has = ox_run_has(r, 1);
    return ox_move_list(r, 1, axes, n, err);
}

/* Likewise for a rule; false when they are not known. */
static bool infer_axes(struct ox_infer *c, const int64_t **axes, size_t *n, bool *has)
{
    *n = 0;
    if (ox_infer_opset(c) < 13) {
        *axes = ox_infer_ints_attr(c, "axes", n);
        *has = ox_carry_has_attr(c, "axes");
        return true;
    }
    *has = ox_infer_has(c, 1);
    return !*has || ox_infer_ints(c, 1, n, axes);
}

/* Of the axes only the number may be known: if no more dimensions than that can be 1, it is these. */
static void infer_squeeze_blind(struct ox_infer *c, unsigned rank, const struct ox_expr *const *in)
{
    int64_t count, least, dim;
    unsigned n_ones = 0, n_out = 0;
    if (!ox_infer_is_num(ox_infer_dim(c, 1, 0), &count) || count < 0 || count > rank)
        return;
    const struct ox_expr **out = ox_infer_dims(c, rank), **rest = ox_infer_dims(c, rank);
    if (!out || !rest)
        return;
    for (unsigned i = 0; i < rank; i++) {
        bool is_other =
            ox_infer_is_num(in[i], &dim) ? dim != 1 : ox_expr_least(in[i], &least) && least > 1;
        if (is_other)
            rest[n_out++] = in[i];
        n_ones += !is_other;
    }
    bool told = n_ones == (unsigned)count;
    ox_infer_set_shape(c, 0, rank - (unsigned)count, told ? rest : out);
}

static void infer_squeeze(struct ox_infer *c)
{
    const struct ox_expr *const *in;
    const int64_t *axes = NULL;
    unsigned rank, n_out = 0, axis;
    int64_t dim;
    size_t n;
    bool has;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in) || rank > OX_MOVE_RANK)
        return;
    bool drop[OX_MOVE_RANK] = {false};

    if (!infer_axes(c, &axes, &n, &has)) {
        ox_infer_unknown(c, 0, "the axes are not known");
        infer_squeeze_blind(c, rank, in);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!ox_infer_axis(c, axes[i], rank, &axis))
            return;
        drop[axis] = true;
        if (ox_infer_is_num(in[axis], &dim) && dim != 1)
            ox_infer_conflict(c, "axis %u to squeeze has %" PRId64 " elements", axis, dim);
    }
    for (unsigned i = 0; i < rank && !has; i++) {
        if (!ox_infer_is_num(in[i], &dim)) {
            ox_infer_unknown(c, 0, "no axes are given, and dimension %u may be 1", i);
            return;
        }
        drop[i] = dim == 1;
    }
    const struct ox_expr **out = ox_infer_dims(c, rank);

    for (unsigned i = 0; i < rank && out; i++) {
        if (!drop[i])
            out[n_out++] = in[i];
    }
    ox_infer_set_shape(c, 0, n_out, out);
    pass_values(c);
}

static enum ox_status run_squeeze(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dims[OX_MOVE_RANK];
    unsigned which[OX_MOVE_RANK], n_out = 0;
    bool drop[OX_MOVE_RANK] = {false}, has;
    const int64_t *axes;
    size_t n;

    OX_TRY(run_axes(r, &axes, &n, &has, err));
    OX_TRY(ox_move_axes(r, axes, n, in->rank, which, err));
    for (size_t i = 0; i < n; i++) {
        if (in->dims[which[i]] != 1)
            return ox_run_fail(r, err, OX_INPUT,
                               "axis %" PRId64 " to squeeze has %" PRId64 " elements", axes[i],
                               in->dims[which[i]]);
        drop[which[i]] = true;
    }
    for (unsigned i = 0; i < in->rank; i++) {
        if (!drop[i] && (has || in->dims[i] != 1))
            dims[n_out++] = in->dims[i];
    }
    return ox_run_out_view(r, 0, in, n_out, dims, err);
}

static void infer_unsqueeze(struct ox_infer *c)
{
    const struct ox_expr *const *in;
    const int64_t *axes = NULL;
    bool added[OX_MOVE_RANK] = {false}, has;
    unsigned rank, axis, at = 0;
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    if (!infer_axes(c, &axes, &n, &has)) {
        int64_t length;

        ox_infer_unknown(c, 0, "the axes are not known");
        if (ox_infer_is_num(ox_infer_dim(c, 1, 0), &length) && length >= 0 &&
            length <= OX_MOVE_RANK)
            ox_carry_rank_only(c, 0, rank + (unsigned)length);
        return;
    }
    if (n > OX_MOVE_RANK || rank + n > OX_MOVE_RANK)
        return;
    unsigned out_rank = rank + (unsigned)n;
    const struct ox_expr **out = ox_infer_dims(c, out_rank);

    for (size_t i = 0; i < n; i++) {
        if (!ox_infer_axis(c, axes[i], out_rank, &axis))
            return;
        if (added[axis])
            ox_infer_conflict(c, "axis %" PRId64 " is given twice", axes[i]);
        added[axis] = true;
    }
    for (unsigned i = 0; i < out_rank && out; i++)
        out[i] = added[i] || at >= rank ? ox_infer_num(c, 1) : in[at++];
    ox_infer_set_shape(c, 0, out_rank, out);
    pass_values(c);
}

static enum ox_status run_unsqueeze(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dims[OX_MOVE_RANK];
    unsigned which[OX_MOVE_RANK], at = 0;
    bool added[OX_MOVE_RANK] = {false}, has;
    const int64_t *axes;
    size_t n;

    OX_TRY(run_axes(r, &axes, &n, &has, err));
    OX_TRY(ox_move_rank(r, n, err));
    OX_TRY(ox_move_rank(r, in->rank + n, err));
    unsigned rank = in->rank + (unsigned)n;

    OX_TRY(ox_move_axes(r, axes, n, rank, which, err));
    for (size_t i = 0; i < n; i++)
        added[which[i]] = true;
    for (unsigned i = 0; i < rank; i++)
        dims[i] = added[i] ? 1 : in->dims[at++];
    return ox_run_out_view(r, 0, in, rank, dims, err);
}

/* ---- Identity ------------------------------------------------------------------------------------------------------ */

static void infer_identity(struct ox_infer *c)
{
    const struct ox_type *type = ox_infer_type(c, 0);

    if (type)
        ox_infer_set_type(c, 0, type);
    pass_values(c);
    ox_items_same(c);
}

static enum ox_status run_identity(struct ox_run *r, struct ox_error *err)
{
    return ox_run_out_datum(r, 0, r->in[0], err);
}

const struct ox_op ox_ops_reshape[] = {
    {"", "Shape", 1, OX_OP_HALF, .infer = infer_shape, .run = run_shape},
    {"", "Size", 1, OX_OP_HALF, .infer = infer_size, .run = run_size},
    {"", "Reshape", 1, OX_OP_HALF, .infer = infer_reshape_attr, .run = run_reshape_attr},
    {"", "Reshape", 5, OX_OP_HALF, .infer = infer_reshape, .run = run_reshape},
    {"", "Flatten", 1, OX_OP_HALF, .infer = infer_flatten, .run = run_flatten},
    {"", "Squeeze", 1, OX_OP_HALF, .infer = infer_squeeze, .run = run_squeeze},
    {"", "Unsqueeze", 1, OX_OP_HALF, .infer = infer_unsqueeze, .run = run_unsqueeze},
    {"", "Identity", 1, OX_OP_HALF | OX_OP_ANY_KIND, .infer = infer_identity, .run = run_identity},
    {0}};
