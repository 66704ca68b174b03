/* Programs that are run, each in a process group of its own. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "cli.h"

struct child {
    const char *path;
    bool search; /* along PATH, unless there is a slash in it */
    const char *const *argv;
    char **environment; /* NULL: ours */
    int out, err;       /* where what it prints goes; err -1: our standard error */
};

/* Its standard input is empty. OX_UNSUPPORTED, with a message: it cannot be run. */
enum ox_status child_start(struct cli *cli, const struct child *child, pid_t *pid);

enum child_end { CHILD_ENDED, CHILD_SLOW, CHILD_STOPPED, CHILD_LOST };
/* Waits for its end, at most `seconds` and until *stop (NULL: never): then the group is killed. CHILD_LOST: errno tells why. */
enum child_end child_wait(pid_t pid, double seconds, const volatile sig_atomic_t *stop, int *state);

/* A new folder beneath TMPDIR, whose path takes 4,096 bytes; "" when it fails, with a message. */
enum { TEMP_FOLDER_BYTES = 4096 };
enum ox_status temp_folder_make(struct cli *cli, char *path);
/* With whatever is there by then; nothing for "". */
void temp_folder_remove(const char *path);

#endif
