/* Protobuf's text format of any message, by its descriptor: a line an element. */
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "model/message.h"
#include "model/write_impl.h"

/* As protobuf's own printer escapes: bytes over 126 in octal, so that any reader of ASCII has them. */
static void quoted(struct ox_strbuf *out, const void *text, size_t n)
{
    static const char escaped[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
    ox_strbuf_putc(out, '"');
    const char *p = text, *end = p + n;
    while (p < end) {
        const char *plain = p;
        while (p < end && *p >= ' ' && *p < 127 && !strchr("\"'\\", *p))
            p++;
        ox_strbuf_add(out, plain, (size_t)(p - plain));
        if (p == end)
            break;
        const unsigned code = (unsigned char)*p++;
        const char *letter = code ? strchr(escaped, (int)code) : NULL;
        char escape[4] = {'\\', (char)('0' + code / 64), (char)('0' + code / 8 % 8),
                          (char)('0' + code % 8)};
        if (letter)
            escape[1] = letters[letter - escaped];
        ox_strbuf_add(out, escape, letter ? 2 : 4);
    }
    ox_strbuf_putc(out, '"');
}

static void scalar(struct ox_model_writer *w, const ProtobufCFieldDescriptor *field, const void *at)
{
    struct ox_strbuf *out = w->out;
    char text[OX_NUMBER_BYTES];
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        ox_strbuf_printf(out, "%d", (int)*(const int32_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        ox_strbuf_printf(out, "%u", (unsigned)*(const uint32_t *)at);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        ox_strbuf_printf(out, "%lld", (long long)*(const int64_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        ox_strbuf_printf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        ox_strbuf_puts(out, ox_number_float(text, *(const float *)at));
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        ox_strbuf_puts(out, ox_number_double(text, *(const double *)at));
        break;
    case PROTOBUF_C_TYPE_BOOL:
        ox_strbuf_puts(out, *(const protobuf_c_boolean *)at ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM: {
        const ProtobufCEnumValue *known =
            protobuf_c_enum_descriptor_get_value(field->descriptor, *(const int *)at);
        if (known)
            ox_strbuf_puts(out, known->name);
        else
            ox_strbuf_printf(out, "%d", *(const int *)at);
        break;
    }
    case PROTOBUF_C_TYPE_STRING: {
        const char *string = *(char *const *)at;
        quoted(out, string, strlen(string));
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        const ProtobufCBinaryData *data = at;
        quoted(out, data->data, ox_write_head(w, data->len));
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        break;
    }
}

static void element(struct ox_model_writer *w, const ProtobufCFieldDescriptor *field,
                    const void *at)
{
    const int indent = (int)(2 * w->depth);
    ox_strbuf_printf(w->out, "%*s%s", indent, "", field->name);
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        ox_strbuf_puts(w->out, ": ");
        scalar(w, field, at);
        ox_strbuf_putc(w->out, '\n');
    } else {
        ox_strbuf_puts(w->out, " {\n");
        w->depth++;
        ox_proto_text_write_message(w, *(ProtobufCMessage *const *)at);
        w->depth--;
        ox_strbuf_printf(w->out, "%*s}\n", indent, "");
    }
}

static void repeated(struct ox_model_writer *w, const ProtobufCMessage *message,
                     const ProtobufCFieldDescriptor *field)
{
    size_t n;
    void *decoded;
    const char *items = ox_write_items(w, message, field, &n, &decoded);
    for (size_t i = 0; items && i < n && w->status == OX_OK; i++) {
        element(w, field, items + i * ox_field_bytes(field));
        ox_write_flush(w, false);
    }
    free(decoded);
}

void ox_proto_text_write_message(struct ox_model_writer *w, const ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->descriptor->n_fields && w->status == OX_OK; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            if (ox_message_count(message, field))
                repeated(w, message, field);
        } else if (ox_message_has(message, field)) {
            element(w, field, (const char *)message + field->offset);
        }
        ox_write_flush(w, false);
    }
}
