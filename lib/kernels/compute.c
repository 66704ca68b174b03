#include "kernels/compute.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "kernels/bfloat.h"
#include "kernels/triples.h"

static float act(const struct ox_epilogue *end, float x)
{
    if (end->act == OX_ACT_CLIP) {
        x = end->lo > x ? end->lo : x;
        return end->hi < x ? end->hi : x;
    }
    return end->act == OX_ACT_LEAKY && x < 0 ? end->alpha * x : x;
}

enum { MR = 4, NR = 8 };

/* The sums of a panel on their way to c; columns from `first` on. */
static void leave(const struct ox_tile *t, size_t first, float (*sum)[NR])
{
    const struct ox_epilogue *end = t->end;
    for (unsigned i = 0; i < t->rows; i++) {
        float *c = t->c + i * t->ldc;
        for (size_t j = first; j < t->cols && j < first + NR; j++) {
            float x = t->add ? c[j] + sum[i][j - first] : sum[i][j - first];
            if (end) {
                x = end->scale != 0 ? x * end->scale : x;
                x = end->col_bias ? x + end->col_bias[j] : x;
                x = end->row_bias ? x + end->row_bias[i] : x;
                if (end->residual && !end->residual_last)
                    x += end->residual[i * end->residual_ld + j];
                x = act(end, x);
            }
            c[j] = x;
        }
    }
}

static void tile(const struct ox_tile *t)
{
    for (size_t first = 0; first < t->cols; first += NR) {
        float sum[MR][NR] = {{0}};
        const float *b = t->b + first / NR * t->panel;
        for (size_t s = 0; s < t->segments; s++) {
            const float *const *a = t->a + s * MR;
            for (size_t p = 0; p < t->depth; p++, b += NR) {
                for (unsigned i = 0; i < t->rows; i++) {
                    for (unsigned j = 0; j < NR; j++)
                        sum[i][j] += a[i][p] * b[j];
                }
            }
        }
        leave(t, first, sum);
    }
}

static void line(const struct ox_line *l)
{
    for (size_t x = 0; x < l->count; x++) {
        struct ox_epilogue end;
        struct ox_tile out = {.c = l->c + x * l->ldc, .cols = l->cols, .rows = 1, .add = l->add};
        if (l->end) {
            end = *l->end;
            end.row_bias = end.row_bias ? end.row_bias + x : NULL;
            end.residual = end.residual ? end.residual + x * end.residual_ld : NULL;
            out.end = &end;
        }
        for (size_t first = 0; first < l->cols; first += NR) {
            float sum[1][NR] = {{0}};
            const float *b = l->b + first / NR * l->panel;
            for (unsigned r = 0; r < l->rows; r++) {
                for (size_t p = 0; p < l->run; p++, b += NR) {
                    for (unsigned j = 0; j < NR; j++)
                        sum[0][j] += l->row[r][x * l->step + p] * b[j];
                }
            }
            leave(&out, first, sum);
        }
    }
}

static void stream(const struct ox_stream *s)
{
    for (unsigned i = 0; i < s->rows; i++) {
        float *c = s->c + i * s->ldc;
        for (unsigned p = 0; p < s->depth; p++) {
            const float x = s->a[i * s->lda + p * s->a_step];
            const float *b = s->b + p * s->ldb;
            for (size_t j = 0; j < s->n; j++)
                c[j] += x * b[j];
        }
    }
}

static void dots(size_t n, size_t k, unsigned rows, const float *a, size_t lda, const float *b,
                 size_t ldb, float *c, size_t ldc)
{
    for (unsigned i = 0; i < rows; i++) {
        for (size_t j = 0; j < n; j++) {
            float lane[8] = {0};
            const float *x = a + i * lda;
            const float *y = b + j * ldb;
            size_t p = 0;
            for (; p + 8 <= k; p += 8) {
                for (unsigned l = 0; l < 8; l++)
                    lane[l] += x[p + l] * y[p + l];
            }
            for (unsigned l = 0; p < k; p++, l++)
                lane[l] += x[p] * y[p];
            c[i * ldc + j] = ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
                             ((lane[1] + lane[5]) + (lane[3] + lane[7]));
        }
    }
}

