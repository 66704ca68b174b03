/* Depthwise convolution by a kernel of one column: each column of the image is copied once between its zeros, and is summed as if it
 * were a line. Its outputs lie as far apart as the lines of the image. */
#include "kernels/convolve_impl.h"
#include "kernels/inline.h"
#include "kernels/sizes.h"

/* Rows of a kernel that pay for the copy; floats of a column that stay in L1, and the channels in it. */
enum { ROWS = 4, NEAR_FLOATS = 6144, BLOCK = 16, TASKS = 32 };

struct job {
    const struct ox_compute *t;
    const struct ox_conv *c;
    const float *weights, *in;
    float *out;
    const struct ox_epilogue *end;
    size_t column;         /* pixels of one between its zeros */
    size_t block, blocks;  /* channels taken at a time, and how often */
    size_t abreast, parts; /* columns of a task, and tasks of an image */
    float *work;
};

bool ox_conv_upright_fits(const struct ox_conv *c)
{
    return c->kernel[1] == 1 && c->kernel[0] >= ROWS && c->stride[1] == 1 && c->pad[1] == 0 &&
           c->out[1] == c->in[1] && c->out[1] > 0 && c->out[0] > 0;
}

static void plan(const struct ox_conv *c, struct job *j)
{
    j->c = c;
    j->column = (c->out[0] - 1) * c->stride[0] + (c->kernel[0] - 1) * c->dilation[0] + 1;
    const size_t most = NEAR_FLOATS / (j->column + 1) / BLOCK * BLOCK;
    j->block = ox_even_part(c->in_channels, most > BLOCK ? most : BLOCK, BLOCK);
    j->blocks = (c->in_channels + j->block - 1) / j->block;
    j->abreast = (c->out[1] + TASKS - 1) / TASKS;
    j->parts = (c->out[1] + j->abreast - 1) / j->abreast;
}

static size_t slot_floats(const struct job *j)
{
    return ox_round_up(j->column * j->block, 16);
}

size_t ox_conv_upright_work(const struct ox_conv *c, const struct ox_env *env)
{
    struct job j;
    plan(c, &j);
    return ox_slots(env) * slot_floats(&j);
}

static void one_column(const struct job *j, size_t image, size_t x, size_t first, float *room)
{
    const struct ox_conv *c = j->c;
    const size_t channels = ox_least(j->block, c->in_channels - first);
    const float *row[1] = {room};
    float *out = j->out + image * ox_conv_out_batch(c) + x * c->out_pixel + first;
    struct ox_depthwise d = {.channels = channels,
                             .count = c->out[0],
                             .rows = 1,
                             .cols = (unsigned)c->kernel[0],
                             .row = row,
                             .pixel = channels,
                             .step = c->stride[0],
                             .dilation = c->dilation[0],
                             .weights = j->weights + first,
                             .weights_ld = c->out_channels,
                             .out = out,
                             .out_pixel = c->out[1] * c->out_pixel};
    const bool done = ox_conv_depthwise_begin(&d, j->end, first);
    ox_conv_frame_pixels(j->column, c->pad[0], c->in[0], channels,
                         j->in + image * ox_conv_in_batch(c) + x * c->in_pixel + first,
                         c->in[1] * c->in_pixel, room);
    j->t->depthwise(&d);
    for (size_t y = 0; !done && y < c->out[0]; y++)
        ox_conv_depthwise_end(j->t, &d, j->end, (image * c->out[0] + y) * c->out[1] + x, first, 1,
                              out + y * d.out_pixel);
}

static void run_task(void *arg, size_t i, size_t slot)
{
    const struct job *j = arg;
    const size_t block = i % j->blocks, part = i / j->blocks % j->parts, x0 = part * j->abreast;
    for (size_t x = x0; x < j->c->out[1] && x < x0 + j->abreast; x++)
        one_column(j, i / j->blocks / j->parts, x, block * j->block,
                   j->work + slot * slot_floats(j));
}

void ox_conv_upright(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                     const float *packed, const float *in, float *out,
                     const struct ox_epilogue *end, float *work)
{
    struct job j = {.t = t, .weights = packed, .in = in, .out = out, .end = end, .work = work};
    plan(c, &j);
    const double flops = 2.0 * (double)(c->batch * c->out[0]) * (double)c->out[1] *
                         (double)c->out_channels * (double)c->kernel[0];
    ox_spread_sums(env, c->batch * j.parts * j.blocks, flops * 3, run_task, &j);
}
