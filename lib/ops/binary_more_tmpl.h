/* BitShift, PRelu and powers of an integer type. */
#define TA T
#define TB T
#define TO T

/* Bits shifted out are lost; a count that is negative or too large leaves what the fill alone gives. */
static T N(shift_left_of)(T x, T count)
{
    if ((uint64_t)count >= T_BITS)
        return 0;
    return (T)((W)x << (unsigned)count);
}

static T N(shift_right_of)(T x, T count)
{
    W fill = 0;
    T magnitude = x;
#if T_SIGNED
    if (x < 0) { /* shift the complement, so that no negative number is shifted */
        fill = (W)-1;
        magnitude = (T)~x;
    }
#endif
    if ((uint64_t)count >= T_BITS)
        return (T)fill;
    return (T)(((W)magnitude >> (unsigned)count) ^ fill);
}

#define FN N(shift_left)
#define OP(x, y) N(shift_left_of)((x), (y))
#include "ops/binary_loop_tmpl.h"
#define FN N(shift_right)
#define OP(x, y) N(shift_right_of)((x), (y))
#include "ops/binary_loop_tmpl.h"

#if T_SIGNED
#define FN N(prelu)
#define OP(x, y) ((x) < 0 ? (T)((W)(x) * (W)(y)) : (x))
#include "ops/binary_loop_tmpl.h"
#else
#define FN N(prelu)
#define OP(x, y) ((void)(y), (x))
#include "ops/binary_loop_tmpl.h"
#endif

/* A negative power of anything but 1 and -1 truncates to 0; of 0 it is as large as can be. */
static T N(inverse_power_of)(T x, int64_t exponent)
{
    (void)exponent;
    if (x == 0)
        return T_MAX;
    if (x == 1)
        return 1;
#if T_SIGNED
    if (x == -1)
        return exponent & 1 ? -1 : 1;
#endif
    return 0;
}

enum { N(POWERS) = 64 };

/* An exponent within W's bits: beyond them an even number's power is 0, and that of an odd one as without them. */
static W N(short_exponent)(uint64_t exponent)
{
    const unsigned bits = 8 * (unsigned)sizeof(W);
    return (W)((W)exponent | (W)((W)(exponent >> bits / 2 >> bits / 2 != 0) << (bits - 1)));
}

/* Powers of up to POWERS numbers side by side, for as many bits as the largest exponent has. */
static void N(power_block)(size_t n, const T *x, size_t x_step, const uint64_t *y, size_t y_step,
                           T *out)
{
    W power[N(POWERS)], square[N(POWERS)], left[N(POWERS)], any = 0;
    for (size_t i = 0; i < n; i++) {
        square[i] = (W)x[i * x_step];
        left[i] = N(short_exponent)(y[i * y_step]);
        power[i] = 1;
        any |= left[i];
    }
    for (; any; any >>= 1) {
        for (size_t i = 0; i < n; i++) { /* no branch on a bit */
            power[i] *= ((square[i] - 1) & (0 - (left[i] & 1))) + 1;
            square[i] *= square[i];
            left[i] >>= 1;
        }
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (T)power[i];
}

/* Of all one power: whether a bit is set is asked once. */
static void N(power_same)(size_t n, const T *x, size_t x_step, W exponent, T *out)
{
    for (size_t i = 0; exponent == 2 && i < n; i++)
        out[i] = (T)((W)x[i * x_step] * (W)x[i * x_step]);
    for (size_t i = 0; exponent == 3 && i < n; i++)
        out[i] = (T)((W)x[i * x_step] * (W)x[i * x_step] * (W)x[i * x_step]);
    for (size_t at = 0, part; exponent != 2 && exponent != 3 && at < n; at += part) {
        W power[N(POWERS)], square[N(POWERS)];
        part = n - at < N(POWERS) ? n - at : N(POWERS);
        for (size_t i = 0; i < part; i++) {
            square[i] = (W)x[(at + i) * x_step];
            power[i] = 1;
        }
        for (W left = exponent; left; left >>= 1) {
            for (size_t i = 0; (left & 1) && i < part; i++)
                power[i] *= square[i];
            for (size_t i = 0; left > 1 && i < part; i++)
                square[i] *= square[i];
        }
        for (size_t i = 0; i < part; i++)
            out[at + i] = (T)power[i];
    }
}

static void N(pow_uint)(const struct ox_row *row, const void *arg)
{
    const T *x = row->in[0];
    const uint64_t *y = row->in[1];
    (void)arg;
    if (!row->step[1]) {
        N(power_same)(row->n, x, row->step[0], N(short_exponent)(*y), row->out);
        return;
    }
    for (size_t at = 0; at < row->n; at += N(POWERS)) {
        const size_t n = row->n - at < N(POWERS) ? row->n - at : N(POWERS);
        N(power_block)
        (n, x + at * row->step[0], row->step[0], y + at * row->step[1], row->step[1],
         (T *)row->out + at);
    }
}

static void N(pow_int)(const struct ox_row *row, const void *arg)
{
    const T *x = row->in[0];
    const int64_t *y = row->in[1];
    T *out = row->out;
    uint64_t short_y[N(POWERS)];
    (void)arg;
    if (!row->step[1]) {
        const int64_t exponent = *y;
        for (size_t i = 0; exponent < 0 && i < row->n; i++)
            out[i] = N(inverse_power_of)(x[i * row->step[0]], exponent);
        if (exponent >= 0)
            N(power_same)
        (row->n, x, row->step[0], N(short_exponent)((uint64_t)exponent), out);
        return;
    }
    for (size_t at = 0; at < row->n; at += N(POWERS)) {
        const size_t n = row->n - at < N(POWERS) ? row->n - at : N(POWERS);
        int64_t signs = 0;
        for (size_t i = 0; i < n; i++) {
            const int64_t exponent = y[(at + i) * row->step[1]];
            signs |= exponent;
            short_y[i] = exponent < 0 ? 0 : (uint64_t)exponent;
        }
        N(power_block)(n, x + at * row->step[0], row->step[0], short_y, 1, out + at);
        for (size_t i = at; signs < 0 && i < at + n; i++)
            if (y[i * row->step[1]] < 0)
                out[i] = N(inverse_power_of)(x[i * row->step[0]], y[i * row->step[1]]);
    }
}

#undef TB
#define TB double
#define FN N(pow_double)
#define OP(x, y) N(ox_whole)(pow((double)(x), (y)))
#include "ops/binary_loop_tmpl.h"

#undef TA
#undef TB
#undef TO
