/* Which way a convolution goes at every level of the processor. */
#include <check.h>

#include "kernels/convolve.h"
#include "tests/run_suite.h"
#include "tests/tables.h"

/* A kernel that is not a whole number of strides would have taps that are filled up: 0 times infinity is no number. */
START_TEST(phases_are_joined_where_they_are_narrow_and_alike)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        struct ox_conv c = {.batch = 1,
                            .groups = 1,
                            .in_channels = 16,
                            .out_channels = 4,
                            .kernel = {1, 8},
                            .stride = {1, 4},
                            .dilation = {1, 1},
                            .pad = {0, 2},
                            .in = {1, 200},
                            .out = {1, 800},
                            .in_pixel = 16,
                            .out_pixel = 4,
                            .transposed = true};
        ck_assert_int_eq(ox_conv_choose(t, &c, 0), OX_CONV_JOINED);
        struct ox_conv other = c;
        other.kernel[1] = 7;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
        other = c;
        other.out_channels = other.out_pixel = 1;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_JOINED);
        ck_assert_int_eq(ox_conv_choose(t, &other, OX_CONV_MAY_WINOGRAD2), OX_CONV_JOINED_ABREAST);
        other = c;
        other.dilation[1] = 2;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
        other = c;
        other.groups = 2;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_SPREAD);
        other.in_channels = other.in_pixel = 32; /* many channels of a group */
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
        other.groups = other.out_channels = 32;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_SPREAD);
        other.kernel[1] = 3; /* shorter than the stride */
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_SPREAD);
        other = c;
        other.in_channels = other.in_pixel = 1000; /* a sum that had better be cut */
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
        other = c;
        other.out_channels = other.out_pixel = 64;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
    }
}
END_TEST

START_TEST(stride_2_goes_by_winograd_where_tiles_are_many)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        const unsigned may = OX_CONV_MAY_WINOGRAD2 | OX_CONV_MAY_WINOGRAD4;
        struct ox_conv c = {.batch = 1,
                            .groups = 1,
                            .in_channels = 128,
                            .out_channels = 128,
                            .kernel = {3, 3},
                            .stride = {2, 2},
                            .dilation = {1, 1},
                            .pad = {1, 1},
                            .in = {80, 80},
                            .out = {40, 40},
                            .in_pixel = 128,
                            .out_pixel = 128};
        const enum ox_conv_way wanted =
            t->strided_transforms > 0 ? OX_CONV_WINOGRAD_STRIDED : OX_CONV_INDIRECT;
        ck_assert_int_eq(ox_conv_choose(t, &c, may), wanted);
        ck_assert_int_eq(ox_conv_choose(t, &c, 0), OX_CONV_INDIRECT);
        struct ox_conv other = c;
        other.in[0] = other.in[1] = 56;
        other.out[0] = other.out[1] = 28;
        /* Fewer tiles pay where the transforms are cheap beside the products. */
        ck_assert_int_eq(ox_conv_choose(t, &other, may),
                         t->strided_transforms > 40 ? OX_CONV_INDIRECT : wanted);
        other.in_channels = other.out_channels = 512;
        ck_assert_int_eq(ox_conv_choose(t, &other, may), t->strided_transforms > 0
                                                             ? OX_CONV_WINOGRAD_STRIDED_LATE
                                                             : OX_CONV_INDIRECT);
        other.batch = 2; /* too much to hold */
        ck_assert_int_eq(ox_conv_choose(t, &other, may), OX_CONV_INDIRECT);
        other = c;
        other.in[0] = other.in[1] = 28;
        other.out[0] = other.out[1] = 14;
        ck_assert_int_eq(ox_conv_choose(t, &other, may), OX_CONV_INDIRECT);
        other = c;
        other.stride[1] = 1;
        other.out[1] = 56;
        ck_assert_int_eq(ox_conv_choose(t, &other, may), OX_CONV_INDIRECT);
    }
}
END_TEST

/* Lines copied between zeros, which so few channels would else go by. */
START_TEST(stride_2_of_few_channels_goes_by_winograd_where_that_pays)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        struct ox_compute cheap = *t, dear = *t;
        const struct ox_conv c = {.batch = 1,
                                  .groups = 1,
                                  .in_channels = 64,
                                  .out_channels = 64,
                                  .kernel = {3, 3},
                                  .stride = {2, 2},
                                  .dilation = {1, 1},
                                  .pad = {1, 1},
                                  .in = {160, 160},
                                  .out = {80, 80},
                                  .in_pixel = 64,
                                  .out_pixel = 64};
        cheap.strided_transforms = 20;
        dear.strided_transforms = 80;
        const unsigned may = OX_CONV_MAY_WINOGRAD2 | OX_CONV_MAY_WINOGRAD4;
        ck_assert_int_eq(ox_conv_choose(&cheap, &c, may), OX_CONV_WINOGRAD_STRIDED);
        ck_assert_int_eq(ox_conv_choose(&dear, &c, may), OX_CONV_PADDED);
        ck_assert_int_eq(ox_conv_choose(&cheap, &c, OX_CONV_MAY_WINOGRAD2), OX_CONV_PADDED);
    }
}
END_TEST

