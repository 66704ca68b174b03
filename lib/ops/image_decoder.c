/* ImageDecoder: which format it is, and the pixels in the order asked for. */
#include <inttypes.h>
#include <string.h>

#include "ops/carry.h"
#include "ops/image_codec.h"

enum pixel_format { PIXEL_RGB, PIXEL_BGR, PIXEL_GRAY };

static const char *const pixel_names[] = {"RGB", "BGR", "Grayscale"};

enum ox_image_status ox_image_make(struct ox_image *image, uint64_t width, uint64_t height)
{
    size_t bytes;

    if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX)
        return OX_IMAGE_BAD;
    if (OX_MUL_OVERFLOWS((size_t)width * 3, (size_t)height, &bytes))
        return OX_IMAGE_NO_MEMORY;
    image->pixels = ox_arena_alloc(image->memory, bytes);
    if (!image->pixels)
        return OX_IMAGE_NO_MEMORY;
    image->width = (int64_t)width;
    image->height = (int64_t)height;
    return OX_IMAGE_OK;
}

struct format {
    const char *name;
    const char *magic;
    size_t at, n;
    enum ox_image_status (*decode)(struct ox_image *image, const uint8_t *bytes, size_t n);
};

static const struct format formats[] = {
    {"JPEG", "\xFF\xD8\xFF", 0, 3, ox_image_jpeg},
    {"PNG", "\x89PNG\r\n\x1A\n", 0, 8, ox_image_png},
    {"WebP", "WEBP", 8, 4, ox_image_webp},
    {"BMP", "BM", 0, 2, ox_image_bmp},
    {"TIFF", "II*\0", 0, 4, ox_image_tiff},
    {"TIFF", "MM\0*", 0, 4, ox_image_tiff},
    {"TIFF", "II+\0", 0, 4, ox_image_tiff},
    {"TIFF", "MM\0+", 0, 4, ox_image_tiff},
    {"JPEG 2000", "\0\0\0\x0CjP  \r\n\x87\n", 0, 12, ox_image_jpeg2000},
    {"JPEG 2000", "\xFF\x4F\xFF\x51", 0, 4, ox_image_jpeg2000},
    {"PNM", "P", 0, 1, ox_image_pnm},
};

static const struct format *format_of(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < OX_COUNT(formats); i++) {
        const struct format *f = &formats[i];

        if (n >= f->at + f->n && memcmp(bytes + f->at, f->magic, f->n) == 0)
            return f;
    }
    return NULL;
}

static void infer_image_decoder(struct ox_infer *c)
{
    const char *format = ox_infer_string_attr(c, "pixel_format");
    const struct ox_expr *dims[3];

    ox_infer_set_dtype(c, 0, OX_UINT8);
    dims[0] = ox_infer_data_dim(c, "height");
    dims[1] = ox_infer_data_dim(c, "width");
    dims[2] = ox_infer_num(c, format && strcmp(format, pixel_names[PIXEL_GRAY]) == 0 ? 1 : 3);
    ox_infer_set_shape(c, 0, 3, dims);
}

static void put_pixels(const struct ox_image *image, enum pixel_format format, uint8_t *out)
{
    size_t n = (size_t)image->width * (size_t)image->height;
    const uint8_t *p = image->pixels;

    switch (format) {
    case PIXEL_RGB:
        memcpy(out, p, 3 * n);
        break;
    case PIXEL_BGR:
        for (size_t i = 0; i < n; i++, p += 3, out += 3) {
            out[0] = p[2];
            out[1] = p[1];
            out[2] = p[0];
        }
        break;
    case PIXEL_GRAY: /* the luma of ITU-R BT.601, in 16 bits and rounded */
        for (size_t i = 0; i < n; i++, p += 3)
            out[i] = (uint8_t)((p[0] * 19595U + p[1] * 38470U + p[2] * 7471U + 0x8000U) >> 16);
        break;
    }
}

static enum ox_status run_image_decoder(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    const char *name = ox_run_string(r, "pixel_format");
    struct ox_image image = {.memory = r->scratch};
    int format = name ? -1 : PIXEL_RGB;
    struct ox_tensor *out;

    for (int i = 0; name && i < 3; i++) {
        if (strcmp(name, pixel_names[i]) == 0)
            format = i;
    }
    if (format < 0)
        return ox_run_fail(r, err, OX_INPUT, "pixel_format '%s' is none of RGB, BGR, Grayscale",
                           name);
    const struct format *f = format_of(in->data, in->n);

    if (f) {
        enum ox_image_status status = f->decode(&image, in->data, in->n);

        if (status == OX_IMAGE_NO_CODEC)
            return ox_run_fail(r, err, OX_UNSUPPORTED, "this program was built without %s",
                               f->name);
        if (status == OX_IMAGE_NO_MEMORY)
            return ox_run_fail(r, err, OX_NO_MEMORY, "no memory for a %s image", f->name);
        if (status == OX_IMAGE_BAD) /* what cannot be decoded is an empty image, by the standard */
            image.width = image.height = 0;
    }
    int64_t dims[3] = {image.height, image.width, format == PIXEL_GRAY ? 1 : 3};

    OX_TRY(ox_run_out(r, 0, OX_UINT8, 3, dims, &out, err));
    if (out->n > 0)
        put_pixels(&image, (enum pixel_format)format, out->data);
    return OX_OK;
}

const struct ox_op ox_ops_image_decoder[] = {
    {"", "ImageDecoder", 20, 0, .infer = infer_image_decoder, .run = run_image_decoder}, {0}};
