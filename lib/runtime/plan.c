#include <stdlib.h>
#include <string.h>

#include "ops/custom.h"
#include "runtime/runtime.h"

/* How an operator is served, the same for all nodes that ask alike. */
struct resolved {
    const struct ox_op *op;
    const struct ox_schema *schema;
    const struct ox_function *function;
    const char *missing; /* why it is served by nothing; NULL */
    struct ox_missing_op report;
};

struct planner {
    struct ox_session *session;
    struct ox_strmap resolved_of; /* "domain\0name\0overload\0opset" -> index in resolved */
    struct resolved **resolved;
    size_t n_resolved, cap_resolved;
    size_t n_missing;
};

/* Where a graph's values are used last; id + 1 of the node by value id. */
struct liveness {
    const struct ox_graph *graph;
    uint32_t *last;     /* index of the node, NEVER for what stays until the end, UNUSED */
    uint32_t *first;    /* of the first that uses it, likewise */
    uint32_t *captured; /* of the first that has a subgraph which takes it, UNUSED */
    bool *live;         /* nodes that are needed */
};

#define UNUSED UINT32_MAX
#define NEVER (UINT32_MAX - 1)

static enum ox_status no_memory(struct ox_error *err)
{
    ox_fail(err, OX_NO_MEMORY, "out of memory while planning");
    return OX_NO_MEMORY;
}

/* ---- Finding who serves an operator ------------------------------------------------------------------------------ */

static enum ox_status resolve_new(struct planner *p, const struct ox_node *node, int64_t opset,
                                  struct resolved *to, struct ox_error *err)
{
    struct ox_arena *arena = &p->session->arena;
    to->function =
        ox_model_function(node->graph->model, node->domain, node->op_type, node->overload);
    if (to->function)
        return OX_OK;
    if (opset == 0) {
        to->missing = "the model does not import its domain";
        return OX_OK;
    }
    int newest = ox_schema_newest(node->domain);
    if (newest && opset > newest) {
        to->missing = ox_arena_printf(arena, "opset %lld is newer than %d, the newest known",
                                      (long long)opset, newest);
        return to->missing ? OX_OK : no_memory(err);
    }
    to->schema = ox_schema_lookup_any(p->session->env, node->domain, node->op_type, opset);
    to->op = ox_op_lookup(p->session->env, node->domain, node->op_type, opset);
    /* GroupNormalization 18 was deprecated after its release, not by it, and has a row of its own. */
    if (to->schema && to->schema->deprecated && !(to->op && to->op->since == to->schema->since)) {
        to->op = NULL;
        to->missing = ox_arena_printf(arena, "deprecated since opset %d", to->schema->since);
        return to->missing ? OX_OK : no_memory(err);
    }
    if (to->op && to->op->run)
        return OX_OK;
    to->op = NULL;
    if (to->schema && to->schema->body)
        OX_TRY(ox_body_find(p->session, to->schema, &to->function, err));
    if (!to->function)
        to->missing = to->schema || !newest ? "no kernel" : "no such operator";
    return OX_OK;
}

