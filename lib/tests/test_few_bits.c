/* Products by weights of few bits: every level near the sums in double, and MatMulNBits of the fast engine near the reference. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/few_bits.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

struct side {
    struct ox_few_bits w;
    size_t n;
    struct guarded scales, real_zeros;
    uint8_t *codes, *zeros;
};

static uint8_t *random_bytes(struct dice *d, size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)dice_between(d, 0, 255);
    return bytes;
}

static struct side random_side(struct dice *d)
{
    static const unsigned bits[] = {2, 4, 8};
    struct side s = {.n = dice_between(d, 1, 9)};
    struct ox_few_bits *w = &s.w;
    w->bits = bits[dice_between(d, 0, 2)];
    w->block = (size_t)16 << dice_between(d, 0, 3);
    w->blocks = dice_between(d, 1, 5);
    w->k = w->block * w->blocks;
    w->zero_bytes = (w->blocks * w->bits + 7) / 8;
    s.codes = random_bytes(d, s.n * w->k * w->bits / 8);
    s.zeros = random_bytes(d, s.n * w->zero_bytes);
    s.scales = guarded_new(d, s.n * w->blocks, true);
    s.real_zeros = guarded_new(d, s.n * w->blocks, true);
    w->codes = s.codes;
    w->scales = s.scales.at;
    const size_t kind = dice_between(d, 0, 2);
    w->zeros = kind == 0 ? s.zeros : NULL;
    w->real_zeros = kind == 1 ? s.real_zeros.at : NULL;
    return s;
}

static void side_free(struct side *s)
{
    guarded_free(&s->scales);
    guarded_free(&s->real_zeros);
    free(s->codes);
    free(s->zeros);
}

static double weight(const struct ox_few_bits *w, size_t column, size_t p)
{
    const size_t block = p / w->block, per_byte = 8 / w->bits;
    const uint8_t byte = w->codes[(column * w->k + p) / per_byte];
    const unsigned code = byte >> (p % per_byte * w->bits) & ((1U << w->bits) - 1);
    return ((double)code - (double)ox_few_bits_zero(w, column, block)) *
           (double)w->scales[column * w->blocks + block];
}

static enum ox_cpu level_of(int i)
{
    return (enum ox_cpu)(i % (int)(ox_cpu_probe() + 1));
}

START_TEST(sums_are_near_those_in_double)
{
    struct dice d = {(uint64_t)_i * 83 + 1};
    struct side s = random_side(&d);
    const struct ox_few_bits *w = &s.w;
    const struct ox_few_bits_kernels *t = ox_few_bits_kernels(level_of(_i), w);
    const unsigned rows = (unsigned)dice_between(&d, 1, OX_FEW_BITS_ROWS);
    const size_t first = dice_between(&d, 0, s.n - 1), n = s.n - first, ldc = n + 2;
    struct guarded a = guarded_new(&d, rows * w->k, true),
                   ready = guarded_new(&d, rows * w->k, true),
                   c = guarded_new(&d, rows * ldc, true);
    const float untouched = c.at[ldc - 1];
    for (unsigned i = 0; i < rows; i++)
        ox_few_bits_arrange(t, w, a.at + i * w->k, ready.at + i * w->k);
    t->dots(w, first, n, rows, ready.at, w->k, c.at, ldc);
    for (unsigned i = 0; i < rows; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (size_t p = 0; p < w->k; p++) {
                const double term = (double)a.at[i * w->k + p] * weight(w, first + j, p);
                sum += term;
                size += fabs(term);
            }
            ck_assert(fabs(sum - (double)c.at[i * ldc + j]) <= size * 20 * 0x1p-24);
        }
    }
    ck_assert(c.at[ldc - 1] == untouched);
    guarded_free(&a);
    guarded_free(&ready);
    guarded_free(&c);
    side_free(&s);
}
END_TEST

START_TEST(widened_weights_are_those_of_plain_c)
{
    struct dice d = {(uint64_t)_i * 89 + 2};
    struct side s = random_side(&d);
    const struct ox_few_bits *w = &s.w;
    const struct ox_few_bits_kernels *t = ox_few_bits_kernels(level_of(_i), w);
    const struct ox_few_bits_kernels *plain = ox_few_bits_kernels(OX_CPU_C, w);
    struct guarded want = guarded_new(&d, w->k, true), ready = guarded_new(&d, w->k, true),
                   got = guarded_new(&d, w->k, true);
    for (size_t j = 0; j < s.n; j++) {
        plain->widen(w, j, want.at);
        ox_few_bits_arrange(t, w, want.at, ready.at);
        t->widen(w, j, got.at);
        for (size_t p = 0; p < w->k; p++) {
            ck_assert(ready.at[p] == got.at[p]);
            ck_assert(fabs((double)want.at[p] - weight(w, j, p)) <= 0x1p-22 * fabs(want.at[p]));
        }
    }
    guarded_free(&want);
    guarded_free(&ready);
    guarded_free(&got);
    side_free(&s);
}
END_TEST

/* MatMulNBits, codes and scales as inputs: rows about where it begins to widen slabs, depths that no block ends, several slabs. */
START_TEST(the_fast_engine_gives_what_the_reference_gives)
{
    struct dice d = {(uint64_t)_i * 97 + 3};
    const int64_t m = (int64_t)dice_between(&d, 1, 20), bits = dice_between(&d, 0, 1) ? 4 : 8;
    const int64_t n = (int64_t)dice_between(&d, 1, _i % 4 ? 70 : 600);
    const int64_t block = 16 << dice_between(&d, 0, 2), blocks = (int64_t)dice_between(&d, 1, 3);
    const int64_t k = block * blocks - (_i % 5 == 0), bytes = block * bits / 8;
    char text[1024];
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (float[%d,%d] a, "
             "uint8[%d,%d,%d] b, float[%d] s, float[%d] bias) => (float[%d,%d] y) { y = "
             "com.microsoft.MatMulNBits <K = %d, N = %d, bits = %d, block_size = %d> (a, b, s, , , "
             "bias) }",
             (int)m, (int)k, (int)n, (int)blocks, (int)bytes, (int)(n * blocks), (int)n, (int)m,
             (int)n, (int)k, (int)n, (int)bits, (int)block);
    struct guarded a = guarded_new(&d, (size_t)(m * k), false),
                   s = guarded_new(&d, (size_t)(n * blocks), false),
                   bias = guarded_new(&d, (size_t)n, false);
    uint8_t *codes = random_bytes(&d, (size_t)(n * blocks * bytes));
    struct text_run runs[2];
    for (int i = 0; i < 2; i++) {
        const struct ox_run_options options = {.level = 2 * i};
        struct text_run *f = &runs[i];
        text_must_plan(f, text, &options);
        text_give(f, OX_FLOAT32, 2, (const int64_t[]){m, k}, a.at);
        text_give(f, OX_UINT8, 3, (const int64_t[]){n, blocks, bytes}, codes);
        text_give(f, OX_FLOAT32, 1, (const int64_t[]){n * blocks}, s.at);
        text_give(f, OX_FLOAT32, 1, &n, bias.at);
        text_must_run(f);
    }
    const float *want = ox_datum_get_tensor(runs[0].out[0])->data;
    const float *got = ox_datum_get_tensor(runs[1].out[0])->data;
    const double size = (double)k * (bits == 8 ? 128 : 8);
    for (int64_t i = 0; i < m * n; i++)
        ck_assert(fabs((double)want[i] - (double)got[i]) <= size * 8 * 0x1p-24);
    for (int i = 0; i < 2; i++)
        text_close(&runs[i]);
    guarded_free(&a);
    guarded_free(&s);
    guarded_free(&bias);
    free(codes);
}
END_TEST

