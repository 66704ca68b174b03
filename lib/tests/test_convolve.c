/* Convolutions of every way at every level of the processor, against sums in double. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/convolve_chain.h"
#include "kernels/convolve_impl.h"
#include "onnxtool.h"
#include "tests/ending.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

struct sides {
    struct guarded in, out, weights, packed, work, bias, residual;
};

static float input_at(const struct ox_conv *c, const float *in, size_t n, size_t channel, size_t y,
                      size_t x)
{
    if (c->planar)
        return in[((n * c->in_channels + channel) * c->in[0] + y) * c->in[1] + x];
    return in[((n * c->in[0] + y) * c->in[1] + x) * c->in_pixel + channel];
}

/* Input position that tap `r` of output `y` reads; false when there is none. */
static bool tap_at(const struct ox_conv *c, unsigned axis, size_t y, size_t r, size_t *at)
{
    if (!c->transposed) {
        *at = y * c->stride[axis] + r * c->dilation[axis] - c->pad[axis];
        return *at < c->in[axis];
    }
    const size_t from = y + c->pad[axis] - r * c->dilation[axis];
    *at = from / c->stride[axis];
    return y + c->pad[axis] >= r * c->dilation[axis] && from % c->stride[axis] == 0 &&
           *at < c->in[axis];
}

/* The sum in double and the sum of the terms' sizes. */
static double direct(const struct ox_conv *c, const struct sides *s, size_t image, size_t o,
                     size_t y, size_t x, double *size)
{
    const size_t k = c->in_channels / c->groups, n = c->out_channels / c->groups, group = o / n;
    double sum = 0;
    for (size_t u = 0; u < k; u++) {
        for (size_t r = 0; r < c->kernel[0]; r++) {
            for (size_t q = 0; q < c->kernel[1]; q++) {
                size_t iy, ix;
                if (!tap_at(c, 0, y, r, &iy) || !tap_at(c, 1, x, q, &ix))
                    continue;
                const size_t matrix = c->transposed ? (group * k + u) * n + o % n : o * k + u;
                const double w = s->weights.at[(matrix * c->kernel[0] + r) * c->kernel[1] + q];
                const double term = w * input_at(c, s->in.at, image, group * k + u, iy, ix);
                sum += term;
                *size += fabs(term);
            }
        }
    }
    return sum;
}

static void compare(const struct ox_conv *c, const struct sides *s, const struct ox_epilogue *end,
                    double slack, enum ox_conv_way way)
{
    size_t pixel = 0;
    for (size_t image = 0; image < c->batch; image++) {
        for (size_t y = 0; y < c->out[0]; y++) {
            for (size_t x = 0; x < c->out[1]; x++, pixel++) {
                for (size_t o = 0; o < c->out_channels; o++) {
                    double size = 4;
                    const double sum = direct(c, s, image, o, y, x, &size);
                    const double want = ending(end, sum, pixel, o);
                    const double got = s->out.at[pixel * c->out_pixel + o];
                    const double bound = size * slack * 0x1p-24;
                    ck_assert_msg(fabs(want - got) <= bound,
                                  "way %d, %zux%zux%zu -> %zux%zux%zu, kernel %zux%zu, groups %zu, "
                                  "at (%zu,%zu,%zu): %g, expected %g",
                                  (int)way, c->in[0], c->in[1], c->in_channels, c->out[0],
                                  c->out[1], c->out_channels, c->kernel[0], c->kernel[1], c->groups,
                                  y, x, o, got, want);
                }
            }
        }
    }
}

static void random_axis(struct dice *d, struct ox_conv *c, unsigned axis)
{
    c->kernel[axis] = dice_between(d, 1, 5);
    c->stride[axis] = dice_between(d, 1, 3);
    c->dilation[axis] = dice_between(d, 0, 3) ? 1 : 2;
    const size_t reach = (c->kernel[axis] - 1) * c->dilation[axis] + 1;
    c->pad[axis] = dice_between(d, 0, reach - 1);
    const size_t after = dice_between(d, 0, reach - 1);
    c->in[axis] = dice_between(d, 1, 17);
    if (c->transposed) {
        const size_t all = (c->in[axis] - 1) * c->stride[axis] + reach;
        c->out[axis] = all > c->pad[axis] + after ? all - c->pad[axis] - after : 0;
    } else {
        const size_t all = c->in[axis] + c->pad[axis] + after;
        c->out[axis] = all >= reach ? (all - reach) / c->stride[axis] + 1 : 0;
    }
}

enum { N_WAYS = OX_CONV_WINOGRAD_STRIDED_LATE + 1 };

static bool is_strided(enum ox_conv_way way)
{
    return way >= OX_CONV_WINOGRAD_STRIDED;
}

