/* Models of quantized values at -O2 against the reference kernels: operators of integers give the same bits, fused Q/DQ patterns the
 * same codes up to a step, and what the passes make of them. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "graph/pass.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> "

enum { MOST = 20000 };

/* A constant: its ONNX type, shape and name, and the range of its whole values; floats are those over 64. */
struct constant {
    const char *declared; /* "int8[8,3,3,3] w" */
    int low, high;
};

static void add_constants(struct ox_strbuf *text, const struct constant *list, size_t n)
{
    unsigned state = 12345;
    ox_strbuf_puts(text, n ? "<" : "");
    for (size_t i = 0; i < n; i++) {
        size_t count = 1;
        const char *shape = strchr(list[i].declared, '[');
        for (const char *p = shape; p && *p != ']'; p++)
            if (*p == '[' || *p == ',')
                count *= strtoul(p + 1, NULL, 10);
        ox_strbuf_printf(text, "%s%s = {", i ? ", " : "", list[i].declared);
        for (size_t k = 0; k < count; k++) {
            state = state * 1103515245 + 12345;
            const int value =
                list[i].low + (int)((state >> 16) % (unsigned)(list[i].high - list[i].low + 1));
            if (strncmp(list[i].declared, "float", 5) == 0)
                ox_strbuf_printf(text, "%s%.8f", k ? "," : "", (double)value / 64);
            else
                ox_strbuf_printf(text, "%s%d", k ? "," : "", value);
        }
        ox_strbuf_puts(text, "}");
    }
    ox_strbuf_puts(text, n ? "> " : "");
}

struct shape {
    unsigned rank;
    int64_t dims[5];
};

static void run_level(const char *text, int level, unsigned threads, struct shape shape, float *out,
                      size_t *n_out)
{
    static float given[MOST];
    struct text_run f;
    size_t n = 1;
    for (unsigned d = 0; d < shape.rank; d++)
        n *= (size_t)shape.dims[d];
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++)
        given[i] = (float)((i * 7919) % 1009) / 500 - 1;
    const struct ox_run_options options = {.level = level};
    text_open(&f, text);
    ox_env_set_threads(f.env, threads);
    ck_assert_msg(text_plan(&f, &options) == OX_OK, "%s", f.err.message);
    text_give(&f, OX_FLOAT32, shape.rank, shape.dims, given);
    for (int round = 0; round < 2; round++) { /* weights are packed in the first */
        text_must_run(&f);
        const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
        ck_assert_uint_le(y->n, MOST);
        *n_out = y->n;
        for (size_t i = 0; i < y->n; i++)
            out[i] = (float)ox_tensor_get_double(y, i);
    }
    text_close(&f);
}

struct want {
    const char *op_type;
    size_t n;
};

static void check_nodes(const char *text, const struct want *wants, size_t n)
{
    struct text_run f;
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true};
    text_open(&f, text);
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    for (size_t i = 0; i < n; i++) {
        size_t found = 0;
        for (size_t k = 0; k < f.model->graph->n_nodes; k++)
            found += strcmp(f.model->graph->nodes[k]->op_type, wants[i].op_type) == 0;
        ck_assert_msg(found == wants[i].n, "%zu of %s, not %zu", found, wants[i].op_type,
                      wants[i].n);
    }
    text_close(&f);
}

/* step: what a code is worth at the output, of which one element in a hundred may be off by one; 0: the same bits. */
static void check_same(const char *graph, const struct constant *constants, size_t n_constants,
                       struct shape shape, float step, const struct want *wants, size_t n_wants)
{
    static float slow[MOST], fast[MOST], two[MOST];
    struct ox_strbuf text;
    size_t n_slow, n_fast, n_two, off = 0;
    const char *body = strchr(graph, '{');
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD);
    ox_strbuf_add(&text, graph, (size_t)(body - graph));
    add_constants(&text, constants, n_constants);
    ox_strbuf_puts(&text, body);
    ck_assert(!text.failed);
    run_level(text.data, 0, 1, shape, slow, &n_slow);
    run_level(text.data, 2, 1, shape, fast, &n_fast);
    run_level(text.data, 2, 2, shape, two, &n_two);
    ck_assert_uint_eq(n_slow, n_fast);
    for (size_t i = 0; i < n_slow; i++) {
        ck_assert_msg(fabsf(slow[i] - fast[i]) <= step * 1.001f, "%zu: %g, not %g", i, fast[i],
                      slow[i]);
        off += fabsf(slow[i] - fast[i]) > step * 0.001f;
    }
    ck_assert_uint_le(off * 100, n_slow);
    ck_assert_mem_eq(fast, two, n_fast * sizeof(float)); /* threads change no bit */
    check_nodes(text.data, wants, n_wants);
    ox_strbuf_release(&text);
}

#define CONSTANTS(...)                                                                             \
    (const struct constant[]){__VA_ARGS__},                                                        \
        sizeof((const struct constant[]){__VA_ARGS__}) / sizeof(struct constant)
#define WANT(...)                                                                                  \
    (const struct want[]){__VA_ARGS__},                                                            \
        sizeof((const struct want[]){__VA_ARGS__}) / sizeof(struct want)

#define SCALES                                                                                     \
    {"float[1] s", 1, 1}, {"uint8[1] z", 121, 121}, {"float[1] t", 2, 2},                          \
    {                                                                                              \
        "uint8[1] o", 3, 3                                                                         \
    }

