/* Whether rows of an array are samples: inputs of models of signals often begin with time. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/match.h"
#include "model/value.h"
#include "quant/samples.h"

/* The axis of a Transpose's output that its input's axis becomes; -1: not known. */
static int transposed(const struct ox_node *node, int axis, unsigned rank)
{
    const struct ox_attr *perm = ox_node_attr(node, "perm");
    if (!perm)
        return (int)rank - 1 - axis;
    for (size_t i = 0; perm->type == OX_ATTR_INTS && i < perm->n; i++)
        if (perm->ints[i] == axis)
            return (int)i;
    return -1;
}

/* The axes that an Unsqueeze or Squeeze names, a bit each, of a tensor of that rank; 0: not known. */
static uint64_t axes_of(const struct ox_node *node, unsigned rank)
{
    size_t n;
    const int64_t *axes = ox_attr_ints(node, "axes", &n);
    struct ox_tensor *loaded = NULL;
    struct ox_error ignored;
    const struct ox_stored *stored =
        !axes && node->n_inputs > 1 ? ox_value_stored(node->inputs[1]) : NULL;
    if (stored && stored->dtype == OX_INT64 &&
        ox_stored_load(node->graph->model, stored, &loaded, &ignored) == OX_OK) {
        axes = loaded->data;
        n = loaded->n;
    }
    uint64_t set = 0;
    for (size_t i = 0; axes && i < n; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        set = axis < 0 || axis >= rank || (i && !set) ? 0 : set | (uint64_t)1 << axis;
    }
    ox_tensor_release(loaded);
    return set;
}

