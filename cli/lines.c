/* The lines of a small text file: names of models, labels of classes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"

/* Ends each line of lines->text where it ends, and lists them. */
static bool part(struct lines *lines, size_t bytes)
{
    size_t count = 1;
    for (size_t i = 0; i < bytes; i++)
        count += lines->text[i] == '\n';
    lines->items = malloc(count * sizeof *lines->items);
    if (!lines->items)
        return false;
    for (char *at = lines->text, *end = at + bytes; at < end;) {
        const char *found = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((found ? found : end) - at);
        char *next = at + n + 1;
        at[n] = '\0';
        if (n && at[n - 1] == '\r')
            at[n - 1] = '\0';
        lines->items[lines->n++] = at;
        at = next;
    }
    return true;
}

enum ox_status lines_read(struct cli *cli, const char *path, struct lines *lines)
{
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct ox_strbuf text = {0};
    bool good = fd >= 0 && cli_read_all(fd, &text);
    int why = errno;
    if (fd > STDIN_FILENO)
        close(fd);
    *lines = (struct lines){.text = text.data};
    if (!good)
        return cli_fail(cli, why == ENOMEM ? OX_NO_MEMORY : OX_INPUT, "%s: %s", path,
                        strerror(why));
    if (text.failed || (text.len && !part(lines, text.len)))
        return cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", path);
    return OX_OK;
}

void lines_release(struct lines *lines)
{
    free(lines->items);
    free(lines->text);
    *lines = (struct lines){0};
}
