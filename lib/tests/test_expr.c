#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "model/expr.h"
#include "tests/run_suite.h"

static struct ox_exprs *pool;

static void setup(void)
{
    pool = ox_exprs_new(NULL);
    ck_assert_ptr_nonnull(pool);
}

static void teardown(void)
{
    ox_exprs_release(pool);
}

static const struct ox_expr *parse(const char *text)
{
    const struct ox_expr *e = ox_expr_parse(pool, text);
    ck_assert_msg(e != NULL, "cannot parse %s", text);
    return e;
}

/* The printed form of what `text` means. */
static void assert_prints(const char *text, const char *wanted)
{
    struct ox_strbuf out;
    ox_strbuf_init(&out);
    ox_expr_print(&out, parse(text));
    ck_assert_str_eq(out.data, wanted);
    ox_strbuf_release(&out);
}

static void assert_same(const char *a, const char *b)
{
    struct ox_strbuf out;
    ox_strbuf_init(&out);
    ox_expr_print(&out, parse(a));
    ck_assert_msg(parse(a) == parse(b), "%s is %s, not %s", a, out.data, b);
    ox_strbuf_release(&out);
}

START_TEST(sums_and_products_are_canonical)
{
    assert_same("a+b", "b+a");
    assert_same("(a+b)*(a-b)", "a*a-b*b");
    assert_same("a+a+a", "3*a");
    assert_same("a-a", "0");
    assert_same("2*(a+1)-2", "2*a");
    assert_prints("1+seq*batch", "seq*batch+1");
    assert_prints("0-a", "-a");
    assert_prints("4-a", "4-a");
}
END_TEST

START_TEST(division_takes_out_multiples)
{
    assert_same("(a*k)//k", "a");
    assert_same("(a*k+b)//k", "a+b//k");
    assert_same("(6*a+3)//3", "2*a+1");
    assert_same("(2*a+1)//4", "a//2");
    assert_same("(batch*seq*768+batch*768)//(12*batch*seq+12*batch)", "64");
    assert_same("(a*b)//(a*c)", "b//c");
    assert_same("(a+5)//2", "(a+1)//2+2");
    assert_same("ceil(a/1)", "a");
    assert_same("ceil(a/2)", "(a+1)//2");
    assert_same("(0-a)//2", "0-(a+1)//2");
    assert_same("((a+1)//2+1)//2", "(a+3)//4");
    assert_same("(a*8)%4", "0");
    assert_same("(a%4)//4", "0");
    ck_assert_ptr_null(ox_expr_parse(pool, "a//0"));
}
END_TEST

START_TEST(extremes_use_bounds)
{
    assert_same("max(a,a+1)", "a+1");
    assert_same("min(a,a+1)", "a");
    assert_same("max(a,0)", "a");
    assert_same("min(a,0)", "0");
    assert_same("max(a+1,1)", "a+1");
    assert_same("max(max(a,b),c)", "max(c,a,b)");
    assert_same("max(a,a)", "a");
    assert_same("max(2*a,2*b)", "2*max(a,b)");
    assert_same("max(a+2,b+1)", "1+max(a+1,b)");
    assert_same("min(max(a-1,0),a)", "max(a-1,0)");
    assert_same("max(a+b,a)", "a+b");
    assert_same("min(a%4,3)", "a%4");
}
END_TEST

START_TEST(broadcast_absorbs_what_it_has)
{
    const struct ox_expr *a = parse("a"), *b = parse("b"), *one = parse("1");
    const struct ox_expr *ab = ox_expr_broadcast(pool, a, b);
    ck_assert_ptr_eq(ox_expr_broadcast(pool, a, one), a);
    ck_assert_ptr_eq(ox_expr_broadcast(pool, ab, b), ab);
    ck_assert_ptr_eq(ox_expr_broadcast(pool, one, ab), ab);
    ck_assert_ptr_eq(ab, parse("max(a,b)*min(1,a,b)"));
    ck_assert_ptr_eq(ox_expr_broadcast(pool, parse("a+1"), parse("b+1")), parse("max(a,b)+1"));
}
END_TEST

START_TEST(different_expressions_are_told)
{
    ck_assert(ox_expr_differ(pool, parse("a"), parse("a+1")));
    ck_assert(ox_expr_differ(pool, parse("3"), parse("4")));
    ck_assert(ox_expr_differ(pool, parse("2*a"), parse("2*b+1")));
    ck_assert(!ox_expr_differ(pool, parse("a"), parse("b")));
    ck_assert(!ox_expr_differ(pool, parse("a"), parse("3")));
    ck_assert(!ox_expr_differ(pool, NULL, parse("3")));
    ck_assert(ox_expr_differ(pool, parse("a+4"), parse("3")));
}
END_TEST

