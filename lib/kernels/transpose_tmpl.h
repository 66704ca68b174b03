/* Transposing floats in blocks of 8 x 8: the includer has v_turn_tile() and v_turn_four(), and v_turn_square(), v_turn_three(),
 * v_turn_columns() and v_turn_thirds() where they are worth having. */
#include <stdbool.h>
#include <stddef.h>

enum {
    LINE_FLOATS = 16, /* of a line of the cache */
    FEW_SETS = 512,   /* floats */
    STRIP = 128       /* rows */
};

/* Up to four rows of x become columns of a y without gaps: each store of four is put right by the next. */
static inline size_t interleave(size_t rows, size_t cols, const float *x, size_t ldx, float *y)
{
    size_t j = 0;
    const float *row[4] = {x, x + (rows > 1 ? ldx : 0), x + (rows > 2 ? 2 * ldx : 0),
                           x + (rows > 3 ? 3 * ldx : 0)};
#ifdef v_turn_three
    for (; rows == 3 && j + 8 <= cols; j += 8, y += 24) {
        v_turn_three(row, y);
        for (unsigned i = 0; i < 3; i++)
            row[i] += 8;
    }
#endif
    for (; j + 8 <= cols; j += 4, y += 4 * rows) {
        v_turn_four(row, y, rows);
        for (unsigned i = 0; i < 4; i++)
            row[i] += 4;
    }
    return j;
}

static inline void transpose_few(size_t rows, size_t cols, const float *x, size_t ldx, float *y,
                                 size_t ldy)
{
    for (size_t j = 0; j < cols; j++) {
        for (size_t i = 0; i < rows; i++)
            y[j * ldy + i] = x[i * ldx + j];
    }
}

/* Up to four columns, of which `there` rows are: what is read past the last lies in a row after. */
static inline void turn_columns(size_t rows, size_t there, size_t cols, const float *x, size_t ldx,
                                float *y, size_t ldy)
{
    size_t i = 0;
    (void)there;
#ifdef v_turn_thirds
    for (; cols == 3 && ldx == 3 && i + 8 <= rows; i += 8)
        v_turn_thirds(x + i * ldx, y + i, ldy);
#endif
#ifdef v_turn_columns
    for (; i + 4 <= rows && i + 7 <= there; i += 4)
        v_turn_columns(x + i * ldx, ldx, cols, y + i, ldy);
#endif
    transpose_few(rows - i, cols, x + i * ldx, ldx, y + i, ldy);
}

/* Eight rows, or a line's sixteen (`high`), of eight or sixteen columns (`wide`). Each line of x is read at once and each of y filled before
 * the next ones are touched; the rows that follow (`more`) are too far apart for the processor to foresee them. */
static inline void turn_lines(bool high, bool wide, bool more, const float *x, size_t ldx, float *y,
                              size_t ldy)
{
    for (size_t i = 0; more && i < LINE_FLOATS; i++)
        __builtin_prefetch(x + (LINE_FLOATS + i) * ldx);
#ifdef v_turn_square
    if (high && wide &&
        ldy % LINE_FLOATS == 0) { /* else its stores would each fill parts of two lines */
        v_turn_square(x, ldx, y, ldy);
        return;
    }
#endif
    /* Sixteen lines of y that share few sets of the cache would drive each other out before their second halves come. */
    const bool share = ldy % FEW_SETS == 0;
    for (size_t n = 0; n < 4; n++) {
        const size_t i = share ? n % 2 : n / 2, j = share ? n / 2 : n % 2;
        if ((i == 0 || high) && (j == 0 || wide))
            v_turn_tile(x + 8 * (i * ldx + j), ldx, y + 8 * (j * ldy + i), ldy);
    }
}

static void transpose_floats(size_t rows, size_t cols, const float *x, size_t ldx, float *y,
                             size_t ldy)
{
    const size_t whole_rows = rows / 8 * 8, whole_cols = cols / 8 * 8;
    if (rows <= 4 && ldy == rows) {
        const size_t done = interleave(rows, cols, x, ldx, y);
        transpose_few(rows, cols - done, x + done, ldx, y + done * ldy, ldy);
        return;
    }
    /* Lines of y that are far apart often share few sets of the cache: some are filled before the next columns' come. */
    const size_t strip = ldy < FEW_SETS ? LINE_FLOATS : STRIP;
    for (size_t s = 0; s < whole_rows; s += strip) {
        const size_t end = whole_rows - s < strip ? whole_rows : s + strip;
        for (size_t j = 0; j < whole_cols; j += LINE_FLOATS)
            for (size_t i = s; i < end; i += LINE_FLOATS)
                turn_lines(i + 8 < whole_rows, j + 8 < whole_cols,
                           i + 2 * LINE_FLOATS <= whole_rows, x + i * ldx + j, ldx, y + j * ldy + i,
                           ldy);
    }
    if (whole_rows < rows)
        transpose_few(rows - whole_rows, cols, x + whole_rows * ldx, ldx, y + whole_rows, ldy);
    for (size_t j = whole_cols; j < cols; j += 4)
        turn_columns(whole_rows, rows, cols - j < 4 ? cols - j : 4, x + j, ldx, y + j * ldy, ldy);
}
