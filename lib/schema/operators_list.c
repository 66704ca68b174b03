/* Lists that grow while operators are read, in the registry's arena. */
#include <stdint.h>
#include <string.h>

#include "schema/operators_read.h"

void *ox_operator_grow(struct ox_operator_reader *r, void *items, size_t n, size_t item_bytes)
{
    if (n && (n & (n - 1))) /* capacity is the power of two at or above n */
        return items;
    void *grown = ox_arena_array(&r->operators->arena, n ? 2 * n : 1, item_bytes);
    if (!grown)
        ox_lex_no_memory(&r->lex);
    else if (n)
        memcpy(grown, items, n * item_bytes);
    return grown;
}

size_t ox_operator_name(struct ox_operator_reader *r, const char ***names, size_t *n,
                        const char *name)
{
    for (size_t i = 0; name && i < *n; i++)
        if (strcmp((*names)[i], name) == 0)
            return i;
    size_t at = *n;
    const char **list = *names;
    if (name)
        OX_OPERATOR_APPEND(r, list, *n, name);
    *names = list;
    return *n > at ? at : SIZE_MAX;
}
