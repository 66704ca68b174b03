/* The sum of convolutions of one input by constants is one convolution: networks that train several branches a layer (RepVGG,
 * "Making VGG-style ConvNets Great Again", Ding et al. 2021, MobileOne, FastViT) are exported with all of them. The widest window, which
 * holds the others, takes their weights in; batch norm of the input is a window of one element with a weight on the diagonal, and
 * the input itself one of ones. */
#include <string.h>

#include "graph/match.h"
#include "graph/passes/channels.h"

enum { MOST_SPATIAL = 3, MOST_WEIGHTS = 64 << 20 };

/* A convolution that only the sum reads. Weights are [out, in, kernel...], out and in over all groups and of one. */
struct conv {
    struct ox_node *node;
    unsigned spatial;
    int64_t out, in, group;
    int64_t kernel[MOST_SPATIAL], begin[MOST_SPATIAL], dilation[MOST_SPATIAL], stride[MOST_SPATIAL];
};

/* What is added to a convolution, the host: another, or its input times a factor a channel and plus a number, [out] each (NULL: the
 * input itself). `at` is where its window begins in the host's. */
struct term {
    bool is_conv;
    struct conv conv;
    const double *factors, *numbers;
    int64_t at[MOST_SPATIAL];
};

static bool read_axes(const struct ox_node *node, const char *name, unsigned n, size_t given,
                      int64_t fallback, int64_t *out)
{
    size_t n_ints;
    const int64_t *ints = ox_attr_ints(node, name, &n_ints);
    for (unsigned i = 0; i < n; i++)
        out[i] = ints ? ints[i < n_ints ? i : 0] : fallback;
    return !ints || n_ints == given;
}

static bool read_conv(struct ox_rewrite *rw, const struct ox_value *y, struct conv *out)
{
    struct ox_node *node = ox_made_by(rw, y, "Conv", true);
    const struct ox_value *w = node ? ox_input(node, 1) : NULL;
    const struct ox_value *bias = node ? ox_input(node, 2) : NULL;
    const struct ox_stored *stored = w ? ox_rw_stored(rw, w) : NULL;
    const struct ox_stored *stored_bias = bias ? ox_rw_stored(rw, bias) : NULL;
    size_t n;
    if (!stored || stored->dtype != OX_FLOAT32 || stored->rank < 3 ||
        stored->rank > 2 + MOST_SPATIAL || !ox_dims_count(stored->rank, stored->dims, &n) ||
        n == 0 || n > MOST_WEIGHTS || (bias && !stored_bias))
        return false;
    const char *auto_pad = ox_attr_string(node, "auto_pad", "NOTSET");
    *out = (struct conv){.node = node,
                         .spatial = stored->rank - 2,
                         .out = stored->dims[0],
                         .in = stored->dims[1],
                         .group = ox_attr_int(node, "group", 1)};
    for (unsigned d = 0; d < out->spatial; d++)
        out->kernel[d] = stored->dims[2 + d];
    return (strcmp(auto_pad, "NOTSET") == 0 || strcmp(auto_pad, "VALID") == 0) && out->group > 0 &&
           out->out % out->group == 0 &&
           read_axes(node, "pads", out->spatial, 2 * out->spatial, 0, out->begin) &&
           read_axes(node, "dilations", out->spatial, out->spatial, 1, out->dilation) &&
           read_axes(node, "strides", out->spatial, out->spatial, 1, out->stride);
}

/* Where the window of `other` lies in the host's, an element of the input under each element of either; false: not within. */
static bool place(const struct conv *host, const struct conv *other, int64_t *at)
{
    for (unsigned d = 0; d < host->spatial; d++) {
        const int64_t step = host->dilation[d], shift = host->begin[d] - other->begin[d];
        if (host->stride[d] != other->stride[d] || step < 1 || shift < 0 || shift % step ||
            (other->kernel[d] > 1 && other->dilation[d] != step) ||
            shift / step > host->kernel[d] - other->kernel[d])
            return false;
        at[d] = shift / step;
    }
    return true;
}

static int64_t elements(const struct conv *conv)
{
    int64_t n = 1;
    for (unsigned d = 0; d < conv->spatial; d++)
        n *= conv->kernel[d];
    return n;
}

/* Element i of the term's window, as an element of the host's. */
static int64_t within(const struct conv *host, const struct term *term, int64_t i)
{
    int64_t to = 0, scale = 1;
    for (unsigned d = host->spatial; d-- > 0; i /= term->conv.kernel[d]) {
        to += (term->at[d] + i % term->conv.kernel[d]) * scale;
        scale *= host->kernel[d];
    }
    return to;
}

/* ---- What is added ------------------------------------------------------------------------------------------------ */

