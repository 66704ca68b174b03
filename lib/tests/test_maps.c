/* Layouts, pooling and resizing at every level of the processor, against the plain loops of their definitions. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/maps.h"
#include "onnxtool.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

static const struct ox_compute *table(int i)
{
    return table_at((unsigned)i % n_tables());
}

START_TEST(layouts_are_turned_and_turned_back)
{
    struct dice d = {(uint64_t)_i};
    const size_t batch = dice_between(&d, 1, 3), channels = dice_between(&d, 1, 70);
    const size_t pixels = dice_between(&d, 1, 600), pixel = channels + dice_between(&d, 0, 9);
    struct guarded planar = guarded_new(&d, batch * channels * pixels, true);
    struct guarded back = guarded_new(&d, batch * channels * pixels, true);
    struct guarded flat = guarded_new(&d, batch * pixel * pixels, true);
    ox_maps_to_nhwc(table(_i), NULL, batch, channels, pixels, planar.at, flat.at, pixel);
    for (size_t n = 0; n < batch; n++) {
        for (size_t c = 0; c < channels; c++) {
            for (size_t x = 0; x < pixels; x++)
                ck_assert(flat.at[(n * pixels + x) * pixel + c] ==
                          planar.at[(n * channels + c) * pixels + x]);
        }
    }
    ox_maps_to_nchw(table(_i), NULL, batch, channels, pixels, flat.at, pixel, back.at);
    ck_assert(memcmp(planar.at, back.at, planar.n * sizeof(float)) == 0);
    guarded_free(&planar);
    guarded_free(&back);
    guarded_free(&flat);
}
END_TEST

static struct ox_pooling random_pooling(struct dice *d, bool nans)
{
    struct ox_pooling p = {.kind = nans ? OX_POOL_MAX : (enum ox_pool_kind)dice_between(d, 0, 2),
                           .batch = dice_between(d, 1, 2),
                           .channels = dice_between(d, 1, nans ? 150 : 40)};
    for (unsigned axis = 0; axis < 2; axis++) {
        p.kernel[axis] = dice_between(d, 1, dice_between(d, 0, 3) ? 4 : 11);
        p.stride[axis] = dice_between(d, 1, 3);
        p.dilation[axis] = dice_between(d, 1, 2);
        const size_t reach = (p.kernel[axis] - 1) * p.dilation[axis] + 1;
        p.in[axis] = reach + dice_between(d, 0, 9);
        p.pad[axis] = dice_between(d, 0, p.kernel[axis] - 1);
        p.pad_end[axis] = dice_between(d, 0, p.kernel[axis] - 1);
        p.out[axis] = (p.in[axis] + p.pad[axis] + p.pad_end[axis] - reach) / p.stride[axis] + 1;
    }
    p.in_pixel = p.channels + dice_between(d, 0, 5);
    p.out_pixel = p.channels + dice_between(d, 0, 5);
    return p;
}

static double pooled(const struct ox_pooling *p, const float *in, size_t n, size_t y, size_t x,
                     size_t c)
{
    double sum = 0, most = -INFINITY;
    size_t inside = 0, in_padded = 0, nans = 0;
    for (size_t r = 0; r < p->kernel[0]; r++) {
        for (size_t q = 0; q < p->kernel[1]; q++) {
            const size_t py = y * p->stride[0] + r * p->dilation[0];
            const size_t px = x * p->stride[1] + q * p->dilation[1];
            const size_t iy = py - p->pad[0], ix = px - p->pad[1];
            in_padded += py < p->in[0] + p->pad[0] + p->pad_end[0] &&
                         px < p->in[1] + p->pad[1] + p->pad_end[1];
            if (iy >= p->in[0] || ix >= p->in[1])
                continue;
            const float value = in[((n * p->in[0] + iy) * p->in[1] + ix) * p->in_pixel + c];
            inside++;
            nans += isnan(value);
            sum += value;
            most = value > most ? value : most;
        }
    }
    if (p->kind == OX_POOL_MAX)
        return inside > 0 && nans == inside ? NAN : most;
    if (inside == 0)
        return 0;
    return sum / (double)(p->kind == OX_POOL_AVERAGE ? inside : in_padded);
}

static void check_pooled(const struct ox_pooling *p, const float *in, const float *out)
{
    for (size_t n = 0; n < p->batch; n++) {
        for (size_t at = 0; at < p->out[0] * p->out[1]; at++) {
            for (size_t c = 0; c < p->channels; c++) {
                const double want = pooled(p, in, n, at / p->out[1], at % p->out[1], c);
                const double got = out[(n * p->out[0] * p->out[1] + at) * p->out_pixel + c];
                ck_assert_msg(isnan(want) ? isnan(got) : want == got || fabs(want - got) < 1e-5,
                              "kind %d: %g, expected %g", (int)p->kind, got, want);
            }
        }
    }
}

START_TEST(pooling_does_what_its_definition_says)
{
    struct dice d = {(uint64_t)_i * 31};
    const bool nans = _i % 7 == 0; /* at every level */
    const struct ox_pooling p = random_pooling(&d, nans);
    struct guarded in = guarded_new(&d, p.batch * p.in[0] * p.in[1] * p.in_pixel, true);
    struct guarded out = guarded_new(&d, p.batch * p.out[0] * p.out[1] * p.out_pixel, true);
    for (size_t i = 0; nans && i < in.n; i++) {
        const uint64_t roll = dice_between(&d, 0, 5);
        in.at[i] = roll < 4 ? NAN : roll < 5 ? -INFINITY : in.at[i];
    }
    ox_maps_pool(table(_i), NULL, &p, in.at, out.at);
    check_pooled(&p, in.at, out.at);
    guarded_free(&in);
    guarded_free(&out);
}
END_TEST

