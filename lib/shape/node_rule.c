/* One node: its rule found and run, what it says merged with what the file declares. */
#include <stdlib.h>
#include <string.h>

#include "ops/custom.h"
#include "shape/infer_impl.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* As the runtime decides it of what is no function of the model's. */
static bool runs(const char *domain, int64_t opset, const struct ox_op *op,
                 const struct ox_schema *schema)
{
    const int newest = ox_schema_newest(domain);
    const bool served = (op && op->run) || (schema && schema->body);
    return opset && (!newest || opset <= newest) && served && !ox_op_has_left(op, schema);
}

static bool add_row(struct ox_shapes *s, const struct ox_node *node, int64_t opset, uint32_t *index)
{
    if (s->n_rules == s->cap_rules) {
        size_t cap = s->cap_rules ? s->cap_rules * 2 : 64;
        struct ox_rule_row *grown = realloc(s->rules, cap * sizeof *grown);
        if (!grown)
            return false;
        s->rules = grown;
        s->cap_rules = cap;
    }
    const struct ox_schema *schema =
        ox_schema_lookup_any(s->model->env, node->domain, node->op_type, opset);
    const struct ox_op *op = ox_op_lookup(s->model->env, node->domain, node->op_type, opset);
    *index = (uint32_t)s->n_rules;
    s->rules[s->n_rules++] = (struct ox_rule_row){
        node->domain, opset, op, schema, runs(node->domain, opset, op, schema), UINT32_MAX};
    return true;
}

/* Row and schema of a node: found once for each operator, not for each node. */
static const struct ox_rule_row *find_row(struct ox_shapes *s, const struct ox_node *node,
                                          int64_t opset)
{
    size_t n = strlen(node->op_type);
    uint32_t at = ox_strmap_find(&s->op_names, node->op_type, n), index;
    if (at == OX_STRMAP_NONE) {
        if (!add_row(s, node, opset, &index))
            return NULL;
        at = index;
        return ox_strmap_add(&s->op_names, node->op_type, n, &at, NULL) ? &s->rules[index] : NULL;
    }
    for (;; at = s->rules[at].next) {
        const struct ox_rule_row *row = &s->rules[at];
        if (row->opset == opset && strcmp(row->domain, node->domain) == 0)
            return row;
        if (row->next == UINT32_MAX)
            break;
    }
    if (!add_row(s, node, opset, &index))
        return NULL;
    s->rules[at].next = index;
    return &s->rules[index];
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

bool ox_shapes_is_known(const struct ox_type *type)
{
    if (!type || type->kind == OX_TYPE_UNKNOWN)
        return false;
    if (type->kind != OX_TYPE_TENSOR && type->kind != OX_TYPE_SPARSE)
        return type->kind == OX_TYPE_OPAQUE || ox_shapes_is_known(type->inner);
    for (unsigned i = 0; type->has_rank && i < type->rank; i++) {
        if (!type->dims[i])
            return false;
    }
    return type->has_rank && type->elem != OX_UNDEFINED;
}

/* What the rule itself did not explain. */
static const char *default_reason(struct ox_infer *c)
{
    struct ox_shapes *s = c->s;
    for (size_t i = 0; i < c->node->n_inputs; i++) {
        if (c->node->inputs[i] && !ox_shapes_is_known(ox_infer_type(c, i)))
            return ox_arena_printf(&s->arena, "it follows from input %zu of %s", i,
                                   c->node->op_type);
    }
    if (!c->schema && !c->op)
        return ox_arena_printf(&s->arena, "the operator %s%s%s is not known", c->node->domain,
                               c->node->domain[0] ? "." : "", c->node->op_type);
    if (!c->op || !c->op->infer)
        return ox_arena_printf(&s->arena, "there is no shape rule for %s at opset %lld",
                               c->node->op_type, (long long)c->opset);
    if (ox_exprs_n_refused(s->pool) > c->n_refused)
        return "its formula is too long to be kept";
    return ox_arena_printf(&s->arena, "it depends on data that %s takes", c->node->op_type);
}

void ox_shapes_defer(struct ox_shapes *s, enum ox_finding_id id, const struct ox_place *place,
                     const char *message)
{
    struct ox_deferred *deferred = ox_arena_alloc(&s->arena, sizeof *deferred);
    const char *kept = ox_arena_strdup(&s->arena, message);
    if (!deferred || !kept) {
        s->failed = true;
        return;
    }
    *deferred = (struct ox_deferred){s->deferred, id, *place, kept};
    s->deferred = deferred;
    s->n_deferred++;
}

/* Operators of which the standard does not say what shapes their outputs have. */
static const struct {
    const char *domain, *name;
    int since;
} unruled[] = {
    {"", "Abs", 1},
    {"", "Add", 1},
    {"", "BatchNormalization", 1},
    {"", "Cast", 1},
    {"", "Ceil", 1},
    {"", "Clip", 1},
    {"", "Compress", 9},
    {"", "Concat", 1},
    {"", "Div", 1},
    {"", "Dropout", 1},
    {"", "Elu", 1},
    {"", "Exp", 1},
    {"", "Floor", 1},
    {"", "GRU", 1},
    {"", "Gemm", 1},
    {"", "GlobalLpPool", 1},
    {"", "HardSigmoid", 1},
    {"", "InstanceNormalization", 1},
    {"", "LeakyRelu", 1},
    {"", "Log", 1},
    {"", "LpPool", 1},
    {"", "Max", 1},
    {"", "Mean", 1},
    {"", "Min", 1},
    {"", "Mul", 1},
    {"", "Neg", 1},
    {"", "PRelu", 1},
    {"", "Pad", 1},
    {"", "Reciprocal", 1},
    {"", "Relu", 1},
    {"", "Reshape", 1},
    {"", "Selu", 1},
    {"", "Sigmoid", 1},
    {"", "Split", 1},
    {"", "Sqrt", 1},
    {"", "Sub", 1},
    {"", "Sum", 1},
    {"", "Tanh", 1},
    {"", "Upsample", 1},
    {"ai.onnx.ml", "FeatureVectorizer", 1},
    {"ai.onnx.ml", "Imputer", 1},
    {"ai.onnx.ml", "LinearRegressor", 1},
    {"ai.onnx.ml", "Normalizer", 1},
    {"ai.onnx.ml", "SVMRegressor", 1},
    {"ai.onnx.ml", "Scaler", 1},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 5},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 5},
};

