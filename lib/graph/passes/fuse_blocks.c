/* Depthwise convolutions with the pointwise ones before and behind them become ConvChain of our own domain (ops/fused/fused_chain.c), where
 * the map between them does not leave a core's cache. */
#include <string.h>

#include "graph/match.h"
#include "graph/passes/channels.h"
#include "ops/fused/fused.h"

enum { IN_X, IN_WEIGHTS, IN_BIAS, IN_SCALE, IN_RESIDUAL, STAGES = 3, DEPTHWISE = 1 };
enum { ROWS_MOST = 16 };
/* Weights that do not stay in L2 beside a strip come anew for each, which takes longer than the map between. */
enum { WEIGHTS_MOST = 3 << 17 };

/* A convolution of maps by constant weights whose channels are last on both sides. */
static bool is_map_conv(struct ox_rewrite *rw, const struct ox_node *node)
{
    if (!node || !ox_is_domain_op(node, OX_OWN_DOMAIN, "FusedConv") || node->n_outputs != 1 ||
        ox_attr_int(node, "transposed", 0) || ox_attr_int(node, "join_channels", 0) ||
        ox_attr_int(node, "layout", 0) != (OX_IN_LAST | OX_OUT_LAST))
        return false;
    const struct ox_stored *w = ox_rw_stored(rw, node->inputs[IN_WEIGHTS]);
    return w && w->rank == 4 && w->dims[0] > 0;
}

static bool is_pointwise(struct ox_rewrite *rw, const struct ox_node *node)
{
    return is_map_conv(rw, node) && ox_conv_is_pointwise(rw, node);
}

static bool is_depthwise(struct ox_rewrite *rw, const struct ox_node *node)
{
    if (!is_map_conv(rw, node))
        return false;
    const struct ox_stored *w = ox_rw_stored(rw, node->inputs[IN_WEIGHTS]);
    return w->dims[1] == 1 && w->dims[0] == ox_attr_int(node, "group", 1) && w->dims[0] > 1 &&
           w->dims[2] <= ROWS_MOST;
}

static bool stays_near(struct ox_rewrite *rw, const struct ox_node *pointwise)
{
    const struct ox_stored *w = ox_rw_stored(rw, pointwise->inputs[IN_WEIGHTS]);
    return w->dims[1] <= WEIGHTS_MOST / w->dims[0];
}

struct activation {
    const char *name;
    float alpha, beta;
};

static struct activation activation_of(const struct ox_node *node)
{
    return (struct activation){node ? ox_attr_string(node, "activation", NULL) : NULL,
                               node ? ox_attr_float(node, "alpha", 0) : 0,
                               node ? ox_attr_float(node, "beta", 0) : 0};
}

static void set_activation(struct ox_rewrite *rw, struct ox_node *node, unsigned stage,
                           const struct activation *a)
{
    static const char *const names[STAGES][3] = {{"activation_0", "alpha_0", "beta_0"},
                                                 {"activation_1", "alpha_1", "beta_1"},
                                                 {"activation_2", "alpha_2", "beta_2"}};
    if (a->name)
        rw->failed |= !ox_node_set_string(node, names[stage][0], a->name) ||
                      !ox_node_set_float(node, names[stage][1], a->alpha) ||
                      !ox_node_set_float(node, names[stage][2], a->beta);
}

static void copy_window(struct ox_rewrite *rw, struct ox_node *to, const struct ox_node *from)
{
    static const char *const lists[] = {"dilations", "kernel_shape", "pads", "strides"};
    const char *pad = ox_attr_string(from, "auto_pad", NULL);
    for (size_t i = 0; i < OX_COUNT(lists); i++) {
        size_t n;
        const int64_t *list = ox_attr_ints(from, lists[i], &n);
        if (list)
            rw->failed |= !ox_node_set_ints(to, lists[i], list, n);
    }
    if (pad)
        rw->failed |= !ox_node_set_string(to, "auto_pad", pad);
}

/* The last of the stages takes in the others: its residual may come from nodes between them. */
static void join(struct ox_rewrite *rw, struct ox_node *const stage[STAGES])
{
    enum { N_IN = 1 + 3 * STAGES + 1 };
    struct ox_node *first = stage[0] ? stage[0] : stage[DEPTHWISE];
    struct ox_node *last = stage[2] ? stage[2] : stage[DEPTHWISE];
    struct ox_value *in[N_IN] = {first->inputs[IN_X]};
    struct activation act[STAGES];
    for (unsigned s = 0; s < STAGES; s++) {
        act[s] = activation_of(stage[s]);
        for (unsigned i = 0; stage[s] && i < 3; i++)
            in[1 + 3 * s + i] = ox_input(stage[s], IN_WEIGHTS + i);
    }
    in[N_IN - 1] = ox_input(last, IN_RESIDUAL);
    if (last != stage[DEPTHWISE]) {
        const bool residual_last = ox_attr_int(last, "residual_last", 0) != 0;
        ox_rw_clear_attrs(rw, last);
        copy_window(rw, last, stage[DEPTHWISE]);
        rw->failed |= residual_last && !ox_node_set_int(last, "residual_last", 1);
    }
    for (unsigned s = 0; s < STAGES; s++)
        set_activation(rw, last, s, &act[s]);
    ox_rw_become(rw, last, "ConvChain", OX_OWN_DOMAIN, in, in[N_IN - 1] ? N_IN : N_IN - 1);
    for (unsigned s = 0; s < STAGES; s++)
        if (stage[s] && stage[s] != last)
            ox_rw_remove(rw, stage[s]);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (!is_depthwise(rw, node))
        return;
    struct ox_value *x = node->inputs[IN_X];
    struct ox_node *before = x ? x->producer : NULL;
    struct ox_node *behind = ox_rw_only_user(rw, node->outputs[0]);
    struct ox_node *stage[STAGES] = {NULL, node, NULL};
    if (is_pointwise(rw, before) && before->graph == node->graph &&
        ox_rw_only_user(rw, x) == node && !ox_input(before, IN_RESIDUAL) && stays_near(rw, before))
        stage[0] = before;
    if (is_pointwise(rw, behind) && behind->inputs[IN_X] == node->outputs[0] &&
        !ox_input(node, IN_RESIDUAL) && stays_near(rw, behind))
        stage[2] = behind;
    if (stage[0] || stage[2])
        join(rw, stage);
}

enum ox_status ox_pass_fuse_blocks(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
