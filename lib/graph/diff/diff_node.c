/* Two nodes that are each other's: operator, connections, attributes. */
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "graph/diff/diff.h"
#include "proto/onnx.pb-c.h"

enum { SHOWN = 16 };

/* ---- Attributes --------------------------------------------------------------------------------------------------- */

static void list_text(struct ox_strbuf *out, const struct ox_attr *attr)
{
    size_t n = attr->n < SHOWN ? attr->n : SHOWN;
    char number[OX_NUMBER_BYTES];
    ox_strbuf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            ox_strbuf_puts(out, ", ");
        if (attr->type == OX_ATTR_INTS)
            ox_strbuf_printf(out, "%lld", (long long)attr->ints[i]);
        else if (attr->type == OX_ATTR_FLOATS)
            ox_strbuf_puts(out, ox_number_float(number, attr->floats[i]));
        else if (attr->type == OX_ATTR_STRINGS) {
            ox_strbuf_putc(out, '"');
            ox_strbuf_name(out, attr->strings[i].p, 64);
            ox_strbuf_putc(out, '"');
        }
    }
    if (n < attr->n)
        ox_strbuf_printf(out, ", ... %zu in all", attr->n);
    ox_strbuf_putc(out, ']');
}

static void stored_text(struct ox_strbuf *out, const struct ox_stored *stored)
{
    ox_strbuf_puts(out, ox_dtype_name(stored->dtype));
    ox_strbuf_putc(out, '[');
    for (unsigned i = 0; i < stored->rank; i++)
        ox_strbuf_printf(out, i ? ",%lld" : "%lld", (long long)stored->dims[i]);
    ox_strbuf_putc(out, ']');
}

void ox_diff_attr_text(struct ox_strbuf *out, const struct ox_attr *attr)
{
    char number[OX_NUMBER_BYTES];
    if (attr->ref) {
        ox_strbuf_putc(out, '@');
        ox_strbuf_name(out, attr->ref, 256);
        return;
    }
    switch (attr->type) {
    case OX_ATTR_INT:
        ox_strbuf_printf(out, "%lld", (long long)attr->i);
        break;
    case OX_ATTR_FLOAT:
        ox_strbuf_puts(out, ox_number_float(number, attr->f));
        break;
    case OX_ATTR_STRING:
        ox_strbuf_putc(out, '"');
        ox_strbuf_name(out, attr->s.p ? attr->s.p : "", 256);
        ox_strbuf_putc(out, '"');
        break;
    case OX_ATTR_TENSOR:
        if (attr->n)
            stored_text(out, attr->tensor);
        break;
    case OX_ATTR_INTS:
    case OX_ATTR_FLOATS:
    case OX_ATTR_STRINGS:
        list_text(out, attr);
        break;
    case OX_ATTR_GRAPH:
        if (attr->n)
            ox_strbuf_printf(out, "graph of %zu nodes", attr->graphs[0]->n_nodes);
        break;
    case OX_ATTR_TYPE_PROTO:
        if (attr->n)
            ox_type_print(out, attr->types, true);
        break;
    default:
        ox_strbuf_printf(out, "%zu of type %s", attr->n, ox_attr_type_name(attr->type));
        break;
    }
}

/* So that NaN equals itself and -0 is not 0. */
static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool same_strings(const struct ox_attr *a, const struct ox_attr *b)
{
    for (size_t i = 0; i < a->n; i++) {
        if (a->strings[i].n != b->strings[i].n ||
            memcmp(a->strings[i].p, b->strings[i].p, a->strings[i].n) != 0)
            return false;
    }
    return true;
}

/* But for tensors and graphs, which are looked into. */
static bool same_attr(const struct ox_attr *a, const struct ox_attr *b)
{
    if (a->type != b->type || a->n != b->n || !a->ref != !b->ref)
        return false;
    if (a->ref)
        return strcmp(a->ref, b->ref) == 0;
    switch (a->type) {
    case OX_ATTR_INT:
        return a->i == b->i;
    case OX_ATTR_FLOAT:
        return float_bits(a->f) == float_bits(b->f);
    case OX_ATTR_STRING:
        return a->s.n == b->s.n && (!a->s.n || memcmp(a->s.p, b->s.p, a->s.n) == 0);
    case OX_ATTR_INTS:
        return !a->n || memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0;
    case OX_ATTR_FLOATS:
        return !a->n || memcmp(a->floats, b->floats, a->n * sizeof *a->floats) == 0;
    case OX_ATTR_STRINGS:
        return same_strings(a, b);
    default:
        return true;
    }
}

