/* Operators that rearrange or repeat elements: Transpose, DepthToSpace, SpaceToDepth, Expand. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"

/* ---- Transpose ----------------------------------------------------------------------------------------------------- */

static void transpose_plan(struct ox_move *m, unsigned rank, const int64_t *dims,
                           const unsigned *perm, int64_t *out_dims)
{
    int64_t from[OX_MOVE_RANK], to[OX_MOVE_RANK];

    for (unsigned i = 0; i < rank; i++)
        out_dims[i] = dims[perm[i]];
    ox_move_strides(rank, dims, from);
    ox_move_strides(rank, out_dims, to);
    m->rank = 0;
    for (unsigned i = 0; i < rank; i++)
        ox_move_axis(m, out_dims[i], to[i], from[perm[i]]);
}

static void infer_transpose(struct ox_infer *c)
{
    const struct ox_expr *const *in, **out, *values[OX_CARRY_VALUES];
    struct ox_carry_value value;
    bool seen[OX_MOVE_RANK] = {false};
    unsigned rank, perm[OX_MOVE_RANK];
    size_t n;
    const int64_t *given = ox_infer_ints_attr(c, "perm", &n);

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in)) {
        if (given && n <= OX_MOVE_RANK)
            ox_carry_rank_only(c, 0, (unsigned)n);
        return;
    }
    out = ox_infer_dims(c, rank);
    if (rank > OX_MOVE_RANK || (!out && rank > 0))
        return;
    if (given && n != rank) {
        ox_infer_conflict(c, "perm has %zu elements for an input of rank %u", n, rank);
        return;
    }
    for (unsigned i = 0; i < rank; i++) {
        int64_t axis = given ? given[i] : (int64_t)rank - 1 - i;

        if (axis < 0 || axis >= rank || seen[axis]) {
            ox_infer_conflict(c, "perm holds %" PRId64 " at %u: it is no permutation", axis, i);
            return;
        }
        seen[axis] = true;
        perm[i] = (unsigned)axis;
        out[i] = in[axis];
    }
    ox_infer_set_shape(c, 0, rank, out);
    if (ox_carry_value(c, 0, &value) && value.n > 0) {
        struct ox_move m;
        int64_t dims[OX_MOVE_RANK];

        transpose_plan(&m, value.rank, value.dims, perm, dims);
        ox_move_run(&m, sizeof(values[0]), values, value.values);
        ox_infer_set_values(c, 0, value.n, values);
    }
}

static enum ox_status run_transpose(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    unsigned perm[OX_MOVE_RANK];
    bool seen[OX_MOVE_RANK] = {false};
    int64_t dims[OX_MOVE_RANK];
    struct ox_move m;
    size_t n;
    const int64_t *given = ox_run_ints(r, "perm", &n);

    OX_TRY(ox_move_rank(r, in->rank, err));
    if (given && n != in->rank)
        return ox_run_fail(r, err, OX_INPUT, "perm has %zu elements for an input of rank %u", n,
                           in->rank);
    for (unsigned i = 0; i < in->rank; i++) {
        int64_t axis = given ? given[i] : (int64_t)in->rank - 1 - i;

        if (axis < 0 || axis >= in->rank || seen[axis])
            return ox_run_fail(r, err, OX_INPUT, "perm[%u] is %" PRId64 ": it is no permutation", i,
                               axis);
        seen[axis] = true;
        perm[i] = (unsigned)axis;
    }
    transpose_plan(&m, in->rank, in->dims, perm, dims);
    return ox_move_out(r, in, in->rank, dims, &m, err);
}

/* ---- DepthToSpace and SpaceToDepth ----------------------------------------------------------------------------------- */

/* The input seen as six axes, and which of them goes where. */
static void blocks_plan(struct ox_move *m, const int64_t dims[6], const unsigned perm[6])
{
    int64_t out[6];

    transpose_plan(m, 6, dims, perm, out);
}

static const struct ox_expr *exact_part(struct ox_infer *c, const struct ox_expr *dim, int64_t by,
                                        const char *what)
{
    int64_t value;

    if (ox_infer_is_num(dim, &value) && value % by != 0)
        ox_infer_conflict(c, "%s %" PRId64 " is no multiple of %" PRId64, what, value, by);
    return ox_infer_floordiv(c, dim, ox_infer_num(c, by));
}

