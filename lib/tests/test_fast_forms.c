/* Fast forms of single operators beside plain C: special values, the same bits by two threads as by one, and weights that are kept. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { INPUTS = 4, ELEMENTS = 1 << 17 };

struct fast_case {
    const char *call; /* y = call, of inputs a, b, c, d as they are given; ", more = call" */
    unsigned
        special; /* bit k: NaN, infinities and zeros of both signs are among input k's values */
    struct {
        unsigned rank; /* 0: none */
        int64_t dims[5];
    } in[INPUTS];
};

#define DEFORM(attributes) "DeformConv <kernel_shape = [3, 3]" attributes ">"

#define DELTA ", state = com.microsoft.GatedDeltaNet"
#define CAUSAL ", state = com.microsoft.CausalConvWithState"

static const struct fast_case cases[] = {
    {"Hardmax <axis = -1>(a)", 1, {{2, {40, 3}}}},
    {"Hardmax <axis = -1>(a)", 1, {{2, {40, 23}}}},
    {"Hardmax <axis = -1>(a)", 1, {{2, {200, 61}}}},
    {"Hardmax <axis = 1>(a)", 1, {{3, {20, 30, 5}}}},
    {"MatMul(a, b)", 0, {{3, {30, 10, 7}}, {3, {30, 7, 10}}}},
    {"MatMul(a, b)", 0, {{3, {30, 10, 20}}, {3, {30, 20, 17}}}},
    {"MatMul(a, b)", 0, {{3, {30, 10, 7}}, {3, {30, 7, 1}}}},
    {"MatMul(a, b)", 0, {{4, {5, 6, 10, 7}}, {4, {5, 1, 7, 1}}}},
    {"MatMul(a, b)", 0, {{4, {5, 1, 10, 7}}, {4, {1, 6, 7, 1}}}},
    {"MatMul(a, b)", 0, {{3, {1, 10, 7}}, {3, {30, 7, 1}}}},
    {"MatMul(a, b)", 0, {{5, {1, 9, 3, 16, 8}}, {5, {4, 9, 1, 8, 1}}}},
    {"MatMul(a, b)", 0, {{5, {4, 1, 3, 10, 7}}, {5, {1, 6, 1, 7, 5}}}},
    {"MatMul(a, b)", 0, {{4, {6, 3, 10, 7}}, {5, {4, 6, 1, 7, 5}}}},
    {"com.microsoft.CDist <metric = \"euclidean\">(a, b)", 0, {{2, {40, 9}}, {2, {1100, 9}}}},
    {"com.microsoft.CDist(a, b)", 3, {{2, {40, 10}}, {2, {31, 10}}}},
    {"com.microsoft.CDist(a, b)", 0, {{2, {77, 70}}, {2, {97, 70}}}},
    {CAUSAL " <activation = \"silu\">(a, b, c, d)",
     0,
     {{3, {2, 6, 9}}, {3, {6, 1, 4}}, {1, {6}}, {3, {2, 6, 3}}}},
    {CAUSAL "(a, b, , c)", 1, {{3, {3, 500, 1}}, {3, {500, 1, 4}}, {3, {3, 500, 3}}}},
    {CAUSAL "(a, b, c)", 1, {{3, {2, 40, 70}}, {3, {40, 1, 5}}, {1, {40}}}},
    {CAUSAL " <activation = \"silu\", dilation = 2, channels_last = 1>(a, b, c, d)",
     0,
     {{4, {2, 9, 5, 4}}, {3, {20, 1, 4}}, {1, {20}}, {4, {2, 6, 5, 4}}}},
    {CAUSAL " <channels_last = 1>(a, b)", 1, {{3, {3, 40, 33}}, {3, {33, 1, 5}}}},
    {DELTA " <update_rule = \"linear\", qk_l2_norm = 1>(a, b, c, , , , d)",
     0,
     {{4, {2, 5, 2, 6}}, {4, {2, 5, 2, 6}}, {4, {2, 5, 4, 37}}, {4, {2, 4, 37, 6}}}},
    {DELTA
     " <update_rule = \"delta\", qk_l2_norm = 1, beta_activation = \"sigmoid\">(a, b, c, , , d)",
     0,
     {{4, {1, 9, 3, 8}}, {4, {1, 9, 3, 8}}, {4, {1, 9, 3, 64}}, {3, {1, 9, 3}}}},
    {DELTA " <update_rule = \"gated\">(a, a, b, , c)",
     1,
     {{4, {3, 2, 1, 4}}, {4, {3, 2, 1, 5}}, {4, {3, 2, 1, 4}}}},
    {"com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [8, 8, 20]>(a, b, c)",
     0,
     {{3, {2, 9, 12}}, {2, {12, 36}}, {1, {36}}}},
    {"com.microsoft.Attention <num_heads = 3, qkv_hidden_sizes = [12, 12, 6], unidirectional = 1>"
     "(a, b)",
     0,
     {{3, {1, 33, 12}}, {2, {12, 30}}}},
    {"Pow(a, b)", 3, {{2, {300, 9}}, {1, {9}}}},
    {"Pow(a, b)", 3, {{2, {300, 9}}, {2, {300, 9}}}},
    {"ReduceLogSumExp <axes = [1], keepdims = 0>(a)", 1, {{2, {300, 9}}}},
    {"ReduceLogSumExp <axes = [1, 2]>(a)", 1, {{3, {40, 30, 17}}}},
    {"ReduceLogSumExp <axes = [0], keepdims = 0>(a)", 1, {{2, {30, 17}}}},
    {"ReduceLogSumExp <axes = [0], keepdims = 0>(a)", 1, {{2, {9, 1300}}}},
    {"ReduceLogSumExp <axes = [1], keepdims = 0>(a)", 1, {{3, {5, 6, 700}}}},
    {"ReduceLogSumExp(a)", 0, {{3, {40, 30, 17}}}},
    {"ReduceLogSumExp <axes = [0, 2]>(a)", 1, {{3, {40, 30, 17}}}},
    {"ReduceLogSumExp <axes = [0, 2]>(a)", 1, {{3, {3, 5, 1100}}}},
    {DEFORM(", pads = [1, 1, 1, 1]") "(a, b, c)",
     0,
     {{4, {2, 6, 9, 11}}, {4, {5, 6, 3, 3}}, {4, {2, 18, 9, 11}}}},
    {DEFORM(", pads = [1, 1, 1, 1], offset_group = 3") "(a, b, c, , d)",
     1,
     {{4, {1, 6, 9, 11}}, {4, {5, 6, 3, 3}}, {4, {1, 54, 9, 11}}, {4, {1, 27, 9, 11}}}},
    {DEFORM(", strides = [2, 1], dilations = [1, 2], group = 2") "(a, b, c, d)",
     4,
     {{4, {2, 6, 9, 31}}, {4, {4, 3, 3, 3}}, {4, {2, 18, 4, 27}}, {1, {4}}}},
    {DEFORM(", pads = [2, 0, 0, 2], group = 2, offset_group = 4") "(a, b, c)",
     0,
     {{4, {1, 8, 40, 37}}, {4, {6, 4, 3, 3}}, {4, {1, 72, 40, 37}}}},
};

