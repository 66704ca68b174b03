/* Adds the blocks of one channel to its image, stamped a type: in is [block elements, blocks]. */

static void N(col2im)(const struct blocks *b, const void *in, void *out)
{
    int64_t strides[OX_MOVE_RANK], within[OX_MOVE_RANK] = {0}, at[OX_MOVE_RANK] = {0};
    const T *from = in;

    ox_move_strides(b->rank, b->image, strides);
    for (size_t k = 0; k < b->n_block; k++) {
        for (size_t n = 0; n < b->n_count; n++, from++) {
            int64_t place = 0;
            bool inside = true;

            for (unsigned i = 0; i < b->rank; i++) {
                int64_t x = at[i] * b->stride[i] - b->before[i] + within[i] * b->dilation[i];

                inside = inside && x >= 0 && x < b->image[i];
                place += inside ? x * strides[i] : 0;
            }
            if (inside) {
                T *to = (T *)out + place;
#if defined(T_BOOL)
                *to |= *from;
#elif defined(T_FLOAT)
                *to += *from;
#else
                *to = (T)((W)*to + (W)*from);
#endif
            }
            for (unsigned i = b->rank; i-- > 0;) {
                if (++at[i] < b->count[i])
                    break;
                at[i] = 0;
            }
        }
        for (unsigned i = b->rank; i-- > 0;) {
            if (++within[i] < b->block[i])
                break;
            within[i] = 0;
        }
    }
}