START_TEST(overflow_and_growth_give_unknown)
{
    ck_assert_ptr_null(ox_expr_parse(pool, "9223372036854775807+1"));
    ck_assert_ptr_null(ox_expr_parse(pool, "9223372036854775807*a*2"));
    ck_assert_ptr_null(ox_expr_parse(pool, "99999999999999999999"));
    const struct ox_expr *sum = parse("1");
    for (int i = 0; i < 1000; i++)
        sum = ox_expr_add(pool, sum, ox_expr_fresh(pool, "x"));
    ck_assert_ptr_null(sum);
    const struct ox_expr *power = parse("a");
    for (int i = 0; i < 100; i++)
        power = ox_expr_mul(pool, power, parse("a"));
    ck_assert_ptr_null(power);
    ck_assert_ptr_null(ox_expr_add(pool, NULL, parse("1")));
}
END_TEST

START_TEST(fresh_symbols_are_new)
{
    ck_assert_ptr_eq(ox_expr_fresh(pool, "n"), parse("n"));
    parse("n_2");
    ck_assert_ptr_eq(ox_expr_fresh(pool, "n"), parse("n_1"));
    ck_assert_ptr_eq(ox_expr_fresh(pool, "n"), parse("n_3"));
}
END_TEST

START_TEST(signed_symbols_have_no_least_value)
{
    int64_t bound;
    const struct ox_expr *size = ox_expr_symbol(pool, "size[0]"), *zero = ox_expr_int(pool, 0);
    const struct ox_expr *e = ox_expr_fresh_signed(pool, "size[0]");
    const char *name;
    ck_assert(ox_expr_is_symbol(e, &name));
    ck_assert_str_eq(name, "size[0]_1");
    ck_assert(!ox_expr_least(e, &bound));
    ck_assert(ox_expr_has_signed(e) && !ox_expr_has_signed(size) && !ox_expr_has_signed(NULL));
    ck_assert_ptr_eq(ox_expr_max(pool, size, zero), size);
    const struct ox_expr *least = ox_expr_max(pool, e, zero);
    ck_assert_ptr_ne(least, e);
    ck_assert(ox_expr_least(least, &bound) && bound == 0);
    ck_assert(ox_expr_has_signed(ox_expr_sub(pool, size, least)));
    ox_expr_assume_positive(pool, e);
    ox_expr_assume_positive(pool, size);
    ck_assert(ox_exprs_assume_nothing(pool));
    ck_assert(!ox_expr_least(e, &bound));
    ck_assert(ox_expr_least(size, &bound) && bound == 0);
}
END_TEST

START_TEST(indexed_names_need_no_quotes)
{
    assert_prints("2*size[0]+x[1][2]_1", "2*size[0]+x[1][2]_1");
    assert_prints("'a[b]'+'a['+'a[1'", "'a[b]'+'a['+'a[1'");
    ck_assert_ptr_null(ox_expr_parse(pool, "a[b]"));
}
END_TEST

START_TEST(odd_names_are_quoted)
{
    const struct ox_expr *odd = ox_expr_symbol(pool, "batch size'+1");
    struct ox_strbuf out;
    ox_strbuf_init(&out);
    ox_expr_print(&out, ox_expr_add(pool, odd, parse("1")));
    ck_assert_str_eq(out.data, "'batch size\\'+1'+1");
    ck_assert_ptr_eq(ox_expr_parse(pool, out.data), ox_expr_add(pool, odd, parse("1")));
    ox_strbuf_release(&out);
    ck_assert_ptr_eq(parse("NonZero_3.count"), ox_expr_symbol(pool, "NonZero_3.count"));
}
END_TEST

START_TEST(sympys_spelling_of_extremes_is_read)
{
    ck_assert_ptr_eq(parse("Max(0, a - Min(3, b))"), parse("max(0,a-min(3,b))"));
    ck_assert_ptr_eq(parse("Max"), ox_expr_symbol(pool, "Max"));
}
END_TEST

START_TEST(replacing_a_symbol_simplifies)
{
    const struct ox_expr *e = parse("(a*b+1)//2+max(a,b)");
    ck_assert_ptr_eq(ox_expr_replace(pool, e, parse("b"), parse("4")), parse("2*a+max(a,4)"));
    ck_assert_ptr_eq(ox_expr_replace(pool, e, parse("c"), parse("4")), e);
    ck_assert_ptr_eq(ox_expr_replace(pool, e, parse("a"), parse("b")), parse("(b*b+1)//2+b"));
}
END_TEST

