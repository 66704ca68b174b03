#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/findings.h"
#include "shape/shapes.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_model *model;
static struct ox_shapes *shapes;
static char *source;

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
}

static void close_model(void)
{
    ox_shapes_release(shapes);
    ox_model_release(model);
    free(source);
    shapes = NULL;
    model = NULL;
    source = NULL;
}

static void teardown(void)
{
    close_model();
    ox_env_release(env);
}

/* In the place of the one that is open. */
static void open_text(const char *text)
{
    struct ox_error err;
    close_model();
    source = strdup(text);
    enum ox_status status = ox_model_open_memory(&model, env, source, strlen(source), NULL, &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
}

static void infer_with(const char *text, const struct ox_shapes_options *options)
{
    struct ox_error err;
    open_text(text);
    enum ox_status status = ox_shapes_infer(&shapes, model, options, NULL, &err);
    ck_assert_msg(status == OX_OK, "%s", err.message);
}

/* The main graph `body` with the newest opset. */
static void infer(const char *body)
{
    char text[8192];
    snprintf(text, sizeof text, "<ir_version: 10, opset_import: [\"\" : 21]>\n%s", body);
    infer_with(text, NULL);
}

static const struct ox_value *find(const char *name)
{
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_value *value = ox_graph_value(model->graphs[g], name);
        if (value && !value->outer)
            return value;
    }
    ck_abort_msg("there is no value %s", name);
    return NULL;
}

static void expect(const char *name, const char *wanted)
{
    struct ox_strbuf text = {0};
    const struct ox_type *type = ox_shapes_type(shapes, find(name));
    if (type)
        ox_type_print(&text, type, true);
    else
        ox_strbuf_puts(&text, "unknown");
    ck_assert_msg(strcmp(text.data, wanted) == 0, "%s is %s, not %s", name, text.data, wanted);
    ox_strbuf_release(&text);
}

static size_t n_findings(void)
{
    return ox_findings_count(ox_shapes_findings(shapes));
}

START_TEST(broadcast_keeps_symbols)
{
    infer("g (float[batch,1,4] x, float[seq,4] y) => (z) { z = Add(x, y) }");
    expect("z", "float32[batch,seq,4]");
    ck_assert_uint_eq(n_findings(), 0);
}
END_TEST

START_TEST(broadcast_of_two_symbols_says_what_it_is)
{
    infer("g (float[a] x, float[b] y) => (z, w) { z = Add(x, y) w = Add(z, x) }");
    expect("z", "float32[max(a,b)]");
    expect("w", "float32[max(a,b)]");
}
END_TEST

START_TEST(shape_arithmetic_is_followed)
{
    infer("g (float[batch,seq,768] x) => (y) {\n"
          "  s = Shape(x) i0 = Constant<value = int64[1] {0}>() i1 = Constant<value = int64[1] "
          "{1}>()\n"
          "  b = Gather(s, i0) l = Gather(s, i1) h = Constant<value = int64[2] {12, -1}>()\n"
          "  t = Concat<axis = 0>(b, l, h) y = Reshape(x, t) }");
    expect("y", "float32[batch,seq,12,64]");
}
END_TEST

START_TEST(convolution_arithmetic_is_an_expression)
{
    infer("g (float[N,3,H,224] x, float[8,3,3,3] w) => (y) { y = Conv<strides = [2, 2], pads = [1, "
          "1, 1, 1]>(x, w) }");
    expect("y", "float32[N,8,(H+1)//2,112]");
}
END_TEST

START_TEST(equal_dimensions_are_learned)
{
    infer("g (float[a,k] x, float[4,n] y, float[k] z) => (u, v) { u = MatMul(x, y) v = Identity(z) "
          "}");
    expect("u", "float32[a,n]");
    expect("v", "float32[4]");
}
END_TEST

