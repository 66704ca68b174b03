#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "render_ops.h"

struct args {
    const char *domain;
    int64_t opset;
    int64_t diff;
    bool coverage;
    int format;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {
    {0, "domain", OPT_STRING, FIELD(domain), "DOMAIN", NULL, "operators of that domain only"},
    {0, "opset", OPT_INT, FIELD(opset), "N", NULL,
     "as they are in version N of the domain (ai.onnx unless --domain names another)"},
    {0, "diff", OPT_INT, FIELD(diff), "N", NULL,
     "tell what changed since version N of the domain instead"},
    {0, "coverage", OPT_FLAG, FIELD(coverage), NULL, NULL,
     "tell what of checking, inference and running serves each version and type instead"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", OPS_FORMATS, "form of the output"},
    OPT_END};

enum { NOT_GIVEN = INT_MIN };

static void defaults(void *args_)
{
    struct args *args = args_;
    args->opset = NOT_GIVEN;
    args->diff = NOT_GIVEN;
}

/* What the command line asks for, made plain. */
struct query {
    const char *domain; /* NULL: all */
    int64_t opset;      /* INT64_MAX: the newest */
    int64_t diff;       /* 0: none */
};

static enum ox_status check_version(struct cli *cli, const char *option, const char *domain,
                                    int64_t version)
{
    int newest = ox_schema_newest(domain);
    if (version >= 1 && version <= newest)
        return OX_OK;
    return cli_fail(cli, OX_USAGE, "ops: --%s %lld: %s has versions 1 to %d", option,
                    (long long)version, ops_domain_name(domain), newest);
}

static enum ox_status make_query(struct cli *cli, const struct args *args, struct query *query)
{
    *query = (struct query){.opset = INT64_MAX};
    bool versioned = args->opset != NOT_GIVEN || args->diff != NOT_GIVEN;
    query->domain = args->domain ? args->domain : versioned ? "" : NULL;
    if (query->domain && strcmp(query->domain, "ai.onnx") == 0)
        query->domain = "";
    if (query->domain && ox_schema_newest(query->domain) == 0)
        return cli_fail(cli, OX_USAGE, "ops: --domain: no operators are known of '%s'",
                        args->domain);
    enum ox_status status = OX_OK;
    if (args->opset != NOT_GIVEN) {
        query->opset = args->opset;
        status = check_version(cli, "opset", query->domain, args->opset);
    }
    if (status == OX_OK && args->diff != NOT_GIVEN) {
        query->diff = args->diff;
        status = check_version(cli, "diff", query->domain, args->diff);
        if (status == OX_OK && args->diff > query->opset)
            status = cli_fail(cli, OX_USAGE, "ops: --diff %lld is newer than --opset %lld",
                              (long long)args->diff, (long long)query->opset);
    }
    return status;
}

static bool serves(const struct query *query, const struct ox_schema *row)
{
    if (query->domain && strcmp(query->domain, row->domain) != 0)
        return false;
    if (row->since > query->opset || (row->until != 0 && row->until < query->opset))
        return false;
    return row->since > query->diff || query->diff == 0;
}

static bool is_named(const char *name, const char *const *names, size_t n)
{
    size_t i = 0;
    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i < n || n == 0;
}

/* All versions, unless --opset asks for one. */
static enum ox_status run_coverage(struct cli *cli, const struct args *args,
                                   const struct query *query, const char *const *names,
                                   size_t n_names)
{
    size_t n_all;
    const struct ox_schema *all = ox_schema_rows(&n_all);
    const struct ox_schema **rows = calloc(n_all + 1, sizeof *rows);
    struct ops_report report = {.rows = rows};
    if (!rows)
        return cli_fail(cli, OX_NO_MEMORY, "ops: out of memory");
    for (size_t i = 0; i < n_all; i++) {
        bool asked = query->opset == INT64_MAX
                         ? !query->domain || strcmp(query->domain, all[i].domain) == 0
                         : serves(query, &all[i]);
        if (asked && is_named(all[i].name, names, n_names))
            rows[report.n_rows++] = &all[i];
    }
    enum ox_status status = report.n_rows
                                ? render_coverage(cli, (enum ops_format)args->format, &report)
                                : cli_fail(cli, OX_NEGATIVE, "ops: there is no such operator");
    free(rows);
    return status;
}

/* The operator of that name in every domain asked for; *n grows. false: there is none. */
static bool collect_named(const struct query *query, const char *name,
                          const struct ox_schema **rows, size_t *n)
{
    size_t n_all;
    size_t before = *n;
    const struct ox_schema *all = ox_schema_rows(&n_all);
    const struct query any = {query->domain, query->opset, 0};
    for (size_t i = 0; i < n_all; i++) {
        if (strcmp(all[i].name, name) == 0 && serves(&any, &all[i]))
            rows[(*n)++] = &all[i];
    }
    const struct ox_schema *foreign = NULL;
    if (*n == before && (!query->domain || query->domain[0] == '\0'))
        foreign = ox_schema_find_foreign("", name, query->opset);
    if (foreign)
        rows[(*n)++] = foreign;
    return *n > before;
}

static enum ox_status fail_unknown(struct cli *cli, const struct query *query, const char *name)
{
    size_t n;
    const struct ox_schema *rows = ox_schema_rows(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].name, name) == 0 &&
            (!query->domain || strcmp(rows[i].domain, query->domain) == 0))
            return cli_fail(cli, OX_NEGATIVE, "ops: %s is in %s since version %d only", name,
                            ops_domain_name(rows[i].domain), rows[i].since);
    }
    static const char *const domains[] = {"", "ai.onnx.ml", "com.microsoft"};
    const char *similar = NULL;
    for (size_t i = 0; !similar && i < sizeof domains / sizeof *domains; i++) {
        if (!query->domain || strcmp(query->domain, domains[i]) == 0)
            similar = ox_schema_similar(domains[i], name);
    }
    const char *where = query->domain ? ops_domain_name(query->domain) : "any domain";
    if (similar)
        return cli_fail(cli, OX_NEGATIVE, "ops: '%s' is no operator of %s; did you mean '%s'?",
                        name, where, similar);
    return cli_fail(cli, OX_NEGATIVE, "ops: '%s' is no operator of %s", name, where);
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct args *args = args_;
    struct query query;
    enum ox_status status = make_query(cli, args, &query);
    if (status != OX_OK)
        return status;
    if (args->coverage && query.diff != 0)
        return cli_fail(cli, OX_USAGE, "ops: --coverage and --diff contradict each other");
    if (args->coverage)
        return run_coverage(cli, args, &query, operands, n_operands);
    size_t n_all;
    const struct ox_schema *all = ox_schema_rows(&n_all);
    const struct ox_schema **rows = calloc((n_operands + 1) * n_all, sizeof *rows);
    if (!rows)
        return cli_fail(cli, OX_NO_MEMORY, "ops: out of memory");
    struct ops_report report = {.rows = rows, .details = n_operands > 0, .from = query.diff};
    for (size_t i = 0; i < n_operands; i++) {
        if (!collect_named(&query, operands[i], rows, &report.n_rows))
            status = cli_worse(status, fail_unknown(cli, &query, operands[i]));
    }
    for (size_t i = 0; n_operands == 0 && i < n_all; i++) {
        if (serves(&query, &all[i]))
            rows[report.n_rows++] = &all[i];
    }
    if (query.diff != 0)
        report.changes = OPS_CHANGES_FROM;
    else
        report.changes = report.details ? OPS_CHANGES_HISTORY : OPS_CHANGES_NONE;
    if (n_operands == 0 || report.n_rows > 0)
        status = cli_worse(status, render_ops(cli, (enum ops_format)args->format, &report));
    free(rows);
    return status;
}

const struct command command_ops = {
    .name = "ops",
    .summary = "List operators, their signatures and what changed in them",
    .operands = "[NAME...]",
    .description =
        "Reads the registry that models are checked against: every operator of "
        "ONNX " OX_ONNX_VERSION
        " at every version of its domain, and those that onnxruntime adds.\n\n"
        "Without NAME, a table of all operators as they are now, or with --opset as they were in a "
        "version. With NAME, inputs, outputs, attributes with defaults, type constraints, and what "
        "changed from version to version. Names are spelled as in the standard; a name that "
        "several "
        "domains have is shown for each.\n\n"
        "With --diff, what changed between two versions of a domain: for the operators named, or "
        "for all. In the lists of changes + is new, - is gone, ~ differs.",
    .examples = "  onnxtool ops Resize\n"
                "  onnxtool ops --opset 9 -f json Upsample\n"
                "  onnxtool ops --diff 13 --opset 18\n"
                "  onnxtool ops --domain com.microsoft\n"
                "  onnxtool ops --coverage\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .defaults = defaults,
    .run = run,
};
