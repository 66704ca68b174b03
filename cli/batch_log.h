/* The log of a batch: a JSON line for each model that is done, from which an interrupted batch goes on. */
#ifndef CLI_BATCH_LOG_H
#define CLI_BATCH_LOG_H

#include "cli.h"

/* Where a line of the log stands. */
struct batch_line {
    char *model;
    size_t at, n; /* bytes of the log's text */
};

struct batch_log {
    int fd; /* -1: none is kept */
    const char *path;
    struct ox_strbuf options; /* those that decide results, as they were given */
    struct ox_strbuf text;    /* what the file held before, with --resume */
    struct batch_line *lines; /* by model, later ones behind; n_lines of them */
    size_t n_lines;
};

/* What tells that a file is still the one that it was. */
struct batch_identity {
    bool is_file;
    uint64_t bytes;
    int64_t changed; /* nanoseconds since 1970 */
};

/* What a model came to. */
struct batch_record {
    const char *model;
    struct batch_identity id; /* before it was read */
    int exit_code;
    double seconds;
    struct ox_strbuf results, messages; /* of standard output and standard error */
};

/* Opens what --log names and with --resume reads what it holds. Without --log nothing is kept. Has reported errors; *log is to
 * be closed either way. */
enum ox_status batch_log_open(struct cli *cli, struct batch_log *log);
void batch_log_close(struct batch_log *log);
/* Begins *record, to be released. Whether the log tells what this model comes to: of this command with these options, of a file of
 * the same size and time of change, not ended by a limit or a fault. Then the record is what was printed. */
bool batch_log_find(struct cli *cli, const struct batch_log *log, const char *model,
                    struct batch_record *record);
/* Adds a line by one write, so that several processes may share a log. OX_IO, reported, with a full disk. */
enum ox_status batch_log_add(struct cli *cli, const struct batch_log *log,
                             const struct batch_record *record);
void batch_record_release(struct batch_record *record);

#endif
