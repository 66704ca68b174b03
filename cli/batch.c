/* One model after another, each within its time. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "batch.h"

/* What the handler of SIGALRM may use: prepared before the timer is armed. */
static char timeout_message[512];
static size_t timeout_bytes;

static void on_alarm(int number)
{
    (void)number;
    ox_outfile_cleanup();
    (void)!write(2, timeout_message, timeout_bytes);
    _exit(ox_status_exit_code(OX_LIMIT));
}

void cli_start_timer(struct cli *cli, const char *file)
{
    double seconds = cli->common.timeout;
    if (!(seconds > 0))
        return;
    struct ox_strbuf text = {0};
    ox_strbuf_puts(&text, "onnxtool: ");
    ox_strbuf_name(&text, file, 256);
    ox_strbuf_printf(&text, ": not done after %g s (--timeout)\n", seconds);
    timeout_bytes = text.failed ? 0 : text.len;
    if (timeout_bytes > sizeof timeout_message)
        timeout_bytes = sizeof timeout_message;
    if (timeout_bytes)
        memcpy(timeout_message, text.data, timeout_bytes);
    ox_strbuf_release(&text);
    signal(SIGALRM, on_alarm);
    if (seconds > 1e9)
        seconds = 1e9;
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds}};
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
    if (!timer.it_value.tv_sec && !timer.it_value.tv_usec)
        timer.it_value.tv_usec = 1;
    setitimer(ITIMER_REAL, &timer, NULL);
}

enum ox_status cli_each_model(struct cli *cli, void *args, const char *const *models, size_t n,
                              enum ox_status (*one)(struct cli *cli, void *args, const char *model))
{
    struct batch_names names;
    enum ox_status status = batch_names_list(cli, models, n, &names);
    if (status == OX_OK && cli->common.resume && !cli->common.log)
        status =
            cli_fail(cli, OX_USAGE, "%s: --resume is of no use without --log", cli->command->name);
    cli->several = names.several;
    cli_forget_libraries(cli);
    if (status == OX_OK && !names.several && !cli->common.log && names.n == 1) {
        cli_start_timer(cli, names.items[0]);
        status = one(cli, args, names.items[0]);
    } else if (status == OX_OK && names.n > 0) {
        status = batch_run(cli, args, (const char *const *)names.items, names.n, one);
    }
    batch_names_release(&names);
    return status;
}

enum ox_status cli_one_model(struct cli *cli, const char *const *operands, size_t n_operands)
{
    if (n_operands == 1) {
        cli_start_timer(cli, operands[0]);
        return OX_OK;
    }
    return cli_fail(cli, OX_USAGE,
                    "%s: exactly one model is needed ('onnxtool %s --help' tells more)",
                    cli->command->name, cli->command->name);
}
