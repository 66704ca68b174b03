/* Products by weights of few bits: every level near the sums in double, and MatMulNBits of the fast engine near the reference. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/few_bits_bytes.h"
#include "kernels/few_bits_digits.h"
#include "kernels/few_bits_parts.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"
#include "tests/tables.h"

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

static struct side random_side(struct dice *d, size_t most)
{
    static const unsigned bits[] = {2, 4, 8};
    struct side s = {.n = dice_between(d, 1, most)};
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

static const float sixteen[] = {-1,   -0.7f, -0.5f, -0.4f, -0.3f, -0.2f, -0.1f, 0,
                                0.1f, 0.2f,  0.25f, 0.3f,  0.4f,  0.6f,  0.7f,  1};

/* Codes of 4 bits may be numbers of values. */
static struct side random_values(struct dice *d, size_t most)
{
    struct side s = random_side(d, most);
    if (s.w.bits == 4 && dice_between(d, 0, 1)) {
        s.w.zeros = NULL;
        s.w.real_zeros = NULL;
        s.w.values = sixteen;
    }
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
    if (w->values)
        return (double)w->values[p % 2 ? byte & 15 : byte >> 4] *
               (double)w->scales[column * w->blocks + block];
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
    struct side s = random_values(&d, 18);
    const struct ox_few_bits *w = &s.w;
    const struct ox_few_bits_kernels *t = ox_few_bits_kernels(level_of(_i), w);
    const unsigned rows = (unsigned)dice_between(&d, 1, t->rows);
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
    struct side s = random_values(&d, 18);
    const struct ox_few_bits *w = &s.w;
    const struct ox_few_bits_kernels *t = ox_few_bits_kernels(level_of(_i), w);
    const struct ox_few_bits_kernels *plain = ox_few_bits_kernels(OX_CPU_C, w);
    struct guarded want = guarded_new(&d, w->k, true), ready = guarded_new(&d, w->k, true),
                   got = guarded_new(&d, w->k, true), listed = guarded_new(&d, w->k, true);
    for (size_t j = 0; j < s.n; j++) {
        plain->widen(w, j, want.at);
        ox_few_bits_arrange(t, w, want.at, ready.at);
        t->widen(w, j, got.at);
        t->list(w, j, listed.at);
        for (size_t p = 0; p < w->k; p++) {
            ck_assert(ready.at[p] == got.at[p]);
            ck_assert(listed.at[p] == want.at[p]);
            ck_assert(fabs((double)want.at[p] - weight(w, j, p)) <= 0x1p-22 * fabs(want.at[p]));
        }
    }
    guarded_free(&want);
    guarded_free(&ready);
    guarded_free(&got);
    guarded_free(&listed);
    side_free(&s);
}
END_TEST

START_TEST(panels_are_widened_weights_column_by_column)
{
    struct dice d = {(uint64_t)_i * 97 + 5};
    struct side s = random_values(&d, 18);
    const struct ox_few_bits *w = &s.w;
    const struct ox_few_bits_kernels *t = ox_few_bits_kernels(level_of(_i), w);
    const struct ox_few_bits_kernels *plain = ox_few_bits_kernels(OX_CPU_C, w);
    const size_t nr = t->panel_cols;
    if (nr && ox_few_bits_makes_panels(t, w, nr)) {
        const size_t first = dice_between(&d, 0, s.n - 1),
                     cols = s.n - first < nr ? s.n - first : nr;
        struct guarded want = guarded_new(&d, w->k, true);
        float *panel = aligned_alloc(64, w->k * nr * sizeof *panel);
        ck_assert_ptr_nonnull(panel);
        t->panel(w, first, cols, panel);
        for (size_t j = 0; j < cols; j++) {
            plain->widen(w, first + j, want.at);
            for (size_t p = 0; p < w->k; p++)
                ck_assert(want.at[p] == panel[p * nr + j]);
        }
        free(panel);
        guarded_free(&want);
    }
    side_free(&s);
}
END_TEST

