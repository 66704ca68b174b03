/* Weights of UPRIGHT: integer_pack.h says how they lie. Fours of a column and a block join groups, the first of those that still
 * take some into which they fit. */
#include <string.h>

#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

enum {
    COLS = OX_INTEGER_MIXED_COLS,
    SIZE = OX_INTEGER_UPRIGHT_SIZE,
    BLOCK = OX_INTEGER_UPRIGHT_BLOCK,
    ROOM = 10,  /* eighths of entries that a block's fours may become */
    OPEN = 24,  /* groups */
    KINDS = 16, /* of entries' reach */
    HEAD = sizeof(uint32_t)
};

static size_t entries_most(size_t fours)
{
    return fours * COLS * ROOM / 8;
}

size_t ox_integer_upright_panel_bytes(size_t fours)
{
    const size_t block = ox_integer_upright_block(fours);
    const size_t blocks = block ? (fours + block - 1) / block : 0;
    const size_t entry = sizeof(uint32_t) + sizeof(uint16_t);
    return ox_round_up(HEAD + blocks * (sizeof(struct ox_integer_upright_head) + sizeof(uint32_t)) +
                           entries_most(fours) * entry,
                       64);
}

bool ox_integer_upright_can(const struct ox_integer *t, const struct ox_conv *c)
{
    return t->upright && t->layout == OX_INTEGER_MIXED && !ox_integer_is_depthwise(c);
}

/* A column's groups begin with branches that the processor cannot foresee; few fours or rows do not make up for them. */
bool ox_integer_upright_pays(const struct ox_integer *t, const struct ox_conv *c)
{
    enum { LEAST_ROWS = 32, LEAST_COLS = 32, LEAST_DEPTH = 96, MANY_ROWS = 1024, LESS_DEPTH = 64 };
    const size_t depth = c->kernel[0] * c->kernel[1] * (c->in_channels / c->groups);
    const size_t rows = c->out[0] * c->out[1];
    return ox_integer_upright_can(t, c) && rows >= LEAST_ROWS &&
           c->out_channels / c->groups >= LEAST_COLS &&
           depth >= (rows < MANY_ROWS ? LEAST_DEPTH : LESS_DEPTH);
}

void ox_integer_upright_use(struct ox_integer_core *k)
{
    k->upright = true;
    k->panel = ox_integer_upright_panel_bytes(ox_integer_fours(k));
}

/* As many as there are registers for read weights least often; where there are many rows those that leave registers for all else are
 * quicker. */
size_t ox_integer_upright_rows(const struct ox_integer_core *k)
{
    enum { MANY = 512, QUICK = 4 * OX_INTEGER_UPRIGHT_LANES };
    return k->rows * k->cols >= MANY ? QUICK : OX_INTEGER_UPRIGHT_ROWS;
}

/* How far sums of a group reach, each by weights of either sign: of its first pairs up and down, of its second ones up and down. None of
 * those that take more is beyond 127, the top bit is for the test. */
static const uint32_t top_bits = 0x80808080U;

/* Of a column and a block. */
struct groups {
    size_t n, n_open;
    uint32_t reach[OPEN]; /* of those that may take more, the oldest first */
    uint16_t open[OPEN];
    uint8_t size[2 * BLOCK];
    uint32_t weights[2 * BLOCK][SIZE];
    uint16_t at[2 * BLOCK][SIZE];
};

/* The sums of pairs that are positive and, in size, negative, each in 16 bits. */
static void reach_of(uint32_t weights, uint32_t *up, uint32_t *down)
{
    const uint32_t ones = 0x01010101U, low = 0x00ff00ffU;
    const uint32_t is_negative = weights >> 7 & ones, negative = is_negative * 0xff;
    const uint32_t more = weights & ~negative;
    const uint32_t less = ((weights ^ negative) & negative) + is_negative;
    *up = (more & low) + (more >> 8 & low);
    *down = (less & low) + (less >> 8 & low);
}

/* A four whose pairs fit 16 bits, or a part of one. */
struct entry {
    uint32_t weights, reach;
    uint16_t at;
};

static void close_group(struct groups *g, size_t place)
{
    g->n_open--;
    for (; place < g->n_open; place++) {
        g->reach[place] = g->reach[place + 1];
        g->open[place] = g->open[place + 1];
    }
}

static size_t start_group(struct groups *g)
{
    const size_t i = g->n++;
    g->size[i] = 0;
    memset(g->weights[i], 0, sizeof g->weights[i]);
    memset(g->at[i], 0, sizeof g->at[i]);
    return i;
}

/* The first place of a group that takes it, of a new one if there is none. */
static size_t find_group(struct groups *g, uint32_t reach)
{
    size_t place = 0;
    while (place < g->n_open && (g->reach[place] + reach) & top_bits)
        place++;
    if (place < g->n_open)
        return place;
    if (g->n_open == OPEN)
        close_group(g, 0);
    place = g->n_open++;
    g->reach[place] = 0;
    g->open[place] = (uint16_t)start_group(g);
    return place;
}

static void put_entry(struct groups *g, const struct entry *e)
{
    const bool alone = e->reach & top_bits; /* 128: beside it there is room for none */
    const size_t place = alone ? 0 : find_group(g, e->reach);
    const size_t i = alone ? start_group(g) : g->open[place];
    g->weights[i][g->size[i]] = e->weights;
    g->at[i][g->size[i]++] = e->at;
    if (alone)
        return;
    g->reach[place] += e->reach;
    if (g->size[i] == SIZE)
        close_group(g, place);
}

/* Of a column and a block, by how far they reach. */
struct entries {
    size_t n, of[KINDS];
    struct entry e[2 * BLOCK];
};

