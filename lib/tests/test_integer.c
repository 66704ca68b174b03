/* Products and convolutions of 8-bit integers at every level of the processor, against plain sums. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sizes.h"
#include "onnxtool.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

struct bytes {
    struct guarded room;
    uint8_t *at;
};

/* n bytes that end where the guard begins: a read past the end is found under the sanitizers, a write always. */
static struct bytes bytes_new(struct dice *d, size_t n)
{
    struct bytes b = {.room = guarded_new(d, (n + 3) / 4, true)};
    b.at = (uint8_t *)b.room.at + (4 - n % 4) % 4;
    for (size_t i = 0; i < n; i++) {
        const uint64_t x = dice_next(d);
        b.at[i] = x & 0x300 ? (uint8_t)x : x & 0x400 ? 0xff : 0x80; /* the ends are frequent */
    }
    return b;
}

/* Weights of any size (0), none beyond half of it, so that no two products leave 16 bits (1), or few beyond that (2) or a sixth (3). */
static void soften(struct dice *d, uint8_t *w, size_t n, bool is_signed)
{
    const size_t kind = dice_between(d, 0, 3);
    const uint8_t flip = is_signed ? 0 : 0x80;
    for (size_t i = 0; kind && i < n; i++) {
        if (kind == 1 || dice_between(d, 0, 99))
            w[i] = (uint8_t)((int8_t)(w[i] ^ flip) / (kind == 3 ? 6 : 2)) ^ flip;
    }
}

static int32_t value(const uint8_t *p, bool is_signed)
{
    return is_signed ? (int8_t)*p : *p;
}

struct numbers {
    int32_t *offset, *weight_zero, *bias;
    float *scale, *shift, *fraction;
    int32_t za, zw;
    bool a_signed, w_signed;
};

static struct numbers numbers_new(struct dice *d, size_t n, bool weight_zeros)
{
    struct numbers x = {.za = (int32_t)dice_between(d, 0, 255),
                        .a_signed = dice_between(d, 0, 1),
                        .w_signed = dice_between(d, 0, 1)};
    x.offset = calloc(n, sizeof *x.offset);
    x.weight_zero = calloc(n, sizeof *x.weight_zero);
    x.bias = calloc(n, sizeof *x.bias);
    x.scale = calloc(n, sizeof *x.scale);
    x.shift = calloc(n, sizeof *x.shift);
    x.fraction = calloc(n, sizeof *x.fraction);
    ck_assert(x.offset && x.weight_zero && x.bias && x.scale && x.shift && x.fraction);
    const bool large = !dice_between(d, 0, 7); /* sums of more bits than a float has */
    const float unit = large ? 1e-7f : dice_between(d, 0, 7) ? 0.01f : 1;
    for (size_t j = 0; j < n; j++) {
        const int32_t most = large ? 1 << 30 : 10000;
        x.bias[j] = (int32_t)dice_between(d, 0, 2 * (size_t)most) - most;
        x.weight_zero[j] = weight_zeros ? (int32_t)dice_between(d, 0, 255) - 128 : 0;
        x.scale[j] = fabsf(dice_float(d)) * unit;
        x.shift[j] = dice_float(d);
        x.fraction[j] = dice_between(d, 0, 3) ? remainderf(dice_float(d), 1) : 0.5f;
    }
    return x;
}

static void numbers_free(struct numbers *x)
{
    free(x->offset);
    free(x->weight_zero);
    free(x->bias);
    free(x->scale);
    free(x->shift);
    free(x->fraction);
}

static struct ox_integer_end random_end(struct dice *d, const struct numbers *x, bool weight_zeros)
{
    struct ox_integer_end end = {.type = (enum ox_integer_out)dice_between(d, 0, 3),
                                 .offset = x->offset,
                                 .weight_zero = weight_zeros ? x->weight_zero : NULL,
                                 .scale = x->scale,
                                 .bias = dice_between(d, 0, 1) ? x->shift : NULL,
                                 .fraction = dice_between(d, 0, 2) ? NULL : x->fraction,
                                 .lo_f = dice_between(d, 0, 1) ? 0 : -INFINITY,
                                 .hi_f = INFINITY};
    const int32_t low = end.type == OX_INTEGER_S8 ? -128 : 0;
    end.zero = low + (int32_t)dice_between(d, 0, 255);
    end.lo = dice_between(d, 0, 1) ? end.zero : low;
    end.hi = low + 255;
    return end;
}

static void check_one(const struct ox_integer_end *end, int32_t sum, size_t j, const void *out,
                      size_t at)
{
    if (end->type == OX_INTEGER_I32) {
        ck_assert_int_eq(((const int32_t *)out)[at], sum);
    } else if (end->type == OX_INTEGER_F32) {
        const float x = (float)sum * end->scale[j], y = end->bias ? x + end->bias[j] : x;
        ck_assert(((const float *)out)[at] == (y < end->lo_f ? end->lo_f : y));
    } else {
        double exact = sum;
        if (end->fraction && abs(sum) < 1 << 24)
            exact = (double)((float)sum + end->fraction[j]);
        double want = rint(exact * (double)end->scale[j]) + end->zero;
        want = want < end->lo ? end->lo : want > end->hi ? end->hi : want;
        ck_assert_int_eq(value((const uint8_t *)out + at, end->type == OX_INTEGER_S8),
                         (int32_t)want);
    }
}

