/* Convolutions of 8-bit tensors over one to three axes: QLinearConv (also com.microsoft's) and ConvInteger, and IntegerConv of our own domain, which has
 * QLinearConv's inputs, a bias that may be float32, no y_scale and y_zero_point for a float32 result, `layout`, a residual that is
 * added or a table in which results are looked up, and a map that they are a slice of (ops/int8/int8.h). */
#include <string.h>

#include "kernels/bytes.h"
#include "kernels/sizes.h"
#include "ops/fused/fused.h"
#include "ops/infer.h"
#include "ops/int8/int8.h"
#include "ops/window.h"

/* The first of three axes. A layer of outputs is made of as many layers of inputs as the kernel has: as a map of two axes that has the
 * channels of all of them, so that the rest is a convolution over two. */
struct layers {
    size_t kernel, stride, dilation, pad, in, out;
    size_t channels; /* of one layer */
};

struct job {
    const struct ox_int8_ports *ports;
    const struct ox_integer *table;
    struct ox_conv c;
    struct layers layers;
    bool in_last, out_last, x_signed;
    unsigned rank;
    int64_t dims[5]; /* of the output, in its layout */
    int64_t at;      /* where the channels begin in those of the output */
};

static void read_layers(struct job *job, const struct ox_window *w)
{
    struct ox_conv *c = &job->c;
    job->layers = (struct layers){1, 1, 1, 0, 1, 1, c->in_channels};
    if (w->n < 3)
        return;
    job->layers = (struct layers){.kernel = (size_t)w->kernel[0],
                                  .stride = (size_t)w->stride[0],
                                  .dilation = (size_t)w->dilation[0],
                                  .pad = (size_t)w->before[0],
                                  .in = (size_t)w->in[0],
                                  .out = (size_t)w->out[0],
                                  .channels = c->in_channels};
    c->batch *= job->layers.out;
    c->in_channels *= job->layers.kernel;
    c->in_pixel = c->in_channels;
}

static enum ox_status read_slice(const struct ox_run *r, struct job *job, struct ox_error *err)
{
    int64_t all;
    OX_TRY(ox_fused_slice(r, (int64_t)job->c.out_channels, &all, &job->at, err));
    if (all != (int64_t)job->c.out_channels && !job->out_last)
        return OX_UNSUPPORTED;
    job->c.out_pixel = (size_t)all;
    job->dims[job->out_last ? job->rank - 1 : 1] = all;
    return OX_OK;
}

static enum ox_status read_sizes(struct ox_run *r, const int64_t *weights, unsigned rank,
                                 struct job *job, struct ox_error *err)
{
    const struct ox_tensor *x = ox_int8_even_empty(r, job->ports->x);
    const bool last = ox_run_int(r, "channels_last", 0) != 0; /* com.microsoft.QLinearConv */
    const int64_t layout = ox_run_int(r, "layout", last ? OX_IN_LAST | OX_OUT_LAST : 0);
    const int64_t groups = ox_run_int(r, "group", 1);
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    struct ox_tensor *shape;
    if (!w)
        return OX_NO_MEMORY;
    if (!x || x->rank != rank || rank < 3 || rank > (layout ? 4 : 5))
        return OX_UNSUPPORTED;
    job->in_last = layout & OX_IN_LAST;
    job->out_last = layout & OX_OUT_LAST;
    job->x_signed = x->dtype == OX_INT8;
    job->rank = rank;
    OX_TRY(ox_fused_first(r, x, job->in_last, &shape, err));
    const int64_t in = shape->dims[1], out = weights[0];
    if (groups < 1 || in % groups || out % groups || weights[1] != in / groups)
        return OX_UNSUPPORTED;
    OX_TRY(ox_window_init(r, shape, weights + 2, false, w, err));
    job->c = (struct ox_conv){.batch = (size_t)shape->dims[0],
                              .groups = (size_t)groups,
                              .in_channels = (size_t)in,
                              .out_channels = (size_t)out,
                              .in_pixel = (size_t)in,
                              .out_pixel = (size_t)out};
    for (unsigned k = 0; k < 2; k++) { /* 1-D has height 1 */
        const bool is = k + rank >= 4;
        const unsigned d = is ? k + rank - 4 : 0;
        job->c.kernel[k] = is ? (size_t)w->kernel[d] : 1;
        job->c.stride[k] = is ? (size_t)w->stride[d] : 1;
        job->c.dilation[k] = is ? (size_t)w->dilation[d] : 1;
        job->c.pad[k] = is ? (size_t)w->before[d] : 0;
        job->c.in[k] = is ? (size_t)w->in[d] : 1;
        job->c.out[k] = is ? (size_t)w->out[d] : 1;
    }
    read_layers(job, w);
    job->dims[0] = shape->dims[0];
    job->dims[job->out_last ? rank - 1 : 1] = out;
    OX_TRY(read_slice(r, job, err));
    for (unsigned d = 0; d < w->n; d++)
        job->dims[d + (job->out_last ? 1 : 2)] = w->out[d];
    return ox_integer_conv_can(&job->c) ? OX_OK : OX_UNSUPPORTED;
}

