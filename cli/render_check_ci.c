/* What `check` found in the forms that continuous integration reads: SARIF 2.1.0, JUnit's XML, GitHub's workflow commands.
 * Strings of a model can end neither markup nor a command. */
#include <ctype.h>
#include <string.h>

#include "render_check.h"

/* ---- Common ------------------------------------------------------------------------------------------------------- */

/* "loop_1.body: node conv, tensor w": where a finding is. */
static void put_place(struct ox_strbuf *out, const struct ox_finding *finding)
{
    const struct {
        const char *what, *text;
    } parts[] = {{"graph", finding->graph && *finding->graph ? finding->graph : NULL},
                 {"node", finding->node},
                 {"tensor", finding->tensor},
                 {"attribute", finding->attribute}};
    const char *separator = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].text)
            continue;
        ox_strbuf_printf(out, "%s%s ", separator, parts[i].what);
        ox_strbuf_name(out, parts[i].text, 256);
        separator = ", ";
    }
}

static void put_message(struct ox_strbuf *out, const struct ox_finding *finding)
{
    struct ox_strbuf place = {0};
    put_place(&place, finding);
    if (place.len)
        ox_strbuf_printf(out, "%s: ", place.data);
    ox_strbuf_name(out, finding->message, 0);
    if (finding->hint) {
        ox_strbuf_puts(out, " (hint: ");
        ox_strbuf_name(out, finding->hint, 0);
        ox_strbuf_putc(out, ')');
    }
    out->failed |= place.failed;
    ox_strbuf_release(&place);
}

/* ---- SARIF -------------------------------------------------------------------------------------------------------- */

static void json_message(struct ox_json *json, const char *key, const char *text)
{
    ox_json_key(json, key);
    ox_json_object(json);
    cli_json_string(json, "text", text);
    ox_json_end_object(json);
}

/* A path as a URI reference (RFC 3986): relative ones stay so. */
static void put_uri(struct ox_strbuf *out, const char *path)
{
    ox_strbuf_puts(out, *path == '/' ? "file://" : "");
    /* A first component with a colon would read as a scheme. */
    size_t first = strcspn(path, "/");
    if (memchr(path, ':', first))
        ox_strbuf_puts(out, "./");
    for (; *path; path++) {
        if (isalnum((unsigned char)*path) || strchr("/-._~:@!$'()*,;=+", *path))
            ox_strbuf_putc(out, *path);
        else
            ox_strbuf_printf(out, "%%%02X", (unsigned char)*path);
    }
}

static void sarif_location(struct ox_json *json, const char *model,
                           const struct ox_finding *finding)
{
    struct ox_strbuf text = {0};
    ox_json_key(json, "locations");
    ox_json_array(json);
    ox_json_object(json);
    ox_json_key(json, "physicalLocation");
    ox_json_object(json);
    ox_json_key(json, "artifactLocation");
    ox_json_object(json);
    put_uri(&text, model);
    cli_json_string(json, "uri", ox_strbuf_text(&text, json->out));
    ox_json_end_object(json);
    ox_json_key(json, "region"); /* readers ask for one; a model has no lines */
    ox_json_object(json);
    cli_json_int(json, "startLine", 1);
    ox_json_end_object(json);
    ox_json_end_object(json);
    ox_strbuf_clear(&text);
    put_place(&text, finding);
    if (text.len) {
        ox_json_key(json, "logicalLocations");
        ox_json_array(json);
        ox_json_object(json);
        cli_json_string(json, "fullyQualifiedName", text.data);
        if (finding->node)
            cli_json_string(json, "name", finding->node);
        ox_json_end_object(json);
        ox_json_end_array(json);
    }
    ox_json_end_object(json);
    ox_json_end_array(json);
    json->out->failed |= text.failed;
    ox_strbuf_release(&text);
}

