/* Stamped by matmul.c: y = alpha y + beta C. T: element; integers come as their unsigned type, with SIGNED beside. */

static void NAME(add_c)(struct ox_tensor *y, const struct spread *s, float alpha, float beta)
{
    T *out = y->data;
    const T *c = s->c ? s->c->data : NULL;
    size_t m = (size_t)y->dims[0], n = (size_t)y->dims[1];
    for (size_t i = 0; i < m; i++, out += n) {
        const T *row = c ? c + i * s->row : NULL;
#ifdef SIGNED
        if (alpha != 1 || (c && beta != 1)) {
            bool is_signed = ox_dtype_is_signed(y->dtype);
            for (size_t j = 0; j < n; j++) {
                T term = c ? row[j * s->col] : 0;
                double left = is_signed ? (double)(SIGNED)out[j] : (double)out[j];
                double right = is_signed ? (double)(SIGNED)term : (double)term;
                out[j] = (T)scale_int((double)alpha * left + (double)beta * right);
            }
        } else if (c) {
            for (size_t j = 0; j < n; j++)
                out[j] += row[j * s->col];
        }
#else
        if (alpha != 1)
            for (size_t j = 0; j < n; j++)
                out[j] *= (T)alpha;
        if (c && s->col == 1)
            for (size_t j = 0; j < n; j++)
                out[j] += (T)beta * row[j];
        else
            for (size_t j = 0; c && j < n; j++)
                out[j] += (T)beta * row[j * s->col];
#endif
    }
}
