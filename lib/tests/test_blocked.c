/* Matrices in blocks: what is left of them, and that each method is better at what it is for. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "quant/awq.h"
#include "quant/blocked.h"
#include "quant/stats.h"
#include "tests/run_suite.h"

enum { K = 72, N = 20, BLOCK = 32 }; /* the last block is short */

static float noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

static void fill(float *values, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        values[i] = noise(&seed) * noise(&seed);
}

static struct ox_blocking blocking_of(const float *values, enum ox_dtype type,
                                      enum ox_weight_method method)
{
    return (struct ox_blocking){.values = values,
                                .k = K,
                                .n = N,
                                .block = BLOCK,
                                .type = type,
                                .real = OX_FLOAT32,
                                .method = method};
}

/* The matrix after rounding, to be released. */
static struct ox_tensor *left_of(const struct ox_blocking *b)
{
    struct ox_env *env = ox_env_new();
    struct ox_error err = {0};
    struct ox_blocked made;
    struct ox_tensor *left;
    ck_assert_msg(ox_blocked_quantize(&made, env, b, &err) == OX_OK, "%s", err.message);
    ck_assert_int_eq(made.scales->dims[0], (K + BLOCK - 1) / BLOCK);
    ck_assert(!made.zeros == ox_dtype_is_signed(b->type));
    ck_assert_int_eq(ox_blocked_dequantize(&left, env, &made, b->block, NULL), OX_OK);
    ox_blocked_release(&made);
    /* The tensor outlives its budget. */
    struct ox_tensor *copy;
    ck_assert_int_eq(ox_tensor_new(&copy, NULL, OX_FLOAT32, 2, left->dims, NULL), OX_OK);
    memcpy(copy->data, left->data, left->n * sizeof(float));
    ox_tensor_release(left);
    ox_env_release(env);
    return copy;
}

static double squared_error(const float *values, const struct ox_tensor *left)
{
    double sum = 0;
    for (size_t i = 0; i < left->n; i++) {
        double d = (double)values[i] - (double)((const float *)left->data)[i];
        sum += d * d;
    }
    return sum;
}

/* Scales from the largest value of each block alone. */
static double plain_error(const float *values)
{
    double sum = 0;
    for (size_t row = 0; row < K; row += BLOCK) {
        for (size_t j = 0; j < N; j++) {
            float most = 0;
            size_t end = row + BLOCK < K ? row + BLOCK : K;
            for (size_t i = row; i < end; i++)
                most = fmaxf(most, fabsf(values[i * N + j]));
            for (size_t i = row; i < end; i++) {
                float scale = most / 7, v = values[i * N + j];
                double d = (double)(v - rintf(v / scale) * scale);
                sum += d * d;
            }
        }
    }
    return sum;
}

START_TEST(rtn_finds_better_scales_than_the_largest_value)
{
    float values[K * N];
    fill(values, K * N, (uint32_t)_i);
    struct ox_blocking b = blocking_of(values, OX_INT4, OX_WEIGHT_RTN);
    struct ox_tensor *left = left_of(&b);
    ck_assert(squared_error(values, left) < 0.8 * plain_error(values));
    ox_tensor_release(left);
}
END_TEST

START_TEST(eight_bits_leave_little)
{
    float values[K * N];
    fill(values, K * N, 7);
    struct ox_blocking b = blocking_of(values, OX_INT8, OX_WEIGHT_RTN);
    struct ox_tensor *left = left_of(&b);
    double power = 0;
    for (size_t i = 0; i < K * N; i++)
        power += (double)values[i] * (double)values[i];
    ck_assert(10 * log10(power / squared_error(values, left)) > 45);
    ox_tensor_release(left);
}
END_TEST

START_TEST(zero_points_serve_values_of_one_side)
{
    float values[K * N];
    fill(values, K * N, 3);
    for (size_t i = 0; i < K * N; i++)
        values[i] = fabsf(values[i]);
    struct ox_blocking with = blocking_of(values, OX_UINT4, OX_WEIGHT_RTN);
    struct ox_blocking without = blocking_of(values, OX_INT4, OX_WEIGHT_RTN);
    struct ox_tensor *a = left_of(&with), *b = left_of(&without);
    ck_assert(squared_error(values, a) < 0.5 * squared_error(values, b));
    ox_tensor_release(a);
    ox_tensor_release(b);
}
END_TEST

START_TEST(hqq_serves_the_many_and_not_the_outlier)
{
    float values[K * N];
    fill(values, K * N, 5);
    for (size_t j = 0; j < N; j++)
        values[j] = 4;
    struct ox_blocking hqq = blocking_of(values, OX_UINT4, OX_WEIGHT_HQQ);
    struct ox_blocking rtn = blocking_of(values, OX_UINT4, OX_WEIGHT_RTN);
    struct ox_tensor *left[2] = {left_of(&hqq), left_of(&rtn)};
    double sums[2] = {0};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < K * N; i++)
            sums[side] += fabs((double)values[i] - (double)((const float *)left[side]->data)[i]);
        ox_tensor_release(left[side]);
    }
    ck_assert(sums[0] <= sums[1]);
}
END_TEST

