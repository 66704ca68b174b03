/* Interleave: two maps of the same shape with their channels last, a channel of the one after a channel of the other in turn: what
 * Concat and the exchange of two groups of channels make. With two outputs each gets one half of the channels. */
#include <string.h>

#include "ops/fast/fast.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"

struct job {
    const float *a, *b;
    float *out[2]; /* the second NULL: one output */
    size_t channels;
};

static void interleave(size_t n, const float *restrict a, const float *restrict b,
                       float *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        y[2 * i] = a[i];
        y[2 * i + 1] = b[i];
    }
}

static void run_pixels(void *arg, size_t from, size_t to)
{
    const struct job *job = arg;
    const size_t n = job->channels;
    for (size_t p = from; p < to; p++) {
        const float *a = job->a + p * n, *b = job->b + p * n;
        if (!job->out[1]) {
            interleave(n, a, b, job->out[0] + 2 * p * n);
            continue;
        }
        interleave(n / 2, a, b, job->out[0] + p * n);
        interleave(n / 2, a + n / 2, b + n / 2, job->out[1] + p * n);
    }
}

static enum ox_status run_interleave(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *a = ox_run_in(r, 0), *b = ox_run_in(r, 1);
    if (!a || !b || a->dtype != OX_FLOAT32 || b->dtype != OX_FLOAT32 || a->rank != 4 ||
        b->rank != 4 || memcmp(a->dims, b->dims, 4 * sizeof *a->dims) != 0)
        return ox_run_fail(r, err, OX_INPUT,
                           "the inputs are not two float32 of rank 4 and one shape");
    int64_t dims[4] = {a->dims[0], a->dims[1], a->dims[2], a->dims[3]};
    struct job job = {.a = a->data, .b = b->data, .channels = (size_t)dims[3]};
    struct ox_tensor *out[2] = {NULL, NULL};
    bool halves = r->n_out > 1;
    if (halves && job.channels % 2)
        return ox_run_fail(r, err, OX_INPUT, "%zu channels have no halves", 2 * job.channels);
    dims[3] *= halves ? 1 : 2;
    for (size_t i = 0; i < (halves ? 2u : 1u); i++) {
        OX_TRY(ox_run_out(r, i, OX_FLOAT32, 4, dims, &out[i], err));
        job.out[i] = out[i]->data;
    }
    if (!a->n)
        return OX_OK;
    /* Twice what it takes: where it is shared, each thread's part of the maps stays near it. */
    const double ns = 0.8 * (double)job.channels;
    ox_fast_spread(r->env, a->n / job.channels, 4096 / job.channels + 1, ns, run_pixels, &job);
    return OX_OK;
}

static void infer_interleave(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
}

const struct ox_op ox_ops_fused_shuffle[] = {
    {OX_OWN_DOMAIN, "Interleave", 1, .infer = infer_interleave, .run = run_interleave}, {0}};
