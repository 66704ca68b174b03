/* Tables as text: columns as wide as they need. */
#ifndef CLI_TEXT_TABLE_H
#define CLI_TEXT_TABLE_H

#include "cli.h"

enum { TABLE_COLUMNS = 12 };

/* All zero but `columns` and `right` is an empty table. Cells are added row by row. */
struct table {
    unsigned columns;
    unsigned right;        /* bit i: column i is aligned to the right */
    struct ox_strbuf text; /* cells, each ending in NUL */
    size_t n_cells;
};

/* A cell of text as it is; table_name() makes a name from a file safe to print. */
void table_cell(struct table *table, const char *text);
void table_name(struct table *table, const char *name);
void table_printf(struct table *table, const char *format, ...) OX_PRINTF(2, 3);
/* Prints all rows and clears the table. One that is much wider than the others does not widen its column. */
void table_print(struct table *table, struct ox_strbuf *out);
void table_release(struct table *table);

/* Characters on a terminal, as near as counting code points comes. */
size_t text_width(const char *text);
/* 97.8 MiB */
void put_bytes(struct ox_strbuf *out, uint64_t bytes);
/* 25,557,032 */
void put_grouped(struct ox_strbuf *out, uint64_t n);

#endif
