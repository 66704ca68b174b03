/* A float bias of a convolution or Gemm between codes becomes the nearest whole number of the units that its sums have, the scale of its
 * input times that of its weights: what onnxruntime makes of it (its WeightBiasQuantization), whose codes a model of quantization-aware
 * training is deployed with. Others stay as they are, and so do all in the oracle's and unoptimized runs. */
#include <math.h>

#include "graph/passes/codes.h"

enum { IN_X, IN_WEIGHTS, IN_BIAS };

/* Codes are moved as they are: onnxruntime looks through these, either way. */
static bool moves(const struct ox_node *node)
{
    static const char *const ops[] = {"MaxPool",   "Reshape", "Transpose", "Squeeze",
                                      "Unsqueeze", "Slice",   NULL};
    return ox_is_any_op(node, ops) && node->n_outputs == 1;
}

/* Whether the value becomes codes, at most after a Relu or Clip, and nobody else sees it. */
static bool becomes_codes(const struct ox_rewrite *rw, const struct ox_value *value)
{
    static const char *const clamps[] = {"Relu", "Clip", NULL};
    for (;;) {
        const struct ox_node *next = ox_rw_only_user(rw, value);
        if (!next || next->inputs[0] != value || ox_is_quantize(next))
            return next && next->inputs[0] == value;
        if (!moves(next) && (!ox_is_any_op(next, clamps) || next->n_outputs != 1))
            return false;
        value = next->outputs[0];
    }
}

/* The value as it was dequantized. */
static const struct ox_value *unmoved(const struct ox_value *value)
{
    while (value->producer && moves(value->producer) && ox_input(value->producer, 0))
        value = value->producer->inputs[0];
    return value;
}

/* Where weights of several scales must have them for sums to have a unit each. */
static int unit_axis(const struct ox_node *node)
{
    return ox_is_op(node, "Gemm") && !ox_attr_int(node, "transB", 0) ? 1 : 0;
}

/* The units of the sums of each channel, or of all; NULL: they have none. */
static const struct ox_tensor *weight_scale(struct ox_rewrite *rw, const struct ox_node *node,
                                            size_t channels)
{
    struct ox_codes w;
    if (!ox_codes_of(rw, node->inputs[IN_WEIGHTS], &w))
        return NULL;
    const int rank = (int)ox_rank_of(rw, node->inputs[IN_WEIGHTS]);
    const struct ox_tensor *scale = ox_const_floats(rw, w.scale);
    if (!scale ||
        (!w.one && (scale->n != channels || rank < 1 || (w.axis + rank) % rank != unit_axis(node))))
        return NULL;
    return scale;
}

/* false: all are whole numbers of units already, or some so many that 32 bits have no room for sums beside them. */
static bool round_to_units(const struct ox_tensor *bias, float x_scale, const struct ox_tensor *w,
                           float *rounded)
{
    enum { MOST = 1 << 30 };
    bool differs = false;
    for (size_t j = 0; j < bias->n; j++) {
        const float value = ((const float *)bias->data)[j];
        const float unit = x_scale * ((const float *)w->data)[w->n > 1 ? j : 0];
        const float units = nearbyintf(value / unit);
        if (!(fabsf(units) < MOST))
            return false;
        rounded[j] = units * unit;
        differs |= fabsf(rounded[j] - value) > 1e-6f * unit * fmaxf(1, fabsf(units));
    }
    return differs;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    static const char *const sums[] = {"Conv", "ConvTranspose", "Gemm", NULL};
    struct ox_value *bias = ox_is_any_op(node, sums) ? ox_input(node, IN_BIAS) : NULL;
    struct ox_codes x;
    if (!bias || !ox_input(node, IN_X) || !ox_input(node, IN_WEIGHTS) ||
        ox_attr_float(node, "alpha", 1) != 1 || ox_attr_float(node, "beta", 1) != 1)
        return;
    const struct ox_tensor *floats = ox_rw_stored(rw, bias) ? ox_const_floats(rw, bias) : NULL;
    if (!floats || floats->rank != 1 || !ox_codes_of_one(rw, unmoved(node->inputs[IN_X]), &x) ||
        !becomes_codes(rw, node->outputs[0]))
        return;
    const struct ox_tensor *w = weight_scale(rw, node, floats->n);
    float *rounded = w ? ox_rw_scratch(rw, floats->n, sizeof *rounded) : NULL;
    if (!rounded || !round_to_units(floats, (float)x.scale_is, w, rounded))
        return;
    struct ox_value *units = ox_rw_floats(rw, bias->name, 1, floats->dims, rounded);
    if (units)
        ox_rw_set_input(rw, node, IN_BIAS, units);
}

enum ox_status ox_pass_round_biases(struct ox_rewrite *rw, struct ox_graph *graph,
                                    struct ox_error *err)
{
    return rw->to_run ? ox_rw_each(rw, graph, NULL, look_at, err) : OX_OK;
}
