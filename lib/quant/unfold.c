/* What folding made of smaller constants is written as the nodes that make it: masks, indices and tables that are broadcast. Runtimes
 * fold them as they load, and the file does not hold them. Weights that became integers are not what was folded any more. */
#include <string.h>

#include "graph/match.h"
#include "ops/evaluate.h"
#include "quant/quant.h"
#include "quant/unfold.h"

enum {
    LEAST_BYTES = 1024, /* of what is looked at ... */
    LEAST_GAIN = 512,   /* ... and that nodes and their constants take less */
    MOST_NODES = 256,
    ENTRY_BYTES = 16, /* of names, kinds and lengths around what they hold */
    KNOWN_MOST = 64   /* integers that are computed from sizes */
};

/* Of a value of the main graph as it was given: a constant, or the node that makes it of constants; neither: it is computed. */
struct origin {
    const struct ox_stored *stored;
    const struct ox_node *node; /* a copy */
    uint32_t rank;              /* of the value whose inputs all have lower ones */
};

struct ox_origins {
    uint32_t n; /* values; the first ones of the graph */
    uint32_t n_nodes;
    struct origin *of; /* by value id */
    uint32_t *made;    /* value ids, by rank */
};

/* ---- Before folding ----------------------------------------------------------------------------------------------- */

static bool is_of_constants(const struct ox_origins *origins, const struct ox_node *node)
{
    const struct ox_op *op = ox_op_find(node->domain, node->op_type, ox_node_opset(node));
    if (!op || (op->flags & OX_OP_RANDOM) || node->n_outputs != 1 || !node->outputs[0] ||
        node->n_inputs > OX_EVALUATE_MOST || ox_node_has_graphs(node) ||
        (!node->n_inputs && !ox_is_op(node, "Constant")))
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *value = node->inputs[i];
        if (value &&
            (value->outer || (!origins->of[value->id].stored && !origins->of[value->id].node)))
            return false;
    }
    return true;
}

static struct ox_node *copied(struct ox_arena *arena, const struct ox_node *node)
{
    struct ox_node *copy = ox_arena_copy(arena, node, sizeof *node);
    if (!copy)
        return NULL;
    copy->inputs = ox_arena_copy(arena, node->inputs, node->n_inputs * sizeof(*node->inputs));
    copy->outputs = ox_arena_copy(arena, node->outputs, node->n_outputs * sizeof(*node->outputs));
    copy->attrs = ox_arena_copy(arena, node->attrs, node->n_attrs * sizeof(*node->attrs));
    return copy->inputs && copy->outputs && copy->attrs ? copy : NULL;
}

enum ox_status ox_quant_keep_origins(struct ox_quant *q, struct ox_error *err)
{
    struct ox_model *model = q->model;
    struct ox_graph *graph = model->graph;
    struct ox_origins *origins = ox_arena_alloc(&model->arena, sizeof *origins);
    if (!origins)
        return ox_no_memory(err);
    OX_TRY(ox_quant_infer(q, err));
    *origins = (struct ox_origins){.n = (uint32_t)graph->n_values};
    origins->of = ox_arena_array(&model->arena, graph->n_values + 1, sizeof *origins->of);
    origins->made = ox_arena_array(&model->arena, graph->n_nodes + 1, sizeof *origins->made);
    if (!origins->of || !origins->made)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_value *value = graph->values[i];
        origins->of[i].stored = value->is_input || value->outer ? NULL : value->init;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *node = graph->nodes[i];
        const struct ox_value *value = node->n_outputs == 1 ? node->outputs[0] : NULL;
        struct origin *origin = value ? &origins->of[value->id] : NULL;
        const struct ox_tensor *known = NULL;
        if (!value)
            continue;
        if (is_of_constants(origins, node)) {
            origin->node = copied(&model->arena, node);
            origin->rank = origins->n_nodes;
            origins->made[origins->n_nodes++] = value->id;
        } else {
            known = ox_shapes_known(q->shapes, value);
            if (!known || known->dtype == OX_STRING || known->n > KNOWN_MOST)
                continue;
            origin->stored = ox_model_store(model, value->name, known);
        }
        if (!origin->node && !origin->stored)
            return ox_no_memory(err);
    }
    model->origins = origins;
    return OX_OK;
}

