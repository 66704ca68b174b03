/* Constant folding: nodes over constants are run by their reference kernels; what inference can tell of shape arithmetic needs no
 * run at all. Constant nodes become initializers. */
#include <string.h>

#include "common/forget.h"
#include "graph/match.h"
#include "graph/passes/codes.h"
#include "ops/evaluate.h"

/* Weights stay in their quantized form for the kernels that take it; what makes constants large is not worth its memory. */
static bool is_left_alone(const struct ox_node *node)
{
    static const char *const names[] = {"DequantizeLinear", "ConstantOfShape", "Expand", "Tile",
                                        "EyeLike",          "Range",           "Pad"};
    for (size_t i = 0; i < OX_COUNT(names); i++)
        if (strcmp(node->op_type, names[i]) == 0)
            return true;
    return false;
}

enum { SMALL_BYTES = 64 << 10 };

/* The float8 weights that no kernel takes as they are. */
static bool widens_weights(struct ox_rewrite *rw, const struct ox_node *node)
{
    const struct ox_stored *stored =
        ox_is_op(node, "DequantizeLinear") ? ox_rw_stored(rw, ox_input(node, 0)) : NULL;
    return stored && (stored->dtype == OX_FLOAT8E4M3FN || stored->dtype == OX_FLOAT8E4M3FNUZ ||
                      stored->dtype == OX_FLOAT8E5M2 || stored->dtype == OX_FLOAT8E5M2FNUZ);
}

/* Weights of 8 bits that are made floats by Cast, which each run would do anew. */
static bool casts_weights(struct ox_rewrite *rw, const struct ox_node *node)
{
    const struct ox_stored *stored =
        ox_is_op(node, "Cast") ? ox_rw_stored(rw, ox_input(node, 0)) : NULL;
    return stored && (stored->dtype == OX_INT8 || stored->dtype == OX_UINT8) &&
           ox_attr_int(node, "to", 0) == OX_FLOAT32;
}

/* Weights that are stored turned around, and quantized behind that: QuantizeLinear makes a quarter of them, and they go. */
static bool turns_weights(struct ox_rewrite *rw, const struct ox_node *node)
{
    const struct ox_node *next =
        ox_is_op(node, "Transpose") ? ox_rw_only_user(rw, node->outputs[0]) : NULL;
    return next && ox_is_op(next, "QuantizeLinear") && next->inputs[0] == node->outputs[0] &&
           ox_rw_stored(rw, ox_input(next, 1)) &&
           (!ox_input(next, 2) || ox_rw_stored(rw, next->inputs[2]));
}

/* Bytes that the outputs will take, where inference knows; false: it does not. */
static bool output_bytes(struct ox_rewrite *rw, const struct ox_node *node, uint64_t *bytes)
{
    *bytes = 0;
    for (size_t o = 0; o < node->n_outputs; o++) {
        if (!node->outputs[o])
            continue;
        const struct ox_type *type = ox_rw_type(rw, node->outputs[o]);
        if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank)
            return false;
        uint64_t n = ox_dtype_size(type->elem);
        for (unsigned d = 0; d < type->rank; d++) {
            int64_t dim;
            if (!ox_expr_is_int(type->dims[d], &dim) || dim < 0 ||
                OX_MUL_OVERFLOWS(n, (uint64_t)dim, &n))
                return false;
        }
        if (OX_ADD_OVERFLOWS(*bytes, n, bytes))
            return false;
    }
    return true;
}

static bool is_constant_node(const struct ox_node *node)
{
    if (!ox_is_op(node, "Constant") || node->n_inputs || node->n_outputs != 1)
        return false;
    for (size_t a = 0; a < node->n_attrs; a++)
        if (node->attrs[a].ref || node->attrs[a].type == OX_ATTR_SPARSE_TENSOR ||
            node->attrs[a].type == OX_ATTR_STRING || node->attrs[a].type == OX_ATTR_STRINGS)
            return false;
    return true;
}

static bool all_constant(struct ox_rewrite *rw, const struct ox_node *node)
{
    if (node->n_inputs > OX_EVALUATE_MOST || node->n_outputs > OX_EVALUATE_MOST)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] && !ox_rw_stored(rw, node->inputs[i]))
            return false;
    return node->n_inputs > 0 || is_constant_node(node);
}

/* What folding a node does to the model's constants, in bytes; small ones are not counted. */
struct balance {
    uint64_t given; /* of its inputs */
    uint64_t freed; /* of those that nothing else needs: they go */
    uint64_t made;
};

static bool comes_again(const struct ox_node *node, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (node->inputs[k] == node->inputs[i])
            return true;
    return false;
}

