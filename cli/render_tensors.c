/* dump -f tensors and --tensor: the constants of a model. */
#include <string.h>

#include "dump.h"
#include "text_table.h"

/* ---- All of them -------------------------------------------------------------------------------------------------- */

static void type_text(struct ox_strbuf *text, const struct ox_weight *weight)
{
    ox_strbuf_printf(text, "%s[", ox_dtype_name(weight->dtype));
    for (unsigned i = 0; i < weight->rank; i++)
        ox_strbuf_printf(text, "%s%lld", i ? "," : "", (long long)weight->dims[i]);
    ox_strbuf_putc(text, ']');
    if (weight->part)
        ox_strbuf_printf(text, " sparse %s", weight->part);
}

static void name_text(struct ox_strbuf *text, const struct ox_weight *weight)
{
    if (*weight->graph) {
        ox_strbuf_name(text, weight->graph, 256);
        ox_strbuf_puts(text, ": ");
    }
    ox_strbuf_name(text, weight->name, 256);
}

static void count_cell(struct table *table, uint64_t n)
{
    if (n)
        table_printf(table, "%llu", (unsigned long long)n);
    else
        table_cell(table, "");
}

static void stats_cells(struct table *table, const struct ox_weight_stats *stats)
{
    const double values[] = {stats->min, stats->max, stats->mean, stats->std};
    bool any = stats->numeric && stats->n > stats->n_nans + stats->n_infs;
    for (size_t i = 0; i < 4; i++) {
        if (any)
            table_printf(table, "%.6g", values[i]);
        else
            table_cell(table, "");
    }
    count_cell(table, stats->n_zeros);
    count_cell(table, stats->n_nans);
    count_cell(table, stats->n_infs);
}

