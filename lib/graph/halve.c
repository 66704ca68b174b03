/* Computing in 16-bit floats: weights and values of the main graph become halves where operators take them and targets have kernels
 * for them, with casts where they do not. Each value keeps its name for its float32 form; its half is a new value. */
#include <stdlib.h>
#include <string.h>

#include "graph/halver.h"
#include "schema/schema.h"

enum {
    WORTH_NARROWING = 1024, /* elements of a weight that is cast back for nodes in float */
    CAST_TAKES_NUMBER = 6   /* before, `to` is a name */
};

/* ---- Casts and weights -------------------------------------------------------------------------------------------- */

static struct ox_value *new_half(struct ox_halver *h, const struct ox_value *value)
{
    struct ox_strbuf name;
    ox_strbuf_init(&name);
    ox_strbuf_printf(&name, "%s_%s", value->name,
                     h->options->dtype == OX_FLOAT16 ? "fp16" : "bf16");
    struct ox_value *made = name.failed ? NULL : ox_graph_add_value(h->graph, name.data);
    ox_strbuf_release(&name);
    return made;
}

static enum ox_status add_cast(struct ox_halver *h, struct ox_value *from, struct ox_value *to,
                               enum ox_dtype dtype)
{
    struct ox_node *node = ox_graph_add_node(h->graph, "Cast", "", "", &from, 1, &to, 1);
    h->report.n_casts++;
    return node && ox_node_set_int(node, "to", dtype) ? OX_OK : ox_halver_no_room(h);
}

/* What keeps a divisor from being 0 must not become 0 itself: an epsilon is the least half. */
static void keep_epsilon(const struct ox_tensor *tensor, struct ox_tensor *narrow)
{
    const float *value = tensor->data;
    uint16_t *half = narrow->data;
    if (narrow->dtype == OX_FLOAT16 && tensor->n == 1 && *value != 0 && !(*half & 0x7fff))
        *half |= 1;
}

static enum ox_status half_weight(struct ox_halver *h, const struct ox_stored *stored,
                                  struct ox_value *half)
{
    struct ox_tensor *tensor, *narrow;
    OX_TRY(ox_stored_load(h->model, stored, &tensor, h->err));
    enum ox_status status = ox_tensor_convert(&narrow, ox_env_budget(h->model->env), tensor,
                                              h->options->dtype, true, h->err);
    if (status == OX_OK)
        keep_epsilon(tensor, narrow);
    ox_tensor_release(tensor);
    if (status != OX_OK)
        return status;
    if (!ox_graph_add_init(h->graph, half, narrow))
        status = ox_halver_no_room(h);
    ox_tensor_release(narrow);
    h->report.n_weights++;
    return status;
}

/* The value in half; made once: a weight, what a node of halves makes, or by a cast. */
static enum ox_status want_half(struct ox_halver *h, struct ox_value *value, struct ox_value **out)
{
    struct ox_value **slot = &h->half[value->id];
    if (!*slot) {
        *slot = new_half(h, value);
        if (!*slot)
            return ox_halver_no_room(h);
        if (value->init && !value->is_input)
            OX_TRY(half_weight(h, value->init, *slot));
        else if (!value->producer || value->producer->index >= h->n_nodes ||
                 !h->half_node[value->producer->index])
            OX_TRY(add_cast(h, value, *slot, h->options->dtype));
    }
    *out = *slot;
    return OX_OK;
}

/* ---- Rewriting ---------------------------------------------------------------------------------------------------- */

static enum ox_status rewrite_node(struct ox_halver *h, struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        struct ox_value *half;
        if (!ox_halver_is_float(h, node->inputs[i]))
            continue;
        OX_TRY(want_half(h, node->inputs[i], &half));
        node->inputs[i] = half;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        struct ox_value *half, *value = node->outputs[i];
        if (!ox_halver_is_float(h, value))
            continue;
        OX_TRY(want_half(h, value, &half));
        node->outputs[i] = half;
        half->producer = node;
        half->output_index = (unsigned)i;
        value->producer = NULL;
        value->removed = true;
    }
    return OX_OK;
}

/* By id: float32 forms that are still used by nodes in float, graphs within, or as outputs. */
static bool *float_uses(const struct ox_halver *h)
{
    const struct ox_model *model = h->model;
    bool *used = calloc(h->graph->n_values + 1, sizeof *used);
    for (size_t i = 0; used && i < h->graph->n_nodes; i++) {
        const struct ox_node *node = h->graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k])
                used[node->inputs[k]->id] = true;
        }
    }
    for (size_t i = 0; used && i < h->graph->n_outputs; i++)
        used[h->graph->outputs[i]->id] = true;
    for (size_t g = 0; used && g < model->n_graphs; g++) {
        const struct ox_graph *inner = model->graphs[g];
        for (size_t i = 0; i < inner->n_values && inner->scope == h->graph; i++) {
            if (inner->values[i]->outer)
                used[inner->values[i]->outer->id] = true;
        }
    }
    return used;
}

/* Weights of nodes that stay in float are kept in halves all the same, and cast: the file is what shrinks then. Scales and the like,
 * which are small, and those of quantized values, which must be exact, are not. */
