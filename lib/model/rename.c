#include "model/rename.h"

#include <string.h>

#include "model/external.h"
#include "model/lift.h"
#include "model/name.h"
#include "model/unpack.h"

/* Where in the model a message stands. */
struct place {
    bool function;    /* in a function, whose names are its own */
    bool initializer; /* a tensor that has its name from the graph */
};

struct renamer {
    const struct ox_renaming *with;
    struct ox_error *err;
};

static enum ox_status no_room(const struct renamer *r)
{
    return ox_fail(r->err, OX_NO_MEMORY, "%s: out of memory", r->with->from->path);
}

static enum ox_status rename_message(struct renamer *r, const ProtobufCMessage *from,
                                     struct place place, const ProtobufCMessage **out);

/* The copy that may be changed, made when it is first needed. */
static ProtobufCMessage *writable(struct renamer *r, const ProtobufCMessage *from,
                                  const ProtobufCMessage **out)
{
    bool tensor = from->descriptor == &onnx__tensor_proto__descriptor;
    size_t bytes = tensor ? sizeof(struct ox_wire_tensor) : from->descriptor->sizeof_message;
    if (*out == from) {
        void *copy = ox_arena_copy(r->with->arena, from, bytes);
        if (!copy)
            return NULL;
        *out = copy;
    }
    return (ProtobufCMessage *)(uintptr_t)*out;
}

/* ---- Names -------------------------------------------------------------------------------------------------------- */

/* What a string means; -1: it is no name. */
static int kind_of(const ProtobufCMessageDescriptor *type, uint32_t field, struct place place)
{
    static const struct {
        const ProtobufCMessageDescriptor *type;
        uint32_t field;
        enum ox_name_kind kind;
    } rows[] = {
        {&onnx__node_proto__descriptor, 1, OX_NAME_VALUE},
        {&onnx__node_proto__descriptor, 2, OX_NAME_VALUE},
        {&onnx__node_proto__descriptor, 3, OX_NAME_NODE},
        {&onnx__value_info_proto__descriptor, 1, OX_NAME_VALUE},
        {&onnx__tensor_annotation__descriptor, 1, OX_NAME_VALUE},
        {&onnx__sharding_spec_proto__descriptor, 1, OX_NAME_VALUE},
        {&onnx__simple_sharded_dim_proto__descriptor, 2, OX_NAME_DIM},
        {&onnx__tensor_shape_proto__dimension__descriptor, 2, OX_NAME_DIM},
    };
    if (place.function)
        return -1;
    if (type == &onnx__tensor_proto__descriptor && field == 8)
        return place.initializer ? (int)OX_NAME_VALUE : -1;
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        if (rows[i].type == type && rows[i].field == field)
            return (int)rows[i].kind;
    }
    return -1;
}

static enum ox_status rename_text(struct renamer *r, int kind, const char *old, const char **out)
{
    *out = old;
    if (kind < 0 || !old || !*old)
        return OX_OK;
    *out = r->with->name(r->with->arg, (enum ox_name_kind)kind, old);
    return *out ? OX_OK : no_room(r);
}

static enum ox_status rename_string(struct renamer *r, const ProtobufCMessage *from,
                                    const ProtobufCFieldDescriptor *field, struct place place,
                                    const ProtobufCMessage **out)
{
    const char *old, *name;
    memcpy(&old, (const char *)from + field->offset, sizeof old);
    OX_TRY(rename_text(r, kind_of(from->descriptor, field->id, place), old, &name));
    if (name == old)
        return OX_OK;
    ProtobufCMessage *copy = writable(r, from, out);
    if (!copy)
        return no_room(r);
    memcpy((char *)copy + field->offset, &name, sizeof name);
    return OX_OK;
}

static enum ox_status rename_strings(struct renamer *r, const ProtobufCMessage *from,
                                     const ProtobufCFieldDescriptor *field, struct place place,
                                     const ProtobufCMessage **out)
{
    size_t n;
    const char *const *old, **names = NULL;
    memcpy(&n, (const char *)from + field->quantifier_offset, sizeof n);
    memcpy(&old, (const char *)from + field->offset, sizeof old);
    for (size_t i = 0; i < n; i++) {
        const char *name;
        OX_TRY(rename_text(r, kind_of(from->descriptor, field->id, place), old[i], &name));
        if (name != old[i] && !names)
            names = ox_arena_copy(r->with->arena, old, n * sizeof(*old));
        if (name != old[i] && !names)
            return no_room(r);
        if (names)
            names[i] = name;
    }
    ProtobufCMessage *copy = names ? writable(r, from, out) : NULL;
    if (names && !copy)
        return no_room(r);
    if (copy)
        memcpy((char *)copy + field->offset, &names, sizeof names);
    return OX_OK;
}

