/* Adds the blocks of one channel to its image, stamped a type: in is [block elements, blocks]. */

/* n elements, into places that lie `step` apart. */
static void N(col2im_row)(size_t n, const T *restrict from, size_t step, T *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        T *at = to + i * step;
#if defined(T_BOOL)
        *at |= from[i];
#elif defined(T_FLOAT)
        *at += from[i];
#else
        *at = (T)((W)*at + (W)from[i]);
#endif
    }
}

static void N(col2im)(const struct blocks *b, const void *in, void *out)
{
    const unsigned last = b->rank - 1;
    int64_t within[OX_MOVE_RANK] = {0}, at[OX_MOVE_RANK] = {0}, place;
    const T *from = in;

    for (size_t k = 0; k < b->n_block; k++) {
        const struct span span = block_span(b, within[last]);

        for (size_t n = 0; n < b->n_count; n += (size_t)b->count[last]) {
            if (span.n > 0 && block_line(b, within, at, &place)) {
                T *to = (T *)out + place + span.to;

                if (b->stride[last] == 1)
                    N(col2im_row)(span.n, from + span.from, 1, to);
                else
                    N(col2im_row)(span.n, from + span.from, (size_t)b->stride[last], to);
            }
            from += b->count[last];
            block_next(last, b->count, at);
        }
        block_next(b->rank, b->block, within);
    }
}
