/* Elementary functions of a vector, by polynomials: included after a vec_<isa>.h, once an instruction set. Errors are in units
 * in the last place of the exact result and hold for all float32 arguments; test_kernels_rows measures them. Results
 * below FLT_MIN may come out as 0 unless said otherwise. NaN stays NaN.
 *
 * Coefficients: minimax fits of our own (Lawson's iteration in double, weighted for relative error). */
#ifndef OX_KERNELS_VEC_MATH_H
#define OX_KERNELS_VEC_MATH_H

#include <math.h>

static inline VF vm_abs(VF x)
{
    return v_andnot(v_set1(-0.0f), x);
}

/* a between -b and b; of NaN any number. */
#ifndef v_within
#define v_within(a, b) v_min((b), v_max(v_xor(v_set1(-0.0f), (b)), (a)))
#endif

/* x - n ln 2 of |.| <= ln 2 / 2, and n, for |x| < 2^22. */
static inline VF vm_reduce(VF x, VF *n)
{
    *n = v_nearest(v_mul(x, v_set1(1.44269504088896341f)));
    return v_fnma(*n, v_set1(1.42860682e-6f), v_fnma(*n, v_set1(0.693145752f), x));
}

/* 2^n for integers n of [-126, 127]. */
static inline VF vm_power_of_2(VI n)
{
    return v_of_bits(vi_left(vi_add(n, vi_set1(127)), 23));
}

/* e^r - 1 for |r| <= ln 2 / 2. */
static inline VF vm_expm1_near_0(VF r)
{
    VF q = v_set1(0.00138146023f);
    q = v_fma(q, r, v_set1(0.00836871564f));
    q = v_fma(q, r, v_set1(0.041668389f));
    q = v_fma(q, r, v_set1(0.166665211f));
    q = v_fma(q, r, v_set1(0.49999994f));
    return v_fma(v_mul(r, r), q, r);
}

/* 1 ulp, results below FLT_MIN too. */
static inline VF vm_exp(VF x)
{
    VF n;
    VF r = vm_reduce(v_min(v_set1(89), v_max(v_set1(-104), x)), &n);
#ifdef V_SCALED
    return V_SCALED(v_add(vm_expm1_near_0(r), v_set1(1)), n);
#else
    VI whole = v_to_int(n), half = vi_right(whole, 1);
    VF power = vm_power_of_2(half);
    VF p = v_fma(vm_expm1_near_0(r), power, power);
    return v_mul(p, vm_power_of_2(vi_sub(whole, half)));
#endif
}

/* As vm_reduce(), and 2^n: for |x| < 88. The sum with 1.5 2^23 + 127 leaves the exponent's bits of 2^n at the right end. The float
 * that is ln 2 is so near that one step will do: it costs |x| 2^-28.4. */
static inline VF vm_reduce_low(VF x, VF *power)
{
    const VF shift = v_set1(12583039);
    VF t = v_fma(x, v_set1(1.44269504088896341f), shift);
    *power = v_of_bits(vi_left(v_bits(t), 23));
    return v_fnma(v_sub(t, shift), v_set1(0.693147182f), x);
}

/* For x <= 87: what is below e^-87 is 0, also for -infinity. 1 ulp, and |x| / 22 more. */
static inline VF vm_exp_low(VF x)
{
    VF power;
    VF r = vm_reduce_low(v_max(v_set1(-87), x), &power);
    VF p = v_fma(vm_expm1_near_0(r), power, power);
    return v_drop(v_lt(x, v_set1(-87)), p);
}

/* 2 ulp; for x <= 87. */
static inline VF vm_expm1_low(VF x)
{
    VF s;
    VF r = vm_reduce_low(v_max(v_set1(-20), x), &s);
    VF q = v_set1(0.00138825213f);
    q = v_fma(q, r, v_set1(0.00836651865f));
    q = v_fma(q, r, v_set1(0.0416672006f));
    q = v_fma(q, r, v_set1(0.166665435f));
    q = v_fma(q, r, v_set1(0.49999997f));
    VF p = v_fma(v_mul(r, r), q, r);
    return v_fma(p, s, v_sub(s, v_set1(1)));
}

