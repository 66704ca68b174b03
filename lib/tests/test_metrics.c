/* The meter: figures, verdicts, the worst element, over tensors of every sort. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/quantiles.h"
#include "tensor/tensor.h"
#include "tests/run_suite.h"

static struct ox_env *env;

static void open_env(void)
{
    env = ox_env_new();
}

static void close_env(void)
{
    ox_env_release(env);
}

static struct ox_datum *tensor_of(enum ox_dtype dtype, int64_t n, const void *data)
{
    struct ox_tensor *tensor;
    struct ox_datum *datum;
    ck_assert_int_eq(ox_tensor_from_data(&tensor, env, dtype, 1, &n, data, NULL), OX_OK);
    ck_assert_int_eq(ox_datum_of_tensor(&datum, tensor, NULL), OX_OK);
    ox_tensor_release(tensor);
    return datum;
}

static struct ox_metrics compare(struct ox_datum *a, struct ox_datum *b, double rtol, double atol)
{
    const struct ox_metrics_options options = {.tolerance = {.rtol = rtol, .atol = atol},
                                               .detail = true};
    struct ox_meter *meter;
    struct ox_metrics metrics;
    ck_assert_int_eq(ox_meter_new(&meter, env, &options, NULL), OX_OK);
    ck_assert_int_eq(ox_meter_add(meter, a, b, NULL), OX_OK);
    ox_meter_read(meter, &metrics);
    ox_meter_release(meter);
    ox_datum_release(a);
    ox_datum_release(b);
    return metrics;
}

static struct ox_metrics compare_floats(int64_t n, const float *a, const float *b, double rtol,
                                        double atol)
{
    return compare(tensor_of(OX_FLOAT32, n, a), tensor_of(OX_FLOAT32, n, b), rtol, atol);
}

START_TEST(figures_follow_their_definitions)
{
    const float a[] = {1, 2, 3, 5}, b[] = {1, 2, 4, 4};
    struct ox_metrics m = compare_floats(4, a, b, 0, 0);
    ck_assert(!m.agree);
    ck_assert_uint_eq(m.n_mismatched, 2);
    ck_assert_double_eq(m.max_abs, 1);
    ck_assert_double_eq(m.mean_abs, 0.5);
    ck_assert_double_eq(m.max_rel, 0.25);
    ck_assert_double_eq_tol(m.rmse, sqrt(0.5), 1e-15);
    ck_assert_double_eq_tol(m.sqnr_db, 10 * log10(37.0 / 2), 1e-12);
    ck_assert_double_eq_tol(m.psnr_db, 20 * log10(4 / sqrt(0.5)), 1e-12);
    ck_assert_double_eq_tol(m.cosine, 37 / sqrt(39.0 * 37), 1e-12);
    ck_assert_int_eq(m.worst.index[0], 2);
    ck_assert_double_eq(m.worst.a, 3);
    ck_assert_double_eq(m.worst.b, 4);
}
END_TEST

START_TEST(reference_is_the_second_side)
{
    const float small[] = {1}, large[] = {1.105F};
    ck_assert(compare_floats(1, small, large, 0.1, 0).agree);
    ck_assert(!compare_floats(1, large, small, 0.1, 0).agree);
}
END_TEST

START_TEST(infinities_agree_only_when_equal_and_nan_never)
{
    const float a[] = {INFINITY, 1}, b[] = {-INFINITY, 1}, c[] = {NAN, 1};
    ck_assert(compare_floats(2, a, a, 0, 0).agree);
    struct ox_metrics m = compare_floats(2, a, b, 1, 1);
    ck_assert(!m.agree && m.worst.bad && isinf(m.max_abs));
    m = compare_floats(2, c, c, 1, 1);
    ck_assert(!m.agree && isnan(m.max_abs));
    ck_assert_uint_eq(m.a_nan, 1);
    ck_assert_uint_eq(m.b_nan, 1);
}
END_TEST

START_TEST(nan_outranks_a_large_difference_as_worst)
{
    const float a[] = {100, NAN, 3}, b[] = {1, 2, 3};
    struct ox_metrics m = compare_floats(3, a, b, 1e-3, 1e-5);
    ck_assert_int_eq(m.worst.index[0], 1);
}
END_TEST

START_TEST(integers_are_exact_beyond_doubles)
{
    const int64_t a[] = {INT64_MAX, INT64_MIN}, b[] = {INT64_MAX - 1, INT64_MIN};
    struct ox_metrics m = compare(tensor_of(OX_INT64, 2, a), tensor_of(OX_INT64, 2, b), 0, 0.5);
    ck_assert(!m.agree);
    ck_assert_double_eq(m.max_abs, 1);
    ck_assert_str_eq(m.worst.a_text, "9223372036854775807");
    const uint64_t u[] = {UINT64_MAX};
    const int64_t s[] = {-1};
    m = compare(tensor_of(OX_UINT64, 1, u), tensor_of(OX_INT64, 1, s), 0, 1);
    ck_assert(!m.agree);
    ck_assert_double_eq(m.max_abs, 18446744073709551616.0);
}
END_TEST

START_TEST(small_integers_do_not_wrap)
{
    const int8_t a[] = {-128}, b[] = {127};
    struct ox_metrics m = compare(tensor_of(OX_INT8, 1, a), tensor_of(OX_INT8, 1, b), 0, 254);
    ck_assert(!m.agree);
    ck_assert_double_eq(m.max_abs, 255);
}
END_TEST

START_TEST(bools_are_no_quantities)
{
    const uint8_t a[] = {1, 0}, b[] = {1, 1};
    ck_assert(!compare(tensor_of(OX_BOOL, 2, a), tensor_of(OX_BOOL, 2, b), 0, 10).agree);
}
END_TEST

START_TEST(other_element_types_are_compared_by_value)
{
    const float a[] = {1, 0.5F};
    const double b[] = {1, 0.5};
    struct ox_metrics m = compare(tensor_of(OX_FLOAT32, 2, a), tensor_of(OX_FLOAT64, 2, b), 0, 0);
    ck_assert(m.agree);
    ck_assert_ptr_nonnull(strstr(m.note, "float64"));
}
END_TEST

START_TEST(shapes_never_broadcast)
{
    const float a[] = {1, 1}, b[] = {1};
    struct ox_metrics m = compare(tensor_of(OX_FLOAT32, 2, a), tensor_of(OX_FLOAT32, 1, b), 1, 1);
    ck_assert(!m.agree);
    ck_assert_str_eq(m.reason, "the shape is [2], expected [1]");
    ck_assert(isnan(m.max_abs));
}
END_TEST

START_TEST(sequences_name_the_element_at_fault)
{
    const float x[] = {1, 2}, y[] = {1, 3};
    struct ox_datum *p = tensor_of(OX_FLOAT32, 2, x), *q = tensor_of(OX_FLOAT32, 2, y);
    struct ox_datum *const first[] = {p, p}, *const second[] = {p, q};
    struct ox_datum *a, *b;
    ck_assert_int_eq(ox_datum_sequence(&a, OX_FLOAT32, first, 2, NULL), OX_OK);
    ck_assert_int_eq(ox_datum_sequence(&b, OX_FLOAT32, second, 2, NULL), OX_OK);
    struct ox_metrics m = compare(a, b, 0, 0);
    ck_assert(!m.agree);
    ck_assert_str_eq(m.reason, "[1]: element [1] is 2, expected 3");
    ox_datum_release(p);
    ox_datum_release(q);
}
END_TEST

START_TEST(strings_must_be_equal)
{
    const char *const x[] = {"a", "b"}, *const y[] = {"a", "c\n"};
    const int64_t n = 2;
    struct ox_datum *d[2];
    for (int k = 0; k < 2; k++) {
        struct ox_tensor *t;
        ck_assert_int_eq(ox_tensor_from_strings(&t, env, 1, &n, k ? y : x, NULL), OX_OK);
        ck_assert_int_eq(ox_datum_of_tensor(&d[k], t, NULL), OX_OK);
        ox_tensor_release(t);
    }
    struct ox_metrics m = compare(d[0], d[1], 1, 1);
    ck_assert(!m.agree);
    ck_assert_str_eq(m.worst.b_text, "c\\x0A");
    ck_assert_uint_eq(m.n_mismatched, 1);
}
END_TEST

START_TEST(ulps_are_counted_in_the_coarser_type)
{
    const float a[] = {1, 1, 1, 1}, b[] = {1, nextafterf(1, 2), 1, -1e-45F};
    struct ox_metrics m = compare_floats(4, a, b, 0, 3);
    ck_assert_double_eq(m.ulp_p50, 0);
    ck_assert_double_eq(m.ulp_max, (double)0x3F800000 + 1);
    const double c[] = {1, 1 + 0x1p-30};
    const float e[] = {1, 1};
    m = compare(tensor_of(OX_FLOAT64, 2, c), tensor_of(OX_FLOAT32, 2, e), 0, 1);
    ck_assert_double_eq(m.ulp_max, 0);
}
END_TEST

START_TEST(top_1_and_top_5_are_of_rows)
{
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 4, 6, 5};
    struct ox_metrics m = compare_floats(6, a, b, 0, 0);
    ck_assert_double_eq(m.top1, 0);
    ck_assert_double_eq(m.top5, 1);
}
END_TEST

START_TEST(threads_do_not_change_a_bit)
{
    enum { N = 200000 };
    float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    for (int i = 0; i < N; i++) {
        a[i] = sinf((float)i);
        b[i] = a[i] * (1 + 1e-6F * cosf((float)i));
    }
    ox_env_set_threads(env, 1);
    struct ox_metrics one = compare_floats(N, a, b, 0, 0);
    ox_env_set_threads(env, 3);
    struct ox_metrics three = compare_floats(N, a, b, 0, 0);
    ck_assert(memcmp(&one.rmse, &three.rmse, sizeof one.rmse) == 0);
    ck_assert(memcmp(&one.cosine, &three.cosine, sizeof one.cosine) == 0);
    ck_assert_int_eq(one.worst.index[0], three.worst.index[0]);
    free(a);
    free(b);
}
END_TEST

START_TEST(quantiles_are_those_of_sorted_values)
{
    const double sorted[] = {-2, 0, 1, 1, 3, 8, INFINITY};
    enum { N = sizeof sorted / sizeof *sorted };
    for (unsigned turn = 0; turn < N; turn++) {
        for (unsigned k = 0; k < N; k++) {
            double values[N];
            for (unsigned i = 0; i < N; i++)
                values[i] = sorted[(3 * i + turn) % N];
            ck_assert_double_eq(ox_quantile(values, N, k / (N - 1.0)), sorted[k]);
        }
        double values[N - 1];
        for (unsigned i = 0; i < N - 1; i++)
            values[i] = sorted[(5 * i + turn) % (N - 1)];
        ck_assert_double_eq_tol(ox_quantile(values, N - 1, 0.9), 5.5, 1e-12);
    }
}
END_TEST

START_TEST(medians_and_quantiles_pass_over_what_is_rare)
{
    const float a[] = {1, 2, 3, 4, 50}, b[] = {1, 2, 3.5, 4, 5};
    struct ox_datum *x = tensor_of(OX_FLOAT32, 5, a), *y = tensor_of(OX_FLOAT32, 5, b);
    static const struct {
        enum ox_agreement rule;
        double quantile;
        bool agree;
    } cases[] = {{OX_AGREE_MAX, 0, false},
                 {OX_AGREE_MEDIAN, 0, true},
                 {OX_AGREE_QUANTILE, 0.5, true},
                 {OX_AGREE_QUANTILE, 0.75, false},
                 {OX_AGREE_QUANTILE, 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ox_metrics_options options = {.tolerance = {.rtol = 0.1, .atol = 0.25},
                                                   .agreement = cases[i].rule,
                                                   .quantile = cases[i].quantile};
        struct ox_meter *meter;
        struct ox_metrics metrics;
        ck_assert_int_eq(ox_meter_new(&meter, env, &options, NULL), OX_OK);
        ck_assert_int_eq(ox_meter_add(meter, x, y, NULL), OX_OK);
        ox_meter_read(meter, &metrics);
        ck_assert_int_eq(metrics.agree, cases[i].agree);
        ox_meter_release(meter);
    }
    ox_datum_release(x);
    ox_datum_release(y);
}
END_TEST

START_TEST(samples_gather_and_the_worst_is_named)
{
    const struct ox_metrics_options options = {.tolerance = {.rtol = 0, .atol = 0.5}};
    const float b[] = {1, 1};
    struct ox_meter *meter;
    struct ox_metrics all, last;
    ck_assert_int_eq(ox_meter_new(&meter, env, &options, NULL), OX_OK);
    for (int i = 0; i < 3; i++) {
        const float a[] = {1, i == 1 ? 3.0F : 1.25F};
        struct ox_datum *x = tensor_of(OX_FLOAT32, 2, a), *y = tensor_of(OX_FLOAT32, 2, b);
        ck_assert_int_eq(ox_meter_add(meter, x, y, NULL), OX_OK);
        ox_datum_release(x);
        ox_datum_release(y);
    }
    ox_meter_read(meter, &all);
    ox_meter_read_last(meter, &last);
    ck_assert(!all.agree && last.agree);
    ck_assert_uint_eq(all.n_samples, 3);
    ck_assert_uint_eq(all.worst.sample, 1);
    ck_assert_double_eq(all.max_abs, 2);
    ck_assert_double_eq(last.max_abs, 0.25);
    ox_meter_release(meter);
}
END_TEST

START_TEST(a_missing_side_is_a_disagreement)
{
    const struct ox_metrics_options options = {.detail = false};
    const float b[] = {1};
    struct ox_meter *meter;
    struct ox_metrics m;
    struct ox_datum *only = tensor_of(OX_FLOAT32, 1, b);
    ck_assert_int_eq(ox_meter_new(&meter, env, &options, NULL), OX_OK);
    ck_assert_int_eq(ox_meter_add(meter, NULL, only, NULL), OX_OK);
    ox_meter_read(meter, &m);
    ck_assert(!m.agree);
    ck_assert_str_eq(m.reason, "only B has it");
    ox_datum_release(only);
    ox_meter_release(meter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, open_env, close_env);
    tcase_add_test(tests, figures_follow_their_definitions);
    tcase_add_test(tests, reference_is_the_second_side);
    tcase_add_test(tests, infinities_agree_only_when_equal_and_nan_never);
    tcase_add_test(tests, nan_outranks_a_large_difference_as_worst);
    tcase_add_test(tests, integers_are_exact_beyond_doubles);
    tcase_add_test(tests, small_integers_do_not_wrap);
    tcase_add_test(tests, bools_are_no_quantities);
    tcase_add_test(tests, other_element_types_are_compared_by_value);
    tcase_add_test(tests, shapes_never_broadcast);
    tcase_add_test(tests, sequences_name_the_element_at_fault);
    tcase_add_test(tests, strings_must_be_equal);
    tcase_add_test(tests, ulps_are_counted_in_the_coarser_type);
    tcase_add_test(tests, top_1_and_top_5_are_of_rows);
    tcase_add_test(tests, threads_do_not_change_a_bit);
    tcase_add_test(tests, quantiles_are_those_of_sorted_values);
    tcase_add_test(tests, medians_and_quantiles_pass_over_what_is_rare);
    tcase_add_test(tests, samples_gather_and_the_worst_is_named);
    tcase_add_test(tests, a_missing_side_is_a_disagreement);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
