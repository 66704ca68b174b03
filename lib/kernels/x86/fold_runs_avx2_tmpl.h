/* The runs and rows of the folds of a type of floats T that sum, and that find the greatest and the least. LOAD_DOUBLES(x) four elements as doubles,
 * LOAD_SOME_DOUBLES(x, m) those that the mask m tells and zeros, LOAD_SQUARES
 * LOAD_SOME_SQUARES the same of their squares; VT a vector of elements, LOAD_ELEMENTS(x) and
 * LOAD_SOME_ELEMENTS(x, m, other) one, ALL(x) x in all lanes, GREATER_OF LESS_OF two vectors, GREATEST_OF LEAST_OF the lanes of one, GREATEST_OF_FOUR
 * LEAST_OF_FOUR those of four. */
#define ACC double
#define VA __m256d
#define LOAD LOAD_DOUBLES
#define LOAD_SOME LOAD_SOME_DOUBLES
#define VSTART _mm256_setzero_pd()
#define VJOIN _mm256_add_pd
#define JOIN(a, b) (a) + (b)
#define FINISH sum_of_four
#define FINISH_FOUR sums_of_four

#define FOLD sum
#define VSTEP _mm256_add_pd
#define VFIRST(x) (x)
#include "kernels/x86/fold_avx2_tmpl.h"

#define FOLD sum_of_abs
#define VFIRST(x) _mm256_andnot_pd(_mm256_set1_pd(-0.0), x)
#define VSTEP(a, x) _mm256_add_pd(a, VFIRST(x))
#include "kernels/x86/fold_avx2_tmpl.h"

#define FOLD sum_of_squares
#define VSTEP add_square
#define VFIRST(x) _mm256_mul_pd(x, x)
#include "kernels/x86/fold_avx2_tmpl.h"
#undef LOAD
#undef LOAD_SOME

#define FOLD squares_in_double
#define LOAD LOAD_SQUARES
#define LOAD_SOME LOAD_SOME_SQUARES
#define VSTEP _mm256_add_pd
#define VFIRST(x) (x)
#include "kernels/x86/fold_avx2_tmpl.h"
#undef LOAD
#undef LOAD_SOME
#undef VSTART
#undef VJOIN
#undef JOIN
#undef FINISH
#undef FINISH_FOUR

#define FOLD product
#define LOAD LOAD_DOUBLES
#define LOAD_SOME(x, m) or_one(LOAD_SOME_DOUBLES(x, m), m)
#define VSTART _mm256_set1_pd(1)
#define VSTEP _mm256_mul_pd
#define VFIRST(x) (x)
#define VJOIN _mm256_mul_pd
#define JOIN(a, b) (a) * (b)
#define FINISH product_of_four
#define FINISH_FOUR products_of_four
#include "kernels/x86/fold_avx2_tmpl.h"

#undef ACC
#undef VA
#undef LOAD
#undef LOAD_SOME
#undef VSTART
#undef VJOIN
#undef JOIN
#undef FINISH
#undef FINISH_FOUR
#define ACC T
#define VA VT
#define LOAD LOAD_ELEMENTS
#define LOAD_SOME(x, m) LOAD_SOME_ELEMENTS(x, m, VSTART)

#define FOLD greatest
#define VSTART ALL(-(T)INFINITY)
#define VSTEP GREATER_OF
#define VFIRST(x) (x)
#define VJOIN GREATER_OF
#define JOIN OX_FOLD_GREATER
#define FINISH GREATEST_OF
#define FINISH_FOUR GREATEST_OF_FOUR
#include "kernels/x86/fold_avx2_tmpl.h"
#undef VSTART
#undef VJOIN
#undef JOIN
#undef FINISH
#undef FINISH_FOUR

#define FOLD least
#define VSTART ALL((T)INFINITY)
#define VSTEP LESS_OF
#define VFIRST(x) (x)
#define VJOIN LESS_OF
#define JOIN OX_FOLD_LESS
#define FINISH LEAST_OF
#define FINISH_FOUR LEAST_OF_FOUR
#include "kernels/x86/fold_avx2_tmpl.h"
#undef VSTART
#undef VJOIN
#undef JOIN
#undef FINISH
#undef FINISH_FOUR

#undef ACC
#undef VA
#undef LOAD
#undef LOAD_SOME
#undef T
#undef N
#undef VT
#undef LOAD_DOUBLES
#undef LOAD_SOME_DOUBLES
#undef LOAD_SQUARES
#undef LOAD_SOME_SQUARES
#undef LOAD_ELEMENTS
#undef LOAD_SOME_ELEMENTS
#undef ALL
#undef GREATER_OF
#undef LESS_OF
#undef GREATEST_OF
#undef LEAST_OF
#undef GREATEST_OF_FOUR
#undef LEAST_OF_FOUR
