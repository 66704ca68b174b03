/* Test data in protobuf files: TensorProto, SequenceProto, OptionalProto, MapProto, SparseTensorProto. */
#include <stdlib.h>
#include <string.h>

#include "model/lift.h"
#include "model/name.h"
#include "model/stored.h"

/* Enum DataType of SequenceProto and OptionalProto. */
enum { OF_UNDEFINED, OF_TENSOR, OF_SPARSE, OF_SEQUENCE, OF_MAP, OF_OPTIONAL };

/* ---- Reading: each level of nesting is a message, and those are bounded ------------------------------------------- */

struct reader {
    struct ox_model *model; /* a model without graph: the file, its folder, its memory */
    struct ox_error *err;
};

static enum ox_status read_sequence(struct reader *r, const Onnx__SequenceProto *proto,
                                    enum ox_dtype elem, struct ox_datum **out);
static enum ox_status read_optional(struct reader *r, const Onnx__OptionalProto *proto,
                                    enum ox_dtype elem, struct ox_datum **out);

static enum ox_status read_tensor(struct reader *r, const Onnx__TensorProto *proto,
                                  struct ox_datum **out)
{
    struct ox_stored stored;
    struct ox_tensor *tensor;
    ox_lift_stored(&stored, proto);
    OX_TRY(ox_stored_read(r->model, &stored, true, &tensor, r->err));
    enum ox_status status = ox_datum_of_tensor(out, tensor, r->err);
    ox_tensor_release(tensor);
    return status;
}

static enum ox_status read_sparse(struct reader *r, const Onnx__SparseTensorProto *proto,
                                  struct ox_datum **out)
{
    if (!proto->values || !proto->indices)
        return ox_fail(r->err, OX_INPUT, "%s: a sparse tensor without values or indices",
                       r->model->path);
    struct ox_stored stored;
    struct ox_tensor *values = NULL, *indices = NULL;
    ox_lift_stored(&stored, proto->values);
    enum ox_status status = ox_stored_read(r->model, &stored, true, &values, r->err);
    ox_lift_stored(&stored, proto->indices);
    if (status == OX_OK)
        status = ox_stored_read(r->model, &stored, true, &indices, r->err);
    if (status == OX_OK)
        status =
            ox_datum_sparse(out, values, indices, (unsigned)proto->n_dims, proto->dims, r->err);
    ox_tensor_release(values);
    ox_tensor_release(indices);
    return status;
}

static enum ox_status read_keys(struct reader *r, const Onnx__MapProto *proto,
                                struct ox_tensor **out)
{
    enum ox_dtype dtype = ox_dtype_of(proto->key_type);
    bool strings = dtype == OX_STRING;
    int64_t n = (int64_t)(strings ? proto->n_string_keys : proto->n_keys);
    if (!strings && !ox_dtype_is_integer(dtype))
        return ox_fail(r->err, OX_INPUT, "%s: a map's keys have type %s", r->model->path,
                       ox_dtype_name(dtype));
    struct ox_tensor *keys = NULL, *wide = NULL;
    struct ox_budget *budget = ox_env_budget(r->model->env);
    OX_TRY(ox_tensor_new(&wide, budget, strings ? OX_STRING : OX_INT64, 1, &n, r->err));
    enum ox_status status = OX_OK;
    for (size_t i = 0; strings && i < wide->n && status == OX_OK; i++)
        status = ox_tensor_set_string(wide, i, (const char *)proto->string_keys[i].data,
                                      proto->string_keys[i].len, r->err);
    if (!strings && wide->n)
        memcpy(wide->data, proto->keys, wide->n * sizeof(int64_t));
    if (strings || status != OX_OK)
        keys = ox_tensor_ref(wide);
    else
        status = ox_tensor_convert(&keys, budget, wide, dtype, false, r->err);
    ox_tensor_release(wide);
    if (status == OX_OK)
        *out = keys;
    else
        ox_tensor_release(keys);
    return status;
}

