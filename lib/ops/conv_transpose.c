/* ConvTranspose: a matrix product gives what each input pixel adds under each tap, then all is added up in place. */
#include <inttypes.h>
#include <string.h>

#include "common/threads.h"
#include "kernels/gemm.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/kernel_tables.h"
#include "ops/product.h"
#include "ops/window.h"

enum { PIXELS = 256, ROWS = 128 };

/* Pixels [first, end) of a line that a tap of a row lets reach the output's line; its place for pixel 0. */
struct reach {
    size_t first, end;
    int64_t offset;
};

/* Pixels of the input that are multiplied together: of whole lines, or of a part of one. */
struct part {
    size_t line, lines, x, width;
};

struct transpose {
    struct ox_window w;
    const struct reach *reach;                                         /* of each tap of a row */
    size_t images, groups, in_group, out_group, channel_blocks, block; /* block: channels a task */
    enum ox_dtype dtype;
    const void *x, *weights, *bias;
    void *y;
    struct ox_task_state state;
};

static struct part part_at(const struct ox_window *w, size_t pixel)
{
    const size_t width = (size_t)w->in[w->n - 1], left = w->n_in - pixel;
    struct part part = {.line = pixel / width, .lines = 1, .x = pixel % width};
    part.width = width - part.x < PIXELS ? width - part.x : PIXELS;
    if (part.width == width)
        part.lines = left / width < PIXELS / width ? left / width : PIXELS / width;
    return part;
}

#define STAMP "ops/conv_transpose_tmpl.h"
#include "common/stamp_floats.h"

static void transpose_task(void *arg, size_t i)
{
    struct transpose *tr = arg;
    size_t channel = i % tr->channel_blocks * tr->block, plane = i / tr->channel_blocks;
    size_t channels = tr->out_group - channel < tr->block ? tr->out_group - channel : tr->block;
    size_t rows = channels * tr->w.taps, elem = ox_dtype_size(tr->dtype);
    size_t n_work = ox_gemm_work(rows, PIXELS, tr->in_group), n_columns = rows * PIXELS;
    void *work = ox_task_alloc(&tr->state, n_work, elem);
    void *columns = ox_task_alloc(&tr->state, n_columns, elem);
    if (work && columns) {
        if (tr->dtype == OX_FLOAT32)
            transpose_block_f32(tr, plane / tr->groups, plane % tr->groups, channel, channels, work,
                                columns);
        else
            transpose_block_f64(tr, plane / tr->groups, plane % tr->groups, channel, channels, work,
                                columns);
    }
    ox_task_free(&tr->state, work, n_work, elem);
    ox_task_free(&tr->state, columns, n_columns, elem);
}

/* Size and padding of one axis. wanted: output_shape's value or -1. */
static enum ox_status place_axis(struct ox_run *r, struct ox_window *w, unsigned d,
                                 enum ox_auto_pad mode, int64_t extra, int64_t wanted,
                                 const int64_t *pads, struct ox_error *err)
{
    int64_t reach, full;
    if (OX_MUL_OVERFLOWS(w->kernel[d] - 1, w->dilation[d], &reach) ||
        OX_MUL_OVERFLOWS(w->in[d] - 1, w->stride[d], &full) ||
        OX_ADD_OVERFLOWS(full, reach, &full) || OX_ADD_OVERFLOWS(full, extra + 1, &full))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large on spatial axis %u", d);
    bool same = mode == OX_PAD_SAME_UPPER || mode == OX_PAD_SAME_LOWER;
    if (same && wanted < 0 && OX_MUL_OVERFLOWS(w->in[d], w->stride[d], &wanted))
        return ox_run_fail(r, err, OX_LIMIT, "the output is too large on spatial axis %u", d);
    if (wanted >= 0) {
        int64_t total = full > wanted ? full - wanted : 0;
        w->before[d] = mode == OX_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        w->after[d] = total - w->before[d];
        w->out[d] = wanted;
    } else {
        w->before[d] = mode == OX_PAD_NOTSET ? pads[d] : 0;
        w->after[d] = mode == OX_PAD_NOTSET ? pads[w->n + d] : 0;
        w->out[d] = w->in[d] ? full - w->before[d] - w->after[d] : 0;
    }
    if (w->out[d] < 0)
        return ox_run_fail(r, err, OX_INPUT, "spatial axis %u of the output would have size %lld",
                           d, (long long)w->out[d]);
    return OX_OK;
}

