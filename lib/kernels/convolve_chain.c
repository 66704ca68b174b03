/* Stages run together (Howard et al., "MobileNets", and Sandler et al., "MobileNetV2", have the blocks that this is for: the widest
 * map is between the stages and is never in memory whole). A panel of the expanded channels at a time: its lines are made in L1
 * between the zeros that frame the image, go through the depthwise stage there, and what comes out is collected for a strip of
 * rows that stays in L2 until the last product reads it. Without a stage before, strips go through the other two. */
#include <math.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_chain.h"
#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"
#include "kernels/triples.h"

/* Floats of lines that stay in L1 beside a panel of weights, beside as many as are summed at once; pixels that make a product
 * efficient. */
enum { NEAR_FLOATS = 4096, NEAR_WIDE = 8192, PIXELS = 24 };

/* Of products by parts the lines stay in L2: parts of weights are made anew for each band, those of rows for each panel. */
enum { NEAR_PARTS = 1 << 15 };

/* Shares of the work that may be lost where the rows are parted: without a product behind the depthwise stage, and with one. */
#define WASTE .1
#define WASTE_BEHIND .2

struct job {
    const struct ox_compute *t;
    const struct ox_chain *c;
    const float *in;
    float *out, *work, *between;
    size_t parts; /* tasks an image: of rows, or a panel each */
    bool by_panels;
    size_t part_rows;       /* of the output, in a task */
    size_t strip;           /* of the output, at a time through all panels */
    size_t band;            /* of the output, at a time through one panel */
    size_t panel, n_panels; /* channels of a panel */
    size_t ring;            /* lines that a band needs */
    size_t across;          /* pixels of a framed line */
    size_t line, lines;     /* floats of a framed line of a panel, and of its ring */
    size_t kept;            /* floats of lines of a panel that the next strip needs again */
    size_t made;            /* floats of new lines before they are framed; of a finished row */
    size_t dense;           /* floats of a strip between the last two stages */
    size_t whole;           /* of all that lies there, where tasks of panels make it */
    size_t last;            /* floats of work of the product that reads that */
    size_t products;        /* floats of work of products by parts, behind the rest of a slot */
    bool by_parts[2];       /* which of the two are */
    size_t slot;
};

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t lines_of(const struct ox_conv *d, size_t rows)
{
    return (rows - 1) * d->stride[0] + (d->kernel[0] - 1) * d->dilation[0] + 1;
}

/* Of all images. */
static size_t pixels(const struct ox_conv *d, const size_t *map)
{
    return d->batch * map[0] * map[1];
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

/* The last product, of `m` pixels from pixel `row` of all images on. */
static struct ox_dense last_product(const struct ox_chain *c, size_t row, size_t m, const float *in,
                                    float *out)
{
    return (struct ox_dense){.m = m,
                             .whole = {pixels(&c->depthwise, c->depthwise.out), c->out_channels},
                             .n = c->out_channels,
                             .k = c->depthwise.out_channels,
                             .a = in,
                             .a_row = c->depthwise.out_channels,
                             .a_col = 1,
                             .packed = c->packed[2],
                             .c = out,
                             .c_row = c->out_channels,
                             .end = ox_end_at(&c->end[2], row, 0)};
}

/* Of the first or the last product: by the shape of the whole stage, as it would go alone. */
static bool by_parts(const struct job *j, unsigned i)
{
    const struct ox_conv s = ox_chain_stage(j->c, 2 * i);
    return ox_triples_pay(j->t, s.batch * s.out[0] * s.out[1], s.out_channels, s.in_channels);
}

/* Rows at a time, and how wide a panel is. */
static void plan_panels(struct job *j)
{
    const struct ox_conv *d = &j->c->depthwise;
    const size_t rows = j->strip ? j->strip : 1;
    j->across = max_size((d->out[1] - 1) * d->stride[1] + (d->kernel[1] - 1) * d->dilation[1] + 1,
                         d->in[1] + d->pad[1]);
    const bool wide = j->t->wide > j->t->nr && lines_of(d, 1) * j->across * j->t->wide <= NEAR_WIDE;
    const size_t nr = wide ? j->t->wide : j->t->nr;
    const size_t near = by_parts(j, 0) ? NEAR_PARTS : wide ? NEAR_WIDE : NEAR_FLOATS;
    j->band = 1;
    while (j->band < rows && lines_of(d, j->band + 1) * j->across * nr <= near)
        j->band++;
    j->band = ox_even_part(rows, j->band, 1);
    j->ring = lines_of(d, j->band);
    j->panel = nr;
    while (j->panel < d->in_channels && j->ring * j->across * (j->panel + nr) <= near)
        j->panel += nr;
    j->panel = ox_even_part(d->in_channels, j->panel, nr);
    j->n_panels = (d->in_channels + j->panel - 1) / j->panel;
    j->line = j->across * j->panel;
    j->lines = ox_round_up(j->ring * j->line, 16);
    if (j->strip < j->part_rows && lines_of(d, 1) > d->stride[0])
        j->kept = ox_round_up((lines_of(d, 1) - d->stride[0]) * j->line, 16);
    const size_t batch = d->in[1] < PIXELS ? j->ring : 1;
    j->made = ox_round_up(max_size(batch * d->in[1], d->out[1]) * j->panel, 16);
    j->slot = ox_round_up(j->line, 16) + j->lines + j->made + j->n_panels * j->kept + j->dense;
}

static void plan_products(struct job *j)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct ox_conv s = ox_chain_stage(j->c, 2 * i);
        j->by_parts[i] = by_parts(j, i);
        if (j->by_parts[i])
            j->products =
                max_size(j->products, ox_triples_work(ox_dense_depth(j->t, s.in_channels)));
    }
    j->slot = ox_round_up(j->slot, 16) + j->products;
}

