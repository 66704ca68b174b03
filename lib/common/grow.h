/* Lists that grow. */
#ifndef OX_COMMON_GROW_H
#define OX_COMMON_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for element n of a list of *cap elements of `size` bytes, which is *items (from malloc(), or NULL): it doubles. false:
 * out of memory, nothing changed. */
bool ox_grow(void **items, size_t *cap, size_t n, size_t size);

#endif
