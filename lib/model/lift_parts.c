#include <string.h>

#include "model/external.h"
#include "model/lift.h"

enum ox_status ox_model_array(void *out, struct ox_model *model, size_t n, size_t bytes,
                              struct ox_error *err)
{
    void *memory = NULL;
    if (n) {
        size_t all;
        memory = OX_MUL_OVERFLOWS(n, bytes, &all) ? NULL : ox_arena_words(&model->arena, all);
        if (!memory)
            return ox_no_room(model->arena.budget, n > 1 << 20 ? n * bytes : 1 << 20, model->path,
                              err);
    }
    memcpy(out, &memory, sizeof memory);
    return OX_OK;
}

const char *ox_domain(const char *domain)
{
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

enum ox_dtype ox_dtype_of(int32_t data_type)
{
    return data_type > 0 && data_type < OX_N_DTYPES ? (enum ox_dtype)data_type : OX_UNDEFINED;
}

/* ---- Types ------------------------------------------------------------------------------------------------------ */

/* Paddle's exporter calls every open dimension "?", as the textual syntax does: equal they are not for that. */
bool ox_dim_is_unnamed(const char *name)
{
    return !*name || strcmp(name, "?") == 0;
}

static enum ox_status lift_dims(struct ox_type *type, struct ox_model *model,
                                const Onnx__TensorShapeProto *shape, struct ox_error *err)
{
    if (!shape)
        return OX_OK;
    if (shape->n_dim > UINT32_MAX)
        return ox_fail(err, OX_LIMIT, "%s: a shape has %zu dimensions", model->path, shape->n_dim);
    type->has_rank = true;
    type->rank = (unsigned)shape->n_dim;
    OX_TRY(ox_model_array(&type->dims, model, shape->n_dim, sizeof *type->dims, err));
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        bool known = false;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            known = dim->dim_value >= 0;
            if (known)
                type->dims[i] = ox_expr_int(model->exprs, dim->dim_value);
        } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM) {
            known = !ox_dim_is_unnamed(ox_text(dim->dim_param));
            if (known)
                type->dims[i] = ox_expr_parse(model->exprs, dim->dim_param);
            if (known && !type->dims[i])
                type->dims[i] = ox_expr_symbol(model->exprs, dim->dim_param);
        }
        if (known && !type->dims[i])
            return ox_no_room(model->arena.budget, 1 << 20, model->path, err);
    }
    return OX_OK;
}

/* One level; *inner is the type within, which goes to type->inner. */
static enum ox_status lift_type_level(struct ox_type *type, struct ox_model *model,
                                      const Onnx__TypeProto *proto, const Onnx__TypeProto **inner,
                                      struct ox_error *err)
{
    type->proto = proto;
    switch (proto->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        type->kind = OX_TYPE_TENSOR;
        type->elem = ox_dtype_of(proto->tensor_type->elem_type);
        return lift_dims(type, model, proto->tensor_type->shape, err);
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        type->kind = OX_TYPE_SPARSE;
        type->elem = ox_dtype_of(proto->sparse_tensor_type->elem_type);
        return lift_dims(type, model, proto->sparse_tensor_type->shape, err);
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        type->kind = OX_TYPE_SEQUENCE;
        *inner = proto->sequence_type->elem_type;
        return OX_OK;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        type->kind = OX_TYPE_OPTIONAL;
        *inner = proto->optional_type->elem_type;
        return OX_OK;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        type->kind = OX_TYPE_MAP;
        type->elem = ox_dtype_of(proto->map_type->key_type);
        *inner = proto->map_type->value_type;
        return OX_OK;
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        type->kind = OX_TYPE_OPAQUE;
        return OX_OK;
    default:
        return OX_OK;
    }
}

enum ox_status ox_lift_type(const struct ox_type **out, struct ox_model *model,
                            const Onnx__TypeProto *proto, struct ox_error *err)
{
    const struct ox_type *outermost = NULL;
    const struct ox_type **slot = &outermost;
    while (proto) {
        struct ox_type *type = NULL;
        OX_TRY(ox_model_array(&type, model, 1, sizeof *type, err));
        *slot = type;
        slot = &type->inner;
        const Onnx__TypeProto *inner = NULL;
        OX_TRY(lift_type_level(type, model, proto, &inner, err));
        proto = inner;
    }
    *out = outermost;
    return OX_OK;
}

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

