/* Two graphs: what is in one alone, and what is in both and differs. */
#include <stdlib.h>
#include <string.h>

#include "graph/diff/diff.h"
#include "proto/onnx.pb-c.h"

enum { MOST_DEPTH = 128 };

/* ---- Types -------------------------------------------------------------------------------------------------------- */

/* Where names do not count, open dimensions are all alike. */
static bool same_type(const struct ox_type *a, const struct ox_type *b, bool ignore_names)
{
    for (; a && b; a = a->inner, b = b->inner) {
        if (a->kind != b->kind || a->elem != b->elem || a->has_rank != b->has_rank ||
            (a->has_rank && a->rank != b->rank))
            return false;
        for (unsigned i = 0; a->has_rank && i < a->rank; i++) {
            int64_t x = -1, y = -1;
            bool number_a = ox_expr_is_int(a->dims[i], &x),
                 number_b = ox_expr_is_int(b->dims[i], &y);
            if (number_a != number_b || x != y)
                return false;
            if (number_a || ignore_names)
                continue;
            struct ox_strbuf p, q;
            ox_strbuf_init(&p);
            ox_strbuf_init(&q);
            if (a->dims[i])
                ox_expr_print(&p, a->dims[i]);
            if (b->dims[i])
                ox_expr_print(&q, b->dims[i]);
            bool same = p.len == q.len && (!p.len || memcmp(p.data, q.data, p.len) == 0);
            ox_strbuf_release(&p);
            ox_strbuf_release(&q);
            if (!same)
                return false;
        }
    }
    return !a && !b;
}

static enum ox_status diff_types(struct ox_differ *d, enum ox_diff_kind kind,
                                 const struct ox_graph *graph, const char *subject,
                                 const struct ox_type *a, const struct ox_type *b)
{
    struct ox_strbuf x, y;
    if (same_type(a, b, d->options.ignore[OX_DIFF_NAME]))
        return OX_OK;
    ox_strbuf_init(&x);
    ox_strbuf_init(&y);
    if (a)
        ox_type_print(&x, a, true);
    if (b)
        ox_type_print(&y, b, true);
    enum ox_status status = x.failed || y.failed
                                ? ox_diff_no_memory(d)
                                : ox_diff_add(d, kind, graph, subject, "type", x.data, y.data);
    ox_strbuf_release(&x);
    ox_strbuf_release(&y);
    return status;
}

/* ---- Ports -------------------------------------------------------------------------------------------------------- */

static char *quoted(struct ox_differ *d, const char *what, const char *name)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, what);
    ox_strbuf_puts(&text, " '");
    ox_strbuf_name(&text, name, 256);
    ox_strbuf_putc(&text, '\'');
    char *copy = ox_arena_text(&d->diff->arena, &text);
    ox_strbuf_release(&text);
    return copy;
}

static enum ox_status port_alone(struct ox_differ *d, const struct ox_graph *graph,
                                 const char *what, const struct ox_value *value, bool removed)
{
    struct ox_strbuf type;
    char *subject = quoted(d, what, value->name);
    ox_strbuf_init(&type);
    if (value->type)
        ox_type_print(&type, value->type, true);
    const char *text = type.data ? type.data : "?";
    enum ox_status status = !subject || type.failed
                                ? ox_diff_no_memory(d)
                                : ox_diff_add(d, OX_DIFF_PORT, graph, subject, NULL,
                                              removed ? text : NULL, removed ? NULL : text);
    ox_strbuf_release(&type);
    return status;
}

static const char *info_doc(const struct ox_value *value)
{
    return value->info && value->info->doc_string ? value->info->doc_string : "";
}

static enum ox_status diff_port(struct ox_differ *d, struct ox_diff_pair *p, const char *what,
                                const struct ox_value *a, const struct ox_value *b)
{
    char *subject = quoted(d, what, a->name);
    if (!subject)
        return ox_diff_no_memory(d);
    if (strcmp(a->name, b->name) != 0)
        OX_TRY(ox_diff_add(d, OX_DIFF_NAME, p->a, subject, "name", a->name, b->name));
    if (strcmp(info_doc(a), info_doc(b)) != 0)
        OX_TRY(ox_diff_add(d, OX_DIFF_DOC, p->a, subject, "doc_string", info_doc(a), info_doc(b)));
    if (!a->init != !b->init && a->is_input && b->is_input)
        OX_TRY(ox_diff_add(d, OX_DIFF_PORT, p->a, subject, "default", a->init ? "given" : NULL,
                           b->init ? "given" : NULL));
    else if (a->init && b->init)
        OX_TRY(ox_diff_tensors(d, p->a, subject, "default", a->init, b->init));
    return diff_types(d, OX_DIFF_PORT, p->a, subject, a->type, b->type);
}

