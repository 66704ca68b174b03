/* Operators that write elements into a copy: Scatter, ScatterElements, ScatterND, TensorScatter. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/kernel_tables.h"
#include "ops/real.h"
#include "ops/rules.h"

#define STAMP "ops/scatter_tmpl.h"
#include "common/stamp_floats.h"
#define STAMP "ops/scatter_tmpl.h"
#include "common/stamp_integers.h"

enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN, N_REDUCTIONS };

static const char *const reduction_names[N_REDUCTIONS] = {"none", "add", "mul", "max", "min"};

/* Of truth values: or is sum and maximum, and is product and minimum. Complex numbers have no order; their sums are those of blocks
 * of twice as many reals. */
static void (*const merges[N_REDUCTIONS][OX_N_DTYPES])(void *out, const void *updates,
                                                       const int64_t *place, size_t n,
                                                       size_t block) = {
    [REDUCE_ADD] = {OX_KERNELS_NUMBER(scatter_add), [OX_BOOL] = scatter_max_u8,
                    [OX_COMPLEX64] = scatter_add_f32, [OX_COMPLEX128] = scatter_add_f64},
    [REDUCE_MUL] =
        {OX_KERNELS_NUMBER(scatter_mul), [OX_BOOL] = scatter_min_u8,
         [OX_COMPLEX64] = scatter_mul_pairs_f32, [OX_COMPLEX128] = scatter_mul_pairs_f64},
    [REDUCE_MAX] = {OX_KERNELS_NUMBER(scatter_max), [OX_BOOL] = scatter_max_u8},
    [REDUCE_MIN] = {OX_KERNELS_NUMBER(scatter_min), [OX_BOOL] = scatter_min_u8},
};

/* 'max' and 'min' came with opset 18; files that name them at 16 mean the same. */
static enum ox_status scatter_reduction(const struct ox_run *r, enum reduction *out,
                                        struct ox_error *err)
{
    const char *name = r->opset >= 16 ? ox_run_string(r, "reduction") : NULL;

    *out = REDUCE_NONE;
    if (!name)
        return OX_OK;
    for (int i = 0; i < N_REDUCTIONS; i++) {
        if (strcmp(name, reduction_names[i]) == 0) {
            *out = (enum reduction)i;
            return OX_OK;
        }
    }
    return ox_run_fail(r, err, OX_INPUT, "reduction '%s' is none of none, add, mul, max, min",
                       name);
}

/* Blocks of a size that recurs are moved without a call. */
static void write_blocks(char *out, const char *from, const int64_t *place, size_t n, size_t bytes)
{
    if (bytes == 1) {
        for (size_t i = 0; i < n; i++)
            out[place[i]] = from[i];
    } else if (bytes == 2) {
        for (size_t i = 0; i < n; i++)
            memcpy(out + (size_t)place[i] * 2, from + i * 2, 2);
    } else if (bytes == 4) {
        for (size_t i = 0; i < n; i++)
            memcpy(out + (size_t)place[i] * 4, from + i * 4, 4);
    } else if (bytes == 8) {
        for (size_t i = 0; i < n; i++)
            memcpy(out + (size_t)place[i] * 8, from + i * 8, 8);
    } else {
        for (size_t i = 0; i < n && bytes > 0; i++)
            memcpy(out + (size_t)place[i] * bytes, from + i * bytes, bytes);
    }
}

/* Floats that are merged in float32 and rounded once at the end. */
static enum ox_status merge_wide(struct ox_run *r, const struct ox_tensor *in,
                                 const struct ox_tensor *updates, const int64_t *place, size_t n,
                                 size_t block, enum reduction reduction, struct ox_tensor *out,
                                 struct ox_error *err)
{
    float *there = ox_run_work(r, in->n + 1, sizeof *there, err);
    float *new = ox_run_work(r, updates->n + 1, sizeof *new, err);
    if (!there || !new)
        return err->status;
    ox_real_convert(OX_FLOAT32, there, in->dtype, in->data, in->n);
    ox_real_convert(OX_FLOAT32, new, updates->dtype, updates->data, updates->n);
    merges[reduction][OX_FLOAT32](there, new, place, n, block);
    ox_real_convert(out->dtype, out->data, OX_FLOAT32, there, in->n);
    return OX_OK;
}

