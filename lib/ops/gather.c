/* Operators that pick elements: Gather, GatherElements, GatherND, Compress, ReverseSequence. */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/fast.h"
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
    infer_gather_values(c);
}

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
    for (size_t some; from < to; from += some) {
        const size_t k = from % g->n, left = g->n - k;
        some = left < to - from ? left : to - from;
        gather_blocks(g->out + from * g->block, g->in + from / g->n * g->row, g->index + k, some,
                      g->block);
    }
}

/* Tasks of so many blocks that are copied. */
static void spread_blocks(struct ox_env *env, size_t n, size_t block,
                          void (*task)(void *arg, size_t from, size_t to), void *arg)
{
    const size_t task_bytes = 1 << 15;
    const double ns = 1.5, ns_a_byte = 0.15;
    ox_fast_spread(env, n, task_bytes / (block + 1) + 1, ns + ns_a_byte * (double)block, task, arg);
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
    spread_blocks(r->env, outer * n, block, gather_task, &g);
    return ox_move_own_of(out, in, err);
}

/* ---- GatherElements ------------------------------------------------------------------------------------------------ */

static bool infer_index_list(struct ox_infer *c, size_t input, int64_t size, int64_t *out,
                             size_t *n)
{
    const int64_t *index;

    if (!ox_infer_ints(c, input, n, &index) || *n > OX_CARRY_VALUES)
        return false;
    for (size_t i = 0; i < *n; i++) {
        out[i] = index[i] < 0 ? index[i] + size : index[i];
        if (out[i] < 0 || out[i] >= size)
            return false;
    }
    return true;
}

static void infer_gather_elements(struct ox_infer *c)
{
    const struct ox_expr *const *index_dims, *values[OX_CARRY_VALUES];
    int64_t dims[OX_CARRY_RANK], index[OX_CARRY_VALUES], place[OX_CARRY_VALUES];
    struct ox_carry_value value;
    unsigned rank, index_rank, axis;
    size_t n;

    ox_infer_same_dtype(c, 0, 0);
    if (ox_infer_shape(c, 0, &rank, NULL) &&
        !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 0), rank, &axis))
        return;
    ox_infer_same_shape(c, 0, 1);
    if (!ox_carry_value(c, 0, &value) || !ox_infer_shape(c, 1, &index_rank, &index_dims) ||
        index_rank != value.rank || !ox_carry_static(index_rank, index_dims, dims) ||
        value.rank == 0 || !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 0), value.rank, &axis) ||
        !infer_index_list(c, 1, value.dims[axis], index, &n) || n == 0)
        return;
    for (unsigned i = 0; i < index_rank; i++) {
        if (i != axis && dims[i] > value.dims[i])
            return;
    }
    ox_move_places(value.rank, dims, value.dims, axis, index, place);
    for (size_t i = 0; i < n; i++)
        values[i] = value.values[place[i]];
    ox_infer_set_values(c, 0, n, values);
}

/* Element k from place index[k] of the axis, whose elements lie `pitch` bytes apart; that of the next k begins `step` further. */
struct pick {
    size_t size;
    int64_t extent, step, pitch;
};

#define PICK(size)                                                                                 \
    for (size_t k = 0; k < n; k++) {                                                               \
        int64_t at = index[k] + (index[k] < 0 ? extent : 0);                                       \
        if ((uint64_t)at >= (uint64_t)extent)                                                      \
            return k;                                                                              \
        memcpy(dst + k * (size), src + (int64_t)k * step + at * pitch, size);                      \
    }

/* How far it came: n, or the first index that is outside. */
static size_t pick_row(const struct pick *p, char *dst, const char *src, const int64_t *index,
                       size_t n)
{
    const int64_t extent = p->extent, step = p->step, pitch = p->pitch;

    switch (p->size) {
    case 1:
        PICK(1);
        break;
    case 2:
        PICK(2);
        break;
    case 4:
        PICK(4);
        break;
    case 8:
        PICK(8);
        break;
    default:
        PICK(16);
    }
    return n;
}

/* Rows of the output along its last axis. */
struct picking {
    struct pick pick;
    unsigned rank, axis;
    int64_t strides[OX_MOVE_RANK]; /* bytes of the data */
    const int64_t *dims, *index;   /* of the output */
    const char *src;
    char *dst;
    _Atomic size_t wrong; /* the first index that is outside; SIZE_MAX */
};

/* Where the data's row for a row of the output begins, which is at those places of the axes before. */
static const char *seek_picked(const struct picking *p, size_t row, int64_t *at)
{
    const char *src = p->src;
    for (unsigned k = p->rank - 1; k-- > 0;) {
        at[k] = (int64_t)(row % (size_t)p->dims[k]);
        row /= (size_t)p->dims[k];
        src += k == p->axis ? 0 : at[k] * p->strides[k];
    }
    return src;
}

