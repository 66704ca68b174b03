/* Maps that are slices of larger ones, and JoinMaps: input 0 with the other inputs, maps whose channels are last, in some of its
 * channels, those from `at` on for each; in its memory where nobody else needs it. What convolutions leave to be copied where they write into what joins them (fused_conv.c). */
#include <inttypes.h>
#include <string.h>

#include "ops/fast/fast.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"
#include "ops/parts.h"

enum { MOST = 16 };

enum ox_status ox_fused_slice(const struct ox_run *r, int64_t own, int64_t *all, int64_t *at,
                              struct ox_error *err)
{
    const int64_t given = ox_run_int(r, "join_channels", 0);
    *all = given ? given : own;
    *at = ox_run_int(r, "join_at", 0);
    if (*at < 0 || own > *all || *at > *all - own)
        return ox_run_fail(r, err, OX_INPUT, "its channels are no slice of %lld", (long long)*all);
    return OX_OK;
}

/* Refuses maps whose first n dimensions differ, by the dimensions that they have where their channels are second. */
static enum ox_status same_pixels(const struct ox_run *r, unsigned n, const int64_t *one,
                                  const int64_t *other, struct ox_error *err)
{
    for (unsigned k = 0; k < n; k++)
        if (one[k] != other[k])
            return ox_run_fail(r, err, OX_INPUT,
                               "dimension %u of a map to join is %" PRId64 ", of another %" PRId64,
                               k ? k + 1 : 0, one[k], other[k]);
    return OX_OK;
}

enum ox_status ox_fused_whole(struct ox_run *r, size_t joined, enum ox_dtype dtype, unsigned rank,
                              const int64_t *dims, struct ox_tensor **y, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, joined);
    if (!in)
        return ox_run_out(r, 0, dtype, rank, dims, y, err);
    if (in->dtype == dtype && in->rank == rank && rank)
        OX_TRY(same_pixels(r, rank - 1, dims, in->dims, err));
    if (in->dtype != dtype || in->rank != rank || memcmp(in->dims, dims, rank * sizeof *dims) != 0)
        return ox_run_fail(r, err, OX_INPUT, "the map to write into has not the output's shape");
    OX_TRY(ox_run_out_reuse(r, 0, joined, dtype, rank, dims, y, err));
    if ((*y)->data != in->data)
        memcpy((*y)->data, in->data, in->n * ox_dtype_size(dtype));
    return OX_OK;
}

struct piece {
    const float *from;
    size_t channels, at;
};

struct job {
    float *whole;
    size_t channels, n;
    struct piece piece[MOST];
};

static void join_pixels(void *arg, size_t from, size_t to)
{
    const struct job *job = arg;
    for (size_t i = 0; i < job->n; i++) {
        const struct piece *p = &job->piece[i];
        if (p->channels)
            ox_parts_copy_rows(to - from, (const char *)(p->from + from * p->channels),
                               p->channels * sizeof(float),
                               (char *)(job->whole + from * job->channels + p->at),
                               job->channels * sizeof(float), p->channels * sizeof(float));
    }
}

static enum ox_status read_pieces(struct ox_run *r, const struct ox_tensor *whole, struct job *job,
                                  struct ox_error *err)
{
    size_t n_at;
    const int64_t *at = ox_run_ints(r, "at", &n_at);
    if (!at || n_at + 1 != r->n_in || n_at > MOST)
        return ox_run_fail(r, err, OX_INPUT, "it does not tell where its inputs go");
    for (size_t i = 0; i < n_at; i++) {
        const struct ox_tensor *map = ox_run_in(r, i + 1);
        const unsigned last = whole->rank - 1;
        if (!map || map->dtype != OX_FLOAT32 || map->rank != whole->rank || at[i] < 0 ||
            map->dims[last] > whole->dims[last] || at[i] > whole->dims[last] - map->dims[last])
            return ox_run_fail(r, err, OX_INPUT, "input %zu is no slice of input 0", i + 1);
        OX_TRY(same_pixels(r, last, map->dims, whole->dims, err));
        job->piece[job->n++] = (struct piece){map->data, (size_t)map->dims[last], (size_t)at[i]};
    }
    return OX_OK;
}

static enum ox_status run_join(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *whole = ox_run_in(r, 0);
    struct ox_tensor *y;
    struct job job = {0};
    if (!whole || whole->dtype != OX_FLOAT32 || whole->rank == 0)
        return ox_run_fail(r, err, OX_INPUT, "the data are no float32 with channels");
    OX_TRY(read_pieces(r, whole, &job, err));
    OX_TRY(ox_fused_whole(r, 0, OX_FLOAT32, whole->rank, whole->dims, &y, err));
    if (!y->n)
        return OX_OK;
    job.whole = y->data;
    job.channels = (size_t)y->dims[y->rank - 1];
    ox_fast_spread(r->env, y->n / job.channels, 4096 / job.channels + 1, 0.2 * (double)job.channels,
                   join_pixels, &job);
    return OX_OK;
}

static void infer_join(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
}

const struct ox_op ox_ops_fused_join[] = {
    {OX_OWN_DOMAIN, "JoinMaps", 1, .infer = infer_join, .run = run_join}, {0}};
