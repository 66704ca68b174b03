/* GridSample of a float type: taps of places side by side, then the sums of a channel. T is the type. */
/* Tap k of place i stands at k * some + i. */
struct N(taps) {
    int64_t offset[TAPS]; /* -1: outside */
    T weight[TAPS];
    bool inside; /* all of them */
};

static void N(set_tap)(struct N(taps) * t, size_t at, int64_t offset, double weight)
{
    t->offset[at] = offset;
    t->weight[at] = (T)weight;
    t->inside &= offset >= 0;
}

/* Of place i; two axes, which most have, without a detour. */
static void N(find_place)(const struct plane *p, const struct grid_axis *axes, size_t i,
                          struct N(taps) * t)
{
    int64_t offset[TAPS_MOST];
    double weight[TAPS_MOST];
    if (p->g->n_axes == 2) {
        const struct grid_axis *rows = &axes[0], *columns = &axes[1];
        for (unsigned k = 0; k < rows->n; k++)
            for (unsigned c = 0; c < columns->n; c++, i += p->some) {
                const bool outside = rows->index[k] < 0 || columns->index[c] < 0;
                const int64_t at = rows->index[k] * p->g->strides[0] + columns->index[c];
                N(set_tap)(t, i, outside ? -1 : at, rows->weight[k] * columns->weight[c]);
            }
        return;
    }
    grid_taps(p->g, axes, offset, weight);
    for (size_t k = 0; k < p->taps; k++, i += p->some)
        N(set_tap)(t, i, offset[k], weight[k]);
}

/* Place i of two axes by its four neighbours; false where one is missing. */
static inline bool N(find_four)(const struct plane *p, const T *at, size_t i, struct N(taps) * t)
{
    enum { NEXT = TAPS / 4 };
    int64_t row, column;
    double down, right;
    if (!between(p->g, (double)at[1], 0, 0, 1, &row, &down) ||
        !between(p->g, (double)at[0], 1, 0, 1, &column, &right))
        return false;
    int64_t *offset = t->offset + i;
    T *weight = t->weight + i;
    const double up = 1 - down, left = 1 - right;
    offset[0] = row * p->g->strides[0] + column;
    offset[NEXT] = offset[0] + 1;
    offset[2 * NEXT] = offset[0] + p->g->strides[0];
    offset[3 * NEXT] = offset[2 * NEXT] + 1;
    weight[0] = (T)(up * left);
    weight[NEXT] = (T)(up * right);
    weight[2 * NEXT] = (T)(down * left);
    weight[3 * NEXT] = (T)(down * right);
    return true;
}

/* Place i of two axes by the element nearest to it; false where grid_place() must say. */
static inline bool N(find_nearest)(const struct plane *p, const T *at, size_t i, struct N(taps) * t)
{
    int64_t row, column;
    if (!nearest(p->g, (double)at[1], 0, &row) || !nearest(p->g, (double)at[0], 1, &column))
        return false;
    t->offset[i] = row < 0 || column < 0 ? -1 : row * p->g->strides[0] + column;
    return true;
}

/* Place i of two axes by its sixteen neighbours; false where one is missing. */
static inline bool N(find_sixteen)(const struct plane *p, const T *at, size_t i, struct N(taps) * t)
{
    enum { NEXT = TAPS / (GRID_TAPS * GRID_TAPS) };
    int64_t row, column;
    double y, x, down[GRID_TAPS], right[GRID_TAPS];
    if (!between(p->g, (double)at[1], 0, 1, 2, &row, &y) ||
        !between(p->g, (double)at[0], 1, 1, 2, &column, &x))
        return false;
    cubic_weights(y, down);
    cubic_weights(x, right);
    int64_t *offset = t->offset + i;
    T *weight = t->weight + i;
    for (int k = 0; k < GRID_TAPS; k++) {
        const int64_t first = (row - 1 + k) * p->g->strides[0] + column - 1;
        for (int c = 0; c < GRID_TAPS; c++, offset += NEXT, weight += NEXT) {
            *offset = first + c;
            *weight = (T)(down[k] * right[c]);
        }
    }
    return true;
}

