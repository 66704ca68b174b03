/* dump -f tensors and --tensor: the constants of a model, or saved tensors. */
#include <string.h>

#include "dump.h"
#include "text_table.h"

enum { N_BINS = 10, BAR = 40 };

/* What is told of a tensor. */
struct shown {
    const struct ox_weight *weight;
    struct ox_weight_stats stats;
    uint64_t sparse_axes; /* 2:4, a bit each */
    uint64_t bins[N_BINS];
    bool has_bins;
    struct ox_tensor *tensor; /* NULL: no values */
};

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

static double zeros_percent(const struct ox_weight_stats *stats)
{
    return 100.0 * (double)stats->n_zeros / (double)stats->n;
}

/* "axis 1", "axes 0,1" */
static void axes_cell(struct table *table, uint64_t axes)
{
    struct ox_strbuf text = {0};
    ox_strbuf_puts(&text, !axes ? "" : axes & (axes - 1) ? "axes " : "axis ");
    for (unsigned d = 0, n = 0; d < 64; d++)
        if (axes >> d & 1)
            ox_strbuf_printf(&text, "%s%u", n++ ? "," : "", d);
    table_cell(table, ox_strbuf_text(&text, &table->text));
    ox_strbuf_release(&text);
}

static void stats_cells(struct table *table, const struct shown *shown)
{
    const struct ox_weight_stats *stats = &shown->stats;
    const double values[] = {stats->min, stats->max, stats->mean, stats->std};
    bool any = stats->numeric && stats->n > stats->n_nans + stats->n_infs;
    for (size_t i = 0; i < 4; i++) {
        if (any)
            table_printf(table, "%.6g", values[i]);
        else
            table_cell(table, "");
    }
    count_cell(table, stats->n_zeros);
    if (stats->n_zeros)
        table_printf(table, "%.1f %%", zeros_percent(stats));
    else
        table_cell(table, "");
    axes_cell(table, shown->sparse_axes);
    count_cell(table, stats->n_nans);
    count_cell(table, stats->n_infs);
}

