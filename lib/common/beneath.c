#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/file.h"
#include "common/utf8.h"

/* As strstr() does, whose code is 128 KB away from all else that a check of external data touches. */
static bool names_memory(const char *location)
{
    static const char mark[] = "_ORT_MEM_ADDR_";
    for (const char *at = location; (at = strchr(at, mark[0])); at++)
        if (strncmp(at, mark, sizeof mark - 1) == 0)
            return true;
    return false;
}

const char *ox_location_fault(const char *location)
{
    size_t n = strlen(location);
    if (n == 0)
        return "it is empty";
    if (n > 4095)
        return "it is longer than 4095 bytes";
    if (location[0] == '/')
        return "it is absolute";
    if (location[0] == '#')
        return "it begins with '#'";
    if (names_memory(location))
        return "it stands for an address in memory, not for a file";
    if (strchr(location, '\\'))
        return "it has a backslash";
    for (const char *at = location; *at;) {
        uint32_t code;
        size_t length = ox_utf8_next(at, n - (size_t)(at - location), &code);
        if (length == 0)
            return "it is not valid UTF-8";
        if (code < 0x20 || code == 0x7F)
            return "it has a control character";
        at += length;
    }
    for (const char *at = location; at;) {
        if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || at[2] == '\0'))
            return "it has a component \"..\"";
        at = strchr(at, '/');
        at = at ? at + 1 : NULL;
    }
    return NULL;
}

/* O_NONBLOCK: a FIFO or a device with nobody at its other end must not stop the program before it is refused. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

static int open_by_kernel(int dir, const char *location)
{
    struct open_how how = {.flags = OPEN_FLAGS,
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    long fd;
    do {
        fd = syscall(SYS_openat2, dir, location, &how, sizeof how);
    } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return (int)fd;
}

/* For kernels before 5.6 and sandboxes without openat2: one component at a time, each held open while the next is looked
 * up in it, so that a folder renamed or replaced on the way changes nothing. */
static int open_by_walk(int dir, const char *location)
{
    int at = dir;
    int fd = -1;
    const char *rest = location;
    for (;;) {
        char name[NAME_MAX + 1];
        size_t n = strcspn(rest, "/");
        const char *next = rest + n + strspn(rest + n, "/");
        if (n > NAME_MAX) {
            errno = ENAMETOOLONG;
            break;
        }
        memcpy(name, rest, n);
        name[n] = '\0';
        bool last = *next == '\0';
        bool want_folder = rest[n] == '/';
        fd = openat(at, name,
                    (last ? OPEN_FLAGS : O_PATH | O_CLOEXEC) | O_NOFOLLOW |
                        (want_folder ? O_DIRECTORY : 0));
        if (fd < 0 || last)
            break;
        if (at != dir)
            close(at);
        at = fd;
        fd = -1;
        rest = next;
    }
    int saved = errno;
    if (at != dir)
        close(at);
    errno = saved;
    return fd;
}

static enum ox_status refuse(struct ox_error *err, const char *location, const char *why)
{
    char shown[OX_SHOWN_BYTES];
    return ox_fail(err, OX_INPUT, "external data \"%s\" refused: %s",
                   ox_shown(shown, location, strlen(location)), why);
}

static enum ox_status check_file(int fd, const char *location, bool one_link, struct ox_error *err)
{
    struct stat st;
    if (ox_fd_stat(fd, &st) != 0)
        return refuse(err, location, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return refuse(err, location,
                      S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file");
    if (one_link && st.st_nlink != 1)
        return refuse(err, location, "it has several hard links");
    return OX_OK;
}

/* Where the open file really is, by the kernel's word, against where it may be. */
static enum ox_status check_within(int fd, const char *root, const char *location,
                                   struct ox_error *err)
{
    char link[64];
    char where[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, where, sizeof where - 1);
    if (n <= 0)
        return refuse(err, location, "where its links lead cannot be told (/proc is missing)");
    where[n] = '\0';
    char *real_root = realpath(root, NULL);
    if (!real_root)
        return ox_fail(err, ox_errno_status(errno, OX_INPUT), "%s: cannot be opened: %s", root,
                       strerror(errno));
    size_t n_root = strlen(real_root);
    while (n_root > 0 && real_root[n_root - 1] == '/')
        n_root--;
    bool within = strncmp(where, real_root, n_root) == 0 && where[n_root] == '/';
    free(real_root);
    return within ? OX_OK : refuse(err, location, "its links lead outside the folder allowed");
}

static const char *why_not(int error)
{
    switch (error) {
    case ENOENT:
        return "there is no such file";
    case EXDEV:
        return "it leaves the model's folder";
    case ELOOP:
        return "it is or passes through a symbolic link";
    case ENOTDIR:
        return "it passes through something that is no folder";
    default:
        return strerror(error);
    }
}

enum ox_status ox_open_beneath(const char *dir, const char *location, enum ox_external_mode mode,
                               const char *root, int *fd, struct ox_error *err)
{
    if (mode == OX_EXTERNAL_DENY)
        return refuse(err, location, "external data are denied");
    const char *fault = ox_location_fault(location);
    if (fault)
        return refuse(err, location, fault);
    bool follow = mode == OX_EXTERNAL_FOLLOW && root;
    int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return ox_fail(err, ox_errno_status(errno, OX_INPUT), "%s: the folder cannot be opened: %s",
                       dir, strerror(errno));
    int file;
    if (follow) {
        file = openat(folder, location, OPEN_FLAGS);
    } else {
        file = open_by_kernel(folder, location);
        if (file < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG || errno == EINVAL))
            file = open_by_walk(folder, location);
    }
    int error = errno;
    close(folder);
    if (file < 0)
        return refuse(err, location, why_not(error));
    enum ox_status status = check_file(file, location, !follow, err);
    if (status == OX_OK && follow)
        status = check_within(file, root, location, err);
    if (status != OX_OK) {
        close(file);
        return status;
    }
    *fd = file;
    return OX_OK;
}
