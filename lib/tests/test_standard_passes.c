/* The passes of `optimize` that make other standard operators: what each makes of small graphs, that this computes the same, and what it
 * must leave alone. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "graph/pass.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]> "
#define SHAPE(...)                                                                                 \
    (const int64_t[])                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { MOST = 512 };

struct result {
    size_t n;
    float y[MOST];
};

static void give_ramp(struct text_run *f, unsigned rank, const int64_t *dims)
{
    size_t n;
    float x[MOST];
    ck_assert(ox_dims_count(rank, dims, &n) && n <= MOST);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((i * 7) % 11) - 4.5f;
    text_give(f, OX_FLOAT32, rank, dims, x);
}

static void run_plain(struct text_run *f, unsigned rank, const int64_t *dims, struct result *out)
{
    const struct ox_run_options options = {.level = 0};
    ck_assert_msg(text_plan(f, &options) == OX_OK, "%s", f->err.message);
    give_ramp(f, rank, dims);
    text_must_run(f);
    const struct ox_tensor *tensor = ox_datum_get_tensor(f->out[0]);
    ck_assert_uint_le(tensor->n, MOST);
    out->n = tensor->n;
    for (size_t i = 0; i < tensor->n; i++)
        out->y[i] = (float)ox_tensor_get_double(tensor, i);
}

/* The model optimized has these operators, those of subgraphs behind slashes, and makes of a ramp what it made before. */
static void becomes_with(bool subgraphs, const char *text, const char *operators, unsigned rank,
                         const int64_t *dims)
{
    struct text_run before, after;
    struct result expected, got;
    struct ox_strbuf list;
    text_open(&before, text);
    run_plain(&before, rank, dims, &expected);
    text_close(&before);
    text_open(&after, text);
    ck_assert_msg(ox_optimize(after.model, NULL, NULL, &after.err) == OX_OK, "%s",
                  after.err.message);
    ox_strbuf_init(&list);
    for (size_t g = 0; g < (subgraphs ? after.model->n_graphs : 1); g++) {
        const struct ox_graph *graph = after.model->graphs[g];
        ox_strbuf_puts(&list, g ? " /" : "");
        for (size_t i = 0; i < graph->n_nodes; i++)
            ox_strbuf_printf(&list, "%s%s", i || g ? " " : "", graph->nodes[i]->op_type);
    }
    ck_assert_str_eq(ox_strbuf_text(&list, NULL), operators);
    ox_strbuf_release(&list);
    run_plain(&after, rank, dims, &got);
    ck_assert_uint_eq(got.n, expected.n);
    for (size_t i = 0; i < got.n; i++)
        ck_assert_float_eq_tol(got.y[i], expected.y[i], 1e-4f);
    text_close(&after);
}

static void becomes(const char *text, const char *operators, unsigned rank, const int64_t *dims)
{
    becomes_with(false, text, operators, rank, dims);
}

#define NORM                                                                                       \
    "float[2] g = {2, 3}, float[2] b = {0.5, -1}, float[2] m = {1, -2}, float[2] v = {4, 0.25}"

START_TEST(batch_norm_goes_into_a_convolution)
{
    becomes(HEAD
            "g (float[1,2,3,3] x) => (float[1,2,A,B] y) <float[2,2,1,1] w = {1, -2, 3, 0.5}, " NORM
            "> { c = Conv(x, w) y = BatchNormalization(c, g, b, m, v) }",
            "Conv", 4, SHAPE(1, 2, 3, 3));
}
END_TEST

START_TEST(batch_norm_goes_into_a_grouped_transposed_convolution)
{
    becomes(HEAD
            "g (float[1,4,2,2] x) => (float[1,2,A,B] y) <float[4,1,2,1] w = {1, -2, 3, 0.5, 4, 5, "
            "-6, 7}, float[2] d = {3, 4}, " NORM "> { c = ConvTranspose <group = 2> (x, w, d) "
            "y = BatchNormalization(c, g, b, m, v) }",
            "ConvTranspose", 4, SHAPE(1, 4, 2, 2));
}
END_TEST

START_TEST(an_if_that_is_always_true_gives_way_to_its_branch)
{
    becomes(HEAD "g (float[3] x) => (float[3] y) <bool c = {1}> { n = Neg(x) "
                 "y = If(c) <then_branch = t () => (float[3] o) <float[3] w = {1, 2, 3}> "
                 "{ a = Mul(x, w) o = Add(a, n) }, "
                 "else_branch = e () => (float[3] p) { a = Sub(x, n) p = Abs(a) }> }",
            "Neg Mul Add", 1, SHAPE(3));
}
END_TEST

/* The condition is a rank; the branch gives back what is not its own. */
START_TEST(a_branch_may_pass_on_what_it_captures)
{
    becomes(HEAD
            "g (float[2,3] x) => (float[2,3] y) { s = Shape(x) r = Size(s) k = Constant<value = "
            "int64 {3}>() c = Equal(r, k) a = Abs(x) n = Neg(x) "
            "z = If(c) <then_branch = t () => (float[2,3] n) {}, "
            "else_branch = e () => (float[2,3] a) {}> y = Sin(z) }",
            "Abs Sin", 2, SHAPE(2, 3));
}
END_TEST

