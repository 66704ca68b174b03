#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include "tensor/io/image.h"

enum { MOST_SCANS = 500 /* of a progressive .jpg: each is a pass over the whole picture */ };

enum ox_status ox_picture_alloc(struct ox_picture *picture, struct ox_arena *arena,
                                const char *name, struct ox_error *err)
{
    size_t bytes;
    if (picture->width == 0 || picture->height == 0)
        return ox_fail(err, OX_INPUT, "%s: the picture is empty", name);
    if (OX_MUL_OVERFLOWS(picture->width, picture->height, &bytes) ||
        OX_MUL_OVERFLOWS(bytes, picture->channels, &bytes))
        return ox_fail(err, OX_LIMIT, "%s: the picture is larger than the address space", name);
    picture->pixels = ox_arena_alloc(arena, bytes);
    return picture->pixels
               ? OX_OK
               : ox_fail(err, OX_LIMIT, "%s: a picture of %zu x %zu goes over the memory limit",
                         name, picture->width, picture->height);
}

/* ---- PNG ---- */

struct png_source {
    const uint8_t *at, *end;
    jmp_buf *failed;
    char message[200];
};

static void png_failed(png_structp png, png_const_charp message)
{
    struct png_source *source = png_get_error_ptr(png);
    snprintf(source->message, sizeof source->message, "%s", message);
    longjmp(*source->failed, 1);
}

static void png_warned(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void png_read(png_structp png, png_bytep to, size_t n)
{
    struct png_source *source = png_get_io_ptr(png);
    if (n > (size_t)(source->end - source->at))
        png_error(png, "the file ends too early");
    memcpy(to, source->at, n);
    source->at += n;
}

/* Everything to 8 bits of gray or of three colours. */
static int png_transform(png_structp png, png_infop info)
{
    int type = png_get_color_type(png, info);
    if (png_get_bit_depth(png, info) == 16)
        png_set_scale_16(png);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (!(type & PNG_COLOR_MASK_COLOR))
        png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_alpha(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return passes;
}

static enum ox_status png_pixels(png_structp png, png_infop info, struct ox_picture *picture,
                                 struct ox_arena *arena, struct ox_env *env, const char *name,
                                 struct ox_error *err)
{
    png_read_info(png, info);
    int passes = png_transform(png, info);
    picture->width = png_get_image_width(png, info);
    picture->height = png_get_image_height(png, info);
    picture->channels = png_get_channels(png, info);
    size_t row = picture->width * picture->channels;
    if ((picture->channels != 1 && picture->channels != 3) || png_get_rowbytes(png, info) != row)
        return ox_fail(err, OX_UNSUPPORTED, "%s: pixels of a form that is not read", name);
    OX_TRY(ox_picture_alloc(picture, arena, name, err));
    for (int pass = 0; pass < passes; pass++) {
        for (size_t y = 0; y < picture->height; y++) {
            OX_TRY(ox_env_poll(env, err));
            png_read_row(png, picture->pixels + y * row, NULL);
        }
    }
    png_read_end(png, NULL);
    return OX_OK;
}

enum ox_status ox_png_decode(struct ox_picture *picture, struct ox_arena *arena, struct ox_env *env,
                             const char *name, const uint8_t *bytes, size_t n, struct ox_error *err)
{
    jmp_buf failed;
    struct png_source source = {.at = bytes, .end = bytes + n, .failed = &failed};
    png_structp png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, png_failed, png_warned);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", name);
    }
    png_infop volatile kept_info = info; /* what is used after the longjmp */
    png_structp volatile kept_png = png;
    enum ox_status volatile status;
    if (setjmp(failed) == 0) {
        png_set_read_fn(png, &source, png_read);
        png_set_user_limits(png, 1 << 20, 1 << 20);
        status = png_pixels(png, info, picture, arena, env, name, err);
    } else {
        status = ox_fail(err, OX_INPUT, "%s: at byte %zu: PNG: %s", name,
                         (size_t)(source.at - bytes), source.message);
    }
    png_structp last_png = kept_png;
    png_infop last_info = kept_info;
    png_destroy_read_struct(&last_png, &last_info, NULL);
    return status;
}

/* ---- JPEG ---- */

struct jpeg_context {
    struct jpeg_error_mgr errors; /* first: libjpeg knows this much of it */
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    struct ox_env *env;
    char message[JMSG_LENGTH_MAX];
};

