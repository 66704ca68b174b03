/* Weights as the kernels of 8-bit products read them: integer_pack.h says how they lie. */
#include "kernels/integer_pack.h"

#include <string.h>

#include "common/compiler.h"
#include "kernels/integer_impl.h"

size_t ox_integer_fours(const struct ox_integer_core *k)
{
    return k->segments * ox_integer_round_up(k->depth, 4) / 4;
}

size_t ox_integer_panel_bytes(const struct ox_integer_core *k)
{
    const size_t fours = ox_integer_fours(k), bytes = fours * 4 * k->t->nr;
    if (k->t->layout == OX_INTEGER_QUADS)
        return bytes;
    return bytes * 2 + (k->t->layout == OX_INTEGER_MIXED ? ox_integer_head(fours) : 0);
}

size_t ox_integer_packed_bytes(const struct ox_integer_core *k)
{
    size_t all;
    if (k->depthwise)
        return OX_MUL_OVERFLOWS(k->groups * 2, ox_integer_round_up(k->taps[0] * k->taps[1], 2),
                                &all)
                   ? SIZE_MAX
                   : all;
    if (ox_integer_fours(k) > UINT32_MAX / 8 ||
        OX_MUL_OVERFLOWS((k->n + k->t->nr - 1) / k->t->nr * k->groups, k->panel, &all))
        return SIZE_MAX;
    return all;
}

/* A byte in two's complement. */
static int16_t as_signed(uint8_t byte)
{
    return (int16_t)((byte ^ 0x80) - 0x80);
}

/* The same in 32 bits. */
static uint32_t widened(uint32_t byte)
{
    return (byte ^ 0x80U) - 0x80U;
}

/* Panels of a product whose columns are adjacent, rows of them four or two at a time; what is missing of the last is zero. */
static void pack_rows(const struct ox_integer_packing *p, const uint8_t *from, size_t cols,
                      char *out)
{
    const size_t nr = p->k->t->nr, depth = p->k->depth, row = p->channel;
    const uint32_t flip = p->flip;
    const bool pairs = p->k->t->layout == OX_INTEGER_PAIRS;
    uint32_t *to = (uint32_t *)(void *)out;
    for (size_t q = 0; q < depth; q += 4) {
        const uint8_t *x[4];
        uint32_t keep[4];
        for (size_t i = 0; i < 4; i++) {
            keep[i] = q + i < depth ? 0xff : 0;
            x[i] = from + (keep[i] ? q + i : q) * row;
        }
        for (size_t j = 0; pairs && j < cols; j++) {
            const uint32_t a = widened((x[0][j] ^ flip) & keep[0]);
            const uint32_t b = widened((x[1][j] ^ flip) & keep[1]);
            const uint32_t c = widened((x[2][j] ^ flip) & keep[2]);
            const uint32_t d = widened((x[3][j] ^ flip) & keep[3]);
            to[j] = (a & 0xffff) | b << 16;
            to[nr + j] = (c & 0xffff) | d << 16;
        }
        for (size_t j = 0; !pairs && j < cols; j++)
            to[j] = ((x[0][j] ^ flip) & keep[0]) | ((x[1][j] ^ flip) & keep[1]) << 8 |
                    ((x[2][j] ^ flip) & keep[2]) << 16 | ((x[3][j] ^ flip) & keep[3]) << 24;
        to += pairs ? 2 * nr : nr;
    }
}

/* Panels of bytes whose fours are of one tap each: a few columns at a time, whose weights stay near. */
static void pack_fours(const struct ox_integer_packing *p, const uint8_t *from, size_t cols,
                       char *out)
{
    enum { FEW = 8 };
    const struct ox_integer_core *k = p->k;
    const size_t nr = k->t->nr, taps = k->segments * k->depth / k->channels, step = p->channel;
    const uint32_t flip = p->flip * 0x01010101U;
    for (size_t j0 = 0; j0 < cols; j0 += FEW) {
        const size_t n = ox_integer_least(FEW, cols - j0);
        uint32_t *to = (uint32_t *)(void *)out + j0;
        for (size_t tap = 0; tap < taps; tap++) {
            const uint8_t *x = from + j0 * p->col + tap * p->tap;
            for (size_t c = 0; c < k->channels; c += 4, x += 4 * step, to += nr) {
                const uint8_t *w = x;
                for (size_t j = 0; j < n; j++, w += p->col)
                    to[j] = (w[0] | (uint32_t)w[step] << 8 | (uint32_t)w[2 * step] << 16 |
                             (uint32_t)w[3 * step] << 24) ^
                            flip;
            }
        }
    }
}

