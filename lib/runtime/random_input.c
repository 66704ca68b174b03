/* Inputs drawn at random that a model can take: what is used as an index lies within what it indexes, masks are 0 or 1, lengths
 * are positive. Found by following the input through nodes that pass values on, to those that use them. */
#include <math.h>
#include <string.h>

#include "kernels/casts.h"
#include "kernels/normals.h"
#include "runtime/runtime.h"

enum { MOST_STEPS = 256, PIECE = 512 /* numbers drawn at a time */ };

/* What numbers are for, where a range alone does not say what fits. */
enum purpose {
    FOR_ANYTHING,
    FOR_RESHAPE, /* -1, 1, 1 ...: a shape for whatever is reshaped */
    FOR_AXES,    /* 0, 1, 2 ...: each but once */
    FOR_SCALES   /* 1, 1, 2, 2 ...: of batch, channels and an image */
};

/* What the users of a value ask of it; max < min: nothing yet. */
struct demand {
    int64_t min, max;
};

struct walk {
    const struct ox_value *seen[MOST_STEPS];
    size_t n;
    struct demand demand;
    enum purpose purpose;
};

/* The same numbers on every machine. */
static uint64_t next(uint64_t *state)
{
    return ox_split_mix(*state += OX_SPLIT_STEP);
}

/* A dimension of a value where it is a number; -1. */
static int64_t dim_of(const struct ox_value *value, int64_t axis)
{
    while (value && value->outer)
        value = value->outer;
    int64_t dim;
    if (!value)
        return -1;
    if (value->init) {
        axis += axis < 0 ? value->init->rank : 0;
        return axis >= 0 && axis < (int64_t)value->init->rank ? value->init->dims[axis] : -1;
    }
    const struct ox_type *type = value->type;
    if (!type || type->kind != OX_TYPE_TENSOR || !type->has_rank)
        return -1;
    axis += axis < 0 ? type->rank : 0;
    return axis >= 0 && axis < (int64_t)type->rank && ox_expr_is_int(type->dims[axis], &dim) ? dim
                                                                                             : -1;
}

static void ask(struct walk *w, int64_t min, int64_t max)
{
    if (max < min)
        return;
    if (w->demand.max < w->demand.min) {
        w->demand = (struct demand){min, max};
        return;
    }
    w->demand.min = w->demand.min > min ? w->demand.min : min;
    w->demand.max = w->demand.max < max ? w->demand.max : max;
}

static void ask_index(struct walk *w, int64_t dim)
{
    ask(w, 0, dim > 0 ? dim - 1 : 0);
}

static bool is_op(const struct ox_node *node, const char *name)
{
    return strcmp(node->op_type, name) == 0;
}

static int64_t int_attr(const struct ox_node *node, const char *name, int64_t fallback)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    return attr && attr->type == OX_ATTR_INT ? attr->i : fallback;
}

/* Operators whose output holds values of input 0. */
static bool passes_on(const struct ox_node *node, size_t input)
{
    static const char *const names[] = {"Cast",    "Identity",  "Reshape", "Squeeze", "Unsqueeze",
                                        "Flatten", "Transpose", "Slice",   "Expand",  "Tile",
                                        "Concat",  "Split",     "Gather",  "CastLike"};
    for (size_t i = 0; i < OX_COUNT(names); i++)
        if (is_op(node, names[i]))
            return input == 0 || is_op(node, "Concat");
    return false;
}

static void ask_of_use(struct walk *w, const struct ox_node *node, size_t input)
{
    const struct ox_value *data = node->n_inputs ? node->inputs[0] : NULL;
    if ((is_op(node, "Gather") || is_op(node, "GatherElements") ||
         is_op(node, "ScatterElements")) &&
        input == 1)
        ask_index(w, dim_of(data, int_attr(node, "axis", 0)));
    else if ((is_op(node, "GatherND") || is_op(node, "ScatterND")) && input == 1)
        ask_index(w, 1);
    else if ((is_op(node, "EmbedLayerNormalization") || is_op(node, "QEmbedLayerNormalization")) &&
             input < 2 && node->n_inputs > 4)
        ask_index(w, dim_of(node->inputs[input ? 4 : 2], 0));
    else if ((is_op(node, "LSTM") || is_op(node, "GRU") || is_op(node, "RNN")) && input == 4)
        ask(w, 1, dim_of(data, int_attr(node, "layout", 0) ? 1 : 0) > 0 ? dim_of(data, 0) : 1);
    else if (is_op(node, "ReverseSequence") && input == 1)
        ask(w, 1,
            dim_of(data, int_attr(node, "time_axis", 0)) > 0
                ? dim_of(data, int_attr(node, "time_axis", 0))
                : 1);
    else if (is_op(node, "OneHot") && input == 0)
        ask(w, 0, 1);
    else if (is_op(node, "RoiAlign") && input == 2)
        ask_index(w, dim_of(data, 0));
    else if (((is_op(node, "SequenceAt") || is_op(node, "SequenceErase")) && input == 1) ||
             (is_op(node, "SequenceInsert") && input == 2))
        ask(w, 0, 0);
    else if (((is_op(node, "Expand") || is_op(node, "Reshape")) && input == 1) ||
             (is_op(node, "Slice") && input == 4))
        ask(w, 1, 1);
    else if ((is_op(node, "TopK") || is_op(node, "Range") || is_op(node, "Loop")) && input < 2)
        ask(w, 1, 3);
}