/* The convolution that makes the value, or what is made of it by constants before it becomes the value; NULL. */
static struct ox_node *conv_behind(const struct ox_rewrite *rw, const struct ox_value *value)
{
    enum { MOST_STEPS = 4 };
    for (int step = 0; step < MOST_STEPS && value && ox_rw_only_user(rw, value); step++) {
        const struct ox_node *node = value->producer;
        if (!node || node->graph != rw->graph || ox_rw_gone(rw, node) || node->n_inputs == 0)
            return NULL;
        if (ox_is_op(node, "Conv"))
            return value->producer;
        const bool norm = ox_is_op(node, "BatchNormalization");
        if (!norm && (node->n_inputs != 2 || !(ox_is_op(node, "Mul") || ox_is_op(node, "Add") ||
                                               ox_is_op(node, "Sub") || ox_is_op(node, "Div"))))
            return NULL;
        value = node->inputs[!norm && node->inputs[0] && ox_rw_stored(rw, node->inputs[0])];
    }
    return NULL;
}

static struct ox_node *norm_of(const struct ox_rewrite *rw, const struct ox_value *value,
                               const struct ox_value *x)
{
    struct ox_node *norm = ox_made_by(rw, value, "BatchNormalization", true);
    return norm && norm->inputs[0] == x && ox_batch_norm_is_affine(rw, norm) ? norm : NULL;
}

/* Whether `value` may be a term of what `conv` is added to. */
static bool is_of_input(const struct ox_rewrite *rw, const struct ox_node *conv,
                        const struct ox_value *value)
{
    const struct ox_value *x = ox_input(conv, 0);
    const struct ox_node *other = conv_behind(rw, value);
    return x && (value == x || norm_of(rw, value, x) || (other && ox_input(other, 0) == x));
}

/* The value as something to be added to the host. The input itself is left alone where the host is over many channels: there it is
 * added as a residual for nothing, and exactly. */
static bool read_term(struct ox_rewrite *rw, const struct conv *host, const struct ox_value *value,
                      struct term *out)
{
    const struct ox_value *x = host->node->inputs[0];
    struct conv *conv = &out->conv;
    *out = (struct term){0};
    out->is_conv = read_conv(rw, value, conv);
    if (out->is_conv)
        return conv->node->inputs[0] == x && conv->spatial == host->spatial &&
               conv->group == host->group && conv->out == host->out && conv->in == host->in &&
               place(host, conv, out->at);
    *conv = (struct conv){.spatial = host->spatial};
    for (unsigned d = 0; d < host->spatial; d++)
        conv->kernel[d] = conv->stride[d] = conv->dilation[d] = 1;
    if (host->out != host->in * host->group || !place(host, conv, out->at))
        return false;
    if (value == x)
        return host->in == 1;
    const struct ox_node *norm = norm_of(rw, value, x);
    out->factors = norm ? ox_batch_norm_factors(rw, norm, host->out) : NULL;
    out->numbers = out->factors ? out->factors + host->out : NULL;
    return out->factors;
}

/* Adds the term's weights of output channel c, times sign, to the host's. */
static void add_filter(const struct conv *host, const struct term *term, const float *weights,
                       int64_t c, double sign, float *to)
{
    const int64_t n = elements(&term->conv), of_host = elements(host);
    if (!term->is_conv) {
        float *own = to + c % host->in * of_host + within(host, term, 0);
        *own = (float)(*own + sign * (term->factors ? term->factors[c] : 1));
        return;
    }
    weights += c * host->in * n;
    for (int64_t i = 0; i < n; i++) {
        float *first = to + within(host, term, i);
        for (int64_t k = 0; k < host->in; k++)
            first[k * of_host] = (float)(first[k * of_host] + sign * (double)weights[k * n + i]);
    }
}

/* sign[0] times the host's weights plus sign[1] times the term's; NULL. */
static struct ox_value *merged_weights(struct ox_rewrite *rw, const struct conv *host,
                                       const struct term *term, const double *sign)
{
    const struct ox_value *w = host->node->inputs[1];
    const struct ox_tensor *old = ox_rw_const(rw, w);
    const struct ox_tensor *other =
        term->is_conv ? ox_rw_const(rw, term->conv.node->inputs[1]) : NULL;
    const int64_t n = host->in * elements(host);
    struct ox_tensor *tensor = NULL;
    if (!old || (term->is_conv && !other) ||
        ox_tensor_new(&tensor, ox_env_budget(rw->env), OX_FLOAT32, old->rank, old->dims, NULL) !=
            OX_OK)
        return NULL;
    for (int64_t c = 0; c < host->out; c++) {
        const float *from = (const float *)old->data + c * n;
        float *to = (float *)tensor->data + c * n;
        for (int64_t i = 0; i < n; i++)
            to[i] = (float)sign[0] * from[i];
        add_filter(host, term, other ? other->data : NULL, c, sign[1], to);
    }
    struct ox_value *out = ox_rw_constant(rw, w->name, tensor);
    ox_tensor_release(tensor);
    return out;
}

/* Adds a convolution's bias, times sign, to out[n]. false: it cannot be read. */
static bool add_bias(struct ox_rewrite *rw, const struct ox_value *bias, int64_t n, double sign,
                     double *out)
{
    double *values = ox_rw_scratch(rw, (size_t)n, sizeof *values);
    if (!values || !ox_channel_vector(rw, bias, n, values))
        return false;
    for (int64_t c = 0; c < n; c++)
        out[c] += sign * values[c];
    return true;
}

