/* Single operators at -O2 with all that the processor has, against -O0 in plain C: moves, picks, folds, casts and planes. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/every_level.h"
#include "tests/run_suite.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 18]> "

START_TEST(reductions_of_any_axes)
{
    static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax",
                                      "ReduceMin", "ReduceL1",   "ReduceSumSquare"};
    static const char *const axes[] = {"0", "1", "2", "0,1", "1,2", "0,2", "0,1,2"};
    struct dice d = {(uint64_t)_i * 31 + 7};
    char text[256];
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {0}, NULL}};
    const bool is_short = dice_between(&d, 0, 3) == 0; /* many short rows */
    for (unsigned k = 0; k < 3; k++) {
        const size_t most = is_short ? (k == 2 ? 20 : 40) : k == 2 ? 700 : 9;
        in[0].dims[k] = (int64_t)dice_between(&d, dice_between(&d, 0, 9) ? 1 : 0, most);
    }
    const size_t n = (size_t)(in[0].dims[0] * in[0].dims[1] * in[0].dims[2]);
    in[0].data = floats(&d, n, dice_between(&d, 0, 1));
    const char *op = ops[(size_t)_i % OX_COUNT(ops)];
    const char *over = axes[dice_between(&d, 0, OX_COUNT(axes) - 1)];
    snprintf(text, sizeof text,
             HEAD
             "g (float[A,B,C] x) => (y) <int64[%zu] a = {%s}> { y = %s <keepdims = %d> (x, a) }",
             (strlen(over) + 1) / 2, over, op, _i & 1);
    same_floats(text, in, 0);
}
END_TEST

/* The same in other types, which narrow ones are only for the greatest and least. */
START_TEST(reductions_of_other_types)
{
    static const char *const ops[] = {"ReduceMax",  "ReduceMin",       "ReduceSum",
                                      "ReduceMean", "ReduceL1",        "ReduceL2",
                                      "ReduceProd", "ReduceSumSquare", "ReduceLogSum"};
    static const enum ox_dtype types[] = {OX_FLOAT64, OX_INT32, OX_INT64, OX_UINT32,
                                          OX_UINT64,  OX_INT8,  OX_UINT8};
    static const char *const axes[] = {"0", "1", "2", "0,1", "1,2", "0,2", "0,1,2"};
    struct dice d = {(uint64_t)_i * 37 + 5};
    char text[256];
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {0}, NULL}};
    const size_t which = (size_t)_i % OX_COUNT(types);
    const char *over = axes[dice_between(&d, 0, OX_COUNT(axes) - 1)];
    for (unsigned k = 0; k < 3; k++)
        in[0].dims[k] = (int64_t)dice_between(&d, 1, k == (size_t)_i / 7 % 3 ? 200 : 12);
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * in[0].dims[1] * in[0].dims[2]), which == 0);
    snprintf(text, sizeof text,
             HEAD "g (float[A,B,C] x) => (y) <int64[%zu] a = {%s}> { p = %s (x) "
                  "c = Cast <to = %d> (p) s = %s (c, a) y = Cast <to = 1> (s) }",
             (strlen(over) + 1) / 2, over,
             which == 0 || types[which] == OX_INT8 ? "Identity" : "Abs", (int)types[which],
             ops[dice_between(&d, 0, which < 5 ? OX_COUNT(ops) - 1 : 1)]);
    same_floats(text, in, 0);
}
END_TEST

START_TEST(places_of_the_greatest)
{
    struct dice d = {(uint64_t)_i * 53 + 3};
    char text[256];
    struct given in[INPUTS] = {{OX_FLOAT32, 2, {0}, NULL}};
    in[0].dims[0] = (int64_t)dice_between(&d, 0, 9);
    in[0].dims[1] = (int64_t)dice_between(&d, 1, 900);
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * in[0].dims[1]), _i & 1);
    snprintf(text, sizeof text,
             HEAD "g (float[A,B] x) => (y) { y = %s <axis = 1, select_last_index = %d> (x) }",
             _i & 2 ? "ArgMin" : "ArgMax", (_i >> 2) & 1);
    same_bits(text, in);
}
END_TEST

