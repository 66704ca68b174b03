/* Text in lines no longer than a terminal is wide. */
#include "cli.h"

enum { WIDTH = 96 };

void cli_wrap(struct ox_strbuf *out, const char *text, size_t n, size_t column, size_t indent)
{
    const char *end = text + n;
    bool first = true;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ' && text[word] != '\n')
            word++;
        if (!first && column + 1 + word > WIDTH) {
            ox_strbuf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            ox_strbuf_putc(out, ' ');
            column++;
        }
        ox_strbuf_add(out, text, word);
        column += word;
        first = false;
        text += word;
        while (text < end && (*text == ' ' || *text == '\n'))
            text++;
    }
    ox_strbuf_putc(out, '\n');
}