/* Scalars of one type become one 1-D tensor, which is how maps of numbers are held; *out stays NULL for anything else. */
static enum ox_status join_scalars(struct reader *r, const struct ox_datum *sequence,
                                   struct ox_datum **out)
{
    for (size_t i = 0; i < sequence->n_items; i++) {
        const struct ox_datum *item = sequence->items[i];
        if (item->kind != OX_DATUM_TENSOR || item->tensor->rank ||
            item->tensor->dtype != sequence->items[0]->tensor->dtype)
            return OX_OK;
    }
    int64_t n = (int64_t)sequence->n_items;
    enum ox_dtype dtype = n ? sequence->items[0]->tensor->dtype : sequence->elem;
    if (dtype == OX_UNDEFINED)
        return OX_OK;
    struct ox_tensor *joined;
    OX_TRY(ox_tensor_new(&joined, ox_env_budget(r->model->env), dtype, 1, &n, r->err));
    enum ox_status status = OX_OK;
    size_t size = ox_dtype_size(dtype);
    for (size_t i = 0; i < sequence->n_items && status == OX_OK; i++) {
        const void *data = sequence->items[i]->tensor->data;
        const struct ox_str *s = data;
        if (dtype == OX_STRING)
            status = ox_tensor_set_string(joined, i, s->p, s->n, r->err);
        else
            memcpy((char *)joined->data + i * size, data, size);
    }
    if (status == OX_OK)
        status = ox_datum_of_tensor(out, joined, r->err);
    ox_tensor_release(joined);
    return status;
}

static enum ox_status read_map(struct reader *r, const Onnx__MapProto *proto, struct ox_datum **out)
{
    static const Onnx__SequenceProto empty = ONNX__SEQUENCE_PROTO__INIT;
    struct ox_tensor *keys = NULL;
    struct ox_datum *list = NULL, *joined = NULL;
    enum ox_status status = read_keys(r, proto, &keys);
    if (status == OX_OK)
        status = read_sequence(r, proto->values ? proto->values : &empty, OX_UNDEFINED, &list);
    if (status == OX_OK && list->n_items != keys->n)
        status = ox_fail(r->err, OX_INPUT, "%s: a map has %zu keys and %zu values", r->model->path,
                         keys->n, list->n_items);
    if (status == OX_OK)
        status = join_scalars(r, list, &joined);
    if (status == OX_OK)
        status = ox_datum_map(out, keys, joined ? joined : list, r->err);
    ox_tensor_release(keys);
    ox_datum_release(list);
    ox_datum_release(joined);
    return status;
}

static size_t sequence_length(const Onnx__SequenceProto *proto)
{
    switch (proto->elem_type) {
    case OF_TENSOR:
        return proto->n_tensor_values;
    case OF_SPARSE:
        return proto->n_sparse_tensor_values;
    case OF_SEQUENCE:
        return proto->n_sequence_values;
    case OF_MAP:
        return proto->n_map_values;
    case OF_OPTIONAL:
        return proto->n_optional_values;
    default:
        return 0;
    }
}

static enum ox_status read_item(struct reader *r, const Onnx__SequenceProto *proto, size_t i,
                                enum ox_dtype elem, struct ox_datum **out)
{
    switch (proto->elem_type) {
    case OF_TENSOR:
        return read_tensor(r, proto->tensor_values[i], out);
    case OF_SPARSE:
        return read_sparse(r, proto->sparse_tensor_values[i], out);
    case OF_SEQUENCE:
        return read_sequence(r, proto->sequence_values[i], elem, out);
    case OF_MAP:
        return read_map(r, proto->map_values[i], out);
    default:
        return read_optional(r, proto->optional_values[i], elem, out);
    }
}

static enum ox_status read_sequence(struct reader *r, const Onnx__SequenceProto *proto,
                                    enum ox_dtype elem, struct ox_datum **out)
{
    size_t n = sequence_length(proto), done = 0;
    struct ox_datum **items = calloc(n ? n : 1, sizeof(*items));
    if (!items)
        return ox_fail(r->err, OX_NO_MEMORY, "%s: out of memory", r->model->path);
    enum ox_status status = OX_OK;
    for (; done < n && status == OX_OK; done += status == OX_OK)
        status = read_item(r, proto, done, elem, &items[done]);
    if (status == OX_OK) {
        if (n && items[0]->kind == OX_DATUM_TENSOR)
            elem = items[0]->tensor->dtype;
        status = ox_datum_sequence(out, elem, items, n, r->err);
    }
    for (size_t i = 0; i < done; i++)
        ox_datum_release(items[i]);
    free(items);
    return status;
}

static enum ox_status read_optional(struct reader *r, const Onnx__OptionalProto *proto,
                                    enum ox_dtype elem, struct ox_datum **out)
{
    struct ox_datum *item = NULL;
    enum ox_status status = OX_OK;
    if (proto->elem_type == OF_TENSOR && proto->tensor_value)
        status = read_tensor(r, proto->tensor_value, &item);
    else if (proto->elem_type == OF_SPARSE && proto->sparse_tensor_value)
        status = read_sparse(r, proto->sparse_tensor_value, &item);
    else if (proto->elem_type == OF_SEQUENCE && proto->sequence_value)
        status = read_sequence(r, proto->sequence_value, elem, &item);
    else if (proto->elem_type == OF_MAP && proto->map_value)
        status = read_map(r, proto->map_value, &item);
    else if (proto->elem_type == OF_OPTIONAL && proto->optional_value)
        status = read_optional(r, proto->optional_value, elem, &item);
    if (status != OX_OK)
        return status;
    if (item && item->kind == OX_DATUM_TENSOR)
        elem = item->tensor->dtype;
    status = ox_datum_optional(out, elem, item, r->err);
    ox_datum_release(item);
    return status;
}

