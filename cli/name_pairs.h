/* Options that take pairs of names. */
#ifndef CLI_NAME_PAIRS_H
#define CLI_NAME_PAIRS_H

#include "cli.h"

/* What was given of option `name` as A=B each, with the names, in one block from malloc; `form` says how it is written, "OLD=NEW".
 * OX_USAGE, reported, where there is no '=', or nothing before it, or nothing behind it and `needs_both`. */
enum ox_status name_pairs_read(struct cli *cli, const struct opt_strings *given, const char *name,
                               const char *form, bool needs_both, struct ox_name_pair **out);

#endif