/* Lines go from the last to the first there. */
START_TEST(a_map_that_no_cache_holds_is_pooled_by_any_number_of_threads)
{
    enum { SIDE = 96, OUT = 48, CHANNELS = 40 };
    struct dice d = {(uint64_t)_i};
    const struct ox_pooling p = {.kind = _i & 8 ? OX_POOL_MAX : OX_POOL_AVERAGE,
                                 .batch = 1,
                                 .channels = CHANNELS,
                                 .in = {SIDE, SIDE},
                                 .out = {OUT, OUT},
                                 .in_pixel = CHANNELS,
                                 .out_pixel = CHANNELS,
                                 .kernel = {3, 3},
                                 .stride = {2, 2},
                                 .dilation = {1, 1},
                                 .pad = {1, 1}};
    struct guarded in = guarded_new(&d, (size_t)SIDE * SIDE * CHANNELS, true);
    struct guarded out = guarded_new(&d, (size_t)OUT * OUT * CHANNELS, true);
    struct guarded again = guarded_new(&d, out.n, true);
    struct ox_env *env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    ox_env_set_threads(env, 3);
    ox_maps_pool(table(_i), NULL, &p, in.at, out.at);
    ox_maps_pool(table(_i), env, &p, in.at, again.at);
    check_pooled(&p, in.at, out.at);
    ck_assert(memcmp(out.at, again.at, out.n * sizeof(float)) == 0);
    ox_env_release(env);
    guarded_free(&in);
    guarded_free(&out);
    guarded_free(&again);
}
END_TEST

static void pool_all(struct dice *d, int i, size_t batch, size_t channels, size_t pixels)
{
    struct guarded in = guarded_new(d, batch * pixels * channels, true);
    struct guarded out = guarded_new(d, batch * channels, true);
    struct guarded again = guarded_new(d, batch * channels, true);
    struct ox_env *env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    ox_env_set_threads(env, 2);
    ox_maps_pool_global(table(i), NULL, i & 4, batch, channels, pixels, in.at, channels, out.at,
                        channels);
    ox_maps_pool_global(table(i), env, i & 4, batch, channels, pixels, in.at, channels, again.at,
                        channels);
    ck_assert(memcmp(out.at, again.at, batch * channels * sizeof(float)) == 0);
    for (size_t n = 0; n < batch; n++) {
        for (size_t c = 0; c < channels; c++) {
            double sum = 0, most = -2;
            for (size_t x = 0; x < pixels; x++) {
                const double value = in.at[(n * pixels + x) * channels + c];
                sum += value;
                most = value > most ? value : most;
            }
            const double want = i & 4 ? most : sum / (double)pixels;
            ck_assert(fabs(want - out.at[n * channels + c]) < 1e-5);
        }
    }
    ox_env_release(env);
    guarded_free(&again);
    guarded_free(&in);
    guarded_free(&out);
}

