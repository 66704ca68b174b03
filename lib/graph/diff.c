/* What differs between two models: the list, and what belongs to the model itself. */
#include "graph/diff.h"

#include <stdlib.h>
#include <string.h>

#include "proto/onnx.pb-c.h"

const char *ox_diff_kind_word(enum ox_diff_kind kind)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        OX_DIFF_LIST(WORD)
#undef WORD
    };
    return (unsigned)kind < OX_COUNT(words) ? words[kind] : "?";
}

enum ox_status ox_diff_no_memory(const struct ox_differ *d)
{
    return ox_fail(d->err, OX_NO_MEMORY, "%s: out of memory", d->a->path);
}

void ox_diff_node_text(struct ox_strbuf *out, const struct ox_node *node)
{
    ox_strbuf_name(out, node->op_type, 256);
    if (*node->name) {
        ox_strbuf_puts(out, " '");
        ox_strbuf_name(out, node->name, 256);
        ox_strbuf_putc(out, '\'');
    } else {
        ox_strbuf_printf(out, " #%u", (unsigned)node->index);
    }
}

static char *keep(struct ox_differ *d, const char *text, bool *good)
{
    char *copy = text ? ox_arena_strdup(&d->diff->arena, text) : NULL;
    *good &= !text || copy;
    return copy;
}

enum ox_status ox_diff_add(struct ox_differ *d, enum ox_diff_kind kind,
                           const struct ox_graph *graph, const char *subject, const char *property,
                           const char *before, const char *after)
{
    struct ox_diff *diff = d->diff;
    if (d->options.ignore[kind])
        return OX_OK;
    if (diff->n == diff->cap) {
        size_t cap = diff->cap ? diff->cap * 2 : 64;
        struct ox_difference *list = ox_arena_array(&diff->arena, cap, sizeof *list);
        if (!list)
            return ox_diff_no_memory(d);
        if (diff->n)
            memcpy(list, diff->list, diff->n * sizeof *list);
        diff->list = list;
        diff->cap = cap;
    }
    struct ox_strbuf path;
    ox_strbuf_init(&path);
    if (graph)
        ox_graph_path(&path, graph);
    bool good = !path.failed;
    struct ox_difference *entry = &diff->list[diff->n];
    *entry = (struct ox_difference){.kind = kind,
                                    .graph = keep(d, path.data ? path.data : "", &good),
                                    .subject = keep(d, subject, &good),
                                    .property = keep(d, property, &good),
                                    .before = keep(d, before, &good),
                                    .after = keep(d, after, &good)};
    ox_strbuf_release(&path);
    if (!good)
        return ox_diff_no_memory(d);
    diff->n++;
    return OX_OK;
}

/* ---- Metadata ----------------------------------------------------------------------------------------------------- */

static const char *find_value(struct Onnx__StringStringEntryProto *const *list, size_t n,
                              const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i]->key && strcmp(list[i]->key, key) == 0)
            return list[i]->value ? list[i]->value : "";
    }
    return NULL;
}

enum ox_status ox_diff_metadata(struct ox_differ *d, const struct ox_graph *graph,
                                const char *subject, struct Onnx__StringStringEntryProto *const *a,
                                size_t n_a, struct Onnx__StringStringEntryProto *const *b,
                                size_t n_b)
{
    for (size_t i = 0; i < n_a; i++) {
        const char *key = a[i]->key ? a[i]->key : "", *value = a[i]->value ? a[i]->value : "";
        const char *other = find_value(b, n_b, key);
        if (!other || strcmp(other, value) != 0)
            OX_TRY(ox_diff_add(d, OX_DIFF_METADATA, graph, subject, key, value, other));
    }
    for (size_t i = 0; i < n_b; i++) {
        const char *key = b[i]->key ? b[i]->key : "";
        if (!find_value(a, n_a, key))
            OX_TRY(ox_diff_add(d, OX_DIFF_METADATA, graph, subject, key, NULL,
                               b[i]->value ? b[i]->value : ""));
    }
    return OX_OK;
}

static enum ox_status diff_number(struct ox_differ *d, enum ox_diff_kind kind, const char *subject,
                                  const char *property, int64_t a, int64_t b)
{
    char before[24], after[24];
    if (a == b)
        return OX_OK;
    snprintf(before, sizeof before, "%lld", (long long)a);
    snprintf(after, sizeof after, "%lld", (long long)b);
    return ox_diff_add(d, kind, NULL, subject, property, before, after);
}

