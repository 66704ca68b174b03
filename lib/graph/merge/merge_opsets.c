/* The versions of operator sets that the whole is read by: the newer of two, where the older model means the same by it. */
#include <string.h>

#include "graph/convert/convert.h"
#include "graph/merge/merger.h"
#include "model/lift.h"
#include "schema/schema.h"

enum { MOST_LISTED = 5 };

static int64_t version_of(const struct ox_opset *opsets, size_t n, const char *domain)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(opsets[i].domain, domain) == 0)
            return opsets[i].version;
    return 0;
}

/* Whether the newer row takes all that the older one takes and means the same by it: no adapter is needed to come to it, nothing is
 * gone, no default is another. */
static enum ox_status only_widens(const struct ox_schema *from, const struct ox_schema *to,
                                  bool *widens, struct ox_error *err)
{
    const struct ox_adapter_row *row = ox_adapter_find(from->domain, from->name, to->since);
    struct ox_schema_changes *changes;
    *widens = !to->deprecated && !(row && row->up);
    if (!*widens)
        return OX_OK;
    OX_TRY(ox_schema_changes_new(&changes, from, to, err));
    for (size_t i = 0; i < ox_schema_changes_count(changes); i++) {
        const struct ox_schema_change *change = ox_schema_changes_at(changes, i);
        const bool types = change->part == OX_PART_TYPES;
        const bool gone = change->before && *change->before && !change->after;
        const bool lost = types && change->property && change->before && *change->before;
        const bool another = !types && change->property && strcmp(change->property, "default") == 0;
        *widens &= !gone && !lost && !another;
    }
    ox_schema_changes_release(changes);
    return OX_OK;
}

/* Whether the node means under a newer version what it means under its own. */
static enum ox_status means_the_same(const struct ox_node *node, int64_t from, int64_t to,
                                     bool *same, struct ox_error *err)
{
    const struct ox_model *model = node->graph->model;
    const struct ox_env *env = model->env;
    *same = true;
    if (ox_model_function(model, node->domain, node->op_type, node->overload))
        return OX_OK;
    const struct ox_schema *row = ox_schema_lookup_any(env, node->domain, node->op_type, from);
    *same = row != NULL;
    for (int64_t at = from + 1; at <= to && *same; at++) {
        const struct ox_schema *next = ox_schema_lookup_any(env, node->domain, node->op_type, at);
        if (next == row)
            continue;
        if (!next ||
            node->graph->function) /* whose versions must have the same rows as the model's */
            *same = false;
        else
            OX_TRY(only_widens(row, next, same, err));
        row = next;
    }
    return OX_OK;
}

/* Operators of the domain that are others in the newer version: in the graph, and in functions, whose versions must mean the same as
 * the model's. */
static enum ox_status list_changed(const struct ox_merge_part *part, const char *domain, int64_t to,
                                   struct ox_strbuf *list, size_t *n)
{
    enum ox_status status = OX_OK;
    const struct ox_model *model = part->model;
    struct ox_strmap seen;
    ox_strmap_init(&seen);
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        if (!graph->function && ox_graph_root(graph) != graph->model->graph)
            continue;
        for (size_t i = 0; i < graph->n_nodes && status == OX_OK; i++) {
            const struct ox_node *node = graph->nodes[i];
            uint32_t one = 1;
            bool is_new = false, same;
            if (strcmp(node->domain, domain) != 0)
                continue;
            status =
                means_the_same(node, ox_graph_opset(graph, domain), to, &same, part->merger->err);
            if (status != OX_OK || same)
                continue;
            list->failed |=
                !ox_strmap_add(&seen, node->op_type, strlen(node->op_type), &one, &is_new);
            if (!is_new || ++*n > MOST_LISTED)
                continue;
            ox_strbuf_puts(list, *n > 1 ? ", " : "");
            ox_strbuf_name(list, node->op_type, 128);
        }
    }
    ox_strmap_release(&seen);
    if (*n > MOST_LISTED)
        ox_strbuf_printf(list, " and %zu more", *n - MOST_LISTED);
    return status;
}

static void tell_changed(struct ox_merger *m, size_t p, const char *domain, int64_t from,
                         int64_t to, const char *list)
{
    const char *path = m->parts[p].model->path, *shown = *domain ? domain : "ai.onnx";
    if (*list && !ox_schema_domain_known(domain))
        ox_merge_problem(m, OX_NEGATIVE, "%s: imports %s %lld, %s %lld", path, shown,
                         (long long)from, m->parts[!p].model->path, (long long)to);
    else if (*list)
        ox_merge_problem(m, OX_NEGATIVE,
                         "%s: imports %s %lld, %s %lld, and %s changed between them: onnxtool "
                         "convert-opset --to %s%s%lld %s -o OUT",
                         path, shown, (long long)from, m->parts[!p].model->path, (long long)to,
                         list, *domain ? shown : "", *domain ? "=" : "", (long long)to, path);
    else
        ox_merge_note(m, "%s: %s %lld was %lld: what it uses means the same in both", path, shown,
                      (long long)to, (long long)from);
}

/* One domain that both import. */
static enum ox_status settle(struct ox_merger *m, const char *domain, int64_t a, int64_t b,
                             int64_t *version)
{
    size_t older = a < b ? 0 : 1, n = 0;
    struct ox_strbuf list = {0};
    *version = a > b ? a : b;
    if (a == b)
        return OX_OK;
    enum ox_status status = list_changed(&m->parts[older], domain, *version, &list, &n);
    if (status == OX_OK && list.failed)
        status = ox_merge_no_room(m);
    if (status == OX_OK)
        tell_changed(m, older, domain, older ? b : a, *version, ox_strbuf_text(&list, NULL));
    ox_strbuf_release(&list);
    return status;
}

static Onnx__OperatorSetIdProto *new_import(struct ox_merger *m, const char *domain,
                                            int64_t version)
{
    static const Onnx__OperatorSetIdProto fresh = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    Onnx__OperatorSetIdProto *import = ox_arena_copy(&m->out->arena, &fresh, sizeof fresh);
    if (import) {
        import->domain = (char *)(uintptr_t)domain;
        import->has_version = true;
        import->version = version;
    }
    return import;
}

enum ox_status ox_merge_opsets(struct ox_merger *m, Onnx__ModelProto *whole)
{
    const struct ox_model *a = m->parts[0].model, *b = m->parts[1].model;
    whole->opset_import =
        ox_arena_array(&m->out->arena, a->n_opsets + b->n_opsets + 1, sizeof(*whole->opset_import));
    if (!whole->opset_import)
        return ox_merge_no_room(m);
    for (size_t i = 0; i < a->n_opsets; i++) {
        const struct ox_opset *opset = &a->opsets[i];
        int64_t version = opset->version, other = version_of(b->opsets, b->n_opsets, opset->domain);
        if (other)
            OX_TRY(settle(m, opset->domain, version, other, &version));
        whole->opset_import[whole->n_opset_import] = new_import(m, opset->domain, version);
        if (!whole->opset_import[whole->n_opset_import++])
            return ox_merge_no_room(m);
    }
    for (size_t i = 0; i < b->n_opsets; i++) {
        const struct ox_opset *opset = &b->opsets[i];
        if (version_of(a->opsets, a->n_opsets, opset->domain))
            continue;
        whole->opset_import[whole->n_opset_import] = new_import(m, opset->domain, opset->version);
        if (!whole->opset_import[whole->n_opset_import++])
            return ox_merge_no_room(m);
    }
    return OX_OK;
}