START_TEST(convolutions_and_sums_stay_in_codes)
{
    check_same(
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
        "w = DequantizeLinear <axis = 0> (w0, ws, wz) bias = DequantizeLinear(b0, bs) "
        "c = Conv <pads = [1,1,1,1]> (b, w, bias) r = Relu(c) "
        "d = QuantizeLinear(r, t, o) e = DequantizeLinear(d, t, o) "
        "v = DequantizeLinear(v0, s) f = Conv <pads = [0,1,0,1], group = 8> (e, v) "
        "g = QuantizeLinear(f, t, z) h = DequantizeLinear(g, t, z) "
        "m = MaxPool <kernel_shape = [3,1]> (e) "
        "i = QuantizeLinear(m, t, o) j = DequantizeLinear(i, t, o) "
        "k = Add(h, j) l = QuantizeLinear(k, t, o) n = DequantizeLinear(l, t, o) "
        "p = GlobalAveragePool(n) q = QuantizeLinear(p, t, o) y = DequantizeLinear(q, t, o) }",
        CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"float[8] ws", 1, 9}, {"int8[8] wz", 0, 0},
                  {"int32[8] b0", -900, 900}, {"float[1] bs", 1, 1},
                  {"int8[8,1,3,3] v0", -127, 127}, SCALES),
        (struct shape){4, {2, 3, 9, 8}}, 2 / 64.0f,
        WANT({"IntegerConv", 2}, {"IntegerAdd", 0}, {"IntegerGlobalAveragePool", 1}, {"Relu", 0},
             {"QuantizeLinear", 1}, {"DequantizeLinear", 1}));
}
END_TEST

/* Biases of whole halves of the sums' unit: every other result is a tie between two codes. onnxruntime does not round them where a
 * Relu comes before. */
START_TEST(float_biases_are_not_rounded_to_units)
{
    check_same("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) ba = Relu(b) "
               "w = DequantizeLinear(w0, ws) c = Conv <pads = [1,1,1,1]> (ba, w, c0) "
               "d = QuantizeLinear(c, t, z) e = DequantizeLinear(d, t, z) ea = Relu(e) "
               "v = DequantizeLinear(v0, ws) f = Conv <group = 40> (ea, v, c0) "
               "g = QuantizeLinear(f, t, o) h = DequantizeLinear(g, t, o) ha = Relu(h) "
               "p = DequantizeLinear(p0, ws) i = Conv(ha, p, c1) "
               "k = QuantizeLinear(i, t, o) y = DequantizeLinear(k, t, o) }",
               CONSTANTS({"int8[40,3,3,3] w0", -3, 3}, {"int8[40,1,3,3] v0", -2, 2},
                         {"int8[70,40,1,1] p0", -1, 1}, {"float[1] ws", 16, 16},
                         {"float[40] c0", -99, 99}, {"float[70] c1", -99, 99}, {"float[1] s", 8, 8},
                         {"float[1] t", 8, 8}, {"uint8[1] z", 121, 121}, {"uint8[1] o", 93, 93}),
               (struct shape){4, {2, 3, 9, 8}}, 0,
               WANT({"IntegerConv", 3}, {"DequantizeLinear", 1}));
    check_same("g (float[2,5,24] x) => (float[A,B,C] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
               "w = DequantizeLinear(w0, ws) m = MatMul(b, w) c = Add(m, c0) "
               "d = QuantizeLinear(c, s, z) y = DequantizeLinear(d, s, z) }",
               CONSTANTS({"int8[24,17] w0", -3, 3}, {"float[1] ws", 16, 16},
                         {"float[17] c0", -99, 99}, {"float[1] s", 8, 8}, {"uint8[1] z", 121, 121}),
               (struct shape){3, {2, 5, 24}}, 0,
               WANT({"IntegerMatMul", 1}, {"QuantizeLinear", 1}, {"DequantizeLinear", 1}));
}
END_TEST

/* Units of 1/32: biases between two of them go to the even one, as in onnxruntime. */
START_TEST(float_biases_between_codes_are_rounded_to_units)
{
    static float rounded[MOST], found[MOST], exact[MOST];
    static const char form[] = HEAD
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) <float[1] s = {0.125}, uint8[1] z = {121}, "
        "int8[4,3,1,1] w0 = {1,2,3,-1,2,-3,3,1,1,-2,2,1}, float[4] ws = {0.25,0.25,0.25,0.25}, "
        "float[4] c0 = {%s}> { a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
        "m = MaxPool <kernel_shape = [2,2]> (b) w = DequantizeLinear <axis = 0> (w0, ws) "
        "c = Conv(m, w, c0) r = Relu(c) d = QuantizeLinear(r, s, z) "
        "y = DequantizeLinear(d, s, z) }";
    char between[sizeof form + 64], units[sizeof form + 64];
    const struct shape shape = {4, {2, 3, 9, 8}};
    size_t n, n_found;
    snprintf(between, sizeof between, form, "0.046875,0.078125,-0.046875,0.015625");
    snprintf(units, sizeof units, form, "0.0625,0.0625,-0.0625,0");
    run_level(units, 0, 1, shape, rounded, &n);
    run_level(between, 2, 1, shape, found, &n_found);
    ck_assert_uint_eq(n, n_found);
    ck_assert_mem_eq(found, rounded, n * sizeof *found);
    run_level(between, 0, 1, shape, exact, &n_found);
    ck_assert_mem_ne(exact, rounded, n * sizeof *found);
    check_nodes(between, WANT({"IntegerConv", 1}));
}
END_TEST

