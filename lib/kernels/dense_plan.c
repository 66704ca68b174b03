/* How a product is cut into tasks, by its shape alone. */
#include "kernels/dense_impl.h"
#include "kernels/triples.h"

enum { FEW_TASKS = 12 };

/* Of few tasks in an odd number the last leaves one of two threads idle: one part more of the rows, or half as wide columns, where
 * tasks stay as large as is wanted; else one part less. */
static void make_even(const struct ox_compute *t, size_t m, size_t n, size_t wanted,
                      size_t *row_parts, size_t *col_parts)
{
    const size_t parts = *row_parts * *col_parts;
    if (parts % 2 == 0 || parts == 1 || parts >= FEW_TASKS)
        return;
    if (parts + *col_parts <= wanted && m / (*row_parts + 1) >= (size_t)3 * t->mr)
        ++*row_parts;
    else if (2 * parts <= wanted && (n + t->nr - 1) / t->nr >= 2 * *col_parts)
        *col_parts *= 2;
    else
        --*(*col_parts > 1 ? col_parts : row_parts);
}

double ox_blocking_work(const struct ox_compute *t, size_t m, size_t n, size_t k, bool pack)
{
    enum { ROWS = 16 };
    const double rows = !pack && m <= t->mr && m < ROWS ? ROWS : (double)m;
    return 2.0 * rows * (double)n * (double)k;
}

/* Parts of rows are made once a block of columns, those of columns once a block of rows: few and large ones, of even number. */
static void plan_parts(const struct ox_compute *t, size_t m, size_t n, size_t k, size_t depth,
                       size_t others, struct ox_blocking *out)
{
    enum { TASKS = 8, COLS = 384, ROWS = 128 };
    const double work = 2.0 * (double)m * (double)n * (double)k * (double)others;
    size_t wanted = work < TASKS * 4e6 ? (size_t)(work / 4e6) : TASKS;
    wanted = (wanted + others - 1) / others;
    size_t cols = ox_least(wanted, (n + COLS - 1) / COLS);
    cols = cols ? cols : 1;
    size_t rows = ox_least((wanted + cols - 1) / cols, (m + ROWS - 1) / ROWS);
    rows = rows ? rows : 1;
    make_even(t, m, n, wanted, &rows, &cols);
    out->depth = depth;
    out->cols = ox_even_part(n, (n + cols - 1) / cols, t->nr);
    out->rows = ox_even_part(m, (m + rows - 1) / rows, OX_TRIPLES_COLS);
    out->n_rows = (m + out->rows - 1) / out->rows;
    out->n_cols = (n + out->cols - 1) / out->cols;
    out->by_rows = m > n;
}

void ox_blocking_plan(const struct ox_compute *t, size_t m, size_t n, size_t k, size_t depth,
                      size_t others, bool pack, struct ox_blocking *out)
{
    enum {
        TASKS = 32,
        COLS_LEAST = 64,
        COLS_MANY = 12,
        ROWS_MANY = 256,
        ROWS_PACKING = 192,
        COLS_PACKING = 192
    };
    const bool few = !pack && m <= t->mr;
    if (ox_triples_pay(t, m, n, k)) {
        plan_parts(t, m, n, k, depth, others, out);
        return;
    }
    const double work = ox_blocking_work(t, m, n, k, pack) * (double)others;
    out->depth = depth;
    size_t most = t->block_floats / (out->depth ? out->depth : 1) / t->nr * t->nr;
    most = most < t->nr ? t->nr : most;
    size_t rows_most = SIZE_MAX, step = t->mr;
    /* Enough pieces for every thread there may be, none so small that a thread is not worth its call. Columns are parted
     * first: packed ones stay in L2 while all rows go by. Those who pack part rows first, so as to pack once, and columns no finer
     * than pays for reading the rows again. */
    size_t wanted = work < TASKS * 1e6 ? (size_t)(work / 1e6 + few) : TASKS;
    wanted = wanted == 1 ? 2 : wanted; /* two threads share what is worth a part of its own */
    wanted = (wanted + others - 1) / others;
    if (wanted > 1 && m > 0 && n > 0) {
        const size_t rows_least = pack ? ROWS_PACKING : (size_t)4 * t->mr;
        const size_t cols_least = few ? t->nr : ox_round_up(COLS_LEAST, t->nr);
        size_t row_parts = ox_least(
            wanted, pack && m > rows_least ? m / rows_least : (m + rows_least - 1) / rows_least);
        size_t col_parts =
            ox_least((wanted + row_parts - 1) / row_parts, (n + COLS_PACKING - 1) / COLS_PACKING);
        if (!pack) {
            col_parts = ox_least(wanted, (n + cols_least - 1) / cols_least);
            row_parts = ox_least((wanted + col_parts - 1) / col_parts, m / rows_least);
            /* What brings columns near is shared by all rows that they pass. */
            if (col_parts >= COLS_MANY)
                row_parts = ox_least(row_parts, (m + ROWS_MANY - 1) / ROWS_MANY);
            row_parts = row_parts ? row_parts : 1;
            make_even(t, m, n, wanted, &row_parts, &col_parts);
            /* Rows too few to part, and few columns: parts of those, or two of the rows that are no whole tiles. */
            if (row_parts * col_parts == 1)
                col_parts = ox_least(wanted, (n + t->wide - 1) / t->wide);
            if (row_parts * col_parts == 1 && m >= rows_least) {
                row_parts = 2;
                step = 1;
            }
        }
        if (row_parts > 1)
            rows_most = (m + row_parts - 1) / row_parts;
        most = ox_least(most, ox_round_up((n + col_parts - 1) / col_parts, t->nr));
    }
    out->cols = ox_even_part(n, most, t->nr);
    /* A panel left alone is slower than those that are summed together: tasks get none, where they are many. */
    const size_t whole = ox_round_up(out->cols, t->wide);
    if (!pack && out->cols > t->wide && n >= FEW_TASKS * whole)
        out->cols = whole;
    out->rows = rows_most >= m ? ox_round_up(m, t->mr) : ox_even_part(m, rows_most, step);
    out->n_rows = m ? (m + out->rows - 1) / out->rows : 0;
    out->n_cols = n ? (n + out->cols - 1) / out->cols : 0;
    /* Weights that a core keeps are best read by all: it finds the rows that it made itself in the job before. */
    out->by_rows = !pack && m > n && n > 0 && k <= t->block_floats / n;
}
