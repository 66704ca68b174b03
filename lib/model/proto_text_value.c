/* Strings, numbers and names of the text format. */
#include <string.h>

#include "common/number.h"
#include "common/utf8.h"
#include "model/proto_text_read.h"

static int digit_of(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10
                                                : 99;
}

/* ---- Numbers ------------------------------------------------------------------------------------------------------ */

/* A sign, which blanks may follow, and what looks like a number or the name of one. */
struct number {
    bool negative;
    struct ox_str text;
};

static struct number number(struct ox_lexer *lex)
{
    struct number found = {.negative = ox_lex_take(lex, '-')};
    ox_lex_peek(lex);
    const char *p = lex->at;
    const bool hex = lex->end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x';
    while (p < lex->end) {
        const bool after_exponent = p > lex->at && !hex && (p[-1] | 32) == 'e';
        if (digit_of(*p) == 99 && *p != '.' && !(after_exponent && (*p == '-' || *p == '+')))
            break;
        p++;
    }
    found.text = (struct ox_str){lex->at, (size_t)(p - lex->at)};
    return found;
}

/* Decimal, octal with a leading 0, or hexadecimal. */
static bool magnitude_of(struct ox_str text, uint64_t *value)
{
    unsigned base = 10;
    size_t at = 0;
    if (text.n > 2 && text.p[0] == '0' && (text.p[1] | 32) == 'x') {
        base = 16;
        at = 2;
    } else if (text.n > 1 && text.p[0] == '0') {
        base = 8;
        at = 1;
    }
    uint64_t sum = 0;
    for (size_t i = at; i < text.n; i++) {
        const unsigned digit = (unsigned)digit_of(text.p[i]);
        if (digit >= base || sum > (UINT64_MAX - digit) / base)
            return false;
        sum = sum * base + digit;
    }
    *value = sum;
    return text.n > 0;
}

static int64_t integer(struct ox_lexer *lex, int64_t least, int64_t most)
{
    const struct number n = number(lex);
    uint64_t magnitude;
    int64_t value = 0;
    bool fits = magnitude_of(n.text, &magnitude) && magnitude <= (uint64_t)INT64_MAX + n.negative;
    if (fits) {
        value = n.negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
        fits = value >= least && value <= most;
    }
    if (!fits)
        ox_lex_fail(lex, "integer from %lld to %lld expected", (long long)least, (long long)most);
    lex->at += fits ? n.text.n : 0;
    return fits ? value : 0;
}

static uint64_t unsigned_integer(struct ox_lexer *lex)
{
    const struct number n = number(lex);
    uint64_t value = 0;
    const bool fits = !n.negative && magnitude_of(n.text, &value);
    if (!fits)
        ox_lex_fail(lex, "integer from 0 to %llu expected", (unsigned long long)UINT64_MAX);
    lex->at += fits ? n.text.n : 0;
    return value;
}

/* "1", ".5", "1e3", "2.5f", "inf", "-nan". */
static void floating(struct ox_lexer *lex, double *wide, float *single)
{
    const struct number n = number(lex);
    struct ox_str text = n.text;
    const bool by_name = text.n && digit_of(text.p[0]) >= 10 && text.p[0] != '.';
    if (!by_name && text.n > 1 && (text.p[text.n - 1] | 32) == 'f')
        text.n--;
    const bool good = text.n && (wide ? ox_number_parse(text.p, text.n, wide)
                                      : ox_number_parse_float(text.p, text.n, single));
    if (!good) {
        ox_lex_fail(lex, "number expected");
        return;
    }
    lex->at += n.text.n;
    if (n.negative && wide)
        *wide = -*wide;
    else if (n.negative)
        *single = -*single;
}

/* ---- Names -------------------------------------------------------------------------------------------------------- */

static bool boolean(struct ox_lexer *lex)
{
    static const char *const names[2][5] = {{"false", "False", "f", "0"},
                                            {"true", "True", "t", "1"}};
    const struct number n = number(lex);
    for (unsigned value = 0; value < 2 && !n.negative; value++) {
        for (unsigned i = 0; names[value][i]; i++) {
            if (ox_str_is(n.text, names[value][i])) {
                lex->at += n.text.n;
                return value;
            }
        }
    }
    ox_lex_fail(lex, "true or false expected");
    return false;
}

static int enumeration(struct ox_lexer *lex, const ProtobufCEnumDescriptor *type)
{
    const struct ox_str word = ox_lex_peek_word(lex);
    if (word.n == 0)
        return (int)integer(lex, INT32_MIN, INT32_MAX);
    for (unsigned i = 0; i < type->n_values; i++) {
        if (ox_str_is(word, type->values[i].name)) {
            lex->at += word.n;
            return type->values[i].value;
        }
    }
    ox_lex_fail(lex, "'%.*s' is no %s", (int)(word.n < 64 ? word.n : 64), word.p, type->short_name);
    return 0;
}

