/* Convolutions and matrix products by constant weights take in what follows them: batch norm, arithmetic with a constant a channel, an
 * addition of equal shape, an activation (also behind a Reshape or Transpose), of maps an addition behind it; and zero padding before
 * a convolution. They become FusedConv and FusedMatMul of our own domain (ops/fused/fused_conv.c, ops/fused/fused_product.c), whose
 * inputs are data, weights, bias, scale, residual. */
#include <string.h>

#include "graph/match.h"
#include "graph/passes/channels.h"
#include "ops/fused/fused.h"

enum { IN_X, IN_WEIGHTS, IN_BIAS, IN_SCALE, IN_RESIDUAL, N_IN };

static bool is_conv(const struct ox_node *node)
{
    return ox_is_domain_op(node, OX_OWN_DOMAIN, "FusedConv");
}

static bool is_fused(const struct ox_node *node)
{
    return is_conv(node) || ox_is_domain_op(node, OX_OWN_DOMAIN, "FusedMatMul");
}

static bool is_float_const(struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    return stored && stored->dtype == OX_FLOAT32;
}

/* ---- Beginning -------------------------------------------------------------------------------------------------- */

static bool is_float(struct ox_rewrite *rw, const struct ox_value *value)
{
    return ox_dtype_of_value(rw, value) == OX_FLOAT32;
}

/* Over three axes: those of a few channels go from planes to planes (ops/fast/fast_conv.c). */
static bool is_wide_volume(struct ox_rewrite *rw, const struct ox_node *conv)
{
    enum { FEW = 8 };
    return ox_is_op(conv, "Conv") && ox_attr_int(conv, "group", 1) == 1 &&
           is_float_const(rw, conv->inputs[1]) && ox_dim_of(rw, conv->inputs[1], 1) >= FEW;
}

/* Weights that vary are packed at every run. */
static void begin_conv(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *weights = ox_input(node, 1), *bias = ox_input(node, 2);
    if (node->n_outputs != 1 || !node->outputs[0] || !ox_input(node, 0) || !weights ||
        !is_float(rw, weights) || (bias && !is_float(rw, bias)))
        return;
    const int rank = ox_rank_of(rw, weights);
    if (rank < 3 || rank > 5 || (rank == 5 && !is_wide_volume(rw, node)))
        return;
    struct ox_value *in[N_IN] = {node->inputs[0], weights, bias};
    ox_rw_become(rw, node, "FusedConv", OX_OWN_DOMAIN, in, N_IN);
}

/* Kernels of transposed convolutions have two spatial axes at most, and leave the rarer ways to say a size to others. What lies
 * between their steps is 0 there, times a weight: weights that vary may be infinite. */
static void begin_transposed(struct ox_rewrite *rw, struct ox_node *node)
{
    if (ox_node_attr(node, "output_shape") ||
        strcmp(ox_attr_string(node, "auto_pad", "NOTSET"), "NOTSET") != 0 ||
        ox_node_attr(node, "transposed") || !is_float_const(rw, ox_input(node, 1)))
        return;
    ox_flip_transposed(rw, node);
    const bool flipped = ox_is_op(node, "Conv");
    begin_conv(rw, node);
    if (is_conv(node) && !flipped)
        rw->failed |= !ox_node_set_int(node, "transposed", 1);
}

/* By constant weights of rank 2; A of any rank but 1, whose last axis is summed over. */
static void begin_matmul(struct ox_rewrite *rw, struct ox_node *node)
{
    bool turned;
    struct ox_value *weights = ox_matrix_behind(rw, ox_input(node, 1), &turned);
    if (!ox_input(node, 0) || !is_float_const(rw, weights) || !node->outputs[0] ||
        ox_rank_of(rw, node->inputs[0]) < 2)
        return;
    struct ox_value *in[N_IN] = {node->inputs[0], weights};
    ox_rw_become(rw, node, "FusedMatMul", OX_OWN_DOMAIN, in, N_IN);
    rw->failed |= turned && !ox_node_set_int(node, "transB", 1);
}

