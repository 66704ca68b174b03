/* What bodies quantize alike of the weights around them is stored once, around them: the branches of a decoder with and without a cache
 * use the same weights. */
#include <string.h>

#include "graph/match.h"
#include "model/graph_impl.h"
#include "quant/quant.h"

enum { LEAST_BYTES = 64 };

/* A constant that others may be equal to. */
struct shared {
    struct ox_value *value;
    const struct ox_stored *stored;
};

struct sharing {
    struct ox_quant *q;
    struct ox_strmap seen; /* bytes -> index in shared */
    struct shared *shared;
    uint32_t n_shared;
};

/* onnxruntime makes a product on blocks of DequantizeLinear only where the weight is of the same graph. */
static bool is_blocked(const struct ox_quant_uses *uses, const struct ox_value *value)
{
    bool blocked = false;
    for (uint32_t i = uses->first[value->id]; i < uses->first[value->id + 1]; i++) {
        const struct ox_node *node = uses->uses[i].node;
        blocked |=
            ox_is_op(node, "DequantizeLinear") && ox_quant_int_attr(node, "block_size", 0) != 0;
    }
    return blocked;
}

static bool is_made(const struct ox_quant_uses *uses, const struct ox_value *value, size_t *bytes)
{
    const struct ox_stored *stored = value->init;
    if (!stored || stored->place != OX_STORED_TENSOR || value->is_input || value->is_output ||
        stored->dtype == OX_STRING || !ox_quant_n_uses(uses, value))
        return false;
    *bytes = stored->tensor->n * ox_dtype_size(stored->dtype);
    return *bytes >= LEAST_BYTES && !is_blocked(uses, value);
}

static bool read_instead(const struct ox_quant_uses *uses, const struct ox_value *value,
                         const struct ox_value *outer)
{
    struct ox_value *by = ox_graph_resolve(value->graph, outer->name);
    for (uint32_t i = uses->first[value->id]; by && i < uses->first[value->id + 1]; i++)
        uses->uses[i].node->inputs[uses->uses[i].index] = by;
    return by != NULL;
}

/* The first that was seen moves into the main graph. */
static enum ox_status move_out(struct sharing *s, struct shared *shared, struct ox_error *err)
{
    struct ox_graph *main = s->q->model->graph;
    struct ox_quant_uses uses;
    struct ox_value *moved = ox_graph_add_value(main, shared->value->name);
    OX_TRY(ox_quant_find_uses(s->q, shared->value->graph, &uses, err));
    if (!moved || !ox_graph_add_init(main, moved, shared->stored->tensor) ||
        !read_instead(&uses, shared->value, moved))
        return ox_no_memory(err);
    *shared = (struct shared){moved, moved->init};
    return OX_OK;
}

static enum ox_status look_at(struct sharing *s, const struct ox_quant_uses *uses,
                              struct ox_value *value, size_t bytes, struct ox_error *err)
{
    const struct ox_stored *stored = value->init;
    uint32_t index = s->n_shared;
    bool is_new;
    if (!ox_strmap_add(&s->seen, stored->tensor->data, bytes, &index, &is_new))
        return ox_no_memory(err);
    struct shared *shared = &s->shared[index];
    if (is_new) {
        s->shared[s->n_shared++] = (struct shared){value, stored};
        return OX_OK;
    }
    if (shared->value->graph == value->graph || shared->stored->dtype != stored->dtype ||
        !ox_tensor_same_dims(shared->stored->tensor, stored->tensor))
        return OX_OK;
    if (shared->value->graph != s->q->model->graph)
        OX_TRY(move_out(s, shared, err));
    return read_instead(uses, value, shared->value) ? OX_OK : ox_no_memory(err);
}

static enum ox_status share(struct sharing *s, struct ox_error *err)
{
    const struct ox_model *model = s->q->model;
    size_t n = 0, bytes;
    for (size_t g = 0; g < model->n_graphs; g++)
        n += model->graphs[g]->n_inits;
    s->shared = ox_arena_array(&s->q->arena, n + 1, sizeof *s->shared);
    if (!s->shared)
        return ox_no_memory(err);
    for (size_t g = 0; g < model->n_graphs; g++) {
        struct ox_graph *graph = model->graphs[g];
        struct ox_quant_uses uses;
        if (graph != model->graph && !ox_quant_is_body(graph))
            continue;
        OX_TRY(ox_quant_find_uses(s->q, graph, &uses, err));
        for (size_t i = 0; i < uses.n_values; i++) {
            struct ox_value *value = graph->values[i];
            if (is_made(&uses, value, &bytes) && !uses.captured[i])
                OX_TRY(look_at(s, &uses, value, bytes, err));
        }
    }
    return OX_OK;
}

enum ox_status ox_quant_share_bodies(struct ox_quant *q, struct ox_error *err)
{
    if (q->model->n_graphs < 2)
        return OX_OK;
    struct sharing s = {.q = q};
    ox_strmap_init(&s.seen);
    enum ox_status status = share(&s, err);
    ox_strmap_release(&s.seen);
    return status;
}
