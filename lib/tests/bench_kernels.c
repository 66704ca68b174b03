/* What each kernel reaches, beside what a loop of multiplies and adds in registers reaches in the same seconds. */
#include "tests/bench_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/convolve.h"
#include "kernels/integer.h"
#include "kernels/maps.h"

enum { ROUNDS = 7 };

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[ROUNDS / 2];
}

struct subject {
    const char *name;
    double flops, bytes;
    void (*run)(void *arg);
    void *arg;
};

static void measure(const struct ox_compute *t, const struct subject *s)
{
    double speed[ROUNDS], peak[ROUNDS], share[ROUNDS], unit = s->flops > 0 ? s->flops : s->bytes;
    s->run(s->arg);
    double start = cpu_seconds();
    s->run(s->arg);
    const double once = cpu_seconds() - start;
    const size_t times = once > 0.02 ? 1 : (size_t)(0.02 / (once + 1e-8)) + 1;
    for (unsigned i = 0; i < ROUNDS; i++) {
        start = cpu_seconds();
        peak[i] = t->probe(200000) / (cpu_seconds() - start) * 1e-9;
        start = cpu_seconds();
        for (size_t n = 0; n < times; n++)
            s->run(s->arg);
        speed[i] = unit * (double)times / (cpu_seconds() - start) * 1e-9;
        share[i] = speed[i] / peak[i];
    }
    const double reached = middle(speed), most = middle(peak), part = middle(share);
    if (s->flops > 0)
        printf("%-44s %9.1f us %7.1f GFLOP/s  %5.1f %% of %.0f\n", s->name, unit / reached * 1e-3,
               reached, 100 * part, most);
    else
        printf("%-44s %9.1f us %7.1f GB/s\n", s->name, unit / reached * 1e-3, reached);
    fflush(stdout);
}

static float *numbers(size_t n)
{
    float *x = aligned_alloc(64, (n * sizeof *x + 127) / 64 * 64);
    if (!x)
        abort();
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((i * 7919) % 1000) * 0.002f - 1;
    return x;
}

struct product {
    const struct ox_compute *t;
    struct ox_dense d;
    float *work;
};

static void run_product(void *arg)
{
    struct product *p = arg;
    ox_dense_run(p->t, NULL, &p->d, p->work);
}

enum side { PACKED, ROWS, TURNED };

static void bench_product(const struct ox_compute *t, size_t m, size_t n, size_t k, enum side side)
{
    static const char *const words[] = {"packed", "k x n", "n x k"};
    char name[80];
    float *a = numbers(m * k), *b = numbers(k * n), *c = numbers(m * n);
    float *packed = numbers(ox_dense_packed(t, k, n));
    struct product p = {t,
                        {.m = m,
                         .n = n,
                         .k = k,
                         .a = a,
                         .a_row = k,
                         .a_col = 1,
                         .c = c,
                         .c_row = n,
                         .b = b,
                         .b_row = n,
                         .b_col = 1},
                        NULL};
    if (side == TURNED) {
        p.d.b_row = 1;
        p.d.b_col = k;
    } else if (side == PACKED) {
        ox_dense_pack(t, NULL, k, n, b, OX_WEIGHT_F32, n, 1, packed);
        p.d.packed = packed;
        p.d.b = NULL;
    }
    p.work = numbers(ox_dense_work(t, NULL, &p.d));
    snprintf(name, sizeof name, "product %zu x %zu x %zu, %s", m, n, k, words[side]);
    const struct subject s = {name, 2.0 * (double)(m * n) * (double)k, 0, run_product, &p};
    measure(t, &s);
    free(a);
    free(b);
    free(c);
    free(packed);
    free(p.work);
}

struct convolution {
    const struct ox_compute *t;
    enum ox_conv_way way;
    struct ox_conv c;
    float *in, *out, *packed, *work;
    struct ox_epilogue end;
};

