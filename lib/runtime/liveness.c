/* Which values of a graph live how long, and in which order its nodes run. */
#include <string.h>

#include "runtime/liveness.h"

#define UNUSED OX_LIVE_UNUSED
#define NEVER OX_LIVE_NEVER

/* Going backward, the first use met is the last one. */
static enum ox_status use(struct ox_liveness *l, const struct ox_value *value,
                          const struct ox_node *by, const struct ox_session *session,
                          struct ox_error *err)
{
    const struct ox_node *producer = value->producer;
    bool defined = producer ? !by || producer->index < by->index
                            : value->is_input || value->init || value->sparse_init || value->outer;
    if (!defined) {
        struct ox_strbuf name;
        ox_strbuf_init(&name);
        ox_strbuf_name(&name, value->name, (size_t)session->env->limits.name_bytes);
        const char *text = ox_strbuf_text(&name, NULL);
        struct ox_run run = {.env = session->env, .node = by};
        if (by) {
            run.opset = ox_graph_opset(l->graph, by->domain);
            ox_run_fail(&run, err, OX_INPUT,
                        producer ? "its input '%s' is made by a later node"
                                 : "its input '%s' is made by no node",
                        text);
        } else {
            ox_fail(err, OX_INPUT, "output '%s' is made by no node", text);
        }
        ox_strbuf_release(&name);
        return OX_INPUT;
    }
    if (l->last[value->id] == UNUSED)
        l->last[value->id] = by ? by->index : NEVER;
    l->first[value->id] = by ? by->index : NEVER;
    return OX_OK;
}

static enum ox_status use_captured(struct ox_liveness *l, const struct ox_node *owner,
                                   const struct ox_node *node, const struct ox_session *session,
                                   struct ox_error *err)
{
    for (size_t a = 0; a < node->n_attrs; a++) {
        const struct ox_attr *attr = &node->attrs[a];
        if (attr->ref || !ox_attr_has_graphs(attr))
            continue;
        for (size_t g = 0; g < attr->n; g++) {
            const struct ox_graph *graph = attr->graphs[g];
            for (size_t v = 0; v < graph->n_values; v++) {
                const struct ox_value *value = graph->values[v]->outer;
                while (value && value->graph != l->graph)
                    value = value->outer;
                if (!value)
                    continue;
                l->captured[value->id] = owner->index;
                OX_TRY(use(l, value, owner, session, err));
            }
            for (size_t n = 0; n < graph->n_nodes; n++)
                OX_TRY(use_captured(l, owner, graph->nodes[n], session, err));
        }
    }
    return OX_OK;
}

enum ox_status ox_liveness_find(struct ox_liveness *l, struct ox_session *session,
                                const struct ox_graph *graph, struct ox_value *const *outputs,
                                size_t n_outputs, struct ox_error *err)
{
    struct ox_arena *arena = &session->scratch;
    *l = (struct ox_liveness){.graph = graph,
                              .last = ox_arena_array(arena, graph->n_values + 1, sizeof *l->last),
                              .first = ox_arena_array(arena, graph->n_values + 1, sizeof *l->first),
                              .captured =
                                  ox_arena_array(arena, graph->n_values + 1, sizeof *l->captured),
                              .live = ox_arena_array(arena, graph->n_nodes + 1, sizeof *l->live)};
    if (!l->last || !l->first || !l->captured || !l->live)
        return ox_no_memory(err);
    memset(l->last, 0xFF, graph->n_values * sizeof *l->last);
    memset(l->first, 0xFF, graph->n_values * sizeof *l->first);
    memset(l->captured, 0xFF, graph->n_values * sizeof *l->captured);
    for (size_t i = 0; i < n_outputs; i++)
        if (outputs[i])
            OX_TRY(use(l, outputs[i], NULL, session, err));
    bool is_main = graph == session->planned->graph && session->options.on_value;
    for (size_t i = 0; is_main && i < session->options.n_watched; i++) {
        const struct ox_value *value =
            ox_graph_value(session->planned->graph, session->options.watched[i]);
        if (value && value->producer)
            l->live[value->producer->index] = true;
    }
    for (size_t i = graph->n_nodes; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t o = 0; o < node->n_outputs; o++)
            l->live[i] |= node->outputs[o] && l->last[node->outputs[o]->id] != UNUSED;
        if (!l->live[i])
            continue;
        for (size_t o = 0; o < node->n_outputs; o++)
            if (node->outputs[o] && l->last[node->outputs[o]->id] == UNUSED)
                l->last[node->outputs[o]->id] = (uint32_t)i;
        for (size_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k])
                OX_TRY(use(l, node->inputs[k], node, session, err));
        OX_TRY(use_captured(l, node, node, session, err));
        l->n_live++;
    }
    return OX_OK;
}