static void finish(size_t n, const struct ox_epilogue *end, float *x)
{
    for (size_t j = 0; j < n; j++) {
        float y = end->scale != 0 ? x[j] * end->scale : x[j];
        y = end->col_bias ? y + end->col_bias[j] : y;
        y = end->row_bias ? y + *end->row_bias : y;
        y = end->residual && !end->residual_last ? y + end->residual[j] : y;
        y = act(end, y);
        x[j] = end->residual && end->residual_last ? y + end->residual[j] : y;
    }
}

static void pack(unsigned nr, size_t k, unsigned cols, const float *b, size_t row, size_t col,
                 float *out)
{
    for (size_t p = 0; p < k; p++, out += nr) {
        for (unsigned j = 0; j < cols; j++)
            out[j] = b[p * row + j * col];
        for (unsigned j = cols; j < nr; j++)
            out[j] = 0;
    }
}

static void pack_c(size_t k, unsigned cols, const float *b, size_t row, size_t col, float *out)
{
    pack(NR, k, cols, b, row, col, out);
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float from_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t exponent = half >> 10 & 31;
    const uint32_t fraction = half & 1023;
    if (exponent == 31) /* a signalling NaN becomes quiet, as the processors have it */
        return from_bits(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000u : 0));
    if (exponent)
        return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    const float tiny = (float)fraction * 0x1p-24f;
    return sign ? -tiny : tiny;
}

static void widen_f16(size_t n, const uint16_t *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = from_f16(x[i]);
}

static void widen_bf16(size_t n, const uint16_t *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = ox_bfloat_widen(x[i]);
}

static float clip(float x, float lo, float hi)
{
    x = lo > x ? lo : x;
    return hi < x ? hi : x;
}

static void depthwise(const struct ox_depthwise *d)
{
    for (size_t x = 0; x < d->count; x++) {
        for (size_t c = 0; c < d->channels; c++) {
            float sum = d->bias ? d->bias[c] : 0;
            const float *weight = d->weights + c;
            for (unsigned r = 0; r < d->rows; r++) {
                for (unsigned q = 0; q < d->cols; q++, weight += d->weights_ld)
                    sum += d->row[r][(x * d->step + q * d->dilation) * d->pixel + c] * *weight;
            }
            d->out[x * d->out_pixel + c] = clip(sum, d->lo, d->hi);
        }
    }
}

static void turned(const struct ox_depthwise *d)
{
    for (size_t x = 0; x < d->count; x++) {
        for (size_t c = 0; c < d->channels; c++) {
            float sum = d->bias ? d->bias[c] : 0;
            const size_t group = c / d->turns * d->turns;
            const float *weight = d->weights + c;
            for (unsigned r = 0; r < d->rows; r++) {
                for (unsigned s = 0; s < d->turns; s++) {
                    const float *in = d->row[r] + group + (c + s) % d->turns;
                    for (unsigned q = 0; q < d->cols; q++, weight += d->weights_ld)
                        sum += in[(x * d->step + q * d->dilation) * d->pixel] * *weight;
                }
            }
            d->out[x * d->out_pixel + c] = clip(sum, d->lo, d->hi);
        }
    }
}

/* F(m x m, 3x3) at the points 0, 1, -1, infinity (m = 2) and 0, 1, -1, 1/2, -2, infinity (m = 4): Lavin and Gray, "Fast
 * Algorithms for Convolutional Neural Networks"; the points after Barabasz et al., "Error Analysis and Improving the
 * Accuracy of Winograd Convolution for Deep Neural Networks". G, which belongs to them, is in convolve_winograd.c too, in double. */
