/* y = f(a, b) over a row in plain C, both rows or one of them a single float: FN(form) names the functions, OP(u, v) the
 * form. */
static void FN(both)(size_t n, const float *a, const float *b, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = OP(a[i], b[i]);
}

static void FN(left_one)(size_t n, const float *a, const float *b, float *y)
{
    const float u = *a;
    for (size_t i = 0; i < n; i++)
        y[i] = OP(u, b[i]);
}

static void FN(right_one)(size_t n, const float *a, const float *b, float *y)
{
    const float v = *b;
    for (size_t i = 0; i < n; i++)
        y[i] = OP(a[i], v);
}
#undef FN
#undef OP
