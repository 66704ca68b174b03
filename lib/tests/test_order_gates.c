/* Weights of LSTM and GRU whose gates exporters put in order by Slice and Concat: nodes of our own take them as they are. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "graph/pass.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

enum { HIDDEN = 6, INPUT = 5, STEPS = 3, BATCH = 2, MOST_GATES = 4 };

struct net {
    const char *op, *attributes;
    int gates, order[MOST_GATES]; /* which part of the stored rows each gate of the standard is */
    bool known;                   /* the pass takes it */
};

static const struct net nets[] = {
    {"LSTM", "", 4, {0, 3, 1, 2}, true},
    {"LSTM", ", direction = \"reverse\", input_forget = 1", 4, {2, 0, 3, 1}, true},
    /* The fast engine does not know that function. */
    {"LSTM", ", activations = [\"ThresholdedRelu\", \"Tanh\", \"Tanh\"]", 4, {0, 3, 1, 2}, true},
    {"GRU", "", 3, {1, 0, 2}, true},
    {"GRU", ", linear_before_reset = 1", 3, {1, 0, 2}, true},
    {"GRU", ", activations = [\"ThresholdedRelu\", \"Tanh\"]", 3, {1, 0, 2}, true},
    {"GRU", "", 3, {2, 0, 1}, false},
    {"LSTM", "", 4, {0, 3, 1, 1}, false},
    {"LSTM", ", layout = 1", 4, {0, 3, 1, 2}, false},
};

static void add_floats(struct ox_strbuf *text, const char *type, const char *name, int n,
                       struct dice *d)
{
    ox_strbuf_printf(text, "float[%s] %s = {", type, name);
    for (int i = 0; i < n; i++)
        ox_strbuf_printf(text, "%s%.3f", i ? "," : "", (double)dice_between(d, 0, 2000) / 1000 - 1);
    ox_strbuf_puts(text, "}, ");
}

/* `name` from its stored rows. */
static void add_order(struct ox_strbuf *text, const struct net *n, const char *name)
{
    for (int i = 0; i < n->gates; i++)
        ox_strbuf_printf(text, "%s%d = Slice(%s, at%d, at%d, at0) ", name, i, name, n->order[i],
                         n->order[i] + 1);
    ox_strbuf_printf(text, "%sj = Concat <axis = 0> (", name);
    for (int i = 0; i < n->gates; i++)
        ox_strbuf_printf(text, "%s%s%d", i ? ", " : "", name, i);
    ox_strbuf_printf(text, ") %su = Unsqueeze(%sj, at0) ", name, name);
}

static void write_net(const struct net *n, struct dice *d, struct ox_strbuf *text)
{
    const int rows = n->gates * HIDDEN, peepholes = n->gates == 4;
    char type[32];
    ox_strbuf_printf(text,
                     "<ir_version: 10, opset_import: [\"\" : 20]> g (float[%d,%d,%d] x) => "
                     "(float[A,B,C,D] y, float[E,F,G] h) <",
                     STEPS, BATCH, INPUT);
    for (int i = 0; i <= n->gates; i++)
        ox_strbuf_printf(text, "int64[1] at%d = {%d}, ", i, i * HIDDEN);
    snprintf(type, sizeof type, "%d,%d", rows, INPUT);
    add_floats(text, type, "w", rows * INPUT, d);
    snprintf(type, sizeof type, "%d,%d", rows, HIDDEN);
    add_floats(text, type, "r", rows * HIDDEN, d);
    snprintf(type, sizeof type, "1,%d", 3 * HIDDEN);
    add_floats(text, type, "p", 3 * HIDDEN, d);
    snprintf(type, sizeof type, "1,%d", 2 * rows);
    add_floats(text, type, "b", 2 * rows, d);
    ox_strbuf_puts(text, "float one = {1}> { ");
    add_order(text, n, "w");
    add_order(text, n, "r");
    ox_strbuf_printf(text, "y, h = %s <hidden_size = %d%s> (x, wu, ru, b%s) }", n->op, HIDDEN,
                     n->attributes, peepholes ? ", , , , p" : "");
    ck_assert(!text->failed);
}

static void run_net(const char *text, unsigned char level, unsigned threads, struct dice d,
                    float *out, size_t *n_out)
{
    const struct ox_run_options options = {.level = level};
    const int64_t dims[3] = {STEPS, BATCH, INPUT};
    float x[STEPS * BATCH * INPUT];
    struct text_run f;
    for (size_t i = 0; i < OX_COUNT(x); i++)
        x[i] = (float)dice_between(&d, 0, 2000) / 1000 - 1;
    text_must_plan(&f, text, &options);
    ox_env_set_threads(f.env, threads);
    text_give(&f, OX_FLOAT32, 3, dims, x);
    for (int round = 0; round < 2; round++) { /* weights are packed in the first */
        *n_out = 0;
        text_must_run(&f);
        for (size_t o = 0; o < 2; o++) {
            const struct ox_tensor *t = ox_datum_get_tensor(f.out[o]);
            memcpy(out + *n_out, t->data, t->n * sizeof *out);
            *n_out += t->n;
        }
    }
    text_close(&f);
}

static size_t count(const struct ox_model *model, const char *domain, const char *op_type)
{
    size_t n = 0;
    for (size_t i = 0; i < model->graph->n_nodes; i++)
        n += strcmp(model->graph->nodes[i]->op_type, op_type) == 0 &&
             strcmp(model->graph->nodes[i]->domain, domain) == 0;
    return n;
}

START_TEST(gates_may_stand_in_another_order)
{
    const struct net *n = &nets[_i];
    struct dice d = {(uint64_t)_i * 97 + 3};
    struct ox_strbuf text;
    float slow[512], fast[512], two[512];
    size_t n_slow, n_fast, n_two;
    ox_strbuf_init(&text);
    write_net(n, &d, &text);
    run_net(text.data, 0, 1, d, slow, &n_slow);
    run_net(text.data, 2, 1, d, fast, &n_fast);
    run_net(text.data, 2, 2, d, two, &n_two);
    ck_assert_uint_eq(n_slow, n_fast);
    for (size_t i = 0; i < n_slow; i++)
        ck_assert_msg(fabsf(slow[i] - fast[i]) < 2e-5f, "%zu: %g, not %g", i, (double)fast[i],
                      (double)slow[i]);
    ck_assert_mem_eq(fast, two, n_fast * sizeof *fast);
    struct text_run f;
    text_open(&f, text.data);
    const struct ox_rewrite_plan plan = {.level = 2, .to_run = true};
    ck_assert_int_eq(ox_rewrite_model(f.model, &plan, NULL, &f.err), OX_OK);
    ck_assert_uint_eq(count(f.model, OX_OWN_DOMAIN, n->op), n->known);
    ck_assert_uint_eq(count(f.model, "", "Concat"), 0);
    text_close(&f);
    ox_strbuf_release(&text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("order_gates");
    TCase *tc = tcase_create("order_gates");
    tcase_add_loop_test(tc, gates_may_stand_in_another_order, 0, OX_COUNT(nets));
    suite_add_tcase(s, tc);
    return run_suite(s);
}
