/* Single operators at -O2 with all that the processor has, against -O0 in plain C: moves, picks, folds and casts bit by bit. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/env.h"
#include "kernels/cpu.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { MOST = 1 << 16, MOST_BYTES = MOST * 8, INPUTS = 2 };

struct given {
    enum ox_dtype dtype;
    unsigned rank;
    int64_t dims[4];
    const void *data;
};

/* Bytes of the first output, which go to `out`. */
static size_t run_at(enum ox_cpu cpu, int level, const char *text, const struct given *in,
                     void *out)
{
    struct text_run f;
    const struct ox_run_options options = {.level = level};
    ox_cpu_limit(cpu);
    text_must_plan(&f, text, &options);
    for (size_t i = 0; i < INPUTS && in[i].dtype; i++)
        text_give(&f, in[i].dtype, in[i].rank, in[i].dims, in[i].data);
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    const size_t bytes = y->n * ox_dtype_size(y->dtype);
    ck_assert_uint_le(bytes, MOST_BYTES);
    if (bytes)
        memcpy(out, y->data, bytes);
    text_close(&f);
    ox_cpu_limit(ox_cpu_probe());
    return bytes;
}

static char slow[MOST_BYTES], fast[MOST_BYTES];

static size_t run_both(const char *text, const struct given *in)
{
    const size_t bytes = run_at(OX_CPU_C, 0, text, in, slow);
    ck_assert_uint_eq(run_at(ox_cpu_probe(), 2, text, in, fast), bytes);
    return bytes;
}

static void same_bits(const char *text, const struct given *in)
{
    const size_t bytes = run_both(text, in);
    size_t at = 0;
    while (at < bytes && slow[at] == fast[at])
        at++;
    ck_assert_msg(at == bytes, "byte %zu of %zu: %s", at, bytes, text);
}

/* Floats: any NaN for NaN, else within `reach` of the larger one; 0: the same. */
static void same_floats(const char *text, const struct given *in, float reach)
{
    const size_t n = run_both(text, in) / sizeof(float);
    for (size_t i = 0; i < n; i++) {
        float x, y;
        memcpy(&x, slow + i * sizeof x, sizeof x);
        memcpy(&y, fast + i * sizeof y, sizeof y);
        if ((isnan(x) && isnan(y)) || x == y || fabsf(x - y) <= reach * (1 + fabsf(x)))
            continue;
        ck_abort_msg("%zu: %g, not %g: %s", i, (double)y, (double)x, text);
    }
}

/* Few different values, now and then an infinity, a zero of either sign or NaN. */
static const float *floats(struct dice *d, size_t n, bool hard)
{
    static float values[INPUTS][MOST];
    static unsigned next;
    float *x = values[next++ % INPUTS];
    const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)dice_between(d, 0, 400) / 64 - 3;
        if (hard && !dice_between(d, 0, 60))
            x[i] = odd[dice_between(d, 0, OX_COUNT(odd) - 1)];
    }
    return x;
}

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