static void run_convolution(void *arg)
{
    struct convolution *v = arg;
    ox_conv_run(v->t, NULL, v->way, &v->c, v->packed, v->in, v->out, &v->end, v->work);
}

struct layer {
    size_t side, in, out, kernel, stride;
    bool planar, depthwise, transposed;
    size_t groups;
};

static void bench_way(const struct ox_compute *t, enum ox_conv_way way, const struct layer *l)
{
    static const char *const words[] = {[OX_CONV_POINTWISE] = "1x1",
                                        [OX_CONV_INDIRECT] = "indirect",
                                        [OX_CONV_PADDED] = "padded",
                                        [OX_CONV_DEPTHWISE] = "depthwise",
                                        [OX_CONV_TURNED] = "turned",
                                        [OX_CONV_ABREAST] = "abreast",
                                        [OX_CONV_JOINED] = "joined",
                                        [OX_CONV_JOINED_ABREAST] = "joined abreast",
                                        [OX_CONV_SPREAD] = "spread",
                                        [OX_CONV_COLUMNS] = "columns",
                                        [OX_CONV_WINOGRAD2] = "F(2,3)",
                                        [OX_CONV_WINOGRAD4] = "F(4,3)",
                                        [OX_CONV_WINOGRAD2_LATE] = "F(2,3) late",
                                        [OX_CONV_WINOGRAD4_LATE] = "F(4,3) late",
                                        [OX_CONV_WINOGRAD_STRIDED] = "F(4,3) s2",
                                        [OX_CONV_WINOGRAD_STRIDED_LATE] = "F(4,3) s2 late"};
    const size_t groups = l->depthwise ? l->in : l->groups ? l->groups : 1;
    const size_t out = l->transposed ? l->side * l->stride : (l->side + l->stride - 1) / l->stride;
    const size_t pad = l->transposed ? (l->kernel - l->stride) / 2 : l->kernel / 2;
    struct convolution v = {t,
                            way,
                            {.batch = 1,
                             .groups = groups,
                             .in_channels = l->in,
                             .out_channels = l->out,
                             .kernel = {l->kernel, l->kernel},
                             .stride = {l->stride, l->stride},
                             .dilation = {1, 1},
                             .pad = {pad, pad},
                             .in = {l->side, l->side},
                             .out = {out, out},
                             .in_pixel = l->in,
                             .out_pixel = l->out,
                             .planar = l->planar,
                             .transposed = l->transposed},
                            NULL,
                            NULL,
                            NULL,
                            NULL,
                            {.act = OX_ACT_CLIP, .hi = INFINITY}};
    char name[96];
    const size_t taps = l->kernel * l->kernel;
    float *weights = numbers(l->in * l->out / groups * taps), *bias = numbers(l->out);
    v.in = numbers(l->side * l->side * l->in);
    v.out = numbers(out * out * l->out);
    v.packed = numbers(ox_conv_packed(t, way, &v.c));
    v.work = numbers(ox_conv_work(t, NULL, way, &v.c));
    v.end.col_bias = bias;
    ox_conv_pack(t, NULL, way, &v.c, weights, OX_WEIGHT_F32, v.packed);
    snprintf(name, sizeof name, "%s%s %zux%zu s%zu g%zu %zux%zux%zu -> %zu",
             l->transposed ? "transposed " : "", words[way], l->kernel, l->kernel, l->stride,
             groups, l->side, l->side, l->in, l->out);
    const size_t pixels = l->transposed ? l->side * l->side : out * out;
    const struct subject s = {name,
                              2.0 * (double)(pixels * l->out) * (double)(l->in / groups * taps), 0,
                              run_convolution, &v};
    measure(t, &s);
    free(weights);
    free(bias);
    free(v.in);
    free(v.out);
    free(v.packed);
    free(v.work);
}

