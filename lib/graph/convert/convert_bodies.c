/* Operators that a version does not have, by the bodies that the standard defines them with. */
#include "graph/convert/convert_adapters.h"
#include "graph/convert/convert_job.h"
#include "graph/expand.h"

/* The standard's own definition of an operator that the next version does not have, in operators of this one. */
static enum ox_status expand(struct ox_convert_job *job, struct ox_node *node,
                             const struct ox_schema *row, const struct ox_schema_body *body)
{
    bool fits;
    enum ox_status status = ox_node_expand(node, row, body, &fits, job->err);
    if (status == OX_OK && !ox_node_set_add(&job->removed, node))
        status = ox_convert_no_room(job);
    job->result->n_changed += status == OX_OK;
    job->stale = job->untidy = true;
    return status;
}

static enum ox_status expand_graph(struct ox_convert_job *job, struct ox_graph *graph,
                                   int64_t version, int64_t next)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        if (!ox_convert_is_ours(job, node) || !ox_convert_is_there(job, node) ||
            ox_schema_find(job->domain, node->op_type, next))
            continue;
        const struct ox_schema *row = ox_schema_find(job->domain, node->op_type, version);
        const struct ox_schema_body *body = row ? ox_schema_body_at(row, version) : NULL;
        const struct ox_adapter_row *by_hand =
            row ? ox_adapter_find(job->domain, node->op_type, row->since) : NULL;
        if (body && body->opset == version && !(by_hand && by_hand->down))
            OX_TRY(expand(job, node, row, body));
    }
    return OX_OK;
}

enum ox_status ox_convert_expand(struct ox_convert_job *job, const struct ox_function *function,
                                 int64_t version, int64_t next)
{
    for (size_t g = 0; g < job->model->n_graphs; g++) {
        if (ox_convert_in_unit(job->model->graphs[g], function))
            OX_TRY(expand_graph(job, job->model->graphs[g], version, next));
    }
    return OX_OK;
}
