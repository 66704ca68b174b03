/* Antialiased bilinear resampling in two passes with 22-bit weights and a byte between them: Pillow's arithmetic, so
 * that a model sees the pixels that it was trained on. */
#include <math.h>
#include <string.h>

#include "tensor/picture/picture.h"

enum { BITS = 22 };

/* For each place of the result along one axis: the first place of the source, how many, and their weights. */
struct weights {
    size_t most; /* a result */
    size_t *first, *n;
    int32_t *values;
};

static bool make_weights(struct weights *weights, struct ox_arena *arena, size_t in, size_t out)
{
    double scale = (double)in / (double)out;
    double width = scale < 1 ? 1 : scale;
    weights->most = (size_t)ceil(width) * 2 + 1;
    weights->first = ox_arena_array(arena, out, sizeof *weights->first);
    weights->n = ox_arena_array(arena, out, sizeof *weights->n);
    size_t n_values;
    if (OX_MUL_OVERFLOWS(out, weights->most, &n_values))
        return false;
    weights->values = ox_arena_array(arena, n_values, sizeof *weights->values);
    double *real = ox_arena_array(arena, weights->most, sizeof *real);
    if (!weights->first || !weights->n || !weights->values || !real)
        return false;
    for (size_t i = 0; i < out; i++) {
        double center = ((double)i + 0.5) * scale;
        double low = center - width + 0.5;
        double high = center + width + 0.5;
        size_t first = low < 0 ? 0 : (size_t)low;
        size_t last = high > (double)in ? in : (size_t)high;
        double sum = 0;
        for (size_t k = first; k < last; k++) {
            double distance = fabs(((double)k - center + 0.5) * (1 / width));
            real[k - first] = distance < 1 ? 1 - distance : 0;
            sum += real[k - first];
        }
        weights->first[i] = first;
        weights->n[i] = last - first;
        for (size_t k = 0; k < last - first; k++)
            weights->values[i * weights->most + k] =
                (int32_t)(0.5 + (sum != 0 ? real[k] / sum : 0) * (1 << BITS));
    }
    return true;
}

static uint8_t to_byte(int32_t sum)
{
    int32_t value = sum >> BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void resample_row(uint8_t *to, const uint8_t *from, size_t width, unsigned channels,
                         const struct weights *weights)
{
    for (size_t x = 0; x < width; x++) {
        const int32_t *w = weights->values + x * weights->most;
        const uint8_t *p = from + weights->first[x] * channels;
        for (unsigned c = 0; c < channels; c++) {
            int32_t sum = 1 << (BITS - 1);
            for (size_t k = 0; k < weights->n[x]; k++)
                sum += p[k * channels + c] * w[k];
            to[x * channels + c] = to_byte(sum);
        }
    }
}

/* One row of the result from rows of the source. */
static void resample_column(uint8_t *to, const uint8_t *from, size_t row_bytes, const int32_t *w,
                            size_t n)
{
    for (size_t x = 0; x < row_bytes; x++) {
        int32_t sum = 1 << (BITS - 1);
        for (size_t k = 0; k < n; k++)
            sum += from[k * row_bytes + x] * w[k];
        to[x] = to_byte(sum);
    }
}

enum ox_status ox_picture_resize(struct ox_picture *picture, struct ox_arena *arena, size_t width,
                                 size_t height, const char *name, struct ox_error *err)
{
    struct weights weights;
    if (width != picture->width) {
        struct ox_picture wide = {
            .width = width, .height = picture->height, .channels = picture->channels};
        OX_TRY(ox_picture_alloc(&wide, arena, name, err));
        if (!make_weights(&weights, arena, picture->width, width))
            return ox_fail(err, OX_LIMIT, "%s: resizing goes over the memory limit", name);
        for (size_t y = 0; y < wide.height; y++)
            resample_row(wide.pixels + y * width * wide.channels,
                         picture->pixels + y * picture->width * picture->channels, width,
                         wide.channels, &weights);
        *picture = wide;
    }
    if (height != picture->height) {
        struct ox_picture high = {.width = width, .height = height, .channels = picture->channels};
        OX_TRY(ox_picture_alloc(&high, arena, name, err));
        if (!make_weights(&weights, arena, picture->height, height))
            return ox_fail(err, OX_LIMIT, "%s: resizing goes over the memory limit", name);
        size_t row = width * high.channels;
        for (size_t y = 0; y < height; y++)
            resample_column(high.pixels + y * row, picture->pixels + weights.first[y] * row, row,
                            weights.values + y * weights.most, weights.n[y]);
        *picture = high;
    }
    return OX_OK;
}
