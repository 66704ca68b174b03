#include "model/emit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/unpack.h"

struct ox_emit {
    bool measuring;
    enum ox_status status;
    struct ox_error *err;
    const char *name;
    uint64_t at;     /* bytes so far */
    uint64_t *sizes; /* of the submessages, in the order in which they begin */
    size_t n_sizes, capacity, next;
    struct ox_outfile *file; /* one of the two */
    struct ox_strbuf *buffer;
};

void ox_emit_fail(struct ox_emit *e, enum ox_status status, const struct ox_error *err)
{
    if (e->status != OX_OK)
        return;
    e->status = status;
    if (e->err && err && e->err != err)
        *e->err = *err;
}

bool ox_emit_failed(const struct ox_emit *e)
{
    return e->status != OX_OK;
}

bool ox_emit_measuring(const struct ox_emit *e)
{
    return e->measuring;
}

/* ---- Bytes -------------------------------------------------------------------------------------------------------- */

/* Bytes as they are: records already in wire format, or a part of a payload. */
static void put_raw(struct ox_emit *e, const void *bytes, size_t n)
{
    e->at += n;
    if (e->measuring || e->status != OX_OK || !n)
        return;
    if (e->file) {
        e->status = ox_outfile_write(e->file, bytes, n, e->err);
        return;
    }
    ox_strbuf_add(e->buffer, bytes, n);
    if (e->buffer->failed)
        e->status = ox_fail(e->err, OX_NO_MEMORY, "%s: out of memory", e->name);
}

static void put_varint(struct ox_emit *e, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    put_raw(e, bytes, n);
}

static void put_tag(struct ox_emit *e, uint32_t field, unsigned wire)
{
    put_varint(e, (uint64_t)field << 3 | wire);
}

static void put_fixed(struct ox_emit *e, uint64_t value, unsigned width)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    put_raw(e, bytes, width);
}

static size_t varint_bytes(uint64_t value)
{
    size_t n = 1;
    for (; value >= 0x80; value >>= 7)
        n++;
    return n;
}

/* ---- Fields ------------------------------------------------------------------------------------------------------- */

void ox_emit_int(struct ox_emit *e, uint32_t field, uint64_t value)
{
    put_tag(e, field, OX_WIRE_VARINT);
    put_varint(e, value);
}

static void put_fixed32(struct ox_emit *e, uint32_t field, uint32_t value)
{
    put_tag(e, field, OX_WIRE_FIXED32);
    put_fixed(e, value, 4);
}

void ox_emit_float(struct ox_emit *e, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    put_fixed32(e, field, bits);
}

void ox_emit_bytes(struct ox_emit *e, uint32_t field, const void *bytes, size_t n)
{
    put_tag(e, field, OX_WIRE_BYTES);
    put_varint(e, n);
    put_raw(e, bytes, n);
}

void ox_emit_text(struct ox_emit *e, uint32_t field, const char *text)
{
    if (text)
        ox_emit_bytes(e, field, text, strlen(text));
}

struct ox_emit_mark ox_emit_begin(struct ox_emit *e, uint32_t field)
{
    put_tag(e, field, OX_WIRE_BYTES);
    if (!e->measuring) {
        uint64_t size = e->next < e->n_sizes ? e->sizes[e->next] : 0;
        put_varint(e, size);
        return (struct ox_emit_mark){e->next++, e->at};
    }
    if (e->n_sizes == e->capacity) {
        size_t capacity = e->capacity ? e->capacity * 2 : 256;
        uint64_t *sizes = realloc(e->sizes, capacity * sizeof *sizes);
        if (!sizes) {
            e->status = ox_fail(e->err, OX_NO_MEMORY, "%s: out of memory", e->name);
            return (struct ox_emit_mark){0, e->at};
        }
        e->sizes = sizes;
        e->capacity = capacity;
    }
    return (struct ox_emit_mark){e->n_sizes++, e->at};
}

void ox_emit_end(struct ox_emit *e, struct ox_emit_mark mark)
{
    if (e->status != OX_OK)
        return;
    uint64_t size = e->at - mark.start;
    if (e->measuring) {
        e->sizes[mark.index] = size;
        e->at += varint_bytes(size);
    } else {
        assert(e->sizes[mark.index] == size);
    }
}

/* ---- Messages ----------------------------------------------------------------------------------------------------- */

static const void *member(const ProtobufCMessage *message, unsigned offset)
{
    return (const char *)message + offset;
}

static uint64_t load_number(ProtobufCType type, const void *at)
{
    int32_t narrow;
    uint32_t bits;
    uint64_t wide;
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        memcpy(&narrow, at, 4);
        return (uint64_t)(int64_t)narrow;
    case PROTOBUF_C_TYPE_FLOAT:
        memcpy(&bits, at, 4);
        return bits;
    default:
        memcpy(&wide, at, 8);
        return wide;
    }
}

static unsigned number_width(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_FLOAT || type == PROTOBUF_C_TYPE_INT32 ||
                   type == PROTOBUF_C_TYPE_ENUM
               ? 4
               : 8;
}

static void put_number(struct ox_emit *e, ProtobufCType type, const void *at)
{
    uint64_t value = load_number(type, at);
    if (type == PROTOBUF_C_TYPE_FLOAT || type == PROTOBUF_C_TYPE_DOUBLE)
        put_fixed(e, value, number_width(type));
    else
        put_varint(e, value);
}

