/* The scale and zero point of one block of weights: least squared error, by a search and steps of refinement (HQQ: without outliers). */
#include <math.h>

#include "quant/blocked.h"
#include "quant/qparams.h"

/* Half to even, for |x| < 2^22: without a call, so that loops vectorize. */
static inline float round_even(float x)
{
    return (x + 12582912.0f) - 12582912.0f;
}

static inline float code_of(float value, float inverse, float zero, float least, float most)
{
    float x = value * inverse + zero;
    x = x < least ? least : x > most ? most : x;
    return round_even(x);
}

int ox_block_round(float value, struct ox_block_fit fit, int least, int most)
{
    if (fit.scale == 0)
        return fit.zero;
    return (int)code_of(value, 1 / fit.scale, (float)fit.zero, (float)least, (float)most);
}

/* One block while its scale is sought. */
struct fitting {
    const float *values, *importance;
    size_t m;
    enum ox_dtype real;
    bool symmetric;
    int least, most;
    struct ox_block_fit best;
    double cost; /* of the best */
};

float ox_block_scale(float scale, enum ox_dtype real)
{
    uint16_t half;
    if (real != OX_FLOAT16)
        return scale;
    ox_elements_convert(OX_FLOAT16, &half, OX_FLOAT32, &scale, 1, false);
    ox_elements_convert(OX_FLOAT32, &scale, OX_FLOAT16, &half, 1, false);
    return scale;
}

/* Four sums, so that they run side by side: the order is fixed by the code and not by the machine. */
static double cost_of(const struct fitting *f, struct ox_block_fit fit)
{
    enum { LANES = 4 };
    float sums[LANES] = {0};
    const float inverse = 1 / fit.scale, zero = (float)fit.zero;
    const float least = (float)f->least, most = (float)f->most;
    for (size_t i = 0; i < f->m; i++) {
        float d =
            f->values[i] - (code_of(f->values[i], inverse, zero, least, most) - zero) * fit.scale;
        sums[i % LANES] += f->importance ? f->importance[i] * d * d : d * d;
    }
    return ((double)sums[0] + (double)sums[1]) + ((double)sums[2] + (double)sums[3]);
}

/* false: it gains nothing. */
static bool offer(struct fitting *f, float scale, int zero)
{
    struct ox_block_fit fit = {ox_block_scale(scale, f->real), zero};
    if (fit.scale == 0 || !isfinite(1 / fit.scale))
        return false;
    double cost = cost_of(f, fit);
    if (!(cost < f->cost))
        return false;
    f->cost = cost;
    f->best = fit;
    return true;
}

/* The scale of least squared error for the integers that the best one gives. */
static float least_squares(const struct fitting *f)
{
    double cross = 0, power = 0;
    for (size_t i = 0; i < f->m; i++) {
        double w = f->importance ? (double)f->importance[i] : 1;
        double c = ox_block_round(f->values[i], f->best, f->least, f->most) - f->best.zero;
        cross += w * (double)f->values[i] * c;
        power += w * c * c;
    }
    return power > 0 ? (float)(cross / power) : 0;
}

static void refine(struct fitting *f)
{
    enum { ROUNDS = 3 };
    for (int i = 0; i < ROUNDS; i++) {
        if (!offer(f, least_squares(f), f->best.zero))
            return;
    }
}

/* Widths from the whole range down to half of it: what is clipped costs less than what all others gain. */
enum { STEPS = 48, STEPS_WIDE = 6 };

static float width_of(int step, int steps)
{
    return 1.05f - 0.55f * (float)step / (float)(steps - 1);
}

static void fit_symmetric(struct fitting *f, float largest, int steps)
{
    for (int i = 0; i < steps; i++) {
        float scale = largest * width_of(i, steps) / (float)-f->least;
        offer(f, scale, 0);
        offer(f, -scale, 0); /* the side that has one integer more */
    }
}

static void fit_range(struct fitting *f, float low, float high, int steps)
{
    for (int i = 0; i < steps; i++) {
        float scale = (high - low) * width_of(i, steps) / (float)(f->most - f->least);
        float zero = scale > 0 ? round_even(-low * width_of(i, steps) / scale) : 0;
        for (int z = (int)zero - 1; z <= (int)zero + 1 && scale > 0; z++) {
            if (z >= f->least && z <= f->most)
                offer(f, scale, z);
        }
    }
}

