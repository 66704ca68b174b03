#include "model/unpack.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/forget.h"
#include "common/utf8.h"

enum {
    MAX_FIELDS = 32, /* of a message type */
    STRING_CHUNK = 4096,
    FEW_BYTES = 64,
    N_RECENT = 1024, /* a power of two */
    N_ENTRIES = 256,
    POLL_EVERY = 4096,
    FAR_BYTES = 128 * 1024, /* a record behind which the walk goes on in other pages */
    MAX_NESTING = 10000     /* whatever the limit says: what walks messages again may recurse */
};

/* A message that is being read. */
struct frame {
    ProtobufCMessage *message;
    struct ox_span first;
    const struct ox_span *more; /* the parts that are merged into it */
    size_t n_more;
    size_t part; /* that `at` is in; 0 is first */
    const uint8_t *at, *end;
    size_t
        oneof_part; /* members of the message's oneof before this place do not count: another came after them */
    const uint8_t *oneof_from;
    unsigned near; /* index of the field last looked up */
    size_t n_unknown;
    size_t counts[MAX_FIELDS]; /* elements of repeated fields, occurrences of singular messages */
};

struct recent {
    char *text;
    size_t n;
};

struct unpacker {
    struct ox_env *env;
    struct ox_arena *arena;
    const char *name;
    const uint8_t *base;
    struct frame *stack;
    size_t depth, capacity;
    struct ox_unpack_counts counts;
    size_t until_poll;
    const uint8_t *kept; /* the messages that were read from here on may be in memory still */
    char *chunk;         /* strings are laid end to end in chunks */
    size_t chunk_left;
    struct recent recent
        [N_RECENT]; /* strings repeat: operators, domains, a producer's output at its consumers */
    /* ... and so do entries of metadata: where a node comes from says the same of many */
    Onnx__StringStringEntryProto *entries[N_ENTRIES];
    struct ox_error *err;
};

enum ox_status ox_no_room(const struct ox_budget *budget, uint64_t bytes, const char *name,
                          struct ox_error *err)
{
    uint64_t limit = budget ? budget->limit : 0;
    if (limit && (bytes > limit || atomic_load(&budget->used) > limit - bytes))
        return ox_fail(err, OX_LIMIT,
                       "%s: needs more than the %" PRIu64 " bytes of memory that are allowed", name,
                       limit);
    return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
}

static enum ox_status no_room(const struct unpacker *u, size_t bytes)
{
    /* An arena asks for blocks of up to 1 MiB. */
    return ox_no_room(u->arena->budget, bytes > 1 << 20 ? bytes : 1 << 20, u->name, u->err);
}

static enum ox_status malformed(const struct unpacker *u, const ProtobufCMessageDescriptor *type,
                                const ProtobufCFieldDescriptor *field, const uint8_t *at,
                                const char *why)
{
    return ox_fail(u->err, OX_INPUT, "%s: byte %zu: %s%s%s: %s", u->name, (size_t)(at - u->base),
                   type->short_name, field ? "." : "", field ? field->name : "", why);
}

static enum ox_status changed(const struct unpacker *u)
{
    return ox_fail(u->err, OX_INPUT, "%s: changed while it was read", u->name);
}

/* ---- Fields ----------------------------------------------------------------------------------------------------- */

/* Types that ONNX has; a field of any other would be kept as unknown. Width 0: not a number. */
static const struct number_form {
    bool supported;
    unsigned char wire, width;
} forms[] = {
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

enum use { USE_UNKNOWN, USE_ONE, USE_PACKED };

static enum use use_of(const ProtobufCFieldDescriptor *field, enum ox_wire_type wire)
{
    if (!field || (size_t)field->type >= OX_COUNT(forms) || !forms[field->type].supported)
        return USE_UNKNOWN;
    const struct number_form *form = &forms[field->type];
    if (wire == form->wire)
        return USE_ONE;
    if (wire == OX_WIRE_BYTES && form->width && field->label == PROTOBUF_C_LABEL_REPEATED)
        return USE_PACKED;
    return USE_UNKNOWN;
}

static const ProtobufCFieldDescriptor *find_field(struct frame *f, uint32_t number, unsigned *index)
{
    const ProtobufCMessageDescriptor *type = f->message->descriptor;
    for (unsigned i = f->near; i < type->n_fields && i < f->near + 2; i++) {
        if (type->fields[i].id == number) {
            f->near = *index = i;
            return &type->fields[i];
        }
    }
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, number);
    if (field)
        f->near = *index = (unsigned)(field - type->fields);
    return field;
}

