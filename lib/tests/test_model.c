/* Lifting: what a model looks like in memory, also one that breaks rules; and that no bytes do harm. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "proto/onnx.pb-c.h"
#include "tests/run_suite.h"
#include "wire_build.h"

static struct ox_env *env;
static struct wire w;
static struct ox_error err;
static struct ox_model *model;

static void setup(void)
{
    env = ox_env_new();
    err.message[0] = '\0';
}

static void teardown(void)
{
    ox_model_release(model);
    model = NULL;
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    ox_env_release(env);
    wire_release(&w);
}

static void open_model(void)
{
    ck_assert_msg(ox_model_open_memory(&model, env, w.data, w.n, NULL, &err) == OX_OK, "%s",
                  err.message);
}

static void path_is(const struct ox_graph *graph, const char *expected)
{
    struct ox_strbuf path;
    ox_strbuf_init(&path);
    ox_graph_path(&path, graph);
    ck_assert_str_eq(ox_strbuf_text(&path, NULL), expected);
    ox_strbuf_release(&path);
}

static void type_is(const struct ox_type *type, const char *expected)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_type_print(&text, type, true);
    ck_assert_str_eq(text.data, expected);
    ox_strbuf_release(&text);
}

START_TEST(a_small_model_is_lifted)
{
    wire_small_model(&w);
    open_model();
    const struct ox_graph *g = model->graph;
    ck_assert_int_eq(model->ir_version, 8);
    ck_assert_int_eq(ox_graph_opset(g, ""), 21);
    ck_assert_int_eq(ox_graph_opset(g, "ai.onnx"), 21);
    ck_assert_int_eq(ox_graph_opset(g, "x"), 0);
    ck_assert_uint_eq(g->n_nodes, 2);
    ck_assert_str_eq(g->nodes[1]->op_type, "Add");
    const struct ox_value *h = ox_graph_value(g, "h"), *weight = ox_graph_value(g, "w");
    ck_assert_ptr_eq(h->producer, g->nodes[0]);
    ck_assert_ptr_eq(g->nodes[1]->inputs[0], h);
    ck_assert_ptr_eq(g->nodes[1]->inputs[1], weight);
    ck_assert_ptr_eq(weight->init, g->inits[0]);
    ck_assert(g->inputs[0]->is_input && g->outputs[0]->is_output);
    ck_assert_ptr_eq(g->outputs[0]->producer, g->nodes[1]);
    type_is(g->inputs[0]->type, "float32[2]");
    ck_assert_uint_eq(model->payload_bytes, 8);
    ck_assert_uint_eq(g->n_values, 4);
    path_is(g, "");
}
END_TEST

START_TEST(omitted_inputs_and_outputs_are_null)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "Clip", "x _ m", "_ y");
    wire_end(&w);
    wire_end(&w);
    open_model();
    const struct ox_node *n = model->graph->nodes[0];
    ck_assert_uint_eq(n->n_inputs, 3);
    ck_assert_ptr_null(n->inputs[1]);
    ck_assert_ptr_null(n->outputs[0]);
    ck_assert_uint_eq(n->outputs[1]->output_index, 1);
}
END_TEST

START_TEST(the_first_definition_of_a_name_counts)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "A", "", "y");
    wire_end(&w);
    wire_begin_node(&w, "B", "", "y");
    wire_end(&w);
    wire_begin_node(&w, "C", "", "w");
    wire_end(&w);
    wire_init(&w, "w", 1, (const float[]){1});
    wire_init(&w, "w", 1, (const float[]){2});
    wire_value(&w, 11, "x", 0, NULL);
    wire_value(&w, 11, "x", 0, NULL);
    wire_end(&w);
    open_model();
    const struct ox_graph *g = model->graph;
    const struct ox_value *y = ox_graph_value(g, "y"), *v = ox_graph_value(g, "w");
    ck_assert_ptr_eq(y->producer, g->nodes[0]);
    ck_assert_ptr_eq(g->nodes[1]->outputs[0], y);
    ck_assert_ptr_eq(v->init, g->inits[0]);
    ck_assert_ptr_eq(v->producer, g->nodes[2]);
    ck_assert_uint_eq(g->n_inits, 2);
    ck_assert_uint_eq(g->n_inputs, 2);
    ck_assert_ptr_eq(g->inputs[0], g->inputs[1]);
}
END_TEST

START_TEST(undefined_names_and_cycles_are_lifted)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "A", "b nowhere", "a");
    wire_end(&w);
    wire_begin_node(&w, "B", "a", "b");
    wire_end(&w);
    wire_value(&w, 12, "missing", 0, NULL);
    wire_end(&w);
    open_model();
    const struct ox_graph *g = model->graph;
    ck_assert_ptr_eq(g->nodes[0]->inputs[0]->producer, g->nodes[1]);
    const struct ox_value *v = g->nodes[0]->inputs[1];
    ck_assert(!v->producer && !v->is_input && !v->init && !v->outer);
    v = g->outputs[0];
    ck_assert(v->is_output && !v->producer);
}
END_TEST

START_TEST(a_model_without_graph_opens)
{
    wire_int(&w, 1, 8);
    open_model();
    ck_assert_ptr_null(model->graph);
    ck_assert_uint_eq(model->n_graphs, 0);
}
END_TEST

START_TEST(what_is_no_model_is_refused)
{
    ck_assert_int_eq(ox_model_open_memory(&model, env, "", 0, NULL, &err), OX_INPUT);
    ck_assert_str_eq(err.message, "(memory): is empty");
    wire_int(&w, 99, 1);
    ck_assert_int_eq(ox_model_open_memory(&model, env, w.data, w.n, NULL, &err), OX_INPUT);
    ck_assert_str_eq(err.message, "(memory): is no ONNX model: it has none of a model's fields");
    ck_assert_int_eq(ox_model_open(&model, env, "/nonexistent/m.onnx", &err), OX_INPUT);
}
END_TEST

/* Opens the attribute of a node whose only content is a graph; to be closed by two wire_end(). */
static void begin_subgraph(const char *name)
{
    wire_begin(&w, 5);
    wire_text(&w, 1, name);
    wire_int(&w, 20, 5);
    wire_begin(&w, 6);
}

