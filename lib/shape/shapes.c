#include "shape/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "shape/infer_impl.h"

enum { SCRATCH_BYTES = 64 * 1024 };

/* Where the slots of a graph are kept: the model's, or those of a body of the standard. */
static struct ox_slot **slots_of_graph(const struct ox_shapes *s, const struct ox_graph *graph)
{
    if (graph->model == s->model)
        return graph->id < s->n_graphs ? &s->slots[graph->id] : NULL;
    for (size_t i = s->n_bodies; i-- > 0;) {
        if (s->bodies[i].model == graph->model)
            return &s->bodies[i].slots[graph->id];
    }
    return NULL;
}

struct ox_slot *ox_slot_of(const struct ox_shapes *s, const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    struct ox_slot **slots = slots_of_graph(s, value->graph);
    return slots && *slots ? &(*slots)[value->id] : NULL;
}

void ox_shapes_finding(struct ox_shapes *s, enum ox_finding_id id, const struct ox_place *place,
                       const char *message)
{
    char *key = ox_arena_printf(&s->arena, "%p %s", (const void *)place->node, message);
    uint32_t value = 0;
    bool is_new = false;
    if (key && ox_strmap_add(&s->reported, key, strlen(key), &value, &is_new) && is_new)
        ox_findings_add(s->findings, s->strict ? id : OX_F_SHAPE_SUSPECT, place, NULL, "%s",
                        message);
}

void ox_shapes_clash(struct ox_infer *c, enum ox_clash why)
{
    struct ox_shapes *s = c->s;
    const struct ox_graph *graph = c->node->graph;
    if (s->in_trips || graph->model != s->model || graph->id >= s->n_graphs)
        return;
    if (!s->clashing)
        s->clashing = ox_arena_array(&s->arena, s->n_graphs, sizeof *s->clashing);
    if (s->clashing)
        s->clashing[graph->id] |= (unsigned char)why;
    s->failed |= !s->clashing;
}

unsigned ox_shapes_clashes(const struct ox_shapes *shapes, const struct ox_graph *graph)
{
    return shapes->clashing && graph->id < shapes->n_graphs ? shapes->clashing[graph->id] : 0;
}

/* ---- A graph ---------------------------------------------------------------------------------------------------- */

static const struct ox_type *stored_type(struct ox_shapes *s, enum ox_type_kind kind,
                                         enum ox_dtype elem, unsigned rank, const int64_t *dims)
{
    const struct ox_type *type = ox_shapes_tensor(s, kind, elem, true, rank, NULL);
    for (unsigned i = 0; type && i < rank; i++)
        type->dims[i] = dims[i] >= 0 ? ox_expr_int(s->pool, dims[i]) : NULL;
    return type;
}

const struct ox_type *ox_shapes_name_open(struct ox_shapes *s, const struct ox_value *value,
                                          const struct ox_type *type)
{
    const struct ox_type *named = NULL;
    for (unsigned i = 0; type && type->kind == OX_TYPE_TENSOR && type->has_rank && i < type->rank;
         i++) {
        if (type->dims[i])
            continue;
        if (!named)
            named = ox_shapes_tensor(s, type->kind, type->elem, true, type->rank,
                                     (const struct ox_expr *const *)type->dims);
        char *name = ox_arena_printf(&s->arena, "%s.dim%u", value->name, i);
        struct ox_origin origin = {
            .text =
                ox_arena_printf(&s->arena, "dimension %u of input '%s' is open", i, value->name)};
        if (!named || !name || !origin.text) {
            s->failed = true;
            return type;
        }
        named->dims[i] = ox_shapes_symbol(s, name, &origin);
    }
    return named ? named : type;
}

void ox_shapes_not_empty(struct ox_shapes *s, const struct ox_type *type)
{
    bool assume = !s->may_be_empty && type && type->kind == OX_TYPE_TENSOR && type->has_rank;
    for (unsigned i = 0; assume && i < type->rank; i++)
        ox_expr_assume_positive(s->pool, type->dims[i]);
}

/* Before IR 4 an initializer had to be an input too; since then one that is an input is a default. */
static bool is_replaceable(const struct ox_shapes *s, const struct ox_value *value)
{
    return value->is_input && (s->model->ir_version >= 4 || s->model->ir_version == 0);
}

