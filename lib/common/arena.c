#include "common/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"

struct ox_arena_block {
    struct ox_arena_block *next;
    size_t bytes; /* of the whole allocation */
    char *end;
};

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGN = alignof(max_align_t), WORD = 8 };

bool ox_budget_take(struct ox_budget *budget, uint64_t bytes)
{
    if (!budget)
        return true;
    uint64_t used = atomic_fetch_add(&budget->used, bytes) + bytes;
    if (used < bytes || (budget->limit && used > budget->limit)) {
        atomic_fetch_sub(&budget->used, bytes);
        return false;
    }
    uint64_t peak = atomic_load(&budget->peak);
    while (peak < used && !atomic_compare_exchange_weak(&budget->peak, &peak, used)) {
    }
    return true;
}

void ox_budget_give(struct ox_budget *budget, uint64_t bytes)
{
    if (budget)
        atomic_fetch_sub(&budget->used, bytes);
}

void ox_arena_init(struct ox_arena *arena, struct ox_budget *budget)
{
    *arena = (struct ox_arena){.budget = budget};
}

static void free_blocks(struct ox_arena *arena, const struct ox_arena_block *until)
{
    while (arena->blocks && arena->blocks != until) {
        struct ox_arena_block *next = arena->blocks->next;
        ox_budget_give(arena->budget, arena->blocks->bytes);
        free(arena->blocks);
        arena->blocks = next;
    }
}

void ox_arena_release(struct ox_arena *arena)
{
    free_blocks(arena, NULL);
    arena->at = arena->end = NULL;
}

static size_t header_bytes(void)
{
    return (sizeof(struct ox_arena_block) + ALIGN - 1) / ALIGN * ALIGN;
}

static bool new_block(struct ox_arena *arena, size_t need)
{
    size_t bytes = arena->blocks ? arena->blocks->bytes * 2 : FIRST_BLOCK;
    if (bytes > LARGEST_BLOCK)
        bytes = LARGEST_BLOCK;
    size_t least;
    if (OX_ADD_OVERFLOWS(need, header_bytes(), &least))
        return false;
    if (bytes < least)
        bytes = least;
    if (!ox_budget_take(arena->budget, bytes))
        return false;
    struct ox_arena_block *block = malloc(bytes);
    if (!block) {
        ox_budget_give(arena->budget, bytes);
        return false;
    }
    block->next = arena->blocks;
    block->bytes = bytes;
    block->end = (char *)block + bytes;
    arena->blocks = block;
    arena->at = (char *)block + header_bytes();
    arena->end = block->end;
    return true;
}

static size_t padding(const struct ox_arena *arena, size_t align)
{
    return (align - (uintptr_t)arena->at % align) % align;
}

bool ox_arena_reserve(struct ox_arena *arena, size_t bytes)
{
    size_t left = (size_t)(arena->end - arena->at), before = padding(arena, ALIGN);
    return (left >= before && left - before >= bytes) || new_block(arena, bytes);
}

static size_t rounded(size_t bytes, size_t align)
{
    return bytes ? (bytes + align - 1) / align * align : align;
}

static void *take(struct ox_arena *arena, size_t bytes, size_t align)
{
    if (bytes > SIZE_MAX - 2 * ALIGN)
        return NULL;
    bytes = rounded(bytes, align);
    size_t before = padding(arena, align);
    if ((size_t)(arena->end - arena->at) < before + bytes) {
        if (!new_block(arena, bytes))
            return NULL;
        before = 0;
    }
    void *result = arena->at + before;
    arena->at += before + bytes;
    return memset(result, 0, bytes);
}

void *ox_arena_alloc(struct ox_arena *arena, size_t bytes)
{
    return take(arena, bytes, ALIGN);
}

void *ox_arena_words(struct ox_arena *arena, size_t bytes)
{
    return take(arena, bytes, WORD);
}

void *ox_arena_array(struct ox_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    return OX_MUL_OVERFLOWS(count, size, &bytes) ? NULL : ox_arena_alloc(arena, bytes);
}

void *ox_arena_copy(struct ox_arena *arena, const void *bytes, size_t n)
{
    void *copy = ox_arena_alloc(arena, n);
    if (copy && n)
        memcpy(copy, bytes, n);
    return copy;
}

char *ox_arena_strndup(struct ox_arena *arena, const char *text, size_t n)
{
    char *copy = n < SIZE_MAX ? ox_arena_alloc(arena, n + 1) : NULL;
    if (copy && n)
        memcpy(copy, text, n);
    return copy;
}

char *ox_arena_strdup(struct ox_arena *arena, const char *text)
{
    return ox_arena_strndup(arena, text, strlen(text));
}

char *ox_arena_text(struct ox_arena *arena, const struct ox_strbuf *text)
{
    return text->failed ? NULL : ox_arena_strndup(arena, text->data, text->len);
}

char *ox_arena_printf(struct ox_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : ox_arena_alloc(arena, (size_t)n + 1);
    if (text) {
        va_start(args, format);
        vsnprintf(text, (size_t)n + 1, format, args);
        va_end(args);
    }
    return text;
}

struct ox_arena_mark ox_arena_mark(const struct ox_arena *arena)
{
    return (struct ox_arena_mark){arena->blocks, arena->at};
}

void ox_arena_rewind(struct ox_arena *arena, struct ox_arena_mark mark)
{
    free_blocks(arena, mark.block);
    arena->at = mark.at;
    arena->end = arena->blocks ? arena->blocks->end : NULL;
}
