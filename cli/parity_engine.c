/* Engines: programs of one contract, each run in a process of its own with a time limit. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "parity.h"

extern char **environ;

/* ---- Finding ------------------------------------------------------------------------------------------------------- */

static bool own_folder(struct ox_strbuf *out)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    ox_strbuf_puts(out, path);
    return true;
}

static bool try_path(struct ox_strbuf *path, const char *dir, size_t n, const char *below,
                     const char *name)
{
    ox_strbuf_clear(path);
    ox_strbuf_add(path, dir, n);
    ox_strbuf_printf(path, "%s/onnxtool-engine-%s", below, name);
    return !path->failed && access(path->data, X_OK) == 0;
}

/* On PATH, in libexec beside this program's folder, and in the tree that it was built in. */
static bool find_program(const char *name, struct ox_strbuf *path)
{
    static const char *const beside[] = {"/../libexec/onnxtool", "/../libexec", "/../../scripts"};
    struct ox_strbuf own = {0};
    bool found = false;
    if (strchr(name, '/')) {
        ox_strbuf_puts(path, name);
        return access(name, X_OK) == 0;
    }
    for (const char *at = getenv("PATH"); at && *at && !found;) {
        size_t n = strcspn(at, ":");
        found = n && try_path(path, at, n, "", name);
        at += n + (at[n] == ':');
    }
    if (!found && own_folder(&own))
        for (size_t i = 0; i < sizeof beside / sizeof *beside && !found; i++)
            found = try_path(path, own.data, own.len, beside[i], name);
    ox_strbuf_release(&own);
    return found;
}

/* ---- Processes ----------------------------------------------------------------------------------------------------- */

/* Waits for its end, at most until the time is over. */
static enum ox_status finish(struct parity *p, const char *what, pid_t pid)
{
    /* 1 is what interpreters end with: an engine has no verdict to give. */
    static const enum ox_status by_code[] = {OX_OK,    OX_UNSUPPORTED, OX_USAGE,
                                             OX_INPUT, OX_UNSUPPORTED, OX_NO_MEMORY};
    int state;
    const enum child_end end = child_wait(pid, p->args->engine_timeout, NULL, &state);
    if (end == CHILD_SLOW)
        return cli_fail(p->cli, OX_LIMIT, "%s: took more than %g s (--engine-timeout)", what,
                        p->args->engine_timeout);
    if (end == CHILD_LOST)
        return cli_fail(p->cli, OX_IO, "%s: %s", what, strerror(errno));
    if (WIFSIGNALED(state))
        return cli_fail(p->cli, OX_UNSUPPORTED, "%s: crashed (%s)", what,
                        strsignal(WTERMSIG(state)));
    size_t code = (size_t)WEXITSTATUS(state);
    enum ox_status status =
        code < sizeof by_code / sizeof *by_code ? by_code[code] : OX_UNSUPPORTED;
    return status == OX_OK
               ? OX_OK
               : cli_fail(p->cli, status, "%s: failed with exit status %zu", what, code);
}

/* To the end, what is too long too: a pipe that is closed early would end the program. */
static void read_version(struct parity *p, struct parity_side *side, int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    const double limit = fmin(p->args->engine_timeout, 1e6), end = cli_seconds() + limit;
    size_t n = 0;
    while (cli_seconds() < end && poll(&ready, 1, (int)(limit * 1e3)) == 1) {
        char text[512];
        ssize_t more = read(fd, text, sizeof text);
        if (more <= 0)
            break;
        size_t room = sizeof side->version - 1 - n,
               kept = (size_t)more < room ? (size_t)more : room;
        memcpy(side->version + n, text, kept);
        n += kept;
    }
    side->version[strcspn(side->version, "\n")] = '\0';
}

enum ox_status parity_find_engine(struct parity *p, struct parity_side *side)
{
    struct ox_strbuf path = {0};
    int ends[2];
    pid_t pid;
    enum ox_status status = OX_OK;
    if (!find_program(side->engine, &path)) {
        status = cli_fail(p->cli, OX_UNSUPPORTED,
                          "%s: there is no program onnxtool-engine-%s on PATH or in libexec",
                          side->engine, side->engine);
    } else if (pipe(ends) != 0) {
        status = cli_fail(p->cli, OX_IO, "%s: %s", side->engine, strerror(errno));
    } else {
        const char *argv[] = {path.data, "--version", NULL};
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        const struct child child = {.path = path.data, .argv = argv, .out = ends[1], .err = -1};
        status = child_start(p->cli, &child, &pid);
        close(ends[1]);
        if (status == OX_OK)
            read_version(p, side, ends[0]);
        close(ends[0]);
        if (status == OX_OK)
            status = finish(p, side->engine, pid);
    }
    ox_strbuf_release(&path);
    return status;
}

/* ---- Values over and back ----------------------------------------------------------------------------------------- */

