/* Which sums of uint8 by int8 can saturate, against all activations by every pair of terms. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "quant/saturation.h"
#include "tests/run_suite.h"

static uint32_t state;

static int random_below(int n)
{
    state = state * 1664525 + 1013904223;
    return (int)((uint64_t)(state >> 8) * (uint64_t)n >> 24);
}

/* Where term t of output o lies is worked out anew in at(). */
static const struct shape {
    const char *op_type;
    int64_t trans_b, group;
    unsigned rank;
    int64_t dims[5];
    size_t outputs, terms;
} shapes[] = {
    {"MatMul", 0, 1, 2, {6, 5}, 5, 6},         {"MatMul", 0, 1, 2, {7, 3}, 3, 7},
    {"MatMul", 0, 1, 3, {2, 5, 4}, 8, 5},      {"MatMul", 0, 1, 1, {9}, 1, 9},
    {"Gemm", 0, 1, 2, {5, 6}, 6, 5},           {"Gemm", 1, 1, 2, {4, 7}, 4, 7},
    {"Conv", 0, 1, 4, {3, 4, 2, 2}, 3, 16},    {"Conv", 0, 1, 4, {3, 3, 3, 3}, 3, 27},
    {"Conv", 0, 2, 4, {4, 5, 1, 3}, 4, 15},    {"Conv", 0, 1, 3, {2, 3, 4}, 2, 12},
    {"Conv", 0, 1, 5, {2, 3, 2, 1, 3}, 2, 18}, {"Conv", 0, 4, 4, {8, 1, 3, 3}, 8, 9},
    {"Conv", 0, 1, 4, {16, 1, 3, 3}, 16, 9},
};

static size_t at(const struct shape *s, size_t o, size_t t)
{
    const size_t last = (size_t)s->dims[s->rank - 1], channels = (size_t)s->dims[1];
    if (s->op_type[0] == 'C')
        return o * s->terms + t % channels * (s->terms / channels) + t / channels;
    if (s->rank == 1 || s->trans_b)
        return o * s->terms + t;
    return (o / last * s->terms + t) * last + o % last;
}

/* The largest activations, by channel; NULL: 255. */
static const uint8_t *most;

static int largest(const struct shape *s, size_t o, size_t t)
{
    const size_t channels = s->op_type[0] == 'C' ? (size_t)s->dims[1] : s->terms;
    const size_t group = s->op_type[0] == 'C' ? o / (s->outputs / (size_t)s->group) : 0;
    return most ? most[group * channels + t % channels] : 255;
}

/* The largest sums of a channel and the next one; NULL: of both largest. */
static const uint16_t *both;

static int largest_of_both(const struct shape *s, size_t o, size_t t)
{
    const size_t channels = s->op_type[0] == 'C' ? (size_t)s->dims[1] : s->terms;
    const size_t group = s->op_type[0] == 'C' ? o / (s->outputs / (size_t)s->group) : 0;
    const int x = largest(s, o, t), y = largest(s, o, t + 1);
    if (!both || t % channels + 1 == channels)
        return x + y;
    const int shown = both[group * channels + t % channels], least = x > y ? x : y;
    return shown < least ? least : shown;
}

/* By activations up to x and y that add up to `sum` at most. */
static bool leaves_16_bits(int a, int x, int b, int y, int sum)
{
    for (int i = 0; i <= x; i++) {
        const int j = sum - i < y ? sum - i : y, most_of_all = i * a + j * b, first = i * a;
        if (most_of_all > 32767 || most_of_all < -32768 || first > 32767 || first < -32768)
            return true;
    }
    return false;
}

static bool brute_force(const struct shape *s, const int8_t *weights)
{
    for (size_t o = 0; o < s->outputs; o++) {
        for (size_t t = 0; t + 1 < s->terms; t += 2) {
            if (leaves_16_bits(weights[at(s, o, t)], largest(s, o, t), weights[at(s, o, t + 1)],
                               largest(s, o, t + 1), largest_of_both(s, o, t)))
                return true;
        }
    }
    return false;
}

static bool sums_of(const struct shape *s, struct ox_saturation *sums)
{
    struct ox_attr attrs[] = {{.name = "group", .type = OX_ATTR_INT, .n = 1, .i = s->group},
                              {.name = "transB", .type = OX_ATTR_INT, .n = 1, .i = s->trans_b}};
    const struct ox_node node = {
        .name = "", .op_type = s->op_type, .domain = "", .attrs = attrs, .n_attrs = 2};
    return ox_saturation_of(sums, &node, s->rank, s->dims);
}

