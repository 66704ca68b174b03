/* What the decoders share: memory for pixels, within the budget, and errors. */
#include "tensor/picture/picture.h"

#include <string.h>

enum ox_status ox_picture_alloc(struct ox_picture *picture, struct ox_arena *arena,
                                const char *name, struct ox_error *err)
{
    size_t bytes;

    if (picture->width == 0 || picture->height == 0)
        return ox_fail(err, OX_INPUT, "%s: the picture is empty", name);
    if (picture->width > INT32_MAX || picture->height > INT32_MAX)
        return ox_fail(err, OX_INPUT, "%s: %zu x %zu is no size of a picture", name, picture->width,
                       picture->height);
    if (OX_MUL_OVERFLOWS(picture->width * picture->channels, picture->height, &bytes) ||
        !(picture->pixels = ox_arena_alloc(arena, bytes)))
        return ox_fail(err, OX_LIMIT, "%s: a picture of %zu x %zu goes over the memory limit", name,
                       picture->width, picture->height);
    return OX_OK;
}

enum ox_status ox_picture_bad(const struct ox_picture_source *source, const char *format,
                              struct ox_error *err)
{
    return ox_fail(err, OX_INPUT, "%s: the %s picture is damaged", source->name, format);
}

enum ox_status ox_picture_hold(const struct ox_picture_source *source, uint64_t bytes,
                               struct ox_error *err)
{
    return ox_budget_take(source->arena->budget, bytes)
               ? OX_OK
               : ox_fail(err, OX_LIMIT, "%s: decoding the picture goes over the memory limit",
                         source->name);
}

enum ox_status ox_picture_to_channels(struct ox_picture *picture, struct ox_arena *arena,
                                      unsigned channels, const char *name, struct ox_error *err)
{
    if (picture->channels == channels)
        return OX_OK;
    struct ox_picture other = {
        .width = picture->width, .height = picture->height, .channels = channels};
    const uint8_t *from = picture->pixels;
    size_t n = picture->width * picture->height;

    OX_TRY(ox_picture_alloc(&other, arena, name, err));
    for (size_t i = 0; i < n; i++) {
        if (channels == 3)
            memset(other.pixels + i * 3, from[i], 3);
        else
            other.pixels[i] = (uint8_t)((from[i * 3] * 19595U + from[i * 3 + 1] * 38470U +
                                         from[i * 3 + 2] * 7471U + 0x8000U) >>
                                        16);
    }
    *picture = other;
    return OX_OK;
}
