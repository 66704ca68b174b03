/* Updates merged into places of the output, stamped a type: block i of `updates` into block place[i] of `out`. */

#ifdef T_FLOAT
#define SCATTER_ADD(a, b) ((a) + (b))
#define SCATTER_MUL(a, b) ((a) * (b))
/* NaN stays. */
#define SCATTER_MAX(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define SCATTER_MIN(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#else
#define SCATTER_ADD(a, b) ((T)((W)(a) + (W)(b)))
#define SCATTER_MUL(a, b) ((T)((W)(a) * (W)(b)))
#define SCATTER_MAX(a, b) ((a) > (b) ? (a) : (b))
#define SCATTER_MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

static void N(scatter_add)(void *out, const void *updates, const int64_t *place, size_t n,
                           size_t block)
{
    const T *from = updates;

    for (size_t i = 0; i < n; i++) {
        T *to = (T *)out + (size_t)place[i] * block;

        for (size_t k = 0; k < block; k++, from++)
            to[k] = SCATTER_ADD(to[k], *from);
    }
}

static void N(scatter_mul)(void *out, const void *updates, const int64_t *place, size_t n,
                           size_t block)
{
    const T *from = updates;

    for (size_t i = 0; i < n; i++) {
        T *to = (T *)out + (size_t)place[i] * block;

        for (size_t k = 0; k < block; k++, from++)
            to[k] = SCATTER_MUL(to[k], *from);
    }
}

static void N(scatter_max)(void *out, const void *updates, const int64_t *place, size_t n,
                           size_t block)
{
    const T *from = updates;

    for (size_t i = 0; i < n; i++) {
        T *to = (T *)out + (size_t)place[i] * block;

        for (size_t k = 0; k < block; k++, from++)
            to[k] = SCATTER_MAX(to[k], *from);
    }
}

static void N(scatter_min)(void *out, const void *updates, const int64_t *place, size_t n,
                           size_t block)
{
    const T *from = updates;

    for (size_t i = 0; i < n; i++) {
        T *to = (T *)out + (size_t)place[i] * block;

        for (size_t k = 0; k < block; k++, from++)
            to[k] = SCATTER_MIN(to[k], *from);
    }
}

#undef SCATTER_ADD
#undef SCATTER_MUL
#undef SCATTER_MAX
#undef SCATTER_MIN
