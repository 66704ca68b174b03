/* Products of few_bits.h for several rows by tiles of bfloat16: a code less its zero is one such number, a row's float the sum of three
 * (triples.h), so that three products of tiles sum 32 terms. Such sums are scaled and added up in float32, four at a time. Parts below
 * FLT_MIN count as zeros, and rows with numbers that have no parts are refused. */
#ifndef OX_KERNELS_FEW_BITS_PARTS_H
#define OX_KERNELS_FEW_BITS_PARTS_H

#include "kernels/few_bits.h"
#include "kernels/triples.h"

enum {
    OX_FEW_PARTS_ROWS = 128, /* at a time, at most */
    OX_FEW_PARTS_COLS = 32   /* that a task has */
};

/* c[i * ldc + j] = sum over p of a[i][p] * weight p of column j, + bias[j]; i < m <= OX_FEW_PARTS_ROWS. */
struct ox_few_parts {
    const struct ox_few_bits *w;
    size_t m, n;
    const uint16_t *
        rows; /* triples' panels of OX_TRIPLES_COLS rows, of which ox_few_parts_index tells the order */
    const float *bias; /* [n]; NULL: none */
    float *c;
    size_t ldc;
};

/* Which k of its OX_TRIPLES_DEPTH is number q of a panel: codes of 4 bits leave their bytes by twos. */
static inline size_t ox_few_parts_index(const struct ox_few_bits *w, size_t q)
{
    const size_t half = OX_TRIPLES_DEPTH / 2;
    return w->bits == 4 ? q % half * 2 + q / half : q;
}

/* Where the parts of row i begin; those of the next OX_TRIPLES_DEPTH of k are OX_FEW_PARTS_STEP further. */
enum { OX_FEW_PARTS_STEP = 2 * OX_TRIPLES_PARTS * OX_TRIPLES_TILE };
static inline const uint16_t *ox_few_parts_rows(const struct ox_few_parts *p, size_t i)
{
    const size_t panel = i / OX_TRIPLES_COLS, half = i / OX_TRIPLES_ROWS % 2;
    return p->rows + panel * (p->w->k / OX_TRIPLES_DEPTH) * OX_FEW_PARTS_STEP +
           half * OX_TRIPLES_PARTS * OX_TRIPLES_TILE;
}

/* Whether that is faster, and can be, for m rows and n columns: depends on sizes alone. */
bool ox_few_parts_pay(const struct ox_triples *t, const struct ox_few_bits *w, size_t m, size_t n);
/* As many rows of m as should go at a time; bytes of `rows` for them, to be aligned by 64. */
size_t ox_few_parts_group(const struct ox_few_bits *w, size_t m);
size_t ox_few_parts_bytes(const struct ox_few_bits *w, size_t group);
/* Of rows a [m][k], whose parts come into `rows`. The same bits for any number of threads. False: a row has none, c is as it was. */
bool ox_few_parts_run(struct ox_env *env, const struct ox_triples *t, const struct ox_few_parts *p,
                      const float *a, uint16_t *rows);

/* Columns [first, first + cols), cols <= OX_FEW_PARTS_COLS, between begin(OX_TRIPLES_ROWS) and end(); for tables of triples. */
void ox_few_parts_columns_c(const struct ox_few_parts *p, size_t first, size_t cols);
void ox_few_parts_columns_amx(const struct ox_few_parts *p, size_t first, size_t cols);

#endif