START_TEST(few_output_channels_go_abreast)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        struct ox_conv c = {.batch = 1,
                            .groups = 1,
                            .in_channels = 32,
                            .out_channels = 1,
                            .kernel = {9, 9},
                            .stride = {2, 2},
                            .dilation = {1, 1},
                            .pad = {4, 4},
                            .in = {64, 64},
                            .out = {32, 32},
                            .in_pixel = 32,
                            .out_pixel = 1};
        ck_assert_int_eq(ox_conv_choose(t, &c, OX_CONV_MAY_WINOGRAD2), OX_CONV_ABREAST);
        /* What an output does not read is multiplied by 0 all the same, so infinity spreads, as it does with Winograd. */
        ck_assert_int_ne(ox_conv_choose(t, &c, 0), OX_CONV_ABREAST);
        struct ox_conv other = c; /* a slice of more channels */
        other.out_pixel = 2;
        ck_assert_int_ne(ox_conv_choose(t, &other, OX_CONV_MAY_WINOGRAD2), OX_CONV_ABREAST);
        other = c; /* a line of few outputs */
        other.in[1] = 8;
        other.out[1] = 4;
        ck_assert_int_ne(ox_conv_choose(t, &other, OX_CONV_MAY_WINOGRAD2), OX_CONV_ABREAST);
        other = c; /* no outputs between those of the transposed */
        other.stride[0] = other.stride[1] = 1;
        other.out[0] = other.out[1] = 64;
        if (t->width >= 8) /* else vectors are not so empty */
            ck_assert_int_eq(ox_conv_choose(t, &other, OX_CONV_MAY_WINOGRAD2), OX_CONV_COLUMNS);
        ck_assert_int_ne(ox_conv_choose(t, &other, 0), OX_CONV_COLUMNS);
        other = c; /* a panel full of channels */
        other.out_channels = other.out_pixel = t->nr;
        ck_assert_int_ne(ox_conv_choose(t, &other, OX_CONV_MAY_WINOGRAD2), OX_CONV_ABREAST);
    }
}
END_TEST

/* As inverse spectra of sound have it: many channels and taps, one output channel, however few pixels. */
START_TEST(many_channels_and_taps_give_one_channel_by_columns)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        struct ox_conv c = {.batch = 1,
                            .groups = 1,
                            .in_channels = 1026,
                            .out_channels = 1,
                            .kernel = {1, 1024},
                            .stride = {1, 256},
                            .dilation = {1, 1},
                            .in = {1, 80},
                            .out = {1, 79 * 256 + 1024},
                            .in_pixel = 1026,
                            .out_pixel = 1,
                            .transposed = true};
        ck_assert_int_eq(ox_conv_choose(t, &c, OX_CONV_MAY_WINOGRAD2), OX_CONV_COLUMNS);
        c.in[1] = 1;
        c.out[1] = 1024;
        if (t->width > 1)
            ck_assert_int_eq(ox_conv_choose(t, &c, OX_CONV_MAY_WINOGRAD2), OX_CONV_COLUMNS);
    }
}
END_TEST

START_TEST(lines_are_copied_where_several_taps_read_them_and_they_stay_near)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        struct ox_conv c = {.batch = 1,
                            .groups = 1,
                            .in_channels = 16,
                            .out_channels = 16,
                            .kernel = {3, 3},
                            .stride = {2, 2},
                            .dilation = {1, 1},
                            .pad = {1, 1},
                            .in = {64, 64},
                            .out = {32, 32},
                            .in_pixel = 16,
                            .out_pixel = 16};
        ck_assert_int_eq(ox_conv_choose(t, &c, 0), OX_CONV_PADDED);
        struct ox_conv other = c;
        other.dilation[0] = other.dilation[1] = other.pad[0] = other.pad[1] = 2;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_PADDED);
        other = c; /* one tap */
        other.kernel[0] = other.kernel[1] = 1;
        other.pad[0] = other.pad[1] = 0;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
        other = c; /* spectrograms: tall kernels of one channel */
        other.in_channels = other.in_pixel = 1;
        other.kernel[0] = 41;
        other.pad[0] = 20;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_PADDED);
        other = c; /* sums too long */
        other.in_channels = other.in_pixel = 128;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
        other = c; /* weights too many */
        other.in_channels = other.in_pixel = 64;
        other.out_channels = other.out_pixel = 1024;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
        other = c; /* lines too long */
        other.in[1] = 1 << 14;
        other.out[1] = 1 << 13;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
        other = c; /* several panels past few outputs */
        other.out_channels = other.out_pixel = 4 * t->nr;
        other.out[1] = 16;
        ck_assert_int_eq(ox_conv_choose(t, &other, 0), OX_CONV_INDIRECT);
    }
}
END_TEST

