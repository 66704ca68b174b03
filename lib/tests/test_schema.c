/* The registry: its tables are sound, and what it says of operators whose history is known. */
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "schema/schema.h"
#include "tests/run_suite.h"

static size_t count_domain(const char *domain)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += strcmp(rows[i].domain, domain) == 0;
    return found;
}

static const struct ox_schema *must_find(const char *domain, const char *name, int64_t opset)
{
    const struct ox_schema *row = ox_schema_find(domain, name, opset);
    ck_assert_msg(row != NULL, "%s %s at %lld", domain, name, (long long)opset);
    return row;
}

START_TEST(every_row_of_the_standard_is_there)
{
    ck_assert_uint_eq(count_domain(""), 629);
    ck_assert_uint_eq(count_domain("ai.onnx.ml"), 25);
    ck_assert_uint_eq(count_domain("ai.onnx.preview"), 1);
    ck_assert_uint_eq(count_domain("ai.onnx.preview.training"), 4);
    ck_assert_uint_eq(count_domain("ai.onnx.training"), 0);
}
END_TEST

START_TEST(rows_are_sorted_and_unique)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 1; i < n; i++) {
        int order = strcmp(rows[i - 1].domain, rows[i].domain);
        if (order == 0)
            order = strcmp(rows[i - 1].name, rows[i].name);
        if (order == 0)
            order = rows[i - 1].since - rows[i].since;
        ck_assert_msg(order < 0, "%s %d", rows[i].name, rows[i].since);
    }
}
END_TEST

START_TEST(until_is_the_version_before_the_next_row)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 0; i < n; i++) {
        bool last = i + 1 == n || strcmp(rows[i + 1].name, rows[i].name) != 0 ||
                    strcmp(rows[i + 1].domain, rows[i].domain) != 0;
        ck_assert_int_eq(rows[i].until, last ? 0 : rows[i + 1].since - 1);
    }
}
END_TEST

START_TEST(bisection_finds_each_row_from_its_version_to_the_next)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 0; i < n; i++) {
        const struct ox_schema *row = &rows[i];
        ck_assert_ptr_eq(ox_schema_at(row->domain, row->name, row->since), row);
        ck_assert_ptr_eq(ox_schema_find(row->domain, row->name, row->since), row);
        int64_t last = row->until ? row->until : INT64_MAX;
        ck_assert_ptr_eq(ox_schema_find(row->domain, row->name, last), row);
        const struct ox_schema *before = ox_schema_find(row->domain, row->name, row->since - 1);
        ck_assert(before == NULL || before == row - 1);
    }
}
END_TEST

static void check_set(uint16_t set, const char *where)
{
    const char *const *types = NULL;
    size_t n = ox_type_set(set, &types);
    ck_assert_msg(n > 0, "%s: type set %u is empty", where, set);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(i == 0 || strcmp(types[i - 1], types[i]) < 0, "%s: %s", where, types[i]);
        ck_assert(ox_type_set_has_name(set, types[i]));
    }
}

static void check_params(const struct ox_schema *row, const struct ox_schema_param *params,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct ox_schema_param *p = &params[i];
        ck_assert(p->name && p->type);
        check_set(p->allowed, row->name);
        ck_assert(p->option <= OX_PARAM_VARIADIC);
        ck_assert_msg(p->option != OX_PARAM_VARIADIC || i + 1 == n, "%s: variadic in the middle",
                      row->name);
        if (p->constraint < 0) {
            ck_assert_msg(ox_type_set_has_name(p->allowed, p->type), "%s: %s", row->name, p->type);
            continue;
        }
        ck_assert_uint_lt((size_t)p->constraint, row->n_constraints);
        ck_assert_str_eq(row->constraints[p->constraint].name, p->type);
        ck_assert_uint_eq(row->constraints[p->constraint].allowed, p->allowed);
    }
}

START_TEST(parameters_point_at_their_constraints)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 0; i < n; i++) {
        check_params(&rows[i], rows[i].inputs, rows[i].n_inputs);
        check_params(&rows[i], rows[i].outputs, rows[i].n_outputs);
        ck_assert_uint_le(rows[i].min_inputs, rows[i].max_inputs);
        ck_assert_uint_le(rows[i].min_outputs, rows[i].max_outputs);
        for (size_t k = 0; k < rows[i].n_constraints; k++)
            check_set(rows[i].constraints[k].allowed, rows[i].name);
    }
}
END_TEST

