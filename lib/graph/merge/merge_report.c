/* What a merge tells: notes, and all that is in its way. */
#include <stdarg.h>
#include <stdio.h>

#include "graph/merge/merger.h"

enum ox_status ox_merge_no_room(const struct ox_merger *m)
{
    return ox_fail(m->err, OX_NO_MEMORY, "%s: out of memory", m->parts[0].model->path);
}

static void add_line(struct ox_strbuf *lines, const char *format, va_list args)
{
    char text[2 * OX_ERROR_BYTES];
    vsnprintf(text, sizeof text, format, args);
    ox_strbuf_puts(lines, text);
    ox_strbuf_putc(lines, '\n');
}

void ox_merge_problem(struct ox_merger *m, enum ox_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(&m->report->problems, format, args);
    va_end(args);
    m->n_problems++;
    if (m->worst == OX_OK || status == OX_USAGE)
        m->worst = status;
}

void ox_merge_note(struct ox_merger *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(&m->report->notes, format, args);
    va_end(args);
}

void ox_merge_report_release(struct ox_merge_report *report)
{
    ox_strbuf_release(&report->notes);
    ox_strbuf_release(&report->problems);
}
