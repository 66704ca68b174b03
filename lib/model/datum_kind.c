/* TensorProto, SequenceProto, OptionalProto, MapProto, SparseTensorProto and ModelProto told apart by the numbers and wire types of
 * their fields. */
#include "model/datum_kind.h"

#include "onnxtool.h"

enum { MOST_FIELD = 15, MOST_NESTING = 8 };
enum { ELEM_SEQUENCE = 3, ELEM_OPTIONAL = 5 }; /* DataType of SequenceProto */

/* The records of a message: bit i stands for field i. */
struct fields {
    uint32_t numbers, bytes;
    uint64_t type; /* field 2, where it is a number */
    struct ox_span texts[MOST_FIELD + 1];
};

/* What is damaged further on is for the reader to tell. */
static void survey(struct fields *f, struct ox_span message)
{
    const uint8_t *at = message.p, *end = at + message.n;
    struct ox_record record;
    const char *why;
    *f = (struct fields){0};
    while (at < end && ox_record_read(&record, &at, end, &why)) {
        if (record.number > MOST_FIELD)
            continue;
        const uint32_t bit = UINT32_C(1) << record.number;
        if (record.type == OX_WIRE_BYTES) {
            f->bytes |= bit;
            f->texts[record.number] = record.bytes;
        } else {
            f->numbers |= bit;
            if (record.number == 2)
                f->type = record.value;
        }
    }
}

static bool has(uint32_t set, unsigned field)
{
    return set >> field & 1;
}

static const char *kind_of(struct ox_span message, unsigned depth, struct ox_span *name);

static bool is_map(const struct fields *f)
{
    const bool strings = f->type == OX_STRING && has(f->bytes, 4);
    if (!has(f->bytes, 5) || has(f->numbers, 1))
        return false;
    return strings || has(f->numbers | f->bytes, 3) || f->type == OX_INT64 ||
           f->type == OX_STRING || f->type == OX_UINT32 || f->type == OX_UINT64;
}

/* int32_data of an int8 scalar has the number of a sequence's sequences. */
static bool is_sequence(const struct fields *f, unsigned depth)
{
    const uint32_t elements = 0x3ff0; /* fields that tensors alone have, or hold their data in */
    if (has(f->numbers, 1) || has(f->bytes, 8) || has(f->bytes, 9) || f->type < 1 ||
        f->type > ELEM_OPTIONAL)
        return false;
    const unsigned field = (unsigned)f->type + 2;
    if (!has(f->bytes, field))
        return f->type == 1 && !((f->numbers | f->bytes) & elements);
    return f->type != ELEM_SEQUENCE || kind_of(f->texts[field], depth + 1, NULL);
}

static const char *kind_of(struct ox_span message, unsigned depth, struct ox_span *name)
{
    struct fields f;
    struct ox_span held = {0};
    if (depth > MOST_NESTING)
        return NULL;
    survey(&f, message);
    if (name)
        *name = f.texts[1];
    if (has(f.bytes, 1) && has(f.bytes, 2) && !has(f.bytes, 7)) {
        const char *values = kind_of(f.texts[1], depth + 1, &held);
        if (name)
            *name = held;
        return values && *values == '?' ? "sparse(any)" : NULL;
    }
    if (!has(f.numbers, 2))
        return NULL;
    if (is_map(&f))
        return "map(any)";
    if (is_sequence(&f, depth))
        return "seq(any)";
    if (f.type == 0 && !has(f.numbers, 1))
        return "optional(any)";
    if (name)
        *name = f.texts[8];
    return "?";
}

const char *ox_datum_kind(struct ox_span message, struct ox_span *name)
{
    return kind_of(message, 0, name);
}
