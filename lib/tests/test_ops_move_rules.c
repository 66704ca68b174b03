/* Shape rules of the operators that move data, on symbols: a row a case. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "check/findings.h"
#include "shape/shapes.h"
#include "tests/run_suite.h"

struct rule {
    int opset;
    const char *body; /* of the main graph; its last output is z */
    const char *type; /* of z */
};

static const struct rule rules[] = {
    /* Reshape */
    {21, "(float[b,s,12] x, int64[2] t) => (z) { z = Reshape(x, t) }",
     "float32[Reshape_0.dim0,Reshape_0.dim1]"},
    {21, "(float[b,s,12] x) => (z) <int64[4] t = {0,0,4,-1}> { z = Reshape(x, t) }",
     "float32[b,s,4,3]"},
    {21, "(float[b,s,12] x) => (z) <int64[2] t = {-1,12}> { z = Reshape(x, t) }",
     "float32[b*s,12]"},
    {1, "(float[b,6] x) => (z) { z = Reshape<shape = [0,2,-1]>(x) }", "float32[b,2,3]"},
    {21,
     "(float[b,s,12] x) => (z) { d = Shape<start = 0, end = 2>(x) m = Constant<value_ints = "
     "[-1]>() "
     "t = Concat<axis = 0>(d, m) z = Reshape(x, t) }",
     "float32[b,s,12]"},
    /* Values on their way: Shape, Gather, Unsqueeze, Concat, Slice, Squeeze, Split. */
    {21,
     "(float[b,s] x) => (z) { d = Shape(x) i = Constant<value_int = 1>() a = Constant<value_ints = "
     "[0]>() "
     "g = Gather(d, i) u = Unsqueeze(g, a) t = Concat<axis = 0>(u, u) z = ConstantOfShape(t) }",
     "float32[s,s]"},
    {21,
     "(float[b,s,h] x) => (z) { d = Shape(x) p, q = Split<num_outputs = 2>(d) z = "
     "ConstantOfShape(q) }",
     "float32[h]"},
    {21,
     "(float[b,s] x) => (z) { d = Shape(x) i = Constant<value_ints = [1,0]>() g = "
     "GatherElements(d, i) "
     "z = ConstantOfShape(g) }",
     "float32[s,b]"},
    {21,
     "(float[b,s] x) => (z) { d = Shape(x) e = Constant<value_ints = [2]>() t = Tile(d, e) "
     "z = ConstantOfShape(t) }",
     "float32[b,s,b,s]"},
    {21,
     "(float[b,s] x) => (z) { d = Shape(x) p = Constant<value_ints = [1,0]>() o = "
     "Constant<value_int = 1>() "
     "t = Pad(d, p, o) z = ConstantOfShape(t) }",
     "float32[1,b,s]"},
    {21,
     "(float[b,s] x) => (z) { d = Shape(x) i = Constant<value_ints = [0]>() u = "
     "Constant<value_ints = [7]>() "
     "t = ScatterElements(d, i, u) z = ConstantOfShape(t) }",
     "float32[7,s]"},
    /* Cutting */
    {21,
     "(float[b,s] x) => (z) <int64[1] f = {1}, int64[1] t = {9223372036854775807}, int64[1] a = "
     "{1}> "
     "{ z = Slice(x, f, t, a) }",
     "float32[b,s-1]"},
    {21,
     "(float[b,10] x) => (z) <int64[1] f = {-1}, int64[1] t = {-9223372036854775807}, int64[1] a = "
     "{1}, "
     "int64[1] p = {-3}> { z = Slice(x, f, t, a, p) }",
     "float32[b,4]"},
    {21,
     "(float[b,s] x) => (z) <int64[1] f = {-1}, int64[1] t = {9223372036854775807}, int64[1] a = "
     "{1}> { z = Slice(x, f, t, a) }",
     "float32[b,1]"},
    {9, "(float[b,10] x) => (z) { z = Slice<starts = [2], ends = [-2], axes = [1]>(x) }",
     "float32[b,6]"},
    {21, "(float[b,s] x, float[b,t] y) => (z) { z = Concat<axis = -1>(x, y) }", "float32[b,s+t]"},
    {21, "(float[b,9] x) => (z) { y, z = Split<axis = 1, num_outputs = 2>(x) }", "float32[b,4]"},
    /* Rearranging */
    {21, "(float[b,s,h] x) => (z) { z = Transpose(x) }", "float32[h,s,b]"},
    {21, "(float[b,8,h,w] x) => (z) { z = DepthToSpace<blocksize = 2>(x) }",
     "float32[b,2,2*h,2*w]"},
    {21, "(float[b,1] x) => (z) <int64[3] t = {4,1,5}> { z = Expand(x, t) }", "float32[4,b,5]"},
    {21, "(float[b,s] x) => (z) <int64[2] t = {2,3}> { z = Tile(x, t) }", "float32[2*b,3*s]"},
    {21, "(float[b,s] x) => (z) <int64[4] p = {0,1,0,2}> { z = Pad(x, p) }", "float32[b,s+3]"},
    {1, "(float[b,s] x) => (z) { z = Pad<paddings = [0,1,0,2]>(x) }", "float32[b,s+3]"},
    /* Sizes that the data decides */
    {21, "(float[b,s] x) => (z) { z = NonZero(x) }", "int64[2,NonZero_0.count]"},
    {21, "(float[b,s] x) => (z) { a, c, z = Unique<axis = 1>(x) }", "int64[s]"},
    {21, "(float[b,s] x, int64[b] i, float[2] v) => (z) <int64[1] d = {9}> { z = OneHot(i, d, v) }",
     "float32[b,9]"},
    {21,
     "(int64 n) => (z) { o = Constant<value_int = 0>() i = Constant<value_int = 1>() z = Range(o, "
     "n, i) }",
     "int64[max(0,n.value)]"},
    {21,
     "(float[b,s] x) => (z) { o = Constant<value_int = 0>() i = Constant<value_int = 1>() d = "
     "Shape(x) "
     "n = Gather(d, i) z = Range(o, n, i) }",
     "int64[s]"},
    /* Resampling */
    {19, "(float[b,c,h,w] x) => (z) <float[4] s = {1.0,1.0,2.0,0.5}> { z = Resize(x, , s) }",
     "float32[b,c,2*h,w//2]"},
    {10, "(float[b,c,5,5] x) => (z) <float[4] s = {1.0,1.0,1.5,0.7}> { z = Resize(x, s) }",
     "float32[b,c,7,3]"},
    {19, "(float[b,c,h,w] x, float[n,p,q,2] g) => (z) { z = GridSample(x, g) }",
     "float32[b,c,p,q]"},
};

