/* Evidence in the graphs: operators put in, left out or exchanged, opsets, wiring, attributes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity/causes.h"

/* ---- Attributes ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *id;
} attr_ids[] = {
    {"align_corners", "sampling-grid"},
    {"alpha", "activation-slope"},
    {"approximate", "gelu-approximation"},
    {"auto_pad", "padding"},
    {"axes", "axis"},
    {"axis", "axis"},
    {"ceil_mode", "ceil-mode"},
    {"coordinate_transformation_mode", "sampling-grid"},
    {"count_include_pad", "padding"},
    {"cubic_coeff_a", "sampling-grid"},
    {"dilations", "window"},
    {"epsilon", "epsilon"},
    {"exclude_outside", "sampling-grid"},
    {"half_pixel", "sampling-grid"},
    {"interleaved", "rotary-layout"},
    {"keepdims", "axis"},
    {"kernel_shape", "window"},
    {"linear_before_reset", "gate-convention"},
    {"mode", "mode"},
    {"nearest_mode", "sampling-grid"},
    {"output_padding", "padding"},
    {"pads", "padding"},
    {"perm", "layout"},
    {"spatial", "axis"},
    {"strides", "window"},
    {"to", "element-type"},
    {"training_mode", "training-mode"},
    {"transA", "transposition"},
    {"transB", "transposition"},
};

static const char *attr_id(const char *name)
{
    for (size_t i = 0; i < OX_COUNT(attr_ids); i++)
        if (strcmp(attr_ids[i].name, name) == 0)
            return attr_ids[i].id;
    return "attribute";
}

static void print_attr(struct ox_strbuf *out, const struct ox_attr *attr)
{
    enum { MOST = 12 };
    bool list = attr->type == OX_ATTR_INTS || attr->type == OX_ATTR_FLOATS;
    if (list)
        ox_strbuf_putc(out, '[');
    for (size_t i = 0; list && i < attr->n && i < MOST; i++)
        if (attr->type == OX_ATTR_INTS)
            ox_strbuf_printf(out, "%s%lld", i ? "," : "", (long long)attr->ints[i]);
        else
            ox_strbuf_printf(out, "%s%.6g", i ? "," : "", (double)attr->floats[i]);
    if (list)
        ox_strbuf_puts(out, attr->n > MOST ? ",...]" : "]");
    else if (attr->type == OX_ATTR_INT && strcmp(attr->name, "to") == 0 && attr->i > 0 &&
             attr->i < OX_N_DTYPES)
        ox_strbuf_puts(out, ox_dtype_name((enum ox_dtype)attr->i));
    else if (attr->type == OX_ATTR_INT)
        ox_strbuf_printf(out, "%lld", (long long)attr->i);
    else if (attr->type == OX_ATTR_FLOAT)
        ox_strbuf_printf(out, "%.6g", (double)attr->f);
    else if (attr->type == OX_ATTR_STRING)
        ox_strbuf_printf(out, "\"%.64s\"", attr->s.p ? attr->s.p : "");
    else
        ox_strbuf_printf(out, "(%s)", ox_attr_type_name(attr->type));
}

static void print_default(struct ox_strbuf *out, const struct ox_schema_attr *attr)
{
    struct ox_json json;
    if (!attr || attr->default_kind == OX_DEFAULT_NONE) {
        ox_strbuf_puts(out, "not given");
        return;
    }
    if (attr->default_kind == OX_DEFAULT_FLOAT) {
        ox_strbuf_printf(out, "%.6g", (double)attr->f);
        return;
    }
    ox_json_init(&json, out, false);
    ox_schema_default_json(&json, attr);
}

/* As given, or the default. */
static void print_side(struct ox_strbuf *out, const struct ox_node *node, const char *name)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    const struct ox_schema *schema = ox_explain_schema(node);
    if (attr)
        print_attr(out, attr);
    else
        print_default(out, schema ? ox_schema_attr(schema, name) : NULL);
}

static bool same_tensor(const struct ox_attr *a, const struct ox_attr *b)
{
    const struct ox_stored *x = a->tensor, *y = b->tensor;
    return a->n == b->n && (!a->n || (x->raw_bytes == y->raw_bytes && x->raw && y->raw &&
                                      memcmp(x->raw, y->raw, x->raw_bytes) == 0));
}

