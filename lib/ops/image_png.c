/* PNG by libpng. Alpha is dropped; no color correction. */
#include <png.h>
#include <string.h>

#include "ops/image_codec.h"

enum { PNG_CHUNK_BYTES = 8 << 20, PNG_CHUNKS = 1000 };

struct png_source {
    const uint8_t *at, *end;
};

static void png_take(png_structp png, png_bytep out, size_t n)
{
    struct png_source *source = png_get_io_ptr(png);

    if (n > (size_t)(source->end - source->at))
        png_error(png, "cut off");
    memcpy(out, source->at, n);
    source->at += n;
}

static void png_fail(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void png_hush(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

struct png_reader {
    png_structp png;
    png_infop info;
    struct ox_image *image;
    enum ox_image_status status;
};

/* All that may jump back; state is in *p alone. */
static void png_decode(struct png_reader *p)
{
    png_read_info(p->png, p->info);
    png_set_expand(p->png);
    png_set_strip_16(p->png);
    png_set_strip_alpha(p->png);
    png_set_gray_to_rgb(p->png);
    int passes = png_set_interlace_handling(p->png);

    png_read_update_info(p->png, p->info);
    size_t width = png_get_image_width(p->png, p->info),
           height = png_get_image_height(p->png, p->info);

    if (png_get_rowbytes(p->png, p->info) != width * 3)
        return;
    p->status = ox_image_make(p->image, width, height);
    if (p->status != OX_IMAGE_OK)
        return;
    p->status = OX_IMAGE_BAD;
    for (int pass = 0; pass < passes; pass++) {
        for (size_t y = 0; y < height; y++)
            png_read_row(p->png, p->image->pixels + y * width * 3, NULL);
    }
    png_read_end(p->png, NULL);
    p->status = OX_IMAGE_OK;
}

enum ox_image_status ox_image_png(struct ox_image *image, const uint8_t *bytes, size_t n)
{
    struct png_source source = {bytes, bytes + n};
    struct png_reader p = {.image = image, .status = OX_IMAGE_BAD};

    p.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, png_fail, png_hush);
    p.info = p.png ? png_create_info_struct(p.png) : NULL;
    if (!p.info) {
        png_destroy_read_struct(&p.png, NULL, NULL);
        return OX_IMAGE_NO_MEMORY;
    }
    png_set_read_fn(p.png, &source, png_take);
    png_set_user_limits(p.png, INT32_MAX, INT32_MAX);
    png_set_chunk_malloc_max(p.png, PNG_CHUNK_BYTES);
    png_set_chunk_cache_max(p.png, PNG_CHUNKS);
    if (setjmp(png_jmpbuf(p.png)) == 0)
        png_decode(&p);
    png_destroy_read_struct(&p.png, &p.info, NULL);
    return p.status;
}
