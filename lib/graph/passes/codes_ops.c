/* Operators between dequantized values become operators of our own domain that work on the codes: convolutions, products, sums and
 * products of two tensors, averages. Where no QuantizeLinear follows, convolutions and products give floats. */
#include <math.h>
#include <string.h>

#include "graph/passes/codes.h"

/* Where a result goes: through a Relu or Clip, and a QuantizeLinear, as far as nobody else sees what is between. */
struct sink {
    struct ox_node *clamp, *taken; /* NULL: none */
    struct ox_value *out;
    struct ox_codes codes; /* with taken */
    float least, most;
};

static bool clamps(struct ox_rewrite *rw, const struct ox_node *node, struct sink *sink)
{
    const char *name;
    float least, most;
    if (!node || !ox_activation_of(rw, node, &name, &least, &most) ||
        (strcmp(name, "Relu") != 0 && strcmp(name, "Clip") != 0))
        return false;
    const bool relu = strcmp(name, "Relu") == 0;
    sink->least = relu ? 0 : least;
    sink->most = relu ? INFINITY : most;
    return true;
}

static struct sink follow(struct ox_rewrite *rw, struct ox_value *value)
{
    struct sink sink = {.out = value, .least = -INFINITY, .most = INFINITY};
    struct ox_node *next = ox_rw_only_user(rw, value);
    if (clamps(rw, next, &sink) && next->inputs[0] == value) {
        sink.clamp = next;
        sink.out = next->outputs[0];
    }
    sink.taken = ox_codes_taken(rw, sink.out, &sink.codes);
    if (sink.taken)
        sink.out = sink.taken->outputs[0];
    return sink;
}

static void set_int(struct ox_rewrite *rw, struct ox_node *node, const char *name, int64_t value)
{
    rw->failed |= !ox_node_set_int(node, name, value);
}

/* The node makes what the sink made, within its limits. */
static void end_in(struct ox_rewrite *rw, struct ox_node *node, const struct sink *sink)
{
    const int low = sink->codes.dtype == OX_INT8 ? -128 : 0;
    if (sink->clamp)
        ox_rw_remove(rw, sink->clamp);
    if (sink->taken) {
        ox_rw_remove(rw, sink->taken);
        set_int(rw, node, "lo",
                isinf(sink->least) ? low : ox_codes_round(&sink->codes, sink->least));
        set_int(rw, node, "hi",
                isinf(sink->most) ? low + 255 : ox_codes_round(&sink->codes, sink->most));
    } else if (sink->clamp) {
        rw->failed |= !ox_node_set_float(node, "least", sink->least) ||
                      !ox_node_set_float(node, "most", sink->most);
    }
    ox_rw_set_output(rw, node, 0, sink->out);
}

/* ---- Biases ------------------------------------------------------------------------------------------------------- */

/* A constant of n floats, as a list of them; NULL: it is none. */
static struct ox_value *float_list(struct ox_rewrite *rw, struct ox_value *value, int64_t n)
{
    const struct ox_tensor *tensor = value ? ox_const_floats(rw, value) : NULL;
    if (!tensor || tensor->n != (size_t)n)
        return NULL;
    return tensor->rank == 1 ? value : ox_rw_floats(rw, value->name, 1, &n, tensor->data);
}

/* Of the sums of channel j. */
static double unit_of(const struct ox_codes *x, const struct ox_tensor *w_scale, size_t j)
{
    return x->scale_is * (double)((const float *)w_scale->data)[w_scale->n > 1 ? j : 0];
}

