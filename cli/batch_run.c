/* Several models, each in a process of its own: limits, time and even a crash are one model's alone. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batch.h"
#include "batch_log.h"
#include "progress.h"

/* Models that may be done before one that was started earlier: their results wait in memory files, two each. */
enum { MOST_WAITING = 128 };

struct worker {
    struct batch_record record; /* its texts are in the files below, but while it is logged */
    pid_t pid;                  /* 0: not started or done */
    int out, err;
    int status;     /* of waitpid() */
    double started; /* cli_seconds() */
};

struct batch {
    struct cli *cli;
    void *args;
    enum ox_status (*one)(struct cli *cli, void *args, const char *model);
    const char *const *models;
    size_t n;
    struct batch_log log;
    struct worker *workers; /* one a model */
    size_t started, running, done;
    struct progress bar;
    bool any;          /* a result was printed */
    size_t ended[256]; /* models by exit status */
};

/* ---- Files that keep what is printed ----------------------------------------------------------------------------- */

static bool copy_out(int from, int to)
{
    char bytes[65536];
    ssize_t n;
    if (lseek(from, 0, SEEK_SET) < 0)
        return false;
    while ((n = read(from, bytes, sizeof bytes)) > 0)
        if (!cli_write_all(to, bytes, (size_t)n))
            return false;
    return n == 0;
}

static bool capture(struct worker *w)
{
    w->out = memfd_create("stdout", MFD_CLOEXEC);
    w->err = memfd_create("stderr", MFD_CLOEXEC);
    return w->out >= 0 && w->err >= 0;
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

static bool start(struct batch *b, struct worker *w)
{
    w->started = cli_seconds();
    w->pid = capture(w) ? fork() : -1;
    if (w->pid < 0)
        return false;
    if (w->pid == 0) {
        dup2(w->out, 1);
        dup2(w->err, 2);
        cli_start_timer(b->cli, w->record.model);
        enum ox_status status = b->one(b->cli, b->args, w->record.model);
        status = cli_worse(status, cli_flush(b->cli));
        _exit(ox_status_exit_code(status));
    }
    b->running++;
    return true;
}

/* As if its process had just ended. */
static bool replay(struct worker *w)
{
    struct ox_strbuf *results = &w->record.results, *messages = &w->record.messages;
    const bool good = capture(w) && cli_write_all(w->out, results->data, results->len) &&
                      cli_write_all(w->err, messages->data, messages->len);
    batch_record_release(&w->record);
    return good;
}

static enum ox_status start_more(struct batch *b)
{
    const size_t jobs = (size_t)b->cli->common.jobs;
    while (b->started < b->n && b->running < jobs && b->started - b->done < jobs + MOST_WAITING) {
        struct worker *w = &b->workers[b->started];
        const char *model = b->models[b->started];
        if (batch_log_find(b->cli, &b->log, model, &w->record)) {
            if (!replay(w))
                return cli_fail(b->cli, OX_NO_MEMORY, "%s: %s", model, strerror(errno));
        } else if (!start(b, w)) {
            return cli_fail(b->cli, OX_NO_MEMORY, "%s: cannot start a process: %s", model,
                            strerror(errno));
        }
        b->started++;
    }
    return OX_OK;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

static enum ox_status note_end(struct batch *b, struct worker *w, int status)
{
    const bool exited = WIFEXITED(status);
    w->pid = 0;
    w->status = status;
    w->record.exit_code = exited ? WEXITSTATUS(status) : ox_status_exit_code(OX_INTERNAL);
    b->running--;
    if (!b->cli->common.log)
        return OX_OK;
    w->record.seconds = cli_seconds() - w->started;
    if (lseek(w->out, 0, SEEK_SET) < 0 || !cli_read_all(w->out, &w->record.results) ||
        lseek(w->err, 0, SEEK_SET) < 0 || !cli_read_all(w->err, &w->record.messages))
        w->record.results.failed = true; /* not kept */
    enum ox_status logged = batch_log_add(b->cli, &b->log, &w->record);
    batch_record_release(&w->record);
    return logged;
}

/* Waits for some process to end. */
static enum ox_status reap(struct batch *b)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, 0)) < 0 && errno == EINTR) {
    }
    if (pid < 0)
        return cli_fail(b->cli, OX_INTERNAL, "a process was lost: %s", strerror(errno));
    for (size_t i = b->done; i < b->started; i++)
        if (b->workers[i].pid == pid)
            return note_end(b, &b->workers[i], status);
    return OX_OK;
}

