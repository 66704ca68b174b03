/* Inputs of a convolution are mostly of one sign and alike among neighbours, so that what counts of rounding is the sum of its
 * errors. After "SQuant: on-the-fly data-free quantization via diagonal Hessian approximation" (Guo et al., 2022): first the
 * kernels, then all weights of an output. */
#include "quant/cancel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/quant.h"

int ox_cancel_axis(const struct ox_node *node, unsigned rank)
{
    if (*node->domain)
        return -1;
    if (strcmp(node->op_type, "Conv") == 0)
        return rank > 2 ? 0 : -1;
    if (rank == 2 && strcmp(node->op_type, "Gemm") == 0)
        return ox_quant_int_attr(node, "transB", 0) ? 0 : 1;
    return rank == 2 && strcmp(node->op_type, "MatMul") == 0 ? 1 : -1;
}

static bool is_among(const char *op_type, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(op_type, names[i]) == 0)
            return true;
    }
    return false;
}

bool ox_cancel_pays(const struct ox_node *node)
{
    static const char *const one_sign[] = {"Relu",     "Sigmoid", "Softmax", "HardSigmoid",
                                           "Softplus", "Abs",     "Exp",     "Sqrt"};
    static const char *const keep_sign[] = {
        "Reshape", "Flatten",     "Transpose",         "Squeeze", "Unsqueeze",
        "MaxPool", "AveragePool", "GlobalAveragePool", "Dropout", "Identity",
        "Slice",   "Split",       "GlobalMaxPool",     "Resize",  "ReduceMean"};
    if (strcmp(node->op_type, "Conv") == 0)
        return true;
    const struct ox_value *value = node->inputs[0];
    while (value && value->producer && !*value->producer->domain && value->producer->n_inputs &&
           is_among(value->producer->op_type, keep_sign, OX_COUNT(keep_sign)))
        value = value->producer->inputs[0];
    return value && value->producer && !*value->producer->domain &&
           is_among(value->producer->op_type, one_sign, OX_COUNT(one_sign));
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
        if (fabs(sum) <= scale / 2)
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
                                      struct ox_error *err)
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
    enum ox_status status =
        o.errors && o.candidates ? OX_OK : ox_fail(err, OX_NO_MEMORY, "out of memory");
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