static bool has_port(struct ox_value *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i]->name, name) == 0)
            return true;
    }
    return false;
}

/* Ports of the same names in another order: what a caller by position notices. */
static enum ox_status diff_order(struct ox_differ *d, const struct ox_graph *graph,
                                 const char *what, struct ox_value *const *a,
                                 struct ox_value *const *b, size_t n)
{
    struct ox_strbuf text[2];
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same &= strcmp(a[i]->name, b[i]->name) == 0;
    if (same)
        return OX_OK;
    for (int k = 0; k < 2; k++) {
        ox_strbuf_init(&text[k]);
        for (size_t i = 0; i < n; i++) {
            ox_strbuf_puts(&text[k], i ? ", " : "");
            ox_strbuf_name(&text[k], k ? b[i]->name : a[i]->name, 256);
        }
    }
    enum ox_status status =
        text[0].failed || text[1].failed
            ? ox_diff_no_memory(d)
            : ox_diff_add(d, OX_DIFF_PORT, graph, what, "order", text[0].data, text[1].data);
    ox_strbuf_release(&text[0]);
    ox_strbuf_release(&text[1]);
    return status;
}

/* Whether both have the same names, in whatever order. */
static bool same_names(struct ox_value *const *a, size_t n_a, struct ox_value *const *b, size_t n_b)
{
    bool same = n_a == n_b;
    for (size_t i = 0; i < n_a && same; i++)
        same = has_port(b, n_b, a[i]->name);
    return same;
}

static enum ox_status diff_inputs(struct ox_differ *d, struct ox_diff_pair *p)
{
    const struct ox_graph *x = p->a, *y = p->b;
    if (!d->options.ignore[OX_DIFF_NAME] &&
        same_names(x->inputs, x->n_inputs, y->inputs, y->n_inputs))
        OX_TRY(diff_order(d, x, "inputs", x->inputs, y->inputs, x->n_inputs));
    for (size_t i = 0; i < p->a->n_inputs; i++) {
        const struct ox_value *a = p->a->inputs[i];
        uint32_t other = p->values_ab[a->id];
        if (other == OX_DIFF_NONE || !p->b->values[other]->is_input)
            OX_TRY(port_alone(d, p->a, "input", a, true));
        else
            OX_TRY(diff_port(d, p, "input", a, p->b->values[other]));
    }
    for (size_t i = 0; i < p->b->n_inputs; i++) {
        uint32_t other = p->values_ba[p->b->inputs[i]->id];
        if (other == OX_DIFF_NONE || !p->a->values[other]->is_input)
            OX_TRY(port_alone(d, p->b, "input", p->b->inputs[i], false));
    }
    return OX_OK;
}

/* Outputs are positions: each is held against the one of its name, or of its place. */
static enum ox_status diff_outputs(struct ox_differ *d, struct ox_diff_pair *p)
{
    const struct ox_graph *a = p->a, *b = p->b;
    bool reordered = same_names(a->outputs, a->n_outputs, b->outputs, b->n_outputs);
    bool by_place = d->options.ignore[OX_DIFF_NAME] || (a->n_outputs == b->n_outputs && !reordered);
    if (reordered && !by_place)
        OX_TRY(diff_order(d, a, "outputs", a->outputs, b->outputs, a->n_outputs));
    for (size_t i = 0; i < a->n_outputs; i++) {
        const struct ox_value *x = a->outputs[i], *y = NULL;
        if (by_place && i < b->n_outputs)
            y = b->outputs[i];
        for (size_t k = 0; k < b->n_outputs && !by_place; k++)
            y = strcmp(b->outputs[k]->name, x->name) == 0 ? b->outputs[k] : y;
        if (!y) {
            OX_TRY(port_alone(d, a, "output", x, true));
            continue;
        }
        OX_TRY(diff_port(d, p, "output", x, y));
        if (ox_diff_same_value(p, x, y))
            continue;
        char *subject = quoted(d, "output", x->name);
        struct ox_strbuf from, to;
        ox_strbuf_init(&from);
        ox_strbuf_init(&to);
        if (x->producer)
            ox_diff_node_text(&from, x->producer);
        if (y->producer)
            ox_diff_node_text(&to, y->producer);
        enum ox_status status =
            ox_diff_add(d, OX_DIFF_PORT, a, subject ? subject : "output", "source",
                        from.data ? from.data : x->name, to.data ? to.data : y->name);
        ox_strbuf_release(&from);
        ox_strbuf_release(&to);
        OX_TRY(status);
    }
    for (size_t k = 0; k < b->n_outputs; k++) {
        bool there =
            by_place ? k < a->n_outputs : has_port(a->outputs, a->n_outputs, b->outputs[k]->name);
        if (!there)
            OX_TRY(port_alone(d, b, "output", b->outputs[k], false));
    }
    return OX_OK;
}