enum { TRIALS = 400, MOST = 256 };

START_TEST(what_can_saturate_is_what_some_activations_make_saturate)
{
    const struct shape *s = &shapes[_i];
    struct ox_saturation sums;
    int8_t weights[MOST];
    size_t n_can = 0;
    ck_assert(sums_of(s, &sums));
    ck_assert_uint_eq(sums.n_outputs, s->outputs);
    ck_assert_uint_eq(sums.n_terms, s->terms);
    state = (uint32_t)_i;
    for (int trial = 0; trial < TRIALS; trial++) {
        const int n = (int)(s->outputs * s->terms);
        memset(weights, 0, sizeof weights);
        /* Few that are large: one pair decides. */
        for (int i = 0; i < 2 + trial % 5; i++)
            weights[random_below(n)] =
                (int8_t)((random_below(2) ? 1 : -1) * (56 + random_below(20)));
        const bool can = brute_force(s, weights);
        ck_assert_int_eq(ox_saturation_can(&sums, 1, weights), can);
        n_can += can;
    }
    ck_assert_uint_gt(n_can, 2);
    ck_assert_uint_lt(n_can, TRIALS - TRIALS / 4);
}
END_TEST

START_TEST(a_pair_may_add_up_to_128_and_a_last_term_to_anything)
{
    const int64_t dims[] = {3};
    const struct ox_saturation sums = ox_saturation_of_columns(1, dims);
    ck_assert(!ox_saturation_can(&sums, 1, (const int8_t[]){64, 64, 127}));
    ck_assert(ox_saturation_can(&sums, 1, (const int8_t[]){64, 65, 0}));
    ck_assert(!ox_saturation_can(&sums, 1, (const int8_t[]){-1, -127, -128}));
    ck_assert(ox_saturation_can(&sums, 1, (const int8_t[]){-1, -128, 0}));
    ck_assert(!ox_saturation_can(&sums, 1, (const int8_t[]){127, -128, 0}));
}
END_TEST

START_TEST(what_is_computed_exactly_has_no_such_sums)
{
    static const struct shape exact[] = {{"Conv", 0, 8, 4, {8, 1, 3, 3}, 0, 0},
                                         {"Conv", 0, 1, 4, {1, 1, 3, 3}, 0, 0},
                                         {"ConvInteger", 0, 1, 4, {3, 4, 2, 2}, 0, 0},
                                         {"ConvTranspose", 0, 1, 4, {3, 4, 2, 2}, 0, 0},
                                         {"LSTM", 0, 1, 3, {1, 8, 4}, 0, 0}};
    for (size_t i = 0; i < OX_COUNT(exact); i++) {
        struct ox_saturation sums;
        ck_assert_msg(!sums_of(&exact[i], &sums), "%zu", i);
    }
}
END_TEST

/* Weights of all magnitudes, so that the largest of an output are not always a pair. */
static struct ox_tensor *random_values(const struct shape *s)
{
    struct ox_tensor *values;
    ck_assert_int_eq(ox_tensor_new(&values, NULL, OX_FLOAT32, s->rank, s->dims, NULL), OX_OK);
    for (size_t i = 0; i < values->n; i++) {
        const float v = (float)random_below(2001) / 1000 - 1;
        ((float *)values->data)[i] = random_below(3) ? v * v * v : v;
    }
    return values;
}

static struct ox_tensor *rounded(const struct ox_tensor *values, const struct ox_qparams *params)
{
    struct ox_tensor *weights;
    ck_assert_int_eq(ox_quantize_tensor(&weights, NULL, values, params, NULL), OX_OK);
    return weights;
}

/* The axis of scales an output; of stacks of matrices there is one scale. */
static int axis_of(const struct shape *s)
{
    return s->op_type[0] == 'C' || s->trans_b ? 0 : s->rank == 2 ? 1 : -1;
}

static bool saturates_by(const struct shape *s, const struct ox_tensor *values,
                         const struct ox_qparams *params)
{
    struct ox_tensor *weights = rounded(values, params);
    const bool saturates = brute_force(s, weights->data);
    ox_tensor_release(weights);
    return saturates;
}

static double squared_error(const struct ox_tensor *values, const struct ox_qparams *params)
{
    struct ox_tensor *weights = rounded(values, params), *back;
    double sum = 0;
    ck_assert_int_eq(ox_dequantize_tensor(&back, NULL, weights, params, NULL), OX_OK);
    for (size_t i = 0; i < back->n; i++) {
        const double d = (double)((float *)back->data)[i] - (double)((float *)values->data)[i];
        sum += d * d;
    }
    ox_tensor_release(back);
    ox_tensor_release(weights);
    return sum;
}

