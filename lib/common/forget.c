#include "common/forget.h"

#include <string.h>
#include <sys/mman.h>

#include "common/file.h"

enum { PAGE = 4096 };

void ox_mapping_forget(const void *bytes, size_t n)
{
    uintptr_t first = ((uintptr_t)bytes + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t)bytes + n) / PAGE * PAGE;
    if (end > first && ox_mapping_at((const void *)first))
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
