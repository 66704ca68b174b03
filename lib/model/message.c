#include "model/message.h"

#include <stdlib.h>

static const void *quantifier(const ProtobufCMessage *message,
                              const ProtobufCFieldDescriptor *field)
{
    return (const char *)message + field->quantifier_offset;
}

static bool is_pointer(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE;
}

size_t ox_message_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return *(const size_t *)quantifier(message, field);
}

bool ox_message_has(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const uint32_t *)quantifier(message, field) == field->id;
    if (is_pointer(field))
        return *(void *const *)((const char *)message + field->offset) != NULL;
    return *(const protobuf_c_boolean *)quantifier(message, field) != 0;
}

void ox_message_mark(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    void *at = (char *)message + field->quantifier_offset;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        *(uint32_t *)at = field->id;
    else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && !is_pointer(field))
        *(protobuf_c_boolean *)at = 1;
}

const ProtobufCFieldDescriptor *ox_message_rival(const ProtobufCMessage *message,
                                                 const ProtobufCFieldDescriptor *field)
{
    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return NULL;
    const uint32_t set = *(const uint32_t *)quantifier(message, field);
    return set == 0 || set == field->id
               ? NULL
               : protobuf_c_message_descriptor_get_field(message->descriptor, set);
}

enum ox_status ox_message_pack(uint8_t **bytes, size_t *n_bytes, const ProtobufCMessage *message,
                               const char *name, struct ox_error *err)
{
    const size_t n = protobuf_c_message_get_packed_size(message);
    *bytes = malloc(n + 1);
    if (!*bytes)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
    *n_bytes = protobuf_c_message_pack(message, *bytes);
    return OX_OK;
}
