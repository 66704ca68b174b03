/* What operators between convolutions become when the channels are last. */
#include <string.h>

#include "graph/passes/channels.h"
#include "graph/passes/twins.h"
#include "ops/fused/fused.h"
#include "ops/rules.h"

struct rule {
    const char *op_type;
    bool (*convert)(struct ox_twins *l, struct ox_node *node);
};

/* Of what may be a map; 0: it is none. Where the value is one with its channels last, it is never 0. */
static unsigned rank_of(struct ox_twins *l, const struct ox_value *value)
{
    const struct ox_value *known = ox_twins_is_last(l, value) ? l->twin[value->id] : value;
    const int rank = value ? ox_rank_of(l->rw, known) : 0;
    return rank >= OX_TWINS_RANK_MIN && rank <= OX_TWINS_RANK_MAX ? (unsigned)rank : 0;
}

static bool is_map(struct ox_twins *l, const struct ox_value *value)
{
    return rank_of(l, value) && ox_dtype_of_value(l->rw, value) == OX_FLOAT32;
}

/* Or of 8-bit codes, which have two axes of pixels at the most. */
static bool is_any_map(struct ox_twins *l, const struct ox_value *value)
{
    enum { MOST_RANK = 4 };
    const enum ox_dtype dtype = value ? ox_dtype_of_value(l->rw, value) : OX_UNDEFINED;
    const bool codes = dtype == OX_UINT8 || dtype == OX_INT8;
    return is_map(l, value) || (codes && rank_of(l, value) && rank_of(l, value) <= MOST_RANK);
}

/* The place of an axis among the twin's; -1: it is none. */
static int64_t place_of(unsigned rank, int64_t axis)
{
    axis += axis < 0 ? rank : 0;
    return axis >= 0 && axis < rank ? (int64_t)ox_twins_place(rank, (unsigned)axis) : -1;
}

static bool set_int(struct ox_twins *l, struct ox_node *node, const char *name, int64_t value)
{
    l->rw->failed |= !ox_node_set_int(node, name, value);
    return true;
}

/* Input 0 and the only output become twins. */
static bool move_through(struct ox_twins *l, struct ox_node *node)
{
    const unsigned rank = rank_of(l, node->inputs[0]);
    ox_rw_set_input(l->rw, node, 0, ox_twins_last(l, node->inputs[0], node));
    ox_twins_makes(l, node, 0, rank);
    return true;
}

/* ---- Convolution ------------------------------------------------------------------------------------------------ */

/* Whether a convolution stands alone between planes that has a small filter for each, or any for each of a few, or makes one plane, or is
 * pointwise and has as many outputs as inputs or more: how it goes is decided by how many pixels there are then. */
static bool stays_in_planes(struct ox_twins *l, const struct ox_node *node,
                            const struct ox_stored *weights)
{
    enum { FEW_FILTERS = 4, SMALL = 9 };
    const int64_t groups = ox_attr_int(node, "group", 1);
    size_t n_strides, n_pads;
    const int64_t *strides = ox_attr_ints(node, "strides", &n_strides);
    const int64_t *pads = ox_attr_ints(node, "pads", &n_pads);
    if (ox_attr_int(node, "transposed", 0) || ox_twins_is_last(l, node->inputs[0]) ||
        ox_rw_n_uses(l->rw, node->outputs[0]) > 0)
        return false;
    bool plain = groups > 0, small = weights->rank < 5;
    int64_t taps = 1;
    for (unsigned d = 2; d < weights->rank; d++) {
        plain = plain && weights->dims[d] == 1;
        small = small && weights->dims[d] <= SMALL;
        taps *= small ? weights->dims[d] : 1;
    }
    small = small && taps <= SMALL;
    if (weights->dims[0] == 1 ||
        (weights->dims[1] == 1 && weights->dims[0] == groups && (small || groups <= FEW_FILTERS)))
        return true;
    for (size_t i = 0; strides && i < n_strides; i++)
        plain = plain && strides[i] == 1;
    for (size_t i = 0; pads && i < n_pads; i++)
        plain = plain && pads[i] == 0;
    return plain && weights->dims[1] <= weights->dims[0] / groups;
}