/* One channel in and one out a group is exact where others saturate. */
static const struct ox_integer *kernels(const struct ox_run *r, const struct ox_conv *c,
                                        bool weights_signed)
{
    const bool deep = c->groups == c->in_channels && c->groups == c->out_channels;
    return ox_int8_kernels(r, weights_signed && !deep);
}

/* Whether a weight's zero point is another than that of the form in which weights are packed. */
static bool has_zeros(const struct ox_run *r, const struct ox_int8_ports *ports)
{
    const struct ox_tensor *zero = ox_run_in(r, ports->w_zero);
    const bool is_signed = ox_run_in(r, ports->w)->dtype == OX_INT8;
    const uint8_t none = is_signed ? 0 : 0x80;
    for (size_t j = 0; zero && j < zero->n; j++) {
        if (((const uint8_t *)zero->data)[j] != none)
            return true;
    }
    return !zero && !is_signed;
}

/* For all runs, or for this one where weights are packed for it alone. */
static enum ox_status make_pair(struct ox_run *r, struct ox_bytes_pair *room,
                                struct ox_int8_weights *packed, struct ox_error *err)
{
    const enum ox_dtype dtype = ox_int8_out_dtype(r, &ox_int8_ports_qlinear);
    packed->pair = room;
    return ox_int8_residual_pair(r, dtype, room, err);
}

/* With the layers of the kernel before the channels of a group, as a map of them has them. */
static const void *weights_of(struct ox_run *r, const struct job *job, const struct ox_tensor *w,
                              struct ox_error *err)
{
    const size_t layers = job->layers.kernel, area = job->c.kernel[0] * job->c.kernel[1];
    if (layers == 1)
        return w->data;
    const size_t channels = job->layers.channels / job->c.groups, one = channels * layers * area;
    char *turned = ox_run_work(r, w->n, 1, err);
    for (size_t i = 0; turned && i < w->n / area; i++) {
        const size_t m = i / (channels * layers), c = i / layers % channels, z = i % layers;
        memcpy(turned + m * one + (z * channels + c) * area, (const char *)w->data + i * area,
               area);
    }
    return turned;
}