static bool is_lazy(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *field)
{
    return type == &onnx__tensor_proto__descriptor && field->label == PROTOBUF_C_LABEL_REPEATED &&
           (field->flags & PROTOBUF_C_FIELD_FLAG_PACKED);
}

static bool is_oneof(const ProtobufCFieldDescriptor *field)
{
    return field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

static void *member(ProtobufCMessage *message, unsigned offset)
{
    return (char *)message + offset;
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
        return forms[field->type].width;
    }
}

static enum ox_status poll(struct unpacker *u)
{
    if (--u->until_poll)
        return OX_OK;
    u->until_poll = POLL_EVERY;
    return ox_env_poll(u->env, u->err);
}

static bool next_part(struct frame *f)
{
    if (f->part == f->n_more)
        return false;
    const struct ox_span *span = &f->more[f->part++];
    f->at = span->p;
    f->end = span->p + span->n;
    return true;
}

static void rewind_frame(struct frame *f)
{
    f->part = 0;
    f->at = f->first.p;
    f->end = f->first.p + f->first.n;
}

/* The next record of the message, over the ends of its parts; *more is false behind the last. */
static enum ox_status next_record(struct unpacker *u, struct frame *f, struct ox_record *record,
                                  bool *more)
{
    while (f->at == f->end) {
        if (!next_part(f)) {
            *more = false;
            return OX_OK;
        }
    }
    const char *why;
    if (!ox_record_read(record, &f->at, f->end, &why))
        return malformed(u, f->message->descriptor, NULL, f->at, why);
    /* Weights are stepped over, but not the pages that the kernel maps around what stands between them: 64 KiB, or 2 MiB
     * where the file system keeps files in such pieces. */
    if (record->type == OX_WIRE_BYTES && record->bytes.n >= FAR_BYTES) {
        ox_mapping_forget(record->start,
                          (size_t)(record->bytes.p - record->start) + record->bytes.n);
        u->kept = f->at;
    }
    *more = true;
    return poll(u);
}

/* ---- First walk over a message: what is there, how often --------------------------------------------------------- */

static enum ox_status count_packed(struct unpacker *u, const ProtobufCMessageDescriptor *type,
                                   const ProtobufCFieldDescriptor *field, struct ox_span bytes,
                                   size_t *n)
{
    unsigned width = forms[field->type].width;
    const uint8_t *at;
    const char *why;
    if (forms[field->type].wire == OX_WIRE_VARINT)
        return ox_varints_count(bytes, n, &at, &why) ? OX_OK : malformed(u, type, field, at, why);
    if (bytes.n % width)
        return malformed(u, type, field, bytes.p, "its length is no multiple of its elements'");
    *n = bytes.n / width;
    return OX_OK;
}

static void restart_oneof(struct frame *f, const uint8_t *from, int32_t to_number)
{
    const ProtobufCMessageDescriptor *type = f->message->descriptor;
    f->oneof_part = f->part;
    f->oneof_from = from;
    for (unsigned i = 0; i < type->n_fields; i++) {
        if (is_oneof(&type->fields[i]) && (int32_t)type->fields[i].id != to_number)
            f->counts[i] = 0;
    }
}

static enum ox_status count_fields(struct unpacker *u, struct frame *f)
{
    const ProtobufCMessageDescriptor *type = f->message->descriptor;
    assert(type->n_fields <= MAX_FIELDS);
    uint32_t chosen = 0; /* member of the oneof; no message of ONNX has two oneofs */
    for (;;) {
        struct ox_record record;
        bool more;
        OX_TRY(next_record(u, f, &record, &more));
        if (!more)
            break;
        unsigned index = 0;
        const ProtobufCFieldDescriptor *field = find_field(f, record.number, &index);
        enum use use = use_of(field, record.type);
        if (use == USE_UNKNOWN) {
            f->n_unknown++;
            continue;
        }
        size_t n = 1;
        if (use == USE_PACKED)
            OX_TRY(count_packed(u, type, field, record.bytes, &n));
        if (is_oneof(field) && chosen != record.number) {
            restart_oneof(f, record.start, (int32_t)record.number);
            chosen = record.number;
        }
        f->counts[index] += n;
        if (u->depth == 1)
            u->counts.known_fields++;
        if (is_lazy(type, field)) {
            size_t *n_field = member(f->message, field->quantifier_offset);
            *n_field += n;
            u->counts.payload_bytes +=
                record.type == OX_WIRE_BYTES ? record.bytes.n : (size_t)(f->at - record.body);
        }
    }
    rewind_frame(f);
    return OX_OK;
}