static enum ox_status resolve(struct planner *p, const struct ox_node *node, int64_t opset,
                              struct resolved **out, struct ox_error *err)
{
    struct ox_strbuf key;
    ox_strbuf_init(&key);
    ox_strbuf_add(&key, node->domain, strlen(node->domain) + 1);
    ox_strbuf_add(&key, node->op_type, strlen(node->op_type) + 1);
    ox_strbuf_add(&key, node->overload, strlen(node->overload) + 1);
    /* A standard operator's body does not see the model's functions. */
    ox_strbuf_printf(&key, "%lld%s", (long long)opset,
                     node->graph->model == p->session->planned ? "" : "s");
    enum ox_status status = OX_OK;
    if (key.failed) {
        status = no_memory(err);
        goto cleanup;
    }
    uint32_t index = ox_strmap_find(&p->resolved_of, key.data, key.len);
    if (index != OX_STRMAP_NONE) {
        *out = p->resolved[index];
        goto cleanup;
    }
    if (p->n_resolved == p->cap_resolved) {
        size_t cap = p->cap_resolved ? p->cap_resolved * 2 : 64;
        struct resolved **more = realloc(p->resolved, cap * sizeof(void *));
        if (!more) {
            status = no_memory(err);
            goto cleanup;
        }
        p->resolved = more;
        p->cap_resolved = cap;
    }
    struct resolved *made = ox_arena_alloc(&p->session->arena, sizeof *made);
    const char *kept = ox_arena_copy(&p->session->arena, key.data, key.len);
    index = (uint32_t)p->n_resolved;
    if (!made || !kept || !ox_strmap_add(&p->resolved_of, kept, key.len, &index, NULL)) {
        status = no_memory(err);
        goto cleanup;
    }
    p->resolved[p->n_resolved++] = made;
    OX_TRY_CLEANUP(resolve_new(p, node, opset, made, err));
    *out = made;
cleanup:
    ox_strbuf_release(&key);
    return status;
}

static const char *label_of(struct ox_session *session, const struct ox_node *node)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_node_label(&text, node);
    const char *label = ox_arena_text(&session->arena, &text);
    ox_strbuf_release(&text);
    return label;
}

static const char *path_of(struct ox_session *session, const struct ox_graph *graph)
{
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    ox_graph_path(&text, graph);
    const char *path = ox_arena_text(&session->arena, &text);
    ox_strbuf_release(&text);
    return path;
}

static enum ox_status note_missing(struct planner *p, const struct ox_node *node, int64_t opset,
                                   struct resolved *resolved, struct ox_error *err)
{
    struct ox_missing_op *report = &resolved->report;
    if (report->n_nodes++)
        return OX_OK;
    p->n_missing++;
    *report = (struct ox_missing_op){.domain = node->domain,
                                     .op_type = node->op_type,
                                     .opset = opset,
                                     .reason = resolved->missing,
                                     .n_nodes = 1};
    report->graph = path_of(p->session, node->graph);
    report->node = label_of(p->session, node);
    return report->graph && report->node ? OX_OK : no_memory(err);
}

/* One line that names all of them, as far as an error holds it. */
static enum ox_status report_missing(const struct planner *p, struct ox_error *err)
{
    const struct ox_run_options *options = &p->session->options;
    size_t name_bytes = (size_t)p->session->env->limits.name_bytes;
    struct ox_strbuf text;
    ox_strbuf_init(&text);
    size_t shown = 0;
    for (size_t i = 0; i < p->n_resolved; i++) {
        const struct ox_missing_op *op = &p->resolved[i]->report;
        if (!op->n_nodes)
            continue;
        if (options->on_missing)
            options->on_missing(options->missing_arg, op);
        if (text.len > OX_ERROR_BYTES * 3 / 4)
            continue;
        ox_strbuf_puts(&text, shown++ ? "; " : "");
        ox_strbuf_name(&text, op->domain[0] ? op->domain : "ai.onnx", name_bytes);
        ox_strbuf_putc(&text, '.');
        ox_strbuf_name(&text, op->op_type, name_bytes);
        ox_strbuf_printf(&text, " opset %lld (%s; %zu node%s, ", (long long)op->opset, op->reason,
                         op->n_nodes, op->n_nodes == 1 ? "" : "s");
        ox_strbuf_puts(&text, op->n_nodes == 1 ? "'" : "first '");
        ox_strbuf_name(&text, op->node, name_bytes);
        ox_strbuf_puts(&text, "'");
        if (op->graph[0]) {
            ox_strbuf_puts(&text, " in '");
            ox_strbuf_name(&text, op->graph, name_bytes);
            ox_strbuf_puts(&text, "'");
        }
        ox_strbuf_puts(&text, ")");
    }
    if (shown < p->n_missing)
        ox_strbuf_printf(&text, "; and %zu more", p->n_missing - shown);
    ox_fail(err, OX_UNSUPPORTED, "%zu operator%s not supported: %s", p->n_missing,
            p->n_missing == 1 ? " is" : "s are", text.data && !text.failed ? text.data : "");
    ox_strbuf_release(&text);
    return OX_UNSUPPORTED;
}

