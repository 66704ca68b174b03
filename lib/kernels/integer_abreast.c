/* Convolutions of bytes whose groups are small: sixteen columns at a time, of as many groups as they belong to, so that no lane of a
 * vector stands idle. Each lane gets the fours of its own group out of the bytes of a pixel that all of them read. */
#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

enum {
    COLS = OX_INTEGER_ABREAST_COLS,
    PIXELS = OX_INTEGER_ABREAST_PIXELS,
    WIDE = 64,
    STRETCH = 64, /* outputs of a task */
    ZEROS = 2     /* vectors for zero points: one of -128 leaves 128, which is no byte */
};
enum {
    MOST_COLS =
        15, /* of a group: tiles have one vector for sixteen as well, and need not sort their bytes */
    MOST_CHANNELS = 32 /* of a group */
};

/* What stands before a block's weights, and behind it a vector of OX_INTEGER_ABREAST_BYTES for each four of a group: which bytes of a
 * pixel they are, and what zero points add. */
struct head {
    uint32_t first, n; /* channels of a pixel that its groups read */
    uint32_t zeros;    /* vectors of what they add */
};
_Static_assert(sizeof(struct head) <= OX_INTEGER_ABREAST_BYTES, "a vector holds it");

static size_t fours_of(const struct ox_integer_core *k)
{
    return (k->channels + 3) / 4;
}

/* Channels that the columns of a block read at the most. */
static size_t most_channels(const struct ox_integer_core *k)
{
    const size_t groups = (COLS + k->n - 2) / k->n + 1;
    return ox_least(groups, k->groups) * k->channels;
}

bool ox_integer_abreast_can(const struct ox_integer *t, const struct ox_conv *c)
{
    struct ox_integer_core k = {.groups = c->groups};
    if (!t->abreast || c->groups < 2 || ox_integer_is_depthwise(c))
        return false;
    k.channels = c->in_channels / c->groups;
    k.n = c->out_channels / c->groups;
    return k.channels > 0 && k.channels <= MOST_CHANNELS && k.n > 0 && k.n <= MOST_COLS &&
           most_channels(&k) <= OX_INTEGER_ABREAST_BYTES;
}

static size_t block_bytes(const struct ox_integer_core *k)
{
    return (1 + (1 + ZEROS + k->segments) * fours_of(k)) * OX_INTEGER_ABREAST_BYTES;
}

static size_t blocks_of(const struct ox_integer_core *k)
{
    return (k->groups * k->n + COLS - 1) / COLS;
}

size_t ox_integer_abreast_packed(const struct ox_integer_core *k)
{
    return blocks_of(k) * block_bytes(k);
}

/* A column of a block: lane `lane` of its vectors. */
static void pack_column(const struct ox_integer_packing *p, size_t col, size_t lane, char *out)
{
    const struct ox_integer_core *k = p->k;
    const size_t part = fours_of(k) * OX_INTEGER_ABREAST_BYTES, group = col / k->n;
    const size_t first = ((const struct head *)(const void *)out)->first;
    const int32_t zero = p->zero ? -p->zero[col] : 0, most = zero < INT8_MAX ? zero : INT8_MAX;
    uint8_t *bytes = (uint8_t *)out + OX_INTEGER_ABREAST_BYTES, *zeros = bytes + part;
    uint8_t *weights = zeros + ZEROS * part;
    for (size_t c = 0; c < k->channels; c++) {
        const size_t at = c / 4 * OX_INTEGER_ABREAST_BYTES + lane * 4 + c % 4;
        bytes[at] = (uint8_t)(group * k->channels + c - first);
        zeros[at] = (uint8_t)most;
        zeros[part + at] = (uint8_t)(zero - most);
        for (size_t s = 0; s < k->segments; s++)
            weights[s * part + at] =
                p->weights[col * p->col + c * p->channel + s * p->tap] ^ p->flip;
    }
}