void ox_lift_stored(struct ox_stored *out, const Onnx__TensorProto *proto)
{
    *out = (struct ox_stored){
        .name = ox_text(proto->name),
        .dtype = ox_dtype_of(proto->data_type),
        .data_type = proto->data_type,
        .rank = (unsigned)proto->n_dims,
        .dims = proto->dims,
        .proto = proto,
    };
    if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        out->place = OX_STORED_EXTERNAL;
        struct ox_external_keys keys;
        ox_external_keys(&keys, proto, NULL);
        out->location = keys.location;
        out->offset = keys.offset;
        out->length = keys.length;
        out->has_length = keys.has_length;
    } else if (proto->has_raw_data) {
        out->place = OX_STORED_RAW;
        out->raw = proto->raw_data.data;
        out->raw_bytes = proto->raw_data.len;
    } else if (proto->n_float_data || proto->n_int32_data || proto->n_int64_data ||
               proto->n_double_data || proto->n_uint64_data || proto->n_string_data) {
        out->place = OX_STORED_TYPED;
    }
}

static enum ox_status lift_stored_new(const struct ox_stored **out, struct ox_model *model,
                                      const Onnx__TensorProto *proto, struct ox_error *err)
{
    *out = NULL;
    if (!proto)
        return OX_OK;
    struct ox_stored *stored = NULL;
    OX_TRY(ox_model_array(&stored, model, 1, sizeof *stored, err));
    ox_lift_stored(stored, proto);
    *out = stored;
    return OX_OK;
}

enum ox_status ox_lift_sparse(struct ox_stored_sparse *out, struct ox_model *model,
                              const Onnx__SparseTensorProto *proto, struct ox_error *err)
{
    *out = (struct ox_stored_sparse){
        .rank = (unsigned)proto->n_dims, .dims = proto->dims, .proto = proto};
    OX_TRY(lift_stored_new(&out->values, model, proto->values, err));
    return lift_stored_new(&out->indices, model, proto->indices, err);
}

/* ---- Attributes ------------------------------------------------------------------------------------------------- */

/* Rules and kernels take strings as text: a NUL must follow, which the file does not have. */
static enum ox_status lift_string(struct ox_str *out, struct ox_model *model,
                                  const ProtobufCBinaryData *s, struct ox_error *err)
{
    out->n = s->len;
    out->p = ox_arena_strndup(&model->arena, (const char *)s->data, s->len);
    return out->p ? OX_OK
                  : ox_no_room(model->arena.budget, s->len > 1 << 20 ? s->len : 1 << 20,
                               model->path, err);
}

static enum ox_status lift_strings(struct ox_attr *attr, struct ox_model *model,
                                   const ProtobufCBinaryData *strings, size_t n,
                                   struct ox_error *err)
{
    struct ox_str *list = NULL;
    OX_TRY(ox_model_array(&list, model, n, sizeof *list, err));
    for (size_t i = 0; i < n; i++)
        OX_TRY(lift_string(&list[i], model, &strings[i], err));
    attr->strings = list;
    attr->n = n;
    return OX_OK;
}

static enum ox_status lift_tensors(struct ox_attr *attr, struct ox_model *model,
                                   Onnx__TensorProto *const *protos, size_t n, struct ox_error *err)
{
    struct ox_stored *list = NULL;
    OX_TRY(ox_model_array(&list, model, n, sizeof *list, err));
    for (size_t i = 0; i < n; i++)
        ox_lift_stored(&list[i], protos[i]);
    attr->tensor = list;
    attr->n = n;
    return OX_OK;
}

static enum ox_status lift_sparse_tensors(struct ox_attr *attr, struct ox_model *model,
                                          Onnx__SparseTensorProto *const *protos, size_t n,
                                          struct ox_error *err)
{
    struct ox_stored_sparse *list = NULL;
    OX_TRY(ox_model_array(&list, model, n, sizeof *list, err));
    for (size_t i = 0; i < n; i++)
        OX_TRY(ox_lift_sparse(&list[i], model, protos[i], err));
    attr->sparse = list;
    attr->n = n;
    return OX_OK;
}

static enum ox_status lift_types(struct ox_attr *attr, struct ox_model *model,
                                 Onnx__TypeProto *const *protos, size_t n, struct ox_error *err)
{
    struct ox_type *list = NULL;
    OX_TRY(ox_model_array(&list, model, n, sizeof *list, err));
    for (size_t i = 0; i < n; i++) {
        const struct ox_type *type;
        OX_TRY(ox_lift_type(&type, model, protos[i], err));
        list[i] = *type;
    }
    attr->types = list;
    attr->n = n;
    return OX_OK;
}

static enum ox_status lift_graphs(struct ox_attr *attr, struct ox_model *model,
                                  Onnx__GraphProto *const *protos, size_t n, struct ox_node *owner,
                                  struct ox_function *function, struct ox_error *err)
{
    struct ox_graph **list = NULL;
    OX_TRY(ox_model_array(&list, model, n, sizeof *list, err));
    for (size_t i = 0; i < n; i++) {
        OX_TRY(ox_lift_new_graph(&list[i], model, protos[i], err));
        list[i]->parent = owner;
        list[i]->scope = owner ? owner->graph : NULL;
        list[i]->function = function;
        list[i]->parent_attr = attr->type == OX_ATTR_GRAPH
                                   ? attr->name
                                   : ox_arena_printf(&model->arena, "%s[%zu]", attr->name, i);
        if (!list[i]->parent_attr)
            return ox_no_room(model->arena.budget, 1 << 20, model->path, err);
    }
    attr->graphs = list;
    attr->n = n;
    return OX_OK;
}