/* Whoever stores other shapes where the standard has no rule breaks none, though ours tells that they are wrong. */
static bool standard_has_rule(const struct ox_schema *schema)
{
    for (size_t i = 0; schema && i < sizeof unruled / sizeof unruled[0]; i++) {
        if (schema->since == unruled[i].since && !strcmp(schema->name, unruled[i].name) &&
            !strcmp(schema->domain, unruled[i].domain))
            return false;
    }
    return true;
}

void ox_shapes_report_declared(struct ox_infer *c, const struct ox_value *value,
                               const struct ox_type *inferred, const char *verb)
{
    struct ox_strbuf a, b;
    const bool same_element =
        !value->type || !inferred ||
        (value->type->kind == inferred->kind && value->type->elem == inferred->elem);
    if (c->s->rules_alone && !standard_has_rule(c->schema) &&
        (same_element || !ox_shapes_signature_tells(c, value)))
        return;
    ox_strbuf_init(&a);
    ox_strbuf_init(&b);
    ox_type_print(&a, inferred, true);
    ox_type_print(&b, value->type, true);
    if (a.data && b.data) {
        char message[OX_ERROR_BYTES];
        snprintf(message, sizeof message, "'%.200s' is declared %.300s, but %s %s %.300s",
                 value->name, b.data, c->node->op_type, verb, a.data);
        struct ox_place place = {.graph = c->node->graph, .node = c->node, .tensor = value->name};
        enum ox_finding_id id = same_element ? OX_F_SHAPE_CONFLICT : OX_F_TYPE_CONFLICT;
        if (c->s->defers_declared)
            ox_shapes_defer(c->s, id, &place, message);
        else
            ox_shapes_finding(c->s, id, &place, message);
    }
    ox_strbuf_release(&a);
    ox_strbuf_release(&b);
}

/* A size that no rule can tell gets a name, so that what follows from it can be told. Calls do without: what they make is
 * kept for the next call with the same arguments. */
static const struct ox_type *name_sizes(struct ox_infer *c, size_t out, const struct ox_type *type)
{
    const struct ox_type *named = NULL;
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank || c->s->call)
        return type;
    for (unsigned i = 0; i < type->rank; i++) {
        char what[64];
        if (type->dims[i])
            continue;
        if (!named)
            named = ox_shapes_tensor(c->s, type->kind, type->elem, true, type->rank,
                                     (const struct ox_expr *const *)type->dims);
        if (!named)
            return type;
        if (out)
            snprintf(what, sizeof what, "out%zu.dim%u", out, i);
        else
            snprintf(what, sizeof what, "dim%u", i);
        const char *reason = c->outs[out].reason ? c->outs[out].reason : default_reason(c);
        named->dims[i] = reason ? ox_shapes_data_dim(c, what, reason, false) : NULL;
    }
    return named ? named : type;
}

static void take_results(struct ox_infer *c)
{
    struct ox_shapes *s = c->s;
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        struct ox_value *value = c->node->outputs[i];
        struct ox_slot *slot = value ? ox_slot_of(s, value) : NULL;
        if (!slot)
            continue;
        bool differ = false;
        ox_shapes_check_made(c, i);
        slot->type = c->outs[i].type;
        if (c->is_unknown && s->rules_alone) /* no rule stands behind what is stored */
            slot->type = ox_shapes_forget(s, value->type);
        else if (value->type && !s->ignore_value_info)
            slot->type = ox_shapes_merge(s, c->outs[i].type, value->type, &differ);
        if (differ)
            ox_shapes_report_declared(c, value, c->outs[i].type, "makes");
        slot->type = name_sizes(c, i, slot->type);
        if (!s->rules_alone || c->node->n_inputs == 0) {
            slot->values = c->outs[i].values;
            slot->n_values = c->outs[i].n_values;
            slot->items = c->outs[i].items;
        }
        if (!ox_shapes_is_known(slot->type))
            slot->reason = c->outs[i].reason ? c->outs[i].reason : default_reason(c);
    }
}