static void check_product(struct dice *d, const struct ox_integer *t, size_t m, size_t n, size_t k,
                          bool once)
{
    const bool turned = dice_between(d, 0, 1), zeros = dice_between(d, 0, 1);
    const size_t a_row = k + dice_between(d, 0, 3), c_row = n + dice_between(d, 0, 3);
    const size_t row = turned ? 1 : n, col = turned ? k : 1;
    struct numbers x = numbers_new(d, n, zeros);
    struct bytes a = bytes_new(d, (m - 1) * a_row + k), w = bytes_new(d, k * n);
    soften(d, w.at, k * n, x.w_signed);
    const struct ox_integer_end end = random_end(d, &x, zeros);
    struct guarded out = guarded_new(d, m * c_row, true);
    struct guarded packed = guarded_new(d, (ox_integer_dense_packed(t, k, n) + 3) / 4, false);
    struct ox_integer_dense p = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .a = a.at,
                                 .a_row = a_row,
                                 .a_signed = x.a_signed,
                                 .packed = packed.at,
                                 .c = out.at,
                                 .c_row = c_row,
                                 .end = end};
    ox_integer_dense_pack(t, NULL, k, n, w.at, x.w_signed, row, col, once, packed.at);
    ox_integer_sums(n, k, w.at, x.w_signed, row, col, x.offset);
    ox_integer_offsets(n, k, x.offset, x.za, end.weight_zero, x.bias, x.offset);
    struct guarded work = guarded_new(d, ox_integer_dense_work(t, NULL, &p) / 4, false);
    ox_integer_dense_run(t, NULL, &p, work.at);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            int32_t sum = x.bias[j];
            for (size_t q = 0; q < k; q++) {
                const int32_t u = value(a.at + i * a_row + q, x.a_signed) + (x.a_signed ? 128 : 0);
                const int32_t v =
                    value(w.at + q * row + j * col, x.w_signed) - (x.w_signed ? 0 : 128);
                sum += (u - x.za) * (v - x.weight_zero[j]);
            }
            check_one(&end, sum, j, out.at, i * c_row + j);
        }
    }
    numbers_free(&x);
    guarded_free(&a.room);
    guarded_free(&w.room);
    guarded_free(&out);
    guarded_free(&packed);
    guarded_free(&work);
}

START_TEST(products_are_exact)
{
    struct dice d = {(uint64_t)_i * 97};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    static const size_t most[] = {3, 20, 90, 400};
    const size_t m = dice_between(&d, 1, most[dice_between(&d, 0, 3)]);
    const size_t n = dice_between(&d, 1, most[dice_between(&d, 0, 3)]);
    const size_t k = dice_between(&d, 1, most[dice_between(&d, 0, 3)] * 2);
    check_product(&d, t, m, n, k, _i % 3 == 0);
}
END_TEST

/* More weights than are multiplied at once, of which some strips of rows bring the next ones near. */
START_TEST(products_in_several_blocks_are_exact)
{
    struct dice d = {(uint64_t)_i * 89 + 7};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    const size_t m = dice_between(&d, 33, dice_between(&d, 0, 1) ? 96 : 260),
                 k = 64 * dice_between(&d, 10, 14) + 4 * dice_between(&d, 0, 1);
    check_product(&d, t, m, dice_between(&d, 400, 700), k, false);
}
END_TEST

static struct ox_conv random_conv(struct dice *d, bool depthwise)
{
    struct ox_conv c = {.batch = dice_between(d, 1, 2), .groups = dice_between(d, 0, 2) ? 1 : 3};
    c.in_channels = c.groups * dice_between(d, 1, 13);
    c.out_channels = c.groups * dice_between(d, 1, 40);
    if (depthwise)
        c.groups = c.in_channels = c.out_channels = dice_between(d, 2, 150);
    for (unsigned axis = 0; axis < 2; axis++) {
        c.kernel[axis] = dice_between(d, 1, depthwise ? 6 : 4);
        c.stride[axis] = dice_between(d, 1, 2);
        c.dilation[axis] = dice_between(d, 0, 3) ? 1 : 2;
        const size_t reach = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
        c.pad[axis] = dice_between(d, 0, 1) ? dice_between(d, 0, reach - 1) : 0;
        c.in[axis] = dice_between(d, reach, reach + 9);
        c.out[axis] = (c.in[axis] + 2 * c.pad[axis] - reach) / c.stride[axis] + 1;
    }
    c.in_pixel = c.in_channels + (dice_between(d, 0, 1) ? dice_between(d, 0, 5) : 0);
    c.out_pixel = c.out_channels + dice_between(d, 0, 5);
    return c;
}

