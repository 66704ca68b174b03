/* DynamicQuantizeLSTM (com.microsoft): LSTM whose weights are 8-bit, and whose input, and state at every step, are quantized when
 * it runs. Sums are exact, as onnxruntime's are on processors with 8-bit products that do not saturate; with ox_run.saturating
 * they are as on the others. */
#include <inttypes.h>
#include <math.h>

#include "ops/contrib/contrib.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rnn/rnn.h"

/* Weights [directions, depth, width] by their scales (one a direction, or one a column of each), as [directions, width, depth]. */
static enum ox_status dequantize_weights(struct ox_run *r, size_t i, size_t i_scale,
                                         struct ox_tensor **out, struct ox_error *err)
{
    const struct ox_tensor *w = ox_run_in(r, i), *scale = ox_run_in(r, i_scale);
    const struct ox_tensor *zero = ox_run_in(r, i_scale + 1);
    if (w->rank != 3)
        return ox_run_fail(r, err, OX_INPUT, "weights of input %zu have rank %u, not 3", i,
                           w->rank);
    size_t directions = (size_t)w->dims[0], depth = (size_t)w->dims[1], width = (size_t)w->dims[2];
    bool columns = scale->n != directions;
    if ((columns && scale->n != directions * width) || zero->n != scale->n)
        return ox_run_fail(r, err, OX_INPUT,
                           "there are %zu scales and %zu zero points for %zu directions of %zu "
                           "columns",
                           scale->n, zero->n, directions, width);
    const int64_t dims[3] = {w->dims[0], w->dims[2], w->dims[1]};
    OX_TRY(ox_tensor_new(out, ox_env_budget(r->env), OX_FLOAT64, 3, dims, err));
    double *to = (*out)->data;
    for (size_t d = 0; d < directions; d++)
        for (size_t c = 0; c < width; c++) {
            size_t at = columns ? d * width + c : d;
            double s = ox_tensor_get_double(scale, at), z = ox_tensor_get_double(zero, at);
            for (size_t k = 0; k < depth; k++)
                to[(d * width + c) * depth + k] =
                    (ox_tensor_get_double(w, (d * depth + k) * width + c) - z) * s;
        }
    return OX_OK;
}

double ox_round_dynamic(double *v, size_t n, uint8_t *codes)
{
    double low = 0, high = 0;
    for (size_t i = 0; i < n; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    double scale = high == low ? 1 : (double)((float)(high - low) / 255), zero = rint(-low / scale);
    zero = zero < 0 ? 0 : zero > 255 ? 255 : zero;
    for (size_t i = 0; i < n; i++) {
        double q = rint(v[i] / scale) + zero;
        q = q < 0 ? 0 : q > 255 ? 255 : q;
        v[i] = (q - zero) * scale;
        if (codes)
            codes[i] = (uint8_t)q;
    }
    return scale;
}

/* X rounded; *codes and their scale too, unless codes is NULL. */
static enum ox_status round_input(struct ox_run *r, const struct ox_tensor *x,
                                  struct ox_tensor **out, struct ox_tensor **codes,
                                  struct ox_tensor **scale, struct ox_error *err)
{
    struct ox_budget *budget = ox_env_budget(r->env);
    double *v = ox_real_scratch(r, x->n, err);
    if (!v)
        return OX_NO_MEMORY;
    if (codes) {
        OX_TRY(ox_tensor_new(codes, budget, OX_UINT8, x->rank, x->dims, err));
        OX_TRY(ox_tensor_new(scale, budget, OX_FLOAT64, 0, NULL, err));
    }
    ox_real_load(x, 0, x->n, v);
    double by = ox_round_dynamic(v, x->n, codes ? (*codes)->data : NULL);
    if (codes)
        *(double *)(*scale)->data = by;
    OX_TRY(ox_tensor_new(out, budget, x->dtype, x->rank, x->dims, err));
    ox_real_store(*out, 0, x->n, v);
    return OX_OK;
}

static enum ox_status run_dynamic_lstm(struct ox_run *r, struct ox_error *err)
{
    struct ox_tensor *x = NULL, *w = NULL, *recurrent = NULL, *codes = NULL, *scale = NULL;
    const bool saturates =
        r->saturating && ox_run_in(r, 1)->dtype == OX_INT8 && ox_run_in(r, 2)->dtype == OX_INT8;
    enum ox_status status =
        round_input(r, ox_run_in(r, 0), &x, saturates ? &codes : NULL, &scale, err);
    if (status == OX_OK)
        status = dequantize_weights(r, 1, 8, &w, err);
    if (status == OX_OK)
        status = dequantize_weights(r, 2, 10, &recurrent, err);
    if (status == OX_OK) {
        const struct ox_tensor *in[OX_RNN_R_SCALE + 1] = {x,
                                                          w,
                                                          recurrent,
                                                          [OX_RNN_CODES] = codes,
                                                          [OX_RNN_CODES_SCALE] = scale,
                                                          [OX_RNN_W] = ox_run_in(r, 1),
                                                          [OX_RNN_W_SCALE] = ox_run_in(r, 8),
                                                          [OX_RNN_R] = ox_run_in(r, 2),
                                                          [OX_RNN_R_SCALE] = ox_run_in(r, 10)};
        for (size_t i = 3; i < OX_RNN_CODES; i++)
            in[i] = ox_run_in(r, i);
        status =
            ox_run_standard_on(r, "LSTM", 14, in, saturates ? OX_COUNT(in) : OX_RNN_CODES, err);
    }
    ox_tensor_release(scale);
    ox_tensor_release(codes);
    ox_tensor_release(recurrent);
    ox_tensor_release(w);
    ox_tensor_release(x);
    return status;
}

static void infer_dynamic_lstm(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    for (size_t i = 0; i < ox_infer_n_out(c); i++)
        ox_infer_same_dtype(c, i, 0);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank != 3)
        return;
    const struct ox_expr *hidden = ox_infer_dim(c, 2, 1), *directions = ox_infer_dim(c, 1, 0);
    const struct ox_expr *y[4] = {x[0], directions, x[1], hidden};
    const struct ox_expr *state[3] = {directions, x[1], hidden};
    if (ox_infer_n_out(c) > 0)
        ox_infer_set_shape(c, 0, 4, y);
    for (size_t i = 1; i < 3 && i < ox_infer_n_out(c); i++)
        ox_infer_set_shape(c, i, 3, state);
}

const struct ox_op ox_ops_dynamic_lstm[] = {{"com.microsoft", "DynamicQuantizeLSTM", 1,
                                             .infer = infer_dynamic_lstm, .run = run_dynamic_lstm,
                                             .fast = ox_fast_rnn, .prepare = ox_prepare_rnn},
                                            {0}};
