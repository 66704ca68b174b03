/* The functions of turns.h in plain C, which the compiler makes vectors of: compiled for each instruction set. */

static void halves(size_t n, const float *restrict c, const float *restrict s,
                   const float *restrict a, const float *restrict b, float *restrict re,
                   float *restrict im)
{
    for (size_t k = 0; k < n; k++) {
        const double cosine = c[k], sine = s[k], x = a[k], y = b[k];
        re[k] = (float)(cosine * x - sine * y);
        im[k] = (float)(sine * x + cosine * y);
    }
}

static void neighbours(size_t n, const float *restrict c, const float *restrict s,
                       const float *restrict x, float *restrict y)
{
    for (size_t k = 0; k < n; k++) {
        const double cosine = c[k], sine = s[k], a = x[2 * k], b = x[2 * k + 1];
        y[2 * k] = (float)(cosine * a - sine * b);
        y[2 * k + 1] = (float)(sine * a + cosine * b);
    }
}