START_TEST(positive_symbols_simplify_what_follows)
{
    ox_expr_assume_positive(pool, parse("a"));
    assert_same("min(1,a)", "1");
    assert_same("max(a-1,0)", "a-1");
    ck_assert(ox_expr_differ(pool, parse("a"), parse("0")));
}
END_TEST

START_TEST(assumptions_are_taken_back)
{
    const struct ox_expr *a = parse("a"), *more = parse("max(a+b,2)*(a+1)");
    ox_expr_assume_positive(pool, a);
    assert_same("min(1,a)", "1");
    const struct ox_expr *later = parse("2*a+c//2");
    int64_t least;
    ck_assert(ox_expr_least(later, &least) && least == 2);
    ck_assert(ox_exprs_assume_nothing(pool));
    ck_assert(ox_expr_least(a, &least) && least == 0);
    ck_assert(ox_expr_least(later, &least) && least == 0);
    ck_assert(ox_expr_least(more, &least) && least == 2);
    ck_assert_ptr_ne(parse("min(1,a)"), parse("1"));
    ck_assert(!ox_expr_differ(pool, a, parse("0")));
}
END_TEST

START_TEST(ratios_are_in_lowest_terms)
{
    const struct ox_expr *over, *half = ox_expr_ratio(pool, parse("2*a+6*b"), 4);
    int64_t under;
    ck_assert_ptr_eq(half, ox_expr_ratio(pool, parse("a+3*b"), 2));
    ck_assert(ox_expr_ratio_parts(half, &over, &under));
    ck_assert_ptr_eq(over, parse("a+3*b"));
    ck_assert_int_eq(under, 2);
    ck_assert_ptr_eq(ox_expr_ratio(pool, parse("4*a"), 2), parse("2*a"));
    ck_assert(ox_expr_ratio_parts(parse("a"), &over, &under) && under == 1 && over == parse("a"));
    ck_assert(!ox_expr_ratio_parts(ox_expr_add(pool, half, parse("c")), &over, &under));
    ck_assert(!ox_expr_ratio_parts(NULL, &over, &under));
    ck_assert_ptr_eq(ox_expr_replace(pool, half, parse("b"), parse("a")), parse("2*a"));
}
END_TEST

START_TEST(bad_text_is_refused)
{
    static const char *const bad[] = {"",      "a+",      "(a",  "a b", "3x", "min(a",
                                      "min a", "ceil(a)", "a//", "'a",  "?",  "a)"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!ox_expr_parse(pool, bad[i]), "%s was read", bad[i]);
    char deep[5001];
    memset(deep, '(', 5000);
    deep[5000] = '\0';
    ck_assert_ptr_null(ox_expr_parse(pool, deep));
}
END_TEST

/* ---- Against plain arithmetic ----------------------------------------------------------------------------------- */

/* An expression as a tree, evaluated without any algebra. */
struct tree {
    int op; /* 0 number, 1 symbol, then + - * // ceil % min max broadcast */
    int64_t value;
    struct tree *a, *b;
};

static struct tree nodes[64];
static int n_nodes;
static int64_t symbols[4];
static const char *const names[4] = {"a", "b", "c", "d"};

static struct tree *random_tree(int depth)
{
    struct tree *t = &nodes[n_nodes++];
    *t = (struct tree){0};
    t->op = depth == 0 ? rand() % 2 : rand() % 11;
    if (t->op == 0)
        t->value = rand() % 3 ? rand() % 6 : rand() % 40 - 20;
    else if (t->op == 1)
        t->value = rand() % 4;
    if (t->op > 1) {
        t->a = random_tree(depth - 1);
        t->b = random_tree(depth - 1);
    }
    return t;
}

