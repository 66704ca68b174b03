/* Samples out of files and folders, one feed of a model after the other. */
#ifndef OX_QUANT_SAMPLES_H
#define OX_QUANT_SAMPLES_H

#include "common/arena.h"
#include "common/error.h"
#include "model/model.h"

/* ---- time_axis.c ---- */

enum ox_first_axis {
    OX_FIRST_SAMPLES, /* a batch */
    OX_FIRST_TIME, /* steps of one sequence: an LSTM, convolution or pool goes along it, or it is called so */
    OX_FIRST_OPEN /* as open as the second, and neither is known to be time */
};

/* What the first dimension of each of the graph's inputs is, if an array of the input's own rank stands for it. Asked before a
 * session rewrites the model. The caller frees it; NULL: out of memory. */
enum ox_first_axis *ox_first_axes(const struct ox_model *model);

/* ---- samples.c ---- */

struct ox_samples;

/* Files and folders, and what ox_first_axes() gave. */
struct ox_samples_from {
    const char *const *paths;
    size_t n_paths;
    const enum ox_first_axis *first;
};

/* How many rows of an array a feed takes where the model leaves the first dimension open. */
struct ox_samples_batch {
    int64_t rows;
    int64_t wider; /* what to try where the first feed failed; 0: nothing, or it did not */
};

/* Calls run() with a row a feed, then, where the first feed fails, with 2, 4, 8 ... rows until one passes: exporters fix batches
 * that the model's inputs do not tell. run() begins anew each time. Its first error stands if no batch passes. */
enum ox_status ox_samples_try(enum ox_status (*run)(void *arg, struct ox_samples_batch *batch,
                                                    struct ox_error *err),
                              void *arg, struct ox_error *err);

/* from->paths: .npz and .npy files whose leading dimension is samples, folders of them, folders of input_N.pb, folders of such
 * folders. The session tells inputs and their types; it must outlive this. OX_INPUT: missing, or nothing in it. */
enum ox_status ox_samples_open(struct ox_samples **out, struct ox_env *env,
                               const struct ox_session *session, const struct ox_samples_from *from,
                               const struct ox_samples_batch *batch, struct ox_error *err);
/* For batch->wider, when the first feed that was run, given last, failed with the status. */
int64_t ox_samples_wider(const struct ox_samples *samples, enum ox_status status);
void ox_samples_release(struct ox_samples *samples);
/* Names the file of the feed that was given last where that is what the model did not take. */
void ox_samples_blame(const struct ox_samples *samples, enum ox_status status,
                      struct ox_error *err);
/* 1 + an input whose rows were taken for samples though they may as well be steps: OX_FIRST_OPEN. 0: there is none. */
size_t ox_samples_guessed(const struct ox_samples *samples);
/* Feeds in all; what does not fill a fixed batch is left out. */
uint64_t ox_samples_count(const struct ox_samples *samples);
/* The next feed: one for each session input (NULL: its default), borrowed until the next call. *more false: that was all. */
enum ox_status ox_samples_next(struct ox_samples *samples, struct ox_datum *const **feed,
                               bool *more, struct ox_error *err);

#endif
