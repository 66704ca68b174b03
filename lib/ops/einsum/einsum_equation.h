/* The equation of Einsum. */
#ifndef OX_OPS_EINSUM_EQUATION_H
#define OX_OPS_EINSUM_EQUATION_H

#include <stdbool.h>

enum {
    OX_EINSUM_LETTERS = 52,
    OX_EINSUM_RANK = 64,
    OX_EINSUM_LABELS = OX_EINSUM_LETTERS + OX_EINSUM_RANK
};

struct ox_einsum_term {
    unsigned n;
    /* Letters, then, of what the ellipsis stands for, from the right: OX_EINSUM_LETTERS, OX_EINSUM_LETTERS + 1, ... */
    unsigned char label[OX_EINSUM_RANK];
    int ellipsis; /* its place among the letters; -1: none */
};

/* Reads one term and leaves *at on what ends it: ',', '-' or the end. NULL, or what is wrong. */
const char *ox_einsum_read(const char **at, struct ox_einsum_term *t);

/* Puts labels in the place of the ellipsis, so that the term has `rank` of them.; false: it cannot have. */
bool ox_einsum_expand(struct ox_einsum_term *t, unsigned rank);

/* The output term: what stands after the arrow, else the ellipsis and each letter that occurs once. uses: of each label in the
 * inputs; most: the longest ellipsis there. NULL, or what is wrong. */
const char *ox_einsum_read_output(const char *at, const unsigned *uses, unsigned most,
                                  struct ox_einsum_term *out);

#endif
