#include <errno.h>
#include <unistd.h>

#include "cli.h"

bool cli_write_all(int fd, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        const ssize_t written = write(fd, bytes + at, n - at);
        if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? (size_t)written : 0;
    }
    return true;
}

bool cli_read_all(int fd, struct ox_strbuf *text)
{
    char bytes[65536];
    for (;;) {
        const ssize_t got = read(fd, bytes, sizeof bytes);
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        ox_strbuf_add(text, bytes, got > 0 ? (size_t)got : 0);
    }
}