static void write_or_merge(const struct ox_tensor *out, const void *updates, const int64_t *place,
                           size_t n, size_t block, enum reduction reduction)
{
    const bool pairs = out->dtype == OX_COMPLEX64 || out->dtype == OX_COMPLEX128;
    if (reduction == REDUCE_NONE)
        write_blocks(out->data, updates, place, n, block * ox_dtype_size(out->dtype));
    else
        merges[reduction][out->dtype](out->data, updates, place, n, block << pairs);
}

/* Whether elements of a type are merged as floats. */
static bool merges_wide(enum ox_dtype dtype, enum reduction reduction)
{
    return reduction != REDUCE_NONE && !merges[reduction][dtype] && ox_dtype_is_float(dtype);
}

/* Output 0, a copy of `in` that updates go into. OX_INPUT: elements of its type are not merged so. */
static enum ox_status copy_out(struct ox_run *r, const struct ox_tensor *in,
                               enum reduction reduction, struct ox_tensor **out,
                               struct ox_error *err)
{
    if (reduction != REDUCE_NONE && !merges[reduction][in->dtype] && !ox_dtype_is_float(in->dtype))
        return ox_run_fail(r, err, OX_INPUT, "%s has no reduction '%s'", ox_dtype_name(in->dtype),
                           reduction_names[reduction]);
    OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, in->dims, out, err));
    if (in->n > 0 && !merges_wide(in->dtype, reduction))
        memcpy((*out)->data, in->data, in->n * ox_dtype_size(in->dtype));
    return OX_OK;
}

enum { SOME = 512 }; /* blocks whose places are found at a time */

/* Output 0: a copy of `in` with the n blocks of `updates` written or merged at their places. Updates are applied in order, so
 * that the last one of a place stays. */
static enum ox_status scatter_out(struct ox_run *r, const struct ox_tensor *in,
                                  const struct ox_tensor *updates, const int64_t *place, size_t n,
                                  size_t block, enum reduction reduction, struct ox_error *err)
{
    struct ox_tensor *out;

    OX_TRY(copy_out(r, in, reduction, &out, err));
    if (out->n == 0)
        return OX_OK;
    if (merges_wide(in->dtype, reduction))
        return merge_wide(r, in, updates, place, n, block, reduction, out, err);
    write_or_merge(out, updates->data, place, n, block, reduction);
    return ox_move_own(out, err);
}

/* Output 0's values: those of a list in which n elements are set anew. */
static void carry_updates(struct ox_infer *c, const struct ox_carry_value *list, size_t n,
                          const int64_t *index, const struct ox_expr *const *updates)
{
    const struct ox_expr *values[OX_CARRY_VALUES];

    memcpy(values, list->values, list->n * sizeof(values[0]));
    for (size_t i = 0; i < n; i++) {
        int64_t at = index[i] < 0 ? index[i] + (int64_t)list->n : index[i];

        if (at < 0 || at >= (int64_t)list->n)
            return;
        values[at] = updates[i];
    }
    ox_infer_set_values(c, 0, list->n, values);
}

/* ---- Scatter and ScatterElements ------------------------------------------------------------------------------------ */

static void infer_scatter_elements(struct ox_infer *c)
{
    const struct ox_expr *const *updates;
    const char *reduction = ox_infer_string_attr(c, "reduction");
    struct ox_carry_value value;
    const int64_t *index;
    unsigned rank, axis;
    size_t n, n_updates;

    ox_infer_same(c, 0, 0);
    if (ox_infer_shape(c, 0, &rank, NULL) &&
        !ox_infer_axis(c, ox_infer_int_attr(c, "axis", 0), rank, &axis))
        return;
    if ((reduction && strcmp(reduction, "none") != 0) || !ox_carry_value(c, 0, &value) ||
        value.rank != 1 || !ox_infer_ints(c, 1, &n, &index) ||
        !ox_infer_values(c, 2, &n_updates, &updates) || n != n_updates)
        return;
    carry_updates(c, &value, n, index, updates);
}

