/* Float products by tiles of bfloat16: each operand is the sum of three numbers of 8 bits, high + middle + low, exactly; of the nine
 * products of their parts six are summed, the others are below 2^-24 of the whole. Sums of sixteen pairs are formed apart and added to
 * the result, so that the error is below that of one sum over all of them in float32 (Henry, Tang, Heinecke: Leveraging the bfloat16
 * Artificial Intelligence Datatype For Higher-Precision Computations, 2019). Parts and results below FLT_MIN count as zeros. Infinities,
 * NaNs and what rounds to infinity have no such parts: their rows, and panels of weights with them, go by the table's lines. */
#ifndef OX_KERNELS_TRIPLES_H
#define OX_KERNELS_TRIPLES_H

#include "kernels/compute.h"

struct ox_few_parts;

enum {
    OX_TRIPLES_ROWS = 16,                                /* rows, and columns, of a tile */
    OX_TRIPLES_COLS = 2 * OX_TRIPLES_ROWS,               /* of a panel */
    OX_TRIPLES_DEPTH = 32,                               /* of k in a tile */
    OX_TRIPLES_TILE = OX_TRIPLES_ROWS * OX_TRIPLES_COLS, /* its numbers, of two bytes */
    OX_TRIPLES_PARTS = 3                                 /* one tile each, one behind the other */
};

/* Rows by a panel: c[i][j] = end((add ? c : 0) + sums), i < rows, j < cols <= OX_TRIPLES_COLS. */
struct ox_triples_block {
    const uint16_t *left; /* by rows(), so many at a time, one behind the other */
    unsigned tall;
    size_t rows, depth;
    const uint16_t *right; /* by panel() */
    unsigned cols;
    float *c;
    size_t ldc;
    bool add;
    const struct ox_epilogue
        *end; /* at the first row and column; without OX_ACT_ROW, residual_last */
    /* A panel of which the parts are made meanwhile, NULL: none; and whether it has none. */
    const float *next;
    size_t next_depth;
    uint16_t *next_out;
    const float *later; /* the panel after that: its beginning comes nearer */
    bool next_extreme;
};

struct ox_triples {
    void (*begin)(
        unsigned tall); /* on a thread before block(), for blocks of so many rows a tile, */
    void (*end)(void);  /* and behind it */
    /* Of n <= OX_TRIPLES_ROWS rows of `depth` floats, `step` apart; a set bit tells a row that has none. */
    unsigned (*rows)(size_t n, size_t depth, const float *a, size_t step, uint16_t *out);
    /* Of a packed panel; true when it has none. */
    bool (*panel)(size_t depth, const float *b, uint16_t *out);
    void (*block)(struct ox_triples_block *b);
    /* By weights of few bits (few_bits_parts.h). */
    void (*columns)(const struct ox_few_parts *p, size_t first, size_t cols);
};

/* Whether sums over k for so many rows and columns gain by parts: depends on the shape alone. */
bool ox_triples_pay(const struct ox_compute *t, size_t m, size_t n, size_t k);
/* Lines that follow each other on a thread: the first panel of each is made while the last one of the one before is multiplied. */
struct ox_triples_lines {
    float *work; /* ox_triples_work() floats, 64-byte aligned */
    size_t run_most;
    const float *made; /* the panel whose parts are at hand, */
    size_t made_run;
    unsigned side; /* in this one of two places */
    bool extreme;
};
/* Floats of work for lines of `run` at most. */
size_t ox_triples_work(size_t run);
static inline struct ox_triples_lines ox_triples_begin(float *work, size_t run)
{
    return (struct ox_triples_lines){.work = work, .run_most = run};
}
/* What t->line() does, for any number of columns: one row of `a`, no order asked for. The bits of an output depend on nothing but its own
 * row and column. Behind it comes a line whose first panel is `then`, then_run deep; NULL: none. */
void ox_triples_line(const struct ox_compute *t, const struct ox_line *l,
                     struct ox_triples_lines *in, const float *then, size_t then_run);

/* Plain C, and what an instruction set does better; for compute.c. */
extern const struct ox_triples ox_triples_c;
const struct ox_triples *ox_triples_amx(void); /* NULL: the compiler has none */

#endif
