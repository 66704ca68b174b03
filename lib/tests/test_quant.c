/* The arithmetic of quantization against figures worked out by hand, and the selection of nodes. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu.h"
#include "quant/cancel.h"
#include "quant/hessians.h"
#include "quant/judge.h"
#include "quant/qparams.h"
#include "tests/run_suite.h"

static struct ox_tensor *floats(unsigned rank, const int64_t *dims, const float *values)
{
    struct ox_tensor *tensor;
    ck_assert_int_eq(ox_tensor_new(&tensor, NULL, OX_FLOAT32, rank, dims, NULL), OX_OK);
    memcpy(tensor->data, values, tensor->n * sizeof *values);
    return tensor;
}

static const struct {
    enum ox_dtype type;
    bool symmetric, reduce;
    int32_t qmin, qmax;
} ranges[] = {
    {OX_INT8, false, false, -128, 127},     {OX_INT8, true, false, -127, 127},
    {OX_INT8, true, true, -64, 64},         {OX_UINT8, false, false, 0, 255},
    {OX_UINT8, true, false, 0, 255},        {OX_UINT8, false, true, 0, 127},
    {OX_INT16, true, false, -32767, 32767}, {OX_INT16, false, true, -16384, 16384},
    {OX_UINT16, true, false, 0, 65535},     {OX_UINT16, false, true, 0, 32767},
    {OX_INT4, true, false, -8, 7},          {OX_INT4, false, true, -4, 3},
    {OX_UINT4, true, false, 0, 15},         {OX_UINT4, false, true, 0, 7},
};

/* Of few rows most of what correlates does so by chance; what always goes together stays. */
START_TEST(hessians_lose_chance)
{
    enum { K = 3 };
    double chance[K * K] = {4, 1, -1, 0, 4, 1, 0, 0, 4}, sure[K * K] = {4, 4, 4, 0, 4, 4, 0, 0, 4};
    double some[K * K] = {4, 3, 3, 0, 4, 3, 0, 0, 4}, none[K * K] = {0};
    ox_hessian_shrink(chance, K, 4);
    ck_assert_double_eq(chance[1], 0);
    ck_assert_double_eq(chance[0], 4);
    ox_hessian_shrink(sure, K, 4);
    ck_assert_double_eq(sure[1], 4);
    ox_hessian_shrink(some, K, 10);
    /* r^2 = 9 / 16: of it (7 / 16)^2 / 10 is chance */
    ck_assert_double_eq_tol(some[2], 3 * (1 - 49. / 256 / 10 / (9. / 16)), 1e-12);
    ox_hessian_shrink(none, K, 4);
    ck_assert_double_eq(none[1], 0);
}
END_TEST

START_TEST(ranges_of_integer_types)
{
    int32_t qmin, qmax;
    ox_qtype_range(ranges[_i].type, ranges[_i].symmetric, ranges[_i].reduce, &qmin, &qmax);
    ck_assert_int_eq(qmin, ranges[_i].qmin);
    ck_assert_int_eq(qmax, ranges[_i].qmax);
}
END_TEST

static const struct {
    float rmin, rmax;
    enum ox_dtype type;
    bool symmetric, reduce;
    double scale; /* rounded to float32 when compared */
    int32_t zero;
} pairs[] = {
    {-1, 1, OX_INT8, true, false, 2.0 / 254, 0},
    {-1, 0.5f, OX_INT8, true, false, 2.0 / 254, 0},
    {-1, 3, OX_UINT8, false, false, 4.0 / 255, 64}, /* 63.75 */
    {1, 3, OX_UINT8, false, false, 3.0 / 255, 0},   /* 0 is always included */
    {-3, -1, OX_UINT8, false, false, 3.0 / 255, 255},
    {-1, 1, OX_UINT8, true, false, 2.0 / 255, 128}, /* 127.5 to even */
    {-1, 1, OX_UINT8, true, true, 2.0 / 127, 64},   /* 63.5 to even */
    {-1, 1, OX_UINT16, true, false, 2.0 / 65535, 32768},
    {-1, 1, OX_UINT4, true, false, 2.0 / 15, 8},
    {-1, 1, OX_INT4, true, false, 2.0 / 15, 0},
    {0, 0, OX_UINT8, true, false, 1, 0},       /* no range */
    {0, 1e-40f, OX_UINT8, false, false, 1, 0}, /* a scale that is no normal number */
    {-3e38f, 3e38f, OX_UINT8, false, false, ((double)3e38f - (double)-3e38f) / 255, 128},
};

