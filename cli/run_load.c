/* Runs that count: one after the other, or several at a time. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

enum { RECORD_BYTES = sizeof(double) };

static const struct timespec soon = {.tv_nsec = 50000};

enum ox_status run_once(struct run *run, double *ms)
{
    struct ox_error err = {0};
    run_release_data(run->outputs, run->n_outputs);
    const double start = cli_seconds();
    enum ox_status status = ox_session_run(run->session, run->inputs, run->outputs, &err);
    *ms = (cli_seconds() - start) * 1e3;
    return status == OX_OK ? OX_OK : cli_error(run->cli, &err);
}

static enum ox_status note_time(struct run *run, double ms)
{
    struct run_timing *timing = &run->timing;
    if (timing->n == timing->room) {
        const size_t more = timing->room ? 2 * timing->room : 1024;
        double *times = realloc(timing->ms, more * sizeof *times);
        if (!times)
            return cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", run->model_path);
        timing->ms = times;
        timing->room = more;
    }
    timing->ms[timing->n++] = ms;
    return OX_OK;
}

/* What the processes know of each other. */
struct load {
    _Atomic size_t n_begun; /* runs */
    _Atomic size_t n_ready; /* processes that wait for the start */
    _Atomic bool go;
    double start;        /* cli_seconds() */
    _Atomic uint64_t us; /* from then to the end of the last run */
};

/* Whether one more run is to begin. Each process makes one. */
static bool is_due(const struct run *run, struct load *load, bool is_first)
{
    const struct run_args *args = run->args;
    if (args->duration > 0)
        return is_first || cli_seconds() - load->start < args->duration;
    return atomic_fetch_add(&load->n_begun, 1) < (size_t)args->repeat;
}

static enum ox_status run_while_due(struct run *run, struct load *load)
{
    enum ox_status status = OX_OK;
    for (bool is_first = true; status == OX_OK && is_due(run, load, is_first); is_first = false) {
        double ms;
        status = run_once(run, &ms);
        if (status == OX_OK)
            status = note_time(run, ms);
        if (run->args->profile && status == OX_OK)
            status = run_note_events(run);
    }
    const uint64_t us = (uint64_t)((cli_seconds() - load->start) * 1e6);
    uint64_t last = atomic_load(&load->us);
    while (us > last && !atomic_compare_exchange_weak(&load->us, &last, us))
        continue;
    return status;
}

/* ---- Several at a time ---------------------------------------------------------------------------------------------- */

/* A session is one run's at a time. Its copies in other processes have all that is not written to in common: the weights, as they were
 * read and packed for the first run. */
struct stream {
    pid_t pid;
    int times; /* a pipe: what each run took, then the process ends */
};

static enum ox_status stream_times(struct run *run, struct load *load, int times)
{
    double ms;
    run->timing.n = 0;
    ox_env_set_threads(run->cli->env, run->load_threads);
    /* Memory that this process alone writes to, and its threads. */
    enum ox_status status = run_once(run, &ms);
    atomic_fetch_add(&load->n_ready, 1);
    while (!atomic_load(&load->go))
        nanosleep(&soon, NULL);
    if (status == OX_OK)
        status = run_while_due(run, load);
    if (status == OX_OK &&
        !cli_write_all(times, (const char *)run->timing.ms, run->timing.n * RECORD_BYTES))
        status = cli_fail(run->cli, OX_IO, "%s: %s", run->model_path, strerror(errno));
    return status;
}

static enum ox_status start_stream(struct run *run, struct load *load, struct stream *stream)
{
    int ends[2];
    if (pipe(ends) != 0)
        return cli_fail(run->cli, OX_NO_MEMORY, "%s: %s", run->model_path, strerror(errno));
    const pid_t parent = getpid();
    stream->pid = fork();
    if (stream->pid == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        _exit(stream_times(run, load, ends[1]));
    }
    close(ends[1]);
    stream->times = ends[0];
    if (stream->pid > 0)
        return OX_OK;
    close(ends[0]);
    return cli_fail(run->cli, OX_NO_MEMORY, "%s: cannot start a process: %s", run->model_path,
                    strerror(errno));
}

static enum ox_status end_stream(struct run *run, const struct stream *stream)
{
    struct ox_strbuf times = {0};
    int state = 0;
    const bool whole = cli_read_all(stream->times, &times) && !times.failed;
    close(stream->times);
    while (waitpid(stream->pid, &state, 0) < 0 && errno == EINTR)
        continue;
    enum ox_status status = OX_OK;
    if (WIFSIGNALED(state))
        status = cli_fail(run->cli, OX_INTERNAL, "%s: crashed (%s)", run->model_path,
                          strsignal(WTERMSIG(state)));
    else if (WEXITSTATUS(state) != OX_OK)
        status = (enum ox_status)WEXITSTATUS(state);
    else if (!whole)
        status = cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", run->model_path);
    for (size_t at = 0; at + RECORD_BYTES <= times.len && status == OX_OK; at += RECORD_BYTES) {
        double ms;
        memcpy(&ms, times.data + at, sizeof ms);
        status = note_time(run, ms);
    }
    ox_strbuf_release(&times);
    return status;
}

/* Whether a process has: what crashes will never be ready. */
static bool has_ended(void)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

static enum ox_status run_side_by_side(struct run *run, struct load *load)
{
    const size_t n = (size_t)run->args->concurrency;
    struct stream *streams = calloc(n, sizeof *streams);
    size_t started = 0;
    enum ox_status status = OX_OK;
    if (!streams)
        return cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", run->model_path);
    while (started < n && (status = start_stream(run, load, &streams[started])) == OX_OK)
        started++;
    while (status == OX_OK && atomic_load(&load->n_ready) < n && !has_ended())
        nanosleep(&soon, NULL);
    load->start = cli_seconds();
    atomic_store(&load->go, true);
    for (size_t i = 0; i < started; i++)
        status = cli_worse(status, end_stream(run, &streams[i]));
    free(streams);
    return status;
}

/* ---- All of them ------------------------------------------------------------------------------------------------------ */

enum ox_status run_load(struct run *run)
{
    struct load *load =
        mmap(NULL, sizeof *load, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (load == MAP_FAILED)
        return cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", run->model_path);
    load->start = cli_seconds();
    enum ox_status status =
        run->args->concurrency > 1 ? run_side_by_side(run, load) : run_while_due(run, load);
    run->timing.wall_ms += (double)load->us / 1e3;
    munmap(load, sizeof *load);
    return status;
}