START_TEST(rule_tells_the_shape)
{
    const struct rule *rule = &rules[_i];
    struct ox_model *model = NULL;
    struct ox_shapes *shapes = NULL;
    struct ox_strbuf printed;
    struct ox_error err = {0};
    struct ox_env *env = ox_env_new();
    char text[2048];

    snprintf(text, sizeof text, "<ir_version: 10, opset_import: [\"\" : %d]>\ng %s", rule->opset,
             rule->body);
    ck_assert_ptr_nonnull(env);
    ck_assert_msg(ox_model_open_memory(&model, env, text, strlen(text), NULL, &err) == OX_OK,
                  "%s: %s", rule->body, err.message);
    ck_assert_msg(ox_shapes_infer(&shapes, model, NULL, NULL, &err) == OX_OK, "%s", err.message);
    const struct ox_type *type = ox_shapes_type(shapes, ox_graph_value(model->graph, "z"));

    ox_strbuf_init(&printed);
    ck_assert_msg(type != NULL, "%s: unknown", rule->body);
    ox_type_print(&printed, type, true);
    ck_assert_msg(strcmp(printed.data, rule->type) == 0, "%s: z is %s, not %s", rule->body,
                  printed.data, rule->type);
    ck_assert_msg(ox_findings_count(ox_shapes_findings(shapes)) == 0, "%s: findings", rule->body);
    ox_strbuf_release(&printed);
    ox_shapes_release(shapes);
    ox_model_release(model);
    ox_env_release(env);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_move_rules");
    TCase *tests = tcase_create("rules");

    tcase_add_loop_test(tests, rule_tells_the_shape, 0, (int)(sizeof rules / sizeof rules[0]));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