/* 3x3 without strides, of a size at which Winograd's filtering pays. */
static struct ox_conv winograd_conv(struct dice *d)
{
    struct ox_conv c = {.batch = dice_between(d, 1, 3),
                        .groups = 1,
                        .in_channels = dice_between(d, 16, 50),
                        .out_channels = dice_between(d, 16, 90),
                        .kernel = {3, 3},
                        .stride = {1, 1}};
    for (unsigned axis = 0; axis < 2; axis++) {
        c.dilation[axis] = dice_between(d, 0, 2) ? 1 : dice_between(d, 2, 3);
        c.pad[axis] = dice_between(d, 0, 2 * c.dilation[axis]);
        c.in[axis] = dice_between(d, 10, 17) + 8 * (c.dilation[axis] - 1);
        c.out[axis] = c.in[axis] + 2 * c.pad[axis] - 2 * c.dilation[axis];
    }
    c.in_pixel = c.in_channels + dice_between(d, 0, 3);
    c.out_pixel = c.out_channels + dice_between(d, 0, 5);
    return c;
}

/* Of more than 256 taps, whose rows are runs of memory: patches of images, and long filters of signals. */
static struct ox_conv patches_conv(struct dice *d)
{
    const bool line = dice_between(d, 0, 1);
    struct ox_conv c = {.batch = dice_between(d, 1, 2),
                        .groups = 1,
                        .in_channels = dice_between(d, 1, 4),
                        .out_channels = dice_between(d, 1, 20),
                        .kernel = {line ? 1 : dice_between(d, 17, 33),
                                   line ? dice_between(d, 257, 500) : dice_between(d, 17, 33)},
                        .dilation = {dice_between(d, 1, 2), 1}};
    for (unsigned axis = 0; axis < 2; axis++) {
        c.stride[axis] = c.kernel[axis] / dice_between(d, 1, 2) + !axis;
        c.pad[axis] = dice_between(d, 0, 2) ? 0 : dice_between(d, 0, 3);
        const size_t reach = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
        c.in[axis] = reach + dice_between(d, 0, 2) * c.stride[axis];
        c.out[axis] = (c.in[axis] + 2 * c.pad[axis] - reach) / c.stride[axis] + 1;
    }
    c.in_pixel = c.in_channels;
    c.out_pixel = c.out_channels;
    return c;
}

static int32_t conv_sum(const struct ox_conv *c, const struct numbers *x, const uint8_t *in,
                        const uint8_t *w, size_t image, size_t y, size_t col, size_t o)
{
    const size_t k = c->in_channels / c->groups, group = o / (c->out_channels / c->groups);
    int32_t sum = x->bias[o];
    for (size_t r = 0; r < c->kernel[0]; r++) {
        for (size_t q = 0; q < c->kernel[1]; q++) {
            const size_t iy = y * c->stride[0] + r * c->dilation[0] - c->pad[0];
            const size_t ix = col * c->stride[1] + q * c->dilation[1] - c->pad[1];
            if (iy >= c->in[0] || ix >= c->in[1])
                continue;
            for (size_t u = 0; u < k; u++) {
                const uint8_t *a =
                    in + ((image * c->in[0] + iy) * c->in[1] + ix) * c->in_pixel + group * k + u;
                const uint8_t *b = w + ((o * k + u) * c->kernel[0] + r) * c->kernel[1] + q;
                sum += (value(a, x->a_signed) + (x->a_signed ? 128 : 0) - x->za) *
                       (value(b, x->w_signed) - (x->w_signed ? 0 : 128) - x->weight_zero[o]);
            }
        }
    }
    return sum;
}

static struct ox_bytes_pair random_pair(struct dice *d, const struct ox_integer_end *end)
{
    const bool is_signed = end->type == OX_INTEGER_S8;
    const int32_t turned = is_signed ? 0x80 : 0;
    struct ox_bytes_pair pair = {.flip = (uint8_t)turned,
                                 .zero_a = end->zero + turned,
                                 .zero_b = 5 + turned,
                                 .scale_a = 0.1f + fabsf(dice_float(d)),
                                 .scale_b = 0.1f + fabsf(dice_float(d)),
                                 .zero = end->zero,
                                 .lo = end->lo,
                                 .hi = end->hi};
    for (int i = 0; i < 256; i++) {
        const int code = is_signed && i > 127 ? i - 256 : i;
        pair.a[i] = (code - end->zero) * (double)pair.scale_a;
        pair.b[i] = (code - 5) * (double)pair.scale_b;
    }
    ox_bytes_pair_plan(&pair);
    return pair;
}

