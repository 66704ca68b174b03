/* What follows a linear operator by constants a channel goes into its weights and bias: batch norm, and Add, Sub, Mul, Div with a
 * constant of one element or one a channel. The operators stay what they are: Conv, ConvTranspose, Gemm, and MatMul where nothing is
 * added. Arithmetic is in double and rounded once. */
#include <math.h>

#include "graph/match.h"
#include "graph/passes/channels.h"

enum linear_kind { NOT_LINEAR, CONV, CONV_TRANSPOSE, GEMM, MATMUL };

/* Weights are `outer` blocks of n channels of `inner` elements; of ConvTranspose `blocks` of them belong to one group, whose channels
 * follow those of the group before. */
struct linear {
    enum linear_kind kind;
    struct ox_node *node;
    int64_t channels, n, inner, outer, blocks;
    int axis; /* of channels in the output; from the end when negative */
};

static enum linear_kind kind_of(const struct ox_node *node)
{
    return ox_is_op(node, "Conv")            ? CONV
           : ox_is_op(node, "ConvTranspose") ? CONV_TRANSPOSE
           : ox_is_op(node, "Gemm")          ? GEMM
           : ox_is_op(node, "MatMul")        ? MATMUL
                                             : NOT_LINEAR;
}

/* The constant input of a type that weights have, of this node alone; NULL. */
static const struct ox_stored *own_weights(struct ox_rewrite *rw, const struct ox_node *node,
                                           size_t i)
{
    const struct ox_value *value = ox_input(node, i);
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    return stored && ox_dtype_is_real(stored->dtype) && ox_rw_only_user(rw, value) ? stored : NULL;
}

static bool lay_out(struct ox_rewrite *rw, struct ox_node *node, struct linear *out)
{
    enum { MOST = 64 << 20 };
    const struct ox_stored *w = own_weights(rw, node, 1);
    size_t n;
    if (!w || !ox_dims_count(w->rank, w->dims, &n) || n == 0 || n > MOST || node->n_outputs != 1)
        return false;
    *out = (struct linear){.kind = kind_of(node), .node = node, .outer = 1, .blocks = 1, .axis = 1};
    if (out->kind == CONV || out->kind == CONV_TRANSPOSE) {
        int64_t group = ox_attr_int(node, "group", 1);
        if (w->rank < 3 || group < 1 || w->dims[0] % group)
            return false;
        bool turned = out->kind == CONV_TRANSPOSE;
        out->n = w->dims[turned ? 1 : 0];
        out->channels = turned ? out->n * group : out->n;
        out->outer = turned ? w->dims[0] : 1;
        out->blocks = turned ? w->dims[0] / group : 1;
    } else {
        if (w->rank != 2)
            return false;
        bool turned = out->kind == GEMM && ox_attr_int(node, "transB", 0);
        out->n = out->channels = w->dims[turned ? 0 : 1];
        out->outer = turned ? 1 : w->dims[0];
        out->axis = -1;
    }
    out->inner = (int64_t)n / out->outer / out->n;
    return true;
}

static const double *channel_const(struct ox_rewrite *rw, const struct linear *linear,
                                   const struct ox_value *value)
{
    return ox_channel_const(rw, value, ox_rank_of(rw, linear->node->outputs[0]), linear->axis,
                            linear->channels);
}

/* ---- The new constants ------------------------------------------------------------------------------------------- */

static void scale_blocks(const struct linear *linear, const double *by, double *data)
{
    for (int64_t o = 0; o < linear->outer; o++) {
        const double *of = by + o / linear->blocks % (linear->channels / linear->n) * linear->n;
        if (linear->kind != CONV_TRANSPOSE)
            of = by;
        for (int64_t c = 0; c < linear->n; c++)
            for (int64_t i = 0; i < linear->inner; i++)
                *data++ *= of[c];
    }
}

/* The weights times `by`, a channel each; NULL. */
static struct ox_value *scaled(struct ox_rewrite *rw, const struct linear *linear, const double *by)
{
    const struct ox_value *weights = linear->node->inputs[1];
    const struct ox_tensor *tensor = ox_rw_const(rw, weights);
    struct ox_tensor *wide = NULL;
    struct ox_value *out = NULL;
    if (tensor && ox_tensor_new(&wide, ox_env_budget(rw->env), OX_FLOAT64, tensor->rank,
                                tensor->dims, NULL) == OX_OK) {
        ox_elements_convert(OX_FLOAT64, wide->data, tensor->dtype, tensor->data, tensor->n, false);
        scale_blocks(linear, by, wide->data);
        out = ox_rounded_constant(rw, weights->name, tensor->dtype, tensor->rank, tensor->dims,
                                  wide->data);
    }
    ox_tensor_release(wide);
    return out;
}