/* Along the last axis, and of the same numbers along the first. */
START_TEST(places_of_the_greatest_in_every_type)
{
    static const enum ox_dtype types[] = {OX_FLOAT64, OX_INT8,  OX_INT16,  OX_INT32,
                                          OX_INT64,   OX_UINT8, OX_FLOAT32};
    struct dice d = {(uint64_t)_i * 29 + 1};
    const enum ox_dtype type = types[(size_t)_i % OX_COUNT(types)];
    const bool real = type == OX_FLOAT64 || type == OX_FLOAT32;
    const char *name = _i & 1 ? "ArgMin" : "ArgMax";
    const int last = (_i >> 1) & 1;
    char text[512];
    struct given in[INPUTS] = {{OX_FLOAT32, 2, {0}, NULL}};
    in[0].dims[0] = (int64_t)dice_between(&d, 2, 9);
    in[0].dims[1] = (int64_t)dice_between(&d, 1, 300);
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * in[0].dims[1]), real);
    snprintf(text, sizeof text,
             HEAD
             "g (float[A,B] x) => (y) { p = %s (x) c = Cast <to = %d> (p) "
             "l = %s <axis = 1, select_last_index = %d> (c) t = Transpose (c) "
             "f = %s <axis = 0, select_last_index = %d> (t) u = Transpose (f) y = Sub (l, u) }",
             type == OX_UINT8 ? "Abs" : "Identity", (int)type, name, last, name, last);
    const size_t bytes = run_at(ox_cpu_probe(), 2, text, in, fast);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_msg(!fast[i], "byte %zu: %s", i, text);
}
END_TEST

START_TEST(softmax_along_any_axis)
{
    struct dice d = {(uint64_t)_i * 41 + 5};
    char text[256];
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {0}, NULL}};
    for (size_t i = 0; i < 3; i++)
        in[0].dims[i] = (int64_t)dice_between(&d, 1, _i % 3 == (int)i ? 300 : 12);
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * in[0].dims[1] * in[0].dims[2]), _i & 1);
    snprintf(text, sizeof text, HEAD "g (float[A,B,C] x) => (y) { y = %s <axis = %d> (x) }",
             _i & 2 ? "Softmax" : "LogSoftmax", (_i >> 2) % 3);
    same_floats(text, in, 2e-6f);
}
END_TEST

/* Channels as the second axis, and of the same numbers as the last one. */
START_TEST(channels_by_their_mean_and_variance)
{
    struct dice d = {(uint64_t)_i * 17 + 7};
    struct given in[INPUTS] = {{OX_FLOAT32, 4, {0}, NULL}};
    size_t n = 1;
    for (size_t i = 0; i < 4; i++) {
        in[0].dims[i] = (int64_t)dice_between(&d, 1, i < 2 ? 4 : 30);
        n *= (size_t)in[0].dims[i];
    }
    in[0].data = floats(&d, n, false);
    run_at(ox_cpu_probe(), 2,
           HEAD "g (float[A,B,C,D] x) => (y) { m = MeanVarianceNormalization (x) "
                "t = Transpose <perm = [0, 2, 3, 1]> (x) "
                "l = MeanVarianceNormalization <axes = [0, 1, 2]> (t) "
                "u = Transpose <perm = [0, 3, 1, 2]> (l) y = Sub (m, u) }",
           in, fast);
    for (size_t i = 0; i < n; i++) {
        float y;
        memcpy(&y, fast + i * sizeof y, sizeof y);
        ck_assert_float_lt(fabsf(y), 2e-6f);
    }
}
END_TEST

/* Over axes that lie apart, side by side, or all; of numbers far from 0, and all equal. */
START_TEST(means_and_variances_over_any_axes)
{
    static const char *const axes[] = {"0",    "1",    "2",    "3",    "0, 1",
                                       "1, 2", "2, 3", "0, 2", "1, 3", "0, 1, 2, 3"};
    struct dice d = {(uint64_t)_i * 19 + 3};
    char text[256];
    struct given in[INPUTS] = {{OX_FLOAT32, 4, {0}, NULL}};
    size_t n = 1;
    for (size_t i = 0; i < 4; i++) {
        in[0].dims[i] = (int64_t)dice_between(&d, 1, _i % 4 == (int)i ? 40 : 6);
        n *= (size_t)in[0].dims[i];
    }
    in[0].data = floats(&d, n, _i % 4 == 3);
    snprintf(text, sizeof text,
             HEAD "g (float[A,B,C,D] x) => (y) <float f = {%d}, float o = {%d.3}> { a = Mul (x, f) "
                  "b = Add (a, o) y = MeanVarianceNormalization <axes = [%s]> (b) }",
             _i % 4 != 1, _i % 4 == 2 ? 1000 : 0, axes[_i % OX_COUNT(axes)]);
    /* What rounding leaves of equal numbers is divided by 1e-9. */
    same_floats(text, in, _i % 4 == 1 ? 1e-4f : 4e-6f);
}
END_TEST

