/* Nodes of transformers at -O2 with all that the processor has, against -O0 in plain C. */
#include <check.h>
#include <stdio.h>

#include "tests/every_level.h"
#include "tests/run_suite.h"

#define CONTRIB                                                                                    \
    "<ir_version: 10, opset_import: [\"\" : 18, \"com.microsoft\" : 1]> "                          \
    "g (float[B,S,W] x, float[B,T,W] z) => (y) <int64[1] a0 = {0}, int64[2] a01 = {0,1}, "         \
    "int64[1] a1 = {1}, int64[1] a2 = {2}, float nought = {0}, float little = {0.015625}> { "

/* Heads of com.microsoft with all that they may have but a past, and what adds a bias before Gelu. */
START_TEST(transformer_nodes)
{
    static const char *const texts[] = {
        "y = com.microsoft.MultiHeadAttention <num_heads = 4> (x, z, z) }",
        "y = com.microsoft.MultiHeadAttention <num_heads = 2, scale = 0.25> (x, z, z) }",
        "y = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = 1> (x, z, z) }",
        "s = ReduceMax <keepdims = 0> (z, a01) b = Concat <axis = 0> (s, s, s) "
        "y = com.microsoft.MultiHeadAttention <num_heads = 4> (x, z, z, b) }",
        "m = ReduceMax <keepdims = 0> (z, a2) t = Greater (m, nought) k = Cast <to = 6> (t) "
        "y = com.microsoft.MultiHeadAttention <num_heads = 4> (x, z, z, , k) }",
        "t = Transpose <perm = [0, 2, 1]> (z) m = MatMul (x, t) b = Unsqueeze (m, a1) "
        "y = com.microsoft.MultiHeadAttention <num_heads = 4> (x, z, z, , , b) }",
        "t = Transpose <perm = [0, 2, 1]> (z) p = MatMul (t, z) q = ReduceMean <keepdims = 0> (p, "
        "a0) "
        "e = Mul (q, little) w = Concat <axis = 1> (e, e, e) s = ReduceMax <keepdims = 0> (z, a01) "
        "b = Concat <axis = 0> (s, s, s) m = ReduceMax <keepdims = 0> (x, a2) "
        "g = Greater (m, nought) k = Cast <to = 6> (g) "
        "y = com.microsoft.Attention <num_heads = 2> (x, w, b, k) }",
        "t = Transpose <perm = [0, 2, 1]> (z) p = MatMul (t, z) q = ReduceMean <keepdims = 0> (p, "
        "a0) "
        "e = Mul (q, little) w = Concat <axis = 1> (e, e, e) s = ReduceMax <keepdims = 0> (z, a01) "
        "b = Concat <axis = 0> (s, s, s) "
        "y = com.microsoft.Attention <num_heads = 4, unidirectional = 1> (x, w, b) }",
        "s = ReduceMax <keepdims = 0> (z, a01) y = com.microsoft.FastGelu (x, s) }",
        "y = com.microsoft.FastGelu (x) }",
        "s = ReduceMax <keepdims = 0> (z, a01) y = com.microsoft.BiasGelu (x, s) }"};
    struct dice d = {(uint64_t)_i * 61 + 9};
    char text[1024];
    const int64_t batch = (int64_t)dice_between(&d, 1, 3),
                  width = 4 * (int64_t)dice_between(&d, 1, 9);
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {batch, 0, width}, NULL},
                               {OX_FLOAT32, 3, {batch, 0, width}, NULL}};
    for (unsigned k = 0; k < INPUTS; k++) {
        in[k].dims[1] = (int64_t)dice_between(&d, 1, 40);
        in[k].data = floats(&d, (size_t)(batch * in[k].dims[1] * width), false);
    }
    snprintf(text, sizeof text, CONTRIB "%s", texts[(size_t)_i % OX_COUNT(texts)]);
    same_floats(text, in, 1e-4f);
}
END_TEST

