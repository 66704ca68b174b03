/* FusedConv: Conv over one to three axes with what follows it, in either layout. Inputs: data, weights (OIHW), bias (O), scale (O,
 * multiplies the sum before the bias), residual (of the output's shape and layout, added before the activation, with the attribute
 * `residual_last` behind it). With the attribute `transposed` it is ConvTranspose (weights IOHW). With `join_channels` the output has
 * so many of them, its own from `join_at` on, and the others of a sixth input, in whose memory it is made (without one they are not
 * set): a Concat that is no copy. With the attribute `steps` the data are what an Elementwise would make of input 0 with `steps` and
 * `joined` (fused_steps.h), whose operands are behind the sixth input: pixels are made as they are read. With the attribute `gated` the
 * input behind the sixth has a factor for each channel of the data; only of pointwise convolutions whose weights are packed. With
 * `pool` (kernel, strides, padding before and after, height first in each) the output is what MaxPool makes of that; only where planes
 * are read as they lie and the output's channels are last. */
#include <string.h>

#include "kernels/convolve_filter.h"
#include "kernels/convolve_pooled.h"
#include "kernels/dense.h"
#include "kernels/maps.h"
#include "ops/conv.h"
#include "ops/fast/fast.h"
#include "ops/fused/fused.h"
#include "ops/fused/fused_steps.h"
#include "ops/fused/fused_volume.h"
#include "ops/infer.h"
#include "ops/window.h"

enum { IN_X, IN_WEIGHTS, IN_BIAS, IN_SCALE, IN_RESIDUAL, IN_JOINED, IN_GATE, MOST_RANK = 5 };

/* What stays with the node: how, the weights' shape, and the packed weights and the bias behind it. */
struct packed_conv {
    enum ox_conv_way way;
    bool planes; /* the weights are as they were: planes become planes (ox_conv_planes()) */
    unsigned rank;
    int64_t dims[MOST_RANK]; /* of the weights */
    float *weights;
    float *bias; /* NULL: none */
};

struct job {
    struct ox_conv c; /* over two axes, whatever the node's */
    struct ox_slices slices;
    size_t images, in_pixels, out_pixels; /* of the node; pixels of an image */
    const struct ox_compute *table;
    const struct ox_window *window;
    unsigned rank;
    bool in_last, out_last;
    size_t at;               /* channel of the output where its own begin */
    int64_t dims[MOST_RANK]; /* of the output, in its layout */
    struct packed_conv *packed;
    bool pooled;
    struct ox_pooling pool;
    struct ox_steps *steps; /* NULL: none */
    struct ox_made made;
    float *whole; /* what that made, where it is made before */
};

/* Where the output is a slice of a larger one. */
static enum ox_status read_slice(struct ox_run *r, struct job *job, struct ox_error *err)
{
    int64_t all, at;
    OX_TRY(ox_fused_slice(r, (int64_t)job->c.out_channels, &all, &at, err));
    if (all == (int64_t)job->c.out_channels)
        return OX_OK;
    if (!job->out_last)
        return ox_run_fail(r, err, OX_INPUT, "its channels are not last");
    job->at = (size_t)at;
    job->c.out_pixel = (size_t)all;
    job->dims[job->rank - 1] = all;
    return OX_OK;
}

/* What makes the data that is convolved, and how many channels it has. */
static enum ox_status read_made(struct ox_run *r, struct job *job, int64_t *channels,
                                struct ox_error *err)
{
    size_t row;
    if (!ox_node_attr(r->node, "steps"))
        return OX_OK;
    if (!job->in_last)
        return ox_run_fail(r, err, OX_INPUT, "its channels are not last");
    OX_TRY(ox_steps_read(r, &job->steps, &row, err));
    job->made = (struct ox_made){ox_steps_rows, job->steps};
    *channels = (int64_t)row;
    return OX_OK;
}

static bool is_planar(const struct job *job)
{
    return !job->in_last && job->rank < 5 && !job->c.transposed && job->c.groups == 1 &&
           job->c.in_channels <= 4 && job->c.dilation[0] == 1 && job->c.dilation[1] == 1 &&
           ox_conv_lines_fit(&job->c);
}

