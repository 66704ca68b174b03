/* Random operators, Dropout and windows. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/env.h"
#include "ops/random_source.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

/* ---- Generators -------------------------------------------------------------------------------------------------- */

static double next_of(struct ox_mt19937 *mt)
{
    double out;
    ox_mt19937_uniforms(mt, 1, &out);
    return out;
}

START_TEST(mt19937_is_numpys)
{
    struct ox_mt19937 mt;
    ox_mt19937_init(&mt, 0);
    ck_assert(next_of(&mt) == 0.5488135039273248);
    ck_assert(next_of(&mt) == 0.7151893663724195);
    ox_mt19937_init(&mt, 7);
    double last = 0;
    for (int i = 0; i < 700; i++)
        last = next_of(&mt);
    ck_assert(last == 0.33871568992326884);
    ox_mt19937_init(&mt, UINT32_MAX);
    ck_assert(next_of(&mt) == 0.0976320289940138);
    ox_mt19937_init(&mt, UINT64_C(0x100000005)); /* RandomState([5, 1]) */
    ck_assert(next_of(&mt) == 0.15727238718789782);
}
END_TEST

START_TEST(uniform_numbers_fill_the_interval)
{
    enum { N = 100000, BINS = 10 };
    size_t bins[BINS] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double u = ox_random_uniform(42, i);
        ck_assert(u >= 0 && u < 1);
        bins[(size_t)(u * BINS)]++;
    }
    for (size_t i = 0; i < BINS; i++)
        ck_assert_double_eq_tol((double)bins[i] / N, 1.0 / BINS, 0.004);
}
END_TEST

START_TEST(normal_numbers_have_the_moments_of_the_distribution)
{
    enum { N = 200000 };
    double sum = 0, square = 0, fourth = 0;
    for (uint64_t i = 0; i < N; i++) {
        double z = ox_random_normal(3, i);
        sum += z;
        square += z * z;
        fourth += z * z * z * z;
    }
    ck_assert_double_eq_tol(sum / N, 0, 0.01);
    ck_assert_double_eq_tol(square / N, 1, 0.02);
    ck_assert_double_eq_tol(fourth / N, 3, 0.1);
}
END_TEST

/* Box and Muller's method with the C library's functions comes to the same within rounding. */
START_TEST(own_series_agree_with_the_c_library)
{
    for (uint64_t i = 0; i < 1000; i += 2) {
        double radius = hypot(ox_random_normal(9, i), ox_random_normal(9, i + 1));
        double expected = sqrt(-2 * log(1 - ox_random_uniform(9, i)));
        ck_assert_double_eq_tol(radius, expected, 1e-14 * (1 + expected));
        double angle = ox_random_uniform(9, i + 1) * 6.28318530717958647693;
        ck_assert_double_eq_tol(ox_random_normal(9, i), expected * cos(angle),
                                1e-14 * (1 + expected));
    }
}
END_TEST

/* ---- Operators --------------------------------------------------------------------------------------------------- */

static void draw_at(const char *name, int64_t opset, enum ox_dtype dtype, float seed,
                    unsigned threads, double *out, size_t n)
{
    struct one_op *op = one_op_new("", name, opset);
    ox_env_set_threads(one_op_env(op), threads);
    ONE_OP_INTS(op, "shape", (int64_t)n);
    one_op_int(op, "dtype", dtype);
    one_op_float(op, "seed", seed);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    const struct ox_tensor *t = one_op_out(op, 0);
    ck_assert_int_eq(t->dtype, dtype);
    ck_assert_uint_eq(t->n, n);
    for (size_t i = 0; i < n; i++)
        out[i] = ox_tensor_get_double(t, i);
    one_op_free(op);
}

static void draw(const char *name, enum ox_dtype dtype, float seed, unsigned threads, double *out,
                 size_t n)
{
    draw_at(name, 22, dtype, seed, threads, out, n);
}

START_TEST(version_1_draws_the_same)
{
    static const char *const names[] = {"RandomNormal", "RandomUniform"};
    double old[5], new[5];
    for (size_t i = 0; i < 2; i++) {
        draw_at(names[i], 1, OX_FLOAT64, 3, 1, old, 5);
        draw(names[i], OX_FLOAT64, 3, 1, new, 5);
        ck_assert(memcmp(old, new, sizeof old) == 0);
    }
}
END_TEST

START_TEST(a_seed_gives_the_same_numbers_for_any_number_of_threads)
{
    enum { N = 50000 };
    static double one[N], three[N], other[N];
    static const char *const names[] = {"RandomNormal", "RandomUniform"};
    for (size_t i = 0; i < 2; i++) {
        draw(names[i], OX_FLOAT32, 5, 1, one, N);
        draw(names[i], OX_FLOAT32, 5, 3, three, N);
        draw(names[i], OX_FLOAT32, 6.5f, 1, other, N);
        ck_assert(memcmp(one, three, sizeof one) == 0);
        ck_assert(memcmp(one, other, sizeof one) != 0);
    }
}
END_TEST

