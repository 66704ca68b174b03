/* Pictures in other numbers: from one convention of their values to another, channels in the other order or not. */
#include <math.h>
#include <string.h>

#include "parity/expected_inputs.h"

/* A value p of 0 to 1 is (p * scale - mean) / std of its channel. */
static const struct numbers {
    const char *made, *undone; /* of "%s" */
    unsigned n_channels;       /* 0: any */
    double scale, mean[3], std[3];
} conventions[] = {
    {"%s", "%s", 0, 1, {0}, {1}},
    {"%s * 255", "%s / 255", 0, 255, {0}, {1}},
    {"%s * 2 - 1", "(%s + 1) / 2", 0, 1, {0.5}, {0.5}},
    {"(%s - mean) / std of ImageNet",
     "(%s * std + mean of ImageNet)",
     3,
     1,
     {0.485, 0.456, 0.406},
     {0.229, 0.224, 0.225}},
    {"(%s * 255 less the means 103.939, 116.779, 123.68 of Caffe)",
     "(%s plus the means 103.939, 116.779, 123.68 of Caffe) / 255",
     3,
     255,
     {103.939, 116.779, 123.68},
     {1, 1, 1}},
    {"(%s - mean) / std of CLIP",
     "(%s * std + mean of CLIP)",
     3,
     1,
     {0.48145466, 0.4578275, 0.40821073},
     {0.26862954, 0.26130258, 0.27577711}},
    {"(%s - 0.1307) / 0.3081 (MNIST)", "(%s * 0.3081 + 0.1307 (MNIST))", 1, 1, {0.1307}, {0.3081}},
};

static bool takes(const struct numbers *c, const struct ox_tensor *t, const struct ox_axis *axis)
{
    return !c->n_channels || (axis && t->dims[axis->at] == c->n_channels);
}

static enum ox_status read_pixels(struct ox_tensor **out, const struct ox_input_reading *r,
                                  struct ox_env *env, const struct ox_tensor *t,
                                  struct ox_error *err)
{
    const struct numbers *from = &conventions[r->from], *to = &conventions[r->to];
    struct ox_axis place;
    const struct ox_axis *axis = ox_axis_of(t, r->axis, &place);
    const size_t n = axis ? (size_t)t->dims[axis->at] : 1, inner = axis ? axis->inner : 1;
    struct ox_tensor *wide = NULL;
    *out = NULL;
    if (!takes(from, t, axis) || !takes(to, t, axis) || (r->turned && (!axis || n < 3)) ||
        !ox_dtype_is_float(t->dtype))
        return OX_OK;
    OX_TRY(ox_tensor_new(&wide, ox_env_budget(env), OX_FLOAT64, t->rank, t->dims, err));
    double *values = wide->data;
    for (size_t i = 0; i < t->n; i++) {
        const size_t c = i / inner % n, source = r->turned ? ox_turned_channel(c) : c;
        const size_t f = from->n_channels ? source : 0, g = to->n_channels ? c : 0;
        const double x = ox_tensor_get_double(t, i + source * inner - c * inner);
        const double p = (x * from->std[f] + from->mean[f]) / from->scale;
        values[i] = (p * to->scale - to->mean[g]) / to->std[g];
    }
    enum ox_status status = ox_tensor_convert(out, ox_env_budget(env), wide, t->dtype, true, err);
    ox_tensor_release(wide);
    return status;
}

static void describe_pixels(const struct ox_input_reading *r, char *text, size_t size)
{
    /* The forms are those of the table, each with one "%s". */
    const char *undone = conventions[r->from].undone, *made = conventions[r->to].made;
    const char *x = strstr(undone, "%s"), *p = strstr(made, "%s");
    snprintf(text, size, "%.*s%.*sx%s%s%s", (int)(p - made), made, (int)(x - undone), undone, x + 2,
             p + 2, r->turned ? ", channels turned (RGB and BGR)" : "");
}

enum ox_status ox_try_pixels(struct ox_expecting *e, struct ox_error *err)
{
    for (unsigned turned = 0; turned < 2; turned++)
        for (unsigned axis = 0; axis < OX_CHANNEL_AXES; axis++)
            for (unsigned from = 0; from < OX_COUNT(conventions); from++)
                for (unsigned to = 0; to < OX_COUNT(conventions); to++) {
                    const bool needs_axis =
                        turned || conventions[from].n_channels || conventions[to].n_channels;
                    const struct ox_input_reading reading = {.id = "input-values",
                                                             .weight = turned ? 78 : 80,
                                                             .make = read_pixels,
                                                             .describe = describe_pixels,
                                                             .from = from,
                                                             .to = to,
                                                             .turned = turned,
                                                             .axis = axis};
                    if (from != to && (needs_axis || axis == 0))
                        OX_TRY(ox_try_reading(e, &reading, err));
                }
    return OX_OK;
}
