/* Small models at -O0 in plain C and at -O2 with all that the processor has. */
#ifndef OX_TESTS_EVERY_LEVEL_H
#define OX_TESTS_EVERY_LEVEL_H

#include "kernels/cpu.h"
#include "tests/guarded.h"
#include "tests/run_text.h"

enum { MOST = 1 << 16, MOST_BYTES = MOST * 8, INPUTS = 2 };

/* An input; dtype 0: there is none. */
struct given {
    enum ox_dtype dtype;
    unsigned rank;
    int64_t dims[4];
    const void *data;
};

/* What run_both() made last. */
extern char slow[MOST_BYTES], fast[MOST_BYTES];

/* Bytes of the first output, which go to `out`, of MOST_BYTES. */
size_t run_at(enum ox_cpu cpu, int level, const char *text, const struct given *in, void *out);
/* The same number from both, or the test fails. */
size_t run_both(const char *text, const struct given *in);
/* Fails the test where the two differ in a bit. */
void same_bits(const char *text, const struct given *in);
/* Floats: any NaN for NaN, else within `reach` of the larger one; 0: the same. */
void same_floats(const char *text, const struct given *in, float reach);

/* Few different values, now and then an infinity, a zero of either sign or NaN if `hard`. Lives until INPUTS more are made. */
const float *floats(struct dice *d, size_t n, bool hard);

#endif
