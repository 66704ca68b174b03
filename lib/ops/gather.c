/* Operators that pick elements: Gather, GatherND, Compress, ReverseSequence. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/fast/fast.h"
#include "ops/rules.h"

/* n blocks of `size` bytes, block i from place index[i]. */
#define GATHER_BLOCKS(size)                                                                        \
    for (size_t i = 0; i < n; i++)                                                                 \
    memcpy(dst + i * (size), src + (size_t)index[i] * (size), size)

static void gather_blocks(char *dst, const char *src, const int64_t *index, size_t n, size_t size)
{
    switch (size) {
    case 1:
        GATHER_BLOCKS(1);
        break;
    case 2:
        GATHER_BLOCKS(2);
        break;
    case 4:
        GATHER_BLOCKS(4);
        break;
    case 8:
        GATHER_BLOCKS(8);
        break;
    case 16:
        GATHER_BLOCKS(16);
        break;
    default:
        GATHER_BLOCKS(size);
    }
}

/* Indices made non-negative, in scratch. */
static enum ox_status gather_indices(struct ox_run *r, size_t input, const char *name, int64_t size,
                                     const int64_t **out, size_t *n, struct ox_error *err)
{
    const int64_t *given;
    int64_t *index;

    OX_TRY(ox_move_ints(r, input, &given, n, err));
    index = ox_run_scratch(r, *n + 1, sizeof(*index), err);
    if (!index)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < *n; i++)
        OX_TRY(ox_move_index(r, name, i, given[i], size, &index[i], err));
    *out = index;
    return OX_OK;
}

/* ---- Gather -------------------------------------------------------------------------------------------------------- */

/* The value that is picked of a known one, along axis 0 of a vector. */
static void infer_gather_values(struct ox_infer *c)
{
    const struct ox_expr *values[OX_CARRY_VALUES];
    struct ox_carry_value value;
    const int64_t *index;
    size_t n;

    if (!ox_carry_value(c, 0, &value) || value.rank != 1 || !ox_infer_ints(c, 1, &n, &index) ||
        n > OX_CARRY_VALUES)
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t at = index[i] < 0 ? index[i] + (int64_t)value.n : index[i];

        if (at < 0 || at >= (int64_t)value.n) {
            ox_infer_conflict(c, "index %" PRId64 " is outside an axis of %zu elements", index[i],
                              value.n);
            return;
        }
        values[i] = value.values[at];
    }
    ox_infer_set_values(c, 0, n, values);
}

/* Constant indices that no run takes. */
static void check_indices(struct ox_infer *c, const struct ox_expr *dim)
{
    const int64_t *index;
    int64_t size;
    size_t n;

    if (!ox_infer_is_num(dim, &size) || !ox_infer_ints(c, 1, &n, &index))
        return;
    for (size_t i = 0; i < n; i++)
        if (index[i] < -size || index[i] >= size)
            ox_infer_refused(c);
}

static void infer_gather(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *index, **out;
    unsigned rank, index_rank, axis;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in) || !ox_infer_shape(c, 1, &index_rank, &index) ||
        !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 0), rank, &axis))
        return;
    unsigned out_rank = rank - 1 + index_rank;

    out = ox_infer_dims(c, out_rank);
    if (!out && out_rank > 0)
        return;
    for (unsigned i = 0; i < out_rank; i++)
        out[i] = i < axis                ? in[i]
                 : i < axis + index_rank ? index[i - axis]
                                         : in[i + 1 - index_rank];
    ox_infer_set_shape(c, 0, out_rank, out);
    check_indices(c, in[axis]);
    infer_gather_values(c);
}

enum { TASK_BYTES = 1 << 15 }; /* that a task copies */

/* Units are blocks of the output. */
struct gathering {
    const char *in;
    char *out;
    const int64_t *index;
    size_t n, block,
        row; /* blocks that are picked of a row of the input; bytes of one, and of that row */
};

static void gather_task(void *arg, size_t from, size_t to)
{
    const struct gathering *g = arg;
    const char *in = g->in + from / g->n * g->row;
    if (g->row == g->block && g->n == 1) { /* the only one of each row */
        memcpy(g->out + from * g->block, in, (to - from) * g->block);
        return;
    }
    for (size_t k = from % g->n, some; from < to; from += some, in += g->row, k = 0) {
        some = g->n - k < to - from ? g->n - k : to - from;
        gather_blocks(g->out + from * g->block, in, g->index + k, some, g->block);
    }
}