static enum ox_status diff_text(struct ox_differ *d, enum ox_diff_kind kind, const char *property,
                                const char *a, const char *b)
{
    a = a ? a : "";
    b = b ? b : "";
    return strcmp(a, b) == 0 ? OX_OK : ox_diff_add(d, kind, NULL, "", property, a, b);
}

static enum ox_status diff_header(struct ox_differ *d)
{
    const struct ox_model *a = d->a, *b = d->b;
    const Onnx__ModelProto *x = a->proto, *y = b->proto;
    OX_TRY(diff_number(d, OX_DIFF_MODEL, "", "ir_version", a->ir_version, b->ir_version));
    OX_TRY(diff_text(d, OX_DIFF_MODEL, "domain", a->model_domain, b->model_domain));
    OX_TRY(diff_number(d, OX_DIFF_MODEL, "", "model_version", a->model_version, b->model_version));
    OX_TRY(diff_text(d, OX_DIFF_METADATA, "producer_name", a->producer_name, b->producer_name));
    OX_TRY(diff_text(d, OX_DIFF_METADATA, "producer_version", a->producer_version,
                     b->producer_version));
    OX_TRY(diff_text(d, OX_DIFF_DOC, "doc_string", x ? x->doc_string : NULL,
                     y ? y->doc_string : NULL));
    return ox_diff_metadata(d, NULL, "metadata", x ? x->metadata_props : NULL,
                            x ? x->n_metadata_props : 0, y ? y->metadata_props : NULL,
                            y ? y->n_metadata_props : 0);
}

/* ---- Operator sets ------------------------------------------------------------------------------------------------ */

static int64_t version_of(const struct ox_opset *list, size_t n, const char *domain)
{
    for (size_t i = n; i-- > 0;) {
        if (strcmp(list[i].domain, domain) == 0)
            return list[i].version;
    }
    return -1;
}

static enum ox_status diff_opsets(struct ox_differ *d, const struct ox_graph *graph,
                                  const struct ox_opset *a, size_t n_a, const struct ox_opset *b,
                                  size_t n_b)
{
    for (size_t i = 0; i < n_a + n_b; i++) {
        const struct ox_opset *opset = i < n_a ? &a[i] : &b[i - n_a];
        int64_t x = version_of(a, n_a, opset->domain), y = version_of(b, n_b, opset->domain);
        char before[24], after[24];
        if (x == y || (i >= n_a && x >= 0))
            continue;
        snprintf(before, sizeof before, "%lld", (long long)x);
        snprintf(after, sizeof after, "%lld", (long long)y);
        OX_TRY(ox_diff_add(d, OX_DIFF_OPSET, graph, "opset",
                           *opset->domain ? opset->domain : "ai.onnx", x < 0 ? NULL : before,
                           y < 0 ? NULL : after));
    }
    return OX_OK;
}

/* ---- Functions and training graphs -------------------------------------------------------------------------------- */

static enum ox_status diff_function(struct ox_differ *d, const struct ox_function *a,
                                    const struct ox_function *b)
{
    struct ox_diff_pair pair = {.a = a->body, .b = b->body};
    struct ox_strbuf names[2];
    const char *x = a->proto && a->proto->doc_string ? a->proto->doc_string : "";
    const char *y = b->proto && b->proto->doc_string ? b->proto->doc_string : "";
    OX_TRY(diff_opsets(d, a->body, a->opsets, a->n_opsets, b->opsets, b->n_opsets));
    if (strcmp(x, y) != 0)
        OX_TRY(ox_diff_add(d, OX_DIFF_DOC, a->body, "function", "doc_string", x, y));
    for (int k = 0; k < 2; k++) {
        const struct ox_function *f = k ? b : a;
        ox_strbuf_init(&names[k]);
        for (size_t i = 0; i < f->n_attr_names; i++) {
            ox_strbuf_puts(&names[k], i ? ", " : "");
            ox_strbuf_name(&names[k], f->attr_names[i], 256);
        }
    }
    enum ox_status status = names[0].failed || names[1].failed ? ox_diff_no_memory(d) : OX_OK;
    if (status == OX_OK &&
        strcmp(names[0].data ? names[0].data : "", names[1].data ? names[1].data : "") != 0)
        status = ox_diff_add(d, OX_DIFF_ATTRIBUTE, a->body, "function", "attributes", names[0].data,
                             names[1].data);
    ox_strbuf_release(&names[0]);
    ox_strbuf_release(&names[1]);
    if (status == OX_OK)
        status = ox_diff_attr_lists(d, &pair, "function", a->attr_defaults, a->n_attr_defaults,
                                    b->attr_defaults, b->n_attr_defaults);
    return status == OX_OK ? ox_diff_graphs(d, a->body, b->body, NULL) : status;
}