/* Experts of com.microsoft, [4, 48, 32] and back: floats, and codes of which those of 4 bits have blocks of 16. */
START_TEST(experts)
{
    static const char *const texts[] = {
        "y = com.microsoft.MoE <k = 2, activation_type = \"relu\"> (x, p, z, b1, t, b2)",
        "y = com.microsoft.MoE <k = 1, activation_type = \"silu\", normalize_routing_weights = 1> "
        "(x, p, z, , t)",
        "y = com.microsoft.MoE <k = 3, activation_type = \"gelu\"> (x, p, z, b1, t)",
        "w = Concat <axis = 1> (z, z) y = com.microsoft.MoE <k = 2, activation_type = \"swiglu\", "
        "swiglu_fusion = 1, activation_alpha = 1.702, activation_beta = 1.0, swiglu_limit = 0.5> "
        "(x, p, w, , t, b2)",
        "w = Concat <axis = 1> (z, z) y = com.microsoft.MoE <k = 2, activation_type = \"swiglu\", "
        "swiglu_fusion = 2> (x, p, w, , t)",
        "y = com.microsoft.QMoE <k = 2, activation_type = \"identity\", expert_weight_bits = 8> "
        "(x, p, c, b1, , ct, b2)",
        "ch = Slice (c, nil, n16, last) th = Slice (ct, nil, n24, last) s1 = Slice (a, nil, n2, "
        "last) s2 = Slice (at, nil, n3, last) "
        "y = com.microsoft.QMoE <k = 2, activation_type = \"relu\", expert_weight_bits = 4, "
        "block_size = 16> (x, p, ch, s1, b1, th, s2)",
        "ch = Slice (c, nil, n16, last) th = Slice (ct, nil, n24, last) s1 = Slice (a, nil, n2, "
        "last) s2 = Slice (at, nil, n3, last) z1 = Slice (c, nil, n1, last) z2 = Slice (ct, nil, "
        "n2, last) y = com.microsoft.QMoE <k = 1, activation_type = \"silu\", expert_weight_bits = "
        "4, block_size = 16> (x, p, ch, s1, , th, s2, b2, , , , z1, z2)"};
    struct dice d = {(uint64_t)_i * 59 + 7};
    char text[2048];
    struct given in[INPUTS] = {{OX_FLOAT32, 2, {(int64_t)dice_between(&d, 1, 40), 32}, NULL},
                               {OX_FLOAT32, 3, {4, 48, 32}, NULL}};
    in[0].data = floats(&d, (size_t)(in[0].dims[0] * 32), false);
    in[1].data = floats(&d, 4 * 48 * 32, false);
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 18, \"com.microsoft\" : 1]> "
             "g (float[N,32] x0, float[4,48,32] z0) => (y) <int64[1] nil = {0}, int64[1] n1 = {1}, "
             "int64[1] n2 = {2}, int64[1] n3 = {3}, int64[1] n4 = {4}, int64[1] n16 = {16}, "
             "int64[1] n24 = {24}, int64[1] last = {-1}, float much = {128}, float few = {0.125}, "
             "float least = {0.0078125}> "
             "{ x = Mul (x0, few) z = Mul (z0, few) p = Slice (x, nil, n4, last) t = Transpose "
             "<perm = [0, 2, 1]> (z) "
             "b1 = ReduceMax <keepdims = 0> (z, last) b2 = ReduceMax <keepdims = 0> (t, last) "
             "m = Mul (z, much) e = Add (m, much) c = Cast <to = 2> (e) "
             "ct = Transpose <perm = [0, 2, 1]> (c) n = Abs (z) a = Mul (n, least) at = Transpose "
             "<perm = [0, 2, 1]> (a) %s }",
             texts[(size_t)_i % OX_COUNT(texts)]);
    same_floats(text, in, 1e-4f);
}
END_TEST