START_TEST(products_that_an_equation_names)
{
    static const struct {
        const char *equation;
        unsigned rank[2];
        const char *labels; /* of both inputs, as places in the sizes */
    } cases[] = {{"bij,bjk->bik", {3, 3}, "012023"},
                 {"bij,bkj->bik", {3, 3}, "012032"},
                 {"bij,bkj->bki", {3, 3}, "012032"},
                 {"ij,jk", {2, 2}, "0112"},
                 {"bqhd,bkhd->bhqk", {4, 4}, "01230423"},
                 {"bhqk,bkhd->bqhd", {4, 4}, "02140423"},
                 {"bhqd,khd->bhqk", {4, 3}, "0123413"},
                 {"bhwc,wkc->bhwk", {4, 3}, "0123243"},
                 {"bhwc,hkc->bhwk", {4, 3}, "0123143"},
                 {"ncv,vw->ncw", {3, 2}, "01223"},
                 {"nkcv,kvw->ncw", {4, 3}, "0123134"},
                 {"bqd,bkd->kbq", {3, 3}, "012032"},
                 {"bde,ce->bcd", {3, 2}, "01232"},
                 {"ij,kl->ijkl", {2, 2}, "0123"},
                 {"ij,ij->i", {2, 2}, "0101"},
                 {"ij,ij->", {2, 2}, "0101"},
                 {"iji,jk->ki", {3, 2}, "01012"},
                 {"abc,cd->ad", {3, 2}, "01223"}};
    struct dice d = {(uint64_t)_i * 17 + 9};
    const size_t c = (size_t)_i % OX_COUNT(cases);
    struct given in[INPUTS];
    int64_t sizes[5];
    char text[256];
    for (unsigned k = 0; k < 5; k++)
        sizes[k] = (int64_t)dice_between(&d, dice_between(&d, 0, 20) ? 1 : 0,
                                         dice_between(&d, 0, 2) ? 7 : 20);
    const char *label = cases[c].labels;
    for (unsigned i = 0; i < 2; i++) {
        size_t n = 1;
        in[i] = (struct given){OX_FLOAT32, cases[c].rank[i], {0}, NULL};
        for (unsigned k = 0; k < in[i].rank; k++) {
            in[i].dims[k] = sizes[*label++ - '0'];
            n *= (size_t)in[i].dims[k];
        }
        in[i].data = floats(&d, n, false);
    }
    static const char *const left[] = {"", "", "A,B", "A,B,C", "A,B,C,D"};
    static const char *const right[] = {"", "", "E,F", "E,F,G", "E,F,G,H"};
    snprintf(text, sizeof text,
             HEAD "g (float[%s] x, float[%s] z) => (y) { y = Einsum <equation = \"%s\"> (x, z) }",
             left[in[0].rank], right[in[1].rank], cases[c].equation);
    same_floats(text, in, 1e-5f);
}
END_TEST

/* One operand alone, which is what a reduction gives; of whole numbers, so that every order of summing is exact. */
START_TEST(sums_of_one_operand)
{
    static const struct {
        const char *equation, *axes;
    } cases[] = {{"abc->ab", "2"},   {"abc->a", "1, 2"},   {"abc->ac", "1"}, {"abc->b", "0, 2"},
                 {"abc->c", "0, 1"}, {"abc->", "0, 1, 2"}, {"abc->bc", "0"}};
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_INT32, OX_INT64};
    struct dice d = {(uint64_t)_i * 29 + 13};
    char text[512];
    const size_t c = (size_t)_i % OX_COUNT(cases);
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {0}, NULL}};
    for (unsigned k = 0; k < 3; k++)
        in[0].dims[k] = (int64_t)dice_between(&d, 1, k == (size_t)_i / 7 % 3 ? 150 : 9);
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * in[0].dims[1] * in[0].dims[2]), false);
    snprintf(text, sizeof text,
             HEAD
             "g (float[A,B,C] x) => (y) <float f = {64}, int64[%zu] axes = {%s}> { m = Mul (x, f) "
             "v = Cast <to = %d> (m) e = Einsum <equation = \"%s\"> (v) "
             "s = ReduceSum <keepdims = 0> (v, axes) d = Sub (e, s) y = Cast <to = 1> (d) }",
             (strlen(cases[c].axes) + 2) / 3, cases[c].axes,
             (int)types[dice_between(&d, 0, OX_COUNT(types) - 1)], cases[c].equation);
    same_floats(text, in, 0);
    const size_t bytes = run_at(ox_cpu_probe(), 2, text, in, fast);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_eq(fast[i] & 0x7f, 0);
}
END_TEST