static bool is_line(enum ox_conv_way way)
{
    return way == OX_CONV_WINOGRAD_LINE || way == OX_CONV_WINOGRAD_LINE_LATE;
}

static bool is_joined(enum ox_conv_way way)
{
    return way == OX_CONV_JOINED || way == OX_CONV_JOINED_ABREAST;
}

/* 3x3; of Winograd's ways some take larger kernels too. */
static void make_3x3(struct dice *d, struct ox_conv *c, size_t stride, bool larger)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        c->kernel[axis] = larger && dice_between(d, 0, 2) == 0 ? dice_between(d, 3, 8) : 3;
        c->stride[axis] = stride;
        c->dilation[axis] = stride > 1 || dice_between(d, 0, 2) ? 1 : dice_between(d, 2, 5);
        c->pad[axis] = dice_between(d, 0, 2 * c->dilation[axis]);
        c->out[axis] = (c->in[axis] + c->pad[axis] + stride - 1) / stride;
    }
    c->groups = 1;
}

/* The kernel is a whole number of strides; outputs may lie past all taps, padding may be as large. */
static void make_joined(struct dice *d, struct ox_conv *c)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        c->stride[axis] = dice_between(d, 1, 4);
        c->dilation[axis] = 1;
        c->kernel[axis] = c->stride[axis] * dice_between(d, 1, 3);
        c->pad[axis] = dice_between(d, 0, c->kernel[axis] + 1);
        const size_t all = (c->in[axis] - 1) * c->stride[axis] + c->kernel[axis];
        const size_t after = dice_between(d, 0, 7); /* less 3: output_padding */
        c->out[axis] = all + 3 > c->pad[axis] + after ? all + 3 - c->pad[axis] - after : 0;
    }
    if (dice_between(d, 0, 3) == 0) { /* a line of more than a band */
        c->kernel[0] = c->stride[0] = c->in[0] = c->out[0] = 1;
        c->pad[0] = 0;
        c->in_channels = dice_between(d, 1, 4);
        c->out_channels += 16;
        c->in[1] += 600;
        c->out[1] += 600 * c->stride[1];
    }
}

/* Also kernels that do not reach all outputs, dilated ones, and groups of several channels. */
static void make_spread(struct dice *d, struct ox_conv *c)
{
    const size_t k = dice_between(d, 0, 1) ? 1 : dice_between(d, 1, 4);
    c->groups = dice_between(d, 2, 90 / k);
    c->in_channels = c->groups * k;
    c->out_channels = c->groups * (k == 1 ? 1 : dice_between(d, 1, 9));
    for (unsigned axis = 0; axis < 2; axis++) {
        c->kernel[axis] = dice_between(d, 0, 1) ? dice_between(d, 1, 3) : c->kernel[axis];
        c->dilation[axis] = dice_between(d, 0, 2) ? 1 : dice_between(d, 2, 3);
    }
    if (k > 1) /* 16 rows at most, one for each tap and channel */
        c->kernel[0] = dice_between(d, 1, 16 / k);
}

/* Several taps one way. */
static void make_line(struct dice *d, struct ox_conv *c)
{
    const unsigned along = (unsigned)dice_between(d, 0, 1);
    for (unsigned axis = 0; axis < 2; axis++) {
        c->kernel[axis] = axis == along ? dice_between(d, 3, 11) : 1;
        c->stride[axis] = 1;
        c->dilation[axis] = dice_between(d, 0, 2) ? 1 : dice_between(d, 2, 5);
        c->pad[axis] = dice_between(d, 0, 2 * c->dilation[axis]);
        c->out[axis] = c->in[axis] + c->pad[axis];
    }
    c->groups = 1;
}

/* Few lines, of more outputs than one task takes. */
static void make_long(struct dice *d, struct ox_conv *c)
{
    c->in[1] += 400 * c->stride[1];
    c->out[1] += 400;
    if (dice_between(d, 0, 1)) {
        c->kernel[0] = c->in[0] = c->out[0] = 1;
        c->pad[0] = 0;
    }
}

/* A kernel of many rows, and of one column or of many, depthwise or of few channels. */
static void make_tall(struct dice *d, struct ox_conv *c)
{
    const size_t reach[2] = {dice_between(d, 3, 32), dice_between(d, 0, 1) * 24};
    for (unsigned axis = 0; axis < 2; axis++) {
        c->kernel[axis] = reach[axis] + 1;
        c->dilation[axis] = 1;
        c->pad[axis] = reach[axis] ? dice_between(d, 0, reach[axis]) : 0;
        c->in[axis] = reach[axis] + dice_between(d, 1, 12);
        c->stride[axis] = axis ? 1 : dice_between(d, 1, 2);
        c->out[axis] = (c->in[axis] + c->pad[axis] - c->kernel[axis]) / c->stride[axis] + 1;
    }
}

