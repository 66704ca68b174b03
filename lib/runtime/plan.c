/* What runs, step by step: a plan a graph, those of functions and subgraphs too. */
#include <stdlib.h>

#include "ops/attr_find.h"
#include "runtime/liveness.h"
#include "runtime/servers.h"

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

static enum ox_status plan_graph(struct ox_servers *servers, const struct ox_graph *graph,
                                 unsigned depth, struct ox_plan **out, struct ox_error *err);

/* Plans a graph that a step of `plan` leads to. */
static enum ox_status plan_nested(struct ox_servers *servers, struct ox_plan *plan,
                                  const struct ox_graph *graph, unsigned depth,
                                  struct ox_plan **out, struct ox_error *err)
{
    struct ox_plan *nested;
    OX_TRY(plan_graph(servers, graph, depth + 1, &nested, err));
    if (OX_ADD_OVERFLOWS(plan->expanded, nested->expanded, &plan->expanded))
        plan->expanded = UINT64_MAX;
    if (plan->depth < nested->depth + 1)
        plan->depth = nested->depth + 1;
    *out = nested;
    return OX_OK;
}

static bool plan_ids(struct ox_session *session, struct ox_step *step)
{
    const struct ox_node *node = step->node;
    const size_t n = node->n_inputs + node->n_outputs;
    uint32_t *ids = ox_arena_array(&session->arena, n + 1, sizeof *ids);
    if (!ids)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct ox_value *value =
            i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
        ids[i] = value && !value->outer ? value->id : OX_NO_ID;
    }
    step->ids = ids;
    return true;
}

/* Attributes are found once where a node runs again and has some to find. */
static enum ox_status plan_attrs(struct ox_session *session, struct ox_step *step,
                                 struct ox_error *err)
{
    const bool some = step->node->n_attrs || (step->schema && step->schema->n_attrs);
    if (!some || (session->options.once && step->node->graph == session->planned->graph))
        return OX_OK;
    step->asked = ox_arena_alloc(&session->arena, sizeof *step->asked);
    if (!step->asked)
        return ox_no_memory(err);
    step->asked->node = step->node;
    step->asked->schema = step->schema;
    return OX_OK;
}

static enum ox_status plan_node(struct ox_servers *servers, struct ox_plan *plan,
                                const struct ox_node *node, unsigned depth, struct ox_error *err)
{
    struct ox_session *session = servers->session;
    struct ox_step *step = &plan->steps[plan->n_steps++];
    struct ox_server *server = NULL;
    step->node = node;
    step->opset = ox_graph_opset(plan->graph, node->domain);
    if (!step->opset && !node->domain[0] && node->graph->model->ir_version < 3)
        step->opset = 1; /* before opset_import there was one version */
    OX_TRY(ox_servers_find(servers, node, step->opset, &server, err));
    if (server->missing)
        OX_TRY(ox_servers_miss(servers, node, step->opset, server, err));
    step->schema = server->schema;
    step->op = server->op;
    step->function = server->function;
    step->keep = step->op && ox_node_is_constant(node);
    step->checked = ox_arena_array(&session->arena, node->n_inputs + 1, sizeof *step->checked);
    if (!step->checked || !plan_ids(session, step))
        return ox_no_memory(err);
    OX_TRY(plan_attrs(session, step, err));
    if (session->options.profile && !(step->label = ox_session_label(session, node)))
        return ox_no_memory(err);
    plan->expanded++;
    if (step->schema && !server->missing)
        OX_TRY(ox_node_check(session->env, node, step->schema, step->opset, err));
    if (step->function) {
        const struct ox_graph *body = step->function->body;
        if (node->n_inputs > body->n_inputs || node->n_outputs > body->n_outputs) {
            struct ox_run run = {.env = session->env, .node = node, .opset = step->opset};
            return ox_run_fail(&run, err, OX_INPUT,
                               "%zu inputs and %zu outputs for a function of %zu and %zu",
                               node->n_inputs, node->n_outputs, body->n_inputs, body->n_outputs);
        }
        OX_TRY(plan_nested(servers, plan, body, depth, &step->callee, err));
    }
    for (size_t a = 0; a < node->n_attrs; a++) {
        const struct ox_attr *attr = &node->attrs[a];
        bool graphs = !attr->ref && ox_attr_has_graphs(attr);
        struct ox_plan *nested;
        for (size_t g = 0; graphs && g < attr->n; g++)
            OX_TRY(plan_nested(servers, plan, attr->graphs[g], depth, &nested, err));
    }
    uint64_t limit = session->env->limits.expanded_nodes;
    if (limit && plan->expanded > limit)
        return ox_fail(err, OX_LIMIT,
                       "more than %llu nodes after expansion of functions (--limit expanded-nodes)",
                       (unsigned long long)limit);
    return OX_OK;
}

static enum ox_status plan_steps(struct ox_servers *servers, struct ox_plan *plan,
                                 struct ox_value *const *outputs, size_t n_outputs, unsigned depth,
                                 struct ox_error *err)
{
    struct ox_session *session = servers->session;
    const struct ox_graph *graph = plan->graph;
    struct ox_liveness l;
    OX_TRY(ox_liveness_find(&l, session, graph, outputs, n_outputs, err));
    uint32_t *order = ox_arena_array(&session->scratch, graph->n_nodes + 1, sizeof *order);
    plan->steps = ox_arena_array(&session->arena, l.n_live + 1, sizeof *plan->steps);
    if (!order || !plan->steps || !ox_liveness_order(session, &l, order))
        return ox_no_memory(err);
    for (size_t i = 0; i < l.n_live; i++) {
        OX_TRY(ox_env_poll(session->env, err));
        OX_TRY(plan_node(servers, plan, graph->nodes[order[i]], depth, err));
    }
    return ox_liveness_releases(session, plan, &l) ? OX_OK : ox_no_memory(err);
}

static enum ox_status plan_graph(struct ox_servers *servers, const struct ox_graph *graph,
                                 unsigned depth, struct ox_plan **out, struct ox_error *err)
{
    enum { DEEPEST = 1000 }; /* frames take a part of the stack each */
    struct ox_session *session = servers->session;
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
        return ox_no_memory(err);
    plan->open = true;
    plan->depth = 1;
    bool named = session->options.profile || session->options.on_body_value;
    if (named && !(plan->path = ox_session_path(session, graph)))
        return ox_no_memory(err);
    bool is_main = graph == session->planned->graph;
    struct ox_arena_mark mark = ox_arena_mark(&session->scratch);
    enum ox_status status = plan_steps(servers, plan, is_main ? session->made : graph->outputs,
                                       is_main ? session->n_outputs : graph->n_outputs, depth, err);
    ox_arena_rewind(&session->scratch, mark);
    plan->open = false;
    if (status == OX_OK)
        *out = plan;
    return status;
}

enum ox_status ox_plan_make(struct ox_session *session, struct ox_error *err)
{
    struct ox_servers servers = {.session = session};
    ox_strmap_init(&servers.of);
    enum ox_status status = plan_graph(&servers, session->planned->graph, 1, &session->main, err);
    if (status == OX_OK && servers.n_missing)
        status = ox_servers_report(&servers, err);
    if (status == OX_OK)
        status = ox_shaped_plan(session, session->main, err);
    ox_servers_release(&servers);
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
