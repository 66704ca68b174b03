/* The right side of a product in panels of as many columns as a tile has. */
#include "common/compiler.h"
#include "common/forget.h"
#include "kernels/dense_impl.h"

enum { WIDEN = 64 };

size_t ox_dense_packed(const struct ox_compute *t, size_t k, size_t n)
{
    size_t out;
    return n > SIZE_MAX - t->nr || OX_MUL_OVERFLOWS(ox_round_up(n, t->nr), k, &out) ? SIZE_MAX
                                                                                    : out;
}

struct packing {
    const struct ox_compute *t;
    size_t k, n;
    const char *b;
    enum ox_weight_type type;
    size_t row, col;
    float *out;
    size_t panel; /* floats from panel to panel of out */
    bool forget;  /* columns of a mapped file, once they are packed */
};

/* Columns of two-byte weights are widened a piece at a time and packed from there. */
static void pack_narrow(const struct packing *p, const uint16_t *b, unsigned cols, float *out)
{
    const struct ox_compute *t = p->t;
    float piece[OX_TILE_COLS_MAX][WIDEN];
    for (size_t at = 0; at < p->k; at += WIDEN) {
        const size_t depth = ox_least(WIDEN, p->k - at);
        for (unsigned j = 0; j < cols; j++) {
            const uint16_t *from = b + at * p->row + j * p->col;
            if (p->row == 1) {
                ox_widen(t, p->type, depth, from, piece[j]);
            } else {
                for (size_t i = 0; i < depth; i++)
                    ox_widen(t, p->type, 1, from + i * p->row, &piece[j][i]);
            }
        }
        t->pack(depth, cols, piece[0], 1, WIDEN, out + at * t->nr);
    }
}

static void pack_panel(void *arg, size_t i, size_t slot)
{
    const struct packing *p = arg;
    const struct ox_compute *t = p->t;
    const size_t first = i * t->nr;
    const unsigned cols = (unsigned)ox_least(t->nr, p->n - first);
    float *out = p->out + i * p->panel;
    (void)slot;
    if (p->type == OX_WEIGHT_F32) {
        t->pack(p->k, cols, (const float *)(const void *)p->b + first * p->col, p->row, p->col,
                out);
        return;
    }
    const uint16_t *b = (const uint16_t *)(const void *)p->b + first * p->col;
    if (p->col != 1) {
        pack_narrow(p, b, cols, out);
        return;
    }
    for (size_t q = 0; q < p->k; q++, out += t->nr) {
        ox_widen(t, p->type, cols, b + q * p->row, out);
        for (unsigned j = cols; j < t->nr; j++)
            out[j] = 0;
    }
}

static void pack_task(void *arg, size_t i, size_t slot)
{
    const struct packing *p = arg;
    const size_t first = i * p->t->nr, column = p->col * ox_weight_bytes(p->type);
    pack_panel(arg, i, slot);
    if (p->forget)
        ox_mapping_forget(p->b + first * column, ox_least(p->t->nr, p->n - first) * column);
}

/* Of a large matrix in a mapped file what is packed is given back while the rest is, so that not all of it is in memory twice. */
void ox_dense_pack(const struct ox_compute *t, struct ox_env *env, size_t k, size_t n,
                   const void *b, enum ox_weight_type type, size_t b_row, size_t b_col, float *out)
{
    enum { LARGE = 1 << 17 };
    const size_t panels = (n + t->nr - 1) / t->nr, row = b_row * ox_weight_bytes(type);
    const bool parts = n > 0 && k > LARGE / n, by_rows = parts && b_col == 1;
    struct packing p = {t, k, n, b, type, b_row, b_col, out, k * t->nr, parts && b_row == 1};
    for (size_t k0 = 0; k0 < k; k0 += p.k) {
        p.k = by_rows ? ox_least(LARGE / 4 / n + 1, k - k0) : k;
        p.b = (const char *)b + k0 * row;
        p.out = out + k0 * t->nr;
        ox_spread(env, panels, (double)p.k * (double)n * 40, pack_task, &p);
        if (by_rows)
            ox_mapping_forget(p.b, p.k * row);
    }
}

/* Brings rows near, `bytes` of each. */
static void fetch_rows(const char *b, size_t rows, size_t row, size_t bytes)
{
    enum { LINE = 64 };
    for (size_t i = 0; i < rows; i++, b += row)
        for (size_t at = 0; at < bytes; at += LINE)
            __builtin_prefetch(b + at, 0, 3);
}

void ox_dense_pack_part(const struct ox_compute *t, size_t depth, size_t cols, const void *b,
                        enum ox_weight_type type, size_t b_row, size_t b_col, float *out)
{
    enum { ROWS = 8, FAR = 1 << 19 }; /* of more bytes a part comes from memory */
    const size_t row = b_row * ox_weight_bytes(type);
    const bool far = b_col == 1 && depth > FAR / (row + 1);
    struct packing p = {.t = t,
                        .n = cols,
                        .b = b,
                        .type = type,
                        .row = b_row,
                        .col = b_col,
                        .out = out,
                        .panel = depth * t->nr};
    /* Some rows at a time past all panels, so that what is read of each lies together. */
    p.k = b_col == 1 ? ROWS : depth;
    for (size_t at = 0; at < depth; at += p.k) {
        p.k = ox_least(p.k, depth - at);
        if (far)
            fetch_rows(p.b + p.k * row, ox_least(ROWS, depth - at - p.k), row,
                       cols * ox_weight_bytes(type));
        for (size_t i = 0; i * t->nr < cols; i++)
            pack_panel(&p, i, 0);
        p.b += p.k * row;
        p.out += p.k * t->nr;
    }
}

void ox_dense_scale_packed(const struct ox_compute *t, size_t k, size_t n, const float *packed,
                           const float *factor, float *out)
{
    for (size_t first = 0; first < n; first += t->nr) {
        for (size_t p = 0; p < k; p++) {
            const float by = factor[p];
            for (unsigned j = 0; j < t->nr; j++)
                *out++ = *packed++ * by;
        }
    }
}
