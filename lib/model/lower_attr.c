#include <stdio.h>
#include <string.h>

#include "model/external.h"
#include "model/lift.h"
#include "model/lower.h"
#include "model/name.h"
#include "model/stored.h"

/* ---- Tensors ------------------------------------------------------------------------------------------------------ */

enum { TENSOR_NAME = 8, TENSOR_RAW_DATA = 9, TENSOR_EXTERNAL_DATA = 13, TENSOR_DATA_LOCATION = 14 };

static void emit_entry(struct ox_emit *e, const char *key, const char *value)
{
    struct ox_emit_mark mark = ox_emit_begin(e, TENSOR_EXTERNAL_DATA);
    ox_emit_text(e, 1, key);
    ox_emit_text(e, 2, value);
    ox_emit_end(e, mark);
}

static void emit_move(struct ox_emit *e, const struct ox_lower *lower, const struct ox_move *move)
{
    char number[24];
    emit_entry(e, "location", move->location ? move->location : lower->location);
    snprintf(number, sizeof number, "%llu", (unsigned long long)move->offset);
    emit_entry(e, "offset", number);
    snprintf(number, sizeof number, "%llu", (unsigned long long)move->bytes);
    emit_entry(e, "length", number);
    if (move->checksum)
        emit_entry(e, "checksum", move->checksum);
    ox_emit_int(e, TENSOR_DATA_LOCATION, ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL);
}

static const struct ox_move *find_move(const struct ox_lower *lower, const struct ox_stored *stored)
{
    size_t low = 0, high = lower->n_moves;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)lower->moves[middle].stored < (uintptr_t)stored)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lower->n_moves && lower->moves[low].stored == stored ? &lower->moves[low] : NULL;
}

/* The data of an external tensor, to be put into the message. */
static void emit_inlined(struct ox_emit *e, struct ox_lower *lower, const struct ox_stored *stored)
{
    uint64_t need = 0;
    size_t n;
    const uint8_t *bytes = NULL;
    struct ox_error err = {0};
    enum ox_status status = OX_OK;
    if (!ox_dims_count(stored->rank, stored->dims, &n) ||
        !ox_dtype_packed_bytes(stored->dtype, n, &need))
        status = ox_fail(&err, OX_INPUT, "its type and dims give no size");
    else
        status = ox_external_find(lower->model, stored, need, &bytes, &err);
    if (status != OX_OK) {
        ox_fail_tensor(&err, status, lower->model, stored);
        ox_emit_fail(e, status, &err);
        return;
    }
    ox_emit_bytes(e, TENSOR_RAW_DATA, bytes, (size_t)need);
}

/* The fields float_data, int32_data, string_data, int64_data, double_data and uint64_data. */
static bool holds_numbers(uint32_t id)
{
    return (id >= 4 && id <= 7) || id == 10 || id == 11;
}

/* The message as it was, with its data elsewhere. */
static void emit_rewritten(struct ox_emit *e, struct ox_lower *lower,
                           const struct ox_stored *stored, const struct ox_move *move)
{
    const ProtobufCMessage *proto = &stored->proto->base;
    for (unsigned i = 0; i < proto->descriptor->n_fields; i++) {
        uint32_t id = proto->descriptor->fields[i].id;
        if (id == TENSOR_RAW_DATA && !move)
            emit_inlined(e, lower, stored);
        else if (id == TENSOR_EXTERNAL_DATA && move)
            emit_move(e, lower, move);
        else if (id != TENSOR_RAW_DATA && id != TENSOR_EXTERNAL_DATA &&
                 id != TENSOR_DATA_LOCATION && !(move && holds_numbers(id)))
            ox_emit_field(e, proto, id);
    }
    ox_emit_unknown(e, proto);
}

static void emit_stored(struct ox_emit *e, struct ox_lower *lower, const struct ox_stored *stored,
                        bool initializer)
{
    const struct ox_move *move = initializer ? find_move(lower, stored) : NULL;
    bool external = stored->place == OX_STORED_EXTERNAL;
    if (stored->place == OX_STORED_TENSOR) {
        if (move) {
            for (unsigned i = 0; i < stored->rank; i++)
                ox_emit_int(e, 1, (uint64_t)stored->dims[i]);
            ox_emit_int(e, 2, stored->dtype);
            ox_emit_text(e, TENSOR_NAME, stored->name);
            emit_move(e, lower, move);
        } else {
            ox_emit_tensor(e, stored->tensor, *stored->name ? stored->name : NULL);
        }
    } else if (move || (external && (lower->inline_external || (initializer && lower->location)))) {
        emit_rewritten(e, lower, stored, move);
    } else {
        ox_emit_fields(e, &stored->proto->base);
    }
}

