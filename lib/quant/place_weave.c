/* Q and DQ nodes where the marks ask. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/place.h"
#include "quant/tied.h"
#include "quant/unfused.h"

/* ---- Parameters --------------------------------------------------------------------------------------------------- */

static enum ox_status activation_params(struct ox_place *place, const struct ox_value *value,
                                        struct ox_error *err)
{
    const struct ox_quant_options *options = place->q->options;
    struct ox_mark *mark = ox_place_mark(place, value);
    char shown[OX_SHOWN_BYTES];
    if (!mark->has_range)
        return ox_fail(err, OX_INPUT,
                       "the calibration has no range for '%s', which is to be quantized",
                       ox_shown(shown, value->name, strlen(value->name)));
    mark->params =
        (struct ox_qparams){options->activation_type, ox_quant_dtype(place->q, value), -1, 1, NULL};
    mark->params.pairs = ox_arena_array(&place->q->arena, 1, sizeof *mark->params.pairs);
    if (!mark->params.pairs)
        return ox_no_memory(err);
    mark->params.pairs[0] = ox_place_pair(place, value, mark->range);
    return OX_OK;
}

static bool weight_symmetric(const struct ox_quant_options *options)
{
    return ox_dtype_is_signed(options->weight_type) || options->symmetric_weights;
}

/* What a channel has beside its weights are nine bytes: scale and zero point, and the scale of its bias. One scale for all serves a matrix
 * whose channels have few weights, of ranges that are alike. */
static enum ox_status join_short_channels(struct ox_place *place, const struct ox_tensor *values,
                                          struct ox_mark *mark, struct ox_error *err)
{
    enum { FEW = 32 };
    const float alike = 4;
    if (!place->q->options->one_scale_if_short || mark->axis < 0 || values->rank != 2 ||
        values->dims[1 - mark->axis] >= FEW)
        return OX_OK;
    const size_t n = ox_qview_of(values, mark->axis).n;
    float *low = ox_arena_array(&place->q->arena, n, sizeof *low),
          *high = ox_arena_array(&place->q->arena, n, sizeof *high);
    if (!low || !high)
        return ox_no_memory(err);
    if (!ox_qparams_extremes(values, mark->axis, low, high))
        return OX_OK; /* it is refused with its reason */
    float least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        float range = fmaxf(-low[i], high[i]);
        if (range > 0)
            least = fminf(least, range);
        most = fmaxf(most, range);
    }
    if (most <= alike * least)
        mark->axis = -1;
    return OX_OK;
}

static enum ox_status constant_params(struct ox_place *place, const struct ox_value *value,
                                      struct ox_error *err)
{
    const struct ox_quant_options *options = place->q->options;
    struct ox_mark *mark = ox_place_mark(place, value);
    bool weight = mark->kind == OX_MARK_WEIGHT;
    struct ox_tensor *values;
    enum ox_dtype real;
    OX_TRY(ox_quant_values(place->q, value, &values, &real, err));
    enum ox_status status = weight ? join_short_channels(place, values, mark, err) : OX_OK;
    bool symmetric =
        mark->axis >= 0 || (weight ? weight_symmetric(options) : options->symmetric_activation);
    if (status == OX_OK)
        status =
            ox_qparams_of_tensor(&mark->params, &place->q->arena, values, mark->axis,
                                 weight ? options->weight_type : options->activation_type, real,
                                 symmetric, options->reduce_range, options->compat_ort, err);
    if (status == OX_OK && mark->params.type == OX_INT8)
        status = ox_place_sums(place, value, values, err);
    if (status == OX_OK && mark->n_sums && ox_saturation_avoided(options))
        status = ox_saturation_widen(mark->sums, mark->n_sums, values, &mark->params,
                                     &place->q->arena, &mark->widened, err);
    ox_tensor_release(values);
    if (status == OX_INPUT)
        ox_fail_context(err, status, "the weight '%s'", value->name);
    return status;
}

