#include <math.h>

#include "common/env.h"
#include "tests/golden.h"
#include "tests/run_suite.h"

static struct ox_env *env;
static struct ox_error err;

static void setup(void)
{
    env = ox_env_new();
    ck_assert_ptr_nonnull(env);
}

static void teardown(void)
{
    ck_assert_uint_eq(env->budget.used, 0);
    ox_env_release(env);
}

/* The picture's bytes, [1, height, width, channels], against what Pillow made of it, without the 1. */
static void check_pixels(const char *name, struct ox_tensor_options options,
                         const char *expected_name)
{
    options.dtype = OX_UINT8;
    options.image.nhwc = true;
    struct ox_tensor *pixels = golden_load(env, name, &options, "");
    struct ox_tensor *expected = golden_load(env, expected_name, NULL, "");
    ck_assert_uint_eq(pixels->rank, 4);
    ck_assert_int_eq(pixels->dims[1], expected->dims[0]);
    ck_assert_int_eq(pixels->dims[2], expected->dims[1]);
    ck_assert_msg(pixels->n == expected->n && memcmp(pixels->data, expected->data, pixels->n) == 0,
                  "%s", name);
    ox_tensor_release(pixels);
    ox_tensor_release(expected);
}

START_TEST(pictures_decode_as_pillow_decodes_them)
{
    struct ox_tensor_options options = {.rank = 0};
    check_pixels("picture.png", options, "picture.npy");
    check_pixels("picture.ppm", options, "picture.npy");
    check_pixels("alpha.png", options, "picture.npy");
    check_pixels("picture.bmp", options, "picture.npy");
#ifdef OX_SONAME_TIFF
    check_pixels("picture.tif", options, "picture.npy");
#endif
#ifdef OX_SONAME_WEBP
    check_pixels("picture.webp", options, "picture.npy");
#endif
#ifdef OX_SONAME_OPENJPEG
    check_pixels("picture.jp2", options, "picture.npy");
#endif
    check_pixels("picture.jpg", options, "picture_jpg.npy");
    check_pixels("progressive.jpg", options, "progressive_jpg.npy");
    check_pixels("cmyk.jpg", options, "cmyk_jpg.npy");
    check_pixels("palette.png", options, "palette_png.npy");
    check_pixels("gray.png", options, "gray_png.npy");
    check_pixels("gray.pgm", options, "gray_png.npy");
    check_pixels("bits.png", options, "bits_png.npy");
    options.image.gray = true;
    check_pixels("picture.png", options, "picture_gray.npy");
    check_pixels("gray.png", options, "picture_gray.npy");
}
END_TEST

START_TEST(resizing_is_pillows_to_the_last_bit)
{
    struct ox_tensor_options options = {.image = {.resize_height = 5, .resize_width = 7}};
    check_pixels("picture.png", options, "resized_5x7.npy");
    options.image.resize_height = 20;
    options.image.resize_width = 30;
    check_pixels("picture.png", options, "resized_20x30.npy");
    options = (struct ox_tensor_options){.image = {.resize_height = 6, .crop_height = 4}};
    check_pixels("picture.png", options, "shorter_6_crop_4.npy");
}
END_TEST

START_TEST(pixels_are_scaled_normalized_and_laid_out)
{
    struct ox_tensor *raw = golden_load(env, "picture.npy", NULL, "");
    const uint8_t *bytes = raw->data;
    struct ox_tensor_options options = {.image = {.scale = 1.0 / 255,
                                                  .mean = {0.485, 0.456, 0.406},
                                                  .std = {0.229, 0.224, 0.225},
                                                  .n_mean = 3,
                                                  .n_std = 3}};
    for (int form = 0; form < 4; form++) {
        options.image.nhwc = form & 1;
        options.image.bgr = form & 2;
        struct ox_tensor *tensor = golden_load(env, "picture.png", &options, "");
        ck_assert_uint_eq(tensor->dtype, OX_FLOAT32);
        ck_assert_int_eq(tensor->dims[form & 1 ? 3 : 1], 3);
        for (size_t c = 0; c < 3; c++) {
            for (size_t i = 0; i < 9 * 13; i++) {
                size_t at = form & 1 ? i * 3 + c : c * 9 * 13 + i;
                double byte = bytes[i * 3 + (form & 2 ? 2 - c : c)];
                double value = (byte / 255 - options.image.mean[c]) / options.image.std[c];
                ck_assert_double_eq_tol(ox_tensor_get_double(tensor, at), value, 1e-6);
            }
        }
        ox_tensor_release(tensor);
    }
    ox_tensor_release(raw);
}
END_TEST

