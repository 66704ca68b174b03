#include "ops/contrib/contrib_mask.h"

#include <inttypes.h>
#include <math.h>

#include "ops/real.h"

double ox_attend_scale(const struct ox_run *r, size_t size)
{
    double scale = (double)ox_run_float(r, "scale", 0);
    return scale == 0 && size ? 1 / sqrt((double)size) : scale;
}

enum ox_status ox_attend_heads(struct ox_run *r, const char *name, size_t width, size_t *heads,
                               size_t *size, struct ox_error *err)
{
    int64_t n = ox_run_int(r, name, 0);
    if (n < 1 || width == 0 || width % (size_t)n)
        return ox_run_fail(r, err, OX_INPUT, "attribute %s is %" PRId64 ", the width %zu", name, n,
                           width);
    *heads = (size_t)n;
    *size = width / (size_t)n;
    return OX_OK;
}

/* Keys [start, end) of each batch are seen. */
static void hide_outside(const struct ox_tensor *t, size_t batch, bool starts, size_t cols,
                         double hidden, double *mask)
{
    for (size_t b = 0; b < batch; b++) {
        int64_t end = ox_tensor_get_int(t, b);
        int64_t start = starts ? ox_tensor_get_int(t, batch + b) : 0;
        for (size_t c = 0; c < cols; c++)
            mask[b * cols + c] = (int64_t)c < end && (int64_t)c >= start ? 0 : hidden;
    }
}

enum ox_status ox_attend_mask(struct ox_run *r, size_t i, struct ox_attend *a, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    if (!t || t->rank == 4)
        return OX_OK;
    double hidden = (double)ox_run_float(r, "mask_filter_value", -10000);
    bool rows = t->rank == 3;
    size_t n, all;
    if (OX_MUL_OVERFLOWS(a->batch, a->cols, &n) || OX_MUL_OVERFLOWS(n, rows ? a->rows : 1, &all))
        return ox_run_fail(r, err, OX_LIMIT, "the mask is too big");
    double *mask = ox_real_scratch(r, all, err);
    if (!mask)
        return OX_NO_MEMORY;
    if (t->rank == 1 && (t->n == a->batch || t->n == 2 * a->batch || t->n == 3 * a->batch + 2)) {
        hide_outside(t, a->batch, t->n == 2 * a->batch && a->batch > 0, a->cols, hidden, mask);
    } else if (t->n == all && t->rank >= 2 && t->rank <= 3) {
        for (size_t k = 0; k < all; k++)
            mask[k] = ox_tensor_get_int(t, k) > 0 ? 0 : hidden;
    } else {
        return ox_run_fail(r, err, OX_INPUT,
                           "a mask of rank %u and %zu elements does not fit %zu batches of %zu "
                           "keys",
                           t->rank, t->n, a->batch, a->cols);
    }
    a->mask = mask;
    a->mask_at = (struct ox_attend_steps){.batch = rows ? a->rows * a->cols : a->cols,
                                          .row = rows ? a->cols : 0};
    return OX_OK;
}

enum ox_status ox_attend_bias(struct ox_run *r, size_t i, struct ox_attend *a, struct ox_error *err)
{
    const struct ox_tensor *t = ox_run_in(r, i);
    if (!t)
        return OX_OK;
    bool fits = t->rank == 4 && (t->dims[0] == 1 || (size_t)t->dims[0] == a->batch) &&
                (t->dims[1] == 1 || (size_t)t->dims[1] == a->heads) &&
                (size_t)t->dims[2] == a->rows && (size_t)t->dims[3] >= a->cols;
    if (!fits)
        return ox_run_fail(r, err, OX_INPUT,
                           "attention_bias (rank %u, %zu elements) does not fit %zu x %zu x %zu x "
                           "%zu",
                           t->rank, t->n, a->batch, a->heads, a->rows, a->cols);
    size_t cols = (size_t)t->dims[3];
    OX_TRY(ox_real_in(r, i, &a->bias, err));
    a->bias_at.row = cols;
    a->bias_at.head = t->dims[1] == 1 ? 0 : a->rows * cols;
    a->bias_at.batch = t->dims[0] == 1 ? 0 : (size_t)t->dims[1] * a->rows * cols;
    return OX_OK;
}
