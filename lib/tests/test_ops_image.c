/* Resampling and image decoding. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect_op.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

/* ---- Resize -------------------------------------------------------------------------------------------------------------- */

START_TEST(upsample_in_its_versions)
{
    struct one_op *op = one_op_new("", "Upsample", 1);

    ONE_OP_IN(op, OX_FLOAT32, "1x1x1x2", 1, 3);
    one_op_float(op, "height_scale", 2);
    one_op_float(op, "width_scale", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x2x4", 0, 1, 1, 3, 3, 1, 1, 3, 3);
    one_op_free(op);
    op = one_op_new("", "Upsample", 7);
    ONE_OP_IN(op, OX_FLOAT32, "2", 1, 3);
    ONE_OP_FLOATS(op, "scales", 2);
    one_op_string(op, "mode", "linear");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "4", 1e-6, 1, 2, 3, 3);
    one_op_free(op);
    op = one_op_new("", "Upsample", 9);
    ONE_OP_IN(op, OX_UINT8, "2", 1, 3);
    ONE_OP_IN(op, OX_FLOAT32, "1", 1.5);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_UINT8, "3", 0, 1, 1, 3);
    one_op_free(op);
}
END_TEST

START_TEST(resize_10_rounds_up_when_reducing)
{
    struct one_op *op = one_op_new("", "Resize", 10);

    ONE_OP_IN(op, OX_FLOAT32, "4", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_FLOAT32, "1", 0.6);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 0, 1, 3);
    one_op_free(op);
}
END_TEST

static struct one_op *resize(const char *mode, const char *coordinates, double size)
{
    struct one_op *op = one_op_new("", "Resize", 19);

    ONE_OP_IN(op, OX_FLOAT32, "4", 1, 2, 3, 4);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT64, "1", size);
    one_op_string(op, "mode", mode);
    one_op_string(op, "coordinate_transformation_mode", coordinates);
    return op;
}

START_TEST(resize_by_coordinate_mode)
{
    struct one_op *op = resize("linear", "half_pixel", 2);

    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 1e-6, 1.5, 3.5);
    one_op_free(op);
    op = resize("linear", "align_corners", 7);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "7", 1e-6, 1, 1.5, 2, 2.5, 3, 3.5, 4);
    one_op_free(op);
    op = resize("nearest", "asymmetric", 8);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "8", 0, 1, 1, 2, 2, 3, 3, 4, 4);
    one_op_free(op);
    op = resize("linear", "pytorch_half_pixel", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1", 0, 1);
    one_op_free(op);
    op = resize("linear", "half_pixel", 2);
    one_op_int(op, "antialias", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2", 1e-6, 1.625, 3.375);
    one_op_free(op);
    op = resize("cubic", "half_pixel", 0);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT_EMPTY(op, 0, OX_FLOAT32, "0");
    one_op_free(op);
}
END_TEST

/* What overshoots is cut to the type; the values between are rounded to the nearest. */
START_TEST(resize_of_integers_keeps_their_range)
{
    static const struct {
        enum ox_dtype type;
        double in[4], out[8];
    } cases[] = {{OX_UINT8, {0, 255, 255, 0}, {0, 58, 197, 255, 255, 197, 58, 0}},
                 {OX_INT8, {-128, 127, 127, -128}, {-128, -70, 69, 127, 127, 69, -70, -128}},
                 {OX_INT64, {0, 255, 255, -7}, {-27, 58, 197, 291, 292, 196, 52, -35}}};
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
        struct one_op *op = one_op_new("", "Resize", 13);
        one_op_in(op, cases[i].type, "4", cases[i].in, 4);
        one_op_in_none(op);
        ONE_OP_IN(op, OX_FLOAT32, "1", 2);
        one_op_string(op, "mode", "cubic");
        ck_assert_int_eq(one_op_run(op, 1), OX_OK);
        one_op_expect(op, 0, cases[i].type, "8", 0, cases[i].out, 8);
        one_op_free(op);
    }
}
END_TEST

START_TEST(resize_keeps_an_aspect_ratio)
{
    struct one_op *op = one_op_new("", "Resize", 18);

    ONE_OP_IN(op, OX_FLOAT32, "2x4", 1, 2, 3, 4, 5, 6, 7, 8);
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT64, "2", 7, 8);
    ONE_OP_INTS(op, "axes", 0, -1);
    one_op_string(op, "keep_aspect_ratio_policy", "not_larger");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ck_assert_int_eq(one_op_out(op, 0)->dims[0], 4);
    ck_assert_int_eq(one_op_out(op, 0)->dims[1], 8);
    one_op_free(op);
}
END_TEST