static void gather_all(struct ox_env *env, struct gathering *g, size_t outer)
{
    ox_fast_spread(env, outer * g->n, TASK_BYTES / (g->block + 1) + 1,
                   1.5 + 0.15 * (double)g->block, gather_task, g);
}

static enum ox_status run_gather(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *indices = ox_run_in(r, 1);
    int64_t dims[OX_MOVE_RANK];
    const int64_t *index;
    struct ox_tensor *out;
    size_t n, outer = 1, inner = 1;
    unsigned axis;

    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", 0), in->rank, &axis, err));
    OX_TRY(ox_move_rank(r, (uint64_t)in->rank - 1 + indices->rank, err));
    OX_TRY(gather_indices(r, 1, "indices", in->dims[axis], &index, &n, err));
    unsigned rank = 0;

    for (unsigned i = 0; i < in->rank; i++) {
        for (unsigned k = 0; i == axis && k < indices->rank; k++)
            dims[rank++] = indices->dims[k];
        if (i != axis)
            dims[rank++] = in->dims[i];
    }
    OX_TRY(ox_run_out(r, 0, in->dtype, rank, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    for (unsigned i = 0; i < in->rank; i++) {
        outer *= i < axis ? (size_t)in->dims[i] : 1;
        inner *= i > axis ? (size_t)in->dims[i] : 1;
    }
    const size_t block = inner * ox_dtype_size(in->dtype);
    struct gathering g = {.in = in->data,
                          .out = out->data,
                          .index = index,
                          .n = n,
                          .block = block,
                          .row = (size_t)in->dims[axis] * block};
    gather_all(r->env, &g, outer);
    return ox_move_own_of(out, in, err);
}

/* ---- GatherND ------------------------------------------------------------------------------------------------------ */

static void infer_gather_nd(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *index, **out, *values[OX_CARRY_VALUES];
    struct ox_carry_value value;
    unsigned rank, index_rank;
    int64_t k, batch = ox_infer_int_attr(c, "batch_dims", 0), list[OX_CARRY_VALUES];
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in) || !ox_infer_shape(c, 1, &index_rank, &index))
        return;
    if (index_rank == 0 || rank == 0 || batch < 0 || batch >= index_rank || batch >= rank) {
        ox_infer_conflict(c, "data of rank %u, indices of rank %u, batch_dims %" PRId64, rank,
                          index_rank, batch);
        return;
    }
    if (!ox_infer_is_num(index[index_rank - 1], &k)) {
        ox_infer_unknown(c, 0, "the last dimension of the indices is not known");
        return;
    }
    if (k < 1 || k > (int64_t)rank - batch) {
        ox_infer_conflict(c, "indices of %" PRId64 " elements for data of rank %u", k, rank);
        return;
    }
    unsigned tail = rank - (unsigned)batch - (unsigned)k, out_rank = index_rank - 1 + tail;

    out = ox_infer_dims(c, out_rank);
    if (!out && out_rank > 0)
        return;
    for (unsigned i = 0; i < out_rank; i++)
        out[i] = i < index_rank - 1 ? index[i] : in[rank - out_rank + i];
    for (int64_t i = 0; i < batch; i++)
        out[i] = ox_infer_equal(c, in[i], index[i], "batch dimensions");
    ox_infer_set_shape(c, 0, out_rank, out);
    if (ox_carry_value(c, 0, &value) && value.rank == 1 &&
        ox_carry_index_list(c, 1, value.dims[0], list, &n)) {
        for (size_t i = 0; i < n; i++)
            values[i] = value.values[list[i]];
        ox_infer_set_values(c, 0, n, values);
    }
}

/* Shapes of a GatherND: batches, tuples a batch, their length, and the block that each names. */
struct nd {
    unsigned batch;
    int64_t k;
    size_t batches, tuples, block;
    int64_t strides[OX_MOVE_RANK]; /* of the k axes, in blocks */
};

static enum ox_status nd_shapes(const struct ox_run *r, const struct ox_tensor *in,
                                const struct ox_tensor *indices, struct nd *nd,
                                struct ox_error *err)
{
    int64_t batch = ox_run_int(r, "batch_dims", 0);