static unsigned number_wire(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_FLOAT    ? OX_WIRE_FIXED32
           : type == PROTOBUF_C_TYPE_DOUBLE ? OX_WIRE_FIXED64
                                            : OX_WIRE_VARINT;
}

static void emit_one(struct ox_emit *e, const ProtobufCFieldDescriptor *field, const void *at)
{
    const ProtobufCBinaryData *bytes = at;
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        ox_emit_text(e, field->id, *(const char *const *)at);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        ox_emit_bytes(e, field->id, bytes->data, bytes->len);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        ox_emit_message(e, field->id, *(const ProtobufCMessage *const *)at);
        break;
    default:
        put_tag(e, field->id, number_wire(field->type));
        put_number(e, field->type, at);
    }
}

static void emit_repeated(struct ox_emit *e, const ProtobufCFieldDescriptor *field,
                          const ProtobufCMessage *message)
{
    size_t n = *(const size_t *)member(message, field->quantifier_offset);
    const char *at = *(const char *const *)member(message, field->offset);
    if (!n || !at)
        return;
    size_t size = field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                  : field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE
                      ? sizeof(void *)
                      : number_width(field->type);
    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_PACKED)) {
        for (size_t i = 0; i < n; i++)
            emit_one(e, field, at + i * size);
        return;
    }
    struct ox_emit_mark mark = ox_emit_begin(e, field->id);
    for (size_t i = 0; i < n; i++)
        put_number(e, field->type, at + i * size);
    ox_emit_end(e, mark);
}

static bool is_set(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *message)
{
    int32_t quantifier = *(const int32_t *)member(message, field->quantifier_offset);
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return quantifier == (int32_t)field->id;
    if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
        return *(const void *const *)member(message, field->offset) != NULL;
    return quantifier != 0;
}

static void emit_descriptor(struct ox_emit *e, const ProtobufCFieldDescriptor *field,
                            const ProtobufCMessage *message)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        emit_repeated(e, field, message);
    else if (is_set(field, message))
        emit_one(e, field, member(message, field->offset));
}

void ox_emit_field(struct ox_emit *e, const ProtobufCMessage *message, uint32_t number)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(message->descriptor, number);
    if (field)
        emit_descriptor(e, field, message);
}

void ox_emit_unknown(struct ox_emit *e, const ProtobufCMessage *message)
{
    for (size_t i = 0; i < message->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &message->unknown_fields[i];
        put_tag(e, field->tag, field->wire_type);
        put_raw(e, field->data, field->len);
    }
}

static bool is_undecoded(const ProtobufCMessage *message)
{
    if (message->descriptor != &onnx__tensor_proto__descriptor)
        return false;
    const Onnx__TensorProto *t = (const Onnx__TensorProto *)message;
    return (t->n_float_data && !t->float_data) || (t->n_int32_data && !t->int32_data) ||
           (t->n_int64_data && !t->int64_data) || (t->n_double_data && !t->double_data) ||
           (t->n_uint64_data && !t->uint64_data);
}

void ox_emit_fields(struct ox_emit *e, const ProtobufCMessage *message)
{
    if (is_undecoded(message)) {
        const struct ox_wire_tensor *tensor = ox_wire_tensor((const Onnx__TensorProto *)message);
        put_raw(e, tensor->wire.p, tensor->wire.n);
        for (size_t i = 0; i < tensor->n_more; i++)
            put_raw(e, tensor->more[i].p, tensor->more[i].n);
        return;
    }
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
        emit_descriptor(e, &message->descriptor->fields[i], message);
    ox_emit_unknown(e, message);
}

void ox_emit_message(struct ox_emit *e, uint32_t field, const ProtobufCMessage *message)
{
    struct ox_emit_mark mark = ox_emit_begin(e, field);
    ox_emit_fields(e, message);
    ox_emit_end(e, mark);
}

/* ---- The two runs --------------------------------------------------------------------------------------------------- */

static enum ox_status run(struct ox_outfile *file, struct ox_strbuf *buffer, uint64_t max_bytes,
                          const char *name, void (*build)(struct ox_emit *e, void *arg), void *arg,
                          struct ox_error *err)
{
    struct ox_emit emit = {
        .measuring = true, .err = err, .name = name, .file = file, .buffer = buffer};
    struct ox_emit *e = &emit;
    build(e, arg);
    if (e->status == OX_OK && max_bytes && e->at > max_bytes)
        e->status = ox_fail(err, OX_LIMIT,
                            "%s: would have %" PRIu64 " bytes, more than the %" PRIu64
                            " of one protobuf message: put weights in external data",
                            name, e->at, max_bytes);
    if (e->status == OX_OK) {
        e->measuring = false;
        e->at = 0;
        build(e, arg);
    }
    free(e->sizes);
    return e->status;
}

enum ox_status ox_emit_to_file(struct ox_outfile *out, uint64_t max_bytes, const char *name,
                               void (*build)(struct ox_emit *e, void *arg), void *arg,
                               struct ox_error *err)
{
    return run(out, NULL, max_bytes, name, build, arg, err);
}

enum ox_status ox_emit_to_buffer(struct ox_strbuf *out, uint64_t max_bytes, const char *name,
                                 void (*build)(struct ox_emit *e, void *arg), void *arg,
                                 struct ox_error *err)
{
    return run(NULL, out, max_bytes, name, build, arg, err);
}
