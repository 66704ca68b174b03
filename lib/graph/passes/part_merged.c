/* What onnxruntime has merged in a model that it saved, taken apart into operators of the standard: the passes behind this one then
 * merge them as they do in other models, which goes further. Operators of com.microsoft, as its documentation of contrib operators has
 * them (ContribOperators.md, 1.31). */
#include "graph/passes/part_merged.h"

#include <string.h>

#include "ops/fused/fused.h"

enum { OPSET = 11 /* of ai.onnx: what the parts are means the same from there on */ };

struct ox_node *ox_part(const struct ox_parts *p, const char *op_type, const char *domain,
                        struct ox_value *const *in, size_t n_in, const struct ox_type *type)
{
    struct ox_value *out = ox_rw_value(p->rw, p->node->outputs[0]->name, type);
    if (!out)
        return NULL;
    /* In a model that is written names differ: the product keeps the node's. */
    const bool is_product = strcmp(op_type, "Conv") == 0 || strcmp(op_type, "Gemm") == 0 ||
                            strcmp(op_type, "MatMul") == 0;
    const char *name = p->rw->to_run || is_product ? p->node->name : out->name;
    return ox_rw_insert(p->rw, p->node, op_type, domain, name, in, n_in, &out, 1);
}

struct ox_value *ox_part_value(const struct ox_parts *p, const char *op_type,
                               struct ox_value *const *in, size_t n_in, const struct ox_type *type)
{
    const struct ox_node *node = ox_part(p, op_type, "", in, n_in, type);
    return node ? node->outputs[0] : NULL;
}

struct ox_value *ox_part_pair(const struct ox_parts *p, const char *op_type, struct ox_value *a,
                              struct ox_value *b)
{
    struct ox_value *in[] = {a, b};
    return a && b ? ox_part_value(p, op_type, in, 2, p->type) : NULL;
}

void ox_part_end(const struct ox_parts *p, struct ox_value *made)
{
    if (!made)
        return;
    struct ox_node *last = made->producer;
    ox_rw_remove(p->rw, p->node);
    ox_rw_set_output(p->rw, last, 0, p->node->outputs[0]);
}

struct ox_node *ox_part_alike(const struct ox_parts *p, const char *op_type, const char *domain,
                              struct ox_value *const *in, size_t n_in, const struct ox_type *type)
{
    struct ox_node *node = ox_part(p, op_type, domain, in, n_in, type);
    if (!node)
        return NULL;
    node->attrs = p->node->attrs;
    node->n_attrs = p->node->n_attrs;
    return node;
}

bool ox_part_is_row(struct ox_rewrite *rw, const struct ox_value *row, const struct ox_value *x)
{
    const struct ox_expr *dim = ox_dim_expr(rw, x, -1);
    return dim && ox_rank_of(rw, row) == 1 && ox_dim_expr(rw, row, 0) == dim;
}

/* ---- Activations --------------------------------------------------------------------------------------------------- */

struct activation {
    const char *name; /* as ops/fused/fused.h has it; "": none */
    float a, b;
};

/* Those that the standard has under that name from OPSET on, with their attributes. */
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

static void on_gelu(const struct ox_parts *p)
{
    on_activation(p, "Gelu", 0);
}

static void on_fast_gelu(const struct ox_parts *p)
{
    on_activation(p, "GeluTanh", 0);
}

static void on_quick_gelu(const struct ox_parts *p)
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

static void on_conv(const struct ox_parts *p)
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

static void on_gemm(const struct ox_parts *p)
{
    struct ox_value *in[] = {p->node->inputs[0], ox_input(p->node, 1), ox_input(p->node, 2)};
    struct activation act;
    if (named_activation(p, &act))
        ox_part_end(p, activated(p, &act, with_attributes(p, "Gemm", in, in[2] ? 3 : 2)));
}

/* The value with its last two axes exchanged. */
static struct ox_value *turned(const struct ox_parts *p, struct ox_value *x, unsigned rank)
{
    int64_t *perm = ox_rw_scratch(p->rw, rank, sizeof *perm);
    const struct ox_expr **dims = ox_rw_scratch(p->rw, rank, sizeof *dims);
    if (!perm || !dims)
        return NULL;
    for (unsigned i = 0; i < rank; i++) {
        perm[i] = i + 2 < rank ? i : 2 * rank - 3 - i;
        dims[i] = ox_dim_expr(p->rw, x, (int)perm[i]);
    }
    struct ox_node *turn =
        ox_part(p, "Transpose", "", &x, 1, ox_rw_tensor_type(p->rw, OX_FLOAT32, rank, dims));
    if (!turn)
        return NULL;
    p->rw->failed |= !ox_node_set_ints(turn, "perm", perm, rank);
    return turn->outputs[0];
}