/* `end` with a residual gives what adding it to `bare` gives. */
static void check_residual(struct dice *d, const struct ox_conv *c, const uint8_t *bare,
                           const struct ox_integer_end *end, const struct ox_integer *t,
                           const struct numbers *x, const void *packed, const void *in, void *work)
{
    const size_t pixels = c->batch * c->out[0] * c->out[1];
    struct bytes with = bytes_new(d, (pixels - 1) * c->out_pixel + c->out_channels);
    struct guarded out = guarded_new(d, pixels * c->out_pixel, true);
    const struct ox_bytes_pair pair = random_pair(d, end);
    const struct ox_integer_after after = {
        .residual = with.at, .pair = &pair, .kernels = ox_bytes(t->level)};
    struct ox_integer_end own = *end;
    own.after = &after;
    ox_integer_conv_run(t, NULL, c, packed, in, x->a_signed, x->za - (x->a_signed ? 128 : 0),
                        out.at, &own, work);
    for (size_t p = 0; p < pixels; p++) {
        for (size_t i = p * c->out_pixel; i < p * c->out_pixel + c->out_channels; i++)
            ck_assert_uint_eq(((const uint8_t *)out.at)[i],
                              ox_bytes_add_one(bare[i], with.at[i], &pair));
    }
    guarded_free(&with.room);
    guarded_free(&out);
}

/* `end` with a table gives what `bare` has there. */
static void check_table(struct dice *d, const struct ox_conv *c, const uint8_t *bare,
                        const struct ox_integer_end *end, const struct ox_integer *t,
                        const struct numbers *x, const void *packed, const void *in, void *work)
{
    const size_t pixels = c->batch * c->out[0] * c->out[1];
    struct bytes table = bytes_new(d, 256);
    struct guarded out = guarded_new(d, pixels * c->out_pixel, true);
    const uint8_t *codes = (const uint8_t *)out.at;
    const struct ox_integer_after after = {.table = table.at, .kernels = ox_bytes(t->level)};
    struct ox_integer_end own = *end;
    own.after = &after;
    memset(out.at, 77, pixels * c->out_pixel);
    ox_integer_conv_run(t, NULL, c, packed, in, x->a_signed, x->za - (x->a_signed ? 128 : 0),
                        out.at, &own, work);
    for (size_t i = 0; i < pixels * c->out_pixel; i++)
        ck_assert_uint_eq(codes[i], i % c->out_pixel < c->out_channels ? table.at[bare[i]] : 77);
    guarded_free(&table.room);
    guarded_free(&out);
}

static void check_convolution_with(struct ox_env *env, const struct ox_integer *t, struct dice *d,
                                   struct ox_conv c)
{
    const bool zeros = dice_between(d, 0, 1);
    const bool taken = ox_integer_conv_takes_zeros(t, &c);
    const size_t k = c.in_channels / c.groups * c.kernel[0] * c.kernel[1];
    struct numbers x = numbers_new(d, c.out_channels, zeros);
    const size_t pixels = c.batch * c.in[0] * c.in[1];
    struct bytes in = bytes_new(d, (pixels - 1) * c.in_pixel + c.in_channels);
    struct bytes w = bytes_new(d, c.out_channels * k);
    soften(d, w.at, c.out_channels * k, x.w_signed);
    struct ox_integer_end end = random_end(d, &x, zeros);
    struct guarded out = guarded_new(d, c.batch * c.out[0] * c.out[1] * c.out_pixel, true);
    ck_assert(ox_integer_conv_can(&c));
    const enum ox_integer_form form = zeros ? OX_INTEGER_COMPACT : OX_INTEGER_ANY;
    struct guarded packed = guarded_new(d, (ox_integer_conv_packed(t, &c, form) + 3) / 4, false);
    struct guarded work = guarded_new(
        d, ox_integer_conv_work(t, env, &c, x.a_signed, end.weight_zero != NULL) / 4, false);
    ox_integer_conv_pack(t, env, &c, form, w.at, x.w_signed, taken ? end.weight_zero : NULL,
                         packed.at);
    ox_integer_sums(c.out_channels, k, w.at, x.w_signed, 1, k, x.offset);
    ox_integer_offsets(c.out_channels, k, x.offset, x.za, end.weight_zero, x.bias, x.offset);
    if (taken)
        end.weight_zero = NULL;
    ox_integer_conv_run(t, env, &c, packed.at, in.at, x.a_signed, x.za - (x.a_signed ? 128 : 0),
                        out.at, &end, work.at);
    for (size_t p = 0; p < c.batch * c.out[0] * c.out[1]; p++) {
        for (size_t o = 0; o < c.out_channels; o++) {
            const int32_t sum = conv_sum(&c, &x, in.at, w.at, p / (c.out[0] * c.out[1]),
                                         p / c.out[1] % c.out[0], p % c.out[1], o);
            check_one(&end, sum, o, out.at, p * c.out_pixel + o);
        }
    }
    if (end.type == OX_INTEGER_U8 || end.type == OX_INTEGER_S8) {
        check_residual(d, &c, (const uint8_t *)out.at, &end, t, &x, packed.at, in.at, work.at);
        check_table(d, &c, (const uint8_t *)out.at, &end, t, &x, packed.at, in.at, work.at);
    }
    numbers_free(&x);
    guarded_free(&in.room);
    guarded_free(&w.room);
    guarded_free(&out);
    guarded_free(&packed);
    guarded_free(&work);
}

static void check_convolution(const struct ox_integer *t, struct dice *d, struct ox_conv c)
{
    check_convolution_with(NULL, t, d, c);
}

