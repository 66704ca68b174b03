/* Convolutions over planes at every level of the processor, against sums in double. */
#include <check.h>
#include <math.h>

#include "kernels/convolve_planes.h"
#include "onnxtool.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

enum { MOST_TAPS = 9, MOST_LINES = 40 };

/* Lines of any width, apart from each other or not; a line alone may end where the planes end. */
static struct ox_plane_conv random_planes(struct dice *d, size_t *tap, size_t *line)
{
    struct ox_plane_conv c = {.rows = dice_between(d, 1, 9),
                              .channels = dice_between(d, 1, 9),
                              .taps = dice_between(d, 1, MOST_TAPS),
                              .lines = dice_between(d, 1, MOST_LINES),
                              .width = dice_between(d, 1, dice_between(d, 0, 1) ? 12 : 70),
                              .tap = tap,
                              .line = line,
                              .batch = dice_between(d, 1, 2),
                              .groups = dice_between(d, 1, 2)};
    size_t far = 0, at = 0;
    if (dice_between(d, 0, 7) == 0) {
        c.ends = true;
        c.lines = c.taps = 1;
    }
    for (size_t i = 0; i < c.taps; i++) {
        tap[i] = c.ends ? 0 : dice_between(d, 0, 30);
        far = tap[i] > far ? tap[i] : far;
    }
    for (size_t i = 0; i < c.lines; i++, at += c.width + (c.ends ? 0 : dice_between(d, 0, 5)))
        line[i] = at;
    c.plane = line[c.lines - 1] + c.width + far;
    return c;
}

static double sum_at(const struct ox_plane_conv *c, size_t part, size_t row, size_t pixel)
{
    const size_t i = part % c->groups * c->rows + row;
    const float *x = c->x + part * c->channels * c->plane;
    const size_t from = c->line[pixel / c->width] + pixel % c->width;
    double sum = c->bias ? c->bias[i] : 0;
    for (size_t k = 0; k < c->channels; k++)
        for (size_t t = 0; t < c->taps; t++)
            sum += (double)x[k * c->plane + from + c->tap[t]] *
                   c->weights[(i * c->channels + k) * c->taps + t];
    return sum;
}

START_TEST(convolutions_over_planes_are_their_definition)
{
    struct dice d = {(uint64_t)_i * 7919};
    size_t tap[MOST_TAPS], line[MOST_LINES];
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    struct ox_plane_conv c = random_planes(&d, tap, line);
    const size_t parts = c.batch * c.groups, pixels = c.lines * c.width;
    const size_t slack = c.ends ? 0 : OX_PLANE_SLACK, depth = c.channels * c.taps;
    struct guarded x = guarded_new(&d, parts * c.channels * c.plane + slack, true);
    struct guarded w = guarded_new(&d, c.groups * c.rows * depth, true);
    struct guarded bias = guarded_new(&d, c.groups * c.rows, true);
    struct guarded y = guarded_new(&d, parts * c.rows * pixels, false);
    struct guarded work = guarded_new(&d, ox_plane_conv_work(t, NULL, &c), false);
    c.x = x.at;
    c.weights = w.at;
    c.bias = dice_between(&d, 0, 1) ? bias.at : NULL;
    c.y = y.at;
    ox_plane_conv_run(t, NULL, &c, work.at);
    for (size_t part = 0; part < parts; part++)
        for (size_t row = 0; row < c.rows; row++)
            for (size_t p = 0; p < pixels; p++)
                ck_assert_msg(fabs(y.at[(part * c.rows + row) * pixels + p] -
                                   sum_at(&c, part, row, p)) < 1e-4,
                              "part %zu row %zu pixel %zu", part, row, p);
    guarded_free(&x);
    guarded_free(&w);
    guarded_free(&bias);
    guarded_free(&y);
    guarded_free(&work);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convolve_planes");
    TCase *tests = tcase_create("convolve_planes");
    tcase_add_loop_test(tests, convolutions_over_planes_are_their_definition, 0, 600);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
