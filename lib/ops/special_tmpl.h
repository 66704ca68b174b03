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
    const T one = *signs == ISINF_NEGATIVE ? MINUS_INFINITE : INFINITE;
    if (*signs == 0)
        memset(out, 0, n);
    else if (*signs != (ISINF_NEGATIVE | ISINF_POSITIVE))
        for (size_t i = 0; i < n; i++)
            out[i] = in[i] == one;
    else
        for (size_t i = 0; i < n; i++)
            out[i] = MAGNITUDE(in[i]) == one;
}

#undef T
#undef N
#undef IS_NAN
#undef INFINITE
#undef MINUS_INFINITE
#undef MAGNITUDE
