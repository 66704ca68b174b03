/* A command that says whether a part of the model still fails. */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commas.h"
#include "reduce.h"

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127, SIGNALS = 128, SLOW = -1 };

/* ---- What is a failure ---------------------------------------------------------------------------------------------- */

static bool is_code(const char *word, size_t n, int *code)
{
    char text[8];
    char *end;
    if (n == 0 || n >= sizeof text)
        return false;
    memcpy(text, word, n);
    text[n] = '\0';
    const long value = strtol(text, &end, 10);
    *code = (int)value;
    return !*end && value >= 0 && value <= 255;
}

static bool is_word(const char *word, size_t n, const char *wanted)
{
    return n == strlen(wanted) && strncmp(word, wanted, n) == 0;
}

static bool is_listed(const struct reduce *reduce, const struct reduce_end *end)
{
    const char *at = reduce->args->fail_codes, *word;
    size_t n;
    int code;
    while (commas_next(&at, &word, &n)) {
        if (is_word(word, n, "timeout") && end->code == SLOW)
            return true;
        if (is_word(word, n, "same") && end->code != 0 &&
            (reduce->first.none || end->code == reduce->first.code))
            return true;
        if (is_code(word, n, &code) && code == end->code)
            return true;
    }
    return false;
}

static int compile(const struct reduce *reduce, regex_t *regex)
{
    return regcomp(regex, reduce->args->fail_regex, REG_EXTENDED | REG_NEWLINE | REG_NOSUB);
}

static enum ox_status matches(const struct reduce *reduce, bool *found)
{
    regex_t regex;
    const int failed = compile(reduce, &regex);
    if (failed)
        return cli_fail(reduce->cli, OX_NO_MEMORY, "out of memory");
    *found = regexec(&regex, reduce->printed.data ? reduce->printed.data : "", 0, NULL, 0) == 0;
    regfree(&regex);
    return OX_OK;
}

static enum ox_status judge(const struct reduce *reduce, const struct reduce_end *end, bool *fails)
{
    const struct reduce_args *args = reduce->args;
    *fails = args->fail_codes ? is_listed(reduce, end) : end->code > 0;
    if (!args->fail_regex || (args->fail_codes && !*fails))
        return OX_OK;
    *fails = false;
    return end->code == SLOW && !args->fail_codes ? OX_OK : matches(reduce, fails);
}

enum ox_status reduce_read_rules(struct reduce *reduce)
{
    const char *at = reduce->args->fail_codes, *word;
    size_t n;
    int code;
    while (commas_next(&at, &word, &n))
        if (!is_word(word, n, "timeout") && !is_word(word, n, "same") && !is_code(word, n, &code))
            return cli_fail(reduce->cli, OX_USAGE,
                            "reduce: --fail-code takes numbers from 0 to 255, 'same' and "
                            "'timeout', not '%.*s'",
                            (int)n, word);
    if (!reduce->args->fail_regex)
        return OX_OK;
    regex_t regex;
    const int failed = compile(reduce, &regex);
    if (failed) {
        char why[200];
        regerror(failed, &regex, why, sizeof why);
        return cli_fail(reduce->cli, OX_USAGE, "reduce: --fail-regex '%s': %s",
                        reduce->args->fail_regex, why);
    }
    regfree(&regex);
    return OX_OK;
}

void reduce_put_end(struct ox_strbuf *out, const struct reduce *reduce,
                    const struct reduce_end *end)
{
    if (end->code == SLOW)
        ox_strbuf_printf(out, "no end within %g s", reduce->args->check_timeout);
    else if (end->code > SIGNALS)
        ox_strbuf_printf(out, "signal %d (%s)", end->code - SIGNALS,
                         strsignal(end->code - SIGNALS));
    else
        ox_strbuf_printf(out, "exit status %d", end->code);
}

/* ---- The command ---------------------------------------------------------------------------------------------------- */

