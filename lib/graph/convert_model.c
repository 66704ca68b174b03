/* Converting a model's operators to other versions of their domains, a version at a time. */
#include "graph/convert_adapters.h"

#include <stdlib.h>
#include <string.h>

#include "graph/splice.h"
#include "schema/schema.h"

struct ox_conversion {
    struct ox_arena arena;
    struct ox_convert_note *notes;
    size_t n_notes, cap_notes, n_blocked;
    int64_t ir_before, ir_after;
    size_t n_changed;
};

/* Nodes by address, as keys. */
struct node_set {
    struct ox_strmap map;
    struct ox_arena keys;
};

struct job {
    struct ox_model *model;
    const char *domain;
    struct ox_conversion *result;
    struct ox_shapes *shapes;
    size_t *n_known, n_graphs_known;
    bool stale;  /* shapes do not know what was made since */
    bool untidy; /* nodes wait to be removed and put in order */
    struct ox_strmap freed;
    struct node_set blocked, removed;
    struct ox_error *err;
};

static enum ox_status no_room(const struct job *job)
{
    return ox_fail(job->err, OX_NO_MEMORY, "%s: out of memory", job->model->path);
}

static bool has_node(const struct node_set *set, const struct ox_node *node)
{
    return set->map.n &&
           ox_strmap_find(&set->map, (const char *)&node, sizeof(node)) != OX_STRMAP_NONE;
}

static bool add_node(struct node_set *set, const struct ox_node *node)
{
    void *key = ox_arena_copy(&set->keys, &node, sizeof(node));
    uint32_t one = 1;
    return key && ox_strmap_add(&set->map, key, sizeof(node), &one, NULL);
}

/* ---- The report --------------------------------------------------------------------------------------------------- */

static char *text_of(struct ox_arena *arena, struct ox_strbuf *text)
{
    char *copy = ox_arena_text(arena, text);
    ox_strbuf_release(text);
    return copy;
}

static enum ox_status add_note(struct job *job, const struct ox_node *node, bool blocked,
                               int64_t from, int64_t to, const char *reason)
{
    struct ox_conversion *r = job->result;
    struct ox_strbuf graph, label;
    if (r->n_notes == r->cap_notes) {
        size_t cap = r->cap_notes ? r->cap_notes * 2 : 16;
        struct ox_convert_note *notes = ox_arena_array(&r->arena, cap, sizeof *notes);
        if (!notes)
            return no_room(job);
        if (r->n_notes)
            memcpy(notes, r->notes, r->n_notes * sizeof *notes);
        r->notes = notes;
        r->cap_notes = cap;
    }
    ox_strbuf_init(&graph);
    ox_strbuf_init(&label);
    ox_graph_path(&graph, node->graph);
    ox_node_label(&label, node);
    struct ox_convert_note *note = &r->notes[r->n_notes];
    *note = (struct ox_convert_note){.blocked = blocked,
                                     .graph = text_of(&r->arena, &graph),
                                     .node = text_of(&r->arena, &label),
                                     .op_type = ox_arena_strdup(&r->arena, node->op_type),
                                     .domain = ox_arena_strdup(&r->arena, node->domain),
                                     .reason = ox_arena_strdup(&r->arena, reason),
                                     .from = from,
                                     .to = to};
    if (!note->graph || !note->node || !note->op_type || !note->domain || !note->reason)
        return no_room(job);
    r->n_notes++;
    r->n_blocked += blocked;
    return OX_OK;
}

void ox_conversion_release(struct ox_conversion *conversion)
{
    if (!conversion)
        return;
    ox_arena_release(&conversion->arena);
    free(conversion);
}

size_t ox_conversion_count(const struct ox_conversion *conversion)
{
    return conversion->n_notes;
}

const struct ox_convert_note *ox_conversion_at(const struct ox_conversion *conversion, size_t i)
{
    return &conversion->notes[i];
}

size_t ox_conversion_blocked(const struct ox_conversion *conversion)
{
    return conversion->n_blocked;
}

size_t ox_conversion_changed(const struct ox_conversion *conversion)
{
    return conversion->n_changed;
}

int64_t ox_conversion_ir(const struct ox_conversion *conversion, int64_t *before)
{
    if (before)
        *before = conversion->ir_before;
    return conversion->ir_after;
}

/* ---- Types -------------------------------------------------------------------------------------------------------- */