START_TEST(a_branch_that_is_an_initializer_becomes_one)
{
    becomes(HEAD "g (float[3] x) => (float[3] y) <bool c = {0}> "
                 "{ z = If(c) <then_branch = t () => (float[3] o) { o = Neg(x) }, "
                 "else_branch = e () => (float[3] w) <float[3] w = {4, 5, 6}> {}> y = Add(x, z) }",
            "Add", 1, SHAPE(3));
}
END_TEST

START_TEST(branches_within_branches_are_taken)
{
    becomes(HEAD "g (float[3] x) => (float[3] y) <bool c = {1}, bool d = {0}> "
                 "{ y = If(c) <then_branch = t () => (float[3] o) { a = Exp(x) "
                 "o = If(d) <then_branch = tt () => (float[3] p) { p = Neg(a) }, "
                 "else_branch = ee () => (float[3] q) { a2 = Neg(a) q = Cos(a2) }> }, "
                 "else_branch = e () => (float[3] r) { r = Abs(x) }> }",
            "Exp Neg Cos", 1, SHAPE(3));
}
END_TEST

START_TEST(a_branch_keeps_the_subgraphs_within)
{
    becomes(HEAD
            "g (float[3] x) => (float[3] y) <bool c = {1}, float h = {0.5}> { m = ReduceMax "
            "<keepdims = 0> (x) "
            "y = If(c) <then_branch = t () => (float[3] o) { a = Neg(x) k = Less(m, h) "
            "o = If(k) <then_branch = tt () => (float[3] p) <float[3] w = {1, 2, 3}> { p = Mul(a, "
            "w) }, else_branch = ee () => (float[3] q) { q = Add(a, x) }> }, "
            "else_branch = e () => (float[3] r) { r = Abs(x) }> }",
            "ReduceMax Neg Less If", 1, SHAPE(3));
}
END_TEST

START_TEST(an_if_whose_condition_is_computed_stays)
{
    becomes(HEAD "g (float[3] x) => (float[3] y) { m = ReduceMax <keepdims = 0> (x) "
                 "h = Constant<value = float {0.5}>() c = Less(m, h) "
                 "y = If(c) <then_branch = t () => (float[3] o) { o = Neg(x) }, "
                 "else_branch = e () => (float[3] p) { p = Exp(x) }> }",
            "ReduceMax Less If", 1, SHAPE(3));
}
END_TEST

START_TEST(batch_norm_goes_into_gemm)
{
    becomes(HEAD
            "g (float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, -2, 3, 0.5}, float[2] d = {3, "
            "4}, " NORM "> { c = Gemm <transB = 1, alpha = 2.0, beta = 0.5> (x, w, d) "
            "y = BatchNormalization(c, g, b, m, v) }",
            "Gemm", 2, SHAPE(3, 2));
}
END_TEST

START_TEST(batch_norm_of_a_flattened_product_goes_into_it)
{
    becomes(HEAD "g (float[1,3,2] x) => (float[A,B] y) <float[2,2] w = {1, -2, 3, 0.5}, " NORM
                 "> { c = MatMul(x, w) f = Flatten <axis = 2> (c) "
                 "n = BatchNormalization(f, g, b, m, v) y = Neg(n) }",
            "MatMul Add Flatten Neg", 3, SHAPE(1, 3, 2));
}
END_TEST

START_TEST(batch_norm_stays_where_flattening_moves_channels)
{
    becomes(HEAD "g (float[1,2,4] x) => (float[A,B] y) <float[4,4] w = {1, -2, 3, 0.5, 2, 1, 0, "
                 "-1, 4, 3, -2, 1, 1, 0, 2, 2}, int64[2] t = {4, 2}, " NORM
                 "> { c = MatMul(x, w) f = Reshape(c, t) n = BatchNormalization(f, g, b, m, v) "
                 "y = Neg(n) }",
            "MatMul Reshape BatchNormalization Neg", 3, SHAPE(1, 2, 4));
}
END_TEST

START_TEST(batch_norm_stays_where_the_convolution_is_used_twice)
{
    becomes(HEAD
            "g (float[1,2,2,2] x) => (float[1,2,A,B] y) <float[2,2,1,1] w = {1, -2, 3, 0.5}, " NORM
            "> { c = Conv(x, w) d = BatchNormalization(c, g, b, m, v) y = Add(c, d) }",
            "Conv BatchNormalization Add", 4, SHAPE(1, 2, 2, 2));
}
END_TEST

START_TEST(a_factor_a_column_goes_into_a_product_and_a_sum_does_not)
{
    becomes(HEAD
            "g (float[1,3,2] x) => (float[1,3,2] y) <float[2,2] w = {1, -2, 3, 0.5}, float[2] s = "
            "{2, 4}> { p = MatMul(x, w) q = Div(p, s) y = Add(q, s) }",
            "MatMul Add", 3, SHAPE(1, 3, 2));
}
END_TEST

START_TEST(a_constant_of_another_axis_stays)
{
    becomes(HEAD "g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2,2,1,1] w = {1, -2, 3, 0.5}, "
                 "float[2] s = {2, 4}> { c = Conv(x, w) y = Mul(c, s) }",
            "Conv Mul", 4, SHAPE(1, 2, 2, 2));
}
END_TEST