static void fill(float *x, size_t n, bool special, size_t seed)
{
    static const float hard[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 88.0f, -1.0f};
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)((i + seed) * 7919 % 2011) / 1005 - 1;
        if ((i + seed) % 7 == 0)
            x[i] = rintf(2 * x[i]); /* ties, and places on pixels */
        if (special && i % 53 == 0)
            x[i] = hard[i / 53 % OX_COUNT(hard)];
    }
}

static void open_case(struct text_run *f, const struct fast_case *c, int level, unsigned threads)
{
    static const char *const dims_of[] = {"",        "A",          "A, B",
                                          "A, B, C", "A, B, C, D", "A, B, C, D, E"};
    static float x[ELEMENTS];
    const struct ox_run_options options = {.level = level};
    char text[1024];
    size_t at = (size_t)snprintf(
        text, sizeof text, "<ir_version: 9, opset_import: [\"\" : %d, \"com.microsoft\" : 1]> g (",
        strncmp(c->call, "Reduce", 6) == 0 ? 13 : 19);
    for (size_t k = 0; k < INPUTS && c->in[k].rank; k++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%sfloat[", k ? ", " : "");
        for (const char *p = dims_of[c->in[k].rank]; *p; p++)
            at += (size_t)(*p >= 'A' ? snprintf(text + at, sizeof text - at, "%c%zu", *p, k)
                                     : snprintf(text + at, sizeof text - at, "%c", *p));
        at += (size_t)snprintf(text + at, sizeof text - at, "] %c", (char)('a' + (int)k));
    }
    snprintf(text + at, sizeof text - at, ") => (float y) { y%s%s }", *c->call == ',' ? "" : " = ",
             c->call);
    text_open(f, text);
    ox_env_set_threads(f->env, threads);
    ck_assert_msg(text_plan(f, &options) == OX_OK, "%s", f->err.message);
    for (size_t k = 0; k < INPUTS && c->in[k].rank; k++) {
        size_t n = 1;
        for (unsigned d = 0; d < c->in[k].rank; d++)
            n *= (size_t)c->in[k].dims[d];
        ck_assert_uint_le(n, ELEMENTS);
        fill(x, n, c->special >> k & 1, 31 * k);
        text_give(f, OX_FLOAT32, c->in[k].rank, c->in[k].dims, x);
    }
    text_must_run(f);
}

static bool near(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 2e-6 * (1 + fabs(b));
}

START_TEST(as_plain_c)
{
    struct text_run slow, one, two;
    open_case(&slow, &cases[_i], 0, 1);
    open_case(&one, &cases[_i], 2, 1);
    open_case(&two, &cases[_i], 2, 2);
    const struct ox_tensor *a = ox_datum_get_tensor(slow.out[0]);
    const struct ox_tensor *b = ox_datum_get_tensor(one.out[0]);
    const struct ox_tensor *c = ox_datum_get_tensor(two.out[0]);
    ck_assert_uint_eq(a->n, b->n);
    ck_assert_uint_gt(a->n, 0);
    for (size_t i = 0; i < a->n; i++) {
        const double x = ox_tensor_get_double(b, i), want = ox_tensor_get_double(a, i);
        ck_assert_msg(near(x, want), "[%zu] is %.9g, not %.9g", i, x, want);
    }
    ck_assert_mem_eq(b->data, c->data, b->n * sizeof(float));
    text_close(&slow);
    text_close(&one);
    text_close(&two);
}
END_TEST

/* Weights that an operator keeps packed from its second run on. */
static const char packed_attention[] =
    "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "
    "g (float[B, 20, 24] x) => (float[B, 20, 48] y) <int64 zero = {0}, int64 n = {3456}, "
    "int64 one = {1}, int64[2] shape = {24, 144}, int64[1] some = {144}> {"
    "places = Range(zero, n, one) angles = Cast <to = 1> (places) waves = Sin(angles) "
    "w = Reshape(waves, shape) at0 = Constant <value_ints = [0]> () "
    "b = Slice(waves, at0, some) y = com.microsoft.Attention <num_heads = 4> (x, w, b) }";

START_TEST(packed_weights_serve_every_run)
{
    struct text_run slow, fast;
    float x[20 * 24 * 3];
    fill(x, OX_COUNT(x), false, 5);
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] /=
            8; /* scores of some units: of hundreds, softmax would tell the order of sums apart */
    text_must_plan(&slow, packed_attention, &(struct ox_run_options){.level = 0});
    text_must_plan(&fast, packed_attention, &(struct ox_run_options){.level = 2});
    for (int64_t run = 0, batch = 1; run < 4; run++, batch = run == 1 ? 3 : 1) {
        struct text_run *const both[] = {&slow, &fast};
        for (size_t i = 0; i < OX_COUNT(both); i++) {
            if (both[i]->n_in)
                ox_datum_release(both[i]->in[--both[i]->n_in]);
            text_give(both[i], OX_FLOAT32, 3, (const int64_t[]){batch, 20, 24}, x);
            text_must_run(both[i]);
        }
        const struct ox_tensor *a = ox_datum_get_tensor(slow.out[0]);
        const struct ox_tensor *b = ox_datum_get_tensor(fast.out[0]);
        ck_assert_uint_eq(a->n, (size_t)batch * 20 * 48);
        ck_assert_uint_eq(a->n, b->n);
        for (size_t i = 0; i < a->n; i++)
            ck_assert(near(ox_tensor_get_double(b, i), ox_tensor_get_double(a, i)));
    }
    text_close(&slow);
    text_close(&fast);
}
END_TEST