static struct ox_value *bias_of(struct ox_rewrite *rw, const struct linear *linear,
                                const char *name, const double *data)
{
    enum ox_dtype dtype = ox_rw_stored(rw, linear->node->inputs[1])->dtype;
    return ox_rounded_constant(rw, name, dtype, 1, &linear->channels, data);
}

/* The operator's bias as doubles, zeros when it has none; NULL: it cannot be changed. */
static double *old_bias(struct ox_rewrite *rw, const struct linear *linear)
{
    const struct ox_value *bias = ox_input(linear->node, 2);
    double *out = ox_rw_scratch(rw, (size_t)linear->channels, sizeof *out);
    if (!out || !bias || linear->kind == MATMUL)
        return out;
    if (linear->kind == GEMM) {
        const double *given = channel_const(rw, linear, bias);
        for (int64_t i = 0; given && i < linear->channels; i++)
            out[i] = given[i] * (double)ox_attr_float(linear->node, "beta", 1);
        return given ? out : NULL;
    }
    return ox_channel_vector(rw, bias, linear->channels, out) ? out : NULL;
}

/* y becomes y * by + plus, a channel each (NULL: 1 and 0), and `next`, which made that, goes. */
static bool take(struct ox_rewrite *rw, const struct linear *linear, struct ox_node *next,
                 const double *by, const double *plus)
{
    struct ox_node *node = linear->node;
    double *bias = old_bias(rw, linear);
    struct ox_value *in[3] = {node->inputs[0], node->inputs[1], ox_input(node, 2)};
    if (!bias || (plus && linear->kind == MATMUL))
        return false;
    bool any = in[2] || plus;
    for (int64_t i = 0; i < linear->channels; i++)
        bias[i] = bias[i] * (by ? by[i] : 1) + (plus ? plus[i] : 0);
    if (by)
        in[1] = scaled(rw, linear, by);
    if (any)
        in[2] = bias_of(rw, linear, in[2] ? in[2]->name : next->outputs[0]->name, bias);
    if (!in[1] || (any && !in[2]))
        return false;
    struct ox_value *y = next->outputs[0];
    ox_rw_become(rw, node, node->op_type, "", in, any ? 3 : 2);
    if (linear->kind == GEMM && any)
        rw->failed |= !ox_node_set_float(node, "beta", 1);
    ox_rw_remove(rw, next);
    ox_rw_set_output(rw, node, 0, y);
    return true;
}

/* ---- What is taken in -------------------------------------------------------------------------------------------- */

static bool take_batch_norm(struct ox_rewrite *rw, const struct linear *linear,
                            struct ox_node *next)
{
    if (!ox_batch_norm_is_affine(rw, next) || next->inputs[0] != linear->node->outputs[0] ||
        (linear->axis < 0 && ox_rank_of(rw, linear->node->outputs[0]) != 2))
        return false;
    const double *by = ox_batch_norm_factors(rw, next, linear->channels);
    return by && take(rw, linear, next, by, by + linear->channels);
}

static bool take_arithmetic(struct ox_rewrite *rw, const struct linear *linear,
                            struct ox_node *next)
{
    bool add = ox_is_op(next, "Add"), sub = ox_is_op(next, "Sub"), mul = ox_is_op(next, "Mul"),
         div = ox_is_op(next, "Div");
    struct ox_value *y = linear->node->outputs[0], *other = ox_other_input(next, y);
    if (!(add || sub || mul || div) || !other || other == y || ox_node_opset(next) < 7 ||
        ((sub || div) && next->inputs[0] != y))
        return false;
    const double *constant = channel_const(rw, linear, other);
    double *values = constant ? ox_rw_scratch(rw, (size_t)linear->channels, sizeof *values) : NULL;
    for (int64_t i = 0; values && i < linear->channels; i++) {
        if ((div && constant[i] == 0) || !isfinite(constant[i]))
            return false;
        values[i] = sub ? -constant[i] : div ? 1 / constant[i] : constant[i];
    }
    return values && take(rw, linear, next, mul || div ? values : NULL, add || sub ? values : NULL);
}

bool ox_fold_next(struct ox_rewrite *rw, struct ox_node *node)
{
    struct linear linear;
    if (kind_of(node) == NOT_LINEAR || !lay_out(rw, node, &linear))
        return false;
    struct ox_node *next = ox_rw_only_user(rw, node->outputs[0]);
    return next && (take_batch_norm(rw, &linear, next) || take_arithmetic(rw, &linear, next));
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    ox_fold_next(rw, node);
}

enum ox_status ox_pass_fold_linear(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