static enum ox_status element_shapes(const struct ox_run *r, const struct ox_tensor *in,
                                     const struct ox_tensor *indices,
                                     const struct ox_tensor *updates, unsigned axis,
                                     struct ox_error *err)
{
    if (indices->rank != in->rank || updates->rank != in->rank)
        return ox_run_fail(r, err, OX_INPUT, "data has rank %u, indices %u, updates %u", in->rank,
                           indices->rank, updates->rank);
    for (unsigned i = 0; i < in->rank; i++) {
        if (updates->dims[i] != indices->dims[i])
            return ox_run_fail(r, err, OX_INPUT,
                               "dimension %u of updates is %" PRId64 ", of indices %" PRId64, i,
                               updates->dims[i], indices->dims[i]);
        if (i != axis && indices->dims[i] > in->dims[i])
            return ox_run_fail(r, err, OX_INPUT,
                               "dimension %u of indices is %" PRId64 ", of data %" PRId64, i,
                               indices->dims[i], in->dims[i]);
    }
    return OX_OK;
}

/* How many elements, those past the axis, move as one block: all where each of their rows has one index, as where Expand made them
 * (sums over the edges of a graph are exported so), or 1. */
static size_t element_block(const struct ox_tensor *in, const struct ox_tensor *indices,
                            unsigned axis, const int64_t *index, size_t n)
{
    size_t block = 1;

    for (unsigned i = axis + 1; i < in->rank; i++) {
        if (indices->dims[i] != in->dims[i])
            return 1;
        block *= (size_t)in->dims[i];
    }
    for (size_t i = 0; block > 1 && i < n; i += block)
        if (memcmp(index + i, index + i + 1, (block - 1) * sizeof(*index)) != 0)
            return 1;
    return block;
}

/* Goes over the places of blocks in the order of their indices. */
struct walk {
    struct ox_run *r;
    unsigned rank, axis;
    size_t block, n;             /* elements of a block, of which one index is read; blocks */
    const int64_t *index, *dims; /* of the indices, of whose axes those past the block's are none */
    int64_t extent;              /* of the data's axis */
    int64_t strides[OX_MOVE_RANK];  /* of the data, in blocks */
    int64_t at[OX_MOVE_RANK], base; /* the next row, and where it begins beside the axis */
    size_t done, column;            /* blocks, and those of the row */
};

/* n blocks of one row: those neighbours that are `step` apart beside the axis, whose places are `pitch` apart. */
static bool find_of_row(const struct walk *w, size_t n, int64_t step, int64_t pitch, int64_t *place)
{
    const int64_t *index = w->index + w->done * w->block, extent = w->extent;
    const int64_t base = w->base + (int64_t)w->column * step;
    bool outside = false;

    for (size_t k = 0; k < n; k++) {
        const int64_t one = index[k * w->block], at = one + (one < 0 ? extent : 0);

        outside |= (uint64_t)at >= (uint64_t)extent;
        place[k] = (int64_t)((uint64_t)base + k * (uint64_t)step + (uint64_t)at * (uint64_t)pitch);
    }
    return !outside;
}

static void next_row(struct walk *w)
{
    for (unsigned k = w->rank - 1; k-- > 0;) {
        w->base += k == w->axis ? 0 : w->strides[k];
        if (++w->at[k] < w->dims[k])
            return;
        w->base -= k == w->axis ? 0 : w->strides[k] * w->dims[k];
        w->at[k] = 0;
    }
}

/* The places of the next n blocks. OX_INPUT: an index is outside. */
static enum ox_status next_places(struct walk *w, size_t n, int64_t *place, struct ox_error *err)
{
    const unsigned last = w->rank - 1;
    const size_t row = (size_t)w->dims[last], first = w->done;
    bool inside = true;

    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < row - w->column ? n - i : row - w->column;
        inside &= w->axis == last ? find_of_row(w, some, 0, 1, place + i)
                                  : find_of_row(w, some, 1, w->strides[w->axis], place + i);
        w->done += some;
        w->column += some;
        if (w->column == row) {
            w->column = 0;
            next_row(w);
        }
    }
    for (size_t i = first * w->block; !inside && i < w->done * w->block; i += w->block)
        OX_TRY(ox_move_index(w->r, "indices", i, w->index[i], w->extent, place, err));
    return OX_OK;
}

