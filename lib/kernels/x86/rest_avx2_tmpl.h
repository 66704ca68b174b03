/* FN: remainders of rows of T, a block at a time; those of a block with numbers out of bounds by the C library, REST_OF_ANY. */
static void FN(size_t n, const void *left, size_t a_step, const void *right, size_t b_step,
               void *to)
{
    const T *a = left, *b = right;
    T *restrict y = to, x[RESTS], by[RESTS];
    for (size_t at = 0, some; at < n; at += some) {
        int64_t odd = 0;
        some = n - at < RESTS ? n - at : RESTS;
        for (size_t i = 0; i < some; i++) {
            x[i] = a[(at + i) * a_step];
            by[i] = b[(at + i) * b_step];
        }
        for (size_t i = 0; i < some; i++)
            y[at + i] = (T)rest_of((double)x[i], (double)by[i], &odd);
        for (size_t i = 0; odd && i < some; i++)
            y[at + i] = REST_OF_ANY(x[i], by[i]);
    }
}
#undef FN
#undef T
#undef REST_OF_ANY
