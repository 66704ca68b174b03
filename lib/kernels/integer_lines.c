/* Depthwise convolution of 8-bit integers by lines. */
#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

enum {
    TASKS = 4 /* a thread */,
    WORK = 3 /* of a tap: a vector of them takes longer than in a tile */,
    MOST_REACH = 32,
    MOST_STRIDE = 4
};

bool ox_integer_is_depthwise(const struct ox_conv *c)
{
    return c->groups > 1 && c->groups == c->in_channels && c->groups == c->out_channels;
}

bool ox_integer_lines_can(const struct ox_integer *t, const struct ox_conv *c)
{
    return t->lines && ox_integer_is_depthwise(c) && c->kernel[0] <= OX_INTEGER_LINES_ROWS &&
           c->kernel[1] <= OX_INTEGER_LINES_COLUMNS && c->stride[1] <= MOST_STRIDE &&
           (c->kernel[1] - 1) * c->dilation[1] <= MOST_REACH;
}

struct job {
    const struct ox_integer *t;
    struct ox_integer_lines lines;
    size_t each; /* lines of a task */
};

static void run_lines(void *arg, size_t task, size_t slot)
{
    const struct job *j = arg;
    const size_t y = task * j->each, end = j->lines.c->out[0];
    (void)slot;
    j->t->lines(&j->lines, y, end - y < j->each ? end : y + j->each);
}

void ox_integer_lines_run(const struct ox_integer *t, struct ox_env *env,
                          const struct ox_integer_lines *lines, const void *in, void *out)
{
    const struct ox_conv *c = lines->c;
    struct job j = {.t = t, .lines = *lines, .each = c->out[0]};
    const size_t in_batch = ox_conv_in_batch(c);
    const size_t out_batch = ox_conv_out_batch(c);
    const double each = (double)(c->out[0] * c->out[1] * c->groups);
    if (ox_slots(env) > 1)
        j.each = ox_even_part(c->out[0], c->out[0] / (ox_slots(env) * TASKS) + 1, 1);
    for (size_t n = 0; n < c->batch; n++) {
        j.lines.in = (const uint8_t *)in + n * in_batch;
        j.lines.out = (char *)out + n * out_batch * ox_integer_out_size(lines->end->type);
        ox_spread(env, (c->out[0] + j.each - 1) / j.each,
                  each * (double)(c->kernel[0] * c->kernel[1]) * WORK, run_lines, &j);
    }
}