/* The kinds that are found here, in their own order. */
static void sarif_rules(struct ox_json *json, const struct check_report *report)
{
    size_t n;
    const struct ox_finding_kind *kinds = ox_finding_kinds(&n);
    ox_json_key(json, "rules");
    ox_json_array(json);
    for (size_t k = 0; k < n; k++) {
        size_t i = 0;
        while (i < report->n_findings && strcmp(report->findings[i]->id, kinds[k].id) != 0)
            i++;
        if (i == report->n_findings)
            continue;
        ox_json_object(json);
        cli_json_string(json, "id", kinds[k].id);
        json_message(json, "shortDescription", kinds[k].title);
        json_message(json, "fullDescription", kinds[k].explanation);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static const char *sarif_level(enum ox_severity severity)
{
    return severity == OX_ERROR ? "error" : severity == OX_WARNING ? "warning" : "note";
}

static void sarif_result(struct ox_json *json, const char *model, const struct ox_finding *finding)
{
    struct ox_strbuf message = {0};
    put_message(&message, finding);
    ox_json_object(json);
    cli_json_string(json, "ruleId", finding->id);
    cli_json_string(json, "level", sarif_level(finding->severity));
    json_message(json, "message", ox_strbuf_text(&message, json->out));
    sarif_location(json, model, finding);
    ox_json_end_object(json);
    ox_strbuf_release(&message);
}

void render_check_sarif(struct cli *cli, const struct check_report *report)
{
    struct ox_json json;
    ox_json_init(&json, &cli->out, false);
    ox_json_object(&json);
    ox_json_key(&json, "tool");
    ox_json_object(&json);
    ox_json_key(&json, "driver");
    ox_json_object(&json);
    cli_json_string(&json, "name", "onnxtool");
    cli_json_string(&json, "version", OX_VERSION);
    sarif_rules(&json, report);
    ox_json_end_object(&json);
    ox_json_end_object(&json);
    ox_json_key(&json, "invocations");
    ox_json_array(&json);
    ox_json_object(&json);
    cli_json_bool(&json, "executionSuccessful", report->readable);
    ox_json_end_object(&json);
    ox_json_end_array(&json);
    ox_json_key(&json, "results");
    ox_json_array(&json);
    for (size_t i = 0; i < report->n_findings; i++)
        sarif_result(&json, report->model, report->findings[i]);
    ox_json_end_array(&json);
    ox_json_end_object(&json);
}

/* ---- JUnit -------------------------------------------------------------------------------------------------------- */

static void junit_case(struct ox_strbuf *out, const struct check_report *report,
                       const struct ox_finding *finding)
{
    struct ox_strbuf text = {0};
    const char *tag = !report->readable ? "error" : check_fails(report, finding) ? "failure" : NULL;
    put_place(&text, finding);
    ox_strbuf_puts(out, "    <testcase classname=\"");
    ox_strbuf_markup(out, report->model, 0);
    ox_strbuf_printf(out, "\" name=\"%s", finding->id);
    if (text.len) {
        ox_strbuf_puts(out, ": ");
        ox_strbuf_markup(out, text.data, 0);
    }
    ox_strbuf_puts(out, "\">");
    ox_strbuf_clear(&text);
    put_message(&text, finding);
    if (tag) {
        ox_strbuf_printf(out, "<%s type=\"%s\" message=\"", tag, finding->id);
        ox_strbuf_markup(out, ox_strbuf_text(&text, out), 0);
        ox_strbuf_puts(out, "\"/>");
    } else {
        ox_strbuf_puts(out, "<system-out>");
        ox_strbuf_markup(out, ox_strbuf_text(&text, out), 0);
        ox_strbuf_puts(out, "</system-out>");
    }
    ox_strbuf_puts(out, "</testcase>\n");
    out->failed |= text.failed;
    ox_strbuf_release(&text);
}

void render_check_junit(struct cli *cli, const struct check_report *report)
{
    struct ox_strbuf *out = &cli->out;
    size_t n_failures = 0, n_errors = 0;
    for (size_t i = 0; i < report->n_findings; i++) {
        n_errors += !report->readable;
        n_failures += report->readable && check_fails(report, report->findings[i]);
    }
    ox_strbuf_puts(out, "  <testsuite name=\"");
    ox_strbuf_markup(out, report->model, 0);
    ox_strbuf_printf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
                     report->n_findings ? report->n_findings : 1, n_failures, n_errors);
    if (!report->n_findings) {
        ox_strbuf_puts(out, "    <testcase classname=\"");
        ox_strbuf_markup(out, report->model, 0);
        ox_strbuf_puts(out, "\" name=\"valid\"/>\n");
    }
    for (size_t i = 0; i < report->n_findings; i++)
        junit_case(out, report, report->findings[i]);
    ox_strbuf_puts(out, "  </testsuite>\n");
}

/* ---- GitHub ------------------------------------------------------------------------------------------------------- */

/* As data of a workflow command, or as one of its properties. */
static void put_command_text(struct ox_strbuf *out, const char *text, bool property)
{
    struct ox_strbuf safe = {0};
    ox_strbuf_name(&safe, text, 0);
    for (size_t i = 0; i < safe.len; i++) {
        char c = safe.data[i];
        if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
            ox_strbuf_printf(out, "%%%02X", (unsigned)c);
        else
            ox_strbuf_putc(out, c);
    }
    out->failed |= safe.failed;
    ox_strbuf_release(&safe);
}

void render_check_github(struct cli *cli, const struct check_report *report)
{
    static const char *const levels[] = {"error", "warning", "notice"};
    struct ox_strbuf message = {0};
    for (size_t i = 0; i < report->n_findings; i++) {
        const struct ox_finding *finding = report->findings[i];
        ox_strbuf_clear(&message);
        put_message(&message, finding);
        ox_strbuf_printf(&cli->out, "::%s file=", levels[finding->severity]);
        put_command_text(&cli->out, report->model, true);
        ox_strbuf_puts(&cli->out, ",title=");
        put_command_text(&cli->out, finding->id, true);
        ox_strbuf_puts(&cli->out, "::");
        put_command_text(&cli->out, ox_strbuf_text(&message, &cli->out), false);
        ox_strbuf_putc(&cli->out, '\n');
    }
    ox_strbuf_release(&message);
}

/* ---- Around all models -------------------------------------------------------------------------------------------- */

void render_check_begin(struct cli *cli, enum check_format format)
{
    if (format == CHECK_SARIF) {
        ox_strbuf_puts(&cli->out, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\","
                                  "\"version\":\"2.1.0\",\"runs\":[\n");
        cli->between = ",\n";
    } else if (format == CHECK_JUNIT) {
        ox_strbuf_puts(&cli->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                  "<testsuites name=\"onnxtool check\">\n");
    }
}

void render_check_end(struct cli *cli, enum check_format format)
{
    if (format == CHECK_SARIF)
        ox_strbuf_puts(&cli->out, "\n]}\n");
    else if (format == CHECK_JUNIT)
        ox_strbuf_puts(&cli->out, "</testsuites>\n");
}