/* Int8 weights whose bias would leave int32 get larger scales. */
static enum ox_status repair_weights(struct ox_place *place, struct ox_error *err)
{
    for (size_t i = 0; i < place->n_biases; i++) {
        const struct ox_mark_bias *bias = &place->biases[i];
        const struct ox_mark *input = ox_place_mark(place, bias->input);
        struct ox_mark *weight = ox_place_mark(place, bias->weight);
        if (!input->kind || !input->has_range || ox_place_constant(place, bias->input) ||
            !ox_place_constant(place, bias->weight) || !weight->kind || !weight->params.n)
            continue;
        enum ox_dtype type = weight->params.type;
        bool centred = true;
        for (size_t c = 0; c < weight->params.n; c++)
            centred &= weight->params.pairs[c].zero == 0;
        if ((type != OX_INT8 && type != OX_INT16) || !centred)
            continue;
        /* The range of the tensor itself, also where it shares another's parameters: as onnxruntime has it. */
        const struct ox_qparam pair = ox_place_pair(place, bias->input, input->range);
        struct ox_tensor *values;
        enum ox_dtype real;
        OX_TRY(ox_quant_values(place->q, bias->bias, &values, &real, err));
        bool changed = ox_qparams_repair(&weight->params, pair.scale, values);
        ox_tensor_release(values);
        if (changed)
            ox_quant_report_add_note(place->q->report,
                                     "the weight '%s' has larger scales, so that its bias fits",
                                     bias->weight->name);
    }
    return OX_OK;
}

/* ---- Nodes -------------------------------------------------------------------------------------------------------- */

static enum ox_status add_params(struct ox_place *place, const struct ox_value *value,
                                 struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_mark *mark = ox_place_mark(place, value);
    const char *scale = ox_quant_name(q, value->name, "_scale");
    const char *zero = ox_quant_name(q, value->name, "_zero_point");
    if (!scale || !zero)
        return ox_no_memory(err);
    return ox_quant_add_params(q, place->graph, &mark->params, scale, zero, &mark->scale,
                               &mark->zero, err);
}

/* zero NULL: it is 0. */
static struct ox_node *add_node(struct ox_place *place, const char *op_type, const char *of,
                                struct ox_value *in, struct ox_value *scale, struct ox_value *zero,
                                struct ox_value *out)
{
    struct ox_value *inputs[] = {in, scale, zero};
    const char *suffix = op_type[0] == 'Q' ? "_QuantizeLinear" : "_DequantizeLinear";
    const char *name = ox_quant_name(place->q, of, suffix);
    const size_t n = zero ? 3 : 2;
    return name ? ox_graph_add_node(place->graph, op_type, "", name, inputs, n, &out, 1) : NULL;
}

/* All nodes that the value feeds are fed by another one. */
static void replace_uses(struct ox_place *place, const struct ox_value *value, struct ox_value *by)
{
    const struct ox_quant_uses *uses = &place->uses;
    for (uint32_t i = uses->first[value->id]; i < uses->first[value->id + 1]; i++) {
        struct ox_quant_use use = uses->uses[i];
        if (use.node->inputs[use.index] == value)
            use.node->inputs[use.index] = by;
    }
}

static enum ox_status weave_constant(struct ox_place *place, struct ox_value *value,
                                     struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_mark *mark = ox_place_mark(place, value);
    struct ox_tensor *values, *quantized;
    enum ox_dtype real;
    OX_TRY(ox_quant_values(q, value, &values, &real, err));
    enum ox_status status = ox_place_integers(place, value, values, &quantized, err);
    if (status == OX_OK)
        ox_quant_report_add_constant(q->report, value, "weight", values, quantized, &mark->params);
    ox_tensor_release(values);
    if (status != OX_OK)
        return status;
    ox_quant_report_add_sums(
        q->report, ox_saturation_can(mark->sums, mark->n_sums, quantized->data), mark->widened);
    struct ox_value *stored =
        ox_quant_add_init(place->graph, ox_quant_name(q, value->name, "_quantized"), quantized);
    struct ox_value *out =
        ox_graph_add_value(place->graph, ox_quant_name(q, value->name, "_DequantizeLinear_Output"));
    OX_TRY(add_params(place, value, err));
    struct ox_node *node = stored && out ? add_node(place, "DequantizeLinear", value->name, stored,
                                                    mark->scale, mark->zero, out)
                                         : NULL;
    if (!node || (mark->axis >= 0 && !ox_node_set_int(node, "axis", mark->axis)))
        return ox_no_memory(err);
    replace_uses(place, value, out);
    mark->done = true;
    return ox_quant_note_columns(q, value, stored, mark->scale, &mark->params, err);
}