START_TEST(a_crop_larger_than_the_picture_is_padded_with_black)
{
    struct ox_tensor_options options = {
        .dtype = OX_UINT8, .image = {.crop_height = 12, .crop_width = 16, .gray = true}};
    struct ox_tensor *tensor = golden_load(env, "picture.png", &options, "");
    struct ox_tensor *gray = golden_load(env, "picture_gray.npy", NULL, "");
    for (int64_t y = 0; y < 12; y++) {
        for (int64_t x = 0; x < 16; x++) {
            int64_t from_y = y - 1;
            int64_t from_x = x - 1;
            bool inside = from_y >= 0 && from_y < 9 && from_x >= 0 && from_x < 13;
            int64_t expected = inside ? ox_tensor_get_int(gray, (size_t)(from_y * 13 + from_x)) : 0;
            ck_assert_int_eq(ox_tensor_get_int(tensor, (size_t)(y * 16 + x)), expected);
        }
    }
    ox_tensor_release(tensor);
    ox_tensor_release(gray);
}
END_TEST

static enum ox_status open_with(const struct ox_image_options *image)
{
    struct ox_tensor_options options = {.image = *image};
    struct ox_tensor_file *file = NULL;
    char path[512];
    golden_path(path, "picture.png");
    enum ox_status status = ox_tensor_file_open(&file, env, path, &options, &err);
    ox_tensor_file_release(status == OX_OK ? file : NULL);
    return status;
}

START_TEST(impossible_options_are_usage_errors)
{
    ck_assert_int_eq(open_with(&(struct ox_image_options){.n_mean = 2}), OX_USAGE);
    ck_assert_int_eq(open_with(&(struct ox_image_options){.n_std = 1}), OX_USAGE);
    ck_assert_int_eq(open_with(&(struct ox_image_options){.crop_height = -1}), OX_USAGE);
    ck_assert_int_eq(open_with(&(struct ox_image_options){.resize_height = INT64_MAX}), OX_USAGE);
}
END_TEST

START_TEST(pictures_too_large_for_the_budget_are_refused)
{
    static const char header[] = "P6 100000 100000 255\n";
    char bytes[64];
    memcpy(bytes, header, sizeof header);
    ck_assert_int_eq(load_all(env, "huge.ppm", bytes, sizeof header + 3, NULL, &err), OX_INPUT);
    ox_env_limits(env)->memory_bytes = 20000;
    ck_assert_int_eq(open_with(&(struct ox_image_options){.resize_height = 1000}), OX_LIMIT);
}
END_TEST

START_TEST(plain_and_deep_ppm_are_read)
{
    static const char plain[] = "P3\n# a comment\n2 1 # and one more\n15\n0 5 15  15 0 7\n";
    struct ox_tensor_options options = {.dtype = OX_UINT8, .image = {.nhwc = true}};
    struct ox_tensor_file *file;
    struct ox_tensor *tensor;
    ck_assert_int_eq(
        ox_tensor_file_open_memory(&file, env, "x.ppm", plain, sizeof plain - 1, &options, &err),
        OX_OK);
    ck_assert_int_eq(ox_tensor_file_load(&tensor, file, 0, &err), OX_OK);
    ck_assert_mem_eq(tensor->data, "\x00\x55\xFF\xFF\x00\x77", 6);
    ox_tensor_release(tensor);
    ox_tensor_file_release(file);
    static const char deep[] = "P5 2 1 65535\n\xFF\xFF\x80\x00";
    options.image.gray = true;
    ck_assert_int_eq(
        ox_tensor_file_open_memory(&file, env, "x.pgm", deep, sizeof deep - 1, &options, &err),
        OX_OK);
    ck_assert_int_eq(ox_tensor_file_load(&tensor, file, 0, &err), OX_OK);
    ck_assert_mem_eq(tensor->data, "\xFF\x80", 2);
    ox_tensor_release(tensor);
    ox_tensor_file_release(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("image");
    TCase *tests = tcase_create("image");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, pictures_decode_as_pillow_decodes_them);
    tcase_add_test(tests, resizing_is_pillows_to_the_last_bit);
    tcase_add_test(tests, pixels_are_scaled_normalized_and_laid_out);
    tcase_add_test(tests, a_crop_larger_than_the_picture_is_padded_with_black);
    tcase_add_test(tests, impossible_options_are_usage_errors);
    tcase_add_test(tests, pictures_too_large_for_the_budget_are_refused);
    tcase_add_test(tests, plain_and_deep_ppm_are_read);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
