/* Memory that is released all at once, counted against a budget. */
#ifndef OX_COMMON_ARENA_H
#define OX_COMMON_ARENA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "onnxtool.h"

/* A count of bytes in use against a limit; shared by all that belongs to an ox_env. Thread-safe. */
struct ox_budget {
    uint64_t limit; /* 0: none */
    _Atomic uint64_t used;
    _Atomic uint64_t peak;
};

/* True when `bytes` more fit; they are then counted. NULL budget: always. */
bool ox_budget_take(struct ox_budget *budget, uint64_t bytes);
void ox_budget_give(struct ox_budget *budget, uint64_t bytes);

struct ox_arena_block;

struct ox_arena {
    struct ox_budget *budget;
    struct ox_arena_block *blocks;
    char *at;
    char *end;
};

void ox_arena_init(struct ox_arena *arena, struct ox_budget *budget);
void ox_arena_release(struct ox_arena *arena);

/* Zeroed, aligned for any type; NULL when out of memory or over the budget. bytes may be 0. */
void *ox_arena_alloc(struct ox_arena *arena, size_t bytes);
/* ... aligned for pointers and numbers of 8 bytes: many small ones take less room so. */
void *ox_arena_words(struct ox_arena *arena, size_t bytes);
/* Makes the next `bytes` come from one block, without touching them. False: out of memory or over the budget. */
bool ox_arena_reserve(struct ox_arena *arena, size_t bytes);
/* count * size, checked. */
void *ox_arena_array(struct ox_arena *arena, size_t count, size_t size);
void *ox_arena_copy(struct ox_arena *arena, const void *bytes, size_t n);
char *ox_arena_strdup(struct ox_arena *arena, const char *text);
char *ox_arena_strndup(struct ox_arena *arena, const char *text, size_t n);
/* What the string holds; NULL also when it failed before. */
char *ox_arena_text(struct ox_arena *arena, const struct ox_strbuf *text);
char *ox_arena_printf(struct ox_arena *arena, const char *format, ...) OX_PRINTF(2, 3);

/* Bytes handed out so far are kept; everything allocated after the mark is given back. */
struct ox_arena_mark {
    struct ox_arena_block *block;
    char *at;
};
struct ox_arena_mark ox_arena_mark(const struct ox_arena *arena);
void ox_arena_rewind(struct ox_arena *arena, struct ox_arena_mark mark);

#endif
