/* What the files of ox_unpack() share: the state of the walk (a stack of messages), fields, records, and what reads values of each kind. */
#ifndef OX_MODEL_UNPACK_IMPL_H
#define OX_MODEL_UNPACK_IMPL_H

#include "model/unpack.h"

enum {
    OX_UNPACK_FIELDS = 32,   /* of a message type */
    OX_UNPACK_RECENT = 1024, /* a power of two */
    OX_UNPACK_ENTRIES = 256,
    OX_UNPACK_FAR = 128 * 1024 /* bytes of a record behind which the walk goes on in other pages */
};

/* A message that is being read. */
struct ox_unpack_frame {
    ProtobufCMessage *message;
    struct ox_span first;
    const struct ox_span *more; /* the parts that are merged into it */
    size_t n_more;
    size_t part; /* that `at` is in; 0 is first */
    const uint8_t *at, *end;
    /* Members of the message's oneof before this place do not count: another came after them. */
    size_t oneof_part;
    const uint8_t *oneof_from;
    unsigned near; /* index of the field last looked up */
    size_t n_unknown;
    /* Elements of repeated fields, occurrences of singular messages. */
    size_t counts[OX_UNPACK_FIELDS];
};

struct ox_unpack_recent {
    char *text;
    size_t n;
};

struct ox_unpacker {
    struct ox_env *env;
    struct ox_arena *arena;
    const char *name;
    const uint8_t *base;
    struct ox_unpack_frame *stack;
    size_t depth, capacity;
    struct ox_unpack_counts counts;
    size_t until_poll;
    const uint8_t *kept; /* the messages that were read from here on may be in memory still */
    char *chunk;         /* strings are laid end to end in chunks */
    size_t chunk_left;
    /* Strings repeat: operators, domains, a producer's output at its consumers. */
    struct ox_unpack_recent recent[OX_UNPACK_RECENT];
    /* And so do entries of metadata: where a node comes from says the same of many. */
    Onnx__StringStringEntryProto *entries[OX_UNPACK_ENTRIES];
    struct ox_error *err;
};

/* ---- unpack_errors.c -------------------------------------------------------------------------------------------- */

/* Errors, all with the file's name: a failed allocation of so many bytes; OX_INPUT at a byte of a field (NULL: of the message itself); a file
 * that is not what it was on the first walk. */
enum ox_status ox_unpack_no_room(const struct ox_unpacker *u, size_t bytes);
enum ox_status ox_unpack_malformed(const struct ox_unpacker *u,
                                   const ProtobufCMessageDescriptor *type,
                                   const ProtobufCFieldDescriptor *field, const uint8_t *at,
                                   const char *why);
enum ox_status ox_unpack_changed(const struct ox_unpacker *u);

/* ---- unpack_number.c -------------------------------------------------------------------------------------------- */

/* How a type's values stand in a record. */
struct ox_unpack_form {
    bool supported;            /* ONNX has it; a field of any other type would be kept as unknown */
    unsigned char wire, width; /* width 0: not a number */
};

const struct ox_unpack_form *ox_unpack_form(const ProtobufCFieldDescriptor *field);

/* What a record of that wire type is to a field (NULL: none has its number). */
enum ox_unpack_use { OX_USE_UNKNOWN, OX_USE_ONE, OX_USE_PACKED };

enum ox_unpack_use ox_unpack_use(const ProtobufCFieldDescriptor *field, enum ox_wire_type wire);

/* Writes 4 or 8 bytes. */
void ox_unpack_number(void *to, unsigned width, uint64_t value);

/* Numbers of a record, one or packed, to the array; false when there are more than `room`. */
bool ox_unpack_numbers(const ProtobufCFieldDescriptor *field, const struct ox_record *record,
                       enum ox_unpack_use use, char *to, size_t room, size_t *n_read);

/* ---- unpack_string.c -------------------------------------------------------------------------------------------- */

/* A string, in the arena; the same pointer for one that came shortly before. OX_INPUT: it holds a NUL or is not UTF-8. */
enum ox_status ox_unpack_string(struct ox_unpacker *u, const ProtobufCMessageDescriptor *type,
                                const ProtobufCFieldDescriptor *field, struct ox_span bytes,
                                char **out);

/* Bytes stay where they are, but for short strings of attributes and tensors of a few elements: they are looked at, each in other pages,
 * which so need not come back. */
enum ox_status ox_unpack_bytes(struct ox_unpacker *u, const struct ox_unpack_frame *f,
                               const ProtobufCFieldDescriptor *field, struct ox_span bytes,
                               ProtobufCBinaryData *out);

/* ---- unpack_count.c --------------------------------------------------------------------------------------------- */

/* The first walk over a message: how often each field occurs, to f->counts, and arrays for those that repeat. */
enum ox_status ox_unpack_count(struct ox_unpacker *u, struct ox_unpack_frame *f);

/* The next record of the message, over the ends of its parts; *more is false behind the last. */
enum ox_status ox_unpack_record(struct ox_unpacker *u, struct ox_unpack_frame *f,
                                struct ox_record *record, bool *more);

/* Back to the message's first record. */
void ox_unpack_rewind(struct ox_unpack_frame *f);

/* Whether the user wants it stopped, now and then. */
enum ox_status ox_unpack_poll(struct ox_unpacker *u);

const ProtobufCFieldDescriptor *ox_unpack_field(struct ox_unpack_frame *f, uint32_t number,
                                                unsigned *index);

/* Fields whose numbers are counted and left where they are. */
static inline bool ox_unpack_is_lazy(const ProtobufCMessageDescriptor *type,
                                     const ProtobufCFieldDescriptor *field)
{
    return type == &onnx__tensor_proto__descriptor && field->label == PROTOBUF_C_LABEL_REPEATED &&
           (field->flags & PROTOBUF_C_FIELD_FLAG_PACKED);
}

static inline bool ox_unpack_is_oneof(const ProtobufCFieldDescriptor *field)
{
    return field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

static inline void *ox_unpack_member(ProtobufCMessage *message, unsigned offset)
{
    return (char *)message + offset;
}

#endif
