#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/forget.h"
#include "model/unpack_impl.h"

enum { MAX_NESTING = 10000 /* whatever the limit says: what walks messages again may recurse */ };

static enum ox_status new_message(struct ox_unpacker *u, const ProtobufCMessageDescriptor *type,
                                  ProtobufCMessage **out)
{
    size_t bytes = type == &onnx__tensor_proto__descriptor ? sizeof(struct ox_wire_tensor)
                                                           : type->sizeof_message;
    ProtobufCMessage *message = ox_arena_words(u->arena, bytes);
    if (!message)
        return ox_unpack_no_room(u, bytes);
    type->message_init(message);
    *out = message;
    return OX_OK;
}

/* Counts a message that begins here, within the limits. */
static enum ox_status count_message(struct ox_unpacker *u, struct ox_span first)
{
    uint64_t nesting = u->env->limits.nesting, submessages = u->env->limits.submessages;
    if (!nesting || nesting > MAX_NESTING)
        nesting = MAX_NESTING;
    if (u->depth > nesting)
        return ox_fail(u->err, OX_LIMIT,
                       "%s: byte %zu: messages are nested deeper than %" PRIu64 " (limit nesting)",
                       u->name, (size_t)(first.p - u->base), nesting);
    if (submessages && u->depth && ++u->counts.submessages > submessages)
        return ox_fail(u->err, OX_LIMIT,
                       "%s: more than %" PRIu64 " submessages (limit submessages)", u->name,
                       submessages);
    return OX_OK;
}

/* Enters a message: from here on its records are the next. */
static enum ox_status push(struct ox_unpacker *u, ProtobufCMessage *message, struct ox_span first,
                           const struct ox_span *more, size_t n_more)
{
    OX_TRY(count_message(u, first));
    if (u->depth == u->capacity) {
        size_t capacity = u->capacity ? u->capacity * 2 : 16;
        struct ox_unpack_frame *stack = realloc(u->stack, capacity * sizeof *stack);
        if (!stack)
            return ox_fail(u->err, OX_NO_MEMORY, "%s: out of memory", u->name);
        u->stack = stack;
        u->capacity = capacity;
    }
    struct ox_unpack_frame *f = &u->stack[u->depth++];
    memset(f, 0,
           offsetof(struct ox_unpack_frame, counts) +
               message->descriptor->n_fields * sizeof *f->counts);
    f->message = message;
    f->first = first;
    f->more = more;
    f->n_more = n_more;
    ox_unpack_rewind(f);
    if (message->descriptor == &onnx__tensor_proto__descriptor) {
        struct ox_wire_tensor *tensor = (struct ox_wire_tensor *)message;
        tensor->wire = first;
        tensor->more = more;
        tensor->n_more = n_more;
    }
    return ox_unpack_count(u, f);
}

/* All occurrences of a singular message from the present record on, which protobuf merges by reading them as one. */
static enum ox_status gather(struct ox_unpacker *u, const struct ox_unpack_frame *f, unsigned index,
                             struct ox_span **more, size_t *n_more)
{
    size_t room = f->counts[index] - 1;
    *n_more = 0;
    *more = NULL;
    if (!room)
        return OX_OK;
    *more = ox_arena_array(u->arena, room, sizeof **more);
    if (!*more)
        return ox_unpack_no_room(u, room * sizeof **more);
    struct ox_unpack_frame ahead = *f;
    uint32_t number = f->message->descriptor->fields[index].id;
    for (;;) {
        struct ox_record record;
        bool is_more;
        OX_TRY(ox_unpack_record(u, &ahead, &record, &is_more));
        if (!is_more)
            break;
        if (record.number != number || record.type != OX_WIRE_BYTES)
            continue;
        if (*n_more == room)
            return ox_unpack_changed(u);
        (*more)[(*n_more)++] = record.bytes;
    }
    return OX_OK;
}

/* The input up to here was read and is not needed again. */
static void leave(struct ox_unpacker *u, const uint8_t *at)
{
    if (at < u->kept) { /* a walk that went ahead had left this too */
        u->kept = at;
    } else if (at - u->kept >= OX_UNPACK_FAR) {
        ox_mapping_forget(u->kept, (size_t)(at - u->kept));
        u->kept = at;
    }
}