    OX_TRY(ox_move_rank(r, in->rank, err));
    if (in->rank == 0 || indices->rank == 0 || batch < 0 || batch >= in->rank ||
        batch >= indices->rank)
        return ox_run_fail(r, err, OX_INPUT,
                           "data of rank %u, indices of rank %u, batch_dims %" PRId64, in->rank,
                           indices->rank, batch);
    nd->batch = (unsigned)batch;
    nd->k = indices->dims[indices->rank - 1];
    if (nd->k < 1 || nd->k > (int64_t)in->rank - batch)
        return ox_run_fail(r, err, OX_INPUT, "indices of %" PRId64 " elements for data of rank %u",
                           nd->k, in->rank);
    nd->batches = nd->block = 1;
    for (unsigned i = 0; i < nd->batch; i++) {
        if (in->dims[i] != indices->dims[i])
            return ox_run_fail(r, err, OX_INPUT,
                               "batch dimension %u is %" PRId64 " in data, %" PRId64 " in indices",
                               i, in->dims[i], indices->dims[i]);
        nd->batches *= (size_t)in->dims[i];
    }
    for (unsigned i = nd->batch + (unsigned)nd->k; i < in->rank; i++)
        nd->block *= (size_t)in->dims[i];
    nd->tuples = nd->batches > 0 ? indices->n / (size_t)nd->k / nd->batches : 0;
    ox_move_strides((unsigned)nd->k, in->dims + nd->batch, nd->strides);
    return OX_OK;
}

static enum ox_status run_gather_nd(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *indices = ox_run_in(r, 1);
    int64_t dims[OX_MOVE_RANK];
    const int64_t *index;
    struct ox_tensor *out;
    struct nd nd;
    size_t n;
    unsigned rank = 0;

    OX_TRY(nd_shapes(r, in, indices, &nd, err));
    OX_TRY(ox_move_rank(r, (uint64_t)indices->rank + in->rank, err));
    OX_TRY(ox_move_ints(r, 1, &index, &n, err));
    for (unsigned i = 0; i + 1 < indices->rank; i++)
        dims[rank++] = indices->dims[i];
    for (unsigned i = nd.batch + (unsigned)nd.k; i < in->rank; i++)
        dims[rank++] = in->dims[i];
    size_t n_tuples = nd.batches * nd.tuples;
    int64_t *place = ox_run_scratch(r, n_tuples + 1, sizeof(*place), err);

    if (!place)
        return OX_NO_MEMORY;
    OX_TRY(ox_move_tuples(r, index, 0, n_tuples, (size_t)nd.k, in->dims + nd.batch, nd.strides,
                          place, err));
    /* A batch holds as many blocks as the k axes have places. */
    for (size_t i = 0; nd.batches > 1 && i < n_tuples; i++)
        place[i] = (int64_t)((uint64_t)place[i] + i / nd.tuples * (uint64_t)nd.strides[0] *
                                                      (uint64_t)in->dims[nd.batch]);
    OX_TRY(ox_run_out(r, 0, in->dtype, rank, dims, &out, err));
    struct gathering g = {.in = in->data,
                          .out = out->data,
                          .index = place,
                          .n = n_tuples,
                          .block = nd.block * ox_dtype_size(in->dtype)};
    if (out->n > 0)
        gather_all(r->env, &g, 1);
    return ox_move_own(out, err);
}

/* ---- Compress ------------------------------------------------------------------------------------------------------ */

static void infer_compress(struct ox_infer *c)
{
    const struct ox_expr *const *in, *count, *values[OX_CARRY_VALUES];
    const struct ox_attr *attr = ox_infer_attr(c, "axis");
    struct ox_carry_value value;
    const int64_t *condition;
    unsigned rank, axis = 0;
    size_t n, kept = 0;
    bool known = ox_infer_ints(c, 1, &n, &condition);

    ox_infer_same_dtype(c, 0, 0);
    ox_rule_rank_least(c, 0, 1);
    for (size_t i = 0; known && i < n; i++)
        kept += condition[i] != 0;
    count = known ? ox_infer_num(c, (int64_t)kept) : ox_infer_data_dim(c, "count");
    if (!attr) {
        ox_infer_set_shape(c, 0, 1, &count);
    } else if (ox_infer_shape(c, 0, &rank, &in) && ox_infer_axis(c, attr->i, rank, &axis)) {
        ox_rule_other_axis(c, 0, rank, in, axis, count);
    }
    if (known && ox_carry_value(c, 0, &value) && (!attr || value.rank == 1) && n <= value.n) {
        kept = 0;
        for (size_t i = 0; i < n; i++) {
            if (condition[i])
                values[kept++] = value.values[i];
        }
        ox_infer_set_values(c, 0, kept, values);
    }
}

