/* y = f(a, b) over a row, both rows or one of them a single float: FN names the function, OP(u, v) its vector form. */
static void OX_JOIN(FN, both)(size_t n, const float *a, const float *b, float *y)
{
    size_t i = 0;
    for (; i + VW <= n; i += VW) {
        VF u = v_load(a + i), v = v_load(b + i);
        v_store(y + i, OP(u, v));
    }
    if (i < n) {
        VF u = v_load_n(a + i, n - i), v = v_load_n(b + i, n - i);
        v_store_n(y + i, OP(u, v), n - i);
    }
}

static void OX_JOIN(FN, left_one)(size_t n, const float *a, const float *b, float *y)
{
    const VF u = v_set1(*a);
    size_t i = 0;
    for (; i + VW <= n; i += VW) {
        VF v = v_load(b + i);
        v_store(y + i, OP(u, v));
    }
    if (i < n) {
        VF v = v_load_n(b + i, n - i);
        v_store_n(y + i, OP(u, v), n - i);
    }
}

static void OX_JOIN(FN, right_one)(size_t n, const float *a, const float *b, float *y)
{
    const VF v = v_set1(*b);
    size_t i = 0;
    for (; i + VW <= n; i += VW) {
        VF u = v_load(a + i);
        v_store(y + i, OP(u, v));
    }
    if (i < n) {
        VF u = v_load_n(a + i, n - i);
        v_store_n(y + i, OP(u, v), n - i);
    }
}
#undef FN
#undef OP
