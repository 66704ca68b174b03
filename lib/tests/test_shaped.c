#include <check.h>

#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]> "

static void give(struct text_run *f, int64_t n)
{
    const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    ck_assert_int_le(n, 8);
    ox_datum_release(f->in[0]);
    f->n_in = 0;
    text_give_floats(f, n, ones);
}

static void expect_counting(const struct ox_datum *datum, int64_t n, double from)
{
    const struct ox_tensor *tensor = ox_datum_get_tensor(datum);
    ck_assert_ptr_nonnull(tensor);
    ck_assert_uint_eq(tensor->n, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq(ox_tensor_get_double(tensor, (size_t)i), from + (double)i);
}

static size_t events_of(const struct text_run *f)
{
    size_t n;
    ox_session_events(f->session, &n);
    return n;
}

/* Positions of a sequence: the last node alone needs values. */
static const char positions[] =
    HEAD "g (float[N] x) => (float[N] y, int64[M] r)"
         "<int64 zero = {0}, int64 one = {1}> { s = Shape(x) n = Squeeze(s)"
         "  r = Range(zero, n, one) f = Cast<to = 1>(r) y = Add(f, x) }";

START_TEST(what_follows_from_sizes_is_made_again_when_they_change)
{
    struct text_run f;
    const struct ox_run_options options = {.level = 2, .profile = true};
    text_must_plan(&f, positions, &options);
    const int64_t sizes[] = {3, 3, 5, 5, 2, 8, 3, 3};
    size_t most = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        give(&f, sizes[i]);
        text_must_run(&f);
        expect_counting(f.out[0], sizes[i], 1);
        expect_counting(f.out[1], sizes[i], 0);
        const bool same = i > 0 && sizes[i] == sizes[i - 1];
        if (i == 0)
            most = events_of(&f);
        ck_assert_uint_eq(events_of(&f), same ? 1 : most);
    }
    ck_assert_uint_gt(most, 2);
    text_close(&f);
}
END_TEST

START_TEST(a_failed_run_leaves_nothing_of_other_sizes)
{
    struct text_run f;
    const struct ox_run_options options = {.level = 2};
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (int64[M] r, float[A, B] y)"
                        "<int64 zero = {0}, int64 one = {1}, int64[2] pair = {2, -1}>"
                        "{ s = Shape(x) n = Squeeze(s) y = Reshape(x, pair)"
                        "  r = Range(zero, n, one) }",
                   &options);
    give(&f, 4);
    text_must_run(&f);
    give(&f, 5);
    ck_assert_int_ne(text_run_once(&f), OX_OK);
    for (int64_t n = 4; n <= 8; n += 2) {
        give(&f, n);
        text_must_run(&f);
        expect_counting(f.out[0], n, 0);
    }
    text_close(&f);
}
END_TEST

START_TEST(kept_values_are_not_overwritten)
{
    struct text_run f;
    const struct ox_run_options options = {.level = 2};
    /* Mul could else take the place of what Cast has made. */
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (float[N] y) <int64 zero = {0}, int64 one = {1}> {"
                        "  s = Shape(x) n = Squeeze(s) r = Range(zero, n, one)"
                        "  f = Cast<to = 1>(r) y = Mul(f, x) }",
                   &options);
    for (unsigned turn = 0; turn < 4; turn++) {
        give(&f, 6);
        text_must_run(&f);
        expect_counting(f.out[0], 6, 0);
    }
    text_close(&f);
}
END_TEST

START_TEST(random_values_are_drawn_every_time)
{
    struct text_run f;
    const struct ox_run_options options = {.level = 2, .profile = true};
    text_must_plan(&f,
                   HEAD "g (float[N] x) => (float[N] y)"
                        "{ s = Shape(x) z = ConstantOfShape(s) u = RandomUniformLike(z)"
                        "  y = Add(u, x) }",
                   &options);
    for (unsigned turn = 0; turn < 2; turn++) {
        give(&f, 6);
        text_must_run(&f);
        ck_assert_uint_ge(events_of(&f), 2);
    }
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shaped");
    TCase *tests = tcase_create("shaped");
    tcase_add_test(tests, what_follows_from_sizes_is_made_again_when_they_change);
    tcase_add_test(tests, a_failed_run_leaves_nothing_of_other_sizes);
    tcase_add_test(tests, kept_values_are_not_overwritten);
    tcase_add_test(tests, random_values_are_drawn_every_time);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