START_TEST(padding_goes_into_a_convolution_and_an_average)
{
    becomes(HEAD
            "g (float[1,1,3,3] x) => (float[1,1,A,B] y) <float[1,1,2,2] w = {1, -2, 3, 0.5}, "
            "int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}> { a = Pad(x, p) c = Conv(a, w) d = Pad(c, p) "
            "y = AveragePool <kernel_shape = [2, 2]> (d) }",
            "Conv AveragePool", 4, SHAPE(1, 1, 3, 3));
}
END_TEST

START_TEST(padding_by_another_value_or_of_channels_stays)
{
    becomes(HEAD "g (float[1,1,3,3] x) => (float[1,1,A,B] y) <float[1,1,2,2] w = {1, -2, 3, 0.5}, "
                 "float o = {1}, int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}> { a = Pad(x, p, o) "
                 "y = Conv(a, w) }",
            "Pad Conv", 4, SHAPE(1, 1, 3, 3));
}
END_TEST

/* The first node's weights are of that size when it is optimized. */
static void has_weights(const char *text, unsigned rank, const int64_t *dims)
{
    struct text_run f;
    text_open(&f, text);
    ck_assert_msg(ox_optimize(f.model, NULL, NULL, &f.err) == OX_OK, "%s", f.err.message);
    const struct ox_stored *weights = f.model->graph->nodes[0]->inputs[1]->init;
    ck_assert_ptr_nonnull(weights);
    ck_assert_uint_eq(weights->rank, rank);
    ck_assert_mem_eq(weights->dims, dims, rank * sizeof *dims);
    text_close(&f);
}

START_TEST(taps_that_meet_padding_alone_go)
{
    const char *const line =
        HEAD "g (float[1,1,1,4] x) => (float[1,1,A,B] y) <float[1,1,3,3] w = {1, -2, 3, 0.5, 4, "
             "5, -6, 7, 8}> { y = Conv <pads = [1, 1, 1, 1], kernel_shape = [3, 3], "
             "strides = [1, 2]> (x, w) }";
    const char *const wide =
        HEAD "g (float[1,1,4,4] x) => (float[1,1,A,B] y) <float[1,1,3,3] w = {1, -2, 3, 0.5, 4, "
             "5, -6, 7, 8}> { y = Conv <pads = [4, 3, 4, 3], dilations = [4, 3]> (x, w) }";
    becomes(line, "Conv", 4, SHAPE(1, 1, 1, 4));
    has_weights(line, 4, SHAPE(1, 1, 1, 3));
    becomes(wide, "Conv", 4, SHAPE(1, 1, 4, 4));
    has_weights(wide, 4, SHAPE(1, 1, 1, 3));
}
END_TEST

/* A tap that meets the map at one output, weights that make NaN of padding, and padding that would have to be negative. */
START_TEST(taps_that_count_stay)
{
    const char *const met =
        HEAD "g (float[1,1,2,1] x) => (float[1,1,A,B] y) <float[1,1,3,1] w = {1, -2, 3}> "
             "{ y = Conv <pads = [1, 0, 1, 0]> (x, w) }";
    const char *const infinite =
        HEAD "g (float[1,1,1] x) => (float[1,1,A] y) <float[1,1,3] w = {inf, -2, 3}> "
             "{ y = Conv <pads = [1, 1]> (x, w) }";
    const char *const inner =
        HEAD "g (float[1,1,5] x) => (float[1,1,A] y) <float[1,1,3] w = {1, -2, 3}> "
             "{ y = Conv <pads = [1, 1], dilations = [3]> (x, w) }";
    becomes(met, "Conv", 4, SHAPE(1, 1, 2, 1));
    has_weights(met, 4, SHAPE(1, 1, 3, 1));
    has_weights(infinite, 3, SHAPE(1, 1, 3));
    becomes(inner, "Conv", 3, SHAPE(1, 1, 5));
    has_weights(inner, 3, SHAPE(1, 1, 3));
}
END_TEST

START_TEST(product_and_sum_become_gemm)
{
    becomes(HEAD
            "g (float[3,2] x) => (float[2,3] y) <float[2,2] w = {1, -2, 3, 0.5}, float[2,1] c = "
            "{3, 4}> { t = Transpose <perm = [1, 0]> (x) p = MatMul(w, t) y = Add(c, p) }",
            "Gemm", 2, SHAPE(3, 2));
}
END_TEST

START_TEST(a_sum_that_widens_the_product_stays)
{
    becomes(HEAD
            "g (float[1,2] x) => (float[A,2] y) <float[2,2] w = {1, -2, 3, 0.5}, float[2,1] c = "
            "{3, 4}> { p = MatMul(x, w) y = Add(c, p) }",
            "MatMul Add", 2, SHAPE(1, 2));
}
END_TEST

START_TEST(a_target_computed_from_sizes_becomes_constant)
{
    becomes(
        HEAD
        "g (float[N,T,4] x) => (float[A,B,C,D] y) <int64[2] h = {2, 2}> { s = Shape <end = 2> (x) "
        "t = Concat <axis = 0> (s, h) y = Reshape(x, t) }",
        "Reshape", 3, SHAPE(2, 3, 4));
}
END_TEST

