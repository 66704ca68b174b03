/* The context of a pass: who uses what in the graph at hand, and how it is changed. */
#include "graph/rewrite.h"

#include <string.h>

#include "graph/splice.h"
#include "model/value.h"

/* ---- Entering and leaving a graph ------------------------------------------------------------------------------- */

static bool grow(struct ox_rewrite *rw, void *array, size_t old, size_t cap, size_t size)
{
    void *from, *to = ox_arena_array(&rw->scratch, cap, size);
    rw->failed |= !to;
    if (!to)
        return false;
    memcpy(&from, array, sizeof from);
    if (old)
        memcpy(to, from, old * size);
    memcpy(array, &to, sizeof to);
    return true;
}

/* Room for a value's or a node's entries. */
static bool reserve_value(struct ox_rewrite *rw, size_t id)
{
    if (id < rw->cap_values)
        return true;
    size_t cap = id * 2 + 16, old = rw->cap_values;
    if (!grow(rw, &rw->uses, old, cap, sizeof *rw->uses) ||
        !grow(rw, &rw->n_uses, old, cap, sizeof *rw->n_uses) ||
        !grow(rw, &rw->pinned, old, cap, sizeof *rw->pinned))
        return false;
    rw->cap_values = cap;
    return true;
}

static bool reserve_node(struct ox_rewrite *rw, size_t index)
{
    if (index < rw->cap_nodes)
        return true;
    size_t cap = index * 2 + 16, old = rw->cap_nodes;
    if (!grow(rw, &rw->gone, old, cap, sizeof *rw->gone) ||
        !grow(rw, &rw->before, old, cap, sizeof *rw->before))
        return false;
    rw->cap_nodes = cap;
    return true;
}

static void link_use(struct ox_rewrite *rw, struct ox_value *value, struct ox_node *node, size_t i)
{
    struct ox_use *use = value ? ox_arena_alloc(&rw->scratch, sizeof *use) : NULL;
    if (!value)
        return;
    if (!use) {
        rw->failed = true;
        return;
    }
    *use = (struct ox_use){node, (uint32_t)i, rw->uses[value->id]};
    rw->uses[value->id] = use;
    rw->n_uses[value->id]++;
}

static void unlink_use(struct ox_rewrite *rw, const struct ox_value *value,
                       const struct ox_node *node, size_t i)
{
    if (!value)
        return;
    for (struct ox_use **at = &rw->uses[value->id]; *at; at = &(*at)->next) {
        if ((*at)->node == node && (*at)->input == i) {
            *at = (*at)->next;
            rw->n_uses[value->id]--;
            return;
        }
    }
}

static bool is_kept(const struct ox_rewrite *rw, const char *name)
{
    const size_t n = strlen(name);
    return rw->kept_lengths >> n % 64 & 1 && ox_strmap_find(&rw->kept, name, n) != OX_STRMAP_NONE;
}

bool ox_rw_enter(struct ox_rewrite *rw, struct ox_graph *graph)
{
    bool is_main = graph == rw->model->graph;
    rw->graph = graph;
    rw->cap_values = rw->cap_nodes = 0;
    rw->n_old = graph->n_nodes;
    if (!reserve_value(rw, graph->n_values) || !reserve_node(rw, graph->n_nodes))
        return false;
    for (size_t i = 0; i < graph->n_nodes; i++)
        for (size_t k = 0; k < graph->nodes[i]->n_inputs; k++)
            link_use(rw, graph->nodes[i]->inputs[k], graph->nodes[i], k);
    for (size_t i = 0; i < graph->n_outputs; i++) {
        struct ox_value *output = graph->outputs[i];
        if (!is_main || !rw->only_kept || is_kept(rw, output->name))
            rw->pinned[output->id] = true;
    }
    for (size_t i = 0; is_main && i < graph->n_values; i++)
        if (rw->kept.n && is_kept(rw, graph->values[i]->name))
            rw->pinned[i] = true;
    ox_captures_mark(graph, rw->pinned);
    return !rw->failed;
}