/* A bias in int32 with its scales: the codes themselves where the scales are those of the sums, else floats. NULL: it is none. */
static struct ox_value *integer_list(struct ox_rewrite *rw, const struct ox_node *node, int64_t n,
                                     const struct ox_codes *x, const struct ox_tensor *w_scale)
{
    struct ox_value *codes = ox_input(node, 0);
    const struct ox_tensor *whole = codes ? ox_rw_const(rw, codes) : NULL;
    const struct ox_tensor *scale = ox_const_floats(rw, ox_input(node, 1));
    const struct ox_tensor *zero = ox_input(node, 2) ? ox_rw_const(rw, node->inputs[2]) : NULL;
    if (!whole || whole->dtype != OX_INT32 || whole->n != (size_t)n || !scale ||
        (scale->n != 1 && scale->n != (size_t)n) || ox_attr_int(node, "block_size", 0))
        return NULL;
    for (size_t i = 0; zero && i < zero->n; i++)
        if (ox_tensor_get_double(zero, i) != 0)
            return NULL;
    float *floats = ox_rw_scratch(rw, (size_t)n, sizeof *floats);
    bool same = whole->rank == 1;
    for (int64_t j = 0; floats && j < n; j++) {
        const float s = ((const float *)scale->data)[scale->n > 1 ? j : 0];
        const double unit = unit_of(x, w_scale, (size_t)j);
        same = same && fabs((double)s - unit) <= 1e-6 * unit;
        floats[j] = (float)((const int32_t *)whole->data)[j] * s;
    }
    return same ? codes : floats ? ox_rw_floats(rw, codes->name, 1, &n, floats) : NULL;
}

static struct ox_value *bias_of(struct ox_rewrite *rw, struct ox_value *value, int64_t n,
                                const struct ox_codes *x, const struct ox_codes *w)
{
    const struct ox_tensor *w_scale = ox_const_floats(rw, w->scale);
    if (!w_scale)
        return NULL;
    return ox_is_dequantize(value->producer) ? integer_list(rw, value->producer, n, x, w_scale)
                                             : float_list(rw, value, n);
}

/* Whether a bias leaves room for sums beside it, in their units, where they become codes. Units are tiny where a channel's weights are
 * 0. */
static bool has_room(struct ox_rewrite *rw, const struct ox_value *list, const struct ox_codes *x,
                     const struct ox_codes *w, const struct sink *sink)
{
    const struct ox_tensor *bias = list && sink->taken ? ox_const_floats(rw, list) : NULL;
    const struct ox_tensor *scale = bias ? ox_const_floats(rw, w->scale) : NULL;
    for (size_t j = 0; scale && j < bias->n; j++) {
        const double unit = unit_of(x, scale, j);
        if (!(fabs((double)((const float *)bias->data)[j]) < unit * (1 << 30)))
            return false;
    }
    return true;
}

/* ---- Convolutions and products ------------------------------------------------------------------------------------ */

static void become(struct ox_rewrite *rw, struct ox_node *node, const char *op_type,
                   const struct ox_codes *x, const struct ox_codes *w, struct ox_value *bias,
                   const struct sink *sink)
{
    struct ox_value *in[9] = {x->codes, x->scale, x->zero, w->codes, w->scale, w->zero};
    if (sink->taken) {
        in[6] = sink->codes.scale;
        in[7] = sink->codes.zero;
    }
    in[8] = bias;
    ox_rw_become(rw, node, op_type, OX_OWN_DOMAIN, in, bias ? 9 : in[7] ? 8 : in[6] ? 7 : 6);
    end_in(rw, node, sink);
}

/* See ox_integer_conv_can(). */
static bool has_few_taps(const struct ox_node *node, const struct ox_stored *weights)
{
    enum { TAPS = 256 };
    size_t n;
    const int64_t *dilations = ox_attr_ints(node, "dilations", &n);
    const bool side_by_side =
        ox_attr_int(node, "group", 1) == 1 && (!dilations || (n && dilations[n - 1] == 1));
    int64_t taps = 1;
    for (unsigned d = 2; d < weights->rank; d++) {
        if (weights->dims[d] < 1)
            return false;
        if (d + 1 < weights->rank || !side_by_side)
            taps = weights->dims[d] > TAPS ? TAPS + 1 : taps * weights->dims[d];
    }
    return taps <= TAPS;
}

static bool on_conv(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_codes x, w;
    struct ox_value *bias = ox_input(node, 2), *list = NULL;
    if (!ox_codes_of_one(rw, ox_input(node, 0), &x) || !ox_codes_of(rw, ox_input(node, 1), &w) ||
        (!w.one && w.axis != 0))
        return false;
    const struct ox_stored *weights = ox_rw_stored(rw, w.codes);
    if (!weights || weights->rank < 3 || weights->rank > 5 || ox_rw_stored(rw, x.codes) ||
        ox_rank_of(rw, x.codes) != (int)weights->rank)
        return false;
    if (!has_few_taps(node, weights) || weights->dims[1] < 1)
        return false;
    const struct sink sink = follow(rw, node->outputs[0]);
    if (bias && (!(list = bias_of(rw, bias, weights->dims[0], &x, &w)) ||
                 !has_room(rw, list, &x, &w, &sink)))
        return false;
    become(rw, node, "IntegerConv", &x, &w, list, &sink);
    return true;
}