START_TEST(resize_refuses_what_makes_no_size)
{
    static const double bad[] = {0, -1, (double)NAN, 1e30};

    for (size_t i = 0; i < OX_COUNT(bad); i++) {
        struct one_op *op = one_op_new("", "Resize", 13);

        ONE_OP_IN(op, OX_FLOAT32, "2", 1, 2);
        one_op_in_none(op);
        one_op_in(op, OX_FLOAT32, "1", &bad[i], 1);
        RUN_FAILS_AS(op, 1, OX_INPUT, "scales[0] is");
    }
    RUN_FAILS_AS(resize("linear", "half_pixel", -1), 1, OX_INPUT, "sizes[0] is -1");
    RUN_FAILS_AS(resize("linear", "half_pixel", 4e15), 1, OX_NO_MEMORY, "memory");
    RUN_FAILS_AS(resize("linear", "tf_crop_and_resize", 2), 1, OX_INPUT, "roi has 0 elements");
    RUN_FAILS_AS(resize("sharp", "half_pixel", 2), 1, OX_INPUT, "'sharp'");
    struct one_op *op = one_op_new("", "Resize", 13);

    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0");
    one_op_in_none(op);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "no elements to resize");
}
END_TEST

START_TEST(resize_moves_and_rounds_integers)
{
    struct one_op *op = one_op_new("", "Resize", 13);

    ONE_OP_IN(op, OX_UINT8, "2", 0, 255);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1", 2);
    one_op_string(op, "mode", "cubic");
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ck_assert_int_eq(ox_tensor_get_int(one_op_out(op, 0), 0), 0); /* undershoots, and saturates */
    one_op_free(op);
    op = one_op_new("", "Resize", 13);
    one_op_in_strings(op, "2", (const char *const[]){"a", "b"}, 2);
    one_op_in_none(op);
    ONE_OP_IN(op, OX_FLOAT32, "1", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    one_op_expect_strings(op, 0, "4", (const char *const[]){"a", "a", "b", "b"}, 4);
    one_op_free(op);
}
END_TEST

/* ---- Grids ---------------------------------------------------------------------------------------------------------------- */

static struct one_op *sample(const char *padding, double x)
{
    struct one_op *op = one_op_new("", "GridSample", 20);

    ONE_OP_IN(op, OX_FLOAT32, "1x1x3", 1, 2, 4);
    ONE_OP_IN(op, OX_FLOAT32, "1x1x1", x);
    one_op_string(op, "padding_mode", padding);
    one_op_int(op, "align_corners", 1);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    return op;
}

START_TEST(grid_sample_far_outside)
{
    struct one_op *op = sample("zeros", 0.5);

    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 1e-6, 3);
    one_op_free(op);
    op = sample("zeros", 3e38);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 0, 0);
    one_op_free(op);
    op = sample("border", -3e38);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 0, 1);
    one_op_free(op);
    op = sample("reflection", 2);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 1e-6, 2);
    one_op_free(op);
    op = sample("zeros", (double)NAN);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x1x1", 0, 0);
    one_op_free(op);
    op = sample("reflection", (double)INFINITY);
    ck_assert_uint_eq(one_op_out(op, 0)->n, 1);
    one_op_free(op);
}
END_TEST

