/* One reading of inputs, tried: on all that it fits at once, and on each. */
#include <string.h>

#include "parity/expected_inputs.h"

const struct ox_axis *ox_axis_of(const struct ox_tensor *t, unsigned which, struct ox_axis *axis)
{
    if (t->rank < 3 || t->rank > 5)
        return NULL;
    axis->at = which ? t->rank - 1 : t->rank == 3 ? 0 : 1;
    axis->inner = 1;
    for (unsigned k = axis->at + 1; k < t->rank; k++)
        axis->inner *= (size_t)t->dims[k];
    const int64_t n = t->dims[axis->at];
    return n == 1 || n == 3 || n == 4 ? axis : NULL;
}

const struct ox_tensor *ox_given_tensor(const struct ox_expecting *e, size_t i)
{
    const struct ox_tensor *t = e->inputs[i] ? ox_datum_get_tensor(e->inputs[i]) : NULL;
    return t && t->dtype != OX_STRING && t->rank <= OX_AXIS_RANK && t->n ? t : NULL;
}

/* What the reading makes of each input; NULL where it does not fit, or makes nothing else of it. */
static enum ox_status make_inputs(const struct ox_expecting *e, const struct ox_input_reading *r,
                                  struct ox_datum **made, size_t *n, struct ox_error *err)
{
    *n = 0;
    for (size_t i = 0; i < e->n_inputs && i < OX_READ_INPUTS; i++) {
        const struct ox_tensor *t = ox_given_tensor(e, i);
        struct ox_tensor *read = NULL;
        if (t)
            OX_TRY(r->make(&read, r, e->env, t, err));
        if (!read)
            continue;
        enum ox_status status = OX_OK;
        if (memcmp(read->data, t->data, t->n * ox_dtype_size(t->dtype)) != 0) {
            status = ox_datum_of_tensor(&made[i], read, err);
            *n += status == OX_OK;
        }
        ox_tensor_release(read);
        OX_TRY(status);
    }
    return OX_OK;
}

/* The smallest and largest value, for the reader to judge by. */
static void print_range(const struct ox_tensor *t, char *text, size_t size)
{
    double low = ox_tensor_get_double(t, 0), high = low;
    for (size_t i = 1; i < t->n; i++) {
        const double v = ox_tensor_get_double(t, i);
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    snprintf(text, size, "[%.6g, %.6g]", low, high);
}

/* Input `only`, or all that were made, in the place of what was given. */
static enum ox_status try_made(struct ox_expecting *e, const struct ox_input_reading *r,
                               struct ox_datum *const *made, size_t only, struct ox_error *err)
{
    struct ox_datum *inputs[OX_READ_INPUTS];
    struct ox_verdict verdict;
    char what[256], text[OX_READING_TEXT], range[64];
    for (size_t i = 0; i < e->n_inputs; i++)
        inputs[i] = made[i] && (only == SIZE_MAX || only == i) ? made[i] : e->inputs[i];
    r->describe(r, what, sizeof what);
    if (only == SIZE_MAX) {
        snprintf(text, sizeof text, "%s for each input x of that kind", what);
    } else {
        print_range(ox_given_tensor(e, only), range, sizeof range);
        snprintf(text, sizeof text, "%s for input x = '%.80s' (given in %s)", what,
                 ox_session_input_name(e->session, only), range);
    }
    const struct ox_reading reading = {r->weight, r->id, text};
    return ox_expecting_try_inputs(e, &reading, inputs, &verdict, err);
}

enum ox_status ox_try_reading(struct ox_expecting *e, const struct ox_input_reading *r,
                              struct ox_error *err)
{
    struct ox_datum *made[OX_READ_INPUTS] = {NULL};
    size_t n = 0;
    enum ox_status status = make_inputs(e, r, made, &n, err);
    if (status == OX_OK && n > 1)
        status = try_made(e, r, made, SIZE_MAX, err);
    for (size_t i = 0; i < OX_READ_INPUTS && status == OX_OK; i++)
        if (made[i])
            status = try_made(e, r, made, i, err);
    for (size_t i = 0; i < OX_READ_INPUTS; i++)
        ox_datum_release(made[i]);
    return status;
}
