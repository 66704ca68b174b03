/* Inputs of a convolution are mostly of one sign and alike among neighbours, so that what counts of rounding is the sum of its
 * errors. After "SQuant: on-the-fly data-free quantization via diagonal Hessian approximation" (Guo et al., 2022): first the
 * kernels, then all weights of an output. */
#include "quant/cancel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/one_sign.h"

int ox_cancel_axis(const struct ox_node *node, unsigned rank)
{
    if (*node->domain)
        return -1;
    if (strcmp(node->op_type, "Conv") == 0) {
        /* Of the few weights of a depthwise kernel one moved costs more than their sum gains. */
        const struct ox_stored *weight = ox_value_stored(node->inputs[1]);
        const bool deep = weight && weight->rank > 1 && weight->dims[1] == 1 &&
                          ox_quant_int_attr(node, "group", 1) > 1;
        return rank > 2 && !deep ? 0 : -1;
    }
    if (rank == 2 && strcmp(node->op_type, "Gemm") == 0)
        return ox_quant_int_attr(node, "transB", 0) ? 0 : 1;
    return rank == 2 && strcmp(node->op_type, "MatMul") == 0 ? 1 : -1;
}

static enum ox_status pays(struct ox_quant *q, const struct ox_node *node, bool *answer,
                           struct ox_error *err)
{
    /* What comes from without may have been centred, or be noise. */
    if (strcmp(node->op_type, "Conv") == 0) {
        *answer = node->inputs[0]->producer != NULL;
        return OX_OK;
    }
    return ox_quant_one_sign(q, node->inputs[0], answer, err);
}

/* The product of a matrix that gives the value, the bias after it, if there is one, in *bias; NULL: none does. */
static const struct ox_node *product_of(const struct ox_value *value, const struct ox_value **bias)
{
    const struct ox_node *node = value ? value->producer : NULL;
    *bias = NULL;
    if (!node || *node->domain || node->n_inputs < 2 || !node->inputs[0] || !node->inputs[1])
        return NULL;
    if (strcmp(node->op_type, "Add") == 0) {
        const int constant = ox_value_stored(node->inputs[0]) ? 0 : 1;
        const struct ox_value *sum = node->inputs[1 - constant];
        *bias = node->inputs[constant];
        node = sum ? sum->producer : NULL;
        return node && !*node->domain && strcmp(node->op_type, "MatMul") == 0 ? node : NULL;
    }
    if (strcmp(node->op_type, "Gemm") == 0) {
        *bias = node->n_inputs > 2 ? node->inputs[2] : NULL;
        return node;
    }
    return strcmp(node->op_type, "MatMul") == 0 ? node : NULL;
}

/* What the n columns of a constant matrix, or a vector of them, add up to. OX_OK also where it is no such constant. */
static enum ox_status add_columns(struct ox_quant *q, const struct ox_value *value, bool turned,
                                  double *sums, size_t n, bool *fits, struct ox_error *err)
{
    struct ox_tensor *values;
    enum ox_dtype real;
    const struct ox_stored *stored = ox_value_stored(value);
    *fits = stored && ox_quant_is_float(stored->dtype) && stored->rank >= 1 && stored->rank <= 2 &&
            (size_t)stored->dims[turned ? 0 : stored->rank - 1] == n &&
            (stored->rank == 2 || !turned);
    if (!*fits)
        return OX_OK;
    if (turned)
        OX_TRY(ox_quant_turned(q, value, &values, &real, err));
    else
        OX_TRY(ox_quant_values(q, value, &values, &real, err));
    for (size_t i = 0; i < values->n; i++)
        sums[i % n] += (double)((const float *)values->data)[i];
    ox_tensor_release(values);
    return OX_OK;
}

/* Of a product whose outputs lie along that axis of its weight. *live stays NULL where all features may be other than 0. */
static enum ox_status find_live(struct ox_quant *q, const struct ox_node *node, int outputs,
                                const bool **live, struct ox_error *err)
{
    const struct ox_stored *weight = ox_value_stored(node->inputs[1]);
    const struct ox_node *relu = node->inputs[0]->producer;
    if (weight->rank != 2 || !relu || *relu->domain || strcmp(relu->op_type, "Relu") != 0)
        return OX_OK;
    const struct ox_value *bias;
    const struct ox_node *before = product_of(relu->inputs[0], &bias);
    bool before_pays = false;
    if (before)
        OX_TRY(pays(q, before, &before_pays, err));
    if (!before_pays)
        return OX_OK;
    const size_t n = (size_t)weight->dims[1 - outputs];
    const bool turned = ox_quant_int_attr(before, "transB", 0) != 0;
    double *sums = ox_arena_array(&q->arena, n, sizeof *sums);
    bool *found = ox_arena_array(&q->arena, n, sizeof *found), fits, any = false;
    if (!sums || !found)
        return ox_no_memory(err);
    OX_TRY(add_columns(q, before->inputs[1], turned, sums, n, &fits, err));
    if (fits && bias)
        OX_TRY(add_columns(q, bias, false, sums, n, &fits, err));
    for (size_t i = 0; i < n; i++) {
        found[i] = sums[i] > 0;
        any = any || found[i];
    }
    *live = fits && any ? found : NULL;
    return OX_OK;
}

enum ox_status ox_cancel_plan(struct ox_quant *q, const struct ox_node *node,
                              struct ox_cancel_plan *plan, struct ox_error *err)
{
    *plan = (struct ox_cancel_plan){0};
    const bool two = node->n_inputs > 1 && node->inputs[0] && node->inputs[1];
    const struct ox_stored *weight = two ? ox_value_stored(node->inputs[1]) : NULL;
    const int outputs = weight ? ox_cancel_axis(node, weight->rank) : -1;
    if (outputs < 0)
        return OX_OK;
    OX_TRY(pays(q, node, &plan->pays, err));
    return find_live(q, node, outputs, &plan->live, err);
}

