/* Conventions of nodes: what exporters and frameworks do alike but for one attribute. All nodes of an operator are changed in a
 * copy of the model, and where that makes a difference but no agreement, one at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity/expected.h"

enum { MOST_VALUES = 6, MOST_SINGLE = 16, NEWER_OPSET = 18, LABEL = 96 };

/* A row is an attribute and what it may be instead, or a change that is more than that. */
struct convention {
    const char *id, *op_type; /* NULL: any that has the attribute */
    const char *attr;
    const char *words[MOST_VALUES]; /* of a string */
    double numbers[MOST_VALUES];    /* of a number */
    unsigned n_numbers;
    const char *where, *is; /* only where that attribute is so; NULL */
    int64_t needs_opset;    /* has the attribute; older models are converted. 0 */
    enum ox_status (*change)(struct ox_node *node, bool *changed, struct ox_error *err);
    const char *what; /* that, in words */
};

#define WORDS(...) .words = {__VA_ARGS__}
#define NUMBERS(n, ...) .numbers = {__VA_ARGS__}, .n_numbers = (n)

static const struct convention conventions[] = {
    {"batch-statistics", "BatchNormalization", "training_mode", NUMBERS(2, 0, 1),
     .needs_opset = 14},
    {"gelu-approximation", "Gelu", "approximate", WORDS("none", "tanh")},
    {"gelu-approximation", "Gelu", .change = ox_change_gelu, .what = "the tanh form"},
    {"gelu-approximation", "FastGelu", .change = ox_change_gelu, .what = "the erf form"},
    {"gelu-approximation", "Erf", .change = ox_change_erf,
     .what = "the tanh form of Gelu around it"},
    {"attribute", "Resize", "coordinate_transformation_mode",
     WORDS("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
           "half_pixel_symmetric"),
     .needs_opset = 11},
    {"attribute", "Resize", "nearest_mode",
     WORDS("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"), .where = "mode",
     .is = "nearest", .needs_opset = 11},
    {"attribute", "Resize", "mode", WORDS("nearest", "linear", "cubic")},
    {"attribute", "Upsample", "mode", WORDS("nearest", "linear")},
    {"attribute", "Resize", "cubic_coeff_a", NUMBERS(2, -0.75, -0.5), .where = "mode",
     .is = "cubic", .needs_opset = 11},
    {"attribute", "Resize", "antialias", NUMBERS(2, 0, 1), .needs_opset = 18},
    {"epsilon", NULL, "epsilon", NUMBERS(4, 1e-5, 1e-3, 1e-6, 1e-12)},
    {"softmax-axis", "Softmax", .change = ox_change_softmax,
     .what = "the meaning of axis on the other side of opset 13"},
    {"softmax-axis", "LogSoftmax", .change = ox_change_softmax,
     .what = "the meaning of axis on the other side of opset 13"},
    {"softmax-axis", "Softmax", "axis", NUMBERS(4, -1, 1, 2, 0)},
    {"softmax-axis", "LogSoftmax", "axis", NUMBERS(4, -1, 1, 2, 0)},
    {"softmax-axis", "Hardmax", "axis", NUMBERS(4, -1, 1, 2, 0)},
    {"padding", NULL, .change = ox_change_same_upper, .what = "auto_pad=SAME_UPPER"},
    {"padding", NULL, .change = ox_change_same_lower, .what = "auto_pad=SAME_LOWER"},
    {"padding", NULL, .change = ox_change_pads, .what = "pads at begin and end exchanged"},
    {"attribute", "AveragePool", "count_include_pad", NUMBERS(2, 0, 1)},
    {"attribute", "AveragePool", "ceil_mode", NUMBERS(2, 0, 1)},
    {"attribute", "MaxPool", "ceil_mode", NUMBERS(2, 0, 1)},
    {"attribute", "LeakyRelu", "alpha", NUMBERS(4, 0.01, 0.1, 0.2, 0.3)},
    {"attribute", "Elu", "alpha", NUMBERS(5, 1, 0.01, 0.1, 0.2, 0.3)},
    {"attribute", "HardSigmoid", "alpha", NUMBERS(2, 0.2, 1.0 / 6)},
    {"attribute", "GRU", "linear_before_reset", NUMBERS(2, 0, 1)},
    {"attribute", "GridSample", "align_corners", NUMBERS(2, 0, 1)},
    {"attribute", "GridSample", "padding_mode", WORDS("zeros", "border", "reflection")},
    {"attribute", "AffineGrid", "align_corners", NUMBERS(2, 0, 1)},
    {"attribute", "RoiAlign", "coordinate_transformation_mode",
     WORDS("half_pixel", "output_half_pixel"), .needs_opset = 16},
    {"attribute", "Pad", "mode", WORDS("constant", "reflect", "edge")},
    {"attribute", "DepthToSpace", "mode", WORDS("DCR", "CRD")},
    {"attribute", "CumSum", "exclusive", NUMBERS(2, 0, 1)},
    {"attribute", "RotaryEmbedding", "interleaved", NUMBERS(2, 0, 1)},
    {"attribute", "Attention", "is_causal", NUMBERS(2, 0, 1)},
    {"attribute", "Attention", "unidirectional", NUMBERS(2, 0, 1)},
};