/* 1x1 of few channels, to just beyond what shallow() takes; columns about its blocks. */
static struct ox_conv shallow_conv(struct dice *d)
{
    static const size_t around[] = {16, 32, 64, 96, 128, 192};
    struct ox_conv c = {.batch = dice_between(d, 1, 2),
                        .groups = dice_between(d, 0, 3) ? 1 : 2,
                        .kernel = {1, 1},
                        .dilation = {1, 1}};
    c.in_channels = c.groups * dice_between(d, 1, 17) * (dice_between(d, 0, 4) ? 4 : 3);
    c.out_channels = c.groups * (around[dice_between(d, 0, 5)] - 1 + dice_between(d, 0, 2));
    for (unsigned axis = 0; axis < 2; axis++) {
        c.stride[axis] = dice_between(d, 1, 2);
        c.pad[axis] = dice_between(d, 0, 4) ? 0 : 1;
        c.in[axis] = dice_between(d, 1, 12);
        c.out[axis] = (c.in[axis] + 2 * c.pad[axis] - 1) / c.stride[axis] + 1;
    }
    c.in_pixel = c.in_channels + (dice_between(d, 0, 1) ? dice_between(d, 0, 5) : 0);
    c.out_pixel = c.out_channels + (dice_between(d, 0, 1) ? dice_between(d, 0, 5) : 0);
    return c;
}

START_TEST(shallow_convolutions_are_exact)
{
    struct dice d = {(uint64_t)_i * 67};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    check_convolution(t, &d, shallow_conv(&d));
}
END_TEST

/* Of as many rows and columns as UPRIGHT takes, about its strips and panels, and of depths about its blocks. */
static struct ox_conv upright_conv(struct dice *d)
{
    static const size_t sides[] = {4, 6, 7, 8, 14, 23}, depths[] = {16, 64, 128, 256};
    const bool three = !dice_between(d, 0, 2);
    struct ox_conv c = {.batch = dice_between(d, 1, 2),
                        .groups = dice_between(d, 0, 4) ? 1 : 2,
                        .kernel = {three ? 3 : 1, three ? 3 : 1},
                        .dilation = {1, 1}};
    c.in_channels = c.groups * (depths[dice_between(d, 0, 3)] + 4 * dice_between(d, 0, 4) +
                                (dice_between(d, 0, 2) ? 0 : dice_between(d, 1, 3)));
    c.out_channels = c.groups * (16 * dice_between(d, 2, 4) +
                                 (dice_between(d, 0, 1) ? 0 : dice_between(d, 1, 15)));
    for (unsigned axis = 0; axis < 2; axis++) {
        c.stride[axis] = three ? 2 : dice_between(d, 1, 2);
        c.pad[axis] = three ? dice_between(d, 0, 1) : 0;
        c.out[axis] = sides[dice_between(d, 0, three ? 4 : 5)] + dice_between(d, 0, 1);
        c.in[axis] = (c.out[axis] - 1) * c.stride[axis] + c.kernel[axis] - 2 * c.pad[axis];
    }
    c.in_pixel = c.in_channels + (dice_between(d, 0, 1) ? dice_between(d, 0, 5) : 0);
    c.out_pixel = c.out_channels + (dice_between(d, 0, 1) ? dice_between(d, 0, 5) : 0);
    return c;
}

START_TEST(convolutions_of_upright_rows_are_exact)
{
    struct dice d = {(uint64_t)_i * 73};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    check_convolution(t, &d, upright_conv(&d));
}
END_TEST

/* Groups of few channels and columns, about what abreast() takes, in lines about its stretches. */
static struct ox_conv groups_conv(struct dice *d)
{
    static const size_t few[] = {1, 2, 3, 4, 6, 8, 12, 16};
    struct ox_conv c = {.batch = dice_between(d, 1, 2), .groups = dice_between(d, 2, 24)};
    c.in_channels = c.groups * few[dice_between(d, 0, 7)];
    c.out_channels = c.groups * few[dice_between(d, 0, 7)];
    for (unsigned axis = 0; axis < 2; axis++) {
        c.kernel[axis] = dice_between(d, 1, 4);
        c.stride[axis] = dice_between(d, 1, 2);
        c.dilation[axis] = dice_between(d, 1, 2);
        const size_t reach = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
        c.pad[axis] = dice_between(d, 0, reach - 1);
        c.out[axis] = dice_between(d, 1, axis == 0 || dice_between(d, 0, 3) ? 9 : 70);
        const size_t span = (c.out[axis] - 1) * c.stride[axis] + reach;
        c.in[axis] = span > 2 * c.pad[axis] ? span - 2 * c.pad[axis] : 1;
    }
    c.in_pixel = c.in_channels + dice_between(d, 0, 1) * dice_between(d, 0, 5);
    c.out_pixel = c.out_channels + dice_between(d, 0, 1) * dice_between(d, 0, 5);
    return c;
}

START_TEST(convolutions_of_small_groups_are_exact)
{
    struct dice d = {(uint64_t)_i * 71};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    check_convolution(t, &d, groups_conv(&d));
}
END_TEST

