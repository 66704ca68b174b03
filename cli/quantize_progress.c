/* What a terminal sees of a calibration, and Ctrl-C between two samples. */
#include <signal.h>
#include <unistd.h>

#include "quantize_common.h"

static volatile sig_atomic_t interrupted;
static void (*before)(int);

/* The second time it is as it was. */
static void on_interrupt(int number)
{
    interrupted = 1;
    signal(number, before);
}

void quantize_progress_begin(struct quantize_progress *progress, struct cli *cli, bool partial)
{
    *progress =
        (struct quantize_progress){.cli = cli, .partial = partial, .started = quantize_seconds()};
    interrupted = 0;
    if (!partial)
        return;
    before = signal(SIGINT, on_interrupt);
    if (before == SIG_IGN)
        signal(SIGINT, SIG_IGN);
}

void quantize_progress_show(void *arg, uint64_t done, uint64_t total)
{
    struct quantize_progress *progress = arg;
    const struct cli *cli = progress->cli;
    const double now = quantize_seconds(), spent = now - progress->started;
    if (interrupted)
        ox_env_cancel(cli->env);
    const int when = cli->common.quiet ? WHEN_NEVER : cli->common.progress;
    if (when == WHEN_NEVER || (when == WHEN_AUTO && (spent < 1 || !isatty(2))))
        return;
    const bool last = done == total || interrupted;
    if (!last && progress->shown > 0 && now - progress->shown < 0.1)
        return;
    progress->shown = now;
    fprintf(stderr, "\rcalibrating: %llu of %llu", (unsigned long long)done,
            (unsigned long long)total);
    if (done > 0 && !last)
        fprintf(stderr, ", %.0f s left  ", spent / (double)done * (double)(total - done));
    else
        fprintf(stderr, "             %s", last ? "\n" : "");
}

bool quantize_progress_end(const struct quantize_progress *progress)
{
    if (progress->partial && !interrupted)
        signal(SIGINT, before);
    return interrupted != 0;
}
