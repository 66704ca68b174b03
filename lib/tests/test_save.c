/* Writing models, as they were and changed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/format.h"
#include "model/model.h"
#include "tests/run_suite.h"
#include "wire_build.h"

static struct ox_env *env;
static struct wire w;
static struct ox_error err;
static struct ox_model *model;
static char dir[64];
static char path[128];

static void setup(void)
{
    env = ox_env_new();
    strcpy(dir, "/tmp/ox_save_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/m.onnx", dir);
}

static void teardown(void)
{
    ox_model_release(model);
    model = NULL;
    ck_assert_uint_eq(atomic_load(&env->budget.used), 0);
    ox_env_release(env);
    wire_release(&w);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static void open_model(void)
{
    ck_assert_msg(ox_model_open_memory(&model, env, w.data, w.n, dir, &err) == OX_OK, "%s",
                  err.message);
}

static void open_file(const char *at)
{
    ox_model_release(model);
    model = NULL;
    ck_assert_msg(ox_model_open(&model, env, at, &err) == OX_OK, "%s", err.message);
}

static void save(const char *at, const struct ox_save_options *options)
{
    ck_assert_msg(ox_model_save(model, at, options, &err) == OX_OK, "%s", err.message);
}

static void written_is(const struct wire *expected)
{
    struct ox_strbuf out;
    ox_strbuf_init(&out);
    ck_assert_int_eq(ox_model_to_buffer(model, &out, &err), OX_OK);
    ck_assert_uint_eq(out.len, expected->n);
    ck_assert_mem_eq(out.data, expected->data, expected->n);
    ox_strbuf_release(&out);
}

static void put_file(const char *name, const void *bytes, size_t n)
{
    char at[160];
    snprintf(at, sizeof at, "%s/%s", dir, name);
    ck_assert_int_eq(ox_file_write(at, bytes, n, &err), OX_OK);
}

static long file_size(const char *name)
{
    char at[160];
    struct stat info;
    snprintf(at, sizeof at, "%s/%s", dir, name);
    return stat(at, &info) == 0 ? (long)info.st_size : -1;
}

static void property(uint32_t field)
{
    wire_begin(&w, field);
    wire_text(&w, 1, "key");
    wire_text(&w, 2, "value");
    wire_end(&w);
}

/* The graph of everything(). */
static void everything_in_a_graph(void)
{
    wire_begin(&w, 7);
    wire_begin(&w, 1);
    wire_text(&w, 1, "c");
    wire_text(&w, 1, "");
    wire_text(&w, 2, "y");
    wire_text(&w, 3, "");
    wire_text(&w, 4, "If");
    wire_begin(&w, 5);
    wire_text(&w, 1, "then_branch");
    wire_begin(&w, 6);
    wire_begin_node(&w, "Neg", "x", "t");
    wire_end(&w);
    wire_text(&w, 2, "then");
    wire_value(&w, 12, "t", 1, (const int64_t[]){2});
    wire_int(&w, 900, 3);
    wire_end(&w);
    wire_text(&w, 13, "attribute");
    wire_int(&w, 20, 5);
    wire_int(&w, 900, 4);
    wire_end(&w);
    wire_begin(&w, 5);
    wire_text(&w, 1, "ints");
    wire_int(&w, 8, (uint64_t)-1);
    wire_int(&w, 8, 300);
    wire_int(&w, 20, 7);
    wire_end(&w);
    wire_text(&w, 6, "node");
    wire_text(&w, 7, "ai.onnx");
    wire_text(&w, 8, "");
    property(9);
    wire_tag(&w, 901, 3);
    wire_int(&w, 1, 1);
    wire_tag(&w, 901, 4);
    wire_end(&w);
    wire_text(&w, 2, "g");
    wire_init(&w, "w", 2, (const float[]){1, 2});
    wire_begin(&w, 5);
    wire_int(&w, 1, 1);
    wire_int(&w, 2, 1);
    wire_bytes(&w, 4, (const float[]){3}, 4);
    wire_text(&w, 8, "typed");
    wire_end(&w);
    wire_text(&w, 10, "doc");
    wire_value(&w, 11, "x", 2, (const int64_t[]){2, -1});
    wire_value(&w, 12, "y", 1, (const int64_t[]){2});
    wire_value(&w, 13, "unused", 1, (const int64_t[]){2});
    wire_begin(&w, 14);
    wire_text(&w, 1, "x");
    property(2);
    wire_end(&w);
    wire_begin(&w, 15);
    wire_begin(&w, 1);
    wire_int(&w, 1, 1);
    wire_int(&w, 2, 7);
    wire_bytes(&w, 7, "\x05", 1);
    wire_text(&w, 8, "sp");
    wire_end(&w);
    wire_begin(&w, 2);
    wire_int(&w, 1, 1);
    wire_int(&w, 2, 7);
    wire_bytes(&w, 7, "\x01", 1);
    wire_end(&w);
    wire_int(&w, 3, 4);
    wire_end(&w);
    property(16);
    wire_end(&w);
}

