#include "ops/categories.h"

#include <math.h>
#include <string.h>

#include "common/strmap.h"

enum { CHUNK = 128 };
#define MOST_KEYS (OX_NO_CATEGORY / 4)
/* Slots that are worth it where a number is its own. */
#define NEAR_SLOTS(n) (4 * (n) + 64)

/* ---- Hashing ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_bits(const struct ox_categories *c, uint64_t bits)
{
    return ox_hash_word(bits, c->seed);
}

/* Up to 16 bytes as two words that overlap; they say all where the length is known too. */
static uint64_t hash_string(const struct ox_categories *c, const char *p, size_t n)
{
    uint64_t first = 0, last = 0;
    if (n > 16)
        return ox_strmap_hash(p, n, c->seed[0]);
    if (n >= 8) {
        memcpy(&first, p, 8);
        memcpy(&last, p + n - 8, 8);
    } else if (n >= 4) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + n - 4, 4);
        first = low | (uint64_t)high << 32;
    } else if (n) {
        first =
            (uint8_t)p[0] | (uint64_t)(uint8_t)p[n / 2] << 8 | (uint64_t)(uint8_t)p[n - 1] << 16;
    }
    return ox_hash_word(first, c->seed) + ox_hash_word(last, c->seed + 2) +
           c->seed[4] * (uint64_t)n;
}

static bool same_string(const struct ox_str *a, const struct ox_str *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

/* ---- Making the table ---------------------------------------------------------------------------------------------- */

static void load_bits(const struct ox_tensor *t, size_t at, size_t n, bool floats, uint64_t *bits)
{
    if (!n) /* of no elements there is no address */
        return;
    if (!floats && t->dtype == OX_INT64) {
        memcpy(bits, (const int64_t *)t->data + at, n * sizeof *bits);
        return;
    }
    ox_elements_convert(floats ? OX_FLOAT64 : OX_INT64, bits, t->dtype,
                        (const char *)t->data + at * ox_dtype_size(t->dtype), n, true);
    for (size_t i = 0; i < n && floats; i++) {
        double x;
        memcpy(&x, &bits[i], sizeof x);
        x = isnan(x) ? (double)NAN : x == 0 ? 0 : x;
        memcpy(&bits[i], &x, sizeof x);
    }
}

static void enter(struct ox_categories *c, size_t slot, uint32_t place)
{
    if (!c->slots[slot] || c->last)
        c->slots[slot] = place + 1;
}

/* The slot of element `place` of the list, or the free one where it belongs. */
static size_t slot_of(const struct ox_categories *c, uint32_t place)
{
    const struct ox_str *s = c->strings ? c->strings + place : NULL;
    uint64_t hash = s ? hash_string(c, s->p, s->n) : hash_bits(c, c->bits[place]);
    for (size_t at = (size_t)(hash >> c->shift);; at = (at + 1) & (c->n_slots - 1)) {
        const uint32_t there = c->slots[at];
        if (!there ||
            (s ? same_string(s, c->strings + there - 1) : c->bits[place] == c->bits[there - 1]))
            return at;
    }
}

/* Integers that lie near each other need no hashing. */
static bool lie_near(struct ox_categories *c)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    const int64_t *list = (const int64_t *)(const void *)c->bits;
    uint64_t span;
    if (c->strings || c->floats || !c->n)
        return false;
    for (size_t i = 0; i < c->n; i++) {
        least = list[i] < least ? list[i] : least;
        most = list[i] > most ? list[i] : most;
    }
    span = (uint64_t)most - (uint64_t)least;
    c->least = least;
    c->n_slots = (size_t)span + 1;
    return span < NEAR_SLOTS(c->n);
}

void ox_hash_seeds(uint64_t *seeds, size_t n)
{
    struct ox_strmap map; /* for its secret */
    ox_strmap_init(&map);
    for (uint64_t i = 0; i < n; i++)
        seeds[i] = ox_strmap_hash((const char *)&i, sizeof i, map.seed);
}

static unsigned bits_of_slots(size_t n)
{
    unsigned bits = 3;
    while (((size_t)1 << bits) < 2 * n)
        bits++;
    return bits;
}

static void describe(struct ox_categories *c, const struct ox_tensor *list, bool last)
{
    *c = (struct ox_categories){.n = list->n,
                                .last = last,
                                .floats = ox_dtype_is_float(list->dtype),
                                .strings = list->dtype == OX_STRING ? list->data : NULL};
}

/* How many slots there are to be, and how they are found. */
static void choose_slots(struct ox_categories *c)
{
    c->direct = lie_near(c);
    if (c->direct)
        return;
    const unsigned bits = bits_of_slots(c->n);
    c->n_slots = (size_t)1 << bits;
    c->shift = 64 - bits;
    ox_hash_seeds(c->seed, OX_COUNT(c->seed));
}

