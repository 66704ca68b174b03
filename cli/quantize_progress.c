/* What a terminal sees of a calibration, and Ctrl-C between two samples. */
#include <signal.h>

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
    progress->partial = partial;
    progress_begin(&progress->bar, cli, "calibrating");
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
    if (interrupted)
        ox_env_cancel(progress->bar.cli->env);
    progress_show(&progress->bar, done, total, done == total || interrupted);
}

bool quantize_progress_end(const struct quantize_progress *progress)
{
    if (progress->partial && !interrupted)
        signal(SIGINT, before);
    return interrupted != 0;
}
