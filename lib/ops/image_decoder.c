/* ImageDecoder: the pixels in the order asked for. */
#include <string.h>

#include "ops/carry.h"
#include "ops/rules.h"
#include "tensor/picture/picture.h"

enum pixel_format { PIXEL_RGB, PIXEL_BGR, PIXEL_GRAY };

static const char *const pixel_names[] = {"RGB", "BGR", "Grayscale"};

static void infer_image_decoder(struct ox_infer *c)
{
    const char *format = ox_infer_string_attr(c, "pixel_format");
    const struct ox_expr *dims[3];

    ox_rule_rank(c, 0, 1);
    ox_infer_set_dtype(c, 0, OX_UINT8);
    dims[0] = ox_infer_data_dim(c, "height");
    dims[1] = ox_infer_data_dim(c, "width");
    dims[2] = ox_infer_num(c, format && strcmp(format, pixel_names[PIXEL_GRAY]) == 0 ? 1 : 3);
    ox_infer_set_shape(c, 0, 3, dims);
}

static void put_pixels(const struct ox_picture *picture, enum pixel_format format, uint8_t *out)
{
    size_t n = picture->width * picture->height * picture->channels;
    const uint8_t *p = picture->pixels;

    if (format != PIXEL_BGR) {
        memcpy(out, p, n);
        return;
    }
    for (size_t i = 0; i < n; i += 3) {
        out[i] = p[i + 2];
        out[i + 1] = p[i + 1];
        out[i + 2] = p[i];
    }
}

static enum ox_status run_image_decoder(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    const char *name = ox_run_string(r, "pixel_format");
    const struct ox_picture_source source = {"the image", in->data, in->n, r->scratch, r->env};
    struct ox_picture picture = {0};
    struct ox_error why = {0};
    enum ox_status status = OX_INPUT;
    int format = name ? -1 : PIXEL_RGB;
    struct ox_tensor *out;

    for (int i = 0; name && i < 3; i++) {
        if (strcmp(name, pixel_names[i]) == 0)
            format = i;
    }
    if (format < 0)
        return ox_run_fail(r, err, OX_INPUT, "pixel_format '%s' is none of RGB, BGR, Grayscale",
                           name);
    unsigned channels = format == PIXEL_GRAY ? 1 : 3;

    if (ox_picture_format(in->data, in->n))
        status = ox_picture_decode(&picture, &source, &why);
    if (status == OX_OK)
        status = ox_picture_to_channels(&picture, r->scratch, channels, source.name, &why);
    if (status == OX_INPUT) /* what cannot be decoded is an empty image, by the standard */
        picture.width = picture.height = 0;
    else if (status != OX_OK)
        return ox_run_fail(r, err, status, "%s", why.message);
    int64_t dims[3] = {(int64_t)picture.height, (int64_t)picture.width, channels};

    OX_TRY(ox_run_out(r, 0, OX_UINT8, 3, dims, &out, err));
    if (out->n > 0)
        put_pixels(&picture, (enum pixel_format)format, out->data);
    return OX_OK;
}

const struct ox_op ox_ops_image_decoder[] = {
    {"", "ImageDecoder", 20, 0, .infer = infer_image_decoder, .run = run_image_decoder}, {0}};
