/* Multiply-adds, a formula an operator. They follow from numbers of elements wherever they can, so that attributes (which a
 * function may leave to its caller) matter seldom. */
#include <stdlib.h>
#include <string.h>

#include "common/text_order.h"
#include "graph/cost/cost.h"

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

static const struct ox_type *in(const struct ox_cost_query *q, size_t i)
{
    return i < q->node->n_inputs && q->node->inputs[i]
               ? ox_shapes_type(q->shapes, q->node->inputs[i])
               : NULL;
}

static const struct ox_type *out(const struct ox_cost_query *q, size_t i)
{
    return i < q->node->n_outputs && q->node->outputs[i]
               ? ox_shapes_type(q->shapes, q->node->outputs[i])
               : NULL;
}

static bool is_shaped(const struct ox_type *type)
{
    return type && (type->kind == OX_TYPE_TENSOR || type->kind == OX_TYPE_SPARSE) && type->has_rank;
}

bool ox_cost_elements(const struct ox_type *type, uint64_t *n)
{
    uint64_t product = 1;
    bool empty = false;
    if (!is_shaped(type))
        return false;
    for (unsigned i = 0; i < type->rank; i++) {
        int64_t dim;
        if (!ox_expr_is_int(type->dims[i], &dim) || dim < 0)
            return false;
        empty |= dim == 0;
        if (dim && OX_MUL_OVERFLOWS(product, (uint64_t)dim, &product))
            return false;
    }
    *n = empty ? 0 : product;
    return true;
}

/* Dimension `axis`, from the end where negative. */
static bool dim(const struct ox_type *type, int axis, uint64_t *size)
{
    int64_t value;
    if (!is_shaped(type))
        return false;
    int at = axis < 0 ? (int)type->rank + axis : axis;
    if (at < 0 || at >= (int)type->rank || !ox_expr_is_int(type->dims[at], &value) || value < 0)
        return false;
    *size = (uint64_t)value;
    return true;
}

static bool product(uint64_t a, uint64_t b, uint64_t *result)
{
    return !OX_MUL_OVERFLOWS(a, b, result);
}