/* A kernel that reaches over most of a line, whose outputs gather what they read. */
static void make_wide(struct dice *d, struct ox_conv *c)
{
    c->in_channels = dice_between(d, 1, 16);
    c->kernel[1] = dice_between(d, 65, 80);
    c->out[1] = dice_between(d, 1, 5);
    c->pad[1] = dice_between(d, 0, 6);
    const size_t reach = (c->kernel[1] - 1) * c->dilation[1] + 1;
    c->in[1] = (c->out[1] - 1) * c->stride[1] + reach - c->pad[1] - dice_between(d, 0, 6);
}

static struct ox_conv random_conv(struct dice *d, enum ox_conv_way way)
{
    struct ox_conv c = {.batch = dice_between(d, 1, 2), .groups = 1};
    c.in_channels = dice_between(d, 1, 40);
    c.out_channels = dice_between(d, 1, 40);
    c.transposed = is_joined(way) || way == OX_CONV_SPREAD ||
                   (way == OX_CONV_COLUMNS && dice_between(d, 0, 1)) ||
                   (way == OX_CONV_INDIRECT && dice_between(d, 0, 1));
    random_axis(d, &c, 0);
    random_axis(d, &c, 1);
    if (is_joined(way) || way == OX_CONV_SPREAD)
        make_joined(d, &c);
    if (way == OX_CONV_INDIRECT && dice_between(d, 0, 1)) {
        c.groups = dice_between(d, 2, 4);
        c.in_channels = c.groups * dice_between(d, 1, 9);
        c.out_channels = c.groups * dice_between(d, 1, 36);
    } else if (way == OX_CONV_INDIRECT && !c.transposed && dice_between(d, 0, 1)) {
        make_wide(d, &c);
    } else if (way == OX_CONV_DEPTHWISE) {
        c.groups = c.in_channels = dice_between(d, 1, 90);
        c.out_channels = c.in_channels * dice_between(d, 1, 3);
        const size_t side = 1 + 2 * dice_between(d, 0, 3); /* 1: as it is; 7: blocks of channels */
        if (side > 1) {
            c.kernel[0] = c.kernel[1] = side;
            c.stride[1] = dice_between(d, 1, 2);
            c.dilation[1] = 1;
        } else if (dice_between(d, 0, 1)) {
            make_tall(d, &c);
        }
    } else if (way == OX_CONV_TURNED) {
        c.groups = dice_between(d, 2, 9);
        c.in_channels = c.out_channels = c.groups * ((size_t)2 << dice_between(d, 0, 1));
    } else if (way == OX_CONV_SPREAD) {
        make_spread(d, &c);
    } else if (way == OX_CONV_COLUMNS) {
        c.dilation[1] = 1;
        c.out_channels = dice_between(d, 1, 4);
        for (unsigned axis = 0; axis < 2 && !c.transposed; axis++) {
            const size_t reach = (c.kernel[axis] - 1) * c.dilation[axis];
            c.stride[axis] = 1;
            c.pad[axis] = reach ? dice_between(d, 0, reach) : 0;
            c.in[axis] += reach;
            c.out[axis] = c.in[axis] + 2 * c.pad[axis] - reach;
        }
    } else if (is_line(way)) {
        if (way == OX_CONV_WINOGRAD_LINE_LATE && dice_between(d, 0, 3) == 0)
            c.in_channels += 256;
        make_line(d, &c);
    } else if (way >= OX_CONV_WINOGRAD2) {
        if (way >= OX_CONV_WINOGRAD2_LATE && dice_between(d, 0, 3) == 0)
            c.in_channels += 256; /* not all are transformed at a time */
        make_3x3(d, &c, is_strided(way) ? 2 : 1, !is_strided(way));
    } else if (way == OX_CONV_POINTWISE) {
        for (unsigned axis = 0; axis < 2; axis++) {
            c.kernel[axis] = c.stride[axis] = c.dilation[axis] = 1;
            c.pad[axis] = 0;
            c.out[axis] = c.in[axis];
        }
    } else if (way == OX_CONV_JOINED_ABREAST) {
        c.out_channels = dice_between(d, 1, 4);
    } else if (way == OX_CONV_ABREAST) {
        c.dilation[1] = 1;
        c.out_channels = dice_between(d, 1, 6);
    } else if (way == OX_CONV_PADDED) {
        c.planar = dice_between(d, 0, 1);
        if (!c.planar && dice_between(d, 0, 1)) {
            c.groups = dice_between(d, 2, 4);
            c.in_channels = c.groups * dice_between(d, 1, 9);
            c.out_channels = c.groups * dice_between(d, 1, 36);
        } else if (c.planar || dice_between(d, 0, 1)) {
            c.dilation[1] = 1;
        }
        if (c.groups == 1 && dice_between(d, 0, 3) == 0) {
            c.in_channels = dice_between(d, 1, 12);
            make_tall(d, &c);
        }
    }
    if ((way == OX_CONV_PADDED || way == OX_CONV_ABREAST) && c.out[1] && dice_between(d, 0, 7) == 0)
        make_long(d, &c);
    c.in_pixel = c.in_channels + (dice_between(d, 0, 1) ? dice_between(d, 0, 5) : 0);
    c.out_pixel = c.out_channels +
                  (way == OX_CONV_ABREAST || way == OX_CONV_COLUMNS ? 0 : dice_between(d, 0, 5));
    return c;
}

