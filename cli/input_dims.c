#include "input_dims.h"

#include <stdlib.h>
#include <string.h>

enum ox_status input_dims_split(struct cli *cli, const struct opt_strings *options,
                                struct input_dims *inputs)
{
    *inputs = (struct input_dims){.copies = calloc(options->n + 1, sizeof *inputs->copies),
                                  .names = calloc(options->n + 1, sizeof(*inputs->names)),
                                  .dims = calloc(options->n + 1, sizeof(*inputs->dims))};
    if (!inputs->copies || !inputs->names || !inputs->dims)
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < options->n; i++) {
        char *copy = strdup(options->items[i]);
        if (!copy)
            return cli_fail(cli, OX_NO_MEMORY, "out of memory");
        inputs->copies[inputs->n++] = copy;
        char *equals = strrchr(copy, '=');
        if (!equals && options->n > 1)
            return cli_fail(cli, OX_USAGE,
                            "%s: '%s' and '%s': with several a name is needed, NAME=%s",
                            cli->command->name, options->items[0], options->items[1], copy);
        inputs->names[i] = equals ? copy : NULL;
        inputs->dims[i] = equals ? equals + 1 : copy;
        if (equals)
            *equals = '\0';
    }
    return OX_OK;
}

void input_dims_release(struct input_dims *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        free(inputs->copies[i]);
    free(inputs->copies);
    free((void *)inputs->names);
    free((void *)inputs->dims);
    *inputs = (struct input_dims){0};
}