/* What stands for an attribute that is not given, where the schema has no default for it: it depends on the rank. */
static bool is_implied(const struct ox_attr *attr)
{
    static const struct {
        const char *name;
        int64_t all;
    } table[] = {{"dilations", 1}, {"output_padding", 0}, {"pads", 0}, {"strides", 1}};
    /* Of the weights. */
    if (strcmp(attr->name, "kernel_shape") == 0)
        return true;
    for (size_t k = 0; k < OX_COUNT(table); k++) {
        bool same = attr->type == OX_ATTR_INTS && strcmp(attr->name, table[k].name) == 0;
        for (size_t i = 0; i < attr->n && same; i++)
            same = attr->ints[i] == table[k].all;
        if (same)
            return true;
    }
    return false;
}

static void compare_attr(struct ox_explaining *e, const struct ox_node *a, const struct ox_node *b,
                         const char *name)
{
    struct ox_strbuf x = {0}, y = {0};
    char what[OX_WHAT_SIZE];
    const struct ox_attr *p = ox_node_attr(a, name), *q = ox_node_attr(b, name);
    if (!p != !q && is_implied(p ? p : q))
        return;
    bool tensors = p && q && p->type == OX_ATTR_TENSOR && q->type == OX_ATTR_TENSOR;
    print_side(&x, a, name);
    print_side(&y, b, name);
    if (x.failed || y.failed)
        e->causes->failed = true;
    else if (strcmp(x.data, y.data) != 0)
        ox_cause_add(e->causes, 90, attr_id(name), "%s of %s is %s in A, %s in B", name,
                     ox_explain_what(e, b, what), x.data, y.data);
    else if (tensors && strcmp(b->op_type, "Constant") != 0 && !same_tensor(p, q))
        ox_cause_add(e->causes, 85, attr_id(name), "%s of %s holds other values", name,
                     ox_explain_what(e, b, what));
    ox_strbuf_release(&x);
    ox_strbuf_release(&y);
}

enum ox_status ox_explain_attrs(struct ox_explaining *e, const struct ox_node *a,
                                const struct ox_node *b, struct ox_error *err)
{
    for (size_t i = 0; i < b->n_attrs; i++)
        compare_attr(e, a, b, b->attrs[i].name);
    for (size_t i = 0; i < a->n_attrs; i++)
        if (!ox_node_attr(b, a->attrs[i].name))
            compare_attr(e, a, b, a->attrs[i].name);
    return e->causes->failed ? ox_no_memory(err) : OX_OK;
}

/* ---- Opsets -------------------------------------------------------------------------------------------------------- */

/* What a change of versions means where it changes results. */
static const char *opset_meaning(const char *op_type, int old, int new)
{
    if (old < 13 && new >= 13 &&
        (strcmp(op_type, "Softmax") == 0 || strcmp(op_type, "LogSoftmax") == 0 ||
         strcmp(op_type, "Hardmax") == 0))
        return ": before 13 all axes from `axis` on are one (default 1), since 13 it is `axis` "
               "alone (default -1)";
    if (strcmp(op_type, "BatchNormalization") == 0)
        return old < 14 && new >= 14 ? ": since 14 training is asked for by training_mode, before "
                                       "by the number of outputs"
                                     : "";
    if (strcmp(op_type, "Resize") == 0 && old < 11 && new >= 11)
        return ": 10 samples asymmetric, 11 half_pixel unless told otherwise";
    if (strcmp(op_type, "Dropout") == 0 && old < 12 && new >= 12)
        return ": since 12 training is asked for by an input";
    if (strcmp(op_type, "AveragePool") == 0 && old < 19 && new >= 19)
        return ": what ceil_mode adds at the end is counted otherwise";
    return "";
}

