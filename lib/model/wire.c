#include "model/wire.h"

#include <string.h>

#include "common/compiler.h"

enum { VARINT_BYTES = 10, GROUP_DEPTH = 100, MAX_FIELD_NUMBER = (1 << 29) - 1 };

static const char cut_off[] = "the message ends in the middle of a field";

uint32_t ox_fixed32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t ox_fixed64(const uint8_t *p)
{
    return ox_fixed32(p) | (uint64_t)ox_fixed32(p + 4) << 32;
}

bool ox_varint_read(uint64_t *value, const uint8_t **at, const uint8_t *end, const char **why)
{
    const uint8_t *p = *at;
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 7 * VARINT_BYTES; shift += 7) {
        if (p == end) {
            *why = cut_off;
            return false;
        }
        uint8_t byte = *p++;
        result |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = result;
            *at = p;
            return true;
        }
    }
    *why = "a number has more than 10 bytes";
    return false;
}

static bool read_tag(uint32_t *number, unsigned *type, const uint8_t **at, const uint8_t *end,
                     const char **why)
{
    const uint8_t *start = *at;
    uint64_t tag;
    if (!ox_varint_read(&tag, at, end, why))
        return false;
    uint64_t field = tag >> 3;
    if (field == 0 || field > MAX_FIELD_NUMBER) {
        *why = field ? "a field number is too large" : "a field has the number 0";
        *at = start;
        return false;
    }
    *number = (uint32_t)field;
    *type = tag & 7;
    return true;
}

static bool read_length(size_t *length, const uint8_t **at, const uint8_t *end, const char **why)
{
    const uint8_t *p = *at;
    uint64_t n;
    if (!ox_varint_read(&n, &p, end, why))
        return false;
    if (n > (uint64_t)(end - p)) {
        *why = "a length passes the end of the message around it";
        return false;
    }
    *length = (size_t)n;
    *at = p;
    return true;
}

/* Everything but groups. */
static bool skip_value(unsigned type, const uint8_t **at, const uint8_t *end, const char **why)
{
    uint64_t ignored;
    size_t length;
    switch (type) {
    case OX_WIRE_VARINT:
        return ox_varint_read(&ignored, at, end, why);
    case OX_WIRE_FIXED32:
    case OX_WIRE_FIXED64:
        length = type == OX_WIRE_FIXED32 ? 4 : 8;
        if ((size_t)(end - *at) < length) {
            *why = cut_off;
            return false;
        }
        break;
    case OX_WIRE_BYTES:
        if (!read_length(&length, at, end, why))
            return false;
        break;
    default:
        *why = "a field has a wire type that does not exist";
        return false;
    }
    *at += length;
    return true;
}

static bool skip_group(uint32_t number, const uint8_t **at, const uint8_t *end, const char **why)
{
    uint32_t open[GROUP_DEPTH] = {number};
    size_t depth = 1;
    while (depth > 0) {
        const uint8_t *start = *at;
        unsigned type;
        if (!read_tag(&number, &type, at, end, why))
            return false;
        if (type == OX_WIRE_END_GROUP) {
            if (open[--depth] != number) {
                *why = "a group is closed by another field's number";
                *at = start;
                return false;
            }
        } else if (type == OX_WIRE_GROUP) {
            if (depth == GROUP_DEPTH) {
                *why = "groups are nested too deeply";
                *at = start;
                return false;
            }
            open[depth++] = number;
        } else if (!skip_value(type, at, end, why)) {
            return false;
        }
    }
    return true;
}

bool ox_record_read(struct ox_record *record, const uint8_t **at, const uint8_t *end,
                    const char **why)
{
    record->start = *at;
    unsigned type;
    if (!read_tag(&record->number, &type, at, end, why))
        return false;
    record->type = (enum ox_wire_type)type;
    record->body = *at;
    switch (type) {
    case OX_WIRE_VARINT:
        return ox_varint_read(&record->value, at, end, why);
    case OX_WIRE_BYTES:
        if (!read_length(&record->bytes.n, at, end, why))
            return false;
        record->bytes.p = *at;
        *at += record->bytes.n;
        return true;
    case OX_WIRE_GROUP:
        record->bytes.p = *at;
        if (!skip_group(record->number, at, end, why))
            return false;
        record->bytes.n = (size_t)(*at - record->bytes.p);
        return true;
    case OX_WIRE_END_GROUP:
        *why = "a group is closed that was not opened";
        *at = record->start;
        return false;
    default:
        if (!skip_value(type, at, end, why))
            return false;
        record->value =
            type == OX_WIRE_FIXED32 ? ox_fixed32(record->body) : ox_fixed64(record->body);
        return true;
    }
}

bool ox_varints_count(struct ox_span packed, size_t *n, const uint8_t **at, const char **why)
{
    const uint8_t *p = packed.p, *end = p + packed.n;
    size_t count = 0;
    unsigned run = 0; /* bytes of a number not yet ended */
    while (p < end) {
        uint64_t word = 0x80;
        if (run == 0 && end - p >= 8)
            memcpy(&word, p, 8);
        if ((word & 0x8080808080808080u) == 0) {
            count += 8;
            p += 8;
            continue;
        }
        if (*p++ < 0x80) {
            count++;
            run = 0;
        } else if (++run == VARINT_BYTES) {
            *at = p - VARINT_BYTES;
            *why = "a number has more than 10 bytes";
            return false;
        }
    }
    if (run) {
        *at = end - run;
        *why = cut_off;
        return false;
    }
    *n = count;
    return true;
}
