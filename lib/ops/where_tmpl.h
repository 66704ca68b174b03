/* Where for elements of one size: T any type of that size, PICK() a choice of two that are both read, so that there is no branch. */
static void FN(const struct ox_row *row, const void *arg)
{
    const uint8_t *condition = row->in[0];
    const T *x = row->in[1], *y = row->in[2];
    T *restrict out = row->out;
    (void)arg;
    if (!row->step[0]) {
        const T *from = condition[0] ? x : y;
        size_t step = row->step[condition[0] ? 1 : 2];
        for (size_t i = 0; i < row->n; i++)
            out[i] = from[i * step];
    } else if (row->step[1] && row->step[2]) {
        for (size_t i = 0; i < row->n; i++) {
            const T yes = x[i], no = y[i];
            out[i] = PICK(condition[i], yes, no);
        }
    } else if (row->step[1]) {
        const T no = *y;
        for (size_t i = 0; i < row->n; i++) {
            const T yes = x[i];
            out[i] = PICK(condition[i], yes, no);
        }
    } else if (row->step[2]) {
        const T yes = *x;
        for (size_t i = 0; i < row->n; i++) {
            const T no = y[i];
            out[i] = PICK(condition[i], yes, no);
        }
    } else {
        const T yes = *x, no = *y;
        for (size_t i = 0; i < row->n; i++)
            out[i] = PICK(condition[i], yes, no);
    }
}
#undef FN
#undef T
#undef PICK