START_TEST(what_a_branch_learns_stays_in_it)
{
    infer("g (bool c, float[a] x, float[4] y) => (u, v) {\n"
          "  u = If(c) <then_branch = t () => (tu) { tu = MatMul(x, y) }, else_branch = e () => "
          "(eu) { eu = ReduceSum<keepdims = 0>(x) }>\n"
          "  v = Identity(x) }");
    expect("u", "float32[]");
    expect("v", "float32[a]");
}
END_TEST

START_TEST(contradictions_name_both_sides)
{
    infer("g (float[2,3] x, float[4,5] y) => (z) { z = MatMul(x, y) }");
    ck_assert_uint_eq(n_findings(), 1);
    const struct ox_finding *finding = ox_findings_at(ox_shapes_findings(shapes), 0);
    ck_assert_str_eq(finding->id, "shape.suspect");
    ck_assert_ptr_nonnull(strstr(finding->message, "3"));
    ck_assert_ptr_nonnull(strstr(finding->message, "4"));
}
END_TEST

START_TEST(strict_makes_errors)
{
    struct ox_shapes_options strict = {.strict = true};
    infer_with("<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x) => (float[3] y) { y = "
               "Relu(x) }",
               &strict);
    ck_assert_uint_eq(n_findings(), 1);
    ck_assert_str_eq(ox_findings_at(ox_shapes_findings(shapes), 0)->id, "shape.conflict");
    ck_assert_str_eq(ox_findings_at(ox_shapes_findings(shapes), 0)->tensor, "y");
}
END_TEST

/* The only finding is an error of that id at that tensor. */
static void refuses(const char *text, const char *id, const char *tensor)
{
    struct ox_shapes_options strict = {.strict = true};
    infer_with(text, &strict);
    ck_assert_uint_eq(n_findings(), 1);
    const struct ox_finding *finding = ox_findings_at(ox_shapes_findings(shapes), 0);
    ck_assert_str_eq(finding->id, id);
    ck_assert_str_eq(finding->tensor ? finding->tensor : "", tensor);
}

START_TEST(a_body_declares_its_inputs_as_they_are_given)
{
    static const char loop[] =
        "<ir_version: 8, opset_import: [\"\" : 16]>\n"
        "g (int64 n, bool%s c, float[2] x) => (float[2] y) {\n"
        "  y = Loop(n, c, x) <body = b (int64[1] i, bool%s k, float%s s) => (k2, t) { k2 = "
        "Identity(k) t = Relu(x) }> }";
    static const char scan[] =
        "<ir_version: 8, opset_import: [\"\" : 16]> g (float[2] x, float[5,3] q) => (y, z) {\n"
        "  y, z = Scan <num_scan_inputs = 1, body = b (%s[2] s, float[%d] e) => (s2, e2) { s2 = "
        "Relu(x) e2 = Identity(e) }> (x, q) }";
    char text[1024];
    struct ox_shapes_options strict = {.strict = true};

    snprintf(text, sizeof text, loop, "[1]", "[1]", "[2]");
    infer_with(text, &strict);
    ck_assert_uint_eq(n_findings(), 0);
    snprintf(text, sizeof text, loop, "[3]", "", "[2]");
    refuses(text, "shape.conflict", "k");
    snprintf(text, sizeof text, loop, "", "[1]", "[2]");
    refuses(text, "shape.conflict", "k");
    snprintf(text, sizeof text, loop, "", "", "[3]");
    refuses(text, "shape.conflict", "s");
    snprintf(text, sizeof text, scan, "float", 4);
    refuses(text, "shape.conflict", "e");
    snprintf(text, sizeof text, scan, "double", 3);
    refuses(text, "type.conflict", "s");
}
END_TEST

START_TEST(strings_to_normalize_are_one_row)
{
    refuses("<ir_version: 8, opset_import: [\"\" : 16]> g (string[n,c] x) => (y) { y = "
            "StringNormalizer(x) }",
            "shape.conflict", "");
}
END_TEST