static struct ox_epilogue random_end(struct dice *d, const struct ox_conv *c, struct sides *s)
{
    const size_t pieces = dice_next(d);
    struct ox_epilogue end = {.residual_ld = c->out_channels + dice_between(d, 0, 3)};
    s->bias = guarded_new(d, c->out_channels, true);
    s->residual = guarded_new(d, c->batch * c->out[0] * c->out[1] * end.residual_ld, true);
    end.col_bias = pieces & 1 ? s->bias.at : NULL;
    end.residual = pieces & 2 ? s->residual.at : NULL;
    end.residual_last = pieces & 4;
    end.scale = (pieces & 24) == 24 ? 0.75f : 0;
    end.act = (enum ox_act)(pieces >> 5 & 3);
    end.lo = pieces & 128 ? 0 : -0.5f;
    end.hi = pieces & 256 ? INFINITY : 0.5f;
    end.alpha = 0.1f;
    end.row = ending_row;
    return end;
}

static void free_sides(struct sides *s)
{
    guarded_free(&s->in);
    guarded_free(&s->out);
    guarded_free(&s->weights);
    guarded_free(&s->packed);
    guarded_free(&s->work);
    guarded_free(&s->bias);
    guarded_free(&s->residual);
}

/* Weights that are read where they lie give the same bits. */
static void compare_stored(struct dice *d, const struct ox_compute *t, struct ox_env *env,
                           enum ox_conv_way way, struct ox_conv c, const struct sides *s,
                           const struct ox_epilogue *end)
{
    if (!ox_conv_reads_stored(t, way, &c))
        return;
    c.stored = s->weights.at;
    struct guarded work = guarded_new(d, ox_conv_work(t, env, way, &c), false);
    struct guarded out = guarded_new(d, s->out.n, false);
    memcpy(out.at, s->out.at, s->out.n * sizeof *out.at);
    for (size_t i = 0; i < c.batch * c.out[0] * c.out[1]; i++)
        memset(out.at + i * c.out_pixel, 0, c.out_channels * sizeof *out.at);
    ox_conv_run(t, env, way, &c, NULL, s->in.at, out.at, end, work.at);
    ck_assert(memcmp(out.at, s->out.at, s->out.n * sizeof *out.at) == 0);
    guarded_free(&work);
    guarded_free(&out);
}

static void try_conv(struct dice *d, const struct ox_compute *t, enum ox_conv_way way,
                     unsigned threads)
{
    struct ox_env *env = ox_env_new();
    const struct ox_conv c = random_conv(d, way);
    const size_t pixel = c.planar ? c.in_channels : c.in_pixel;
    struct sides s;
    ox_env_set_threads(env, threads);
    s.in = guarded_new(d, c.batch * c.in[0] * c.in[1] * pixel, true);
    s.out = guarded_new(d, c.batch * c.out[0] * c.out[1] * c.out_pixel, true);
    s.weights =
        guarded_new(d, c.out_channels * c.in_channels / c.groups * c.kernel[0] * c.kernel[1], true);
    s.packed = guarded_new(d, ox_conv_packed(t, way, &c), false);
    s.work = guarded_new(d, ox_conv_work(t, env, way, &c), false);
    const struct ox_epilogue end = random_end(d, &c, &s);
    ox_conv_pack(t, env, way, &c, s.weights.at, OX_WEIGHT_F32, s.packed.at);
    ox_conv_run(t, env, way, &c, s.packed.at, s.in.at, s.out.at, &end, s.work.at);
    const double terms = (double)(c.in_channels / c.groups * c.kernel[0] * c.kernel[1]);
    /* Winograd's transforms enlarge what is then rounded. */
    const bool four = way == OX_CONV_WINOGRAD4 || way == OX_CONV_WINOGRAD4_LATE;
    const double grown = four ? 30 : way >= OX_CONV_WINOGRAD2 ? 4 : 1;
    compare(&c, &s, &end, (sqrt(terms) + 4) * grown, way);
    compare_stored(d, t, env, way, c, &s, &end);
    free_sides(&s);
    ox_env_release(env);
}

