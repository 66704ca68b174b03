/* What was seen of one tensor. All of it merges exactly, in any order. */
#ifndef OX_QUANT_STATS_H
#define OX_QUANT_STATS_H

#include <stddef.h>

#include "quant/exact_sum.h"

/* Bins on each side of 0. */
enum { OX_BINS = 2048, OX_SPARE_BINS = 8 };

/* Bin i of 2 * OX_BINS holds finite values v with floor(v / 2^exponent) = i - OX_BINS. The exponent is the least that has room for
 * the largest |v| and so depends on the values alone: when it grows, neighbours join. Exact zeros are counted apart. */
struct ox_stats {
    uint64_t n_samples, n_values, n_zero, n_nan, n_inf;
    float least, most;                       /* of finite values; 0 and 0 when there is none */
    struct ox_exact_sum sum_least, sum_most; /* over samples */
    int exponent;
    uint64_t *bins; /* 2 * OX_BINS, and room for counting; NULL: none yet */
    /* Least and greatest of each index of the second dimension, as long as all samples have as many. */
    size_t n_channels; /* 0: none yet, or they differ */
    bool channels_differ;
    float *channels; /* n_channels least ones, then the greatest */
};

enum { OX_MOST_CHANNELS = 4096 };
/* The values [outer, n_channels, inner] of one sample. false: out of memory. */
bool ox_stats_add_channels(struct ox_stats *stats, const float *values, size_t outer, size_t n,
                           size_t inner);

/* From here on it has none. */
void ox_stats_drop_channels(struct ox_stats *stats);

/* Adds one sample's n values. false: out of memory. */
bool ox_stats_add(struct ox_stats *stats, const float *values, size_t n);
bool ox_stats_merge(struct ox_stats *into, const struct ox_stats *from);
void ox_stats_release(struct ox_stats *stats);

/* Joins neighbours until no more than n bins lie between the least and the greatest value. */
void ox_stats_coarsen(struct ox_stats *stats, size_t n);

/* The real value at the left edge of bin i; of bin 2 * OX_BINS the right end. */
double ox_stats_edge(const struct ox_stats *stats, size_t i);
/* A real value's place among the edges: bin and share of it, as one number. */
double ox_stats_place(const struct ox_stats *stats, double value);

#endif
