/* Weights as the kernels of 8-bit products read them: integer_pack.h says how they lie. */
#include "kernels/integer_pack.h"

#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

size_t ox_integer_segment(const struct ox_integer_core *k)
{
    const bool joins = k->joined || k->t->layout == OX_INTEGER_MIXED;
    return joins ? k->depth : ox_round_up(k->depth, 4);
}

size_t ox_integer_fours(const struct ox_integer_core *k)
{
    return (k->segments * ox_integer_segment(k) + 3) / 4;
}

size_t ox_integer_panel_bytes(const struct ox_integer_core *k)
{
    const size_t fours = ox_integer_fours(k), bytes = fours * 4 * k->t->nr;
    if (k->t->layout == OX_INTEGER_MIXED)
        return ox_integer_head(fours) + k->t->nr * sizeof(int32_t) + bytes;
    return k->t->layout == OX_INTEGER_PAIRS ? 2 * bytes : bytes;
}

size_t ox_integer_packed_bytes(const struct ox_integer_core *k)
{
    size_t all;
    if (k->abreast)
        return ox_integer_abreast_packed(k);
    if (k->depthwise)
        return OX_MUL_OVERFLOWS(k->groups * 2, ox_round_up(k->taps[0] * k->taps[1], 2), &all)
                   ? SIZE_MAX
                   : all;
    if (ox_integer_fours(k) > UINT32_MAX / 8 ||
        OX_MUL_OVERFLOWS((k->n + k->t->nr - 1) / k->t->nr * k->groups, k->panel, &all))
        return SIZE_MAX;
    return all;
}

/* As ox_integer_signed(), in 32 bits. */
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
        if (pairs)
            for (size_t j = 0; j < cols; j++) {
                const uint32_t a = widened((x[0][j] ^ flip) & keep[0]);
                const uint32_t b = widened((x[1][j] ^ flip) & keep[1]);
                const uint32_t c = widened((x[2][j] ^ flip) & keep[2]);
                const uint32_t d = widened((x[3][j] ^ flip) & keep[3]);
                to[j] = (a & 0xffff) | b << 16;
                to[nr + j] = (c & 0xffff) | d << 16;
            }
        else if (q + 4 <= depth)
            p->k->t->fours(cols, x, p->flip, to);
        else
            for (size_t j = 0; j < cols; j++)
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
        const size_t n = ox_least(FEW, cols - j0);
        uint32_t *to = (uint32_t *)(void *)out + j0;
        for (size_t tap = 0; tap < taps; tap++) {
            const uint8_t *x = from + j0 * p->col + tap * p->tap;
            for (size_t c = 0; c < k->channels; c += 4, x += 4 * step, to += nr) {
                const uint8_t *w = x;
                for (size_t j = 0; step == 1 && j < n; j++, w += p->col) {
                    memcpy(to + j, w, 4);
                    to[j] ^= flip;
                }
                for (size_t j = 0; step != 1 && j < n; j++, w += p->col)
                    to[j] = (w[0] | (uint32_t)w[step] << 8 | (uint32_t)w[2 * step] << 16 |
                             (uint32_t)w[3 * step] << 24) ^
                            flip;
            }
        }
    }
}