START_TEST(col2im_sums_blocks)
{
    struct one_op *op = one_op_new("", "Col2Im", 18);

    ONE_OP_IN(op, OX_INT32, "1x2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "1", 3);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    ck_assert_int_eq(one_op_run(op, 1), OX_OK);
    ONE_OP_OUT(op, 0, OX_INT32, "1x1x3", 0, 1, 5, 4);
    one_op_free(op);
    op = one_op_new("", "Col2Im", 18);
    ONE_OP_IN(op, OX_INT32, "1x2x2", 1, 2, 3, 4);
    ONE_OP_IN(op, OX_INT64, "1", 4);
    ONE_OP_IN(op, OX_INT64, "1", 2);
    RUN_FAILS_AS(op, 1, OX_INPUT, "3 blocks");
}
END_TEST

/* ---- Images --------------------------------------------------------------------------------------------------------------- */

static struct one_op *image(const void *bytes, size_t n, const char *format)
{
    struct one_op *op = one_op_new("", "ImageDecoder", 20);
    char shape[24];

    snprintf(shape, sizeof shape, "%zu", n);
    one_op_in_data(op, OX_UINT8, shape, bytes, n);
    one_op_string(op, "pixel_format", format);
    ck_assert_msg(one_op_run(op, 1) == OX_OK, "%s", one_op_error(op));
    return op;
}

START_TEST(pnm_in_text_and_bytes)
{
    static const char text[] = "P3 # two pixels\n2 1\n15\n15 0 0 0 0 15\n",
                      bits[] = "P4\n2 2\n\x40\x80", gray[] = "P5 1 1 65535\n\x80\x00";
    struct one_op *op = image(text, sizeof text - 1, "BGR");

    ONE_OP_OUT(op, 0, OX_UINT8, "1x2x3", 0, 0, 0, 255, 255, 0, 0);
    one_op_free(op);
    op = image(bits, sizeof bits - 1, "Grayscale");
    ONE_OP_OUT(op, 0, OX_UINT8, "2x2x1", 0, 255, 0, 0, 255);
    one_op_free(op);
    op = image(gray, sizeof gray, "Grayscale");
    ONE_OP_OUT(op, 0, OX_UINT8, "1x1x1", 0, 128);
    one_op_free(op);
}
END_TEST

static const unsigned char bmp_24[] = {'B', 'M', 62, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0,  0, 40, 0,
                                       0,   0,   1,  0, 0, 0, 2, 0, 0, 0, 1,  0, 24, 0, 0,  0,
                                       0,   0,   0,  0, 0, 0, 0, 0, 0, 0, 0,  0, 0,  0, 0,  0,
                                       0,   0,   0,  0, 0, 0, 1, 2, 3, 0, 4,  5, 6,  0};

START_TEST(bmp_stands_on_its_head)
{
    struct one_op *op = image(bmp_24, sizeof bmp_24, "RGB");

    ONE_OP_OUT(op, 0, OX_UINT8, "2x1x3", 0, 6, 5, 4, 3, 2, 1);
    one_op_free(op);
}
END_TEST

/* Cut at each byte, and with each byte changed: an image or an empty one, never more. */
START_TEST(damaged_images_are_empty_or_decoded)
{
    unsigned char bytes[sizeof bmp_24];

    for (size_t n = 0; n < sizeof bmp_24; n++) {
        struct one_op *op = image(bmp_24, n, "RGB");

        ck_assert_msg(one_op_out(op, 0)->n == 0, "%zu bytes", n);
        one_op_free(op);
        for (int value = 0; value < 256; value += 51) {
            memcpy(bytes, bmp_24, sizeof bytes);
            bytes[n] = (unsigned char)value;
            op = one_op_new("", "ImageDecoder", 20);
            one_op_in_data(op, OX_UINT8, "62", bytes, sizeof bytes);
            enum ox_status status = one_op_run(op, 1);

            ck_assert(status == OX_OK || status == OX_NO_MEMORY);
            one_op_free(op);
        }
    }
    struct one_op *op = image("\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 16, "RGB");

    ONE_OP_OUT_EMPTY(op, 0, OX_UINT8, "0x0x3");
    one_op_free(op);
    op = image("\xFF\xD8\xFF\xE0 no more", 12, "Grayscale");
    ONE_OP_OUT_EMPTY(op, 0, OX_UINT8, "0x0x1");
    one_op_free(op);
    op = image("P6 99999 99999 255\n", 19, "RGB");
    ONE_OP_OUT_EMPTY(op, 0, OX_UINT8, "0x0x3");
    one_op_free(op);
}
END_TEST

/* Channels that lie side by side are what planes are, whatever their number; weights of 0 are among those of a cubic of whole steps. */
START_TEST(resize_of_neighbouring_channels_is_that_of_planes)
{
    enum { H = 11, W = 13, MOST_CHANNELS = 6 };
    static const char *const modes[] = {
        "mode = \"cubic\"", "mode = \"cubic\", antialias = 1", "mode = \"linear\", antialias = 1",
        "mode = \"cubic\", coordinate_transformation_mode = \"asymmetric\""};
    static const char *const sizes[] = {"1.7, 2.3", "0.4, 0.3", "2, 2"};
    const int channels = _i % MOST_CHANNELS + 1;
    const char *mode = modes[_i / MOST_CHANNELS % 4], *size = sizes[_i / MOST_CHANNELS / 4];
    static uint8_t x[H * W * MOST_CHANNELS];
    struct text_run f;
    char text[512], planes[32], lines[32];
    snprintf(planes, sizeof planes, "1, 1, %s", size);
    snprintf(lines, sizeof lines, "1, %s, 1", size);
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : 19]> g (uint8[1,11,13,C] x) => (a, b) "
             "<float[4] s = {%s}, float[4] t = {%s}> { a = Resize <%s> (x, , s) "
             "u = Transpose <perm = [0,3,1,2]> (x) v = Resize <%s> (u, , t) "
             "b = Transpose <perm = [0,2,3,1]> (v) }",
             lines, planes, mode, mode);
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(i * 7919 % 251 + i % 5);
    text_must_plan(&f, text, &(struct ox_run_options){.level = 0});
    text_give(&f, OX_UINT8, 4, (const int64_t[]){1, H, W, channels}, x);
    text_must_run(&f);
    const struct ox_tensor *a = ox_datum_get_tensor(f.out[0]), *b = ox_datum_get_tensor(f.out[1]);
    ck_assert_uint_eq(a->n, b->n);
    ck_assert_mem_eq(a->data, b->data, a->n);
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_image");
    TCase *tests = tcase_create("image");

    tcase_add_test(tests, upsample_in_its_versions);
    tcase_add_test(tests, resize_10_rounds_up_when_reducing);
    tcase_add_test(tests, resize_by_coordinate_mode);
    tcase_add_test(tests, resize_of_integers_keeps_their_range);
    tcase_add_test(tests, resize_keeps_an_aspect_ratio);
    tcase_add_test(tests, resize_refuses_what_makes_no_size);
    tcase_add_test(tests, resize_moves_and_rounds_integers);
    tcase_add_test(tests, grid_sample_far_outside);
    tcase_add_test(tests, col2im_sums_blocks);
    tcase_add_test(tests, pnm_in_text_and_bytes);
    tcase_add_test(tests, bmp_stands_on_its_head);
    tcase_add_test(tests, damaged_images_are_empty_or_decoded);
    tcase_add_loop_test(tests, resize_of_neighbouring_channels_is_that_of_planes, 0, 72);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
