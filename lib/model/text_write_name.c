/* Names, strings and pairs of them, as text has them. */
#include <string.h>

#include "model/text_lex.h"
#include "model/write_impl.h"

void ox_text_write_quoted(struct ox_model_writer *w, const void *text, size_t n)
{
    ox_strbuf_putc(w->out, '"');
    for (const char *p = text, *end = p + n; p < end; p++) {
        if (*p == '\\' || *p == '"')
            ox_strbuf_putc(w->out, '\\');
        ox_strbuf_add(w->out, p, 1);
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
