/* Models, functions, graphs, nodes and attributes of the textual syntax. */
#include "model/text_read.h"

#include <string.h>

#include "common/env.h"
#include "common/number.h"
#include "model/message.h"
#include "model/model.h"

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

static enum ox_attr_type attr_type_of(struct ox_str word)
{
    for (int i = 1; ox_attr_type_word((enum ox_attr_type)i); i++)
        if (ox_str_is(word, ox_attr_type_word((enum ox_attr_type)i)))
            return (enum ox_attr_type)i;
    return OX_ATTR_UNDEFINED;
}

static const struct {
    enum ox_attr_type one, list;
} list_types[] = {
    {OX_ATTR_FLOAT, OX_ATTR_FLOATS},          {OX_ATTR_INT, OX_ATTR_INTS},
    {OX_ATTR_STRING, OX_ATTR_STRINGS},        {OX_ATTR_TENSOR, OX_ATTR_TENSORS},
    {OX_ATTR_GRAPH, OX_ATTR_GRAPHS},          {OX_ATTR_SPARSE_TENSOR, OX_ATTR_SPARSE_TENSORS},
    {OX_ATTR_TYPE_PROTO, OX_ATTR_TYPE_PROTOS}};

static enum ox_attr_type list_of(enum ox_attr_type one)
{
    for (size_t i = 0; i < OX_COUNT(list_types); i++)
        if (list_types[i].one == one)
            return list_types[i].list;
    return OX_ATTR_UNDEFINED;
}

static enum ox_attr_type one_of(enum ox_attr_type list)
{
    for (size_t i = 0; i < OX_COUNT(list_types); i++)
        if (list_types[i].list == list)
            return list_types[i].one;
    return OX_ATTR_UNDEFINED;
}

/* A value by itself, whose form tells its type. */
struct single {
    enum ox_attr_type type;
    int64_t i;
    float f;
    ProtobufCBinaryData s;
    Onnx__TensorProto *t;
    Onnx__GraphProto *g;
    Onnx__TypeProto *tp;
};

static void tensor_or_type(struct ox_lexer *lex, struct single *value)
{
    Onnx__TypeProto *type = ox_text_type(lex);
    char next = ox_lex_peek(lex);
    if (next == '{' || next == '=' || next == '"' || ox_lex_peek_word(lex).n) {
        static char unnamed[] = "";
        char *name = ox_lex_name_or_null(lex);
        name = name ? name : unnamed;
        ox_lex_take(lex, '=');
        value->type = OX_ATTR_TENSOR;
        value->t = ox_text_tensor(lex, type, name);
    } else {
        value->type = OX_ATTR_TYPE_PROTO;
        value->tp = type;
    }
}

static void number_or_string(struct ox_lexer *lex, enum ox_attr_type expected, struct single *value)
{
    struct ox_literal literal = ox_lex_literal(lex);
    if (literal.kind == OX_LITERAL_STRING) {
        value->type = OX_ATTR_STRING;
        value->s.len = literal.text.n;
        value->s.data = ox_arena_copy(lex->arena, literal.text.p, literal.text.n);
        if (!value->s.data)
            ox_lex_no_memory(lex);
    } else if (literal.kind == OX_LITERAL_INT && expected != OX_ATTR_FLOAT) {
        value->type = OX_ATTR_INT;
        if (!ox_number_parse_int(literal.text.p, literal.text.n, &value->i))
            ox_lex_fail(lex, "the integer before here does not fit 64 bits");
    } else if (literal.kind != OX_LITERAL_NONE) {
        value->type = OX_ATTR_FLOAT;
        if (!ox_number_parse_float(literal.text.p, literal.text.n, &value->f))
            ox_lex_fail(lex, "number expected before here");
    }
}

static struct single single_value(struct ox_lexer *lex, enum ox_attr_type expected)
{
    struct single value = {0};
    if (ox_lex_peek_word(lex).n == 0 || ox_lex_is_special_float(lex)) {
        if (ox_lex_peek(lex) == '"' && expected == OX_ATTR_GRAPH) {
            value.type = OX_ATTR_GRAPH;
            value.g = ox_text_graph(lex);
        } else {
            number_or_string(lex, expected, &value);
        }
    } else if (ox_text_next_is_type(lex)) {
        tensor_or_type(lex, &value);
    } else {
        value.type = OX_ATTR_GRAPH;
        value.g = ox_text_graph(lex);
    }
    if (ox_lex_ok(lex) && expected != OX_ATTR_UNDEFINED && expected != value.type)
        ox_lex_fail(lex, "value of type %s where %s is declared", ox_attr_type_word(value.type),
                    ox_attr_type_word(expected));
    return value;
}

