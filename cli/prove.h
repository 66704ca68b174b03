/* Two models held against each other on inputs drawn at random: what proves a rewriting. */
#ifndef CLI_PROVE_H
#define CLI_PROVE_H

#include "cli.h"

struct proof {
    unsigned samples; /* that both ran on; 0: nothing is shown, and `reason` says why */
    bool agree;
    double max_abs, max_rel; /* over all outputs */
    uint64_t n_elements;
    char reason[OX_ERROR_BYTES]; /* of the first disagreement, with the output's name */
};

struct proof_options {
    unsigned
        samples; /* at most so many; the first with open dimensions of 1, then 2, 3; where none of these run, 16 or 64 */
    uint64_t seed;
    struct ox_env *env;
    bool edges; /* then the first drawing again, times 0, -1 and 10 */
    bool empty; /* and at last one with open dimensions of 0 */
    struct ox_tolerance tolerance;
};

/* Draws the inputs that the session requires, `inputs` of them all (what was there is released); open dimensions are `open` in every
 * one, so that names agree. */
enum ox_status prove_draw(struct ox_session *session, uint64_t seed, int64_t open,
                          struct ox_datum **inputs, struct ox_error *err);

/* OX_OK also when they disagree or nothing could be run: see proof. Inputs are matched by name, outputs by place. */
enum ox_status prove_equal(struct proof *proof, struct ox_model *expected, struct ox_model *actual,
                           const struct proof_options *options, struct ox_error *err);

#endif
