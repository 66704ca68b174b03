/* What GreedySearch, Sampling and BeamSearch (com.microsoft) share: sequences of tokens that grow by what a subgraph, the decoder, scores. */
#ifndef OX_OPS_GENERATE_H
#define OX_OPS_GENERATE_H

#include "ops/contrib/timestamps.h"
#include "ops/op.h"

struct ox_infer;

/* Where a node has its settings among its inputs; 0: nowhere. Input 0 is the prompt, input 1 max_length. */
struct ox_generation_inputs {
    unsigned char min_length, beams, returned, length_penalty, repetition_penalty, vocab_mask,
        prefix_vocab_mask, attention_mask, decoder_ids, processor, temperature, presence_mask;
};

/* A search under way. Row i * beams + k is beam k of batch i. */
struct ox_generation {
    const struct ox_generation_inputs *at;
    size_t batch, beams, rows, returned;
    size_t prompt;   /* tokens of each row at the start */
    size_t longest;  /* and at the end, at most */
    size_t shortest; /* below which eos does not come */
    size_t vocabulary;
    int32_t eos, pad, start; /* start: < 0: none is given */
    double length_penalty, repetition_penalty, temperature, presence_penalty;
    struct ox_timestamps timestamps;
    size_t ngram;              /* no n-gram of so many tokens comes twice; 0: any may */
    const int32_t *vocab_mask; /* [vocabulary]; NULL: none, like the others */
    const int32_t *prefix_mask, *presence_mask; /* [batch, vocabulary] */
    int32_t *ids;                               /* [rows, longest] */
    size_t length;                              /* of each row so far */
    double *scores; /* [rows, vocabulary]: of each token as the next one */
};

/* Reads attributes and inputs, all but the decoder, whose vocabulary the first step tells. */
enum ox_status ox_generation_open(struct ox_run *r, const struct ox_generation_inputs *at,
                                  struct ox_generation *g, struct ox_error *err);
/* A whole number of at least `least` from an input of one element; fallback where it is omitted. */
enum ox_status ox_generation_int(struct ox_run *r, size_t i, const char *what, int64_t fallback,
                                 int64_t least, int64_t *out, struct ox_error *err);
/* To what float32 holds, but for --oracle: scores are ranked as they are stored. */
double ox_generation_round(const struct ox_run *r, double score);
/* What masks, penalties and the least length make of the scores. */
enum ox_status ox_generation_process(struct ox_run *r, struct ox_generation *g,
                                     struct ox_error *err);
/* Sequences of [batch, max_length]; of beams of [batch, num_return_sequences, max_length], with their scores and those of all steps. */
void ox_generation_infer(struct ox_infer *c, const struct ox_generation_inputs *at);

/* ---- The decoder -------------------------------------------------------------------------------------------------- */

enum { OX_DECODER_OTHER = -1, OX_DECODER_FIXED = -2 };

struct ox_decoder {
    const struct ox_graph *first, *graph; /* of the first step, and of the others */
    size_t n_in, n_out;                   /* of the others */
    size_t most_out;                      /* of any of them: what `out` has room for */
    struct ox_datum **in, **out;          /* what goes in next, and what came out last */
    bool is_run; /* the first step was made already, with another graph's outputs */
    /* Which output of the step before goes into each input, row by row; _OTHER: none, _FIXED: what goes in is the same at every
     * step. Those of the first step's outputs, and of the others. */
    int64_t *after_first, *after;
    unsigned axis; /* of the rows in those */
    size_t steps;
    size_t *spread; /* rows of the next step among those of the last one */
    int32_t *mask;  /* [batch, prompt] */
    int32_t *place; /* of each batch: of the next token */
    enum ox_status (*feed)(struct ox_run *r, const struct ox_generation *g, struct ox_decoder *d,
                           struct ox_error *err);
};

/* Finds the graphs and what the first step takes. It is closed whatever this returns. */
enum ox_status ox_decoder_open(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                               struct ox_error *err);
/* Scores the next tokens in g->scores, as the decoder gives them. from: of which row each goes on (NULL: its own). */
enum ox_status ox_decoder_step(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                               const size_t *from, struct ox_error *err);
void ox_decoder_close(struct ox_decoder *d);

/* ---- generate_decoder.c, for feeds ---- */

/* Input i is [rows, columns] of int32, copied. */
enum ox_status ox_decoder_put(struct ox_run *r, struct ox_decoder *d, size_t i, size_t rows,
                              size_t columns, const int32_t *values, struct ox_error *err);
/* Input i is that tensor, of which a reference is taken back. */
enum ox_status ox_decoder_give(struct ox_decoder *d, size_t i, struct ox_tensor *tensor,
                               struct ox_error *err);
/* Each row's last token as input i. */
enum ox_status ox_decoder_put_last(struct ox_run *r, const struct ox_generation *g,
                                   struct ox_decoder *d, size_t i, struct ox_error *err);
/* The rows' memory for that many batches and tokens of the prompt, which are set. */
enum ox_status ox_decoder_open_rows(struct ox_run *r, struct ox_generation *g, struct ox_decoder *d,
                                    const int32_t *prompt, struct ox_error *err);
/* model_type 1: an encoder comes before it. */
enum ox_status ox_decoder_open_encoded(struct ox_run *r, struct ox_generation *g,
                                       struct ox_decoder *d, struct ox_error *err);

#endif