/* Calls follow the functions' names. */
static enum ox_status rename_function(struct renamer *r, const ProtobufCMessage *from,
                                      const ProtobufCMessage **out)
{
    bool node = from->descriptor == &onnx__node_proto__descriptor;
    const Onnx__NodeProto *call = (const Onnx__NodeProto *)from;
    const Onnx__FunctionProto *function = (const Onnx__FunctionProto *)from;
    const char *old = node ? call->op_type : function->name;
    if (!r->with->function || !old)
        return OX_OK;
    const char *name =
        r->with->function(r->with->arg, ox_domain(node ? call->domain : function->domain), old,
                          ox_text(node ? call->overload : function->overload));
    if (name == old)
        return OX_OK;
    ProtobufCMessage *copy = name ? writable(r, from, out) : NULL;
    if (!copy)
        return no_room(r);
    if (node)
        ((Onnx__NodeProto *)copy)->op_type = (char *)(uintptr_t)name;
    else
        ((Onnx__FunctionProto *)copy)->name = (char *)(uintptr_t)name;
    return OX_OK;
}

/* The values of these entries name tensors; their keys do not. */
static enum ox_status rename_entry(struct renamer *r, const ProtobufCMessage *from,
                                   const ProtobufCMessage **out)
{
    const Onnx__StringStringEntryProto *entry = (const Onnx__StringStringEntryProto *)from;
    const char *name;
    *out = from;
    OX_TRY(rename_text(r, OX_NAME_VALUE, entry->value, &name));
    if (name == entry->value)
        return OX_OK;
    ProtobufCMessage *copy = writable(r, from, out);
    if (!copy)
        return no_room(r);
    ((Onnx__StringStringEntryProto *)copy)->value = (char *)(uintptr_t)name;
    return OX_OK;
}

/* ---- Tensors ------------------------------------------------------------------------------------------------------ */

static enum ox_status bring_in(struct renamer *r, const Onnx__TensorProto *from,
                               const ProtobufCMessage **out)
{
    struct ox_model *model = r->with->from;
    struct ox_stored stored;
    const uint8_t *bytes = NULL;
    uint64_t need = 0;
    size_t n;
    enum ox_status status = OX_OK;
    ox_lift_stored(&stored, from);
    if (!ox_dims_count(stored.rank, stored.dims, &n) ||
        !ox_dtype_packed_bytes(stored.dtype, n, &need))
        status = ox_fail(r->err, OX_INPUT, "its type and dims give no size");
    else
        status = ox_external_find(model, &stored, need, &bytes, r->err);
    if (status != OX_OK)
        return ox_fail_tensor(r->err, status, model, &stored);
    Onnx__TensorProto *copy = (Onnx__TensorProto *)writable(r, &from->base, out);
    if (!copy)
        return no_room(r);
    copy->n_external_data = 0;
    copy->has_data_location = false;
    copy->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT;
    copy->has_raw_data = true;
    copy->raw_data = (ProtobufCBinaryData){(size_t)need, (uint8_t *)(uintptr_t)bytes};
    return OX_OK;
}

/* Bytes of the record "name: text". */
static struct ox_span name_record(struct renamer *r, const char *text)
{
    enum { NAME_TAG = 8 << 3 | OX_WIRE_BYTES, MOST_BEFORE = 11 };
    size_t n = strlen(text), left = n, at = 0;
    uint8_t *record = ox_arena_alloc(r->with->arena, n + MOST_BEFORE);
    if (!record)
        return (struct ox_span){NULL, 0};
    record[at++] = NAME_TAG;
    for (; left >= 0x80; left >>= 7)
        record[at++] = (uint8_t)(left | 0x80);
    record[at++] = (uint8_t)left;
    memcpy(record + at, text, n);
    return (struct ox_span){record, at + n};
}

/* What is kept as it stands in the file has the old name in it: the spans before and behind that, and one of the new name. */
static enum ox_status rename_wire(struct renamer *r, struct ox_wire_tensor *tensor)
{
    size_t n_names = 0, n = 0;
    struct ox_span *spans = NULL;
    for (int writing = 0; writing < 2; writing++) {
        for (size_t part = 0; part <= tensor->n_more; part++) {
            struct ox_span wire = part ? tensor->more[part - 1] : tensor->wire;
            const uint8_t *at = wire.p, *end = at + wire.n, *kept = at;
            struct ox_record record;
            const char *why;
            while (at < end && ox_record_read(&record, &at, end, &why)) {
                if (record.number != 8 || record.type != OX_WIRE_BYTES)
                    continue;
                n_names += !writing;
                if (writing)
                    spans[n++] = (struct ox_span){kept, (size_t)(record.start - kept)};
                if (writing && n_names == 1) /* in its old place, as serializers have it */
                    spans[n++] = name_record(r, tensor->proto.name);
                kept = at;
            }
            if (writing)
                spans[n++] = (struct ox_span){kept, (size_t)(end - kept)};
        }
        if (writing)
            break;
        spans = ox_arena_array(r->with->arena, 2 * n_names + tensor->n_more + 3, sizeof *spans);
        if (!spans)
            return no_room(r);
    }
    if (n_names != 1)
        spans[n++] = name_record(r, tensor->proto.name);
    for (size_t i = 0; i < n; i++) {
        if (!spans[i].p)
            return no_room(r);
    }
    tensor->wire = spans[0];
    tensor->more = spans + 1;
    tensor->n_more = n - 1;
    return OX_OK;
}

