/* --input NAME=DIMS as the library takes it. */
#ifndef CLI_INPUT_DIMS_H
#define CLI_INPUT_DIMS_H

#include "cli.h"

struct input_dims {
    char **copies;
    const char **names; /* NULL elements: the only input */
    const char **dims;
    size_t n;
};

/* Takes each NAME=DIMS apart; a name may hold '=', dims do not. Reports its errors. Release it in any case. */
enum ox_status input_dims_split(struct cli *cli, const struct opt_strings *options,
                                struct input_dims *inputs);
void input_dims_release(struct input_dims *inputs);

#endif
