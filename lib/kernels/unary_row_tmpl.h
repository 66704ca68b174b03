/* y = f(x) over a row in plain C: FN names the function, OP(x) its form, in which `a` and `b` are the parameters. */
static void FN(size_t n, const float *x, float *y, float a, float b)
{
    (void)a;
    (void)b;
    for (size_t i = 0; i < n; i++)
        y[i] = OP(x[i]);
}
#undef FN
#undef OP