static void on_matmul(const struct ox_parts *p)
{
    static const char *const trans[] = {"transA", "transB"};
    struct ox_rewrite *rw = p->rw;
    const struct ox_node *node = p->node;
    struct ox_value *in[] = {node->inputs[0], ox_input(node, 1)};
    const int ranks[] = {ox_rank_of(rw, in[0]), in[1] ? ox_rank_of(rw, in[1]) : -1};
    const float alpha = ox_attr_float(node, "alpha", 1);
    struct activation act;
    if (ox_attr_int(node, "transBatchA", 0) || ox_attr_int(node, "transBatchB", 0) ||
        !named_activation(p, &act) || ranks[0] < 1 || ranks[1] < 1)
        return;
    for (size_t i = 0; i < 2; i++)
        if (ox_attr_int(node, trans[i], 0) && ranks[i] > 1)
            in[i] = turned(p, in[i], (unsigned)ranks[i]);
    struct ox_value *y = ox_part_pair(p, "MatMul", in[0], in[1]);
    if (alpha != 1)
        y = ox_part_pair(p, "Mul", y, ox_rw_floats(rw, "alpha", 0, NULL, &alpha));
    ox_part_end(p, activated(p, &act, y));
}

/* ---- The pass ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *op_type;
    void (*apart)(const struct ox_parts *p);
    bool standard; /* in a model that is written, too: its parts are operators of the standard */
} rules[] = {
    {"BiasGelu", on_gelu, false},
    {"DynamicQuantizeMatMul", ox_part_dynamic_product, false},
    {"EmbedLayerNormalization", ox_part_embedding, false},
    {"FastGelu", on_fast_gelu, false},
    {"FusedConv", on_conv, true},
    {"FusedGemm", on_gemm, true},
    {"FusedMatMul", on_matmul, true},
    {"FusedMatMulActivation", on_matmul, true},
    {"Gelu", on_gelu, false},
    {"MatMulIntegerToFloat", ox_part_integer_product, false},
    {"QAttention", ox_part_integer_attention, false},
    {"QEmbedLayerNormalization", ox_part_embedding_codes, false},
    {"QLinearAdd", ox_part_integer_sum, false},
    {"QLinearAveragePool", ox_part_integer_average, false},
    {"QLinearConcat", ox_part_integer_concat, false},
    {"QLinearLeakyRelu", ox_part_integer_leaky_relu, false},
    {"QLinearMul", ox_part_integer_factors, false},
    {"QLinearSigmoid", ox_part_integer_sigmoid, false},
    {"QuickGelu", on_quick_gelu, false},
    {"SkipLayerNormalization", ox_part_skip_norm, false},
    {"SkipSimplifiedLayerNormalization", ox_part_skip_rms, false},
    {"TransposeMatMul", on_matmul, true},
};

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (strcmp(node->domain, "com.microsoft") != 0 || !ox_input(node, 0) || !node->outputs[0])
        return;
    const enum ox_dtype dtype = ox_dtype_of_value(rw, node->outputs[0]);
    if (dtype != OX_FLOAT32 && dtype != OX_UINT8 && dtype != OX_INT8)
        return;
    const struct ox_parts parts = {rw, node, ox_rw_type(rw, node->outputs[0])};
    for (size_t i = 0; i < OX_COUNT(rules); i++)
        if (strcmp(rules[i].op_type, node->op_type) == 0) {
            if (rw->to_run || rules[i].standard)
                rules[i].apart(&parts);
            return;
        }
}

enum ox_status ox_pass_part_merged(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_graph_opset(graph, "") < OPSET ? OX_OK : ox_rw_each(rw, graph, NULL, look_at, err);
}

/* Convolutions and products alone, as operators of the standard: quantizing looks for these. */
enum ox_status ox_pass_part_products(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    return rw->to_run ? OX_OK : ox_pass_part_merged(rw, graph, err);
}
