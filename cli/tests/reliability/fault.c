/* Loaded before the program's libraries: fails the FAULT_AT-th allocation (FAULT=memory) or file call (FAULT=files) with its usual errno, and
 * all after it with FAULT_EVER; marks the file FAULT_MARK when it did. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

enum { NOTHING, MEMORY, FILES };

static int kind;
static long at;
static _Atomic long count;

__attribute__((constructor)) static void begin(void)
{
    const char *what = getenv("FAULT"), *number = getenv("FAULT_AT");
    at = number ? atol(number) : 0;
    kind = !what ? NOTHING : strcmp(what, "memory") == 0 ? MEMORY : FILES;
}

static int fails(int of, int error)
{
    if (kind != of)
        return 0;
    long now = ++count;
    if (now != at && !(now > at && getenv("FAULT_EVER")))
        return 0;
    long fd = syscall(SYS_openat, AT_FDCWD, getenv("FAULT_MARK"), O_WRONLY | O_CREAT, 0600);
    syscall(SYS_close, fd);
    errno = error;
    return 1;
}

void *malloc(size_t n)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails(MEMORY, ENOMEM) ? NULL : __libc_memalign(alignment, n);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    return fails(FILES, EMFILE) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    return fails(FILES, EIO) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t read(int fd, void *to, size_t n)
{
    return fails(FILES, EIO) ? -1 : syscall(SYS_read, fd, to, n);
}

ssize_t pread(int fd, void *to, size_t n, off_t from)
{
    return fails(FILES, EIO) ? -1 : syscall(SYS_pread64, fd, to, n, from);
}

ssize_t write(int fd, const void *from, size_t n)
{
    if (fd == 2)
        return syscall(SYS_write, fd, from, n);
    return fails(FILES, ENOSPC) ? -1 : syscall(SYS_write, fd, from, n);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t to)
{
    return fails(FILES, ENOSPC) ? -1 : syscall(SYS_pwrite64, fd, from, n, to);
}

int fsync(int fd)
{
    return fails(FILES, EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    return fails(FILES, EPERM) ? -1 : (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails(FILES, EIO) ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}