static const float g_2[4][3] = {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
static const float g_4[6][3] = {{1, 0, 0},
                                {1.0f / 3, 1.0f / 3, 1.0f / 3},
                                {-1.0f / 3, 1.0f / 3, -1.0f / 3},
                                {-16.0f / 15, -8.0f / 15, -4.0f / 15},
                                {1.0f / 15, -2.0f / 15, 4.0f / 15},
                                {0, 0, 1}};
static const float g_strided[6][3] = {
    {2, 0, 0}, {1, 0, 1}, {-1.0f / 3, 0, 1.0f / 3}, {-8.0f / 3, 0, -4.0f / 3},
    {0, 0, 1}, {0, 1, 0}};
static const float in_2[4][9] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
static const float in_4[6][9] = {{1, -1.5f, -2, 1.5f, 1, 0}, {0, -1, 0.5f, 2.5f, 1, 0},
                                 {0, 1, -2.5f, 0.5f, 1, 0},  {0, -2, -1, 2, 1, 0},
                                 {0, 0.5f, -1, -0.5f, 1, 0}, {0, 1, -1.5f, -2, 1.5f, 1}};
static const float out_2[2][9] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
static const float out_4[4][9] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, -1, 0.5f, -2, 0}, {0, 1, 1, 0.25f, 4, 0}, {0, 1, -1, 0.125f, -8, 1}};

/* Stride 2: F(4,2) at the points 0, 1, -1, 1/2, infinity for pixels 0, 2, 4, 6, 8; the others are as they are. */
static const float in_strided[9][9] = {{0.5f, 0, -1, 0, -0.5f, 0, 1},
                                       {0, 0, -0.5f, 0, 0.5f, 0, 1},
                                       {0, 0, 0.5f, 0, -1.5f, 0, 1},
                                       {0, 0, -1, 0, 0, 0, 1},
                                       {0, 0, 0.5f, 0, -1, 0, -0.5f, 0, 1},
                                       {0, 1},
                                       {0, 0, 0, 1},
                                       {0, 0, 0, 0, 0, 1},
                                       {0, 0, 0, 0, 0, 0, 0, 1}};
static const float out_strided[4][9] = {{1, 1, 1, 1, 0, 1},
                                        {0, 1, -1, 0.5f, 0, 0, 1},
                                        {0, 1, 1, 0.25f, 0, 0, 0, 1},
                                        {0, 1, -1, 0.125f, 1, 0, 0, 0, 1}};

/* out[rows x rows] = m in[cols x cols] m', m being rows x cols. */
static void sandwich(unsigned rows, unsigned cols, const float (*m)[9], float (*in)[9],
                     float (*out)[9])
{
    float half[9][9];
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned j = 0; j < cols; j++) {
            half[i][j] = 0;
            for (unsigned p = 0; p < cols; p++)
                half[i][j] += m[i][p] * in[p][j];
        }
    }
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned j = 0; j < rows; j++) {
            out[i][j] = 0;
            for (unsigned p = 0; p < cols; p++)
                out[i][j] += half[i][p] * m[j][p];
        }
    }
}

static void winograd_in(unsigned alpha, const float (*m)[9], const struct ox_winograd_in *w)
{
    for (size_t c = 0; c < w->channels; c++) {
        float d[9][9], v[9][9];
        for (unsigned i = 0; i < alpha * alpha; i++)
            d[i / alpha][i % alpha] = w->in[i][c];
        sandwich(alpha, alpha, m, d, v);
        for (unsigned i = 0; i < alpha * alpha; i++)
            w->out[i * w->plane + c] = v[i / alpha][i % alpha];
    }
}

static void winograd_out(unsigned tile, unsigned alpha, const float (*m)[9],
                         const struct ox_winograd_out *w)
{
    for (size_t c = 0; c < w->channels; c++) {
        float v[9][9], y[9][9];
        for (unsigned i = 0; i < alpha * alpha; i++)
            v[i / alpha][i % alpha] = w->in[i * w->plane + c];
        sandwich(tile, alpha, m, v, y);
        for (unsigned i = 0; i < w->rows; i++) {
            for (unsigned j = 0; j < w->cols; j++) {
                float x = w->bias ? y[i][j] + w->bias[c] : y[i][j];
                if (w->residual)
                    x += w->residual[i * w->residual_row + j * w->residual_pixel + c];
                w->out[i * w->row + j * w->pixel + c] = clip(x, w->lo, w->hi);
            }
        }
    }
}

