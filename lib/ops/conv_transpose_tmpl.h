/* Stamped for float and double (ops/stamp_floats.h). */

/* n elements, to places `stride` apart. */
static inline void N(add_spread)(size_t n, const T *restrict from, size_t stride, T *restrict to)
{
    if (stride == 1)
        for (size_t i = 0; i < n; i++)
            to[i] += from[i];
    else if (stride == 2)
        for (size_t i = 0; i < n; i++)
            to[2 * i] += from[i];
    else
        for (size_t i = 0; i < n; i++)
            to[i * stride] += from[i];
}

/* What each pixel of a line of the input gives to a line of the output under the taps of a row of the kernel, of all channels. */
static void N(add_line)(const struct transpose *tr, const struct part *part, size_t channels,
                        const T *columns, T *y)
{
    const struct ox_window *w = &tr->w;
    const unsigned last = w->n - 1;
    const size_t taps = (size_t)w->kernel[last], stride = (size_t)w->stride[last];
    for (size_t m = 0; m < channels; m++)
        for (size_t q = 0; q < taps; q++) {
            const struct reach *r = &tr->reach[q];
            const size_t from = part->x > r->first ? part->x : r->first;
            const size_t end = part->x + part->width < r->end ? part->x + part->width : r->end;
            if (from < end)
                N(add_spread)
            (end - from, columns + (m * w->taps + q) * PIXELS + from - part->x, stride,
             y + m * w->n_out + (size_t)((int64_t)(from * stride) + r->offset));
        }
}

/* The same of all lines of a part. */
static void N(add_part)(const struct transpose *tr, const struct part *part, size_t channels,
                        const T *columns, T *y)
{
    const struct ox_window *w = &tr->w;
    const unsigned last = w->n - 1;
    const size_t row = (size_t)w->kernel[last];
    for (size_t tap = 0; tap < w->taps; tap += row) {
        int64_t at[OX_WINDOW_AXES], under[OX_WINDOW_AXES];
        size_t rest = tap / row, line = part->line;
        for (unsigned d = last; d-- > 0;) {
            under[d] = (int64_t)(rest % (size_t)w->kernel[d]) * w->dilation[d] - w->before[d];
            rest /= (size_t)w->kernel[d];
            at[d] = (int64_t)(line % (size_t)w->in[d]);
            line /= (size_t)w->in[d];
        }
        for (size_t i = 0; i < part->lines; i++) {
            size_t to = 0;
            bool inside = true;
            for (unsigned d = 0; d < last; d++) {
                const int64_t place = at[d] * w->stride[d] + under[d];
                inside &= place >= 0 && place < w->out[d];
                to = to * (size_t)w->out[d] + (size_t)place;
            }
            for (unsigned d = last; d-- > 0 && ++at[d] == w->in[d];)
                at[d] = 0;
            if (inside)
                N(add_line)
            (tr, part, channels, columns + tap * PIXELS + i * part->width,
             y + to * (size_t)w->out[last]);
        }
    }
}

static void N(transpose_block)(const struct transpose *tr, size_t image, size_t group,
                               size_t channel, size_t channels, T *work, T *columns)
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
    struct part part;
    for (size_t pixel = 0; pixel < w->n_in; pixel += part.lines * part.width) {
        part = part_at(w, pixel);
        N(ox_gemm_run)
        (N(ox_gemm)(), way, rows, part.lines * part.width, tr->in_group, weights, 1, weights_row,
         x + pixel, w->n_in, 1, columns, PIXELS, false, work);
        N(add_part)(tr, &part, channels, columns, y);
    }
}