START_TEST(types_that_an_operator_does_not_take_are_found)
{
    struct ox_shapes_options strict = {.strict = true};
    infer_with("<ir_version: 10, opset_import: [\"\" : 21]> g (string[2] x, float[2] a, int64[2] "
               "b) => (y, z) { y = Relu(x) z = Add(a, b) }",
               &strict);
    ck_assert_uint_eq(n_findings(), 2);
    ck_assert_str_eq(ox_findings_at(ox_shapes_findings(shapes), 0)->id, "type.conflict");
    ck_assert_str_eq(ox_findings_at(ox_shapes_findings(shapes), 1)->id, "type.conflict");
}
END_TEST

START_TEST(declared_types_fill_what_rules_do_not_know)
{
    infer_with("<ir_version: 10, opset_import: [\"\" : 21, \"other\" : 1]>\n"
               "g (float[n] x) => (z) <float[n,7] y> { y = other.Thing(x) z = Relu(y) }",
               NULL);
    expect("z", "float32[n,7]");
}
END_TEST

/* Notes the value whose step says that the operator is not known. */
static enum ox_status note_thing(void *arg, const struct ox_shape_step *step)
{
    if (step->reason && strstr(step->reason, "other.Thing is not known") && step->op_type)
        *(const char **)arg = find(step->name)->name;
    return OX_OK;
}

START_TEST(unknown_operators_stop_nothing)
{
    infer_with("<ir_version: 10, opset_import: [\"\" : 21, \"other\" : 1]>\n"
               "g (float[n] x) => (z, w) { y = other.Thing(x) z = Relu(y) w = Relu(x) }",
               NULL);
    expect("w", "float32[n]");
    ck_assert_ptr_nonnull(strstr(ox_shapes_reason(shapes, find("y")), "other.Thing"));
    const char *found = NULL;
    ck_assert_int_eq(ox_shapes_explain(shapes, "z", note_thing, &found, NULL), OX_OK);
    ck_assert_str_eq(found, "y");
}
END_TEST

START_TEST(a_symbol_given_a_number_has_it_everywhere)
{
    const char *const symbols[] = {"n"};
    const int64_t sizes[] = {6};
    const struct ox_shapes_options options = {.symbols = symbols, .sizes = sizes, .n_symbols = 1};
    infer_with("<ir_version: 10, opset_import: [\"\" : 21]>\n"
               "g (float[n, 4] x) => (float[k] z) <float[n, 4] y> { y = Relu(x)"
               " t = Constant<value_ints = [-1]>() z = Reshape(y, t) }",
               &options);
    expect("y", "float32[6,4]");
    expect("z", "float32[24]");
}
END_TEST

START_TEST(a_batch_is_freed_where_a_reshape_held_it)
{
    open_text("<ir_version: 10, opset_import: [\"\" : 21]>\n"
              "g (float[2, 4, 6] x) => (float[2, 24] y) <int64[2] t = {2, 24}>"
              " { y = Reshape(x, t) }");
    const char *const dims[] = {"N"};
    const char *const names[] = {"x"};
    ck_assert_int_eq(ox_shapes_free_dims(model, names, dims, 1, NULL), OX_OK);
    ck_assert_int_eq(ox_shapes_infer(&shapes, model, NULL, NULL, NULL), OX_OK);
    expect("y", "float32[N,24]");
}
END_TEST

START_TEST(a_batch_that_a_weight_needs_is_not_freed)
{
    open_text("<ir_version: 10, opset_import: [\"\" : 21]>\n"
              "g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}>"
              " { y = MatMul(w, x) }");
    const char *const dims[] = {"N"};
    const char *const names[] = {"x"};
    ck_assert_int_eq(ox_shapes_free_dims(model, names, dims, 1, NULL), OX_NEGATIVE);
}
END_TEST

START_TEST(data_dependent_sizes_have_names)
{
    infer("g (float[n] x) => (y, z) { y = NonZero(x) z = Transpose(y) }");
    ck_assert_ptr_nonnull(strstr(ox_shapes_reason(shapes, find("y")) ? "" : "x", "x"));
    const struct ox_type *type = ox_shapes_type(shapes, find("z"));
    const char *name;
    ck_assert(type->has_rank && type->rank == 2);
    ck_assert(ox_expr_is_symbol(type->dims[0], &name));
    ck_assert_ptr_nonnull(strstr(name, "NonZero"));
}
END_TEST

