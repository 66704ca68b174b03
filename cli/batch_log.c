#include "batch_log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common_options.h"

#define SCHEMA_NAME "onnxtool.log/1"

enum { MOST_KEPT = 16 << 20 /* bytes of results */ };

/* ---- What a line is of ------------------------------------------------------------------------------------------- */

static void put_options(struct ox_strbuf *out, const struct cli *cli)
{
    for (size_t i = 0; i < cli->n_given; i++) {
        const struct opt_given *given = &cli->given[i];
        if (!cli_decides_results(given->opt))
            continue;
        ox_strbuf_printf(out, "%s--%s", out->len ? " " : "", given->opt->name);
        if (given->value)
            ox_strbuf_printf(out, "=%s", given->value);
    }
}

static struct batch_identity identity_of(const char *path)
{
    struct stat about;
    struct batch_identity id = {0};
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return id;
    id.is_file = true;
    id.bytes = (uint64_t)about.st_size;
    id.changed = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
    return id;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

enum { COMMAND, OPTIONS, MODEL, BYTES, CHANGED, EXIT, MESSAGES, RESULTS, SCHEMA, N_MEMBERS };
static const char *const keys[N_MEMBERS] = {"command", "options",  "model",   "bytes", "changed",
                                            "exit",    "messages", "results", "schema"};

struct line {
    struct ox_strbuf members[N_MEMBERS];
};

static void line_release(struct line *line)
{
    for (size_t i = 0; i < N_MEMBERS; i++)
        ox_strbuf_release(&line->members[i]);
}

static bool is_same(const struct ox_strbuf *member, const char *text)
{
    return member->data && strlen(text) == member->len &&
           memcmp(text, member->data, member->len) == 0;
}

/* Whether it is a line of a log; *line is to be released either way. */
static bool line_read(struct line *line, const char *text, size_t n)
{
    *line = (struct line){0};
    return ox_json_members(text, n, N_MEMBERS, keys, line->members, NULL) == OX_OK &&
           is_same(&line->members[SCHEMA], SCHEMA_NAME) && line->members[MODEL].data;
}

/* Text that JSON cannot hold as it is, or that is long, is not kept: NULL. */
static const char *kept(const struct ox_strbuf *text)
{
    static const char *const key = "text";
    struct ox_strbuf line = {0}, again = {0};
    struct ox_json json;
    if (text->failed || text->len > MOST_KEPT)
        return NULL;
    if (!text->len)
        return "";
    ox_json_init(&json, &line, false);
    ox_json_object(&json);
    cli_json_string(&json, key, text->data);
    ox_json_end_object(&json);
    const bool same = !line.failed &&
                      ox_json_members(line.data, line.len, 1, &key, &again, NULL) == OX_OK &&
                      is_same(&again, text->data) && again.len == text->len;
    ox_strbuf_release(&line);
    ox_strbuf_release(&again);
    return same ? text->data : NULL;
}

static void put_line(struct ox_strbuf *out, const struct cli *cli, const struct batch_log *log,
                     const struct batch_record *record)
{
    char changed[32];
    struct ox_json json;
    snprintf(changed, sizeof changed, "%lld", (long long)record->id.changed);
    ox_json_init(&json, out, false);
    ox_json_object(&json);
    cli_json_string(&json, keys[SCHEMA], SCHEMA_NAME);
    cli_json_string(&json, keys[COMMAND], cli->command->name);
    cli_json_string(&json, keys[OPTIONS], log->options.len ? log->options.data : "");
    cli_json_string(&json, keys[MODEL], record->model);
    cli_json_uint(&json, keys[BYTES], record->id.bytes);
    /* A string: as a number it would lose digits in many readers. */
    cli_json_string(&json, keys[CHANGED], record->id.is_file ? changed : NULL);
    cli_json_int(&json, keys[EXIT], record->exit_code);
    cli_json_double(&json, "seconds", round(record->seconds * 1e6) / 1e6);
    cli_json_string(&json, keys[MESSAGES], kept(&record->messages));
    cli_json_string(&json, keys[RESULTS], kept(&record->results));
    ox_json_end_object(&json);
    ox_strbuf_putc(out, '\n');
}

enum ox_status batch_log_add(struct cli *cli, const struct batch_log *log,
                             const struct batch_record *record)
{
    struct ox_strbuf line = {0};
    enum ox_status status = OX_OK;
    if (log->fd < 0)
        return OX_OK;
    put_line(&line, cli, log, record);
    if (line.failed)
        status = cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", log->path);
    else if (!cli_write_all(log->fd, line.data, line.len))
        status = cli_fail(cli, OX_IO, "%s: %s", log->path, strerror(errno));
    ox_strbuf_release(&line);
    return status;
}

/* ---- What was done before ---------------------------------------------------------------------------------------- */

static int by_model(const void *a_, const void *b_)
{
    const struct batch_line *a = a_, *b = b_;
    const int order = strcmp(a->model, b->model);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static enum ox_status read_text(struct cli *cli, struct batch_log *log)
{
    if (!cli_read_all(log->fd, &log->text))
        return cli_fail(cli, OX_INPUT, "%s: %s", log->path, strerror(errno));
    return log->text.failed ? cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", log->path) : OX_OK;
}

static bool add_line(struct batch_log *log, const struct line *line, size_t at, size_t n)
{
    struct batch_line *added = &log->lines[log->n_lines];
    *added = (struct batch_line){.model = strdup(line->members[MODEL].data), .at = at, .n = n};
    log->n_lines += added->model != NULL;
    return added->model != NULL;
}

/* What is no line of a log, as the end of one that was cut off, is passed over. */
static enum ox_status list_lines(struct cli *cli, struct batch_log *log)
{
    size_t count = 1, strange = 0;
    for (size_t i = 0; i < log->text.len; i++)
        count += log->text.data[i] == '\n';
    log->lines = malloc(count * sizeof *log->lines);
    bool good = log->lines != NULL;
    for (size_t at = 0; good && at < log->text.len;) {
        const char *start = log->text.data + at;
        const char *end = memchr(start, '\n', log->text.len - at);
        const size_t n = end ? (size_t)(end - start) : log->text.len - at;
        struct line line;
        if (line_read(&line, start, n))
            good = add_line(log, &line, at, n);
        else
            strange += n > 0;
        line_release(&line);
        at += n + 1;
    }
    if (!good)
        return cli_fail(cli, OX_NO_MEMORY, "%s: out of memory", log->path);
    qsort(log->lines, log->n_lines, sizeof *log->lines, by_model);
    if (strange)
        cli_warn(cli, "%s: %zu line%s passed over that no batch has written whole", log->path,
                 strange, strange == 1 ? "" : "s");
    return OX_OK;
}

/* The last line of a model; NULL. */
static const struct batch_line *last_of(const struct batch_log *log, const char *model)
{
    size_t from = 0, to = log->n_lines;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (strcmp(log->lines[middle].model, model) <= 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from && strcmp(log->lines[from - 1].model, model) == 0 ? &log->lines[from - 1] : NULL;
}

static bool is_of(const struct cli *cli, const struct batch_log *log, const struct line *line,
                  const struct batch_identity *id)
{
    char bytes[32], changed[32];
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)id->bytes);
    snprintf(changed, sizeof changed, "%lld", (long long)id->changed);
    return id->is_file && is_same(&line->members[BYTES], bytes) &&
           is_same(&line->members[CHANGED], changed) &&
           is_same(&line->members[COMMAND], cli->command->name) &&
           is_same(&line->members[OPTIONS], log->options.len ? log->options.data : "");
}

/* What this program prints: no control characters, which a log from elsewhere may have for the terminal. */
static bool is_ours(const struct ox_strbuf *text)
{
    bool plain = text->data != NULL;
    for (size_t i = 0; plain && i < text->len; i++) {
        const unsigned char c = (unsigned char)text->data[i];
        const bool is_wide_control = c == 0xC2 && (unsigned char)text->data[i + 1] < 0xA0;
        plain = (c >= 0x20 || c == '\n' || c == '\t') && c != 0x7F && !is_wide_control;
    }
    return plain;
}

/* The exit status of a line that tells what the model comes to; -1: it tells nothing that lasts. */
static int lasting_exit(const struct line *line)
{
    const struct ox_strbuf *text = &line->members[EXIT];
    const bool whole = is_ours(&line->members[RESULTS]) && is_ours(&line->members[MESSAGES]);
    const long code = text->len == 1 ? strtol(text->data, NULL, 10) : -1;
    return whole && code < ox_status_exit_code(OX_LIMIT) ? (int)code : -1;
}

bool batch_log_find(struct cli *cli, const struct batch_log *log, const char *model,
                    struct batch_record *record)
{
    const struct batch_line *at = last_of(log, model);
    struct line line = {0};
    *record = (struct batch_record){.model = model, .id = identity_of(model)};
    const bool found = at && line_read(&line, log->text.data + at->at, at->n) &&
                       is_of(cli, log, &line, &record->id) && lasting_exit(&line) >= 0;
    if (found) {
        record->exit_code = lasting_exit(&line);
        record->results = line.members[RESULTS];
        record->messages = line.members[MESSAGES];
        line.members[RESULTS] = line.members[MESSAGES] = (struct ox_strbuf){0};
    }
    line_release(&line);
    return found;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

/* Nothing is added to what is something else: a model that was meant as an operand. */
static bool is_log(int fd)
{
    static const char begin[] = "{\"schema\":\"" SCHEMA_NAME "\"";
    char found[sizeof begin];
    const ssize_t n = pread(fd, found, sizeof begin - 1, 0);
    return n <= 0 || memcmp(found, begin, (size_t)n) == 0;
}

/* A line that was cut off must not take the next one with it. */
static bool end_last_line(int fd)
{
    char last = '\n';
    const off_t end = lseek(fd, 0, SEEK_END);
    return end <= 0 || pread(fd, &last, 1, end - 1) != 1 || last == '\n' || write(fd, "\n", 1) == 1;
}

enum ox_status batch_log_open(struct cli *cli, struct batch_log *log)
{
    *log = (struct batch_log){.fd = -1, .path = cli->common.log};
    enum ox_status status = OX_OK;
    if (!log->path)
        return OX_OK;
    if (strcmp(log->path, "-") == 0)
        return cli_fail(cli, OX_USAGE, "%s: --log takes a file, which standard output is not",
                        cli->command->name);
    put_options(&log->options, cli);
    if (log->options.failed)
        return cli_fail(cli, OX_NO_MEMORY, "out of memory");
    log->fd = open(log->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (log->fd < 0)
        return cli_fail(cli, OX_IO, "%s: %s", log->path, strerror(errno));
    if (!is_log(log->fd))
        return cli_fail(cli, OX_INPUT, "%s: is there already and no log of a batch", log->path);
    if (cli->common.resume) {
        status = read_text(cli, log);
        if (status == OX_OK)
            status = list_lines(cli, log);
    }
    if (status == OX_OK && !end_last_line(log->fd))
        status = cli_fail(cli, OX_IO, "%s: %s", log->path, strerror(errno));
    return status;
}

void batch_log_close(struct batch_log *log)
{
    for (size_t i = 0; i < log->n_lines; i++)
        free(log->lines[i].model);
    free(log->lines);
    ox_strbuf_release(&log->text);
    ox_strbuf_release(&log->options);
    if (log->fd >= 0)
        close(log->fd);
    *log = (struct batch_log){.fd = -1};
}

void batch_record_release(struct batch_record *record)
{
    ox_strbuf_release(&record->results);
    ox_strbuf_release(&record->messages);
}
