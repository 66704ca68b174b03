#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include "cli.h"

/* Calls `one` for each of n models in a process of its own, --jobs at a time. Results and messages are printed in the order of the models
 * and written to --log as they come. Returns the worst status; has reported errors. */
enum ox_status batch_run(struct cli *cli, void *args, const char *const *models, size_t n,
                         enum ox_status (*one)(struct cli *cli, void *args, const char *model));

#endif
