#include "quant/stats.h"

#include <math.h>
#include <stdint.h>
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

void ox_stats_coarsen(struct ox_stats *stats, size_t n)
{
    int shift = 0;
    double span = ldexp((double)stats->most - (double)stats->least, -stats->exponent);
    while (shift <= LOG2_BINS && ldexp(span, -shift) > (double)n)
        shift++;
    widen(stats, stats->exponent + shift);
}

static bool make_bins(struct ox_stats *stats, int exponent)
{
    if (stats->bins) {
        widen(stats, exponent);
        return true;
    }
    stats->bins = calloc((size_t)2 * OX_BINS + OX_SPARE_BINS, sizeof *stats->bins);
    stats->exponent = exponent;
    return stats->bins != NULL;
}

enum { LANES = OX_SPARE_BINS, CHUNK = 64 };

/* Floats as integers of the same order: these have a vector form of least and greatest everywhere. */
static inline int32_t key_of(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? bits ^ INT32_MAX : bits;
}

static float value_of(int32_t key)
{
    float value;
    key = key < 0 ? key ^ INT32_MAX : key;
    memcpy(&value, &key, sizeof value);
    return value == 0 ? 0 : value; /* no -0 */
}

/* Least and greatest of n values. false: some are not finite, and then neither is one of the two. */
static bool span_of(const float *values, size_t n, float *least, float *most)
{
    const int32_t infinite = 0x7f800000;
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (size_t i = 0; i < n; i++) {
        int32_t key = key_of(values[i]);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    *least = value_of(low);
    *most = value_of(high);
    return high < infinite && low > ~infinite;
}

static void count(struct ox_stats *stats, const float *values, size_t n, bool finite)
{
    const float scale = ldexpf(1, -stats->exponent);
    uint64_t *bins = stats->bins + OX_BINS;
    size_t i = 0;
    /* Zeros, of which there are many after Relu, go to bins of their lane: adding to one bin again and again is slow. */
    for (; finite && i + CHUNK <= n; i += CHUNK) {
        int at[CHUNK];
        for (int j = 0; j < CHUNK; j++) {
            float v = values[i + (size_t)j] * scale;
            int whole = (int)v, down = (float)whole > v ? whole - 1 : whole;
            at[j] = values[i + (size_t)j] == 0 ? OX_BINS + j % LANES : down;
        }
        for (size_t j = 0; j < CHUNK; j++)
            bins[at[j]]++;
    }
    for (; i < n; i++) {
        float v = values[i] * scale;
        if (!(fabsf(v) < OX_BINS))
            continue; /* NaN or an infinity */
        int at = (int)v;
        at -= (float)at > v;
        bins[values[i] == 0 ? OX_BINS : at]++;
    }
    for (int j = 0; j < LANES; j++) {
        stats->n_zero += bins[OX_BINS + j];
        bins[0] += bins[OX_BINS + j];
        bins[OX_BINS + j] = 0;
    }
}

/* Least and greatest of the finite values. false: there are none. */
static bool finite_span(struct ox_stats *stats, const float *values, size_t n, float *least,
                        float *most)
{
    size_t odd = 0;
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        float v = values[i];
        bool finite = fabsf(v) <= 3.402823466e38f;
        odd += !finite;
        *least = finite && v < *least ? v : *least;
        *most = finite && v > *most ? v : *most;
        stats->n_nan += isnan(v) != 0;
        stats->n_inf += isinf(v) != 0; /* -1 for one sign */
    }
    return odd < n;
}

bool ox_stats_add(struct ox_stats *stats, const float *values, size_t n)
{
    float least, most;
    bool finite = span_of(values, n, &least, &most);
    stats->n_samples++;
    stats->n_values += n;
    if (n == 0 || (!finite && !finite_span(stats, values, n, &least, &most)))
        return true;
    bool first = stats->bins == NULL;
    if (!make_bins(stats, exponent_for(fmaxf(fabsf(least), fabsf(most)))))
        return false;
    stats->least = first || least < stats->least ? least : stats->least;
    stats->most = first || most > stats->most ? most : stats->most;
    ox_exact_add(&stats->sum_least, least);
    ox_exact_add(&stats->sum_most, most);
    count(stats, values, n, finite);
    return true;
}

void ox_stats_drop_channels(struct ox_stats *stats)
{
    stats->channels_differ = true;
    stats->n_channels = 0;
    free(stats->channels);
    stats->channels = NULL;
}

/* Whether n channels fit what was seen so far; makes room for them. *good false: out of memory. */
static bool same_channels(struct ox_stats *stats, size_t n, bool *good)
{
    if (stats->channels_differ)
        return false;
    if (stats->n_channels && stats->n_channels != n) {
        ox_stats_drop_channels(stats);
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
        float *low = &stats->channels[k % n], *high = low + n, least, most;
        if (!span_of(values + k * inner, inner, &least, &most))
            continue; /* what is not finite has no range */
        *low = least < *low ? least : *low;
        *high = most > *high ? most : *high;
    }
    return true;
}

static bool merge_channels(struct ox_stats *into, const struct ox_stats *from)
{
    bool good = true;
    if (from->channels_differ) {
        ox_stats_drop_channels(into);
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