/* One scale that grew from `first`, all others being what they shall be. */
static void least_or_better(const struct shape *s, const struct ox_tensor *values,
                            struct ox_qparams *params, struct ox_qparam *pair, float first)
{
    const float chosen = pair->scale;
    const double error = squared_error(values, params);
    float low = first, high = chosen;
    for (int i = 0; i < 64; i++) {
        pair->scale = ox_qparam_scale(((double)low + (double)high) / 2, params->real);
        *(saturates_by(s, values, params) ? &low : &high) = pair->scale;
    }
    pair->scale = high;
    ck_assert(chosen >= high && (double)chosen < (double)high * 1.0145);
    ck_assert(error <= squared_error(values, params) * (1 + 1e-6));
    pair->scale = first;
    ck_assert(saturates_by(s, values, params));
    pair->scale = chosen;
}

static void widen(const struct shape *s, int axis, enum ox_dtype real, size_t *n_grown,
                  size_t *n_kept)
{
    struct ox_saturation sums;
    struct ox_tensor *values = random_values(s);
    struct ox_arena arena;
    struct ox_qparams params, before;
    double factor, largest = 1;
    ck_assert(sums_of(s, &sums));
    sums.most = most;
    sums.both = both;
    sums.n_most = sums.channels * (size_t)s->group;
    ox_arena_init(&arena, NULL);
    ck_assert_int_eq(ox_qparams_of_tensor(&params, &arena, values, axis, OX_INT8, real, true, false,
                                          false, NULL),
                     OX_OK);
    before = params;
    ck_assert_int_eq(ox_saturation_widen(&sums, 1, values, &params, &arena, &factor, NULL), OX_OK);
    ck_assert(!saturates_by(s, values, &params));
    for (size_t i = 0; i < params.n; i++) {
        const float scale = params.pairs[i].scale, first = before.pairs[i].scale;
        ck_assert(scale >= first && ox_qparam_scale((double)scale, real) == scale);
        largest = fmax(largest, (double)scale / (double)first);
        if (scale > first)
            least_or_better(s, values, &params, &params.pairs[i], first);
        *(scale > first ? n_grown : n_kept) += 1;
    }
    ck_assert(factor == largest && factor < 2.02);
    ox_arena_release(&arena);
    ox_tensor_release(values);
}

START_TEST(scales_grow_little_more_than_keeps_pairs_from_saturating)
{
    size_t n_grown = 0, n_kept = 0;
    state = (uint32_t)_i;
    for (int trial = 0; trial < TRIALS / 4; trial++)
        widen(&shapes[_i], trial % 2 ? axis_of(&shapes[_i]) : -1,
              trial % 4 < 2 ? OX_FLOAT32 : OX_FLOAT16, &n_grown, &n_kept);
    ck_assert_uint_gt(n_grown, 5);
    ck_assert_uint_gt(n_kept, 0);
}
END_TEST

START_TEST(what_channels_show_bounds_how_scales_grow)
{
    uint8_t shown[MOST];
    uint16_t together[MOST];
    size_t n_grown = 0, n_kept = 0;
    state = (uint32_t)_i + 1000;
    most = shown;
    for (int trial = 0; trial < TRIALS / 4; trial++) {
        for (size_t c = 0; c < MOST; c++)
            shown[c] = (uint8_t)(random_below(2) ? 255 : random_below(256));
        for (size_t c = 0; c < MOST; c++)
            together[c] = (uint16_t)(100 + random_below(410));
        both = trial % 3 ? together : NULL;
        widen(&shapes[_i], trial % 2 ? axis_of(&shapes[_i]) : -1, OX_FLOAT32, &n_grown, &n_kept);
    }
    most = NULL;
    both = NULL;
    ck_assert_uint_gt(n_grown, 5);
    ck_assert_uint_gt(n_kept, 5);
}
END_TEST