START_TEST(products_of_many_in_a_row)
{
    static float x[9];
    struct given in[INPUTS] = {{OX_FLOAT32, 2, {3, 3}, x}};
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = (float)i / 16;
    same_floats(HEAD "g (float[A,A] x) => (y) { y = Einsum <equation = "
                     "\"ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl,lm->ma\"> "
                     "(x, x, x, x, x, x, x, x, x, x, x, x) }",
                in, 1e-5f);
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

#define CONTRIB                                                                                    \
    "<ir_version: 10, opset_import: [\"\" : 18, \"com.microsoft\" : 1]> "                          \
    "g (float[B,S,W] x, float[B,T,W] z) => (y) <int64[1] a0 = {0}, int64[2] a01 = {0,1}, "         \
    "int64[1] a1 = {1}, int64[1] a2 = {2}, float nought = {0}, float little = {0.015625}> { "

/* Heads of com.microsoft with all that they may have but a past, and what adds a bias before Gelu. */
START_TEST(transformer_nodes)
{
    static const char *const texts[] = {
        "y = com.microsoft.MultiHeadAttention <num_heads = 4> (x, z, z) }",
        "y = com.microsoft.MultiHeadAttention <num_heads = 2, scale = 0.25> (x, z, z) }",
        "y = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = 1> (x, z, z) }",
        "s = ReduceMax <keepdims = 0> (z, a01) b = Concat <axis = 0> (s, s, s) "
        "y = com.microsoft.MultiHeadAttention <num_heads = 4> (x, z, z, b) }",
        "m = ReduceMax <keepdims = 0> (z, a2) t = Greater (m, nought) k = Cast <to = 6> (t) "
        "y = com.microsoft.MultiHeadAttention <num_heads = 4> (x, z, z, , k) }",
        "t = Transpose <perm = [0, 2, 1]> (z) m = MatMul (x, t) b = Unsqueeze (m, a1) "
        "y = com.microsoft.MultiHeadAttention <num_heads = 4> (x, z, z, , , b) }",
        "t = Transpose <perm = [0, 2, 1]> (z) p = MatMul (t, z) q = ReduceMean <keepdims = 0> (p, "
        "a0) "
        "e = Mul (q, little) w = Concat <axis = 1> (e, e, e) s = ReduceMax <keepdims = 0> (z, a01) "
        "b = Concat <axis = 0> (s, s, s) m = ReduceMax <keepdims = 0> (x, a2) "
        "g = Greater (m, nought) k = Cast <to = 6> (g) "
        "y = com.microsoft.Attention <num_heads = 2> (x, w, b, k) }",
        "t = Transpose <perm = [0, 2, 1]> (z) p = MatMul (t, z) q = ReduceMean <keepdims = 0> (p, "
        "a0) "
        "e = Mul (q, little) w = Concat <axis = 1> (e, e, e) s = ReduceMax <keepdims = 0> (z, a01) "
        "b = Concat <axis = 0> (s, s, s) "
        "y = com.microsoft.Attention <num_heads = 4, unidirectional = 1> (x, w, b) }",
        "s = ReduceMax <keepdims = 0> (z, a01) y = com.microsoft.FastGelu (x, s) }",
        "y = com.microsoft.FastGelu (x) }",
        "s = ReduceMax <keepdims = 0> (z, a01) y = com.microsoft.BiasGelu (x, s) }"};
    struct dice d = {(uint64_t)_i * 61 + 9};
    char text[1024];
    const int64_t batch = (int64_t)dice_between(&d, 1, 3),
                  width = 4 * (int64_t)dice_between(&d, 1, 9);
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {batch, 0, width}, NULL},
                               {OX_FLOAT32, 3, {batch, 0, width}, NULL}};
    for (unsigned k = 0; k < INPUTS; k++) {
        in[k].dims[1] = (int64_t)dice_between(&d, 1, 40);
        in[k].data = floats(&d, (size_t)(batch * in[k].dims[1] * width), false);
    }
    snprintf(text, sizeof text, CONTRIB "%s", texts[(size_t)_i % OX_COUNT(texts)]);
    same_floats(text, in, 1e-4f);
}
END_TEST