void ox_integer_fill_panel(const struct ox_integer_packing *p, size_t i, char *out)
{
    const struct ox_integer_core *k = p->k;
    const size_t nr = k->t->nr, panels = (k->n + nr - 1) / nr;
    const size_t group = i / panels, first = i % panels * nr;
    const size_t per_segment = ox_integer_segment(k), cols = ox_least(nr, k->n - first);
    const size_t fours = ox_integer_fours(k);
    const bool pairs = k->t->layout == OX_INTEGER_PAIRS;
    const uint8_t *from = p->weights + (group * k->n + first) * p->col;
    if (cols < nr || 4 * fours != k->segments * k->depth)
        memset(out, 0, 4 * fours * nr * (pairs ? 2 : 1));
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
                    ((int16_t *)(void *)out)[(at / 2 * nr + j) * 2 + at % 2] = ox_integer_signed(w);
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

/* What turns the bytes of a tight four; false: it is not tight. Bytes are not negative, so weights of unlike signs do not add up. */
static bool find_turn(const int8_t *quad, uint32_t *turn)
{
    enum { N = OX_INTEGER_MIXED_COLS };
    *turn = 0;
    for (unsigned pair = 0; pair < 2; pair++) {
        int16_t even[N], odd[N], wide = 0, wide_apart = 0;
        for (size_t j = 0; j < N; j++) {
            even[j] = ox_integer_signed((uint8_t)quad[4 * j + 2 * pair]);
            odd[j] = ox_integer_signed((uint8_t)quad[4 * j + 2 * pair + 1]);
        }
        for (size_t j = 0; j < N; j++) {
            const int16_t both = (int16_t)(even[j] + odd[j]), apart = (int16_t)(even[j] - odd[j]);
            wide |= (int16_t)((both < -128) | (both > 128));
            wide_apart |= (int16_t)((apart < -128) | (apart > 128) | (odd[j] == INT8_MIN));
        }
        if (!wide)
            continue;
        if (wide_apart)
            return false;
        *turn |= 0xff00U << 16 * pair;
    }
    return true;
}

/* Negates weights whose bytes are turned; what these lack then joins the sums. */
static void turn_four(int8_t *quad, size_t nr, uint32_t turn, int32_t *sums)
{
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; turn >> 8 * i & 0xff && j < nr; j++) {
            sums[j] += 255 * quad[4 * j + i];
            quad[4 * j + i] = (int8_t)-quad[4 * j + i];
        }
    }
}

/* What the sums of weights lack whose bytes become a - 128, or of a negative one 127 - a. */
static void add_sized(const int8_t *quad, size_t nr, int32_t *sums)
{
    for (size_t i = 0; i < 4 * nr; i++)
        sums[i / 4] += quad[i] < 0 ? 127 * quad[i] : 128 * quad[i];
}

uint32_t ox_integer_most(const int8_t *fours, size_t n, size_t nr)
{
    enum { AT_ONCE = UINT16_MAX / 128 };
    uint32_t sums[OX_TILE_COLS_MAX] = {0};
    uint64_t most = 0;
    for (size_t q = 0; q < n;) {
        const size_t end = q + ox_least(AT_ONCE, n - q);
        uint16_t some[4 * OX_INTEGER_MIXED_COLS] = {0};
        for (; q < end; q++) {
            for (size_t i = 0; i < 4 * OX_INTEGER_MIXED_COLS; i++)
                some[i] = (uint16_t)(some[i] + abs(fours[q * 4 * OX_INTEGER_MIXED_COLS + i]));
        }
        for (size_t i = 0; i < 4 * nr; i++)
            sums[i / 4] += some[i];
    }
    for (size_t j = 0; j < nr; j++)
        most = sums[j] > most ? sums[j] : most;
    return most < UINT32_MAX / 255 ? (uint32_t)most * 255 : UINT32_MAX;
}

enum { WORDS = 2 * OX_INTEGER_MIXED_COLS / sizeof(uint64_t) };

/* How far the sums of a tight four's pairs reach, by weights of either sign: bytes of which none has its top bit where the four may be
 * coupled, of each column the first pair and then the second. */
struct reach {
    uint64_t up[WORDS], down[WORDS];
};

static const uint64_t top_bits = 0x8080808080808080U;

static struct reach reach_of(const int8_t *quad, uint32_t turn)
{
    struct reach r;
    uint8_t up[2 * OX_INTEGER_MIXED_COLS], down[2 * OX_INTEGER_MIXED_COLS];
    for (size_t pair = 0; pair < 2; pair++) {
        const int even = turn >> 16 * pair & 0xff ? -1 : 1;
        const int odd = turn >> 16 * pair & 0xff00 ? -1 : 1;
        for (size_t j = 0; j < OX_INTEGER_MIXED_COLS; j++) {
            const int v = even * quad[4 * j + 2 * pair], w = odd * quad[4 * j + 2 * pair + 1];
            up[2 * j + pair] = (uint8_t)((v > 0 ? v : 0) + (w > 0 ? w : 0));
            down[2 * j + pair] = (uint8_t) - ((v < 0 ? v : 0) + (w < 0 ? w : 0));
        }
    }
    memcpy(r.up, up, sizeof up);
    memcpy(r.down, down, sizeof down);
    return r;
}

/* Whether no sum of bytes reaches the top bit. */
static bool all_fit(const uint64_t *a, const uint64_t *b)
{
    uint64_t sums = 0;
    for (size_t i = 0; i < WORDS; i++)
        sums |= a[i] + b[i];
    return !(sums & top_bits);
}

