/* What only moves elements works on codes as well as on floats: DequantizeLinear goes behind it, QuantizeLinear before it, and where
 * the two meet with the same parameters both go. */
#include <string.h>

#include "graph/passes/codes.h"

struct move {
    const char *op_type;
    int64_t since;   /* takes any type from this opset on */
    bool keeps_size; /* as many elements as before, so that codes may be made before it */
};

static const struct move moves[] = {
    {"Concat", 4, false},   {"DepthToSpace", 1, false}, {"Expand", 8, false},
    {"Flatten", 9, true},   {"Gather", 1, false},       {"MaxPool", 12, false},
    {"Pad", 11, false},     {"Reshape", 5, true},       {"Resize", 10, false},
    {"Slice", 1, false},    {"SpaceToDepth", 1, true},  {"Split", 2, false},
    {"Squeeze", 1, true},   {"Tile", 6, false},         {"Transpose", 1, true},
    {"Unsqueeze", 1, true},
};

static const struct move *find(const struct ox_node *node)
{
    for (size_t i = 0; i < OX_COUNT(moves); i++) {
        if (!ox_is_op(node, moves[i].op_type))
            continue;
        const bool nearest = strcmp(node->op_type, "Resize") != 0 ||
                             strcmp(ox_attr_string(node, "mode", "nearest"), "nearest") == 0;
        const bool window = strcmp(node->op_type, "MaxPool") != 0 || node->n_outputs == 1;
        return ox_node_opset(node) >= moves[i].since && nearest && window ? &moves[i] : NULL;
    }
    return NULL;
}

/* How many of the first inputs are data. */
static size_t n_data(const struct ox_node *node)
{
    return ox_is_op(node, "Concat") ? node->n_inputs : 1;
}

/* All data are codes of the same parameters, of which the first's go on. */
static bool moves_codes(struct ox_rewrite *rw, const struct ox_node *node, struct ox_codes *first)
{
    struct ox_codes other;
    if (!node->n_inputs || !ox_codes_of_one(rw, ox_input(node, 0), first))
        return false;
    for (size_t i = 1; i < n_data(node); i++)
        if (!ox_codes_of_one(rw, ox_input(node, i), &other) || !ox_codes_are_alike(first, &other))
            return false;
    return true;
}

static void insert_dequantize(struct ox_rewrite *rw, struct ox_node *before,
                              const struct ox_codes *codes, struct ox_value *from,
                              struct ox_value *to)
{
    struct ox_value *in[3] = {from, codes->scale, codes->zero};
    ox_rw_insert(rw, before, "DequantizeLinear", "", to->name, in, codes->zero ? 3 : 2, &to, 1);
}

/* Whether what a Pad puts around data is none of these, or zeros. */
static bool pads_zeros(struct ox_rewrite *rw, const struct ox_node *node, bool *zeros)
{
    struct ox_value *value = ox_input(node, 2);
    struct ox_codes codes;
    double number = 0;
    *zeros = strcmp(ox_attr_string(node, "mode", "constant"), "constant") == 0;
    if (!*zeros || !value || (ox_const_scalar(rw, value, &number) && number == 0))
        return true;
    return ox_codes_of_one(rw, value, &codes) && ox_const_scalar(rw, codes.codes, &number) &&
           number == codes.zero_is;
}

/* ... which codes have for zero. */
static void pad_by_codes(struct ox_rewrite *rw, struct ox_node *node, const struct ox_codes *codes)
{
    struct ox_value *in[4] = {ox_input(node, 0), ox_input(node, 1), codes->zero, ox_input(node, 3)};
    ox_rw_become(rw, node, "Pad", "", in, in[3] ? 4 : in[2] ? 3 : 2);
}

static bool dequantize_later(struct ox_rewrite *rw, struct ox_node *node, struct ox_node *next)
{
    struct ox_codes first, other;
    bool zeros = false;
    if (!find(node) || !moves_codes(rw, node, &first) || ox_node_opset(node) < 10)
        return false;
    if (ox_is_op(node, "Pad") && !pads_zeros(rw, node, &zeros))
        return false;
    for (size_t i = 0, n = n_data(node); i < n; i++) {
        ox_codes_of_one(rw, node->inputs[i], &other);
        ox_rw_set_input(rw, node, i, other.codes);
    }
    if (zeros)
        pad_by_codes(rw, node, &first);
    for (size_t k = 0; k < node->n_outputs; k++) {
        struct ox_value *out = node->outputs[k];
        if (!out)
            continue;
        struct ox_value *codes = ox_rw_value(rw, out->name, ox_codes_type(rw, out, first.dtype));
        if (!codes)
            return true;
        ox_rw_set_output(rw, node, k, codes);
        insert_dequantize(rw, next, &first, codes, out);
    }
    return true;
}

