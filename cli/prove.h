/* Two models held against each other on inputs drawn at random: what proves a rewriting. */
#ifndef CLI_PROVE_H
#define CLI_PROVE_H

#include "cli.h"

struct proof {
    unsigned samples; /* that both ran on; 0: nothing is shown, and `reason` says why */
    bool agree;
    double max_abs, max_rel; /* over all outputs */
    double
        least_db; /* with enough_db the SQNR of the worst output of floats; INFINITY: none differs */
    uint64_t n_elements;
    char reason[OX_ERROR_BYTES]; /* of the first disagreement, with the output's name */
};

struct proof_options {
    unsigned
        samples; /* at most so many; the first with open dimensions of 1, then 2, 3; where none of these run, larger or unequal ones */
    uint64_t seed;
    struct ox_env *env;
    const char *path; /* of both models: reasons leave it out */
    bool edges;       /* then the first drawing again, times 0, -1 and 10 */
    bool empty;       /* and at last one with open dimensions of 0 */
    struct ox_tolerance tolerance;
    double
        enough_db; /* an output of floats agrees also with that SQNR, whatever its single elements; 0: elements alone decide */
};

/* dB between an output and its noise. Of halves: roundings of many layers leave that much, what overflows or cancels does not. Of
 * 8 and 16 bits: a rounding elsewhere moves a few codes by a step. */
enum { ENOUGH_FOR_HALF = 25, ENOUGH_FOR_BRAIN = 20, ENOUGH_FOR_CODES = 40, ENOUGH_FOR_WORDS = 60 };

/* What the precision of weights, and of what is quantized as the model runs, leaves: of the least precise; 0: all is wider. */
enum ox_status prove_enough(struct ox_model *model, double *enough_db, struct ox_error *err);

/* One of the two. */
struct prove_side {
    struct ox_session *session;
    struct ox_datum **inputs, **outputs; /* NULL elements: none */
    size_t n_inputs, n_outputs;
};

enum ox_status prove_open(struct prove_side *side, struct ox_model *model, struct ox_error *err);
void prove_close(struct prove_side *side, bool owns_inputs);
void prove_release(struct ox_datum **data, size_t n);

/* Draws the inputs that the session requires, `inputs` of them all (what was there is released); open dimensions are `open` in every
 * one, so that names agree. */
enum ox_status prove_draw(struct ox_session *session, uint64_t seed, int64_t open,
                          struct ox_datum **inputs, struct ox_error *err);

/* Multiplies a tensor of float32; others stay as they are. */
enum ox_status prove_scale(struct ox_datum **datum, struct ox_env *env, float factor,
                           struct ox_error *err);

/* OX_OK also when they disagree or nothing could be run: see proof. Inputs are matched by name, outputs by place. */
enum ox_status prove_equal(struct proof *proof, struct ox_model *expected, struct ox_model *actual,
                           const struct proof_options *options, struct ox_error *err);

/* ---- prove_free.c ---- */

/* What ox_shapes_free_dims() made of a model: run at its old sizes, where it must be equal, and with those that are free now
 * twice and three times as large; where they are batches, held against as many runs of the model that was. OX_NEGATIVE when it
 * does not run; rows that depend on each other are a warning, as is a model that cannot be run. Reports errors. */
enum ox_status prove_freed(struct cli *cli, const char *path, struct ox_model *before,
                           struct ox_model *after);

#endif
