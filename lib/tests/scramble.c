#include "tests/scramble.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/damage.h"

enum { VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 };
enum { TAG_BYTES = 5, VARINT_BYTES = 10 };

/* A field as it stands: its value alone in [value, end). */
struct field {
    uint32_t number;
    unsigned wire;
    const uint8_t *start, *value, *end;
    uint64_t varint;                       /* or the length */
    const ProtobufCFieldDescriptor *known; /* NULL: unknown */
};

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static uint64_t read_varint(const uint8_t **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
}

static struct field read_field(const uint8_t **at, const ProtobufCMessageDescriptor *type)
{
    struct field f = {.start = *at};
    uint64_t tag = read_varint(at);
    f.number = (uint32_t)(tag >> 3);
    f.wire = tag & 7;
    f.known = type ? protobuf_c_message_descriptor_get_field(type, f.number) : NULL;
    f.value = *at;
    if (f.wire == VARINT) {
        f.varint = read_varint(at);
    } else if (f.wire == LENGTH) {
        f.varint = read_varint(at);
        f.value = *at;
        *at += f.varint;
    } else if (f.wire == GROUP) {
        while (read_field(at, NULL).wire != END_GROUP)
            ;
    } else if (f.wire != END_GROUP) {
        *at += f.wire == FIXED64 ? 8 : 4;
    }
    f.end = *at;
    return f;
}

/* The fields of a message; the caller frees them. */
static struct field *read_fields(const uint8_t *bytes, size_t n,
                                 const ProtobufCMessageDescriptor *type, size_t *count)
{
    struct field *fields = NULL;
    size_t room = 0;
    *count = 0;
    for (const uint8_t *at = bytes; at < bytes + n; ++*count) {
        if (*count == room) {
            room = room ? 2 * room : 16;
            fields = realloc(fields, room * sizeof *fields);
            ck_assert_ptr_nonnull(fields);
        }
        fields[*count] = read_field(&at, type);
        ck_assert(at <= bytes + n);
    }
    return fields;
}

static bool is_message(const struct field *f)
{
    return f->known && f->known->type == PROTOBUF_C_TYPE_MESSAGE;
}

static bool is_repeated(const struct field *f)
{
    return f->known && f->known->label == PROTOBUF_C_LABEL_REPEATED;
}

static unsigned wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return LENGTH;
    default:
        return VARINT;
    }
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static const ProtobufCMessageDescriptor *inner(const struct field *f)
{
    return f->known->descriptor;
}

static void salt_here(struct wire *out, uint64_t *state)
{
    for (uint64_t n = damage_next(state) % 3; n > 0; n--) {
        uint32_t number = 5000 + (uint32_t)(damage_next(state) % 100000);
        uint64_t value = damage_next(state);
        switch (damage_next(state) % 4) {
        case 0:
            wire_int(out, number, value);
            break;
        case 1:
            wire_bytes(out, number, &value, value % 8);
            break;
        case 2:
            wire_tag(out, number, FIXED64);
            wire_raw(out, &value, 8);
            break;
        default:
            wire_tag(out, number, FIXED32);
            wire_raw(out, &value, 4);
        }
    }
}

void scramble_salt(struct wire *out, const uint8_t *bytes, size_t n,
                   const ProtobufCMessageDescriptor *type, uint64_t *state)
{
    for (const uint8_t *at = bytes; at < bytes + n;) {
        struct field f = read_field(&at, type);
        if (is_message(&f)) {
            wire_begin(out, f.number);
            scramble_salt(out, f.value, f.varint, inner(&f), state);
            wire_end(out);
        } else {
            wire_raw(out, f.start, (size_t)(f.end - f.start));
        }
    }
    if (damage_next(state) % 4 == 0)
        salt_here(out, state);
}

