/* Random small nodes of the operators with windows, products, sequences and regions: shapes, attributes and values, right and
 * wrong ones. Each runs in float32 and in double; the two must agree on success, shape and, within float's reach, on values. With
 * OX_RANDOM_CASES=10000 in the environment it is the long run under the sanitizers. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

static uint64_t state;

static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* In [lo, hi]. */
static int64_t between(int64_t lo, int64_t hi)
{
    return lo + (int64_t)(draw() % (uint64_t)(hi - lo + 1));
}

static bool often(unsigned of_ten)
{
    return draw() % 10 < of_ten;
}

enum { MOST_ELEMENTS = 1 << 14 };

/* Multiples of 1/4 from -4 to 4: sums of products stay exact in double. */
static void add(struct one_op *op, unsigned rank, const int64_t *dims)
{
    static double values[MOST_ELEMENTS];
    char shape[256] = "";
    size_t n = 1;
    for (unsigned d = 0; d < rank; d++) {
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), d ? "x%d" : "%d",
                 (int)dims[d]);
        n *= (size_t)dims[d];
    }
    ck_assert_uint_le(n, MOST_ELEMENTS);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)between(-16, 16) / 4;
    one_op_in(op, OX_FLOAT32, shape, values, n);
}

static void add_ints(struct one_op *op, enum ox_dtype dtype, size_t n, int64_t lo, int64_t hi)
{
    double values[64];
    char shape[16];
    snprintf(shape, sizeof shape, "%zu", n);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)between(lo, hi);
    one_op_in(op, dtype, shape, values, n);
}

/* A list attribute of n values, sometimes missing, seldom of the wrong length or with a wrong value. */
static void list(struct one_op *op, const char *name, size_t n, int64_t lo, int64_t hi)
{
    int64_t values[16];
    if (often(4))
        return;
    if (draw() % 40 == 0)
        n += draw() % 2 ? 1 : n - 1;
    for (size_t i = 0; i < n; i++)
        values[i] = draw() % 60 == 0 ? between(-2, 0) : between(lo, hi);
    one_op_ints(op, name, values, n);
}

