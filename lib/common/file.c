#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/env.h"

enum {
    READ_BELOW =
        64 << 10, /* bytes: reading is as quick as mapping, and what was read cannot change */
    FIRST_READ = 64 << 10,
    N_MAPPED = 256,
    LIVE = 2
};

/* Mappings by address, for ox_mapping_at(). Those that find no place work all the same, without a name. */
static struct {
    _Atomic int state; /* 0 free, 1 being filled or emptied, LIVE */
    const char *start;
    size_t bytes;
    char *path;
} mapped_files[N_MAPPED];

static void remember_mapping(const void *start, size_t bytes, const char *path)
{
    char *copy = strdup(path);
    for (size_t i = 0; copy && i < N_MAPPED; i++) {
        int free_state = 0;
        if (!atomic_compare_exchange_strong(&mapped_files[i].state, &free_state, 1))
            continue;
        mapped_files[i].start = start;
        mapped_files[i].bytes = bytes;
        mapped_files[i].path = copy;
        atomic_store(&mapped_files[i].state, LIVE);
        return;
    }
    free(copy);
}

static void forget_mapping(const void *start)
{
    for (size_t i = 0; i < N_MAPPED; i++) {
        int live = LIVE;
        if (atomic_load(&mapped_files[i].state) != LIVE ||
            mapped_files[i].start != (const char *)start ||
            !atomic_compare_exchange_strong(&mapped_files[i].state, &live, 1))
            continue;
        free(mapped_files[i].path);
        mapped_files[i].path = NULL;
        atomic_store(&mapped_files[i].state, 0);
        return;
    }
}

const char *ox_mapping_at(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (size_t i = 0; i < N_MAPPED; i++) {
        if (atomic_load(&mapped_files[i].state) != LIVE)
            continue;
        uintptr_t start = (uintptr_t)mapped_files[i].start;
        if (at >= start && at - start < mapped_files[i].bytes)
            return mapped_files[i].path;
    }
    return NULL;
}

static enum ox_status over_limit(const char *path, uint64_t max_bytes, struct ox_error *err)
{
    return ox_fail(err, OX_LIMIT, "%s: is larger than the limit of %llu bytes", path,
                   (unsigned long long)max_bytes);
}

static enum ox_status over_budget(const char *path, size_t bytes, struct ox_error *err)
{
    return ox_fail(err, OX_LIMIT, "%s: reading %zu bytes goes over the memory limit", path, bytes);
}

/* Moves the buffer to one of `bytes`, counted. */
static enum ox_status resize(struct ox_mapping *mapping, uint8_t **data, size_t *cap, size_t bytes,
                             const char *path, struct ox_error *err)
{
    if (!ox_budget_take(mapping->budget, bytes))
        return over_budget(path, bytes, err);
    uint8_t *moved = realloc(*data, bytes);
    if (!moved) {
        ox_budget_give(mapping->budget, bytes);
        return ox_fail(err, OX_NO_MEMORY, "%s: no memory for %zu bytes", path, bytes);
    }
    ox_budget_give(mapping->budget, *cap);
    *data = moved;
    *cap = bytes;
    return OX_OK;
}