/* The share of the work by which threads wait for the one that has most of `n` panels. */
static double idle_panels(const struct ox_chain *c, size_t panel, size_t slots)
{
    const double all = (double)c->depthwise.in_channels, most = ceil(all / (double)(panel * slots));
    return most * (double)(panel * slots) / all - 1;
}

/* Whether too much is lost where the rows are parted: lines that two parts need are made twice, and threads wait for the largest part.
 * Panels share nothing, but leave the product behind them, which comes after all of them, and may be too few. */
static bool parts_waste(const struct ox_compute *t, const struct ox_chain *c, size_t parts)
{
    const struct ox_conv *d = &c->depthwise;
    const size_t shared = lines_of(d, 1) > d->stride[0] ? lines_of(d, 1) - d->stride[0] : 0;
    const double twice = (double)(shared * (parts - 1)) / (double)d->in[0];
    const double idle = (double)(ox_round_up(d->out[0], parts) - d->out[0]) / (double)d->out[0];
    const double waste = c->out_channels ? twice + idle : twice;
    return waste > (c->out_channels ? WASTE_BEHIND : WASTE) && waste > idle_panels(c, t->nr, parts);
}

static void plan(const struct ox_compute *t, const struct ox_env *env, const struct ox_chain *c,
                 struct job *j)
{
    const struct ox_conv *d = &c->depthwise;
    const size_t line = c->in_channels ? 0 : d->in[1] * d->in_channels;
    const size_t out_line = d->out[1] * d->in_channels;
    memset(j, 0, sizeof *j);
    j->t = t;
    j->c = c;
    /* Rows do not know of each other: parts may go by the number of threads. */
    const size_t wanted = d->batch < 2 * ox_slots(env) ? ox_slots(env) : 1;
    j->parts = ox_least(wanted, (d->out[0] + 3) / 4);
    j->by_panels =
        wanted > 1 && c->in_channels && (j->parts < wanted || parts_waste(t, c, j->parts));
    j->parts = j->by_panels ? 1 : j->parts;
    j->part_rows = (d->out[0] + j->parts - 1) / j->parts;
    j->strip = c->in_channels && (j->by_panels || !c->out_channels) ? j->part_rows : 1;
    while (j->strip < j->part_rows &&
           line * lines_of(d, j->strip + 1) + out_line * (j->strip + 1) <= t->block_floats)
        j->strip++;
    j->strip = ox_even_part(j->part_rows, j->strip, 1);
    if (c->out_channels && j->by_panels) {
        const struct ox_dense last = last_product(c, 0, pixels(d, d->out), NULL, NULL);
        j->whole = ox_round_up(d->batch * d->out[0] * out_line, 16);
        j->last = ox_dense_work(t, env, &last);
    } else if (c->out_channels)
        j->dense = ox_round_up(j->strip * out_line, 16);
    if (c->in_channels) {
        plan_panels(j);
        j->parts = j->by_panels ? j->n_panels : j->parts;
        plan_products(j);
        return;
    }
    const size_t rows = j->strip ? j->strip : 1;
    const struct ox_conv s = strip_of(d, rows, lines_of(d, rows), d->pad[0]);
    j->slot = j->dense + ox_round_up(ox_conv_depthwise_work(&s, NULL), 16);
    plan_products(j);
}

