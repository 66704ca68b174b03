/* Nodes with their costs, types and attributes as text. */
#include <string.h>

#include "common/number.h"
#include "graph/cost/cost.h"
#include "proto/onnx.pb-c.h"
#include "schema/param.h"
#include "schema/schema.h"

/* Text from a buffer that is used again, kept until the next entry; NULL: out of memory. */
static const char *keep(struct ox_costs *c, struct ox_strbuf *text)
{
    const char *copy = ox_arena_text(&c->scratch, text);
    ox_strbuf_clear(text);
    return copy;
}

static const struct ox_edge *edges(struct ox_costs *c, struct ox_value *const *values, size_t n,
                                   const struct ox_schema_param *params, size_t n_params,
                                   struct ox_strbuf *text)
{
    struct ox_edge *list = ox_arena_array(&c->scratch, n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++) {
        const struct ox_schema_param *param = ox_param_at(params, n_params, i);
        list[i].param = param ? param->name : NULL;
        if (!values[i])
            continue;
        const struct ox_type *type = ox_shapes_type(c->shapes, values[i]);
        if (type && type->kind != OX_TYPE_UNKNOWN)
            ox_type_print(text, type, true);
        else
            ox_strbuf_putc(text, '?');
        list[i].name = values[i]->name;
        list[i].type = keep(c, text);
        list[i].is_constant = ox_cost_init(values[i]) != NULL;
        if (!list[i].type)
            return NULL;
    }
    return list;
}

/* ---- Attributes ---------------------------------------------------------------------------------------------------- */

static void print_string(struct ox_strbuf *out, struct ox_str s)
{
    enum { MOST = 4096 };
    char copy[MOST + 1];
    size_t n = s.n < MOST ? s.n : MOST;
    for (size_t i = 0; i < n; i++)
        copy[i] = s.p[i] ? s.p[i] : '\1'; /* shown as an escape too */
    copy[n] = '\0';
    ox_strbuf_putc(out, '"');
    ox_strbuf_name(out, copy, 0);
    ox_strbuf_puts(out, n < s.n ? "\"..." : "\"");
}

static void print_stored(struct ox_strbuf *out, const struct ox_stored *stored)
{
    ox_strbuf_puts(out, ox_dtype_name(stored->dtype));
    ox_strbuf_putc(out, '[');
    for (unsigned i = 0; i < stored->rank; i++)
        ox_strbuf_printf(out, "%s%lld", i ? "," : "", (long long)stored->dims[i]);
    ox_strbuf_putc(out, ']');
}

static void print_graph(struct ox_strbuf *out, const struct ox_graph *graph)
{
    ox_strbuf_puts(out, "graph ");
    ox_strbuf_name(out, graph->name, 256);
    ox_strbuf_printf(out, " (%zu nodes)", graph->n_nodes);
}

static void print_element(struct ox_strbuf *out, const struct ox_attr *attr, size_t i)
{
    char text[OX_NUMBER_BYTES];
    switch (attr->type) {
    case OX_ATTR_FLOAT:
    case OX_ATTR_FLOATS:
        ox_strbuf_puts(
            out, ox_number_float(text, attr->type == OX_ATTR_FLOAT ? attr->f : attr->floats[i]));
        return;
    case OX_ATTR_INT:
    case OX_ATTR_INTS:
        ox_strbuf_printf(out, "%lld",
                         (long long)(attr->type == OX_ATTR_INT ? attr->i : attr->ints[i]));
        return;
    case OX_ATTR_STRING:
    case OX_ATTR_STRINGS:
        print_string(out, attr->type == OX_ATTR_STRING ? attr->s : attr->strings[i]);
        return;
    case OX_ATTR_TENSOR:
    case OX_ATTR_TENSORS:
        print_stored(out, &attr->tensor[i]);
        return;
    case OX_ATTR_GRAPH:
    case OX_ATTR_GRAPHS:
        print_graph(out, attr->graphs[i]);
        return;
    case OX_ATTR_SPARSE_TENSOR:
    case OX_ATTR_SPARSE_TENSORS:
        ox_strbuf_puts(out, "sparse ");
        if (attr->sparse[i].values)
            print_stored(out, attr->sparse[i].values);
        return;
    case OX_ATTR_TYPE_PROTO:
    case OX_ATTR_TYPE_PROTOS:
        ox_type_print(out, &attr->types[i], true);
        return;
    default:
        ox_strbuf_putc(out, '?');
    }
}