static void infer_blocks(struct ox_infer *c, bool to_space)
{
    unsigned rank;
    const struct ox_expr *const *in;
    const struct ox_expr **out = ox_infer_dims(c, 4);
    int64_t b = ox_infer_int_attr(c, "blocksize", 0), square;

    ox_infer_same_dtype(c, 0, 0);
    if (!out)
        return;
    if (b <= 0 || OX_MUL_OVERFLOWS(b, b, &square)) {
        ox_infer_conflict(c, "blocksize is %" PRId64, b);
        return;
    }
    if (ox_infer_shape(c, 0, &rank, &in)) {
        if (rank != 4) {
            ox_infer_conflict(c, "the input has rank %u, not 4", rank);
            return;
        }
        out[0] = in[0];
        if (to_space) {
            out[1] = exact_part(c, in[1], square, "the depth");
            out[2] = ox_infer_mul(c, in[2], ox_infer_num(c, b));
            out[3] = ox_infer_mul(c, in[3], ox_infer_num(c, b));
        } else {
            out[1] = ox_infer_mul(c, in[1], ox_infer_num(c, square));
            out[2] = exact_part(c, in[2], b, "the height");
            out[3] = exact_part(c, in[3], b, "the width");
        }
    }
    ox_infer_set_shape(c, 0, 4, out);
}

static void infer_depth_to_space(struct ox_infer *c)
{
    infer_blocks(c, true);
}

static void infer_space_to_depth(struct ox_infer *c)
{
    infer_blocks(c, false);
}

/* Block size and order; dims are those of the input. */
static enum ox_status blocks_attrs(const struct ox_run *r, const struct ox_tensor *in, int64_t *b,
                                   int64_t *square, bool *depth_first, struct ox_error *err)
{
    const char *mode = ox_run_string(r, "mode");

    *depth_first = !mode || strcmp(mode, "DCR") == 0;
    if (mode && !*depth_first && strcmp(mode, "CRD") != 0)
        return ox_run_fail(r, err, OX_INPUT, "mode '%s' is neither DCR nor CRD", mode);
    if (in->rank != 4)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 4", in->rank);
    *b = ox_run_int(r, "blocksize", 0);
    if (*b <= 0 || OX_MUL_OVERFLOWS(*b, *b, square))
        return ox_run_fail(r, err, OX_INPUT, "blocksize is %" PRId64, *b);
    return OX_OK;
}

static enum ox_status run_depth_to_space(struct ox_run *r, struct ox_error *err)
{
    static const unsigned depth_perm[6] = {0, 3, 4, 1, 5, 2}, column_perm[6] = {0, 1, 4, 2, 5, 3};
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t b = 1, square = 1, dims[4];
    bool depth_first;
    struct ox_move m;

    OX_TRY(blocks_attrs(r, in, &b, &square, &depth_first, err));
    if (in->dims[1] % square != 0)
        return ox_run_fail(r, err, OX_INPUT, "the depth %" PRId64 " is no multiple of %" PRId64,
                           in->dims[1], square);
    dims[0] = in->dims[0];
    dims[1] = in->dims[1] / square;
    if (OX_MUL_OVERFLOWS(in->dims[2], b, &dims[2]) || OX_MUL_OVERFLOWS(in->dims[3], b, &dims[3]))
        return ox_run_fail(r, err, OX_INPUT, "blocksize %" PRId64 " is too large", b);
    if (depth_first)
        blocks_plan(&m, (int64_t[]){dims[0], b, b, dims[1], in->dims[2], in->dims[3]}, depth_perm);
    else
        blocks_plan(&m, (int64_t[]){dims[0], dims[1], b, b, in->dims[2], in->dims[3]}, column_perm);
    return ox_move_out(r, in, 4, dims, &m, err);
}

static enum ox_status run_space_to_depth(struct ox_run *r, struct ox_error *err)
{
    static const unsigned depth_perm[6] = {0, 3, 5, 1, 2, 4}, column_perm[6] = {0, 1, 3, 5, 2, 4};
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t b = 1, square = 1, dims[4];
    bool depth_first;
    struct ox_move m;

    OX_TRY(blocks_attrs(r, in, &b, &square, &depth_first, err));
    for (unsigned i = 2; i < 4; i++) {
        if (in->dims[i] % b != 0)
            return ox_run_fail(r, err, OX_INPUT, "the %s %" PRId64 " is no multiple of %" PRId64,
                               i == 2 ? "height" : "width", in->dims[i], b);
        dims[i] = in->dims[i] / b;
    }
    dims[0] = in->dims[0];
    if (OX_MUL_OVERFLOWS(in->dims[1], square, &dims[1]))
        return ox_run_fail(r, err, OX_INPUT, "blocksize %" PRId64 " is too large", b);
    blocks_plan(&m, (int64_t[]){dims[0], in->dims[1], dims[2], b, dims[3], b},
                depth_first ? depth_perm : column_perm);
    return ox_move_out(r, in, 4, dims, &m, err);
}