static bool convert_conv(struct ox_twins *l, struct ox_node *node)
{
    enum { IN_X, IN_WEIGHTS, IN_RESIDUAL = 4, FEW = 4 };
    const struct ox_stored *weights = ox_rw_stored(l->rw, node->inputs[IN_WEIGHTS]);
    struct ox_value *residual = ox_input(node, IN_RESIDUAL);
    const unsigned rank = rank_of(l, node->inputs[IN_X]);
    if (!is_map(l, node->inputs[IN_X]) || !weights || weights->rank != rank ||
        ox_attr_int(node, "layout", 0) || (!residual && stays_in_planes(l, node, weights)))
        return false;
    /* First layers read planes of few channels as they are. */
    size_t n;
    const int64_t *dilations = ox_attr_ints(node, "dilations", &n);
    bool dilated = false;
    for (size_t i = 0; dilations && i < n; i++)
        dilated |= dilations[i] != 1;
    bool planes = rank < 5 && !ox_twins_is_last(l, node->inputs[IN_X]) && !dilated &&
                  weights->dims[1] <= FEW && ox_attr_int(node, "group", 1) == 1 &&
                  !ox_attr_int(node, "transposed", 0);
    if (!planes)
        ox_rw_set_input(l->rw, node, IN_X, ox_twins_last(l, node->inputs[IN_X], node));
    if (residual)
        ox_rw_set_input(l->rw, node, IN_RESIDUAL, ox_twins_last(l, residual, node));
    set_int(l, node, "layout", planes ? OX_OUT_LAST : OX_IN_LAST | OX_OUT_LAST);
    ox_twins_makes(l, node, 0, rank);
    return true;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------ */

static bool convert_pool(struct ox_twins *l, struct ox_node *node)
{
    const struct ox_value *second = node->n_outputs > 1 ? node->outputs[1] : NULL;
    if (!ox_twins_is_last(l, node->inputs[0]) || !is_any_map(l, node->inputs[0]) ||
        rank_of(l, node->inputs[0]) > 4 ||
        (second && (ox_rw_n_uses(l->rw, second) || ox_rw_is_pinned(l->rw, second))) ||
        ox_attr_int(node, "storage_order", 0))
        return false;
    /* Version 1 of AveragePool left padding out whatever was asked. */
    struct ox_value *in[1] = {node->inputs[0]};
    node->n_outputs = 1;
    ox_rw_become(l->rw, node, node->op_type, OX_OWN_DOMAIN, in, 1);
    return move_through(l, node);
}

/* ---- Elementwise ------------------------------------------------------------------------------------------------ */

static bool convert_unary(struct ox_twins *l, struct ox_node *node)
{
    if (!ox_twins_is_last(l, node->inputs[0]) || node->n_outputs != 1)
        return false;
    for (size_t i = 1; i < node->n_inputs; i++) {
        double scalar; /* bounds of Clip */
        if (node->inputs[i] && !ox_const_scalar(l->rw, node->inputs[i], &scalar))
            return false;
    }
    return move_through(l, node);
}

/* A constant that broadcasts against a map of that rank, as it must be against the twin; NULL: it cannot be. */
static struct ox_value *turn_constant(struct ox_twins *l, struct ox_value *value, unsigned rank)
{
    const struct ox_stored *stored = ox_rw_stored(l->rw, value);
    size_t n;
    if (!stored || stored->dtype != OX_FLOAT32 || stored->rank > rank ||
        !ox_dims_count(stored->rank, stored->dims, &n) || n == 0)
        return NULL;
    if (n == 1)
        return value;
    int64_t dims[OX_TWINS_RANK_MAX] = {1, 1, 1, 1, 1}, turned[OX_TWINS_RANK_MAX];
    for (unsigned d = 0; d < stored->rank; d++)
        dims[rank - stored->rank + d] = stored->dims[d];
    for (unsigned d = 0; d < rank; d++)
        turned[d] = dims[ox_twins_first(rank, d)];
    const struct ox_tensor *tensor = ox_rw_const(l->rw, value);
    float *out = tensor ? ox_rw_scratch(l->rw, n, sizeof *out) : NULL;
    if (!out)
        return NULL;
    const float *in = tensor->data;
    const size_t batch = (size_t)dims[0], channels = (size_t)dims[1];
    const size_t pixels = n / batch / channels;
    for (size_t b = 0; b < batch; b++)
        for (size_t c = 0; c < channels; c++)
            for (size_t p = 0; p < pixels; p++)
                out[(b * pixels + p) * channels + c] = in[(b * channels + c) * pixels + p];
    return ox_rw_floats(l->rw, value->name, rank, turned, out);
}

/* The rank of those of a node's inputs that have their channels last; 0: none has, or they have several. */
static unsigned common_rank(struct ox_twins *l, const struct ox_node *node)
{
    unsigned rank = 0;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const unsigned own = ox_twins_is_last(l, node->inputs[i]) ? rank_of(l, node->inputs[i]) : 0;
        if (own && rank && own != rank)
            return 0;
        rank = own ? own : rank;
    }
    return rank;
}

