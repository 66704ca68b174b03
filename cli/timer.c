/* --timeout: what ends a command that takes too long. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli.h"

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
