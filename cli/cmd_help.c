#include "cli.h"

struct args {
    bool man;
};

static const struct opt options[] = {{0, "man", OPT_FLAG, offsetof(struct args, man), NULL, NULL,
                                      "print the manual page's source instead"},
                                     OPT_END};

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    if (n_operands > 1)
        return cli_fail(cli, OX_USAGE, "help: one command at a time");
    const struct command *command = n_operands ? command_find(operands[0]) : NULL;
    if (n_operands && !command)
        return command_unknown(cli, operands[0]);
    if (args->man)
        help_man(&cli->out, command);
    else
        help_print(&cli->out, command);
    return OX_OK;
}

const struct command command_help = {
    .name = "help",
    .summary = "Print what a command does and takes",
    .operands = "[COMMAND]",
    .description = "Without COMMAND, lists all commands.",
    .examples = "  onnxtool help check\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .run = run,
};
