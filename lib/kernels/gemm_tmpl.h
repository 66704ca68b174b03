/* Stamped by gemm.c for float and double: REAL, NAME(x) and NR are defined by the includer. */

#include "kernels/gemm_tile_tmpl.h"

/* The first n rows, a multiple of four, of adjacent elements. */
static void NAME(pack_whole_rows)(unsigned mr, unsigned n, size_t k, const REAL *a, size_t row,
                                  REAL *out)
{
    for (unsigned r = 0; r < n; r += 4) {
        const REAL *from = a + r * row;
        REAL *to = out + r;
        for (size_t p = 0; p < k; p++, to += mr) {
            to[0] = from[p];
            to[1] = from[row + p];
            to[2] = from[2 * row + p];
            to[3] = from[3 * row + p];
        }
    }
}

void NAME(ox_gemm_pack_left)(unsigned mr, size_t rows, size_t k, const REAL *a, size_t row,
                             size_t col, REAL *out)
{
    for (size_t i = 0; i < rows; i += mr) {
        unsigned n = rows - i < mr ? (unsigned)(rows - i) : mr;
        if (col == 1 && n == mr && mr % 4 == 0) {
            NAME(pack_whole_rows)(mr, mr, k, a + i * row, row, out);
            out += mr * k;
            continue;
        }
        for (size_t p = 0; p < k; p++, out += mr) {
            const REAL *from = a + i * row + p * col;
            for (unsigned r = 0; r < n; r++)
                out[r] = from[r * row];
            for (unsigned r = n; r < mr; r++)
                out[r] = 0;
        }
    }
}

/* `nr` adjacent elements of each of k rows. */
static void NAME(pack_whole_columns)(unsigned nr, size_t k, const REAL *from, size_t row, REAL *out)
{
    for (size_t p = 0; p < k; p++, out += nr, from += row) {
        if (nr == 2 * NR)
            memcpy(out, from, 2 * NR * sizeof *out); /* in line */
        else if (nr == 4 * NR)
            memcpy(out, from, 4 * NR * sizeof *out);
        else if (nr == 6 * NR)
            memcpy(out, from, 6 * NR * sizeof *out);
        else
            memcpy(out, from, nr * sizeof *out);
    }
}

static void NAME(pack_some_columns)(unsigned nr, unsigned n, size_t k, const REAL *from, size_t row,
                                    size_t col, REAL *out)
{
    for (size_t p = 0; p < k; p++, out += nr, from += row) {
        for (unsigned r = 0; r < n; r++)
            out[r] = from[r * col];
        for (unsigned r = n; r < nr; r++)
            out[r] = 0;
    }
}

/* Columns of adjacent elements, four at once. */
static void NAME(pack_whole_lines)(unsigned nr, size_t cols, size_t k, const REAL *b, size_t col,
                                   REAL *out)
{
    for (size_t j = 0; j < cols; j += nr, out += nr * k) {
        const unsigned n = cols - j < nr ? (unsigned)(cols - j) : nr, fours = n / 4 * 4;
        NAME(pack_whole_rows)(nr, fours, k, b + j * col, col, out);
        for (unsigned r = fours; r < n; r++)
            for (size_t p = 0; p < k; p++)
                out[p * nr + r] = b[(j + r) * col + p];
        for (size_t p = 0; n < nr && p < k; p++)
            for (unsigned r = n; r < nr; r++)
                out[p * nr + r] = 0;
    }
}

/* A few rows at a time through all panels: the next panel's elements stand beside those just read. */
void NAME(ox_gemm_pack_right)(unsigned nr, size_t k, size_t cols, const REAL *b, size_t row,
                              size_t col, REAL *out)
{
    enum { ABREAST = 8 };
    const size_t step = col == 1 ? ABREAST : k;
    if (row == 1 && col != 1) {
        NAME(pack_whole_lines)(nr, cols, k, b, col, out);
        return;
    }
    for (size_t p = 0; p < k; p += step) {
        const size_t deep = k - p < step ? k - p : step;
        for (size_t j = 0; j < cols; j += nr) {
            const REAL *from = b + p * row + j * col;
            REAL *to = out + j * k + p * nr;
            if (col == 1 && cols - j >= nr)
                NAME(pack_whole_columns)(nr, deep, from, row, to);
            else
                NAME(pack_some_columns)
            (nr, cols - j < nr ? (unsigned)(cols - j) : nr, deep, from, row, col, to);
        }
    }
}

