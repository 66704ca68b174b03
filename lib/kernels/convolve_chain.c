/* Strips of rows go through all stages while they are in L2 (Howard et al., "MobileNets", and Sandler et al., "MobileNetV2", have
 * the blocks that this is for: the widest map is between the stages and is never in memory whole). The lines that the
 * depthwise stage needs again for the next strip are kept. */
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_chain.h"
#include "kernels/convolve_impl.h"

struct job {
    const struct ox_compute *t;
    const struct ox_chain *c;
    const float *in;
    float *out, *work;
    size_t parts;       /* tasks an image */
    size_t part_rows;   /* of the output, in a task */
    size_t strip;       /* of the output, at a time */
    size_t wide_lines;  /* that a strip may need */
    size_t wide, dense; /* floats of expanded lines, and of a strip between the last two stages */
    size_t slot;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t lines_of(const struct ox_conv *d, size_t rows)
{
    return (rows - 1) * d->stride[0] + (d->kernel[0] - 1) * d->dilation[0] + 1;
}

struct ox_conv ox_chain_stage(const struct ox_chain *c, unsigned stage)
{
    const struct ox_conv *d = &c->depthwise;
    struct ox_conv s = {.batch = d->batch,
                        .groups = 1,
                        .in_channels = stage ? d->out_channels : c->in_channels,
                        .out_channels = stage ? c->out_channels : d->in_channels,
                        .kernel = {1, 1},
                        .stride = {1, 1},
                        .dilation = {1, 1}};
    for (unsigned axis = 0; axis < 2; axis++)
        s.in[axis] = s.out[axis] = stage ? d->out[axis] : d->in[axis];
    s.in_pixel = s.in_channels;
    s.out_pixel = s.out_channels;
    return s;
}

/* The depthwise stage of `rows` outputs from `lines` lines, of which the first lies `pad` lines below its first tap. */
static struct ox_conv strip_of(const struct ox_conv *d, size_t rows, size_t lines, size_t pad)
{
    struct ox_conv s = *d;
    s.batch = 1;
    s.out[0] = rows;
    s.in[0] = lines;
    s.pad[0] = pad;
    s.in_pixel = s.out_pixel = d->in_channels;
    s.in_batch = s.out_batch = 0;
    return s;
}

static size_t round_up(size_t n)
{
    return (n + 15) / 16 * 16;
}

static void plan(const struct ox_compute *t, const struct ox_env *env, const struct ox_chain *c,
                 struct job *j)
{
    const struct ox_conv *d = &c->depthwise;
    const size_t line = d->in[1] * d->in_channels, out_line = d->out[1] * d->in_channels;
    memset(j, 0, sizeof *j);
    j->t = t;
    j->c = c;
    /* Rows do not know of each other: parts may go by the number of threads. */
    j->parts = min_size(ox_slots(env), (d->out[0] + 3) / 4);
    j->parts = j->parts && d->batch < 2 * ox_slots(env) ? j->parts : 1;
    j->part_rows = (d->out[0] + j->parts - 1) / j->parts;
    j->strip = 1;
    while (j->strip < j->part_rows &&
           line * lines_of(d, j->strip + 1) + out_line * (j->strip + 1) <= t->block_floats)
        j->strip++;
    j->strip = ox_even_part(j->part_rows, j->strip, 1);
    j->wide_lines = lines_of(d, j->strip ? j->strip : 1);
    j->wide = c->in_channels ? round_up(j->wide_lines * line) : 0;
    j->dense = c->out_channels ? round_up(j->strip * out_line) : 0;
    const struct ox_conv s = strip_of(d, j->strip ? j->strip : 1, j->wide_lines, d->pad[0]);
    j->slot = j->wide + j->dense + round_up(ox_conv_depthwise_work(&s, NULL));
}

size_t ox_chain_work(const struct ox_compute *t, const struct ox_env *env, const struct ox_chain *c)
{
    struct job j;
    size_t all;
    plan(t, env, c, &j);
    return OX_MUL_OVERFLOWS(j.slot, ox_slots(env), &all) ? SIZE_MAX : all;
}

static void pointwise(const struct job *j, unsigned stage, size_t m, const float *in, float *out,
                      size_t row)
{
    const struct ox_conv s = ox_chain_stage(j->c, stage);
    const struct ox_dense d = {.m = m,
                               .n = s.out_channels,
                               .k = s.in_channels,
                               .a = in,
                               .a_row = s.in_channels,
                               .a_col = 1,
                               .packed = j->c->packed[stage],
                               .c = out,
                               .c_row = s.out_channels,
                               .end = ox_end_at(&j->c->end[stage], row, 0)};
    ox_dense_run(j->t, NULL, &d, NULL);
}

/* The lines [first, last) of the image, expanded, behind those of the strip before that are needed again. */
struct lines {
    size_t first, last;
    float *data;
};

static void expand(const struct job *j, size_t image, size_t first, size_t last, struct lines *l)
{
    const struct ox_conv *d = &j->c->depthwise;
    const size_t line = d->in[1] * d->in_channels;
    if (first > l->first && first < l->last)
        memmove(l->data, l->data + (first - l->first) * line,
                (l->last - first) * line * sizeof *l->data);
    const size_t have = first < l->last ? l->last : first;
    l->first = first;
    l->last = last > have ? last : have;
    if (last > have)
        pointwise(j, 0, (last - have) * d->in[1],
                  j->in + (image * d->in[0] + have) * d->in[1] * j->c->in_channels,
                  l->data + (have - first) * line, (image * d->in[0] + have) * d->in[1]);
}

static void one_strip(const struct job *j, size_t image, size_t y0, size_t y1, struct lines *l,
                      float *between, float *work)
{
    const struct ox_chain *c = j->c;
    const struct ox_conv *d = &c->depthwise;
    const size_t top = y0 * d->stride[0]; /* `pad` lines above the image's first are zeros */
    const size_t above = top < d->pad[0] ? d->pad[0] - top : 0;
    const size_t first = min_size(top + above - d->pad[0], d->in[0]);
    const size_t reach = top + lines_of(d, y1 - y0);
    size_t last = min_size(reach > d->pad[0] ? reach - d->pad[0] : 0, d->in[0]);
    last = last > first ? last : first;
    const float *from = j->in + (image * d->in[0] + first) * d->in[1] * d->in_channels;
    if (c->in_channels) {
        expand(j, image, first, last, l);
        from = l->data;
    }
    const size_t row = (image * d->out[0] + y0) * d->out[1];
    const struct ox_conv s = strip_of(d, y1 - y0, last - first, above);
    if (!c->out_channels) {
        const struct ox_epilogue end = ox_end_at(&c->end[1], row, 0);
        ox_conv_depthwise(j->t, NULL, &s, c->packed[1], from, j->out + row * d->in_channels, &end,
                          work);
        return;
    }
    ox_conv_depthwise(j->t, NULL, &s, c->packed[1], from, between, &c->end[1], work);
    pointwise(j, 2, (y1 - y0) * d->out[1], between, j->out + row * c->out_channels, row);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const size_t image = i / j->parts, y0 = i % j->parts * j->part_rows;
    const size_t y1 = min_size(y0 + j->part_rows, j->c->depthwise.out[0]);
    float *work = j->work + slot * j->slot;
    struct lines l = {.data = work};
    for (size_t y = y0; y < y1; y += j->strip)
        one_strip(j, image, y, min_size(y + j->strip, y1), &l, work + j->wide,
                  work + j->wide + j->dense);
}

void ox_chain_run(const struct ox_compute *t, struct ox_env *env, const struct ox_chain *c,
                  const float *in, float *out, float *work)
{
    struct job j;
    const struct ox_conv *d = &c->depthwise;
    if (d->batch * d->out[0] * d->out[1] * d->in_channels == 0)
        return;
    plan(t, env, c, &j);
    j.in = in;
    j.out = out;
    j.work = work;
    const double taps = (double)(d->kernel[0] * d->kernel[1]);
    const double flops = 2.0 * (double)(d->batch * d->in_channels) *
                         ((double)(d->in[0] * d->in[1]) * (double)c->in_channels +
                          (double)(d->out[0] * d->out[1]) * (3 * taps + (double)c->out_channels));
    ox_spread(env, d->batch * j.parts, flops, run_task, &j);
}