static void fill_panel(const struct ox_integer_packing *p, size_t i, char *out)
{
    const struct ox_integer_core *k = p->k;
    const size_t nr = k->t->nr, panels = (k->n + nr - 1) / nr;
    const size_t group = i / panels, first = i % panels * nr;
    const size_t per_segment = ox_integer_round_up(k->depth, 4),
                 cols = ox_integer_least(nr, k->n - first);
    const bool pairs = k->t->layout == OX_INTEGER_PAIRS;
    const uint8_t *from = p->weights + (group * k->n + first) * p->col;
    if (cols < nr || per_segment != k->depth)
        memset(out, 0, k->segments * per_segment * nr * (pairs ? 2 : 1));
    if (p->col == 1 && k->segments == 1 && k->depth == k->channels) {
        pack_rows(p, from, cols, out);
        return;
    }
    if (!pairs && k->channels > 0 && k->channels % 4 == 0) {
        pack_fours(p, from, cols, out);
        return;
    }
    for (size_t j = 0; j < cols; j++, from += p->col) {
        size_t tap = 0, channel = 0, at = 0;
        for (size_t s = 0; s < k->segments; s++, at += per_segment - k->depth) {
            for (size_t q = 0; q < k->depth; q++, at++) {
                const uint8_t w = from[tap * p->tap + channel * p->channel] ^ p->flip;
                if (pairs)
                    ((int16_t *)(void *)out)[(at / 2 * nr + j) * 2 + at % 2] = as_signed(w);
                else
                    ((uint8_t *)out)[(at / 4 * nr + j) * 4 + at % 4] = w;
                if (++channel == k->channels) {
                    channel = 0;
                    tap++;
                }
            }
        }
    }
}

/* Whether no pair of products can leave 16 bits: bytes are not negative, so weights of unlike signs do not add up. */
static bool is_tight(const int8_t *quad, size_t nr)
{
    int least = 0, most = 0;
    for (size_t j = 0; j < 2 * nr; j++) {
        const int both = quad[2 * j] + quad[2 * j + 1];
        least = both < least ? both : least;
        most = both > most ? both : most;
    }
    return least >= -128 && most <= 128;
}

static void four_as_words(const int8_t *bytes, size_t nr, int16_t *words)
{
    for (size_t j = 0; j < nr; j++) {
        for (size_t i = 0; i < 4; i++)
            words[i / 2 * 2 * nr + 2 * j + i % 2] = (int16_t)bytes[4 * j + i];
    }
}

/* Sorts a panel of MIXED, whose fours lie as bytes in the upper half of their place: none is written over before it is read. Where
 * few are tight, none is called so: two loops a tile would cost more than they spare, as bytes that must be copied beside the words
 * do where few columns read them. */
static void sort_panel(const struct ox_integer_core *k, char *out)
{
    const size_t nr = k->t->nr, n = ox_integer_fours(k), quad = 4 * nr;
    uint32_t *n_tight = (uint32_t *)(void *)out, *at = n_tight + 1;
    const uint32_t *next = at;
    char *to = out + ox_integer_head(n);
    const char *from = to + n * quad;
    for (size_t q = 0; q < n; q++) {
        if (is_tight((const int8_t *)(from + q * quad), nr))
            *at++ = (uint32_t)(4 * q);
    }
    if ((size_t)(at - next) < n / 2 || (k->segments > 1 && k->n < OX_INTEGER_ENOUGH))
        at = n_tight + 1;
    const uint32_t *const end = at;
    *n_tight = (uint32_t)(end - next);
    for (size_t i = 0; i < *n_tight; i++, to += quad)
        memcpy(to, from + next[i] / 4 * quad, quad);
    for (size_t q = 0; q < n; q++) {
        int8_t bytes[4 * OX_TILE_COLS_MAX];
        if (next < end && *next == 4 * q) {
            next++;
            continue;
        }
        *at++ = (uint32_t)(8 * q);
        *at++ = (uint32_t)(8 * q + 4);
        memcpy(bytes, from + q * quad, quad);
        four_as_words(bytes, nr, (int16_t *)(void *)to);
        to += 2 * quad;
    }
}

static void pack_panel(void *arg, size_t i, size_t slot)
{
    const struct ox_integer_packing *p = arg;
    const struct ox_integer_core *k = p->k;
    const bool mixed = k->t->layout == OX_INTEGER_MIXED;
    char *out = p->out + i * k->panel;
    (void)slot;
    fill_panel(p, i,
               mixed
                   ? out + ox_integer_head(ox_integer_fours(k)) + 4 * ox_integer_fours(k) * k->t->nr
                   : out);
    if (mixed)
        sort_panel(k, out);
}

void ox_integer_pack(struct ox_env *env, const struct ox_integer_packing *p)
{
    const struct ox_integer_core *k = p->k;
    struct ox_integer_packing copy = *p;
    if (k->depthwise) {
        const size_t taps = k->taps[0] * k->taps[1];
        memset(p->out, 0, ox_integer_packed_bytes(k));
        for (size_t tap = 0; tap < taps; tap++) {
            for (size_t j = 0; j < k->groups; j++)
                ((int16_t *)(void *)p->out)[ox_integer_tap(k->groups, tap, j)] =
                    (int16_t)(as_signed(
                                  (uint8_t)(p->weights[j * p->col + tap * p->tap] ^ p->flip)) -
                              (p->zero ? p->zero[j] : 0));
        }
        return;
    }
    ox_spread(env, (k->n + k->t->nr - 1) / k->t->nr * k->groups,
              (double)(k->n * k->groups) * (double)(k->segments * k->depth) * 60, pack_panel,
              &copy);
}
