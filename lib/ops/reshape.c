/* Reshape, Flatten and Identity: other shapes of the same data. */
#include <inttypes.h>

#include "ops/carry.h"
#include "ops/rules.h"
#include "ops/sequence_items.h"

/* ---- Reshape ----------------------------------------------------------------------------------------------------- */

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
    bool allow_zero = ox_infer_int_attr(c, "allowzero", 0) != 0, has_zero = false;
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
        has_zero |= ox_infer_is_num(target[i], &value) && value == 0;
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
    if (n_minus && has_zero)
        ox_infer_refused(c);
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
        ox_infer_is_num(ox_carry_product(c, rank, out), &after) && before != after &&
        !ox_infer_by_rules_alone(c)) /* it is no rule of the standard's inference */
        ox_infer_conflict(c, "%" PRId64 " elements do not fit a shape of %" PRId64, before, after);
    ox_infer_set_shape(c, 0, rank, out);
    ox_rule_pass_values(c);
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
    if (ox_infer_by_rules_alone(c) && ox_infer_opset(c) < 14) /* no rule before told the rank */
        return;
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

/* ---- Flatten ----------------------------------------------------------------------------------------------------- */

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
    ox_rule_pass_values(c);
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

/* ---- Identity ---------------------------------------------------------------------------------------------------- */

static void infer_identity(struct ox_infer *c)
{
    const struct ox_type *type = ox_infer_type(c, 0);

    if (type)
        ox_infer_set_type(c, 0, type);
    ox_rule_pass_values(c);
    ox_items_same(c);
}

static enum ox_status run_identity(struct ox_run *r, struct ox_error *err)
{
    return ox_run_out_datum(r, 0, r->in[0], err);
}

const struct ox_op ox_ops_reshape[] = {
    {"", "Reshape", 1, OX_OP_HALF, .infer = infer_reshape_attr, .run = run_reshape_attr},
    {"", "Reshape", 5, OX_OP_HALF, .infer = infer_reshape, .run = run_reshape},
    {"", "Flatten", 1, OX_OP_HALF, .infer = infer_flatten, .run = run_flatten},
    {"", "Identity", 1, OX_OP_HALF | OX_OP_ANY_KIND, .infer = infer_identity, .run = run_identity},
    {0}};
