/* The part of a graph where a value departs, and what it computes there. */
#include <string.h>

#include "parity/causes.h"

/* ---- The part of the graph ----------------------------------------------------------------------------------------- */

const struct ox_value *ox_explain_partner(const struct ox_explaining *e, const struct ox_value *b)
{
    const struct ox_parity *p = e->parity;
    for (size_t i = 0; b->producer && i < p->n_pairs; i++) {
        if (p->pairs[i].b == b)
            return p->pairs[i].a;
    }
    if (b->producer || b->init)
        return NULL;
    return ox_graph_value(p->walkers[OX_ROLE_A].session->main->graph, b->name);
}

static bool is_paired(const struct ox_parity *p, bool of_a, const struct ox_value *value)
{
    const struct ox_walker *w = &p->walkers[of_a ? OX_ROLE_A : OX_ROLE_B];
    uint32_t at = ox_strmap_find(&w->pair_of, value->name, strlen(value->name));
    return at != OX_STRMAP_NONE && !p->pairs[at].mismatched_shape;
}

static bool add_once(const void **list, size_t *n, const void *item)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i] == item)
            return false;
    if (*n == OX_MOST_REGION)
        return false;
    list[(*n)++] = item;
    return true;
}

/* What a value's elements are says nothing about its shape. */
static bool reads_shape_only(const struct ox_node *node)
{
    return strcmp(node->op_type, "Shape") == 0 || strcmp(node->op_type, "Size") == 0;
}

/* From the value backwards until values that both sides have; constants stay outside, and what is only asked for its shape. */
void ox_region_cut(struct ox_region *region, const struct ox_parity *p, bool of_a,
                   const struct ox_value *value)
{
    const void *nodes[OX_MOST_REGION], *entries[OX_MOST_REGION];
    size_t n_nodes = 0, n_entries = 0;
    add_once(nodes, &n_nodes, value->producer);
    for (size_t at = 0; at < n_nodes; at++) {
        const struct ox_node *node = nodes[at];
        for (size_t i = 0; i < node->n_inputs && !reads_shape_only(node); i++) {
            const struct ox_value *in = node->inputs[i];
            if (!in || in->init || in->sparse_init)
                continue;
            if (!in->producer || is_paired(p, of_a, in))
                add_once(entries, &n_entries, in);
            else
                add_once(nodes, &n_nodes, in->producer);
        }
    }
    region->n_nodes = n_nodes;
    region->n_entries = n_entries;
    for (size_t i = 0; i < n_nodes; i++) {
        const struct ox_node *node = nodes[i];
        size_t at = i;
        for (; at > 0 && region->nodes[at - 1]->index > node->index; at--)
            region->nodes[at] = region->nodes[at - 1];
        region->nodes[at] = node;
    }
    for (size_t i = 0; i < n_entries; i++)
        region->entries[i] = entries[i];
}

const struct ox_node *ox_region_find(const struct ox_region *region, const char *op_type)
{
    for (size_t i = region->n_nodes; i-- > 0;)
        if (strcmp(region->nodes[i]->op_type, op_type) == 0)
            return region->nodes[i];
    return NULL;
}

size_t ox_region_count(const struct ox_region *region, const char *op_type)
{
    size_t n = 0;
    for (size_t i = 0; i < region->n_nodes; i++)
        n += strcmp(region->nodes[i]->op_type, op_type) == 0;
    return n;
}

const struct ox_schema *ox_explain_schema(const struct ox_node *node)
{
    return ox_schema_find(node->domain, node->op_type, ox_graph_opset(node->graph, node->domain));
}

const char *ox_explain_label(const struct ox_node *node, char text[OX_LABEL_SIZE])
{
    if (*node->name)
        snprintf(text, OX_LABEL_SIZE, "%s", node->name);
    else
        snprintf(text, OX_LABEL_SIZE, "#%u", (unsigned)node->index);
    return text;
}

const char *ox_explain_what(const struct ox_explaining *e, const struct ox_node *node,
                            char text[OX_WHAT_SIZE])
{
    char label[OX_LABEL_SIZE];
    if (e->b.n_nodes > 1 && node->graph == e->b.nodes[0]->graph)
        snprintf(text, OX_WHAT_SIZE, "%.64s '%s'", node->op_type, ox_explain_label(node, label));
    else
        snprintf(text, OX_WHAT_SIZE, "%.64s", node->op_type);
    return text;
}

