#define PCRE2_CODE_UNIT_WIDTH 8
#include "quant/selection.h"

#include "quant/dims_pattern.h"

#include <fnmatch.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a selector says, taken apart. */
enum form {
    FORM_NAME,
    FORM_GLOB,
    FORM_REGEX,
    FORM_OP,
    FORM_AFTER,
    FORM_BEFORE,
    FORM_GRAPH,
    FORM_SHAPE
};

static enum form form_of(const char *selector, const char **rest)
{
    static const struct {
        const char *prefix;
        enum form form;
    } prefixes[] = {{"re:", FORM_REGEX},      {"op:", FORM_OP},       {"after:", FORM_AFTER},
                    {"before:", FORM_BEFORE}, {"graph:", FORM_GRAPH}, {"shape:", FORM_SHAPE}};
    *rest = selector;
    for (size_t i = 0; i < OX_COUNT(prefixes); i++) {
        size_t n = strlen(prefixes[i].prefix);
        if (strncmp(selector, prefixes[i].prefix, n) == 0) {
            *rest = selector + n;
            return prefixes[i].form;
        }
    }
    return strpbrk(selector, "*?[") ? FORM_GLOB : FORM_NAME;
}

/* One selector being matched. */
struct match {
    struct ox_selection *into;
    const struct ox_model *model;
    const char *text;
    enum form form;
    pcre2_code *code;
    pcre2_match_data *data;
    struct ox_dims_pattern shape;
    size_t n_found;
    bool failed; /* out of memory */
};

static bool named(const struct ox_node *node, const char *text)
{
    if (strcmp(node->name, text) == 0)
        return *text != '\0';
    if (*text != '#')
        return false;
    char label[32];
    snprintf(label, sizeof label, "#%u", node->index);
    return !*node->name && strcmp(label, text) == 0;
}

static bool in_graph(const struct ox_graph *graph, const char *path)
{
    struct ox_strbuf text = {0};
    ox_graph_path(&text, graph);
    const char *found = ox_strbuf_text(&text, NULL);
    size_t n = strlen(path);
    bool in = strncmp(found, path, n) == 0 && (!n || !found[n] || found[n] == '.');
    ox_strbuf_release(&text);
    return in;
}

static bool matches(struct match *m, const struct ox_node *node)
{
    switch (m->form) {
    case FORM_GLOB:
        return fnmatch(m->text, node->name, 0) == 0 || named(node, m->text);
    case FORM_REGEX:
        return pcre2_match(m->code, (PCRE2_SPTR)node->name, strlen(node->name), 0, 0, m->data,
                           NULL) >= 0;
    case FORM_OP:
        return strcmp(node->op_type, m->text) == 0;
    case FORM_GRAPH:
        return in_graph(node->graph, m->text);
    case FORM_SHAPE:
        return ox_dims_pattern_has(&m->shape, node);
    default:
        return named(node, m->text);
    }
}

static void choose(struct match *m, const struct ox_node *node)
{
    m->n_found++;
    for (size_t i = 0; i < node->n_outputs; i++) {
        uint32_t one = 1;
        const char *name = node->outputs[i] ? node->outputs[i]->name : NULL;
        if (name && !ox_strmap_add(&m->into->outputs, name, strlen(name), &one, NULL))
            m->failed = true;
    }
}

/* All that depends on a node of its graph, or all that it depends on. The nodes may stand in any order, so a worklist. */
static void choose_cone(struct match *m, const struct ox_node *node)
{
    const struct ox_graph *graph = node->graph;
    bool *in = calloc(graph->n_nodes, sizeof *in);
    if (!in) {
        m->failed = true;
        return;
    }
    in[node->index] = true;
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *at = graph->nodes[i];
            for (size_t j = 0; j < at->n_inputs; j++) {
                const struct ox_node *from = at->inputs[j] ? at->inputs[j]->producer : NULL;
                if (!from || from->graph != graph)
                    continue;
                size_t a = m->form == FORM_AFTER ? from->index : at->index;
                size_t b = m->form == FORM_AFTER ? at->index : from->index;
                if (in[a] && !in[b])
                    in[b] = grows = true;
            }
        }
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (in[i])
            choose(m, graph->nodes[i]);
    }
    free(in);
}

