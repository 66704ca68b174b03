#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "common/file.h"
#include "common/forget.h"

#define SELF "/proc/self/fd/"

enum { BUFFER_BYTES = 64 << 10, N_OPEN = 64, TRIES = 100, LIVE = 2 };

/* Temporary files by folder and name: what a signal handler must remove. A table, for a handler can walk no list that
 * another thread may be changing. */
static struct pending {
    _Atomic int state; /* 0 free, 1 being filled or emptied, LIVE */
    int dir;
    char name[NAME_MAX + 1];
} pending_files[N_OPEN];

struct ox_outfile {
    char *path;
    char *base; /* NULL: not renamed but copied to `direct` when committed */
    struct pending
        *pending; /* the temporary file's name, until it is renamed or removed; NULL: it has none */
    int dir;
    int fd;
    int direct;
    uint64_t position;
    size_t n_buffered;
    uint8_t buffer[BUFFER_BYTES];
};

void ox_outfile_cleanup(void)
{
    for (size_t i = 0; i < N_OPEN; i++)
        if (atomic_load(&pending_files[i].state) == LIVE)
            unlinkat(pending_files[i].dir, pending_files[i].name, 0);
}

static struct pending *take_slot(void)
{
    for (size_t i = 0; i < N_OPEN; i++) {
        int free_state = 0;
        if (atomic_compare_exchange_strong(&pending_files[i].state, &free_state, 1))
            return &pending_files[i];
    }
    return NULL;
}

static enum ox_status failed(const struct ox_outfile *out, const char *what, int error,
                             struct ox_error *err)
{
    return ox_fail(err, ox_errno_status(error, OX_IO), "%s: %s: %s", out->path, what,
                   strerror(error));
}

static uint64_t random_number(void)
{
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != (ssize_t)sizeof value) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        value = (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15u + (uint64_t)getpid();
    }
    return value;
}

/* Gives the temporary file a name: makes one, or links the one that has none so far. The name is live in the table before the file
 * exists: a signal between the two removes what is not there. Returns an errno. */
