/* One model after another, or several at a time, each within its own limits. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lines.h"

/* What the handler of SIGALRM may use: prepared before the timer is armed. */
static char timeout_message[512];
static size_t timeout_bytes;

static void on_alarm(int number)
{
    (void)number;
    ox_outfile_cleanup();
    (void)!write(2, timeout_message, timeout_bytes);
    _exit(ox_status_exit_code(OX_LIMIT));
}

void cli_start_timer(struct cli *cli, const char *file)
{
    double seconds = cli->common.timeout;
    if (!(seconds > 0))
        return;
    struct ox_strbuf text = {0};
    ox_strbuf_puts(&text, "onnxtool: ");
    ox_strbuf_name(&text, file, 256);
    ox_strbuf_printf(&text, ": not done after %g s (--timeout)\n", seconds);
    timeout_bytes = text.failed ? 0 : text.len;
    if (timeout_bytes > sizeof timeout_message)
        timeout_bytes = sizeof timeout_message;
    if (timeout_bytes)
        memcpy(timeout_message, text.data, timeout_bytes);
    ox_strbuf_release(&text);
    signal(SIGALRM, on_alarm);
    if (seconds > 1e9)
        seconds = 1e9;
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds}};
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
    if (!timer.it_value.tv_sec && !timer.it_value.tv_usec)
        timer.it_value.tv_usec = 1;
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

struct names {
    const char **items;
    size_t n;
};

/* The operands, then the lines that are not empty. */
static bool list_names(struct names *names, const char *const *operands, size_t n,
                       const struct lines *lines)
{
    names->items = calloc(n + lines->n + 1, sizeof *names->items);
    if (!names->items)
        return false;
    for (size_t i = 0; i < n; i++)
        names->items[names->n++] = operands[i];
    for (size_t i = 0; i < lines->n; i++) {
        if (*lines->items[i])
            names->items[names->n++] = lines->items[i];
    }
    return true;
}

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

struct worker {
    pid_t pid; /* 0: not started or done */
    int out, err;
    int status;
};

static int capture(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC);
}

static bool start(struct cli *cli, void *args, const char *model, struct worker *w,
                  enum ox_status (*one)(struct cli *cli, void *args, const char *model))
{
    w->out = capture("stdout");
    w->err = capture("stderr");
    w->pid = w->out < 0 || w->err < 0 ? -1 : fork();
    if (w->pid < 0)
        return false;
    if (w->pid == 0) {
        dup2(w->out, 1);
        dup2(w->err, 2);
        cli_start_timer(cli, model);
        enum ox_status status = one(cli, args, model);
        status = cli_worse(status, cli_flush(cli));
        _exit(ox_status_exit_code(status));
    }
    return true;
}

static bool copy_out(int from, int to)
{
    char bytes[65536];
    if (lseek(from, 0, SEEK_SET) < 0)
        return false;
    for (;;) {
        ssize_t n = read(from, bytes, sizeof bytes);
        if (n <= 0)
            return n == 0;
        for (ssize_t at = 0; at < n;) {
            ssize_t written = write(to, bytes + at, (size_t)(n - at));
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0)
                return false;
            at += written;
        }
    }
}

/* The result of a worker, with what parts it from an earlier one. */
static bool copy_result(struct cli *cli, const struct worker *w, bool *any)
{
    if (lseek(w->out, 0, SEEK_END) <= 0)
        return true;
    size_t n = *any && cli->between ? strlen(cli->between) : 0;
    *any = true;
    return (!n || write(1, cli->between, n) == (ssize_t)n) && copy_out(w->out, 1);
}