static enum ox_status place_output(struct ox_run *r, struct ox_window *w, struct ox_error *err)
{
    const char *text = ox_run_string(r, "auto_pad");
    enum ox_auto_pad mode = ox_auto_pad(text);
    if (mode == OX_PAD_BAD)
        return ox_run_fail(r, err, OX_INPUT, "auto_pad '%.40s' is unknown", text);
    int64_t pads[2 * OX_WINDOW_AXES] = {0}, extra[OX_WINDOW_AXES] = {0};
    int64_t wanted[OX_WINDOW_AXES + 2];
    size_t n_shape;
    bool given;
    OX_TRY(ox_window_list(r, "pads", 2 * (size_t)w->n, 0, pads, NULL, err));
    OX_TRY(ox_window_list(r, "output_padding", w->n, 0, extra, NULL, err));
    /* Some exporters write batch and channels too. */
    ox_run_ints(r, "output_shape", &n_shape);
    size_t skip = n_shape == (size_t)w->n + 2 ? 2 : 0;
    OX_TRY(ox_window_list(r, "output_shape", w->n + skip, 0, wanted, &given, err));
    for (unsigned d = 0; d < w->n; d++)
        OX_TRY(place_axis(r, w, d, mode, extra[d], given ? wanted[skip + d] : -1, pads, err));
    return ox_dims_count(w->n, w->out, &w->n_out)
               ? OX_OK
               : ox_run_fail(r, err, OX_LIMIT, "the output is too large");
}

static const struct reach *find_reach(struct ox_run *r, const struct ox_window *w,
                                      struct ox_error *err)
{
    const unsigned last = w->n - 1;
    const int64_t stride = w->stride[last], in = w->in[last];
    struct reach *reach = ox_run_scratch(r, (size_t)w->kernel[last], sizeof *reach, err);
    for (int64_t q = 0; reach && q < w->kernel[last]; q++) {
        const int64_t offset = q * w->dilation[last] - w->before[last];
        const int64_t room = w->out[last] - offset;
        const int64_t first = offset < 0 ? (stride - 1 - offset) / stride : 0;
        const int64_t end = room > 0 ? (room - 1) / stride + 1 : 0;
        reach[q] = (struct reach){(size_t)first, (size_t)(end < in ? end : in), offset};
    }
    return reach;
}