START_TEST(names_are_captured_through_levels)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "If", "c", "y");
    begin_subgraph("then_branch");
    wire_begin_node(&w, "Loop", "", "z");
    wire_text(&w, 3, "loop_1");
    begin_subgraph("body");
    wire_begin_node(&w, "Add", "x own late", "own2");
    wire_end(&w);
    wire_begin_node(&w, "Neg", "x", "own");
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_value(&w, 11, "x", 0, NULL);
    wire_end(&w);
    open_model();
    ck_assert_uint_eq(model->n_graphs, 3);
    const struct ox_graph *then = model->graph->nodes[0]->attrs[0].graphs[0];
    const struct ox_graph *body = then->nodes[0]->attrs[0].graphs[0];
    path_is(body, "#0.then_branch.loop_1.body");
    path_is(then, "#0.then_branch");
    ck_assert_ptr_eq(body->parent, then->nodes[0]);
    const struct ox_value *x = body->nodes[0]->inputs[0];
    ck_assert_ptr_eq(x->graph, body);
    ck_assert_ptr_eq(x->outer->graph, then);
    ck_assert_ptr_eq(x->outer->outer, ox_graph_value(model->graph, "x"));
    ck_assert_ptr_eq(body->nodes[1]->inputs[0], x);
    ck_assert_ptr_eq(body->nodes[0]->inputs[1]->producer, body->nodes[1]);
    ck_assert_ptr_null(body->nodes[0]->inputs[2]->outer);
}
END_TEST

START_TEST(functions_are_found_by_name_and_have_bodies)
{
    wire_begin_model(&w);
    wire_end(&w);
    wire_function(&w, NULL);
    wire_function(&w, "v2");
    open_model();
    const struct ox_function *f = ox_model_function(model, "local", "f", "v2");
    ck_assert_ptr_eq(f, &model->functions[1]);
    ck_assert_ptr_eq(ox_model_function(model, "local", "f", ""), &model->functions[0]);
    ck_assert_ptr_null(ox_model_function(model, "", "f", ""));
    ck_assert_str_eq(f->attr_names[0], "alpha");
    ck_assert_int_eq(ox_graph_opset(f->body, ""), 13);
    ck_assert_ptr_eq(f->body->outputs[0]->producer, f->body->nodes[0]);
    ck_assert(f->body->inputs[0]->is_input);
    path_is(f->body, "function local:f:v2");
}
END_TEST

START_TEST(a_training_algorithm_sees_the_main_graph)
{
    wire_begin_model(&w);
    wire_init(&w, "w", 1, (const float[]){1});
    wire_end(&w);
    wire_begin(&w, 20);
    wire_begin(&w, 2);
    wire_begin_node(&w, "Neg", "w", "g");
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    open_model();
    const struct ox_graph *g = model->graphs[1];
    path_is(g, "training_info[0].algorithm");
    ck_assert_ptr_eq(g->nodes[0]->inputs[0]->outer, ox_graph_value(model->graph, "w"));
}
END_TEST

