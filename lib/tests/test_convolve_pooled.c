/* First layers with their pools at every level of the processor: the bits of one after the other. */
#include <check.h>
#include <string.h>

#include "kernels/convolve_pooled.h"
#include "onnxtool.h"
#include "tests/check_fused.h"
#include "tests/random_conv.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

static struct ox_pooling random_pool(struct dice *d, const struct ox_conv *c)
{
    struct ox_pooling p = {.kind = OX_POOL_MAX,
                           .batch = c->batch,
                           .channels = c->out_channels,
                           .dilation = {1, 1},
                           .in_pixel = c->out_pixel,
                           .out_pixel = c->out_channels};
    for (unsigned k = 0; k < 2; k++) {
        p.in[k] = c->out[k];
        p.kernel[k] = dice_between(d, 1, 4);
        p.stride[k] = dice_between(d, 1, 3);
        p.pad[k] = dice_between(d, 0, p.kernel[k] - 1);
        p.pad_end[k] = dice_between(d, 0, p.kernel[k] - 1);
        const size_t all = p.in[k] + p.pad[k] + p.pad_end[k];
        p.out[k] = p.in[k] && all >= p.kernel[k] ? (all - p.kernel[k]) / p.stride[k] + 1 : 0;
    }
    return p;
}

static struct ox_conv random_first_layer(struct dice *d)
{
    struct ox_conv c;
    do
        c = random_conv(d, OX_CONV_PADDED);
    while (c.groups != 1);
    c.out_pixel = c.out_channels;
    return c;
}

START_TEST(pooled_first_layers_are_convolved_then_pooled)
{
    struct dice d = {(uint64_t)_i * 7877};
    struct ox_env *env = ox_env_new();
    const struct ox_compute *t = table_at((unsigned)_i % n_tables());
    const struct ox_conv c = random_first_layer(&d);
    const struct ox_pooling p = random_pool(&d, &c);
    const size_t pixel = c.planar ? c.in_channels : c.in_pixel;
    const size_t taps = c.in_channels * c.kernel[0] * c.kernel[1];
    const size_t n_out = p.batch * p.out[0] * p.out[1] * p.out_pixel;
    struct guarded in = guarded_new(&d, c.batch * c.in[0] * c.in[1] * pixel, true);
    struct guarded weights = guarded_new(&d, c.out_channels * taps, true);
    struct guarded bias = guarded_new(&d, c.out_channels, true);
    struct guarded packed = guarded_new(&d, ox_conv_packed(t, OX_CONV_PADDED, &c), false);
    struct guarded map = guarded_new(&d, c.batch * c.out[0] * c.out[1] * c.out_pixel, true);
    struct guarded want = guarded_new(&d, n_out, true), got = guarded_new(&d, n_out, true);
    struct guarded one = guarded_new(&d, ox_conv_work(t, NULL, OX_CONV_PADDED, &c), false);
    const struct ox_epilogue end = {.col_bias = bias.at};
    ox_env_set_threads(env, (unsigned)dice_between(&d, 1, 4));
    struct guarded both = guarded_new(&d, ox_conv_pooled_work(t, env, &c, &p), false);
    ox_conv_pack(t, NULL, OX_CONV_PADDED, &c, weights.at, OX_WEIGHT_F32, packed.at);
    ox_conv_run(t, NULL, OX_CONV_PADDED, &c, packed.at, in.at, map.at, &end, one.at);
    ox_maps_pool(t, NULL, &p, map.at, want.at);
    ox_conv_pooled(t, env, &c, &p, packed.at, in.at, got.at, &end, both.at);
    ck_assert_int_eq(memcmp(got.at, want.at, n_out * sizeof *want.at), 0);
    struct guarded *const all[] = {&in, &weights, &bias, &packed, &map, &want, &got, &one, &both};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        guarded_free(all[i]);
    ox_env_release(env);
}
END_TEST

START_TEST(a_pool_goes_into_the_first_layer_that_it_alone_reads)
{
    const char *const weights[] = {"20,3,3,3", "20", "5,20,1,1"};
    check_fused("g (float[2,3,39,47] x) => (float[A,B,C,D] y) { "
                "a = Conv <strides = [2,2]> (x, w0, w1) r = Relu(a) "
                "m = MaxPool <kernel_shape = [3,3], strides = [2,2], ceil_mode = 1> (r) "
                "y = Conv (m, w2) }",
                weights, 3, DIMS(2, 3, 39, 47), WANT({"FusedConv", 2}, {"MaxPool", 0}));
    check_fused("g (float[N,3,H,W] x) => (float[A,B,C,D] y) { "
                "a = Conv <pads = [1,1,1,1]> (x, w0, w1) r = LeakyRelu(a) "
                "m = MaxPool <kernel_shape = [2,3], strides = [2,1], pads = [0,1,0,1]> (r) "
                "y = Conv (m, w2) }",
                weights, 3, DIMS(1, 3, 31, 9), WANT({"FusedConv", 2}, {"MaxPool", 0}));
}
END_TEST

START_TEST(a_pool_stays_behind_a_map_that_others_read_and_where_it_rounds_up)
{
    const char *const weights[] = {"20,3,3,3", "20", "5,20,1,1"};
    check_fused("g (float[2,3,37,45] x) => (float[A,B,C,D] y, float[E,F,G,H] z) { "
                "a = Conv <strides = [2,2]> (x, w0, w1) "
                "m = MaxPool <kernel_shape = [3,3], strides = [2,2]> (a) "
                "y = Conv (m, w2) z = Conv (a, w2) }",
                weights, 3, DIMS(2, 3, 37, 45), WANT({"FusedConv", 3}, {"MaxPool", 1}));
    check_fused("g (float[2,3,36,45] x) => (float[A,B,C,D] y) { "
                "a = Conv (x, w0, w1) "
                "m = MaxPool <kernel_shape = [3,3], strides = [2,2], ceil_mode = 1> (a) "
                "y = Conv (m, w2) }",
                weights, 3, DIMS(2, 3, 36, 45), WANT({"FusedConv", 2}, {"MaxPool", 1}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convolve_pooled");
    TCase *tests = tcase_create("convolve_pooled");
    tcase_add_loop_test(tests, pooled_first_layers_are_convolved_then_pooled, 0, 6 * SHAPES);
    tcase_add_test(tests, a_pool_goes_into_the_first_layer_that_it_alone_reads);
    tcase_add_test(tests, a_pool_stays_behind_a_map_that_others_read_and_where_it_rounds_up);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
