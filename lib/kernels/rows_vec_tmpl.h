/* The table of rows.h in vectors: stamped after a vec_<isa>.h by each instruction set. */
#include <float.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/rows.h"
#include "kernels/vec_math.h"

#ifndef ROWS_GELU
#define ROWS_GELU vm_gelu
#define ROWS_GELU_TANH vm_gelu_tanh
#endif

#ifndef ROWS_EXPS
enum { EXPS_ABREAST = 2 };

static inline void exps_by_each(VF *x, const unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        x[i] = vm_exp_low(x[i]);
}
#define ROWS_EXPS exps_by_each
#endif

#define OX_JOIN_2(a, b) a##_##b
#define OX_JOIN(a, b) OX_JOIN_2(a, b)

/* A vector, or the `left` < VW lanes that are left. */
static inline VF get(const float *p, size_t left)
{
    return left < VW ? v_load_n(p, left) : v_load(p);
}

static inline void put(float *p, VF v, size_t left)
{
    if (left < VW)
        v_store_n(p, v, left);
    else
        v_store(p, v);
}

/* ---- Elementary functions --------------------------------------------------------------------------------------- */

static inline VF clip(VF x, VF lo, VF hi)
{
    return v_min(hi, v_max(lo, x));
}

/* NaN where either is. */
static inline VF larger(VF a, VF b)
{
    return v_select(v_unordered(a, a), a, v_max(a, b));
}

static inline VF smaller(VF a, VF b)
{
    return v_select(v_unordered(a, a), a, v_min(a, b));
}

static inline VF expm1_of_negative(VF x)
{
    return vm_expm1_low(v_min(v_zero(), x));
}

static inline VF elu(VF x, VF a)
{
    return v_select(v_lt(x, v_zero()), v_mul(a, expm1_of_negative(x)), x);
}

static inline VF celu(VF x, VF a)
{
    VF low = v_mul(a, vm_expm1_low(v_min(v_set1(87), v_div(x, a))));
    return v_add(v_max(v_zero(), x), v_min(v_zero(), low));
}

static inline VF hard_sigmoid(VF x, VF a, VF b)
{
    return clip(v_fma(a, x, b), v_zero(), v_set1(1));
}

#define FN unary_abs
#define OP(x) vm_abs(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_acos
#define OP(x) vm_acos(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_affine
#define OP(x) v_fma(a, (x), b)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_asin
#define OP(x) vm_asin(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_atan
#define OP(x) vm_atan(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_ceil
#define OP(x) v_ceil(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_celu
#define OP(x) celu((x), a)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_clip
#define OP(x) clip((x), a, b)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_elu
#define OP(x) elu((x), a)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_erf
#define OP(x) vm_erf(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_exp
#define OP(x) vm_exp(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_floor
#define OP(x) v_floor(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_gelu
#define OP(x) ROWS_GELU(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_gelu_tanh
#define OP(x) ROWS_GELU_TANH(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_hard_sigmoid
#define OP(x) hard_sigmoid((x), a, b)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_hard_swish
#define OP(x) v_mul((x), hard_sigmoid((x), v_set1(1.0f / 6), v_set1(0.5f)))
#include "kernels/unary_vec_tmpl.h"
#define FN unary_leaky
#define OP(x) v_select(v_lt((x), v_zero()), v_mul(a, (x)), (x))
#include "kernels/unary_vec_tmpl.h"
#define FN unary_log
#define OP(x) vm_log(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_mish
#define OP(x) vm_mish(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_neg
#define OP(x) v_xor(v_set1(-0.0f), (x))
#include "kernels/unary_vec_tmpl.h"
#define FN unary_reciprocal
#define OP(x) v_div(v_set1(1), (x))
#include "kernels/unary_vec_tmpl.h"
#define FN unary_round
#define OP(x) v_nearest(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_rsqrt
#define OP(x) v_div(v_set1(1), v_sqrt(x))
#include "kernels/unary_vec_tmpl.h"
#define FN unary_selu
#define OP(x) v_mul(b, elu((x), a))
#include "kernels/unary_vec_tmpl.h"
#define FN unary_sigmoid
#define OP(x) vm_sigmoid(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_softplus
#define OP(x) vm_softplus(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_softsign
#define OP(x) v_div((x), v_add(v_set1(1), vm_abs(x)))
#include "kernels/unary_vec_tmpl.h"
#define FN unary_sqrt
#define OP(x) v_sqrt(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_square
#define OP(x) v_mul((x), (x))
#include "kernels/unary_vec_tmpl.h"
#ifndef ROWS_SWISH
#define ROWS_SWISH(n, x, y) swish_of_1(n, x, y, 1, 0)
#define FN swish_of_1
#define OP(x) vm_gated((x), (x))
#include "kernels/unary_vec_tmpl.h"
#endif
#define FN swish_of_any
#define OP(x) vm_swish((x), a)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_tanh
#define OP(x) vm_tanh(x)
#include "kernels/unary_vec_tmpl.h"
#define FN unary_threshold
#define OP(x) v_keep(v_gt((x), a), (x))
#include "kernels/unary_vec_tmpl.h"

