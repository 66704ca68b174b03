/* Pictures in memory: rows from the top, channels interleaved. */
#ifndef OX_TENSOR_IO_IMAGE_H
#define OX_TENSOR_IO_IMAGE_H

#include "common/env.h"
#include "common/error.h"

struct ox_picture {
    size_t width, height;
    unsigned channels; /* 1 gray, 3 red green blue */
    uint8_t *pixels;   /* in an arena */
};

/* A .png, .jpg, .pgm or .ppm by its content, as Pillow converts it to L or RGB: 8 bits, palettes looked up, alpha dropped. name is
 * for messages. OX_INPUT, OX_UNSUPPORTED, OX_LIMIT. */
enum ox_status ox_picture_decode(struct ox_picture *picture, struct ox_arena *arena,
                                 struct ox_env *env, const char *name, const void *bytes, size_t n,
                                 struct ox_error *err);
enum ox_status ox_png_decode(struct ox_picture *picture, struct ox_arena *arena, struct ox_env *env,
                             const char *name, const uint8_t *bytes, size_t n,
                             struct ox_error *err);
enum ox_status ox_jpeg_decode(struct ox_picture *picture, struct ox_arena *arena,
                              struct ox_env *env, const char *name, const uint8_t *bytes, size_t n,
                              struct ox_error *err);
enum ox_status ox_pnm_decode(struct ox_picture *picture, struct ox_arena *arena, struct ox_env *env,
                             const char *name, const uint8_t *bytes, size_t n,
                             struct ox_error *err);
/* Room for the pixels of a picture whose other fields are set. */
enum ox_status ox_picture_alloc(struct ox_picture *picture, struct ox_arena *arena,
                                const char *name, struct ox_error *err);

/* To other dimensions as Pillow's resize(BILINEAR) does, to the last bit. */
enum ox_status ox_picture_resize(struct ox_picture *picture, struct ox_arena *arena, size_t width,
                                 size_t height, const char *name, struct ox_error *err);

#endif