static void check_default(const struct ox_schema *row, const struct ox_schema_attr *attr)
{
    static const unsigned char type_of[] = {
        [OX_DEFAULT_INT] = OX_ATTR_INT,       [OX_DEFAULT_FLOAT] = OX_ATTR_FLOAT,
        [OX_DEFAULT_STRING] = OX_ATTR_STRING, [OX_DEFAULT_INTS] = OX_ATTR_INTS,
        [OX_DEFAULT_FLOATS] = OX_ATTR_FLOATS, [OX_DEFAULT_STRINGS] = OX_ATTR_STRINGS,
    };
    ck_assert(attr->type >= OX_ATTR_FLOAT && attr->type <= OX_ATTR_TYPE_PROTOS);
    if (attr->default_kind == OX_DEFAULT_NONE)
        return;
    ck_assert_msg(attr->type == type_of[attr->default_kind], "%s: %s", row->name, attr->name);
    ck_assert(!attr->required);
    ck_assert_uint_ge(attr->n, 1);
    ck_assert((attr->default_kind == OX_DEFAULT_STRING) == (attr->s != NULL));
    ck_assert((attr->default_kind == OX_DEFAULT_INTS) == (attr->ints != NULL));
    ck_assert((attr->default_kind == OX_DEFAULT_FLOATS) == (attr->floats != NULL));
    ck_assert((attr->default_kind == OX_DEFAULT_STRINGS) == (attr->strings != NULL));
}

START_TEST(attributes_are_sorted_and_found)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < rows[i].n_attrs; k++) {
            const struct ox_schema_attr *attr = &rows[i].attrs[k];
            ck_assert(k == 0 || strcmp(attr[-1].name, attr->name) < 0);
            ck_assert_ptr_eq(ox_schema_attr(&rows[i], attr->name), attr);
            check_default(&rows[i], attr);
        }
        ck_assert_ptr_null(ox_schema_attr(&rows[i], "no such attribute"));
    }
}
END_TEST

/* Of a set without maps, every type is one bit of one mask. */
static size_t count_bits(uint16_t set)
{
    size_t n = 0;
    for (const char *kind = "tsoqp"; *kind; kind++) {
        for (unsigned elem = 0; elem < OX_N_DTYPES; elem++)
            n += ox_type_set_has(set, *kind, (enum ox_dtype)elem);
    }
    return n;
}

START_TEST(masks_agree_with_names)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < rows[i].n_constraints; k++) {
            const char *const *types;
            uint16_t set = rows[i].constraints[k].allowed;
            size_t n_types = ox_type_set(set, &types);
            size_t named = 0;
            for (size_t t = 0; t < n_types; t++)
                named += strstr(types[t], "map(") == NULL;
            ck_assert_msg(named == count_bits(set), "%s %s", rows[i].name,
                          rows[i].constraints[k].name);
        }
    }
}
END_TEST

START_TEST(bodies_name_their_operator)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    size_t with_body = 0;
    for (size_t i = 0; i < n; i++) {
        with_body += rows[i].body != NULL;
        ck_assert((rows[i].body != NULL) == (rows[i].n_bodies > 0));
        for (size_t k = 0; k < rows[i].n_bodies; k++) {
            const struct ox_schema_body *body = &rows[i].bodies[k];
            size_t length = strlen(rows[i].name);
            ck_assert_uint_gt(body->bytes, length + 2);
            ck_assert_uint_eq(body->data[0], 0x0a); /* FunctionProto.name */
            ck_assert_uint_eq(body->data[1], length);
            ck_assert_mem_eq(body->data + 2, rows[i].name, length);
            ck_assert_int_ge(body->opset, 1);
        }
    }
    ck_assert_uint_eq(with_body, 42);
}
END_TEST

