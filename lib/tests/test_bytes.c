/* Rows of 8-bit codes at every level of the processor against plain C, and the rules against their formulas. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bytes.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

enum { MOST = 300 };

struct codes {
    struct guarded room;
    uint8_t *at;
};

static struct codes codes_new(struct dice *d, size_t n)
{
    struct codes c = {.room = guarded_new(d, (n + 3) / 4, true)};
    c.at = (uint8_t *)c.room.at + (4 - n % 4) % 4;
    for (size_t i = 0; i < n; i++)
        c.at[i] = (uint8_t)dice_next(d);
    return c;
}

static const struct ox_bytes *bytes_at(int i)
{
    return ox_bytes((enum ox_cpu)(i % (int)(ox_cpu_probe() + 1)));
}

START_TEST(floats_become_codes_and_back)
{
    struct dice d = {(uint64_t)_i * 71};
    const struct ox_bytes *t = bytes_at(_i), *plain = ox_bytes(OX_CPU_C);
    const size_t n = dice_between(&d, 0, MOST);
    struct guarded x = guarded_new(&d, n, true), y = guarded_new(&d, n, true);
    for (size_t i = 0; i < n; i++) {
        const float halves = (float)dice_between(&d, 0, 900) * 0.5f - 200;
        x.at[i] = dice_between(&d, 0, 1) ? halves : dice_float(&d) * 300;
        if (!dice_between(&d, 0, 30))
            x.at[i] = dice_between(&d, 0, 1) ? NAN : INFINITY;
    }
    const bool is_signed = dice_between(&d, 0, 1);
    struct ox_bytes_code code = {.scale = dice_between(&d, 0, 1) ? 1 : 0.37f,
                                 .lo = is_signed ? -128 : 0,
                                 .hi = is_signed ? 127 : 255};
    code.zero = code.lo + (int32_t)dice_between(&d, 0, 255);
    struct codes got = codes_new(&d, n);
    uint8_t want[MOST];
    t->quantize(n, x.at, &code, got.at);
    plain->quantize(n, x.at, &code, want);
    for (size_t i = 0; i < n; i++) {
        double q = rint((double)(x.at[i] / code.scale)) + code.zero;
        q = q > code.lo ? q < code.hi ? q : code.hi : code.lo;
        ck_assert_int_eq(want[i], (uint8_t)(int32_t)q);
        ck_assert_int_eq(got.at[i], want[i]);
    }
    const uint8_t flip = is_signed ? 0x80 : 0;
    t->dequantize(n, got.at, flip, code.zero + flip, code.scale, y.at);
    for (size_t i = 0; i < n; i++) {
        const int32_t whole = is_signed ? (int8_t)got.at[i] : got.at[i];
        ck_assert(y.at[i] == (float)(whole - code.zero) * code.scale);
    }
    float lo = 0, hi = 0, least = 0, most = 0;
    t->range(n, x.at, &lo, &hi);
    plain->range(n, x.at, &least, &most);
    ck_assert(lo == least && hi == most);
    guarded_free(&x);
    guarded_free(&y);
    guarded_free(&got.room);
}
END_TEST

START_TEST(windows_of_a_line_are_pooled)
{
    enum { WINDOWS = 5, ROWS = 9, STEP = 200 };
    struct dice d = {(uint64_t)_i * 41};
    const struct ox_bytes *t = bytes_at(_i), *plain = ox_bytes(OX_CPU_C);
    const size_t n = dice_between(&d, OX_BYTES_WINDOW, 150), windows = dice_between(&d, 1, WINDOWS);
    const size_t step = dice_between(&d, 0, STEP), rows = dice_between(&d, 1, ROWS);
    struct codes x[ROWS], y = codes_new(&d, windows * n);
    const uint8_t *at[ROWS], flip = dice_between(&d, 0, 1) ? 0x80 : 0;
    for (size_t k = 0; k < rows; k++) {
        x[k] = codes_new(&d, (windows - 1) * step + n);
        at[k] = x[k].at;
    }
    if (t->windows)
        t->windows(windows, step, n, rows, at, flip, y.at);
    for (size_t w = 0; t->windows && w < windows; w++) {
        uint8_t want[150];
        memset(want, flip, n);
        plain->greatest(n, rows, at, flip, want);
        ck_assert(memcmp(want, y.at + w * n, n) == 0);
        for (size_t k = 0; k < rows; k++)
            at[k] += step;
    }
    for (size_t k = 0; k < rows; k++)
        guarded_free(&x[k].room);
    guarded_free(&y.room);
}
END_TEST

START_TEST(codes_are_looked_up_pooled_and_turned)
{
    struct dice d = {(uint64_t)_i * 37};
    const struct ox_bytes *t = bytes_at(_i), *plain = ox_bytes(OX_CPU_C);
    const size_t rows = dice_between(&d, 0, 40), cols = dice_between(&d, 0, 40), n = rows * cols;
    struct codes x = codes_new(&d, n), y = codes_new(&d, n), z = codes_new(&d, n);
    struct codes table = codes_new(&d, 256);
    const uint8_t flip = dice_between(&d, 0, 1) ? 0x80 : 0;
    t->look_up(n, x.at, table.at, y.at);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(y.at[i], table.at[x.at[i]]);
    struct guarded floats = guarded_new(&d, n, true), values = guarded_new(&d, 256, true);
    t->look_up_floats(n, x.at, values.at, floats.at);
    for (size_t i = 0; i < n; i++)
        ck_assert_mem_eq(&floats.at[i], &values.at[x.at[i]], sizeof(float));
    guarded_free(&values);
    guarded_free(&floats);
    const size_t part = dice_between(&d, 0, cols);
    memcpy(z.at, x.at, n);
    if (t->look_up_rows) {
        t->look_up_rows(rows, part, cols, table.at, z.at);
        for (size_t i = 0; i < n; i++)
            ck_assert_int_eq(z.at[i], i % cols < part ? y.at[i] : x.at[i]);
    }
    t->transpose(rows, cols, x.at, cols, z.at, rows);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            ck_assert_int_eq(z.at[j * rows + i], x.at[i * cols + j]);
    uint8_t want[1600];
    memcpy(want, y.at, n);
    const uint8_t *const rows_of[] = {x.at, z.at, table.at};
    const size_t n_rows = dice_between(&d, 0, n > 256 ? 2 : 3);
    plain->greatest(n, n_rows, rows_of, flip, want);
    t->greatest(n, n_rows, rows_of, flip, y.at);
    ck_assert(memcmp(want, y.at, n) == 0);
    struct guarded sums = guarded_new(&d, n, true);
    memset(sums.at, 0, n * sizeof(int32_t));
    t->accumulate(n, 1, 0, x.at, flip, (int32_t *)(void *)sums.at);
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(((const int32_t *)(const void *)sums.at)[i], x.at[i] ^ flip);
        sum += x.at[i] ^ flip;
    }
    ck_assert_int_eq(t->sum(n, x.at, flip), sum);
    guarded_free(&x.room);
    guarded_free(&y.room);
    guarded_free(&z.room);
    guarded_free(&table.room);
    guarded_free(&sums);
}
END_TEST

START_TEST(rows_of_codes_are_added_up)
{
    enum { ROWS = 600, COLS = 90, ALL = ROWS * COLS };
    static uint8_t x[ALL];
    struct dice d = {(uint64_t)_i * 57};
    const size_t rows = dice_between(&d, 0, ROWS), n = dice_between(&d, 0, COLS);
    const size_t step = dice_between(&d, n, COLS);
    const bool full = dice_between(&d, 0, 1);
    const uint8_t flip = dice_between(&d, 0, 1) ? 0x80 : 0;
    struct guarded sums = guarded_new(&d, n, true);
    int32_t *got = (int32_t *)(void *)sums.at, want[COLS];
    for (size_t i = 0; i < ALL; i++)
        x[i] = full ? 255 ^ flip : (uint8_t)dice_next(&d);
    for (size_t i = 0; i < n; i++) {
        got[i] = want[i] = (int32_t)i - 7;
        for (size_t k = 0; k < rows; k++)
            want[i] += x[k * step + i] ^ flip;
    }
    bytes_at(_i)->accumulate(n, rows, step, x, flip, got);
    ck_assert_mem_eq(got, want, n * sizeof *got);
    const size_t many = rows * n;
    int32_t sum = 0;
    for (size_t i = 0; i < many; i++)
        sum += x[i] ^ flip;
    ck_assert_int_eq(bytes_at(_i)->sum(many, x, flip), sum);
    guarded_free(&sums);
}
END_TEST

/* Scales of which sums often fall on a half, or just beside it. */
static void fill_pair(struct dice *d, bool product, struct ox_bytes_pair *p)
{
    static const float scales[] = {0.5f, 0.25f, 0.1f, 0.5000001f, 1.7f, 0.004f, 300};
    const double a = (double)scales[dice_between(d, 0, 6)],
                 b = (double)scales[dice_between(d, 0, 6)];
    p->flip = dice_between(d, 0, 1) ? 0x80 : 0;
    p->zero_a = (int32_t)dice_between(d, 0, 255);
    p->zero_b = (int32_t)dice_between(d, 0, 255);
    p->lo = p->flip ? -128 : 0;
    p->hi = p->lo + 255;
    p->zero = p->lo + (int32_t)dice_between(d, 0, 255);
    for (int32_t c = 0; c < 256; c++) {
        p->a[c] = ((c ^ p->flip) - p->zero_a) * a;
        p->b[c] = ((c ^ p->flip) - p->zero_b) * b;
    }
    p->scale_a = product ? (float)(a * b) : (float)a;
    p->scale_b = product ? 0 : (float)b;
    if (!product)
        ox_bytes_pair_plan(p);
}

