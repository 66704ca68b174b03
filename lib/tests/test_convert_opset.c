/* Converting between opsets: the table, and the steps that need care. */
#include <string.h>

#include "graph/convert/convert.h"
#include "run_suite.h"
#include "run_text.h"
#include "schema/schema.h"

START_TEST(the_table_is_sorted)
{
    size_t n;
    const struct ox_adapter_row *rows = ox_adapter_rows(&n);
    for (size_t i = 1; i < n; i++) {
        int order = strcmp(rows[i - 1].domain, rows[i].domain);
        order = order ? order : strcmp(rows[i - 1].op_type, rows[i].op_type);
        order = order ? order : rows[i - 1].since - rows[i].since;
        ck_assert_msg(order < 0, "%s %d", rows[i].op_type, rows[i].since);
    }
}
END_TEST

START_TEST(each_row_is_a_version_of_its_operator)
{
    size_t n;
    const struct ox_adapter_row *rows = ox_adapter_rows(&n);
    for (size_t i = 0; i < n; i++) {
        const struct ox_schema *foreign =
            ox_schema_find_foreign(rows[i].domain, rows[i].op_type, rows[i].since);
        bool gone = strcmp(rows[i].op_type, "Scatter") == 0 ||
                    (foreign && foreign->deprecated && foreign->since == rows[i].since);
        ck_assert_msg(gone || ox_schema_at(rows[i].domain, rows[i].op_type, rows[i].since) != NULL,
                      "%s %d", rows[i].op_type, rows[i].since);
        ck_assert_msg(rows[i].up || rows[i].down, "%s %d", rows[i].op_type, rows[i].since);
    }
}
END_TEST

/* Converts a model of one input of floats in place; the number of nodes that cannot be. */
static size_t convert(struct text_run *f, const char *text, int64_t to)
{
    struct ox_conversion *conversion;
    struct ox_opset_goal goal = {"", to};
    text_open(f, text);
    ck_assert_msg(ox_convert_opset(&conversion, f->model, &goal, 1, &f->err) == OX_OK, "%s",
                  f->err.message);
    size_t blocked = ox_conversion_blocked(conversion);
    ox_conversion_release(conversion);
    return blocked;
}

static const struct ox_node *only_node(const struct text_run *f, const char *op_type)
{
    const struct ox_node *found = NULL;
    for (size_t i = 0; i < f->model->graph->n_nodes; i++) {
        if (strcmp(f->model->graph->nodes[i]->op_type, op_type) == 0) {
            ck_assert_msg(!found, "two of %s", op_type);
            found = f->model->graph->nodes[i];
        }
    }
    ck_assert_msg(found != NULL, "no %s", op_type);
    return found;
}

START_TEST(an_axes_input_becomes_an_attribute)
{
    struct text_run f = {0};
    ck_assert_uint_eq(convert(&f,
                              "<ir_version: 8, opset_import: [\"\" : 13]> g (float[1,2] x) => (y) "
                              "<int64[1] a = {-2}> { y = Squeeze(x, a) }",
                              8),
                      0);
    const struct ox_node *node = only_node(&f, "Squeeze");
    ck_assert_uint_eq(node->n_inputs, 1);
    ck_assert_int_eq(ox_node_attr(node, "axes")->ints[0], 0);
    ck_assert_uint_eq(f.model->graph->n_inits, 0);
    text_close(&f);
}
END_TEST

START_TEST(an_axes_input_that_is_computed_blocks)
{
    struct text_run f = {0};
    ck_assert_uint_eq(convert(&f,
                              "<ir_version: 8, opset_import: [\"\" : 13]> "
                              "g (float[1,2] x, int64[1] a) => (y) { y = Squeeze(x, a) }",
                              12),
                      1);
    text_close(&f);
}
END_TEST

START_TEST(a_default_that_changed_is_spelled_out)
{
    struct text_run f = {0};
    ck_assert_uint_eq(convert(&f,
                              "<ir_version: 8, opset_import: [\"\" : 11]> "
                              "g (float[2,3,4] x) => (y) { y = LogSoftmax<axis = 2>(x) }",
                              13),
                      0);
    ck_assert_int_eq(ox_node_attr(only_node(&f, "LogSoftmax"), "axis")->i, -1);
    text_close(&f);
}
END_TEST

START_TEST(experimental_operators_become_standard_ones_at_opset_10)
{
    static const char text[] =
        "<ir_version: 4, opset_import: [\"\" : 9]> g (float[1,2,4,5] x, int64[1] i) => (y) {"
        " a = ImageScaler <scale = 2.0, bias = [1.0, -1.0]> (x) b = Affine <alpha = 3.0> (a)"
        " c = ScaledTanh <alpha = 1.0, beta = 2.0> (b) d = Scale <scale = 0.5> (c)"
        " e = ParametricSoftplus <alpha = 1.0, beta = 2.0> (d)"
        " f = Crop <border = [1, 2, 0, 1]> (e) y = DynamicSlice (f, i, i) }";
    struct text_run f = {0};
    ck_assert_uint_eq(convert(&f, text, 9), 0);
    ck_assert_uint_eq(f.model->graph->n_nodes, 7);
    text_close(&f);
    ck_assert_uint_eq(convert(&f, text, 10), 0);
    for (size_t i = 0; i < f.model->graph->n_nodes; i++)
        ck_assert_ptr_nonnull(ox_schema_find("", f.model->graph->nodes[i]->op_type, 10));
    only_node(&f, "Softplus");
    text_close(&f);
}
END_TEST