/* Output k, of n elements: of plain C, of the fast form by one thread and by two. */
static void check_three(const struct text_run *runs, unsigned k, size_t n)
{
    const struct ox_tensor *a = ox_datum_get_tensor(runs[0].out[k]),
                           *b = ox_datum_get_tensor(runs[1].out[k]),
                           *c = ox_datum_get_tensor(runs[2].out[k]);
    ck_assert_uint_eq(a->n, n);
    ck_assert_uint_eq(a->n, b->n);
    for (size_t i = 0; i < n; i++)
        ck_assert(near(ox_tensor_get_double(b, i), ox_tensor_get_double(a, i)));
    ck_assert_mem_eq(b->data, c->data, n * sizeof(float));
}

/* Attention of com.microsoft whose keys and values begin with those of a past, both in one tensor. Bits of _i: a past; who wants
 * what is whole; causal; a mask; one row. */
START_TEST(a_past_is_joined_as_in_plain_c)
{
    enum { BATCH = 2, HELD = 7, WIDE = 16, HEADS = 2, DEPTH = 8 };
    const int64_t rows = _i & 16 ? 1 : 5, held = _i & 1 ? HELD : 0, all = rows + held;
    float given[4][WIDE * 3 * WIDE];
    int32_t mask[BATCH * (HELD + 5)];
    char text[1024];
    snprintf(
        text, sizeof text,
        "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (float[2,R,16] x, "
        "float[16,48] w, float[48] b, float[2,2,2,P,8] past, int32[2,A] m) => (float[2,R,16] y "
        "%s) { y%s = com.microsoft.Attention <num_heads = 2, unidirectional = %d> (x, w, b, %s, "
        "%s) }",
        _i & 2 ? ", float[2,2,2,A,8] whole" : "", _i & 2 ? ", whole" : "", _i >> 2 & 1,
        _i & 8 ? "m" : "", _i & 1 ? "past" : "");
    for (unsigned k = 0; k < 4; k++)
        fill(given[k], WIDE * 3 * WIDE, false, k + 11);
    for (size_t i = 0; i < OX_COUNT(given[0]); i++)
        given[0][i] /= 8;
    for (size_t i = 0; i < OX_COUNT(mask); i++)
        mask[i] = i % 5 != 2;
    struct text_run runs[3];
    for (int i = 0; i < 3; i++) {
        text_open(&runs[i], text);
        ox_env_set_threads(runs[i].env, i == 2 ? 2 : 1);
        ck_assert(text_plan(&runs[i], &(struct ox_run_options){.level = i ? 2 : 0}) == OX_OK);
        text_give(&runs[i], OX_FLOAT32, 3, (const int64_t[]){BATCH, rows, WIDE}, given[0]);
        text_give(&runs[i], OX_FLOAT32, 2, (const int64_t[]){WIDE, 3 * WIDE}, given[1]);
        text_give(&runs[i], OX_FLOAT32, 1, (const int64_t[]){3 * WIDE}, given[2]);
        text_give(&runs[i], OX_FLOAT32, 5, (const int64_t[]){2, BATCH, HEADS, held, DEPTH},
                  given[3]);
        text_give(&runs[i], OX_INT32, 2, (const int64_t[]){BATCH, all}, mask);
        text_must_run(&runs[i]);
    }
    for (int k = 0; k <= (_i >> 1 & 1); k++) {
        check_three(runs, (unsigned)k,
                    k ? 2 * BATCH * HEADS * DEPTH * (size_t)all : BATCH * (size_t)rows * WIDE);
    }
    for (int i = 0; i < 3; i++)
        text_close(&runs[i]);
}
END_TEST