static enum ox_status narrow_weights(struct ox_halver *h, const bool *used)
{
    bool *exact = calloc(h->n_values + 1, sizeof *exact);
    enum ox_status status = exact ? OX_OK : ox_halver_no_room(h);
    for (size_t i = 0; exact && i < h->n_nodes; i++) {
        const struct ox_node *node = h->graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs && strstr(node->op_type, "Quantize"); k++) {
            if (ox_halver_is_float(h, node->inputs[k]))
                exact[node->inputs[k]->id] = true;
        }
    }
    for (size_t i = 0; i < h->n_values && status == OX_OK; i++) {
        struct ox_value *value = h->graph->values[i], *half;
        size_t n;
        if (!used[i] || !h->is_float[i] || h->wide[i] || exact[i] || !value->init ||
            value->is_input || value->is_output ||
            !ox_dims_count(value->init->rank, value->init->dims, &n) || n < WORTH_NARROWING)
            continue;
        status = want_half(h, value, &half);
        if (status == OX_OK)
            status = add_cast(h, half, value, OX_FLOAT32);
    }
    free(exact);
    return status;
}

/* Float32 forms that have become what a cast makes, or that nobody reads, leave the initializers. */
static enum ox_status drop_weights(struct ox_halver *h, const bool *used)
{
    bool *drop = calloc(h->graph->n_inits + 1, sizeof *drop);
    if (!drop)
        return ox_halver_no_room(h);
    for (size_t i = 0; i < h->graph->n_inits; i++) {
        const struct ox_value *value = ox_graph_value(h->graph, h->graph->inits[i]->name);
        drop[i] = value && value->id < h->n_values && value->init == h->graph->inits[i] &&
                  h->half[value->id] && (!used[value->id] || value->producer) && !value->is_input;
    }
    ox_graph_remove_inits(h->graph, drop);
    free(drop);
    for (size_t i = 0; i < h->n_values; i++)
        h->graph->values[i]->removed &= !h->graph->values[i]->producer;
    return OX_OK;
}

static enum ox_status define_floats(struct ox_halver *h)
{
    bool *used = float_uses(h);
    enum ox_status status = used ? narrow_weights(h, used) : ox_halver_no_room(h);
    for (size_t i = 0; i < h->n_values && status == OX_OK; i++) {
        struct ox_value *value = h->graph->values[i];
        if (!used[i] || !h->is_float[i] || !h->half[i] || value->producer || value->is_input ||
            value->init)
            continue;
        status = add_cast(h, h->half[i], value, OX_FLOAT32);
        value->removed = false;
    }
    if (status == OX_OK)
        status = drop_weights(h, used);
    free(used);
    return status;
}

static enum ox_status rewrite(struct ox_halver *h)
{
    OX_TRY(ox_halver_choose(h));
    for (size_t i = 0; i < h->n_nodes; i++) {
        if (h->half_node[i])
            OX_TRY(rewrite_node(h, h->graph->nodes[i]));
    }
    OX_TRY(define_floats(h));
    enum ox_status status = ox_graph_sort(h->graph, h->err);
    return status == OX_OK ? OX_OK : ox_fail_context(h->err, status, "%s", h->model->path);
}

/* Without casts there are no halves. */
static enum ox_status check_casts(const struct ox_halver *h)
{
    const int64_t opset = ox_graph_opset(h->graph, "");
    const struct ox_schema *cast = opset ? ox_schema_find("", "Cast", opset) : NULL;
    const char *type = ox_dtype_name(h->options->dtype);
    if (opset &&
        (!cast || cast->since < CAST_TAKES_NUMBER || !ox_halver_takes(h, &cast->inputs[0])))
        return ox_fail(h->err, OX_UNSUPPORTED,
                       "%s: opset %lld casts nothing to %s: convert it to 13 or newer first",
                       h->model->path, (long long)opset, type);
    if (opset && !ox_target_casts_half(h->options->targets, opset, h->options->dtype))
        return ox_fail(h->err, OX_UNSUPPORTED, "%s: a target has no casts to %s", h->model->path,
                       type);
    return OX_OK;
}

enum ox_status ox_to_half(struct ox_model *model, const struct ox_half_options *options,
                          struct ox_half_report *report, struct ox_error *err)
{
    struct ox_halver h = {.model = model, .graph = model->graph, .options = options, .err = err};
    if (!model->graph)
        return ox_fail(err, OX_INPUT, "%s: it has no graph", model->path);
    if (!ox_dtype_is_half(options->dtype))
        return ox_fail(err, OX_USAGE, "%s is no 16-bit float", ox_dtype_name(options->dtype));
    OX_TRY(check_casts(&h));
    ox_model_free_inits(model);
    OX_TRY(ox_shapes_infer(&h.shapes, model, NULL, NULL, err));
    h.n_values = h.graph->n_values;
    h.n_nodes = h.graph->n_nodes;
    h.is_float = calloc(h.n_values + 1, sizeof *h.is_float);
    h.wide = calloc(h.n_values + 1, sizeof *h.wide);
    h.half_node = calloc(h.n_nodes + 1, sizeof *h.half_node);
    h.half = calloc(h.n_values + 1, sizeof(*h.half));
    enum ox_status status =
        h.is_float && h.wide && h.half_node && h.half ? OX_OK : ox_halver_no_room(&h);
    if (status == OX_OK && options->targets)
        status = ox_target_survey_new(&h.survey, model, h.shapes, NULL, err);
    if (status == OX_OK)
        status = rewrite(&h);
    ox_target_survey_release(h.survey);
    ox_shapes_release(h.shapes);
    free(h.is_float);
    free(h.wide);
    free(h.half_node);
    free(h.half);
    h.report.n_nodes = h.n_nodes;
    if (status == OX_OK && report)
        *report = h.report;
    return status;
}