/* ---- What it would cost to make a constant ------------------------------------------------------------------------- */

struct unfolding {
    struct ox_quant *q;
    struct ox_graph *graph;
    const struct ox_origins *origins;
    struct ox_value **now;     /* by value id: what holds the same in the graph as it is; NULL */
    struct ox_tensor **values; /* by value id, of the constant at hand */
    uint64_t *cost;            /* bytes that having it adds to the file */
    bool *as_node;
    bool *needed;
};

static uint64_t name_bytes(const struct ox_value *value)
{
    return value ? strlen(value->name) + 2 : 2;
}

static uint64_t bytes_of(const struct ox_tensor *tensor)
{
    return tensor->n * ox_dtype_size(tensor->dtype);
}

/* Of the node alone. */
static uint64_t node_bytes(const struct ox_node *node)
{
    uint64_t bytes = ENTRY_BYTES + strlen(node->name) + strlen(node->op_type) +
                     strlen(node->domain) + name_bytes(node->outputs[0]);
    for (size_t i = 0; i < node->n_inputs; i++)
        bytes += name_bytes(node->inputs[i]);
    for (size_t a = 0; a < node->n_attrs; a++)
        bytes += ENTRY_BYTES + strlen(node->attrs[a].name) + 10 * node->attrs[a].n;
    return bytes;
}

static bool same_tensor(const struct ox_tensor *a, const struct ox_tensor *b)
{
    return a->dtype == b->dtype && ox_tensor_same_dims(a, b) &&
           memcmp(a->data, b->data, bytes_of(a)) == 0;
}

/* What the graph holds of the value still, as it was. */
static struct ox_value *present(struct unfolding *u, const struct ox_value *value)
{
    if (u->now[value->id])
        return u->now[value->id];
    struct ox_value *same = u->graph->values[value->id];
    return same->init && same->init == u->origins->of[value->id].stored ? same : NULL;
}

/* Marks what the value is made of; false: that is too much. */
static bool mark(struct unfolding *u, const struct ox_value *value, uint64_t most)
{
    const struct ox_origins *origins = u->origins;
    uint64_t leaves = 0;
    unsigned n_nodes = 0;
    memset(u->needed, 0, origins->n * sizeof *u->needed);
    u->needed[value->id] = true;
    for (uint32_t r = origins->of[value->id].rank + 1; r-- > 0;) {
        const struct ox_node *node = origins->of[origins->made[r]].node;
        if (!u->needed[origins->made[r]])
            continue;
        if (++n_nodes > MOST_NODES)
            return false;
        for (size_t i = 0; i < node->n_inputs; i++) {
            const struct ox_value *input = node->inputs[i];
            if (!input || u->needed[input->id])
                continue;
            u->needed[input->id] = true;
            const struct ox_stored *stored = origins->of[input->id].stored;
            size_t n;
            uint64_t bytes;
            if (stored && (!ox_dims_count(stored->rank, stored->dims, &n) ||
                           OX_MUL_OVERFLOWS((uint64_t)n, ox_dtype_size(stored->dtype), &bytes) ||
                           stored->dtype == OX_STRING ||
                           OX_ADD_OVERFLOWS(leaves, present(u, input) ? 0 : bytes, &leaves)))
                return false;
        }
    }
    return leaves <= most;
}

static enum ox_status load(struct unfolding *u, const struct ox_value *value, struct ox_error *err)
{
    const struct ox_stored *stored = u->origins->of[value->id].stored;
    if (!stored || u->values[value->id])
        return OX_OK;
    OX_TRY(ox_stored_load(u->q->model, stored, &u->values[value->id], err));
    u->cost[value->id] =
        present(u, value) ? 0 : bytes_of(u->values[value->id]) + ENTRY_BYTES + name_bytes(value);
    return OX_OK;
}

