/* Stamped by fast_pool_taps.c: T the element, PLACE a number as wide (so that compilers choose both by one mask), NAME(x). */

static inline __attribute__((always_inline)) void
NAME(take)(size_t n, size_t stride, const T *x, size_t at, T *restrict best, PLACE *restrict where)
{
    for (size_t i = 0; i < n; i++) {
        const T v = x[at + i * stride], b = best[i];
        const PLACE was = where[i], here = (PLACE)((int32_t)at + (int32_t)(i * stride));
        const bool better = (v > b) | (b != b);
        best[i] = better ? v : b;
        where[i] = better ? here : was;
    }
}

static inline __attribute__((always_inline)) void NAME(take_value)(size_t n, size_t stride,
                                                                   const T *x, T *restrict best)
{
    for (size_t i = 0; i < n; i++) {
        const T v = x[i * stride], b = best[i];
        best[i] = (v > b) | (b != b) ? v : b;
    }
}

/* One tap of a line of windows, whose elements lie `stride` apart from place `at` on. */
static void NAME(take_tap)(size_t n, size_t stride, const T *x, size_t at, T *best, PLACE *where)
{
    if (where && stride == 1)
        NAME(take)(n, 1, x, at, best, where);
    else if (where && stride == 2)
        NAME(take)(n, 2, x, at, best, where);
    else if (where)
        NAME(take)(n, stride, x, at, best, where);
    else if (stride == 1)
        NAME(take_value)(n, 1, x + at, best);
    else if (stride == 2)
        NAME(take_value)(n, 2, x + at, best);
    else
        NAME(take_value)(n, stride, x + at, best);
}

/* What has no place saw no tap. */
static void NAME(end_line)(size_t n, size_t first, const PLACE *where, T *y, int64_t *places)
{
    for (size_t k = 0; k < n; k++) {
        y[k] = where[k] < 0 ? (T)-INFINITY : y[k];
        places[k] = where[k] < 0 ? -1 : (int64_t)first + (int64_t)where[k];
    }
}

static void NAME(pool_volume)(void *arg, size_t i, size_t slot)
{
    const struct tap_pools *p = arg;
    const struct ox_window *w = p->w;
    const T *volume = (const T *)p->x + i * w->n_in;
    T *y = (T *)p->y + i * w->n_out, *const end = y + w->n_out;
    int64_t *places = p->places ? p->places + i * w->n_out : NULL;
    PLACE *where = places ? (PLACE *)p->work + slot * p->slot : NULL;
    const size_t n = (size_t)w->out[w->n - 1], stride = (size_t)w->stride[w->n - 1];
    struct lines lines = {.w = w};
    for (; y < end; y += n, lines_of_next(&lines)) {
        for (size_t k = 0; k < n; k++)
            y[k] = (T)NAN;
        for (size_t k = 0; where && k < n; k++)
            where[k] = -1;
        for (bool more = lines_first(&lines); more; more = lines_next(&lines))
            for (size_t k = 0; k < p->n_taps; k++) {
                const struct tap *t = &p->taps[k];
                NAME(take_tap)
                (t->n, stride, volume, (size_t)(lines.place + t->at), y + t->from,
                 where ? where + t->from : NULL);
            }
        if (places) {
            NAME(end_line)(n, i * w->n_in, where, y, places);
            places += n;
        }
    }
}
