/* ScatterND whose indices are a grid over a box: the updates themselves, or WriteBox; and what is no box. */
#include <check.h>

#include "tests/check_fused.h"
#include "tests/run_suite.h"

/* x[:, lo:hi] = n as exporters write it: a component for each axis, repeated along the others. */
#define INDICES(columns)                                                                           \
    "o = Constant <value_ints = [-1]> () t = Constant <value_ints = [2,3]> () "                    \
    "r = Constant <value = int64[2,1] {0, 1}> () c = Constant <value = int64[3] {" columns "}> ()" \
    " er = Expand(r, t) ec = Expand(c, t) ur = Unsqueeze(er, o) uc = Unsqueeze(ec, o) "            \
    "i = Concat <axis = -1> (ur, uc) "

START_TEST(a_box_of_all_the_data_is_the_updates)
{
    check_fused("g (float[2,3] x) => (float[2,3] y) { n = Neg(x) m = Exp(x) " INDICES(
                    "0, 1, 2") "y = ScatterND(m, i, n) }",
                LIST("1"), DIMS(2, 3), WANT({"ScatterND", 0}, {"Exp", 0}, {"WriteBox", 0}));
    check_fused("g (float[2,3] x) => (float[1,2,3] y) { n = Neg(x) "
                "i = Constant <value = int64[2,2] {0,0, 0,1}> () y = ScatterND(w0, i, n) }",
                LIST("1,2,3"), DIMS(2, 3), WANT({"ScatterND", 0}, {"Reshape", 1}));
}
END_TEST

START_TEST(a_box_of_some_of_the_data_is_copied)
{
    check_fused(
        "g (float[2,5] x) => (float[2,5] y) { m = Exp(x) s0 = Constant <value_ints = [0]> () "
        "s3 = Constant <value_ints = [3]> () s1 = Constant <value_ints = [1]> () "
        "n = Slice(x, s0, s3, s1) " INDICES("1, 2, 3") "y = ScatterND(m, i, n) }",
        LIST("1"), DIMS(2, 5), WANT({"WriteBox", 1}, {"ScatterND", 0}));
    check_fused("g (float[2,3,4] x) => (float[3,4,3,4] y) { "
                "i = Constant <value = int64[2,3,2] {1,-3, 1,-2, 1,-1, 2,0, 2,1, 2,2}> () "
                "a = Constant <value_ints = [3,4,3,4]> () e = Expand(w0, a) z = Neg(x) "
                "b = Constant <value_ints = [2,3,3,4]> () c = Constant <value_ints = [2,3,1,4]> () "
                "d = Reshape(z, c) n = Expand(d, b) y = ScatterND(e, i, n) }",
                LIST("3,4,1,4"), DIMS(2, 3, 4), WANT({"ScatterND", 1}));
    check_fused("g (float[2,3,4] x) => (float[3,4,4] y) { "
                "i = Constant <value = int64[2,3,2] {1,-3, 1,-2, 1,-1, 2,-3, 2,-2, 2,-1}> () "
                "y = ScatterND(w0, i, x) }",
                LIST("3,4,4"), DIMS(2, 3, 4), WANT({"WriteBox", 1}, {"ScatterND", 0}));
}
END_TEST

START_TEST(what_the_data_is_needed_for_besides_is_kept)
{
    check_fused(
        "g (float[2,5] x) => (float[2,5] y) { m = Exp(x) s0 = Constant <value_ints = [0]> () "
        "s3 = Constant <value_ints = [3]> () s1 = Constant <value_ints = [1]> () "
        "n = Slice(x, s0, s3, s1) " INDICES("2, 3, 4") "z = ScatterND(m, i, n) y = Sub(z, m) }",
        LIST("1"), DIMS(2, 5), WANT({"WriteBox", 1}));
}
END_TEST

START_TEST(what_is_no_box_stays)
{
    static const char *const no_box[] = {"0, 2, 1", "0, 2, 4", "3, 3, 3", "1, 1, 2"};
    for (size_t k = 0; k < OX_COUNT(no_box); k++) {
        struct ox_strbuf text;
        ox_strbuf_init(&text);
        ox_strbuf_printf(&text,
                         "g (float[2,3] x) => (float[2,5] y) { o = Constant <value_ints = [-1]> () "
                         "t = Constant <value_ints = [2,3]> () "
                         "r = Constant <value = int64[2,1] {0, 1}> () "
                         "c = Constant <value = int64[3] {%s}> () er = Expand(r, t) "
                         "ec = Expand(c, t) ur = Unsqueeze(er, o) uc = Unsqueeze(ec, o) "
                         "i = Concat <axis = -1> (ur, uc) y = ScatterND(w0, i, x) }",
                         no_box[k]);
        ck_assert(!text.failed);
        check_fused(text.data, LIST("2,5"), DIMS(2, 3), WANT({"ScatterND", 1}));
        ox_strbuf_release(&text);
    }
    /* Columns before rows; sums; the last of equal ones. */
    check_fused("g (float[3,2] x) => (float[2,3] y) { "
                "i = Constant <value = int64[3,2,2] {0,0, 1,0, 0,1, 1,1, 0,2, 1,2}> () "
                "y = ScatterND(w0, i, x) }",
                LIST("2,3"), DIMS(3, 2), WANT({"ScatterND", 1}));
    check_fused("g (float[2,3] x) => (float[4,3] y) { i = Constant <value = int64[2,1] {1, 2}> () "
                "y = ScatterND <reduction = \"add\"> (w0, i, x) }",
                LIST("4,3"), DIMS(2, 3), WANT({"ScatterND", 1}));
    check_fused("g (float[2,3] x) => (float[4,3] y) { i = Constant <value = int64[2,1] {1, 1}> () "
                "y = ScatterND(w0, i, x) }",
                LIST("4,3"), DIMS(2, 3), WANT({"ScatterND", 1}));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("write_boxes");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_box_of_all_the_data_is_the_updates);
    tcase_add_test(all, a_box_of_some_of_the_data_is_copied);
    tcase_add_test(all, what_the_data_is_needed_for_besides_is_kept);
    tcase_add_test(all, what_is_no_box_stays);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