/* Reads to the end. `expected` is a hint: what the file said of its size, and then it is enough. */
static enum ox_status read_all(struct ox_mapping *mapping, struct ox_env *env, int fd,
                               const char *path, size_t expected, uint64_t max_bytes,
                               struct ox_error *err)
{
    uint8_t *data = NULL;
    size_t cap = 0;
    size_t n = 0;
    enum ox_status status;
    /* One byte more than expected: the read that finds the end needs no further room. */
    OX_TRY_CLEANUP(resize(mapping, &data, &cap, expected ? expected + 1 : FIRST_READ, path, err));
    for (;;) {
        OX_TRY_CLEANUP(ox_env_poll(env, err));
        if (n == cap)
            OX_TRY_CLEANUP(resize(mapping, &data, &cap, cap * 2, path, err));
        ssize_t got = read(fd, data + n, cap - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            status = ox_fail(err, ox_errno_status(errno, OX_INPUT), "%s: cannot be read: %s", path,
                             strerror(errno));
            goto cleanup;
        }
        if (got == 0)
            break;
        n += (size_t)got;
        if (max_bytes && n > max_bytes) {
            status = over_limit(path, max_bytes, err);
            goto cleanup;
        }
    }
    if (n + 1 < cap) { /* a pipe: give back the half that may be empty */
        uint8_t *cut = realloc(data, n + 1);
        data = cut ? cut : data;
        ox_budget_give(mapping->budget, cap - (n + 1));
    }
    mapping->data = data;
    mapping->bytes = n;
    return OX_OK;
cleanup:
    ox_budget_give(mapping->budget, cap);
    free(data);
    return status;
}

int ox_fd_stat(int fd, struct stat *st)
{
    return fstatat(fd, "", st, AT_EMPTY_PATH);
}

static enum ox_status open_fd(struct ox_mapping *out, struct ox_env *env, int fd, const char *path,
                              uint64_t max_bytes, struct ox_error *err)
{
    struct stat st;
    if (ox_fd_stat(fd, &st) != 0)
        return ox_fail(err, ox_errno_status(errno, OX_INPUT), "%s: cannot be read: %s", path,
                       strerror(errno));
    if (S_ISDIR(st.st_mode))
        return ox_fail(err, OX_INPUT, "%s: is a folder, not a file", path);
    struct ox_mapping mapping = {.budget = ox_env_budget(env)};
    bool regular = S_ISREG(st.st_mode) && st.st_size > 0;
    if (regular && max_bytes && (uint64_t)st.st_size > max_bytes)
        return over_limit(path, max_bytes, err);
    if (regular && (uint64_t)st.st_size > SIZE_MAX / 2)
        return ox_fail(err, OX_LIMIT, "%s: is larger than the address space", path);
    bool at_start = regular && lseek(fd, 0, SEEK_CUR) == 0;
    if (at_start && st.st_size >= READ_BELOW) {
        void *start = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (start != MAP_FAILED) {
            mapping.data = start;
            mapping.bytes = (size_t)st.st_size;
            mapping.mapped = true;
            remember_mapping(start, mapping.bytes, path);
            *out = mapping;
            return OX_OK;
        }
    }
    OX_TRY(read_all(&mapping, env, fd, path, regular ? (size_t)st.st_size : 0, max_bytes, err));
    *out = mapping;
    return OX_OK;
}

enum ox_status ox_mapping_open_fd(struct ox_mapping *mapping, struct ox_env *env, int fd,
                                  const char *path, uint64_t max_bytes, struct ox_error *err)
{
    return open_fd(mapping, env, fd, path, max_bytes, err);
}

enum ox_status ox_mapping_open(struct ox_mapping *mapping, struct ox_env *env, const char *path,
                               uint64_t max_bytes, struct ox_error *err)
{
    if (strcmp(path, "-") == 0)
        return open_fd(mapping, env, STDIN_FILENO, "standard input", max_bytes, err);
    int fd;
    do {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return ox_fail(err, ox_errno_status(errno, OX_INPUT), "%s: cannot be opened: %s", path,
                       strerror(errno));
    enum ox_status status = open_fd(mapping, env, fd, path, max_bytes, err);
    close(fd);
    return status;
}

void ox_mapping_release(struct ox_mapping *mapping)
{
    if (!mapping || !mapping->data)
        return;
    void *data = (void *)(uintptr_t)mapping->data;
    if (mapping->mapped) {
        forget_mapping(data);
        munmap(data, mapping->bytes);
    } else {
        ox_budget_give(mapping->budget, (uint64_t)mapping->bytes + 1);
        free(data);
    }
    *mapping = (struct ox_mapping){0};
}

char *ox_path_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    while (slash > path && slash[-1] == '/')
        slash--;
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

const char *ox_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
