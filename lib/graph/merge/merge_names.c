/* Names of values and nodes. Inputs and outputs of the whole keep theirs, but for the prefix asked for; what else is called like
 * something of the other model gets a prefix of its own. */
#include <string.h>

#include "graph/merge/merger.h"

struct naming {
    struct ox_merger *m;
    struct ox_names values,
        nodes; /* all names of the whole so far -> the letter of the model that has it */
};

static const char letters[OX_MERGED][2] = {"a", "b"};

static const char *prefixed(struct ox_merge_part *part, const char *before, const char *name)
{
    if (!*before && !*part->prefix)
        return name;
    return ox_arena_printf(&part->merger->out->arena, "%s%s%s", before, part->prefix, name);
}

/* ---- Prefixes ----------------------------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool some_name_begins(const struct ox_merger *m, const char *start)
{
    for (size_t p = 0; p < OX_MERGED; p++) {
        const struct ox_model *model = m->parts[p].model;
        if (begins(m->parts[p].prefix, start))
            return true;
        for (size_t g = 0; g < model->n_graphs; g++) {
            const struct ox_graph *graph = model->graphs[g];
            for (size_t i = 0; i < graph->n_values; i++)
                if (begins(graph->values[i]->name, start))
                    return true;
            for (size_t i = 0; i < graph->n_nodes; i++)
                if (begins(graph->nodes[i]->name, start))
                    return true;
        }
    }
    return false;
}

const char *ox_merge_auto_prefix(struct ox_merge_part *part)
{
    struct ox_arena *arena = &part->merger->out->arena;
    for (unsigned i = 1; !part->auto_prefix; i++) {
        const char *prefix = i == 1 ? ox_arena_printf(arena, "%c/", part->letter)
                                    : ox_arena_printf(arena, "%c%u/", part->letter, i);
        if (!prefix)
            return NULL;
        if (!some_name_begins(part->merger, prefix))
            part->auto_prefix = prefix;
    }
    return part->auto_prefix;
}

/* ---- Inputs and outputs ------------------------------------------------------------------------------------------- */

static enum ox_status claim_port(struct naming *n, size_t p, const char *what,
                                 const struct ox_value *value, bool also_inside)
{
    struct ox_merge_part *part = &n->m->parts[p];
    const char *name = prefixed(part, "", value->name);
    char shown[OX_SHOWN_BYTES];
    if (!*value->name)
        return OX_OK;
    const char *owner = name ? ox_names_find(&n->values, name) : NULL;
    if (owner && owner != letters[p])
        ox_merge_problem(n->m, OX_NEGATIVE, "%s: its %s '%s' is called like one of %s: --prefix1%s",
                         part->model->path, what, ox_shown(shown, name, strlen(name)),
                         n->m->parts[!p].model->path,
                         *what == 'i' ? ", --prefix2 or --shared" : " or --prefix2");
    else if (!name || !ox_names_add(&n->values, name, letters[p]) ||
             (also_inside && !ox_names_add(&part->values, value->name, name)))
        return ox_merge_no_room(n->m);
    return OX_OK;
}

static enum ox_status claim_ports(struct naming *n)
{
    const struct ox_graph *a = n->m->parts[0].model->graph, *b = n->m->parts[1].model->graph;
    for (size_t i = 0; i < a->n_inputs; i++)
        OX_TRY(claim_port(n, 0, "input", a->inputs[i], true));
    for (size_t i = 0; i < a->n_outputs; i++)
        if (!n->m->used[i])
            OX_TRY(claim_port(n, 0, "output", a->outputs[i], true));
    for (size_t i = 0; i < b->n_inputs; i++)
        if (!n->m->feeds[i].from)
            OX_TRY(claim_port(n, 1, "input", b->inputs[i], true));
    for (size_t i = 0; i < b->n_outputs; i++) {
        const struct ox_value *value = b->outputs[i];
        const struct ox_value *from = NULL;
        for (size_t k = 0; k < b->n_inputs; k++)
            if (b->inputs[k] == value)
                from = n->m->feeds[k].from;
        /* What is passed through from an input that both share is that input. */
        if (!from || from->is_output)
            OX_TRY(claim_port(n, 1, "output", value, !from));
    }
    return OX_OK;
}

/* ---- What is inside ----------------------------------------------------------------------------------------------- */

static enum ox_status name_inner(struct naming *n, size_t p, const char *old,
                                 struct ox_names *names, struct ox_names *all, size_t *n_renamed)
{
    struct ox_merge_part *part = &n->m->parts[p];
    if (!*old || ox_names_find(names, old))
        return OX_OK;
    const char *name = prefixed(part, "", old);
    const char *owner = name ? ox_names_find(all, name) : NULL;
    if (owner && owner != letters[p]) {
        const char *before = ox_merge_auto_prefix(part);
        name = before ? prefixed(part, before, old) : NULL;
        ++*n_renamed;
    }
    return name && ox_names_add(all, name, letters[p]) && ox_names_add(names, old, name)
               ? OX_OK
               : ox_merge_no_room(n->m);
}

static enum ox_status name_part(struct naming *n, size_t p)
{
    struct ox_merge_part *part = &n->m->parts[p];
    struct ox_merge_report *report = n->m->report;
    for (size_t g = 0; g < part->model->n_graphs; g++) {
        const struct ox_graph *graph = part->model->graphs[g];
        if (graph->function || ox_graph_root(graph) != graph->model->graph)
            continue;
        for (size_t i = 0; i < graph->n_values; i++)
            OX_TRY(name_inner(n, p, graph->values[i]->name, &part->values, &n->values,
                              &report->n_renamed_values));
        for (size_t i = 0; i < graph->n_nodes; i++)
            OX_TRY(name_inner(n, p, graph->nodes[i]->name, &part->nodes, &n->nodes,
                              &report->n_renamed_nodes));
    }
    return OX_OK;
}

/* Inputs of the second that are fed are called as what feeds them. */
static enum ox_status name_feeds(struct naming *n)
{
    const struct ox_graph *b = n->m->parts[1].model->graph;
    for (size_t i = 0; i < b->n_inputs; i++) {
        const struct ox_value *from = n->m->feeds[i].from;
        const char *name = from ? ox_names_find(&n->m->parts[0].values, from->name) : NULL;
        if (name && !ox_names_add(&n->m->parts[1].values, b->inputs[i]->name, name))
            return ox_merge_no_room(n->m);
    }
    return OX_OK;
}

enum ox_status ox_merge_name(struct ox_merger *m)
{
    struct naming n = {.m = m};
    enum ox_status status = claim_ports(&n);
    if (status == OX_OK)
        status = name_part(&n, 0);
    if (status == OX_OK)
        status = name_feeds(&n);
    if (status == OX_OK)
        status = name_part(&n, 1);
    ox_names_release(&n.values);
    ox_names_release(&n.nodes);
    return status;
}
