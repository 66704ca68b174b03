/* From one version of a domain to the next: types, nodes, graphs. */
#include <stdlib.h>
#include <string.h>

#include "graph/convert/convert_adapters.h"
#include "graph/convert/convert_job.h"
#include "schema/schema.h"

/* ---- Types -------------------------------------------------------------------------------------------------------- */

static enum ox_status infer_again(struct ox_convert_job *job)
{
    struct ox_model *model = job->model;
    if (job->shapes && !job->stale)
        return OX_OK;
    ox_shapes_release(job->shapes);
    job->shapes = NULL;
    free(job->n_known);
    job->n_known = calloc(model->n_graphs + 1, sizeof *job->n_known);
    if (!job->n_known)
        return ox_convert_no_room(job);
    OX_TRY(ox_shapes_infer(&job->shapes, model, NULL, NULL, job->err));
    for (size_t g = 0; g < model->n_graphs; g++)
        job->n_known[g] = model->graphs[g]->n_values;
    job->n_graphs_known = model->n_graphs;
    job->stale = false;
    return OX_OK;
}

/* ---- A node ------------------------------------------------------------------------------------------------------- */

/* The row that says that `next` has no more what onnxruntime had added to the domain until then; NULL. */
static const struct ox_schema *withdrawn(const struct ox_convert_job *job, const char *op_type,
                                         int64_t version, int64_t next)
{
    const struct ox_schema *row = ox_schema_find_foreign(job->domain, op_type, next);
    bool is_last = row && row->deprecated && row->since == next && next > version;
    return is_last && !ox_schema_find(job->domain, op_type, version) ? row : NULL;
}

static struct ox_adapt adapt_of(struct ox_convert_job *job, struct ox_node *node, int64_t version,
                                int64_t next, struct ox_strbuf *blocked)
{
    struct ox_adapt c = {
        .model = job->model,
        .shapes = job->shapes,
        .n_known = job->n_known,
        .n_graphs_known = job->n_graphs_known,
        .graph = node->graph,
        .node = node,
        .domain = job->domain,
        .version = version,
        .next = next,
        .from = ox_schema_find(job->domain, node->op_type, version),
        .to = ox_schema_find(job->domain, node->op_type, next),
        .blocked = blocked,
        .freed = &job->freed,
        .err = job->err,
    };
    const struct ox_schema *gone = withdrawn(job, node->op_type, version, next);
    if (gone) {
        c.from = ox_schema_find_foreign(job->domain, node->op_type, version);
        c.to = gone;
    }
    return c;
}

static bool convert_node(struct ox_adapt *c)
{
    bool up = c->next > c->version;
    bool gone = !c->to || (c->to->deprecated && !c->from->deprecated);
    const struct ox_adapter_row *row =
        ox_adapter_find(c->domain, c->node->op_type, up ? (int)c->next : c->from->since);
    bool (*adapter)(struct ox_adapt *) = !row ? NULL : up ? row->up : row->down;
    if (adapter && !adapter(c))
        return false;
    if (c->replaced)
        return true;
    if (!adapter && gone)
        return ox_adapt_block(c,
                              up ? "the operator is deprecated in opset %lld, and nothing stands "
                                   "for it"
                                 : "the operator is not in opset %lld, and nothing there stands "
                                   "for it",
                              (long long)c->next);
    return !c->to || ox_adapt_by_schema(c);
}