/* Output 0: a copy of `in` with the blocks of `updates` written or merged at their places, which are found for a few at a time. */
static enum ox_status write_walk(struct walk *w, const struct ox_tensor *in,
                                 const struct ox_tensor *updates, enum reduction reduction,
                                 struct ox_error *err)
{
    int64_t place[SOME];
    struct ox_tensor *out;

    OX_TRY(copy_out(w->r, in, reduction, &out, err));
    const size_t size = w->block * ox_dtype_size(in->dtype);

    for (size_t i = 0, some; i < w->n; i += some) {
        some = w->n - i < SOME ? w->n - i : SOME;
        OX_TRY(next_places(w, some, place, err));
        write_or_merge(out, (const char *)updates->data + i * size, place, some, w->block,
                       reduction);
    }
    return ox_move_own(out, err);
}

static enum ox_status merge_walk(struct walk *w, const struct ox_tensor *in,
                                 const struct ox_tensor *updates, enum reduction reduction,
                                 struct ox_error *err)
{
    int64_t *place = ox_run_scratch(w->r, w->n + 1, sizeof(*place), err);

    if (!place)
        return OX_NO_MEMORY;
    OX_TRY(next_places(w, w->n, place, err));
    return scatter_out(w->r, in, updates, place, w->n, w->block, reduction, err);
}

static enum ox_status run_scatter_elements(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *indices = ox_run_in(r, 1),
                           *updates = ox_run_in(r, 2);
    enum reduction reduction;
    const int64_t *index;
    const unsigned rank = in->rank;
    unsigned axis;
    size_t n;

    OX_TRY(scatter_reduction(r, &reduction, err));
    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", 0), in->rank, &axis, err));
    OX_TRY(element_shapes(r, in, indices, updates, axis, err));
    OX_TRY(ox_move_ints(r, 1, &index, &n, err));
    const size_t block = element_block(in, indices, axis, index, n);
    struct walk w = {.r = r,
                     .rank = block > 1 ? axis + 1 : rank,
                     .axis = axis,
                     .block = block,
                     .n = block ? n / block : 0,
                     .index = index,
                     .dims = indices->dims,
                     .extent = in->dims[axis]};

    ox_move_strides(w.rank, in->dims, w.strides);
    return merges_wide(in->dtype, reduction) ? merge_walk(&w, in, updates, reduction, err)
                                             : write_walk(&w, in, updates, reduction, err);
}

/* ---- ScatterND ------------------------------------------------------------------------------------------------------ */

static void infer_scatter_nd(struct ox_infer *c)
{
    const struct ox_expr *const *updates, *const *dims;
    const char *reduction = ox_infer_string_attr(c, "reduction");
    struct ox_carry_value value;
    const int64_t *index;
    unsigned rank;
    int64_t k;
    size_t n, n_updates;

    ox_infer_same(c, 0, 0);
    if ((reduction && strcmp(reduction, "none") != 0) || !ox_carry_value(c, 0, &value) ||
        value.rank != 1 || !ox_infer_shape(c, 1, &rank, &dims) || rank == 0 ||
        !ox_infer_is_num(dims[rank - 1], &k) || k != 1 || !ox_infer_ints(c, 1, &n, &index) ||
        !ox_infer_values(c, 2, &n_updates, &updates) || n != n_updates)
        return;
    carry_updates(c, &value, n, index, updates);
}