/* What the node makes, or nothing where a kernel refuses. */
static enum ox_status run(struct unfolding *u, const struct ox_node *node,
                          const struct ox_tensor *const *in, struct ox_tensor **made,
                          struct ox_error *err)
{
    const int64_t opset = ox_node_opset(node);
    const struct ox_op *op = ox_op_find(node->domain, node->op_type, opset);
    const struct ox_schema *schema = ox_schema_find(node->domain, node->op_type, opset);
    if (ox_is_op(node, "Identity"))
        *made = ox_tensor_ref(in[0]);
    else if (ox_can_evaluate(node, op, schema, in)) {
        struct ox_error refused;
        struct ox_arena_mark before = ox_arena_mark(&u->q->arena);
        enum ox_status status = ox_evaluate(node, op, schema, opset, NULL, in, &u->q->arena,
                                            u->q->model->env, made, &refused);
        ox_arena_rewind(&u->q->arena, before);
        if (status == OX_NO_MEMORY)
            return ox_no_memory(err);
    }
    return OX_OK;
}

static enum ox_status evaluate(struct unfolding *u, const struct ox_node *node,
                               struct ox_error *err)
{
    const struct ox_tensor *in[OX_EVALUATE_MOST] = {NULL};
    const struct ox_value *value = node->outputs[0];
    uint64_t cost = node_bytes(node);
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!node->inputs[i])
            continue;
        OX_TRY(load(u, node->inputs[i], err));
        in[i] = u->values[node->inputs[i]->id];
        if (!in[i])
            return OX_OK;
        cost += u->cost[node->inputs[i]->id];
    }
    struct ox_tensor *made = NULL;
    OX_TRY(run(u, node, in, &made, err));
    if (!made || made->dtype == OX_STRING) {
        ox_tensor_release(made);
        return OX_OK;
    }
    u->values[value->id] = made;
    const uint64_t whole = bytes_of(made) + ENTRY_BYTES + name_bytes(value);
    u->as_node[value->id] = node->n_inputs && cost < whole; /* a Constant holds what it makes */
    u->cost[value->id] = present(u, value) ? 0 : u->as_node[value->id] ? cost : whole;
    return OX_OK;
}

/* ---- Nodes in its place -------------------------------------------------------------------------------------------- */

/* The value in the graph, made where it is not there yet; NULL: no memory. */
static struct ox_value *provided(struct unfolding *u, const struct ox_value *value)
{
    struct ox_value *there = present(u, value);
    if (!there)
        there = ox_quant_add_init(u->graph, value->name, ox_tensor_ref(u->values[value->id]));
    u->now[value->id] = there;
    return there;
}

static bool add_node(struct unfolding *u, const struct ox_node *node, struct ox_value *output)
{
    struct ox_value *inputs[OX_EVALUATE_MOST] = {NULL};
    for (size_t i = 0; i < node->n_inputs; i++) {
        inputs[i] = node->inputs[i] ? provided(u, node->inputs[i]) : NULL;
        if (node->inputs[i] && !inputs[i])
            return false;
    }
    struct ox_node *made = ox_graph_add_node(u->graph, node->op_type, node->domain, node->name,
                                             inputs, node->n_inputs, &output, 1);
    u->now[node->outputs[0]->id] = output;
    return made && ox_quant_copy_attrs(made, node, NULL);
}