/* Plain C, and what the first table has and the last one. */
static const struct ox_triples *triples_at(int i)
{
    const struct ox_triples *found[3] = {&ox_triples_c, &ox_triples_c, &ox_triples_c};
    for (unsigned t = 0; t < n_tables(); t++) {
        if (table_at(t)->triples) {
            found[2] = table_at(t)->triples;
            found[1] = found[1] == &ox_triples_c ? found[2] : found[1];
        }
    }
    return found[i % 3];
}

/* Rows and columns of several tasks; the bits of an output depend on nothing but its own row and column. */
START_TEST(sums_by_parts_are_near_those_in_double)
{
    struct dice d = {(uint64_t)_i * 109 + 7};
    struct side s = random_side(&d, 150);
    const struct ox_triples *t = triples_at(_i);
    const size_t m = dice_between(&d, 7, OX_FEW_PARTS_ROWS), n = s.n, k = s.w.k, ldc = n + 2;
    struct guarded a = guarded_new(&d, m * k, true), c = guarded_new(&d, m * ldc, true),
                   bias = guarded_new(&d, n, true), again = guarded_new(&d, ldc, true);
    const float untouched = c.at[ldc - 1];
    struct ox_few_parts p = {.w = &s.w, .m = m, .n = n, .c = c.at, .ldc = ldc};
    p.bias = _i & 1 ? bias.at : NULL;
    struct ox_env *env = ox_env_new();
    ox_env_set_threads(env, 1 + (unsigned)_i % 2);
    if (ox_few_parts_pay(t, &s.w, m, n < 128 ? 128 : n)) {
        ck_assert_uint_le(ox_few_parts_group(&s.w, m), OX_FEW_PARTS_ROWS);
        uint16_t *rows = aligned_alloc(64, ox_few_parts_bytes(&s.w, m));
        ck_assert_ptr_nonnull(rows);
        ck_assert(ox_few_parts_run(env, t, &p, a.at, rows));
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < n; j++) {
                double sum = p.bias ? (double)bias.at[j] : 0, size = fabs(sum);
                for (size_t q = 0; q < k; q++) {
                    const double term = (double)a.at[i * k + q] * weight(&s.w, j, q);
                    sum += term;
                    size += fabs(term);
                }
                ck_assert(fabs(sum - (double)c.at[i * ldc + j]) <= size * 8 * 0x1p-24);
            }
        }
        ck_assert(c.at[ldc - 1] == untouched);
        p.m = 1;
        p.c = again.at;
        ck_assert(ox_few_parts_run(env, t, &p, a.at + (m - 1) * k, rows));
        ck_assert(memcmp(again.at, c.at + (m - 1) * ldc, n * sizeof *c.at) == 0);
        a.at[k - 1] = _i & 2 ? INFINITY : NAN;
        ck_assert(!ox_few_parts_run(env, t, &p, a.at, rows));
        free(rows);
    }
    ox_env_release(env);
    guarded_free(&a);
    guarded_free(&c);
    guarded_free(&bias);
    guarded_free(&again);
    side_free(&s);
}
END_TEST

static enum ox_cpu level_of_bytes(int i)
{
#if defined(__x86_64__)
    if (i % 4 && ox_cpu_probe() >= OX_CPU_AVX2)
        return OX_CPU_AVX2;
#endif
    (void)i;
    return OX_CPU_C;
}

static struct ox_byte_rows byte_rows(const struct ox_few_bits *w, size_t m)
{
    struct ox_byte_rows a = ox_byte_rows(w, m);
    const size_t blocks = a.blocks;
    a.codes = malloc(m * w->k);
    a.scales = malloc(m * blocks * sizeof *a.scales);
    a.sums = malloc(m * blocks * sizeof *a.sums);
    ck_assert(a.codes && a.scales && a.sums);
    return a;
}

static void byte_rows_free(struct ox_byte_rows *a)
{
    free(a->codes);
    free(a->scales);
    free(a->sums);
}