static enum ox_status diff_functions(struct ox_differ *d)
{
    for (size_t i = 0; i < d->a->n_functions; i++) {
        const struct ox_function *a = &d->a->functions[i];
        const struct ox_function *b = ox_model_function(d->b, a->domain, a->name, a->overload);
        if (b)
            OX_TRY(diff_function(d, a, b));
        else
            OX_TRY(ox_diff_add(d, OX_DIFF_FUNCTION, a->body, "function", NULL, a->name, NULL));
    }
    for (size_t i = 0; i < d->b->n_functions; i++) {
        const struct ox_function *b = &d->b->functions[i];
        if (!ox_model_function(d->a, b->domain, b->name, b->overload))
            OX_TRY(ox_diff_add(d, OX_DIFF_FUNCTION, b->body, "function", NULL, NULL, b->name));
    }
    return OX_OK;
}

static bool is_training(const struct ox_graph *graph)
{
    return !graph->parent && graph->parent_attr;
}

static enum ox_status diff_training(struct ox_differ *d)
{
    for (size_t i = 0; i < d->a->n_graphs; i++) {
        const struct ox_graph *a = d->a->graphs[i];
        for (size_t k = 0; k < d->b->n_graphs && is_training(a); k++) {
            const struct ox_graph *b = d->b->graphs[k];
            if (is_training(b) && strcmp(a->parent_attr, b->parent_attr) == 0)
                OX_TRY(ox_diff_graphs(d, a, b, NULL));
        }
    }
    return diff_number(d, OX_DIFF_MODEL, "training", "number",
                       d->a->proto ? (int64_t)d->a->proto->n_training_info : 0,
                       d->b->proto ? (int64_t)d->b->proto->n_training_info : 0);
}

/* ---- The models --------------------------------------------------------------------------------------------------- */

static enum ox_status diff_models(struct ox_differ *d)
{
    OX_TRY(diff_header(d));
    OX_TRY(diff_opsets(d, NULL, d->a->opsets, d->a->n_opsets, d->b->opsets, d->b->n_opsets));
    if (d->a->graph && d->b->graph)
        OX_TRY(ox_diff_graphs(d, d->a->graph, d->b->graph, NULL));
    else if (d->a->graph || d->b->graph)
        OX_TRY(ox_diff_add(d, OX_DIFF_MODEL, NULL, "graph", NULL, d->a->graph ? "there" : NULL,
                           d->b->graph ? "there" : NULL));
    OX_TRY(diff_functions(d));
    return diff_training(d);
}

enum ox_status ox_diff_models(struct ox_diff **out, struct ox_model *a, struct ox_model *b,
                              const struct ox_diff_options *options, struct ox_error *err)
{
    struct ox_differ d = {.a = a, .b = b, .err = err};
    d.diff = calloc(1, sizeof *d.diff);
    if (!d.diff)
        return ox_diff_no_memory(&d);
    if (options)
        d.options = *options;
    ox_arena_init(&d.diff->arena, ox_env_budget(a->env));
    ox_strmap_init(&d.compared);
    enum ox_status status = diff_models(&d);
    ox_strmap_release(&d.compared);
    if (status == OX_OK)
        *out = d.diff;
    else
        ox_diff_release(d.diff);
    return status;
}

void ox_diff_release(struct ox_diff *diff)
{
    if (!diff)
        return;
    ox_arena_release(&diff->arena);
    free(diff);
}

size_t ox_diff_count(const struct ox_diff *diff)
{
    return diff->n;
}

const struct ox_difference *ox_diff_at(const struct ox_diff *diff, size_t i)
{
    return &diff->list[i];
}
