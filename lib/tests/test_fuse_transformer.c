/* Passes that put normalization, Gelu and attention together: the same numbers before and after, the parts gone, and nothing done
 * where a part is needed elsewhere. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "common/compiler.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

struct shape {
    unsigned rank;
    int64_t dims[4];
};

struct example {
    const char *name, *text;
    struct shape in[4]; /* rank 0: no more */
    const char *made;   /* the operator that stands for the parts; NULL: nothing is fused */
    const char *gone;   /* one of the parts */
};

#define HEAD13 "<ir_version: 7, opset_import: [\"\" : 13]> "
#define HEAD20 "<ir_version: 9, opset_import: [\"\" : 20]> "

static const struct example examples[] = {
    {"layer norm by Pow and Div",
     HEAD13 "g (float[2,3,8] x) => (float[2,3,8] y) <float two = {2}, float e = {1e-5}, "
            "float[8] s = {1,2,3,4,5,6,7,8}, float[8] b = {8,7,6,5,4,3,2,1}> {"
            "m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) p = Pow(d, two) "
            "v = ReduceMean<axes = [-1]>(p) a = Add(v, e) r = Sqrt(a) q = Div(d, r) "
            "t = Mul(q, s) y = Add(t, b) }",
     {{3, {2, 3, 8}}},
     "Norm",
     "ReduceMean"},
    {"layer norm by Mul and Reciprocal, scaled only, axis 2",
     HEAD20 "g (float[2,3,8] x) => (float[2,3,8] y) <int64[1] axes = {2}, float e = {1e-5}, "
            "float[8] s = {1,2,3,4,5,6,7,8}> {"
            "m = ReduceMean(x, axes) d = Sub(x, m) p = Mul(d, d) v = ReduceMean(p, axes) "
            "a = Add(e, v) r = Sqrt(a) i = Reciprocal(r) q = Mul(d, i) y = Mul(s, q) }",
     {{3, {2, 3, 8}}},
     "Norm",
     "ReduceMean"},
    {"RMS norm",
     HEAD13 "g (float[N,8] x) => (float[N,8] y) <float two = {2}, float one = {1}, "
            "float e = {1e-5}, float[8] s = {1,2,3,4,5,6,7,8}> {"
            "p = Pow(x, two) v = ReduceMean<axes = [-1]>(p) a = Add(v, e) r = Sqrt(a) "
            "i = Div(one, r) q = Mul(x, i) y = Mul(s, q) }",
     {{2, {3, 8}}},
     "Norm",
     "ReduceMean"},
    {"a norm over the first axis is none",
     HEAD13 "g (float[3,3] x) => (float[3,3] y) <float two = {2}, float e = {1e-5}> {"
            "m = ReduceMean<axes = [0]>(x) d = Sub(x, m) p = Pow(d, two) "
            "v = ReduceMean<axes = [0]>(p) a = Add(v, e) r = Sqrt(a) y = Div(d, r) }",
     {{2, {3, 3}}},
     NULL,
     "ReduceMean"},
    {"Gelu, divided, halved last",
     HEAD13 "g (float[N] x) => (float[N] y) "
            "<float r = {1.4142135}, float one = {1}, float half = {0.5}> {"
            "d = Div(x, r) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, half) }",
     {{1, {40}}},
     "Activation",
     "Erf"},
    {"Gelu, multiplied, halved first",
     HEAD13 "g (float[N] x) => (float[N] y) "
            "<float r = {0.70710677}, float one = {1}, float half = {0.5}> {"
            "d = Mul(r, x) e = Erf(d) a = Add(one, e) h = Mul(half, x) y = Mul(h, a) }",
     {{1, {40}}},
     "Activation",
     "Erf"},
    {"Gelu, halved in the middle",
     HEAD13 "g (float[N] x) => (float[N] y) "
            "<float r = {1.4142135}, float one = {1}, float half = {0.5}> {"
            "d = Div(x, r) e = Erf(d) a = Add(e, one) m = Mul(a, half) y = Mul(x, m) }",
     {{1, {40}}},
     "Activation",
     "Erf"},
    {"Gelu by tanh",
     HEAD13 "g (float[N] x) => (float[N] y) <float three = {3}, float c = {0.044715}, "
            "float r = {0.7978846}, float one = {1}, float half = {0.5}> {"
            "p = Pow(x, three) q = Mul(c, p) s = Add(x, q) u = Mul(r, s) t = Tanh(u) "
            "a = Add(t, one) h = Mul(x, half) y = Mul(h, a) }",
     {{1, {40}}},
     "Activation",
     "Tanh"},
    {"quick Gelu",
     HEAD13 "g (float[N] x) => (float[N] y) <float c = {1.702}> {"
            "u = Mul(x, c) s = Sigmoid(u) y = Mul(x, s) }",
     {{1, {40}}},
     "Activation",
     "Sigmoid"},
    {"Erf of something else is no Gelu, but steps in a row",
     HEAD13 "g (float[N] x, float[N] z) => (float[N] y) "
            "<float r = {1.4142135}, float one = {1}, float half = {0.5}> {"
            "d = Div(z, r) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, half) }",
     {{1, {40}}, {1, {40}}},
     "Elementwise",
     "Erf"},
    {"attention of BERT",
     HEAD13 "g (float[B,5,2,4] q, float[B,5,2,4] k, float[B,5,2,4] v, float[B,1,1,5] mask) "
            "=> (float[B,5,2,4] y) <float c = {2}> {"
            "a = Transpose<perm = [0, 2, 1, 3]>(q) b = Transpose<perm = [0, 2, 3, 1]>(k) "
            "w = Transpose<perm = [0, 2, 1, 3]>(v) s = MatMul(a, b) d = Div(s, c) "
            "m = Add(d, mask) p = Softmax<axis = -1>(m) o = MatMul(p, w) "
            "y = Transpose<perm = [0, 2, 1, 3]>(o) }",
     {{4, {3, 5, 2, 4}}, {4, {3, 5, 2, 4}}, {4, {3, 5, 2, 4}}, {4, {3, 1, 1, 5}}},
     "Attend",
     "Softmax"},
    {"attention as scaled_dot_product_attention decomposes",
     HEAD20 "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v) => (float[1,2,3,4] y) "
            "<float c = {0.7}, int64[3] flat = {-1,5,4}, int64[4] back = {1,2,4,5}> {"
            "f = Reshape(k, flat) t = Transpose<perm = [0, 2, 1]>(f) b = Reshape(t, back) "
            "a = Mul(q, c) d = Mul(b, c) s = MatMul(a, d) p = Softmax<axis = 3>(s) "
            "y = MatMul(p, v) }",
     {{4, {1, 2, 3, 4}}, {4, {1, 2, 5, 4}}, {4, {1, 2, 5, 4}}},
     "Attend",
     "Softmax"},
    {"attention of grouped queries",
     HEAD20 "g (float[1,4,3,8] q, float[1,2,7,8] k, float[1,2,7,8] v, float[3,7] mask) "
            "=> (float[1,4,3,8] y) <int64[1] two = {2}, int64[5] many = {1,2,2,7,8}, "
            "int64[4] heads = {1,4,7,8}> {"
            "k5 = Unsqueeze(k, two) kw = Expand(k5, many) kr = Reshape(kw, heads) "
            "v5 = Unsqueeze(v, two) vw = Expand(v5, many) vr = Reshape(vw, heads) "
            "t = Transpose<perm = [0, 1, 3, 2]>(kr) s = MatMul(q, t) m = Add(mask, s) "
            "p = Softmax<axis = -1>(m) y = MatMul(p, vr) }",
     {{4, {1, 4, 3, 8}}, {4, {1, 2, 7, 8}}, {4, {1, 2, 7, 8}}, {2, {3, 7}}},
     "Attend",
     "Expand"},
    {"a mask with more rows than there are queries",
     HEAD13 "g (float[1,2,1,4] q, float[1,2,5,4] k, float[1,2,5,4] v, float[6,5] mask) "
            "=> (float[1,2,6,4] y) {"
            "t = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, t) m = Add(s, mask) "
            "p = Softmax<axis = -1>(m) y = MatMul(p, v) }",
     {{4, {1, 2, 1, 4}}, {4, {1, 2, 5, 4}}, {4, {1, 2, 5, 4}}, {2, {6, 5}}},
     "Attend",
     "Softmax"},
    {"heads of one product, part after part",
     HEAD13 "g (float[B,5,24] x) => (float[B,5,2,4] y) "
            "<int64[4] h = {0,5,2,4}, int64[3] parts = {8,8,8}, float c = {2}> {"
            "q, k, v = Split<axis = 2>(x, parts) q4 = Reshape(q, h) k4 = Reshape(k, h) "
            "v4 = Reshape(v, h) a = Transpose<perm = [0, 2, 1, 3]>(q4) "
            "b = Transpose<perm = [0, 2, 3, 1]>(k4) w = Transpose<perm = [0, 2, 1, 3]>(v4) "
            "s = MatMul(a, b) d = Div(s, c) p = Softmax<axis = -1>(d) o = MatMul(p, w) "
            "y = Transpose<perm = [0, 2, 1, 3]>(o) }",
     {{3, {2, 5, 24}}},
     "Attend",
     "Split"},
    {"heads of one product, fewer of keys",
     HEAD13 "g (float[B,5,32] x) => (float[B,4,5,4] y) <int64[4] hq = {0,5,4,4}, "
            "int64[4] h = {0,5,2,4}, int64[3] parts = {16,8,8}, int64[1] two = {2}, "
            "int64[5] many = {1,1,2,1,1}, int64[4] all = {0,4,5,4}> {"
            "q, k, v = Split<axis = -1>(x, parts) q4 = Reshape(q, hq) k4 = Reshape(k, h) "
            "v4 = Reshape(v, h) a = Transpose<perm = [0, 2, 1, 3]>(q4) "
            "b = Transpose<perm = [0, 2, 1, 3]>(k4) w = Transpose<perm = [0, 2, 1, 3]>(v4) "
            "b5 = Unsqueeze(b, two) bw = Expand(b5, many) br = Reshape(bw, all) "
            "w5 = Unsqueeze(w, two) ww = Expand(w5, many) wr = Reshape(ww, all) "
            "t = Transpose<perm = [0, 1, 3, 2]>(br) s = MatMul(a, t) "
            "p = Softmax<axis = -1>(s) y = MatMul(p, wr) }",
     {{3, {2, 5, 32}}},
     "Attend",
     "Split"},
    {"heads of one product, a head's parts side by side",
     HEAD13 "g (float[B,5,24] x) => (float[B,2,5,4] y) "
            "<int64[4] h = {0,5,2,12}, int64[3] parts = {4,4,4}> {"
            "x4 = Reshape(x, h) q, k, v = Split<axis = 3>(x4, parts) "
            "a = Transpose<perm = [0, 2, 1, 3]>(q) b = Transpose<perm = [0, 2, 3, 1]>(k) "
            "w = Transpose<perm = [0, 2, 1, 3]>(v) s = MatMul(a, b) "
            "p = Softmax<axis = -1>(s) y = MatMul(p, w) }",
     {{3, {2, 5, 24}}},
     "Attend",
     "Split"},
    {"heads of one product, stacked and gathered",
     HEAD13 "g (float[B,5,24] x) => (float[B,2,5,4] y) <int64[5] h = {0,5,3,2,4}, "
            "int64 zero = {0}, int64 one = {1}, int64 last = {-1}> {"
            "x5 = Reshape(x, h) t = Transpose<perm = [2, 0, 3, 1, 4]>(x5) "
            "q = Gather(t, zero) k = Gather(t, one) v = Gather(t, last) "
            "b = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, b) "
            "p = Softmax<axis = -1>(s) y = MatMul(p, v) }",
     {{3, {2, 5, 24}}},
     "Attend",
     "Transpose"},
    {"heads of one product, stacked and split",
     HEAD13 "g (float[1,5,24] x) => (float[1,2,5,4] y) <int64[5] h = {1,5,3,2,4}, "
            "int64[1] zero = {0}, int64[3] ones = {1,1,1}> {"
            "x5 = Reshape(x, h) t = Transpose<perm = [2, 0, 3, 1, 4]>(x5) "
            "q5, k5, v5 = Split<axis = 0>(t, ones) q = Squeeze(q5, zero) "
            "k = Squeeze(k5, zero) v = Squeeze(v5, zero) "
            "b = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, b) "
            "p = Softmax<axis = -1>(s) y = MatMul(p, v) }",
     {{3, {1, 5, 24}}},
     "Attend",
     "Split"},
    {"heads of a part of a product, parted once more",
     HEAD13 "g (float[B,5,24] x) => (float[B,2,5,4] y) <int64[4] h = {0,5,2,4}, "
            "int64[2] parts = {8,16}, int64[2] halves = {8,8}> {"
            "q, kv = Split<axis = 2>(x, parts) k, v = Split<axis = 2>(kv, halves) "
            "q4 = Reshape(q, h) k4 = Reshape(k, h) v4 = Reshape(v, h) "
            "a = Transpose<perm = [0, 2, 1, 3]>(q4) b = Transpose<perm = [0, 2, 3, 1]>(k4) "
            "w = Transpose<perm = [0, 2, 1, 3]>(v4) s = MatMul(a, b) "
            "p = Softmax<axis = -1>(s) y = MatMul(p, w) }",
     {{3, {2, 5, 24}}},
     "Attend",
     "Softmax"},
    {"parts that begin within a head stay",
     HEAD13 "g (float[B,5,26] x) => (float[B,2,5,4] y) <int64[4] h = {0,5,2,4}, "
            "int64[4] parts = {8,2,8,8}> {"
            "q, n, k, v = Split<axis = 2>(x, parts) q4 = Reshape(q, h) k4 = Reshape(k, h) "
            "v4 = Reshape(v, h) a = Transpose<perm = [0, 2, 1, 3]>(q4) "
            "b = Transpose<perm = [0, 2, 3, 1]>(k4) w = Transpose<perm = [0, 2, 1, 3]>(v4) "
            "s = MatMul(a, b) p = Softmax<axis = -1>(s) y = MatMul(p, w) }",
     {{3, {2, 5, 26}}},
     NULL,
     "Split"},
    {"probabilities that are an output stay",
     HEAD13 "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v) "
            "=> (float[1,2,3,4] y, float[1,2,3,5] p) {"
            "t = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, t) "
            "p = Softmax<axis = -1>(s) y = MatMul(p, v) }",
     {{4, {1, 2, 3, 4}}, {4, {1, 2, 5, 4}}, {4, {1, 2, 5, 4}}},
     NULL,
     "Softmax"},
};

