/* Matrix products over packed panels: leaf functions, one type each, no allocation.
 *
 * The left matrix is packed in panels of `mr` rows (for each k the mr values of a column, short panels end in zeros), the
 * right one in panels of `nr` columns. A tile is an mr x nr block of the result; the tile function is what an instruction set
 * replaces. The plain C table is always there and is what the others are tested against.
 *
 * Sums run over k in ascending order in blocks of `depth`, each block summed from zero and added to the result: one
 * order, whatever the number of threads and wherever the result was split. */
#ifndef OX_KERNELS_GEMM_H
#define OX_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>

enum {
    OX_GEMM_KC = 256, /* depth of a packed block */
    OX_GEMM_MC = 128, /* rows of a packed left block: a multiple of every mr */
    OX_GEMM_NC = 480, /* columns of a packed right block: a multiple of every nr */
    OX_GEMM_MR_MAX = 16,
    OX_GEMM_NR_MAX = 64,
    OX_GEMM_FEW_SUMS = 32
};

/* Few rows or columns go without packing: by sums along lines of both sides, or a row at a time by the right side. Sums of one way have
 * not the bits of another: it is chosen for the whole product, and serves its parts. */
enum ox_gemm_way { OX_GEMM_TILES, OX_GEMM_DOTS, OX_GEMM_ROWS };
enum ox_gemm_way ox_gemm_way(size_t m, size_t n, size_t k, size_t a_col, size_t b_row,
                             size_t b_col);

/* tile: c[i * ldc + j] = (add ? c : 0) + sum over k of a[k * mr + i] * b[k * nr + j], for i < rows <= mr, j < cols <= nr.
 * dot: the sum of a[p] * b[p], with the bits of plain C.
 * in_place: as tile, of sides as they lie: element (i, p) at a[i * a_row + p * a_col], (p, j) at b[p * b_row + j]. May be NULL. */
struct ox_gemm_f32 {
    unsigned mr, nr;
    unsigned depth; /* that is summed at once: at most OX_GEMM_KC */
    void (*tile)(size_t k, const float *a, const float *b, float *c, size_t ldc, unsigned rows,
                 unsigned cols, bool add);
    float (*dot)(size_t k, const float *a, const float *b);
    void (*in_place)(size_t k, const float *a, size_t a_row, size_t a_col, const float *b,
                     size_t b_row, float *c, size_t ldc, unsigned rows, unsigned cols, bool add);
};

struct ox_gemm_f64 {
    unsigned mr, nr, depth;
    void (*tile)(size_t k, const double *a, const double *b, double *c, size_t ldc, unsigned rows,
                 unsigned cols, bool add);
    double (*dot)(size_t k, const double *a, const double *b);
    void (*in_place)(size_t k, const double *a, size_t a_row, size_t a_col, const double *b,
                     size_t b_row, double *c, size_t ldc, unsigned rows, unsigned cols, bool add);
};

/* The kernels for this processor. */
const struct ox_gemm_f32 *ox_gemm_f32(void);
const struct ox_gemm_f64 *ox_gemm_f64(void);
/* That rounds the sum with each product once, where the processor can: not the bits of plain C, and no less exact. */
const struct ox_gemm_f64 *ox_gemm_f64_fused(void);
/* Those in plain C. */
extern const struct ox_gemm_f32 ox_gemm_f32_c;
extern const struct ox_gemm_f64 ox_gemm_f64_c;
/* The same compiled for an instruction set, with wider tiles; for gemm.c. */
extern const struct ox_gemm_f32 ox_gemm_f32_avx2;
extern const struct ox_gemm_f64 ox_gemm_f64_avx2;
extern const struct ox_gemm_f64 ox_gemm_f64_avx512;
extern const struct ox_gemm_f64 ox_gemm_f64_fused_avx2;
extern const struct ox_gemm_f64 ox_gemm_f64_fused_avx512;
float ox_gemm_dot_f32(size_t k, const float *a, const float *b);
double ox_gemm_dot_f64(size_t k, const double *a, const double *b);
double ox_gemm_dot_f64_avx2(size_t k, const double *a, const double *b);

/* Elements that a left (right) block of that many rows (columns) takes when packed. */
size_t ox_gemm_panels(size_t rows, size_t k, unsigned width);

/* Packs rows (columns) [0, n) over k deep: element (i, p) of the left at a[i * row + p * col], (p, j) of the right at
 * b[p * row + j * col]. */
void ox_gemm_pack_left_f32(unsigned mr, size_t rows, size_t k, const float *a, size_t row,
                           size_t col, float *out);
void ox_gemm_pack_right_f32(unsigned nr, size_t k, size_t cols, const float *b, size_t row,
                            size_t col, float *out);
void ox_gemm_pack_left_f64(unsigned mr, size_t rows, size_t k, const double *a, size_t row,
                           size_t col, double *out);
void ox_gemm_pack_right_f64(unsigned nr, size_t k, size_t cols, const double *b, size_t row,
                            size_t col, double *out);

/* All tiles of a packed left block by a packed right block, both k <= OX_GEMM_KC deep. */
void ox_gemm_block_f32(const struct ox_gemm_f32 *g, size_t rows, size_t cols, size_t k,
                       const float *left, const float *right, float *c, size_t ldc, bool add);
void ox_gemm_block_f64(const struct ox_gemm_f64 *g, size_t rows, size_t cols, size_t k,
                       const double *left, const double *right, double *c, size_t ldc, bool add);

/* Elements of work that ox_gemm_run_*() needs for such a product; not more than a fixed bound. */
size_t ox_gemm_work(size_t m, size_t n, size_t k);
/* c[m x n] = (add ? c : 0) + a[m x k] b[k x n]; strides in elements, c's columns are adjacent. k may be 0. `way` is that of a product
 * of which this is all or a part, of the same k and strides. */
void ox_gemm_run_f32(const struct ox_gemm_f32 *g, enum ox_gemm_way way, size_t m, size_t n,
                     size_t k, const float *a, size_t a_row, size_t a_col, const float *b,
                     size_t b_row, size_t b_col, float *c, size_t ldc, bool add, float *work);
void ox_gemm_run_f64(const struct ox_gemm_f64 *g, enum ox_gemm_way way, size_t m, size_t n,
                     size_t k, const double *a, size_t a_row, size_t a_col, const double *b,
                     size_t b_row, size_t b_col, double *c, size_t ldc, bool add, double *work);

#endif