/* n codes from 0 to `most`, as text: those of 4 bits two a number. */
static size_t write_codes(struct dice *d, char *text, size_t room, int n, bool wide, size_t most)
{
    size_t at = 0;
    for (int i = 0; i < n; i += wide ? 1 : 2) {
        size_t number = dice_between(d, 0, most);
        if (!wide && i + 1 < n)
            number |= dice_between(d, 0, most) << 4;
        at += (size_t)snprintf(text + at, room - at, "%s%d", i ? "," : "", (int)number);
    }
    return at;
}

/* The standard form: codes behind DequantizeLinear, as they are or transposed, signed or not, with and without zero points. */
START_TEST(products_of_dequantized_blocks_are_fused)
{
    static const char *const forms[] = {"MatMul(x, d)", "MatMul(x, t)"};
    struct dice d = {(uint64_t)_i * 101 + 4};
    const bool turned = _i & 1, zeros = _i & 2, is_signed = _i & 4, wide = _i & 8;
    const int n = (int)dice_between(&d, 1, 40), blocks = (int)dice_between(&d, 1, 3),
              k = 16 * blocks;
    const char *type = wide ? (is_signed ? "int8" : "uint8") : is_signed ? "int4" : "uint4";
    char text[8192], dims[32], few[32];
    snprintf(dims, sizeof dims, "%d,%d", turned ? n : k, turned ? k : n);
    snprintf(few, sizeof few, "%d,%d", turned ? n : blocks, turned ? blocks : n);
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "<ir_version: 10, opset_import: [\"\" : 21]> g (float[M,%d] x) => "
                                 "(float[M,%d] y) <%s[%s] w = {",
                                 k, n, type, dims);
    at += write_codes(&d, text + at, sizeof text - at, k * n, wide, 15);
    at += (size_t)snprintf(text + at, sizeof text - at, "}, %s[%s] z = {", type, few);
    at += write_codes(&d, text + at, sizeof text - at, blocks * n, wide, 7);
    at += (size_t)snprintf(text + at, sizeof text - at, "}, float[%s] s = {", few);
    for (int i = 0; i < blocks * n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.3f", i ? "," : "",
                               0.001 * (double)dice_between(&d, 1, 99));
    snprintf(text + at, sizeof text - at,
             "}> { d = DequantizeLinear <axis = %d, block_size = 16> (w, s%s) %s y = %s }", turned,
             zeros ? ", z" : "", turned ? "t = Transpose <perm = [1, 0]> (d)" : "", forms[turned]);
    const size_t m = dice_between(&d, 1, 12);
    struct guarded x = guarded_new(&d, m * (size_t)k, false);
    struct text_run runs[2];
    for (int i = 0; i < 2; i++) {
        const struct ox_run_options options = {.level = 2 * i};
        text_must_plan(&runs[i], text, &options);
        text_give(&runs[i], OX_FLOAT32, 2, (const int64_t[]){(int64_t)m, k}, x.at);
        text_must_run(&runs[i]);
    }
    const float *want = ox_datum_get_tensor(runs[0].out[0])->data;
    const float *got = ox_datum_get_tensor(runs[1].out[0])->data;
    for (size_t i = 0; i < m * (size_t)n; i++)
        ck_assert(fabsf(want[i] - got[i]) <= 1e-4f);
    for (int i = 0; i < 2; i++)
        text_close(&runs[i]);
    guarded_free(&x);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("few_bits");
    TCase *tc = tcase_create("few_bits");
    tcase_add_loop_test(tc, sums_are_near_those_in_double, 0, 400);
    tcase_add_loop_test(tc, widened_weights_are_those_of_plain_c, 0, 120);
    tcase_add_loop_test(tc, the_fast_engine_gives_what_the_reference_gives, 0, 60);
    tcase_add_loop_test(tc, products_of_dequantized_blocks_are_fused, 0, 32);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
