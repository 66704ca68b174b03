/* The models of a command: which they are, and each within its time. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "batch.h"
#include "lines.h"

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

/* ---- Names ------------------------------------------------------------------------------------------------------- */

struct names {
    const char **items;
    size_t n, all; /* of this shard; of all */
};

enum ox_status cli_read_shard(struct cli *cli, const char *text, size_t *first, size_t *n)
{
    unsigned i = 1, of = 1;
    int end = 0;
    if (text && (strspn(text, "0123456789/") != strlen(text) ||
                 sscanf(text, "%9u/%9u%n", &i, &of, &end) != 2 || text[end] || i < 1 || i > of))
        return cli_fail(cli, OX_USAGE, "--shard takes I/N, as 1/8 to 8/8, not '%s'", text);
    *first = i - 1;
    *n = of;
    return OX_OK;
}

/* The operands, then the lines that are not empty. */
static enum ox_status list_names(struct cli *cli, struct names *names, const char *const *operands,
                                 size_t n, const struct lines *lines)
{
    size_t first = 0, step = 1;
    enum ox_status status = cli_read_shard(cli, cli->common.shard, &first, &step);
    if (status != OX_OK)
        return status;
    names->items = calloc(n + lines->n + 1, sizeof *names->items);
    if (!names->items)
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n + lines->n; i++) {
        const char *name = i < n ? operands[i] : lines->items[i - n];
        if (i >= n && !*name)
            continue;
        if (names->all++ % step == first)
            names->items[names->n++] = name;
    }
    return OX_OK;
}

enum ox_status cli_each_model(struct cli *cli, void *args, const char *const *models, size_t n,
                              enum ox_status (*one)(struct cli *cli, void *args, const char *model))
{
    struct names names = {0};
    struct lines lines = {0};
    const char *from = cli->common.files_from;
    enum ox_status status = from ? lines_read(cli, from, &lines) : OX_OK;
    if (status == OX_OK)
        status = list_names(cli, &names, models, n, &lines);
    if (status == OX_OK && names.all == 0 && !from)
        status = cli_fail(cli, OX_USAGE, "%s: a model is needed ('onnxtool %s --help' tells more)",
                          cli->command->name, cli->command->name);
    if (status == OX_OK && cli->common.resume && !cli->common.log)
        status =
            cli_fail(cli, OX_USAGE, "%s: --resume is of no use without --log", cli->command->name);
    cli->several = names.all > 1;
    cli_forget_libraries(cli);
    if (status == OX_OK && names.all == 1 && names.n == 1 && !cli->common.log) {
        cli_start_timer(cli, names.items[0]);
        status = one(cli, args, names.items[0]);
    } else if (status == OX_OK && names.n > 0) {
        status = batch_run(cli, args, names.items, names.n, one);
    }
    free(names.items);
    lines_release(&lines);
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
