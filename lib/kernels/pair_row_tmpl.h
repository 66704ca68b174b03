/* FN: y = OP(a, b) over a row; T the operands, TO the result. */
static void FN(size_t n, const void *left, size_t a_step, const void *right, size_t b_step,
               void *to)
{
    TO *restrict y = to;
    const T *a = left, *b = right;
    if (a_step && b_step) {
        for (size_t i = 0; i < n; i++)
            y[i] = OP(a[i], b[i]);
    } else if (a_step) {
        const T one = *b;
        for (size_t i = 0; i < n; i++)
            y[i] = OP(a[i], one);
    } else if (b_step) {
        const T one = *a;
        for (size_t i = 0; i < n; i++)
            y[i] = OP(one, b[i]);
    } else {
        const TO value = OP(*a, *b);
        for (size_t i = 0; i < n; i++)
            y[i] = value;
    }
}
#undef FN
#undef T
#undef TO
#undef OP