START_TEST(sums_on_a_grid_are_known_to_be_exact)
{
    static const struct {
        double a, b;
        bool exact;
    } of[] = {
        {0.5, 0.25, true},           {0x1p-10, -1, true}, {0x1p-11, 1, false},    {0.1, 0.5, false},
        {0.5, 0.5 + 0x1p-30, false}, {16, 1, false},      {0.75, 0x1.8p-8, true}, {0, 0.5, false}};
    struct ox_bytes_pair pair = {.hi = 255, .zero = 3, .flip = _i % 2 ? 0x80 : 0};
    for (int32_t c = 0; c < 256; c++) {
        pair.a[c] = ((c ^ pair.flip) - 128) * of[_i / 2].a;
        pair.b[c] = ((c ^ pair.flip) - 120) * of[_i / 2].b;
    }
    pair.scale_a = (float)of[_i / 2].a;
    pair.scale_b = (float)of[_i / 2].b;
    ox_bytes_pair_plan(&pair);
    ck_assert_int_eq(pair.exact, of[_i / 2].exact);
    pair.a[77] += 0x1p-20;
    ox_bytes_pair_plan(&pair);
    ck_assert(!pair.exact);
}
END_TEST

START_TEST(pairs_are_rounded_exactly)
{
    struct dice d = {(uint64_t)_i * 13};
    const struct ox_bytes *t = bytes_at(_i);
    const size_t n = dice_between(&d, 0, MOST);
    const bool product = dice_between(&d, 0, 1);
    struct ox_bytes_pair pair;
    fill_pair(&d, product, &pair);
    struct codes a = codes_new(&d, n), b = codes_new(&d, n), y = codes_new(&d, n);
    (product ? t->multiply : t->add)(n, a.at, b.at, &pair, y.at);
    for (size_t i = 0; i < n; i++) {
        const double u = pair.a[a.at[i]], v = pair.b[b.at[i]];
        double q = rint(product ? u * v : u + v) + pair.zero;
        q = q < pair.lo ? pair.lo : q > pair.hi ? pair.hi : q;
        ck_assert_int_eq(y.at[i], (uint8_t)(int32_t)q);
    }
    guarded_free(&a.room);
    guarded_free(&b.room);
    guarded_free(&y.room);
}
END_TEST

