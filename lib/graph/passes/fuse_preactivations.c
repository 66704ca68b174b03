/* An Elementwise that a pointwise convolution alone reads, as a batch norm and Relu before it are, is worked out as that reads its pixels
 * (ops/fused/fused_conv.c): its map is not written, nor read from memory. */
#include <string.h>

#include "graph/match.h"
#include "graph/passes/channels.h"
#include "ops/fused/fused.h"
#include "ops/fused/fused_steps.h"

enum { IN_X, IN_OPERANDS = 6, MOST_IN = 200 };

/* Of floats at both ends. */
static bool is_chain(const struct ox_node *node)
{
    return node && ox_is_domain_op(node, OX_OWN_DOMAIN, "Elementwise") &&
           !ox_node_attr(node, "from") && !ox_node_attr(node, "to") && !ox_node_attr(node, "table");
}

/* Inputs are behind those of the convolution: `by` further on. */
static bool move_steps(const struct ox_node *chain, struct ox_node *node, int64_t by)
{
    int64_t field[OX_MOST_STEPS * OX_STEP_FIELDS];
    const int64_t joined = ox_attr_int(chain, "joined", 0);
    size_t n;
    const int64_t *steps = ox_attr_ints(chain, "steps", &n);
    memcpy(field, steps, n * sizeof *field);
    for (size_t i = 0; i < n; i += OX_STEP_FIELDS)
        if (field[i + OX_STEP_KIND] != OX_STEP_UNARY && field[i + OX_STEP_KIND] != OX_STEP_SOFTMAX)
            field[i + OX_STEP_A] += by;
    return ox_node_set_ints(node, "steps", field, n) &&
           (!joined || ox_node_set_int(node, "joined", joined + by));
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *x = ox_input(node, IN_X), *in[MOST_IN] = {NULL};
    struct ox_node *chain = x ? x->producer : NULL;
    if (!is_chain(chain) || chain->graph != node->graph || ox_rw_only_user(rw, x) != node ||
        ox_node_attr(node, "steps") || !ox_conv_is_pointwise(rw, node) ||
        ox_attr_int(node, "layout", 0) != (OX_IN_LAST | OX_OUT_LAST) ||
        chain->n_inputs > MOST_IN - IN_OPERANDS)
        return;
    memcpy(in, node->inputs, node->n_inputs * sizeof *in);
    in[IN_X] = chain->inputs[0];
    memcpy(in + IN_OPERANDS, chain->inputs + 1, (chain->n_inputs - 1) * sizeof *in);
    rw->failed |= !move_steps(chain, node, IN_OPERANDS - 1);
    ox_rw_become(rw, node, node->op_type, OX_OWN_DOMAIN, in, IN_OPERANDS + chain->n_inputs - 1);
    ox_rw_remove(rw, chain);
}

enum ox_status ox_pass_fuse_preactivations(struct ox_rewrite *rw, struct ox_graph *graph,
                                           struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
