/* BMP: core and info headers, 1 to 32 bits a pixel, bit fields, run lengths. */
#include <string.h>

#include "tensor/picture/picture.h"

enum bmp_compression {
    BMP_RGB = 0,
    BMP_RLE8 = 1,
    BMP_RLE4 = 2,
    BMP_BITFIELDS = 3,
    BMP_ALPHA_BITFIELDS = 6
};

struct bmp {
    const uint8_t *bytes;
    size_t n;
    size_t palette, n_palette, entry; /* where, how many, bytes of one */
    size_t data;
    uint64_t width, height;
    bool top_down;
    unsigned bits, compression;
    uint32_t mask[3];
};

static unsigned read16(const struct bmp *b, size_t at)
{
    return at + 2 <= b->n ? b->bytes[at] | (unsigned)b->bytes[at + 1] << 8 : 0;
}

static uint32_t read32(const struct bmp *b, size_t at)
{
    return read16(b, at) | (uint32_t)read16(b, at + 2) << 16;
}

static bool read_header(struct bmp *b)
{
    uint32_t header = read32(b, 14), used = 0;

    b->data = read32(b, 10);
    b->palette = 14 + (size_t)header;
    if (header == 12) {
        b->width = read16(b, 18);
        b->height = read16(b, 20);
        b->bits = read16(b, 24);
        b->entry = 3;
    } else if (header >= 40 && header <= 1024) {
        uint32_t height = read32(b, 22);

        b->width = read32(b, 18);
        b->top_down = height > INT32_MAX;
        b->height = b->top_down ? 0U - height : height;
        b->bits = read16(b, 28);
        b->compression = read32(b, 30);
        used = read32(b, 46);
        b->entry = 4;
    } else {
        return false;
    }
    if (b->width > INT32_MAX || b->height > INT32_MAX || b->data > b->n || b->palette > b->n)
        return false;
    bool fields = b->compression == BMP_BITFIELDS || b->compression == BMP_ALPHA_BITFIELDS;

    for (size_t i = 0; i < 3; i++)
        b->mask[i] = fields          ? read32(b, 54 + 4 * i)
                     : b->bits == 16 ? 0x7C00U >> 5 * i
                                     : 0xFF0000U >> 8 * i;
    if (fields && header == 40)
        b->palette += b->compression == BMP_BITFIELDS ? 12 : 16;
    b->n_palette = b->bits > 8 ? 0 : used && used < 1U << b->bits ? used : 1U << b->bits;
    return b->palette + b->n_palette * b->entry <= b->n;
}

static void put_indexed(const struct bmp *b, unsigned index, uint8_t *out)
{
    const uint8_t *entry = b->bytes + b->palette + index * b->entry;

    if (index >= b->n_palette)
        return; /* stays black */
    out[0] = entry[2];
    out[1] = entry[1];
    out[2] = entry[0];
}

/* The bits of a mask, spread to 8. */
static uint8_t field(uint32_t pixel, uint32_t mask)
{
    unsigned shift = 0;

    if (mask == 0)
        return 0;
    while (!(mask >> shift & 1))
        shift++;
    return (uint8_t)((uint64_t)((pixel & mask) >> shift) * 255 / (mask >> shift));
}

static void put_row(const struct bmp *b, const uint8_t *row, uint8_t *out)
{
    for (uint64_t x = 0; x < b->width; x++, out += 3) {
        switch (b->bits) {
        case 1:
        case 2:
        case 4:
        case 8:
            put_indexed(
                b, row[x * b->bits / 8] >> (8 - b->bits - x * b->bits % 8) & ((1U << b->bits) - 1),
                out);
            break;
        case 24:
            out[0] = row[3 * x + 2];
            out[1] = row[3 * x + 1];
            out[2] = row[3 * x];
            break;
        default: {
            uint32_t pixel = 0;

            for (unsigned i = 0; i < b->bits / 8; i++)
                pixel |= (uint32_t)row[x * (b->bits / 8) + i] << 8 * i;
            for (unsigned i = 0; i < 3; i++)
                out[i] = field(pixel, b->mask[i]);
        }
        }
    }
}

/* Row y as the file counts them. */
static uint8_t *row_of(const struct bmp *b, const struct ox_picture *picture, uint64_t y)
{
    return picture->pixels + (b->top_down ? y : b->height - 1 - y) * b->width * 3;
}

static enum ox_status read_plain(const struct bmp *b, struct ox_picture *picture,
                                 const struct ox_picture_source *source, struct ox_error *err)
{
    uint64_t stride = (b->width * b->bits + 31) / 32 * 4;

    if (b->height > (b->n - b->data) / stride)
        return ox_picture_bad(source, "BMP", err);
    OX_TRY(ox_picture_alloc(picture, source->arena, source->name, err));
    for (uint64_t y = 0; y < b->height; y++)
        put_row(b, b->bytes + b->data + y * stride, row_of(b, picture, y));
    return OX_OK;
}

/* Run lengths: pairs of count and value; count 0 escapes. Pixels that no run sets stay black. */
static enum ox_status read_runs(const struct bmp *b, struct ox_picture *picture,
                                const struct ox_picture_source *source, struct ox_error *err)
{
    bool nibbles = b->compression == BMP_RLE4;
    uint64_t x = 0, y = 0;
    size_t at = b->data;

    OX_TRY(ox_picture_alloc(picture, source->arena, source->name, err));
    while (at + 2 <= b->n && y < b->height) {
        unsigned count = b->bytes[at], value = b->bytes[at + 1];
        bool literal = count == 0 && value > 2;

        at += 2;
        if (count == 0 && value == 1)
            break;
        if (count == 0 && value == 0) {
            x = 0;
            y++;
            continue;
        }
        if (count == 0 && value == 2) {
            if (at + 2 > b->n)
                return ox_picture_bad(source, "BMP", err);
            x += b->bytes[at];
            y += b->bytes[at + 1];
            at += 2;
            continue;
        }
        size_t stored = literal ? (nibbles ? (value + 1U) / 2 : value) : 0;

        if (stored > b->n - at)
            return ox_picture_bad(source, "BMP", err);
        for (unsigned i = 0; i < (literal ? value : count); i++, x++) {
            unsigned byte = !literal ? value : nibbles ? b->bytes[at + i / 2] : b->bytes[at + i];

            if (x < b->width)
                put_indexed(b,
                            !nibbles ? byte
                            : i % 2  ? byte & 15
                                     : byte >> 4,
                            row_of(b, picture, y) + 3 * x);
        }
        at += stored + stored % 2; /* padded to 16 bits */
    }
    return OX_OK;
}

enum ox_status ox_bmp_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                             struct ox_error *err)
{
    struct bmp b = {.bytes = source->bytes, .n = source->n};

    if (!read_header(&b) || b.width == 0 || b.height == 0)
        return ox_picture_bad(source, "BMP", err);
    picture->width = b.width;
    picture->height = b.height;
    if ((b.compression == BMP_RLE8 && b.bits == 8) || (b.compression == BMP_RLE4 && b.bits == 4))
        return read_runs(&b, picture, source, err);
    bool fields = b.compression == BMP_BITFIELDS || b.compression == BMP_ALPHA_BITFIELDS;
    bool wide = b.bits == 16 || b.bits == 32;

    if ((b.compression != BMP_RGB && !(fields && wide)) ||
        !(b.bits == 1 || b.bits == 2 || b.bits == 4 || b.bits == 8 || b.bits == 24 || wide))
        return ox_picture_bad(source, "BMP", err);
    return read_plain(&b, picture, source, err);
}
