/* Equal sizes, axes and indices are stored once: exporters write one for each node that reads it. */
#include "quant/quant.h"

/* Small, and of integers; NULL. */
static const struct ox_stored *shareable(const struct ox_quant_uses *uses,
                                         const struct ox_value *value)
{
    enum { SMALL = 64 };
    const struct ox_stored *stored = value->init;
    size_t n;
    bool is = stored && !value->is_input && ox_quant_n_uses(uses, value) &&
              (stored->dtype == OX_INT64 || stored->dtype == OX_INT32) &&
              ox_dims_count(stored->rank, stored->dims, &n) && n <= SMALL;
    return is ? stored : NULL;
}

/* What makes constants equal, in the arena. */
static enum ox_status key_of(struct ox_quant *q, const struct ox_stored *stored, char **out,
                             size_t *bytes, struct ox_error *err)
{
    struct ox_tensor *tensor;
    struct ox_strbuf key = {0};
    OX_TRY(ox_stored_load(q->model, stored, &tensor, err));
    ox_strbuf_add(&key, &tensor->dtype, sizeof tensor->dtype);
    ox_strbuf_add(&key, &tensor->rank, sizeof tensor->rank);
    ox_strbuf_add(&key, tensor->dims, tensor->rank * sizeof *tensor->dims);
    ox_strbuf_add(&key, tensor->data, tensor->n * ox_dtype_size(tensor->dtype));
    ox_tensor_release(tensor);
    *out = key.failed ? NULL : ox_arena_copy(&q->arena, key.data, key.len);
    *bytes = key.len;
    ox_strbuf_release(&key);
    return *out ? OX_OK : ox_no_memory(err);
}

static enum ox_status share(struct ox_quant *q, struct ox_graph *graph, struct ox_strmap *seen,
                            struct ox_error *err)
{
    struct ox_quant_uses uses;
    OX_TRY(ox_quant_find_uses(q, graph, &uses, err));
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct ox_stored *stored = shareable(&uses, graph->values[i]);
        char *key;
        size_t bytes;
        uint32_t first = (uint32_t)i;
        bool is_new;
        if (!stored)
            continue;
        OX_TRY(key_of(q, stored, &key, &bytes, err));
        if (!ox_strmap_add(seen, key, bytes, &first, &is_new))
            return ox_no_memory(err);
        for (uint32_t k = uses.first[i]; !is_new && k < uses.first[i + 1]; k++)
            uses.uses[k].node->inputs[uses.uses[k].index] = graph->values[first];
    }
    return OX_OK;
}

enum ox_status ox_quant_share_sizes(struct ox_quant *q, struct ox_graph *graph,
                                    struct ox_error *err)
{
    struct ox_strmap seen;
    ox_strmap_init(&seen);
    enum ox_status status = share(q, graph, &seen, err);
    ox_strmap_release(&seen);
    return status;
}