void ox_lower_stored(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                     const struct ox_stored *stored, bool initializer)
{
    struct ox_emit_mark mark = ox_emit_begin(e, field);
    emit_stored(e, lower, stored, initializer);
    ox_emit_end(e, mark);
}

void ox_lower_sparse(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                     const struct ox_stored_sparse *sparse)
{
    struct ox_emit_mark mark = ox_emit_begin(e, field);
    if (sparse->values)
        ox_lower_stored(e, lower, 1, sparse->values, false);
    if (sparse->indices)
        ox_lower_stored(e, lower, 2, sparse->indices, false);
    for (unsigned i = 0; i < sparse->rank; i++)
        ox_emit_int(e, 3, (uint64_t)sparse->dims[i]);
    if (sparse->proto)
        ox_emit_unknown(e, &sparse->proto->base);
    ox_emit_end(e, mark);
}

/* ---- Types -------------------------------------------------------------------------------------------------------- */

static bool same_dim(const struct ox_lower *lower, const struct ox_expr *dim, const char *spelled)
{
    if (ox_dim_is_unnamed(spelled))
        return !dim;
    const struct ox_expr *parsed = ox_expr_parse(lower->model->exprs, spelled);
    return dim && (parsed ? parsed == dim : ox_expr_symbol(lower->model->exprs, spelled) == dim);
}

static void emit_dim(struct ox_emit *e, const struct ox_lower *lower, const struct ox_expr *dim,
                     const Onnx__TensorShapeProto__Dimension *old)
{
    struct ox_emit_mark mark = ox_emit_begin(e, 1);
    int64_t value;
    const char *name;
    if (ox_expr_is_int(dim, &value)) {
        ox_emit_int(e, 1, (uint64_t)value);
    } else if (old && old->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
               old->dim_param && same_dim(lower, dim, old->dim_param)) {
        ox_emit_text(e, 2, old->dim_param);
    } else if (ox_expr_is_symbol(dim, &name)) {
        ox_emit_text(e, 2, name);
    } else if (dim) {
        struct ox_strbuf text;
        ox_strbuf_init(&text);
        ox_expr_print(&text, dim);
        if (text.failed) {
            struct ox_error err;
            ox_fail(&err, OX_NO_MEMORY, "out of memory");
            ox_emit_fail(e, OX_NO_MEMORY, &err);
        }
        ox_emit_text(e, 2, text.data);
        ox_strbuf_release(&text);
    }
    if (old) {
        ox_emit_text(e, 3, old->denotation);
        ox_emit_unknown(e, &old->base);
    }
    ox_emit_end(e, mark);
}

/* TypeProto.Tensor and TypeProto.SparseTensor, which have the same fields. */
static void emit_tensor_type(struct ox_emit *e, const struct ox_lower *lower,
                             const struct ox_type *type, const Onnx__TensorShapeProto *old)
{
    struct ox_emit_mark mark = ox_emit_begin(e, type->kind == OX_TYPE_TENSOR ? 1 : 8);
    if (type->elem != OX_UNDEFINED)
        ox_emit_int(e, 1, type->elem);
    if (type->has_rank) {
        struct ox_emit_mark shape = ox_emit_begin(e, 2);
        bool alike = old && old->n_dim == type->rank;
        for (unsigned i = 0; i < type->rank; i++)
            emit_dim(e, lower, type->dims[i], alike ? old->dim[i] : NULL);
        if (alike)
            ox_emit_unknown(e, &old->base);
        ox_emit_end(e, shape);
    }
    ox_emit_end(e, mark);
}

