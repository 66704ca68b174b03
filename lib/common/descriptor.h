/* Open descriptors. */
#ifndef OX_COMMON_DESCRIPTOR_H
#define OX_COMMON_DESCRIPTOR_H

#include <stddef.h>

/* Writes all of n bytes, through interruptions. 0 or an errno. */
int ox_descriptor_write(int fd, const void *data, size_t n);

#endif