/* Concat of codes with different parameters: each is brought to those of the result, a table each. */
static bool concat_codes(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_codes to, from;
    struct ox_node *taken =
        ox_is_op(node, "Concat") ? ox_codes_taken(rw, node->outputs[0], &to) : NULL;
    if (!taken || ox_node_opset(node) < 10)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (!ox_codes_of_one(rw, ox_input(node, i), &from))
            return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        struct ox_value *x = node->inputs[i];
        struct ox_value *codes = ox_rw_value(rw, x->name, ox_codes_type(rw, x, to.dtype));
        struct ox_value *in[3] = {x, to.scale, to.zero};
        if (!codes)
            return true;
        ox_rw_insert(rw, node, "QuantizeLinear", "", x->name, in, to.zero ? 3 : 2, &codes, 1);
        ox_rw_set_input(rw, node, i, codes);
    }
    struct ox_value *out = taken->outputs[0];
    ox_rw_remove(rw, taken);
    ox_rw_set_output(rw, node, 0, out);
    return true;
}

static bool quantize_earlier(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_codes to, from;
    const struct move *move = find(node);
    struct ox_value *x = ox_input(node, 0);
    struct ox_node *taken = move && move->keeps_size && node->n_outputs == 1
                                ? ox_codes_taken(rw, node->outputs[0], &to)
                                : NULL;
    if (!taken || !x || ox_rw_stored(rw, x) || ox_codes_of(rw, x, &from))
        return false;
    struct ox_value *codes = ox_rw_value(rw, x->name, ox_codes_type(rw, x, to.dtype));
    struct ox_value *in[3] = {x, to.scale, to.zero}, *out = taken->outputs[0];
    if (!codes)
        return true;
    ox_rw_insert(rw, node, taken->op_type, taken->domain, taken->name, in, to.zero ? 3 : 2, &codes,
                 1);
    ox_rw_remove(rw, taken);
    ox_rw_set_input(rw, node, 0, codes);
    ox_rw_set_output(rw, node, 0, out);
    return true;
}

static bool meet(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_codes from, to;
    return ox_codes_made(rw, node, &to) && ox_codes_of_one(rw, node->inputs[0], &from) &&
           ox_codes_are_alike(&from, &to) && ox_rw_bypass(rw, node, from.codes);
}

/* A Relu of what codes stand for, as training with simulated codes leaves it, goes before the QuantizeLinear, whose codes are those of
 * no less than 0 then: what follows is made of codes again. Averages have no Relu at their end. */
static bool clamp_earlier(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_codes codes;
    struct ox_value *x = ox_input(node, 0);
    if (!ox_is_op(node, "Relu") || !ox_codes_of_one(rw, x, &codes) ||
        ox_rw_only_user(rw, x) != node)
        return false;
    struct ox_node *made = codes.codes->producer;
    if (!made || made->graph != rw->graph || ox_rw_only_user(rw, codes.codes) != x->producer ||
        !ox_codes_made(rw, made, &codes))
        return false;
    struct ox_value *in = made->inputs[0];
    if (ox_is_op(in->producer, "AveragePool") || ox_is_op(in->producer, "GlobalAveragePool"))
        return false;
    struct ox_value *out = ox_rw_value(rw, node->outputs[0]->name, ox_rw_type(rw, in));
    if (!out || !ox_rw_bypass(rw, node, x))
        return true;
    ox_rw_insert(rw, made, "Relu", "", node->name, &in, 1, &out, 1);
    ox_rw_set_input(rw, made, 0, out);
    return true;
}

/* Sizes are those of the codes. */
static bool ask_codes(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_codes codes;
    if (!ox_is_op(node, "Shape") || !ox_codes_of(rw, ox_input(node, 0), &codes))
        return false;
    ox_rw_set_input(rw, node, 0, codes.codes);
    return true;
}

enum ox_status ox_pass_codes_moves(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    for (size_t i = 0, n = graph->n_nodes; i < n && !rw->failed; i++) {
        struct ox_node *node = graph->nodes[i];
        OX_TRY(ox_env_poll(rw->env, err));
        if (ox_rw_gone(rw, node) || meet(rw, node) || ask_codes(rw, node) ||
            clamp_earlier(rw, node))
            continue;
        if (!dequantize_later(rw, node, i + 1 < n ? graph->nodes[i + 1] : NULL) &&
            !concat_codes(rw, node))
            quantize_earlier(rw, node);
    }
    return OX_OK;
}
