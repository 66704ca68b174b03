/* Products of one to four rows by weights as they lie. Stamped for each vector width. */

/* Columns [j, j + vecs vectors), the last vector cut to `left` lanes where
 * `some`. */
INLINE void stream_part(const struct ox_stream *s, const unsigned rows, const unsigned depth,
                        float (*a)[8], const unsigned vecs, size_t j, bool some, size_t left)
{
    VF sum[4][4]; /* from zero: a long sum in parts rounds less */
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++) {
            sum[i][v] = v_zero();
        }
    }
#pragma GCC unroll 8
    for (unsigned p = 0; p < depth; p++) {
        const float *b = s->b + p * s->ldb + j;
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v += LINE / VW)
            __builtin_prefetch(b + v * VW + s->ahead, 0, 3);
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++) {
            const VF x = some ? v_load_n(b + v * VW, left) : v_load(b + v * VW);
#pragma GCC unroll 4
            for (unsigned i = 0; i < rows; i++)
                sum[i][v] = v_fma(v_set1(a[i][p]), x, sum[i][v]);
        }
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (unsigned v = 0; v < vecs; v++) {
            float *c = s->c + i * s->ldc + j + v * VW;
            if (some)
                v_store_n(c, v_add(v_load_n(c, left), sum[i][v]), left);
            else
                v_store(c, v_add(v_load(c), sum[i][v]));
        }
    }
}

INLINE void stream_rows(const struct ox_stream *s, const unsigned rows, const unsigned depth)
{
    const unsigned vecs = rows > 2 ? 2 : 4;
    float a[4][8];
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned p = 0; p < depth; p++)
            a[i][p] = s->a[i * s->lda + p * s->a_step];
    }
    size_t j = 0;
    for (; j + vecs * VW <= s->n; j += vecs * VW)
        stream_part(s, rows, depth, a, vecs, j, false, VW);
    for (; j + VW <= s->n; j += VW)
        stream_part(s, rows, depth, a, 1, j, false, VW);
    if (j < s->n)
        stream_part(s, rows, depth, a, 1, j, true, s->n - j);
}

static void stream(const struct ox_stream *s)
{
    if (s->depth < 8) {
        for (unsigned i = 0; i < s->rows; i++) {
            struct ox_stream row = *s;
            row.a += i * s->lda;
            row.c += i * s->ldc;
            stream_rows(&row, 1, s->depth);
        }
    } else if (s->rows == 1) {
        stream_rows(s, 1, 8);
    } else if (s->rows == 2) {
        stream_rows(s, 2, 8);
    } else if (s->rows == 3) {
        stream_rows(s, 3, 8);
    } else {
        stream_rows(s, 4, 8);
    }
}

INLINE void dot_block(size_t k, const unsigned rows, const unsigned cols, const float *a,
                      size_t lda, const float *b, size_t ldb, float *c, size_t ldc)
{
    VF sum[4][8];
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
#pragma GCC unroll 8
        for (unsigned j = 0; j < cols; j++)
            sum[i][j] = v_zero();
    }
    size_t p = 0;
    for (; p + VW <= k; p += VW) {
        VF x[4];
        if (p % LINE == 0) { /* the rows' ends, then those that come next */
            const float *far = b + p + FAR + (p + FAR < k ? 0 : cols * ldb - k);
#pragma GCC unroll 8
            for (unsigned j = 0; j < cols; j++)
                __builtin_prefetch(far + j * ldb, 0, 3);
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < rows; i++)
            x[i] = v_load(a + i * lda + p);
#pragma GCC unroll 8
        for (unsigned j = 0; j < cols; j++) {
            const VF y = v_load(b + j * ldb + p);
#pragma GCC unroll 4
            for (unsigned i = 0; i < rows; i++)
                sum[i][j] = v_fma(x[i], y, sum[i][j]);
        }
    }
    const size_t m = k - p;
    for (unsigned i = 0; i < rows && m > 0; i++) {
        const VF x = v_load_n(a + i * lda + p, m);
#pragma GCC unroll 8
        for (unsigned j = 0; j < cols; j++)
            sum[i][j] = v_fma(x, v_load_n(b + j * ldb + p, m), sum[i][j]);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < rows; i++) {
        if (cols == 8) {
            v_sum_8(sum[i], c + i * ldc);
            continue;
        }
#pragma GCC unroll 4
        for (unsigned j = 0; j < cols; j++)
            c[i * ldc + j] = v_sum(sum[i][j]);
    }
}

INLINE void dot_rows(size_t n, size_t k, const unsigned rows, const unsigned cols, const float *a,
                     size_t lda, const float *b, size_t ldb, float *c, size_t ldc)
{
    size_t j = 0;
    for (; j + cols <= n; j += cols)
        dot_block(k, rows, cols, a, lda, b + j * ldb, ldb, c + j, ldc);
    for (; j < n; j++)
        dot_block(k, rows, 1, a, lda, b + j * ldb, ldb, c + j, ldc);
}

static void dots(size_t n, size_t k, unsigned rows, const float *a, size_t lda, const float *b,
                 size_t ldb, float *c, size_t ldc)
{
    if (rows == 1)
        dot_rows(n, k, 1, 8, a, lda, b, ldb, c, ldc);
    else if (rows == 2)
        dot_rows(n, k, 2, 4, a, lda, b, ldb, c, ldc);
    else if (rows == 3)
        dot_rows(n, k, 3, MR > 6 ? 8 : 4, a, lda, b, ldb, c, ldc);
    else
        dot_rows(n, k, 4, MR > 6 ? 4 : 2, a, lda, b, ldb, c, ldc);
}