static void compare_opsets(struct ox_explaining *e, const struct ox_node *a,
                           const struct ox_node *b)
{
    const struct ox_schema *p = ox_explain_schema(a), *q = ox_explain_schema(b);
    if (!p || !q || p->since == q->since)
        return;
    bool older = p->since < q->since;
    const char *meaning =
        opset_meaning(b->op_type, older ? p->since : q->since, older ? q->since : p->since);
    ox_cause_add(e->causes, *meaning ? 95 : 15, "opset",
                 "%s is version %d (opset %lld) in A, version %d (opset %lld) in B%s", b->op_type,
                 p->since, (long long)ox_graph_opset(a->graph, a->domain), q->since,
                 (long long)ox_graph_opset(b->graph, b->domain), meaning);
}

/* ---- Wiring -------------------------------------------------------------------------------------------------------- */

static const char *input_name(const struct ox_node *node, size_t i, char text[32])
{
    const struct ox_schema *schema = ox_explain_schema(node);
    if (schema && i < schema->n_inputs)
        return schema->inputs[i].name;
    snprintf(text, 32, "%zu", i);
    return text;
}

/* B has it too, or both are given it. */
static bool is_paired_in_a(const struct ox_explaining *e, const struct ox_value *a)
{
    const struct ox_strmap *pairs = &e->parity->walkers[OX_ROLE_A].pair_of;
    return !a->producer || ox_strmap_find(pairs, a->name, strlen(a->name)) != OX_STRMAP_NONE;
}

static void compare_wiring(struct ox_explaining *e, const struct ox_node *a,
                           const struct ox_node *b)
{
    size_t n = a->n_inputs > b->n_inputs ? a->n_inputs : b->n_inputs;
    char text[32];
    for (size_t i = 0; i < n; i++) {
        const struct ox_value *x = i < a->n_inputs ? a->inputs[i] : NULL;
        const struct ox_value *y = i < b->n_inputs ? b->inputs[i] : NULL;
        if (!x != !y)
            ox_cause_add(e->causes, 88, "input-missing", "input %s of %s is %s",
                         input_name(b, i, text), b->op_type,
                         x ? "given in A, not in B" : "not given in A, given in B");
        const struct ox_value *partner = y ? ox_explain_partner(e, y) : NULL;
        if (!x || !y || partner == x)
            continue;
        bool elsewhere = false;
        for (size_t k = 0; k < a->n_inputs && partner; k++) {
            if (a->inputs[k] != partner)
                continue;
            elsewhere = true;
            if (k > i)
                ox_cause_add(e->causes, 92, "inputs-swapped",
                             "%s takes '%.100s' as input %zu in A, as input %zu in B", b->op_type,
                             y->name, k, i);
        }
        /* A value of one side's alone may still be the other's. */
        bool known = partner || (y->init && !x->init && is_paired_in_a(e, x));
        if (known && !elsewhere)
            ox_cause_add(e->causes, 88, "input-changed",
                         "input %s of %s is '%.100s' in A, '%.100s' in B%s", input_name(b, i, text),
                         b->op_type, x->name, y->name, y->init && !x->init ? " (a constant)" : "");
    }
}

/* ---- Operators ----------------------------------------------------------------------------------------------------- */

/* Constants are no step of a computation. */
static void list_ops(struct ox_strbuf *out, const struct ox_region *region)
{
    enum { MOST = 10 };
    size_t n = 0;
    for (size_t i = 0; i < region->n_nodes; i++) {
        const char *op_type = region->nodes[i]->op_type;
        if (strcmp(op_type, "Constant") == 0)
            continue;
        if (n < MOST)
            ox_strbuf_printf(out, "%s%.64s", n ? ", " : "", op_type);
        n++;
    }
    if (n > MOST)
        ox_strbuf_printf(out, ", ... (%zu)", n);
    ox_strbuf_puts(out, n ? "" : "nothing");
}

/* The only node of that operator on each side; false: there is none, or there are more. */
static bool find_single(const struct ox_explaining *e, const char *op_type,
                        const struct ox_node **a, const struct ox_node **b)
{
    *a = ox_region_find(&e->a, op_type);
    *b = ox_region_find(&e->b, op_type);
    return ox_region_count(&e->a, op_type) == 1 && ox_region_count(&e->b, op_type) == 1;
}