START_TEST(every_float_type_is_drawn)
{
    static const enum ox_dtype types[] = {OX_FLOAT16, OX_BFLOAT16, OX_FLOAT32, OX_FLOAT64};
    double narrow[8], wide[8];
    draw("RandomUniform", OX_FLOAT64, 1, 1, wide, 8);
    for (size_t i = 0; i < 4; i++) {
        draw("RandomUniform", types[i], 1, 1, narrow, 8);
        for (size_t k = 0; k < 8; k++)
            ck_assert_double_eq_tol(narrow[k], wide[k], 0.01);
    }
}
END_TEST

START_TEST(without_a_seed_the_run_decides)
{
    double first[4] = {0};
    for (int trial = 0; trial < 3; trial++) {
        struct one_op *op = one_op_new("", "RandomUniformLike", 22);
        one_op_set_seed(op, trial == 2 ? 12 : 11);
        ONE_OP_IN(op, OX_FLOAT64, "4", 0, 0, 0, 0);
        one_op_float(op, "low", 2);
        one_op_float(op, "high", 3);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        const double *out = one_op_out(op, 0)->data;
        ck_assert(out[0] >= 2 && out[0] < 3);
        if (trial == 0)
            memcpy(first, out, sizeof first);
        else
            ck_assert((memcmp(first, out, sizeof first) == 0) == (trial == 1));
        one_op_free(op);
    }
}
END_TEST

START_TEST(like_needs_a_type_that_can_be_drawn)
{
    struct one_op *op = one_op_new("", "RandomNormalLike", 22);
    ONE_OP_IN(op, OX_INT32, "2", 1, 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "int32"));
    one_op_free(op);
}
END_TEST

START_TEST(bernoulli_keeps_to_certainties)
{
    struct one_op *op = one_op_new("", "Bernoulli", 15);
    ONE_OP_IN(op, OX_FLOAT32, "4", 0, 1, 0, 1);
    one_op_int(op, "dtype", OX_BOOL);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_BOOL, "4", 0, 0, 1, 0, 1);
    one_op_free(op);
}
END_TEST

START_TEST(multinomial_samples_by_weight)
{
    struct one_op *op = one_op_new("", "Multinomial", 7);
    ONE_OP_IN(op, OX_FLOAT32, "2x3", -(double)INFINITY, 0, -(double)INFINITY, log(1), log(1),
              log(2));
    one_op_int(op, "sample_size", 10000);
    one_op_int(op, "dtype", OX_INT64);
    one_op_float(op, "seed", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    const struct ox_tensor *out = one_op_out(op, 0);
    ck_assert(out->rank == 2 && out->dims[0] == 2 && out->dims[1] == 10000 &&
              out->dtype == OX_INT64);
    size_t counts[3] = {0};
    for (size_t i = 0; i < 10000; i++) {
        ck_assert_int_eq(((const int64_t *)out->data)[i], 1);
        counts[((const int64_t *)out->data)[10000 + i]]++;
    }
    ck_assert_double_eq_tol((double)counts[2], 5000, 200);
    ck_assert_double_eq_tol((double)counts[0], 2500, 200);
    one_op_free(op);
}
END_TEST

START_TEST(multinomial_refuses_rows_without_a_chance)
{
    struct one_op *op = one_op_new("", "Multinomial", 7);
    ONE_OP_IN(op, OX_FLOAT32, "1x2", -(double)INFINITY, -(double)INFINITY);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "row 0"));
    one_op_free(op);
}
END_TEST

/* ---- Dropout ----------------------------------------------------------------------------------------------------- */

START_TEST(training_dropout_is_that_of_numpy)
{
    struct one_op *op = one_op_new("", "Dropout", 13);
    ONE_OP_IN(op, OX_FLOAT32, "8", 1, 2, 3, 4, 5, 6, 7, 8);
    ONE_OP_IN(op, OX_FLOAT32, "", 0.5);
    ONE_OP_IN(op, OX_BOOL, "", 1);
    one_op_int(op, "seed", 3);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "8", 0, 2, 4, 0, 8, 10, 12, 0, 0);
    ONE_OP_OUT(op, 1, OX_BOOL, "8", 0, 1, 1, 0, 1, 1, 1, 0, 0);
    one_op_free(op);
}
END_TEST