bool ox_liveness_releases(struct ox_session *session, struct ox_plan *plan,
                          const struct ox_liveness *l)
{
    const struct ox_graph *graph = plan->graph;
    uint32_t *end = ox_arena_array(&session->scratch, graph->n_nodes + 1, sizeof *end);
    uint32_t *list = ox_arena_array(&session->arena, graph->n_values + 1, sizeof *list);
    if (!end || !list)
        return false;
    for (size_t v = 0; v < graph->n_values; v++)
        if (l->last[v] < NEVER)
            end[l->last[v] + 1]++;
    for (size_t i = 0; i < graph->n_nodes; i++)
        end[i + 1] += end[i];
    for (size_t s = 0; s < plan->n_steps; s++) {
        uint32_t i = plan->steps[s].node->index;
        plan->steps[s].release = list + end[i];
        plan->steps[s].n_release = end[i + 1] - end[i];
    }
    for (size_t v = 0; v < graph->n_values; v++)
        if (l->last[v] < NEVER)
            list[end[l->last[v]]++] = (uint32_t)v;
    return true;
}

bool ox_node_is_constant(const struct ox_node *node)
{
    if (node->n_inputs || strcmp(node->op_type, "Constant") != 0 || node->domain[0])
        return false;
    for (size_t a = 0; a < node->n_attrs; a++)
        if (node->attrs[a].ref)
            return false;
    return true;
}

/* Constants are put off until the first node that takes them: quantizers put what dequantizes weights at the front of the file, and
 * all of them would be there as floats at once; and runs in step would wait for each other where one has all Constants there. */
struct order {
    const struct ox_liveness *l;
    bool *waits;     /* nodes that are put off: they take nothing but constants */
    uint32_t *place; /* index of the node before which each runs, its own where it is not put off */
    uint32_t *until; /* by value id: of the first that takes it */
    uint32_t *before, *next; /* those put off, by that node and chained */
};

static bool make_order(struct order *o, struct ox_session *session, const struct ox_liveness *l)
{
    const size_t n = l->graph->n_nodes + 1, n_values = l->graph->n_values + 1;
    struct ox_arena *arena = &session->scratch;
    *o = (struct order){.l = l,
                        .waits = ox_arena_array(arena, n, sizeof *o->waits),
                        .place = ox_arena_array(arena, n, sizeof *o->place),
                        .until = ox_arena_array(arena, n_values, sizeof *o->until),
                        .before = ox_arena_array(arena, n, sizeof *o->before),
                        .next = ox_arena_array(arena, n, sizeof *o->next)};
    if (!o->waits || !o->place || !o->until || !o->before || !o->next)
        return false;
    memcpy(o->until, l->captured, l->graph->n_values * sizeof *o->until);
    memset(o->before, 0xFF, n * sizeof *o->before);
    return true;
}

/* Whether a value is there whenever it is taken, or is put off itself and taken by this node alone. */
static bool is_there(const struct order *o, const struct ox_node *node,
                     const struct ox_value *value)
{
    if (value->init)
        return true;
    const struct ox_node *maker = value->producer;
    if (!maker || !o->waits[maker->index])
        return false;
    return ox_node_is_constant(maker) ||
           (o->l->first[value->id] == node->index && o->l->last[value->id] == node->index);
}

static bool can_wait(const struct order *o, const struct ox_node *node)
{
    if (!o->l->live[node->index] || ox_node_has_graphs(node) ||
        (!node->n_inputs && !ox_node_is_constant(node)))
        return false;
    for (size_t k = 0; k < node->n_outputs; k++) {
        const struct ox_value *value = node->outputs[k];
        if (value && o->l->first[value->id] >= NEVER)
            return false;
    }
    for (size_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && !is_there(o, node, node->inputs[k]))
            return false;
    return true;
}

static void put_off(struct order *o, const struct ox_node *node)
{
    const uint32_t i = (uint32_t)node->index;
    o->place[i] = o->waits[i] ? NEVER : i;
    for (size_t k = 0; k < node->n_outputs && o->waits[i]; k++)
        if (node->outputs[k] && o->until[node->outputs[k]->id] < o->place[i])
            o->place[i] = o->until[node->outputs[k]->id];
    for (size_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] && o->place[i] < o->until[node->inputs[k]->id])
            o->until[node->inputs[k]->id] = o->place[i];
    if (o->place[i] == i)
        return;
    o->next[i] = o->before[o->place[i]];
    o->before[o->place[i]] = i;
}

bool ox_liveness_order(struct ox_session *session, const struct ox_liveness *l, uint32_t *order)
{
    const struct ox_graph *graph = l->graph;
    struct order o;
    if (!make_order(&o, session, l))
        return false;
    for (size_t i = 0; i < graph->n_nodes; i++)
        o.waits[i] = session->options.lean && can_wait(&o, graph->nodes[i]);
    for (size_t i = graph->n_nodes; i-- > 0;)
        if (l->live[i])
            put_off(&o, graph->nodes[i]);
    size_t n_listed = 0;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (!l->live[i] || o.waits[i])
            continue;
        for (uint32_t k = o.before[i]; k != UNUSED; k = o.next[k])
            order[n_listed++] = k;
        order[n_listed++] = (uint32_t)i;
    }
    return true;
}