void NAME(ox_gemm_block)(const struct GEMM *g, size_t rows, size_t cols, size_t k, const REAL *left,
                         const REAL *right, REAL *c, size_t ldc, bool add)
{
    for (size_t j = 0; j < cols; j += g->nr) {
        unsigned nc = cols - j < g->nr ? (unsigned)(cols - j) : g->nr;
        for (size_t i = 0; i < rows; i += g->mr) {
            unsigned nrows = rows - i < g->mr ? (unsigned)(rows - i) : g->mr;
            g->tile(k, left + i * k, right + j * k, c + i * ldc + j, ldc, nrows, nc, add);
        }
    }
}

/* Sixteen running sums over adjacent elements, added up at the end of each block of k. */
REAL NAME(ox_gemm_dot)(size_t n, const REAL *a, const REAL *b)
{
    REAL total = 0;
    for (size_t at = 0; at < n; at += OX_GEMM_KC) {
        size_t end = n - at < OX_GEMM_KC ? n : at + OX_GEMM_KC;
        REAL lane[16] = {0};
        size_t p = at;
        for (; p + 16 <= end; p += 16) {
            for (unsigned l = 0; l < 16; l++)
                lane[l] += a[p + l] * b[p + l];
        }
        for (unsigned l = 0; p < end; p++, l++)
            lane[l] += a[p] * b[p];
        for (unsigned half = 8; half; half /= 2) {
            for (unsigned l = 0; l < half; l++)
                lane[l] += lane[l + half];
        }
        total += lane[0];
    }
    return total;
}

/* One row by a right side whose columns are adjacent: streams the right side once. */
static void NAME(row)(size_t n, size_t k, const REAL *restrict a, size_t a_col,
                      const REAL *restrict b, size_t b_row, REAL *restrict c, bool add)
{
    enum { WIDTH = 256 };
    for (size_t at = 0; at < n; at += WIDTH) {
        size_t width = n - at < WIDTH ? n - at : WIDTH;
        REAL total[WIDTH] = {0}, sum[WIDTH];
        for (size_t j = 0; j < width; j++)
            total[j] = add ? c[at + j] : 0;
        for (size_t block = 0; block < k; block += OX_GEMM_KC) {
            size_t end = k - block < OX_GEMM_KC ? k : block + OX_GEMM_KC;
            memset(sum, 0, sizeof sum);
            for (size_t p = block; p < end; p++) {
                const REAL x = a[p * a_col];
                const REAL *from = b + p * b_row + at;
                for (size_t j = 0; j < width; j++)
                    sum[j] += x * from[j];
            }
            for (size_t j = 0; j < width; j++)
                total[j] += sum[j];
        }
        memcpy(c + at, total, width * sizeof *c);
    }
}

/* Rows, or columns, of a side that dots read: where elements are adjacent, else packed. */
static const REAL *NAME(lines)(size_t n, size_t k, const REAL *x, size_t line, size_t step,
                               size_t *apart, REAL *work)
{
    *apart = step == 1 ? line : k;
    for (size_t i = 0; step != 1 && i < n; i++)
        for (size_t p = 0; p < k; p++)
            work[i * k + p] = x[i * line + p * step];
    return step == 1 ? x : work;
}

/* Few sums of sides whose elements are not adjacent: those of NAME(dots), a block of k at a time. */
static void NAME(packed_dots)(const struct GEMM *g, size_t m, size_t n, size_t k, const REAL *a,
                              size_t a_row, size_t a_col, const REAL *b, size_t b_row, size_t b_col,
                              REAL *c, size_t ldc, bool add, REAL *work)
{
    REAL total[OX_GEMM_FEW_SUMS] = {0};
    for (size_t at = 0; at < k; at += OX_GEMM_KC) {
        const size_t depth = k - at < OX_GEMM_KC ? k - at : OX_GEMM_KC;
        size_t left_row, right_row;
        const REAL *left = NAME(lines)(m, depth, a + at * a_col, a_row, a_col, &left_row, work);
        const REAL *right =
            NAME(lines)(n, depth, b + at * b_row, b_col, b_row, &right_row, work + m * depth);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++)
                total[i * n + j] += g->dot(depth, left + i * left_row, right + j * right_row);
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            c[i * ldc + j] = add ? c[i * ldc + j] + total[i * n + j] : total[i * n + j];
}

