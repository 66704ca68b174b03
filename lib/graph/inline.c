/* Functions put where they are called, and weights that are equal kept once. */
#include <stdlib.h>
#include <string.h>

#include "graph/diff/diff.h"
#include "graph/expand.h"
#include "graph/extract.h"
#include "graph/splice.h"
#include "model/value.h"
#include "schema/schema.h"

static enum ox_status no_room(const struct ox_model *model, struct ox_error *err)
{
    return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path);
}

/* ---- Functions ---------------------------------------------------------------------------------------------------- */

/* What is put in place. */
struct selection {
    struct ox_model *model;
    bool *takes; /* functions, by place */
    bool any;    /* one of them */
    /* Operators that the standard defines by others. */
    const char *const *names;
    size_t n_names;
    struct ox_error *err;
};

/* The model reads all nodes by its own versions: functions come to these, and what only they import is imported. */
static enum ox_status align_opsets(const struct selection *s)
{
    struct ox_model *model = s->model;
    struct ox_error *err = s->err;
    struct ox_opset_goal *goals = calloc(model->n_opsets + 1, sizeof *goals);
    struct ox_conversion *conversion = NULL;
    size_t n_goals = 0;
    if (!goals)
        return no_room(model, err);
    for (size_t i = 0; i < model->n_functions; i++) {
        const struct ox_function *function = &model->functions[i];
        for (size_t k = 0; k < function->n_opsets && s->takes[i]; k++) {
            const struct ox_opset *opset = &function->opsets[k];
            int64_t ours = ox_graph_opset(model->graph, opset->domain);
            if (!ours && !ox_model_import(model, opset->domain, opset->version)) {
                free(goals);
                return no_room(model, err);
            }
            bool listed = !ours || ours == opset->version || !ox_schema_newest(opset->domain);
            for (size_t g = 0; g < n_goals; g++)
                listed |= strcmp(goals[g].domain, opset->domain) == 0;
            if (!listed)
                goals[n_goals++] = (struct ox_opset_goal){opset->domain, ours};
        }
    }
    enum ox_status status = OX_OK;
    if (n_goals)
        status = ox_convert_opset(&conversion, model, goals, n_goals, err);
    if (status == OX_OK && conversion && ox_conversion_blocked(conversion)) {
        const struct ox_convert_note *note = ox_conversion_at(conversion, 0);
        status = ox_fail(err, OX_UNSUPPORTED,
                         "%s: %s '%s' in %s cannot be converted to the model's opset: %s",
                         model->path, note->op_type, note->node, note->graph, note->reason);
    }
    ox_conversion_release(conversion);
    free(goals);
    return status;
}

/* Adds to sums[f], of each function, the nodes that its calls come to by sizes[f]; to sums[n_functions] those of all else. */
static void add_sizes(const struct selection *s, const uint64_t *sizes, uint64_t *sums)
{
    const struct ox_model *model = s->model;
    const uint64_t most = UINT64_MAX / 4;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        uint64_t *sum = &sums[graph->function ? graph->function - model->functions
                                              : (ptrdiff_t)model->n_functions];
        for (size_t i = 0; i < graph->n_nodes; i++) {
            const struct ox_node *node = graph->nodes[i];
            const struct ox_function *callee =
                ox_model_function(model, node->domain, node->op_type, node->overload);
            const bool taken = callee && s->takes[callee - model->functions];
            *sum += 1 + (taken ? sizes[callee - model->functions] : 0);
            *sum = *sum < most ? *sum : most;
        }
    }
}

static bool is_over(uint64_t limit, uint64_t n)
{
    return limit && n > limit;
}

/* Refuses functions that call themselves, and those that come to more nodes than the limit: 40 that call the next twice are 10^12. A
 * pass gives each function the size that is right one call deeper. */
