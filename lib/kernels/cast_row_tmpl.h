/* A cast that needs no thought: FN its name, TX (which stays) and TY the C types, OP(x) the value. */
static void FN(size_t n, const void *from, void *to)
{
    const TX *restrict x = from;
    TY *restrict y = to;
    for (size_t i = 0; i < n; i++)
        y[i] = (TY)(OP(x[i]));
}
#undef FN
#undef TY
#undef OP