static bool holds_more(enum ox_attr_type type)
{
    return type == OX_ATTR_TENSOR || type == OX_ATTR_TENSORS || type == OX_ATTR_GRAPH ||
           type == OX_ATTR_GRAPHS || type == OX_ATTR_SPARSE_TENSOR ||
           type == OX_ATTR_SPARSE_TENSORS;
}

static enum ox_status add_attr(struct ox_differ *d, const struct ox_graph *graph,
                               const char *subject, const char *name, const struct ox_attr *a,
                               const struct ox_attr *b)
{
    struct ox_strbuf before, after;
    ox_strbuf_init(&before);
    ox_strbuf_init(&after);
    if (a)
        ox_diff_attr_text(&before, a);
    if (b)
        ox_diff_attr_text(&after, b);
    enum ox_status status = before.failed || after.failed
                                ? ox_diff_no_memory(d)
                                : ox_diff_add(d, OX_DIFF_ATTRIBUTE, graph, subject, name,
                                              a ? ox_strbuf_text(&before, NULL) : NULL,
                                              b ? ox_strbuf_text(&after, NULL) : NULL);
    ox_strbuf_release(&before);
    ox_strbuf_release(&after);
    return status;
}

static enum ox_status look_into(struct ox_differ *d, struct ox_diff_pair *pair, const char *subject,
                                const struct ox_attr *a, const struct ox_attr *b)
{
    for (size_t i = 0; i < a->n; i++) {
        if (ox_attr_has_graphs(a)) {
            OX_TRY(ox_diff_graphs(d, a->graphs[i], b->graphs[i], pair));
        } else if (a->type == OX_ATTR_TENSOR || a->type == OX_ATTR_TENSORS) {
            OX_TRY(ox_diff_tensors(d, pair->a, subject, a->name, &a->tensor[i], &b->tensor[i]));
        } else if (a->sparse[i].values && b->sparse[i].values && a->sparse[i].indices &&
                   b->sparse[i].indices) {
            OX_TRY(ox_diff_tensors(d, pair->a, subject, a->name, a->sparse[i].values,
                                   b->sparse[i].values));
            OX_TRY(ox_diff_tensors(d, pair->a, subject, a->name, a->sparse[i].indices,
                                   b->sparse[i].indices));
        }
    }
    return OX_OK;
}

static const struct ox_attr *find_attr(const struct ox_attr *attrs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(attrs[i].name, name) == 0)
            return &attrs[i];
    }
    return NULL;
}

enum ox_status ox_diff_attr_lists(struct ox_differ *d, struct ox_diff_pair *pair,
                                  const char *subject, const struct ox_attr *a, size_t n_a,
                                  const struct ox_attr *b, size_t n_b)
{
    for (size_t i = 0; i < n_a; i++) {
        const struct ox_attr *other = find_attr(b, n_b, a[i].name);
        if (other && same_attr(&a[i], other)) {
            if (holds_more(a[i].type) && !a[i].ref)
                OX_TRY(look_into(d, pair, subject, &a[i], other));
            continue;
        }
        OX_TRY(add_attr(d, pair->a, subject, a[i].name, &a[i], other));
    }
    for (size_t i = 0; i < n_b; i++) {
        if (!find_attr(a, n_a, b[i].name))
            OX_TRY(add_attr(d, pair->a, subject, b[i].name, NULL, &b[i]));
    }
    return OX_OK;
}

/* ---- Connections -------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct ox_value *value)
{
    return value ? value->name : NULL;
}

enum ox_status ox_diff_inits(struct ox_differ *d, const struct ox_graph *graph,
                             const struct ox_value *a, const struct ox_value *b)
{
    const void *key[2] = {a->init, b->init};
    void *kept = ox_arena_copy(&d->diff->arena, key, sizeof key);
    uint32_t one = 1;
    bool is_new;
    if (!kept || !ox_strmap_add(&d->compared, kept, sizeof key, &one, &is_new))
        return ox_diff_no_memory(d);
    if (!is_new)
        return OX_OK;
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_strbuf_puts(&text, "weight '");
    ox_strbuf_name(&text, a->name, 256);
    ox_strbuf_putc(&text, '\'');
    enum ox_status status = text.failed
                                ? ox_diff_no_memory(d)
                                : ox_diff_tensors(d, graph, text.data, NULL, a->init, b->init);
    if (status == OX_OK && strcmp(a->name, b->name) != 0)
        status = ox_diff_add(d, OX_DIFF_NAME, graph, text.data, "name", a->name, b->name);
    ox_strbuf_release(&text);
    return status;
}

/* Initializers that nodes have in the same place, perhaps of a graph that encloses theirs. */
static enum ox_status diff_operands(struct ox_differ *d, struct ox_diff_pair *pair,
                                    const struct ox_value *a, const struct ox_value *b, bool *done)
{
    while (a->outer && b->outer) {
        a = a->outer;
        b = b->outer;
        pair = pair->up ? pair->up : pair;
    }
    *done = a->init && b->init && !a->is_input && !b->is_input;
    return *done ? ox_diff_inits(d, pair->a, a, b) : OX_OK;
}