size_t ox_chain_work(const struct ox_compute *t, const struct ox_env *env, const struct ox_chain *c)
{
    struct job j;
    size_t all;
    if (c->depthwise.out[0] * c->depthwise.out[1] == 0)
        return 0;
    plan(t, env, c, &j);
    if (OX_MUL_OVERFLOWS(j.slot, ox_slots(env), &all) || OX_ADD_OVERFLOWS(all, j.whole, &all) ||
        OX_ADD_OVERFLOWS(all, j.last, &all))
        return SIZE_MAX;
    return all;
}

/* The lines [first, last) that outputs [y0, y1) need of the image. */
static void lines_for(const struct ox_conv *d, size_t y0, size_t y1, size_t *first, size_t *last)
{
    const size_t top = y0 * d->stride[0], reach = top + lines_of(d, y1 - y0);
    *first = ox_least(top > d->pad[0] ? top - d->pad[0] : 0, d->in[0]);
    *last = ox_least(reach > d->pad[0] ? reach - d->pad[0] : 0, d->in[0]);
    *last = max_size(*last, *first);
}

static void product(const struct job *j, const struct ox_dense *d, bool by_parts, float *work)
{
    if (by_parts)
        ox_dense_past_panels(j->t, d, ox_dense_depth(j->t, d->k), d->a, d->a_row, 0, d->m, 0, d->n,
                             d->c, work);
    else
        ox_dense_run(j->t, NULL, d, NULL);
}

/* The last product, of a strip. */
static void project(const struct job *j, size_t m, const float *in, size_t row, float *work)
{
    const struct ox_dense d = last_product(j->c, row, m, in, j->out + row * j->c->out_channels);
    product(j, &d, j->by_parts[1], work);
}

/* A panel of a strip: channels [first, first + channels), which lie `channels` floats from pixel to pixel. */
struct panel {
    size_t image, first, channels;
    const float *zeros; /* a framed line */
    float *ring, *made, *kept, *products;
};

/* `n` pixels of the panel, from pixel `at` of all images on. */
static void expand(const struct job *j, const struct panel *p, size_t at, size_t n, float *to)
{
    const size_t k = j->c->in_channels;
    const float *row = j->in + at * k;
    struct ox_epilogue end = ox_end_at(&j->c->end[0], 0, p->first);
    if (k <= j->t->depth_most && !j->by_parts[0]) {
        const struct ox_line l = {.row = &row,
                                  .rows = 1,
                                  .run = k,
                                  .step = k,
                                  .count = n,
                                  .b = j->c->packed[0] + p->first * k,
                                  .panel = k * j->t->nr,
                                  .c = to,
                                  .ldc = p->channels,
                                  .cols = p->channels,
                                  .near = true,
                                  .end = &end};
        j->t->line(&l);
        if (end.act == OX_ACT_ROW)
            end.row(end.row_arg, n * p->channels, to);
        return;
    }
    const struct ox_dense d = {
        .m = n,
        .whole = {pixels(&j->c->depthwise, j->c->depthwise.in), j->c->depthwise.in_channels},
        .n = p->channels,
        .k = k,
        .a = row,
        .a_row = k,
        .a_col = 1,
        .packed = j->c->packed[0] + p->first * k,
        .c = to,
        .c_row = p->channels,
        .end = end};
    product(j, &d, j->by_parts[0], p->products);
}

/* Lines [first, last) of the image into the ring. Few pixels make a slow product: those of narrow maps are made together. */
static void make_lines(const struct job *j, const struct panel *p, size_t first, size_t last)
{
    const struct ox_conv *d = &j->c->depthwise;
    const size_t line = j->across * p->channels, width = d->in[1];
    const size_t at = (p->image * d->in[0] + first) * width;
    float *frame = p->ring + d->pad[1] * p->channels;
    if (width >= PIXELS) {
        for (size_t y = first; y < last; y++)
            expand(j, p, at + (y - first) * width, width, frame + y % j->ring * line);
    } else if (last > first) {
        expand(j, p, at, (last - first) * width, p->made);
        for (size_t y = first; y < last; y++)
            memcpy(frame + y % j->ring * line, p->made + (y - first) * width * p->channels,
                   width * p->channels * sizeof *frame);
    }
}

