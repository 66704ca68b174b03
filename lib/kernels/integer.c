#include "kernels/integer.h"

#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/integer_impl.h"
#include "kernels/sizes.h"

/* Whether joining segments saves more than it costs, in products of a vector by four bytes: of copying sixteen bytes, and of tiles
 * that then read what has hardly been written. */
static bool joins(const struct ox_integer_core *k)
{
    enum { COLS = 16, COPY = 1, COPY_TO_TILE = 2 };
    if (k->t->layout != OX_INTEGER_QUADS || k->t->strip || k->depthwise || k->segments == 1)
        return false;
    const size_t apart = k->segments * ((k->depth + 3) / 4);
    const size_t joined = (k->segments * k->depth + 3) / 4;
    const size_t copies = k->segments * ((k->depth + OX_INTEGER_OVER - 1) / OX_INTEGER_OVER);
    const bool shallow = k->t->shallow && 4 * joined <= OX_INTEGER_SHALLOW;
    return (apart - joined) * ((k->n + COLS - 1) / COLS) > copies * (shallow ? COPY : COPY_TO_TILE);
}

/* Whether the taps of a kernel's row are one run of memory. */
static bool has_runs(const struct ox_conv *c)
{
    return c->groups == 1 && c->dilation[1] == 1 && c->in_pixel == c->in_channels;
}

/* Of so many images, whose inputs are `image` bytes apart. */
static void take_images(struct ox_integer_core *k, size_t n, size_t image)
{
    k->rows = n * k->image_rows;
    k->image = image;
    k->even = k->line == k->cols * k->pixel && (n == 1 || image == k->image_rows * k->line);
}

void ox_integer_describe(const struct ox_integer *t, const struct ox_conv *c, size_t width,
                         size_t pixel, struct ox_integer_core *k)
{
    memset(k, 0, sizeof *k);
    k->t = t;
    k->groups = c->groups;
    k->channels = c->in_channels / c->groups;
    k->n = c->out_channels / c->groups;
    k->depthwise = ox_integer_is_depthwise(c);
    k->taps[0] = c->kernel[0];
    k->taps[1] = c->kernel[1];
    k->cols = c->out[1];
    k->line = width * pixel * c->stride[0];
    k->pixel = pixel * c->stride[1];
    k->image_rows = c->out[0];
    take_images(k, 1, 0);
    k->tap_line = width * pixel * c->dilation[0];
    k->tap_pixel = pixel * c->dilation[1];
    k->segments = has_runs(c) ? k->taps[0] : k->taps[0] * k->taps[1];
    k->depth = has_runs(c) ? k->taps[1] * k->channels : k->channels;
    k->abreast = ox_integer_abreast_can(t, c);
    k->joined = joins(k);
    k->panel = ox_integer_panel_bytes(k);
}

/* Whether the input is copied into a frame of its zero point first; s8 is made u8 thereby,
 * where the tiles read bytes. */
static bool needs_frame(const struct ox_integer *t, const struct ox_conv *c, bool is_signed,
                        size_t frame[2])
{
    bool needs = is_signed && t->layout == OX_INTEGER_QUADS && !ox_integer_is_depthwise(c);
    for (unsigned axis = 0; axis < 2; axis++) {
        const size_t reach = (c->kernel[axis] - 1) * c->dilation[axis] + 1;
        const size_t span = c->out[axis] ? (c->out[axis] - 1) * c->stride[axis] + reach : 0;
        needs = needs || c->pad[axis] || span > c->in[axis];
        frame[axis] = span;
    }
    return needs;
}

static void describe_conv(const struct ox_integer *t, const struct ox_conv *c, bool is_signed,
                          struct ox_integer_core *k)
{
    size_t frame[2];
    const bool framed = needs_frame(t, c, is_signed, frame);
    ox_integer_describe(t, c, framed ? frame[1] : c->in[1], framed ? c->in_channels : c->in_pixel,
                        k);
}

bool ox_integer_conv_can(const struct ox_conv *c)
{
    const size_t across = has_runs(c) ? 1 : c->kernel[1];
    return !c->planar && !c->transposed && c->kernel[0] <= OX_INTEGER_SEGMENTS &&
           across <= OX_INTEGER_SEGMENTS / (c->kernel[0] ? c->kernel[0] : 1) && c->kernel[0] > 0 &&
           c->kernel[1] > 0 && c->groups <= c->in_channels;
}

