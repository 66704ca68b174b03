/* Sums of products at -O2 with all that the processor has, against -O0 in plain C. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/every_level.h"
#include "tests/run_suite.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 18]> "

START_TEST(products_that_an_equation_names)
{
    static const struct {
        const char *equation;
        unsigned rank[2];
        const char *labels; /* of both inputs, as places in the sizes */
    } cases[] = {{"bij,bjk->bik", {3, 3}, "012023"},
                 {"bij,bkj->bik", {3, 3}, "012032"},
                 {"bij,bkj->bki", {3, 3}, "012032"},
                 {"ij,jk", {2, 2}, "0112"},
                 {"bqhd,bkhd->bhqk", {4, 4}, "01230423"},
                 {"bhqk,bkhd->bqhd", {4, 4}, "02140423"},
                 {"bhqd,khd->bhqk", {4, 3}, "0123413"},
                 {"bhwc,wkc->bhwk", {4, 3}, "0123243"},
                 {"bhwc,hkc->bhwk", {4, 3}, "0123143"},
                 {"ncv,vw->ncw", {3, 2}, "01223"},
                 {"nkcv,kvw->ncw", {4, 3}, "0123134"},
                 {"bqd,bkd->kbq", {3, 3}, "012032"},
                 {"bde,ce->bcd", {3, 2}, "01232"},
                 {"ij,kl->ijkl", {2, 2}, "0123"},
                 {"ij,ij->i", {2, 2}, "0101"},
                 {"ij,ij->", {2, 2}, "0101"},
                 {"iji,jk->ki", {3, 2}, "01012"},
                 {"abc,cd->ad", {3, 2}, "01223"}};
    struct dice d = {(uint64_t)_i * 17 + 9};
    const size_t c = (size_t)_i % OX_COUNT(cases);
    struct given in[INPUTS];
    int64_t sizes[5];
    char text[256];
    for (unsigned k = 0; k < 5; k++)
        sizes[k] = (int64_t)dice_between(&d, dice_between(&d, 0, 20) ? 1 : 0,
                                         dice_between(&d, 0, 2) ? 7 : 20);
    const char *label = cases[c].labels;
    for (unsigned i = 0; i < 2; i++) {
        size_t n = 1;
        in[i] = (struct given){OX_FLOAT32, cases[c].rank[i], {0}, NULL};
        for (unsigned k = 0; k < in[i].rank; k++) {
            in[i].dims[k] = sizes[*label++ - '0'];
            n *= (size_t)in[i].dims[k];
        }
        in[i].data = floats(&d, n, false);
    }
    static const char *const left[] = {"", "", "A,B", "A,B,C", "A,B,C,D"};
    static const char *const right[] = {"", "", "E,F", "E,F,G", "E,F,G,H"};
    snprintf(text, sizeof text,
             HEAD "g (float[%s] x, float[%s] z) => (y) { y = Einsum <equation = \"%s\"> (x, z) }",
             left[in[0].rank], right[in[1].rank], cases[c].equation);
    same_floats(text, in, 1e-5f);
}
END_TEST

/* One operand alone, which is what a reduction gives; of whole numbers, so that every order of summing is exact. */
START_TEST(sums_of_one_operand)
{
    static const struct {
        const char *equation, *axes;
    } cases[] = {{"abc->ab", "2"},   {"abc->a", "1, 2"},   {"abc->ac", "1"}, {"abc->b", "0, 2"},
                 {"abc->c", "0, 1"}, {"abc->", "0, 1, 2"}, {"abc->bc", "0"}};
    static const enum ox_dtype types[] = {OX_FLOAT32, OX_FLOAT64, OX_INT32, OX_INT64};
    struct dice d = {(uint64_t)_i * 29 + 13};
    char text[512];
    const size_t c = (size_t)_i % OX_COUNT(cases);
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {0}, NULL}};
    for (unsigned k = 0; k < 3; k++)
        in[0].dims[k] = (int64_t)dice_between(&d, 1, k == (size_t)_i / 7 % 3 ? 150 : 9);
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * in[0].dims[1] * in[0].dims[2]), false);
    snprintf(text, sizeof text,
             HEAD
             "g (float[A,B,C] x) => (y) <float f = {64}, int64[%zu] axes = {%s}> { m = Mul (x, f) "
             "v = Cast <to = %d> (m) e = Einsum <equation = \"%s\"> (v) "
             "s = ReduceSum <keepdims = 0> (v, axes) d = Sub (e, s) y = Cast <to = 1> (d) }",
             (strlen(cases[c].axes) + 2) / 3, cases[c].axes,
             (int)types[dice_between(&d, 0, OX_COUNT(types) - 1)], cases[c].equation);
    same_floats(text, in, 0);
    const size_t bytes = run_at(ox_cpu_probe(), 2, text, in, fast);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_eq(fast[i] & 0x7f, 0);
}
END_TEST

START_TEST(products_of_many_in_a_row)
{
    static float x[9];
    struct given in[INPUTS] = {{OX_FLOAT32, 2, {3, 3}, x}};
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = (float)i / 16;
    same_floats(HEAD "g (float[A,A] x) => (y) { y = Einsum <equation = "
                     "\"ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl,lm->ma\"> "
                     "(x, x, x, x, x, x, x, x, x, x, x, x) }",
                in, 1e-5f);
}
END_TEST

/* Sums of products take what is below FLT_MIN for zeros; nothing else does. */
START_TEST(products_of_tiny_numbers_alone_come_to_nothing)
{
    static float ones[64 * 64];
    for (size_t i = 0; i < 64 * 64; i++)
        ones[i] = 1;
    const struct given in[INPUTS] = {{OX_FLOAT32, 2, {64, 64, 0, 0}, ones}};
    const float *y = (const float *)(const void *)fast;
    ck_assert_uint_eq(run_at(ox_cpu_probe(), 2,
                             HEAD "g (float[64,64] x) => (float[64,64] y) <float t = {1e-40}> "
                                  "{ d = Constant <value_ints = [64,64]> () "
                                  "w = ConstantOfShape <value = float[1] {1e-40}> (d) "
                                  "p = MatMul(x, w) n = Mul(p, p) o = Mul(x, t) y = Add(n, o) }",
                             in, fast),
                      sizeof ones);
    for (size_t i = 0; i < 64 * 64; i++)
        ck_assert_msg(y[i] == 1e-40f, "%zu: %g", i, (double)y[i]);
    ck_assert_uint_eq(run_at(ox_cpu_probe(), 2,
                             HEAD "g (float[64,64] x) => (float[64,64] y) "
                                  "{ d = Constant <value_ints = [64,64]> () "
                                  "w = ConstantOfShape <value = float[1] {1e-40}> (d) "
                                  "y = MatMul(x, w) }",
                             in, fast),
                      sizeof ones);
    for (size_t i = 0; i < 64 * 64; i++)
        ck_assert_msg(y[i] == 0, "%zu: %g", i, (double)y[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("products at every level");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, products_that_an_equation_names, 0, 180);
    tcase_add_loop_test(all, sums_of_one_operand, 0, 84);
    tcase_add_test(all, products_of_many_in_a_row);
    tcase_add_test(all, products_of_tiny_numbers_alone_come_to_nothing);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