START_TEST(constants_are_computed)
{
    infer("g (float[n] x) => (y, z) {\n"
          "  c = Constant<value = float[5] {0, 1, 0, 1, 1}>() y = NonZero(c)\n"
          "  k = ReduceSum<keepdims = 1>(c) q = Cast<to = 7>(k) z = Expand(x, q) }");
    expect("y", "int64[1,3]");
    ck_assert_uint_eq(n_findings(), 0);
}
END_TEST

START_TEST(a_missing_required_input_is_not_computed_with)
{
    infer("g () => (y) { a = Constant<value = int8[2] {1, 2}>() y = DequantizeLinear(a, \"\") }");
    ck_assert_ptr_nonnull(ox_shapes_reason(shapes, find("y")));
}
END_TEST

START_TEST(default_inputs_are_no_constants)
{
    infer("g (float[6] x, int64[2] s = {2, 3}) => (y) { y = Reshape(x, s) }");
    const struct ox_type *type = ox_shapes_type(shapes, find("y"));
    ck_assert(type->has_rank && type->rank == 2);
    ck_assert(!ox_expr_is_int(type->dims[0], NULL));
}
END_TEST

START_TEST(functions_are_inferred_for_their_arguments)
{
    infer_with("<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n"
               "g (float[n,4] x, float[7] y) => (u, v, w) { u = local.twice(x) v = local.twice(y) "
               "w = local.twice(x) }\n"
               "<domain: \"local\", opset_import: [\"\" : 21]> twice (a) => (b) { c = Add(a, a) b "
               "= Relu(c) }",
               NULL);
    expect("u", "float32[n,4]");
    expect("v", "float32[7]");
    expect("w", "float32[n,4]");
    expect("c", "float32[...]");
}
END_TEST

START_TEST(attributes_of_calls_are_bound)
{
    infer_with("<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n"
               "g (float[n,4,5] x) => (u, v) { u = local.part<axis = 1>(x) v = local.part(x) }\n"
               "<domain: \"local\", opset_import: [\"\" : 21]> part <axis: int = 2> (a) => (b) {\n"
               "  b = Softmax<axis: int = @axis>(a) }",
               NULL);
    expect("u", "float32[n,4,5]");
    expect("v", "float32[n,4,5]");
}
END_TEST

START_TEST(functions_that_call_themselves_end)
{
    infer_with("<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n"
               "g (float[n] x) => (u) { u = local.loop(x) }\n"
               "<domain: \"local\", opset_import: [\"\" : 21, \"local\" : 1]> loop (a) => (b) { b "
               "= local.loop(a) }",
               NULL);
    ck_assert_ptr_nonnull(strstr(ox_shapes_reason(shapes, find("u")), "calls itself"));
}
END_TEST

START_TEST(doubling_chains_take_no_time)
{
    struct ox_strbuf text = {0};
    ox_strbuf_puts(&text, "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (float[n] x) "
                          "=> (y) { y = l.f0(x) }\n");
    for (int i = 0; i < 60; i++)
        ox_strbuf_printf(&text,
                         "<domain: \"l\", opset_import: [\"\" : 21, \"l\" : 1]> f%d (a) => (b) { c "
                         "= l.f%d(a) b = l.f%d(c) }\n",
                         i, i + 1, i + 1);
    ox_strbuf_puts(&text,
                   "<domain: \"l\", opset_import: [\"\" : 21]> f60 (a) => (b) { b = Relu(a) }\n");
    infer_with(text.data, NULL);
    expect("y", "float32[n]");
    ox_strbuf_release(&text);
}
END_TEST