/* Each number of codes up to three vectors and a tail: the same as plain C, also where the result lies on an operand, and nothing behind
 * the last. */
START_TEST(rows_of_every_length_are_those_of_plain_c)
{
    enum { LONGEST = 3 * 64 + 3 };
    struct dice d = {(uint64_t)_i * 17};
    const struct ox_bytes *t = bytes_at(_i), *plain = ox_bytes(OX_CPU_C);
    for (size_t n = 0; n <= LONGEST; n++) {
        const bool product = n & 1;
        struct ox_bytes_pair pair;
        uint8_t want[LONGEST + 1];
        fill_pair(&d, product, &pair);
        const struct ox_bytes_code code = {0.03f, pair.zero, pair.lo, pair.hi};
        struct codes a = codes_new(&d, n), b = codes_new(&d, n), table = codes_new(&d, 256);
        struct guarded x = guarded_new(&d, n, true), y = guarded_new(&d, n, true);
        plain->quantize(n, x.at, &code, want);
        t->quantize(n, x.at, &code, a.at);
        ck_assert_mem_eq(want, a.at, n);
        t->dequantize(n, a.at, pair.flip, pair.zero_a, 0.03f, y.at);
        for (size_t i = 0; i < n; i++)
            ck_assert(y.at[i] == (float)((a.at[i] ^ pair.flip) - pair.zero_a) * 0.03f);
        (product ? plain->multiply : plain->add)(n, a.at, b.at, &pair, want);
        (product ? t->multiply : t->add)(n, a.at, b.at, &pair, a.at);
        ck_assert_mem_eq(want, a.at, n);
        plain->look_up(n, a.at, table.at, want);
        t->look_up(n, a.at, table.at, a.at);
        ck_assert_mem_eq(want, a.at, n);
        memcpy(want, a.at, n);
        const uint8_t *const row = b.at;
        plain->greatest(n, 1, &row, pair.flip, want);
        t->greatest(n, 1, &row, pair.flip, a.at);
        ck_assert_mem_eq(want, a.at, n);
        guarded_free(&x);
        guarded_free(&y);
        guarded_free(&a.room);
        guarded_free(&b.room);
        guarded_free(&table.room);
    }
}
END_TEST