START_TEST(attributes_of_every_type_are_lifted)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "X", "", "");
    wire_begin(&w, 5);
    wire_text(&w, 1, "ints");
    wire_bytes(&w, 8, "\x01\x02", 2); /* packed, and no type: before IR version 2 */
    wire_end(&w);
    wire_begin(&w, 5);
    wire_text(&w, 1, "f");
    wire_float(&w, 2, 0.5F);
    wire_int(&w, 20, 1);
    wire_end(&w);
    wire_begin(&w, 5);
    wire_text(&w, 1, "s");
    wire_text(&w, 4, "text");
    wire_int(&w, 20, 3);
    wire_end(&w);
    wire_begin(&w, 5);
    wire_text(&w, 1, "strange");
    wire_int(&w, 20, 99);
    wire_end(&w);
    wire_begin(&w, 5);
    wire_text(&w, 1, "ref");
    wire_int(&w, 20, 2);
    wire_text(&w, 21, "outer");
    wire_end(&w);
    wire_begin(&w, 5);
    wire_text(&w, 1, "tp");
    wire_int(&w, 20, 13);
    wire_begin(&w, 14);
    wire_begin(&w, 4);
    wire_begin(&w, 1);
    wire_begin(&w, 1);
    wire_int(&w, 1, 7);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    open_model();
    const struct ox_node *n = model->graph->nodes[0];
    const struct ox_attr *a = ox_node_attr(n, "ints");
    ck_assert_int_eq(a->type, OX_ATTR_INTS);
    ck_assert_uint_eq(a->n, 2);
    ck_assert_int_eq(a->ints[1], 2);
    ck_assert_float_eq(ox_node_attr(n, "f")->f, 0.5F);
    ck_assert_uint_eq(ox_node_attr(n, "s")->s.n, 4);
    ck_assert_int_eq((int)ox_node_attr(n, "strange")->type, 99);
    ck_assert_str_eq(ox_node_attr(n, "ref")->ref, "outer");
    ck_assert_uint_eq(ox_node_attr(n, "ref")->n, 0);
    type_is(ox_node_attr(n, "tp")->types, "seq(int64[...])");
    ck_assert_ptr_null(ox_node_attr(n, "none"));
    ck_assert_str_eq(ox_attr_type_name(OX_ATTR_INTS), "INTS");
}
END_TEST

START_TEST(dimensions_are_numbers_symbols_expressions_or_unknown)
{
    wire_begin_model(&w);
    wire_begin(&w, 11);
    wire_text(&w, 1, "x");
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_int(&w, 1, 1);
    wire_begin(&w, 2);
    const char *params[] = {"batch", "seq + 1", "unk/odd name", ""};
    for (size_t i = 0; i < OX_COUNT(params); i++) {
        wire_begin(&w, 1);
        wire_text(&w, 2, params[i]);
        wire_end(&w);
    }
    wire_begin(&w, 1);
    wire_int(&w, 1, (uint64_t)-1);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    open_model();
    type_is(model->graph->inputs[0]->type, "float32[batch,seq+1,'unk/odd name',?,?]");
}
END_TEST

/* ---- No bytes do harm --------------------------------------------------------------------------------------------- */

/* A model with something of everything: subgraph, sparse initializer, functions, strings, typed data, external data. */
static void rich_model(void)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "If", "c", "y");
    begin_subgraph("then_branch");
    wire_begin_node(&w, "Neg", "x", "t");
    wire_end(&w);
    wire_value(&w, 12, "t", 1, (const int64_t[]){2});
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_text(&w, 2, "g");
    wire_init(&w, "w", 2, (const float[]){1, 2});
    wire_begin(&w, 5);
    wire_int(&w, 1, 3);
    wire_int(&w, 2, 7);
    wire_bytes(&w, 7, "\x01\x02\x80\x01", 4);
    wire_text(&w, 8, "shape");
    wire_end(&w);
    wire_begin(&w, 5);
    wire_int(&w, 1, 4);
    wire_int(&w, 2, 1);
    wire_text(&w, 8, "e");
    wire_begin(&w, 13);
    wire_text(&w, 1, "location");
    wire_text(&w, 2, "e.bin");
    wire_end(&w);
    wire_int(&w, 14, 1);
    wire_end(&w);
    wire_begin(&w, 15);
    wire_begin(&w, 1);
    wire_int(&w, 1, 1);
    wire_int(&w, 2, 8);
    wire_text(&w, 6, "s");
    wire_text(&w, 8, "sp");
    wire_end(&w);
    wire_end(&w);
    wire_value(&w, 11, "x", 2, (const int64_t[]){2, 300});
    wire_value(&w, 12, "y", 1, (const int64_t[]){2});
    wire_end(&w);
    wire_begin(&w, 8);
    wire_int(&w, 2, 21);
    wire_end(&w);
    wire_begin(&w, 25);
    wire_text(&w, 1, "f");
    wire_text(&w, 4, "a");
    wire_end(&w);
}