static void jpeg_failed(j_common_ptr info)
{
    struct jpeg_context *context = (struct jpeg_context *)(void *)info->err;
    info->err->format_message(info, context->message);
    longjmp(context->failed, 1);
}

/* A file that ends too early is padded with gray and only warned of; that is no picture. */
static void jpeg_said(j_common_ptr info, int level)
{
    if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF)
        jpeg_failed(info);
}

static void jpeg_progressed(j_common_ptr info)
{
    struct jpeg_context *context = (struct jpeg_context *)(void *)info->err;
    j_decompress_ptr jpeg = (j_decompress_ptr)info;
    const char *why = jpeg->input_scan_number > MOST_SCANS              ? "too many scans"
                      : ox_env_poll(context->env, NULL) == OX_CANCELLED ? "cancelled"
                                                                        : NULL;
    if (!why)
        return;
    snprintf(context->message, sizeof context->message, "%s", why);
    longjmp(context->failed, 1);
}

/* Pillow's way from CMYK: Adobe's files hold it inverted. */
static void cmyk_to_rgb(uint8_t *to, const uint8_t *from, size_t n, bool inverted)
{
    for (size_t i = 0; i < n; i++) {
        int black = inverted ? from[i * 4 + 3] : 255 - from[i * 4 + 3];
        for (int c = 0; c < 3; c++) {
            int ink = inverted ? 255 - from[i * 4 + c] : from[i * 4 + c];
            int product = ink * black + 128;
            int value = black - (((product >> 8) + product) >> 8);
            to[i * 3 + c] = (uint8_t)(value < 0 ? 0 : value);
        }
    }
}

static enum ox_status jpeg_pixels(struct jpeg_decompress_struct *jpeg, struct ox_picture *picture,
                                  struct ox_arena *arena, const char *name, struct ox_error *err)
{
    jpeg_read_header(jpeg, TRUE);
    bool cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    bool gray = jpeg->jpeg_color_space == JCS_GRAYSCALE;
    jpeg->out_color_space = cmyk ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
    *picture = (struct ox_picture){
        .width = jpeg->image_width, .height = jpeg->image_height, .channels = gray ? 1 : 3};
    OX_TRY(ox_picture_alloc(picture, arena, name, err));
    /* A progressive picture is held as 16-bit coefficients too: libjpeg's own, so this only asks whether they fit. */
    size_t coefficients =
        jpeg->progressive_mode ? picture->width * picture->height * picture->channels * 2 : 0;
    struct ox_arena_mark mark = ox_arena_mark(arena);
    bool fits = ox_budget_take(arena->budget, coefficients);
    if (fits)
        ox_budget_give(arena->budget, coefficients);
    size_t row = picture->width * (cmyk ? 4 : picture->channels);
    uint8_t *line = fits ? ox_arena_alloc(arena, row) : NULL;
    if (!line)
        return ox_fail(err, OX_LIMIT, "%s: a picture of %zu x %zu goes over the memory limit", name,
                       picture->width, picture->height);
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *to = picture->pixels + jpeg->output_scanline * picture->width * picture->channels;
        JSAMPROW rows[1] = {cmyk ? line : to};
        jpeg_read_scanlines(jpeg, rows, 1);
        if (cmyk)
            cmyk_to_rgb(to, line, picture->width, jpeg->saw_Adobe_marker);
    }
    ox_arena_rewind(arena, mark);
    jpeg_finish_decompress(jpeg);
    return OX_OK;
}

enum ox_status ox_jpeg_decode(struct ox_picture *picture, struct ox_arena *arena,
                              struct ox_env *env, const char *name, const uint8_t *bytes, size_t n,
                              struct ox_error *err)
{
    struct jpeg_context context = {.env = env};
    struct jpeg_decompress_struct jpeg = {.err = jpeg_std_error(&context.errors)};
    context.errors.error_exit = jpeg_failed;
    context.errors.emit_message = jpeg_said;
    context.progress.progress_monitor = jpeg_progressed;
    enum ox_status volatile status;
    if (setjmp(context.failed) == 0) {
        jpeg_create_decompress(&jpeg);
        jpeg.progress = &context.progress;
        jpeg_mem_src(&jpeg, bytes, n);
        status = jpeg_pixels(&jpeg, picture, arena, name, err);
    } else {
        bool cancelled = strcmp(context.message, "cancelled") == 0;
        status = ox_fail(err, cancelled ? OX_CANCELLED : OX_INPUT, "%s: JPEG: %s", name,
                         context.message);
    }
    jpeg_destroy_decompress(&jpeg);
    return status;
}

