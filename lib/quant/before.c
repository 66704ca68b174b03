/* Backwards from operators that bear no integers before them.
 *
 * onnxruntime 1.31 puts channels last between convolutions on integers and takes a cubic Resize along, for which it then has no kernel:
 * it refuses the model.
 *
 * A logarithm makes as much of small values as of large ones, and steps of 8 bits leave nothing of the small ones. Models of sound
 * compute spectra (convolutions by waves, squares, products with filters) and take their logarithm. Exp, Softmax and what else a network
 * has between its layers end the way back.
 *
 * Entropies are the exception: x log(x) of small values is small.
 *
 * The modulus of waves' parts, sqrt(a^2 + b^2), is such a spectrum as well: what is loud sets the steps of both, and of the sound that they
 * are of, and nothing is left of the rest.
 *
 * A comparison tells on which side of a threshold a value lies, as the nodes of a decision tree do that is written as products: what is
 * near to it falls on the other side once it is rounded, and another leaf answers. */
#include <string.h>

#include "graph/match.h"
#include "quant/before.h"

enum reach {
    NOT,
    NEAR, /* no product or convolution lies between */
    FAR
};

struct way {
    bool (*starts)(const struct ox_node *node);
    enum reach (*through)(const struct ox_node *node, enum reach after);
};

static bool is_product(const struct ox_node *node)
{
    static const char *const products[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", NULL};
    return ox_is_any_op(node, products);
}

static enum reach after(const struct ox_node *node, const uint8_t *marks)
{
    enum reach least = NOT;
    for (size_t i = 0; marks && i < node->n_outputs; i++) {
        const enum reach mark = node->outputs[i] ? marks[node->outputs[i]->id] : NOT;
        least = least == NEAR || mark == NOT ? least : mark;
    }
    return least;
}

static enum ox_status go_back(struct ox_quant *q, const struct ox_graph *graph,
                              const struct way *way, const uint8_t **before, struct ox_error *err)
{
    uint8_t *marks = NULL;
    for (size_t i = graph->n_nodes; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        enum reach reach = after(node, marks);
        reach = way->starts(node) ? NEAR : reach == NOT ? NOT : way->through(node, reach);
        if (reach != NOT && !marks)
            marks = ox_arena_array(&q->arena, graph->n_values, sizeof *marks);
        if (reach != NOT && !marks)
            return ox_no_memory(err);
        for (size_t k = 0; reach != NOT && k < node->n_inputs; k++) {
            const struct ox_value *in = node->inputs[k];
            if (in && marks[in->id] != NEAR)
                marks[in->id] = (uint8_t)reach;
        }
    }
    *before = marks;
    return OX_OK;
}

static bool is_cubic(const struct ox_node *node)
{
    return ox_is_op(node, "Resize") && strcmp(ox_attr_string(node, "mode", ""), "cubic") == 0;
}

static enum reach until_product(const struct ox_node *node, enum reach reach)
{
    return is_product(node) ? NOT : reach;
}

static const struct way cubic = {is_cubic, until_product};

/* What a value was before it got a sign, or was kept from being 0. */
static const struct ox_value *bare(const struct ox_value *value)
{
    static const char *const passing[] = {"Neg", "Add", "Clip", "Max", "Identity", NULL};
    const struct ox_node *node = value ? value->producer : NULL;
    while (node && ox_is_any_op(node, passing) && node->n_inputs && node->inputs[0]) {
        const size_t k = node->n_inputs > 1 && ox_value_stored(node->inputs[0]);
        const struct ox_value *other = ox_input(node, !k);
        if (other && !ox_value_stored(other))
            break;
        value = node->inputs[k];
        node = value ? value->producer : NULL;
    }
    return value;
}

/* Nothing but products with what it is the logarithm of read it. */
static bool is_entropy(const struct ox_node *log)
{
    const struct ox_value *of = bare(ox_input(log, 0)), *out = log->outputs[0];
    const struct ox_graph *graph = log->graph;
    bool any = false;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct ox_node *user = graph->nodes[i];
        for (size_t k = 0; k < user->n_inputs; k++) {
            if (user->inputs[k] != out)
                continue;
            if (!ox_is_op(user, "Mul") || user->n_inputs != 2 || bare(user->inputs[!k]) != of)
                return false;
            any = true;
        }
    }
    return any && of && !out->is_output;
}

static bool is_log(const struct ox_node *node)
{
    return ox_is_op(node, "Log") && node->n_outputs && node->outputs[0] && !is_entropy(node);
}

static enum reach through_spectra(const struct ox_node *node, enum reach reach)
{
    static const char *const computing[] = {
        "Abs",       "Add",       "Cast",       "Concat",
        "Div",       "Expand",    "Flatten",    "Gather",
        "Identity",  "Mul",       "Pad",        "Pow",
        "ReduceL2",  "ReduceSum", "ReduceMean", "ReduceSumSquare",
        "Reshape",   "Slice",     "Split",      "Sqrt",
        "Squeeze",   "Sub",       "Sum",        "Transpose",
        "Unsqueeze", NULL};
    static const char *const limiting[] = {"Clip", "Max", "Min", NULL};
    if (is_product(node))
        return FAR;
    /* What is chosen by what was computed are boxes, whose areas detectors take the logarithm of, and no spectra. */
    if (ox_is_op(node, "Gather") && node->n_inputs > 1 && !ox_value_stored(node->inputs[1]))
        return NOT;
    return ox_is_any_op(node, computing) || (ox_is_any_op(node, limiting) && reach == NEAR) ? reach
                                                                                            : NOT;
}