START_TEST(a_target_with_two_new_sizes_stays)
{
    becomes(HEAD "g (float[N,T,4] x) => (float[A,B,C] y) { n = Shape <end = 1> (x) "
                 "t = Shape <start = 1, end = 2> (x) m = Constant <value_ints = [-1]> () "
                 "u = Concat <axis = 0> (t, n, m) y = Reshape(x, u) }",
            "Shape Shape Concat Reshape", 3, SHAPE(2, 3, 4));
}
END_TEST

START_TEST(changes_of_shape_are_merged)
{
    becomes(HEAD
            "g (float[N,1,6] x) => (float[N,A,B] y) <int64[1] one = {1}, int64[3] t = {0, 2, 3}> "
            "{ a = Squeeze(x, one) b = Unsqueeze(a, one) c = Reshape(b, t) y = Neg(c) }",
            "Reshape Neg", 3, SHAPE(2, 1, 6));
}
END_TEST

START_TEST(a_transpose_of_axes_of_one_is_a_change_of_shape)
{
    becomes(HEAD "g (float[3,1,1,2] x) => (float[A,B] y) <int64[2] t = {3, 2}> { n = Neg(x) "
                 "a = Transpose <perm = [1, 0, 2, 3]> (n) y = Reshape(a, t) }",
            "Neg Reshape", 4, SHAPE(3, 1, 1, 2));
    becomes(HEAD "g (float[3,1,1,2] x) => (float[A,B] y) <int64[2] t = {3, 2}> { n = Neg(x) "
                 "a = Transpose <perm = [3, 1, 2, 0]> (n) y = Reshape(a, t) }",
            "Neg Transpose Reshape", 4, SHAPE(3, 1, 1, 2));
    becomes(HEAD "g (float[N,T,1,2] x) => (float[A,B] y) <int64[2] t = {-1, 2}> { n = Neg(x) "
                 "a = Transpose <perm = [1, 0, 2, 3]> (n) y = Reshape(a, t) }",
            "Neg Transpose Reshape", 4, SHAPE(3, 1, 1, 2));
}
END_TEST

/* What computes on a weight w of 256 KB, with 300,000 bytes to grow by, leaves so many nodes and constants. */
static void folds_to(const char *nodes, size_t n_nodes, size_t n_inits)
{
    struct ox_strbuf text;
    struct text_run f;
    const struct ox_optimize_options options = {.fold_bytes = 300000};
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD "g (float[1,256] x) => (float[A,B,C] y) <int64[1] o = {0}, "
                               "int64[1] h = {128}, int64[1] n = {256}, float[256,256] w = {0");
    for (size_t i = 1; i < 256 * (size_t)256; i++)
        ox_strbuf_puts(&text, i % 3 ? ",1" : ",2");
    ox_strbuf_printf(&text, "}> { %s }", nodes);
    ck_assert(!text.failed);
    text_open(&f, text.data);
    ck_assert_msg(ox_optimize(f.model, &options, NULL, &f.err) == OX_OK, "%s", f.err.message);
    ck_assert_uint_eq(f.model->graph->n_nodes, n_nodes);
    ck_assert_uint_eq(f.model->graph->n_inits, n_inits);
    text_close(&f);
    ox_strbuf_release(&text);
}

START_TEST(folding_may_add_a_tenth_of_large_constants)
{
    static const struct {
        const char *dims;
        uint64_t most;
    } cases[] = {{"30000000", 16 << 20}, {"1000,100000", 40000000}, {"0", 16 << 20}};
    struct text_run f;
    char text[256];
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1] x) => (float[A] y) "
             "<float[%s] w = [\"location\": \"none\"]> { y = Add(x, w) }",
             cases[_i].dims);
    text_open(&f, text);
    ck_assert_uint_eq(ox_fold_bytes(f.model), cases[_i].most);
    text_close(&f);
}
END_TEST

static void folds_away(const char *nodes)
{
    folds_to(nodes, 1, 1);
}

/* A table t of 256 rows of 4096, of codes q, scales s and what is repeated for each row, r; indices i of the input x. */
static void table_becomes(const char *nodes, const char *operators, unsigned rank,
                          const int64_t *dims)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD "g (float[N] x) => (float[A] y) <int64[1] k = {-1}, "
                               "int64[1] l = {2}, int64[0] e = {}, int8[256,1] q = {-128");
    for (int i = 1; i < 256; i++)
        ox_strbuf_printf(&text, ",%d", i * 37 % 256 - 128);
    ox_strbuf_puts(&text, "}, float[256,1] s = {0");
    for (int i = 1; i < 256; i++)
        ox_strbuf_printf(&text, ",%d.5", i % 7 - 3);
    ox_strbuf_puts(&text, "}, float[1,4096] r = {0");
    for (int i = 1; i < 4096; i++)
        ox_strbuf_printf(&text, ",%d", i % 100);
    ox_strbuf_printf(&text,
                     "}> { i = Cast <to = 7> (x) f = Cast <to = 1> (q) a = Add(f, r) "
                     "t = Mul(s, a) %s }",
                     nodes);
    ck_assert(!text.failed);
    becomes(ox_strbuf_text(&text, NULL), operators, rank, dims);
    ox_strbuf_release(&text);
}