static enum ox_status infer_again(struct job *job)
{
    struct ox_model *model = job->model;
    if (job->shapes && !job->stale)
        return OX_OK;
    ox_shapes_release(job->shapes);
    job->shapes = NULL;
    free(job->n_known);
    job->n_known = calloc(model->n_graphs + 1, sizeof *job->n_known);
    if (!job->n_known)
        return no_room(job);
    OX_TRY(ox_shapes_infer(&job->shapes, model, NULL, NULL, job->err));
    for (size_t g = 0; g < model->n_graphs; g++)
        job->n_known[g] = model->graphs[g]->n_values;
    job->n_graphs_known = model->n_graphs;
    job->stale = false;
    return OX_OK;
}

/* ---- A node ------------------------------------------------------------------------------------------------------- */

/* The row that says that `next` has no more what onnxruntime had added to the domain until then; NULL. */
static const struct ox_schema *withdrawn(const struct job *job, const char *op_type,
                                         int64_t version, int64_t next)
{
    const struct ox_schema *row = ox_schema_find_foreign(job->domain, op_type, next);
    bool is_last = row && row->deprecated && row->since == next && next > version;
    return is_last && !ox_schema_find(job->domain, op_type, version) ? row : NULL;
}

static struct ox_adapt adapt_of(struct job *job, struct ox_node *node, int64_t version,
                                int64_t next, struct ox_strbuf *blocked)
{
    struct ox_adapt c = {
        .model = job->model,
        .shapes = job->shapes,
        .n_known = job->n_known,
        .n_graphs_known = job->n_graphs_known,
        .graph = node->graph,
        .node = node,
        .domain = job->domain,
        .version = version,
        .next = next,
        .from = ox_schema_find(job->domain, node->op_type, version),
        .to = ox_schema_find(job->domain, node->op_type, next),
        .blocked = blocked,
        .freed = &job->freed,
        .err = job->err,
    };
    const struct ox_schema *gone = withdrawn(job, node->op_type, version, next);
    if (gone) {
        c.from = ox_schema_find_foreign(job->domain, node->op_type, version);
        c.to = gone;
    }
    return c;
}

static bool convert_node(struct ox_adapt *c)
{
    bool up = c->next > c->version;
    bool gone = !c->to || (c->to->deprecated && !c->from->deprecated);
    const struct ox_adapter_row *row =
        ox_adapter_find(c->domain, c->node->op_type, up ? (int)c->next : c->from->since);
    bool (*adapter)(struct ox_adapt *) = !row ? NULL : up ? row->up : row->down;
    if (adapter && !adapter(c))
        return false;
    if (c->replaced)
        return true;
    if (!adapter && gone)
        return ox_adapt_block(c,
                              up ? "the operator is deprecated in opset %lld, and nothing stands "
                                   "for it"
                                 : "the operator is not in opset %lld, and nothing there stands "
                                   "for it",
                              (long long)c->next);
    return !c->to || ox_adapt_by_schema(c);
}

/* Whether the node is of the domain, and not a call of a function of the model. */
static bool is_ours(const struct job *job, const struct ox_node *node)
{
    return strcmp(node->domain, job->domain) == 0 &&
           !ox_model_function(job->model, node->domain, node->op_type, node->overload);
}

static bool is_there(const struct job *job, const struct ox_node *node)
{
    return !has_node(&job->blocked, node) && !has_node(&job->removed, node);
}

/* What the body's parameters are where the node says nothing: the schema's defaults. NULL: out of memory. */
static struct ox_attr *default_attrs(struct job *job, const struct ox_schema *row, size_t *n)
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
static enum ox_status expand(struct job *job, struct ox_node *node, const struct ox_schema *row,
                             const struct ox_schema_body *body)
{
    struct ox_model *model = NULL;
    size_t n_defaults;
    const struct ox_attr *defaults = default_attrs(job, row, &n_defaults);
    if (!defaults)
        return no_room(job);
    OX_TRY(ox_model_open_function(&model, job->model->env, body->data, body->bytes, job->err));
    struct ox_splice splice = ox_splice_for(node, model->functions[0].body);
    splice.defaults = defaults;
    splice.n_defaults = n_defaults;
    enum ox_status status = ox_graph_splice(node->graph, &splice, job->err);
    ox_model_release(model);
    if (status == OX_OK && !add_node(&job->removed, node))
        status = no_room(job);
    job->stale = job->untidy = true;
    return status;
}