/* The third operand of Gemm as a vector a column, times beta; *given is false when there is none. false: it is no such thing. */
static bool gemm_bias(struct ox_rewrite *rw, const struct ox_node *node, int64_t columns,
                      struct ox_value **out)
{
    *out = NULL;
    struct ox_value *c = ox_input(node, 2);
    float beta = ox_attr_float(node, "beta", 1);
    if (!c || beta == 0)
        return true;
    const struct ox_stored *stored = ox_rw_stored(rw, c);
    if (!stored || stored->dtype != OX_FLOAT32 || stored->rank > 2)
        return false;
    bool row = stored->rank == 1 || (stored->rank == 2 && stored->dims[0] == 1);
    if (!row || stored->dims[stored->rank - 1] != columns)
        return false;
    if (beta == 1 && stored->rank == 1) {
        *out = c;
        return true;
    }
    const struct ox_tensor *tensor = ox_rw_const(rw, c);
    float *scaled = tensor ? ox_rw_scratch(rw, tensor->n, sizeof *scaled) : NULL;
    if (!scaled)
        return false;
    for (size_t i = 0; i < tensor->n; i++)
        scaled[i] = beta * ((const float *)tensor->data)[i];
    *out = ox_rw_floats(rw, c->name, 1, &columns, scaled);
    return *out != NULL;
}

static void begin_gemm(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *weights = ox_input(node, 1), *bias;
    if (!ox_input(node, 0) || !is_float_const(rw, weights) || !node->outputs[0] ||
        ox_rw_stored(rw, weights)->rank != 2 || ox_attr_int(node, "transA", 0) ||
        ox_rank_of(rw, node->inputs[0]) != 2)
        return;
    bool turned = ox_attr_int(node, "transB", 0) != 0;
    float alpha = ox_attr_float(node, "alpha", 1);
    if (alpha == 0 || !gemm_bias(rw, node, ox_rw_stored(rw, weights)->dims[turned ? 0 : 1], &bias))
        return;
    struct ox_value *in[N_IN] = {node->inputs[0], weights, bias};
    ox_rw_clear_attrs(rw, node);
    ox_rw_become(rw, node, "FusedMatMul", OX_OWN_DOMAIN, in, N_IN);
    rw->failed |= (turned && !ox_node_set_int(node, "transB", 1)) ||
                  (alpha != 1 && !ox_node_set_float(node, "factor", alpha));
}

/* ---- Taking in -------------------------------------------------------------------------------------------------- */

static int64_t channels_of(struct ox_rewrite *rw, const struct ox_node *fused)
{
    const struct ox_stored *weights = ox_rw_stored(rw, fused->inputs[IN_WEIGHTS]);
    if (is_conv(fused) && ox_attr_int(fused, "transposed", 0))
        return weights->dims[1] * ox_attr_int(fused, "group", 1);
    return weights->dims[is_conv(fused) || ox_attr_int(fused, "transB", 0) ? 0 : 1];
}

/* `next` becomes the fused node, with these inputs. */
static void take_over(struct ox_rewrite *rw, struct ox_node *fused, struct ox_node *next,
                      struct ox_value *const *in)
{
    const char *op_type = fused->op_type;
    ox_rw_become(rw, next, op_type, OX_OWN_DOMAIN, in, N_IN);
    ox_rw_inherit(next, fused);
    next->n_outputs = 1;
    ox_rw_remove(rw, fused);
}