/* A row and one of its values: made once, tried on all nodes or on one. */
struct alternative {
    const struct convention *row;
    unsigned value;
    size_t n_nodes;            /* that it changes */
    size_t nodes[MOST_SINGLE]; /* these, counted among those of the operator */
    bool tells;                /* all of them together make a difference */
};

static unsigned count_values(const struct convention *row)
{
    unsigned n = row->n_numbers;
    while (n < MOST_VALUES && row->words[n])
        n++;
    return row->change ? 1 : n;
}

/* ---- One node ------------------------------------------------------------------------------------------------------ */

static const char *word_of(const struct ox_node *node, const char *name)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    const struct ox_schema *schema = ox_explain_schema(node);
    const struct ox_schema_attr *usual = schema ? ox_schema_attr(schema, name) : NULL;
    if (attr)
        return attr->type == OX_ATTR_STRING && attr->n && !attr->ref ? attr->s.p : NULL;
    return usual && usual->type == OX_ATTR_STRING ? usual->s : NULL;
}

/* NaN: it has no such number. */
static double number_of(const struct ox_node *node, const char *name)
{
    const struct ox_attr *attr = ox_node_attr(node, name);
    const struct ox_schema *schema = ox_explain_schema(node);
    const struct ox_schema_attr *usual = schema ? ox_schema_attr(schema, name) : NULL;
    if (attr && attr->n && !attr->ref)
        return attr->type == OX_ATTR_INT     ? (double)attr->i
               : attr->type == OX_ATTR_FLOAT ? (double)attr->f
                                             : NAN;
    if (attr || !usual || usual->default_kind == OX_DEFAULT_NONE)
        return NAN;
    return usual->type == OX_ATTR_INT ? (double)usual->i : (double)usual->f;
}

static bool is_of(const struct convention *row, const struct ox_node *node)
{
    if (row->op_type && strcmp(row->op_type, node->op_type) != 0)
        return false;
    if (!row->where)
        return true;
    const char *word = word_of(node, row->where);
    return word && strcmp(word, row->is) == 0;
}

static bool set_number(struct ox_node *node, const char *name, double value)
{
    const struct ox_schema *schema = ox_explain_schema(node);
    const struct ox_schema_attr *usual = schema ? ox_schema_attr(schema, name) : NULL;
    return usual && usual->type == OX_ATTR_INT ? ox_node_set_int(node, name, (int64_t)value)
                                               : ox_node_set_float(node, name, (float)value);
}

static bool has_attr(const struct ox_node *node, const char *name)
{
    const struct ox_schema *schema = ox_explain_schema(node);
    return schema && ox_schema_attr(schema, name);
}

/* Makes it so, where it is not; `was` is what it was. */
static enum ox_status change_node(const struct alternative *a, struct ox_node *node, bool *changed,
                                  char was[LABEL], struct ox_error *err)
{
    const struct convention *row = a->row;
    *changed = false;
    was[0] = '\0';
    if (row->change)
        return row->change(node, changed, err);
    if (!has_attr(node, row->attr))
        return OX_OK;
    bool fits = true;
    if (row->n_numbers) {
        const double is = number_of(node, row->attr), to = row->numbers[a->value];
        *changed = isnan(is) || fabs(is - to) > 1e-6 * fabs(to);
        snprintf(was, LABEL, "%.6g", is);
        if (*changed)
            fits = set_number(node, row->attr, to);
    } else {
        const char *is = word_of(node, row->attr), *to = row->words[a->value];
        *changed = !is || strcmp(is, to) != 0;
        snprintf(was, LABEL, "%.64s", is ? is : "not given");
        if (*changed)
            fits = ox_node_set_string(node, row->attr, to);
    }
    return fits ? OX_OK : ox_no_memory(err);
}

/* ---- A copy -------------------------------------------------------------------------------------------------------- */

/* The model, or, where it is older than the attribute, the same in a newer opset (in which Upsample is Resize); NULL: it can't
 * be had. */
static enum ox_status base_of(struct ox_expecting *e, const struct convention *row,
                              struct ox_model **base, struct ox_error *err)
{
    const struct ox_opset_goal goal = {"", NEWER_OPSET};
    struct ox_conversion *conversion = NULL;
    *base = e->model;
    if (!e->model->graph || ox_graph_opset(e->model->graph, "") >= row->needs_opset)
        return OX_OK;
    *base = e->newer;
    if (e->newer || e->tried_newer)
        return OX_OK;
    e->tried_newer = true;
    OX_TRY(ox_model_copy(base, e->model, err));
    enum ox_status status = ox_convert_opset(&conversion, *base, &goal, 1, err);
    const bool good = status == OX_OK && ox_conversion_blocked(conversion) == 0;
    ox_conversion_release(conversion);
    if (good)
        e->newer = *base;
    else
        ox_model_release(*base);
    *base = e->newer;
    return status == OX_NO_MEMORY ? status : OX_OK;
}

