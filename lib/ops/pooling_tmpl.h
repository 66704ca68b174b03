/* Stamped by pooling.c: T is the element, NAME(x) the includer's. LOWEST: what every value beats. */

static void NAME(max_plane)(const struct pool *p, size_t plane)
{
    const struct ox_window *w = &p->w;
    const T *x = (const T *)p->x + plane * w->n_in;
    T *y = (T *)p->y + plane * w->n_out;
    int64_t *indices = p->indices ? p->indices + plane * w->n_out : NULL;
    struct box box;
    box_start(&box, w);
    for (size_t o = 0; o < w->n_out; o++, box_next(&box)) {
        T best = LOWEST;
        int64_t where = -1;
        for (bool more = box_taps(&box); more; more = box_line(&box)) {
            const T *line = x + box.from;
            for (int64_t t = 0; t < box.length; t++) {
                T v = line[t * box.step];
                /* The first of the largest; NaN only where there is nothing else, as the peers have it. */
                bool better = where < 0 || v > best || IS_NAN(best);
                where = better ? (int64_t)(box.from + t * box.step) : where;
                best = better ? v : best;
            }
        }
        y[o] = best;
        if (indices)
            indices[o] = where < 0 ? -1 : (int64_t)(plane * w->n_in) + place(p, where);
    }
}

#ifndef MAX_ONLY
static void NAME(average_plane)(const struct pool *p, size_t plane)
{
    const struct ox_window *w = &p->w;
    const T *x = (const T *)p->x + plane * w->n_in;
    T *y = (T *)p->y + plane * w->n_out;
    struct box box;
    box_start(&box, w);
    for (size_t o = 0; o < w->n_out; o++, box_next(&box)) {
        double sum = 0, n = 0;
        for (bool more = box_taps(&box); more; more = box_line(&box)) {
            const T *line = x + box.from;
            for (int64_t t = 0; t < box.length; t++)
                sum += (double)line[t * box.step];
            n += (double)box.length;
        }
        if (p->count_padding)
            n = padded_taps(&box);
        y[o] = n > 0 ? (T)(sum / n) : 0;
    }
}

static void NAME(lp_plane)(const struct pool *p, size_t plane)
{
    const struct ox_window *w = &p->w;
    const T *x = (const T *)p->x + plane * w->n_in;
    T *y = (T *)p->y + plane * w->n_out;
    struct box box;
    box_start(&box, w);
    for (size_t o = 0; o < w->n_out; o++, box_next(&box)) {
        double sum = 0;
        for (bool more = box_taps(&box); more; more = box_line(&box)) {
            const T *line = x + box.from;
            for (int64_t t = 0; t < box.length; t++)
                sum += lp_term((double)line[t * box.step], p->p);
        }
        y[o] = (T)lp_root(sum, p->p);
    }
}
#endif
