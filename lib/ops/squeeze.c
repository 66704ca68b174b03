/* Squeeze and Unsqueeze: axes of one element, taken out and put in. */
#include <inttypes.h>

#include "ops/carry.h"
#include "ops/rules.h"

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
    ox_rule_lists(c, 1, 1);
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
    ox_rule_pass_values(c);
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
    ox_rule_pass_values(c);
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

const struct ox_op ox_ops_squeeze[] = {
    {"", "Squeeze", 1, OX_OP_HALF, .infer = infer_squeeze, .run = run_squeeze},
    {"", "Unsqueeze", 1, OX_OP_HALF, .infer = infer_unsqueeze, .run = run_unsqueeze},
    {0}};