static enum ox_status judge_expansion(const struct selection *s)
{
    const struct ox_model *model = s->model;
    struct ox_error *err = s->err;
    const struct ox_limits *limits = &model->env->limits;
    const size_t n = model->n_functions;
    const bool is_deep = is_over(limits->call_depth, n);
    const size_t most = is_deep ? (size_t)limits->call_depth : n;
    uint64_t *sizes = calloc(2 * (n + 1), sizeof *sizes);
    if (!sizes)
        return no_room(model, err);
    uint64_t *sums = sizes + n + 1;
    bool settled = false;
    for (size_t pass = 0; pass <= most && !settled; pass++) {
        memset(sums, 0, (n + 1) * sizeof *sums);
        add_sizes(s, sizes, sums);
        settled =
            memcmp(sums, sizes, n * sizeof *sums) == 0 || is_over(limits->expanded_nodes, sums[n]);
        memcpy(sizes, sums, (n + 1) * sizeof *sums);
    }
    const uint64_t all = sizes[n];
    free(sizes);
    if (is_over(limits->expanded_nodes, all))
        return ox_fail(err, OX_LIMIT,
                       "%s: functions come to more than %llu nodes (limit expanded_nodes)",
                       model->path, (unsigned long long)limits->expanded_nodes);
    if (!settled && is_deep)
        return ox_fail(err, OX_LIMIT, "%s: functions are nested too deeply", model->path);
    if (!settled)
        return ox_fail(err, OX_INPUT, "%s: a function calls itself", model->path);
    return OX_OK;
}

/* What a function reads its nodes by, once others' nodes stand in it. */
static bool import_all(struct ox_function *into, const struct ox_function *from,
                       struct ox_arena *arena)
{
    for (size_t i = 0; i < from->n_opsets; i++) {
        bool there = false;
        for (size_t k = 0; k < into->n_opsets; k++)
            there |= strcmp(into->opsets[k].domain, from->opsets[i].domain) == 0;
        if (there)
            continue;
        struct ox_opset *opsets = ox_arena_array(arena, into->n_opsets + 1, sizeof *opsets);
        if (!opsets)
            return false;
        if (into->n_opsets)
            memcpy(opsets, into->opsets, into->n_opsets * sizeof *opsets);
        opsets[into->n_opsets++] = from->opsets[i];
        into->opsets = opsets;
    }
    return true;
}

static enum ox_status inline_call(struct ox_node *node, const struct ox_function *function,
                                  struct ox_error *err)
{
    struct ox_model *model = node->graph->model;
    struct ox_splice splice = ox_splice_for(node, function->body);
    splice.defaults = function->attr_defaults;
    splice.n_defaults = function->n_attr_defaults;
    if (node->graph->function && !import_all(node->graph->function, function, &model->arena))
        return no_room(model, err);
    return ox_graph_splice(node->graph, &splice, err);
}

/* "Name", "domain:Name" */
static bool is_called(const char *name, const char *domain, const char *op_type)
{
    const char *colon = strrchr(name, ':');
    if (!colon)
        return strcmp(name, op_type) == 0;
    const size_t n = (size_t)(colon - name);
    domain = *domain ? domain : "ai.onnx";
    return strcmp(colon + 1, op_type) == 0 && strlen(domain) == n && strncmp(domain, name, n) == 0;
}

static bool is_named(const struct selection *s, const char *domain, const char *op_type)
{
    for (size_t i = 0; i < s->n_names; i++)
        if (is_called(s->names[i], domain, op_type))
            return true;
    return false;
}

static enum ox_status expand_operator(const struct selection *s, struct ox_node *node, bool *done)
{
    const int64_t version = ox_graph_opset(node->graph, node->domain);
    const struct ox_schema *row = ox_schema_find(node->domain, node->op_type, version);
    const struct ox_schema_body *body = row ? ox_schema_body_at(row, version) : NULL;
    *done = false;
    if (!row || !is_named(s, node->domain, node->op_type))
        return OX_OK;
    if (body)
        OX_TRY(ox_node_expand(node, row, body, done, s->err));
    return *done ? OX_OK
                 : ox_fail(s->err, OX_UNSUPPORTED,
                           "%s: the standard has no body for %s of opset %lld%s", s->model->path,
                           node->op_type, (long long)version,
                           row->has_function && !body ? " that is the same for all nodes" : "");
}

static enum ox_status inline_node(const struct selection *s, struct ox_node *node, bool *done)
{
    struct ox_model *model = s->model;
    const struct ox_function *function =
        ox_model_function(model, node->domain, node->op_type, node->overload);
    if (!function)
        return expand_operator(s, node, done);
    *done = s->takes[function - model->functions];
    return *done ? inline_call(node, function, s->err) : OX_OK;
}