/* Where n pixels will be copied, far from each other, comes nearer while they are made. */
static void expect_row(size_t n, size_t channels, const float *out, size_t pixel)
{
    enum { LINE = 16 };
    for (; n > 0; n--, out += pixel)
        for (size_t i = 0; i < channels; i += LINE)
            __builtin_prefetch(out + i, 1, 2);
}

/* One row of the depthwise stage, of a panel: `pixel` floats from output to output. */
static void one_row(const struct job *j, const struct panel *p, size_t y, float *out, size_t pixel)
{
    const struct ox_conv *c = &j->c->depthwise;
    const struct ox_epilogue *end = &j->c->end[1];
    const float *row[OX_CONV_DEPTHWISE_ROWS];
    for (size_t r = 0; r < c->kernel[0]; r++) {
        const size_t at = y * c->stride[0] + r * c->dilation[0] - c->pad[0]; /* wraps above */
        row[r] = at < c->in[0] ? p->ring + at % j->ring * j->across * p->channels : p->zeros;
    }
    struct ox_depthwise d = {.channels = p->channels,
                             .count = c->out[1],
                             .rows = (unsigned)c->kernel[0],
                             .cols = (unsigned)c->kernel[1],
                             .row = row,
                             .pixel = p->channels,
                             .step = c->stride[1],
                             .dilation = c->dilation[1],
                             .weights = j->c->packed[1] + p->first,
                             .weights_ld = c->out_channels};
    const bool done = ox_conv_depthwise_begin(&d, end, p->first);
    const bool aside = !done && pixel != p->channels;
    if (aside)
        expect_row(c->out[1], p->channels, out, pixel);
    d.out = aside ? p->made : out;
    d.out_pixel = aside ? p->channels : pixel;
    j->t->depthwise(&d);
    if (!done)
        ox_conv_depthwise_end(j->t, &d, end, (p->image * c->out[0] + y) * c->out[1], p->first,
                              c->out[1], d.out);
    if (aside)
        ox_conv_copy_pixels(c->out[1], p->channels, p->made, p->channels, out, pixel);
}

/* Zeros left and right of the lines. */
static void frame(const struct job *j, const struct panel *p)
{
    const struct ox_conv *d = &j->c->depthwise;
    const size_t right = j->across - d->pad[1] - d->in[1];
    float *line = p->ring;
    for (size_t i = 0; i < j->ring; i++, line += j->across * p->channels) {
        memset(line, 0, d->pad[1] * p->channels * sizeof *line);
        memset(line + (d->pad[1] + d->in[1]) * p->channels, 0, right * p->channels * sizeof *line);
    }
}

/* The lines [first, last) from the ring, or back into it. */
static void keep(const struct job *j, const struct panel *p, size_t first, size_t last, bool back)
{
    const size_t line = j->across * p->channels;
    for (size_t y = first; y < last; y++) {
        float *here = p->ring + y % j->ring * line, *there = p->kept + (y - first) * line;
        memcpy(back ? here : there, back ? there : here, line * sizeof *here);
    }
}

/* Outputs [y0, y1) of a panel. `fresh`: no line of it is made yet; `more`: other outputs come after. */
static void one_panel(const struct job *j, const struct panel *p, size_t y0, size_t y1, bool fresh,
                      bool more, float *out)
{
    const struct ox_conv *d = &j->c->depthwise;
    const size_t pixel = d->out_channels;
    size_t have = 0, first, last;
    if (!fresh) {
        lines_for(d, y0 - 1, y0, &first, &have);
        lines_for(d, y0, y0 + 1, &first, &last);
        keep(j, p, first, have, true);
    }
    for (size_t y = y0; y < y1; y += j->band) {
        const size_t end = ox_least(y + j->band, y1);
        lines_for(d, y, end, &first, &last);
        make_lines(j, p, max_size(first, have), last);
        have = max_size(last, have);
        for (size_t i = y; i < end; i++)
            one_row(j, p, i, out + (i - y0) * d->out[1] * pixel + p->first, pixel);
    }
    if (more) {
        lines_for(d, y1, y1 + 1, &first, &last);
        keep(j, p, first, have, false);
    }
}