/* A function whose functions each double their argument: by value every call would be another. */
START_TEST(doubling_chains_of_numbers_take_no_time)
{
    struct ox_strbuf text = {0};
    ox_strbuf_puts(&text, "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]> g (int64 x) "
                          "=> (y) { y = l.f0(x) }\n");
    for (int i = 0; i < 60; i++)
        ox_strbuf_printf(&text,
                         "<domain: \"l\", opset_import: [\"\" : 21, \"l\" : 1]> f%d (a) => (b) { c "
                         "= l.f%d(a) b = l.f%d(c) }\n",
                         i, i + 1, i + 1);
    ox_strbuf_puts(&text,
                   "<domain: \"l\", opset_import: [\"\" : 21]> f60 (a) => (b) { b = Add(a, a) }\n");
    infer_with(text.data, NULL);
    expect("y", "int64[]");
    ox_strbuf_release(&text);
}
END_TEST

START_TEST(elements_of_integer_inputs_are_sizes)
{
    infer(
        "g (int64[2] s, int64 k, float[24] x, int64[n] open, int64[17] long) => (a, b, c, d, e) {\n"
        "  a = ConstantOfShape(s) m = Constant<value = int64[1] {-1}>() t = Concat<axis = 0>(s, "
        "m)\n"
        "  b = Reshape(x, t) c = ConstantOfShape(open) d = ConstantOfShape(long)\n"
        "  z = Constant<value = int64 {0}>() o = Constant<value = int64 {1}>() e = Range(z, k, o) "
        "}");
    expect("a", "float32[s[0],s[1]]");
    expect("b",
           "float32[Reshape_3.dim0,Reshape_3.dim1,Reshape_3.dim2]"); /* 0 and -1 are no sizes */
    expect("c", "float32[...]");
    expect("e", "int64[max(0,k.value)]");
}
END_TEST

/* The same in each trip, where what the body computes is not. */
START_TEST(elements_of_the_main_graph_last_through_a_loop)
{
    infer(
        "g (int64[2] s, int64 n, bool c, float[b] x) => (y, z) {\n"
        "  y, z = Loop(n, c) <body = body (int64 i, bool k) => (k2, u, v) { k2 = Identity(k) u = "
        "ConstantOfShape(s)\n"
        "    h = Unsqueeze(i, o) v = ConstantOfShape(h) o = Constant<value = int64[1] {0}>() }> }");
    expect("u", "float32[s[0],s[1]]");
    expect("y", "float32[Loop_0.trips,s[0],s[1]]");
}
END_TEST

/* As exporters write int(h * 0.5), ceil(h / 8) * 8 and arange(h). */
START_TEST(sizes_pass_through_floats)
{
    infer("g (float[n,h] x, int64 k) => (a, b, c, d, e) {\n"
          "  s = Shape(x) one = Constant<value = int64 {1}>() h = Gather(s, one) f = Cast<to = "
          "1>(h)\n"
          "  half = Constant<value = float {0.5}>() p = Mul(f, half) q = Floor(p) r = Cast<to = "
          "7>(q)\n"
          "  ax = Constant<value = int64[1] {0}>() u = Unsqueeze(r, ax) a = ConstantOfShape(u)\n"
          "  eight = Constant<value = float {8.0}>() p2 = Div(f, eight) q2 = Ceil(p2) r2 = Mul(q2, "
          "eight) i2 = Cast<to = 7>(r2) u2 = Unsqueeze(i2, ax) b = ConstantOfShape(u2)\n"
          "  zero = Constant<value = float {0.0}>() step = Constant<value = float {1.0}>() c = "
          "Range(zero, f, step)\n"
          "  third = Constant<value = float {0.3}>() p3 = Mul(f, third) i3 = Cast<to = 7>(p3) u3 = "
          "Unsqueeze(i3, ax) d = ConstantOfShape(u3)\n"
          "  i4 = Cast<to = 7>(p) u4 = Unsqueeze(i4, ax) e = ConstantOfShape(u4) }");
    expect("a", "float32[h//2]");
    expect("b", "float32[8*((h+7)//8)]");
    expect("c", "float32[h]");
    expect("d", "float32[i3.value]"); /* 0.3 is no short fraction: what it rounds to is not told */
    expect("e", "float32[h//2]");
}
END_TEST

