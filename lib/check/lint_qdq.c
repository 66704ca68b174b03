/* QuantizeLinear and DequantizeLinear that runtimes will not fuse into integer operators. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/linter.h"
#include "model/name.h"
#include "model/value.h"

/* Beyond this a bias is off by more than its own rounding. */
static const double MOST_SCALE_ERROR = 1e-3;

static bool is_op(const struct ox_node *node, const char *name)
{
    return node && strcmp(node->op_type, name) == 0 &&
           (!*node->domain || strcmp(node->domain, "com.microsoft") == 0);
}

static const struct ox_value *input(const struct ox_node *node, size_t i)
{
    return i < node->n_inputs ? node->inputs[i] : NULL;
}

/* The DequantizeLinear that an input comes through; NULL. */
static const struct ox_node *dequantizer(const struct ox_node *node, size_t i)
{
    const struct ox_value *value = input(node, i);
    return value && is_op(value->producer, "DequantizeLinear") ? value->producer : NULL;
}

static struct ox_tensor *load(struct ox_linter *lint, const struct ox_value *value)
{
    struct ox_error ignored;
    struct ox_tensor *tensor = NULL;
    const struct ox_stored *stored = ox_value_stored(value);
    if (!stored || stored->dtype == OX_STRING ||
        ox_stored_load(lint->model, stored, &tensor, &ignored) != OX_OK)
        return NULL;
    return tensor;
}

/* ---- Pairs -------------------------------------------------------------------------------------------------------- */

static bool equal_values(const struct ox_tensor *a, const struct ox_tensor *b)
{
    bool equal = a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = ox_tensor_get_double(a, i) == ox_tensor_get_double(b, i);
    return equal;
}

/* Whether input i of both nodes holds other numbers for sure. A zero point left out is 0. */
static bool differs(struct ox_linter *lint, const struct ox_node *a, const struct ox_node *b,
                    size_t i)
{
    const struct ox_value *x = input(a, i), *y = input(b, i);
    if (x == y)
        return false;
    struct ox_tensor *left = load(lint, x), *right = load(lint, y);
    bool known = (!x || left) && (!y || right), differ = false;
    if (known && left && right)
        differ = !equal_values(left, right);
    else if (known)
        for (size_t k = 0; k < (left ? left->n : right->n); k++)
            differ |= ox_tensor_get_double(left ? left : right, k) != 0;
    ox_tensor_release(left);
    ox_tensor_release(right);
    return differ;
}

static void lint_pair(struct ox_linter *lint, const struct ox_node *node)
{
    const struct ox_value *value = input(node, 0);
    const struct ox_node *before = value ? value->producer : NULL;
    if (!is_op(node, "DequantizeLinear") || !is_op(before, "QuantizeLinear"))
        return;
    struct ox_strbuf label = {0};
    ox_node_label(&label, before);
    struct ox_name shown;
    for (size_t i = 1; i <= 2; i++)
        if (differs(lint, before, node, i))
            ox_findings_add(
                lint->findings, OX_F_LINT_QDQ_MISMATCH, &(struct ox_place){.node = node}, NULL,
                "the %s is not that of QuantizeLinear '%s' before it",
                i == 1 ? "scale" : "zero point", ox_name(&shown, ox_strbuf_text(&label, NULL)));
    ox_strbuf_release(&label);
}

/* ---- Products and convolutions ------------------------------------------------------------------------------------ */

static bool all_zero(const struct ox_tensor *tensor)
{
    for (size_t i = 0; i < tensor->n; i++)
        if (ox_tensor_get_double(tensor, i) != 0)
            return false;
    return true;
}

static void lint_bias_scale(struct ox_linter *lint, const struct ox_node *node,
                            const struct ox_node *bias)
{
    struct ox_tensor *x = load(lint, input(dequantizer(node, 0), 1));
    struct ox_tensor *w = load(lint, input(dequantizer(node, 1), 1));
    struct ox_tensor *b = load(lint, input(bias, 1)), *zero = load(lint, input(bias, 2));
    const struct ox_place place = {.node = node, .tensor = input(node, 2)->name};
    if (x && w && b && x->n == 1 && w->n && (b->n == w->n || b->n == 1 || w->n == 1)) {
        for (size_t i = 0; i < (b->n > w->n ? b->n : w->n); i++) {
            double want = ox_tensor_get_double(x, 0) * ox_tensor_get_double(w, w->n == 1 ? 0 : i);
            double have = ox_tensor_get_double(b, b->n == 1 ? 0 : i);
            if (fabs(have - want) <= MOST_SCALE_ERROR * fabs(want))
                continue;
            ox_findings_add(lint->findings, OX_F_LINT_BIAS_SCALE, &place,
                            "quantize the bias by the product of both scales",
                            "the bias has scale %g where input and weight give %g (channel %zu)",
                            have, want, i);
            break;
        }
    }
    if (zero && !all_zero(zero))
        ox_findings_add(lint->findings, OX_F_LINT_BIAS_SCALE, &place, "quantize it symmetrically",
                        "the bias has a zero point that is not 0");
    ox_tensor_release(x);
    ox_tensor_release(w);
    ox_tensor_release(b);
    ox_tensor_release(zero);
}