/* Whether the codes' scales are one, or one a column of a matrix of weights. */
static bool is_right_side(struct ox_rewrite *rw, const struct ox_codes *w, int columns)
{
    const struct ox_stored *stored = ox_rw_stored(rw, w->codes);
    if (w->one)
        return true;
    return stored && stored->rank == 2 && (w->axis + 2) % 2 == columns;
}

/* What is added to a product by columns, if nobody else sees the bare one. */
static struct ox_node *added(struct ox_rewrite *rw, const struct ox_node *node, int64_t n,
                             struct ox_value **list)
{
    struct ox_node *add = ox_used_by(rw, node->outputs[0], "Add");
    struct ox_value *other = add ? ox_other_input(add, node->outputs[0]) : NULL;
    const struct ox_stored *stored = other ? ox_rw_stored(rw, other) : NULL;
    if (!stored || stored->rank < 1 || stored->dims[stored->rank - 1] != n ||
        (int)stored->rank > ox_rank_of(rw, node->outputs[0]))
        return NULL;
    *list = float_list(rw, other, n);
    return *list ? add : NULL;
}

/* ... or by channels, which are axis 1. */
static struct ox_node *added_channels(struct ox_rewrite *rw, const struct ox_node *node, int64_t n,
                                      struct ox_value **list)
{
    const int rank = ox_rank_of(rw, node->outputs[0]);
    struct ox_node *add = ox_used_by(rw, node->outputs[0], "Add");
    struct ox_value *other = add ? ox_other_input(add, node->outputs[0]) : NULL;
    const struct ox_stored *stored = other ? ox_rw_stored(rw, other) : NULL;
    const int missing = stored ? rank - (int)stored->rank : -1;
    if (!stored || rank < 3 || missing < 0 || missing > 1 || stored->dims[1 - missing] != n)
        return NULL;
    *list = float_list(rw, other, n);
    return *list ? add : NULL;
}

/* Codes of weights that a Transpose turns are taken as they are stored. */
static bool take_turned(struct ox_rewrite *rw, struct ox_codes *codes)
{
    bool turned = false;
    struct ox_value *matrix = ox_matrix_behind(rw, codes->codes, &turned);
    if (!matrix || !turned)
        return false;
    codes->codes = matrix;
    codes->axis = 1 - (codes->axis + 2) % 2;
    return true;
}

static bool on_matmul(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_codes a, b;
    struct ox_value *list = NULL;
    if (!ox_codes_of_one(rw, ox_input(node, 0), &a) || !ox_codes_of(rw, ox_input(node, 1), &b))
        return false;
    const bool turned = take_turned(rw, &b);
    if (!is_right_side(rw, &b, !turned) || ox_rank_of(rw, a.codes) < 2 ||
        ox_rank_of(rw, b.codes) < 2 || ox_rw_stored(rw, a.codes))
        return false;
    const struct ox_stored *weights = ox_rw_stored(rw, b.codes);
    struct ox_node *add =
        weights && weights->rank == 2 ? added(rw, node, weights->dims[!turned], &list) : NULL;
    struct sink sink = follow(rw, add ? add->outputs[0] : node->outputs[0]);
    if (add && !has_room(rw, list, &a, &b, &sink)) {
        add = NULL;
        list = NULL;
        sink = follow(rw, node->outputs[0]);
    }
    if (add)
        ox_rw_remove(rw, add);
    if (turned)
        set_int(rw, node, "transB", 1);
    become(rw, node, "IntegerMatMul", &a, &b, list, &sink);
    return true;
}

