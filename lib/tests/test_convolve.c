/* Convolutions of every way at every level of the processor, against sums in double. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "onnxtool.h"
#include "tests/direct_conv.h"
#include "tests/random_conv.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

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
    compare_direct(&c, &s, &end, (sqrt(terms) + 4) * grown, way);
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
            compare_direct(&c, &s, &end, 200, ways[way]);
            free_sides(&s);
        }
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

int main(void)
{
    Suite *suite = suite_create("convolve");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, convolutions_of_any_shape_are_near_the_sums_in_double, 0,
                        SHAPES * N_WAYS);
    tcase_add_loop_test(all, stored_weights_of_many_channels_are_read_in_parts, 0, 10);
    tcase_add_loop_test(all, deep_sums_are_cut_and_put_together, 0, 2);
    tcase_add_loop_test(all, the_bits_are_the_same_for_any_number_of_threads, 0, N_WAYS);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
