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

static void describe(const struct ox_integer *t, const struct ox_conv *c, size_t width,
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
    k->rows = c->out[0];
    k->cols = c->out[1];
    k->line = width * pixel * c->stride[0];
    k->pixel = pixel * c->stride[1];
    k->tap_line = width * pixel * c->dilation[0];
    k->tap_pixel = pixel * c->dilation[1];
    const bool runs = c->groups == 1 && c->dilation[1] == 1 && c->in_pixel == c->in_channels;
    k->segments = runs ? k->taps[0] : k->taps[0] * k->taps[1];
    k->depth = runs ? k->taps[1] * k->channels : k->channels;
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
    describe(t, c, framed ? frame[1] : c->in[1], framed ? c->in_channels : c->in_pixel, k);
}

int32_t ox_integer_row_sum(const struct ox_integer_core *k, const uint8_t *const *a, size_t step)
{
    int32_t sum = 0;
    for (size_t s = 0; s < k->segments; s++)
        sum += k->t->sum(k->depth, a[s * step], k->flip);
    return sum;
}

struct ox_integer_end ox_integer_end_at(const struct ox_integer_end *end, size_t col)
{
    struct ox_integer_end out = *end;
    out.offset = end->offset ? end->offset + col : NULL;
    out.weight_zero = end->weight_zero ? end->weight_zero + col : NULL;
    out.scale = end->scale ? end->scale + col : NULL;
    out.bias = end->bias ? end->bias + col : NULL;
    return out;
}

void ox_integer_leave(const struct ox_integer *t, const struct ox_integer_sums *s,
                      const struct ox_integer_end *end)
{
    if (t->leave) {
        t->leave(s, end);
        return;
    }
    for (size_t i = 0; i < s->rows; i++)
        t->finish(s->n, s->sums + i * s->ld, end->weight_zero ? s->terms[i] : 0, end,
                  (char *)s->out + i * s->out_row * ox_integer_out_size(end->type));
}

void ox_integer_find_segments(const struct ox_integer_core *k, const uint8_t *first, size_t step,
                              const uint8_t **a)
{
    const size_t across = k->segments == k->taps[0] ? 1 : k->taps[1];
    for (size_t r = 0; r < k->taps[0]; r++) {
        for (size_t q = 0; q < across; q++)
            a[(r * across + q) * step] = first + r * k->tap_line + q * k->tap_pixel;
    }
}

void ox_integer_copy(const uint8_t *from, uint8_t flip, size_t n, uint8_t *to)
{
    if (!flip) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] ^ flip;
}

size_t ox_integer_out_size(enum ox_integer_out type)
{
    return type == OX_INTEGER_U8 || type == OX_INTEGER_S8 ? 1 : 4;
}

static struct ox_conv as_conv(size_t m, size_t n, size_t k, size_t a_row)
{
    return (struct ox_conv){.batch = 1,
                            .groups = 1,
                            .in_channels = k,
                            .out_channels = n,
                            .kernel = {1, 1},
                            .stride = {1, 1},
                            .dilation = {1, 1},
                            .in = {1, m},
                            .out = {1, m},
                            .in_pixel = a_row,
                            .out_pixel = n};
}

size_t ox_integer_dense_packed(const struct ox_integer *t, size_t k, size_t n)
{
    const struct ox_conv c = as_conv(1, n, k, k);
    return ox_integer_conv_packed(t, &c, OX_INTEGER_COMPACT);
}

void ox_integer_dense_pack(const struct ox_integer *t, struct ox_env *env, size_t k, size_t n,
                           const void *weights, bool is_signed, size_t row, size_t col, bool once,
                           void *out)
{
    const struct ox_conv c = as_conv(1, n, k, k);
    struct ox_integer_core core;
    describe(t, &c, 1, k, &core);
    const struct ox_integer_packing p = {.k = &core,
                                         .weights = weights,
                                         .flip = is_signed ? 0 : 0x80,
                                         .once = once,
                                         .channel = row,
                                         .col = col,
                                         .out = out};
    ox_integer_pack(env, &p);
}

size_t ox_integer_dense_work(const struct ox_integer *t, const struct ox_env *env,
                             const struct ox_integer_dense *d)
{
    const struct ox_conv c = as_conv(d->m, d->n, d->k, d->a_row);
    return ox_integer_conv_work(t, env, &c, d->a_signed);
}

void ox_integer_dense_run(const struct ox_integer *t, struct ox_env *env,
                          const struct ox_integer_dense *d, void *work)
{
    struct ox_conv c = as_conv(d->m, d->n, d->k, d->a_row);
    c.out_pixel = d->c_row;
    ox_integer_conv_run(t, env, &c, d->packed, d->a, d->a_signed, 0, d->c, &d->end, work);
}

enum { SUMS_MOST = 512 };