/* ---- Values and weights ------------------------------------------------------------------------------------------- */

static enum ox_status diff_value_types(struct ox_differ *d, struct ox_diff_pair *p)
{
    for (size_t i = 0; i < p->a->n_values; i++) {
        const struct ox_value *a = p->a->values[i];
        if (p->values_ab[i] == OX_DIFF_NONE || a->is_input || a->is_output)
            continue;
        const struct ox_value *b = p->b->values[p->values_ab[i]];
        if (b->is_input || b->is_output || (!a->type && !b->type) || !a->init != !b->init)
            continue;
        char *subject = quoted(d, "value", a->name);
        if (!subject)
            return ox_diff_no_memory(d);
        OX_TRY(diff_types(d, OX_DIFF_TYPE, p->a, subject, a->type, b->type));
    }
    return OX_OK;
}

static enum ox_status weight_alone(struct ox_differ *d, const struct ox_graph *graph,
                                   const struct ox_stored *stored, bool removed)
{
    struct ox_strbuf type;
    char *subject = quoted(d, "weight", stored->name);
    ox_strbuf_init(&type);
    ox_diff_tensor_type(&type, stored);
    enum ox_status status = !subject || type.failed ? ox_diff_no_memory(d)
                                                    : ox_diff_add(d, OX_DIFF_WEIGHT, graph, subject,
                                                                  NULL, removed ? type.data : NULL,
                                                                  removed ? NULL : type.data);
    ox_strbuf_release(&type);
    return status;
}

/* An initializer in one graph, a Constant in the other. */
static enum ox_status diff_kept(struct ox_differ *d, const struct ox_graph *graph,
                                const struct ox_value *a, const struct ox_value *b)
{
    char *subject = quoted(d, "weight", a->name);
    struct ox_strbuf maker;
    ox_strbuf_init(&maker);
    ox_diff_node_text(&maker, a->init ? b->producer : a->producer);
    enum ox_status status = !subject || maker.failed
                                ? ox_diff_no_memory(d)
                                : ox_diff_add(d, OX_DIFF_NODE, graph, subject, "kept as",
                                              a->init ? "initializer" : maker.data,
                                              a->init ? maker.data : "initializer");
    ox_strbuf_release(&maker);
    if (status == OX_OK && strcmp(a->name, b->name) != 0)
        status = ox_diff_add(d, OX_DIFF_NAME, graph, subject, "name", a->name, b->name);
    return status == OX_OK
               ? ox_diff_tensors(d, graph, subject, NULL, ox_diff_stored(a), ox_diff_stored(b))
               : status;
}

/* Those that nodes have in the same place were held against each other there; what is left is in one graph alone, kept in
 * another way, or used by nobody. */
static enum ox_status diff_weights(struct ox_differ *d, struct ox_diff_pair *p)
{
    for (size_t i = 0; i < p->a->n_inits; i++) {
        const struct ox_value *a = ox_graph_value(p->a, p->a->inits[i]->name);
        uint32_t other = a ? p->values_ab[a->id] : OX_DIFF_NONE;
        const struct ox_value *b = other == OX_DIFF_NONE ? NULL : p->b->values[other];
        if (!a || a->init != p->a->inits[i] || a->is_input)
            continue;
        if (!b)
            OX_TRY(weight_alone(d, p->a, a->init, true));
        else if (b->init)
            OX_TRY(ox_diff_inits(d, p->a, a, b));
        else
            OX_TRY(diff_kept(d, p->a, a, b));
    }
    for (size_t i = 0; i < p->b->n_inits; i++) {
        const struct ox_value *b = ox_graph_value(p->b, p->b->inits[i]->name);
        uint32_t other = b ? p->values_ba[b->id] : OX_DIFF_NONE;
        const struct ox_value *a = other == OX_DIFF_NONE ? NULL : p->a->values[other];
        if (!b || b->init != p->b->inits[i] || b->is_input)
            continue;
        if (!a)
            OX_TRY(weight_alone(d, p->b, b->init, false));
        else if (!a->init)
            OX_TRY(diff_kept(d, p->a, a, b));
    }
    return OX_OK;
}

