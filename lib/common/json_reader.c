#include "common/json_reader.h"

#include <stdarg.h>
#include <string.h>

#include "common/number.h"
#include "common/utf8.h"

void ox_json_read_init(struct ox_json_reader *reader, const char *name, const void *bytes, size_t n,
                       uint64_t most_depth)
{
    *reader = (struct ox_json_reader){
        .start = bytes, .at = bytes, .name = name, .most_depth = most_depth};
    reader->end = reader->at + n;
    ox_strbuf_init(&reader->scopes);
    ox_strbuf_init(&reader->unescaped);
}

void ox_json_read_release(struct ox_json_reader *reader)
{
    ox_strbuf_release(&reader->scopes);
    ox_strbuf_release(&reader->unescaped);
}

enum ox_status ox_json_read_fail(struct ox_json_reader *reader, struct ox_error *err,
                                 const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return ox_fail(err, OX_INPUT, "%s: at byte %zu: %s", reader->name,
                   (size_t)(reader->at - reader->start), what);
}

static void skip_space(struct ox_json_reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
}

static char scope(const struct ox_json_reader *reader)
{
    return reader->scopes.len ? reader->scopes.data[reader->scopes.len - 1] : '\0';
}

/* The four digits of \uXXXX at p; -1 when they are not. */
static int32_t hex4(const char *p, const char *end)
{
    uint32_t value;
    return end - p >= 4 && ox_number_parse_hex(p, 4, &value) ? (int32_t)value : -1;
}

static enum ox_status read_escape(struct ox_json_reader *reader, struct ox_error *err)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    if (reader->end - reader->at < 2)
        return ox_json_read_fail(reader, err, "the string does not end");
    char c = reader->at[1];
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        ox_strbuf_putc(&reader->unescaped, to[simple - from]);
        reader->at += 2;
        return OX_OK;
    }
    int32_t code = c == 'u' ? hex4(reader->at + 2, reader->end) : -1;
    if (code < 0)
        return ox_json_read_fail(reader, err, "an escape that JSON does not have");
    reader->at += 6;
    if (code >= 0xD800 && code <= 0xDFFF) {
        int32_t low = reader->end - reader->at >= 6 && reader->at[0] == '\\' && reader->at[1] == 'u'
                          ? hex4(reader->at + 2, reader->end)
                          : -1;
        if (code > 0xDBFF || low < 0xDC00 || low > 0xDFFF)
            return ox_json_read_fail(reader, err, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        reader->at += 6;
    }
    char bytes[4];
    ox_strbuf_add(&reader->unescaped, bytes, ox_utf8_encode((uint32_t)code, bytes));
    return OX_OK;
}

/* At the opening quote. Without escapes the text stays where it is in the file. */
static enum ox_status read_string(struct ox_json_reader *reader, struct ox_error *err)
{
    const char *first = ++reader->at;
    bool copied = false;
    const char *done = first;
    ox_strbuf_clear(&reader->unescaped);
    for (;;) {
        if (reader->at == reader->end)
            return ox_json_read_fail(reader, err, "the string does not end");
        char c = *reader->at;
        if (c == '"')
            break;
        if (c == '\\') {
            ox_strbuf_add(&reader->unescaped, done, (size_t)(reader->at - done));
            OX_TRY(read_escape(reader, err));
            copied = true;
            done = reader->at;
            continue;
        }
        uint32_t code;
        size_t length = ox_utf8_next(reader->at, (size_t)(reader->end - reader->at), &code);
        if (length == 0)
            return ox_json_read_fail(reader, err, "the string is not valid UTF-8");
        if (code < 0x20)
            return ox_json_read_fail(reader, err, "a control character in a string");
        reader->at += length;
    }
    if (copied) {
        ox_strbuf_add(&reader->unescaped, done, (size_t)(reader->at - done));
        if (reader->unescaped.failed)
            return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", reader->name);
        reader->text = reader->unescaped.data;
        reader->n = reader->unescaped.len;
    } else {
        reader->text = first;
        reader->n = (size_t)(reader->at - first);
    }
    reader->at++;
    return OX_OK;
}

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

/* A word such as true, or false when it is not there. */
static bool take_word(struct ox_json_reader *reader, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(reader->end - reader->at) < n || memcmp(reader->at, word, n) != 0)
        return false;
    reader->text = reader->at;
    reader->n = n;
    reader->at += n;
    return true;
}

