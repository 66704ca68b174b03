/* GatherElements: an element each from the place along an axis that an index names. */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/fast/fast.h"
#include "ops/rules.h"

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
        !ox_carry_index_list(c, 1, value.dims[axis], index, &n) || n == 0)
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

/* Several at a time, whether all of them are inside; the rest, and those, one by one. */
#define PICK(size, step, pitch)                                                                    \
    for (; k + ABREAST <= n; k += ABREAST) {                                                       \
        int64_t at[ABREAST], sign = 0;                                                             \
        for (size_t i = 0; i < ABREAST; i++) {                                                     \
            at[i] = index[k + i] + (index[k + i] < 0 ? extent : 0);                                \
            sign |= at[i] | (extent - 1 - at[i]);                                                  \
        }                                                                                          \
        if (sign < 0)                                                                              \
            break;                                                                                 \
        for (size_t i = 0; i < ABREAST; i++)                                                       \
            memcpy(dst + (k + i) * (size), src + (int64_t)(k + i) * (step) + at[i] * (pitch),      \
                   size);                                                                          \
    }                                                                                              \
    for (; k < n; k++) {                                                                           \
        const int64_t at = index[k] + (index[k] < 0 ? extent : 0);                                 \
        if ((uint64_t)at >= (uint64_t)extent)                                                      \
            return k;                                                                              \
        memcpy(dst + k * (size), src + (int64_t)k * (step) + at * (pitch), size);                  \
    }
/* Along the last axis, of neighbours. */
#define PICK_SIZE(size)                                                                            \
    case size:                                                                                     \
        if (p->step == 0 && p->pitch == (size)) {                                                  \
            PICK(size, 0, size)                                                                    \
        } else {                                                                                   \
            PICK(size, step, pitch)                                                                \
        }                                                                                          \
        break;

/* How far it came: n, or the first index that is outside. */
static size_t pick_row(const struct pick *p, char *dst, const char *src, const int64_t *index,
                       size_t n)
{
    enum { ABREAST = 8 };
    const int64_t extent = p->extent, step = p->step, pitch = p->pitch;
    size_t k = 0;

    switch (p->size) {
        PICK_SIZE(1)
        PICK_SIZE(2)
        PICK_SIZE(4)
        PICK_SIZE(8)
        PICK_SIZE(16)
    }
    return n;
}

enum { TOGETHER = 4096 }; /* elements of a task */

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
    ox_fast_spread(r->env, out->n / row, TOGETHER / row + 1, (double)row, pick_task, &p);
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

const struct ox_op ox_ops_gather_elements[] = {{"", "GatherElements", 11, OX_OP_HALF,
                                                .infer = infer_gather_elements,
                                                .run = run_gather_elements},
                                               {0}};
