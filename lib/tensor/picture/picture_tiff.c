/* TIFF by libtiff: the first image of the file. */
#include <string.h>

#include "common/lazy.h"
#include "tensor/picture/picture.h"

#ifdef OX_SONAME_TIFF
#include <tiffio.h>

#define CALLS(X)                                                                                   \
    X(TIFFOpenOptionsAlloc)                                                                        \
    X(TIFFOpenOptionsFree)                                                                         \
    X(TIFFOpenOptionsSetErrorHandlerExtR)                                                          \
    X(TIFFOpenOptionsSetWarningHandlerExtR)                                                        \
    X(TIFFOpenOptionsSetMaxSingleMemAlloc)                                                         \
    X(TIFFClientOpenExt)                                                                           \
    X(TIFFGetField)                                                                                \
    X(TIFFRGBAImageOK)                                                                             \
    X(TIFFReadRGBAImageOriented)                                                                   \
    X(TIFFClose)

struct calls {
    CALLS(OX_LAZY_MEMBER)
};
static const char *const call_names[] = {CALLS(OX_LAZY_NAME)};

struct tiff_source {
    const uint8_t *bytes;
    uint64_t n, at;
};

static tmsize_t tiff_read(thandle_t handle, void *out, tmsize_t n)
{
    struct tiff_source *s = handle;
    uint64_t left = s->at < s->n ? s->n - s->at : 0, take = (uint64_t)n < left ? (uint64_t)n : left;

    if (n <= 0)
        return 0;
    if (take > 0)
        memcpy(out, s->bytes + s->at, take);
    s->at += take;
    return (tmsize_t)take;
}

static tmsize_t tiff_write(thandle_t handle, void *bytes, tmsize_t n)
{
    (void)handle;
    (void)bytes;
    (void)n;
    return -1;
}

static toff_t tiff_seek(thandle_t handle, toff_t at, int whence)
{
    struct tiff_source *s = handle;

    s->at = whence == SEEK_SET ? at : whence == SEEK_CUR ? s->at + at : s->n + at;
    return s->at;
}

static int tiff_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t tiff_size(thandle_t handle)
{
    return ((struct tiff_source *)handle)->n;
}

static int tiff_map(thandle_t handle, void **base, toff_t *n)
{
    (void)handle;
    (void)base;
    (void)n;
    return 0;
}

static void tiff_unmap(thandle_t handle, void *base, toff_t n)
{
    (void)handle;
    (void)base;
    (void)n;
}

static int tiff_hush(TIFF *tiff, void *data, const char *module, const char *format, va_list args)
{
    (void)tiff;
    (void)data;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

static enum ox_status read_image(const struct calls *call, TIFF *tiff, struct ox_picture *picture,
                                 const struct ox_picture_source *source, struct ox_error *err)
{
    uint32_t width = 0, height = 0;
    char reason[1024];

    if (!call->TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) ||
        !call->TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) ||
        !call->TIFFRGBAImageOK(tiff, reason))
        return ox_picture_bad(source, "TIFF", err);
    picture->width = width;
    picture->height = height;
    OX_TRY(ox_picture_alloc(picture, source->arena, source->name, err));
    size_t n = (size_t)width * height;
    uint32_t *raster = ox_arena_array(source->arena, n, sizeof(*raster));

    if (!raster)
        return ox_fail(err, OX_LIMIT, "%s: a picture of %zu x %zu goes over the memory limit",
                       source->name, picture->width, picture->height);
    if (!call->TIFFReadRGBAImageOriented(tiff, width, height, raster, ORIENTATION_TOPLEFT, 1))
        return ox_picture_bad(source, "TIFF", err);
    for (size_t i = 0; i < n; i++) {
        picture->pixels[3 * i] = (uint8_t)TIFFGetR(raster[i]);
        picture->pixels[3 * i + 1] = (uint8_t)TIFFGetG(raster[i]);
        picture->pixels[3 * i + 2] = (uint8_t)TIFFGetB(raster[i]);
    }
    return OX_OK;
}

enum ox_status ox_tiff_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                              struct ox_error *err)
{
    enum { TIFF_ALLOC_MOST = 1 << 28 };
    struct tiff_source bytes = {source->bytes, source->n, 0};
    struct calls call;

    if (!ox_lazy_bind(OX_LAZY_SONAME(OX_SONAME_TIFF), call_names, OX_COUNT(call_names), &call))
        return ox_fail(err, OX_UNSUPPORTED, "%s: TIFF needs %s, which is not installed",
                       source->name, OX_LAZY_SONAME(OX_SONAME_TIFF));
    TIFFOpenOptions *options = call.TIFFOpenOptionsAlloc();

    if (!options)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", source->name);
    /* Per handle: the library's own handlers are global and print. */
    call.TIFFOpenOptionsSetErrorHandlerExtR(options, tiff_hush, NULL);
    call.TIFFOpenOptionsSetWarningHandlerExtR(options, tiff_hush, NULL);
    call.TIFFOpenOptionsSetMaxSingleMemAlloc(options, TIFF_ALLOC_MOST);
    TIFF *tiff = call.TIFFClientOpenExt("picture", "rm", &bytes, tiff_read, tiff_write, tiff_seek,
                                        tiff_close, tiff_size, tiff_map, tiff_unmap, options);

    call.TIFFOpenOptionsFree(options);
    if (!tiff)
        return ox_picture_bad(source, "TIFF", err);
    enum ox_status status = read_image(&call, tiff, picture, source, err);

    call.TIFFClose(tiff);
    return status;
}
#else
enum ox_status ox_tiff_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                              struct ox_error *err)
{
    (void)picture;
    return ox_fail(err, OX_UNSUPPORTED, "%s: this program was built without TIFF", source->name);
}
#endif