/* ---- Expand -------------------------------------------------------------------------------------------------------- */

/* Of a target whose length alone is known: what is not 1 in the input stays, as does what the target
 * does not reach. */
static void infer_expand_blind(struct ox_infer *c, unsigned rank, const struct ox_expr *const *in)
{
    const struct ox_expr **out;
    int64_t length, dim;

    if (!ox_infer_is_num(ox_infer_dim(c, 1, 0), &length) || length < 0 || length > OX_MOVE_RANK)
        return;
    unsigned out_rank = length > rank ? (unsigned)length : rank;

    out = ox_infer_dims(c, out_rank);
    if (!out && out_rank > 0)
        return;
    for (unsigned i = 0; i < rank; i++) {
        if (rank - i > length || (ox_infer_is_num(in[i], &dim) && dim != 1))
            out[out_rank - rank + i] = in[i];
    }
    ox_infer_set_shape(c, 0, out_rank, out);
}

static void infer_expand(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *shape, **out;
    struct ox_carry_value value;
    unsigned rank;
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    ox_rule_rank(c, 1, 1);
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    if (!ox_infer_values(c, 1, &n, &shape)) {
        ox_infer_unknown(c, 0, "the target shape is not known");
        infer_expand_blind(c, rank, in);
        return;
    }
    unsigned out_rank = n > rank ? (unsigned)n : rank;

    out = ox_infer_dims(c, out_rank);
    if (!out && out_rank > 0)
        return;
    for (unsigned i = 0; i < out_rank; i++) {
        unsigned back = out_rank - 1 - i;

        if (back >= rank)
            out[i] = shape[n - 1 - back];
        else if (back >= n)
            out[i] = in[rank - 1 - back];
        else
            out[i] = ox_infer_broadcast_dim(c, in[rank - 1 - back], shape[n - 1 - back]);
    }
    ox_infer_set_shape(c, 0, out_rank, out);
    int64_t dims[OX_CARRY_RANK];
    size_t count;

    if (out_rank <= OX_CARRY_RANK && ox_carry_static(out_rank, out, dims) &&
        ox_dims_count(out_rank, dims, &count) && count <= OX_CARRY_VALUES &&
        ox_carry_value(c, 0, &value) && value.n == 1) {
        const struct ox_expr *values[OX_CARRY_VALUES];

        ox_move_fill(values, count, sizeof(values[0]), &value.values[0]);
        ox_infer_set_values(c, 0, count, values);
    }
}

static enum ox_status run_expand(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dims[OX_MOVE_RANK], to[OX_MOVE_RANK], from[OX_MOVE_RANK];
    const int64_t *shape;
    struct ox_move m = {.rank = 0};
    size_t n;

    OX_TRY(ox_move_list(r, 1, &shape, &n, err));
    OX_TRY(ox_move_rank(r, n, err));
    OX_TRY(ox_move_rank(r, in->rank, err));
    unsigned rank = n > in->rank ? (unsigned)n : in->rank;

    ox_move_strides(in->rank, in->dims, from);
    for (unsigned i = 0; i < rank; i++) {
        unsigned back = rank - 1 - i;
        int64_t have = back < in->rank ? in->dims[in->rank - 1 - back] : 1;
        int64_t want = back < n ? shape[n - 1 - back] : 1;

        if (want < 0 || (have != want && have != 1 && want != 1))
            return ox_run_fail(r, err, OX_INPUT,
                               "shape[%zu] is %" PRId64 ", but the input has %" PRId64
                               " elements there",
                               n - 1 - back, want, have);
        dims[i] = have == 1 ? want : have;
    }
    ox_move_strides(rank, dims, to);
    for (unsigned i = 0; i < rank; i++) {
        unsigned back = rank - 1 - i;
        unsigned at = in->rank - 1 - back;

        ox_move_axis(&m, dims[i], to[i], back < in->rank && in->dims[at] != 1 ? from[at] : 0);
    }
    return ox_move_out(r, in, rank, dims, &m, err);
}

const struct ox_op ox_ops_transpose[] = {
    {"", "Transpose", 1, OX_OP_HALF, .infer = infer_transpose, .run = run_transpose},
    {"", "DepthToSpace", 1, OX_OP_HALF, .infer = infer_depth_to_space, .run = run_depth_to_space},
    {"", "SpaceToDepth", 1, OX_OP_HALF, .infer = infer_space_to_depth, .run = run_space_to_depth},
    {"", "Expand", 8, OX_OP_HALF, .infer = infer_expand, .run = run_expand},
    {0}};
