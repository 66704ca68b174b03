/* Common subexpressions: of nodes with the same operator, attributes and inputs the first serves all. */
#include <string.h>

#include "graph/match.h"

/* Adds what makes attributes equal; false: it holds something that is not compared. */
static bool add_attr(struct ox_strbuf *key, const struct ox_attr *attr)
{
    ox_strbuf_add(key, attr->name, strlen(attr->name) + 1);
    ox_strbuf_add(key, &attr->type, sizeof attr->type);
    ox_strbuf_add(key, &attr->n, sizeof attr->n);
    switch (attr->type) {
    case OX_ATTR_INT:
        ox_strbuf_add(key, &attr->i, sizeof attr->i);
        return true;
    case OX_ATTR_FLOAT:
        ox_strbuf_add(key, &attr->f, sizeof attr->f);
        return true;
    case OX_ATTR_STRING:
        ox_strbuf_add(key, &attr->s.n, sizeof attr->s.n);
        ox_strbuf_add(key, attr->s.p, attr->s.n);
        return true;
    case OX_ATTR_INTS:
        ox_strbuf_add(key, attr->ints, attr->n * sizeof *attr->ints);
        return true;
    case OX_ATTR_FLOATS:
        ox_strbuf_add(key, attr->floats, attr->n * sizeof *attr->floats);
        return true;
    default:
        return false;
    }
}

/* Small constants count by what is in them; to run a model numbers alone, its weights are read when needed. */
static void add_input(struct ox_rewrite *rw, struct ox_strbuf *key, const struct ox_value *value)
{
    enum { SMALL = 64 };
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    const size_t most = rw->to_run ? 1 : SMALL;
    size_t n;
    const struct ox_tensor *tensor = stored && stored->dtype != OX_STRING &&
                                             ox_dims_count(stored->rank, stored->dims, &n) &&
                                             n <= most
                                         ? ox_rw_const(rw, value)
                                         : NULL;
    ox_strbuf_putc(key, tensor ? 'c' : 'v');
    if (!tensor) {
        ox_strbuf_add(key, &value, sizeof value);
        return;
    }
    ox_strbuf_add(key, &tensor->dtype, sizeof tensor->dtype);
    ox_strbuf_add(key, &tensor->rank, sizeof tensor->rank);
    ox_strbuf_add(key, tensor->dims, tensor->rank * sizeof *tensor->dims);
    ox_strbuf_add(key, tensor->data, tensor->n * ox_dtype_size(tensor->dtype));
}

static bool make_key(struct ox_rewrite *rw, struct ox_strbuf *key, const struct ox_node *node)
{
    ox_strbuf_clear(key);
    ox_strbuf_add(key, node->op_type, strlen(node->op_type) + 1);
    ox_strbuf_add(key, node->domain, strlen(node->domain) + 1);
    ox_strbuf_add(key, &node->n_inputs, sizeof node->n_inputs);
    for (size_t i = 0; i < node->n_inputs; i++)
        add_input(rw, key, node->inputs[i]);
    ox_strbuf_add(key, &node->n_outputs, sizeof node->n_outputs);
    ox_strbuf_add(key, &node->n_attrs, sizeof node->n_attrs);
    for (size_t a = 0; a < node->n_attrs; a++)
        if (node->attrs[a].ref || !add_attr(key, &node->attrs[a]))
            return false;
    return !key->failed;
}

static bool may_merge(struct ox_rewrite *rw, const struct ox_node *node)
{
    if (!node->n_inputs || !node->n_outputs || node->overload[0])
        return false;
    const struct ox_op *op = ox_rw_op(rw, node);
    return op && !(op->flags & (OX_OP_RANDOM | OX_OP_ANY_KIND));
}

/* All users of the second go to the first; false where one of its outputs must stay. */
static bool serve(struct ox_rewrite *rw, struct ox_node *second, const struct ox_node *first)
{
    for (size_t i = 0; i < second->n_outputs; i++) {
        const struct ox_value *value = second->outputs[i];
        bool used = value && ox_rw_n_uses(rw, value) > 0;
        if (value && (ox_rw_is_pinned(rw, value) || (used && !first->outputs[i])))
            return false;
    }
    for (size_t i = 0; i < second->n_outputs; i++)
        if (second->outputs[i] && first->outputs[i])
            ox_rw_replace(rw, second->outputs[i], first->outputs[i]);
    ox_rw_remove(rw, second);
    return true;
}

enum ox_status ox_pass_merge_equal(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    struct ox_strmap seen;
    struct ox_strbuf key;
    ox_strmap_init(&seen);
    ox_strbuf_init(&key);
    enum ox_status status = OX_OK;
    for (size_t i = 0, n = graph->n_nodes; i < n && !rw->failed && status == OX_OK; i++) {
        struct ox_node *node = graph->nodes[i];
        uint32_t index = (uint32_t)i;
        bool is_new;
        status = ox_env_poll(rw->env, err);
        if (!may_merge(rw, node) || !make_key(rw, &key, node))
            continue;
        char *kept = ox_arena_copy(&rw->scratch, key.data, key.len);
        if (!kept || !ox_strmap_add(&seen, kept, key.len, &index, &is_new))
            rw->failed = true;
        else if (!is_new)
            serve(rw, node, graph->nodes[index]);
    }
    rw->failed |= key.failed;
    ox_strmap_release(&seen);
    ox_strbuf_release(&key);
    return status;
}
