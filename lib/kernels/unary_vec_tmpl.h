/* y = f(x) over a row: FN names the function, OP(x) its vector form, in which `a` and `b` are the parameters' vectors. */
static void FN(size_t n, const float *x, float *y, float first, float second)
{
    const VF a OX_UNUSED = v_set1(first), b OX_UNUSED = v_set1(second);
    size_t i = 0;
    for (; i + VW <= n; i += VW) {
        VF v = v_load(x + i);
        v_store(y + i, OP(v));
    }
    if (i < n) {
        VF v = v_load_n(x + i, n - i);
        v_store_n(y + i, OP(v), n - i);
    }
}
#undef FN
#undef OP
