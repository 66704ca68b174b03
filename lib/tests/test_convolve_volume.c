/* Depthwise convolutions over three axes at every level of the processor, against sums in double. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/convolve_volume.h"
#include "onnxtool.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

static struct ox_volume_conv random_volume(struct dice *d, unsigned turn)
{
    struct ox_volume_conv c = {.batch = dice_between(d, 1, 2), .channels = dice_between(d, 2, 40)};
    for (unsigned axis = 0; axis < 3; axis++) {
        c.kernel[axis] = dice_between(d, 1, axis == 2 ? 5 : 4);
        c.stride[axis] = dice_between(d, 1, 3);
        c.dilation[axis] = dice_between(d, 0, 2) ? 1 : 2;
        c.in[axis] = dice_between(d, 1, 9);
        c.pad[axis] = dice_between(d, 0, 4);
        const size_t span = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
        const size_t all = c.in[axis] + c.pad[axis] + dice_between(d, 0, 4);
        if (all < span)
            c.pad[axis] += span - all;
        c.out[axis] = all < span ? 1 : (all - span) / c.stride[axis] + 1;
    }
    if (turn % 16 == 0) { /* slices that are few at a time, lines that are not all turned at once */
        c.channels = 17;
        for (unsigned axis = 1; axis < 3; axis++)
            c.in[axis] = 50, c.out[axis] = (49 + c.pad[axis]) / c.stride[axis] + 1;
        c.in[0] = 12;
        c.out[0] = 10;
    }
    return c;
}

static double sum_at(const struct ox_volume_conv *c, size_t plane, const size_t *at)
{
    const size_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const size_t channel = plane % c->channels;
    double sum = c->bias ? c->bias[channel] : 0;
    for (size_t tap = 0; tap < taps; tap++) {
        const size_t k[3] = {tap / c->kernel[2] / c->kernel[1], tap / c->kernel[2] % c->kernel[1],
                             tap % c->kernel[2]};
        size_t from = plane;
        bool inside = true;
        for (unsigned axis = 0; axis < 3; axis++) {
            const size_t i =
                at[axis] * c->stride[axis] + k[axis] * c->dilation[axis] - c->pad[axis];
            inside = inside && i < c->in[axis];
            from = from * c->in[axis] + i;
        }
        if (inside)
            sum += (double)c->x[from] * c->weights[channel * taps + tap];
    }
    return sum;
}

static void compare(const struct ox_volume_conv *c)
{
    const float *y = c->y;
    for (size_t plane = 0; plane < c->batch * c->channels; plane++) {
        size_t at[3];
        for (at[0] = 0; at[0] < c->out[0]; at[0]++)
            for (at[1] = 0; at[1] < c->out[1]; at[1]++)
                for (at[2] = 0; at[2] < c->out[2]; at[2]++, y++)
                    ck_assert_msg(fabs(*y - sum_at(c, plane, at)) < 1e-4, "plane %zu %zu,%zu,%zu",
                                  plane, at[0], at[1], at[2]);
    }
}

START_TEST(depthwise_over_three_axes_is_its_definition_for_any_number_of_threads)
{
    struct dice d = {(uint64_t)_i * 7919};
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    struct ox_volume_conv c = random_volume(&d, (unsigned)_i / n_tables());
    const size_t planes = c.batch * c.channels, n_out = c.out[0] * c.out[1] * c.out[2];
    struct guarded x = guarded_new(&d, planes * c.in[0] * c.in[1] * c.in[2], true);
    struct guarded w = guarded_new(&d, c.channels * c.kernel[0] * c.kernel[1] * c.kernel[2], true);
    struct guarded bias = guarded_new(&d, c.channels, true);
    struct guarded y[2];
    c.x = x.at;
    c.weights = w.at;
    c.bias = dice_between(&d, 0, 1) ? bias.at : NULL;
    ck_assert(ox_volume_conv_fits(&c));
    for (unsigned i = 0; i < 2; i++) {
        struct ox_env *env = ox_env_new();
        ox_env_set_threads(env, 1 + 2 * i);
        struct guarded work = guarded_new(&d, ox_volume_conv_work(env, &c), false);
        y[i] = guarded_new(&d, planes * n_out, false);
        c.y = y[i].at;
        ox_volume_conv_run(t, env, &c, work.at);
        guarded_free(&work);
        ox_env_release(env);
    }
    compare(&c);
    ck_assert(memcmp(y[0].at, y[1].at, planes * n_out * sizeof(float)) == 0);
    guarded_free(&x);
    guarded_free(&w);
    guarded_free(&bias);
    guarded_free(&y[0]);
    guarded_free(&y[1]);
}
END_TEST

START_TEST(what_has_too_many_lines_or_is_too_large_does_not_fit)
{
    const struct ox_volume_conv c = {.batch = 1,
                                     .channels = 8,
                                     .kernel = {3, 3, 3},
                                     .stride = {1, 1, 1},
                                     .dilation = {1, 1, 1},
                                     .in = {8, 8, 8},
                                     .out = {6, 6, 6}};
    struct ox_volume_conv other = c;
    ck_assert(ox_volume_conv_fits(&other));
    other.channels = 1;
    ck_assert(!ox_volume_conv_fits(&other));
    other = c;
    other.kernel[0] = other.kernel[1] = 9;
    ck_assert(!ox_volume_conv_fits(&other));
    other = c;
    other.out[1] = other.out[2] = 1000;
    ck_assert(!ox_volume_conv_fits(&other));
    other = c;
    other.dilation[2] = SIZE_MAX;
    ck_assert(!ox_volume_conv_fits(&other));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("convolve_volume");
    TCase *tc = tcase_create("convolve_volume");
    tcase_add_loop_test(tc, depthwise_over_three_axes_is_its_definition_for_any_number_of_threads,
                        0, 200);
    tcase_add_test(tc, what_has_too_many_lines_or_is_too_large_does_not_fit);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
