/* Whisper's rules for tokens that tell a time (Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision): they come in
 * pairs around the text, and never go back. */
#ifndef OX_OPS_TIMESTAMPS_H
#define OX_OPS_TIMESTAMPS_H

#include "ops/op.h"

struct ox_timestamps {
    bool on;
    int64_t eos;   /* text is below */
    int64_t first; /* the first time; those after it are later */
    /* Tokens that are taken out; < 0: there is none. */
    int64_t no_times, start_of_lm, start, translate, transcribe;
};

/* Of attributes and of logits_processor, input i (0: none): 1 switches the rules on. */
enum ox_status ox_timestamps_open(struct ox_run *r, size_t i, struct ox_timestamps *t,
                                  struct ox_error *err);
/* Scores [vocabulary] of what may follow ids [n]; what may not gets -FLT_MAX. OX_INPUT where no token of the vocabulary is a time. */
enum ox_status ox_timestamps_process(struct ox_run *r, const struct ox_timestamps *t,
                                     const int32_t *ids, size_t n, double *scores,
                                     size_t vocabulary, struct ox_error *err);

#endif