void ox_lower_type(struct ox_emit *e, const struct ox_lower *lower, uint32_t field,
                   const struct ox_type *type, const Onnx__TypeProto *old)
{
    if (type->proto) {
        ox_emit_message(e, field, &type->proto->base);
        return;
    }
    struct ox_emit_mark mark = ox_emit_begin(e, field), level;
    const Onnx__TensorShapeProto *shape = NULL;
    if (old && type->kind == OX_TYPE_TENSOR &&
        old->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        shape = old->tensor_type->shape;
    switch (type->kind) {
    case OX_TYPE_TENSOR:
    case OX_TYPE_SPARSE:
        emit_tensor_type(e, lower, type, shape);
        break;
    case OX_TYPE_SEQUENCE:
    case OX_TYPE_OPTIONAL:
        level = ox_emit_begin(e, type->kind == OX_TYPE_SEQUENCE ? 4 : 9);
        if (type->inner)
            ox_lower_type(e, lower, 1, type->inner, NULL);
        ox_emit_end(e, level);
        break;
    case OX_TYPE_MAP:
        level = ox_emit_begin(e, 5);
        ox_emit_int(e, 1, type->elem);
        if (type->inner)
            ox_lower_type(e, lower, 2, type->inner, NULL);
        ox_emit_end(e, level);
        break;
    default:
        break;
    }
    if (old) {
        ox_emit_text(e, 6, old->denotation);
        ox_emit_unknown(e, &old->base);
    }
    ox_emit_end(e, mark);
}

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

static void emit_graphs(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                        const struct ox_attr *attr)
{
    for (size_t i = 0; i < attr->n; i++) {
        struct ox_emit_mark mark = ox_emit_begin(e, field);
        ox_lower_graph(e, lower, attr->graphs[i]);
        ox_emit_end(e, mark);
    }
}

/* The field that a type's value stands in. */
static uint32_t value_field(enum ox_attr_type type)
{
    static const unsigned char fields[] = {
        [OX_ATTR_FLOAT] = 2,          [OX_ATTR_INT] = 3,
        [OX_ATTR_STRING] = 4,         [OX_ATTR_TENSOR] = 5,
        [OX_ATTR_GRAPH] = 6,          [OX_ATTR_FLOATS] = 7,
        [OX_ATTR_INTS] = 8,           [OX_ATTR_STRINGS] = 9,
        [OX_ATTR_TENSORS] = 10,       [OX_ATTR_GRAPHS] = 11,
        [OX_ATTR_TYPE_PROTO] = 14,    [OX_ATTR_TYPE_PROTOS] = 15,
        [OX_ATTR_SPARSE_TENSOR] = 22, [OX_ATTR_SPARSE_TENSORS] = 23,
    };
    return (size_t)type < OX_COUNT(fields) ? fields[type] : 0;
}

/* From the struct alone. */
static void emit_value(struct ox_emit *e, struct ox_lower *lower, const struct ox_attr *attr)
{
    uint32_t field = value_field(attr->type);
    bool single =
        attr->type == OX_ATTR_FLOAT || attr->type == OX_ATTR_INT || attr->type == OX_ATTR_STRING;
    if (single && attr->n) {
        if (attr->type == OX_ATTR_FLOAT)
            ox_emit_float(e, field, attr->f);
        else if (attr->type == OX_ATTR_INT)
            ox_emit_int(e, field, (uint64_t)attr->i);
        else
            ox_emit_bytes(e, field, attr->s.p, attr->s.n);
        return;
    }
    if (ox_attr_has_graphs(attr)) {
        emit_graphs(e, lower, field, attr);
        return;
    }
    for (size_t i = 0; !single && i < attr->n; i++) {
        switch (attr->type) {
        case OX_ATTR_FLOATS:
            ox_emit_float(e, field, attr->floats[i]);
            break;
        case OX_ATTR_INTS:
            ox_emit_int(e, field, (uint64_t)attr->ints[i]);
            break;
        case OX_ATTR_STRINGS:
            ox_emit_bytes(e, field, attr->strings[i].p, attr->strings[i].n);
            break;
        case OX_ATTR_TENSOR:
        case OX_ATTR_TENSORS:
            ox_lower_stored(e, lower, field, &attr->tensor[i], false);
            break;
        case OX_ATTR_SPARSE_TENSOR:
        case OX_ATTR_SPARSE_TENSORS:
            ox_lower_sparse(e, lower, field, &attr->sparse[i]);
            break;
        case OX_ATTR_TYPE_PROTO:
        case OX_ATTR_TYPE_PROTOS:
            ox_lower_type(e, lower, field, &attr->types[i], NULL);
            break;
        default:
            break;
        }
    }
}

/* Graphs may have changed inside and tensors' data may move; every other field is as it was. */
static bool is_nested(enum ox_attr_type type)
{
    return type == OX_ATTR_GRAPH || type == OX_ATTR_GRAPHS || type == OX_ATTR_TENSOR ||
           type == OX_ATTR_TENSORS || type == OX_ATTR_SPARSE_TENSOR ||
           type == OX_ATTR_SPARSE_TENSORS;
}

void ox_lower_attr(struct ox_emit *e, struct ox_lower *lower, uint32_t field,
                   const struct ox_attr *attr)
{
    const Onnx__AttributeProto *proto = attr->proto;
    struct ox_emit_mark mark = ox_emit_begin(e, field);
    const ProtobufCMessageDescriptor *type = &onnx__attribute_proto__descriptor;
    for (unsigned i = 0; i < type->n_fields; i++) {
        uint32_t id = type->fields[i].id;
        if (id == 1)
            ox_lower_text(e, 1, attr->name, proto ? proto->name : NULL);
        else if (id == value_field(attr->type) && (!proto || is_nested(attr->type)))
            emit_value(e, lower, attr);
        else if (proto)
            ox_emit_field(e, &proto->base, id);
        else if (id == 20)
            ox_emit_int(e, 20, attr->type);
        else if (id == 21)
            ox_emit_text(e, 21, attr->ref);
    }
    if (proto)
        ox_emit_unknown(e, &proto->base);
    ox_emit_end(e, mark);
}