/* ... and of so many units that 32 bits cannot count them. */
START_TEST(biases_without_room_for_sums_keep_a_convolution_in_floats)
{
    check_same("g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
               "w = DequantizeLinear(w0, s) c = Conv (b, w, c0) "
               "d = QuantizeLinear(c, t, z) y = DequantizeLinear(d, t, z) }",
               CONSTANTS({"int8[4,3,3,3] w0", -3, 3}, {"float[4] c0", 1 << 30, 1 << 30},
                         {"float[1] s", 1, 1}, {"uint8[1] z", 121, 121},
                         {"float[1] t", 1 << 28, 1 << 28}),
               (struct shape){4, {2, 3, 9, 8}}, 0, WANT({"IntegerConv", 0}));
}
END_TEST

/* A network of QLinear operators: pixel by pixel, with one turn of the map at either end. */
START_TEST(convolutions_of_volumes_stay_in_codes)
{
    check_same("g (float[2,4,5,6,7] x) => (float[A,B,C,D,E] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
               "w = DequantizeLinear <axis = 0> (w0, ws, wz) bias = DequantizeLinear(b0, bs) "
               "c = Conv <pads = [1,1,1,0,1,1], strides = [2,1,1], group = 2> (b, w, bias) "
               "r = Relu(c) d = QuantizeLinear(r, t, o) e = DequantizeLinear(d, t, o) "
               "v = DequantizeLinear(v0, s) y = Conv(e, v) }",
               CONSTANTS({"int8[6,2,3,3,3] w0", -127, 127}, {"float[6] ws", 1, 9},
                         {"int8[6] wz", 0, 0}, {"int32[6] b0", -900, 900}, {"float[1] bs", 1, 1},
                         {"int8[5,6,1,1,1] v0", -127, 127}, SCALES),
               (struct shape){5, {2, 4, 5, 6, 7}}, 2 / 64.0f,
               WANT({"IntegerConv", 2}, {"Conv", 0}, {"Relu", 0}, {"DequantizeLinear", 0}));
    check_same("g (float[1,3,4,6,7] x) => (float[A,B,C,D,E] y) { "
               "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger(q, w0, z, wz) "
               "f = Cast <to = 1> (c) s = Mul(a, ws) p = Mul(f, s) y = Add(p, bias) }",
               CONSTANTS({"int8[8,3,2,3,3] w0", -127, 127}, {"int8 wz", 0, 0},
                         {"float[8,1,1,1] ws", 1, 4}, {"float[1,8,1,1,1] bias", -64, 64}),
               (struct shape){5, {1, 3, 4, 6, 7}}, 1e-2f,
               WANT({"IntegerConv", 1}, {"Add", 0}, {"Cast", 0}));
}
END_TEST

/* Each element of the second operand meets a short stretch of the first, and the other way round; a Gather of all that an axis has. */
START_TEST(rows_have_factors_of_their_own)
{
    static const int64_t rows[] = {1, 7, 150};
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        char text[900];
        snprintf(
            text, sizeof text,
            "g (float[2,%d,16] x) => (float[A,B,C,D] y) { "
            "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
            "m = MaxPool <kernel_shape = [16]> (b) "
            "n = QuantizeLinear(m, t, o) p = DequantizeLinear(n, t, o) "
            "c = Mul(b, p) d = QuantizeLinear(c, s, z) e = DequantizeLinear(d, s, z) "
            "f = Add(p, e) g = QuantizeLinear(f, t, z) h = DequantizeLinear(g, t, z) "
            "i = Gather <axis = 2> (p, at) j = QuantizeLinear(i, t, o) "
            "k = DequantizeLinear(j, t, o) l = Squeeze(k, two) u = Mul(l, h) "
            "q = QuantizeLinear(u, s, z) v = DequantizeLinear(q, s, z) y = Unsqueeze(v, two) }",
            (int)rows[i]);
        check_same(text, CONSTANTS({"int64[1] two", 2, 2}, {"int64[1,1] at", 0, 0}, SCALES),
                   (struct shape){3, {2, rows[i], 16}}, 1 / 64.0f, NULL, 0);
    }
}
END_TEST

/* Floats that become codes of 16 bits and floats again are rounded while a run has them near, at either end and alone. */
START_TEST(floats_on_a_grid_stay_in_runs)
{
    check_same("g (float[3,50,7] x) => (float[A,B,C] y) { "
               "a = com.microsoft.QuantizeLinear(x, s16, z16) "
               "b = com.microsoft.DequantizeLinear(a, s16, z16) "
               "c = Tanh(b) d = com.microsoft.QuantizeLinear(c, t16, o16) "
               "e = com.microsoft.DequantizeLinear(d, t16, o16) f = Mul(e, n) "
               "h = Transpose <perm = [0,2,1]> (f) "
               "i = QuantizeLinear(h, s, z) j = DequantizeLinear(i, s, z) "
               "k = Softmax(j) l = com.microsoft.QuantizeLinear(k, t16, o16) "
               "y = com.microsoft.DequantizeLinear(l, t16, o16) }",
               CONSTANTS({"float s16", 1, 1}, {"int16 z16", -7, -7}, {"float[1] t16", 2, 2},
                         {"uint16[1] o16", 9, 9}, {"float n", 3, 3}, {"float s", 1, 1},
                         {"int8 z", -5, -5}),
               (struct shape){3, {3, 50, 7}}, 2 / 64.0f,
               WANT({"QuantizeLinear", 0}, {"DequantizeLinear", 1}, {"Elementwise", 2}));
}
END_TEST

