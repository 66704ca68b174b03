/* Recurrent operators of the fast engine against the reference kernels: sizes about those of the tiles, several sequences, both
 * directions, sequences that end early; a second run has the bits of the first, and so has one by three threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

struct net {
    const char *op;
    int gates, hidden, batch, steps, input, directions, linear;
};

/* Weights are computed from their places and folded, so that they are constants where the engine packs them. */
static void write_net(const struct net *n, char *text, size_t room)
{
    const int rows = n->gates * n->hidden;
    char linear[64] = "";
    if (strcmp(n->op, "GRU") == 0)
        snprintf(linear, sizeof linear, ", linear_before_reset = %d", n->linear);
    snprintf(
        text, room,
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[%d,%d,%d] x, int32[%d] lens) => "
        "(float[%d,%d,%d,%d] y, float[%d,%d,%d] h) "
        "<float zero = {0}, float one = {1}, float nw = {%d}, float nr = {%d}, float nb = {%d}, "
        "float fw = {0.37}, float fr = {0.73}, float fb = {1.1}, float part = {0.4}, "
        "float ns = {%d}, int64[3] ss = {%d, %d, %d}, "
        "int64[3] sw = {%d, %d, %d}, int64[3] sr = {%d, %d, %d}, int64[2] sb = {%d, %d}> "
        "{ iw = Range(zero, nw, one) aw = Mul(iw, fw) bw = Sin(aw) cw = Mul(bw, part) "
        "w = Reshape(cw, sw) ir = Range(zero, nr, one) ar = Mul(ir, fr) br = Sin(ar) "
        "cr = Mul(br, part) r = Reshape(cr, sr) ib = Range(zero, nb, one) ab = Mul(ib, fb) "
        "bb = Sin(ab) b = Reshape(bb, sb) "
        "is = Range(zero, ns, one) as = Sin(is) s = Reshape(as, ss) "
        "y, h = %s <hidden_size = %d, direction = \"%s\"%s> (x, w, r, b, lens, s%s) }",
        n->steps, n->batch, n->input, n->batch, n->steps, n->directions, n->batch, n->hidden,
        n->directions, n->batch, n->hidden, n->directions * rows * n->input,
        n->directions * rows * n->hidden, n->directions * 2 * rows,
        n->directions * n->batch * n->hidden, n->directions, n->batch, n->hidden, n->directions,
        rows, n->input, n->directions, rows, n->hidden, n->directions, 2 * rows, n->op, n->hidden,
        n->directions == 2 ? "bidirectional" : "forward", linear, n->gates == 4 ? ", s" : "");
}

static void give_all(struct text_run *f, const struct net *n, struct dice *d)
{
    enum { MOST = 8192 };
    static float x[MOST];
    int32_t lens[64];
    const int64_t dims[3] = {n->steps, n->batch, n->input}, many = n->batch;
    ck_assert_int_le(n->steps * n->batch * n->input, MOST);
    for (int i = 0; i < n->steps * n->batch * n->input; i++)
        x[i] = (float)dice_between(d, 0, 2000) / 1000 - 1;
    for (int i = 0; i < n->batch; i++)
        lens[i] = (int32_t)dice_between(d, 0, (size_t)n->steps);
    text_give(f, OX_FLOAT32, 3, dims, x);
    text_give(f, OX_INT32, 1, &many, lens);
}

static const struct ox_tensor *output(const struct text_run *f, size_t i)
{
    return ox_datum_get_tensor(f->out[i]);
}

static struct net draw_net(struct dice *d)
{
    static const char *const ops[] = {"RNN", "GRU", "LSTM"};
    static const int gates[] = {1, 3, 4}, hidden[] = {1, 7, 16, 31, 64, 70, 96, 130, 340};
    const size_t which = dice_between(d, 0, 2);
    return (struct net){.op = ops[which],
                        .gates = gates[which],
                        .hidden = hidden[dice_between(d, 0, 8)],
                        .batch = (int)dice_between(d, 1, dice_between(d, 0, 1) ? 2 : 30),
                        .steps = (int)dice_between(d, 1, 6),
                        .input = (int)dice_between(d, 1, 20),
                        .directions = (int)dice_between(d, 1, 2),
                        .linear = (int)dice_between(d, 0, 1)};
}