static enum ox_status inline_graph(const struct selection *s, struct ox_graph *graph,
                                   size_t *n_calls)
{
    struct ox_model *model = graph->model;
    size_t n = graph->n_nodes, before = *n_calls;
    bool *calls = calloc(n + 1, sizeof *calls);
    enum ox_status status = calls ? OX_OK : no_room(model, s->err);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        status = inline_node(s, graph->nodes[i], &calls[i]);
        *n_calls += calls[i];
    }
    if (status == OX_OK && *n_calls > before) {
        bool *remove = realloc(calls, (graph->n_nodes + 1) * sizeof *remove);
        if (remove) {
            memset(remove + n, 0, (graph->n_nodes - n) * sizeof *remove);
            calls = remove;
            ox_graph_remove_nodes(graph, remove);
            status = ox_graph_sort(graph, s->err);
            if (status != OX_OK)
                ox_fail_context(s->err, status, "%s", model->path);
        } else {
            status = no_room(model, s->err);
        }
    }
    free(calls);
    return status;
}

/* Not in functions that leave. */
static bool stays(const struct selection *s, const struct ox_graph *graph)
{
    return !graph->function || !s->takes[graph->function - s->model->functions];
}

static enum ox_status inline_selected(const struct selection *s, size_t *n_calls)
{
    struct ox_model *model = s->model;
    size_t before;
    if (s->any) {
        OX_TRY(judge_expansion(s));
        OX_TRY(align_opsets(s));
    }
    do {
        before = *n_calls;
        for (size_t g = 0; g < model->n_graphs; g++)
            if (stays(s, model->graphs[g]))
                OX_TRY(inline_graph(s, model->graphs[g], n_calls));
    } while (*n_calls != before);
    for (size_t i = 0; i < model->n_functions; i++)
        s->takes[i] = !s->takes[i];
    ox_model_keep_functions(model, s->takes);
    return OX_OK;
}

static enum ox_status begin(struct selection *s, struct ox_model *model, size_t *n_calls,
                            struct ox_error *err)
{
    *n_calls = 0;
    *s = (struct selection){.model = model, .err = err};
    s->takes = calloc(model->n_functions + 1, sizeof *s->takes);
    return s->takes ? OX_OK : no_room(model, err);
}

enum ox_status ox_inline_functions(struct ox_model *model, size_t *n_calls, struct ox_error *err)
{
    struct selection s;
    *n_calls = 0;
    if (!model->n_functions || !model->graph)
        return OX_OK;
    OX_TRY(begin(&s, model, n_calls, err));
    s.any = true;
    for (size_t i = 0; i < model->n_functions; i++)
        s.takes[i] = true;
    enum ox_status status = inline_selected(&s, n_calls);
    free(s.takes);
    return status;
}

/* Marks the functions of that name, or says that it is none's. */
static enum ox_status select_name(struct selection *s, const char *name, bool except)
{
    struct ox_model *model = s->model;
    char shown[OX_SHOWN_BYTES];
    bool found = false;
    for (size_t i = 0; i < model->n_functions; i++) {
        if (!is_called(name, model->functions[i].domain, model->functions[i].name))
            continue;
        found = true;
        s->takes[i] = !except;
    }
    for (size_t g = 0; g < model->n_graphs && !found && !except; g++)
        for (size_t i = 0; i < model->graphs[g]->n_nodes && !found; i++)
            found = is_called(name, model->graphs[g]->nodes[i]->domain,
                              model->graphs[g]->nodes[i]->op_type);
    return found ? OX_OK
                 : ox_fail(s->err, OX_USAGE, "%s: '%s' is no function of it%s", model->path,
                           ox_shown(shown, name, strlen(name)),
                           except ? "" : ", nor an operator that it has");
}