static enum ox_status adapt_node(struct ox_convert_job *job, struct ox_node *node, int64_t version,
                                 int64_t next)
{
    struct ox_strbuf blocked;
    ox_strbuf_init(&blocked);
    struct ox_adapt c = adapt_of(job, node, version, next, &blocked);
    enum ox_status status = OX_OK;
    bool stays = c.from == c.to;
    if (!c.from || (stays && (next > version || *job->domain)))
        return OX_OK; /* an operator that the standard does not know, or no new row */
    size_t n_nodes = node->graph->n_nodes;
    bool good = stays ? ox_down_plain(&c) : convert_node(&c);
    if (c.status != OX_OK)
        status = c.status;
    else if (!good)
        status = ox_convert_note(job, node, true, version, next, blocked.data ? blocked.data : "?");
    if (status == OX_OK && !good && !ox_node_set_add(&job->blocked, node))
        status = ox_convert_no_room(job);
    if (status == OX_OK && c.replaced && !ox_node_set_add(&job->removed, node))
        status = ox_convert_no_room(job);
    job->stale |= node->graph->n_nodes != n_nodes || c.replaced;
    job->untidy |= job->stale;
    job->result->n_changed += good && (node->graph->n_nodes != n_nodes || c.replaced);
    ox_strbuf_release(&blocked);
    return status;
}

/* ---- A version ---------------------------------------------------------------------------------------------------- */

/* Takes out what was replaced and puts what replaces it in its place. */
static enum ox_status tidy(struct ox_convert_job *job, struct ox_graph *graph)
{
    if (!job->untidy)
        return OX_OK;
    bool *remove = calloc(graph->n_nodes + 1, sizeof *remove);
    if (!remove)
        return ox_convert_no_room(job);
    bool any = false;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        remove[i] = ox_node_set_has(&job->removed, graph->nodes[i]);
        any |= remove[i];
    }
    if (any)
        ox_graph_remove_nodes(graph, remove);
    free(remove);
    enum ox_status status = ox_graph_sort(graph, job->err);
    return status == OX_OK ? OX_OK : ox_fail_context(job->err, status, "%s", job->model->path);
}

/* All graphs of a function, or of the model outside functions, from one version to the next. */
static enum ox_status step(struct ox_convert_job *job, const struct ox_function *function,
                           int64_t version, int64_t next)
{
    struct ox_model *model = job->model;
    if (next < version)
        OX_TRY(ox_convert_expand(job, function, version, next));
    OX_TRY(infer_again(job));
    /* Nodes and graphs that are added from here on are of the next version. */
    size_t n_graphs = model->n_graphs;
    struct ox_graph **graphs = calloc(n_graphs + 1, sizeof(*graphs));
    if (!graphs)
        return ox_convert_no_room(job);
    memcpy(graphs, model->graphs, n_graphs * sizeof(*graphs));
    enum ox_status status = OX_OK;
    for (size_t g = 0; g < n_graphs; g++) {
        size_t n = graphs[g]->n_nodes;
        for (size_t i = 0; i < n && ox_convert_in_unit(graphs[g], function) && status == OX_OK;
             i++) {
            struct ox_node *node = graphs[g]->nodes[i];
            if (ox_convert_is_ours(job, node) && ox_convert_is_there(job, node))
                status = adapt_node(job, node, version, next);
        }
    }
    for (size_t g = 0; g < n_graphs && status == OX_OK; g++) {
        if (ox_convert_in_unit(graphs[g], function))
            status = tidy(job, graphs[g]);
    }
    job->untidy = false;
    free(graphs);
    return status;
}

static bool differs(const struct ox_convert_job *job, const struct ox_function *function,
                    int64_t version, int64_t next)
{
    const struct ox_model *model = job->model;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes && ox_convert_in_unit(graph, function); i++) {
            const char *op = graph->nodes[i]->op_type;
            if (ox_convert_is_ours(job, graph->nodes[i]) &&
                (ox_schema_find(job->domain, op, version) !=
                     ox_schema_find(job->domain, op, next) ||
                 withdrawn(job, op, version, next) ||
                 (next < version && ox_has_plain(graph->nodes[i]))))
                return true;
        }
    }
    return false;
}

enum ox_status ox_convert_unit(struct ox_convert_job *job, const struct ox_function *function,
                               struct ox_opset *opset, int64_t to)
{
    while (opset->version != to) {
        int64_t next = opset->version + (to > opset->version ? 1 : -1);
        OX_TRY(ox_env_poll(job->model->env, job->err));
        if (differs(job, function, opset->version, next))
            OX_TRY(step(job, function, opset->version, next));
        opset->version = next;
    }
    return OX_OK;
}