START_TEST(the_fast_engine_gives_what_the_reference_gives)
{
    struct dice d = {(uint64_t)_i * 71 + 5};
    const struct net n = draw_net(&d);
    const struct dice before = d;
    const struct ox_run_options slow = {.level = 0}, fast = {.level = 2};
    char text[2048];
    struct text_run a, b;
    write_net(&n, text, sizeof text);
    text_must_plan(&a, text, &slow);
    text_must_plan(&b, text, &fast);
    give_all(&a, &n, &d);
    d = before;
    give_all(&b, &n, &d);
    text_must_run(&a);
    text_must_run(&b);
    float *first[2];
    for (size_t o = 0; o < 2; o++) {
        const float *want = output(&a, o)->data, *got = output(&b, o)->data;
        ck_assert_uint_eq(output(&a, o)->n, output(&b, o)->n);
        for (size_t i = 0; i < output(&a, o)->n; i++)
            ck_assert_msg(fabsf(want[i] - got[i]) < 2e-5f, "%s: %g for %g", n.op, (double)got[i],
                          (double)want[i]);
        first[o] = malloc(output(&b, o)->n * sizeof *got);
        ck_assert_ptr_nonnull(first[o]);
        memcpy(first[o], got, output(&b, o)->n * sizeof *got);
    }
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        ox_env_set_threads(b.env, threads);
        text_must_run(&b);
        for (size_t o = 0; o < 2; o++)
            ck_assert_mem_eq(output(&b, o)->data, first[o], output(&b, o)->n * sizeof(float));
    }
    for (size_t o = 0; o < 2; o++)
        free(first[o]);
    text_close(&a);
    text_close(&b);
}
END_TEST

/* Weights of 8 bits from their places; their scales a direction's or a column's, their zero points not 0 where `zeros`. */
static void write_bytes(const struct net *n, const char *type, bool columns, bool zeros, char *text,
                        size_t room)
{
    const int width = 4 * n->hidden, scales = n->directions * (columns ? width : 1);
    snprintf(
        text, room,
        "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> "
        "g (float[%d,%d,%d] x, int32[%d] lens) => (float[%d,%d,%d,%d] y, float[%d,%d,%d] h) "
        "<float zero = {0}, float one = {1}, float nw = {%d}, float nr = {%d}, float nb = {%d}, "
        "float ns = {%d}, float fw = {0.37}, float fr = {0.73}, float fb = {1.1}, "
        "float less = {0.001}, float least = {0.004}, "
        "float step = {0.01}, %s origin = {%d}, float part = {%g}, "
        "int64[3] sw = {%d, %d, %d}, int64[3] sr = {%d, %d, %d}, int64[2] sb = {%d, %d}> "
        "{ iw = Range(zero, nw, one) aw = Mul(iw, fw) bw = Sin(aw) "
        "qw = QuantizeLinear(bw, step, origin) w = Reshape(qw, sw) "
        "ir = Range(zero, nr, one) ar = Mul(ir, fr) br = Sin(ar) "
        "qr = QuantizeLinear(br, step, origin) r = Reshape(qr, sr) "
        "ib = Range(zero, nb, one) ab = Mul(ib, fb) bb = Sin(ab) b = Reshape(bb, sb) "
        "is = Range(zero, ns, one) as = Sin(is) bs = Mul(as, less) scales = Add(bs, least) "
        "iz = Mul(is, part) zeros = QuantizeLinear(iz, one, origin) "
        "y, h = com.microsoft.DynamicQuantizeLSTM <hidden_size = %d, direction = \"%s\"> "
        "(x, w, r, b, lens, , , , scales, zeros, scales, zeros) }",
        n->steps, n->batch, n->input, n->batch, n->steps, n->directions, n->batch, n->hidden,
        n->directions, n->batch, n->hidden, n->directions * width * n->input,
        n->directions * width * n->hidden, n->directions * 2 * width, scales, type,
        type[0] == 'u' ? 128 : 0, zeros ? 0.3 : 0.0, n->directions, n->input, width, n->directions,
        n->hidden, width, n->directions, 2 * width, n->hidden,
        n->directions == 2 ? "bidirectional" : "forward");
}