START_TEST(convolutions_of_any_shape_are_near_the_sums_in_double)
{
    struct dice d = {(uint64_t)_i * 104729};
    const unsigned turn = (unsigned)_i / N_WAYS;
    const enum ox_conv_way way = (enum ox_conv_way)(_i % N_WAYS);
    struct ox_compute t = *table_at(turn % n_tables());
    if (way == OX_CONV_ABREAST && turn / n_tables() % 4 > 1)
        t.block_floats = 1; /* several lines past a part of the weights */
    try_conv(&d, &t, way, 1 + turn / n_tables() % 2);
}
END_TEST

START_TEST(stored_weights_of_many_channels_are_read_in_parts)
{
    struct dice d = {(uint64_t)_i};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    const struct ox_conv c = {.batch = 1,
                              .groups = 1,
                              .in_channels = 70,
                              .out_channels = 301,
                              .kernel = {3, 3},
                              .stride = {2, 2},
                              .dilation = {1, 1},
                              .pad = {1, 1},
                              .in = {9, 7},
                              .out = {5, 4},
                              .in_pixel = 70,
                              .out_pixel = 303};
    struct sides s = {.in = guarded_new(&d, 9 * 7 * 70, true),
                      .out = guarded_new(&d, 5 * 4 * 303, true),
                      .weights = guarded_new(&d, 301 * 70 * 9, true)};
    s.packed = guarded_new(&d, ox_conv_packed(t, OX_CONV_INDIRECT, &c), false);
    s.work = guarded_new(&d, ox_conv_work(t, NULL, OX_CONV_INDIRECT, &c), false);
    const struct ox_epilogue end = random_end(&d, &c, &s);
    ox_conv_pack(t, NULL, OX_CONV_INDIRECT, &c, s.weights.at, OX_WEIGHT_F32, s.packed.at);
    ox_conv_run(t, NULL, OX_CONV_INDIRECT, &c, s.packed.at, s.in.at, s.out.at, &end, s.work.at);
    ck_assert(ox_conv_reads_stored(t, OX_CONV_INDIRECT, &c));
    compare_stored(&d, t, NULL, OX_CONV_INDIRECT, c, &s, &end);
    free_sides(&s);
}
END_TEST

/* Runs the stages of a chain one after another. */
static void run_stages(struct dice *d, const struct ox_compute *t, const struct ox_chain *c,
                       const float *in, float *out)
{
    struct guarded maps[2] = {{0}}, work;
    const unsigned last = c->out_channels ? 2 : 1;
    for (unsigned s = c->in_channels ? 0 : 1; s <= last; s++) {
        const struct ox_conv conv = s == 1 ? c->depthwise : ox_chain_stage(c, s);
        const enum ox_conv_way way = s == 1 ? OX_CONV_DEPTHWISE : OX_CONV_POINTWISE;
        float *to = out;
        if (s < last) {
            maps[s] =
                guarded_new(d, conv.batch * conv.out[0] * conv.out[1] * conv.out_channels, false);
            to = maps[s].at;
        }
        work = guarded_new(d, ox_conv_work(t, NULL, way, &conv), false);
        ox_conv_run(t, NULL, way, &conv, c->packed[s], in, to, &c->end[s], work.at);
        guarded_free(&work);
        in = to;
    }
    for (unsigned s = 0; s < 2; s++)
        if (maps[s].at)
            guarded_free(&maps[s]);
}