/* Rows as bytes: each level the codes, scales and sums of plain C, near the numbers; the products those of C but for rounding, and the
 * same bits when a row or a column is computed alone. */
START_TEST(rows_of_bytes_give_what_plain_c_gives)
{
    struct dice d = {(uint64_t)_i * 103 + 5};
    struct side s = random_side(&d, 18);
    struct ox_few_bits *w = &s.w;
    w->real_zeros = NULL;
    const struct ox_few_bits_bytes *t = ox_few_bits_bytes(level_of_bytes(_i), w),
                                   *plain = ox_few_bits_bytes(OX_CPU_C, w);
    const size_t m = dice_between(&d, 1, _i % 5 ? 9 : 150), ldc = s.n + 2;
    ck_assert((t == NULL) == (w->bits == 2 || (w->bits == 4 && w->block < 32)));
    if (!t) {
        side_free(&s);
        return;
    }
    struct guarded x = guarded_new(&d, m * w->k, true), got = guarded_new(&d, m * ldc, true),
                   want = guarded_new(&d, m * ldc, true), one = guarded_new(&d, 1, true);
    struct ox_byte_rows a = byte_rows(w, m), b = byte_rows(w, m), alone = byte_rows(w, 1);
    const float untouched = got.at[ldc - 1];
    memset(x.at, 0, a.block * sizeof(float));
    for (size_t i = 0; i < m; i++)
        ck_assert(t->quantize(&a, x.at + i * w->k, i) && plain->quantize(&b, x.at + i * w->k, i));
    ck_assert(memcmp(a.codes, b.codes, m * w->k) == 0);
    ck_assert(memcmp(a.scales, b.scales, m * a.blocks * sizeof(float)) == 0);
    ck_assert(memcmp(a.sums, b.sums, m * a.blocks * sizeof(float)) == 0);
    t->dots(w, 0, s.n, &a, got.at, ldc);
    plain->dots(w, 0, s.n, &b, want.at, ldc);
    for (size_t i = 0; i < m; i++) {
        const float *row = x.at + i * w->k;
        ck_assert(t->quantize(&alone, row, 0));
        for (size_t j = 0; j < s.n; j++) {
            const float y = got.at[i * ldc + j];
            double sum = 0, size = 0, coarse = 0;
            for (size_t p = 0; p < w->k; p++) {
                const double of_w = fabs(weight(w, j, p));
                sum += (double)row[p] * weight(w, j, p);
                size += (double)fabsf(row[p]) * of_w;
                coarse += (double)a.scales[p / a.block * m + i] * of_w;
            }
            ck_assert(fabs((double)y - sum) <= 0.51 * coarse + size * 20 * 0x1p-24);
            ck_assert(fabs((double)y - (double)want.at[i * ldc + j]) <=
                      (size + coarse) * 20 * 0x1p-24);
            t->dots(w, j, 1, &alone, one.at, 1);
            ck_assert(one.at[0] == y);
        }
    }
    ck_assert(got.at[ldc - 1] == untouched);
    x.at[dice_between(&d, 0, w->k - 1)] = _i % 2 ? NAN : -INFINITY;
    ck_assert(!t->quantize(&a, x.at, 0));
    byte_rows_free(&a);
    byte_rows_free(&b);
    byte_rows_free(&alone);
    guarded_free(&x);
    guarded_free(&got);
    guarded_free(&want);
    guarded_free(&one);
    side_free(&s);
}
END_TEST

static struct ox_digit_rows digit_rows(const struct ox_few_bits *w, size_t m, unsigned digits)
{
    struct ox_digit_rows a = ox_digit_rows(w, m, digits);
    void *room = aligned_alloc(64, (ox_digit_rows_bytes(&a) + 63) / 64 * 64);
    ck_assert_ptr_nonnull(room);
    ox_digit_rows_place(&a, room);
    return a;
}

