/* QLinear operators that look codes up, beside plain C: the same codes, by one thread and by two. Scales are lists of one, which the
 * pass part-merged leaves to the kernels. */
#include <stdio.h>
#include <string.h>

#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { INPUTS = 3, ELEMENTS = 1 << 17 };

struct table_case {
    const char
        *call; /* of codes a and b, conditions c, scales s, t and u, zero points z, w and v */
    int near;  /* how far a code may be from plain C's */
    struct {
        unsigned rank; /* 0: none */
        int64_t dims[4];
    } in[INPUTS];
};

static const struct table_case cases[] = {
    {"QLinearSigmoid(a, s, z, t, w)", 0, {{2, {300, 301}}}},
    {"QLinearLeakyRelu <alpha = 0.3>(a, s, z, s, w)", 0, {{1, {77}}}},
    {"QLinearConcat <axis = 0>(s, z, a, t, w, b, s, z)", 0, {{2, {300, 201}}, {2, {7, 201}}}},
    {"QLinearConcat <axis = 1>(s, z, a, t, w, b, s, z)", 0, {{2, {300, 201}}, {2, {300, 64}}}},
    {"QLinearConcat <axis = 1>(s, z, a, t, w, b, s, z)", 0, {{2, {3000, 1}}, {2, {3000, 2}}}},
    {"QLinearConcat <axis = 1>(s, z, a, t, w, b, s, z)", 0, {{2, {3000, 3}}, {2, {3000, 7}}}},
    {"QLinearConcat <axis = 1>(s, z, a, t, w, b, s, z)", 0, {{2, {900, 15}}, {2, {900, 31}}}},
    {"QLinearConcat <axis = 1>(s, z, a, t, w, b, s, z)", 0, {{3, {90, 9, 7}}, {3, {90, 1, 7}}}},
    {"QLinearConcat <axis = 0>(s, z, a, t, w, b, s, z)", 0, {{2, {0, 9}}, {2, {7, 9}}}},
    {"QLinearWhere(c, a, s, z, b, t, w, t, w)", 0, {{2, {9, 9999}}, {2, {9, 9999}}, {1, {9999}}}},
    {"QLinearWhere(c, a, s, z, b, t, w, s, z)", 0, {{2, {900, 99}}, {1, {1}}, {2, {900, 99}}}},
    {"QLinearWhere(c, a, s, z, b, t, w, s, z)", 0, {{1, {99}}, {2, {900, 1}}, {2, {900, 1}}}},
    {"QLinearSoftmax <opset = 13, axis = -1>(a, s, z, u, v)", 0, {{2, {300, 301}}}},
    {"QLinearSoftmax <opset = 13>(a, s, z, u, v)", 0, {{3, {30, 20, 5}}}},
    {"QLinearSoftmax <opset = 13, axis = 1>(a, u, z, s, w)", 0, {{3, {9, 21, 300}}}},
    {"QLinearSoftmax <opset = 11, axis = 1>(a, u, z, u, v)", 0, {{4, {9, 21, 3, 7}}}},
    {"QLinearSoftmax <opset = 12>(a, t, z, u, z)", 0, {{1, {5}}}},
    {"QLinearGlobalAveragePool(a, s, z, t, w)", 0, {{4, {2, 30, 17, 19}}}},
    {"QLinearGlobalAveragePool(a, s, z, u, w)", 0, {{4, {2, 30, 7, 9}}}},
    {"QLinearGlobalAveragePool <channels_last = 1>(a, s, z, t, w)", 0, {{4, {2, 17, 19, 71}}}},
    {"QLinearAveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(a, s, z, t, w)",
     1,
     {{4, {1, 41, 13, 9}}}},
    {"QLinearAveragePool <kernel_shape = [2, 3], strides = [2, 1], count_include_pad = 1, "
     "pads = [1, 1, 1, 1], channels_last = 1>(a, s, z, t, w)",
     1,
     {{4, {2, 13, 9, 33}}}},
    {"QLinearAdd(a, s, z, b, s, w, t, w)", 0, {{2, {300, 301}}, {2, {300, 301}}}},
    {"QLinearAdd(a, s, z, b, s, w, t, z)", 0, {{2, {300, 301}}, {1, {301}}}},
};

static void fill(uint8_t *x, size_t n, bool condition, size_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (uint8_t)(((i + seed) * 7919 % 2011) & (condition ? 1 : 255));
}

static void open_case(struct text_run *f, const struct table_case *c, enum ox_dtype dtype,
                      int level, unsigned threads)
{
    static uint8_t x[ELEMENTS];
    const struct ox_run_options options = {.level = level};
    const char *type = dtype == OX_INT8 ? "int8" : "uint8";
    char text[1024];
    size_t at = (size_t)snprintf(
        text, sizeof text, "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (");
    for (size_t k = 0; k < INPUTS; k++) {
        if (!c->in[k].rank)
            continue;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s[", k ? ", " : "",
                               k == 2 ? "bool" : type);
        for (unsigned d = 0; d < c->in[k].rank; d++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%c%zu", d ? ", " : "",
                                   (char)('A' + (int)d), k);
        at += (size_t)snprintf(text + at, sizeof text - at, "] %c", (char)('a' + (int)k));
    }
    snprintf(text + at, sizeof text - at,
             ") => (%s y) <float[1] s = {0.1}, float[1] t = {0.2}, float[1] u = {0.00390625}, %s z "
             "= {3}, "
             "%s w = {9}, %s v = {%d}> { y = com.microsoft.%s }",
             type, type, type, type, dtype == OX_INT8 ? -128 : 0, c->call);
    text_open(f, text);
    ox_env_set_threads(f->env, threads);
    ck_assert_msg(text_plan(f, &options) == OX_OK, "%s", f->err.message);
    for (size_t k = 0; k < INPUTS; k++) {
        size_t n = 1;
        for (unsigned d = 0; d < c->in[k].rank; d++)
            n *= (size_t)c->in[k].dims[d];
        ck_assert_uint_le(n, ELEMENTS);
        fill(x, n, k == 2, 31 * k);
        if (c->in[k].rank)
            text_give(f, k == 2 ? OX_BOOL : dtype, c->in[k].rank, c->in[k].dims, x);
    }
    text_must_run(f);
}

START_TEST(as_plain_c)
{
    const struct table_case *test = &cases[_i / 2];
    const enum ox_dtype dtype = _i % 2 ? OX_INT8 : OX_UINT8;
    struct text_run slow, one, two;
    open_case(&slow, test, dtype, 0, 1);
    open_case(&one, test, dtype, 2, 1);
    open_case(&two, test, dtype, 2, 2);
    const struct ox_tensor *a = ox_datum_get_tensor(slow.out[0]);
    const struct ox_tensor *b = ox_datum_get_tensor(one.out[0]);
    const struct ox_tensor *c = ox_datum_get_tensor(two.out[0]);
    ck_assert_uint_eq(a->n, b->n);
    ck_assert_uint_gt(a->n, 0);
    for (size_t i = 0; i < a->n; i++) {
        const int64_t got = ox_tensor_get_int(b, i), want = ox_tensor_get_int(a, i);
        ck_assert_msg(got >= want - test->near && got <= want + test->near, "[%zu]: %d, not %d", i,
                      (int)got, (int)want);
    }
    ck_assert_mem_eq(b->data, c->data, b->n);
    text_close(&slow);
    text_close(&one);
    text_close(&two);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_tables");
    TCase *tcase = tcase_create("fast_tables");
    tcase_add_loop_test(tcase, as_plain_c, 0, 2 * (int)OX_COUNT(cases));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