/* What became of a copy. */
struct outcome {
    size_t n; /* nodes changed */
    size_t places[MOST_SINGLE];
    char was[LABEL], node[OX_LABEL_SIZE]; /* of the first */
};

/* Changes all nodes of the operator, or the only-th of them. Nodes that a change adds are not looked at. */
static enum ox_status change_graph(struct ox_graph *graph, const struct alternative *a, size_t only,
                                   size_t *seen, struct outcome *o, struct ox_error *err)
{
    const size_t n_nodes = graph->n_nodes;
    for (size_t i = 0; i < n_nodes; i++) {
        bool changed = false;
        char was[LABEL];
        if (!is_of(a->row, graph->nodes[i]))
            continue;
        const size_t place = (*seen)++;
        if (only != SIZE_MAX && place != only)
            continue;
        OX_TRY(change_node(a, graph->nodes[i], &changed, was, err));
        if (!changed)
            continue;
        if (o->n < MOST_SINGLE)
            o->places[o->n] = place;
        if (!o->n++) {
            snprintf(o->was, sizeof o->was, "%s", was);
            ox_explain_label(graph->nodes[i], o->node);
        }
    }
    return graph->n_nodes == n_nodes ? OX_OK : ox_graph_sort(graph, err);
}

static enum ox_status change_copy(struct ox_model *copy, const struct alternative *a, size_t only,
                                  struct outcome *o, struct ox_error *err)
{
    size_t seen = 0;
    *o = (struct outcome){.n = 0};
    for (size_t g = 0; g < copy->n_graphs; g++)
        OX_TRY(change_graph(copy->graphs[g], a, only, &seen, o, err));
    return OX_OK;
}

static bool has_nodes(const struct ox_model *model, const struct convention *row)
{
    for (size_t g = 0; g < model->n_graphs; g++)
        for (size_t i = 0; i < model->graphs[g]->n_nodes; i++)
            if (is_of(row, model->graphs[g]->nodes[i]))
                return true;
    return false;
}

static void describe(const struct alternative *a, const struct outcome *o, char *text, size_t size)
{
    const struct convention *row = a->row;
    const char *op = row->op_type ? row->op_type : "node";
    char what[192];
    if (row->change)
        snprintf(what, sizeof what, "%s", row->what);
    else if (row->n_numbers)
        snprintf(what, sizeof what, "%s=%.6g (it is %s)", row->attr, row->numbers[a->value],
                 o->was);
    else
        snprintf(what, sizeof what, "%s=%s (it is %s)", row->attr, row->words[a->value], o->was);
    if (o->n == 1)
        snprintf(text, size, "%s in %s '%.100s'", what, op, o->node);
    else
        snprintf(text, size, "%s in %zu of %s, '%.80s' the first", what, o->n,
                 row->op_type ? op : "the nodes", o->node);
}

/* only: one of a->nodes, or SIZE_MAX for all. */
static enum ox_status try_alternative(struct ox_expecting *e, struct alternative *a, size_t only,
                                      struct ox_verdict *verdict, struct ox_error *err)
{
    struct ox_model *base = NULL, *copy = NULL;
    struct outcome outcome;
    char text[OX_READING_TEXT];
    *verdict = (struct ox_verdict){.ran = false};
    if (ox_expecting_is_full(e))
        return OX_OK;
    OX_TRY(base_of(e, a->row, &base, err));
    if (!base || !has_nodes(base, a->row))
        return OX_OK;
    OX_TRY(ox_model_copy(&copy, base, err));
    enum ox_status status = change_copy(copy, a, only, &outcome, err);
    if (status == OX_OK && outcome.n) {
        describe(a, &outcome, text, sizeof text);
        const struct ox_reading reading = {70, a->row->id, text};
        status = ox_expecting_try_model(e, &reading, copy, verdict, err);
    }
    if (only == SIZE_MAX) {
        a->n_nodes = outcome.n;
        memcpy(a->nodes, outcome.places, sizeof a->nodes);
        a->tells = verdict->ran && verdict->changed;
    }
    ox_model_release(copy);
    return status;
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

enum ox_status ox_expecting_nodes(struct ox_expecting *e, struct ox_error *err)
{
    struct alternative tried[OX_COUNT(conventions) * MOST_VALUES];
    size_t n = 0;
    for (size_t i = 0; i < OX_COUNT(conventions); i++)
        for (unsigned k = 0; k < count_values(&conventions[i]); k++) {
            struct ox_verdict verdict;
            struct alternative *a = &tried[n++];
            *a = (struct alternative){.row = &conventions[i], .value = k};
            OX_TRY(try_alternative(e, a, SIZE_MAX, &verdict, err));
        }
    for (size_t i = 0; i < n && !e->n_agree; i++)
        for (size_t k = 0; k < tried[i].n_nodes && tried[i].tells; k++) {
            struct ox_verdict verdict;
            if (tried[i].n_nodes > 1 && tried[i].n_nodes <= MOST_SINGLE)
                OX_TRY(try_alternative(e, &tried[i], tried[i].nodes[k], &verdict, err));
        }
    return OX_OK;
}