START_TEST(pooling_over_all_pixels)
{
    struct dice d = {(uint64_t)_i * 37};
    const size_t channels = dice_between(&d, 1, 150);
    pool_all(&d, _i, 2, channels, dice_between(&d, 1, 200));
}
END_TEST

START_TEST(pooling_over_all_pixels_of_a_large_map)
{
    struct dice d = {(uint64_t)_i * 43};
    const size_t channels = _i % 2 ? dice_between(&d, 500, 520) : dice_between(&d, 1, 70);
    pool_all(&d, _i, 1, channels, dice_between(&d, 2040, 2300));
}
END_TEST

START_TEST(resizing_blends_the_four_neighbours)
{
    struct dice d = {(uint64_t)_i * 41};
    enum { IN = 7, OUT = 12 };
    size_t row[OUT][2], col[OUT][2];
    float row_weight[OUT], col_weight[OUT];
    for (size_t i = 0; i < OUT; i++) {
        row[i][0] = dice_between(&d, 0, IN - 1);
        row[i][1] = dice_between(&d, 0, IN - 1);
        col[i][0] = dice_between(&d, 0, IN - 1);
        col[i][1] = dice_between(&d, 0, IN - 1);
        row_weight[i] = fabsf(dice_float(&d));
        col_weight[i] = fabsf(dice_float(&d));
    }
    const bool nearest = _i & 2;
    struct ox_resizing r = {.batch = 2,
                            .channels = dice_between(&d, 1, 30),
                            .in = {IN, IN},
                            .out = {OUT, OUT},
                            .row = row[0],
                            .col = col[0],
                            .row_weight = nearest ? NULL : row_weight,
                            .col_weight = nearest ? NULL : col_weight};
    r.in_pixel = r.channels + 1;
    r.out_pixel = r.channels + 2;
    struct guarded in = guarded_new(&d, 2 * IN * IN * r.in_pixel, true);
    struct guarded out = guarded_new(&d, 2 * OUT * OUT * r.out_pixel, true);
    ox_maps_resize(table(_i), NULL, &r, in.at, out.at);
    for (size_t i = 0; i < 2 * OUT * OUT * r.channels; i++) {
        const size_t c = i % r.channels, x = i / r.channels % OUT, y = i / r.channels / OUT % OUT;
        const float *image = in.at + i / r.channels / OUT / OUT * IN * IN * r.in_pixel + c;
        double want = 0;
        for (unsigned u = 0; u < 2; u++) {
            for (unsigned v = 0; v < 2; v++) {
                const double a = nearest ? !u : u ? 1 - row_weight[y] : row_weight[y];
                const double b = nearest ? !v : v ? 1 - col_weight[x] : col_weight[x];
                want += a * b * image[(row[y][u] * IN + col[x][v]) * r.in_pixel];
            }
        }
        ck_assert(fabs(want - out.at[i / r.channels * r.out_pixel + c]) < 1e-5);
    }
    guarded_free(&in);
    guarded_free(&out);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("maps");
    TCase *tc = tcase_create("maps");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, layouts_are_turned_and_turned_back, 0, 40);
    tcase_add_loop_test(tc, pooling_does_what_its_definition_says, 0, 200);
    tcase_add_loop_test(tc, a_map_that_no_cache_holds_is_pooled_by_any_number_of_threads, 0, 16);
    tcase_add_loop_test(tc, pooling_over_all_pixels, 0, 40);
    tcase_add_loop_test(tc, pooling_over_all_pixels_of_a_large_map, 0, 16);
    tcase_add_loop_test(tc, resizing_blends_the_four_neighbours, 0, 20);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