START_TEST(losses_of_classes)
{
    static const char *const reductions[] = {"none", "sum", "mean"};
    struct dice d = {(uint64_t)_i * 31 + 11};
    char text[256];
    int64_t targets[4 * 600];
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {0}, NULL}, {OX_INT64, 2, {0}, targets}};
    in[0].dims[0] = in[1].dims[0] = (int64_t)dice_between(&d, 1, 4);
    in[0].dims[1] = (int64_t)dice_between(&d, 1, 20);
    in[0].dims[2] = in[1].dims[1] = (int64_t)dice_between(&d, 1, _i & 1 ? 1 : 600);
    for (int64_t i = 0; i < in[1].dims[0] * in[1].dims[1]; i++)
        targets[i] = (int64_t)dice_between(&d, 0, (uint64_t)in[0].dims[1] - 1);
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * in[0].dims[1] * in[0].dims[2]), false);
    snprintf(text, sizeof text,
             HEAD "g (float[A,B,C] x, int64[A,C] t) => (y) { y = %s <reduction = \"%s\", "
                  "ignore_index = 3> (x, t) }",
             _i & 2 ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", reductions[_i % 3]);
    same_floats(text, in, 2e-6f);
}
END_TEST

/* Against int64, whose quotient of the least number by -1 the cast wraps. */
START_TEST(quotients_of_int32)
{
    enum { ROWS = 40, COLUMNS = 50 };
    static const int32_t odd[] = {
        0, 1, -1, 2, -2, 3, INT32_MIN, INT32_MAX, INT32_MIN + 1, INT32_MAX - 1, 46341};
    struct dice d = {(uint64_t)_i * 7 + 1};
    int32_t x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        x[i] = i % 3 ? (int32_t)((int64_t)dice_between(&d, 0, UINT32_MAX) + INT32_MIN)
                     : odd[dice_between(&d, 0, OX_COUNT(odd) - 1)];
        y[i] = i % 4 ? (x[i] >> dice_between(&d, 1, 31)) + (int32_t)(i % 4) - 2
                     : odd[dice_between(&d, 0, OX_COUNT(odd) - 1)];
    }
    const int64_t right = _i == 0 ? ROWS : 1;
    const struct given in[INPUTS] = {{OX_INT32, 2, {ROWS, COLUMNS}, x},
                                     {OX_INT32, 2, {right, _i < 2 ? COLUMNS : 1}, y + _i}};
    run_at(ox_cpu_probe(), 2,
           HEAD "g (int32[A,B] x, int32[C,D] y) => (z) { q = Div (x, y) a = Cast <to = 7> (x) "
                "b = Cast <to = 7> (y) w = Div (a, b) c = Cast <to = 6> (w) z = Sub (q, c) }",
           in, fast);
    for (size_t i = 0; i < sizeof x; i++)
        ck_assert(!fast[i]);
}
END_TEST

START_TEST(axes_turned_around)
{
    static const struct {
        enum ox_dtype dtype;
        const char *name;
    } types[] = {{OX_FLOAT32, "float"}, {OX_UINT8, "uint8"}, {OX_FLOAT16, "float16"},
                 {OX_INT64, "int64"},   {OX_INT32, "int32"}, {OX_BOOL, "bool"}};
    static const char *const perms[] = {"2,1,0", "0,2,1", "1,0,2", "1,2,0", "2,0,1"};
    static unsigned char bytes[MOST_BYTES];
    struct dice d = {(uint64_t)_i * 11 + 5};
    char text[256];
    const size_t type = (size_t)_i % OX_COUNT(types);
    struct given in[INPUTS] = {{types[type].dtype, 3, {0}, bytes}};
    for (unsigned k = 0; k < 3; k++)
        in[0].dims[k] = (int64_t)dice_between(&d, 0, 40);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)dice_next(&d) & (in[0].dtype == OX_BOOL ? 1 : 0xff);
    snprintf(text, sizeof text, HEAD "g (%s[A,B,C] x) => (y) { y = Transpose <perm = [%s]> (x) }",
             types[type].name, perms[dice_between(&d, 0, OX_COUNT(perms) - 1)]);
    same_bits(text, in);
}
END_TEST

