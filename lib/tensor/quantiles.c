#include "tensor/quantiles.h"

#include <math.h>
#include <stdlib.h>

bool ox_quantiles_add(struct ox_quantiles *q, const struct ox_tensor *a, const struct ox_tensor *b)
{
    const size_t n = q->n + a->n;
    double *abs = n <= SIZE_MAX / sizeof *abs ? realloc(q->abs, (n + 1) * sizeof *abs) : NULL;
    q->abs = abs ? abs : q->abs;
    double *rel = abs ? realloc(q->rel, (n + 1) * sizeof *rel) : NULL;
    q->rel = rel ? rel : q->rel;
    if (!rel)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const double x = ox_tensor_get_double(a, i), y = ox_tensor_get_double(b, i);
        const bool same = x == y || (isnan(x) && isnan(y));
        const double d = same ? 0 : fabs(x - y);
        q->abs[q->n + i] = d;
        q->rel[q->n + i] = same ? 0 : d / fabs(y);
    }
    q->n = n;
    return true;
}

void ox_quantiles_release(struct ox_quantiles *q)
{
    free(q->abs);
    free(q->rel);
    *q = (struct ox_quantiles){NULL, NULL, 0};
}

static void swap(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/* Puts the k-th least at place k, what is not larger before it, what is not less behind it (Hoare's FIND, CACM 1961). */
static void place_kth(double *values, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        const double pivot = values[k];
        size_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i > j)
                break;
            swap(&values[i++], &values[j]);
            if (j == 0)
                break;
            j--;
        }
        if (j < k)
            low = i;
        if (k < i)
            high = j;
    }
}

double ox_quantile(double *values, size_t n, double share)
{
    const double at = share * (double)(n - 1);
    size_t k = (size_t)at < n ? (size_t)at : n - 1;
    place_kth(values, n, k);
    const double between = at - (double)k;
    if (k + 1 == n || !(between > 0))
        return values[k];
    double next = values[k + 1];
    for (size_t i = k + 2; i < n; i++)
        next = values[i] < next ? values[i] : next;
    return isinf(next) ? next : values[k] + between * (next - values[k]);
}
