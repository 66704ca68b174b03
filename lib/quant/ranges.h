/* A range for a tensor, out of what was seen of it. */
#ifndef OX_QUANT_RANGES_H
#define OX_QUANT_RANGES_H

#include "onnxtool.h"
#include "quant/stats.h"

struct ox_qrange {
    float least, most;
};

/* stats->bins is there. n_levels: values of the integer type, 256. symmetric: the range will be spread around 0. */
struct ox_qrange ox_range_choose(const struct ox_stats *stats, enum ox_quant_method method,
                                 double percentile, unsigned n_levels, bool symmetric);
/* Mean squared error expected of a range; the same unit for all ranges of a tensor. */
double ox_range_error(const struct ox_stats *stats, struct ox_qrange range, unsigned n_levels);
/* Share of values outside. */
double ox_range_clipped(const struct ox_stats *stats, struct ox_qrange range);

#endif
