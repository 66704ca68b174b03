/* Linear Resize of integers by the element: FN(name) its functions, T the type, LOW and HIGH its limits. In doubles, an axis
 * after the other, as the reference kernel does it: the same integers. */

static T FN(nearest_whole)(double value)
{
    const double shift = 6755399441055744.0; /* 3 * 2^51: the last bit of such a number is 1 */
    value = value + shift - shift;
    value = value > LOW ? value : LOW;
    return (T)(value < HIGH ? value : HIGH);
}

static void FN(blend_rows)(const struct whole_planes *p, const T *plane, size_t y, double *line)
{
    const size_t n = p->v.in[1] * p->v.inner;
    const T *a = plane + (size_t)p->rows.at[2 * y] * n;
    const T *b = plane + (size_t)p->rows.at[2 * y + 1] * n;
    const double f = p->rows.weight[2 * y], g = p->rows.weight[2 * y + 1];
    for (size_t i = 0; i < n; i++)
        line[i] = f * a[i] + g * b[i];
}

/* One element of a place, its neighbours by `inner` elements apart. */
static void FN(blend_columns)(const struct whole_planes *p, const double *line, T *restrict out)
{
    const int64_t *at = p->cols.at;
    const double *weight = p->cols.weight;
    for (size_t x = 0; x < p->v.out[1]; x++)
        out[x] = FN(nearest_whole)(weight[2 * x] * line[at[2 * x]] +
                                   weight[2 * x + 1] * line[at[2 * x + 1]]);
}

static inline __attribute__((always_inline)) void
FN(blend_places)(const struct whole_planes *p, const double *line, size_t inner, T *restrict out)
{
    for (size_t x = 0; x < p->v.out[1]; x++, out += inner) {
        const double *a = line + (size_t)p->cols.at[2 * x] * inner;
        const double *b = line + (size_t)p->cols.at[2 * x + 1] * inner;
        const double f = p->cols.weight[2 * x], g = p->cols.weight[2 * x + 1];
        for (size_t i = 0; i < inner; i++)
            out[i] = FN(nearest_whole)(f * a[i] + g * b[i]);
    }
}

static void FN(resize_row)(void *arg, size_t i, size_t slot)
{
    const struct whole_planes *p = arg;
    const size_t inner = p->v.inner, plane = i / p->v.out[0], y = i % p->v.out[0];
    double *line = p->work + slot * p->v.in[1] * inner;
    T *out = (T *)p->y + i * p->v.out[1] * inner;
    FN(blend_rows)(p, (const T *)p->x + plane * p->v.in[0] * p->v.in[1] * inner, y, line);
    if (inner == 1)
        FN(blend_columns)(p, line, out);
    else if (inner == 3)
        FN(blend_places)(p, line, 3, out);
    else
        FN(blend_places)(p, line, inner, out);
}
#undef FN
#undef T
#undef LOW
#undef HIGH