/* e / (e + 2) with e = e^2x - 1, all by their halves; 3 ulp, results below FLT_MIN too. */
static inline VF vm_tanh(VF x)
{
    const VF shift = v_set1(12583039);
    VF c = v_min(v_set1(10), v_max(v_set1(-10), x));
    VF t = v_fma(c, v_set1(2.88539008f), shift);
    VF n = v_sub(t, shift), power = v_of_bits(vi_left(v_bits(t), 23));
    VF r = v_fnma(n, v_set1(0.346573591f), c); /* as in vm_reduce_low() */
    VF q = v_set1(32 * 0.00138825213f);
    q = v_fma(q, r, v_set1(16 * 0.00836651865f));
    q = v_fma(q, r, v_set1(8 * 0.0416672006f));
    q = v_fma(q, r, v_set1(4 * 0.166665435f));
    q = v_fma(q, r, v_set1(2 * 0.49999997f));
    VF p = v_fma(v_mul(r, r), q, r);
    VF e = v_fma(p, power, v_fma(power, v_set1(0.5f), v_set1(-0.5f)));
    VF y = v_div(e, v_add(e, v_set1(1)));
    return v_or(y, v_and(x, v_set1(-0.0f)));
}

/* y sigmoid(x) = y / (1 + e^-x) for |x| <= 88. What is left of the reduction is s = x + n ln 2, and e^-s / 2 = p; from x < -87.7 on
 * 2^(n + 1) is infinite, and y / infinity what is due. */
static inline VF vm_gated_near(VF y, VF x)
{
    const VF shift = v_set1(12583040);
    VF t = v_fnma(x, v_set1(1.44269504088896341f), shift);
    VF power = v_of_bits(vi_left(v_bits(t), 23));
    VF s = v_fma(v_sub(t, shift), v_set1(0.693147182f), x); /* as in vm_reduce_low() */
    VF p = v_set1(0.5f * -0.00828971528f);
    p = v_fma(p, s, v_set1(0.5f * 0.0418978371f));
    p = v_fma(p, s, v_set1(0.5f * -0.166676477f));
    p = v_fma(p, s, v_set1(0.5f * 0.499991506f));
    p = v_fma(p, s, v_set1(0.5f * -0.999999702f));
    p = v_fma(p, s, v_set1(0.5f));
    return v_div(y, v_fma(p, power, v_set1(1)));
}

/* y sigmoid(x), where y is NaN if x is. */
static inline VF vm_gated(VF y, VF x)
{
    return vm_gated_near(y, v_within(x, v_set1(88)));
}

/* 4 ulp, and for x < 0 |x| / 32 more. */
static inline VF vm_sigmoid(VF x)
{
    return vm_gated_near(v_set1(1), v_min(v_set1(88), v_max(v_set1(-88), x)));
}

/* 5 ulp. Rational in x^2; 1 to the last bit from 3.92 on. */
static inline VF vm_erf(VF x)
{
    VF c = v_min(v_set1(3.92f), v_max(v_set1(-3.92f), x));
    VF t = v_mul(c, c);
    VF p = v_set1(2.05008420e-6f), q = v_set1(3.80917384e-5f);
    p = v_fma(p, t, v_set1(2.84883778e-4f));
    q = v_fma(q, t, v_set1(1.16254469e-3f));
    p = v_fma(p, t, v_set1(3.76565286e-3f));
    q = v_fma(q, t, v_set1(1.49692881e-2f));
    p = v_fma(p, t, v_set1(5.27488342e-2f));
    q = v_fma(q, t, v_set1(1.14109448e-1f));
    p = v_fma(p, t, v_set1(1.90407270e-1f));
    q = v_fma(q, t, v_set1(5.02076790e-1f));
    p = v_fma(p, t, v_set1(1.12837915f));
    q = v_fma(q, t, v_set1(1));
    VF y = v_div(v_mul(c, p), q);
    return v_max(v_set1(-1), v_min(v_set1(1), y));
}