static void set_single(Onnx__AttributeProto *attr, const struct single *value)
{
    attr->has_type = 1;
    attr->type = (Onnx__AttributeProto__AttributeType)value->type;
    attr->has_i = value->type == OX_ATTR_INT;
    attr->i = value->i;
    attr->has_f = value->type == OX_ATTR_FLOAT;
    attr->f = value->f;
    attr->has_s = value->type == OX_ATTR_STRING;
    attr->s = value->s;
    attr->t = value->t;
    attr->g = value->g;
    attr->tp = value->tp;
}

static void add_to_list(struct ox_lexer *lex, Onnx__AttributeProto *attr,
                        const struct single *value)
{
    switch (value->type) {
    case OX_ATTR_INT:
        OX_TEXT_APPEND(lex, attr->ints, attr->n_ints, value->i);
        break;
    case OX_ATTR_FLOAT:
        OX_TEXT_APPEND(lex, attr->floats, attr->n_floats, value->f);
        break;
    case OX_ATTR_STRING:
        OX_TEXT_APPEND(lex, attr->strings, attr->n_strings, value->s);
        break;
    case OX_ATTR_TENSOR:
        OX_TEXT_APPEND(lex, attr->tensors, attr->n_tensors, value->t);
        break;
    case OX_ATTR_GRAPH:
        OX_TEXT_APPEND(lex, attr->graphs, attr->n_graphs, value->g);
        break;
    case OX_ATTR_TYPE_PROTO:
        OX_TEXT_APPEND(lex, attr->type_protos, attr->n_type_protos, value->tp);
        break;
    default:
        break;
    }
}

static void list_value(struct ox_lexer *lex, Onnx__AttributeProto *attr, enum ox_attr_type declared)
{
    enum ox_attr_type one = one_of(declared);
    if (declared != OX_ATTR_UNDEFINED && one == OX_ATTR_UNDEFINED)
        ox_lex_fail(lex, "a list where a single %s is declared", ox_attr_type_word(declared));
    ox_lex_expect(lex, '[');
    if (ox_lex_take(lex, ']')) {
        if (declared == OX_ATTR_UNDEFINED)
            ox_lex_fail(lex, "an empty list needs a type, as in 'axes: ints = []'");
        return;
    }
    do {
        struct single value = single_value(lex, one);
        if (!ox_lex_ok(lex))
            return;
        one = value.type;
        attr->has_type = 1;
        attr->type = (Onnx__AttributeProto__AttributeType)list_of(one);
        add_to_list(lex, attr, &value);
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, ']');
}

static Onnx__AttributeProto *read_attribute(struct ox_lexer *lex, char *name)
{
    Onnx__AttributeProto *attr = ox_text_message(lex, &onnx__attribute_proto__descriptor);
    enum ox_attr_type declared = OX_ATTR_UNDEFINED;
    if (!attr)
        return NULL;
    attr->name = name;
    if (ox_lex_take(lex, ':')) {
        declared = attr_type_of(ox_lex_word(lex));
        if (declared == OX_ATTR_UNDEFINED)
            ox_lex_fail(lex, "type of an attribute expected");
        attr->has_type = 1;
        attr->type = (Onnx__AttributeProto__AttributeType)declared;
    }
    ox_lex_expect(lex, '=');
    if (ox_lex_peek(lex) == '[') {
        list_value(lex, attr, declared);
    } else if (ox_lex_take(lex, '@')) {
        attr->ref_attr_name = ox_lex_name(lex);
    } else {
        struct single value = single_value(lex, declared);
        if (ox_lex_ok(lex))
            set_single(attr, &value);
    }
    return attr;
}

/* ---- Nodes and graphs --------------------------------------------------------------------------------------------- */

/* Names parted by commas, where one may be missing: an omitted input. A comma at the end adds none. */
static void names(struct ox_lexer *lex, char ***list, size_t *n)
{
    static char omitted[] = "";
    do {
        char *name = ox_lex_name_or_null(lex);
        if (!name && ox_lex_peek(lex) != ',')
            return;
        OX_TEXT_APPEND(lex, *list, *n, name ? name : omitted);
    } while (ox_lex_take(lex, ','));
}

