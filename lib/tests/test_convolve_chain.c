/* Chains of convolutions in strips, against their stages one after another. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "kernels/convolve_chain.h"
#include "onnxtool.h"
#include "tests/random_conv.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

/* Runs the stages of a chain one after another. */
static void run_stages(struct dice *d, const struct ox_compute *t, const struct ox_chain *c,
                       const float *in, float *out)
{
    struct guarded maps[2] = {{0}}, work;
    const unsigned last = c->out_channels ? 2 : 1;
    for (unsigned s = c->in_channels ? 0 : 1; s <= last; s++) {
        const struct ox_conv conv = s == 1 ? c->depthwise : ox_chain_stage(c, s);
        const enum ox_conv_way way = s == 1 ? OX_CONV_DEPTHWISE : OX_CONV_POINTWISE;
        float *to = out;
        if (s < last) {
            maps[s] =
                guarded_new(d, conv.batch * conv.out[0] * conv.out[1] * conv.out_channels, false);
            to = maps[s].at;
        }
        work = guarded_new(d, ox_conv_work(t, NULL, way, &conv), false);
        ox_conv_run(t, NULL, way, &conv, c->packed[s], in, to, &c->end[s], work.at);
        guarded_free(&work);
        in = to;
    }
    for (unsigned s = 0; s < 2; s++)
        if (maps[s].at)
            guarded_free(&maps[s]);
}

START_TEST(a_chain_gives_the_bits_of_its_stages)
{
    struct dice d = {(uint64_t)_i * 15485863};
    struct ox_compute t = *table_at((unsigned)_i % n_tables());
    struct ox_env *env = ox_env_new();
    struct ox_chain c = {.depthwise = random_conv(&d, OX_CONV_DEPTHWISE)};
    struct ox_conv *dw = &c.depthwise;
    struct guarded weights, packed[3] = {{0}}, bias;
    dw->in_pixel = dw->out_pixel = dw->out_channels = dw->in_channels;
    c.in_channels = dice_between(&d, 0, 2) ? dice_between(&d, 1, 20) : 0;
    c.out_channels = !c.in_channels || dice_between(&d, 0, 1) ? dice_between(&d, 1, 20) : 0;
    if (c.out_channels && dice_between(&d, 0, 3) == 0)
        c.out_channels += 4000;                 /* weights that few rows would wait for */
    t.block_floats = dice_between(&d, 1, 4000); /* strips of a row or more */
    ox_env_set_threads(env, 1 + (unsigned)_i % 3);
    bias = guarded_new(&d, 4020, true);
    for (unsigned s = 0; s < 3; s++) {
        const struct ox_conv conv = s == 1 ? *dw : ox_chain_stage(&c, s);
        const enum ox_conv_way way = s == 1 ? OX_CONV_DEPTHWISE : OX_CONV_POINTWISE;
        if (conv.in_channels == 0 || conv.out_channels == 0)
            continue;
        weights = guarded_new(&d,
                              conv.out_channels * conv.in_channels / conv.groups * conv.kernel[0] *
                                  conv.kernel[1],
                              true);
        packed[s] = guarded_new(&d, ox_conv_packed(&t, way, &conv), false);
        ox_conv_pack(&t, env, way, &conv, weights.at, OX_WEIGHT_F32, packed[s].at);
        guarded_free(&weights);
        c.packed[s] = packed[s].at;
        c.end[s] = (struct ox_epilogue){.col_bias = bias.at, .act = OX_ACT_CLIP, .hi = INFINITY};
    }
    const size_t channels = c.out_channels ? c.out_channels : dw->out_channels;
    const size_t n = dw->batch * dw->out[0] * dw->out[1] * channels;
    struct guarded in = guarded_new(
        &d, dw->batch * dw->in[0] * dw->in[1] * (c.in_channels ? c.in_channels : dw->in_channels),
        true);
    struct guarded residual = guarded_new(&d, n, true), out = guarded_new(&d, n, true);
    struct guarded want = guarded_new(&d, n, true);
    struct guarded work = guarded_new(&d, ox_chain_work(&t, env, &c), false);
    c.end[c.out_channels ? 2 : 1].residual = residual.at;
    c.end[c.out_channels ? 2 : 1].residual_ld = channels;
    c.end[c.out_channels ? 2 : 1].residual_last = dice_between(&d, 0, 1);
    ox_chain_run(&t, env, &c, in.at, out.at, work.at);
    if (n)
        run_stages(&d, &t, &c, in.at, want.at);
    if (n)
        ck_assert_mem_eq(out.at, want.at, n * sizeof(float));
    struct guarded *all[] = {&in, &out, &want, &work, &residual, &bias};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        guarded_free(all[i]);
    for (unsigned s = 0; s < 3; s++)
        if (packed[s].at)
            guarded_free(&packed[s]);
    ox_env_release(env);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convolve: chains");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, a_chain_gives_the_bits_of_its_stages, 0, SHAPES);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