/* The element type in "seq(float32[2])", "optional(seq(int64))"; undefined for anything else. */
static enum ox_dtype innermost(const char *type)
{
    const char *open = strrchr(type, '(');
    const char *start = open ? open + 1 : type;
    size_t n = strcspn(start, "[,)");
    char name[32];
    enum ox_dtype dtype;
    if (n >= sizeof name)
        return OX_UNDEFINED;
    memcpy(name, start, n);
    name[n] = '\0';
    return ox_dtype_parse(name, &dtype) ? dtype : OX_UNDEFINED;
}

static const struct {
    const char *prefix;
    const ProtobufCMessageDescriptor *message;
} messages[] = {
    {"seq(", &onnx__sequence_proto__descriptor},
    {"optional(", &onnx__optional_proto__descriptor},
    {"map(", &onnx__map_proto__descriptor},
    {"sparse(", &onnx__sparse_tensor_proto__descriptor},
};

static const ProtobufCMessageDescriptor *message_of(const char *type)
{
    for (size_t i = 0; i < OX_COUNT(messages); i++) {
        if (strncmp(type, messages[i].prefix, strlen(messages[i].prefix)) == 0)
            return messages[i].message;
    }
    return &onnx__tensor_proto__descriptor;
}

/* Optionals and sequences have the same fields. */
static bool is_bare_sequence(const ProtobufCMessage *message, const char *type)
{
    return strncmp(type, "optional(seq(", strlen("optional(seq(")) == 0 &&
           ((const Onnx__OptionalProto *)message)->elem_type == OF_TENSOR;
}

/* A file does not say what message it holds. A tensor reads as an optional or a sequence until a field comes that those do
 * not have, and all of its data are such. An optional may be given by what it holds. */
static enum ox_status unpack(struct reader *r, const char **type, ProtobufCMessage **message)
{
    struct ox_model *model = r->model;
    for (;;) {
        const ProtobufCMessageDescriptor *descriptor = message_of(*type);
        bool optional = descriptor == &onnx__optional_proto__descriptor;
        struct ox_unpack_counts counts;
        OX_TRY(ox_unpack(message, descriptor, model->map.data, model->map.bytes, model->env,
                         &model->arena, model->path, &counts, r->err));
        bool other =
            (model->map.bytes && !counts.known_fields) ||
            (descriptor != &onnx__tensor_proto__descriptor && (*message)->n_unknown_fields) ||
            is_bare_sequence(*message, *type);
        if (!other)
            return OX_OK;
        if (!optional)
            return ox_fail(r->err, OX_INPUT, "%s: holds no %s", model->path,
                           descriptor->short_name);
        *type += strlen("optional(");
    }
}

static enum ox_status read_message(struct reader *r, const char *type, struct ox_datum **out)
{
    ProtobufCMessage *message;
    OX_TRY(unpack(r, &type, &message));
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    if (descriptor == &onnx__sequence_proto__descriptor)
        return read_sequence(r, (const Onnx__SequenceProto *)message, innermost(type), out);
    if (descriptor == &onnx__optional_proto__descriptor)
        return read_optional(r, (const Onnx__OptionalProto *)message, innermost(type), out);
    if (descriptor == &onnx__map_proto__descriptor)
        return read_map(r, (const Onnx__MapProto *)message, out);
    if (descriptor == &onnx__sparse_tensor_proto__descriptor)
        return read_sparse(r, (const Onnx__SparseTensorProto *)message, out);
    return read_tensor(r, (const Onnx__TensorProto *)message, out);
}

enum ox_status ox_datum_read_pb(struct ox_datum **out, struct ox_env *env, const char *path,
                                const char *type, struct ox_error *err)
{
    struct ox_model *model;
    OX_TRY(ox_model_map(&model, env, path, err));
    enum ox_status status = read_message(&(struct reader){model, err}, type ? type : "", out);
    ox_model_release(model);
    return status;
}

/* ---- Writing ------------------------------------------------------------------------------------------------------ */

static void emit_datum(struct ox_emit *e, const struct ox_datum *datum, const char *name);

