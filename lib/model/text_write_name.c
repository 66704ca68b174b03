/* Names, strings and pairs of them, as text has them. */
#include <string.h>

#include "common/utf8.h"
#include "model/text_lex.h"
#include "model/write_impl.h"

/* What a terminal might obey, and bytes that are no text. */
static bool is_shown_in_hex(const char *p, size_t length, uint32_t code)
{
    return length == 0 || (*p != '\n' && *p != '\t' && ox_utf8_hidden(code));
}

/* The standard's syntax has a backslash take the next character as it is, so that no \x follows one; what else it has no way to
 * write stands behind it as two digits a byte, which our reader takes. */
void ox_text_write_quoted(struct ox_model_writer *w, const void *text, size_t n)
{
    ox_strbuf_putc(w->out, '"');
    for (const char *p = text, *end = p + n; p < end;) {
        uint32_t code = 0;
        const size_t length = ox_utf8_next(p, (size_t)(end - p), &code);
        if (is_shown_in_hex(p, length, code)) {
            for (size_t i = 0; i < (length ? length : 1); i++)
                ox_strbuf_printf(w->out, "\\x%02X", (unsigned)(uint8_t)p[i]);
        } else {
            if (*p == '\\' || *p == '"')
                ox_strbuf_putc(w->out, '\\');
            ox_strbuf_add(w->out, p, length);
        }
        p += length ? length : 1;
    }
    ox_strbuf_putc(w->out, '"');
}

void ox_text_write_string(struct ox_model_writer *w, const char *text)
{
    ox_text_write_quoted(w, text ? text : "", text ? strlen(text) : 0);
}

void ox_text_write_name(struct ox_model_writer *w, const char *name)
{
    if (name && ox_text_is_identifier(name))
        ox_strbuf_puts(w->out, name);
    else
        ox_text_write_string(w, name);
}

void ox_text_write_pairs(struct ox_model_writer *w, Onnx__StringStringEntryProto *const *list,
                         size_t n)
{
    ox_strbuf_putc(w->out, '[');
    for (size_t i = 0; i < n; i++) {
        ox_strbuf_puts(w->out, i ? ", " : "");
        ox_text_write_string(w, list[i]->key);
        ox_strbuf_puts(w->out, ": ");
        ox_text_write_string(w, list[i]->value);
    }
    ox_strbuf_putc(w->out, ']');
}