/* Of int8 activations onnxruntime on x86 has products where nothing else reads the same integers, for it makes uint8 of them then. A pair of
 * Q and DQ for each product, with constants of its own, or they were merged, costs little where what makes the value is in float anyway,
 * for an operator on integers must write one value; and a sum in float costs less than the products behind it. */
static bool is_parted(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_quant_options *options = place->q->options;
    const struct ox_node *maker = value->producer;
    while (maker && maker->n_inputs && maker->inputs[0] &&
           (strcmp(maker->op_type, "Relu") == 0 || strcmp(maker->op_type, "Clip") == 0))
        maker = maker->inputs[0]->producer; /* integers clip by themselves */
    if (options->compat_ort || options->format != OX_QUANT_QDQ || value->is_output ||
        ox_place_mark(place, value)->params.type != OX_INT8)
        return false;
    if (!maker || !ox_quant_has_integers(maker) || strcmp(maker->op_type, "Add") == 0)
        return true;
    for (size_t i = 0; i < maker->n_inputs; i++) {
        if (maker->inputs[i] && ox_place_mark(place, maker->inputs[i])->kind)
            return false;
    }
    return true;
}

static bool is_product(const struct ox_node *node)
{
    return !*node->domain &&
           (strcmp(node->op_type, "Conv") == 0 || strcmp(node->op_type, "Gemm") == 0 ||
            strcmp(node->op_type, "MatMul") == 0);
}

/* Gives products that read the value Q and DQ of their own, but for one of them if nothing else reads it. */
static enum ox_status part_products(struct ox_place *place, struct ox_value *value,
                                    struct ox_error *err)
{
    struct ox_quant *q = place->q;
    const struct ox_quant_uses *uses = &place->uses;
    size_t left = ox_quant_n_uses(uses, value);
    for (uint32_t i = uses->first[value->id]; i < uses->first[value->id + 1] && left > 1; i++) {
        struct ox_quant_use use = uses->uses[i];
        if (!is_product(use.node) || use.node->inputs[use.index] != value)
            continue;
        struct ox_value *scale, *zero;
        struct ox_value *integers = ox_graph_add_value(
            place->graph, ox_quant_name(q, value->name, "_QuantizeLinear_Output"));
        struct ox_value *to = ox_graph_add_value(
            place->graph, ox_quant_name(q, value->name, "_DequantizeLinear_Output"));
        if (!integers || !to)
            return ox_no_memory(err);
        OX_TRY(ox_quant_add_params(q, place->graph, &ox_place_mark(place, value)->params,
                                   ox_quant_name(q, value->name, "_scale"),
                                   ox_quant_name(q, value->name, "_zero_point"), &scale, &zero,
                                   err));
        if (!add_node(place, "QuantizeLinear", value->name, value, scale, zero, integers) ||
            !add_node(place, "DequantizeLinear", value->name, integers, scale, zero, to))
            return ox_no_memory(err);
        use.node->inputs[use.index] = to;
        left--;
    }
    return OX_OK;
}

/* value -> Q -> DQ -> users; of an output of the graph the producer gets another name to write. */
static enum ox_status weave_activation(struct ox_place *place, struct ox_value *value,
                                       struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_graph *graph = place->graph;
    struct ox_mark *mark = ox_place_mark(place, value);
    struct ox_value *from = value, *to;
    if (mark->parted)
        OX_TRY(part_products(place, value, err));
    struct ox_value *integers =
        ox_graph_add_value(graph, ox_quant_name(q, value->name, "_QuantizeLinear_Output"));
    if (!integers)
        return ox_no_memory(err);
    if (value->is_output && value->producer) {
        struct ox_node *producer = value->producer;
        from = ox_graph_add_value(graph, ox_quant_name(q, value->name, "_QuantizeLinear_Input"));
        if (!from)
            return ox_no_memory(err);
        producer->outputs[value->output_index] = from;
        from->producer = producer;
        from->output_index = value->output_index;
        value->producer = NULL;
        to = value;
    } else {
        to = ox_graph_add_value(graph, ox_quant_name(q, value->name, "_DequantizeLinear_Output"));
        if (!to)
            return ox_no_memory(err);
        replace_uses(place, value, to);
    }
    if (!add_node(place, "QuantizeLinear", value->name, from, mark->scale, mark->zero, integers) ||
        !add_node(place, "DequantizeLinear", value->name, integers, mark->scale, mark->zero, to))
        return ox_no_memory(err);
    mark->done = true;
    return OX_OK;
}