/* A few planes without gaps, one of them within a wider map, and planes that are parts of longer ones. */
START_TEST(few_planes_become_pixels)
{
    struct dice d = {(uint64_t)_i * 29};
    const struct ox_bytes *t = bytes_at(_i);
    const size_t rows = dice_between(&d, 1, 5), cols = dice_between(&d, 0, 100);
    const size_t ldx = cols + dice_between(&d, 0, 3), ldy = rows + dice_between(&d, 0, 2) / 2;
    struct codes x = codes_new(&d, rows * ldx), y = codes_new(&d, cols * ldy);
    uint8_t want[600];
    memcpy(want, y.at, cols * ldy);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            want[j * ldy + i] = x.at[i * ldx + j];
    t->transpose(rows, cols, x.at, ldx, y.at, ldy);
    ck_assert_mem_eq(want, y.at, cols * ldy);
    guarded_free(&x.room);
    guarded_free(&y.room);
}
END_TEST

/* The way back, and elements of two bytes, of any shape. */
START_TEST(pixels_become_planes)
{
    struct dice d = {(uint64_t)_i * 31};
    const struct ox_bytes *t = bytes_at(_i);
    const size_t rows = dice_between(&d, 0, 200), cols = dice_between(&d, 1, 5);
    const size_t ldx = cols + dice_between(&d, 0, 2) / 2, ldy = rows + dice_between(&d, 0, 3);
    struct codes x = codes_new(&d, rows * ldx), y = codes_new(&d, cols * ldy);
    uint8_t want[1100];
    memcpy(want, y.at, cols * ldy);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            want[j * ldy + i] = x.at[i * ldx + j];
    t->transpose(rows, cols, x.at, ldx, y.at, ldy);
    ck_assert_mem_eq(want, y.at, cols * ldy);
    guarded_free(&x.room);
    guarded_free(&y.room);
}
END_TEST

START_TEST(elements_of_two_bytes_are_turned)
{
    struct dice d = {(uint64_t)_i * 41};
    const struct ox_bytes *t = bytes_at(_i);
    if (!t->transpose_pairs)
        return;
    const size_t form = dice_between(&d, 0, 2); /* any shape, a few planes, a few pixels */
    const size_t rows = form == 1 ? dice_between(&d, 1, 5) : dice_between(&d, 0, 50 + 75 * form);
    const size_t cols = form == 2 ? dice_between(&d, 1, 5) : dice_between(&d, 0, 50 + 150 * form);
    const size_t ldx = cols + (form && dice_between(&d, 0, 2) ? 0 : dice_between(&d, 0, 3));
    const size_t ldy = rows + (form && dice_between(&d, 0, 2) ? 0 : dice_between(&d, 0, 3));
    struct guarded x = guarded_new(&d, rows * ldx, true), y = guarded_new(&d, cols * ldy, true);
    uint16_t want[2 * 50 * 53], *to = (uint16_t *)(void *)y.at;
    const uint16_t *from = (const uint16_t *)(const void *)x.at;
    for (size_t i = 0; i < rows * ldx; i++)
        ((uint16_t *)(void *)x.at)[i] = (uint16_t)dice_between(&d, 0, UINT16_MAX);
    memset(to, 0, cols * ldy * sizeof *to);
    memset(want, 0, sizeof want);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            want[j * ldy + i] = from[i * ldx + j];
    t->transpose_pairs(rows, cols, from, ldx, to, ldy);
    ck_assert_mem_eq(want, to, cols * ldy * sizeof *to);
    guarded_free(&x);
    guarded_free(&y);
}
END_TEST