/* Uses of the input itself, without a node between. */
static enum purpose purpose_of(const struct ox_node *node, size_t input)
{
    if (is_op(node, "Reshape") && input == 1)
        return FOR_RESHAPE;
    if (is_op(node, "Upsample") ? input == 1
                                : is_op(node, "Resize") && input == node->n_inputs - 1 && input < 3)
        return FOR_SCALES;
    const bool axes = is_op(node, "Unsqueeze") || is_op(node, "Squeeze") || is_op(node, "CumSum") ||
                      strncmp(node->op_type, "Reduce", 6) == 0;
    return (axes && input == 1) || (is_op(node, "Slice") && input == 3) ? FOR_AXES : FOR_ANYTHING;
}

static bool add(struct walk *w, const struct ox_value *value)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->seen[i] == value)
            return false;
    if (w->n == MOST_STEPS)
        return false;
    w->seen[w->n++] = value;
    return true;
}

/* Uses are few steps from an input, so that looking through all nodes for each step is quick enough. Of real numbers only what
 * uses the input itself has something to ask. */
static struct demand demand_of(const struct ox_value *input, bool real, enum purpose *purpose)
{
    struct walk w = {.demand = {0, -1}};
    add(&w, input);
    const struct ox_model *model = input->graph->model;
    for (size_t at = 0; at < (real ? 1 : w.n); at++)
        for (size_t g = 0; g < model->n_graphs; g++) {
            const struct ox_graph *graph = model->graphs[g];
            for (size_t i = 0; i < graph->n_nodes; i++) {
                const struct ox_node *node = graph->nodes[i];
                for (size_t k = 0; k < node->n_inputs; k++) {
                    const struct ox_value *read = node->inputs[k];
                    while (read && read->outer)
                        read = read->outer;
                    if (read != w.seen[at])
                        continue;
                    ask_of_use(&w, node, k);
                    if (at == 0 && w.purpose == FOR_ANYTHING)
                        w.purpose = purpose_of(node, k);
                    if (passes_on(node, k))
                        for (size_t o = 0; o < node->n_outputs; o++)
                            if (node->outputs[o])
                                add(&w, node->outputs[o]);
                }
            }
        }
    *purpose = w.purpose;
    return w.demand;
}