static bool stored_bytes(const struct ox_stored *stored, uint64_t *bytes)
{
    size_t n;
    return ox_dims_count(stored->rank, stored->dims, &n) &&
           !OX_MUL_OVERFLOWS((uint64_t)n, ox_dtype_size(stored->dtype), bytes);
}

/* Nothing but this node, however often, and then nothing at all. */
static bool is_for_it_alone(const struct ox_rewrite *rw, const struct ox_value *value,
                            const struct ox_node *node)
{
    if (value->outer || value->is_input || ox_rw_is_pinned(rw, value))
        return false;
    for (const struct ox_use *use = ox_rw_uses(rw, value); use; use = use->next)
        if (use->node != node)
            return false;
    return true;
}

/* false: their sizes are beyond counting. */
static bool add_inputs(struct ox_rewrite *rw, const struct ox_node *node, struct balance *balance)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct ox_value *value = node->inputs[i];
        const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
        uint64_t bytes;
        if (!stored || comes_again(node, i))
            continue;
        if (!stored_bytes(stored, &bytes) ||
            OX_ADD_OVERFLOWS(balance->given, bytes, &balance->given))
            return false;
        if (bytes > SMALL_BYTES && is_for_it_alone(rw, value, node))
            balance->freed += bytes;
    }
    return true;
}

/* Large values on the way from one constant to another go as soon as they were used. */
static void drop_used(struct ox_rewrite *rw, const struct ox_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        struct ox_value *value = node->inputs[i];
        const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
        uint64_t bytes;
        if (stored && stored->place == OX_STORED_TENSOR && stored_bytes(stored, &bytes) &&
            bytes > SMALL_BYTES && is_for_it_alone(rw, value, node)) {
            ox_rw_drop_const(rw, value);
            rw->fold_room += bytes;
        }
    }
}

/* What a mapped file's pages held is in the result now. */
static void forget_inputs(const struct ox_node *node, const struct ox_tensor *const *in)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        if (in[i] && in[i]->dtype != OX_STRING)
            ox_mapping_forget(in[i]->data, in[i]->n * ox_dtype_size(in[i]->dtype));
}

/* What a walk from node to node may still look at. */
enum { WALK_MOST = 48 };

static bool may_fold(struct ox_rewrite *rw, const struct ox_node *node)
{
    if (strcmp(node->op_type, "DequantizeLinear") == 0 && !widens_weights(rw, node))
        return false;
    const struct ox_op *op = ox_rw_op(rw, node);
    return op && !(op->flags & OX_OP_RANDOM);
}

/* Constant, or made of constants alone. */
static bool comes_of_constants(struct ox_rewrite *rw, struct ox_value *value, unsigned *left)
{
    if (ox_rw_stored(rw, value))
        return true;
    const struct ox_node *node = value->outer ? NULL : value->producer;
    if (!node || !*left || !node->n_inputs || !may_fold(rw, node))
        return false;
    --*left;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] && !comes_of_constants(rw, node->inputs[i], left))
            return false;
    return true;
}

static bool moves_alone(const struct ox_node *node)
{
    return ox_is_op(node, "Unsqueeze") || ox_is_op(node, "Squeeze") || ox_is_op(node, "Reshape") ||
           ox_is_op(node, "Transpose") || ox_is_op(node, "Identity");
}

/* Whether nodes that compute something else of it, of constants too, are all that needs the value. */
static bool is_on_the_way(struct ox_rewrite *rw, struct ox_value *value, unsigned *left)
{
    const struct ox_use *use = value ? ox_rw_uses(rw, value) : NULL;
    if (!use || ox_rw_is_pinned(rw, value))
        return false;
    for (; use; use = use->next) {
        const struct ox_node *user = use->node;
        if (!*left || user->n_outputs != 1 || is_left_alone(user) || !may_fold(rw, user))
            return false;
        --*left;
        for (size_t i = 0; i < user->n_inputs; i++)
            if (user->inputs[i] && user->inputs[i] != value &&
                !comes_of_constants(rw, user->inputs[i], left))
                return false;
        if (moves_alone(user) && !is_on_the_way(rw, user->outputs[0], left))
            return false;
    }
    return true;
}

static bool is_worth_its_memory(struct ox_rewrite *rw, const struct ox_node *node)
{
    unsigned left = WALK_MOST;
    return !is_left_alone(node) ||
           (node->n_outputs == 1 && is_on_the_way(rw, node->outputs[0], &left));
}