static enum ox_status allocate_fields(struct unpacker *u, struct frame *f)
{
    const ProtobufCMessageDescriptor *type = f->message->descriptor;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        size_t n = f->counts[i];
        if (!n || field->label != PROTOBUF_C_LABEL_REPEATED || is_lazy(type, field))
            continue;
        void **array = member(f->message, field->offset);
        size_t bytes;
        if (OX_MUL_OVERFLOWS(n, ox_field_bytes(field), &bytes))
            return no_room(u, SIZE_MAX);
        *array = ox_arena_words(u->arena, bytes);
        if (!*array)
            return no_room(u, bytes);
    }
    if (f->n_unknown) {
        size_t bytes = sizeof(ProtobufCMessageUnknownField);
        f->message->unknown_fields = ox_arena_array(u->arena, f->n_unknown, bytes);
        if (!f->message->unknown_fields)
            return no_room(u, f->n_unknown * bytes);
    }
    return OX_OK;
}

/* ---- Second walk: values ----------------------------------------------------------------------------------------- */

static enum ox_status new_message(struct unpacker *u, const ProtobufCMessageDescriptor *type,
                                  ProtobufCMessage **out)
{
    size_t bytes = type == &onnx__tensor_proto__descriptor ? sizeof(struct ox_wire_tensor)
                                                           : type->sizeof_message;
    ProtobufCMessage *message = ox_arena_words(u->arena, bytes);
    if (!message)
        return no_room(u, bytes);
    type->message_init(message);
    *out = message;
    return OX_OK;
}

/* Counts a message that begins here, within the limits. */
static enum ox_status count_message(struct unpacker *u, struct ox_span first)
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
static enum ox_status push(struct unpacker *u, ProtobufCMessage *message, struct ox_span first,
                           const struct ox_span *more, size_t n_more)
{
    OX_TRY(count_message(u, first));
    if (u->depth == u->capacity) {
        size_t capacity = u->capacity ? u->capacity * 2 : 16;
        struct frame *stack = realloc(u->stack, capacity * sizeof *stack);
        if (!stack)
            return ox_fail(u->err, OX_NO_MEMORY, "%s: out of memory", u->name);
        u->stack = stack;
        u->capacity = capacity;
    }
    struct frame *f = &u->stack[u->depth++];
    memset(f, 0,
           offsetof(struct frame, counts) + message->descriptor->n_fields * sizeof *f->counts);
    f->message = message;
    f->first = first;
    f->more = more;
    f->n_more = n_more;
    rewind_frame(f);
    if (message->descriptor == &onnx__tensor_proto__descriptor) {
        struct ox_wire_tensor *tensor = (struct ox_wire_tensor *)message;
        tensor->wire = first;
        tensor->more = more;
        tensor->n_more = n_more;
    }
    OX_TRY(count_fields(u, f));
    return allocate_fields(u, f);
}

static size_t recent_slot(struct ox_span bytes)
{
    uint64_t head = 0, tail = 0;
    size_t n = bytes.n < 8 ? bytes.n : 8;
    memcpy(&head, bytes.p, n);
    memcpy(&tail, bytes.p + (bytes.n - n), n);
    uint64_t hash = (head * 0x9E3779B97F4A7C15u) ^ (tail + bytes.n) * 0xD6E8FEB86659FD93u;
    return (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u >> 54;
}

static char *string_room(struct unpacker *u, size_t bytes)
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

static enum ox_status check_string(const struct unpacker *u, const ProtobufCMessageDescriptor *type,
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
            return malformed(u, type, field, bytes.p + at,
                             byte ? "a string is not UTF-8" : "a string holds a NUL");
        at += length;
    }
    return OX_OK;
}

