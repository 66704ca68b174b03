/* Strided copies of elements of MOVE_SIZE bytes; included once a size. memcpy of a constant size is a load and a store
 * that neither alignment nor aliasing rules can break. */

static void MOVE_NAME(move_row)(char *dst, int64_t to, const char *src, int64_t from, int64_t n)
{
    if (to == MOVE_SIZE && from == 0) {
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * MOVE_SIZE, src, MOVE_SIZE);
    } else if (to == MOVE_SIZE) {
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * MOVE_SIZE, src + i * from, MOVE_SIZE);
    } else {
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * to, src + i * from, MOVE_SIZE);
    }
}

/* A transposition: dst is contiguous along j, src along i. Square blocks keep both sides in the cache. */
static void MOVE_NAME(move_plane)(char *dst, int64_t to_i, const char *src, int64_t from_j,
                                  int64_t n_i, int64_t n_j)
{
    enum { BLOCK = MOVE_SIZE >= 8 ? 16 : 32 };

    for (int64_t i0 = 0; i0 < n_i; i0 += BLOCK) {
        int64_t i1 = i0 + BLOCK < n_i ? i0 + BLOCK : n_i;

        for (int64_t j0 = 0; j0 < n_j; j0 += BLOCK) {
            int64_t j1 = j0 + BLOCK < n_j ? j0 + BLOCK : n_j;

            for (int64_t i = i0; i < i1; i++) {
                char *d = dst + i * to_i;
                const char *s = src + i * MOVE_SIZE;

                for (int64_t j = j0; j < j1; j++)
                    memcpy(d + j * MOVE_SIZE, s + j * from_j, MOVE_SIZE);
            }
        }
    }
}

#undef MOVE_SIZE
#undef MOVE_NAME
