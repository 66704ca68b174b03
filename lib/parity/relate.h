/* How one array came from another: what a mistake in an exporter or a converter does to it. */
#ifndef OX_PARITY_RELATE_H
#define OX_PARITY_RELATE_H

#include "tensor/tensor.h"

struct ox_relation {
    const char *id; /* "transposed", "reversed", "reordered", "narrowed", "clipped", ... */
    char text[320]; /* "A is B transposed by [1,0]" */
};

/* The simplest relation that makes a from b, or b from a, found by trying; false: none of those known. OX_NO_MEMORY. */
enum ox_status ox_relate(const struct ox_tensor *a, const struct ox_tensor *b, bool *found,
                         struct ox_relation *relation, struct ox_error *err);

/* Two arrays of one count in doubles. */
struct ox_arrays {
    const struct ox_tensor *ta, *tb;
    double *a, *b;
    size_t n;
    double eps; /* relative: what counts as equal, by the coarser type */
};

bool ox_arrays_equal(const struct ox_arrays *x, double a, double b);
/* Relations of places: the elements are the same, elsewhere. */
bool ox_relate_places(const struct ox_arrays *x, struct ox_relation *relation, bool *failed);
/* The next order of 0 to n - 1 in the dictionary; false past the last. */
bool ox_next_permutation(unsigned *perm, unsigned n);
/* Relations of values, element by element. */
bool ox_relate_values(const struct ox_arrays *x, struct ox_relation *relation);

#endif
