#include "quant/walk.h"

#include <string.h>

#include "quant/tied.h"

enum ox_status ox_walk_begin(struct ox_walk *walk, struct ox_quant *q, struct ox_graph *graph,
                             struct ox_error *err)
{
    *walk = (struct ox_walk){.q = q, .graph = graph, .n_nodes = graph->n_nodes};
    walk->gone = ox_arena_array(&q->arena, graph->n_nodes + 1, sizeof *walk->gone);
    walk->plans = ox_arena_array(&q->arena, graph->n_nodes + 1, sizeof *walk->plans);
    if (!walk->gone || !walk->plans)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_values; i++) {
        struct ox_walked *value = ox_walk_value(walk, graph->values[i]);
        if (!value)
            return ox_no_memory(err);
        value->generated = (graph->values[i]->is_input && !graph->values[i]->init) ||
                           (graph->values[i]->outer && !ox_value_stored(graph->values[i]));
    }
    return OX_OK;
}

struct ox_walked *ox_walk_value(struct ox_walk *walk, const struct ox_value *value)
{
    if (value->id >= walk->n_values) {
        size_t n = 2 * (size_t)(value->id + 1);
        n = n > walk->graph->n_values ? n : walk->graph->n_values;
        struct ox_walked *values = ox_arena_array(&walk->q->arena, n, sizeof *values);
        if (!values)
            return NULL;
        if (walk->n_values)
            memcpy(values, walk->values, walk->n_values * sizeof *values);
        walk->values = values;
        walk->n_values = n;
    }
    return &walk->values[value->id];
}

struct ox_value *ox_walk_new(struct ox_walk *walk, const char *prefix, const char *suffix)
{
    const char *name = ox_quant_name(walk->q, prefix, suffix);
    struct ox_value *value = name ? ox_graph_add_value(walk->graph, name) : NULL;
    return value && ox_walk_value(walk, value) ? value : NULL;
}

struct ox_node *ox_walk_add(struct ox_walk *walk, const char *op_type, const char *domain,
                            const char *name, struct ox_value *const *inputs, size_t n_inputs,
                            struct ox_value *const *outputs, size_t n_outputs)
{
    struct ox_node *node =
        ox_graph_add_node(walk->graph, op_type, domain, name, inputs, n_inputs, outputs, n_outputs);
    for (size_t i = 0; node && i < n_outputs; i++) {
        struct ox_walked *value = outputs[i] ? ox_walk_value(walk, outputs[i]) : NULL;
        if (outputs[i] && !value)
            return NULL;
        if (value)
            value->generated = true;
    }
    return node;
}

/* The float form of a value that is integers only. */
static enum ox_status dequantize(struct ox_walk *walk, struct ox_value **value,
                                 struct ox_error *err)
{
    struct ox_walked *walked = ox_walk_value(walk, *value);
    if (!walked)
        return ox_no_memory(err);
    if (!walked->q || walked->generated)
        return OX_OK;
    if (walked->floating) {
        *value = walked->floating;
        return OX_OK;
    }
    bool constant = ox_value_stored(*value) != NULL;
    struct ox_walked from = *walked;
    struct ox_value *to =
        constant ? ox_walk_new(walk, (*value)->name, "_DequantizeLinear_Output") : *value;
    const char *name = ox_quant_name(walk->q, (*value)->name, "_DequantizeLinear");
    if (!to || !name)
        return ox_no_memory(err);
    struct ox_value *inputs[] = {from.q, from.scale, from.zero};
    struct ox_node *node = ox_walk_add(walk, "DequantizeLinear", "", name, inputs, 3, &to, 1);
    if (!node || (from.params.n && from.params.axis >= 0 &&
                  !ox_node_set_int(node, "axis", from.params.axis)))
        return ox_no_memory(err);
    if (constant)
        ox_walk_value(walk, *value)->floating = to;
    *value = to;
    return OX_OK;
}

enum ox_status ox_walk_keep(struct ox_walk *walk, struct ox_node *node, struct ox_error *err)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i])
            OX_TRY(dequantize(walk, &node->inputs[i], err));
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        struct ox_walked *out = node->outputs[i] ? ox_walk_value(walk, node->outputs[i]) : NULL;
        if (out)
            out->generated = true;
    }
    return OX_OK;
}

void ox_walk_drop(struct ox_walk *walk, const struct ox_node *node)
{
    walk->gone[node->index] = true;
    walk->n_gone++;
}

enum ox_status ox_walk_end(struct ox_walk *walk, struct ox_error *err)
{
    struct ox_graph *graph = walk->graph;
    for (size_t i = 0; i < graph->n_outputs; i++) {
        struct ox_value *value = graph->outputs[i];
        if (!ox_value_stored(value))
            OX_TRY(dequantize(walk, &value, err));
    }
    /* What a subgraph captures must stay. */
    const size_t n_values = graph->n_values;
    const bool *captured = ox_quant_find_captured(walk->q, graph);
    if (!captured)
        return ox_no_memory(err);
    for (size_t i = 0; i < n_values; i++) {
        struct ox_value *value = graph->values[i];
        if (captured[i] && !ox_value_stored(value))
            OX_TRY(dequantize(walk, &value, err));
    }
    bool *remove = ox_arena_array(&walk->q->arena, graph->n_nodes + 1, sizeof *remove);
    if (!remove)
        return ox_no_memory(err);
    memcpy(remove, walk->gone, walk->n_nodes * sizeof *remove);
    ox_graph_remove_nodes(graph, remove);
    return ox_graph_sort(graph, err);
}

