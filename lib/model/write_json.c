/* Protobuf's canonical JSON mapping of any message, by its descriptor. */
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "model/message.h"
#include "model/write_impl.h"

/* "op_type" becomes "opType". */
static void key(struct ox_json *json, const char *name)
{
    char camel[64];
    size_t n = 0;
    for (; *name && n + 1 < sizeof camel; name++) {
        bool upper = *name == '_' && name[1];
        name += upper;
        camel[n++] = upper && *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name;
    }
    camel[n] = '\0';
    ox_json_key(json, camel);
}

static void int64_text(struct ox_json *json, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    ox_json_string(json, text);
}

static void uint64_text(struct ox_json *json, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    ox_json_string(json, text);
}

static void bytes(struct ox_model_writer *w, struct ox_json *json, const ProtobufCBinaryData *data)
{
    const size_t n = ox_write_head(w, data->len);
    size_t length = (n + 2) / 3 * 4;
    char *text = malloc(length + 1);
    if (!text) {
        w->status = ox_no_memory(w->err);
        return;
    }
    ox_base64_encode(data->data, n, text);
    ox_json_string_n(json, text, length);
    free(text);
}

static void element(struct ox_model_writer *w, struct ox_json *json,
                    const ProtobufCFieldDescriptor *field, const void *at)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        ox_json_int(json, *(const int32_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        ox_json_uint(json, *(const uint32_t *)at);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        int64_text(json, *(const int64_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        uint64_text(json, *(const uint64_t *)at);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        ox_json_float(json, *(const float *)at);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        ox_json_double(json, *(const double *)at);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        ox_json_bool(json, *(const protobuf_c_boolean *)at != 0);
        break;
    case PROTOBUF_C_TYPE_ENUM: {
        const ProtobufCEnumValue *known =
            protobuf_c_enum_descriptor_get_value(field->descriptor, *(const int *)at);
        if (known)
            ox_json_string(json, known->name);
        else
            ox_json_int(json, *(const int *)at);
        break;
    }
    case PROTOBUF_C_TYPE_STRING:
        ox_json_string(json, *(char *const *)at);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        bytes(w, json, at);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        ox_json_write_message(w, json, *(ProtobufCMessage *const *)at);
        break;
    }
}

static void repeated(struct ox_model_writer *w, struct ox_json *json,
                     const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    size_t n;
    void *decoded;
    const char *items = ox_write_items(w, message, field, &n, &decoded);
    if (!items)
        return;
    key(json, field->name);
    ox_json_array(json);
    for (size_t i = 0; i < n && w->status == OX_OK; i++) {
        element(w, json, field, items + i * ox_field_bytes(field));
        if (i % 1024 == 0)
            ox_write_flush(w, false);
    }
    ox_json_end_array(json);
    free(decoded);
}

void ox_json_write_message(struct ox_model_writer *w, struct ox_json *json,
                           const ProtobufCMessage *message)
{
    ox_json_object(json);
    for (unsigned i = 0; i < message->descriptor->n_fields && w->status == OX_OK; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            if (ox_message_count(message, field))
                repeated(w, json, message, field);
        } else if (ox_message_has(message, field)) {
            key(json, field->name);
            element(w, json, field, (const char *)message + field->offset);
        }
        ox_write_flush(w, false);
    }
    ox_json_end_object(json);
}
