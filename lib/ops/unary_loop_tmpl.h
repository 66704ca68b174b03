/* A kernel of one operand: FN its name, TI and TO the element types, OP(x) the expression (which may use `arg`). */
static void FN(const struct ox_row *row, const void *arg)
{
    const TI *in = row->in[0];
    TO *out = row->out;
    const size_t n = row->n;
    (void)arg;
#ifdef SETUP
    SETUP
#endif
    for (size_t i = 0; i < n; i++)
        out[i] = (TO)(OP(in[i]));
}
#undef FN
#undef OP
#undef SETUP
