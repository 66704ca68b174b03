#include "text_table.h"

#include <stdarg.h>
#include <string.h>

enum { WIDEST = 60 };

static void end_cell(struct table *table)
{
    ox_strbuf_add(&table->text, "", 1);
    table->n_cells++;
}

void table_cell(struct table *table, const char *text)
{
    ox_strbuf_puts(&table->text, text);
    end_cell(table);
}

void table_name(struct table *table, const char *name)
{
    ox_strbuf_name(&table->text, name, 256);
    end_cell(table);
}

void table_printf(struct table *table, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    table_cell(table, text);
}

size_t text_width(const char *text)
{
    size_t n = 0;
    for (; text && *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void print_cell(const struct table *table, struct ox_strbuf *out, unsigned column,
                       const char *text, size_t width)
{
    size_t own = text_width(text), pad = own < width ? width - own : 0;
    bool last = column + 1 == table->columns;
    if (table->right >> column & 1)
        ox_strbuf_printf(out, "%*s", (int)pad, "");
    ox_strbuf_puts(out, text);
    if (!(table->right >> column & 1) && !last)
        ox_strbuf_printf(out, "%*s", (int)pad, "");
    ox_strbuf_puts(out, last ? "\n" : "  ");
}

void table_print(struct table *table, struct ox_strbuf *out)
{
    size_t widths[TABLE_COLUMNS] = {0};
    const char *at = table->text.data;
    if (table->text.failed)
        out->failed = true;
    for (size_t i = 0; i < table->n_cells && !out->failed; i++, at += strlen(at) + 1) {
        size_t width = text_width(at);
        if (width > widths[i % table->columns])
            widths[i % table->columns] = width < WIDEST ? width : WIDEST;
    }
    at = table->text.data;
    for (size_t i = 0; i < table->n_cells && !out->failed; i++, at += strlen(at) + 1)
        print_cell(table, out, (unsigned)(i % table->columns), at, widths[i % table->columns]);
    ox_strbuf_clear(&table->text);
    table->n_cells = 0;
}

void table_release(struct table *table)
{
    ox_strbuf_release(&table->text);
}

/* ---- Amounts ------------------------------------------------------------------------------------------------------ */

static void put_scaled(struct ox_strbuf *out, double value, double unit, const char *const *names,
                       size_t n_names)
{
    size_t i = 0;
    for (; value >= unit && i + 1 < n_names; i++)
        value /= unit;
    int digits = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    ox_strbuf_printf(out, "%.*f%s", digits, value, names[i]);
}

void put_bytes(struct ox_strbuf *out, uint64_t bytes)
{
    static const char *const names[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    put_scaled(out, (double)bytes, 1024, names, sizeof names / sizeof *names);
}

void put_grouped(struct ox_strbuf *out, uint64_t n)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < len; i++) {
        ox_strbuf_putc(out, digits[i]);
        if ((len - i) % 3 == 1 && i + 1 < len)
            ox_strbuf_putc(out, ',');
    }
}
