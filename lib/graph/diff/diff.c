/* What differs between two models: what belongs to the models themselves. */
#include "graph/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "proto/onnx.pb-c.h"

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
        strcmp(ox_strbuf_text(&names[0], NULL), ox_strbuf_text(&names[1], NULL)) != 0)
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
