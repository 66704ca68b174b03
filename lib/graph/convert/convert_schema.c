/* What comparing an operator's rows of two versions tells about a node. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "graph/convert/convert.h"
#include "schema/param.h"
#include "schema/schema.h"

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

static bool is_default(const struct ox_attr *attr, const struct ox_schema_attr *row)
{
    if (attr->ref || attr->type != row->type)
        return false;
    switch (row->default_kind) {
    case OX_DEFAULT_INT:
        return attr->i == row->i;
    case OX_DEFAULT_FLOAT:
        return attr->f == row->f;
    case OX_DEFAULT_STRING:
        return attr->s.n == strlen(row->s) && memcmp(attr->s.p, row->s, attr->s.n) == 0;
    case OX_DEFAULT_INTS:
        return attr->n == row->n && memcmp(attr->ints, row->ints, row->n * sizeof(int64_t)) == 0;
    default:
        return false;
    }
}

/* Attributes that change nothing whatever they are, where the other row has no such attribute. */
struct idle_attr {
    const char *op_type; /* NULL: of every operator */
    const char *name;
    const char *why_not; /* NULL */
};

static bool is_idle(const struct ox_adapt *c, const struct ox_attr *attr)
{
    static const struct idle_attr rows[] = {
        {NULL, "consumed_inputs", NULL}, /* a hint of the first version */
        /* These concern types alone that the older version does not have. */
        {"Cast", "saturate", NULL},
        {"CastLike", "saturate", NULL},
        {"Cast", "round_mode", NULL},
        {"CastLike", "round_mode", NULL},
        {"QuantizeLinear", "saturate", NULL},
        {"Dropout", "seed", NULL}, /* not training, which is looked at */
    };
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        if ((!rows[i].op_type || strcmp(rows[i].op_type, c->node->op_type) == 0) &&
            strcmp(rows[i].name, attr->name) == 0)
            return true;
    }
    if (strcmp(attr->name, "dilations") != 0 || attr->type != OX_ATTR_INTS || attr->ref)
        return false;
    bool ones = true;
    for (size_t i = 0; i < attr->n; i++)
        ones &= attr->ints[i] == 1;
    return ones;
}

static bool set_default(struct ox_adapt *c, const struct ox_schema_attr *row)
{
    switch (row->default_kind) {
    case OX_DEFAULT_INT:
        return ox_adapt_set_int(c, row->name, row->i);
    case OX_DEFAULT_FLOAT:
        return ox_node_set_float(c->node, row->name, row->f) || ox_adapt_no_memory(c);
    case OX_DEFAULT_STRING:
        return ox_adapt_set_string(c, row->name, row->s);
    case OX_DEFAULT_INTS:
        return ox_adapt_set_ints(c, row->name, row->ints, row->n);
    default:
        return true;
    }
}

static bool same_default(const struct ox_schema_attr *a, const struct ox_schema_attr *b)
{
    if (a->default_kind != b->default_kind)
        return false;
    switch (a->default_kind) {
    case OX_DEFAULT_INT:
        return a->i == b->i;
    case OX_DEFAULT_FLOAT:
        return a->f == b->f;
    case OX_DEFAULT_STRING:
        return strcmp(a->s, b->s) == 0;
    case OX_DEFAULT_INTS:
        return a->n == b->n && memcmp(a->ints, b->ints, a->n * sizeof(int64_t)) == 0;
    default:
        return true;
    }
}