/* Prints what a finished worker left and returns its exit code. */
static int finish(struct cli *cli, const char *model, struct worker *w, bool *any,
                  bool *stdout_failed)
{
    int code = WIFEXITED(w->status) ? WEXITSTATUS(w->status) : ox_status_exit_code(OX_INTERNAL);
    copy_out(w->err, 2);
    if (!*stdout_failed && !copy_result(cli, w, any)) {
        cli_fail(cli, OX_IO, "standard output: %s", strerror(errno));
        *stdout_failed = true;
    }
    if (WIFSIGNALED(w->status))
        cli_fail(cli, OX_INTERNAL, "%s: internal error: ended by signal %d (%s)", model,
                 WTERMSIG(w->status), strsignal(WTERMSIG(w->status)));
    close(w->out);
    close(w->err);
    return code;
}

static void reap(struct worker *workers, size_t n)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, 0)) < 0 && errno == EINTR) {
    }
    for (size_t i = 0; pid > 0 && i < n; i++)
        if (workers[i].pid == pid) {
            workers[i].pid = 0;
            workers[i].status = status;
        }
}

/* The status with that exit code. */
static enum ox_status status_of(int code)
{
    enum ox_status status = OX_INTERNAL;
#define MATCH(name, exit_code, text)                                                               \
    if (code == (exit_code) && status == OX_INTERNAL)                                              \
        status = name;
    OX_STATUS_LIST(MATCH)
#undef MATCH
    return status;
}

static enum ox_status run_workers(struct cli *cli, void *args, const struct names *models,
                                  enum ox_status (*one)(struct cli *cli, void *args,
                                                        const char *model))
{
    enum ox_status worst = OX_OK;
    size_t started = 0, done = 0, jobs = (size_t)cli->common.jobs;
    bool stdout_failed = false, any = false;
    struct worker *workers = calloc(models->n, sizeof *workers);
    if (!workers)
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    while (done < models->n && !stdout_failed) {
        while (started < models->n && started - done < jobs) {
            if (!start(cli, args, models->items[started], &workers[started], one)) {
                worst = cli_fail(cli, OX_NO_MEMORY, "%s: cannot start a process: %s",
                                 models->items[started], strerror(errno));
                goto cleanup;
            }
            started++;
        }
        while (workers[done].pid > 0)
            reap(workers, started);
        worst = cli_worse(worst, status_of(finish(cli, models->items[done], &workers[done], &any,
                                                  &stdout_failed)));
        done++;
    }
    if (stdout_failed)
        worst = cli_worse(worst, OX_IO);
cleanup:
    for (size_t i = done; i < started; i++)
        if (workers[i].pid > 0)
            kill(workers[i].pid, SIGTERM);
    free(workers);
    return worst;
}

enum ox_status cli_each_model(struct cli *cli, void *args, const char *const *models, size_t n,
                              enum ox_status (*one)(struct cli *cli, void *args, const char *model))
{
    struct names names = {0};
    struct lines lines = {0};
    const char *from = cli->common.files_from;
    enum ox_status status = from ? lines_read(cli, from, &lines) : OX_OK;
    if (status == OX_OK && !list_names(&names, models, n, &lines))
        status = cli_fail(cli, OX_NO_MEMORY, "out of memory");
    if (status == OX_OK && names.n == 0 && !from)
        status = cli_fail(cli, OX_USAGE, "%s: a model is needed ('onnxtool %s --help' tells more)",
                          cli->command->name, cli->command->name);
    cli->several = names.n > 1;
    cli_forget_libraries(cli);
    if (status == OX_OK && names.n == 1) {
        cli_start_timer(cli, names.items[0]);
        status = one(cli, args, names.items[0]);
    } else if (status == OX_OK && names.n > 1) {
        status = run_workers(cli, args, &names, one);
    }
    free(names.items);
    lines_release(&lines);
    return status;
}

enum ox_status cli_one_model(struct cli *cli, const char *const *operands, size_t n_operands)
{
    if (n_operands == 1 && !cli->common.files_from) {
        cli_start_timer(cli, operands[0]);
        return OX_OK;
    }
    return cli_fail(cli, OX_USAGE,
                    "%s: exactly one model is needed ('onnxtool %s --help' tells more)",
                    cli->command->name, cli->command->name);
}
