#include "tests/random_conv.h"

static void random_axis(struct dice *d, struct ox_conv *c, unsigned axis)
{
    c->kernel[axis] = dice_between(d, 1, 5);
    c->stride[axis] = dice_between(d, 1, 3);
    c->dilation[axis] = dice_between(d, 0, 3) ? 1 : 2;
    const size_t reach = (c->kernel[axis] - 1) * c->dilation[axis] + 1;
    c->pad[axis] = dice_between(d, 0, reach - 1);
    const size_t after = dice_between(d, 0, reach - 1);
    c->in[axis] = dice_between(d, 1, 17);
    if (c->transposed) {
        const size_t all = (c->in[axis] - 1) * c->stride[axis] + reach;
        c->out[axis] = all > c->pad[axis] + after ? all - c->pad[axis] - after : 0;
    } else {
        const size_t all = c->in[axis] + c->pad[axis] + after;
        c->out[axis] = all >= reach ? (all - reach) / c->stride[axis] + 1 : 0;
    }
}

bool is_strided(enum ox_conv_way way)
{
    return way >= OX_CONV_WINOGRAD_STRIDED;
}

bool is_line(enum ox_conv_way way)
{
    return way == OX_CONV_WINOGRAD_LINE || way == OX_CONV_WINOGRAD_LINE_LATE;
}

bool is_joined(enum ox_conv_way way)
{
    return way == OX_CONV_JOINED || way == OX_CONV_JOINED_ABREAST;
}

/* 3x3; of Winograd's ways some take larger kernels too. */
static void make_3x3(struct dice *d, struct ox_conv *c, size_t stride, bool larger)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        c->kernel[axis] = larger && dice_between(d, 0, 2) == 0 ? dice_between(d, 3, 8) : 3;
        c->stride[axis] = stride;
        c->dilation[axis] = stride > 1 || dice_between(d, 0, 2) ? 1 : dice_between(d, 2, 5);
        c->pad[axis] = dice_between(d, 0, 2 * c->dilation[axis]);
        c->out[axis] = (c->in[axis] + c->pad[axis] + stride - 1) / stride;
    }
    c->groups = 1;
}

/* The kernel is a whole number of strides; outputs may lie past all taps, padding may be as large. */
static void make_joined(struct dice *d, struct ox_conv *c)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        c->stride[axis] = dice_between(d, 1, 4);
        c->dilation[axis] = 1;
        c->kernel[axis] = c->stride[axis] * dice_between(d, 1, 3);
        c->pad[axis] = dice_between(d, 0, c->kernel[axis] + 1);
        const size_t all = (c->in[axis] - 1) * c->stride[axis] + c->kernel[axis];
        const size_t after = dice_between(d, 0, 7); /* less 3: output_padding */
        c->out[axis] = all + 3 > c->pad[axis] + after ? all + 3 - c->pad[axis] - after : 0;
    }
    if (dice_between(d, 0, 3) == 0) { /* a line of more than a band */
        c->kernel[0] = c->stride[0] = c->in[0] = c->out[0] = 1;
        c->pad[0] = 0;
        c->in_channels = dice_between(d, 1, 4);
        c->out_channels += 16;
        c->in[1] += 600;
        c->out[1] += 600 * c->stride[1];
    }
}

/* Also kernels that do not reach all outputs, dilated ones, and groups of several channels. */
static void make_spread(struct dice *d, struct ox_conv *c)
{
    const size_t k = dice_between(d, 0, 1) ? 1 : dice_between(d, 1, 4);
    c->groups = dice_between(d, 2, 90 / k);
    c->in_channels = c->groups * k;
    c->out_channels = c->groups * (k == 1 ? 1 : dice_between(d, 1, 9));
    for (unsigned axis = 0; axis < 2; axis++) {
        c->kernel[axis] = dice_between(d, 0, 1) ? dice_between(d, 1, 3) : c->kernel[axis];
        c->dilation[axis] = dice_between(d, 0, 2) ? 1 : dice_between(d, 2, 3);
    }
    if (k > 1) /* 16 rows at most, one for each tap and channel */
        c->kernel[0] = dice_between(d, 1, 16 / k);
}

/* Several taps one way. */
static void make_line(struct dice *d, struct ox_conv *c)
{
    const unsigned along = (unsigned)dice_between(d, 0, 1);
    for (unsigned axis = 0; axis < 2; axis++) {
        c->kernel[axis] = axis == along ? dice_between(d, 3, 11) : 1;
        c->stride[axis] = 1;
        c->dilation[axis] = dice_between(d, 0, 2) ? 1 : dice_between(d, 2, 5);
        c->pad[axis] = dice_between(d, 0, 2 * c->dilation[axis]);
        c->out[axis] = c->in[axis] + c->pad[axis];
    }
    c->groups = 1;
}

/* Few lines, of more outputs than one task takes. */
static void make_long(struct dice *d, struct ox_conv *c)
{
    c->in[1] += 400 * c->stride[1];
    c->out[1] += 400;
    if (dice_between(d, 0, 1)) {
        c->kernel[0] = c->in[0] = c->out[0] = 1;
        c->pad[0] = 0;
    }
}

/* A kernel of many rows, and of one column or of many, depthwise or of few channels. */
static void make_tall(struct dice *d, struct ox_conv *c)
{
    const size_t reach[2] = {dice_between(d, 3, 32), dice_between(d, 0, 1) * 24};
    for (unsigned axis = 0; axis < 2; axis++) {
        c->kernel[axis] = reach[axis] + 1;
        c->dilation[axis] = 1;
        c->pad[axis] = reach[axis] ? dice_between(d, 0, reach[axis]) : 0;
        c->in[axis] = reach[axis] + dice_between(d, 1, 12);
        c->stride[axis] = axis ? 1 : dice_between(d, 1, 2);
        c->out[axis] = (c->in[axis] + c->pad[axis] - c->kernel[axis]) / c->stride[axis] + 1;
    }
}

