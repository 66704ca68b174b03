/* FN: y = OP(x) over a row of doubles; y may be x. */
static void FN(size_t n, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = OP(x[i]);
}
#undef FN
#undef OP