static void unary_swish(size_t n, const float *x, float *y, float a, float b)
{
    if (a == 1)
        ROWS_SWISH(n, x, y);
    else
        swish_of_any(n, x, y, a, b);
}

/* A stretch at a time, that y may be x; numbers so large that their phase needs more digits go to the C library. */
static void wave(size_t n, const float *x, float *y, int shift)
{
    enum { STRETCH = 8 * VW };
    float kept[STRETCH];
    for (size_t at = 0; at < n; at += STRETCH) {
        const size_t some = n - at < STRETCH ? n - at : STRETCH;
        VF most = v_zero();
        for (size_t i = 0; i < some; i += VW)
            most = v_max(vm_abs(get(x + at + i, some - i)), most);
        const bool far = v_most(most) > VM_WAVE_MOST;
        if (far)
            memcpy(kept, x + at, some * sizeof *kept);
        for (size_t i = 0; i < some; i += VW)
            put(y + at + i, vm_wave(get(x + at + i, some - i), shift), some - i);
        for (size_t i = 0; far && i < some; i++) {
            if (fabsf(kept[i]) > VM_WAVE_MOST)
                y[at + i] = shift ? cosf(kept[i]) : sinf(kept[i]);
        }
    }
}

static void unary_cos(size_t n, const float *x, float *y, float a, float b)
{
    (void)a;
    (void)b;
    wave(n, x, y, 1);
}

static void unary_sin(size_t n, const float *x, float *y, float a, float b)
{
    (void)a;
    (void)b;
    wave(n, x, y, 0);
}

#define FN binary_add
#define OP(a, b) v_add((a), (b))
#include "kernels/binary_vec_tmpl.h"
#define FN binary_sub
#define OP(a, b) v_sub((a), (b))
#include "kernels/binary_vec_tmpl.h"
#define FN binary_mul
#define OP(a, b) v_mul((a), (b))
#include "kernels/binary_vec_tmpl.h"
#define FN binary_div
#define OP(a, b) v_div((a), (b))
#include "kernels/binary_vec_tmpl.h"
#define FN binary_max
#define OP(a, b) larger((a), (b))
#include "kernels/binary_vec_tmpl.h"
#define FN binary_min
#define OP(a, b) smaller((a), (b))
#include "kernels/binary_vec_tmpl.h"
#define FN binary_prelu
#define OP(a, b) v_select(v_lt((a), v_zero()), v_mul((a), (b)), (a))
#include "kernels/binary_vec_tmpl.h"

/* ---- Reductions ------------------------------------------------------------------------------------------------- */

static inline VF add_square(VF r, VF x, VF c)
{
    VF d = v_sub(x, c);
    return v_fma(d, d, r);
}

static float most_of(VF v)
{
    float lane[VW], y;
    v_store(lane, v);
    y = lane[0];
    for (unsigned i = 1; i < VW; i++)
        y = lane[i] > y || lane[i] != lane[i] ? lane[i] : y;
    return y;
}

static float least_of(VF v)
{
    return -most_of(v_xor(v_set1(-0.0f), v));
}