static enum ox_status nd_check(const struct ox_run *r, const struct ox_tensor *in,
                               const struct ox_tensor *indices, const struct ox_tensor *updates,
                               int64_t *k, struct ox_error *err)
{
    OX_TRY(ox_move_rank(r, in->rank, err));
    if (in->rank == 0 || indices->rank == 0)
        return ox_run_fail(r, err, OX_INPUT, "data has rank %u, indices %u", in->rank,
                           indices->rank);
    *k = indices->dims[indices->rank - 1];
    if (*k < 0 || *k > (int64_t)in->rank)
        return ox_run_fail(r, err, OX_INPUT, "indices of %" PRId64 " elements for data of rank %u",
                           *k, in->rank);
    unsigned tail = in->rank - (unsigned)*k;

    if (updates->rank != indices->rank - 1 + tail)
        return ox_run_fail(r, err, OX_INPUT, "updates has rank %u, not %u", updates->rank,
                           indices->rank - 1 + tail);
    for (unsigned i = 0; i < updates->rank; i++) {
        int64_t want =
            i < indices->rank - 1 ? indices->dims[i] : in->dims[i + in->rank - updates->rank];

        if (updates->dims[i] != want)
            return ox_run_fail(r, err, OX_INPUT,
                               "dimension %u of updates is %" PRId64 ", not %" PRId64, i,
                               updates->dims[i], want);
    }
    return OX_OK;
}

/* Tuples of k indices, each of which names a block. */
struct tuples {
    const int64_t *index;
    size_t n, k;
    const int64_t *strides;
};

/* Output 0: a copy of `in` with the blocks of `updates` written at their places, which are found for a few at a time. */
static enum ox_status write_tuples(struct ox_run *r, const struct ox_tensor *in,
                                   const struct ox_tensor *updates, const struct tuples *t,
                                   size_t block, struct ox_error *err)
{
    const size_t size = block * ox_dtype_size(in->dtype);
    int64_t place[SOME];
    struct ox_tensor *out;

    OX_TRY(copy_out(r, in, REDUCE_NONE, &out, err));
    for (size_t i = 0; i < t->n; i += SOME) {
        const size_t some = t->n - i < SOME ? t->n - i : SOME;

        OX_TRY(ox_move_tuples(r, t->index, i, some, t->k, in->dims, t->strides, place, err));
        if (out->n > 0)
            write_blocks(out->data, (const char *)updates->data + i * size, place, some, size);
    }
    return ox_move_own(out, err);
}

static enum ox_status run_scatter_nd(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *indices = ox_run_in(r, 1),
                           *updates = ox_run_in(r, 2);
    int64_t strides[OX_MOVE_RANK], k = 0;
    enum reduction reduction;
    const int64_t *index;
    size_t n, n_tuples = 1, block = 1;

    OX_TRY(scatter_reduction(r, &reduction, err));
    OX_TRY(nd_check(r, in, indices, updates, &k, err));
    OX_TRY(ox_move_ints(r, 1, &index, &n, err));
    ox_move_strides((unsigned)k, in->dims, strides);
    for (unsigned i = (unsigned)k; i < in->rank; i++)
        block *= (size_t)in->dims[i];
    if (k == 0) {
        /* Tuples of no elements: each names the whole. */
        if (!ox_dims_count(indices->rank - 1, indices->dims, &n_tuples))
            return ox_run_fail(r, err, OX_INPUT, "too many indices");
        if (in->n == 0)
            n_tuples = 0;
    } else {
        n_tuples = n / (size_t)k;
    }
    if (reduction == REDUCE_NONE)
        return write_tuples(r, in, updates, &(struct tuples){index, n_tuples, (size_t)k, strides},
                            block, err);
    int64_t *place = ox_run_scratch(r, n_tuples + 1, sizeof(*place), err);

    if (!place)
        return OX_NO_MEMORY;
    OX_TRY(ox_move_tuples(r, index, 0, n_tuples, (size_t)k, in->dims, strides, place, err));
    return scatter_out(r, in, updates, place, n_tuples, block, reduction, err);
}

/* ---- TensorScatter -------------------------------------------------------------------------------------------------- */

static void infer_tensor_scatter(struct ox_infer *c)
{
    unsigned rank, axis;

    ox_infer_same(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, NULL) || !ox_rule_rank(c, 1, rank) ||
        !ox_infer_axis(c, ox_infer_int_attr(c, "axis", -2), rank, &axis))
        return;
    if (axis == 0)
        ox_infer_conflict(c, "axis 0 is the batch's");
    for (unsigned i = 0; i < rank; i++)
        if (i != axis)
            ox_infer_equal(c, ox_infer_dim(c, 0, i), ox_infer_dim(c, 1, i), "cache and update");
    if (ox_rule_rank(c, 2, 1))
        ox_infer_equal(c, ox_infer_dim(c, 0, 0), ox_infer_dim(c, 2, 0), "batch and write_indices");
}

