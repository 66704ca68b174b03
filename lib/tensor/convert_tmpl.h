/* One integer type of convert.c: C_TYPE, NAME, WIDE (int64_t or uint64_t), FROM_DOUBLE. No include guard: stamped. */
#define GLUE2(a, b) a##b
#define GLUE(a, b) GLUE2(a, b)

static void GLUE(load_, NAME)(const void *from, size_t n, void *wide)
{
    const C_TYPE *in = from;
    WIDE *out = wide;
    for (size_t i = 0; i < n; i++)
        out[i] = (WIDE)in[i];
}

/* Signed or not, the low bits are the same. */
static void GLUE(store_whole_, NAME)(const void *wide, size_t n, void *to)
{
    const uint64_t *in = wide;
    C_TYPE *out = to;
    for (size_t i = 0; i < n; i++)
        out[i] = (C_TYPE)in[i];
}

static void GLUE(store_real_, NAME)(const void *wide, size_t n, void *to)
{
    const double *in = wide;
    C_TYPE *out = to;
    for (size_t i = 0; i < n; i++)
        out[i] = (C_TYPE)FROM_DOUBLE(in[i]);
}

#undef GLUE
#undef GLUE2
#undef C_TYPE
#undef NAME
#undef WIDE
#undef FROM_DOUBLE
