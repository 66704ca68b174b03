/* An Elementwise that a pointwise convolution alone reads, as a batch norm and Relu before it are, is worked out as that reads its pixels
 * (ops/fused/fused_conv.c): its map is not written, nor read from memory. A factor a channel that is made at each run, as
 * squeeze-and-excitation (Hu et al.) has it, goes into the weights where these are fewer than what it would multiply. */
#include <string.h>

#include "graph/match.h"
#include "graph/passes/channels.h"
#include "ops/fused/fused.h"
#include "ops/fused/fused_steps.h"

enum { IN_X, IN_WEIGHTS, IN_OPERANDS = 6, MOST_IN = 200 };
/* Weights of one run that serve no more pixels may be read where they lie (ox_conv_reads_stored()). */
enum { PIXELS = 256 };

/* Of floats at both ends. */
static bool is_chain(const struct ox_node *node)
{
    return node && ox_is_domain_op(node, OX_OWN_DOMAIN, "Elementwise") &&
           !ox_node_attr(node, "from") && !ox_node_attr(node, "to") && !ox_node_attr(node, "table");
}

/* Whether a step of that kind names inputs. */
static bool names_inputs(int64_t kind)
{
    return kind == OX_STEP_LEFT || kind == OX_STEP_RIGHT || kind == OX_STEP_NORM;
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
        if (names_inputs(field[i + OX_STEP_KIND]))
            field[i + OX_STEP_A] += by;
    return ox_node_set_ints(node, "steps", field, n) &&
           (!joined || ox_node_set_int(node, "joined", joined + by));
}

/* A pointwise convolution whose channels are last, and whose data are there yet. */
static bool reads_what_is_there(struct ox_rewrite *rw, const struct ox_node *node)
{
    return ox_conv_is_pointwise(rw, node) && !ox_node_attr(node, "steps") &&
           !ox_node_attr(node, "gated") &&
           ox_attr_int(node, "layout", 0) == (OX_IN_LAST | OX_OUT_LAST);
}

static void take_chain(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *x = ox_input(node, IN_X), *in[MOST_IN] = {NULL};
    struct ox_node *chain = x ? x->producer : NULL;
    if (!is_chain(chain) || chain->graph != node->graph || ox_rw_only_user(rw, x) != node ||
        chain->n_inputs > MOST_IN - IN_OPERANDS)
        return;
    memcpy(in, node->inputs, node->n_inputs * sizeof *in);
    in[IN_X] = chain->inputs[0];
    memcpy(in + IN_OPERANDS, chain->inputs + 1, (chain->n_inputs - 1) * sizeof *in);
    rw->failed |= !move_steps(chain, node, IN_OPERANDS - 1);
    ox_rw_become(rw, node, node->op_type, OX_OWN_DOMAIN, in, IN_OPERANDS + chain->n_inputs - 1);
    ox_rw_remove(rw, chain);
}

/* One factor for each element of x's last axis. */
static bool is_gate(struct ox_rewrite *rw, const struct ox_value *value, const struct ox_value *x)
{
    const int rank = ox_rank_of(rw, value);
    if (rank < 1 || ox_dtype_of_value(rw, value) != OX_FLOAT32 ||
        ox_dim_of(rw, value, -1) != ox_dim_of(rw, x, -1))
        return false;
    for (int d = 0; d + 1 < rank; d++)
        if (ox_dim_of(rw, value, d) != 1)
            return false;
    return true;
}

/* Whether x has more pixels than the convolution has outputs for each, and enough. */
static bool has_pixels(struct ox_rewrite *rw, const struct ox_value *x, const struct ox_node *node)
{
    const int rank = ox_rank_of(rw, x);
    double pixels = 1;
    for (int d = 0; d + 1 < rank; d++)
        pixels *= (double)ox_dim_of(rw, x, d);
    for (int d = 0; d < rank; d++)
        if (ox_dim_of(rw, x, d) < 1)
            return false;
    return pixels > PIXELS && pixels > (double)ox_rw_stored(rw, node->inputs[IN_WEIGHTS])->dims[0];
}

static bool take_gate(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *x = ox_input(node, IN_X), *in[IN_OPERANDS + 1] = {NULL};
    struct ox_node *mul = x ? ox_made_by(rw, x, "Mul", true) : NULL;
    if (!mul || mul->n_inputs != 2 || !mul->inputs[0] || !mul->inputs[1] ||
        node->n_inputs > IN_OPERANDS || !has_pixels(rw, x, node))
        return false;
    const size_t at = is_gate(rw, mul->inputs[0], x) ? 0 : 1;
    if (!is_gate(rw, mul->inputs[at], x) || !ox_same_shape(rw, mul->inputs[1 - at], x))
        return false;
    memcpy(in, node->inputs, node->n_inputs * sizeof *in);
    in[IN_X] = mul->inputs[1 - at];
    in[IN_OPERANDS] = mul->inputs[at];
    ox_rw_become(rw, node, node->op_type, OX_OWN_DOMAIN, in, IN_OPERANDS + 1);
    rw->failed |= !ox_node_set_int(node, "gated", 1);
    ox_rw_remove(rw, mul);
    return true;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (reads_what_is_there(rw, node) && !take_gate(rw, node))
        take_chain(rw, node);
}

enum ox_status ox_pass_fuse_preactivations(struct ox_rewrite *rw, struct ox_graph *graph,
                                           struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
