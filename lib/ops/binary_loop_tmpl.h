/* A kernel of two operands: FN its name, TA, TB and TO the element types, OP(x, y) the expression. One loop for each way that
 * an operand may be repeated, so that the compiler sees contiguous arrays and constants. */
static void FN(const struct ox_row *row, const void *arg)
{
    const TA *a = row->in[0];
    const TB *b = row->in[1];
    TO *out = row->out;
    const size_t n = row->n;
    (void)arg;
#ifdef SETUP
    SETUP
#endif
    if (row->step[0] && row->step[1]) {
        for (size_t i = 0; i < n; i++)
            out[i] = (TO)(OP(a[i], b[i]));
    } else if (row->step[0]) {
        const TB y = b[0];
        for (size_t i = 0; i < n; i++)
            out[i] = (TO)(OP(a[i], y));
    } else if (row->step[1]) {
        const TA x = a[0];
        for (size_t i = 0; i < n; i++)
            out[i] = (TO)(OP(x, b[i]));
    } else {
        const TO value = (TO)(OP(a[0], b[0]));
        for (size_t i = 0; i < n; i++)
            out[i] = value;
    }
}
#undef FN
#undef OP
#undef SETUP