/* What stands before the weights of a kernel that Winograd's filtering, lines or UPRIGHT can do. */
struct head {
    bool winograd, lines, upright, zeros; /* zeros: of weights by lines */
};
enum { HEAD = 64 };

/* Whether lines can take zero points off. */
static bool are_negatives_bytes(const int32_t *zero, size_t n)
{
    for (size_t j = 0; zero && j < n; j++)
        if (zero[j] == INT8_MIN)
            return false;
    return true;
}

bool ox_integer_conv_takes_zeros(const struct ox_integer *t, const struct ox_conv *c)
{
    return ox_integer_is_depthwise(c) || ox_integer_abreast_can(t, c);
}

static bool is_headed(const struct ox_integer *t, const struct ox_conv *c)
{
    return ox_integer_winograd_can(t, c) || ox_integer_lines_can(t, c) ||
           ox_integer_upright_can(t, c);
}

/* Whether weights may lie as UPRIGHT. */
static bool stands(const struct ox_integer *t, const struct ox_conv *c, enum ox_integer_form form)
{
    return form == OX_INTEGER_ANY && ox_integer_upright_pays(t, c);
}

size_t ox_integer_conv_packed(const struct ox_integer *t, const struct ox_conv *c,
                              enum ox_integer_form form)
{
    struct ox_integer_core k;
    describe_conv(t, c, false, &k);
    size_t bytes = ox_integer_packed_bytes(&k);
    if (!is_headed(t, c) || bytes > SIZE_MAX / 2)
        return bytes;
    if (stands(t, c, form)) {
        ox_integer_upright_use(&k);
        const size_t other = ox_integer_packed_bytes(&k);
        bytes = other > bytes ? other : bytes;
    }
    if (ox_integer_lines_can(t, c)) {
        const size_t other = t->lines_packed(c);
        bytes = other > bytes ? other : bytes;
    } else if (form == OX_INTEGER_ANY && ox_integer_winograd_pays(t, c)) {
        const size_t other = ox_integer_winograd_packed(t, c);
        bytes = other > bytes ? other : bytes;
    }
    return bytes > SIZE_MAX - HEAD ? SIZE_MAX : bytes + HEAD;
}

size_t ox_integer_put_head(const struct ox_integer *t, const struct ox_conv *c, void *out)
{
    if (!is_headed(t, c))
        return 0;
    *(struct head *)out = (struct head){0};
    return HEAD;
}

void ox_integer_conv_pack(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                          enum ox_integer_form form, const void *weights, bool is_signed,
                          const int32_t *zero, void *out)
{
    struct ox_integer_core k;
    const size_t taps = c->kernel[0] * c->kernel[1];
    const size_t before = ox_integer_put_head(t, c, out);
    char *to = (char *)out + before;
    if (before) {
        struct head *head = out;
        head->winograd = form == OX_INTEGER_ANY && ox_integer_winograd_pays(t, c) &&
                         ox_integer_winograd_pack(t, env, c, weights, is_signed, to);
        head->lines = ox_integer_lines_can(t, c) && are_negatives_bytes(zero, c->groups);
        head->zeros = zero != NULL;
        if (head->lines)
            t->lines_pack(c, weights, is_signed ? 0 : 0x80, zero, to);
        if (head->winograd || head->lines)
            return;
    }
    describe_conv(t, c, false, &k);
    const struct ox_integer_packing p = {.k = &k,
                                         .weights = weights,
                                         .zero = zero,
                                         .flip = is_signed ? 0 : 0x80,
                                         .once = form == OX_INTEGER_ONCE,
                                         .tap = 1,
                                         .channel = taps,
                                         .col = k.channels * taps,
                                         .out = to};
    if (stands(t, c, form)) {
        ox_integer_upright_use(&k);
        ((struct head *)out)->upright = ox_integer_upright_pack(env, &p);
        if (((struct head *)out)->upright)
            return;
        describe_conv(t, c, false, &k);
    }
    ox_integer_pack(env, &p);
}