static unsigned kind_number(const struct ox_datum *datum)
{
    switch (datum->kind) {
    case OX_DATUM_SPARSE:
        return OF_SPARSE;
    case OX_DATUM_SEQUENCE:
        return OF_SEQUENCE;
    case OX_DATUM_MAP:
        return OF_MAP;
    case OX_DATUM_OPTIONAL:
        return OF_OPTIONAL;
    default:
        return OF_TENSOR;
    }
}

/* Fields 3 to 7 of both messages, by the kind of what they hold. */
static void emit_item(struct ox_emit *e, const struct ox_datum *item)
{
    static const unsigned char fields[] = {
        [OF_TENSOR] = 3, [OF_SPARSE] = 4, [OF_SEQUENCE] = 5, [OF_MAP] = 6, [OF_OPTIONAL] = 7};
    struct ox_emit_mark mark = ox_emit_begin(e, fields[kind_number(item)]);
    emit_datum(e, item, NULL);
    ox_emit_end(e, mark);
}

static void emit_scalars(struct ox_emit *e, const struct ox_tensor *values)
{
    ox_emit_int(e, 2, OF_TENSOR);
    size_t size = ox_dtype_size(values->dtype);
    for (size_t i = 0; i < values->n; i++) {
        struct ox_tensor scalar = {
            .dtype = values->dtype, .n = 1, .data = (char *)values->data + i * size};
        struct ox_emit_mark mark = ox_emit_begin(e, 3);
        ox_emit_tensor(e, &scalar, NULL);
        ox_emit_end(e, mark);
    }
}

static void emit_map(struct ox_emit *e, const struct ox_datum *datum)
{
    const struct ox_tensor *keys = datum->tensor;
    ox_emit_int(e, 2, keys->dtype);
    for (size_t i = 0; i < keys->n; i++) {
        const struct ox_str *s = (const struct ox_str *)keys->data + i;
        if (keys->dtype == OX_STRING)
            ox_emit_bytes(e, 4, s->p, s->n);
        else
            ox_emit_int(e, 3, (uint64_t)ox_tensor_get_int(keys, i));
    }
    const struct ox_datum *values = datum->items[0];
    struct ox_emit_mark mark = ox_emit_begin(e, 5);
    if (values->kind == OX_DATUM_TENSOR)
        emit_scalars(e, values->tensor);
    else
        emit_datum(e, values, NULL);
    ox_emit_end(e, mark);
}

static void emit_sparse(struct ox_emit *e, const struct ox_datum *datum, const char *name)
{
    struct ox_emit_mark mark = ox_emit_begin(e, 1);
    ox_emit_tensor(e, datum->tensor, name);
    ox_emit_end(e, mark);
    mark = ox_emit_begin(e, 2);
    ox_emit_tensor(e, datum->indices, NULL);
    ox_emit_end(e, mark);
    for (unsigned i = 0; i < datum->rank; i++)
        ox_emit_int(e, 3, (uint64_t)datum->dims[i]);
}

/* The fields of the message that holds it. */
static void emit_datum(struct ox_emit *e, const struct ox_datum *datum, const char *name)
{
    if (datum->kind == OX_DATUM_TENSOR) {
        ox_emit_tensor(e, datum->tensor, name);
        return;
    }
    if (datum->kind == OX_DATUM_SPARSE) {
        emit_sparse(e, datum, name);
        return;
    }
    ox_emit_text(e, 1, name);
    if (datum->kind == OX_DATUM_MAP) {
        emit_map(e, datum);
        return;
    }
    unsigned nothing = datum->kind == OX_DATUM_SEQUENCE ? OF_TENSOR : OF_UNDEFINED;
    ox_emit_int(e, 2, datum->n_items ? kind_number(datum->items[0]) : nothing);
    for (size_t i = 0; i < datum->n_items; i++)
        emit_item(e, datum->items[i]);
}

struct writer {
    const struct ox_datum *datum;
    const char *name;
};

static void build_file(struct ox_emit *e, void *arg)
{
    const struct writer *w = arg;
    emit_datum(e, w->datum, w->name);
}

enum ox_status ox_datum_write_pb(const struct ox_datum *datum, const char *name, const char *path,
                                 struct ox_error *err)
{
    struct ox_outfile *file;
    OX_TRY(ox_outfile_open(&file, path, err));
    enum ox_status status =
        ox_emit_to_file(file, INT32_MAX, path, build_file, &(struct writer){datum, name}, err);
    if (status == OX_OK)
        status = ox_outfile_commit(file, err);
    ox_outfile_release(file);
    return status;
}
