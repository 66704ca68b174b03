#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "cli.h"

struct lines {
    const char **items; /* without line ends, of either kind; they point into text */
    size_t n;
    char *text;
};

/* "-" is standard input. Has reported errors; *lines is to be released either way. A NUL ends its line. */
enum ox_status lines_read(struct cli *cli, const char *path, struct lines *lines);
void lines_release(struct lines *lines);

#endif