bool ox_integer_dense_summed(const struct ox_integer *t, size_t k)
{
    return t->layout == OX_INTEGER_QUADS && k <= SUMS_MOST;
}

/* Products by ones. */
void ox_integer_dense_sums(const struct ox_integer *t, size_t k, size_t n, const void *packed,
                           int32_t *sums)
{
    uint8_t ones[SUMS_MOST];
    const uint8_t *const row = ones;
    const struct ox_conv c = as_conv(1, n, k, k);
    struct ox_integer_core core;
    describe(t, &c, 1, k, &core);
    struct ox_integer_tile tile = {.a = &row, .segments = 1, .depth = ox_round_up(k, 4), .rows = 1};
    memset(ones, 1, tile.depth);
    for (size_t j = 0; j < n; j += t->nr) {
        tile.b = (const char *)packed + j / t->nr * core.panel;
        tile.c = sums + j;
        tile.cols = (unsigned)ox_least(t->nr, n - j);
        t->tile(&tile);
    }
}

void ox_integer_sums(size_t n, size_t count, const void *weights, bool is_signed, size_t step,
                     size_t col, int32_t *sums)
{
    const uint8_t *w = weights;
    const uint8_t flip = is_signed ? 0 : 0x80;
    memset(sums, 0, n * sizeof *sums);
    for (size_t i = 0; col == 1 && i < count; i++) {
        const uint8_t *row = w + i * step;
        for (size_t j = 0; j < n; j++)
            sums[j] += (int8_t)(row[j] ^ flip);
    }
    for (size_t j = 0; col != 1 && j < n; j++) {
        int32_t sum = 0;
        for (size_t i = 0; step == 1 && i < count; i++)
            sum += (int8_t)(w[j * col + i] ^ flip);
        for (size_t i = 0; step != 1 && i < count; i++)
            sum += (int8_t)(w[j * col + i * step] ^ flip);
        sums[j] = sum;
    }
}

void ox_integer_offsets(size_t n, size_t count, const int32_t *sums, int32_t za,
                        const int32_t *weight_zero, const int32_t *bias, int32_t *offset)
{
    for (size_t j = 0; j < n; j++) { /* wraps */
        uint32_t out = bias ? (uint32_t)bias[j] : 0;
        out -= (uint32_t)za * (uint32_t)sums[j];
        if (weight_zero)
            out += (uint32_t)count * (uint32_t)za * (uint32_t)weight_zero[j];
        offset[j] = (int32_t)out;
    }
}

bool ox_integer_conv_can(const struct ox_conv *c)
{
    return !c->planar && !c->transposed && c->kernel[0] <= OX_INTEGER_SEGMENTS &&
           c->kernel[1] <= OX_INTEGER_SEGMENTS / (c->kernel[0] ? c->kernel[0] : 1) &&
           c->kernel[0] * c->kernel[1] > 0 && c->groups <= c->in_channels;
}

/* What stands before the weights of a kernel that Winograd's filtering or lines can do. */
struct head {
    bool winograd, lines;
};
enum { HEAD = 64 };

static bool is_headed(const struct ox_integer *t, const struct ox_conv *c)
{
    return ox_integer_winograd_can(t, c) || ox_integer_lines_can(t, c);
}

size_t ox_integer_conv_packed(const struct ox_integer *t, const struct ox_conv *c,
                              enum ox_integer_form form)
{
    struct ox_integer_core k;
    describe_conv(t, c, false, &k);
    size_t bytes = ox_integer_packed_bytes(&k);
    if (!is_headed(t, c) || bytes > SIZE_MAX / 2)
        return bytes;
    if (ox_integer_lines_can(t, c)) {
        const size_t other = t->lines_packed(c);
        bytes = other > bytes ? other : bytes;
    } else if (form == OX_INTEGER_ANY && ox_integer_winograd_pays(t, c)) {
        const size_t other = ox_integer_winograd_packed(t, c);
        bytes = other > bytes ? other : bytes;
    }
    return bytes > SIZE_MAX - HEAD ? SIZE_MAX : bytes + HEAD;
}