static void fill_slots(struct ox_categories *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        enter(c, c->direct ? (size_t)(c->bits[i] - (uint64_t)c->least) : slot_of(c, i), i);
}

enum ox_status ox_categories(struct ox_run *r, const struct ox_tensor *list, size_t n_searches,
                             bool last, struct ox_categories *c, struct ox_error *err)
{
    enum { FEW = 16 }; /* searches that take less time than making a table */
    describe(c, list, last);
    if (c->n >= MOST_KEYS)
        return ox_run_fail(r, err, OX_LIMIT, "%zu keys are too many", c->n);
    if (!c->strings) {
        if (!(c->bits = ox_run_scratch(r, c->n, sizeof *c->bits, err)))
            return OX_NO_MEMORY;
        load_bits(list, 0, c->n, c->floats, c->bits);
    }
    c->in_a_row = n_searches <= FEW;
    if (c->in_a_row)
        return OX_OK;
    choose_slots(c);
    if (!(c->slots = ox_run_scratch(r, c->n_slots, sizeof *c->slots, err)))
        return OX_NO_MEMORY;
    fill_slots(c);
    return OX_OK;
}

size_t ox_categories_bytes(const struct ox_tensor *list)
{
    const size_t n = list->n < MOST_KEYS ? list->n : 0, hashed = (size_t)1 << bits_of_slots(n),
                 direct = NEAR_SLOTS(n);
    return n * sizeof(uint64_t) + (hashed > direct ? hashed : direct) * sizeof(uint32_t);
}

bool ox_categories_in(void *block, const struct ox_tensor *list, bool last, struct ox_categories *c)
{
    describe(c, list, last);
    if (c->n >= MOST_KEYS)
        return false;
    c->bits = block;
    if (!c->strings)
        load_bits(list, 0, c->n, c->floats, c->bits);
    choose_slots(c);
    c->slots = (uint32_t *)(c->bits + c->n);
    memset(c->slots, 0, c->n_slots * sizeof *c->slots);
    fill_slots(c);
    return true;
}

/* ---- Looking up ---------------------------------------------------------------------------------------------------- */

static uint32_t search_string(const struct ox_categories *c, const struct ox_str *s)
{
    uint32_t at = OX_NO_CATEGORY;
    for (uint32_t i = 0; i < c->n && (c->last || at == OX_NO_CATEGORY); i++)
        at = same_string(s, c->strings + i) ? i : at;
    return at;
}

static uint32_t search_bits(const struct ox_categories *c, uint64_t bits)
{
    uint32_t at = OX_NO_CATEGORY;
    for (uint32_t i = 0; i < c->n && (c->last || at == OX_NO_CATEGORY); i++)
        at = c->bits[i] == bits ? i : at;
    return at;
}

static uint32_t find_string(const struct ox_categories *c, const struct ox_str *s)
{
    size_t at = (size_t)(hash_string(c, s->p, s->n) >> c->shift);
    for (uint32_t there; (there = c->slots[at]); at = (at + 1) & (c->n_slots - 1))
        if (same_string(s, c->strings + there - 1))
            return there - 1;
    return OX_NO_CATEGORY;
}

static uint32_t find_bits(const struct ox_categories *c, uint64_t bits)
{
    size_t at = (size_t)(hash_bits(c, bits) >> c->shift);
    for (uint32_t there; (there = c->slots[at]); at = (at + 1) & (c->n_slots - 1))
        if (c->bits[there - 1] == bits)
            return there - 1;
    return OX_NO_CATEGORY;
}

static void find_numbers(const struct ox_categories *c, size_t n, const uint64_t *bits,
                         uint32_t *places)
{
    if (c->direct) {
        for (size_t i = 0; i < n; i++) {
            const uint64_t at = bits[i] - (uint64_t)c->least;
            places[i] = at < c->n_slots ? c->slots[at] - 1 : OX_NO_CATEGORY;
        }
        return;
    }
    for (size_t i = 0; i < n; i++)
        places[i] = c->in_a_row ? search_bits(c, bits[i]) : find_bits(c, bits[i]);
}

void ox_categories_find(const struct ox_categories *c, const struct ox_tensor *x, size_t at,
                        size_t n, uint32_t *places)
{
    if (c->strings) {
        const struct ox_str *s = (const struct ox_str *)x->data + at;
        for (size_t i = 0; i < n; i++)
            places[i] = c->in_a_row ? search_string(c, s + i) : find_string(c, s + i);
        return;
    }
    uint64_t bits[CHUNK];
    for (size_t from = 0, some; from < n; from += some) {
        some = n - from < CHUNK ? n - from : CHUNK;
        load_bits(x, at + from, some, c->floats, bits);
        find_numbers(c, some, bits, places + from);
    }
}