static void give(struct text_run *f, const struct shape *shape, uint32_t *state)
{
    float values[1024];
    size_t n = 1;
    for (unsigned d = 0; d < shape->rank; d++)
        n *= (size_t)shape->dims[d];
    ck_assert_uint_le(n, OX_COUNT(values));
    for (size_t i = 0; i < n; i++) {
        *state = *state * 1664525 + 1013904223;
        values[i] = 4 * ((float)(*state >> 8) / (1 << 23) - 1);
    }
    text_give(f, OX_FLOAT32, shape->rank, shape->dims, values);
}

static void run_at(struct text_run *f, const struct example *example, int level)
{
    const struct ox_run_options options = {.level = level, .profile = true};
    uint32_t state = 7;
    text_must_plan(f, example->text, &options);
    for (size_t i = 0; i < OX_COUNT(example->in) && example->in[i].rank; i++)
        give(f, &example->in[i], &state);
    text_must_run(f);
}

static bool ran(const struct text_run *f, const char *op_type)
{
    size_t n;
    const struct ox_node_event *events = ox_session_events(f->session, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(events[i].op_type, op_type) == 0)
            return true;
    }
    return false;
}

START_TEST(the_numbers_stay_and_the_parts_go)
{
    const struct example *e = &examples[_i];
    struct text_run plain, fused;
    run_at(&plain, e, 0);
    run_at(&fused, e, 2);
    ck_assert_msg(ran(&plain, e->gone), "%s: no %s before", e->name, e->gone);
    ck_assert_msg(ran(&fused, e->gone) == !e->made, "%s: %s", e->name, e->gone);
    ck_assert_msg(!e->made || ran(&fused, e->made), "%s: no %s", e->name, e->made);
    for (size_t i = 0; i < TEXT_MOST && plain.out[i]; i++) {
        const struct ox_tensor *a = ox_datum_get_tensor(plain.out[i]);
        const struct ox_tensor *b = ox_datum_get_tensor(fused.out[i]);
        ck_assert_uint_eq(a->n, b->n);
        ck_assert_uint_eq(a->rank, b->rank);
        for (unsigned d = 0; d < a->rank; d++)
            ck_assert_int_eq(a->dims[d], b->dims[d]);
        for (size_t k = 0; k < a->n; k++) {
            double x = ox_tensor_get_double(a, k), y = ox_tensor_get_double(b, k);
            ck_assert_msg(fabs(x - y) <= 1e-6 + 3e-6 * fabs(x), "%s: [%zu] is %g, not %g", e->name,
                          k, y, x);
        }
    }
    text_close(&plain);
    text_close(&fused);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("fuse");
    tcase_add_loop_test(tc, the_numbers_stay_and_the_parts_go, 0, (int)OX_COUNT(examples));
    Suite *suite = suite_create("fuse_transformer");
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
