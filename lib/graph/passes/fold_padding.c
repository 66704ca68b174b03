/* Zero padding before a convolution or an average becomes the operator's own; of a convolution's own goes what a Slice cuts off its
 * result, as causal ones are written that are padded on both sides. */
#include <string.h>

#include "graph/match.h"
#include "graph/passes/channels.h"

enum { MOST_SPATIAL = 6 };

/* What a Pad of zeros adds to the spatial axes of x[N, C, ...], begins and then ends; false: it does something else. */
static bool zero_padding(struct ox_rewrite *rw, const struct ox_node *pad, unsigned spatial,
                         const int64_t **begins, const int64_t **ends)
{
    const char *mode = ox_attr_string(pad, "mode", "constant");
    size_t n;
    if (strcmp(mode, "constant") != 0 || ox_input(pad, 3) || !ox_input(pad, 0) ||
        (ox_input(pad, 2) && !ox_const_is(rw, pad->inputs[2], 0)) ||
        ox_attr_float(pad, "value", 0) != 0)
        return false;
    const int64_t *by =
        ox_input(pad, 1) ? ox_const_ints(rw, pad->inputs[1], &n) : ox_attr_ints(pad, "pads", &n);
    const size_t rank = spatial + 2;
    if (!by || n != 2 * rank || by[0] || by[1] || by[rank] || by[rank + 1])
        return false;
    *begins = by + 2;
    *ends = by + rank + 2;
    for (unsigned d = 0; d < spatial; d++)
        if ((*begins)[d] < 0 || (*ends)[d] < 0)
            return false;
    return true;
}

bool ox_take_padding(struct ox_rewrite *rw, struct ox_node *node, unsigned spatial)
{
    const struct ox_node *pad = ox_made_by(rw, ox_input(node, 0), "Pad", true);
    const int64_t *begins, *ends;
    size_t n_own;
    const int64_t *own = ox_attr_ints(node, "pads", &n_own);
    int64_t pads[2 * MOST_SPATIAL];
    if (!pad || spatial > MOST_SPATIAL ||
        strcmp(ox_attr_string(node, "auto_pad", "NOTSET"), "NOTSET") != 0 ||
        !zero_padding(rw, pad, spatial, &begins, &ends) || (own && n_own != 2 * (size_t)spatial))
        return false;
    for (unsigned d = 0; d < spatial; d++) {
        int64_t first = own ? own[d] : 0, last = own ? own[spatial + d] : 0;
        if (OX_ADD_OVERFLOWS(first, begins[d], &pads[d]) ||
            OX_ADD_OVERFLOWS(last, ends[d], &pads[spatial + d]))
            return false;
    }
    ox_rw_set_input(rw, node, 0, pad->inputs[0]);
    rw->failed |= !ox_node_set_ints(node, "pads", pads, 2 * (size_t)spatial);
    return !rw->failed;
}

/* Zeros count in an average only where padding counts, and a window that hangs over the end does not count what lies beyond. Runtimes
 * want less padding than window. */
static void into_average(struct ox_rewrite *rw, struct ox_node *node)
{
    const struct ox_node *pad = ox_made_by(rw, ox_input(node, 0), "Pad", true);
    const int64_t *begins, *ends;
    size_t n, n_own;
    const int64_t *window = ox_attr_ints(node, "kernel_shape", &n);
    const int64_t *own = ox_attr_ints(node, "pads", &n_own);
    bool counts = ox_attr_int(node, "count_include_pad", 0) != 0;
    if (!pad || !window || n > MOST_SPATIAL || ox_attr_int(node, "ceil_mode", 0) ||
        ox_node_opset(node) < 7 || !zero_padding(rw, pad, (unsigned)n, &begins, &ends))
        return;
    for (size_t i = 0; i < n_own; i++)
        if (own[i] && !counts)
            return;
    for (size_t d = 0; d < n; d++)
        if (begins[d] + (n_own == 2 * n ? own[d] : 0) >= window[d] ||
            ends[d] + (n_own == 2 * n ? own[n + d] : 0) >= window[d])
            return;
    if (ox_take_padding(rw, node, (unsigned)n))
        rw->failed |= !ox_node_set_int(node, "count_include_pad", 1);
}

/* Elements that [start, end) leaves out before and behind along an axis of `dim` elements (-1: not known); false: not known. */
static bool cut_of(int64_t start, int64_t end, int64_t dim, int64_t cut[2])
{
    const bool open = end >= INT32_MAX; /* as exporters write the end */
    if ((dim < 0 && (start < 0 || (end >= 0 && !open))) || start == INT64_MIN || end == INT64_MIN)
        return false;
    cut[0] = start >= 0 ? start : dim + start;
    cut[1] = open ? 0 : end < 0 ? -end : dim - end;
    cut[0] = cut[0] > 0 ? cut[0] : 0;
    cut[1] = cut[1] > 0 ? cut[1] : 0;
    return true;
}