START_TEST(a_chain_gives_the_bits_of_its_stages)
{
    struct dice d = {(uint64_t)_i * 15485863};
    struct ox_compute t = *table_at((unsigned)_i % n_tables());
    struct ox_env *env = ox_env_new();
    struct ox_chain c = {.depthwise = random_conv(&d, OX_CONV_DEPTHWISE)};
    struct ox_conv *dw = &c.depthwise;
    struct guarded weights, packed[3] = {{0}}, bias;
    dw->in_pixel = dw->out_pixel = dw->out_channels = dw->in_channels;
    c.in_channels = dice_between(&d, 0, 2) ? dice_between(&d, 1, 20) : 0;
    c.out_channels = !c.in_channels || dice_between(&d, 0, 1) ? dice_between(&d, 1, 20) : 0;
    if (c.out_channels && dice_between(&d, 0, 3) == 0)
        c.out_channels += 4000;                 /* weights that few rows would wait for */
    t.block_floats = dice_between(&d, 1, 4000); /* strips of a row or more */
    ox_env_set_threads(env, 1 + (unsigned)_i % 3);
    bias = guarded_new(&d, 4020, true);
    for (unsigned s = 0; s < 3; s++) {
        const struct ox_conv conv = s == 1 ? *dw : ox_chain_stage(&c, s);
        const enum ox_conv_way way = s == 1 ? OX_CONV_DEPTHWISE : OX_CONV_POINTWISE;
        if (conv.in_channels == 0 || conv.out_channels == 0)
            continue;
        weights = guarded_new(&d,
                              conv.out_channels * conv.in_channels / conv.groups * conv.kernel[0] *
                                  conv.kernel[1],
                              true);
        packed[s] = guarded_new(&d, ox_conv_packed(&t, way, &conv), false);
        ox_conv_pack(&t, env, way, &conv, weights.at, OX_WEIGHT_F32, packed[s].at);
        guarded_free(&weights);
        c.packed[s] = packed[s].at;
        c.end[s] = (struct ox_epilogue){.col_bias = bias.at, .act = OX_ACT_CLIP, .hi = INFINITY};
    }
    const size_t channels = c.out_channels ? c.out_channels : dw->out_channels;
    const size_t n = dw->batch * dw->out[0] * dw->out[1] * channels;
    struct guarded in = guarded_new(
        &d, dw->batch * dw->in[0] * dw->in[1] * (c.in_channels ? c.in_channels : dw->in_channels),
        true);
    struct guarded residual = guarded_new(&d, n, true), out = guarded_new(&d, n, true);
    struct guarded want = guarded_new(&d, n, true);
    struct guarded work = guarded_new(&d, ox_chain_work(&t, env, &c), false);
    c.end[c.out_channels ? 2 : 1].residual = residual.at;
    c.end[c.out_channels ? 2 : 1].residual_ld = channels;
    c.end[c.out_channels ? 2 : 1].residual_last = dice_between(&d, 0, 1);
    ox_chain_run(&t, env, &c, in.at, out.at, work.at);
    if (n)
        run_stages(&d, &t, &c, in.at, want.at);
    if (n)
        ck_assert_mem_eq(out.at, want.at, n * sizeof(float));
    struct guarded *all[] = {&in, &out, &want, &work, &residual, &bias};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        guarded_free(all[i]);
    for (unsigned s = 0; s < 3; s++)
        if (packed[s].at)
            guarded_free(&packed[s]);
    ox_env_release(env);
}
END_TEST

/* A block of channels of its own, large enough that sums are cut. */
START_TEST(deep_sums_are_cut_and_put_together)
{
    struct dice d = {(uint64_t)_i};
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        const size_t channels = _i ? 1200 : 150;
        struct ox_conv c = {.batch = 1,
                            .groups = 1,
                            .in_channels = channels,
                            .out_channels = 33,
                            .kernel = {3, 3},
                            .stride = {1, 1},
                            .dilation = {1, 1},
                            .pad = {1, 1},
                            .in = {4, 5},
                            .out = {4, 5},
                            .in_pixel = channels,
                            .out_pixel = 33};
        for (unsigned way = 0; way < 5; way++) {
            static const enum ox_conv_way ways[] = {OX_CONV_INDIRECT, OX_CONV_WINOGRAD2,
                                                    OX_CONV_WINOGRAD4, OX_CONV_WINOGRAD2_LATE,
                                                    OX_CONV_WINOGRAD4_LATE};
            struct sides s;
            s.in = guarded_new(&d, 20 * channels, true);
            s.out = guarded_new(&d, 20 * 33, true);
            s.weights = guarded_new(&d, 33 * channels * 9, true);
            s.packed = guarded_new(&d, ox_conv_packed(t, ways[way], &c), false);
            s.work = guarded_new(&d, ox_conv_work(t, NULL, ways[way], &c), false);
            const struct ox_epilogue end = random_end(&d, &c, &s);
            ox_conv_pack(t, NULL, ways[way], &c, s.weights.at, OX_WEIGHT_F32, s.packed.at);
            ox_conv_run(t, NULL, ways[way], &c, s.packed.at, s.in.at, s.out.at, &end, s.work.at);
            compare(&c, &s, &end, 200, ways[way]);
            free_sides(&s);
        }
    }
}
END_TEST

