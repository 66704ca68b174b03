#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const struct {
    int exit_code;
    const char *text;
} statuses[] = {
#define STATUS_ROW(name, code, text) {code, text},
    OX_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

int ox_status_exit_code(enum ox_status status)
{
    return (size_t)status < OX_COUNT(statuses) ? statuses[status].exit_code : 70;
}

const char *ox_status_text(enum ox_status status)
{
    return (size_t)status < OX_COUNT(statuses) ? statuses[status].text : "unknown status";
}

enum ox_status ox_errno_status(int error, enum ox_status otherwise)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE ? OX_NO_MEMORY : otherwise;
}

enum ox_status ox_fail(struct ox_error *err, enum ox_status status, const char *format, ...)
{
    if (!err)
        return status;
    va_list args;
    va_start(args, format);
    err->status = status;
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

enum ox_status ox_no_memory(struct ox_error *err)
{
    return ox_fail(err, OX_NO_MEMORY, "out of memory");
}

enum ox_status ox_fail_context(struct ox_error *err, enum ox_status status, const char *format, ...)
{
    if (!err)
        return status;
    char old[OX_ERROR_BYTES];
    memcpy(old, err->message, sizeof old);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    size_t at = n < 0 ? 0 : (size_t)n;
    if (at >= sizeof err->message - 1)
        at = sizeof err->message - 1;
    /* Cut where the buffer ends, the NUL in any case. */
    size_t room = sizeof err->message - 1 - at;
    size_t n_old = strnlen(old, sizeof old - 1);
    const char *parts[2] = {": ", old};
    size_t lengths[2] = {2, n_old};
    for (int i = 0; i < 2; i++) {
        size_t part = lengths[i] < room ? lengths[i] : room;
        memcpy(err->message + at, parts[i], part);
        at += part;
        room -= part;
    }
    err->message[at] = '\0';
    return err->status;
}
