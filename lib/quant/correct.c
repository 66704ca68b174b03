/* Bias correction: rounding weights moves the mean of each output channel by the rounding error times the mean input, which the bias
 * can take back. After "Data-free quantization" (Nagel et al., 2019). */
#include <string.h>

#include "quant/channel_stats.h"
#include "quant/place.h"

/* Error of output channel `o` from weight element `i` of input channel `c`. */
struct layout {
    size_t n_out, n_in; /* n_in: of a group */
    size_t inner;
    size_t groups;
    bool columns; /* weights [in, out] */
};

static bool layout_of(const struct ox_node *node, const struct ox_tensor *w, struct layout *out)
{
    if (strcmp(node->op_type, "Conv") == 0) {
        size_t group = (size_t)ox_quant_int_attr(node, "group", 1);
        *out = (struct layout){(size_t)w->dims[0], (size_t)w->dims[1], 1, group, false};
        for (unsigned i = 2; i < w->rank; i++)
            out->inner *= (size_t)w->dims[i];
        return group > 0 && out->n_out % group == 0;
    }
    bool transposed = ox_quant_int_attr(node, "transB", 0) != 0;
    *out = (struct layout){(size_t)w->dims[!transposed], (size_t)w->dims[transposed], 1, 1,
                           !transposed};
    return w->rank == 2 && !ox_quant_int_attr(node, "transA", 0) &&
           ox_quant_float_attr(node, "alpha", 1) == 1;
}

static void shift_bias(const struct layout *l, const struct ox_tensor *w,
                       const struct ox_tensor *rounded, const struct ox_channel_row *mean,
                       const float *factors, float beta, float *bias)
{
    const float *a = w->data, *b = rounded->data;
    size_t out_a_group = l->n_out / l->groups;
    for (size_t o = 0; o < l->n_out; o++) {
        double shift = 0;
        for (size_t c = 0; c < l->n_in; c++) {
            size_t channel = o / out_a_group * l->n_in + c;
            double sum = 0;
            for (size_t i = 0; i < l->inner; i++) {
                size_t at = l->columns ? c * l->n_out + o : (o * l->n_in + c) * l->inner + i;
                sum += (double)a[at] - (double)b[at];
            }
            double factor = factors ? (double)factors[channel] : 1;
            shift += sum * mean->sums[channel] / mean->count / factor;
        }
        bias[o] += (float)(shift / (double)beta);
    }
}

static enum ox_status correct(struct ox_place *place, struct ox_mark_bias *bias,
                              struct ox_error *err)
{
    struct ox_quant *q = place->q;
    struct ox_budget *budget = ox_env_budget(q->model->env);
    const struct ox_channel_row *mean = ox_channels_of(place->channels, bias->input->name);
    const struct ox_equalized *evened = ox_equalized_of(place->equalized, bias->input->name);
    const struct ox_mark *mark = ox_place_mark(place, bias->weight);
    struct ox_tensor *w = NULL, *integers = NULL, *rounded = NULL, *values = NULL, *moved = NULL;
    struct layout layout;
    enum ox_dtype real;
    enum ox_status status;
    if (!mean || !(mean->count > 0) || bias->beta == 0 || !ox_value_stored(bias->weight) ||
        !mark->params.n || strcmp(bias->node->op_type, "ConvTranspose") == 0)
        return OX_OK;
    OX_TRY_CLEANUP(ox_quant_values(q, bias->weight, &w, &real, err));
    OX_TRY_CLEANUP(ox_quant_values(q, bias->bias, &values, &real, err));
    if (!layout_of(bias->node, w, &layout) || mean->n != layout.n_in * layout.groups ||
        values->n != layout.n_out || real != OX_FLOAT32 || (evened && evened->n != mean->n))
        goto cleanup;
    OX_TRY_CLEANUP(ox_place_integers(place, bias->weight, w, &integers, err));
    OX_TRY_CLEANUP(ox_dequantize_tensor(&rounded, budget, integers, &mark->params, err));
    OX_TRY_CLEANUP(ox_tensor_new(&moved, budget, OX_FLOAT32, values->rank, values->dims, err));
    memcpy(moved->data, values->data, values->n * sizeof(float));
    shift_bias(&layout, w, rounded, mean, evened ? evened->factors : NULL, bias->beta, moved->data);
    /* The old bias may serve others: this node gets its own, which is marked for no more than that. */
    bias->moved = ox_model_store(q->model, bias->bias->name, moved);
    if (!bias->moved)
        status = ox_no_memory(err);
cleanup:
    ox_tensor_release(w);
    ox_tensor_release(integers);
    ox_tensor_release(rounded);
    ox_tensor_release(values);
    ox_tensor_release(moved);
    return status;
}

enum ox_status ox_place_correct(struct ox_place *place, struct ox_error *err)
{
    for (size_t i = 0; place->correcting && i < place->n_biases; i++)
        OX_TRY(correct(place, &place->biases[i], err));
    return OX_OK;
}