START_TEST(scale_and_zero_point)
{
    struct ox_qparam pair =
        ox_qparam_of_range(pairs[_i].rmin, pairs[_i].rmax, pairs[_i].type, OX_FLOAT32,
                           pairs[_i].symmetric, pairs[_i].reduce, true);
    ck_assert(pair.scale == (float)pairs[_i].scale);
    ck_assert_int_eq(pair.zero, pairs[_i].zero);
}
END_TEST

START_TEST(scales_of_float16_are_float16)
{
    struct ox_qparam pair = ox_qparam_of_range(-1, 1, OX_INT8, OX_FLOAT16, true, false, true);
    ck_assert(pair.scale == 0x1.020p-7f); /* 2/254 to 11 bits */
    pair = ox_qparam_of_range(0, 0.0001f, OX_INT8, OX_FLOAT16, false, false, true);
    ck_assert(pair.scale == 1 && pair.zero == 0);
}
END_TEST

START_TEST(steady_kernels_are_common_ones_but_for_exact_ones)
{
    ox_cpu_limit(ox_cpu_probe());
    ox_quant_steady_kernels();
    ck_assert_int_le(ox_cpu(), ox_cpu_common());
    ck_assert_int_eq(ox_cpu_exact(), ox_cpu_probe());
    ox_cpu_limit(OX_CPU_C);
    ck_assert_int_eq(ox_cpu_exact(), OX_CPU_C);
    ox_cpu_limit(ox_cpu_probe());
}
END_TEST

START_TEST(small_ranges_of_float16_have_subnormal_scales)
{
    struct ox_qparam pair =
        ox_qparam_of_range(-0.002f, 0.002f, OX_INT8, OX_FLOAT16, true, false, false);
    ck_assert(pair.scale == 265 * 0x1p-24f && pair.zero == 0); /* 264.2 */
    pair = ox_qparam_of_range(-0.001f, 0.003f, OX_UINT16, OX_FLOAT16, false, false, false);
    ck_assert(pair.scale == 16 * 0x1p-24f && pair.zero == 1049); /* the least */
    pair = ox_qparam_of_range(0, 0, OX_INT8, OX_FLOAT16, true, false, false);
    ck_assert(pair.scale == 1 && pair.zero == 0);
    pair = ox_qparam_of_range(0, 1e-40f, OX_UINT8, OX_FLOAT32, false, false, false);
    ck_assert(pair.scale == 0x1p-126f && pair.zero == 0);
}
END_TEST

START_TEST(rounds_half_to_even_and_clips_to_the_type)
{
    const float in[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 126.6f, 500, -128.4f, -500, INFINITY};
    const int8_t out[] = {0, 2, 2, 0, -2, 127, 127, -128, -128, 127};
    int8_t q[10];
    ox_quantize_elements(in, 10, (struct ox_qparam){1, 0}, OX_INT8, q);
    ck_assert_mem_eq(q, out, sizeof q);
    uint16_t wide[3];
    ox_quantize_elements((const float[]){-40000, 0.25f, 40000}, 3, (struct ox_qparam){1, 32768},
                         OX_UINT16, wide);
    ck_assert_uint_eq(wide[0], 0);
    ck_assert_uint_eq(wide[1], 32768);
    ck_assert_uint_eq(wide[2], 65535);
    int8_t nibble[2];
    ox_quantize_elements((const float[]){-9, 9}, 2, (struct ox_qparam){1, 0}, OX_INT4, nibble);
    ck_assert_int_eq(nibble[0], -8);
    ck_assert_int_eq(nibble[1], 7);
}
END_TEST

START_TEST(a_scale_for_each_index_of_an_axis)
{
    const int64_t dims[] = {2, 3};
    struct ox_tensor *w = floats(2, dims, (const float[]){1, -2, 0, 4, 1, 0}), *q, *back;
    struct ox_arena arena;
    struct ox_qparams params;
    ox_arena_init(&arena, NULL);
    ck_assert_int_eq(
        ox_qparams_of_tensor(&params, &arena, w, 1, OX_INT8, OX_FLOAT32, true, false, false, NULL),
        OX_OK);
    ck_assert_uint_eq(params.n, 3);
    ck_assert(params.pairs[0].scale == (float)(8.0 / 254));
    ck_assert(params.pairs[1].scale == (float)(4.0 / 254));
    ck_assert(params.pairs[2].scale == 1);
    ck_assert_int_eq(ox_quantize_tensor(&q, NULL, w, &params, NULL), OX_OK);
    ck_assert_mem_eq(q->data, ((const int8_t[]){32, -127, 0, 127, 64, 0}), 6);
    ck_assert_int_eq(ox_dequantize_tensor(&back, NULL, q, &params, NULL), OX_OK);
    ck_assert(((float *)back->data)[3] == 127 * params.pairs[0].scale);
    ox_tensor_release(back);
    ox_tensor_release(q);
    ox_tensor_release(w);
    ox_arena_release(&arena);
}
END_TEST

