/* ConvChain: a pointwise FusedConv, a depthwise one and another pointwise one, each of the outer two optional, as one node on maps with
 * their channels last. Inputs: data, then weights, bias and scale of each of three stages, then a residual for the last. Attributes of
 * the depthwise stage are those of Conv; activation_0, alpha_0, beta_0 and so on are those of the stages; residual_last as in FusedConv. */
#include <string.h>

#include "kernels/convolve_chain.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"
#include "ops/window.h"

enum { STAGES = 3, IN_RESIDUAL = 1 + 3 * STAGES, DEPTHWISE = 1 };

static size_t in_weights(unsigned stage)
{
    return 1 + 3 * (size_t)stage;
}

/* What stays with the node: shapes of the weights, and behind it the packed weights and biases. */
struct packed_chain {
    int64_t dims[STAGES][4]; /* of the weights; 0: no such stage */
    const float *weights[STAGES], *bias[STAGES];
};

struct job {
    struct ox_chain c;
    const struct ox_compute *table;
    int64_t dims[4]; /* of the output */
    struct packed_chain *packed;
};

static enum ox_status misfit(struct ox_run *r, struct ox_error *err)
{
    return ox_run_fail(r, err, OX_INPUT, "its stages do not fit each other");
}

static enum ox_status read_sizes(struct ox_run *r, int64_t (*weights)[4], struct job *job,
                                 struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct ox_tensor *shape;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    if (!x || x->dtype != OX_FLOAT32 || x->rank != 4)
        return ox_run_fail(r, err, OX_INPUT, "the data is no float32 of rank 4");
    OX_TRY(ox_fused_first(r, x, true, &shape, err));
    const int64_t *before = weights[0], *own = weights[DEPTHWISE], *behind = weights[2];
    int64_t channels = own[0];
    if (channels < 1 || own[1] != 1 || (before[0] ? before[0] : shape->dims[1]) != channels ||
        (before[0] && before[1] != shape->dims[1]) || (behind[0] && behind[1] != channels))
        return misfit(r, err);
    shape->dims[1] = channels;
    OX_TRY(ox_window_init(r, shape, own + 2, false, w, err));
    struct ox_conv *d = &job->c.depthwise;
    *d = (struct ox_conv){.batch = (size_t)shape->dims[0],
                          .groups = (size_t)channels,
                          .in_channels = (size_t)channels,
                          .out_channels = (size_t)channels,
                          .in_pixel = (size_t)channels,
                          .out_pixel = (size_t)channels};
    for (unsigned k = 0; k < 2; k++) {
        d->kernel[k] = (size_t)w->kernel[k];
        d->stride[k] = (size_t)w->stride[k];
        d->dilation[k] = (size_t)w->dilation[k];
        d->pad[k] = (size_t)w->before[k];
        d->in[k] = (size_t)w->in[k];
        d->out[k] = (size_t)w->out[k];
        job->dims[1 + k] = w->out[k];
    }
    job->c.in_channels = before[0] ? (size_t)before[1] : 0;
    job->c.out_channels = (size_t)behind[0];
    job->dims[0] = shape->dims[0];
    job->dims[3] = behind[0] ? behind[0] : channels;
    return OX_OK;
}

static enum ox_status read_weights(struct ox_run *r, int64_t (*dims)[4], struct ox_error *err)
{
    for (unsigned s = 0; s < STAGES; s++) {
        const struct ox_tensor *w = ox_run_in(r, in_weights(s));
        if (!w && s == DEPTHWISE)
            return misfit(r, err);
        if (!w)
            continue;
        if (w->dtype != OX_FLOAT32 || w->rank != 4 || w->n == 0 ||
            (s != DEPTHWISE && (w->dims[2] != 1 || w->dims[3] != 1)))
            return misfit(r, err);
        OX_TRY(ox_fused_check_list(r, in_weights(s) + 1, w->dims[0], "bias", err));
        OX_TRY(ox_fused_check_list(r, in_weights(s) + 2, w->dims[0], "scale", err));
        memcpy(dims[s], w->dims, 4 * sizeof *w->dims);
    }
    return OX_OK;
}

static struct ox_conv stage_conv(const struct job *job, unsigned stage)
{
    return stage == DEPTHWISE ? job->c.depthwise : ox_chain_stage(&job->c, stage);
}

static enum ox_conv_way stage_way(unsigned stage)
{
    return stage == DEPTHWISE ? OX_CONV_DEPTHWISE : OX_CONV_POINTWISE;
}

/* Packs one stage at `to`; gives what follows it, NULL without memory. */
static float *pack_stage(struct ox_run *r, const struct job *job, unsigned stage, float *to,
                         struct ox_error *err)
{
    const struct ox_tensor *bias = ox_run_in(r, in_weights(stage) + 1);
    const struct ox_conv c = stage_conv(job, stage);
    const float *from = ox_fused_scaled(r, ox_run_in(r, in_weights(stage)),
                                        ox_run_in(r, in_weights(stage) + 2), 0, err);
    if (!from)
        return NULL;
    ox_conv_pack(job->table, r->env, stage_way(stage), &c, from, OX_WEIGHT_F32, to);
    job->packed->weights[stage] = to;
    to += (ox_conv_packed(job->table, stage_way(stage), &c) + 15) / 16 * 16;
    if (!bias)
        return to;
    memcpy(to, bias->data, bias->n * sizeof(float));
    job->packed->bias[stage] = to;
    return to + (bias->n + 15) / 16 * 16;
}