static bool may_couple(const struct reach *r)
{
    static const uint64_t none[WORDS];
    return all_fit(r->up, none) && all_fit(r->down, none);
}

/* Tight fours, each where it begins and what turns it: couples first, then the others. */
struct couples {
    uint32_t (*at)[2];
    size_t n, coupled;
};

static void put_four(struct couples *c, const uint32_t *four)
{
    memcpy(c->at[c->n++], four, sizeof *c->at);
}

static void put_couple(struct couples *c, const uint32_t *four, const uint32_t *other)
{
    const size_t moved = ox_least(c->n - c->coupled, 2);
    c->n += 2;
    for (size_t i = 0; i < moved; i++)
        memcpy(c->at[c->n - moved + i], c->at[c->coupled + i], sizeof *c->at);
    memcpy(c->at[c->coupled++], four, sizeof *c->at);
    memcpy(c->at[c->coupled++], other, sizeof *c->at);
}

/* Another of n fours, from place i on, that fits the one before it, also if it is turned altogether, which it is then; n: none. */
static size_t find_other(const struct reach *reach, const bool *used, size_t i, size_t n,
                         bool *turned)
{
    const struct reach *a = &reach[i];
    while (++i < n) {
        const struct reach *b = &reach[i];
        if (used[i])
            continue;
        *turned = !all_fit(a->up, b->up) || !all_fit(a->down, b->down);
        if (!*turned || (all_fit(a->up, b->down) && all_fit(a->down, b->up)))
            break;
    }
    return i;
}

/* Couples n tight fours, each with one among some of those that come next: the sums of both fit 16 bits. How many are coupled. */
static size_t couple_fours(const int8_t *fours, size_t n, uint32_t (*at)[2])
{
    enum { NEXT = 128, TRIED = 64, LEAST = 8 /* one more loop a tile must pay */ };
    struct couples c = {.at = at};
    for (size_t first = 0, some; first < n; first += some) {
        uint32_t own[NEXT][2];
        struct reach reach[NEXT];
        bool used[NEXT];
        some = ox_least(NEXT, n - first);
        memcpy(own, at + first, some * sizeof *own);
        for (size_t i = 0; i < some; i++) {
            reach[i] = reach_of(fours + own[i][0] * OX_INTEGER_MIXED_COLS, own[i][1]);
            used[i] = !may_couple(&reach[i]);
            if (used[i])
                put_four(&c, own[i]);
        }
        for (size_t i = 0; i < some; i++) {
            bool turned = false;
            if (used[i])
                continue;
            const size_t most = ox_least(i + TRIED, some);
            const size_t other = find_other(reach, used, i, most, &turned);
            if (other == most) {
                put_four(&c, own[i]);
                continue;
            }
            used[other] = true;
            own[other][1] ^= turned ? UINT32_MAX : 0;
            put_couple(&c, own[i], own[other]);
        }
    }
    return c.coupled < n / LEAST ? 0 : c.coupled;
}

static void swap_fours(uint32_t (*a)[2], uint32_t (*b)[2], size_t n)
{
    uint32_t kept[2][2];
    memcpy(kept, a, n * sizeof *a);
    memmove(a, b, n * sizeof *a);
    memcpy(b, kept, n * sizeof *a);
}

/* Of n tight fours those come first, `each` at a time, of which nothing turns the first `straight`; how many they are. */
static size_t put_straight_first(uint32_t (*at)[2], size_t n, size_t each, size_t straight)
{
    size_t first = 0;
    for (size_t i = 0; i < n; i += each) {
        if (at[i][1] || at[i + straight - 1][1])
            continue;
        swap_fours(at + i, at + first, each);
        first += each;
    }
    return first;
}

/* Sorts tight fours, the first of them couples, by how many of these are turned. */
static void sort_by_turns(uint32_t (*at)[2], uint32_t *counts)
{
    const size_t coupled = counts[1], n = counts[0];
    for (size_t i = 0; i < coupled; i += 2)
        put_straight_first(at + i, 2, 1, 1);
    const size_t none = put_straight_first(at, coupled, 2, 2);
    counts[3] = (uint32_t)(coupled + put_straight_first(at + coupled, n - coupled, 1, 1));
    counts[4] = (uint32_t)none;
    counts[5] = (uint32_t)(none + put_straight_first(at + none, coupled - none, 2, 1));
}