/* ---- Constants ---------------------------------------------------------------------------------------------------- */

/* int8 as uint8 around 128. */
static void turn_unsigned(struct ox_qparams *params)
{
    params->type = OX_UINT8;
    for (size_t i = 0; i < params->n; i++)
        params->pairs[i].zero += 128;
}

static double mean_square(const struct ox_qparams *params)
{
    double sum = 0;
    for (size_t i = 0; i < params->n; i++)
        sum += (double)params->pairs[i].scale * (double)params->pairs[i].scale;
    return params->n ? sum / (double)params->n : 0;
}

/* Scales so large that sums do not saturate, or uint8, whose sums never do. */
static enum ox_status avoid_saturation(struct ox_walk *walk, const struct ox_tensor *values,
                                       const struct ox_weight_wish *wish, struct ox_qparams *params,
                                       double *widened, struct ox_error *err)
{
    const struct ox_qparams plain = *params;
    OX_TRY(ox_saturation_widen(wish->sums, 1, values, params, &walk->q->arena, widened, err));
    if (wish->turn_above > 0 && mean_square(params) > wish->turn_above * mean_square(&plain)) {
        *params = plain;
        turn_unsigned(params);
    }
    return OX_OK;
}

static enum ox_status store(struct ox_walk *walk, const struct ox_value *value,
                            const struct ox_tensor *values, const struct ox_weight_wish *wish,
                            struct ox_walked *made, struct ox_error *err)
{
    struct ox_quant *q = walk->q;
    struct ox_tensor *quantized;
    double widened = 1;
    const bool may_saturate = wish->sums && made->params.type == OX_INT8;
    const bool avoid = may_saturate && ox_saturation_avoided(q->options);
    if (avoid)
        OX_TRY(avoid_saturation(walk, values, wish, &made->params, &widened, err));
    const bool adds = may_saturate && made->params.type == OX_INT8;
    OX_TRY(ox_quantize_cancelling(&quantized, ox_env_budget(q->model->env), values, &made->params,
                                  wish->outputs, wish->live, err));
    if (avoid && adds)
        ox_saturation_settle(wish->sums, 1, values, &made->params, quantized);
    const char *name = ox_quant_name(q, value->name, "_quantized");
    const char *scale = ox_quant_name(q, value->name, "_scale");
    const char *zero = ox_quant_name(q, value->name, "_zero_point");
    ox_quant_report_add_constant(q->report, value, "weight", values, quantized, &made->params);
    if (adds)
        ox_quant_report_add_sums(q->report, ox_saturation_can(wish->sums, 1, quantized->data),
                                 widened);
    made->q = name ? ox_quant_add_init(walk->graph, name, quantized) : NULL;
    if (!made->q || !scale || !zero)
        return ox_no_memory(err);
    OX_TRY(ox_quant_add_params(q, walk->graph, &made->params, scale, zero, &made->scale,
                               &made->zero, err));
    return wish->outputs < 0
               ? ox_quant_note_columns(q, value, made->q, made->scale, &made->params, err)
               : OX_OK;
}

enum ox_status ox_walk_weight(struct ox_walk *walk, struct ox_value *value,
                              const struct ox_weight_wish *wish, struct ox_walked **out,
                              const char **reason, struct ox_error *err)
{
    struct ox_walked *known = ox_walk_value(walk, value);
    *out = known;
    if (!known)
        return ox_no_memory(err);
    if (known->q)
        return OX_OK;
    struct ox_walked made = {0};
    struct ox_tensor *values;
    enum ox_dtype real;
    struct ox_error why = {OX_OK, ""};
    OX_TRY(ox_quant_values(walk->q, value, &values, &real, err));
    enum ox_status status =
        ox_qparams_of_tensor(&made.params, &walk->q->arena, values, wish->axis, wish->type, real,
                             wish->symmetric, wish->reduce, walk->q->options->compat_ort, &why);
    if (status == OX_INPUT) {
        ox_tensor_release(values);
        *reason = ox_arena_printf(&walk->q->arena, "its weight '%s' %s", value->name, why.message);
        *out = NULL;
        return *reason ? OX_OK : ox_no_memory(err);
    }
    if (status == OX_OK && wish->as_unsigned && wish->type == OX_INT8)
        turn_unsigned(&made.params);
    if (status == OX_OK)
        status = store(walk, value, values, wish, &made, err);
    else
        ox_fail(err, status, "%s", why.message);
    ox_tensor_release(values);
    if (status != OX_OK)
        return status;
    known = ox_walk_value(walk, value);
    *known = made;
    *out = known;
    return OX_OK;
}