static bool on_gemm(struct ox_rewrite *rw, struct ox_node *node)
{
    const int turned = ox_attr_int(node, "transB", 0) != 0;
    struct ox_codes a, b;
    struct ox_value *bias = ox_input(node, 2), *list = NULL;
    if (!ox_codes_of_one(rw, ox_input(node, 0), &a) || !ox_codes_of(rw, ox_input(node, 1), &b) ||
        !is_right_side(rw, &b, !turned) || ox_attr_int(node, "transA", 0) ||
        ox_attr_float(node, "alpha", 1) != 1 || ox_attr_float(node, "beta", 1) != 1 ||
        ox_rw_stored(rw, a.codes))
        return false;
    const struct ox_stored *weights = ox_rw_stored(rw, b.codes);
    if (!weights || weights->rank != 2)
        return false;
    const struct sink sink = follow(rw, node->outputs[0]);
    if (bias && (!(list = bias_of(rw, bias, weights->dims[!turned], &a, &b)) ||
                 !has_room(rw, list, &a, &b, &sink)))
        return false;
    become(rw, node, "IntegerMatMul", &a, &b, list, &sink);
    return true;
}

/* ---- Two tensors -------------------------------------------------------------------------------------------------- */

static bool on_pair(struct ox_rewrite *rw, struct ox_node *node)
{
    const bool sub = ox_is_op(node, "Sub");
    struct ox_codes a, b;
    if (node->n_inputs != 2 || !ox_codes_of_one(rw, node->inputs[0], &a) ||
        !ox_codes_of_one(rw, node->inputs[1], &b) || a.dtype != b.dtype)
        return false;
    const struct sink sink = follow(rw, node->outputs[0]);
    if (!sink.taken || sink.codes.dtype != a.dtype)
        return false;
    if (sub) { /* adds what has a negative scale */
        const float scale = (float)-b.scale_is;
        b.scale = ox_rw_floats(rw, b.scale->name, 0, NULL, &scale);
        if (!b.scale)
            return true;
    }
    struct ox_value *in[8] = {a.codes, a.scale, a.zero,           b.codes,
                              b.scale, b.zero,  sink.codes.scale, sink.codes.zero};
    ox_rw_become(rw, node, ox_is_op(node, "Mul") ? "IntegerMul" : "IntegerAdd", OX_OWN_DOMAIN, in,
                 in[7] ? 8 : 7);
    end_in(rw, node, &sink);
    return true;
}

/* ---- Averages ----------------------------------------------------------------------------------------------------- */

static bool on_average(struct ox_rewrite *rw, struct ox_node *node)
{
    struct ox_codes x;
    if (!ox_codes_of_one(rw, ox_input(node, 0), &x) || ox_rank_of(rw, x.codes) != 4)
        return false;
    const struct sink sink = follow(rw, node->outputs[0]);
    if (!sink.taken || sink.clamp || sink.codes.dtype != x.dtype)
        return false;
    struct ox_value *in[5] = {x.codes, x.scale, x.zero, sink.codes.scale, sink.codes.zero};
    ox_rw_become(rw, node,
                 ox_is_op(node, "AveragePool") ? "IntegerAveragePool" : "IntegerGlobalAveragePool",
                 OX_OWN_DOMAIN, in, in[4] ? 5 : 4);
    end_in(rw, node, &sink);
    return true;
}

/* ---- Dynamic quantization ----------------------------------------------------------------------------------------- */

/* Constant scales that broadcasting to `rank` axes puts along one of n: as one element, or as a list; NULL: they are no such. */
static struct ox_value *scales_along(struct ox_rewrite *rw, struct ox_value *value, unsigned rank,
                                     unsigned axis, int64_t n)
{
    const struct ox_stored *stored = ox_rw_stored(rw, value);
    bool one = true;
    if (!stored || stored->rank > rank)
        return NULL;
    for (unsigned d = 0; d < stored->rank; d++) {
        if (stored->dims[d] != 1 && (d + rank - stored->rank != axis || stored->dims[d] != n))
            return NULL;
        one &= stored->dims[d] == 1;
    }
    return one ? value : float_list(rw, value, n);
}

