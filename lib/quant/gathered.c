/* Tables that rows are gathered from, as integers in blocks along the rows, or of a row each. The rows that were gathered become float, so that a runtime
 * reads a byte an element; integers of 4 bits it could not gather. */
#include "quant/gathered.h"

#include <string.h>

#include "quant/blocked.h"
#include "quant/row_table.h"

struct tables {
    struct ox_quant *q;
    struct ox_graph *graph;
    struct ox_quant_uses uses;
    bool *gone; /* by index: nodes to be taken out */
};

static bool is_gather(const struct ox_node *node)
{
    return !*node->domain && strcmp(node->op_type, "Gather") == 0;
}

/* NULL: the node reads rows of a table. */
static const char *reads_no_row(const struct tables *t, const struct ox_node *node, size_t index)
{
    if (!is_gather(node) || index)
        return "another node reads its table too";
    if (ox_quant_int_attr(node, "axis", 0))
        return "it does not gather rows";
    return ox_quant_unwanted(t->q, node);
}

/* NULL: all nodes of the graph that read the table, captured or not, read its rows. */
static const char *reads_no_rows(const struct tables *t, const struct ox_graph *graph,
                                 const struct ox_value *table)
{
    const char *reason = NULL;
    for (size_t i = 0; i < graph->n_nodes && !reason; i++) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs && !reason; k++) {
            if (node->inputs[k] && ox_value_origin(node->inputs[k]) == table)
                reason = reads_no_row(t, node, k);
        }
    }
    return reason;
}

static const char *no_table(const struct tables *t, const struct ox_value *value)
{
    enum { LEAST_BYTES = 4096 }; /* what nodes and names add is less */
    const struct ox_stored *stored = ox_value_stored(value);
    const struct ox_value *table = ox_value_origin(value);
    const struct ox_model *model = t->q->model;
    const size_t block = t->q->options->block_size;
    const char *reason = NULL;
    if (table->is_output)
        return "its table is an output too";
    if (stored->rank != 2)
        return "its table is no matrix";
    if (stored->dims[1] < (int64_t)block)
        return "rows of its table are shorter than a block";
    if (stored->dims[0] * stored->dims[1] * (int64_t)ox_dtype_size(stored->dtype) < LEAST_BYTES)
        return "its table is small";
    for (size_t g = 0; g < model->n_graphs && !reason; g++)
        reason = reads_no_rows(t, model->graphs[g], table);
    return reason;
}

/* The columns of [rows, columns] as rows. */
static enum ox_status turned(struct ox_tensor **out, struct ox_env *env, const struct ox_tensor *in,
                             struct ox_error *err)
{
    const int64_t rows = in->dims[0], columns = in->dims[1], dims[] = {columns, rows};
    const size_t size = ox_dtype_size(in->dtype);
    OX_TRY(ox_tensor_new(out, ox_env_budget(env), in->dtype, 2, dims, err));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            memcpy((char *)(*out)->data + (size_t)(j * rows + i) * size,
                   (const char *)in->data + (size_t)(i * columns + j) * size, size);
    }
    return OX_OK;
}

/* The node's rows out of integers and out of scales, then both as float where the node's own were. */
static enum ox_status gather_parts(struct tables *t, struct ox_node *node,
                                   struct ox_value *const parts[2], struct ox_error *err)
{
    static const char *const suffixes[] = {"_quantized", "_scale"};
    struct ox_quant *q = t->q;
    struct ox_value *rows[2], *out = node->outputs[0];
    for (int i = 0; i < 2; i++) {
        struct ox_value *inputs[] = {parts[i], node->inputs[1]};
        const char *name =
            i && *node->name ? ox_quant_name(q, node->name, suffixes[i]) : node->name;
        rows[i] = ox_graph_add_value(t->graph, ox_quant_name(q, out->name, suffixes[i]));
        if (!rows[i] || !name ||
            !ox_graph_add_node(t->graph, "Gather", "", name, inputs, 2, &rows[i], 1))
            return ox_no_memory(err);
    }
    struct ox_node *made =
        ox_graph_add_node(t->graph, "DequantizeLinear", "",
                          ox_quant_name(q, out->name, "_DequantizeLinear"), rows, 2, &out, 1);
    t->gone[node->index] = true;
    return made && ox_node_set_int(made, "axis", -1) &&
                   ox_node_set_int(made, "block_size", (int64_t)q->options->block_size)
               ? OX_OK
               : ox_no_memory(err);
}

/* A product by the same weight may have its integers. */
static enum ox_status note_table(struct tables *t, const struct ox_value *value,
                                 struct ox_value *const parts[2], struct ox_error *err)
{
    struct ox_row_table *table = ox_arena_array(&t->q->arena, 1, sizeof *table);
    if (!table)
        return ox_no_memory(err);
    *table = (struct ox_row_table){.stored = ox_value_stored(value),
                                   .graph = t->graph,
                                   .integers = parts[0],
                                   .scales = parts[1],
                                   .blocked = true,
                                   .next = t->q->row_tables};
    t->q->row_tables = table;
    return OX_OK;
}