bool ox_shapes_enter(struct ox_shapes *s, const struct ox_graph *graph)
{
    struct ox_slot **place = slots_of_graph(s, graph);
    if (!place)
        return false;
    struct ox_slot *slots = *place;
    if (!slots)
        slots = ox_arena_array(&s->arena, graph->n_values ? graph->n_values : 1, sizeof *slots);
    if (!slots) {
        s->failed = true;
        return false;
    }
    memset(slots, 0, graph->n_values * sizeof *slots);
    *place = slots;
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        struct ox_slot *slot = &slots[i];
        if (value->init)
            slot->type = stored_type(s, OX_TYPE_TENSOR, value->init->dtype, value->init->rank,
                                     value->init->dims);
        else if (value->sparse_init && value->sparse_init->values)
            slot->type = stored_type(s, OX_TYPE_SPARSE, value->sparse_init->values->dtype,
                                     value->sparse_init->rank, value->sparse_init->dims);
        if ((value->init || value->sparse_init) && is_replaceable(s, value)) {
            slot->is_given = true;
            slot->type = value->type ? value->type : slot->type;
        }
        if (value->is_input && !slot->type)
            slot->type = graph->parent || graph->function
                             ? value->type
                             : ox_shapes_name_open(s, value, value->type);
        if (value->is_input && !graph->parent && !graph->function)
            ox_shapes_not_empty(s, slot->type);
        if (!slot->type && value->info && !value->producer && !value->outer && !value->is_input)
            slot->type = value->type;
        if (value->is_input && !slot->type)
            slot->reason = "the file does not say what this input is";
    }
    return true;
}

/* Nodes in an order in which each comes after those that it needs, where the file's order is not one; NULL: it is. */
static const struct ox_node **sorted_nodes(struct ox_shapes *s, const struct ox_graph *graph)
{
    bool sorted = true;
    for (size_t i = 0; i < graph->n_nodes && sorted; i++) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs && sorted; k++) {
            const struct ox_value *value = node->inputs[k];
            sorted =
                !value || value->graph != graph || !value->producer || value->producer->index < i;
        }
    }
    if (sorted)
        return NULL;
    const struct ox_node **order = ox_arena_array(&s->arena, graph->n_nodes, sizeof(*order));
    const struct ox_node **stack = ox_arena_array(&s->arena, graph->n_nodes, sizeof(*stack));
    uint32_t *next_input =
        ox_arena_array(&s->arena, graph->n_nodes, sizeof *next_input); /* UINT32_MAX: done */
    size_t n = 0;
    for (size_t i = 0; order && stack && next_input && i < graph->n_nodes; i++) {
        size_t depth = 0;
        if (next_input[i] == 0)
            stack[depth++] = graph->nodes[i];
        while (depth) {
            const struct ox_node *node = stack[depth - 1];
            uint32_t k = next_input[node->index]++;
            if (k >= node->n_inputs) {
                next_input[node->index] =
                    UINT32_MAX - 1; /* stays below the wrap if a cycle comes here again */
                order[n++] = node;
                depth--;
                continue;
            }
            const struct ox_value *value = node->inputs[k];
            const struct ox_node *before = value && value->graph == graph ? value->producer : NULL;
            if (before && next_input[before->index] == 0 && before != node)
                stack[depth++] = before;
        }
    }
    return n == graph->n_nodes ? order : NULL;
}

void ox_shapes_graph(struct ox_shapes *s, const struct ox_graph *graph)
{
    const struct ox_node **order = sorted_nodes(s, graph);
    for (size_t i = 0; i < graph->n_nodes && !s->failed; i++) {
        if (s->model->env->limits.expanded_nodes &&
            s->n_inferred > s->model->env->limits.expanded_nodes)
            break;
        if (ox_env_poll(s->model->env, NULL) != OX_OK)
            break;
        ox_shapes_node(s, order ? order[i] : graph->nodes[i]);
    }
}

/* ---- Subgraphs -------------------------------------------------------------------------------------------------- */

/* What was learned inside holds inside alone: a branch may not be taken. */
static void leave_scope(struct ox_shapes *s, const struct ox_graph *graph, size_t n_facts)
{
    if (s->n_facts == n_facts)
        return;
    for (size_t i = 0; i < graph->n_values; i++) {
        struct ox_slot *slot = &(*slots_of_graph(s, graph))[i];
        slot->type = ox_shapes_resolve_type(s, slot->type);
    }
    s->n_facts = n_facts;
}

static void infer_declared(struct ox_shapes *s, const struct ox_graph *graph)
{
    struct ox_slot **slots = graph ? slots_of_graph(s, graph) : NULL;
    if (!slots || *slots || s->depth >= OX_SHAPE_DEPTH || !ox_shapes_enter(s, graph))
        return;
    size_t n_facts = s->n_facts;
    s->depth++;
    ox_shapes_graph(s, graph);
    s->depth--;
    leave_scope(s, graph, n_facts);
}

