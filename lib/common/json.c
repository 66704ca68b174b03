#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/number.h"
#include "common/utf8.h"
#include "onnxtool.h"

void ox_json_init(struct ox_json *json, struct ox_strbuf *out, bool pretty)
{
    *json = (struct ox_json){.out = out, .pretty = pretty};
}

static void new_line(struct ox_json *json)
{
    static const char spaces[] = "                                ";
    ox_strbuf_putc(json->out, '\n');
    for (size_t n = (size_t)json->depth * 2; n > 0;) {
        size_t part = n < sizeof spaces - 1 ? n : sizeof spaces - 1;
        ox_strbuf_add(json->out, spaces, part);
        n -= part;
    }
}

/* What goes before a key, or before a value that follows no key. A key leaves its ": " last in the buffer, which no
 * other token ends with. */
static void before(struct ox_json *json)
{
    if (json->need_comma) {
        ox_strbuf_putc(json->out, ',');
        if (json->pretty)
            new_line(json);
        json->need_comma = false;
    } else if (json->pretty && json->depth > 0 && json->out->len > 0) {
        char last = json->out->data[json->out->len - 1];
        if (last == '{' || last == '[')
            new_line(json);
    }
}

static void open_scope(struct ox_json *json, char bracket)
{
    before(json);
    ox_strbuf_putc(json->out, bracket);
    json->depth++;
}

static void close_scope(struct ox_json *json, char bracket)
{
    json->depth--;
    if (json->pretty && json->need_comma)
        new_line(json);
    ox_strbuf_putc(json->out, bracket);
    json->need_comma = true;
}

void ox_json_object(struct ox_json *json)
{
    open_scope(json, '{');
}

void ox_json_end_object(struct ox_json *json)
{
    close_scope(json, '}');
}

void ox_json_array(struct ox_json *json)
{
    open_scope(json, '[');
}

void ox_json_end_array(struct ox_json *json)
{
    close_scope(json, ']');
}

static void add_code(struct ox_strbuf *out, uint32_t code)
{
    if (code >= 0x10000) {
        code -= 0x10000;
        ox_strbuf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xD800 + (code >> 10)),
                         (unsigned)(0xDC00 + (code & 0x3FF)));
    } else {
        ox_strbuf_printf(out, "\\u%04x", (unsigned)code);
    }
}

static void add_escaped(struct ox_strbuf *out, uint32_t code)
{
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    const char *at = code && code < 0x80 ? strchr(from, (int)code) : NULL;
    if (at) {
        char pair[2] = {'\\', to[at - from]};
        ox_strbuf_add(out, pair, 2);
    } else {
        add_code(out, code);
    }
}

/* Runs of ordinary characters are copied whole. Hidden characters are escaped although JSON would allow some of them: a
 * report is also read on a terminal. */
static void quoted(struct ox_strbuf *out, const char *text, size_t n)
{
    ox_strbuf_putc(out, '"');
    size_t done = 0;
    for (size_t at = 0; at < n;) {
        uint32_t code;
        size_t length = ox_utf8_next(text + at, n - at, &code);
        if (length > 0 && code != '"' && code != '\\' && !ox_utf8_hidden(code)) {
            at += length;
            continue;
        }
        ox_strbuf_add(out, text + done, at - done);
        if (length == 0) {
            ox_strbuf_puts(out, "\xEF\xBF\xBD"); /* U+FFFD */
            length = 1;
        } else {
            add_escaped(out, code);
        }
        at += length;
        done = at;
    }
    ox_strbuf_add(out, text + done, n - done);
    ox_strbuf_putc(out, '"');
}

void ox_json_key(struct ox_json *json, const char *key)
{
    before(json);
    quoted(json->out, key, strlen(key));
    ox_strbuf_puts(json->out, json->pretty ? ": " : ":");
}

void ox_json_string_n(struct ox_json *json, const char *text, size_t n)
{
    before(json);
    quoted(json->out, text, n);
    json->need_comma = true;
}

void ox_json_string(struct ox_json *json, const char *text)
{
    if (text)
        ox_json_string_n(json, text, strlen(text));
    else
        ox_json_null(json);
}

static void bare(struct ox_json *json, const char *text)
{
    before(json);
    ox_strbuf_puts(json->out, text);
    json->need_comma = true;
}

void ox_json_int(struct ox_json *json, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    bare(json, text);
}

void ox_json_uint(struct ox_json *json, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    bare(json, text);
}

static bool special(struct ox_json *json, double value)
{
    if (isfinite(value))
        return false;
    bare(json, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    return true;
}

void ox_json_double(struct ox_json *json, double value)
{
    char text[OX_NUMBER_BYTES];
    if (!special(json, value))
        bare(json, ox_number_double(text, value));
}

void ox_json_finite(struct ox_json *json, const char *key, double value)
{
    ox_json_key(json, key);
    if (isfinite(value))
        ox_json_double(json, value);
    else
        ox_json_null(json);
}

void ox_json_float(struct ox_json *json, float value)
{
    char text[OX_NUMBER_BYTES];
    if (special(json, (double)value))
        return;
    /* The fewest digits of the largest float are, as a double, above it: strict readers (protobuf's in Python) refuse them. */
    bool largest = value == FLT_MAX || value == -FLT_MAX;
    bare(json, largest ? ox_number_double(text, (double)value) : ox_number_float(text, value));
}

void ox_json_bool(struct ox_json *json, bool value)
{
    bare(json, value ? "true" : "false");
}

void ox_json_null(struct ox_json *json)
{
    bare(json, "null");
}
