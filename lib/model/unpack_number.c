#include <string.h>

#include "model/unpack_impl.h"

static const struct ox_unpack_form forms[] = {
    [PROTOBUF_C_TYPE_INT32] = {true, OX_WIRE_VARINT, 4},
    [PROTOBUF_C_TYPE_INT64] = {true, OX_WIRE_VARINT, 8},
    [PROTOBUF_C_TYPE_UINT64] = {true, OX_WIRE_VARINT, 8},
    [PROTOBUF_C_TYPE_ENUM] = {true, OX_WIRE_VARINT, 4},
    [PROTOBUF_C_TYPE_FLOAT] = {true, OX_WIRE_FIXED32, 4},
    [PROTOBUF_C_TYPE_DOUBLE] = {true, OX_WIRE_FIXED64, 8},
    [PROTOBUF_C_TYPE_STRING] = {true, OX_WIRE_BYTES, 0},
    [PROTOBUF_C_TYPE_BYTES] = {true, OX_WIRE_BYTES, 0},
    [PROTOBUF_C_TYPE_MESSAGE] = {true, OX_WIRE_BYTES, 0},
};

const struct ox_unpack_form *ox_unpack_form(const ProtobufCFieldDescriptor *field)
{
    return &forms[field->type];
}

enum ox_unpack_use ox_unpack_use(const ProtobufCFieldDescriptor *field, enum ox_wire_type wire)
{
    if (!field || (size_t)field->type >= OX_COUNT(forms) || !forms[field->type].supported)
        return OX_USE_UNKNOWN;
    const struct ox_unpack_form *form = &forms[field->type];
    if (wire == form->wire)
        return OX_USE_ONE;
    if (wire == OX_WIRE_BYTES && form->width && field->label == PROTOBUF_C_LABEL_REPEATED)
        return OX_USE_PACKED;
    return OX_USE_UNKNOWN;
}

size_t ox_field_bytes(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return ox_unpack_form(field)->width;
    }
}

void ox_unpack_number(void *to, unsigned width, uint64_t value)
{
    uint32_t low = (uint32_t)value;
    if (width == 4)
        memcpy(to, &low, 4);
    else
        memcpy(to, &value, 8);
}

bool ox_unpack_numbers(const ProtobufCFieldDescriptor *field, const struct ox_record *record,
                       enum ox_unpack_use use, char *to, size_t room, size_t *n_read)
{
    unsigned width = ox_unpack_form(field)->width;
    if (use == OX_USE_ONE) {
        if (!room)
            return false;
        ox_unpack_number(to, width, record->value);
        *n_read = 1;
        return true;
    }
    size_t n = 0;
    const uint8_t *at = record->bytes.p, *end = at + record->bytes.n;
    const char *why;
    for (; at < end; n++, to += width) {
        uint64_t value;
        if (n == room)
            return false;
        if (ox_unpack_form(field)->wire == OX_WIRE_VARINT) {
            if (!ox_varint_read(&value, &at, end, &why))
                return false;
        } else {
            if ((size_t)(end - at) < width)
                return false;
            value = width == 4 ? ox_fixed32(at) : ox_fixed64(at);
            at += width;
        }
        ox_unpack_number(to, width, value);
    }
    *n_read = n;
    return true;
}

bool ox_wire_tensor_numbers(const struct ox_wire_tensor *tensor, uint32_t number, size_t n,
                            void *to)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&onnx__tensor_proto__descriptor, number);
    size_t done = 0;
    for (size_t part = 0; part <= tensor->n_more; part++) {
        struct ox_span wire = part ? tensor->more[part - 1] : tensor->wire;
        const uint8_t *at = wire.p, *end = wire.p + wire.n;
        while (at < end) {
            struct ox_record record;
            const char *why;
            size_t n_read;
            if (!ox_record_read(&record, &at, end, &why))
                return false;
            enum ox_unpack_use use =
                record.number == number ? ox_unpack_use(field, record.type) : OX_USE_UNKNOWN;
            if (use == OX_USE_UNKNOWN)
                continue;
            if (!ox_unpack_numbers(field, &record, use,
                                   (char *)to + done * ox_unpack_form(field)->width, n - done,
                                   &n_read))
                return false;
            done += n_read;
        }
    }
    return done == n;
}