START_TEST(elements_of_eight_bytes_are_turned)
{
    struct dice d = {(uint64_t)_i * 41};
    const struct ox_bytes *t = bytes_at(_i);
    if (!t->transpose_quads)
        return;
    const size_t rows = dice_between(&d, 0, 50), cols = dice_between(&d, 0, 50);
    const size_t ldx = cols + dice_between(&d, 0, 3), ldy = rows + dice_between(&d, 0, 3);
    /* Eight bytes are aligned to eight. */
    struct guarded x = guarded_new(&d, 2 * rows * ldx, false),
                   y = guarded_new(&d, 2 * cols * ldy, false);
    uint64_t want[50 * 53], *to = (uint64_t *)(void *)y.at;
    const uint64_t *from = (const uint64_t *)(const void *)x.at;
    for (size_t i = 0; i < rows * ldx; i++)
        ((uint64_t *)(void *)x.at)[i] = (uint64_t)dice_between(&d, 0, UINT16_MAX);
    memset(to, 0, cols * ldy * sizeof *to);
    memset(want, 0, sizeof want);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            want[j * ldy + i] = from[i * ldx + j];
    t->transpose_quads(rows, cols, from, ldx, to, ldy);
    ck_assert_mem_eq(want, to, cols * ldy * sizeof *to);
    guarded_free(&x);
    guarded_free(&y);
}
END_TEST

/* Lines that share sets of the cache, or might. */
START_TEST(far_lines_are_turned)
{
    struct dice d = {(uint64_t)_i * 43};
    const struct ox_bytes *t = bytes_at(_i);
    const size_t size = (size_t[]){1, 2, 8}[dice_between(&d, 0, 2)];
    const size_t rows = dice_between(&d, 1, 600), cols = dice_between(&d, 1, 150);
    const size_t ldx = dice_between(&d, 0, 1) ? cols + dice_between(&d, 0, 3) : 1024;
    const size_t ldy = dice_between(&d, 0, 2) ? 1024 : 600 + dice_between(&d, 0, 500);
    char *x = calloc(rows * ldx, size), *y = calloc(cols * ldy, size),
         *want = calloc(cols * ldy, size);
    for (size_t i = 0; i < rows * ldx * size; i++)
        x[i] = (char)(i * 2654435761u >> 11);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            memcpy(want + (j * ldy + i) * size, x + (i * ldx + j) * size, size);
    if (size == 1)
        t->transpose(rows, cols, (const uint8_t *)x, ldx, (uint8_t *)y, ldy);
    else if (size == 2 && t->transpose_pairs)
        t->transpose_pairs(rows, cols, (const void *)x, ldx, (void *)y, ldy);
    else if (size == 8 && t->transpose_quads)
        t->transpose_quads(rows, cols, (const void *)x, ldx, (void *)y, ldy);
    else
        memcpy(y, want, cols * ldy * size);
    ck_assert_mem_eq(want, y, cols * ldy * size);
    free(x);
    free(y);
    free(want);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bytes");
    TCase *tests = tcase_create("bytes");
    tcase_add_loop_test(tests, floats_become_codes_and_back, 0, 300);
    tcase_add_loop_test(tests, codes_are_looked_up_pooled_and_turned, 0, 300);
    tcase_add_loop_test(tests, windows_of_a_line_are_pooled, 0, 300);
    tcase_add_loop_test(tests, rows_of_codes_are_added_up, 0, 200);
    tcase_add_loop_test(tests, sums_on_a_grid_are_known_to_be_exact, 0, 16);
    tcase_add_loop_test(tests, pairs_are_rounded_exactly, 0, 600);
    tcase_add_loop_test(tests, few_planes_become_pixels, 0, 200);
    tcase_add_loop_test(tests, pixels_become_planes, 0, 200);
    tcase_add_loop_test(tests, elements_of_two_bytes_are_turned, 0, 200);
    tcase_add_loop_test(tests, elements_of_eight_bytes_are_turned, 0, 200);
    tcase_add_loop_test(tests, far_lines_are_turned, 0, 200);
    tcase_add_loop_test(tests, rows_of_every_length_are_those_of_plain_c, 0, 12);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