static bool is_list(enum ox_attr_type type)
{
    return (type >= OX_ATTR_FLOATS && type <= OX_ATTR_GRAPHS) || type == OX_ATTR_SPARSE_TENSORS ||
           type == OX_ATTR_TYPE_PROTOS;
}

static void print_attr(struct ox_strbuf *out, const struct ox_attr *attr, size_t most)
{
    if (attr->ref) {
        ox_strbuf_putc(out, '@');
        ox_strbuf_name(out, attr->ref, 256);
        return;
    }
    bool list = is_list(attr->type);
    ox_strbuf_puts(out, list ? "[" : "");
    for (size_t i = 0; i < attr->n && i < most; i++) {
        ox_strbuf_puts(out, i ? ", " : "");
        print_element(out, attr, i);
    }
    if (attr->n > most)
        ox_strbuf_printf(out, ", ... of %zu", attr->n);
    ox_strbuf_puts(out, list ? "]" : "");
}

static const struct ox_attr_entry *attributes(struct ox_costs *c, const struct ox_node *node,
                                              size_t most, struct ox_strbuf *text)
{
    struct ox_attr_entry *list = ox_arena_array(&c->scratch, node->n_attrs + 1, sizeof *list);
    for (size_t i = 0; list && i < node->n_attrs; i++) {
        const char *word = ox_attr_type_word(node->attrs[i].type);
        print_attr(text, &node->attrs[i], most);
        list[i] = (struct ox_attr_entry){node->attrs[i].name, word ? word : "?", keep(c, text)};
        if (!list[i].text)
            return NULL;
    }
    return list;
}

/* ---- The entry ----------------------------------------------------------------------------------------------------- */

static const struct ox_node *node_at(const struct ox_costs *c, size_t i)
{
    size_t low = 0, high = c->model->n_graphs;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (c->first[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return c->model->graphs[low]->nodes[i - c->first[low]];
}

bool ox_costs_node(struct ox_costs *c, size_t i, size_t most, struct ox_node_entry *entry)
{
    const struct ox_node *node = node_at(c, i);
    const struct ox_schema *schema;
    struct ox_strbuf text = {0};
    ox_arena_rewind(&c->scratch, c->scratch_start);
    *entry = (struct ox_node_entry){
        .place = node->index,
        .op_type = node->op_type,
        .domain = node->domain,
        .doc = node->proto && node->proto->doc_string ? node->proto->doc_string : "",
        .opset = ox_graph_opset(node->graph, node->domain),
        .n_inputs = node->n_inputs,
        .n_outputs = node->n_outputs,
        .n_attrs = most ? node->n_attrs : 0,
        .cost = *ox_costs_of(c, node)};
    schema =
        ox_schema_lookup_any(node->graph->model->env, node->domain, node->op_type, entry->opset);
    ox_graph_path(&text, node->graph);
    entry->graph = keep(c, &text);
    ox_node_label(&text, node);
    entry->label = keep(c, &text);
    entry->inputs = edges(c, node->inputs, node->n_inputs, schema ? schema->inputs : NULL,
                          schema ? schema->n_inputs : 0, &text);
    entry->outputs = edges(c, node->outputs, node->n_outputs, schema ? schema->outputs : NULL,
                           schema ? schema->n_outputs : 0, &text);
    entry->attrs = most ? attributes(c, node, most, &text) : NULL;
    ox_strbuf_release(&text);
    return entry->graph && entry->label && entry->inputs && entry->outputs &&
           (entry->attrs || !most);
}