/* Takes what is cut off an axis of `dim` elements out of the convolution's pads; something must be left, where the size is not known
 * even of a single element. */
static bool cut_pads(struct ox_rewrite *rw, const struct ox_node *conv, unsigned spatial,
                     unsigned d, int64_t dim, const int64_t cut[2], int64_t *first, int64_t *last)
{
    const int64_t stride = ox_conv_of_axis(conv, "strides", spatial, d);
    const int64_t dilation = ox_conv_of_axis(conv, "dilations", spatial, d);
    const int64_t kernel = ox_dim_of(rw, conv->inputs[1], (int)d + 2);
    int64_t reach;
    if (stride < 1 || dilation < 1 || kernel < 1 || cut[0] > *first / stride ||
        cut[1] > *last / stride || OX_MUL_OVERFLOWS(kernel - 1, dilation, &reach))
        return false;
    *first -= cut[0] * stride;
    *last -= cut[1] * stride;
    return dim < 0 ? *first >= reach - *last : cut[0] < dim - cut[1];
}

/* The lists of a Slice of constants in steps of 1; axes NULL: the first ones. */
static bool read_slice(struct ox_rewrite *rw, const struct ox_node *slice, const int64_t **starts,
                       const int64_t **ends, const int64_t **axes, size_t *n)
{
    enum { STARTS = 1, ENDS, AXES, STEPS };
    size_t n_ends, n_axes = 0, n_steps = 0;
    *starts = ox_input(slice, STARTS) ? ox_const_ints(rw, slice->inputs[STARTS], n) : NULL;
    *ends = ox_input(slice, ENDS) ? ox_const_ints(rw, slice->inputs[ENDS], &n_ends) : NULL;
    *axes = ox_input(slice, AXES) ? ox_const_ints(rw, slice->inputs[AXES], &n_axes) : NULL;
    const int64_t *steps =
        ox_input(slice, STEPS) ? ox_const_ints(rw, slice->inputs[STEPS], &n_steps) : NULL;
    if (!*starts || !*ends || n_ends != *n || (ox_input(slice, AXES) && n_axes != *n) ||
        (ox_input(slice, STEPS) && n_steps != *n))
        return false;
    for (size_t i = 0; i < n_steps; i++)
        if (steps[i] != 1)
            return false;
    return true;
}

struct ox_node *ox_take_cut(struct ox_rewrite *rw, struct ox_node *conv)
{
    struct ox_node *slice = ox_used_by(rw, conv->outputs[0], "Slice");
    const int64_t *starts, *ends, *axes;
    size_t n, n_pads;
    const int64_t *own = ox_attr_ints(conv, "pads", &n_pads);
    const int rank = ox_rank_of(rw, ox_input(conv, 1));
    int64_t pads[2 * MOST_SPATIAL];
    if (!slice || !own || rank < 3 || n_pads != 2 * (size_t)(rank - 2) || n_pads > OX_COUNT(pads) ||
        slice->inputs[0] != conv->outputs[0] ||
        strcmp(ox_attr_string(conv, "auto_pad", "NOTSET"), "NOTSET") != 0 ||
        ox_node_opset(slice) < 10 || !read_slice(rw, slice, &starts, &ends, &axes, &n))
        return NULL;
    memcpy(pads, own, n_pads * sizeof *pads);
    for (size_t i = 0; i < n; i++) {
        const int64_t axis = axes ? axes[i] + (axes[i] < 0 ? rank : 0) : (int64_t)i;
        const int64_t dim = ox_dim_of(rw, slice->inputs[0], (int)axis), d = axis - 2;
        int64_t cut[2];
        if (d < 0 || axis >= rank || !cut_of(starts[i], ends[i], dim, cut) ||
            !cut_pads(rw, conv, (unsigned)rank - 2, (unsigned)d, dim, cut, &pads[d],
                      &pads[d + rank - 2]))
            return NULL;
    }
    ox_rw_become(rw, slice, conv->op_type, conv->domain, conv->inputs, conv->n_inputs);
    ox_rw_inherit(slice, conv);
    ox_rw_remove(rw, conv);
    rw->failed |= !ox_node_set_ints(slice, "pads", pads, n_pads);
    return slice;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (!ox_input(node, 0))
        return;
    int rank = ox_is_op(node, "Conv") ? ox_rank_of(rw, ox_input(node, 1)) : 0;
    if (rank > 2) {
        ox_take_padding(rw, node, (unsigned)rank - 2);
        ox_take_cut(rw, node);
    } else if (ox_is_op(node, "AveragePool")) {
        into_average(rw, node);
    }
}

enum ox_status ox_pass_fold_padding(struct ox_rewrite *rw, struct ox_graph *graph,
                                    struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
