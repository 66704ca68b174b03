/* JPEG by libjpeg-turbo, with its smooth ("fancy") upsampling of chroma, as ImageDecoder's standard asks. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "tensor/picture/picture.h"

/* Each scan of a progressive picture costs a pass over all of it, however few bytes it takes. */
enum { JPEG_SCANS = 500 };

struct jpeg_reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const struct ox_picture_source *source;
    struct ox_picture *picture;
    struct ox_error *err;
    enum ox_status status;
    uint64_t held; /* taken from the budget for what libjpeg keeps of a picture of several scans */
};

static void jpeg_fail(j_common_ptr common)
{
    struct jpeg_reader *p = common->client_data;
    char message[JMSG_LENGTH_MAX];

    common->err->format_message(common, message);
    p->status =
        ox_fail(p->err, common->err->msg_code == JERR_OUT_OF_MEMORY ? OX_NO_MEMORY : OX_INPUT,
                "%s: JPEG: %s", p->source->name, message);
    longjmp(p->back, 1);
}

/* A file that ends too early is padded with gray and only warned of; that is no picture. */
static void jpeg_warn(j_common_ptr common, int level)
{
    if (level < 0 && common->err->msg_code == JWRN_JPEG_EOF)
        jpeg_fail(common);
}

static void jpeg_hush(j_common_ptr common)
{
    (void)common;
}

static void jpeg_watch(j_common_ptr common)
{
    struct jpeg_reader *p = common->client_data;

    if (!common->is_decompressor)
        return;
    p->status = p->jpeg.input_scan_number > JPEG_SCANS
                    ? ox_fail(p->err, OX_INPUT, "%s: JPEG: too many scans", p->source->name)
                    : ox_env_poll(p->source->env, p->err);
    if (p->status != OX_OK)
        longjmp(p->back, 1);
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

/* All that may jump back; state is in *p alone. */
static enum ox_status jpeg_pixels(struct jpeg_reader *p)
{
    struct jpeg_decompress_struct *jpeg = &p->jpeg;
    struct ox_picture *picture = p->picture;

    jpeg_create_decompress(jpeg);
    jpeg->progress = &p->progress;
    jpeg_mem_src(jpeg, p->source->bytes, (unsigned long)p->source->n);
    jpeg_read_header(jpeg, TRUE);
    bool cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    bool gray = jpeg->jpeg_color_space == JCS_GRAYSCALE;

    jpeg->out_color_space = cmyk ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
    *picture = (struct ox_picture){
        .width = jpeg->image_width, .height = jpeg->image_height, .channels = gray ? 1 : 3};
    OX_TRY(ox_picture_alloc(picture, p->source->arena, p->source->name, p->err));
    if (jpeg_has_multiple_scans(jpeg)) {
        uint64_t coefficients = (uint64_t)picture->width * picture->height * sizeof(JCOEF) *
                                (uint64_t)jpeg->num_components;

        OX_TRY(ox_picture_hold(p->source, coefficients, p->err));
        p->held = coefficients;
    }
    jpeg_start_decompress(jpeg);
    JSAMPARRAY line =
        (*jpeg->mem->alloc_sarray)((j_common_ptr)jpeg, JPOOL_IMAGE, jpeg->output_width * 4, 1);

    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *to = picture->pixels + jpeg->output_scanline * picture->width * picture->channels;

        jpeg_read_scanlines(jpeg, line, 1);
        if (cmyk)
            cmyk_to_rgb(to, line[0], picture->width, jpeg->saw_Adobe_marker);
        else
            memcpy(to, line[0], picture->width * picture->channels);
    }
    jpeg_finish_decompress(jpeg);
    return OX_OK;
}

enum ox_status ox_jpeg_decode(struct ox_picture *picture, const struct ox_picture_source *source,
                              struct ox_error *err)
{
    struct jpeg_reader p = {.source = source, .picture = picture, .err = err};

    p.jpeg.err = jpeg_std_error(&p.errors);
    p.errors.error_exit = jpeg_fail;
    p.errors.emit_message = jpeg_warn;
    p.errors.output_message = jpeg_hush;
    p.progress.progress_monitor = jpeg_watch;
    p.jpeg.client_data = &p;
    if (setjmp(p.back) == 0)
        p.status = jpeg_pixels(&p);
    jpeg_destroy_decompress(&p.jpeg);
    ox_budget_give(source->arena->budget, p.held);
    return p.status;
}
