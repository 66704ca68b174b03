/* Convolutions, each by the way that was chosen for it. */
#include "kernels/convolve.h"

#include "common/compiler.h"
#include "kernels/convolve_impl.h"
#include "kernels/sizes.h"

size_t ox_conv_packed(const struct ox_compute *t, enum ox_conv_way way, const struct ox_conv *c)
{
    size_t taps, all;
    if (OX_MUL_OVERFLOWS(c->kernel[0], c->kernel[1], &taps))
        return SIZE_MAX;
    switch (way) {
    case OX_CONV_POINTWISE:
        return ox_dense_packed(t, c->in_channels, c->out_channels);
    case OX_CONV_DEPTHWISE:
    case OX_CONV_TURNED:
    case OX_CONV_SPREAD:
        if (OX_MUL_OVERFLOWS(taps, c->in_channels / c->groups, &taps))
            return SIZE_MAX;
        return OX_MUL_OVERFLOWS(taps, c->out_channels, &all) ? SIZE_MAX : all;
    case OX_CONV_ABREAST:
        return ox_conv_abreast_packed(t, c);
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
        return ox_conv_joined_packed(t, c, way == OX_CONV_JOINED_ABREAST);
    case OX_CONV_COLUMNS:
        return ox_conv_columns_packed(t, c);
    case OX_CONV_WINOGRAD_LINE:
        return ox_conv_winograd_packed(t, c, 4);
    case OX_CONV_WINOGRAD2:
        return ox_conv_winograd_packed(t, c, 2);
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
        return ox_conv_winograd_packed(t, c, 4);
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD2_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
    case OX_CONV_INDIRECT:
    case OX_CONV_PADDED:
        break;
    }
    return ox_conv_indirect_packed(t, c);
}

void ox_conv_pack(const struct ox_compute *t, struct ox_env *env, enum ox_conv_way way,
                  const struct ox_conv *c, const void *weights, enum ox_weight_type type,
                  float *out)
{
    switch (way) {
    case OX_CONV_POINTWISE:
        ox_dense_pack(t, env, c->in_channels, c->out_channels, weights, type, 1, c->in_channels,
                      out);
        break;
    case OX_CONV_DEPTHWISE:
        ox_conv_depthwise_pack(t, c, weights, type, out);
        break;
    case OX_CONV_TURNED:
        ox_conv_turned_pack(t, c, weights, type, out);
        break;
    case OX_CONV_ABREAST:
        ox_conv_abreast_pack(t, c, weights, type, out);
        break;
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
        ox_conv_joined_pack(t, c, way == OX_CONV_JOINED_ABREAST, weights, type, out);
        break;
    case OX_CONV_SPREAD:
        ox_conv_spread_pack(t, c, weights, type, out);
        break;
    case OX_CONV_COLUMNS:
        ox_conv_columns_pack(t, env, c, weights, type, out);
        break;
    case OX_CONV_WINOGRAD_LINE:
        ox_conv_winograd_pack(t, env, c, 4, weights, type, out);
        break;
    case OX_CONV_WINOGRAD2:
        ox_conv_winograd_pack(t, env, c, 2, weights, type, out);
        break;
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
        ox_conv_winograd_pack(t, env, c, 4, weights, type, out);
        break;
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD2_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
        ox_conv_winograd_late_pack(t, env, c, weights, type, out);
        break;
    case OX_CONV_INDIRECT:
    case OX_CONV_PADDED:
        ox_conv_indirect_pack(t, env, c, weights, type, out);
        break;
    }
}

static struct ox_dense as_product(const struct ox_conv *c)
{
    return (struct ox_dense){.m = c->batch * c->out[0] * c->out[1],
                             .n = c->out_channels,
                             .k = c->in_channels,
                             .b = c->stored,
                             .weights = c->stored != NULL,
                             .b_row = 1,
                             .b_col = c->in_channels,
                             .a_row = c->in_pixel,
                             .a_col = 1,
                             .made = c->made,
                             .c_row = c->out_pixel};
}

