/* Types, tensors and values of the textual syntax. */
#include <string.h>

#include "model/text_read.h"

/* Words for element types: those of the standard's own parser, and the two 6-bit types that it lacks. */
static const struct {
    const char *word;
    enum ox_dtype dtype;
} elem_words[] = {
    {"float", OX_FLOAT32},
    {"double", OX_FLOAT64},
    {"uint8", OX_UINT8},
    {"int8", OX_INT8},
    {"uint16", OX_UINT16},
    {"int16", OX_INT16},
    {"int32", OX_INT32},
    {"int64", OX_INT64},
    {"string", OX_STRING},
    {"bool", OX_BOOL},
    {"float16", OX_FLOAT16},
    {"uint32", OX_UINT32},
    {"uint64", OX_UINT64},
    {"complex64", OX_COMPLEX64},
    {"complex128", OX_COMPLEX128},
    {"bfloat16", OX_BFLOAT16},
    {"float8e4m3fn", OX_FLOAT8E4M3FN},
    {"float8e4m3fnuz", OX_FLOAT8E4M3FNUZ},
    {"float8e5m2", OX_FLOAT8E5M2},
    {"float8e5m2fnuz", OX_FLOAT8E5M2FNUZ},
    {"float8e8m0", OX_FLOAT8E8M0},
    {"uint4", OX_UINT4},
    {"int4", OX_INT4},
    {"float4e2m1", OX_FLOAT4E2M1},
    {"uint2", OX_UINT2},
    {"int2", OX_INT2},
    {"float6e2m3", OX_FLOAT6E2M3},
    {"float6e3m2", OX_FLOAT6E3M2},
};

static enum ox_dtype elem_of(struct ox_str word)
{
    for (size_t i = 0; i < OX_COUNT(elem_words); i++)
        if (ox_str_is(word, elem_words[i].word))
            return elem_words[i].dtype;
    return OX_UNDEFINED;
}

bool ox_text_next_is_type(struct ox_lexer *lex)
{
    static const char *const words[] = {"seq", "map", "optional", "sparse_tensor", "opaque"};
    struct ox_str word = ox_lex_peek_word(lex);
    for (size_t i = 0; i < OX_COUNT(words); i++)
        if (ox_str_is(word, words[i]))
            return true;
    return elem_of(word) != OX_UNDEFINED;
}

void *ox_text_message(struct ox_lexer *lex, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = ox_arena_alloc(lex->arena, descriptor->sizeof_message);
    if (!message) {
        ox_lex_no_memory(lex);
        return NULL;
    }
    protobuf_c_message_init(descriptor, message);
    return message;
}

void *ox_text_grow(struct ox_lexer *lex, void *items, size_t n, size_t item_bytes)
{
    /* Capacity is the power of two at or above n. */
    if (n && (n & (n - 1)))
        return items;
    void *grown = n > SIZE_MAX / 2 ? NULL : ox_arena_array(lex->arena, n ? 2 * n : 1, item_bytes);
    if (!grown)
        ox_lex_no_memory(lex);
    else if (n)
        memcpy(grown, items, n * item_bytes);
    return grown;
}

bool ox_text_enter(struct ox_lexer *lex)
{
    if (++lex->depth <= lex->most_depth)
        return true;
    ox_lex_fail(lex, "nested more than %u deep", lex->most_depth);
    return false;
}

void ox_text_leave(struct ox_lexer *lex)
{
    lex->depth--;
}

static Onnx__TensorShapeProto *dims(struct ox_lexer *lex)
{
    Onnx__TensorShapeProto *shape = ox_text_message(lex, &onnx__tensor_shape_proto__descriptor);
    do {
        Onnx__TensorShapeProto__Dimension *dim =
            ox_text_message(lex, &onnx__tensor_shape_proto__dimension__descriptor);
        if (!shape || !dim)
            return shape;
        if (!ox_lex_take(lex, '?')) {
            dim->dim_param = ox_lex_name_or_null(lex);
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            if (!dim->dim_param) {
                dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
                dim->dim_value = ox_lex_int(lex);
            }
        }
        OX_TEXT_APPEND(lex, shape->dim, shape->n_dim, dim);
    } while (ox_lex_take(lex, ','));
    return shape;
}

/* No brackets: a scalar. "[]": the rank is unknown. */
static Onnx__TensorShapeProto *optional_shape(struct ox_lexer *lex)
{
    if (!ox_lex_take(lex, '['))
        return ox_text_message(lex, &onnx__tensor_shape_proto__descriptor);
    if (ox_lex_take(lex, ']'))
        return NULL;
    Onnx__TensorShapeProto *shape = dims(lex);
    ox_lex_expect(lex, ']');
    return shape;
}

static enum ox_dtype elem(struct ox_lexer *lex, const char *what)
{
    enum ox_dtype dtype = elem_of(ox_lex_word(lex));
    if (dtype == OX_UNDEFINED)
        ox_lex_fail(lex, "%s expected", what);
    return dtype;
}

static void opaque(struct ox_lexer *lex, Onnx__TypeProto__Opaque *type)
{
    if (ox_lex_peek(lex) == ')')
        return;
    type->name = ox_lex_dotted(lex);
    if (ox_lex_take(lex, ',')) {
        type->domain = type->name;
        type->name = ox_lex_identifier(lex);
    }
}

