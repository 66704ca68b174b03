/* Large blocks of memory straight from the system, in huge pages where it has them. */
#ifndef OX_COMMON_PAGES_H
#define OX_COMMON_PAGES_H

#include <stddef.h>

/* Zeroed and aligned to 64 bytes at least; NULL when out of memory. Given back with the same size. */
void *ox_pages_new(size_t bytes);
void ox_pages_release(void *block, size_t bytes);

#endif