START_TEST(convolutions_of_many_taps_are_exact)
{
    struct dice d = {(uint64_t)_i * 67};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    check_convolution(t, &d, patches_conv(&d));
}
END_TEST

START_TEST(convolutions_are_exact)
{
    struct dice d = {(uint64_t)_i * 53};
    struct ox_integer t = *integer_table_at((unsigned)_i % n_integer_tables());
    t.fast_bytes = false; /* filtered where it would not pay, too */
    check_convolution(&t, &d, _i % 5 == 1 ? winograd_conv(&d) : random_conv(&d, _i % 3 == 0));
}
END_TEST

START_TEST(convolutions_by_threads_are_exact)
{
    struct dice d = {(uint64_t)_i * 89};
    struct ox_integer t = *integer_table_at((unsigned)_i % n_integer_tables());
    struct ox_env *env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    ox_env_set_threads(env, (unsigned)dice_between(&d, 1, 3));
    t.fast_bytes = false;
    t.points_near = (size_t)1 << dice_between(&d, 10, 19);
    struct ox_conv c = _i % 2 ? winograd_conv(&d) : random_conv(&d, _i % 3 == 0);
    c.batch += _i % 2 ? 2 : 0;
    check_convolution_with(env, &t, &d, c);
    ox_env_release(env);
}
END_TEST

/* Of many small images, more than are convolved together and not a multiple of them, also of one line. */
START_TEST(convolutions_of_batches_are_exact)
{
    struct dice d = {(uint64_t)_i * 83};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    struct ox_env *env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    ox_env_set_threads(env, (unsigned)dice_between(&d, 1, 3));
    struct ox_conv c = _i % 3 == 1 ? shallow_conv(&d) : random_conv(&d, _i % 7 == 0);
    if (_i % 2) {
        c.kernel[0] = c.in[0] = c.out[0] = 1;
        c.pad[0] = 0;
    }
    c.batch = dice_between(&d, 3, ox_least(600 / (c.out[0] * c.out[1]), 40) + 3);
    check_convolution_with(env, t, &d, c);
    ox_env_release(env);
}
END_TEST

/* Depthwise, as lines() takes it: about its widths of channels, to kernels, strides and reaches just beyond what it can, in lines
 * longer than it holds. */
static struct ox_conv lines_conv(struct dice *d)
{
    static const size_t around[] = {3, 8, 16, 32, 48, 64, 80, 128, 192};
    const size_t channels = around[dice_between(d, 0, 8)] - 1 + dice_between(d, 0, 2);
    struct ox_conv c = {.batch = dice_between(d, 1, 2),
                        .groups = channels,
                        .in_channels = channels,
                        .out_channels = channels,
                        .in_pixel = channels + dice_between(d, 0, 1) * dice_between(d, 0, 5),
                        .out_pixel = channels + dice_between(d, 0, 1) * dice_between(d, 0, 5)};
    const bool usual = dice_between(d, 0, 1);
    const size_t side = dice_between(d, 0, 1) ? 3 : 5;
    for (unsigned axis = 0; axis < 2; axis++) {
        c.kernel[axis] = usual ? side : dice_between(d, 1, dice_between(d, 0, 3) ? 5 : 9);
        c.stride[axis] = dice_between(d, 1, usual || dice_between(d, 0, 3) ? 2 : 5);
        c.dilation[axis] = usual || dice_between(d, 0, 2) ? 1 : dice_between(d, 2, 6);
        const size_t reach = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
        c.pad[axis] = dice_between(d, 0, reach - 1);
        c.out[axis] = dice_between(d, 1, axis == 0 ? 9 : dice_between(d, 0, 3) ? 20 : 100);
        const size_t span = (c.out[axis] - 1) * c.stride[axis] + reach;
        c.in[axis] = span > 2 * c.pad[axis] ? span - 2 * c.pad[axis] : 1;
    }
    return c;
}

START_TEST(depthwise_lines_are_exact)
{
    struct dice d = {(uint64_t)_i * 59};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    check_convolution(t, &d, lines_conv(&d));
}
END_TEST