/* The sum of a row by a column in double, that of magnitudes, and how much may be lost when the largest number of a block becomes so many. */
static void sum_in_double(const struct ox_few_bits *w, const float *row, size_t column, double most,
                          double *sum, double *size, double *lost)
{
    *sum = *size = *lost = 0;
    for (size_t b = 0; b < w->blocks; b++) {
        float top = 0;
        for (size_t p = b * w->block; p < (b + 1) * w->block; p++)
            top = fmaxf(top, fabsf(row[p]));
        for (size_t p = b * w->block; p < (b + 1) * w->block; p++) {
            const double term = (double)row[p] * weight(w, column, p);
            *sum += term;
            *size += fabs(term);
            *lost += 0.51 * (double)top / most * fabs(weight(w, column, p));
        }
    }
}

/* Rows as digits, three or one: each level the bits of plain C, near the sums in double; the same when a row or a column is computed
 * alone. */
START_TEST(rows_of_digits_are_those_of_plain_c)
{
    struct dice d = {(uint64_t)_i * 113 + 8};
    const unsigned digits = _i & 1 ? 1 : OX_DIGITS;
    struct side s = random_side(&d, 18);
    struct ox_few_bits *w = &s.w;
    w->real_zeros = NULL;
    const enum ox_cpu level = _i & 4 ? level_of_bytes(_i / 8) : ox_cpu_probe();
    const struct ox_few_digits *found = ox_few_digits(level, w, digits), *plain = &ox_few_digits_c,
                               *t = found ? found : plain;
    if (w->bits == 2 || w->block * w->bits < 8 * 16) {
        ck_assert(!found);
        side_free(&s);
        return;
    }
    const size_t m = dice_between(&d, 1, 9), ldc = s.n + 2;
    struct guarded x = guarded_new(&d, m * w->k, true), got = guarded_new(&d, m * ldc, true),
                   want = guarded_new(&d, m * ldc, true), one = guarded_new(&d, 1, true);
    struct ox_digit_rows a = digit_rows(w, m, digits), b = digit_rows(w, m, digits),
                         alone = digit_rows(w, 1, digits);
    const float untouched = got.at[ldc - 1];
    memset(x.at, 0, w->block * sizeof *x.at);
    for (size_t i = 0; i < m; i++)
        ck_assert(t->quantize(w, &a, x.at + i * w->k, i) &&
                  plain->quantize(w, &b, x.at + i * w->k, i));
    ck_assert(memcmp(a.records, b.records, ox_digit_rows_bytes(&a)) == 0);
    t->dots(w, 0, s.n, &a, got.at, ldc);
    plain->dots(w, 0, s.n, &b, want.at, ldc);
    for (size_t i = 0; i < m; i++) {
        ck_assert(memcmp(got.at + i * ldc, want.at + i * ldc, s.n * sizeof(float)) == 0);
        ck_assert(t->quantize(w, &alone, x.at + i * w->k, 0));
        for (size_t j = 0; j < s.n; j++) {
            double sum, size, lost;
            sum_in_double(w, x.at + i * w->k, j, ox_digits_most(digits), &sum, &size, &lost);
            ck_assert(fabs((double)got.at[i * ldc + j] - sum) <= lost + size * 20 * 0x1p-24);
            t->dots(w, j, 1, &alone, one.at, 1);
            ck_assert(one.at[0] == got.at[i * ldc + j]);
        }
    }
    ck_assert(got.at[ldc - 1] == untouched);
    x.at[dice_between(&d, 0, w->k - 1)] = _i & 2 ? NAN : -INFINITY;
    ck_assert(!t->quantize(w, &a, x.at, 0));
    for (size_t p = 0; p < w->k; p++)
        x.at[p] = 1e-38F;
    ck_assert(!t->quantize(w, &a, x.at, 0));
    free(a.records);
    free(b.records);
    free(alone.records);
    guarded_free(&x);
    guarded_free(&got);
    guarded_free(&want);
    guarded_free(&one);
    side_free(&s);
}
END_TEST

