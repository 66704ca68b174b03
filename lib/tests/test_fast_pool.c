/* MaxPool and AveragePool of planes: the quick form against the reference. */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { MOST = 4096 };

struct random_pool {
    char text[600];
    unsigned rank;
    int64_t dims[4];
    bool max;
};

/* A window that fits the plane, so that there is an output. */
static void draw_pool(struct dice *d, struct random_pool *p)
{
    size_t kernel[2], stride[2], dilation[2], pad[4];
    const unsigned axes = dice_between(d, 0, 3) ? 2 : 1;
    p->rank = axes + 2;
    p->max = dice_between(d, 0, 1);
    p->dims[0] = (int64_t)dice_between(d, 1, 2);
    p->dims[1] = (int64_t)dice_between(d, 1, 3);
    for (unsigned a = 0; a < axes; a++) {
        kernel[a] = dice_between(d, 1, 5);
        stride[a] = dice_between(d, 1, 4);
        dilation[a] = dice_between(d, 1, 2);
        pad[a] = dice_between(d, 0, kernel[a] - 1);
        pad[a + axes] = dice_between(d, 0, kernel[a] - 1);
        const size_t reach = (kernel[a] - 1) * dilation[a] + 1;
        p->dims[2 + a] = (int64_t)dice_between(d, reach, reach + 17);
    }
    char lists[4][40];
    for (unsigned i = 0; i < 4; i++) {
        const size_t *list[] = {kernel, stride, dilation, pad};
        size_t at = 0;
        for (unsigned a = 0; a < axes * (i == 3 ? 2 : 1); a++)
            at += (size_t)snprintf(lists[i] + at, sizeof lists[i] - at, "%s%zu", a ? "," : "",
                                   list[i][a]);
    }
    snprintf(p->text, sizeof p->text,
             "<ir_version: 10, opset_import: [\"\" : 22]> g (float[%s] x) => (float[%s] y) { "
             "y = %s <kernel_shape = [%s], strides = [%s], dilations = [%s], pads = [%s], "
             "ceil_mode = %d%s> (x) }",
             axes == 2 ? "N,C,H,W" : "N,C,W", axes == 2 ? "N,C,P,Q" : "N,C,Q",
             p->max ? "MaxPool" : "AveragePool", lists[0], lists[1], lists[2], lists[3],
             (int)dice_between(d, 0, 1),
             !p->max && dice_between(d, 0, 1) ? ", count_include_pad = 1" : "");
}

static size_t run_level(const struct random_pool *p, int level, const float *x, float *out)
{
    struct text_run f;
    const struct ox_run_options options = {.level = level};
    text_must_plan(&f, p->text, &options);
    text_give(&f, OX_FLOAT32, p->rank, p->dims, x);
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    const size_t n = y->n;
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++)
        out[i] = ((const float *)y->data)[i];
    text_close(&f);
    return n;
}

START_TEST(windows_of_all_forms)
{
    static float x[MOST], slow[MOST], fast[MOST];
    struct dice d = {(uint64_t)_i * 131 + 7};
    struct random_pool p;
    size_t n = 1;
    draw_pool(&d, &p);
    for (unsigned a = 0; a < p.rank; a++)
        n *= (size_t)p.dims[a];
    ck_assert_uint_le(n, MOST);
    const bool odd = dice_between(&d, 0, 2) == 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t roll = dice_between(&d, 0, 9);
        x[i] = odd && roll == 0 ? NAN : odd && roll == 1 ? -INFINITY : dice_float(&d);
    }
    const size_t n_slow = run_level(&p, 0, x, slow), n_fast = run_level(&p, 2, x, fast);
    ck_assert_uint_eq(n_slow, n_fast);
    for (size_t i = 0; i < n_slow; i++) {
        const float apart = fabsf(slow[i] - fast[i]);
        const bool same = slow[i] == fast[i] || (isnan(slow[i]) && isnan(fast[i]));
        ck_assert_msg(same || (!p.max && apart <= 1e-6f * (1 + fabsf(slow[i]))),
                      "%s: %zu: %g, not %g", p.text, i, fast[i], slow[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_pool");
    TCase *tcase = tcase_create("fast_pool");
    tcase_add_loop_test(tcase, windows_of_all_forms, 0, 300);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