/* The types that values are cast to on one side alone. */
static void compare_casts(struct ox_explaining *e, const struct ox_region *region,
                          const struct ox_region *other, const char *side)
{
    for (size_t i = 0; i < region->n_nodes; i++) {
        const struct ox_node *node = region->nodes[i];
        char label[OX_LABEL_SIZE];
        const struct ox_attr *to = ox_node_attr(node, "to");
        if (strcmp(node->op_type, "Cast") != 0 || !to || to->i <= 0 || to->i >= OX_N_DTYPES ||
            ox_region_find(other, "Cast"))
            continue;
        enum ox_dtype type = (enum ox_dtype)to->i;
        if (type == OX_FLOAT32 || type == OX_FLOAT64 || type == OX_INT64)
            continue;
        ox_cause_add(e->causes, 87, "element-type", "%s casts to %s here (node '%s')", side,
                     ox_dtype_name(type), ox_explain_label(node, label));
    }
}

static bool computes(const struct ox_node *node)
{
    return strcmp(node->op_type, "Constant") != 0 && strcmp(node->op_type, "Identity") != 0;
}

/* The next node from *at on that computes something; NULL. */
static const struct ox_node *next_step(const struct ox_region *region, size_t *at)
{
    while (*at < region->n_nodes && !computes(region->nodes[*at]))
        ++*at;
    return *at < region->n_nodes ? region->nodes[(*at)++] : NULL;
}

/* The only operator that differs where both regions have as many; false: none does, or more. */
static bool find_exchanged(const struct ox_explaining *e, const struct ox_node **a,
                           const struct ox_node **b)
{
    size_t at_a = 0, at_b = 0, n_other = 0;
    for (;;) {
        const struct ox_node *x = next_step(&e->a, &at_a), *y = next_step(&e->b, &at_b);
        if (!x || !y)
            return !x && !y && n_other == 1;
        if (strcmp(x->op_type, y->op_type) == 0)
            continue;
        *a = x;
        *b = y;
        n_other++;
    }
}

/* The node that one region has more than the other, where they are the same otherwise; NULL. */
static const struct ox_node *find_extra(const struct ox_region *more, const struct ox_region *less)
{
    const struct ox_node *extra = NULL, *node;
    size_t at = 0, other = 0;
    const struct ox_node *expected = next_step(less, &other);
    while ((node = next_step(more, &at))) {
        if (expected && strcmp(expected->op_type, node->op_type) == 0)
            expected = next_step(less, &other);
        else if (extra)
            return NULL;
        else
            extra = node;
    }
    return expected ? NULL : extra;
}

/* Slice by -1, or Gather of all from the last to the first. */
static enum ox_status goes_backwards(struct ox_explaining *e, bool of_a, const struct ox_node *node,
                                     bool *backwards, struct ox_error *err)
{
    const bool slices = strcmp(node->op_type, "Slice") == 0;
    const size_t at = slices ? 4 : 1;
    struct ox_tensor *t = NULL;
    if ((!slices && strcmp(node->op_type, "Gather") != 0) || node->n_inputs <= at ||
        !node->inputs[at])
        return OX_OK;
    OX_TRY(ox_explain_constant(e, of_a, node->inputs[at], &t, err));
    *backwards = t && t->n > (slices ? 0 : 1);
    for (size_t i = 0; *backwards && i < t->n; i++)
        *backwards = ox_tensor_get_double(t, i) == (slices ? -1.0 : (double)(t->n - 1 - i));
    ox_tensor_release(t);
    return OX_OK;
}

/* A step that one side forgot: a scale, a cast, a transposition. */
static enum ox_status compare_counts(struct ox_explaining *e, bool of_a, struct ox_error *err)
{
    const struct ox_node *node = find_extra(of_a ? &e->a : &e->b, of_a ? &e->b : &e->a);
    const char *has = of_a ? "A" : "B", *lacks = of_a ? "B" : "A";
    char by[64] = "", label[OX_LABEL_SIZE];
    bool backwards = false;
    if (node)
        OX_TRY(goes_backwards(e, of_a, node, &backwards, err));
    for (size_t k = 0; node && k < node->n_inputs && node->n_inputs == 2; k++) {
        struct ox_tensor *t = NULL;
        if (node->inputs[k])
            OX_TRY(ox_explain_constant(e, of_a, node->inputs[k], &t, err));
        if (t && t->n == 1 && t->dtype != OX_STRING)
            snprintf(by, sizeof by, " by %.6g", ox_tensor_get_double(t, 0));
        ox_tensor_release(t);
    }
    if (node)
        ox_cause_add(e->causes, 86, "node-missing", "%s has %s%s (node '%s') here, %s does not%s",
                     has, node->op_type, by, ox_explain_label(node, label), lacks,
                     backwards ? ": it turns an axis round, as for RGB and BGR" : "");
    return OX_OK;
}

