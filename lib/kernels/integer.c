#include "kernels/integer.h"

#include <stdlib.h>
#include <string.h>

#include "common/compiler.h"
#include "kernels/dense_impl.h"
#include "kernels/integer_impl.h"

enum { BLOCK_BYTES = 1 << 18, TASKS = 16 };

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
    k->panel = ox_integer_panel_bytes(k);
}

/* Bytes of a copied row. */
static size_t row_bytes(const struct ox_integer_core *k)
{
    return k->wide * (k->t->layout == OX_INTEGER_MIXED ? 3 : 2);
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

static void plan(struct ox_integer_core *k, size_t images)
{
    const size_t m = k->rows * k->cols, nr = k->t->nr;
    if (ox_integer_strips_pay(k)) {
        ox_integer_strips_plan(k);
        return;
    }
    const double work =
        2.0 * (double)(m * images) * (double)(k->n * k->groups) * (double)(k->segments * k->depth);
    const size_t wanted = work < TASKS * 4e6 ? (size_t)(work / 4e6) + 1 : TASKS;
    size_t cols = BLOCK_BYTES / (k->panel / nr + 1) / nr * nr;
    cols = cols < nr ? nr : cols;
    const size_t least = (size_t)4 * k->t->mr,
                 by_rows = ox_integer_least(wanted, (m + least - 1) / least);
    const size_t by_cols = by_rows ? (wanted + by_rows * k->groups - 1) / (by_rows * k->groups) : 1;
    if (by_cols > 1)
        cols = ox_integer_least(cols, ox_integer_round_up((k->n + by_cols - 1) / by_cols, nr));
    k->block_cols = ox_even_part(k->n, cols, nr);
    k->block_rows = ox_even_part(m, by_rows ? (m + by_rows - 1) / by_rows : 1, k->t->mr);
    k->n_cols = k->n ? (k->n + k->block_cols - 1) / k->block_cols : 0;
    k->n_rows = m ? (m + k->block_rows - 1) / k->block_rows : 0;
    k->slot = ox_integer_round_up(k->depthwise ? k->groups : k->t->mr * k->block_cols, 16);
    k->wide = k->t->layout != OX_INTEGER_QUADS && !k->depthwise
                  ? k->segments * ox_integer_round_up(k->depth, 4)
                  : 0;
    k->slot += ox_integer_round_up(k->t->mr * row_bytes(k) / 4 + OX_INTEGER_OVER, 16);
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

static void copy_bytes(const uint8_t *from, uint8_t flip, size_t n, uint8_t *to)
{
    if (!flip) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] ^ flip;
}

/* A row's segments one after another, each filled up to a multiple of four, as words. What fills them is multiplied by 0; where more
 * may be read it is what comes next, up to whole vectors. */
static void widen_row(const struct ox_integer_core *k, const uint8_t *const *segment, uint16_t *to)
{
    const size_t per_segment = ox_integer_round_up(k->depth, 4);
    const size_t n = k->slack ? ox_integer_round_up(k->depth, OX_INTEGER_OVER) : k->depth;
    for (size_t s = 0; s < k->segments; s++, to += per_segment) {
        k->t->widen(n, segment[s * k->t->mr], k->flip, to);
        for (size_t p = n; p < per_segment; p++)
            to[p] = 0;
    }
}

/* As bytes. */
static void copy_row(const struct ox_integer_core *k, const uint8_t *const *segment, uint8_t *to)
{
    const size_t per_segment = ox_integer_round_up(k->depth, 4);
    for (size_t s = 0; s < k->segments; s++, to += per_segment) {
        const uint8_t *from = segment[s * k->t->mr];
        if (k->slack && !k->flip) {
            for (size_t p = 0; p < k->depth; p += OX_INTEGER_OVER)
                memcpy(to + p, from + p, OX_INTEGER_OVER);
            continue;
        }
        copy_bytes(from, k->flip, k->depth, to);
        memset(to + k->depth, 0, per_segment - k->depth);
    }
}

/* Which of a tile's rows its panels read. */
struct forms {
    bool bytes, words;
};

static struct forms forms_of(const struct ox_integer_core *k, const char *packed, size_t panels)
{
    if (k->t->layout != OX_INTEGER_MIXED)
        return (struct forms){.words = k->wide > 0};
    struct forms f = {false, false};
    for (; panels > 0; panels--, packed += k->panel) {
        const size_t tight = *(const uint32_t *)(const void *)packed;
        f.bytes |= tight > 0;
        f.words |= tight < ox_integer_fours(k);
    }
    return f;
}

/* A tile's rows in the forms that it reads; bytes stay where they are if they lie as they should. */
static void copy_rows(const struct ox_integer_core *k, struct ox_integer_tile *tile,
                      struct forms forms, uint8_t *copy, const uint8_t **rows)
{
    const bool mixed = k->t->layout == OX_INTEGER_MIXED;
    const bool in_place = k->segments == 1 && !k->flip && k->wide == k->depth;
    for (unsigned i = 0; i < tile->rows; i++, copy += row_bytes(k)) {
        uint8_t *bytes = copy + k->wide * sizeof(uint16_t);
        if (forms.words)
            widen_row(k, tile->a + i, (uint16_t *)(void *)copy);
        if (forms.bytes && !in_place)
            copy_row(k, tile->a + i, bytes);
        rows[i] = !mixed ? copy : in_place ? tile->a[i] : bytes;
        rows[k->t->mr + i] = copy;
    }
    tile->a = rows;
    tile->segments = 1;
    tile->depth = mixed ? k->wide : k->wide * sizeof(uint16_t);
}

struct ox_integer_block ox_integer_block_of(const struct ox_integer_core *k, size_t task)
{
    const size_t nr = k->t->nr, blocks = k->n_rows * k->n_cols, group = task / blocks;
    const size_t col0 = task % blocks / k->n_rows * k->block_cols;
    const size_t m0 = task % k->n_rows * k->block_rows, col = group * k->n + col0;
    return (struct ox_integer_block){
        .group = group,
        .m0 = m0,
        .m1 = ox_integer_least(m0 + k->block_rows, k->rows * k->cols),
        .cols = ox_integer_least(k->block_cols, k->n - col0),
        .col = col,
        .packed = k->packed + (group * ((k->n + nr - 1) / nr) + col0 / nr) * k->panel,
        .end = ox_integer_end_at(k->end, col)};
}

/* Whether rows lie as the table's shallow() reads them, and become bytes. */
static bool is_shallow(const struct ox_integer_core *k)
{
    const enum ox_integer_out type = k->end->type;
    return k->t->shallow && k->t->layout == OX_INTEGER_QUADS && k->segments == 1 &&
           k->depth % 4 == 0 && k->depth <= OX_INTEGER_SHALLOW && !k->flip &&
           !k->end->weight_zero && (type == OX_INTEGER_U8 || type == OX_INTEGER_S8);
}

/* A stretch of pixels that lie at one distance after another. */
static void run_shallow(void *arg, size_t task, size_t slot)
{
    const struct ox_integer_core *k = arg;
    const struct ox_integer_block b = ox_integer_block_of(k, task);
    const size_t line = k->line == k->cols * k->pixel ? k->rows * k->cols : k->cols;
    (void)slot;
    for (size_t m = b.m0, n; m < b.m1; m += n) {
        n = ox_integer_least(line - m % line, b.m1 - m);
        const struct ox_integer_shallow s = {.a = k->in + m / k->cols * k->line +
                                                  m % k->cols * k->pixel + b.group * k->channels,
                                             .a_row = k->pixel,
                                             .rows = n,
                                             .depth = k->depth,
                                             .n = b.cols,
                                             .b = b.packed,
                                             .panel = k->panel,
                                             .out = k->out + m * k->out_pixel + b.col,
                                             .out_row = k->out_pixel,
                                             .end = &b.end};
        k->t->shallow(&s);
    }
}

static void run_block(void *arg, size_t task, size_t slot)
{
    const struct ox_integer_core *k = arg;
    const struct ox_integer *t = k->t;
    const struct ox_integer_block b = ox_integer_block_of(k, task);
    const uint8_t *pointers[OX_INTEGER_SEGMENTS * OX_TILE_ROWS_MAX];
    void *copy = k->sums + slot * k->slot;
    int32_t *sums = k->sums + slot * k->slot +
                    ox_integer_round_up(t->mr * row_bytes(k) / 4 + OX_INTEGER_OVER, 16);
    const uint8_t *rows[2 * OX_TILE_ROWS_MAX];
    int32_t terms[OX_TILE_ROWS_MAX];
    const struct forms forms = forms_of(k, b.packed, (b.cols + t->nr - 1) / t->nr);
    struct ox_integer_tile tile = {.ldc = k->block_cols};
    const size_t step = ox_even_part(b.m1 - b.m0, t->mr, 1);
    for (size_t m = b.m0; m < b.m1; m += tile.rows) {
        tile.rows = (unsigned)ox_integer_least(step, b.m1 - m);
        for (unsigned i = 0; i < tile.rows; i++) {
            const size_t y = (m + i) / k->cols, x = (m + i) % k->cols;
            ox_integer_find_segments(k, k->in + y * k->line + x * k->pixel + b.group * k->channels,
                                     t->mr, pointers + i);
        }
        tile.a = pointers;
        tile.segments = k->segments;
        tile.depth = k->slack ? ox_integer_round_up(k->depth, 4) : k->depth;
        if (k->wide)
            copy_rows(k, &tile, forms, copy, rows);
        for (size_t j = 0; j < b.cols; j += t->nr) {
            tile.b = b.packed + j / t->nr * k->panel;
            tile.c = sums + j;
            tile.cols = (unsigned)ox_integer_least(t->nr, b.cols - j);
            t->tile(&tile);
        }
        for (unsigned i = 0; b.end.weight_zero && i < tile.rows; i++)
            terms[i] = ox_integer_row_sum(k, pointers + i, t->mr);
        const struct ox_integer_sums all = {.rows = tile.rows,
                                            .n = b.cols,
                                            .sums = sums,
                                            .ld = k->block_cols,
                                            .terms = terms,
                                            .out =
                                                k->out + (m * k->out_pixel + b.col) * k->out_size,
                                            .out_row = k->out_pixel};
        ox_integer_leave(t, &all, &b.end);
    }
}

/* Depthwise: a row of outputs a task. */
static void run_taps(void *arg, size_t y, size_t slot)
{
    const struct ox_integer_core *k = arg;
    const uint8_t *in[OX_INTEGER_SEGMENTS];
    int32_t *sums = k->sums + slot * k->slot;
    struct ox_integer_taps taps = {.channels = k->groups,
                                   .n = k->taps[0] * k->taps[1],
                                   .in = in,
                                   .flip = k->flip,
                                   .weights = (const int16_t *)(const void *)k->packed,
                                   .sums = sums};
    for (size_t x = 0; x < k->cols; x++) {
        for (size_t r = 0; r < k->taps[0]; r++) {
            for (size_t q = 0; q < k->taps[1]; q++)
                in[r * k->taps[1] + q] =
                    k->in + y * k->line + x * k->pixel + r * k->tap_line + q * k->tap_pixel;
        }
        k->t->taps(&taps);
        k->t->finish(k->groups, sums, 0, k->end,
                     k->out + (y * k->cols + x) * k->out_pixel * k->out_size);
    }
}

size_t ox_integer_out_size(enum ox_integer_out type)
{
    return type == OX_INTEGER_U8 || type == OX_INTEGER_S8 ? 1 : 4;
}

static void run_image(const struct ox_integer_core *k, struct ox_env *env)
{
    struct ox_integer_core copy = *k;
    const double work =
        (double)(k->rows * k->cols) * (double)(k->n * k->groups) * (double)(k->segments * k->depth);
    if (k->depthwise)
        ox_spread(env, k->rows, work * 4, run_taps, &copy);
    else
        ox_spread(env, k->groups * k->n_rows * k->n_cols, work,
                  is_shallow(k) ? run_shallow
                  : k->strips   ? ox_integer_strips_run
                                : run_block,
                  &copy);
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
                           const void *weights, bool is_signed, size_t row, size_t col, void *out)
{
    const struct ox_conv c = as_conv(1, n, k, k);
    struct ox_integer_core core;
    describe(t, &c, 1, k, &core);
    const struct ox_integer_packing p = {.k = &core,
                                         .weights = weights,
                                         .flip = is_signed ? 0 : 0x80,
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
        for (size_t i = 0; i < count; i++)
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
                                         .tap = 1,
                                         .channel = taps,
                                         .col = k.channels * taps,
                                         .out = to};
    ox_integer_pack(env, &p);
}

/* With what may be read past its end. */
static size_t frame_bytes(size_t bytes)
{
    return bytes ? ox_integer_round_up(bytes + OX_INTEGER_OVER, 64) : 0;
}

size_t ox_integer_conv_work(const struct ox_integer *t, const struct ox_env *env,
                            const struct ox_conv *c, bool in_signed)
{
    struct ox_integer_core k;
    size_t frame[2], bytes = 0;
    describe_conv(t, c, in_signed, &k);
    plan(&k, 1);
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
    const size_t left = ox_integer_least(c->pad[1], f->across),
                 width = ox_integer_least(c->in[1], f->across - left);
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
        copy_bytes(in + x * c->in_pixel, f->flip, channels, out + (left + x) * channels);
    if (c->in_pixel == channels)
        copy_bytes(in, f->flip, width * channels, out + left * channels);
}

void ox_integer_conv_run(const struct ox_integer *t, struct ox_env *env, const struct ox_conv *c,
                         const void *packed, const void *in, bool in_signed, int32_t in_zero,
                         void *out, const struct ox_integer_end *end, void *work)
{
    struct ox_integer_core k;
    size_t frame[2], bytes = 0;
    if (is_headed(t, c)) {
        const struct head *head = packed;
        packed = (const char *)packed + HEAD;
        if (head->lines) {
            ox_integer_lines_run(t, env, c, packed, in, in_signed, in_zero, out, end, work);
            return;
        }
        if (head->winograd) {
            ox_integer_winograd_run(t, env, c, packed, in, in_signed, in_zero, out, end, work);
            return;
        }
    }
    const bool framed = needs_frame(t, c, in_signed, frame);
    const bool flips = in_signed && t->layout == OX_INTEGER_QUADS && !ox_integer_is_depthwise(c);
    describe_conv(t, c, in_signed, &k);
    plan(&k, 1);
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
        if (framed) {
            struct framing f = {c, frame[1], k.in, work, (uint8_t)in_zero, flips ? 0x80 : 0};
            ox_spread(env, frame[0], (double)bytes * 10, frame_row, &f);
            k.in = work;
            k.end_of_in = k.in + bytes;
        }
        run_image(&k, env);
    }
}