void ox_shapes_other_subgraphs(struct ox_shapes *s, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_attrs; i++) {
        const struct ox_attr *attr = &node->attrs[i];
        if (attr->ref || !ox_attr_has_graphs(attr))
            continue;
        for (size_t k = 0; k < attr->n; k++)
            infer_declared(s, attr->graphs[k]);
    }
}

/* An optional that the file declares stays one where its element was given. */
static void give_input(struct ox_infer *c, const struct ox_value *input,
                       const struct ox_type *given)
{
    struct ox_slot *slot = ox_slot_of(c->s, input);
    const struct ox_type *declared = slot->type;
    bool differ = false;
    if (!given || (declared && declared->kind == OX_TYPE_OPTIONAL && given->kind != declared->kind))
        return;
    slot->type = ox_shapes_merge(c->s, given, declared, &differ);
    if (differ && declared == input->type && !c->s->ignore_value_info)
        ox_shapes_report_declared(c, input, given, "gives it");
}

static void give_value(struct ox_infer *c, const struct ox_value *input,
                       const struct ox_infer_value *given)
{
    struct ox_slot *slot = ox_slot_of(c->s, input);
    give_input(c, input, given->type);
    slot->values = given->values;
    slot->n_values = given->n_values;
    slot->constant = given->constant;
    slot->items = given->items;
}

static struct ox_infer_value value_of(struct ox_shapes *s, const struct ox_value *value)
{
    struct ox_infer_value known = {0};
    struct ox_slot *slot = ox_slot_of(s, value);
    if (!slot)
        return known;
    known.type = slot->type;
    known.items = slot->items;
    /* Both as they are found: the one is made of the other. */
    if (!ox_shapes_values(s, value, &known.n_values, &known.values))
        known.values = NULL;
    ox_shapes_constant(s, slot, value);
    known.constant = slot->constant;
    return known;
}

bool ox_infer_subgraph_values(struct ox_infer *c, const char *attr_name,
                              const struct ox_infer_value *inputs, size_t n_inputs,
                              struct ox_infer_value *outputs, size_t n_outputs)
{
    struct ox_shapes *s = c->s;
    const struct ox_attr *attr = ox_infer_attr(c, attr_name);
    if (!attr || attr->type != OX_ATTR_GRAPH || !attr->graphs || s->depth >= OX_SHAPE_DEPTH)
        return false;
    const struct ox_graph *graph = attr->graphs[0];
    if (!graph || !ox_shapes_enter(s, graph))
        return false;
    for (size_t i = 0; i < graph->n_inputs && i < n_inputs; i++)
        give_value(c, graph->inputs[i], &inputs[i]);
    size_t n_facts = s->n_facts;
    s->depth++;
    ox_shapes_graph(s, graph);
    s->depth--;
    leave_scope(s, graph, n_facts);
    for (size_t i = 0; i < n_outputs; i++)
        outputs[i] =
            i < graph->n_outputs ? value_of(s, graph->outputs[i]) : (struct ox_infer_value){0};
    return true;
}

bool ox_infer_subgraph(struct ox_infer *c, const char *attr_name,
                       const struct ox_type *const *inputs, size_t n_inputs,
                       const struct ox_type **outputs, size_t n_outputs)
{
    struct ox_infer_value *values = ox_infer_scratch(c, n_inputs + n_outputs + 1, sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < n_inputs; i++)
        values[i].type = inputs[i];
    if (!ox_infer_subgraph_values(c, attr_name, values, n_inputs, values + n_inputs, n_outputs))
        return false;
    for (size_t i = 0; i < n_outputs; i++)
        outputs[i] = values[n_inputs + i].type;
    return true;
}

struct ox_infer_value ox_infer_value(const struct ox_infer *c, size_t i)
{
    struct ox_infer_value known = {0};
    if (ox_infer_has(c, i))
        known = value_of(c->s, c->node->inputs[i]);
    known.type = ox_infer_type(c, i);
    return known;
}

void ox_infer_set_value(struct ox_infer *c, size_t i, const struct ox_infer_value *value)
{
    struct ox_slot *slot = ox_infer_wants(c, i) ? ox_slot_of(c->s, c->node->outputs[i]) : NULL;
    if (!slot || !value->type)
        return;
    ox_infer_set_type(c, i, value->type);
    if (value->values)
        ox_infer_set_values(c, i, value->n_values, value->values);
    c->outs[i].items = value->items;
    slot->constant = value->constant;
}