static enum ox_status expand_graph(struct job *job, struct ox_graph *graph, int64_t version,
                                   int64_t next)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct ox_node *node = graph->nodes[i];
        if (!is_ours(job, node) || !is_there(job, node) ||
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

static enum ox_status adapt_node(struct job *job, struct ox_node *node, int64_t version,
                                 int64_t next)
{
    struct ox_strbuf blocked;
    ox_strbuf_init(&blocked);
    struct ox_adapt c = adapt_of(job, node, version, next, &blocked);
    enum ox_status status = OX_OK;
    bool stays = c.from == c.to;
    if (!c.from || (stays && (next > version || *job->domain)))
        return OX_OK; /* an operator that the standard does not know, or no new row */
    size_t n_nodes = node->graph->n_nodes;
    bool good = stays ? ox_down_plain(&c) : convert_node(&c);
    if (c.status != OX_OK)
        status = c.status;
    else if (!good)
        status = add_note(job, node, true, version, next, blocked.data ? blocked.data : "?");
    if (status == OX_OK && !good && !add_node(&job->blocked, node))
        status = no_room(job);
    if (status == OX_OK && c.replaced && !add_node(&job->removed, node))
        status = no_room(job);
    job->stale |= node->graph->n_nodes != n_nodes || c.replaced;
    job->untidy |= job->stale;
    job->result->n_changed += good && (node->graph->n_nodes != n_nodes || c.replaced);
    ox_strbuf_release(&blocked);
    return status;
}

/* ---- A version ---------------------------------------------------------------------------------------------------- */

/* Takes out what was replaced and puts what replaces it in its place. */
static enum ox_status tidy(struct job *job, struct ox_graph *graph)
{
    if (!job->untidy)
        return OX_OK;
    bool *remove = calloc(graph->n_nodes + 1, sizeof *remove);
    if (!remove)
        return no_room(job);
    bool any = false;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        remove[i] = has_node(&job->removed, graph->nodes[i]);
        any |= remove[i];
    }
    if (any)
        ox_graph_remove_nodes(graph, remove);
    free(remove);
    enum ox_status status = ox_graph_sort(graph, job->err);
    return status == OX_OK ? OX_OK : ox_fail_context(job->err, status, "%s", job->model->path);
}

static bool in_unit(const struct ox_graph *graph, const struct ox_function *function)
{
    return graph->function == function && !graph->dropped;
}

/* Replaces what the next version does not have by the standard's definitions; these may need the same. */
static enum ox_status expand_unit(struct job *job, const struct ox_function *function,
                                  int64_t version, int64_t next)
{
    for (size_t g = 0; g < job->model->n_graphs; g++) {
        if (in_unit(job->model->graphs[g], function))
            OX_TRY(expand_graph(job, job->model->graphs[g], version, next));
    }
    return OX_OK;
}

/* All graphs of a function, or of the model outside functions, from one version to the next. */
static enum ox_status step(struct job *job, const struct ox_function *function, int64_t version,
                           int64_t next)
{
    struct ox_model *model = job->model;
    if (next < version)
        OX_TRY(expand_unit(job, function, version, next));
    OX_TRY(infer_again(job));
    /* Nodes and graphs that are added from here on are of the next version. */
    size_t n_graphs = model->n_graphs;
    struct ox_graph **graphs = calloc(n_graphs + 1, sizeof(*graphs));
    if (!graphs)
        return no_room(job);
    memcpy(graphs, model->graphs, n_graphs * sizeof(*graphs));
    enum ox_status status = OX_OK;
    for (size_t g = 0; g < n_graphs; g++) {
        size_t n = graphs[g]->n_nodes;
        for (size_t i = 0; i < n && in_unit(graphs[g], function) && status == OX_OK; i++) {
            struct ox_node *node = graphs[g]->nodes[i];
            if (is_ours(job, node) && is_there(job, node))
                status = adapt_node(job, node, version, next);
        }
    }
    for (size_t g = 0; g < n_graphs && status == OX_OK; g++) {
        if (in_unit(graphs[g], function))
            status = tidy(job, graphs[g]);
    }
    job->untidy = false;
    free(graphs);
    return status;
}

static bool differs(const struct job *job, const struct ox_function *function, int64_t version,
                    int64_t next)
{
    const struct ox_model *model = job->model;
    for (size_t g = 0; g < model->n_graphs; g++) {
        const struct ox_graph *graph = model->graphs[g];
        for (size_t i = 0; i < graph->n_nodes && in_unit(graph, function); i++) {
            const char *op = graph->nodes[i]->op_type;
            if (is_ours(job, graph->nodes[i]) &&
                (ox_schema_find(job->domain, op, version) !=
                     ox_schema_find(job->domain, op, next) ||
                 withdrawn(job, op, version, next) ||
                 (next < version && ox_has_plain(graph->nodes[i]))))
                return true;
        }
    }
    return false;
}

static enum ox_status convert_unit(struct job *job, const struct ox_function *function,
                                   struct ox_opset *opset, int64_t to)
{
    while (opset->version != to) {
        int64_t next = opset->version + (to > opset->version ? 1 : -1);
        OX_TRY(ox_env_poll(job->model->env, job->err));
        if (differs(job, function, opset->version, next))
            OX_TRY(step(job, function, opset->version, next));
        opset->version = next;
    }
    return OX_OK;
}

