/* The list of differences, and how its entries are written. */
#include "graph/diff/diff.h"

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
                                    .graph = keep(d, ox_strbuf_text(&path, NULL), &good),
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
