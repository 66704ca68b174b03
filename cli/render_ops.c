#include <limits.h>
#include <string.h>

#include "render_ops.h"

enum { NAME_COLUMN = 2, CHANGE_INDENT = 6 };

const char *ops_domain_name(const char *domain)
{
    return domain[0] ? domain : "ai.onnx";
}

static bool is_foreign(const struct ox_schema *row)
{
    return row == ox_schema_find_foreign(row->domain, row->name, row->since);
}

/* The release of the standard that the row came with; NULL. */
static const char *release_of(const struct ox_schema *row)
{
    return is_foreign(row) ? NULL : ox_schema_release_for_opset(row->domain, row->since);
}

static const struct ox_schema *previous(const struct ox_schema *row)
{
    return ox_schema_find(row->domain, row->name, row->since - 1);
}

static enum ox_status changes_between(struct cli *cli, const struct ox_schema *from,
                                      const struct ox_schema *to, struct ox_schema_changes **out)
{
    struct ox_error err;
    enum ox_status status = ox_schema_changes_new(out, from, to, &err);
    return status == OX_OK ? OX_OK : cli_error(cli, &err);
}

/* ---- Text ---- */

/* A line "  name   text", the text wrapped; text is cleared. */
static void put_item(struct ox_strbuf *out, const char *name, size_t name_width,
                     struct ox_strbuf *text)
{
    size_t indent = NAME_COLUMN + name_width + 2;
    ox_strbuf_printf(out, "%*s%-*s  ", NAME_COLUMN, "", (int)name_width, name);
    cli_wrap(out, ox_strbuf_text(text, out), text->len, indent, indent);
    ox_strbuf_clear(text);
}

static void widen(size_t *width, const char *name)
{
    size_t n = strlen(name);
    *width = n > *width ? n : *width;
}

static size_t name_width(const struct ox_schema *row)
{
    size_t width = 8;
    for (size_t i = 0; i < row->n_inputs; i++)
        widen(&width, row->inputs[i].name);
    for (size_t i = 0; i < row->n_outputs; i++)
        widen(&width, row->outputs[i].name);
    for (size_t i = 0; i < row->n_attrs; i++)
        widen(&width, row->attrs[i].name);
    for (size_t i = 0; i < row->n_constraints; i++)
        widen(&width, row->constraints[i].name);
    return width;
}

static void text_params(struct ox_strbuf *out, const char *title,
                        const struct ox_schema_param *params, size_t n, size_t width)
{
    struct ox_strbuf text = {0};
    if (n > 0)
        ox_strbuf_printf(out, "%s:\n", title);
    for (size_t i = 0; i < n; i++) {
        const struct ox_schema_param *p = &params[i];
        if (p->constraint >= 0)
            ox_strbuf_puts(&text, p->type);
        else
            ox_schema_types_text(&text, p->allowed, NULL);
        if (p->option == OX_PARAM_OPTIONAL)
            ox_strbuf_puts(&text, ", optional");
        if (p->option == OX_PARAM_VARIADIC)
            ox_strbuf_printf(&text, ", %u or more%s", p->min_arity,
                             p->homogeneous ? "" : ", each of its own type");
        put_item(out, p->name, width, &text);
    }
    ox_strbuf_release(&text);
}

static void text_attrs(struct ox_strbuf *out, const struct ox_schema *row, size_t width)
{
    struct ox_strbuf text = {0};
    if (row->n_attrs > 0)
        ox_strbuf_puts(out, "Attributes:\n");
    for (size_t i = 0; i < row->n_attrs; i++) {
        const struct ox_schema_attr *attr = &row->attrs[i];
        ox_strbuf_puts(&text, ox_schema_attr_type(attr));
        if (attr->required)
            ox_strbuf_puts(&text, ", required");
        if (attr->default_kind != OX_DEFAULT_NONE) {
            struct ox_json json;
            ox_strbuf_puts(&text, ", default ");
            ox_json_init(&json, &text, false);
            ox_schema_default_json(&json, attr);
        }
        put_item(out, attr->name, width, &text);
    }
    ox_strbuf_release(&text);
}