/* New nodes go before the old ones that they were inserted for, in the order in which they were made. */
static bool place_new_nodes(struct ox_rewrite *rw)
{
    struct ox_graph *graph = rw->graph;
    size_t n = graph->n_nodes;
    if (n == rw->n_old)
        return true;
    uint32_t *first = ox_arena_array(&rw->scratch, rw->n_old + 1, sizeof *first);
    uint32_t *next = ox_arena_array(&rw->scratch, n, sizeof *next);
    struct ox_node **order = ox_arena_array(&rw->scratch, n, sizeof(struct ox_node *));
    bool *gone = ox_arena_array(&rw->scratch, n, sizeof *gone);
    if (!first || !next || !order || !gone)
        return false;
    for (size_t i = n; i-- > rw->n_old;) {
        next[i] = first[rw->before[i]];
        first[rw->before[i]] = (uint32_t)i;
    }
    size_t at = 0;
    for (size_t i = 0; i <= rw->n_old; i++) {
        for (uint32_t k = first[i]; k; k = next[k])
            order[at++] = graph->nodes[k];
        if (i < rw->n_old)
            order[at++] = graph->nodes[i];
    }
    for (size_t i = 0; i < n; i++)
        gone[i] = rw->gone[order[i]->index];
    for (size_t i = 0; i < n; i++) {
        order[i]->index = (uint32_t)i;
        graph->nodes[i] = order[i];
        rw->gone[i] = gone[i];
    }
    return true;
}

bool ox_rw_leave(struct ox_rewrite *rw)
{
    struct ox_graph *graph = rw->graph;
    if (rw->failed || !place_new_nodes(rw))
        return false;
    bool any = false;
    for (size_t i = 0; i < graph->n_nodes; i++)
        any |= rw->gone[i];
    size_t n_graphs = rw->model->n_graphs;
    if (any)
        ox_graph_remove_nodes(graph, rw->gone);
    if (rw->model->n_graphs != n_graphs)
        ox_rw_forget_shapes(rw);
    rw->graph = NULL;
    return true;
}

/* ---- Looking ---------------------------------------------------------------------------------------------------- */

const struct ox_use *ox_rw_uses(const struct ox_rewrite *rw, const struct ox_value *value)
{
    return rw->uses[value->id];
}

size_t ox_rw_n_uses(const struct ox_rewrite *rw, const struct ox_value *value)
{
    return rw->n_uses[value->id];
}

bool ox_rw_is_pinned(const struct ox_rewrite *rw, const struct ox_value *value)
{
    return rw->pinned[value->id];
}

struct ox_node *ox_rw_only_user(const struct ox_rewrite *rw, const struct ox_value *value)
{
    if (value->graph != rw->graph || rw->pinned[value->id] || rw->n_uses[value->id] != 1)
        return NULL;
    return rw->uses[value->id]->node;
}

enum ox_status ox_rw_each(struct ox_rewrite *rw, const struct ox_graph *graph, const char *op_type,
                          void (*look_at)(struct ox_rewrite *rw, struct ox_node *node),
                          struct ox_error *err)
{
    for (size_t i = 0; i < rw->n_old && !rw->failed; i++) {
        struct ox_node *node = graph->nodes[i];
        OX_TRY(ox_env_poll(rw->env, err));
        if (!ox_rw_gone(rw, node) && node->n_outputs > 0 &&
            (!op_type ||
             (!*node->domain && *node->op_type == *op_type && strcmp(node->op_type, op_type) == 0)))
            look_at(rw, node);
    }
    return OX_OK;
}

/* ---- Changing --------------------------------------------------------------------------------------------------- */

void *ox_rw_scratch(struct ox_rewrite *rw, size_t n, size_t size)
{
    void *memory = ox_arena_array(&rw->scratch, n ? n : 1, size);
    rw->failed |= !memory;
    return memory;
}

static struct ox_type *new_type(struct ox_rewrite *rw, enum ox_dtype elem, unsigned rank,
                                const struct ox_expr *const *dims)
{
    struct ox_type *type = ox_arena_alloc(&rw->model->arena, sizeof *type);
    const struct ox_expr **copy =
        ox_arena_array(&rw->model->arena, rank + 1, sizeof(const struct ox_expr *));
    if (!type || !copy) {
        rw->failed = true;
        return NULL;
    }
    for (unsigned i = 0; dims && i < rank; i++)
        copy[i] = dims[i];
    *type = (struct ox_type){
        .kind = OX_TYPE_TENSOR, .elem = elem, .has_rank = true, .rank = rank, .dims = copy};
    return type;
}

const struct ox_type *ox_rw_tensor_type(struct ox_rewrite *rw, enum ox_dtype elem, unsigned rank,
                                        const struct ox_expr *const *dims)
{
    return new_type(rw, elem, rank, dims);
}

