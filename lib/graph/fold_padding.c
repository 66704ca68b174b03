/* Zero padding before a convolution or an average becomes the operator's own. */
#include <string.h>

#include "graph/match.h"

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

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (!ox_input(node, 0))
        return;
    int rank = ox_is_op(node, "Conv") ? ox_rank_of(rw, ox_input(node, 1)) : 0;
    if (rank > 2)
        ox_take_padding(rw, node, (unsigned)rank - 2);
    else if (ox_is_op(node, "AveragePool"))
        into_average(rw, node);
}

enum ox_status ox_pass_fold_padding(struct ox_rewrite *rw, struct ox_graph *graph,
                                    struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