static int64_t int_attr(const struct ox_cost_query *q, const char *name, int64_t fallback)
{
    const struct ox_attr *attr = ox_node_attr(q->node, name);
    return attr && attr->type == OX_ATTR_INT && !attr->ref ? attr->i : fallback;
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

static bool matmul(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t n, k;
    return ox_cost_elements(out(q, 0), &n) && dim(in(q, 0), -1, &k) && product(n, k, macs);
}

static bool fused_matmul(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t n, k;
    return ox_cost_elements(out(q, 0), &n) &&
           dim(in(q, 0), int_attr(q, "transA", 0) ? -2 : -1, &k) && product(n, k, macs);
}

/* [M,K] or [K,M] by what becomes [M,N]: all elements of A, N times. */
static bool gemm(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t elements, n;
    return ox_cost_elements(in(q, 0), &elements) && dim(out(q, 0), -1, &n) &&
           product(elements, n, macs);
}

/* Each output takes all of a filter, [M, C/group, ...] or [M, ..., C/group]. */
static bool filters(const struct ox_cost_query *q, size_t weights, uint64_t *macs)
{
    uint64_t outputs, elements, m;
    return ox_cost_elements(out(q, 0), &outputs) && ox_cost_elements(in(q, weights), &elements) &&
           dim(in(q, weights), 0, &m) && product(outputs, m ? elements / m : 0, macs);
}

static bool conv(const struct ox_cost_query *q, uint64_t *macs)
{
    return filters(q, 1, macs);
}

static bool qlinear_conv(const struct ox_cost_query *q, uint64_t *macs)
{
    return filters(q, 3, macs);
}

/* Each input goes through all of a filter [C, M/group, ...]. */
static bool conv_transpose(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t inputs, elements, c;
    return ox_cost_elements(in(q, 0), &inputs) && ox_cost_elements(in(q, 1), &elements) &&
           dim(in(q, 1), 0, &c) && product(inputs, c ? elements / c : 0, macs);
}

/* ---- Einsum ------------------------------------------------------------------------------------------------------ */

enum { LETTERS = 52, LABELS = 64, MOST_OPERANDS = 64 };

struct equation {
    uint64_t size[LABELS];
    uint64_t term[MOST_OPERANDS]; /* sets of labels */
    uint64_t output;
    uint64_t once, twice; /* labels of the operands that occur, and that occur again */
};

static int label_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* The labels of one term; what an ellipsis stands for is counted from the right. */
static bool read_operand(struct equation *e, const char **at, const struct ox_type *type,
                         uint64_t *set)
{
    size_t letters = 0;
    for (const char *c = *at; *c && *c != ',' && *c != '-'; c++)
        letters += label_of(*c) >= 0;
    if (!is_shaped(type) || type->rank < letters || type->rank - letters > LABELS - LETTERS)
        return false;
    int axis = 0, hidden = (int)(type->rank - letters);
    for (; **at && **at != ',' && **at != '-'; ++*at) {
        int label = label_of(**at);
        bool dots = strncmp(*at, "...", 3) == 0;
        for (int i = 0; i < (dots ? hidden : label >= 0); i++) {
            int which = dots ? LETTERS + hidden - 1 - i : label;
            uint64_t size, bit = (uint64_t)1 << which;
            if (!dim(type, axis++, &size))
                return false;
            if (size > e->size[which])
                e->size[which] = size;
            if (!(*set & bit))
                e->twice |= e->once & bit;
            e->twice |= *set & bit;
            e->once |= bit;
            *set |= bit;
        }
        *at += dots ? 2 : 0;
    }
    return axis == (int)type->rank;
}

static bool read_equation(const struct ox_cost_query *q, struct equation *e)
{
    const struct ox_attr *attr = ox_node_attr(q->node, "equation");
    const uint64_t ellipsis = ~(((uint64_t)1 << LETTERS) - 1);
    if (!attr || attr->type != OX_ATTR_STRING || attr->ref || !attr->n ||
        q->node->n_inputs > MOST_OPERANDS)
        return false;
    const char *at = attr->s.p;
    for (size_t i = 0; i < q->node->n_inputs; i++) {
        if (!read_operand(e, &at, in(q, i), &e->term[i]))
            return false;
        at += *at == ',';
    }
    if (*at != '-') {
        e->output = (e->once & ~e->twice) | (e->once & ellipsis);
        return true;
    }
    for (; *at; at++) {
        int label = label_of(*at);
        e->output |= label >= 0 ? (uint64_t)1 << label : *at == '.' ? e->once & ellipsis : 0;
    }
    return true;
}

/* Operands are multiplied from left to right; what nothing further needs is summed away. */
static bool einsum(const struct ox_cost_query *q, uint64_t *macs)
{
    struct equation e = {{0}, {0}, 0, 0, 0};
    uint64_t total = 0;
    if (!read_equation(q, &e))
        return false;
    uint64_t held = e.term[0];
    for (size_t i = 1; i < q->node->n_inputs; i++) {
        uint64_t step = 1, later = e.output;
        held |= e.term[i];
        for (int label = 0; label < LABELS; label++)
            if (held >> label & 1 && !product(step, e.size[label], &step))
                return false;
        if (OX_ADD_OVERFLOWS(total, step, &total))
            return false;
        for (size_t k = i + 1; k < q->node->n_inputs; k++)
            later |= e.term[k];
        held &= later;
    }
    *macs = total;
    return true;
}

/* ---- Recurrences ------------------------------------------------------------------------------------------------- */

/* X is [T,B,I] in some order; W and R are [directions, gates * H, I or H] in some order: each step takes them all. */
static bool recurrence(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t x, inputs, w, r;
    if (!ox_cost_elements(in(q, 0), &x) || !dim(in(q, 0), -1, &inputs) ||
        !ox_cost_elements(in(q, 1), &w) || !ox_cost_elements(in(q, 2), &r) ||
        OX_ADD_OVERFLOWS(w, r, &w))
        return false;
    return product(inputs ? x / inputs : 0, w, macs);
}

/* ---- Attention --------------------------------------------------------------------------------------------------- */

/* Each query meets each key, each weight a value: all elements of the queries and of the output, once a key. */
static bool attend(uint64_t queries, uint64_t outputs, uint64_t keys, uint64_t *macs)
{
    return !OX_ADD_OVERFLOWS(queries, outputs, &outputs) && product(outputs, keys, macs);
}

/* Keys that there are, by the cache that comes out (`present`, [B,H,S,D]), or else by what goes in. */
static bool key_count(const struct ox_cost_query *q, size_t key, size_t past, size_t present,
                      int cache_axis, uint64_t *keys)
{
    uint64_t before = 0;
    const struct ox_type *type = in(q, key);
    if (dim(out(q, present), cache_axis, keys))
        return true;
    if (!is_shaped(type) || !dim(type, type->rank == 4 ? 2 : 1, keys))
        return false;
    bool has_past = past < q->node->n_inputs && q->node->inputs[past];
    return !has_past ||
           (dim(in(q, past), cache_axis, &before) && !OX_ADD_OVERFLOWS(*keys, before, keys));
}

static bool attention(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t queries, outputs, keys;
    return ox_cost_elements(in(q, 0), &queries) && ox_cost_elements(out(q, 0), &outputs) &&
           key_count(q, 1, 4, 1, 2, &keys) && attend(queries, outputs, keys, macs);
}

static bool flex_attention(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t queries, outputs, keys;
    return ox_cost_elements(in(q, 0), &queries) && ox_cost_elements(out(q, 0), &outputs) &&
           dim(in(q, 1), 2, &keys) && attend(queries, outputs, keys, macs);
}

/* com.microsoft: query [B,S,H], or all three as [B,S,N,3,D]; key [B,L,H], [B,N,L,D] or, with the values, [B,L,N,2,D]. */
static bool multi_head_attention(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t queries, outputs, keys;
    const struct ox_type *type = in(q, 0);
    if (!ox_cost_elements(type, &queries) || !ox_cost_elements(out(q, 0), &outputs))
        return false;
    bool packed = type->rank == 5;
    if (!key_count(q, packed ? 0 : 1, 6, 1, 2, &keys))
        return false;
    return attend(packed ? queries / 3 : queries, outputs, keys, macs);
}

/* com.microsoft: the queries are as many as the outputs, whether or not all three are packed; the cache is [B,N,S,D]. */
static bool group_query_attention(const struct ox_cost_query *q, uint64_t *macs)
{
    uint64_t outputs, keys;
    return ox_cost_elements(out(q, 0), &outputs) && key_count(q, 1, 3, 1, 2, &keys) &&
           attend(outputs, outputs, keys, macs);
}

/* com.microsoft: the projection is inside, by weights [I, Hq + Hk + Hv] with Hq = Hk; the cache is [2,B,N,S,D]. */
static bool projecting_attention(const struct ox_cost_query *q, size_t past, uint64_t *macs)
{
    uint64_t x, inputs, w, columns, outputs, values, keys, projected, attended;
    if (!ox_cost_elements(in(q, 0), &x) || !dim(in(q, 0), -1, &inputs) ||
        !ox_cost_elements(in(q, 1), &w) || !dim(in(q, 1), 1, &columns) ||
        !ox_cost_elements(out(q, 0), &outputs) || !dim(out(q, 0), -1, &values) ||
        columns < values || !key_count(q, 0, past, 1, 3, &keys))
        return false;
    uint64_t rows = inputs ? x / inputs : 0, queries;
    return product(rows, w, &projected) && product(rows, (columns - values) / 2, &queries) &&
           attend(queries, outputs, keys, &attended) &&
           !OX_ADD_OVERFLOWS(projected, attended, macs);
}

static bool microsoft_attention(const struct ox_cost_query *q, uint64_t *macs)
{
    return projecting_attention(q, 4, macs);
}

static bool qattention(const struct ox_cost_query *q, uint64_t *macs)
{
    return projecting_attention(q, 8, macs);
}

/* ---- Classical models -------------------------------------------------------------------------------------------- */

/* Each row of X meets all numbers of that attribute. */
static bool rows_by(const struct ox_cost_query *q, const char *name, uint64_t *macs)
{
    uint64_t x, features;
    const struct ox_attr *attr = ox_node_attr(q->node, name);
    if (!attr || attr->ref || !ox_cost_elements(in(q, 0), &x) || !dim(in(q, 0), -1, &features))
        return false;
    return product(features ? x / features : 0, attr->n, macs);
}

static bool linear_model(const struct ox_cost_query *q, uint64_t *macs)
{
    return rows_by(q, "coefficients", macs);
}

static bool support_vectors(const struct ox_cost_query *q, uint64_t *macs)
{
    return rows_by(q, ox_node_attr(q->node, "support_vectors") ? "support_vectors" : "coefficients",
                   macs);
}

/* ---- The table, in the order of strcmp() -------------------------------------------------------------------------- */

struct formula {
    const char *domain, *op_type;
    bool (*macs)(const struct ox_cost_query *q,
                 uint64_t *macs); /* NULL: it multiplies, but how much is not known here */
};

#define MS "com.microsoft"

static const struct formula formulas[] = {
    {"", "Attention", attention},
    {"", "CausalConvWithState", conv},
    {"", "Conv", conv},
    {"", "ConvInteger", conv},
    {"", "ConvTranspose", conv_transpose},
    {"", "DeformConv", conv},
    {"", "Einsum", einsum},
    {"", "GRU", recurrence},
    {"", "Gemm", gemm},
    {"", "LSTM", recurrence},
    {"", "LinearAttention", NULL},
    {"", "MatMul", matmul},
    {"", "MatMulInteger", matmul},
    {"", "QLinearConv", qlinear_conv},
    {"", "QLinearMatMul", matmul},
    {"", "RNN", recurrence},
    {"ai.onnx.ml", "LinearClassifier", linear_model},
    {"ai.onnx.ml", "LinearRegressor", linear_model},
    {"ai.onnx.ml", "SVMClassifier", support_vectors},
    {"ai.onnx.ml", "SVMRegressor", support_vectors},
    {"ai.onnx.preview", "FlexAttention", flex_attention},
    {MS, "Attention", microsoft_attention},
    {MS, "AttnLSTM", NULL},
    {MS, "CausalConvWithState", conv},
    {MS, "ConvTransposeWithDynamicPads", conv_transpose},
    {MS, "DecoderAttention", NULL},
    {MS, "DecoderMaskedMultiHeadAttention", multi_head_attention},
    {MS, "DecoderMaskedSelfAttention", microsoft_attention},
    {MS, "DynamicQuantizeLSTM", recurrence},
    {MS, "DynamicQuantizeMatMul", matmul},
    {MS, "DynamicSparseAttention", NULL},
    {MS, "FusedConv", conv},
    {MS, "FusedGemm", gemm},
    {MS, "FusedMatMul", fused_matmul},
    {MS, "FusedMatMulActivation", fused_matmul},
    {MS, "GemmFastGelu", gemm},
    {MS, "GemmFloat8", gemm},
    {MS, "GroupQueryAttention", group_query_attention},
    {MS, "LinearAttention", NULL},
    {MS, "LongformerAttention", NULL},
    {MS, "MatMulBlockQuantizedFp4Weight", gemm},
    {MS, "MatMulBlockQuantizedFp8Weight", gemm},
    {MS, "MatMulBnb4", gemm},
    {MS, "MatMulFpQ4", gemm},
    {MS, "MatMulInteger16", matmul},
    {MS, "MatMulIntegerToFloat", matmul},
    {MS, "MatMulNBits", gemm},
    {MS, "MatMulNBitsMlp", NULL},
    {MS, "MatMulNBitsQkv", NULL},
    {MS, "MoE", NULL},
    {MS, "MultiHeadAttention", multi_head_attention},
    {MS, "NhwcConv", conv},
    {MS, "NhwcFusedConv", conv},
    {MS, "PackedAttention", NULL},
    {MS, "PackedMultiHeadAttention", NULL},
    {MS, "PagedAttention", NULL},
    {MS, "QAttention", qattention},
    {MS, "QGemm", gemm},
    {MS, "QLinearConv", qlinear_conv},
    {MS, "QMoE", NULL},
    {MS, "QOrderedAttention", NULL},
    {MS, "QOrderedLongformerAttention", NULL},
    {MS, "QOrderedMatMul", matmul},
    {MS, "SparseAttention", NULL},
    {MS, "SparseAttentionIndexer", NULL},
    {MS, "SparsePagedAttention", NULL},
    {MS, "SparseToDenseMatMul", fused_matmul},
    {MS, "TransposeMatMul", fused_matmul},
    {MS, "WordConvEmbedding", NULL},
};

static int compare_formula(const void *key, const void *row)
{
    const struct ox_node *node = key;
    const struct formula *formula = row;
    int order = ox_text_order(node->domain, formula->domain);
    return order ? order : ox_text_order(node->op_type, formula->op_type);
}

bool ox_cost_macs(const struct ox_cost_query *q, uint64_t *macs)
{
    const struct formula *formula =
        bsearch(q->node, formulas, OX_COUNT(formulas), sizeof *formulas, compare_formula);
    if (formula)
        return formula->macs && formula->macs(q, macs);
    *macs = 0;
    return ox_schema_find(q->node->domain, q->node->op_type, q->opset) ||
           ox_schema_find_foreign(q->node->domain, q->node->op_type, q->opset);
}
