/* WebP by libwebp. Alpha is dropped. */
#include "common/lazy.h"
#include "tensor/picture/picture.h"

#ifdef OX_SONAME_WEBP
#include <webp/decode.h>

#define CALLS(X) X(WebPGetInfo) X(WebPDecodeRGBInto)

struct calls {
    CALLS(OX_LAZY_MEMBER)
};
static const char *const call_names[] = {CALLS(OX_LAZY_NAME)};

enum ox_status ox_webp_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                              struct ox_error *err)
{
    struct calls webp;
    int width, height;

    if (!ox_lazy_bind(OX_LAZY_SONAME(OX_SONAME_WEBP), call_names, OX_COUNT(call_names), &webp))
        return ox_fail(err, OX_UNSUPPORTED, "%s: WebP needs %s, which is not installed",
                       source->name, OX_LAZY_SONAME(OX_SONAME_WEBP));
    if (!webp.WebPGetInfo(source->bytes, source->n, &width, &height))
        return ox_picture_bad(source, "WebP", err);
    picture->width = (size_t)width;
    picture->height = (size_t)height;
    OX_TRY(ox_picture_alloc(picture, source->arena, source->name, err));
    /* The decoder holds as much again, and alpha. */
    uint64_t pixels = (uint64_t)width * (uint64_t)height;

    OX_TRY(ox_picture_hold(source, pixels * 4, err));
    bool decoded = webp.WebPDecodeRGBInto(source->bytes, source->n, picture->pixels, pixels * 3,
                                          width * 3) != NULL;

    ox_budget_give(source->arena->budget, pixels * 4);
    return decoded ? OX_OK : ox_picture_bad(source, "WebP", err);
}
#else
enum ox_status ox_webp_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                              struct ox_error *err)
{
    (void)picture;
    return ox_fail(err, OX_UNSUPPORTED, "%s: this program was built without WebP", source->name);
}
#endif