bool ox_conv_reads_stored(const struct ox_compute *t, enum ox_conv_way way, const struct ox_conv *c)
{
    enum { ROWS_MOST = 256 }; /* more go by in parts, each of which packs for itself */
    const size_t m = c->batch * c->out[0] * c->out[1], k = c->in_channels;
    switch (way) {
    case OX_CONV_POINTWISE:
        /* Few would be summed in another order. */
        return m <= ROWS_MOST && !ox_dense_wants_unpacked(t, m, c->out_channels, k, 1, k);
    case OX_CONV_WINOGRAD2_LATE:
        return ox_conv_winograd_late_reads_stored(t, c, 2);
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
        return ox_conv_winograd_late_reads_stored(t, c, 4);
    case OX_CONV_DEPTHWISE:
    case OX_CONV_TURNED:
    case OX_CONV_ABREAST:
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
    case OX_CONV_SPREAD:
    case OX_CONV_COLUMNS:
    case OX_CONV_WINOGRAD_LINE:
    case OX_CONV_WINOGRAD2:
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
    case OX_CONV_PADDED:
        break;
    case OX_CONV_INDIRECT:
        /* A part of the channels might go by triples, or not, unlike all of them. */
        return !c->transposed && c->groups == 1 && m <= ROWS_MOST && !ox_conv_gathers_parts(t, c);
    }
    return false;
}

bool ox_conv_makes_rows(const struct ox_compute *t, enum ox_conv_way way, const struct ox_conv *c)
{
    return way == OX_CONV_POINTWISE && !c->stored &&
           ox_dense_makes_rows(t, c->batch * c->out[0] * c->out[1], c->in_channels);
}

bool ox_conv_adds_in_place(const struct ox_compute *t, enum ox_conv_way way,
                           const struct ox_conv *c)
{
    return way == OX_CONV_POINTWISE && c->in_channels <= t->depth_most;
}

/* Of weights that are read where they lie so many output channels are packed at a time: they stay in L2. */
static struct ox_conv some_channels(const struct ox_compute *t, const struct ox_conv *c)
{
    const size_t each = c->kernel[0] * c->kernel[1] * c->in_channels;
    const size_t panels = t->block_floats / (each * t->nr + 1);
    struct ox_conv part = *c;
    part.stored = NULL;
    part.out_channels = ox_least((panels ? panels : 1) * t->nr, c->out_channels);
    return part;
}

static void run_by_channels(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                            const float *in, float *out, const struct ox_epilogue *end, float *work)
{
    const size_t each = c->kernel[0] * c->kernel[1] * c->in_channels;
    struct ox_conv part = some_channels(t, c);
    float *packed = work + ox_round_up(ox_conv_indirect_work(c), 16);
    for (size_t at = 0; at < c->out_channels; at += part.out_channels) {
        part.out_channels = ox_least(part.out_channels, c->out_channels - at);
        const struct ox_epilogue own = ox_end_at(end, 0, at);
        ox_conv_indirect_pack(t, env, &part, c->stored + at * each, OX_WEIGHT_F32, packed);
        ox_conv_indirect(t, env, &part, packed, in, out + at, &own, work);
    }
}

static void run_gathered(const struct ox_compute *t, struct ox_env *env, const struct ox_conv *c,
                         const float *packed, const float *in, float *out,
                         const struct ox_epilogue *end, float *work)
{
    const struct ox_conv_rows rows = {c, in};
    const struct ox_made made = {ox_conv_gather_rows, &rows};
    struct ox_dense d = ox_conv_gathered_product(c, &made);
    d.packed = packed;
    d.c = out;
    d.end = *end;
    ox_dense_run(t, env, &d, work);
}