static void heading(struct table *table)
{
    static const char *const names[] = {"tensor", "type", "bytes", "min", "max",
                                        "mean",   "std",  "zeros", "NaN", "Inf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        table_cell(table, names[i]);
}

static void add_row(struct table *table, const struct ox_weight *weight,
                    const struct ox_weight_stats *stats)
{
    struct ox_strbuf text = {0};
    name_text(&text, weight);
    table_cell(table, ox_strbuf_text(&text, &table->text));
    ox_strbuf_clear(&text);
    type_text(&text, weight);
    table_cell(table, ox_strbuf_text(&text, &table->text));
    ox_strbuf_release(&text);
    table_printf(table, "%llu", (unsigned long long)weight->bytes);
    stats_cells(table, stats);
}

static void weight_json(struct ox_json *json, const struct ox_weight *weight,
                        const struct ox_weight_stats *stats)
{
    cli_json_string(json, "graph", weight->graph);
    cli_json_string(json, "name", weight->name);
    cli_json_string(json, "node", weight->node);
    cli_json_string(json, "type", ox_dtype_name(weight->dtype));
    ox_json_key(json, "shape");
    ox_json_array(json);
    for (unsigned i = 0; i < weight->rank; i++)
        ox_json_int(json, weight->dims[i]);
    ox_json_end_array(json);
    cli_json_uint(json, "bytes", weight->bytes);
    cli_json_string(json, "part", weight->part);
    cli_json_string(json, "location", weight->location);
    if (!stats->numeric)
        return;
    cli_json_double(json, "min", stats->min);
    cli_json_double(json, "max", stats->max);
    cli_json_double(json, "mean", stats->mean);
    cli_json_double(json, "std", stats->std);
    cli_json_uint(json, "zeros", stats->n_zeros);
    cli_json_uint(json, "nans", stats->n_nans);
    cli_json_uint(json, "infs", stats->n_infs);
}

/* What a tensor cannot be read for is said, and the others follow. */
static enum ox_status rows(struct dumped *d, const struct ox_weight_list *list, struct table *table,
                           struct ox_json *json)
{
    enum ox_status worst = OX_OK;
    for (size_t i = 0; i < ox_weight_list_count(list); i++) {
        const struct ox_weight *weight = ox_weight_list_at(list, i);
        struct ox_weight_stats stats = {0};
        struct ox_error err;
        if (!dump_wants(d, weight->graph))
            continue;
        enum ox_status status = d->args->weights == OX_WEIGHTS_NONE
                                    ? OX_OK
                                    : ox_weight_list_stats(&stats, list, i, NULL, 0, &err);
        if (status != OX_OK)
            worst = cli_worse(worst, cli_error(d->cli, &err));
        if (status == OX_CANCELLED || status == OX_NO_MEMORY)
            return worst;
        if (!d->args->json) {
            add_row(table, weight, &stats);
            continue;
        }
        ox_json_object(json);
        weight_json(json, weight, &stats);
        ox_json_end_object(json);
        status = dump_flush_some(d);
        if (status != OX_OK)
            return status;
    }
    return worst;
}

enum ox_status dump_tensors(struct dumped *d)
{
    struct ox_weight_list *list;
    struct ox_error err;
    struct ox_json json;
    struct table table = {.columns = 10, .right = 0x3fc};
    enum ox_status status = ox_weight_list_new(&list, d->model, &err);
    if (status != OX_OK)
        return cli_error(d->cli, &err);
    if (d->args->json) {
        ox_json_init(&json, &d->cli->out, !d->cli->several);
        ox_json_object(&json);
        cli_json_string(&json, "schema", "onnxtool.dump/1");
        cli_json_string(&json, "model", d->path);
        ox_json_key(&json, "tensors");
        ox_json_array(&json);
    } else {
        heading(&table);
    }
    status = rows(d, list, &table, &json);
    if (d->args->json) {
        ox_json_end_array(&json);
        ox_json_end_object(&json);
        ox_strbuf_putc(&d->cli->out, '\n');
    }
    table_print(&table, &d->cli->out);
    table_release(&table);
    ox_weight_list_release(list);
    return status;
}

/* ---- One of them -------------------------------------------------------------------------------------------------- */

static enum ox_status find(struct dumped *d, const struct ox_weight_list *list, size_t *at)
{
    size_t found = 0;
    for (size_t i = 0; i < ox_weight_list_count(list); i++) {
        const struct ox_weight *weight = ox_weight_list_at(list, i);
        if (!dump_wants(d, weight->graph) || strcmp(weight->name, d->args->tensor) != 0)
            continue;
        if (!found++)
            *at = i;
    }
    if (found > 1 && !d->args->graph)
        cli_warn(d->cli, "%s: %zu tensors are called '%s'; this is the first, --graph chooses",
                 d->path, found, d->args->tensor);
    return found
               ? OX_OK
               : cli_fail(d->cli, OX_USAGE, "%s: there is no constant '%s'; -f tensors lists them",
                          d->path, d->args->tensor);
}

static void print_stats(struct ox_strbuf *out, const struct ox_weight_stats *stats)
{
    if (stats->numeric && stats->n > stats->n_nans + stats->n_infs)
        ox_strbuf_printf(out, "  min %.6g, max %.6g, mean %.6g, std %.6g, %llu zeros\n", stats->min,
                         stats->max, stats->mean, stats->std, (unsigned long long)stats->n_zeros);
    if (stats->n_nans || stats->n_infs)
        ox_strbuf_printf(out, "  %llu NaN, %llu infinite\n", (unsigned long long)stats->n_nans,
                         (unsigned long long)stats->n_infs);
}

static enum ox_status print_tensor(struct dumped *d, const struct ox_weight *weight,
                                   const struct ox_weight_stats *stats,
                                   const struct ox_tensor *tensor)
{
    struct ox_error err;
    struct ox_datum *datum;
    struct ox_strbuf *out = &d->cli->out;
    enum ox_status status = ox_datum_of_tensor(&datum, tensor, &err);
    if (status != OX_OK)
        return cli_error(d->cli, &err);
    if (d->args->json) {
        struct ox_json json;
        ox_json_init(&json, out, !d->cli->several);
        ox_json_object(&json);
        cli_json_string(&json, "schema", "onnxtool.dump/1");
        cli_json_string(&json, "model", d->path);
        weight_json(&json, weight, stats);
        if (d->args->weights != OX_WEIGHTS_NONE) {
            ox_json_key(&json, "data");
            ox_json_elements(&json, tensor);
        }
        ox_json_end_object(&json);
    } else {
        name_text(out, weight);
        ox_strbuf_putc(out, ' ');
        type_text(out, weight);
        ox_strbuf_putc(out, '\n');
        print_stats(out, stats);
        if (d->args->weights != OX_WEIGHTS_NONE)
            ox_datum_print(out, datum);
    }
    if (out->len && out->data[out->len - 1] != '\n')
        ox_strbuf_putc(out, '\n');
    ox_datum_release(datum);
    return OX_OK;
}

enum ox_status dump_tensor(struct dumped *d)
{
    struct ox_weight_list *list;
    struct ox_tensor *tensor = NULL;
    struct ox_weight_stats stats;
    struct ox_error err;
    size_t at = 0;
    enum ox_status status = ox_weight_list_new(&list, d->model, &err);
    if (status != OX_OK)
        return cli_error(d->cli, &err);
    status = find(d, list, &at);
    if (status != OX_OK)
        goto cleanup;
    status = ox_weight_list_load(&tensor, list, at, &err);
    if (status == OX_OK)
        status = ox_weight_list_stats(&stats, list, at, NULL, 0, &err);
    if (status == OX_OK && d->args->output)
        status = ox_tensors_write(d->args->output, 1, &(const char *){d->args->tensor},
                                  &(const struct ox_tensor *){tensor}, &err);
    if (status != OX_OK)
        cli_error(d->cli, &err);
    else if (!d->args->output)
        status = print_tensor(d, ox_weight_list_at(list, at), &stats, tensor);
cleanup:
    ox_tensor_release(tensor);
    ox_weight_list_release(list);
    return status;
}