/* Numbers that lie near the middle of two codes may leave for the other one: of one step, and rarely. */
START_TEST(eight_bit_weights_give_what_the_reference_gives)
{
    struct dice d = {(uint64_t)_i * 53 + 1};
    struct net n = draw_net(&d);
    n.gates = 4;
    const char *type = dice_between(&d, 0, 1) ? "int8" : "uint8";
    const bool columns = dice_between(&d, 0, 1) != 0, zeros = dice_between(&d, 0, 1) != 0;
    const struct dice before = d;
    const struct ox_run_options levels[2] = {{.level = 0}, {.level = 2}};
    char text[2560];
    struct text_run run[2];
    write_bytes(&n, type, columns, zeros, text, sizeof text);
    for (size_t i = 0; i < 2; i++) {
        d = before;
        text_must_plan(&run[i], text, &levels[i]);
        give_all(&run[i], &n, &d);
        text_must_run(&run[i]);
    }
    for (size_t o = 0; o < 2; o++) {
        const float *want = output(&run[0], o)->data, *got = output(&run[1], o)->data;
        const size_t count = output(&run[0], o)->n;
        double sum = 0;
        ck_assert_uint_eq(output(&run[1], o)->n, count);
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(fabsf(want[i] - got[i]) < 0.02f, "%g for %g", (double)got[i],
                          (double)want[i]);
            sum += (double)fabsf(want[i] - got[i]);
        }
        ck_assert_double_lt(sum, 1e-4 * (double)count);
    }
    text_close(&run[0]);
    text_close(&run[1]);
}
END_TEST

/* Identities for activations, and weights that pass the state on as it was rounded: by a scale of 1, for 255 is the most. */
START_TEST(the_state_of_a_batch_has_one_scale)
{
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 13, \"com.microsoft\" : 1]> "
        "g (float[1,2,1] x) => (float[1,1,2,1] y) <int8[1,1,4] w = {0, 0, 0, 0}, "
        "int8[1,1,4] r = {0, 0, 0, 1}, float[1,8] b = {1, 1, 0, 0, 0, 0, 0, 0}, "
        "float[1,2,1] h = {255, 0.4}, float[1] step = {1}, int8[1] zero = {0}> "
        "{ y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1, "
        "activations = [\"Affine\", \"Affine\", \"Affine\"]> "
        "(x, w, r, b, , h, , , step, zero, step, zero) }";
    const struct ox_run_options options = {.level = (unsigned char)_i};
    const int64_t dims[3] = {1, 2, 1};
    struct text_run run;
    text_must_plan(&run, text, &options);
    text_give(&run, OX_FLOAT32, 3, dims, (const float[]){0, 0});
    text_must_run(&run);
    const float *y = output(&run, 0)->data;
    ck_assert(y[0] == 255 && y[1] == 0);
    text_close(&run);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fast_rnn");
    TCase *tc = tcase_create("fast_rnn");
    tcase_add_loop_test(tc, the_fast_engine_gives_what_the_reference_gives, 0, 120);
    tcase_add_loop_test(tc, eight_bit_weights_give_what_the_reference_gives, 0, 60);
    tcase_add_loop_test(tc, the_state_of_a_batch_has_one_scale, 0, 3);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