static void auto_pad(struct one_op *op)
{
    static const char *const modes[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", "SAME"};
    if (often(4))
        one_op_string(op, "auto_pad", modes[draw() % (draw() % 20 ? 4 : 5)]);
}

static void window_attributes(struct one_op *op, unsigned axes)
{
    list(op, "strides", axes, 1, 3);
    list(op, "dilations", axes, 1, 3);
    list(op, "pads", 2 * (size_t)axes, 0, 3);
    auto_pad(op);
}

static struct one_op *make_conv(const char *name)
{
    bool transposed = strcmp(name, "ConvTranspose") == 0;
    struct one_op *op = one_op_new("", name, draw() % 2 ? 11 : 22);
    unsigned axes = (unsigned)between(1, 3);
    int64_t groups = between(1, 3), in = between(1, 3), out = between(1, 5);
    int64_t x[5] = {between(0, 2), groups * in}, w[5];
    w[0] = transposed ? groups * in : groups * out;
    w[1] = transposed ? out : in;
    for (unsigned d = 0; d < axes; d++) {
        x[2 + d] = between(draw() % 20 ? 1 : 0, 9);
        w[2 + d] = between(1, 4);
    }
    if (draw() % 30 == 0)
        w[1]++;
    add(op, axes + 2, x);
    add(op, axes + 2, w);
    int64_t maps = draw() % 30 ? groups * out : groups * out + 1;
    if (often(5))
        add(op, 1, &maps);
    one_op_int(op, "group", groups);
    window_attributes(op, axes);
    if (transposed) {
        list(op, "output_padding", axes, 0, 2);
        if (draw() % 4 == 0)
            list(op, "output_shape", axes, 1, 12);
    }
    return op;
}

static struct one_op *make_pool(const char *name)
{
    struct one_op *op = one_op_new("", name, 22);
    unsigned axes = (unsigned)between(1, 3);
    int64_t x[5] = {between(0, 2), between(1, 3)}, kernel[3];
    for (unsigned d = 0; d < axes; d++) {
        x[2 + d] = between(draw() % 20 ? 1 : 0, 9);
        kernel[d] = between(1, 4);
    }
    add(op, axes + 2, x);
    one_op_ints(op, "kernel_shape", kernel, axes);
    window_attributes(op, axes);
    one_op_int(op, "ceil_mode", between(0, 1));
    if (strcmp(name, "AveragePool") == 0)
        one_op_int(op, "count_include_pad", between(0, 1));
    if (strcmp(name, "LpPool") == 0)
        one_op_int(op, "p", between(1, 3));
    return op;
}

static struct one_op *make_matmul(const char *name)
{
    struct one_op *op = one_op_new("", name, 13);
    unsigned rank[2] = {(unsigned)between(1, 4), (unsigned)between(1, 4)};
    int64_t m = between(0, 9), k = between(0, 40), n = between(0, 20), batch = between(1, 3);
    int64_t a[4], b[4];
    for (unsigned d = 0; d < 4; d++) {
        a[d] = often(5) ? 1 : batch;
        b[d] = often(5) ? 1 : batch;
    }
    a[rank[0] - 1] = k;
    if (rank[0] > 1)
        a[rank[0] - 2] = m;
    b[rank[1] > 1 ? rank[1] - 2 : 0] = draw() % 30 ? k : k + 1;
    if (rank[1] > 1)
        b[rank[1] - 1] = n;
    add(op, rank[0], a);
    add(op, rank[1], b);
    return op;
}

static struct one_op *make_gemm(const char *name)
{
    struct one_op *op = one_op_new("", name, 13);
    int64_t m = between(0, 9), k = between(0, 40), n = between(0, 20);
    bool ta = often(5), tb = often(5);
    add(op, 2, ta ? (int64_t[]){k, m} : (int64_t[]){m, k});
    add(op, 2, tb ? (int64_t[]){n, k} : (int64_t[]){k, n});
    int64_t c[2] = {often(5) ? 1 : m, often(5) ? 1 : n};
    unsigned rank = (unsigned)between(0, 2);
    if (often(7))
        add(op, rank, c + 2 - rank);
    one_op_int(op, "transA", ta);
    one_op_int(op, "transB", tb);
    one_op_float(op, "alpha", 0.5f);
    one_op_float(op, "beta", 2);
    return op;
}

static struct one_op *make_einsum(const char *name)
{
    struct one_op *op = one_op_new("", name, 12);
    char equation[64] = "", used[16] = "";
    int64_t size[4];
    for (unsigned i = 0; i < 4; i++)
        size[i] = between(draw() % 20 ? 1 : 0, 4);
    size_t terms = (size_t)between(1, 3);
    for (size_t t = 0; t < terms; t++) {
        unsigned rank = (unsigned)between(0, 3);
        int64_t dims[3];
        if (t)
            strcat(equation, ",");
        for (unsigned d = 0; d < rank; d++) {
            unsigned label = draw() % 4;
            char letter[2] = {(char)('i' + label), 0};
            strcat(equation, letter);
            strcat(used, letter);
            dims[d] = draw() % 8 ? size[label] : 1;
        }
        add(op, rank, dims);
    }
    if (often(7)) {
        strcat(equation, "->");
        for (char c = 'l'; c >= 'i'; c--)
            if (strchr(used, c) && often(5))
                strcat(equation, (char[]){c, 0});
    }
    static char text[64];
    strcpy(text, equation);
    one_op_string(op, "equation", text);
    return op;
}

static struct one_op *make_recurrent(const char *name)
{
    struct one_op *op = one_op_new("", name, 14);
    int64_t gates = name[0] == 'L' ? 4 : name[0] == 'G' ? 3 : 1;
    int64_t steps = between(0, 4), batch = between(0, 3), input = between(1, 4), h = between(1, 5);
    int64_t both = between(1, 2), layout = between(0, 1);
    add(op, 3, layout ? (int64_t[]){batch, steps, input} : (int64_t[]){steps, batch, input});
    add(op, 3, (int64_t[]){both, gates * h, input});
    add(op, 3, (int64_t[]){both, gates * h, h});
    if (often(6))
        add(op, 2, (int64_t[]){both, 2 * gates * h});
    else
        one_op_in_none(op);
    if (often(5))
        add_ints(op, OX_INT32, (size_t)batch, 0, draw() % 10 ? steps : steps + 1);
    else
        one_op_in_none(op);
    for (int i = 0; i < (gates == 4 ? 2 : 1); i++)
        add(op, 3, layout ? (int64_t[]){batch, both, h} : (int64_t[]){both, batch, h});
    if (gates == 4 && often(5))
        add(op, 2, (int64_t[]){both, 3 * h});
    one_op_int(op, "layout", layout);
    one_op_int(op, "hidden_size", h);
    one_op_string(op, "direction", both == 2 ? "bidirectional" : often(5) ? "reverse" : "forward");
    if (gates == 3)
        one_op_int(op, "linear_before_reset", between(0, 1));
    if (often(3))
        one_op_float(op, "clip", 0.5f);
    return op;
}

static struct one_op *make_attention(const char *name)
{
    struct one_op *op = one_op_new("", name, 25);
    int64_t b = between(0, 2), kv = between(1, 2), q = kv * between(1, 2), s = between(0, 5);
    int64_t t = between(0, 5), d = between(1, 4), v = between(1, 4), past = between(0, 3);
    bool cached = often(3);
    if (often(5)) {
        add(op, 4, (int64_t[]){b, q, s, d});
        add(op, 4, (int64_t[]){b, kv, t, d});
        add(op, 4, (int64_t[]){b, kv, t, v});
    } else {
        add(op, 3, (int64_t[]){b, s, q * d});
        add(op, 3, (int64_t[]){b, t, kv * d});
        add(op, 3, (int64_t[]){b, t, kv * v});
        one_op_int(op, "q_num_heads", q);
        one_op_int(op, "kv_num_heads", kv);
    }
    int64_t mask[4] = {often(5) ? 1 : b, often(5) ? 1 : q, often(5) ? 1 : s,
                       t + (cached ? past : 0)};
    if (draw() % 5 == 0 && mask[3])
        mask[3]--;
    unsigned rank = (unsigned)between(1, 4);
    if (often(5))
        add(op, rank, mask + 4 - rank);
    else
        one_op_in_none(op);
    if (cached) {
        add(op, 4, (int64_t[]){b, kv, past, d});
        add(op, 4, (int64_t[]){b, kv, past, v});
    } else if (often(3)) {
        one_op_in_none(op);
        one_op_in_none(op);
        add_ints(op, OX_INT64, (size_t)b, 0, draw() % 10 ? t : t + 1);
    }
    one_op_int(op, "is_causal", between(0, 1));
    one_op_int(op, "left_window_size", between(-1, 4));
    one_op_int(op, "right_window_size", between(-1, 4));
    one_op_int(op, "qk_matmul_output_mode", between(0, 3));
    if (often(3))
        one_op_float(op, "softcap", 2);
    return op;
}

static struct one_op *make_norm(const char *name)
{
    struct one_op *op = one_op_new("", name, 23);
    unsigned rank = (unsigned)between(2, 4);
    int64_t x[4], groups = between(1, 3);
    for (unsigned d = 0; d < rank; d++)
        x[d] = between(draw() % 20 ? 1 : 0, 5);
    x[1] = groups * between(1, 2);
    add(op, rank, x);
    one_op_float(op, "epsilon", 0.5f);
    if (name[0] == 'G' || name[0] == 'I') {
        add(op, 1, &x[1]);
        add(op, 1, &x[1]);
        if (name[0] == 'G')
            one_op_int(op, "num_groups", draw() % 20 ? groups : groups + 1);
        return op;
    }
    int64_t axis = between(-(int64_t)rank, (int64_t)rank - (draw() % 20 ? 1 : 0));
    unsigned first = (unsigned)(axis < 0 ? axis + (int64_t)rank : axis);
    first = first < rank ? first : rank - 1;
    add(op, rank - first, x + first);
    if (name[0] == 'L' && often(5))
        add(op, 1, &x[rank - 1]);
    one_op_int(op, "axis", axis);
    return op;
}

static struct one_op *make_dft(const char *name)
{
    struct one_op *op = one_op_new("", name, 17);
    unsigned rank = (unsigned)between(2, 4);
    int64_t x[4];
    for (unsigned d = 0; d + 1 < rank; d++)
        x[d] = between(draw() % 20 ? 1 : 0, 24);
    while (rank > 2 && x[0] * x[1] * (rank > 3 ? x[2] : 1) > 4096)
        x[0] = x[1] = 2;
    x[rank - 1] = between(1, 2);
    add(op, rank, x);
    if (often(4))
        add_ints(op, OX_INT64, 1, draw() % 20 ? 1 : -1, 40);
    one_op_int(op, "axis", between(-(int64_t)rank, (int64_t)rank - 2));
    one_op_int(op, "inverse", between(0, 1));
    one_op_int(op, "onesided", between(0, 1));
    return op;
}

static struct one_op *make_deform(const char *name)
{
    struct one_op *op = one_op_new("", name, 19);
    int64_t groups = between(1, 2), in = between(1, 2), out = between(1, 3), sets = between(1, 2);
    int64_t size[2] = {between(2, 6), between(2, 6)}, kernel[2] = {between(1, 2), between(1, 2)};
    int64_t channels = groups * in * sets, taps = kernel[0] * kernel[1], pad = between(0, 2);
    int64_t o[2] = {size[0] + 2 * pad - kernel[0] + 1, size[1] + 2 * pad - kernel[1] + 1};
    add(op, 4, (int64_t[]){1, channels, size[0], size[1]});
    add(op, 4, (int64_t[]){groups * out, channels / groups, kernel[0], kernel[1]});
    add(op, 4, (int64_t[]){1, sets * taps * (draw() % 20 ? 2 : 1), o[0], o[1]});
    one_op_in_none(op);
    if (often(5))
        add(op, 4, (int64_t[]){1, sets * taps, o[0], o[1]});
    one_op_int(op, "group", groups);
    one_op_int(op, "offset_group", sets);
    one_op_ints(op, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
    return op;
}

static struct one_op *make_roi(const char *name)
{
    struct one_op *op = one_op_new("", name, 16);
    int64_t images = between(1, 2), regions = between(0, 3);
    add(op, 4, (int64_t[]){images, between(1, 2), between(1, 6), between(1, 6)});
    add(op, 2, (int64_t[]){regions, 4});
    add_ints(op, OX_INT64, (size_t)regions, 0, draw() % 10 ? images - 1 : images);
    one_op_int(op, "output_height", between(draw() % 20 ? 1 : 0, 3));
    one_op_int(op, "output_width", between(1, 3));
    one_op_int(op, "sampling_ratio", between(0, 2));
    one_op_float(op, "spatial_scale", 0.5f);
    if (often(5))
        one_op_string(op, "mode", "max");
    if (often(5))
        one_op_string(op, "coordinate_transformation_mode", "output_half_pixel");
    return op;
}

static const struct {
    const char *name;
    struct one_op *(*make)(const char *name);
    size_t n_out;
} makers[] = {{"Conv", make_conv, 1},
              {"ConvTranspose", make_conv, 1},
              {"MaxPool", make_pool, 2},
              {"AveragePool", make_pool, 1},
              {"LpPool", make_pool, 1},
              {"MatMul", make_matmul, 1},
              {"Gemm", make_gemm, 1},
              {"Einsum", make_einsum, 1},
              {"RNN", make_recurrent, 2},
              {"GRU", make_recurrent, 2},
              {"LSTM", make_recurrent, 3},
              {"Attention", make_attention, 4},
              {"LayerNormalization", make_norm, 3},
              {"RMSNormalization", make_norm, 1},
              {"GroupNormalization", make_norm, 1},
              {"InstanceNormalization", make_norm, 1},
              {"DFT", make_dft, 1},
              {"DeformConv", make_deform, 1},
              {"RoiAlign", make_roi, 1}};

static void same_values(const char *name, const struct ox_tensor *f, const struct ox_tensor *d)
{
    double scale = 1;
    ck_assert_msg(f->rank == d->rank && f->n == d->n, "%s: shapes differ", name);
    for (size_t i = 0; i < d->n; i++)
        if (isfinite(ox_tensor_get_double(d, i)))
            scale = fmax(scale, fabs(ox_tensor_get_double(d, i)));
    for (size_t i = 0; i < d->n; i++) {
        double a = ox_tensor_get_double(f, i), b = ox_tensor_get_double(d, i);
        bool same = a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 2e-5 * scale;
        ck_assert_msg(same, "%s, element %zu of %zu: %.9g, in double %.17g", name, i, d->n, a, b);
    }
}

static void run_both(size_t which, uint64_t seed)
{
    struct one_op *op[2];
    enum ox_status status[2];
    for (unsigned k = 0; k < 2; k++) {
        state = seed;
        draw();
        op[k] = makers[which].make(makers[which].name);
        if (k)
            one_op_set_oracle(op[k]);
        status[k] = one_op_run(op[k], makers[which].n_out);
        ck_assert_msg(status[k] == OX_OK || status[k] == OX_INPUT || status[k] == OX_LIMIT,
                      "%s, seed %llu: %s", makers[which].name, (unsigned long long)seed,
                      one_op_error(op[k]));
        if (k == 0 && status[0] != OX_OK)
            ck_assert_ptr_nonnull(strstr(one_op_error(op[0]), makers[which].name));
    }
    ck_assert_msg(status[0] == status[1], "%s, seed %llu: float %s, double %s", makers[which].name,
                  (unsigned long long)seed, one_op_error(op[0]), one_op_error(op[1]));
    for (size_t i = 0; status[0] == OX_OK && i < makers[which].n_out; i++)
        same_values(makers[which].name, one_op_out(op[0], i), one_op_out(op[1], i));
    one_op_free(op[0]);
    one_op_free(op[1]);
}

START_TEST(any_shape_runs_or_is_refused_alike_in_float_and_double)
{
    const char *wish = getenv("OX_RANDOM_CASES");
    uint64_t cases = wish ? strtoull(wish, NULL, 10) : 200;
    for (uint64_t seed = 1; seed <= cases; seed++)
        run_both((size_t)_i, seed * 1000003);
}
END_TEST

/* Memory for the kernel grows from nothing until it runs: on the way it must fail cleanly. */
static void run_starved(size_t which, uint64_t seed)
{
    for (uint64_t bytes = 1;; bytes = bytes * 3 / 2 + 64) {
        state = seed;
        draw();
        struct one_op *op = makers[which].make(makers[which].name);
        struct ox_env *env = one_op_env(op);
        ox_env_limits(env)->memory_bytes = ox_env_budget(env)->used + bytes;
        enum ox_status status = one_op_run(op, makers[which].n_out);
        one_op_free(op);
        if (status != OX_NO_MEMORY && status != OX_LIMIT)
            break;
        ck_assert_msg(bytes < (uint64_t)1 << 32, "%s, seed %llu: never has memory enough",
                      makers[which].name, (unsigned long long)seed);
    }
}

START_TEST(little_memory_is_an_error_not_a_crash)
{
    for (uint64_t seed = 1; seed <= 10; seed++)
        run_starved((size_t)_i, seed * 1000003);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("any shape");
    TCase *tc = tcase_create("any shape");
    tcase_set_timeout(tc, 3600);
    tcase_add_loop_test(tc, any_shape_runs_or_is_refused_alike_in_float_and_double, 0,
                        (int)(sizeof makers / sizeof *makers));
    tcase_add_loop_test(tc, little_memory_is_an_error_not_a_crash, 0,
                        (int)(sizeof makers / sizeof *makers));
    suite_add_tcase(s, tc);
    return run_suite(s);
}