static void structured(struct ox_lexer *lex, struct ox_str word, Onnx__TypeProto *type)
{
    if (ox_str_is(word, "seq")) {
        type->sequence_type = ox_text_message(lex, &onnx__type_proto__sequence__descriptor);
        type->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
        if (type->sequence_type)
            type->sequence_type->elem_type = ox_text_type(lex);
    } else if (ox_str_is(word, "optional")) {
        type->optional_type = ox_text_message(lex, &onnx__type_proto__optional__descriptor);
        type->value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
        if (type->optional_type)
            type->optional_type->elem_type = ox_text_type(lex);
    } else if (ox_str_is(word, "map")) {
        type->map_type = ox_text_message(lex, &onnx__type_proto__map__descriptor);
        type->value_case = ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
        if (!type->map_type)
            return;
        type->map_type->has_key_type = 1;
        type->map_type->key_type = elem(lex, "type of the keys");
        ox_lex_expect(lex, ',');
        type->map_type->value_type = ox_text_type(lex);
    } else if (ox_str_is(word, "sparse_tensor")) {
        type->sparse_tensor_type =
            ox_text_message(lex, &onnx__type_proto__sparse_tensor__descriptor);
        type->value_case = ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE;
        if (!type->sparse_tensor_type)
            return;
        type->sparse_tensor_type->has_elem_type = 1;
        type->sparse_tensor_type->elem_type = elem(lex, "element type");
        type->sparse_tensor_type->shape = optional_shape(lex);
    } else if (ox_str_is(word, "opaque")) {
        type->opaque_type = ox_text_message(lex, &onnx__type_proto__opaque__descriptor);
        type->value_case = ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE;
        if (type->opaque_type)
            opaque(lex, type->opaque_type);
    } else {
        ox_lex_fail(lex, "type expected");
    }
}

Onnx__TypeProto *ox_text_type(struct ox_lexer *lex)
{
    Onnx__TypeProto *type = ox_text_message(lex, &onnx__type_proto__descriptor);
    if (!type || !ox_text_enter(lex))
        return NULL;
    struct ox_str word = ox_lex_word(lex);
    enum ox_dtype dtype = elem_of(word);
    if (dtype != OX_UNDEFINED) {
        type->tensor_type = ox_text_message(lex, &onnx__type_proto__tensor__descriptor);
        type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        if (!type->tensor_type)
            return NULL;
        type->tensor_type->has_elem_type = 1;
        type->tensor_type->elem_type = (int32_t)dtype;
        type->tensor_type->shape = optional_shape(lex);
    } else {
        ox_lex_expect(lex, '(');
        structured(lex, word, type);
        ox_lex_expect(lex, ')');
    }
    ox_text_leave(lex);
    return ox_lex_ok(lex) ? type : NULL;
}

void ox_text_string_pairs(struct ox_lexer *lex, Onnx__StringStringEntryProto ***pairs, size_t *n)
{
    do {
        Onnx__StringStringEntryProto *pair =
            ox_text_message(lex, &onnx__string_string_entry_proto__descriptor);
        if (!pair)
            return;
        pair->key = ox_lex_c_string(lex);
        ox_lex_expect(lex, ':');
        pair->value = ox_lex_c_string(lex);
        OX_TEXT_APPEND(lex, *pairs, *n, pair);
    } while (ox_lex_take(lex, ','));
}

/* One value into the typed field that the element type has. */
static void add_element(struct ox_lexer *lex, Onnx__TensorProto *t)
{
    switch ((enum ox_dtype)t->data_type) {
    case OX_FLOAT32:
    case OX_COMPLEX64:
        OX_TEXT_APPEND(lex, t->float_data, t->n_float_data, ox_lex_float(lex));
        break;
    case OX_FLOAT64:
    case OX_COMPLEX128:
        OX_TEXT_APPEND(lex, t->double_data, t->n_double_data, ox_lex_double(lex));
        break;
    case OX_INT64:
        OX_TEXT_APPEND(lex, t->int64_data, t->n_int64_data, ox_lex_int(lex));
        break;
    case OX_UINT32:
    case OX_UINT64:
        OX_TEXT_APPEND(lex, t->uint64_data, t->n_uint64_data, ox_lex_uint(lex));
        break;
    case OX_STRING: {
        struct ox_str s = ox_lex_string(lex);
        ProtobufCBinaryData bytes = {s.n, s.n ? ox_arena_copy(lex->arena, s.p, s.n) : NULL};
        if (s.n && !bytes.data)
            ox_lex_no_memory(lex);
        OX_TEXT_APPEND(lex, t->string_data, t->n_string_data, bytes);
        break;
    }
    default: {
        int64_t value = ox_lex_int(lex);
        if (value > INT32_MAX || value < INT32_MIN)
            ox_lex_fail(lex, "%lld does not fit the element type", (long long)value);
        OX_TEXT_APPEND(lex, t->int32_data, t->n_int32_data, (int32_t)value);
        break;
    }
    }
}

Onnx__TensorProto *ox_text_tensor(struct ox_lexer *lex, const Onnx__TypeProto *type, char *name)
{
    Onnx__TensorProto *t = ox_text_message(lex, &onnx__tensor_proto__descriptor);
    if (!t || !type)
        return NULL;
    if (type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        ox_lex_fail(lex, "only a tensor type can have values");
        return NULL;
    }
    t->name = name;
    t->has_data_type = 1;
    t->data_type = type->tensor_type->elem_type;
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    for (size_t i = 0; shape && i < shape->n_dim; i++) {
        if (shape->dim[i]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            ox_lex_fail(lex, "dimension %zu of a constant must be a number", i);
        OX_TEXT_APPEND(lex, t->dims, t->n_dims, shape->dim[i]->dim_value);
    }
    if (ox_lex_take(lex, '[')) {
        t->has_data_location = 1;
        t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        ox_text_string_pairs(lex, &t->external_data, &t->n_external_data);
        ox_lex_expect(lex, ']');
        return t;
    }
    ox_lex_expect(lex, '{');
    if (ox_lex_take(lex, '}'))
        return t;
    do
        add_element(lex, t);
    while (ox_lex_take(lex, ','));
    ox_lex_expect(lex, '}');
    return t;
}