/* The pool of the outputs, whose sizes become its own. */
static enum ox_status read_pool(struct ox_run *r, struct job *job, struct ox_error *err)
{
    size_t n;
    const int64_t *list = ox_run_ints(r, "pool", &n);
    const struct ox_conv *c = &job->c;
    if (!list)
        return OX_OK;
    if (n != 8 || job->rank != 4 || !is_planar(job) || !job->out_last || job->at ||
        c->out_pixel != c->out_channels || ox_run_has(r, IN_RESIDUAL))
        return ox_run_fail(r, err, OX_INPUT, "it cannot pool what it makes");
    struct ox_pooling *p = &job->pool;
    *p = (struct ox_pooling){.kind = OX_POOL_MAX,
                             .batch = c->batch,
                             .channels = c->out_channels,
                             .dilation = {1, 1},
                             .in_pixel = c->out_channels,
                             .out_pixel = c->out_channels};
    for (unsigned k = 0; k < 2; k++) {
        const int64_t kernel = list[k], stride = list[2 + k], pads = list[4 + k] + list[6 + k];
        const int64_t room = (int64_t)c->out[k] + pads - kernel;
        if (room < 0 && c->out[k])
            return ox_run_fail(r, err, OX_INPUT,
                               "the pool's kernel spans %lld, its input only %lld",
                               (long long)kernel, (long long)c->out[k] + pads);
        p->kernel[k] = (size_t)kernel;
        p->stride[k] = (size_t)stride;
        p->pad[k] = (size_t)list[4 + k];
        p->pad_end[k] = (size_t)list[6 + k];
        p->in[k] = c->out[k];
        p->out[k] = room < 0 ? 0 : (size_t)(room / stride + 1);
        job->dims[1 + k] = (int64_t)p->out[k];
    }
    job->pooled = true;
    return OX_OK;
}

static enum ox_status read_sizes(struct ox_run *r, const int64_t *weights, unsigned rank,
                                 struct job *job, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, IN_X);
    struct ox_tensor *shape;
    struct ox_window *w = ox_run_scratch(r, 1, sizeof *w, err);
    if (!w)
        return OX_NO_MEMORY;
    int64_t layout = ox_run_int(r, "layout", 0), groups = ox_run_int(r, "group", 1);
    job->in_last = layout & OX_IN_LAST;
    job->out_last = layout & OX_OUT_LAST;
    if (!x || x->dtype != OX_FLOAT32 || x->rank != rank || rank < 3 || rank > MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT,
                           "the input's rank is %u, the weights' %u: not the same, or under 3",
                           x ? x->rank : 0, rank);
    OX_TRY(ox_fused_first(r, x, job->in_last, &shape, err));
    OX_TRY(read_made(r, job, &shape->dims[1], err));
    bool transposed = ox_run_int(r, "transposed", 0) || !strcmp(r->node->op_type, "ConvTranspose");
    int64_t in = shape->dims[1], out = transposed ? weights[1] : weights[0];
    bool fits = groups >= 1 && in % groups == 0 &&
                (transposed ? weights[0] == in && !OX_MUL_OVERFLOWS(out, groups, &out)
                            : out % groups == 0 && weights[1] == in / groups);
    if (!fits && transposed)
        return ox_run_fail(r, err, OX_INPUT,
                           "%lld groups do not fit %lld input channels and weights for %lld",
                           (long long)groups, (long long)in, (long long)weights[0]);
    if (!fits)
        return ox_run_fail(
            r, err, OX_INPUT,
            "%lld groups do not fit %lld input channels and weights [%lld, %lld, ...]",
            (long long)groups, (long long)in, (long long)weights[0], (long long)weights[1]);
    if (transposed)
        OX_TRY(ox_window_transposed(r, shape, weights + 2, w, err));
    else
        OX_TRY(ox_window_init(r, shape, weights + 2, false, w, err));
    struct ox_conv *c = &job->c;
    *c = (struct ox_conv){.batch = (size_t)shape->dims[0],
                          .groups = (size_t)groups,
                          .in_channels = (size_t)in,
                          .out_channels = (size_t)out,
                          .in_pixel = (size_t)in,
                          .out_pixel = (size_t)out,
                          .transposed = transposed};
    if (rank == 5 && (transposed || groups != 1))
        return ox_run_fail(r, err, OX_INPUT, "three axes are for one group, not transposed");
    if (rank == 5)
        ox_volume_fold(w, c, &job->slices);
    for (unsigned k = 0; k < 2 && rank < 5; k++) {
        unsigned missing = 4 - rank; /* 1-D has height 1 */
        bool is = k >= missing;
        unsigned d = is ? k - missing : 0;
        c->kernel[k] = is ? (size_t)w->kernel[d] : 1;
        c->stride[k] = is ? (size_t)w->stride[d] : 1;
        c->dilation[k] = is ? (size_t)w->dilation[d] : 1;
        c->pad[k] = is ? (size_t)w->before[d] : 0;
        c->in[k] = is ? (size_t)w->in[d] : 1;
        c->out[k] = is ? (size_t)w->out[d] : 1;
    }
    job->images = (size_t)shape->dims[0];
    job->in_pixels = w->n_in;
    job->out_pixels = w->n_out;
    job->window = w;
    job->rank = rank;
    job->dims[0] = shape->dims[0];
    job->dims[job->out_last ? rank - 1 : 1] = out;
    OX_TRY(read_slice(r, job, err));
    for (unsigned d = 0; d < w->n; d++)
        job->dims[d + (job->out_last ? 1 : 2)] = w->out[d];
    return read_pool(r, job, err);
}