static enum ox_status transpose_all(struct ox_run *r, struct transpose *tr, struct ox_error *err)
{
    if (!tr->images || !tr->out_group || !tr->w.n_out)
        return OX_OK;
    size_t table;
    if (OX_MUL_OVERFLOWS(tr->w.taps, (size_t)PIXELS * 64, &table))
        return ox_run_fail(r, err, OX_LIMIT, "the kernel is too large");
    tr->reach = find_reach(r, &tr->w, err);
    if (!tr->reach)
        return OX_NO_MEMORY;
    tr->block = tr->w.taps >= ROWS ? 1 : ROWS / tr->w.taps;
    tr->channel_blocks = (tr->out_group - 1) / tr->block + 1;
    tr->state.budget = ox_env_budget(r->env);
    ox_parallel(r->env, tr->images * tr->groups * tr->channel_blocks, transpose_task, tr);
    OX_TRY(ox_env_poll(r->env, err));
    return tr->state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

enum ox_status ox_window_transposed(struct ox_run *r, const struct ox_tensor *x,
                                    const int64_t *kernel, struct ox_window *w,
                                    struct ox_error *err)
{
    OX_TRY(ox_window_read(r, x, kernel, w, err));
    return place_output(r, w, err);
}

static enum ox_status run_conv_transpose(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *w = ox_run_in(r, 1), *b = ox_run_in(r, 2);
    struct transpose *tr = ox_run_scratch(r, 1, sizeof *tr, err);
    if (!tr)
        return OX_NO_MEMORY;
    if (x->rank < 3 || w->rank != x->rank)
        return ox_run_fail(r, err, OX_INPUT,
                           "the input's rank is %u, the weights' %u: not the same, or under 3",
                           x->rank, w->rank);
    int64_t groups = ox_run_int(r, "group", 1), channels;
    if (groups < 1 || x->dims[1] % groups || w->dims[0] != x->dims[1] ||
        OX_MUL_OVERFLOWS(w->dims[1], groups, &channels))
        return ox_run_fail(r, err, OX_INPUT,
                           "%lld groups do not fit %lld input channels and weights for %lld",
                           (long long)groups, (long long)x->dims[1], (long long)w->dims[0]);
    OX_TRY(ox_run_check_list(r, b, channels, "bias", err));
    OX_TRY(ox_window_transposed(r, x, w->dims + 2, &tr->w, err));
    int64_t dims[OX_WINDOW_AXES + 2] = {x->dims[0], channels};
    memcpy(dims + 2, tr->w.out, tr->w.n * sizeof *dims);
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, x->dtype, x->rank, dims, &y, err));
    tr->images = (size_t)x->dims[0];
    tr->groups = (size_t)groups;
    tr->in_group = (size_t)(x->dims[1] / groups);
    tr->out_group = (size_t)w->dims[1];
    tr->dtype = y->dtype;
    tr->x = x->data;
    tr->weights = w->data;
    tr->bias = b ? b->data : NULL;
    tr->y = y->data;
    return transpose_all(r, tr, err);
}

/* ---- Shape rule -------------------------------------------------------------------------------------------------- */

struct lists {
    const int64_t *strides, *dilations, *pads, *extra, *shape, *kernel;
    enum ox_auto_pad mode;
};

/* output_shape, also in the form that begins with N and C, which onnxruntime takes. */
static bool read_output_shape(struct ox_infer *c, unsigned n, struct lists *l)
{
    size_t have;
    const int64_t *all = ox_infer_ints_attr(c, "output_shape", &have);
    if (!all || have != (size_t)n + 2)
        return ox_infer_window_list(c, "output_shape", n, 0, &l->shape);
    ox_infer_conflict(c, "output_shape has %zu values, not %u: no N and C", have, n);
    l->shape = all + 2;
    return true;
}

static bool read_lists(struct ox_infer *c, unsigned n, struct lists *l)
{
    const char *text = ox_infer_string_attr(c, "auto_pad");
    l->mode = ox_auto_pad(text);
    if (l->mode == OX_PAD_BAD) {
        ox_infer_conflict(c, "auto_pad '%.40s' is unknown", text);
        return false;
    }
    if (!ox_infer_window_list(c, "strides", n, 1, &l->strides) ||
        !ox_infer_window_list(c, "dilations", n, 1, &l->dilations) ||
        !ox_infer_window_list(c, "pads", 2 * (size_t)n, 0, &l->pads) ||
        !ox_infer_window_list(c, "output_padding", n, 0, &l->extra) ||
        !ox_infer_window_list(c, "kernel_shape", n, 1, &l->kernel) || !read_output_shape(c, n, l))
        return false;
    if (l->pads && l->mode != OX_PAD_NOTSET && ox_infer_opset(c) >= 11)
        ox_infer_conflict(c, "pads are given beside auto_pad '%s'", text);
    return true;
}

/* The groups share the input's channels out. */
static const struct ox_expr *infer_groups(struct ox_infer *c, const struct ox_expr *channels)
{
    int64_t groups = ox_infer_int_attr(c, "group", 1), n;
    if (groups < 1)
        ox_infer_conflict(c, "group is %" PRId64, groups);
    else if (ox_infer_is_num(channels, &n) && n % groups != 0)
        ox_infer_conflict(c, "%" PRId64 " channels are not shared out among %" PRId64 " groups", n,
                          groups);
    return ox_infer_num(c, groups);
}