/* The weights as the kernels want them, kept by the node or until the kernel returns. */
static enum ox_status pack(struct ox_run *r, struct job *job, bool keep,
                           struct ox_int8_weights **out, struct ox_error *err)
{
    const struct ox_tensor *w = ox_int8_in(r, job->ports->w);
    if (!w || w->rank < 3 || w->rank > 5)
        return OX_UNSUPPORTED;
    OX_TRY(read_sizes(r, w->dims, w->rank, job, err));
    const void *weights = weights_of(r, job, w, err);
    if (!weights)
        return OX_NO_MEMORY;
    job->table = kernels(r, &job->c, w->dtype == OX_INT8);
    const size_t n = job->c.out_channels, count = n ? w->n / n : 0;
    if (!ox_int8_fits(r, job->ports, n))
        return OX_UNSUPPORTED;
    const enum ox_integer_form form = !keep || r->once           ? OX_INTEGER_ONCE
                                      : has_zeros(r, job->ports) ? OX_INTEGER_COMPACT
                                                                 : OX_INTEGER_ANY;
    const size_t bytes =
        ox_int8_weights_bytes(n, ox_integer_conv_packed(job->table, &job->c, form));
    if (bytes == SIZE_MAX)
        return OX_UNSUPPORTED;
    const size_t pair_at = ox_round_up(bytes, 64);
    const size_t all = ox_run_has(r, OX_RESIDUAL) ? pair_at + sizeof(struct ox_bytes_pair) : bytes;
    char *block = keep ? ox_run_keep(r, all, err) : ox_run_work(r, all, 1, err);
    if (!block)
        return OX_NO_MEMORY;
    struct ox_int8_weights *packed = *out = ox_int8_weights_at(block, n, count, w);
    if (all > bytes)
        OX_TRY(make_pair(r, (struct ox_bytes_pair *)(void *)(block + pair_at), packed, err));
    const bool zeros = ox_int8_weight_zeros(r, job->ports, n, packed->zero);
    const bool taken = ox_integer_conv_takes_zeros(job->table, &job->c);
    /* Sums first: they read the weights as they lie, and bring them near. */
    ox_integer_sums(n, count, weights, packed->is_signed, 1, count, packed->sums);
    ox_integer_conv_pack(job->table, r->env, &job->c, form, weights, packed->is_signed,
                         zeros && taken ? packed->zero : NULL, packed->packed);
    for (size_t j = 0; taken && j < n; j++)
        packed->sums[j] -= (int32_t)count * packed->zero[j];
    if (!zeros || taken)
        packed->zero = NULL;
    return OX_OK;
}

static enum ox_status prepare(struct ox_run *r, const struct ox_int8_ports *ports,
                              struct ox_error *err)
{
    struct job job = {.ports = ports};
    struct ox_int8_weights *packed;
    if (!ox_int8_in(r, ports->w) || !r->fixed[ports->w] ||
        (ox_run_has(r, ports->w_zero) && !r->fixed[ports->w_zero]))
        return OX_OK;
    const enum ox_status status = pack(r, &job, true, &packed, err);
    if (status == OX_UNSUPPORTED)
        return OX_OK;
    if (status != OX_OK)
        return status;
    ox_int8_keep_end(r, ports, packed);
    ox_run_absorb(r, ports->w);
    return OX_OK;
}

/* One map's channels last, of the layers that the output's layer `o` reaches; what lies outside is the zero point. */
static void turn_layers(const struct job *job, const uint8_t *x, size_t o, uint8_t in_zero,
                        uint8_t *out)
{
    const struct layers *l = &job->layers;
    const size_t groups = l->kernel == 1 ? 1 : job->c.groups;
    const size_t pixels = job->c.in[0] * job->c.in[1], channels = l->channels / groups;
    for (size_t i = 0; i < groups * l->kernel; i++, out += channels) {
        const size_t z = o * l->stride + i % l->kernel * l->dilation - l->pad; /* wraps below 0 */
        const uint8_t *from = x + (i / l->kernel * channels * l->in + z) * pixels;
        if (z < l->in)
            ox_bytes(ox_cpu())->transpose(channels, pixels, from, l->in * pixels, out,
                                          job->c.in_pixel);
        for (size_t p = 0; z >= l->in && p < pixels; p++)
            memset(out + p * job->c.in_pixel, in_zero, channels);
    }
}

/* Maps that are turned on their way in or out, each on its own. */
struct turning {
    const struct job *job;
    const char *from;
    char *to;
    size_t size;     /* of an element */
    uint8_t in_zero; /* on the way in */
};