/* Opens, and if that succeeds looks at every initializer. */
static void survive(const uint8_t *bytes, size_t n)
{
    struct ox_model *m = NULL;
    enum ox_status status = ox_model_open_memory(&m, env, bytes, n, "/nonexistent", &err);
    ck_assert(status == OX_OK || status == OX_INPUT || status == OX_LIMIT ||
              status == OX_UNSUPPORTED);
    for (size_t g = 0; status == OX_OK && g < m->n_graphs; g++) {
        for (size_t i = 0; i < m->graphs[g]->n_inits; i++) {
            struct ox_tensor *t;
            if (ox_stored_load(m, m->graphs[g]->inits[i], &t, &err) == OX_OK)
                ox_tensor_release(t);
        }
    }
    ox_model_release(m);
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
}

/* A copy in memory of exactly that size, so that the sanitizer sees every byte read too far. */
static void survive_copy(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, n);
    survive(copy, n);
    free(copy);
}

START_TEST(a_model_cut_off_anywhere_is_refused)
{
    rich_model();
    open_model();
    ox_model_release(model);
    model = NULL;
    for (size_t n = 0; n < w.n; n++)
        survive_copy(w.data, n);
}
END_TEST

START_TEST(every_bit_may_flip)
{
    rich_model();
    for (size_t i = 0; i < w.n; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            w.data[i] ^= (uint8_t)(1U << bit);
            survive_copy(w.data, w.n);
            w.data[i] ^= (uint8_t)(1U << bit);
        }
    }
}
END_TEST

START_TEST(any_byte_may_become_a_nasty_number)
{
    static const uint64_t numbers[] = {0,         1,          127,        128,       (1U << 31) - 1,
                                       1U << 31,  UINT32_MAX, 1ULL << 32, INT64_MAX, 1ULL << 63,
                                       UINT64_MAX};
    rich_model();
    struct wire changed = {0};
    for (size_t at = 0; at < w.n; at++) {
        for (size_t i = 0; i < OX_COUNT(numbers); i++) {
            changed.n = 0;
            wire_raw(&changed, w.data, at);
            wire_varint(&changed, numbers[i]);
            wire_raw(&changed, w.data + at + 1, w.n - at - 1);
            survive_copy(changed.data, changed.n);
        }
    }
    wire_release(&changed);
}
END_TEST

START_TEST(running_out_of_memory_anywhere_is_reported)
{
    rich_model();
    enum ox_status status = OX_LIMIT;
    size_t failures = 0;
    for (uint64_t limit = 1; status != OX_OK; limit += 64) {
        ox_env_limits(env)->memory_bytes = limit;
        ck_assert_uint_lt(limit, 10 << 20);
        status = ox_model_open_memory(&model, env, w.data, w.n, NULL, &err);
        ck_assert(status == OX_OK || status == OX_LIMIT || status == OX_NO_MEMORY);
        failures += status != OX_OK;
        if (status != OX_OK)
            ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    }
    ck_assert_uint_gt(failures, 10);
}
END_TEST

START_TEST(cancelling_ends_the_reading)
{
    wire_small_model(&w);
    ox_env_cancel(env);
    ck_assert_int_eq(ox_model_open_memory(&model, env, w.data, w.n, NULL, &err), OX_CANCELLED);
}
END_TEST

START_TEST(a_long_chain_opens)
{
    wire_begin_model(&w);
    for (int i = 0; i < 100000; i++) {
        char in[16], out[16];
        snprintf(in, sizeof in, "x%d", i);
        snprintf(out, sizeof out, "x%d", i + 1);
        wire_begin_node(&w, "Relu", in, out);
        wire_end(&w);
    }
    wire_end(&w);
    open_model();
    ck_assert_uint_eq(model->graph->n_nodes, 100000);
    ck_assert_uint_eq(model->graph->n_values, 100001);
    ck_assert_ptr_eq(model->graph->nodes[99999]->inputs[0]->producer, model->graph->nodes[99998]);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_small_model_is_lifted,
        omitted_inputs_and_outputs_are_null,
        the_first_definition_of_a_name_counts,
        undefined_names_and_cycles_are_lifted,
        a_model_without_graph_opens,
        what_is_no_model_is_refused,
        names_are_captured_through_levels,
        functions_are_found_by_name_and_have_bodies,
        a_training_algorithm_sees_the_main_graph,
        attributes_of_every_type_are_lifted,
        dimensions_are_numbers_symbols_expressions_or_unknown,
        a_model_cut_off_anywhere_is_refused,
        every_bit_may_flip,
        any_byte_may_become_a_nasty_number,
        running_out_of_memory_anywhere_is_reported,
        cancelling_ends_the_reading,
        a_long_chain_opens,
    };
    Suite *suite = suite_create("model");
    TCase *tcase = tcase_create("model");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < OX_COUNT(tests); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
