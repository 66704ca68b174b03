#include "ops/fast/attend_fast.h"

#include <string.h>

#include "kernels/dense.h"
#include "ops/fast/fast.h"

struct job {
    const struct ox_heads *h;
    const struct ox_rows *rows;
    size_t lanes, blocks; /* queries of a block, blocks of a head */
    bool singly;
    float *work;
    size_t work_floats;
};

static void attend_task(void *arg, size_t i, size_t slot)
{
    const struct job *job = arg;
    const struct ox_heads *h = job->h;
    const size_t block = i % job->blocks, head = i / job->blocks % h->heads;
    const size_t batch = i / job->blocks / h->heads, shared = head / (h->heads / h->kv_heads);
    const size_t from = block * job->lanes;
    const size_t n = h->queries - from < job->lanes ? h->queries - from : job->lanes;
    float *work = job->work + slot * job->work_floats;
    const struct ox_attend_head one = {
        .queries = h->queries,
        .keys = h->ends ? h->ends[batch] : h->keys,
        .depth = h->depth,
        .v_depth = h->v_depth,
        .q = h->q + batch * h->q_at.batch + head * h->q_at.head,
        .k = h->k + batch * h->k_at.batch + shared * h->k_at.head,
        .v = h->v + batch * h->v_at.batch + shared * h->v_at.head,
        .q_step = h->q_at.row,
        .k_step = h->k_at.row,
        .v_step = h->v_at.row,
        .scale = h->scale,
        .cap = h->cap,
        .mask = h->mask ? h->mask + batch * h->mask_at.batch + head * h->mask_at.head : NULL,
        .mask_step = h->mask_at.row,
        .mask_key_step = h->mask_key_step,
        .causal = h->causal,
        .first = h->firsts ? (ptrdiff_t)h->firsts[batch] : h->first,
        .window = h->window,
        .has_sink = h->sinks != NULL,
        .sink = h->sinks ? h->sinks[head] : 0,
        .none_is_0 = h->none_is_0,
        .y = h->y + batch * h->y_at.batch + head * h->y_at.head,
        .y_step = h->y_at.row};
    if (!job->singly) {
        job->rows->attend(&one, from, n, work);
        return;
    }
    for (size_t q = from; q < from + n; q++)
        job->rows->attend_one(&one, q, work);
}

/* Keys or values to be put one behind the other. */
struct gathering {
    size_t heads, rows, size;
    const float *from;
    struct ox_heads_step at;
    float *to;
};

void ox_heads_copy(const float *from, const struct ox_heads_step *at, size_t heads, size_t i,
                   size_t rows, size_t size, float *to)
{
    from += i / heads * at->batch + i % heads * at->head;
    for (size_t k = 0; k < rows; k++, from += at->row, to += size)
        memcpy(to, from, size * sizeof *to);
}

static void gather_head(void *arg, size_t i, size_t slot)
{
    const struct gathering *g = arg;
    (void)slot;
    ox_heads_copy(g->from, &g->at, g->heads, i, g->rows, g->size, g->to + i * g->rows * g->size);
}

/* Rows that lie apart share the places of a cache and take a page each: many blocks of queries read them sooner one behind the other. */
static bool wants_gathered(const struct ox_heads *h, const struct ox_heads_step *at, size_t size,
                           size_t lanes)
{
    enum { BLOCKS = 16 };
    return h->queries * (h->heads / h->kv_heads) >= BLOCKS * lanes && at->row != size;
}

static float *gather(struct ox_run *r, const struct ox_heads *h, const float **from,
                     struct ox_heads_step *at, size_t size, float *to)
{
    struct gathering g = {h->kv_heads, h->keys, size, *from, *at, to};
    const size_t n = h->batch * h->kv_heads;
    const double flops_a_float = 4; /* in which ox_spread() counts */
    ox_spread(r->env, n, flops_a_float * (double)(n * h->keys * size), gather_head, &g);
    *from = to;
    *at = (struct ox_heads_step){h->kv_heads * h->keys * size, h->keys * size, size};
    return to + n * h->keys * size;
}

enum ox_status ox_heads_run(struct ox_run *r, const struct ox_heads *given, struct ox_error *err)
{
    struct ox_heads own = *given, *h = &own;
    struct job job = {.h = h, .rows = ox_fast_rows()};
    const struct ox_attend_head sizes = {.keys = h->keys, .depth = h->depth, .v_depth = h->v_depth};
    if (h->batch * h->heads * h->queries == 0 || h->v_depth == 0)
        return OX_OK;
    job.lanes = job.rows->attend_lanes;
    job.blocks = (h->queries - 1) / job.lanes + 1;
    job.singly = h->queries <= job.rows->attend_singly;
    job.work_floats = ox_attend_work(job.rows, &sizes);
    const bool keys = wants_gathered(h, &h->k_at, h->depth, job.lanes);
    const bool values = wants_gathered(h, &h->v_at, h->v_depth, job.lanes);
    const size_t width = (keys ? h->depth : 0) + (values ? h->v_depth : 0);
    size_t slots = ox_slots(r->env), floats, gathered;
    if (OX_MUL_OVERFLOWS(job.work_floats, slots, &floats) ||
        OX_MUL_OVERFLOWS(h->batch * h->kv_heads * h->keys, width, &gathered) ||
        OX_ADD_OVERFLOWS(floats, gathered, &floats))
        return ox_run_fail(r, err, OX_LIMIT, "the heads are too large");
    float *work = ox_run_work(r, floats, sizeof *work, err);
    if (!work)
        return err->status;
    job.work = work + gathered;
    if (keys)
        work = gather(r, h, &h->k, &h->k_at, h->depth, work);
    if (values)
        gather(r, h, &h->v, &h->v_at, h->v_depth, work);
    double flops = 2.0 * (double)(h->depth + h->v_depth) * (double)h->queries * (double)h->keys;
    if (job.singly)
        flops *= 4; /* it waits for memory */
    ox_spread(r->env, h->batch * h->heads * job.blocks, flops * (double)(h->batch * h->heads),
              attend_task, &job);
    return OX_OK;
}

enum ox_status ox_heads_out(struct ox_run *r, struct ox_heads *h, unsigned rank,
                            const int64_t *dims, struct ox_error *err)
{
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, rank, dims, &y, err));
    h->y = y->data;
    OX_TRY(ox_heads_run(r, h, err));
    if (ox_fast_finite(y->n, y->data))
        return OX_OK;
    /* Infinities of the input, or of a score that double can hold: the reference tells what comes of them. */
    ox_datum_release(r->out[0]);
    r->out[0] = NULL;
    return OX_UNSUPPORTED;
}

bool ox_heads_mask(struct ox_heads *h, const struct ox_tensor *mask)
{
    const size_t want[4] = {h->batch, h->heads, h->queries, h->keys};
    size_t step[4] = {0}, pitch = 1;
    if (mask->rank > 4)
        return false;
    for (unsigned d = mask->rank; d-- > 0;) {
        size_t size = (size_t)mask->dims[d], at = 4 - mask->rank + d;
        if (size != 1 && size != want[at])
            return false;
        step[at] = size == 1 ? 0 : pitch;
        pitch *= size;
    }
    h->mask = mask->data;
    h->mask_at = (struct ox_heads_step){step[0], step[1], step[2]};
    h->mask_key_step = step[3];
    return true;
}
