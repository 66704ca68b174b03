/* Passes of `optimize` that put what stands beside weights into them, and how large those become. */
#include <check.h>
#include <string.h>

#include "tests/becomes.h"
#include "tests/run_suite.h"

#define NORM                                                                                       \
    "float[2] g = {2, 3}, float[2] b = {0.5, -1}, float[2] m = {1, -2}, float[2] v = {4, 0.25}"

START_TEST(batch_norm_goes_into_a_convolution)
{
    becomes(HEAD
            "g (float[1,2,3,3] x) => (float[1,2,A,B] y) <float[2,2,1,1] w = {1, -2, 3, 0.5}, " NORM
            "> { c = Conv(x, w) y = BatchNormalization(c, g, b, m, v) }",
            "Conv", 4, SHAPE(1, 2, 3, 3));
}
END_TEST

START_TEST(batch_norm_goes_into_a_grouped_transposed_convolution)
{
    becomes(HEAD
            "g (float[1,4,2,2] x) => (float[1,2,A,B] y) <float[4,1,2,1] w = {1, -2, 3, 0.5, 4, 5, "
            "-6, 7}, float[2] d = {3, 4}, " NORM "> { c = ConvTranspose <group = 2> (x, w, d) "
            "y = BatchNormalization(c, g, b, m, v) }",
            "ConvTranspose", 4, SHAPE(1, 4, 2, 2));
}
END_TEST

START_TEST(batch_norm_goes_into_gemm)
{
    becomes(HEAD
            "g (float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, -2, 3, 0.5}, float[2] d = {3, "
            "4}, " NORM "> { c = Gemm <transB = 1, alpha = 2.0, beta = 0.5> (x, w, d) "
            "y = BatchNormalization(c, g, b, m, v) }",
            "Gemm", 2, SHAPE(3, 2));
}
END_TEST

START_TEST(batch_norm_of_a_flattened_product_goes_into_it)
{
    becomes(HEAD "g (float[1,3,2] x) => (float[A,B] y) <float[2,2] w = {1, -2, 3, 0.5}, " NORM
                 "> { c = MatMul(x, w) f = Flatten <axis = 2> (c) "
                 "n = BatchNormalization(f, g, b, m, v) y = Neg(n) }",
            "MatMul Add Flatten Neg", 3, SHAPE(1, 3, 2));
}
END_TEST

START_TEST(batch_norm_stays_where_flattening_moves_channels)
{
    becomes(HEAD "g (float[1,2,4] x) => (float[A,B] y) <float[4,4] w = {1, -2, 3, 0.5, 2, 1, 0, "
                 "-1, 4, 3, -2, 1, 1, 0, 2, 2}, int64[2] t = {4, 2}, " NORM
                 "> { c = MatMul(x, w) f = Reshape(c, t) n = BatchNormalization(f, g, b, m, v) "
                 "y = Neg(n) }",
            "MatMul Reshape BatchNormalization Neg", 3, SHAPE(1, 2, 4));
}
END_TEST

START_TEST(batch_norm_stays_where_the_convolution_is_used_twice)
{
    becomes(HEAD
            "g (float[1,2,2,2] x) => (float[1,2,A,B] y) <float[2,2,1,1] w = {1, -2, 3, 0.5}, " NORM
            "> { c = Conv(x, w) d = BatchNormalization(c, g, b, m, v) y = Add(c, d) }",
            "Conv BatchNormalization Add", 4, SHAPE(1, 2, 2, 2));
}
END_TEST

START_TEST(a_factor_a_column_goes_into_a_product_and_a_sum_does_not)
{
    becomes(HEAD
            "g (float[1,3,2] x) => (float[1,3,2] y) <float[2,2] w = {1, -2, 3, 0.5}, float[2] s = "
            "{2, 4}> { p = MatMul(x, w) q = Div(p, s) y = Add(q, s) }",
            "MatMul Add", 3, SHAPE(1, 3, 2));
}
END_TEST

START_TEST(a_constant_of_another_axis_stays)
{
    becomes(HEAD "g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2,2,1,1] w = {1, -2, 3, 0.5}, "
                 "float[2] s = {2, 4}> { c = Conv(x, w) y = Mul(c, s) }",
            "Conv Mul", 4, SHAPE(1, 2, 2, 2));
}
END_TEST

START_TEST(padding_goes_into_a_convolution_and_an_average)
{
    becomes(HEAD
            "g (float[1,1,3,3] x) => (float[1,1,A,B] y) <float[1,1,2,2] w = {1, -2, 3, 0.5}, "
            "int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}> { a = Pad(x, p) c = Conv(a, w) d = Pad(c, p) "
            "y = AveragePool <kernel_shape = [2, 2]> (d) }",
            "Conv AveragePool", 4, SHAPE(1, 1, 3, 3));
}
END_TEST

