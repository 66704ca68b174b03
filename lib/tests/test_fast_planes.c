/* MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool, Resize, GridSample and Conv of planes: the quick forms against the reference. */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { MOST = 240000 };

struct random_model {
    char text[1000];
    unsigned rank, other_rank; /* 0: no second input */
    int64_t dims[5], other[5];
    bool exact;
    float apart; /* 0: 1e-6 */
};

/* A window that fits the volume, so that there is an output. */
static void draw_pool(struct dice *d, struct random_model *p)
{
    size_t kernel[3], stride[3], dilation[3], pad[6];
    static const char *const shapes[][2] = {
        {"N,C,W", "N,C,Q"}, {"N,C,H,W", "N,C,P,Q"}, {"N,C,D,H,W", "N,C,O,P,Q"}};
    const unsigned axes = (unsigned)dice_between(d, 1, 3);
    p->rank = axes + 2;
    p->exact = dice_between(d, 0, 1); /* the largest */
    p->dims[0] = (int64_t)dice_between(d, 1, 2);
    p->dims[1] = (int64_t)dice_between(d, 1, 3);
    for (unsigned a = 0; a < axes; a++) {
        kernel[a] = dice_between(d, 1, 5);
        stride[a] = dice_between(d, 1, 4);
        dilation[a] = dice_between(d, 1, 2);
        pad[a] = dice_between(d, 0, kernel[a] - 1);
        pad[a + axes] = dice_between(d, 0, kernel[a] - 1);
        if (a == 0 && axes < 3 && dice_between(d, 0, 9) == 0) { /* long */
            kernel[a] = dice_between(d, 60, 260);
            dilation[a] = p->dims[0] = p->dims[1] = 1;
        } else if (a == axes - 1 && axes < 3 && dice_between(d, 0, 4) == 0) { /* wide */
            kernel[a] = dice_between(d, 8, 40);
            p->dims[0] = p->dims[1] = 1;
        }
        const size_t reach = (kernel[a] - 1) * dilation[a] + 1;
        p->dims[2 + a] = (int64_t)dice_between(d, reach, reach + (axes > 2 ? 3 : 17));
    }
    if (axes == 2 &&
        dice_between(d, 0, 7) == 0) { /* a column wide, of a plane that is not narrow */
        kernel[1] = stride[1] = 1;
        pad[1] = pad[3] = 0;
        p->dims[3] = (int64_t)dice_between(d, 33, 50);
    }
    char lists[4][40];
    for (unsigned i = 0; i < 4; i++) {
        const size_t *list[] = {kernel, stride, dilation, pad};
        size_t at = 0;
        for (unsigned a = 0; a < axes * (i == 3 ? 2 : 1); a++)
            at += (size_t)snprintf(lists[i] + at, sizeof lists[i] - at, "%s%zu", a ? "," : "",
                                   list[i][a]);
    }
    /* The largest of codes too, and where it lies. */
    static const struct {
        const char *before, *in, *out, *after;
    } forms[] = {{"", "x", "y", ""},
                 {"", "x", "v, i", "j = Cast <to = 1> (i) k = CastLike(j, v) y = Add(v, k)"},
                 {"", "x", "v, i", "y = Cast <to = 1> (i)"},
                 {"c = Cast <to = 11> (x)", "c", "v", "y = Cast <to = 1> (v)"},
                 {"c = Cast <to = 11> (x)", "c", "v, i",
                  "w = Cast <to = 1> (v) j = Cast <to = 1> (i) y = Add(w, j)"},
                 {"c = QuantizeLinear(x, step, uz)", "c", "v", "y = Cast <to = 1> (v)"},
                 {"c = QuantizeLinear(x, step, sz)", "c", "v", "y = Cast <to = 1> (v)"}};
    const size_t form = p->exact ? dice_between(d, 0, OX_COUNT(forms) - 1) : 0;
    snprintf(p->text, sizeof p->text,
             "<ir_version: 10, opset_import: [\"\" : 22]> g (float[%s] x) => (float[%s] y) "
             "<float step = {0.01}, uint8 uz = {100}, int8 sz = {9}> { %s "
             "%s = %s <kernel_shape = [%s], strides = [%s], dilations = [%s], pads = [%s], "
             "ceil_mode = %d%s> (%s) %s }",
             shapes[axes - 1][0], shapes[axes - 1][1], forms[form].before, forms[form].out,
             p->exact ? "MaxPool" : "AveragePool", lists[0], lists[1], lists[2], lists[3],
             (int)dice_between(d, 0, 1),
             !p->exact && dice_between(d, 0, 1) ? ", count_include_pad = 1" : "", forms[form].in,
             forms[form].after);
}