static const size_t products[][3] = {
    {1024, 1024, 1024}, {128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {197, 768, 768},
    {49, 2048, 512},    {49, 512, 2048}, {196, 1024, 256}, {3136, 64, 64},   {3136, 256, 64},
    {784, 128, 512},    {12544, 16, 32}, {128, 128, 64},   {128, 64, 128},   {16, 1000, 1280}};

static const struct layer layers[] = {
    {.side = 224, .in = 3, .out = 64, .kernel = 7, .stride = 2, .planar = true},
    {.side = 224, .in = 3, .out = 32, .kernel = 3, .stride = 2, .planar = true},
    {.side = 224, .in = 3, .out = 64, .kernel = 3, .stride = 1, .planar = true},
    {.side = 224, .in = 1, .out = 64, .kernel = 5, .stride = 1, .planar = true},
    {.side = 224, .in = 64, .out = 64, .kernel = 3, .stride = 1},
    {.side = 112, .in = 128, .out = 128, .kernel = 3, .stride = 1},
    {.side = 56, .in = 64, .out = 64, .kernel = 3, .stride = 1},
    {.side = 28, .in = 128, .out = 128, .kernel = 3, .stride = 1},
    {.side = 14, .in = 256, .out = 256, .kernel = 3, .stride = 1},
    {.side = 7, .in = 512, .out = 512, .kernel = 3, .stride = 1},
    {.side = 56, .in = 128, .out = 128, .kernel = 3, .stride = 2},
    {.side = 28, .in = 256, .out = 256, .kernel = 3, .stride = 2},
    {.side = 160, .in = 64, .out = 128, .kernel = 3, .stride = 2},
    {.side = 80, .in = 64, .out = 64, .kernel = 3, .stride = 1},
    {.side = 54, .in = 16, .out = 64, .kernel = 3, .stride = 1},
    {.side = 224, .in = 64, .out = 32, .kernel = 3, .stride = 1},
    {.side = 224, .in = 32, .out = 9, .kernel = 3, .stride = 1},
    {.side = 14, .in = 1024, .out = 256, .kernel = 1, .stride = 1},
    {.side = 7, .in = 2048, .out = 512, .kernel = 1, .stride = 1},
    {.side = 56, .in = 64, .out = 256, .kernel = 1, .stride = 1},
    {.side = 56, .in = 256, .out = 512, .kernel = 1, .stride = 2},
    {.side = 112, .in = 32, .out = 32, .kernel = 3, .stride = 1, .depthwise = true},
    {.side = 112, .in = 96, .out = 96, .kernel = 3, .stride = 2, .depthwise = true},
    {.side = 56, .in = 144, .out = 144, .kernel = 3, .stride = 1, .depthwise = true},
    {.side = 28, .in = 192, .out = 192, .kernel = 5, .stride = 1, .depthwise = true},
    {.side = 14, .in = 576, .out = 576, .kernel = 3, .stride = 1, .depthwise = true},
    {.side = 7, .in = 960, .out = 960, .kernel = 3, .stride = 1, .depthwise = true},
    {.side = 56, .in = 96, .out = 96, .kernel = 7, .stride = 1, .depthwise = true},
    {.side = 32, .in = 768, .out = 768, .kernel = 7, .stride = 1, .depthwise = true},
    {.side = 14, .in = 384, .out = 384, .kernel = 7, .stride = 1, .depthwise = true},
    {.side = 14, .in = 256, .out = 256, .kernel = 3, .stride = 1, .groups = 32},
    {.side = 28, .in = 232, .out = 232, .kernel = 1, .stride = 1, .groups = 2},
    {.side = 28, .in = 256, .out = 128, .kernel = 2, .stride = 2, .transposed = true},
    {.side = 14, .in = 256, .out = 128, .kernel = 4, .stride = 2, .transposed = true}};

struct turn {
    const struct ox_compute *t;
    size_t channels, pixels;
    float *x, *y;
    bool back;
};

static void run_turn(void *arg)
{
    const struct turn *v = arg;
    if (v->back)
        ox_maps_to_nchw(v->t, NULL, 1, v->channels, v->pixels, v->x, v->channels, v->y);
    else
        ox_maps_to_nhwc(v->t, NULL, 1, v->channels, v->pixels, v->x, v->y, v->channels);
}

static void bench_turn(const struct ox_compute *t, size_t channels, size_t side, bool back)
{
    char name[80];
    struct turn v = {t, channels, side * side, NULL, NULL, back};
    v.x = numbers(channels * side * side);
    v.y = numbers(channels * side * side);
    snprintf(name, sizeof name, "%s %zux%zux%zu", back ? "nchw" : "nhwc", side, side, channels);
    const struct subject s = {name, 0, 8.0 * (double)(channels * side * side), run_turn, &v};
    measure(t, &s);
    free(v.x);
    free(v.y);
}

struct pool {
    const struct ox_compute *t;
    struct ox_pooling p;
    float *x, *y;
};

static void run_pool(void *arg)
{
    const struct pool *v = arg;
    ox_maps_pool(v->t, NULL, &v->p, v->x, v->y);
}

static void bench_pool(const struct ox_compute *t, size_t side, size_t channels, size_t kernel,
                       size_t stride)
{
    char name[80];
    const size_t out = (side + stride - 1) / stride, pad = kernel / 2;
    struct pool v = {t,
                     {.batch = 1,
                      .channels = channels,
                      .kernel = {kernel, kernel},
                      .stride = {stride, stride},
                      .dilation = {1, 1},
                      .pad = {pad, pad},
                      .pad_end = {pad, pad},
                      .in = {side, side},
                      .out = {out, out},
                      .in_pixel = channels,
                      .out_pixel = channels},
                     NULL,
                     NULL};
    v.x = numbers(side * side * channels);
    v.y = numbers(out * out * channels);
    snprintf(name, sizeof name, "max pool %zux%zu s%zu %zux%zux%zu", kernel, kernel, stride, side,
             side, channels);
    const struct subject s = {name, 0, 4.0 * (double)((side * side + out * out) * channels),
                              run_pool, &v};
    measure(t, &s);
    free(v.x);
    free(v.y);
}

struct integer {
    const struct ox_integer *t;
    struct ox_conv c;
    void *in, *out, *packed, *work;
    struct ox_integer_end end;
};

static void run_integer(void *arg)
{
    const struct integer *v = arg;
    ox_integer_conv_run(v->t, NULL, &v->c, v->packed, v->in, false, 0, v->out, &v->end, v->work);
}

static void bench_integer(const struct ox_compute *probe, enum ox_cpu level, const struct layer *l)
{
    const struct ox_integer *t = ox_integer(level);
    const size_t groups = l->depthwise ? l->in : 1, out = (l->side + l->stride - 1) / l->stride;
    const size_t taps = l->kernel * l->kernel;
    char name[96];
    struct integer v = {.t = t,
                        .c = {.batch = 1,
                              .groups = groups,
                              .in_channels = l->in,
                              .out_channels = l->out,
                              .kernel = {l->kernel, l->kernel},
                              .stride = {l->stride, l->stride},
                              .dilation = {1, 1},
                              .pad = {l->kernel / 2, l->kernel / 2},
                              .in = {l->side, l->side},
                              .out = {out, out},
                              .in_pixel = l->in,
                              .out_pixel = l->out}};
    float *weights = numbers(l->in * l->out / groups * taps), *scale = numbers(l->out);
    v.in = numbers(l->side * l->side * l->in);
    v.out = numbers(out * out * l->out);
    v.packed = numbers(ox_integer_conv_packed(t, &v.c, OX_INTEGER_ANY));
    v.work = numbers(ox_integer_conv_work(t, NULL, &v.c, false, false));
    for (size_t j = 0; j < l->out; j++)
        scale[j] = 0x1p-10F; /* of a quantized layer's size: larger ones leave by another way */
    v.end.scale = scale;
    v.end.hi = 255;
    ox_integer_conv_pack(t, NULL, &v.c, OX_INTEGER_ANY, weights, true, NULL, v.packed);
    snprintf(name, sizeof name, "int8 %zux%zu s%zu g%zu %zux%zux%zu -> %zu", l->kernel, l->kernel,
             l->stride, groups, l->side, l->side, l->in, l->out);
    const struct subject s = {name,
                              2.0 * (double)(out * out * l->out) * (double)(l->in / groups * taps),
                              0, run_integer, &v};
    measure(probe, &s);
    free(weights);
    free(scale);
    free(v.in);
    free(v.out);
    free(v.packed);
    free(v.work);
}

void bench_kernels(enum ox_cpu level, const char *only)
{
    const struct ox_compute *t = ox_compute(level);
    printf("level %s: CPU time of one thread, medians of %d\n", ox_cpu_name(t->level), ROUNDS);
    for (size_t i = 0; i < sizeof products / sizeof *products && (!only || strstr("product", only));
         i++)
        bench_product(t, products[i][0], products[i][1], products[i][2], PACKED);
    if (!only || strstr("product few", only)) {
        bench_product(t, 128, 768, 768, ROWS);
        bench_product(t, 1024, 1024, 1024, ROWS);
        bench_product(t, 1024, 1024, 1024, TURNED);
        for (size_t m = 1; m <= 4; m++) {
            bench_product(t, m, 3072, 768, ROWS);
            bench_product(t, m, 3072, 768, TURNED);
            bench_product(t, m, 3072, 768, PACKED);
        }
        bench_product(t, 1, 4096, 4096, ROWS);
        bench_product(t, 1, 4096, 4096, TURNED);
    }
    for (size_t i = 0; i < sizeof layers / sizeof *layers && (!only || strstr("convolution", only));
         i++) {
        const struct layer *l = &layers[i];
        struct ox_conv c = {
            .groups = l->depthwise ? l->in
                      : l->groups  ? l->groups
                                   : 1,
            .batch = 1,
            .in_channels = l->in,
            .out_channels = l->out,
            .kernel = {l->kernel, l->kernel},
            .stride = {l->stride, l->stride},
            .dilation = {1, 1},
            .planar = l->planar,
            .pad = {l->kernel / 2, l->kernel / 2},
            .in = {l->side, l->side},
            .out = {(l->side + l->stride - 1) / l->stride, (l->side + l->stride - 1) / l->stride},
            .transposed = l->transposed,
            .in_pixel = l->in,
            .out_pixel = l->out};
        bench_way(t, ox_conv_choose(t, &c, 0), l);
        if (l->kernel != 3 || l->planar || l->transposed || c.groups > 1 || l->in < 16)
            continue;
        if (l->stride == 2) {
            bench_way(t, OX_CONV_WINOGRAD_STRIDED, l);
            bench_way(t, OX_CONV_WINOGRAD_STRIDED_LATE, l);
            continue;
        }
        bench_way(t, OX_CONV_WINOGRAD2, l);
        bench_way(t, OX_CONV_WINOGRAD4, l);
        bench_way(t, OX_CONV_WINOGRAD2_LATE, l);
        bench_way(t, OX_CONV_WINOGRAD4_LATE, l);
    }
    for (size_t i = 0; i < sizeof layers / sizeof *layers && (!only || strstr("integer", only));
         i++) {
        const struct layer *l = &layers[i];
        if (!l->transposed && !l->groups && l->side * l->in < 15000)
            bench_integer(t, level, l);
    }
    if (!only || strstr("maps", only)) {
        bench_turn(t, 3, 224, false);
        bench_turn(t, 64, 56, false);
        bench_turn(t, 64, 56, true);
        bench_turn(t, 512, 14, false);
        bench_pool(t, 112, 64, 3, 2);
        bench_pool(t, 20, 256, 5, 1);
    }
}
