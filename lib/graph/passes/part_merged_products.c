/* Convolutions and products with what follows them, and activations by themselves: FusedConv, FusedGemm, FusedMatMul, BiasGelu ... */
#include "graph/passes/part_merged.h"

#include <string.h>

#include "ops/fused/fused.h"

/* ---- Activations --------------------------------------------------------------------------------------------------- */

struct activation {
    const char *name; /* as ops/fused/fused.h has it; "": none */
    float a, b;
};

/* Those that the standard has under that name wherever the pass works (part_merged.c), with their attributes. */
static const struct {
    const char *name, *alpha, *beta;
} standard[] = {{"Clip", NULL, NULL},         {"HardSigmoid", "alpha", "beta"},
                {"LeakyRelu", "alpha", NULL}, {"Relu", NULL, NULL},
                {"Sigmoid", NULL, NULL},      {"Softplus", NULL, NULL},
                {"Tanh", NULL, NULL}};

static size_t standard_of(const char *name)
{
    size_t i = 0;
    while (i < OX_COUNT(standard) && strcmp(standard[i].name, name) != 0)
        i++;
    return i;
}

static bool is_known(const struct ox_parts *p, const char *name)
{
    return !*name || (p->rw->to_run ? ox_fused_has(name) : standard_of(name) < OX_COUNT(standard));
}

static struct ox_value *activated_by_standard(const struct ox_parts *p,
                                              const struct activation *act, struct ox_value *x)
{
    const size_t i = standard_of(act->name);
    const bool clips = strcmp(act->name, "Clip") == 0;
    struct ox_value *in[] = {x, clips ? ox_rw_floats(p->rw, "min", 0, NULL, &act->a) : NULL,
                             clips ? ox_rw_floats(p->rw, "max", 0, NULL, &act->b) : NULL};
    struct ox_node *node =
        clips && (!in[1] || !in[2]) ? NULL : ox_part(p, act->name, "", in, clips ? 3 : 1, p->type);
    if (!node)
        return NULL;
    p->rw->failed |= (standard[i].alpha && !ox_node_set_float(node, standard[i].alpha, act->a)) ||
                     (standard[i].beta && !ox_node_set_float(node, standard[i].beta, act->b));
    return node->outputs[0];
}

static struct ox_value *activated(const struct ox_parts *p, const struct activation *act,
                                  struct ox_value *x)
{
    if (!x || !*act->name)
        return x;
    if (!p->rw->to_run)
        return activated_by_standard(p, act, x);
    struct ox_node *node = ox_part(p, "Activation", OX_OWN_DOMAIN, &x, 1, p->type);
    if (!node)
        return NULL;
    p->rw->failed |= !ox_node_set_string(node, "activation", act->name) ||
                     !ox_node_set_float(node, "alpha", act->a) ||
                     !ox_node_set_float(node, "beta", act->b);
    return node->outputs[0];
}

static void on_activation(const struct ox_parts *p, const char *name, float alpha)
{
    struct ox_value *x = p->node->inputs[0], *bias = ox_input(p->node, 1);
    const struct activation act = {.name = name, .a = alpha};
    if (!bias || ox_part_is_row(p->rw, bias, x))
        ox_part_end(p, activated(p, &act, bias ? ox_part_pair(p, "Add", x, bias) : x));
}

void ox_part_gelu(const struct ox_parts *p)
{
    on_activation(p, "Gelu", 0);
}

void ox_part_fast_gelu(const struct ox_parts *p)
{
    on_activation(p, "GeluTanh", 0);
}

void ox_part_quick_gelu(const struct ox_parts *p)
{
    on_activation(p, "Swish", ox_attr_float(p->node, "alpha", 1.702f));
}

/* By activation_alpha and activation_beta, with the defaults that onnxruntime has for each. false: it is none that is known here. */
static bool named_activation(const struct ox_parts *p, struct activation *act)
{
    const struct ox_node *node = p->node;
    act->name = ox_attr_string(node, "activation", "");
    const bool leaky = strcmp(act->name, "LeakyRelu") == 0,
               hard = strcmp(act->name, "HardSigmoid") == 0;
    act->a = ox_attr_float(node, "activation_alpha", leaky ? 0.01f : hard ? 0.2f : 0);
    act->b = ox_attr_float(node, "activation_beta", hard ? 0.5f : 0);
    return is_known(p, act->name);
}

/* By activation_params. */
static bool listed_activation(const struct ox_parts *p, struct activation *act)
{
    const struct ox_node *node = p->node;
    const struct ox_attr *list = ox_node_attr(node, "activation_params");
    const size_t n = list && list->type == OX_ATTR_FLOATS ? list->n : 0;
    act->name = ox_attr_string(node, "activation", "");
    act->a = n > 0 ? list->floats[0] : 0;
    act->b = n > 1 ? list->floats[1] : 0;
    const bool two = strcmp(act->name, "Clip") == 0 || strcmp(act->name, "HardSigmoid") == 0;
    const size_t needs = two ? 2 : strcmp(act->name, "LeakyRelu") == 0;
    return is_known(p, act->name) && n >= needs;
}

/* ---- Products and convolutions ------------------------------------------------------------------------------------- */

