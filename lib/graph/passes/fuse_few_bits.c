/* Products by constant matrices of few bits in blocks: DequantizeLinear goes, and the product widens the codes where it meets them. They
 * become MatMulNBits of our own domain, which is com.microsoft's (ops/contrib/block_quantized.c). */
#include "graph/match.h"
#include "graph/pack_blocks.h"

/* A constant matrix; NULL. */
static const struct ox_stored *matrix(const struct ox_rewrite *rw, const struct ox_value *value)
{
    const struct ox_stored *stored = value ? ox_rw_stored(rw, value) : NULL;
    return stored && stored->rank == 2 ? stored : NULL;
}

static bool is_code(enum ox_dtype dtype)
{
    return dtype == OX_INT4 || dtype == OX_UINT4 || dtype == OX_INT8 || dtype == OX_UINT8;
}

/* The DequantizeLinear whose matrix, or its transpose, the value is; NULL. */
static struct ox_node *widening(const struct ox_rewrite *rw, const struct ox_value *value,
                                bool *turned)
{
    const struct ox_node *transpose = ox_made_by(rw, value, "Transpose", true);
    *turned = false;
    if (transpose && !ox_orders_matrix(transpose, turned))
        return NULL;
    return ox_made_by(rw, transpose ? ox_input(transpose, 0) : value, "DequantizeLinear", true);
}

/* Blocks along the axis that is summed over, whole ones of sizes that the kernels know. */
static bool read_weights(struct ox_rewrite *rw, const struct ox_node *node,
                         struct ox_block_weights *out)
{
    const struct ox_stored *codes = matrix(rw, ox_input(node, 0)),
                           *scales = matrix(rw, ox_input(node, 1)),
                           *zeros = matrix(rw, ox_input(node, 2));
    const int64_t block = ox_attr_int(node, "block_size", 0);
    int64_t axis = ox_attr_int(node, "axis", 1);
    axis += axis < 0 ? 2 : 0;
    if (!codes || !scales || !is_code(codes->dtype) || scales->dtype != OX_FLOAT32 ||
        ox_attr_int(node, "output_dtype", 0) || (ox_input(node, 2) && !zeros) || block < 16 ||
        (block & (block - 1)) || axis != out->turned || codes->dims[axis] % block ||
        scales->dims[axis] != codes->dims[axis] / block || codes->dims[0] == 0 ||
        codes->dims[1] == 0)
        return false;
    out->block = (size_t)block;
    out->integers = ox_rw_const(rw, node->inputs[0]);
    out->scales = ox_rw_const(rw, node->inputs[1]);
    out->zeros = zeros ? ox_rw_const(rw, node->inputs[2]) : NULL;
    return out->integers && out->scales && (!zeros || out->zeros);
}

static void drop_unused(struct ox_rewrite *rw, struct ox_value *value)
{
    if (value && value->graph == rw->graph && !value->is_input && !ox_rw_is_pinned(rw, value) &&
        ox_rw_n_uses(rw, value) == 0)
        ox_rw_drop_const(rw, value);
}

static bool set_sizes(struct ox_node *node, const struct ox_block_weights *w)
{
    return ox_node_set_int(node, "K", w->integers->dims[w->turned]) &&
           ox_node_set_int(node, "N", w->integers->dims[!w->turned]) &&
           ox_node_set_int(node, "bits", (int64_t)ox_dtype_bits(w->integers->dtype)) &&
           ox_node_set_int(node, "block_size", (int64_t)w->block);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_block_weights w = {.integers = NULL};
    struct ox_value *y = ox_input(node, 1), *x = ox_input(node, 0);
    struct ox_node *from = y ? widening(rw, y, &w.turned) : NULL;
    struct ox_tensor *packed[3] = {NULL};
    if (!from || !x || ox_dtype_of_value(rw, x) != OX_FLOAT32 || !read_weights(rw, from, &w))
        return;
    struct ox_value *in[4] = {x};
    bool good = ox_pack_blocks(packed, ox_env_budget(rw->env), &w, NULL) == OX_OK;
    for (int i = 0; i < 3; i++) {
        if (good && packed[i]) {
            in[1 + i] = ox_rw_constant(rw, y->name, packed[i]);
            good = in[1 + i] != NULL;
        }
        ox_tensor_release(packed[i]);
    }
    if (!good)
        return;
    struct ox_value *const old[] = {from->inputs[0], from->inputs[1], ox_input(from, 2)};
    rw->failed |= !set_sizes(node, &w);
    ox_rw_become(rw, node, "MatMulNBits", OX_OWN_DOMAIN, in, in[3] ? 4 : 3);
    if (y->producer != from)
        ox_rw_remove(rw, y->producer);
    ox_rw_remove(rw, from);
    for (size_t i = 0; i < OX_COUNT(old); i++)
        drop_unused(rw, old[i]);
}

enum ox_status ox_pass_fuse_few_bits(struct ox_rewrite *rw, struct ox_graph *graph,
                                     struct ox_error *err)
{
    return ox_rw_each(rw, graph, "MatMul", look_at, err);
}