/* ---- PGM, PPM ---- */

struct pnm {
    const uint8_t *start, *at, *end;
};

/* The next number of a header or of the plain forms; comments run to the end of their line. */
static bool pnm_number(struct pnm *pnm, uint32_t most, uint32_t *value)
{
    for (;; pnm->at++) {
        if (pnm->at == pnm->end)
            return false;
        if (*pnm->at == '#')
            while (pnm->at < pnm->end && *pnm->at != '\n')
                pnm->at++;
        else if (*pnm->at != ' ' && (*pnm->at < '\t' || *pnm->at > '\r'))
            break;
        if (pnm->at == pnm->end)
            return false;
    }
    uint64_t number = 0;
    const uint8_t *first = pnm->at;
    for (; pnm->at < pnm->end && *pnm->at >= '0' && *pnm->at <= '9' && number <= most; pnm->at++)
        number = number * 10 + (uint64_t)(*pnm->at - '0');
    *value = (uint32_t)number;
    return pnm->at > first && number <= most;
}

enum ox_status ox_pnm_decode(struct ox_picture *picture, struct ox_arena *arena, struct ox_env *env,
                             const char *name, const uint8_t *bytes, size_t n, struct ox_error *err)
{
    struct pnm pnm = {bytes, bytes + 2, bytes + n};
    uint32_t width;
    uint32_t height;
    uint32_t most;
    bool plain = bytes[1] == '2' || bytes[1] == '3';
    if (!pnm_number(&pnm, 1 << 20, &width) || !pnm_number(&pnm, 1 << 20, &height) ||
        !pnm_number(&pnm, 65535, &most) || most == 0 || pnm.at == pnm.end)
        return ox_fail(err, OX_INPUT, "%s: at byte %zu: no width, height or largest value", name,
                       (size_t)(pnm.at - bytes));
    *picture = (struct ox_picture){
        .width = width, .height = height, .channels = bytes[1] == '2' || bytes[1] == '5' ? 1 : 3};
    pnm.at++; /* the one white space before the pixels */
    size_t item = most > 255 ? 2 : 1;
    uint64_t samples = (uint64_t)width * height * picture->channels;
    if (plain ? (uint64_t)(pnm.end - pnm.at) < samples
              : (uint64_t)(pnm.end - pnm.at) / item < samples)
        return ox_fail(err, OX_INPUT,
                       "%s: at byte %zu: the file ends too early: %llu samples are missing", name,
                       n, (unsigned long long)samples);
    OX_TRY(ox_picture_alloc(picture, arena, name, err));
    for (size_t i = 0; i < samples; i++) {
        uint32_t value;
        if (i % 65536 == 0)
            OX_TRY(ox_env_poll(env, err));
        if (!plain)
            value = item == 2 ? (uint32_t)(pnm.at[2 * i] << 8 | pnm.at[2 * i + 1]) : pnm.at[i];
        else if (!pnm_number(&pnm, 65535, &value))
            return ox_fail(err, OX_INPUT, "%s: at byte %zu: no sample", name,
                           (size_t)(pnm.at - bytes));
        value = value > most ? most : value;
        picture->pixels[i] = (uint8_t)(most == 255 ? value : (value * 255 + most / 2) / most);
    }
    return OX_OK;
}

/* ---- */

enum ox_status ox_picture_decode(struct ox_picture *picture, struct ox_arena *arena,
                                 struct ox_env *env, const char *name, const void *bytes, size_t n,
                                 struct ox_error *err)
{
    const uint8_t *p = bytes;
    if (n >= 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0)
        return ox_png_decode(picture, arena, env, name, p, n, err);
    if (n >= 3 && memcmp(p, "\xFF\xD8\xFF", 3) == 0)
        return ox_jpeg_decode(picture, arena, env, name, p, n, err);
    if (n >= 3 && p[0] == 'P' && (p[1] == '2' || p[1] == '3' || p[1] == '5' || p[1] == '6'))
        return ox_pnm_decode(picture, arena, env, name, p, n, err);
    return ox_fail(err, OX_INPUT, "%s: is no picture that is read (.png, .jpg, .ppm, .pgm)", name);
}
