/* IsNaN, and with signs in `arg` IsInf, of a type T by comparisons alone: vectors. */
static void N(special)(const struct ox_row *row, const void *arg)
{
    const int *signs = arg;
    const T *in = row->in[0];
    uint8_t *out = row->out;
    const size_t n = row->n;
    if (!signs) {
        for (size_t i = 0; i < n; i++)
            out[i] = IS_NAN(in[i]);
        return;
    }
    const T plus = INFINITE, minus = MINUS_INFINITE;
    const T first = *signs & ISINF_POSITIVE ? plus : minus;
    const T second = *signs & ISINF_NEGATIVE ? minus : plus;
    const uint8_t any = *signs != 0;
    for (size_t i = 0; i < n; i++)
        out[i] = any & ((in[i] == first) | (in[i] == second));
}

#undef T
#undef N
#undef IS_NAN
#undef INFINITE
#undef MINUS_INFINITE