static void attributes(struct ox_lexer *lex, Onnx__NodeProto *node)
{
    if (!ox_lex_take(lex, '<'))
        return;
    do {
        Onnx__AttributeProto *attr = read_attribute(lex, ox_lex_identifier(lex));
        if (!ox_lex_ok(lex))
            return;
        OX_TEXT_APPEND(lex, node->attribute, node->n_attribute, attr);
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, '>');
}

static Onnx__NodeProto *node(struct ox_lexer *lex)
{
    Onnx__NodeProto *node = ox_text_message(lex, &onnx__node_proto__descriptor);
    if (!node)
        return NULL;
    if (ox_lex_take(lex, '[')) {
        node->name = ox_lex_name_or_null(lex);
        ox_lex_expect(lex, ']');
    }
    names(lex, &node->output, &node->n_output);
    ox_lex_expect(lex, '=');
    char *op = ox_lex_dotted(lex);
    if (!op)
        return NULL;
    char *dot = strrchr(op, '.');
    node->op_type = dot ? dot + 1 : op;
    node->domain = dot ? op : ox_arena_strdup(lex->arena, "");
    if (dot)
        *dot = '\0';
    if (ox_lex_take(lex, ':'))
        node->overload = ox_lex_identifier(lex);
    attributes(lex, node);
    ox_lex_expect(lex, '(');
    names(lex, &node->input, &node->n_input);
    ox_lex_expect(lex, ')');
    if (node->n_attribute == 0)
        attributes(lex, node);
    return node;
}

static void read_nodes(struct ox_lexer *lex, Onnx__NodeProto ***nodes, size_t *n)
{
    ox_lex_expect(lex, '{');
    while (ox_lex_ok(lex) && !ox_lex_take(lex, '}')) {
        Onnx__NodeProto *next = node(lex);
        if (next && ox_lex_ok(lex))
            OX_TEXT_APPEND(lex, *nodes, *n, next);
    }
}

/* A value_info, or with "= data" an initializer; exactly one of the two comes back (NULL, NULL after a failure). */
static void read_value(struct ox_lexer *lex, Onnx__ValueInfoProto **info, Onnx__TensorProto **init)
{
    *info = NULL;
    *init = NULL;
    Onnx__TypeProto *type = ox_text_type(lex);
    char *name = ox_lex_name(lex);
    if (!type || !name)
        return;
    if (ox_lex_take(lex, '=')) {
        *init = ox_text_tensor(lex, type, name);
    } else {
        *info = ox_text_message(lex, &onnx__value_info_proto__descriptor);
        if (*info) {
            (*info)->name = name;
            (*info)->type = type;
        }
    }
}

/* Inputs and outputs of subgraphs often have none. */
static Onnx__TypeProto *optional_type(struct ox_lexer *lex)
{
    return ox_text_next_is_type(lex) ? ox_text_type(lex) : NULL;
}

/* "(float[N] x, float[2] w = {1, 2})": an input with a value is an initializer that is an input too. */
static void inputs(struct ox_lexer *lex, Onnx__GraphProto *graph)
{
    ox_lex_expect(lex, '(');
    if (ox_lex_take(lex, ')'))
        return;
    do {
        Onnx__ValueInfoProto *info = ox_text_message(lex, &onnx__value_info_proto__descriptor);
        if (!info)
            return;
        info->type = optional_type(lex);
        info->name = ox_lex_name(lex);
        OX_TEXT_APPEND(lex, graph->input, graph->n_input, info);
        if (ox_lex_take(lex, '=')) {
            Onnx__TensorProto *init = ox_text_tensor(lex, info->type, info->name);
            if (init)
                OX_TEXT_APPEND(lex, graph->initializer, graph->n_initializer, init);
        }
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, ')');
}

static void outputs(struct ox_lexer *lex, Onnx__GraphProto *graph)
{
    ox_lex_expect(lex, '(');
    if (ox_lex_take(lex, ')'))
        return;
    do {
        Onnx__ValueInfoProto *info = ox_text_message(lex, &onnx__value_info_proto__descriptor);
        if (!info)
            return;
        info->type = optional_type(lex);
        info->name = ox_lex_name(lex);
        OX_TEXT_APPEND(lex, graph->output, graph->n_output, info);
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, ')');
}