static enum ox_status rename_tensor(struct renamer *r, const ProtobufCMessage *from,
                                    struct place place, const ProtobufCMessage **out)
{
    const Onnx__TensorProto *tensor = (const Onnx__TensorProto *)from;
    const char *name;
    *out = from;
    if (!r->with->keep_external && tensor->has_data_location &&
        tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        OX_TRY(bring_in(r, tensor, out));
    OX_TRY(rename_text(r, kind_of(from->descriptor, 8, place), tensor->name, &name));
    if (name == tensor->name)
        return OX_OK;
    struct ox_wire_tensor *copy = (struct ox_wire_tensor *)writable(r, from, out);
    if (!copy)
        return no_room(r);
    copy->proto.name = (char *)(uintptr_t)name;
    return rename_wire(r, copy);
}

/* ---- Messages ----------------------------------------------------------------------------------------------------- */

static struct place place_within(const ProtobufCMessageDescriptor *type, uint32_t field,
                                 struct place place)
{
    bool sparse = type == &onnx__sparse_tensor_proto__descriptor;
    if (type == &onnx__graph_proto__descriptor)
        place.initializer = field == 5 || field == 15;
    else if (!sparse || field != 1)
        place.initializer = false;
    return place;
}

static enum ox_status rename_inner(struct renamer *r, const ProtobufCMessage *from,
                                   const ProtobufCFieldDescriptor *field, struct place place,
                                   const ProtobufCMessage **out)
{
    const ProtobufCMessage *const *inner = (const void *)((const char *)from + field->offset);
    const ProtobufCMessage **list = NULL;
    bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    bool names_tensors = from->descriptor == &onnx__tensor_annotation__descriptor && field->id == 2;
    size_t n = 1;
    if (repeated) {
        memcpy(&n, (const char *)from + field->quantifier_offset, sizeof n);
        memcpy(&inner, (const char *)from + field->offset, sizeof inner);
    } else if (!*inner) {
        return OX_OK;
    }
    for (size_t i = 0; i < n; i++) {
        const ProtobufCMessage *made;
        if (names_tensors && !place.function)
            OX_TRY(rename_entry(r, inner[i], &made));
        else
            OX_TRY(rename_message(r, inner[i], place, &made));
        if (made != inner[i] && !list)
            list = ox_arena_copy(r->with->arena, inner, n * sizeof(*inner));
        if (made != inner[i] && !list)
            return no_room(r);
        if (list)
            list[i] = made;
    }
    ProtobufCMessage *copy = list ? writable(r, from, out) : NULL;
    if (list && !copy)
        return no_room(r);
    if (copy && repeated)
        memcpy((char *)copy + field->offset, &list, sizeof list);
    else if (copy)
        memcpy((char *)copy + field->offset, list, sizeof(*list));
    return OX_OK;
}

static bool is_other_case(const ProtobufCMessage *from, const ProtobufCFieldDescriptor *field)
{
    int32_t set;
    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return false;
    memcpy(&set, (const char *)from + field->quantifier_offset, sizeof set);
    return set != (int32_t)field->id;
}

/* As deep as messages are nested, which reading them has bounded. */
static enum ox_status rename_message(struct renamer *r, const ProtobufCMessage *from,
                                     struct place place, const ProtobufCMessage **out)
{
    const ProtobufCMessageDescriptor *type = from->descriptor;
    *out = from;
    if (type == &onnx__tensor_proto__descriptor)
        return rename_tensor(r, from, place, out);
    if (type == &onnx__function_proto__descriptor || type == &onnx__node_proto__descriptor)
        OX_TRY(rename_function(r, from, out));
    place.function |= type == &onnx__function_proto__descriptor;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        if (is_other_case(from, field))
            continue;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            OX_TRY(rename_inner(r, from, field, place_within(type, field->id, place), out));
        else if (field->type == PROTOBUF_C_TYPE_STRING && field->label == PROTOBUF_C_LABEL_REPEATED)
            OX_TRY(rename_strings(r, from, field, place, out));
        else if (field->type == PROTOBUF_C_TYPE_STRING)
            OX_TRY(rename_string(r, from, field, place, out));
    }
    return OX_OK;
}

enum ox_status ox_rename_message(const struct ox_renaming *renaming,
                                 const ProtobufCMessage *message, const ProtobufCMessage **out,
                                 struct ox_error *err)
{
    struct renamer r = {.with = renaming, .err = err};
    return rename_message(&r, message, (struct place){false, false}, out);
}