/* Rows of bytes where the node allows them, whatever their number; of numbers that are not finite they are floats. */
START_TEST(accuracy_of_bytes_is_that_of_every_row)
{
    struct dice d = {(uint64_t)_i * 107 + 6};
    enum { K = 96, N = 21, MOST = 70 };
    const int64_t m = (int64_t)dice_between(&d, 2, MOST), bits = _i % 2 ? 4 : 8;
    struct guarded a = guarded_new(&d, (size_t)m * K, false), s = guarded_new(&d, 3 * N, false);
    uint8_t *codes = random_bytes(&d, (size_t)(N * K * bits / 8));
    struct text_run runs[3];
    if (_i % 3 == 0)
        a.at[5] = INFINITY;
    ox_cpu_limit(level_of_bytes(_i));
    for (int i = 0; i < 3; i++) {
        const struct ox_run_options options = {.level = i < 2 ? 2 : 0};
        const int64_t rows = i == 1 ? 1 : m, few = K * bits / 8 / 3;
        char text[1024];
        snprintf(text, sizeof text,
                 "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g "
                 "(float[%d,96] a, uint8[21,3,%d] b, float[63] s) => (float[%d,21] y) { y = "
                 "com.microsoft.MatMulNBits <K = 96, N = 21, bits = %d, block_size = 32, "
                 "accuracy_level = 4> (a, b, s) }",
                 (int)rows, (int)few, (int)rows, (int)bits);
        text_must_plan(&runs[i], text, &options);
        text_give(&runs[i], OX_FLOAT32, 2, (const int64_t[]){rows, K}, a.at + (i == 1 ? K : 0));
        text_give(&runs[i], OX_UINT8, 3, (const int64_t[]){N, 3, few}, codes);
        text_give(&runs[i], OX_FLOAT32, 1, (const int64_t[]){3 * N}, s.at);
        text_must_run(&runs[i]);
    }
    const float *y = ox_datum_get_tensor(runs[0].out[0])->data,
                *alone = ox_datum_get_tensor(runs[1].out[0])->data,
                *want = ox_datum_get_tensor(runs[2].out[0])->data;
    for (int64_t j = 0; j < N; j++)
        ck_assert(y[N + j] == alone[j] || _i % 3 == 0);
    for (int64_t i = 0; i < m * N; i++)
        ck_assert((isnan(want[i]) && isnan(y[i])) || want[i] == y[i] ||
                  fabsf(want[i] - y[i]) <= (bits == 8 ? 40.0f : 3.0f));
    for (int i = 0; i < 3; i++)
        text_close(&runs[i]);
    ox_cpu_limit(ox_cpu_probe());
    guarded_free(&a);
    guarded_free(&s);
    free(codes);
}
END_TEST

