/* An optimization: what was asked for, and how it went. */
#ifndef CLI_OPTIMIZE_H
#define CLI_OPTIMIZE_H

#include "cli.h"
#include "optimize_target.h"
#include "options.h"
#include "prove.h"

struct optimize_args {
    const char *out;
    const char *passes; /* --passes and --skip: "a,b,c"; NULL */
    const char *skip;
    bool list;
    int64_t level;
    uint64_t fold_limit;
    bool inline_functions, dedup, fp16, bf16, half_io, empty;
    struct opt_strings freeze, targets;
    const char *extract;
    bool no_verify;
    int64_t samples;
    double rtol, atol;
    int format;
};

/* One pass as asked for and how it went. */
struct optimize_step {
    char *name;
    size_t changes;
    bool rolled_back;
    char reason[OX_ERROR_BYTES];
};

struct optimize_job {
    struct cli *cli;
    const struct optimize_args *args;
    const char *path;
    struct ox_model *original, *current;
    struct ox_model
        *expected; /* what the result is held against: the original, or it with dimensions fixed */
    struct ox_model **kept; /* models that later ones are copies of */
    size_t n_kept;
    struct optimize_step *steps;
    size_t n_steps;
    size_t inlined, shared;
    size_t nodes_before, nodes_after;
    bool proven;
    struct proof proof;
    struct ox_half_report half;
    size_t n_wide;
    bool narrowed; /* inputs and outputs */
    struct for_targets targets;
};

/* The report, as text or JSON (onnxtool.optimize/1), to standard output. */
void optimize_print_text(const struct optimize_job *job);
void optimize_print_json(const struct optimize_job *job);

#endif
