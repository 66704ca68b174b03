/* invert() of doubles.h; stamped once an instruction set. */
#include <math.h>

static void swap_numbers(size_t n, size_t step, double *a, double *b)
{
    for (size_t k = 0; k < n; k++) {
        const double x = a[k * step];
        a[k * step] = b[k * step];
        b[k * step] = x;
    }
}

/* Takes off what stands in column c of two rows times row c. */
static void clear_two(size_t n, size_t c, const double *restrict row, double *restrict first,
                      double *restrict second)
{
    const double f = first[c], s = second[c];
    first[c] = second[c] = 0;
    for (size_t k = 0; k < n; k++) {
        first[k] -= f * row[k];
        second[k] -= s * row[k];
    }
}

static void clear_one(size_t n, size_t c, const double *restrict row, double *restrict first)
{
    const double f = first[c];
    first[c] = 0;
    for (size_t k = 0; k < n; k++)
        first[k] -= f * row[k];
}

static void clear_rows(size_t n, size_t c, const double *row, double *a, size_t rows)
{
    size_t i = 0;
    for (; i + 2 <= rows; i += 2, a += 2 * n)
        clear_two(n, c, row, a, a + n);
    if (i < rows)
        clear_one(n, c, row, a);
}

/* Gauss and Jordan, with the greatest pivot of each column: column c of the inverse takes the place of that of the matrix, and changes
 * places at the end as the rows did. */
static void invert(size_t n, double *a, size_t *pivots)
{
    for (size_t c = 0; c < n; c++) {
        double *row = a + c * n;
        size_t pivot = c;
        for (size_t i = c + 1; i < n; i++)
            if (fabs(a[i * n + c]) > fabs(a[pivot * n + c]))
                pivot = i;
        if (pivot != c)
            swap_numbers(n, 1, row, a + pivot * n);
        pivots[c] = pivot;
        const double by = 1 / row[c];
        row[c] = 1;
        for (size_t k = 0; k < n; k++)
            row[k] *= by;
        clear_rows(n, c, row, a, c);
        clear_rows(n, c, row, row + n, n - c - 1);
    }
    for (size_t c = n; c-- > 0;)
        if (pivots[c] != c)
            swap_numbers(n, n, a + c, a + pivots[c]);
}
