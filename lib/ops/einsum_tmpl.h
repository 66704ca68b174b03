/* Stamped by einsum.c: T is float, double or uint64_t. out, contiguous over `order`: the sum of an operand over the labels that
 * are not in it. */

static void NAME(gather)(const struct walk *outer, const struct walk *inner, const void *data,
                         void *result)
{
    const T *from = data;
    T *out = result;
    size_t at[MOST_LABELS] = {0}, in[MOST_LABELS] = {0}, offset = 0;
    for (size_t i = 0; i < outer->count; i++) {
        T sum = 0;
        size_t place = offset;
        for (size_t k = 0; k < inner->count; k++) {
            sum += from[place];
            walk_next(inner, in, &place);
        }
        out[i] = sum;
        walk_next(outer, at, &offset);
    }
}