static enum ox_status write_inputs(struct parity *p, const struct parity_side *side,
                                   const struct parity_feed *feed, const char *path)
{
    const struct run *run = &side->run;
    struct ox_error err = {0};
    if (feed)
        return ox_values_write(path, feed->n, feed->names, feed->values, &err) == OX_OK
                   ? OX_OK
                   : cli_error(p->cli, &err);
    const char **names = calloc(run->n_inputs + 1, sizeof *names);
    struct ox_datum **values = calloc(run->n_inputs + 1, sizeof *values);
    enum ox_status status =
        names && values ? OX_OK : cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    size_t n = 0;
    for (size_t i = 0; i < run->n_inputs && status == OX_OK; i++) {
        if (!run->inputs[i])
            continue;
        names[n] = ox_session_input_name(run->session, i);
        values[n++] = run->inputs[i];
    }
    if (status == OX_OK && ox_values_write(path, n, names, values, &err) != OX_OK)
        status = cli_error(p->cli, &err);
    free(names);
    free(values);
    return status;
}

/* What is missing stays NULL. */
static enum ox_status read_outputs(struct parity *p, const char *what, const char *path,
                                   const char *const *names, size_t n, struct ox_datum **outputs)
{
    struct ox_error err = {0};
    struct ox_tensor_file *file = NULL;
    if (access(path, F_OK) != 0)
        return cli_fail(p->cli, OX_INPUT, "%s: ended well, but wrote no outputs", what);
    enum ox_status status = ox_tensor_file_open(&file, p->cli->env, path, NULL, &err);
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = ox_tensor_file_value(&outputs[i], file, names[i], &err);
    ox_tensor_file_release(file);
    if (status == OX_OK)
        return OX_OK;
    /* The file is gone when this is read. */
    size_t skip = strncmp(err.message, path, strlen(path)) == 0 ? strlen(path) : 0;
    return cli_fail(p->cli, status, "%s: its outputs cannot be read%s", what, err.message + skip);
}

/* ---- One run ------------------------------------------------------------------------------------------------------- */

struct job {
    char dir[TEMP_FOLDER_BYTES];
    char in[4200], out[4200], cpu[64], level[8];
    struct ox_strbuf program, names;
    const char *argv[16];
    char **environment;
};

/* Ourselves, with another processor level in the environment. */
static bool own_command(struct job *job, const struct parity_side *side, const char *model_path)
{
    size_t n = 0;
    while (environ[n])
        n++;
    job->environment = calloc(n + 2, sizeof *job->environment);
    if (!job->environment)
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "ONNXTOOL_CPU=", 13) != 0)
            job->environment[kept++] = environ[i];
    snprintf(job->cpu, sizeof job->cpu, "ONNXTOOL_CPU=%.40s", side->cpu);
    snprintf(job->level, sizeof job->level, "-O%d", side->level);
    job->environment[kept] = job->cpu;
    ox_strbuf_puts(&job->program, "/proc/self/exe");
    const char *const argv[] = {
        "onnxtool", "run",        "-q",
        job->level, "--simulate", side->run.args->simulate ? "avx2-saturating" : "nothing",
        "-i",       job->in,      "-o",
        job->out,   "--",         model_path};
    memcpy(job->argv, argv, sizeof argv);
    return !job->program.failed;
}

static bool engine_command(struct job *job, const struct parity *p, const struct parity_side *side,
                           const char *model_path, const char *const *names, size_t n)
{
    size_t k = 0;
    if (!find_program(side->engine, &job->program))
        return false;
    job->argv[k++] = job->program.data;
    job->argv[k++] = model_path;
    job->argv[k++] = job->in;
    job->argv[k++] = job->out;
    job->argv[k++] = "--outputs";
    for (size_t i = 0; i < n; i++)
        ox_strbuf_printf(&job->names, "%s%s", i ? "\n" : "", names[i]);
    job->argv[k++] = ox_strbuf_text(&job->names, NULL);
    if (p->args->engine_options) {
        job->argv[k++] = "--options";
        job->argv[k++] = p->args->engine_options;
    }
    return !job->names.failed && !job->program.failed;
}

enum ox_status parity_run_engine(struct parity *p, struct parity_side *side, const char *model_path,
                                 const struct parity_feed *feed, const char *const *names, size_t n,
                                 struct ox_datum **outputs)
{
    struct job job = {.dir = ""};
    const char *what = side->engine ? side->engine : side->cpu;
    pid_t pid;
    enum ox_status status = temp_folder_make(p->cli, job.dir);
    snprintf(job.in, sizeof job.in, "%s/in.npz", job.dir);
    snprintf(job.out, sizeof job.out, "%s/out.npz", job.dir);
    if (status == OX_OK)
        status = write_inputs(p, side, feed, job.in);
    if (status == OX_OK && !(side->engine ? engine_command(&job, p, side, model_path, names, n)
                                          : own_command(&job, side, model_path)))
        status = cli_fail(p->cli, OX_NO_MEMORY, "%s: out of memory", what);
    const struct child child = {.path = job.program.data,
                                .argv = job.argv,
                                .environment = job.environment,
                                .out = STDERR_FILENO,
                                .err = -1};
    if (status == OX_OK)
        status = child_start(p->cli, &child, &pid);
    if (status == OX_OK)
        status = finish(p, what, pid);
    if (status == OX_OK)
        status = read_outputs(p, what, job.out, names, n, outputs);
    temp_folder_remove(job.dir);
    ox_strbuf_release(&job.program);
    ox_strbuf_release(&job.names);
    free(job.environment);
    return status;
}