/* Vectors that the zero points of columns [from, to) take. */
static uint32_t zeros_of(const int32_t *zero, size_t from, size_t to)
{
    uint32_t n = zero != NULL;
    for (size_t j = from; zero && j < to; j++)
        n = zero[j] == INT8_MIN ? ZEROS : n;
    return n;
}

void ox_integer_abreast_pack(const struct ox_integer_packing *p)
{
    const struct ox_integer_core *k = p->k;
    const size_t all = k->groups * k->n;
    char *out = p->out;
    memset(out, 0, ox_integer_abreast_packed(k));
    for (size_t col = 0; col < all; col += COLS, out += block_bytes(k)) {
        const size_t last = ox_least(col + COLS, all) - 1;
        struct head *head = (struct head *)(void *)out;
        head->first = (uint32_t)(col / k->n * k->channels);
        head->n = (uint32_t)((last / k->n + 1) * k->channels) - head->first;
        head->zeros = zeros_of(p->zero, col, last + 1);
        for (size_t j = col; j <= last; j++)
            pack_column(p, j, j - col, out);
    }
}

size_t ox_integer_abreast_slot(void)
{
    return PIXELS * WIDE;
}

/* Outputs m to m + n - 1, of one line, columns [col, col + cols). */
static void run_pixels(const struct ox_integer_core *k, const size_t *taps, size_t m, size_t n,
                       size_t col, size_t cols, int32_t *sums)
{
    const uint8_t *in = ox_integer_line(k, m / k->cols) + m % k->cols * k->pixel;
    const char *packed = k->packed + col / COLS * block_bytes(k);
    const size_t fours = fours_of(k);
    for (size_t j = 0; j < cols; j += COLS, packed += block_bytes(k)) {
        const struct head *head = (const struct head *)(const void *)packed;
        const char *bytes = packed + OX_INTEGER_ABREAST_BYTES;
        const char *zeros = bytes + fours * OX_INTEGER_ABREAST_BYTES;
        const struct ox_integer_abreast a = {.in = in + head->first,
                                             .n = head->n,
                                             .pixel = k->pixel,
                                             .pixels = (unsigned)n,
                                             .taps = taps,
                                             .n_taps = k->segments,
                                             .fours = fours,
                                             .bytes = bytes,
                                             .zeros = zeros,
                                             .n_zeros = head->zeros,
                                             .weights =
                                                 zeros + ZEROS * fours * OX_INTEGER_ABREAST_BYTES,
                                             .sums = sums + j,
                                             .ld = WIDE};
        k->t->abreast(&a);
    }
    const struct ox_integer_end end = ox_integer_end_at(k->end, col);
    const struct ox_integer_sums all = {.rows = n,
                                        .n = cols,
                                        .sums = sums,
                                        .ld = WIDE,
                                        .out = k->out + (m * k->out_pixel + col) * k->out_size,
                                        .out_row = k->out_pixel};
    ox_integer_leave(k->t, &all, &end);
    if (k->end->after)
        ox_integer_after_rows(k, m, n, col, cols);
}

static size_t stretches_of(const struct ox_integer_core *k)
{
    return (k->cols + STRETCH - 1) / STRETCH;
}

size_t ox_integer_abreast_tasks(const struct ox_integer_core *k)
{
    return k->rows * stretches_of(k);
}

void ox_integer_abreast_run(void *core, size_t task, size_t slot)
{
    const struct ox_integer_core *k = core;
    const size_t all = k->groups * k->n, y = task / stretches_of(k);
    const size_t from = task % stretches_of(k) * STRETCH, to = ox_least(from + STRETCH, k->cols);
    size_t taps[OX_INTEGER_SEGMENTS];
    for (size_t s = 0; s < k->segments; s++)
        taps[s] = s / k->taps[1] * k->tap_line + s % k->taps[1] * k->tap_pixel;
    for (size_t col = 0; col < all; col += WIDE)
        for (size_t x = from; x < to; x += PIXELS)
            run_pixels(k, taps, y * k->cols + x, ox_least(PIXELS, to - x), col,
                       ox_least(WIDE, all - col), k->sums + slot * k->slot);
}