/* Half-quadratic quantization (Badri, Shaji): errors are split into what is noise and what are outliers, by shrinking them with the
 * p-norm of p = 0.75, and scale and zero point are fitted to the values without outliers, in turns. Zero points being integers
 * here, what it finds is taken where it costs less. */
static void fit_without_outliers(struct fitting *f)
{
    enum { ROUNDS = 20 };
    float beta = 10;
    for (int round = 0; round < ROUNDS; round++, beta *= 1.01f) {
        double cross = 0, power = 0, shift = 0;
        const struct ox_block_fit now = f->best;
        for (size_t i = 0; i < f->m; i++) {
            int code = ox_block_round(f->values[i], now, f->least, f->most);
            float d = f->values[i] - (float)(code - now.zero) * now.scale, a = fabsf(d);
            float kept = a > 0 ? a - 1 / (beta * sqrtf(sqrtf(a))) : 0;
            float smooth = f->values[i] - (kept > 0 ? (d < 0 ? -kept : kept) : 0);
            double c = code - now.zero;
            cross += (double)smooth * c;
            power += c * c;
            shift += code - (double)smooth / (double)now.scale;
        }
        int zero = f->symmetric ? 0 : (int)lrint(shift / (double)f->m);
        zero = zero < f->least ? f->least : zero > f->most ? f->most : zero;
        bool gained = power > 0 && offer(f, (float)(cross / power), now.zero);
        gained |= zero != now.zero && offer(f, f->best.scale, zero);
        if (!gained)
            return;
    }
}

/* The whole range, of whatever size. */
static struct ox_block_fit plain_fit(const struct fitting *f, float low, float high)
{
    const double least = f->symmetric ? -fmax(-(double)low, (double)high) : (double)low;
    const double most = f->symmetric ? -least : (double)high;
    const int steps = f->symmetric ? 2 * f->most : f->most - f->least;
    const float scale = ox_block_scale((float)((most - least) / steps), f->real);
    if (scale == 0 || !isfinite(scale) || !isfinite(1 / scale))
        return f->best;
    return (struct ox_block_fit){scale, f->symmetric ? 0 : (int)lrint(-least / (double)scale)};
}

/* What llama.cpp's k-quants, and onnxruntime's k_quant after them, weigh errors by: the root mean square and the magnitude. */
static void weigh_large(const float *values, size_t m, float *importance)
{
    double power = 0;
    for (size_t i = 0; i < m; i++)
        power += (double)values[i] * (double)values[i];
    const float usual = (float)sqrt(power / (double)m);
    for (size_t i = 0; i < m; i++)
        importance[i] = usual + fabsf(values[i]);
}

struct ox_block_fit ox_block_fit(const struct ox_blocking *b, const float *values,
                                 const float *importance, size_t m)
{
    float weights[OX_MOST_BLOCK];
    struct fitting f = {.values = values, .importance = importance, .m = m, .real = b->real};
    float low = 0, high = 0;
    f.symmetric = ox_dtype_is_signed(b->type);
    ox_qtype_limits(b->type, &f.least, &f.most);
    for (size_t i = 0; i < m; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    if (b->method == OX_WEIGHT_K_QUANT && !importance && m <= OX_MOST_BLOCK) {
        weigh_large(values, m, weights);
        f.importance = weights;
    }
    f.cost = INFINITY;
    f.best = (struct ox_block_fit){1, f.symmetric ? 0 : (f.most + 1) / 2};
    int steps = ox_dtype_bits(b->type) == 8 ? STEPS_WIDE : STEPS;
    if (f.symmetric)
        fit_symmetric(&f, -low > high ? -low : high, steps);
    else
        fit_range(&f, low, high, steps);
    if (f.cost == INFINITY) /* zeros, or squares beyond float32 */
        return plain_fit(&f, low, high);
    refine(&f);
    if (b->method == OX_WEIGHT_HQQ) { /* from there on, so that no block is worse for it */
        fit_without_outliers(&f);
        refine(&f);
    }
    return f.best;
}
