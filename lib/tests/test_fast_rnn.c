/* Recurrent operators of the fast engine against the reference kernels: sizes about those of the tiles, several sequences, both
 * directions, sequences that end early; a second run has the bits of the first. */
#include <math.h>
#include <stdio.h>
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
        "int64[3] sw = {%d, %d, %d}, int64[3] sr = {%d, %d, %d}, int64[2] sb = {%d, %d}> "
        "{ iw = Range(zero, nw, one) aw = Mul(iw, fw) bw = Sin(aw) cw = Mul(bw, part) "
        "w = Reshape(cw, sw) ir = Range(zero, nr, one) ar = Mul(ir, fr) br = Sin(ar) "
        "cr = Mul(br, part) r = Reshape(cr, sr) ib = Range(zero, nb, one) ab = Mul(ib, fb) "
        "bb = Sin(ab) b = Reshape(bb, sb) "
        "y, h = %s <hidden_size = %d, direction = \"%s\"%s> (x, w, r, b, lens) }",
        n->steps, n->batch, n->input, n->batch, n->steps, n->directions, n->batch, n->hidden,
        n->directions, n->batch, n->hidden, n->directions * rows * n->input,
        n->directions * rows * n->hidden, n->directions * 2 * rows, n->directions, rows, n->input,
        n->directions, rows, n->hidden, n->directions, 2 * rows, n->op, n->hidden,
        n->directions == 2 ? "bidirectional" : "forward", linear);
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
    static const int gates[] = {1, 3, 4}, hidden[] = {1, 7, 16, 31, 64, 70};
    const size_t which = dice_between(d, 0, 2);
    return (struct net){.op = ops[which],
                        .gates = gates[which],
                        .hidden = hidden[dice_between(d, 0, 5)],
                        .batch = (int)dice_between(d, 1, 30),
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
    float first[2];
    for (size_t o = 0; o < 2; o++) {
        const float *want = output(&a, o)->data, *got = output(&b, o)->data;
        ck_assert_uint_eq(output(&a, o)->n, output(&b, o)->n);
        for (size_t i = 0; i < output(&a, o)->n; i++)
            ck_assert_msg(fabsf(want[i] - got[i]) < 2e-5f, "%s: %g for %g", n.op, (double)got[i],
                          (double)want[i]);
        first[o] = got[output(&b, o)->n - 1];
    }
    text_must_run(&b);
    for (size_t o = 0; o < 2; o++)
        ck_assert(((const float *)output(&b, o)->data)[output(&b, o)->n - 1] == first[o]);
    text_close(&a);
    text_close(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fast_rnn");
    TCase *tc = tcase_create("fast_rnn");
    tcase_add_loop_test(tc, the_fast_engine_gives_what_the_reference_gives, 0, 120);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
