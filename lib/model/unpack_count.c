#include <assert.h>

#include "common/forget.h"
#include "model/unpack_impl.h"

enum { POLL_EVERY = 4096 };

const ProtobufCFieldDescriptor *ox_unpack_field(struct ox_unpack_frame *f, uint32_t number,
                                                unsigned *index)
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

enum ox_status ox_unpack_poll(struct ox_unpacker *u)
{
    if (--u->until_poll)
        return OX_OK;
    u->until_poll = POLL_EVERY;
    return ox_env_poll(u->env, u->err);
}

static bool next_part(struct ox_unpack_frame *f)
{
    if (f->part == f->n_more)
        return false;
    const struct ox_span *span = &f->more[f->part++];
    f->at = span->p;
    f->end = span->p + span->n;
    return true;
}

void ox_unpack_rewind(struct ox_unpack_frame *f)
{
    f->part = 0;
    f->at = f->first.p;
    f->end = f->first.p + f->first.n;
}

enum ox_status ox_unpack_record(struct ox_unpacker *u, struct ox_unpack_frame *f,
                                struct ox_record *record, bool *more)
{
    while (f->at == f->end) {
        if (!next_part(f)) {
            *more = false;
            return OX_OK;
        }
    }
    const char *why;
    if (!ox_record_read(record, &f->at, f->end, &why))
        return ox_unpack_malformed(u, f->message->descriptor, NULL, f->at, why);
    /* Weights are stepped over, but not the pages that the kernel maps around what stands between them: 64 KiB, or 2 MiB
     * where the file system keeps files in such pieces. */
    if (record->type == OX_WIRE_BYTES && record->bytes.n >= OX_UNPACK_FAR) {
        ox_mapping_forget(record->start,
                          (size_t)(record->bytes.p - record->start) + record->bytes.n);
        u->kept = f->at;
    }
    *more = true;
    return ox_unpack_poll(u);
}

static enum ox_status count_packed(struct ox_unpacker *u, const ProtobufCMessageDescriptor *type,
                                   const ProtobufCFieldDescriptor *field, struct ox_span bytes,
                                   size_t *n)
{
    unsigned width = ox_unpack_form(field)->width;
    const uint8_t *at;
    const char *why;
    if (ox_unpack_form(field)->wire == OX_WIRE_VARINT)
        return ox_varints_count(bytes, n, &at, &why) ? OX_OK
                                                     : ox_unpack_malformed(u, type, field, at, why);
    if (bytes.n % width)
        return ox_unpack_malformed(u, type, field, bytes.p,
                                   "its length is no multiple of its elements'");
    *n = bytes.n / width;
    return OX_OK;
}

static void restart_oneof(struct ox_unpack_frame *f, const uint8_t *from, int32_t to_number)
{
    const ProtobufCMessageDescriptor *type = f->message->descriptor;
    f->oneof_part = f->part;
    f->oneof_from = from;
    for (unsigned i = 0; i < type->n_fields; i++) {
        if (ox_unpack_is_oneof(&type->fields[i]) && (int32_t)type->fields[i].id != to_number)
            f->counts[i] = 0;
    }
}

static enum ox_status count_fields(struct ox_unpacker *u, struct ox_unpack_frame *f)
{
    const ProtobufCMessageDescriptor *type = f->message->descriptor;
    assert(type->n_fields <= OX_UNPACK_FIELDS);
    uint32_t chosen = 0; /* member of the oneof; no message of ONNX has two oneofs */
    for (;;) {
        struct ox_record record;
        bool more;
        OX_TRY(ox_unpack_record(u, f, &record, &more));
        if (!more)
            break;
        unsigned index = 0;
        const ProtobufCFieldDescriptor *field = ox_unpack_field(f, record.number, &index);
        enum ox_unpack_use use = ox_unpack_use(field, record.type);
        if (use == OX_USE_UNKNOWN) {
            f->n_unknown++;
            continue;
        }
        size_t n = 1;
        if (use == OX_USE_PACKED)
            OX_TRY(count_packed(u, type, field, record.bytes, &n));
        if (ox_unpack_is_oneof(field) && chosen != record.number) {
            restart_oneof(f, record.start, (int32_t)record.number);
            chosen = record.number;
        }
        f->counts[index] += n;
        if (u->depth == 1)
            u->counts.known_fields++;
        if (ox_unpack_is_lazy(type, field)) {
            size_t *n_field = ox_unpack_member(f->message, field->quantifier_offset);
            *n_field += n;
            u->counts.payload_bytes +=
                record.type == OX_WIRE_BYTES ? record.bytes.n : (size_t)(f->at - record.body);
        }
    }
    ox_unpack_rewind(f);
    return OX_OK;
}

static enum ox_status allocate_fields(struct ox_unpacker *u, struct ox_unpack_frame *f)
{
    const ProtobufCMessageDescriptor *type = f->message->descriptor;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        size_t n = f->counts[i];
        if (!n || field->label != PROTOBUF_C_LABEL_REPEATED || ox_unpack_is_lazy(type, field))
            continue;
        void **array = ox_unpack_member(f->message, field->offset);
        size_t bytes;
        if (OX_MUL_OVERFLOWS(n, ox_field_bytes(field), &bytes))
            return ox_unpack_no_room(u, SIZE_MAX);
        *array = ox_arena_words(u->arena, bytes);
        if (!*array)
            return ox_unpack_no_room(u, bytes);
    }
    if (f->n_unknown) {
        size_t bytes = sizeof(ProtobufCMessageUnknownField);
        f->message->unknown_fields = ox_arena_array(u->arena, f->n_unknown, bytes);
        if (!f->message->unknown_fields)
            return ox_unpack_no_room(u, f->n_unknown * bytes);
    }
    return OX_OK;
}

enum ox_status ox_unpack_count(struct ox_unpacker *u, struct ox_unpack_frame *f)
{
    OX_TRY(count_fields(u, f));
    return allocate_fields(u, f);
}
