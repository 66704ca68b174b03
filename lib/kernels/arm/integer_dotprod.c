#include <arm_neon.h>
#include <string.h>

#include "kernels/integer.h"

/* The instruction multiplies signed bytes. Data are unsigned: less 128 they fit, and 128 times the weights' sum, which a further
 * product a vector gives, is added at the end. */
#define IV int32x4_t
#define IR 12
enum { IW = 4 };
#define iv_zero() vdupq_n_s32(0)
#define iv_set(x) vdupq_n_s32((x) ^ (int32_t)0x80808080)
#define iv_load(p) vld1q_s32((const int32_t *)(const void *)(p))
#define iv_store(p, v) vst1q_s32((p), (v))
#define iv_dot(sum, x, b) vdotq_s32((sum), vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(b))
#define IV_LESS 128
#define iv_less(sum, b) vdotq_s32((sum), vdupq_n_s8(-IV_LESS), vreinterpretq_s8_s32(b))
#define iv_sub(a, b) vsubq_s32((a), (b))

#include "kernels/integer_tmpl.h"

void ox_integer_dotprod(struct ox_integer *t)
{
    t->mr = IR;
    t->nr = INR;
    t->layout = OX_INTEGER_QUADS;
    t->tile = int_tile;
    t->words = NULL;
}
