/* Stamped for float and double (ops/stamp_floats.h). */

static void N(transpose_block)(const struct transpose *tr, size_t image, size_t group,
                               size_t channel, size_t channels, T *work, T *columns,
                               ptrdiff_t *table)
{
    const struct ox_window *w = &tr->w;
    size_t rows = channels * w->taps, weights_row = tr->out_group * w->taps;
    const T *x = (const T *)tr->x + (image * tr->groups + group) * tr->in_group * w->n_in;
    const T *weights =
        (const T *)tr->weights + group * tr->in_group * weights_row + channel * w->taps;
    size_t first = group * tr->out_group + channel;
    T *y = (T *)tr->y + (image * tr->groups * tr->out_group + first) * w->n_out;
    for (size_t m = 0; m < channels; m++) {
        T bias = tr->bias ? ((const T *)tr->bias)[first + m] : 0;
        for (size_t j = 0; j < w->n_out; j++)
            y[m * w->n_out + j] = bias;
    }
    const enum ox_gemm_way way =
        ox_gemm_way(tr->out_group * w->taps, w->n_in, tr->in_group, weights_row, w->n_in, 1);
    for (size_t pixel = 0; pixel < w->n_in; pixel += PIXELS) {
        size_t count = w->n_in - pixel < PIXELS ? w->n_in - pixel : PIXELS;
        N(ox_gemm_run)
        (N(ox_gemm)(), way, rows, count, tr->in_group, weights, 1, weights_row, x + pixel, w->n_in,
         1, columns, PIXELS, false, work);
        ox_window_table(w, w->in, w->out, pixel, count, PIXELS, table);
        for (size_t row = 0; row < rows; row++) {
            const ptrdiff_t *at = table + row % w->taps * PIXELS;
            const T *from = columns + row * PIXELS;
            T *to = y + row / w->taps * w->n_out;
            for (size_t j = 0; j < count; j++)
                if (at[j] >= 0)
                    to[at[j]] += from[j];
        }
    }
}
