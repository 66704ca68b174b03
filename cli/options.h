/* Options as tables, from which parsing, --help, manual pages and shell completion all come. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "onnxtool.h"

enum opt_type {
    OPT_FLAG,    /* bool */
    OPT_STRING,  /* const char * */
    OPT_INT,     /* int64_t */
    OPT_DOUBLE,  /* double */
    OPT_SIZE,    /* uint64_t: bytes, with K, M, G (powers of 1024) behind */
    OPT_CHOICE,  /* int: index into `choices`, "text|json" */
    OPT_STRINGS, /* struct opt_strings: may be given again and again */
    OPT_NAMED,   /* the same of NAME=VALUE, each name once */
    OPT_SECTION  /* no option: a heading in --help */
};

struct opt_strings {
    const char **items;
    size_t n;
};

struct opt {
    char letter;      /* 0: none */
    const char *name; /* long name; NULL for a section */
    enum opt_type type;
    size_t offset;       /* of the field in the command's arguments */
    const char *arg;     /* name of the value, "FILE"; NULL: flags */
    const char *choices; /* OPT_CHOICE */
    const char *help;    /* one sentence without a full stop; of a section its title */
};

#define OPT_END                                                                                    \
    {                                                                                              \
        0, NULL, OPT_FLAG, 0, NULL, NULL, NULL                                                     \
    }

/* An option as it was given. */
struct opt_given {
    const struct opt *opt;
    const char *value; /* NULL: a flag */
};

/* A command line taken apart. Operands and options keep their order; "--" ends options. */
struct opt_result {
    const char **operands;
    size_t n_operands;
    struct opt_given *given;
    size_t n_given;
};

/* Two tables are searched: the command's, whose fields are in `args`, and the common one, in `common`.
 * Returns OX_USAGE with a message that says what was meant. Allocates operands and list items: opt_release(). */
enum ox_status opt_parse(const struct opt *table, void *args, const struct opt *common_table,
                         void *common, int argc, char **argv, struct opt_result *result,
                         struct ox_error *err);
void opt_release(const struct opt *table, void *args, const struct opt *common_table, void *common,
                 struct opt_result *result);

/* Whether the row ends its table. */
bool opt_is_end(const struct opt *opt);
/* Its field is a struct opt_strings. */
bool opt_is_list(const struct opt *opt);

/* A size as OPT_SIZE reads it; false when it is none. */
bool opt_parse_size(const char *text, uint64_t *bytes);

/* The one of `names` (n of them, NULL elements skipped) that is most alike; NULL when none is near. */
const char *opt_nearest(const char *name, const char *const *names, size_t n);

#endif