static enum ox_status run_compress(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *condition = ox_run_in(r, 1);
    const struct ox_attr *attr = ox_run_attr(r, "axis");
    const uint8_t *keep = condition->data;
    int64_t dims[OX_MOVE_RANK], length = (int64_t)in->n, kept = 0;
    size_t outer = 1, inner = 1;
    unsigned axis = 0;
    struct ox_tensor *out;

    OX_TRY(ox_move_rank(r, in->rank, err));
    memcpy(dims, in->dims, in->rank * sizeof(dims[0]));
    if (attr) {
        OX_TRY(ox_run_axis(r, attr->i, in->rank, &axis, err));
        length = in->dims[axis];
        for (unsigned i = 0; i < in->rank; i++) {
            outer *= i < axis ? (size_t)dims[i] : 1;
            inner *= i > axis ? (size_t)dims[i] : 1;
        }
    }
    if (condition->rank != 1 || condition->n > (size_t)length)
        return ox_run_fail(r, err, OX_INPUT, "a condition of rank %u and %zu elements for %" PRId64,
                           condition->rank, condition->n, length);
    int64_t *index = ox_run_scratch(r, condition->n + 1, sizeof(*index), err);

    if (!index)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < condition->n; i++) { /* no branch on what cannot be foreseen */
        index[kept] = (int64_t)i;
        kept += keep[i] != 0;
    }
    dims[axis] = kept;
    OX_TRY(ox_run_out(r, 0, in->dtype, attr ? in->rank : 1, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    size_t block = inner * ox_dtype_size(in->dtype);

    for (size_t k = 0; k < outer; k++)
        gather_blocks((char *)out->data + k * (size_t)kept * block,
                      (const char *)in->data + k * (size_t)length * block, index, (size_t)kept,
                      block);
    return ox_move_own(out, err);
}

/* ---- ReverseSequence ----------------------------------------------------------------------------------------------- */

static void infer_reverse_sequence(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
    ox_rule_rank_least(c, 0, 2);
    ox_rule_rank(c, 1, 1);
}

static enum ox_status run_reverse_sequence(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t batch = ox_run_int(r, "batch_axis", 1), time = ox_run_int(r, "time_axis", 0);
    const int64_t *lengths;
    struct ox_tensor *out;
    size_t n, block = ox_dtype_size(in->dtype);

    if (in->rank < 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, less than 2", in->rank);
    if (batch < 0 || batch > 1 || time != 1 - batch)
        return ox_run_fail(r, err, OX_INPUT,
                           "batch_axis %" PRId64 " and time_axis %" PRId64 " are not 0 and 1",
                           batch, time);
    OX_TRY(ox_move_list(r, 1, &lengths, &n, err));
    if (n != (size_t)in->dims[batch])
        return ox_run_fail(r, err, OX_INPUT, "%zu lengths for a batch of %" PRId64, n,
                           in->dims[batch]);
    for (size_t i = 0; i < n; i++) {
        if (lengths[i] < 0 || lengths[i] > in->dims[time])
            return ox_run_fail(r, err, OX_INPUT,
                               "sequence_lens[%zu] is %" PRId64 ", outside [0, %" PRId64 "]", i,
                               lengths[i], in->dims[time]);
    }
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, in->dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    for (unsigned i = 2; i < in->rank; i++)
        block *= (size_t)in->dims[i];
    for (int64_t i = 0; i < in->dims[0]; i++) {
        for (int64_t k = 0; k < in->dims[1]; k++) {
            int64_t length = lengths[batch == 0 ? i : k], t = batch == 0 ? k : i;
            int64_t from = t < length ? length - 1 - t : t;
            int64_t place = batch == 0 ? i * in->dims[1] + from : from * in->dims[1] + k;

            memcpy((char *)out->data + (size_t)(i * in->dims[1] + k) * block,
                   (const char *)in->data + (size_t)place * block, block);
        }
    }
    return ox_move_own(out, err);
}

const struct ox_op ox_ops_gather[] = {
    {"", "Gather", 1, OX_OP_HALF | OX_OP_ROWS, .infer = infer_gather, .run = run_gather},
    {"", "GatherND", 11, OX_OP_HALF, .infer = infer_gather_nd, .run = run_gather_nd},
    {"", "Compress", 9, OX_OP_HALF, .infer = infer_compress, .run = run_compress},
    {"", "ReverseSequence", 10, OX_OP_HALF, .infer = infer_reverse_sequence,
     .run = run_reverse_sequence},
    {0}};