/* The sum's bias; *out is NULL where nothing has one. */
static bool merged_bias(struct ox_rewrite *rw, const struct conv *host, const struct term *term,
                        const double *sign, const char *name, struct ox_value **out)
{
    const struct ox_value *own = ox_input(host->node, 2);
    const struct ox_value *other = term->is_conv ? ox_input(term->conv.node, 2) : NULL;
    double *sum = ox_rw_scratch(rw, (size_t)host->out, sizeof *sum);
    *out = NULL;
    if (!sum || (own && !add_bias(rw, own, host->out, sign[0], sum)) ||
        (other && !add_bias(rw, other, host->out, sign[1], sum)))
        return false;
    for (int64_t c = 0; term->numbers && c < host->out; c++)
        sum[c] += sign[1] * term->numbers[c];
    if (!own && !other && !term->numbers)
        return true;
    *out = ox_rounded_constant(rw, own ? own->name : name, OX_FLOAT32, 1, &host->out, sum);
    return *out;
}

/* Whether a run saves more than it takes to write the new weights: some 150 multiplications' time a weight, where an element less to
 * be added saves 65. Always where there are many runs. */
static bool is_worth(struct ox_rewrite *rw, const struct conv *host, const struct term *term,
                     const struct ox_value *y)
{
    const double per_output = 65 + (term->is_conv ? (double)(host->in * elements(&term->conv)) : 0);
    double places = 1;
    for (unsigned d = 0; rw->once && d < host->spatial; d++)
        places *= (double)ox_dim_of(rw, y, 2 + (int)d);
    return !rw->once || places * per_output >= 150 * (double)(host->in * elements(host));
}

/* ---- The sum ------------------------------------------------------------------------------------------------------ */

/* Weights are large: what nothing uses any more goes before the next ones are made. */
static void drop_unused(struct ox_rewrite *rw, struct ox_value *weights)
{
    if (ox_rw_stored(rw, weights) && weights->graph == rw->graph && !weights->is_input &&
        !ox_rw_is_pinned(rw, weights) && ox_rw_n_uses(rw, weights) == 0)
        ox_rw_drop_const(rw, weights);
}

/* Whether `host`, an input of the sum, took the other in; each has its sign. */
static bool merge(struct ox_rewrite *rw, struct ox_node *sum, const struct ox_value *host_value,
                  struct ox_value *other, const double *sign)
{
    struct conv host;
    struct term term;
    if (!read_conv(rw, host_value, &host) || !ox_rw_only_user(rw, host.node->inputs[1]) ||
        !read_term(rw, &host, other, &term) || !is_worth(rw, &host, &term, sum->outputs[0]))
        return false;
    struct ox_node *gone = other == host.node->inputs[0] ? NULL : other->producer;
    struct ox_value *y = sum->outputs[0], *w = host.node->inputs[1];
    struct ox_value *in[3] = {host.node->inputs[0]};
    if (!merged_bias(rw, &host, &term, sign, y->name, &in[2]))
        return false;
    in[1] = merged_weights(rw, &host, &term, sign);
    if (!in[1])
        return false;
    ox_rw_become(rw, host.node, "Conv", "", in, in[2] ? 3 : 2);
    ox_rw_remove(rw, sum);
    drop_unused(rw, w);
    if (gone) {
        w = gone->inputs[1];
        ox_rw_remove(rw, gone);
        drop_unused(rw, w);
    }
    ox_rw_set_output(rw, host.node, 0, y);
    return true;
}

/* The sum or difference of two values of one shape. */
static bool is_sum(struct ox_rewrite *rw, const struct ox_node *node)
{
    return (ox_is_op(node, "Add") || ox_is_op(node, "Sub") || ox_is_op(node, "Sum")) &&
           node->n_inputs == 2 && node->inputs[0] && node->inputs[1] &&
           ox_same_shape(rw, node->inputs[0], node->inputs[1]);
}

static void look_at(struct ox_rewrite *rw, struct ox_node *node)
{
    if (!is_sum(rw, node))
        return;
    for (size_t i = 0; i < 2; i++) {
        struct ox_node *conv = conv_behind(rw, node->inputs[i]);
        struct ox_node *other = conv_behind(rw, node->inputs[1 - i]);
        if (!conv || !is_of_input(rw, conv, node->inputs[1 - i]))
            continue;
        while (conv->outputs[0] != node->inputs[i] && ox_fold_next(rw, conv))
            ;
        while (other && other->outputs[0] != node->inputs[1 - i] && ox_fold_next(rw, other))
            ;
        const double minus = ox_is_op(node, "Sub") ? -1 : 1;
        const double sign[2] = {i == 0 ? 1 : minus, i == 0 ? minus : 1};
        if (merge(rw, node, node->inputs[i], node->inputs[1 - i], sign))
            return;
    }
}

enum ox_status ox_pass_merge_convolutions(struct ox_rewrite *rw, struct ox_graph *graph,
                                          struct ox_error *err)
{
    return ox_rw_each(rw, graph, NULL, look_at, err);
}