static void text_signature(struct ox_strbuf *out, const struct ox_schema *row)
{
    const char *release = release_of(row);
    ox_strbuf_printf(out, "%s of %s, since version %d", row->name, ops_domain_name(row->domain),
                     row->since);
    if (release)
        ox_strbuf_printf(out, " (ONNX %s)", release);
    if (row->until)
        ox_strbuf_printf(out, ", until version %d", row->until);
    ox_strbuf_putc(out, '\n');
    if (is_foreign(row))
        ox_strbuf_puts(out, "Not of the standard: onnxruntime's addition to the domain.\n");
    if (row->deprecated)
        ox_strbuf_puts(out, "Deprecated: no model of this version may use it.\n");
    if (row->non_deterministic)
        ox_strbuf_puts(out, "Not deterministic.\n");
    if (row->has_function)
        ox_strbuf_puts(out, "The standard defines it by other operators (a function).\n");
    size_t width = name_width(row);
    text_params(out, "Inputs", row->inputs, row->n_inputs, width);
    text_params(out, "Outputs", row->outputs, row->n_outputs, width);
    text_attrs(out, row, width);
    struct ox_strbuf text = {0};
    if (row->n_constraints > 0)
        ox_strbuf_puts(out, "Types:\n");
    for (size_t i = 0; i < row->n_constraints; i++) {
        ox_schema_types_text(&text, row->constraints[i].allowed, NULL);
        put_item(out, row->constraints[i].name, width, &text);
    }
    ox_strbuf_release(&text);
}

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

static void text_change(struct ox_strbuf *out, const struct ox_schema_change *c)
{
    struct ox_strbuf text = {0};
    char sign = c->property ? '~' : c->before ? '-' : '+';
    ox_strbuf_printf(&text, "%c %s%s%s: ", sign, ox_schema_part_name(c->part), c->name ? " " : "",
                     c->name ? c->name : "");
    if (!c->property) {
        ox_strbuf_puts(&text, c->before ? c->before : or_none(c->after));
    } else if (strcmp(c->property, "types") == 0) {
        if (c->after)
            ox_strbuf_printf(&text, "adds %s%s", c->after, c->before ? "; " : "");
        if (c->before)
            ox_strbuf_printf(&text, "drops %s", c->before);
    } else {
        ox_strbuf_printf(&text, "%s %s -> %s", c->property, or_none(c->before), or_none(c->after));
    }
    ox_strbuf_printf(out, "%*s", NAME_COLUMN, "");
    cli_wrap(out, ox_strbuf_text(&text, out), text.len, NAME_COLUMN, CHANGE_INDENT);
    ox_strbuf_release(&text);
}

static enum ox_status text_changes(struct cli *cli, const struct ox_schema *from,
                                   const struct ox_schema *to)
{
    struct ox_schema_changes *changes;
    enum ox_status status = changes_between(cli, from, to, &changes);
    if (status != OX_OK)
        return status;
    size_t n = ox_schema_changes_count(changes);
    if (n == 0)
        ox_strbuf_printf(&cli->out, "%*snothing in its signature\n", NAME_COLUMN, "");
    for (size_t i = 0; i < n; i++)
        text_change(&cli->out, ox_schema_changes_at(changes, i));
    ox_schema_changes_release(changes);
    return OX_OK;
}

static enum ox_status text_history(struct cli *cli, const struct ox_schema *row)
{
    enum ox_status status = OX_OK;
    const struct ox_schema *before;
    for (; status == OX_OK && (before = previous(row)) != NULL; row = before) {
        ox_strbuf_printf(&cli->out, "Changed in %d, from %d:\n", row->since, before->since);
        status = text_changes(cli, before, row);
    }
    return status;
}

static enum ox_status text_from(struct cli *cli, const struct ox_schema *row, int64_t from)
{
    const struct ox_schema *old = ox_schema_find(row->domain, row->name, from);
    const char *domain = ops_domain_name(row->domain);
    if (!old) {
        const struct ox_schema *first = row;
        while (previous(first))
            first = previous(first);
        ox_strbuf_printf(&cli->out, "%s of %s: new in %d", row->name, domain, first->since);
        if (first != row)
            ox_strbuf_printf(&cli->out, ", changed in %d%s", row->since,
                             row->deprecated ? " (deprecated)" : "");
        ox_strbuf_putc(&cli->out, '\n');
        return OX_OK;
    }
    if (old == row) {
        ox_strbuf_printf(&cli->out, "%s of %s: unchanged since %d\n", row->name, domain,
                         row->since);
        return OX_OK;
    }
    ox_strbuf_printf(&cli->out, "%s of %s: %d -> %d\n", row->name, domain, old->since, row->since);
    return text_changes(cli, old, row);
}

/* "2", "1-3", "1+" */
static void arity(char *text, size_t n, unsigned least, unsigned most)
{
    if (most == UINT_MAX)
        snprintf(text, n, "%u+", least);
    else if (least == most)
        snprintf(text, n, "%u", least);
    else
        snprintf(text, n, "%u-%u", least, most);
}

