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

struct candidate {
    double gain; /* the error that it takes away */
    size_t i;
};

/* The weights of one output: integers that are `step` apart, and what each is above its real value, in steps. */
struct output {
    int8_t *q;
    size_t step, n;
    double *errors;
    struct candidate *candidates;
    bool is_unsigned;
    int32_t least, most;
};

static int by_gain(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain < y->gain ? 1 : -1;
    return (x->i > y->i) - (x->i < y->i);
}

static int32_t integer_at(const struct output *o, size_t i)
{
    int8_t q = o->q[i * o->step];
    return o->is_unsigned ? (uint8_t)q : q;
}

/* Those of [first, first + n) of which moving by -sign gains more than `least`. */
static size_t find_candidates(const struct output *o, size_t first, size_t n, int sign,
                              double least)
{
    size_t found = 0;
    for (size_t i = first; i < first + n; i++) {
        int32_t moved = integer_at(o, i) - sign;
        double gain = o->errors[i] * sign;
        if (gain > least && moved >= o->least && moved <= o->most)
            o->candidates[found++] = (struct candidate){gain, i};
    }
    return found;
}

static void cancel(struct output *o, size_t first, size_t n)
{
    double sum = 0;
    for (size_t i = first; i < first + n; i++)
        sum += o->errors[i];
    const int sign = sum > 0 ? 1 : -1;
    const double wanted = floor(fabs(sum) + 0.5);
    if (!(wanted >= 1) || wanted > (double)n)
        return;
    /* Errors are spread evenly: few need be looked at. */
    double least = fmax(0, 0.5 - (wanted + 4) / (double)n);
    size_t found = find_candidates(o, first, n, sign, least);
    if ((double)found < wanted && least > 0)
        found = find_candidates(o, first, n, sign, 0);
    qsort(o->candidates, found, sizeof *o->candidates, by_gain);
    for (size_t k = 0; k < found && (double)k < wanted; k++) {
        size_t i = o->candidates[k].i;
        o->q[i * o->step] = (int8_t)(integer_at(o, i) - sign);
        o->errors[i] -= sign;
    }
}

static void cancel_output(struct output *o, const float *values, struct ox_qparam pair,
                          size_t kernel)
{
    for (size_t i = 0; i < o->n; i++) {
        double exact = (double)values[i * o->step] / (double)pair.scale;
        o->errors[i] = (double)(integer_at(o, i) - pair.zero) - exact;
    }
    for (size_t i = 0; kernel > 1 && i < o->n; i += kernel)
        cancel(o, i, kernel);
    cancel(o, 0, o->n);
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
    struct output o = {.n = tensor->n / n_out,
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
