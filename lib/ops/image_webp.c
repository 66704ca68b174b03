/* WebP by libwebp. Alpha is dropped. */
#ifdef OX_HAVE_WEBP
#include <webp/decode.h>
#endif

#include "ops/image_codec.h"

enum ox_image_status ox_image_webp(struct ox_image *image, const uint8_t *bytes, size_t n)
{
#ifdef OX_HAVE_WEBP
    int width, height;
    enum ox_image_status status;

    if (!WebPGetInfo(bytes, n, &width, &height))
        return OX_IMAGE_BAD;
    status = ox_image_make(image, (uint64_t)width, (uint64_t)height);
    if (status != OX_IMAGE_OK)
        return status;
    /* The decoder holds as much again, and alpha. */
    uint64_t held = (uint64_t)width * (uint64_t)height * 4;

    if (!ox_budget_take(image->memory->budget, held))
        return OX_IMAGE_NO_MEMORY;
    bool decoded =
        WebPDecodeRGBInto(bytes, n, image->pixels, (size_t)width * (size_t)height * 3, width * 3);

    ox_budget_give(image->memory->budget, held);
    return decoded ? OX_IMAGE_OK : OX_IMAGE_BAD;
#else
    (void)image;
    (void)bytes;
    (void)n;
    return OX_IMAGE_NO_CODEC;
#endif
}