const struct ox_type *ox_infer_lasting_type(struct ox_infer *c, const struct ox_value *value)
{
    struct ox_slot *slot = ox_slot_of(c->s, value);
    const struct ox_type *type = slot ? ox_shapes_resolve_type(c->s, slot->type) : NULL;
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank)
        return type;
    const struct ox_expr **dims = ox_infer_dims(c, type->rank);
    for (unsigned i = 0; dims && i < type->rank; i++)
        dims[i] = ox_shapes_passing(c->s, type->dims[i]) ? NULL : type->dims[i];
    return dims ? ox_infer_make_tensor(c, type->elem, true, type->rank, dims) : NULL;
}

void ox_infer_trips_begin(struct ox_infer *c)
{
    if (c->s->in_trips++ == 0)
        c->s->trips_failed = false;
}

bool ox_infer_trips_go_on(const struct ox_infer *c)
{
    return !c->s->trips_failed && !c->s->failed && c->s->n_in_trips < OX_SHAPE_TRIP_NODES;
}

bool ox_infer_trips_end(struct ox_infer *c)
{
    bool good = ox_infer_trips_go_on(c);
    c->s->in_trips--;
    return good;
}

/* ---- The model -------------------------------------------------------------------------------------------------- */

static enum ox_status begin(struct ox_shapes **out, struct ox_model *model,
                            const struct ox_shapes_options *options, struct ox_findings *findings,
                            struct ox_error *err)
{
    struct ox_shapes *s = calloc(1, sizeof *s);
    if (!s)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
    s->model = model;
    s->pool = model->exprs;
    s->findings = findings;
    if (options) {
        s->strict = options->strict;
        s->ignore_value_info = options->ignore_value_info;
        s->keep_names = options->keep_names;
        s->may_be_empty = options->may_be_empty;
    }
    ox_arena_init(&s->arena, ox_env_budget(model->env));
    ox_arena_init(&s->scratch, ox_env_budget(model->env));
    ox_strmap_init(&s->op_names);
    ox_strmap_init(&s->origins);
    ox_strmap_init(&s->data_dims);
    ox_strmap_init(&s->reported);
    s->n_graphs = model->n_graphs;
    s->slots = ox_arena_array(&s->arena, model->n_graphs + 1, sizeof *s->slots);
    s->joined = ox_arena_array(&s->arena, model->n_graphs + 1, sizeof *s->joined);
    /* A big first block, that a node's memory is given back without freeing and asking anew. */
    bool reserved = ox_arena_reserve(&s->scratch, SCRATCH_BYTES);
    bool assumed = !s->may_be_empty || ox_exprs_assume_nothing(s->pool);
    if (!s->slots || !s->joined || !reserved || !assumed) {
        ox_shapes_release(s);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", model->path ? model->path : "model");
    }
    s->scratch_start = ox_arena_mark(&s->scratch);
    enum ox_status status = findings ? OX_OK : ox_findings_new(&s->own_findings, model->env, err);
    if (status != OX_OK) {
        ox_shapes_release(s);
        return status;
    }
    if (!findings)
        s->findings = s->own_findings;
    *out = s;
    return OX_OK;
}

/* Puts what was learned later into what was inferred earlier. */
static void resolve_all(struct ox_shapes *s)
{
    for (size_t g = 0; g < s->n_graphs && s->n_facts; g++) {
        const struct ox_graph *graph = s->model->graphs[g];
        for (size_t i = 0; s->slots[g] && i < graph->n_values; i++)
            s->slots[g][i].type = ox_shapes_resolve_type(s, s->slots[g][i].type);
    }
}

/* Infers the types of a model in what begin() made; *s is released when it fails. */
static enum ox_status infer_model(struct ox_shapes *s, const struct ox_shapes_options *options,
                                  struct ox_error *err)
{
    struct ox_model *model = s->model;
    enum ox_status status = OX_OK;
    if (model->graph) {
        if (ox_shapes_enter(s, model->graph))
            status = ox_shapes_override(s, options, err);
        if (status == OX_OK && !s->failed)
            status = ox_shapes_set_symbols(s, options, err);
        if (status != OX_OK)
            ox_fail_context(err, status, "%s", model->path ? model->path : "model");
        if (status == OX_OK)
            ox_shapes_graph(s, model->graph);
        resolve_all(s);
    }
    s->failed |= !ox_shapes_list(s) || ox_exprs_failed(model->exprs);
    if (status == OX_OK)
        status = ox_env_poll(model->env, err);
    if (status == OX_OK && s->failed)
        status = ox_fail(err, OX_NO_MEMORY, "%s: out of memory while shapes were inferred",
                         model->path ? model->path : "model");
    if (status != OX_OK) {
        ox_shapes_release(s);
        return status;
    }
    return OX_OK;
}