static const char *param_name(const struct ox_node *node, size_t i)
{
    static const char *const conv[] = {"X", "W", "B"}, *const product[] = {"A", "B", "C"};
    return (strncmp(node->op_type, "Conv", 4) == 0 ? conv : product)[i];
}

static void lint_inputs(struct ox_linter *lint, const struct ox_node *node)
{
    if (!dequantizer(node, 0))
        return; /* weights alone may be quantized to be small */
    bool has_bias = !is_op(node, "MatMul") && input(node, 2);
    for (size_t i = 1; i < (has_bias ? 3 : 2); i++) {
        if (input(node, i) && !dequantizer(node, i))
            ox_findings_add(lint->findings, OX_F_LINT_QDQ_PARTIAL, &(struct ox_place){.node = node},
                            NULL, "input %s comes through DequantizeLinear, %s does not",
                            param_name(node, 0), param_name(node, i));
    }
    if (has_bias && dequantizer(node, 1) && dequantizer(node, 2))
        lint_bias_scale(lint, node, dequantizer(node, 2));
}

/* ---- What becomes of a convolution's output ----------------------------------------------------------------------- */

/* By value id: the only node that takes it; `many` when there are several. */
struct uses {
    const struct ox_node **user;
    bool *many;
};

static void note_use(struct uses *uses, const struct ox_graph *graph, const struct ox_value *value,
                     const struct ox_node *node)
{
    if (!value || value->graph != graph)
        return;
    if (uses->user[value->id])
        uses->many[value->id] = true;
    uses->user[value->id] = node;
}

static void find_uses(struct uses *uses, const struct ox_graph *graph)
{
    for (size_t k = 0; k < graph->n_nodes; k++) {
        const struct ox_node *node = graph->nodes[k];
        for (size_t i = 0; i < node->n_inputs; i++)
            note_use(uses, graph, node->inputs[i], node);
    }
    for (size_t i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i]->graph == graph)
            uses->many[graph->outputs[i]->id] = true;
}

static const struct ox_node *only_user(const struct uses *uses, const struct ox_node *node)
{
    const struct ox_value *value = node->n_outputs ? node->outputs[0] : NULL;
    return value && !uses->many[value->id] ? uses->user[value->id] : NULL;
}

static void lint_output(struct ox_linter *lint, const struct uses *uses, const struct ox_node *node)
{
    if (!is_op(node, "Conv") || !dequantizer(node, 0) || !dequantizer(node, 1))
        return;
    const struct ox_node *user = only_user(uses, node);
    if (is_op(user, "Relu") || is_op(user, "Clip"))
        user = only_user(uses, user);
    if (!is_op(user, "QuantizeLinear"))
        ox_findings_add(lint->findings, OX_F_LINT_QDQ_OPEN, &(struct ox_place){.node = node}, NULL,
                        "its inputs are quantized, its output does not go to a QuantizeLinear "
                        "alone");
}

static enum ox_status lint_graph(struct ox_linter *lint, const struct ox_graph *graph)
{
    struct uses uses = {.user = calloc(graph->n_values + 1, sizeof(*uses.user)),
                        .many = calloc(graph->n_values + 1, sizeof *uses.many)};
    enum ox_status status = OX_OK;
    if (uses.user && uses.many) {
        find_uses(&uses, graph);
        for (size_t i = 0; i < graph->n_nodes && status == OX_OK; i++) {
            const struct ox_node *node = graph->nodes[i];
            lint_pair(lint, node);
            if (is_op(node, "Conv") || is_op(node, "ConvTranspose") || is_op(node, "Gemm") ||
                is_op(node, "MatMul"))
                lint_inputs(lint, node);
            lint_output(lint, &uses, node);
            status = ox_env_poll(lint->model->env, lint->err);
        }
    } else {
        status = ox_lint_no_memory(lint);
    }
    free((void *)uses.user);
    free(uses.many);
    return status;
}

enum ox_status ox_lint_qdq(struct ox_linter *lint)
{
    for (size_t g = 0; g < lint->model->n_graphs; g++)
        OX_TRY(lint_graph(lint, lint->model->graphs[g]));
    return OX_OK;
}