/* Experts of com.microsoft, [4, 48, 32] and back: floats, and codes of which those of 4 bits have blocks of 16. */
START_TEST(experts)
{
    static const char *const texts[] = {
        "y = com.microsoft.MoE <k = 2, activation_type = \"relu\"> (x, p, z, b1, t, b2)",
        "y = com.microsoft.MoE <k = 1, activation_type = \"silu\", normalize_routing_weights = 1> "
        "(x, p, z, , t)",
        "y = com.microsoft.MoE <k = 3, activation_type = \"gelu\"> (x, p, z, b1, t)",
        "w = Concat <axis = 1> (z, z) y = com.microsoft.MoE <k = 2, activation_type = \"swiglu\", "
        "swiglu_fusion = 1, activation_alpha = 1.702, activation_beta = 1.0, swiglu_limit = 0.5> "
        "(x, p, w, , t, b2)",
        "w = Concat <axis = 1> (z, z) y = com.microsoft.MoE <k = 2, activation_type = \"swiglu\", "
        "swiglu_fusion = 2> (x, p, w, , t)",
        "y = com.microsoft.QMoE <k = 2, activation_type = \"identity\", expert_weight_bits = 8> "
        "(x, p, c, b1, , ct, b2)",
        "ch = Slice (c, nil, n16, last) th = Slice (ct, nil, n24, last) s1 = Slice (a, nil, n2, "
        "last) s2 = Slice (at, nil, n3, last) "
        "y = com.microsoft.QMoE <k = 2, activation_type = \"relu\", expert_weight_bits = 4, "
        "block_size = 16> (x, p, ch, s1, b1, th, s2)",
        "ch = Slice (c, nil, n16, last) th = Slice (ct, nil, n24, last) s1 = Slice (a, nil, n2, "
        "last) s2 = Slice (at, nil, n3, last) z1 = Slice (c, nil, n1, last) z2 = Slice (ct, nil, "
        "n2, last) y = com.microsoft.QMoE <k = 1, activation_type = \"silu\", expert_weight_bits = "
        "4, block_size = 16> (x, p, ch, s1, , th, s2, b2, , , , z1, z2)"};
    struct dice d = {(uint64_t)_i * 59 + 7};
    char text[2048];
    struct given in[INPUTS] = {{OX_FLOAT32, 2, {(int64_t)dice_between(&d, 1, 40), 32}, NULL},
                               {OX_FLOAT32, 3, {4, 48, 32}, NULL}};
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * 32), false);
    in[1].data = floats(&d, 4 * 48 * 32, false);
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 18, \"com.microsoft\" : 1]> "
             "g (float[N,32] x0, float[4,48,32] z0) => (y) <int64[1] nil = {0}, int64[1] n1 = {1}, "
             "int64[1] n2 = {2}, int64[1] n3 = {3}, int64[1] n4 = {4}, int64[1] n16 = {16}, "
             "int64[1] n24 = {24}, int64[1] last = {-1}, float much = {128}, float few = {0.125}, "
             "float least = {0.0078125}> "
             "{ x = Mul (x0, few) z = Mul (z0, few) p = Slice (x, nil, n4, last) t = Transpose "
             "<perm = [0, 2, 1]> (z) "
             "b1 = ReduceMax <keepdims = 0> (z, last) b2 = ReduceMax <keepdims = 0> (t, last) "
             "m = Mul (z, much) e = Add (m, much) c = Cast <to = 2> (e) "
             "ct = Transpose <perm = [0, 2, 1]> (c) n = Abs (z) a = Mul (n, least) at = Transpose "
             "<perm = [0, 2, 1]> (a) %s }",
             texts[(size_t)_i % OX_COUNT(texts)]);
    same_floats(text, in, 1e-4f);
}
END_TEST

