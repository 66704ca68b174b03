/* Image formats from memory to RGB, a byte a channel. A file a codec. */
#ifndef OX_OPS_IMAGE_CODEC_H
#define OX_OPS_IMAGE_CODEC_H

#include "common/arena.h"

enum ox_image_status {
    OX_IMAGE_OK,
    OX_IMAGE_BAD, /* no image of that format, or a damaged one */
    OX_IMAGE_NO_MEMORY,
    OX_IMAGE_NO_CODEC /* not built in */
};

struct ox_image {
    struct ox_arena *memory; /* what pixels are taken from */
    int64_t width, height;
    uint8_t *pixels; /* height x width x 3 */
};

/* Sets the size and makes room for it. BAD: no size an image has. */
enum ox_image_status ox_image_make(struct ox_image *image, uint64_t width, uint64_t height);

enum ox_image_status ox_image_bmp(struct ox_image *image, const uint8_t *bytes, size_t n);
enum ox_image_status ox_image_pnm(struct ox_image *image, const uint8_t *bytes, size_t n);
enum ox_image_status ox_image_png(struct ox_image *image, const uint8_t *bytes, size_t n);
enum ox_image_status ox_image_jpeg(struct ox_image *image, const uint8_t *bytes, size_t n);
enum ox_image_status ox_image_webp(struct ox_image *image, const uint8_t *bytes, size_t n);
enum ox_image_status ox_image_tiff(struct ox_image *image, const uint8_t *bytes, size_t n);
enum ox_image_status ox_image_jpeg2000(struct ox_image *image, const uint8_t *bytes, size_t n);

#endif