START_TEST(elements_can_be_given)
{
    const char *names[] = {"s[1]", "k.value"};
    const int64_t sizes[] = {3, 4};
    struct ox_shapes_options options = {.symbols = names, .sizes = sizes, .n_symbols = 2};
    infer_with(
        "<ir_version: 10, opset_import: [\"\" : 21]> g (int64[2] s, int64 k) => (y, z) {\n"
        "  o = Constant<value = int64[1] {0}>() h = Unsqueeze(k, o) t = Concat<axis = 0>(s, h)\n"
        "  y = ConstantOfShape(t) z = ConstantOfShape(s) }",
        &options);
    expect("y", "float32[s[0],3,4]");
    expect("z", "float32[s[0],3]");
}
END_TEST

START_TEST(inputs_can_be_given)
{
    const char *names[] = {"x", NULL}, *dims[] = {"1x3xHx?"};
    struct ox_shapes_options options = {.input_names = names, .input_dims = dims, .n_overrides = 1};
    infer_with(
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N,C,h,w] x) => (y) { y = Relu(x) }",
        &options);
    expect("y", "float32[1,3,H,x.dim3]");
}
END_TEST

START_TEST(inputs_that_do_not_fit_are_refused)
{
    static const char *const bad[][2] = {{"y", "1"},      {"x", "1x2"},
                                         {"x", "1x-2x3"}, {"x", "1xax"},
                                         {"x", "axx"},    {"x", "99999999999999999999x1x1"}};
    open_text(
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[a,b,c] x) => (y) { y = Relu(x) }");
    for (size_t i = 0; i < OX_COUNT(bad); i++) {
        struct ox_shapes_options options = {
            .input_names = &bad[i][0], .input_dims = &bad[i][1], .n_overrides = 1};
        ck_assert_msg(ox_shapes_infer(&shapes, model, &options, NULL, NULL) == OX_USAGE,
                      "%s=%s was taken", bad[i][0], bad[i][1]);
    }
}
END_TEST

START_TEST(open_dimensions_are_named_by_their_input)
{
    infer("g (float[?,3] x) => (y) { y = Concat<axis = 0>(x, x) }");
    expect("y", "float32[2*x.dim0,3]");
}
END_TEST

START_TEST(loop_carries_what_stays)
{
    infer("g (int64 n, bool c, float[b,4] x) => (y, z) {\n"
          "  y, z = Loop(n, c, x) <body = body (int64 i, bool k, s) => (k2, t, u) { k2 = "
          "Identity(k) t = Relu(s) u = ReduceSum<keepdims = 0>(s) }> }");
    expect("y", "float32[b,4]");
    const struct ox_type *type = ox_shapes_type(shapes, find("z"));
    ck_assert(type && type->has_rank && type->rank == 1);
}
END_TEST

START_TEST(a_loop_that_appends_grows)
{
    infer("g (int64 n, bool c, float[b,4] x) => (y) {\n"
          "  y = Loop(n, c, x) <body = body (int64 i, bool k, s) => (k2, t) { k2 = Identity(k) t = "
          "Concat<axis = 0>(s, x) }> }");
    expect("y", "float32[b*Loop_0.trips+b,4]");
}
END_TEST

START_TEST(the_last_of_an_axis_is_no_more_than_there_is)
{
    infer("g (float[seq] x, float[batch,total] m) => (y) {\n"
          "  n = Shape(x) s = Neg(n) e = Constant<value = int64[1] {9223372036854775807}>()\n"
          "  a = Constant<value = int64[1] {1}>() y = Slice(m, s, e, a) }");
    expect("y", "float32[batch,min(seq,total)]");
}
END_TEST