static bool convert_broadcast(struct ox_twins *l, struct ox_node *node)
{
    enum { MOST = 16 };
    struct ox_value *in[MOST] = {NULL};
    const unsigned rank = common_rank(l, node);
    if (!rank || node->n_inputs > MOST || node->n_outputs != 1 || ox_attr_int(node, "broadcast", 0))
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        struct ox_value *value = node->inputs[i];
        if (!value || ox_dtype_of_value(l->rw, value) != OX_FLOAT32)
            return false;
        bool constant = ox_rw_stored(l->rw, value) != NULL;
        if (constant && !(in[i] = turn_constant(l, value, rank)))
            return false;
        if (!constant && rank_of(l, value) != rank && ox_rank_of(l->rw, value) != 0)
            return false;
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        struct ox_value *value = node->inputs[i];
        if (!in[i])
            in[i] = rank_of(l, value) ? ox_twins_last(l, value, node) : value;
        ox_rw_set_input(l->rw, node, i, in[i]);
    }
    ox_twins_makes(l, node, 0, rank);
    return true;
}

/* ---- Along an axis ---------------------------------------------------------------------------------------------- */

static bool convert_concat(struct ox_twins *l, struct ox_node *node)
{
    const unsigned rank = common_rank(l, node);
    int64_t axis = place_of(rank, ox_attr_int(node, "axis", 1));
    size_t last = 0;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!is_any_map(l, node->inputs[i]) || rank_of(l, node->inputs[i]) != rank)
            return false;
        last += ox_twins_is_last(l, node->inputs[i]);
    }
    if (axis < 0 || 2 * last < node->n_inputs || !last)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++)
        ox_rw_set_input(l->rw, node, i, ox_twins_last(l, node->inputs[i], node));
    set_int(l, node, "axis", axis);
    ox_twins_makes(l, node, 0, rank);
    return true;
}

static bool convert_split(struct ox_twins *l, struct ox_node *node)
{
    const unsigned rank = rank_of(l, node->inputs[0]);
    int64_t axis = place_of(rank, ox_attr_int(node, "axis", 0));
    if (!ox_twins_is_last(l, node->inputs[0]) || axis < 0 || node->n_outputs > 4)
        return false;
    ox_rw_set_input(l->rw, node, 0, ox_twins_last(l, node->inputs[0], node));
    set_int(l, node, "axis", axis);
    for (size_t i = 0; i < node->n_outputs; i++)
        ox_twins_makes(l, node, i, rank);
    return true;
}