static void heading(struct table *table)
{
    static const char *const names[] = {"tensor", "type",  "bytes", "min", "max", "mean",
                                        "std",    "zeros", "share", "2:4", "NaN", "Inf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        table_cell(table, names[i]);
}

static void add_row(struct table *table, const struct shown *shown)
{
    const struct ox_weight *weight = shown->weight;
    struct ox_strbuf text = {0};
    name_text(&text, weight);
    table_cell(table, ox_strbuf_text(&text, &table->text));
    ox_strbuf_clear(&text);
    type_text(&text, weight);
    table_cell(table, ox_strbuf_text(&text, &table->text));
    ox_strbuf_release(&text);
    table_printf(table, "%llu", (unsigned long long)weight->bytes);
    stats_cells(table, shown);
}

/* The members of the object that is open. */
static void shown_json(const struct dumped *d, struct ox_json *json, const struct shown *shown)
{
    const struct ox_weight *weight = shown->weight;
    const struct ox_weight_stats *stats = &shown->stats;
    if (d->model)
        cli_json_string(json, "graph", weight->graph);
    else if (*weight->graph)
        cli_json_string(json, "file", weight->graph);
    cli_json_string(json, "name", weight->name);
    if (d->model)
        cli_json_string(json, "node", weight->node);
    cli_json_string(json, "type", ox_dtype_name(weight->dtype));
    ox_json_key(json, "shape");
    ox_json_array(json);
    for (unsigned i = 0; i < weight->rank; i++)
        ox_json_int(json, weight->dims[i]);
    ox_json_end_array(json);
    cli_json_uint(json, "bytes", weight->bytes);
    if (d->model) {
        cli_json_string(json, "part", weight->part);
        cli_json_string(json, "location", weight->location);
    }
    if (stats->numeric) {
        cli_json_double(json, "min", stats->min);
        cli_json_double(json, "max", stats->max);
        cli_json_double(json, "mean", stats->mean);
        cli_json_double(json, "std", stats->std);
        cli_json_uint(json, "zeros", stats->n_zeros);
        cli_json_uint(json, "nans", stats->n_nans);
        cli_json_uint(json, "infs", stats->n_infs);
        ox_json_key(json, "sparse_2_4_axes");
        ox_json_array(json);
        for (unsigned axis = 0; axis < 64; axis++)
            if (shown->sparse_axes >> axis & 1)
                ox_json_uint(json, axis);
        ox_json_end_array(json);
    }
    if (shown->has_bins) {
        ox_json_key(json, "histogram");
        ox_json_array(json);
        for (size_t i = 0; i < N_BINS; i++)
            ox_json_uint(json, shown->bins[i]);
        ox_json_end_array(json);
    }
    if (shown->tensor) {
        ox_json_key(json, "data");
        ox_json_elements(json, shown->tensor);
    }
}

static void print_stats(struct ox_strbuf *out, const struct ox_weight_stats *stats)
{
    if (stats->numeric && stats->n > stats->n_nans + stats->n_infs)
        ox_strbuf_printf(out, "  min %.6g, max %.6g, mean %.6g, std %.6g, %llu zeros (%.1f %%)\n",
                         stats->min, stats->max, stats->mean, stats->std,
                         (unsigned long long)stats->n_zeros, zeros_percent(stats));
    if (stats->n_nans || stats->n_infs)
        ox_strbuf_printf(out, "  %llu NaN, %llu infinite\n", (unsigned long long)stats->n_nans,
                         (unsigned long long)stats->n_infs);
}

/* A line a bin, the longest bar of BAR signs. */
static void print_histogram(struct ox_strbuf *out, const struct shown *shown)
{
    const double low = shown->stats.min, width = (shown->stats.max - low) / N_BINS;
    uint64_t most = 1;
    struct table table = {.columns = 4, .right = 0xb};
    for (size_t i = 0; i < N_BINS; i++)
        most = shown->bins[i] > most ? shown->bins[i] : most;
    for (size_t i = 0; i < N_BINS; i++) {
        const double share = (double)shown->bins[i] / (double)most;
        const int signs = (int)(share * BAR + (shown->bins[i] ? 0.999 : 0));
        table_printf(&table, "    %.4g", low + width * (double)i);
        table_printf(&table, "%.4g",
                     i + 1 < N_BINS ? low + width * (double)(i + 1) : shown->stats.max);
        table_printf(&table, "%.*s", signs < BAR ? signs : BAR,
                     "########################################");
        table_printf(&table, "%llu", (unsigned long long)shown->bins[i]);
    }
    table_print(&table, out);
    table_release(&table);
}

static enum ox_status print_shown(struct dumped *d, const struct shown *shown)
{
    struct ox_error err;
    struct ox_datum *datum = NULL;
    struct ox_strbuf *out = &d->cli->out;
    if (shown->tensor && ox_datum_of_tensor(&datum, shown->tensor, &err) != OX_OK)
        return cli_error(d->cli, &err);
    name_text(out, shown->weight);
    ox_strbuf_putc(out, ' ');
    type_text(out, shown->weight);
    ox_strbuf_putc(out, '\n');
    print_stats(out, &shown->stats);
    if (shown->has_bins)
        print_histogram(out, shown);
    if (datum) {
        ox_datum_print(out, datum);
        ox_strbuf_putc(out, '\n');
    }
    ox_datum_release(datum);
    return OX_OK;
}

/* *shown must be released, whatever is returned. */
static enum ox_status look_at(struct dumped *d, const struct ox_weight_list *list, size_t i,
                              bool values, struct shown *shown)
{
    struct ox_error err;
    const bool bins = d->args->histogram;
    *shown = (struct shown){.weight = ox_weight_list_at(list, i)};
    enum ox_status status = ox_weight_list_stats(&shown->stats, list, i, bins ? shown->bins : NULL,
                                                 bins ? N_BINS : 0, &err);
    const struct ox_weight_stats *stats = &shown->stats;
    shown->has_bins = bins && stats->numeric && stats->n > stats->n_nans + stats->n_infs;
    if (status == OX_OK)
        status = ox_weight_list_sparse_axes(&shown->sparse_axes, list, i, stats, &err);
    if (status == OX_OK && values)
        status = ox_weight_list_load(&shown->tensor, list, i, &err);
    return status == OX_OK ? OX_OK : cli_error(d->cli, &err);
}

/* One in the form that is asked for. */
static enum ox_status show_one(struct dumped *d, struct table *table, struct ox_json *json,
                               const struct shown *shown)
{
    if (d->args->json) {
        ox_json_object(json);
        shown_json(d, json, shown);
        ox_json_end_object(json);
    } else if (d->args->values || d->args->histogram) {
        enum ox_status status = print_shown(d, shown);
        if (status != OX_OK)
            return status;
    } else {
        add_row(table, shown);
        return OX_OK;
    }
    return dump_flush_some(d);
}

/* What a tensor cannot be read for is said, and the others follow. */
static enum ox_status rows(struct dumped *d, const struct ox_weight_list *list, struct table *table,
                           struct ox_json *json)
{
    enum ox_status worst = OX_OK;
    for (size_t i = 0; i < ox_weight_list_count(list); i++) {
        struct shown shown;
        if (!dump_wants(d, ox_weight_list_at(list, i)->graph))
            continue;
        enum ox_status status = OX_OK;
        if (d->args->weights == OX_WEIGHTS_NONE)
            shown = (struct shown){.weight = ox_weight_list_at(list, i)};
        else
            status = look_at(d, list, i, d->args->values, &shown);
        worst = cli_worse(worst, status);
        const bool over = status == OX_CANCELLED || status == OX_NO_MEMORY;
        status = over ? status : show_one(d, table, json, &shown);
        ox_tensor_release(shown.tensor);
        if (status != OX_OK)
            return status;
    }
    return worst;
}

/* The constants of the model, to be given back by close_list(). Has reported errors. */
static enum ox_status open_list(struct dumped *d, struct ox_weight_list **list)
{
    struct ox_error err;
    *list = d->saved;
    if (d->saved || ox_weight_list_new(list, d->model, &err) == OX_OK)
        return OX_OK;
    return cli_error(d->cli, &err);
}

static void close_list(struct dumped *d, struct ox_weight_list *list)
{
    if (list != d->saved)
        ox_weight_list_release(list);
}

static void begin_json(struct dumped *d, struct ox_json *json)
{
    ox_json_init(json, &d->cli->out, !d->cli->several);
    ox_json_object(json);
    cli_json_string(json, "schema", "onnxtool.dump/1");
    cli_json_string(json, d->model ? "model" : "data", d->path);
}

enum ox_status dump_tensors(struct dumped *d)
{
    struct ox_weight_list *list;
    struct ox_json json;
    struct table table = {.columns = 12, .right = 0xdfc};
    enum ox_status status = open_list(d, &list);
    if (status != OX_OK)
        return status;
    if (d->args->json) {
        begin_json(d, &json);
        ox_json_key(&json, "tensors");
        ox_json_array(&json);
    } else {
        if (d->saved && d->cli->several) {
            ox_strbuf_name(&d->cli->out, d->path, 0);
            ox_strbuf_putc(&d->cli->out, '\n');
        }
        if (!d->args->values && !d->args->histogram)
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
    close_list(d, list);
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
    return found ? OX_OK
                 : cli_fail(d->cli, OX_USAGE, "%s: there is no %s '%s'; -f tensors lists them",
                            d->path, d->model ? "constant" : "tensor", d->args->tensor);
}

static enum ox_status print_tensor(struct dumped *d, const struct shown *shown)
{
    struct ox_json json;
    if (!d->args->json)
        return print_shown(d, shown);
    begin_json(d, &json);
    shown_json(d, &json, shown);
    ox_json_end_object(&json);
    ox_strbuf_putc(&d->cli->out, '\n');
    return OX_OK;
}

enum ox_status dump_tensor(struct dumped *d)
{
    struct ox_weight_list *list;
    struct shown shown = {0};
    struct ox_error err;
    size_t at = 0;
    enum ox_status status = open_list(d, &list);
    if (status != OX_OK)
        return status;
    status = find(d, list, &at);
    if (status == OX_OK)
        status =
            look_at(d, list, at, d->args->output || d->args->weights != OX_WEIGHTS_NONE, &shown);
    if (status == OX_OK && !d->args->output)
        status = print_tensor(d, &shown);
    else if (status == OX_OK &&
             ox_tensors_write(d->args->output, 1, &(const char *){d->args->tensor},
                              &(const struct ox_tensor *){shown.tensor}, &err) != OX_OK)
        status = cli_error(d->cli, &err);
    ox_tensor_release(shown.tensor);
    close_list(d, list);
    return status;
}