static enum ox_status pack(struct ox_run *r, struct job *job, bool keep, struct ox_error *err)
{
    int64_t dims[STAGES][4] = {{0}};
    size_t head = (sizeof(struct packed_chain) + 63) / 64 * 64, floats = head / sizeof(float);
    OX_TRY(read_weights(r, dims, err));
    OX_TRY(read_sizes(r, dims, job, err));
    for (unsigned s = 0; s < STAGES; s++) {
        const struct ox_conv c = stage_conv(job, s);
        size_t n = dims[s][0] ? ox_conv_packed(job->table, stage_way(s), &c) : 0;
        if (n > SIZE_MAX / 64 || OX_ADD_OVERFLOWS(floats, n + (size_t)dims[s][0] + 32, &floats))
            return ox_run_fail(r, err, OX_LIMIT, "the weights are too large");
    }
    void *block = keep ? ox_run_keep(r, floats * sizeof(float), err)
                       : ox_run_work(r, floats, sizeof(float), err);
    if (!block)
        return OX_NO_MEMORY;
    job->packed = block;
    memset(job->packed, 0, sizeof *job->packed);
    memcpy(job->packed->dims, dims, sizeof dims);
    float *to = (float *)(void *)((char *)block + head);
    for (unsigned s = 0; s < STAGES && to; s++)
        if (dims[s][0])
            to = pack_stage(r, job, s, to, err);
    return to ? OX_OK : OX_NO_MEMORY;
}

static enum ox_status prepare_chain(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.table = ox_compute(ox_cpu())};
    for (size_t i = 1; i < IN_RESIDUAL; i++)
        if (ox_run_has(r, i) && !r->fixed[i])
            return OX_OK;
    OX_TRY(pack(r, &job, true, err));
    for (size_t i = 1; i < IN_RESIDUAL; i++)
        if (ox_run_has(r, i))
            ox_run_absorb(r, i);
    return OX_OK;
}

static enum ox_status read_ends(struct ox_run *r, struct job *job, struct ox_fused_row *rows,
                                const struct ox_tensor *y, struct ox_error *err)
{
    static const char *const names[STAGES][3] = {{"activation_0", "alpha_0", "beta_0"},
                                                 {"activation_1", "alpha_1", "beta_1"},
                                                 {"activation_2", "alpha_2", "beta_2"}};
    const struct ox_tensor *residual = ox_run_in(r, IN_RESIDUAL);
    for (unsigned s = 0; s < STAGES; s++) {
        struct ox_epilogue *end = &job->c.end[s];
        *end = (struct ox_epilogue){.col_bias = job->packed->bias[s]};
        job->c.packed[s] = job->packed->weights[s];
        OX_TRY(
            ox_fused_activation_by(r, names[s][0], names[s][1], names[s][2], end, &rows[s], err));
    }
    if (!residual)
        return OX_OK;
    if (residual->dtype != OX_FLOAT32 || residual->rank != 4 ||
        memcmp(residual->dims, y->dims, 4 * sizeof *y->dims) != 0)
        return ox_run_fail(r, err, OX_INPUT, "the residual has not the output's shape");
    struct ox_epilogue *last = &job->c.end[job->c.out_channels ? 2 : DEPTHWISE];
    last->residual = residual->data;
    last->residual_last = ox_run_int(r, "residual_last", 0) != 0;
    last->residual_ld = (size_t)y->dims[3];
    return OX_OK;
}

static enum ox_status run_chain(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.table = ox_compute(ox_cpu()), .packed = ox_run_state(r)};
    struct ox_fused_row rows[STAGES];
    struct ox_tensor *y;
    if (job.packed)
        OX_TRY(read_sizes(r, job.packed->dims, &job, err));
    else
        OX_TRY(pack(r, &job, false, err));
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 4, job.dims, &y, err));
    if (!y->n)
        return OX_OK;
    OX_TRY(read_ends(r, &job, rows, y, err));
    size_t n_work = ox_chain_work(job.table, r->env, &job.c);
    float *work = ox_run_work(r, n_work, sizeof(float), err);
    if (!work)
        return OX_NO_MEMORY;
    ox_chain_run(job.table, r->env, &job.c, ox_run_in(r, 0)->data, y->data, work);
    return ox_env_poll(r->env, err);
}

static void infer_chain(struct ox_infer *c)
{
    ox_infer_same_dtype(c, 0, 0);
}

const struct ox_op ox_ops_fused_chain[] = {{OX_OWN_DOMAIN, "ConvChain", 1, OX_OP_ANY_ADDRESS,
                                            .infer = infer_chain, .run = run_chain,
                                            .prepare = prepare_chain},
                                           {0}};
