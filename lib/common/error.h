/* How a failure is written down: once, where it happens. */
#ifndef OX_COMMON_ERROR_H
#define OX_COMMON_ERROR_H

#include "common/compiler.h"
#include "onnxtool.h"

/* Fills *err (NULL is fine) and returns status, so that a failing function can end in `return ox_fail(...)`. */
enum ox_status ox_fail(struct ox_error *err, enum ox_status status, const char *format, ...)
    OX_PRINTF(3, 4);

/* Puts "context: " before the message that err holds; for a caller that knows the file or the node. Returns err->status
 * (or status when err is NULL). */
enum ox_status ox_fail_context(struct ox_error *err, enum ox_status status, const char *format, ...)
    OX_PRINTF(3, 4);

/* What an errno of the system means for us: OX_NO_MEMORY for want of memory or descriptors, else `otherwise`. */
enum ox_status ox_errno_status(int error, enum ox_status otherwise);

enum { OX_SHOWN_BYTES = 280 };
/* A name from a file as a message may have it: ox_strbuf_name() at most 256 bytes long, without memory to fail for. */
const char *ox_shown(char text[OX_SHOWN_BYTES], const char *name, size_t n);

#define OX_TRY(expression)                                                                         \
    do {                                                                                           \
        enum ox_status ox_try_status = (expression);                                               \
        if (ox_try_status != OX_OK)                                                                \
            return ox_try_status;                                                                  \
    } while (0)

/* For functions with one cleanup label; needs a variable `enum ox_status status`. */
#define OX_TRY_CLEANUP(expression)                                                                 \
    do {                                                                                           \
        status = (expression);                                                                     \
        if (status != OX_OK)                                                                       \
            goto cleanup;                                                                          \
    } while (0)

#endif
