#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int spawn(const struct child *child, const posix_spawn_file_actions_t *actions,
                 posix_spawnattr_t *attributes, pid_t *pid)
{
    sigset_t defaults;
    char *const *argv = (char *const *)(uintptr_t)child->argv;
    char **environment = child->environment ? child->environment : environ;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* which this program ignores */
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    return child->search ? posix_spawnp(pid, child->path, actions, attributes, argv, environment)
                         : posix_spawn(pid, child->path, actions, attributes, argv, environment);
}

enum ox_status child_start(struct cli *cli, const struct child *child, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, child->out, STDOUT_FILENO);
    if (child->err >= 0)
        posix_spawn_file_actions_adddup2(&actions, child->err, STDERR_FILENO);
    const int failed = spawn(child, &actions, &attributes, pid);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? cli_fail(cli, OX_UNSUPPORTED, "%s: %s", child->path, strerror(failed)) : OX_OK;
}

enum child_end child_wait(pid_t pid, double seconds, const volatile sig_atomic_t *stop, int *state)
{
    enum { LONGEST_NAP = 20000000 };
    const double end = cli_seconds() + seconds;
    struct timespec nap = {0, 1000000};
    pid_t got;
    while ((got = waitpid(pid, state, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        const bool stopped = stop && *stop;
        if (stopped || cli_seconds() > end) {
            kill(-pid, SIGKILL);
            waitpid(pid, state, 0);
            return stopped ? CHILD_STOPPED : CHILD_SLOW;
        }
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < LONGEST_NAP)
            nap.tv_nsec += 1000000;
    }
    return got < 0 ? CHILD_LOST : CHILD_ENDED;
}