/* A past of which `n` rows are filled, the new ones go behind them and the rest stays. _i of 1: MultiHeadAttention, of 0 the decoder's. */
START_TEST(a_shared_buffer_is_filled_as_in_plain_c)
{
    enum { BATCH = 2, ROOM = 9, WIDE = 16, HEADS = 2, DEPTH = 8 };
    const int64_t rows = _i & 1 ? 3 : 1;
    const int64_t fresh[] = {BATCH, rows, WIDE}, room[] = {BATCH, HEADS, ROOM, DEPTH};
    float given[5][BATCH * ROOM * WIDE];
    char text[1024];
    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (float[2,R,16] "
             "q, float[2,R,16] k, float[2,R,16] v, float[2,2,9,8] pk, float[2,2,9,8] pv) => "
             "(float[2,R,16] y, float[2,2,9,8] nk, float[2,2,9,8] nv) <int32[1] n = {5}> { y, nk, "
             "nv = com.microsoft.%s }",
             _i & 1 ? "MultiHeadAttention <num_heads = 2, unidirectional = 1> (q, k, v, , , , pk, "
                      "pv, n)"
                    : "DecoderMaskedMultiHeadAttention <num_heads = 2, past_present_share_buffer "
                      "= 1> (q, k, v, , , pk, pv, n)");
    struct text_run runs[3];
    for (unsigned k = 0; k < OX_COUNT(given); k++)
        fill(given[k], OX_COUNT(given[k]), false, k + 3);
    for (int i = 0; i < 3; i++) {
        text_open(&runs[i], text);
        ox_env_set_threads(runs[i].env, i == 2 ? 2 : 1);
        ck_assert(text_plan(&runs[i], &(struct ox_run_options){.level = i ? 2 : 0}) == OX_OK);
        for (unsigned k = 0; k < OX_COUNT(given); k++)
            text_give(&runs[i], OX_FLOAT32, k < 3 ? 3 : 4, k < 3 ? fresh : room, given[k]);
        text_must_run(&runs[i]);
    }
    for (unsigned k = 0; k < 3; k++) {
        check_three(runs, k, k ? BATCH * ROOM * WIDE : BATCH * (size_t)rows * WIDE);
    }
    for (int i = 0; i < 3; i++)
        text_close(&runs[i]);
}
END_TEST

