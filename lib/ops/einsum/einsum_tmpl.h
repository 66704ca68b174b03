/* Stamped by einsum_gather.c: T is float, double, uint32_t or uint64_t. out, contiguous over `order`: the sum of an operand over the labels that
 * are not in it. */

static void NAME(gather)(const struct walk *outer, const struct walk *inner, const void *data,
                         void *result)
{
    const T *from = data;
    T *out = result;
    size_t at[OX_EINSUM_LABELS] = {0}, in[OX_EINSUM_LABELS] = {0}, offset = 0;
    struct walk blocks = *outer;
    size_t lanes = 1; /* neighbours that are summed side by side, each in the same order as alone */
    if (outer->n && outer->stride[outer->n - 1] == 1)
        lanes = outer->size[--blocks.n];
    for (size_t i = 0; i < outer->count; i += lanes) {
        T *to = out + i;
        size_t place = offset;
        for (size_t j = 0; j < lanes; j++)
            to[j] = 0;
        for (size_t k = 0; k < inner->count; k++) {
            for (size_t j = 0; j < lanes; j++)
                to[j] += from[place + j];
            walk_next(inner, in, &place);
        }
        walk_next(&blocks, at, &offset);
    }
}
