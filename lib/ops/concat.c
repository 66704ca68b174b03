/* Concat: tensors one behind another along an axis. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/parts.h"

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

const struct ox_op ox_ops_concat[] = {
    {"", "Concat", 1, OX_OP_HALF, .infer = infer_concat, .run = run_concat}, {0}};