/* Every field that a canonical file can have, in order, and an unknown one at the end of each message. */
static void everything(void)
{
    wire_int(&w, 1, 10);
    wire_text(&w, 2, "p");
    wire_text(&w, 3, "");
    wire_text(&w, 4, "d");
    wire_int(&w, 5, 0);
    wire_text(&w, 6, "doc");
    everything_in_a_graph();
    wire_begin(&w, 8);
    wire_text(&w, 1, "");
    wire_int(&w, 2, 21);
    wire_end(&w);
    property(14);
    wire_begin(&w, 20);
    wire_begin(&w, 2);
    wire_begin_node(&w, "Neg", "w", "z");
    wire_end(&w);
    wire_end(&w);
    property(3);
    wire_end(&w);
    wire_function(&w, NULL);
    wire_begin(&w, 26);
    wire_text(&w, 1, "device");
    wire_end(&w);
    wire_int(&w, 5000, 7);
}

START_TEST(a_canonical_model_is_written_byte_for_byte)
{
    everything();
    open_model();
    written_is(&w);
    save(path, NULL);
    open_file(path);
    written_is(&w);
}
END_TEST

START_TEST(any_other_model_is_written_as_the_same_message)
{
    /* graph in two parts, packed ints, fields out of order: what comes out is canonical and stays as it is */
    wire_begin(&w, 7);
    wire_text(&w, 2, "g");
    wire_begin_node(&w, "A", "x", "y");
    wire_begin(&w, 5);
    wire_int(&w, 20, 7);
    wire_bytes(&w, 8, "\x01\x02", 2);
    wire_text(&w, 1, "i");
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_begin(&w, 7);
    wire_begin_node(&w, "B", "y", "z");
    wire_end(&w);
    wire_end(&w);
    wire_int(&w, 1, 8);
    open_model();
    struct wire expected = {0};
    struct wire given = w;
    w = expected;
    wire_begin_model(&w);
    wire_begin_node(&w, "A", "x", "y");
    wire_begin(&w, 5);
    wire_text(&w, 1, "i");
    wire_int(&w, 8, 1);
    wire_int(&w, 8, 2);
    wire_int(&w, 20, 7);
    wire_end(&w);
    wire_end(&w);
    wire_begin_node(&w, "B", "y", "z");
    wire_end(&w);
    wire_text(&w, 2, "g");
    wire_end(&w);
    expected = w;
    w = given;
    written_is(&expected);
    wire_release(&expected);
}
END_TEST

START_TEST(text_and_json_are_chosen_by_name_and_read_back)
{
    static const char *const names[] = {"m.onnxtxt", "m.json"};
    wire_small_model(&w);
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        char at[160];
        ox_model_release(model);
        open_model();
        snprintf(at, sizeof at, "%s/%s", dir, names[i]);
        save(at, NULL);
        open_file(at);
        ck_assert_uint_eq(model->graph->n_nodes, 2);
        ck_assert_str_eq(model->graph->nodes[1]->inputs[1]->name, "w");
        ck_assert_ptr_nonnull(model->graph->nodes[1]->inputs[1]->init);
    }
}
END_TEST

/* ---- External data ------------------------------------------------------------------------------------------------ */

static void external_model(const char *location)
{
    wire_begin_model(&w);
    wire_begin(&w, 5);
    wire_int(&w, 1, 2);
    wire_int(&w, 2, 1);
    wire_text(&w, 8, "e");
    wire_begin(&w, 13);
    wire_text(&w, 1, "location");
    wire_text(&w, 2, location);
    wire_end(&w);
    wire_int(&w, 14, 1);
    wire_end(&w);
    wire_init(&w, "w", 3, (const float[]){1, 2, 3});
    wire_end(&w);
}

static void values_are(size_t i, size_t n, const float *expected)
{
    struct ox_tensor *tensor;
    ck_assert_msg(ox_stored_load(model, model->graph->inits[i], &tensor, &err) == OX_OK, "%s",
                  err.message);
    ck_assert_uint_eq(tensor->n, n);
    ck_assert_mem_eq(tensor->data, expected, n * sizeof *expected);
    ox_tensor_release(tensor);
}

static const float e_values[] = {5, 6}, w_values[] = {1, 2, 3};

