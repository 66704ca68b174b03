/* What channels of values that the float model makes are, over the kept samples that are not held out. */
#ifndef OX_QUANT_CHANNEL_STATS_H
#define OX_QUANT_CHANNEL_STATS_H

#include "quant/calibrate.h"
#include "quant/quant.h"

struct ox_channels {
    struct ox_strmap index; /* name -> index in rows */
    struct ox_channel_row {
        const char *name;
        size_t n; /* channels; 0: none were seen */
        double *sums;
        float *
            most; /* the largest of each channel, NaN apart; -infinite where there was nothing else */
        float *both;  /* likewise of what it and the next channel add up to in one place; [n - 1] */
        double count; /* of values a channel */
        bool second;  /* channels are the second dimension, not the last */
    } * rows;
    size_t n_rows;
    struct ox_arena *arena;
};

/* Of the first inputs of convolutions and products by constants. OX_UNSUPPORTED: the samples cannot be run here. */
enum ox_status ox_channels_find(struct ox_channels *channels, struct ox_arena *arena,
                                struct ox_model *model, const struct ox_calibration *calibration,
                                struct ox_error *err);
void ox_channels_release(struct ox_channels *channels);
/* Of a value; NULL when they are not known. */
const struct ox_channel_row *ox_channels_of(const struct ox_channels *channels, const char *name);

#endif
