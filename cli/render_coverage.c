/* What serves each version of an operator: `ops --coverage`. */
#include <stdio.h>
#include <string.h>

#include "render_ops.h"

struct tally {
    size_t versions, types, fast, deprecated;
    size_t lacking, foreign; /* of the standard's domains, of com.microsoft */
};

static size_t count_types(const struct ox_schema *row)
{
    const char *const *types;
    size_t n = 0;
    for (size_t i = 0; i < row->n_constraints; i++)
        n += ox_type_set(row->constraints[i].allowed, &types);
    return n;
}

static bool is_complete(const struct ox_schema *row, const struct ox_coverage *coverage)
{
    return row->deprecated || (coverage->infer && coverage->reference && coverage->oracle);
}

static void count(struct tally *tally, const struct ox_schema *row,
                  const struct ox_coverage *coverage)
{
    tally->versions++;
    tally->types += count_types(row);
    tally->fast += coverage->fast;
    tally->deprecated += row->deprecated;
    if (!is_complete(row, coverage) && strncmp(row->domain, "com.", 4) == 0)
        tally->foreign++;
    else
        tally->lacking += !is_complete(row, coverage);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void text_row(struct ox_strbuf *out, const struct ox_schema *row,
                     const struct ox_coverage *coverage)
{
    ox_strbuf_printf(out, "%-28s %-24s %4d  ", row->name, ops_domain_name(row->domain), row->since);
    if (row->deprecated) {
        ox_strbuf_puts(out, "check (deprecated: refused by every version that has this row)\n");
        return;
    }
    ox_strbuf_printf(out, "check %-6s %-7s %-10s %s", coverage->infer ? "infer" : "-",
                     coverage->oracle ? "oracle" : "-",
                     coverage->by_body     ? "reference*"
                     : coverage->reference ? "reference"
                                           : "-",
                     coverage->fast ? "fast" : "-");
    for (size_t i = 0; i < row->n_constraints; i++) {
        struct ox_strbuf types = {0};
        ox_schema_types_text(&types, row->constraints[i].allowed, NULL);
        ox_strbuf_printf(out, "  %s: %s", row->constraints[i].name, ox_strbuf_text(&types, out));
        ox_strbuf_release(&types);
    }
    ox_strbuf_putc(out, '\n');
}

static void text_total(struct ox_strbuf *out, const struct tally *tally)
{
    ox_strbuf_printf(out,
                     "%zu versions of operators, %zu with their types, %zu deprecated\n"
                     "%zu of the standard lack something, %zu of onnxruntime's own\n"
                     "%zu have a fast form (* by the standard's body)\n",
                     tally->versions, tally->types, tally->deprecated, tally->lacking,
                     tally->foreign, tally->fast);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_types(struct ox_json *json, uint16_t set)
{
    const char *const *types;
    size_t n = ox_type_set(set, &types);
    ox_json_array(json);
    for (size_t i = 0; i < n; i++) {
        struct ox_strbuf text = {0};
        ox_schema_type_text(&text, types[i]);
        ox_json_string(json, text.data);
        json->out->failed |= text.failed;
        ox_strbuf_release(&text);
    }
    ox_json_end_array(json);
}

static void json_row(struct ox_json *json, const struct ox_schema *row,
                     const struct ox_coverage *coverage)
{
    const struct {
        const char *key;
        bool value;
    } flags[] = {{"deprecated", row->deprecated},    {"check", true},
                 {"infer", coverage->infer},         {"oracle", coverage->oracle},
                 {"reference", coverage->reference}, {"by_body", coverage->by_body},
                 {"fast", coverage->fast},           {"complete", is_complete(row, coverage)}};
    ox_json_object(json);
    cli_json_string(json, "name", row->name);
    cli_json_string(json, "domain", ops_domain_name(row->domain));
    cli_json_int(json, "version", row->since);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        cli_json_bool(json, flags[i].key, flags[i].value);
    }
    ox_json_key(json, "types");
    ox_json_object(json);
    for (size_t i = 0; i < row->n_constraints; i++) {
        ox_json_key(json, row->constraints[i].name);
        json_types(json, row->constraints[i].allowed);
    }
    ox_json_end_object(json);
    ox_json_end_object(json);
}

static void json_total(struct ox_json *json, const struct tally *tally)
{
    const struct {
        const char *key;
        size_t value;
    } totals[] = {{"versions", tally->versions},     {"types", tally->types},
                  {"lacking", tally->lacking},       {"foreign_lacking", tally->foreign},
                  {"deprecated", tally->deprecated}, {"fast", tally->fast}};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        cli_json_uint(json, totals[i].key, totals[i].value);
    }
}

enum ox_status render_coverage(struct cli *cli, enum ops_format format,
                               const struct ops_report *report)
{
    struct tally tally = {0};
    struct ox_json json;
    ox_json_init(&json, &cli->out, true);
    if (format == OPS_JSON) {
        ox_json_object(&json);
        cli_json_string(&json, "schema", "onnxtool.ops/1");
        ox_json_key(&json, "coverage");
        ox_json_array(&json);
    }
    for (size_t i = 0; i < report->n_rows; i++) {
        struct ox_coverage coverage;
        ox_schema_coverage(report->rows[i], &coverage);
        count(&tally, report->rows[i], &coverage);
        if (format == OPS_JSON)
            json_row(&json, report->rows[i], &coverage);
        else
            text_row(&cli->out, report->rows[i], &coverage);
    }
    if (format == OPS_JSON) {
        ox_json_end_array(&json);
        json_total(&json, &tally);
        ox_json_end_object(&json);
        ox_strbuf_putc(&cli->out, '\n');
    } else {
        text_total(&cli->out, &tally);
    }
    if (cli->out.failed)
        return cli_fail(cli, OX_NO_MEMORY, "ops: out of memory");
    return tally.lacking ? cli_fail(cli, OX_NEGATIVE,
                                    "ops: %zu versions of operators lack something", tally.lacking)
                         : OX_OK;
}