static void winograd_weights(unsigned alpha, const float (*g)[3],
                             const struct ox_winograd_weights *w)
{
    for (size_t n = 0; n < w->depth * NR; n++) {
        const float *in = w->in + n / NR * w->step + n % NR;
        float half[6][3];
        for (unsigned i = 0; i < alpha; i++) {
            for (unsigned q = 0; q < 3; q++)
                half[i][q] = g[i][0] * in[q * w->tap] + g[i][1] * in[w->row + q * w->tap] +
                             g[i][2] * in[2 * w->row + q * w->tap];
        }
        for (unsigned i = 0; i < alpha * alpha; i++) {
            const float *h = half[i / alpha], *row = g[i % alpha];
            w->out[i * w->plane + n] = h[0] * row[0] + h[1] * row[1] + h[2] * row[2];
        }
    }
}

static void winograd_weights2(const struct ox_winograd_weights *w)
{
    winograd_weights(4, g_2, w);
}

static void winograd_weights4(const struct ox_winograd_weights *w)
{
    winograd_weights(6, g_4, w);
}

static void winograd_weights_strided(const struct ox_winograd_weights *w)
{
    winograd_weights(6, g_strided, w);
}

static void winograd_weights_line(const struct ox_winograd_weights *w)
{
    for (size_t n = 0; n < w->depth * NR; n++) {
        const float *in = w->in + n / NR * w->step + n % NR;
        for (unsigned i = 0; i < 6; i++)
            w->out[i * w->plane + n] =
                g_4[i][0] * in[0] + g_4[i][1] * in[w->tap] + g_4[i][2] * in[2 * w->tap];
    }
}

static void winograd_in2(const struct ox_winograd_in *w)
{
    winograd_in(4, in_2, w);
}

static void winograd_in4(const struct ox_winograd_in *w)
{
    winograd_in(6, in_4, w);
}

static void winograd_out2(const struct ox_winograd_out *w)
{
    winograd_out(2, 4, out_2, w);
}

static void winograd_out4(const struct ox_winograd_out *w)
{
    winograd_out(4, 6, out_4, w);
}

static void winograd_in_strided(const struct ox_winograd_in *w)
{
    winograd_in(9, in_strided, w);
}

static void winograd_out_strided(const struct ox_winograd_out *w)
{
    winograd_out(4, 9, out_strided, w);
}

static void winograd_in_line(const struct ox_winograd_in *w)
{
    for (size_t c = 0; c < w->channels; c++) {
        for (unsigned i = 0; i < 6; i++) {
            float sum = 0;
            for (unsigned p = 0; p < 6; p++)
                sum += in_4[i][p] * w->in[p][c];
            w->out[i * w->plane + c] = sum;
        }
    }
}

static void winograd_out_line(const struct ox_winograd_out *w)
{
    const size_t step = w->rows > 1 ? w->row : w->pixel, n = (size_t)w->rows * w->cols;
    const size_t residual_step = w->rows > 1 ? w->residual_row : w->residual_pixel;
    for (size_t c = 0; c < w->channels; c++) {
        for (size_t i = 0; i < n; i++) {
            float x = 0;
            for (unsigned p = 0; p < 6; p++)
                x += out_4[i][p] * w->in[p * w->plane + c];
            x += w->bias ? w->bias[c] : 0;
            x += w->residual ? w->residual[i * residual_step + c] : 0;
            w->out[i * step + c] = clip(x, w->lo, w->hi);
        }
    }
}

static void pool_max(const struct ox_pool *p)
{
    for (size_t w = 0; w <= p->more; w++) {
        const size_t at = w * p->step;
        for (size_t c = 0; c < p->channels; c++) {
            float most = p->in[0][at + c];
            for (size_t i = 1; i < p->n; i++) {
                const float x = p->in[i][at + c];
                most = x > most || isnan(most) ? x : most;
            }
            p->out[w * p->out_step + c] = most;
        }
    }
}

