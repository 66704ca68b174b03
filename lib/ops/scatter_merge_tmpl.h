/* MERGE: block i of `updates` goes into block place[i] of `out`, element by element, by MERGED(there, new). */
static void MERGE(void *out, const void *updates, const int64_t *place, size_t n, size_t block)
{
    const T *from = updates;

    for (size_t i = 0; i < n; i++) {
        T *to = (T *)out + (size_t)place[i] * block;

        for (size_t k = 0; k < block; k++, from++)
            to[k] = MERGED(to[k], *from);
    }
}

#undef MERGE
#undef MERGED
