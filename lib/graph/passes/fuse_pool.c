/* A MaxPool that alone reads what a first layer makes of planes: their map, the largest of many networks, is pooled a strip at a time
 * while it is near (kernels/convolve_pooled.h). */
#include <string.h>

#include "graph/match.h"
#include "ops/fused/fused.h"

enum { IN_WEIGHTS = 1, IN_RESIDUAL = 4, RANK = 4, AXES = 2, PLANES = 4, ROWS = 16, TAPS = 3 };

/* What FusedConv reads from planes line by line: its input is not turned before. */
static bool is_first_layer(struct ox_rewrite *rw, const struct ox_node *conv)
{
    const struct ox_stored *w = ox_rw_stored(rw, ox_input(conv, IN_WEIGHTS));
    size_t n = 0;
    const int64_t *dilations = ox_attr_ints(conv, "dilations", &n);
    for (size_t i = 0; i < n; i++)
        if (dilations[i] != 1)
            return false;
    return w && w->rank == RANK && !strcmp(ox_attr_string(conv, "auto_pad", "NOTSET"), "NOTSET") &&
           w->dims[1] <= PLANES && w->dims[2] <= ROWS &&
           ox_attr_int(conv, "layout", 0) == OX_OUT_LAST && ox_attr_int(conv, "group", 1) == 1 &&
           !ox_attr_int(conv, "transposed", 0) && !ox_input(conv, IN_RESIDUAL) &&
           !ox_node_attr(conv, "pool") && !ox_node_attr(conv, "steps") &&
           !ox_node_attr(conv, "join_channels");
}

static bool get_list(const struct ox_node *node, const char *name, size_t n, int64_t *out)
{
    size_t have;
    const int64_t *list = ox_attr_ints(node, name, &have);
    for (size_t i = 0; list && have == n && i < n; i++)
        out[i] = list[i];
    return !list || have == n;
}

/* The pool's kernel, stride and padding before and after, height first: `size` is that of its input (less than 1: not known), for what
 * rounds up takes more padding after. */
static bool get_window(const struct ox_node *pool, const int64_t size[AXES], int64_t w[4][AXES])
{
    int64_t dilation[AXES] = {1, 1}, pads[2 * AXES] = {0};
    const char *pad = ox_attr_string(pool, "auto_pad", "NOTSET");
    w[0][0] = 0;
    w[1][0] = w[1][1] = 1;
    if (strcmp(pad, "NOTSET") != 0 || !get_list(pool, "kernel_shape", AXES, w[0]) || !w[0][0] ||
        !get_list(pool, "strides", AXES, w[1]) || !get_list(pool, "dilations", AXES, dilation) ||
        !get_list(pool, "pads", 2 * AXES, pads))
        return false;
    for (unsigned d = 0; d < AXES; d++) {
        w[2][d] = pads[d];
        w[3][d] = pads[AXES + d];
        if (dilation[d] != 1 || w[0][d] < 1 || w[0][d] > TAPS || w[1][d] < 1 || w[1][d] > w[0][d] ||
            w[2][d] < 0 || w[2][d] >= w[0][d] || w[3][d] < 0 || w[3][d] >= w[0][d])
            return false;
        if (!ox_attr_int(pool, "ceil_mode", 0))
            continue;
        const int64_t room = size[d] + w[2][d] + w[3][d] - w[0][d];
        if (size[d] < 1 || room < 0 || room % w[1][d])
            return false;
    }
    return true;
}

static void look_at(struct ox_rewrite *rw, struct ox_node *pool)
{
    struct ox_value *map = ox_input(pool, 0);
    struct ox_node *conv = map ? map->producer : NULL;
    int64_t w[4][AXES];
    if (pool->n_outputs != 1 || !conv || conv->graph != pool->graph || conv->n_outputs != 1 ||
        !ox_is_domain_op(pool, OX_OWN_DOMAIN, "MaxPool") ||
        !ox_is_domain_op(conv, OX_OWN_DOMAIN, "FusedConv") || !is_first_layer(rw, conv) ||
        ox_rw_only_user(rw, map) != pool)
        return;
    const int64_t size[AXES] = {ox_dim_of(rw, map, 1), ox_dim_of(rw, map, 2)};
    if (!get_window(pool, size, w))
        return;
    struct ox_value *out = pool->outputs[0];
    rw->failed |= !ox_node_set_ints(conv, "pool", w[0], sizeof w / sizeof w[0][0]);
    ox_rw_remove(rw, pool);
    ox_rw_set_output(rw, conv, 0, out);
}

enum ox_status ox_pass_fuse_pool(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