START_TEST(slice_changes_at_10_11_and_13)
{
    static const int since[] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10, 11, 11, 13, 13};
    for (int opset = 1; opset <= ox_schema_newest(""); opset++) {
        const struct ox_schema *row = must_find("", "Slice", opset);
        ck_assert_int_eq(row->since, opset < (int)OX_COUNT(since) ? since[opset] : 13);
    }
    ck_assert_ptr_null(ox_schema_find("", "Slice", 0));
    ck_assert_ptr_null(ox_schema_at("", "Slice", 12));

    const struct ox_schema *first = must_find("", "Slice", 9);
    ck_assert_uint_eq(first->n_inputs, 1);
    ck_assert_uint_eq(first->n_attrs, 3);
    ck_assert(ox_schema_attr(first, "starts")->required);
    ck_assert(!ox_schema_attr(first, "axes")->required);
    ck_assert_int_eq(first->until, 9);

    const struct ox_schema *now = must_find("", "Slice", 13);
    ck_assert_uint_eq(now->min_inputs, 3);
    ck_assert_uint_eq(now->max_inputs, 5);
    ck_assert_uint_eq(now->n_attrs, 0);
    ck_assert_str_eq(now->inputs[4].name, "steps");
    ck_assert_int_eq(now->inputs[4].option, OX_PARAM_OPTIONAL);
    ck_assert_str_eq(now->inputs[1].type, "Tind");
}
END_TEST

START_TEST(deprecated_rows_are_returned_and_marked)
{
    ck_assert(!must_find("", "Upsample", 9)->deprecated);
    ck_assert(must_find("", "Upsample", 10)->deprecated);
    ck_assert(must_find("", "Upsample", 28)->deprecated);
    ck_assert(!must_find("", "Scatter", 10)->deprecated);
    ck_assert(must_find("", "Scatter", 11)->deprecated);
    ck_assert(must_find("ai.onnx.ml", "TreeEnsembleClassifier", 5)->deprecated);
    ck_assert(!must_find("ai.onnx.ml", "TreeEnsembleClassifier", 3)->deprecated);
}
END_TEST

START_TEST(unknown_names_and_versions_too_old_are_not_found)
{
    ck_assert_ptr_null(ox_schema_find("", "Gelu", 19));
    ck_assert_int_eq(must_find("", "Gelu", 20)->since, 20);
    ck_assert_ptr_null(ox_schema_find("", "NoSuchOperator", 28));
    ck_assert_ptr_null(ox_schema_find("", "", 28));
    ck_assert_ptr_null(ox_schema_find("", "Zzz", 28));
    ck_assert_ptr_null(ox_schema_find("no.such.domain", "Add", 28));
    ck_assert_ptr_null(ox_schema_find("ai.onnx.ml", "Add", 5));
    ck_assert_ptr_eq(ox_schema_find("ai.onnx", "Add", 14), ox_schema_find("", "Add", 14));
}
END_TEST

START_TEST(newest_versions_of_all_domains)
{
    ck_assert_int_eq(ox_schema_newest(""), OX_ONNX_OPSET);
    ck_assert_int_eq(ox_schema_newest("ai.onnx"), OX_ONNX_OPSET);
    ck_assert_int_eq(ox_schema_newest("ai.onnx.ml"), 5);
    ck_assert_int_eq(ox_schema_newest("ai.onnx.preview"), 1);
    ck_assert_int_eq(ox_schema_newest("ai.onnx.preview.training"), 1);
    ck_assert_int_eq(ox_schema_newest("ai.onnx.training"), 1);
    ck_assert_int_eq(ox_schema_newest("com.example"), 0);
    ck_assert(!ox_schema_domain_known("com.example"));
    ck_assert(ox_schema_domain_known("ai.onnx.ml"));
}
END_TEST