/* Element i of the picked ones, counted out. */
static size_t picked_from(const int64_t *dims, const int64_t *data_dims, unsigned axis,
                          const int64_t *index, size_t i)
{
    size_t rest = i, place = 0, pitch = 1;
    for (unsigned k = 3; k-- > 0;) {
        int64_t at = (int64_t)(rest % (size_t)dims[k]);
        rest /= (size_t)dims[k];
        if (k == axis)
            at = index[i] < 0 ? index[i] + data_dims[k] : index[i];
        place += (size_t)at * pitch;
        pitch *= (size_t)data_dims[k];
    }
    return place;
}

START_TEST(elements_picked_along_an_axis)
{
    static const enum ox_dtype types[] = {OX_UINT8, OX_FLOAT16, OX_INT32, OX_INT64, OX_COMPLEX128};
    static const char *const names[] = {"uint8", "float16", "int32", "int64", "complex128"};
    static unsigned char bytes[MOST_BYTES];
    static int64_t index[MOST];
    struct dice d = {(uint64_t)_i * 23 + 1};
    const size_t type = (size_t)_i % OX_COUNT(types), size = ox_dtype_size(types[type]);
    const unsigned axis = (unsigned)dice_between(&d, 0, 2);
    struct given in[INPUTS] = {{types[type], 3, {0}, bytes}, {OX_INT64, 3, {0}, index}};
    for (unsigned k = 0; k < 3; k++) {
        in[0].dims[k] = (int64_t)dice_between(&d, 1, 12);
        in[1].dims[k] = (int64_t)dice_between(&d, dice_between(&d, 0, 9) ? 1 : 0,
                                              k == axis ? 20 : (size_t)in[0].dims[k]);
    }
    const int64_t extent = in[0].dims[axis];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)dice_next(&d);
    const size_t n = (size_t)(in[1].dims[0] * in[1].dims[1] * in[1].dims[2]);
    for (size_t i = 0; i < n; i++)
        index[i] = (int64_t)dice_between(&d, 0, (size_t)(2 * extent - 1)) - extent;
    char text[256];
    snprintf(text, sizeof text,
             HEAD
             "g (%s[A,B,C] x, int64[D,E,F] i) => (y) { y = GatherElements <axis = %u> (x, i) }",
             names[type], axis);
    ck_assert_uint_eq(run_both(text, in), n * size);
    for (size_t i = 0; i < n; i++) {
        const size_t from = picked_from(in[1].dims, in[0].dims, axis, index, i);
        if (memcmp(fast + i * size, bytes + from * size, size) != 0)
            ck_abort_msg("element %zu of %zu: %s", i, n, text);
    }
    if (n == 0)
        return;
    struct text_run f;
    index[n - 1] = _i & 1 ? extent : -extent - 1;
    text_must_plan(&f, text, &(const struct ox_run_options){.level = 2});
    for (size_t i = 0; i < INPUTS; i++)
        text_give(&f, in[i].dtype, in[i].rank, in[i].dims, in[i].data);
    ck_assert_int_eq(text_run_once(&f), OX_INPUT);
    char place[32];
    snprintf(place, sizeof place, "indices[%zu]", n - 1);
    ck_assert_msg(strstr(f.err.message, place), "%s", f.err.message);
    text_close(&f);
}
END_TEST

START_TEST(bools_are_inverted_and_halves_added)
{
    static uint8_t bools[1000];
    static uint16_t halves[65536];
    struct dice d = {(uint64_t)_i + 1};
    struct given in[INPUTS] = {{OX_BOOL, 1, {(int64_t)dice_between(&d, 0, 1000)}, bools}};
    for (size_t i = 0; i < sizeof bools; i++)
        bools[i] = (uint8_t)dice_between(&d, 0, 1);
    same_bits(HEAD "g (bool[A] x) => (y) { y = Not(x) }", in);
    for (size_t i = 0; i < OX_COUNT(halves); i++)
        halves[i] = (uint16_t)(i * 40503);
    in[0] = (struct given){OX_FLOAT16, 1, {(int64_t)dice_between(&d, 0, 1000)}, halves + _i};
    in[1] = (struct given){OX_FLOAT16, 1, {in[0].dims[0]}, halves + 3001};
    run_both(HEAD "g (float16[A] x, float16[A] z) => (y) { y = Add(x, z) }", in);
    for (int64_t i = 0; i < in[0].dims[0]; i++) {
        uint16_t x, y;
        memcpy(&x, slow + (size_t)i * sizeof x, sizeof x);
        memcpy(&y, fast + (size_t)i * sizeof y, sizeof y);
        ck_assert(x == y || ((x & 0x7fff) > 0x7c00 && (y & 0x7fff) > 0x7c00));
    }
}
END_TEST

