/* Few kernels are as fast as those over two axes, some of which (Winograd) do not even compute all products. */
#include "ops/fused/fused_volume.h"

#include <string.h>

#include "kernels/sizes.h"
#include "ops/fast/fast.h"

/* Floats of slices side by side. */
enum { MOST_AT_ONCE = 1 << 22 };

static void set_axis(struct ox_conv *c, unsigned k, const struct ox_window *w, unsigned d)
{
    c->kernel[k] = (size_t)w->kernel[d];
    c->stride[k] = (size_t)w->stride[d];
    c->dilation[k] = (size_t)w->dilation[d];
    c->pad[k] = (size_t)w->before[d];
    c->in[k] = (size_t)w->in[d];
    c->out[k] = (size_t)w->out[d];
}

/* Whether each output reads, along an axis, what is in its place. */
static bool stays(const struct ox_window *w, unsigned d)
{
    return w->kernel[d] == 1 && w->stride[d] == 1 && w->before[d] == 0 && w->out[d] == w->in[d];
}

void ox_volume_fold(const struct ox_window *w, struct ox_conv *c, struct ox_slices *s)
{
    *s = (struct ox_slices){.images = c->batch};
    set_axis(c, 0, w, 1);
    set_axis(c, 1, w, 2);
    if (stays(w, 0)) {
        c->batch *= (size_t)w->in[0];
        return;
    }
    if (stays(w, 1) && stays(w, 2)) {
        const size_t pixels = c->in[0] * c->in[1];
        set_axis(c, 0, w, 0);
        c->in[1] = c->out[1] = pixels;
        return;
    }
    s->taps = (size_t)w->kernel[0];
    s->stride = (size_t)w->stride[0];
    s->dilation = (size_t)w->dilation[0];
    s->pad = (size_t)w->before[0];
    s->in = (size_t)w->in[0];
    s->out = (size_t)w->out[0];
    c->in_channels *= s->taps;
    c->in_pixel = c->in_channels;
    const size_t slice = c->in[0] * c->in[1] * c->in_channels, all = s->images * s->out;
    s->at_once = MOST_AT_ONCE / (slice + 1);
    s->at_once = ox_even_part(all, s->at_once ? s->at_once : 1, 1);
    c->batch = s->at_once;
}

void ox_volume_turn_weights(const struct ox_slices *s, const struct ox_conv *c,
                            const float *weights, float *out)
{
    const size_t points = c->kernel[0] * c->kernel[1], in = c->in_channels / s->taps;
    for (size_t o = 0; o < c->out_channels; o++)
        for (size_t tap = 0; tap < s->taps; tap++)
            for (size_t i = 0; i < in; i++, out += points)
                memcpy(out, weights + ((o * in + i) * s->taps + tap) * points,
                       points * sizeof *out);
}

struct gather {
    const struct ox_slices *s;
    const float *in;
    float *out;
    size_t from, pixels, channels;
};

/* A task is a tap of an output slice. */
static void gather(void *arg, size_t from, size_t to)
{
    const struct gather *g = arg;
    const struct ox_slices *s = g->s;
    const size_t n = g->channels, wide = n * s->taps;
    for (size_t i = from; i < to; i++) {
        const size_t slice = g->from + i / s->taps, tap = i % s->taps;
        const size_t at = slice % s->out * s->stride + tap * s->dilation - s->pad; /* may wrap */
        const float *x = g->in + (slice / s->out * s->in + at) * g->pixels * n;
        float *y = g->out + i / s->taps * g->pixels * wide + tap * n;
        for (size_t p = 0; p < g->pixels; p++, y += wide)
            if (at < s->in)
                memcpy(y, x + p * n, n * sizeof *y);
            else
                memset(y, 0, n * sizeof *y);
    }
}

void ox_volume_gather(struct ox_env *env, const struct ox_slices *s, const struct ox_conv *c,
                      const float *in, size_t from, size_t n, float *out)
{
    struct gather g = {s, in, out, from, c->in[0] * c->in[1], c->in_channels / s->taps};
    ox_fast_spread(env, n * s->taps, 1, 0.5 * (double)(g.pixels * g.channels), gather, &g);
}
