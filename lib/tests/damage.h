/* Bytes damaged as a seed says, and what may be done to a model whoever made it. */
#ifndef OX_TESTS_DAMAGE_H
#define OX_TESTS_DAMAGE_H

#include "common/env.h"
#include "tests/read_suite.h"

uint64_t damage_next(uint64_t *state);

/* One to three of: a byte changed, bytes put in, taken out, copied elsewhere, an end cut off. Of n bytes, in a buffer with room
 * for DAMAGE_GROWTH more; the new number. */
enum { DAMAGE_GROWTH = 64 };
size_t damage_bytes(uint8_t *bytes, size_t n, uint64_t *state);

enum damage_stage { DAMAGE_OPENED, DAMAGE_PLANNED, DAMAGE_RUN, DAMAGE_STAGES };

struct damage_context {
    struct ox_env *env;
    const struct suite_case *from; /* its inputs are tried first */
    uint64_t choice;               /* which of the rarer things are done */
    bool reached[DAMAGE_STAGES];
    char why[512]; /* set where a function says false */
};

/* Opens the bytes and does with the model what check, shape-infer, dump and run do. false: an error without a message, or with
 * a status that a file cannot be the cause of. */
bool damage_survive(struct damage_context *c, const uint8_t *bytes, size_t n);

#endif
