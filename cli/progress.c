#include "progress.h"

#include <unistd.h>

enum { BAR_COLUMNS = 64 };

void progress_begin(struct progress *p, const struct cli *cli, const char *what)
{
    *p = (struct progress){.cli = cli, .what = what, .started = cli_seconds()};
}

void progress_show(struct progress *p, uint64_t done, uint64_t total, bool last)
{
    const double now = cli_seconds(), spent = now - p->started;
    const int when = p->cli->common.quiet ? WHEN_NEVER : p->cli->common.progress;
    if (when == WHEN_NEVER || (when == WHEN_AUTO && (spent < 1 || !isatty(2))))
        return;
    if (!last && p->shown > 0 && now - p->shown < 0.1)
        return;
    p->shown = now;
    p->visible = !last;
    fprintf(stderr, "\r%s: %llu of %llu", p->what, (unsigned long long)done,
            (unsigned long long)total);
    if (done > 0 && !last)
        fprintf(stderr, ", %.0f s left  ", spent / (double)done * (double)(total - done));
    else
        fprintf(stderr, "             %s", last ? "\n" : "");
}

void progress_hide(struct progress *p)
{
    if (p->visible)
        fprintf(stderr, "\r%*s\r", BAR_COLUMNS, "");
    p->visible = false;
}