/* Around codes stands what zero is of theirs, or they themselves; other numbers keep them from moving. */
START_TEST(codes_are_padded)
{
    static const struct {
        const char *pad, *type;
        size_t moved;
    } of[] = {{"Pad (b, pads)", "uint8", 2},
              {"Pad (b, pads, none)", "int8", 2},
              {"Pad (b, two, none, axes)", "uint8", 2},
              {"Pad <mode = \"reflect\"> (b, pads)", "uint8", 2},
              {"Pad <mode = \"edge\"> (b, pads)", "int8", 2},
              {"Pad (b, pads, one)", "uint8", 0}};
    for (size_t i = 0; i < OX_COUNT(of); i++) {
        char text[700], zero[32];
        snprintf(zero, sizeof zero, "%s[1] q", of[i].type);
        snprintf(text, sizeof text,
                 "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { "
                 "a = QuantizeLinear(x, s, q) b = DequantizeLinear(a, s, q) p = %s "
                 "c = QuantizeLinear(p, s, q) d = DequantizeLinear(c, s, q) "
                 "w = DequantizeLinear(w0, s) e = Conv(d, w) f = QuantizeLinear(e, t, q) "
                 "y = DequantizeLinear(f, t, q) }",
                 of[i].pad);
        check_same(text,
                   CONSTANTS({"int64[8] pads", 1, 1}, {"int64[2] two", 1, 1}, {"float none", 0, 0},
                             {"float one", 64, 64}, {"int64[1] axes", 1, 1},
                             {"int8[8,5,3,3] w0", -127, 127}, {"float[1] s", 1, 1},
                             {"float[1] t", 2, 2}, {zero, 17, 17}),
                   (struct shape){4, {2, 3, 9, 8}}, 2 / 64.0f,
                   WANT({"QuantizeLinear", of[i].moved ? 1 : 2}));
    }
}
END_TEST

START_TEST(qlinear_operators_keep_channels_last)
{
    check_same(
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { a = QuantizeLinear(x, s, z) "
        "b = QLinearConv <pads = [1,1,1,1]> (a, s, z, w0, ws, wz, t, o, b0) "
        "c = MaxPool <kernel_shape = [3,3], pads = [1,1,1,1]> (b) "
        "d = QLinearConv <pads = [1,1,1,1], group = 8> (c, t, o, v0, s, vz, t, z) "
        "e = com.microsoft.QLinearAdd(c, t, o, d, t, z, t, o) "
        "f = com.microsoft.QLinearMul(e, t, o, d, t, z, s, o) "
        "p = com.microsoft.QLinearGlobalAveragePool(f, s, o, s, z) y = DequantizeLinear(p, s, z) }",
        CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"float[8] ws", 1, 9}, {"int8[8] wz", 0, 0},
                  {"int32[8] b0", -900, 900}, {"int8[8,1,3,3] v0", -127, 127}, {"int8[1] vz", 0, 0},
                  SCALES),
        (struct shape){4, {2, 3, 9, 8}}, 0,
        WANT({"IntegerConv", 2}, {"IntegerAdd", 1}, {"IntegerMul", 1},
             {"IntegerGlobalAveragePool", 1}, {"Transpose", 2}, {"MaxPool", 1}));
}
END_TEST

/* Two convolutions meet, of which one takes the other's codes; then one's codes are read by another's scale, or are an output. */
START_TEST(residuals_are_added_by_convolutions)
{
    check_same(
        "g (float[2,5,6,7] x) => (float[A,B,C,D] y, uint8[A,B,C,D] k) { "
        "a = QuantizeLinear(x, s, z) "
        "b = QLinearConv (a, s, z, u0, s, wz, t, o) c = QLinearConv (a, s, z, v0, s, wz, t, z) "
        "e = com.microsoft.QLinearAdd(b, t, o, c, t, z, t, o) "
        "f = QLinearConv (e, t, o, w0, s, wz, t, z) "
        "g = com.microsoft.QLinearAdd(e, t, o, f, t, z, s, z) "
        "h = QLinearConv (g, s, z, w0, s, wz, t, z) "
        "i = com.microsoft.QLinearAdd(h, s, z, g, s, z, t, z) "
        "k = QLinearConv (i, t, z, w0, s, wz, t, z) "
        "l = com.microsoft.QLinearAdd(k, t, z, i, t, z, t, z) "
        "y = DequantizeLinear(l, t, z) }",
        CONSTANTS({"int8[70,5,1,1] u0", -127, 127}, {"int8[70,5,1,1] v0", -127, 127},
                  {"int8[70,70,1,1] w0", -9, 9}, {"int8[1] wz", 0, 0}, SCALES),
        (struct shape){4, {2, 5, 6, 7}}, 0, WANT({"IntegerConv", 5}, {"IntegerAdd", 2}));
}
END_TEST

/* As onnxruntime saves models that it has optimized: pixel by pixel between turns of the map, and as the standard's. */
START_TEST(saved_convolutions_have_channels_last)
{
    check_same(
        "g (float[2,3,9,8] x) => (float[A,B,C,D] y) { a = QuantizeLinear(x, s, z) "
        "t0 = Transpose <perm = [0,2,3,1]> (a) "
        "b = com.microsoft.QLinearConv <channels_last = 1, pads = [1,0,0,1], strides = [1,2]> "
        "(t0, s, z, w0, ws, wz, t, o, b0) "
        "c = com.microsoft.QLinearConv <channels_last = 1, group = 8, auto_pad = \"SAME_UPPER\"> "
        "(b, t, o, v0, s, vz, t, z) "
        "d = Transpose <perm = [0,3,1,2]> (c) "
        "e = com.microsoft.QLinearConv (d, t, z, u0, s, vz, t, z) "
        "y = DequantizeLinear(e, t, z) }",
        CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"float[8] ws", 1, 9}, {"int8[8] wz", 0, 0},
                  {"int32[8] b0", -900, 900}, {"int8[8,1,3,3] v0", -127, 127},
                  {"int8[5,8,1,1] u0", -127, 127}, {"int8[1] vz", 0, 0}, SCALES),
        (struct shape){4, {2, 3, 9, 8}}, 0, WANT({"QLinearConv", 3}));
}
END_TEST