size_t ox_conv_work(const struct ox_compute *t, const struct ox_env *env, enum ox_conv_way way,
                    const struct ox_conv *c)
{
    static const float some; /* stands for what will be packed */
    static const struct ox_made made;
    struct ox_dense d = as_product(c);
    d.packed = c->stored ? NULL : &some;
    switch (way) {
    case OX_CONV_POINTWISE:
        return ox_dense_work(t, env, &d);
    case OX_CONV_DEPTHWISE:
    case OX_CONV_TURNED:
        return ox_conv_depthwise_work(c, env);
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
        return ox_conv_joined_work(t, env, c, way == OX_CONV_JOINED_ABREAST);
    case OX_CONV_SPREAD:
        return ox_conv_spread_work(c, env);
    case OX_CONV_COLUMNS:
        return ox_conv_columns_work(c);
    case OX_CONV_WINOGRAD_LINE:
        return ox_conv_winograd_work(t, env, c, 4);
    case OX_CONV_WINOGRAD2:
        return ox_conv_winograd_work(t, env, c, 2);
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
        return ox_conv_winograd_work(t, env, c, 4);
    case OX_CONV_WINOGRAD2_LATE:
        return ox_conv_winograd_late_work(t, env, c, 2);
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
        return ox_conv_winograd_late_work(t, env, c, 4);
    case OX_CONV_ABREAST:
        return ox_conv_narrow_work(t, c, ox_conv_abreast(t, c), env);
    case OX_CONV_PADDED:
        return c->groups > 1 ? ox_conv_groups_work(t, c, env) : ox_conv_narrow_work(t, c, 1, env);
    case OX_CONV_INDIRECT:
        break;
    }
    if (!c->stored && ox_conv_gathers_parts(t, c)) {
        d = ox_conv_gathered_product(c, &made);
        return ox_dense_work(t, env, &d);
    }
    if (!c->stored)
        return ox_conv_indirect_work(c);
    const struct ox_conv part = some_channels(t, c);
    return ox_round_up(ox_conv_indirect_work(c), 16) + ox_conv_indirect_packed(t, &part);
}

void ox_conv_run(const struct ox_compute *t, struct ox_env *env, enum ox_conv_way way,
                 const struct ox_conv *c, const float *packed, const float *in, float *out,
                 const struct ox_epilogue *end, float *work)
{
    struct ox_dense d;
    switch (way) {
    case OX_CONV_POINTWISE:
        d = as_product(c);
        d.a = in;
        d.packed = c->stored ? NULL : packed;
        d.c = out;
        d.end = *end;
        ox_dense_run(t, env, &d, work);
        break;
    case OX_CONV_DEPTHWISE:
    case OX_CONV_TURNED:
        ox_conv_depthwise(t, env, c, packed, in, out, end, work);
        break;
    case OX_CONV_JOINED:
    case OX_CONV_JOINED_ABREAST:
        ox_conv_joined(t, env, c, way == OX_CONV_JOINED_ABREAST, packed, in, out, end, work);
        break;
    case OX_CONV_SPREAD:
        ox_conv_spread(t, env, c, packed, in, out, end, work);
        break;
    case OX_CONV_COLUMNS:
        ox_conv_columns(t, env, c, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD_LINE:
        ox_conv_winograd(t, env, c, 4, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD2:
        ox_conv_winograd(t, env, c, 2, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD4:
    case OX_CONV_WINOGRAD_STRIDED:
        ox_conv_winograd(t, env, c, 4, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD2_LATE:
        ox_conv_winograd_late(t, env, c, 2, packed, in, out, end, work);
        break;
    case OX_CONV_WINOGRAD_LINE_LATE:
    case OX_CONV_WINOGRAD4_LATE:
    case OX_CONV_WINOGRAD_STRIDED_LATE:
        ox_conv_winograd_late(t, env, c, 4, packed, in, out, end, work);
        break;
    case OX_CONV_ABREAST:
        ox_conv_narrow(t, env, c, ox_conv_abreast(t, c), packed, in, out, end, work);
        break;
    case OX_CONV_PADDED:
        if (c->groups > 1)
            ox_conv_groups(t, env, c, packed, in, out, end, work);
        else
            ox_conv_narrow(t, env, c, 1, packed, in, out, end, work);
        break;
    case OX_CONV_INDIRECT:
        if (c->stored)
            run_by_channels(t, env, c, in, out, end, work);
        else if (ox_conv_gathers_parts(t, c))
            run_gathered(t, env, c, packed, in, out, end, work);
        else
            ox_conv_indirect(t, env, c, packed, in, out, end, work);
        break;
    }
}
