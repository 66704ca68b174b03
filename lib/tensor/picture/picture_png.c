/* PNG by libpng. Alpha is dropped; no color correction. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/picture/picture.h"

enum { PNG_CHUNK_BYTES = 8 << 20, PNG_CHUNKS = 1000 };

struct png_reader {
    png_structp png;
    png_infop info;
    const struct ox_picture_source *source;
    struct ox_picture *picture;
    size_t at;
    bool no_memory; /* libpng asked for some in vain */
    jmp_buf back;
    struct ox_error *err;
    enum ox_status status;
};

static void png_take(png_structp png, png_bytep out, size_t n)
{
    struct png_reader *p = png_get_io_ptr(png);

    if (n > p->source->n - p->at)
        png_error(png, "the file ends too early");
    memcpy(out, p->source->bytes + p->at, n);
    p->at += n;
}

static void png_fail(png_structp png, png_const_charp message)
{
    struct png_reader *p = png_get_error_ptr(png);

    p->status = p->no_memory ? ox_fail(p->err, OX_NO_MEMORY, "%s: out of memory", p->source->name)
                             : ox_fail(p->err, OX_INPUT, "%s: at byte %zu: PNG: %s",
                                       p->source->name, p->at, message);
    longjmp(p->back, 1);
}

static png_voidp png_get(png_structp png, png_alloc_size_t n)
{
    struct png_reader *p = png_get_mem_ptr(png);
    void *room = malloc(n);

    p->no_memory |= !room;
    return room;
}

static void png_give_back(png_structp png, png_voidp room)
{
    (void)png;
    free(room);
}

static void png_hush(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* Everything to 8 bits of gray or of three colours; the number of passes. */
static int png_transform(png_structp png, png_infop info)
{
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    int passes = png_set_interlace_handling(png);

    png_read_update_info(png, info);
    return passes;
}

/* All that may jump back; state is in *p alone. */
static enum ox_status png_pixels(struct png_reader *p)
{
    struct ox_picture *picture = p->picture;

    png_set_read_fn(p->png, p, png_take);
    png_set_user_limits(p->png, INT32_MAX, INT32_MAX);
    png_set_chunk_malloc_max(p->png, PNG_CHUNK_BYTES);
    png_set_chunk_cache_max(p->png, PNG_CHUNKS);
    png_read_info(p->png, p->info);
    int passes = png_transform(p->png, p->info);

    picture->width = png_get_image_width(p->png, p->info);
    picture->height = png_get_image_height(p->png, p->info);
    picture->channels = png_get_channels(p->png, p->info);
    size_t row = picture->width * picture->channels;

    if ((picture->channels != 1 && picture->channels != 3) ||
        png_get_rowbytes(p->png, p->info) != row)
        return ox_picture_bad(p->source, "PNG", p->err);
    OX_TRY(ox_picture_alloc(picture, p->source->arena, p->source->name, p->err));
    for (int pass = 0; pass < passes; pass++) {
        for (size_t y = 0; y < picture->height; y++) {
            OX_TRY(ox_env_poll(p->source->env, p->err));
            png_read_row(p->png, picture->pixels + y * row, NULL);
        }
    }
    png_read_end(p->png, NULL);
    return OX_OK;
}

enum ox_status ox_png_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                             struct ox_error *err)
{
    struct png_reader p = {
        .source = source, .picture = picture, .err = err, .status = OX_NO_MEMORY};

    p.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &p, png_fail, png_hush, &p, png_get,
                                     png_give_back);
    p.info = p.png ? png_create_info_struct(p.png) : NULL;
    if (!p.info) {
        png_destroy_read_struct(&p.png, NULL, NULL);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", source->name);
    }
    if (setjmp(p.back) == 0)
        p.status = png_pixels(&p);
    png_destroy_read_struct(&p.png, &p.info, NULL);
    return p.status;
}