START_TEST(releases_and_ir_versions_of_operator_sets)
{
    ck_assert_int_eq(ox_schema_ir_for_opset("", 8), 3);
    ck_assert_int_eq(ox_schema_ir_for_opset("", 9), 4);
    ck_assert_int_eq(ox_schema_ir_for_opset("", 13), 7);
    ck_assert_int_eq(ox_schema_ir_for_opset("", 19), 9);
    ck_assert_int_eq(ox_schema_ir_for_opset("", OX_ONNX_OPSET), OX_ONNX_IR_VERSION);
    ck_assert_int_eq(ox_schema_ir_for_opset("ai.onnx.ml", 3), 8);
    ck_assert_int_eq(ox_schema_ir_for_opset("", OX_ONNX_OPSET + 1), 0);
    ck_assert_int_eq(ox_schema_ir_for_opset("", 0), 0);
    ck_assert_int_eq(ox_schema_ir_for_opset("com.microsoft", 1), 0);
    ck_assert_str_eq(ox_schema_release_for_opset("", 13), "1.8.0");
    ck_assert_str_eq(ox_schema_release_for_opset("", 3), "1.1");
    ck_assert_str_eq(ox_schema_release_for_opset("ai.onnx.training", 1), "1.7.0");
    ck_assert_ptr_null(ox_schema_release_for_opset("", INT64_MAX));
}
END_TEST

START_TEST(type_sets_of_known_operators)
{
    uint16_t set = must_find("", "Add", 7)->inputs[0].allowed;
    ck_assert(ox_type_set_has(set, 't', OX_FLOAT32));
    ck_assert(ox_type_set_has(set, 't', OX_UINT64));
    ck_assert(!ox_type_set_has(set, 't', OX_INT8));
    ck_assert(!ox_type_set_has(set, 't', OX_BFLOAT16));
    ck_assert(ox_type_set_has(must_find("", "Add", 14)->inputs[0].allowed, 't', OX_INT8));
    ck_assert(!ox_type_set_has(set, 's', OX_FLOAT32));
    ck_assert(!ox_type_set_has(set, '?', OX_FLOAT32));
    ck_assert(!ox_type_set_has(set, '\0', OX_FLOAT32));
    ck_assert(!ox_type_set_has(set, 't', (enum ox_dtype)99));
    ck_assert(ox_type_set_has_name(set, "tensor(double)"));
    ck_assert(!ox_type_set_has_name(set, "tensor(string)"));

    set = must_find("", "SequenceInsert", 11)->inputs[0].allowed;
    ck_assert(ox_type_set_has(set, 's', OX_STRING));
    ck_assert(!ox_type_set_has(set, 't', OX_STRING));
    set = must_find("", "OptionalGetElement", 18)->inputs[0].allowed;
    ck_assert(ox_type_set_has(set, 'o', OX_FLOAT32));
    ck_assert(ox_type_set_has(set, 'q', OX_FLOAT32));
    ck_assert(!ox_type_set_has(set, 'p', OX_FLOAT32));
    set = must_find("ai.onnx.ml", "ZipMap", 1)->outputs[0].allowed;
    ck_assert(ox_type_set_has_name(set, "seq(map(string,tensor(float)))"));
}
END_TEST

START_TEST(a_set_that_is_none_is_empty)
{
    const char *const *types = NULL;
    ck_assert_uint_eq(ox_type_set(UINT16_MAX, &types), 0);
    ck_assert(!ox_type_set_has(UINT16_MAX, 't', OX_FLOAT32));
    ck_assert(!ox_type_set_has_name(UINT16_MAX, "tensor(float)"));
}
END_TEST

START_TEST(defaults_of_known_attributes)
{
    const struct ox_schema *lstm = must_find("", "LSTM", 14);
    ck_assert_int_eq(ox_schema_attr(lstm, "activations")->default_kind, OX_DEFAULT_NONE);
    ck_assert_str_eq(ox_schema_attr(lstm, "direction")->s, "forward");
    const struct ox_schema_attr *list = ox_schema_attr(must_find("", "RNN", 14), "activations");
    ck_assert_uint_eq(list->n, 2);
    ck_assert_str_eq(list->strings[1], "Tanh");
    list = ox_schema_attr(must_find("", "MeanVarianceNormalization", 9), "axes");
    ck_assert_uint_eq(list->n, 3);
    ck_assert_int_eq(list->ints[2], 3);
    const struct ox_schema *norm = must_find("", "BatchNormalization", 15);
    ck_assert_float_eq(ox_schema_attr(norm, "epsilon")->f, 1e-5f);
    ck_assert_float_eq(ox_schema_attr(must_find("", "Clip", 6), "max")->f, 3.40282347e+38f);
    ck_assert_int_eq(ox_schema_attr(must_find("", "Softmax", 12), "axis")->i, 1);
    ck_assert_int_eq(ox_schema_attr(must_find("", "Softmax", 13), "axis")->i, -1);
    ck_assert(ox_schema_attr(must_find("", "Cast", 13), "to")->required);
    ck_assert_int_eq(ox_schema_attr(must_find("", "If", 11), "then_branch")->type, OX_ATTR_GRAPH);
}
END_TEST

