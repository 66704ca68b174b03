#include <assert.h>
#include <string.h>

#include "common/utf8.h"
#include "model/unpack_impl.h"

enum { STRING_CHUNK = 4096, FEW_BYTES = 64 };

static size_t recent_slot(struct ox_span bytes)
{
    uint64_t head = 0, tail = 0;
    size_t n = bytes.n < 8 ? bytes.n : 8;
    memcpy(&head, bytes.p, n);
    memcpy(&tail, bytes.p + (bytes.n - n), n);
    uint64_t hash = (head * 0x9E3779B97F4A7C15u) ^ (tail + bytes.n) * 0xD6E8FEB86659FD93u;
    return (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u >> 54;
}

static char *string_room(struct ox_unpacker *u, size_t bytes)
{
    if (bytes > STRING_CHUNK / 4)
        return ox_arena_alloc(u->arena, bytes);
    if (bytes > u->chunk_left) {
        u->chunk = ox_arena_alloc(u->arena, STRING_CHUNK);
        u->chunk_left = u->chunk ? STRING_CHUNK : 0;
        if (!u->chunk)
            return NULL;
    }
    char *room = u->chunk;
    u->chunk += bytes;
    u->chunk_left -= bytes;
    return room;
}

static enum ox_status check_string(const struct ox_unpacker *u,
                                   const ProtobufCMessageDescriptor *type,
                                   const ProtobufCFieldDescriptor *field, const char *text,
                                   struct ox_span bytes)
{
    for (size_t at = ox_utf8_plain(text, bytes.n); at < bytes.n;) {
        uint32_t code;
        uint8_t byte = (uint8_t)text[at];
        size_t length = byte && byte < 0x80 ? 1
                        : byte              ? ox_utf8_next(text + at, bytes.n - at, &code)
                                            : 0;
        if (!length)
            return ox_unpack_malformed(u, type, field, bytes.p + at,
                                       byte ? "a string is not UTF-8" : "a string holds a NUL");
        at += length;
    }
    return OX_OK;
}

enum ox_status ox_unpack_string(struct ox_unpacker *u, const ProtobufCMessageDescriptor *type,
                                const ProtobufCFieldDescriptor *field, struct ox_span bytes,
                                char **out)
{
    static_assert(OX_UNPACK_RECENT == 1 << (64 - 54), "recent_slot() gives 10 bits");
    struct ox_unpack_recent *recent = &u->recent[recent_slot(bytes)];
    if (recent->text && recent->n == bytes.n && memcmp(recent->text, bytes.p, bytes.n) == 0) {
        *out = recent->text;
        return OX_OK;
    }
    char *text = string_room(u, bytes.n + 1);
    if (!text)
        return ox_unpack_no_room(u, bytes.n + 1);
    memcpy(text, bytes.p, bytes.n); /* judged after copying: a mapped file may change */
    text[bytes.n] = '\0';
    OX_TRY(check_string(u, type, field, text, bytes));
    *recent = (struct ox_unpack_recent){text, bytes.n};
    *out = text;
    return OX_OK;
}

enum ox_status ox_unpack_bytes(struct ox_unpacker *u, const struct ox_unpack_frame *f,
                               const ProtobufCFieldDescriptor *field, struct ox_span bytes,
                               ProtobufCBinaryData *out)
{
    const ProtobufCMessageDescriptor *type = f->message->descriptor;
    size_t most =
        type == &onnx__attribute_proto__descriptor ? STRING_CHUNK / 4
        : type == &onnx__tensor_proto__descriptor && field->label != PROTOBUF_C_LABEL_REPEATED
            ? FEW_BYTES
            : 0;
    const void *data = bytes.p;
    if (bytes.n && bytes.n <= most) {
        void *copy = string_room(u, bytes.n);
        if (!copy)
            return ox_unpack_no_room(u, bytes.n);
        data = memcpy(copy, bytes.p, bytes.n);
    }
    *out = (ProtobufCBinaryData){bytes.n, (uint8_t *)(uintptr_t)data};
    return OX_OK;
}
