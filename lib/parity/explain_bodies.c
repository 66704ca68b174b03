/* Evidence inside If, Loop and Scan: their graphs on both sides, step by step. */
#include <string.h>

#include "model/value.h"
#include "parity/causes.h"

/* A graph of a node on both sides. */
struct bodies {
    const struct ox_graph *a, *b;
    const char *name;    /* of the attribute */
    const char *op_type; /* of the node */
};

/* The next node from *at on that is no constant; NULL. */
static const struct ox_node *next_step(const struct ox_graph *graph, size_t *at)
{
    while (*at < graph->n_nodes && strcmp(graph->nodes[*at]->op_type, "Constant") == 0)
        ++*at;
    return *at < graph->n_nodes ? graph->nodes[(*at)++] : NULL;
}

static size_t count_steps(const struct ox_graph *graph)
{
    size_t at = 0, n = 0;
    while (next_step(graph, &at))
        n++;
    return n;
}

/* Two values that Constant nodes make. */
static enum ox_status compare_made(struct ox_explaining *e, const struct ox_value *a,
                                   const struct ox_value *b, struct ox_error *err)
{
    const struct ox_stored *p = ox_value_stored(a), *q = ox_value_stored(b);
    struct ox_tensor *t = NULL, *u = NULL;
    char what[256];
    if (!p || !q)
        return ox_explain_attrs(e, a->producer, b->producer, err);
    enum ox_status status = ox_stored_load(a->graph->model, p, &t, err);
    if (status == OX_OK)
        status = ox_stored_load(b->graph->model, q, &u, err);
    snprintf(what, sizeof what, "constant '%.150s'", b->name);
    if (status == OX_OK)
        status = ox_explain_tensors(e, what, t, u, err);
    ox_tensor_release(t);
    ox_tensor_release(u);
    return status;
}

static bool is_made(const struct ox_value *value)
{
    return value && value->producer && strcmp(value->producer->op_type, "Constant") == 0;
}

/* Two nodes of one operator. */
static enum ox_status compare_steps(struct ox_explaining *e, const struct ox_node *a,
                                    const struct ox_node *b, struct ox_error *err)
{
    OX_TRY(ox_explain_attrs(e, a, b, err));
    OX_TRY(ox_explain_constants(e, a, b, err));
    for (size_t i = 0; i < a->n_inputs && i < b->n_inputs; i++)
        if (is_made(a->inputs[i]) && is_made(b->inputs[i]))
            OX_TRY(compare_made(e, a->inputs[i], b->inputs[i], err));
    return OX_OK;
}

static enum ox_status compare_bodies(struct ox_explaining *e, const struct bodies *bodies,
                                     struct ox_error *err)
{
    size_t n = count_steps(bodies->a), m = count_steps(bodies->b), at_a = 0, at_b = 0;
    const struct ox_node *a, *b;
    char label[OX_LABEL_SIZE], other[OX_LABEL_SIZE];
    if (n != m)
        ox_cause_add(e->causes, 80, "nodes", "%s of %s has %zu nodes in A, %zu in B", bodies->name,
                     bodies->op_type, n, m);
    /* Where one has more, they are told apart as far as they go together. */
    while ((a = next_step(bodies->a, &at_a)) && (b = next_step(bodies->b, &at_b))) {
        if (strcmp(a->op_type, b->op_type) != 0) {
            ox_cause_add(e->causes, n == m ? 93 : 79, "operator",
                         "in %s of %s: %s in A (node '%s') is %s in B (node '%s')", bodies->name,
                         bodies->op_type, a->op_type, ox_explain_label(a, label), b->op_type,
                         ox_explain_label(b, other));
            break;
        }
        OX_TRY(compare_steps(e, a, b, err));
    }
    return e->causes->failed ? ox_no_memory(err) : OX_OK;
}

enum ox_status ox_explain_bodies(struct ox_explaining *e, const struct ox_node *a,
                                 const struct ox_node *b, struct ox_error *err)
{
    for (size_t i = 0; i < b->n_attrs; i++) {
        const struct ox_attr *q = &b->attrs[i], *p = ox_node_attr(a, q->name);
        if (!p || p->type != OX_ATTR_GRAPH || q->type != OX_ATTR_GRAPH || !p->n || !q->n)
            continue;
        const struct bodies bodies = {p->graphs[0], q->graphs[0], q->name, b->op_type};
        OX_TRY(compare_bodies(e, &bodies, err));
    }
    return OX_OK;
}