/* Any number of columns: sixty-fours and parts of them, and what is behind the last is not written. */
/* Also of more depth than is widened at a time, odd ones, and columns that fill no vector. */
START_TEST(a_right_side_that_lies_as_it_is_gives_exact_products)
{
    struct dice d = {(uint64_t)_i * 7907};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    if (!t->lying)
        return;
    const size_t k =
        dice_between(&d, 0, 7) ? dice_between(&d, 1, 70) : dice_between(&d, 1020, 1030);
    const size_t m = dice_between(&d, 1, 15), n = dice_between(&d, 1, 90),
                 pad = dice_between(&d, 0, 3);
    const size_t a_row = (k + 1) / 2 * 2, b_row = n + pad, c_row = n + dice_between(&d, 0, 3);
    struct ox_integer_lying l = {.rows = m,
                                 .n = n,
                                 .k = k,
                                 .a_row = a_row,
                                 .b_row = b_row,
                                 .b_signed = dice_between(&d, 0, 1),
                                 .c_row = c_row};
    l.b_zero = (int16_t)((int)dice_between(&d, 0, 255) - (l.b_signed ? 128 : 0));
    int16_t *a = calloc(m * a_row, sizeof *a);
    ck_assert(a);
    for (size_t i = 0; i < m * a_row; i++)
        a[i] = (int16_t)(i % a_row < k ? (int)dice_between(&d, 0, 510) - 255 : 0);
    struct bytes b = bytes_new(&d, k * b_row - pad);
    struct guarded c = guarded_new(&d, m * c_row, false);
    l.a = a;
    l.b = b.at;
    l.c = (int32_t *)(void *)c.at;
    t->lying(&l);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            int32_t sum = 0;
            for (size_t p = 0; p < k; p++)
                sum += a[i * a_row + p] * (value(b.at + p * b_row + j, l.b_signed) - l.b_zero);
            ck_assert_int_eq(l.c[i * c_row + j], sum);
        }
    free(a);
    guarded_free(&b.room);
    guarded_free(&c);
}
END_TEST

START_TEST(rows_of_sums_leave_as_plain_c_lets_them)
{
    enum { ROWS = 3, MOST = 200 };
    struct dice d = {(uint64_t)_i * 61};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    for (size_t n = 1; n <= MOST; n += dice_between(&d, 1, 4)) {
        const bool zeros = dice_between(&d, 0, 1);
        struct numbers x = numbers_new(&d, n, zeros);
        const struct ox_integer_end end = random_end(&d, &x, zeros);
        const size_t ld = n + dice_between(&d, 0, 3), out_row = n + dice_between(&d, 0, 3);
        const size_t size = end.type == OX_INTEGER_U8 || end.type == OX_INTEGER_S8 ? 1 : 4;
        struct guarded sums = guarded_new(&d, (ROWS - 1) * ld + n, true);
        int32_t *sum = (int32_t *)(void *)sums.at, terms[ROWS];
        for (size_t i = 0; i < sums.n; i++)
            sum[i] = (int32_t)dice_between(&d, 0, 60000) - 30000;
        for (size_t i = 0; i < ROWS; i++)
            terms[i] = (int32_t)dice_between(&d, 0, 10000);
        struct bytes out = bytes_new(&d, ((ROWS - 1) * out_row + n) * size);
        uint8_t want[ROWS * (MOST + 3) * 4];
        memcpy(want, out.at, ((ROWS - 1) * out_row + n) * size);
        for (size_t i = 0; i < ROWS; i++)
            ox_integer(OX_CPU_C)->finish(n, sum + i * ld, zeros ? terms[i] : 0, &end,
                                         want + i * out_row * size);
        const struct ox_integer_sums all = {.rows = ROWS,
                                            .n = n,
                                            .sums = sum,
                                            .ld = ld,
                                            .terms = terms,
                                            .out = out.at,
                                            .out_row = out_row};
        if (t->leave)
            t->leave(&all, &end);
        for (size_t i = 0; !t->leave && i < ROWS; i++)
            t->finish(n, sum + i * ld, zeros ? terms[i] : 0, &end, out.at + i * out_row * size);
        ck_assert_mem_eq(want, out.at, ((ROWS - 1) * out_row + n) * size);
        numbers_free(&x);
        guarded_free(&sums);
        guarded_free(&out.room);
    }
}
END_TEST

/* A column's number is `far` or more from what lies halfway between codes: results of up to 256 steps are known to 2e-5 of one. */
START_TEST(fractions_decide_what_is_close_to_a_tie)
{
    enum { N = 100 };
    struct dice d = {(uint64_t)_i * 71 + 1};
    const struct ox_integer *t = integer_table_at((unsigned)_i % n_integer_tables());
    const double far = 2e-5;
    int32_t sums[N], offset[N];
    float scale[N], fraction[N];
    uint8_t want[N], out[N];
    for (size_t j = 0; j < N; j++) {
        const double unit = 2e-4 + 1e-2 * fabs((double)dice_float(&d));
        const double code = (double)dice_between(&d, 0, 253);
        const double above =
            (1 + fabs((double)dice_float(&d))) * (dice_between(&d, 0, 1) ? far : -far);
        scale[j] = (float)unit;
        sums[j] = (int32_t)dice_between(&d, 0, 60000) - 30000;
        const double bias = (code + 0.5 + above) / (double)scale[j] - sums[j];
        offset[j] = (int32_t)rint(bias);
        fraction[j] = (float)(bias - offset[j]);
        want[j] = (uint8_t)(code + (above > 0));
    }
    const struct ox_integer_end end = {
        .type = OX_INTEGER_U8, .offset = offset, .scale = scale, .fraction = fraction, .hi = 255};
    t->finish(N, sums, 0, &end, out);
    ck_assert_mem_eq(want, out, N);
}
END_TEST