static enum ox_status store(struct tables *t, const struct ox_value *value,
                            const struct ox_blocked *made, enum ox_dtype real,
                            struct ox_value *parts[2], struct ox_error *err)
{
    struct ox_quant *q = t->q;
    struct ox_tensor *integers = NULL, *scales = NULL;
    enum ox_status status;
    OX_TRY_CLEANUP(turned(&integers, q->model->env, made->integers, err));
    OX_TRY_CLEANUP(turned(&scales, q->model->env, made->scales, err));
    parts[0] = ox_quant_add_init(t->graph, ox_quant_name(q, value->name, "_quantized"),
                                 ox_tensor_ref(integers));
    parts[1] = ox_quant_add_scales(q, t->graph, value->name, scales, real);
    status = parts[0] && parts[1] ? note_table(t, value, parts, err) : ox_no_memory(err);
cleanup:
    ox_tensor_release(integers);
    ox_tensor_release(scales);
    return status;
}

/* parts: integers and scales. *reason: why it stays. */
static enum ox_status shrink(struct tables *t, const struct ox_value *value,
                             struct ox_value *parts[2], const char **reason, struct ox_error *err)
{
    struct ox_quant *q = t->q;
    struct ox_env *env = q->model->env;
    struct ox_tensor *values, *left = NULL;
    struct ox_blocked made = {0};
    enum ox_dtype real;
    OX_TRY(ox_quant_turned(q, value, &values, &real, err));
    struct ox_blocking blocking = {.values = values->data,
                                   .k = (size_t)values->dims[0],
                                   .n = (size_t)values->dims[1],
                                   .block = q->options->block_size,
                                   .type = OX_INT8,
                                   .real = OX_FLOAT16,
                                   .method = OX_WEIGHT_RTN};
    enum ox_status status = OX_OK;
    if (!ox_quant_is_finite(values)) {
        *reason = "its table holds a NaN or an infinity";
        goto cleanup;
    }
    if (q->options->wide_scales || !ox_blocked_gains_by_half(&blocking))
        blocking.real = real;
    OX_TRY_CLEANUP(ox_blocked_quantize(&made, env, &blocking, err));
    OX_TRY_CLEANUP(ox_blocked_dequantize(&left, env, &made, blocking.block, err));
    ox_quant_report_add_blocks(q->report, value->name, values, real, left, &made);
    status = store(t, value, &made, real, parts, err);
cleanup:
    ox_blocked_release(&made);
    ox_tensor_release(values);
    ox_tensor_release(left);
    return status;
}

/* A scale a row, where DequantizeLinear takes no blocks yet. */
static enum ox_status shrink_by_rows(struct tables *t, struct ox_node *node, const char **reason,
                                     struct ox_error *err)
{
    if (!ox_row_table_serves(node, false))
        *reason = "before opset 21 each row of a table has a scale, which outweighs short ones";
    else
        OX_TRY(ox_row_table_gather(t->q, node, reason, err));
    t->gone[node->index] = !*reason;
    return OX_OK;
}

/* All nodes that read the table of this one. */
static enum ox_status shrink_for(struct tables *t, struct ox_node *node, struct ox_error *err)
{
    const struct ox_value *value = node->inputs[0];
    const bool by_rows = ox_graph_opset(t->q->model->graph, "") < 21;
    struct ox_value *parts[2];
    const char *reason = no_table(t, value);
    if (!reason && by_rows)
        OX_TRY(shrink_by_rows(t, node, &reason, err));
    else if (!reason)
        OX_TRY(shrink(t, value, parts, &reason, err));
    if (reason || by_rows) {
        ox_quant_report_add_node(t->q->report, node, NULL, reason);
        return OX_OK;
    }
    for (size_t i = t->uses.first[value->id]; i < t->uses.first[value->id + 1]; i++) {
        struct ox_node *reader = t->uses.uses[i].node;
        ox_quant_report_add_node(t->q->report, reader, NULL, NULL);
        OX_TRY(gather_parts(t, reader, parts, err));
    }
    return OX_OK;
}

static bool has_table(const struct ox_node *node)
{
    const struct ox_value *value = node->n_inputs == 2 ? node->inputs[0] : NULL;
    const struct ox_stored *stored = value ? ox_value_stored(value) : NULL;
    return is_gather(node) && stored && ox_quant_is_float(stored->dtype) && node->inputs[1] &&
           node->outputs[0];
}

enum ox_status ox_quant_shrink_tables(struct ox_quant *q, struct ox_graph *graph,
                                      struct ox_error *err)
{
    struct tables t = {.q = q, .graph = graph};
    const size_t n = graph->n_nodes;
    OX_TRY(ox_quant_find_uses(q, graph, &t.uses, err));
    t.gone = ox_arena_array(&q->arena, 5 * n + 1, sizeof *t.gone); /* with those that come */
    if (!t.gone)
        return ox_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        struct ox_node *node = graph->nodes[i];
        if (has_table(node) && !t.gone[i])
            OX_TRY(shrink_for(&t, node, err));
    }
    ox_graph_remove_nodes(graph, t.gone);
    return OX_OK;
}
