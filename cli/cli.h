/* What every command of the program shares. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "onnxtool.h"
#include "options.h"

/* What ox_cpu_is_known() takes. */
#define CLI_CPU_WORDS "c, avx2, avxvnni, avx512, vnni, amx, neon or dotprod"

enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

/* Options that every command takes, and those of commands that take several models. */
#define CLI_NOT_GIVEN UINT64_MAX

struct common {
    bool help;
    bool quiet;
    bool verbose;
    int color;    /* enum when */
    int progress; /* enum when */
    int64_t jobs;
    int64_t threads;
    uint64_t max_memory; /* CLI_NOT_GIVEN: the default */
    uint64_t max_file;   /* ... */
    double timeout;
    int external_data; /* enum ox_external_mode */
    const char *external_root;
    struct opt_strings limits; /* NAME=VALUE */
    const char *files_from;
    const char *shard;
    const char *log;
    bool resume;
    struct opt_strings schemas;      /* files of custom operators */
    struct opt_strings op_libraries; /* shared objects with their kernels */
    bool op_inside;
};
struct command;

struct cli {
    const struct command *command;
    struct common common;
    const struct opt_given *given; /* the options, n_given of them */
    size_t n_given;
    struct ox_env *env;
    struct ox_strbuf out; /* results; written when the command is done, or by cli_flush() */
    bool model_out;       /* standard output is a model: results go to standard error */
    bool color;           /* standard output takes colours */
    bool several;         /* more than one model: JSON is one object a line, text names the model */
    const char *between;  /* printed between the results of two models that have any; NULL */
};

struct command {
    const char *name;
    const char *summary;  /* one line */
    const char *operands; /* "MODEL...": for the synopsis */
    bool several;         /* it takes any number of models: cli_each_model() */
    const char *
        description; /* paragraphs parted by empty lines; a line with two leading blanks is verbatim */
    const char *examples;   /* lines "COMMAND\n  what it does\n" */
    const char *list_title; /* of a list in the manual page; NULL */
    /* Its entry i; false: there are no more. */
    bool (*list_entry)(size_t i, const char **term, const char **text);
    const struct opt *options;
    size_t args_bytes;
    void (*defaults)(void *args); /* args are zeroed before; NULL: all zero */
    /* Returns the worst status; has reported errors by cli_error(). */
    enum ox_status (*run)(struct cli *cli, void *args, const char *const *operands,
                          size_t n_operands);
};

extern const struct command *const commands[];        /* sorted; ends in NULL */
const struct command *command_find(const char *name); /* NULL: there is none of that name */
/* Says that it is none, and which may be meant; returns OX_USAGE. */
enum ox_status command_unknown(struct cli *cli, const char *word);

/* ---- loaded.c ---- */

/* The system may take back what the dynamic linker touched of the shared libraries, which is most of what a small process holds, and
 * what was used of them since. What is needed still is mapped again, 64 KB at a time: it takes some 30 us. */
void cli_forget_libraries(const struct cli *cli);
/* After a model was read: the same if it takes so much memory that it pays. */
void cli_forget_reading(const struct cli *cli);

/* ---- messages.c ---- */

/* "onnxtool: message" on standard error, made safe for terminals. Returns err->status. */
enum ox_status cli_error(struct cli *cli, const struct ox_error *err);
/* The same with a text of one's own. Returns status. */
enum ox_status cli_fail(struct cli *cli, enum ox_status status, const char *format, ...)
    OX_PRINTF(3, 4);
/* The part of a message of the library's behind the file's name, for what names it already. */
const char *cli_unnamed(const char *message, const char *path);
/* Unless -q. */
void cli_warn(struct cli *cli, const char *format, ...) OX_PRINTF(2, 3);
/* With -v. */
void cli_note(struct cli *cli, const char *format, ...) OX_PRINTF(2, 3);
/* A model whose nodes of com.microsoft have a version, with a warning where it does not say which. *out is NULL when it fails. */
enum ox_status cli_open(struct cli *cli, struct ox_model **out, const char *path,
                        struct ox_error *err);