/* As training with simulated codes leaves it; an average, whose integers have no Relu, stays as it is. */
START_TEST(a_relu_of_codes_goes_before_them)
{
    check_same("g (float[2,3,9,8] x) => (float[A,B,C,D] y, float[A,B,E,F] p) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
               "w = DequantizeLinear <axis = 0> (w0, ws) c = Conv (b, w) "
               "d = QuantizeLinear(c, t, z) e = DequantizeLinear(d, t, z) f = Relu(e) "
               "v = DequantizeLinear <axis = 0> (v0, ws) g = Conv (f, v) "
               "h = QuantizeLinear(g, t, z) y = DequantizeLinear(h, t, z) "
               "i = GlobalAveragePool(y) j = QuantizeLinear(i, s, z) k = DequantizeLinear(j, s, z) "
               "p = Relu(k) }",
               CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"int8[8,8,3,3] v0", -127, 127},
                         {"float[8] ws", 1, 9}, SCALES),
               (struct shape){4, {2, 3, 9, 8}}, 0,
               WANT({"IntegerConv", 2}, {"IntegerGlobalAveragePool", 1}, {"QuantizeLinear", 1},
                    {"Relu", 0}, {"Lookup", 1}));
}
END_TEST

START_TEST(products_take_a_bias_and_give_floats)
{
    check_same(
        "g (float[2,5,24] x) => (float[A,B,C] y) { "
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
        "w = DequantizeLinear <axis = 1> (w0, ws) m = MatMul(b, w) y = Add(m, bias) }",
        CONSTANTS({"int8[24,17] w0", -127, 127}, {"float[17] ws", 1, 9},
                  {"float[17] bias", -64, 64}, SCALES),
        (struct shape){3, {2, 5, 24}}, 1e-3f,
        WANT({"IntegerMatMul", 1}, {"Add", 0}, {"QuantizeLinear", 1}, {"DequantizeLinear", 0}));
}
END_TEST

START_TEST(stacks_of_codes_are_multiplied)
{
    check_same("g (float[3,4,12] x) => (float[A,B,C] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
               "c = Transpose <perm = [0,2,1]> (b) d = QuantizeLinear(c, s, z) "
               "e = DequantizeLinear(d, s, z) m = MatMul(b, e) "
               "f = QuantizeLinear(m, t, z) y = DequantizeLinear(f, t, z) }",
               CONSTANTS(SCALES), (struct shape){3, {3, 4, 12}}, 2 / 64.0f,
               WANT({"IntegerMatMul", 1}, {"QuantizeLinear", 1}, {"DequantizeLinear", 1}));
}
END_TEST

/* Operands of the last axes, on either side, more of them than are combined at once; zeros by a scale that has no bearing. */
START_TEST(biases_are_added_in_codes)
{
    check_same("g (float[130,3,7] x) => (float[A,B,C] y) { "
               "a = QuantizeLinear(x, s, z) "
               "b = com.microsoft.QLinearAdd(a, s, z, b0, t, o, t, z) "
               "c = com.microsoft.QLinearAdd(m0, t, z, b, t, z, t, o) "
               "d = com.microsoft.QLinearMul(b0, s, o, c, t, o, s, z) "
               "e = com.microsoft.QLinearAdd(d, s, z, n0, far, o, t, z) "
               "f = com.microsoft.QLinearAdd(n0, far, o, e, t, z, t, z) "
               "g = com.microsoft.QLinearAdd(f, t, z, one, t, o, t, z) "
               "h = com.microsoft.QLinearAdd(g, t, z, column, t, o, t, z) "
               "y = DequantizeLinear(h, t, z) }",
               CONSTANTS({"uint8[7] b0", 0, 255}, {"uint8[1,3,7] m0", 0, 255},
                         {"uint8[3,7] n0", 3, 3}, {"uint8[1] one", 9, 9},
                         {"uint8[3,1] column", 0, 255}, {"float[1] far", 1 << 30, 1 << 30}, SCALES),
               (struct shape){3, {130, 3, 7}}, 0, WANT({"IntegerAdd", 6}, {"IntegerMul", 1}));
}
END_TEST

START_TEST(functions_of_a_code_are_one_table)
{
    check_same("g (float[5,50] x) => (float[A,B] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
               "c = Sigmoid(b) d = QuantizeLinear(c, s, o) e = DequantizeLinear(d, s, o) "
               "f = Mul(b, e) g = Div(f, t) h = QuantizeLinear(g, t, z) "
               "y = DequantizeLinear(h, t, z) }",
               CONSTANTS(SCALES), (struct shape){2, {5, 50}}, 0,
               WANT({"Lookup", 1}, {"Sigmoid", 0}, {"Mul", 0}, {"QuantizeLinear", 1},
                    {"DequantizeLinear", 1}));
}
END_TEST

