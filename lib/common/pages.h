/* Large blocks of memory straight from the system. */
#ifndef OX_COMMON_PAGES_H
#define OX_COMMON_PAGES_H

#include <stddef.h>

/* Zeroed and aligned to 64 bytes at least, in huge pages where the system has them; NULL when out of memory. Given back with the same
 * size. */
void *ox_pages_new(size_t bytes);
void ox_pages_release(void *block, size_t bytes);
/* ... in common pages of its own, whatever the size; bytes > 0. */
void *ox_pages_plain(size_t bytes);
void ox_pages_plain_release(void *block, size_t bytes);

#endif
