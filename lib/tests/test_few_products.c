/* Products of few rows by constant weights: what a session keeps for them, and rows that become more and fewer. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/fixed24.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { K = 512, N = 640, ROWS_MOST = 40 }; /* as many weights as any level wants of 24 bits */

/* x W + 1, W of K x N, by MatMul as they lie, or turned by Gemm; no y below 0. */
static void open_product(struct text_run *f, const float *w, bool turned)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, "<ir_version: 8, opset_import: [\"\" : 13]>\n"
                          "g (float[R,512] x) => (float[R,640] y) <float one = {1}, float[");
    ox_strbuf_puts(&text, turned ? "640,512] w = {" : "512,640] w = {");
    for (size_t i = 0; i < K * N; i++)
        ox_strbuf_printf(&text, "%s%.4f", i ? "," : "", (double)w[turned ? i % K * N + i / K : i]);
    ox_strbuf_puts(&text, turned ? "}> { a = Gemm <transB = 1> (x, w) " : "}> { a = MatMul(x, w) ");
    ox_strbuf_puts(&text, "b = Add(a, one) y = Relu(b) }");
    ck_assert(!text.failed);
    text_must_plan(f, ox_strbuf_text(&text, NULL), &(struct ox_run_options){.level = 2});
    ox_strbuf_release(&text);
}

static float *numbers(struct dice *d, size_t n)
{
    float *x = calloc(n, sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < n; i++)
        x[i] = roundf(dice_float(d) * 1e4f) * 1e-4f;
    return x;
}

static void run_rows(struct text_run *f, const float *x, const float *w, int64_t rows)
{
    ox_datum_release(f->in[0]);
    f->n_in = 0;
    text_give(f, OX_FLOAT32, 2, (const int64_t[]){rows, K}, x);
    text_must_run(f);
    const struct ox_tensor *y = ox_datum_get_tensor(f->out[0]);
    ck_assert_uint_eq(y->n, (size_t)rows * N);
    for (size_t i = 0; i < (size_t)rows; i++) {
        for (size_t j = 0; j < N; j += 7) {
            double sum = 1, size = 1;
            for (size_t p = 0; p < K; p++) {
                const double one = (double)x[i * K + p] * (double)w[p * N + j];
                sum += one;
                size += fabs(one);
            }
            ck_assert(fabs(ox_tensor_get_double(y, i * N + j) - fmax(sum, 0)) <=
                      size * 40 * 0x1p-24);
        }
    }
}

/* Weights as they were read, and what is kept beside them. */
static uint64_t kept_bytes(const struct text_run *f)
{
    struct ox_session_stats stats;
    ox_session_stats(f->session, &stats);
    return stats.weights_bytes;
}

static bool is_fixed(void)
{
    return ox_fixed24_least(ox_cpu(), 2) <= (size_t)K * N;
}

START_TEST(few_rows_have_weights_of_24_bits)
{
    struct dice d = {(uint64_t)_i};
    struct text_run f;
    float *w = numbers(&d, (size_t)K * N), *x = numbers(&d, ROWS_MOST * K);
    open_product(&f, w, _i);
    run_rows(&f, x, w, 2);
    run_rows(&f, x, w, 4);
    if (is_fixed()) {
        ck_assert_uint_gt(kept_bytes(&f), (uint64_t)K * N * 7);
        ck_assert_uint_lt(kept_bytes(&f), (uint64_t)K * N * 29 / 4);
    }
    run_rows(&f, x, w, ROWS_MOST);
    run_rows(&f, x, w, 1);
    text_close(&f);
    free(w);
    free(x);
}
END_TEST

/* One weight that is most of its column. */
START_TEST(uneven_weights_stay_as_they_are)
{
    struct dice d = {(uint64_t)_i};
    struct text_run f;
    float *w = numbers(&d, (size_t)K * N), *x = numbers(&d, ROWS_MOST * K);
    w[300 * N + 77] = 90000;
    open_product(&f, w, _i);
    run_rows(&f, x, w, 1);
    run_rows(&f, x, w, 3);
    if (is_fixed())
        ck_assert_uint_lt(kept_bytes(&f), (uint64_t)K * N * 4 + 10000);
    run_rows(&f, x, w, ROWS_MOST);
    run_rows(&f, x, w, 2);
    text_close(&f);
    free(w);
    free(x);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("few_products");
    TCase *tc = tcase_create("few_products");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, few_rows_have_weights_of_24_bits, 0, 2);
    tcase_add_loop_test(tc, uneven_weights_stay_as_they_are, 0, 2);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