START_TEST(external_data_stays_by_reference_and_is_copied_to_another_folder)
{
    char other[160];
    put_file("e.bin", e_values, sizeof e_values);
    external_model("e.bin");
    put_file("m.onnx", w.data, w.n);
    open_file(path);
    snprintf(other, sizeof other, "%s/same.onnx", dir);
    save(other, NULL);
    written_is(&w);
    snprintf(other, sizeof other, "%s/sub", dir);
    ck_assert_int_eq(mkdir(other, 0700), 0);
    snprintf(other, sizeof other, "%s/sub/m.onnx", dir);
    save(other, NULL);
    save(other, NULL); /* what is there is the same: again is no error */
    open_file(other);
    values_are(0, 2, e_values);
}
END_TEST

START_TEST(another_models_external_data_is_not_overwritten)
{
    char other[160];
    put_file("e.bin", e_values, sizeof e_values);
    external_model("e.bin");
    put_file("m.onnx", w.data, w.n);
    open_file(path);
    snprintf(other, sizeof other, "%s/sub", dir);
    ck_assert_int_eq(mkdir(other, 0700), 0);
    put_file("sub/e.bin", "12345678", 8);
    snprintf(other, sizeof other, "%s/sub/m.onnx", dir);
    ck_assert_int_eq(ox_model_save(model, other, NULL, &err), OX_IO);
    ck_assert_int_eq(file_size("sub/m.onnx"), -1);
}
END_TEST

START_TEST(initializers_move_out_and_in_again)
{
    put_file("e.bin", e_values, sizeof e_values);
    external_model("e.bin");
    put_file("m.onnx", w.data, w.n);
    open_file(path);
    save(path, &(struct ox_save_options){.external_location = "w.data", .external_threshold = 9});
    ck_assert_int_eq(file_size("w.data"), 12);
    open_file(path);
    ck_assert_int_eq(model->graph->inits[0]->place, OX_STORED_RAW); /* under the threshold */
    ck_assert_int_eq(model->graph->inits[1]->place, OX_STORED_EXTERNAL);
    values_are(0, 2, e_values);
    values_are(1, 3, w_values);
    save(path, &(struct ox_save_options){.external_location = "w.data", .external_threshold = 1});
    open_file(path);
    ck_assert_uint_eq(model->graph->inits[1]->offset, 64);
    values_are(0, 2, e_values);
    values_are(1, 3, w_values);
    save(path, &(struct ox_save_options){.inline_external = true});
    open_file(path);
    ck_assert_int_eq(model->graph->inits[1]->place, OX_STORED_RAW);
    values_are(0, 2, e_values);
    values_are(1, 3, w_values);
}
END_TEST

START_TEST(a_failure_leaves_the_old_file)
{
    external_model("missing.bin");
    put_file("m.onnx", "old", 3);
    open_model();
    ck_assert_int_eq(
        ox_model_save(model, path, &(struct ox_save_options){.inline_external = true}, &err),
        OX_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "tensor \"e\""));
    ck_assert_int_eq(file_size("m.onnx"), 3);
    ck_assert_int_eq(
        ox_model_save(model, path,
                      &(struct ox_save_options){.external_location = "w", .external_threshold = 1},
                      &err),
        OX_INPUT);
    ck_assert_int_eq(file_size("w"), -1);
}
END_TEST

START_TEST(external_locations_stay_beside_the_model)
{
    static const char *const bad[] = {"../w", "/tmp/w", "a/b", "", "m.onnx"};
    wire_small_model(&w);
    open_model();
    ck_assert_int_eq(ox_model_save(model, "/nonexistent/m.onnx", NULL, &err), OX_IO);
    for (size_t i = 0; i < OX_COUNT(bad); i++)
        ck_assert_int_eq(ox_model_save(model, path,
                                       &(struct ox_save_options){.external_location = bad[i]},
                                       &err),
                         OX_USAGE);
}
END_TEST

/* ---- Changes ------------------------------------------------------------------------------------------------------ */

static struct ox_value *value(const char *name)
{
    struct ox_value *v = ox_graph_value(model->graph, name);
    ck_assert_ptr_nonnull(v);
    return v;
}

