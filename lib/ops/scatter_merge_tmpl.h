/* MERGE: block i of `updates` goes into block place[i] of `out`, element by element, by MERGED(there, new). MERGED_ROW: the same without
 * branches, for long blocks. */
#ifndef MERGED_ROW
#define MERGED_ROW MERGED
#endif
static void MERGE(void *out, const void *updates, const int64_t *place, size_t n, size_t block)
{
    enum { LONG = 16 };
    const T *from = updates;

    for (size_t i = 0; i < n && block < LONG; i++) {
        T *to = (T *)out + (size_t)place[i] * block;

        for (size_t k = 0; k < block; k++, from++)
            to[k] = MERGED(to[k], *from);
    }
    for (size_t i = 0; i < n && block >= LONG; i++, from += block) {
        T *restrict to = (T *)out + (size_t)place[i] * block;
        const T *restrict row = from;

        for (size_t k = 0; k < block; k++)
            to[k] = MERGED_ROW(to[k], row[k]);
    }
}

#undef MERGE
#undef MERGED
#undef MERGED_ROW