/* The sum of errors of n integers `step` apart, in steps of the scale; each is next to its value. */
static double error_sum(const int8_t *q, const float *values, size_t n, size_t step, float scale)
{
    double sum = 0;
    for (size_t i = 0; i < n * step; i += step) {
        double error = q[i] - (double)values[i] / (double)scale;
        ck_assert(fabs(error) < 1);
        sum += error;
    }
    return sum;
}

START_TEST(errors_of_the_weights_of_an_output_cancel)
{
    enum { OUT = 5, IN = 40, KERNEL = 9 };
    const int64_t conv[] = {OUT, IN, KERNEL, 1}, matrix[] = {IN * KERNEL, OUT};
    float values[OUT * IN * KERNEL];
    for (size_t i = 0; i < OX_COUNT(values); i++)
        values[i] = (float)(i * 7919 % 10007) / 10007.f - 0.3f; /* of one sign mostly */
    for (int axis = 0; axis < 2; axis++) {
        struct ox_tensor *w = floats(axis ? 2 : 4, axis ? matrix : conv, values), *q;
        struct ox_arena arena;
        struct ox_qparams params;
        ox_arena_init(&arena, NULL);
        ck_assert_int_eq(ox_qparams_of_tensor(&params, &arena, w, axis, OX_INT8, OX_FLOAT32, true,
                                              false, false, NULL),
                         OX_OK);
        ck_assert_int_eq(ox_quantize_cancelling(&q, NULL, w, &params, axis, NULL, NULL), OX_OK);
        for (size_t o = 0; o < OUT; o++) {
            size_t at = axis ? o : o * IN * KERNEL;
            double sum = error_sum((int8_t *)q->data + at, values + at, IN * KERNEL, axis ? OUT : 1,
                                   params.pairs[o].scale);
            ck_assert_msg(fabs(sum) <= 0.5 + 1e-9, "axis %d, output %zu: %g", axis, o, sum);
        }
        ox_tensor_release(q);
        ox_tensor_release(w);
        ox_arena_release(&arena);
    }
}
END_TEST

/* Once what is left is less than half of one scale, a smaller one must not add to it on the other side. */
START_TEST(errors_cancel_where_scales_differ)
{
    enum { N = 256, TRIALS = 100 };
    for (int trial = 0; trial < TRIALS; trial++) {
        int8_t q[N] = {0};
        double errors[N], scales[N], sum = 0, most = 0;
        struct ox_cancel_candidate candidates[N];
        for (int i = 0; i < N; i++) {
            errors[i] = (double)((i + trial * N) * 7919 % 1009) / 1009 - 0.5;
            scales[i] = (i % 3 ? -1 : 1) * (1 + (double)(i * 31 % 16));
        }
        struct ox_cancelling o = {.q = q,
                                  .step = 1,
                                  .n = N,
                                  .least = -8,
                                  .most = 7,
                                  .errors = errors,
                                  .scales = scales,
                                  .candidates = candidates};
        ox_cancel(&o, 0, N);
        for (int i = 0; i < N; i++) {
            sum += errors[i] * scales[i];
            most = fmax(most, fabs(scales[i]));
        }
        ck_assert_msg(fabs(sum) <= most / 2 + 1e-9, "trial %d: %g", trial, sum);
    }
}
END_TEST

START_TEST(what_is_no_number_is_refused)
{
    const int64_t dims[] = {2};
    struct ox_arena arena;
    struct ox_qparams params;
    ox_arena_init(&arena, NULL);
    for (int i = 0; i < 2; i++) {
        struct ox_tensor *w = floats(1, dims, (const float[]){1, i ? NAN : INFINITY});
        ck_assert_int_eq(ox_qparams_of_tensor(&params, &arena, w, -1, OX_INT8, OX_FLOAT32, true,
                                              false, false, NULL),
                         OX_INPUT);
        ox_tensor_release(w);
    }
    ox_arena_release(&arena);
}
END_TEST