START_TEST(new_parts_are_written)
{
    wire_small_model(&w);
    open_model();
    struct ox_graph *g = model->graph;
    struct ox_value *constant = ox_graph_add_value(g, "c"), *out = ox_graph_add_value(g, NULL);
    struct ox_tensor *tensor;
    ck_assert_int_eq(
        ox_tensor_from_data(&tensor, env, OX_UINT4, 1, (const int64_t[]){3}, "\x01\x02\x03", &err),
        OX_OK);
    ck_assert_ptr_nonnull(ox_graph_add_init(g, constant, tensor));
    struct ox_node *node = ox_graph_add_node(g, "Op", "my.domain", "n",
                                             (struct ox_value *[]){constant, NULL}, 2, &out, 1);
    ck_assert(ox_node_set_int(node, "i", -3));
    ck_assert(ox_node_set_float(node, "f", 0.5F));
    ck_assert(ox_node_set_string(node, "s", "text"));
    ck_assert(ox_node_set_ints(node, "is", (const int64_t[]){1, 2}, 2));
    ck_assert(ox_node_set_tensor(node, "t", tensor));
    ck_assert(ox_node_set_int(node, "i", 4));
    ox_tensor_release(tensor);
    save(path, NULL);
    open_file(path);
    g = model->graph;
    const struct ox_node *n = g->nodes[2];
    ck_assert_str_eq(n->domain, "my.domain");
    ck_assert_uint_eq(n->n_inputs, 2);
    ck_assert_ptr_null(n->inputs[1]);
    ck_assert_uint_eq(n->n_attrs, 5);
    ck_assert_int_eq(ox_node_attr(n, "i")->i, 4);
    ck_assert_float_eq(ox_node_attr(n, "f")->f, 0.5F);
    ck_assert_str_eq(ox_node_attr(n, "s")->s.p, "text");
    ck_assert_int_eq(ox_node_attr(n, "is")->ints[1], 2);
    ck_assert_int_eq(ox_stored_load(model, ox_node_attr(n, "t")->tensor, &tensor, &err), OX_OK);
    ck_assert_mem_eq(tensor->data, "\x01\x02\x03", 3);
    ox_tensor_release(tensor);
    ck_assert_int_eq(ox_stored_load(model, value("c")->init, &tensor, &err), OX_OK);
    ck_assert_mem_eq(tensor->data, "\x01\x02\x03", 3);
    ox_tensor_release(tensor);
}
END_TEST

START_TEST(new_values_get_names_that_no_graph_has)
{
    everything();
    open_model();
    ck_assert_str_eq(ox_graph_add_value(model->graph, "fresh")->name, "fresh");
    ck_assert_str_ne(ox_graph_add_value(model->graph, "fresh")->name, "fresh");
    ck_assert_str_ne(ox_graph_add_value(model->graph, "t")->name, "t"); /* the subgraph's */
    const char *name = ox_graph_add_value(model->graph, NULL)->name;
    ck_assert_str_ne(ox_graph_add_value(model->graph, NULL)->name, name);
}
END_TEST

START_TEST(removed_nodes_are_gone_with_their_graphs_and_types)
{
    everything();
    open_model();
    size_t n = model->n_graphs;
    ox_graph_remove_nodes(model->graph, (const bool[]){true});
    ck_assert_uint_eq(model->n_graphs, n - 1);
    for (size_t i = 0; i < model->n_graphs; i++)
        ck_assert_uint_eq(model->graphs[i]->id, i);
    ck_assert_ptr_null(value("y")->producer);
    ck_assert(value("y")->removed);
    save(path, NULL);
    open_file(path);
    ck_assert_uint_eq(model->graph->n_nodes, 0);
}
END_TEST

START_TEST(removed_initializers_are_gone)
{
    wire_small_model(&w);
    open_model();
    ox_graph_remove_inits(model->graph, (const bool[]){true});
    ck_assert_ptr_null(value("w")->init);
    save(path, NULL);
    open_file(path);
    ck_assert_uint_eq(model->graph->n_inits, 0);
}
END_TEST