/* The scales of both sides that `by` multiplies; where it is a constant, 1 and that. */
static bool read_scales(struct ox_rewrite *rw, struct ox_value *by, struct ox_value **a_scale,
                        struct ox_value **w_scale)
{
    static const float one = 1;
    const struct ox_node *scales = ox_made_by(rw, by, "Mul", false);
    if (ox_rw_stored(rw, by)) {
        *a_scale = ox_rw_floats(rw, by->name, 0, NULL, &one);
        *w_scale = by;
        return *a_scale != NULL;
    }
    if (!scales || !ox_input(scales, 0) || !ox_input(scales, 1))
        return false;
    const int which = ox_rw_stored(rw, scales->inputs[1]) != NULL;
    *a_scale = scales->inputs[!which];
    *w_scale = scales->inputs[which];
    return true;
}

/* Cast(MatMulInteger(a, w)) * (a_scale * w_scale) + bias: all of it is one product with a float result. */
static bool on_integer(struct ox_rewrite *rw, struct ox_node *node)
{
    const bool conv = ox_is_op(node, "ConvInteger");
    struct ox_node *cast = ox_used_by(rw, node->outputs[0], "Cast");
    struct ox_node *mul = cast ? ox_used_by(rw, cast->outputs[0], "Mul") : NULL;
    struct ox_value *by = mul ? ox_other_input(mul, cast->outputs[0]) : NULL, *list = NULL;
    struct ox_value *a_scale, *w_scale;
    struct ox_codes w = {.codes = ox_input(node, 1)};
    const bool turned = !conv && take_turned(rw, &w);
    const struct ox_stored *weights = ox_rw_stored(rw, w.codes);
    if (!by || ox_attr_int(cast, "to", 0) != OX_FLOAT32 || !weights ||
        ox_dtype_of_value(rw, by) != OX_FLOAT32 || !read_scales(rw, by, &a_scale, &w_scale))
        return false;
    const int64_t n = weights->rank ? weights->dims[conv || turned ? 0 : weights->rank - 1] : 0;
    w_scale = scales_along(rw, w_scale, conv ? weights->rank : 1, conv, n);
    const bool shaped =
        conv ? weights->rank >= 3 && weights->rank <= 5 && has_few_taps(node, weights)
             : weights->rank == 2;
    if (!w_scale || !shaped || ox_rank_of(rw, a_scale) != 0 || ox_rank_of(rw, node->inputs[0]) < 2)
        return false;
    struct ox_value *zero = ox_input(node, 3);
    if ((zero && !ox_rw_stored(rw, zero)) ||
        (ox_input(node, 2) && ox_rank_of(rw, node->inputs[2]) != 0))
        return false;
    const struct ox_node *maker = a_scale->producer;
    if (maker && maker->index >= node->index) /* the product would come before its scale */
        return false;
    struct ox_node *add = (conv ? added_channels : added)(rw, mul, n, &list);
    const struct ox_codes x = {
        .codes = node->inputs[0], .scale = a_scale, .zero = ox_input(node, 2)};
    w.scale = w_scale;
    w.zero = zero;
    const struct sink sink = {
        .out = add ? add->outputs[0] : mul->outputs[0], .least = -INFINITY, .most = INFINITY};
    ox_rw_remove(rw, cast);
    ox_rw_remove(rw, mul);
    if (add)
        ox_rw_remove(rw, add);
    if (conv) /* see saturates() of ops/int8/int8.c */
        set_int(rw, node, "exact", 1);
    if (turned)
        set_int(rw, node, "transB", 1);
    become(rw, node, conv ? "IntegerConv" : "IntegerMatMul", &x, &w, list, &sink);
    return true;
}

static const struct {
    const char *op_type;
    bool (*rewrite)(struct ox_rewrite *rw, struct ox_node *node);
} rules[] = {
    {"Add", on_pair},      {"AveragePool", on_average},
    {"Conv", on_conv},     {"ConvInteger", on_integer},
    {"Gemm", on_gemm},     {"GlobalAveragePool", on_average},
    {"MatMul", on_matmul}, {"MatMulInteger", on_integer},
    {"Mul", on_pair},      {"Sub", on_pair},
};

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    for (size_t k = 0; node->outputs[0] && k < OX_COUNT(rules); k++)
        if (ox_is_op(node, rules[k].op_type) && rules[k].rewrite(rw, node))
            return;
}

enum ox_status ox_pass_codes_ops(struct ox_rewrite *rw, struct ox_graph *graph,
                                 struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
