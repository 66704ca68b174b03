/* Rows of 16-bit codes: at every level the bits of plain C, which are those of the standard's rule. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/words.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

static enum ox_cpu level_of(int i)
{
    return (enum ox_cpu)(i % (int)(ox_cpu_probe() + 1));
}

START_TEST(floats_become_words_and_back)
{
    struct dice d = {(uint64_t)_i * 103 + 9};
    const size_t n = dice_between(&d, 0, 70);
    const bool is_signed = _i & 1;
    struct ox_bytes_code code = {.scale = 1e-5f * (float)dice_between(&d, 1, 9),
                                 .lo = is_signed ? INT16_MIN : 0,
                                 .hi = is_signed ? INT16_MAX : UINT16_MAX};
    code.zero = code.lo + (int32_t)dice_between(&d, 0, UINT16_MAX);
    struct guarded x = guarded_new(&d, n, true), back = guarded_new(&d, n, true);
    struct guarded room = guarded_new(&d, (n + 1) / 2, true);
    uint16_t *y = (uint16_t *)(void *)room.at;
    for (size_t i = 0; i < n; i++) {
        const size_t kind = dice_between(&d, 0, 12);
        const float halves = ((float)dice_between(&d, 0, 2000) - 1000.5f) * code.scale;
        x.at[i] = kind == 0 ? NAN : kind == 1 ? INFINITY : kind == 2 ? halves : x.at[i];
    }
    ox_words_quantize(level_of(_i), n, x.at, &code, y);
    for (size_t i = 0; i < n; i++) {
        const float q = x.at[i] / code.scale, lo = (float)(code.lo - code.zero),
                    hi = (float)(code.hi - code.zero);
        const float within = !(q > lo) ? lo : q > hi ? hi : q;
        ck_assert_uint_eq(y[i], (uint16_t)((int32_t)nearbyintf(within) + code.zero));
    }
    const uint16_t flip = is_signed ? 0x8000 : 0;
    ox_words_dequantize(level_of(_i), n, y, flip, code.zero + flip, code.scale, back.at);
    for (size_t i = 0; i < n; i++) {
        const int32_t whole = is_signed ? (int16_t)y[i] : y[i];
        ck_assert(back.at[i] == (float)(whole - code.zero) * code.scale);
    }
    guarded_free(&x);
    guarded_free(&back);
    guarded_free(&room);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("words");
    TCase *tc = tcase_create("words");
    tcase_add_loop_test(tc, floats_become_words_and_back, 0, 400);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