START_TEST(new_types_are_written_and_keep_denotations)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "Relu", "x", "h");
    wire_end(&w);
    wire_begin_node(&w, "Relu", "h", "k");
    wire_end(&w);
    wire_begin(&w, 13);
    wire_text(&w, 1, "k");
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_int(&w, 1, 1);
    wire_begin(&w, 2);
    wire_begin(&w, 1);
    wire_text(&w, 2, "n + 1");
    wire_text(&w, 3, "BATCH");
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_text(&w, 6, "TENSOR");
    wire_end(&w);
    wire_text(&w, 3, "doc");
    wire_end(&w);
    wire_end(&w);
    open_model();
    const struct ox_expr *n = ox_expr_symbol(model->exprs, "n");
    const struct ox_expr *dims[] = {ox_expr_add(model->exprs, n, ox_expr_int(model->exprs, 1))};
    struct ox_type type = {
        .kind = OX_TYPE_TENSOR, .elem = OX_FLOAT16, .has_rank = true, .rank = 1, .dims = dims};
    value("h")->type = &type;
    value("k")->type = &type;
    struct ox_strbuf out;
    ox_strbuf_init(&out);
    ck_assert_int_eq(ox_model_to_buffer(model, &out, &err), OX_OK);
    ck_assert_ptr_nonnull(memmem(out.data, out.len,
                                 "n + 1\x1A\x05"
                                 "BATCH",
                                 12));
    ck_assert_ptr_nonnull(memmem(out.data, out.len,
                                 "2\x06TENSOR\x1A\x03"
                                 "doc",
                                 13));
    struct ox_model *again;
    ck_assert_int_eq(ox_model_open_memory(&again, env, out.data, out.len, NULL, &err), OX_OK);
    const struct ox_value *h = ox_graph_value(again->graph, "h");
    ck_assert_int_eq(h->type->elem, OX_FLOAT16);
    ck_assert_uint_eq(h->type->rank, 1);
    ox_model_release(again);
    ox_strbuf_release(&out);
}
END_TEST

START_TEST(sorting_moves_what_is_needed_before_its_user)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "C", "b a", "c");
    wire_end(&w);
    wire_begin_node(&w, "D", "c", "d");
    wire_end(&w);
    wire_begin_node(&w, "B", "a", "b");
    wire_end(&w);
    wire_begin_node(&w, "A", "x", "a");
    wire_end(&w);
    wire_begin_node(&w, "E", "x", "e");
    wire_end(&w);
    wire_end(&w);
    open_model();
    ck_assert_int_eq(ox_graph_sort(model->graph, NULL), OX_OK);
    const char *expected = "ABCDE";
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(model->graph->nodes[i]->op_type[0], expected[i]);
        ck_assert_uint_eq(model->graph->nodes[i]->index, i);
    }
}
END_TEST

START_TEST(sorting_sees_what_subgraphs_capture)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "If", "c", "y");
    wire_begin(&w, 5);
    wire_text(&w, 1, "then_branch");
    wire_begin(&w, 6);
    wire_begin_node(&w, "Neg", "late", "t");
    wire_end(&w);
    wire_end(&w);
    wire_int(&w, 20, 5);
    wire_end(&w);
    wire_end(&w);
    wire_begin_node(&w, "Late", "x", "late");
    wire_end(&w);
    wire_end(&w);
    open_model();
    ck_assert_int_eq(ox_graph_sort(model->graph, NULL), OX_OK);
    ck_assert_str_eq(model->graph->nodes[0]->op_type, "Late");
}
END_TEST

START_TEST(sorting_refuses_a_cycle)
{
    wire_begin_model(&w);
    wire_begin_node(&w, "A", "b", "a");
    wire_end(&w);
    wire_begin_node(&w, "B", "a", "b");
    wire_end(&w);
    wire_end(&w);
    open_model();
    ck_assert_int_eq(ox_graph_sort(model->graph, NULL), OX_INPUT);
    ck_assert_str_eq(model->graph->nodes[0]->op_type, "A");
}
END_TEST

START_TEST(sorting_a_long_chain_backwards_needs_no_stack)
{
    wire_begin_model(&w);
    for (int i = 100000; i > 0; i--) {
        char in[16], out[16];
        snprintf(in, sizeof in, "x%d", i - 1);
        snprintf(out, sizeof out, "x%d", i);
        wire_begin_node(&w, "Relu", in, out);
        wire_end(&w);
    }
    wire_end(&w);
    open_model();
    ck_assert_int_eq(ox_graph_sort(model->graph, NULL), OX_OK);
    ck_assert_str_eq(model->graph->nodes[0]->inputs[0]->name, "x0");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_canonical_model_is_written_byte_for_byte,
        any_other_model_is_written_as_the_same_message,
        text_and_json_are_chosen_by_name_and_read_back,
        external_data_stays_by_reference_and_is_copied_to_another_folder,
        another_models_external_data_is_not_overwritten,
        initializers_move_out_and_in_again,
        a_failure_leaves_the_old_file,
        external_locations_stay_beside_the_model,
        new_parts_are_written,
        new_values_get_names_that_no_graph_has,
        removed_nodes_are_gone_with_their_graphs_and_types,
        removed_initializers_are_gone,
        new_types_are_written_and_keep_denotations,
        sorting_moves_what_is_needed_before_its_user,
        sorting_sees_what_subgraphs_capture,
        sorting_refuses_a_cycle,
        sorting_a_long_chain_backwards_needs_no_stack,
    };
    Suite *suite = suite_create("save");
    TCase *tcase = tcase_create("save");
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < OX_COUNT(tests); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
