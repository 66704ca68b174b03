/* A whole and its parts side by side: what Concat and Split copy. */
#ifndef OX_OPS_PARTS_H
#define OX_OPS_PARTS_H

#include <stddef.h>

#include "onnxtool.h"

struct ox_part {
    char *data;   /* row after row */
    size_t bytes; /* of a row, 0 too */
};

/* `rows` rows of so many bytes, not 0, at steps of their own on either side. */
void ox_parts_copy_rows(size_t rows, const char *from, size_t from_step, char *to, size_t to_step,
                        size_t bytes);
/* Fills the whole, whose rows are the rows of the n parts one after another, from them, on the environment's threads where that pays. */
void ox_parts_join(struct ox_env *env, size_t rows, size_t n, const struct ox_part *part,
                   void *whole);
/* Fills the parts from the whole. */
void ox_parts_split(struct ox_env *env, size_t rows, size_t n, const struct ox_part *part,
                    void *whole);

#endif
