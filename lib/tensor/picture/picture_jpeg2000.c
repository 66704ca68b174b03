/* JPEG 2000 by OpenJPEG, as code stream or JP2 file. */
#include <string.h>

#include "common/lazy.h"
#include "tensor/picture/picture.h"

#ifdef OX_SONAME_OPENJPEG
#include <openjpeg.h>

#define CALLS(X)                                                                                   \
    X(opj_create_decompress)                                                                       \
    X(opj_stream_default_create)                                                                   \
    X(opj_set_default_decoder_parameters)                                                          \
    X(opj_setup_decoder)                                                                           \
    X(opj_stream_set_user_data)                                                                    \
    X(opj_stream_set_user_data_length)                                                             \
    X(opj_stream_set_read_function)                                                                \
    X(opj_stream_set_skip_function)                                                                \
    X(opj_stream_set_seek_function)                                                                \
    X(opj_read_header)                                                                             \
    X(opj_decode)                                                                                  \
    X(opj_end_decompress)                                                                          \
    X(opj_image_destroy)                                                                           \
    X(opj_stream_destroy)                                                                          \
    X(opj_destroy_codec)

struct calls {
    CALLS(OX_LAZY_MEMBER)
};
static const char *const call_names[] = {CALLS(OX_LAZY_NAME)};

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

static enum ox_status read_pixels(const struct calls *call, struct ox_picture *picture,
                                  const struct ox_picture_source *source, opj_codec_t *codec,
                                  opj_stream_t *stream, opj_image_t *j2k, struct ox_error *err)
{
    if (j2k->x1 <= j2k->x0 || j2k->y1 <= j2k->y0)
        return ox_picture_bad(source, "JPEG 2000", err);
    uint32_t width = j2k->x1 - j2k->x0, height = j2k->y1 - j2k->y0;
    uint64_t held = (uint64_t)width * height * 4 * j2k->numcomps;

    picture->width = width;
    picture->height = height;
    OX_TRY(ox_picture_alloc(picture, source->arena, source->name, err));
    OX_TRY(ox_picture_hold(source, held, err));
    bool decoded = call->opj_decode(codec, stream, j2k) &&
                   call->opj_end_decompress(codec, stream) && j2k_complete(j2k);

    ox_budget_give(source->arena->budget, held);
    if (!decoded)
        return ox_picture_bad(source, "JPEG 2000", err);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++)
            j2k_pixel(j2k, x, y, picture->pixels + ((size_t)y * width + x) * 3);
    }
    return OX_OK;
}

static enum ox_status read_stream(const struct calls *call, struct ox_picture *picture,
                                  const struct ox_picture_source *source, opj_codec_t *codec,
                                  opj_stream_t *stream, struct ox_error *err)
{
    struct j2k_source bytes = {source->bytes, source->n, 0};
    opj_dparameters_t parameters;
    opj_image_t *j2k = NULL;

    call->opj_set_default_decoder_parameters(&parameters);
    if (!call->opj_setup_decoder(codec, &parameters))
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", source->name);
    call->opj_stream_set_user_data(stream, &bytes, NULL);
    call->opj_stream_set_user_data_length(stream, source->n);
    call->opj_stream_set_read_function(stream, j2k_read);
    call->opj_stream_set_skip_function(stream, j2k_skip);
    call->opj_stream_set_seek_function(stream, j2k_seek);
    enum ox_status status = call->opj_read_header(stream, codec, &j2k)
                                ? read_pixels(call, picture, source, codec, stream, j2k, err)
                                : ox_picture_bad(source, "JPEG 2000", err);

    call->opj_image_destroy(j2k);
    return status;
}

enum ox_status ox_jpeg2000_decode(struct ox_picture *picture,
                                  const struct ox_picture_source *source, struct ox_error *err)
{
    struct calls call;

    if (!ox_lazy_bind(OX_LAZY_SONAME(OX_SONAME_OPENJPEG), call_names, OX_COUNT(call_names), &call))
        return ox_fail(err, OX_UNSUPPORTED, "%s: JPEG 2000 needs %s, which is not installed",
                       source->name, OX_LAZY_SONAME(OX_SONAME_OPENJPEG));
    opj_codec_t *codec =
        call.opj_create_decompress(source->bytes[0] == 0 ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
    opj_stream_t *stream = call.opj_stream_default_create(OPJ_TRUE);
    enum ox_status status = codec && stream
                                ? read_stream(&call, picture, source, codec, stream, err)
                                : ox_fail(err, OX_NO_MEMORY, "%s: out of memory", source->name);

    if (stream)
        call.opj_stream_destroy(stream);
    if (codec)
        call.opj_destroy_codec(codec);
    return status;
}
#else
enum ox_status ox_jpeg2000_decode(struct ox_picture *picture,
                                  const struct ox_picture_source *source, struct ox_error *err)
{
    (void)picture;
    return ox_fail(err, OX_UNSUPPORTED, "%s: this program was built without JPEG 2000",
                   source->name);
}
#endif
