/* WriteBox: input 0 with input 1 in a box of it, `starts` and `sizes` along its first axes, all of the others; in its memory where nobody
 * else needs it. What ScatterND with a grid of indices becomes (graph/passes/write_boxes.c). */
#include "ops/fused/fused.h"
#include "ops/infer.h"
#include "ops/move.h"

/* The move of the updates into the box, which begins *at elements into the output. */
static enum ox_status lay_box(struct ox_run *r, const struct ox_tensor *in,
                              const struct ox_tensor *updates, struct ox_move *m, int64_t *at,
                              struct ox_error *err)
{
    size_t n_starts, n_sizes;
    const int64_t *starts = ox_run_ints(r, "starts", &n_starts),
                  *sizes = ox_run_ints(r, "sizes", &n_sizes);
    int64_t to[OX_MOVE_RANK], dims[OX_MOVE_RANK], from[OX_MOVE_RANK];
    OX_TRY(ox_move_rank(r, in->rank, err));
    if (n_starts != n_sizes || n_starts > in->rank)
        return ox_run_fail(r, err, OX_INPUT, "the box has %zu starts and %zu sizes", n_starts,
                           n_sizes);
    *at = 0;
    ox_move_strides(in->rank, in->dims, to);
    for (unsigned i = 0; i < in->rank; i++) {
        const int64_t start = i < n_starts ? starts[i] : 0;
        dims[i] = i < n_starts ? sizes[i] : in->dims[i];
        if (start < 0 || dims[i] < 0 || dims[i] > in->dims[i] || start > in->dims[i] - dims[i])
            return ox_run_fail(r, err, OX_INPUT, "the box is not within axis %u", i);
        *at += start * to[i];
    }
    ox_move_strides(in->rank, dims, from);
    size_t n = 1;
    for (unsigned i = 0; i < in->rank; i++) {
        n *= (size_t)dims[i];
        ox_move_axis(m, dims[i], to[i], from[i]);
    }
    return n == updates->n
               ? OX_OK
               : ox_run_fail(r, err, OX_INPUT, "%zu elements for a box of %zu", updates->n, n);
}

static enum ox_status run_write_box(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0), *updates = ox_run_in(r, 1);
    struct ox_move m = {0};
    struct ox_tensor *y;
    int64_t at = 0;
    if (in->dtype != updates->dtype || in->dtype == OX_STRING)
        return ox_run_fail(r, err, OX_INPUT, "its inputs are not of one type of numbers");
    OX_TRY(lay_box(r, in, updates, &m, &at, err));
    OX_TRY(ox_fused_whole(r, 0, in->dtype, in->rank, in->dims, &y, err));
    const size_t size = ox_dtype_size(in->dtype);
    if (updates->n > 0)
        ox_move_spread(r->env, &m, size, (char *)y->data + (size_t)at * size, updates->data);
    return OX_OK;
}

static void infer_write_box(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
}

const struct ox_op ox_ops_fused_box[] = {
    {OX_OWN_DOMAIN, "WriteBox", 1, .infer = infer_write_box, .run = run_write_box}, {0}};