static void values(struct ox_lexer *lex, Onnx__GraphProto *graph)
{
    if (!ox_lex_take(lex, '<') || ox_lex_take(lex, '>'))
        return;
    do {
        Onnx__ValueInfoProto *info;
        Onnx__TensorProto *init;
        read_value(lex, &info, &init);
        if (info)
            OX_TEXT_APPEND(lex, graph->value_info, graph->n_value_info, info);
        if (init)
            OX_TEXT_APPEND(lex, graph->initializer, graph->n_initializer, init);
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, '>');
}

/* Inputs and outputs of subgraphs often have no type; the standard's grammar asks for one, here a name is enough. */
Onnx__GraphProto *ox_text_graph(struct ox_lexer *lex)
{
    Onnx__GraphProto *graph = ox_text_message(lex, &onnx__graph_proto__descriptor);
    if (!graph || !ox_text_enter(lex))
        return NULL;
    graph->name = ox_lex_name(lex);
    inputs(lex, graph);
    ox_lex_expect_arrow(lex);
    outputs(lex, graph);
    values(lex, graph);
    read_nodes(lex, &graph->node, &graph->n_node);
    ox_text_leave(lex);
    return graph;
}

/* ---- Functions and models ------------------------------------------------------------------------------------------ */

static void opset_imports(struct ox_lexer *lex, Onnx__OperatorSetIdProto ***imports, size_t *n)
{
    ox_lex_expect(lex, '[');
    if (ox_lex_take(lex, ']'))
        return;
    do {
        Onnx__OperatorSetIdProto *import =
            ox_text_message(lex, &onnx__operator_set_id_proto__descriptor);
        if (!import)
            return;
        import->domain = ox_lex_c_string(lex);
        ox_lex_expect(lex, ':');
        import->has_version = 1;
        import->version = ox_lex_int(lex);
        OX_TEXT_APPEND(lex, *imports, *n, import);
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, ']');
}

static void metadata(struct ox_lexer *lex, Onnx__ModelProto *model)
{
    ox_lex_expect(lex, '[');
    if (ox_lex_take(lex, ']'))
        return;
    ox_text_string_pairs(lex, &model->metadata_props, &model->n_metadata_props);
    ox_lex_expect(lex, ']');
}

static void function_header(struct ox_lexer *lex, Onnx__FunctionProto *function)
{
    if (!ox_lex_take(lex, '<'))
        return;
    do {
        struct ox_str key = ox_lex_word(lex);
        ox_lex_expect(lex, ':');
        if (ox_str_is(key, "opset_import"))
            opset_imports(lex, &function->opset_import, &function->n_opset_import);
        else if (ox_str_is(key, "doc_string"))
            function->doc_string = ox_lex_c_string(lex);
        else if (ox_str_is(key, "domain"))
            function->domain = ox_lex_c_string(lex);
        else if (ox_str_is(key, "overload"))
            function->overload = ox_lex_c_string(lex);
        else
            ox_lex_fail(lex, "a function has no such field");
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, '>');
}

/* "(x, float[N] y)": names, with a type where it is told. */
static void function_values(struct ox_lexer *lex, Onnx__FunctionProto *function, char ***list,
                            size_t *n)
{
    ox_lex_expect(lex, '(');
    if (ox_lex_take(lex, ')'))
        return;
    do {
        Onnx__TypeProto *type = ox_text_next_is_type(lex) ? ox_text_type(lex) : NULL;
        char *name = ox_lex_name(lex);
        if (!name)
            return;
        OX_TEXT_APPEND(lex, *list, *n, name);
        Onnx__ValueInfoProto *info =
            type ? ox_text_message(lex, &onnx__value_info_proto__descriptor) : NULL;
        if (info) {
            info->name = name;
            info->type = type;
            OX_TEXT_APPEND(lex, function->value_info, function->n_value_info, info);
        }
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, ')');
}

static void function_attributes(struct ox_lexer *lex, Onnx__FunctionProto *function)
{
    if (!ox_lex_take(lex, '<'))
        return;
    do {
        char *name = ox_lex_name(lex);
        char next = ox_lex_peek(lex);
        if (!name)
            return;
        if (next == ':' || next == '=') {
            Onnx__AttributeProto *attr = read_attribute(lex, name);
            if (attr)
                OX_TEXT_APPEND(lex, function->attribute_proto, function->n_attribute_proto, attr);
        } else {
            OX_TEXT_APPEND(lex, function->attribute, function->n_attribute, name);
        }
    } while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, '>');
}