/* Gelu as onnxruntime quantizes it. */
START_TEST(numbers_that_are_codes_do_not_keep_a_function_from_being_a_table)
{
    check_same("g (float[5,50] x) => (float[A,B] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
               "c = Erf(b) d = QuantizeLinear(c, t, o) e = DequantizeLinear(d, t, o) "
               "n = DequantizeLinear(one, s, z) f = Add(e, n) g = QuantizeLinear(f, s, z) "
               "h = DequantizeLinear(g, s, z) i = Mul(b, h) j = QuantizeLinear(i, t, z) "
               "k = DequantizeLinear(j, t, z) m = DequantizeLinear(half, t) l = Mul(m, k) "
               "p = QuantizeLinear(l, t, z) y = DequantizeLinear(p, t, z) }",
               CONSTANTS({"uint8 one", 200, 200}, {"uint8[1,1] half", 9, 9}, SCALES),
               (struct shape){2, {5, 50}}, 0,
               WANT({"Lookup", 1}, {"IntegerAdd", 0}, {"IntegerMul", 0}, {"QuantizeLinear", 1},
                    {"DequantizeLinear", 1}));
}
END_TEST

START_TEST(codes_move_and_meet)
{
    check_same("g (float[2,4,6] x) => (float[A,B] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
               "c = Transpose <perm = [1,0,2]> (b) d = QuantizeLinear(c, s, z) "
               "e = DequantizeLinear(d, s, z) k = Constant <value_ints = [4, 12]> () "
               "f = Reshape(e, k) g = QuantizeLinear(f, t, o) h = DequantizeLinear(g, t, o) "
               "i = Concat <axis = 1> (f, h) j = QuantizeLinear(i, t, z) "
               "y = DequantizeLinear(j, t, z) }",
               CONSTANTS(SCALES), (struct shape){3, {2, 4, 6}}, 0,
               WANT({"QuantizeLinear", 1}, {"DequantizeLinear", 1}, {"Lookup", 2}));
}
END_TEST

/* A bias a column keeps a function of codes from being a table: floats between codes stay in a stretch. */
START_TEST(runs_of_functions_end_in_codes)
{
    check_same("g (float[5,40,90] x) => (float[A,B,C] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = Add(b, bias) "
               "r = Relu(c) d = QuantizeLinear(r, s, o) e = DequantizeLinear(d, s, o) "
               "f = Mul(row, e) i = QuantizeLinear(f, t, sz) j = DequantizeLinear(i, t, sz) "
               "k = Sub(j, bias) n = Neg(k) y = Add(n, row) }",
               CONSTANTS({"float[90] bias", -64, 64}, {"float[40,1] row", -64, 64},
                         {"int8[1] sz", -7, -7}, SCALES),
               (struct shape){3, {5, 40, 90}}, 0,
               WANT({"Elementwise", 3}, {"QuantizeLinear", 1}, {"DequantizeLinear", 0}));
    check_same(
        "g (float[5,50] x) => (float[A,B] y) { "
        "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = Exp(b) "
        "d = Add(c, bias) e = Gelu(d) f = QuantizeLinear(e, t, o) "
        "y = DequantizeLinear(f, t, o) }",
        CONSTANTS({"float[50] bias", -64, 64}, SCALES), (struct shape){2, {5, 50}}, 2 / 64.0f,
        WANT({"Elementwise", 1}, {"QuantizeLinear", 1}, {"DequantizeLinear", 1}, {"Lookup", 0}));
}
END_TEST

/* Rows are normalized before they become codes again; of two chains that meet in a sum the codes of the shorter are an operand. */
START_TEST(rows_are_normalized_between_codes)
{
    check_same("g (float[30,80] x) => (float[A,B] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = Div(b, half) "
               "d = Add(c, bias) e = Softmax(d) f = QuantizeLinear(e, fine, none) "
               "i = QuantizeLinear(x, t, o) j = DequantizeLinear(i, t, o) "
               "g = DequantizeLinear(f, fine, none) h = Add(g, bias) k = Sub(j, h) "
               "l = LayerNormalization(k, row, bias) m = QuantizeLinear(l, t, z) "
               "y = DequantizeLinear(m, t, z) }",
               CONSTANTS({"float[80] bias", -64, 64}, {"float[80] row", 1, 64},
                         {"float[1] half", 32, 32}, {"float[1] fine", 1, 1},
                         {"uint8[1] none", 0, 0}, SCALES),
               (struct shape){2, {30, 80}}, 2 / 64.0f,
               WANT({"Elementwise", 2}, {"QuantizeLinear", 2}, {"DequantizeLinear", 1},
                    {"Softmax", 0}, {"LayerNormalization", 0}, {"Lookup", 0}));
    check_same("g (float[30,80] x) => (float[A,B] y) { "
               "a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = Add(b, bias) "
               "d = LayerNormalization(c, half) e = QuantizeLinear(d, t, z) "
               "y = DequantizeLinear(e, t, z) }",
               CONSTANTS({"float[80] bias", -64, 64}, {"float[1] half", 32, 32}, SCALES),
               (struct shape){2, {30, 80}}, 2 / 64.0f,
               WANT({"Elementwise", 1}, {"LayerNormalization", 1}, {"QuantizeLinear", 2}));
}
END_TEST

/* What nothing goes before is worked out with its codes, too. */
START_TEST(rows_of_floats_become_codes)
{
    check_same("g (float[30,80] x) => (float[A,B] y) { a = Softmax(x) "
               "b = QuantizeLinear(a, fine, none) c = DequantizeLinear(b, fine, none) "
               "d = LayerNormalization(x, row, bias) e = QuantizeLinear(d, t, z) "
               "f = DequantizeLinear(e, t, z) i = MatMul(c, cols) y = Add(i, f) }",
               CONSTANTS({"float[80] bias", -64, 64}, {"float[80] row", 1, 64},
                         {"float[80,80] cols", -64, 64}, {"float[1] fine", 1, 1},
                         {"uint8[1] none", 0, 0}, SCALES),
               (struct shape){2, {30, 80}}, 2 / 64.0f,
               WANT({"Softmax", 0}, {"LayerNormalization", 0}, {"QuantizeLinear", 0}));
}
END_TEST