/* ---- Which values live how long ---------------------------------------------------------------------------------- */

/* Going backward, the first use met is the last one. */
static enum ox_status use(struct liveness *l, const struct ox_value *value,
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

static enum ox_status use_captured(struct liveness *l, const struct ox_node *owner,
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

static enum ox_status find_liveness(struct liveness *l, const struct ox_session *session,
                                    struct ox_value *const *outputs, size_t n_outputs,
                                    struct ox_error *err)
{
    const struct ox_graph *graph = l->graph;
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
    }
    return OX_OK;
}

/* Lists, for each step, the values that are released after it. */
static bool make_release_lists(struct ox_session *session, struct ox_plan *plan,
                               const struct liveness *l)
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

/* ---- Plans ------------------------------------------------------------------------------------------------------ */

struct ox_plan *ox_plan_find(const struct ox_session *session, const struct ox_graph *graph)
{
    uint32_t index = ox_strmap_find(&session->plan_of, (const char *)&graph, sizeof(void *));
    return index == OX_STRMAP_NONE ? NULL : session->plans[index];
}

static struct ox_plan *add_plan(struct ox_session *session, const struct ox_graph *graph)
{
    if (session->n_plans == session->cap_plans) {
        size_t cap = session->cap_plans ? session->cap_plans * 2 : 16;
        struct ox_plan **more = realloc(session->plans, cap * sizeof(void *));
        if (!more)
            return NULL;
        session->plans = more;
        session->cap_plans = cap;
    }
    struct ox_plan *plan = ox_arena_alloc(&session->arena, sizeof *plan);
    if (!plan)
        return NULL;
    plan->graph = graph;
    plan->constants =
        ox_arena_array(&session->arena, graph->n_values + 1, sizeof(struct ox_datum *));
    plan->wide = ox_arena_array(&session->arena, graph->n_values + 1, sizeof(struct ox_datum *));
    uint32_t index = (uint32_t)session->n_plans;
    if (!plan->constants || !plan->wide ||
        !ox_strmap_add(&session->plan_of, (const char *)&plan->graph, sizeof(void *), &index, NULL))
        return NULL;
    session->plans[session->n_plans++] = plan;
    return plan;
}

static enum ox_status plan_graph(struct planner *p, const struct ox_graph *graph, unsigned depth,
                                 struct ox_plan **out, struct ox_error *err);

/* Plans a graph that a step of `plan` leads to. */
static enum ox_status plan_nested(struct planner *p, struct ox_plan *plan,
                                  const struct ox_graph *graph, unsigned depth,
                                  struct ox_plan **out, struct ox_error *err)
{
    struct ox_plan *nested;
    OX_TRY(plan_graph(p, graph, depth + 1, &nested, err));
    if (OX_ADD_OVERFLOWS(plan->expanded, nested->expanded, &plan->expanded))
        plan->expanded = UINT64_MAX;
    if (plan->depth < nested->depth + 1)
        plan->depth = nested->depth + 1;
    *out = nested;
    return OX_OK;
}

static bool is_fixed_constant(const struct ox_node *node)
{
    if (node->n_inputs || strcmp(node->op_type, "Constant") != 0 || node->domain[0])
        return false;
    for (size_t a = 0; a < node->n_attrs; a++)
        if (node->attrs[a].ref)
            return false;
    return true;
}

static enum ox_status plan_node(struct planner *p, struct ox_plan *plan, const struct ox_node *node,
                                unsigned depth, struct ox_error *err)
{
    struct ox_session *session = p->session;
    struct ox_step *step = &plan->steps[plan->n_steps++];
    struct resolved *resolved = NULL;
    step->node = node;
    step->opset = ox_graph_opset(plan->graph, node->domain);
    if (!step->opset && !node->domain[0] && node->graph->model->ir_version < 3)
        step->opset = 1; /* before opset_import there was one version */
    OX_TRY(resolve(p, node, step->opset, &resolved, err));
    if (resolved->missing)
        OX_TRY(note_missing(p, node, step->opset, resolved, err));
    step->schema = resolved->schema;
    step->op = resolved->op;
    step->function = resolved->function;
    step->keep = step->op && is_fixed_constant(node);
    step->checked = ox_arena_array(&session->arena, node->n_inputs + 1, sizeof *step->checked);
    if (!step->checked)
        return no_memory(err);
    if (session->options.profile && !(step->label = label_of(session, node)))
        return no_memory(err);
    plan->expanded++;
    if (step->schema && !resolved->missing)
        OX_TRY(ox_node_check(session, node, step->schema, step->opset, err));
    if (step->function) {
        const struct ox_graph *body = step->function->body;
        if (node->n_inputs > body->n_inputs || node->n_outputs > body->n_outputs) {
            struct ox_run run = {.env = session->env, .node = node, .opset = step->opset};
            return ox_run_fail(&run, err, OX_INPUT,
                               "%zu inputs and %zu outputs for a function of %zu and %zu",
                               node->n_inputs, node->n_outputs, body->n_inputs, body->n_outputs);
        }
        OX_TRY(plan_nested(p, plan, body, depth, &step->callee, err));
    }
    for (size_t a = 0; a < node->n_attrs; a++) {
        const struct ox_attr *attr = &node->attrs[a];
        bool graphs = !attr->ref && ox_attr_has_graphs(attr);
        struct ox_plan *nested;
        for (size_t g = 0; graphs && g < attr->n; g++)
            OX_TRY(plan_nested(p, plan, attr->graphs[g], depth, &nested, err));
    }
    uint64_t limit = session->env->limits.expanded_nodes;
    if (limit && plan->expanded > limit)
        return ox_fail(err, OX_LIMIT,
                       "more than %llu nodes after expansion of functions (--limit expanded-nodes)",
                       (unsigned long long)limit);
    return OX_OK;
}

/* Constants are put off until the first node that takes them: quantizers put what dequantizes weights at the front of the file, and
 * all of them would be there as floats at once; and runs in step would wait for each other where one has all Constants there. */
struct order {
    const struct liveness *l;
    bool *waits;     /* nodes that are put off: they take nothing but constants */
    uint32_t *place; /* index of the node before which each runs, its own where it is not put off */
    uint32_t *until; /* by value id: of the first that takes it */
    uint32_t *before, *next; /* those put off, by that node and chained */
};

static bool make_order(struct order *o, struct ox_session *session, const struct liveness *l)
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
    return is_fixed_constant(maker) ||
           (o->l->first[value->id] == node->index && o->l->last[value->id] == node->index);
}

