/* Portable bit, gray and pixel maps, in text and in bytes (P1 to P6). */
#include "tensor/picture/picture.h"

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
static bool read_bits(struct pnm *p, struct ox_picture *picture, bool text)
{
    size_t width = picture->width, stride = (width + 7) / 8;

    if (!text && (size_t)(p->end - p->at) < stride * picture->height)
        return false;
    for (size_t i = 0; i < width * picture->height; i++) {
        bool black;

        if (text) {
            skip_space(p);
            if (p->at == p->end || (*p->at != '0' && *p->at != '1'))
                return false;
            black = *p->at++ == '1';
        } else {
            size_t x = i % width;

            black = p->at[i / width * stride + x / 8] >> (7 - x % 8) & 1;
        }
        picture->pixels[i] = black ? 0 : 255;
    }
    return true;
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

static enum ox_status ends_early(const struct pnm *p, const struct ox_picture_source *source,
                                 struct ox_error *err)
{
    return ox_fail(err, OX_INPUT, "%s: at byte %zu: no sample, or the file ends too early",
                   source->name, (size_t)(p->at - source->bytes));
}

enum ox_status ox_pnm_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                             struct ox_error *err)
{
    struct pnm p = {source->bytes + 2, source->bytes + source->n};
    uint32_t width, height, most = 1, value;
    unsigned kind = (source->bytes[1] - (unsigned)'1') % 3;
    bool text = source->bytes[1] <= '3';

    if (!read_number(&p, INT32_MAX, &width) || !read_number(&p, INT32_MAX, &height) ||
        (kind > 0 && (!read_number(&p, 65535, &most) || most == 0)))
        return ox_fail(err, OX_INPUT, "%s: at byte %zu: no width, height or largest value",
                       source->name, (size_t)(p.at - source->bytes));
    if (!text && p.at < p.end)
        p.at++; /* the single white space before the bytes */
    /* Not before the file is known to be long enough: a sample takes a bit at least. */
    if ((uint64_t)width * height / 8 > (uint64_t)(p.end - p.at))
        return ends_early(&p, source, err);
    *picture = (struct ox_picture){.width = width, .height = height, .channels = kind == 2 ? 3 : 1};
    OX_TRY(ox_picture_alloc(picture, source->arena, source->name, err));
    if (kind == 0)
        return read_bits(&p, picture, text) ? OX_OK : ends_early(&p, source, err);
    for (size_t i = 0; i < (size_t)width * height * picture->channels; i++) {
        if (i % 65536 == 0)
            OX_TRY(ox_env_poll(source->env, err));
        if (!read_sample(&p, most, text, &value))
            return ends_early(&p, source, err);
        picture->pixels[i] = scaled(value, most);
    }
    return OX_OK;
}