/* What the sparse tensor stands for, without its elements. */
static struct ox_stored whole(const struct ox_stored_sparse *sparse)
{
    return (struct ox_stored){.name = sparse->values->name,
                              .dtype = sparse->values->dtype,
                              .rank = sparse->rank,
                              .dims = sparse->dims};
}

static enum ox_status diff_sparse_pair(struct ox_differ *d, const struct ox_graph *graph,
                                       const struct ox_stored_sparse *a,
                                       const struct ox_stored_sparse *b)
{
    char *subject = quoted(d, "sparse weight", a->values->name);
    struct ox_stored whole_a = whole(a), whole_b = whole(b);
    struct ox_strbuf before, after;
    ox_strbuf_init(&before);
    ox_strbuf_init(&after);
    ox_diff_tensor_type(&before, &whole_a);
    ox_diff_tensor_type(&after, &whole_b);
    enum ox_status status = OX_OK;
    if (!subject || before.failed || after.failed)
        status = ox_diff_no_memory(d);
    else if (strcmp(before.data, after.data) != 0)
        status = ox_diff_add(d, OX_DIFF_WEIGHT, graph, subject, "type", before.data, after.data);
    ox_strbuf_release(&before);
    ox_strbuf_release(&after);
    if (status == OX_OK)
        status = ox_diff_tensors(d, graph, subject, "values", a->values, b->values);
    return status == OX_OK ? ox_diff_tensors(d, graph, subject, "indices", a->indices, b->indices)
                           : status;
}