static int by_cost(const void *a, const void *b)
{
    const struct ox_cancel_candidate *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static int32_t integer_at(const struct ox_cancelling *o, size_t i)
{
    int8_t q = o->q[i * o->step];
    return o->is_unsigned ? (uint8_t)q : q;
}

static double scale_of(const struct ox_cancelling *o, size_t i)
{
    return o->scales ? o->scales[i] : 1;
}

/* By how much q changes when its value moves against `sign`. */
static int32_t move_of(const struct ox_cancelling *o, size_t i, int sign)
{
    return scale_of(o, i) > 0 ? -sign : sign;
}

/* Those whose error has the sign and is larger than `least` steps. What a move costs is what it adds to the squared errors for
 * each unit that it takes off the sum. */
static size_t find_candidates(const struct ox_cancelling *o, size_t first, size_t n, int sign,
                              double least)
{
    size_t found = 0;
    for (size_t i = first; i < first + n; i++) {
        int32_t moved = integer_at(o, i) + move_of(o, i, sign);
        double scale = scale_of(o, i), error = o->errors[i] * (scale > 0 ? sign : -sign);
        if (error > least && scale != 0 && moved >= o->least && moved <= o->most)
            o->candidates[found++] = (struct ox_cancel_candidate){(1 - 2 * error) * fabs(scale), i};
    }
    return found;
}

void ox_cancel(struct ox_cancelling *o, size_t first, size_t n)
{
    double sum = 0, scales = 0;
    for (size_t i = first; i < first + n; i++) {
        sum += o->errors[i] * scale_of(o, i);
        scales += fabs(scale_of(o, i));
    }
    const int sign = sum > 0 ? 1 : -1;
    const double wanted = scales > 0 ? fabs(sum) * (double)n / scales : 0;
    if (!(wanted > 0.5) || wanted > (double)n)
        return;
    /* Errors are spread evenly: few need be looked at. */
    double least = fmax(0, 0.5 - 2 * (wanted + 4) / (double)n);
    size_t found = find_candidates(o, first, n, sign, least);
    if ((double)found < wanted && least > 0)
        found = find_candidates(o, first, n, sign, 0);
    qsort(o->candidates, found, sizeof *o->candidates, by_cost);
    for (size_t k = 0; k < found; k++) {
        const size_t i = o->candidates[k].i;
        const double scale = fabs(scale_of(o, i));
        const int32_t move = move_of(o, i, sign);
        if (sign * sum <= scale / 2) /* what is left, beyond 0 too where scales differ */
            continue;
        o->q[i * o->step] = (int8_t)(integer_at(o, i) + move);
        o->errors[i] += move;
        sum -= sign * scale;
    }
}

static void cancel_output(struct ox_cancelling *o, const float *values, struct ox_qparam pair,
                          size_t kernel)
{
    for (size_t i = 0; i < o->n; i++) {
        double exact = (double)values[i * o->step] / (double)pair.scale;
        o->errors[i] = (double)(integer_at(o, i) - pair.zero) - exact;
    }
    for (size_t i = 0; kernel > 1 && i < o->n; i += kernel)
        ox_cancel(o, i, kernel);
    ox_cancel(o, 0, o->n);
}

enum ox_status ox_quantize_cancelling(struct ox_tensor **out, struct ox_budget *budget,
                                      const struct ox_tensor *tensor,
                                      const struct ox_qparams *params, int outputs,
                                      const bool *live, struct ox_error *err)
{
    struct ox_tensor *made;
    OX_TRY(ox_quantize_tensor(&made, budget, tensor, params, err));
    *out = made;
    const bool columns = outputs > 0;
    if (outputs < 0 || ox_dtype_size(params->type) != 1 || tensor->rank < 2 || !tensor->n ||
        (params->axis != outputs && params->n != 1))
        return OX_OK;
    const size_t n_out = (size_t)tensor->dims[outputs];
    struct ox_cancelling o = {.n = tensor->n / n_out,
                              .step = columns ? n_out : 1,
                              .is_unsigned = !ox_dtype_is_signed(params->type)};
    struct ox_arena scratch;
    size_t kernel = 1;
    for (unsigned i = 2; i < tensor->rank; i++)
        kernel *= (size_t)tensor->dims[i];
    ox_qtype_limits(params->type, &o.least, &o.most);
    ox_arena_init(&scratch, budget);
    o.errors = ox_arena_array(&scratch, o.n, sizeof *o.errors);
    o.candidates = ox_arena_array(&scratch, o.n, sizeof *o.candidates);
    double *scales = live ? ox_arena_array(&scratch, o.n, sizeof *scales) : NULL;
    enum ox_status status =
        o.errors && o.candidates && (scales || !live) ? OX_OK : ox_no_memory(err);
    for (size_t i = 0; scales && i < o.n; i++)
        scales[i] = live[i];
    o.scales = scales;
    for (size_t i = 0; i < n_out && status == OX_OK; i++) {
        size_t at = columns ? i : i * o.n;
        o.q = (int8_t *)made->data + at;
        cancel_output(&o, (const float *)tensor->data + at, params->pairs[params->n == 1 ? 0 : i],
                      kernel);
    }
    ox_arena_release(&scratch);
    if (status != OX_OK)
        ox_tensor_release(made);
    return status;
}
