#include "graph/pack_blocks.h"

#include <string.h>

/* A matrix of bytes of which column j goes to codes in row j. */
struct matrix {
    const uint8_t *at;
    size_t rows, cols, row, col; /* bytes between rows and between columns */
    uint8_t middle;              /* is added */
    unsigned bits;
    size_t padded; /* rows with those of the last block that are not there: codes of 0 */
};

static struct matrix matrix_of(const struct ox_block_weights *w, const struct ox_tensor *t,
                               size_t padded)
{
    struct matrix m = {.at = t->data,
                       .rows = (size_t)t->dims[w->turned],
                       .cols = (size_t)t->dims[!w->turned],
                       .bits = ox_dtype_bits(t->dtype)};
    m.row = w->turned ? 1 : m.cols;
    m.col = w->turned ? m.rows : 1;
    m.middle = ox_dtype_is_signed(t->dtype) ? (uint8_t)(1u << (m.bits - 1)) : 0;
    m.padded = padded > m.rows ? padded : m.rows;
    return m;
}

static unsigned code_at(const struct matrix *m, size_t i, size_t j)
{
    const uint8_t code = i < m->rows ? m->at[i * m->row + j * m->col] : 0;
    return (uint8_t)(code + m->middle) & ((1u << m->bits) - 1);
}

/* Two rows, both there, of columns [first, end) to bytes of two codes of 4 bits. */
static void pack_pairs(const struct matrix *m, size_t i, size_t first, size_t end, uint8_t *out,
                       size_t bytes)
{
    const uint8_t *low = m->at + i * m->row, *high = low + m->row;
    out += i / 2;
    for (size_t j = first; j < end; j++) {
        const unsigned a = (low[j * m->col] + m->middle) & 15u;
        const unsigned b = (high[j * m->col] + m->middle) & 15u;
        out[j * bytes] = (uint8_t)(a | b << 4);
    }
}

/* Some columns at a time: lines of either side are used whole. */
static void pack_codes(const struct matrix *m, uint8_t *out, size_t bytes)
{
    enum { COLS = 32 };
    for (size_t first = 0; first < m->cols; first += COLS) {
        const size_t end = m->cols - first < COLS ? m->cols : first + COLS;
        for (size_t i = 0; i < m->padded; i += 8 / m->bits) {
            if (m->bits == 4 && i + 1 < m->rows) {
                pack_pairs(m, i, first, end, out, bytes);
                continue;
            }
            for (size_t j = first; j < end; j++)
                out[j * bytes + i * m->bits / 8] =
                    (uint8_t)(m->bits == 8
                                  ? code_at(m, i, j)
                                  : code_at(m, i, j) |
                                        (i + 1 < m->padded ? code_at(m, i + 1, j) << 4 : 0));
        }
    }
}

static void turn_scales(const struct ox_block_weights *w, struct ox_tensor *out)
{
    const size_t n = (size_t)out->dims[0], blocks = (size_t)out->dims[1],
                 size = ox_dtype_size(out->dtype);
    const char *from = w->scales->data;
    char *to = out->data;
    if (w->turned) {
        memcpy(to, from, n * blocks * size);
        return;
    }
    for (size_t j = 0; j < n; j++)
        for (size_t b = 0; b < blocks; b++)
            memcpy(to + (j * blocks + b) * size, from + (b * n + j) * size, size);
}

enum ox_status ox_pack_blocks(struct ox_tensor *packed[3], struct ox_budget *budget,
                              const struct ox_block_weights *w, struct ox_error *err)
{
    const unsigned bits = ox_dtype_bits(w->integers->dtype);
    const int64_t k = w->integers->dims[w->turned], n = w->integers->dims[!w->turned];
    const int64_t block = (int64_t)w->block, blocks = (k + block - 1) / block;
    const int64_t blob = block * bits / 8, zero_bytes = (blocks * bits + 7) / 8;
    memset(packed, 0, 3 * sizeof(struct ox_tensor *));
    OX_TRY(ox_tensor_new(&packed[0], budget, OX_UINT8, 3, (const int64_t[]){n, blocks, blob}, err));
    OX_TRY(
        ox_tensor_new(&packed[1], budget, w->scales->dtype, 2, (const int64_t[]){n, blocks}, err));
    const struct matrix codes = matrix_of(w, w->integers, (size_t)(blocks * block));
    pack_codes(&codes, packed[0]->data, (size_t)(blocks * blob));
    turn_scales(w, packed[1]);
    if (!w->zeros && codes.middle)
        return OX_OK;
    OX_TRY(ox_tensor_new(&packed[2], budget, OX_UINT8, 2, (const int64_t[]){n, zero_bytes}, err));
    memset(packed[2]->data, 0, packed[2]->n);
    if (w->zeros) {
        const struct matrix zeros = matrix_of(w, w->zeros, 0);
        pack_codes(&zeros, packed[2]->data, (size_t)zero_bytes);
    }
    return OX_OK;
}
