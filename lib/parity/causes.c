/* Evidence in words, heavier first. */
#include "parity/causes.h"

#include <stdarg.h>
#include <stdlib.h>

void ox_cause_add(struct ox_parity_causes *causes, int weight, const char *id, const char *format,
                  ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (causes->n == causes->capacity) {
        size_t capacity = causes->capacity ? 2 * causes->capacity : 8;
        struct ox_parity_cause *items = realloc(causes->items, capacity * sizeof *items);
        if (items)
            causes->items = items;
        int *weights = items ? realloc(causes->weights, capacity * sizeof *weights) : NULL;
        if (weights)
            causes->weights = weights;
        if (!weights) {
            causes->failed = true;
            return;
        }
        causes->capacity = capacity;
    }
    const char *kept = ox_arena_strdup(&causes->arena, text);
    const char *kept_id = ox_arena_strdup(&causes->arena, id);
    if (!kept || !kept_id) {
        causes->failed = true;
        return;
    }
    size_t at = causes->n++;
    for (; at > 0 && causes->weights[at - 1] < weight; at--) {
        causes->items[at] = causes->items[at - 1];
        causes->weights[at] = causes->weights[at - 1];
    }
    causes->items[at] = (struct ox_parity_cause){kept_id, kept};
    causes->weights[at] = weight;
}

void ox_parity_causes_release(struct ox_parity_causes *causes)
{
    if (!causes)
        return;
    ox_arena_release(&causes->arena);
    free(causes->items);
    free(causes->weights);
    free(causes);
}

size_t ox_parity_causes_count(const struct ox_parity_causes *causes)
{
    return causes ? causes->n : 0;
}

const struct ox_parity_cause *ox_parity_causes_at(const struct ox_parity_causes *causes, size_t i)
{
    return &causes->items[i];
}
