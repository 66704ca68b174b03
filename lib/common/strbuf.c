#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/utf8.h"
#include "onnxtool.h"

void ox_strbuf_init(struct ox_strbuf *buf)
{
    *buf = (struct ox_strbuf){0};
}

void ox_strbuf_release(struct ox_strbuf *buf)
{
    free(buf->data);
    *buf = (struct ox_strbuf){0};
}

void ox_strbuf_clear(struct ox_strbuf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

/* Makes room for n more bytes and the NUL. */
static bool reserve(struct ox_strbuf *buf, size_t n)
{
    size_t need;
    if (buf->failed || OX_ADD_OVERFLOWS(buf->len, n, &need) || OX_ADD_OVERFLOWS(need, 1, &need)) {
        buf->failed = true;
        return false;
    }
    if (need <= buf->cap)
        return true;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    char *data = realloc(buf->data, cap);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

const char *ox_strbuf_text(const struct ox_strbuf *buf, struct ox_strbuf *into)
{
    if (into)
        into->failed |= buf->failed;
    return buf->data ? buf->data : "";
}

void ox_strbuf_add(struct ox_strbuf *buf, const void *bytes, size_t n)
{
    if (!reserve(buf, n))
        return;
    if (n)
        memcpy(buf->data + buf->len, bytes, n);
    buf->len += n;
    buf->data[buf->len] = '\0';
}

void ox_strbuf_puts(struct ox_strbuf *buf, const char *text)
{
    ox_strbuf_add(buf, text, strlen(text));
}

void ox_strbuf_putc(struct ox_strbuf *buf, char c)
{
    ox_strbuf_add(buf, &c, 1);
}

static void add_number(struct ox_strbuf *buf, uint64_t value, bool negative)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    if (negative)
        digits[--at] = '-';
    ox_strbuf_add(buf, digits + at, sizeof digits - at);
}

static void add_signed(struct ox_strbuf *buf, int64_t value)
{
    add_number(buf, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

static void add_padded(struct ox_strbuf *buf, const char *text, int width)
{
    size_t n = strlen(text);
    for (size_t i = n; i < (size_t)width; i++)
        ox_strbuf_putc(buf, ' ');
    ox_strbuf_add(buf, text, n);
}

/* The conversion behind a '%' at `at`, if it is one that nearly all formats are made of: %s %*s %c %% and decimal numbers. What
 * stands behind it; NULL: it is another. */
static const char *add_plain(struct ox_strbuf *buf, const char *at, va_list *args)
{
    bool padded = *at == '*';
    int width = padded ? va_arg(*args, int) : 0;
    at += padded;
    enum { INT, LONG, LONG_LONG, SIZE } size = INT;
    if (*at == 'z')
        size = SIZE, at++;
    for (; *at == 'l' && size < LONG_LONG; at++)
        size++;
    if (width < 0 || (padded && *at != 's') || (size != INT && *at != 'd' && *at != 'u'))
        return NULL;
    switch (*at) {
    case '%':
        ox_strbuf_putc(buf, '%');
        break;
    case 'c':
        ox_strbuf_putc(buf, (char)va_arg(*args, int));
        break;
    case 's': {
        const char *text = va_arg(*args, const char *);
        add_padded(buf, text ? text : "(null)", width);
        break;
    }
    case 'd':
        if (size == SIZE)
            return NULL;
        add_signed(buf, size == INT    ? va_arg(*args, int)
                        : size == LONG ? va_arg(*args, long)
                                       : va_arg(*args, long long));
        break;
    case 'u':
        add_number(buf,
                   size == INT         ? va_arg(*args, unsigned)
                   : size == LONG      ? va_arg(*args, unsigned long)
                   : size == LONG_LONG ? va_arg(*args, unsigned long long)
                                       : va_arg(*args, size_t),
                   false);
        break;
    default:
        return NULL;
    }
    return at + 1;
}

/* Without the C library's printf, which costs a small command more memory and time than all else it prints. False: a format that
 * it can't do; nothing was added. */
static bool printed_plainly(struct ox_strbuf *buf, const char *format, va_list *args)
{
    size_t start = buf->len;
    for (const char *next; format; format = next) {
        const char *percent = strchr(format, '%');
        ox_strbuf_add(buf, format, percent ? (size_t)(percent - format) : strlen(format));
        if (!percent)
            return true;
        next = add_plain(buf, percent + 1, args);
    }
    buf->len = start;
    if (buf->data)
        buf->data[start] = '\0';
    return false;
}

void ox_strbuf_printf(struct ox_strbuf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool done = printed_plainly(buf, format, &args);
    va_end(args);
    if (done)
        return;
    char small[256];
    va_start(args, format);
    int n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n < 0) {
        buf->failed = true;
        return;
    }
    if ((size_t)n < sizeof small) {
        ox_strbuf_add(buf, small, (size_t)n);
        return;
    }
    if (!reserve(buf, (size_t)n))
        return;
    va_start(args, format);
    vsnprintf(buf->data + buf->len, (size_t)n + 1, format, args);
    va_end(args);
    buf->len += (size_t)n;
}

/* Bytes of text in front that are printable ASCII, which most names are of. */
static size_t printable_run(const char *text, size_t n)
{
    size_t run = 0;
    while (run < n && text[run] >= 0x20 && text[run] < 0x7F)
        run++;
    return run;
}

void ox_strbuf_name(struct ox_strbuf *buf, const char *name, size_t max_bytes)
{
    size_t left = strlen(name);
    size_t start = buf->len;
    while (left > 0) {
        size_t room = max_bytes ? max_bytes - (buf->len - start) : left;
        size_t run = printable_run(name, left < room ? left : room);
        ox_strbuf_add(buf, name, run);
        name += run;
        left -= run;
        if (left == 0)
            break;
        uint32_t code;
        size_t length = ox_utf8_next(name, left, &code);
        bool plain = length > 0 && !ox_utf8_hidden(code);
        if (length == 0)
            length = 1;
        size_t width = plain ? length : 4 * length;
        if (max_bytes && buf->len - start + width > max_bytes) {
            ox_strbuf_puts(buf, "...");
            return;
        }
        if (plain) {
            ox_strbuf_add(buf, name, length);
        } else {
            for (size_t i = 0; i < length; i++)
                ox_strbuf_printf(buf, "\\x%02X", (unsigned)(uint8_t)name[i]);
        }
        name += length;
        left -= length;
    }
    ox_strbuf_add(buf, "", 0);
}

static const char *entity(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void ox_strbuf_markup(struct ox_strbuf *buf, const char *text, size_t max_bytes)
{
    struct ox_strbuf safe = {0};
    ox_strbuf_name(&safe, text, max_bytes);
    for (size_t i = 0; i < safe.len; i++) {
        const char *at = safe.data + i, *name = entity(*at);
        if (name) {
            ox_strbuf_puts(buf, name);
        } else if (strncmp(at, "\xEF\xBF\xBE", 3) == 0 || strncmp(at, "\xEF\xBF\xBF", 3) == 0) {
            /* U+FFFE and U+FFFF are no characters of XML. */
            ox_strbuf_puts(buf, at[2] == '\xBE' ? "\\xEF\\xBF\\xBE" : "\\xEF\\xBF\\xBF");
            i += 2;
        } else {
            ox_strbuf_putc(buf, *at);
        }
    }
    ox_strbuf_add(buf, "", 0);
    buf->failed |= safe.failed;
    ox_strbuf_release(&safe);
}

const char *ox_shown(char text[OX_SHOWN_BYTES], const char *name, size_t n)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;
    while (n > 0) {
        uint32_t code;
        size_t length = ox_utf8_next(name, n, &code);
        bool plain = length > 0 && !ox_utf8_hidden(code);
        if (length == 0)
            length = 1;
        if (used + (plain ? length : 4 * length) > 256) {
            memcpy(text + used, "...", 3);
            used += 3;
            break;
        }
        for (size_t i = 0; i < length; i++) {
            uint8_t byte = (uint8_t)name[i];
            if (plain) {
                text[used++] = name[i];
                continue;
            }
            memcpy(text + used, "\\x", 2);
            text[used + 2] = digits[byte >> 4];
            text[used + 3] = digits[byte & 15];
            used += 4;
        }
        name += length;
        n -= length;
    }
    text[used] = '\0';
    return text;
}