/* MatMulNBits, codes and scales as inputs: rows about where it begins to widen slabs, depths that no block ends, several slabs. */
START_TEST(the_fast_engine_gives_what_the_reference_gives)
{
    struct dice d = {(uint64_t)_i * 97 + 3};
    const int64_t m = (int64_t)dice_between(&d, 1, 20), bits = 2 << dice_between(&d, 0, 2);
    const int64_t n = (int64_t)dice_between(&d, 1, _i % 4 ? 70 : 600);
    const int64_t block = 16 << dice_between(&d, 0, 2), blocks = (int64_t)dice_between(&d, 1, 3);
    const int64_t less = _i % 5 ? 0 : dice_between(&d, 1, (size_t)block - 1);
    const int64_t k = block * blocks - less, bytes = block * bits / 8,
                  zero_bytes = (blocks * bits + 7) / 8;
    char text[1024];
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (float[%d,%d] a, "
             "uint8[%d,%d,%d] b, float[%d] s, float[%d] bias, uint8[%d,%d] z) => (float[%d,%d] y) "
             "{ y = com.microsoft.MatMulNBits <K = %d, N = %d, bits = %d, block_size = %d> (a, b, "
             "s, %s, , bias) }",
             (int)m, (int)k, (int)n, (int)blocks, (int)bytes, (int)(n * blocks), (int)n, (int)n,
             (int)zero_bytes, (int)m, (int)n, (int)k, (int)n, (int)bits, (int)block,
             _i % 3 ? "" : "z");
    struct guarded a = guarded_new(&d, (size_t)(m * k), false),
                   s = guarded_new(&d, (size_t)(n * blocks), false),
                   bias = guarded_new(&d, (size_t)n, false);
    uint8_t *codes = random_bytes(&d, (size_t)(n * blocks * bytes)),
            *zeros = random_bytes(&d, (size_t)(n * zero_bytes));
    struct text_run runs[2];
    if (_i % 8 == 0)
        a.at[k / 2] = INFINITY;
    for (int i = 0; i < 2; i++) {
        const struct ox_run_options options = {.level = 2 * i};
        struct text_run *f = &runs[i];
        text_must_plan(f, text, &options);
        text_give(f, OX_FLOAT32, 2, (const int64_t[]){m, k}, a.at);
        text_give(f, OX_UINT8, 3, (const int64_t[]){n, blocks, bytes}, codes);
        text_give(f, OX_FLOAT32, 1, (const int64_t[]){n * blocks}, s.at);
        text_give(f, OX_FLOAT32, 1, &n, bias.at);
        text_give(f, OX_UINT8, 2, (const int64_t[]){n, zero_bytes}, zeros);
        text_must_run(f);
    }
    const float *want = ox_datum_get_tensor(runs[0].out[0])->data;
    const float *got = ox_datum_get_tensor(runs[1].out[0])->data;
    const double size = (double)k * (bits == 8 ? 256 : 16);
    for (int64_t i = 0; i < m * n; i++)
        ck_assert((isnan(want[i]) && isnan(got[i])) || want[i] == got[i] ||
                  fabs((double)want[i] - (double)got[i]) <= size * 8 * 0x1p-24);
    for (int i = 0; i < 2; i++)
        text_close(&runs[i]);
    guarded_free(&a);
    guarded_free(&s);
    guarded_free(&bias);
    free(codes);
    free(zeros);
}
END_TEST

/* Of 2 bits, constant: what is made of them serves the runs after the first too. */
START_TEST(constant_codes_serve_every_run)
{
    enum { K = 64, N = 21, ROWS = 3 };
    char text[1024];
    float a[ROWS * K];
    struct text_run runs[2];
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (float[M,64] a, "
             "float[42] s) => (float[M,21] y) <int64 o = {0}, int64 n = {336}, int64 e = {1}, "
             "int64 f = {97}, int64 m = {251}, int64[3] d = {21,2,8}, int64[1] l = {21}> { "
             "e1 = Constant <value_ints = [0]> () r = Range(o, n, e) p = Mul(r, f) q = Mod(p, m) c "
             "= Cast <to = 2> (q) "
             "b = Reshape(c, d) g = Slice(c, e1, l) y = com.microsoft.MatMulNBits <K = 64, "
             "N = 21, bits = 2, block_size = 32> (a, b, s%s) }",
             _i ? ", g" : "");
    for (size_t i = 0; i < ROWS * K; i++)
        a[i] = (float)(i * 7919 % 201) / 100 - 1;
    for (int i = 0; i < 2; i++) {
        text_must_plan(&runs[i], text, &(struct ox_run_options){.level = 2 * i});
        text_give(&runs[i], OX_FLOAT32, 2, (const int64_t[]){ROWS, K}, a);
        text_give(&runs[i], OX_FLOAT32, 1, (const int64_t[]){2 * N}, a);
        text_must_run(&runs[i]);
        text_must_run(&runs[i]);
    }
    const struct ox_tensor *want = ox_datum_get_tensor(runs[0].out[0]),
                           *got = ox_datum_get_tensor(runs[1].out[0]);
    ck_assert_uint_eq(got->n, ROWS * N);
    for (size_t i = 0; i < got->n; i++)
        ck_assert_double_le(fabs(ox_tensor_get_double(want, i) - ox_tensor_get_double(got, i)),
                            4e-5);
    for (int i = 0; i < 2; i++)
        text_close(&runs[i]);
}
END_TEST