START_TEST(the_first_element_of_a_sequence_gives_it_a_shape)
{
    infer("g (float[2,n,4] x, float[1,n,4] y, int64 i) => (z, w) {\n"
          "  e = SequenceEmpty() a = SequenceInsert(e, x) b = SequenceInsert(a, y) c = "
          "SequenceInsert(b, x) z = SequenceAt(c, i) w = SequenceAt(a, i) }");
    expect("w", "float32[2,n,4]");
    expect("z", "float32[SequenceAt_4.dim0,n,4]");
}
END_TEST

START_TEST(where_a_sequence_has_one_place_any_position_is_it)
{
    infer("g (float[2,n,4] x, float[1,n,4] y, int64 i) => (z, w) {\n"
          "  e = SequenceEmpty() a = SequenceInsert(e, x, i) z = SequenceAt(a, i)\n"
          "  b = SequenceErase(a, i) c = SequenceInsert(b, y, i) w = ConcatFromSequence<axis = "
          "0>(c)\n"
          "  d = SequenceInsert(a, y, i) v = SequenceAt(d, i) }");
    expect("z", "float32[2,n,4]");
    expect("w", "float32[1,n,4]");
    expect("v", "float32[SequenceAt_7.dim0,n,4]");
}
END_TEST

START_TEST(sizes_that_the_data_cannot_change_are_known)
{
    infer("g (float[n,3] x, int64[1] t, float[0] e, int64[2] p, float[1] o, string[4] s) => (y) {\n"
          "  y = Reshape(x, t) a, b = Split(e, p) u, i = Unique(o) w = StringNormalizer(s) }");
    expect("y", "float32[3*n]");
    expect("a", "float32[0]");
    expect("b", "float32[0]");
    expect("u", "float32[1]");
    expect("i", "int64[1]");
    expect("w", "string[4]");
}
END_TEST

START_TEST(graphs_of_attention_are_given_the_scores)
{
    infer_with("<ir_version: 13, opset_import: [\"\" : 26, \"ai.onnx.preview\" : 1]>\n"
               "g (float[n,2,4,8] q, float[n,2,5,8] k, float[n,2,5,8] v) => (y) {\n"
               "  y = ai.onnx.preview.FlexAttention(q, k, v) <score_mod = mod (float[B,H,L,S] s) "
               "=> (float[B,H,L,S] t) { t = Tanh(s) }> }",
               NULL);
    expect("t", "float32[n,2,4,5]");
    expect("y", "float32[n,2,4,8]");
}
END_TEST

START_TEST(nodes_out_of_order_are_inferred_all_the_same)
{
    infer("g (float[n] x) => (z) { z = Relu(y) y = Relu(x) }");
    expect("z", "float32[n]");
}
END_TEST

START_TEST(entries_tell_all_values)
{
    infer("g (float[n,2] x) => (y) { c = Constant<value = float {1}>() y = Add(x, c) }");
    ck_assert_uint_eq(ox_shapes_count(shapes), 3);
    struct ox_shape_entry entry;
    ck_assert(ox_shapes_at(shapes, 0, &entry));
    ck_assert_str_eq(entry.name, "x");
    ck_assert_ptr_null(entry.producer);
    ck_assert(ox_shapes_at(shapes, 2, &entry));
    ck_assert_str_eq(entry.name, "y");
    ck_assert_str_eq(entry.graph, "");
    ck_assert_str_eq(entry.type, "float32");
    ck_assert_str_eq(entry.producer, "#1");
    ck_assert_uint_eq(entry.rank, 2);
    ck_assert_str_eq(entry.symbols[0], "n");
    ck_assert_int_eq(entry.dims[1], 2);
    ck_assert(entry.known);
    ck_assert_uint_eq(ox_shapes_unknown(shapes), 0);
}
END_TEST

/* A chain of n additions and reshapes by computed shapes. */
static char *chain(int n)
{
    struct ox_strbuf text = {0};
    ox_strbuf_puts(
        &text, "<ir_version: 10, opset_import: [\"\" : 21]> g (float[batch,seq,64] v0) => (y) {\n");
    for (int i = 0; i < n; i += 4)
        ox_strbuf_printf(
            &text, "s%d = Shape(v%d) r%d = Reshape(v%d, s%d) a%d = Relu(r%d) v%d = Add(a%d, v%d)\n",
            i, i, i, i, i, i, i, i + 4, i, i);
    ox_strbuf_printf(&text, "y = Relu(v%d) }", n);
    return text.data;
}