/* {} stands for the file; without one it comes last. */
static void put_word(struct ox_strbuf *out, const char *word, const char *file, bool *named)
{
    for (const char *at; (at = strstr(word, "{}")); word = at + 2) {
        ox_strbuf_add(out, word, (size_t)(at - word));
        ox_strbuf_puts(out, file);
        *named = true;
    }
    ox_strbuf_puts(out, word);
    ox_strbuf_add(out, "", 1);
}

/* In one block, with the text of the words in `text`; NULL: out of memory. */
static const char **command_for(const struct reduce *reduce, const char *file,
                                struct ox_strbuf *text)
{
    const char **argv = calloc(reduce->n_words + 2, sizeof *argv);
    bool named = false;
    for (size_t i = 0; i < reduce->n_words; i++)
        put_word(text, reduce->words[i], file, &named);
    if (!named)
        put_word(text, "{}", file, &named);
    const char *at = text->data;
    for (size_t i = 0; argv && !text->failed && at < text->data + text->len; i++) {
        argv[i] = at;
        at += strlen(at) + 1;
    }
    if (argv && !text->failed)
        return argv;
    free((void *)argv);
    return NULL;
}

/* Its last 16 MB; NULs, where text would end, are blanks. */
static enum ox_status read_printed(struct reduce *reduce, FILE *file)
{
    enum { MOST = 16 << 20 };
    const off_t end = lseek(fileno(file), 0, SEEK_END);
    ox_strbuf_clear(&reduce->printed);
    if (end < 0 || lseek(fileno(file), end > MOST ? end - MOST : 0, SEEK_SET) < 0 ||
        !cli_read_all(fileno(file), &reduce->printed))
        return cli_fail(reduce->cli, OX_IO, "reduce: what the command prints cannot be kept: %s",
                        strerror(errno));
    for (size_t i = 0; i < reduce->printed.len; i++)
        if (reduce->printed.data[i] == '\0')
            reduce->printed.data[i] = ' ';
    return reduce->printed.failed ? cli_fail(reduce->cli, OX_NO_MEMORY, "out of memory") : OX_OK;
}

/* How long a check may take, and whether that is because the search must end. */
static double time_left(const struct reduce *reduce, bool *is_last)
{
    const double own = reduce->args->check_timeout > 0 ? reduce->args->check_timeout : 1e9;
    const double all = reduce->deadline > 0 ? reduce->deadline - cli_seconds() : 1e9;
    *is_last = all < own;
    return *is_last ? all : own;
}

static enum ox_status run_command(struct reduce *reduce, const char *const *argv, FILE *printed,
                                  struct reduce_end *end)
{
    const struct child child = {.path = argv[0],
                                .search = true,
                                .argv = argv,
                                .out = fileno(printed),
                                .err = fileno(printed)};
    bool is_last;
    pid_t pid;
    int state = 0;
    enum ox_status status = child_start(reduce->cli, &child, &pid);
    if (status != OX_OK)
        return status;
    const double seconds = time_left(reduce, &is_last);
    const enum child_end how = child_wait(pid, seconds, reduce->interrupted, &state);
    if (how == CHILD_LOST)
        return cli_fail(reduce->cli, OX_IO, "%s: %s", argv[0], strerror(errno));
    if (how == CHILD_STOPPED)
        reduce->why_stopped = "interrupted";
    else if (how == CHILD_SLOW && is_last)
        reduce->why_stopped = "--timeout is over";
    end->code = how == CHILD_SLOW    ? SLOW
                : WIFSIGNALED(state) ? SIGNALS + WTERMSIG(state)
                                     : WEXITSTATUS(state);
    return OX_OK;
}

