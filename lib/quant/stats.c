#include "quant/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No tensor of interest is smaller; keeps 2^-exponent a float. */
enum { LEAST_EXPONENT = -100, LOG2_BINS = 11 };

static int exponent_for(float most)
{
    int exponent;
    if (most == 0)
        return LEAST_EXPONENT;
    frexpf(most, &exponent); /* most < 2^exponent */
    exponent -= LOG2_BINS;
    return exponent > LEAST_EXPONENT ? exponent : LEAST_EXPONENT;
}

/* Neighbours join until bins are 2^exponent wide. */
static void widen(struct ox_stats *stats, int exponent)
{
    int shift = exponent - stats->exponent;
    if (shift <= 0)
        return;
    stats->exponent = exponent;
    if (shift > LOG2_BINS + 1)
        shift = LOG2_BINS + 1;
    uint64_t joined[2 * OX_BINS] = {0};
    for (int i = 0; i < 2 * OX_BINS; i++) {
        /* floor((i - OX_BINS) / 2^shift), all positive */
        int to = ((i - OX_BINS + (OX_BINS << (LOG2_BINS + 1))) >> shift) -
                 ((OX_BINS << (LOG2_BINS + 1)) >> shift) + OX_BINS;
        joined[to] += stats->bins[i];
    }
    memcpy(stats->bins, joined, sizeof joined);
}

static bool make_bins(struct ox_stats *stats, int exponent)
{
    if (stats->bins) {
        widen(stats, exponent);
        return true;
    }
    stats->bins = calloc((size_t)2 * OX_BINS, sizeof *stats->bins);
    stats->exponent = exponent;
    return stats->bins != NULL;
}

static void count(struct ox_stats *stats, const float *values, size_t n)
{
    const float scale = ldexpf(1, -stats->exponent);
    uint64_t *bins = stats->bins + OX_BINS, n_zero = 0;
    for (size_t i = 0; i < n; i++) {
        float v = values[i] * scale;
        if (!(fabsf(v) < OX_BINS))
            continue; /* NaN or an infinity */
        int at = (int)v;
        at -= (float)at > v;
        bins[at]++;
        n_zero += values[i] == 0;
    }
    stats->n_zero += n_zero;
}

bool ox_stats_add(struct ox_stats *stats, const float *values, size_t n)
{
    float least = INFINITY, most = -INFINITY;
    size_t odd = 0;
    for (size_t i = 0; i < n; i++) {
        float v = values[i];
        bool finite = fabsf(v) <= 3.402823466e38f;
        odd += !finite;
        least = finite && v < least ? v : least;
        most = finite && v > most ? v : most;
    }
    stats->n_samples++;
    stats->n_values += n;
    for (size_t i = 0; odd && i < n; i++) {
        stats->n_nan += isnan(values[i]);
        stats->n_inf += isinf(values[i]);
    }
    if (odd == n)
        return true;
    bool first = stats->bins == NULL;
    if (!make_bins(stats, exponent_for(fmaxf(fabsf(least), fabsf(most)))))
        return false;
    stats->least = first || least < stats->least ? least : stats->least;
    stats->most = first || most > stats->most ? most : stats->most;
    ox_exact_add(&stats->sum_least, least);
    ox_exact_add(&stats->sum_most, most);
    count(stats, values, n);
    return true;
}

/* Whether n channels fit what was seen so far; makes room for them. *good false: out of memory. */
static bool same_channels(struct ox_stats *stats, size_t n, bool *good)
{
    if (stats->channels_differ)
        return false;
    if (stats->n_channels && stats->n_channels != n) {
        stats->channels_differ = true;
        stats->n_channels = 0;
        free(stats->channels);
        stats->channels = NULL;
        return false;
    }
    if (!stats->n_channels) {
        stats->channels = malloc(2 * n * sizeof *stats->channels);
        *good = stats->channels != NULL;
        if (!*good)
            return false;
        stats->n_channels = n;
        for (size_t i = 0; i < n; i++) {
            stats->channels[i] = INFINITY;
            stats->channels[n + i] = -INFINITY;
        }
    }
    return true;
}

bool ox_stats_add_channels(struct ox_stats *stats, const float *values, size_t outer, size_t n,
                           size_t inner)
{
    bool good = true;
    if (!same_channels(stats, n, &good))
        return good;
    for (size_t k = 0; k < outer * n; k++) {
        float *low = &stats->channels[k % n], *high = &stats->channels[n + k % n];
        for (size_t i = 0; i < inner; i++) {
            float v = values[k * inner + i];
            *low = v < *low ? v : *low;
            *high = v > *high ? v : *high;
        }
    }
    return true;
}

static bool merge_channels(struct ox_stats *into, const struct ox_stats *from)
{
    bool good = true;
    if (from->channels_differ) {
        into->channels_differ = true;
        into->n_channels = 0;
        free(into->channels);
        into->channels = NULL;
        return true;
    }
    size_t n = from->n_channels;
    if (!n || !same_channels(into, n, &good))
        return good;
    for (size_t i = 0; i < n; i++) {
        into->channels[i] = fminf(into->channels[i], from->channels[i]);
        into->channels[n + i] = fmaxf(into->channels[n + i], from->channels[n + i]);
    }
    return true;
}

bool ox_stats_merge(struct ox_stats *into, const struct ox_stats *from)
{
    into->n_samples += from->n_samples;
    into->n_values += from->n_values;
    into->n_zero += from->n_zero;
    into->n_nan += from->n_nan;
    into->n_inf += from->n_inf;
    if (!merge_channels(into, from))
        return false;
    if (!from->bins)
        return true;
    bool first = into->bins == NULL;
    struct ox_stats other = *from;
    if (!make_bins(into, from->exponent))
        return false;
    other.bins = malloc(2 * OX_BINS * sizeof *other.bins);
    if (!other.bins)
        return false;
    memcpy(other.bins, from->bins, 2 * OX_BINS * sizeof *other.bins);
    widen(&other, into->exponent);
    for (size_t i = 0; i < 2 * OX_BINS; i++)
        into->bins[i] += other.bins[i];
    free(other.bins);
    into->least = first || from->least < into->least ? from->least : into->least;
    into->most = first || from->most > into->most ? from->most : into->most;
    ox_exact_merge(&into->sum_least, &from->sum_least);
    ox_exact_merge(&into->sum_most, &from->sum_most);
    return true;
}

void ox_stats_release(struct ox_stats *stats)
{
    free(stats->bins);
    free(stats->channels);
    *stats = (struct ox_stats){0};
}

double ox_stats_edge(const struct ox_stats *stats, size_t i)
{
    return ldexp((double)i - OX_BINS, stats->exponent);
}

double ox_stats_place(const struct ox_stats *stats, double value)
{
    double at = ldexp(value, -stats->exponent) + OX_BINS;
    return at < 0 ? 0 : at > 2 * OX_BINS ? 2 * OX_BINS : at;
}