static void text_table(struct ox_strbuf *out, const struct ops_report *report)
{
    size_t width = strlen("OPERATOR");
    size_t domain_width = strlen("DOMAIN");
    for (size_t i = 0; i < report->n_rows; i++) {
        widen(&width, report->rows[i]->name);
        widen(&domain_width, ops_domain_name(report->rows[i]->domain));
    }
    ox_strbuf_printf(out, "%-*s  %-*s  SINCE  INPUTS  OUTPUTS  NOTES\n", (int)width, "OPERATOR",
                     (int)domain_width, "DOMAIN");
    for (size_t i = 0; i < report->n_rows; i++) {
        const struct ox_schema *row = report->rows[i];
        char inputs[24];
        char outputs[24];
        arity(inputs, sizeof inputs, row->min_inputs, row->max_inputs);
        arity(outputs, sizeof outputs, row->min_outputs, row->max_outputs);
        const char *note = row->deprecated ? "deprecated" : row->has_function ? "function" : "";
        ox_strbuf_printf(out, "%-*s  %-*s  %5d  %-6s  ", (int)width, row->name, (int)domain_width,
                         ops_domain_name(row->domain), row->since, inputs);
        if (*note)
            ox_strbuf_printf(out, "%-7s  %s\n", outputs, note);
        else
            ox_strbuf_printf(out, "%s\n", outputs);
    }
}

static enum ox_status render_text(struct cli *cli, const struct ops_report *report)
{
    enum ox_status status = OX_OK;
    if (!report->details && report->changes == OPS_CHANGES_NONE)
        text_table(&cli->out, report);
    for (size_t i = 0; status == OX_OK && i < report->n_rows; i++) {
        const struct ox_schema *row = report->rows[i];
        if (report->changes == OPS_CHANGES_FROM)
            status = text_from(cli, row, report->from);
        if (report->changes != OPS_CHANGES_HISTORY)
            continue;
        if (i > 0)
            ox_strbuf_putc(&cli->out, '\n');
        text_signature(&cli->out, row);
        status = text_history(cli, row);
    }
    return status;
}

/* ---- JSON ---- */

/* null for no limit */
static void json_most(struct ox_json *json, const char *key, unsigned value)
{
    ox_json_key(json, key);
    if (value == UINT_MAX)
        ox_json_null(json);
    else
        ox_json_uint(json, value);
}

static void json_type(struct ox_json *json, const char *type)
{
    struct ox_strbuf text = {0};
    ox_schema_type_text(&text, type);
    ox_json_string(json, text.data);
    json->out->failed |= text.failed;
    ox_strbuf_release(&text);
}

static void json_types(struct ox_json *json, uint16_t set)
{
    const char *const *types = NULL;
    size_t n = ox_type_set(set, &types);
    ox_json_key(json, "types");
    ox_json_array(json);
    for (size_t i = 0; i < n; i++)
        json_type(json, types[i]);
    ox_json_end_array(json);
}

