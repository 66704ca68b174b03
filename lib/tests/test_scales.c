/* QuantizeLinear and DequantizeLinear with scales by an axis or by blocks: the quick forms against the reference, bit by bit. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/code_rows.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { MOST = 20000 };

static const struct {
    const char *name;
    enum ox_dtype dtype;
} types[] = {{"uint8", OX_UINT8},
             {"int8", OX_INT8},
             {"uint16", OX_UINT16},
             {"int16", OX_INT16},
             {"int32", OX_INT32}};

static size_t count(unsigned rank, const int64_t *dims)
{
    size_t n = 1;
    for (unsigned a = 0; a < rank; a++)
        n *= (size_t)dims[a];
    ck_assert_uint_le(n, MOST);
    return n;
}

struct given {
    enum ox_dtype dtype, zero_dtype;
    unsigned rank, scale_rank;
    int64_t dims[3], scale_dims[3];
    const void *data, *scale, *zero;
};

static size_t run_level(const char *text, int level, const struct given *g, void *out)
{
    struct text_run f;
    const struct ox_run_options options = {.level = level};
    text_must_plan(&f, text, &options);
    text_give(&f, g->dtype, g->rank, g->dims, g->data);
    text_give(&f, OX_FLOAT32, g->scale_rank, g->scale_dims, g->scale);
    text_give(&f, g->zero_dtype, g->scale_rank, g->scale_dims, g->zero);
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    const size_t bytes = y->n * ox_dtype_size(y->dtype);
    ck_assert_uint_le(bytes, MOST * sizeof(float));
    memcpy(out, y->data, bytes);
    text_close(&f);
    return bytes;
}

/* Halves of a scale, and what is no number, among the rest. */
static void draw_values(struct dice *d, size_t n, float *x)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t kind = dice_between(d, 0, 14);
        x[i] = kind == 0   ? NAN
               : kind == 1 ? INFINITY
               : kind == 2 ? -1e30f
               : kind < 6  ? 0.125f * ((float)dice_between(d, 0, 600) - 300)
                           : 40 * dice_float(d);
    }
}

START_TEST(scales_of_an_axis_and_of_blocks)
{
    struct dice d = {(uint64_t)_i * 211 + 3};
    static uint32_t codes[MOST], zeros[MOST];
    static float x[MOST], scale[MOST];
    static char slow[MOST * sizeof(float)], fast[MOST * sizeof(float)];
    const size_t type = dice_between(&d, 0, OX_COUNT(types) - 1);
    const bool back = types[type].dtype == OX_INT32 || _i & 1;
    const unsigned axis = (unsigned)dice_between(&d, 0, 2);
    const size_t block = _i & 2 ? dice_between(&d, 1, 40) : 0;
    struct given g = {.dtype = back ? types[type].dtype : OX_FLOAT32,
                      .zero_dtype = types[type].dtype,
                      .rank = 3,
                      .scale_rank = block ? 3 : 1,
                      .data = back ? (const void *)codes : x,
                      .scale = scale,
                      .zero = zeros};
    for (unsigned a = 0; a < 3; a++)
        g.dims[a] = (int64_t)dice_between(&d, 1, a == axis ? 50 : 15);
    memcpy(g.scale_dims, block ? g.dims : g.dims + axis, g.scale_rank * sizeof *g.dims);
    if (block)
        g.scale_dims[axis] = (g.dims[axis] + (int64_t)block - 1) / (int64_t)block;
    if (!block && dice_between(&d, 0, 5) == 0)
        g.scale_dims[0] = 1;
    const size_t n = count(3, g.dims), n_scale = count(g.scale_rank, g.scale_dims);
    draw_values(&d, n, x);
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint32_t)dice_next(&d);
    for (size_t i = 0; i < n_scale; i++) {
        scale[i] = dice_between(&d, 0, 1) ? 0.25f : 0.01f + fabsf(dice_float(&d));
        zeros[i] = (uint32_t)dice_next(&d);
    }
    char text[400], blocks[40] = "";
    if (block)
        snprintf(blocks, sizeof blocks, ", block_size = %zu", block);
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 21]> g (%s[A,B,C] x, float[%s] s, %s[%s] z) "
             "=> (y) { y = %s <axis = %u%s> (x, s, z) }",
             back ? types[type].name : "float", block ? "D,E,F" : "D", types[type].name,
             block ? "D,E,F" : "D", back ? "DequantizeLinear" : "QuantizeLinear", axis, blocks);
    const size_t bytes = run_level(text, 0, &g, slow);
    ck_assert_uint_eq(run_level(text, 2, &g, fast), bytes);
    ck_assert_msg(!memcmp(slow, fast, bytes), "%s", text);
}
END_TEST

/* Plain C, which any machine falls back to, and what is best here. */
START_TEST(every_level_gives_the_same_codes)
{
    struct dice d = {(uint64_t)_i * 223 + 1};
    const size_t type = (size_t)_i % OX_COUNT(types), n = dice_between(&d, 1, 70), step = _i & 1;
    const enum ox_cpu most = ox_cpu_probe(),
                      level = _i & 2 && most > OX_CPU_AVX2 ? OX_CPU_AVX2 : most;
    const struct ox_codes plain = ox_codes(OX_CPU_C, types[type].dtype);
    const struct ox_codes best = ox_codes(level, types[type].dtype);
    float x[70], scale[70], want[70], got[70];
    int32_t zero[70], codes[2][70] = {{0}};
    draw_values(&d, n, x);
    for (size_t i = 0; i < n; i++) {
        scale[i] = 0.25f * (float)dice_between(&d, 1, 5);
        zero[i] = (int32_t)dice_between(&d, 0, 127);
        codes[0][i] = codes[1][i] = (int32_t)dice_next(&d);
    }
    for (unsigned k = 0; k < 2 && plain.quantize; k++)
        (k ? best : plain).quantize(n, x, step, scale, zero, codes[k]);
    ck_assert_mem_eq(codes[0], codes[1], sizeof codes[0]);
    plain.dequantize(n, codes[0], step, scale, zero, want);
    best.dequantize(n, codes[0], step, scale, zero, got);
    ck_assert_mem_eq(want, got, n * sizeof *want);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scales");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, scales_of_an_axis_and_of_blocks, 0, 600);
    tcase_add_loop_test(all, every_level_gives_the_same_codes, 0, 200);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
