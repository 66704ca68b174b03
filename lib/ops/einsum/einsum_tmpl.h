/* Stamped by einsum_gather.c: T is float, double, uint32_t or uint64_t. out, contiguous over `order`: the sum of an operand over the labels that
 * are not in it. */

/* What lies `step` apart, of neighbours `across` apart, is added to m sums. */
static inline void NAME(add_across)(T *sums, size_t m, size_t across, const T *from, size_t steps,
                                    size_t step)
{
    for (size_t s = 0; s < steps; s++, from += step)
        for (size_t j = 0; j < m; j++)
            sums[j] += from[j * across];
}

static void NAME(gather)(const struct walk *outer, const struct walk *inner, const void *data,
                         void *result)
{
    const T *from = data;
    T *out = result;
    size_t at[OX_EINSUM_LABELS] = {0}, in[OX_EINSUM_LABELS] = {0}, offset = 0;
    struct walk blocks = *outer;
    size_t lanes = 1, across = 1; /* summed side by side, each in the same order as alone */
    if (outer->n) {
        lanes = outer->size[--blocks.n];
        across = outer->stride[blocks.n];
    }
    struct walk rest = *inner; /* but for the last label, which needs no walk */
    const size_t steps = rest.n ? rest.size[--rest.n] : 1,
                 step = rest.n < inner->n ? rest.stride[rest.n] : 0;
    const size_t turns = steps ? inner->count / steps : 0;
    for (size_t i = 0; i < outer->count; i += lanes) {
        T *to = out + i;
        for (size_t j = 0; j < lanes; j++)
            to[j] = 0;
        for (size_t first = 0, some; first < lanes; first += some) {
            T sums[ABREAST] = {0};
            some = across == 1 || lanes - first < ABREAST ? lanes - first : ABREAST;
            size_t place = offset + first * across;
            for (size_t k = 0; k < turns; k++) {
                if (across == 1)
                    NAME(add_across)(to, some, 1, from + place, steps, step);
                else if (some == ABREAST)
                    NAME(add_across)(sums, ABREAST, across, from + place, steps, step);
                else
                    NAME(add_across)(sums, some, across, from + place, steps, step);
                walk_next(&rest, in, &place);
            }
            if (across != 1)
                memcpy(to + first, sums, some * sizeof *to);
        }
        walk_next(&blocks, at, &offset);
    }
}