static bool reads_in_place(const struct ox_conv *c)
{
    for (unsigned k = 0; k < 2; k++)
        if (c->kernel[k] != 1 || c->stride[k] != 1 || c->pad[k] || c->in[k] != c->out[k])
            return false;
    return true;
}

/* Whether planes that each have a filter of their own are summed as they lie: a few, which fill no vector; where nothing is summed; by few
 * taps along lines so long, of maps that are too large to be turned where they are near. */
static bool is_depthwise(const struct job *job)
{
    enum { FEW = 4, WIDE = 14, SMALL = 9, LONG = 56, LONG_ALONE = 200, LARGE = 1 << 17 };
    const struct ox_conv *c = &job->c;
    if (c->groups != c->in_channels || c->groups != c->out_channels)
        return false;
    if (c->groups <= FEW && c->out[1] >= WIDE)
        return true;
    if (reads_in_place(c))
        return c->out[0] * c->out[1] >= WIDE;
    const double floats =
        (double)job->images * (double)c->in_channels * (double)c->in[0] * (double)c->in[1];
    return c->kernel[0] * c->kernel[1] <= SMALL &&
           (c->in[0] == 1 ? c->in[1] >= LONG_ALONE : c->in[1] >= LONG && floats >= LARGE);
}

/* Whether all planes make one, of long lines; sums that are too long for one chain lose digits. */
static bool makes_one(const struct ox_compute *t, const struct ox_conv *c)
{
    enum { LONG = 32 };
    return c->out_channels == 1 && c->in_channels * c->kernel[0] * c->kernel[1] <= t->depth_most &&
           (reads_in_place(c) ? c->out[0] : 1) * c->out[1] >= LONG;
}

/* Many pixels are more work to turn than to gather: all that each reads, where it has fewer taps than channels, or none; groups of a few
 * outputs are summed faster side by side. Few pixels would leave tiles of planes half empty; weights that vary are read as they are,
 * though, where they would have to be packed. */
static bool goes_by_planes(const struct ox_run *r, const struct job *job, bool constant)
{
    enum { MANY = 512, ROWS = 8 };
    const struct ox_conv *c = &job->c;
    const bool many = c->out[0] * c->out[1] >= MANY;
    const bool rows = c->groups == 1 || c->out_channels >= ROWS * c->groups;
    const bool few = reads_in_place(c) &&
                     ox_filter_conv_is_few(c->out[0] * c->out[1], c->groups,
                                           c->in_channels / c->groups, c->out_channels / c->groups);
    const bool few_taps = c->in_channels * c->kernel[0] * c->kernel[1] <= c->out_channels;
    return !job->in_last && !job->out_last && !c->transposed && c->in_channels > 0 &&
           !ox_run_has(r, IN_RESIDUAL) && !ox_run_has(r, IN_JOINED) &&
           (is_depthwise(job) || few || makes_one(job->table, c) ||
            (many && rows && reads_in_place(c)) ||
            (c->groups == 1 && few_taps && (many || !constant)));
}