/* Files before IR version 2 have no type: the field that is set tells. */
static enum ox_attr_type attr_type(const Onnx__AttributeProto *proto)
{
    if (proto->has_type && proto->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED)
        return (enum ox_attr_type)proto->type;
    const struct {
        bool set;
        enum ox_attr_type type;
    } fields[] = {
        {proto->has_f, OX_ATTR_FLOAT},
        {proto->has_i, OX_ATTR_INT},
        {proto->has_s, OX_ATTR_STRING},
        {proto->t != NULL, OX_ATTR_TENSOR},
        {proto->g != NULL, OX_ATTR_GRAPH},
        {proto->n_floats > 0, OX_ATTR_FLOATS},
        {proto->n_ints > 0, OX_ATTR_INTS},
        {proto->n_strings > 0, OX_ATTR_STRINGS},
        {proto->n_tensors > 0, OX_ATTR_TENSORS},
        {proto->n_graphs > 0, OX_ATTR_GRAPHS},
        {proto->sparse_tensor != NULL, OX_ATTR_SPARSE_TENSOR},
        {proto->n_sparse_tensors > 0, OX_ATTR_SPARSE_TENSORS},
        {proto->tp != NULL, OX_ATTR_TYPE_PROTO},
        {proto->n_type_protos > 0, OX_ATTR_TYPE_PROTOS},
    };
    for (size_t i = 0; i < OX_COUNT(fields); i++) {
        if (fields[i].set)
            return fields[i].type;
    }
    return OX_ATTR_UNDEFINED;
}

static enum ox_status lift_attr(struct ox_attr *attr, struct ox_model *model,
                                const Onnx__AttributeProto *proto, struct ox_node *owner,
                                struct ox_function *function, struct ox_error *err)
{
    attr->name = ox_text(proto->name);
    attr->type = attr_type(proto);
    attr->ref = proto->ref_attr_name && *proto->ref_attr_name ? proto->ref_attr_name : NULL;
    attr->proto = proto;
    switch (attr->type) {
    case OX_ATTR_FLOAT:
        attr->f = proto->f;
        attr->n = proto->has_f;
        return OX_OK;
    case OX_ATTR_INT:
        attr->i = proto->i;
        attr->n = proto->has_i;
        return OX_OK;
    case OX_ATTR_STRING:
        attr->n = proto->has_s;
        return lift_string(&attr->s, model, &proto->s, err);
    case OX_ATTR_TENSOR:
        return lift_tensors(attr, model, &proto->t, proto->t != NULL, err);
    case OX_ATTR_GRAPH:
        return lift_graphs(attr, model, &proto->g, proto->g != NULL, owner, function, err);
    case OX_ATTR_FLOATS:
        attr->floats = proto->floats;
        attr->n = proto->n_floats;
        return OX_OK;
    case OX_ATTR_INTS:
        attr->ints = proto->ints;
        attr->n = proto->n_ints;
        return OX_OK;
    case OX_ATTR_STRINGS:
        return lift_strings(attr, model, proto->strings, proto->n_strings, err);
    case OX_ATTR_TENSORS:
        return lift_tensors(attr, model, proto->tensors, proto->n_tensors, err);
    case OX_ATTR_GRAPHS:
        return lift_graphs(attr, model, proto->graphs, proto->n_graphs, owner, function, err);
    case OX_ATTR_SPARSE_TENSOR:
        return lift_sparse_tensors(attr, model, &proto->sparse_tensor, proto->sparse_tensor != NULL,
                                   err);
    case OX_ATTR_SPARSE_TENSORS:
        return lift_sparse_tensors(attr, model, proto->sparse_tensors, proto->n_sparse_tensors,
                                   err);
    case OX_ATTR_TYPE_PROTO:
        return lift_types(attr, model, &proto->tp, proto->tp != NULL, err);
    case OX_ATTR_TYPE_PROTOS:
        return lift_types(attr, model, proto->type_protos, proto->n_type_protos, err);
    default:
        return OX_OK;
    }
}

enum ox_status ox_lift_attrs(struct ox_attr **out, struct ox_model *model,
                             Onnx__AttributeProto *const *protos, size_t n, struct ox_node *owner,
                             struct ox_function *function, struct ox_error *err)
{
    struct ox_attr *attrs = NULL;
    OX_TRY(ox_model_array(&attrs, model, n, sizeof *attrs, err));
    *out = attrs;
    for (size_t i = 0; i < n; i++)
        OX_TRY(lift_attr(&attrs[i], model, protos[i], owner, function, err));
    return OX_OK;
}
