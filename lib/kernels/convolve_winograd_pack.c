/* Weights of Winograd's filtering at its points: G g G' of two dimensions, G g of a line, for each piece of a kernel. */
#include <string.h>

#include "kernels/convolve_impl.h"
#include "kernels/winograd_shape.h"

enum { POINTS_MOST = 6 };

static const double g1[1][OX_WINOGRAD_TAPS] = {{1}};
static const double g2[4][OX_WINOGRAD_TAPS] = {
    {1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
static const double g4[6][OX_WINOGRAD_TAPS] = {{1, 0, 0},
                                               {1.0 / 3, 1.0 / 3, 1.0 / 3},
                                               {-1.0 / 3, 1.0 / 3, -1.0 / 3},
                                               {-16.0 / 15, -8.0 / 15, -4.0 / 15},
                                               {1.0 / 15, -2.0 / 15, 4.0 / 15},
                                               {0, 0, 1}};
/* Of stride 2: F(4,2) of the outer taps, and the middle one. */
static const double g_strided[6][OX_WINOGRAD_TAPS] = {
    {2, 0, 0}, {1, 0, 1}, {-1.0 / 3, 0, 1.0 / 3}, {-8.0 / 3, 0, -4.0 / 3}, {0, 0, 1}, {0, 1, 0}};

struct axis {
    const double (*g)[OX_WINOGRAD_TAPS];
    unsigned taps, points;
};

static struct axis axis_of(const struct ox_conv *c, unsigned tile, unsigned axis)
{
    const unsigned taps = c->kernel[axis] == 1 ? 1 : OX_WINOGRAD_TAPS;
    return (struct axis){.g = ox_winograd_strided(c) ? g_strided
                              : taps == 1            ? g1
                              : tile == 4            ? g4
                                                     : g2,
                         .taps = taps,
                         .points = ox_winograd_weight_reach(c, tile, axis)};
}

size_t ox_conv_winograd_packed(const struct ox_compute *t, const struct ox_conv *c, unsigned tile)
{
    const size_t one = ox_dense_packed(t, ox_winograd_depth(c), c->out_channels);
    const size_t pieces = ox_winograd_pieces(c, tile);
    return one > SIZE_MAX / 4 / pieces ? SIZE_MAX : one * pieces;
}

struct packing {
    const struct ox_compute *t;
    const struct ox_conv *c;
    struct axis down, across;
    const void *weights;
    enum ox_weight_type type;
    float *out;
};

static void transform(const struct packing *p, const float *w, float *out, size_t plane)
{
    double half[POINTS_MOST][OX_WINOGRAD_TAPS] = {{0}};
    for (unsigned i = 0; i < p->down.points; i++)
        for (unsigned q = 0; q < p->across.taps; q++)
            for (unsigned r = 0; r < p->down.taps; r++)
                half[i][q] += p->down.g[i][r] * w[r * p->across.taps + q];
    for (unsigned i = 0; i < p->down.points; i++) {
        for (unsigned j = 0; j < p->across.points; j++, out += plane) {
            double sum = 0;
            for (unsigned q = 0; q < p->across.taps; q++)
                sum += half[i][q] * p->across.g[j][q];
            *out = (float)sum;
        }
    }
}

/* The taps of piece `cut` of a kernel whose taps are all in `from`; what lies beyond it is 0. */
static void cut_kernel(const struct ox_conv *c, const struct packing *p, const float *from,
                       size_t cut, float *to)
{
    const size_t wide = ox_winograd_cuts(c, 1);
    const size_t y0 = cut / wide * OX_WINOGRAD_TAPS, x0 = cut % wide * OX_WINOGRAD_TAPS;
    for (size_t r = 0; r < p->down.taps; r++)
        for (size_t q = 0; q < p->across.taps; q++, to++)
            *to = y0 + r < c->kernel[0] && x0 + q < c->kernel[1]
                      ? from[(y0 + r) * c->kernel[1] + x0 + q]
                      : 0;
}

/* One panel of output channels at all points. */
static void pack_panel(void *arg, size_t i, size_t slot)
{
    const struct packing *p = arg;
    const struct ox_compute *t = p->t;
    const struct ox_conv *c = p->c;
    const size_t k = c->in_channels, n = c->out_channels, taps = c->kernel[0] * c->kernel[1];
    const size_t depth = ox_winograd_depth(c), plane = ox_dense_packed(t, depth, n);
    const size_t first = i * t->nr;
    (void)slot;
    for (size_t u = 0; u < k; u++) {
        for (size_t j = 0; j < t->nr; j++) {
            float all[OX_CONV_WINOGRAD_TAPS_MOST] = {0}, w[9];
            const size_t at = ((first + j) * k + u) * taps;
            if (first + j < n && p->type == OX_WEIGHT_F32)
                memcpy(all, (const float *)p->weights + at, taps * sizeof *all);
            else if (first + j < n)
                ox_widen(t, p->type, taps, (const uint16_t *)p->weights + at, all);
            for (size_t cut = 0; cut * k < depth; cut++) {
                cut_kernel(c, p, all, cut, w);
                transform(p, w, p->out + (first * depth + (cut * k + u) * t->nr + j), plane);
            }
        }
    }
    ox_conv_give_back(c, p->weights, p->type, first, ox_least(t->nr, n - first));
}

void ox_conv_winograd_pack(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                           unsigned tile, const void *weights, enum ox_weight_type type, float *out)
{
    struct packing p = {t, c, axis_of(c, tile, 0), axis_of(c, tile, 1), weights, type, out};
    ox_spread_sums(env, (c->out_channels + t->nr - 1) / t->nr,
                   (double)(c->in_channels * c->out_channels) * 1000, pack_panel, &p);
}

/* All taps of n channels from u0 on of a panel of `cols` output channels, nr of each tap. */
static void turn_taps(const struct packing *p, size_t first, unsigned cols, size_t u0, size_t n,
                      float *out)
{
    const size_t nr = p->t->nr, taps = p->c->kernel[0] * p->c->kernel[1];
    const size_t each = p->c->in_channels * taps, from = first * each + u0 * taps;
    if (p->type == OX_WEIGHT_F32) {
        p->t->pack(n * taps, cols, (const float *)p->weights + from, 1, each, out);
        return;
    }
    for (size_t i = 0; i < n * taps; i++)
        for (size_t j = 0; j < nr; j++)
            out[i * nr + j] =
                j < cols ? ox_conv_weight(p->t, p->weights, p->type, from + j * each + i) : 0;
}

/* One panel of output channels, a piece of the kernel after another, in each the taps of a channel. */
static void pack_pieces(void *arg, size_t i, size_t slot)
{
    enum { FLOATS = 1 << 13 };
    const struct packing *p = arg;
    const struct ox_conv *c = p->c;
    const size_t nr = p->t->nr, k = c->in_channels, taps = c->kernel[0] * c->kernel[1];
    const size_t some = FLOATS / (taps * nr), across = ox_winograd_cuts(c, 1);
    float turned[FLOATS];
    (void)slot;
    for (size_t u0 = 0; u0 < k; u0 += some) {
        const size_t channels = ox_least(some, k - u0);
        turn_taps(p, i * nr, (unsigned)ox_least(nr, c->out_channels - i * nr), u0, channels,
                  turned);
        for (size_t cut = 0; cut < ox_winograd_all_cuts(c); cut++) {
            const size_t high = ox_winograd_taps(c, cut, 0), wide = ox_winograd_taps(c, cut, 1);
            const size_t first = (cut / across * c->kernel[1] + cut % across) * OX_WINOGRAD_TAPS;
            float *to =
                p->out +
                (i * taps * k + ox_winograd_taps_before(c, cut) * k + u0 * high * wide) * nr;
            for (size_t r = 0; r < channels * high; r++, to += wide * nr)
                memcpy(to, turned + (r / high * taps + first + r % high * c->kernel[1]) * nr,
                       wide * nr * sizeof *to);
        }
    }
    ox_conv_give_back(c, p->weights, p->type, i * nr, ox_least(nr, c->out_channels - i * nr));
}

void ox_conv_winograd_late_pack(const struct ox_compute *t, struct ox_env *env,
                                const struct ox_conv *c, const void *weights,
                                enum ox_weight_type type, float *out)
{
    const size_t k = c->in_channels * c->kernel[0] * c->kernel[1];
    struct packing p = {.t = t, .c = c, .weights = weights, .type = type, .out = out};
    if (ox_winograd_all_cuts(c) > 1)
        ox_spread(env, (c->out_channels + t->nr - 1) / t->nr, (double)k * (double)c->out_channels,
                  pack_pieces, &p);
    else if (t->taps_together)
        ox_dense_pack(t, env, k, c->out_channels, weights, type, 1, k, out);
    else
        ox_conv_indirect_pack(t, env, c, weights, type, out);
}