/* What was seen, in few bins from the least to the greatest value. */
static void add_histogram(struct ox_place *place, const struct ox_stats *stats,
                          struct ox_quant_tensor *row)
{
    enum { PARTS = 64 };
    uint64_t *parts = ox_arena_array(&place->q->report->arena, PARTS, sizeof *parts);
    double span = (double)stats->most - (double)stats->least, width = ldexp(1, stats->exponent);
    if (!parts || !(span > 0))
        return;
    for (size_t i = 0; i < 2 * OX_BINS; i++) {
        double at = (ox_stats_edge(stats, i) + width / 2 - (double)stats->least) / span * PARTS;
        parts[at < 0 ? 0 : at >= PARTS ? PARTS - 1 : (size_t)at] += stats->bins[i];
    }
    row->histogram = parts;
    row->n_histogram = PARTS;
}

static void report_activation(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_mark *mark = ox_place_mark(place, value);
    const struct ox_calibrated *seen = ox_place_seen(place->q, place->calibration, value);
    struct ox_quant_tensor row = {.name = value->name,
                                  .kind = "activation",
                                  .type = mark->params.type,
                                  .axis = -1,
                                  .n = 1,
                                  .scale = (double)mark->params.pairs[0].scale,
                                  .zero_point = mark->params.pairs[0].zero,
                                  .rmin = NAN,
                                  .rmax = NAN,
                                  .sqnr_db = NAN,
                                  .clipped_share = NAN,
                                  .accumulated_db = NAN};
    if (seen && seen->stats.bins) {
        const struct ox_stats *stats = &seen->stats;
        add_histogram(place, stats, &row);
        int32_t least, most;
        double power = 0, width = ldexp(1, stats->exponent);
        ox_qtype_limits(row.type, &least, &most);
        row.rmin = (double)stats->least;
        row.rmax = (double)stats->most;
        struct ox_qrange spans = {(float)((least - row.zero_point) * row.scale),
                                  (float)((most - row.zero_point) * row.scale)};
        row.clipped_share = ox_range_clipped(stats, spans);
        for (size_t i = 0; i < 2 * OX_BINS; i++) {
            double v = ox_stats_edge(stats, i) + width / 2;
            power += (double)stats->bins[i] * v * v;
        }
        double error = ox_range_error(stats, spans, (unsigned)(most - least + 1));
        row.sqnr_db = error > 0 ? 10 * log10(fmax(power, 1e-300) / error) : 200;
    } else if (seen && seen->given) {
        row.rmin = (double)seen->rmin;
        row.rmax = (double)seen->rmax;
    }
    if (seen && seen->stats.n_nan + seen->stats.n_inf)
        ox_quant_report_add_note(place->q->report,
                                 "'%s' held %llu NaN and %llu infinite values, which its range "
                                 "passes over",
                                 value->name, (unsigned long long)seen->stats.n_nan,
                                 (unsigned long long)seen->stats.n_inf);
    if (seen && seen->stats.bins && seen->stats.least == seen->stats.most)
        ox_quant_report_add_note(place->q->report, "'%s' was %g in all samples", value->name,
                                 (double)seen->stats.least);
    ox_quant_report_add_tensor(place->q->report, &row);
}

/* ---- Biases ------------------------------------------------------------------------------------------------------- */

/* Parameters of a value, its own or those that it shares. */
static const struct ox_mark *params_of(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_mark *mark = ox_place_sharing(place, value);
    return mark->params.n ? mark : NULL;
}

