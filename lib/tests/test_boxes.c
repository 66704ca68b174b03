/* Which boxes overlap: every level against one box after another. */
#include <check.h>
#include <math.h>
#include <stdint.h>

#include "common/compiler.h"
#include "kernels/boxes.h"
#include "tests/run_suite.h"

enum { MOST = 100, BLOCKS = MOST / OX_BOXES_ABREAST + 1 };

static void sides_at(uint32_t seed, float *side)
{
    static const float special[] = {NAN, INFINITY, -INFINITY, 0, 3e38f};
    for (int i = 0; i < 4; i++) {
        seed = seed * 2654435761u + 12345;
        side[i] = (float)(seed >> 24) / 16 + (i % 2 ? 1 : 0);
        if (seed >> 8 & 1 && (seed >> 9 & 63) == 0)
            side[i] = special[(seed >> 16) % 5];
    }
    side[OX_BOX_AREA] =
        (side[OX_BOX_RIGHT] - side[OX_BOX_LEFT]) * (side[OX_BOX_LOW] - side[OX_BOX_TOP]);
}

static bool overlap(const float *a, const float *b, float threshold)
{
    const float width =
                    fminf(a[OX_BOX_RIGHT], b[OX_BOX_RIGHT]) - fmaxf(a[OX_BOX_LEFT], b[OX_BOX_LEFT]),
                height = fminf(a[OX_BOX_LOW], b[OX_BOX_LOW]) - fmaxf(a[OX_BOX_TOP], b[OX_BOX_TOP]),
                common = width * height, all = a[OX_BOX_AREA] + b[OX_BOX_AREA] - common;
    return width > 0 && height > 0 && common > 0 && a[OX_BOX_AREA] > 0 && b[OX_BOX_AREA] > 0 &&
           all > 0 && common / all > threshold;
}

START_TEST(overlaps_are_those_of_one_box_after_another)
{
    static float blocks[BLOCKS * OX_BOX_SIDES * OX_BOXES_ABREAST];
    static double wide[OX_COUNT(blocks)];
    const size_t n = (size_t)_i % MOST, n_blocks = (n + OX_BOXES_ABREAST - 1) / OX_BOXES_ABREAST;
    const float threshold = (float)(_i % 7) / 8;
    float box[OX_BOX_SIDES], side[OX_BOX_SIDES];
    double wide_box[OX_BOX_SIDES];
    bool any = false;
    sides_at((uint32_t)_i * 977, box);
    for (size_t s = 0; s < OX_BOX_SIDES; s++)
        wide_box[s] = (double)box[s];
    for (size_t i = 0; i < OX_COUNT(blocks); i++)
        blocks[i] = 0;
    for (size_t i = 0; i < n; i++) {
        sides_at((uint32_t)(_i * 131 + (int)i * 17), side);
        any |= overlap(box, side, threshold);
        for (size_t s = 0; s < OX_BOX_SIDES; s++)
            blocks[(i / OX_BOXES_ABREAST * OX_BOX_SIDES + s) * OX_BOXES_ABREAST +
                   i % OX_BOXES_ABREAST] = side[s];
    }
    for (size_t i = 0; i < OX_COUNT(blocks); i++)
        wide[i] = (double)blocks[i];
    for (int level = OX_CPU_C; level <= (int)ox_cpu_probe(); level++) {
        const struct ox_boxes *t = ox_boxes((enum ox_cpu)level);
        ck_assert_int_eq(t->overlap_f32(n_blocks, blocks, box, threshold), any);
        ck_assert_int_eq(
            t->overlap_f64(n_blocks, wide, wide_box, (double)threshold),
            ox_boxes(OX_CPU_C)->overlap_f64(n_blocks, wide, wide_box, (double)threshold));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("boxes");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, overlaps_are_those_of_one_box_after_another, 0, 700);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