static void pool_sum(const struct ox_pool *p)
{
    for (size_t w = 0; w <= p->more; w++) {
        for (size_t c = 0; c < p->channels; c++) {
            float sum = 0;
            for (size_t i = 0; i < p->n; i++)
                sum += p->in[i][w * p->step + c];
            p->out[w * p->out_step + c] = sum / p->divisor;
        }
    }
}

static void filter(const struct ox_filter *f, size_t n, const float *x, float *y)
{
    for (size_t l = 0; l < f->lines; l++) {
        const float *from = x + f->line[l];
        for (size_t i = 0; i < n; i++) {
            float sum = f->bias;
            for (size_t t = 0; t < f->taps; t++)
                sum += f->weights[t] * from[f->at[t] + i];
            *y++ = sum;
        }
    }
}

static void transpose(size_t rows, size_t cols, const float *x, size_t ldx, float *y, size_t ldy)
{
    enum { SIDE = 16 };
    for (size_t i = 0; i < rows; i += SIDE) {
        for (size_t j = 0; j < cols; j += SIDE) {
            for (size_t u = i; u < i + SIDE && u < rows; u++) {
                for (size_t v = j; v < j + SIDE && v < cols; v++)
                    y[v * ldy + u] = x[u * ldx + v];
            }
        }
    }
}

static void blend(size_t n, const float w[4], const float *const in[4], float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (w[0] * in[0][i] + w[1] * in[1][i]) + (w[2] * in[2][i] + w[3] * in[3][i]);
}

static double probe(size_t loops)
{
    float x[16] = {0};
    for (size_t i = 0; i < loops; i++) {
        for (unsigned l = 0; l < 16; l++)
            x[l] = x[l] * 0.5f + 1;
    }
    volatile float keep = x[0] + x[15];
    (void)keep;
    return 32.0 * (double)loops;
}

static const struct ox_compute plain = {
    .level = OX_CPU_C,
    .mr = MR,
    .nr = NR,
    .wide = NR,
    .late_weights = {40, 100},
    .late_depth = 128,
    .late_line = 75,
    .heavy_weights = 1 << 21,
    .width = 1,
    .depth_most = 512,
    .block_floats = 1 << 16,
    .packed_rows = 5,
    .tile = tile,
    .line = line,
    .stream = stream,
    .dots = dots,
    .finish = finish,
    .pack = pack_c,
    .widen_f16 = widen_f16,
    .widen_bf16 = widen_bf16,
    .depthwise = depthwise,
    .turned = turned,
    .winograd_in = {winograd_in2, winograd_in4, winograd_in_strided, winograd_in_line},
    .winograd_out = {winograd_out2, winograd_out4, winograd_out_strided, winograd_out_line},
    .winograd_weights = {winograd_weights2, winograd_weights4, winograd_weights_strided,
                         winograd_weights_line},
    .pool_max = pool_max,
    .pool_sum = pool_sum,
    .filter = filter,
    .transpose = transpose,
    .blend = blend,
    .probe = probe,
};

static struct ox_compute tables[OX_CPU_LEVELS];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    const enum ox_cpu most = ox_cpu_probe();
    for (unsigned i = 0; i < OX_CPU_LEVELS; i++) {
        const enum ox_cpu level = i < most ? (enum ox_cpu)i : most;
        struct ox_compute *t = &tables[i];
        *t = plain;
#if defined(__x86_64__)
        if (level >= OX_CPU_AVX2)
            ox_compute_avx2(t);
        if (level >= OX_CPU_AVX512)
            ox_compute_avx512(t);
        if (level >= OX_CPU_AMX)
            t->triples = ox_triples_amx();
#elif defined(__aarch64__)
        if (level >= OX_CPU_NEON)
            ox_compute_neon(t);
#endif
        (void)level;
        t->level = (enum ox_cpu)i;
    }
}

const struct ox_compute *ox_compute(enum ox_cpu level)
{
    pthread_once(&filled, fill);
    return &tables[level];
}