static void turn_in(void *arg, size_t i, size_t slot)
{
    const struct turning *t = arg;
    const struct job *job = t->job;
    const size_t pixels = job->c.in[0] * job->c.in[1];
    const size_t image = job->layers.channels * job->layers.in * pixels;
    (void)slot;
    turn_layers(job, (const uint8_t *)t->from + i / job->layers.out * image, i % job->layers.out,
                t->in_zero, (uint8_t *)t->to + i * job->c.in_pixel * pixels);
}

/* Data with its channels last. */
static const uint8_t *input_of(struct ox_run *r, const struct job *job, int32_t in_zero,
                               struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, job->ports->x);
    const size_t pixels = job->c.in[0] * job->c.in[1], map = job->c.in_pixel * pixels;
    if (job->in_last || (job->rank < 5 && (job->c.in_channels == 1 || pixels == 1)))
        return x->data;
    char *turned = ox_run_work(r, job->c.batch, map, err);
    struct turning t = {job, x->data, turned, 1, (uint8_t)in_zero};
    if (turned)
        ox_spread(r->env, job->c.batch, (double)(job->c.batch * map), turn_in, &t);
    return (const uint8_t *)turned;
}

/* Results with their channels second again. */
static void turn_out(void *arg, size_t i, size_t slot)
{
    const struct turning *t = arg;
    const struct job *job = t->job;
    const size_t channels = job->c.out_channels, pixels = job->c.out[0] * job->c.out[1];
    const size_t layers = job->layers.out, apart = layers * pixels;
    const char *x = t->from + i * channels * pixels * t->size;
    char *y = t->to + (i / layers * channels * apart + i % layers * pixels) * t->size;
    (void)slot;
    if (t->size == 1)
        ox_bytes(ox_cpu())->transpose(pixels, channels, (const uint8_t *)x, channels, (uint8_t *)y,
                                      apart);
    else
        ox_compute(ox_cpu())->transpose(pixels, channels, (const float *)(const void *)x, channels,
                                        (float *)(void *)y, apart);
}

/* A tensor of the result's shape, its channels last. */
static enum ox_status read_residual(const struct ox_run *r, const struct job *job,
                                    const struct ox_int8_weights *packed, enum ox_dtype dtype,
                                    struct ox_integer_after *out)
{
    const struct ox_tensor *x = ox_run_in(r, OX_RESIDUAL);
    if (!packed->pair || !job->out_last || x->dtype != dtype || x->rank != job->rank)
        return OX_UNSUPPORTED;
    for (unsigned d = 0; d < job->rank; d++)
        if (x->dims[d] != job->dims[d])
            return OX_UNSUPPORTED;
    *out = (struct ox_integer_after){
        .residual = x->data, .pair = packed->pair, .kernels = ox_bytes(ox_cpu())};
    return OX_OK;
}

/* *dtype: that of the results, of what the table has afterwards. */
static enum ox_status read_table(const struct ox_run *r, enum ox_dtype *dtype,
                                 struct ox_integer_after *out)
{
    const struct ox_tensor *table = ox_int8_in(r, OX_TABLE);
    if (!table || table->n != 256 || (*dtype != OX_UINT8 && *dtype != OX_INT8))
        return OX_UNSUPPORTED;
    *dtype = table->dtype;
    *out = (struct ox_integer_after){.table = table->data, .kernels = ox_bytes(ox_cpu())};
    return OX_OK;
}

