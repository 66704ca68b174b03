/* The parts of a batch. */
#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include "cli.h"

/* ---- batch_names.c ---- */

struct batch_names {
    char **items; /* n of them: of the shard that is asked for */
    size_t n, cap;
    bool several; /* there may be more than one: without --shard there is, or a folder was named */
};

/* The operands, then the lines of --files-from that are not empty; in place of a folder what lies beneath it and is called .onnx, .onnxtxt,
 * .onnxtext or .onnxjson, in the order of names, hidden ones left out. OX_USAGE: no operand, or no such shard. Has reported
 * errors; *names is to be released either way. */
enum ox_status batch_names_list(struct cli *cli, const char *const *operands, size_t n,
                                struct batch_names *names);
void batch_names_release(struct batch_names *names);

/* ---- batch_run.c ---- */

/* Calls `one` for each of n models in a process of its own, --jobs at a time. Results and messages are printed in the order of the models
 * and written to --log as they come. Returns the worst status; has reported errors. */
enum ox_status batch_run(struct cli *cli, void *args, const char *const *models, size_t n,
                         enum ox_status (*one)(struct cli *cli, void *args, const char *model));

#endif