/* ---- The node --------------------------------------------------------------------------------------------------- */

/* Constant nodes give their tensor, whatever their rule says of it. */
static void take_constant(struct ox_infer *c)
{
    const struct ox_attr *attr = ox_infer_attr(c, "value");
    struct ox_slot *slot =
        c->node->n_outputs && c->node->outputs[0] ? ox_slot_of(c->s, c->node->outputs[0]) : NULL;
    size_t n;
    if (!slot || !attr || attr->type != OX_ATTR_TENSOR || !attr->tensor)
        return;
    const struct ox_stored *stored = attr->tensor;
    if (!ox_dims_count(stored->rank, stored->dims, &n))
        return;
    const struct ox_expr **dims = ox_infer_dims(c, stored->rank);
    for (unsigned i = 0; dims && i < stored->rank; i++)
        dims[i] = ox_infer_num(c, stored->dims[i]);
    if (dims)
        c->outs[0].type =
            ox_shapes_tensor(c->s, OX_TYPE_TENSOR, stored->dtype, true, stored->rank, dims);
    struct ox_tensor *tensor;
    if (n <= OX_SHAPE_CONST_BYTES / 8 &&
        ox_stored_load(c->s->model, stored, &tensor, NULL) == OX_OK)
        ox_shapes_keep(c->s, slot, tensor);
}

/* Operators whose output has no rank by the standard's rules where an input has none, though ours tell it by other inputs or
 * attributes. */
static bool needs_all_ranks(const struct ox_node *node)
{
    static const char *const names[] = {"Concat", "Conv",     "ConvTranspose", "DepthToSpace",
                                        "Einsum", "Flatten",  "Gemm",          "SpaceToDepth",
                                        "Tile",   "Transpose"};
    for (size_t i = 0; node->domain[0] == '\0' && i < OX_COUNT(names); i++) {
        if (strcmp(names[i], node->op_type) == 0)
            return true;
    }
    return false;
}

static bool has_all_ranks(const struct ox_infer *c)
{
    unsigned rank;
    for (size_t i = 0; i < c->node->n_inputs; i++) {
        if (ox_infer_has(c, i) && !ox_infer_shape(c, i, &rank, NULL))
            return false;
    }
    return true;
}

static void run_rule(struct ox_infer *c)
{
    ox_shapes_generic(c);
    if (c->op && c->op->infer)
        c->op->infer(c);
    if (c->s->rules_alone && needs_all_ranks(c->node) && !has_all_ranks(c))
        c->outs[0].type = ox_shapes_forget(c->s, c->outs[0].type);
    if (c->node->domain[0] == '\0' && strcmp(c->node->op_type, "Constant") == 0)
        take_constant(c);
    else
        ox_shapes_fold(c);
}

/* A file of that time imports nothing, and means the one version that there was. */
static bool before_imports(const struct ox_node *node)
{
    return !*node->domain && node->graph->model->ir_version < 3 && !node->graph->model->n_opsets;
}

void ox_shapes_node(struct ox_shapes *s, const struct ox_node *node)
{
    struct ox_infer c = {.s = s, .node = node};
    struct ox_arena_mark mark = ox_arena_mark(&s->scratch);
    c.outs = ox_arena_array(&s->scratch, node->n_outputs + 1, sizeof *c.outs);
    c.in_types = ox_arena_array(&s->scratch, node->n_inputs + 1, sizeof(*c.in_types));
    c.opset = ox_graph_opset(node->graph, node->domain);
    const struct ox_rule_row *row = c.outs && c.in_types ? find_row(s, node, c.opset) : NULL;
    if (!row) {
        s->failed = true;
    } else {
        c.op = row->op;
        c.schema = row->schema;
        s->n_inferred++;
        s->n_in_trips += s->in_trips > 0;
        c.n_refused = ox_exprs_n_refused(s->pool);
        /* The rows may move as the nodes of a call's body add theirs. */
        const bool has_kernel = row->runs;
        bool is_call = ox_shapes_call(&c);
        c.is_unknown = !is_call && !c.op && !c.schema;
        if (!has_kernel && !is_call && !before_imports(node))
            ox_shapes_clash(&c, OX_CLASH_OPERATOR);
        if (!is_call)
            run_rule(&c);
        take_results(&c);
        ox_shapes_other_subgraphs(s, node);
    }
    ox_arena_rewind(&s->scratch, mark);
}