/* onnxruntime's bias keeps its name when it is dequantized, so that others who use the constant get the rounded one too. */
static void share_bias(struct ox_place *place, const struct ox_value *bias, struct ox_value *out)
{
    const struct ox_quant_uses *uses = &place->uses;
    if (!place->q->options->compat_ort || bias->id >= uses->n_values)
        return;
    for (uint32_t i = uses->first[bias->id]; i < uses->first[bias->id + 1]; i++) {
        const struct ox_quant_use *use = &uses->uses[i];
        bool is_bias = false;
        for (size_t b = 0; b < place->n_biases; b++)
            is_bias |= place->biases[b].node == use->node && place->biases[b].index == use->index;
        if (!is_bias && use->node->inputs[use->index] == bias)
            use->node->inputs[use->index] = out;
    }
}

/* A bias [1, n], or one value for n channels, as [n], which is what scales of channels and integer operators ask for. */
static enum ox_status make_row(struct ox_quant *q, struct ox_tensor **bias, size_t n_channels,
                               struct ox_error *err)
{
    struct ox_tensor *given = *bias, *row;
    bool one = given->n == 1 && n_channels > 1;
    if (!one && (given->rank != 2 || given->dims[0] != 1))
        return OX_OK;
    int64_t n = (int64_t)(one ? n_channels : given->n);
    OX_TRY(ox_tensor_new(&row, ox_env_budget(q->model->env), OX_FLOAT32, 1, &n, err));
    for (size_t i = 0; i < row->n; i++)
        ((float *)row->data)[i] = ((const float *)given->data)[one ? 0 : i];
    ox_tensor_release(given);
    *bias = row;
    return OX_OK;
}

/* Zero points of biases are 0, as without them: they would be a quarter of what is stored of biases with a scale a channel. Of weights
 * they stay, onnxruntime fuses none without. */
static enum ox_status add_bias_params(struct ox_place *place, const struct ox_value *bias,
                                      const struct ox_qparams *params, struct ox_value **scale,
                                      struct ox_value **zero, struct ox_error *err)
{
    struct ox_quant *q = place->q;
    const char *scale_name = ox_quant_name(q, bias->name, "_quantized_scale");
    const char *zero_name = ox_quant_name(q, bias->name, "_quantized_zero_point");
    struct ox_tensor *scales, *zeros;
    *zero = NULL;
    if (q->options->compat_ort)
        return ox_quant_add_params(q, place->graph, params, scale_name, zero_name, scale, zero,
                                   err);
    OX_TRY(ox_qparams_tensors(params, ox_env_budget(q->model->env), &scales, &zeros, err));
    ox_tensor_release(zeros);
    *scale = ox_quant_add_init(place->graph, scale_name, scales);
    return *scale ? OX_OK : ox_no_memory(err);
}

