/* JPEG 2000 by OpenJPEG, as code stream or JP2 file. */
#include <string.h>

#include "ops/image_codec.h"

#ifdef OX_HAVE_OPENJPEG
#include <openjpeg.h>

struct j2k_source {
    const uint8_t *bytes;
    size_t n, at;
};

static OPJ_SIZE_T j2k_read(void *out, OPJ_SIZE_T n, void *data)
{
    struct j2k_source *s = data;
    size_t left = s->n - s->at, take = n < left ? n : left;

    if (take == 0)
        return (OPJ_SIZE_T)-1;
    memcpy(out, s->bytes + s->at, take);
    s->at += take;
    return take;
}

static OPJ_OFF_T j2k_skip(OPJ_OFF_T n, void *data)
{
    struct j2k_source *s = data;

    if (n < 0 || (uint64_t)n > s->n - s->at)
        return -1;
    s->at += (size_t)n;
    return n;
}

static OPJ_BOOL j2k_seek(OPJ_OFF_T at, void *data)
{
    struct j2k_source *s = data;

    if (at < 0 || (uint64_t)at > s->n)
        return OPJ_FALSE;
    s->at = (size_t)at;
    return OPJ_TRUE;
}

/* A sample of a component at a place of the image, as 0 to 255. */
static int j2k_sample(const opj_image_comp_t *c, uint32_t x, uint32_t y)
{
    uint32_t cx = x / c->dx, cy = y / c->dy;

    cx = cx < c->w ? cx : c->w - 1;
    cy = cy < c->h ? cy : c->h - 1;
    int64_t value = c->data[(size_t)cy * c->w + cx] + (c->sgnd ? (int64_t)1 << (c->prec - 1) : 0);
    int64_t most = ((int64_t)1 << c->prec) - 1;

    if (c->prec != 8)
        value = c->prec > 8 ? value >> (c->prec - 8) : value * 255 / most;
    return (int)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static uint8_t clamp_byte(double value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

static void j2k_pixel(const opj_image_t *j2k, uint32_t x, uint32_t y, uint8_t out[3])
{
    bool color = j2k->numcomps >= 3;
    int c[3];

    for (unsigned k = 0; k < 3; k++)
        c[k] = j2k_sample(&j2k->comps[color ? k : 0], x, y);
    if (color && j2k->color_space == OPJ_CLRSPC_SYCC) {
        out[0] = clamp_byte(c[0] + 1.402 * (c[2] - 128));
        out[1] = clamp_byte(c[0] - 0.344136 * (c[1] - 128) - 0.714136 * (c[2] - 128));
        out[2] = clamp_byte(c[0] + 1.772 * (c[1] - 128));
        return;
    }
    for (unsigned k = 0; k < 3; k++)
        out[k] = (uint8_t)c[k];
}

static bool j2k_complete(const opj_image_t *j2k)
{
    for (unsigned k = 0; k < j2k->numcomps && k < 3; k++) {
        const opj_image_comp_t *c = &j2k->comps[k];

        if (!c->data || c->w == 0 || c->h == 0 || c->dx == 0 || c->dy == 0 || c->prec < 1 ||
            c->prec > 31)
            return false;
    }
    return j2k->numcomps > 0;
}

/* What the decoder will hold, taken from the budget while it works. */
static enum ox_image_status j2k_decode(struct ox_image *image, opj_codec_t *codec,
                                       opj_stream_t *stream)
{
    opj_image_t *j2k = NULL;
    enum ox_image_status status = OX_IMAGE_BAD;
    uint64_t held = 0;

    if (opj_read_header(stream, codec, &j2k) && j2k->x1 > j2k->x0 && j2k->y1 > j2k->y0) {
        uint32_t width = j2k->x1 - j2k->x0, height = j2k->y1 - j2k->y0;

        status = ox_image_make(image, width, height);
        held = (uint64_t)width * height * 4 * j2k->numcomps;
        if (status == OX_IMAGE_OK && !ox_budget_take(image->memory->budget, held)) {
            status = OX_IMAGE_NO_MEMORY;
            held = 0;
        }
        if (status == OX_IMAGE_OK) {
            status = OX_IMAGE_BAD;
            if (opj_decode(codec, stream, j2k) && opj_end_decompress(codec, stream) &&
                j2k_complete(j2k)) {
                for (uint32_t y = 0; y < height; y++) {
                    for (uint32_t x = 0; x < width; x++)
                        j2k_pixel(j2k, x, y, image->pixels + ((size_t)y * width + x) * 3);
                }
                status = OX_IMAGE_OK;
            }
            ox_budget_give(image->memory->budget, held);
        }
    }
    opj_image_destroy(j2k);
    return status;
}

enum ox_image_status ox_image_jpeg2000(struct ox_image *image, const uint8_t *bytes, size_t n)
{
    struct j2k_source source = {bytes, n, 0};
    opj_codec_t *codec = opj_create_decompress(bytes[0] == 0 ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
    opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
    opj_dparameters_t parameters;
    enum ox_image_status status = OX_IMAGE_NO_MEMORY;

    opj_set_default_decoder_parameters(&parameters);
    if (codec && stream && opj_setup_decoder(codec, &parameters)) {
        opj_stream_set_user_data(stream, &source, NULL);
        opj_stream_set_user_data_length(stream, n);
        opj_stream_set_read_function(stream, j2k_read);
        opj_stream_set_skip_function(stream, j2k_skip);
        opj_stream_set_seek_function(stream, j2k_seek);
        status = j2k_decode(image, codec, stream);
    }
    if (stream)
        opj_stream_destroy(stream);
    if (codec)
        opj_destroy_codec(codec);
    return status;
}
#else
enum ox_image_status ox_image_jpeg2000(struct ox_image *image, const uint8_t *bytes, size_t n)
{
    (void)image;
    (void)bytes;
    (void)n;
    return OX_IMAGE_NO_CODEC;
}
#endif