START_TEST(variadic_parameters_say_so)
{
    const struct ox_schema *concat = must_find("", "Concat", 13);
    ck_assert_uint_eq(concat->n_inputs, 1);
    ck_assert_int_eq(concat->inputs[0].option, OX_PARAM_VARIADIC);
    ck_assert(concat->inputs[0].homogeneous);
    ck_assert_uint_eq(concat->inputs[0].min_arity, 1);
    ck_assert_uint_eq(concat->max_inputs, UINT_MAX);
    const struct ox_schema *loop = must_find("", "Loop", 13);
    ck_assert(!loop->inputs[2].homogeneous);
    ck_assert_uint_eq(loop->inputs[2].min_arity, 0);
    ck_assert_uint_eq(loop->min_inputs, 2);
}
END_TEST

START_TEST(randomness_is_marked)
{
    ck_assert(must_find("", "RandomNormal", 1)->non_deterministic);
    ck_assert(must_find("", "Dropout", 13)->non_deterministic);
    ck_assert(!must_find("", "Add", 14)->non_deterministic);
    ck_assert(!must_find("", "DepthToSpace", 28)->non_deterministic);
}
END_TEST

START_TEST(function_bodies_and_their_versions)
{
    const struct ox_schema *mish = must_find("", "Mish", 22);
    ck_assert(mish->has_function);
    ck_assert_int_eq(mish->body_opset, 22);
    ck_assert_ptr_eq(ox_schema_body_at(mish, 25), &mish->bodies[0]);
    ck_assert_ptr_eq(mish->bodies[0].data, mish->body);

    const struct ox_schema *mvn = must_find("", "MeanVarianceNormalization", 20);
    ck_assert_uint_eq(mvn->n_bodies, 2);
    ck_assert_int_eq(ox_schema_body_at(mvn, 17)->opset, 13);
    ck_assert_int_eq(ox_schema_body_at(mvn, 18)->opset, 18);

    const struct ox_schema *elu = must_find("", "Elu", 6);
    ck_assert_ptr_null(ox_schema_body_at(elu, 17));
    ck_assert_int_eq(ox_schema_body_at(elu, 18)->opset, 18);

    const struct ox_schema *clip = must_find("", "Clip", 13); /* built for each node */
    ck_assert(clip->has_function);
    ck_assert_ptr_null(clip->body);
    ck_assert_ptr_null(ox_schema_body_at(clip, 28));
    ck_assert(!must_find("", "Add", 14)->has_function);
}
END_TEST

START_TEST(onnxruntimes_own_operators)
{
    ck_assert_uint_eq(count_domain("com.microsoft"), 150);
    ck_assert_uint_eq(count_domain("com.microsoft.nchwc"), 8);
    ck_assert_int_eq(ox_schema_newest("com.microsoft"), 1);
    const struct ox_schema *nbits = must_find("com.microsoft", "MatMulNBits", 1);
    ck_assert(ox_schema_attr(nbits, "block_size")->required);
    ck_assert_int_eq(ox_schema_attr(nbits, "bits")->i, 4);
    ck_assert_uint_eq(nbits->max_inputs, 6);
    ck_assert(ox_type_set_has(nbits->inputs[0].allowed, 't', OX_FLOAT16));
    ck_assert(!ox_type_set_has(nbits->inputs[0].allowed, 't', OX_INT8));
    const struct ox_schema *concat = must_find("com.microsoft", "QLinearConcat", 1);
    ck_assert(!concat->inputs[2].homogeneous);
    ck_assert_uint_eq(concat->inputs[2].min_arity, 1);
    ck_assert_ptr_nonnull(ox_schema_at("com.microsoft", "DequantizeLinear", 1));
    const struct ox_schema *sparse = must_find("com.microsoft", "SparseToDenseMatMul", 1);
    ck_assert(ox_type_set_has(sparse->inputs[0].allowed, 'p', OX_FLOAT32));
    ck_assert_str_eq(ox_schema_similar("com.microsoft", "MatmulNBit"), "MatMulNBits");
}
END_TEST

