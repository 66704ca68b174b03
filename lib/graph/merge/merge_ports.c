/* Outputs of the first model and the inputs of the second that they feed. */
#include <string.h>

#include "graph/merge/merger.h"

static const char *path_of(const struct ox_merger *m, size_t part)
{
    return m->parts[part].model->path;
}

/* ---- Ports by name ------------------------------------------------------------------------------------------------ */

struct ports {
    struct ox_value *const *values;
    size_t n;
};

static struct ports outputs_of(const struct ox_merger *m, size_t part)
{
    const struct ox_graph *graph = m->parts[part].model->graph;
    return (struct ports){graph->outputs, graph->n_outputs};
}

static struct ports inputs_of(const struct ox_merger *m, size_t part)
{
    const struct ox_graph *graph = m->parts[part].model->graph;
    return (struct ports){graph->inputs, graph->n_inputs};
}

/* Its place; `n` where it is not there. */
static size_t find_port(struct ports ports, const char *name)
{
    size_t i = 0;
    while (i < ports.n && strcmp(ports.values[i]->name, name) != 0)
        i++;
    return i;
}

static bool has_default(const struct ox_value *value)
{
    return value->init || value->sparse_init;
}

static void list_ports(struct ox_strbuf *out, struct ports ports)
{
    enum { MOST = 8 };
    size_t listed = 0, more = 0;
    for (size_t i = 0; i < ports.n; i++) {
        if (has_default(ports.values[i]) && ports.values[i]->is_input)
            continue;
        if (listed++ >= MOST) {
            more++;
            continue;
        }
        ox_strbuf_puts(out, listed > 1 ? ", '" : "'");
        ox_strbuf_name(out, ports.values[i]->name, 128);
        ox_strbuf_putc(out, '\'');
    }
    if (more)
        ox_strbuf_printf(out, " and %zu more", more);
    if (!listed)
        ox_strbuf_puts(out, "none");
}

static enum ox_status unknown_port(struct ox_merger *m, size_t part, const char *what,
                                   struct ports ports, const char *name)
{
    struct ox_strbuf list = {0};
    char shown[OX_SHOWN_BYTES];
    list_ports(&list, ports);
    ox_merge_problem(m, OX_USAGE, "%s: has no %s '%s' (it has %s)", path_of(m, part), what,
                     ox_shown(shown, name, strlen(name)), ox_strbuf_text(&list, NULL));
    enum ox_status status = list.failed ? ox_merge_no_room(m) : OX_OK;
    ox_strbuf_release(&list);
    return status;
}

/* ---- Types -------------------------------------------------------------------------------------------------------- */

static bool dims_fit(const struct ox_type *a, const struct ox_type *b)
{
    if (!a->has_rank || !b->has_rank)
        return true;
    for (unsigned i = 0; a->rank == b->rank && i < a->rank; i++) {
        int64_t x, y;
        if (a->dims[i] && b->dims[i] && ox_expr_is_int(a->dims[i], &x) &&
            ox_expr_is_int(b->dims[i], &y) && x != y)
            return false;
    }
    return a->rank == b->rank;
}

/* What is not declared fits all. */
static bool types_fit(const struct ox_type *a, const struct ox_type *b)
{
    for (; a && b && a->kind != OX_TYPE_UNKNOWN && b->kind != OX_TYPE_UNKNOWN;
         a = a->inner, b = b->inner) {
        if (a->kind != b->kind ||
            (a->elem != b->elem && a->elem != OX_UNDEFINED && b->elem != OX_UNDEFINED) ||
            !dims_fit(a, b))
            return false;
    }
    return true;
}

static enum ox_status check_types(struct ox_merger *m, const struct ox_value *from,
                                  const struct ox_value *to)
{
    struct ox_strbuf text = {0};
    if (types_fit(from->type, to->type))
        return OX_OK;
    ox_strbuf_printf(&text, "%s '", from->is_output ? "output" : "input");
    ox_strbuf_name(&text, from->name, 256);
    ox_strbuf_puts(&text, "' is ");
    ox_type_print(&text, from->type, true);
    ox_strbuf_puts(&text, ", input '");
    ox_strbuf_name(&text, to->name, 256);
    ox_strbuf_printf(&text, "' of %s is ", path_of(m, 1));
    ox_type_print(&text, to->type, true);
    ox_merge_problem(m, OX_NEGATIVE, "%s: %s", path_of(m, 0), ox_strbuf_text(&text, NULL));
    enum ox_status status = text.failed ? ox_merge_no_room(m) : OX_OK;
    ox_strbuf_release(&text);
    return status;
}