/* 7x7, of which only some tiles go together: the error and the bits that threads and tiles leave. */
START_TEST(large_kernels_of_many_tiles_go_in_portions)
{
    const struct ox_compute *t = table_at((unsigned)_i);
    struct dice d = {9};
    struct ox_conv c = {.batch = 1,
                        .groups = 1,
                        .in_channels = 72,
                        .out_channels = 40,
                        .kernel = {7, 8},
                        .stride = {1, 1},
                        .dilation = {1, 1},
                        .pad = {3, 3},
                        .in = {37, 43},
                        .out = {37, 42},
                        .in_pixel = 72,
                        .out_pixel = 41};
    const enum ox_conv_way way = OX_CONV_WINOGRAD2_LATE;
    ck_assert(ox_conv_winograd_late_portion(t, &c, 2) < 50);
    struct sides s;
    s.in = guarded_new(&d, c.in[0] * c.in[1] * c.in_pixel, true);
    s.out = guarded_new(&d, c.out[0] * c.out[1] * c.out_pixel, true);
    s.weights = guarded_new(&d, c.out_channels * c.in_channels * 56, true);
    s.packed = guarded_new(&d, ox_conv_packed(t, way, &c), false);
    const struct ox_epilogue end = random_end(&d, &c, &s);
    struct guarded first = guarded_new(&d, s.out.n, false);
    ox_conv_pack(t, NULL, way, &c, s.weights.at, OX_WEIGHT_F32, s.packed.at);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        struct ox_env *env = ox_env_new();
        ox_env_set_threads(env, threads);
        s.work = guarded_new(&d, ox_conv_work(t, env, way, &c), false);
        ox_conv_run(t, env, way, &c, s.packed.at, s.in.at, s.out.at, &end, s.work.at);
        if (threads == 1)
            memcpy(first.at, s.out.at, s.out.n * sizeof *first.at);
        if (threads == 1)
            guarded_free(&s.work);
        ox_env_release(env);
    }
    ck_assert(memcmp(first.at, s.out.at, s.out.n * sizeof *first.at) == 0);
    compare(&c, &s, &end, 4 * (sqrt(72 * 56) + 4), way);
    guarded_free(&first);
    free_sides(&s);
}
END_TEST

/* Mean error over the mean size of the result, against the sum in double. */
static double mean_error(unsigned level, enum ox_conv_way way, size_t taps)
{
    enum { CHANNELS = 64, SIDE = 12 };
    const struct ox_compute *t = table_at(level);
    const size_t stride = is_strided(way) ? 2 : 1, side = SIDE / stride;
    const size_t down = is_line(way) ? 1 : taps;
    struct dice d = {5};
    struct ox_conv c = {.batch = 1,
                        .groups = 1,
                        .in_channels = CHANNELS,
                        .out_channels = 16,
                        .kernel = {down, taps},
                        .stride = {stride, stride},
                        .dilation = {1, 1},
                        .pad = {down / 2, taps / 2},
                        .in = {SIDE, SIDE},
                        .out = {side, side},
                        .in_pixel = CHANNELS,
                        .out_pixel = 16};
    struct sides s;
    s.in = guarded_new(&d, SIDE * SIDE * CHANNELS, true);
    s.out = guarded_new(&d, SIDE * SIDE * 16, true);
    s.weights = guarded_new(&d, 16 * CHANNELS * 9, true);
    s.packed = guarded_new(&d, ox_conv_packed(t, way, &c), false);
    s.work = guarded_new(&d, ox_conv_work(t, NULL, way, &c), false);
    const struct ox_epilogue end = {.act = OX_ACT_NONE};
    double error = 0, size = 0;
    ox_conv_pack(t, NULL, way, &c, s.weights.at, OX_WEIGHT_F32, s.packed.at);
    ox_conv_run(t, NULL, way, &c, s.packed.at, s.in.at, s.out.at, &end, s.work.at);
    for (size_t pixel = 0; pixel < side * side; pixel++) {
        for (size_t o = 0; o < 16; o++) {
            double terms = 0;
            const double want = direct(&c, &s, 0, o, pixel / side, pixel % side, &terms);
            error += fabs(want - s.out.at[pixel * 16 + o]);
            size += fabs(want);
        }
    }
    guarded_free(&s.in);
    guarded_free(&s.out);
    guarded_free(&s.weights);
    guarded_free(&s.packed);
    guarded_free(&s.work);
    return error / size;
}

START_TEST(winograd_keeps_the_error_that_is_documented)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const double direct_error = mean_error(level, OX_CONV_INDIRECT, 3);
        const double two = mean_error(level, OX_CONV_WINOGRAD2, 3);
        const double four = mean_error(level, OX_CONV_WINOGRAD4, 3);
        const double two_late = mean_error(level, OX_CONV_WINOGRAD2_LATE, 3);
        const double four_late = mean_error(level, OX_CONV_WINOGRAD4_LATE, 3);
        const double strided = mean_error(level, OX_CONV_WINOGRAD_STRIDED, 3);
        const double strided_late = mean_error(level, OX_CONV_WINOGRAD_STRIDED_LATE, 3);
        const double line_3 = mean_error(level, OX_CONV_WINOGRAD_LINE, 3);
        const double line_5 = mean_error(level, OX_CONV_WINOGRAD_LINE, 5);
        const double late_3 = mean_error(level, OX_CONV_WINOGRAD_LINE_LATE, 3);
        const double late_5 = mean_error(level, OX_CONV_WINOGRAD_LINE_LATE, 5);
        if (getenv("SHOW"))
            printf(
                "%s: direct %.2g, F(2,3) %.2g, late %.2g, F(4,3) %.2g, late %.2g, stride 2 %.2g, "
                "late %.2g, lines %.2g, of five taps %.2g, late %.2g, %.2g\n",
                table_name(level), direct_error, two, two_late, four, four_late, strided,
                strided_late, line_3, line_5, late_3, late_5);
        ck_assert(direct_error < 7.3e-7);
        ck_assert(two < 5.5e-7);
        ck_assert(four < 2e-6);
        ck_assert(two_late < 5.5e-7);
        ck_assert(four_late < 2e-6);
        ck_assert(strided < 7.3e-7);
        ck_assert(strided_late < 7.3e-7);
        ck_assert(line_3 < 7.3e-7);
        ck_assert(late_3 < 7.3e-7);
    }
}
END_TEST