START_TEST(a_bias_is_clipped_to_int32_and_says_so)
{
    const int64_t dims[] = {3};
    struct ox_qparam pairs_[] = {{0.5f, 0}, {0.25f, 0}, {1e-12f, 0}};
    struct ox_qparams params = {OX_INT32, OX_FLOAT32, 0, 3, pairs_};
    struct ox_tensor *bias = floats(1, dims, (const float[]){1.25f, -1, 1}), *q;
    bool clipped;
    ck_assert_int_eq(ox_quantize_bias(&q, NULL, bias, &params, &clipped, NULL), OX_OK);
    ck_assert(clipped);
    ck_assert_mem_eq(q->data, ((const int32_t[]){2, -4, INT32_MAX}), 12);
    ox_tensor_release(q);
    ox_tensor_release(bias);
}
END_TEST

START_TEST(weights_scales_grow_where_a_bias_would_not_fit)
{
    const int64_t dims[] = {2};
    struct ox_qparam pairs_[] = {{1e-6f, 0}, {1e-6f, 0}};
    struct ox_qparams params = {OX_INT8, OX_FLOAT32, 0, 2, pairs_};
    struct ox_tensor *bias = floats(1, dims, (const float[]){100, 1e-6f});
    ck_assert(ox_qparams_repair(&params, 1e-4f, bias));
    double least = 1.0001 * 200 / 4294967294.0;
    ck_assert(fabs((double)pairs_[0].scale * 1e-4 / least - 1) < 1e-6);
    ck_assert(pairs_[1].scale == 1e-6f);
    ck_assert(!ox_qparams_repair(&params, 1, bias));
    ox_tensor_release(bias);
}
END_TEST

/* 16 samples: the first `heavy` with 100 times the noise of the others; b has `all` times a's, but for the first sample, which has `first`. */
static double gain_of(size_t heavy, double all, double first)
{
    struct ox_judged a = {.n_samples = 16}, b = {.n_samples = 16};
    for (size_t i = 0; i < a.n_samples; i++) {
        a.noise[i] = (i < heavy ? 100 : 1) + 0.01 * (double)i;
        b.noise[i] = a.noise[i] * (i == 0 ? first : all + 0.01 * (double)(i % 3));
    }
    return ox_judged_gain(&a, &b);
}

START_TEST(gains_of_nearly_all_samples_count_beside_a_few_that_are_far_noisier)
{
    ck_assert(gain_of(0, 0.8, 0.8) > 3);
    ck_assert(gain_of(2, 0.8, 0.8) > 3);   /* 1.4 by differences */
    ck_assert(gain_of(2, 1, 0.5) < 2);     /* one sample alone */
    ck_assert(gain_of(0, 1.25, 1.25) < 0); /* worse */
    ck_assert(gain_of(0, 1, 1) < 2);
}
END_TEST

START_TEST(no_noise_at_all_is_a_gain_and_no_number_sure)
{
    struct ox_judged a = {.n_samples = 4, .noise = {1, 2, 1, 2}}, none = {.n_samples = 4};
    ck_assert(ox_judged_gain(&a, &none) > 3);
    ck_assert(ox_judged_gain(&none, &a) < 0);
    ck_assert_double_eq(ox_judged_gain(&none, &none), 0);
    a.noise[1] = INFINITY;
    ck_assert(isinf(ox_judged_gain(&a, &none)));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("quant");
    tcase_add_loop_test(tests, ranges_of_integer_types, 0, (int)(sizeof ranges / sizeof *ranges));
    tcase_add_test(tests, hessians_lose_chance);
    tcase_add_loop_test(tests, scale_and_zero_point, 0, (int)(sizeof pairs / sizeof *pairs));
    tcase_add_test(tests, scales_of_float16_are_float16);
    tcase_add_test(tests, steady_kernels_are_common_ones_but_for_exact_ones);
    tcase_add_test(tests, small_ranges_of_float16_have_subnormal_scales);
    tcase_add_test(tests, rounds_half_to_even_and_clips_to_the_type);
    tcase_add_test(tests, a_scale_for_each_index_of_an_axis);
    tcase_add_test(tests, errors_of_the_weights_of_an_output_cancel);
    tcase_add_test(tests, errors_cancel_where_scales_differ);
    tcase_add_test(tests, what_is_no_number_is_refused);
    tcase_add_test(tests, a_bias_is_clipped_to_int32_and_says_so);
    tcase_add_test(tests, weights_scales_grow_where_a_bias_would_not_fit);
    tcase_add_test(tests, gains_of_nearly_all_samples_count_beside_a_few_that_are_far_noisier);
    tcase_add_test(tests, no_noise_at_all_is_a_gain_and_no_number_sure);
    Suite *suite = suite_create("quant");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