static bool convert_softmax(struct ox_twins *l, struct ox_node *node)
{
    int64_t axis = place_of(rank_of(l, node->inputs[0]), ox_attr_int(node, "axis", -1));
    if (!ox_twins_is_last(l, node->inputs[0]) || axis < 0 || ox_node_opset(node) < 13)
        return false;
    set_int(l, node, "axis", axis);
    return move_through(l, node);
}

/* Axes as places of the twin, in a list of their own; false: one is none. */
static bool places(unsigned rank, const int64_t *axes, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        if ((out[i] = place_of(rank, axes[i])) < 0)
            return false;
    return true;
}

static bool convert_slice(struct ox_twins *l, struct ox_node *node)
{
    size_t n, n_starts;
    int64_t at[OX_TWINS_RANK_MAX];
    const unsigned rank = rank_of(l, node->inputs[0]);
    if (!ox_twins_is_last(l, node->inputs[0]) || ox_node_opset(node) < 10 || !ox_input(node, 1) ||
        !ox_const_ints(l->rw, node->inputs[1], &n_starts) || n_starts > rank)
        return false;
    static const int64_t all[OX_TWINS_RANK_MAX] = {0, 1, 2, 3, 4};
    const int64_t *axes = all;
    n = n_starts;
    if (ox_input(node, 3))
        axes = ox_const_ints(l->rw, node->inputs[3], &n);
    if (!axes || n != n_starts || !places(rank, axes, n, at))
        return false;
    struct ox_value *list = ox_rw_ints(l->rw, node->outputs[0]->name, n, at);
    struct ox_value *in[5] = {node->inputs[0], node->inputs[1], ox_input(node, 2), list,
                              ox_input(node, 4)};
    if (!list || !in[2])
        return false;
    ox_rw_become(l->rw, node, "Slice", "", in, in[4] ? 5 : 4);
    return move_through(l, node);
}

static bool convert_pad(struct ox_twins *l, struct ox_node *node)
{
    size_t n;
    int64_t turned[2 * OX_TWINS_RANK_MAX];
    const unsigned rank = rank_of(l, node->inputs[0]);
    if (!ox_twins_is_last(l, node->inputs[0]) || ox_input(node, 3) || ox_node_opset(node) < 11 ||
        !ox_input(node, 1))
        return false;
    const int64_t *pads = ox_const_ints(l->rw, node->inputs[1], &n);
    if (!pads || n != 2 * (size_t)rank)
        return false;
    for (unsigned d = 0; d < rank; d++) {
        turned[d] = pads[ox_twins_first(rank, d)];
        turned[rank + d] = pads[rank + ox_twins_first(rank, d)];
    }
    ox_rw_set_input(l->rw, node, 1, ox_rw_ints(l->rw, node->outputs[0]->name, n, turned));
    return move_through(l, node);
}

static bool convert_reduce(struct ox_twins *l, struct ox_node *node)
{
    size_t n;
    int64_t at[OX_TWINS_RANK_MAX];
    const unsigned rank = rank_of(l, node->inputs[0]);
    bool by_input = ox_input(node, 1) != NULL;
    const int64_t *axes =
        by_input ? ox_const_ints(l->rw, node->inputs[1], &n) : ox_attr_ints(node, "axes", &n);
    bool keep = ox_attr_int(node, "keepdims", 1) == 1;
    if (!ox_twins_is_last(l, node->inputs[0]) || !axes || n == 0 || n > rank ||
        !places(rank, axes, n, at))
        return false;
    bool channels = false;
    size_t pixels = 0;
    for (size_t i = 0; i < n; i++) {
        channels |= at[i] == rank - 1;
        pixels += at[i] > 0 && at[i] < rank - 1;
    }
    /* Without the axes the rest must come in the old order. */
    if (!keep && pixels < rank - 2 && !channels)
        return false;
    if (by_input)
        ox_rw_set_input(l->rw, node, 1, ox_rw_ints(l->rw, node->outputs[0]->name, n, at));
    else
        l->rw->failed |= !ox_node_set_ints(node, "axes", at, n);
    if (keep)
        return move_through(l, node);
    ox_rw_set_input(l->rw, node, 0, ox_twins_last(l, node->inputs[0], node));
    return true;
}

