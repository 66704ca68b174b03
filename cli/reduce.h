/* The parts of `reduce`. */
#ifndef CLI_REDUCE_H
#define CLI_REDUCE_H

#include <signal.h>

#include "child.h"
#include "run.h"

struct reduce_args {
    struct run_args run; /* the inputs of the run that values are taken from */
    const char *out, *fail_codes, *fail_regex, *check_output;
    double check_timeout;
    int64_t max_checks;
    int cut; /* enum reduce_cut */
    int format;
};

enum reduce_cut { REDUCE_BOTH, REDUCE_INPUTS, REDUCE_CONSTANTS };

/* How a check ended. */
struct reduce_end {
    int code;  /* exit status, of a signal 128 more than its number; -1: it took too long */
    bool none; /* there was no check yet */
};

struct reduce {
    struct cli *cli;
    const struct reduce_args *args;
    const char *path;
    const char *const *words; /* the command, n_words of them */
    size_t n_words;
    const volatile sig_atomic_t *interrupted;
    double deadline;                /* cli_seconds(); 0: none */
    char folder[TEMP_FOLDER_BYTES]; /* where parts are written to */
    size_t n_checks;
    struct reduce_end first, last; /* of the whole; of the smallest that failed so far */
    struct ox_strbuf printed;      /* by the command on that */
    const char *why_stopped;       /* NULL: nothing stopped the search */
};

/* ---- reduce_check.c ---- */

/* OX_USAGE, with a message, where --fail-code or --fail-regex cannot be read. */
enum ox_status reduce_read_rules(struct reduce *reduce);
/* For ox_reduce_options.check; arg is the struct reduce. */
enum ox_status reduce_check(void *arg, struct ox_model *part, enum ox_reduce_verdict *verdict,
                            struct ox_error *err);
/* "exit status 1", "signal 11 (Segmentation fault)", "no end within 5 s". */
void reduce_put_end(struct ox_strbuf *out, const struct reduce *reduce,
                    const struct reduce_end *end);
/* With all data in the file, or where one message cannot hold it in one beside it. */
enum ox_status reduce_save(struct ox_model *model, const char *path, struct ox_error *err);

/* ---- reduce_values.c ---- */

/* For ox_reduce_options.record: what the values are by our own kernels; nothing, with a warning, where they do not run it. */
enum ox_status reduce_values(void *arg, struct ox_model *model, const char *const *names, size_t n,
                             struct ox_datum **values, struct ox_error *err);

#endif
