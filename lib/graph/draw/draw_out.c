/* Where pictures of graphs are written to. */
#include "graph/draw/draw.h"

enum { FLUSH_BYTES = 1 << 20 };

enum ox_status ox_draw_flush(struct ox_drawer *d, bool all)
{
    if (d->out->failed)
        return ox_draw_no_memory(d);
    if (!d->options->flush || (!all && d->out->len < FLUSH_BYTES))
        return OX_OK;
    OX_TRY(ox_env_poll(d->model->env, d->err));
    return d->options->flush(d->options->flush_arg, d->out, d->err);
}

enum ox_status ox_draw_no_memory(struct ox_drawer *d)
{
    return ox_fail(d->err, OX_NO_MEMORY, "%s: out of memory",
                   d->model->path ? d->model->path : "model");
}