static bool can_wait(const struct order *o, const struct ox_node *node)
{
    if (!o->l->live[node->index] || ox_node_has_graphs(node) ||
        (!node->n_inputs && !is_fixed_constant(node)))
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

/* Indices of the nodes that are needed, as they run. */
static bool list_order(struct ox_session *session, const struct liveness *l, uint32_t *order)
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

static enum ox_status plan_steps(struct planner *p, struct ox_plan *plan,
                                 struct ox_value *const *outputs, size_t n_outputs, unsigned depth,
                                 struct ox_error *err)
{
    struct ox_session *session = p->session;
    const struct ox_graph *graph = plan->graph;
    struct liveness l = {
        .graph = graph,
        .last = ox_arena_array(&session->scratch, graph->n_values + 1, sizeof *l.last),
        .first = ox_arena_array(&session->scratch, graph->n_values + 1, sizeof *l.first),
        .captured = ox_arena_array(&session->scratch, graph->n_values + 1, sizeof *l.captured),
        .live = ox_arena_array(&session->scratch, graph->n_nodes + 1, sizeof *l.live)};
    uint32_t *order = ox_arena_array(&session->scratch, graph->n_nodes + 1, sizeof *order);
    if (!l.last || !l.first || !l.captured || !l.live || !order)
        return no_memory(err);
    OX_TRY(find_liveness(&l, session, outputs, n_outputs, err));
    size_t n_live = 0;
    for (size_t i = 0; i < graph->n_nodes; i++)
        n_live += l.live[i];
    plan->steps = ox_arena_array(&session->arena, n_live + 1, sizeof *plan->steps);
    if (!plan->steps || !list_order(session, &l, order))
        return no_memory(err);
    for (size_t i = 0; i < n_live; i++) {
        OX_TRY(ox_env_poll(session->env, err));
        OX_TRY(plan_node(p, plan, graph->nodes[order[i]], depth, err));
    }
    return make_release_lists(session, plan, &l) ? OX_OK : no_memory(err);
}

static enum ox_status plan_graph(struct planner *p, const struct ox_graph *graph, unsigned depth,
                                 struct ox_plan **out, struct ox_error *err)
{
    enum { DEEPEST = 1000 }; /* frames take a part of the stack each */
    struct ox_session *session = p->session;
    uint64_t limit = session->env->limits.call_depth;
    if (!limit || limit > DEEPEST)
        limit = DEEPEST;
    struct ox_plan *plan = ox_plan_find(session, graph);
    if (plan && plan->open)
        return ox_fail(err, OX_INPUT, "function '%s' calls itself",
                       graph->function ? graph->function->name : graph->name);
    if (depth + (plan ? plan->depth : 1) > limit + 1)
        return ox_fail(err, OX_LIMIT,
                       "functions and subgraphs are nested over %llu deep (--limit call-depth)",
                       (unsigned long long)limit);
    if (plan) {
        *out = plan;
        return OX_OK;
    }
    plan = add_plan(session, graph);
    if (!plan)
        return no_memory(err);
    plan->open = true;
    plan->depth = 1;
    bool named = session->options.profile || session->options.on_body_value;
    if (named && !(plan->path = path_of(session, graph)))
        return no_memory(err);
    bool is_main = graph == session->planned->graph;
    struct ox_arena_mark mark = ox_arena_mark(&session->scratch);
    enum ox_status status = plan_steps(p, plan, is_main ? session->made : graph->outputs,
                                       is_main ? session->n_outputs : graph->n_outputs, depth, err);
    ox_arena_rewind(&session->scratch, mark);
    plan->open = false;
    if (status == OX_OK)
        *out = plan;
    return status;
}

enum ox_status ox_plan_make(struct ox_session *session, struct ox_error *err)
{
    struct planner planner = {.session = session};
    ox_strmap_init(&planner.resolved_of);
    enum ox_status status = plan_graph(&planner, session->planned->graph, 1, &session->main, err);
    if (status == OX_OK && planner.n_missing)
        status = report_missing(&planner, err);
    if (status == OX_OK)
        status = ox_shaped_plan(session, session->main, err);
    ox_strmap_release(&planner.resolved_of);
    free(planner.resolved);
    return status;
}

void ox_plan_release(struct ox_session *session)
{
    for (size_t i = 0; i < session->n_plans; i++) {
        struct ox_plan *plan = session->plans[i];
        ox_shaped_drop(plan);
        for (size_t v = 0; v < plan->graph->n_values; v++) {
            ox_datum_release(plan->constants[v]);
            ox_datum_release(plan->wide[v]);
        }
        for (size_t k = 0; k < plan->n_steps; k++)
            ox_prepared_release(&plan->steps[k].prepared, ox_env_budget(session->env));
    }
    for (size_t i = 0; i < session->n_bodies; i++)
        ox_model_release(session->bodies[i].model);
    ox_strmap_release(&session->plan_of);
    free(session->plans);
    free(session->bodies);
}
