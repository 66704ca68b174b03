#include "quant/ranges.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static struct ox_qrange all_of(const struct ox_stats *stats)
{
    return (struct ox_qrange){stats->least, stats->most};
}

static double n_finite(const struct ox_stats *stats)
{
    return (double)(stats->n_values - stats->n_nan - stats->n_inf);
}

static struct ox_qrange within(const struct ox_stats *stats, double least, double most)
{
    return (struct ox_qrange){least > (double)stats->least ? (float)least : stats->least,
                              most < (double)stats->most ? (float)most : stats->most};
}

/* ---- Percentile --------------------------------------------------------------------------------------------------- */

/* Cuts half of the share at each end. Zeros do not count: of a sparse tensor the rest is what must fit. */
static struct ox_qrange percentile_range(const struct ox_stats *stats, double percentile)
{
    double total = n_finite(stats) - (double)stats->n_zero;
    double cut = total * (100 - percentile) / 200, low = 0, high = 0;
    size_t first = 0, last = 2 * OX_BINS - 1;
    for (; first < last; first++) {
        double n = (double)stats->bins[first];
        if (low + n > cut)
            break;
        low += n;
    }
    for (; last > first; last--) {
        double n = (double)stats->bins[last];
        if (high + n > cut)
            break;
        high += n;
    }
    return within(stats, ox_stats_edge(stats, first), ox_stats_edge(stats, last + 1));
}

/* ---- Squared error ------------------------------------------------------------------------------------------------ */

/* The middle of bin i, of that width. */
static double middle(size_t i, double width)
{
    return ((double)i - OX_BINS + 0.5) * width;
}

/* Of exact zeros, which lie in their bin, there is no error. */
static double n_rounded(const struct ox_stats *stats, size_t i)
{
    return (double)stats->bins[i] - (i == OX_BINS ? (double)stats->n_zero : 0);
}

double ox_range_error(const struct ox_stats *stats, struct ox_qrange range, unsigned n_levels)
{
    const double least = fmin((double)range.least, 0), most = fmax((double)range.most, 0);
    const double step = (most - least) / (n_levels - 1), width = ldexp(1, stats->exponent);
    double error = 0, inside = n_finite(stats) - (double)stats->n_zero;
    size_t first = (size_t)ox_stats_place(stats, (double)stats->least);
    size_t end = (size_t)ox_stats_place(stats, (double)stats->most) + 1, over;
    end = end < 2 * OX_BINS ? end : 2 * OX_BINS;
    for (; first < end && middle(first, width) < least; first++) {
        const double n = n_rounded(stats, first), beyond = least - middle(first, width);
        error += n * beyond * beyond;
        inside -= n;
    }
    for (over = end; over > first && middle(over - 1, width) > most;)
        over--;
    for (size_t i = over; i < end; i++) {
        const double n = n_rounded(stats, i), beyond = middle(i, width) - most;
        error += n * beyond * beyond;
        inside -= n;
    }
    return error + inside * step * step / 12;
}

/* The bounds shrink one after the other, by a golden section's worth of steps, as long as that helps. */
static struct ox_qrange mse_range(const struct ox_stats *stats, unsigned n_levels, bool symmetric)
{
    enum { STEPS = 64, ROUNDS = 3 };
    struct ox_qrange full = all_of(stats), best = full;
    double least_error = ox_range_error(stats, full, n_levels);
    if (symmetric) {
        float most = fmaxf(fabsf(full.least), fabsf(full.most));
        for (int i = 1; i < STEPS; i++) {
            float bound = most * (float)(STEPS - i) / STEPS;
            struct ox_qrange tried = {-bound, bound};
            double error = ox_range_error(stats, tried, n_levels);
            if (error < least_error) {
                least_error = error;
                best = tried;
            }
        }
        return within(stats, (double)best.least, (double)best.most);
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct ox_qrange start = best;
        for (int side = 0; side < 2; side++) {
            for (int i = 1; i < STEPS; i++) {
                struct ox_qrange tried = best;
                float part = (float)(STEPS - i) / STEPS;
                if (side == 0)
                    tried.least = full.least * part;
                else
                    tried.most = full.most * part;
                double error = ox_range_error(stats, tried, n_levels);
                if (error < least_error) {
                    least_error = error;
                    best = tried;
                }
            }
        }
        if (start.least == best.least && start.most == best.most)
            break;
    }
    return best;
}

/* ---- Entropy ------------------------------------------------------------------------------------------------------ */

/* Kullback-Leibler divergence of the values within [first, end) with the rest at its ends, from the same spread over n_levels
 * equal parts. After "8-bit inference with TensorRT" (Migacz, 2017). */
