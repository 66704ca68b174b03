/* Casts at every level of the processor against the element-wise conversion of tensors, bit by bit. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/casts.h"
#include "tensor/tensor.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

enum { MOST = 2500 };

static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_FLOAT16, OX_BFLOAT16, OX_INT32,
                                      OX_UINT32,  OX_UINT64,  OX_INT64,   OX_UINT16,   OX_INT16,
                                      OX_UINT8,   OX_INT8,    OX_BOOL};

static const enum ox_dtype float8[] = {OX_FLOAT8E4M3FN, OX_FLOAT8E4M3FNUZ, OX_FLOAT8E5M2,
                                       OX_FLOAT8E5M2FNUZ};

/* Limits of the integer types, halfway cases of the 16-bit floats, subnormals, infinities and NaN of both kinds. */
static float hard_float(struct dice *d)
{
    static const float hard[] = {0x1p31f,         -0x1p31f,    0x1.fffffep30f,
                                 0x1p63f,         -0x1p63f,    0x1.fffffep62f,
                                 65504,           65519.996f,  65520,
                                 65536,           0x1p-24f,    0x1p-25f,
                                 0x1.000002p-25f, 0x1p-14f,    0x1.ffcp-15f,
                                 0x1.ffep-15f,    0x1.0002p0f, 0x1.002p0f,
                                 0x1.006p0f,      255.9f,      256,
                                 -0.0f,           -0.9f,       -1,
                                 1e-45f,          3.4e38f,     INFINITY,
                                 -INFINITY,       NAN,         0.5f};
    const uint32_t choice = (uint32_t)dice_between(d, 0, 5);
    if (choice < 2)
        return hard[dice_between(d, 0, sizeof hard / sizeof *hard - 1)];
    if (choice < 4)
        return dice_float(d) * 1000;
    const uint32_t bits = (uint32_t)dice_next(d);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void fill(struct dice *d, enum ox_dtype dtype, size_t n, void *x)
{
    const size_t bytes = ox_dtype_size(dtype);
    for (size_t i = 0; i < n; i++) {
        const float real = hard_float(d);
        const double wide = (double)real * (1 + 0x1p-30 * (double)dice_between(d, 0, 3));
        uint64_t bits = dice_next(d) >> dice_between(d, 0, 63);
        if (dice_between(d, 0, 1))
            bits = 0 - bits;
        if (dtype == OX_BOOL)
            bits &= 1;
        const void *from = dtype == OX_FLOAT32   ? (const void *)&real
                           : dtype == OX_FLOAT64 ? (const void *)&wide
                                                 : (const void *)&bits;
        memcpy((char *)x + i * bytes, from, bytes);
    }
}

static void check_pair(struct dice *d, enum ox_cpu level, enum ox_dtype from, enum ox_dtype to,
                       size_t n)
{
    const size_t bytes = ox_dtype_size(to);
    struct guarded x = guarded_new(d, 2 * n, false), y = guarded_new(d, (n * bytes + 3) / 4, false);
    /* Ends where the guard begins. */
    char *out = (char *)y.at + (4 - n * bytes % 4) % 4;
    static double want[MOST];
    fill(d, from, n, x.at);
    if (ox_cast_run(level, from, to, n, x.at, out)) {
        ox_elements_convert(to, want, from, x.at, n, true);
        size_t same = 0;
        while (same < n && !memcmp(out + same * bytes, (char *)want + same * bytes, bytes))
            same++;
        ck_assert_msg(same == n, "%s to %s: element %zu of %zu", ox_dtype_name(from),
                      ox_dtype_name(to), same, n);
    } else {
        /* 16-bit floats are cast by x86's levels alone. */
        ck_assert_msg(level == OX_CPU_C || ox_cpu_probe() > OX_CPU_AMX || from == to ||
                          from == OX_FLOAT64 || to == OX_BFLOAT16,
                      "no cast of %s to %s", ox_dtype_name(from), ox_dtype_name(to));
    }
    guarded_free(&x);
    guarded_free(&y);
}

START_TEST(casts_give_the_bits_of_the_conversion)
{
    struct dice d = {(uint64_t)_i * 97 + 1};
    const enum ox_cpu level = (enum ox_cpu)(_i % (int)(ox_cpu_probe() + 1));
    const size_t n = dice_between(&d, 0, 3) ? dice_between(&d, 0, 40) : dice_between(&d, 0, MOST);
    for (size_t from = 0; from < OX_COUNT(types); from++)
        for (size_t to = 0; to < OX_COUNT(types); to++)
            check_pair(&d, level, types[from], types[to], n);
}
END_TEST

START_TEST(every_half_widens_to_its_own_bits)
{
    static uint16_t x[65536];
    static float got[65536], want[65536];
    const enum ox_dtype type = _i ? OX_BFLOAT16 : OX_FLOAT16;
    for (unsigned i = 0; i < 65536; i++)
        x[i] = (uint16_t)i;
    if (!ox_cast_run(ox_cpu_probe(), type, OX_FLOAT32, 65536, x, got))
        return;
    ox_elements_convert(OX_FLOAT32, want, type, x, 65536, true);
    ck_assert_mem_eq(got, want, sizeof want);
}
END_TEST

/* The upper 16 bits of all floats, with lower ones that make a tie, or nearly one. */
START_TEST(floats_become_floats_of_8_bits)
{
    static float x[65536];
    static uint8_t got[65536], want[65536];
    static const uint32_t lower[] = {0, 1, 0x8000, 0x7fff, 0xffff};
    const enum ox_cpu level = (enum ox_cpu)(_i % (int)(ox_cpu_probe() + 1));
    for (size_t k = 0; k < OX_COUNT(lower); k++) {
        for (uint32_t i = 0; i < 65536; i++) {
            const uint32_t bits = i << 16 | lower[k];
            memcpy(&x[i], &bits, sizeof bits);
        }
        for (size_t to = 0; to < OX_COUNT(float8); to++) {
            ck_assert(ox_cast_run(level, OX_FLOAT32, float8[to], 65536, x, got));
            ox_elements_convert(float8[to], want, OX_FLOAT32, x, 65536, true);
            ck_assert_mem_eq(got, want, sizeof want);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("casts");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, casts_give_the_bits_of_the_conversion, 0, 60);
    tcase_add_loop_test(all, every_half_widens_to_its_own_bits, 0, 2);
    tcase_add_loop_test(all, floats_become_floats_of_8_bits, 0, OX_CPU_AMX + 1);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