static void compare_ops(struct ox_explaining *e)
{
    const struct ox_node *a = e->a.nodes[e->a.n_nodes - 1], *b = e->b.nodes[e->b.n_nodes - 1];
    bool one = e->a.n_nodes == 1 && e->b.n_nodes == 1;
    char label[OX_LABEL_SIZE], other[OX_LABEL_SIZE];
    if (one && strcmp(a->op_type, b->op_type) != 0) {
        ox_cause_add(e->causes, 94, "operator", "%s in A is %s in B", a->op_type, b->op_type);
        return;
    }
    if (find_exchanged(e, &a, &b))
        ox_cause_add(e->causes, 90, "operator", "%s in A (node '%s') is %s in B (node '%s')",
                     a->op_type, ox_explain_label(a, label), b->op_type,
                     ox_explain_label(b, other));
    struct ox_strbuf x = {0}, y = {0};
    list_ops(&x, &e->a);
    list_ops(&y, &e->b);
    if (x.failed || y.failed)
        e->causes->failed = true;
    else if (strcmp(x.data, y.data) != 0)
        ox_cause_add(e->causes, 50, "nodes",
                     "from the values that agree to this one A has %s; B has %s", x.data, y.data);
    ox_strbuf_release(&x);
    ox_strbuf_release(&y);
    bool qa = ox_region_find(&e->a, "QuantizeLinear"), qb = ox_region_find(&e->b, "QuantizeLinear");
    if (qa != qb)
        ox_cause_add(e->causes, 70, "quantized", "%s quantizes and dequantizes here",
                     qa ? "A" : "B");
    compare_casts(e, &e->a, &e->b, "A");
    compare_casts(e, &e->b, &e->a, "B");
    bool norm_a = ox_region_find(&e->a, "BatchNormalization"),
         norm_b = ox_region_find(&e->b, "BatchNormalization");
    /* Of the batch's own statistics there is no fusion. */
    if (norm_a != norm_b && !ox_explain_is_training(norm_a ? &e->a : &e->b))
        ox_cause_add(
            e->causes, 80, "fused-batch-norm",
            "%s has a BatchNormalization that %s has in other weights: the fusion is wrong",
            norm_a ? "A" : "B", norm_a ? "B" : "A");
}

enum ox_status ox_explain_nodes(struct ox_explaining *e, struct ox_error *err)
{
    /* Rewriting of one side alone changes attributes and constants as it must: layouts, fused weights. */
    const bool rewritten = e->parity->options.a_level != e->parity->options.b_level;
    compare_ops(e);
    if ((e->a.n_nodes > 1 || e->b.n_nodes > 1) && !rewritten) {
        OX_TRY(compare_counts(e, true, err));
        OX_TRY(compare_counts(e, false, err));
    }
    OX_TRY(ox_explain_conventions(e, err));
    ox_explain_random(e, &e->a, "A");
    ox_explain_random(e, &e->b, "B");
    for (size_t i = 0; i < e->b.n_nodes && !rewritten; i++) {
        const struct ox_node *a, *b;
        if (!find_single(e, e->b.nodes[i]->op_type, &a, &b) || strcmp(a->domain, b->domain) != 0)
            continue;
        OX_TRY(ox_explain_attrs(e, a, b, err));
        compare_opsets(e, a, b);
        if (e->a.n_nodes == e->b.n_nodes)
            compare_wiring(e, a, b);
        OX_TRY(ox_explain_constants(e, a, b, err));
        OX_TRY(ox_explain_bodies(e, a, b, err));
    }
    return e->causes->failed ? ox_no_memory(err) : OX_OK;
}