/* The result of a worker, with what parts it from an earlier one. */
static bool print_result(struct batch *b, const struct worker *w)
{
    if (lseek(w->out, 0, SEEK_END) <= 0)
        return true;
    const char *between = b->any && b->cli->between ? b->cli->between : "";
    b->any = true;
    return cli_write_all(1, between, strlen(between)) && copy_out(w->out, 1);
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

/* Prints what the next worker in order left. Standard output that takes no more ends the batch. */
static enum ox_status print_next(struct batch *b, bool *stdout_failed)
{
    struct worker *w = &b->workers[b->done++];
    enum ox_status status = status_of(w->record.exit_code);
    b->ended[w->record.exit_code & 255]++;
    progress_hide(&b->bar);
    copy_out(w->err, 2);
    if (!print_result(b, w)) {
        status = cli_worse(status, cli_fail(b->cli, OX_IO, "standard output: %s", strerror(errno)));
        *stdout_failed = true;
    }
    if (WIFSIGNALED(w->status))
        cli_fail(b->cli, OX_INTERNAL, "%s: internal error: ended by signal %d (%s)",
                 w->record.model, WTERMSIG(w->status), strsignal(WTERMSIG(w->status)));
    close(w->out);
    close(w->err);
    progress_show(&b->bar, b->done, b->n, false);
    return status;
}

/* Models one after another; false: the batch cannot go on. */
static bool go_on(struct batch *b, enum ox_status *worst)
{
    bool stdout_failed = false;
    enum ox_status status = start_more(b);
    while (status == OX_OK && b->workers[b->done].pid > 0) {
        status = reap(b);
        if (status == OX_OK)
            status = start_more(b);
    }
    if (status == OX_OK) {
        *worst = cli_worse(*worst, print_next(b, &stdout_failed));
        return !stdout_failed;
    }
    *worst = cli_worse(*worst, status);
    return false;
}

/* How many models came to which end: always where one failed, else with -v. */
static void tell_ends(const struct batch *b, enum ox_status worst)
{
    struct ox_strbuf text = {0};
    for (size_t code = 0; code < 256; code++)
        if (b->ended[code])
            ox_strbuf_printf(&text, "%s %zu with exit status %zu", text.len ? "," : "",
                             b->ended[code], code);
    (worst == OX_OK ? cli_note : cli_warn)(b->cli, "%zu models:%s", b->done,
                                           ox_strbuf_text(&text, NULL));
    ox_strbuf_release(&text);
}

enum ox_status batch_run(struct cli *cli, void *args, const char *const *models, size_t n,
                         enum ox_status (*one)(struct cli *cli, void *args, const char *model))
{
    struct batch b = {.cli = cli, .args = args, .one = one, .models = models, .n = n};
    enum ox_status worst = batch_log_open(cli, &b.log);
    b.workers = calloc(n, sizeof *b.workers);
    if (worst == OX_OK && !b.workers)
        worst = cli_fail(cli, OX_NO_MEMORY, "out of memory");
    progress_begin(&b.bar, cli, cli->command->name);
    bool going = worst == OX_OK;
    while (going && b.done < n)
        going = go_on(&b, &worst);
    progress_hide(&b.bar);
    for (size_t i = b.done; i < b.started; i++)
        if (b.workers[i].pid > 0)
            kill(b.workers[i].pid, SIGTERM);
    if (b.done > 1)
        tell_ends(&b, worst);
    free(b.workers);
    batch_log_close(&b.log);
    return worst;
}