enum ox_status ox_inline_named(struct ox_model *model, const char *const *names, size_t n,
                               bool except, size_t *n_calls, struct ox_error *err)
{
    struct selection s;
    *n_calls = 0;
    if (!model->graph)
        return ox_fail(err, OX_INPUT, "%s: there is no graph", model->path);
    OX_TRY(begin(&s, model, n_calls, err));
    for (size_t i = 0; i < model->n_functions; i++)
        s.takes[i] = except;
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = select_name(&s, names[i], except);
    for (size_t i = 0; i < model->n_functions; i++)
        s.any |= s.takes[i];
    if (!except) {
        s.names = names;
        s.n_names = n;
    }
    if (status == OX_OK)
        status = inline_selected(&s, n_calls);
    free(s.takes);
    return status;
}

/* ---- Equal weights ------------------------------------------------------------------------------------------------ */

struct weight {
    struct ox_value *value;
    uint64_t hash;
    size_t place; /* in graph->inits */
};

static int by_hash(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool same_type(const struct ox_stored *a, const struct ox_stored *b)
{
    return a->data_type == b->data_type && a->rank == b->rank &&
           (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

static enum ox_status same_data(struct ox_model *model, const struct ox_stored *a,
                                const struct ox_stored *b, bool *same, struct ox_error *err)
{
    struct ox_tensor *x = NULL, *y = NULL;
    *same = false;
    if (!same_type(a, b) || a->dtype == OX_STRING)
        return OX_OK;
    enum ox_status status = ox_stored_load(model, a, &x, err);
    if (status == OX_OK)
        status = ox_stored_load(model, b, &y, err);
    if (status == OX_OK)
        *same = !x->n || memcmp(x->data, y->data, x->n * ox_dtype_size(x->dtype)) == 0;
    ox_tensor_release(x);
    ox_tensor_release(y);
    return status;
}

/* By value id: what is named from outside the graph's nodes keeps its name. */
static bool *pinned_values(const struct ox_graph *graph)
{
    bool *pinned = calloc(graph->n_values + 1, sizeof *pinned);
    if (pinned)
        ox_captures_mark(graph, pinned);
    for (size_t i = 0; pinned && i < graph->n_values; i++)
        pinned[i] |= graph->values[i]->is_input || graph->values[i]->is_output;
    return pinned;
}

static void replace_uses(struct ox_graph *graph, struct ox_value *const *instead)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] && instead[node->inputs[k]->id])
                node->inputs[k] = instead[node->inputs[k]->id];
        }
    }
}

static enum ox_status share(struct ox_graph *graph, struct weight *list, size_t n,
                            const bool *pinned, struct ox_value **instead, size_t *n_shared,
                            struct ox_error *err)
{
    bool *remove = calloc(graph->n_inits + 1, sizeof *remove);
    enum ox_status status = remove ? OX_OK : no_room(graph->model, err);
    qsort(list, n, sizeof *list, by_hash);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        bool same = pinned[list[i].value->id];
        for (size_t k = i; k-- > 0 && list[k].hash == list[i].hash && !same && status == OX_OK;) {
            if (instead[list[k].value->id] || list[k].value->is_input)
                continue;
            status = same_data(graph->model, list[k].value->init, list[i].value->init, &same, err);
            if (same && status == OX_OK) {
                instead[list[i].value->id] = list[k].value;
                remove[list[i].place] = true;
                ++*n_shared;
            }
        }
    }
    if (status == OX_OK) {
        replace_uses(graph, instead);
        ox_graph_remove_inits(graph, remove);
    }
    free(remove);
    return status;
}

enum ox_status ox_share_weights(struct ox_model *model, size_t *n_shared, struct ox_error *err)
{
    struct ox_graph *graph = model->graph;
    *n_shared = 0;
    if (!graph)
        return OX_OK;
    struct weight *list = calloc(graph->n_inits + 1, sizeof *list);
    struct ox_value **instead = calloc(graph->n_values + 1, sizeof(*instead));
    bool *pinned = pinned_values(graph);
    enum ox_status status = list && instead && pinned ? OX_OK : no_room(model, err);
    size_t n = 0;
    for (size_t i = 0; i < graph->n_inits && status == OX_OK; i++) {
        struct ox_value *value = ox_graph_value(graph, graph->inits[i]->name);
        if (value && value->init == graph->inits[i])
            list[n++] = (struct weight){value, ox_diff_tensor_hash(value->init), i};
    }
    if (status == OX_OK)
        status = share(graph, list, n, pinned, instead, n_shared, err);
    free(list);
    free(instead);
    free(pinned);
    return status;
}
