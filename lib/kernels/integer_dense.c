/* 8-bit products: a convolution over an image of one line. */
#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

static struct ox_conv as_conv(size_t m, size_t n, size_t k, size_t a_row)
{
    return (struct ox_conv){.batch = 1,
                            .groups = 1,
                            .in_channels = k,
                            .out_channels = n,
                            .kernel = {1, 1},
                            .stride = {1, 1},
                            .dilation = {1, 1},
                            .in = {1, m},
                            .out = {1, m},
                            .in_pixel = a_row,
                            .out_pixel = n};
}

size_t ox_integer_dense_packed(const struct ox_integer *t, size_t k, size_t n)
{
    const struct ox_conv c = as_conv(1, n, k, k);
    return ox_integer_conv_packed(t, &c, OX_INTEGER_COMPACT);
}

void ox_integer_dense_pack(const struct ox_integer *t, struct ox_env *env, size_t k, size_t n,
                           const void *weights, bool is_signed, size_t row, size_t col, bool once,
                           void *out)
{
    const struct ox_conv c = as_conv(1, n, k, k);
    struct ox_integer_core core;
    ox_integer_describe(t, &c, 1, k, &core);
    const struct ox_integer_packing p = {.k = &core,
                                         .weights = weights,
                                         .flip = is_signed ? 0 : 0x80,
                                         .once = once,
                                         .channel = row,
                                         .col = col,
                                         .out = (char *)out + ox_integer_put_head(t, &c, out)};
    ox_integer_pack(env, &p);
}

size_t ox_integer_dense_work(const struct ox_integer *t, const struct ox_env *env,
                             const struct ox_integer_dense *d)
{
    const struct ox_conv c = as_conv(d->m, d->n, d->k, d->a_row);
    return ox_integer_plain_work(t, env, &c, d->a_signed, false);
}

void ox_integer_dense_run(const struct ox_integer *t, struct ox_env *env,
                          const struct ox_integer_dense *d, void *work)
{
    struct ox_conv c = as_conv(d->m, d->n, d->k, d->a_row);
    c.out_pixel = d->c_row;
    ox_integer_conv_run(t, env, &c, d->packed, d->a, d->a_signed, 0, d->c, &d->end, work);
}

enum { SUMS_MOST = 512 };

bool ox_integer_dense_summed(const struct ox_integer *t, size_t k)
{
    return t->layout == OX_INTEGER_QUADS && k <= SUMS_MOST;
}

/* Products by ones. */
void ox_integer_dense_sums(const struct ox_integer *t, size_t k, size_t n, const void *packed,
                           int32_t *sums)
{
    uint8_t ones[SUMS_MOST];
    const uint8_t *const row = ones;
    const struct ox_conv c = as_conv(1, n, k, k);
    struct ox_integer_core core;
    ox_integer_describe(t, &c, 1, k, &core);
    struct ox_integer_tile tile = {.a = &row, .segments = 1, .depth = ox_round_up(k, 4), .rows = 1};
    memset(ones, 1, tile.depth);
    for (size_t j = 0; j < n; j += t->nr) {
        tile.b = (const char *)packed + j / t->nr * core.panel;
        tile.c = sums + j;
        tile.cols = (unsigned)ox_least(t->nr, n - j);
        t->tile(&tile);
    }
}