/* An axis of pixels goes or comes, between one and two of them. */
static bool convert_squeeze(struct ox_twins *l, struct ox_node *node)
{
    const bool comes = ox_is_op(node, "Unsqueeze"), by_input = ox_input(node, 1) != NULL;
    const unsigned rank = rank_of(l, node->inputs[0]), out = comes ? rank + 1 : rank - 1;
    int64_t at;
    size_t n;
    const int64_t *axes =
        by_input ? ox_const_ints(l->rw, node->inputs[1], &n) : ox_attr_ints(node, "axes", &n);
    if (!ox_twins_is_last(l, node->inputs[0]) || out < OX_TWINS_RANK_MIN ||
        out > OX_TWINS_RANK_MAX || !axes || n != 1)
        return false;
    at = place_of(comes ? out : rank, axes[0]);
    if (at < 1 || at + 1 >= (int64_t)(comes ? out : rank))
        return false;
    if (by_input)
        ox_rw_set_input(l->rw, node, 1, ox_rw_ints(l->rw, node->outputs[0]->name, 1, &at));
    else
        l->rw->failed |= !ox_node_set_ints(node, "axes", &at, 1);
    ox_rw_set_input(l->rw, node, 0, ox_twins_last(l, node->inputs[0], node));
    ox_twins_makes(l, node, 0, out);
    return true;
}

/* A Transpose of the value is another one of the twin. */
static bool convert_transpose(struct ox_twins *l, struct ox_node *node)
{
    size_t n;
    int64_t turned[OX_TWINS_RANK_MAX];
    const unsigned rank = rank_of(l, node->inputs[0]);
    const int64_t *perm = ox_attr_ints(node, "perm", &n);
    if (!ox_twins_is_last(l, node->inputs[0]) || !perm || n != rank ||
        !places(rank, perm, rank, turned))
        return false;
    ox_rw_set_input(l->rw, node, 0, ox_twins_last(l, node->inputs[0], node));
    l->rw->failed |= !ox_node_set_ints(node, "perm", turned, n);
    return true;
}

