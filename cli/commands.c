/* Which commands there are. */
#include <string.h>

#include "cli.h"

#define OX_COMMAND(symbol, name) extern const struct command command_##symbol;
#include "commands.def"
#undef OX_COMMAND

const struct command *const commands[] = {
#define OX_COMMAND(symbol, name) &command_##symbol,
#include "commands.def"
#undef OX_COMMAND
    NULL};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

const char *command_nearest(const char *name)
{
    enum { MOST = sizeof commands / sizeof *commands };
    const char *names[MOST] = {0};
    for (size_t i = 0; commands[i]; i++)
        names[i] = commands[i]->name;
    return opt_nearest(name, names, MOST);
}
