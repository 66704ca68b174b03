/* LinearAttention whose states have more columns than a kernel works on: each level near the sums in double, by two threads the same
 * bits. */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "kernels/cpu.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { BATCH = 2, STEPS = 7, K = 34, V = 70, HEADS = 2 };

static void run_states(struct text_run *run, const char *text, int level, unsigned threads,
                       struct guarded in[6], int64_t queries, int64_t decays)
{
    const int64_t dims[6][4] = {{BATCH, STEPS, queries * K}, {BATCH, STEPS, HEADS * K},
                                {BATCH, STEPS, HEADS * V},   {BATCH, HEADS, K, V},
                                {BATCH, STEPS, decays},      {BATCH, STEPS, HEADS}};
    text_open(run, text);
    ox_env_set_threads(run->env, threads);
    ck_assert_msg(text_plan(run, &(struct ox_run_options){.level = level}) == OX_OK, "%s",
                  run->err.message);
    for (size_t i = 0; i < 6; i++)
        text_give(run, OX_FLOAT32, i == 3 ? 4 : 3, dims[i], in[i].at);
    text_must_run(run);
}

/* Bits of _i: a past, gates of each row, queries that share keys, delta. */
START_TEST(columns_are_those_in_double)
{
    struct dice d = {(uint64_t)_i * 149 + 1};
    const int64_t queries = _i & 4 ? 2 * HEADS : HEADS, decays = _i & 2 ? HEADS * K : HEADS;
    struct guarded in[6];
    const size_t counts[6] = {BATCH * STEPS * (size_t)queries * K, BATCH * STEPS * HEADS * K,
                              BATCH * STEPS * HEADS * V,           BATCH * HEADS * K * V,
                              BATCH * STEPS * (size_t)decays,      BATCH * STEPS * HEADS};
    for (size_t i = 0; i < 6; i++) {
        in[i] = guarded_new(&d, counts[i], false);
        for (size_t k = 0; k < counts[i]; k++)
            in[i].at[k] = i == 4 ? -fabsf(in[i].at[k]) : in[i].at[k] / 8;
    }
    char text[1024];
    snprintf(
        text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]> g (float[2,7,%d] q, "
        "float[2,7,68] k, float[2,7,140] v, float[2,2,34,70] s, float[2,7,%d] d, float[2,7,2] "
        "b) => (float[2,7,%d] y, float[2,2,34,70] t) { y, t = com.microsoft.LinearAttention "
        "<q_num_heads = %d, kv_num_heads = 2, update_rule = \"%s\"> (q, k, v, %s, d, %s) }",
        (int)queries * K, (int)decays, (int)queries * V, (int)queries,
        _i & 8 ? "gated_delta" : "gated", _i & 1 ? "s" : "", _i & 8 ? "b" : "");
    struct text_run slow, one, two;
    run_states(&slow, text, 0, 1, in, queries, decays);
    ox_cpu_limit((enum ox_cpu)(_i / 16));
    run_states(&one, text, 2, 1, in, queries, decays);
    run_states(&two, text, 2, 2, in, queries, decays);
    ox_cpu_limit(ox_cpu_probe());
    for (int k = 0; k < 2; k++) {
        const struct ox_tensor *a = ox_datum_get_tensor(slow.out[k]),
                               *b = ox_datum_get_tensor(one.out[k]),
                               *c = ox_datum_get_tensor(two.out[k]);
        ck_assert_uint_gt(a->n, 0);
        ck_assert_uint_eq(a->n, b->n);
        for (size_t i = 0; i < a->n; i++) {
            const double want = ox_tensor_get_double(a, i);
            ck_assert(fabs(ox_tensor_get_double(b, i) - want) <= 2e-6 * (1 + fabs(want)));
        }
        ck_assert_mem_eq(b->data, c->data, b->n * sizeof(float));
    }
    text_close(&slow);
    text_close(&one);
    text_close(&two);
    for (size_t i = 0; i < 6; i++)
        guarded_free(&in[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("states");
    TCase *tcase = tcase_create("states");
    tcase_add_loop_test(tcase, columns_are_those_in_double, 0, 16 * ((int)ox_cpu_probe() + 1));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