START_TEST(the_bits_are_the_same_for_any_number_of_threads)
{
    const enum ox_conv_way way = (enum ox_conv_way)_i;
    struct dice d = {3};
    const struct ox_compute *t = ox_compute(ox_cpu_probe());
    const size_t groups = way == OX_CONV_DEPTHWISE || way == OX_CONV_SPREAD ? 64 : 1,
                 side = way == OX_CONV_POINTWISE ? 1 : 3;
    struct ox_conv c = {.batch = 2,
                        .groups = groups,
                        .in_channels = 64,
                        .out_channels = 64,
                        .kernel = {side, side},
                        .stride = {1, 1},
                        .dilation = {1, 1},
                        .pad = {side / 2, side / 2},
                        .in = {40, 41},
                        .out = {40, 41},
                        .in_pixel = 64,
                        .out_pixel = 64};
    c.groups = way == OX_CONV_TURNED ? 16 : groups;
    if (is_joined(way) || way == OX_CONV_SPREAD || way == OX_CONV_COLUMNS) {
        c.transposed = true;
        for (unsigned axis = 0; axis < 2; axis++)
            c.kernel[axis] = 4, c.stride[axis] = 2, c.in[axis] = 20;
    }
    if (is_strided(way)) {
        for (unsigned axis = 0; axis < 2; axis++)
            c.stride[axis] = 2, c.out[axis] = 20;
    }
    if (is_line(way))
        c.kernel[0] = 1, c.pad[0] = 0;
    if (way == OX_CONV_ABREAST || way == OX_CONV_JOINED_ABREAST || way == OX_CONV_COLUMNS)
        c.out_channels = c.out_pixel = 3;
    const size_t all = 2 * 40 * 41 * 64;
    struct guarded in = guarded_new(&d, all, true), one = guarded_new(&d, all, true);
    struct guarded three = guarded_new(&d, all, true), w = guarded_new(&d, 64 * 64 * 16, true);
    struct guarded packed = guarded_new(&d, ox_conv_packed(t, way, &c), false);
    const struct ox_epilogue end = {.act = OX_ACT_CLIP, .hi = 6};
    ox_conv_pack(t, NULL, way, &c, w.at, OX_WEIGHT_F32, packed.at);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        struct ox_env *env = ox_env_new();
        ox_env_set_threads(env, threads);
        struct guarded work = guarded_new(&d, ox_conv_work(t, env, way, &c), false);
        ox_conv_run(t, env, way, &c, packed.at, in.at, threads == 1 ? one.at : three.at, &end,
                    work.at);
        guarded_free(&work);
        ox_env_release(env);
    }
    ck_assert(memcmp(one.at, three.at, 2 * c.out[0] * c.out[1] * c.out_pixel * sizeof(float)) == 0);
    guarded_free(&in);
    guarded_free(&one);
    guarded_free(&three);
    guarded_free(&w);
    guarded_free(&packed);
}
END_TEST

/* Of each way; the sanitizers look at what is read and written, for which fewer do. */
#ifdef OX_SANITIZE
enum { SHAPES = 30 };
#else
enum { SHAPES = 120 };
#endif

int main(void)
{
    Suite *s = suite_create("convolve");
    TCase *tc = tcase_create("convolve");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, convolutions_of_any_shape_are_near_the_sums_in_double, 0,
                        SHAPES * N_WAYS);
    tcase_add_loop_test(tc, stored_weights_of_many_channels_are_read_in_parts, 0, 10);
    tcase_add_loop_test(tc, a_chain_gives_the_bits_of_its_stages, 0, SHAPES);
    tcase_add_loop_test(tc, deep_sums_are_cut_and_put_together, 0, 2);
    tcase_add_test(tc, winograd_keeps_the_error_that_is_documented);
    tcase_add_loop_test(tc, large_kernels_of_many_tiles_go_in_portions, 0, (int)n_tables());
    tcase_add_loop_test(tc, the_bits_are_the_same_for_any_number_of_threads, 0, N_WAYS);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