static void NAME(dots)(const struct GEMM *g, size_t m, size_t n, size_t k, const REAL *a,
                       size_t a_row, const REAL *b, size_t b_col, REAL *c, size_t ldc, bool add)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const REAL sum = g->dot(k, a + i * a_row, b + j * b_col);
            c[i * ldc + j] = add ? c[i * ldc + j] + sum : sum;
        }
}

/* Sides of which a tile uses nothing twice: the left one is not packed, nor the right one where its columns are adjacent. */
static void NAME(in_place)(const struct GEMM *g, size_t m, size_t n, size_t k, const REAL *a,
                           size_t a_row, size_t a_col, const REAL *b, size_t b_row, size_t b_col,
                           REAL *c, size_t ldc, bool add, REAL *work)
{
    for (size_t j = 0; j < n; j += g->nr) {
        const unsigned cols = n - j < g->nr ? (unsigned)(n - j) : g->nr;
        for (size_t at = 0; at < k; at += g->depth) {
            const size_t depth = k - at < g->depth ? k - at : g->depth;
            const REAL *right = b + at * b_row + j * b_col;
            if (b_col != 1)
                NAME(ox_gemm_pack_right)(cols, depth, cols, right, b_row, b_col, work);
            for (size_t i = 0; i < m; i += g->mr)
                g->in_place(depth, a + i * a_row + at * a_col, a_row, a_col,
                            b_col == 1 ? right : work, b_col == 1 ? b_row : cols, c + i * ldc + j,
                            ldc, m - i < g->mr ? (unsigned)(m - i) : g->mr, cols, add || at);
        }
    }
}

void NAME(ox_gemm_run)(const struct GEMM *g, enum ox_gemm_way way, size_t m, size_t n, size_t k,
                       const REAL *a, size_t a_row, size_t a_col, const REAL *b, size_t b_row,
                       size_t b_col, REAL *c, size_t ldc, bool add, REAL *work)
{
    if (k == 0) {
        for (size_t i = 0; !add && i < m; i++)
            memset(c + i * ldc, 0, n * sizeof *c);
        return;
    }
    switch (way) {
    case OX_GEMM_DOTS:
        if (a_col == 1 && b_row == 1)
            NAME(dots)(g, m, n, k, a, a_row, b, b_col, c, ldc, add);
        else
            NAME(packed_dots)
        (g, m, n, k, a, a_row, a_col, b, b_row, b_col, c, ldc, add, work);
        return;
    case OX_GEMM_ROWS:
        for (size_t i = 0; i < m; i++)
            NAME(row)(n, k, a + i * a_row, a_col, b, b_row, c + i * ldc, add);
        return;
    case OX_GEMM_TILES:
        if (!g->in_place || (m > g->mr && n > g->nr))
            break;
        NAME(in_place)(g, m, n, k, a, a_row, a_col, b, b_row, b_col, c, ldc, add, work);
        return;
    }
    for (size_t nn = 0; nn < n; nn += OX_GEMM_NC) {
        size_t cols = n - nn < OX_GEMM_NC ? n - nn : OX_GEMM_NC;
        for (size_t kk = 0; kk < k; kk += g->depth) {
            size_t depth = k - kk < g->depth ? k - kk : g->depth;
            REAL *right = work;
            REAL *left = work + ox_gemm_panels(cols, depth, g->nr);
            NAME(ox_gemm_pack_right)
            (g->nr, depth, cols, b + kk * b_row + nn * b_col, b_row, b_col, right);
            for (size_t mm = 0; mm < m; mm += OX_GEMM_MC) {
                size_t rows = m - mm < OX_GEMM_MC ? m - mm : OX_GEMM_MC;
                NAME(ox_gemm_pack_left)
                (g->mr, rows, depth, a + mm * a_row + kk * a_col, a_row, a_col, left);
                NAME(ox_gemm_block)
                (g, rows, cols, depth, left, right, c + mm * ldc + nn, ldc, add || kk > 0);
            }
        }
    }
}