static enum ox_status compile(struct match *m, struct ox_error *err)
{
    int code;
    PCRE2_SIZE at;
    m->code = pcre2_compile((PCRE2_SPTR)m->text, strlen(m->text), PCRE2_UTF | PCRE2_ANCHORED, &code,
                            &at, NULL);
    if (!m->code) {
        PCRE2_UCHAR why[128];
        pcre2_get_error_message(code, why, sizeof why);
        return ox_fail(err, OX_USAGE, "the selector 're:%s' is no regular expression: %s at %zu",
                       m->text, (const char *)why, (size_t)at);
    }
    m->data = pcre2_match_data_create_from_pattern(m->code, NULL);
    return m->data ? OX_OK : ox_no_memory(err);
}

/* How far two names are from each other: what they have in common at both ends, turned around. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), head = 0, tail = 0;
    while (head < n && head < m && a[head] == b[head])
        head++;
    while (tail < n - head && tail < m - head && a[n - 1 - tail] == b[m - 1 - tail])
        tail++;
    return n + m - 2 * (head + tail);
}

static enum ox_status nothing(const struct ox_model *model, const char *selector, const char *text,
                              struct ox_error *err)
{
    const char *near = NULL;
    size_t least = strlen(text);
    for (size_t g = 0; g < model->n_graphs; g++) {
        for (size_t i = 0; i < model->graphs[g]->n_nodes; i++) {
            const char *name = model->graphs[g]->nodes[i]->name;
            if (*name && distance(name, text) < least) {
                least = distance(name, text);
                near = name;
            }
        }
    }
    char shown[OX_SHOWN_BYTES], wanted[OX_SHOWN_BYTES];
    ox_shown(wanted, selector, strlen(selector));
    if (near)
        return ox_fail(err, OX_USAGE, "no node is selected by '%s'; did you mean '%s'?", wanted,
                       ox_shown(shown, near, strlen(near)));
    return ox_fail(err, OX_USAGE, "no node is selected by '%s'", wanted);
}

static enum ox_status select_one(struct ox_selection *out, struct ox_model *model,
                                 const char *selector, bool exact, bool strict,
                                 struct ox_error *err)
{
    struct match m = {.into = out, .model = model, .text = selector};
    m.form = exact ? FORM_NAME : form_of(selector, &m.text);
    enum ox_status status = m.form == FORM_REGEX ? compile(&m, err)
                            : m.form == FORM_SHAPE
                                ? ox_dims_pattern_make(&m.shape, model, m.text, err)
                                : OX_OK;
    for (size_t g = 0; g < model->n_graphs && status == OX_OK; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            if (!matches(&m, graph->nodes[i]))
                continue;
            if (m.form == FORM_AFTER || m.form == FORM_BEFORE)
                choose_cone(&m, graph->nodes[i]);
            else
                choose(&m, graph->nodes[i]);
        }
    }
    pcre2_match_data_free(m.data);
    pcre2_code_free(m.code);
    ox_dims_pattern_release(&m.shape);
    if (status == OX_OK && m.failed)
        status = ox_no_memory(err);
    if (status == OX_OK && !m.n_found && strict)
        status = nothing(model, selector, m.text, err);
    return status;
}

enum ox_status ox_selection_make(struct ox_selection *out, struct ox_model *model,
                                 const char *const *selectors, size_t n, bool exact, bool strict,
                                 struct ox_error *err)
{
    *out = (struct ox_selection){.all = n == 0};
    ox_strmap_init(&out->outputs);
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = select_one(out, model, selectors[i], exact, strict, err);
    if (status != OX_OK)
        ox_selection_release(out);
    return status;
}

void ox_selection_release(struct ox_selection *selection)
{
    ox_strmap_release(&selection->outputs);
    *selection = (struct ox_selection){.all = false};
}

bool ox_selection_has(const struct ox_selection *selection, const struct ox_node *node)
{
    if (selection->all)
        return true;
    for (size_t i = 0; i < node->n_outputs; i++) {
        const char *name = node->outputs[i] ? node->outputs[i]->name : NULL;
        if (name && ox_strmap_find(&selection->outputs, name, strlen(name)) != OX_STRMAP_NONE)
            return true;
    }
    return false;
}