static enum ox_status read_number(struct ox_json_reader *reader, struct ox_error *err)
{
    const char *at = reader->at;
    const char *end = reader->end;
    if (at < end && *at == '-')
        at++;
    bool good = is_digit(at, end);
    if (good && *at == '0')
        at++;
    else
        while (is_digit(at, end))
            at++;
    if (good && at < end && *at == '.') {
        good = is_digit(++at, end);
        while (is_digit(at, end))
            at++;
    }
    if (good && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        good = is_digit(at, end);
        while (is_digit(at, end))
            at++;
    }
    if (!good)
        return ox_json_read_fail(reader, err, "neither a value nor the end of one");
    reader->text = reader->at;
    reader->n = (size_t)(at - reader->at);
    reader->at = at;
    return OX_OK;
}

static enum ox_status open_scope(struct ox_json_reader *reader, struct ox_error *err)
{
    if (reader->most_depth && reader->depth >= reader->most_depth)
        return ox_fail(err, OX_LIMIT, "%s: at byte %zu: nested deeper than %llu levels",
                       reader->name, (size_t)(reader->at - reader->start),
                       (unsigned long long)reader->most_depth);
    ox_strbuf_putc(&reader->scopes, *reader->at++);
    if (reader->scopes.failed)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", reader->name);
    reader->depth++;
    reader->any = false;
    return OX_OK;
}

static void close_scope(struct ox_json_reader *reader)
{
    reader->at++;
    reader->scopes.len--;
    reader->depth--;
    reader->any = true;
}

static enum ox_status read_value(struct ox_json_reader *reader, enum ox_json_token *token,
                                 struct ox_error *err)
{
    reader->want_value = false;
    char c = *reader->at;
    if (c == '{' || c == '[') {
        *token = c == '{' ? OX_JSON_OBJECT : OX_JSON_ARRAY;
        return open_scope(reader, err);
    }
    reader->any = true;
    if (c == '"') {
        *token = OX_JSON_STRING;
        return read_string(reader, err);
    }
    if (take_word(reader, "true"))
        *token = OX_JSON_TRUE;
    else if (take_word(reader, "false"))
        *token = OX_JSON_FALSE;
    else if (take_word(reader, "null"))
        *token = OX_JSON_NULL;
    else if (take_word(reader, "NaN") || take_word(reader, "Infinity") ||
             take_word(reader, "-Infinity"))
        *token = OX_JSON_NUMBER;
    else {
        *token = OX_JSON_NUMBER;
        return read_number(reader, err);
    }
    return OX_OK;
}

static enum ox_status read_key(struct ox_json_reader *reader, struct ox_error *err)
{
    if (*reader->at != '"')
        return ox_json_read_fail(reader, err, "a key is missing");
    OX_TRY(read_string(reader, err));
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != ':')
        return ox_json_read_fail(reader, err, "':' is missing after a key");
    reader->at++;
    reader->want_value = true;
    return OX_OK;
}

enum ox_status ox_json_read_next(struct ox_json_reader *reader, enum ox_json_token *token,
                                 struct ox_error *err)
{
    skip_space(reader);
    char in = scope(reader);
    bool at_end = reader->at == reader->end;
    if (!in && reader->any) {
        *token = OX_JSON_END;
        return at_end ? OX_OK : ox_json_read_fail(reader, err, "something follows the end");
    }
    if (at_end)
        return ox_json_read_fail(reader, err, "the file ends too early");
    if (!in || reader->want_value)
        return read_value(reader, token, err);
    if (*reader->at == (in == '{' ? '}' : ']')) {
        *token = in == '{' ? OX_JSON_END_OBJECT : OX_JSON_END_ARRAY;
        close_scope(reader);
        return OX_OK;
    }
    if (reader->any) {
        if (*reader->at != ',')
            return ox_json_read_fail(reader, err, "',' is missing");
        reader->at++;
        skip_space(reader);
        if (reader->at == reader->end)
            return ox_json_read_fail(reader, err, "the file ends too early");
    }
    if (in == '[')
        return read_value(reader, token, err);
    *token = OX_JSON_KEY;
    return read_key(reader, err);
}

enum ox_status ox_json_read_member(struct ox_json_reader *reader, size_t n, const char *const *keys,
                                   size_t *which, enum ox_json_token *token, struct ox_error *err)
{
    const enum ox_status status = ox_json_read_next(reader, token, err);
    if (status != OX_OK || *token != OX_JSON_KEY)
        return status;
    for (*which = 0; *which < n; ++*which)
        if (strlen(keys[*which]) == reader->n && memcmp(keys[*which], reader->text, reader->n) == 0)
            break;
    return ox_json_read_next(reader, token, err);
}

enum ox_status ox_json_read_skip(struct ox_json_reader *reader, enum ox_json_token token,
                                 struct ox_error *err)
{
    if (token != OX_JSON_OBJECT && token != OX_JSON_ARRAY)
        return OX_OK;
    uint64_t outer = reader->depth - 1;
    while (reader->depth > outer)
        OX_TRY(ox_json_read_next(reader, &token, err));
    return OX_OK;
}
