#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static enum ox_status usage(struct ox_error *err, const char *format, ...) OX_PRINTF(2, 3);

static enum ox_status usage(struct ox_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->status = OX_USAGE;
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return OX_USAGE;
}

bool opt_is_end(const struct opt *opt)
{
    return !opt->name && opt->type != OPT_SECTION;
}

bool opt_parse_size(const char *text, uint64_t *bytes)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno)
        return false;
    unsigned shift = 0;
    const char *units = "kKmMgGtT";
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        shift = 10 * (unsigned)((unit - units) / 2 + 1);
        end++;
    }
    if (strcmp(end, "") != 0 && strcmp(end, "B") != 0 && !(shift && strcmp(end, "iB") == 0))
        return false;
    if (shift && value >> (64 - shift))
        return false;
    *bytes = (uint64_t)value << shift;
    return true;
}

/* The index of `value` among "a|b|c", or -1. */
static int choice_index(const char *choices, const char *value)
{
    size_t n = strlen(value);
    int index = 0;
    for (const char *at = choices;; index++) {
        const char *bar = strchr(at, '|');
        size_t len = bar ? (size_t)(bar - at) : strlen(at);
        if (len == n && memcmp(at, value, n) == 0)
            return index;
        if (!bar)
            return -1;
        at = bar + 1;
    }
}

static bool append(struct opt_strings *list, const char *value)
{
    const char **items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (!items)
        return false;
    items[list->n++] = value;
    list->items = items;
    return true;
}

/* Whether two settings NAME=VALUE are of one name; it ends at the last '=', and without one there is none. */
static bool same_name(const char *a, const char *b)
{
    const char *end_a = strrchr(a, '='), *end_b = strrchr(b, '=');
    size_t n_a = end_a ? (size_t)(end_a - a) : 0, n_b = end_b ? (size_t)(end_b - b) : 0;
    return n_a == n_b && memcmp(a, b, n_a) == 0;
}

static enum ox_status add_named(const struct opt *opt, struct opt_strings *list, const char *value,
                                struct ox_error *err)
{
    for (size_t i = 0; i < list->n; i++)
        if (same_name(list->items[i], value))
            return usage(err, "--%s takes each name once, not '%s' and '%s'", opt->name,
                         list->items[i], value);
    return append(list, value) ? OX_OK : ox_no_memory(err);
}

static enum ox_status set_value(const struct opt *opt, void *args, const char *value,
                                struct ox_error *err)
{
    void *field = (char *)args + opt->offset;
    char *end;
    errno = 0;
    switch (opt->type) {
    case OPT_STRING:
        *(const char **)field = value;
        return OX_OK;
    case OPT_INT:
        *(int64_t *)field = strtoll(value, &end, 10);
        if (errno || end == value || *end)
            return usage(err, "--%s takes a whole number, not '%s'", opt->name, value);
        return OX_OK;
    case OPT_DOUBLE:
        *(double *)field = strtod(value, &end);
        if (end == value || *end)
            return usage(err, "--%s takes a number, not '%s'", opt->name, value);
        return OX_OK;
    case OPT_SIZE:
        if (!opt_parse_size(value, field))
            return usage(err, "--%s takes a size such as 64M or 2G, not '%s'", opt->name, value);
        return OX_OK;
    case OPT_CHOICE: {
        int index = choice_index(opt->choices, value);
        if (index < 0)
            return usage(err, "--%s takes one of %s, not '%s'", opt->name, opt->choices, value);
        *(int *)field = index;
        return OX_OK;
    }
    case OPT_STRINGS:
        return append(field, value) ? OX_OK : ox_no_memory(err);
    case OPT_NAMED:
        return add_named(opt, field, value, err);
    case OPT_FLAG:
    case OPT_SECTION:
        break;
    }
    return OX_OK;
}

/* Levenshtein's distance; names of 40 characters and more are far from everything. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 40 };
    size_t n = strlen(a), m = strlen(b);
    if (n >= MOST || m >= MOST)
        return MOST;
    size_t row[MOST + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

const char *opt_nearest(const char *name, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t least = strlen(name) / 2 < 3 ? strlen(name) / 2 + 1 : 4;
    for (size_t i = 0; i < n; i++) {
        size_t far = names[i] ? distance(names[i], name) : least;
        if (far < least) {
            least = far;
            best = names[i];
        }
    }
    return best;
}

struct parser {
    const struct opt *tables[2];
    void *args[2];
    int argc;
    char **argv;
    int at;
    struct opt_result *result;
};

/* Each word gives one at the most for each of its letters. */
static void note_given(struct parser *p, const struct opt *opt, const char *value)
{
    p->result->given[p->result->n_given++] = (struct opt_given){opt, value};
}

