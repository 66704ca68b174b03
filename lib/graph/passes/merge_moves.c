/* Pairs of nodes that one node does: Concat of a Concat, Slice of a Slice in other axes, a reduction and the axes it drops or that
 * are put back, Cast of an exact Cast, and QuantizeLinear of what DequantizeLinear made by the same parameters. */
#include <string.h>

#include "graph/match.h"

enum { MOST_AXES = 16 };

static void merge_concats(struct ox_rewrite *rw, struct ox_node *node)
{
    int rank = ox_rank_of(rw, node->outputs[0]);
    int64_t axis = ox_attr_int(node, "axis", 1);
    for (size_t i = 0; i < node->n_inputs && rank > 0; i++) {
        struct ox_node *first = ox_made_by(rw, node->inputs[i], "Concat", true);
        if (!first || (ox_attr_int(first, "axis", 1) + rank) % rank != (axis + rank) % rank)
            continue;
        size_t n = node->n_inputs - 1 + first->n_inputs;
        struct ox_value **in = ox_rw_scratch(rw, n, sizeof(*in));
        if (!in)
            return;
        memcpy(in, node->inputs, i * sizeof(*in));
        memcpy(in + i, first->inputs, first->n_inputs * sizeof(*in));
        memcpy(in + i + first->n_inputs, node->inputs + i + 1,
               (node->n_inputs - 1 - i) * sizeof(*in));
        ox_rw_become(rw, node, "Concat", "", in, n);
        ox_rw_remove(rw, first);
        return;
    }
}

/* ---- Slices ------------------------------------------------------------------------------------------------------- */

struct slice {
    size_t n;
    int64_t starts[MOST_AXES], ends[MOST_AXES], axes[MOST_AXES], steps[MOST_AXES];
};

static const int64_t *ints_of(struct ox_rewrite *rw, const struct ox_node *node, size_t i, size_t n)
{
    size_t count = 0;
    const struct ox_value *value = ox_input(node, i);
    const int64_t *ints =
        value && ox_rw_stored(rw, value) ? ox_const_ints(rw, value, &count) : NULL;
    return count == n ? ints : NULL;
}

static bool read_slice(struct ox_rewrite *rw, const struct ox_node *node, int rank,
                       struct slice *out)
{
    const struct ox_stored *stored = ox_input(node, 1) ? ox_rw_stored(rw, node->inputs[1]) : NULL;
    size_t n = stored && stored->rank == 1 && stored->dims[0] > 0 ? (size_t)stored->dims[0] : 0;
    if (n == 0 || out->n + n > MOST_AXES)
        return false;
    const int64_t *starts = ints_of(rw, node, 1, n), *ends = ints_of(rw, node, 2, n),
                  *axes = ints_of(rw, node, 3, n), *steps = ints_of(rw, node, 4, n);
    if (!starts || !ends || (ox_input(node, 3) && !axes) || (ox_input(node, 4) && !steps))
        return false;
    for (size_t i = 0; i < n; i++) {
        int64_t axis = axes ? axes[i] : (int64_t)i;
        axis += axis < 0 ? rank : 0;
        for (size_t k = 0; k < out->n; k++)
            if (out->axes[k] == axis)
                return false;
        out->axes[out->n] = axis;
        out->starts[out->n] = starts[i];
        out->ends[out->n] = ends[i];
        out->steps[out->n++] = steps ? steps[i] : 1;
    }
    return true;
}

static void merge_slices(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_node *first = ox_made_by(rw, ox_input(node, 0), "Slice", true);
    struct slice both = {.n = 0};
    if (!first || !ox_input(first, 0) || ox_node_opset(node) < 10)
        return;
    int rank = ox_rank_of(rw, first->inputs[0]);
    if (rank < 1 || !read_slice(rw, first, rank, &both) || !read_slice(rw, node, rank, &both))
        return;
    const char *name = node->outputs[0]->name;
    struct ox_value *in[] = {first->inputs[0], ox_rw_ints(rw, name, both.n, both.starts),
                             ox_rw_ints(rw, name, both.n, both.ends),
                             ox_rw_ints(rw, name, both.n, both.axes),
                             ox_rw_ints(rw, name, both.n, both.steps)};
    if (rw->failed)
        return;
    ox_rw_become(rw, node, "Slice", "", in, OX_COUNT(in));
    ox_rw_remove(rw, first);
}

/* ---- Reductions --------------------------------------------------------------------------------------------------- */

static bool is_reduction(const struct ox_node *node)
{
    return strncmp(node->op_type, "Reduce", 6) == 0 && !node->domain[0];
}

/* The axes as a set of bits, by an attribute or an input; 0: none given, or they are not known. */
static uint32_t axes_of(struct ox_rewrite *rw, const struct ox_node *node, int rank)
{
    size_t n = 0;
    uint32_t set = 0;
    const int64_t *axes =
        ox_input(node, 1) ? ox_const_ints(rw, node->inputs[1], &n) : ox_attr_ints(node, "axes", &n);
    for (size_t i = 0; axes && i < n; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= 32)
            return 0;
        set |= 1u << axis;
    }
    return set;
}