/* The constants of the fused node multiplied by `by` (NULL: 1) and moved by `plus` (NULL: 0), a channel each. */
static bool take_affine(struct ox_rewrite *rw, struct ox_node *fused, struct ox_node *next,
                        const double *by, const double *plus)
{
    int64_t n = channels_of(rw, fused);
    struct ox_value *in[N_IN];
    memcpy(in, fused->inputs, sizeof in);
    const struct ox_tensor *bias = in[IN_BIAS] ? ox_const_floats(rw, in[IN_BIAS]) : NULL;
    const struct ox_tensor *scale = in[IN_SCALE] ? ox_const_floats(rw, in[IN_SCALE]) : NULL;
    float *both = ox_rw_scratch(rw, (size_t)n, 2 * sizeof *both);
    if (!both || (in[IN_BIAS] && !bias) || (in[IN_SCALE] && !scale) ||
        (bias && bias->n != (size_t)n) || (scale && scale->n != (size_t)n))
        return false;
    float *s = both, *b = both + n;
    for (int64_t i = 0; i < n; i++) {
        const double factor = by ? by[i] : 1, old = bias ? ((const float *)bias->data)[i] : 0;
        s[i] = (float)((scale ? ((const float *)scale->data)[i] : 1) * factor);
        b[i] = (float)(old * factor + (plus ? plus[i] : 0));
    }
    const char *name = fused->outputs[0]->name;
    if (by || scale)
        in[IN_SCALE] = ox_rw_floats(rw, name, 1, &n, s);
    if (bias || plus)
        in[IN_BIAS] = ox_rw_floats(rw, name, 1, &n, b);
    if (rw->failed)
        return false;
    take_over(rw, fused, next, in);
    return true;
}

static bool take_batch_norm(struct ox_rewrite *rw, struct ox_node *fused, struct ox_node *next)
{
    if (!ox_batch_norm_is_affine(rw, next) || next->inputs[0] != fused->outputs[0] ||
        (!is_conv(fused) && ox_rank_of(rw, fused->outputs[0]) != 2))
        return false;
    const int64_t n = channels_of(rw, fused);
    const double *by = ox_batch_norm_factors(rw, next, n);
    return by && take_affine(rw, fused, next, by, by + n);
}

/* A constant that is a bias as it stands: layers that share it go on doing so. */
static bool take_bias(struct ox_rewrite *rw, struct ox_node *fused, struct ox_node *next,
                      struct ox_value *other, int64_t n)
{
    const struct ox_stored *stored = ox_rw_stored(rw, other);
    struct ox_value *in[N_IN];
    memcpy(in, fused->inputs, sizeof in);
    if (in[IN_BIAS] || in[IN_SCALE] || !stored || stored->dtype != OX_FLOAT32 ||
        stored->rank != 1 || stored->dims[0] != n)
        return false;
    in[IN_BIAS] = other;
    take_over(rw, fused, next, in);
    return true;
}

static bool take_arithmetic(struct ox_rewrite *rw, struct ox_node *fused, struct ox_node *next)
{
    bool add = ox_is_op(next, "Add"), sub = ox_is_op(next, "Sub"), mul = ox_is_op(next, "Mul"),
         div = ox_is_op(next, "Div");
    if (!(add || sub || mul || div) || next->n_inputs != 2 || ox_node_opset(next) < 7)
        return false;
    struct ox_value *y = fused->outputs[0], *other = ox_other_input(next, y);
    if (!other || other == y || ((sub || div) && next->inputs[0] != y))
        return false;
    const int64_t n = channels_of(rw, fused);
    const double *constant =
        ox_channel_const(rw, other, ox_rank_of(rw, y), is_conv(fused) ? 1 : -1, n);
    if (!constant)
        return false;
    if (add && take_bias(rw, fused, next, other, n))
        return true;
    double *values = ox_rw_scratch(rw, (size_t)n, sizeof *values);
    for (int64_t i = 0; values && i < n; i++) {
        if (div && constant[i] == 0)
            return false;
        values[i] = sub ? -constant[i] : div ? 1 / constant[i] : constant[i];
    }
    return values &&
           take_affine(rw, fused, next, mul || div ? values : NULL, add || sub ? values : NULL);
}