START_TEST(rows_of_a_large_table_are_picked_before_they_are_computed)
{
    table_becomes("g = Gather(t, i) y = ReduceMax <keepdims = 0> (g, k)",
                  "Cast Gather Gather Cast Add Mul ReduceMax", 1, SHAPE(9));
    table_becomes("g = Gather(t, i) h = Gather(t, l) z = Add(g, h) "
                  "y = ReduceMax <keepdims = 0> (z, k)",
                  "Cast Gather Gather Cast Add Mul Gather Gather Cast Add Mul Add ReduceMax", 1,
                  SHAPE(9));
}
END_TEST

/* w: 4096 x 256 weights of 8 bits. */
static void weights_become(const char *nodes, const char *operators)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, HEAD "g (float[N] x) => (float[A] y) <int64[1] k = {-1}, "
                               "int8[4096,256] w = {0");
    for (int i = 1; i < 4096 * 256; i++)
        ox_strbuf_printf(&text, ",%d", i * 37 % 251 - 125);
    ox_strbuf_printf(&text, "}> { i = Cast <to = 7> (x) %s }", nodes);
    ck_assert(!text.failed);
    becomes(ox_strbuf_text(&text, NULL), operators, 1, SHAPE(9));
    ox_strbuf_release(&text);
}

START_TEST(rows_of_turned_weights_are_picked_before_they_are_turned)
{
    weights_become("t = Transpose <perm = [1, 0]> (w) g = Gather(t, i) c = Cast <to = 1> (g) "
                   "a = ReduceSum <keepdims = 0> (c, k) h = Gather(w, i) d = Cast <to = 1> (h) "
                   "b = ReduceSum <keepdims = 0> (d, k) y = Add(a, b)",
                   "Cast Gather Transpose Cast ReduceSum Gather Cast ReduceSum Add");
    /* Nothing else needs the weights. */
    weights_become("t = Transpose(w) g = Gather(t, i) c = Cast <to = 1> (g) "
                   "y = ReduceSum <keepdims = 0> (c, k)",
                   "Cast Gather Cast ReduceSum");
}
END_TEST

START_TEST(a_table_that_is_needed_whole_is_computed)
{
    /* Something else reads it; what is repeated for each row has an axis too many for one row; what may be repeated may have as
     * many rows. */
    table_becomes("g = Gather(t, i) h = ReduceMax <keepdims = 1> (t) z = Add(g, h) "
                  "y = ReduceMax <keepdims = 0> (z, k)",
                  "Cast Gather Add ReduceMax", 1, SHAPE(9));
    table_becomes("o = Reshape(i, e) g = Gather(t, o) y = ReduceMax <keepdims = 1> (g, k)",
                  "Cast Reshape Gather ReduceMax", 1, SHAPE(1));
    table_becomes("g = Gather <axis = 1> (t, l) j = Squeeze(g, k) y = Gather(j, i)", "Cast Gather",
                  1, SHAPE(9));
    table_becomes("u = Unsqueeze(x, k) p = Mul(t, u) g = Gather(p, i) "
                  "y = ReduceMax <keepdims = 0> (g, k)",
                  "Cast Unsqueeze Mul Gather ReduceMax", 1, SHAPE(1));
}
END_TEST

START_TEST(what_makes_constants_large_is_folded_on_the_way)
{
    /* Into a sum with constants; what meets the input stays to be made as the model runs. */
    folds_away(
        "s = Concat <axis = 0> (h, n) e = Expand(o, s) i = Unsqueeze(e, o) c = Cast <to = 1> (i) "
        "v = Slice(w, o, h, o) z = Mul(c, v) y = Add(z, x)");
    folds_to("s = Concat <axis = 0> (h, n) m = ReduceMean <keepdims = 0> (w) e = Expand(m, s) "
             "i = Unsqueeze(e, o) y = Add(i, x)",
             3, 3);
    folds_to("s = Concat <axis = 0> (h, n) m = ReduceMean <keepdims = 0> (w) e = Expand(m, s) "
             "v = Slice(w, o, h, o) z = Mul(e, v) i = Unsqueeze(z, o) k = Unsqueeze(e, o) "
             "t = Add(i, x) y = Mul(t, k)",
             4, 4);
}
END_TEST

START_TEST(folding_counts_the_constants_that_go)
{
    /* The halves, the other way round: 256 KB at each step, but the weight and the steps before go. */
    folds_away("a = Slice(w, o, h, o) b = Slice(w, h, n, o) c = Concat <axis = 0> (b, a) "
               "u = Unsqueeze(c, o) y = MatMul(x, u)");
    /* Weights standardized: each is used more than once. */
    folds_away("m = ReduceMean(w, o) s = Sub(w, m) q = Mul(s, s) "
               "v = ReduceMean(q, o) r = Sqrt(v) d = Div(s, r) u = Unsqueeze(d, o) "
               "y = MatMul(x, u)");
}
END_TEST

START_TEST(a_branch_leaves_constants_of_the_graph_around_it)
{
    /* a is made by folding and used in the branch alone, by one node; z goes, a stays: it is not the branch's to drop. */
    folds_to("a = Neg(w) m = ReduceMax <keepdims = 0> (x) z = Sub(m, m) k = Less(m, z) "
             "y = If(k) <then_branch = t () => (float[1,1,256] p) "
             "{ q = Mul(a, a) u = Unsqueeze(q, o) p = MatMul(x, u) }, "
             "else_branch = e () => (float[1,1,256] r) { r = Unsqueeze(x, o) }>",
             4, 2);
}
END_TEST

