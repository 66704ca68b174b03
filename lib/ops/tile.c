/* Tile: a tensor repeated along its axes. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/fast/fast.h"
#include "ops/parts.h"
#include "ops/rules.h"

static void tile_plan(struct ox_move *m, unsigned rank, const int64_t *dims, const int64_t *repeats,
                      const int64_t *out)
{
    int64_t to[OX_MOVE_RANK], from[OX_MOVE_RANK];

    ox_move_strides(rank, dims, from);
    ox_move_strides(rank, out, to);
    m->rank = 0;
    for (unsigned i = 0; i < rank; i++) {
        /* Wraps only where another axis is empty and nothing is moved. */
        ox_move_axis(m, repeats[i], (int64_t)((uint64_t)dims[i] * (uint64_t)to[i]), 0);
        ox_move_axis(m, dims[i], to[i], from[i]);
    }
}

static void infer_tile(struct ox_infer *c)
{
    const struct ox_expr *const *in, *const *repeats, **out;
    struct ox_carry_value value;
    const int64_t *numbers;
    unsigned rank;
    size_t n, count;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in)) {
        int64_t length;

        if (ox_infer_is_num(ox_infer_dim(c, 1, 0), &length) && length >= 0 &&
            length <= OX_MOVE_RANK)
            ox_carry_rank_only(c, 0, (unsigned)length);
        return;
    }
    out = ox_infer_dims(c, rank);
    if (!out && rank > 0)
        return;
    if (!ox_infer_values(c, 1, &n, &repeats)) {
        ox_infer_unknown(c, 0, "the repeats are not known");
        ox_infer_set_shape(c, 0, rank, out);
        return;
    }
    if (n != rank) {
        ox_infer_conflict(c, "%zu repeats for an input of rank %u", n, rank);
        return;
    }
    for (unsigned i = 0; i < rank; i++)
        out[i] = ox_infer_mul(c, in[i], repeats[i]);
    ox_infer_set_shape(c, 0, rank, out);
    int64_t dims[OX_CARRY_RANK];

    if (rank <= OX_CARRY_RANK && ox_infer_ints(c, 1, &n, &numbers) &&
        ox_carry_value(c, 0, &value) && ox_carry_static(rank, out, dims) &&
        ox_dims_count(rank, dims, &count) && count <= OX_CARRY_VALUES) {
        const struct ox_expr *values[OX_CARRY_VALUES];
        struct ox_move m;

        tile_plan(&m, rank, value.dims, numbers, dims);
        if (count > 0)
            ox_move_run(&m, sizeof(values[0]), values, value.values);
        ox_infer_set_values(c, 0, count, values);
    }
}

/* Short pieces: what was written of an axis is copied behind itself, twice as much each time. */
struct tiling {
    const int64_t *dims, *repeats;
    unsigned last;  /* axis that is repeated */
    size_t unit;    /* bytes of all from it on */
    const char *at; /* of the input */
};

static char *repeat(char *from, size_t bytes, int64_t times)
{
    const size_t all = bytes * (size_t)times;
    for (size_t have = bytes; have < all;) {
        const size_t part = have < all - have ? have : all - have;
        memcpy(from + have, from, part);
        have += part;
    }
    return from + all;
}

enum { FEW = 8 }; /* copies that are made one by one */

static char *tile_axis(struct tiling *t, unsigned axis, char *to)
{
    char *begin = to;
    if (axis == t->last) {
        const char *unit = t->at;
        const size_t times = (size_t)t->repeats[axis];
        t->at += t->unit;
        if (times <= FEW) {
            ox_parts_copy_rows(times, unit, 0, to, t->unit, t->unit);
            return to + times * t->unit;
        }
        memcpy(to, unit, t->unit);
        return repeat(to, t->unit, t->repeats[axis]);
    }
    for (int64_t i = 0; i < t->dims[axis]; i++)
        to = tile_axis(t, axis + 1, to);
    return repeat(begin, (size_t)(to - begin), t->repeats[axis]);
}

/* False: the pieces are not short. */
static bool begin_tiling(const struct ox_tensor *in, const int64_t *repeats, struct tiling *t)
{
    enum { SHORT = 128 };
    *t = (struct tiling){in->dims, repeats, in->rank, ox_dtype_size(in->dtype), in->data};
    while (t->last > 0 && t->unit <= SHORT) {
        t->unit *= (size_t)in->dims[--t->last];
        if (repeats[t->last] != 1)
            return t->unit <= SHORT;
    }
    return false;
}

