/* Operators that a version does not have, by the bodies that the standard defines them with. */
#include <string.h>

#include "graph/convert/convert_adapters.h"
#include "graph/convert/convert_job.h"
#include "graph/splice.h"
#include "schema/schema.h"

/* What the body's parameters are where the node says nothing: the schema's defaults. NULL: out of memory. */
static struct ox_attr *default_attrs(struct ox_convert_job *job, const struct ox_schema *row,
                                     size_t *n)
{
    struct ox_attr *attrs = ox_arena_array(&job->model->arena, row->n_attrs + 1, sizeof *attrs);
    *n = 0;
    for (size_t i = 0; attrs && i < row->n_attrs; i++) {
        const struct ox_schema_attr *from = &row->attrs[i];
        struct ox_attr attr = {.name = from->name, .type = (enum ox_attr_type)from->type, .n = 1};
        switch (from->default_kind) {
        case OX_DEFAULT_INT:
            attr.i = from->i;
            break;
        case OX_DEFAULT_FLOAT:
            attr.f = from->f;
            break;
        case OX_DEFAULT_STRING:
            attr.s = (struct ox_str){from->s, strlen(from->s)};
            break;
        case OX_DEFAULT_INTS:
            attr.ints = from->ints;
            attr.n = from->n;
            break;
        default:
            continue;
        }
        attrs[(*n)++] = attr;
    }
    return attrs;
}

/* The standard's own definition of an operator that the next version does not have, in operators of this one. */
static enum ox_status expand(struct ox_convert_job *job, struct ox_node *node,
                             const struct ox_schema *row, const struct ox_schema_body *body)
{
    struct ox_model *model = NULL;
    size_t n_defaults;
    const struct ox_attr *defaults = default_attrs(job, row, &n_defaults);
    if (!defaults)
        return ox_convert_no_room(job);
    OX_TRY(ox_model_open_function(&model, job->model->env, body->data, body->bytes, job->err));
    struct ox_splice splice = ox_splice_for(node, model->functions[0].body);
    splice.defaults = defaults;
    splice.n_defaults = n_defaults;
    enum ox_status status = ox_graph_splice(node->graph, &splice, job->err);
    ox_model_release(model);
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