START_TEST(sums_of_the_largest_products_do_not_saturate)
{
    enum { K = 4096 };
    for (unsigned i = 0; i < n_integer_tables(); i++) {
        const struct ox_integer *t = integer_table_at(i);
        static uint8_t a[K], w[K];
        int32_t out = 0;
        static int32_t work[1 << 16], packed[K * 64];
        memset(a, 0xff, sizeof a);
        memset(w, 0x80, sizeof w); /* -128 */
        ck_assert(ox_integer_dense_packed(t, K, 1) <= sizeof packed);
        ox_integer_dense_pack(t, NULL, K, 1, w, true, 1, K, false, packed);
        struct ox_integer_dense p = {.m = 1,
                                     .n = 1,
                                     .k = K,
                                     .a = a,
                                     .a_row = K,
                                     .packed = packed,
                                     .c = &out,
                                     .c_row = 1,
                                     .end = {.type = OX_INTEGER_I32}};
        ck_assert(ox_integer_dense_work(t, NULL, &p) <= sizeof work);
        ox_integer_dense_run(t, NULL, &p, work);
        ck_assert_int_eq(out, -128 * 255 * K);
    }
}
END_TEST

/* On both sides of what Winograd's filtering can find again. */
START_TEST(sums_of_the_largest_convolutions_are_exact)
{
    enum { SIDE = 12, OUT = 16 };
    const size_t channels = _i % 2 ? 110 : 130;
    struct dice d = {(uint64_t)_i};
    struct ox_integer own = *integer_table_at((unsigned)_i / 2 % n_integer_tables());
    const struct ox_integer *t = &own;
    own.fast_bytes = false;
    const struct ox_conv c = {.batch = 1,
                              .groups = 1,
                              .in_channels = channels,
                              .out_channels = OUT,
                              .kernel = {3, 3},
                              .stride = {1, 1},
                              .dilation = {1, 1},
                              .in = {SIDE + 2, SIDE + 2},
                              .out = {SIDE, SIDE},
                              .in_pixel = channels,
                              .out_pixel = OUT};
    struct bytes in = bytes_new(&d, (SIDE + 2) * (SIDE + 2) * channels);
    struct bytes w = bytes_new(&d, OUT * channels * 9);
    static int32_t out[SIDE * SIDE * OUT];
    struct guarded packed =
        guarded_new(&d, ox_integer_conv_packed(t, &c, OX_INTEGER_ANY) / 4, false);
    struct guarded work =
        guarded_new(&d, ox_integer_conv_work(t, NULL, &c, false, false) / 4, false);
    const struct ox_integer_end end = {.type = OX_INTEGER_I32};
    memset(in.at, 0xff, (SIDE + 2) * (SIDE + 2) * channels);
    memset(w.at, 0x80, OUT * channels * 9); /* -128 */
    ox_integer_conv_pack(t, NULL, &c, OX_INTEGER_ANY, w.at, true, NULL, packed.at);
    ox_integer_conv_run(t, NULL, &c, packed.at, in.at, false, 0, out, &end, work.at);
    for (size_t i = 0; i < SIDE * SIDE * OUT; i++)
        ck_assert_int_eq(out[i], -128 * 255 * 9 * (int32_t)channels);
    guarded_free(&in.room);
    guarded_free(&w.room);
    guarded_free(&packed);
    guarded_free(&work);
}
END_TEST

/* The sanitizers look at what is read and written, for which fewer do. */
#ifdef OX_SANITIZE
enum { SHAPES = 160, OTHERS = 96 };
#else
enum { SHAPES = 400, OTHERS = 240 };
#endif

int main(void)
{
    Suite *s = suite_create("integer");
    TCase *tc = tcase_create("integer");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, products_are_exact, 0, SHAPES);
    tcase_add_loop_test(tc, products_in_several_blocks_are_exact, 0, 20);
    tcase_add_loop_test(tc, convolutions_are_exact, 0, SHAPES);
    tcase_add_loop_test(tc, convolutions_by_threads_are_exact, 0, 120);
    tcase_add_loop_test(tc, convolutions_of_batches_are_exact, 0, OTHERS);
    tcase_add_loop_test(tc, shallow_convolutions_are_exact, 0, OTHERS);
    tcase_add_loop_test(tc, convolutions_of_upright_rows_are_exact, 0, OTHERS);
    tcase_add_loop_test(tc, convolutions_of_small_groups_are_exact, 0, 300);
    tcase_add_loop_test(tc, convolutions_of_many_taps_are_exact, 0, 100);
    tcase_add_loop_test(tc, depthwise_lines_are_exact, 0, OTHERS);
    tcase_add_loop_test(tc, a_right_side_that_lies_as_it_is_gives_exact_products, 0, 400);
    tcase_add_loop_test(tc, rows_of_sums_leave_as_plain_c_lets_them, 0, 40);
    tcase_add_loop_test(tc, fractions_decide_what_is_close_to_a_tie, 0, 200);
    tcase_add_test(tc, sums_of_the_largest_products_do_not_saturate);
    tcase_add_loop_test(tc, sums_of_the_largest_convolutions_are_exact, 0, 16);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