/* Where the i-th four of a sorted panel came from, of which the first `tight` are tight. */
static uint32_t *source_of(uint32_t *at, size_t tight, size_t i)
{
    return i < tight ? at + 2 * i : at + tight + i;
}

/* Puts n fours where the list wants them, cycle by cycle; positions are multiples of four, so that their lowest bit tells which are done. */
static void arrange_fours(int8_t *fours, size_t quad, size_t n, uint32_t *at, size_t tight)
{
    int8_t first[4 * OX_INTEGER_MIXED_COLS];
    for (size_t i = 0; i < n; i++) {
        size_t to = i, from;
        if (*source_of(at, tight, i) & 1)
            continue;
        memcpy(first, fours + i * quad, quad);
        for (;; to = from) {
            uint32_t *source = source_of(at, tight, to);
            from = *source / 4;
            *source |= 1;
            if (from == i)
                break;
            memcpy(fours + to * quad, fours + from * quad, quad);
        }
        memcpy(fours + to * quad, first, quad);
    }
    for (size_t i = 0; i < n; i++)
        *source_of(at, tight, i) &= ~(uint32_t)1;
}

/* Sorts a panel of MIXED, whose fours lie in their place as they come. */
static void sort_panel(const struct ox_integer_core *k, bool once, char *out)
{
    const size_t nr = k->t->nr, n = ox_integer_fours(k), quad = 4 * nr;
    uint32_t *counts = (uint32_t *)(void *)out, *const at = counts + OX_INTEGER_COUNTS;
    int32_t *sums = (int32_t *)(void *)(out + ox_integer_head(n));
    int8_t *fours = (int8_t *)(sums + nr);
    uint32_t(*tight)[2] = (uint32_t(*)[2])(void *)at;
    uint32_t *const end = at + 2 * n, *other = end; /* from the end on, for now */
    size_t n_tight = 0;
    memset(sums, 0, nr * sizeof *sums);
    for (size_t q = 0; q < n; q++) {
        uint32_t turn;
        if (!find_turn(fours + q * quad, &turn)) {
            *--other = (uint32_t)(4 * q);
            add_sized(fours + q * quad, nr, sums);
            continue;
        }
        tight[n_tight][0] = (uint32_t)(4 * q);
        tight[n_tight++][1] = turn;
    }
    for (size_t i = 0; i < n - n_tight; i++)
        at[2 * n_tight + i] = *(end - 1 - i);
    counts[0] = (uint32_t)n_tight;
    counts[1] = once ? 0 : (uint32_t)couple_fours(fours, n_tight, tight);
    counts[2] = ox_integer_most(fours, n, nr);
    sort_by_turns(tight, counts);
    for (size_t i = 0; i < n_tight; i++)
        turn_four(fours + tight[i][0] * nr, nr, tight[i][1], sums);
    arrange_fours(fours, quad, n, at, n_tight);
}

static void pack_panel(void *arg, size_t i, size_t slot)
{
    const struct ox_integer_packing *p = arg;
    const struct ox_integer_core *k = p->k;
    const bool mixed = k->t->layout == OX_INTEGER_MIXED;
    char *out = p->out + i * k->panel;
    (void)slot;
    ox_integer_fill_panel(p, i, mixed ? out + k->panel - 4 * ox_integer_fours(k) * k->t->nr : out);
    if (mixed)
        sort_panel(k, p->once, out);
}

void ox_integer_pack(struct ox_env *env, const struct ox_integer_packing *p)
{
    const struct ox_integer_core *k = p->k;
    struct ox_integer_packing copy = *p;
    if (k->abreast) {
        ox_integer_abreast_pack(p);
        return;
    }
    if (k->depthwise) {
        const size_t taps = k->taps[0] * k->taps[1];
        memset(p->out, 0, ox_integer_packed_bytes(k));
        for (size_t tap = 0; tap < taps; tap++) {
            for (size_t j = 0; j < k->groups; j++)
                ((int16_t *)(void *)p->out)[ox_integer_tap(k->groups, tap, j)] =
                    (int16_t)(ox_integer_signed(
                                  (uint8_t)(p->weights[j * p->col + tap * p->tap] ^ p->flip)) -
                              (p->zero ? p->zero[j] : 0));
        }
        return;
    }
    ox_spread(env, (k->n + k->t->nr - 1) / k->t->nr * k->groups,
              (double)(k->n * k->groups) * (double)(k->segments * k->depth) * 60, pack_panel,
              &copy);
}
