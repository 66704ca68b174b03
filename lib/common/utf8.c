#include "common/utf8.h"

#include <string.h>

size_t ox_utf8_next(const char *p, size_t n, uint32_t *code)
{
    if (n == 0)
        return 0;
    uint8_t first = (uint8_t)p[0];
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || n < length)
        return 0;
    uint32_t value = first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        uint8_t next = (uint8_t)p[i];
        if ((next & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (next & 0x3F);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *code = value;
    return length;
}

size_t ox_utf8_plain(const char *p, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    size_t at = 0;
    for (uint64_t word; n - at >= sizeof word; at += sizeof word) {
        memcpy(&word, p + at, sizeof word);
        if ((word | (word - ones)) &
            tops) /* where no top bit is set, taking 1 sets one in a zero byte alone or above it */
            break;
    }
    return at;
}

size_t ox_utf8_encode(uint32_t code, char bytes[4])
{
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = 0xFFFD;
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3F));
    static const uint8_t first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    bytes[0] = (char)(first[n] | code);
    return n;
}

bool ox_utf8_valid(const char *p, size_t n)
{
    while (n > 0) {
        uint32_t code;
        size_t length = ox_utf8_next(p, n, &code);
        if (length == 0)
            return false;
        p += length;
        n -= length;
    }
    return true;
}

bool ox_utf8_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x061C || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}