static enum ox_status weave_bias(struct ox_place *place, const struct ox_mark_bias *bias,
                                 struct ox_error *err)
{
    struct ox_quant *q = place->q;
    const struct ox_mark *input = params_of(place, bias->input);
    const struct ox_mark *weight = params_of(place, bias->weight);
    if (!input || !weight)
        return OX_OK; /* stays in float */
    struct ox_qparams params = {OX_INT32, weight->params.real, weight->params.n > 1 ? 0 : -1,
                                weight->params.n, NULL};
    params.pairs = ox_arena_array(&q->arena, params.n, sizeof *params.pairs);
    if (!params.pairs)
        return ox_no_memory(err);
    for (size_t i = 0; i < params.n; i++)
        params.pairs[i].scale =
            input->params.pairs[0].scale * weight->params.pairs[i].scale * bias->beta;
    struct ox_tensor *values, *quantized = NULL;
    bool clipped;
    enum ox_status status;
    if (bias->moved)
        OX_TRY(ox_stored_load(q->model, bias->moved, &values, err));
    else
        OX_TRY(ox_quant_values(q, bias->bias, &values, &params.real, err));
    if (!q->options->compat_ort)
        OX_TRY_CLEANUP(make_row(q, &values, params.n, err));
    OX_TRY_CLEANUP(
        ox_quantize_bias(&quantized, ox_env_budget(q->model->env), values, &params, &clipped, err));
    if (clipped)
        ox_quant_report_add_note(q->report, "the bias '%s' leaves int32 and is clipped",
                                 bias->bias->name);
    ox_quant_report_add_constant(q->report, bias->bias, "bias", values, quantized, &params);
    const char *name = ox_quant_name(q, bias->bias->name, "_quantized");
    struct ox_value *stored = ox_quant_add_init(place->graph, name, ox_tensor_ref(quantized));
    struct ox_value *out = ox_graph_add_value(
        place->graph, ox_quant_name(q, bias->bias->name, "_DequantizeLinear_Output"));
    struct ox_value *scale, *zero;
    OX_TRY_CLEANUP(add_bias_params(place, bias->bias, &params, &scale, &zero, err));
    struct ox_node *node = stored && out ? add_node(place, "DequantizeLinear", bias->bias->name,
                                                    stored, scale, zero, out)
                                         : NULL;
    if (!node || (params.axis >= 0 && !ox_node_set_int(node, "axis", params.axis)))
        status = ox_no_memory(err);
    else
        bias->node->inputs[bias->index] = out;
    if (status == OX_OK)
        share_bias(place, bias->bias, out);
cleanup:
    ox_tensor_release(values);
    ox_tensor_release(quantized);
    return status;
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

/* Those that share parameters, as soon as these are there; what waits for parameters that nobody makes stays in float. */
static enum ox_status weave_shared(struct ox_place *place, struct ox_error *err)
{
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t i = 0; i < place->n_marks; i++) {
            struct ox_mark *mark = &place->marks[i];
            if (!mark->kind || mark->done || !mark->share ||
                !ox_place_mark(place, mark->share)->scale)
                continue;
            const struct ox_mark *from = ox_place_mark(place, mark->share);
            mark->scale = from->scale;
            mark->zero = from->zero;
            mark->params = from->params;
            OX_TRY(weave_activation(place, place->graph->values[i], err));
            grows = true;
        }
    }
    return OX_OK;
}

enum ox_status ox_place_weave(struct ox_place *place, struct ox_error *err)
{
    struct ox_graph *graph = place->graph;
    for (size_t i = 0; i < place->n_marks; i++) {
        struct ox_mark *mark = &place->marks[i];
        if (!mark->kind || mark->share || mark->done)
            continue;
        if (ox_place_constant(place, graph->values[i]))
            OX_TRY(constant_params(place, graph->values[i], err));
        else
            OX_TRY(activation_params(place, graph->values[i], err));
    }
    for (size_t i = 0; i < place->n_marks; i++)
        place->marks[i].parted =
            place->marks[i].kind == OX_MARK_ACTIVATION && is_parted(place, graph->values[i]);
    OX_TRY(repair_weights(place, err));
    OX_TRY(ox_place_correct(place, err));
    for (size_t i = 0; i < place->n_marks; i++) {
        struct ox_mark *mark = &place->marks[i];
        struct ox_value *value = graph->values[i];
        if (!mark->kind || mark->share || mark->done)
            continue;
        if (ox_place_constant(place, value)) {
            OX_TRY(weave_constant(place, value, err));
            continue;
        }
        OX_TRY(add_params(place, value, err));
        OX_TRY(weave_activation(place, value, err));
        report_activation(place, value);
    }
    OX_TRY(weave_shared(place, err));
    for (size_t i = 0; i < place->n_biases; i++)
        OX_TRY(weave_bias(place, &place->biases[i], err));
    bool *remove = ox_arena_array(&place->q->arena, graph->n_nodes + 1, sizeof *remove);
    if (!remove)
        return ox_no_memory(err);
    memcpy(remove, place->gone, place->n_nodes * sizeof *remove);
    if (place->before.body)
        OX_TRY(ox_place_before_bodies(place, remove, err));
    ox_graph_remove_nodes(graph, remove);
    OX_TRY(ox_place_pad_integers(place, err));
    OX_TRY(ox_place_gelus(place, err));
    OX_TRY(ox_place_swishes(place, err));
    return ox_place_copies(place, err);
}