/* One side's, against what the other has in their place; both sides see those that are alone. */
static enum ox_status diff_sparse(struct ox_differ *d, struct ox_diff_pair *p, bool second)
{
    const struct ox_graph *from = second ? p->b : p->a, *to = second ? p->a : p->b;
    for (size_t i = 0; i < from->n_sparse_inits; i++) {
        const struct ox_stored_sparse *sparse = from->sparse_inits[i];
        if (!sparse->values || !sparse->indices)
            continue;
        const struct ox_value *value = ox_graph_value(from, sparse->values->name);
        uint32_t id = !value   ? OX_DIFF_NONE
                      : second ? p->values_ba[value->id]
                               : p->values_ab[value->id];
        const struct ox_stored_sparse *other =
            id == OX_DIFF_NONE ? NULL : to->values[id]->sparse_init;
        struct ox_stored alone = whole(sparse);
        if (!other)
            OX_TRY(weight_alone(d, from, &alone, !second));
        else if (!second && other->values && other->indices)
            OX_TRY(diff_sparse_pair(d, from, sparse, other));
    }
    return OX_OK;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

static enum ox_status node_alone(struct ox_differ *d, const struct ox_node *node, bool removed)
{
    struct ox_strbuf subject, inputs;
    ox_strbuf_init(&subject);
    ox_strbuf_init(&inputs);
    ox_diff_node_text(&subject, node);
    for (size_t i = 0; i < node->n_outputs; i++) {
        ox_strbuf_puts(&inputs, i ? ", " : "");
        ox_strbuf_name(&inputs, node->outputs[i] ? node->outputs[i]->name : "", 256);
    }
    ox_strbuf_printf(&inputs, " = %s(", node->op_type);
    for (size_t i = 0; i < node->n_inputs; i++) {
        ox_strbuf_puts(&inputs, i ? ", " : "");
        ox_strbuf_name(&inputs, node->inputs[i] ? node->inputs[i]->name : "", 256);
    }
    ox_strbuf_putc(&inputs, ')');
    enum ox_status status =
        subject.failed || inputs.failed
            ? ox_diff_no_memory(d)
            : ox_diff_add(d, OX_DIFF_NODE, node->graph, subject.data, NULL,
                          removed ? inputs.data : NULL, removed ? NULL : inputs.data);
    ox_strbuf_release(&subject);
    ox_strbuf_release(&inputs);
    return status;
}

/* Those of the second graph from *next up to `end` that the first has not. */
static enum ox_status diff_new_nodes(struct ox_differ *d, struct ox_diff_pair *p, size_t *next,
                                     size_t end)
{
    for (; *next < end; (*next)++) {
        const struct ox_node *node = p->b->nodes[*next];
        if (p->nodes_ba[*next] == OX_DIFF_NONE &&
            !ox_diff_stands_in(node, p->nodes_ba, p->values_ba))
            OX_TRY(node_alone(d, node, false));
    }
    return OX_OK;
}

/* In the order of the first graph, and what is new where it stands in the second. */
static enum ox_status diff_all_nodes(struct ox_differ *d, struct ox_diff_pair *p)
{
    size_t next = 0;
    for (size_t i = 0; i < p->a->n_nodes; i++) {
        uint32_t other = p->nodes_ab[i];
        if (other == OX_DIFF_NONE) {
            if (!ox_diff_stands_in(p->a->nodes[i], p->nodes_ab, p->values_ab))
                OX_TRY(node_alone(d, p->a->nodes[i], true));
            continue;
        }
        OX_TRY(diff_new_nodes(d, p, &next, other));
        OX_TRY(ox_diff_nodes(d, p, p->a->nodes[i], p->b->nodes[other]));
        OX_TRY(ox_env_poll(d->a->env, d->err));
    }
    return diff_new_nodes(d, p, &next, p->b->n_nodes);
}

/* ---- The graph ---------------------------------------------------------------------------------------------------- */

static enum ox_status diff_texts(struct ox_differ *d, struct ox_diff_pair *p)
{
    const Onnx__GraphProto *a = p->a->proto, *b = p->b->proto;
    const char *x = a && a->doc_string ? a->doc_string : "",
               *y = b && b->doc_string ? b->doc_string : "";
    if (strcmp(p->a->name, p->b->name) != 0 && !p->a->function)
        OX_TRY(ox_diff_add(d, OX_DIFF_NAME, p->a, "graph", "name", p->a->name, p->b->name));
    if (strcmp(x, y) != 0)
        OX_TRY(ox_diff_add(d, OX_DIFF_DOC, p->a, "graph", "doc_string", x, y));
    size_t n_a = a ? a->n_metadata_props : 0, n_b = b ? b->n_metadata_props : 0;
    OX_TRY(ox_diff_metadata(d, p->a, "graph", n_a ? a->metadata_props : NULL, n_a,
                            n_b ? b->metadata_props : NULL, n_b));
    n_a = a ? a->n_quantization_annotation : 0;
    n_b = b ? b->n_quantization_annotation : 0;
    for (size_t i = 0; i < n_a && i < n_b; i++)
        OX_TRY(ox_diff_metadata(d, p->a, "quantization annotation",
                                a->quantization_annotation[i]->quant_parameter_tensor_names,
                                a->quantization_annotation[i]->n_quant_parameter_tensor_names,
                                b->quantization_annotation[i]->quant_parameter_tensor_names,
                                b->quantization_annotation[i]->n_quant_parameter_tensor_names));
    char before[24], after[24];
    snprintf(before, sizeof before, "%zu", n_a);
    snprintf(after, sizeof after, "%zu", n_b);
    return n_a == n_b ? OX_OK
                      : ox_diff_add(d, OX_DIFF_METADATA, p->a, "quantization annotations", "number",
                                    before, after);
}

static uint32_t *blank(size_t n)
{
    uint32_t *list = malloc((n + 1) * sizeof *list);
    for (size_t i = 0; list && i <= n; i++)
        list[i] = OX_DIFF_NONE;
    return list;
}

static enum ox_status diff_contents(struct ox_differ *d, struct ox_diff_pair *p)
{
    OX_TRY(ox_diff_match(d, p));
    OX_TRY(diff_texts(d, p));
    OX_TRY(diff_inputs(d, p));
    OX_TRY(diff_outputs(d, p));
    OX_TRY(diff_all_nodes(d, p));
    OX_TRY(diff_weights(d, p));
    OX_TRY(diff_sparse(d, p, false));
    OX_TRY(diff_sparse(d, p, true));
    return diff_value_types(d, p);
}

enum ox_status ox_diff_graphs(struct ox_differ *d, const struct ox_graph *a,
                              const struct ox_graph *b, struct ox_diff_pair *up)
{
    struct ox_diff_pair pair = {.a = a, .b = b, .up = up, .depth = up ? up->depth + 1 : 0};
    if (pair.depth > MOST_DEPTH)
        return ox_fail(d->err, OX_LIMIT, "%s: subgraphs are nested too deeply", d->a->path);
    pair.nodes_ab = blank(a->n_nodes);
    pair.nodes_ba = blank(b->n_nodes);
    pair.values_ab = blank(a->n_values);
    pair.values_ba = blank(b->n_values);
    enum ox_status status = pair.nodes_ab && pair.nodes_ba && pair.values_ab && pair.values_ba
                                ? diff_contents(d, &pair)
                                : ox_diff_no_memory(d);
    free(pair.nodes_ab);
    free(pair.nodes_ba);
    free(pair.values_ab);
    free(pair.values_ba);
    return status;
}