enum ox_status ox_shapes_infer(struct ox_shapes **out, struct ox_model *model,
                               const struct ox_shapes_options *options,
                               struct ox_findings *findings, struct ox_error *err)
{
    struct ox_shapes *s = NULL;
    OX_TRY(begin(&s, model, options, findings, err));
    OX_TRY(infer_model(s, options, err));
    *out = s;
    return OX_OK;
}

/* ---- Contradictions --------------------------------------------------------------------------------------------- */

/* Whether stored types contradict what the rules say without values computed on the way. */
static enum ox_status contradicts_rules(bool *does, struct ox_model *model, struct ox_error *err)
{
    const struct ox_shapes_options strict = {.strict = true};
    struct ox_shapes *s = NULL;
    OX_TRY(begin(&s, model, &strict, NULL, err));
    s->rules_alone = true;
    s->defers_declared = true;
    OX_TRY(infer_model(s, &strict, err));
    *does = s->n_deferred > 0;
    ox_shapes_release(s);
    return OX_OK;
}

/* Makes the findings that were put off, in the order in which they were found. */
static void make_deferred(struct ox_shapes *s, bool certain)
{
    struct ox_deferred *first = NULL;
    while (s->deferred) {
        struct ox_deferred *next = s->deferred->next;
        s->deferred->next = first;
        first = s->deferred;
        s->deferred = next;
    }
    for (; first; first = first->next)
        ox_shapes_finding(s, certain ? first->id : OX_F_SHAPE_SUSPECT, &first->place,
                          first->message);
}

enum ox_status ox_shapes_check(struct ox_model *model, struct ox_findings *findings,
                               struct ox_error *err)
{
    const struct ox_shapes_options strict = {.strict = true};
    struct ox_shapes *s = NULL;
    bool certain = false;
    OX_TRY(begin(&s, model, &strict, findings, err));
    s->defers_declared = true;
    OX_TRY(infer_model(s, &strict, err));
    enum ox_status status = s->n_deferred > 0 ? contradicts_rules(&certain, model, err) : OX_OK;
    if (status == OX_OK)
        make_deferred(s, certain);
    ox_shapes_release(s);
    return status;
}

void ox_shapes_release(struct ox_shapes *shapes)
{
    if (!shapes)
        return;
    for (struct ox_kept_tensor *kept = shapes->kept; kept; kept = kept->next)
        ox_tensor_release(kept->tensor);
    ox_strmap_release(&shapes->op_names);
    ox_strmap_release(&shapes->origins);
    ox_strmap_release(&shapes->data_dims);
    ox_strmap_release(&shapes->reported);
    ox_findings_release(shapes->own_findings);
    for (size_t i = 0; i < shapes->n_bodies; i++)
        ox_model_release(shapes->bodies[i].model);
    free(shapes->bodies);
    free(shapes->rules);
    free((void *)shapes->data_symbols);
    free(shapes->origin_list);
    ox_arena_release(&shapes->scratch);
    ox_arena_release(&shapes->arena);
    free(shapes);
}

const struct ox_type *ox_shapes_type(const struct ox_shapes *shapes, const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    if (value->graph->function && value->graph->model == shapes->model) {
        const struct ox_type **joined = shapes->joined[value->graph->id];
        return joined ? joined[value->id] : value->type;
    }
    const struct ox_slot *slot = ox_slot_of(shapes, value);
    return slot ? slot->type : NULL;
}

const char *ox_shapes_reason(const struct ox_shapes *shapes, const struct ox_value *value)
{
    const struct ox_slot *slot = ox_slot_of(shapes, value);
    return slot ? slot->reason : "nothing reaches it";
}

const struct ox_node *ox_shapes_conflict(const struct ox_shapes *shapes, const char **message)
{
    *message = shapes->conflict_message;
    return shapes->conflict;
}

bool ox_shapes_number(const struct ox_shapes *shapes, const struct ox_value *value,
                      uint64_t *number)
{
    size_t n;
    int64_t found;
    const struct ox_expr *const *values;
    /* A constant is looked into when it is asked for. */
    if (!ox_shapes_values((struct ox_shapes *)(uintptr_t)shapes, value, &n, &values) || n != 1 ||
        !ox_expr_is_int(values[0], &found) || found < 0)
        return false;
    *number = (uint64_t)found;
    return true;
}