static const struct ox_expr *build(const struct tree *t)
{
    static const struct ox_expr *(*const ops[])(struct ox_exprs *, const struct ox_expr *,
                                                const struct ox_expr *) = {
        ox_expr_add, ox_expr_sub, ox_expr_mul, ox_expr_floordiv, ox_expr_ceildiv,
        ox_expr_mod, ox_expr_min, ox_expr_max, ox_expr_broadcast};
    if (t->op == 0)
        return ox_expr_int(pool, t->value);
    if (t->op == 1)
        return ox_expr_symbol(pool, names[t->value]);
    return ops[t->op - 2](pool, build(t->a), build(t->b));
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* false: divides by zero, or broadcasts what is not compatible. */
static bool compute(const struct tree *t, int64_t *value)
{
    int64_t a, b;
    *value = t->op == 0 ? t->value : t->op == 1 ? symbols[t->value] : 0;
    if (t->op <= 1)
        return true;
    if (!compute(t->a, &a) || !compute(t->b, &b))
        return false;
    switch (t->op) {
    case 2:
        *value = a + b;
        return true;
    case 3:
        *value = a - b;
        return true;
    case 4:
        *value = a * b;
        return true;
    case 5:
        if (b == 0)
            return false;
        *value = floor_quotient(a, b);
        return true;
    case 6:
        if (b == 0)
            return false;
        *value = -floor_quotient(-a, b);
        return true;
    case 7:
        if (b == 0)
            return false;
        *value = a - b * floor_quotient(a, b);
        return true;
    case 8:
        *value = a < b ? a : b;
        return true;
    case 9:
        *value = a > b ? a : b;
        return true;
    default:
        if (a < 0 || b < 0 || (a != b && a != 1 && b != 1))
            return false;
        *value = a == 1 ? b : a;
        return true;
    }
}

static bool lookup(void *arg, const char *symbol, int64_t *value)
{
    (void)arg;
    for (int i = 0; i < 4; i++) {
        if (strcmp(symbol, names[i]) == 0) {
            *value = symbols[i];
            return true;
        }
    }
    return false;
}

static void print_to(struct ox_strbuf *out, const struct ox_expr *e)
{
    ox_strbuf_init(out);
    ox_expr_print(out, e);
}

START_TEST(algebra_agrees_with_arithmetic)
{
    srand(7);
    int judged = 0;
    for (int i = 0; i < 15000; i++) {
        n_nodes = 0;
        const struct tree *tree = random_tree(3);
        const struct ox_expr *e = build(tree);
        if (!e)
            continue;
        struct ox_strbuf out;
        print_to(&out, e);
        ck_assert_msg(ox_expr_parse(pool, out.data) == e, "%s does not read back", out.data);
        int64_t least, greatest, value, ours;
        bool has_least = ox_expr_least(e, &least), has_greatest = ox_expr_greatest(e, &greatest);
        for (int j = 0; j < 12; j++) {
            for (int k = 0; k < 4; k++)
                symbols[k] = rand() % (j < 6 ? 4 : 100);
            if (!compute(tree, &value))
                continue;
            judged++;
            ck_assert_msg(ox_expr_eval(e, lookup, NULL, &ours) && ours == value,
                          "%s at %d %d %d %d: %lld, not %lld", out.data, (int)symbols[0],
                          (int)symbols[1], (int)symbols[2], (int)symbols[3], (long long)ours,
                          (long long)value);
            ck_assert_msg(!has_least || value >= least, "%s is %lld, below %lld", out.data,
                          (long long)value, (long long)least);
            ck_assert_msg(!has_greatest || value <= greatest, "%s is %lld, above %lld", out.data,
                          (long long)value, (long long)greatest);
        }
        ox_strbuf_release(&out);
    }
    ck_assert_int_gt(judged, 40000);
}
END_TEST

START_TEST(what_differs_is_never_equal)
{
    srand(8);
    int told = 0;
    for (int i = 0; i < 10000; i++) {
        n_nodes = 0;
        const struct tree *s = random_tree(2), *t = random_tree(2);
        if (!ox_expr_differ(pool, build(s), build(t)))
            continue;
        told++;
        for (int j = 0; j < 12; j++) {
            int64_t x, y;
            for (int k = 0; k < 4; k++)
                symbols[k] = rand() % 6;
            if (compute(s, &x) && compute(t, &y))
                ck_assert_int_ne(x, y);
        }
    }
    ck_assert_int_gt(told, 500);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expr");
    TCase *tcase = tcase_create("expr");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, sums_and_products_are_canonical);
    tcase_add_test(tcase, division_takes_out_multiples);
    tcase_add_test(tcase, extremes_use_bounds);
    tcase_add_test(tcase, broadcast_absorbs_what_it_has);
    tcase_add_test(tcase, different_expressions_are_told);
    tcase_add_test(tcase, overflow_and_growth_give_unknown);
    tcase_add_test(tcase, fresh_symbols_are_new);
    tcase_add_test(tcase, signed_symbols_have_no_least_value);
    tcase_add_test(tcase, indexed_names_need_no_quotes);
    tcase_add_test(tcase, odd_names_are_quoted);
    tcase_add_test(tcase, sympys_spelling_of_extremes_is_read);
    tcase_add_test(tcase, replacing_a_symbol_simplifies);
    tcase_add_test(tcase, positive_symbols_simplify_what_follows);
    tcase_add_test(tcase, assumptions_are_taken_back);
    tcase_add_test(tcase, ratios_are_in_lowest_terms);
    tcase_add_test(tcase, bad_text_is_refused);
    tcase_add_test(tcase, algebra_agrees_with_arithmetic);
    tcase_add_test(tcase, what_differs_is_never_equal);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