START_TEST(concats_and_slices_are_merged)
{
    becomes(HEAD
            "g (float[2,3] x) => (float[A,B] y) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] "
            "two = {2}> { n = Neg(x) a = Concat <axis = -1> (x, n) b = Concat <axis = 1> (n, a) "
            "s = Slice(b, zero, one, zero) y = Slice(s, one, two, one) }",
            "Neg Concat Slice", 2, SHAPE(2, 3));
}
END_TEST

START_TEST(slices_of_the_same_axis_stay)
{
    becomes(HEAD "g (float[2,5] x) => (float[A,B] y) <int64[1] one = {1}, int64[1] four = {4}> "
                 "{ s = Slice(x, one, four, one) y = Slice(s, one, four, one) }",
            "Slice Slice", 2, SHAPE(2, 5));
}
END_TEST

START_TEST(axes_that_are_put_back_are_kept)
{
    becomes(HEAD "g (float[2,3] x) => (float[2,1] y) <int64[1] one = {1}> "
                 "{ s = ReduceMax <keepdims = 0> (x, one) y = Unsqueeze(s, one) }",
            "ReduceMax", 2, SHAPE(2, 3));
    becomes(HEAD "g (float[2,3] x) => (float[2] y) <int64[1] one = {1}> "
                 "{ s = ReduceMax(x, one) y = Squeeze(s, one) }",
            "ReduceMax", 2, SHAPE(2, 3));
}
END_TEST

START_TEST(a_reduction_of_one_element_is_nothing)
{
    becomes(HEAD "g (float[N,1] x) => (float[N,1] y) <int64[1] one = {1}> "
                 "{ s = ReduceProd(x, one) y = Neg(s) }",
            "Neg", 2, SHAPE(3, 1));
}
END_TEST

START_TEST(what_broadcasts_takes_what_is_expanded_to_its_other_input)
{
    becomes(HEAD "g (float[N,3,2,2] x) => (float[A,B,C,D] y) <int64[2] axes = {2, 3}> "
                 "{ m = ReduceMean(x, axes) s = Shape(x) e = Expand(m, s) y = Mul(x, e) }",
            "ReduceMean Mul", 4, SHAPE(2, 3, 2, 2));
    becomes(HEAD "g (float[N,4] x) => (float[A,B] y) <float[4] c = {1, -2, 3, 0}> "
                 "{ b = Greater(x, c) s = Shape(x) e = Expand(c, s) y = Where(b, e, x) }",
            "Greater Where", 2, SHAPE(3, 4));
}
END_TEST

START_TEST(what_widens_both_inputs_keeps_the_expanded_one)
{
    becomes(HEAD "g (float[3,1] x) => (float[A,B,C] y) <int64[3] s = {2, 1, 4}> "
                 "{ n = Neg(x) e = Expand(n, s) y = Add(x, e) }",
            "Neg Expand Add", 2, SHAPE(3, 1));
}
END_TEST

START_TEST(quantizing_what_was_dequantized_is_nothing)
{
    becomes(HEAD
            "g (float[6] x) => (float[6] y) <float s = {0.5}, uint8 z = {9}, float r = {0.25}> "
            "{ a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) "
            "c = QuantizeLinear(b, s, z) d = DequantizeLinear(c, s, z) "
            "e = QuantizeLinear(d, r, z) y = DequantizeLinear(e, r, z) }",
            "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear", 1, SHAPE(6));
}
END_TEST

#define QUERY_AND_KEY                                                                              \
    "float[2,4] w = {1, -2, 3, 0.5, 1, 1, -1, 2}, float[4] b = {1, 2, 3, 4}, "                     \
    "float[2,4] u = {3, -2, 3, 1, 0, 1, -1, 1}, int64[4] s = {2, -1, 2, 2}"

START_TEST(products_that_share_their_left_side_become_gemm_of_rows)
{
    becomes(HEAD "g (float[2,3,2] x) => (float[2,3,2,2] y) <" QUERY_AND_KEY "> "
                 "{ p = MatMul(x, w) q = Add(p, b) qs = Reshape(q, s) k = MatMul(x, u) "
                 "v = Add(b, k) n = Neg(x) d = MatMul(n, w) vs = Reshape(v, s) e = Add(d, b) "
                 "es = Reshape(e, s) z = Sub(qs, es) y = Mul(z, vs) }",
            "Reshape Gemm Reshape Gemm Neg MatMul Reshape Add Reshape Sub Mul", 3, SHAPE(2, 3, 2));
}
END_TEST

START_TEST(products_stay_where_more_nodes_would_be_left_or_axes_are_copied)
{
    becomes(HEAD "g (float[2,3,2] x) => (float[2,3,2,2] y) <" QUERY_AND_KEY "> "
                 "{ p = MatMul(x, w) q = Add(p, b) y = Reshape(q, s) }",
            "MatMul Add Reshape", 3, SHAPE(2, 3, 2));
    becomes(HEAD "g (float[2,3,2] x) => (float[2,3,2,2] y, float[2,3,2,2] z) <int64[4] t = "
                 "{0, 0, 2, 2}, float[4] c = {4, 3, 2, 1}, " QUERY_AND_KEY "> { p = MatMul(x, w) "
                 "q = Add(p, b) y = Reshape(q, t) r = Add(p, c) z = Reshape(r, s) }",
            "MatMul Add Reshape Add Reshape", 3, SHAPE(2, 3, 2));
}
END_TEST