START_TEST(padding_by_another_value_or_of_channels_stays)
{
    becomes(HEAD "g (float[1,1,3,3] x) => (float[1,1,A,B] y) <float[1,1,2,2] w = {1, -2, 3, 0.5}, "
                 "float o = {1}, int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}> { a = Pad(x, p, o) "
                 "y = Conv(a, w) }",
            "Pad Conv", 4, SHAPE(1, 1, 3, 3));
}
END_TEST

/* The first node's weights are of that size when it is optimized. */
static void has_weights(const char *text, unsigned rank, const int64_t *dims)
{
    struct text_run f;
    text_open(&f, text);
    ck_assert_msg(ox_optimize(f.model, NULL, NULL, &f.err) == OX_OK, "%s", f.err.message);
    const struct ox_stored *weights = f.model->graph->nodes[0]->inputs[1]->init;
    ck_assert_ptr_nonnull(weights);
    ck_assert_uint_eq(weights->rank, rank);
    ck_assert_mem_eq(weights->dims, dims, rank * sizeof *dims);
    text_close(&f);
}

START_TEST(taps_that_meet_padding_alone_go)
{
    const char *const line =
        HEAD "g (float[1,1,1,4] x) => (float[1,1,A,B] y) <float[1,1,3,3] w = {1, -2, 3, 0.5, 4, "
             "5, -6, 7, 8}> { y = Conv <pads = [1, 1, 1, 1], kernel_shape = [3, 3], "
             "strides = [1, 2]> (x, w) }";
    const char *const wide =
        HEAD "g (float[1,1,4,4] x) => (float[1,1,A,B] y) <float[1,1,3,3] w = {1, -2, 3, 0.5, 4, "
             "5, -6, 7, 8}> { y = Conv <pads = [4, 3, 4, 3], dilations = [4, 3]> (x, w) }";
    becomes(line, "Conv", 4, SHAPE(1, 1, 1, 4));
    has_weights(line, 4, SHAPE(1, 1, 1, 3));
    becomes(wide, "Conv", 4, SHAPE(1, 1, 4, 4));
    has_weights(wide, 4, SHAPE(1, 1, 1, 3));
}
END_TEST

START_TEST(taps_go_of_weights_at_any_address)
{
    struct text_run f;
    const float taps[] = {1, -2, 3, 0.5F, 4, 5, -6, 7, 8};
    uint8_t raw[sizeof taps + 1];
    text_open(&f, HEAD "g (float[1,1,1,4] x) => (float[1,1,A,B] y) <float[1,1,3,3] w = {0, 0, 0, "
                       "0, 0, 0, 0, 0, 0}> "
                       "{ y = Conv <pads = [1, 1, 1, 1]> (x, w) }");
    struct ox_stored *stored =
        (struct ox_stored *)(uintptr_t)f.model->graph->nodes[0]->inputs[1]->init;
    memcpy(raw + 1, taps, sizeof taps);
    stored->place = OX_STORED_RAW;
    stored->raw = raw + 1;
    stored->raw_bytes = sizeof taps;
    ck_assert_int_eq(ox_optimize(f.model, NULL, NULL, &f.err), OX_OK);
    const struct ox_stored *kept = f.model->graph->nodes[0]->inputs[1]->init;
    ck_assert_int_eq(kept->place, OX_STORED_TENSOR);
    ck_assert_mem_eq(kept->tensor->data, taps + 3, 3 * sizeof *taps);
    text_close(&f);
}
END_TEST

/* A tap that meets the map at one output, weights that make NaN of padding, and padding that would have to be negative. */
START_TEST(taps_that_count_stay)
{
    const char *const met =
        HEAD "g (float[1,1,2,1] x) => (float[1,1,A,B] y) <float[1,1,3,1] w = {1, -2, 3}> "
             "{ y = Conv <pads = [1, 0, 1, 0]> (x, w) }";
    const char *const infinite =
        HEAD "g (float[1,1,1] x) => (float[1,1,A] y) <float[1,1,3] w = {inf, -2, 3}> "
             "{ y = Conv <pads = [1, 1]> (x, w) }";
    const char *const inner =
        HEAD "g (float[1,1,5] x) => (float[1,1,A] y) <float[1,1,3] w = {1, -2, 3}> "
             "{ y = Conv <pads = [1, 1], dilations = [3]> (x, w) }";
    becomes(met, "Conv", 4, SHAPE(1, 1, 2, 1));
    has_weights(met, 4, SHAPE(1, 1, 3, 1));
    has_weights(infinite, 3, SHAPE(1, 1, 3));
    becomes(inner, "Conv", 3, SHAPE(1, 1, 5));
    has_weights(inner, 3, SHAPE(1, 1, 3));
}
END_TEST

START_TEST(product_and_sum_become_gemm)
{
    becomes(HEAD
            "g (float[3,2] x) => (float[2,3] y) <float[2,2] w = {1, -2, 3, 0.5}, float[2,1] c = "
            "{3, 4}> { t = Transpose <perm = [1, 0]> (x) p = MatMul(w, t) y = Add(c, p) }",
            "Gemm", 2, SHAPE(3, 2));
}
END_TEST

