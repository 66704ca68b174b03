#include "name_pairs.h"

#include <stdlib.h>
#include <string.h>

enum ox_status name_pairs_read(struct cli *cli, const struct opt_strings *given, const char *name,
                               const char *form, bool needs_both, struct ox_name_pair **out)
{
    size_t bytes = 0;
    for (size_t i = 0; i < given->n; i++)
        bytes += strlen(given->items[i]) + 1;
    struct ox_name_pair *pairs = malloc((given->n + 1) * sizeof *pairs + bytes);
    if (!pairs)
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    char *text = (char *)(pairs + given->n + 1);
    for (size_t i = 0; i < given->n; i++) {
        const size_t n = strlen(given->items[i]) + 1;
        memcpy(text, given->items[i], n);
        char *equals = strchr(text, '=');
        if (!equals || equals == text || (needs_both && !equals[1])) {
            free(pairs);
            return cli_fail(cli, OX_USAGE, "%s: --%s takes %s, not '%s'", cli->command->name, name,
                            form, given->items[i]);
        }
        *equals = '\0';
        pairs[i] = (struct ox_name_pair){text, equals + 1};
        text += n;
    }
    *out = pairs;
    return OX_OK;
}