static bool adapt_attrs(struct ox_adapt *c)
{
    struct ox_node *node = c->node;
    for (size_t i = 0; i < node->n_attrs;) {
        const struct ox_attr *attr = &node->attrs[i];
        const struct ox_schema_attr *from = ox_schema_attr(c->from, attr->name);
        const struct ox_schema_attr *to = ox_schema_attr(c->to, attr->name);
        if (to) {
            if (to->type != attr->type)
                return ox_adapt_block(
                    c, "attribute '%s' is of type %s and in opset %lld of type %s", attr->name,
                    ox_attr_type_name(attr->type), (long long)c->next, ox_schema_attr_type(to));
            i++;
            continue;
        }
        if (!from || is_default(attr, from) || is_idle(c, attr)) {
            ox_adapt_drop(c, attr->name);
            continue;
        }
        return ox_adapt_block(c, "opset %lld has no attribute '%s'", (long long)c->next,
                              attr->name);
    }
    for (size_t i = 0; i < c->to->n_attrs; i++) {
        const struct ox_schema_attr *to = &c->to->attrs[i];
        const struct ox_schema_attr *from = ox_schema_attr(c->from, to->name);
        if (ox_adapt_has(c, to->name))
            continue;
        if (from && from->type == to->type && !same_default(from, to) && !set_default(c, from))
            return false;
        if (to->required && !ox_adapt_has(c, to->name))
            return ox_adapt_block(c, "opset %lld needs attribute '%s'", (long long)c->next,
                                  to->name);
    }
    return true;
}

/* ---- Arity -------------------------------------------------------------------------------------------------------- */

static bool adapt_inputs(struct ox_adapt *c)
{
    const struct ox_schema *to = c->to;
    while (c->node->n_inputs && !c->node->inputs[c->node->n_inputs - 1])
        c->node->n_inputs--;
    for (size_t i = 0; i < c->node->n_inputs; i++) {
        if (!c->node->inputs[i] || ox_param_at(to->inputs, to->n_inputs, i))
            continue;
        const struct ox_schema_param *was = ox_param_at(c->from->inputs, c->from->n_inputs, i);
        return ox_adapt_block(c, "opset %lld has no input '%s'", (long long)c->next,
                              was ? was->name : "?");
    }
    for (size_t i = 0; i < to->n_inputs; i++) {
        if (to->inputs[i].option == OX_PARAM_SINGLE && !ox_adapt_input(c, i))
            return ox_adapt_block(c, "opset %lld needs input '%s'", (long long)c->next,
                                  to->inputs[i].name);
    }
    return true;
}

static bool adapt_outputs(struct ox_adapt *c)
{
    const struct ox_schema *to = c->to;
    struct ox_node *node = c->node;
    while (node->n_outputs && !ox_param_at(to->outputs, to->n_outputs, node->n_outputs - 1)) {
        size_t last = node->n_outputs - 1;
        const struct ox_schema_param *was = ox_param_at(c->from->outputs, c->from->n_outputs, last);
        if (ox_adapt_used(c, node->outputs[last]))
            return ox_adapt_block(c, "opset %lld has no output '%s'", (long long)c->next,
                                  was ? was->name : "?");
        if (node->outputs[last]) {
            node->outputs[last]->producer = NULL;
            node->outputs[last]->removed = true;
        }
        node->n_outputs--;
    }
    return true;
}

/* ---- Types -------------------------------------------------------------------------------------------------------- */

/* The kind as ox_type_set_has() has it, with the element type; '\0': not known, or nothing that sets can tell of. */
static char kind_of(const struct ox_type *type, enum ox_dtype *elem)
{
    if (!type)
        return '\0';
    *elem = type->elem;
    if (type->kind == OX_TYPE_TENSOR)
        return 't';
    if (type->kind == OX_TYPE_SPARSE)
        return 'p';
    const struct ox_type *inner = type->inner;
    if (!inner || (type->kind != OX_TYPE_SEQUENCE && type->kind != OX_TYPE_OPTIONAL))
        return '\0';
    *elem = inner->elem;
    if (inner->kind == OX_TYPE_TENSOR)
        return type->kind == OX_TYPE_SEQUENCE ? 's' : 'o';
    if (type->kind == OX_TYPE_OPTIONAL && inner->kind == OX_TYPE_SEQUENCE && inner->inner &&
        inner->inner->kind == OX_TYPE_TENSOR) {
        *elem = inner->inner->elem;
        return 'q';
    }
    return '\0';
}

static bool type_fits(const struct ox_adapt *c, const struct ox_value *value,
                      const struct ox_schema_param *param)
{
    enum ox_dtype elem = OX_UNDEFINED;
    char kind = kind_of(ox_adapt_type(c, value), &elem);
    return !kind || elem == OX_UNDEFINED || !param || ox_type_set_has(param->allowed, kind, elem);
}