START_TEST(foreign_rows_stay_out_of_the_standard)
{
    ck_assert_ptr_null(ox_schema_find("", "SimplifiedLayerNormalization", 28));
    ck_assert_ptr_null(ox_schema_find("", "LayerNormalization", 16));
    ck_assert_ptr_nonnull(ox_schema_find_foreign("", "SimplifiedLayerNormalization", 17));
    const struct ox_schema *norm = ox_schema_find_foreign("", "LayerNormalization", 9);
    ck_assert_ptr_nonnull(norm);
    ck_assert_int_eq(norm->since, 1);
    ck_assert_float_eq(ox_schema_attr(norm, "epsilon")->f, 1e-5f);
    ck_assert_ptr_null(ox_schema_find_foreign("", "Add", 14));
    ck_assert_ptr_null(ox_schema_find_foreign("com.microsoft", "LayerNormalization", 1));
}
END_TEST

START_TEST(similar_names_are_offered)
{
    ck_assert_str_eq(ox_schema_similar("", "Convv"), "Conv");
    ck_assert_str_eq(ox_schema_similar("", "relu"), "Relu");
    ck_assert_str_eq(ox_schema_similar("", "BatchNormalisation"), "BatchNormalization");
    ck_assert_str_eq(ox_schema_similar("", "Marmul"), "MatMul");
    ck_assert_str_eq(ox_schema_similar("ai.onnx", "Reshpae"), "Reshape");
    ck_assert_ptr_null(ox_schema_similar("", "SomethingElseEntirely"));
    ck_assert_ptr_null(ox_schema_similar("", ""));
    ck_assert_ptr_null(ox_schema_similar("com.example", "Conv"));
    char longest[300];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ck_assert_ptr_null(ox_schema_similar("", longest));
}
END_TEST

static Suite *schema_suite(void)
{
    Suite *suite = suite_create("schema");
    TCase *tables = tcase_create("tables");
    tcase_add_test(tables, every_row_of_the_standard_is_there);
    tcase_add_test(tables, rows_are_sorted_and_unique);
    tcase_add_test(tables, until_is_the_version_before_the_next_row);
    tcase_add_test(tables, bisection_finds_each_row_from_its_version_to_the_next);
    tcase_add_test(tables, parameters_point_at_their_constraints);
    tcase_add_test(tables, attributes_are_sorted_and_found);
    tcase_add_test(tables, masks_agree_with_names);
    tcase_add_test(tables, bodies_name_their_operator);
    suite_add_tcase(suite, tables);
    TCase *facts = tcase_create("facts");
    tcase_add_test(facts, slice_changes_at_10_11_and_13);
    tcase_add_test(facts, deprecated_rows_are_returned_and_marked);
    tcase_add_test(facts, unknown_names_and_versions_too_old_are_not_found);
    tcase_add_test(facts, newest_versions_of_all_domains);
    tcase_add_test(facts, releases_and_ir_versions_of_operator_sets);
    tcase_add_test(facts, type_sets_of_known_operators);
    tcase_add_test(facts, a_set_that_is_none_is_empty);
    tcase_add_test(facts, defaults_of_known_attributes);
    tcase_add_test(facts, variadic_parameters_say_so);
    tcase_add_test(facts, randomness_is_marked);
    tcase_add_test(facts, function_bodies_and_their_versions);
    tcase_add_test(facts, onnxruntimes_own_operators);
    tcase_add_test(facts, foreign_rows_stay_out_of_the_standard);
    tcase_add_test(facts, similar_names_are_offered);
    suite_add_tcase(suite, facts);
    return suite;
}

int main(void)
{
    return run_suite(schema_suite());
}