/* Whether the size of what would be made is known and worth it. */
static bool is_worth(struct ox_rewrite *rw, const struct ox_node *node, bool widens,
                     struct balance *balance)
{
    *balance = (struct balance){0};
    if (node->n_inputs == 0)
        return true;
    uint64_t left;
    if (!output_bytes(rw, node, &balance->made) || !add_inputs(rw, node, balance) ||
        OX_ADD_OVERFLOWS(rw->fold_left, balance->freed, &left))
        return false;
    if ((widens || casts_weights(rw, node)) && balance->made <= rw->wide_room) {
        rw->wide_room -= balance->made;
        balance->made = balance->freed = 0;
        return true;
    }
    if (widens)
        return false;
    if (turns_weights(rw, node) && balance->made <= rw->wide_room) {
        rw->fold_lent += balance->made;
        balance->made = balance->freed = 0;
        return true;
    }
    if (balance->made <= SMALL_BYTES) {
        balance->made = 0;
        return balance->given <= left;
    }
    return balance->made <= left && balance->made <= rw->fold_room && is_worth_its_memory(rw, node);
}

/* What was lent to turned weights goes with them. */
static void settle(struct ox_rewrite *rw, const struct ox_node *node, const struct balance *balance)
{
    const bool back = ox_is_op(node, "QuantizeLinear") && balance->freed <= rw->fold_lent;
    const uint64_t left = rw->fold_left + (back ? 0 : balance->freed);
    rw->fold_lent -= back ? balance->freed : 0;
    rw->fold_left = left > balance->made ? left - balance->made : 0;
    rw->fold_room -= balance->made + (back ? balance->freed : 0);
}

static void run_node(struct ox_rewrite *rw, struct ox_node *node, bool widens)
{
    int64_t opset = ox_node_opset(node);
    const struct ox_op *op = ox_rw_op(rw, node);
    const struct ox_schema *schema = ox_schema_find(node->domain, node->op_type, opset);
    const struct ox_tensor *in[OX_EVALUATE_MOST] = {NULL};
    struct ox_tensor *out[OX_EVALUATE_MOST] = {NULL};
    struct balance balance;
    if (!is_worth(rw, node, widens, &balance))
        return;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!node->inputs[i])
            continue;
        in[i] = ox_rw_const(rw, node->inputs[i]);
        if (!in[i])
            return;
    }
    if (!ox_can_evaluate(node, op, schema, in))
        return;
    struct ox_error err;
    /* What fails here fails when it runs, and is reported then. */
    enum ox_status status =
        ox_evaluate(node, op, schema, opset, NULL, in, &rw->scratch, rw->env, out, &err);
    bool whole = status == OX_OK;
    for (size_t i = 0; i < node->n_outputs; i++)
        whole &= !node->outputs[i] || (out[i] && out[i]->dtype != OX_STRING);
    for (size_t i = 0, n = node->n_outputs; i < n; i++) {
        if (whole && node->outputs[i])
            ox_rw_fold(rw, node, i, out[i]);
        ox_tensor_release(out[i]);
    }
    if (whole) {
        forget_inputs(node, in);
        drop_used(rw, node);
        settle(rw, node, &balance);
    }
}

/* Integers that inference knows without running anything: Shape, and what is computed from sizes. */
static void fold_known(struct ox_rewrite *rw, struct ox_node *node)
{
    for (size_t i = 0, n = node->n_outputs; i < n; i++) {
        struct ox_value *value = node->outputs[i];
        if (!value || ox_rw_n_uses(rw, value) + ox_rw_is_pinned(rw, value) == 0)
            continue;
        const struct ox_tensor *tensor = ox_rw_known(rw, value);
        if (tensor && tensor->dtype != OX_STRING)
            ox_rw_fold(rw, node, i, tensor);
    }
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    /* Weights that layers share: exporters give them a name a layer. */
    if (ox_is_op(node, "Identity") && all_constant(rw, node) &&
        ox_rw_bypass(rw, node, node->inputs[0]))
        return;
    if (all_constant(rw, node)) {
        if (may_fold(rw, node))
            run_node(rw, node, widens_weights(rw, node));
    } else if (node->n_outputs == 1 && may_fold(rw, node)) {
        fold_known(rw, node);
    }
}

enum ox_status ox_pass_fold(struct ox_rewrite *rw, struct ox_graph *graph, struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}

/* Weights behind DequantizeLinear that no kernel took as they are. In a single run they are widened once anyway. */
static void widen(struct ox_rewrite *rw, struct ox_node *node)
{
    if (ox_is_dequantize(node) && !rw->once && all_constant(rw, node))
        run_node(rw, node, true);
}

enum ox_status ox_pass_widen(struct ox_rewrite *rw, struct ox_graph *graph, struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, widen, err);
}