START_TEST(dropout_passes_when_not_training)
{
    static const int64_t opsets[] = {6, 7, 10, 13};
    for (size_t i = 0; i < 4; i++) {
        struct one_op *op = one_op_new("", "Dropout", opsets[i]);
        ONE_OP_IN(op, OX_FLOAT16, "3", 1, 2, 3);
        if (opsets[i] == 6)
            one_op_int(op, "is_test", 1);
        ck_assert_int_eq(one_op_run(op, 2), OX_OK);
        ONE_OP_OUT(op, 0, OX_FLOAT16, "3", 0, 1, 2, 3);
        ONE_OP_OUT(op, 1, opsets[i] < 10 ? OX_FLOAT16 : OX_BOOL, "3", 0, 1, 1, 1);
        one_op_free(op);
    }
}
END_TEST

START_TEST(dropout_of_old_trained_unless_told)
{
    struct one_op *op = one_op_new("", "Dropout", 1);
    one_op_set_seed(op, 3);
    ONE_OP_IN(op, OX_FLOAT32, "3", 1, 2, 3);
    ck_assert_int_eq(one_op_run(op, 2), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "3", 0, 2, 4, 0);
    ONE_OP_OUT(op, 1, OX_FLOAT32, "3", 0, 1, 1, 0);
    one_op_free(op);
}
END_TEST

START_TEST(dropout_refuses_a_ratio_of_one)
{
    struct one_op *op = one_op_new("", "Dropout", 13);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1);
    ONE_OP_IN(op, OX_FLOAT32, "", 1);
    ONE_OP_IN(op, OX_BOOL, "", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    ck_assert_ptr_nonnull(strstr(one_op_error(op), "ratio is 1"));
    one_op_free(op);
}
END_TEST

/* ---- Windows ----------------------------------------------------------------------------------------------------- */

START_TEST(windows_periodic_and_symmetric)
{
    for (int periodic = 0; periodic <= 1; periodic++) {
        struct one_op *op = one_op_new("", "HannWindow", 17);
        ONE_OP_IN(op, OX_INT32, "", periodic ? 4 : 5);
        one_op_int(op, "periodic", periodic);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        if (periodic)
            ONE_OP_OUT(op, 0, OX_FLOAT32, "4", 1e-7, 0, 0.5, 1, 0.5);
        else
            ONE_OP_OUT(op, 0, OX_FLOAT32, "5", 1e-7, 0, 0.5, 1, 0.5, 0);
        one_op_free(op);
    }
    struct one_op *op = one_op_new("", "BlackmanWindow", 17);
    ONE_OP_IN(op, OX_INT64, "", 4);
    one_op_int(op, "output_datatype", OX_FLOAT64);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT64, "4", 1e-15, 0, 0.34, 1, 0.34);
    one_op_free(op);
    op = one_op_new("", "HammingWindow", 17);
    ONE_OP_IN(op, OX_INT64, "", 2);
    one_op_int(op, "output_datatype", OX_BFLOAT16);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_BFLOAT16, "2", 4e-3, 4.0 / 46, 1);
    one_op_free(op);
}
END_TEST

START_TEST(windows_of_odd_sizes)
{
    static const double sizes[] = {0, 1};
    for (size_t i = 0; i < 2; i++) {
        struct one_op *op = one_op_new("", "HannWindow", 17);
        ONE_OP_IN(op, OX_INT64, "", sizes[i]);
        one_op_int(op, "periodic", 0);
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        if (i)
            ONE_OP_OUT(op, 0, OX_FLOAT32, "1", 0, 1);
        else
            ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "0");
        one_op_free(op);
    }
    struct one_op *op = one_op_new("", "HannWindow", 17);
    ONE_OP_IN(op, OX_INT64, "", -1);
    ck_assert_int_eq(one_op_run(op, 1), OX_INPUT);
    one_op_free(op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_random");
    TCase *tcase = tcase_create("random");
    tcase_add_test(tcase, mt19937_is_numpys);
    tcase_add_test(tcase, uniform_numbers_fill_the_interval);
    tcase_add_test(tcase, normal_numbers_have_the_moments_of_the_distribution);
    tcase_add_test(tcase, own_series_agree_with_the_c_library);
    tcase_add_test(tcase, version_1_draws_the_same);
    tcase_add_test(tcase, a_seed_gives_the_same_numbers_for_any_number_of_threads);
    tcase_add_test(tcase, every_float_type_is_drawn);
    tcase_add_test(tcase, without_a_seed_the_run_decides);
    tcase_add_test(tcase, like_needs_a_type_that_can_be_drawn);
    tcase_add_test(tcase, bernoulli_keeps_to_certainties);
    tcase_add_test(tcase, multinomial_samples_by_weight);
    tcase_add_test(tcase, multinomial_refuses_rows_without_a_chance);
    tcase_add_test(tcase, training_dropout_is_that_of_numpy);
    tcase_add_test(tcase, dropout_passes_when_not_training);
    tcase_add_test(tcase, dropout_of_old_trained_unless_told);
    tcase_add_test(tcase, dropout_refuses_a_ratio_of_one);
    tcase_add_test(tcase, windows_periodic_and_symmetric);
    tcase_add_test(tcase, windows_of_odd_sizes);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