static void pick_task(void *arg, size_t from, size_t to)
{
    struct picking *p = arg;
    const size_t last = p->rank - 1, row = (size_t)p->dims[last];
    int64_t at[OX_MOVE_RANK];
    const char *src = seek_picked(p, from, at);

    for (size_t i = from * row; i < to * row; i += row) {
        const size_t done = pick_row(&p->pick, p->dst + i * p->pick.size, src, p->index + i, row);
        if (done < row) {
            size_t first = atomic_load(&p->wrong);
            while (i + done < first && !atomic_compare_exchange_weak(&p->wrong, &first, i + done))
                continue;
            return;
        }
        for (size_t k = last; k-- > 0;) {
            src += k == p->axis ? 0 : p->strides[k];
            if (++at[k] < p->dims[k])
                break;
            src -= k == p->axis ? 0 : p->strides[k] * p->dims[k];
            at[k] = 0;
        }
    }
}

static enum ox_status pick_rows(struct ox_run *r, const struct ox_tensor *in, unsigned axis,
                                const struct ox_tensor *out, const int64_t *index,
                                struct ox_error *err)
{
    const size_t size = ox_dtype_size(in->dtype), last = in->rank - 1;
    struct picking p = {.rank = in->rank,
                        .axis = axis,
                        .dims = out->dims,
                        .index = index,
                        .src = in->data,
                        .dst = out->data};
    int64_t unused;

    ox_move_strides(in->rank, in->dims, p.strides);
    for (size_t k = 0; k < in->rank; k++)
        p.strides[k] *= (int64_t)size;
    p.pick = (struct pick){.size = size,
                           .extent = in->dims[axis],
                           .step = axis == last ? 0 : p.strides[last],
                           .pitch = p.strides[axis]};
    atomic_init(&p.wrong, SIZE_MAX);
    const size_t row = (size_t)out->dims[last];
    spread_blocks(r->env, out->n / row, row * (size + sizeof *index), pick_task, &p);
    const size_t wrong = atomic_load(&p.wrong);
    return wrong == SIZE_MAX
               ? OX_OK
               : ox_move_index(r, "indices", wrong, index[wrong], p.pick.extent, &unused, err);
}

static enum ox_status run_gather_elements(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *indices = ox_run_in(r, 1);
    const int64_t *index;
    struct ox_tensor *out;
    unsigned axis;
    size_t n;

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", 0), in->rank, &axis, err));
    if (indices->rank != in->rank)
        return ox_run_fail(r, err, OX_INPUT, "indices has rank %u, data has %u", indices->rank,
                           in->rank);
    for (unsigned i = 0; i < in->rank; i++) {
        if (i != axis && indices->dims[i] > in->dims[i])
            return ox_run_fail(r, err, OX_INPUT,
                               "dimension %u of indices is %" PRId64 ", of data %" PRId64, i,
                               indices->dims[i], in->dims[i]);
    }
    OX_TRY(ox_move_ints(r, 1, &index, &n, err));
    OX_TRY(ox_run_out(r, 0, in->dtype, indices->rank, indices->dims, &out, err));
    if (n == 0)
        return OX_OK;
    OX_TRY(pick_rows(r, in, axis, out, index, err));
    return ox_move_own(out, err);
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
        infer_index_list(c, 1, value.dims[0], list, &n)) {
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
    for (size_t i = 0; i < n_tuples; i++) {
        uint64_t at = 0; /* wraps only where the data is empty */
        int64_t one = 0;

        for (int64_t k = 0; k < nd.k; k++) {
            OX_TRY(ox_move_index(r, "indices", i * (size_t)nd.k + (size_t)k,
                                 index[i * (size_t)nd.k + (size_t)k], in->dims[nd.batch + k], &one,
                                 err));
            at += (uint64_t)one * (uint64_t)nd.strides[k];
        }
        /* A batch holds as many blocks as the k axes have places. */
        place[i] =
            (int64_t)(at + i / nd.tuples * (uint64_t)nd.strides[0] * (uint64_t)in->dims[nd.batch]);
    }
    OX_TRY(ox_run_out(r, 0, in->dtype, rank, dims, &out, err));
    if (out->n > 0)
        gather_blocks(out->data, in->data, place, n_tuples, nd.block * ox_dtype_size(in->dtype));
    return ox_move_own(out, err);
}

/* ---- Compress ------------------------------------------------------------------------------------------------------ */

static void infer_compress(struct ox_infer *c)
{
    const struct ox_expr *const *in, **out, *count, *values[OX_CARRY_VALUES];
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
        out = ox_infer_dims(c, rank);
        if (!out)
            return;
        memcpy(out, in, rank * sizeof(out[0]));
        out[axis] = count;
        ox_infer_set_shape(c, 0, rank, out);
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
    {"", "Gather", 1, OX_OP_HALF | OX_OP_ANY_ADDRESS, .infer = infer_gather, .run = run_gather},
    {"", "GatherElements", 11, OX_OP_HALF, .infer = infer_gather_elements,
     .run = run_gather_elements},
    {"", "GatherND", 11, OX_OP_HALF, .infer = infer_gather_nd, .run = run_gather_nd},
    {"", "Compress", 9, OX_OP_HALF, .infer = infer_compress, .run = run_compress},
    {"", "ReverseSequence", 10, OX_OP_HALF, .infer = infer_reverse_sequence,
     .run = run_reverse_sequence},
    {0}};
