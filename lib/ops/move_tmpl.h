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

/* A transposition: dst is contiguous along j, src along i. Squares of about a cache line a side go through a buffer, read by
 * lines and written by lines: where strides share a power of two the lines of a column drive one another out of the cache. */
static void MOVE_NAME(move_plane)(char *dst, int64_t to_i, const char *src, int64_t from_j,
                                  int64_t n_i, int64_t n_j)
{
    enum { BLOCK = MOVE_SIZE <= 4 ? 16 : 8 };
    MOVE_T row[BLOCK], square[BLOCK][BLOCK];

    for (int64_t i0 = 0; i0 < n_i; i0 += BLOCK) {
        int64_t m_i = n_i - i0 < BLOCK ? n_i - i0 : BLOCK;

        for (int64_t j0 = 0; j0 < n_j; j0 += BLOCK) {
            int64_t m_j = n_j - j0 < BLOCK ? n_j - j0 : BLOCK;
            const char *from = src + j0 * from_j + i0 * MOVE_SIZE;
            char *to = dst + i0 * to_i + j0 * MOVE_SIZE;

            if (m_i < BLOCK || m_j < BLOCK) {
                for (int64_t i = 0; i < m_i; i++) {
                    for (int64_t j = 0; j < m_j; j++)
                        memcpy(to + i * to_i + j * MOVE_SIZE, from + j * from_j + i * MOVE_SIZE,
                               MOVE_SIZE);
                }
                continue;
            }
            for (int j = 0; j < BLOCK; j++) {
                memcpy(row, from + j * from_j, sizeof(row));
                for (int i = 0; i < BLOCK; i++)
                    square[i][j] = row[i];
            }
            for (int i = 0; i < BLOCK; i++)
                memcpy(to + i * to_i, square[i], sizeof(square[i]));
        }
    }
}

/* Of each of n_o planes, `to` and `from` bytes apart, n elements. */
static void MOVE_NAME(move_few)(char *dst, int64_t to, const char *src, int64_t from, int64_t n_o,
                                const struct few *few)
{
    for (int64_t o = 0; o < n_o; o++, dst += to, src += from)
        for (unsigned i = 0; i < few->n; i++)
            memcpy(dst + few->to[i], src + few->from[i], MOVE_SIZE);
}

#undef MOVE_T
#undef MOVE_SIZE
#undef MOVE_NAME
