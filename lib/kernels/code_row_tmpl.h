/* FN(name) the functions, T the type of the codes, LOW and HIGH its limits. */
static void FN(quantize)(size_t n, const float *x, size_t step, const float *scale,
                         const int32_t *zero, void *to)
{
    T *restrict y = to;
    const float by = scale[0];
    const int32_t more = zero[0];
    for (size_t i = 0; i < n && !step; i++)
        y[i] = (T)nearest_code(x[i], by, more, LOW, HIGH);
    for (size_t i = 0; i < n && step; i++)
        y[i] = (T)nearest_code(x[i], scale[i], zero[i], LOW, HIGH);
}

static void FN(dequantize)(size_t n, const void *from, size_t step, const float *scale,
                           const int32_t *zero, float *restrict y)
{
    const T *x = from;
    const float by = scale[0];
    const int32_t less = zero[0];
    for (size_t i = 0; i < n && !step; i++)
        y[i] = (float)(x[i] - less) * by;
    for (size_t i = 0; i < n && step; i++)
        y[i] = (float)(x[i] - zero[i]) * scale[i];
}
#undef FN
#undef T
#undef LOW
#undef HIGH