/* Attention over a past p, [batch, 4, rows, size], and new rows behind it: the result and what both make up. */
START_TEST(heads_with_a_past)
{
    static const char *const texts[] = {
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, x, x, , , , p, p)",
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4, unidirectional = 1> "
        "(x, x, x, , , , p, p)",
        "s = ReduceMax <keepdims = 0> (z, a01) b = Concat <axis = 0> (s, s, s) "
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, x, x, b, , , p, p)",
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, x, x)",
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, p, p)",
        "s = ReduceMax <keepdims = 0> (z, a01) b = Concat <axis = 0> (s, s, s) "
        "o, k, v = com.microsoft.MultiHeadAttention <num_heads = 4> (x, p, p, b)",
        "q = ReduceMax (x, one) "
        "o, k, v = com.microsoft.DecoderMaskedMultiHeadAttention <num_heads = 4> (q, p, p)",
        "q = ReduceMax (x, one) s = ReduceMax <keepdims = 0> (z, a01) b = Concat <axis = 0> (s, s, "
        "s) o, k, v = com.microsoft.DecoderMaskedMultiHeadAttention <num_heads = 4> "
        "(q, q, q, , , p, p, , , , b)",
        "u = LpNormalization <axis = -1> (x) g = Abs (x) decay = Neg (g) m = ReduceMean (x, two) "
        "rate = Sigmoid (m) o, k = com.microsoft.LinearAttention <q_num_heads = 4, kv_num_heads = "
        "4, update_rule = \"gated_delta\", scale = 0.3> (x, u, x, , decay, rate) v = Identity (k)",
        "u = LpNormalization <axis = -1> (x) kx, vx = Split <axis = 2, num_outputs = 2> (u) "
        "o, k = com.microsoft.LinearAttention <q_num_heads = 4, kv_num_heads = 2, "
        "update_rule = \"linear\"> (u, kx, vx) v = Identity (k)",
        "u = LpNormalization <axis = -1> (x) g = Abs (x) n = Neg (g) decay = Slice (n, nil, four, "
        "two) rate = Sigmoid (decay) pt = Transpose <perm = [0, 1, 3, 2]> (p) s = MatMul (pt, p) "
        "state = LpNormalization <axis = -1> (s) o, k = com.microsoft.LinearAttention "
        "<q_num_heads = 4, kv_num_heads = 4, update_rule = \"gated_delta\"> "
        "(u, u, x, state, decay, rate) v = Identity (k)",
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4> (x, x, x, , p, p)",
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4, is_causal = 1> (x, x, x, , p, p)",
        "n = Shape <start = 1, end = 2> (x) m = Shape <start = 1, end = 2> (z) t = Add (n, m) "
        "e = Concat <axis = 0> (n, t) f = ConstantOfShape <value = bool[1] {1}> (e) "
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4> (x, x, x, f, p, p)",
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4> (x, x, x)",
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4> "
        "(x, x, x, p, p, lens, total)",
        "kx, vx = Split <axis = 2, num_outputs = 2> (x) kp, vp = Split <axis = 1, num_outputs = 2> "
        "(p) o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, "
        "do_rotary = 1, softcap = 2.0> (x, kx, vx, kp, vp, lens, total, cosines, sines)",
        "kx, vx = Split <axis = 2, num_outputs = 2> (x) kp, vp = Split <axis = 1, num_outputs = 2> "
        "(p) all = Concat <axis = 2> (x, kx, vx) kb = Concat <axis = 2> (kp, vp) "
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, "
        "do_rotary = 1, rotary_interleaved = 1, scale = 0.3> "
        "(all, , , kb, kb, lens, total, cosines, sines)",
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, do_rotary = "
        "1> (x, x, x, p, p, first, fresh, cosines, sines)",
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, "
        "local_window_size = 3> (x, x, x, p, p, lens, total)",
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4> "
        "(x, x, x, , , first, fresh)",
        "o, k, v = Attention <q_num_heads = 4, kv_num_heads = 4, is_causal = 1, softcap = 2.0> "
        "(x, x, x, , p, p)",
        "low = Min (ramp, before) fewer = Sub (last, low) uneven = Cast <to = 6> (fewer) "
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, do_rotary = "
        "1, local_window_size = 20> (x, x, x, p, p, uneven, total, cosines, sines)",
        "low = Min (ramp, to) fewer = Sub (to, low) uneven = Cast <to = 6> (fewer) "
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, do_rotary = "
        "1> (x, x, x, p, p, uneven, fresh, cosines, sines)",
        "s = ReduceMax <keepdims = 0> (z, a01) sink = Slice (s, nil, four) "
        "o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 4, "
        "local_window_size = 7> (x, x, x, p, p, lens, total, , , , , sink)",
        "low = Min (ramp, before) fewer = Sub (last, low) uneven = Cast <to = 6> (fewer) "
        "m = ReduceMean <keepdims = 0> (x, two) q = Unsqueeze (m, ends) w = Slice (sines, nil, "
        "both) t = Reshape (w, across) bias = Mul (q, t) shape = Concat <axis = 0> (batch, rows) "
        "ids = Expand (four, shape) o, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, "
        "kv_num_heads = 4, do_rotary = 1, smooth_softmax = 1> "
        "(x, x, x, p, p, uneven, total, cosines, sines, ids, bias)"};
    struct dice d = {(uint64_t)_i * 61 + 9};
    char text[3072];
    const bool many = _i % 32 >= 16; /* blocks of queries */
    const int64_t batch = (int64_t)dice_between(&d, 1, many ? 1 : 3),
                  width = 4 * (int64_t)dice_between(&d, 2, 9);
    struct given in[INPUTS] = {{OX_FLOAT32, 3, {batch, 0, width}, NULL},
                               {OX_FLOAT32, 3, {batch, 0, width}, NULL}};
    for (unsigned k = 0; k < INPUTS; k++) {
        in[k].dims[1] = (int64_t)dice_between(&d, 1, _i & 64 && k == 0 ? 2 : 40);
        if (many && k == 0)
            in[k].dims[1] = 300 - in[k].dims[1];
        in[k].data = floats(&d, (size_t)(batch * in[k].dims[1] * width), false);
    }
    snprintf(
        text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]> "
        "g (float[B,S,W] x, float[B,T,W] z) => (y) <int64[2] a01 = {0,1}, "
        "int64[4] parted = {0, 0, 4, -1}, int64[1] flat = {-1}, int64[1] one = {1}, "
        "int64[2] table = {400, 1}, float none = {0}, float most = {400}, float step = {1}, "
        "int64[1] nil = {0}, int64[1] four = {4}, int64[4] across = {1, 1, 1, -1}, int64[1] two "
        "= {2}, int64[2] ends = {1, 3}, int64 axis = {0}> "
        "{ r = Reshape (z, parted) angle = Range (none, most, step) angles = Reshape (angle, "
        "table) cosines = Cos (angles) sines = Sin (angles) "
        "rows = Shape <start = 1, end = 2> (x) before = Shape <start = 1, end = 2> (z) "
        "batch = Shape <start = 0, end = 1> (x) both = Add (rows, before) "
        "last = Sub (both, one) total = Cast <to = 6> (both) fresh = Cast <to = 6> (rows) "
        "len = Cast <to = 6> (last) lens = Expand (len, batch) "
        "to = Sub (rows, one) until = Cast <to = 6> (to) first = Expand (until, batch) "
        "ones = Expand (one, batch) ramp = CumSum (ones, axis) "
        "p = Transpose <perm = [0, 2, 1, 3]> (r) %s "
        "a = Reshape (o, flat) b1 = Reshape (k, flat) c = Reshape (v, flat) "
        "y = Concat <axis = 0> (a, b1, c) }",
        texts[(size_t)_i % OX_COUNT(texts)]);
    same_floats(text, in, 1e-4f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nodes of transformers at every level");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, transformer_nodes, 0, 110);
    tcase_add_loop_test(all, heads_with_a_past, 0, 190);
    tcase_add_loop_test(all, experts, 0, 48);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