START_TEST(branches_over_one_input_become_one_convolution)
{
    becomes(HEAD
            "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,2,2] w = {1, -2, 3, 0.5, 1, 0, "
            "2, -1, 3, 1, 2, -2, 0.5, 1, 1, 4}, float[2,2,1,1] k = {1, -2, 3, 0.5}, " NORM
            "> { c = Conv <pads = [1,0,0,1]> (x, w, b) p = Conv(x, k, m) n = BatchNormalization(x, "
            "g, b, m, v) s = Add(c, p) y = Sub(n, s) }",
            "Conv", 4, SHAPE(1, 2, 3, 3));
    becomes(HEAD "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w = {1, -2, 3, 0.5}> "
                 "{ c = Conv(x, w) y = Add(c, x) }",
            "Conv Add", 4, SHAPE(1, 2, 3, 3));
}
END_TEST

#define TURNS(shape, perm)                                                                         \
    HEAD "g (float[N,2,3,16] x) => (float[A,B,C,D,E] y) <int64[5] s = {" shape "}> "               \
         "{ t = Transpose <perm = [0,3,1,2]> (x) r = Reshape(t, s) y = Transpose <perm = [" perm   \
         "]> (r) }"

/* A head of a detector, whose channels are boxes by values; maps that become a sequence; the sequence that becomes maps. */
START_TEST(transposes_on_either_side_of_a_reshape_are_one)
{
    becomes(TURNS("-1, 2, 8, 2, 3", "0,1,3,4,2"), "Reshape Transpose", 4, SHAPE(2, 2, 3, 16));
    becomes(TURNS("0, 2, 8, 2, 3", "3,4,0,1,2"), "Reshape Transpose", 4, SHAPE(3, 2, 3, 16));
    becomes(HEAD "g (float[N,2,3,16] x) => (float[A,B,C] y) <int64[3] s = {0, 16, 6}> { t = "
                 "Transpose <perm = [0,3,1,2]> (x) r = Reshape(t, s) y = Transpose <perm = "
                 "[0,2,1]> (r) }",
            "Reshape", 4, SHAPE(2, 2, 3, 16));
    becomes(HEAD "g (float[2,6,9] x) => (float[A,B,C,D] y) <int64[4] s = {2, 9, 2, 3}> { t = "
                 "Transpose <perm = [0,2,1]> (x) r = Reshape(t, s) y = Transpose <perm = "
                 "[0,3,2,1]> (r) }",
            "Reshape Transpose", 3, SHAPE(2, 6, 9));
}
END_TEST

START_TEST(transposes_stay_where_short_runs_or_mixed_axes_would_move)
{
    becomes(TURNS("-1, 8, 2, 2, 3", "0,1,3,4,2"), "Transpose Reshape Transpose", 4,
            SHAPE(2, 2, 3, 16));
    becomes(TURNS("-1, 4, 8, 3, 1", "0,2,3,4,1"), "Transpose Reshape Transpose", 4,
            SHAPE(2, 2, 3, 16));
}
END_TEST

START_TEST(zero_states_are_left_out)
{
    becomes(HEAD
            "g (float[T,1,2] x) => (float[T,1,1,1] y) <float[1,3,2] w = {1, -2, 3, 0.5, 1, 1}, "
            "float[1,3,1] r = {1, -1, 0.5}> { n = Constant <value_ints = [1, 1, 1]> () "
            "h = ConstantOfShape(n) y = GRU <hidden_size = 1> (x, w, r, , , h) }",
            "GRU", 3, SHAPE(3, 1, 2));
}
END_TEST

#define LOOP "<int64 n = {3}, int64 none = {0}, bool go = {1}, float[2,2] w = {1, 2, -3, 0.5}>"

START_TEST(what_a_loop_hands_on_unchanged_is_captured)
{
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y, z = Loop(n, go, x, w) <body = b (int64 i, bool c, float[2,2] v, "
                      "float[2,2] w) => (bool c, float[2,2] vo, float[2,2] w) "
                      "{ t = Transpose(w) p = MatMul(v, t) vo = Tanh(p) }> }",
                 "Loop / MatMul Tanh", 2, SHAPE(2, 2));
    /* Under another name, with an output that is needed, and captured by a branch. */
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ a = Abs(x) r, z = Loop(n, go, x, a) <body = b (int64 i, bool c, "
                      "float[2,2] v, float[2,2] u) => (bool c, float[2,2] vo, float[2,2] u) "
                      "{ k = ReduceSum <keepdims = 0> (v) l = Cast <to = 9> (k) vo = If(l) "
                      "<then_branch = t () => (float[2,2] o) { o = Mul(v, u) }, "
                      "else_branch = e () => (float[2,2] q) { q = Sub(u, v) }> }> "
                      "y = Add(r, z) }",
                 "Abs Loop Add / ReduceSum Cast If / Mul / Sub", 2, SHAPE(2, 2));
}
END_TEST

