#include <immintrin.h>

#include "kernels/differences.h"

/* Four lanes in registers. */
struct four {
    __m256d abs, rel, squares, aa, bb, ab, max_abs, max_rel, n_rel, n_bad;
};

static inline void load_four(struct four *f, const struct ox_difference_lanes *s, size_t l)
{
    *f = (struct four){_mm256_loadu_pd(s->abs + l),     _mm256_loadu_pd(s->rel + l),
                       _mm256_loadu_pd(s->squares + l), _mm256_loadu_pd(s->aa + l),
                       _mm256_loadu_pd(s->bb + l),      _mm256_loadu_pd(s->ab + l),
                       _mm256_loadu_pd(s->max_abs + l), _mm256_loadu_pd(s->max_rel + l),
                       _mm256_loadu_pd(s->n_rel + l),   _mm256_loadu_pd(s->n_bad + l)};
}

static inline void store_four(const struct four *f, struct ox_difference_lanes *s, size_t l)
{
    _mm256_storeu_pd(s->abs + l, f->abs);
    _mm256_storeu_pd(s->rel + l, f->rel);
    _mm256_storeu_pd(s->squares + l, f->squares);
    _mm256_storeu_pd(s->aa + l, f->aa);
    _mm256_storeu_pd(s->bb + l, f->bb);
    _mm256_storeu_pd(s->ab + l, f->ab);
    _mm256_storeu_pd(s->max_abs + l, f->max_abs);
    _mm256_storeu_pd(s->max_rel + l, f->max_rel);
    _mm256_storeu_pd(s->n_rel + l, f->n_rel);
    _mm256_storeu_pd(s->n_bad + l, f->n_bad);
}

/* What ox_difference_add() does, in its order, without the extremes of a and b. */
static inline void add_four(struct four *f, __m128 a4, __m128 b4, __m256d rtol, __m256d atol)
{
    const __m256d sign = _mm256_set1_pd(-0.0), one = _mm256_set1_pd(1);
    const __m256d a = _mm256_cvtps_pd(a4), b = _mm256_cvtps_pd(b4);
    const __m256d d = _mm256_andnot_pd(sign, _mm256_sub_pd(a, b)), m = _mm256_andnot_pd(sign, b);
    const __m256d some = _mm256_cmp_pd(m, _mm256_setzero_pd(), _CMP_GT_OQ);
    const __m256d rel = _mm256_and_pd(_mm256_div_pd(d, _mm256_blendv_pd(one, m, some)), some);
    const __m256d limit = _mm256_add_pd(atol, _mm256_mul_pd(rtol, m));
    const __m256d bad = _mm256_cmp_pd(d, limit, _CMP_GT_OQ);
    f->abs = _mm256_add_pd(f->abs, d);
    f->rel = _mm256_add_pd(f->rel, rel);
    f->n_rel = _mm256_add_pd(f->n_rel, _mm256_and_pd(some, one));
    f->squares = _mm256_add_pd(f->squares, _mm256_mul_pd(d, d));
    f->aa = _mm256_add_pd(f->aa, _mm256_mul_pd(a, a));
    f->bb = _mm256_add_pd(f->bb, _mm256_mul_pd(b, b));
    f->ab = _mm256_add_pd(f->ab, _mm256_mul_pd(a, b));
    f->max_abs = _mm256_max_pd(f->max_abs, d);
    f->max_rel = _mm256_max_pd(f->max_rel, rel);
    f->n_bad = _mm256_add_pd(f->n_bad, _mm256_and_pd(bad, one));
}

/* Widened to double: the extremes of floats are exact as floats. */
static void merge_extremes(double *to, __m256 extremes, bool greatest)
{
    float values[OX_DIFFERENCE_LANES];
    _mm256_storeu_ps(values, extremes);
    for (size_t l = 0; l < OX_DIFFERENCE_LANES; l++)
        to[l] =
            greatest ? ox_larger(to[l], (double)values[l]) : ox_smaller(to[l], (double)values[l]);
}

static bool find_extremes(struct ox_difference_lanes *s, size_t n, const float *a, const float *b)
{
    __m256 a_min = _mm256_set1_ps(__builtin_inff()), a_max = _mm256_set1_ps(-__builtin_inff());
    __m256 b_min = a_min, b_max = a_max, poison = _mm256_setzero_ps();
    for (size_t i = 0; i < n; i += OX_DIFFERENCE_LANES) {
        const __m256 x = _mm256_loadu_ps(a + i), y = _mm256_loadu_ps(b + i);
        const __m256 zeros = _mm256_add_ps(_mm256_mul_ps(x, _mm256_setzero_ps()),
                                           _mm256_mul_ps(y, _mm256_setzero_ps()));
        poison = _mm256_add_ps(poison, zeros);
        a_min = _mm256_min_ps(a_min, x);
        a_max = _mm256_max_ps(a_max, x);
        b_min = _mm256_min_ps(b_min, y);
        b_max = _mm256_max_ps(b_max, y);
    }
    merge_extremes(s->a_min, a_min, false);
    merge_extremes(s->a_max, a_max, true);
    merge_extremes(s->b_min, b_min, false);
    merge_extremes(s->b_max, b_max, true);
    return _mm256_movemask_ps(_mm256_cmp_ps(poison, _mm256_setzero_ps(), _CMP_EQ_OQ)) == 0xFF;
}

bool ox_differences_avx2(struct ox_difference_lanes *lanes, size_t n, const float *a,
                         const float *b, double rtol, double atol)
{
    enum { HALF = OX_DIFFERENCE_LANES / 2 };
    const __m256d r = _mm256_set1_pd(rtol), t = _mm256_set1_pd(atol);
    if (!find_extremes(lanes, n, a, b))
        return false;
    /* Half of the lanes at a time: all do not fit the registers. */
    for (size_t l = 0; l < OX_DIFFERENCE_LANES; l += HALF) {
        struct four f;
        load_four(&f, lanes, l);
        for (size_t i = l; i < n; i += OX_DIFFERENCE_LANES)
            add_four(&f, _mm_loadu_ps(a + i), _mm_loadu_ps(b + i), r, t);
        store_four(&f, lanes, l);
    }
    return true;
}
