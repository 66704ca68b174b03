/* The first layers of many networks are a convolution and a pool of it, between which lies the largest map of all: here a strip of its
 * lines at a time, which is still near when it is pooled. Lines that the next strip needs too stay. */
#include "kernels/convolve_pooled.h"

#include <string.h>

#include "common/compiler.h"
#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

/* Lines of a part of the pool's output for a thread, at least. */
enum { LEAST_ROWS = 4 };

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const struct ox_pooling *p;
    const float *packed, *in;
    float *out, *work;
    const struct ox_epilogue *end;
    size_t parts, part_rows; /* tasks an image; rows of the pool's output in each, */
    size_t strip;            /* and at a time */
    size_t line;             /* floats of a line between the two */
    size_t lines;            /* floats of those that a strip needs */
    size_t slot;
};

/* Lines that `rows` lines of windows reach over. */
static size_t reach(const struct ox_pooling *p, size_t rows)
{
    return (rows - 1) * p->stride[0] + (p->kernel[0] - 1) * p->dilation[0] + 1;
}

/* The convolution of `lines` of its lines from `y` on: those above the image wrap, as OX_CONV_PADDED has it. */
static struct ox_conv lines_of(const struct ox_conv *c, size_t y, size_t lines)
{
    struct ox_conv s = *c;
    s.batch = 1;
    s.out[0] = lines;
    s.pad[0] = c->pad[0] - y * c->stride[0];
    s.out_pixel = c->out_channels;
    s.out_batch = 0;
    return s;
}

static bool plan(const struct ox_compute *t, const struct ox_env *env, const struct ox_conv *c,
                 const struct ox_pooling *p, struct job *j)
{
    *j = (struct job){.t = t, .c = c, .p = p};
    /* Rows do not know of each other: parts may go by the number of threads. */
    const size_t wanted = p->batch < 2 * ox_slots(env) ? ox_slots(env) : 1;
    j->parts = ox_least(wanted, (p->out[0] + LEAST_ROWS - 1) / LEAST_ROWS);
    j->part_rows = (p->out[0] + j->parts - 1) / j->parts;
    j->line = c->out[1] * c->out_channels;
    j->strip = 1;
    while (j->strip < j->part_rows && reach(p, j->strip + 1) * j->line <= t->block_floats)
        j->strip++;
    j->strip = ox_even_part(j->part_rows, j->strip, 1);
    const struct ox_conv s = lines_of(c, 0, ox_least(reach(p, j->strip), c->out[0]));
    const size_t own = ox_conv_work(t, NULL, OX_CONV_PADDED, &s);
    if (OX_MUL_OVERFLOWS(j->line, s.out[0], &j->lines) || j->lines > SIZE_MAX / 2 ||
        OX_ADD_OVERFLOWS(ox_round_up(j->lines, 16), own, &j->slot))
        return false;
    j->lines = ox_round_up(j->lines, 16);
    j->slot = ox_round_up(j->slot, 16);
    return true;
}

size_t ox_conv_pooled_work(const struct ox_compute *t, const struct ox_env *env,
                           const struct ox_conv *c, const struct ox_pooling *p)
{
    struct job j;
    size_t all;
    if (p->out[0] * p->out[1] == 0)
        return 0;
    if (!plan(t, env, c, p, &j) || OX_MUL_OVERFLOWS(j.slot, ox_slots(env), &all))
        return SIZE_MAX;
    return all;
}

/* Lines [*first, *last) of the convolution that rows [y, end) of the pool read. */
static void lines_for(const struct ox_pooling *p, size_t y, size_t end, size_t *first, size_t *last)
{
    const size_t top = y * p->stride[0], low = top + reach(p, end - y);
    *first = ox_least(top > p->pad[0] ? top - p->pad[0] : 0, p->in[0]);
    *last = ox_least(low > p->pad[0] ? low - p->pad[0] : 0, p->in[0]);
}

static void pool(const struct job *j, size_t image, size_t y, size_t end, size_t first, size_t last,
                 const float *lines)
{
    struct ox_pooling s = *j->p;
    s.batch = 1;
    s.in[0] = last - first;
    s.out[0] = end - y;
    s.pad[0] = j->p->pad[0] + first - y * j->p->stride[0];
    s.in_pixel = j->c->out_channels;
    ox_maps_pool(j->t, NULL, &s, lines,
                 j->out + (image * j->p->out[0] + y) * j->p->out[1] * j->p->out_pixel);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const size_t image = i / j->parts, from = i % j->parts * j->part_rows;
    const size_t to = ox_least(from + j->part_rows, j->p->out[0]);
    const float *const in = j->in + image * ox_conv_in_batch(j->c);
    float *const lines = j->work + slot * j->slot, *const own = lines + j->lines;
    size_t have = 0, held = 0; /* the last line made, and the first in `lines` */
    for (size_t y = from, end, first, last; y < to; y = end) {
        end = ox_least(y + j->strip, to);
        lines_for(j->p, y, end, &first, &last);
        if (have > first)
            memmove(lines, lines + (first - held) * j->line,
                    (have - first) * j->line * sizeof *lines);
        held = first;
        const size_t begin = have > first ? have : first;
        if (last > begin) {
            const struct ox_conv s = lines_of(j->c, begin, last - begin);
            ox_conv_run(j->t, NULL, OX_CONV_PADDED, &s, j->packed, in,
                        lines + (begin - first) * j->line, j->end, own);
        }
        have = last > have ? last : have;
        pool(j, image, y, end, first, last, lines);
    }
}

void ox_conv_pooled(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                    const struct ox_pooling *p, const float *packed, const float *in, float *out,
                    const struct ox_epilogue *end, float *work)
{
    struct job j;
    if (p->batch * p->out[0] * p->out[1] == 0 || !plan(t, env, c, p, &j))
        return;
    j.packed = packed;
    j.in = in;
    j.out = out;
    j.end = end;
    j.work = work;
    const double flops = 2.0 * (double)(c->batch * c->out[0] * c->out[1] * c->out_channels) *
                         (double)(c->kernel[0] * c->kernel[1] * c->in_channels);
    ox_spread_sums(env, p->batch * j.parts, flops, run_task, &j);
}
