/* Where the forms of `dump` write to. */
#include "dump.h"

#include <string.h>

enum { FLUSH_BYTES = 1 << 20 };

enum ox_status dump_flush(void *dumped, struct ox_strbuf *buf, struct ox_error *err)
{
    struct dumped *d = dumped;
    enum ox_status status;
    if (!d->file) {
        status = cli_flush(d->cli);
        if (status != OX_OK && err)
            *err = (struct ox_error){.status = status};
        return status;
    }
    if (buf->failed)
        return ox_no_memory(err);
    status = ox_outfile_write(d->file, ox_strbuf_text(buf, NULL), buf->len, err);
    ox_strbuf_clear(buf);
    return status;
}

enum ox_status dump_flush_some(struct dumped *d)
{
    struct ox_error err = {0};
    if (d->cli->out.len < FLUSH_BYTES)
        return OX_OK;
    enum ox_status status = dump_flush(d, &d->cli->out, &err);
    if (status != OX_OK && *err.message)
        cli_error(d->cli, &err);
    return status;
}

bool dump_wants(const struct dumped *d, const char *graph)
{
    return !d->args->graph || strcmp(d->args->graph, graph) == 0;
}