/* A model to work with: nodes that stand before what they take are sorted, as runtimes do. *out is NULL when it fails. */
enum ox_status cli_open_sorted(struct cli *cli, struct ox_model **out, const char *path,
                               struct ox_error *err);
/* Saves a model; "-" is standard output, which then carries nothing else. Has reported errors. */
enum ox_status cli_save_model(struct cli *cli, struct ox_model *model, const char *path,
                              const struct ox_save_options *options);
/* As ox_model_save(); a file whose weights one message cannot hold has them in another one beside it. Reports nothing. */
enum ox_status cli_save_large(struct ox_model *model, const char *path,
                              const struct ox_save_options *options, struct ox_error *err);
/* Warns where a model that was made, and goes to that file, is not valid, as of one that was not. Has reported errors. */
enum ox_status cli_check_result(struct cli *cli, struct ox_model *model, const char *path);
/* Writes cli->out to standard output and clears it; a full disk or a closed pipe is OX_IO, reported once. */
enum ox_status cli_flush(struct cli *cli);
/* The most bytes of memory that this process had resident so far; 0 where the system does not tell. */
uint64_t cli_peak_resident(void);
/* From now on large blocks come from the system and go back to it when they are freed, not to a heap that they leave full of holes. */
void cli_give_back_large(void);
/* Text as it stands inside single quotes of a POSIX shell. */
void cli_put_quoted(struct ox_strbuf *out, const char *text);
/* The worse of two: the one with the larger exit code. */
enum ox_status cli_worse(enum ox_status a, enum ox_status b);

/* ---- batch.c ---- */

/* Calls `one` for each model: for a single one here; for several each in a process of its own, --jobs at a time, so that
 * limits, time and even a crash are one model's alone; results come in the order of batch_names_list(). No model at all is a usage error. */
enum ox_status cli_each_model(struct cli *cli, void *args, const char *const *models, size_t n,
                              enum ox_status (*one)(struct cli *cli, void *args,
                                                    const char *model));
/* For commands that take one model: OX_USAGE unless there is exactly one operand. */
enum ox_status cli_one_model(struct cli *cli, const char *const *operands, size_t n_operands);
/* "I/N" as every N-th of something, from *first (0 to N - 1) on; NULL: all, N = 1. OX_USAGE, reported, if it is neither. */
enum ox_status cli_read_shard(struct cli *cli, const char *text, size_t *first, size_t *n);
/* Arms --timeout for what follows and names it in the message. */
void cli_start_timer(struct cli *cli, const char *file);

/* ---- descriptors.c ---- */

/* Through interruptions. false: errno tells why. */
bool cli_write_all(int fd, const char *bytes, size_t n);
/* To the end. false: errno tells why; memory that is missing makes the text fail. */
bool cli_read_all(int fd, struct ox_strbuf *text);

/* ---- seconds.c ---- */

double cli_seconds(void); /* of a clock that goes on evenly */

/* ---- help.c ---- */
void help_print(struct ox_strbuf *out, const struct command *command); /* NULL: the program's */
void help_man(struct ox_strbuf *out, const struct command *command);
/* Words of text, n bytes, and a line end: from column `column` on, broken before column 96 with `indent` blanks before each further
 * line. */
void cli_wrap(struct ox_strbuf *out, const char *text, size_t n, size_t column, size_t indent);

/* ---- json_fields.c: a key with its value ---- */
void cli_json_string(struct ox_json *json, const char *key, const char *text); /* NULL: null */
void cli_json_int(struct ox_json *json, const char *key, int64_t value);
void cli_json_uint(struct ox_json *json, const char *key, uint64_t value);
void cli_json_double(struct ox_json *json, const char *key, double value);
void cli_json_bool(struct ox_json *json, const char *key, bool value);

#endif