#define FN sum_from
#define START 0
#define STEP(r, x) v_add((r), (x))
#define JOIN(r, s) v_add((r), (s))
#define END(r) v_sum(r)
#include "kernels/reduce_vec_tmpl.h"
#define FN sum_of_squares
#define START 0
#define STEP(r, x) add_square((r), (x), c)
#define JOIN(r, s) v_add((r), (s))
#define END(r) v_sum(r)
#include "kernels/reduce_vec_tmpl.h"
#define FN sum_of_abs_from
#define START 0
#define STEP(r, x) v_add((r), vm_abs(x))
#define JOIN(r, s) v_add((r), (s))
#define END(r) v_sum(r)
#include "kernels/reduce_vec_tmpl.h"
#define FN max_from
#define START -INFINITY
#define STEP(r, x) larger((r), (x))
#define JOIN(r, s) larger((r), (s))
#define END(r) most_of(r)
#include "kernels/reduce_vec_tmpl.h"
/* What is no number is passed over. */
#define FN most_from
#define START -INFINITY
#define STEP(r, x) v_max((x), (r))
#define JOIN(r, s) v_max((r), (s))
#define END(r) v_most(r)
#include "kernels/reduce_vec_tmpl.h"
#define FN min_from
#define START INFINITY
#define STEP(r, x) smaller((r), (x))
#define JOIN(r, s) smaller((r), (s))
#define END(r) least_of(r)
#include "kernels/reduce_vec_tmpl.h"

static float sum(size_t n, const float *x)
{
    return sum_from(n, x, 0);
}

static float sum_of_abs(size_t n, const float *x)
{
    return sum_of_abs_from(n, x, 0);
}

static float max(size_t n, const float *x)
{
    return max_from(n, x, 0);
}

static float min(size_t n, const float *x)
{
    return min_from(n, x, 0);
}

static float dot(size_t n, const float *a, const float *b)
{
    VF r0 = v_zero(), r1 = r0, r2 = r0, r3 = r0;
    size_t i = 0;
    for (; i + 4 * VW <= n; i += 4 * VW) {
        r0 = v_fma(v_load(a + i), v_load(b + i), r0);
        r1 = v_fma(v_load(a + i + VW), v_load(b + i + VW), r1);
        r2 = v_fma(v_load(a + i + 2 * VW), v_load(b + i + 2 * VW), r2);
        r3 = v_fma(v_load(a + i + 3 * VW), v_load(b + i + 3 * VW), r3);
    }
    for (; i + VW <= n; i += VW)
        r0 = v_fma(v_load(a + i), v_load(b + i), r0);
    if (i < n)
        r1 = v_fma(v_load_n(a + i, n - i), v_load_n(b + i, n - i), r1);
    return v_sum(v_add(v_add(r0, r1), v_add(r2, r3)));
}

static void accumulate(size_t n, float s, const float *x, float *y)
{
    const VF f = v_set1(s);
    size_t i = 0;
    for (; i + VW <= n; i += VW)
        v_store(y + i, v_fma(f, v_load(x + i), v_load(y + i)));
    if (i < n)
        v_store_n(y + i, v_fma(f, v_load_n(x + i, n - i), v_load_n(y + i, n - i)), n - i);
}

/* Of so many rows to n <= 2 VW columns, whose sums stay in registers. */
static inline __attribute__((always_inline)) void few_distances(size_t rows, size_t n, size_t k,
                                                                const float *x,
                                                                const float *columns, size_t n_y,
                                                                float *y)
{
    enum { MOST = 4 };
    const size_t n_first = n < VW ? n : VW, n_second = n - n_first;
    VF sum[MOST][2];
    for (size_t i = 0; i < rows; i++)
        sum[i][0] = sum[i][1] = v_zero();
    for (size_t p = 0; p < k; p++, columns += n_y) {
        const bool whole = n == 2 * VW;
        const VF first = whole ? v_load(columns) : v_load_n(columns, n_first);
        const VF second = whole      ? v_load(columns + VW)
                          : n_second ? v_load_n(columns + VW, n_second)
                                     : v_zero();
        for (size_t i = 0; i < rows; i++) {
            const VF one = v_set1(x[i * k + p]), a = v_sub(first, one), b = v_sub(second, one);
            sum[i][0] = v_fma(a, a, sum[i][0]);
            sum[i][1] = v_fma(b, b, sum[i][1]);
        }
    }
    for (size_t i = 0; i < rows; i++, y += n_y) {
        v_store_n(y, sum[i][0], n_first);
        if (n_second)
            v_store_n(y + VW, sum[i][1], n_second);
    }
}