/* Channel shuffle: [N, g, C/g, H, W] with axes 1 and 2 exchanged and joined again; of twins the last two of [N, H, W, g, C/g]. */
static bool convert_shuffle(struct ox_twins *l, struct ox_node *node)
{
    static const int64_t exchange[5] = {0, 2, 1, 3, 4}, turned[5] = {0, 1, 2, 4, 3};
    struct ox_rewrite *rw = l->rw;
    struct ox_value *x = node->inputs[0], *split = node->outputs[0];
    struct ox_node *turn = ox_used_by(rw, split, "Transpose");
    struct ox_node *join = turn ? ox_used_by(rw, turn->outputs[0], "Reshape") : NULL;
    size_t n;
    const int64_t *perm = turn ? ox_attr_ints(turn, "perm", &n) : NULL;
    if (!ox_twins_is_last(l, x) || rank_of(l, x) != 4 || !join ||
        join->inputs[0] != turn->outputs[0] || !perm || n != 5 ||
        memcmp(perm, exchange, sizeof exchange) != 0 || ox_rank_of(rw, split) != 5 ||
        ox_node_opset(node) < 5 || !ox_same_shape(rw, x, join->outputs[0]) ||
        ox_rw_is_pinned(rw, join->outputs[0]))
        return false;
    int64_t groups = ox_dim_of(rw, split, 1), each = ox_dim_of(rw, split, 2);
    if (groups < 1 || each < 1 || groups > INT64_MAX / each ||
        groups * each != ox_dim_of(rw, x, 1) ||
        ox_dim_expr(rw, split, 3) != ox_dim_expr(rw, x, 2) ||
        ox_dim_expr(rw, split, 4) != ox_dim_expr(rw, x, 3))
        return false;
    struct ox_value *apart = ox_rw_value(rw, split->name, NULL),
                    *exchanged = ox_rw_value(rw, turn->outputs[0]->name, NULL);
    struct ox_value *shape = ox_rw_ints(rw, split->name, 5, (int64_t[]){0, 0, 0, groups, each}),
                    *whole = ox_rw_ints(rw, split->name, 4, (int64_t[]){0, 0, 0, groups * each});
    if (!apart || !exchanged || !shape || !whole)
        return false;
    ox_rw_clear_attrs(rw, node); /* the zeros copy: allowzero would make them sizes */
    ox_rw_clear_attrs(rw, join);
    ox_rw_become(rw, node, "Reshape", "", (struct ox_value *[]){ox_twins_last(l, x, node), shape},
                 2);
    ox_rw_set_output(rw, node, 0, apart);
    ox_rw_set_input(rw, turn, 0, apart);
    rw->failed |= !ox_node_set_ints(turn, "perm", turned, 5);
    ox_rw_set_output(rw, turn, 0, exchanged);
    ox_rw_become(rw, join, "Reshape", "", (struct ox_value *[]){exchanged, whole}, 2);
    ox_twins_makes(l, join, 0, 4);
    return true;
}

/* ---- Batch norm that no convolution takes, Resize --------------------------------------------------------------- */

static bool convert_batch_norm(struct ox_twins *l, struct ox_node *node)
{
    int64_t n = ox_dim_of(l->rw, node->inputs[0], 1);
    if (!ox_twins_is_last(l, node->inputs[0]) || !is_map(l, node->inputs[0]) || n < 1 ||
        !ox_batch_norm_is_affine(l->rw, node))
        return false;
    const double *by = ox_batch_norm_factors(l->rw, node, n);
    if (!by)
        return false;
    const char *name = node->outputs[0]->name;
    struct ox_value *list[3] = {node->inputs[0],
                                ox_rounded_constant(l->rw, name, OX_FLOAT32, 1, &n, by),
                                ox_rounded_constant(l->rw, name, OX_FLOAT32, 1, &n, by + n)};
    if (!list[1] || !list[2])
        return false;
    ox_rw_clear_attrs(l->rw, node);
    ox_rw_become(l->rw, node, "ChannelAffine", OX_OWN_DOMAIN, list, 3);
    node->n_outputs = 1;
    return move_through(l, node);
}

static bool is_spatial_resize(struct ox_twins *l, const struct ox_node *node,
                              const struct ox_value *by)
{
    const struct ox_value *y = node->outputs[0];
    const char *mode = ox_attr_string(node, "mode", "nearest");
    if (ox_attr_int(node, "antialias", 0) || ox_node_attr(node, "axes") || !by ||
        strcmp(mode, "cubic") == 0 ||
        (strcmp(mode, "nearest") != 0 && !is_map(l, node->inputs[0])) ||
        strcmp(ox_attr_string(node, "coordinate_transformation_mode", ""), "tf_crop_and_resize") ==
            0)
        return false;
    for (int d = 0; d < 2; d++) {
        const struct ox_expr *in = ox_dim_expr(l->rw, node->inputs[0], d);
        if (!in || in != ox_dim_expr(l->rw, y, d))
            return false;
    }
    return true;
}

/* A few channels fill no vector: planes, whose pixels lie side by side, are resized faster. */
static bool has_few_channels(struct ox_twins *l, const struct ox_value *map)
{
    enum { FEW = 8 };
    const int64_t channels = ox_dim_of(l->rw, map, 1);
    return channels >= 0 && channels < FEW;
}