size_t ox_parity_sources(const struct ox_parity *p, size_t i, size_t *sources, size_t most)
{
    struct ox_region region;
    size_t n = 0;
    if (i >= p->n_compared)
        return 0;
    ox_region_cut(&region, p, false, p->pairs[p->compared[i]].b);
    for (size_t k = 0; k < region.n_entries; k++) {
        const char *name = region.entries[k]->name;
        uint32_t at = ox_strmap_find(&p->walkers[OX_ROLE_B].pair_of, name, strlen(name));
        size_t low = 0, high = p->n_compared;
        while (at != OX_STRMAP_NONE && low < high) {
            size_t middle = (low + high) / 2;
            if (p->compared[middle] < at)
                low = middle + 1;
            else
                high = middle;
        }
        if (at == OX_STRMAP_NONE || low == p->n_compared || p->compared[low] != at)
            continue;
        if (n < most)
            sources[n] = low;
        n++;
    }
    return n;
}

/* ---- Values -------------------------------------------------------------------------------------------------------- */

bool ox_explain_is_of_model(const struct ox_explaining *e, bool of_a, const char *name)
{
    const struct ox_graph *graph = e->parity->models[of_a ? 0 : 1]->graph;
    return graph && ox_graph_value(graph, name);
}

enum ox_status ox_explain_fetch(struct ox_explaining *e, bool of_a, const char *const *names,
                                size_t n, struct ox_datum **out, struct ox_error *err)
{
    const struct ox_parity *p = e->parity;
    struct ox_datum *const *given = of_a ? e->a_inputs : e->b_inputs;
    struct ox_run_options options = {
        .lean = true, .seed = p->options.seed, .outputs = names, .n_outputs = n};
    struct ox_session *session = NULL;
    for (size_t i = 0; i < n; i++)
        out[i] = NULL;
    /* What rewriting has made is not in the model. */
    for (size_t i = 0; i < n; i++)
        if (!ox_explain_is_of_model(e, of_a, names[i]))
            return OX_OK;
    OX_TRY(ox_session_new(&session, p->models[of_a ? 0 : 1], &options, err));
    enum ox_status status = ox_session_run(session, given, out, err);
    ox_session_release(session);
    return status;
}

enum ox_status ox_explain_distance(const struct ox_explaining *e, const struct ox_datum *a,
                                   const struct ox_datum *b, struct ox_metrics *out,
                                   struct ox_error *err)
{
    const struct ox_metrics_options exact = {.tolerance = {.rtol = 0, .atol = 0}};
    struct ox_meter *meter;
    OX_TRY(ox_meter_new(&meter, e->parity->env, &exact, err));
    enum ox_status status = ox_meter_add(meter, a, b, err);
    if (status == OX_OK)
        ox_meter_read(meter, out);
    ox_meter_release(meter);
    return status;
}

bool ox_explain_is_constant(const struct ox_value *value)
{
    const void *seen[OX_MOST_REGION];
    size_t n = 0;
    if (value->init)
        return true;
    if (!value->producer || !add_once(seen, &n, value->producer))
        return false;
    for (size_t at = 0; at < n; at++) {
        const struct ox_node *node = seen[at];
        for (size_t i = 0; i < node->n_inputs; i++) {
            const struct ox_value *in = node->inputs[i];
            if (!in || in->init)
                continue;
            if (!in->producer || n == OX_MOST_REGION)
                return false;
            add_once(seen, &n, in->producer);
        }
        if (ox_node_has_graphs(node))
            return false;
    }
    return true;
}

enum ox_status ox_explain_constant(struct ox_explaining *e, bool of_a, const struct ox_value *value,
                                   struct ox_tensor **out, struct ox_error *err)
{
    *out = NULL;
    if (value->init)
        return ox_stored_load(value->graph->model, value->init, out, err);
    if (!ox_explain_is_constant(value))
        return OX_OK;
    struct ox_datum *datum = NULL;
    OX_TRY(ox_explain_fetch(e, of_a, &value->name, 1, &datum, err));
    if (datum && datum->kind == OX_DATUM_TENSOR)
        *out = ox_tensor_ref(datum->tensor);
    ox_datum_release(datum);
    return OX_OK;
}