/* Filters of more than two points: the same sums in the same order. */
START_TEST(planes_by_filters)
{
    struct dice d = {(uint64_t)_i * 71 + 13};
    char text[512];
    struct given in[INPUTS] = {{OX_FLOAT32, 4, {2, 3, 3, 3}, NULL}};
    const unsigned first = (unsigned)_i % 3; /* of the two axes that change */
    double scales[4] = {1, 1, 1, 1};
    for (unsigned k = first; k < first + 2; k++) {
        in[0].dims[k] = (int64_t)dice_between(&d, 1, 30);
        scales[k] = (double)dice_between(&d, 1, 8) / 4;
    }
    in[0].data =
        floats(&d, (size_t)(in[0].dims[0] * in[0].dims[1] * in[0].dims[2] * in[0].dims[3]), _i & 8);
    snprintf(
        text, sizeof text,
        HEAD
        "g (float[A,B,C,D] x) => (y) <float[4] s = {%g, %g, %g, %g}> { y = Resize <mode = \"%s\", "
        "antialias = %d, exclude_outside = %d> (x, , s) }",
        scales[0], scales[1], scales[2], scales[3], _i & 1 ? "linear" : "cubic", _i & 3 ? 1 : 0,
        _i & 4 ? 1 : 0);
    same_floats(text, in, _i & 1 ? 1e-6f : 0);
}
END_TEST

/* Upsample of opset 9 and Resize of opset 10. */
START_TEST(planes_by_scales)
{
    struct dice d = {(uint64_t)_i * 67 + 1};
    char text[512];
    struct given in[INPUTS] = {{OX_FLOAT32, 4, {1, 2, 0, 0}, NULL}};
    in[0].dims[2] = (int64_t)dice_between(&d, 1, 20);
    in[0].dims[3] = (int64_t)dice_between(&d, 1, 20);
    in[0].data = floats(&d, (size_t)(2 * in[0].dims[2] * in[0].dims[3]), false);
    const bool nearest = _i & 1, resize = _i & 2;
    snprintf(text, sizeof text,
             "<ir_version: 5, opset_import: [\"\" : %d]> g (float[A,B,C,D] x) => (y) "
             "<float[4] s = {1, 1, %g, %g}> { y = %s <mode = \"%s\"> (x, s) }",
             resize ? 10 : 9, 1 + (double)dice_between(&d, 0, 12) / 4,
             (double)dice_between(&d, resize ? 2 : 4, 12) / 4, resize ? "Resize" : "Upsample",
             nearest ? "nearest" : "linear");
    same_floats(text, in, nearest ? 0 : 1e-6f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("every level");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, reductions_of_any_axes, 0, 240);
    tcase_add_loop_test(all, reductions_of_other_types, 0, 360);
    tcase_add_loop_test(all, places_of_the_greatest, 0, 48);
    tcase_add_loop_test(all, places_of_the_greatest_in_every_type, 0, 56);
    tcase_add_loop_test(all, softmax_along_any_axis, 0, 72);
    tcase_add_loop_test(all, channels_by_their_mean_and_variance, 0, 24);
    tcase_add_loop_test(all, means_and_variances_over_any_axes, 0, 120);
    tcase_add_loop_test(all, losses_of_classes, 0, 48);
    tcase_add_loop_test(all, quotients_of_int32, 0, 12);
    tcase_add_loop_test(all, axes_turned_around, 0, 60);
    tcase_add_loop_test(all, elements_picked_along_an_axis, 0, 60);
    tcase_add_loop_test(all, bools_are_inverted_and_halves_added, 0, 8);
    tcase_add_loop_test(all, planes_by_scales, 0, 80);
    tcase_add_loop_test(all, planes_by_filters, 0, 96);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