/* ---- A domain, a model -------------------------------------------------------------------------------------------- */

static enum ox_status check_goal(const struct ox_model *model, const struct ox_opset_goal *goal,
                                 struct ox_error *err)
{
    int newest = ox_schema_newest(goal->domain);
    if (!newest)
        return ox_fail(err, OX_USAGE, "%s: nothing is known of domain \"%s\"", model->path,
                       goal->domain);
    if (goal->version < 1 || goal->version > newest)
        return ox_fail(err, OX_USAGE, "%s: opset %lld of %s is not known: 1 to %d are", model->path,
                       (long long)goal->version, *goal->domain ? goal->domain : "ai.onnx", newest);
    return OX_OK;
}

/* What nodes mean whose domain is imported in no version is not known. */
static enum ox_status block_unversioned(struct job *job, int64_t to)
{
    for (size_t g = 0; g < job->model->n_graphs; g++) {
        const struct ox_graph *graph = job->model->graphs[g];
        if (ox_graph_opset(graph, job->domain))
            continue;
        for (size_t i = 0; i < graph->n_nodes; i++)
            if (is_ours(job, graph->nodes[i]))
                OX_TRY(add_note(job, graph->nodes[i], true, 0, to,
                                "no version of its domain is imported"));
    }
    return OX_OK;
}

static enum ox_status convert_domain(struct job *job, int64_t to)
{
    struct ox_model *model = job->model;
    const char *domain = job->domain;
    OX_TRY(block_unversioned(job, to));
    for (size_t i = 0; i < model->n_functions; i++) {
        struct ox_function *function = &model->functions[i];
        for (size_t k = 0; k < function->n_opsets; k++) {
            if (strcmp(function->opsets[k].domain, domain) == 0)
                OX_TRY(convert_unit(job, function, &function->opsets[k], to));
        }
    }
    for (size_t k = 0; k < model->n_opsets; k++) {
        if (strcmp(model->opsets[k].domain, domain) == 0)
            OX_TRY(convert_unit(job, NULL, &model->opsets[k], to));
    }
    return OX_OK;
}

static void set_ir(struct ox_conversion *result, struct ox_model *model, bool up)
{
    int64_t needs = ox_convert_needed_ir(model);
    result->ir_before = model->ir_version;
    if (needs > model->ir_version || (!up && needs < model->ir_version))
        model->ir_version = needs;
    result->ir_after = model->ir_version;
}

static enum ox_status convert(struct job *job, const struct ox_opset_goal *goals, size_t n_goals)
{
    bool up = false;
    for (size_t i = 0; i < n_goals; i++)
        OX_TRY(check_goal(job->model, &goals[i], job->err));
    for (size_t i = 0; i < n_goals; i++) {
        const char *domain = strcmp(goals[i].domain, "ai.onnx") == 0 ? "" : goals[i].domain;
        job->domain = domain;
        up |= job->model->graph && ox_graph_opset(job->model->graph, domain) < goals[i].version;
        OX_TRY(convert_domain(job, goals[i].version));
    }
    if (!ox_convert_drop_unused(job->model, &job->freed))
        return no_room(job);
    set_ir(job->result, job->model, up);
    return ox_model_part_names(job->model) ? OX_OK : no_room(job);
}

enum ox_status ox_convert_opset(struct ox_conversion **out, struct ox_model *model,
                                const struct ox_opset_goal *goals, size_t n_goals,
                                struct ox_error *err)
{
    struct ox_conversion *result = calloc(1, sizeof *result);
    struct job job = {.model = model, .result = result, .err = err};
    if (!result)
        return no_room(&job);
    ox_arena_init(&result->arena, ox_env_budget(model->env));
    ox_arena_init(&job.blocked.keys, ox_env_budget(model->env));
    ox_arena_init(&job.removed.keys, ox_env_budget(model->env));
    ox_strmap_init(&job.freed);
    ox_strmap_init(&job.blocked.map);
    ox_strmap_init(&job.removed.map);
    enum ox_status status = convert(&job, goals, n_goals);
    ox_shapes_release(job.shapes);
    free(job.n_known);
    ox_strmap_release(&job.freed);
    ox_strmap_release(&job.blocked.map);
    ox_strmap_release(&job.removed.map);
    ox_arena_release(&job.blocked.keys);
    ox_arena_release(&job.removed.keys);
    if (status == OX_OK)
        *out = result;
    else
        ox_conversion_release(result);
    return status;
}