static enum ox_status diff_connections(struct ox_differ *d, struct ox_diff_pair *pair,
                                       const char *subject, const struct ox_node *a,
                                       const struct ox_node *b)
{
    size_t n = a->n_inputs > b->n_inputs ? a->n_inputs : b->n_inputs;
    for (size_t i = 0; i < n; i++) {
        const struct ox_value *x = i < a->n_inputs ? a->inputs[i] : NULL;
        const struct ox_value *y = i < b->n_inputs ? b->inputs[i] : NULL;
        bool done = false;
        char property[32];
        if (x && y)
            OX_TRY(diff_operands(d, pair, x, y, &done));
        if (done || ox_diff_same_value(pair, x, y))
            continue;
        snprintf(property, sizeof property, "input %zu", i);
        OX_TRY(ox_diff_add(d, OX_DIFF_NODE, pair->a, subject, property, name_of(x), name_of(y)));
    }
    n = a->n_outputs > b->n_outputs ? a->n_outputs : b->n_outputs;
    for (size_t i = 0; i < n; i++) {
        const struct ox_value *x = i < a->n_outputs ? a->outputs[i] : NULL;
        const struct ox_value *y = i < b->n_outputs ? b->outputs[i] : NULL;
        char property[32];
        snprintf(property, sizeof property, "output %zu", i);
        if (!x != !y)
            OX_TRY(
                ox_diff_add(d, OX_DIFF_NODE, pair->a, subject, property, name_of(x), name_of(y)));
        else if (x && strcmp(x->name, y->name) != 0)
            OX_TRY(ox_diff_add(d, OX_DIFF_NAME, pair->a, subject, property, x->name, y->name));
    }
    return OX_OK;
}

/* ---- The node ----------------------------------------------------------------------------------------------------- */

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static enum ox_status diff_texts(struct ox_differ *d, struct ox_diff_pair *pair,
                                 const char *subject, const struct ox_node *a,
                                 const struct ox_node *b)
{
    const char *x = text_or_empty(a->proto ? a->proto->doc_string : NULL);
    const char *y = text_or_empty(b->proto ? b->proto->doc_string : NULL);
    if (strcmp(x, y) != 0)
        OX_TRY(ox_diff_add(d, OX_DIFF_DOC, pair->a, subject, "doc_string", x, y));
    size_t n_x = a->proto ? a->proto->n_metadata_props : 0;
    size_t n_y = b->proto ? b->proto->n_metadata_props : 0;
    return ox_diff_metadata(d, pair->a, subject, n_x ? a->proto->metadata_props : NULL, n_x,
                            n_y ? b->proto->metadata_props : NULL, n_y);
}

enum ox_status ox_diff_nodes(struct ox_differ *d, struct ox_diff_pair *pair,
                             const struct ox_node *a, const struct ox_node *b)
{
    struct ox_strbuf subject, x, y;
    ox_strbuf_init(&subject);
    ox_strbuf_init(&x);
    ox_strbuf_init(&y);
    ox_diff_node_text(&subject, a);
    ox_strbuf_printf(&x, "%s%s%s", a->domain, *a->domain ? "." : "", a->op_type);
    ox_strbuf_printf(&y, "%s%s%s", b->domain, *b->domain ? "." : "", b->op_type);
    enum ox_status status = subject.failed || x.failed || y.failed ? ox_diff_no_memory(d) : OX_OK;
    if (status == OX_OK && strcmp(x.data, y.data) != 0)
        status = ox_diff_add(d, OX_DIFF_NODE, pair->a, subject.data, "operator", x.data, y.data);
    if (status == OX_OK && strcmp(a->overload, b->overload) != 0)
        status = ox_diff_add(d, OX_DIFF_NODE, pair->a, subject.data, "overload", a->overload,
                             b->overload);
    if (status == OX_OK && strcmp(a->name, b->name) != 0)
        status = ox_diff_add(d, OX_DIFF_NAME, pair->a, subject.data, "name", a->name, b->name);
    if (status == OX_OK)
        status = diff_connections(d, pair, subject.data, a, b);
    if (status == OX_OK)
        status =
            ox_diff_attr_lists(d, pair, subject.data, a->attrs, a->n_attrs, b->attrs, b->n_attrs);
    if (status == OX_OK)
        status = diff_texts(d, pair, subject.data, a, b);
    ox_strbuf_release(&subject);
    ox_strbuf_release(&x);
    ox_strbuf_release(&y);
    return status;
}