/* The weights of the convolution over two axes. */
static const float *folded_weights(struct ox_run *r, const struct job *job, const float *weights,
                                   struct ox_error *err)
{
    if (!job->slices.taps)
        return weights;
    float *turned = ox_run_work(r, ox_run_in(r, IN_WEIGHTS)->n, sizeof *turned, err);
    if (turned)
        ox_volume_turn_weights(&job->slices, &job->c, weights, turned);
    return turned;
}

/* What packed weights depend on beside the inputs: sizes of maps are not among it, or they would not serve other sizes. */
struct weights_key {
    enum ox_conv_way way;
    size_t planes, taps, transposed, groups, in_channels, out_channels, kernel[2], stride[2],
        dilation[2];
};

static void *keep_packed(struct ox_run *r, const struct job *job, enum ox_conv_way way, bool planes,
                         size_t bytes, bool *made, struct ox_error *err)
{
    const struct ox_conv *c = &job->c;
    struct weights_key key;
    memset(&key, 0, sizeof key);
    key.way = way;
    key.planes = planes;
    key.taps = job->slices.taps;
    key.transposed = c->transposed;
    key.groups = c->groups;
    key.in_channels = c->in_channels;
    key.out_channels = c->out_channels;
    for (unsigned d = 0; d < 2; d++) {
        key.kernel[d] = c->kernel[d];
        key.stride[d] = c->stride[d];
        key.dilation[d] = c->dilation[d];
    }
    return ox_run_keep_shared(r, &key, sizeof key, bytes, made, err);
}

/* The sizes that the packed weights stand for, and the block that holds them: the node's, or until the kernel returns. */
static enum ox_status pack(struct ox_run *r, struct job *job, bool keep, struct ox_error *err)
{
    const struct ox_tensor *weights = ox_run_in(r, IN_WEIGHTS), *bias = ox_run_in(r, IN_BIAS);
    if (!weights || weights->dtype != OX_FLOAT32 || weights->rank < 3 || weights->rank > MOST_RANK)
        return ox_run_fail(r, err, OX_INPUT, "the weights are no float32 of rank 3 to 5");
    OX_TRY(read_sizes(r, weights->dims, weights->rank, job, err));
    OX_TRY(ox_fused_check_list(r, IN_BIAS, (int64_t)job->c.out_channels, "bias", err));
    OX_TRY(ox_fused_check_list(r, IN_SCALE, (int64_t)job->c.out_channels, "scale", err));
    struct ox_conv c = job->c;
    c.planar = is_planar(job);
    const unsigned may =
        OX_CONV_MAY_WINOGRAD2 | OX_CONV_MAY_WINOGRAD4 | (keep ? 0 : OX_CONV_PACKED_FOR_ONE_RUN);
    enum ox_conv_way way = ox_conv_choose(job->table, &c, may);
    const bool planes = goes_by_planes(r, job, keep);
    const bool in_place = !planes && !keep && ox_conv_reads_stored(job->table, way, &c);
    size_t n = in_place ? 0 : planes ? weights->n : ox_conv_packed(job->table, way, &c);
    size_t head = (sizeof(struct packed_conv) + 63) / 64 * 64, n_bias = bias ? bias->n : 0;
    size_t floats;
    if (OX_ADD_OVERFLOWS(n, n_bias + 16, &floats) || floats > SIZE_MAX / 8)
        return ox_run_fail(r, err, OX_LIMIT, "the weights are too large");
    floats += head / sizeof(float);
    bool made = false;
    void *block = keep ? keep_packed(r, job, way, planes, floats * sizeof(float), &made, err)
                       : ox_run_work(r, floats, sizeof(float), err);
    if (made)
        return OX_OK;
    const float *from = block ? ox_fused_scaled(r, weights, ox_run_in(r, IN_SCALE),
                                                c.transposed ? c.groups : 0, err)
                              : NULL;
    if (from && !planes)
        from = folded_weights(r, job, from, err);
    if (!from)
        return OX_NO_MEMORY;
    struct packed_conv *packed = job->packed = block;
    *packed = (struct packed_conv){.way = way, .planes = planes, .rank = weights->rank};
    memcpy(packed->dims, weights->dims, weights->rank * sizeof *packed->dims);
    packed->weights = (float *)(void *)((char *)block + head);
    if (bias) {
        packed->bias = packed->weights + (n + 15) / 16 * 16;
        memcpy(packed->bias, bias->data, n_bias * sizeof(float));
    }
    if (in_place)
        job->c.stored = from;
    else if (planes)
        memcpy(packed->weights, from, n * sizeof *from);
    else
        ox_conv_pack(job->table, r->env, way, &c, from, OX_WEIGHT_F32, packed->weights);
    return OX_OK;
}