static bool adapt_types(struct ox_adapt *c)
{
    const struct ox_node *node = c->node;
    const struct ox_schema *to = c->to;
    bool done = false;
    for (int pass = 0; pass < 2; pass++) {
        size_t n = pass ? node->n_outputs : node->n_inputs;
        for (size_t i = 0; i < n; i++) {
            const struct ox_value *value = pass ? node->outputs[i] : node->inputs[i];
            const struct ox_schema_param *param = pass ? ox_param_at(to->outputs, to->n_outputs, i)
                                                       : ox_param_at(to->inputs, to->n_inputs, i);
            if (!value || type_fits(c, value, param))
                continue;
            if (!ox_adapt_by_casts(c, &done))
                return false;
            if (done)
                return true;
            struct ox_strbuf text = {0};
            ox_type_print(&text, ox_adapt_type(c, value), false);
            ox_adapt_block(c, "opset %lld does not take %s as %s '%s'", (long long)c->next,
                           text.data ? text.data : "?", pass ? "output" : "input", param->name);
            ox_strbuf_release(&text);
            return false;
        }
    }
    return true;
}

bool ox_adapt_by_schema(struct ox_adapt *c)
{
    return adapt_attrs(c) && adapt_inputs(c) && adapt_outputs(c) && adapt_types(c);
}

/* ---- Casts -------------------------------------------------------------------------------------------------------- */

/* Operators that give the same when computed in a type that holds all values of the narrower one and cast back: what only moves,
 * compares or picks values, and arithmetic of integers, which wraps alike. What rounds is rounded once, from a wider type. */
static bool survives_casts(const char *op_type)
{
    static const char *const names[] = {"Abs",
                                        "Add",
                                        "ArgMax",
                                        "ArgMin",
                                        "Clip",
                                        "Concat",
                                        "DepthToSpace",
                                        "Erf",
                                        "Equal",
                                        "Expand",
                                        "Flatten",
                                        "Gather",
                                        "GatherElements",
                                        "GatherND",
                                        "Gemm",
                                        "GlobalMaxPool",
                                        "Greater",
                                        "GreaterOrEqual",
                                        "Less",
                                        "LessOrEqual",
                                        "MatMul",
                                        "Max",
                                        "MaxPool",
                                        "Min",
                                        "Mod",
                                        "Mul",
                                        "Neg",
                                        "NonZero",
                                        "OneHot",
                                        "PRelu",
                                        "Pad",
                                        "Pow",
                                        "ReduceLogSum",
                                        "ReduceLogSumExp",
                                        "ReduceMax",
                                        "ReduceMin",
                                        "Relu",
                                        "Reshape",
                                        "Resize",
                                        "ReverseSequence",
                                        "ScatterElements",
                                        "ScatterND",
                                        "Sign",
                                        "Slice",
                                        "SpaceToDepth",
                                        "Split",
                                        "Squeeze",
                                        "Sub",
                                        "Sum",
                                        "Tile",
                                        "TopK",
                                        "Transpose",
                                        "Trilu",
                                        "Unsqueeze",
                                        "Upsample",
                                        "Where",
                                        "CumSum",
                                        "Div",
                                        "Compress",
                                        "Shrink"};
    for (size_t i = 0; i < OX_COUNT(names); i++) {
        if (strcmp(names[i], op_type) == 0)
            return true;
    }
    return false;
}