static void json_params(struct ox_json *json, const char *key, const struct ox_schema_param *params,
                        size_t n)
{
    static const char *const options[] = {"required", "optional", "variadic"};
    ox_json_key(json, key);
    ox_json_array(json);
    for (size_t i = 0; i < n; i++) {
        const struct ox_schema_param *p = &params[i];
        ox_json_object(json);
        cli_json_string(json, "name", p->name);
        cli_json_string(json, "constraint", p->constraint >= 0 ? p->type : NULL);
        cli_json_string(json, "option", options[p->option]);
        if (p->option == OX_PARAM_VARIADIC) {
            cli_json_bool(json, "homogeneous", p->homogeneous);
            cli_json_int(json, "min_arity", p->min_arity);
        }
        json_types(json, p->allowed);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void json_attrs(struct ox_json *json, const struct ox_schema *row)
{
    ox_json_key(json, "attributes");
    ox_json_array(json);
    for (size_t i = 0; i < row->n_attrs; i++) {
        ox_json_object(json);
        cli_json_string(json, "name", row->attrs[i].name);
        cli_json_string(json, "type", ox_schema_attr_type(&row->attrs[i]));
        cli_json_bool(json, "required", row->attrs[i].required);
        ox_json_key(json, "default");
        ox_schema_default_json(json, &row->attrs[i]);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static void json_constraints(struct ox_json *json, const struct ox_schema *row)
{
    ox_json_key(json, "type_constraints");
    ox_json_array(json);
    for (size_t i = 0; i < row->n_constraints; i++) {
        ox_json_object(json);
        cli_json_string(json, "name", row->constraints[i].name);
        json_types(json, row->constraints[i].allowed);
        ox_json_end_object(json);
    }
    ox_json_end_array(json);
}

static enum ox_status json_changes(struct cli *cli, struct ox_json *json,
                                   const struct ox_schema *from, const struct ox_schema *to)
{
    struct ox_schema_changes *changes;
    enum ox_status status = changes_between(cli, from, to, &changes);
    if (status != OX_OK)
        return status;
    for (size_t i = 0; i < ox_schema_changes_count(changes); i++) {
        const struct ox_schema_change *c = ox_schema_changes_at(changes, i);
        ox_json_object(json);
        cli_json_int(json, "from", from->since);
        cli_json_int(json, "to", to->since);
        cli_json_string(json, "part", ox_schema_part_name(c->part));
        cli_json_string(json, "name", c->name);
        cli_json_string(json, "property", c->property);
        cli_json_string(json, "before", c->before);
        cli_json_string(json, "after", c->after);
        ox_json_end_object(json);
    }
    ox_schema_changes_release(changes);
    return OX_OK;
}

/* The versions up to the row's, oldest first. */
static void json_versions(struct ox_json *json, const struct ox_schema *row)
{
    ox_json_key(json, "versions");
    ox_json_array(json);
    for (int version = 1; version < row->since; version++) {
        if (ox_schema_at(row->domain, row->name, version))
            ox_json_int(json, version);
    }
    ox_json_int(json, row->since);
    ox_json_end_array(json);
}

static enum ox_status json_row_changes(struct cli *cli, struct ox_json *json,
                                       const struct ops_report *report, const struct ox_schema *row)
{
    enum ox_status status = OX_OK;
    const struct ox_schema *before;
    if (report->changes == OPS_CHANGES_NONE)
        return OX_OK;
    ox_json_key(json, "changes");
    ox_json_array(json);
    if (report->changes == OPS_CHANGES_FROM) {
        before = ox_schema_find(row->domain, row->name, report->from);
        if (before)
            status = json_changes(cli, json, before, row);
    } else {
        for (; status == OX_OK && (before = previous(row)) != NULL; row = before)
            status = json_changes(cli, json, before, row);
    }
    ox_json_end_array(json);
    return status;
}

static enum ox_status json_row(struct cli *cli, struct ox_json *json,
                               const struct ops_report *report, const struct ox_schema *row)
{
    ox_json_object(json);
    cli_json_string(json, "domain", ops_domain_name(row->domain));
    cli_json_string(json, "name", row->name);
    cli_json_int(json, "since", row->since);
    ox_json_key(json, "until");
    if (row->until)
        ox_json_int(json, row->until);
    else
        ox_json_null(json);
    cli_json_string(json, "release", release_of(row));
    json_versions(json, row);
    cli_json_bool(json, "standard",
                  row != ox_schema_find_foreign(row->domain, row->name, row->since) &&
                      strncmp(row->domain, "com.microsoft", 13) != 0);
    cli_json_bool(json, "deprecated", row->deprecated);
    cli_json_bool(json, "deterministic", !row->non_deterministic);
    cli_json_bool(json, "function", row->has_function);
    cli_json_int(json, "min_inputs", row->min_inputs);
    json_most(json, "max_inputs", row->max_inputs);
    cli_json_int(json, "min_outputs", row->min_outputs);
    json_most(json, "max_outputs", row->max_outputs);
    json_params(json, "inputs", row->inputs, row->n_inputs);
    json_params(json, "outputs", row->outputs, row->n_outputs);
    json_attrs(json, row);
    json_constraints(json, row);
    enum ox_status status = json_row_changes(cli, json, report, row);
    ox_json_end_object(json);
    return status;
}

static enum ox_status render_json(struct cli *cli, const struct ops_report *report)
{
    struct ox_json json;
    enum ox_status status = OX_OK;
    ox_json_init(&json, &cli->out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.ops/1");
    cli_json_string(&json, "onnx_version", OX_ONNX_VERSION);
    ox_json_key(&json, "operators");
    ox_json_array(&json);
    for (size_t i = 0; status == OX_OK && i < report->n_rows; i++)
        status = json_row(cli, &json, report, report->rows[i]);
    ox_json_end_array(&json);
    ox_json_end_object(&json);
    ox_strbuf_putc(&cli->out, '\n');
    return status;
}

enum ox_status render_ops(struct cli *cli, enum ops_format format, const struct ops_report *report)
{
    return format == OPS_JSON ? render_json(cli, report) : render_text(cli, report);
}