/* Rows [y0, y1) of the panels [from, to). */
static void panels_task(const struct job *j, size_t image, size_t y0, size_t y1, size_t from,
                        size_t to, float *work)
{
    const struct ox_conv *d = &j->c->depthwise;
    float *ring = work + ox_round_up(j->line, 16), *made = ring + j->lines, *kept = made + j->made;
    float *const products = work + j->slot - j->products;
    size_t framed = 0; /* channels of the panel that the ring was framed for */
    memset(work, 0, j->line * sizeof *work);
    for (size_t y = y0; y < y1; y += j->strip) {
        const size_t end = ox_least(y + j->strip, y1);
        const size_t row = (image * d->out[0] + y) * d->out[1];
        float *const all = j->whole ? j->between : j->out;
        float *out = j->dense ? kept + j->n_panels * j->kept : all + row * d->out_channels;
        for (size_t i = from; i < to; i++) {
            const size_t first = i * j->panel;
            const struct panel p = {.image = image,
                                    .first = first,
                                    .channels = ox_least(j->panel, d->in_channels - first),
                                    .zeros = work,
                                    .ring = ring,
                                    .made = made,
                                    .kept = kept + i * j->kept,
                                    .products = products};
            if (framed != p.channels)
                frame(j, &p);
            framed = p.channels;
            one_panel(j, &p, y, end, y == y0, end < y1, out);
        }
        if (j->dense)
            project(j, (end - y) * d->out[1], out, row, products);
    }
}

/* Outputs [y0, y1) without a stage before. */
static void one_strip(const struct job *j, size_t image, size_t y0, size_t y1, float *work)
{
    const struct ox_chain *c = j->c;
    const struct ox_conv *d = &c->depthwise;
    const size_t top = y0 * d->stride[0]; /* `pad` lines above the image's first are zeros */
    const size_t above = top < d->pad[0] ? d->pad[0] - top : 0;
    const size_t row = (image * d->out[0] + y0) * d->out[1];
    size_t first, last;
    lines_for(d, y0, y1, &first, &last);
    const struct ox_conv s = strip_of(d, y1 - y0, last - first, above);
    const float *from = j->in + (image * d->in[0] + first) * d->in[1] * d->in_channels;
    if (!c->out_channels) {
        const struct ox_epilogue end = ox_end_at(&c->end[1], row, 0);
        ox_conv_depthwise(j->t, NULL, &s, c->packed[1], from, j->out + row * d->in_channels, &end,
                          work);
        return;
    }
    ox_conv_depthwise(j->t, NULL, &s, c->packed[1], from, work, &c->end[1], work + j->dense);
    project(j, (y1 - y0) * d->out[1], work, row, work + j->slot - j->products);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const size_t image = i / j->parts, part = i % j->parts;
    const size_t y0 = j->by_panels ? 0 : part * j->part_rows;
    const size_t y1 = ox_least(y0 + j->part_rows, j->c->depthwise.out[0]);
    float *work = j->work + slot * j->slot;
    if (y0 >= y1)
        return;
    if (j->c->in_channels) {
        panels_task(j, image, y0, y1, j->by_panels ? part : 0,
                    j->by_panels ? part + 1 : j->n_panels, work);
        return;
    }
    for (size_t y = y0; y < y1; y += j->strip)
        one_strip(j, image, y, ox_least(y + j->strip, y1), work);
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
    j.between = work;
    j.work = work + j.whole + j.last;
    const double taps = (double)(d->kernel[0] * d->kernel[1]);
    const double flops = 2.0 * (double)(d->batch * d->in_channels) *
                         ((double)(d->in[0] * d->in[1]) * (double)c->in_channels +
                          (double)(d->out[0] * d->out[1]) * (3 * taps + (double)c->out_channels));
    ox_spread_sums(env, d->batch * j.parts, flops, run_task, &j);
    if (j.whole) {
        const struct ox_dense last = last_product(c, 0, pixels(d, d->out), j.between, out);
        ox_dense_run(t, env, &last, work + j.whole);
    }
}
