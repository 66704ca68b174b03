/* onnxtool: the program. Finds the command, reads its options, runs it, turns its status into an exit code. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common_options.h"

static int run_command(const struct command *command, int argc, char **argv)
{
    struct cli cli = {
        .command = command,
        .common = {.jobs = 1, .max_memory = CLI_NOT_GIVEN, .max_file = CLI_NOT_GIVEN}};
    struct opt_result result = {0};
    struct ox_error err = {0};
    void *args = calloc(1, command->args_bytes + 1);
    cli.env = ox_env_new();
    enum ox_status status = OX_NO_MEMORY;
    if (!args || !cli.env) {
        cli_fail(&cli, status, "out of memory");
        goto cleanup;
    }
    if (command->defaults)
        command->defaults(args);
    status = opt_parse(command->options, args, cli_common_options(command), &cli.common, argc, argv,
                       &result, &err);
    if (cli.common.help || (status == OX_OK && cli_asks_for_limits(&cli.common))) {
        if (cli.common.help)
            help_print(&cli.out, command);
        else
            cli_print_limits(&cli);
        status = cli_flush(&cli);
        goto cleanup;
    }
    if (status != OX_OK) {
        status = status == OX_USAGE
                     ? cli_fail(&cli, status, "%s: %s ('onnxtool %s --help' lists the options)",
                                command->name, err.message, command->name)
                     : cli_fail(&cli, status, "%s: %s", command->name, err.message);
        goto cleanup;
    }
    cli.given = result.given;
    cli.n_given = result.n_given;
    status = cli_apply_common(&cli);
    if (status == OX_OK) {
        status = command->run(&cli, args, result.operands, result.n_operands);
        status = cli_worse(status, cli_flush(&cli));
    }
cleanup:
    if (args)
        opt_release(command->options, args, cli_common_options(command), &cli.common, &result);
    ox_strbuf_release(&cli.out);
    ox_env_release(cli.env);
    free(args);
    return ox_status_exit_code(status);
}

/* A mapped input file that somebody cut short while it is read: bad input, not a crash. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    static const char text[] = ": was cut short while it was read\n";
    (void)context;
    const char *path = ox_mapping_at(info->si_addr);
    ox_outfile_cleanup();
    if (path) {
        (void)!write(2, "onnxtool: ", 10);
        (void)!write(2, path, strlen(path));
        (void)!write(2, text, sizeof text - 1);
        _exit(ox_status_exit_code(OX_INPUT));
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void on_signal(int number)
{
    ox_outfile_cleanup();
    signal(number, SIG_DFL);
    raise(number);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    struct sigaction bus_error = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &bus_error, NULL);
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (signal(numbers[i], on_signal) == SIG_IGN)
            signal(numbers[i], SIG_IGN);
    const char *first = argc > 1 ? argv[1] : "";
    const struct command *command = command_find(first);
    if (command)
        return run_command(command, argc - 2, argv + 2);
    struct cli cli = {0};
    enum ox_status status;
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        ox_strbuf_printf(&cli.out, "onnxtool %s (onnx %s: opset %d, IR version %d)\n", OX_VERSION,
                         OX_ONNX_VERSION, OX_ONNX_OPSET, OX_ONNX_IR_VERSION);
        status = cli_flush(&cli);
    } else if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        help_print(&cli.out, NULL);
        status = cli_flush(&cli);
    } else {
        status = argc < 2
                     ? cli_fail(&cli, OX_USAGE, "a command is needed; 'onnxtool help' lists them")
                     : command_unknown(&cli, first);
    }
    ox_strbuf_release(&cli.out);
    return ox_status_exit_code(status);
}