/* MatMulBnb4: both tables, rows about where it widens slabs, several of these. */
START_TEST(values_of_a_table_are_those_of_plain_c)
{
    struct dice d = {(uint64_t)_i * 139 + 9};
    const int64_t m = (int64_t)dice_between(&d, 1, 20), n = (int64_t)dice_between(&d, 1, 300);
    const int64_t block = 16 << dice_between(&d, 0, 2), blocks = (int64_t)dice_between(&d, 1, 3);
    const int64_t k = block * blocks, bytes = n * k / 2;
    char text[1024];
    snprintf(
        text, sizeof text,
        "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (float[%d,%d] a, "
        "uint8[%d] b, float[%d] s) => (float[%d,%d] y) { y = com.microsoft.MatMulBnb4 <K = %d, "
        "N = %d, block_size = %d, quant_type = %d> (a, b, s) }",
        (int)m, (int)k, (int)bytes, (int)(n * blocks), (int)m, (int)n, (int)k, (int)n, (int)block,
        _i % 2);
    struct guarded a = guarded_new(&d, (size_t)(m * k), false),
                   s = guarded_new(&d, (size_t)(n * blocks), false);
    uint8_t *codes = random_bytes(&d, (size_t)bytes);
    struct text_run runs[3];
    ox_cpu_limit(level_of(_i / 2));
    for (int i = 0; i < 3; i++) {
        text_open(&runs[i], text);
        ox_env_set_threads(runs[i].env, i == 2 ? 2 : 1);
        ck_assert(text_plan(&runs[i], &(struct ox_run_options){.level = i ? 2 : 0}) == OX_OK);
        text_give(&runs[i], OX_FLOAT32, 2, (const int64_t[]){m, k}, a.at);
        text_give(&runs[i], OX_UINT8, 1, &bytes, codes);
        text_give(&runs[i], OX_FLOAT32, 1, (const int64_t[]){n * blocks}, s.at);
        text_must_run(&runs[i]);
    }
    ox_cpu_limit(ox_cpu_probe());
    const float *want = ox_datum_get_tensor(runs[0].out[0])->data,
                *got = ox_datum_get_tensor(runs[1].out[0])->data,
                *again = ox_datum_get_tensor(runs[2].out[0])->data;
    for (int64_t i = 0; i < m * n; i++) {
        ck_assert(fabs((double)want[i] - (double)got[i]) <= (double)k * 4 * 0x1p-24);
        ck_assert(got[i] == again[i]);
    }
    for (int i = 0; i < 3; i++)
        text_close(&runs[i]);
    guarded_free(&a);
    guarded_free(&s);
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
    tcase_add_loop_test(tc, sums_by_parts_are_near_those_in_double, 0, 200);
    tcase_add_loop_test(tc, widened_weights_are_those_of_plain_c, 0, 120);
    tcase_add_loop_test(tc, panels_are_widened_weights_column_by_column, 0, 120);
    tcase_add_loop_test(tc, rows_of_bytes_give_what_plain_c_gives, 0, 200);
    tcase_add_loop_test(tc, rows_of_digits_are_those_of_plain_c, 0, 400);
    tcase_add_loop_test(tc, accuracy_of_bytes_is_that_of_every_row, 0, 24);
    tcase_add_loop_test(tc, the_fast_engine_gives_what_the_reference_gives, 0, 60);
    tcase_add_loop_test(tc, constant_codes_serve_every_run, 0, 2);
    tcase_add_loop_test(tc, values_of_a_table_are_those_of_plain_c, 0, 60);
    tcase_add_loop_test(tc, products_of_dequantized_blocks_are_fused, 0, 32);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