static int make_name(struct ox_outfile *out)
{
    struct pending *slot = take_slot();
    if (!slot)
        return EMFILE;
    char self[32];
    bool made = out->fd >= 0;
    snprintf(self, sizeof self, SELF "%d", out->fd);
    slot->dir = out->dir;
    int error = EEXIST;
    for (int i = 0; i < TRIES && error == EEXIST; i++) {
        atomic_store(&slot->state, 1);
        snprintf(slot->name, sizeof slot->name, ".%.200s.%016llx.tmp", out->base,
                 (unsigned long long)random_number());
        atomic_store(&slot->state, LIVE);
        int got = made ? linkat(AT_FDCWD, self, out->dir, slot->name, AT_SYMLINK_FOLLOW)
                       : openat(out->dir, slot->name,
                                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        error = got < 0 ? errno : 0;
        if (!made && !error)
            out->fd = got;
    }
    if (error)
        atomic_store(&slot->state, 0);
    else
        out->pending = slot;
    return error;
}

/* Without a name until it is whole, where the system can do that, so that not even a kill leaves it behind. */
static enum ox_status make_temporary(struct ox_outfile *out, const struct stat *old,
                                     struct ox_error *err)
{
    if (access(SELF, X_OK) == 0)
        out->fd = openat(out->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    int error = out->fd < 0 ? make_name(out) : 0;
    if (error)
        return failed(out, "cannot be written", error, err);
    if (old && fchmod(out->fd, old->st_mode & 0777) != 0)
        return failed(out, "cannot take over the old file's mode", errno, err);
    return OX_OK;
}

/* What cannot be renamed onto is collected in a file without a name. */
static enum ox_status make_spool(struct ox_outfile *out, struct ox_error *err)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    out->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (out->fd >= 0)
        return OX_OK;
    FILE *file = tmpfile();
    if (file) {
        out->fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
        fclose(file);
    }
    return out->fd >= 0 ? OX_OK : failed(out, "no temporary file can be made", errno, err);
}

static bool is_device_path(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

static enum ox_status open_target(struct ox_outfile *out, const char *path, struct ox_error *err)
{
    struct stat st;
    bool exists = lstat(path, &st) == 0;
    bool device = exists && S_ISLNK(st.st_mode) && is_device_path(path);
    if (device)
        exists = stat(path, &st) == 0;
    if (strcmp(path, "-") == 0) {
        out->direct = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    } else if (exists && S_ISDIR(st.st_mode)) {
        return ox_fail(err, OX_IO, "%s: is a folder", path);
    } else if (exists && ((!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) || device)) {
        out->direct = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else {
        char *folder = ox_path_dir(path);
        out->base = strdup(ox_path_base(path));
        if (folder)
            out->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int error = errno;
        free(folder);
        if (!folder || !out->base)
            return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
        if (!*out->base)
            return ox_fail(err, OX_USAGE, "'%s' is no name of a file", path);
        if (out->dir < 0)
            return failed(out, "its folder cannot be opened", error, err);
        return make_temporary(out, exists && S_ISREG(st.st_mode) ? &st : NULL, err);
    }
    if (out->direct < 0)
        return failed(out, "cannot be written", errno, err);
    return make_spool(out, err);
}

enum ox_status ox_outfile_open(struct ox_outfile **result, const char *path, struct ox_error *err)
{
    struct ox_outfile *out = calloc(1, sizeof *out);
    char *copy = strdup(strcmp(path, "-") == 0 ? "standard output" : path);
    if (!out || !copy) {
        free(copy);
        free(out);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    }
    out->path = copy;
    out->fd = out->dir = out->direct = -1;
    enum ox_status status = open_target(out, path, err);
    if (status != OX_OK) {
        ox_outfile_release(out);
        return status;
    }
    *result = out;
    return OX_OK;
}

int ox_descriptor_write(int fd, const void *data, size_t n)
{
    const uint8_t *bytes = data;
    while (n > 0) {
        ssize_t done = write(fd, bytes, n < (size_t)1 << 30 ? n : (size_t)1 << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

static enum ox_status flush(struct ox_outfile *out, struct ox_error *err)
{
    int error = ox_descriptor_write(out->fd, out->buffer, out->n_buffered);
    out->n_buffered = 0;
    return error ? failed(out, "cannot be written", error, err) : OX_OK;
}

/* A piece at a time, so that of a mapped file no more than that is in memory. */
static int write_pieces(int fd, const uint8_t *bytes, size_t n)
{
    enum { PIECE = 4 << 20 };
    int error = 0;
    for (size_t at = 0; at < n && !error; at += PIECE) {
        size_t piece = n - at < PIECE ? n - at : PIECE;
        error = ox_descriptor_write(fd, bytes + at, piece);
        ox_mapping_forget(bytes + at, piece);
    }
    return error;
}

enum ox_status ox_outfile_write(struct ox_outfile *out, const void *bytes, size_t n,
                                struct ox_error *err)
{
    if (n > BUFFER_BYTES - out->n_buffered)
        OX_TRY(flush(out, err));
    if (n >= BUFFER_BYTES) {
        int error = write_pieces(out->fd, bytes, n);
        if (error)
            return failed(out, "cannot be written", error, err);
    } else if (n > 0) {
        memcpy(out->buffer + out->n_buffered, bytes, n);
        out->n_buffered += n;
    }
    out->position += n;
    return OX_OK;
}

/* What the system copies by itself; the rest is left to do. */
static uint64_t copy_by_system(struct ox_outfile *out, int fd, uint64_t offset, uint64_t n)
{
    uint64_t copied = 0;
#ifdef __linux__
    enum { MOST = 1 << 30 };
    while (copied < n) {
        off_t from = (off_t)(offset + copied);
        size_t more = n - copied < MOST ? (size_t)(n - copied) : MOST;
        ssize_t done = copy_file_range(fd, &from, out->fd, NULL, more, 0);
        if (done <= 0)
            break;
        copied += (uint64_t)done;
    }
#else
    (void)out, (void)fd, (void)offset, (void)n;
#endif
    return copied;
}

enum ox_status ox_outfile_copy(struct ox_outfile *out, int fd, uint64_t offset, uint64_t n,
                               struct ox_error *err)
{
    OX_TRY(flush(out, err));
    uint64_t copied = copy_by_system(out, fd, offset, n);
    out->position += copied;
    while (copied < n) {
        uint8_t block[BUFFER_BYTES];
        size_t more = n - copied < BUFFER_BYTES ? (size_t)(n - copied) : BUFFER_BYTES;
        ssize_t got = pread(fd, block, more, (off_t)(offset + copied));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ox_fail(err, got < 0 ? OX_IO : OX_INPUT, "%s: what it is copied from %s",
                           out->path, got < 0 ? strerror(errno) : "became shorter");
        OX_TRY(ox_outfile_write(out, block, (size_t)got, err));
        copied += (uint64_t)got;
    }
    return OX_OK;
}

uint64_t ox_outfile_position(const struct ox_outfile *out)
{
    return out->position;
}

enum ox_status ox_outfile_patch(struct ox_outfile *out, uint64_t at, const void *bytes, size_t n,
                                struct ox_error *err)
{
    if (at > out->position || n > out->position - at)
        return ox_fail(err, OX_INTERNAL, "%s: patch past the end", out->path);
    OX_TRY(flush(out, err));
    const uint8_t *from = bytes;
    while (n > 0) {
        ssize_t done = pwrite(out->fd, from, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return failed(out, "cannot be written", done < 0 ? errno : EIO, err);
        from += done;
        at += (uint64_t)done;
        n -= (size_t)done;
    }
    return OX_OK;
}

static enum ox_status copy_to_direct(struct ox_outfile *out, struct ox_error *err)
{
    uint64_t at = 0;
    while (at < out->position) {
        ssize_t n = pread(out->fd, out->buffer, BUFFER_BYTES, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(out, "its temporary file cannot be read", n < 0 ? errno : EIO, err);
        int error = ox_descriptor_write(out->direct, out->buffer, (size_t)n);
        if (error)
            return failed(out, "cannot be written", error, err);
        at += (uint64_t)n;
    }
    int fd = out->direct;
    out->direct = -1;
    return close(fd) == 0 ? OX_OK : failed(out, "cannot be written", errno, err);
}

enum ox_status ox_outfile_commit(struct ox_outfile *out, struct ox_error *err)
{
    OX_TRY(flush(out, err));
    if (!out->base)
        return copy_to_direct(out, err);
    if (fsync(out->fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        return failed(out, "cannot be written", errno, err);
    int error = out->pending ? 0 : make_name(out);
    int fd = out->fd;
    out->fd = -1;
    if (close(fd) != 0 && !error)
        error = errno;
    if (error)
        return failed(out, "cannot be written", error, err);
    if (renameat(out->dir, out->pending->name, out->dir, out->base) != 0)
        return failed(out, "cannot be replaced", errno, err);
    atomic_store(&out->pending->state, 0);
    out->pending = NULL;
    fsync(out->dir); /* the file is whole either way: not every file system can do this */
    return OX_OK;
}

void ox_outfile_release(struct ox_outfile *out)
{
    if (!out)
        return;
    if (out->pending) {
        unlinkat(out->dir, out->pending->name, 0);
        atomic_store(&out->pending->state, 0);
    }
    if (out->fd >= 0)
        close(out->fd);
    if (out->dir >= 0)
        close(out->dir);
    if (out->direct >= 0)
        close(out->direct);
    free(out->base);
    free(out->path);
    free(out);
}

enum ox_status ox_file_write(const char *path, const void *bytes, size_t n, struct ox_error *err)
{
    struct ox_outfile *out;
    OX_TRY(ox_outfile_open(&out, path, err));
    enum ox_status status = ox_outfile_write(out, bytes, n, err);
    if (status == OX_OK)
        status = ox_outfile_commit(out, err);
    ox_outfile_release(out);
    return status;
}