static void distances(size_t rows, size_t n, size_t k, const float *x, const float *columns,
                      size_t n_y, float *y)
{
    enum { ABREAST = 4 };
    for (size_t some; n > 0; n -= some, columns += some, y += some) {
        some = n < 2 * VW ? n : 2 * VW;
        size_t i = 0;
        for (; some == 2 * VW && i + ABREAST <= rows; i += ABREAST)
            few_distances(ABREAST, 2 * VW, k, x + i * k, columns, n_y, y + i * n_y);
        for (; i + ABREAST <= rows; i += ABREAST)
            few_distances(ABREAST, some, k, x + i * k, columns, n_y, y + i * n_y);
        for (; i < rows; i++)
            few_distances(1, some, k, x + i * k, columns, n_y, y + i * n_y);
    }
}

/* ---- Softmax and normalizations --------------------------------------------------------------------------------- */

/* A row's last elements that fill no vector, or all of one that is shorter: a whole vector behind which the row ends, where it has so
 * many. Part of a vector is not written where that can be helped: what is read around it next would have to wait for that. */
static inline VF get_last(size_t n, const float *x)
{
    return n < VW ? v_load_n(x, n) : v_load(x + n - VW);
}

static inline void put_last(float *y, VF last, size_t n)
{
    if (n < VW)
        v_store_n(y, last, n);
    else
        v_store(y + n - VW, last);
}

/* Of a last vector what no whole one before it has; n fills no whole vectors. */
static inline VF own_of_last(size_t n, VF last, VF other)
{
    return n < VW ? v_first(n, last, other) : v_first(VW - n % VW, other, last);
}

/* y = scale x + mask, but for the last, and its largest. NaN comes back by the sum. */
static float scale_and_mask(size_t n, const float *x, const float *mask, float scale, float *y,
                            VF *last)
{
    const VF s = v_set1(scale), end = get_last(n, x);
    *last = mask ? v_fma(s, end, get_last(n, mask)) : v_mul(s, end);
    VF most = v_set1(-INFINITY);
    for (size_t i = 0; i + VW <= n; i += VW) {
        VF v = mask ? v_fma(s, v_load(x + i), v_load(mask + i)) : v_mul(s, v_load(x + i));
        v_store(y + i, v);
        most = v_max(v, most);
    }
    if (n % VW)
        most = own_of_last(n, v_max(*last, most), most);
    return v_most(most);
}

#define EXPS_EACH _Pragma("GCC unroll 4") for (size_t u = 0; u < EXPS_ABREAST; u++)

static inline VF sum_abreast(const VF *r)
{
    VF sum = v_add(r[0], r[1]);
    for (unsigned u = 2; u < EXPS_ABREAST; u += 2)
        sum = v_add(sum, v_add(r[u], r[u + 1]));
    return sum;
}

/* y = e^(x - most), of the last in its place, and their sum. */
static float exps(size_t n, const float *x, float most, float *y, VF *last)
{
    const VF m = v_set1(most);
    VF e[EXPS_ABREAST], r[EXPS_ABREAST];
    size_t i = 0;
    EXPS_EACH r[u] = v_zero();
    for (; i + EXPS_ABREAST * VW <= n; i += EXPS_ABREAST * VW) {
        EXPS_EACH e[u] = v_sub(v_load(x + i + u * VW), m);
        ROWS_EXPS(e, EXPS_ABREAST);
        EXPS_EACH v_store(y + i + u * VW, e[u]);
        EXPS_EACH r[u] = v_add(r[u], e[u]);
    }
    for (; i + VW <= n; i += VW) {
        e[0] = v_sub(v_load(x + i), m);
        ROWS_EXPS(e, 1);
        v_store(y + i, e[0]);
        r[0] = v_add(r[0], e[0]);
    }
    if (i < n) {
        e[0] = v_sub(*last, m);
        ROWS_EXPS(e, 1);
        *last = e[0];
        r[0] = v_add(r[0], own_of_last(n, e[0], v_zero()));
    }
    return v_sum(sum_abreast(r));
}

static void softmax(size_t n, const float *x, const float *mask, float scale, float *y)
{
    const bool bare = !mask && scale == 1;
    VF last = get_last(n, x);
    const float most = bare ? most_from(n, x, 0) : scale_and_mask(n, x, mask, scale, y, &last);
    const VF factor = v_set1(1 / exps(n, bare ? x : y, most, y, &last));
    for (size_t i = 0; i + VW <= n; i += VW)
        v_store(y + i, v_mul(v_load(y + i), factor));
    if (n % VW)
        put_last(y, v_mul(last, factor), n);
}

