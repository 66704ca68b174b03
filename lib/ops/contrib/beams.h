/* Beam search: which sequences go on, and which are kept as finished. */
#ifndef OX_OPS_BEAMS_H
#define OX_OPS_BEAMS_H

#include "ops/contrib/generate.h"

/* A finished sequence. */
struct ox_hypothesis {
    const int32_t *ids;
    size_t length;
    double score;
};

struct ox_beams {
    struct ox_hypothesis *kept; /* [batch, beams]: of a batch those it has, the best first */
    size_t *n_kept;             /* [batch] */
    bool *done;                 /* [batch] */
    size_t n_done;
    bool early;     /* a batch is done as soon as all of its beams are kept */
    double *scores; /* [rows]: sums of log-probabilities */
    int32_t *next;  /* [rows]: tokens that are appended */
    size_t *from;   /* [rows]: to which row */
    int32_t *ids;   /* [rows, longest]: where sequences are put together anew */
    struct ox_candidate *best;
};

enum ox_status ox_beams_open(struct ox_run *r, const struct ox_generation *g, struct ox_beams *b,
                             struct ox_error *err);
/* Takes the scores of the next tokens, the beams' own included, and appends to each row: g->length grows by one. */
enum ox_status ox_beams_step(struct ox_run *r, struct ox_generation *g, struct ox_beams *b,
                             struct ox_error *err);
/* At the end beams that still go on are kept too. */
enum ox_status ox_beams_end(struct ox_run *r, const struct ox_generation *g, struct ox_beams *b,
                            struct ox_error *err);

#endif