static enum ox_status check_file(struct reduce *reduce, const char *file, struct reduce_end *end)
{
    struct ox_strbuf text = {0};
    const char **argv = command_for(reduce, file, &text);
    FILE *printed = tmpfile();
    enum ox_status status = OX_OK;
    if (!argv)
        status = cli_fail(reduce->cli, OX_NO_MEMORY, "out of memory");
    else if (!printed)
        status = cli_fail(reduce->cli, OX_IO, "reduce: no temporary file can be made: %s",
                          strerror(errno));
    if (status == OX_OK) {
        fcntl(fileno(printed), F_SETFD, FD_CLOEXEC);
        status = run_command(reduce, argv, printed, end);
    }
    if (status == OX_OK)
        status = read_printed(reduce, printed);
    if (printed)
        fclose(printed);
    free((void *)argv);
    ox_strbuf_release(&text);
    return status;
}

/* ---- The check ------------------------------------------------------------------------------------------------------- */

static bool must_stop(struct reduce *reduce)
{
    if (*reduce->interrupted)
        reduce->why_stopped = "interrupted";
    else if (reduce->deadline > 0 && cli_seconds() > reduce->deadline)
        reduce->why_stopped = "--timeout is over";
    else if (reduce->args->max_checks && reduce->n_checks >= (size_t)reduce->args->max_checks)
        reduce->why_stopped = "--max-checks are made";
    return reduce->why_stopped != NULL;
}

enum ox_status reduce_save(struct ox_model *model, const char *path, struct ox_error *err)
{
    const struct ox_save_options whole = {.inline_external = true};
    return cli_save_large(model, path, &whole, err);
}

static void tell(const struct reduce *reduce, const struct reduce_end *end, bool fails)
{
    struct ox_strbuf line = {0};
    reduce_put_end(&line, reduce, end);
    cli_note(reduce->cli, "%s: check %zu: %s: %s", reduce->path, reduce->n_checks,
             ox_strbuf_text(&line, NULL), fails ? "fails" : "does not fail");
    ox_strbuf_release(&line);
}

/* A shell says so what it could not run: no answer. */
static bool is_answer(const struct reduce *reduce, const struct reduce_end *end)
{
    return (end->code != NOT_EXECUTABLE && end->code != NOT_FOUND) ||
           (reduce->args->fail_codes && is_listed(reduce, end));
}

enum ox_status reduce_check(void *arg, struct ox_model *part, enum ox_reduce_verdict *verdict,
                            struct ox_error *err)
{
    struct reduce *reduce = arg;
    struct reduce_end end = {.code = 0};
    char file[TEMP_FOLDER_BYTES + 16];
    struct ox_strbuf before = reduce->printed;
    bool fails = false;
    *verdict = OX_STOP;
    if (must_stop(reduce))
        return OX_OK;
    snprintf(file, sizeof file, "%s/model.onnx", reduce->folder);
    enum ox_status status = reduce_save(part, file, err);
    if (status != OX_OK)
        return status;
    reduce->printed = (struct ox_strbuf){0};
    status = check_file(reduce, file, &end);
    if (status == OX_OK && !reduce->why_stopped) {
        reduce->n_checks++;
        status = judge(reduce, &end, &fails);
        tell(reduce, &end, fails);
    }
    const bool is_first = reduce->first.none;
    if (status == OX_OK && !reduce->why_stopped && !is_answer(reduce, &end))
        status = cli_fail(reduce->cli, OX_UNSUPPORTED,
                          "%s: exit status %d: it could not be run (--fail-code %d if that is the "
                          "failure)",
                          reduce->words[0], end.code, end.code);
    if (status == OX_OK && !reduce->why_stopped) {
        *verdict = fails ? OX_FAILS : OX_PASSES;
        if (is_first)
            reduce->first = end;
    }
    if (fails)
        reduce->last = end;
    /* What it printed is kept of the smallest part, and of the whole in any case. */
    struct ox_strbuf *gone = fails || is_first ? &before : &reduce->printed;
    const struct ox_strbuf kept = fails || is_first ? reduce->printed : before;
    ox_strbuf_release(gone);
    reduce->printed = kept;
    if (status != OX_OK) /* it was told */
        *err = (struct ox_error){.status = status};
    return status;
}