START_TEST(dynamic_products_are_one_node)
{
    check_same(
        "g (float[3,40] x) => (float[A,B] y) { "
        "q, a, z = DynamicQuantizeLinear(x) m = MatMulInteger(q, w0, z, wz) "
        "f = Cast <to = 1> (m) s = Mul(a, ws) p = Mul(f, s) y = Add(p, bias) }",
        CONSTANTS({"uint8[40,21] w0", 0, 255}, {"uint8 wz", 120, 120}, {"float ws", 3, 3},
                  {"float[21] bias", -64, 64}),
        (struct shape){2, {3, 40}}, 1e-3f,
        WANT({"IntegerMatMul", 1}, {"MatMulInteger", 0}, {"Cast", 0}, {"Mul", 0}, {"Add", 0}));
}
END_TEST

START_TEST(dynamic_convolutions_take_their_bias_and_stay_last)
{
    check_same("g (float[1,3,6,7] x) => (float[A,B,C,D] y) { "
               "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger(q, w0, z, wz) "
               "f = Cast <to = 1> (c) s = Mul(a, ws) p = Mul(f, s) b = Add(p, bias) r = Relu(b) "
               "q2, a2, z2 = DynamicQuantizeLinear(r) c2 = ConvInteger(q2, v0, z2, wz) "
               "f2 = Cast <to = 1> (c2) s2 = Mul(a2, ws) y = Mul(f2, s2) }",
               CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"int8 wz", 0, 0}, {"float ws", 1, 1},
                         {"float[1,8,1,1] bias", -64, 64}, {"int8[4,8,1,1] v0", -127, 127}),
               (struct shape){4, {1, 3, 6, 7}}, 1e-2f,
               WANT({"IntegerConv", 2}, {"Add", 0}, {"Cast", 0}, {"Transpose", 2}));
}
END_TEST

START_TEST(dynamic_convolutions_have_a_scale_for_each_channel)
{
    check_same("g (float[2,3,6,7] x) => (float[A,B,C,D] y) { "
               "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger(q, w0, z, wz) "
               "f = Cast <to = 1> (c) s = Mul(a, ws) p = Mul(f, s) b = Add(p, bias) "
               "q2, a2, z2 = DynamicQuantizeLinear(b) c2 = ConvInteger(q2, v0, z2, vz) "
               "f2 = Cast <to = 1> (c2) s2 = Mul(vs, a2) y = Mul(f2, s2) }",
               CONSTANTS({"int8[8,3,3,3] w0", -127, 127}, {"int8 wz", 0, 0},
                         {"float[8,1,1] ws", 1, 4}, {"float[1,8,1,1] bias", -64, 64},
                         {"uint8[4,8,1,1] v0", 0, 255}, {"uint8 vz", 128, 128},
                         {"float[1,4,1,1] vs", 1, 4}),
               (struct shape){4, {2, 3, 6, 7}}, 1e-2f,
               WANT({"IntegerConv", 2}, {"Add", 0}, {"Cast", 0}, {"Mul", 0}));
    static const struct {
        const char *text;
        size_t fused;
    } many[] = {{"strides = [17,17]", 1}, {"dilations = [1,2]", 0}}; /* taps */
    for (size_t i = 0; i < OX_COUNT(many); i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "g (float[1,1,35,36] x) => (float[A,B,C,D] y) { "
                 "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger <%s> (q, w0, z, wz) "
                 "f = Cast <to = 1> (c) s = Mul(a, ws) y = Mul(f, s) }",
                 many[i].text);
        check_same(text,
                   CONSTANTS({"int8[6,1,17,17] w0", -127, 127}, {"int8 wz", 0, 0},
                             {"float[6,1,1] ws", 1, 4}),
                   (struct shape){4, {1, 1, 35, 36}}, 1e-2f,
                   WANT({"IntegerConv", many[i].fused}, {"ConvInteger", 1 - many[i].fused}));
    }
    check_same("g (float[2,3,6,7] x) => (float[A,B,C,D] y) { " /* by columns of pixels */
               "q, a, z = DynamicQuantizeLinear(x) c = ConvInteger(q, w0, z, wz) "
               "f = Cast <to = 1> (c) s = Mul(a, ws) y = Mul(f, s) }",
               CONSTANTS({"int8[5,3,3,3] w0", -127, 127}, {"int8 wz", 0, 0}, {"float[5] ws", 1, 4}),
               (struct shape){4, {2, 3, 6, 7}}, 1e-2f,
               WANT({"IntegerConv", 0}, {"ConvInteger", 1}));
}
END_TEST

/* Scales that make many results fall on a half. */
START_TEST(integer_operators_give_the_same_bits)
{
    check_same("g (float[1,6,7,9] x) => (float[A,B,C,D] y) { "
               "a = QuantizeLinear(x, s, z) "
               "b = QLinearConv <pads = [1,1,1,1], strides = [1,2]> "
               "(a, half, z, w0, ws, wz, half, o, b0) "
               "c = QLinearConv <group = 8> (b, half, o, v0, half, vz, s, z) "
               "d = com.microsoft.QLinearAdd (c, half, z, c, s, o, half, z) "
               "e = com.microsoft.QLinearMul (d, half, z, c, s, o, half, o) "
               "i = ConvInteger <group = 8> (e, v0, z, vz) y = Cast <to = 1> (i) }",
               CONSTANTS({"uint8[8,6,3,3] w0", 0, 255}, {"float[8] ws", 1, 4},
                         {"uint8[8] wz", 100, 140}, {"int32[8] b0", -900, 900},
                         {"float[1] half", 32, 32}, {"int8[8,1,3,3] v0", -128, 127},
                         {"int8[1] vz", 7, 7}, SCALES),
               (struct shape){4, {1, 6, 7, 9}}, 0,
               WANT({"IntegerConv", 2}, {"QLinearConv", 0}, {"ConvInteger", 1}));
}
END_TEST