/* The place of the entry of these two strings among those that came before. */
static Onnx__StringStringEntryProto **known_entry(struct ox_unpacker *u, const char *key,
                                                  const char *value)
{
    uintptr_t hash = (uintptr_t)key ^ (uintptr_t)value * 31;
    return &u->entries[(hash ^ hash >> 8) % OX_UNPACK_ENTRIES];
}

static bool is_entry_of(const Onnx__StringStringEntryProto *entry, const char *key,
                        const char *value)
{
    return entry && entry->key == key && entry->value == value;
}

/* An entry as all exporters write it, key and value once and in this order, without a frame of its own: models have more of them than of
 * all else. *done is false for any other. */
static enum ox_status read_entry(struct ox_unpacker *u, struct ox_span bytes,
                                 ProtobufCMessage **slot, bool *done)
{
    const ProtobufCMessageDescriptor *type = &onnx__string_string_entry_proto__descriptor;
    struct ox_record key, value;
    const uint8_t *at = bytes.p, *end = bytes.p + bytes.n;
    const char *why;
    *done = at < end && ox_record_read(&key, &at, end, &why) && key.type == OX_WIRE_BYTES &&
            key.number == type->fields[0].id && at < end &&
            ox_record_read(&value, &at, end, &why) && value.type == OX_WIRE_BYTES &&
            value.number == type->fields[1].id && at == end;
    if (!*done)
        return OX_OK;
    OX_TRY(count_message(u, bytes));
    OX_TRY(ox_unpack_poll(u));
    char *strings[2] = {NULL, NULL};
    OX_TRY(ox_unpack_string(u, type, &type->fields[0], key.bytes, &strings[0]));
    OX_TRY(ox_unpack_string(u, type, &type->fields[1], value.bytes, &strings[1]));
    Onnx__StringStringEntryProto **known = known_entry(u, strings[0], strings[1]);
    if (!is_entry_of(*known, strings[0], strings[1])) {
        ProtobufCMessage *message = NULL;
        OX_TRY(new_message(u, type, &message));
        *known = (Onnx__StringStringEntryProto *)message;
        (*known)->key = strings[0];
        (*known)->value = strings[1];
    }
    *slot = &(*known)->base;
    leave(u, end);
    return OX_OK;
}

static enum ox_status enter_message(struct ox_unpacker *u, struct ox_unpack_frame *f,
                                    const ProtobufCFieldDescriptor *field, unsigned index,
                                    struct ox_span bytes, ProtobufCMessage **slot)
{
    struct ox_span *more = NULL;
    size_t n_more = 0;
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        OX_TRY(gather(u, f, index, &more, &n_more));
    if (field->descriptor == &onnx__string_string_entry_proto__descriptor && !n_more) {
        bool done;
        OX_TRY(read_entry(u, bytes, slot, &done));
        if (done)
            return OX_OK;
    }
    OX_TRY(new_message(u, field->descriptor, slot));
    return push(u, *slot, bytes, more, n_more);
}

static enum ox_status read_repeated(struct ox_unpacker *u, struct ox_unpack_frame *f,
                                    const ProtobufCFieldDescriptor *field, unsigned index,
                                    const struct ox_record *record, enum ox_unpack_use use)
{
    size_t *n = ox_unpack_member(f->message, field->quantifier_offset);
    size_t room = f->counts[index] - *n, n_read;
    char *to = *(char **)ox_unpack_member(f->message, field->offset);
    if (!room)
        return record->type == OX_WIRE_BYTES && !record->bytes.n && use == OX_USE_PACKED
                   ? OX_OK
                   : ox_unpack_changed(u);
    to += *n * ox_field_bytes(field);
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        (*n)++;
        return ox_unpack_string(u, f->message->descriptor, field, record->bytes, (char **)to);
    case PROTOBUF_C_TYPE_BYTES:
        (*n)++;
        return ox_unpack_bytes(u, f, field, record->bytes, (ProtobufCBinaryData *)to);
    case PROTOBUF_C_TYPE_MESSAGE:
        (*n)++;
        return enter_message(u, f, field, index, record->bytes, (ProtobufCMessage **)to);
    default:
        if (!ox_unpack_numbers(field, record, use, to, room, &n_read))
            return ox_unpack_changed(u);
        *n += n_read;
        return OX_OK;
    }
}

