/* A library's kernel in a process of its own: it has the inputs by fork(), outputs come back through a pipe. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "common/descriptor.h"
#include "common/env.h"
#include "ops/library.h"

/* Before each output's elements, and once more at the end with index END. */
struct record {
    uint32_t index;
    int32_t dtype;
    uint32_t rank;
    int32_t status;
    uint64_t bytes; /* of elements, or of the message */
    int64_t dims[OX_MOST_RANK];
};
#define END UINT32_MAX

static size_t bytes_of(const struct ox_tensor *tensor)
{
    return tensor->n * ox_dtype_size(tensor->dtype);
}

static _Noreturn void be_child(struct onnxtool_call_v1 *call, int fd)
{
    /* The program's handlers would clean up what is the parent's. */
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGBUS, SIGALRM};
    for (size_t i = 0; i < OX_COUNT(signals); i++)
        signal(signals[i], SIG_DFL);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    ox_library_call(call);
    bool good = true;
    for (size_t i = 0; i < call->r->n_out && call->status == OX_OK && good; i++) {
        const struct ox_tensor *tensor = call->r->out[i] ? call->r->out[i]->tensor : NULL;
        if (!tensor)
            continue;
        struct record record = {.index = (uint32_t)i,
                                .dtype = (int32_t)tensor->dtype,
                                .rank = tensor->rank,
                                .bytes = bytes_of(tensor)};
        memcpy(record.dims, tensor->dims, tensor->rank * sizeof *tensor->dims);
        good = ox_descriptor_write(fd, &record, sizeof record) == 0 &&
               ox_descriptor_write(fd, tensor->data, (size_t)record.bytes) == 0;
    }
    struct record end = {.index = END, .status = (int32_t)call->status};
    end.bytes = call->status == OX_OK ? 0 : strlen(call->err.message);
    good = good && ox_descriptor_write(fd, &end, sizeof end) == 0 &&
           ox_descriptor_write(fd, call->err.message, (size_t)end.bytes) == 0;
    _exit(good ? 0 : 1);
}

/* False at the end of the pipe; *cancelled when somebody gave up waiting. */
static bool read_all(struct onnxtool_call_v1 *call, int fd, void *to, size_t n)
{
    enum { LOOK_UP_MS = 100 };
    char *at = to;
    while (n) {
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        int ready = poll(&waiting, 1, LOOK_UP_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR)) {
            call->status = ox_env_poll(call->r->env, &call->err);
            if (call->status != OX_OK)
                return false;
            continue;
        }
        ssize_t done = read(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

/* One output, or the end (*ended). What a broken child says of itself is checked like a file. */
static bool take_record(struct onnxtool_call_v1 *call, int fd, bool *ended)
{
    struct record record;
    struct ox_run *r = call->r;
    if (!read_all(call, fd, &record, sizeof record))
        return false;
    *ended = record.index == END;
    if (*ended && record.bytes < sizeof call->err.message) {
        char message[OX_ERROR_BYTES] = "";
        if (!read_all(call, fd, message, (size_t)record.bytes))
            return false;
        bool known = record.status > OX_OK && record.status <= OX_INTERNAL;
        if (record.status != OX_OK)
            call->status = ox_fail(&call->err, known ? (enum ox_status)record.status : OX_INTERNAL,
                                   "%s", message);
        return true;
    }
    if (record.index >= r->n_out || record.rank > OX_MOST_RANK || record.dtype <= OX_UNDEFINED ||
        record.dtype >= OX_N_DTYPES || record.dtype == OX_STRING || r->out[record.index])
        return false;
    struct ox_tensor *tensor;
    call->status = ox_run_out(r, record.index, (enum ox_dtype)record.dtype, record.rank,
                              record.dims, &tensor, &call->err);
    return call->status == OX_OK && bytes_of(tensor) == record.bytes &&
           read_all(call, fd, tensor->data, (size_t)record.bytes);
}

static void name_the_end(struct onnxtool_call_v1 *call, int state)
{
    if (WIFSIGNALED(state))
        call->status = ox_run_fail(call->r, &call->err, OX_INPUT, "%s crashed: %s", call->path,
                                   strsignal(WTERMSIG(state)));
    else
        call->status = ox_run_fail(call->r, &call->err, OX_INPUT,
                                   "%s ended its process (exit code %d) before it was done",
                                   call->path, WIFEXITED(state) ? WEXITSTATUS(state) : -1);
}

void ox_library_call_apart(struct onnxtool_call_v1 *call)
{
    int ends[2], state = 0;
    if (pipe(ends) != 0) {
        call->status = ox_run_fail(call->r, &call->err, OX_IO, "no pipe to a process for %s: %s",
                                   call->path, strerror(errno));
        return;
    }
    fflush(NULL); /* else what waits in streams would be written twice */
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(call, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        call->status = ox_run_fail(call->r, &call->err, OX_IO, "no process for %s: %s", call->path,
                                   strerror(errno));
    } else {
        bool ended = false;
        while (!ended && call->status == OX_OK && take_record(call, ends[0], &ended))
            ;
        if (!ended)
            kill(child, SIGKILL); /* nothing to one that is gone, whose own end stays to be told */
        while (waitpid(child, &state, 0) < 0 && errno == EINTR)
            ;
        if (!ended && call->status == OX_OK)
            name_the_end(call, state);
    }
    close(ends[0]);
}