static void give_codes(struct text_run *f, const float *scales, uint8_t zero, int32_t bias)
{
    static const uint8_t x[2][3] = {{10, 200, 90}, {255, 0, 77}};
    for (; f->n_in; f->n_in--)
        ox_datum_release(f->in[f->n_in - 1]);
    text_give(f, OX_UINT8, 4, (const int64_t[]){1, 2, 1, 3}, x);
    text_give(f, OX_FLOAT32, 0, NULL, &scales[0]);
    text_give(f, OX_FLOAT32, 0, NULL, &scales[1]);
    text_give(f, OX_FLOAT32, 0, NULL, &scales[2]);
    text_give(f, OX_UINT8, 0, NULL, &zero);
    text_give(f, OX_INT32, 1, (const int64_t[]){2}, (const int32_t[]){bias, -bias});
}

/* Weights are packed at the first run; what the sums are multiplied by must not stay with them. */
START_TEST(scales_and_biases_from_without_are_read_at_every_run)
{
    static const char text[] = HEAD
        "g (uint8[1,2,1,3] x, float s, float v, float t, uint8 z, int32[2] b) "
        "=> (uint8[A,B,C,D] y, float[E,F,G,H] m) "
        "<int8[2,2,1,1] w = {50, -70, 90, 30}, int8 o = {0}, int8[3,2] u = {9, -8, 7, 6, 5, 4}> "
        "{ y = QLinearConv(x, s, z, w, v, o, t, z, b) i = MatMulInteger(x, u, z) "
        "m = Cast <to = 1> (i) }";
    const struct {
        float scales[3];
        uint8_t zero;
        int32_t bias;
    } runs[] = {{{.5f, .25f, 16}, 100, 40}, {{1, .25f, 16}, 100, 40}, {{1, .5f, 16}, 100, 40},
                {{1, .5f, 64}, 100, 40},    {{1, .5f, 64}, 130, 40},  {{1, .5f, 64}, 130, 4000}};
    struct text_run slow, fast;
    uint8_t before[6] = {0};
    text_must_plan(&slow, text, &(const struct ox_run_options){.level = 0});
    text_must_plan(&fast, text, &(const struct ox_run_options){.level = 2});
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        give_codes(&slow, runs[i].scales, runs[i].zero, runs[i].bias);
        give_codes(&fast, runs[i].scales, runs[i].zero, runs[i].bias);
        text_must_run(&slow);
        text_must_run(&fast);
        for (size_t k = 0; k < 2; k++) {
            const struct ox_tensor *want = ox_datum_get_tensor(slow.out[k]);
            const struct ox_tensor *is = ox_datum_get_tensor(fast.out[k]);
            ck_assert_mem_eq(is->data, want->data, want->n * ox_dtype_size(want->dtype));
        }
        const struct ox_tensor *y = ox_datum_get_tensor(slow.out[0]);
        ck_assert_mem_ne(y->data, before, sizeof before); /* each change shows */
        memcpy(before, y->data, sizeof before);
    }
    text_close(&slow);
    text_close(&fast);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codes");
    TCase *tests = tcase_create("codes");
    tcase_add_test(tests, convolutions_and_sums_stay_in_codes);
    tcase_add_test(tests, float_biases_are_not_rounded_to_units);
    tcase_add_test(tests, float_biases_between_codes_are_rounded_to_units);
    tcase_add_test(tests, biases_without_room_for_sums_keep_a_convolution_in_floats);
    tcase_add_test(tests, convolutions_of_volumes_stay_in_codes);
    tcase_add_test(tests, rows_have_factors_of_their_own);
    tcase_add_test(tests, floats_on_a_grid_stay_in_runs);
    tcase_add_test(tests, codes_are_padded);
    tcase_add_test(tests, a_relu_of_codes_goes_before_them);
    tcase_add_test(tests, qlinear_operators_keep_channels_last);
    tcase_add_test(tests, residuals_are_added_by_convolutions);
    tcase_add_test(tests, saved_convolutions_have_channels_last);
    tcase_add_test(tests, products_take_a_bias_and_give_floats);
    tcase_add_test(tests, stacks_of_codes_are_multiplied);
    tcase_add_test(tests, biases_are_added_in_codes);
    tcase_add_test(tests, functions_of_a_code_are_one_table);
    tcase_add_test(tests, numbers_that_are_codes_do_not_keep_a_function_from_being_a_table);
    tcase_add_test(tests, codes_move_and_meet);
    tcase_add_test(tests, runs_of_functions_end_in_codes);
    tcase_add_test(tests, rows_are_normalized_between_codes);
    tcase_add_test(tests, rows_of_floats_become_codes);
    tcase_add_test(tests, dynamic_products_are_one_node);
    tcase_add_test(tests, dynamic_convolutions_take_their_bias_and_stay_last);
    tcase_add_test(tests, dynamic_convolutions_have_a_scale_for_each_channel);
    tcase_add_test(tests, integer_operators_give_the_same_bits);
    tcase_add_test(tests, scales_and_biases_from_without_are_read_at_every_run);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
