/* What samples showed of a model's tensors, and some of the samples themselves. */
#ifndef OX_QUANT_CALIBRATE_H
#define OX_QUANT_CALIBRATE_H

#include "common/env.h"
#include "common/strmap.h"
#include "quant/ranges.h"
#include "quant/stats.h"
#include "tensor/tensor.h"

/* What a calibration table (JSON) says that it is. */
#define OX_CALIBRATION_SCHEMA "onnxtool.calibration/1"

/* Samples that are kept, those with the least hashes: any division of the data keeps the same. */
enum { OX_KEPT_SAMPLES = 64 };
/* ... as long as they take no more bytes. */
#define OX_KEPT_BYTES (64u << 20)

/* A range that was chosen once: entropy is slow. */
struct ox_chosen {
    bool known, symmetric;
    double percentile;
    size_t bins;
    unsigned n_levels;
    struct ox_qrange range;
};

struct ox_calibrated {
    char *name;
    struct ox_stats stats;
    struct ox_chosen chosen[OX_N_QUANT_METHODS];
    bool given; /* by onnxruntime's cache: a range and nothing else */
    float rmin, rmax;
    /* With compat_ort and percentiles alone: */
    bool has_abs;
    float least_abs;
    struct ox_abs_histogram *abs;
};

struct ox_kept {
    uint64_t hash;
    uint64_t bytes;
    bool has_label;
    int64_t label;             /* index of the right answer */
    struct ox_tensor **inputs; /* by calibration->inputs; NULL: default */
};

struct ox_calibration {
    struct ox_env *env;
    struct ox_strmap index; /* name -> index in tensors */
    struct ox_calibrated *tensors;
    size_t n_tensors, cap_tensors;
    uint64_t n_samples;
    char **inputs; /* names, in the session's order */
    size_t n_inputs;
    struct ox_kept kept[OX_KEPT_SAMPLES + 1]; /* by hash */
    size_t n_kept;
    size_t guessed; /* 1 + the input of ox_calibration_guessed(); 0: none */
};

/* NULL: there is none of that name. */
struct ox_calibrated *ox_calibration_find(const struct ox_calibration *calibration,
                                          const char *name);
/* What the method makes of a tensor of which bins were seen, as the options ask. n_levels: of the integer type. */
struct ox_qrange ox_calibrated_range(struct ox_calibrated *seen, enum ox_quant_method method,
                                     const struct ox_quant_options *options, unsigned n_levels);
/* Made when it is new; NULL: out of memory. */
struct ox_calibrated *ox_calibration_tensor_of(struct ox_calibration *calibration, const char *name,
                                               size_t n);
/* Takes the inputs over in any case. */
enum ox_status ox_calibration_keep(struct ox_calibration *calibration, struct ox_kept kept,
                                   struct ox_error *err);
/* A feed is kept when its hash is among the least. label NULL: none is known. */
enum ox_status ox_calibration_consider(struct ox_calibration *calibration,
                                       struct ox_datum *const *feed, const int64_t *label,
                                       struct ox_error *err);
/* onnxruntime's percentile, which needs two passes: in the first the least absolute value, in the second a histogram from there to the
 * greatest, out of which comes a given range. false: out of memory. */
void ox_abs_range_add(struct ox_calibrated *tensor, const float *values, size_t n);
bool ox_abs_histogram_add(struct ox_calibrated *tensor, const float *values, size_t n);
void ox_abs_histogram_decide(struct ox_calibrated *tensor, double percentile);

/* What those of the samples kept showed that models are not judged by. The caller releases it. */
enum ox_status ox_calibration_apart(struct ox_calibration **out, const struct ox_calibration *of,
                                    struct ox_model *model, const struct ox_quant_options *options,
                                    struct ox_error *err);

/* All that was seen is gone. */
void ox_calibration_forget(struct ox_calibration *calibration);
void ox_kept_release(struct ox_kept *kept, size_t n_inputs);

#endif