static const struct ox_expr *infer_axis(struct ox_infer *c, const struct lists *l, unsigned n,
                                        unsigned d, const struct ox_expr *in,
                                        const struct ox_expr *kernel)
{
    if (l->kernel)
        kernel = kernel ? ox_infer_equal(c, kernel, ox_infer_num(c, l->kernel[d]), "kernel_shape")
                        : ox_infer_num(c, l->kernel[d]);
    ox_infer_some_taps(c, kernel, d);
    if (l->shape)
        return ox_infer_num(c, l->shape[d]);
    const struct ox_expr *stride = ox_infer_num(c, l->strides ? l->strides[d] : 1);
    if (l->mode == OX_PAD_SAME_UPPER || l->mode == OX_PAD_SAME_LOWER)
        return ox_infer_mul(c, in, stride);
    const struct ox_expr *one = ox_infer_num(c, 1);
    const struct ox_expr *reach = ox_infer_mul(c, ox_infer_sub(c, kernel, one),
                                               ox_infer_num(c, l->dilations ? l->dilations[d] : 1));
    const struct ox_expr *full = ox_infer_mul(c, ox_infer_sub(c, in, one), stride);
    full = ox_infer_add(c, ox_infer_add(c, full, reach), one);
    full = ox_infer_add(c, full, ox_infer_num(c, l->extra ? l->extra[d] : 0));
    if (l->mode == OX_PAD_NOTSET && l->pads) {
        full = ox_infer_sub(c, full, ox_infer_num(c, l->pads[d]));
        full = ox_infer_sub(c, full, ox_infer_num(c, l->pads[n + d]));
    }
    return full;
}

void ox_infer_conv_transpose(struct ox_infer *c)
{
    unsigned rank, rank_w;
    const struct ox_expr *const *x;
    const struct ox_expr *const *w;
    bool has_x = ox_infer_shape(c, 0, &rank, &x), has_w = ox_infer_shape(c, 1, &rank_w, &w);
    if (!has_x && !has_w) {
        ox_infer_unknown(c, 0, "the input's rank is not known");
        return;
    }
    if ((has_x && has_w && rank != rank_w) || (has_x ? rank : rank_w) < 3) {
        ox_infer_conflict(c, "the input's rank is %u, the weights' %u: not the same, or under 3",
                          has_x ? rank : 0, has_w ? rank_w : 0);
        return;
    }
    rank = has_x ? rank : rank_w;
    struct lists l = {0};
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    if (!dims || !read_lists(c, rank - 2, &l))
        return;
    if (has_x && has_w)
        ox_infer_equal(c, x[1], w[0], "the number of input channels");
    dims[0] = has_x ? x[0] : NULL;
    const struct ox_expr *groups = infer_groups(c, has_x ? x[1] : NULL);
    dims[1] = has_w ? ox_infer_mul(c, w[1], groups) : NULL;
    for (unsigned d = 0; d < rank - 2; d++)
        dims[2 + d] =
            infer_axis(c, &l, rank - 2, d, has_x ? x[2 + d] : NULL, has_w ? w[2 + d] : NULL);
    ox_infer_set_shape(c, 0, rank, dims);
    ox_infer_conv_bias(c, dims[1]);
}

const struct ox_op ox_ops_conv_transpose[] = {
    {"", "ConvTranspose", 1, .infer = ox_infer_conv_transpose, .run = run_conv_transpose,
     .fast = ox_fast_conv_transpose},
    {"", "ConvTranspose", 11, .infer = ox_infer_conv_transpose, .run = run_conv_transpose,
     .fast = ox_fast_conv_transpose},
    {"", "ConvTranspose", 22, .infer = ox_infer_conv_transpose, .run = run_conv_transpose,
     .fast = ox_fast_conv_transpose},
    {0}};