/* With what may be read past its end. */
static size_t frame_bytes(size_t bytes)
{
    return bytes ? ox_round_up(bytes + OX_INTEGER_OVER, 64) : 0;
}

/* Images of a batch that are convolved as one, of more rows: as many small ones as stay near, so that threads share them, tiles are
 * full and weights are read once. */
static size_t images_of(const struct ox_conv *c)
{
    enum { ROWS = 384, BYTES = 1 << 18 };
    const size_t outputs = c->out[0] * c->out[1], bytes = c->in[0] * c->in[1] * c->in_channels;
    if (!outputs || !bytes || ox_conv_out_batch(c) != outputs * c->out_pixel)
        return 1;
    const size_t most = ox_least(ox_least(ROWS / outputs, BYTES / bytes), c->batch);
    return most > 1 ? ox_even_part(c->batch, most, 1) : 1;
}

/* A slot's sums, whichever way weights lie: what they were packed for may have been another image. */
static size_t slot_of(struct ox_integer_core *k, size_t slots, const struct ox_conv *c, bool plain)
{
    ox_integer_blocks_plan(k, slots);
    const size_t slot = k->slot;
    if (plain || !ox_integer_upright_can(k->t, c))
        return slot;
    ox_integer_upright_use(k);
    ox_integer_blocks_plan(k, slots);
    return k->slot > slot ? k->slot : slot;
}

static size_t work_of(const struct ox_integer *t, const struct ox_env *env, const struct ox_conv *c,
                      bool in_signed, bool weight_zeros, bool plain)
{
    size_t frame[2], bytes = 0, slot = 0;
    const size_t images = images_of(c);
    const size_t terms = weight_zeros ? ox_integer_terms_bytes(env, c, images) : 0;
    const bool framed = needs_frame(t, c, in_signed, frame);
    if (framed &&
        (OX_MUL_OVERFLOWS(frame[0], frame[1], &bytes) ||
         OX_MUL_OVERFLOWS(bytes, c->in_channels, &bytes) || bytes > SIZE_MAX / 4 / images))
        return SIZE_MAX;
    if (terms > SIZE_MAX / 4)
        return SIZE_MAX;
    const size_t numbers[] = {images, c->batch % images}; /* and of the rest */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct ox_integer_core k;
        describe_conv(t, c, in_signed, &k);
        take_images(&k, numbers[i], framed ? bytes : ox_conv_in_batch(c));
        const size_t own = slot_of(&k, ox_slots(env), c, plain);
        slot = own > slot ? own : slot;
    }
    return frame_bytes(images * bytes) + terms + ox_slots(env) * slot * sizeof(int32_t);
}

size_t ox_integer_plain_work(const struct ox_integer *t, const struct ox_env *env,
                             const struct ox_conv *c, bool in_signed, bool weight_zeros)
{
    return work_of(t, env, c, in_signed, weight_zeros, true);
}

size_t ox_integer_conv_work(const struct ox_integer *t, const struct ox_env *env,
                            const struct ox_conv *c, bool in_signed, bool weight_zeros)
{
    const size_t direct = work_of(t, env, c, in_signed, weight_zeros, false);
    const size_t other =
        ox_integer_winograd_can(t, c) ? ox_integer_winograd_work(t, env, c) : OX_INTEGER_LINES_WORK;
    return other > direct ? other : direct;
}

struct framing {
    const struct ox_conv *c;
    size_t down, across;
    const uint8_t *in;
    uint8_t *out;
    uint8_t zero, flip; /* the zero point as it is stored */
};

static void frame_row(void *arg, size_t row, size_t slot)
{
    const struct framing *f = arg;
    const struct ox_conv *c = f->c;
    const size_t channels = c->in_channels, y = row % f->down - c->pad[0];
    const size_t left = ox_least(c->pad[1], f->across),
                 width = ox_least(c->in[1], f->across - left);
    uint8_t *out = f->out + row * f->across * channels;
    const uint8_t zero = f->zero ^ f->flip;
    (void)slot;
    if (y >= c->in[0]) { /* also above the image, where y has wrapped */
        memset(out, zero, f->across * channels);
        return;
    }
    memset(out, zero, left * channels);
    memset(out + (left + width) * channels, zero, (f->across - left - width) * channels);
    const uint8_t *in = f->in + row / f->down * ox_conv_in_batch(c) + y * c->in[1] * c->in_pixel;
    for (size_t x = 0; c->in_pixel != channels && x < width; x++)
        ox_integer_copy(in + x * c->in_pixel, f->flip, channels, out + (left + x) * channels);
    if (c->in_pixel == channels)
        ox_integer_copy(in, f->flip, width * channels, out + left * channels);
}

