#include "common/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ALIGN = 64,
    FROM_SYSTEM = 1 << 20, /* smaller blocks come from malloc, which uses memory again */
    PAGE = 4096,
    HUGE = 2 << 20
};

void *ox_pages_plain(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block != MAP_FAILED ? block : NULL;
}

void ox_pages_plain_release(void *block, size_t bytes)
{
    if (block)
        munmap(block, bytes);
}

/* A mapping whose inner part begins at a huge page's boundary; what lies before and behind it is given back. */
static void *map_aligned(size_t bytes)
{
    if (bytes > SIZE_MAX - HUGE)
        return NULL;
    uint8_t *base = ox_pages_plain(bytes + HUGE);
    if (!base)
        return NULL;
    size_t before = (HUGE - (uintptr_t)base % HUGE) % HUGE;
    size_t used = (bytes + PAGE - 1) / PAGE * PAGE;
    if (before)
        munmap(base, before);
    munmap(base + before + used, HUGE - before);
#ifdef MADV_HUGEPAGE
    madvise(base + before, used, MADV_HUGEPAGE);
#endif
    return base + before;
}

void *ox_pages_new(size_t bytes)
{
    if (bytes >= FROM_SYSTEM)
        return map_aligned(bytes);
    size_t rounded = (bytes + ALIGN) / ALIGN * ALIGN;
    void *block = aligned_alloc(ALIGN, rounded);
    if (block)
        memset(block, 0, rounded);
    return block;
}

void ox_pages_release(void *block, size_t bytes)
{
    if (!block)
        return;
    if (bytes >= FROM_SYSTEM)
        munmap(block, (bytes + PAGE - 1) / PAGE * PAGE);
    else
        free(block);
}