/* Causal attention behind a cache: an infinity among the keys or values of either, hidden from some queries or from none. */
START_TEST(hidden_infinities_are_those_of_plain_c)
{
    enum { HELD = 40, FRESH = 16, WIDE = 16 };
    static const char text[] =
        "<ir_version: 10, opset_import: [\"\" : 23]> g (float[1,16,16] q, float[1,16,16] k, "
        "float[1,16,16] v, float[1,2,40,8] pk, float[1,2,40,8] pv) => (float[1,16,16] y) { y = "
        "Attention <is_causal = 1, q_num_heads = 2, kv_num_heads = 2> (q, k, v, , pk, pv) }";
    const int64_t rows[] = {1, FRESH, WIDE}, held[] = {1, 2, HELD, 8};
    float given[5][2 * HELD * 8];
    struct text_run runs[2];
    for (unsigned i = 0; i < 5; i++)
        fill(given[i], 2 * HELD * 8, false, i + 1);
    given[1 + _i % 4][_i / 4 ? 5 : FRESH * WIDE - 1] = _i % 3 ? INFINITY : NAN;
    for (int i = 0; i < 2; i++) {
        text_must_plan(&runs[i], text, &(struct ox_run_options){.level = 2 * i});
        for (unsigned in = 0; in < 5; in++)
            text_give(&runs[i], OX_FLOAT32, in < 3 ? 3 : 4, in < 3 ? rows : held, given[in]);
        text_must_run(&runs[i]);
    }
    const struct ox_tensor *a = ox_datum_get_tensor(runs[0].out[0]),
                           *b = ox_datum_get_tensor(runs[1].out[0]);
    ck_assert_uint_eq(a->n, FRESH * WIDE);
    for (size_t i = 0; i < a->n; i++)
        ck_assert(near(ox_tensor_get_double(b, i), ox_tensor_get_double(a, i)));
    text_close(&runs[0]);
    text_close(&runs[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_forms");
    TCase *tcase = tcase_create("fast_forms");
    tcase_add_loop_test(tcase, as_plain_c, 0, (int)OX_COUNT(cases));
    tcase_add_loop_test(tcase, a_past_is_joined_as_in_plain_c, 0, 32);
    tcase_add_loop_test(tcase, a_shared_buffer_is_filled_as_in_plain_c, 0, 2);
    tcase_add_loop_test(tcase, hidden_infinities_are_those_of_plain_c, 0, 8);
    tcase_add_test(tcase, packed_weights_serve_every_run);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