static double divergence(const uint64_t *bins, size_t first, size_t end, double below, double above,
                         double total, unsigned n_levels)
{
    const double smooth = 1e-9;
    double sum = 0;
    size_t n = end - first;
    double inside = total - below - above;
    for (unsigned level = 0; level < n_levels; level++) {
        size_t a = first + n * level / n_levels, b = first + n * (level + 1) / n_levels;
        double mass = 0;
        size_t used = 0;
        for (size_t i = a; i < b; i++) {
            mass += (double)bins[i];
            used += bins[i] != 0;
        }
        double even = used ? mass / (double)used : 0;
        for (size_t i = a; i < b; i++) {
            double p = (double)bins[i] + (i == first ? below : 0) + (i == end - 1 ? above : 0);
            if (p == 0)
                continue;
            double q = (bins[i] ? even : 0) / inside;
            p /= total;
            sum += p * log(p / fmax(q, smooth));
        }
    }
    return sum;
}

/* Many candidates: both ends draw in together, from all of the range to a fraction of it. What is cut off counts little here however
 * far out it lies, so a candidate may not have more squared error than all of the range. */
static struct ox_qrange entropy_range(const struct ox_stats *stats, unsigned n_levels)
{
    enum { CANDIDATES = 96 };
    struct ox_qrange full = all_of(stats), best = full;
    uint64_t bins[2 * OX_BINS];
    memcpy(bins, stats->bins, sizeof bins);
    bins[OX_BINS] -= stats->n_zero; /* zero is exact whatever the range */
    double total = n_finite(stats) - (double)stats->n_zero, least = INFINITY;
    if (total <= 0)
        return full;
    double most_error = ox_range_error(stats, full, n_levels);
    for (int i = 0; i < CANDIDATES; i++) {
        double part = 1 - (double)i / (CANDIDATES + 8);
        size_t first = (size_t)ox_stats_place(stats, (double)full.least * part);
        size_t end = (size_t)ceil(ox_stats_place(stats, (double)full.most * part));
        end = end > first ? end : first + 1;
        end = end < 2 * OX_BINS ? end : 2 * OX_BINS;
        if (end - first < n_levels && i > 0)
            break;
        double below = 0, above = 0;
        for (size_t k = 0; k < first; k++)
            below += (double)bins[k];
        for (size_t k = end; k < 2 * OX_BINS; k++)
            above += (double)bins[k];
        if (below + above >= total)
            break;
        struct ox_qrange tried =
            within(stats, ox_stats_edge(stats, first), ox_stats_edge(stats, end));
        if (i > 0 && ox_range_error(stats, tried, n_levels) > most_error)
            continue;
        double kl = divergence(bins, first, end, below, above, total, n_levels);
        if (kl < least) {
            least = kl;
            best = tried;
        }
    }
    return best;
}

/* ---- Choosing ----------------------------------------------------------------------------------------------------- */

static struct ox_qrange average_range(const struct ox_stats *stats)
{
    struct ox_exact_sum least = stats->sum_least, most = stats->sum_most;
    double n = (double)stats->n_samples;
    return within(stats, ox_exact_value(&least) / n, ox_exact_value(&most) / n);
}

/* The one of least error, but the whole range unless something gains a tenth. */
static struct ox_qrange auto_range(const struct ox_stats *stats, double percentile,
                                   unsigned n_levels, bool symmetric)
{
    struct ox_qrange best = all_of(stats);
    double least = 0.9 * ox_range_error(stats, best, n_levels);
    for (int m = OX_QUANT_PERCENTILE; m <= OX_QUANT_MSE; m++) {
        struct ox_qrange tried =
            ox_range_choose(stats, (enum ox_quant_method)m, percentile, n_levels, symmetric);
        double error = ox_range_error(stats, tried, n_levels);
        if (error < least) {
            least = error;
            best = tried;
        }
    }
    return best;
}

struct ox_qrange ox_range_choose(const struct ox_stats *stats, enum ox_quant_method method,
                                 double percentile, unsigned n_levels, bool symmetric)
{
    switch (method) {
    case OX_QUANT_MOVING_AVERAGE:
        return average_range(stats);
    case OX_QUANT_PERCENTILE:
        return percentile_range(stats, percentile);
    case OX_QUANT_ENTROPY:
        return n_levels > 256 ? all_of(stats) : entropy_range(stats, n_levels);
    case OX_QUANT_MSE:
        return mse_range(stats, n_levels, symmetric);
    case OX_QUANT_AUTO:
        return auto_range(stats, percentile, n_levels, symmetric);
    default:
        return all_of(stats);
    }
}

double ox_range_clipped(const struct ox_stats *stats, struct ox_qrange range)
{
    double total = n_finite(stats), out = 0;
    for (size_t i = 0; stats->bins && i < 2 * OX_BINS; i++) {
        double low = ox_stats_edge(stats, i), high = ox_stats_edge(stats, i + 1);
        if (stats->bins[i] && (high <= (double)range.least || low >= (double)range.most) &&
            i != OX_BINS)
            out += (double)stats->bins[i];
    }
    return total > 0 ? out / total : 0;
}
