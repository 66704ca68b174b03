/* The options that all commands take, and what they set. */
#ifndef CLI_COMMON_OPTIONS_H
#define CLI_COMMON_OPTIONS_H

#include "cli.h"

/* Those that a command takes besides its own; NULL: all that some command takes. */
const struct opt *cli_common_options(const struct command *command);

/* False of a common option that tells how a batch is done, not what comes of it. */
bool cli_decides_results(const struct opt *opt);

/* Whether `--limit help` was given, and what it prints: the limits with their values of this machine. */
bool cli_asks_for_limits(const struct common *common);
void cli_print_limits(struct cli *cli);

/* Sets the environment, the process's limits and colours by cli->common. Has reported errors: OX_USAGE, and those of the
 * files that --schema and --op-library name. */
enum ox_status cli_apply_common(struct cli *cli);

#endif