/* 2 ulp; -infinity at 0, NaN below, arguments below FLT_MIN too. */
static inline VF vm_log(VF x)
{
    VM tiny = v_lt(x, v_set1(1.17549435e-38f));
    VF scaled = v_select(tiny, v_mul(x, v_set1(8388608)), x);
    /* m in [sqrt 1/2, sqrt 2) */
    VI bits = vi_sub(v_bits(scaled), vi_set1(0x3f3504f3));
    VF n = v_from_int(vi_right(bits, 23));
    n = v_sub(n, v_keep(tiny, v_set1(23)));
    VF f =
        v_sub(v_of_bits(vi_add(vi_and(bits, vi_set1(0x007fffff)), vi_set1(0x3f3504f3))), v_set1(1));
    VF p = v_set1(0.0674664751f);
    p = v_fma(p, f, v_set1(-0.11675664f));
    p = v_fma(p, f, v_set1(0.118881658f));
    p = v_fma(p, f, v_set1(-0.12405587f));
    p = v_fma(p, f, v_set1(0.142195523f));
    p = v_fma(p, f, v_set1(-0.166679963f));
    p = v_fma(p, f, v_set1(0.200021192f));
    p = v_fma(p, f, v_set1(-0.250000089f));
    p = v_fma(p, f, v_set1(0.333333135f));
    VF t = v_mul(f, f);
    VF y = v_fma(v_mul(t, f), p, v_mul(n, v_set1(1.42860682e-6f)));
    y = v_add(v_fnma(t, v_set1(0.5f), y), f);
    y = v_fma(n, v_set1(0.693145752f), y);
    y = v_select(v_eq(x, v_set1(INFINITY)), x, y);
    y = v_select(v_eq(x, v_zero()), v_set1(-INFINITY), y);
    return v_select(v_lt(x, v_zero()), v_set1(NAN), v_select(v_unordered(x, x), x, y));
}

/* 2 ulp; for x in [0, 1]. The rounding of 1 + x is made good. */
static inline VF vm_log1p_unit(VF x)
{
    VF w = v_add(v_set1(1), x);
    return v_add(vm_log(w), v_div(v_sub(x, v_sub(w, v_set1(1))), w));
}

/* What vm_wave() takes. */
#define VM_WAVE_MOST 65536.0f

/* sin(x + pi / 2 shift): 2 ulp for |x| <= VM_WAVE_MOST, NaN for infinities. n pi / 2 is taken off in three parts, of which the first
 * difference is exact. */
static inline VF vm_wave(VF x, int shift)
{
    const VF n = v_nearest(v_mul(x, v_set1(0.636619772f)));
    VF r = v_fnma(n, v_set1(1.57079637f), x);
    r = v_fnma(n, v_set1(-4.37113901e-8f), r);
    r = v_fnma(n, v_set1(-1.71512451e-15f), r);
    const VF z = v_mul(r, r);
    VF s = v_set1(-0.00019508741f);
    s = v_fma(s, z, v_set1(0.008332113f));
    s = v_fma(s, z, v_set1(-0.16666654f));
    s = v_fma(v_mul(s, z), r, r);
    VF c = v_set1(2.442568e-05f);
    c = v_fma(c, z, v_set1(-0.0013887251f));
    c = v_fma(c, z, v_set1(0.041666646f));
    c = v_fma(v_mul(z, z), c, v_fnma(z, v_set1(0.5f), v_set1(1)));
    const VI quarter = vi_add(v_to_int(n), vi_set1(shift));
    const VM odd = v_gt(v_of_bits(vi_left(vi_and(quarter, vi_set1(1)), 30)), v_zero());
    const VF sign = v_of_bits(vi_left(vi_and(quarter, vi_set1(2)), 30));
    return v_xor(v_select(odd, c, s), sign);
}

/* 2 ulp: of 1 / |x| from 1 on. */
static inline VF vm_atan(VF x)
{
    const VF a = vm_abs(x);
    const VM far = v_gt(a, v_set1(1));
    const VF t = v_select(far, v_div(v_set1(1), a), a), z = v_mul(t, t);
    VF p = v_set1(0.002920689f);
    p = v_fma(p, z, v_set1(-0.016367916f));
    p = v_fma(p, z, v_set1(0.043211844f));
    p = v_fma(p, z, v_set1(-0.075522125f));
    p = v_fma(p, z, v_set1(0.10666004f));
    p = v_fma(p, z, v_set1(-0.14211056f));
    p = v_fma(p, z, v_set1(0.19993773f));
    p = v_fma(p, z, v_set1(-0.33333153f));
    p = v_fma(v_mul(t, z), p, t);
    return v_or(v_select(far, v_sub(v_set1(1.57079633f), p), p), v_and(x, v_set1(-0.0f)));
}

/* asin(s) of s >= 0 with z = s^2 <= 1 / 4. */
static inline VF vm_asin_near(VF s, VF z)
{
    VF p = v_set1(0.04221859f);
    p = v_fma(p, z, v_set1(0.02414759f));
    p = v_fma(p, z, v_set1(0.0454771f));
    p = v_fma(p, z, v_set1(0.074952416f));
    p = v_fma(p, z, v_set1(0.16666754f));
    return v_fma(v_mul(s, z), p, s);
}