/* About: the bits of all four. */
static size_t kind_of(const struct entry *e)
{
    const uint32_t two = e->reach | e->reach >> 16;
    return ((two | two >> 8) & 0xff) / (256 / KINDS);
}

static void add_entry(struct entries *e, uint32_t weights, size_t at, uint32_t up, uint32_t down)
{
    if (!weights)
        return;
    e->e[e->n] = (struct entry){weights, up | down << 8, (uint16_t)at};
    e->of[kind_of(&e->e[e->n++])]++;
}

/* Pairs that are too wide are parted: their second weights go by themselves. */
static void add_four(struct entries *e, uint32_t weights, size_t at)
{
    enum { MOST = 128 };
    const uint32_t second = 0xff00ff00U;
    uint32_t up, down, parted = 0;
    reach_of(weights, &up, &down);
    if ((up & 0xffff) > MOST || (down & 0xffff) > MOST)
        parted |= second & 0xffff;
    if (up >> 16 > MOST || down >> 16 > MOST)
        parted |= second & 0xffff0000U;
    if (parted) {
        reach_of(weights & parted, &up, &down);
        add_entry(e, weights & parted, at, up, down);
        weights &= ~parted;
        reach_of(weights, &up, &down);
    }
    add_entry(e, weights, at, up, down);
}

/* Those that reach farthest come first, for the others fit into what they leave. */
static void group_entries(const struct entries *e, struct groups *g)
{
    uint16_t order[2 * BLOCK];
    size_t to[KINDS], at = 0;
    for (size_t kind = KINDS; kind-- > 0; at += e->of[kind])
        to[kind] = at;
    for (size_t i = 0; i < e->n; i++)
        order[to[kind_of(&e->e[i])]++] = (uint16_t)i;
    g->n = g->n_open = 0;
    for (size_t i = 0; i < e->n; i++)
        put_entry(g, &e->e[order[i]]);
}

/* Fours of a block and where their entries go. */
struct block {
    size_t fours;
    uint32_t weights[BLOCK][COLS];
    uint16_t at[BLOCK * COLS * ROOM / 8];
    struct groups groups;
};

/* The groups of column j, the largest first, behind n entries; how many these are then, or SIZE_MAX: too many. */
static size_t leave_groups(struct block *b, size_t j, size_t n,
                           struct ox_integer_upright_head *head)
{
    const struct groups *g = &b->groups;
    uint32_t *to = (uint32_t *)(void *)(head + 1);
    for (size_t k = 0; k < OX_INTEGER_UPRIGHT_SIZES; k++) {
        const size_t size = SIZE - k, least = size == 2 ? 1 : size;
        size_t count = 0;
        for (size_t i = 0; i < g->n; i++) {
            if (g->size[i] < least || g->size[i] > size)
                continue;
            if (n + size > entries_most(b->fours) || count == UINT8_MAX)
                return SIZE_MAX;
            memcpy(to + n, g->weights[i], size * sizeof *to);
            memcpy(b->at + n, g->at[i], size * sizeof *b->at);
            n += size;
            count++;
        }
        head->groups[j][k] = (uint8_t)count;
    }
    return n;
}

/* Where the next block goes; NULL: there is no room. */
static char *put_block(struct block *b, char *out)
{
    struct ox_integer_upright_head *head = (struct ox_integer_upright_head *)(void *)out;
    size_t n = 0;
    for (size_t j = 0; j < COLS; j++) {
        struct entries e;
        e.n = 0;
        memset(e.of, 0, sizeof e.of);
        for (size_t q = 0; q < b->fours; q++)
            add_four(&e, b->weights[q][j], q * OX_INTEGER_UPRIGHT_FOUR);
        group_entries(&e, &b->groups);
        n = leave_groups(b, j, n, head);
        if (n == SIZE_MAX)
            return NULL;
    }
    head->n = (uint32_t)n;
    out = (char *)((uint32_t *)(void *)(head + 1) + n);
    memcpy(out, b->at, n * sizeof *b->at);
    return out + ox_round_up(n * sizeof *b->at, sizeof(uint32_t));
}

struct packing {
    const struct ox_integer_packing *p;
    _Atomic bool full;
};

/* Blocks take the place of the fours they are made of, which lie at the end; none overtakes the next one's. */
static void pack_panel(void *arg, size_t i, size_t slot)
{
    struct packing *packing = arg;
    const struct ox_integer_packing *p = packing->p;
    const struct ox_integer_core *k = p->k;
    const size_t n = ox_integer_fours(k), step = ox_integer_upright_block(n);
    char *const panel = p->out + i * k->panel, *out = panel + HEAD;
    const char *from = panel + k->panel - n * COLS * sizeof(uint32_t);
    struct block b;
    (void)slot;
    ox_integer_fill_panel(p, i, panel + k->panel - n * COLS * sizeof(uint32_t));
    *(uint32_t *)(void *)panel = ox_integer_most((const int8_t *)from, n, COLS);
    for (size_t q = 0; out && q < n; q += b.fours) {
        b.fours = ox_least(step, n - q);
        memcpy(b.weights, from, b.fours * sizeof *b.weights);
        from += b.fours * sizeof *b.weights;
        out = put_block(&b, out);
    }
    if (!out)
        packing->full = true;
}

bool ox_integer_upright_pack(struct ox_env *env, const struct ox_integer_packing *p)
{
    const struct ox_integer_core *k = p->k;
    struct packing packing = {.p = p};
    ox_spread(env, (k->n + COLS - 1) / COLS * k->groups,
              (double)(k->n * k->groups) * (double)(k->segments * k->depth) * 60, pack_panel,
              &packing);
    return !packing.full;
}