/* Attention over a past p, [batch, 4, rows, size], and new rows behind it: the result and what both make up. */
START_TEST(heads_with_a_past)
{
    static const char *const texts[] = {
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, x, x, , , , p, p)",
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4, unidirectional = 1> "
        "(x, x, x, , , , p, p)",
        "s = ReduceMax <keepdims = 0> (z, a01) b = Concat <axis = 0> (s, s, s) "
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, x, x, b, , , p, p)",
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, x, x)",
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, p, p)",
        "s = ReduceMax <keepdims = 0> (z, a01) b = Concat <axis = 0> (s, s, s) "
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, p, p, b)",
        "q = ReduceMax (x, one) "
        "o, k, v = com.microsoft.DecoderMaskedMultiHeadAttention <num_heads = 4> (q, p, p)",
        "q = ReduceMax (x, one) s = ReduceMax <keepdims = 0> (z, a01) b = Concat <axis = 0> (s, s, "
        "s) o, k, v = com.microsoft.DecoderMaskedMultiHeadAttention <num_heads = 4> "
        "(q, q, q, , , p, p, , , , b)",
        "u = LpNormalization <axis = -1> (x) g = Abs (x) decay = Neg (g) m = ReduceMean (x, two) "
        "rate = Sigmoid (m) o, k = com.microsoft.LinearAttention <q_num_heads = 4, kv_num_heads = "
        "4, update_rule = \"gated_delta\", scale = 0.3> (x, u, x, , decay, rate) v = Identity (k)",
        "u = LpNormalization <axis = -1> (x) kx, vx = Split <axis = 2, num_outputs = 2> (u) "
        "o, k = com.microsoft.LinearAttention <q_num_heads = 4, kv_num_heads = 2, "
        "update_rule = \"linear\"> (u, kx, vx) v = Identity (k)",
        "u = LpNormalization <axis = -1> (x) g = Abs (x) n = Neg (g) decay = Slice (n, nil, four, "
        "two) rate = Sigmoid (decay) pt = Transpose <perm = [0, 1, 3, 2]> (p) s = MatMul (pt, p) "
        "state = LpNormalization <axis = -1> (s) o, k = com.microsoft.LinearAttention "
        "<q_num_heads = 4, kv_num_heads = 4, update_rule = \"gated_delta\"> "
        "(u, u, x, state, decay, rate) v = Identity (k)",
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4> (x, x, x, , p, p)",
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4, is_causal = 1> (x, x, x, , p, p)",
        "n = Shape <start = 1, end = 2> (x) m = Shape <start = 1, end = 2> (z) t = Add (n, m) "
        "e = Concat <axis = 0> (n, t) f = ConstantOfShape <value = bool[1] {1}> (e) "
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4> (x, x, x, f, p, p)",
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4> (x, x, x)",
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4> "
        "(x, x, x, p, p, lens, total)",
        "kx, vx = Split <axis = 2, num_outputs = 2> (x) kp, vp = Split <axis = 1, num_outputs = 2> "
        "(p) o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, "
        "do_rotary = 1, softcap = 2.0> (x, kx, vx, kp, vp, lens, total, cosines, sines)",
        "kx, vx = Split <axis = 2, num_outputs = 2> (x) kp, vp = Split <axis = 1, num_outputs = 2> "
        "(p) all = Concat <axis = 2> (x, kx, vx) kb = Concat <axis = 2> (kp, vp) "
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, "
        "do_rotary = 1, rotary_interleaved = 1, scale = 0.3> "
        "(all, , , kb, kb, lens, total, cosines, sines)",
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, do_rotary = "
        "1> (x, x, x, p, p, first, fresh, cosines, sines)",
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, "
        "local_window_size = 3> (x, x, x, p, p, lens, total)",
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4> "
        "(x, x, x, , , first, fresh)",
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4, is_causal = 1, softcap = 2.0> "
        "(x, x, x, , p, p)",
        "low = Min (ramp, before) fewer = Sub (last, low) uneven = Cast <to = 6> (fewer) "
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, do_rotary = "
        "1, local_window_size = 20> (x, x, x, p, p, uneven, total, cosines, sines)",
        "low = Min (ramp, to) fewer = Sub (to, low) uneven = Cast <to = 6> (fewer) "
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, do_rotary = "
        "1> (x, x, x, p, p, uneven, fresh, cosines, sines)",
        "s = ReduceMax <keepdims = 0> (z, a01) sink = Slice (s, nil, four) "
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, "
        "local_window_size = 7> (x, x, x, p, p, lens, total, , , , , sink)",
        "low = Min (ramp, before) fewer = Sub (last, low) uneven = Cast <to = 6> (fewer) "
        "m = ReduceMean <keepdims = 0> (x, two) q = Unsqueeze (m, ends) w = Slice (sines, nil, "
        "both) t = Reshape (w, across) bias = Mul (q, t) shape = Concat <axis = 0> (batch, rows) "
        "ids = Expand (four, shape) o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, "
        "kv_num_heads = 4, do_rotary = 1, smooth_softmax = 1> "
        "(x, x, x, p, p, uneven, total, cosines, sines, ids, bias)"};
    struct dice d = {(uint64_t)_i * 61 + 9};
    char text[3072];
    const bool many = _i % 32 >= 16; /* blocks of queries */
    const int64_t batch = (int64_t)dice_between(&d, 1, many ? 1 : 3),
                  width = 4 * (int64_t)dice_between(&d, 2, 9);
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {batch, 0, width}, NULL},
                               {OX_FLOAT32, 3, {batch, 0, width}, NULL}};
    for (unsigned k = 0; k < INPUTS; k++) {
        in[k].dims[1] = (int64_t)dice_between(&d, 1, _i & 64 && k == 0 ? 2 : 40);
        if (many && k == 0)
            in[k].dims[1] = 300 - in[k].dims[1];
        in[k].data = floats(&d, (size_t)(batch * in[k].dims[1] * width), false);
    }
    snprintf(
        text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]> "
        "g (float[B,S,W] x, float[B,T,W] z) => (y) <int64[2] a01 = {0,1}, "
        "int64[4] parted = {0, 0, 4, -1}, int64[1] flat = {-1}, int64[1] one = {1}, "
        "int64[2] table = {400, 1}, float none = {0}, float most = {400}, float step = {1}, "
        "int64[1] nil = {0}, int64[1] four = {4}, int64[4] across = {1, 1, 1, -1}, int64[1] two "
        "= {2}, int64[2] ends = {1, 3}, int64 axis = {0}> "
        "{ r = Reshape (z, parted) angle = Range (none, most, step) angles = Reshape (angle, "
        "table) cosines = Cos (angles) sines = Sin (angles) "
        "rows = Shape <start = 1, end = 2> (x) before = Shape <start = 1, end = 2> (z) "
        "batch = Shape <start = 0, end = 1> (x) both = Add (rows, before) "
        "last = Sub (both, one) total = Cast <to = 6> (both) fresh = Cast <to = 6> (rows) "
        "len = Cast <to = 6> (last) lens = Expand (len, batch) "
        "to = Sub (rows, one) until = Cast <to = 6> (to) first = Expand (until, batch) "
        "ones = Expand (one, batch) ramp = CumSum (ones, axis) "
        "p = Transpose <perm = [0, 2, 1, 3]> (r) %s "
        "a = Reshape (o, flat) b1 = Reshape (k, flat) c = Reshape (v, flat) "
        "y = Concat <axis = 0> (a, b1, c) }",
        texts[(size_t)_i % OX_COUNT(texts)]);
    same_floats(text, in, 1e-4f);
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