/* The same weights in two products, one of them by the transposed matrix: pairs of either have a weight in common. */
START_TEST(no_pair_of_several_sums_is_left_saturating_by_other_rounding)
{
    enum { N = 6 };
    const struct shape two[] = {{"Gemm", 0, 1, 2, {N, N}, N, N}, {"Gemm", 1, 1, 2, {N, N}, N, N}};
    size_t n_moved = 0;
    state = 1;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct ox_saturation sums[2];
        struct ox_tensor *values = random_values(two), *weights;
        struct ox_arena arena;
        struct ox_qparams params;
        double factor;
        ck_assert(sums_of(&two[0], &sums[0]) && sums_of(&two[1], &sums[1]));
        ox_arena_init(&arena, NULL);
        ck_assert_int_eq(ox_qparams_of_tensor(&params, &arena, values, -1, OX_INT8, OX_FLOAT32,
                                              true, false, false, NULL),
                         OX_OK);
        ck_assert_int_eq(ox_saturation_widen(sums, 2, values, &params, &arena, &factor, NULL),
                         OX_OK);
        weights = rounded(values, &params);
        int8_t *q = weights->data;
        for (size_t i = 0; i < weights->n; i++)
            q[i] = (int8_t)(q[i] + (q[i] > 2 && q[i] < 127) - (q[i] < -2 && q[i] > -127));
        n_moved += brute_force(&two[0], q) || brute_force(&two[1], q);
        ox_saturation_settle(sums, 2, values, &params, weights);
        ck_assert(!brute_force(&two[0], q) && !brute_force(&two[1], q));
        ox_tensor_release(weights);
        ox_tensor_release(values);
        ox_arena_release(&arena);
    }
    ck_assert_uint_gt(n_moved, TRIALS / 4);
}
END_TEST

START_TEST(what_one_sum_wants_is_looked_at_in_the_others_again)
{
    const struct shape two[] = {{"Gemm", 0, 1, 2, {2, 2}, 2, 2}, {"Gemm", 1, 1, 2, {2, 2}, 2, 2}};
    struct ox_qparam pair = {1, 0};
    const struct ox_qparams params = {OX_INT8, OX_FLOAT32, -1, 1, &pair};
    struct ox_saturation sums[2];
    struct ox_tensor *values = random_values(two), *weights;
    ck_assert(sums_of(&two[0], &sums[0]) && sums_of(&two[1], &sums[1]));
    memcpy(values->data, (const float[]){64, 64, 64, 0}, 4 * sizeof(float));
    weights = rounded(values, &params);
    memcpy(weights->data, (const int8_t[]){63, 66, 65, 0}, 4); /* 63 and 66 are a row */
    ox_saturation_settle(sums, 2, values, &params, weights);
    ck_assert_mem_eq(weights->data, ((const int8_t[]){64, 64, 64, 0}), 4);
    ox_tensor_release(weights);
    ox_tensor_release(values);
}
END_TEST

START_TEST(sums_of_the_same_pairs_each_have_activations_of_their_own)
{
    const struct shape columns = {"MatMul", 0, 1, 2, {4, 1}, 1, 4};
    struct ox_qparam pair = {1, 0};
    const struct ox_qparams params = {OX_INT8, OX_FLOAT32, -1, 1, &pair};
    const uint8_t shown[2][4] = {{255, 255, 0, 0}, {0, 0, 255, 255}};
    struct ox_saturation sums[2];
    struct ox_tensor *values = random_values(&columns), *weights;
    memcpy(values->data, (const float[]){64, 64, 64, 64}, 4 * sizeof(float));
    weights = rounded(values, &params);
    memset(weights->data, 66, 4);
    for (size_t i = 0; i < 2; i++) {
        sums[i] = ox_saturation_of_columns(2, values->dims);
        sums[i].most = shown[i];
        sums[i].n_most = 4;
    }
    ox_saturation_settle(sums, 1, values, &params, weights);
    ck_assert_mem_eq(weights->data, ((const int8_t[]){64, 64, 66, 66}), 4);
    ox_saturation_settle(sums, 2, values, &params, weights);
    ck_assert_mem_eq(weights->data, ((const int8_t[]){64, 64, 64, 64}), 4);
    ox_tensor_release(weights);
    ox_tensor_release(values);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("saturation");
    tcase_add_loop_test(tests, what_can_saturate_is_what_some_activations_make_saturate, 0,
                        (int)OX_COUNT(shapes));
    tcase_add_test(tests, a_pair_may_add_up_to_128_and_a_last_term_to_anything);
    tcase_add_test(tests, what_is_computed_exactly_has_no_such_sums);
    tcase_add_loop_test(tests, scales_grow_little_more_than_keeps_pairs_from_saturating, 0,
                        (int)OX_COUNT(shapes));
    tcase_add_loop_test(tests, what_channels_show_bounds_how_scales_grow, 0, (int)OX_COUNT(shapes));
    tcase_add_test(tests, no_pair_of_several_sums_is_left_saturating_by_other_rounding);
    tcase_add_test(tests, what_one_sum_wants_is_looked_at_in_the_others_again);
    tcase_add_test(tests, sums_of_the_same_pairs_each_have_activations_of_their_own);
    Suite *suite = suite_create("saturation");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