static enum ox_status read_singular(struct ox_unpacker *u, struct ox_unpack_frame *f,
                                    const ProtobufCFieldDescriptor *field, unsigned index,
                                    const struct ox_record *record)
{
    void *to = ox_unpack_member(f->message, field->offset);
    int32_t *quantifier = ox_unpack_member(f->message, field->quantifier_offset);
    bool present = true; /* the slot holds this field, not another of the oneof */
    if (ox_unpack_is_oneof(field)) {
        if (f->part < f->oneof_part || (f->part == f->oneof_part && record->start < f->oneof_from))
            return OX_OK;
        present = *quantifier == (int32_t)field->id;
        *quantifier = (int32_t)field->id;
    }
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        if (present && *(ProtobufCMessage **)to)
            return OX_OK; /* a later part of one that was merged */
        if (!f->counts[index])
            return ox_unpack_changed(u);
        return enter_message(u, f, field, index, record->bytes, to);
    case PROTOBUF_C_TYPE_STRING:
        return ox_unpack_string(u, f->message->descriptor, field, record->bytes, to);
    case PROTOBUF_C_TYPE_BYTES:
        OX_TRY(ox_unpack_bytes(u, f, field, record->bytes, to));
        if (f->message->descriptor == &onnx__tensor_proto__descriptor)
            u->counts.payload_bytes += record->bytes.n;
        break;
    default:
        ox_unpack_number(to, ox_unpack_form(field)->width, record->value);
    }
    if (!ox_unpack_is_oneof(field))
        *quantifier = 1;
    return OX_OK;
}

static enum ox_status keep_unknown(struct ox_unpacker *u, struct ox_unpack_frame *f,
                                   const struct ox_record *record)
{
    ProtobufCMessage *message = f->message;
    if (message->n_unknown_fields == f->n_unknown)
        return ox_unpack_changed(u);
    message->unknown_fields[message->n_unknown_fields++] = (ProtobufCMessageUnknownField){
        .tag = record->number,
        .wire_type = (ProtobufCWireType)record->type,
        .len = (size_t)(f->at - record->body),
        .data = (uint8_t *)(uintptr_t)record->body,
    };
    return OX_OK;
}

static enum ox_status read_fields(struct ox_unpacker *u)
{
    while (u->depth > 0) {
        struct ox_unpack_frame *f = &u->stack[u->depth - 1];
        struct ox_record record;
        bool more;
        OX_TRY(ox_unpack_record(u, f, &record, &more));
        if (!more) {
            leave(u, f->at);
            u->depth--;
            continue;
        }
        unsigned index = 0;
        const ProtobufCFieldDescriptor *field = ox_unpack_field(f, record.number, &index);
        enum ox_unpack_use use = ox_unpack_use(field, record.type);
        if (use == OX_USE_UNKNOWN)
            OX_TRY(keep_unknown(u, f, &record));
        else if (ox_unpack_is_lazy(f->message->descriptor, field))
            continue;
        else if (field->label == PROTOBUF_C_LABEL_REPEATED)
            OX_TRY(read_repeated(u, f, field, index, &record, use));
        else
            OX_TRY(read_singular(u, f, field, index, &record));
    }
    return OX_OK;
}

enum ox_status ox_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type,
                         const uint8_t *bytes, size_t n, struct ox_env *env, struct ox_arena *arena,
                         const char *name, struct ox_unpack_counts *counts, struct ox_error *err)
{
    struct ox_unpacker *u = calloc(1, sizeof *u);
    if (!u)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
    static const uint8_t nothing[1];
    if (!n)
        bytes = nothing;
    u->env = env;
    u->arena = arena;
    u->name = name;
    u->base = u->kept = bytes;
    u->until_poll = 1;
    u->err = err;
    ProtobufCMessage *message = NULL;
    enum ox_status status = new_message(u, type, &message);
    if (status == OX_OK)
        status = push(u, message, (struct ox_span){bytes, n}, NULL, 0);
    if (status == OX_OK)
        status = read_fields(u);
    if (status == OX_OK) {
        *out = message;
        if (counts)
            *counts = u->counts;
    }
    free(u->stack);
    free(u);
    return status;
}