/* Which of the values that were marked are made by nodes: those that a node that is made reads. */
static bool emit(struct unfolding *u, struct ox_value *target)
{
    const struct ox_origins *origins = u->origins;
    const uint32_t last = origins->of[target->id].rank;
    memset(u->needed, 0, origins->n * sizeof *u->needed);
    u->needed[target->id] = true;
    for (uint32_t r = last + 1; r-- > 0;) {
        const uint32_t id = origins->made[r];
        const struct ox_node *node = origins->of[id].node;
        u->needed[id] = u->needed[id] &&
                        (id == target->id || (u->as_node[id] && !present(u, node->outputs[0])));
        for (size_t i = 0; u->needed[id] && i < node->n_inputs; i++)
            if (node->inputs[i])
                u->needed[node->inputs[i]->id] = true;
    }
    ox_graph_drop_init(u->graph, target);
    for (uint32_t r = 0; r <= last; r++) {
        const struct ox_node *node = origins->of[origins->made[r]].node;
        if (!u->needed[origins->made[r]])
            continue;
        struct ox_value *output =
            r == last ? target : ox_graph_add_value(u->graph, node->outputs[0]->name);
        if (!output || !add_node(u, node, output))
            return false;
    }
    return true;
}

static enum ox_status unfold(struct unfolding *u, struct ox_value *target, bool *changed,
                             struct ox_error *err)
{
    const struct ox_origins *origins = u->origins;
    struct ox_tensor *folded = NULL;
    enum ox_status status = OX_OK;
    OX_TRY(ox_stored_load(u->q->model, target->init, &folded, err));
    const uint64_t most = bytes_of(folded) - LEAST_GAIN;
    if (mark(u, target, most)) {
        for (uint32_t r = 0; r <= origins->of[target->id].rank; r++)
            if (u->needed[origins->made[r]])
                OX_TRY_CLEANUP(evaluate(u, origins->of[origins->made[r]].node, err));
        const struct ox_tensor *made = u->values[target->id];
        const struct ox_node *node = origins->of[target->id].node;
        if (made && u->as_node[target->id] && same_tensor(made, folded)) {
            uint64_t cost = node_bytes(node);
            for (size_t i = 0; i < node->n_inputs; i++)
                cost += node->inputs[i] ? u->cost[node->inputs[i]->id] : 0;
            if (cost <= most) {
                *changed = true;
                status = emit(u, target) ? OX_OK : ox_no_memory(err);
            }
        }
    }
cleanup:
    ox_tensor_release(folded);
    for (uint32_t i = 0; i < origins->n; i++) {
        ox_tensor_release(u->values[i]);
        u->values[i] = NULL;
        u->as_node[i] = false;
    }
    return status;
}

/* A folded constant that nothing has changed since, and that is large. */
static bool is_target(const struct ox_origins *origins, const struct ox_value *value)
{
    const struct ox_stored *stored = value->init;
    size_t n;
    return value->id < origins->n && origins->of[value->id].node && stored && !value->is_input &&
           !value->is_output && stored->dtype != OX_STRING && !value->producer &&
           ox_dims_count(stored->rank, stored->dims, &n) &&
           n >= LEAST_BYTES / ox_dtype_size(stored->dtype);
}

enum ox_status ox_quant_unfold(struct ox_quant *q, struct ox_error *err)
{
    const struct ox_origins *origins = q->model->origins;
    if (!origins)
        return OX_OK;
    struct unfolding u = {.q = q, .graph = q->model->graph, .origins = origins};
    u.now = ox_arena_array(&q->arena, origins->n + 1, sizeof(*u.now));
    u.values = ox_arena_array(&q->arena, origins->n + 1, sizeof(*u.values));
    u.cost = ox_arena_array(&q->arena, origins->n + 1, sizeof *u.cost);
    u.as_node = ox_arena_array(&q->arena, origins->n + 1, sizeof *u.as_node);
    u.needed = ox_arena_array(&q->arena, origins->n + 1, sizeof *u.needed);
    if (!u.now || !u.values || !u.cost || !u.as_node || !u.needed)
        return ox_no_memory(err);
    /* What one needs is there for the next. */
    bool changed = true;
    for (int round = 0; changed && round < 3; round++) {
        changed = false;
        for (uint32_t r = 0; r < origins->n_nodes; r++) {
            struct ox_value *value = u.graph->values[origins->made[r]];
            OX_TRY(ox_env_poll(q->model->env, err));
            if (is_target(origins, value))
                OX_TRY(unfold(&u, value, &changed, err));
        }
    }
    return OX_OK;
}