START_TEST(an_experimental_operator_that_nothing_stands_for_blocks)
{
    struct text_run f = {0};
    ck_assert_uint_eq(convert(&f,
                              "<ir_version: 4, opset_import: [\"\" : 9]> g (float[1] x) => (y, z) "
                              "{ y = GivenTensorFill(x) z = ScaledTanh(x) }",
                              11),
                      2);
    text_close(&f);
}
END_TEST

START_TEST(types_that_are_too_new_go_through_casts)
{
    struct text_run f = {0};
    ck_assert_uint_eq(convert(&f,
                              "<ir_version: 8, opset_import: [\"\" : 14]> g (int32[4] x) => (y) "
                              "{ y = Relu(x) }",
                              13),
                      0);
    ck_assert_uint_eq(f.model->graph->n_nodes, 3);
    text_close(&f);
}
END_TEST

/* Constants of sizes have no operator before Expand: they are written out, whatever their type. */
START_TEST(one_element_expanded_is_a_constant)
{
    struct text_run f = {0};
    ck_assert_uint_eq(convert(&f,
                              "<ir_version: 8, opset_import: [\"\" : 9]> g (float[2,3] x) => (y) "
                              "<int64[2] s = {2, 3}, int64[1] n = {3}> { "
                              "c = ConstantOfShape<value = float[1] {2.5}>(s) z = Add(x, c) "
                              "k = ConstantOfShape<value = int64[1] {4}>(n) f = Cast<to = 1>(k) "
                              "y = Mul(z, f) }",
                              7),
                      0);
    const struct ox_node *constant = only_node(&f, "Constant");
    const struct ox_stored *stored = ox_node_attr(constant, "value")->tensor;
    ck_assert_uint_eq(stored->rank, 2);
    ck_assert_uint_eq(f.model->graph->n_inits, 1);
    const struct ox_run_options options = {.level = 0};
    ck_assert_msg(text_plan(&f, &options) == OX_OK, "%s", f.err.message);
    text_give(&f, OX_FLOAT32, 2, (const int64_t[]){2, 3}, (const float[]){0, 1, 2, 3, 4, 5});
    text_must_run(&f);
    const struct ox_tensor *y = ox_datum_get_tensor(f.out[0]);
    for (size_t i = 0; i < 6; i++)
        ck_assert_double_eq(ox_tensor_get_double(y, i), (2.5 + (double)i) * 4);
    text_close(&f);
}
END_TEST

START_TEST(the_ir_version_follows_down_and_up)
{
    struct text_run f = {0};
    static const char text[] = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[4] x) => (y) "
                               "{ y = Relu(x) }";
    convert(&f, text, 13);
    ck_assert_int_eq(f.model->ir_version, 7);
    text_close(&f);
    f = (struct text_run){0};
    convert(&f, text, 25);
    ck_assert_int_ge(f.model->ir_version, 12);
    text_close(&f);
}
END_TEST

START_TEST(a_version_that_is_not_known_is_a_usage_error)
{
    struct text_run f = {0};
    struct ox_conversion *conversion;
    struct ox_opset_goal goal = {"ai.onnx", OX_ONNX_OPSET + 1};
    text_open(&f,
              "<ir_version: 8, opset_import: [\"\" : 14]> g (float[4] x) => (y) { y = Relu(x) }");
    ck_assert_int_eq(ox_convert_opset(&conversion, f.model, &goal, 1, &f.err), OX_USAGE);
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convert_opset");
    TCase *tcase = tcase_create("convert_opset");
    tcase_add_test(tcase, the_table_is_sorted);
    tcase_add_test(tcase, each_row_is_a_version_of_its_operator);
    tcase_add_test(tcase, an_axes_input_becomes_an_attribute);
    tcase_add_test(tcase, an_axes_input_that_is_computed_blocks);
    tcase_add_test(tcase, a_default_that_changed_is_spelled_out);
    tcase_add_test(tcase, experimental_operators_become_standard_ones_at_opset_10);
    tcase_add_test(tcase, an_experimental_operator_that_nothing_stands_for_blocks);
    tcase_add_test(tcase, types_that_are_too_new_go_through_casts);
    tcase_add_test(tcase, one_element_expanded_is_a_constant);
    tcase_add_test(tcase, the_ir_version_follows_down_and_up);
    tcase_add_test(tcase, a_version_that_is_not_known_is_a_usage_error);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