struct tile_rows {
    const struct tiling *tiling;
    size_t in_row, out_row; /* bytes of an element of the first axis */
    char *out;
};

static void tile_some(void *arg, size_t from, size_t to)
{
    const struct tile_rows *rows = arg;
    struct tiling own = *rows->tiling;
    own.at += from * rows->in_row;
    for (char *out = rows->out + from * rows->out_row; from < to; from++)
        out = tile_axis(&own, 1, out);
}

/* On the environment's threads where the first axis is not repeated. */
static void tile_spread(struct ox_env *env, struct tiling *t, const struct ox_tensor *in,
                        struct ox_tensor *out)
{
    const size_t n = (size_t)in->dims[0], size = ox_dtype_size(in->dtype);
    struct tile_rows rows = {t, in->n / n * size, out->n / n * size, out->data};
    const double ns = 0.15 * (double)rows.out_row + 2 * (double)(out->n / n * size / t->unit);
    if (t->last == 0 || t->repeats[0] != 1)
        tile_axis(t, 0, out->data);
    else
        ox_fast_spread(env, n, ((size_t)1 << 15) / rows.out_row + 1, ns, tile_some, &rows);
}

static enum ox_status run_tile_by(struct ox_run *r, const int64_t *repeats, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dims[OX_MOVE_RANK];
    struct tiling tiling;
    struct ox_move m;

    for (unsigned i = 0; i < in->rank; i++) {
        if (repeats[i] < 0 || OX_MUL_OVERFLOWS(in->dims[i], repeats[i], &dims[i]))
            return ox_run_fail(r, err, OX_INPUT, "repeats[%u] is %" PRId64, i, repeats[i]);
    }
    if (in->dtype != OX_STRING && begin_tiling(in, repeats, &tiling)) {
        struct ox_tensor *out;
        OX_TRY(ox_run_out(r, 0, in->dtype, in->rank, dims, &out, err));
        if (out->n > 0)
            tile_spread(r->env, &tiling, in, out);
        return OX_OK;
    }
    tile_plan(&m, in->rank, in->dims, repeats, dims);
    return ox_move_out(r, in, in->rank, dims, &m, err);
}

static enum ox_status run_tile(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    const int64_t *repeats;
    size_t n;

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(ox_move_list(r, 1, &repeats, &n, err));
    if (n != in->rank)
        return ox_run_fail(r, err, OX_INPUT, "%zu repeats for an input of rank %u", n, in->rank);
    return run_tile_by(r, repeats, err);
}

/* Tile 1: how often, and along which axis, as tensors of the data's type. */
static void infer_tile_axis(struct ox_infer *c)
{
    const struct ox_expr *const *in, **out;
    const struct ox_tensor *tiles = ox_infer_const(c, 1), *along = ox_infer_const(c, 2);
    unsigned rank, axis;

    ox_infer_same_dtype(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    out = ox_infer_dims(c, rank);
    if (!out)
        return;
    if (along && along->n == 1 && along->dtype != OX_STRING) {
        if (!ox_infer_axis(c, ox_tensor_get_int(along, 0), rank, &axis))
            return;
        for (unsigned i = 0; i < rank; i++)
            out[i] = in[i];
        out[axis] = NULL;
        if (tiles && tiles->n == 1 && tiles->dtype != OX_STRING)
            out[axis] = ox_infer_mul(c, in[axis], ox_infer_num(c, ox_tensor_get_int(tiles, 0)));
    }
    ox_infer_set_shape(c, 0, rank, out);
}

static enum ox_status run_tile_axis(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t repeats[OX_MOVE_RANK], tiles = 1, along = 0;
    unsigned axis;

    OX_TRY(ox_move_rank(r, in->rank, err));
    OX_TRY(ox_move_int(r, 1, "tiles", &tiles, err));
    OX_TRY(ox_move_int(r, 2, "axis", &along, err));
    OX_TRY(ox_run_axis(r, along, in->rank, &axis, err));
    for (unsigned i = 0; i < in->rank; i++)
        repeats[i] = i == axis ? tiles : 1;
    return run_tile_by(r, repeats, err);
}

const struct ox_op ox_ops_tile[] = {
    {"", "Tile", 1, OX_OP_HALF, .infer = infer_tile_axis, .run = run_tile_axis},
    {"", "Tile", 6, OX_OP_HALF, .infer = infer_tile, .run = run_tile},
    {0}};