static enum ox_status read_string(struct unpacker *u, const ProtobufCMessageDescriptor *type,
                                  const ProtobufCFieldDescriptor *field, struct ox_span bytes,
                                  char **out)
{
    static_assert(N_RECENT == 1 << (64 - 54), "recent_slot() gives 10 bits");
    struct recent *recent = &u->recent[recent_slot(bytes)];
    if (recent->text && recent->n == bytes.n && memcmp(recent->text, bytes.p, bytes.n) == 0) {
        *out = recent->text;
        return OX_OK;
    }
    char *text = string_room(u, bytes.n + 1);
    if (!text)
        return no_room(u, bytes.n + 1);
    memcpy(text, bytes.p, bytes.n); /* judged after copying: a mapped file may change */
    text[bytes.n] = '\0';
    OX_TRY(check_string(u, type, field, text, bytes));
    *recent = (struct recent){text, bytes.n};
    *out = text;
    return OX_OK;
}

/* Bytes stay where they are, but for short strings of attributes and tensors of a few elements: they are looked at, each in other pages,
 * which so need not come back. */
static enum ox_status read_bytes(struct unpacker *u, const struct frame *f,
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
            return no_room(u, bytes.n);
        data = memcpy(copy, bytes.p, bytes.n);
    }
    *out = (ProtobufCBinaryData){bytes.n, (uint8_t *)(uintptr_t)data};
    return OX_OK;
}

static void store_number(void *to, unsigned width, uint64_t value)
{
    uint32_t low = (uint32_t)value;
    if (width == 4)
        memcpy(to, &low, 4);
    else
        memcpy(to, &value, 8);
}

/* Numbers of a record, one or packed, to the array; false when there are more than `room`. */
static bool read_numbers(const ProtobufCFieldDescriptor *field, const struct ox_record *record,
                         enum use use, char *to, size_t room, size_t *n_read)
{
    unsigned width = forms[field->type].width;
    if (use == USE_ONE) {
        if (!room)
            return false;
        store_number(to, width, record->value);
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
        if (forms[field->type].wire == OX_WIRE_VARINT) {
            if (!ox_varint_read(&value, &at, end, &why))
                return false;
        } else {
            if ((size_t)(end - at) < width)
                return false;
            value = width == 4 ? ox_fixed32(at) : ox_fixed64(at);
            at += width;
        }
        store_number(to, width, value);
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
            enum use use = record.number == number ? use_of(field, record.type) : USE_UNKNOWN;
            if (use == USE_UNKNOWN)
                continue;
            if (!read_numbers(field, &record, use, (char *)to + done * forms[field->type].width,
                              n - done, &n_read))
                return false;
            done += n_read;
        }
    }
    return done == n;
}

/* All occurrences of a singular message from the present record on, which protobuf merges by reading them as one. */
static enum ox_status gather(struct unpacker *u, const struct frame *f, unsigned index,
                             struct ox_span **more, size_t *n_more)
{
    size_t room = f->counts[index] - 1;
    *n_more = 0;
    *more = NULL;
    if (!room)
        return OX_OK;
    *more = ox_arena_array(u->arena, room, sizeof **more);
    if (!*more)
        return no_room(u, room * sizeof **more);
    struct frame ahead = *f;
    uint32_t number = f->message->descriptor->fields[index].id;
    for (;;) {
        struct ox_record record;
        bool is_more;
        OX_TRY(next_record(u, &ahead, &record, &is_more));
        if (!is_more)
            break;
        if (record.number != number || record.type != OX_WIRE_BYTES)
            continue;
        if (*n_more == room)
            return changed(u);
        (*more)[(*n_more)++] = record.bytes;
    }
    return OX_OK;
}

/* The input up to here was read and is not needed again. */
static void leave(struct unpacker *u, const uint8_t *at)
{
    if (at < u->kept) { /* a walk that went ahead had left this too */
        u->kept = at;
    } else if (at - u->kept >= FAR_BYTES) {
        ox_mapping_forget(u->kept, (size_t)(at - u->kept));
        u->kept = at;
    }
}

/* The place of the entry of these two strings among those that came before. */
static Onnx__StringStringEntryProto **known_entry(struct unpacker *u, const char *key,
                                                  const char *value)
{
    uintptr_t hash = (uintptr_t)key ^ (uintptr_t)value * 31;
    return &u->entries[(hash ^ hash >> 8) % N_ENTRIES];
}