/* Behind an activation where that is free: in convolutions. */
static bool take_residual(struct ox_rewrite *rw, struct ox_node *fused, struct ox_node *next)
{
    const bool last = ox_attr_string(fused, "activation", NULL) != NULL;
    bool sum = ox_is_op(next, "Sum") && next->n_inputs == 2;
    struct ox_value *y = fused->outputs[0], *other = ox_other_input(next, y);
    if (!(sum || ox_is_op(next, "Add")) || !other || other == y || fused->inputs[IN_RESIDUAL] ||
        ox_dtype_of_value(rw, other) != OX_FLOAT32 || !ox_same_shape(rw, y, other) ||
        ox_rw_stored(rw, other) || (last && !is_conv(fused)))
        return false;
    struct ox_value *in[N_IN];
    memcpy(in, fused->inputs, sizeof in);
    in[IN_RESIDUAL] = other;
    take_over(rw, fused, next, in);
    rw->failed |= last && !ox_node_set_int(next, "residual_last", 1);
    return true;
}

static bool set_activation(struct ox_rewrite *rw, struct ox_node *node, const char *name, float a,
                           float b)
{
    bool good = ox_node_set_string(node, "activation", name) &&
                ox_node_set_float(node, "alpha", a) && ox_node_set_float(node, "beta", b);
    rw->failed |= !good;
    return good;
}

static bool take_activation(struct ox_rewrite *rw, struct ox_node *fused, struct ox_node *next)
{
    const char *name;
    float a, b;
    if (ox_attr_string(fused, "activation", NULL) || next->n_outputs != 1 ||
        !ox_activation_of(rw, next, &name, &a, &b) || next->inputs[0] != fused->outputs[0])
        return false;
    struct ox_value *in[N_IN];
    memcpy(in, fused->inputs, sizeof in);
    take_over(rw, fused, next, in);
    return set_activation(rw, next, name, a, b);
}

/* An activation behind what moves elements alone, as the heads of detectors have it: the map is near while it is made. */
static bool take_moved_activation(struct ox_rewrite *rw, struct ox_node *fused)
{
    static const char *const moves[] = {"Flatten",   "Reshape",   "Squeeze",
                                        "Transpose", "Unsqueeze", NULL};
    struct ox_value *y = fused->outputs[0];
    struct ox_node *next = ox_rw_only_user(rw, y);
    const char *name;
    float a, b;
    while (next && ox_is_any_op(next, moves) && next->inputs[0] == y && next->outputs[0]) {
        y = next->outputs[0];
        next = ox_rw_only_user(rw, y);
    }
    return next && y != fused->outputs[0] && !ox_attr_string(fused, "activation", NULL) &&
           next->n_outputs == 1 && ox_activation_of(rw, next, &name, &a, &b) &&
           next->inputs[0] == y && ox_rw_bypass(rw, next, y) &&
           set_activation(rw, fused, name, a, b);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (ox_is_op(node, "Conv"))
        begin_conv(rw, node);
    else if (ox_is_op(node, "ConvTranspose"))
        begin_transposed(rw, node);
    else if (ox_is_op(node, "MatMul"))
        begin_matmul(rw, node);
    else if (ox_is_op(node, "Gemm"))
        begin_gemm(rw, node);
    while (is_fused(node) && is_float_const(rw, node->inputs[IN_WEIGHTS]) && !rw->failed) {
        const bool straight = is_conv(node) && !ox_attr_int(node, "transposed", 0);
        if (straight &&
            ox_take_padding(rw, node, ox_rw_stored(rw, node->inputs[IN_WEIGHTS])->rank - 2))
            continue;
        struct ox_node *cut = straight && !node->inputs[IN_RESIDUAL] ? ox_take_cut(rw, node) : NULL;
        if (cut) {
            node = cut;
            continue;
        }
        struct ox_node *next = ox_rw_only_user(rw, node->outputs[0]);
        bool linear = !ox_attr_string(node, "activation", NULL) && !node->inputs[IN_RESIDUAL];
        bool taken =
            next &&
            ((linear && (take_batch_norm(rw, node, next) || take_arithmetic(rw, node, next))) ||
             take_residual(rw, node, next) || take_activation(rw, node, next));
        if (!taken) {
            if (straight)
                ox_crop_kernel(rw, node);
            take_moved_activation(rw, node);
            return;
        }
        node = next;
    }
}

enum ox_status ox_pass_fuse_linear(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
