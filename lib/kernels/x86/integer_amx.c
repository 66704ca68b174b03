/* Strips of 8-bit products by AMX: 32 rows by the 32 columns of a panel of QUADS, whose lines are the tiles' as they are. */
#include "kernels/integer.h"

#if defined(__AMX_INT8__) && defined(__AMX_TILE__)
#include <string.h>

#include "kernels/x86/amx_tiles.h"

enum {
    TALL = 16,     /* rows of a tile */
    DEEP = 64,     /* bytes of a row */
    LINE = 4 * 32, /* bytes of a four of k in a panel */
    STEP = LINE * DEEP / 4
};
/* Sums 00, 01, 10, 11 are tiles 0 to 3; 4 and 6 are rows and weights of whole steps, 5 and 7 of what is left behind them. */
#define ROWS 4
#define LAST_ROWS 5
#define WEIGHTS 6
#define LAST_WEIGHTS 7
enum { TILES = 8 };

/* It takes as long as a panel of little depth. */
static void start(unsigned rows, size_t depth)
{
    const size_t last = depth % DEEP;
    struct ox_amx_tiles t = {.palette = 1};
    for (unsigned i = 0; i < TILES; i++) {
        t.row_bytes[i] = DEEP;
        t.rows[i] = (uint8_t)(i < WEIGHTS && rows < TALL ? rows : TALL);
    }
    if (last) {
        t.row_bytes[LAST_ROWS] = (uint16_t)last;
        t.rows[LAST_WEIGHTS] = (uint8_t)(last / 4);
    }
    ox_amx_start(&t);
}

/* Weights lie in L2 at best: a quarter of those of the step after the next. All at once would hold up the loads of tiles. */
static inline __attribute__((always_inline)) void expect(const char *b, unsigned quarter)
{
    enum { AHEAD = 2 * STEP };
#pragma GCC unroll 8
    for (unsigned i = 0; i < STEP / 4; i += OX_INTEGER_LINE)
        __builtin_prefetch(b + AHEAD + quarter * (STEP / 4) + i, 0, 3);
}

/* One step: the tiles that hold rows and weights are numbers in the instructions. */
#define STEP_OF(rows, weights, two)                                                                \
    do {                                                                                           \
        _tile_loadd(rows, a, a_row);                                                               \
        expect(b, 0);                                                                              \
        _tile_loadd(weights, b, LINE);                                                             \
        _tile_dpbusd(0, rows, weights);                                                            \
        _tile_loadd(weights, b + LINE / 2, LINE);                                                  \
        expect(b, 1);                                                                              \
        _tile_dpbusd(1, rows, weights);                                                            \
        if (two)                                                                                   \
            _tile_loadd(rows, a + below, a_row);                                                   \
        expect(b, 2);                                                                              \
        if (two) {                                                                                 \
            _tile_dpbusd(3, rows, weights);                                                        \
            _tile_loadd(weights, b, LINE);                                                         \
        }                                                                                          \
        expect(b, 3);                                                                              \
        if (two)                                                                                   \
            _tile_dpbusd(2, rows, weights);                                                        \
    } while (0)

/* The same where depth is whole: the tiles of what is left are free for the other rows and weights, and nothing is loaded twice. */
static inline __attribute__((always_inline)) void
whole_step(const uint8_t *a, size_t a_row, size_t below, const char *b, const bool two,
           const char *later, const size_t apart, const unsigned streams)
{
    _tile_loadd(ROWS, a, a_row);
    expect(b, 0);
    _tile_loadd(WEIGHTS, b, LINE);
    _tile_dpbusd(0, ROWS, WEIGHTS);
    _tile_loadd(LAST_WEIGHTS, b + LINE / 2, LINE);
    expect(b, 1);
    _tile_dpbusd(1, ROWS, LAST_WEIGHTS);
    if (two)
        _tile_loadd(LAST_ROWS, a + below, a_row);
    expect(b, 2);
    if (two)
        _tile_dpbusd(3, LAST_ROWS, LAST_WEIGHTS);
#pragma GCC unroll 16
    for (unsigned i = 0; i < streams; i++)
        __builtin_prefetch(later + i * apart, 0, 2);
    expect(b, 3);
    if (two)
        _tile_dpbusd(2, LAST_ROWS, WEIGHTS);
}

static inline __attribute__((always_inline)) const char *panel_of(const struct ox_integer_strip *s,
                                                                  const char *b, int32_t *c,
                                                                  const bool two, const char *later,
                                                                  const unsigned streams)
{
    const size_t a_row = s->a_row, last = s->depth % DEEP, whole = s->depth - last;
    const size_t first = two ? s->rows - TALL : 0, below = first * a_row;
    const size_t ldc = s->ldc * sizeof *c;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t i = 0; i < s->segments; i++) {
        const uint8_t *a = s->a[i], *const end = a + whole;
        for (; !last && a < end; a += DEEP, b += STEP) {
            whole_step(a, a_row, below, b, two, later, s->later_apart, streams);
            if (streams)
                later += OX_INTEGER_LINE;
        }
        for (; a < end; a += DEEP, b += STEP)
            STEP_OF(ROWS, WEIGHTS, two);
        if (last)
            STEP_OF(LAST_ROWS, LAST_WEIGHTS, two);
        b += last * LINE / 4;
    }
    _tile_stored(0, c, ldc);
    _tile_stored(1, c + TALL, ldc);
    if (two) {
        _tile_stored(2, c + first * s->ldc, ldc);
        _tile_stored(3, c + first * s->ldc + TALL, ldc);
    }
    return later;
}

/* Where the lower tiles' rows are fewer than they hold, they begin higher and do some of the upper ones' again. */
static void strip(const struct ox_integer_strip *s)
{
    const char *b = s->b, *later = s->later;
    int32_t *c = s->c;
    for (size_t i = 0; i < s->panels; i++, b += s->panel, c += 2 * TALL) {
        if (s->rows <= TALL)
            panel_of(s, b, c, false, NULL, 0);
        else if (!later)
            panel_of(s, b, c, true, NULL, 0);
        else if (s->later_streams > 8)
            later = panel_of(s, b, c, true, later, 16);
        else
            later = panel_of(s, b, c, true, later, 8);
    }
    ox_amx_memory_is_written();
}

void ox_integer_amx(struct ox_integer *t)
{
    t->strip = strip;
    t->words = NULL; /* strips of bytes take a fraction of their time */
    t->strips_start = start;
    t->strips_end = ox_amx_end;
}
#else
void ox_integer_amx(struct ox_integer *t)
{
    (void)t;
}
#endif