static enum ox_status prepare_conv(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.table = ox_compute(ox_cpu())};
    if (r->once)
        return OX_OK;
    for (size_t i = IN_WEIGHTS; i <= IN_SCALE; i++)
        if (ox_run_has(r, i) && !r->fixed[i])
            return OX_OK;
    OX_TRY(pack(r, &job, true, err));
    for (size_t i = IN_WEIGHTS; i <= IN_SCALE; i++)
        if (ox_run_has(r, i))
            ox_run_absorb(r, i);
    return OX_OK;
}

static void make_some(void *arg, size_t from, size_t to)
{
    const struct job *job = arg;
    job->made.rows(job->made.arg, from, to - from, job->whole + from * job->c.in_channels);
}

/* All that is convolved, before. */
static const float *make_all(struct ox_run *r, struct job *job, struct ox_error *err)
{
    enum { GRAIN = 1 << 13 };
    const size_t pixels = job->c.batch * job->c.in[0] * job->c.in[1], n = job->c.in_channels;
    job->whole = ox_run_work(r, pixels * n, sizeof(float), err);
    if (job->whole && n)
        ox_fast_spread(r->env, pixels, GRAIN / n + 1, (double)n, make_some, job);
    return job->whole;
}

/* Data in the layout that the kernel reads. */
static const float *input_of(struct ox_run *r, struct job *job, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, IN_X);
    if (job->steps && ox_conv_makes_rows(job->table, job->packed->way, &job->c)) {
        job->c.made = &job->made;
        return x->data;
    }
    if (job->steps)
        return make_all(r, job, err);
    if (job->in_last || job->c.planar)
        return x->data;
    const size_t channels =
        job->slices.taps ? job->c.in_channels / job->slices.taps : job->c.in_channels;
    float *turned = ox_run_work(r, x->n, sizeof(float), err);
    if (turned)
        ox_maps_to_nhwc(job->table, r->env, job->images, channels, job->in_pixels, x->data, turned,
                        channels);
    return turned;
}

static enum ox_status residual_of(struct ox_run *r, struct job *job, const struct ox_tensor *y,
                                  struct ox_epilogue *end, struct ox_error *err)
{
    const struct ox_tensor *residual = ox_run_in(r, IN_RESIDUAL);
    if (!residual)
        return OX_OK;
    bool fits = residual->dtype == OX_FLOAT32 && residual->rank == y->rank;
    for (unsigned d = 0; fits && d < y->rank; d++)
        fits = residual->dims[d] ==
               (job->out_last && d == y->rank - 1 ? (int64_t)job->c.out_channels : y->dims[d]);
    if (!fits)
        return ox_run_fail(r, err, OX_INPUT, "the residual has not the output's shape");
    end->residual = residual->data;
    end->residual_ld = job->c.out_channels;
    end->residual_last = ox_run_int(r, "residual_last", 0) != 0;
    if (job->out_last)
        return OX_OK;
    float *turned = ox_run_work(r, residual->n, sizeof(float), err);
    if (!turned)
        return OX_NO_MEMORY;
    ox_maps_to_nhwc(job->table, r->env, job->images, job->c.out_channels, job->out_pixels,
                    residual->data, turned, job->c.out_channels);
    end->residual = turned;
    return OX_OK;
}

