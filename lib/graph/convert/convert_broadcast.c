/* Operands of unequal shapes: since version 7 they broadcast as numpy has it, lists of them since 8. */
#include <string.h>

#include "graph/convert/convert_adapters.h"

bool ox_up_broadcast(struct ox_adapt *c)
{
    int64_t broadcast, axis, axes[OX_ADAPT_RANK];
    if (!ox_adapt_int(c, "broadcast", 0, &broadcast) || !ox_adapt_int(c, "axis", -1, &axis))
        return false;
    bool aligned = ox_adapt_has(c, "axis");
    ox_adapt_drop(c, "broadcast");
    ox_adapt_drop(c, "axis");
    if (!broadcast || !aligned)
        return true;
    int a, b;
    if (!ox_adapt_need_rank(c, 0, &a) || !ox_adapt_need_rank(c, 1, &b))
        return false;
    axis += axis < 0 ? a : 0;
    int behind = a - (int)axis - b;
    if (behind < 0)
        return ox_adapt_block(c, "axis %lld does not fit ranks %d and %d", (long long)axis, a, b);
    for (int i = 0; i < behind; i++)
        axes[i] = b + i;
    if (!behind)
        return true;
    struct ox_node *node = ox_adapt_before(c, 1, "Unsqueeze");
    return (node && ox_node_set_ints(node, "axes", axes, (size_t)behind)) || ox_adapt_no_memory(c);
}

/* Whether b's sizes are those at the end of a's; all known. */
static bool is_suffix(const struct ox_adapt *c, const struct ox_value *a, const struct ox_value *b)
{
    int64_t x[OX_ADAPT_RANK], y[OX_ADAPT_RANK];
    if (!ox_adapt_dims(c, a, x) || !ox_adapt_dims(c, b, y))
        return false;
    int n = ox_adapt_rank(c, a), m = ox_adapt_rank(c, b);
    for (int i = 1; i <= m && i <= n; i++) {
        if (x[n - i] != y[m - i])
            return false;
    }
    return m <= n;
}

/* Expressions that are the same mean the same size. */
static bool same_shape(const struct ox_adapt *c, const struct ox_value *a, const struct ox_value *b)
{
    const struct ox_type *x = ox_adapt_type(c, a), *y = ox_adapt_type(c, b);
    int rank = ox_adapt_rank(c, a);
    if (rank < 0 || rank != ox_adapt_rank(c, b))
        return false;
    for (int i = 0; i < rank; i++) {
        if (!x->dims[i] || x->dims[i] != y->dims[i])
            return false;
    }
    return true;
}

bool ox_down_broadcast(struct ox_adapt *c)
{
    struct ox_value *a = ox_adapt_input(c, 0), *b = ox_adapt_input(c, 1);
    if (same_shape(c, a, b))
        return true;
    if (is_suffix(c, a, b))
        return ox_adapt_set_int(c, "broadcast", 1);
    bool swaps = strcmp(c->node->op_type, "Add") == 0 || strcmp(c->node->op_type, "Mul") == 0;
    if (swaps && is_suffix(c, b, a)) {
        c->node->inputs[0] = b;
        c->node->inputs[1] = a;
        return ox_adapt_set_int(c, "broadcast", 1);
    }
    return ox_adapt_block(c,
                          "opset %lld broadcasts only a second operand whose known sizes are the "
                          "last ones of the first",
                          (long long)c->next);
}

/* PRelu's slopes: until version 6 one for all or one a channel, from 7 on as they broadcast; models of old that broadcast where there
 * are not so many channels mean what they mean in every runtime. */
bool ox_up_slope(struct ox_adapt *c)
{
    int64_t axes[OX_ADAPT_RANK];
    int rank, slopes;
    if (!ox_adapt_need_rank(c, 0, &rank) || !ox_adapt_need_rank(c, 1, &slopes))
        return false;
    const int64_t n = ox_adapt_dim(c, ox_adapt_input(c, 1), 0);
    if (slopes != 1 || rank < 3 || n == 1)
        return true;
    const int64_t channels = ox_adapt_dim(c, ox_adapt_input(c, 0), 1);
    if (n >= 0 && channels >= 0 && n != channels)
        return true;
    for (int i = 0; i + 2 < rank; i++)
        axes[i] = i + 1;
    struct ox_node *node = ox_adapt_before(c, 1, "Unsqueeze");
    return (node && ox_node_set_ints(node, "axes", axes, (size_t)rank - 2)) ||
           ox_adapt_no_memory(c);
}

bool ox_down_slope(struct ox_adapt *c)
{
    int64_t dims[OX_ADAPT_RANK], n = 1;
    int rank, slopes;
    if (!ox_adapt_need_rank(c, 0, &rank) || !ox_adapt_need_rank(c, 1, &slopes))
        return false;
    bool channels = slopes + 1 == rank, known = ox_adapt_dims(c, ox_adapt_input(c, 1), dims);
    for (int i = 0; known && i < slopes; i++) {
        n *= dims[i];
        channels &= i == 0 || dims[i] == 1;
    }
    if (!known || (n != 1 && !channels))
        return ox_adapt_block(c, "opset %lld has one slope, or one a channel", (long long)c->next);
    if (slopes == 1)
        return true;
    struct ox_value *in[2] = {ox_adapt_input(c, 1), ox_adapt_const_ints(c, &n, 1)};
    struct ox_node *node = in[1] ? ox_adapt_add(c, "Reshape", in, 2) : NULL;
    return node && ox_adapt_set_input(c, 1, node->outputs[0]);
}

/* Max, Min, Sum, Mean of equal shapes only; sums go by twos. */
bool ox_down_variadic(struct ox_adapt *c)
{
    struct ox_node *node = c->node;
    bool same = true;
    for (size_t i = 1; i < node->n_inputs; i++)
        same &= same_shape(c, node->inputs[0], node->inputs[i]);
    if (same)
        return true;
    bool mean = strcmp(node->op_type, "Mean") == 0;
    enum ox_dtype dtype;
    if ((!mean && strcmp(node->op_type, "Sum") != 0) || c->next < 7)
        return ox_adapt_block(c,
                              "opset %lld does not broadcast, and shapes are not known to be equal",
                              (long long)c->next);
    if (mean && !ox_adapt_need_dtype(c, 0, &dtype))
        return false;
    struct ox_value *sum[2] = {node->inputs[0], NULL};
    size_t n = node->n_inputs;
    for (size_t i = 1; i + (mean ? 0 : 1) < n; i++) {
        sum[1] = node->inputs[i];
        struct ox_node *add = ox_adapt_add(c, "Add", sum, 2);
        if (!add)
            return false;
        sum[0] = add->outputs[0];
    }
    sum[1] = mean ? ox_adapt_const_number(c, dtype, 0, (double)n) : node->inputs[n - 1];
    ox_adapt_cut_inputs(c, 2);
    c->to = ox_schema_find("", mean ? "Div" : "Add", c->next);
    c->from = c->to;
    return sum[1] && ox_adapt_set_op(c, mean ? "Div" : "Add") && ox_adapt_set_input(c, 0, sum[0]) &&
           ox_adapt_set_input(c, 1, sum[1]);
}
