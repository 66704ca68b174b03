#include "common/forget.h"

#include <string.h>
#include <sys/mman.h>

#include "common/file.h"

/* A fault maps the pages around it too, so many bytes from a multiple of them on. */
enum { PAGE = 4096, AROUND = 1 << 16 };

void ox_mapping_forget(const void *bytes, size_t n)
{
    const uintptr_t end = ((uintptr_t)bytes + n) / PAGE * PAGE;
    uintptr_t first = (uintptr_t)bytes / AROUND * AROUND;
    const char *file = n ? ox_mapping_at(bytes) : NULL;
    while (file && ox_mapping_at((const void *)first) != file)
        first += PAGE;
    if (file && end > first)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

bool ox_mapping_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
    enum { PIECE = 1 << 20 };
    bool equal = true;
    for (size_t at = 0; equal && a != b && at < n; at += PIECE) {
        size_t piece = n - at < PIECE ? n - at : PIECE;
        equal = memcmp(a + at, b + at, piece) == 0;
        ox_mapping_forget(a + at, piece);
        ox_mapping_forget(b + at, piece);
    }
    return equal;
}