/* The largest of codes whose channels are last. */
static void draw_last(struct dice *d, struct random_model *p)
{
    size_t kernel[2], stride[2], dilation[2], pad[4];
    *p = (struct random_model){.rank = 4, .exact = true};
    p->dims[0] = (int64_t)dice_between(d, 1, 2);
    for (unsigned a = 0; a < 2; a++) {
        kernel[a] = dice_between(d, 1, 5);
        stride[a] = dice_between(d, 1, 3);
        dilation[a] = dice_between(d, 1, 2);
        pad[a] = dice_between(d, 0, kernel[a] - 1);
        pad[a + 2] = dice_between(d, 0, kernel[a] - 1);
        const size_t reach = (kernel[a] - 1) * dilation[a] + 1;
        p->dims[1 + a] = (int64_t)dice_between(d, reach, reach + 5);
    }
    p->dims[3] = (int64_t)dice_between(d, 1, 33);
    snprintf(p->text, sizeof p->text,
             "<ir_version: 10, opset_import: [\"\" : 22, \"com.microsoft\" : 1]> "
             "g (float[N,H,W,C] x) => (float[N,P,Q,C] y) <float step = {0.01}, %s = {9}> { "
             "c = QuantizeLinear(x, step, zero) v = com.microsoft.NhwcMaxPool <kernel_shape = "
             "[%zu,%zu], strides = [%zu,%zu], dilations = [%zu,%zu], pads = [%zu,%zu,%zu,%zu], "
             "ceil_mode = %d> (c) y = Cast <to = 1> (v) }",
             dice_between(d, 0, 1) ? "uint8 zero" : "int8 zero", kernel[0], kernel[1], stride[0],
             stride[1], dilation[0], dilation[1], pad[0], pad[1], pad[2], pad[3],
             (int)dice_between(d, 0, 1));
}

static size_t elements(unsigned rank, const int64_t *dims)
{
    size_t n = 1;
    for (unsigned a = 0; a < rank; a++)
        n *= (size_t)dims[a];
    ck_assert_uint_le(n, MOST);
    return n;
}

static size_t run_level(const struct random_model *p, int level, const float *x, const float *other,
                        float *out)
{
    struct text_run f;
    const struct ox_run_options options = {.level = level};
    text_must_plan(&f, p->text, &options);
    text_give(&f, OX_FLOAT32, p->rank, p->dims, x);
    if (p->other_rank)
        text_give(&f, OX_FLOAT32, p->other_rank, p->other, other);
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    const size_t n = y->n;
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++)
        out[i] = ((const float *)y->data)[i];
    text_close(&f);
    return n;
}

