/* TIFF by libtiff: the first image of the file. */
#include <string.h>

#include "ops/image_codec.h"

#ifdef OX_HAVE_TIFF
#include <tiffio.h>

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

static enum ox_image_status tiff_decode(TIFF *tiff, struct ox_image *image)
{
    uint32_t width = 0, height = 0;
    char reason[1024];

    if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) ||
        !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) || !TIFFRGBAImageOK(tiff, reason))
        return OX_IMAGE_BAD;
    enum ox_image_status status = ox_image_make(image, width, height);

    if (status != OX_IMAGE_OK)
        return status;
    size_t n = (size_t)width * height;
    uint32_t *raster = ox_arena_array(image->memory, n, sizeof(*raster));

    if (!raster)
        return OX_IMAGE_NO_MEMORY;
    if (!TIFFReadRGBAImageOriented(tiff, width, height, raster, ORIENTATION_TOPLEFT, 1))
        return OX_IMAGE_BAD;
    for (size_t i = 0; i < n; i++) {
        image->pixels[3 * i] = (uint8_t)TIFFGetR(raster[i]);
        image->pixels[3 * i + 1] = (uint8_t)TIFFGetG(raster[i]);
        image->pixels[3 * i + 2] = (uint8_t)TIFFGetB(raster[i]);
    }
    return OX_IMAGE_OK;
}

enum ox_image_status ox_image_tiff(struct ox_image *image, const uint8_t *bytes, size_t n)
{
    enum { TIFF_ALLOC_MOST = 1 << 28 };
    struct tiff_source source = {bytes, n, 0};
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    enum ox_image_status status = OX_IMAGE_BAD;

    if (!options)
        return OX_IMAGE_NO_MEMORY;
    /* Per handle: the library's own handlers are global and print. */
    TIFFOpenOptionsSetErrorHandlerExtR(options, tiff_hush, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, tiff_hush, NULL);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, TIFF_ALLOC_MOST);
    TIFF *tiff = TIFFClientOpenExt("image", "rm", &source, tiff_read, tiff_write, tiff_seek,
                                   tiff_close, tiff_size, tiff_map, tiff_unmap, options);

    TIFFOpenOptionsFree(options);
    if (tiff) {
        status = tiff_decode(tiff, image);
        TIFFClose(tiff);
    }
    return status;
}
#else
enum ox_image_status ox_image_tiff(struct ox_image *image, const uint8_t *bytes, size_t n)
{
    (void)image;
    (void)bytes;
    (void)n;
    return OX_IMAGE_NO_CODEC;
}
#endif
