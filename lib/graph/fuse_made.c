/* An Elementwise that a pointwise convolution alone reads, as a batch norm and Relu before it are, is worked out as that reads its pixels
 * (ops/fused_conv.c): its map is not written, nor read from memory. */
#include <string.h>

#include "graph/match.h"
#include "ops/fused.h"
#include "ops/fused_steps.h"

enum { IN_X, IN_WEIGHTS, IN_OPERANDS = 6, MOST_IN = 200 };

static bool all_are(const struct ox_node *node, const char *name, int64_t want)
{
    size_t n;
    const int64_t *list = ox_attr_ints(node, name, &n);
    for (size_t i = 0; list && i < n; i++)
        if (list[i] != want)
            return false;
    return true;
}

/* Of floats at both ends. */
static bool is_chain(const struct ox_node *node)
{
    return node && ox_is_domain_op(node, OX_OWN_DOMAIN, "Elementwise") &&
           !ox_node_attr(node, "from") && !ox_node_attr(node, "to") && !ox_node_attr(node, "table");
}

static bool is_pointwise(struct ox_rewrite *rw, const struct ox_node *node)
{
    if (!ox_is_domain_op(node, OX_OWN_DOMAIN, "FusedConv") || ox_node_attr(node, "steps") ||
        ox_attr_int(node, "transposed", 0) || ox_attr_int(node, "group", 1) != 1 ||
        ox_attr_int(node, "layout", 0) != (OX_IN_LAST | OX_OUT_LAST))
        return false;
    const struct ox_stored *w = ox_rw_stored(rw, node->inputs[IN_WEIGHTS]);
    if (!w || w->rank < 3)
        return false;
    for (unsigned d = 2; d < w->rank; d++)
        if (w->dims[d] != 1)
            return false;
    return all_are(node, "strides", 1) && all_are(node, "pads", 0);
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
        if (field[i + OX_STEP_KIND] != OX_STEP_UNARY)
            field[i + OX_STEP_A] += by;
    return ox_node_set_ints(node, "steps", field, n) &&
           (!joined || ox_node_set_int(node, "joined", joined + by));
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *x = ox_input(node, IN_X), *in[MOST_IN] = {NULL};
    struct ox_node *chain = x ? x->producer : NULL;
    if (!is_chain(chain) || chain->graph != node->graph || ox_rw_only_user(rw, x) != node ||
        !is_pointwise(rw, node) || chain->n_inputs > MOST_IN - IN_OPERANDS)
        return;
    memcpy(in, node->inputs, node->n_inputs * sizeof *in);
    in[IN_X] = chain->inputs[0];
    memcpy(in + IN_OPERANDS, chain->inputs + 1, (chain->n_inputs - 1) * sizeof *in);
    rw->failed |= !move_steps(chain, node, IN_OPERANDS - 1);
    ox_rw_become(rw, node, node->op_type, OX_OWN_DOMAIN, in, IN_OPERANDS + chain->n_inputs - 1);
    ox_rw_remove(rw, chain);
}

enum ox_status ox_pass_fuse_made(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