/* Sizes of a Resize that leaves the first axis alone, mostly the second too. */
static void draw_resize(struct dice *d, struct random_model *p)
{
    static const char *const modes[] = {"nearest", "linear"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
    static const char *const coordinates[] = {"half_pixel", "align_corners", "asymmetric",
                                              "pytorch_half_pixel", "half_pixel_symmetric"};
    static const char *const shapes[][2] = {
        {"N,C,W", "N,c,Q"}, {"N,C,H,W", "N,c,P,Q"}, {"N,C,D,H,W", "N,c,O,P,Q"}};
    const unsigned axes = (unsigned)dice_between(d, 1, 3);
    const size_t mode = dice_between(d, 0, 1);
    p->rank = axes + 2;
    p->exact = mode == 0;
    for (unsigned a = 0; a < p->rank; a++)
        p->dims[a] = (int64_t)dice_between(d, 1, a < 2 ? 3 : axes > 2 ? 7 : 12);
    char sizes[80];
    size_t at = (size_t)snprintf(sizes, sizeof sizes, "%d,%d", (int)p->dims[0],
                                 (int)(dice_between(d, 0, 3) ? p->dims[1] : 1 + p->dims[0]));
    const bool colours_last = dice_between(d, 0, 2) == 0;
    const bool twice = dice_between(d, 0, 3) == 0;
    for (unsigned a = 0; a < axes; a++) {
        const size_t drawn = dice_between(d, 1, axes > 2 ? 11 : 25), in = (size_t)p->dims[2 + a];
        at += (size_t)snprintf(sizes + at, sizeof sizes - at, ",%zu",
                               colours_last && a == axes - 1 ? in
                               : twice                       ? 2 * in
                                                             : drawn);
    }
    /* Integers come out the same. */
    static const struct {
        const char *before, *name, *after;
    } types[] = {{"", "x", "y = Identity(r)"},
                 {"step = Constant <value_float = 0.01> () q = QuantizeLinear(x, step, u)", "q",
                  "y = Cast <to = 1> (r)"},
                 {"step = Constant <value_float = 0.01> () q = QuantizeLinear(x, step, i)", "q",
                  "y = Cast <to = 1> (r)"},
                 {"m = Mul(x, k) q = Cast <to = 4> (m)", "q", "y = Cast <to = 1> (r)"},
                 {"m = Mul(x, k) q = Cast <to = 5> (m)", "q", "y = Cast <to = 1> (r)"},
                 {"m = Mul(x, k) q = Cast <to = 6> (m)", "q", "y = Cast <to = 1> (r)"},
                 {"m = Mul(x, k) q = Cast <to = 11> (m)", "q", "y = Cast <to = 1> (r)"}};
    const size_t type = dice_between(d, 0, OX_COUNT(types) - 1);
    p->exact |= type > 0;
    snprintf(p->text, sizeof p->text,
             "<ir_version: 10, opset_import: [\"\" : 19]> g (float[%s] x) => (float[%s] y) "
             "<uint8 u = {100}, int8 i = {9}, float k = {30000}> { s = Constant <value_ints = "
             "[%s]> () %s "
             "r = Resize <mode = \"%s\", nearest_mode = \"%s\", "
             "coordinate_transformation_mode = \"%s\"> (%s, , , s) %s }",
             shapes[axes - 1][0], shapes[axes - 1][1], sizes, types[type].before, modes[mode],
             nearest[dice_between(d, 0, 3)], coordinates[dice_between(d, 0, 4)], types[type].name,
             types[type].after);
}

static void draw_global(struct dice *d, struct random_model *p)
{
    const unsigned axes = (unsigned)dice_between(d, 1, 3);
    static const char *const in[] = {"N,C,W", "N,C,H,W", "N,C,D,H,W"};
    p->rank = axes + 2;
    p->exact = dice_between(d, 0, 1);
    for (unsigned a = 0; a < p->rank; a++)
        p->dims[a] = (int64_t)dice_between(d, 1, a < 2 ? 4 : axes > 2 ? 9 : 14);
    snprintf(p->text, sizeof p->text,
             "<ir_version: 10, opset_import: [\"\" : 22]> g (float[%s] x) => (float[%s] y) { "
             "y = Global%sPool (x) }",
             in[axes - 1],
             axes == 1   ? "N,C,1"
             : axes == 2 ? "N,C,1,1"
                         : "N,C,1,1,1",
             p->exact ? "Max" : "Average");
}

static void draw_grid(struct dice *d, struct random_model *p)
{
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    static const char *const shapes[][3] = {{"N,C,W", "N,P,1", "N,C,P"},
                                            {"N,C,H,W", "N,P,Q,2", "N,C,P,Q"},
                                            {"N,C,D,H,W", "N,O,P,Q,3", "N,C,O,P,Q"}};
    const bool standard = dice_between(d, 0, 2), cubic = standard && dice_between(d, 0, 1);
    const unsigned axes = standard ? (unsigned)dice_between(d, 1, 3) : 2;
    p->rank = p->other_rank = axes + 2;
    for (unsigned a = 0; a < p->rank; a++) {
        p->dims[a] = (int64_t)dice_between(d, 1, a < 2 ? 3 : 12);
        p->other[a] = (int64_t)dice_between(d, 1, axes < 3 ? 20 : 9);
    }
    p->other[0] = p->dims[0];
    p->other[axes + 1] = axes;
    const bool wide = dice_between(d, 0, 2) == 0;
    p->exact = dice_between(d, 0, 1);
    p->apart = cubic ? 4e-6f : 0; /* up to 64 products a sum */
    snprintf(p->text, sizeof p->text,
             "<ir_version: 10, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> g (float[%s] "
             "x, float[%s] z) => "
             "(float[%s] y) { a = Cast <to = %d> (x) b = Cast <to = %d> (z) "
             "c = %sGridSample <mode = \"%s\", padding_mode = \"%s\", align_corners = %d> (a, b) "
             "y = Cast <to = 1> (c) }",
             shapes[axes - 1][0], shapes[axes - 1][1], shapes[axes - 1][2], wide ? 11 : 1,
             wide ? 11 : 1, standard ? "" : "com.microsoft.",
             p->exact   ? "nearest"
             : cubic    ? "cubic"
             : standard ? "linear"
                        : "bilinear",
             paddings[dice_between(d, 0, 2)], (int)dice_between(d, 0, 1));
}

/* Three axes; two where the weights come as an input. */
static void draw_conv(struct dice *d, struct random_model *p)
{
    char lists[3][40];
    size_t at[3] = {0}, pads[6];
    const unsigned axes = dice_between(d, 0, 3) ? 3 : 2;
    const bool filters = dice_between(d, 0, 2) == 0; /* each plane has its own, along long lines */
    const int64_t groups = (int64_t)dice_between(d, 1, filters ? 4 : 2);
    p->rank = p->other_rank = axes + 2;
    p->apart = 4e-6f; /* up to 81 products a sum */
    p->dims[0] = (int64_t)dice_between(d, 1, 2);
    p->other[1] = (int64_t)dice_between(d, 1, 3);
    p->dims[1] = groups * p->other[1];
    p->other[0] = groups * (int64_t)dice_between(d, 1, 9);
    if (filters) {
        p->other[1] = 1;
        p->dims[1] = p->other[0] = groups;
    }
    for (unsigned a = 0; a < axes; a++) {
        const size_t kernel = dice_between(d, 1, 3), dilation = dice_between(d, 1, 2);
        const size_t reach = (kernel - 1) * dilation + 1, stride = dice_between(d, 1, 3);
        p->other[2 + a] = (int64_t)kernel;
        pads[a] = dice_between(d, 0, 2);
        pads[a + axes] = dice_between(d, 0, 2);
        p->dims[2 + a] = (int64_t)dice_between(d, reach, reach + 4);
        if (filters && a + 1 == axes)
            p->dims[2 + a] += (int64_t)dice_between(d, 14, 150);
        const size_t values[2] = {stride, dilation};
        for (unsigned i = 0; i < 2; i++)
            at[i] += (size_t)snprintf(lists[i] + at[i], sizeof lists[i] - at[i], "%s%zu",
                                      a ? "," : "", values[i]);
    }
    for (unsigned a = 0; a < 2 * axes; a++)
        at[2] += (size_t)snprintf(lists[2] + at[2], sizeof lists[2] - at[2], "%s%zu", a ? "," : "",
                                  pads[a]);
    snprintf(p->text, sizeof p->text,
             "<ir_version: 10, opset_import: [\"\" : 22]> g (float[%s] x, float[%s] w) => "
             "(float[%s] y) { y = Conv <strides = [%s], dilations = [%s], pads = [%s], group = %d> "
             "(x, w) }",
             axes == 3 ? "N,C,D,H,W" : "N,C,H,W", axes == 3 ? "M,c,d,h,w" : "M,c,h,w",
             axes == 3 ? "N,M,P,Q,R" : "N,M,P,Q", lists[0], lists[1], lists[2], (int)groups);
}

/* At both levels: maxima and moved elements to the bit, the rest within what float32 rounds. */
static void compare(struct dice *d, const struct random_model *p, bool odd)
{
    static float x[MOST], other[MOST], slow[MOST], fast[MOST];
    const size_t n = elements(p->rank, p->dims), n_other = elements(p->other_rank, p->other);
    for (size_t i = 0; i < n; i++) {
        const uint64_t roll = dice_between(d, 0, 9);
        x[i] = odd && roll == 0 ? NAN : odd && roll == 1 ? -INFINITY : dice_float(d);
    }
    for (size_t i = 0; i < n_other; i++)
        other[i] = 1.3f * dice_float(d);
    const size_t n_slow = run_level(p, 0, x, other, slow), n_fast = run_level(p, 2, x, other, fast);
    ck_assert_uint_eq(n_slow, n_fast);
    for (size_t i = 0; i < n_slow; i++) {
        const float apart = fabsf(slow[i] - fast[i]);
        const bool same = slow[i] == fast[i] || (isnan(slow[i]) && isnan(fast[i]));
        ck_assert_msg(same || (!p->exact &&
                               apart <= (p->apart > 0 ? p->apart : 1e-6f) * (1 + fabsf(slow[i]))),
                      "%s: %zu: %g, not %g", p->text, i, fast[i], slow[i]);
    }
}

START_TEST(windows_of_all_forms)
{
    struct dice d = {(uint64_t)_i * 131 + 7};
    struct random_model p = {0};
    draw_pool(&d, &p);
    const bool odd = dice_between(&d, 0, 2) == 0;
    compare(&d, &p, odd);
}
END_TEST

START_TEST(windows_over_channels_that_are_last)
{
    struct dice d = {(uint64_t)_i * 137 + 3};
    struct random_model p;
    draw_last(&d, &p);
    compare(&d, &p, false);
}
END_TEST

START_TEST(planes_of_other_sizes)
{
    struct dice d = {(uint64_t)_i * 173 + 5};
    struct random_model p = {0};
    draw_resize(&d, &p);
    const bool odd = p.exact && dice_between(&d, 0, 2) == 0;
    compare(&d, &p, odd);
}
END_TEST

START_TEST(means_of_whole_planes)
{
    struct dice d = {(uint64_t)_i * 179 + 1};
    struct random_model p = {0};
    draw_global(&d, &p);
    compare(&d, &p, dice_between(&d, 0, 2) == 0);
}
END_TEST

START_TEST(places_of_a_grid)
{
    struct dice d = {(uint64_t)_i * 191 + 3};
    struct random_model p = {0};
    draw_grid(&d, &p);
    compare(&d, &p, false);
}
END_TEST

START_TEST(convolutions_over_any_axes)
{
    struct dice d = {(uint64_t)_i * 197 + 11};
    struct random_model p = {0};
    draw_conv(&d, &p);
    compare(&d, &p, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_planes");
    TCase *tcase = tcase_create("fast_planes");
    tcase_add_loop_test(tcase, windows_of_all_forms, 0, 900);
    tcase_add_loop_test(tcase, windows_over_channels_that_are_last, 0, 300);
    tcase_add_loop_test(tcase, planes_of_other_sizes, 0, 500);
    tcase_add_loop_test(tcase, means_of_whole_planes, 0, 60);
    tcase_add_loop_test(tcase, places_of_a_grid, 0, 200);
    tcase_add_loop_test(tcase, convolutions_over_any_axes, 0, 500);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