START_TEST(time_grows_with_the_number_of_nodes)
{
    char *text = chain(20000);
    open_text(text);
    free(text);
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    ck_assert_int_eq(ox_shapes_infer(&shapes, model, NULL, NULL, NULL), OX_OK);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    expect("y", "float32[batch,seq,64]");
    if (getenv("OX_TIMES"))
        printf("20,000 nodes: %.1f ms\n", ms);
    ck_assert_msg(ms < 2000, "20,000 nodes took %.0f ms", ms);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shapes");
    TCase *tcase = tcase_create("shapes");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, broadcast_keeps_symbols);
    tcase_add_test(tcase, broadcast_of_two_symbols_says_what_it_is);
    tcase_add_test(tcase, shape_arithmetic_is_followed);
    tcase_add_test(tcase, convolution_arithmetic_is_an_expression);
    tcase_add_test(tcase, equal_dimensions_are_learned);
    tcase_add_test(tcase, what_a_branch_learns_stays_in_it);
    tcase_add_test(tcase, contradictions_name_both_sides);
    tcase_add_test(tcase, strict_makes_errors);
    tcase_add_test(tcase, types_that_an_operator_does_not_take_are_found);
    tcase_add_test(tcase, a_body_declares_its_inputs_as_they_are_given);
    tcase_add_test(tcase, strings_to_normalize_are_one_row);
    tcase_add_test(tcase, declared_types_fill_what_rules_do_not_know);
    tcase_add_test(tcase, unknown_operators_stop_nothing);
    tcase_add_test(tcase, a_symbol_given_a_number_has_it_everywhere);
    tcase_add_test(tcase, a_batch_is_freed_where_a_reshape_held_it);
    tcase_add_test(tcase, a_batch_that_a_weight_needs_is_not_freed);
    tcase_add_test(tcase, data_dependent_sizes_have_names);
    tcase_add_test(tcase, constants_are_computed);
    tcase_add_test(tcase, a_missing_required_input_is_not_computed_with);
    tcase_add_test(tcase, default_inputs_are_no_constants);
    tcase_add_test(tcase, functions_are_inferred_for_their_arguments);
    tcase_add_test(tcase, attributes_of_calls_are_bound);
    tcase_add_test(tcase, functions_that_call_themselves_end);
    tcase_add_test(tcase, doubling_chains_take_no_time);
    tcase_add_test(tcase, doubling_chains_of_numbers_take_no_time);
    tcase_add_test(tcase, elements_of_integer_inputs_are_sizes);
    tcase_add_test(tcase, elements_of_the_main_graph_last_through_a_loop);
    tcase_add_test(tcase, sizes_pass_through_floats);
    tcase_add_test(tcase, elements_can_be_given);
    tcase_add_test(tcase, inputs_can_be_given);
    tcase_add_test(tcase, inputs_that_do_not_fit_are_refused);
    tcase_add_test(tcase, open_dimensions_are_named_by_their_input);
    tcase_add_test(tcase, loop_carries_what_stays);
    tcase_add_test(tcase, a_loop_that_appends_grows);
    tcase_add_test(tcase, the_last_of_an_axis_is_no_more_than_there_is);
    tcase_add_test(tcase, the_first_element_of_a_sequence_gives_it_a_shape);
    tcase_add_test(tcase, where_a_sequence_has_one_place_any_position_is_it);
    tcase_add_test(tcase, sizes_that_the_data_cannot_change_are_known);
    tcase_add_test(tcase, graphs_of_attention_are_given_the_scores);
    tcase_add_test(tcase, nodes_out_of_order_are_inferred_all_the_same);
    tcase_add_test(tcase, entries_tell_all_values);
    tcase_add_test(tcase, time_grows_with_the_number_of_nodes);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
