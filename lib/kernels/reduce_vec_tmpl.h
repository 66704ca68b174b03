/* A row to one float, in four vectors of partial results: FN names the function, STEP(r, x) takes a vector up, START is the
 * value that changes nothing, END(r) brings the lanes of a vector to one float. `c` is the second argument's vector. */
static float FN(size_t n, const float *x, float centre)
{
    const VF c OX_UNUSED = v_set1(centre);
    const VF start = v_set1(START);
    VF r0 = start, r1 = start, r2 = start, r3 = start;
    size_t i = 0;
    for (; i + 4 * VW <= n; i += 4 * VW) {
        VF x0 = v_load(x + i), x1 = v_load(x + i + VW);
        VF x2 = v_load(x + i + 2 * VW), x3 = v_load(x + i + 3 * VW);
        r0 = STEP(r0, x0);
        r1 = STEP(r1, x1);
        r2 = STEP(r2, x2);
        r3 = STEP(r3, x3);
    }
    for (; i + VW <= n; i += VW) {
        VF x0 = v_load(x + i);
        r0 = STEP(r0, x0);
    }
    if (i < n) {
        VF x1 = v_load_n(x + i, n - i);
        VF taken = STEP(r1, x1);
        r1 = v_first(n - i, taken, r1);
    }
    r0 = JOIN(r0, r1);
    r2 = JOIN(r2, r3);
    r0 = JOIN(r0, r2);
    return END(r0);
}
#undef FN
#undef STEP
#undef START
#undef JOIN
#undef END