/* A reduction that drops axes which are put back, or keeps axes that are squeezed out. */
static void merge_reduction(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_value *x = ox_input(node, 0);
    struct ox_node *first = x && ox_rw_only_user(rw, x) ? x->producer : NULL;
    if (!first || first->graph != rw->graph || ox_rw_gone(rw, first) || !is_reduction(first))
        return;
    bool keeps = ox_attr_int(first, "keepdims", 1) == 1;
    bool squeeze = ox_is_op(node, "Squeeze");
    int rank = ox_rank_of(rw, ox_input(first, 0));
    if (keeps != squeeze || rank < 1)
        return;
    uint32_t reduced = axes_of(rw, first, rank);
    if (!reduced || axes_of(rw, node, rank) != reduced)
        return;
    struct ox_value *y = node->outputs[0];
    ox_rw_remove(rw, node);
    ox_rw_set_output(rw, first, 0, y);
    rw->failed |= !ox_node_set_int(first, "keepdims", !squeeze);
}

/* ---- Casts and quantization ---------------------------------------------------------------------------------------- */

bool ox_cast_is_exact(enum ox_dtype from, enum ox_dtype to)
{
    bool small = from == OX_BOOL || from == OX_INT8 || from == OX_UINT8;
    return (to == OX_FLOAT32 && (ox_dtype_is_half(from) || small)) ||
           (to == OX_FLOAT64 && (from == OX_FLOAT32 || from == OX_INT32 || small)) ||
           (to == OX_INT64 && (from == OX_INT32 || small)) || (to == OX_INT32 && small);
}

static void skip_exact_cast(struct ox_rewrite *rw, struct ox_node *node)
{
    const struct ox_node *first = ox_made_by(rw, ox_input(node, 0), "Cast", false);
    const struct ox_value *x = first ? ox_input(first, 0) : NULL;
    if (!x || x->graph != rw->graph)
        return;
    int64_t middle = ox_attr_int(first, "to", 0);
    if (ox_cast_is_exact(ox_dtype_of_value(rw, x), (enum ox_dtype)middle))
        ox_rw_set_input(rw, node, 0, first->inputs[0]);
}

static bool same_constant(struct ox_rewrite *rw, const struct ox_value *a, const struct ox_value *b)
{
    if (a == b)
        return true;
    const struct ox_tensor *of_a = a && ox_rw_stored(rw, a) ? ox_rw_const(rw, a) : NULL;
    const struct ox_tensor *of_b = b && ox_rw_stored(rw, b) ? ox_rw_const(rw, b) : NULL;
    return of_a && of_b && of_a->dtype == of_b->dtype && of_a->n == of_b->n &&
           of_a->rank == of_b->rank && of_a->dtype != OX_STRING &&
           memcmp(of_a->dims, of_b->dims, of_a->rank * sizeof *of_a->dims) == 0 &&
           memcmp(of_a->data, of_b->data, of_a->n * ox_dtype_size(of_a->dtype)) == 0;
}

/* Quantizing what was dequantized by the same scale and zero point gives the same integers. */
static void cancel_quantization(struct ox_rewrite *rw, struct ox_node *node)
{
    const struct ox_node *first = ox_made_by(rw, ox_input(node, 0), "DequantizeLinear", false);
    if (!first || !ox_input(first, 0) || first->inputs[0]->graph != rw->graph ||
        !same_constant(rw, ox_input(first, 1), ox_input(node, 1)) ||
        !same_constant(rw, ox_input(first, 2), ox_input(node, 2)) ||
        ox_attr_int(first, "axis", 1) != ox_attr_int(node, "axis", 1) ||
        ox_attr_int(first, "block_size", 0) != ox_attr_int(node, "block_size", 0))
        return;
    enum ox_dtype from = ox_dtype_of_value(rw, first->inputs[0]);
    if (from != OX_UNDEFINED && from == ox_dtype_of_value(rw, node->outputs[0]))
        ox_rw_bypass(rw, node, first->inputs[0]);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    static const struct {
        const char *op_type;
        void (*merge)(struct ox_rewrite *rw, struct ox_node *node);
    } rows[] = {{"Concat", merge_concats},    {"Slice", merge_slices},
                {"Squeeze", merge_reduction}, {"Unsqueeze", merge_reduction},
                {"Cast", skip_exact_cast},    {"QuantizeLinear", cancel_quantization}};
    for (size_t r = 0; node->n_outputs == 1 && node->outputs[0] && r < OX_COUNT(rows); r++)
        if (ox_is_op(node, rows[r].op_type)) {
            rows[r].merge(rw, node);
            return;
        }
}

enum ox_status ox_pass_merge_moves(struct ox_rewrite *rw, struct ox_graph *graph,
                                   struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
