/* FN: y = OP(x) over a row of doubles, which may use a and b; y may be x. */
static void FN(size_t n, const double *x, double *y, double a, double b)
{
    (void)a;
    (void)b;
    for (size_t i = 0; i < n; i++)
        y[i] = OP(x[i]);
}
#undef FN
#undef OP
