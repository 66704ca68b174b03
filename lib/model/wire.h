/* The protobuf wire format, a record (tag and value) at a time. Nothing here knows ONNX. */
#ifndef OX_MODEL_WIRE_H
#define OX_MODEL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ox_span {
    const uint8_t *p;
    size_t n;
};

enum ox_wire_type {
    OX_WIRE_VARINT = 0,
    OX_WIRE_FIXED64 = 1,
    OX_WIRE_BYTES = 2,
    OX_WIRE_GROUP = 3,
    OX_WIRE_END_GROUP = 4, /* never the type of a record that was read */
    OX_WIRE_FIXED32 = 5
};

struct ox_record {
    uint32_t number; /* of the field */
    enum ox_wire_type type;
    uint64_t value;       /* VARINT, FIXED32, FIXED64 */
    struct ox_span bytes; /* BYTES: what is in it. GROUP: the same with the closing tag */
    const uint8_t *start; /* of the tag */
    const uint8_t *body;  /* behind the tag */
};

/* Reads the record at *at, which is moved behind it. false: it is malformed; *why says how and *at is where. A group is
 * walked to its end, other values are skipped unseen. */
bool ox_record_read(struct ox_record *record, const uint8_t **at, const uint8_t *end,
                    const char **why);

/* A base-128 number of at most 10 bytes; bits beyond 64 are dropped, as protobuf does. */
bool ox_varint_read(uint64_t *value, const uint8_t **at, const uint8_t *end, const char **why);

/* How many numbers a packed run of varints holds; false: the last one is cut off or one has more than 10 bytes (*at is
 * where). */
bool ox_varints_count(struct ox_span packed, size_t *n, const uint8_t **at, const char **why);

uint32_t ox_fixed32(const uint8_t *p);
uint64_t ox_fixed64(const uint8_t *p);

#endif
