/* Turning floats in registers: what transpose_tmpl.h and attention are made of. */
#ifndef OX_KERNELS_ARM_TURN_NEON_H
#define OX_KERNELS_ARM_TURN_NEON_H

#include <arm_neon.h>
#include <stddef.h>

/* Four of each of four rows as four fours of a column each, `to` apart. */
static inline void v_turn_four(const float *const x[4], float *y, size_t to)
{
    const float32x4x2_t ab = vtrnq_f32(vld1q_f32(x[0]), vld1q_f32(x[1]));
    const float32x4x2_t cd = vtrnq_f32(vld1q_f32(x[2]), vld1q_f32(x[3]));
    vst1q_f32(y, vcombine_f32(vget_low_f32(ab.val[0]), vget_low_f32(cd.val[0])));
    vst1q_f32(y + to, vcombine_f32(vget_low_f32(ab.val[1]), vget_low_f32(cd.val[1])));
    vst1q_f32(y + 2 * to, vcombine_f32(vget_high_f32(ab.val[0]), vget_high_f32(cd.val[0])));
    vst1q_f32(y + 3 * to, vcombine_f32(vget_high_f32(ab.val[1]), vget_high_f32(cd.val[1])));
}

/* Eight rows of eight, rows `from` floats apart, as eight columns, `to` apart. */
static inline void v_turn_tile(const float *x, size_t from, float *y, size_t to)
{
    for (size_t i = 0; i < 8; i += 4) {
        for (size_t j = 0; j < 8; j += 4) {
            const float *const corner = x + i * from + j;
            const float *const row[4] = {corner, corner + from, corner + 2 * from,
                                         corner + 3 * from};
            v_turn_four(row, y + j * to + i, to);
        }
    }
}

#endif