/* A type that holds all values of `type` and that `set` has; OX_UNDEFINED. */
static enum ox_dtype carrier(enum ox_dtype type, uint16_t set)
{
    static const struct {
        enum ox_dtype of;
        enum ox_dtype by[4];
    } rows[] = {
        {OX_BOOL, {OX_UINT8, OX_INT32, OX_INT64, OX_FLOAT32}},
        {OX_INT8, {OX_INT32, OX_INT64, OX_FLOAT32, OX_FLOAT64}},
        {OX_UINT8, {OX_INT32, OX_INT64, OX_FLOAT32, OX_FLOAT64}},
        {OX_INT16, {OX_INT32, OX_INT64, OX_FLOAT32, OX_FLOAT64}},
        {OX_UINT16, {OX_INT32, OX_INT64, OX_FLOAT32, OX_FLOAT64}},
        {OX_INT32, {OX_INT64, OX_FLOAT64}},
        {OX_UINT32, {OX_INT64, OX_UINT64, OX_FLOAT64}},
        {OX_FLOAT16, {OX_FLOAT32, OX_FLOAT64}},
        {OX_BFLOAT16, {OX_FLOAT32, OX_FLOAT64}},
    };
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        for (size_t k = 0; rows[i].of == type && k < OX_COUNT(rows[i].by); k++) {
            if (rows[i].by[k] != OX_UNDEFINED && ox_type_set_has(set, 't', rows[i].by[k]))
                return rows[i].by[k];
        }
    }
    return OX_UNDEFINED;
}

/* The carrier has to hold what comes out, not only what goes in. */
static bool wraps(const char *op_type)
{
    return strcmp(op_type, "Div") == 0 || strcmp(op_type, "Mod") == 0 ||
           strcmp(op_type, "Pow") == 0 || strcmp(op_type, "MatMul") == 0 ||
           strcmp(op_type, "Gemm") == 0;
}

static const struct ox_schema_param *first_misfit(const struct ox_adapt *c, enum ox_dtype *elem)
{
    const struct ox_node *node = c->node;
    for (size_t i = 0; i < node->n_inputs + node->n_outputs; i++) {
        bool output = i >= node->n_inputs;
        const struct ox_value *value = output ? node->outputs[i - node->n_inputs] : node->inputs[i];
        const struct ox_schema_param *param =
            output ? ox_param_at(c->to->outputs, c->to->n_outputs, i - node->n_inputs)
                   : ox_param_at(c->to->inputs, c->to->n_inputs, i);
        if (value && param && !type_fits(c, value, param)) {
            *elem = ox_adapt_dtype(c, value);
            return param;
        }
    }
    return NULL;
}

static bool cast_to(struct ox_adapt *c, struct ox_node *cast, enum ox_dtype to)
{
    return (cast && ox_node_set_int(cast, "to", to)) || ox_adapt_no_memory(c);
}

/* Every input and output of that type constraint goes through the carrier. */
static bool cast_constraint(struct ox_adapt *c, const char *type_name, enum ox_dtype elem,
                            enum ox_dtype by)
{
    struct ox_node *node = c->node;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_schema_param *param = ox_param_at(c->to->inputs, c->to->n_inputs, i);
        if (node->inputs[i] && param && strcmp(param->type, type_name) == 0 &&
            !cast_to(c, ox_adapt_before(c, i, "Cast"), by))
            return false;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct ox_schema_param *param = ox_param_at(c->to->outputs, c->to->n_outputs, i);
        if (node->outputs[i] && param && strcmp(param->type, type_name) == 0 &&
            !cast_to(c, ox_adapt_after(c, i, "Cast"), elem))
            return false;
    }
    return true;
}

bool ox_adapt_by_casts(struct ox_adapt *c, bool *done)
{
    const struct ox_schema *cast = ox_schema_find("", "Cast", c->next);
    *done = false;
    if (*c->domain || !cast || c->next < 6 || !survives_casts(c->node->op_type))
        return true;
    for (int round = 0; round < 4; round++) {
        enum ox_dtype elem = OX_UNDEFINED;
        const struct ox_schema_param *param = first_misfit(c, &elem);
        if (!param) {
            *done = true;
            return true;
        }
        enum ox_dtype by = carrier(elem, param->allowed);
        bool unsafe = wraps(c->node->op_type) && by != OX_INT64 && by != OX_INT32;
        if (ox_dtype_is_half(elem))
            unsafe = false;
        if (by == OX_UNDEFINED || unsafe || !ox_type_set_has(cast->inputs[0].allowed, 't', elem))
            return true;
        if (!cast_constraint(c, param->type, elem, by))
            return false;
    }
    return true;
}