/* Squared errors, those of larger values counted more. */
static double weighed_error(const float *values, const struct ox_tensor *left)
{
    double sum = 0;
    for (size_t i = 0; i < left->n; i++) {
        const double d = (double)values[i] - (double)((const float *)left->data)[i];
        sum += d * d * (0.25 + fabs((double)values[i]));
    }
    return sum;
}

START_TEST(k_quant_serves_the_large)
{
    float values[K * N];
    fill(values, K * N, (uint32_t)_i);
    struct ox_blocking large = blocking_of(values, OX_UINT4, OX_WEIGHT_K_QUANT);
    struct ox_blocking rtn = blocking_of(values, OX_UINT4, OX_WEIGHT_RTN);
    struct ox_tensor *a = left_of(&large), *b = left_of(&rtn);
    ck_assert(weighed_error(values, a) < weighed_error(values, b));
    ck_assert(squared_error(values, a) > squared_error(values, b));
    ox_tensor_release(a);
    ox_tensor_release(b);
}
END_TEST

START_TEST(columns_of_zeros_stay_zeros)
{
    float values[K * N] = {0};
    static const enum ox_dtype types[] = {OX_INT4, OX_UINT4, OX_INT8};
    struct ox_blocking b = blocking_of(values, types[_i], OX_WEIGHT_RTN);
    struct ox_tensor *left = left_of(&b);
    ck_assert(squared_error(values, left) == 0);
    ox_tensor_release(left);
}
END_TEST

/* Inputs that go together, and what a product of them loses. */
static double product_error(const float *values, const struct ox_tensor *left, const float *x,
                            size_t rows)
{
    double sum = 0;
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < N; j++) {
            double d = 0;
            for (size_t i = 0; i < K; i++)
                d += (double)x[r * K + i] *
                     ((double)values[i * N + j] - (double)((const float *)left->data)[i * N + j]);
            sum += d * d;
        }
    }
    return sum;
}

enum { ROWS = 256 };

static void correlated(float *x, double *hessian)
{
    fill(x, ROWS * K, 13);
    memset(hessian, 0, K * K * sizeof *hessian);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 1; i < K; i++)
            x[r * K + i] += 0.9f * x[r * K + i - 1];
        for (size_t i = 0; i < K; i++) {
            for (size_t j = i; j < K; j++)
                hessian[i * K + j] += (double)x[r * K + i] * (double)x[r * K + j];
        }
    }
}

START_TEST(gptq_loses_less_of_the_product)
{
    static float x[ROWS * K], values[K * N];
    static double hessian[K * K];
    fill(values, K * N, 11);
    correlated(x, hessian);
    struct ox_blocking gptq = blocking_of(values, OX_INT4, OX_WEIGHT_GPTQ);
    struct ox_blocking rtn = blocking_of(values, OX_INT4, OX_WEIGHT_RTN);
    gptq.hessian = hessian;
    struct ox_tensor *a = left_of(&gptq), *b = left_of(&rtn);
    /* 0.196 of it by the walk alone. */
    ck_assert(product_error(values, a, x, ROWS) < 0.19 * product_error(values, b, x, ROWS));
    ox_tensor_release(a);
    ox_tensor_release(b);
}
END_TEST

START_TEST(awq_finds_rows_that_meet_large_inputs)
{
    enum { LOUD = 9 };
    static float x[ROWS * K], values[K * N], scaled[K * N], factors[K], importance[K];
    static double hessian[K * K];
    struct ox_env *env = ox_env_new();
    struct ox_awq best = {.factors = factors, .importance = importance};
    fill(values, K * N, 17);
    fill(x, ROWS * K, 19);
    for (size_t r = 0; r < ROWS; r++)
        x[r * K + LOUD] *= 30;
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < K; i++) {
            for (size_t j = i; j < K; j++)
                hessian[i * K + j] += (double)x[r * K + i] * (double)x[r * K + j];
        }
    }
    struct ox_blocking b = blocking_of(values, OX_INT4, OX_WEIGHT_AWQ);
    b.hessian = hessian;
    ck_assert_int_eq(ox_awq_search(&best, env, &b, NULL), OX_OK);
    ck_assert(best.scales && best.left < 0.7);
    for (size_t i = 0; i < K; i++)
        ck_assert(i == LOUD || factors[i] < factors[LOUD]);
    for (size_t i = 0; i < K * N; i++)
        scaled[i] = values[i] * factors[i / N];
    struct ox_blocking by = blocking_of(scaled, OX_INT4, OX_WEIGHT_AWQ);
    by.importance = importance;
    struct ox_tensor *a = left_of(&by), *c = left_of(&b);
    for (size_t i = 0; i < K * N; i++)
        ((float *)a->data)[i] /= factors[i / N];
    const double ratio = product_error(values, a, x, ROWS) / product_error(values, c, x, ROWS);
    ck_assert_double_eq_tol(ratio, best.left, 1e-3);
    ox_tensor_release(a);
    ox_tensor_release(c);
    ox_env_release(env);
}
END_TEST

