/* What a terminal sees of work that takes long. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli.h"

struct progress {
    const struct cli *cli;
    const char *what;      /* "calibrating" */
    double started, shown; /* cli_seconds(); shown 0: nothing yet */
    bool visible;          /* the bar stands in the line where the cursor is */
};

void progress_begin(struct progress *p, const struct cli *cli, const char *what);
/* A line on standard error, if --progress wants it, ten times a second at the most: how far it is and how long it will take. The
 * last one stays. */
void progress_show(struct progress *p, uint64_t done, uint64_t total, bool last);
/* Makes the line free for a message. */
void progress_hide(struct progress *p);

#endif