static bool convert_resize(struct ox_twins *l, struct ox_node *node)
{
    if (!ox_twins_is_last(l, node->inputs[0]) || !is_any_map(l, node->inputs[0]) ||
        rank_of(l, node->inputs[0]) > 4 ||
        (rank_of(l, node->inputs[0]) != 4 && !is_map(l, node->inputs[0])) || /* as pools */
        ox_node_opset(node) < 11 || has_few_channels(l, node->inputs[0]))
        return false;
    struct ox_value *by = ox_input(node, 3) ? node->inputs[3] : ox_input(node, 2);
    const struct ox_stored *scales =
        ox_input(node, 2) ? ox_rw_stored(l->rw, node->inputs[2]) : NULL;
    bool empty = scales && scales->rank == 1 && scales->dims[0] == 0;
    if (!is_spatial_resize(l, node, by))
        return false;
    struct ox_value *in[4] = {node->inputs[0], NULL, empty ? NULL : ox_input(node, 2),
                              ox_input(node, 3)};
    ox_rw_become(l->rw, node, "Resize", OX_OWN_DOMAIN, in, 4);
    return move_through(l, node);
}

/* ---- Sizes -------------------------------------------------------------------------------------------------------- */

/* The sizes of a twin, picked in the order of the value's axes. */
static bool convert_shape(struct ox_twins *l, struct ox_node *node)
{
    if (!ox_twins_is_last(l, node->inputs[0]) || !is_any_map(l, node->inputs[0]))
        return false;
    const unsigned rank = rank_of(l, node->inputs[0]);
    int64_t picked[OX_TWINS_RANK_MAX];
    unsigned from, to;
    ox_rule_shape_range(ox_attr_int(node, "start", 0), ox_attr_int(node, "end", rank), rank, &from,
                        &to);
    for (unsigned axis = from; axis < to; axis++)
        picked[axis - from] = ox_twins_place(rank, axis);
    struct ox_value *twin = ox_twins_last(l, node->inputs[0], node);
    struct ox_value *sizes = ox_rw_value(l->rw, node->outputs[0]->name, NULL);
    struct ox_value *picks = ox_rw_ints(l->rw, node->outputs[0]->name, to - from, picked);
    if (!twin || !sizes || !picks)
        return false;
    ox_rw_insert(l->rw, node, "Shape", "", node->name, &twin, 1, &sizes, 1);
    ox_rw_clear_attrs(l->rw, node);
    ox_rw_become(l->rw, node, "Gather", "", (struct ox_value *[]){sizes, picks}, 2);
    return true;
}

/* ---- Codes -------------------------------------------------------------------------------------------------------- */

static bool convert_integer_conv(struct ox_twins *l, struct ox_node *node)
{
    struct ox_value *x = node->inputs[0];
    if (!is_any_map(l, x) || ox_attr_int(node, "layout", 0))
        return false;
    set_int(l, node, "layout", OX_IN_LAST | OX_OUT_LAST);
    return move_through(l, node);
}

static bool convert_integer_pool(struct ox_twins *l, struct ox_node *node)
{
    /* Codes have kernels for two axes of pixels alone. */
    if (!ox_twins_is_last(l, node->inputs[0]) || rank_of(l, node->inputs[0]) != 4)
        return false;
    set_int(l, node, "layout", OX_IN_LAST | OX_OUT_LAST);
    return move_through(l, node);
}

static bool convert_integer_pair(struct ox_twins *l, struct ox_node *node)
{
    enum { A = 0, B = 3 };
    struct ox_value *a = node->inputs[A], *b = node->inputs[B];
    const unsigned rank = rank_of(l, a);
    if (!is_any_map(l, a) || !is_any_map(l, b) || rank_of(l, b) != rank ||
        (!ox_twins_is_last(l, a) && !ox_twins_is_last(l, b)))
        return false;
    ox_rw_set_input(l->rw, node, A, ox_twins_last(l, a, node));
    ox_rw_set_input(l->rw, node, B, ox_twins_last(l, b, node));
    ox_twins_makes(l, node, 0, rank);
    return true;
}