/* Sums of products take what is below FLT_MIN for zeros; nothing else does. */
START_TEST(products_of_tiny_numbers_alone_come_to_nothing)
{
    static float ones[64 * 64];
    for (size_t i = 0; i < 64 * 64; i++)
        ones[i] = 1;
    const struct given in[INPUTS] = {{OX_FLOAT32, 2, {64, 64, 0, 0}, ones}};
    const float *y = (const float *)(const void *)fast;
    ck_assert_uint_eq(run_at(ox_cpu_probe(), 2,
                             HEAD "g (float[64,64] x) => (float[64,64] y) <float t = {1e-40}> "
                                  "{ d = Constant <value_ints = [64,64]> () "
                                  "w = ConstantOfShape <value = float[1] {1e-40}> (d) "
                                  "p = MatMul(x, w) n = Mul(p, p) o = Mul(x, t) y = Add(n, o) }",
                             in, fast),
                      sizeof ones);
    for (size_t i = 0; i < 64 * 64; i++)
        ck_assert_msg(y[i] == 1e-40f, "%zu: %g", i, (double)y[i]);
    ck_assert_uint_eq(run_at(ox_cpu_probe(), 2,
                             HEAD "g (float[64,64] x) => (float[64,64] y) "
                                  "{ d = Constant <value_ints = [64,64]> () "
                                  "w = ConstantOfShape <value = float[1] {1e-40}> (d) "
                                  "y = MatMul(x, w) }",
                             in, fast),
                      sizeof ones);
    for (size_t i = 0; i < 64 * 64; i++)
        ck_assert_msg(y[i] == 0, "%zu: %g", i, (double)y[i]);
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
    tcase_add_loop_test(all, products_that_an_equation_names, 0, 180);
    tcase_add_loop_test(all, sums_of_one_operand, 0, 84);
    tcase_add_test(all, products_of_many_in_a_row);
    tcase_add_loop_test(all, bools_are_inverted_and_halves_added, 0, 8);
    tcase_add_loop_test(all, transformer_nodes, 0, 110);
    tcase_add_loop_test(all, heads_with_a_past, 0, 190);
    tcase_add_loop_test(all, experts, 0, 48);
    tcase_add_loop_test(all, planes_by_scales, 0, 80);
    tcase_add_loop_test(all, planes_by_filters, 0, 96);
    tcase_add_test(all, products_of_tiny_numbers_alone_come_to_nothing);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