static void set_flag(struct parser *p, const struct opt *opt, void *args)
{
    *(bool *)((char *)args + opt->offset) = true;
    note_given(p, opt, NULL);
}

static enum ox_status give_value(struct parser *p, const struct opt *opt, void *args,
                                 const char *value, struct ox_error *err)
{
    note_given(p, opt, value);
    return set_value(opt, args, value, err);
}

static const struct opt *find(const struct parser *p, const char *name, size_t n, char letter,
                              void **args)
{
    for (int t = 0; t < 2; t++)
        for (const struct opt *opt = p->tables[t]; opt && !opt_is_end(opt); opt++) {
            bool hit = name ? opt->name && strlen(opt->name) == n && memcmp(opt->name, name, n) == 0
                            : opt->letter && opt->letter == letter;
            if (hit) {
                *args = p->args[t];
                return opt;
            }
        }
    return NULL;
}

static enum ox_status unknown_long(const struct parser *p, const char *word, size_t n,
                                   struct ox_error *err)
{
    const char *names[128];
    size_t n_names = 0;
    for (int t = 0; t < 2; t++)
        for (const struct opt *opt = p->tables[t]; opt && !opt_is_end(opt); opt++)
            if (n_names < sizeof names / sizeof *names)
                names[n_names++] = opt->name;
    char name[64];
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name, word);
    const char *like = opt_nearest(name, names, n_names);
    if (like)
        return usage(err, "unknown option --%s; did you mean --%s?", name, like);
    return usage(err, "unknown option --%s", name);
}

static enum ox_status take_value(struct parser *p, const struct opt *opt, void *args,
                                 struct ox_error *err)
{
    if (p->at >= p->argc)
        return usage(err, "--%s needs a value: %s", opt->name, opt->arg);
    return give_value(p, opt, args, p->argv[p->at++], err);
}

static enum ox_status parse_long(struct parser *p, const char *word, struct ox_error *err)
{
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    void *args;
    const struct opt *opt = find(p, word, n, 0, &args);
    if (!opt)
        return unknown_long(p, word, n, err);
    if (opt->type == OPT_FLAG) {
        if (equals)
            return usage(err, "--%s takes no value", opt->name);
        set_flag(p, opt, args);
        return OX_OK;
    }
    return equals ? give_value(p, opt, args, equals + 1, err) : take_value(p, opt, args, err);
}

static enum ox_status parse_letters(struct parser *p, const char *letters, struct ox_error *err)
{
    for (const char *at = letters; *at; at++) {
        void *args;
        const struct opt *opt = find(p, NULL, 0, *at, &args);
        if (!opt)
            return usage(err, "unknown option -%c", *at);
        if (opt->type != OPT_FLAG)
            return at[1] ? give_value(p, opt, args, at + 1, err) : take_value(p, opt, args, err);
        set_flag(p, opt, args);
    }
    return OX_OK;
}

static size_t most_given(int argc, char **argv)
{
    size_t n = 0;
    for (int i = 0; i < argc; i++)
        n += *argv[i] == '-' ? strlen(argv[i]) : 0;
    return n;
}

enum ox_status opt_parse(const struct opt *table, void *args, const struct opt *common_table,
                         void *common, int argc, char **argv, struct opt_result *result,
                         struct ox_error *err)
{
    struct parser p = {{table, common_table}, {args, common}, argc, argv, 0, result};
    *result = (struct opt_result){0};
    result->operands = calloc((size_t)argc + 1, sizeof *result->operands);
    result->given = calloc(most_given(argc, argv) + 1, sizeof *result->given);
    if (!result->operands || !result->given)
        return ox_no_memory(err);
    bool only_operands = false;
    while (p.at < argc) {
        char *word = argv[p.at++];
        enum ox_status status = OX_OK;
        if (only_operands || word[0] != '-' || word[1] == '\0')
            result->operands[result->n_operands++] = word;
        else if (strcmp(word, "--") == 0)
            only_operands = true;
        else if (word[1] == '-')
            status = parse_long(&p, word + 2, err);
        else
            status = parse_letters(&p, word + 1, err);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

bool opt_is_list(const struct opt *opt)
{
    return opt->type == OPT_STRINGS || opt->type == OPT_NAMED;
}

static void release_lists(const struct opt *table, void *args)
{
    for (const struct opt *opt = table; opt && !opt_is_end(opt); opt++)
        if (opt_is_list(opt)) {
            struct opt_strings *list = (void *)((char *)args + opt->offset);
            free(list->items);
            *list = (struct opt_strings){0};
        }
}

void opt_release(const struct opt *table, void *args, const struct opt *common_table, void *common,
                 struct opt_result *result)
{
    release_lists(table, args);
    release_lists(common_table, common);
    free(result->operands);
    free(result->given);
    *result = (struct opt_result){0};
}