static void N(find_taps)(const struct plane *p, const struct stretch *s, struct N(taps) * t)
{
    const unsigned n_axes = p->g->n_axes;
    const T *at = (const T *)p->at + (s->image * p->places + s->first) * n_axes;
    const enum grid_mode mode = p->g->mode;
    t->inside = true;
    for (size_t i = 0; i < s->n; i++, at += n_axes) {
        struct grid_axis axes[GRID_AXES];
        if (n_axes == 2 && (mode == GRID_LINEAR    ? N(find_four)(p, at, i, t)
                            : mode == GRID_NEAREST ? N(find_nearest)(p, at, i, t)
                                                   : N(find_sixteen)(p, at, i, t)))
            continue;
        for (unsigned k = 0; k < n_axes; k++)
            grid_place(p->g, (double)at[n_axes - 1 - k], k, &axes[k]);
        N(find_place)(p, axes, i, t);
    }
}

/* y (+)= of four taps of each place, all inside. */
static inline void N(sum_four)(const T *restrict x, const int64_t *restrict offset,
                               const T *restrict weight, size_t some, size_t n, bool add,
                               T *restrict y)
{
    const int64_t *o[4] = {offset, offset + some, offset + 2 * some, offset + 3 * some};
    const T *w[4] = {weight, weight + some, weight + 2 * some, weight + 3 * some};
    for (size_t i = 0; i < n; i++) {
        const T sum = w[0][i] * x[o[0][i]] + w[1][i] * x[o[1][i]] +
                      (w[2][i] * x[o[2][i]] + w[3][i] * x[o[3][i]]);
        y[i] = add ? y[i] + sum : sum;
    }
}

/* ... of as many as there are, up to four, in any place. */
static inline void N(sum_some)(const T *x, const int64_t *offset, const T *weight, size_t some,
                               size_t n, size_t taps, bool add, T *y)
{
    for (size_t i = 0; i < n; i++) {
        T part[4] = {0};
        for (size_t k = 0; k < taps; k++) {
            const int64_t at = offset[k * some + i];
            part[k] = at < 0 ? 0 : weight[k * some + i] * x[at];
        }
        const T sum = part[0] + part[1] + (part[2] + part[3]);
        y[i] = add ? y[i] + sum : sum;
    }
}

static void N(summed_task)(void *arg, size_t from, size_t to)
{
    const struct plane *p = arg;
    struct N(taps) t;
    for (size_t unit = from; unit < to; unit++) {
        const struct stretch s = stretch_of(p, unit);
        N(find_taps)(p, &s, &t);
        const size_t step = p->taps < 4 ? p->taps : 4;
        for (size_t c = s.image * p->channels; c < (s.image + 1) * p->channels; c++) {
            const T *x = (const T *)p->x + c * p->area;
            T *y = (T *)p->y + c * p->places + s.first;
            for (size_t k = 0; k < p->taps; k += step) {
                const int64_t *offset = t.offset + k * p->some;
                const T *weight = t.weight + k * p->some;
                if (t.inside && p->taps == 4)
                    N(sum_four)(x, offset, weight, TAPS / 4, s.n, false, y);
                else if (t.inside && step == 4)
                    N(sum_four)(x, offset, weight, p->some, s.n, k > 0, y);
                else if (step == 4)
                    N(sum_some)(x, offset, weight, p->some, s.n, 4, k > 0, y);
                else
                    N(sum_some)(x, offset, weight, p->some, s.n, step, k > 0, y);
            }
        }
    }
}

static void N(nearest_task)(void *arg, size_t from, size_t to)
{
    const struct plane *p = arg;
    struct N(taps) t;
    for (size_t unit = from; unit < to; unit++) {
        const struct stretch s = stretch_of(p, unit);
        N(find_taps)(p, &s, &t);
        for (size_t c = s.image * p->channels; c < (s.image + 1) * p->channels; c++) {
            const T *x = (const T *)p->x + c * p->area;
            T *y = (T *)p->y + c * p->places + s.first;
            for (size_t i = 0; i < s.n; i++)
                y[i] = t.offset[i] < 0 ? 0 : x[t.offset[i]];
        }
    }
}