/* A kernel that reaches over most of a line, whose outputs gather what they read. */
static void make_wide(struct dice *d, struct ox_conv *c)
{
    c->in_channels = dice_between(d, 1, 16);
    c->kernel[1] = dice_between(d, 65, 80);
    c->out[1] = dice_between(d, 1, 5);
    c->pad[1] = dice_between(d, 0, 6);
    const size_t reach = (c->kernel[1] - 1) * c->dilation[1] + 1;
    c->in[1] = (c->out[1] - 1) * c->stride[1] + reach - c->pad[1] - dice_between(d, 0, 6);
}

struct ox_conv random_conv(struct dice *d, enum ox_conv_way way)
{
    struct ox_conv c = {.batch = dice_between(d, 1, 2), .groups = 1};
    c.in_channels = dice_between(d, 1, 40);
    c.out_channels = dice_between(d, 1, 40);
    c.transposed = is_joined(way) || way == OX_CONV_SPREAD ||
                   (way == OX_CONV_COLUMNS && dice_between(d, 0, 1)) ||
                   (way == OX_CONV_INDIRECT && dice_between(d, 0, 1));
    random_axis(d, &c, 0);
    random_axis(d, &c, 1);
    if (is_joined(way) || way == OX_CONV_SPREAD)
        make_joined(d, &c);
    if (way == OX_CONV_INDIRECT && dice_between(d, 0, 1)) {
        c.groups = dice_between(d, 2, 4);
        c.in_channels = c.groups * dice_between(d, 1, 9);
        c.out_channels = c.groups * dice_between(d, 1, 36);
    } else if (way == OX_CONV_INDIRECT && !c.transposed && dice_between(d, 0, 1)) {
        make_wide(d, &c);
    } else if (way == OX_CONV_DEPTHWISE) {
        c.groups = c.in_channels = dice_between(d, 1, 90);
        c.out_channels = c.in_channels * dice_between(d, 1, 3);
        const size_t side = 1 + 2 * dice_between(d, 0, 3); /* 1: as it is; 7: blocks of channels */
        if (side > 1) {
            c.kernel[0] = c.kernel[1] = side;
            c.stride[1] = dice_between(d, 1, 2);
            c.dilation[1] = 1;
        } else if (dice_between(d, 0, 1)) {
            make_tall(d, &c);
        }
    } else if (way == OX_CONV_TURNED) {
        c.groups = dice_between(d, 2, 9);
        c.in_channels = c.out_channels = c.groups * ((size_t)2 << dice_between(d, 0, 2));
    } else if (way == OX_CONV_SPREAD) {
        make_spread(d, &c);
    } else if (way == OX_CONV_COLUMNS) {
        c.dilation[1] = 1;
        c.out_channels = dice_between(d, 1, 4);
        if (dice_between(d, 0, 3) == 0) {
            c.groups = c.out_channels;
            c.in_channels = c.groups * dice_between(d, 1, 9);
        }
        for (unsigned axis = 0; axis < 2 && !c.transposed; axis++) {
            const size_t reach = (c.kernel[axis] - 1) * c.dilation[axis];
            c.stride[axis] = 1;
            c.pad[axis] = reach ? dice_between(d, 0, reach) : 0;
            c.in[axis] += reach;
            c.out[axis] = c.in[axis] + 2 * c.pad[axis] - reach;
        }
    } else if (is_line(way)) {
        if (way == OX_CONV_WINOGRAD_LINE_LATE && dice_between(d, 0, 3) == 0)
            c.in_channels += 256;
        make_line(d, &c);
    } else if (way >= OX_CONV_WINOGRAD2) {
        if (way >= OX_CONV_WINOGRAD2_LATE && dice_between(d, 0, 3) == 0)
            c.in_channels += 256; /* not all are transformed at a time */
        make_3x3(d, &c, is_strided(way) ? 2 : 1, !is_strided(way));
    } else if (way == OX_CONV_POINTWISE) {
        for (unsigned axis = 0; axis < 2; axis++) {
            c.kernel[axis] = c.stride[axis] = c.dilation[axis] = 1;
            c.pad[axis] = 0;
            c.out[axis] = c.in[axis];
        }
    } else if (way == OX_CONV_JOINED_ABREAST) {
        c.out_channels = dice_between(d, 1, 4);
    } else if (way == OX_CONV_ABREAST) {
        c.dilation[1] = 1;
        c.out_channels = dice_between(d, 1, 6);
    } else if (way == OX_CONV_PADDED) {
        c.planar = dice_between(d, 0, 1);
        if (!c.planar && dice_between(d, 0, 1)) {
            c.groups = dice_between(d, 2, 4);
            c.in_channels = c.groups * dice_between(d, 1, 9);
            c.out_channels = c.groups * dice_between(d, 1, 36);
        } else if (c.planar || dice_between(d, 0, 1)) {
            c.dilation[1] = 1;
        }
        if (c.groups == 1 && dice_between(d, 0, 3) == 0) {
            c.in_channels = dice_between(d, 1, 12);
            make_tall(d, &c);
        }
    }
    if ((way == OX_CONV_PADDED || way == OX_CONV_ABREAST) && c.out[1] && dice_between(d, 0, 7) == 0)
        make_long(d, &c);
    c.in_pixel = c.in_channels + (dice_between(d, 0, 1) ? dice_between(d, 0, 5) : 0);
    c.out_pixel = c.out_channels +
                  (way == OX_CONV_ABREAST || way == OX_CONV_COLUMNS ? 0 : dice_between(d, 0, 5));
    return c;
}