/* An operator that has the node's attributes but for the activation's. */
static struct ox_value *with_attributes(const struct ox_parts *p, const char *op_type,
                                        struct ox_value *const *in, size_t n_in)
{
    static const char *const others[] = {"activation", "activation_params", "activation_alpha",
                                         "activation_beta", "activation_gamma"};
    struct ox_node *node = ox_part_alike(p, op_type, "", in, n_in, p->type);
    for (size_t i = 0; node && i < OX_COUNT(others); i++)
        ox_node_drop_attr(node, others[i]);
    return node ? node->outputs[0] : NULL;
}

void ox_part_conv(const struct ox_parts *p)
{
    const struct ox_node *node = p->node;
    struct ox_value *in[] = {node->inputs[0], ox_input(node, 1), ox_input(node, 2)},
                    *z = ox_input(node, 3);
    struct activation act;
    if (!listed_activation(p, &act) || (z && !ox_same_shape(p->rw, z, node->outputs[0])))
        return;
    struct ox_value *y = with_attributes(p, "Conv", in, in[2] ? 3 : 2);
    ox_part_end(p, activated(p, &act, z ? ox_part_pair(p, "Add", y, z) : y));
}

/* Pads that are known are an attribute. */
void ox_part_conv_transpose(const struct ox_parts *p)
{
    enum { X, WEIGHTS, PADS, BIAS };
    struct ox_value *pads = ox_input(p->node, PADS), *bias = ox_input(p->node, BIAS);
    struct ox_value *in[] = {p->node->inputs[X], ox_input(p->node, WEIGHTS), bias};
    const int rank = ox_rank_of(p->rw, in[X]);
    size_t n = 0;
    const int64_t *values = pads && in[WEIGHTS] ? ox_const_ints(p->rw, pads, &n) : NULL;
    if (!values || rank < 3 || n != 2 * ((size_t)rank - 2))
        return;
    struct ox_node *node = ox_part_alike(p, "ConvTranspose", "", in, bias ? 3 : 2, p->type);
    if (!node)
        return;
    p->rw->failed |= !ox_node_set_ints(node, "pads", values, n);
    ox_part_end(p, node->outputs[0]);
}

void ox_part_gemm(const struct ox_parts *p)
{
    struct ox_value *in[] = {p->node->inputs[0], ox_input(p->node, 1), ox_input(p->node, 2)};
    struct activation act;
    if (named_activation(p, &act))
        ox_part_end(p, activated(p, &act, with_attributes(p, "Gemm", in, in[2] ? 3 : 2)));
}

/* A factor as its matrices: `batch` makes its first axis that of the rows, which `trans` then makes the columns. */
static struct ox_value *turned(const struct ox_parts *p, struct ox_value *x, unsigned rank,
                               bool batch, bool trans)
{
    int64_t *perm = ox_rw_scratch(p->rw, rank, sizeof *perm);
    const struct ox_expr **dims = ox_rw_scratch(p->rw, rank, sizeof *dims);
    if (!perm || !dims)
        return NULL;
    for (unsigned i = 0; i + 2 < rank; i++)
        perm[i] = batch ? i + 1 : i;
    perm[rank - 2 + trans] = batch ? 0 : rank - 2;
    perm[rank - 1 - trans] = rank - 1;
    for (unsigned i = 0; i < rank; i++)
        dims[i] = ox_dim_expr(p->rw, x, (int)perm[i]);
    struct ox_node *turn =
        ox_part(p, "Transpose", "", &x, 1, ox_rw_tensor_type(p->rw, OX_FLOAT32, rank, dims));
    if (!turn)
        return NULL;
    p->rw->failed |= !ox_node_set_ints(turn, "perm", perm, rank);
    return turn->outputs[0];
}

void ox_part_matmul(const struct ox_parts *p)
{
    static const char *const trans[] = {"transA", "transB"};
    static const char *const batch[] = {"transBatchA", "transBatchB"};
    struct ox_rewrite *rw = p->rw;
    const struct ox_node *node = p->node;
    struct ox_value *in[] = {node->inputs[0], ox_input(node, 1)};
    const int ranks[] = {ox_rank_of(rw, in[0]), in[1] ? ox_rank_of(rw, in[1]) : -1};
    const float alpha = ox_attr_float(node, "alpha", 1);
    struct activation act;
    if (!named_activation(p, &act) || ranks[0] < 1 || ranks[1] < 1)
        return;
    for (size_t i = 0; i < 2; i++) {
        const bool lanes = ox_attr_int(node, trans[i], 0) != 0;
        const bool moved = ox_attr_int(node, batch[i], 0) != 0;
        if (moved && ranks[i] == 2)
            return; /* has no batch: the kernel tells it */
        if ((lanes || moved) && ranks[i] > 1)
            in[i] = turned(p, in[i], (unsigned)ranks[i], moved, lanes);
    }
    struct ox_value *y = ox_part_pair(p, "MatMul", in[0], in[1]);
    if (alpha != 1)
        y = ox_part_pair(p, "Mul", y, ox_rw_floats(rw, "alpha", 0, NULL, &alpha));
    ox_part_end(p, activated(p, &act, y));
}
