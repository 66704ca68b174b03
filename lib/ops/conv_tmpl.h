/* Stamped for float and double (ops/stamp_floats.h).
 *
 * A task is a block of output pixels of one image and group by a block of output channels: the taps under those pixels are
 * packed as the right side of a matrix product, OX_GEMM_KC rows at a time, never as a whole. */

static void N(pack_weights)(const struct ox_plain_conv *cv, T *out)
{
    const struct N(ox_gemm) *g = N(ox_gemm)();
    size_t depth = cv->in_group * cv->w.taps;
    for (size_t group = 0; group < cv->groups; group++) {
        const T *from = (const T *)cv->weights + group * cv->out_group * depth;
        T *to = out + group * cv->packed_group;
        for (size_t kk = 0; kk < depth; kk += OX_GEMM_KC) {
            size_t k = depth - kk < OX_GEMM_KC ? depth - kk : OX_GEMM_KC;
            N(ox_gemm_pack_left)(g->mr, cv->out_group, k, from + kk, depth, 1, to);
            to += ox_gemm_panels(cv->out_group, k, g->mr);
        }
    }
}

/* Packs rows [kk, kk + k) of the matrix of taps for `count` pixels; row p is tap p % taps of channel p / taps. */
static void N(pack_taps)(unsigned nr, const struct ox_plain_conv *cv, const T *x,
                         const ptrdiff_t *table, size_t kk, size_t k, size_t count, T *out)
{
    size_t taps = cv->w.taps;
    for (size_t j = 0; j < count; j += nr) {
        unsigned n = count - j < nr ? (unsigned)(count - j) : nr;
        size_t tap = kk % taps;
        const T *plane = x + kk / taps * cv->w.n_in;
        for (size_t p = 0; p < k; p++, out += nr) {
            const ptrdiff_t *at = table + tap * PIXELS + j;
            if (n == nr && adjacent(at, nr)) {
                memcpy(out, plane + at[0], nr * sizeof *out);
            } else {
                for (unsigned q = 0; q < n; q++)
                    out[q] = at[q] >= 0 ? plane[at[q]] : 0;
                for (unsigned q = n; q < nr; q++)
                    out[q] = 0;
            }
            if (++tap == taps) {
                tap = 0;
                plane += cv->w.n_in;
            }
        }
    }
}

static void N(conv_block)(const struct ox_plain_conv *cv, const struct split *s, size_t image,
                          size_t group, size_t channel, size_t pixel, void *work, ptrdiff_t *table)
{
    const struct N(ox_gemm) *g = N(ox_gemm)();
    size_t depth = cv->in_group * cv->w.taps, n_out = cv->w.n_out;
    size_t count = n_out - pixel < PIXELS ? n_out - pixel : PIXELS;
    size_t rows = cv->out_group - channel < s->rows ? cv->out_group - channel : s->rows;
    size_t first = group * cv->out_group + channel;
    const T *x = (const T *)cv->x + (image * cv->groups + group) * cv->in_group * cv->w.n_in;
    const T *left = (const T *)cv->packed + group * cv->packed_group;
    T *y = (T *)cv->y + (image * cv->groups * cv->out_group + first) * n_out + pixel;
    const T *bias = cv->bias;
    T *right = work;

    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < count; j++)
            y[i * n_out + j] = bias ? bias[first + i] : 0;
    if (!s->pointwise)
        ox_window_table(&cv->w, cv->w.out, cv->w.in, pixel, count, PIXELS, table);
    for (size_t kk = 0; kk < depth; kk += OX_GEMM_KC) {
        size_t k = depth - kk < OX_GEMM_KC ? depth - kk : OX_GEMM_KC;
        if (s->pointwise)
            N(ox_gemm_pack_right)
        (g->nr, k, count, x + kk * cv->w.n_in + pixel, cv->w.n_in, 1, right);
        else N(pack_taps)(g->nr, cv, x, table, kk, k, count, right);
        N(ox_gemm_block)
        (g, rows, count, k, left + channel * k, right, y, n_out, true);
        left += ox_gemm_panels(cv->out_group, k, g->mr);
    }
}

/* Few channels a group: taps one after the other over whole rows of the output. */
static void N(direct_plane)(const struct ox_plain_conv *cv, size_t image, size_t channel)
{
    const struct ox_window *w = &cv->w;
    size_t group = channel / cv->out_group, last = w->n - 1;
    const T *x = (const T *)cv->x + (image * cv->groups + group) * cv->in_group * w->n_in;
    const T *weights = (const T *)cv->weights + channel * cv->in_group * w->taps;
    T *y = (T *)cv->y + (image * cv->groups * cv->out_group + channel) * w->n_out;
    T bias = cv->bias ? ((const T *)cv->bias)[channel] : 0;
    size_t width = (size_t)w->out[last], lines = width ? w->n_out / width : 0;
    int64_t tap[OX_WINDOW_AXES] = {0}, at[OX_WINDOW_AXES];

    for (size_t j = 0; j < w->n_out; j++)
        y[j] = bias;
    for (size_t p = 0; p < cv->in_group * w->taps; p++) {
        int64_t lo, hi;
        ptrdiff_t stride = (ptrdiff_t)w->stride[last];
        line_range(w, tap[last], &lo, &hi);
        const T *plane = x + p / w->taps * w->n_in;
        memset(at, 0, sizeof at);
        for (size_t line = 0; line < lines; line++) {
            ptrdiff_t from;
            if (line_start(w, at, tap, &from)) {
                T *out = y + line * width;
                if (stride == 1)
                    for (ptrdiff_t o = lo; o < hi; o++)
                        out[o] += weights[p] * plane[from + o];
                else
                    for (ptrdiff_t o = lo; o < hi; o++)
                        out[o] += weights[p] * plane[from + o * stride];
            }
            for (unsigned d = (unsigned)last; d-- > 0 && ++at[d] == w->out[d];)
                at[d] = 0;
        }
        for (unsigned d = w->n; d-- > 0 && ++tap[d] == w->kernel[d];)
            tap[d] = 0;
    }
}
