/* Standard output and standard error. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* What takes no memory: byte by byte, with a ? for what could do harm on a terminal. */
static void say_without_memory(const char *text)
{
    char plain[4 * OX_ERROR_BYTES + 1];
    size_t n = 0;
    for (; n < sizeof plain - 1 && text[n]; n++)
        plain[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
    plain[n++] = '\n';
    (void)!(cli_write_all(2, "onnxtool: ", 10) && cli_write_all(2, plain, n));
}

/* One line, whatever is in names of files and from files: a message has no other. */
static void say(const char *text)
{
    struct ox_strbuf line = {0};
    ox_strbuf_puts(&line, "onnxtool: ");
    ox_strbuf_name(&line, text, 0);
    ox_strbuf_putc(&line, '\n');
    if (line.failed)
        say_without_memory(text);
    else
        (void)!cli_write_all(2, line.data, line.len);
    ox_strbuf_release(&line);
}

static void say_args(const char *format, va_list args) OX_PRINTF(1, 0);

static void say_args(const char *format, va_list args)
{
    char text[4 * OX_ERROR_BYTES];
    vsnprintf(text, sizeof text, format, args);
    say(text);
}

const char *cli_unnamed(const char *message, const char *path)
{
    const size_t n = strlen(path);
    const bool named = strncmp(message, path, n) == 0 && strncmp(message + n, ": ", 2) == 0;
    return message + (named ? n + 2 : 0);
}

enum ox_status cli_error(struct cli *cli, const struct ox_error *err)
{
    (void)cli;
    say(err->message);
    return err->status;
}

enum ox_status cli_fail(struct cli *cli, enum ox_status status, const char *format, ...)
{
    (void)cli;
    va_list args;
    va_start(args, format);
    say_args(format, args);
    va_end(args);
    return status;
}

void cli_warn(struct cli *cli, const char *format, ...)
{
    if (cli->common.quiet)
        return;
    va_list args;
    va_start(args, format);
    say_args(format, args);
    va_end(args);
}

void cli_note(struct cli *cli, const char *format, ...)
{
    if (!cli->common.verbose)
        return;
    va_list args;
    va_start(args, format);
    say_args(format, args);
    va_end(args);
}

enum ox_status cli_open(struct cli *cli, struct ox_model **out, const char *path,
                        struct ox_error *err)
{
    struct ox_model *model = NULL;
    bool assumed = false;
    enum ox_status status = ox_model_open(&model, cli->env, path, err);
    if (status == OX_OK)
        status = ox_model_assume_contrib(model, &assumed, err);
    if (status != OX_OK) {
        ox_model_release(model);
        model = NULL;
    } else if (assumed) {
        cli_warn(cli, "%s: does not import com.microsoft: version 1 is assumed, as by onnxruntime",
                 path);
    }
    *out = model;
    return status;
}

enum ox_status cli_open_sorted(struct cli *cli, struct ox_model **out, const char *path,
                               struct ox_error *err)
{
    struct ox_model *model = NULL;
    bool sorted = false;
    enum ox_status status = cli_open(cli, &model, path, err);
    if (status == OX_OK)
        status = ox_model_sort(model, &sorted, err);
    if (status != OX_OK) {
        ox_model_release(model);
        model = NULL;
    } else if (sorted) {
        cli_note(cli, "%s: its nodes are not in order: they were sorted", path);
    }
    *out = model;
    return status;
}

enum ox_status cli_save_model(struct cli *cli, struct ox_model *model, const char *path,
                              const struct ox_save_options *options)
{
    struct ox_error err;
    cli->model_out |= strcmp(path, "-") == 0;
    enum ox_status status = ox_model_save(model, path, options, &err);
    if (status == OX_OK)
        return OX_OK;
    if (cli->model_out)
        ox_strbuf_clear(&cli->out);
    return cli_error(cli, &err);
}

enum ox_status cli_save_large(struct ox_model *model, const char *path,
                              const struct ox_save_options *options, struct ox_error *err)
{
    enum ox_status status = ox_model_save(model, path, options, err);
    if (status == OX_LIMIT && strcmp(path, "-") != 0)
        status = ox_external_pack(model, path, NULL, NULL, err);
    return status;
}

enum ox_status cli_check_result(struct cli *cli, struct ox_model *model, const char *path)
{
    struct ox_findings *findings = NULL;
    struct ox_error err;
    if (ox_check(&findings, model, NULL, &err) != OX_OK)
        return cli_error(cli, &err);
    bool told = false;
    for (size_t i = 0; i < ox_findings_count(findings) && !told; i++) {
        const struct ox_finding *finding = ox_findings_at(findings, i);
        told = finding->severity == OX_ERROR;
        if (told)
            cli_warn(cli, "%s: is not valid: %s", path, finding->message);
    }
    ox_findings_release(findings);
    return OX_OK;
}

enum ox_status cli_flush(struct cli *cli)
{
    if (cli->out.failed)
        return cli_fail(cli, OX_NO_MEMORY, "standard output: out of memory");
    if (cli->model_out) {
        if (cli->out.len && !cli->common.quiet)
            (void)!cli_write_all(2, cli->out.data, cli->out.len);
        ox_strbuf_clear(&cli->out);
        return OX_OK;
    }
    bool written = !cli->out.len || cli_write_all(1, cli->out.data, cli->out.len);
    int why = errno;
    ox_strbuf_clear(&cli->out);
    return written ? OX_OK : cli_fail(cli, OX_IO, "standard output: %s", strerror(why));
}

void cli_put_quoted(struct ox_strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            ox_strbuf_puts(out, "'\\''");
        else
            ox_strbuf_putc(out, *text);
    }
}

enum ox_status cli_worse(enum ox_status a, enum ox_status b)
{
    return ox_status_exit_code(b) > ox_status_exit_code(a) ? b : a;
}
