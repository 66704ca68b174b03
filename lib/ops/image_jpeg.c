/* JPEG by libjpeg-turbo, with its smooth ("fancy") upsampling of chroma, as the standard asks. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "ops/image_codec.h"

/* Each scan of a progressive image costs a pass over all of it, however few bytes it takes. */
enum { JPEG_SCANS = 500 };

struct jpeg_reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    struct ox_image *image;
    enum ox_image_status status;
    bool cut_off;
    uint64_t held; /* taken from the budget for what libjpeg keeps of an image of several scans */
};

static void jpeg_fail(j_common_ptr common)
{
    struct jpeg_reader *p = common->client_data;

    if (common->err->msg_code == JERR_OUT_OF_MEMORY)
        p->status = OX_IMAGE_NO_MEMORY;
    longjmp(p->back, 1);
}

static void jpeg_warn(j_common_ptr common, int level)
{
    struct jpeg_reader *p = common->client_data;

    if (level < 0 && common->err->msg_code == JWRN_JPEG_EOF)
        p->cut_off = true;
}

static void jpeg_hush(j_common_ptr common)
{
    (void)common;
}

static void jpeg_watch(j_common_ptr common)
{
    struct jpeg_reader *p = common->client_data;

    if (common->is_decompressor && p->jpeg.input_scan_number > JPEG_SCANS)
        longjmp(p->back, 1);
}

/* Of inverted CMYK, as Adobe's programs write it and files without their mark follow. */
static void cmyk_to_rgb(uint8_t *out, const uint8_t *row, size_t width, bool inverted)
{
    for (size_t x = 0; x < width; x++, row += 4, out += 3) {
        for (unsigned k = 0; k < 3; k++) {
            unsigned ink = inverted ? row[k] : 255U - row[k],
                     black = inverted ? row[3] : 255U - row[3];

            out[k] = (uint8_t)((ink * black + 127) / 255);
        }
    }
}

/* All that may jump back; state is in *p alone. */
static void jpeg_decode(struct jpeg_reader *p, const uint8_t *bytes, size_t n)
{
    struct jpeg_decompress_struct *jpeg = &p->jpeg;

    jpeg_create_decompress(jpeg);
    jpeg->progress = &p->progress;
    jpeg_mem_src(jpeg, bytes, (unsigned long)n);
    if (jpeg_read_header(jpeg, TRUE) != JPEG_HEADER_OK)
        return;
    bool cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;

    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    p->status = ox_image_make(p->image, jpeg->image_width, jpeg->image_height);
    if (p->status != OX_IMAGE_OK)
        return;
    p->status = OX_IMAGE_BAD;
    if (jpeg_has_multiple_scans(jpeg)) {
        uint64_t coefficients = (uint64_t)jpeg->image_width * jpeg->image_height * sizeof(JCOEF) *
                                (uint64_t)jpeg->num_components;

        if (!ox_budget_take(p->image->memory->budget, coefficients)) {
            p->status = OX_IMAGE_NO_MEMORY;
            return;
        }
        p->held = coefficients;
    }
    jpeg_start_decompress(jpeg);
    JSAMPARRAY line =
        (*jpeg->mem->alloc_sarray)((j_common_ptr)jpeg, JPOOL_IMAGE, jpeg->output_width * 4, 1);

    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *out = p->image->pixels + (size_t)jpeg->output_scanline * jpeg->output_width * 3;

        if (jpeg_read_scanlines(jpeg, line, 1) != 1)
            return;
        if (cmyk)
            cmyk_to_rgb(out, line[0], jpeg->output_width, jpeg->saw_Adobe_marker);
        else
            memcpy(out, line[0], (size_t)jpeg->output_width * 3);
    }
    jpeg_finish_decompress(jpeg);
    p->status = p->cut_off ? OX_IMAGE_BAD : OX_IMAGE_OK;
}

enum ox_image_status ox_image_jpeg(struct ox_image *image, const uint8_t *bytes, size_t n)
{
    struct jpeg_reader p = {.image = image, .status = OX_IMAGE_BAD};

    p.jpeg.err = jpeg_std_error(&p.errors);
    p.errors.error_exit = jpeg_fail;
    p.errors.emit_message = jpeg_warn;
    p.errors.output_message = jpeg_hush;
    p.progress.progress_monitor = jpeg_watch;
    p.jpeg.client_data = &p;
    if (setjmp(p.back) == 0)
        jpeg_decode(&p, bytes, n);
    jpeg_destroy_decompress(&p.jpeg);
    ox_budget_give(image->memory->budget, p.held);
    return p.status;
}
