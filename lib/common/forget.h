/* Mapped files of which no more than a piece is in memory. */
#ifndef OX_COMMON_FORGET_H
#define OX_COMMON_FORGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was read of a mapped file need not stay in memory: the pages up to the last whole one among these bytes are given back, with
 * what the system mapped before them, and come from the file again if somebody looks. Of other memory: nothing. */
void ox_mapping_forget(const void *bytes, size_t n);
/* memcmp() == 0, of which no more than a piece stays in memory. */
bool ox_mapping_equal(const uint8_t *a, const uint8_t *b, size_t n);

#endif