/* A number in up to `most` bytes, the last of them empty. */
static void long_varint(struct wire *out, uint64_t value, size_t most, uint64_t *state)
{
    uint8_t bytes[VARINT_BYTES];
    size_t n = 0;
    for (; value > 0x7F; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    uint64_t more = damage_next(state) % 3 || n >= most ? 0 : damage_next(state) % (most - n + 1);
    for (; more > 0; more--) {
        bytes[n - 1] |= 0x80;
        bytes[n++] = 0;
    }
    wire_raw(out, bytes, n);
}

static void long_tag(struct wire *out, uint32_t number, unsigned wire, uint64_t *state)
{
    long_varint(out, (uint64_t)number << 3 | wire, TAG_BYTES, state);
}

static void put_scalar(struct wire *out, unsigned wire, const uint8_t **at, uint64_t *state)
{
    if (wire == VARINT) {
        long_varint(out, read_varint(at), VARINT_BYTES, state);
    } else {
        size_t n = wire == FIXED64 ? 8 : 4;
        wire_raw(out, *at, n);
        *at += n;
    }
}

static void put_bytes(struct wire *out, uint32_t number, const void *bytes, size_t n,
                      uint64_t *state)
{
    long_tag(out, number, LENGTH, state);
    long_varint(out, n, TAG_BYTES, state);
    wire_raw(out, bytes, n);
}

/* Numbers in [at, end): some alone, some packed, some packs of none. */
static void put_numbers(struct wire *out, const struct field *f, const uint8_t *at,
                        const uint8_t *end, uint64_t *state)
{
    unsigned wire = wire_of(f->known->type);
    while (at < end) {
        if (damage_next(state) % 2) {
            long_tag(out, f->number, wire, state);
            put_scalar(out, wire, &at, state);
            continue;
        }
        struct wire packed = {0};
        for (uint64_t n = damage_next(state) % 8; n > 0 && at < end; n--)
            put_scalar(&packed, wire, &at, state);
        put_bytes(out, f->number, packed.data, packed.n, state);
        wire_release(&packed);
    }
}

static void put_message(struct wire *out, const struct field *f, uint64_t *state)
{
    size_t n, first = 0;
    struct field *fields = read_fields(f->value, f->varint, inner(f), &n);
    const uint8_t *split = f->value;
    if (!is_repeated(f) && n > 0 && damage_next(state) % 3 == 0) {
        first = damage_next(state) % (n + 1);
        split = first < n ? fields[first].start : f->end;
        struct wire part = {0};
        scramble(&part, f->value, (size_t)(split - f->value), inner(f), state);
        put_bytes(out, f->number, part.data, part.n, state);
        wire_release(&part);
    }
    struct wire rest = {0};
    scramble(&rest, split, (size_t)(f->end - split), inner(f), state);
    put_bytes(out, f->number, rest.data, rest.n, state);
    wire_release(&rest);
    free(fields);
}

/* A value that the field's own overrules. */
static void put_overruled(struct wire *out, const struct field *f, uint64_t *state)
{
    static const uint8_t other[8] = {1};
    const uint8_t *at = other;
    if (f->wire == LENGTH) {
        put_bytes(out, f->number, "other", 5, state);
    } else {
        long_tag(out, f->number, f->wire, state);
        put_scalar(out, f->wire, &at, state);
    }
}

static void put_field(struct wire *out, const struct field *f, uint64_t *state)
{
    const uint8_t *at = f->value;
    if (!f->known) {
        wire_raw(out, f->start, (size_t)(f->end - f->start));
    } else if (is_message(f)) {
        put_message(out, f, state);
    } else if (is_repeated(f) && wire_of(f->known->type) != LENGTH) {
        put_numbers(out, f, f->value, f->end, state);
    } else {
        if (!is_repeated(f) && damage_next(state) % 8 == 0)
            put_overruled(out, f, state);
        if (f->wire == LENGTH) {
            put_bytes(out, f->number, f->value, f->varint, state);
        } else {
            long_tag(out, f->number, f->wire, state);
            put_scalar(out, f->wire, &at, state);
        }
    }
}

void scramble(struct wire *out, const uint8_t *bytes, size_t n,
              const ProtobufCMessageDescriptor *type, uint64_t *state)
{
    size_t n_fields;
    struct field *fields = read_fields(bytes, n, type, &n_fields);
    bool in_order = damage_next(state) % 4 == 0;
    for (size_t left = n_fields; left > 0; left--) {
        /* The first of those left that have the number of a field chosen among the next few. */
        size_t chosen = in_order ? 0 : damage_next(state) % (left < 64 ? left : 64);
        uint32_t number = fields[chosen].known ? fields[chosen].number : 0;
        size_t i = 0;
        while ((fields[i].known ? fields[i].number : 0) != number)
            i++;
        put_field(out, &fields[i], state);
        memmove(fields + i, fields + i + 1, (left - 1 - i) * sizeof *fields);
    }
    free(fields);
}