static bool is_entry_of(const Onnx__StringStringEntryProto *entry, const char *key,
                        const char *value)
{
    return entry && entry->key == key && entry->value == value;
}

/* An entry as all exporters write it, key and value once and in this order, without a frame of its own: models have more of them than of
 * all else. *done is false for any other. */
static enum ox_status read_entry(struct unpacker *u, struct ox_span bytes, ProtobufCMessage **slot,
                                 bool *done)
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
    OX_TRY(poll(u));
    char *strings[2] = {NULL, NULL};
    OX_TRY(read_string(u, type, &type->fields[0], key.bytes, &strings[0]));
    OX_TRY(read_string(u, type, &type->fields[1], value.bytes, &strings[1]));
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

static enum ox_status enter_message(struct unpacker *u, struct frame *f,
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

static enum ox_status read_repeated(struct unpacker *u, struct frame *f,
                                    const ProtobufCFieldDescriptor *field, unsigned index,
                                    const struct ox_record *record, enum use use)
{
    size_t *n = member(f->message, field->quantifier_offset);
    size_t room = f->counts[index] - *n, n_read;
    char *to = *(char **)member(f->message, field->offset);
    if (!room)
        return record->type == OX_WIRE_BYTES && !record->bytes.n && use == USE_PACKED ? OX_OK
                                                                                      : changed(u);
    to += *n * ox_field_bytes(field);
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        (*n)++;
        return read_string(u, f->message->descriptor, field, record->bytes, (char **)to);
    case PROTOBUF_C_TYPE_BYTES:
        (*n)++;
        return read_bytes(u, f, field, record->bytes, (ProtobufCBinaryData *)to);
    case PROTOBUF_C_TYPE_MESSAGE:
        (*n)++;
        return enter_message(u, f, field, index, record->bytes, (ProtobufCMessage **)to);
    default:
        if (!read_numbers(field, record, use, to, room, &n_read))
            return changed(u);
        *n += n_read;
        return OX_OK;
    }
}

static enum ox_status read_singular(struct unpacker *u, struct frame *f,
                                    const ProtobufCFieldDescriptor *field, unsigned index,
                                    const struct ox_record *record)
{
    void *to = member(f->message, field->offset);
    int32_t *quantifier = member(f->message, field->quantifier_offset);
    bool present = true; /* the slot holds this field, not another of the oneof */
    if (is_oneof(field)) {
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
            return changed(u);
        return enter_message(u, f, field, index, record->bytes, to);
    case PROTOBUF_C_TYPE_STRING:
        return read_string(u, f->message->descriptor, field, record->bytes, to);
    case PROTOBUF_C_TYPE_BYTES:
        OX_TRY(read_bytes(u, f, field, record->bytes, to));
        if (f->message->descriptor == &onnx__tensor_proto__descriptor)
            u->counts.payload_bytes += record->bytes.n;
        break;
    default:
        store_number(to, forms[field->type].width, record->value);
    }
    if (!is_oneof(field))
        *quantifier = 1;
    return OX_OK;
}

static enum ox_status keep_unknown(struct unpacker *u, struct frame *f,
                                   const struct ox_record *record)
{
    ProtobufCMessage *message = f->message;
    if (message->n_unknown_fields == f->n_unknown)
        return changed(u);
    message->unknown_fields[message->n_unknown_fields++] = (ProtobufCMessageUnknownField){
        .tag = record->number,
        .wire_type = (ProtobufCWireType)record->type,
        .len = (size_t)(f->at - record->body),
        .data = (uint8_t *)(uintptr_t)record->body,
    };
    return OX_OK;
}

static enum ox_status read_fields(struct unpacker *u)
{
    while (u->depth > 0) {
        struct frame *f = &u->stack[u->depth - 1];
        struct ox_record record;
        bool more;
        OX_TRY(next_record(u, f, &record, &more));
        if (!more) {
            leave(u, f->at);
            u->depth--;
            continue;
        }
        unsigned index = 0;
        const ProtobufCFieldDescriptor *field = find_field(f, record.number, &index);
        enum use use = use_of(field, record.type);
        if (use == USE_UNKNOWN)
            OX_TRY(keep_unknown(u, f, &record));
        else if (is_lazy(f->message->descriptor, field))
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
    struct unpacker *u = calloc(1, sizeof *u);
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