/* The output: in the residual's memory where nobody needs that any more, which is less to bring near. */
static enum ox_status output_of(struct ox_run *r, const struct job *job, struct ox_tensor **y,
                                struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, IN_X), *residual = ox_run_in(r, IN_RESIDUAL);
    if (x && residual && residual->data != x->data && residual->rank == job->rank &&
        memcmp(residual->dims, job->dims, job->rank * sizeof *job->dims) == 0 && job->out_last &&
        !ox_run_in(r, IN_JOINED) && !ox_run_int(r, "residual_last", 0) &&
        ox_conv_adds_in_place(job->table, job->packed->way, &job->c))
        return ox_run_out_reuse(r, 0, IN_RESIDUAL, OX_FLOAT32, job->rank, job->dims, y, err);
    return ox_fused_whole(r, IN_JOINED, OX_FLOAT32, job->rank, job->dims, y, err);
}

static enum ox_status run_planes(struct ox_run *r, const struct job *job,
                                 const struct ox_epilogue *end, float *y, struct ox_error *err)
{
    const struct ox_conv *c = &job->c;
    struct ox_plain_conv *cv = ox_run_scratch(r, 1, sizeof *cv, err);
    if (!cv)
        return OX_NO_MEMORY;
    *cv = (struct ox_plain_conv){.w = *job->window,
                                 .images = job->images,
                                 .groups = c->groups,
                                 .in_group = (size_t)job->packed->dims[1],
                                 .out_group = c->out_channels / c->groups,
                                 .x = ox_run_in(r, IN_X)->data,
                                 .weights = job->packed->weights,
                                 .bias = job->packed->bias,
                                 .y = y};
    const enum ox_status status = ox_conv_planes(r, cv, end, err);
    return status == OX_UNSUPPORTED ? ox_run_fail(r, err, OX_LIMIT, "the data is too large")
                                    : status;
}

/* Packed weights: factors of the data are theirs. */
static enum ox_status weights_of(struct ox_run *r, const struct job *job, const float **weights,
                                 struct ox_error *err)
{
    const struct packed_conv *packed = job->packed;
    *weights = packed->weights;
    if (!ox_run_int(r, "gated", 0))
        return OX_OK;
    const struct ox_tensor *gate = ox_run_in(r, IN_GATE);
    const size_t k = job->c.in_channels, n = job->c.out_channels;
    if (!gate || gate->dtype != OX_FLOAT32 || gate->n != k)
        return ox_run_fail(r, err, OX_INPUT, "there are no %zu factors of the data", k);
    if (packed->way != OX_CONV_POINTWISE || packed->planes || job->c.stored)
        return ox_run_fail(r, err, OX_INPUT, "its weights cannot have factors");
    float *scaled = ox_run_work(r, ox_dense_packed(job->table, k, n), sizeof(float), err);
    if (!scaled)
        return OX_NO_MEMORY;
    ox_dense_scale_packed(job->table, k, n, packed->weights, gate->data, scaled);
    *weights = scaled;
    return OX_OK;
}

/* As many slices of the output at a time as are put side by side. */
static enum ox_status run_slices(struct ox_run *r, const struct job *job, const float *weights,
                                 const float *x, float *out, const struct ox_epilogue *end,
                                 float *work, struct ox_error *err)
{
    const struct ox_slices *s = &job->slices;
    struct ox_conv c = job->c;
    const size_t all = s->images * s->out, pixels = c.out[0] * c.out[1];
    size_t n;
    if (OX_MUL_OVERFLOWS(s->at_once * c.in[0] * c.in[1], c.in_channels, &n))
        return ox_run_fail(r, err, OX_LIMIT, "the data is too large");
    float *beside = ox_run_work(r, n, sizeof *beside, err);
    if (!beside)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < all; i += s->at_once) {
        struct ox_epilogue own = *end;
        own.residual = end->residual ? end->residual + i * pixels * end->residual_ld : NULL;
        c.batch = all - i < s->at_once ? all - i : s->at_once;
        ox_volume_gather(r->env, s, &c, x, i, c.batch, beside);
        ox_conv_run(job->table, r->env, job->packed->way, &c, weights, beside,
                    out + i * pixels * c.out_pixel, &own, work);
        OX_TRY(ox_env_poll(r->env, err));
    }
    return OX_OK;
}