/* asin |x|, or from 1 / 2 on (*far) what it and twice the result make pi / 2 of; NaN beyond 1. */
static inline VF vm_asin_part(VF x, VM *far)
{
    const VF a = vm_abs(x);
    *far = v_gt(a, v_set1(0.5f));
    const VF z = v_select(*far, v_fnma(a, v_set1(0.5f), v_set1(0.5f)), v_mul(a, a));
    return vm_asin_near(v_select(*far, v_sqrt(z), a), z);
}

/* 3 ulp. */
static inline VF vm_asin(VF x)
{
    VM far;
    const VF p = vm_asin_part(x, &far);
    const VF y = v_select(far, v_fnma(p, v_set1(2), v_set1(1.57079633f)), p);
    return v_or(y, v_and(x, v_set1(-0.0f)));
}

/* 3 ulp. */
static inline VF vm_acos(VF x)
{
    VM far;
    const VF p = vm_asin_part(x, &far), twice = v_add(p, p);
    const VF below = v_sub(v_set1(3.14159265f), twice);
    const VF sign = v_and(x, v_set1(-0.0f));
    return v_select(far, v_select(v_lt(x, v_zero()), below, twice),
                    v_sub(v_set1(1.57079633f), v_or(p, sign)));
}

/* log(1 + e^x): 3 ulp. */
static inline VF vm_softplus(VF x)
{
    VF e = vm_exp(v_sub(v_zero(), vm_abs(x)));
    return v_add(v_max(v_zero(), x), vm_log1p_unit(e));
}

/* x (1 + erf(x / sqrt 2)) / 2 as max(x, 0) - |x| q with q = erfc(|x| / sqrt 2) / 2 = t P(t) exp(-x^2 / 2) and t = 1 / (1 + 0.35
 * |x|): 8 ulp, and 0 from -13.25 down. x^2 / 2 is never rounded: its multiple of ln 2 is taken off within the sum. */
static inline VF vm_gelu(VF x)
{
    const VF shift = v_set1(12583039);
    VF a = v_min(v_set1(13.27f), vm_abs(x)); /* where 2^n below comes to 0 */
    VF t = v_div(v_set1(1), v_fma(a, v_set1(0.35f), v_set1(1)));
    VF p = v_set1(-0.0291634034f);
    p = v_fma(p, t, v_set1(0.144058406f));
    p = v_fma(p, t, v_set1(-0.255897224f));
    p = v_fma(p, t, v_set1(0.159387961f));
    p = v_fma(p, t, v_set1(-0.0232606586f));
    p = v_fma(p, t, v_set1(0.105573550f));
    p = v_fma(p, t, v_set1(0.119815789f));
    p = v_fma(p, t, v_set1(0.139864296f));
    p = v_fma(p, t, v_set1(0.139621258f));
    VF half = v_mul(a, v_set1(-0.5f)),
       u = v_fma(v_mul(half, a), v_set1(1.44269504088896341f), shift);
    VF n = v_sub(u, shift), power = v_of_bits(vi_left(v_bits(u), 23));
    VF r = v_fma(half, a, v_mul(n, v_set1(-0.693145752f))); /* the product with n is exact */
    r = v_fnma(n, v_set1(1.42860682e-6f), r);
    VF e = v_fma(vm_expm1_near_0(r), power, power);
    VF beyond = v_max(a, v_xor(x, v_set1(-0.0f))); /* for -infinity times 0 */
    return v_fnma(v_mul(beyond, e), v_mul(p, t), v_max(v_zero(), x));
}

/* x sigmoid(k x): for k = 1 4 ulp, and for x < 0 |x| / 32 more. */
static inline VF vm_swish(VF x, VF k)
{
    return vm_gated(x, v_mul(k, x));
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, as x times a sigmoid: 4 ulp for |x| < 1, then the error that rounding the
 * exponent makes, at most 2^-22 of x. */
static inline VF vm_gelu_tanh(VF x)
{
    VF slope = v_fma(v_mul(x, x), v_set1(0.0713548163f), v_set1(1.59576912f));
    return vm_gated(x, v_mul(x, slope));
}

/* x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2): 5 ulp. */
static inline VF vm_mish(VF x)
{
    VF e = vm_exp(v_min(v_set1(20), x));
    VF n = v_mul(e, v_add(e, v_set1(2)));
    return v_mul(x, v_div(n, v_add(n, v_set1(2))));
}

#endif