/* What inference knows of a value is gone when it is made anew: a new value keeps a copy. NULL: it is no tensor's, or out of memory. */
static const struct ox_type *kept_type(struct ox_rewrite *rw, const struct ox_type *type)
{
    if (!type || type->kind != OX_TYPE_TENSOR)
        return NULL;
    const unsigned rank = type->has_rank ? type->rank : 0;
    struct ox_type *copy = new_type(rw, type->elem, rank, type->dims);
    if (copy)
        copy->has_rank = type->has_rank;
    return copy;
}

struct ox_value *ox_rw_value(struct ox_rewrite *rw, const char *name, const struct ox_type *type)
{
    struct ox_value *value = ox_graph_add_value(rw->graph, name);
    if (!value || !reserve_value(rw, value->id)) {
        rw->failed = true;
        return NULL;
    }
    value->type = kept_type(rw, type);
    return value;
}

struct ox_value *ox_rw_constant(struct ox_rewrite *rw, const char *name,
                                const struct ox_tensor *tensor)
{
    const struct ox_type *type = ox_rw_tensor_type(rw, tensor->dtype, tensor->rank, NULL);
    for (unsigned i = 0; type && i < tensor->rank; i++)
        type->dims[i] = ox_expr_int(rw->model->exprs, tensor->dims[i]);
    struct ox_value *value = type ? ox_rw_value(rw, name, type) : NULL;
    if (!value || !ox_graph_add_init(rw->graph, value, tensor)) {
        rw->failed = true;
        return NULL;
    }
    rw->n_changes++;
    return value;
}

static struct ox_value *new_constant(struct ox_rewrite *rw, const char *name, enum ox_dtype dtype,
                                     unsigned rank, const int64_t *dims, const void *data)
{
    struct ox_tensor *tensor;
    if (ox_tensor_new(&tensor, ox_env_budget(rw->env), dtype, rank, dims, NULL) != OX_OK) {
        rw->failed = true;
        return NULL;
    }
    if (tensor->n)
        memcpy(tensor->data, data, tensor->n * ox_dtype_size(dtype));
    struct ox_value *value = ox_rw_constant(rw, name, tensor);
    ox_tensor_release(tensor);
    return value;
}

struct ox_value *ox_rw_floats(struct ox_rewrite *rw, const char *name, unsigned rank,
                              const int64_t *dims, const float *data)
{
    return new_constant(rw, name, OX_FLOAT32, rank, dims, data);
}

struct ox_value *ox_rw_ints(struct ox_rewrite *rw, const char *name, size_t n, const int64_t *data)
{
    return new_constant(rw, name, OX_INT64, 1, &(int64_t){(int64_t)n}, data);
}

struct ox_node *ox_rw_insert(struct ox_rewrite *rw, struct ox_node *before, const char *op_type,
                             const char *domain, const char *name, struct ox_value *const *inputs,
                             size_t n_inputs, struct ox_value *const *outputs, size_t n_outputs)
{
    struct ox_graph *graph = rw->graph;
    if (rw->failed || !reserve_node(rw, graph->n_nodes))
        return NULL;
    struct ox_node *node =
        ox_graph_add_node(graph, op_type, domain, name, inputs, n_inputs, outputs, n_outputs);
    if (!node) {
        rw->failed = true;
        return NULL;
    }
    rw->before[node->index] = before && before->index < rw->n_old ? before->index
                              : before                            ? rw->before[before->index]
                                                                  : (uint32_t)rw->n_old;
    for (size_t i = 0; i < n_inputs; i++)
        link_use(rw, inputs[i], node, i);
    rw->n_changes++;
    return node;
}

void ox_rw_take_subgraph(struct ox_rewrite *rw, struct ox_node *node, const struct ox_graph *body)
{
    struct ox_graph *graph = rw->graph;
    const struct ox_splice splice = ox_splice_for(node, body);
    const size_t n_nodes = graph->n_nodes;
    struct ox_error err;
    if (rw->failed)
        return;
    rw->failed = ox_graph_splice(graph, &splice, &err) != OX_OK ||
                 !reserve_node(rw, graph->n_nodes) || !reserve_value(rw, graph->n_values);
    for (size_t i = n_nodes; i < graph->n_nodes && !rw->failed; i++) {
        struct ox_node *copy = graph->nodes[i];
        rw->before[i] = node->index;
        for (size_t k = 0; k < copy->n_inputs; k++)
            link_use(rw, copy->inputs[k], copy, k);
    }
    ox_rw_remove(rw, node);
}