static enum ox_status run_conv(struct ox_run *r, struct ox_error *err)
{
    struct job job = {.table = ox_compute(ox_cpu()), .packed = ox_run_state(r)};
    if (job.packed)
        OX_TRY(read_sizes(r, job.packed->dims, job.packed->rank, &job, err));
    else
        OX_TRY(pack(r, &job, false, err));
    struct ox_tensor *y;
    struct ox_fused_row row;
    struct ox_epilogue end = {.col_bias = job.packed->bias};
    OX_TRY(output_of(r, &job, &y, err));
    if (!y->n)
        return OX_OK;
    OX_TRY(ox_fused_activation(r, &end, &row, err));
    const float *weights;
    OX_TRY(weights_of(r, &job, &weights, err));
    if (job.packed->planes)
        return run_planes(r, &job, &end, y->data, err);
    OX_TRY(residual_of(r, &job, y, &end, err));
    job.c.planar = is_planar(&job);
    const float *x = input_of(r, &job, err);
    float *out =
        job.out_last ? (float *)y->data + job.at : ox_run_work(r, y->n, sizeof(float), err);
    size_t n_work = job.pooled ? ox_conv_pooled_work(job.table, r->env, &job.c, &job.pool)
                               : ox_conv_work(job.table, r->env, job.packed->way, &job.c);
    float *work = ox_run_work(r, n_work, sizeof(float), err);
    if (!x || !out || !work)
        return OX_NO_MEMORY;
    if (job.pooled)
        ox_conv_pooled(job.table, r->env, &job.c, &job.pool, weights, x, out, &end, work);
    else if (job.slices.taps)
        OX_TRY(run_slices(r, &job, weights, x, out, &end, work, err));
    else
        ox_conv_run(job.table, r->env, job.packed->way, &job.c, weights, x, out, &end, work);
    if (!job.out_last)
        ox_maps_to_nchw(job.table, r->env, job.images, job.c.out_channels, job.out_pixels, out,
                        job.c.out_channels, y->data);
    return ox_env_poll(r->env, err);
}

/* Between the steps of what is transposed lies 0 times a weight, and the least weights count as 0 times a pixel: both must be nothing. */
enum ox_status ox_fast_conv_transpose(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, IN_X), *weights = ox_run_in(r, IN_WEIGHTS);
    const char *pad = ox_run_string(r, "auto_pad");
    if (x->dtype != OX_FLOAT32 || x->rank < 3 || x->rank > 4 || weights->rank != x->rank ||
        weights->n == 0 || ox_node_attr(r->node, "output_shape") ||
        (pad && strcmp(pad, "NOTSET") != 0) || !ox_fast_finite(weights->n, weights->data) ||
        !ox_fast_finite(x->n, x->data))
        return OX_UNSUPPORTED;
    return run_conv(r, err);
}

static void infer_fused_conv(struct ox_infer *c)
{
    if (ox_infer_int_attr(c, "layout", 0) == 0 && ox_infer_int_attr(c, "transposed", 0))
        ox_infer_conv_transpose(c);
    else if (ox_infer_int_attr(c, "layout", 0) == 0)
        ox_infer_conv(c, IN_X, IN_WEIGHTS);
    ox_infer_same_dtype(c, 0, IN_X);
}

const struct ox_op ox_ops_fused_conv[] = {{OX_OWN_DOMAIN, "FusedConv", 1, OX_OP_ANY_ADDRESS,
                                           .infer = infer_fused_conv, .run = run_conv,
                                           .prepare = prepare_conv},
                                          {0}};
