#include "render_check.h"

#include <string.h>

static const char *colour(const struct cli *cli, enum ox_severity severity)
{
    static const char *const codes[] = {"\033[31m", "\033[33m", "\033[36m"};
    return cli->color ? codes[severity] : "";
}

static void print_place(struct ox_strbuf *out, const struct ox_finding *finding)
{
    const struct {
        const char *before, *text;
    } parts[] = {{"graph ", finding->graph && *finding->graph ? finding->graph : NULL},
                 {"node ", finding->node},
                 {"", finding->op_type},
                 {"tensor ", finding->tensor},
                 {"attribute ", finding->attribute}};
    const char *separator = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].text)
            continue;
        bool operator_of_node = i == 2 && finding->node;
        ox_strbuf_puts(out, operator_of_node ? " (" : separator);
        ox_strbuf_puts(out, parts[i].before);
        ox_strbuf_name(out, parts[i].text, 256);
        ox_strbuf_puts(out, operator_of_node ? ")" : "");
        separator = ", ";
    }
    if (*separator)
        ox_strbuf_puts(out, ": ");
}

static void counted(struct ox_strbuf *out, size_t n, const char *what, const char *separator)
{
    ox_strbuf_printf(out, "%s%zu %s%s", separator, n, what, n == 1 ? "" : "s");
}

static void text(struct cli *cli, const struct check_report *report)
{
    struct ox_strbuf *out = &cli->out;
    const char *plain = cli->color ? "\033[0m" : "";
    for (size_t i = 0; i < report->n_findings; i++) {
        const struct ox_finding *finding = report->findings[i];
        if (cli->common.quiet && !check_fails(report, finding))
            continue;
        ox_strbuf_name(out, report->model, 0);
        ox_strbuf_printf(out, ": %s%s%s: ", colour(cli, finding->severity),
                         ox_severity_name(finding->severity), plain);
        print_place(out, finding);
        ox_strbuf_name(out, finding->message, 0);
        ox_strbuf_printf(out, " [%s]\n", finding->id);
        if (finding->hint) {
            ox_strbuf_puts(out, "    hint: ");
            ox_strbuf_name(out, finding->hint, 0);
            ox_strbuf_putc(out, '\n');
        }
    }
    if (!report->readable || cli->common.quiet)
        return;
    ox_strbuf_name(out, report->model, 0);
    ox_strbuf_puts(out, report->valid ? ": valid" : ": invalid");
    if (report->n_errors)
        counted(out, report->n_errors, "error", ", ");
    if (report->n_warnings)
        counted(out, report->n_warnings, "warning", ", ");
    if (report->n_infos)
        ox_strbuf_printf(out, ", %zu advice", report->n_infos);
    ox_strbuf_putc(out, '\n');
    target_report_text(cli, report->model, report->targets);
}

static void json_finding(struct ox_json *json, const struct ox_finding *finding)
{
    ox_json_object(json);
    cli_json_string(json, "id", finding->id);
    cli_json_string(json, "severity", ox_severity_name(finding->severity));
    cli_json_string(json, "message", finding->message);
    cli_json_string(json, "hint", finding->hint);
    ox_json_key(json, "where");
    ox_json_object(json);
    const struct {
        const char *key, *value;
    } parts[] = {{"graph", finding->graph},
                 {"node", finding->node},
                 {"op_type", finding->op_type},
                 {"tensor", finding->tensor},
                 {"attribute", finding->attribute}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        cli_json_string(json, parts[i].key, parts[i].value);
    }
    ox_json_end_object(json);
    ox_json_end_object(json);
}

static void json(struct cli *cli, const struct check_report *report)
{
    struct ox_json json;
    ox_json_init(&json, &cli->out, !cli->several);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.check/1");
    cli_json_string(&json, "model", report->model);
    cli_json_bool(&json, "valid", report->valid);
    ox_json_key(&json, "ir_version");
    if (report->opened)
        ox_json_int(&json, report->ir_version);
    else
        ox_json_null(&json);
    ox_json_key(&json, "opset");
    ox_json_object(&json);
    for (size_t i = 0; report->opened && i < ox_model_n_opsets(report->opened); i++) {
        int64_t version;
        ox_json_key(&json, ox_model_opset(report->opened, i, &version));
        ox_json_int(&json, version);
    }
    ox_json_end_object(&json);
    ox_json_key(&json, "findings");
    ox_json_array(&json);
    for (size_t i = 0; i < report->n_findings; i++)
        json_finding(&json, report->findings[i]);
    ox_json_end_array(&json);
    ox_json_key(&json, "targets");
    const struct target_report none = {0};
    target_report_json(&json, report->targets ? report->targets : &none);
    ox_json_end_object(&json);
    ox_strbuf_putc(&cli->out, '\n');
}

void render_check(struct cli *cli, enum check_format format, const struct check_report *report)
{
    static void (*const renderers[])(struct cli * cli, const struct check_report *report) = {
        [CHECK_TEXT] = text,
        [CHECK_JSON] = json,
        [CHECK_SARIF] = render_check_sarif,
        [CHECK_JUNIT] = render_check_junit,
        [CHECK_GITHUB] = render_check_github};
    renderers[format](cli, report);
}
