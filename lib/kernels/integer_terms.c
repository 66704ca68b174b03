/* What zero points of weights are multiplied by in a convolution of several taps: the sum of the bytes under the kernel, at each output. A
 * pixel's bytes are added once, whatever the number of taps that meet it. */
#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

/* Pixels along an axis that the kernel meets. */
static size_t reach_of(const struct ox_conv *c, unsigned axis)
{
    return c->out[axis] ? (c->out[axis] - 1) * c->stride[axis] +
                              (c->kernel[axis] - 1) * c->dilation[axis] + 1
                        : 0;
}

size_t ox_integer_terms_bytes(const struct ox_env *env, const struct ox_conv *c, size_t images)
{
    size_t words, more;
    if (ox_integer_is_depthwise(c) || c->kernel[0] * c->kernel[1] == 1)
        return 0;
    if (OX_MUL_OVERFLOWS(c->groups, c->out[1], &words) ||
        OX_MUL_OVERFLOWS(words, c->out[0] + reach_of(c, 0), &words) ||
        OX_MUL_OVERFLOWS(words, images, &words) ||
        OX_MUL_OVERFLOWS(ox_slots(env), reach_of(c, 1), &more) || words > SIZE_MAX / 16 ||
        more > SIZE_MAX / 16)
        return SIZE_MAX;
    return ox_round_up((words + more) * sizeof(int32_t), 64);
}

struct summing {
    const struct ox_integer_core *k;
    const struct ox_conv *c;
    size_t line, pixel;                /* bytes of the image's */
    size_t image_lines, lines, across; /* pixels that the kernel meets: of an image, and of all */
    int32_t *lying, *terms,
        *each; /* of a line of outputs' taps, of all taps, and a slot's pixels */
};

static int32_t sum_pixel(const struct ox_integer_core *k, const uint8_t *x)
{
    enum { FEW = 16 };
    int32_t sum = 0;
    if (k->channels >= FEW)
        return k->t->sum(k->channels, x, k->flip);
    for (size_t i = 0; i < k->channels; i++)
        sum += x[i] ^ k->flip;
    return sum;
}

/* out[x] = from[x * step] + from[x * step + apart] and so on, of n. */
static void add_apart(size_t cols, size_t n, size_t apart, size_t step, const int32_t *from,
                      int32_t *out)
{
    for (size_t x = 0; x < cols; x++)
        out[x] = from[x * step];
    for (size_t q = 1; q < n; q++) {
        from += apart;
        for (size_t x = 0; step == 1 && x < cols; x++)
            out[x] += from[x];
        for (size_t x = 0; step > 1 && x < cols; x++)
            out[x] += from[x * step];
    }
}

/* A line of pixels, of a group. */
static void sum_line(void *arg, size_t i, size_t slot)
{
    const struct summing *s = arg;
    const struct ox_integer_core *k = s->k;
    const size_t y = i % s->lines;
    const uint8_t *x = k->in + i / s->lines * k->channels + y / s->image_lines * k->image +
                       y % s->image_lines * s->line;
    int32_t *each = s->each + slot * s->across;
    for (size_t p = 0; p < s->across; p++, x += s->pixel)
        each[p] = sum_pixel(k, x);
    add_apart(k->cols, s->c->kernel[1], s->c->dilation[1], s->c->stride[1], each,
              s->lying + i * k->cols);
}

/* A line of outputs, of a group. */
static void sum_lines(void *arg, size_t i, size_t slot)
{
    const struct summing *s = arg;
    const struct ox_integer_core *k = s->k;
    const size_t y = i % k->rows,
                 image = i / k->rows * (s->lines / s->image_lines) + y / k->image_rows;
    const size_t first = image * s->image_lines + y % k->image_rows * s->c->stride[0];
    (void)slot;
    add_apart(k->cols, s->c->kernel[0], s->c->dilation[0] * k->cols, 1, s->lying + first * k->cols,
              s->terms + i * k->cols);
}

void ox_integer_terms_make(struct ox_integer_core *k, struct ox_env *env, const struct ox_conv *c,
                           void *room)
{
    const size_t outputs = k->groups * k->rows * k->cols;
    const size_t lines = k->rows / k->image_rows * reach_of(c, 0);
    struct summing s = {.k = k,
                        .c = c,
                        .line = k->line / c->stride[0],
                        .pixel = k->pixel / c->stride[1],
                        .image_lines = reach_of(c, 0),
                        .lines = lines,
                        .across = reach_of(c, 1),
                        .terms = room,
                        .lying = (int32_t *)room + outputs,
                        .each = (int32_t *)room + outputs + k->groups * lines * k->cols};
    const double pixels = (double)(k->groups * lines * s.across);
    ox_spread(env, k->groups * lines, pixels * (double)(k->channels + c->kernel[1]), sum_line, &s);
    ox_spread(env, k->groups * k->rows, (double)outputs * (double)c->kernel[0], sum_lines, &s);
    k->terms = s.terms;
}