/* Of e^(x - most) the sum alone. */
static float sum_of_exps(size_t n, const float *x, float most)
{
    const VF m = v_set1(most);
    VF r0 = v_zero(), r1 = v_zero();
    size_t i = 0;
    for (; i + 2 * VW <= n; i += 2 * VW) {
        r0 = v_add(r0, vm_exp_low(v_sub(v_load(x + i), m)));
        r1 = v_add(r1, vm_exp_low(v_sub(v_load(x + i + VW), m)));
    }
    for (; i < n; i += VW) {
        size_t left = n - i < VW ? n - i : VW;
        r0 = v_add(r0, v_first(left, vm_exp_low(v_sub(get(x + i, left), m)), v_zero()));
    }
    return v_sum(v_add(r0, r1));
}

/* As many rows as a vector has logarithms, which one after another would wait for each other, or as few as stay near. */
static void log_softmax(size_t rows, size_t n, const float *x, float *y)
{
    enum { NEAR = 4096 };
    const size_t most_rows = n * VW <= NEAR ? VW : NEAR / n + 1;
    for (size_t some; rows > 0; rows -= some) {
        float most[VW], sum[VW] = {0};
        some = rows < most_rows ? rows : most_rows;
        for (size_t row = 0; row < some; row++) {
            most[row] = most_from(n, x + row * n, 0); /* NaN comes back by the sum */
            sum[row] = sum_of_exps(n, x + row * n, most[row]);
        }
        v_store(sum, vm_log(v_load(sum)));
        for (size_t row = 0; row < some; row++, x += n, y += n) {
            const VF m = v_set1(most[row]), l = v_set1(sum[row]);
            const VF last = v_sub(v_sub(get_last(n, x), m), l); /* y may be x */
            for (size_t i = 0; i + VW <= n; i += VW)
                v_store(y + i, v_sub(v_sub(v_load(x + i), m), l));
            if (n % VW)
                put_last(y, last, n);
        }
    }
}

/* v = x + skip + bias into `to`; the sum of v, or of its squares. */
static float norm_gather(size_t n, const struct ox_norm_row *row, float *to)
{
    VF r0 = v_zero(), r1 = v_zero();
    for (size_t i = 0; i < n; i += VW) {
        size_t left = n - i < VW ? n - i : VW;
        VF v = get(row->x + i, left);
        v = row->skip ? v_add(v, get(row->skip + i, left)) : v;
        v = row->bias ? v_add(v, get(row->bias + i, left)) : v;
        put(to + i, v, left);
        r0 = row->centred ? v_add(v, r0) : v_fma(v, v, r0);
        VF swap = r0;
        r0 = r1;
        r1 = swap;
    }
    return v_sum(v_add(r0, r1));
}

static void norm(size_t n, struct ox_norm_row *row)
{
    const float *v = row->x;
    float total;
    if (row->skip || row->bias || row->sum) {
        float *to = row->sum ? row->sum : row->y;
        total = norm_gather(n, row, to);
        v = to;
    } else {
        total = row->centred ? sum(n, v) : sum_of_squares(n, v, 0);
    }
    float mean = row->centred ? total / (float)n : 0;
    float squares = row->centred ? sum_of_squares(n, v, mean) : total;
    float inverse = 1 / sqrtf(squares / (float)n + row->epsilon);
    row->mean = mean;
    row->inverse = inverse;
    const VF m = v_set1(mean), f = v_set1(inverse);
    for (size_t i = 0; i < n; i += VW) {
        size_t left = n - i < VW ? n - i : VW;
        VF u = v_mul(v_sub(get(v + i, left), m), f);
        u = row->scale ? v_mul(u, get(row->scale + i, left)) : u;
        u = row->shift ? v_add(u, get(row->shift + i, left)) : u;
        put(row->y + i, u, left);
    }
}

#include "kernels/attend_vec_tmpl.h"

/* ---- The table -------------------------------------------------------------------------------------------------- */

#define ROWS_TABLE stamped
#define ROWS_LANES (V_QUERIES * VW)
#define ROWS_SINGLY (VW < 8 ? VW / 2 : 4)
#include "kernels/rows_table_tmpl.h"

void VISA(ox_rows)(struct ox_rows *t)
{
    enum ox_cpu level = t->level;
    *t = stamped;
    t->level = level;
}
