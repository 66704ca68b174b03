/* Which format a picture is in. */
#include <string.h>

#include "tensor/picture/picture.h"

struct format {
    const char *name;
    const char *magic;
    size_t at, n;
    enum ox_status (*decode)(struct ox_picture *picture, const struct ox_picture_source *source,
                             struct ox_error *err);
};

static const struct format formats[] = {
    {"JPEG", "\xFF\xD8\xFF", 0, 3, ox_jpeg_decode},
    {"PNG", "\x89PNG\r\n\x1A\n", 0, 8, ox_png_decode},
    {"WebP", "WEBP", 8, 4, ox_webp_decode},
    {"BMP", "BM", 0, 2, ox_bmp_decode},
    {"TIFF", "II*\0", 0, 4, ox_tiff_decode},
    {"TIFF", "MM\0*", 0, 4, ox_tiff_decode},
    {"TIFF", "II+\0", 0, 4, ox_tiff_decode},
    {"TIFF", "MM\0+", 0, 4, ox_tiff_decode},
    {"JPEG 2000", "\0\0\0\x0CjP  \r\n\x87\n", 0, 12, ox_jpeg2000_decode},
    {"JPEG 2000", "\xFF\x4F\xFF\x51", 0, 4, ox_jpeg2000_decode},
    {"PNM", "P", 0, 1, ox_pnm_decode},
};

/* Two letters or one are not enough: text begins so too. */
static bool goes_on(const struct format *f, const uint8_t *bytes, size_t n)
{
    if (f->decode == ox_bmp_decode)
        return n >= 10 && memcmp(bytes + 6, "\0\0\0\0", 4) == 0;
    if (f->decode == ox_pnm_decode)
        return n >= 3 && bytes[1] >= '1' && bytes[1] <= '6' && bytes[2] != '\0' &&
               strchr(" \t\r\n#", bytes[2]);
    return true;
}

static const struct format *format_of(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < OX_COUNT(formats); i++) {
        const struct format *f = &formats[i];

        if (n >= f->at + f->n && memcmp(bytes + f->at, f->magic, f->n) == 0 && goes_on(f, bytes, n))
            return f;
    }
    return NULL;
}

const char *ox_picture_format(const uint8_t *bytes, size_t n)
{
    const struct format *f = format_of(bytes, n);

    return f ? f->name : NULL;
}

enum ox_status ox_picture_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                                 struct ox_error *err)
{
    const struct format *f = format_of(source->bytes, source->n);

    *picture = (struct ox_picture){.channels = 3};
    return f ? f->decode(picture, source, err)
             : ox_fail(
                   err, OX_INPUT,
                   "%s: is no picture that is read (PNG, JPEG, PNM, BMP, WebP, TIFF, JPEG 2000)",
                   source->name);
}
