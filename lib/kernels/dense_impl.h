/* What the files of products share with each other and with convolve*.c. */
#ifndef OX_KERNELS_DENSE_IMPL_H
#define OX_KERNELS_DENSE_IMPL_H

#include "kernels/dense.h"
#include "kernels/sizes.h"

/* ---- dense_plan.c ---- */

/* A product cut into blocks: `rows` and `cols` a task, sums cut into pieces of `depth`. Depends on the shape alone. */
struct ox_blocking {
    size_t rows, cols, depth;
    size_t n_rows, n_cols; /* tasks each way */
    bool by_rows;          /* tasks that follow each other share their rows, not their columns */
};
/* depth: of a block of k, chosen by the caller; others: products of this shape that are run together; pack: each task packs its right side itself. */
void ox_blocking_plan(const struct ox_compute *t, size_t m, size_t n, size_t k, size_t depth,
                      size_t others, bool pack, struct ox_blocking *out);

/* In floating-point operations: by few rows a core could do so many as for ROWS while their weights come from where the next core's
 * come from too. */
double ox_blocking_work(const struct ox_compute *t, size_t m, size_t n, size_t k, bool pack);

/* Where task number i < n_rows * n_cols begins. */
static inline void ox_blocking_at(const struct ox_blocking *by, size_t i, size_t *row, size_t *col)
{
    *row = (by->by_rows ? i / by->n_cols : i % by->n_rows) * by->rows;
    *col = (by->by_rows ? i % by->n_cols : i / by->n_rows) * by->cols;
}

/* ---- dense_panels.c ---- */

/* A row of tiles: `rows` <= mr rows by `cols` columns of packed panels. */
struct ox_block {
    const struct ox_compute *t;
    const float *const *a; /* as in struct ox_tile */
    size_t segments, depth;
    const float *packed; /* panel of the first column, at this block's k */
    size_t panel;        /* rows of k from panel to panel */
    float *c;
    size_t ldc, cols;
    unsigned rows;
    bool add;
    const struct ox_epilogue *end; /* at the first row and column; NULL: bare sums */
};
void ox_block_panels(const struct ox_block *b);

/* Rows by columns of a block that were both made before, columns packed: rows of `a` from row0 on, at steps of a_row. `depth` is that
 * of a piece of k. `parts`: work of ox_triples_line() where the product goes so; NULL: it does not. */
void ox_dense_past_panels(const struct ox_compute *t, const struct ox_dense *d, size_t depth,
                          const float *a, size_t a_row, size_t row0, size_t rows, size_t col0,
                          size_t cols, float *c, float *parts);

/* Whether a product by constant weights goes by parts (triples.h); of how much of k at a time it and others are. */
bool ox_dense_by_triples(const struct ox_compute *t, const struct ox_dense *d);
size_t ox_dense_depth(const struct ox_compute *t, size_t k);

/* Whether few rows wait for weights that are more than a core keeps, or one or two for sums that are too few to be under way at once:
 * these then follow the weights in an order of its own (few_panel() of lines_tmpl.h). */
bool ox_dense_waits(const struct ox_compute *t, const struct ox_dense *d);
/* Whether these follow them in one stream. */
bool ox_dense_one_stream(const struct ox_compute *t, const struct ox_dense *d);

/* ---- dense_pack.c ---- */

static inline size_t ox_weight_bytes(enum ox_weight_type type)
{
    return type == OX_WEIGHT_F32 ? sizeof(float) : sizeof(uint16_t);
}
/* Panels of depth x cols at b, one behind the other. */
void ox_dense_pack_part(const struct ox_compute *t, size_t depth, size_t cols, const void *b,
                        enum ox_weight_type type, size_t b_row, size_t b_col, float *out);

/* ---- dense_made.c, dense_few.c, dense_end.c ---- */

/* As ox_dense_work() and ox_dense_run() where the left side is made. */
size_t ox_made_work(const struct ox_compute *t, const struct ox_env *env, const struct ox_dense *d);
void ox_made_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d,
                 float *work);

/* Whether ox_square_run() does it: many rows by a small square matrix. */
bool ox_square(const struct ox_compute *t, const struct ox_dense *d);
void ox_square_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d);

/* Products of few rows by a right side that is not packed: they wait for memory. */
bool ox_few(const struct ox_compute *t, const struct ox_dense *d);
/* As ox_dense_work() and ox_dense_run(), k not 0. */
size_t ox_few_work(const struct ox_compute *t, const struct ox_env *env, const struct ox_dense *d);
void ox_few_run(const struct ox_compute *t, struct ox_env *env, const struct ox_dense *d,
                float *work);

/* Widens two-byte weights. */
void ox_widen(const struct ox_compute *t, enum ox_weight_type type, size_t n, const void *x,
              float *y);

/* The epilogue of the element (row, col). */
struct ox_epilogue ox_end_at(const struct ox_epilogue *end, size_t row, size_t col);
/* The parts of an epilogue that tiles leave out: OX_ACT_ROW and residual_last. */
void ox_end_rows(const struct ox_compute *t, size_t rows, size_t cols, float *c, size_t ldc,
                 const struct ox_epilogue *end);
/* All of an epilogue. */
void ox_end_all(const struct ox_compute *t, size_t rows, size_t cols, float *c, size_t ldc,
                const struct ox_epilogue *end);

#endif