/* Zeros lose nothing, and what is not finite is no reason for anything. */
START_TEST(awq_leaves_what_it_does_not_serve)
{
    static float values[K * N], factors[K], importance[K];
    static double hessian[K * K];
    struct ox_env *env = ox_env_new();
    struct ox_awq best = {.factors = factors, .importance = importance};
    for (size_t i = 0; i < K * N; i++)
        values[i] = _i ? (float)i : 0;
    for (size_t i = 0; i < K; i++)
        hessian[i * K + i] = _i ? (double)NAN : 1;
    struct ox_blocking b = blocking_of(values, OX_INT4, OX_WEIGHT_AWQ);
    b.hessian = hessian;
    ck_assert_int_eq(ox_awq_search(&best, env, &b, NULL), OX_OK);
    ck_assert(!best.scales && !best.weighs && !(best.left < 1));
    ox_env_release(env);
}
END_TEST

START_TEST(gptq_takes_inputs_of_any_size)
{
    static const double sizes[] = {0x1p-100, 0x1p100};
    static float x[ROWS * K], values[K * N];
    static double hessian[K * K], scaled[K * K];
    fill(values, K * N, 11);
    correlated(x, hessian);
    for (size_t i = 0; i < (size_t)K * K; i++)
        scaled[i] = hessian[i] * sizes[_i];
    struct ox_blocking b = blocking_of(values, OX_UINT4, OX_WEIGHT_GPTQ);
    b.hessian = hessian;
    struct ox_tensor *one = left_of(&b);
    b.hessian = scaled;
    struct ox_tensor *other = left_of(&b);
    ck_assert(memcmp(one->data, other->data, one->n * sizeof(float)) == 0);
    ox_tensor_release(one);
    ox_tensor_release(other);
}
END_TEST

START_TEST(statistics_count_zeros_and_what_is_not_finite_apart)
{
    float values[41];
    struct ox_stats stats = {0}, parts = {0}, part = {0};
    for (size_t i = 0; i < OX_COUNT(values); i++)
        values[i] = i % 3 ? (float)i - 20 : 0;
    ck_assert(ox_stats_add(&stats, values, OX_COUNT(values)));
    ck_assert_uint_eq(stats.n_zero, 15 - (20 % 3 == 0));
    ck_assert(stats.least == -19 && stats.most == 20);
    values[7] = INFINITY;
    values[8] = NAN;
    ck_assert(ox_stats_add(&stats, values, OX_COUNT(values)));
    ck_assert(stats.n_nan == 1 && stats.n_inf == 1 && stats.most == 20);
    uint64_t counted = 0;
    for (size_t i = 0; i < (size_t)2 * OX_BINS; i++)
        counted += stats.bins[i];
    ck_assert_uint_eq(counted, 2 * OX_COUNT(values) - 2);
    /* The same in two parts. */
    ck_assert(ox_stats_add(&parts, values, OX_COUNT(values)));
    values[7] = 7 - 20;
    values[8] = 8 - 20;
    ck_assert(ox_stats_add(&part, values, OX_COUNT(values)));
    ck_assert(ox_stats_merge(&parts, &part));
    ck_assert(memcmp(parts.bins, stats.bins, 2 * OX_BINS * sizeof *stats.bins) == 0);
    ox_stats_coarsen(&parts, 8);
    size_t used = 0;
    for (size_t i = 0; i < (size_t)2 * OX_BINS; i++)
        used += parts.bins[i] != 0;
    ck_assert(used <= 9);
    ox_stats_release(&stats);
    ox_stats_release(&parts);
    ox_stats_release(&part);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("blocked");
    tcase_add_loop_test(tests, rtn_finds_better_scales_than_the_largest_value, 1, 4);
    tcase_add_test(tests, eight_bits_leave_little);
    tcase_add_test(tests, zero_points_serve_values_of_one_side);
    tcase_add_test(tests, hqq_serves_the_many_and_not_the_outlier);
    tcase_add_loop_test(tests, columns_of_zeros_stay_zeros, 0, 3);
    tcase_add_test(tests, gptq_loses_less_of_the_product);
    tcase_add_test(tests, awq_finds_rows_that_meet_large_inputs);
    tcase_add_loop_test(tests, awq_leaves_what_it_does_not_serve, 0, 2);
    tcase_add_loop_test(tests, k_quant_serves_the_large, 0, 8);
    tcase_add_loop_test(tests, gptq_takes_inputs_of_any_size, 0, 2);
    tcase_add_test(tests, statistics_count_zeros_and_what_is_not_finite_apart);
    Suite *suite = suite_create("blocked");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