START_TEST(what_every_turn_of_a_loop_computes_is_computed_before_it)
{
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y = Loop(n, go, x) <body = b (int64 i, bool c, float[2,2] v) => "
                      "(bool c, float[2,2] vo) "
                      "{ s = MatMul(x, x) t = Tanh(s) u = Add(v, t) f = Cast <to = 1> (i) "
                      "vo = Sub(u, f) }> }",
                 "MatMul Tanh Loop / Add Cast Sub", 2, SHAPE(2, 2));
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y = Loop(none, go, x) <body = b (int64 i, bool c, float[2,2] v) => "
                      "(bool c, float[2,2] vo) { s = MatMul(x, x) vo = Add(v, s) }> }",
                 "MatMul Loop / Add", 2, SHAPE(2, 2));
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ first = Constant <value_ints = [0]> () "
                      "start = ReduceSum <keepdims = 0> (w, first) "
                      "z, y = Scan <num_scan_inputs = 1, body = b (float[2] h, float[2] v) => "
                      "(float[2] ho, float[2] vo) { s = Sin(x) "
                      "r = ReduceSum <keepdims = 0> (s) vo = Mul(v, r) ho = Add(h, v) }> "
                      "(start, x) }",
                 "Sin Scan / ReduceSum Mul Add", 2, SHAPE(2, 2));
}
END_TEST

START_TEST(what_changes_from_turn_to_turn_stays_in_the_loop)
{
    /* Two values that take turns. */
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y, z = Loop(n, go, x, w) <body = b (int64 i, bool c, float[2,2] v, "
                      "float[2,2] u) => (bool c, float[2,2] u, float[2,2] vo) "
                      "{ vo = Tanh(v) }> }",
                 "Loop / Tanh", 2, SHAPE(2, 2));
    /* The body means something else by the name. */
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ a = Abs(x) y, z = Loop(n, go, x, a) <body = b (int64 i, bool c, "
                      "float[2,2] v, float[2,2] u) => (bool c, float[2,2] vo, float[2,2] u) "
                      "{ a = Neg(v) vo = Mul(a, u) }> }",
                 "Abs Loop / Neg Mul", 2, SHAPE(2, 2));
    /* It may fail, and a loop may make no turn. */
    becomes_with(true,
                 HEAD "g (float[2,2] x) => (float[2,2] y) " LOOP
                      "{ y = Loop(none, go, x) <body = b (int64 i, bool c, float[2,2] v) => "
                      "(bool c, float[2,2] vo) { k = Cast <to = 7> (x) s = Gather(w, k) "
                      "r = ReduceSum <keepdims = 0> (s) vo = Add(v, r) }> }",
                 "Cast Loop / Gather ReduceSum Add", 2, SHAPE(2, 2));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_a_loop_hands_on_unchanged_is_captured,
        what_every_turn_of_a_loop_computes_is_computed_before_it,
        what_changes_from_turn_to_turn_stays_in_the_loop,
        batch_norm_goes_into_a_convolution,
        batch_norm_goes_into_a_grouped_transposed_convolution,
        an_if_that_is_always_true_gives_way_to_its_branch,
        a_branch_may_pass_on_what_it_captures,
        a_branch_that_is_an_initializer_becomes_one,
        branches_within_branches_are_taken,
        a_branch_keeps_the_subgraphs_within,
        an_if_whose_condition_is_computed_stays,
        batch_norm_goes_into_gemm,
        batch_norm_of_a_flattened_product_goes_into_it,
        batch_norm_stays_where_flattening_moves_channels,
        batch_norm_stays_where_the_convolution_is_used_twice,
        a_factor_a_column_goes_into_a_product_and_a_sum_does_not,
        a_constant_of_another_axis_stays,
        padding_goes_into_a_convolution_and_an_average,
        padding_by_another_value_or_of_channels_stays,
        taps_that_meet_padding_alone_go,
        taps_that_count_stay,
        product_and_sum_become_gemm,
        a_sum_that_widens_the_product_stays,
        a_target_computed_from_sizes_becomes_constant,
        a_target_with_two_new_sizes_stays,
        changes_of_shape_are_merged,
        a_transpose_of_axes_of_one_is_a_change_of_shape,
        rows_of_a_large_table_are_picked_before_they_are_computed,
        rows_of_turned_weights_are_picked_before_they_are_turned,
        a_table_that_is_needed_whole_is_computed,
        what_makes_constants_large_is_folded_on_the_way,
        folding_counts_the_constants_that_go,
        a_branch_leaves_constants_of_the_graph_around_it,
        concats_and_slices_are_merged,
        slices_of_the_same_axis_stay,
        axes_that_are_put_back_are_kept,
        a_reduction_of_one_element_is_nothing,
        what_broadcasts_takes_what_is_expanded_to_its_other_input,
        what_widens_both_inputs_keeps_the_expanded_one,
        quantizing_what_was_dequantized_is_nothing,
        products_that_share_their_left_side_become_gemm_of_rows,
        products_stay_where_more_nodes_would_be_left_or_axes_are_copied,
        branches_over_one_input_become_one_convolution,
        transposes_on_either_side_of_a_reshape_are_one,
        transposes_stay_where_short_runs_or_mixed_axes_would_move,
        zero_states_are_left_out,
    };
    Suite *suite = suite_create("standard passes");
    TCase *tcase = tcase_create("standard passes");
    tcase_add_loop_test(tcase, folding_may_add_a_tenth_of_large_constants, 0, 3);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