/* Pixels as far apart as the taps are images of their own, until few of them fill a tile. */
START_TEST(dilated_goes_by_winograd_where_it_fills_tiles)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        const unsigned may = OX_CONV_MAY_WINOGRAD2 | OX_CONV_MAY_WINOGRAD4;
        struct ox_conv c = {.batch = 1,
                            .groups = 1,
                            .in_channels = 64,
                            .out_channels = 64,
                            .kernel = {3, 3},
                            .stride = {1, 1},
                            .dilation = {2, 3},
                            .pad = {2, 3},
                            .in = {64, 64},
                            .out = {64, 64},
                            .in_pixel = 64,
                            .out_pixel = 64};
        ck_assert_int_eq(ox_conv_choose(t, &c, may), OX_CONV_WINOGRAD4);
        ck_assert_int_lt(ox_conv_choose(t, &c, 0), OX_CONV_WINOGRAD2);
        struct ox_conv other = c;
        other.in[0] = other.in[1] = other.out[0] = other.out[1] = 33;
        other.dilation[0] = other.dilation[1] = other.pad[0] = other.pad[1] = 24;
        ck_assert_int_lt(ox_conv_choose(t, &other, may), OX_CONV_WINOGRAD2);
        other.dilation[0] = SIZE_MAX / 2;
        ck_assert_int_lt(ox_conv_choose(t, &other, may), OX_CONV_WINOGRAD2);
        other = c;
        other.stride[0] = other.stride[1] = 2;
        other.out[0] = other.out[1] = 32;
        ck_assert_int_lt(ox_conv_choose(t, &other, may), OX_CONV_WINOGRAD2);
    }
}
END_TEST

static enum ox_conv_way way_of(const struct ox_compute *t, size_t channels, size_t high,
                               size_t wide, size_t down, size_t across)
{
    const struct ox_conv c = {.batch = 1,
                              .groups = 1,
                              .in_channels = channels,
                              .out_channels = channels,
                              .kernel = {high, wide},
                              .stride = {1, 1},
                              .dilation = {1, 1},
                              .pad = {high / 2, wide / 2},
                              .in = {down, across},
                              .out = {down, across},
                              .in_pixel = channels,
                              .out_pixel = channels};
    return ox_conv_choose(t, &c, OX_CONV_MAY_WINOGRAD2 | OX_CONV_MAY_WINOGRAD4);
}

/* Their transformed weights stay where they are light; those that would take more memory than the maps do are transformed as they are
 * used, unless that was not measured, or the input would be large as well and few of its tiles could go together. */
START_TEST(pieces_of_kernels_go_by_winograd_in_the_way_that_takes_little_memory)
{
    for (unsigned level = 0; level < n_tables(); level++) {
        const struct ox_compute *t = table_at(level);
        ck_assert_int_eq(way_of(t, 64, 1, 3, 1, 1000), OX_CONV_WINOGRAD_LINE);
        ck_assert_int_eq(way_of(t, 64, 1, 11, 1, 1000), OX_CONV_WINOGRAD_LINE);
        ck_assert_int_eq(way_of(t, 64, 7, 1, 40, 40), OX_CONV_WINOGRAD_LINE);
        ck_assert_int_eq(way_of(t, 512, 1, 3, 1, 4000), OX_CONV_WINOGRAD_LINE);
        ck_assert_int_lt(way_of(t, 64, 1, 3, 1, 8), OX_CONV_WINOGRAD_LINE);
        ck_assert_int_lt(way_of(t, 16, 1, 200, 1, 4000), OX_CONV_WINOGRAD_LINE);
        ck_assert_int_eq(way_of(t, 32, 5, 5, 56, 56), OX_CONV_WINOGRAD4);
        ck_assert_int_eq(way_of(t, 32, 7, 3, 56, 56), OX_CONV_WINOGRAD4);
        const bool late = t->late_line > 0;
        ck_assert_int_eq(way_of(t, 512, 1, 3, 1, 100),
                         late ? OX_CONV_WINOGRAD_LINE_LATE : OX_CONV_INDIRECT);
        ck_assert_int_eq(way_of(t, 192, 7, 1, 17, 17),
                         late ? OX_CONV_WINOGRAD_LINE_LATE : OX_CONV_INDIRECT);
        ck_assert_int_eq(way_of(t, 128, 7, 7, 46, 46),
                         late ? OX_CONV_WINOGRAD2_LATE : OX_CONV_INDIRECT);
        ck_assert_int_lt(way_of(t, 256, 5, 5, 8, 8), OX_CONV_WINOGRAD_LINE);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("convolve_ways");
    TCase *tc = tcase_create("ways");
    tcase_add_test(tc, phases_are_joined_where_they_are_narrow_and_alike);
    tcase_add_test(tc, few_output_channels_go_abreast);
    tcase_add_test(tc, many_channels_and_taps_give_one_channel_by_columns);
    tcase_add_test(tc, lines_are_copied_where_several_taps_read_them_and_they_stay_near);
    tcase_add_test(tc, stride_2_goes_by_winograd_where_tiles_are_many);
    tcase_add_test(tc, stride_2_of_few_channels_goes_by_winograd_where_that_pays);
    tcase_add_test(tc, dilated_goes_by_winograd_where_it_fills_tiles);
    tcase_add_test(tc, pieces_of_kernels_go_by_winograd_in_the_way_that_takes_little_memory);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