static unsigned count_bits(uint64_t bits)
{
    unsigned n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

enum { MOST_RANK = 32 };

/* An axis of a tensor of at most that rank: what its rows are is followed from node to node. */
struct followed {
    int axis;
    unsigned rank;
};

static bool unsqueezed(const struct ox_node *node, struct followed *at)
{
    size_t n = 0;
    const struct ox_stored *stored = node->n_inputs > 1 ? ox_value_stored(node->inputs[1]) : NULL;
    if (!ox_attr_ints(node, "axes", &n) && (!stored || stored->rank > 1))
        return false;
    const unsigned rank = at->rank + (n              ? (unsigned)n
                                      : stored->rank ? (unsigned)stored->dims[0]
                                                     : 1);
    const uint64_t added = rank <= MOST_RANK ? axes_of(node, rank) : 0;
    if (!added)
        return false;
    int axis = at->axis;
    for (int i = 0; i <= axis; i++)
        axis += added >> i & 1;
    *at = (struct followed){axis, rank};
    return true;
}

static bool squeezed(const struct ox_node *node, struct followed *at)
{
    const uint64_t gone = axes_of(node, at->rank);
    if (!gone || gone >> at->axis & 1)
        return false;
    *at = (struct followed){at->axis - (int)count_bits(gone & (((uint64_t)1 << at->axis) - 1)),
                            at->rank - count_bits(gone)};
    return true;
}

/* Whether the node computes each place along the axis by itself, and where that axis then is. */
static bool passes(const struct ox_node *node, struct followed *at)
{
    static const char *const alone[] = {"Identity", "Cast",      "Pad", "BatchNormalization",
                                        "Relu",     "LeakyRelu", "Elu", "Selu",
                                        "Tanh",     "Sigmoid",   "Abs", "Sqrt",
                                        "Log",      "Exp",       "Neg", "Clip",
                                        NULL};
    static const char *const both[] = {"Add", "Sub", "Mul", "Div", "Pow", NULL};
    if (ox_is_op(node, "Unsqueeze"))
        return unsqueezed(node, at);
    if (ox_is_op(node, "Squeeze"))
        return squeezed(node, at);
    if (ox_is_op(node, "Transpose")) {
        at->axis = transposed(node, at->axis, at->rank);
        return at->axis >= 0 && at->axis < (int)at->rank;
    }
    const struct ox_stored *other = node->n_inputs > 1 ? ox_value_stored(node->inputs[1]) : NULL;
    if (ox_is_op(node, "MatMul"))
        return other && other->rank == 2 && at->axis + 1 < (int)at->rank;
    return ox_is_any_op(node, alone) ||
           (ox_is_any_op(node, both) && other && other->rank <= at->rank);
}

/* Whether what the node makes of one place along the axis depends on its neighbours. */
static bool slides(const struct ox_node *node, struct followed at)
{
    static const char *const pools[] = {"MaxPool", "AveragePool", NULL};
    if (at.axis < 2)
        return false;
    if (ox_is_op(node, "Conv") && node->n_inputs > 1) {
        const struct ox_stored *weights = ox_value_stored(node->inputs[1]);
        return weights && weights->rank == at.rank && weights->dims[at.axis] > 1;
    }
    size_t n;
    const int64_t *kernel =
        ox_is_any_op(node, pools) ? ox_attr_ints(node, "kernel_shape", &n) : NULL;
    return kernel && n + 2 == at.rank && kernel[at.axis - 2] > 1;
}

/* Whether that axis of the value is what an LSTM, GRU or RNN goes along, or with `windows` a convolution or a pool, through what
 * leaves places along it apart. */
static bool is_walked(const struct ox_value *value, struct followed at, bool windows, int depth)
{
    enum { MOST_DEEP = 12 };
    const struct ox_graph *graph = value->graph;
    for (size_t i = 0; i < graph->n_nodes && depth < MOST_DEEP; i++) {
        const struct ox_node *node = graph->nodes[i];
        struct followed to = at;
        if (*node->domain || !node->n_inputs || node->inputs[0] != value || !node->n_outputs)
            continue;
        const char *op = node->op_type;
        if (strcmp(op, "LSTM") == 0 || strcmp(op, "GRU") == 0 || strcmp(op, "RNN") == 0) {
            const struct ox_attr *layout = ox_node_attr(node, "layout");
            return at.axis == (layout && layout->type == OX_ATTR_INT && layout->i == 1);
        }
        if ((windows && slides(node, at)) || (node->outputs[0] && passes(node, &to) &&
                                              is_walked(node->outputs[0], to, windows, depth + 1)))
            return true;
    }
    return false;
}

enum called { NEITHER, BATCH, TIME };

/* By its name. */
static enum called called(const struct ox_expr *dim)
{
    static const struct {
        const char *part, *whole;
        enum called what;
    } words[] = {{"batch", "b", BATCH}, {"sample", "n", BATCH}, {"seq", "t", TIME},
                 {"time", "s", TIME},   {"frame", "len", TIME}, {"step", "length", TIME}};
    const char *symbol;
    char name[64];
    size_t n = 0;
    if (!ox_expr_is_symbol(dim, &symbol))
        return NEITHER;
    for (; symbol[n] && n + 1 < sizeof name; n++)
        name[n] = (char)tolower((unsigned char)symbol[n]);
    name[n] = '\0';
    for (size_t i = 0; i < OX_COUNT(words); i++)
        if (strstr(name, words[i].part) || strcmp(name, words[i].whole) == 0)
            return words[i].what;
    return NEITHER;
}

static enum ox_first_axis first_axis(const struct ox_value *input)
{
    const struct ox_type *type = input->type;
    if (!type || !type->has_rank || !type->rank || type->rank > MOST_RANK ||
        ox_expr_is_int(type->dims[0], NULL))
        return OX_FIRST_SAMPLES;
    if (is_walked(input, (struct followed){0, type->rank}, true, 0))
        return OX_FIRST_TIME;
    bool slid = false;
    for (unsigned i = 1; i < type->rank; i++) {
        const struct followed at = {(int)i, type->rank};
        if (is_walked(input, at, false, 0))
            return OX_FIRST_SAMPLES;
        slid |= is_walked(input, at, true, 0);
    }
    const enum called first = called(type->dims[0]);
    if (first != NEITHER)
        return first == TIME ? OX_FIRST_TIME : OX_FIRST_SAMPLES;
    bool open = (type->rank == 2 || type->rank == 3) && !ox_expr_is_int(type->dims[1], NULL);
    return open && !slid && called(type->dims[1]) != TIME ? OX_FIRST_OPEN : OX_FIRST_SAMPLES;
}

enum ox_first_axis *ox_first_axes(const struct ox_model *model)
{
    const struct ox_graph *graph = model->graph;
    enum ox_first_axis *first = calloc(graph->n_inputs + 1, sizeof *first);
    for (size_t i = 0; first && i < graph->n_inputs; i++)
        first[i] = first_axis(graph->inputs[i]);
    return first;
}