static enum ox_status cache_shapes(const struct ox_run *r, const struct ox_tensor *cache,
                                   const struct ox_tensor *update, unsigned axis,
                                   struct ox_error *err)
{
    if (axis == 0 || update->rank != cache->rank)
        return ox_run_fail(r, err, OX_INPUT,
                           "axis %u of a cache of rank %u and an update of rank %u", axis,
                           cache->rank, update->rank);
    for (unsigned i = 0; i < cache->rank; i++) {
        if (i == axis ? update->dims[i] > cache->dims[i] : update->dims[i] != cache->dims[i])
            return ox_run_fail(r, err, OX_INPUT,
                               "dimension %u of the update is %" PRId64 ", of the cache %" PRId64,
                               i, update->dims[i], cache->dims[i]);
    }
    return OX_OK;
}

static enum ox_status run_tensor_scatter(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *cache = ox_run_in(r, 0), *update = ox_run_in(r, 1);
    const char *mode = ox_run_string(r, "mode");
    bool circular = mode && strcmp(mode, "circular") == 0;
    const int64_t *starts;
    size_t n, block = 1;
    unsigned axis;

    if (mode && !circular && strcmp(mode, "linear") != 0)
        return ox_run_fail(r, err, OX_INPUT, "mode '%s' is neither linear nor circular", mode);
    OX_TRY(ox_run_axis(r, ox_run_int(r, "axis", -2), cache->rank, &axis, err));
    OX_TRY(cache_shapes(r, cache, update, axis, err));
    OX_TRY(ox_move_list(r, 2, &starts, &n, err));
    if (starts && n != (size_t)cache->dims[0])
        return ox_run_fail(r, err, OX_INPUT, "%zu write_indices for a batch of %" PRId64, n,
                           cache->dims[0]);
    int64_t length = update->dims[axis], room = cache->dims[axis];

    for (size_t i = 0; i < n; i++) {
        if (starts[i] < 0 || (!circular && starts[i] > room - length))
            return ox_run_fail(r, err, OX_INPUT,
                               "write_indices[%zu] is %" PRId64 " for %" PRId64
                               " elements in %" PRId64,
                               i, starts[i], length, room);
    }
    for (unsigned i = axis + 1; i < cache->rank; i++)
        block *= (size_t)cache->dims[i];
    size_t rows = update->n == 0 ? 0 : update->n / block;
    int64_t *place = ox_run_scratch(r, rows + 1, sizeof(*place), err);

    if (!place)
        return OX_NO_MEMORY;
    size_t a_batch = rows == 0 ? 1 : rows / (size_t)cache->dims[0];

    for (size_t i = 0; i < rows; i++) {
        uint64_t at = (starts ? (uint64_t)starts[i / a_batch] : 0) + i % (size_t)length;

        place[i] = (int64_t)(i / (size_t)length * (size_t)room + (size_t)(at % (uint64_t)room));
    }
    return scatter_out(r, cache, update, place, rows, block, REDUCE_NONE, err);
}

const struct ox_op ox_ops_scatter[] = {
    {"", "Scatter", 9, OX_OP_HALF, .infer = infer_scatter_elements, .run = run_scatter_elements},
    {"", "ScatterElements", 11, OX_OP_HALF, .infer = infer_scatter_elements,
     .run = run_scatter_elements},
    {"", "ScatterElements", 16, OX_OP_HALF, .infer = infer_scatter_elements,
     .run = run_scatter_elements},
    {"", "ScatterND", 11, OX_OP_HALF, .infer = infer_scatter_nd, .run = run_scatter_nd},
    {"", "ScatterND", 16, OX_OP_HALF, .infer = infer_scatter_nd, .run = run_scatter_nd},
    {"", "TensorScatter", 24, OX_OP_HALF, .infer = infer_tensor_scatter, .run = run_tensor_scatter},
    {0}};