static const struct way logarithm = {is_log, through_spectra};

static bool is_square(const struct ox_value *value)
{
    const struct ox_node *node = value->producer;
    if (!node || node->n_inputs != 2 || !node->inputs[0] || !node->inputs[1])
        return false;
    return ox_is_op(node, "Mul") ? node->inputs[0] == node->inputs[1] : ox_is_op(node, "Pow");
}

static bool is_sum(const struct ox_value *value)
{
    return value && value->producer && ox_is_op(value->producer, "Add") &&
           value->producer->n_inputs == 2;
}

/* The root of a sum of two squares, to which a constant may be added. */
static bool is_modulus(const struct ox_node *node)
{
    if (!ox_is_op(node, "Sqrt") || !is_sum(ox_input(node, 0)))
        return false;
    struct ox_value *const *terms = node->inputs[0]->producer->inputs;
    for (int i = 0; i < 2; i++) {
        if (ox_value_stored(terms[i]) && is_sum(terms[!i])) {
            terms = terms[!i]->producer->inputs;
            break;
        }
    }
    return is_square(terms[0]) && is_square(terms[1]);
}

static enum reach through_parts(const struct ox_node *node, enum reach reach)
{
    static const char *const moving[] = {"Add",     "Cast",      "Concat",    "Identity", "Mul",
                                         "Pow",     "Pad",       "Reshape",   "Slice",    "Split",
                                         "Squeeze", "Unsqueeze", "Transpose", "Gather",   NULL};
    return ox_is_any_op(node, moving) ? reach : NOT;
}

static const struct way modulus = {is_modulus, through_parts};

/* What becomes of a value: it is compared and gone, or it is of use otherwise. */
enum { COMPARED = 1, USED = 2 };

static bool is_comparison(const struct ox_node *node)
{
    static const char *const comparisons[] = {"Equal", "Greater",     "GreaterOrEqual",
                                              "Less",  "LessOrEqual", NULL};
    return ox_is_any_op(node, comparisons);
}

static enum ox_status before_comparison(struct ox_quant *q, const struct ox_graph *graph,
                                        const bool *captured, const uint8_t **before,
                                        struct ox_error *err)
{
    static const char *const passing[] = {"Add", "Flatten", "Identity",  "Reshape",   "Squeeze",
                                          "Sub", "Sum",     "Transpose", "Unsqueeze", NULL};
    uint8_t *becomes = ox_arena_array(&q->arena, graph->n_values + 1, sizeof *becomes);
    if (!becomes)
        return ox_no_memory(err);
    for (size_t i = 0; i < graph->n_values; i++)
        becomes[i] = captured[i] || graph->values[i]->is_output ? USED : 0;
    for (size_t i = graph->n_nodes; i-- > 0;) {
        const struct ox_node *node = graph->nodes[i];
        uint8_t end = is_comparison(node) ? COMPARED : USED;
        if (ox_is_any_op(node, passing) && node->outputs[0])
            end = becomes[node->outputs[0]->id];
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k])
                becomes[node->inputs[k]->id] |= end;
        }
    }
    for (size_t i = 0; i < graph->n_values; i++)
        becomes[i] = becomes[i] == COMPARED;
    *before = becomes;
    return OX_OK;
}

enum ox_status ox_quant_find_before(struct ox_quant *q, const struct ox_graph *graph,
                                    const bool *captured, int also, struct ox_quant_before *before,
                                    struct ox_error *err)
{
    if (also & OX_BEFORE_CUBIC)
        OX_TRY(go_back(q, graph, &cubic, &before->cubic, err));
    if (also & OX_BEFORE_LOG)
        OX_TRY(go_back(q, graph, &logarithm, &before->log, err));
    if (also & OX_BEFORE_MODULUS)
        OX_TRY(go_back(q, graph, &modulus, &before->modulus, err));
    OX_TRY(before_comparison(q, graph, captured, &before->comparison, err));
    return ox_quant_before_body(q, graph, captured, &before->body, err);
}

const char *ox_quant_before_reason(const struct ox_quant_before *before, const struct ox_node *node)
{
    const struct ox_value *out = node->outputs[0];
    const bool matrices = ox_is_op(node, "Gemm") || ox_is_op(node, "MatMul");
    if (!matrices && is_product(node) && ox_quant_is_before(before->cubic, out))
        return "onnxruntime refuses a cubic Resize behind a convolution on integers";
    if (ox_quant_is_before(before->log, out))
        return "a logarithm follows, which makes much of small values";
    if (is_product(node) && ox_quant_is_before(before->modulus, out))
        return "the modulus of what it makes is taken, whose small values count";
    if (matrices && ox_quant_is_before(before->comparison, out))
        return "what it makes is compared alone, which rounding decides otherwise";
    return NULL;
}
