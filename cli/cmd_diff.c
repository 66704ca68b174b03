#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commas.h"

enum format { FORMAT_TEXT, FORMAT_JSON };

struct args {
    struct opt_strings ignore;
    int format;
    bool brief;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {
    {0, "ignore", OPT_STRINGS, FIELD(ignore), "KIND,...", NULL,
     "what does not count: model, opsets, metadata, docs, names, io, types, nodes, attributes, "
     "weights, functions, or weights<X for largest differences up to X"},
    {0, "brief", OPT_FLAG, FIELD(brief), NULL, NULL, "only tell whether they differ"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "text|json", "form of the output"},
    OPT_END};

/* ---- What is ignored ---------------------------------------------------------------------------------------------- */

static enum ox_status ignore_one(struct cli *cli, const char *word, size_t n,
                                 struct ox_diff_options *diff)
{
    static const char below[] = "weights<";
    for (int kind = 0; kind < OX_N_DIFF_KINDS; kind++) {
        const char *known = ox_diff_kind_word((enum ox_diff_kind)kind);
        if (strlen(known) == n && memcmp(known, word, n) == 0) {
            diff->ignore[kind] = true;
            return OX_OK;
        }
    }
    if (n > sizeof below - 1 && memcmp(word, below, sizeof below - 1) == 0) {
        char *end;
        diff->weights_below = strtod(word + sizeof below - 1, &end);
        if (end == word + n && diff->weights_below >= 0)
            return OX_OK;
    }
    return cli_fail(cli, OX_USAGE, "diff: --ignore does not know '%.*s'", (int)n, word);
}

static enum ox_status parse_ignore(struct cli *cli, const struct args *args,
                                   struct ox_diff_options *diff)
{
    enum ox_status status = OX_OK;
    const char *word;
    size_t n;
    for (size_t i = 0; i < args->ignore.n; i++)
        for (const char *at = args->ignore.items[i];
             status == OX_OK && commas_next(&at, &word, &n);)
            status = ignore_one(cli, word, n, diff);
    return status;
}

/* ---- Text: as a patch is written ---------------------------------------------------------------------------------- */

static void put_line(struct cli *cli, char sign, const char *property, const char *value)
{
    struct ox_strbuf *out = &cli->out;
    if (cli->color)
        ox_strbuf_puts(out, sign == '-' ? "\033[31m" : sign == '+' ? "\033[32m" : "");
    ox_strbuf_putc(out, sign);
    ox_strbuf_putc(out, ' ');
    if (property) {
        ox_strbuf_name(out, property, 256);
        ox_strbuf_puts(out, ": ");
    }
    ox_strbuf_name(out, value, 1024);
    if (cli->color && sign != ' ')
        ox_strbuf_puts(out, "\033[0m");
    ox_strbuf_putc(out, '\n');
}

static void put_values(struct cli *cli, const struct ox_difference *entry)
{
    struct ox_strbuf *out = &cli->out;
    ox_strbuf_puts(out, "! ");
    if (entry->property) {
        ox_strbuf_name(out, entry->property, 256);
        ox_strbuf_puts(out, ": ");
    }
    ox_strbuf_printf(out, "%s, %llu of %llu elements differ, largest difference %.6g",
                     entry->before, (unsigned long long)entry->n_differ,
                     (unsigned long long)entry->n_elements, entry->max_abs);
    if (isfinite(entry->max_rel))
        ox_strbuf_printf(out, ", relative %.6g", entry->max_rel);
    if (isfinite(entry->sqnr_db))
        ox_strbuf_printf(out, ", SQNR %.2f dB", entry->sqnr_db);
    ox_strbuf_putc(out, '\n');
}

static bool same_place(const struct ox_difference *a, const struct ox_difference *b)
{
    return a && strcmp(a->graph, b->graph) == 0 && strcmp(a->subject, b->subject) == 0;
}

static void print_text(struct cli *cli, const struct ox_diff *diff, const char *const *paths)
{
    struct ox_strbuf *out = &cli->out;
    const struct ox_difference *last = NULL;
    for (size_t i = 0; i < 2; i++) {
        ox_strbuf_puts(out, i ? "+++ " : "--- ");
        ox_strbuf_name(out, paths[i], 0);
        ox_strbuf_putc(out, '\n');
    }
    for (size_t i = 0; i < ox_diff_count(diff); i++) {
        const struct ox_difference *entry = ox_diff_at(diff, i);
        if (!same_place(last, entry)) {
            ox_strbuf_puts(out, "@@ ");
            ox_strbuf_name(out, entry->graph, 0);
            ox_strbuf_puts(out, *entry->graph && *entry->subject ? ": " : "");
            ox_strbuf_name(out, *entry->subject || *entry->graph ? entry->subject : "model", 0);
            ox_strbuf_putc(out, '\n');
        }
        last = entry;
        if (entry->values) {
            put_values(cli, entry);
            continue;
        }
        if (entry->before)
            put_line(cli, '-', entry->property, entry->before);
        if (entry->after)
            put_line(cli, '+', entry->property, entry->after);
    }
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

static void json_entry(struct ox_json *json, const struct ox_difference *entry)
{
    ox_json_object(json);
    cli_json_string(json, "kind", ox_diff_kind_word(entry->kind));
    cli_json_string(json, "change",
                    !entry->before  ? "added"
                    : !entry->after ? "removed"
                                    : "changed");
    cli_json_string(json, "graph", entry->graph);
    cli_json_string(json, "subject", entry->subject);
    cli_json_string(json, "property", entry->property);
    cli_json_string(json, "before", entry->before);
    cli_json_string(json, "after", entry->after);
    if (entry->values) {
        cli_json_uint(json, "elements", entry->n_elements);
        cli_json_uint(json, "differ", entry->n_differ);
        cli_json_double(json, "max_abs", entry->max_abs);
        cli_json_double(json, "max_rel", entry->max_rel);
        cli_json_double(json, "sqnr_db", entry->sqnr_db);
    }
    ox_json_end_object(json);
}

static void print_json(struct cli *cli, const struct ox_diff *diff, const char *const *paths)
{
    struct ox_json json;
    ox_json_init(&json, &cli->out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.diff/1");
    cli_json_string(&json, "a", paths[0]);
    cli_json_string(&json, "b", paths[1]);
    cli_json_bool(&json, "equal", ox_diff_count(diff) == 0);
    ox_json_key(&json, "differences");
    ox_json_array(&json);
    for (size_t i = 0; i < ox_diff_count(diff); i++)
        json_entry(&json, ox_diff_at(diff, i));
    ox_json_end_array(&json);
    ox_json_end_object(&json);
    ox_strbuf_putc(&cli->out, '\n');
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static enum ox_status report(struct cli *cli, const struct args *args, const struct ox_diff *diff,
                             const char *const *paths)
{
    size_t n = ox_diff_count(diff);
    if (args->format == FORMAT_JSON)
        print_json(cli, diff, paths);
    else if (n && !args->brief && !cli->common.quiet)
        print_text(cli, diff, paths);
    return n ? cli_fail(cli, OX_NEGATIVE, "%s and %s differ: %zu difference%s", paths[0], paths[1],
                        n, n == 1 ? "" : "s")
             : OX_OK;
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    struct ox_diff_options with = {.weights_below = 0};
    struct ox_model *models[2] = {NULL, NULL};
    struct ox_diff *diff = NULL;
    struct ox_error err;
    if (n_operands != 2)
        return cli_fail(cli, OX_USAGE, "diff: takes two models");
    enum ox_status status = parse_ignore(cli, args, &with);
    if (status != OX_OK)
        return status;
    cli_start_timer(cli, operands[0]);
    for (size_t i = 0; i < 2 && status == OX_OK; i++)
        status = ox_model_open(&models[i], cli->env, operands[i], &err);
    if (status == OX_OK)
        status = ox_diff_models(&diff, models[0], models[1], &with, &err);
    status = status == OX_OK ? report(cli, args, diff, operands) : cli_error(cli, &err);
    ox_diff_release(diff);
    ox_model_release(models[0]);
    ox_model_release(models[1]);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "Tell what differs between two models",
    .operands = "A B",
    .description =
        "Tells what B has that A has not, and what both have and differs: nodes, their attributes "
        "and connections, weights (how many elements, by how much), inputs and outputs, types, "
        "operator sets, functions, metadata, doc strings, names. Exit status 1 when anything "
        "differs.\n\n"
        "Nodes are matched by name and by the names of their outputs, then by what they compute "
        "from and for. Where weights are stored and how they are encoded makes no difference, nor "
        "does the order of nodes. With --ignore names a model with other names throughout is "
        "equal.",
    .examples = "  onnxtool diff old.onnx new.onnx\n"
                "  onnxtool diff --ignore names,metadata,docs exported.onnx again.onnx\n"
                "  onnxtool diff --ignore 'weights<1e-6' -f json a.onnx b.onnx\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .run = run,
};