/* Its scale and zero point are of the whole tensor. */
static bool convert_dynamic(struct ox_twins *l, struct ox_node *node)
{
    return ox_twins_is_last(l, node->inputs[0]) && is_map(l, node->inputs[0]) &&
           move_through(l, node);
}

static bool convert_lookup(struct ox_twins *l, struct ox_node *node)
{
    return ox_twins_is_last(l, node->inputs[0]) && move_through(l, node);
}

/* ---- The list --------------------------------------------------------------------------------------------------- */

static const struct rule rules[] = {
    {"Abs", convert_unary},
    {"Add", convert_broadcast},
    {"AveragePool", convert_pool},
    {"BatchNormalization", convert_batch_norm},
    {"Clip", convert_unary},
    {"Concat", convert_concat},
    {"DequantizeLinear", convert_unary},
    {"DynamicQuantizeLinear", convert_dynamic},
    {"Div", convert_broadcast},
    {"Elu", convert_unary},
    {"Erf", convert_unary},
    {"Exp", convert_unary},
    {"Gelu", convert_unary},
    {"GlobalAveragePool", convert_pool},
    {"GlobalMaxPool", convert_pool},
    {"HardSigmoid", convert_unary},
    {"HardSwish", convert_unary},
    {"LeakyRelu", convert_unary},
    {"Log", convert_unary},
    {"LogSoftmax", convert_softmax},
    {"Max", convert_broadcast},
    {"MaxPool", convert_pool},
    {"Min", convert_broadcast},
    {"Mish", convert_unary},
    {"Mul", convert_broadcast},
    {"Neg", convert_unary},
    {"PRelu", convert_broadcast},
    {"QuantizeLinear", convert_unary},
    {"Pad", convert_pad},
    {"Pow", convert_broadcast},
    {"ReduceMax", convert_reduce},
    {"ReduceMean", convert_reduce},
    {"ReduceMin", convert_reduce},
    {"ReduceSum", convert_reduce},
    {"Relu", convert_unary},
    {"Reshape", convert_shuffle},
    {"Resize", convert_resize},
    {"Shape", convert_shape},
    {"Sigmoid", convert_unary},
    {"Slice", convert_slice},
    {"Softmax", convert_softmax},
    {"Softplus", convert_unary},
    {"Split", convert_split},
    {"Sqrt", convert_unary},
    {"Squeeze", convert_squeeze},
    {"Sub", convert_broadcast},
    {"Sum", convert_broadcast},
    {"Swish", convert_unary},
    {"Tanh", convert_unary},
    {"Transpose", convert_transpose},
    {"Unsqueeze", convert_squeeze},
};

static const struct rule own_rules[] = {
    {"Activation", convert_unary},         {"FusedConv", convert_conv},
    {"IntegerAdd", convert_integer_pair},  {"IntegerAveragePool", convert_integer_pool},
    {"IntegerConv", convert_integer_conv}, {"IntegerGlobalAveragePool", convert_integer_pool},
    {"IntegerMul", convert_integer_pair},  {"Lookup", convert_lookup},
};

bool ox_twins_convert(struct ox_twins *l, struct ox_node *node)
{
    if (!node->n_inputs || !node->inputs[0] || !node->n_outputs || !node->outputs[0])
        return false;
    for (size_t i = 0; i < OX_COUNT(own_rules); i++)
        if (ox_is_domain_op(node, OX_OWN_DOMAIN, own_rules[i].op_type))
            return own_rules[i].convert(l, node);
    for (size_t i = 0; i < OX_COUNT(rules) && !node->domain[0]; i++)
        if (strcmp(rules[i].op_type, node->op_type) == 0)
            return rules[i].convert(l, node);
    return false;
}