static bool named(const char *name, const char *part)
{
    for (size_t n = strlen(part); *name; name++) {
        size_t k = 0;
        while (k < n && (name[k] | 0x20) == part[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* Integers that nothing is asked of: small, whatever they are for. */
static struct demand usual(enum ox_dtype dtype)
{
    switch (dtype) {
    case OX_UINT8:
        return (struct demand){0, 255};
    case OX_INT8:
        return (struct demand){-128, 127};
    case OX_UINT4:
        return (struct demand){0, 15};
    case OX_INT4:
        return (struct demand){-8, 7};
    case OX_UINT2:
    case OX_BOOL:
        return (struct demand){0, dtype == OX_BOOL ? 1 : 3};
    case OX_INT2:
        return (struct demand){-2, 1};
    default:
        return (struct demand){0, 9};
    }
}

/* Masks are 0 or 1, the first of each row 1, so that something is seen; of two draws each, as other numbers are. `at` counts from
 * the tensor's first element. n <= PIECE. */
static void fill_mask(double *to, size_t at, size_t n, size_t row, uint64_t *state)
{
    for (size_t i = 0; i < n; i++) {
        next(state);
        const double turn = (double)(next(state) >> 11) * 0x1p-53;
        to[i] = (at + i) % row == 0 || turn * 6.283185307179586 < 4;
    }
}

static void fill_ints(int64_t *to, size_t at, size_t n, size_t row, bool mask, struct demand demand,
                      uint64_t *state)
{
    uint64_t span = (uint64_t)demand.max - (uint64_t)demand.min + 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t drawn = next(state);
        to[i] = mask && (at + i) % row == 0 ? demand.max
                                            : demand.min + (int64_t)(span ? drawn % span : drawn);
    }
}

static void fill_for(enum purpose purpose, double *to, size_t at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = purpose == FOR_RESHAPE ? (at + i ? 1 : -1)
                : purpose == FOR_AXES  ? (double)(at + i)
                                       : 1 + (at + i > 1);
}

static enum ox_status fill_strings(struct ox_tensor *t, uint64_t *state, struct ox_error *err)
{
    for (size_t i = 0; i < t->n; i++) {
        char word[8];
        size_t n = 1 + next(state) % sizeof word;
        for (size_t k = 0; k < n; k++)
            word[k] = (char)('a' + next(state) % 26);
        OX_TRY(ox_tensor_set_string(t, i, word, n, err));
    }
    return OX_OK;
}

static bool takes_reals(enum ox_dtype dtype)
{
    return ox_dtype_is_float(dtype) || dtype == OX_COMPLEX64 || dtype == OX_COMPLEX128;
}

static size_t row_of(const struct ox_tensor *t)
{
    return t->rank && t->dims[t->rank - 1] > 0 ? (size_t)t->dims[t->rank - 1] : 1;
}

static void fill_numbers(struct ox_tensor *t, const char *name, const struct ox_value *input,
                         uint64_t *state)
{
    union {
        double real[PIECE];
        int64_t whole[PIECE];
    } drawn;
    const bool real = takes_reals(t->dtype);
    const bool mask = named(name, "mask");
    const size_t row = row_of(t);
    enum purpose purpose;
    struct demand demand = demand_of(input, real, &purpose);
    if (demand.max < demand.min)
        demand = mask ? usual(OX_BOOL) : usual(t->dtype);
    for (size_t at = 0; at < t->n; at += PIECE) {
        const size_t n = t->n - at < PIECE ? t->n - at : PIECE;
        void *to = (char *)t->data + at * ox_dtype_size(t->dtype);
        if (purpose != FOR_ANYTHING)
            fill_for(purpose, drawn.real, at, n);
        else if (real && mask)
            fill_mask(drawn.real, at, n, row, state);
        else if (real)
            ox_normals(ox_cpu(), state, n, drawn.real);
        else
            fill_ints(drawn.whole, at, n, row, mask, demand, state);
        const bool doubles = real || purpose != FOR_ANYTHING;
        if (!doubles || !ox_cast_run(ox_cpu(), OX_FLOAT64, t->dtype, n, &drawn, to))
            ox_elements_convert(t->dtype, to, doubles ? OX_FLOAT64 : OX_INT64, &drawn, n, true);
    }
}

/* What OX_FILL_BETWEEN and OX_FILL_COUNT say. */
static void fill_as_told(struct ox_tensor *t, const struct ox_draw *how, uint64_t *state)
{
    double drawn[PIECE];
    const bool real = takes_reals(t->dtype);
    const size_t row = row_of(t);
    const double span = how->high - how->low + (real ? 0 : 1);
    for (size_t at = 0; at < t->n; at += PIECE) {
        const size_t n = t->n - at < PIECE ? t->n - at : PIECE;
        for (size_t i = 0; i < n; i++) {
            const double turn = (double)(next(state) >> 11) * 0x1p-53;
            drawn[i] = how->fill == OX_FILL_COUNT ? (double)((at + i) % row)
                       : real                     ? how->low + span * turn
                                                  : how->low + floor(span * turn);
        }
        ox_elements_convert(t->dtype, (char *)t->data + at * ox_dtype_size(t->dtype), OX_FLOAT64,
                            drawn, n, true);
    }
}

/* What fill_as_told() would write otherwise than it is told. */
static enum ox_status holds(enum ox_dtype dtype, const struct ox_draw *how, size_t row,
                            struct ox_error *err)
{
    const double last = row ? (double)(row - 1) : 0;
    const double bounds[] = {how->fill == OX_FILL_COUNT ? 0 : how->low,
                             how->fill == OX_FILL_COUNT ? last : how->high};
    if (dtype == OX_STRING)
        return ox_fail(err, OX_USAGE, "strings are not filled by numbers");
    if (takes_reals(dtype))
        return OX_OK;
    for (size_t i = 0; i < 2; i++) {
        char stored[16];
        double back;
        ox_elements_convert(dtype, stored, OX_FLOAT64, &bounds[i], 1, true);
        ox_elements_convert(OX_FLOAT64, &back, dtype, stored, 1, true);
        if (back != bounds[i])
            return ox_fail(err, OX_USAGE, "%s holds no %.17g", ox_dtype_name(dtype), bounds[i]);
    }
    return OX_OK;
}

static enum ox_status draw_tensor(struct ox_session *session, size_t at, const struct ox_type *type,
                                  const struct ox_draw *how, uint64_t *state, struct ox_datum **out,
                                  struct ox_error *err)
{
    const struct ox_port *port = &session->input_ports[at];
    struct ox_tensor *t;
    int64_t dims[64];
    unsigned rank = how->dims ? how->rank : type->rank;
    if (type->elem == OX_UNDEFINED || rank > OX_COUNT(dims) || (!how->dims && !type->has_rank))
        return ox_fail(err, OX_INPUT, "%s cannot be drawn at random: give it a file%s", port->type,
                       type->elem != OX_UNDEFINED && !type->has_rank ? ", or a shape" : "");
    if (type->has_rank && rank != type->rank)
        return ox_fail(err, OX_USAGE, "%u dimensions do not fit %s", rank, port->type);
    for (unsigned k = 0; k < rank; k++) {
        dims[k] = 1;
        if (how->dims)
            dims[k] = how->dims[k];
        else if (type->dims[k])
            ox_expr_is_int(type->dims[k], &dims[k]);
    }
    if (how->fill != OX_FILL_FIT)
        OX_TRY(holds(type->elem, how, rank ? (size_t)dims[rank - 1] : 1, err));
    OX_TRY(ox_tensor_new(&t, ox_env_budget(session->env), type->elem, rank, dims, err));
    enum ox_status status = OX_OK;
    if (how->fill != OX_FILL_FIT)
        fill_as_told(t, how, state);
    else if (type->elem == OX_STRING)
        status = fill_strings(t, state, err);
    else
        fill_numbers(t, port->name, session->inputs[at], state);
    if (status == OX_OK)
        status = ox_datum_of_tensor(out, t, err);
    ox_tensor_release(t);
    return status;
}

static enum ox_status draw(struct ox_session *session, size_t at, const struct ox_draw *how,
                           struct ox_datum **out, struct ox_error *err)
{
    const struct ox_type *type = session->inputs[at]->type;
    const enum ox_type_kind kind = type ? type->kind : OX_TYPE_UNKNOWN;
    const bool held = (kind == OX_TYPE_OPTIONAL || kind == OX_TYPE_SEQUENCE) && type->inner &&
                      type->inner->kind == OX_TYPE_TENSOR;
    const size_t n = kind == OX_TYPE_SEQUENCE ? 2 : 1;
    struct ox_datum *items[2] = {NULL, NULL};
    uint64_t state = how->seed * 0x9E3779B97F4A7C15u + at;
    next(&state);
    if (kind == OX_TYPE_TENSOR)
        return draw_tensor(session, at, type, how, &state, out, err);
    if (!held)
        return ox_fail(err, OX_INPUT, "%s cannot be drawn at random: give it a file",
                       session->input_ports[at].type);
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < n && status == OX_OK; i++)
        status = draw_tensor(session, at, type->inner, how, &state, &items[i], err);
    if (status == OX_OK)
        status = kind == OX_TYPE_SEQUENCE
                     ? ox_datum_sequence(out, type->inner->elem, items, n, err)
                     : ox_datum_optional(out, type->inner->elem, items[0], err);
    ox_datum_release(items[0]);
    ox_datum_release(items[1]);
    return status;
}

enum ox_status ox_session_draw_input(struct ox_session *session, size_t i,
                                     const struct ox_draw *how, struct ox_datum **out,
                                     struct ox_error *err)
{
    enum ox_status status = draw(session, i, how, out, err);
    return status == OX_OK ? OX_OK
                           : ox_fail_context(err, status, "%s: input '%s'", session->model->path,
                                             session->input_ports[i].name);
}

enum ox_status ox_session_random_input(struct ox_session *session, size_t i, uint64_t seed,
                                       const int64_t *dims, struct ox_datum **out,
                                       struct ox_error *err)
{
    const struct ox_draw how = {.seed = seed, .dims = dims, .rank = session->input_ports[i].rank};
    return ox_session_draw_input(session, i, &how, out, err);
}