/* Whether what comes after is done too. */
static bool convolve(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                     const void *packed, const void *in, bool in_signed, int32_t in_zero, void *out,
                     const struct ox_integer_end *end, void *work)
{
    struct ox_integer_core k;
    size_t frame[2], bytes = 0;
    bool upright = false;
    if (is_headed(t, c)) {
        const struct head *head = packed;
        upright = head->upright;
        packed = (const char *)packed + HEAD;
        if (head->lines) {
            const struct ox_integer_lines lines = {.c = c,
                                                   .zeros = work,
                                                   .flip = in_signed ? 0x80 : 0,
                                                   .packed = packed,
                                                   .weight_zeros = head->zeros,
                                                   .end = end,
                                                   .finish = t->finish};
            memset(work, (uint8_t)in_zero, OX_INTEGER_LINES_WORK);
            ox_integer_lines_run(t, env, &lines, in, out);
            return false;
        }
        if (head->winograd) {
            ox_integer_winograd_run(t, env, c, packed, in, in_signed, in_zero, out, end, work);
            return false;
        }
    }
    const bool framed = needs_frame(t, c, in_signed, frame);
    const bool flips = in_signed && t->layout == OX_INTEGER_QUADS && !ox_integer_is_depthwise(c);
    const size_t images = images_of(c), held = frame[0] * frame[1] * c->in_channels;
    const size_t terms = end->weight_zero ? ox_integer_terms_bytes(env, c, images) : 0;
    describe_conv(t, c, in_signed, &k);
    if (upright)
        ox_integer_upright_use(&k);
    if (framed) {
        bytes = frame_bytes(images * held);
        memset((char *)work + images * held, 0, bytes - images * held);
    }
    k.flip = in_signed && !flips ? 0x80 : 0;
    k.slack = framed && t->level > OX_CPU_C;
    k.packed = packed;
    k.out_size = ox_integer_out_size(end->type);
    k.out_pixel = c->out_pixel;
    k.end = end;
    char *room = (char *)work + bytes; /* of terms */
    k.sums = (int32_t *)(void *)(room + terms);
    const size_t pixels = c->in[0] * c->in[1];
    const size_t in_batch = ox_conv_in_batch(c);
    const size_t out_batch = ox_conv_out_batch(c);
    for (size_t i = 0, n; i < c->batch; i += n) {
        n = ox_least(images, c->batch - i);
        take_images(&k, n, framed ? held : in_batch);
        ox_integer_blocks_plan(&k, ox_slots(env));
        k.in = (const uint8_t *)in + i * in_batch;
        k.end_of_in =
            k.in + (pixels ? (n - 1) * in_batch + (pixels - 1) * c->in_pixel + c->in_channels : 0);
        k.out = (char *)out + i * out_batch * k.out_size;
        k.residual =
            end->after && end->after->residual ? end->after->residual + i * out_batch : NULL;
        if (framed) {
            struct framing f = {c,    frame[0],         frame[1],        k.in,
                                work, (uint8_t)in_zero, flips ? 0x80 : 0};
            ox_spread(env, n * frame[0], (double)(n * held) * 10, frame_row, &f);
            k.in = work;
            k.end_of_in = k.in + bytes;
        }
        if (terms)
            ox_integer_terms_make(&k, env, c, room);
        ox_integer_blocks_run(&k, env);
    }
    return !k.depthwise;
}

void ox_integer_conv_run(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                         const void *packed, const void *in, bool in_signed, int32_t in_zero,
                         void *out, const struct ox_integer_end *end, void *work)
{
    const bool done = convolve(t, env, c, packed, in, in_signed, in_zero, out, end, work);
    for (size_t n = 0; end->after && !done && n < c->batch; n++)
        ox_integer_after_image(env, c, end->after, n * ox_conv_out_batch(c), out);
}
