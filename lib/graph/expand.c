#include "graph/expand.h"

#include <string.h>

#include "graph/splice.h"

/* What the body's parameters are where the node says nothing: the schema's defaults. NULL: out of memory. */
static struct ox_attr *default_attrs(struct ox_arena *arena, const struct ox_schema *row, size_t *n)
{
    struct ox_attr *attrs = ox_arena_array(arena, row->n_attrs + 1, sizeof *attrs);
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

/* Brings the operators in a body to another version of their domain. */
static enum ox_status bring(struct ox_model *function, const char *domain, int64_t version,
                            bool *fits, struct ox_error *err)
{
    const struct ox_opset_goal goal = {domain, version};
    struct ox_conversion *conversion;
    OX_TRY(ox_convert_opset(&conversion, function, &goal, 1, err));
    *fits = ox_conversion_blocked(conversion) == 0;
    ox_conversion_release(conversion);
    return OX_OK;
}

enum ox_status ox_node_expand(struct ox_node *node, const struct ox_schema *row,
                              const struct ox_schema_body *body, bool *fits, struct ox_error *err)
{
    struct ox_model *model = node->graph->model, *function = NULL;
    const int64_t version = ox_graph_opset(node->graph, node->domain);
    size_t n_defaults;
    const struct ox_attr *defaults = default_attrs(&model->arena, row, &n_defaults);
    *fits = true;
    if (!defaults)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path);
    OX_TRY(ox_model_open_function(&function, model->env, body->data, body->bytes, err));
    enum ox_status status = OX_OK;
    if (body->opset != version)
        status = bring(function, node->domain, version, fits, err);
    if (status == OX_OK && *fits) {
        struct ox_splice splice = ox_splice_for(node, function->functions[0].body);
        splice.defaults = defaults;
        splice.n_defaults = n_defaults;
        status = ox_graph_splice(node->graph, &splice, err);
    }
    ox_model_release(function);
    return status;
}
