/* Rows of floats against rows, and fingerprints of rows, at every level of the processor: the bits of plain C. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/differences.h"
#include "kernels/fingerprint.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

static struct ox_difference_lanes start(struct dice *d)
{
    struct ox_difference_lanes lanes = {.abs = {0}};
    for (size_t l = 0; l < OX_DIFFERENCE_LANES; l++) {
        lanes.abs[l] = lanes.max_abs[l] = (double)fabsf(dice_float(d)) * 0.01;
        lanes.a_min[l] = lanes.b_min[l] = INFINITY;
        lanes.a_max[l] = lanes.b_max[l] = -INFINITY;
    }
    return lanes;
}

START_TEST(differences_are_those_of_plain_c)
{
    struct dice d = {(uint64_t)_i * 31 + 7};
    const enum ox_cpu level = (enum ox_cpu)(_i % (int)(ox_cpu_probe() + 1));
    const size_t n = OX_DIFFERENCE_LANES * dice_between(&d, 0, 80);
    struct guarded a = guarded_new(&d, n, true), b = guarded_new(&d, n, true);
    for (size_t i = 0; i < n; i++) {
        const size_t choice = dice_between(&d, 0, 9);
        b.at[i] = choice == 0 ? 0.0F : choice == 1 ? -0.0F : choice == 2 ? a.at[i] : b.at[i];
        a.at[i] = choice > 5 ? b.at[i] * (1 + dice_float(&d) * 0.002F) : a.at[i];
    }
    struct ox_difference_lanes want = start(&d), got = want;
    ck_assert(ox_differences(OX_CPU_C, &want, n, a.at, b.at, 1e-3, 1e-5));
    ck_assert(ox_differences(level, &got, n, a.at, b.at, 1e-3, 1e-5));
    ck_assert_mem_eq(&got, &want, sizeof want);
    guarded_free(&a);
    guarded_free(&b);
}
END_TEST

START_TEST(what_is_not_finite_is_told)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    struct dice d = {(uint64_t)_i + 1};
    const enum ox_cpu level = (enum ox_cpu)(_i % (int)(ox_cpu_probe() + 1));
    const size_t n = OX_DIFFERENCE_LANES * dice_between(&d, 1, 9);
    struct guarded a = guarded_new(&d, n, true), b = guarded_new(&d, n, true);
    struct ox_difference_lanes lanes = start(&d);
    float *row = dice_between(&d, 0, 1) ? a.at : b.at;
    row[dice_between(&d, 0, n - 1)] = odd[dice_between(&d, 0, 2)];
    ck_assert(!ox_differences(level, &lanes, n, a.at, b.at, 1e-3, 1e-5));
    guarded_free(&a);
    guarded_free(&b);
}
END_TEST

START_TEST(fingerprints_are_those_of_each_element)
{
    struct dice d = {(uint64_t)_i * 13 + 5};
    const enum ox_cpu level = (enum ox_cpu)(_i % (int)(ox_cpu_probe() + 1));
    const size_t n = dice_between(&d, 0, 300), shift = dice_between(&d, 0, 3);
    struct guarded x = guarded_new(&d, n + 1, true);
    uint64_t want = 0;
    for (size_t i = 0; i < n; i++)
        x.at[i] = dice_between(&d, 0, 5) ? x.at[i] : -0.0F;
    char *bytes = (char *)x.at + shift;
    memmove(bytes, x.at, n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        want += ox_fingerprint_one(bits);
    }
    ck_assert_uint_eq(ox_fingerprint(level, n, bytes), want);
    guarded_free(&x);
}
END_TEST

START_TEST(both_zeros_have_one_fingerprint)
{
    ck_assert_uint_eq(ox_fingerprint_one(0), ox_fingerprint_one(0x80000000u));
    ck_assert_uint_ne(ox_fingerprint_one(0), ox_fingerprint_one(1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("differences");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, differences_are_those_of_plain_c, 0, 60);
    tcase_add_loop_test(all, what_is_not_finite_is_told, 0, 60);
    tcase_add_loop_test(all, fingerprints_are_those_of_each_element, 0, 60);
    tcase_add_test(all, both_zeros_have_one_fingerprint);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