START_TEST(a_sum_that_widens_the_product_stays)
{
    becomes(HEAD
            "g (float[1,2] x) => (float[A,2] y) <float[2,2] w = {1, -2, 3, 0.5}, float[2,1] c = "
            "{3, 4}> { p = MatMul(x, w) y = Add(c, p) }",
            "MatMul Add", 2, SHAPE(1, 2));
}
END_TEST

#define QUERY_AND_KEY                                                                              \
    "float[2,4] w = {1, -2, 3, 0.5, 1, 1, -1, 2}, float[4] b = {1, 2, 3, 4}, "                     \
    "float[2,4] u = {3, -2, 3, 1, 0, 1, -1, 1}, int64[4] s = {2, -1, 2, 2}"

START_TEST(products_that_share_their_left_side_become_gemm_of_rows)
{
    becomes(HEAD "g (float[2,3,2] x) => (float[2,3,2,2] y) <" QUERY_AND_KEY "> "
                 "{ p = MatMul(x, w) q = Add(p, b) qs = Reshape(q, s) k = MatMul(x, u) "
                 "v = Add(b, k) n = Neg(x) d = MatMul(n, w) vs = Reshape(v, s) e = Add(d, b) "
                 "es = Reshape(e, s) z = Sub(qs, es) y = Mul(z, vs) }",
            "Reshape Gemm Reshape Gemm Neg MatMul Reshape Add Reshape Sub Mul", 3, SHAPE(2, 3, 2));
}
END_TEST

START_TEST(products_stay_where_more_nodes_would_be_left_or_axes_are_copied)
{
    becomes(HEAD "g (float[2,3,2] x) => (float[2,3,2,2] y) <" QUERY_AND_KEY "> "
                 "{ p = MatMul(x, w) q = Add(p, b) y = Reshape(q, s) }",
            "MatMul Add Reshape", 3, SHAPE(2, 3, 2));
    becomes(HEAD "g (float[2,3,2] x) => (float[2,3,2,2] y, float[2,3,2,2] z) <int64[4] t = "
                 "{0, 0, 2, 2}, float[4] c = {4, 3, 2, 1}, " QUERY_AND_KEY "> { p = MatMul(x, w) "
                 "q = Add(p, b) y = Reshape(q, t) r = Add(p, c) z = Reshape(r, s) }",
            "MatMul Add Reshape Add Reshape", 3, SHAPE(2, 3, 2));
}
END_TEST

START_TEST(branches_over_one_input_become_one_convolution)
{
    becomes(HEAD
            "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,2,2] w = {1, -2, 3, 0.5, 1, 0, "
            "2, -1, 3, 1, 2, -2, 0.5, 1, 1, 4}, float[2,2,1,1] k = {1, -2, 3, 0.5}, " NORM
            "> { c = Conv <pads = [1,0,0,1]> (x, w, b) p = Conv(x, k, m) n = BatchNormalization(x, "
            "g, b, m, v) s = Add(c, p) y = Sub(n, s) }",
            "Conv", 4, SHAPE(1, 2, 3, 3));
    becomes(HEAD "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w = {1, -2, 3, 0.5}> "
                 "{ c = Conv(x, w) y = Add(c, x) }",
            "Conv Add", 4, SHAPE(1, 2, 3, 3));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("passes: weights");
    TCase *all = tcase_create("all");
    tcase_add_test(all, batch_norm_goes_into_a_convolution);
    tcase_add_test(all, batch_norm_goes_into_a_grouped_transposed_convolution);
    tcase_add_test(all, batch_norm_goes_into_gemm);
    tcase_add_test(all, batch_norm_of_a_flattened_product_goes_into_it);
    tcase_add_test(all, batch_norm_stays_where_flattening_moves_channels);
    tcase_add_test(all, batch_norm_stays_where_the_convolution_is_used_twice);
    tcase_add_test(all, a_factor_a_column_goes_into_a_product_and_a_sum_does_not);
    tcase_add_test(all, a_constant_of_another_axis_stays);
    tcase_add_test(all, padding_goes_into_a_convolution_and_an_average);
    tcase_add_test(all, padding_by_another_value_or_of_channels_stays);
    tcase_add_test(all, taps_that_meet_padding_alone_go);
    tcase_add_test(all, taps_go_of_weights_at_any_address);
    tcase_add_test(all, taps_that_count_stay);
    tcase_add_test(all, product_and_sum_become_gemm);
    tcase_add_test(all, a_sum_that_widens_the_product_stays);
    tcase_add_test(all, products_that_share_their_left_side_become_gemm_of_rows);
    tcase_add_test(all, products_stay_where_more_nodes_would_be_left_or_axes_are_copied);
    tcase_add_test(all, branches_over_one_input_become_one_convolution);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
