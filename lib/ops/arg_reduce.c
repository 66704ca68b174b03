/* ArgMax ArgMin. */
#include <inttypes.h>
#include <string.h>

#include "kernels/folds.h"
#include "kernels/inline.h"
#include "ops/broadcast.h"
#include "ops/kernel_tables.h"
#include "ops/move.h"
#include "ops/rules.h"

enum {
    LANES = 1024,
    SHORT = 16,       /* elements of a row that becomes a lane, twice as many bytes */
    TURNED_BYTES = 16 /* of LANES such rows at a time */
};

#define STAMP "ops/arg_reduce_tmpl.h"
#include "common/stamp_integers.h"
#define STAMP "ops/arg_reduce_tmpl.h"
#include "common/stamp_floats.h"

struct arg_job {
    void (*lanes)(const void *from, size_t count, size_t stride, size_t lanes, bool least,
                  bool last, int64_t *out);
    const char *in;
    int64_t *out;
    size_t bytes, count, inner, blocks; /* blocks: of lanes, of inner */
    bool least, last;
    enum ox_dtype type;
};

static void line_task(void *arg, size_t from, size_t to)
{
    const struct arg_job *job = arg;
    ox_folds_find(ox_cpu(), job->least ? OX_FOLD_LEAST : OX_FOLD_GREATEST, job->type,
                  job->in + from * job->count * job->bytes, to - from, job->count, job->last,
                  job->out + from);
}

/* Of types whose lanes are compared by vectors on every processor. */
static bool are_short(const struct arg_job *job)
{
    return job->count <= SHORT * (job->bytes == 1 ? 2 : 1) &&
           (job->bytes == 1 || job->bytes == 4 || job->type == OX_FLOAT64);
}

/* Short rows become lanes first. */
static void short_line_task(void *arg, size_t from, size_t to)
{
    const struct arg_job *job = arg;
    _Alignas(64) char turned[LANES * TURNED_BYTES];
    const size_t row_bytes = job->count * job->bytes;
    for (size_t some; from < to; from += some) {
        some = to - from < LANES ? to - from : LANES;
        some = some * row_bytes > sizeof turned ? sizeof turned / row_bytes / 16 * 16 : some;
        ox_move_turn(job->bytes, some, job->count, job->in + from * row_bytes, turned);
        job->lanes(turned, job->count, some, some, job->least, job->last, job->out + from);
    }
}

static void arg_task(void *arg, size_t from, size_t to)
{
    const struct arg_job *job = arg;
    for (size_t i = from; i < to; i++) {
        const size_t outer = i / job->blocks, lane = i % job->blocks * LANES;
        const size_t lanes = job->inner - lane < LANES ? job->inner - lane : LANES;
        const char *in = job->in + (outer * job->count * job->inner + lane) * job->bytes;
        job->lanes(in, job->count, job->inner, lanes, job->least, job->last,
                   job->out + outer * job->inner + lane);
    }
}

static enum ox_status arg_reduce(struct ox_run *r, bool least, struct ox_error *err)
{
    static void (*const kernels[OX_N_DTYPES])(const void *, size_t, size_t, size_t, bool, bool,
                                              int64_t *) = {OX_KERNELS_NUMBER(arg_lanes)};
    const struct ox_tensor *in = ox_run_in(r, 0);
    int64_t dims[OX_BROADCAST_RANK];
    unsigned axis = 0, rank = 0;
    if (!kernels[in->dtype])
        return ox_run_fail(r, err, OX_UNSUPPORTED, "no kernel for %s", ox_dtype_name(in->dtype));
    if (in->rank > OX_BROADCAST_RANK)
        return ox_run_fail(r, err, OX_LIMIT, "the input has rank %u, more than %d", in->rank,
                           OX_BROADCAST_RANK);
    int64_t given = ox_run_int(r, "axis", 0);
    if (in->rank || (given != 0 && given != -1))
        OX_TRY(ox_run_axis(r, given, in->rank, &axis, err));
    bool keep = ox_run_int(r, "keepdims", 1) == 1;
    struct arg_job job = {.lanes = kernels[in->dtype],
                          .type = in->dtype,
                          .in = in->data,
                          .bytes = ox_dtype_size(in->dtype)};
    size_t outer = 1;
    job.count = job.inner = 1;
    for (unsigned i = 0; i < in->rank; i++) {
        *(i < axis ? &outer : i > axis ? &job.inner : &job.count) *= (size_t)in->dims[i];
        if (i != axis)
            dims[rank++] = in->dims[i];
        else if (keep)
            dims[rank++] = 1;
    }
    struct ox_tensor *out;
    OX_TRY(ox_run_out(r, 0, OX_INT64, rank, dims, &out, err));
    if (out->n == 0)
        return OX_OK;
    if (job.count > INT32_MAX)
        return ox_run_fail(r, err, OX_LIMIT, "axis %" PRId64 " is too long", given);
    if (job.count == 0)
        return ox_run_fail(r, err, OX_INPUT, "axis %" PRId64 " has no elements to choose from",
                           given);
    job.out = out->data;
    job.least = least;
    job.last = ox_run_int(r, "select_last_index", 0) != 0;
    job.blocks = (job.inner + LANES - 1) / LANES;
    if (job.count == 1) {
        memset(job.out, 0, out->n * sizeof *job.out);
        return OX_OK;
    }
    size_t work = job.count * (job.inner < LANES ? job.inner : LANES);
    ox_ranges_run(r->env, outer * job.blocks, work >= OX_GRAIN ? 1 : OX_GRAIN / work,
                  job.inner > 1     ? arg_task
                  : are_short(&job) ? short_line_task
                                    : line_task,
                  &job);
    return OX_OK;
}

static enum ox_status run_arg_max(struct ox_run *r, struct ox_error *err)
{
    return arg_reduce(r, false, err);
}

static enum ox_status run_arg_min(struct ox_run *r, struct ox_error *err)
{
    return arg_reduce(r, true, err);
}

static void infer_arg(struct ox_infer *c)
{
    unsigned rank, axis, out_rank = 0;
    const struct ox_expr *const *in;
    int64_t given = ox_infer_int_attr(c, "axis", 0);
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    if (rank == 0 && (given == 0 || given == -1)) { /* which the kernel takes, as numpy does */
        ox_infer_conflict(c, "axis %lld of a scalar", (long long)given);
        ox_infer_set_shape(c, 0, 0, in);
        return;
    }
    if (!ox_infer_axis(c, given, rank, &axis))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims)
        return;
    bool keep = ox_infer_int_attr(c, "keepdims", 1) == 1;
    for (unsigned i = 0; i < rank; i++) {
        if (i != axis)
            dims[out_rank++] = in[i];
        else if (keep)
            dims[out_rank++] = ox_infer_num(c, 1);
    }
    ox_infer_set_shape(c, 0, out_rank, dims);
}

const struct ox_op ox_ops_arg_reduce[] = {{"", "ArgMax", 1, .infer = infer_arg, .run = run_arg_max},
                                          {"", "ArgMin", 1, .infer = infer_arg, .run = run_arg_min},
                                          {0}};
