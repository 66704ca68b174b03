/* How near a model comes to another one on the samples that a calibration keeps. */
#ifndef OX_QUANT_JUDGE_H
#define OX_QUANT_JUDGE_H

#include "quant/calibrate.h"
#include "quant/quant.h"

/* Outputs of the float model on the held-out samples: every second of those kept. */
struct ox_judge {
    struct ox_env *env;
    const struct ox_calibration *calibration;
    bool saturating; /* models judged run as in ox_run_options */
    size_t n_samples, n_outputs;
    struct ox_tensor **expected; /* by sample, output; NULL: no float tensor */
};

/* OX_UNSUPPORTED: the samples cannot be run here. */
enum ox_status ox_judge_begin(struct ox_judge *judge, struct ox_model *model,
                              const struct ox_calibration *calibration, struct ox_error *err);
void ox_judge_end(struct ox_judge *judge);
/* Signal to noise of the outputs, cosine between both, share of rows of the first output with another largest element. */
struct ox_judged {
    double sqnr_db, cosine, top1_changed;
    size_t n_samples;
    double noise[OX_KEPT_SAMPLES]; /* of each sample: the sum of squared errors */
};
/* How sure it is that `a` is noisier than `b` on samples like these, in standard errors: of the mean difference, or, less one, of the
 * mean logarithm of the ratio, as a few samples far noisier than the others hide what all gain. Infinite when either is no number. */
double ox_judged_gain(const struct ox_judged *a, const struct ox_judged *b);
/* The standard error of the mean noise of a sample, as a share of it; 0 where it is no number. */
double ox_judged_error(const struct ox_judged *judged);
/* best: NULL, or what the model is to be better than: where it is surely not, by the samples so far, the others are not run, and
 * sqnr_db is -200. */
enum ox_status ox_judge_model(const struct ox_judge *judge, struct ox_model *model,
                              const struct ox_judged *best, struct ox_judged *judged,
                              struct ox_error *err);

#endif
