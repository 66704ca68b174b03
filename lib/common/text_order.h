/* The order of two texts, for searches of sorted tables. */
#ifndef OX_COMMON_TEXT_ORDER_H
#define OX_COMMON_TEXT_ORDER_H

#include <string.h>

/* strcmp() that most pairs leave by their first letter, without a call. */
static inline int ox_text_order(const char *a, const char *b)
{
    int order = (unsigned char)*a - (unsigned char)*b;
    return order || !*a ? order : strcmp(a, b);
}

#endif