void ox_integer_conv_pack(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                          enum ox_integer_form form, const void *weights, bool is_signed,
                          const int32_t *zero, void *out)
{
    struct ox_integer_core k;
    const size_t taps = c->kernel[0] * c->kernel[1];
    const bool headed = is_headed(t, c);
    char *to = (char *)out + (headed ? HEAD : 0);
    if (headed) {
        struct head *head = out;
        head->winograd = form == OX_INTEGER_ANY && ox_integer_winograd_pays(t, c) &&
                         ox_integer_winograd_pack(t, env, c, weights, is_signed, to);
        head->lines = !zero && ox_integer_lines_can(t, c);
        if (head->lines)
            t->lines_pack(c, weights, is_signed ? 0 : 0x80, to);
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
    ox_integer_pack(env, &p);
}

/* With what may be read past its end. */
static size_t frame_bytes(size_t bytes)
{
    return bytes ? ox_round_up(bytes + OX_INTEGER_OVER, 64) : 0;
}

size_t ox_integer_conv_work(const struct ox_integer *t, const struct ox_env *env,
                            const struct ox_conv *c, bool in_signed)
{
    struct ox_integer_core k;
    size_t frame[2], bytes = 0;
    describe_conv(t, c, in_signed, &k);
    ox_integer_blocks_plan(&k);
    if (needs_frame(t, c, in_signed, frame) &&
        (OX_MUL_OVERFLOWS(frame[0], frame[1], &bytes) ||
         OX_MUL_OVERFLOWS(bytes, c->in_channels, &bytes) || bytes > SIZE_MAX / 2))
        return SIZE_MAX;
    const size_t direct = frame_bytes(bytes) + ox_slots(env) * k.slot * sizeof(int32_t);
    const size_t other =
        ox_integer_winograd_can(t, c) ? ox_integer_winograd_work(t, env, c) : OX_INTEGER_LINES_WORK;
    return other > direct ? other : direct;
}

struct framing {
    const struct ox_conv *c;
    size_t across;
    const uint8_t *in;
    uint8_t *out;
    uint8_t zero, flip; /* the zero point as it is stored */
};

static void frame_row(void *arg, size_t row, size_t slot)
{
    const struct framing *f = arg;
    const struct ox_conv *c = f->c;
    const size_t channels = c->in_channels, y = row - c->pad[0];
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
    const uint8_t *in = f->in + y * c->in[1] * c->in_pixel;
    for (size_t x = 0; c->in_pixel != channels && x < width; x++)
        ox_integer_copy(in + x * c->in_pixel, f->flip, channels, out + (left + x) * channels);
    if (c->in_pixel == channels)
        ox_integer_copy(in, f->flip, width * channels, out + left * channels);
}

/* Whether the residual has been added too. */
static bool convolve(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                     const void *packed, const void *in, bool in_signed, int32_t in_zero, void *out,
                     const struct ox_integer_end *end, void *work)
{
    struct ox_integer_core k;
    size_t frame[2], bytes = 0;
    if (is_headed(t, c)) {
        const struct head *head = packed;
        packed = (const char *)packed + HEAD;
        if (head->lines) {
            ox_integer_lines_run(t, env, c, packed, in, in_signed, in_zero, out, end, work);
            return false;
        }
        if (head->winograd) {
            ox_integer_winograd_run(t, env, c, packed, in, in_signed, in_zero, out, end, work);
            return false;
        }
    }
    const bool framed = needs_frame(t, c, in_signed, frame);
    const bool flips = in_signed && t->layout == OX_INTEGER_QUADS && !ox_integer_is_depthwise(c);
    describe_conv(t, c, in_signed, &k);
    ox_integer_blocks_plan(&k);
    if (framed) {
        const size_t held = frame[0] * frame[1] * c->in_channels;
        bytes = frame_bytes(held);
        memset((char *)work + held, 0, bytes - held);
    }
    k.flip = in_signed && !flips ? 0x80 : 0;
    k.slack = framed && t->level > OX_CPU_C;
    k.packed = packed;
    k.out_size = ox_integer_out_size(end->type);
    k.out_pixel = c->out_pixel;
    k.end = end;
    k.sums = (int32_t *)(void *)((char *)work + bytes);
    const size_t pixels = c->in[0] * c->in[1];
    const size_t in_batch = ox_conv_in_batch(c);
    const size_t out_batch = ox_conv_out_batch(c);
    for (size_t n = 0; n < c->batch; n++) {
        k.in = (const uint8_t *)in + n * in_batch;
        k.end_of_in = k.in + (pixels ? (pixels - 1) * c->in_pixel + c->in_channels : 0);
        k.out = (char *)out + n * out_batch * k.out_size;
        k.residual = end->residual ? end->residual->codes + n * out_batch : NULL;
        if (framed) {
            struct framing f = {c, frame[1], k.in, work, (uint8_t)in_zero, flips ? 0x80 : 0};
            ox_spread(env, frame[0], (double)bytes * 10, frame_row, &f);
            k.in = work;
            k.end_of_in = k.in + bytes;
        }
        ox_integer_blocks_run(&k, env);
    }
    return !k.depthwise;
}

void ox_integer_conv_run(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                         const void *packed, const void *in, bool in_signed, int32_t in_zero,
                         void *out, const struct ox_integer_end *end, void *work)
{
    const bool added = convolve(t, env, c, packed, in, in_signed, in_zero, out, end, work);
    for (size_t n = 0; end->residual && !added && n < c->batch; n++)
        ox_integer_residual_image(env, c, end->residual, n * ox_conv_out_batch(c), out);
}