static enum ox_status run(struct ox_run *r, const struct ox_int8_ports *ports, struct ox_error *err)
{
    struct ox_integer_after after;
    struct ox_int8_weights *packed = ox_run_state(r);
    struct job job = {.ports = ports};
    struct ox_integer_end end;
    struct ox_tensor *y;
    int32_t in_zero;
    if (packed) {
        OX_TRY(read_sizes(r, packed->dims, packed->rank, &job, err));
        job.table = kernels(r, &job.c, packed->is_signed);
    } else {
        OX_TRY(pack(r, &job, false, &packed, err));
    }
    if (!ox_int8_fits(r, ports, packed->n))
        return OX_UNSUPPORTED;
    OX_TRY(ox_int8_end(r, ports, packed, &end, &in_zero, err));
    enum ox_dtype dtype = ox_int8_out_dtype(r, ports);
    if (ox_run_has(r, OX_RESIDUAL)) {
        OX_TRY(read_residual(r, &job, packed, dtype, &after));
        end.after = &after;
    } else if (ox_run_has(r, OX_TABLE)) {
        OX_TRY(read_table(r, &dtype, &after));
        end.after = &after;
    }
    OX_TRY(ox_fused_whole(r, OX_JOINED, dtype, job.rank, job.dims, &y, err));
    if (!y->n)
        return OX_OK;
    const bool straight = job.out_last || job.c.out_channels == 1 ||
                          job.layers.out * job.c.out[0] * job.c.out[1] == 1;
    const uint8_t *x = input_of(r, &job, in_zero, err);
    char *out = straight ? (char *)y->data + (size_t)job.at * ox_dtype_size(dtype)
                         : ox_run_work(r, y->n, ox_dtype_size(dtype), err);
    const size_t bytes =
        ox_integer_conv_work(job.table, r->env, &job.c, job.x_signed, end.weight_zero != NULL);
    void *work = ox_run_work(r, bytes, 1, err);
    if (!x || !out || !work)
        return OX_NO_MEMORY;
    ox_integer_conv_run(job.table, r->env, &job.c, packed->packed, x, job.x_signed, in_zero, out,
                        &end, work);
    struct turning back = {&job, out, y->data, ox_dtype_size(dtype), 0};
    if (!straight)
        ox_spread(r->env, job.c.batch, (double)y->n, turn_out, &back);
    return ox_env_poll(r->env, err);
}

/* After the weights went into the state nothing else can serve. */
static enum ox_status serve(struct ox_run *r, const struct ox_int8_ports *ports,
                            struct ox_error *err)
{
    const enum ox_status status = run(r, ports, err);
    if (status == OX_UNSUPPORTED && ox_run_state(r))
        return ox_run_fail(r, err, OX_INPUT, "inputs of other shapes or types than at first");
    return status;
}

enum ox_status ox_int8_qlinear_conv(struct ox_run *r, struct ox_error *err)
{
    return serve(r, &ox_int8_ports_qlinear, err);
}

enum ox_status ox_int8_prepare_qlinear_conv(struct ox_run *r, struct ox_error *err)
{
    return prepare(r, &ox_int8_ports_qlinear, err);
}

enum ox_status ox_int8_conv_integer(struct ox_run *r, struct ox_error *err)
{
    return serve(r, &ox_int8_ports_plain, err);
}

enum ox_status ox_int8_prepare_conv_integer(struct ox_run *r, struct ox_error *err)
{
    return prepare(r, &ox_int8_ports_plain, err);
}

/* ---- IntegerConv -------------------------------------------------------------------------------------------------- */

static enum ox_status run_own(struct ox_run *r, struct ox_error *err)
{
    const enum ox_status status = serve(r, &ox_int8_ports_qlinear, err);
    return status == OX_UNSUPPORTED
               ? ox_run_fail(r, err, OX_INPUT, "inputs of shapes or types that do not fit")
               : status;
}

static void infer_own(struct ox_infer *c)
{
    enum { X, W = 3, Y_SCALE = 6, Y_ZERO };
    if (ox_infer_int_attr(c, "layout", 0) == 0)
        ox_infer_conv(c, X, W);
    if (ox_infer_has(c, OX_TABLE))
        ox_infer_same_dtype(c, 0, OX_TABLE);
    else if (ox_infer_has(c, Y_ZERO))
        ox_infer_same_dtype(c, 0, Y_ZERO);
    else
        ox_infer_set_dtype(c, 0, ox_infer_has(c, Y_SCALE) ? OX_UINT8 : OX_FLOAT32);
}

const struct ox_op ox_ops_int8_conv[] = {{OX_OWN_DOMAIN, "IntegerConv", 1, .infer = infer_own,
                                          .run = run_own, .prepare = ox_int8_prepare_qlinear_conv},
                                         {0}};
