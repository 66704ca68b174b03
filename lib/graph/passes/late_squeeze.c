/* Convolutions over one axis that are written as over two (as TensorFlow's are exported): Squeeze stands between the convolution and its
 * bias and activation. It comes behind these, so that the convolution takes them in, and meets what puts the axis back for the next. */
#include "graph/match.h"
#include "graph/passes/channels.h"

enum { MOST_RANK = 5, MOST_BEFORE = 8 };

static const char *const unary[] = {"Relu", "LeakyRelu",   "Clip",      "Sigmoid", "Tanh",
                                    "Elu",  "HardSigmoid", "HardSwish", NULL};
static const char *const binary[] = {"Add", "Sub", "Mul", "Div", NULL};

/* Whether a convolution made it, be it through what has gone before Squeeze already. */
static bool is_of_convolution(const struct ox_value *x)
{
    for (int i = 0; x && x->producer && i < MOST_BEFORE; i++) {
        const struct ox_node *node = x->producer;
        if (ox_is_op(node, "Conv") || ox_is_op(node, "ConvTranspose"))
            return true;
        if (!ox_is_any_op(node, unary) && !ox_is_any_op(node, binary))
            return false;
        const struct ox_value *first = ox_input(node, 0);
        x = first && first->producer ? first : ox_input(node, 1);
    }
    return false;
}

/* Whether the axes are told, and none of them is that of batch or channels. */
static bool leaves_channels(struct ox_rewrite *rw, const struct ox_node *squeeze, int rank)
{
    size_t n;
    const int64_t *axes = ox_attr_ints(squeeze, "axes", &n);
    if (!axes && ox_input(squeeze, 1))
        axes = ox_const_ints(rw, squeeze->inputs[1], &n);
    if (!axes || rank < 3 || rank > MOST_RANK)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((axes[i] < 0 ? axes[i] + rank : axes[i]) < 2)
            return false;
    return true;
}

/* The constant operand of `next` for values of that rank, a number a channel; NULL: it is something else. */
static struct ox_value *widened(struct ox_rewrite *rw, const struct ox_node *next,
                                const struct ox_value *y, const struct ox_value *x, unsigned rank)
{
    const struct ox_value *other = ox_other_input(next, y);
    const struct ox_stored *stored = other && other != y ? ox_rw_stored(rw, other) : NULL;
    int64_t dims[MOST_RANK] = {ox_dim_of(rw, x, 1), 1, 1, 1, 1};
    if (!stored || !ox_dtype_is_real(stored->dtype) || dims[0] < 1 || ox_node_opset(next) < 7)
        return NULL;
    const double *data = ox_channel_const(rw, other, ox_rank_of(rw, y), 1, dims[0]);
    return data ? ox_rounded_constant(rw, other->name, stored->dtype, rank - 1, dims, data) : NULL;
}

static bool are_constants(const struct ox_rewrite *rw, const struct ox_node *node, size_t from)
{
    for (size_t i = from; i < node->n_inputs; i++)
        if (node->inputs[i] && !ox_rw_stored(rw, node->inputs[i]))
            return false;
    return true;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *squeeze)
{
    enum { MOST_INPUTS = 3 };
    struct ox_value *x = ox_input(squeeze, 0), *y = squeeze->outputs[0], *in[MOST_INPUTS];
    struct ox_node *next = ox_rw_only_user(rw, y);
    const int rank = x ? ox_rank_of(rw, x) : -1;
    if (!next || next->n_outputs != 1 || next->n_inputs < 1 || next->n_inputs > MOST_INPUTS ||
        ox_rw_only_user(rw, x) != squeeze || !is_of_convolution(x) ||
        !leaves_channels(rw, squeeze, rank))
        return;
    for (size_t i = 0; i < next->n_inputs; i++)
        in[i] = next->inputs[i] == y ? x : next->inputs[i];
    if (ox_is_any_op(next, binary)) {
        const size_t at = in[0] == x;
        in[at] = widened(rw, next, y, x, (unsigned)rank);
        if (!in[at])
            return;
    } else if (!ox_is_any_op(next, unary) || !are_constants(rw, next, 1)) {
        return;
    }
    struct ox_value *z = next->outputs[0], *out = ox_rw_value(rw, z->name, ox_rw_type(rw, x));
    struct ox_node *made =
        out ? ox_rw_insert(rw, squeeze, next->op_type, "", next->name, in, next->n_inputs, &out, 1)
            : NULL;
    if (!made)
        return;
    ox_rw_inherit(made, next);
    ox_rw_remove(rw, next);
    ox_rw_set_input(rw, squeeze, 0, out);
    ox_rw_set_output(rw, squeeze, 0, z);
}

enum ox_status ox_pass_late_squeeze(struct ox_rewrite *rw, struct ox_graph *graph,
                                    struct ox_error *err)
{
    return ox_rw_each(rw, graph, "Squeeze", look_at, err);
}
