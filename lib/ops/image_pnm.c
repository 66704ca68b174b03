/* Portable bit, gray and pixel maps, in text and in bytes (P1 to P6). */
#include "ops/image_codec.h"

struct pnm {
    const uint8_t *at, *end;
};

/* Past white space and comments. */
static void skip_space(struct pnm *p)
{
    while (p->at < p->end && (*p->at <= ' ' || *p->at == '#')) {
        if (*p->at == '#') {
            while (p->at < p->end && *p->at != '\n' && *p->at != '\r')
                p->at++;
        } else {
            p->at++;
        }
    }
}

/* A decimal number; false when there is none or it is over `most`. */
static bool read_number(struct pnm *p, uint32_t most, uint32_t *out)
{
    uint64_t number = 0;
    bool any = false;

    skip_space(p);
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++) {
        number = number * 10 + (*p->at - '0');
        any = true;
        if (number > most)
            return false;
    }
    *out = (uint32_t)number;
    return any;
}

static uint8_t scaled(uint32_t value, uint32_t most)
{
    return (uint8_t)(value >= most ? 255 : (value * 255U + most / 2) / most);
}

/* Bit maps: 1 is black. */
static enum ox_image_status read_bits(struct pnm *p, struct ox_image *image, bool text)
{
    uint64_t width = (uint64_t)image->width, stride = (width + 7) / 8;

    if (!text && (uint64_t)(p->end - p->at) < stride * (uint64_t)image->height)
        return OX_IMAGE_BAD;
    for (uint64_t i = 0; i < width * (uint64_t)image->height; i++) {
        bool black;

        if (text) {
            skip_space(p);
            if (p->at == p->end || (*p->at != '0' && *p->at != '1'))
                return OX_IMAGE_BAD;
            black = *p->at++ == '1';
        } else {
            uint64_t x = i % width;

            black = p->at[i / width * stride + x / 8] >> (7 - x % 8) & 1;
        }
        for (unsigned k = 0; k < 3; k++)
            image->pixels[3 * i + k] = black ? 0 : 255;
    }
    return OX_IMAGE_OK;
}

static bool read_sample(struct pnm *p, uint32_t most, bool text, uint32_t *out)
{
    if (text)
        return read_number(p, 65535, out);
    unsigned n = most > 255 ? 2 : 1;

    if (p->end - p->at < (ptrdiff_t)n)
        return false;
    *out = n == 2 ? (uint32_t)p->at[0] << 8 | p->at[1] : p->at[0];
    p->at += n;
    return true;
}

enum ox_image_status ox_image_pnm(struct ox_image *image, const uint8_t *bytes, size_t n)
{
    struct pnm p = {bytes + 2, bytes + n};
    uint32_t width, height, most = 1, value = 0;
    enum ox_image_status status;

    if (n < 3 || bytes[1] < '1' || bytes[1] > '6')
        return OX_IMAGE_BAD;
    unsigned kind = (bytes[1] - '1') % 3;
    bool text = bytes[1] <= '3';

    if (!read_number(&p, INT32_MAX, &width) || !read_number(&p, INT32_MAX, &height) ||
        (kind > 0 && (!read_number(&p, 65535, &most) || most == 0)))
        return OX_IMAGE_BAD;
    if (!text && p.at < p.end)
        p.at++; /* the single white space before the bytes */
    /* Not before the file is known to be long enough: a sample takes a bit at least. */
    if ((uint64_t)width * height / 8 > (uint64_t)(p.end - p.at))
        return OX_IMAGE_BAD;
    status = ox_image_make(image, width, height);
    if (status != OX_IMAGE_OK)
        return status;
    if (kind == 0)
        return read_bits(&p, image, text);
    for (uint64_t i = 0; i < (uint64_t)width * height; i++) {
        for (unsigned k = 0; k < 3; k++) {
            if ((k == 0 || kind == 2) && !read_sample(&p, most, text, &value))
                return OX_IMAGE_BAD;
            image->pixels[3 * i + k] = scaled(value, most);
        }
    }
    return OX_IMAGE_OK;
}