static Onnx__FunctionProto *function(struct ox_lexer *lex)
{
    Onnx__FunctionProto *function = ox_text_message(lex, &onnx__function_proto__descriptor);
    if (!function)
        return NULL;
    function_header(lex, function);
    function->name = ox_lex_name(lex);
    function_attributes(lex, function);
    function_values(lex, function, &function->input, &function->n_input);
    ox_lex_expect_arrow(lex);
    function_values(lex, function, &function->output, &function->n_output);
    if (ox_lex_take(lex, '<')) {
        do {
            Onnx__ValueInfoProto *info;
            Onnx__TensorProto *init;
            read_value(lex, &info, &init);
            if (init)
                ox_lex_fail(lex, "a function has no initializers");
            if (info)
                OX_TEXT_APPEND(lex, function->value_info, function->n_value_info, info);
        } while (ox_lex_take(lex, ','));
        ox_lex_expect(lex, '>');
    }
    read_nodes(lex, &function->node, &function->n_node);
    return function;
}

static void model_field(struct ox_lexer *lex, struct ox_str key, Onnx__ModelProto *model)
{
    if (ox_str_is(key, "ir_version")) {
        model->has_ir_version = 1;
        model->ir_version = ox_lex_int(lex);
    } else if (ox_str_is(key, "model_version")) {
        model->has_model_version = 1;
        model->model_version = ox_lex_int(lex);
    } else if (ox_str_is(key, "opset_import")) {
        opset_imports(lex, &model->opset_import, &model->n_opset_import);
    } else if (ox_str_is(key, "producer_name")) {
        model->producer_name = ox_lex_c_string(lex);
    } else if (ox_str_is(key, "producer_version")) {
        model->producer_version = ox_lex_c_string(lex);
    } else if (ox_str_is(key, "domain")) {
        model->domain = ox_lex_c_string(lex);
    } else if (ox_str_is(key, "doc_string")) {
        model->doc_string = ox_lex_c_string(lex);
    } else if (ox_str_is(key, "metadata_props")) {
        metadata(lex, model);
    } else {
        ox_lex_fail(lex, "a model has no such field");
    }
}

static Onnx__ModelProto *model(struct ox_lexer *lex)
{
    Onnx__ModelProto *model = ox_text_message(lex, &onnx__model_proto__descriptor);
    if (!model)
        return NULL;
    if (ox_lex_take(lex, '<')) {
        do {
            struct ox_str key = ox_lex_word(lex);
            ox_lex_expect(lex, ':');
            model_field(lex, key, model);
        } while (ox_lex_take(lex, ','));
        ox_lex_expect(lex, '>');
    }
    model->graph = ox_text_graph(lex);
    while (ox_lex_ok(lex) && ox_lex_peek(lex)) {
        Onnx__FunctionProto *next = function(lex);
        if (next)
            OX_TEXT_APPEND(lex, model->functions, model->n_functions, next);
    }
    return model;
}

void ox_text_begin(struct ox_lexer *lex, struct ox_arena *arena, const char *text, size_t n,
                   struct ox_env *env, const char *name, struct ox_error *err)
{
    enum { MOST = 1000 }; /* the readers recurse */
    const uint64_t most = env->limits.nesting ? env->limits.nesting : MOST;
    *lex = (struct ox_lexer){.start = text,
                             .at = text,
                             .end = text + n,
                             .arena = arena,
                             .name = name,
                             .err = err,
                             .most_depth = most < MOST ? (unsigned)most : MOST};
}

enum ox_status ox_text_read(uint8_t **bytes, size_t *n_bytes, const char *text, size_t n_text,
                            struct ox_env *env, const char *name, struct ox_error *err)
{
    struct ox_arena arena;
    struct ox_lexer lex;
    ox_arena_init(&arena, ox_env_budget(env));
    ox_text_begin(&lex, &arena, text, n_text, env, name, err);
    Onnx__ModelProto *proto = model(&lex);
    enum ox_status status = lex.status;
    if (status == OX_OK)
        status = ox_message_pack(bytes, n_bytes, &proto->base, name, err);
    ox_arena_release(&arena);
    return status;
}
