/* Pictures in memory: rows from the top, channels interleaved, a byte a sample. A file a format. */
#ifndef OX_TENSOR_PICTURE_PICTURE_H
#define OX_TENSOR_PICTURE_PICTURE_H

#include "common/env.h"
#include "common/error.h"

struct ox_picture {
    size_t width, height;
    unsigned channels; /* 1 gray, 3 red green blue */
    uint8_t *pixels;   /* in an arena */
};

/* What a decoder works with. */
struct ox_picture_source {
    const char *name; /* for messages */
    const uint8_t *bytes;
    size_t n;
    struct ox_arena
        *arena; /* takes the pixels; its budget counts what a library holds meanwhile, too */
    struct ox_env *env; /* asked whether to go on */
};

/* The name of the format that the bytes begin as; NULL: none that is read. */
const char *ox_picture_format(const uint8_t *bytes, size_t n);
/* A picture of any of the formats, as Pillow converts it to L or RGB: 8 bits, palettes looked up, alpha dropped. OX_INPUT: none, or a
 * damaged one; OX_UNSUPPORTED: its library is not installed; OX_LIMIT, OX_NO_MEMORY, OX_CANCELLED. */
enum ox_status ox_picture_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                                 struct ox_error *err);

enum ox_status ox_bmp_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                             struct ox_error *err);
enum ox_status ox_jpeg_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                              struct ox_error *err);
enum ox_status ox_jpeg2000_decode(struct ox_picture *picture,
                                  const struct ox_picture_source *source, struct ox_error *err);
enum ox_status ox_png_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                             struct ox_error *err);
enum ox_status ox_pnm_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                             struct ox_error *err);
enum ox_status ox_tiff_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                              struct ox_error *err);
enum ox_status ox_webp_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                              struct ox_error *err);

/* Room for the pixels of a picture whose other fields are set. OX_INPUT: a size of 0, or over 2^31 - 1; OX_LIMIT. */
enum ox_status ox_picture_alloc(struct ox_picture *picture, struct ox_arena *arena,
                                const char *name, struct ox_error *err);
/* For formats: the picture is damaged. OX_INPUT. */
enum ox_status ox_picture_bad(const struct ox_picture_source *source, const char *format,
                              struct ox_error *err);
/* For formats: `bytes` that a library will hold meanwhile; give them back to the arena's budget. OX_LIMIT. */
enum ox_status ox_picture_hold(const struct ox_picture_source *source, uint64_t bytes,
                               struct ox_error *err);

/* To gray or to three channels, by the luma of ITU-R BT.601 in Pillow's 16-bit arithmetic. OX_LIMIT. */
enum ox_status ox_picture_to_channels(struct ox_picture *picture, struct ox_arena *arena,
                                      unsigned channels, const char *name, struct ox_error *err);
/* To other dimensions as Pillow's resize(BILINEAR) does, to the last bit. */
enum ox_status ox_picture_resize(struct ox_picture *picture, struct ox_arena *arena, size_t width,
                                 size_t height, const char *name, struct ox_error *err);

#endif