/* ---- Strings ------------------------------------------------------------------------------------------------------ */

/* Digits of an escape, so many at most; false: there is none. */
static bool escaped_digits(const char **p, const char *end, unsigned base, unsigned most,
                           uint32_t *code)
{
    unsigned n = 0;
    for (*code = 0; n < most && *p < end && (unsigned)digit_of(**p) < base; n++, (*p)++)
        *code = *code * base + (unsigned)digit_of(**p);
    return n > 0;
}

/* What follows a backslash at *p, to `to`; the number of its bytes, 0 where there is no such escape. */
static size_t escape(const char **p, const char *end, char to[4])
{
    static const char letters[] = "abfnrtv?\\'\"", bytes[] = "\a\b\f\n\r\t\v?\\'\"";
    const char c = *(*p)++;
    uint32_t code;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (letter) {
        to[0] = bytes[letter - letters];
        return 1;
    }
    if (c >= '0' && c <= '7') {
        (*p)--;
        escaped_digits(p, end, 8, 3, &code);
    } else if ((c | 32) == 'x') {
        if (!escaped_digits(p, end, 16, 2, &code))
            return 0;
    } else if (c == 'u' || c == 'U') {
        const char *from = *p;
        const unsigned n = c == 'u' ? 4 : 8;
        if (!escaped_digits(p, end, 16, n, &code) || *p != from + n || code > 0x10FFFF ||
            (code >= 0xD800 && code < 0xE000))
            return 0;
        return ox_utf8_encode(code, to);
    } else {
        return 0;
    }
    if (code > 255)
        return 0;
    to[0] = (char)code;
    return 1;
}

struct bytes {
    char *p;
    size_t n, room;
};

/* Room for `more` bytes and one. */
static bool reserve(struct ox_lexer *lex, struct bytes *b, size_t more)
{
    if (b->p && b->room - b->n > more)
        return true;
    const size_t room = (b->n + more + 1) * (b->p ? 2 : 1);
    char *p = ox_arena_alloc(lex->arena, room);
    if (!p) {
        ox_lex_no_memory(lex);
        return false;
    }
    if (b->n)
        memcpy(p, b->p, b->n);
    *b = (struct bytes){p, b->n, room};
    return true;
}

/* The literal at lex->at, whose quote it begins with, behind what b has. */
static void literal(struct ox_lexer *lex, struct bytes *b)
{
    const char quote = *lex->at, *from = lex->at + 1, *p = from;
    while (p < lex->end && *p != quote && *p != '\n')
        p += *p == '\\' && lex->end - p > 1 ? 2 : 1;
    if (p >= lex->end || *p != quote) {
        ox_lex_fail(lex, "string without an end");
        return;
    }
    const char *end = p;
    if (!reserve(lex, b, (size_t)(end - from)))
        return;
    for (p = from; p < end;) {
        const char *slash = memchr(p, '\\', (size_t)(end - p)), *stop = slash ? slash : end;
        memcpy(b->p + b->n, p, (size_t)(stop - p));
        b->n += (size_t)(stop - p);
        if (!slash)
            break;
        p = slash + 1;
        char decoded[4];
        const size_t n = escape(&p, end, decoded);
        if (n == 0) {
            lex->at = slash;
            ox_lex_fail(lex, "there is no such escape");
            return;
        }
        memcpy(b->p + b->n, decoded, n);
        b->n += n;
    }
    lex->at = end + 1;
}

/* Literals side by side are one string. */
static struct bytes string(struct ox_lexer *lex)
{
    struct bytes b = {0};
    char next = ox_lex_peek(lex);
    if (next != '"' && next != '\'')
        ox_lex_fail(lex, "quoted string expected");
    for (; next == '"' || next == '\''; next = ox_lex_peek(lex))
        literal(lex, &b);
    if (b.p)
        b.p[b.n] = '\0';
    return b;
}

void ox_proto_text_value(struct ox_lexer *lex, const ProtobufCFieldDescriptor *field, void *to)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        *(int32_t *)to = (int32_t)integer(lex, INT32_MIN, INT32_MAX);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        *(uint32_t *)to = (uint32_t)integer(lex, 0, UINT32_MAX);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        *(int64_t *)to = integer(lex, INT64_MIN, INT64_MAX);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        *(uint64_t *)to = unsigned_integer(lex);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        floating(lex, NULL, to);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        floating(lex, to, NULL);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)to = boolean(lex);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        *(int *)to = enumeration(lex, field->descriptor);
        break;
    case PROTOBUF_C_TYPE_STRING: {
        const struct bytes b = string(lex);
        if (b.n && memchr(b.p, '\0', b.n))
            ox_lex_fail(lex, "a string with a NUL character");
        *(char **)to = b.p;
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        const struct bytes b = string(lex);
        *(ProtobufCBinaryData *)to = (ProtobufCBinaryData){b.n, (uint8_t *)b.p};
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        break;
    }
}
