/* Memory for kernel tests: misaligned on purpose, with bytes on both sides that no kernel may change. */
#ifndef OX_TESTS_GUARDED_H
#define OX_TESTS_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guarded {
    float *at; /* n floats */
    size_t n;
    unsigned char *block;
};

/* A generator of its own per test, so that a failing case can be run again. */
struct dice {
    uint64_t state;
};
uint64_t dice_next(struct dice *d);
/* In [low, high]. */
size_t dice_between(struct dice *d, size_t low, size_t high);
/* In [-1, 1). */
float dice_float(struct dice *d);

/* n floats at a random offset from a cache line, random values; `offset` false: on a line. */
struct guarded guarded_new(struct dice *d, size_t n, bool offset);
/* Fails the test when a guard was changed, and frees. */
void guarded_free(struct guarded *g);

#endif
