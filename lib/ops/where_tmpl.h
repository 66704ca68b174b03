/* Where for elements of one size: T any type of that size. */
static void FN(const struct ox_row *row, const void *arg)
{
    const uint8_t *condition = row->in[0];
    const T *x = row->in[1], *y = row->in[2];
    T *out = row->out;
    (void)arg;
    if (!row->step[0]) {
        const T *from = condition[0] ? x : y;
        size_t step = row->step[condition[0] ? 1 : 2];
        for (size_t i = 0; i < row->n; i++)
            out[i] = from[i * step];
    } else if (row->step[1] && row->step[2]) {
        for (size_t i = 0; i < row->n; i++)
            out[i] = condition[i] ? x[i] : y[i];
    } else {
        for (size_t i = 0; i < row->n; i++, x += row->step[1], y += row->step[2])
            out[i] = condition[i] ? *x : *y;
    }
}
#undef FN
#undef T