/* ---- Connecting --------------------------------------------------------------------------------------------------- */

static enum ox_status feed(struct ox_merger *m, const struct ox_value *from, size_t place)
{
    struct ox_value *to = inputs_of(m, 1).values[place];
    char shown[OX_SHOWN_BYTES];
    if (m->feeds[place].from) {
        ox_merge_problem(m, OX_USAGE, "%s: input '%s' is fed twice", path_of(m, 1),
                         ox_shown(shown, to->name, strlen(to->name)));
        return OX_OK;
    }
    m->feeds[place].from = from;
    return check_types(m, from, to);
}

static enum ox_status connect_pair(struct ox_merger *m, const struct ox_name_pair *pair)
{
    struct ports outputs = outputs_of(m, 0), inputs = inputs_of(m, 1);
    size_t out = find_port(outputs, pair->from), in = find_port(inputs, pair->to);
    if (out == outputs.n)
        OX_TRY(unknown_port(m, 0, "output", outputs, pair->from));
    if (in == inputs.n)
        OX_TRY(unknown_port(m, 1, "input", inputs, pair->to));
    if (out == outputs.n || in == inputs.n)
        return OX_OK;
    m->used[out] = true;
    m->report->n_connected++;
    return feed(m, outputs.values[out], in);
}

static enum ox_status share_input(struct ox_merger *m, const char *name)
{
    struct ports a = inputs_of(m, 0), b = inputs_of(m, 1);
    size_t in_a = find_port(a, name), in_b = find_port(b, name);
    if (in_a == a.n)
        OX_TRY(unknown_port(m, 0, "input", a, name));
    if (in_b == b.n)
        OX_TRY(unknown_port(m, 1, "input", b, name));
    if (in_a == a.n || in_b == b.n)
        return OX_OK;
    m->report->n_shared++;
    return feed(m, a.values[in_a], in_b);
}

/* Nobody said who feeds whom: those of one name, or the only two that there are. */
static enum ox_status connect_alike(struct ox_merger *m)
{
    struct ports outputs = outputs_of(m, 0), inputs = inputs_of(m, 1);
    size_t n_required = 0, required = 0;
    for (size_t i = 0; i < inputs.n; i++) {
        const char *name = inputs.values[i]->name;
        if (has_default(inputs.values[i]))
            continue;
        n_required += !m->feeds[i].from;
        required = m->feeds[i].from ? required : i;
        if (*name && !m->feeds[i].from && find_port(outputs, name) < outputs.n)
            OX_TRY(connect_pair(m, &(struct ox_name_pair){name, name}));
    }
    if (m->report->n_connected)
        return OX_OK;
    if (outputs.n == 1 && n_required == 1)
        return connect_pair(
            m, &(struct ox_name_pair){outputs.values[0]->name, inputs.values[required]->name});
    struct ox_strbuf a = {0}, b = {0};
    list_ports(&a, outputs);
    list_ports(&b, inputs);
    ox_merge_problem(m, OX_USAGE,
                     "%s: none of its outputs (%s) is called like an input of %s "
                     "(%s): --map OUT=IN, or --apart",
                     path_of(m, 0), ox_strbuf_text(&a, NULL), path_of(m, 1),
                     ox_strbuf_text(&b, NULL));
    enum ox_status status = a.failed || b.failed ? ox_merge_no_room(m) : OX_OK;
    ox_strbuf_release(&a);
    ox_strbuf_release(&b);
    return status;
}

enum ox_status ox_merge_connect(struct ox_merger *m)
{
    const struct ox_merge_options *with = m->options;
    for (size_t i = 0; i < with->n_shared; i++)
        OX_TRY(share_input(m, with->shared[i]));
    for (size_t i = 0; i < with->n_pairs; i++)
        OX_TRY(connect_pair(m, &with->pairs[i]));
    return with->n_pairs || with->apart ? OX_OK : connect_alike(m);
}