void ox_rw_become(struct ox_rewrite *rw, struct ox_node *node, const char *op_type,
                  const char *domain, struct ox_value *const *inputs, size_t n_inputs)
{
    struct ox_arena *arena = &rw->model->arena;
    char *type = ox_arena_strdup(arena, op_type), *of = ox_arena_strdup(arena, domain);
    struct ox_value **list = ox_arena_array(arena, n_inputs + 1, sizeof(struct ox_value *));
    if (!type || !of || !list) {
        rw->failed = true;
        return;
    }
    for (size_t i = 0; i < n_inputs; i++)
        list[i] = inputs[i];
    for (size_t i = 0; i < node->n_inputs; i++)
        unlink_use(rw, node->inputs[i], node, i);
    node->op_type = type;
    node->domain = of;
    node->inputs = list;
    node->n_inputs = n_inputs;
    for (size_t i = 0; i < n_inputs; i++)
        link_use(rw, list[i], node, i);
    rw->n_changes++;
}

void ox_rw_inherit(struct ox_node *node, const struct ox_node *from)
{
    node->attrs = from->attrs;
    node->n_attrs = from->n_attrs;
    node->name = from->name;
    node->proto = from->proto ? from->proto : node->proto;
    node->place = from->place;
}

void ox_rw_clear_attrs(struct ox_rewrite *rw, struct ox_node *node)
{
    node->n_attrs = 0;
    node->attrs = NULL;
    rw->n_changes++;
}

void ox_rw_set_input(struct ox_rewrite *rw, struct ox_node *node, size_t i, struct ox_value *value)
{
    if (!value)
        return;
    unlink_use(rw, node->inputs[i], node, i);
    node->inputs[i] = value;
    link_use(rw, value, node, i);
    rw->n_changes++;
}

void ox_rw_set_output(struct ox_rewrite *rw, struct ox_node *node, size_t i, struct ox_value *value)
{
    struct ox_value *old = node->outputs[i];
    if (old && old->producer == node)
        old->producer = NULL;
    if (!value)
        return;
    node->outputs[i] = value;
    value->producer = node;
    value->output_index = (unsigned)i;
    rw->n_changes++;
}

bool ox_rw_replace(struct ox_rewrite *rw, struct ox_value *old, struct ox_value *by)
{
    if (!by || rw->pinned[old->id])
        return false;
    while (rw->uses[old->id]) {
        struct ox_use *use = rw->uses[old->id];
        rw->uses[old->id] = use->next;
        rw->n_uses[old->id]--;
        use->node->inputs[use->input] = by;
        use->next = rw->uses[by->id];
        rw->uses[by->id] = use;
        rw->n_uses[by->id]++;
    }
    rw->n_changes++;
    return true;
}

bool ox_rw_bypass(struct ox_rewrite *rw, struct ox_node *node, struct ox_value *same)
{
    struct ox_value *output = node->outputs[0];
    if (!same || same->graph != rw->graph)
        return false;
    if (ox_rw_replace(rw, output, same)) {
        ox_rw_remove(rw, node);
        return true;
    }
    struct ox_node *producer = same->producer;
    if (!producer || producer->graph != rw->graph || rw->pinned[same->id] || same->outer ||
        same->init)
        return false;
    ox_rw_remove(rw, node);
    ox_rw_set_output(rw, producer, same->output_index, output);
    return ox_rw_replace(rw, same, output);
}

bool ox_rw_capture(struct ox_rewrite *rw, struct ox_value *inner, struct ox_value *value)
{
    if (!ox_value_capture(inner, value))
        return false;
    rw->pinned[value->id] = true;
    rw->n_changes++;
    return true;
}

void ox_rw_remove(struct ox_rewrite *rw, struct ox_node *node)
{
    if (rw->gone[node->index])
        return;
    rw->gone[node->index] = true;
    for (size_t i = 0; i < node->n_inputs; i++)
        unlink_use(rw, node->inputs[i], node, i);
    rw->n_changes++;
}

void ox_rw_fold(struct ox_rewrite *rw, struct ox_node *node, size_t output,
                const struct ox_tensor *tensor)
{
    struct ox_value *value = node->outputs[output];
    if (value->producer == node)
        value->producer = NULL;
    node->outputs[output] = NULL;
    rw->failed |= !ox_graph_add_init(rw->graph, value, tensor);
    rw->n_changes++;
    for (size_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i])
            return;
    ox_rw_remove(rw, node);
}
